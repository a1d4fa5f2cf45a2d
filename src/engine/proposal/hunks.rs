//! Which atoms and lines each hunk has.
//!
//! A hunk is a group of atoms that are shown together, with context. This file deals only with
//! numbers: of atoms, of lines in the two texts, and of header lines in the diff.

use std::ops::Range;

use crate::diff::{self, Edit, Group, HeadingRule};
use crate::patch::hunk::Hunk;
use crate::patch::locate;
use crate::weave::{Atom, Owner, Weave};

use super::Proposal;

/// The hunks, in the order of the original. Together they contain every atom exactly once, in
/// order.
#[derive(Debug, Clone)]
pub(super) struct Hunks {
    groups: Vec<Group>,
    /// For each hunk the line of the diff (0-based) that holds its header; empty if the proposal
    /// was made from two texts.
    header_lines: Vec<usize>,
    /// For each hunk, how many lines of context more than its group has are shown above and below it;
    /// negative for fewer. Nothing but what is shown depends on them.
    more: Vec<[isize; 2]>,
}

impl Hunks {
    /// Makes hunks from `groups`. If there is a diff, `header_lines` are the lines of their headers
    /// in it.
    pub fn new(groups: Vec<Group>, header_lines: Vec<usize>) -> Hunks {
        let more = vec![[0, 0]; groups.len()];
        Hunks {
            groups,
            header_lines,
            more,
        }
    }

    pub fn len(&self) -> usize {
        self.groups.len()
    }

    pub fn group(&self, hunk: usize) -> &Group {
        &self.groups[hunk]
    }

    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    pub fn header_lines(&self) -> &[usize] {
        &self.header_lines
    }

    /// Returns the indices of the atoms of `hunk`.
    pub fn atoms(&self, hunk: usize) -> Range<usize> {
        self.groups[hunk].edits.clone()
    }

    /// Returns how many lines `hunk` adds to the text; negative if it removes more.
    pub fn delta(&self, hunk: usize) -> isize {
        let group = &self.groups[hunk];
        locate::offset(group.before.len(), group.after.len())
    }

    /// Returns for each atom whether it is applied, given for each hunk whether it is.
    pub fn applied_by(&self, is_in: impl Iterator<Item = bool>) -> Vec<bool> {
        let hunks = self.groups.iter().zip(is_in);
        let of_atoms = hunks.flat_map(|(group, is_in)| group.edits.clone().map(move |_| is_in));
        of_atoms.collect()
    }

    /// Returns the hunk of `owner`.
    pub fn owned_by(&self, owner: &Owner) -> usize {
        let is_above = |group: &Group| match *owner {
            Owner::Atom(atom) => group.edits.end <= atom,
            Owner::Original(line) => group.before.end <= line,
        };
        self.groups.partition_point(is_above)
    }

    /// Replaces the groups by as many others, after lines were added to the texts.
    pub fn replace_groups(&mut self, groups: Vec<Group>) {
        self.groups = groups;
    }

    /// Records that `atom` was cut in two.
    pub fn cut_atom(&mut self, atom: usize) {
        for Group { edits, .. } in &mut self.groups {
            edits.start += usize::from(edits.start > atom);
            edits.end += usize::from(edits.end > atom);
        }
    }

    /// Replaces `hunk` by `parts`.
    pub fn regroup(&mut self, hunk: usize, parts: Vec<Group>) {
        if let Some(&line) = self.header_lines.get(hunk) {
            self.header_lines
                .splice(hunk..=hunk, vec![line; parts.len()]);
        }
        let [up, down] = self.more[hunk];
        let mut more = vec![[0, 0]; parts.len()];
        more[0][0] = up;
        more[parts.len() - 1][1] = down;
        self.more.splice(hunk..=hunk, more);
        self.groups.splice(hunk..=hunk, parts);
    }

    /// Makes one hunk of the `n` hunks from `hunk` on, which follow one another without a gap.
    pub fn join(&mut self, hunk: usize, n: usize) {
        let hunks = hunk..hunk + n;
        if !self.header_lines.is_empty() {
            self.header_lines.drain(hunk + 1..hunks.end);
        }
        let last = self.groups[hunks.end - 1].clone();
        let whole = &mut self.groups[hunk];
        whole.edits.end = last.edits.end;
        whole.before.end = last.before.end;
        whole.after.end = last.after.end;
        self.more[hunk][1] = self.more[hunks.end - 1][1];
        self.more.drain(hunk + 1..hunks.end);
        self.groups.drain(hunk + 1..hunks.end);
    }

