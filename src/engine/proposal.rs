//! A proposal's hunks, and where each of them is in the target.
//!
//! If the original is known, every place is known from the weave. A bare diff (one without its
//! original) has only the lines of its hunks: these are woven as if they were the original, and
//! each hunk's run of lines is then searched for in the target.
//!
//! Edits of the target by others enter the weave as they are made. If one was missed, the target is
//! compared with the weave, and a hunk whose place the comparison does not prove is ambiguous: the
//! user must check and confirm the place before the hunk can be changed there.
//!
//! Following a target that did not change costs one comparison of its bytes; otherwise it costs a
//! diff of the part that changed, or for a bare diff one exact search for each hunk.
//!
//! The parts, and what each of them knows:
//!
//! - `Weave` knows lines, atoms and places; `Hunks` knows which atoms make a hunk; `HunkLines`
//!   knows the lines of one hunk.
//! - `Doubts` knows which atoms may be elsewhere. `AgentLines` keeps what the agent proposed in
//!   place of what the user rewrote. `Bare` keeps what a bare diff says of its hunks, and where
//!   they were found.
//! - `search` finds the hunks of a bare diff, `outside_edits` recognizes a target that is the original
//!   with some of the hunks, `learning` compares any other target. They do not know of each other.
//! - [`Proposal`] owns all of them and decides which to use when the target changes
//!   (`outside_edits`, `placing`) and when hunks change (`rewrite`).

mod bare;
mod hunks;
mod learning;
mod outside_edits;
mod placing;
mod rewrite;
mod search;
mod white_space;

use thiserror::Error;

use crate::diff::{self, Budget, Comparison};
use crate::patch::locate::{self, NotPlaced, Place};
use crate::patch::parse::ParseError;
use crate::text::Text;
use crate::weave::{Around, Changed, FlipError, LineEdit, Weave};

use bare::Bare;
pub(crate) use hunks::Shown;
use hunks::{HunkLines, Hunks};
use learning::{Doubts, Learning};
pub use outside_edits::Seen;
use outside_edits::n_lines;
pub use placing::Side;
use rewrite::AgentLines;
pub use rewrite::Rewrite;
pub use search::Candidate;
pub use white_space::Spacing;

/// Why there is nothing to review.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ProposalError {
    /// Original and modified text are equal.
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
    /// A hunk other than the last has a no-newline marker, so that it ends the file.
    #[error("hunk {} says that the file ends there, but another hunk follows", hunk + 1)]
    EndsEarly {
        /// Index of the hunk (0-based).
        hunk: usize,
    },
}

/// Why a hunk cannot be applied or unapplied.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Obstacle {
    /// Its place is not known.
    #[error(transparent)]
    NotPlaced(#[from] NotPlaced),
    /// Its lines cannot be changed.
    #[error(transparent)]
    Flip(#[from] FlipError),
}

/// A change in its place in the target, where it can be drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drawn<'a> {
    /// The line of the target (0-based) at which it is or would be.
    pub line: usize,
    /// Whether the target holds the new lines instead of the old ones.
    pub is_in: bool,
    /// Which of the changed lines of its hunk is its first, from 0.
    pub at: usize,
    /// How many of these lines it has.
    pub n_lines: usize,
    /// The lines that it removes.
    pub old: &'a [u8],
    /// The lines that it adds.
    pub new: &'a [u8],
}

/// A proposal: its hunks, woven with the target.
#[derive(Debug, Clone)]
pub struct Proposal {
    weave: Weave,
    hunks: Hunks,
    doubts: Doubts,
    agents: AgentLines,
    /// What a bare diff says of its hunks, as long as the text that it was made from is unknown.
    bare: Option<Bare>,
    /// Whether the budget did not suffice for comparing the texts.
    is_coarse: bool,
    /// The budget for merging a hunk.
    budget: Budget,
    /// How white space is read in the language of the text, if that is known.
    spacing: Option<Spacing>,
}

impl Proposal {
    /// Makes a proposal from two whole texts, with `context_len` lines of context around each
    /// change.
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

