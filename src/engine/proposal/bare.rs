//! A bare diff: one that came without its original.
//!
//! It has only the lines of its hunks; concatenated, they are the substitutes for the two texts.
//! This file keeps what the diff says of its hunks and where each was found; [`super::search`]
//! finds them.

use crate::diff::{Edit, Group};
use crate::patch::hunk::{Hunk, Line, LineKind};
use crate::patch::locate::{self, Index, NotPlaced};
use crate::patch::parse::{self, Blobs, FileDiff, ParsedHunk};
use crate::text::{Text, is_unterminated};
use crate::weave::Weave;

use super::hunks::Hunks;
use super::{Proposal, ProposalError};

/// The data of a bare diff.
#[derive(Debug, Clone)]
pub(super) struct Bare {
    hunks: Vec<BareHunk>,
    /// The ids by which git identifies the texts that the diff compares, if it states them.
    pub blobs: Option<Blobs>,
    /// Whether the diff text ended without a newline after its last line, and without a no-newline
    /// marker.
    pub is_open_ended: bool,
    /// Whether that line was found without a newline, so that both texts now have none.
    pub is_toggled: bool,
    /// Whether a target has been seen.
    pub has_target: bool,
}

/// What is known about one hunk.
#[derive(Debug, Clone)]
pub(super) struct BareHunk {
    /// Line at which it starts in the original, according to its header (0-based).
    pub start: usize,
    pub edges: Edges,
    /// Whether it was cut out of a run of changed lines. It cannot be searched for then, since
    /// without the rest of the run its lines would fit where they do not belong.
    pub is_cut: bool,
    /// How many lines below its expected place it is, or why a search did not find it.
    offset: Result<isize, NotPlaced>,
    /// How many outer context lines on each side were ignored to find it.
    pub fuzz: usize,
    /// By how many lines others have moved the line at which it should begin.
    pub moved: isize,
}

/// At which ends of its file a hunk is, according to the context that it lacks there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Edges {
    /// At the beginning: it shows no context above, and its header states the first line.
    pub top: bool,
    /// At the end: it shows no context below, and no other hunk follows.
    pub end: bool,
}

impl Edges {
    /// Returns the edges according to `hunk`, which is the last one of its diff if `is_last`. A
    /// hunk without any context, as from `diff -U0`, says nothing.
    fn of(hunk: &Hunk, is_last: bool) -> Edges {
        let is_context = |line: &&Line| line.kind == LineKind::Context;
        let has_context = hunk.lines.iter().any(|line| is_context(&line));
        let [above, below] = [hunk.lines.first(), hunk.lines.last()];
        Edges {
            top: has_context && above.filter(is_context).is_none() && hunk.before.start == 0,
            end: has_context && below.filter(is_context).is_none() && is_last,
        }
    }

    /// Returns the edges of part `part` (0-based) of such a hunk when it is split into `n_parts`.
    fn of_part(self, part: usize, n_parts: usize) -> Edges {
        Edges {
            top: self.top && part == 0,
            end: self.end && part + 1 == n_parts,
        }
    }

    /// Returns whether `len` lines from line `line` of `live` on are at these ends.
    pub fn are_at(self, live: &Index, line: usize, len: usize) -> bool {
        (!self.top || line == 0) && (!self.end || live.is_end(line, len))
    }
}

impl Bare {
    /// Makes it from a diff's `hunks`, none of which has been found yet, and its `blobs`.
    fn new(hunks: &[ParsedHunk], blobs: Option<Blobs>) -> Bare {
        let bare = |(n, parsed): (usize, &ParsedHunk)| BareHunk {
            start: parsed.hunk.before.start,
            edges: Edges::of(&parsed.hunk, n == hunks.len()),
            is_cut: false,
            offset: Err(NotPlaced::NotFound),
            fuzz: 0,
            moved: 0,
        };
        Bare {
            hunks: (1..).zip(hunks).map(bare).collect(),
            blobs,
            is_open_ended: hunks.last().is_some_and(|last| last.hunk.is_open_ended),
            is_toggled: false,
            has_target: false,
        }
    }

    /// Returns what is known about `hunk`.
    pub fn hunk(&self, hunk: usize) -> &BareHunk {
        &self.hunks[hunk]
    }

