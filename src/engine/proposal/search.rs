//! Searching a target for the hunks of a bare diff.
//!
//! Each hunk's lines are searched for, with its change and without ([`candidates`]). If they are at
//! several places, the hunks above and below may vouch for the stated line ([`vouch`]). No two
//! hunks may have the same lines.
//!
//! Only reads the weave, the hunks and the diff's statements. The result is a value, from which the
//! proposal updates itself.

mod candidates;
mod variant;
mod vouch;

use crate::patch::locate::{self, Index, NotPlaced};
use crate::text::Text;
use crate::weave::{Placed, Weave};

use super::bare::Bare;
use super::hunks::Hunks;
use super::lines::HunkLines;
pub use candidates::Candidate;
use candidates::Sight;

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
            let expected = self.bare.start(hunk).saturating_add_signed(delta);
            let sight = kept.map(Sight::certain);
            let sight = sight.unwrap_or_else(|| self.sight(&live, hunk, expected));
            delta += self.delta_if_in(hunk, &sight);
            sights.push(sight);
        }
        self.vouch_for_stated(&live, &mut sights);
        let mut delta = 0;
        let mut found = Vec::with_capacity(kept.len());
        for (hunk, sight) in sights.into_iter().enumerate() {
            let expected = self.bare.start(hunk).saturating_add_signed(delta);
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
        self.bare.start(hunk).saturating_add_signed(delta)
    }

    /// Returns the line at which `hunk` should begin now that others have edited the target.
    pub fn likely(self, hunk: usize) -> usize {
        let expected = self.expected(hunk);
        expected.saturating_add_signed(self.bare.moved(hunk))
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
