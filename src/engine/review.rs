//! A review: one proposal, decided hunk by hunk.
//!
//! A review concerns one file. It owns everything about its decision: the proposal, the marks, the
//! history. Reviews share nothing, so a change of several files can own one review for each file.
//!
//! Every hunk has a *mark*, the state that the user sees, and a *fact*: whether its change is in
//! the target. [`step`] is the whole state machine: a table of mark, fact and command. A command is
//! first planned as a value ([`Review::plan`]), then carried out by the caller, and only then
//! committed ([`Review::commit`]). If carrying it out fails, [`Review::fail`] records that, and
//! neither mark nor fact changes.

mod beside;
mod history;
mod plan;
mod report;
mod table;

use std::ops::Range;

use crate::merge::Merge;
use crate::proposal::{Proposal, Seen, Side, Spacing};
use crate::text::{Syntax, Text};

use history::History;
pub(crate) use history::Role;
pub use plan::{Plan, Position, Snapshot};
pub use report::{OnDisk, Report, Whereabouts};
pub use table::{Command, Fact, Mark, Note, Refusal, Stage, Step, step};

/// The overall result of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Decision {
    /// At least one hunk is applied.
    Accepted,
    /// No hunk is applied, because the user wanted none.
    Rejected,
    /// No hunk is applied, because the hunks that the user accepted could not be.
    NotApplied,
}

/// The basis of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Basis {
    /// The marks that the user sees.
    Marks,
    /// What is in the target.
    Facts,
}

/// The numbers of hunks in each state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// All hunks.
    pub total: usize,
    /// Hunks marked applied.
    pub applied: usize,
    /// Hunks marked rejected.
    pub rejected: usize,
    /// Hunks whose change is in the target, wholly or in part, whatever their mark. Excludes those
    /// whose lines others have changed since, or whose lines can no longer be found.
    pub in_target: usize,
}

/// The numbers of hunks that are in the target, in conflict, or not where they were expected. No
/// hunk is counted twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Standing {
    /// Hunks that cannot be applied or unapplied, and are not ambiguous.
    pub conflict: usize,
    /// Hunks whose place is ambiguous.
    pub ambiguous: usize,
    /// Hunks that are not in the target, and whose place differs from the expected one.
    pub shifted: usize,
    /// Hunks whose change is in the target, wholly or in part.
    pub is_in: usize,
}

/// One proposal, with the decisions on it.
#[derive(Debug, Clone)]
pub struct Review {
    proposal: Proposal,
    stage: Stage,
    marks: Vec<Mark>,
    /// Whether the last attempt to apply the hunk failed and the user has not rejected it since.
    has_failed: Vec<bool>,
    /// Whether a command put the hunk's change into the target, if it is there.
    is_ours: Vec<bool>,
    /// A unique id for each hunk, which stays the same when hunks above are split. A hunk whose
    /// lines change gets a new id.
    ids: Vec<usize>,
    n_ids: usize,
    revision: usize,
    history: History,
    /// Whether an editor has undone or redone edits of the target since [`Review::follow_undo`].
    has_undone: bool,
    /// The ids of hunks that the user has taken out and an editor's undo has brought back.
    brought_back: Vec<usize>,
}

impl Review {
    /// Starts a review of `proposal`; every hunk is pending.
    pub fn new(proposal: Proposal) -> Review {
        let n_hunks = proposal.n_hunks();
        Review {
            proposal,
            stage: Stage::Proposed,
            marks: vec![Mark::Pending; n_hunks],
            has_failed: vec![false; n_hunks],
            is_ours: vec![false; n_hunks],
            ids: (0..n_hunks).collect(),
            n_ids: n_hunks,
            revision: 0,
            history: History::default(),
            has_undone: false,
            brought_back: Vec::new(),
        }
    }

    /// Records that the change was written before the review.
    pub fn begin_written(&mut self) {
        self.stage = Stage::Written;
    }

    /// Returns whether the change was written before the review.
    pub fn is_written(&self) -> bool {
        self.stage == Stage::Written
    }

    /// Returns the original with the changes that are marked applied: what was reviewed of a change that
    /// was written before. What others have made of the target since is not in it.
    pub fn reviewed(&self) -> Vec<u8> {
        self.proposal
            .original_with(|hunk| self.marks[hunk] == Mark::Applied)
    }

