//! Where every atom is and whether it can be flipped, computed by a walk over the segments.
//!
//! The walk is done after each change rather than for each query, so that a buffer that shows all
//! hunks takes O(s) time in all for s segments rather than O(s) for each hunk. Flipping atoms
//! neither adds nor removes segments, and affects only the statuses of atoms up to the nearest
//! common lines on either side; so only that part is walked again.
//!
//! Knows lines of the target, not their bytes or characters.

use std::ops::{Deref, Range};

use crate::patch::locate;
use crate::weave::segment::{Kind, Segment};
use crate::weave::texts::Texts;
use crate::weave::{Atom, FlipError};

use super::Segments;

/// The status of every atom, and its position in the list of segments.
#[derive(Debug, Clone)]
pub(super) struct Statuses {
    /// For each atom; `None` if it has no place.
    of_atoms: Vec<Option<Status>>,
    /// The atoms that have a place, in the order of their segments. An atom's index here is its
    /// rank.
    placed: Vec<usize>,
    /// By rank, how many lines flips have added to the target since the last walk over all
    /// segments.
    shifts: Sums,
    /// For each atom, how many lines it adds to the target.
    deltas: Sums,
}

/// What is known about an atom with a place.
#[derive(Debug, Clone)]
struct Status {
    rank: usize,
    /// Indices of its segments, and of the text of others among them.
    segments: Range<usize>,
    /// Line of the target at which the atom is or would be, as of the last walk over all segments.
    line: usize,
    /// Whether the neighboring line on either side was changed from outside.
    is_next_to_edit: bool,
    verdict: Result<(), FlipError>,
}

/// What a walk has gathered about an atom.
#[derive(Debug, Clone)]
struct Notes {
    atom: usize,
    segments: Range<usize>,
    line: usize,
    /// Number of alive segments before the atom, except user text; identifies a gap.
    gap: usize,
    /// Number of lines of the alive side that are in the target.
    n_alive: usize,
    /// Number of user segments before the first alive one of the atom and before the last.
    n_users: Option<(usize, usize)>,
    before: Side,
    after: Side,
}

/// What is next to an atom, on one side.
#[derive(Debug, Clone, Copy, Default)]
struct Side {
    /// Whether user text or a deleted line is nearer than any alive line of either text.
    is_edited: bool,
    /// Whether the nearest line of the two texts was deleted from outside.
    is_gone: bool,
}

impl Statuses {
    /// Walks over `segments`, in O(s) time for s of them.
    pub fn new(atoms: &Atoms, segments: &[Segment]) -> Statuses {
        let notes = notes(atoms, segments, 0);
        let longer = |atom: &Atom| locate::offset(atom.old.len(), atom.alive_side().len());
        let mut statuses = Statuses {
            of_atoms: vec![None; atoms.len()],
            placed: notes.iter().map(|notes| notes.atom).collect(),
            shifts: Sums::new(notes.iter().map(|_| 0)),
            deltas: Sums::new(atoms.iter().map(longer)),
        };
        statuses.judge(atoms, segments, notes, 0);
        statuses
    }

    /// Returns how many atoms before `atom` have a place; `None` if it has none itself.
    pub fn rank(&self, atom: usize) -> Option<usize> {
        self.of_atoms[atom].as_ref().map(|status| status.rank)
    }

    /// Returns the indices of the segments of `atom`, and of the text of others among them; `None`
    /// if it has no place.
    pub fn segments(&self, atom: usize) -> Option<Range<usize>> {
        let status = self.of_atoms[atom].as_ref();
        status.map(|status| status.segments.clone())
    }

    /// Returns the line of the target (0-based) at which `atom` is or would be; `None` if it has no
    /// place.
    pub fn line(&self, atom: usize) -> Option<usize> {
        let status = self.of_atoms[atom].as_ref()?;
        let shift = self.shifts.before(status.rank);
        Some(status.line.saturating_add_signed(shift))
    }

    /// Returns how many lines the atoms before `atom` add to the target; negative if they remove
    /// more.
    pub fn delta_before(&self, atom: usize) -> isize {
        self.deltas.before(atom)
    }