    /// Returns how many lines below its expected place `hunk` is.
    ///
    /// # Errors
    ///
    /// Why it was not found.
    pub fn offset(&self, hunk: usize) -> Result<isize, &NotPlaced> {
        self.hunks[hunk].offset.as_ref().copied()
    }

    /// Removes the newline of the line in which the diff text broke off, or restores it.
    pub fn toggle_last_end(&mut self, weave: &mut Weave) {
        self.is_toggled = !self.is_toggled;
        weave.toggle_last_terminator();
    }

    /// Records that there is a target, and returns whether there was one before.
    pub fn see_target(&mut self) -> bool {
        std::mem::replace(&mut self.has_target, true)
    }

    /// Records where `hunk` is.
    pub fn set_place(&mut self, hunk: usize, offset: Result<isize, NotPlaced>, fuzz: usize) {
        let hunk = &mut self.hunks[hunk];
        (hunk.offset, hunk.fuzz) = (offset, fuzz);
    }

    /// Records that `hunk`, whose group was `whole`, is now `parts`. `is_cut` says of each part
    /// whether no unchanged line separates it from a neighbor.
    pub fn split(&mut self, hunk: usize, whole: &Group, parts: &[Group], is_cut: &[bool]) {
        let was = self.hunks[hunk].clone();
        let part = |(at, part): (usize, &Group)| BareHunk {
            start: was.start + part.before.start - whole.before.start,
            edges: was.edges.of_part(at, parts.len()),
            is_cut: was.is_cut || is_cut[at],
            ..was.clone()
        };
        let parts: Vec<BareHunk> = parts.iter().enumerate().map(part).collect();
        self.hunks.splice(hunk..=hunk, parts);
    }

    /// Returns whether the `n` hunks from `hunk` on are in one place, as if they were one hunk.
    pub fn can_join(&self, hunk: usize, n: usize) -> bool {
        let hunks = &self.hunks[hunk..hunk + n];
        let is_alike = |pair: &[BareHunk]| match (&pair[0].offset, &pair[1].offset) {
            (Ok(offset), Ok(other)) => offset == other && pair[0].fuzz == pair[1].fuzz,
            (Err(why), Err(other)) => !self.has_target || why == other,
            _ => !self.has_target,
        };
        hunks.windows(2).all(is_alike)
    }

    /// Records that the `n` hunks from `hunk` on are now one. `is_cut` says whether no unchanged
    /// line separates it from a neighbor.
    pub fn join(&mut self, hunk: usize, n: usize, is_cut: bool) {
        let end = self.hunks[hunk + n - 1].edges.end;
        let whole = &mut self.hunks[hunk];
        whole.edges.end = end;
        whole.is_cut = is_cut;
        self.hunks.drain(hunk + 1..hunk + n);
    }

    /// Records that `hunk` has `added` more lines of the original. The stated lines of the hunks
    /// below stay as they are, since they refer to the unknown original.
    pub fn lengthen(&mut self, hunk: usize, added: isize) {
        let behind = self.hunks[hunk + 1..].iter_mut();
        let offsets = behind.filter_map(|other| other.offset.as_mut().ok());
        offsets.for_each(|offset| *offset += added);
    }

    /// Moves the lines at which hunks should begin, now that `n_now` lines have replaced `n_removed`
    /// lines of the target from line `line` (0-based) on. `expected` has these lines for all hunks.
    pub fn move_expected(
        &mut self,
        expected: &[usize],
        (line, n_removed): (usize, usize),
        n_now: usize,
    ) {
        let moved = locate::offset(n_removed, n_now);
        let hunks = self.hunks.iter_mut().zip(expected);
        for (hunk, _) in hunks.filter(|(_, at)| line + n_removed <= **at) {
            hunk.moved += moved;
        }
    }

