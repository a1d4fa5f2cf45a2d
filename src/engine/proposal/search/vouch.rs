//! When the line that a hunk's header states is trusted: if neighboring hunks vouch for it.
//!
//! If a hunk's lines are at several places, its neighbors are the nearest hunk above and the
//! nearest hunk below that have only one place each. The hunk's stated place is taken only if both
//! neighbors are the same number of lines away from their own stated places, and the hunk fits when
//! moved by as many lines. Then the text between the neighbors is as long as it was, and all hunks
//! in it are where their headers state. Among equal blocks, two edits between the neighbors could
//! still cancel each other out; nothing in a diff shows that.
//!
//! The id of the whole text can vouch, too; see
//! [`Proposal::adopt`](crate::proposal::Proposal::adopt).

use crate::patch::locate::{self, Index};

use super::{Candidate, Search, Sight};

impl Search<'_> {
    /// Makes those of `sights`, one for each hunk in `live`, certain for whose stated lines the
    /// neighbors vouch.
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
