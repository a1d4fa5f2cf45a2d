//! Searching a target for the hunks of a bare diff.
//!
//! Each hunk's lines are searched for, with its change and without ([`Candidate`]). If they are at
//! several places, the hunks above and below may vouch for the stated line. No two hunks
//! may have the same lines.
//!
//! Only reads the weave, the hunks and the diff's statements. The result is a value, from which the
//! proposal updates itself.

use crate::patch::locate::{self, Doubt, Index, NotPlaced};
use crate::text::{Text, is_unterminated};
use crate::weave::{Placed, Weave};

use super::bare::{Bare, Edges};
use super::hunks::{HunkLines, Hunks};

/// What a search reads.
#[derive(Clone, Copy)]
pub(super) struct Search<'a> {
    pub weave: &'a Weave,
    pub hunks: &'a Hunks,
    pub bare: &'a Bare,
}

/// What a search for one hunk found.
pub(super) struct Found {
    /// Whether the hunk's change was in the target when its place was last known.
    was_in: bool,
    pub place: Result<Candidate, NotPlaced>,
    /// How many lines below the expected place that is.
    pub offset: isize,
}

impl Found {
    /// Returns whether the hunk's change is in the target, as far as known.
    pub fn is_in(&self) -> bool {
        self.place.as_ref().map_or(self.was_in, |place| place.is_in)
    }

    /// Returns how many outer context lines on each side were ignored to find the hunk.
    pub fn fuzz(&self) -> usize {
        self.place.as_ref().map_or(0, |place| place.fuzz)
    }

    fn offset(&self) -> Option<isize> {
        self.place.as_ref().ok().map(|_| self.offset)
    }
}

impl<'a> Search<'a> {
    /// Searches `live` for every hunk without a place in `kept`. Returns what was found for each
    /// hunk; places may overlap.
    pub fn find_all(self, live: &Text, kept: &[Option<Candidate>]) -> Vec<Found> {
        let live = Index::new(live);
        let mut sights = Vec::with_capacity(kept.len());
        let mut delta = 0;
        for (hunk, kept) in kept.iter().enumerate() {
            let expected = self.bare.hunk(hunk).start.saturating_add_signed(delta);
            let sight = kept.map(Sight::certain);
            let sight = sight.unwrap_or_else(|| self.sight(&live, hunk, expected));
            delta += self.delta_if_in(hunk, &sight);
            sights.push(sight);
        }
        self.vouch_for_stated(&live, &mut sights);
        let mut delta = 0;
        let mut found = Vec::with_capacity(kept.len());
        for (hunk, sight) in sights.into_iter().enumerate() {
            let expected = self.bare.hunk(hunk).start.saturating_add_signed(delta);
            delta += self.delta_if_in(hunk, &sight);
            found.push(self.found(hunk, sight, expected));
        }
        found
    }

    fn delta_if_in(self, hunk: usize, sight: &Sight) -> isize {
        let is_in = sight.place().is_some_and(|place| place.is_in);
        if is_in { self.hunks.delta(hunk) } else { 0 }
    }

