//! Giving the hunks of a bare diff their places: by searching the target, or because somebody names
//! a place.

use std::ops::Range;

use crate::diff::{Edit, Group};
use crate::patch::locate::{self, Index, NotPlaced};
use crate::patch::parse::Blobs;
use crate::text::{Text, is_unterminated};
use crate::weave::Atom;

use super::bare::Assembly;
use super::hunks::HunkLines;
use super::search::{Candidate, Found, Search};
use super::{Proposal, shift};

impl Proposal {
    /// Searches `live`, the target, for every hunk of a bare diff. Does nothing for a proposal of
    /// two texts.
    pub(super) fn search(&mut self, live: &[u8]) {
        self.search_but(live, vec![None; self.n_hunks()]);
    }

    /// Searches `live` for every hunk without a place in `kept`.
    pub(super) fn search_but(&mut self, live: &[u8], kept: Vec<Option<Candidate>>) {
        if kept.last().is_none_or(Option::is_none) {
            self.toggle_last_end(self.bare.as_ref().is_some_and(|bare| bare.is_toggled));
        }
        let Some(search) = self.searching() else {
            return;
        };
        let live = Text::new(live.to_vec());
        let mut found = search.find_all(&live, &kept);
        let last = found.last().and_then(|last| last.place.as_ref().ok());
        let is_toggled = last.is_some_and(|place| place.is_toggled);
        let runs = search.keep_disjoint(&mut found);
        self.toggle_last_end(is_toggled);
        // A hunk that lost its place keeps its last known fact, since the opposite is not proven.
        let is_applied = self.hunks.applied_by(found.iter().map(Found::is_in));
        self.weave.lay_out(live, &runs, &is_applied);
        self.note_found(found);
    }

    /// Records what a search found for each hunk of a bare diff.
    fn note_found(&mut self, found: Vec<Found>) {
        let Some(bare) = &mut self.bare else {
            return;
        };
        for (hunk, found) in found.into_iter().enumerate() {
            let fuzz = found.fuzz();
            let shift = shift(&self.weave, &self.hunks, hunk);
            bare.set_place(hunk, found.place.map(|_| found.offset - shift), fuzz);
        }
    }

    /// Returns the places that hunks outside the `lines` of the target have once `n_now` lines have
    /// replaced these; `None` for each other hunk.
    pub(super) fn places_around(
        &self,
        lines: &Range<usize>,
        n_now: usize,
    ) -> Vec<Option<Candidate>> {
        let moved = locate::offset(lines.len(), n_now);
        let place = |hunk: usize| {
            self.place(hunk).ok()?;
            let stretch = self.stretch(hunk).ok()?;
            let mut place = self.known(hunk).filter(|_| stretch.is_untouched)?;
            if lines.end <= stretch.line {
                place.line = place.line.saturating_add_signed(moved);
                place.change = place.change.saturating_add_signed(moved);
            } else if lines.start < stretch.line + stretch.live.len() {
                return None;
            }
            Some(place)
        };
        (0..self.n_hunks()).map(place).collect()
    }

    /// Returns where `hunk` may belong in the target, the likeliest place first: the stated one,
    /// wherever others have moved it, or else the nearest to it. None of them overlaps another hunk's place. A hunk with a known
    /// place has only that one; a hunk that cannot be found, or whose place cannot be chosen, has
    /// none. Takes O(target) time for a hunk without a place.
    pub fn candidates(&self, hunk: usize) -> Vec<Candidate> {
        let search = match self.searching() {
            Some(search) if self.offset(hunk).is_err() => search,
            _ => return self.known(hunk).into_iter().collect(),
        };
        let target = Text::new(self.target());
        let sight = search.sight(&Index::new(&target), hunk, search.likely(hunk));
        let is_free = |place: &Candidate| {
            let lines = place.line..place.line + place.len;
            self.weave.owner_of(lines).is_none()
        };
        sight.candidates.into_iter().filter(is_free).collect()
    }

    /// Returns the weave's place for `hunk`.
    fn known(&self, hunk: usize) -> Option<Candidate> {
        let change = self.line(hunk)?;
        let (lines, fuzz) = (self.lines_of(hunk), self.fuzz(hunk));
        let is_in = lines.is_in();
        Some(Candidate {
            line: change.saturating_sub(lines.head_len(fuzz)),
            change,
            is_in,
            fuzz,
            len: lines.len(is_in, 0),
            is_toggled: false,
        })
    }

