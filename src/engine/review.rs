//! A review: one proposal being decided, hunk by hunk.
//!
//! A review is of one file. It has all that is decided of it: the proposal, the marks, the history.
//! Nothing here is shared between reviews, so that a change of several files can own one for each.
//!
//! Every hunk has a *mark*, the state that the user sees, and a *fact*: whether its change is in
//! the target. [`step`] is the whole state machine, a table on mark, fact and command. A command is
//! first planned as a value ([`Review::plan`]), then carried out by the caller, and only then
//! committed ([`Review::commit`]); if carrying it out fails, [`Review::fail`] notes that and neither
//! mark nor fact changes.

mod history;
mod plan;
mod snapshot;
mod table;

use std::ops::Range;

use crate::merge::Merged;
use crate::proposal::{Proposal, Seen, Side};
use crate::text::Text;
use crate::weave::{Next, Reading};
use history::History;
pub use history::Role;
pub use plan::Plan;
pub use snapshot::{Position, Snapshot};
pub use table::{Command, Fact, Mark, Note, Refusal, Step, step};

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

/// One proposal being decided.
#[derive(Debug, Clone)]
pub struct Review {
    proposal: Proposal,
    marks: Vec<Mark>,
    /// Whether the last attempt to apply the hunk failed and the user has not rejected it since.
    has_failed: Vec<bool>,
    /// Whether the hunk's change, if it is in the target, was put there by a command.
    is_ours: Vec<bool>,
    /// A unique id for each hunk, which identifies it after hunks above were split. A hunk whose
    /// lines change gets a new id.
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
            is_ours: vec![false; n_hunks],
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

    /// Adopts `live` as one of the texts that the diff compares; see [`Proposal::adopt`].
    pub fn adopt(&mut self, live: &[u8], side: Side) -> bool {
        self.proposal.adopt(live, side)
    }

    /// Learns that the target is now `live`, and returns whether that is news.
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

    /// Returns whether the change of hunk `hunk` is in the target, all of it, and no command of
    /// this review put it there: it was there before, or somebody else has done the same. Panics if
    /// there is no such hunk.
    pub fn was_in(&self, hunk: usize) -> bool {
        self.proposal.is_in(hunk) && !self.proposal.is_lost(hunk) && !self.is_ours[hunk]
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
            let hindered = obstacle.map(|obstacle| self.hindered(hunk, &obstacle));
            let is_shifted = || matches!(self.proposal.place(hunk), Ok(place) if place.offset != 0);
            let count = match hindered {
                Some(Position::Ambiguous) => &mut standing.ambiguous,
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

    /// Like [`Review::see_edit`], for one of a run of edits: nothing can be asked before
    /// [`Review::settle`] is called.
    pub fn see_edit_loosely(&mut self, seen: &Seen) -> bool {
        self.proposal.see_edit_loosely(seen)
    }

    /// Takes note of the edits of which [`Review::see_edit_loosely`] was told.
    pub fn settle(&mut self) {
        self.proposal.settle();
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
        let is_ours = self.is_ours[hunk];
        self.is_ours.splice(hunk..=hunk, vec![is_ours; n_parts]);
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

    /// Returns whether hunk `hunk` is what the user made of it. Panics if there is no such hunk.
    pub fn is_edited(&self, hunk: usize) -> bool {
        self.proposal.is_edited(hunk)
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
        for &(hunk, is_in) in &plan.flips {
            self.is_ours[hunk] = is_in;
        }
        if let Some(rewrite) = &plan.rewrite {
            self.proposal.take_over(rewrite);
            self.is_ours[rewrite.hunk()] |= !plan.edits.is_empty();
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
