//! Taking somebody's word for the place of a hunk of a bare diff.

use crate::diff::Group;
use crate::patch::locate::{self, NotPlaced};
use crate::weave::{Owner, Placed};

use super::{Candidate, Proposal};

impl Proposal {
    /// Takes it that hunk `hunk` belongs at line `line` (0-based) of the target, one of its
    /// [candidates](Proposal::candidates): somebody looked there, or names it. Whether its change is
    /// in the target is as the lines there say; where they fit both ways, `is_in` says which is
    /// meant, and `None` takes the likelier. A hunk whose place is known has only that.
    ///
    /// # Errors
    ///
    /// Why the hunk has no such place; then nothing has changed.
    pub fn place_at(
        &mut self,
        hunk: usize,
        line: usize,
        is_in: Option<bool>,
    ) -> Result<(), NotPlaced> {
        let candidates = self.candidates(hunk);
        let is_meant = |place: &&Candidate| {
            place.line == line && is_in.is_none_or(|is_in| place.is_in == is_in)
        };
        let Some(&place) = candidates.iter().find(is_meant) else {
            return Err(self.no_such_place(hunk, &candidates));
        };
        if self.bare.is_none() || self.offsets[hunk].is_ok() {
            self.vouch(hunk);
            return Ok(());
        }
        let lines = place.line..place.line + self.run_len(hunk, &place);
        if let Some(owner) = self.weave.owner_of(lines) {
            let is_above = |group: &Group| match owner {
                Owner::Atom(atom) => group.edits.end <= atom,
                Owner::Original(line) => group.before.end <= line,
            };
            let other = self.groups.partition_point(is_above);
            return Err(NotPlaced::Overlaps { other });
        }
        self.toggle_last_end(place.is_toggled);
        self.weave.lay_in(&self.run_at(hunk, &place), place.is_in);
        self.fuzz[hunk] = place.fuzz;
        let offset = self.offset_from(hunk, &place, self.expected(hunk));
        self.offsets[hunk] = Ok(offset - self.shift(hunk));
        Ok(())
    }

    fn no_such_place(&self, hunk: usize, candidates: &[Candidate]) -> NotPlaced {
        let mut lines: Vec<usize> = candidates.iter().map(|place| place.line).collect();
        lines.sort_unstable();
        match self.reason(hunk) {
            Some(reason) if !reason.is_ambiguous() => reason,
            _ => NotPlaced::NotThere { candidates: lines },
        }
    }

    /// Returns the lines that `hunk` takes at `place`: context lines that were ignored are the
    /// target's own, and stay as they are.
    pub(super) fn run_at(&self, hunk: usize, place: &Candidate) -> Placed {
        let group = self.groups[hunk].clone();
        let (head, tail) = self.cut(hunk, place.fuzz);
        Placed {
            line: place.line,
            before: group.before.start + head..group.before.end - tail,
            atoms: group.edits,
        }
    }

    /// Returns how many lines that is in the target.
    pub(super) fn run_len(&self, hunk: usize, place: &Candidate) -> usize {
        let (head, tail) = self.cut(hunk, place.fuzz);
        self.run(hunk, place.is_in).len() - head - tail
    }

    /// Notes, if `is_other`, that the last line of the diff, which broke off in it, ends otherwise
    /// than was taken for granted.
    pub(super) fn toggle_last_end(&mut self, is_other: bool) {
        if let Some(bare) = self.bare.as_mut().filter(|_| is_other) {
            bare.is_toggled = !bare.is_toggled;
            self.weave.toggle_last_terminator();
        }
    }

    /// Moves the places that are told of hunks without a certain one, now that `n_now` lines stand
    /// where `n_removed` from line `line` of the target on did.
    ///
    /// Only hunks of a bare diff have such places. Emacs tells of each edit of a command by itself,
    /// so that this must not look at all hunks for nothing.
    pub(super) fn move_candidates(&mut self, line: usize, n_removed: usize, n_now: usize) {
        let moved = locate::offset(n_removed, n_now);
        if self.bare.is_none() || moved == 0 {
            return;
        }
        let reasons = self
            .offsets
            .iter_mut()
            .filter_map(|offset| offset.as_mut().err());
        for candidates in reasons.filter_map(NotPlaced::candidates_mut) {
            for candidate in candidates.iter_mut().filter(|at| line + n_removed <= **at) {
                *candidate = candidate.saturating_add_signed(moved);
            }
        }
    }

    /// Moves them as the flip of `atoms`, in order, does.
    pub(super) fn move_candidates_for(&mut self, atoms: &[usize]) {
        if self.bare.is_none() {
            return; // No need to know where the atoms are.
        }
        // From the last to the first, so that none moves the line of one that follows.
        for &atom in atoms.iter().rev() {
            let sides = &self.weave.atoms()[atom];
            let (was, now) = (sides.alive_side().len(), sides.other_side().len());
            if let Some(line) = self.weave.line_of(atom) {
                self.move_candidates(line, was, now);
            }
        }
    }
}
