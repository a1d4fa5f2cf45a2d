//! The text of the target: the bytes of the alive segments, in order.
//!
//! Only reads segments and texts, and copies nothing unless asked to.

use std::iter::zip;
use std::ops::Range;

use memchr::{memchr, memrchr};

use crate::text::{Text, n_newlines};

use super::segments::Segments;
use super::texts::Texts;

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

    /// Returns the lines one by one.
    pub(crate) fn lines_one_by_one(self) -> Vec<&'a [u8]> {
        let alive = self.segments.alive();
        let lines = alive.map(|segment| self.texts.text_of(segment).lines(segment.lines()));
        lines.flatten().collect()
    }
}

// Finds where another text differs from the target.
//
// If an edit was missed, the new text usually differs from the target in a few lines only.
// Comparing memory from both ends finds them; everything else is unchanged.

/// The part that differs between the target and another text: whole lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// Lines of the target (0-based) that are different in the other text.
    pub lines: Range<usize>,
    /// The lines that replace them in the other text.
    pub text: Vec<u8>,
}

/// Number of bytes that are compared at once; few in tests, so that their texts have several blocks.
const BLOCK_LEN: usize = if cfg!(test) { 3 } else { 1 << 12 };

impl Target<'_> {
    /// Returns the part in which `live` differs from the target; `None` if it does not.
    ///
    /// Above and below that part, both have the same lines. Takes O(n) time and space for n bytes.
    pub(crate) fn changed_in(self, live: &[u8]) -> Option<Changed> {
        let whole = self.to_vec();
        if whole == live {
            return None;
        }
        let blocks = zip(whole.chunks_exact(BLOCK_LEN), live.chunks_exact(BLOCK_LEN));
        let head = BLOCK_LEN * blocks.take_while(|(a, b)| a == b).count();
        let bytes = zip(&whole[head..], &live[head..]);
        let head = head + bytes.take_while(|(a, b)| a == b).count();
        let start = memrchr(b'\n', &whole[..head]).map_or(0, |at| at + 1);
        let (rest, live) = (&whole[start..], &live[start..]);
        let blocks = zip(rest.rchunks_exact(BLOCK_LEN), live.rchunks_exact(BLOCK_LEN));
        let tail = BLOCK_LEN * blocks.take_while(|(a, b)| a == b).count();
        // Only whole lines are left out, and what is left has its own.
        let first = memchr(b'\n', &rest[rest.len() - tail..]);
        let tail = first.map_or(0, |at| tail - at - 1);
        let inner = |text: &[u8]| Text::new(text[..text.len() - tail].to_vec());
        let (old, new) = (inner(rest), inner(live));
        let n_head = n_newlines(&whole[..start]);
        let n_tail = old.equal_tail(0..old.len(), &new, 0..new.len());
        Some(Changed {
            lines: n_head..n_head + old.len() - n_tail,
            text: new.lines_bytes(0..new.len() - n_tail).to_vec(),
        })
    }

    /// Widens `changed` by up to `n_lines` lines on each side.
    pub(crate) fn widened(self, changed: &Changed, n_lines: usize) -> Changed {
        let Changed { lines, text } = changed;
        let start = lines.start.saturating_sub(n_lines);
        let end = lines.end.saturating_add(n_lines).min(self.n_lines());
        let above = self.lines(start..lines.start);
        let below = self.lines(lines.end..end);
        Changed {
            lines: start..end,
            text: [&above, &text[..], &below].concat(),
        }
    }
}

#[cfg(test)]
mod changed_tests {
    use super::*;
    use crate::dice::Dice;
    use crate::diff;
    use crate::weave::Weave;

    /// Returns a text of fewer than `max_len` lines and perhaps a last one without newline.
    fn any_text(roll: &mut impl FnMut(usize) -> usize, max_len: usize) -> Vec<u8> {
        let lines = ["\n", "a\n", "ba\n", "b\n"];
        let mut text = (0..roll(max_len))
            .map(|_| lines[roll(4)])
            .collect::<String>();
        if roll(3) == 0 {
            text.push_str(["a", "b", "\r"][roll(3)]);
        }
        text.into_bytes()
    }

    #[test]
    fn all_but_the_part_that_changed_are_the_same_lines() {
        let mut dice = Dice::new(1);
        let mut roll = |n: usize| dice.roll(n);
        for _ in 0..50_000 {
            let original = Text::new(any_text(&mut roll, 6));
            let modified = Text::new(any_text(&mut roll, 6));
            let edits = diff::edits(&original, &modified);
            let mut weave = Weave::new(original, modified, &edits);
            let all: Vec<usize> = (0..edits.len()).collect();
            weave.flip(&all[..roll(all.len() + 1)]);
            let (old, live) = (
                Text::new(weave.target().to_vec()),
                Text::new(any_text(&mut roll, 6)),
            );
            let Some(changed) = weave.target().changed_in(live.bytes()) else {
                assert_eq!(old, live);
                continue;
            };
            let Changed { lines, text } = changed.clone();
            let n_tail = old.len() - lines.end;
            // The change is what remains between the equal lines at both ends.
            let n_head = (0..old.len().min(live.len()))
                .take_while(|&at| old.line(at) == live.line(at))
                .count();
            let n_room = old.len().min(live.len()) - n_head;
            let is_same = |at: &usize| old.line(old.len() - at) == live.line(live.len() - at);
            let n_same = (1..=n_room).take_while(is_same).count();
            assert_eq!((lines.start, n_tail), (n_head, n_same), "{old:?} {live:?}");
            assert_eq!(text, live.lines_bytes(n_head..live.len() - n_same));
            let wide = weave.target().widened(&changed, 1);
            let n_more = [n_head.min(1), n_same.min(1)];
            assert_eq!(wide.lines, n_head - n_more[0]..lines.end + n_more[1]);
            let wide_lines = wide.lines.start..live.len() - (old.len() - wide.lines.end);
            assert_eq!(live.lines_bytes(wide_lines), wide.text);
        }
    }
}
