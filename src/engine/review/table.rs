//! The state machine of one hunk: a table of mark, fact and command, and of whether the change was
//! written before it was reviewed.

use thiserror::Error;

use crate::patch::locate::NotPlaced;
use crate::proposal::Obstacle;
use crate::weave::FlipError;

/// The state of a hunk that the user sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mark {
    /// Not decided.
    Pending,
    /// Accepted.
    Applied,
    /// Rejected.
    Rejected,
}

/// Whether a hunk's change is in the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fact {
    /// The target has the lines of the original.
    Out,
    /// The target has the lines of the proposal.
    In,
    /// The target has the lines of the proposal for some of the hunk's changes.
    Mixed,
}

/// Whether a change is reviewed before or after it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Stage {
    /// Before: accepting a hunk writes it.
    #[default]
    Proposed,
    /// After: what is not decided is in the target, and rejecting a hunk takes it out.
    Written,
}

impl Stage {
    /// Returns whether the change of a hunk that gets `mark` by a flip is in the target then.
    pub(crate) fn is_in(self, mark: Mark) -> bool {
        match self {
            Stage::Proposed => mark == Mark::Applied,
            Stage::Written => mark != Mark::Rejected,
        }
    }

    /// Returns whether a decision between these two marks wrote nothing, so that undoing it must not
    /// either: what is otherwise in the target by then, others have done.
    pub(crate) fn only_marks(self, one: Mark, other: Mark) -> bool {
        self == Stage::Written && one != other && ![one, other].contains(&Mark::Rejected)
    }
}

/// A command of the user on one hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Command {
    /// Put the change into the target.
    Accept,
    /// Decline the change; the target stays as it is, unless the change was written before.
    Reject,
    /// Accept the hunk; if it is marked applied, make it pending and leave the target alone.
    Toggle,
    /// Take the change out of the target; if it was written before the review, make it pending, and
    /// put it back if it is not in the target, unless the user has kept it.
    Unapply,
}

/// What a command did besides setting the mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Note {
    /// The target changes.
    Edited,
    /// Only the mark changes.
    Marked,
    /// Nothing changes: the hunk has that mark already.
    Unchanged,
    /// The change is in the target already; only the mark changes.
    AlreadyIn,
    /// The change stays in the target, although the mark no longer says so.
    StaysIn,
    /// The change is no longer in the target; only the mark changes.
    AlreadyOut,
}

/// What a command does to one hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// The mark that the hunk gets.
    pub mark: Mark,
    /// Whether its atoms are flipped in the target.
    pub is_flip: bool,
    /// What to tell the user.
    pub note: Note,
}

