//! Changing atoms: cutting one in two, or rewriting the lines of a hunk.
//!
//! Neither moves a line of the target.

use std::mem;
use std::ops::Range;

use once_cell::unsync::OnceCell;

use crate::diff::{Edit, Group};
use crate::text::Text;
use crate::weave::segment::{Kind, Segment};
use crate::weave::texts::Texts;
use crate::weave::{Atom, Owner, Placed, Stretch};

use super::Segments;
use super::outside::cut_at;
use super::status::{Atoms, Statuses};

impl Segments {
    /// Cuts atom `atom` in two after the first `n_lines` of its changed lines, where its removed
    /// lines are counted before its added ones.
    ///
    /// Cutting never changes this order of the segments. So if two lines replace two others, no cut
    /// gives an atom of just the first removed and the first added line. Panics unless both parts
    /// have lines.
    pub fn cut(&mut self, atom: usize, n_lines: usize) {
        let whole = self.atoms[atom].clone();
        let n_old = whole.old.len().min(n_lines);
        let (old, new) = (whole.old.start + n_old, whole.new.start + n_lines - n_old);
        assert!(0 < n_lines && (old < whole.old.end || new < whole.new.end));
        let part = |old, new| Atom { old, new, ..whole };
        let head = part(whole.old.start..old, whole.new.start..new);
        let tail = part(old..whole.old.end, new..whole.new.end);
        self.renumber(atom..atom + 1, 2);
        self.atoms.splice(atom..atom + 1, [head, tail]);
        let mut segments = Vec::with_capacity(self.list.len() + 2);
        for segment in self.list.drain(..) {
            let (line, tail) = match segment.kind() {
                Kind::Old(other) if other == atom => (old, Kind::Old(atom + 1)),
                Kind::New(other) if other == atom => (new, Kind::New(atom + 1)),
                _ => {
                    segments.push(segment);
                    continue;
                }
            };
            let (head, rest) = segment.cut_at_line(line);
            let parts = [head, rest.with_kind(tail)];
            segments.extend(parts.into_iter().filter(|part| part.len() > 0));
        }
        self.list = segments;
        self.update();
    }

    /// Returns the lines of the target where `group` is; `None` if it has no place.
    ///
    /// Takes O(log s) time for s segments, plus that for the lines returned.
    pub fn stretch(&self, texts: &Texts, group: &Group) -> Option<Stretch> {
        let window = self.window_of(group)?;
        let mut segments = self.list[window.clone()].to_vec();
        let range = self.range_of(&mut segments, group)?;
        let (before, inside) = (&segments[..range.start], &segments[range]);
        let live = self.atoms.alive(inside);
        let live = live.flat_map(|segment| texts.text_of(segment).lines(segment.lines()));
        let is_ours = |segment: &Segment| !segment.is_dead && !segment.is_user();
        let is_sound = |atom| self.check(atom).is_ok();
        Some(Stretch {
            line: self.line_of_segment(window.start) + self.atoms.n_alive(before),
            live: Text::from_lines(live),
            is_untouched: inside.iter().all(is_ours) && group.edits.clone().all(is_sound),
        })
    }

    /// Returns a range of segments that includes all that [`Segments::range_of`] must read for
    /// `group`: those of its atoms and of its lines of the original, and the text of others around
    /// them.
    fn window_of(&self, group: &Group) -> Option<Range<usize>> {
        let placed = group.edits.clone();
        let placed = placed.filter_map(|atom| self.statuses.segments(atom));
        let start = placed.clone().map(|segments| segments.start).min()?;
        let end = placed.map(|segments| segments.end).max()?;
        let is_near = |segment: &&Segment| match segment.kind() {
            Kind::Common => {
                let Range { start, end } = segment.lines();
                start < group.before.end && group.before.start < end
            }
            Kind::Old(atom) | Kind::New(atom) => group.edits.contains(&atom),
            Kind::User => true,
        };
        let above = self.list[..start].iter().rev();
        let below = self.list[end..].iter();
        let n_above = above.take_while(is_near).count();
        Some(start - n_above..end + below.take_while(is_near).count())
    }

    /// Rewrites `group`: it gets `n_old` lines of the original and `n_new` of the modified text,
    /// and its atoms are made of `edits`, whose line numbers count from the first of these.
    ///
    /// The atoms are applied if `is_applied`; the caller ensures that the target then agrees with
    /// the segments, and splices the texts accordingly. A group without a place gets none.
    pub fn rewrite(
        &mut self,
        group: &Group,
        (n_old, n_new): (usize, usize),
        edits: &[Edit],
        is_applied: bool,
    ) {
        let mut all = mem::take(&mut self.list);
        let segments = self.range_of(&mut all, group);
        self.list = all;
        let first = segments.as_ref().map(|segments| segments.start);
        if let Some(segments) = segments {
            self.list.drain(segments);
        }
        self.renumber(group.edits.clone(), edits.len());
        self.move_lines(group, n_old, n_new);
        let atom = |edit: &Edit| Atom {
            old: from(group.before.start, &edit.before),
            new: from(group.after.start, &edit.after),
            is_applied,
            is_edited: true,
        };
        self.atoms
            .splice(group.edits.clone(), edits.iter().map(atom));
        if let Some(first) = first {
            let lines = from(group.before.start, &(0..n_old));
            self.lay_at(first, lines, from(group.edits.start, &(0..edits.len())));
        }
        self.update();
    }

