//! The history of decisions on all files of a change.
//!
//! The review of each text has its own history. This file records which files each decision was on.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::review::{Mark, Note, Plan, Refusal, Role, Step};

use super::{Change, ChangePlan, Part, Presence, Unable};

/// An operation before a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Past {
    file: usize,
    at: usize,
    mark: Mark,
    /// `None` if the decision neither did it nor undid it.
    presence: Option<Presence>,
}

/// A decision, or the split of a hunk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Moment {
    /// The files whose review has an entry for it, in order.
    texts: Vec<usize>,
    operations: Vec<Past>,
}

impl Moment {
    fn is_empty(&self) -> bool {
        self.texts.is_empty() && self.operations.is_empty()
    }
}

/// Forgets what was decided about the text of `file`.
fn forget_text(moments: &mut Vec<Moment>, file: usize) {
    for moment in moments.iter_mut() {
        moment.texts.retain(|&other| other != file);
    }
    moments.retain(|moment| !moment.is_empty());
}

/// Returns the files whose text `moment` is about.
fn texts_of(moment: Option<&Moment>) -> Vec<usize> {
    moment.map_or(Vec::new(), |moment| moment.texts.clone())
}

impl Change {
    /// Records what `plan` does, after it has been carried out in all files.
    pub fn commit(&mut self, plan: &ChangePlan) {
        let mut moment = Moment::default();
        for Part {
            file,
            operations,
            text,
        } in &plan.parts
        {
            let change = &mut self.files[*file];
            for &(at, step) in operations {
                let decided = &mut change.operations[at];
                let past = Past {
                    file: *file,
                    at,
                    mark: decided.mark,
                    presence: step.is_flip.then_some(decided.presence),
                };
                if step.is_flip {
                    decided.presence = match decided.presence {
                        Presence::In => Presence::Out,
                        Presence::Out | Presence::Neither => Presence::In,
                    };
                    decided.is_ours = decided.presence == Presence::In;
                }
                decided.mark = step.mark;
                decided.has_failed &= step.mark == Mark::Pending;
                let is_implied = at < change.n_implied;
                if !is_implied && (step.is_flip || past.mark != decided.mark) {
                    moment.operations.push(past);
                }
            }
            if let (Some(review), Some(text)) = (&mut change.review, text) {
                let n_before = review.n_decisions();
                review.commit(text);
                if text.rewrite.is_some() {
                    // Earlier decisions were on other lines.
                    forget_text(&mut self.done, *file);
                    forget_text(&mut self.undone, *file);
                } else if review.n_decisions() != n_before {
                    moment.texts.push(*file);
                }
            }
        }
        if moment.is_empty() {
            return;
        }
        match plan.role {
            Role::Decision => {
                self.done.push(moment);
                self.undone.clear();
            }
            Role::Undo => {
                self.done.pop();
                self.undone.push(moment);
            }
            Role::Redo => {
                self.undone.pop();
                self.done.push(moment);
            }
        }
    }

    /// Splits hunk `hunk` of file `file`; see [`Review::split`](crate::review::Review::split).
    ///
    /// # Errors
    ///
    /// [`Unable::NoSuchEntry`].
    pub fn split(&mut self, file: usize, hunk: usize) -> Result<usize, Unable> {
        let review = self.review_mut(file).ok_or(Unable::NoSuchEntry)?;
        let n_parts = review.split(hunk)?;
        self.note_split(file, n_parts);
        Ok(n_parts)
    }

    /// Splits a hunk where lines that differ only in white space are next to others; see
    /// [`Review::split_white_space`](crate::review::Review::split_white_space).
    ///
    /// # Errors
    ///
    /// [`Unable`] says why these lines cannot be separated.
    pub fn split_white_space(&mut self, file: usize, hunk: usize) -> Result<usize, Unable> {
        let review = self.review_mut(file).ok_or(Unable::NoSuchEntry)?;
        let n_parts = review.split_white_space(hunk)?;
        self.note_split(file, n_parts);
        Ok(n_parts)
    }

