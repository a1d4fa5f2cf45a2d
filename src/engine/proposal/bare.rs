//! A bare diff: one that came without its original.
//!
//! It brings only the lines of its hunks. End to end they stand in for the texts.

use crate::diff::{Edit, Group};
use crate::patch::hunk::{Hunk, LineKind};
use crate::patch::locate::NotPlaced;
use crate::patch::parse::{self, Blobs, FileDiff, ParsedHunk};
use crate::text::{Text, is_unterminated};
use crate::weave::Weave;

use super::sides::Edges;
use super::{Proposal, ProposalError};

/// What only a bare diff has.
#[derive(Debug, Clone)]
pub(super) struct Bare {
    /// Line where each hunk starts in the original, as its header says (0-based).
    pub starts: Vec<usize>,
    /// At which ends of its file each hunk says that it stands.
    pub edges: Vec<Edges>,
    /// The ids of the texts that the diff compares, as git names them, if it states them.
    pub blobs: Option<Blobs>,
    /// Whether each hunk was cut out of a run of changed lines, so that it cannot be searched for:
    /// without its neighbors its lines would fit where they do not belong.
    pub is_cut: Vec<bool>,
    /// Whether the last line of the diff had no newline of its own, and no marker says that its
    /// side of the file has none.
    pub is_open_ended: bool,
    /// Whether that line was found without its newline, and is without it in both texts.
    pub is_toggled: bool,
    /// Whether a target was seen.
    pub has_target: bool,
}

impl Proposal {
    /// Makes a proposal of a unified diff of one file that came without its original.
    ///
    /// Its hunks have no place until [`Proposal::follow`] has seen the target.
    ///
    /// # Errors
    ///
    /// If `diff` is not a unified diff of one file.
    pub fn from_diff(diff: &[u8]) -> Result<Proposal, ProposalError> {
        let files = parse::parse(diff)?;
        let [FileDiff { hunks, blobs, .. }] = &files[..] else {
            return Err(ProposalError::SeveralFiles {
                n_files: files.len(),
            });
        };
        let mut bare = Bare {
            starts: hunks
                .iter()
                .map(|parsed| parsed.hunk.before.start)
                .collect(),
            edges: (1..)
                .zip(hunks)
                .map(|(n, parsed)| Edges::of(&parsed.hunk, n == hunks.len()))
                .collect(),
            blobs: blobs.clone(),
            is_cut: vec![false; hunks.len()],
            is_open_ended: hunks.last().is_some_and(|last| last.hunk.is_open_ended),
            is_toggled: false,
            has_target: false,
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
        proposal.header_lines = hunks.iter().map(|parsed| parsed.header_line).collect();
        proposal.offsets.fill(Err(NotPlaced::NotFound));
        Ok(proposal)
    }

    /// Returns the lines of the hunk headers in the diff that this proposal was made of (0-based);
    /// none if it was made of two texts.
    pub fn header_lines(&self) -> &[usize] {
        &self.header_lines
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
        let mut last = LineKind::Context;
        for line in &hunk.lines {
            let is_change = line.kind != LineKind::Context;
            // An atom removes first and then adds. Where a diff by hand does otherwise, its lines
            // keep their order as several atoms.
            let goes_back = last == LineKind::Added && line.kind == LineKind::Removed;
            if is_change && (last == LineKind::Context || goes_back) {
                let (before, after) = (self.n_before..self.n_before, self.n_after..self.n_after);
                self.edits.push(Edit { before, after });
            }
            last = line.kind;
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
