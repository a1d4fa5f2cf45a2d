//! Undo and redo of decisions.
//!
//! A decision is remembered as what the hunks were before it that it changed. Taking it back is a
//! plan like any other, which brings mark and fact back together, wherever the hunks now are.

use std::collections::{HashMap, HashSet};

use super::{Fact, Mark, Note, Plan, Refusal, Review, Step};

/// What a hunk was before a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Past {
    id: usize,
    mark: Mark,
    fact: Fact,
}

/// The decisions of a review, the latest last.
#[derive(Debug, Clone, Default)]
pub(super) struct History {
    done: Vec<Vec<Past>>,
    undone: Vec<Vec<Past>>,
}

/// What a plan is to the history of decisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    /// It is a decision, and can be taken back.
    #[default]
    Decision,
    /// It takes the latest decision back.
    Undo,
    /// It takes a decision again that was taken back.
    Redo,
}

impl History {
    /// Notes that the hunk with the number `id` is now those with the numbers `parts`.
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
    /// Returns the number of decisions that can be taken back.
    pub fn n_decisions(&self) -> usize {
        self.history.done.len()
    }

    /// Makes the latest `n` decisions one, to be taken back together.
    pub fn join_decisions(&mut self, n: usize) {
        let done = &mut self.history.done;
        let first = done.len().saturating_sub(n);
        let mut ids = HashSet::new();
        let past = done.drain(first..).flatten();
        // What came first is what there was before all of them.
        let joined: Vec<Past> = past.filter(|past| ids.insert(past.id)).collect();
        if !joined.is_empty() {
            done.push(joined);
        }
    }

    /// Plans to bring what the latest decision has changed back to what it was, mark and fact.
    ///
    /// # Errors
    ///
    /// [`Refusal::NothingToTakeBack`], or why a hunk's lines cannot change now.
    pub fn plan_undo(&self) -> Result<Plan, Refusal> {
        self.plan_back(&self.history.done, Role::Undo)
    }

    /// Plans to take a decision again that was taken back last.
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
            // A hunk keeps its number, or hands on what is known by it.
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

    /// Returns what hunk `hunk` is to be brought to so that its fact is `fact` again, if anything.
    fn wanted_again(&self, hunk: usize, fact: Fact) -> Option<bool> {
        match (fact, self.fact(hunk)) {
            (Fact::In, Fact::Out | Fact::Mixed) => Some(true),
            (Fact::Out, Fact::In | Fact::Mixed) => Some(false),
            // Which part it was is not known any more.
            (Fact::Mixed, _) | (Fact::In, Fact::In) | (Fact::Out, Fact::Out) => None,
        }
    }

    /// Notes what `hunks` are before they are changed, by a plan of that `role`.
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