    /// Makes a separate hunk of some lines; see [`Review::pick`](crate::review::Review::pick).
    ///
    /// # Errors
    ///
    /// [`Unable`] says why these lines cannot be separated from the others.
    pub fn pick(
        &mut self,
        file: usize,
        hunk: usize,
        lines: Range<usize>,
    ) -> Result<(usize, usize), Unable> {
        let review = self.review_mut(file).ok_or(Unable::NoSuchEntry)?;
        let (n_parts, picked) = review.pick(hunk, lines)?;
        self.note_split(file, n_parts);
        Ok((n_parts, picked))
    }

    /// Makes a separate hunk of some rows; see [`Review::pick_rows`](crate::review::Review::pick_rows).
    ///
    /// # Errors
    ///
    /// [`Unable`] says why these lines cannot be separated from the others.
    pub fn pick_rows(
        &mut self,
        file: usize,
        hunk: usize,
        removed: Range<usize>,
        added: Range<usize>,
    ) -> Result<Option<(usize, usize)>, Unable> {
        let review = self.review_mut(file).ok_or(Unable::NoSuchEntry)?;
        let picked = review.pick_rows(hunk, removed, added)?;
        if let Some((n_parts, _)) = picked {
            self.note_split(file, n_parts);
        }
        Ok(picked)
    }

    /// Joins the latest `n` decisions and splits into one decision, to be undone together. Without
    /// any decision among them, the splits stay separate.
    pub fn join_decisions(&mut self, n: usize) {
        let first = self.done.len().saturating_sub(n);
        let mut joined = Moment::default();
        let mut n_entries: BTreeMap<usize, usize> = BTreeMap::new();
        for moment in &self.done[first..] {
            for &file in &moment.texts {
                *n_entries.entry(file).or_default() += 1;
            }
            for past in &moment.operations {
                let is_same = |other: &Past| (other.file, other.at) == (past.file, past.at);
                // The first state is the state before all of them.
                match joined.operations.iter_mut().find(|other| is_same(other)) {
                    Some(first) => first.presence = first.presence.or(past.presence),
                    None => joined.operations.push(*past),
                }
            }
        }
        let are_splits = joined.operations.is_empty()
            && n_entries.iter().all(|(&file, &n)| {
                let review = self.files[file].review().expect("it was decided");
                review.are_splits(n)
            });
        if are_splits {
            return;
        }
        for (&file, &n) in &n_entries {
            let review = self.review_mut(file).expect("it was decided");
            review.join_decisions(n);
        }
        joined.texts = n_entries.into_keys().collect();
        self.done.truncate(first);
        self.done.push(joined);
    }

    /// Records that a hunk of file `file` is now `n_parts` hunks.
    fn note_split(&mut self, file: usize, n_parts: usize) {
        if n_parts > 1 {
            self.done.push(Moment {
                texts: vec![file],
                operations: Vec::new(),
            });
            self.undone.clear();
        }
    }

    /// If the split of a hunk can be undone next, undoes it, and returns the file, the hunk and the
    /// number of its parts. If `is_for_decision`, only a split that was made for the decision that
    /// was undone just now is undone.
    ///
    /// # Errors
    ///
    /// As for [`Review::undo_split`](crate::review::Review::undo_split).
    pub fn undo_split(
        &mut self,
        is_for_decision: bool,
    ) -> Result<Option<(usize, usize, usize)>, Refusal> {
        let moments = if is_for_decision {
            &self.undone
        } else {
            &self.done
        };
        for file in texts_of(moments.last()) {
            let review = self.review_mut(file).expect("it was decided");
            let undone = review.undo_split(is_for_decision);
            if !is_for_decision && !matches!(undone, Ok(None)) {
                let moment = self.done.pop();
                self.undone.extend(moment.filter(|_| undone.is_ok()));
            }
            if let Some((hunk, n_parts)) = undone? {
                return Ok(Some((file, hunk, n_parts)));
            }
        }
        Ok(None)
    }

