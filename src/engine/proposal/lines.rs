//! The lines of one hunk, with its change and without.
//!
//! Knows the texts of the proposal and the hunk's group, but not where in the target the hunk is.

use std::ops::Range;

use crate::diff::Group;
use crate::weave::{Atom, Weave};

use super::hunks::Hunks;

/// A hunk with its lines in both texts.
///
/// Outer context lines that differ in the target can be ignored. GNU patch calls that fuzz: with
/// fuzz 1 the outermost context line on each side is ignored, with fuzz 2 the outermost two. GNU
/// patch searches the whole file and takes the nearest match. Here at least one context line must
/// match on each side that has context, and there must be only one match with the least fuzz that
/// gives any.
#[derive(Clone, Copy)]
pub(super) struct HunkLines<'a> {
    weave: &'a Weave,
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

    /// Returns the bytes of the lines that `atom`, one of the hunk's, has with or without its
    /// change.
    pub fn side(self, atom: &Atom, is_in: bool) -> &'a [u8] {
        self.weave.side(atom, is_in)
    }
}

/// Returns `group` without its first `head` and its last `tail` lines in both texts.
pub(super) fn without_ends(group: Group, head: usize, tail: usize) -> Group {
    Group {
        before: group.before.start + head..group.before.end - tail,
        after: group.after.start + head..group.after.end - tail,
        ..group
    }
}
