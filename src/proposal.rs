//! A proposal's hunks, and where each of them is in the target.
//!
//! A proposal with its original knows every place from the line map. A bare diff (one that came
//! without its original) brings only the lines of its hunks: they are woven as if they were the
//! original, and each run is then searched in the target. The same search serves a proposal whose
//! target changed behind the map's back.
//!
//! Following a target that is as the map has it costs one comparison of its bytes; anything else
//! costs one pass over the target and one exact search for each hunk.

mod follow;
mod fuzz;
mod split;

use std::ops::Range;

use thiserror::Error;

use crate::diff::{self, Edit, Group};
use crate::hunk::{Hunk, LineKind};
use crate::parse::{self, FileDiff, ParseError, ParsedHunk};
use crate::place::{NotPlaced, Place};
use crate::text::{Text, is_unterminated};
use crate::weave::{Atom, FlipError, LineEdit, Weave};

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

/// The hunks of one proposal, woven with its target.
#[derive(Debug, Clone)]
pub struct Proposal {
    weave: Weave,
    groups: Vec<Group>,
    /// For each hunk the lines between its expected and its true place, or why it has none.
    offsets: Vec<Result<isize, NotPlaced>>,
    /// For each hunk the outer context lines on a side that were ignored to find it.
    fuzz: Vec<usize>,
    /// Whether the line map knows a target; that of a bare diff has seen none at first.
    has_target: bool,
    bare: Option<Bare>,
}

/// What only a bare diff has.
#[derive(Debug, Clone)]
struct Bare {
    /// Line where each hunk starts in the original, as its header says (0-based).
    starts: Vec<usize>,
    /// Line of the diff where each hunk's header stands (0-based).
    header_lines: Vec<usize>,
    /// Whether the last line of the diff had no newline of its own, and no marker says that its
    /// side of the file has none.
    is_open_ended: bool,
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
        let (original, modified) = (Text::new(original), Text::new(modified));
        let edits = diff::edits(&original, &modified);
        if edits.is_empty() {
            return Err(ProposalError::Identical);
        }
        let groups = diff::group(&edits, original.len(), context_len);
        let weave = Weave::new(original, modified, &edits);
        Ok(Proposal::new(weave, groups, None))
    }

    /// Makes a proposal of a unified diff of one file that came without its original.
    ///
    /// Its hunks have no place until [`Proposal::follow`] has seen the target.
    ///
    /// # Errors
    ///
    /// If `diff` is not a unified diff of one file.
    pub fn from_diff(diff: &[u8]) -> Result<Proposal, ProposalError> {
        let files = parse::parse(diff)?;
        let [FileDiff { hunks, .. }] = &files[..] else {
            return Err(ProposalError::SeveralFiles {
                n_files: files.len(),
            });
        };
        let mut bare = Bare {
            starts: hunks
                .iter()
                .map(|parsed| parsed.hunk.before.start)
                .collect(),
            header_lines: hunks.iter().map(|parsed| parsed.header_line).collect(),
            is_open_ended: hunks.last().is_some_and(|last| last.hunk.is_open_ended),
        };
        let mut stand_in = StandIn::default();
        for (index, ParsedHunk { hunk, .. }) in hunks.iter().enumerate() {
            if stand_in.is_ended() {
                return Err(ProposalError::EndsEarly { hunk: index - 1 });
            }
            stand_in.push(hunk);
        }
        bare.is_open_ended &= !stand_in.is_ended();
        let (original, modified) = (Text::new(stand_in.original), Text::new(stand_in.modified));
        let weave = Weave::new(original, modified, &stand_in.edits);
        let mut proposal = Proposal::new(weave, stand_in.groups, Some(bare));
        proposal.offsets.fill(Err(NotPlaced::NotFound));
        Ok(proposal)
    }

    fn new(weave: Weave, groups: Vec<Group>, bare: Option<Bare>) -> Proposal {
        let (offsets, fuzz) = (vec![Ok(0); groups.len()], vec![0; groups.len()]);
        Proposal {
            weave,
            groups,
            offsets,
            fuzz,
            has_target: bare.is_none(),
            bare,
        }
    }

    /// Returns the number of hunks.
    pub fn n_hunks(&self) -> usize {
        self.groups.len()
    }

    /// Returns the lines of the hunk headers in the diff that this proposal was made of (0-based);
    /// none if it was made of two texts.
    pub fn header_lines(&self) -> &[usize] {
        self.bare.as_ref().map_or(&[], |bare| &bare.header_lines)
    }

    /// Tells whether the change of hunk `hunk` is in the target.
    pub fn is_in(&self, hunk: usize) -> bool {
        self.atoms_of(hunk)
            .all(|atom| self.weave.atoms()[atom].is_applied)
    }

    /// Returns why hunk `hunk` has no place in the target, or `None` if it has one.
    pub fn reason(&self, hunk: usize) -> Option<&NotPlaced> {
        self.offsets[hunk].as_ref().err()
    }

    /// Returns where the first change of hunk `hunk` is in the target, or why it has no place.
    pub fn place(&self, hunk: usize) -> Result<Place, NotPlaced> {
        let offset = self.offsets[hunk].clone()?;
        let line = self.weave.line_of(self.atoms_of(hunk).start);
        line.map(|line| Place { line, offset })
            .ok_or(NotPlaced::NotFound)
    }

    /// Returns the target, as the line map has it.
    pub fn target(&self) -> Vec<u8> {
        self.weave.target()
    }

    /// Returns the hunks as a diff shows them; `rule` finds their section headings.
    ///
    /// The ranges are those of the proposal's own texts, so this is for proposals that have them,
    /// not for bare diffs.
    pub fn hunks(&self, rule: diff::HeadingRule) -> Vec<Hunk<'_>> {
        let (original, modified) = (self.weave.original(), self.weave.modified());
        let headings = diff::section_headings(original, &self.groups, rule);
        let edits: Vec<Edit> = self.weave.atoms().iter().map(edit_of).collect();
        let pairs = self.groups.iter().zip(headings);
        pairs
            .map(|(group, heading)| diff::hunk(group, &edits, original, modified, heading))
            .collect()
    }

    /// Returns the edits that flip the hunks chosen (one entry a hunk), in the order of their
    /// lines.
    ///
    /// # Errors
    ///
    /// See [`Weave::edits_to_flip`].
    pub fn edits_to_flip(&self, chosen: &[bool]) -> Result<Vec<LineEdit>, FlipError> {
        self.weave.edits_to_flip(&self.atoms_of_all(chosen))
    }

    /// Notes that the hunks chosen (one entry a hunk) were flipped in the target.
    pub fn flip(&mut self, chosen: &[bool]) {
        self.weave.flip(&self.atoms_of_all(chosen));
    }

    /// Learns that the target is now `live`, and tells whether that is news.
    pub fn follow(&mut self, live: &[u8]) -> bool {
        // The map knows the places of its own edits; a search might lose one of them.
        if self.has_target && self.weave.is_target(live) {
            return false;
        }
        self.has_target = true;
        let is_whole = self.bare.is_none();
        match is_whole.then(|| self.facts_in(live)).flatten() {
            Some(facts) => self.unravel(&facts),
            None => self.search(live),
        }
        true
    }

    fn atoms_of(&self, hunk: usize) -> Range<usize> {
        self.groups[hunk].edits.clone()
    }

    fn atoms_of_all(&self, chosen: &[bool]) -> Vec<bool> {
        let mut atoms = vec![false; self.weave.atoms().len()];
        for (hunk, _) in chosen.iter().enumerate().filter(|(_, chosen)| **chosen) {
            atoms[self.atoms_of(hunk)].fill(true);
        }
        atoms
    }

    fn set_in(&mut self, hunk: usize, is_in: bool) {
        self.atoms_of(hunk)
            .for_each(|atom| self.weave.set_applied(atom, is_in));
    }
}

