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
mod same;
mod scan;
mod table;

use std::ops::Range;

pub use chars::n_chars;
pub(crate) use chars::{char_len, len_of_chars, n_crlf, n_newlines};
pub use plain::Decoding;
pub(crate) use same::{equal_head, equal_tail};
use table::{MAX_LEN, Table};

/// A text with its bytes and the starts of its lines.
///
/// Building it takes O(bytes) time; it occupies the bytes and little more than two bytes for each
/// line.
///
/// ```
/// use agent_q_diff_engine::text::Text;
/// let text = Text::new(b"one\ntwo".to_vec());
/// assert_eq!(text.len(), 2);
/// assert_eq!(text.line(0), b"one\n");
/// assert_eq!(text.line(1), b"two");
/// ```
#[derive(Debug, Clone)]
pub struct Text {
    bytes: Vec<u8>,
    starts: Table,
    /// Whether a line is known to begin after each newline and nowhere else. After texts were
    /// joined, a line in the middle may lack its terminator.
    is_plain: bool,
}

impl PartialEq for Text {
    fn eq(&self, other: &Text) -> bool {
        (&self.bytes, &self.starts) == (&other.bytes, &other.starts)
    }
}

impl Eq for Text {}

impl Text {
    /// Splits `bytes` into lines.
    pub fn new(bytes: Vec<u8>) -> Text {
        assert!(bytes.len() <= MAX_LEN, "a text of 4 GiB or more");
        let starts = scan::line_starts(&bytes);
        let is_plain = true;
        Text {
            bytes,
            starts,
            is_plain,
        }
    }

    /// Like [`Text::new`], reusing the line table of a similar text.
    ///
    /// In their common prefix and suffix this is several times cheaper than splitting; the rest is
    /// split as usual.
    pub(crate) fn beside(bytes: Vec<u8>, other: &Text) -> Text {
        assert!(bytes.len() <= MAX_LEN, "a text of 4 GiB or more");
        if !other.is_plain {
            return Text::new(bytes);
        }
        let starts = scan::line_starts_beside(&bytes, &other.bytes, &other.starts);
        Text {
            bytes,
            starts,
            is_plain: true,
        }
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
        &self.bytes[self.starts.line(index)]
    }

    /// Returns the bytes of the lines in `range` (0-based, half-open).
    pub fn lines_bytes(&self, range: Range<usize>) -> &[u8] {
        &self.bytes[self.start(range.start)..self.start(range.end)]
    }

    /// Returns the byte offset of line `index`; for the number of lines, the length of the text.
    fn start(&self, index: usize) -> usize {
        self.starts.at(index)
    }

    /// Returns an iterator over the lines in `range` (0-based, half-open).
    pub fn lines(&self, range: Range<usize>) -> impl DoubleEndedIterator<Item = &[u8]> {
        range.map(|index| self.line(index))
    }

    /// Returns whether line `line` equals line `other_line` of `other`.
    #[inline]
    pub(crate) fn is_line_same(&self, line: usize, other: &Text, other_line: usize) -> bool {
        self.may_be_same(line, other, other_line)
            && is_equal(self.line(line), other.line(other_line))
    }

    /// Returns whether line `line` may equal line `other_line` of `other`, by their lengths, which
    /// mostly tell.
    #[inline]
    pub(crate) fn may_be_same(&self, line: usize, other: &Text, other_line: usize) -> bool {
        self.starts.low_len(line) == other.starts.low_len(other_line)
    }

    /// Returns how many leading lines of `range` and of `other_range` in `other` are equal.
    ///
    /// Compares memory, which is many times cheaper than line by line.
    pub(crate) fn equal_head(
        &self,
        range: Range<usize>,
        other: &Text,
        other_range: Range<usize>,
    ) -> usize {
        // The lengths of the first lines mostly decide it; only this check is inlined.
        if range.is_empty()
            || other_range.is_empty()
            || !self.may_be_same(range.start, other, other_range.start)
        {
            return 0;
        }
        self.n_equal_at_head(range, other, other_range)
    }

