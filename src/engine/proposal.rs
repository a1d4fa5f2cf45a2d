//! A proposal's hunks, and where each of them is in the target.
//!
//! A proposal with its original knows every place from the line map. A bare diff (one that came
//! without its original) brings only the lines of its hunks: they are woven as if they were the
//! original, and each run is then searched in the target.
//!
//! Edits of the target by others enter the map as they are made. Where one was missed, the target
//! is compared with what the map has, and a hunk whose place the comparison does not prove is
//! ambiguous: it takes somebody who looks at the place, and vouches for it, to change it.
//!
//! Following a target that is as the map has it costs one comparison of its bytes; anything else
//! costs a diff of what is different, or for a bare diff one exact search for each hunk.

mod anchors;
mod assembly;
mod bare;
mod blob;
mod candidates;
mod follow;
mod fuzz;
mod outside_edits;
mod rewrite;
mod settle;
mod sides;
mod split;
mod vouch;

use std::ops::Range;

use thiserror::Error;

use crate::diff::{self, Budget, Comparison, Edit, Group};
use crate::patch::hunk::Hunk;
use crate::patch::locate::{self, NotPlaced, Place};
use crate::patch::parse::ParseError;
use crate::weave::{Atom, Changed, FlipError, LineEdit, Next, Reading, Weave};
use bare::Bare;
pub use blob::Side;
pub use candidates::Candidate;
pub use outside_edits::Seen;
use rewrite::Lines;
pub use rewrite::{Change, Rewrite};

/// Why there is nothing to review.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ProposalError {
    /// Original and modified text are the same.
    #[error("the proposal changes nothing: original and modified text are identical")]
    Identical,
    /// The text is not a unified diff.
    #[error(transparent)]
    Malformed(#[from] ParseError),
    /// The diff changes more than one file.
    #[error("the diff changes {n_files} files; review them one at a time")]
    SeveralFiles {
        /// Number of files in the diff.
        n_files: usize,
    },
    /// A hunk other than the last says that its last line ends the file.
    #[error("hunk {} says that the file ends there, but another hunk follows", hunk + 1)]
    EndsEarly {
        /// Index of the hunk.
        hunk: usize,
    },
}

