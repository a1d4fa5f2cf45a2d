//! Placing a hunk of a bare diff although its outermost context lines differ.
//!
//! GNU patch calls this fuzz: with fuzz 1 the outermost context line on each side is ignored, with
//! fuzz 2 the outermost two. It searches far and wide and takes the nearest match; here at least
//! one context line must match on each side that has context, and the match must be the only one.

use crate::place::{self, Index, NotPlaced, Place};

use super::Proposal;

/// Most context lines on a side that are ignored, as in GNU patch.
const MAX_FUZZ: usize = 2;

impl Proposal {
    /// Returns how many outer context lines on a side were ignored to find hunk `hunk`.
    pub fn fuzz(&self, hunk: usize) -> usize {
        self.fuzz[hunk]
    }

    /// Returns the only place of `hunk`, with or without its change, with the least fuzz for which
    /// there is one, and that fuzz.
    pub(super) fn find_fuzzy(
        &self,
        live: &Index,
        hunk: usize,
        is_in: bool,
        expected: usize,
    ) -> Result<(usize, Place), NotPlaced> {
        let whole = self.run(hunk, is_in);
        let mut last = (0, 0);
        for fuzz in 1..=MAX_FUZZ {
            let (head, tail) = self.cut(hunk, fuzz);
            if (head, tail) == last {
                break;
            }
            last = (head, tail);
            let run = &whole[head..whole.len() - tail];
            match live.places(run)[..] {
                [] => {}
                [line] => {
                    let offset = place::offset(expected.saturating_add(head), line);
                    return Ok((fuzz, Place { line, offset }));
                }
                ref several => {
                    let candidates = several.to_vec();
                    return Err(NotPlaced::Ambiguous { candidates });
                }
            }
        }
        Err(NotPlaced::NotFound)
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
