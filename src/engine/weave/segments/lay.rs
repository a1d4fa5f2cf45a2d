//! Laying out segments: all of them from scratch, or a run inside text of others.

use once_cell::unsync::OnceCell;
use std::mem;
use std::ops::Range;

use super::Segments;
use super::atoms::Atoms;
use super::outside::cut_at;
use super::status::Statuses;
use crate::weave::segment::{Kind, Segment};
use crate::weave::{Atom, Owner, Placed};

impl Segments {
    /// Lays out the segments of an original of `n_lines` lines with `atoms`, all of which get a
    /// place.
    pub fn new(atoms: Vec<Atom>, n_lines: usize) -> Segments {
        let atoms = Atoms::new(atoms);
        let list = whole(&atoms, n_lines);
        let segments = Segments {
            statuses: Statuses::new(&atoms, &list),
            atoms,
            list,
            gap: None,
            n_around: 0,
            offsets: OnceCell::new(),
            unterminated: OnceCell::new(),
        };
        debug_assert!(segments.is_sound());
        segments
    }

    /// Replaces all segments by those of an original of `n_lines` lines, without text of others.
    /// `is_applied` says of each atom whether it is applied.
    pub fn lay_whole(&mut self, n_lines: usize, is_applied: &[bool]) {
        self.set_applied(is_applied);
        self.gap = None;
        self.n_around = 0;
        self.list = whole(&self.atoms, n_lines);
        self.update();
    }

    /// Replaces all segments: the runs `placed` are at their lines of a target of `n_lines` lines,
    /// and everything around them is text of others. `is_applied` says of each atom whether it is
    /// applied. Atoms outside all runs lose their places.
    ///
    /// The runs must be in the order of their lines, and disjoint.
    pub fn lay_out(&mut self, n_lines: usize, placed: &[Placed], is_applied: &[bool]) {
        self.set_applied(is_applied);
        self.gap = None;
        self.list.clear();
        let mut at = 0;
        for run in placed {
            push(&mut self.list, Kind::User, at..run.line);
            lay(&self.atoms, &mut self.list, run);
            at = run.line + self.n_alive_of(run);
        }
        push(&mut self.list, Kind::User, at..n_lines);
        self.n_around = n_lines;
        self.update();
    }

    /// Inserts the segments of `run`, whose atoms have no place yet, where its lines are in the
    /// target; its atoms are applied if `is_applied`. These lines must be text of others that lists
    /// no atoms; see [`Segments::owner_of`].
    pub fn lay_in(&mut self, run: &Placed, is_applied: bool) {
        for atom in run.atoms.clone() {
            self.atoms.set_applied(atom, is_applied);
        }
        let lines = run.line..run.line + self.n_alive_of(run);
        let mut segments = mem::take(&mut self.list);
        let start = cut_at(&self.atoms, &mut segments, lines.start);
        let end = cut_at(&self.atoms, &mut segments, lines.end);
        let rest = segments.split_off(end);
        segments.truncate(start);
        lay(&self.atoms, &mut segments, run);
        segments.extend(rest);
        self.list = segments;
        self.update();
    }

    /// Returns who owns one of the `lines` of the target; `None` if all are text of others and none
    /// was typed at a point where it may belong before or after an atom.
    pub fn owner_of(&self, lines: Range<usize>) -> Option<Owner> {
        let (first, mut at) = self.above_line(lines.start);
        for segment in self.alive_from(first) {
            let start = at;
            at += segment.len();
            if lines.end <= start {
                break;
            }
            let owner = match segment.kind() {
                Kind::User => segment.ambiguous().first().copied().map(Owner::Atom),
                Kind::Old(atom) | Kind::New(atom) => Some(Owner::Atom(atom)),
                Kind::Common => Some(Owner::Original(segment.lines().start)),
            };
            if owner.is_some() && lines.start < at {
                return owner;
            }
        }
        None
    }

    /// Inserts the segments of the original's `lines`, with `atoms` in them, before the segment of
    /// index `at`.
    pub(super) fn lay_at(&mut self, at: usize, lines: Range<usize>, atoms: Range<usize>) {
        let rest = self.list.split_off(at);
        let (line, before) = (0, lines);
        let run = Placed {
            line,
            before,
            atoms,
        };
        lay(&self.atoms, &mut self.list, &run);
        self.list.extend(rest);
    }

    fn set_applied(&mut self, is_applied: &[bool]) {
        for (atom, &is_applied) in is_applied.iter().enumerate() {
            self.atoms.set_applied(atom, is_applied);
        }
    }

    /// Returns the number of lines that `run` has in the target.
    fn n_alive_of(&self, run: &Placed) -> usize {
        let atoms = &self.atoms[run.atoms.clone()];
        let old: usize = atoms.iter().map(|atom| atom.old.len()).sum();
        let alive: usize = atoms.iter().map(|atom| atom.alive_side().len()).sum();
        run.before.len() - old + alive
    }
}

/// Returns all segments of an original of `n_lines` lines.
fn whole(atoms: &Atoms, n_lines: usize) -> Vec<Segment> {
    // Reserves exactly as many as needed, since there may be millions.
    let sides = atoms.iter().flat_map(|atom| [&atom.old, &atom.new]);
    let n_sides = sides.filter(|side| !side.is_empty()).count();
    let mut list = Vec::with_capacity(n_sides + atoms.len() + 1);
    let (line, before, all) = (0, 0..n_lines, 0..atoms.len());
    let run = Placed {
        line,
        before,
        atoms: all,
    };
    lay(atoms, &mut list, &run);
    list
}

/// Appends the segments of `run` to `list`.
fn lay(atoms: &Atoms, list: &mut Vec<Segment>, run: &Placed) {
    let mut at = run.before.start;
    for atom in run.atoms.clone() {
        let Atom { old, new, .. } = &atoms[atom];
        push(list, Kind::Common, at..old.start);
        at = old.end;
        push(list, Kind::Old(atom), old.clone());
        push(list, Kind::New(atom), new.clone());
    }
    push(list, Kind::Common, at..run.before.end);
}

fn push(list: &mut Vec<Segment>, kind: Kind, lines: Range<usize>) {
    if !lines.is_empty() {
        list.push(Segment::new(kind, lines));
    }
}
