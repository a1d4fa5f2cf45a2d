//! Text as lines.
//!
//! A line includes its terminator: everything up to and including `\n`. A `\r` before it is part of
//! the terminator, so CRLF files need no special case; a lone `\r` is an ordinary byte. Only the
//! last line of a text can lack `\n`. Texts are bytes: nothing is decoded, trimmed or
//! re-terminated.
//!
//! A text has fewer than 4 GiB, or making it panics.

mod chars;
mod plain;
mod strings;
mod syntax;

use std::iter::zip;
use std::ops::Range;

use memchr::memchr_iter;

pub use chars::n_chars;
pub(crate) use chars::{char_len, len_of_chars, n_crlf, n_newlines};
pub use plain::Decoding;
pub(crate) use strings::first_open_line;
pub use syntax::{Place, Span, Syntax};

/// A text with its bytes and the starts of its lines.
///
/// Building it takes O(bytes) time; it occupies the bytes and four more for each line.
///
/// ```
/// use agent_q_diff_engine::text::Text;
/// let text = Text::new(b"one\ntwo".to_vec());
/// assert_eq!(text.len(), 2);
/// assert_eq!(text.line(0), b"one\n");
/// assert_eq!(text.line(1), b"two");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    bytes: Vec<u8>,
    /// Byte offset of each line's first byte, and one more entry: the length of the text.
    starts: Vec<u32>,
}

impl Text {
    /// Splits `bytes` into lines.
    pub fn new(bytes: Vec<u8>) -> Text {
        // Room for lines of 32 bytes, so that it is rarely moved.
        let mut starts = Vec::with_capacity(bytes.len() / 32 + 2);
        starts.push(0);
        starts.extend(line_ends(&bytes).map(offset));
        starts.shrink_to_fit();
        Text { bytes, starts }
    }

    /// Joins `lines` into one text.
    ///
    /// Each but the last must end with `\n`, or two of them become one line.
    pub fn from_lines<'a>(lines: impl IntoIterator<Item = &'a [u8]>) -> Text {
        let mut bytes = Vec::new();
        lines
            .into_iter()
            .for_each(|line| bytes.extend_from_slice(line));
        Text::new(bytes)
    }

    /// Returns the number of lines.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns whether the text is empty: it has no lines and no bytes.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns line `index` (0-based) with its terminator. Panics if there is no such line.
    #[inline]
    pub fn line(&self, index: usize) -> &[u8] {
        &self.bytes[self.start(index)..self.start(index + 1)]
    }

    /// Returns the bytes of the lines in `range` (0-based, half-open).
    pub fn lines_bytes(&self, range: Range<usize>) -> &[u8] {
        &self.bytes[self.start(range.start)..self.start(range.end)]
    }

    /// Returns the byte offset of line `index`; for the number of lines, the length of the text.
    pub(crate) fn start(&self, index: usize) -> usize {
        self.starts[index] as usize
    }

    /// Returns the line that has `byte`; for the length of the text, the number of lines.
    pub(crate) fn line_of(&self, byte: usize) -> usize {
        let ends = &self.starts[1..];
        ends.partition_point(|&end| end as usize <= byte)
    }

    /// Returns an iterator over the lines in `range` (0-based, half-open).
    pub fn lines(&self, range: Range<usize>) -> impl DoubleEndedIterator<Item = &[u8]> {
        range.map(|index| self.line(index))
    }

    /// Returns whether line `line` equals line `other_line` of `other`.
    #[inline]
    pub(crate) fn is_line_same(&self, line: usize, other: &Text, other_line: usize) -> bool {
        is_equal(self.line(line), other.line(other_line))
    }

    /// Returns how many leading lines of `range` and of `other_range` in `other` are equal.
    pub(crate) fn equal_head(
        &self,
        range: Range<usize>,
        other: &Text,
        other_range: Range<usize>,
    ) -> usize {
        let lines = zip(range, other_range);
        let is_same = |&(line, at): &(usize, usize)| self.is_line_same(line, other, at);
        lines.take_while(is_same).count()
    }

    /// Returns how many trailing lines of `range` and of `other_range` in `other` are equal.
    pub(crate) fn equal_tail(
        &self,
        range: Range<usize>,
        other: &Text,
        other_range: Range<usize>,
    ) -> usize {
        let lines = zip(range.rev(), other_range.rev());
        let is_same = |&(line, at): &(usize, usize)| self.is_line_same(line, other, at);
        lines.take_while(is_same).count()
    }

    /// Returns whether the lines `run` of `other` are somewhere in the lines `range`, in a row.
    pub fn has_run(&self, range: Range<usize>, other: &Text, run: Range<usize>) -> bool {
        let lines: Vec<&[u8]> = self.lines(range).collect();
        let run: Vec<&[u8]> = other.lines(run).collect();
        run.is_empty() || lines.windows(run.len()).any(|window| window == run)
    }

    /// Returns the whole text.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends the lines of `more` and returns their range.
    ///
    /// A last line so far that lacks its terminator stays a line of its own.
    pub(crate) fn append(&mut self, more: &[u8]) -> Range<usize> {
        let first = self.len();
        let base = self.bytes.len();
        self.bytes.extend_from_slice(more);
        self.starts
            .extend(line_ends(more).map(|end| offset(base + end)));
        first..self.len()
    }

    /// Puts `lines` in the place of the lines in `range` (0-based, half-open).
    ///
    /// Each line stays a line of its own, whether it has its terminator or not.
    pub(crate) fn splice(&mut self, range: Range<usize>, lines: &Text) {
        let (from, to) = (self.start(range.start), self.start(range.end));
        self.bytes.splice(from..to, lines.bytes.iter().copied());
        let below = from + lines.bytes.len();
        let inside = lines.starts[1..]
            .iter()
            .map(|&end| offset(from + end as usize));
        let tail = self.starts.split_off(range.end + 1);
        self.starts.truncate(range.start + 1);
        self.starts.extend(inside);
        self.starts
            .extend(tail.iter().map(|&end| offset(end as usize - to + below)));
    }

    /// Returns the text without the newline at its end, or with one if it has none.
    ///
    /// A text that is empty or ends with an empty line is returned as it is: it would have another
    /// number of lines.
    pub(crate) fn with_last_terminator_toggled(&self) -> Text {
        let mut bytes = self.bytes.clone();
        match bytes[..] {
            [] | [b'\n'] | [.., b'\n', b'\n'] => {}
            [.., b'\n'] => drop(bytes.pop()),
            _ => bytes.push(b'\n'),
        }
        Text::new(bytes)
    }
}

