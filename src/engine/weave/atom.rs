//! What goes into a weave and comes out of it: atoms, edits, runs, stretches, and why atoms cannot
//! be flipped.

use std::ops::Range;

use thiserror::Error;

use crate::text::Text;

/// A maximal run of changed lines: the smallest thing that is applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Atom {
    /// Lines of the original that the atom removes.
    pub old: Range<usize>,
    /// Lines of the modified text that the atom adds.
    pub new: Range<usize>,
    /// Whether the target holds the new lines instead of the old ones.
    pub is_applied: bool,
    /// Whether it is what the user made of the proposal.
    pub is_edited: bool,
}

impl Atom {
    /// Returns the lines of the text that the target holds of the atom: of the modified text if it
    /// is applied, or else of the original.
    pub fn alive_side(&self) -> &Range<usize> {
        match self.is_applied {
            true => &self.new,
            false => &self.old,
        }
    }

    /// Returns the lines of the other text, which the target holds once the atom is flipped.
    pub fn other_side(&self) -> &Range<usize> {
        match self.is_applied {
            true => &self.old,
            false => &self.new,
        }
    }

    /// Returns the number of lines that it removes and adds.
    pub fn n_lines(&self) -> usize {
        self.old.len() + self.new.len()
    }
}

/// A change of the target: the lines `line..line + n_removed` give way to `text`.
///
/// Line numbers are 0-based and count the target as it is before any edit of the same list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineEdit {
    /// First line of the target that changes.
    pub line: usize,
    /// Number of lines that go.
    pub n_removed: usize,
    /// What takes their place, terminators included.
    pub text: Vec<u8>,
}

/// A run of the original, with the atoms in it, that stands somewhere in the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// First line of the run in the target (0-based).
    pub line: usize,
    /// Lines of the original that the run spans.
    pub before: Range<usize>,
    /// Indices of the atoms inside `before`.
    pub atoms: Range<usize>,
}

/// What stands in the target in a stretch of the original.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    /// The first line of the target in it (0-based).
    pub line: usize,
    /// Its lines, as they are in the target.
    pub live: Text,
    /// Whether all of it is as the original and its atoms say: nobody else had a hand in it.
    pub is_untouched: bool,
}

/// Who owns a line of the target, or what it was typed beside.
pub(crate) enum Owner {
    /// This atom.
    Atom(usize),
    /// The hunk in whose context this line of the original is.
    Original(usize),
}

/// Why atoms cannot be flipped. Lines are those of the target, 0-based.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FlipError {
    /// A line without newline would be followed by another one and be glued to it.
    #[error("a line without newline would no longer be the last one; decide the neighbor first")]
    Glued,
    /// Lines that the atom would replace were changed from outside, or others stand among them.
    #[error("its lines were changed since, at line {}", line + 1)]
    ChangedByUser {
        /// Where the atom's lines are or were.
        line: usize,
    },
    /// Lines were put from outside at the very point where the atom's lines belong.
    #[error("other lines were put where it belongs, at line {}", line + 1)]
    InsertionPointTouched {
        /// Where the atom's lines would be.
        line: usize,
    },
    /// The lines before and after the point where the atom's lines belong were both deleted.
    #[error("the lines around its place were deleted, at line {}", line + 1)]
    NeighborsGone {
        /// Where the atom's lines would be.
        line: usize,
    },
    /// The atom has no place in the target.
    #[error("it has no place in the file")]
    NoPlace,
}

impl FlipError {
    /// Returns the error, but about line `line`.
    pub(super) fn at(self, line: usize) -> FlipError {
        match self {
            FlipError::ChangedByUser { .. } => FlipError::ChangedByUser { line },
            FlipError::InsertionPointTouched { .. } => FlipError::InsertionPointTouched { line },
            FlipError::NeighborsGone { .. } => FlipError::NeighborsGone { line },
            FlipError::Glued | FlipError::NoPlace => self,
        }
    }
}