    /// Returns a number that changes whenever which hunks are marked applied does, or which lines a hunk
    /// has.
    pub fn revision(&self) -> usize {
        self.revision
    }

    /// Returns the index of the hunk with the id `id`, if it still exists; see [`Snapshot::id`].
    pub fn hunk_with_id(&self, id: usize) -> Option<usize> {
        self.ids.iter().position(|&other| other == id)
    }

    /// Returns the ids of the hunks; see [`Snapshot::id`]. While they are the same, so are the lines of each.
    pub fn ids(&self) -> &[usize] {
        &self.ids
    }

    /// Returns the id of hunk `hunk`; see [`Snapshot::id`]. Panics if there is no such hunk.
    pub(crate) fn id(&self, hunk: usize) -> usize {
        self.ids[hunk]
    }

    fn new_ids(&mut self, n: usize) -> Range<usize> {
        self.n_ids += n;
        self.revision += 1;
        self.n_ids - n..self.n_ids
    }

    /// Has more or less context of `hunk` shown; see [`Proposal::show_context`].
    pub fn show_context(&mut self, hunk: usize, more: [isize; 2]) -> [isize; 2] {
        self.proposal.show_context(hunk, more)
    }

    /// The proposal, which knows where its hunks are.
    pub fn proposal(&self) -> &Proposal {
        &self.proposal
    }

    /// Adopts `live` as one of the texts that the diff compares; see [`Proposal::adopt`].
    pub fn adopt(&mut self, live: &[u8], side: Side) -> bool {
        self.proposal.adopt(live, side)
    }

    /// Records that the target is now `live`, and returns whether that is a change.
    pub fn follow(&mut self, live: &[u8]) -> bool {
        self.proposal.follow(live)
    }

    /// Makes those hunks pending again that an editor's undo has brought back after the user took them out, and
    /// rejected again if a redo took them out. Returns whether there is any. To be called once that is saved.
    pub fn follow_undo(&mut self) -> bool {
        if !std::mem::take(&mut self.has_undone) || self.stage != Stage::Written {
            return false;
        }
        let mut is_any = false;
        for hunk in 0..self.marks.len() {
            let id = self.ids[hunk];
            let is_back = self.brought_back.contains(&id);
            match (self.marks[hunk], self.fact(hunk)) {
                (Mark::Rejected, Fact::In) if !self.proposal.is_lost(hunk) => {
                    self.set_mark(hunk, Mark::Pending);
                    self.brought_back.push(id);
                    is_any = true;
                }
                (Mark::Pending, Fact::Out) if is_back => {
                    self.set_mark(hunk, Mark::Rejected);
                    self.brought_back.retain(|other| *other != id);
                    is_any = true;
                }
                _ => {}
            }
        }
        is_any
    }

    /// Returns the mark of hunk `hunk`. Panics if there is no such hunk.
    pub fn mark(&self, hunk: usize) -> Mark {
        self.marks[hunk]
    }

