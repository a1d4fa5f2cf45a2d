//! Following a target: which hunks it holds, and where each of them is.

use std::ops::Range;

use crate::patch::locate::{self, Index, NotPlaced};
use crate::text::Text;
use crate::weave::Placed;

use super::Proposal;
use super::candidates::{Candidate, Sight};

/// Following a target that is some choice of the proposal's own hunks and nothing else.
impl Proposal {
    pub(super) fn unravel(&mut self, facts: &[bool]) {
        let is_applied = self.applied_by(facts.iter().copied());
        self.weave.lay_whole(&is_applied);
        self.offsets.fill(Ok(0));
        self.fuzz.fill(0);
        self.is_doubted.fill(false);
        self.past_doubts.clear();
    }

    /// Returns which hunks are in the text of the pieces `live`, if it is the original with some of
    /// them and no more.
    ///
    /// In repetitive text the lines of a hunk may fit both ways, and only what follows tells which
    /// is right; so all ways of reading are kept as long as they last. Where several last to the
    /// end, they are the same bytes, and the one that keeps to what was known is taken.
    pub(super) fn facts_in(&self, live: &[&[u8]]) -> Option<Vec<bool>> {
        let original = self.weave.original();
        let mut layers = vec![vec![Way::new(live)]];
        let mut at = 0;
        for hunk in 0..self.n_hunks() {
            let atoms = &self.weave.atoms()[self.atoms_of(hunk)];
            let gap = original.lines_bytes(at..atoms[0].old.start);
            at = atoms[atoms.len() - 1].old.end;
            let next = self.ways_past(hunk, gap, &layers[hunk]);
            layers.push(next);
        }
        let tail = original.lines_bytes(at..original.len());
        let is_end = |way: &Way| way.rest.without(tail).is_some_and(|rest| rest.is_empty());
        let mut way = layers.pop()?.into_iter().find(is_end)?;
        let mut facts = Vec::with_capacity(self.n_hunks());
        while let Some(ways) = layers.pop() {
            facts.push(way.is_in);
            way = ways[way.from];
        }
        facts.reverse();
        Some(facts)
    }

    /// Returns the `ways` that go on past `gap` and past `hunk`, with its change or without.
    fn ways_past<'a>(&self, hunk: usize, gap: &[u8], ways: &[Way<'a>]) -> Vec<Way<'a>> {
        let mut next: Vec<Way> = Vec::new();
        for (from, way) in ways.iter().enumerate() {
            let Some(rest) = way.rest.without(gap) else {
                continue;
            };
            for is_in in [self.is_in(hunk), !self.is_in(hunk)] {
                let rest = self.strip_hunk(hunk, is_in, rest);
                let is_new = |rest: &Rest| next.iter().all(|way| way.rest.n_read != rest.n_read);
                if let Some(rest) = rest.filter(is_new).filter(|_| next.len() < MAX_WAYS) {
                    next.push(Way { rest, from, is_in });
                }
            }
        }
        next
    }

    /// Takes the lines of `hunk`, from its first change to its last, off the front of `rest`.
    fn strip_hunk<'a>(&self, hunk: usize, is_in: bool, rest: Rest<'a>) -> Option<Rest<'a>> {
        let atoms = &self.weave.atoms()[self.atoms_of(hunk)];
        let mut rest = rest;
        let mut at = atoms[0].old.start;
        for atom in atoms {
            rest = rest.without(self.weave.original().lines_bytes(at..atom.old.start))?;
            rest = rest.without(self.weave.side(atom, is_in))?;
            at = atom.old.end;
        }
        Some(rest)
    }
}

/// How many ways of reading a target are kept at a time. In source there is one, after a hunk that
/// repeats its surroundings two; a text that needs more is searched instead.
const MAX_WAYS: usize = 64;

/// A way to read a target as the original with some hunks, up to and with one of them.
#[derive(Clone, Copy)]
struct Way<'a> {
    /// What is not read yet.
    rest: Rest<'a>,
    /// Index of the way that it continues, among those that end before the hunk.
    from: usize,
    /// Whether the hunk is in the target.
    is_in: bool,
}

