//! The segments: which lines there are, in what order, and which of them are in the target.
//!
//! Identifies lines by their numbers in the texts, and gets bytes and characters from [`Texts`].
//! Undoing is for the journal, which knows what was done before.
//!
//! These invariants hold between any two calls (a debug build checks them whenever the list has
//! changed):
//!
//! - *Order*: the segments are in the order of the target. The segments of an atom are together,
//!   first its old lines, then its new ones, with only text of others among them.
//! - *All lines*: no segment is empty, and no line is in two of them. An atom has either all of its
//!   lines in segments, in order, or none; in the latter case it has no place.
//! - *Liveness*: common lines are alive, an atom's old lines are unless it is applied, and its new
//!   lines are if it is applied; but lines that were deleted from outside are dead. Text of others
//!   is always alive; if deleted, it has no segment. The target is the alive segments.
//! - *Ambiguity*: only text of others lists atoms that it may be before or after. These are sorted.
//! - *Derived*: statuses, offsets and unterminated ends are those of the current list.
//!
//! Between an outside edit ([`Segments::replace`], [`Segments::undo`]) and [`Segments::settle`],
//! the segments are in a [`Gap`] and nothing is derived. Then only functions that say so may be
//! called; a debug build panics at others.

mod outside;
mod rewrite;
mod status;

use std::ops::Range;

use once_cell::unsync::OnceCell;

use crate::patch::locate;

use super::segment::{Kind, Segment};
use super::texts::Texts;
use super::{Atom, FlipError};
pub(crate) use outside::Around;
use outside::Gap;
pub(super) use outside::{Replaced, State};
use status::{Atoms, Offsets, Statuses};

/// How many atoms are flipped one by one at most; for more, one walk over all segments is cheaper.
const MAX_LOCAL: usize = 32;

/// All segments, in the order of the target. See the module's documentation.
#[derive(Debug, Clone)]
pub(super) struct Segments {
    atoms: Atoms,
    /// Empty while there is a gap, which then has all segments.
    list: Vec<Segment>,
    gap: Option<Gap>,
    /// How many lines of the text of others were around the hunks when the list was laid out. Those
    /// after them were typed later.
    n_around: usize,
    statuses: Statuses,
    offsets: OnceCell<Offsets>,
    /// Indices of the segments whose last line lacks its terminator.
    unterminated: OnceCell<Vec<usize>>,
}

impl Segments {
    /// Derives statuses from the list. To be called after each change of it.
    fn update(&mut self) {
        self.statuses = Statuses::new(&self.atoms, &self.list);
        self.forget_bytes();
        debug_assert!(self.is_sound());
    }

    /// Forgets what was derived from the bytes of the texts. To be called if bytes change, but not
    /// the number of lines.
    pub fn forget_bytes(&mut self) {
        self.offsets.take();
        self.unterminated.take();
    }

    /// Returns all segments, alive or not.
    pub fn all(&self) -> &[Segment] {
        debug_assert!(self.gap.is_none());
        &self.list
    }

    /// Returns the segments that are in the target.
    pub fn alive(&self) -> impl Iterator<Item = &Segment> {
        self.alive_from(0)
    }

    /// Returns those segments from index `first` on that are in the target.
    pub fn alive_from(&self, first: usize) -> impl Iterator<Item = &Segment> {
        self.atoms.alive(&self.all()[first..])
    }

    /// Returns the number of lines of the target.
    pub fn n_lines(&self) -> usize {
        self.atoms.n_alive(self.all())
    }

    /// Returns whether outside edits inserted lines into the target or deleted some.
    pub fn is_touched(&self) -> bool {
        let is_theirs = |segment: &Segment| segment.is_dead || segment.is_user();
        self.all().iter().any(is_theirs)
    }

    /// Returns the index of a segment that begins at line `line` of the target or a little above
    /// it, and the line at which it begins. Takes O(log s) time for s segments.
    pub fn above_line(&self, line: usize) -> (usize, usize) {
        let n = self.statuses.n_placed_up_to(line);
        self.statuses.start_of_last(n)
    }

    /// Returns the line of the target at which the segment of index `index` begins, if it is alive.
    fn line_of_segment(&self, index: usize) -> usize {
        let (first, line) = self.statuses.start_above(index);
        line + self.atoms.n_alive(&self.list[first..index])
    }
}