    /// Records that `group`, in `hunk`, has been rewritten, and renumbers the hunks below. `now`
    /// has the new numbers of its atoms, of its lines of the original, and of its lines of the
    /// modified text.
    pub fn resize(&mut self, hunk: usize, group: &Group, now: (usize, usize, usize)) {
        let moved = |at: &mut usize, was: usize, now: usize| *at = *at - was + now;
        let was = (group.edits.len(), group.before.len(), group.after.len());
        for (at, other) in self.groups.iter_mut().enumerate().skip(hunk) {
            if at > hunk {
                moved(&mut other.edits.start, was.0, now.0);
                moved(&mut other.before.start, was.1, now.1);
                moved(&mut other.after.start, was.2, now.2);
            }
            moved(&mut other.edits.end, was.0, now.0);
            moved(&mut other.before.end, was.1, now.1);
            moved(&mut other.after.end, was.2, now.2);
        }
    }

    /// Splits `hunk` before each of the atoms `firsts`, and returns the groups. The unchanged lines
    /// between two groups are divided between them.
    pub fn parts(&self, atoms: &[Atom], hunk: usize, firsts: &[usize]) -> Vec<Group> {
        let Group {
            edits,
            before,
            after,
        } = self.groups[hunk].clone();
        let mut parts = Vec::with_capacity(firsts.len());
        let (mut old, mut new) = (before.start, after.start);
        for (at, &first) in firsts.iter().enumerate() {
            let next = firsts.get(at + 1).copied().unwrap_or(edits.end);
            let last = &atoms[next - 1];
            let end = if next == edits.end {
                before.end
            } else {
                middle(last.old.end..atoms[next].old.start)
            };
            let new_end = last.new.end + (end - last.old.end);
            parts.push(Group {
                edits: first..next,
                before: old..end,
                after: new..new_end,
            });
            (old, new) = (end, new_end);
        }
        parts
    }
}

/// Returns the line at which the unchanged lines `gap` are divided.
fn middle(gap: Range<usize>) -> usize {
    gap.start + gap.len().div_ceil(2)
}

// The lines of one hunk, with its change and without.
//
// Knows the texts of the proposal and the hunk's group, but not where in the target the hunk is.

/// A hunk with its lines in both texts.
///
/// Outer context lines that differ in the target can be ignored. GNU patch calls that fuzz: with
/// fuzz 1 the outermost context line on each side is ignored, with fuzz 2 the outermost two. GNU
/// patch searches the whole file and takes the nearest match. Here at least one context line must
/// match on each side that has context, and there must be only one match with the least fuzz that
/// gives any.
#[derive(Clone, Copy)]
pub(super) struct HunkLines<'a> {
    pub weave: &'a Weave,
    group: &'a Group,
}

