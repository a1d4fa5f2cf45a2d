//! Placing a hunk of a bare diff although its outermost context lines differ.
//!
//! GNU patch calls this fuzz: with fuzz 1 the outermost context line on each side is ignored, with
//! fuzz 2 the outermost two. It searches far and wide and takes the nearest match; here at least
//! one context line must match on each side that has context, and the match must be the only one
//! with the least fuzz for which there is any.

use super::Proposal;

/// Most context lines on a side that are ignored, as in GNU patch.
pub(super) const MAX_FUZZ: usize = 2;

impl Proposal {
    /// Returns how many outer context lines on a side were ignored to find hunk `hunk`.
    pub fn fuzz(&self, hunk: usize) -> usize {
        self.fuzz[hunk]
    }

    /// Returns how many context lines of `hunk` are ignored at its head and at its tail for `fuzz`.
    pub(super) fn cut(&self, hunk: usize, fuzz: usize) -> (usize, usize) {
        let atoms = &self.weave.atoms()[self.atoms_of(hunk)];
        let before = &self.groups[hunk].before;
        let head = atoms[0].old.start - before.start;
        let tail = before.end - atoms[atoms.len() - 1].old.end;
        let spare = |context: usize| fuzz.min(context.saturating_sub(1));
        (spare(head), spare(tail))
    }
}
