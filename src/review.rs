//! A review: one proposal being decided, hunk by hunk.
//!
//! Every hunk has a *mark*, the state that the user sees, and a *fact*: whether its change is in
//! the target. [`step`] is the whole state machine, a table on mark, fact and command. A command is
//! first planned as a value ([`Review::plan`]), then carried out by the caller, and only then
//! committed ([`Review::commit`]); if carrying it out fails, [`Review::fail`] notes that and neither
//! mark nor fact changes.

mod history;

use std::ops::Range;

use thiserror::Error;

use crate::merge::Merged;
use crate::place::NotPlaced;
use crate::proposal::{Obstacle, Proposal, Rewrite, Seen};
use crate::text::Text;
use crate::weave::{FlipError, LineEdit, Next, Reading};
use history::History;
pub use history::Role;

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

/// What the user can do to one hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Command {
    /// Put the change into the target.
    Accept,
    /// Decline the change; the target stays as it is.
    Reject,
    /// Accept, or take the mark of an applied hunk back and leave the target alone.
    Toggle,
    /// Take the change out of the target.
    Unapply,
}

/// What a command came to, beyond the new mark.
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
        /// The index that was asked for.
        hunk: usize,
        /// Number of hunks in the review.
        n_hunks: usize,
    },
    /// The hunk has not so many changed lines, or none is chosen.
    #[error("these lines are not among the changed lines of the hunk")]
    NoSuchLines,
    /// The user's text for the hunk is what the target has without it.
    #[error("with this text the hunk would change nothing; reject it instead")]
    ChangesNothing,
    /// The hunk to unapply is not in the target.
    #[error("its change is not in the target, so there is nothing to take out")]
    NotIn,
    /// The hunk has no place in the target.
    #[error(transparent)]
    NotPlaced(#[from] NotPlaced),
    /// There is no decision, or none that was taken back.
    #[error("there is no decision to take back")]
    NothingToTakeBack,
    /// The hunk's lines cannot change now.
    #[error(transparent)]
    Flip(#[from] FlipError),
}

/// What a review comes to when it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Decision {
    /// At least one hunk is applied.
    Accepted,
    /// No hunk is applied, by the user's will.
    Rejected,
    /// No hunk is applied, because what the user accepted could not be.
    NotApplied,
}

/// What a decision is based on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Basis {
    /// The marks that the user sees.
    Marks,
    /// What is in the target.
    Facts,
}

/// How many hunks are in which state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// All hunks.
    pub total: usize,
    /// Hunks marked applied.
    pub applied: usize,
    /// Hunks marked rejected.
    pub rejected: usize,
    /// Hunks whose change is in the target, in whole or in part, whatever their mark; not those whose
    /// lines others have changed or moved out of sight since.
    pub in_target: usize,
}

impl Counts {
    /// Returns the number of hunks that are not decided.
    pub fn pending(&self) -> usize {
        self.total - self.applied - self.rejected
    }
}

