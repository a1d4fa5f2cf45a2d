//! Text as lines.
//!
//! A line includes its terminator: everything up to and including `\n`. A `\r` before it is part
//! of the terminator, so CRLF files need no special case; a lone `\r` is an ordinary byte. Only the
//! last line of a text can lack `\n`. Texts are bytes: nothing is decoded, trimmed or re-terminated.
//!
//! A text has fewer than 4 GiB ([`MAX_LEN`]), or making it panics.

use std::iter::zip;
use std::ops::Range;

use memchr::memchr_iter;
use wide::{CmpEq, i8x16};

/// Largest length of a text, in bytes: where its lines begin is kept in 32 bits, so that the table
/// of a text of short lines is not several times the text.
pub const MAX_LEN: usize = u32::MAX as usize;

/// A text that owns its bytes and knows where its lines begin.
///
/// Time to build is O(bytes), space is the bytes plus four bytes for each line.
///
/// ```
/// use agent_q_diff::text::Text;
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
        assert!(bytes.len() <= MAX_LEN, "a text of 4 GiB or more");
        let starts = line_starts(&bytes);
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

    /// Tells whether the text has no lines, that is, no bytes.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns line `index` (0-based) with its terminator. Panics if there is no such line.
    pub fn line(&self, index: usize) -> &[u8] {
        &self.bytes[self.start(index)..self.start(index + 1)]
    }

    /// Returns the bytes of the lines in `range` (0-based, half-open).
    pub fn lines_bytes(&self, range: Range<usize>) -> &[u8] {
        &self.bytes[self.start(range.start)..self.start(range.end)]
    }

    /// Returns where line `index` begins, in bytes; of the number of lines, where the text ends.
    fn start(&self, index: usize) -> usize {
        self.starts[index] as usize
    }

    /// Returns an iterator over the lines in `range` (0-based, half-open).
    pub fn lines(&self, range: Range<usize>) -> impl DoubleEndedIterator<Item = &[u8]> {
        range.map(|index| self.line(index))
    }

    /// Returns how many lines at the head of `range` and of `other_range` in `other` are the same.
    ///
    /// Compares memory, which is many times cheaper than line by line.
    pub fn equal_head(
        &self,
        range: Range<usize>,
        other: &Text,
        other_range: Range<usize>,
    ) -> usize {
        let ours = self.lines_bytes(range.clone());
        let n_equal = equal_head(ours, other.lines_bytes(other_range.clone()));
        let end = offset(self.start(range.start) + n_equal);
        let ends = &self.starts[range.start + 1..=range.end];
        let n_lines = count_sorted(ends, end).min(other_range.len());
        // Where a line of one text spans two of the other, the bytes can be the same.
        let ends = zip(&ends[..n_lines], &other.starts[other_range.start + 1..]);
        let (first, other_first) = (self.starts[range.start], other.starts[other_range.start]);
        ends.take_while(|(end, other_end)| *end - first == *other_end - other_first)
            .count()
    }

    /// Returns how many lines at the tail of `range` and of `other_range` in `other` are the same.
    pub fn equal_tail(
        &self,
        range: Range<usize>,
        other: &Text,
        other_range: Range<usize>,
    ) -> usize {
        let ours = self.lines_bytes(range.clone());
        let n_equal = equal_tail(ours, other.lines_bytes(other_range.clone()));
        let first = self.start(range.end) - n_equal;
        let starts = zip(
            self.starts[range.clone()].iter().rev(),
            other.starts[other_range.clone()].iter().rev(),
        );
        let (end, other_end) = (self.starts[range.end], other.starts[other_range.end]);
        let is_same = |(start, other_start): &(&u32, &u32)| {
            **start as usize >= first && end - *start == other_end - *other_start
        };
        starts.take_while(is_same).count()
    }

    /// Returns the whole text.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends the lines of `more` and returns their range.
    ///
    /// A last line so far that lacks its terminator stays a line of its own.
    pub fn append(&mut self, more: &[u8]) -> Range<usize> {
        let first = self.len();
        let base = self.bytes.len();
        self.bytes.extend_from_slice(more);
        assert!(self.bytes.len() <= MAX_LEN, "a text of 4 GiB or more");
        let added = Text::new(more.to_vec());
        self.starts
            .extend(added.starts[1..].iter().map(|at| offset(base) + at));
        first..self.len()
    }

    /// Puts `lines` in the place of the lines in `range` (0-based, half-open).
    ///
    /// Each line stays a line of its own, whether it has its terminator or not.
    pub fn splice(&mut self, range: Range<usize>, lines: &Text) {
        let (from, to) = (self.start(range.start), self.start(range.end));
        self.bytes.splice(from..to, lines.bytes.iter().copied());
        assert!(self.bytes.len() <= MAX_LEN, "a text of 4 GiB or more");
        let tail = self.starts.split_off(range.end);
        self.starts.truncate(range.start);
        let inside = lines.starts[..lines.len()].iter();
        self.starts.extend(inside.map(|at| at + offset(from)));
        let added = offset(lines.bytes.len());
        let tail = tail.iter().map(|at| at - offset(to) + offset(from) + added);
        self.starts.extend(tail);
    }

    /// Returns the text without the newline at its end, or with one if it has none.
    ///
    /// A text that is empty or ends with an empty line is returned as it is: it would have another
    /// number of lines.
    pub fn with_last_terminator_toggled(&self) -> Text {
        let mut bytes = self.bytes.clone();
        match bytes[..] {
            [] | [b'\n'] | [.., b'\n', b'\n'] => {}
            [.., b'\n'] => drop(bytes.pop()),
            _ => bytes.push(b'\n'),
        }
        Text::new(bytes)
    }
}

