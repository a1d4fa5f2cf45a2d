//! Everything to be shown of a hunk, as one value, so that a caller asks only once.

use crate::patch::locate::Place;
use crate::proposal::Obstacle;

use super::{Fact, Mark, Review};

/// Where a hunk is in the target, as shown to the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Position {
    /// Where it was expected.
    Expected,
    /// That many lines below the expected place; above it if negative.
    Shifted(isize),
    /// Next to lines that somebody else has edited, at the expected place or not.
    NextToEdit,
    /// At one of several places, or at one that is not certain.
    Ambiguous,
    /// Nowhere: its lines are not in the target, or others have changed them there.
    Conflict,
    /// No longer anywhere: it was in the target, and others have changed its lines since.
    Lost,
}

/// The state of a hunk at one moment of a review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The index of the hunk.
    pub hunk: usize,
    /// A number that the hunk keeps as long as it has the same lines, even if its index changes.
    pub id: usize,
    /// The state that the user sees.
    pub mark: Mark,
    /// Whether its change is in the target.
    pub fact: Fact,
    /// Why it cannot be applied or unapplied, as a message for the user; `None` if it can.
    pub reason: Option<String>,
    /// Where it is in the target.
    pub position: Position,
    /// Line of the target (0-based) at which its first change is or would be, however doubtful.
    pub line: Option<usize>,
    /// How many lines below the expected place it is; `None` if its place is unknown.
    pub offset: Option<isize>,
    /// Number of outer context lines on each side that were ignored to find it.
    pub fuzz: usize,
    /// Lines of the target (0-based, in order) among which the user must choose, if any.
    pub places: Vec<usize>,
    /// Whether its whole change is in the target although no command of this review put it there:
    /// it was there before, or somebody else made the same change.
    pub was_in: bool,
    /// Whether the user edited it.
    pub is_edited: bool,
}

impl Review {
    /// Returns everything to be shown of hunk `hunk`. Panics if there is no such hunk.
    pub fn snapshot(&self, hunk: usize) -> Snapshot {
        let proposal = self.proposal();
        let obstacle = proposal.obstacle(hunk);
        let place = proposal.place(hunk).ok();
        Snapshot {
            hunk,
            id: self.id(hunk),
            mark: self.mark(hunk),
            fact: self.fact(hunk),
            position: self.position(hunk, obstacle.as_ref(), place),
            line: proposal.line(hunk),
            offset: place.map(|place| place.offset),
            fuzz: proposal.fuzz(hunk),
            places: match &obstacle {
                Some(Obstacle::NotPlaced(why)) => why.candidates().to_vec(),
                _ => Vec::new(),
            },
            reason: obstacle.map(|obstacle| obstacle.to_string()),
            was_in: self.was_in(hunk),
            is_edited: self.is_edited(hunk),
        }
    }

    fn position(&self, hunk: usize, obstacle: Option<&Obstacle>, place: Option<Place>) -> Position {
        match (obstacle, place) {
            (Some(obstacle), _) => self.hindered(hunk, obstacle),
            (None, _) if self.proposal().is_next_to_edit(hunk) => Position::NextToEdit,
            (None, Some(Place { offset, .. })) if offset != 0 => Position::Shifted(offset),
            (None, _) => Position::Expected,
        }
    }

    /// Returns the position of hunk `hunk`, which cannot be changed because of `obstacle`.
    pub(super) fn hindered(&self, hunk: usize, obstacle: &Obstacle) -> Position {
        match obstacle {
            _ if self.proposal().is_lost(hunk) => Position::Lost,
            Obstacle::NotPlaced(why) if why.is_ambiguous() => Position::Ambiguous,
            _ => Position::Conflict,
        }
    }
}
