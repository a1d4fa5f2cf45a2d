//! A check whether Myers' algorithm does better than the histogram algorithm did.
//!
//! The histogram algorithm takes rare lines first and never backtracks, so that where lines recur
//! it can remove and add several times as many as necessary. Myers' algorithm finds the smallest
//! change, but its time grows with the square of what changed. So it is tried only where many lines
//! are both removed and added. Its result is taken only if much less changes, since in text that a
//! person wrote the rare lines are what a reader looks for.

use imara_diff::Token;

use super::matches::Matches;
use super::myers::{CELL, Myers};
use super::token_slices::TokenSlices;
use super::work::{Work, look_up};

/// Number of changed lines from which on Myers' algorithm is tried.
const MIN_CHANGED: usize = 12;

/// Steps for each line up to which it is tried without sampling.
const CHEAP: usize = 48;

/// Where lines recur, fewer than one in so many changed lines must change. Then there are no rare
/// lines that a reader would look for, and even a slightly smaller change is better.
const RECURRING: usize = 4;

/// Number of lines of both sides beyond which samples are compared first.
const MAX_LEN: usize = 1 << 14;

/// Number of samples, and about how many lines of each side they have.
const N_SAMPLES: usize = 6;
const SAMPLE_LEN: usize = 1 << 10;

/// Until it helps, Myers' algorithm is tried on so many parts, and then on one in so many.
const N_FIRST: usize = 4;
const ONE_IN: usize = 8;

/// How the parts that were tried so far came out.
#[derive(Default)]
pub struct Recheck {
    /// For each token how many more there are in the original; 0 between calls.
    counts: Vec<i32>,
    n_seen: usize,
    n_gained: usize,
}

impl Recheck {
    /// Reserves space for tokens below `n_tokens`.
    pub fn reserve(&mut self, n_tokens: u32) {
        let n_tokens = self.counts.len().max(n_tokens as usize);
        self.counts.resize(n_tokens, 0);
    }

    /// Returns the matches `found` in `sides`, or those of Myers' algorithm if they are many more.
    pub fn better(
        &mut self,
        sides: TokenSlices<'_>,
        found: Matches,
        myers: &mut Myers,
        work: &mut Work,
    ) -> Matches {
        let n_changed = sides.n_lines() - 2 * found.n_lines();
        if n_changed < MIN_CHANGED || sides.is_one_sided() {
            return found;
        }
        if !work.spend(look_up(sides.n_lines()) * sides.n_lines()) {
            return found;
        }
        let least = self.least(sides);
        let max_cost = match RECURRING * least < n_changed {
            true => n_changed / 10 * 9,
            false => much_less(n_changed),
        };
        if least > max_cost || !self.is_promising(sides, &found, max_cost, myers, work) {
            return found;
        }
        match within(sides, max_cost, myers, work) {
            Some(other) => {
                self.n_gained += 1;
                other
            }
            None => found,
        }
    }

    /// Returns a lower bound of the number of changed lines: the occurrences that one side has more
    /// of must change.
    fn least(&mut self, sides: TokenSlices<'_>) -> usize {
        for token in sides.before {
            self.counts[token.0 as usize] += 1;
        }
        for token in sides.after {
            self.counts[token.0 as usize] -= 1;
        }
        let mut least = 0;
        let mut take = |token: &Token| {
            least += std::mem::take(&mut self.counts[token.0 as usize]).unsigned_abs() as usize;
        };
        sides.before.iter().for_each(&mut take);
        sides.after.iter().for_each(&mut take);
        least
    }

    /// Returns whether it is worth the time to search for a path of `max_cost` through `sides`.
    fn is_promising(
        &mut self,
        sides: TokenSlices<'_>,
        found: &Matches,
        max_cost: usize,
        myers: &mut Myers,
        work: &mut Work,
    ) -> bool {
        if n_steps(max_cost) <= (CHEAP * sides.n_lines()) as u64 {
            return true;
        }
        if sides.n_lines() <= MAX_LEN {
            self.n_seen += 1;
            return self.n_gained > 0
                || self.n_seen <= N_FIRST
                || self.n_seen.is_multiple_of(ONE_IN);
        }
        (1..=N_SAMPLES).any(|index| {
            let (sample, n_same) = sample(sides, found, index);
            let n_changed = sample.n_lines() - 2 * n_same;
            let max_cost = much_less(n_changed);
            n_changed >= MIN_CHANGED && {
                let mut part = work.part(2 * n_steps(max_cost) + (sample.n_lines()) as u64);
                let is_less = myers.least(sample, max_cost, &mut part).is_some();
                work.rejoin(&part);
                is_less
            }
        })
    }
}

/// Returns the matches of Myers' algorithm in `sides`, if at most `max_cost` lines change then.
fn within(
    sides: TokenSlices<'_>,
    max_cost: usize,
    myers: &mut Myers,
    work: &mut Work,
) -> Option<Matches> {
    let mut part = work.part(work.portion(sides.n_lines()));
    let is_affordable = n_steps(max_cost).saturating_mul(4) <= part.left();
    if is_affordable && myers.least(sides, max_cost, &mut part).is_none() {
        work.rejoin(&part);
        return None;
    }
    let mut other = Matches::default();
    myers.compare(sides, &mut other, &mut part);
    if !is_affordable {
        part.cut_short();
    }
    work.rejoin(&part);
    (sides.n_lines() - 2 * other.n_lines() <= max_cost).then_some(other)
}

/// Returns the largest number of changed lines that is much less than `n_changed`.
pub fn much_less(n_changed: usize) -> usize {
    (2 * n_changed).saturating_sub(1) / 3
}

/// Returns the number of steps of a search for a path of `max_cost`.
pub fn n_steps(max_cost: usize) -> u64 {
    let half = max_cost as u64 / 2 + 1;
    half.saturating_mul(half).saturating_mul(CELL)
}

/// Returns sample `index` (from 1) of `sides`, and how many lines match in it according to `found`.
/// Every second one goes from one match to another; the others begin equally far down on both sides,
/// since the matches themselves may be wrong.
fn sample<'a>(sides: TokenSlices<'a>, found: &Matches, index: usize) -> (TokenSlices<'a>, usize) {
    let line = sides.before.len() / (N_SAMPLES + 1) * index;
    let wanted = |len: usize, least: usize, other: usize| {
        // From one match to another, if there are any nearby.
        let near = found.first_from(sides.start.0 + len.min(sides.before.len()));
        let near = near.map(|(line, other)| (line - sides.start.0, other - sides.start.1));
        match near.filter(|_| index % 2 == 1) {
            Some((line, other)) if line <= len + SAMPLE_LEN && other >= least => (line, other),
            _ => (
                len.min(sides.before.len()),
                other.clamp(least, sides.after.len().max(least)),
            ),
        }
    };
    let other = sides.after.len() / (N_SAMPLES + 1) * index;
    let start = wanted(line, 0, other);
    let end = wanted(start.0 + SAMPLE_LEN, start.1, start.1 + SAMPLE_LEN);
    let (_, below) = sides.split_at(start.0, start.1);
    let after_len = (end.1 - start.1).min(4 * SAMPLE_LEN);
    let (sample, _) = below.split_at(end.0 - start.0, after_len);
    (sample, found.n_lines_in(sample.start, sample.end()))
}
