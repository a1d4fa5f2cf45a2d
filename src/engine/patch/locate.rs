//! Where a run of lines stands in a text that nobody kept track of.
//!
//! Needed for a diff that came without its original. A match is exact and starts at a line; several
//! matches are an answer of their own and never a guess. GNU patch and git take the nearest one, and
//! of near-identical blocks they change the wrong one and report success.
//!
//! Building the index of a text takes O(bytes) time and space once. One search compares up to k · m
//! lines, for k occurrences of the rarest line of a run of m lines; where that is many, a rolling
//! hash leaves O(k + m).

mod sieve;

use std::collections::HashMap;

use once_cell::unsync::OnceCell;
use thiserror::Error;

use crate::text::Text;
use sieve::Heads;

/// How many places of a run of lines are collected, those nearest to where it is expected: nobody
/// walks through more, and a blank line can be everywhere.
pub(crate) const MAX_CANDIDATES: usize = 64;

/// How many places an error message lists.
const MAX_LISTED: usize = 16;

/// Where a run of lines stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// First line of the run (0-based).
    pub line: usize,
    /// Lines between the expected place and this one; 0 where nothing was expected.
    pub offset: isize,
}

/// Why a run of lines has no place.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NotPlaced {
    /// The lines are nowhere in the target.
    #[error("its lines are not in the target as the diff expects them")]
    NotFound,
    /// The lines fit more than one place, and nothing tells which is meant. Where the target has
    /// only one of those places left, that is no proof either.
    #[error(
        "its lines fit more than one place, and nothing tells which is meant (found at: {})",
        numbers(candidates)
    )]
    Ambiguous {
        /// First lines (0-based) of the places, in order; at most 64 for each of
        /// the two readings of the hunk, with its change and without.
        candidates: Vec<usize>,
    },
    /// The lines are there, but what the hunk says of its place does not agree.
    #[error("{doubt} (found at: {})", numbers(candidates))]
    Doubtful {
        /// First lines (0-based) of the places, in order, as in [`NotPlaced::Ambiguous`].
        candidates: Vec<usize>,
        /// What does not agree.
        doubt: Doubt,
    },
    /// The lines are not at the place that somebody named.
    #[error("its lines are not at that line (found at: {})", numbers(candidates))]
    NotThere {
        /// First lines (0-based) of the places where they are, in order.
        candidates: Vec<usize>,
    },
    /// The place is part of another hunk's.
    #[error("its lines are where hunk {} stands", other + 1)]
    Overlaps {
        /// Index of the hunk that stands there.
        other: usize,
    },
    /// The hunk inserts lines and shows none around them, so it would fit anywhere.
    #[error("it has no context lines, so it would fit anywhere; send it with context")]
    NoContext,
    /// It is a part of a run of changed lines, and where that run is nobody knows any more.
    #[error("it was split off a run of changed lines, and the file has changed unseen since")]
    Cut,
}

/// Why the only place of a hunk's lines is not certain to be the hunk's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Doubt {
    /// The hunk ends with added lines and shows none below them, so they go to the end of the file.
    #[error("it shows no line below those it adds, as at the end of a file, but is not at the end")]
    NotAtEnd,
    /// The hunk begins with added lines and shows none above them, so they go to the beginning.
    #[error("it shows no line above those it adds, as at the top of a file, but is not at the top")]
    NotAtTop,
    /// Only the lines that the hunk adds are there, and it shows none around them.
    #[error("it has no context lines, and that its new lines are somewhere proves nothing")]
    NoContext,
}

impl NotPlaced {
    /// Returns the first lines (0-based) of the places among which somebody who looks can choose,
    /// in order; none if the hunk has no place to choose.
    pub fn candidates(&self) -> &[usize] {
        match self {
            NotPlaced::Ambiguous { candidates } | NotPlaced::Doubtful { candidates, .. } => {
                candidates
            }
            _ => &[],
        }
    }

    /// Returns whether somebody who looks can say where the hunk belongs.
    pub fn is_ambiguous(&self) -> bool {
        matches!(
            self,
            NotPlaced::Ambiguous { .. } | NotPlaced::Doubtful { .. }
        )
    }

