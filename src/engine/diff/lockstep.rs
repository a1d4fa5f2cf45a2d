//! Near-identical texts: both are read in step and searched only where they differ.
//!
//! Equal stretches are compared as memory, which is many times cheaper than numbering each line.
//! Where the texts differ, the smallest number of changed lines after which they agree again is
//! searched for. That is a guess: a copy of a block may begin like the lines below it. So the result
//! is checked. If no distinctive line was both removed and added within reach, there is no better
//! result nearby; otherwise everything between the two places is searched as a whole. Texts that do
//! not agree again soon, such as after a moved block, are left to the full search, and so are texts
//! with recurring runs of lines, if these are what was removed and added.
//!
//! With *n* lines this takes O(n) time: steps are counted, and once there are more than lines, this
//! method is given up.

use imara_diff::InternedInput;

use super::anchors;
use super::maybe_moved::{Changed, recur};
use super::moved::doubtful_parts;
use super::myers::Myers;
use super::recheck::{much_less, n_steps};
use super::search::{self, Part};
use super::token_slices::TokenSlices;
use super::work::Work;
use super::{Edit, equal_ends_beyond};
use crate::text::{Alike, Text};

/// Lines of both sides up to which a search of everything is as fast.
const MIN_LEN: usize = 256;

/// Number of equal lines in a row from which on texts agree again.
const AGREED_LEN: usize = 4;

/// Largest number of changed lines that is searched for line by line.
const MAX_COST: usize = 48;

/// Number of diagonals that such a search can visit, and index of the first one.
const N_CELLS: usize = 2 * MAX_COST + 3;
const MIDDLE: usize = MAX_COST + 1;

/// Less than any number of lines.
const NOWHERE: i32 = -1;

/// Largest number of equal lines that are counted to choose between gaps.
const COMPARED_LEN: usize = 32;

/// Numbers of lines on each side that are searched for a unique line after a longer change.
const WINDOWS: [usize; 3] = [1 << 8, 1 << 11, 1 << 14];

/// Number of lines of both sides from which on samples tell whether recurring lines were mismatched;
/// the number of samples, about how many lines of the original each has, and the steps to number a
/// line.
const SAMPLED_LEN: usize = 1 << 13;
const N_SAMPLES: usize = 6;
const SAMPLE_LEN: usize = 1 << 10;
const NUMBERING: usize = 8;

/// The share of the work that a walk may take, one in so many steps, and the steps it may always
/// take.
const WALK: usize = 4;
const LEAST_WALK: usize = 1 << 16;

/// Steps of the work for comparing a pair of lines to no avail.
const CELL: usize = 2;

/// If more than one in so many lines is in doubt, the whole texts are searched.
const MIN_PLAIN: usize = 8;

/// Returns the edits in `whole`, all of both texts, whose common prefix and suffix are `alike`, or
/// `None` if the texts are not near-identical.
pub fn edits(
    alike: Alike,
    original: &Text,
    modified: &Text,
    whole: &Edit,
    work: &mut Work,
) -> Option<Vec<Edit>> {
    let (head, tail) = equal_ends_beyond(alike, original, modified, whole);
    let rest = whole.without_ends(head, tail);
    if rest.is_one_sided() {
        return Some(Vec::from_iter((rest.n_lines() > 0).then_some(rest)));
    }
    if rest.n_lines() <= MIN_LEN {
        let all = [Part::Unknown(rest)];
        return Some(search::edits(original, modified, all, work));
    }
    let (n_lines, all) = (rest.n_lines(), rest.clone());
    let n_start = n_lines.min(work.share(WALK).max(LEAST_WALK));
    let mut walk = Walk {
        original,
        modified,
        n_left: n_start,
    };
    let gaps = walk.gaps(rest);
    let n_walked = CELL * (n_start - walk.n_left);
    let Some(gaps) = gaps else {
        work.spend(n_walked);
        return None;
    };
    let edits = search::edits(original, modified, gaps, work);
    let changed = Changed::new(original, modified, &edits);
    let is_astray = changed.may_recur() && recur(original, modified, &edits);
    if is_astray && walk.is_less_possible(&edits, n_lines, work) {
        work.spend(n_walked);
        let searched = search::edits(original, modified, [Part::Unknown(all)], work);
        let both = [edits, searched];
        return both.into_iter().min_by_key(|edits| n_changed(edits));
    }
    with_moved_lines(original, modified, edits, &changed, n_lines, work)
}