/// Number of bytes in which newlines are looked for at once.
const SCANNED_LEN: usize = 64;

/// Returns where each line of `bytes` begins, and where the last one ends.
///
/// A search for one newline after the other takes three times as long: lines are short.
fn line_starts(bytes: &[u8]) -> Vec<u32> {
    let n_newlines = memchr_iter(b'\n', bytes).count();
    // Room for all that a block may have.
    let mut starts = vec![0; 1 + n_newlines + SCANNED_LEN];
    let mut len = 1;
    let (blocks, rest) = bytes.as_chunks::<SCANNED_LEN>();
    for (index, block) in blocks.iter().enumerate() {
        let base = offset(index * SCANNED_LEN);
        len += put_ends(&mut starts[len..len + SCANNED_LEN], newlines(block), base);
    }
    let base = bytes.len() - rest.len();
    let ends = memchr_iter(b'\n', rest).map(|at| offset(base + at + 1));
    starts.truncate(len);
    starts.extend(ends);
    if starts.last() != Some(&offset(bytes.len())) {
        starts.push(offset(bytes.len()));
    }
    starts
}

/// Puts where the bits of `newlines` are, from `base` on, into `ends`; returns their number.
fn put_ends(ends: &mut [u32], mut newlines: u64, base: u32) -> usize {
    let n_newlines = newlines.count_ones() as usize;
    // Mostly there are no more than these, and to write them always is cheaper than to branch.
    const USUAL: usize = 4;
    let (usual, others) = ends.split_at_mut(USUAL);
    for end in usual {
        *end = base.wrapping_add(newlines.trailing_zeros() + 1);
        newlines &= newlines.wrapping_sub(1);
    }
    for end in others.iter_mut().take(n_newlines.saturating_sub(USUAL)) {
        *end = base + newlines.trailing_zeros() + 1;
        newlines &= newlines.wrapping_sub(1);
    }
    n_newlines
}

