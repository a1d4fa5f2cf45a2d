//! Undo and redo of decisions.
//!
//! A decision is stored as the previous marks of the hunks that it changed, and which of their atoms
//! were applied, if it changed that. Undoing it is a plan like any other, which restores mark and text
//! together, wherever the hunks are now. Where the decision was only a mark, so is undoing it, whatever
//! others have done to the lines since.
//!
//! Splitting a hunk is stored as well. Undoing that joins the parts, and edits nothing: by then, all
//! decisions on single parts are undone.

use std::collections::HashMap;
use std::ops::Range;

use super::{Fact, Mark, Note, Plan, Refusal, Review, Step};

/// The state of a hunk before a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Past {
    id: usize,
    mark: Mark,
    /// `None` if the decision left the lines alone.
    applied: Option<Applied>,
}

/// Which atoms of a hunk are applied.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Applied {
    All,
    None,
    /// For each atom, whether it is; empty if that is no longer known.
    Some(Vec<bool>),
}

impl Applied {
    fn of(atoms: &[bool]) -> Applied {
        match (atoms.contains(&true), atoms.contains(&false)) {
            (true, false) => Applied::All,
            (false, true) => Applied::None,
            _ => Applied::Some(atoms.to_vec()),
        }
    }

    /// Returns this for each part of a hunk; the parts have `n_atoms` atoms.
    fn of_parts(&self, n_atoms: &[usize]) -> Vec<Applied> {
        let Applied::Some(atoms) = self else {
            return vec![self.clone(); n_atoms.len()];
        };
        // Otherwise an atom was cut.
        let is_known = atoms.len() == n_atoms.iter().sum::<usize>();
        let mut rest = &atoms[..];
        let part = |&n: &usize| {
            let part = rest.split_off(..n.min(rest.len())).unwrap_or_default();
            Applied::of(if is_known { part } else { &[] })
        };
        n_atoms.iter().map(part).collect()
    }

    /// Returns this for a hunk that is made of `parts`, which have `n_atoms` atoms.
    fn of_whole(parts: &[Applied], n_atoms: &[usize]) -> Applied {
        let mut atoms = Vec::new();
        for (part, &n) in parts.iter().zip(n_atoms) {
            match part {
                Applied::All => atoms.extend(vec![true; n]),
                Applied::None => atoms.extend(vec![false; n]),
                Applied::Some(part) if part.len() == n => atoms.extend(part),
                Applied::Some(_) => return Applied::Some(Vec::new()),
            }
        }
        Applied::of(&atoms)
    }
}

/// A hunk that was split.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Split {
    /// The id of the hunk.
    id: usize,
    /// The ids of its parts.
    parts: Vec<usize>,
    /// Where it was cut; known once it was joined. See [`Proposal::cuts`].
    ///
    /// [`Proposal::cuts`]: crate::proposal::Proposal
    cuts: Vec<usize>,
    /// Whether it was split for the decision that follows, and is undone along with that.
    is_for_next: bool,
}

/// What can be undone or redone.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Entry {
    Decision(Vec<Past>),
    Split(Split),
}

/// What can be undone or redone in a review, the latest last.
#[derive(Debug, Clone, Default)]
pub(super) struct History {
    done: Vec<Entry>,
    undone: Vec<Entry>,
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
    /// Records that the hunk with the id `id` was split into those with the ids `parts`, which have
    /// `n_atoms` atoms.
    pub(super) fn become_parts(&mut self, id: usize, parts: &[usize], n_atoms: &[usize]) {
        // As after any decision. What can be redone might be about other parts.
        self.undone.clear();
        self.hand_down(id, parts, n_atoms);
        self.done.push(Entry::Split(Split {
            id,
            parts: parts.to_vec(),
            cuts: Vec::new(),
            is_for_next: false,
        }));
    }

    /// Makes the decisions on the hunk with the id `id` decisions on `parts`, which have `n_atoms`
    /// atoms.
    fn hand_down(&mut self, id: usize, parts: &[usize], n_atoms: &[usize]) {
        for entry in self.done.iter_mut().chain(&mut self.undone) {
            if let Entry::Decision(decision) = entry
                && let Some(at) = decision.iter().position(|past| past.id == id)
            {
                let mark = decision[at].mark;
                let applied = match &decision[at].applied {
                    None => vec![None; parts.len()],
                    Some(applied) => applied.of_parts(n_atoms).into_iter().map(Some).collect(),
                };
                let parts = parts.iter().zip(applied);
                let pasts = parts.map(|(&id, applied)| Past { id, mark, applied });
                decision.splice(at..=at, pasts.collect::<Vec<_>>());
            }
        }
    }