/// Why a hunk cannot be put into its target, or taken out.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Obstacle {
    /// Its place is not known.
    #[error(transparent)]
    NotPlaced(#[from] NotPlaced),
    /// Its lines cannot change.
    #[error(transparent)]
    Flip(#[from] FlipError),
}

/// The hunks of one proposal, woven with its target.
#[derive(Debug, Clone)]
pub struct Proposal {
    weave: Weave,
    groups: Vec<Group>,
    /// For each hunk the lines between where the map expects it and where it was expected, which
    /// differ for a bare diff only; or why a search did not find it.
    offsets: Vec<Result<isize, NotPlaced>>,
    /// For each hunk the outer context lines on a side that were ignored to find it.
    fuzz: Vec<usize>,
    /// For each atom whether it may be elsewhere than the map has it.
    is_doubted: Vec<bool>,
    /// The atoms that edits made doubtful, each with how much had happened to the target before.
    past_doubts: Vec<(usize, Vec<usize>)>,
    /// The atoms of the agent's that the user has made something else of.
    agents: Vec<Lines>,
    /// Whether the budget to compare the texts was spent.
    is_coarse: bool,
    /// Lines of the diff (0-based) where the hunks' headers stand; none if it was two texts.
    header_lines: Vec<usize>,
    /// What a merge of a hunk may take.
    budget: Budget,
    bare: Option<Bare>,
}

impl Proposal {
    /// Makes a proposal of two whole texts, with `context_len` lines of context around a change.
    ///
    /// # Errors
    ///
    /// [`ProposalError::Identical`] if there is no change.
    pub fn from_texts(
        original: Vec<u8>,
        modified: Vec<u8>,
        context_len: usize,
    ) -> Result<Proposal, ProposalError> {
        Proposal::from_texts_within(original, modified, context_len, Budget::default())
    }

    /// The same, with another budget to compare the texts than the usual one.
    ///
    /// # Errors
    ///
    /// [`ProposalError::Identical`] if there is no change.
    pub fn from_texts_within(
        original: Vec<u8>,
        modified: Vec<u8>,
        context_len: usize,
        budget: Budget,
    ) -> Result<Proposal, ProposalError> {
        let (original, modified, found) = diff::texts_and_edits(original, modified, budget);
        let Comparison { edits, is_coarse } = found;
        if edits.is_empty() {
            return Err(ProposalError::Identical);
        }
        let groups = diff::group(&edits, original.len(), context_len);
        let weave = Weave::new(original, modified, &edits);
        let proposal = Proposal::new(weave, groups, None);
        Ok(Proposal {
            is_coarse,
            budget,
            ..proposal
        })
    }

    fn new(weave: Weave, groups: Vec<Group>, bare: Option<Bare>) -> Proposal {
        let (offsets, fuzz) = (vec![Ok(0); groups.len()], vec![0; groups.len()]);
        Proposal {
            is_doubted: vec![false; weave.atoms().len()],
            past_doubts: Vec::new(),
            agents: Vec::new(),
            weave,
            groups,
            offsets,
            fuzz,
            is_coarse: false,
            header_lines: Vec::new(),
            budget: Budget::default(),
            bare,
        }
    }

    /// Returns the number of hunks.
    pub fn n_hunks(&self) -> usize {
        self.groups.len()
    }

    /// Tells whether the texts were too much to compare, so that hunks may be bigger than they need
    /// to be. They are right all the same.
    pub fn is_coarse(&self) -> bool {
        self.is_coarse
    }

    /// Tells whether all hunks leave their lines as they are. Of two texts none does, but a diff can
    /// remove lines and add the same.
    pub fn is_idle(&self) -> bool {
        self.weave.original() == self.weave.modified()
    }

    /// Tells whether the change of hunk `hunk` is in the target, all of it.
    pub fn is_in(&self, hunk: usize) -> bool {
        self.atoms_of(hunk)
            .all(|atom| self.weave.atoms()[atom].is_applied)
    }

    /// Tells whether nothing of the change of hunk `hunk` is in the target.
    pub fn is_out(&self, hunk: usize) -> bool {
        self.atoms_of(hunk)
            .all(|atom| !self.weave.atoms()[atom].is_applied)
    }

    /// Returns why the place of hunk `hunk` is not known, or `None` if it is.
    pub fn reason(&self, hunk: usize) -> Option<NotPlaced> {
        let is_doubted = self.is_doubted[self.atoms_of(hunk)].contains(&true);
        let candidates = || self.line(hunk).into_iter().collect();
        let doubt = || NotPlaced::Ambiguous {
            candidates: candidates(),
        };
        let lost = self.offsets[hunk].as_ref().err();
        lost.cloned().or_else(|| is_doubted.then(doubt))
    }

    /// Returns why hunk `hunk` cannot be put in or taken out, or `None` if nothing is in the way.
    pub fn obstacle(&self, hunk: usize) -> Option<Obstacle> {
        let mut atoms = self.atoms_of(hunk);
        let conflict = atoms.find_map(|atom| self.weave.check(atom).err());
        match (conflict, self.reason(hunk)) {
            // Atoms without a place are a search's, and it knows why.
            (Some(FlipError::NoPlace) | None, Some(reason)) => Some(reason.into()),
            (Some(conflict), _) => Some(conflict.into()),
            (None, None) => None,
        }
    }

    /// Tells whether the change of hunk `hunk` was in the target, and others have changed its lines
    /// since or nobody knows where they are.
    pub fn is_lost(&self, hunk: usize) -> bool {
        let obstacle = self.obstacle(hunk);
        let is_changed = |obstacle: &Obstacle| {
            matches!(
                obstacle,
                Obstacle::NotPlaced(_) | Obstacle::Flip(FlipError::ChangedByUser { .. })
            )
        };
        !self.is_out(hunk) && obstacle.as_ref().is_some_and(is_changed)
    }

    /// Tells whether a line right beside a change of hunk `hunk` was changed by somebody else.
    pub fn is_next_to_edit(&self, hunk: usize) -> bool {
        let mut atoms = self.atoms_of(hunk);
        atoms.any(|atom| self.weave.is_next_to_edit(atom))
    }

    /// Returns where the first change of hunk `hunk` is in the target, or why that is not known.
    pub fn place(&self, hunk: usize) -> Result<Place, NotPlaced> {
        self.reason(hunk).map_or(Ok(()), Err)?;
        let offset = self.offsets[hunk].clone()?;
        let line = self.weave.line_of(self.atoms_of(hunk).start);
        let offset = offset + self.shift(hunk);
        line.map(|line| Place { line, offset })
            .ok_or(NotPlaced::NotFound)
    }

    /// Returns the line that the map has for the first change of hunk `hunk`, known or not.
    pub fn line(&self, hunk: usize) -> Option<usize> {
        self.weave.line_of(self.atoms_of(hunk).start)
    }

    /// Takes the line map's word for the place of hunk `hunk`: somebody looked, and it is right.
    pub fn vouch(&mut self, hunk: usize) {
        let atoms = self.atoms_of(hunk);
        self.is_doubted[atoms].fill(false);
    }

    /// Returns how many lines below the place in the original the hunk is, not counting what the
    /// hunks above it add and remove.
    fn shift(&self, hunk: usize) -> isize {
        let first = self.atoms_of(hunk).start;
        let start = self.weave.atoms()[first].old.start;
        let line = self.weave.line_of(first).unwrap_or(start);
        locate::offset(start, line) - self.weave.delta_before(first)
    }

    /// Returns the target, as the line map has it.
    pub fn target(&self) -> Vec<u8> {
        self.weave.target().to_vec()
    }

    /// Returns which of the two texts that the proposal was made of the target is; `None` if it is
    /// neither, or if that is not known.
    pub fn side(&self) -> Option<Side> {
        // What the user rewrites is rewritten in the line map's texts.
        if self.bare.is_some() || !self.agents.is_empty() {
            return None;
        }
        let sides = [
            (Side::New, self.weave.modified()),
            (Side::Old, self.weave.original()),
        ];
        let found = sides
            .into_iter()
            .find(|(_, text)| self.weave.target().is(text.bytes()));
        found.map(|(side, _)| side)
    }

    /// Returns all hunks as a diff shows them; see [`Proposal::hunks_in`].
    pub fn hunks(&self, rule: diff::HeadingRule) -> Vec<Hunk<'_>> {
        self.hunks_in(0..self.n_hunks(), rule)
    }

    /// Returns the edits that bring all of each hunk in `wanted`, in order, to the fact that stands
    /// beside it, in the order of their lines.
    ///
    /// # Errors
    ///
    /// See [`Weave::edits_to_flip`].
    pub fn edits_for(&self, wanted: &[(usize, bool)]) -> Result<Vec<LineEdit>, FlipError> {
        self.weave.edits_to_flip(&self.atoms_to_flip(wanted))
    }

    /// Notes that the target was brought to the facts `wanted`, as [`Proposal::edits_for`] has them.
    pub fn bring_to(&mut self, wanted: &[(usize, bool)]) {
        let atoms = self.atoms_to_flip(wanted);
        self.move_candidates_for(&atoms);
        self.weave.flip(&atoms);
    }

    /// Returns where `edits` begin, in characters of the target as Emacs counts them.
    pub fn offsets_of(&self, edits: &[LineEdit]) -> Vec<usize> {
        let offset = |edit: &LineEdit| self.weave.target().chars_before(edit.line);
        edits.iter().map(offset).collect()
    }

    /// Returns the number of characters of the target, as Emacs counts them.
    pub fn n_chars(&self) -> usize {
        self.weave.target().n_chars()
    }

    /// Learns that the target is now `live`, and tells whether that is news.
    pub fn follow(&mut self, live: &[u8]) -> bool {
        if let Some(bare) = &mut self.bare {
            let is_first = !std::mem::replace(&mut bare.has_target, true);
            // The map knows the places of its own edits; a search might lose one of them.
            let is_news = is_first || !self.weave.target().is(live);
            if is_news {
                self.search(live);
            }
            return is_news;
        }
        let changed = self.weave.target().changed_in(live);
        changed.is_some_and(|changed| {
            self.follow_change(&changed);
            true
        })
    }

    /// Returns a reading of the target's text, for [`Proposal::read_on`]; `None` if the whole text is
    /// needed. The text has `n_chars` characters, as Emacs counts them.
    pub fn reading(&self, n_chars: usize) -> Option<Reading> {
        // A bare diff is searched for everywhere.
        self.bare.is_none().then(|| Reading::new(n_chars))
    }

    /// Goes on with `reading`, as [`Weave::read_on`] does, and at its end learns what was found.
    pub fn read_on(&mut self, reading: &mut Reading, text: &[u8]) -> Next {
        let next = reading.read_on(self.weave.target(), text);
        if let Next::Changed(changed) = &next {
            self.follow_change(changed);
        }
        next
    }

    fn follow_change(&mut self, changed: &Changed) {
        let pieces = self
            .weave
            .target()
            .pieces_with(&changed.lines, &changed.text);
        match self.facts_in(&pieces) {
            Some(facts) => self.unravel(&facts),
            None => self.fold_missed(changed),
        }
    }

    fn atoms_of(&self, hunk: usize) -> Range<usize> {
        self.groups[hunk].edits.clone()
    }

    fn atoms_to_flip(&self, wanted: &[(usize, bool)]) -> Vec<usize> {
        let flips = |&(hunk, wanted): &(usize, bool)| {
            let atoms = self.atoms_of(hunk);
            atoms.filter(move |&atom| self.weave.atoms()[atom].is_applied != wanted)
        };
        wanted.iter().flat_map(flips).collect()
    }

    /// Returns for each atom whether it is applied if `facts` tell it of each hunk.
    fn applied_by(&self, facts: impl Iterator<Item = bool>) -> Vec<bool> {
        let hunks = self.groups.iter().zip(facts);
        let of_atoms = hunks.flat_map(|(group, is_in)| vec![is_in; group.edits.len()]);
        of_atoms.collect()
    }
}

fn edit_of(atom: &Atom) -> Edit {
    Edit {
        before: atom.old.clone(),
        after: atom.new.clone(),
    }
}
