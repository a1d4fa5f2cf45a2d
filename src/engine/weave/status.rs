//! What a walk over the segments tells about every atom: where it is and whether it can be flipped.
//!
//! The walk is done after each change and not for each question, so that a buffer that shows all
//! hunks takes O(s) time for s segments and not O(s) for each hunk. When atoms are flipped, no
//! segment comes or goes, and what is said of an atom can change only up to the next line on either
//! side that all agree about; so only that much is walked again.

use std::ops::Range;

use super::sums::Sums;
use super::{Atom, FlipError, Kind, Segment, Weave};
use crate::patch::locate;
use crate::text::is_unterminated;

/// How many atoms may be flipped at once before one walk over everything is cheaper.
const MAX_LOCAL: usize = 32;

/// What is known about an atom that has a place.
#[derive(Debug, Clone)]
pub(super) struct Status {
    /// How many atoms have a place before this one.
    pub rank: usize,
    /// Indices of its segments, and of those among them.
    pub segments: Range<usize>,
    /// Line of the target where the atom is or would be, as of the last walk over everything.
    pub line: usize,
    /// Whether the neighboring line on either side was changed from outside.
    pub is_next_to_edit: bool,
    pub verdict: Result<(), FlipError>,
}

/// What the walk has gathered about an atom.
#[derive(Debug, Clone)]
struct Notes {
    atom: usize,
    segments: Range<usize>,
    line: usize,
    /// Number of tracked lines' segments that are alive before the atom; tells gaps apart.
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
    /// Whether user text or a deleted line is nearer than a tracked line that is alive.
    is_edited: bool,
    /// Whether the nearest line that was ever tracked here was deleted from outside.
    is_gone: bool,
}

impl Weave {
    /// Takes note of how the segments now are. To be called after each change of them.
    pub(super) fn update_statuses(&mut self) {
        self.statuses = vec![None; self.atoms.len()];
        self.ranks.clear();
        let notes = self.notes(0..self.segments.len(), 0);
        self.ranks.extend(notes.iter().map(|notes| notes.atom));
        self.shifts = Sums::new(notes.iter().map(|_| 0));
        self.take_looks(0..self.segments.len(), notes, 0);
        let longer = |atom: &Atom| locate::offset(atom.old.len(), atom.alive_side().len());
        self.deltas = Sums::new(self.atoms.iter().map(longer));
        let is_open = |&at: &usize| is_unterminated(self.bytes(&self.segments[at]));
        self.open = (0..self.segments.len()).filter(is_open).collect();
        self.offsets.take();
    }

    /// Flips the atoms `chosen` and takes note of what that changes.
    pub(super) fn flip_surveyed(&mut self, chosen: &[usize]) {
        let is_local = |&atom: &usize| self.statuses[atom].is_some();
        if chosen.len() > MAX_LOCAL || !chosen.iter().all(is_local) {
            chosen
                .iter()
                .for_each(|&atom| self.atoms[atom].is_applied ^= true);
            return self.update_statuses();
        }
        chosen.iter().for_each(|&atom| self.flip_one(atom));
        for &atom in chosen {
            self.look_around(atom);
        }
    }

    fn flip_one(&mut self, atom: usize) {
        let (lines, chars) = (self.lines_of(atom), self.chars_of(atom));
        let was = self.atoms[atom].alive_side().len();
        self.atoms[atom].is_applied ^= true;
        let now = self.atoms[atom].alive_side().len();
        self.deltas.add(atom, locate::offset(was, now));
        let Some(Status { rank, .. }) = self.statuses[atom] else {
            return;
        };
        self.shifts
            .add(rank, locate::offset(lines, self.lines_of(atom)));
        if let (Some(was), Some(now)) = (chars, self.chars_of(atom)) {
            self.shift_chars(rank, locate::offset(was, now));
        }
    }

