//! Near-identical texts: both are read side by side and searched only where they differ.
//!
//! Equal stretches are compared as memory, which is many times cheaper than numbering each line.
//! Where the texts differ, the smallest number of changed lines after which they agree again is
//! searched for. That is a guess: a copy of a block may begin like the lines below it. So what is
//! between two such places is searched as a whole if lines of one may match lines of the other, and
//! the result is given up if much of what it removes is what it adds elsewhere; in long texts, if
//! samples of it could change much less. Texts that do not agree again soon are left to the full
//! search, too.
//!
//! With *n* lines this takes O(n) time: steps are counted, and once there are more than equal lines
//! and some of the others, this method is given up.

use std::collections::HashSet;

use imara_diff::InternedInput;

use super::matcher::{Matcher, n_changed};
use super::search::Search;
use super::{Budget, Comparison, Edit};
use crate::text::Text;

/// Lines of both sides up to which a search of everything is as fast.
const MIN_LEN: usize = 256;

/// Of the lines ahead, one in this many may be compared one by one, and of those passed the equal ones.
const MAX_AHEAD: usize = 8;

/// Number of lines of both sides from which on samples tell whether lines were mismatched; the number
/// of samples, and about how many lines of the original each has.
const SAMPLED_LEN: usize = 1 << 17;
const N_SAMPLES: usize = 6;
const SAMPLE_LEN: usize = 1 << 9;

/// Number of equal lines in a row from which on texts agree again, and the largest number that is
/// counted to choose between places.
const AGREED_LEN: usize = 4;
const COMPARED_LEN: usize = 32;

/// Number of equal lines in a row that are no mistake, however much changes around them.
const DOUBTED_LEN: usize = 16;

/// Largest number of changed lines that is searched for line by line, and the number of diagonals
/// that such a search can visit.
const MAX_COST: usize = 48;
const N_CELLS: usize = 2 * MAX_COST + 3;

/// Less than any number of lines.
const NOWHERE: isize = -1;

/// Returns the edits in `whole`, which begins and ends with lines that differ; `None` if the texts are
/// not near-identical. Each gap between equal lines has its share of `budget`.
pub fn edits(original: &Text, modified: &Text, whole: &Edit, budget: Budget) -> Option<Comparison> {
    if whole.is_one_sided() || whole.n_lines() <= MIN_LEN {
        return None;
    }
    let mut walk = Walk {
        original,
        modified,
        n_left: whole.n_lines() / MAX_AHEAD,
    };
    let gaps = walk.gaps(whole.clone())?;
    let mut search = Search::new(original, modified);
    let n_lines: usize = gaps.iter().map(Edit::n_lines).sum();
    for gap in gaps {
        let share = budget.share(gap.n_lines(), n_lines);
        search.compare(gap, share);
    }
    let mut found = search.finish();
    if !found.is_coarse && is_astray(original, modified, &found.edits) {
        if whole.n_lines() <= SAMPLED_LEN || is_less_possible(original, modified, &found.edits) {
            return None;
        }
        found.is_coarse = true;
    }
    Some(found)
}

/// Returns whether some samples differ much less than `edits` say.
fn is_less_possible(original: &Text, modified: &Text, edits: &[Edit]) -> bool {
    let step = edits.len() / (N_SAMPLES + 1);
    let is_less = |index: usize| {
        let edits = &edits[index * step..];
        let is_near = |edit: &&Edit| edit.before.start < edits[0].before.start + SAMPLE_LEN;
        let near = edits.iter().take_while(is_near);
        let Some(last) = near.clone().last() else {
            return false;
        };
        let sample = Edit {
            before: edits[0].before.start..last.before.end,
            after: edits[0].after.start..last.after.end,
        };
        let n_changed: usize = near.map(Edit::n_lines).sum();
        3 * n_least_changed(original, modified, &sample) < 2 * n_changed
    };
    (0..N_SAMPLES).any(|index| is_less(index + 1))
}