/// The atoms.
impl Segments {
    /// Returns the atoms in the order of the original.
    pub fn atoms(&self) -> &[Atom] {
        &self.atoms
    }

    /// Returns the line of the target (0-based) at which `atom` is or would be; `None` if it has no
    /// place.
    pub fn line_of(&self, atom: usize) -> Option<usize> {
        self.statuses.line(atom)
    }

    /// Returns how many lines the atoms before `atom` add to the target; negative if they remove
    /// more.
    pub fn delta_before(&self, atom: usize) -> isize {
        self.statuses.delta_before(atom)
    }

    /// Returns whether a line next to `atom` was changed from outside.
    pub fn is_next_to_edit(&self, atom: usize) -> bool {
        self.statuses.is_next_to_edit(atom)
    }

    /// Checks whether `atom` can be flipped by itself.
    pub fn check(&self, atom: usize) -> Result<(), FlipError> {
        debug_assert!(self.gap.is_none());
        self.statuses.check(atom)
    }

    /// Refuses to flip the atoms `chosen`, which are in order, if a line without terminator would
    /// then not be the last one.
    pub fn refuse_to_glue(&self, texts: &Texts, chosen: &[usize]) -> Result<(), FlipError> {
        let is_chosen = |atom: usize| chosen.binary_search(&atom).is_ok();
        let flips = |segment: &Segment| !segment.is_dead && segment.atom().is_some_and(is_chosen);
        let will_live = |at: usize| {
            let segment = &self.list[at];
            self.atoms.is_alive(segment) != flips(segment)
        };
        let is_open = |&at: &usize| texts.is_unterminated(&self.list[at]);
        let find = || (0..self.list.len()).filter(is_open).collect();
        let unterminated = self.unterminated.get_or_init(find);
        let Some(open) = unterminated.iter().copied().find(|&at| will_live(at)) else {
            return Ok(());
        };
        if (open + 1..self.list.len()).rev().any(will_live) {
            Err(FlipError::Glued)
        } else {
            Ok(())
        }
    }

    /// Flips the atoms `chosen`. Of s segments, a few atoms take O(log s) time each, plus that for
    /// the segments up to the nearest common lines on either side; many take O(s).
    pub fn flip(&mut self, texts: &Texts, chosen: &[usize]) {
        let is_placed = |&atom: &usize| self.statuses.rank(atom).is_some();
        if chosen.len() > MAX_LOCAL || !chosen.iter().all(is_placed) {
            chosen.iter().for_each(|&atom| self.atoms.flip(atom));
            return self.update();
        }
        chosen.iter().for_each(|&atom| self.flip_one(texts, atom));
        for &atom in chosen {
            self.statuses.update_around(&self.atoms, &self.list, atom);
        }
    }

    fn flip_one(&mut self, texts: &Texts, atom: usize) {
        let (lines, chars) = (self.lines_of(atom), self.chars_of(texts, atom));
        let was = self.atoms[atom].alive_side().len();
        self.atoms.flip(atom);
        let delta = locate::offset(was, self.atoms[atom].alive_side().len());
        let longer = locate::offset(lines, self.lines_of(atom));
        self.statuses.flip(atom, longer, delta);
        let now = self.chars_of(texts, atom);
        if let (Some(offsets), Some(rank)) = (self.offsets.get_mut(), self.statuses.rank(atom)) {
            offsets.shift(rank, locate::offset(chars, now));
        }
    }

    /// Records whether the user edited `atom`.
    pub fn set_edited(&mut self, atom: usize, is_edited: bool) {
        self.atoms.set_edited(atom, is_edited);
    }

    /// Returns the segments of `atom`, and the text of others among them.
    fn segments_of(&self, atom: usize) -> &[Segment] {
        &self.list[self.statuses.segments(atom).unwrap_or(0..0)]
    }

    /// Returns how many lines of the target are those of `atom`.
    fn lines_of(&self, atom: usize) -> usize {
        let alive = self.atoms.alive(self.segments_of(atom));
        let own = alive.filter(|segment| segment.atom().is_some());
        own.map(Segment::len).sum()
    }

