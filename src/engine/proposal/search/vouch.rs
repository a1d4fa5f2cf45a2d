//! When the line that a hunk's header states counts: if its neighbors vouch for it.
//!
//! Of a hunk whose lines are at several places the stated one is taken only if the nearest hunks
//! of the diff above and below that have one place only, one on each side, have both moved by the
//! same number of lines from where their own headers state them, and the hunk moved by as many fits.
//! Then what lies between those two is as long as it was, and all hunks in it are where they are
//! stated. Among equal blocks two edits between them could still cancel each other; nothing in a
//! diff tells of that.
//!
//! The other voucher is the id of the whole text; see [`blob`](crate::proposal).

use crate::patch::locate::{self, Index};

use super::{Candidate, Search, Sight};

impl Search<'_> {
    /// Makes certain what is not among `sights`, those of all hunks in `live`, where the neighbors
    /// vouch for the stated line.
    pub(super) fn vouch_for_stated(self, live: &Index, sights: &mut [Sight]) {
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

    /// Returns the places of the hunks between `above` and `below`, the nearest ones with one place
    /// only, for which these vouch.
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
        // How far lines below the first anchor are from where the headers state them.
        let mut moved = locate::offset(self.bare.start(above), first.line);
        moved += if first.is_in {
            self.hunks.delta(above)
        } else {
            0
        };
        let mut places = Vec::new();
        for (hunk, sight) in sights.iter().enumerate().take(below).skip(above + 1) {
            let stated = self.bare.start(hunk).saturating_add_signed(moved);
            if let Some(place) = self.stated_place(live, sight, hunk, stated) {
                moved += if place.is_in {
                    self.hunks.delta(hunk)
                } else {
                    0
                };
                places.push((hunk, place));
            }
        }
        match self.bare.start(below).saturating_add_signed(moved) == last.line {
            true => places,
            false => Vec::new(),
        }
    }

    /// Returns the place of `hunk` at line `stated`, if it is one of those that there are and the
    /// hunk fits it in one way only.
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