    pub fn is_next_to_edit(&self, atom: usize) -> bool {
        let status = self.of_atoms[atom].as_ref();
        status.is_some_and(|status| status.is_next_to_edit)
    }

    /// Checks whether `atom` can be flipped by itself.
    pub fn check(&self, atom: usize) -> Result<(), FlipError> {
        let status = self.of_atoms[atom].as_ref().ok_or(FlipError::NoPlace)?;
        let verdict = status.verdict.clone();
        // The error has the line as of the last walk over all segments.
        verdict.map_err(|error| error.at(self.line(atom).unwrap_or(status.line)))
    }

    /// Returns how many of the atoms with places begin at line `line` of the target or above.
    pub fn n_placed_up_to(&self, line: usize) -> usize {
        let is_up_to = |&atom: &usize| self.line(atom).is_some_and(|at| at <= line);
        self.placed.partition_point(is_up_to)
    }

    /// Of the first `n` atoms with places, takes the last one, and returns the index of its first
    /// segment and the line of the target at which that begins; 0 and 0 if `n` is 0.
    pub fn start_of_last(&self, n: usize) -> (usize, usize) {
        let last = n.checked_sub(1).map(|rank| self.placed[rank]);
        let start = last.and_then(|atom| Some((self.segments(atom)?.start, self.line(atom)?)));
        start.unwrap_or((0, 0))
    }

    /// Like [`Statuses::start_of_last`], for the last atom whose segments begin at index `index` or
    /// before.
    pub fn start_above(&self, index: usize) -> (usize, usize) {
        let starts = |atom: usize| self.segments(atom).map(|segments| segments.start);
        let is_up_to = |&atom: &usize| starts(atom).is_some_and(|start| start <= index);
        self.start_of_last(self.placed.partition_point(is_up_to))
    }

    /// Records that `atom` was flipped, which added `n_lines` lines to the target, and changed by
    /// `delta` how many lines the atom adds to it. [`Statuses::update_around`] does the rest.
    pub fn flip(&mut self, atom: usize, n_lines: isize, delta: isize) {
        self.deltas.add(atom, delta);
        if let Some(rank) = self.rank(atom) {
            self.shifts.add(rank, n_lines);
        }
    }

    /// Updates the statuses around `atom`, one of those that were flipped.
    pub fn update_around(&mut self, atoms: &Atoms, segments: &[Segment], atom: usize) {
        let Some(own) = self.segments(atom) else {
            return;
        };
        // Lines that are alive whatever is flipped separate the atoms on their two sides.
        let is_border = |segment: &Segment| segment.kind() == Kind::Common && !segment.is_dead;
        let (above, below) = segments.split_at(own.start);
        let from = above.iter().rposition(is_border).unwrap_or(0);
        let to = below.iter().position(is_border);
        let to = to.map_or(segments.len(), |at| above.len() + at);
        let mut notes = notes(atoms, &segments[from..to], from);
        let first = notes[0].atom;
        let (Some(rank), Some(line)) = (self.rank(first), self.line(first)) else {
            return;
        };
        let line = line - notes[0].line;
        for notes in &mut notes {
            notes.line += line;
        }
        self.judge(atoms, &segments[from..to], notes, rank);
    }

    /// Turns `notes` on the atoms of `window`, the first of which has rank `rank`, into statuses.
    fn judge(&mut self, atoms: &Atoms, window: &[Segment], notes: Vec<Notes>, rank: usize) {
        let touched = touched(atoms, window);
        for (rank, notes) in (rank..).zip(notes) {
            let is_touched = touched.binary_search(&(notes.atom, notes.gap)).is_ok();
            let verdict = notes.verdict(&atoms[notes.atom], is_touched);
            let shift = self.shifts.before(rank);
            self.of_atoms[notes.atom] = Some(Status {
                rank,
                line: notes.line.saturating_add_signed(-shift),
                is_next_to_edit: notes.before.is_edited || notes.after.is_edited,
                verdict,
                segments: notes.segments,
            });
        }
    }
}