    /// Moves the candidate places of hunks without a certain place, now that `n_now` lines have
    /// replaced `n_removed` lines of the target from line `line` (0-based) on.
    pub fn move_candidates(&mut self, line: usize, n_removed: usize, n_now: usize) {
        let moved = locate::offset(n_removed, n_now);
        if moved == 0 {
            return;
        }
        let hunks = self.hunks.iter_mut();
        let reasons = hunks.filter_map(|hunk| hunk.offset.as_mut().err());
        for candidates in reasons.filter_map(NotPlaced::candidates_mut) {
            for candidate in candidates.iter_mut().filter(|at| line + n_removed <= **at) {
                *candidate = candidate.saturating_add_signed(moved);
            }
        }
    }
}

impl Proposal {
    /// Makes a proposal from a unified diff of one file that came without its original.
    ///
    /// Its hunks have no place until [`Proposal::follow`] has seen the target.
    ///
    /// # Errors
    ///
    /// If `diff` is not a unified diff of one file.
    pub fn from_diff(diff: &[u8]) -> Result<Proposal, ProposalError> {
        let files = parse::parse_hunks(diff)?;
        let [file] = &files[..] else {
            return Err(ProposalError::SeveralFiles {
                n_files: files.len(),
            });
        };
        Proposal::from_file_diff(file)
    }

    /// Makes a proposal from the hunks of `file`, of which there is at least one; otherwise as
    /// [`Proposal::from_diff`].
    ///
    /// # Errors
    ///
    /// [`ProposalError::EndsEarly`].
    pub fn from_file_diff(file: &FileDiff<'_>) -> Result<Proposal, ProposalError> {
        let FileDiff { hunks, blobs, .. } = file;
        let mut bare = Bare::new(hunks, blobs.clone());
        let mut texts = Assembly::default();
        for (index, ParsedHunk { hunk, .. }) in hunks.iter().enumerate() {
            if texts.is_ended() {
                return Err(ProposalError::EndsEarly { hunk: index - 1 });
            }
            push_hunk(&mut texts, hunk);
        }
        bare.is_open_ended &= !texts.is_ended();
        let (weave, groups) = texts.finish();
        let header_lines = hunks.iter().map(|parsed| parsed.header_line).collect();
        let hunks = Hunks::new(groups, header_lines);
        Ok(Proposal::new(weave, hunks, Some(bare)))
    }
}

/// Appends the lines of `hunk` to the substitutes for the texts that a bare diff lacks: the lines
/// of its hunks, concatenated.
fn push_hunk(texts: &mut Assembly, hunk: &Hunk) {
    texts.begin_hunk();
    let mut last = LineKind::Context;
    for line in &hunk.lines {
        let is_change = line.kind != LineKind::Context;
        // An atom's removed lines come before its added ones. If a handwritten diff has another
        // order, its lines become several atoms, which keeps that order.
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

// Assembles two texts from the top, hunk by hunk, with the edits between them.

/// Two texts and their hunks, as far as they are assembled.
#[derive(Default)]
pub(super) struct Assembly {
    pub original: Vec<u8>,
    pub modified: Vec<u8>,
    /// Number of lines of the original so far.
    pub n_before: usize,
    /// Number of lines of the modified text so far.
    pub n_after: usize,
    /// Edits so far, in the order of their lines.
    pub edits: Vec<Edit>,
    groups: Vec<Group>,
}

impl Assembly {
    /// Returns whether one text's last line has no terminator, so that nothing can follow.
    pub fn is_ended(&self) -> bool {
        [&self.original, &self.modified]
            .iter()
            .any(|text| !text.is_empty() && is_unterminated(text))
    }

    /// Begins a hunk. Everything added since the last hunk is between the two.
    pub fn begin_hunk(&mut self) {
        self.groups.push(Group {
            edits: self.edits.len()..self.edits.len(),
            before: self.n_before..self.n_before,
            after: self.n_after..self.n_after,
        });
    }

    /// Ends the current hunk, which includes everything added since it began.
    pub fn end_hunk(&mut self) {
        if let Some(group) = self.groups.last_mut() {
            group.edits.end = self.edits.len();
            group.before.end = self.n_before;
            group.after.end = self.n_after;
        }
    }

    /// Returns the weave of the two texts, and each hunk's group of edits.
    pub fn finish(self) -> (Weave, Vec<Group>) {
        let (original, modified) = (Text::new(self.original), Text::new(self.modified));
        (Weave::new(original, modified, &self.edits), self.groups)
    }
}