    /// If the split of a hunk can be redone next, redoes it, and returns the file, the hunk, the
    /// number of its parts, and whether the decision that follows is to be redone along with it.
    ///
    /// # Errors
    ///
    /// As for [`Review::redo_split`](crate::review::Review::redo_split).
    pub fn redo_split(&mut self) -> Result<Option<(usize, usize, usize, bool)>, Refusal> {
        for file in texts_of(self.undone.last()) {
            let review = self.review_mut(file).expect("it was decided");
            if let Some((hunk, n_parts, is_for_next)) = review.redo_split()? {
                if !is_for_next {
                    let moment = self.undone.pop();
                    self.done.extend(moment);
                }
                return Ok(Some((file, hunk, n_parts, is_for_next)));
            }
        }
        Ok(None)
    }

    /// Returns the number of decisions and splits that can be undone.
    pub fn n_decisions(&self) -> usize {
        self.done.len()
    }

    /// Plans to undo the latest decision, in all files that it was on.
    ///
    /// # Errors
    ///
    /// The file in which that is not possible, and why.
    pub fn plan_undo(&self) -> Result<ChangePlan, (usize, Unable)> {
        self.plan_back(self.done.last(), Role::Undo)
    }

    /// Plans to redo the decision that was undone last.
    ///
    /// # Errors
    ///
    /// As for [`Change::plan_undo`].
    pub fn plan_redo(&self) -> Result<ChangePlan, (usize, Unable)> {
        self.plan_back(self.undone.last(), Role::Redo)
    }

    fn plan_back(
        &self,
        moment: Option<&Moment>,
        role: Role,
    ) -> Result<ChangePlan, (usize, Unable)> {
        let moment = moment.ok_or((0, Refusal::NothingToTakeBack.into()))?;
        let mut parts: Vec<Part> = Vec::new();
        for past in &moment.operations {
            let step = self.step_back(past).map_err(|why| (past.file, why))?;
            match parts.last_mut().filter(|part| part.file == past.file) {
                Some(part) => part.operations.push((past.at, step)),
                None => parts.push(Part {
                    file: past.file,
                    operations: vec![(past.at, step)],
                    text: None,
                }),
            }
        }
        for &file in &moment.texts {
            let text = self.text_back(file, role);
            let text = text.map_err(|why| (file, why.into()))?;
            let implied = self.files[file].steps_with_lines(&text);
            let implied = implied.map_err(|why| (file, why))?;
            let text = Some(text);
            match parts.iter_mut().find(|part| part.file == file) {
                Some(part) => {
                    part.operations.splice(0..0, implied);
                    part.text = text;
                }
                None => parts.push(Part {
                    file,
                    operations: implied,
                    text,
                }),
            }
        }
        parts.sort_by_key(|part| part.file);
        Ok(ChangePlan { parts, role })
    }

    fn text_back(&self, file: usize, role: Role) -> Result<Plan, Refusal> {
        let review = self.files[file].review().expect("it was decided");
        match role {
            Role::Redo => review.plan_redo(),
            Role::Undo | Role::Decision => review.plan_undo(),
        }
    }

    /// Returns the step that makes an operation as it was.
    fn step_back(&self, past: &Past) -> Result<Step, Unable> {
        let change = &self.files[past.file];
        let decided = &change.operations[past.at];
        let now = decided.presence;
        let wanted = past
            .presence
            .filter(|_| !change.stage.only_marks(decided.mark, past.mark))
            .unwrap_or(now);
        if now == Presence::Neither && wanted != now {
            return Err(Unable::Changed(decided.obstacle()));
        }
        let is_flip = now != wanted && wanted != Presence::Neither;
        Ok(Step {
            mark: past.mark,
            is_flip,
            note: if is_flip { Note::Edited } else { Note::Marked },
        })
    }
}
