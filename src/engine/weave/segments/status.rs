//! Where every atom is, and whether it can be flipped, as a walk over the segments tells.
//!
//! The walk is done after each change and not for each question, so that a buffer that shows all
//! hunks takes O(s) time for s segments and not O(s) for each hunk. When atoms are flipped, no
//! segment comes or goes, and what is known of an atom can change only up to the next line on either
//! side that all texts share; so only that much is walked again.
//!
//! Knows lines of the target, not their bytes or characters.

use std::ops::Range;

use super::atoms::Atoms;
use super::segment::{Kind, Segment};
use super::sums::Sums;
use crate::patch::locate;
use crate::weave::{Atom, FlipError};

/// The status of every atom, and where in the list of segments atoms are.
#[derive(Debug, Clone)]
pub(super) struct Statuses {
    /// For each atom; `None` if it has no place.
    of_atoms: Vec<Option<Status>>,
    /// The atoms that have a place, in the order of their segments. An atom's index here is its
    /// rank.
    placed: Vec<usize>,
    /// By rank, by how many lines flips have made the target longer since the last walk over all
    /// segments.
    shifts: Sums,
    /// For each atom, by how many lines it makes the target longer than the original.
    deltas: Sums,
}

/// What is known about an atom that has a place.
#[derive(Debug, Clone)]
struct Status {
    rank: usize,
    /// Indices of its segments, and of those among them.
    segments: Range<usize>,
    /// Line of the target where the atom is or would be, as of the last walk over everything.
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
    /// Number of segments alive before the atom that are not user text; tells gaps apart.
    gap: usize,
    /// Lines of the alive side that are in the target.
    n_alive: usize,
    /// Number of user segments before the first alive one of the atom and before the last.
    n_users: Option<(usize, usize)>,
    before: Side,
    after: Side,
}

/// What is beside an atom, on one side.
#[derive(Debug, Clone, Copy, Default)]
struct Side {
    /// Whether user text or a deleted line is nearer than a line alive of either text.
    is_edited: bool,
    /// Whether the nearest line of either text was deleted from outside.
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

    /// Returns the number of atoms that have a place.
    pub fn n_placed(&self) -> usize {
        self.placed.len()
    }

    /// Returns how many atoms have a place before `atom`; `None` if it has none itself.
    pub fn rank(&self, atom: usize) -> Option<usize> {
        self.of_atoms[atom].as_ref().map(|status| status.rank)
    }

    /// Returns the indices of the segments of `atom`, and of those among them; `None` if it has no
    /// place.
    pub fn segments(&self, atom: usize) -> Option<Range<usize>> {
        let status = self.of_atoms[atom].as_ref();
        status.map(|status| status.segments.clone())
    }

    /// Returns the line of the target where `atom` is or would be; `None` if it has no place.
    pub fn line(&self, atom: usize) -> Option<usize> {
        let status = self.of_atoms[atom].as_ref()?;
        let shift = self.shifts.before(status.rank);
        Some(status.line.saturating_add_signed(shift))
    }

    /// Returns by how many lines the atoms before `atom` make the target longer.
    pub fn delta_before(&self, atom: usize) -> isize {
        self.deltas.before(atom)
    }

    pub fn is_next_to_edit(&self, atom: usize) -> bool {
        let status = self.of_atoms[atom].as_ref();
        status.is_some_and(|status| status.is_next_to_edit)
    }

    /// Returns whether `atom` can be flipped by itself, or why not.
    pub fn check(&self, atom: usize) -> Result<(), FlipError> {
        let status = self.of_atoms[atom].as_ref().ok_or(FlipError::NoPlace)?;
        let verdict = status.verdict.clone();
        // Its line was that of the last walk over everything.
        verdict.map_err(|error| error.at(self.line(atom).unwrap_or(status.line)))
    }

    /// Returns how many of the atoms that have a place begin at line `line` of the target or above.
    pub fn n_placed_up_to(&self, line: usize) -> usize {
        let is_up_to = |&atom: &usize| self.line(atom).is_some_and(|at| at <= line);
        self.placed.partition_point(is_up_to)
    }

    /// Returns the index of the first segment of the last of the first `n` atoms that have a place,
    /// and the line of the target with which it begins; the beginning of both if `n` is 0.
    pub fn start_of_last(&self, n: usize) -> (usize, usize) {
        let last = n.checked_sub(1).map(|rank| self.placed[rank]);
        let start = last.and_then(|atom| Some((self.segments(atom)?.start, self.line(atom)?)));
        start.unwrap_or((0, 0))
    }

    /// Like [`Statuses::start_of_last`], for the last atom whose segments begin at index `index` or
    /// above.
    pub fn start_above(&self, index: usize) -> (usize, usize) {
        let starts = |atom: usize| self.segments(atom).map(|segments| segments.start);
        let is_up_to = |&atom: &usize| starts(atom).is_some_and(|start| start <= index);
        self.start_of_last(self.placed.partition_point(is_up_to))
    }

    /// Takes note that `atom` was flipped, which made the target longer by `n_lines`, and changed
    /// the number of its own lines by `delta`. [`Statuses::update_around`] does the rest.
    pub fn flip(&mut self, atom: usize, n_lines: isize, delta: isize) {
        self.deltas.add(atom, delta);
        if let Some(rank) = self.rank(atom) {
            self.shifts.add(rank, n_lines);
        }
    }

    /// Walks over the `segments` around `atom`, one of those that were flipped.
    pub fn update_around(&mut self, atoms: &Atoms, segments: &[Segment], atom: usize) {
        let Some(own) = self.segments(atom) else {
            return;
        };
        // What is alive whatever is flipped separates what is on its two sides.
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

    /// Makes statuses of `notes` on the atoms of `window`, of which the first has the rank `rank`.
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

/// Returns notes on the atoms of `window`, segments of which the first has the index `first`. Lines
/// count from its beginning.
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
            // The segments of one atom have none of another's among them.
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

/// Returns, in order, (ATOM, GAP) for each user text in `window` that might belong before or
/// after that atom, if it is in that gap.
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

    /// Returns whether `atom`, which these notes are on, can be flipped, or why not; `is_touched`
    /// tells whether user text is where its lines might belong.
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
    /// Returns what is beside the next segment, given what is beside this one.
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