    /// Records that hunk `hunk` belongs at line `line` (0-based) of the target, one of its
    /// [candidates](Proposal::candidates); see `Review::plan_at`.
    ///
    /// # Errors
    ///
    /// Why the hunk has no such place. Then nothing has changed.
    pub(crate) fn place_at(
        &mut self,
        hunk: usize,
        line: usize,
        is_in: Option<bool>,
    ) -> Result<(), NotPlaced> {
        let candidates = self.candidates(hunk);
        let is_meant = |place: &&Candidate| {
            place.line == line && is_in.is_none_or(|is_in| place.is_in == is_in)
        };
        let Some(&place) = candidates.iter().find(is_meant) else {
            return Err(self.no_such_place(hunk, &candidates));
        };
        match self.searching() {
            Some(search) if self.offset(hunk).is_err() => {
                let lines = place.line..place.line + search.n_lines_at(hunk, &place);
                if let Some(owner) = self.weave.owner_of(lines) {
                    let other = self.hunks.owned_by(&owner);
                    return Err(NotPlaced::Overlaps { other });
                }
                let run = search.run_at(hunk, &place);
                self.toggle_last_end(place.is_toggled);
                self.weave.lay_in(&run, place.is_in);
                self.note_place(hunk, &place);
            }
            _ => self.vouch(hunk),
        }
        Ok(())
    }

    fn no_such_place(&self, hunk: usize, candidates: &[Candidate]) -> NotPlaced {
        let mut lines: Vec<usize> = candidates.iter().map(|place| place.line).collect();
        lines.sort_unstable();
        match self.reason(hunk) {
            Some(reason) if !reason.is_ambiguous() => reason,
            _ => NotPlaced::NotThere { candidates: lines },
        }
    }

    /// Records that the weave has `hunk` at `place`.
    fn note_place(&mut self, hunk: usize, place: &Candidate) {
        let shift = shift(&self.weave, &self.hunks, hunk);
        let from_stated = self
            .searching()
            .map(|search| search.offset_from(hunk, place, search.expected(hunk)));
        if let (Some(bare), Some(offset)) = (&mut self.bare, from_stated) {
            bare.set_place(hunk, Ok(offset - shift), place.fuzz);
        }
    }

    /// If `is_other`, records that the last line of the diff, in which the diff text broke off, has
    /// the other ending than was assumed: without newline instead of with one, or the reverse.
    pub(super) fn toggle_last_end(&mut self, is_other: bool) {
        if let Some(bare) = self.bare.as_mut().filter(|_| is_other) {
            bare.toggle_last_end(&mut self.weave);
        }
    }

    /// Moves the candidate places of hunks without a certain place for the flip of `atoms`, which
    /// are in order. Only hunks of a bare diff have such places.
    pub(super) fn move_candidates_for(&mut self, atoms: &[usize]) {
        let Some(bare) = &mut self.bare else {
            return;
        };
        // From the last to the first, so that none moves the line of one that follows.
        for &atom in atoms.iter().rev() {
            let sides = &self.weave.atoms()[atom];
            let (was, now) = (sides.alive_side().len(), sides.other_side().len());
            if let Some(line) = self.weave.line_of(atom) {
                bare.move_candidates(line, was, now);
            }
        }
    }

    /// Returns what a search of the target reads; `None` for a proposal of two texts.
    pub(super) fn searching(&self) -> Option<Search<'_>> {
        let bare = self.bare.as_ref()?;
        Some(Search {
            weave: &self.weave,
            hunks: &self.hunks,
            bare,
        })
    }
}

// Adopting the text that a diff was made from, which git identifies in the diff.
//
// The line `index OLD..NEW` has the ids of the two texts. If the target is one of them, byte for
// byte, every stated line is right, and the diff is as good as two whole texts: from then on the
// places of its hunks are known and need not be searched for.
//
// The engine sees only the text, not the bytes of the file, so the caller compares the ids.

/// One of the two texts that a diff compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The text before the change.
    Old,
    /// The text after the change.
    New,
}