/// Returns whether `edits` remove much that they add elsewhere.
fn is_astray(original: &Text, modified: &Text, edits: &[Edit]) -> bool {
    let removed = edits
        .iter()
        .flat_map(|edit| original.lines(edit.before.clone()));
    let added = edits
        .iter()
        .flat_map(|edit| modified.lines(edit.after.clone()));
    let (removed, added): (HashSet<&[u8]>, HashSet<&[u8]>) = (removed.collect(), added.collect());
    2 * removed.intersection(&added).count() > removed.len().min(added.len())
}

/// Returns how many lines of `part` change according to Myers' algorithm.
fn n_least_changed(original: &Text, modified: &Text, part: &Edit) -> usize {
    let mut input = InternedInput::<&[u8]>::default();
    input.update_before(original.lines(part.before.clone()));
    input.update_after(modified.lines(part.after.clone()));
    let hunks = Matcher::new(input.interner.num_tokens()).fewest_hunks(&input.before, &input.after);
    n_changed(&hunks)
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
    fn gaps(&mut self, mut rest: Edit) -> Option<Vec<Edit>> {
        let mut gaps: Vec<Edit> = Vec::new();
        while !rest.is_one_sided() && rest.n_lines() > MIN_LEN {
            let (before, after) = self.cheapest_gap(&rest)?;
            add(&mut gaps, rest.head(before, after));
            rest = rest.below(before, after);
            let lines = (rest.before.clone(), rest.after.clone());
            let n_same = self.original.equal_head(lines.0, self.modified, lines.1);
            rest = rest.below(n_same, n_same);
            self.n_left += 2 * n_same;
        }
        if rest.n_lines() > 0 {
            add(&mut gaps, rest);
        }
        Some(gaps)
    }

    /// Returns the numbers of lines of the gap at the head of `rest` with the fewest changed lines,
    /// or of several such gaps the one with most equal lines after it.
    ///
    /// This is Myers' search, from the head only.
    fn cheapest_gap(&mut self, rest: &Edit) -> Option<(usize, usize)> {
        // For each diagonal, by how many lines more of the original it has than of the modified text,
        // the largest number of lines of the original that was reached.
        let mut reached = [NOWHERE; N_CELLS];
        let middle = MAX_COST + 1;
        reached[middle] = 0;
        for cost in 1..=MAX_COST {
            self.n_left = self.n_left.checked_sub(cost + 1)?;
            let mut best = None;
            let mut left = NOWHERE;
            for cell in (middle - cost..=middle + cost).step_by(2) {
                let right = reached[cell + 1];
                let before = right.max(left + 1);
                left = right;
                let after = before + middle as isize - cell as isize;
                reached[cell] = before;
                let (Ok(before), Ok(after)) = (usize::try_from(before), usize::try_from(after))
                else {
                    continue;
                };
                let len = self.agreed_len(rest, before, after);
                reached[cell] += len as isize;
                if len >= AGREED_LEN {
                    best = best.max(Some((len, before, after)));
                }
            }
            if let Some((_, before, after)) = best {
                return Some((before, after));
            }
        }
        None
    }

    /// Returns how many lines agree, up to [`COMPARED_LEN`], after the first `before` and `after`
    /// lines of `rest`.
    fn agreed_len(&self, rest: &Edit, before: usize, after: usize) -> usize {
        let (line, other) = (rest.before.start + before, rest.after.start + after);
        let n_left = rest
            .before
            .end
            .saturating_sub(line)
            .min(rest.after.end.saturating_sub(other));
        (0..n_left.min(COMPARED_LEN))
            .take_while(|at| {
                self.original
                    .is_line_same(line + at, self.modified, other + at)
            })
            .count()
    }
}

/// Adds `gap` to `gaps`, as one with the last if the few equal lines between them may have been
/// matched by mistake, or if lines of both gaps may match, more than there are between them.
fn add(gaps: &mut Vec<Edit>, gap: Edit) {
    if let Some(last) = gaps.last_mut() {
        let n_between = gap.before.start - last.before.end;
        let n_changed = (last.n_lines() + gap.n_lines()).min(DOUBTED_LEN);
        let n_moved_up = last.before.len().min(gap.after.len());
        let n_moved_down = last.after.len().min(gap.before.len());
        if n_between < n_changed.max(n_moved_up).max(n_moved_down) {
            last.before.end = gap.before.end;
            last.after.end = gap.after.end;
            return;
        }
    }
    gaps.push(gap);
}