impl<'a> HunkLines<'a> {
    pub fn new(weave: &'a Weave, hunks: &'a Hunks, hunk: usize) -> HunkLines<'a> {
        let group = hunks.group(hunk);
        HunkLines { weave, group }
    }

    /// Returns the hunk's changes.
    pub fn atoms(self) -> &'a [Atom] {
        &self.weave.atoms()[self.group.edits.clone()]
    }

    /// Returns the first and the last change.
    pub fn outermost(self) -> [&'a Atom; 2] {
        let atoms = self.atoms();
        [&atoms[0], &atoms[atoms.len() - 1]]
    }

    /// Returns whether the whole change is in the target.
    pub fn is_in(self) -> bool {
        self.atoms().iter().all(|atom| atom.is_applied)
    }

    /// Returns whether no part of the change is in the target.
    pub fn is_out(self) -> bool {
        self.atoms().iter().all(|atom| !atom.is_applied)
    }

    /// Returns the numbers of context lines above the first change and below the last.
    pub fn context_lens(self) -> [usize; 2] {
        let (lines, [first, last]) = (&self.group.before, self.outermost());
        [first.old.start - lines.start, lines.end - last.old.end]
    }

    /// Returns the lines of the original from the first change to the last, counted from the hunk's
    /// first line (0-based, half-open).
    pub fn changed(self) -> Range<usize> {
        let (before, [head, tail]) = (&self.group.before, self.context_lens());
        head..before.len() - tail
    }

    /// Returns the number of removed lines plus that of added lines.
    pub fn n_changed(self) -> usize {
        self.atoms().iter().map(Atom::n_lines).sum()
    }

    /// Returns the atom that has the changed line `line` (0-based, counting removed and added lines
    /// in the order of the diff), and how many of the atom's lines come before it. If `line` is the
    /// number of changed lines, returns the atom after the hunk's last one. Panics if `line` is
    /// greater.
    pub fn cut_point(self, line: usize) -> (usize, usize) {
        let mut rest = line;
        for (index, atom) in self.group.edits.clone().zip(self.atoms()) {
            if rest < atom.n_lines() {
                return (index, rest);
            }
            rest -= atom.n_lines();
        }
        assert_eq!(rest, 0, "a changed line past the end of the hunk");
        (self.group.edits.end, 0)
    }

    /// Returns how many context lines `fuzz` ignores above the first change and below the last.
    pub fn ignored(self, fuzz: usize) -> [usize; 2] {
        let spare = |context: usize| fuzz.min(context.saturating_sub(1));
        self.context_lens().map(spare)
    }

    /// Returns the number of context lines above the first change that `fuzz` leaves.
    pub fn head_len(self, fuzz: usize) -> usize {
        self.context_lens()[0] - self.ignored(fuzz)[0]
    }

    /// Returns the group without the context lines that `fuzz` ignores.
    pub fn group_within(self, fuzz: usize) -> Group {
        let [head, tail] = self.ignored(fuzz);
        without_ends(self.group.clone(), head, tail)
    }

    /// Returns the number of lines with or without the change (according to `is_in`), except the
    /// context that `fuzz` ignores.
    pub fn len(self, is_in: bool, fuzz: usize) -> usize {
        let Group { before, after, .. } = self.group_within(fuzz);
        if is_in { after.len() } else { before.len() }
    }

    /// Returns the lines with or without the change (according to `is_in`), including all context.
    pub fn all(self, is_in: bool) -> Vec<&'a [u8]> {
        let (original, mut at) = (self.weave.original(), self.group.before.start);
        let mut lines = Vec::new();
        for atom in self.atoms() {
            lines.extend(original.lines(at..atom.old.start));
            let side = self.weave.side(atom, is_in);
            lines.extend(side.split_inclusive(|&byte| byte == b'\n'));
            at = atom.old.end;
        }
        lines.extend(original.lines(at..self.group.before.end));
        lines
    }

    /// Like [`HunkLines::all`], but if `is_toggled` without the newline at the end, which
    /// [`Weave::toggle_last_terminator`] removes in the texts.
    pub fn all_toggled(self, is_in: bool, is_toggled: bool) -> Vec<&'a [u8]> {
        let [_, last] = self.outermost();
        let mut lines = self.all(is_in);
        let has_last = !is_in || last.old.end < self.group.before.end || !last.new.is_empty();
        if let Some(last) = lines.last_mut().filter(|_| is_toggled && has_last) {
            // An empty line consists of its newline only; without that it would not be a line.
            let text = last.strip_suffix(b"\n").filter(|text| !text.is_empty());
            *last = text.unwrap_or(last);
        }
        lines
    }

    /// Returns whether, on one side, the hunk has no lines but the text has some, so that the last
    /// line of that text belongs to another hunk.
    pub fn is_missing_a_side(self) -> bool {
        let (original, modified) = (self.weave.original(), self.weave.modified());
        self.group.before.is_empty() && !original.is_empty()
            || self.group.after.is_empty() && !modified.is_empty()
    }
}

/// A change of a hunk that was decided.
pub(crate) struct Shown {
    /// The lines, from 0, where it is in the text that was decided.
    pub lines: Range<usize>,
    /// The lines that it removes, and those that it adds.
    pub both: [Vec<u8>; 2],
}

