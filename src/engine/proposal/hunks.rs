//! Which atoms and lines each hunk has.
//!
//! A hunk is a group of atoms that are shown together, with context. This file deals only with
//! numbers: of atoms, of lines in the two texts, and of header lines in the diff.

use std::ops::Range;

use crate::diff::Group;
use crate::patch::locate;
use crate::weave::{Atom, Owner};

/// The hunks, in the order of the original. Together they contain every atom exactly once, in
/// order.
#[derive(Debug, Clone)]
pub(super) struct Hunks {
    groups: Vec<Group>,
    /// For each hunk the line of the diff (0-based) that holds its header; empty if the proposal
    /// was made from two texts.
    header_lines: Vec<usize>,
}

impl Hunks {
    /// Makes hunks from `groups`. If there is a diff, `header_lines` are the lines of their headers
    /// in it.
    pub fn new(groups: Vec<Group>, header_lines: Vec<usize>) -> Hunks {
        Hunks {
            groups,
            header_lines,
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
            let end = match next == edits.end {
                true => before.end,
                false => middle(last.old.end..atoms[next].old.start),
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
