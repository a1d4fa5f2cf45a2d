//! Splitting a hunk into its smallest parts.
//!
//! A hunk is a display group of atoms, so splitting it regroups them and moves nothing: the line
//! map, and with it every place, stays as it is. The unchanged lines between two atoms are shared
//! out, half to the part above and half to the one below, so that no line is shown twice.

use std::ops::Range;

use crate::diff::{self, Group, HeadingRule};
use crate::hunk::Hunk;
use crate::place;

use super::{Proposal, edit_of};

impl Proposal {
    /// Splits hunk `hunk` into one hunk for each of its atoms and returns how many these are; 1 if
    /// it has only one and stays as it is.
    ///
    /// A hunk of a bare diff that has no place is searched for again, part by part.
    pub fn split(&mut self, hunk: usize) -> usize {
        let parts = self.parts(hunk);
        let n_parts = parts.len();
        if n_parts == 1 {
            return 1;
        }
        let offset = self.offsets[hunk].clone();
        let was_lost = offset.is_err();
        let (fuzz, whole) = (self.fuzz[hunk], self.groups[hunk].clone());
        if let Some(bare) = &mut self.bare {
            let (start, line) = (bare.starts[hunk], bare.header_lines[hunk]);
            let starts = parts
                .iter()
                .map(|part| start + part.before.start - whole.before.start);
            bare.starts.splice(hunk..=hunk, starts);
            bare.header_lines.splice(hunk..=hunk, vec![line; n_parts]);
        }
        self.groups.splice(hunk..=hunk, parts);
        self.offsets.splice(hunk..=hunk, vec![offset; n_parts]);
        self.fuzz.splice(hunk..=hunk, vec![fuzz; n_parts]);
        if was_lost && self.has_target && self.bare.is_some() {
            let live = self.target();
            self.search(&live);
        }
        n_parts
    }

    /// Returns a group for each atom of `hunk`.
    fn parts(&self, hunk: usize) -> Vec<Group> {
        let Group {
            edits,
            before,
            after,
        } = self.groups[hunk].clone();
        let atoms = self.weave.atoms();
        let mut parts = Vec::with_capacity(edits.len());
        let (mut old, mut new) = (before.start, after.start);
        for atom in edits.clone() {
            let end = match atom + 1 == edits.end {
                true => before.end,
                false => middle(atoms[atom].old.end..atoms[atom + 1].old.start),
            };
            let new_end = atoms[atom].new.end + (end - atoms[atom].old.end);
            parts.push(Group {
                edits: atom..atom + 1,
                before: old..end,
                after: new..new_end,
            });
            (old, new) = (end, new_end);
        }
        parts
    }

    /// Returns the hunks `range` as a diff shows them; `rule` finds their section headings.
    ///
    /// Those of a bare diff have the line numbers that its headers state, and no headings.
    pub fn hunks_in(&self, range: Range<usize>, rule: HeadingRule) -> Vec<Hunk<'_>> {
        range.map(|hunk| self.hunk(hunk, rule)).collect()
    }

    fn hunk(&self, hunk: usize, rule: HeadingRule) -> Hunk<'_> {
        let group = &self.groups[hunk];
        let (original, modified) = (self.weave.original(), self.weave.modified());
        let atoms = &self.weave.atoms()[group.edits.clone()];
        let edits: Vec<_> = atoms.iter().map(edit_of).collect();
        let shown = Group {
            edits: 0..edits.len(),
            ..group.clone()
        };
        let Some(bare) = &self.bare else {
            let heading = diff::section_heading(original, group.before.start, rule);
            return diff::hunk(&shown, &edits, original, modified, heading);
        };
        let start = bare.starts[hunk];
        let deltas = self.groups[..hunk].iter();
        let delta: isize = deltas
            .map(|group| place::offset(group.before.len(), group.after.len()))
            .sum();
        let new_start = start.saturating_add_signed(delta);
        Hunk {
            before: start..start + group.before.len(),
            after: new_start..new_start + group.after.len(),
            ..diff::hunk(&shown, &edits, original, modified, b"")
        }
    }
}

/// Returns where the unchanged lines `gap` are shared out.
fn middle(gap: Range<usize>) -> usize {
    gap.start + gap.len().div_ceil(2)
}
