//! Where lines of the target begin, in characters.
//!
//! Emacs goes to a character at once, but to a line only by counting all before it.

use std::cell::OnceCell;
use std::ops::Range;

use super::sums::Sums;
use super::unique::UniqueLines;
use super::{Kind, Segment, Weave};
use crate::text::Text;
use crate::text::n_chars;

/// How many characters come before each line of a text, for Emacs; nothing if each is a byte.
#[derive(Debug, Clone, Default)]
pub(super) struct Chars(Option<Vec<usize>>);

impl Chars {
    pub fn new(text: &Text) -> Chars {
        if text.bytes().is_ascii() {
            return Chars(None);
        }
        let count = |sum: &mut usize, line: &[u8]| {
            *sum += n_chars(line);
            Some(*sum)
        };
        let ends = text.lines(0..text.len()).scan(0, count);
        Chars(Some(std::iter::once(0).chain(ends).collect()))
    }

    /// Takes it in that `lines` were added to what is now `text`.
    pub fn extend(&mut self, text: &Text, lines: Range<usize>) {
        match &mut self.0 {
            None if text.lines_bytes(lines.clone()).is_ascii() => {}
            None => *self = Chars::new(text),
            Some(counts) => {
                for line in text.lines(lines) {
                    counts.push(counts.last().map_or(0, |sum| sum + n_chars(line)));
                }
            }
        }
    }

    fn before(&self, text: &Text, line: usize) -> usize {
        match &self.0 {
            None => text.lines_bytes(0..line).len(),
            Some(counts) => counts[line],
        }
    }
}

/// What is counted of the texts that do not change while the target is edited.
#[derive(Debug, Clone, Default)]
pub(super) struct Counted {
    original: OnceCell<Chars>,
    modified: OnceCell<Chars>,
    pub(super) alone: OnceCell<UniqueLines>,
}

/// How many characters of the target come before each segment.
#[derive(Debug, Clone)]
pub(super) struct Offsets {
    pub(super) user: Chars,
    /// As it was when they were counted.
    before: Vec<usize>,
    /// For each placed atom, by rank, by how many characters it has become longer since.
    shifts: Sums,
    total: isize,
}

impl Weave {
    /// Returns how many characters, for Emacs, come before line `line` of the target.
    pub fn chars_before(&self, line: usize) -> usize {
        let rank = self.n_placed_up_to(line);
        let offsets = self.offsets();
        let (first, start) = self.start_of_rank(rank.checked_sub(1));
        let mut rest = line - start;
        let shift = offsets.shifts.before(rank.saturating_sub(1));
        let mut chars = offsets.before.get(first).map_or(0, |before| {
            before
                .checked_add_signed(shift)
                .expect("no text is shorter than nothing")
        });
        for segment in self.alive_of(&self.segments[first..]) {
            if rest == 0 {
                break;
            }
            let n = rest.min(segment.len());
            chars += self.chars_of_head(&offsets.user, segment, n);
            rest -= n;
        }
        chars
    }

    /// Returns the line of the target before which `chars` characters come, for Emacs; `None` if no
    /// line begins there. Behind the last character, that is the number of lines.
    pub fn line_at(&self, chars: usize) -> Option<usize> {
        let offsets = self.offsets();
        let start_of = |rank: usize| {
            let status = self.statuses[self.ranks[rank]].as_ref()?;
            let before = offsets.before[status.segments.start];
            let before = before.checked_add_signed(offsets.shifts.before(rank))?;
            Some((status.segments.start, before))
        };
        let is_up_to = |rank| start_of(rank).is_some_and(|(_, before)| before <= chars);
        let rank = partition_point(self.ranks.len(), is_up_to).checked_sub(1);
        let (first, at) = rank.and_then(start_of).unwrap_or((0, 0));
        let mut line = rank.map_or(Some(0), |rank| self.line_of(self.ranks[rank]))?;
        let mut rest = chars - at;
        for segment in self.alive_of(&self.segments[first..]) {
            let len = segment.len();
            let n_chars = self.chars_of_head(&offsets.user, segment, len);
            if rest < n_chars {
                let is_before = |n| self.chars_of_head(&offsets.user, segment, n) < rest;
                let n = partition_point(len, is_before);
                let is_start = self.chars_of_head(&offsets.user, segment, n) == rest;
                return is_start.then_some(line + n);
            }
            rest -= n_chars;
            line += len;
        }
        (rest == 0).then_some(line)
    }