    fn found(self, hunk: usize, sight: Sight, expected: usize) -> Found {
        let was_in = self.lines(hunk).is_in();
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

    /// Returns how many lines below its expected place `place` of `hunk` is, where `expected` is
    /// the line at which it should begin.
    pub fn offset_from(self, hunk: usize, place: &Candidate, expected: usize) -> isize {
        let [head, _] = self.lines(hunk).ignored(place.fuzz);
        locate::offset(expected.saturating_add(head), place.line)
    }

    /// Returns the line of the target at which `hunk` should begin: the one that its header states,
    /// moved by the hunks that are applied above it.
    pub fn expected(self, hunk: usize) -> usize {
        let delta = self.weave.delta_before(self.hunks.atoms(hunk).start);
        self.bare.hunk(hunk).start.saturating_add_signed(delta)
    }

    /// Returns the line at which `hunk` should begin now that others have edited the target.
    pub fn likely(self, hunk: usize) -> usize {
        let expected = self.expected(hunk);
        expected.saturating_add_signed(self.bare.hunk(hunk).moved)
    }

    /// Returns the runs of all hunks found, in the order of their lines. If two overlap, both lose
    /// their places, unless just one of them is where it was expected; that one keeps its place.
    pub fn keep_disjoint(self, found: &mut [Found]) -> Vec<Placed> {
        let placed = |(hunk, found): (usize, &Found)| {
            let place = found.place.as_ref().ok()?;
            let end = place.line + self.n_lines_at(hunk, place);
            Some((hunk, self.run_at(hunk, place), end))
        };
        let placed = found.iter().enumerate().filter_map(placed);
        let mut runs: Vec<(usize, Placed, usize)> = placed.collect();
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

    /// Returns the run of `hunk` at `place`. It excludes context lines that were ignored: these are
    /// the target's own and do not change.
    pub fn run_at(self, hunk: usize, place: &Candidate) -> Placed {
        let group = self.lines(hunk).group_within(place.fuzz);
        Placed {
            line: place.line,
            before: group.before,
            atoms: group.edits,
        }
    }

    /// Returns how many lines of the target `hunk` has at `place`.
    pub fn n_lines_at(self, hunk: usize, place: &Candidate) -> usize {
        self.lines(hunk).len(place.is_in, place.fuzz)
    }

    fn lines(self, hunk: usize) -> HunkLines<'a> {
        HunkLines::new(self.weave, self.hunks, hunk)
    }
}

// Where a hunk of a bare diff may belong, and whether that is certain.
//
// A hunk's lines are searched for with its change and without, and each place found either way
// counts. Its place is certain if there is only one. If there are several, the hunk itself may
// still identify one:
//
// - A hunk with context above but none below ends its file, so it belongs at the end. A hunk
//   without context above whose header states the first line belongs at the beginning. That is the
//   rule of `git apply` (`match_end`, `match_beginning` in apply.c) and of GNU patch (a
//   `suffix_fuzz` or `prefix_fuzz` below 0 in patch.c). They refuse the hunk elsewhere, even if
//   only a line was added above the first. Here, a hunk whose own lines are in only one place
//   keeps that place, and a hunk that only adds lines at that edge waits until the user has
//   checked it.
// - A line marked `\ No newline at end of file` is the last one of its file, with the change or
//   without.
// - A hunk without any context, such as all hunks of `diff -U0`, says nothing about its place.
//
// The line that a hunk's header states decides nothing here: models get it wrong, and if the file
// has changed since, it is out of date. [`vouch`](super::vouch) says when it counts.

/// Most context lines on each side that are ignored, as in GNU patch.
const MAX_FUZZ: usize = 2;

/// A place where a hunk may belong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// Line of the target (0-based) at which the hunk's lines begin, including its context except
    /// the lines that `fuzz` ignores.
    pub line: usize,
    /// Line of the target (0-based) of the first change.
    pub change: usize,
    /// Whether the lines there include the hunk's change.
    pub is_in: bool,
    /// Number of outer context lines on each side that were ignored.
    pub fuzz: usize,
    /// Number of the hunk's lines there.
    pub len: usize,
    /// Whether the last line, in which the diff text broke off, has the other ending there than was
    /// assumed.
    pub(in crate::proposal) is_toggled: bool,
}

/// What the lines of one hunk say about its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::proposal) struct Sight {
    /// The possible places, the likeliest first.
    pub candidates: Vec<Candidate>,
    /// Why the first of them is not certain, if it is not.
    pub doubt: Option<NotPlaced>,
}

impl Sight {
    pub fn certain(candidate: Candidate) -> Sight {
        Sight {
            candidates: vec![candidate],
            doubt: None,
        }
    }

    fn nowhere(reason: NotPlaced) -> Sight {
        Sight {
            candidates: Vec::new(),
            doubt: Some(reason),
        }
    }

    fn several(candidates: Vec<Candidate>) -> Sight {
        let reason = NotPlaced::Ambiguous {
            candidates: lines(&candidates),
        };
        Sight {
            candidates,
            doubt: Some(reason),
        }
    }

    fn doubtful(candidates: Vec<Candidate>, doubt: Doubt) -> Sight {
        let reason = NotPlaced::Doubtful {
            candidates: lines(&candidates),
            doubt,
        };
        Sight {
            candidates,
            doubt: Some(reason),
        }
    }

    /// Returns the place, if it is certain.
    pub fn place(&self) -> Option<Candidate> {
        let first = self.candidates.first().copied();
        first.filter(|_| self.doubt.is_none())
    }
}

fn lines(candidates: &[Candidate]) -> Vec<usize> {
    let mut lines: Vec<usize> = candidates.iter().map(|place| place.line).collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}