    /// Sets the mark of hunk `hunk` without changing the target. Panics if there is no such hunk.
    pub fn set_mark(&mut self, hunk: usize, mark: Mark) {
        let is_applied = |mark| mark == Mark::Applied;
        self.revision += usize::from(is_applied(mark) != is_applied(self.marks[hunk]));
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

    /// Returns whether hunk `hunk` was put into the target by others; see [`Snapshot::was_in`].
    /// Panics if there is no such hunk.
    pub(crate) fn was_in(&self, hunk: usize) -> bool {
        self.proposal.is_in(hunk) && !self.proposal.is_lost(hunk) && !self.is_ours[hunk]
    }

    /// Returns the numbers of hunks in each state.
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

    /// Returns the numbers of all hunks, of those marked applied, and of those marked rejected.
    pub fn tally(&self) -> (usize, usize, usize) {
        let with = |mark| self.marks.iter().filter(|&&other| other == mark).count();
        (self.marks.len(), with(Mark::Applied), with(Mark::Rejected))
    }

    /// Returns how many hunks are in the target, in conflict, or not where they were expected.
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

    /// Records that somebody else replaced lines of the target; see [`Proposal::edit_outside`].
    pub fn edit_outside(&mut self, line: usize, n_removed: usize, text: &[u8], is_undo: bool) {
        self.proposal.edit_outside(line, n_removed, text, is_undo);
        self.has_undone |= is_undo;
    }

    /// Recognizes a target that others edited but that equals the original with some of the hunks
    /// applied. Returns whether it is one, and that is a change.
    ///
    /// This is how a hunk that another program applied is found to be applied. Which line is which
    /// no longer matters then: every reading that gives this text also gives the same text for each
    /// choice of hunks.
    pub fn recognize(&mut self) -> bool {
        self.proposal.recognize()
    }

    /// Records an edit of the target by somebody else, as an editor reports it, and returns whether
    /// such an edit is possible.
    ///
    /// If it is not, an earlier edit was missed, or the editor counts raw bytes one by one that
    /// together are a character; then call [`Review::follow`]. A line at the edge of the edit that
    /// did not change keeps its identity: the line after an edit that began at the start of a line,
    /// or the line before an edit that began at its end.
    ///
    /// This is one in a run of edits: after it, only more edits may be reported until
    /// [`Review::settle`] is called.
    pub fn see_edit_loosely(&mut self, seen: &Seen) -> bool {
        self.has_undone |= seen.is_undo;
        self.proposal.see_edit_loosely(seen)
    }

    /// Ends a run of edits that were reported to [`Review::see_edit_loosely`].
    pub fn settle(&mut self) {
        self.proposal.settle();
    }

    /// Splits hunk `hunk` into its smallest parts, which keep its mark, and returns their number; 1
    /// if it cannot be split.
    ///
    /// The parts are its atoms: lines and what replaces them stay together. The parts of a bare
    /// diff's hunk that has no place are then searched for separately.
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

    /// Splits hunk `hunk` where lines that differ only in white space are next to others, and returns the
    /// number of its parts, which keep its mark; 1 if it has only one kind of lines, or if it is a bare
    /// diff's, whose lines are not known.
    ///
    /// # Errors
    ///
    /// [`Refusal`] says why its lines cannot be separated. Then nothing has changed.
    pub fn split_white_space(&mut self, hunk: usize) -> Result<usize, Refusal> {
        self.check_hunk(hunk)?;
        let n_parts = self.proposal.split_white_space(hunk)?;
        self.become_parts(hunk, n_parts);
        Ok(n_parts)
    }

    /// Returns the lines that hunk `hunk` would leave without its changes of white space; `None` if that is
    /// not defined, since it replaces lines by more or fewer others.
    ///
    /// # Errors
    ///
    /// [`Refusal::NoSuchHunk`].
    pub fn without_white_space(&self, hunk: usize) -> Result<Option<Vec<u8>>, Refusal> {
        self.check_hunk(hunk)?;
        Ok(self.proposal.without_white_space(hunk))
    }

    /// Takes what is known of the language of the text; see [`Proposal::set_language`].
    pub fn set_language(&mut self, spacing: Option<Spacing>, syntaxes: Option<[Syntax; 2]>) {
        self.proposal.set_language(spacing, syntaxes);
    }

    /// Makes a separate hunk of the changed lines `lines` of hunk `hunk`, which count its removed
    /// and added lines from 0 in the order of the diff. All parts keep its mark.
    ///
    /// Returns how many hunks replace it, and which of them (0-based) has the lines; 1 and 0 if all
    /// its lines are chosen.
    ///
    /// # Errors
    ///
    /// [`Refusal`] says why these lines cannot be separated from the others. Then nothing has
    /// changed.
    pub fn pick(&mut self, hunk: usize, lines: Range<usize>) -> Result<(usize, usize), Refusal> {
        self.check_hunk(hunk)?;
        if lines.is_empty() || lines.end > self.proposal.n_changed_lines(hunk) {
            return Err(Refusal::NoSuchLines);
        }
        let (n_parts, picked) = self.proposal.pick(hunk, lines)?;
        self.become_parts(hunk, n_parts);
        Ok((n_parts, picked))
    }

    /// Makes a separate hunk of some rows of hunk `hunk`, in which its lines stand side by side: of the
    /// lines `removed` and `added`, which count its removed and its added lines from 0. All parts keep
    /// its mark. An empty range is where these lines would be.
    ///
    /// Returns what [`Review::pick`] does; `None` if a change would have to be cut that cannot be: one
    /// of a bare diff, or one that is in the target in part.
    ///
    /// # Errors
    ///
    /// [`Refusal`] says why these lines cannot be separated from the others. Then nothing has
    /// changed.
    pub fn pick_rows(
        &mut self,
        hunk: usize,
        removed: Range<usize>,
        added: Range<usize>,
    ) -> Result<Option<(usize, usize)>, Refusal> {
        self.check_hunk(hunk)?;
        let is_order = removed.start <= removed.end && added.start <= added.end;
        let n_chosen = removed.len() + added.len();
        if !is_order || n_chosen == 0 || n_chosen > self.proposal.n_changed_lines(hunk) {
            return Err(Refusal::NoSuchLines);
        }
        let picked = self.proposal.pick_rows(hunk, removed, added)?;
        if let Some((n_parts, _)) = picked {
            self.become_parts(hunk, n_parts);
        }
        Ok(picked)
    }

    /// Gives the state of hunk `hunk` to the `n_parts` hunks that replace it.
    fn repeat_state(&mut self, hunk: usize, n_parts: usize) {
        let (mark, has_failed) = (self.marks[hunk], self.has_failed[hunk]);
        let is_ours = self.is_ours[hunk];
        self.revision += 1;
        self.is_ours.splice(hunk..=hunk, vec![is_ours; n_parts]);
        self.marks.splice(hunk..=hunk, vec![mark; n_parts]);
        self.has_failed
            .splice(hunk..=hunk, vec![has_failed; n_parts]);
    }

    fn become_parts(&mut self, hunk: usize, n_parts: usize) {
        self.repeat_state(hunk, n_parts);
        if n_parts > 1 {
            let ids: Vec<usize> = self.new_ids(n_parts).collect();
            let n_atoms = self.n_atoms(hunk..hunk + n_parts);
            self.history.become_parts(self.ids[hunk], &ids, &n_atoms);
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
        if hunk < n_hunks {
            Ok(())
        } else {
            Err(Refusal::NoSuchHunk { hunk, n_hunks })
        }
    }

    /// Returns whether the user edited hunk `hunk`. Panics if there is no such hunk.
    pub fn is_edited(&self, hunk: usize) -> bool {
        self.proposal.is_edited(hunk)
    }

    /// Returns the line of the target (0-based) at which hunk `hunk` with its context begins, and
    /// the current lines there, whether applied, unapplied or changed by others. Takes O(log s)
    /// time for s segments of the weave, plus that for the lines.
    ///
    /// # Errors
    ///
    /// [`Refusal`] says why that place is not known.
    pub fn live_lines(&self, hunk: usize) -> Result<(usize, Text), Refusal> {
        self.check_hunk(hunk)?;
        Ok(self.proposal.live_lines(hunk)?)
    }

    /// Merges the lines of hunk `hunk` with the current lines of the target in their place, within
    /// the budget for comparing the texts of the proposal.
    ///
    /// # Errors
    ///
    /// [`Refusal`] says why there is nothing to merge with.
    pub fn merge(&self, hunk: usize) -> Result<Merge, Refusal> {
        self.check_hunk(hunk)?;
        Ok(self.proposal.merge(hunk)?)
    }

    /// Records what `plan` does, after its edits have been made.
    pub fn commit(&mut self, plan: &Plan) {
        let steps = plan.steps.iter();
        let changed: Vec<(usize, bool)> = steps
            .filter(|(hunk, step)| step.is_flip || step.mark != self.marks[*hunk])
            .map(|(hunk, step)| (*hunk, step.is_flip))
            .collect();
        self.remember(changed.into_iter(), plan.role);
        self.proposal.flip(&plan.flips, &plan.atoms);
        for &(hunk, is_in) in &plan.flips {
            self.is_ours[hunk] = is_in;
        }
        if let Some(rewrite) = &plan.rewrite {
            self.proposal.take_over(rewrite);
            self.is_ours[rewrite.hunk()] |= !plan.edits.is_empty();
            self.ids[rewrite.hunk()] = self.new_ids(1).start;
            // The hunk has new lines now, so earlier decisions were on something else.
            self.history = History::default();
        }
        for &(hunk, step) in &plan.steps {
            self.set_mark(hunk, step.mark);
        }
    }

    /// Records that hunk `hunk` was accepted but could not be applied.
    pub fn fail(&mut self, hunk: usize) {
        self.has_failed[hunk] = true;
    }

    /// Returns the decision if the review ended now.
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
