//! The values that a weave takes and returns: atoms, edits, runs, stretches, and errors.

use std::ops::Range;

use thiserror::Error;

use crate::text::Text;

/// A maximal run of changed lines: the smallest thing that is applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Atom {
    /// Lines of the original that the atom removes.
    pub old: Range<usize>,
    /// Lines of the modified text that the atom adds.
    pub new: Range<usize>,
    /// Whether the target holds the new lines instead of the old ones.
    pub is_applied: bool,
    /// Whether the user edited it.
    pub is_edited: bool,
}

impl Atom {
    /// Returns the atom's lines that the target holds: those of the modified text if it is applied,
    /// otherwise those of the original.
    pub(crate) fn alive_side(&self) -> &Range<usize> {
        if self.is_applied {
            &self.new
        } else {
            &self.old
        }
    }

    /// Returns the atom's lines that the target holds once the atom is flipped.
    pub(crate) fn other_side(&self) -> &Range<usize> {
        if self.is_applied {
            &self.old
        } else {
            &self.new
        }
    }

    /// Returns the number of lines that it removes plus that of lines that it adds.
    pub(crate) fn n_lines(&self) -> usize {
        self.old.len() + self.new.len()
    }
}

/// A change of the target: `text` replaces the lines `line..line + n_removed`.
///
/// Line numbers are 0-based and refer to the target before any edit of the same list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineEdit {
    /// First line of the target that changes.
    pub line: usize,
    /// Number of lines that are removed.
    pub n_removed: usize,
    /// The lines that replace them, with terminators.
    pub text: Vec<u8>,
}

/// A run of lines of the original, with the atoms in it, and its place in the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Placed {
    /// First line of the run in the target (0-based).
    pub line: usize,
    /// Lines of the original that the run spans.
    pub before: Range<usize>,
    /// Indices of the atoms inside `before`.
    pub atoms: Range<usize>,
}

/// The lines of the target in place of a stretch of the original.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// The first of these lines (0-based).
    pub line: usize,
    /// The lines.
    pub live: Text,
    /// Whether they are just what the original and the atoms say: no outside edit changed them.
    pub is_untouched: bool,
}

/// Who owns a line of the target, or next to whose lines it was typed.
pub(crate) enum Owner {
    /// The atom with this index.
    Atom(usize),
    /// The hunk whose context includes this line of the original.
    Original(usize),
}

/// Why atoms cannot be flipped. Lines are those of the target, 0-based.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FlipError {
    /// A line without newline would be followed by another line, and the two would become one.
    #[error("a line without newline would no longer be the last one; decide the neighbor first")]
    Glued,
    /// Lines that the atom would replace were changed from outside, or others were inserted among
    /// them.
    #[error("its lines have been changed since, at line {}", line + 1)]
    ChangedByUser {
        /// Where the atom's lines are or were.
        line: usize,
    },
    /// Lines were inserted from outside at the very point where the atom's lines belong.
    #[error("other lines were inserted where it belongs, at line {}", line + 1)]
    InsertionPointTouched {
        /// Where the atom's lines would be.
        line: usize,
    },
    /// The line before the point where the atom's lines belong was deleted, and the line after it,
    /// too.
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
    /// Returns the same error with the line number `line`.
    pub(super) fn at(self, line: usize) -> FlipError {
        match self {
            FlipError::ChangedByUser { .. } => FlipError::ChangedByUser { line },
            FlipError::InsertionPointTouched { .. } => FlipError::InsertionPointTouched { line },
            FlipError::NeighborsGone { .. } => FlipError::NeighborsGone { line },
            FlipError::Glued | FlipError::NoPlace => self,
        }
    }
}