/// Returns notes on the atoms of `window`, whose first segment has the index `first`. Lines count
/// from the beginning of `window`.
fn notes(atoms: &Atoms, window: &[Segment], first: usize) -> Vec<Notes> {
    let mut notes = notes_going_down(atoms, window, first);
    let mut side = Side::default();
    let mut n_left = notes.len();
    for segment in window.iter().rev() {
        let above = n_left.checked_sub(1).map(|above| &mut notes[above]);
        if let Some(above) = above.filter(|above| segment.atom() == Some(above.atom)) {
            above.after = side;
            n_left -= 1;
        }
        side = side.past(segment, atoms.is_alive(segment));
    }
    notes
}

fn notes_going_down(atoms: &Atoms, window: &[Segment], first: usize) -> Vec<Notes> {
    let mut notes: Vec<Notes> = Vec::new();
    let (mut line, mut gap, mut n_users) = (0, 0, 0);
    let mut side = Side::default();
    for (at, segment) in (first..).zip(window) {
        let is_alive = atoms.is_alive(segment);
        if let Some(atom) = segment.atom() {
            // There are no other atoms' segments among those of an atom.
            if notes.last().is_none_or(|last| last.atom != atom) {
                notes.push(Notes::new(atom, at, line, gap, side));
            }
            if let Some(notes) = notes.last_mut() {
                notes.segments.end = at + 1;
                notes.count(segment, is_alive, n_users);
            }
        }
        side = side.past(segment, is_alive);
        let is_user = segment.is_user();
        n_users += usize::from(is_user && is_alive);
        gap += usize::from(!is_user && is_alive);
        line += if is_alive { segment.len() } else { 0 };
    }
    notes
}

/// Returns a sorted list of pairs `(atom, gap)`: in that gap of `window` there is user text that
/// may belong before or after that atom.
fn touched(atoms: &Atoms, window: &[Segment]) -> Vec<(usize, usize)> {
    let mut touched = Vec::new();
    let mut gap = 0;
    for segment in atoms.alive(window) {
        gap += usize::from(!segment.is_user());
        touched.extend(segment.ambiguous().iter().map(|&atom| (atom, gap)));
    }
    touched.sort_unstable();
    touched
}

impl Notes {
    fn new(atom: usize, at: usize, line: usize, gap: usize, before: Side) -> Notes {
        Notes {
            atom,
            segments: at..at,
            line,
            gap,
            n_alive: 0,
            n_users: None,
            before,
            after: Side::default(),
        }
    }

    fn count(&mut self, segment: &Segment, is_alive: bool, n_users: usize) {
        if is_alive {
            self.n_alive += segment.len();
            self.n_users.get_or_insert((n_users, n_users)).1 = n_users;
        }
    }

    /// Checks whether `atom`, the subject of these notes, can be flipped. `is_touched` says whether
    /// there is user text where its lines may belong.
    fn verdict(&self, atom: &Atom, is_touched: bool) -> Result<(), FlipError> {
        let line = self.line;
        let side = atom.alive_side();
        let is_split = self.n_users.is_some_and(|(first, last)| first != last);
        if self.n_alive != side.len() || is_split {
            Err(FlipError::ChangedByUser { line })
        } else if side.is_empty() && is_touched {
            Err(FlipError::InsertionPointTouched { line })
        } else if side.is_empty() && self.before.is_gone && self.after.is_gone {
            Err(FlipError::NeighborsGone { line })
        } else {
            Ok(())
        }
    }
}

impl Side {
    /// Returns what is next to the following segment, given what is next to this one.
    fn past(self, segment: &Segment, is_alive: bool) -> Side {
        match (segment.kind(), segment.is_dead, is_alive) {
            (Kind::User, _, true) => Side {
                is_edited: true,
                ..self
            },
            (Kind::User, _, false) => self,
            (_, true, _) => Side {
                is_edited: true,
                is_gone: true,
            },
            (_, false, true) => Side::default(),
            (_, false, false) => self,
        }
    }
}

// The atoms, and which segments they make alive.

/// The atoms in the order of the original. Only [`Segments`] changes them.
#[derive(Debug, Clone)]
pub(super) struct Atoms(Vec<Atom>);

impl Deref for Atoms {
    type Target = [Atom];

    fn deref(&self) -> &[Atom] {
        &self.0
    }
}