impl Search<'_> {
    /// Returns where `hunk` may be in `live` according to its own lines, the place nearest to line
    /// `expected` first.
    pub(in crate::proposal) fn sight(self, live: &Index, hunk: usize, expected: usize) -> Sight {
        if self.bare.hunk(hunk).is_cut {
            return Sight::nowhere(NotPlaced::Cut);
        }
        let was_in = self.lines(hunk).is_in();
        let mut places = Vec::new();
        for is_in in [was_in, !was_in] {
            places.extend(self.spots(live, hunk, is_in, 0, expected));
        }
        places.sort_by_key(|place| place.line.abs_diff(expected));
        let sight = self.judged(live, hunk, self.without_inner(hunk, places));
        if self.lines(hunk).len(false, 0) == 0 && sight.doubt.is_some() && !live.is_empty() {
            return Sight::nowhere(NotPlaced::NoContext);
        }
        if !sight.candidates.is_empty() {
            return sight;
        }
        let ignored = |fuzz| self.lines(hunk).ignored(fuzz);
        let fuzzy = (1..=MAX_FUZZ).filter(|&fuzz| ignored(fuzz) != ignored(fuzz - 1));
        let spots = |fuzz| self.spots(live, hunk, was_in, fuzz, expected);
        let found = fuzzy.map(spots).find(|spots| !spots.is_empty());
        match found {
            Some(spots) => self.judged(live, hunk, spots),
            None => Sight::nowhere(NotPlaced::NotFound),
        }
    }

    /// Returns where the lines of `hunk`, with its change or without, are in `live`, the place
    /// nearest to line `expected` first.
    fn spots(
        self,
        live: &Index,
        hunk: usize,
        is_in: bool,
        fuzz: usize,
        expected: usize,
    ) -> Vec<Candidate> {
        let lines = self.lines(hunk);
        let near = expected.saturating_add(lines.ignored(fuzz)[0]);
        let mut places = Vec::new();
        for &is_toggled in self.last_ends(hunk) {
            let variant = Variant::new(lines, is_in, fuzz, is_toggled);
            let starts = live.starts_near(&variant.run, near).into_iter();
            // An empty last line has only one ending, so both searches find the same place.
            let is_new = |line: &usize| places.iter().all(|place: &Candidate| place.line != *line);
            let counted = starts.filter(|&line| variant.counts(live, line));
            let new: Vec<usize> = counted.filter(is_new).collect();
            places.extend(new.into_iter().map(|line| variant.at(line)));
        }
        places.sort_by_key(|place| place.line.abs_diff(near));
        places
    }

    /// Returns the ways in which `hunk` fits `live` at line `line`, including all its context.
    fn fits_at(self, live: &Index, hunk: usize, line: usize) -> Vec<Candidate> {
        let was_in = self.lines(hunk).is_in();
        let mut places = Vec::new();
        for is_in in [was_in, !was_in] {
            for &is_toggled in self.last_ends(hunk) {
                let variant = Variant::new(self.lines(hunk), is_in, 0, is_toggled);
                let is_here = !variant.run.is_empty() && live.is_at(&variant.run, line);
                if is_here && variant.counts(live, line) {
                    places.push(variant.at(line));
                }
            }
        }
        self.without_inner(hunk, places)
    }

    /// Returns the possible endings of the last line of `hunk`, as values of `is_toggled`: the one
    /// assumed, and if the diff text broke off in that line, also the other one.
    fn last_ends(self, hunk: usize) -> &'static [bool] {
        let is_last = hunk + 1 == self.hunks.len();
        if self.bare.is_open_ended && is_last && !self.lines(hunk).is_missing_a_side() {
            &[false, true]
        } else {
            &[false]
        }
    }

    /// Judges whether one of `places`, all that there are for `hunk`, is certain.
    fn judged(self, live: &Index, hunk: usize, mut places: Vec<Candidate>) -> Sight {
        let edges = self.bare.hunk(hunk).edges;
        if edges.top || edges.end {
            let are_there = |place: &Candidate| edges.are_at(live, place.line, place.len);
            let (there, elsewhere): (Vec<_>, Vec<_>) = places.iter().copied().partition(are_there);
            match (&there[..], &places[..]) {
                // A longer place of the other side counts as much: by now there may be lines after
                // the hunk.
                (&[place], _) => {
                    let is_rival =
                        |other: &Candidate| other.is_in != place.is_in && other.len > place.len;
                    places = there;
                    places.extend(elsewhere.into_iter().filter(is_rival));
                }
                (&[], &[place]) if !place.is_in => {
                    if let Some(doubt) = self.doubt_off(edges, live, hunk, &place) {
                        return Sight::doubtful(places, doubt);
                    }
                }
                _ => {}
            }
        }
        match places[..] {
            [] => Sight::nowhere(NotPlaced::NotFound),
            [place] if self.is_proof(live, hunk, &place) => Sight::certain(place),
            [_] => Sight::doubtful(places, Doubt::NoContext),
            _ => Sight::several(places),
        }
    }

    /// Returns `places` of `hunk` without those that are part of a place of the other side, such as
    /// the three lines before an appended one, and without duplicates.
    fn without_inner(self, hunk: usize, places: Vec<Candidate>) -> Vec<Candidate> {
        let [is_bare_above, is_bare_below] = self.lines(hunk).context_lens().map(|len| len == 0);
        let end = |place: &Candidate| place.line + place.len;
        let is_inner = |place: &Candidate, other: &Candidate| {
            let begins = other.line == place.line || other.line < place.line && is_bare_above;
            let ends = end(other) == end(place) || end(place) < end(other) && is_bare_below;
            other.is_in != place.is_in && other.len > place.len && begins && ends
        };
        let is_same = |place: &Candidate, first: &Candidate| {
            (first.line, first.len) == (place.line, place.len)
        };
        let mut kept: Vec<Candidate> = Vec::new();
        for place in &places {
            let is_part = places.iter().any(|other| is_inner(place, other));
            if !is_part && !kept.iter().any(|first| is_same(place, first)) {
                kept.push(*place);
            }
        }
        kept
    }

    /// Returns why `place`, the only one of `hunk` but not at its `edges`, is not certain, if it is
    /// not. If the hunk only adds lines at an end of the file, nothing in it distinguishes these
    /// from lines that others added there.
    fn doubt_off(
        self,
        edges: Edges,
        live: &Index,
        hunk: usize,
        place: &Candidate,
    ) -> Option<Doubt> {
        let [first, last] = self.lines(hunk).outermost();
        let is_at_end = live.is_end(place.line, place.len);
        if edges.top && place.line != 0 && first.old.is_empty() {
            Some(Doubt::NotAtTop)
        } else if edges.end && !is_at_end && last.old.is_empty() {
            Some(Doubt::NotAtEnd)
        } else {
            None
        }
    }

    /// Returns whether the lines at `place` prove that `hunk` is in the target, if they include its
    /// change. They do if it was known to be in, if they include context, if a no-newline marker
    /// says that they end the file (as they then do), or if they are the whole text.
    fn is_proof(self, live: &Index, hunk: usize, place: &Candidate) -> bool {
        let lines = self.lines(hunk);
        let removed: usize = lines.atoms().iter().map(|atom| atom.old.len()).sum();
        let has_context = removed < lines.len(false, 0);
        let is_all = place.line == 0 && live.is_end(0, place.len);
        let is_marked = !place.is_toggled
            && [false, true].iter().any(|&side| {
                let run = lines.all(side);
                run.last().is_some_and(|line| is_unterminated(line))
            });
        !place.is_in || lines.is_in() || has_context || is_marked || is_all
    }
}

