//! Where a hunk of a bare diff may belong, and whether that is certain.
//!
//! A hunk's lines are searched for with its change and without, and each place found either way
//! counts. Its place is certain if there is only one. If there are several, the hunk itself may
//! still identify one:
//!
//! - A hunk with context above but none below ends its file, so it belongs at the end. A hunk
//!   without context above whose header states the first line belongs at the beginning. That is the
//!   rule of `git apply` (`match_end`, `match_beginning` in apply.c) and of GNU patch (a
//!   `suffix_fuzz` or `prefix_fuzz` below 0 in patch.c). They refuse the hunk elsewhere, even if
//!   only a line was added above the first. Here, a hunk whose own lines are in only one place
//!   keeps that place, and a hunk that only adds lines at that edge waits until the user has
//!   checked it.
//! - A line marked `\ No newline at end of file` is the last one of its file, with the change or
//!   without.
//! - A hunk without any context, such as all hunks of `diff -U0`, says nothing about its place.
//!
//! The line that a hunk's header states decides nothing here: models get it wrong, and if the file
//! has changed since, it is out of date. [`vouch`](super::vouch) says when it counts.

use crate::patch::locate::{Doubt, Index, NotPlaced};
use crate::text::is_unterminated;

use super::Search;
use super::variant::Variant;
use crate::proposal::bare::Edges;

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
        if self.bare.is_cut(hunk) {
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
    pub(super) fn fits_at(self, live: &Index, hunk: usize, line: usize) -> Vec<Candidate> {
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
        match self.bare.is_open_ended() && is_last && !self.lines(hunk).is_missing_a_side() {
            true => &[false, true],
            false => &[false],
        }
    }

    /// Judges whether one of `places`, all that there are for `hunk`, is certain.
    fn judged(self, live: &Index, hunk: usize, mut places: Vec<Candidate>) -> Sight {
        let edges = self.bare.edges(hunk);
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