impl<'a> Way<'a> {
    fn new(live: &'a [&'a [u8]]) -> Way<'a> {
        let rest = Rest {
            first: &[],
            more: live,
            n_read: 0,
        };
        let (from, is_in) = (0, false);
        Way { rest, from, is_in }
    }
}

/// The rest of a text in pieces: a target that the line map has is not put together only to see
/// that it is no choice of hunks.
#[derive(Clone, Copy)]
struct Rest<'a> {
    /// What is left of the piece that is being read.
    first: &'a [u8],
    more: &'a [&'a [u8]],
    /// Number of bytes before it.
    n_read: usize,
}

impl<'a> Rest<'a> {
    /// Returns what is left if the text goes on with `head`.
    fn without(mut self, mut head: &[u8]) -> Option<Rest<'a>> {
        loop {
            let len = self.first.len().min(head.len());
            let (ours, theirs) = (&self.first[..len], &head[..len]);
            // What the line map has of the original is the same memory.
            if !std::ptr::eq(ours, theirs) && ours != theirs {
                return None;
            }
            (self.first, head) = (&self.first[len..], &head[len..]);
            self.n_read += len;
            if head.is_empty() {
                return Some(self);
            }
            (self.first, self.more) = self
                .more
                .split_first()
                .map(|(first, more)| (*first, more))?;
        }
    }

    fn is_empty(&self) -> bool {
        self.first.is_empty() && self.more.iter().all(|piece| piece.is_empty())
    }
}

/// Following the target of a bare diff: by exact search.
impl Proposal {
    /// Searches `live` for every hunk.
    pub(super) fn search(&mut self, live: &[u8]) {
        self.search_but(live, vec![None; self.n_hunks()]);
    }

    /// Searches `live` for every hunk that is not among `kept`, the places of the others.
    pub(super) fn search_but(&mut self, live: &[u8], kept: Vec<Option<Candidate>>) {
        if kept.last().is_none_or(Option::is_none) {
            self.toggle_last_end(self.bare.as_ref().is_some_and(|bare| bare.is_toggled));
        }
        let live = Text::new(live.to_vec());
        let mut found = self.find_all(&live, &kept);
        if let Some(place) = found.last().and_then(|last| last.place.as_ref().ok()) {
            self.toggle_last_end(place.is_toggled);
        }
        let runs = self.keep_disjoint(&mut found);
        // A hunk that lost its place is as it was last known: the other side is not proven.
        let is_applied = self.applied_by(found.iter().map(Found::is_in));
        self.weave.lay_out(live, &runs, &is_applied);
        self.fuzz = found.iter().map(Found::fuzz).collect();
        let is_here = |(hunk, found): (usize, Found)| {
            found.place?;
            Ok(found.offset - self.shift(hunk))
        };
        self.offsets = found.into_iter().enumerate().map(is_here).collect();
    }

    /// Returns for each hunk whether its change is in `live`, and where.
    fn find_all(&self, live: &Text, kept: &[Option<Candidate>]) -> Vec<Found> {
        let live = Index::new(live);
        let mut sights = Vec::with_capacity(kept.len());
        let mut delta = 0;
        for (hunk, kept) in kept.iter().enumerate() {
            let expected = self.stated(hunk).saturating_add_signed(delta);
            let sight = kept.map(Sight::certain);
            let sight = sight.unwrap_or_else(|| self.sight(&live, hunk, expected));
            delta += self.delta_if_in(hunk, &sight);
            sights.push(sight);
        }
        self.vouch_for_stated(&live, &mut sights);
        let mut delta = 0;
        let mut found = Vec::with_capacity(kept.len());
        for (hunk, sight) in sights.into_iter().enumerate() {
            let expected = self.stated(hunk).saturating_add_signed(delta);
            delta += self.delta_if_in(hunk, &sight);
            found.push(self.found(hunk, sight, expected));
        }
        found
    }

