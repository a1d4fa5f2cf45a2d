//! Laying out segments: all of them from scratch, or a run among the lines of others.

use once_cell::unsync::OnceCell;
use std::mem;
use std::ops::Range;

use super::atoms::Atoms;
use super::outside::cut_at;
use super::status::Statuses;
use super::{Kind, Segment, Segments};
use crate::weave::{Atom, Owner, Placed};

impl Segments {
    /// Lays the segments of `atoms`, all of which have a place, in an original of `n_lines` lines.
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

    /// Replaces them by those of an original of `n_lines` lines, without text of others; `is_applied`
    /// tells it of each atom.
    pub fn lay_whole(&mut self, n_lines: usize, is_applied: &[bool]) {
        self.set_applied(is_applied);
        self.gap = None;
        self.n_around = 0;
        self.list = whole(&self.atoms, n_lines);
        self.update();
    }

    /// Replaces them: the runs `placed` stand in a target of `n_lines` lines where they say, and
    /// everything around them is text of others. `is_applied` tells it of each atom. Atoms outside
    /// all runs have no place any more.
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

    /// Lays `run`, whose atoms have no place yet and are applied if `is_applied`, where its lines
    /// stand in the target. These must be text of others that names no atom; see
    /// [`Segments::owner_of`].
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

    /// Returns who owns any of the `lines` of the target; `None` if all are text of others, and none
    /// was typed where it may be before or after an atom.
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

    /// Lays `lines` of the original, with `atoms` in them, in front of the segment of index `at`.
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

    /// Returns the number of lines that `run` takes in the target.
    fn n_alive_of(&self, run: &Placed) -> usize {
        let atoms = &self.atoms[run.atoms.clone()];
        let old: usize = atoms.iter().map(|atom| atom.old.len()).sum();
        let alive: usize = atoms.iter().map(|atom| atom.alive_side().len()).sum();
        run.before.len() - old + alive
    }
}

/// Returns the segments of all of an original of `n_lines` lines.
fn whole(atoms: &Atoms, n_lines: usize) -> Vec<Segment> {
    // No more memory than it takes: there may be millions.
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

/// Adds the segments of `run` to `list`.
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
