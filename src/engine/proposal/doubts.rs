//! Which atoms may be somewhere else than in the weave's place.
//!
//! A missed edit is found by comparing texts, which does not always prove where a line went. Atoms
//! are known by number here, and each doubt with the time when it arose, so that it ends when the
//! edit is undone.

use std::mem;
use std::ops::Range;

/// The doubts about atoms.
#[derive(Debug, Clone)]
pub(super) struct Doubts {
    is_doubted: Vec<bool>,
    /// The atoms that each edit made doubtful, with the number of changes of the target before that
    /// edit.
    by_edit: Vec<(usize, Vec<usize>)>,
}

impl Doubts {
    /// Makes the doubts for `n_atoms` atoms, none of which is in doubt.
    pub fn none(n_atoms: usize) -> Doubts {
        Doubts {
            is_doubted: vec![false; n_atoms],
            by_edit: Vec::new(),
        }
    }

    /// Returns whether any of `atoms` is in doubt.
    pub fn is_any(&self, atoms: Range<usize>) -> bool {
        self.is_doubted[atoms].contains(&true)
    }

    /// Records that the places of `atoms` are right.
    pub fn vouch_for(&mut self, atoms: Range<usize>) {
        self.is_doubted[atoms].fill(false);
    }

    /// Puts `atoms` in doubt, and returns those that were not in doubt before.
    pub fn add(&mut self, atoms: impl Iterator<Item = usize>) -> Vec<usize> {
        let mut added: Vec<usize> = atoms.collect();
        added.retain(|&atom| !mem::replace(&mut self.is_doubted[atom], true));
        // Most of them may have been in doubt already.
        added.shrink_to_fit();
        added
    }

    /// Records that an edit put `added` in doubt. Before it there were `n_done` changes of the
    /// target, of which the first `n_forgotten` can no longer be undone.
    pub fn note_edit(&mut self, added: Vec<usize>, n_done: usize, n_forgotten: usize) {
        self.by_edit.retain(|(then, _)| *then >= n_forgotten);
        self.by_edit.push((n_done, added));
    }

    /// Forgets the doubts from edits that were undone: those after the first `n_done` changes.
    /// Returns whether there were any.
    pub fn undo(&mut self, n_done: usize) -> bool {
        let mut is_any = false;
        while let Some((_, atoms)) = self.by_edit.pop_if(|(then, _)| *then >= n_done) {
            for atom in atoms {
                self.is_doubted[atom] = false;
                is_any = true;
            }
        }
        is_any
    }

    /// Records that `atom` was cut in two.
    pub fn cut_atom(&mut self, atom: usize) {
        self.is_doubted.insert(atom, self.is_doubted[atom]);
        self.by_edit.clear();
    }

    /// Records that `n` atoms replaced `atoms`; these are in doubt if `is_doubted`.
    pub fn replace(&mut self, atoms: Range<usize>, n: usize, is_doubted: bool) {
        self.is_doubted.splice(atoms, vec![is_doubted; n]);
        self.by_edit.clear();
    }
}
