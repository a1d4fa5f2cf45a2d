//! Which atoms may be elsewhere than the weave has them.
//!
//! An edit that nobody told of is found by comparing texts, and a comparison does not always prove
//! where a line went. Knows atoms by their numbers, and when each doubt arose, so that it goes when
//! the edit is undone.

use std::mem;
use std::ops::Range;

/// The doubts about each atom.
#[derive(Debug, Clone)]
pub(super) struct Doubts {
    is_doubted: Vec<bool>,
    /// The atoms that edits made doubtful, each time with how much had happened to the target before.
    by_edit: Vec<(usize, Vec<usize>)>,
}

impl Doubts {
    /// There are `n_atoms` atoms, none in doubt.
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

    /// Notes that the places of `atoms` are right.
    pub fn vouch_for(&mut self, atoms: Range<usize>) {
        self.is_doubted[atoms].fill(false);
    }

    /// Doubts `atoms`, and returns those that were not in doubt before.
    pub fn add(&mut self, atoms: impl Iterator<Item = usize>) -> Vec<usize> {
        let mut added: Vec<usize> = atoms.collect();
        added.retain(|&atom| !mem::replace(&mut self.is_doubted[atom], true));
        // Most were in doubt already, perhaps.
        added.shrink_to_fit();
        added
    }

    /// Notes that `added` came by an edit before which `n_done` things had happened to the target, of
    /// which the first `n_forgotten` can no longer be undone.
    pub fn note_edit(&mut self, added: Vec<usize>, n_done: usize, n_forgotten: usize) {
        self.by_edit.retain(|(then, _)| *then >= n_forgotten);
        self.by_edit.push((n_done, added));
    }

    /// Forgets the doubts that came by edits that were undone: only `n_done` things have happened.
    pub fn undo(&mut self, n_done: usize) {
        while let Some((_, atoms)) = self.by_edit.pop_if(|(then, _)| *then >= n_done) {
            for atom in atoms {
                self.is_doubted[atom] = false;
            }
        }
    }

    /// Takes note that `atom` was cut in two.
    pub fn cut_atom(&mut self, atom: usize) {
        self.is_doubted.insert(atom, self.is_doubted[atom]);
        self.by_edit.clear();
    }

    /// Takes note that `n` atoms stand in the place of `atoms`, in doubt or not.
    pub fn replace(&mut self, atoms: Range<usize>, n: usize, is_doubted: bool) {
        self.is_doubted.splice(atoms, vec![is_doubted; n]);
        self.by_edit.clear();
    }
}