    /// Returns the number of lines of the target that are those of atom `atom`.
    fn lines_of(&self, atom: usize) -> usize {
        let segments = self.statuses[atom]
            .as_ref()
            .map(|status| status.segments.clone());
        let alive = self.alive_of(&self.segments[segments.unwrap_or(0..0)]);
        let own = alive.filter(|segment| segment.atom().is_some());
        own.map(Segment::len).sum()
    }

    /// Takes note anew of what is around atom `atom`.
    fn look_around(&mut self, atom: usize) {
        let Some(status) = &self.statuses[atom] else {
            return;
        };
        // What is alive and nobody's to flip parts what is on its two sides.
        let is_wall = |segment: &Segment| segment.kind() == Kind::Common && !segment.is_dead;
        let (above, below) = self.segments.split_at(status.segments.start);
        let from = above.iter().rposition(is_wall).unwrap_or(0);
        let to = below.iter().position(is_wall);
        let to = to.map_or(self.segments.len(), |at| above.len() + at);
        let mut notes = self.notes(from..to, 0);
        let Some(Status { rank, line, .. }) = self.statuses[notes[0].atom] else {
            return;
        };
        let line = line.saturating_add_signed(self.shifts.before(rank));
        let line = line - notes[0].line;
        for notes in &mut notes {
            notes.line += line;
        }
        self.take_looks(from..to, notes, rank);
    }

    /// Makes statuses of `notes`, which are of the segments in `window`; the first has the rank `rank`.
    fn take_looks(&mut self, window: Range<usize>, notes: Vec<Notes>, rank: usize) {
        let touched = self.touched(window);
        for (at, notes) in notes.into_iter().enumerate() {
            let rank = rank + at;
            let is_touched = touched.binary_search(&(notes.atom, notes.gap)).is_ok();
            let verdict = self.verdict(&notes, is_touched);
            let shift = self.shifts.before(rank);
            self.statuses[notes.atom] = Some(Status {
                rank,
                line: notes.line.saturating_add_signed(-shift),
                is_next_to_edit: notes.before.is_edited || notes.after.is_edited,
                verdict,
                segments: notes.segments,
            });
        }
    }

    /// Returns notes of the atoms whose segments are in `window`, which begins at line `line`.
    fn notes(&self, window: Range<usize>, line: usize) -> Vec<Notes> {
        let mut notes = self.notes_going_down(window.clone(), line);
        let mut side = Side::default();
        let mut n_left = notes.len();
        for segment in self.segments[window].iter().rev() {
            let above = n_left.checked_sub(1).map(|above| &mut notes[above]);
            if let Some(above) = above.filter(|above| segment.atom() == Some(above.atom)) {
                above.after = side;
                n_left -= 1;
            }
            side = side.past(segment, self.is_alive(segment));
        }
        notes
    }

    fn notes_going_down(&self, window: Range<usize>, line: usize) -> Vec<Notes> {
        let mut notes: Vec<Notes> = Vec::new();
        let (mut line, mut gap, mut n_users) = (line, 0, 0);
        let mut side = Side::default();
        for at in window {
            let segment = &self.segments[at];
            let is_alive = self.is_alive(segment);
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
    fn touched(&self, window: Range<usize>) -> Vec<(usize, usize)> {
        let mut touched = Vec::new();
        let mut gap = 0;
        for segment in self.alive_of(&self.segments[window]) {
            gap += usize::from(!segment.is_user());
            touched.extend(segment.amb().iter().map(|&atom| (atom, gap)));
        }
        touched.sort_unstable();
        touched
    }

    fn verdict(&self, notes: &Notes, is_touched: bool) -> Result<(), FlipError> {
        let line = notes.line;
        let side = self.atoms[notes.atom].alive_side();
        let is_split = notes.n_users.is_some_and(|(first, last)| first != last);
        if notes.n_alive != side.len() || is_split {
            Err(FlipError::ChangedByUser { line })
        } else if side.is_empty() && is_touched {
            Err(FlipError::InsertionPointTouched { line })
        } else if side.is_empty() && notes.before.is_gone && notes.after.is_gone {
            Err(FlipError::NeighborsGone { line })
        } else {
            Ok(())
        }
    }
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
