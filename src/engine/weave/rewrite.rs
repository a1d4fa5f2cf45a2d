//! Changing what the atoms are: cutting one in two, or casting a stretch of both texts anew.
//!
//! Neither moves a line of the target. What could be undone before cannot be undone line by line
//! any more, since the lines belong to other atoms now.

use std::mem;
use std::ops::Range;

use super::{Atom, Counted, Kind, Segment, Weave};
use crate::diff::{Edit, Group};
use crate::text::Text;

/// What stands in the target in a stretch of the original.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    /// The first line of the target in it (0-based).
    pub line: usize,
    /// Its lines, as they are in the target.
    pub live: Text,
    /// Whether all of it is as the original and its atoms say: nobody else had a hand in it.
    pub is_untouched: bool,
}

impl Weave {
    /// Cuts atom `atom` in two behind the first `n_lines` of its changed lines, the removed ones
    /// counted before the added ones.
    ///
    /// That is the order of the line map, and it stays: of two lines that are removed and two that
    /// replace them, the first removed and the first added one are apart for good. Panics unless
    /// lines are left on both sides.
    pub(crate) fn cut(&mut self, atom: usize, n_lines: usize) {
        let whole = self.atoms[atom].clone();
        let n_old = whole.old.len().min(n_lines);
        let (old, new) = (whole.old.start + n_old, whole.new.start + n_lines - n_old);
        assert!(0 < n_lines && (old < whole.old.end || new < whole.new.end));
        let part = |old, new| Atom { old, new, ..whole };
        let head = part(whole.old.start..old, whole.new.start..new);
        let tail = part(old..whole.old.end, new..whole.new.end);
        self.past.forget();
        self.renumber(atom..atom + 1, 2);
        self.atoms.splice(atom..=atom, [head, tail]);
        let mut segments = Vec::with_capacity(self.segments.len() + 2);
        for segment in self.segments.drain(..) {
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
        self.segments = segments;
        self.update_statuses();
    }

    /// Returns what stands in the target where `group` is, or `None` if it has no place.
    ///
    /// Takes time for what is there, and O(log s) for s segments.
    pub(crate) fn stretch(&self, group: &Group) -> Option<Stretch> {
        let window = self.window_of(group)?;
        let mut segments = self.segments[window.clone()].to_vec();
        let range = self.segments_of(&mut segments, group)?;
        let (before, inside) = (&segments[..range.start], &segments[range]);
        let live = self.alive_of(inside);
        let live = live.flat_map(|segment| self.text_of(segment).lines(segment.lines()));
        let is_ours = |segment: &Segment| !segment.is_dead && !segment.is_user();
        let is_sound = |atom| self.check(atom).is_ok();
        Some(Stretch {
            line: self.line_of_segment(window.start) + self.n_alive(before),
            live: Text::from_lines(live),
            is_untouched: inside.iter().all(is_ours) && group.edits.clone().all(is_sound),
        })
    }

    /// Returns segments among which are all that [`Weave::segments_of`] has to look at for `group`:
    /// those of its atoms and of its lines of the original, and user text around them.
    fn window_of(&self, group: &Group) -> Option<Range<usize>> {
        let statuses = group
            .edits
            .clone()
            .filter_map(|atom| self.statuses[atom].as_ref());
        let start = statuses.clone().map(|status| status.segments.start).min()?;
        let end = statuses.map(|status| status.segments.end).max()?;
        let is_near = |segment: &&Segment| match segment.kind() {
            Kind::Common => {
                let Range { start, end } = segment.lines();
                start < group.before.end && group.before.start < end
            }
            Kind::Old(atom) | Kind::New(atom) => group.edits.contains(&atom),
            Kind::User => true,
        };
        let above = self.segments[..start].iter().rev();
        let below = self.segments[end..].iter();
        let n_above = above.take_while(is_near).count();
        Some(start - n_above..end + below.take_while(is_near).count())
    }

    /// Casts `group` anew: its lines of the original are now `old`, those of the modified text are
    /// `new`, and its atoms are what `edits`, counted from the first lines of these, change.
    ///
    /// They are applied if `is_applied`, and the caller ensures that the target is then what the
    /// line map says. A group that has no place gets none.
    pub(crate) fn rewrite_atoms(
        &mut self,
        group: &Group,
        (old, new): (&Text, &Text),
        edits: &[Edit],
        is_applied: bool,
    ) {
        let mut all = mem::take(&mut self.segments);
        let segments = self.segments_of(&mut all, group);
        self.segments = all;
        self.past.forget();
        let first = segments.as_ref().map(|segments| segments.start);
        if let Some(segments) = segments {
            self.segments.drain(segments);
        }
        self.renumber(group.edits.clone(), edits.len());
        self.replace_lines(group, old, new);
        let atom = |edit: &Edit| Atom {
            old: from(group.before.start, &edit.before),
            new: from(group.after.start, &edit.after),
            is_applied,
            is_edited: true,
        };
        self.atoms
            .splice(group.edits.clone(), edits.iter().map(atom));
        if let Some(first) = first {
            let rest = self.segments.split_off(first);
            let lines = from(group.before.start, &(0..old.len()));
            self.lay(lines, from(group.edits.start, &(0..edits.len())));
            self.segments.extend(rest);
        }
        self.update_statuses();
    }

    /// Puts `old` and `new` in the place of the lines of `group` in both texts, of which no segment
    /// is left. What is below moves with its lines.
    fn replace_lines(&mut self, group: &Group, old: &Text, new: &Text) {
        self.original.splice(group.before.clone(), old);
        self.modified.splice(group.after.clone(), new);
        self.counted = Counted::default();
        for segment in &mut self.segments {
            let mut lines = segment.lines();
            match segment.kind() {
                Kind::Common | Kind::Old(_) => moved(&mut lines, &group.before, old.len()),
                Kind::New(_) => moved(&mut lines, &group.after, new.len()),
                Kind::User => {}
            }
            *segment = segment.clone().with_lines(lines);
        }
        for atom in &mut self.atoms[group.edits.end..] {
            moved(&mut atom.old, &group.before, old.len());
            moved(&mut atom.new, &group.after, new.len());
        }
    }

    /// Notes whether atom `atom` is what the user made of the proposal.
    pub(crate) fn set_edited(&mut self, atom: usize, is_edited: bool) {
        self.atoms[atom].is_edited = is_edited;
    }

    /// Returns which of `segments`, all there are, those of `group` are: those of its atoms and of
    /// its lines of the original, all that stand among them, and at an edge where no line is left
    /// of it the text that others put in the place of its lines, or that might belong before or
    /// after them. Cuts those that hold lines of `group` and others.
    fn segments_of(&self, segments: &mut Vec<Segment>, group: &Group) -> Option<Range<usize>> {
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
            is_typed && (edge.is_dead || !self.is_alive(edge) && other.amb().iter().any(is_near))
        };
        let (above, below) = (&segments[..start], &segments[last + 1..]);
        let is_above = |other: &&Segment| belongs(&segments[start], other);
        let is_below = |other: &&Segment| belongs(&segments[last], other);
        let n_above = above.iter().rev().take_while(is_above).count();
        let n_below = below.iter().take_while(is_below).count();
        Some(start - n_above..last + 1 + n_below)
    }

