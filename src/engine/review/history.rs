//! Undo and redo of decisions.
//!
//! A decision is stored as the previous marks and facts of the hunks that it changed. Undoing it is
//! a plan like any other, which restores mark and fact together, wherever the hunks are now.

use std::collections::{HashMap, HashSet};

use super::{Fact, Mark, Note, Plan, Refusal, Review, Step};

/// The state of a hunk before a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Past {
    id: usize,
    mark: Mark,
    fact: Fact,
}

/// The decisions of a review that can be undone or redone, the latest last.
#[derive(Debug, Clone, Default)]
pub(super) struct History {
    done: Vec<Vec<Past>>,
    undone: Vec<Vec<Past>>,
}

/// The role of a plan in the history of decisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Role {
    /// It is a decision, which can be undone.
    #[default]
    Decision,
    /// It undoes the latest decision.
    Undo,
    /// It redoes a decision that was undone.
    Redo,
}

impl History {
    /// Records that the hunk with the id `id` was split into those with the ids `parts`.
    pub(super) fn become_parts(&mut self, id: usize, parts: &[usize]) {
        for decision in self.done.iter_mut().chain(&mut self.undone) {
            if let Some(at) = decision.iter().position(|past| past.id == id) {
                let past = decision[at];
                decision.splice(at..=at, parts.iter().map(|&id| Past { id, ..past }));
            }
        }
    }
}

impl Review {
    /// Returns the number of decisions that can be undone.
    pub fn n_decisions(&self) -> usize {
        self.history.done.len()
    }

    /// Joins the latest `n` decisions into one, to be undone together.
    pub fn join_decisions(&mut self, n: usize) {
        let done = &mut self.history.done;
        let first = done.len().saturating_sub(n);
        let mut ids = HashSet::new();
        let past = done.drain(first..).flatten();
        // The first state of a hunk is its state before all of them.
        let joined: Vec<Past> = past.filter(|past| ids.insert(past.id)).collect();
        if !joined.is_empty() {
            done.push(joined);
        }
    }

    /// Plans to undo the latest decision: restores marks and facts of the hunks that it changed.
    ///
    /// # Errors
    ///
    /// [`Refusal::NothingToTakeBack`], or the reason why a hunk's lines cannot be changed now.
    pub fn plan_undo(&self) -> Result<Plan, Refusal> {
        self.plan_back(&self.history.done, Role::Undo)
    }

    /// Plans to redo the decision that was undone last.
    ///
    /// # Errors
    ///
    /// As for [`Review::plan_undo`].
    pub fn plan_redo(&self) -> Result<Plan, Refusal> {
        self.plan_back(&self.history.undone, Role::Redo)
    }

    fn plan_back(&self, decisions: &[Vec<Past>], role: Role) -> Result<Plan, Refusal> {
        let decision = decisions.last().ok_or(Refusal::NothingToTakeBack)?;
        let hunks: HashMap<_, _> = (0..).zip(&self.ids).map(|(hunk, &id)| (id, hunk)).collect();
        let (mut steps, mut flips) = (Vec::new(), Vec::new());
        for past in decision {
            // A hunk keeps its id, and the parts of a hunk take over its history.
            let Some(&hunk) = hunks.get(&past.id) else {
                continue;
            };
            let wanted = self.wanted_again(hunk, past.fact);
            let step = Step {
                mark: past.mark,
                is_flip: wanted.is_some(),
                note: if wanted.is_some() {
                    Note::Edited
                } else {
                    Note::Marked
                },
            };
            self.check(hunk, step)?;
            flips.extend(wanted.map(|is_in| (hunk, is_in)));
            steps.push((hunk, step));
        }
        steps.sort_by_key(|(hunk, _)| *hunk);
        flips.sort_unstable();
        let edits = self.proposal.edits_for(&flips)?;
        let rewrite = None;
        Ok(Plan {
            edits,
            steps,
            flips,
            rewrite,
            role,
        })
    }

    /// Returns whether hunk `hunk` must be applied or unapplied so that its fact is `fact` again;
    /// `None` if neither.
    fn wanted_again(&self, hunk: usize, fact: Fact) -> Option<bool> {
        match (fact, self.fact(hunk)) {
            (Fact::In, Fact::Out | Fact::Mixed) => Some(true),
            (Fact::Out, Fact::In | Fact::Mixed) => Some(false),
            // It is no longer known which part was applied.
            (Fact::Mixed, _) | (Fact::In, Fact::In) | (Fact::Out, Fact::Out) => None,
        }
    }

    /// Records the state of `hunks` before a plan with the role `role` changes them.
    pub(super) fn remember(&mut self, hunks: impl Iterator<Item = usize>, role: Role) {
        let past = |hunk| Past {
            id: self.ids[hunk],
            mark: self.marks[hunk],
            fact: self.fact(hunk),
        };
        let decision: Vec<Past> = hunks.map(past).collect();
        if decision.is_empty() {
            return;
        }
        let History { done, undone } = &mut self.history;
        match role {
            Role::Decision => {
                done.push(decision);
                undone.clear();
            }
            Role::Undo => {
                done.pop();
                undone.push(decision);
            }
            Role::Redo => {
                undone.pop();
                done.push(decision);
            }
        }
    }
}
