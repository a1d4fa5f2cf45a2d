//! What one walk over the segments tells about every atom: where it is and whether it can be
//! flipped.
//!
//! The walk is done after each change and not for each question, so that a buffer that shows all
//! hunks takes O(s) time for s segments and not O(s) for each hunk.

use super::{Atom, FlipError, Kind, Segment, Weave, atom_of};
use crate::place;

/// What is known about an atom that has a place.
#[derive(Debug, Clone)]
pub(super) struct Look {
    /// Line of the target where the atom is or would be.
    pub line: usize,
    /// Whether the neighboring line on either side was changed from outside.
    pub is_next_to_edit: bool,
    pub verdict: Result<(), FlipError>,
}

/// What the walk has gathered about an atom.
#[derive(Debug, Clone, Default)]
struct Notes {
    has_place: bool,
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
    pub(super) fn surveyed(&mut self) {
        let mut notes = self.notes_going_down();
        self.note_what_follows(&mut notes);
        let touched = self.touched(&notes);
        let look = |(atom, notes): (usize, &Notes)| {
            notes.has_place.then(|| Look {
                line: notes.line,
                is_next_to_edit: notes.before.is_edited || notes.after.is_edited,
                verdict: self.verdict(atom, notes, touched[atom]),
            })
        };
        self.looks = notes.iter().enumerate().map(look).collect();
        let longer = |delta: &mut isize, atom: &Atom| {
            let before = *delta;
            *delta += place::offset(atom.old.len(), atom.alive_side().len());
            Some(before)
        };
        self.deltas = self.atoms.iter().scan(0, longer).collect();
    }

    fn notes_going_down(&self) -> Vec<Notes> {
        let mut notes = vec![Notes::default(); self.atoms.len()];
        let (mut line, mut gap, mut n_users) = (0, 0, 0);
        let mut side = Side::default();
        for segment in &self.segments {
            let is_alive = self.is_alive(segment);
            if let Some(atom) = atom_of(segment) {
                let notes = &mut notes[atom];
                if !notes.has_place {
                    (notes.has_place, notes.line, notes.gap) = (true, line, gap);
                    notes.before = side;
                }
                if is_alive {
                    notes.n_alive += segment.lines.len();
                    notes.n_users.get_or_insert((n_users, n_users)).1 = n_users;
                }
            }
            side = side.past(segment, is_alive);
            let is_user = segment.kind == Kind::User;
            n_users += usize::from(is_user && is_alive);
            gap += usize::from(!is_user && is_alive);
            line += if is_alive { segment.lines.len() } else { 0 };
        }
        notes
    }

    fn note_what_follows(&self, notes: &mut [Notes]) {
        let mut is_noted = vec![false; notes.len()];
        let mut side = Side::default();
        for segment in self.segments.iter().rev() {
            if let Some(atom) = atom_of(segment).filter(|&atom| !is_noted[atom]) {
                is_noted[atom] = true;
                notes[atom].after = side;
            }
            side = side.past(segment, self.is_alive(segment));
        }
    }

    /// Returns for each atom whether user text that might belong before or after it is in its gap.
    fn touched(&self, notes: &[Notes]) -> Vec<bool> {
        let mut touched = vec![false; notes.len()];
        let mut gap = 0;
        for segment in self
            .segments
            .iter()
            .filter(|segment| self.is_alive(segment))
        {
            gap += usize::from(segment.kind != Kind::User);
            for &atom in &segment.amb {
                touched[atom] |= notes[atom].gap == gap;
            }
        }
        touched
    }

    fn verdict(&self, atom: usize, notes: &Notes, is_touched: bool) -> Result<(), FlipError> {
        let line = notes.line;
        let side = self.atoms[atom].alive_side();
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

impl Side {
    /// Returns what is beside the next segment, given what is beside this one.
    fn past(self, segment: &Segment, is_alive: bool) -> Side {
        match (segment.kind, segment.is_dead, is_alive) {
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