    /// Renumbers the lines below `group`, which now has `n_old` and `n_new` lines in the two texts,
    /// and whose segments have been removed.
    fn move_lines(&mut self, group: &Group, n_old: usize, n_new: usize) {
        let old = |lines: &mut Range<usize>| moved(lines, &group.before, n_old);
        let new = |lines: &mut Range<usize>| moved(lines, &group.after, n_new);
        for segment in &mut self.list {
            let mut lines = segment.lines();
            match segment.kind() {
                Kind::Common | Kind::Old(_) => old(&mut lines),
                Kind::New(_) => new(&mut lines),
                Kind::User => {}
            }
            *segment = segment.clone().with_lines(lines);
        }
        self.atoms.move_lines(group.edits.end, old, new);
    }

    /// Returns which of `segments` are in `group`: those of its atoms and of its lines of the
    /// original, and all segments among them. At an edge where none of its lines is left, that
    /// includes the text with which others replaced them, or which may belong before or after them.
    /// Cuts segments that have both lines of `group` and other lines.
    fn range_of(&self, segments: &mut Vec<Segment>, group: &Group) -> Option<Range<usize>> {
        for line in [group.before.start, group.before.end] {
            cut_common(segments, line);
        }
        let is_own = |segment: &Segment| match segment.kind() {
            Kind::Common => group.before.contains(&segment.lines().start),
            Kind::Old(atom) | Kind::New(atom) => group.edits.contains(&atom),
            Kind::User => false,
        };
        let start = segments.iter().position(is_own)?;
        let last = segments.iter().rposition(is_own)?;
        let belongs = |edge: &Segment, other: &Segment| {
            let is_typed = other.is_user() && other.lines().start >= self.n_around;
            let is_near = |atom: &usize| group.edits.contains(atom);
            is_typed
                && (edge.is_dead
                    || !self.atoms.is_alive(edge) && other.ambiguous().iter().any(is_near))
        };
        let (above, below) = (&segments[..start], &segments[last + 1..]);
        let is_above = |other: &&Segment| belongs(&segments[start], other);
        let is_below = |other: &&Segment| belongs(&segments[last], other);
        let n_above = above.iter().rev().take_while(is_above).count();
        let n_below = below.iter().take_while(is_below).count();
        Some(start - n_above..last + 1 + n_below)
    }

    /// Renumbers the atoms after `atoms` in all segments, now that `n_now` atoms replace `atoms`.
    ///
    /// Text that may belong before or after one of `atoms` may then belong before or after each of
    /// the new ones.
    fn renumber(&mut self, atoms: Range<usize>, n_now: usize) {
        let moved = |atom: usize| {
            if atom < atoms.end {
                atom
            } else {
                atom - atoms.len() + n_now
            }
        };
        let now = from(atoms.start, &(0..n_now));
        for segment in &mut self.list {
            let kind = match segment.kind() {
                Kind::Old(atom) => Kind::Old(moved(atom)),
                Kind::New(atom) => Kind::New(moved(atom)),
                kind => kind,
            };
            let is_one = |atom: &usize| atoms.contains(atom);
            let (ones, others): (Vec<_>, Vec<_>) =
                segment.ambiguous().iter().partition(|atom| is_one(atom));
            let mut ambiguous: Vec<usize> = others.into_iter().map(moved).collect();
            if !ones.is_empty() {
                ambiguous.extend(now.clone());
            }
            ambiguous.sort_unstable();
            *segment = segment.clone().with_kind(kind).with_ambiguous(ambiguous);
        }
    }
}

/// Cuts the common segment that has line `line` of the original, unless it begins with that line.
fn cut_common(segments: &mut Vec<Segment>, line: usize) {
    let is_cut = |segment: &Segment| {
        segment.kind() == Kind::Common && segment.lines().start < line && line < segment.lines().end
    };
    if let Some(at) = segments.iter().position(is_cut) {
        let (head, tail) = segments[at].clone().cut_at_line(line);
        segments.splice(at..=at, [head, tail]);
    }
}

/// Renumbers `lines` if they come after `range`, which now has `n_now` lines.
fn moved(lines: &mut Range<usize>, range: &Range<usize>, n_now: usize) {
    if lines.start >= range.end {
        for end in [&mut lines.start, &mut lines.end] {
            *end = *end - range.len() + n_now;
        }
    }
}

/// Converts `range`, whose numbers count from `start`, to one that counts from 0.
fn from(start: usize, range: &Range<usize>) -> Range<usize> {
    start + range.start..start + range.end
}

// Laying out segments: all of them from scratch, or a run inside text of others.

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::weave::Weave;

    /// No caller cuts such an atom, so the random walks do not cover it. The segments follow the
    /// rule on their own.
    #[test]
    fn text_at_the_point_of_an_insertion_is_at_the_point_of_each_of_its_parts() {
        let text = |text: &str| Text::new(text.into());
        let (before, after) = (1..1, 1..3);
        let edits = [Edit { before, after }];
        let mut weave = Weave::new(text("a\nb\n"), text("a\nx\ny\nb\n"), &edits);
        weave.edit_loosely(1, 0, b"typed\n", false);
        weave.settle();
        weave.cut(0, 1);
        assert!(weave.check(0).is_err());
        assert!(weave.check(1).is_err());
    }
}