/// Returns `edits`, after searching the stretches between two edits where a line may have moved from
/// one to the other; `None` if that is much of the `n_lines` that were read.
fn with_moved_lines(
    original: &Text,
    modified: &Text,
    edits: Vec<Edit>,
    changed: &Changed,
    n_lines: usize,
    work: &mut Work,
) -> Option<Vec<Edit>> {
    let Some(parts) = doubtful_parts(original, modified, &edits, changed.suspects()) else {
        return Some(edits);
    };
    let unknown = parts.iter().filter(|part| matches!(part, Part::Unknown(_)));
    let n_unknown: usize = unknown.map(|part| part.lines().n_lines()).sum();
    let is_plain = n_unknown <= n_lines / MIN_PLAIN;
    is_plain.then(|| search::edits(original, modified, parts, work))
}

fn n_changed(edits: &[Edit]) -> usize {
    edits.iter().map(Edit::n_lines).sum()
}

/// Both texts, on the way down.
struct Walk<'a> {
    original: &'a Text,
    modified: &'a Text,
    /// How many lines may still be compared one by one.
    n_left: usize,
}

impl Walk<'_> {
    /// Returns the gaps in `rest`: from where the texts differ to where they agree again.
    fn gaps(&mut self, mut rest: Edit) -> Option<Vec<Part>> {
        let mut gaps = Vec::new();
        let mut reached = [NOWHERE; N_CELLS];
        while !rest.is_one_sided() {
            let (gap, n_agreed) = match self.near_gap(&rest, &mut reached) {
                Some(found) => found,
                None => (Part::Unknown(self.far_gap(&rest)?), 0),
            };
            let passed = gap.lines();
            rest = Edit {
                before: passed.before.end + n_agreed..rest.before.end,
                after: passed.after.end + n_agreed..rest.after.end,
            };
            if n_agreed == 0 || n_agreed == COMPARED_LEN {
                let (before, after) = (rest.before.clone(), rest.after.clone());
                rest = rest.without_ends(self.original.equal_head(before, self.modified, after), 0);
            }
            gaps.push(gap);
        }
        gaps.extend((rest.n_lines() > 0).then_some(Part::Known(rest)));
        Some(gaps)
    }

    /// Returns the gap at the head of `rest` with the fewest changed lines, or of several such gaps
    /// the one with most equal lines after it; and the number of these, up to [`COMPARED_LEN`].
    ///
    /// This is Myers' search, from the head only. So if all lines of the gap are changed ones, none
    /// of them is on both sides, or a smaller change would have reached as far.
    ///
    /// `reached` is scratch space for the search; its contents do not matter.
    fn near_gap(&mut self, rest: &Edit, reached: &mut [i32; N_CELLS]) -> Option<(Part, usize)> {
        let (original, modified) = (self.original, self.modified);
        let (lines, other_lines) = (rest.before.clone(), rest.after.clone());
        let edges = (
            original.low_edges(lines.clone()),
            modified.low_edges(other_lines.clone()),
        );
        if let (Some(edges), Some(other_edges)) = edges {
            let len = |edges: &[u16], line: usize| {
                let &[start, end] = edges.get(line..)?.first_chunk()?;
                Some(end.wrapping_sub(start))
            };
            return self.cheapest_gap(rest, reached, |before, after| {
                len(edges, before).is_some_and(|found| len(other_edges, after) == Some(found))
            });
        }
        self.cheapest_gap(rest, reached, |before, after| {
            before < lines.len()
                && after < other_lines.len()
                && original.may_be_same(lines.start + before, modified, other_lines.start + after)
        })
    }

    /// Like [`Walk::near_gap`], where `may_agree` tells whether the lines at given distances from
    /// the head of `rest` may be equal. `reached` has for each diagonal the largest number of lines
    /// of the original that was reached; these are too small to wrap, and this runs for each cell.
    #[inline(always)]
    fn cheapest_gap(
        &mut self,
        rest: &Edit,
        reached: &mut [i32; N_CELLS],
        may_agree: impl Fn(usize, usize) -> bool,
    ) -> Option<(Part, usize)> {
        reached[MIDDLE] = 0;
        for cost in 1..=MAX_COST {
            self.n_left = self.n_left.checked_sub(cost + 1)?;
            // The only cell read below that was not reached before. Clearing all of them first would
            // take longer than most searches.
            reached[MIDDLE + cost + 1] = NOWHERE;
            let (mut best, mut left) = (None, NOWHERE);
            let mut diagonal = (cost as i32).wrapping_neg();
            // Every second cell from the first that this cost reaches on, with the one after it.
            let cells = &mut reached[MIDDLE - cost..];
            for cell in &mut cells.as_chunks_mut::<2>().0[..=cost] {
                let right = cell[1];
                let before = left.wrapping_add(1).max(right);
                left = right;
                let after = before.wrapping_sub(diagonal);
                diagonal = diagonal.wrapping_add(2);
                cell[0] = before;
                if !may_agree(before as usize, after as usize) {
                    continue;
                }
                let len = self.agreed_len_from(rest, before as usize, after as usize);
                cell[0] = before.wrapping_add(len as i32);
                if len >= AGREED_LEN {
                    best = best.max(Some((len, before as usize, after as usize)));
                }
            }
            if let Some((len, before, after)) = best {
                let is_all = before + after == cost;
                let part = if is_all { Part::Known } else { Part::Unknown };
                return Some((part(head_of(rest, before, after)), len));
            }
        }
        None
    }

    /// Returns how many lines agree, up to [`COMPARED_LEN`], after the first `before` and `after`
    /// lines of `rest`.
    fn agreed_len_from(&self, rest: &Edit, before: usize, after: usize) -> usize {
        let (line, other) = (rest.before.start + before, rest.after.start + after);
        let lines = line..rest.before.end.min(line + COMPARED_LEN);
        let other_lines = other..rest.after.end.min(other + COMPARED_LEN);
        self.original
            .equal_head_near(lines, self.modified, other_lines)
    }

    /// Returns whether much smaller edits than `edits` may turn one text into the other, which
    /// differ in a part of `n_lines` lines. In big texts it depends on samples.
    fn is_less_possible(&self, edits: &[Edit], n_lines: usize, work: &mut Work) -> bool {
        let step = edits.len() / (N_SAMPLES + 1);
        if n_lines <= SAMPLED_LEN || step == 0 {
            return true;
        }
        let mut samples = (1..=N_SAMPLES).map(|index| sample(&edits[index * step..]));
        samples.any(|(sample, n_changed)| {
            let mut input = InternedInput::<&[u8]>::default();
            input.update_before(self.original.lines(sample.before.clone()));
            input.update_after(self.modified.lines(sample.after.clone()));
            let sides = TokenSlices {
                before: &input.before,
                after: &input.after,
                start: (0, 0),
            };
            let mut myers = Myers::default();
            myers.reserve(input.interner.num_tokens() as usize);
            let max_cost = much_less(n_changed);
            let mut part = work.part(n_steps(max_cost) + (NUMBERING * sides.n_lines()) as u64);
            let least = myers.least(sides, max_cost, &mut part);
            work.rejoin(&part);
            least.is_some()
        })
    }

    /// Returns the gap at the head of `rest` up to a line that both sides have and that is unique
    /// nearby, or all of `rest` if it is short.
    fn far_gap(&mut self, rest: &Edit) -> Option<Edit> {
        WINDOWS.iter().find_map(|&len| {
            let (before, after) = (rest.before.len().min(len), rest.after.len().min(len));
            self.n_left = self.n_left.checked_sub(before + after)?;
            let window = head_of(rest, before, after);
            let is_all = window == *rest;
            self.gap_to_unique_line(&window)
                .or_else(|| is_all.then_some(window))
        })
    }

    fn gap_to_unique_line(&self, window: &Edit) -> Option<Edit> {
        let mut input = InternedInput::<&[u8]>::default();
        input.update_before(self.original.lines(window.before.clone()));
        input.update_after(self.modified.lines(window.after.clone()));
        let (before, after) = (&input.before[..], &input.after[..]);
        let start = (window.before.start, window.after.start);
        let sides = TokenSlices {
            before,
            after,
            start,
        };
        let unique = anchors::unique_lines(sides, input.interner.num_tokens());
        let mut found = anchors::increasing(&unique)
            .into_iter()
            .filter_map(|(before, after)| {
                let (above, below) = sides.split_at(before, after);
                let up = above.tail_len();
                let is_agreed = up + below.head_len() >= AGREED_LEN;
                is_agreed.then(|| head_of(window, before - up, after - up))
            });
        found.next()
    }
}

