//! Planning: computes what a command would do, as a value.

use crate::patch::locate::Place;
use crate::proposal::{Obstacle, Rewrite};
use crate::weave::LineEdit;

use super::table::marked;
use super::{Command, Fact, Mark, Note, Refusal, Review, Role, Stage, Step, step};

/// What a command would do: the edits to make, and the state once they are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Edits of the target in the order of their lines.
    pub edits: Vec<LineEdit>,
    /// The step of each affected hunk, with the hunk's index.
    pub steps: Vec<(usize, Step)>,
    /// The hunks to apply or unapply, in order; `true` means apply.
    pub flips: Vec<(usize, bool)>,
    /// Atoms to flip besides, in order, of hunks that were partly in the target.
    pub atoms: Vec<usize>,
    /// The user's new lines for a hunk, if it is to be rewritten.
    pub rewrite: Option<Rewrite>,
    /// The plan's role in the history of decisions.
    pub(crate) role: Role,
}

impl Plan {
    pub(super) fn new(
        flips: Vec<(usize, bool)>,
        edits: Vec<LineEdit>,
        steps: Vec<(usize, Step)>,
    ) -> Plan {
        Plan {
            flips,
            edits,
            steps,
            atoms: Vec::new(),
            rewrite: None,
            role: Role::Decision,
        }
    }

    fn rewriting(mut self, rewrite: Option<Rewrite>) -> Plan {
        self.rewrite = rewrite;
        self
    }
}

impl Review {
    /// Returns the hunks that the `steps` of a decision apply or unapply; `true` means apply.
    fn flips(&self, steps: &[(usize, Step)]) -> Vec<(usize, bool)> {
        let flips = steps.iter().filter(|(_, step)| step.is_flip);
        flips
            .map(|&(hunk, step)| (hunk, self.stage.is_in(step.mark)))
            .collect()
    }

    /// Plans `command` on hunk `hunk`.
    ///
    /// # Errors
    ///
    /// [`Refusal`] says why that is not possible.
    pub fn plan(&self, hunk: usize, command: Command) -> Result<Plan, Refusal> {
        self.check_hunk(hunk)?;
        let steps = vec![(hunk, self.checked_step(hunk, command)?)];
        let flips = self.flips(&steps);
        let edits = self.proposal.edits_for(&flips)?;
        Ok(Plan::new(flips, edits, steps))
    }

    /// Plans `command` on hunk `hunk`, whose place is ambiguous, at the weave's place for it, which
    /// the user has confirmed. From then on the place is certain.
    ///
    /// # Errors
    ///
    /// As for [`Review::plan`].
    pub fn plan_vouched(&mut self, hunk: usize, command: Command) -> Result<Plan, Refusal> {
        self.check_hunk(hunk)?;
        self.proposal.vouch(hunk);
        self.plan(hunk, command)
    }

    /// Plans `command` on hunk `hunk` at line `line` (0-based) of the target, one of its
    /// [candidates](crate::proposal::Proposal::candidates), which the user checked or a program
    /// named. From then on that place is certain.
    ///
    /// The lines there decide whether the hunk's change is in the target. If they fit both with and
    /// without it, `is_in` says which is meant, and `None` means the likelier. A hunk with a known
    /// place has no other.
    ///
    /// # Errors
    ///
    /// [`Refusal::NotPlaced`] if it has no such place, or as for [`Review::plan`].
    pub fn plan_at(
        &mut self,
        hunk: usize,
        (line, is_in): (usize, Option<bool>),
        command: Command,
    ) -> Result<Plan, Refusal> {
        self.check_hunk(hunk)?;
        self.proposal.place_at(hunk, line, is_in)?;
        self.plan(hunk, command)
    }

    /// Plans that hunk `hunk` leaves the lines `text` instead of the proposed ones. If its change
    /// is in the target, the new lines replace it there; otherwise the hunk becomes pending. If the
    /// hunk leaves these lines already, nothing changes.
    ///
    /// # Errors
    ///
    /// [`Refusal`] says why that is not possible.
    pub fn plan_edit(&self, hunk: usize, text: &[u8]) -> Result<Plan, Refusal> {
        self.check_hunk(hunk)?;
        if text == self.proposal.proposed(hunk) {
            let step = marked(self.marks[hunk], Note::Unchanged);
            return Ok(Plan::new(Vec::new(), Vec::new(), vec![(hunk, step)]));
        }
        let (mark, note) = match self.fact(hunk) {
            Fact::Out => (Mark::Pending, Note::Marked),
            Fact::In | Fact::Mixed => (self.marks[hunk], Note::Edited),
        };
        let change = self.proposal.edited(hunk, text)?;
        let (edits, rewrite) = change.ok_or(Refusal::ChangesNothing)?;
        let steps = vec![(hunk, marked(mark, note))];
        Ok(Plan::new(Vec::new(), edits, steps).rewriting(Some(rewrite)))
    }