/// Returns where each line of `bytes` ends.
fn line_ends(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let last = Some(bytes.len()).filter(|_| is_unterminated(bytes) && !bytes.is_empty());
    memchr_iter(b'\n', bytes).map(|at| at + 1).chain(last)
}

/// Converts `at`, an offset in a text, to what is stored: in 32 bits, or the starts of short lines would
/// take several times their bytes.
fn offset(at: usize) -> u32 {
    u32::try_from(at).expect("a text has less than 4 GiB")
}

/// Length in bytes from which on lines are compared at their ends first.
const LONG_LEN: usize = 512;

/// Returns whether two lines are equal. Long ones, such as generated ones, often begin alike and
/// differ at the end.
#[inline]
fn is_equal(line: &[u8], other: &[u8]) -> bool {
    let is_long = line.len() >= LONG_LEN;
    !(is_long && line.last_chunk::<16>() != other.last_chunk()) && line == other
}

/// Returns how many of the numbers below `n` satisfy `is_first`, which holds up to some number and
/// for none after it. Takes O(log n) calls.
pub(crate) fn partition_point(n: usize, is_first: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = low + (high - low) / 2;
        if is_first(middle) {
            low = middle + 1
        } else {
            high = middle
        }
    }
    low
}

/// Returns `line` without its line end.
pub fn without_terminator(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Returns whether `line` lacks its terminator, as only the last line of a text may.
pub fn is_unterminated(line: &[u8]) -> bool {
    !line.ends_with(b"\n")
}

/// Returns the bytes of `text` that are not ASCII white space.
pub fn without_white_space(text: &[u8]) -> impl Iterator<Item = u8> {
    let is_other = |byte: &u8| !byte.is_ascii_whitespace();
    text.iter().copied().filter(is_other)
}

#[cfg(test)]
mod tests;