    /// Returns the line where `hunk` starts in the original, as its header says (0-based).
    pub(super) fn stated(&self, hunk: usize) -> usize {
        self.bare.as_ref().map_or(0, |bare| bare.starts[hunk])
    }

    fn delta_if_in(&self, hunk: usize, sight: &Sight) -> isize {
        let is_in = sight.place().is_some_and(|place| place.is_in);
        if is_in { self.delta(hunk) } else { 0 }
    }

    fn found(&self, hunk: usize, sight: Sight, expected: usize) -> Found {
        let was_in = self.is_in(hunk);
        let place = sight.place();
        let offset = place.map_or(0, |place| self.offset_from(hunk, &place, expected));
        let place = match sight.doubt {
            Some(reason) => Err(reason),
            None => place.ok_or(NotPlaced::NotFound),
        };
        Found {
            was_in,
            place,
            offset,
        }
    }

    /// Returns by how many lines `place` of `hunk` is below the one where it begins at `expected`.
    pub(super) fn offset_from(&self, hunk: usize, place: &Candidate, expected: usize) -> isize {
        let (head, _) = self.cut(hunk, place.fuzz);
        locate::offset(expected.saturating_add(head), place.line)
    }

    /// Returns the lines of `hunk` with its context, with or without its change.
    pub(super) fn run(&self, hunk: usize, is_in: bool) -> Vec<&[u8]> {
        let group = &self.groups[hunk];
        let (original, mut at) = (self.weave.original(), group.before.start);
        let mut run = Vec::new();
        for atom in &self.weave.atoms()[group.edits.clone()] {
            run.extend(original.lines(at..atom.old.start));
            run.extend(
                self.weave
                    .side(atom, is_in)
                    .split_inclusive(|&byte| byte == b'\n'),
            );
            at = atom.old.end;
        }
        run.extend(original.lines(at..group.before.end));
        run
    }

    /// Returns the runs of all hunks found, in the order of their lines, and takes the place from
    /// those that overlap: from both, unless just one of them is where it was expected.
    fn keep_disjoint(&self, found: &mut [Found]) -> Vec<Placed> {
        let placed = |(hunk, found): (usize, &Found)| {
            let place = found.place.as_ref().ok()?;
            let run = self.run_at(hunk, place);
            let end = run.line + self.run_len(hunk, place);
            Some((hunk, run, end))
        };
        let mut runs: Vec<(usize, Placed, usize)> =
            found.iter().enumerate().filter_map(placed).collect();
        runs.sort_by_key(|(_, run, _)| run.line);
        let mut widest: Option<&(usize, Placed, usize)> = None;
        let offsets: Vec<Option<isize>> = found.iter().map(Found::offset).collect();
        for next in &runs {
            if let Some((other, _, end)) = widest.filter(|(.., end)| next.1.line < *end) {
                let (hunk, other) = (next.0, *other);
                for (loser, winner) in [(hunk, other), (other, hunk)] {
                    if offsets[loser] != Some(0) || offsets[winner] == Some(0) {
                        found[loser].place = Err(NotPlaced::Overlaps { other: winner });
                    }
                }
                if next.2 <= *end {
                    continue;
                }
            }
            widest = Some(next);
        }
        runs.retain(|(hunk, ..)| found[*hunk].place.is_ok());
        runs.into_iter().map(|(_, run, _)| run).collect()
    }

    /// Returns where the hunks are that have a place outside the `lines` of the target, once
    /// `n_now` lines stand in the place of those; `None` for each other hunk.
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
}

/// What a search for one hunk found.
struct Found {
    /// Whether its change was in the target when its place was last known.
    was_in: bool,
    place: Result<Candidate, NotPlaced>,
    /// Lines between where it was expected and that place.
    offset: isize,
}

impl Found {
    fn is_in(&self) -> bool {
        self.place.as_ref().map_or(self.was_in, |place| place.is_in)
    }

    fn fuzz(&self) -> usize {
        self.place.as_ref().map_or(0, |place| place.fuzz)
    }

    fn offset(&self) -> Option<isize> {
        self.place.as_ref().ok().map(|_| self.offset)
    }
}
