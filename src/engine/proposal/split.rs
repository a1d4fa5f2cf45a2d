//! Splitting a hunk into its smallest parts, or at lines that the user chooses.
//!
//! A hunk is a group of atoms that are shown together, so splitting it regroups them and moves
//! nothing: every place stays the same. Half of the unchanged lines between two parts go to the
//! part above and half to the one below, so that no line is shown twice. An atom can also be cut;
//! its lines keep their order, which is that of the diff.

use std::ops::Range;

use crate::diff::Group;
use crate::weave::{Atom, FlipError};

use super::{Bare, Proposal};

impl Proposal {
    /// Splits hunk `hunk` into its smallest parts, and returns their number; see `Review::split`.
    pub(crate) fn split(&mut self, hunk: usize) -> usize {
        let Range { start, end } = self.hunks.atoms(hunk);
        let atoms = self.weave.atoms();
        // Lines and what replaces them are one part: half of a replacement is rarely meant. They
        // are several atoms in a diff that adds first, and where lines were picked once.
        let is_first = |atom: &usize| atoms[atom - 1].old.end < atoms[*atom].old.start;
        let firsts: Vec<usize> = std::iter::once(start)
            .chain((start + 1..end).filter(is_first))
            .collect();
        if firsts.len() == 1 {
            return 1;
        }
        self.regroup(hunk, &firsts);
        firsts.len()
    }

    /// Makes a separate hunk of the changed lines `lines` of hunk `hunk`; see `Review::pick`.
    /// Panics if it does not have these lines, or if none is chosen.
    ///
    /// # Errors
    ///
    /// A [`FlipError`] if an atom would have to be cut that has no place, or whose lines others
    /// have changed. Then nothing has changed.
    pub(crate) fn pick(
        &mut self,
        hunk: usize,
        lines: Range<usize>,
    ) -> Result<(usize, usize), FlipError> {
        assert!(!lines.is_empty());
        for line in [lines.start, lines.end] {
            if let (atom, 1..) = self.lines_of(hunk).cut_point(line) {
                self.weave.check(atom)?;
            }
        }
        // The later cut comes first, since it does not move the earlier one.
        let (behind, n_lines) = self.lines_of(hunk).cut_point(lines.end);
        let behind = self.cut_atom(behind, n_lines);
        let n_atoms = self.weave.atoms().len();
        let (picked, n_lines) = self.lines_of(hunk).cut_point(lines.start);
        let picked = self.cut_atom(picked, n_lines);
        let behind = behind + self.weave.atoms().len() - n_atoms;
        let Range { start, end } = self.hunks.atoms(hunk);
        let mut firsts = vec![start, picked, behind];
        firsts.dedup();
        firsts.retain(|&first| first < end);
        self.regroup(hunk, &firsts);
        Ok((firsts.len(), usize::from(picked > start)))
    }

    /// Returns for each of the `n` hunks from `hunk` on, but the first, how many changed lines the
    /// ones before it have.
    pub(crate) fn cuts(&self, hunk: usize, n: usize) -> Vec<usize> {
        let lens = (hunk..hunk + n - 1).map(|hunk| self.n_changed_lines(hunk));
        let cuts = lens.scan(0, |n_lines, len| {
            *n_lines += len;
            Some(*n_lines)
        });
        cuts.collect()
    }

    /// Returns whether the `n` hunks from `hunk` on can become one again. Those of a bare diff
    /// cannot if they are in places that do not belong together.
    pub(crate) fn can_join(&self, hunk: usize, n: usize) -> bool {
        self.bare.as_ref().is_none_or(|bare| bare.can_join(hunk, n))
    }

    /// Makes one hunk of the `n` hunks from `hunk` on, which are the parts of one. Atoms that were
    /// cut stay cut, which changes neither places nor the order of lines.
    pub(crate) fn join(&mut self, hunk: usize, n: usize) {
        self.hunks.join(hunk, n);
        let Range { start, end } = self.hunks.atoms(hunk);
        let atoms = self.weave.atoms();
        let borders = |above: usize| atoms[above].old.end == atoms[above + 1].old.start;
        let is_cut = (start > 0 && borders(start - 1)) || (end < atoms.len() && borders(end - 1));
        if let Some(bare) = &mut self.bare {
            bare.join(hunk, n, is_cut);
        }
    }

    /// Splits hunk `hunk` again where [`Proposal::cuts`] says.
    ///
    /// # Errors
    ///
    /// As for [`Proposal::pick`].
    pub(crate) fn cut_again(&mut self, hunk: usize, cuts: &[usize]) -> Result<(), FlipError> {
        for &line in cuts {
            if let (atom, 1..) = self.lines_of(hunk).cut_point(line) {
                self.weave.check(atom)?;
            }
        }
        let mut firsts = Vec::with_capacity(cuts.len() + 1);
        // From the last cut to the first, since a cut moves the atoms below.
        for &line in cuts.iter().rev() {
            let (atom, n_lines) = self.lines_of(hunk).cut_point(line);
            let n_atoms = self.weave.atoms().len();
            let first = self.cut_atom(atom, n_lines);
            let n_new = self.weave.atoms().len() - n_atoms;
            firsts.iter_mut().for_each(|other| *other += n_new);
            firsts.push(first);
        }
        firsts.push(self.hunks.atoms(hunk).start);
        firsts.reverse();
        self.regroup(hunk, &firsts);
        Ok(())
    }

    /// Returns the number of lines that hunk `hunk` removes plus that of lines that it adds.
    pub fn n_changed_lines(&self, hunk: usize) -> usize {
        self.lines_of(hunk).n_changed()
    }

    /// Cuts `atom` after its first `n_lines` changed lines, and returns the atom that then begins
    /// there; if `n_lines` is 0, cuts nothing and returns `atom` itself.
    fn cut_atom(&mut self, atom: usize, n_lines: usize) -> usize {
        if n_lines == 0 {
            return atom;
        }
        self.weave.cut(atom, n_lines);
        self.doubts.cut_atom(atom);
        self.hunks.cut_atom(atom);
        atom + 1
    }

    /// Splits `hunk` before each of the atoms `firsts`.
    fn regroup(&mut self, hunk: usize, firsts: &[usize]) {
        let parts = self.hunks.parts(self.weave.atoms(), hunk, firsts);
        let (n_parts, was_lost) = (parts.len(), self.offset(hunk).is_err());
        let is_cut = is_cut(self.weave.atoms(), &parts);
        if let Some(bare) = &mut self.bare {
            bare.split(hunk, self.hunks.group(hunk), &parts, &is_cut);
        }
        self.hunks.regroup(hunk, parts);
        let has_target = self.bare.as_ref().is_some_and(Bare::has_target);
        if was_lost && n_parts > 1 && has_target {
            let live = self.target();
            self.search(&live);
        }
    }
}

/// Returns for each of the `parts` of a hunk whether no unchanged line separates it from a
/// neighbor.
fn is_cut(atoms: &[Atom], parts: &[Group]) -> Vec<bool> {
    let is_near = |pair: &[Group]| {
        let (above, below) = (&pair[0].edits, &pair[1].edits);
        atoms[above.end - 1].old.end == atoms[below.start].old.start
    };
    let mut is_cut = vec![false; parts.len()];
    for (at, pair) in parts.windows(2).enumerate() {
        is_cut[at] |= is_near(pair);
        is_cut[at + 1] |= is_near(pair);
    }
    is_cut
}
