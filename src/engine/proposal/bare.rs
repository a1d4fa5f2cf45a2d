//! A bare diff: one that came without its original.
//!
//! It brings only the lines of its hunks. End to end they stand in for the texts.

use crate::diff::Edit;
use crate::patch::hunk::{Hunk, LineKind};
use crate::patch::locate::NotPlaced;
use crate::patch::parse::{self, Blobs, FileDiff, ParsedHunk};

use super::assembly::Assembly;
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
        let mut texts = Assembly::default();
        for (index, ParsedHunk { hunk, .. }) in hunks.iter().enumerate() {
            if texts.is_ended() {
                return Err(ProposalError::EndsEarly { hunk: index - 1 });
            }
            push_hunk(&mut texts, hunk);
        }
        bare.is_open_ended &= !texts.is_ended();
        let (weave, groups) = texts.finish();
        let mut proposal = Proposal::new(weave, groups, Some(bare));
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

/// Adds the lines of `hunk` to the texts that stand in for those that a bare diff lacks: its hunks'
/// lines, end to end.
fn push_hunk(texts: &mut Assembly, hunk: &Hunk) {
    texts.begin_hunk();
    let mut last = LineKind::Context;
    for line in &hunk.lines {
        let is_change = line.kind != LineKind::Context;
        // An atom removes first and then adds. Where a diff by hand does otherwise, its lines keep
        // their order as several atoms.
        let goes_back = last == LineKind::Added && line.kind == LineKind::Removed;
        if is_change && (last == LineKind::Context || goes_back) {
            let before = texts.n_before..texts.n_before;
            let after = texts.n_after..texts.n_after;
            texts.edits.push(Edit { before, after });
        }
        last = line.kind;
        push_line(texts, line.kind, line.text);
    }
    if let Some(last) = hunk.lines.last().filter(|_| hunk.is_open_ended) {
        push_bytes(texts, last.kind, b"\n");
    }
    texts.end_hunk();
}

fn push_line(texts: &mut Assembly, kind: LineKind, text: &[u8]) {
    push_bytes(texts, kind, text);
    texts.n_before += usize::from(kind != LineKind::Added);
    texts.n_after += usize::from(kind != LineKind::Removed);
    if let Some(edit) = texts.edits.last_mut().filter(|_| kind != LineKind::Context) {
        edit.before.end = texts.n_before;
        edit.after.end = texts.n_after;
    }
}

fn push_bytes(texts: &mut Assembly, kind: LineKind, bytes: &[u8]) {
    if kind != LineKind::Added {
        texts.original.extend_from_slice(bytes);
    }
    if kind != LineKind::Removed {
        texts.modified.extend_from_slice(bytes);
    }
}
