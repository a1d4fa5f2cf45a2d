//! The text of the target: the bytes of the alive segments, in order.
//!
//! Only reads segments and texts, and copies nothing unless asked to.

use std::ops::Range;

use super::segment::Segment;
use super::segments::{Segments, partition_point};
use super::texts::Texts;
use super::unique::UniqueLines;
use crate::text::Text;

/// The target, according to the weave.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target<'a> {
    pub(super) texts: &'a Texts,
    pub(super) segments: &'a Segments,
}

impl<'a> Target<'a> {
    /// Returns the whole text.
    pub(crate) fn to_vec(self) -> Vec<u8> {
        self.pieces().concat()
    }

    /// Returns the whole text in pieces.
    pub(crate) fn pieces(self) -> Vec<&'a [u8]> {
        let alive = self.segments.alive();
        alive.map(|segment| self.texts.bytes(segment)).collect()
    }

    /// Returns the pieces of the whole text, with `lines` replaced by `text`.
    pub(crate) fn pieces_with(self, lines: &Range<usize>, text: &'a [u8]) -> Vec<&'a [u8]> {
        let mut pieces = self.pieces_of(0..lines.start);
        pieces.push(text);
        pieces.extend(self.pieces_of(lines.end..self.n_lines()));
        pieces
    }

    /// Returns the bytes of the lines in `range`.
    pub(crate) fn lines(self, range: Range<usize>) -> Vec<u8> {
        self.pieces_of(range).concat()
    }

    /// Returns the lines in `range`, in pieces. Takes O(log s) time for s segments, plus that for
    /// the segments in `range`.
    fn pieces_of(self, range: Range<usize>) -> Vec<&'a [u8]> {
        let mut pieces = Vec::new();
        let (first, mut line) = self.segments.above_line(range.start);
        for segment in self.segments.alive_from(first) {
            let piece = self.texts.bytes_within(segment, line, &range);
            if !piece.is_empty() {
                pieces.push(piece);
            }
            line += segment.len();
            if line >= range.end {
                break;
            }
        }
        pieces
    }

    /// Returns the number of lines.
    pub(crate) fn n_lines(self) -> usize {
        self.segments.n_lines()
    }

    /// Returns the number of characters, as Emacs counts them.
    pub fn n_chars(self) -> usize {
        self.segments.n_chars(self.texts)
    }

    /// Returns how many characters, as Emacs counts them, come before line `line`.
    pub(crate) fn chars_before(self, line: usize) -> usize {
        self.segments.chars_before(self.texts, line)
    }

    /// Returns how many bytes come before line `line`.
    pub(super) fn bytes_before(self, line: usize) -> usize {
        let pieces = self.pieces_of(0..line);
        pieces.iter().map(|piece| piece.len()).sum()
    }

    /// Returns how many lines begin before byte `at`.
    pub(super) fn lines_before(self, at: usize) -> usize {
        let (mut n_lines, mut rest) = (0, at);
        for segment in self.segments.alive() {
            let (text, lines) = (self.texts.text_of(segment), segment.lines());
            let len = |n: usize| text.lines_bytes(lines.start..lines.start + n).len();
            if rest < len(lines.len()) {
                return n_lines + partition_point(lines.len(), |n| len(n) < rest);
            }
            n_lines += lines.len();
            rest -= len(lines.len());
        }
        n_lines
    }

    /// Returns whether the text equals `live`, byte for byte.
    pub(crate) fn is(self, live: &[u8]) -> bool {
        let alive = self.segments.alive();
        let lens = alive.map(|segment| self.texts.bytes(segment).len());
        if lens.sum::<usize>() != live.len() {
            return false;
        }
        let mut rest = live;
        for segment in self.segments.alive() {
            match rest.strip_prefix(self.texts.bytes(segment)) {
                Some(after) => rest = after,
                None => return false,
            }
        }
        rest.is_empty()
    }

    /// Prepares to look up single lines. Takes O(s) time for s segments; the first time after the
    /// texts changed, also O(n) for their n lines.
    pub(crate) fn lines_one_by_one(self) -> TargetLines<'a> {
        let mut line = 0;
        let mut start = |segment: &Segment| {
            line += segment.len();
            line - segment.len()
        };
        let alive = self.segments.alive();
        TargetLines {
            texts: self.texts,
            unique: self.texts.unique(self.segments.atoms()),
            starts: alive.map(|segment| (start(segment), segment)).collect(),
        }
    }

    /// Returns line `at` with lines around it that are consecutive in one of the texts. Panics if
    /// there is no such line.
    pub(crate) fn run(self, at: usize) -> TargetRun<'a> {
        let (first, mut line) = self.segments.above_line(at);
        let mut holds_line = |segment: &&Segment| {
            line += segment.len();
            line > at
        };
        let mut alive = self.segments.alive_from(first);
        let segment = alive.find(&mut holds_line).expect("a line of the target");
        TargetRun {
            lines: line - segment.len()..line,
            text: self.texts.text_of(segment),
            first: segment.lines().start,
        }
    }

    /// Returns the lines that others inserted into the target, including those deleted since.
    pub(crate) fn user_lines(self) -> impl Iterator<Item = &'a [u8]> {
        let user = self.texts.user();
        user.lines(0..user.len())
    }
}

