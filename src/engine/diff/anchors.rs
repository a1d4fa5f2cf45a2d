//! Cutting big texts into parts that are compared one by one.
//!
//! Texts are cut at lines that each side has exactly once and in the same order, as patience diff
//! does. With *n* lines that takes O(n log n) time, and next to O(n) where whole blocks kept their
//! order.

use std::iter::successors;

use imara_diff::Token;

use super::token_slices::TokenSlices;

/// Number of lines of both sides from which on a part ends at the next possible place.
const PART_LEN: usize = 1 << 11;

/// At least one in so many lines must be an anchor: where nearly all recur, a unique line means
/// little.
const MIN_ANCHORS: usize = 100;

/// Cuts `sides`, whose tokens are below `n_tokens`, into parts that may be compared one by one.
///
/// Each but the first starts with a line that both sides have exactly once.
pub fn parts(sides: TokenSlices<'_>, n_tokens: u32) -> Vec<TokenSlices<'_>> {
    let (mut parts, mut rest) = (Vec::new(), sides);
    let anchors = increasing(&unique_lines(sides, n_tokens));
    if anchors.len() < sides.n_lines() / MIN_ANCHORS {
        return vec![sides];
    }
    for (before, after) in anchors {
        let (done, other_done) = (rest.start.0 - sides.start.0, rest.start.1 - sides.start.1);
        let (part, below) = rest.split_at(before - done, after - other_done);
        if part.n_lines() >= PART_LEN {
            parts.push(part);
            rest = below;
        }
    }
    parts.push(rest);
    parts
}

/// Returns the positions of the lines that occur exactly once on each side, in the order of the
/// original.
pub fn unique_lines(sides: TokenSlices<'_>, n_tokens: u32) -> Vec<(usize, usize)> {
    let in_after = places(sides.after, n_tokens);
    let in_before = places(sides.before, n_tokens);
    let is_unique = |line: usize, token: &Token| in_before[token.0 as usize] == line as u32;
    let place = |(line, token): (usize, &Token)| {
        let other = in_after[token.0 as usize];
        (is_unique(line, token) && other < SEVERAL).then_some((line, other as usize))
    };
    sides.before.iter().enumerate().filter_map(place).collect()
}

/// No line has so large a number.
const NOWHERE: u32 = u32::MAX;
const SEVERAL: u32 = u32::MAX - 1;

/// Returns for each token its line, or that there is none or more than one.
fn places(lines: &[Token], n_tokens: u32) -> Vec<u32> {
    let mut places = vec![NOWHERE; n_tokens as usize];
    for (line, token) in lines.iter().enumerate() {
        let place = &mut places[token.0 as usize];
        // imara-diff numbers lines in 32 bits.
        *place = if *place == NOWHERE {
            line as u32
        } else {
            SEVERAL
        };
    }
    places
}

/// Returns a longest run of `pairs`, in order but not adjacent, in which the second numbers
/// increase as the first ones do.
pub fn increasing(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // For each length, the pair with the smallest second number that ends a run of that length.
    let mut ends: Vec<usize> = Vec::new();
    let mut previous: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    let mut guess = 0;
    for (index, pair) in pairs.iter().enumerate() {
        let is_below = |&end: &usize| pairs[end].1 < pair.1;
        // The pairs of a block that was moved as a whole each extend the same run.
        let is_guessed =
            ends[..guess].last().is_none_or(is_below) && !ends.get(guess).is_some_and(is_below);
        let len = if is_guessed {
            guess
        } else {
            ends.partition_point(is_below)
        };
        previous.push(len.checked_sub(1).map(|len| ends[len]));
        match ends.get_mut(len) {
            Some(end) => *end = index,
            None => ends.push(index),
        }
        guess = len + 1;
    }
    let last = ends.last().copied();
    let mut run: Vec<_> = successors(last, |&index| previous[index])
        .map(|index| pairs[index])
        .collect();
    run.reverse();
    run
}
