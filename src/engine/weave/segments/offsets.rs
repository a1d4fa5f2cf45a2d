//! Character offsets of the lines of the target.
//!
//! Emacs moves to a character position at once, but to a line only by counting the lines before it.

use super::Segments;
use super::sums::Sums;
use crate::weave::texts::Texts;

/// How many characters of the target come before each segment.
#[derive(Debug, Clone)]
pub(super) struct Offsets {
    /// For each segment the number when they were counted, and one more entry for the end.
    before: Vec<usize>,
    /// For each atom with a place, by rank, how many characters it has gained since then.
    shifts: Sums,
    /// The sum of `shifts`.
    total: isize,
}

impl Offsets {
    /// Counts the characters of the target, in O(s) time for s segments once the characters of
    /// `texts` are counted.
    fn new(segments: &Segments, texts: &Texts) -> Offsets {
        let mut before = Vec::with_capacity(segments.list.len() + 1);
        let mut chars = 0;
        for segment in &segments.list {
            before.push(chars);
            if segments.atoms.is_alive(segment) {
                chars += texts.chars_of_head(segment, segment.len());
            }
        }
        before.push(chars);
        Offsets {
            before,
            shifts: Sums::new((0..segments.statuses.n_placed()).map(|_| 0)),
            total: 0,
        }
    }

    /// Records that the atom of rank `rank` has gained `by` characters.
    pub fn shift(&mut self, rank: usize, by: isize) {
        self.shifts.add(rank, by);
        self.total += by;
    }

    /// Returns how many characters come before the segment of index `index`, the first one of an
    /// atom that comes after `n` other atoms with places.
    fn before(&self, index: usize, n: usize) -> usize {
        let before = self.before.get(index).copied().unwrap_or(0);
        let before = before.checked_add_signed(self.shifts.before(n));
        before.expect("no text is shorter than nothing")
    }
}

impl Segments {
    /// Returns how many characters, as Emacs counts them, come before line `line` of the target.
    pub fn chars_before(&self, texts: &Texts, line: usize) -> usize {
        let n = self.statuses.n_placed_up_to(line);
        let (first, start) = self.statuses.start_of_last(n);
        let mut chars = self.offsets(texts).before(first, n.saturating_sub(1));
        let mut rest = line - start;
        for segment in self.alive_from(first) {
            if rest == 0 {
                break;
            }
            let n = rest.min(segment.len());
            chars += texts.chars_of_head(segment, n);
            rest -= n;
        }
        chars
    }

    /// Returns the number of characters of the target, as Emacs counts them.
    pub fn n_chars(&self, texts: &Texts) -> usize {
        let offsets = self.offsets(texts);
        let end = offsets.before.last().copied().unwrap_or(0);
        end.saturating_add_signed(offsets.total)
    }

    fn offsets(&self, texts: &Texts) -> &Offsets {
        self.offsets.get_or_init(|| Offsets::new(self, texts))
    }
}
