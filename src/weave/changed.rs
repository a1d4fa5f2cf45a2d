//! Where another text differs from the target.
//!
//! A text that comes after an edit was missed is mostly the target but for a few lines. Comparing
//! memory from both ends finds these; all else is as it was.

use std::ops::Range;

use memchr::{memchr, memrchr};

use super::Weave;
use super::offsets::partition_point;
use crate::text::{equal_head, equal_tail};

/// The part that differs between the target and another text: whole lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// Lines of the target (0-based) that are different in the other text.
    pub lines: Range<usize>,
    /// What stands in their place there.
    pub text: Vec<u8>,
}

impl Weave {
    /// Returns where `live` differs from the target, as the line map has it; `None` if nowhere.
    ///
    /// Before and behind that both have the same lines. Takes one comparison of their bytes.
    pub fn changed_in(&self, live: &[u8]) -> Option<Changed> {
        self.changed_inside(0..self.n_lines(), live)
    }

    /// Returns the same for a text that has `text` in the place of the target's `lines`.
    pub(super) fn changed_inside(&self, lines: Range<usize>, text: &[u8]) -> Option<Changed> {
        let pieces = self.pieces_of(lines.clone());
        let n_bytes: usize = pieces.iter().map(|piece| piece.len()).sum();
        let n_head = common_head(&pieces, text);
        if n_head == n_bytes && n_head == text.len() {
            return None;
        }
        let start = memrchr(b'\n', &text[..n_head]).map_or(0, |at| at + 1);
        let n_tail = common_tail(&pieces, text).min(n_bytes.min(text.len()) - start);
        let (end, text_end) = (n_bytes - n_tail, text.len() - n_tail);
        let is_line = (end == start || byte_at(&pieces, end - 1) == Some(b'\n'))
            && (text_end == start || text[text_end - 1] == b'\n');
        // Behind a newline that both have, both begin a line.
        let n_rest = match is_line {
            true => 0,
            false => memchr(b'\n', &text[text_end..]).map_or(n_tail, |at| at + 1),
        };
        let above = self.n_bytes_before(lines.start);
        let line_at = |at| self.n_lines_before(above + at);
        Some(Changed {
            lines: line_at(start)..line_at(end + n_rest),
            text: text[start..text_end + n_rest].to_vec(),
        })
    }

    /// Widens `changed` by up to `n_lines` lines on both sides.
    pub fn widened(&self, changed: &Changed, n_lines: usize) -> Changed {
        let Changed { lines, text } = changed;
        let start = lines.start.saturating_sub(n_lines);
        let end = lines.end.saturating_add(n_lines).min(self.n_lines());
        let above = self.target_lines(start..lines.start);
        let below = self.target_lines(lines.end..end);
        Changed {
            lines: start..end,
            text: [&above, &text[..], &below].concat(),
        }
    }

    /// Returns how many lines of the target begin before its byte `at`.
    pub(super) fn n_lines_before(&self, at: usize) -> usize {
        let (mut n_lines, mut rest) = (0, at);
        for segment in self.alive() {
            let (text, lines) = (self.text_of(segment), segment.lines());
            let len = |n: usize| text.lines_bytes(lines.start..lines.start + n).len();
            if rest < len(lines.len()) {
                return n_lines + partition_point(lines.len(), |n| len(n) < rest);
            }
            n_lines += lines.len();
            rest -= len(lines.len());
        }
        n_lines
    }

    /// Returns how many bytes of the target come before its line `line`.
    pub(super) fn n_bytes_before(&self, line: usize) -> usize {
        let pieces = self.pieces_of(0..line);
        pieces.iter().map(|piece| piece.len()).sum()
    }
}

/// Returns how many bytes are the same at the head of `text` and of the text of `pieces`.
fn common_head(pieces: &[&[u8]], text: &[u8]) -> usize {
    let mut n_same = 0;
    for piece in pieces {
        let n_more = equal_head(piece, &text[n_same..]);
        n_same += n_more;
        if n_more < piece.len() {
            break;
        }
    }
    n_same
}

/// Returns how many bytes are the same at the tail of `text` and of the text of `pieces`.
fn common_tail(pieces: &[&[u8]], text: &[u8]) -> usize {
    let mut n_same = 0;
    for piece in pieces.iter().rev() {
        let n_more = equal_tail(piece, &text[..text.len() - n_same]);
        n_same += n_more;
        if n_more < piece.len() {
            break;
        }
    }
    n_same
}

fn byte_at(pieces: &[&[u8]], mut at: usize) -> Option<u8> {
    for piece in pieces {
        match piece.get(at) {
            Some(&byte) => return Some(byte),
            None => at -= piece.len(),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;
    use crate::diff;
    use crate::text::Text;

    /// Returns a text of up to `max_len` lines, its last one perhaps without a newline.
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
            let (old, live) = (Text::new(weave.target()), Text::new(any_text(&mut roll, 6)));
            let Some(changed) = weave.changed_in(live.bytes()) else {
                assert_eq!(old, live);
                continue;
            };
            let Changed { lines, text } = changed.clone();
            let n_tail = old.len() - lines.end;
            // It is what stands between the lines at both ends that are the same.
            let n_head = (0..old.len().min(live.len()))
                .take_while(|&at| old.line(at) == live.line(at))
                .count();
            let n_room = old.len().min(live.len()) - n_head;
            let is_same = |at: &usize| old.line(old.len() - at) == live.line(live.len() - at);
            let n_same = (1..=n_room).take_while(is_same).count();
            assert_eq!((lines.start, n_tail), (n_head, n_same), "{old:?} {live:?}");
            assert_eq!(text, live.lines_bytes(n_head..live.len() - n_same));
            let wide = weave.widened(&changed, 1);
            let n_more = [n_head.min(1), n_same.min(1)];
            assert_eq!(wide.lines, n_head - n_more[0]..lines.end + n_more[1]);
            let wide_lines = wide.lines.start..live.len() - (old.len() - wide.lines.end);
            assert_eq!(live.lines_bytes(wide_lines), wide.text);
        }
    }
}