/// Looks up lines of the target, in O(log s) time each for s segments.
pub(crate) struct TargetLines<'a> {
    texts: &'a Texts,
    unique: &'a UniqueLines,
    /// For each alive segment, the line of the target at which it begins.
    starts: Vec<(usize, &'a Segment)>,
}

impl<'a> TargetLines<'a> {
    /// Returns line `at` of the target (0-based), and whether it is known to equal no other line
    /// except ones that others inserted. Panics if there is no such line.
    pub fn get(&self, at: usize) -> (&'a [u8], bool) {
        let index = self.starts.partition_point(|(start, _)| *start <= at) - 1;
        let (start, segment) = self.starts[index];
        let line = segment.lines().start + at - start;
        let text = self.texts.text_of(segment);
        (text.line(line), self.unique.has(segment, line))
    }
}

/// Lines of the target that are consecutive in one of the texts.
pub(crate) struct TargetRun<'a> {
    lines: Range<usize>,
    text: &'a Text,
    /// The line of that text which is the first of them.
    first: usize,
}

impl<'a> TargetRun<'a> {
    /// Returns line `at` of the target (0-based), if it is one of these.
    pub fn get(&self, at: usize) -> Option<&'a [u8]> {
        let is_here = self.lines.contains(&at);
        is_here.then(|| self.text.line(self.first + at - self.lines.start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff;
    use crate::weave::Weave;

    #[test]
    fn a_line_is_unique_if_both_texts_have_it_once_at_most() {
        let original = Text::new(b"1\n2\n2\n3\n4\n5\n".to_vec());
        let modified = Text::new(b"1\n2\n2\n6\n7\n7\n5\n1\n".to_vec());
        let edits = diff::edits(&original, &modified);
        let mut weave = Weave::new(original, modified, &edits);
        let unique = |weave: &Weave| {
            let lines = weave.target().lines_one_by_one();
            let is_unique = |&at: &usize| lines.get(at).1;
            let unique = (0..weave.target().n_lines()).filter(is_unique);
            unique
                .flat_map(|at| lines.get(at).0)
                .copied()
                .collect::<Vec<u8>>()
        };
        assert_eq!(unique(&weave), b"3\n4\n5\n");
        weave.flip(&[0, 1]);
        assert_eq!(weave.target().to_vec(), b"1\n2\n2\n6\n7\n7\n5\n1\n");
        assert_eq!(unique(&weave), b"6\n5\n");
        weave.edit_loosely(0, 0, b"5\n9\n", false);
        weave.settle();
        assert_eq!(unique(&weave), b"6\n5\n");
        let typed = weave.target().user_lines().collect::<Vec<_>>();
        assert_eq!(typed, [b"5\n", b"9\n"]);
    }
}