    /// Returns the number of characters of the target, for Emacs.
    pub fn n_chars(&self) -> usize {
        let offsets = self.offsets();
        let end = offsets.before.last().copied().unwrap_or(0);
        end.saturating_add_signed(offsets.total)
    }

    /// Returns a segment that begins at line `line` of the target or above, not far above it, and
    /// the line with which it begins.
    pub(super) fn segment_above(&self, line: usize) -> (usize, usize) {
        self.start_of_rank(self.n_placed_up_to(line).checked_sub(1))
    }

    /// Returns the first segment of the atom of rank `rank`, or of all if that is `None`, and the
    /// line of the target with which it begins.
    fn start_of_rank(&self, rank: Option<usize>) -> (usize, usize) {
        let atom = rank.map(|rank| self.ranks[rank]);
        let start = atom.and_then(|atom| {
            let status = self.statuses[atom].as_ref()?;
            Some((status.segments.start, self.line_of(atom)?))
        });
        start.unwrap_or((0, 0))
    }

    /// Returns the line of the target with which segment `index` begins, if it is alive.
    pub(super) fn line_of_segment(&self, index: usize) -> usize {
        let is_up_to = |&atom: &usize| {
            let status = self.statuses[atom].as_ref();
            status.is_some_and(|status| status.segments.start <= index)
        };
        let rank = self.ranks.partition_point(is_up_to);
        let (first, line) = self.start_of_rank(rank.checked_sub(1));
        line + self.n_alive(&self.segments[first..index])
    }

    /// Returns how many of the atoms that have a place begin at line `line` of the target or above.
    fn n_placed_up_to(&self, line: usize) -> usize {
        let is_up_to = |&atom: &usize| self.line_of(atom).is_some_and(|at| at <= line);
        self.ranks.partition_point(is_up_to)
    }

    fn offsets(&self) -> &Offsets {
        self.offsets.get_or_init(|| {
            let mut offsets = Offsets {
                user: Chars::new(&self.user),
                before: Vec::with_capacity(self.segments.len() + 1),
                shifts: Sums::new(self.ranks.iter().map(|_| 0)),
                total: 0,
            };
            let mut chars = 0;
            for segment in &self.segments {
                offsets.before.push(chars);
                if self.is_alive(segment) {
                    chars += self.chars_of_head(&offsets.user, segment, segment.len());
                }
            }
            offsets.before.push(chars);
            offsets
        })
    }

    /// Returns how many characters the first `n` lines of `segment` have; `user` counts those of
    /// others.
    pub(super) fn chars_of_head(&self, user: &Chars, segment: &Segment, n: usize) -> usize {
        let text = self.text_of(segment);
        let chars = match segment.kind() {
            Kind::Common | Kind::Old(_) => {
                (self.counted.original).get_or_init(|| Chars::new(&self.original))
            }
            Kind::New(_) => (self.counted.modified).get_or_init(|| Chars::new(&self.modified)),
            Kind::User => user,
        };
        let start = segment.lines().start;
        chars.before(text, start + n) - chars.before(text, start)
    }

    /// Returns how many characters of the target atom `atom` has, if it has a place and characters
    /// are counted at all.
    pub(super) fn chars_of(&self, atom: usize) -> Option<usize> {
        let offsets = self.offsets.get()?;
        let segments = self.statuses[atom].as_ref()?.segments.clone();
        let alive = self.alive_of(&self.segments[segments]);
        Some(
            alive
                .map(|segment| self.chars_of_head(&offsets.user, segment, segment.len()))
                .sum(),
        )
    }

    /// Notes that the atom of rank `rank` has become longer by `by` characters.
    pub(super) fn shift_chars(&mut self, rank: usize, by: isize) {
        if let Some(offsets) = self.offsets.get_mut() {
            offsets.shifts.add(rank, by);
            offsets.total += by;
        }
    }
}

/// Returns how many of the numbers below `n` are `true` to `is_first`, as the first ones are.
pub(super) fn partition_point(n: usize, is_first: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = low + (high - low) / 2;
        match is_first(middle) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    low
}