    /// Returns the number of characters of the target in the segments of `atom`; 0 if no offsets
    /// have been counted, since then nobody needs it.
    fn chars_of(&self, texts: &Texts, atom: usize) -> usize {
        if self.offsets.get().is_none() {
            return 0;
        }
        let alive = self.atoms.alive(self.segments_of(atom));
        alive
            .map(|segment| texts.chars_of_head(segment, segment.len()))
            .sum()
    }
}

/// Checking the invariants.
impl Segments {
    /// Returns whether the invariants hold (see the module's documentation), in O(s log s) time for
    /// s segments.
    fn is_sound(&self) -> bool {
        let is_sorted = |ambiguous: &[usize]| ambiguous.is_sorted_by(|a, b| a < b);
        let is_well_formed = |segment: &Segment| {
            let of_others = segment.ambiguous().is_empty() && !segment.is_user();
            let is_user = segment.is_user() && !segment.is_dead && is_sorted(segment.ambiguous());
            let is_known = segment
                .ambiguous()
                .iter()
                .all(|&atom| atom < self.atoms.len());
            segment.len() > 0 && is_known && (of_others || is_user)
        };
        self.list.iter().all(is_well_formed)
            && self.is_each_line_once()
            && self.is_each_atom_whole()
    }

    fn is_each_line_once(&self) -> bool {
        let lines = |segment: &Segment| {
            let text = match segment.kind() {
                Kind::Common | Kind::Old(_) => 0,
                Kind::New(_) => 1,
                Kind::User => 2,
            };
            (text, segment.lines())
        };
        let mut all: Vec<(usize, Range<usize>)> = self.list.iter().map(lines).collect();
        all.sort_by_key(|(text, lines)| (*text, lines.start));
        let mut pairs = all.windows(2);
        pairs.all(|pair| pair[0].0 != pair[1].0 || pair[0].1.end <= pair[1].1.start)
    }

    fn is_each_atom_whole(&self) -> bool {
        let mut is_seen = vec![false; self.atoms.len()];
        let own = self.list.iter().filter(|segment| !segment.is_user());
        let own: Vec<&Segment> = own.collect();
        let mut runs = own.chunk_by(|a, b| a.atom().is_some() && a.atom() == b.atom());
        runs.all(|run| {
            let Some(atom) = run[0].atom() else {
                return true;
            };
            let n_old = run.partition_point(|segment| segment.kind() == Kind::Old(atom));
            let (old, new) = run.split_at(n_old);
            let are_new = new.iter().all(|own| own.kind() == Kind::New(atom));
            let Atom { old: o, new: n, .. } = &self.atoms[atom];
            let is_first = !std::mem::replace(&mut is_seen[atom], true);
            is_first && are_new && is_all_of(old, o) && is_all_of(new, n)
        })
    }
}

/// Returns whether `segments` together are exactly `lines`, in order.
fn is_all_of(segments: &[&Segment], lines: &Range<usize>) -> bool {
    let end = segments.iter().try_fold(lines.start, |at, segment| {
        (segment.lines().start == at).then_some(segment.lines().end)
    });
    end == Some(lines.end) || segments.is_empty() && lines.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the segments of three lines, of which an atom replaces the second by two others.
    fn segments() -> Segments {
        let atom = Atom {
            old: 1..2,
            new: 1..3,
            is_applied: false,
            is_edited: false,
        };
        Segments::new(vec![atom], 3)
    }

    #[test]
    fn each_broken_invariant_is_found() {
        let breaks: &[fn(&mut Vec<Segment>)] = &[
            |list| list.swap(1, 2),
            |list| list.swap(0, 1),
            |list| list.swap(2, 3),
            |list| drop(list.remove(1)),
            |list| list[0] = list[0].clone().with_lines(0..0),
            |list| list[0] = list[0].clone().with_lines(0..2),
            |list| list[2] = list[2].clone().with_lines(1..2),
            |list| list[0] = list[0].clone().with_ambiguous(vec![0]),
            |list| list.insert(1, Segment::new(Kind::User, 0..1).with_ambiguous(vec![1])),
            |list| {
                list.insert(1, Segment::new(Kind::User, 0..1));
                list[1].is_dead = true;
            },
        ];
        for (case, break_it) in breaks.iter().enumerate() {
            let mut segments = segments();
            assert!(segments.is_sound());
            break_it(&mut segments.list);
            assert!(!segments.is_sound(), "case {case}");
        }
    }
}
