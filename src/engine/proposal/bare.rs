//! A bare diff: one that came without its original.
//!
//! It brings only the lines of its hunks. End to end they stand in for the texts. What the diff
//! says of its hunks, and how far each was found, is kept here; how they are found is up to
//! [`super::search`].

use crate::diff::{Edit, Group};
use crate::patch::hunk::{Hunk, Line, LineKind};
use crate::patch::locate::{self, Index, NotPlaced};
use crate::patch::parse::{self, Blobs, FileDiff, ParsedHunk};
use crate::weave::Weave;

use super::assembly::Assembly;
use super::hunks::Hunks;
use super::search::{Candidate, Found};
use super::{Proposal, ProposalError};

/// What only a bare diff has.
#[derive(Debug, Clone)]
pub(super) struct Bare {
    hunks: Vec<BareHunk>,
    /// The ids of the texts that the diff compares, as git names them, if it states them.
    blobs: Option<Blobs>,
    /// Whether the last line of the diff had no newline of its own, and no marker says that its
    /// side of the file has none.
    is_open_ended: bool,
    /// Whether that line was found without its newline, and is without it in both texts.
    is_toggled: bool,
    /// Whether a target was seen.
    has_target: bool,
}

/// What is known of one hunk.
#[derive(Debug, Clone)]
struct BareHunk {
    /// Line where it starts in the original, as its header says (0-based).
    start: usize,
    edges: Edges,
    /// Whether it was cut out of a run of changed lines, so that it cannot be searched for:
    /// without its neighbors its lines would fit where they do not belong.
    is_cut: bool,
    /// The lines between where the weave expects it and where it was expected; or why a search did
    /// not find it.
    offset: Result<isize, NotPlaced>,
    /// How many outer context lines on a side were ignored to find it.
    fuzz: usize,
}

/// At which ends of its file a hunk says that it stands, by the context that it lacks there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Edges {
    /// At the beginning: it shows no context above, and its header states the first line.
    pub top: bool,
    /// At the end: it shows no context below, and no other hunk follows.
    pub end: bool,
}

impl Edges {
    /// Returns what `hunk`, the last one of its diff if `is_last`, says. Without any context, as
    /// with `diff -U0`, it says nothing.
    fn of(hunk: &Hunk, is_last: bool) -> Edges {
        let is_context = |line: &&Line| line.kind == LineKind::Context;
        let has_context = hunk.lines.iter().any(|line| is_context(&line));
        let [above, below] = [hunk.lines.first(), hunk.lines.last()];
        Edges {
            top: has_context && above.filter(is_context).is_none() && hunk.before.start == 0,
            end: has_context && below.filter(is_context).is_none() && is_last,
        }
    }

    /// Returns what part `part` of such a hunk, split into `n_parts`, says.
    fn of_part(self, part: usize, n_parts: usize) -> Edges {
        Edges {
            top: self.top && part == 0,
            end: self.end && part + 1 == n_parts,
        }
    }

    /// Returns whether `place` in `live` is at the ends where the hunk says that it is.
    pub fn are_at(self, live: &Index, place: &Candidate) -> bool {
        (!self.top || place.line == 0) && (!self.end || live.is_end(place.line, place.len))
    }
}

impl Bare {
    /// Makes it of a diff's `hunks`, none of them found yet, and its `blobs`.
    fn new(hunks: &[ParsedHunk], blobs: Option<Blobs>) -> Bare {
        let bare = |(n, parsed): (usize, &ParsedHunk)| BareHunk {
            start: parsed.hunk.before.start,
            edges: Edges::of(&parsed.hunk, n == hunks.len()),
            is_cut: false,
            offset: Err(NotPlaced::NotFound),
            fuzz: 0,
        };
        Bare {
            hunks: (1..).zip(hunks).map(bare).collect(),
            blobs,
            is_open_ended: hunks.last().is_some_and(|last| last.hunk.is_open_ended),
            is_toggled: false,
            has_target: false,
        }
    }

    /// Returns the line where `hunk` starts in the original, as its header says (0-based).
    pub fn start(&self, hunk: usize) -> usize {
        self.hunks[hunk].start
    }

    pub fn edges(&self, hunk: usize) -> Edges {
        self.hunks[hunk].edges
    }

    /// Returns whether `hunk` was cut out of a run of changed lines, so that it cannot be searched
    /// for.
    pub fn is_cut(&self, hunk: usize) -> bool {
        self.hunks[hunk].is_cut
    }

    /// Returns the lines between where the weave expects `hunk` and where it was expected.
    ///
    /// # Errors
    ///
    /// Why it was not found.
    pub fn offset(&self, hunk: usize) -> Result<isize, &NotPlaced> {
        self.hunks[hunk].offset.as_ref().copied()
    }

    /// Returns how many outer context lines on a side were ignored to find `hunk`.
    pub fn fuzz(&self, hunk: usize) -> usize {
        self.hunks[hunk].fuzz
    }

    pub fn blobs(&self) -> Option<&Blobs> {
        self.blobs.as_ref()
    }

    /// Returns whether the diff broke off in its last line, so that only the target can tell
    /// whether this has a newline.
    pub fn is_open_ended(&self) -> bool {
        self.is_open_ended
    }

    /// Returns whether that line is without its newline now.
    pub fn is_toggled(&self) -> bool {
        self.is_toggled
    }

    /// Takes the newline off the end of that line, or puts it back.
    pub fn toggle_last_end(&mut self, weave: &mut Weave) {
        self.is_toggled = !self.is_toggled;
        weave.toggle_last_terminator();
    }

    pub fn has_target(&self) -> bool {
        self.has_target
    }

    /// Notes that there is a target, and returns whether there was one.
    pub fn see_target(&mut self) -> bool {
        std::mem::replace(&mut self.has_target, true)
    }

    /// Notes where `hunk` is.
    pub fn set_place(&mut self, hunk: usize, offset: Result<isize, NotPlaced>, fuzz: usize) {
        let hunk = &mut self.hunks[hunk];
        (hunk.offset, hunk.fuzz) = (offset, fuzz);
    }

    /// Notes what a search found, of each hunk; `shift` returns how far it is from its place in the
    /// original by now.
    pub fn set_found(&mut self, found: Vec<Found>, shift: impl Fn(usize) -> isize) {
        for (hunk, found) in found.into_iter().enumerate() {
            let fuzz = found.fuzz();
            let offset = found.place.map(|_| found.offset - shift(hunk));
            self.set_place(hunk, offset, fuzz);
        }
    }

    /// Takes note that `hunk`, whose group was `whole`, is now `parts`, between some of which there
    /// `is_cut` no unchanged line.
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

    /// Takes note that `hunk` has got `added` lines of the original. The headers of those below keep
    /// the numbers of an original that nobody has.
    pub fn lengthen(&mut self, hunk: usize, added: isize) {
        let behind = self.hunks[hunk + 1..].iter_mut();
        let offsets = behind.filter_map(|other| other.offset.as_mut().ok());
        offsets.for_each(|offset| *offset += added);
    }

    /// Moves the places that are told of hunks without a certain one, now that `n_now` lines stand
    /// where `n_removed` from line `line` of the target on did.
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