/// Returns a bit for each byte of `block`, set if it is a newline.
fn newlines(block: &[u8; SCANNED_LEN]) -> u64 {
    let (parts, _) = block.as_chunks::<16>();
    let bits = parts.iter().map(|part| {
        let is_newline = i8x16::new(part.map(|byte| byte as i8)).cmp_eq(i8x16::splat(b'\n' as i8));
        // One bit for each of the 16.
        is_newline.move_mask() as u16 as u64
    });
    bits.rev().fold(0, |all, bits| all << 16 | bits)
}

/// Number of bytes that are compared at once.
const BLOCK_LEN: usize = 32;

/// Returns how many bytes at the head of both are the same.
fn equal_head(a: &[u8], b: &[u8]) -> usize {
    let blocks = zip(a.as_chunks::<BLOCK_LEN>().0, b.as_chunks::<BLOCK_LEN>().0);
    let done = BLOCK_LEN * blocks.take_while(|(a, b)| a == b).count();
    done + zip(&a[done..], &b[done..])
        .take_while(|(a, b)| a == b)
        .count()
}

/// Returns how many bytes at the tail of both are the same.
fn equal_tail(a: &[u8], b: &[u8]) -> usize {
    let (a_blocks, b_blocks) = (a.as_rchunks::<BLOCK_LEN>().1, b.as_rchunks::<BLOCK_LEN>().1);
    let blocks = zip(a_blocks.iter().rev(), b_blocks.iter().rev());
    let done = BLOCK_LEN * blocks.take_while(|(a, b)| a == b).count();
    let rest = zip(
        a[..a.len() - done].iter().rev(),
        b[..b.len() - done].iter().rev(),
    );
    done + rest.take_while(|(a, b)| a == b).count()
}

/// Returns how many of `sorted` are at most `end`: few, or it takes a step for each doubling.
fn count_sorted(sorted: &[u32], end: u32) -> usize {
    let mut len = 8;
    while sorted.get(len).is_some_and(|&at| at <= end) {
        len *= 2;
    }
    sorted[..len.min(sorted.len())].partition_point(|&at| at <= end)
}

/// Returns `at`, an offset in a text, as the table of lines keeps it.
fn offset(at: usize) -> u32 {
    debug_assert!(at <= MAX_LEN);
    // Each text is checked to be no longer than `MAX_LEN`.
    at as u32
}

/// Tells whether `line` lacks its terminator, as only the last line of a text may.
pub fn is_unterminated(line: &[u8]) -> bool {
    !line.ends_with(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_their_terminators_and_join_to_the_text() {
        for case in ["", "a", "a\n", "a\nb", "\n\n", "a\r\nb\rc\n", "\0\n\u{85}x"] {
            let text = Text::new(case.as_bytes().to_vec());
            let joined: Vec<u8> = text.lines(0..text.len()).flatten().copied().collect();
            assert_eq!(joined, case.as_bytes());
            assert_eq!(text.len(), case.split_inclusive('\n').count(), "{case:?}");
        }
    }

    #[test]
    fn spliced_lines_are_between_those_that_stay() {
        let case = |range, lines: &str| {
            let mut text = Text::new(b"a\nb\nc\n".to_vec());
            text.splice(range, &Text::new(lines.into()));
            let lines = (0..text.len()).map(|at| String::from_utf8_lossy(text.line(at)).into());
            lines.collect::<Vec<String>>()
        };
        assert_eq!(case(1..2, "x\ny\n"), ["a\n", "x\n", "y\n", "c\n"]);
        assert_eq!(case(0..0, "x\n"), ["x\n", "a\n", "b\n", "c\n"]);
        assert_eq!(case(3..3, "x"), ["a\n", "b\n", "c\n", "x"]);
        assert_eq!(case(0..1, "x"), ["x", "b\n", "c\n"]);
        assert_eq!(case(0..3, ""), Vec::<String>::new());
    }

    #[test]
    fn append_numbers_on() {
        let mut text = Text::new(b"a\n".to_vec());
        assert_eq!(text.append(b"b\nc\n"), 1..3);
        assert_eq!(text.line(2), b"c\n");
    }
}