impl Proposal {
    /// Returns the ids of the texts that the diff compares, as long as neither text is known;
    /// `None` if it states none, or if the proposal was made from two texts.
    pub fn blobs(&self) -> Option<&Blobs> {
        self.bare.as_ref()?.blobs.as_ref()
    }

    /// Adopts `live`, the target, as the text on `side` of the diff, so that each hunk is where its
    /// header says; returns whether its lines are really there.
    ///
    /// If they are not, somebody edited the diff and left the ids as they were. These then prove
    /// nothing, so nothing changes. Nor does anything change if the user has rewritten a hunk.
    pub fn adopt(&mut self, live: &[u8], side: Side) -> bool {
        let is_open = match &self.bare {
            Some(bare) if self.agents.is_empty() => bare.is_open_ended,
            _ => return false,
        };
        let live = Text::new(live.to_vec());
        let read = |proposal: &Proposal| whole(proposal.searching()?, &live, side);
        let mut whole = read(self);
        if whole.is_none() && is_open {
            self.toggle_last_end(true);
            whole = read(self);
            self.toggle_last_end(whole.is_none());
        }
        let Some(whole) = whole else {
            return false;
        };
        let (weave, groups) = whole.finish();
        self.weave = weave;
        self.hunks.replace_groups(groups);
        self.bare = None;
        self.become_choice(&vec![side == Side::New; self.n_hunks()]);
        true
    }
}

/// Returns the two whole texts of a bare diff, given that `live` is the one on `side`; `None` if
/// that cannot be.
fn whole(search: Search, live: &Text, side: Side) -> Option<Assembly> {
    let Search { weave, hunks, bare } = search;
    let mut whole = Assembly::default();
    let mut at = 0;
    for (hunk, group) in hunks.groups().iter().enumerate() {
        let gap = bare.hunk(hunk).start.checked_sub(whole.n_before)?;
        let start = at + gap;
        let old = weave.original().lines_bytes(group.before.clone());
        let new = weave.modified().lines_bytes(group.after.clone());
        let (here, len) = match side {
            Side::Old => (old, group.before.len()),
            Side::New => (new, group.after.len()),
        };
        let end = start + len;
        if end > live.len() || live.lines_bytes(start..end) != here {
            return None;
        }
        push_both(&mut whole, live.lines_bytes(at..start), gap)?;
        let atoms = HunkLines::new(weave, hunks, hunk).atoms();
        push_hunk(&mut whole, group, atoms, (old, new))?;
        at = end;
    }
    let rest = at..live.len();
    push_both(&mut whole, live.lines_bytes(rest.clone()), rest.len())?;
    Some(whole)
}

/// Appends `bytes`, which are `n_lines` lines, to both texts; `None` if the texts cannot be
/// continued.
fn push_both(texts: &mut Assembly, bytes: &[u8], n_lines: usize) -> Option<()> {
    append(&mut texts.original, bytes)?;
    append(&mut texts.modified, bytes)?;
    texts.n_before += n_lines;
    texts.n_after += n_lines;
    Some(())
}

/// Appends a hunk, `group` with `atoms`, whose lines are `old` and `new`; `None` if the texts
/// cannot be continued.
fn push_hunk(
    texts: &mut Assembly,
    group: &Group,
    atoms: &[Atom],
    (old, new): (&[u8], &[u8]),
) -> Option<()> {
    texts.begin_hunk();
    append(&mut texts.original, old)?;
    append(&mut texts.modified, new)?;
    let (before, after) = (group.before.start, group.after.start);
    let (n_before, n_after) = (texts.n_before, texts.n_after);
    for Atom { old, new, .. } in atoms {
        texts.edits.push(Edit {
            before: old.start - before + n_before..old.end - before + n_before,
            after: new.start - after + n_after..new.end - after + n_after,
        });
    }
    texts.n_before += group.before.len();
    texts.n_after += group.after.len();
    texts.end_hunk();
    Some(())
}

/// Appends `bytes` to `text`; `None` if that ends with a line without newline, which nothing can
/// follow.
fn append(text: &mut Vec<u8>, bytes: &[u8]) -> Option<()> {
    let is_ended = !text.is_empty() && is_unterminated(text);
    if is_ended && !bytes.is_empty() {
        return None;
    }
    text.extend_from_slice(bytes);
    Some(())
}