    /// Makes the decisions on all of `parts`, which have `n_atoms` atoms, decisions on the hunk with
    /// the id `id`. Those that can be redone come after the split is redone, and so stay as they are.
    fn hand_up(&mut self, parts: &[usize], n_atoms: &[usize], id: usize) {
        for entry in &mut self.done {
            if let Entry::Decision(decision) = entry
                && let Some(at) = decision.iter().position(|past| past.id == parts[0])
            {
                let mark = decision[at].mark;
                let of_parts = decision.iter().filter(|past| parts.contains(&past.id));
                let all: Vec<Option<Applied>> = of_parts.map(|past| past.applied.clone()).collect();
                let known: Vec<Applied> = all.iter().flatten().cloned().collect();
                let applied = if known.is_empty() {
                    None
                } else if known.len() == parts.len() {
                    Some(Applied::of_whole(&known, n_atoms))
                } else {
                    Some(Applied::Some(Vec::new()))
                };
                decision.retain(|past| !parts.contains(&past.id));
                decision.insert(at.min(decision.len()), Past { id, mark, applied });
            }
        }
    }
}

impl Review {
    /// Returns the number of decisions and splits that can be undone.
    pub fn n_decisions(&self) -> usize {
        self.history.done.len()
    }

    /// Returns whether none of the latest `n` decisions and splits is a decision.
    pub(crate) fn are_splits(&self, n: usize) -> bool {
        let latest = self.history.done.iter().rev().take(n);
        latest
            .into_iter()
            .all(|entry| matches!(entry, Entry::Split(_)))
    }

    /// Joins the latest `n` decisions and splits into one decision, to be undone together. Without
    /// any decision among them, the splits stay separate.
    pub fn join_decisions(&mut self, n: usize) {
        if self.are_splits(n) {
            return;
        }
        let done = &mut self.history.done;
        let first = done.len().saturating_sub(n);
        let mut at: HashMap<usize, usize> = HashMap::new();
        let mut joined: Vec<Past> = Vec::new();
        for entry in done.split_off(first) {
            match entry {
                // The first state of a hunk is its state before all of them.
                Entry::Decision(pasts) => {
                    for past in pasts {
                        match at.get(&past.id) {
                            Some(&at) => {
                                joined[at].applied = joined[at].applied.take().or(past.applied)
                            }
                            None => {
                                at.insert(past.id, joined.len());
                                joined.push(past);
                            }
                        }
                    }
                }
                Entry::Split(split) => done.push(Entry::Split(Split {
                    is_for_next: true,
                    ..split
                })),
            }
        }
        done.push(Entry::Decision(joined));
    }

    /// If splitting a hunk can be undone next, undoes it: joins the parts. Returns the hunk and the
    /// number of parts that it had. If `is_for_decision`, only a split that was made for the
    /// decision that was undone just now is undone.
    ///
    /// Returns `None` if the latest entry is no such split.
    ///
    /// # Errors
    ///
    /// [`Refusal::Apart`] if the parts cannot be joined. The split is then forgotten, and what was
    /// done before it can be undone next.
    pub fn undo_split(&mut self, is_for_decision: bool) -> Result<Option<(usize, usize)>, Refusal> {
        let Some(Entry::Split(split)) = self.history.done.last() else {
            return Ok(None);
        };
        if is_for_decision && !split.is_for_next {
            return Ok(None);
        }
        let mut split = split.clone();
        self.history.done.pop();
        let n = split.parts.len();
        let hunk = self.ids.iter().position(|&id| id == split.parts[0]);
        let hunk = hunk.ok_or(Refusal::Apart)?;
        let hunks = hunk..hunk + n;
        // What was written before the review and taken out is put back by undoing that, beside the others.
        let is_ours = |part: usize| self.is_ours[part] && !self.is_written();
        let state = |part: usize| (self.marks[part], is_ours(part), self.fact(part));
        let can_join = self.ids.get(hunks.clone()) == Some(&split.parts)
            && hunks.clone().all(|part| state(part) == state(hunk))
            && self.proposal.can_join(hunk, n);
        if !can_join {
            return Err(Refusal::Apart);
        }
        split.cuts = self.proposal.cuts(hunk, n);
        let n_atoms = self.n_atoms(hunks.clone());
        self.proposal.join(hunk, n);
        self.revision += 1;
        let has_failed = self.has_failed[hunks.clone()].contains(&true);
        self.is_ours[hunk] = self.is_ours[hunks].contains(&true);
        self.marks.drain(hunk + 1..hunk + n);
        self.is_ours.drain(hunk + 1..hunk + n);
        self.has_failed.drain(hunk + 1..hunk + n);
        self.has_failed[hunk] = has_failed;
        self.ids.splice(hunk..hunk + n, [split.id]);
        self.history.hand_up(&split.parts, &n_atoms, split.id);
        self.history.undone.push(Entry::Split(split));
        Ok(Some((hunk, n)))
    }