// One of the ways in which the lines of a bare diff's hunk may occur in the target, and what such
// an occurrence proves.

/// A hunk's lines, with or without its change, with or without the last newline, and with some
/// context ignored.
struct Variant<'a> {
    pub run: Vec<&'a [u8]>,
    /// The lines with the change if `run` is without it, and the reverse.
    other: Vec<&'a [u8]>,
    /// Whether the hunk shows no context above its first change; the same below its last.
    is_bare: [bool; 2],
    /// Whether the first change has no lines on this side; the same for the last one.
    is_gone: [bool; 2],
    /// The place of these lines at line 0; see [`Variant::at`].
    place: Candidate,
    /// Whether the hunk was on this side when its place was last known.
    is_known: bool,
    /// Whether a no-newline marker says that the file ends with these lines.
    is_last: bool,
}

impl<'a> Variant<'a> {
    pub fn new(hunk: HunkLines<'a>, is_in: bool, fuzz: usize, is_toggled: bool) -> Variant<'a> {
        let [head, tail] = hunk.ignored(fuzz);
        let sides = [is_in, !is_in].map(|side| hunk.all_toggled(side, is_toggled));
        let [run, other] = sides.map(|side| side[head..side.len() - tail].to_vec());
        let is_marked = |side: &&Vec<&[u8]>| side.last().is_some_and(|line| is_unterminated(line));
        let is_last = !is_toggled && [&run, &other].iter().any(is_marked);
        let place = Candidate {
            line: 0,
            change: hunk.head_len(fuzz),
            is_in,
            fuzz,
            len: run.len(),
            is_toggled,
        };
        Variant {
            run,
            other,
            is_bare: hunk.context_lens().map(|len| len == 0),
            is_gone: hunk
                .outermost()
                .map(|atom| hunk.weave.side(atom, is_in).is_empty()),
            place,
            is_known: is_in == hunk.is_in(),
            is_last,
        }
    }

    /// Returns the place at line `line`.
    pub fn at(&self, line: usize) -> Candidate {
        let change = line + self.place.change;
        Candidate {
            line,
            change,
            ..self.place
        }
    }

    /// Returns whether an occurrence of these lines at line `line` of `live` counts as a place of
    /// the hunk.
    ///
    /// If a hunk only adds or removes lines at an end where it shows no context, its shorter side
    /// is part of its longer one. Unless the hunk was on the shorter side before, finding that side
    /// proves nothing, except where the text begins or ends as well: elsewhere, the lines missing
    /// from the longer side may just have been changed. And nothing may follow a line that a marker
    /// says is the last.
    pub fn counts(&self, live: &Index, line: usize) -> bool {
        let [goes_on_above, goes_on_below] = self.is_part_of(&self.other);
        let is_cut_off =
            (!goes_on_above || line == 0) && (!goes_on_below || live.is_end(line, self.run.len()));
        (self.is_known || is_cut_off) && (!self.is_last || live.is_end(line, self.run.len()))
    }

    /// Returns whether `longer`, the other side of the hunk, continues above these lines, and
    /// whether it continues below them, at ends where the hunk shows no context.
    fn is_part_of(&self, longer: &[&[u8]]) -> [bool; 2] {
        let is_shorter = self.run.len() < longer.len();
        let [above, below] = self.is_bare.map(|is_bare| is_bare && is_shorter);
        [
            above && (self.is_gone[0] || longer.ends_with(&self.run)),
            below && (self.is_gone[1] || longer.starts_with(&self.run)),
        ]
    }
}

// When the line that a hunk's header states is trusted: if neighboring hunks vouch for it.
//
// If a hunk's lines are at several places, its neighbors are the nearest hunk above and the
// nearest hunk below that have only one place each. The hunk's stated place is taken only if both
// neighbors are the same number of lines away from their own stated places, and the hunk fits when
// moved by as many lines. Then the text between the neighbors is as long as it was, and all hunks
// in it are where their headers state. Among equal blocks, two edits between the neighbors could
// still cancel each other out; nothing in a diff shows that.
//
// The id of the whole text can vouch, too; see
// [`Proposal::adopt`](crate::proposal::Proposal::adopt).

impl Search<'_> {
    /// Makes those of `sights`, one for each hunk in `live`, certain for whose stated lines the
    /// neighbors vouch.
    fn vouch_for_stated(self, live: &Index, sights: &mut [Sight]) {
        let is_anchor = |&hunk: &usize| {
            let place = sights[hunk].place();
            place.is_some_and(|place| place.fuzz == 0)
        };
        let anchors: Vec<usize> = (0..sights.len()).filter(is_anchor).collect();
        for pair in anchors.windows(2) {
            for (hunk, place) in self.vouched_between(live, sights, pair[0], pair[1]) {
                sights[hunk] = Sight::certain(place);
            }
        }
    }