/// How many hunks stand in the target otherwise than where they were expected. None is counted
/// twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Standing {
    /// Hunks that cannot be put in or taken out.
    pub conflict: usize,
    /// Hunks whose place is ambiguous.
    pub ambiguous: usize,
    /// Hunks that are not in the target, elsewhere than expected.
    pub shifted: usize,
    /// Hunks of which the change, or a part of it, is in the target.
    pub is_in: usize,
}

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
    fn new(edits: Vec<LineEdit>, steps: Vec<(usize, Step)>) -> Plan {
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

/// Returns what `command` does to a hunk with this mark and this fact.
///
/// # Errors
///
/// [`Refusal::NotIn`] if there is nothing to unapply.
pub fn step(mark: Mark, fact: Fact, command: Command) -> Result<Step, Refusal> {
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

fn to(mark: Mark, is_flip: bool, note: Note) -> Result<Step, Refusal> {
    Ok(Step {
        mark,
        is_flip,
        note,
    })
}

fn marked(mark: Mark, note: Note) -> Step {
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

/// One proposal being decided.
#[derive(Debug, Clone)]
pub struct Review {
    proposal: Proposal,
    marks: Vec<Mark>,
    /// Whether the last attempt to apply the hunk failed and the user has not rejected it since.
    has_failed: Vec<bool>,
    /// A number for each hunk that is never another's, so that it can be known again when hunks
    /// above were split. One whose lines are others gets another.
    ids: Vec<usize>,
    n_ids: usize,
    history: History,
}

impl Review {
    /// Starts a review of `proposal`; every hunk is pending.
    pub fn new(proposal: Proposal) -> Review {
        let n_hunks = proposal.n_hunks();
        Review {
            proposal,
            marks: vec![Mark::Pending; n_hunks],
            has_failed: vec![false; n_hunks],
            ids: (0..n_hunks).collect(),
            n_ids: n_hunks,
            history: History::default(),
        }
    }

    /// Returns the index of the hunk with the number `id`, if there is still one; see
    /// [`Review::id`].
    pub fn hunk_with_id(&self, id: usize) -> Option<usize> {
        self.ids.iter().position(|&other| other == id)
    }

    /// Returns a number that hunk `hunk` keeps while it has the same lines, wherever it moves.
    /// Panics if there is no such hunk.
    pub fn id(&self, hunk: usize) -> usize {
        self.ids[hunk]
    }

    fn new_ids(&mut self, n: usize) -> Range<usize> {
        self.n_ids += n;
        self.n_ids - n..self.n_ids
    }

    /// The proposal and where its hunks are.
    pub fn proposal(&self) -> &Proposal {
        &self.proposal
    }

    /// Learns that the target is now `live`, and tells whether that is news.
    pub fn follow(&mut self, live: &[u8]) -> bool {
        self.proposal.follow(live)
    }

    /// Returns a reading of the target's text; see [`Proposal::reading`].
    pub fn reading(&self, n_chars: usize) -> Option<Reading> {
        self.proposal.reading(n_chars)
    }

    /// Goes on with `reading`; see [`Proposal::read_on`].
    pub fn read_on(&mut self, reading: &mut Reading, text: &[u8]) -> Next {
        self.proposal.read_on(reading, text)
    }

    /// Returns the mark of hunk `hunk`. Panics if there is no such hunk.
    pub fn mark(&self, hunk: usize) -> Mark {
        self.marks[hunk]
    }

    /// Sets the mark of hunk `hunk` by hand; the target stays as it is. Panics if there is no such
    /// hunk.
    pub fn set_mark(&mut self, hunk: usize, mark: Mark) {
        self.marks[hunk] = mark;
        self.has_failed[hunk] &= mark == Mark::Pending;
    }

    /// Returns the fact of hunk `hunk`. Panics if there is no such hunk.
    pub fn fact(&self, hunk: usize) -> Fact {
        match (self.proposal.is_in(hunk), self.proposal.is_out(hunk)) {
            (true, _) => Fact::In,
            (false, true) => Fact::Out,
            (false, false) => Fact::Mixed,
        }
    }

    /// Returns how many hunks are in which state.
    pub fn counts(&self) -> Counts {
        let (total, applied, rejected) = self.tally();
        Counts {
            total,
            applied,
            rejected,
            in_target: (0..self.marks.len())
                .filter(|&hunk| !self.proposal.is_out(hunk) && !self.proposal.is_lost(hunk))
                .count(),
        }
    }

    /// Returns how many hunks there are, are marked applied, and are marked rejected.
    pub fn tally(&self) -> (usize, usize, usize) {
        let with = |mark| self.marks.iter().filter(|&&other| other == mark).count();
        (self.marks.len(), with(Mark::Applied), with(Mark::Rejected))
    }

    /// Returns the next pending hunk after hunk `hunk`, from the first one on after the last; `None`
    /// if no other is pending.
    pub fn next_pending(&self, hunk: usize) -> Option<usize> {
        let is_pending = |&other: &usize| self.marks[other] == Mark::Pending;
        let n_hunks = self.marks.len();
        (hunk + 1..n_hunks)
            .chain(0..hunk.min(n_hunks))
            .find(is_pending)
    }

    /// Returns how the hunks stand in the target.
    pub fn standing(&self) -> Standing {
        let mut standing = Standing::default();
        for hunk in 0..self.marks.len() {
            let obstacle = self.proposal.obstacle(hunk);
            let is_shifted = || matches!(self.proposal.place(hunk), Ok(place) if place.offset != 0);
            let count = match obstacle {
                Some(_) if self.proposal.is_lost(hunk) => &mut standing.conflict,
                Some(Obstacle::NotPlaced(NotPlaced::Ambiguous { .. })) => &mut standing.ambiguous,
                Some(_) => &mut standing.conflict,
                None if !self.proposal.is_out(hunk) => &mut standing.is_in,
                None if is_shifted() => &mut standing.shifted,
                None => continue,
            };
            *count += 1;
        }
        standing
    }

    /// Learns that somebody else replaced lines of the target; see [`Proposal::edit_outside`].
    pub fn edit_outside(&mut self, line: usize, n_removed: usize, text: &[u8], is_undo: bool) {
        self.proposal.edit_outside(line, n_removed, text, is_undo);
    }

    /// Takes the target for a choice of hunks if it reads as one; see [`Proposal::recognize`].
    pub fn recognize(&mut self) -> bool {
        self.proposal.recognize()
    }

    /// Learns of an edit of the target as an editor tells it; see [`Proposal::see_edit`].
    pub fn see_edit(&mut self, seen: &Seen) -> bool {
        self.proposal.see_edit(seen)
    }

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

    /// Splits hunk `hunk` into its smallest parts, which keep its mark, and returns how many these
    /// are; see [`Proposal::split`].
    ///
    /// # Errors
    ///
    /// [`Refusal::NoSuchHunk`].
    pub fn split(&mut self, hunk: usize) -> Result<usize, Refusal> {
        self.check_hunk(hunk)?;
        let n_parts = self.proposal.split(hunk);
        self.become_parts(hunk, n_parts);
        Ok(n_parts)
    }

    /// Makes a hunk of its own of some changed lines of hunk `hunk`; see [`Proposal::pick`]. The
    /// parts keep its mark.
    ///
    /// # Errors
    ///
    /// [`Refusal`] says why these lines cannot be told from the others. Then nothing has changed.
    pub fn pick(&mut self, hunk: usize, lines: Range<usize>) -> Result<(usize, usize), Refusal> {
        self.check_hunk(hunk)?;
        if lines.is_empty() || lines.end > self.proposal.n_changed_lines(hunk) {
            return Err(Refusal::NoSuchLines);
        }
        let (n_parts, picked) = self.proposal.pick(hunk, lines)?;
        self.become_parts(hunk, n_parts);
        Ok((n_parts, picked))
    }

    fn become_parts(&mut self, hunk: usize, n_parts: usize) {
        let (mark, has_failed) = (self.marks[hunk], self.has_failed[hunk]);
        self.marks.splice(hunk..=hunk, vec![mark; n_parts]);
        self.has_failed
            .splice(hunk..=hunk, vec![has_failed; n_parts]);
        if n_parts > 1 {
            let ids: Vec<usize> = self.new_ids(n_parts).collect();
            self.history.become_parts(self.ids[hunk], &ids);
            self.ids.splice(hunk..=hunk, ids);
        }
    }

    /// Checks that there is a hunk `hunk`.
    ///
    /// # Errors
    ///
    /// [`Refusal::NoSuchHunk`].
    pub fn check_hunk(&self, hunk: usize) -> Result<(), Refusal> {
        let n_hunks = self.marks.len();
        match hunk < n_hunks {
            true => Ok(()),
            false => Err(Refusal::NoSuchHunk { hunk, n_hunks }),
        }
    }

    /// Plans `command` on hunk `hunk`, whose place is ambiguous, where the line map has it:
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

    /// Tells whether hunk `hunk` is what the user made of it. Panics if there is no such hunk.
    pub fn is_edited(&self, hunk: usize) -> bool {
        self.proposal.is_edited(hunk)
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

    /// Returns where hunk `hunk` is in the target and what stands there; see
    /// [`Proposal::live_lines`].
    ///
    /// # Errors
    ///
    /// [`Refusal`] says why that place is not known.
    pub fn live_lines(&self, hunk: usize) -> Result<(usize, Text), Refusal> {
        self.check_hunk(hunk)?;
        Ok(self.proposal.live_lines(hunk)?)
    }

    /// Returns hunk `hunk` merged with what stands in its place; see [`Proposal::merge`].
    ///
    /// # Errors
    ///
    /// [`Refusal`] says why there is nothing to merge with.
    pub fn merge(&self, hunk: usize) -> Result<Merged, Refusal> {
        self.check_hunk(hunk)?;
        Ok(self.proposal.merge(hunk)?)
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

    fn check(&self, hunk: usize, step: Step) -> Result<(), Refusal> {
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

    /// Rejects every hunk that is not marked applied.
    pub fn reject_all(&mut self) {
        let with = |wanted: fn(&Mark) -> bool| -> Vec<usize> {
            let all = (0..).zip(&self.marks);
            all.filter(|(_, mark)| wanted(mark))
                .map(|(hunk, _)| hunk)
                .collect()
        };
        let pending = with(|mark| *mark == Mark::Pending);
        // One that is rejected already may since have failed to be accepted.
        let declined = with(|mark| *mark != Mark::Applied);
        self.remember(pending.into_iter(), Role::Decision);
        for hunk in declined {
            self.set_mark(hunk, Mark::Rejected);
        }
    }

    /// Takes over what `plan` says, now that its edits are made.
    pub fn commit(&mut self, plan: &Plan) {
        let steps = plan.steps.iter();
        let changed: Vec<usize> = steps
            .filter(|(hunk, step)| step.is_flip || step.mark != self.marks[*hunk])
            .map(|(hunk, _)| *hunk)
            .collect();
        self.remember(changed.into_iter(), plan.role);
        self.proposal.bring_to(&plan.flips);
        if let Some(rewrite) = &plan.rewrite {
            self.proposal.take_over(rewrite);
            self.ids[rewrite.hunk()] = self.new_ids(1).start;
            // The hunk has other lines now; what was decided on it was something else.
            self.history = History::default();
        }
        for &(hunk, step) in &plan.steps {
            self.set_mark(hunk, step.mark);
        }
    }

    /// Notes that hunk `hunk` was accepted and could not be applied.
    pub fn fail(&mut self, hunk: usize) {
        self.has_failed[hunk] = true;
    }

    /// Returns what the review comes to if it ends now.
    pub fn decision(&self, basis: Basis) -> Decision {
        let counts = self.counts();
        let n_applied = match basis {
            Basis::Marks => counts.applied,
            Basis::Facts => counts.in_target,
        };
        let has_failed = self.has_failed.iter().any(|&failed| failed);
        match (n_applied, counts.in_target) {
            (1.., _) => Decision::Accepted,
            (0, 0) if has_failed => Decision::NotApplied,
            (0, _) => Decision::Rejected,
        }
    }
}