    /// The candidates, to be moved when lines above them come or go.
    pub(crate) fn candidates_mut(&mut self) -> Option<&mut Vec<usize>> {
        match self {
            NotPlaced::Ambiguous { candidates } | NotPlaced::Doubtful { candidates, .. } => {
                Some(candidates)
            }
            _ => None,
        }
    }
}

fn numbers(lines: &[usize]) -> String {
    let listed = lines.iter().take(MAX_LISTED);
    let one_based: Vec<String> = listed.map(|line| (line + 1).to_string()).collect();
    let more = if lines.len() > MAX_LISTED {
        ", …"
    } else {
        ""
    };
    one_based.join(", ") + more
}

/// A text prepared for searching.
pub(crate) struct Index<'a> {
    text: &'a Text,
    /// A number for each distinct line.
    numbers: HashMap<&'a [u8], usize>,
    /// The number of each line of the text: of lines, these are compared and not their bytes.
    lines: Vec<usize>,
    /// For each number the lines that have it, in order.
    occurrences: Vec<Vec<usize>>,
    /// Made when it is worth it.
    heads: OnceCell<Heads>,
}

/// Lines to compare, at most, beyond which a sieve is worth it.
const MAX_COMPARED: usize = 1 << 20;

impl<'a> Index<'a> {
    /// Prepares `text`.
    pub fn new(text: &'a Text) -> Index<'a> {
        let mut index = Index {
            text,
            numbers: HashMap::new(),
            lines: Vec::with_capacity(text.len()),
            occurrences: Vec::new(),
            heads: OnceCell::new(),
        };
        for (at, line) in text.lines(0..text.len()).enumerate() {
            let next = index.occurrences.len();
            let number = *index.numbers.entry(line).or_insert(next);
            if number == next {
                index.occurrences.push(Vec::new());
            }
            index.occurrences[number].push(at);
            index.lines.push(number);
        }
        index
    }

    /// Returns the lines where `run` starts, the nearest to line `near` first: at most
    /// [`MAX_CANDIDATES`] of them. Of two that are as near, the lower number comes first. A run of
    /// no lines starts nowhere but in an empty text: elsewhere it would fit between any two lines.
    pub fn starts_near(&self, run: &[&[u8]], near: usize) -> Vec<usize> {
        if run.is_empty() {
            return if self.text.is_empty() {
                vec![0]
            } else {
                Vec::new()
            };
        }
        let numbers = run.iter().map(|line| self.numbers.get(line).copied());
        let Some(numbers) = numbers.collect::<Option<Vec<usize>>>() else {
            return Vec::new();
        };
        let n_hits = |&at: &usize| self.occurrences[numbers[at]].len();
        let rarest = (0..run.len()).min_by_key(n_hits).unwrap_or(0);
        let hits = &self.occurrences[numbers[rarest]][..];
        let middle = hits.partition_point(|&hit| hit < near.saturating_add(rarest));
        let (above, below) = hits.split_at(middle);
        let start = |&hit: &usize| hit.checked_sub(rarest);
        let may_be_at = self.sieve(run, hits.len());
        let is_here = |&start: &usize| {
            let there = self.lines.get(start..start + numbers.len());
            may_be_at(start) && there.is_some_and(|there| there == numbers)
        };
        let mut above = above.iter().rev().filter_map(start).filter(is_here);
        let mut below = below.iter().filter_map(start).filter(is_here);
        let (mut up, mut down) = (above.next(), below.next());
        let mut found = Vec::new();
        while found.len() < MAX_CANDIDATES {
            let is_up = match (up, down) {
                (None, None) => break,
                (Some(up), Some(down)) => near - up <= down - near,
                (up, None) => up.is_some(),
                (None, Some(_)) => false,
            };
            let next = if is_up { &mut up } else { &mut down };
            found.extend(*next);
            *next = if is_up { above.next() } else { below.next() };
        }
        found
    }

    /// Returns what tells quickly of most lines that `run` does not start there, if to compare all
    /// of the `n_hits` where it might would take long.
    fn sieve(&self, run: &[&[u8]], n_hits: usize) -> impl Fn(usize) -> bool {
        let is_worth_it = n_hits.saturating_mul(run.len()) > MAX_COMPARED;
        let heads = is_worth_it.then(|| self.heads.get_or_init(|| Heads::new(self.text)));
        let sieve = heads.map(|heads| heads.sieve(run));
        move |start| sieve.as_ref().is_none_or(|may_be_at| may_be_at(start))
    }

    /// Returns whether `run` stands at line `start`.
    pub fn is_at(&self, run: &[&[u8]], start: usize) -> bool {
        let Some(end) = start
            .checked_add(run.len())
            .filter(|&end| end <= self.text.len())
        else {
            return false;
        };
        self.text.lines(start..end).eq(run.iter().copied())
    }

    /// Returns whether the text ends with the run of `len` lines that starts at line `start`.
    pub fn is_end(&self, start: usize, len: usize) -> bool {
        start.checked_add(len) == Some(self.text.len())
    }

    /// Returns whether the text has no lines.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

/// Returns `found - expected`, in lines.
pub(crate) fn offset(expected: usize, found: usize) -> isize {
    let distance = isize::try_from(expected.abs_diff(found)).unwrap_or(isize::MAX);
    if found < expected {
        -distance
    } else {
        distance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(text: &str, run: &str, near: usize) -> Vec<usize> {
        let text = Text::new(text.as_bytes().to_vec());
        let lines: Vec<&[u8]> = run.split_inclusive('\n').map(str::as_bytes).collect();
        Index::new(&text).starts_near(&lines, near)
    }

    #[test]
    fn the_places_nearest_to_the_expected_line_come_first() {
        let text = "a\nb\n".repeat(4);
        assert_eq!(starts(&text, "a\nb\n", 0), [0, 2, 4, 6]);
        assert_eq!(starts(&text, "a\nb\n", 4), [4, 2, 6, 0]);
        assert_eq!(starts(&text, "a\nb\n", 3), [2, 4, 0, 6]);
        assert_eq!(starts(&text, "b\na\n", usize::MAX), [5, 3, 1]);
    }

    #[test]
    fn of_very_many_places_the_nearest_are_listed() {
        let text = "a\n".repeat(1_000);
        let found = starts(&text, "a\n", 500);
        assert_eq!(found.len(), MAX_CANDIDATES);
        assert_eq!(found[..3], [500, 499, 501]);
    }

    #[test]
    fn overlapping_places_are_several() {
        assert_eq!(starts("a\na\na\n", "a\na\n", 0), [0, 1]);
    }

    #[test]
    fn letter_case_line_starts_and_terminators_count() {
        assert_eq!(starts("HELLO\n", "hello\n", 0), []);
        assert_eq!(starts("not_enabled\n", "enabled\n", 0), []);
        assert_eq!(starts("a", "a\n", 0), []);
        assert_eq!(starts("a\r\n", "a\n", 0), []);
    }

    #[test]
    fn a_run_of_no_lines_fits_only_an_empty_text() {
        assert_eq!(starts("", "", 0), [0]);
        assert_eq!(starts("a\n", "", 1), []);
    }

    #[test]
    fn a_run_past_the_end_is_not_found() {
        assert_eq!(starts("a\n", "a\nb\n", usize::MAX), []);
    }

    #[test]
    fn a_message_lists_no_more_places_than_help() {
        let candidates = (0..20).collect();
        let said = NotPlaced::Ambiguous { candidates }.to_string();
        assert!(
            said.ends_with("(found at: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, …)")
        );
    }

    /// Comparing the lines at each place would take minutes.
    #[test]
    fn among_lines_that_recur_a_run_is_found_where_it_is() {
        let block = [b"a\n".repeat(400), b"b\n".to_vec()].concat();
        let text = Text::new(block.repeat(2_000));
        let index = Index::new(&text);
        let run = |n_above: usize, n_below: usize| -> Vec<&[u8]> {
            let mut run = vec![&b"a\n"[..]; n_above];
            run.push(b"b\n");
            run.resize(n_above + 1 + n_below, b"a\n");
            run
        };
        let found = index.starts_near(&run(399, 350), 0);
        assert_eq!(found.len(), MAX_CANDIDATES);
        assert_eq!(found[..2], [1, 402]);
        assert_eq!(index.starts_near(&run(399, 401), 0), []);
        assert_eq!(index.starts_near(&[&b"a\n"[..]; 401], 0), []);
    }
}
