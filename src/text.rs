//! Text as lines.
//!
//! A line includes its terminator: everything up to and including `\n`. A `\r` before it is part
//! of the terminator, so CRLF files need no special case; a lone `\r` is an ordinary byte. Only the
//! last line of a text can lack `\n`. Texts are bytes: nothing is decoded, trimmed or re-terminated.

use std::ops::Range;

/// A text that owns its bytes and knows where its lines begin.
///
/// Time to build is O(bytes), space is the bytes plus eight bytes for each line.
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
    starts: Vec<usize>,
}

impl Text {
    /// Splits `bytes` into lines.
    pub fn new(bytes: Vec<u8>) -> Text {
        let mut starts = vec![0];
        let ends = bytes.iter().enumerate().filter(|&(_, &b)| b == b'\n');
        starts.extend(ends.map(|(at, _)| at + 1));
        if starts.last() != Some(&bytes.len()) {
            starts.push(bytes.len());
        }
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
        &self.bytes[self.starts[index]..self.starts[index + 1]]
    }

    /// Returns the bytes of the lines in `range` (0-based, half-open).
    pub fn lines_bytes(&self, range: Range<usize>) -> &[u8] {
        &self.bytes[self.starts[range.start]..self.starts[range.end]]
    }

    /// Returns an iterator over the lines in `range` (0-based, half-open).
    pub fn lines(&self, range: Range<usize>) -> impl DoubleEndedIterator<Item = &[u8]> {
        range.map(|index| self.line(index))
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
        let added = Text::new(more.to_vec());
        self.starts
            .extend(added.starts[1..].iter().map(|at| base + at));
        first..self.len()
    }

    /// Puts `lines` in the place of the lines in `range` (0-based, half-open).
    ///
    /// Each line stays a line of its own, whether it has its terminator or not.
    pub fn splice(&mut self, range: Range<usize>, lines: &Text) {
        let (from, to) = (self.starts[range.start], self.starts[range.end]);
        self.bytes.splice(from..to, lines.bytes.iter().copied());
        let tail = self.starts[range.end..].iter();
        let tail: Vec<usize> = tail.map(|at| at - to + from + lines.bytes.len()).collect();
        self.starts.truncate(range.start);
        let inside = lines.starts[..lines.len()].iter();
        self.starts.extend(inside.map(|at| at + from));
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