    /// Plans that `text`, the user's version of [`Review::merge`], replaces the current lines in
    /// the place of hunk `hunk`, which is applied then. If these lines are `text` already, a hunk
    /// that was out is rejected, and one that was in is rewritten to what others have made of it.
    ///
    /// # Errors
    ///
    /// [`Refusal`] says why it has no place.
    pub fn plan_merge(&self, hunk: usize, text: &[u8]) -> Result<Plan, Refusal> {
        self.check_hunk(hunk)?;
        let (step, edits, rewrite) = match self.proposal.merged(hunk, text)? {
            None => {
                let (mark, note, rewrite) = self.settled(hunk)?;
                (marked(mark, note), Vec::new(), rewrite)
            }
            Some((edits, rewrite)) => (marked(Mark::Applied, Note::Edited), edits, Some(rewrite)),
        };
        let steps = vec![(hunk, step)];
        Ok(Plan::new(Vec::new(), edits, steps).rewriting(rewrite))
    }

    /// Returns the new state of hunk `hunk` if the current lines in its place are to stay. If it
    /// was in the target and others changed its lines, that does not mean that it is rejected.
    fn settled(&self, hunk: usize) -> Result<(Mark, Note, Option<Rewrite>), Refusal> {
        if self.fact(hunk) == Fact::Out {
            return Ok((Mark::Rejected, Note::Marked, None));
        }
        if self.proposal.is_as_proposed(hunk)? {
            return Ok((Mark::Applied, Note::AlreadyIn, None));
        }
        Ok(match self.proposal.kept(hunk)? {
            Some(rewrite) => (Mark::Applied, Note::AlreadyIn, Some(rewrite)),
            None => (Mark::Rejected, Note::Marked, None),
        })
    }

    /// Returns whether `command` is for hunk `hunk` when it is for all hunks: accepting and rejecting are
    /// for those that are pending; unapplying is for those that are wholly or partly in the target, or,
    /// if they were written before, for those that are decided.
    pub fn is_for(&self, command: Command, hunk: usize) -> bool {
        match (command, self.stage) {
            (Command::Unapply, Stage::Proposed) => self.fact(hunk) != Fact::Out,
            (Command::Unapply, Stage::Written) => self.marks[hunk] != Mark::Pending,
            _ => self.marks[hunk] == Mark::Pending,
        }
    }

    /// Plans `command` on each hunk for which `is_meant` holds, whatever was decided of it, as one plan.
    /// Also returns the hunks on which the command is not possible, each with the reason.
    pub fn plan_each(
        &self,
        command: Command,
        is_meant: impl Fn(usize) -> bool,
    ) -> (Plan, Vec<(usize, Refusal)>) {
        let (mut steps, mut refused) = (Vec::new(), Vec::new());
        for hunk in (0..self.marks.len()).filter(|&hunk| is_meant(hunk)) {
            match self.checked_step(hunk, command) {
                Ok(step) => steps.push((hunk, step)),
                Err(refusal) => refused.push((hunk, refusal)),
            }
        }
        let edits = |steps: &[_]| self.proposal.edits_for(&self.flips(steps));
        // Only a hunk at the end of the text, so one of the last, can leave a line without newline in
        // the middle; the others may be possible without it.
        let (mut planned, mut left) = (edits(&steps), Vec::new());
        while let Err(error) = &planned
            && let Some(step) = steps.pop()
        {
            left.push((step, error.clone()));
            planned = edits(&steps);
        }
        let mut at = left.len();
        while at > 0 {
            at -= 1;
            steps.push(left[at].0);
            match edits(&steps) {
                Ok(more) => {
                    planned = Ok(more);
                    left.remove(at);
                    at = left.len();
                }
                Err(_) => _ = steps.pop(),
            }
        }
        refused.extend(
            left.into_iter()
                .map(|((hunk, _), error)| (hunk, error.into())),
        );
        steps.sort_unstable_by_key(|(hunk, _)| *hunk);
        let flips = self.flips(&steps);
        (
            Plan::new(flips, planned.unwrap_or_default(), steps),
            refused,
        )
    }

    fn checked_step(&self, hunk: usize, command: Command) -> Result<Step, Refusal> {
        let step = step(self.stage, self.marks[hunk], self.fact(hunk), command)?;
        self.check(hunk, step)?;
        self.refuse_if_lost(hunk, step)?;
        Ok(step)
    }

    pub(super) fn check(&self, hunk: usize, step: Step) -> Result<(), Refusal> {
        if !step.is_flip {
            return Ok(());
        }
        let obstacle = self.proposal.obstacle(hunk);
        obstacle.map_or(Ok(()), |obstacle| Err(obstacle.into()))
    }

    /// Refuses to mark hunk `hunk` applied without an edit if others have changed its lines in the
    /// target.
    fn refuse_if_lost(&self, hunk: usize, step: Step) -> Result<(), Refusal> {
        if step.is_flip || step.mark != Mark::Applied || !self.proposal.is_lost(hunk) {
            return Ok(());
        }
        let obstacle = self.proposal.obstacle(hunk);
        obstacle.map_or(Ok(()), |obstacle| Err(obstacle.into()))
    }
}

// Everything to be shown of a hunk, as one value, so that a caller asks only once.

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
