//! Hunks as a diff shows them, with line numbers, context and headings.

use std::ops::Range;

use crate::diff::{self, Edit, Group, HeadingRule};
use crate::patch::hunk::Hunk;
use crate::weave::Atom;

use super::Proposal;

impl Proposal {
    /// Returns all hunks as a diff shows them; see [`Proposal::hunks_in`].
    pub fn hunks(&self, rule: HeadingRule) -> Vec<Hunk<'_>> {
        self.hunks_in(0..self.n_hunks(), rule)
    }

    /// Returns the hunks in `range` as a diff shows them; `rule` says which lines are section
    /// headings.
    ///
    /// Hunks of a bare diff have the line numbers that its headers state, and no section headings.
    /// Each line is read at most once in all.
    pub fn hunks_in(&self, range: Range<usize>, rule: HeadingRule) -> Vec<Hunk<'_>> {
        let groups = &self.hunks.groups()[range.clone()];
        let headings = match &self.bare {
            None => diff::section_headings(self.weave.original(), groups, rule),
            Some(_) => vec![&b""[..]; groups.len()],
        };
        let above = 0..range.start;
        let mut added: isize = above.map(|hunk| self.hunks.delta(hunk)).sum();
        let mut hunks = Vec::with_capacity(groups.len());
        for (hunk, heading) in range.zip(headings) {
            hunks.push(self.hunk(hunk, heading, added));
            added += self.hunks.delta(hunk);
        }
        hunks
    }

    /// Returns hunk `hunk` with the section heading `heading`; the hunks above it add `added`
    /// lines.
    fn hunk<'a>(&'a self, hunk: usize, heading: &'a [u8], added: isize) -> Hunk<'a> {
        let group = self.hunks.group(hunk);
        let (original, modified) = (self.weave.original(), self.weave.modified());
        let edits: Vec<_> = self.lines_of(hunk).atoms().iter().map(edit_of).collect();
        let shown = Group {
            edits: 0..edits.len(),
            ..group.clone()
        };
        let shown = diff::hunk(&shown, &edits, original, modified, heading);
        let Some(bare) = &self.bare else {
            return shown;
        };
        let start = bare.start(hunk);
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