    /// Returns the places of the hunks between `above` and `below`, neighbors with only one place
    /// each, for which these vouch.
    fn vouched_between(
        self,
        live: &Index,
        sights: &[Sight],
        above: usize,
        below: usize,
    ) -> Vec<(usize, Candidate)> {
        let (Some(first), Some(last)) = (sights[above].place(), sights[below].place()) else {
            return Vec::new();
        };
        // How far the lines below the neighbor above are from where the headers state them.
        let mut moved = locate::offset(self.bare.hunk(above).start, first.line);
        moved += if first.is_in {
            self.hunks.delta(above)
        } else {
            0
        };
        let mut places = Vec::new();
        for (hunk, sight) in sights.iter().enumerate().take(below).skip(above + 1) {
            let stated = self.bare.hunk(hunk).start.saturating_add_signed(moved);
            if let Some(place) = self.stated_place(live, sight, hunk, stated) {
                moved += if place.is_in {
                    self.hunks.delta(hunk)
                } else {
                    0
                };
                places.push((hunk, place));
            }
        }
        if self.bare.hunk(below).start.saturating_add_signed(moved) == last.line {
            places
        } else {
            Vec::new()
        }
    }

    /// Returns the place of `hunk` at line `stated`, if it is one of its places and the hunk fits
    /// there in only one way.
    fn stated_place(
        self,
        live: &Index,
        sight: &Sight,
        hunk: usize,
        stated: usize,
    ) -> Option<Candidate> {
        let is_exact = |place: &&Candidate| place.fuzz == 0;
        sight.candidates.iter().find(is_exact)?;
        // There may be more places than were collected.
        let there = self.fits_at(live, hunk, stated);
        match there[..] {
            [place] => Some(place),
            _ => None,
        }
    }
}