/// Why a command cannot be carried out. Mark and fact stay as they were.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    /// There is no such hunk.
    #[error("there is no hunk {}; the review has {n_hunks}", hunk + 1)]
    NoSuchHunk {
        /// The requested index (0-based).
        hunk: usize,
        /// Number of hunks in the review.
        n_hunks: usize,
    },
    /// The hunk has fewer changed lines than that, or no line is chosen.
    #[error("these lines are not among the changed lines of the hunk")]
    NoSuchLines,
    /// The user's text for the hunk equals the lines without the hunk's change.
    #[error("with this text the hunk would change nothing; reject it instead")]
    ChangesNothing,
    /// The hunk to unapply is not in the target.
    #[error("its change is not in the file, so there is nothing to take out")]
    NotIn,
    /// The hunk to keep was written before the review, and is not in the target any more.
    #[error("it is not in the file any more")]
    Gone,
    /// Only some of the lines of the hunk to keep are in the target any more.
    #[error("only a part of it is in the file now")]
    Partly,
    /// The hunk has no place in the target.
    #[error(transparent)]
    NotPlaced(#[from] NotPlaced),
    /// There is no decision to undo, or none to redo.
    #[error("there is nothing to undo")]
    NothingToTakeBack,
    /// The parts of a hunk cannot become one again: one was edited, is in a place of its own, or
    /// is in the target without the others.
    #[error("the parts of this hunk cannot be joined any more, so they stay")]
    Apart,
    /// Only a part of the hunk was in the target before the decision to undo or redo, and the hunk
    /// was cut elsewhere since.
    #[error("which of its lines were in the file is no longer known")]
    PartsUnknown,
    /// The hunk's lines cannot be changed now.
    #[error(transparent)]
    Flip(#[from] FlipError),
}

/// Returns what `command` does to a hunk with this mark and fact.
///
/// # Errors
///
/// [`Refusal::NotIn`] if there is nothing to unapply, [`Refusal::Gone`] or [`Refusal::Partly`] if what
/// was written is not there to be kept.
pub fn step(stage: Stage, mark: Mark, fact: Fact, command: Command) -> Result<Step, Refusal> {
    match stage {
        Stage::Proposed => step_before(mark, fact, command),
        Stage::Written => step_after(mark, fact, command),
    }
}

/// Returns what `command` does to a hunk that is written when it is accepted.
fn step_before(mark: Mark, fact: Fact, command: Command) -> Result<Step, Refusal> {
    use Command::*;
    use Fact::*;
    use Mark::*;
    match (mark, fact, command) {
        (Pending, Out, Accept | Toggle) => to(Applied, true, Note::Edited),
        (Pending, Out, Reject) => to(Rejected, false, Note::Marked),
        (Pending, Out, Unapply) => Err(Refusal::NotIn),

        (Pending, In, Accept | Toggle) => to(Applied, false, Note::AlreadyIn),
        (Pending, In, Reject) => to(Rejected, false, Note::StaysIn),
        (Pending, In, Unapply) => to(Pending, true, Note::Edited),

        (Applied, Out, Accept) => to(Applied, true, Note::Edited),
        (Applied, Out, Reject) => to(Rejected, false, Note::Marked),
        (Applied, Out, Toggle) => to(Pending, false, Note::Marked),
        (Applied, Out, Unapply) => to(Pending, false, Note::AlreadyOut),

        (Applied, In, Accept) => to(Applied, false, Note::Unchanged),
        (Applied, In, Reject) => to(Rejected, false, Note::StaysIn),
        (Applied, In, Toggle) => to(Pending, false, Note::StaysIn),
        (Applied, In, Unapply) => to(Pending, true, Note::Edited),

        (Rejected, Out, Accept | Toggle) => to(Applied, true, Note::Edited),
        (Rejected, Out, Reject) => to(Rejected, false, Note::Unchanged),
        (Rejected, Out, Unapply) => Err(Refusal::NotIn),

        (Rejected, In, Accept | Toggle) => to(Applied, false, Note::AlreadyIn),
        (Rejected, In, Reject) => to(Rejected, false, Note::StaysIn),
        (Rejected, In, Unapply) => to(Pending, true, Note::Edited),

        (Pending | Applied | Rejected, Mixed, Accept | Toggle) => to(Applied, true, Note::Edited),
        (Pending | Applied | Rejected, Mixed, Reject) => to(Rejected, false, Note::StaysIn),
        (Pending | Applied | Rejected, Mixed, Unapply) => to(Pending, true, Note::Edited),
    }
}

/// Returns what `command` does to a hunk that was written before the review. Keeping writes nothing but
/// what the user has taken out: others may have withdrawn the rest, or moved it elsewhere.
fn step_after(mark: Mark, fact: Fact, command: Command) -> Result<Step, Refusal> {
    use Command::*;
    use Fact::*;
    use Mark::*;
    match (mark, fact, command) {
        (Applied, In, Accept) => to(Applied, false, Note::Unchanged),
        (Applied, In | Mixed, Toggle | Unapply) => to(Pending, false, Note::Marked),
        (Pending | Rejected, In, Accept | Toggle) => to(Applied, false, Note::Marked),
        (Pending | Applied | Rejected, In | Mixed, Reject) => to(Rejected, true, Note::Edited),
        (Pending, In | Mixed, Unapply) => to(Pending, false, Note::Unchanged),
        (Rejected, In | Mixed, Unapply) => to(Pending, false, Note::Marked),

        (Pending | Applied | Rejected, Mixed, Accept) => Err(Refusal::Partly),
        (Pending | Rejected, Mixed, Toggle) => Err(Refusal::Partly),

        (Pending | Applied, Out, Accept) | (Pending, Out, Toggle) => Err(Refusal::Gone),
        (Rejected, Out, Accept | Toggle) => to(Applied, true, Note::Edited),
        (Pending | Applied, Out, Reject) => to(Rejected, false, Note::AlreadyOut),
        (Rejected, Out, Reject) => to(Rejected, false, Note::Unchanged),
        (Applied, Out, Toggle | Unapply) => to(Pending, false, Note::AlreadyOut),
        (Pending | Rejected, Out, Unapply) => to(Pending, true, Note::Edited),
    }
}

fn to(mark: Mark, is_flip: bool, note: Note) -> Result<Step, Refusal> {
    Ok(Step {
        mark,
        is_flip,
        note,
    })
}

pub(super) fn marked(mark: Mark, note: Note) -> Step {
    Step {
        mark,
        is_flip: false,
        note,
    }
}

impl From<Obstacle> for Refusal {
    fn from(obstacle: Obstacle) -> Refusal {
        match obstacle {
            Obstacle::NotPlaced(reason) => reason.into(),
            Obstacle::Flip(conflict) => conflict.into(),
        }
    }
}