impl Atoms {
    pub fn new(atoms: Vec<Atom>) -> Atoms {
        Atoms(atoms)
    }

    /// Returns whether the segment is in the target.
    pub fn is_alive(&self, segment: &Segment) -> bool {
        !segment.is_dead && self.is_chosen(segment)
    }

    /// Returns whether the segment is in the target unless it was deleted from outside.
    pub fn is_chosen(&self, segment: &Segment) -> bool {
        match segment.kind() {
            Kind::Common | Kind::User => true,
            Kind::Old(atom) => !self[atom].is_applied,
            Kind::New(atom) => self[atom].is_applied,
        }
    }

    /// Returns those of `segments` that are in the target.
    pub fn alive<'a>(&'a self, segments: &'a [Segment]) -> impl Iterator<Item = &'a Segment> {
        segments.iter().filter(|segment| self.is_alive(segment))
    }

    /// Returns how many lines `segments` have in the target.
    pub fn n_alive(&self, segments: &[Segment]) -> usize {
        self.alive(segments).map(Segment::len).sum()
    }

    pub fn flip(&mut self, atom: usize) {
        self.0[atom].is_applied ^= true;
    }

    pub fn set_applied(&mut self, atom: usize, is_applied: bool) {
        self.0[atom].is_applied = is_applied;
    }

    pub fn set_edited(&mut self, atom: usize, is_edited: bool) {
        self.0[atom].is_edited = is_edited;
    }

    /// Replaces the atoms in `range` by `atoms`.
    pub fn splice(&mut self, range: Range<usize>, atoms: impl IntoIterator<Item = Atom>) {
        self.0.splice(range, atoms);
    }

    /// Renumbers the lines of the atoms from `first` on: `old` changes ranges of lines of the
    /// original, `new` those of the modified text.
    pub fn move_lines(
        &mut self,
        first: usize,
        old: impl Fn(&mut Range<usize>),
        new: impl Fn(&mut Range<usize>),
    ) {
        for atom in &mut self.0[first..] {
            old(&mut atom.old);
            new(&mut atom.new);
        }
    }
}

// Character offsets of the lines of the target.
//
// Emacs moves to a character position at once, but to a line only by counting the lines before it.

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
            shifts: Sums::new((0..segments.statuses.placed.len()).map(|_| 0)),
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

// Prefix sums over a list of changing numbers: a Fenwick tree (Fenwick 1994).

/// The list. Changing one of n numbers, or summing those before it, takes O(log n) time.
#[derive(Debug, Clone, Default)]
pub(super) struct Sums {
    /// At index `i`, counted from 1, the sum of the last `k` numbers up to the `i`th, where `k` is
    /// the lowest set bit of `i`.
    tree: Vec<isize>,
}

impl Sums {
    pub fn new(numbers: impl Iterator<Item = isize>) -> Sums {
        let mut tree: Vec<isize> = std::iter::once(0).chain(numbers).collect();
        for at in 1..tree.len() {
            let next = at + (at & at.wrapping_neg());
            if next < tree.len() {
                tree[next] += tree[at];
            }
        }
        Sums { tree }
    }

    /// Adds `by` to the number at index `at`.
    pub fn add(&mut self, at: usize, by: isize) {
        let mut at = at + 1;
        while at < self.tree.len() {
            self.tree[at] += by;
            at += at & at.wrapping_neg();
        }
    }

    /// Returns the sum of the first `n` numbers.
    pub fn before(&self, n: usize) -> isize {
        let (mut at, mut sum) = (n, 0);
        while at > 0 {
            sum += self.tree[at];
            at &= at - 1;
        }
        sum
    }
}

#[cfg(test)]
mod sums_tests {
    use super::*;

    #[test]
    fn sums_follow_the_numbers() {
        let mut numbers: Vec<isize> = (0..37).map(|at| at * at % 11 - 4).collect();
        let mut sums = Sums::new(numbers.iter().copied());
        for at in [0, 36, 17, 17, 8] {
            sums.add(at, 5);
            numbers[at] += 5;
            for n in 0..=numbers.len() {
                assert_eq!(sums.before(n), numbers[..n].iter().sum::<isize>());
            }
        }
    }
}