    /// If splitting a hunk can be redone next, redoes it. Returns the hunk, the number of its parts,
    /// and whether the decision that follows is to be redone along with it; `None` if no split is
    /// next.
    ///
    /// # Errors
    ///
    /// [`Refusal`] says why the hunk cannot be cut any more. The split stays to be redone.
    pub fn redo_split(&mut self) -> Result<Option<(usize, usize, bool)>, Refusal> {
        let Some(Entry::Split(split)) = self.history.undone.last() else {
            return Ok(None);
        };
        let split = split.clone();
        let Some(hunk) = self.ids.iter().position(|&id| id == split.id) else {
            self.history.undone.pop();
            return Ok(None);
        };
        self.proposal.cut_again(hunk, &split.cuts)?;
        let (n, is_for_next) = (split.parts.len(), split.is_for_next);
        self.repeat_state(hunk, n);
        self.ids.splice(hunk..=hunk, split.parts.iter().copied());
        self.history.undone.pop();
        // What was undone after this split is about its parts already.
        let undone = std::mem::take(&mut self.history.undone);
        let n_atoms = self.n_atoms(hunk..hunk + n);
        self.history.hand_down(split.id, &split.parts, &n_atoms);
        self.history.undone = undone;
        self.history.done.push(Entry::Split(split));
        Ok(Some((hunk, n, is_for_next)))
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

    /// A split that is next is not skipped: it must be undone or redone first.
    fn plan_back(&self, entries: &[Entry], role: Role) -> Result<Plan, Refusal> {
        let Some(Entry::Decision(decision)) = entries.last() else {
            return Err(Refusal::NothingToTakeBack);
        };
        let hunks: HashMap<_, _> = (0..).zip(&self.ids).map(|(hunk, &id)| (id, hunk)).collect();
        let (mut steps, mut flips, mut atoms) = (Vec::new(), Vec::new(), Vec::new());
        for past in decision {
            // A hunk keeps its id, and the parts of a hunk take over its history.
            let Some(&hunk) = hunks.get(&past.id) else {
                continue;
            };
            let is_flip = match &past.applied {
                None => false,
                _ if self.stage.only_marks(self.marks[hunk], past.mark) => false,
                Some(Applied::All) => self.fact(hunk) != Fact::In,
                Some(Applied::None) => self.fact(hunk) != Fact::Out,
                Some(Applied::Some(wanted)) => {
                    let own = self.atoms_to_flip(hunk, wanted)?;
                    atoms.extend(&own);
                    !own.is_empty()
                }
            };
            let step = Step {
                mark: past.mark,
                is_flip,
                note: if is_flip { Note::Edited } else { Note::Marked },
            };
            self.check(hunk, step)?;
            if is_flip && !matches!(past.applied, Some(Applied::Some(_))) {
                flips.push((hunk, past.applied == Some(Applied::All)));
            }
            steps.push((hunk, step));
        }
        steps.sort_by_key(|(hunk, _)| *hunk);
        flips.sort_unstable();
        let edits = self.proposal.edits_for_atoms(&flips, &atoms)?;
        let rewrite = None;
        Ok(Plan {
            edits,
            steps,
            flips,
            atoms,
            rewrite,
            role,
        })
    }

    /// Returns which atoms of hunk `hunk` must be flipped so that those are applied that `wanted`
    /// names.
    ///
    /// # Errors
    ///
    /// [`Refusal::PartsUnknown`] if `wanted` is not about the atoms that the hunk has now.
    fn atoms_to_flip(&self, hunk: usize, wanted: &[bool]) -> Result<Vec<usize>, Refusal> {
        let (first, applied) = self.proposal.applied_atoms(hunk);
        if applied.len() != wanted.len() {
            return Err(Refusal::PartsUnknown);
        }
        let differs = applied.iter().zip(wanted).map(|(is, wanted)| is != wanted);
        let atoms = (first..).zip(differs);
        Ok(atoms
            .filter(|(_, differs)| *differs)
            .map(|(atom, _)| atom)
            .collect())
    }

    /// Returns how many atoms each of `hunks` has.
    pub(super) fn n_atoms(&self, hunks: Range<usize>) -> Vec<usize> {
        hunks
            .map(|hunk| self.proposal.applied_atoms(hunk).1.len())
            .collect()
    }

    /// Records the state of `hunks` before a plan with the role `role` changes them, each with whether
    /// it changes their lines.
    pub(super) fn remember(&mut self, hunks: impl Iterator<Item = (usize, bool)>, role: Role) {
        let past = |(hunk, is_flip): (usize, bool)| Past {
            id: self.ids[hunk],
            mark: self.marks[hunk],
            applied: is_flip.then(|| Applied::of(&self.proposal.applied_atoms(hunk).1)),
        };
        let decision: Vec<Past> = hunks.map(past).collect();
        if decision.is_empty() {
            return;
        }
        let History { done, undone } = &mut self.history;
        match role {
            Role::Decision => {
                done.push(Entry::Decision(decision));
                undone.clear();
            }
            Role::Undo => {
                done.pop();
                undone.push(Entry::Decision(decision));
            }
            Role::Redo => {
                undone.pop();
                done.push(Entry::Decision(decision));
            }
        }
    }
}
