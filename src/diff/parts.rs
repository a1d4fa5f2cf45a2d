//! Big texts in parts that are compared one by one.
//!
//! imara-diff cannot be stopped, and its time grows with the square of the lines: for the histogram
//! when every second line changed (100,000 lines: 14 s), for its Myers when few lines are distinct
//! (100,000 lines: 5 s). Big texts are therefore cut at lines that each side has exactly once and
//! in the same order, as patience diff does, and what stays too big is not compared at all. The
//! time is then O(n log n) for *n* lines, with a factor of at most [`Limits::max_len`].

use std::collections::HashMap;
use std::iter::successors;
use std::ops::Range;

use super::Edit;
use crate::text::Text;

/// How much is compared at once, in lines of both sides together.
#[derive(Clone, Copy)]
pub struct Limits {
    /// Length from which on a part ends at the next possible place.
    pub part_len: usize,
    /// Length beyond which texts are cut, and a part that cannot be is one edit.
    pub max_len: usize,
}

impl Limits {
    /// A part of the largest length takes half a second at worst, one of the usual 10 ms.
    pub const USUAL: Limits = Limits {
        part_len: 1 << 12,
        max_len: 1 << 15,
    };
}

/// Cuts `whole`, a pair of line ranges, into pairs that may be compared one by one.
///
/// Each but the first starts with a line that is the same on both sides and that occurs nowhere
/// else in `whole`. No edit can slide over such a line, so cutting there moves none.
pub fn parts(original: &Text, modified: &Text, whole: Edit, limits: Limits) -> Vec<Edit> {
    if whole.n_lines() <= limits.max_len {
        return vec![whole];
    }
    let mut parts = Vec::new();
    let mut rest = whole.clone();
    for (before, after) in increasing(&unique_lines(original, modified, &whole)) {
        let part = Edit {
            before: rest.before.start..before,
            after: rest.after.start..after,
        };
        if part.n_lines() >= limits.part_len {
            (rest.before.start, rest.after.start) = (before, after);
            parts.push(part);
        }
    }
    parts.push(rest);
    parts
}

/// Returns where the lines stand that occur exactly once on each side of `whole`, in the order of
/// the original.
fn unique_lines(original: &Text, modified: &Text, whole: &Edit) -> Vec<(usize, usize)> {
    let in_original = places(original, &whole.before);
    let in_modified = places(modified, &whole.after);
    let place = |before| {
        let line = original.line(before);
        in_original[line]?;
        let after = in_modified.get(line).copied().flatten()?;
        Some((before, after))
    };
    whole.before.clone().filter_map(place).collect()
}

/// Returns the place of each line of `range`, or `None` for a line that occurs more than once.
fn places<'a>(text: &'a Text, range: &Range<usize>) -> HashMap<&'a [u8], Option<usize>> {
    let mut places = HashMap::with_capacity(range.len());
    for (place, line) in range.clone().zip(text.lines(range.clone())) {
        places
            .entry(line)
            .and_modify(|place| *place = None)
            .or_insert(Some(place));
    }
    places
}

/// Returns a longest run of `pairs`, in order but not adjacent, in which the second numbers
/// increase as the first ones do.
fn increasing(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // For each length, the pair with the smallest number among those that end a run so long.
    let mut ends: Vec<usize> = Vec::new();
    let mut previous = Vec::with_capacity(pairs.len());
    for (index, pair) in pairs.iter().enumerate() {
        let len = ends.partition_point(|&end| pairs[end].1 < pair.1);
        previous.push(len.checked_sub(1).map(|len| ends[len]));
        match ends.get_mut(len) {
            Some(end) => *end = index,
            None => ends.push(index),
        }
    }
    let last = ends.last().copied();
    let mut run: Vec<_> = successors(last, |&index| previous[index])
        .map(|index| pairs[index])
        .collect();
    run.reverse();
    run
}