    /// Makes what names the atoms behind `atoms` name them when `n_now` stand in place of `atoms`.
    ///
    /// Text that might belong before or after one of `atoms` might then do so for each of the new.
    fn renumber(&mut self, atoms: Range<usize>, n_now: usize) {
        let moved = |atom: usize| match atom < atoms.end {
            true => atom,
            false => atom - atoms.len() + n_now,
        };
        let now = from(atoms.start, &(0..n_now));
        for segment in &mut self.segments {
            let kind = match segment.kind() {
                Kind::Old(atom) => Kind::Old(moved(atom)),
                Kind::New(atom) => Kind::New(moved(atom)),
                kind => kind,
            };
            let is_one = |atom: &usize| atoms.contains(atom);
            let (ones, others): (Vec<_>, Vec<_>) =
                segment.amb().iter().partition(|atom| is_one(atom));
            let mut amb: Vec<usize> = others.into_iter().map(moved).collect();
            if !ones.is_empty() {
                amb.extend(now.clone());
            }
            amb.sort_unstable();
            *segment = segment.clone().with_kind(kind).with_amb(amb);
        }
    }
}

/// Cuts the segment that holds the unchanged lines around line `line` of the original, if it
/// does not begin with it.
fn cut_common(segments: &mut Vec<Segment>, line: usize) {
    let is_cut = |segment: &Segment| {
        segment.kind() == Kind::Common && segment.lines().start < line && line < segment.lines().end
    };
    if let Some(at) = segments.iter().position(is_cut) {
        let (head, tail) = segments[at].clone().cut_at_line(line);
        segments.splice(at..=at, [head, tail]);
    }
}

/// Moves `lines` if they are behind `range`, which now has `n_now` lines.
fn moved(lines: &mut Range<usize>, range: &Range<usize>, n_now: usize) {
    if lines.start >= range.end {
        for end in [&mut lines.start, &mut lines.end] {
            *end = *end - range.len() + n_now;
        }
    }
}

/// Returns `range`, which counts from `start`, as counted from 0.
fn from(start: usize, range: &Range<usize>) -> Range<usize> {
    start + range.start..start + range.end
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No caller cuts such an atom, so no random walk covers this. The weave checks it itself.
    #[test]
    fn text_at_the_point_of_an_insertion_is_at_the_point_of_each_of_its_parts() {
        let text = |text: &str| Text::new(text.into());
        let (before, after) = (1..1, 1..3);
        let edits = [Edit { before, after }];
        let mut weave = Weave::new(text("a\nb\n"), text("a\nx\ny\nb\n"), &edits);
        weave.edit_outside(1, 0, b"typed\n", false);
        weave.cut(0, 1);
        assert!(weave.check(0).is_err());
        assert!(weave.check(1).is_err());
    }
}