fn edit_of(atom: &Atom) -> Edit {
    Edit {
        before: atom.old.clone(),
        after: atom.new.clone(),
    }
}

/// The texts that stand in for those that a bare diff lacks: its hunks' lines, end to end.
#[derive(Default)]
struct StandIn {
    original: Vec<u8>,
    modified: Vec<u8>,
    n_before: usize,
    n_after: usize,
    edits: Vec<Edit>,
    groups: Vec<Group>,
}

impl StandIn {
    /// Tells whether a side's last line has no terminator, so that nothing can follow.
    fn is_ended(&self) -> bool {
        [&self.original, &self.modified]
            .iter()
            .any(|side| !side.is_empty() && is_unterminated(side))
    }

    fn push(&mut self, hunk: &Hunk) {
        let first = (self.edits.len(), self.n_before, self.n_after);
        let mut in_change = false;
        for line in &hunk.lines {
            let is_change = line.kind != LineKind::Context;
            if is_change && !in_change {
                let (before, after) = (self.n_before..self.n_before, self.n_after..self.n_after);
                self.edits.push(Edit { before, after });
            }
            in_change = is_change;
            self.push_line(line.kind, line.text);
        }
        if let Some(last) = hunk.lines.last().filter(|_| hunk.is_open_ended) {
            self.push_bytes(last.kind, b"\n");
        }
        self.groups.push(Group {
            edits: first.0..self.edits.len(),
            before: first.1..self.n_before,
            after: first.2..self.n_after,
        });
    }

    fn push_line(&mut self, kind: LineKind, text: &[u8]) {
        self.push_bytes(kind, text);
        self.n_before += usize::from(kind != LineKind::Added);
        self.n_after += usize::from(kind != LineKind::Removed);
        if let Some(edit) = self.edits.last_mut().filter(|_| kind != LineKind::Context) {
            edit.before.end = self.n_before;
            edit.after.end = self.n_after;
        }
    }

    fn push_bytes(&mut self, kind: LineKind, bytes: &[u8]) {
        if kind != LineKind::Added {
            self.original.extend_from_slice(bytes);
        }
        if kind != LineKind::Removed {
            self.modified.extend_from_slice(bytes);
        }
    }
}
