//! The atoms, and which segments they make alive.

use std::ops::{Deref, Range};

use crate::weave::Atom;
use crate::weave::segment::{Kind, Segment};

/// The atoms in the order of the original. Only [`Segments`](super::Segments) changes them.
#[derive(Debug, Clone)]
pub(super) struct Atoms(Vec<Atom>);

impl Deref for Atoms {
    type Target = [Atom];

    fn deref(&self) -> &[Atom] {
        &self.0
    }
}

impl Atoms {
    pub fn new(atoms: Vec<Atom>) -> Atoms {
        Atoms(atoms)
    }

    /// Returns whether the segment is in the target.
    pub fn is_alive(&self, segment: &Segment) -> bool {
        !segment.is_dead && self.is_chosen(segment)
    }

    /// Returns whether the segment is in the target unless it was deleted from outside.
    pub fn is_chosen(&self, segment: &Segment) -> bool {
        match segment.kind() {
            Kind::Common | Kind::User => true,
            Kind::Old(atom) => !self[atom].is_applied,
            Kind::New(atom) => self[atom].is_applied,
        }
    }

    /// Returns those of `segments` that are in the target.
    pub fn alive<'a>(&'a self, segments: &'a [Segment]) -> impl Iterator<Item = &'a Segment> {
        segments.iter().filter(|segment| self.is_alive(segment))
    }

    /// Returns how many lines `segments` have in the target.
    pub fn n_alive(&self, segments: &[Segment]) -> usize {
        self.alive(segments).map(Segment::len).sum()
    }

    pub fn flip(&mut self, atom: usize) {
        self.0[atom].is_applied ^= true;
    }

    pub fn set_applied(&mut self, atom: usize, is_applied: bool) {
        self.0[atom].is_applied = is_applied;
    }

    pub fn set_edited(&mut self, atom: usize, is_edited: bool) {
        self.0[atom].is_edited = is_edited;
    }

    /// Replaces the atoms in `range` by `atoms`.
    pub fn splice(&mut self, range: Range<usize>, atoms: impl IntoIterator<Item = Atom>) {
        self.0.splice(range, atoms);
    }

    /// Renumbers the lines of the atoms from `first` on: `old` changes ranges of lines of the
    /// original, `new` those of the modified text.
    pub fn move_lines(
        &mut self,
        first: usize,
        old: impl Fn(&mut Range<usize>),
        new: impl Fn(&mut Range<usize>),
    ) {
        for atom in &mut self.0[first..] {
            old(&mut atom.old);
            new(&mut atom.new);
        }
    }
}
