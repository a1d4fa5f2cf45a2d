//! Lines given as numbers, compared by imara-diff.

use std::iter::zip;
use std::ops::Range;

use imara_diff::{Algorithm, Diff, Hunk, Token};

/// A line is rare if it occurs at most this often in the original.
const MAX_RARE: u32 = 8;

/// If less than one line in this many is rare, Myers' algorithm is used.
const LEAST_RARE: usize = 32;

/// The histogram's result is kept if it changes at most this many times as many lines as Myers'.
const MAX_RATIO: f64 = 1.25;

/// Compares lines, and remembers space for their numbers.
pub struct Matcher {
    /// For each number its number among those of the lines compared last, and for which comparison it
    /// got that.
    renumbered: Vec<(Token, usize)>,
    n_compared: usize,
    diff: Diff,
}

impl Matcher {
    pub fn new(n_tokens: u32) -> Matcher {
        Matcher {
            renumbered: vec![(Token(0), 0); n_tokens as usize],
            n_compared: 0,
            diff: Diff::default(),
        }
    }

    /// Returns what changes, as a reader would see it.
    pub fn hunks(&mut self, before: &[Token], after: &[Token]) -> Vec<Hunk> {
        let (before, after, n_tokens) = self.renumbered(before, after);
        let mut hunks = |algorithm| -> Vec<Hunk> {
            self.diff.compute_with(algorithm, &before, &after, n_tokens);
            self.diff.hunks().collect()
        };
        if !has_rare(&before, &after, n_tokens) {
            return hunks(Algorithm::Myers);
        }
        let found = hunks(Algorithm::Histogram);
        if is_any_again(&found, &before, &after, n_tokens) {
            let others = hunks(Algorithm::Myers);
            if n_changed(&found) as f64 > MAX_RATIO * n_changed(&others) as f64 {
                return others;
            }
        }
        found
    }

    /// Returns what changes according to Myers' algorithm, which takes less time for many lines.
    pub fn fewest_hunks(&mut self, before: &[Token], after: &[Token]) -> Vec<Hunk> {
        let (before, after, n_tokens) = self.renumbered(before, after);
        self.diff
            .compute_with(Algorithm::Myers, &before, &after, n_tokens);
        self.diff.hunks().collect()
    }

    /// Returns for each side those lines that are on both sides, counted from its first.
    pub fn common(&mut self, before: &[Token], after: &[Token]) -> [Vec<u32>; 2] {
        let (before, after, n_tokens) = self.renumbered(before, after);
        let (is_before, is_after) = (is_among(&before, n_tokens), is_among(&after, n_tokens));
        let common = |lines: &[Token], is_on: &[bool]| -> Vec<u32> {
            // imara-diff numbers lines in 32 bits.
            let lines = zip(0.., lines).filter(|(_, token)| is_on[token.0 as usize]);
            lines.map(|(line, _)| line).collect()
        };
        [common(&before, &is_after), common(&after, &is_before)]
    }

    /// Returns the lines with numbers that are as small as possible, and how many there are:
    /// imara-diff makes tables of all numbers.
    fn renumbered(&mut self, before: &[Token], after: &[Token]) -> (Vec<Token>, Vec<Token>, u32) {
        self.n_compared += 1;
        let n_compared = self.n_compared;
        let mut n_tokens = 0;
        let mut renumber = |token: &Token| {
            let (number, compared) = &mut self.renumbered[token.0 as usize];
            if *compared != n_compared {
                (*number, *compared) = (Token(n_tokens), n_compared);
                n_tokens += 1;
            }
            *number
        };
        let before = before.iter().map(&mut renumber).collect();
        let after = after.iter().map(&mut renumber).collect();
        (before, after, n_tokens)
    }
}

/// Returns whether enough of the lines `after` are rare among the lines `before`.
fn has_rare(before: &[Token], after: &[Token], n_tokens: u32) -> bool {
    let mut n_times = vec![0; n_tokens as usize];
    before
        .iter()
        .for_each(|token| n_times[token.0 as usize] += 1);
    let is_rare = |token: &&Token| (1..=MAX_RARE).contains(&n_times[token.0 as usize]);
    let n_rare = after.iter().filter(is_rare).count();
    (n_rare + 1) * LEAST_RARE >= after.len()
}

/// Returns whether `hunks` add any line that they also remove.
fn is_any_again(hunks: &[Hunk], before: &[Token], after: &[Token], n_tokens: u32) -> bool {
    let lines = |range: &Range<u32>| range.start as usize..range.end as usize;
    let removed = hunks.iter().flat_map(|hunk| &before[lines(&hunk.before)]);
    let is_removed = is_among(removed, n_tokens);
    let mut added = hunks.iter().flat_map(|hunk| &after[lines(&hunk.after)]);
    added.any(|token| is_removed[token.0 as usize])
}

/// Returns for each of `n_tokens` numbers whether it is among `lines`.
fn is_among<'a>(lines: impl IntoIterator<Item = &'a Token>, n_tokens: u32) -> Vec<bool> {
    let mut is_among = vec![false; n_tokens as usize];
    for token in lines {
        is_among[token.0 as usize] = true;
    }
    is_among
}

/// Returns how many lines change.
pub fn n_changed(hunks: &[Hunk]) -> usize {
    hunks
        .iter()
        .map(|hunk| hunk.before.len() + hunk.after.len())
        .sum()
}