/// Returns the lines from the first of `edits` up to one about [`SAMPLE_LEN`] lines further down, and
/// how many of them change.
fn sample(edits: &[Edit]) -> (Edit, usize) {
    let first = &edits[0];
    let is_near = |edit: &&Edit| edit.before.start < first.before.start + SAMPLE_LEN;
    let near = edits.iter().take_while(is_near);
    let last = near.clone().last().unwrap_or(first);
    let sample = Edit {
        before: first.before.start..last.before.end,
        after: first.after.start..last.after.end,
    };
    (sample, near.map(Edit::n_lines).sum())
}

/// Returns the first `before` and `after` lines of `part`.
fn head_of(part: &Edit, before: usize, after: usize) -> Edit {
    Edit {
        before: part.before.start..part.before.start + before,
        after: part.after.start..part.after.start + after,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;

    /// Texts of few different lines, with a few runs of lines changed.
    fn texts(dice: &mut Dice) -> (Text, Text) {
        let line = |dice: &mut Dice| format!("{}\n", "x".repeat(dice.roll(6)));
        let lines: Vec<String> = (0..60).map(|at| format!("{at} {}", line(dice))).collect();
        let mut changed = lines.clone();
        for _ in 0..4 {
            let at = dice.roll(changed.len() - 8);
            let added: Vec<String> = (0..dice.roll(8)).map(|_| line(dice)).collect();
            changed.splice(at..at + dice.roll(8), added);
        }
        let [lines, changed] = [lines, changed].map(|lines| Text::new(lines.concat().into_bytes()));
        (lines, changed)
    }

    #[test]
    fn nothing_is_on_both_sides_of_a_gap_that_is_known() {
        let (mut dice, mut n_known, mut n_unknown) = (Dice::new(1), 0, 0);
        for _ in 0..3000 {
            let (before, _) = texts(&mut dice);
            let (original, modified) = texts(&mut dice);
            // Also of two texts that differ everywhere.
            for (original, modified) in [(&original, &modified), (&before, &modified)] {
                let mut walk = Walk {
                    original,
                    modified,
                    n_left: 100_000,
                };
                let whole = Edit {
                    before: 0..original.len(),
                    after: 0..modified.len(),
                };
                let (head, tail) = super::super::equal_ends(original, modified, &whole);
                for gap in walk
                    .gaps(whole.without_ends(head, tail))
                    .unwrap_or_default()
                {
                    let Part::Known(gap) = gap else {
                        n_unknown += 1;
                        continue;
                    };
                    n_known += usize::from(!gap.is_one_sided());
                    let added: Vec<&[u8]> = modified.lines(gap.after).collect();
                    assert!(
                        original
                            .lines(gap.before)
                            .all(|line| !added.contains(&line))
                    );
                }
            }
        }
        assert!(n_known > 1000 && n_unknown > 1000, "{n_known} {n_unknown}");
    }
}
