//! Planning: what a command would do, as a value.

use crate::proposal::Rewrite;
use crate::weave::LineEdit;

use super::table::marked;
use super::{Command, Fact, Mark, Note, Refusal, Review, Role, Step, step};

/// What a command would do: the edits to make, and what is so once they are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Edits of the target in the order of their lines.
    pub edits: Vec<LineEdit>,
    /// The step for each hunk that is touched, by index.
    pub steps: Vec<(usize, Step)>,
    /// The hunks that are put in or taken out, in order, each with whether it is in then.
    pub flips: Vec<(usize, bool)>,
    /// What the user made of a hunk, if that is planned.
    pub rewrite: Option<Rewrite>,
    /// What it is to the history of decisions.
    pub role: Role,
}

impl Plan {
    pub(super) fn new(edits: Vec<LineEdit>, steps: Vec<(usize, Step)>) -> Plan {
        Plan {
            flips: flips(&steps),
            edits,
            steps,
            rewrite: None,
            role: Role::Decision,
        }
    }

    fn rewriting(mut self, rewrite: Option<Rewrite>) -> Plan {
        self.rewrite = rewrite;
        self
    }
}

/// Returns the hunks whose fact `steps` of a decision change, each with what it becomes.
fn flips(steps: &[(usize, Step)]) -> Vec<(usize, bool)> {
    let flips = steps.iter().filter(|(_, step)| step.is_flip);
    flips
        .map(|&(hunk, step)| (hunk, step.mark == Mark::Applied))
        .collect()
}

impl Review {
    /// Plans `command` on hunk `hunk`.
    ///
    /// # Errors
    ///
    /// [`Refusal`] says why the hunk cannot be changed so.
    pub fn plan(&self, hunk: usize, command: Command) -> Result<Plan, Refusal> {
        self.check_hunk(hunk)?;
        let steps = vec![(hunk, self.checked_step(hunk, command)?)];
        let edits = self.proposal.edits_for(&flips(&steps))?;
        Ok(Plan::new(edits, steps))
    }

    /// Plans `command` on hunk `hunk`, whose place is ambiguous, where the weave has it:
    /// somebody looked at that place and found it right. The hunk counts as placed from then on.
    ///
    /// # Errors
    ///
    /// As for [`Review::plan`].
    pub fn plan_vouched(&mut self, hunk: usize, command: Command) -> Result<Plan, Refusal> {
        self.check_hunk(hunk)?;
        self.proposal.vouch(hunk);
        self.plan(hunk, command)
    }

    /// Plans `command` on hunk `hunk` at line `line` (0-based) of the target, which is one of its
    /// [candidates](crate::proposal::Proposal::candidates): somebody looked there, or a program
    /// names it. `is_in` is as in [`crate::proposal::Proposal::place_at`]. The hunk counts as placed
    /// there from then on.
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

    /// Plans that hunk `hunk` shall leave the lines `text` instead of those that were proposed. It
    /// is pending then, unless its change is in the target: then so are these lines. If they are
    /// the lines that it leaves already, nothing changes.
    ///
    /// # Errors
    ///
    /// [`Refusal`] says why the hunk cannot be changed so.
    pub fn plan_edit(&self, hunk: usize, text: &[u8]) -> Result<Plan, Refusal> {
        self.check_hunk(hunk)?;
        if text == self.proposal.proposed(hunk) {
            let step = marked(self.marks[hunk], Note::Unchanged);
            return Ok(Plan::new(Vec::new(), vec![(hunk, step)]));
        }
        let (mark, note) = match self.fact(hunk) {
            Fact::Out => (Mark::Pending, Note::Marked),
            Fact::In | Fact::Mixed => (self.marks[hunk], Note::Edited),
        };
        let change = self.proposal.edited(hunk, text)?;
        let (edits, rewrite) = change.ok_or(Refusal::ChangesNothing)?;
        let steps = vec![(hunk, marked(mark, note))];
        Ok(Plan::new(edits, steps).rewriting(Some(rewrite)))
    }

    /// Plans that `text`, which the user made of [`Review::merge`], takes the place of what stands
    /// there. The hunk is applied then. If that is what stands there already, a hunk that was out
    /// is rejected, and one that was in is what others have made of it.
    ///
    /// # Errors
    ///
    /// [`Refusal`] says why there is no place for it.
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
        Ok(Plan::new(edits, steps).rewriting(rewrite))
    }

    /// Returns what becomes of hunk `hunk` if what stands in its place stays there. What others have
    /// made of a hunk that was in the target is no refusal of it.
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

    /// Plans to accept every pending hunk, as one plan; never a rejected one. Also returns those
    /// that cannot be, each with the reason.
    pub fn plan_all(&self) -> (Plan, Vec<(usize, Refusal)>) {
        self.plan_each(Command::Accept, |hunk| self.marks[hunk] == Mark::Pending)
    }

    /// Plans to take out of the target whatever of the proposal is there, as one plan. Also
    /// returns the hunks that cannot be taken out, each with the reason.
    pub fn plan_none(&self) -> (Plan, Vec<(usize, Refusal)>) {
        self.plan_each(Command::Unapply, |hunk| self.fact(hunk) != Fact::Out)
    }

    /// Plans `command` on each of the hunks that `is_meant` tells, as one plan. Also returns those
    /// on which it cannot be carried out, each with the reason.
    fn plan_each(
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
        loop {
            match self.proposal.edits_for(&flips(&steps)) {
                Ok(edits) => return (Plan::new(edits, steps), refused),
                // Only a hunk at the end of the text can leave a line without newline behind.
                Err(error) => match steps.pop() {
                    Some((hunk, _)) => refused.push((hunk, error.into())),
                    None => return (Plan::new(Vec::new(), steps), refused),
                },
            }
        }
    }

    fn checked_step(&self, hunk: usize, command: Command) -> Result<Step, Refusal> {
        let step = step(self.marks[hunk], self.fact(hunk), command)?;
        self.check(hunk, step)?;
        self.refuse_if_lost(hunk, step)?;
        Ok(step)
    }

    pub(super) fn check(&self, hunk: usize, step: Step) -> Result<(), Refusal> {
        let obstacle = self.proposal.obstacle(hunk).filter(|_| step.is_flip);
        obstacle.map_or(Ok(()), |obstacle| Err(obstacle.into()))
    }

    /// Refuses to call hunk `hunk` applied as it is if others have changed its lines in the target.
    fn refuse_if_lost(&self, hunk: usize, step: Step) -> Result<(), Refusal> {
        let calls_it_in = !step.is_flip && step.mark == Mark::Applied;
        match self.proposal.obstacle(hunk) {
            Some(obstacle) if calls_it_in && self.proposal.is_lost(hunk) => Err(obstacle.into()),
            _ => Ok(()),
        }
    }
}