    /// Like [`Proposal::from_texts`], with the given budget for comparing the texts.
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
        let (original, modified) = (Text::new(original), Text::new(modified));
        let Comparison { edits, is_coarse } = diff::edits_within(&original, &modified, budget);
        if edits.is_empty() {
            return Err(ProposalError::Identical);
        }
        let groups = diff::group(&edits, original.len(), context_len);
        let weave = Weave::new(original, modified, &edits);
        let hunks = Hunks::new(groups, Vec::new());
        let proposal = Proposal::new(weave, hunks, None);
        Ok(Proposal {
            is_coarse,
            budget,
            ..proposal
        })
    }

    fn new(weave: Weave, hunks: Hunks, bare: Option<Bare>) -> Proposal {
        Proposal {
            doubts: Doubts::none(weave.atoms().len()),
            agents: AgentLines::default(),
            weave,
            hunks,
            bare,
            is_coarse: false,
            budget: Budget::default(),
            spacing: None,
        }
    }

    /// Returns the number of hunks.
    pub fn n_hunks(&self) -> usize {
        self.hunks.len()
    }

    /// Returns the lines (0-based) of the hunk headers in the diff that this proposal was made
    /// from; empty if it was made from two texts.
    pub fn header_lines(&self) -> &[usize] {
        self.hunks.header_lines()
    }

    /// Returns whether comparing the texts exceeded the budget, so that hunks may be larger than
    /// necessary. They are still correct.
    pub fn is_coarse(&self) -> bool {
        self.is_coarse
    }

    /// Returns whether no hunk changes anything. That cannot happen with two texts, but a diff can
    /// remove lines and add the same lines again.
    pub fn is_idle(&self) -> bool {
        self.weave.original() == self.weave.modified()
    }

    /// Returns whether the whole change of hunk `hunk` is in the target.
    pub fn is_in(&self, hunk: usize) -> bool {
        self.lines_of(hunk).is_in()
    }

    /// Returns whether no part of the change of hunk `hunk` is in the target.
    pub(crate) fn is_out(&self, hunk: usize) -> bool {
        self.lines_of(hunk).is_out()
    }

    /// Returns whether hunk `hunk` adds lines, and does not only remove some.
    pub(crate) fn adds_lines(&self, hunk: usize) -> bool {
        let mut edits = self.edits(hunk).into_iter();
        edits.any(|edit| !edit.after.is_empty())
    }

    /// Returns how many outer context lines on each side were ignored to find hunk `hunk`.
    pub fn fuzz(&self, hunk: usize) -> usize {
        self.bare.as_ref().map_or(0, |bare| bare.hunk(hunk).fuzz)
    }

    /// Returns why the place of hunk `hunk` is not known, or `None` if it is.
    pub(crate) fn reason(&self, hunk: usize) -> Option<NotPlaced> {
        let candidates = || self.line(hunk).into_iter().collect();
        let doubt = || NotPlaced::Ambiguous {
            candidates: candidates(),
        };
        let is_doubted = self.doubts.is_any(self.hunks.atoms(hunk));
        let lost = self.offset(hunk).err().cloned();
        lost.or_else(|| is_doubted.then(doubt))
    }

    /// Returns why hunk `hunk` cannot be applied or unapplied; `None` if it can.
    pub fn obstacle(&self, hunk: usize) -> Option<Obstacle> {
        let mut atoms = self.hunks.atoms(hunk);
        let conflict = atoms.find_map(|atom| self.weave.check(atom).err());
        match (conflict, self.reason(hunk)) {
            // Only a search leaves atoms without a place, and it knows why.
            (Some(FlipError::NoPlace) | None, Some(reason)) => Some(reason.into()),
            (Some(conflict), _) => Some(conflict.into()),
            (None, None) => None,
        }
    }

    /// Returns whether the change of hunk `hunk` was in the target, but others have changed its
    /// lines since, or it is unknown where they are.
    pub fn is_lost(&self, hunk: usize) -> bool {
        !self.is_out(hunk) && self.is_changed(hunk)
    }

    /// Returns whether others have changed the lines that hunk `hunk` has in the target, be it in or out, or
    /// it is unknown where they are.
    pub(crate) fn is_changed(&self, hunk: usize) -> bool {
        matches!(
            self.obstacle(hunk),
            Some(Obstacle::NotPlaced(_) | Obstacle::Flip(FlipError::ChangedByUser { .. }))
        )
    }

    /// Returns whether somebody else changed a line next to a change of hunk `hunk`.
    ///
    /// Of a bare diff, the lines around what was found are like those of somebody else: nothing is
    /// known about them.
    pub fn is_next_to_edit(&self, hunk: usize) -> bool {
        if self.bare.is_some() {
            let lines = self.lines_of(hunk);
            let (shown, ignored) = (lines.context_lens(), lines.ignored(self.fuzz(hunk)));
            if shown[0] == ignored[0] || shown[1] == ignored[1] {
                return false;
            }
        }
        let mut atoms = self.hunks.atoms(hunk);
        atoms.any(|atom| self.weave.is_next_to_edit(atom))
    }

    /// Returns where the first change of hunk `hunk` is in the target, or why that is not known.
    pub fn place(&self, hunk: usize) -> Result<Place, NotPlaced> {
        self.reason(hunk).map_or(Ok(()), Err)?;
        let offset = self.offset(hunk).map_err(NotPlaced::clone)?;
        let line = self.line(hunk);
        let offset = offset + shift(&self.weave, &self.hunks, hunk);
        line.map(|line| Place { line, offset })
            .ok_or(NotPlaced::NotFound)
    }

    /// Returns the line of the target (0-based) at which the weave has the first change of hunk
    /// `hunk`, certain or not; `None` if it has none.
    pub fn line(&self, hunk: usize) -> Option<usize> {
        self.weave.line_of(self.hunks.atoms(hunk).start)
    }

    /// Returns the changes of hunk `hunk` that can be drawn in the target, in order: those that could
    /// be made there, or undone. If its place is not certain, there are none.
    pub fn drawn(&self, hunk: usize) -> Vec<Drawn<'_>> {
        if self.place(hunk).is_err() {
            return Vec::new();
        }
        let mut n_above = 0;
        let drawn = self.hunks.atoms(hunk).filter_map(|index| {
            let atom = &self.weave.atoms()[index];
            let at = n_above;
            n_above += atom.n_lines();
            self.weave.check(index).ok()?;
            let line = self.weave.line_of(index)?;
            let [old, new] = [false, true].map(|is_new| self.weave.side(atom, is_new));
            let is_in = atom.is_applied;
            Some(Drawn {
                line,
                is_in,
                at,
                n_lines: atom.n_lines(),
                old,
                new,
            })
        });
        drawn.collect()
    }

    /// Records that somebody confirmed the weave's place for hunk `hunk`.
    pub(crate) fn vouch(&mut self, hunk: usize) {
        self.doubts.vouch_for(self.hunks.atoms(hunk));
    }

    /// Returns the original and the modified text, as far as they are known.
    pub(crate) fn texts(&self) -> [&Text; 2] {
        [self.weave.original(), self.weave.modified()]
    }

    /// Returns the original text, as far as it is known: of a bare diff, the lines of its hunks.
    pub fn original(&self) -> &[u8] {
        self.weave.original().bytes()
    }

    /// Returns the target, according to the weave.
    pub fn target(&self) -> Vec<u8> {
        self.weave.target().to_vec()
    }

    /// Returns which of the proposal's two texts the target equals; `None` if neither, or if that
    /// is unknown.
    pub fn side(&self) -> Option<Side> {
        // If the user rewrote a hunk, the weave's texts are no longer those of the proposal.
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

    /// Returns the edits, in the order of their lines, that apply each hunk in `wanted` that is
    /// paired with `true` and unapply the others. `wanted` is in the order of the hunks.
    ///
    /// # Errors
    ///
    /// The first [`FlipError`] that prevents it; then none of the edits can be made.
    pub fn edits_for(&self, wanted: &[(usize, bool)]) -> Result<Vec<LineEdit>, FlipError> {
        self.edits_for_atoms(wanted, &[])
    }

    /// Like [`Proposal::edits_for`], for edits that also flip `atoms`, which belong to other hunks.
    pub(crate) fn edits_for_atoms(
        &self,
        wanted: &[(usize, bool)],
        atoms: &[usize],
    ) -> Result<Vec<LineEdit>, FlipError> {
        self.weave.edits_to_flip(&self.atoms_to_flip(wanted, atoms))
    }

    /// Records that the edits of [`Proposal::edits_for_atoms`] for `wanted` and `atoms` were made.
    pub(crate) fn flip(&mut self, wanted: &[(usize, bool)], atoms: &[usize]) {
        let atoms = self.atoms_to_flip(wanted, atoms);
        self.move_candidates_for(&atoms);
        self.weave.flip(&atoms);
    }

    /// Returns the offsets of `edits`, in characters of the target as Emacs counts them.
    pub fn offsets_of(&self, edits: &[LineEdit]) -> Vec<usize> {
        let offset = |edit: &LineEdit| self.weave.target().chars_before(edit.line);
        edits.iter().map(offset).collect()
    }

    /// Returns the number of characters of the target, as Emacs counts them.
    pub fn n_chars(&self) -> usize {
        self.weave.target().n_chars()
    }

    /// Records that the target is now `live`, and returns whether that is a change.
    pub fn follow(&mut self, live: &[u8]) -> bool {
        if let Some(bare) = &mut self.bare {
            // The weave knows the places of its own edits; a new search might lose one of them.
            let was_seen = bare.see_target();
            let is_news = !was_seen || !self.weave.target().is(live);
            if is_news {
                let changed = self.weave.target().changed_in(live);
                if let Some(changed) = changed.filter(|_| was_seen) {
                    self.move_expected(&changed.lines, n_lines(&changed.text));
                }
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

    fn follow_change(&mut self, changed: &Changed) {
        let target = self.weave.target();
        let pieces = target.pieces_with(&changed.lines, &changed.text);
        match outside_edits::facts_in(&self.weave, &self.hunks, &pieces) {
            Some(facts) => self.become_choice(&facts),
            None => self.learning().learn_missed(changed),
        }
    }

    /// Records that the target is the original with just the hunks applied for which `facts` has
    /// `true`.
    fn become_choice(&mut self, facts: &[bool]) {
        let is_applied = self.hunks.applied_by(facts.iter().copied());
        self.weave.lay_whole(&is_applied);
        self.doubts = Doubts::none(is_applied.len());
    }

    fn learning(&mut self) -> Learning<'_> {
        Learning {
            weave: &mut self.weave,
            doubts: &mut self.doubts,
        }
    }

    fn lines_of(&self, hunk: usize) -> HunkLines<'_> {
        HunkLines::new(&self.weave, &self.hunks, hunk)
    }

    /// Returns how many lines below its expected place `hunk` is; only for a bare diff can that
    /// differ from 0.
    fn offset(&self, hunk: usize) -> Result<isize, &NotPlaced> {
        self.bare.as_ref().map_or(Ok(0), |bare| bare.offset(hunk))
    }

    /// Returns the first atom of `hunk`, and for each of its atoms whether it is applied.
    pub(crate) fn applied_atoms(&self, hunk: usize) -> (usize, Vec<bool>) {
        let atoms = self.hunks.atoms(hunk);
        let is_applied = self.weave.atoms()[atoms.clone()].iter();
        (
            atoms.start,
            is_applied.map(|atom| atom.is_applied).collect(),
        )
    }

    fn atoms_to_flip(&self, wanted: &[(usize, bool)], besides: &[usize]) -> Vec<usize> {
        let flips = |&(hunk, wanted): &(usize, bool)| {
            let atoms = self.hunks.atoms(hunk);
            atoms.filter(move |&atom| self.weave.atoms()[atom].is_applied != wanted)
        };
        let mut atoms: Vec<usize> = wanted.iter().flat_map(flips).collect();
        atoms.extend(besides);
        atoms.sort_unstable();
        atoms
    }
}

/// Returns how many lines below its place in the original `hunk` is, not counting lines that the
/// hunks above it add or remove.
fn shift(weave: &Weave, hunks: &Hunks, hunk: usize) -> isize {
    let first = hunks.atoms(hunk).start;
    let start = weave.atoms()[first].old.start;
    let line = weave.line_of(first).unwrap_or(start);
    locate::offset(start, line) - weave.delta_before(first)
}