    #[inline(never)]
    fn n_equal_at_head(
        &self,
        range: Range<usize>,
        other: &Text,
        other_range: Range<usize>,
    ) -> usize {
        let (start, other_start) = (self.start(range.start), other.start(other_range.start));
        let ours = &self.bytes[start..self.start(range.end)];
        let theirs = &other.bytes[other_start..other.start(other_range.end)];
        let end = start + same::equal_head(ours, theirs);
        let n_lines = self.starts.n_up_to(range.start, range.end, end);
        self.n_agreed(other, n_lines.min(other_range.len()), |n| {
            let end = self.start(range.start + n);
            end - start == other.start(other_range.start + n) - other_start
        })
    }

    /// Returns how many trailing lines of `range` and of `other_range` in `other` are equal.
    pub(crate) fn equal_tail(
        &self,
        range: Range<usize>,
        other: &Text,
        other_range: Range<usize>,
    ) -> usize {
        if range.is_empty()
            || other_range.is_empty()
            || !self.may_be_same(range.end - 1, other, other_range.end - 1)
        {
            return 0;
        }
        self.n_equal_at_tail(range, other, other_range)
    }

    #[inline(never)]
    fn n_equal_at_tail(
        &self,
        range: Range<usize>,
        other: &Text,
        other_range: Range<usize>,
    ) -> usize {
        let (end, other_end) = (self.start(range.end), other.start(other_range.end));
        let ours = &self.bytes[self.start(range.start)..end];
        let theirs = &other.bytes[other.start(other_range.start)..other_end];
        let first = end - same::equal_tail(ours, theirs);
        let n_lines = self.starts.n_from(range.start, range.end, first);
        self.n_agreed(other, n_lines.min(other_range.len()), |n| {
            let start = self.start(range.end - n);
            end - start == other_end - other.start(other_range.end - n)
        })
    }

    /// Returns how many of `n_lines` lines whose bytes are equal in `other` are also lines there;
    /// `is_same(n)` says whether the first `n` lines are equally long in both.
    fn n_agreed(&self, other: &Text, n_lines: usize, is_same: impl Fn(usize) -> bool) -> usize {
        match self.is_plain && other.is_plain {
            // Equal bytes have equal newlines. Only the last line may end with the text instead (at a
            // tail: begin with it).
            true => n_lines - usize::from(n_lines > 0 && !is_same(n_lines)),
            // A line of one text can span two of the other.
            false => (1..=n_lines).take_while(|&n| is_same(n)).count(),
        }
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
        self.is_plain &= base == 0 || self.bytes.ends_with(b"\n");
        self.bytes.extend_from_slice(more);
        assert!(self.bytes.len() <= MAX_LEN, "a text of 4 GiB or more");
        let added = Text::new(more.to_vec());
        let ends = (1..=added.len()).map(|line| base + added.start(line));
        self.starts.extend(ends);
        first..self.len()
    }

    /// Puts `lines` in the place of the lines in `range` (0-based, half-open).
    ///
    /// Each line stays a line of its own, whether it has its terminator or not.
    pub(crate) fn splice(&mut self, range: Range<usize>, lines: &Text) {
        let (from, to) = (self.start(range.start), self.start(range.end));
        self.is_plain = false;
        self.bytes.splice(from..to, lines.bytes.iter().copied());
        assert!(self.bytes.len() <= MAX_LEN, "a text of 4 GiB or more");
        let below = from + lines.bytes.len();
        let tail = range.end..=self.len();
        let tail: Vec<usize> = tail.map(|line| self.start(line) - to + below).collect();
        let inside = (0..lines.len()).map(|line| from + lines.start(line));
        // Whatever follows them, the lines above end where they did.
        self.starts.truncate(range.start + 1);
        self.starts.extend(inside.chain(tail).skip(1));
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

/// Length in bytes from which on lines are compared at their ends first.
const LONG_LEN: usize = 512;

/// Returns whether two lines are equal. Long ones, such as generated ones, often begin alike and
/// differ at the end.
#[inline]
fn is_equal(line: &[u8], other: &[u8]) -> bool {
    let is_long = line.len() >= LONG_LEN;
    !(is_long && line.last_chunk::<16>() != other.last_chunk()) && line == other
}

/// Returns whether `line` lacks its terminator, as only the last line of a text may.
pub fn is_unterminated(line: &[u8]) -> bool {
    !line.ends_with(b"\n")
}

#[cfg(test)]
mod tests;