/// Returns `group` without its first `head` and its last `tail` lines in both texts.
pub(super) fn without_ends(group: Group, head: usize, tail: usize) -> Group {
    Group {
        before: group.before.start + head..group.before.end - tail,
        after: group.after.start + head..group.after.end - tail,
        ..group
    }
}

// Hunks as a diff shows them, with line numbers, context and headings.

impl Proposal {
    /// Returns all hunks as a diff shows them; see [`Proposal::hunks_in`].
    pub fn hunks(&self, rule: HeadingRule) -> Vec<Hunk<'_>> {
        self.hunks_in(0..self.n_hunks(), rule)
    }

    /// Returns how many lines all hunks add, and how many they remove.
    pub fn line_counts(&self) -> (usize, usize) {
        let hunks = 0..self.n_hunks();
        let of_hunks = hunks.flat_map(|hunk| self.lines_of(hunk).atoms());
        of_hunks.fold((0, 0), |(added, removed), atom| {
            (added + atom.new.len(), removed + atom.old.len())
        })
    }

    /// Has `more[0]` lines of context more than usual shown above `hunk`, and `more[1]` below it; if
    /// negative, as many fewer. Returns how many that are, since a hunk does not grow beyond the text, nor
    /// into others, and keeps its changes. Of a bare diff, no more is known.
    pub fn show_context(&mut self, hunk: usize, more: [isize; 2]) -> [isize; 2] {
        let group = self.hunks.group(hunk);
        let [above, below] = self.lines_of(hunk).context_lens();
        let fewest = |len: usize| -isize::try_from(len).unwrap_or(isize::MAX);
        let room = |lines: Range<usize>| isize::try_from(lines.len()).unwrap_or(isize::MAX);
        let start = hunk
            .checked_sub(1)
            .map_or(0, |other| self.shown(other).before.end);
        let end = if hunk + 1 < self.n_hunks() {
            self.shown(hunk + 1).before.start
        } else {
            self.weave.original().len()
        };
        let most = match self.bare {
            None => [room(start..group.before.start), room(group.before.end..end)],
            Some(_) => [0, 0],
        };
        let fewest = [fewest(above), fewest(below)];
        let is = [0, 1].map(|side| more[side].clamp(fewest[side].min(most[side]), most[side]));
        self.hunks.more[hunk] = is;
        is
    }

    /// Returns the group of `hunk` with the context that is shown; see [`Proposal::show_context`].
    fn shown(&self, hunk: usize) -> Group {
        let group = self.hunks.group(hunk);
        let [up, down] = self.hunks.more[hunk];
        let grown = |lines: &Range<usize>| {
            lines.start.saturating_add_signed(-up)..lines.end.saturating_add_signed(down)
        };
        Group {
            edits: group.edits.clone(),
            before: grown(&group.before),
            after: grown(&group.after),
        }
    }

    /// Returns `hunk` as it is shown, but without a section heading.
    pub fn shown_hunk(&self, hunk: usize) -> Hunk<'_> {
        self.hunk(hunk, &self.shown(hunk), b"", self.added_above(hunk))
    }

    /// Returns how many lines the hunks above `hunk` add, which only a bare diff needs.
    fn added_above(&self, hunk: usize) -> isize {
        let above = 0..if self.bare.is_some() { hunk } else { 0 };
        above.map(|hunk| self.hunks.delta(hunk)).sum()
    }

    /// Returns the hunks in `range` as [`Proposal::hunks_in`] does, with the context that is to be shown;
    /// see [`Proposal::show_context`].
    pub fn shown_hunks_in(&self, range: Range<usize>, rule: HeadingRule) -> Vec<Hunk<'_>> {
        let groups: Vec<_> = range.clone().map(|hunk| self.shown(hunk)).collect();
        self.hunks_of(range, &groups, rule)
    }

    /// Returns the hunks in `range` as a diff shows them; `rule` says which lines are section
    /// headings.
    ///
    /// Hunks of a bare diff have the line numbers that its headers state, and no section headings.
    /// Each line is read at most once in all.
    pub fn hunks_in(&self, range: Range<usize>, rule: HeadingRule) -> Vec<Hunk<'_>> {
        let groups = &self.hunks.groups()[range.clone()];
        self.hunks_of(range, groups, rule)
    }

    /// Returns the hunks in `range`, whose lines are `groups`.
    fn hunks_of(&self, range: Range<usize>, groups: &[Group], rule: HeadingRule) -> Vec<Hunk<'_>> {
        let headings = match &self.bare {
            None => diff::section_headings(self.weave.original(), groups, rule),
            Some(_) => vec![&b""[..]; groups.len()],
        };
        let mut added = self.added_above(range.start);
        let mut hunks = Vec::with_capacity(groups.len());
        for ((hunk, heading), group) in range.zip(headings).zip(groups) {
            hunks.push(self.hunk(hunk, group, heading, added));
            added += self.hunks.delta(hunk);
        }
        hunks
    }

    /// Returns the original text with the changes of the hunks for which `is_in` holds.
    pub fn original_with(&self, is_in: impl Fn(usize) -> bool) -> Vec<u8> {
        self.woven(is_in, |_, _, _| ())
    }

    /// Returns the modified text without the changes of the hunks that were decided to be out, and the
    /// changes of those that were decided. `decision` says whether a hunk is in; `None` if it is not decided.
    pub(crate) fn decided(
        &self,
        decision: impl Fn(usize) -> Option<bool>,
    ) -> (Vec<u8>, Vec<Shown>) {
        let mut shown = Vec::new();
        let text = self.woven(
            |hunk| decision(hunk) != Some(false),
            |hunk, atom, lines| {
                if decision(hunk).is_some() {
                    let both = [false, true].map(|is_in| self.weave.side(atom, is_in).to_vec());
                    shown.push(Shown { lines, both });
                }
            },
        );
        (text, shown)
    }

    /// Returns the original text with the changes of the hunks for which `is_in` holds. Calls `visit` with
    /// each change, whether it is in or not: its hunk, the change, and the lines, from 0, where the text has
    /// that side of it.
    fn woven(
        &self,
        is_in: impl Fn(usize) -> bool,
        mut visit: impl FnMut(usize, &Atom, Range<usize>),
    ) -> Vec<u8> {
        let original = self.weave.original();
        let mut text = Vec::new();
        let (mut done, mut n_lines) = (0, 0);
        for hunk in 0..self.n_hunks() {
            let lines = self.lines_of(hunk);
            for atom in lines.atoms() {
                text.extend_from_slice(original.lines_bytes(done..atom.old.start));
                n_lines += atom.old.start - done;
                let side = self.weave.side(atom, is_in(hunk));
                text.extend_from_slice(side);
                let end = n_lines + side.split_inclusive(|&byte| byte == b'\n').count();
                visit(hunk, atom, n_lines..end);
                (done, n_lines) = (atom.old.end, end);
            }
        }
        text.extend_from_slice(original.lines_bytes(done..original.len()));
        text
    }

    /// Returns the changes of hunk `hunk`, in order.
    pub fn edits(&self, hunk: usize) -> Vec<Edit> {
        self.lines_of(hunk).atoms().iter().map(edit_of).collect()
    }

    /// Returns the lines of the modified text from the first to the last that hunk `hunk` changes,
    /// without its context.
    pub fn changed_lines(&self, hunk: usize) -> Range<usize> {
        let [first, last] = self.lines_of(hunk).outermost().map(edit_of);
        first.after.start..last.after.end
    }

    /// Returns hunk `hunk`, whose lines are `group`, with the section heading `heading`; the hunks above
    /// it add `added` lines.
    fn hunk<'a>(&'a self, hunk: usize, group: &Group, heading: &'a [u8], added: isize) -> Hunk<'a> {
        let (original, modified) = (self.weave.original(), self.weave.modified());
        let edits = self.edits(hunk);
        let shown = Group {
            edits: 0..edits.len(),
            ..group.clone()
        };
        let shown = diff::hunk(&shown, &edits, original, modified, heading);
        let Some(bare) = &self.bare else {
            return shown;
        };
        let start = bare.hunk(hunk).start;
        let new_start = start.saturating_add_signed(added);
        Hunk {
            before: start..start + group.before.len(),
            after: new_start..new_start + group.after.len(),
            ..shown
        }
    }
}

fn edit_of(atom: &Atom) -> Edit {
    Edit {
        before: atom.old.clone(),
        after: atom.new.clone(),
    }
}
