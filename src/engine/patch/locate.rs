//! Finds where a run of lines occurs in a text.
//!
//! Needed for a diff that came without its original. Matches are exact and begin at the start of a
//! line. If there are several, all are returned, and none is guessed: GNU patch and git take the
//! nearest one, and so among near-identical blocks they may change the wrong one and report
//! success.
//!
//! Building the index of a text takes O(bytes) time and space, once. A search for a run of m lines
//! whose rarest line occurs k times compares up to k · m lines; if that is too many, a rolling hash
//! reduces it to O(k + m).

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use once_cell::unsync::OnceCell;
use thiserror::Error;

use crate::text::Text;

/// How many places of a run of lines are collected at most, the nearest to the expected one: nobody
/// steps through more, and a blank line may occur everywhere.
pub(crate) const MAX_CANDIDATES: usize = 64;

/// How many places an error message lists at most.
const MAX_LISTED: usize = 16;

/// Where a run of lines occurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// First line of the run (0-based).
    pub line: usize,
    /// This line minus the expected one; 0 if none was expected.
    pub offset: isize,
}

/// Why a run of lines has no place.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NotPlaced {
    /// The lines are nowhere in the target.
    #[error("its lines are not in the target as the diff expects them")]
    NotFound,
    /// The lines fit more than one place, and nothing says which is meant. If the target has only
    /// one of those places left, that proves nothing either.
    #[error(
        "its lines fit more than one place, and nothing says which is meant (beginning at {})",
        line_numbers(candidates)
    )]
    Ambiguous {
        /// First lines (0-based) of the places, in order: at most 64 where the hunk may have been
        /// applied already, and 64 where not.
        candidates: Vec<usize>,
    },
    /// The lines are there, but something about the hunk contradicts that place.
    #[error("{doubt} (beginning at {})", line_numbers(candidates))]
    Doubtful {
        /// First lines (0-based) of the places, in order and limited as in
        /// [`NotPlaced::Ambiguous`].
        candidates: Vec<usize>,
        /// What contradicts it.
        doubt: Doubt,
    },
    /// The lines are not at the place that somebody named.
    #[error(
        "its lines are not at that line (beginning at {})",
        line_numbers(candidates)
    )]
    NotThere {
        /// First lines (0-based) of the places where they do occur, in order.
        candidates: Vec<usize>,
    },
    /// The place overlaps that of another hunk.
    #[error("its lines overlap hunk {}", other + 1)]
    Overlaps {
        /// Index of that hunk (0-based).
        other: usize,
    },
    /// The hunk inserts lines and shows none around them, so it would fit anywhere.
    #[error("it has no context lines, so it would fit anywhere; send it with context")]
    NoContext,
    /// The hunk was split off a run of changed lines, and it is no longer known where that run is.
    #[error(
        "it was split off a run of changed lines, and the file has since changed in an unknown way"
    )]
    Cut,
}

/// Why the only place where a hunk's lines occur may still be the wrong one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Doubt {
    /// The hunk ends with added lines and shows none below them, so they belong at the end of the
    /// file.
    #[error("it shows no line below those it adds, as if at the end of the file, but is not there")]
    NotAtEnd,
    /// The hunk begins with added lines and shows none above them, so they belong at the beginning.
    #[error("it shows no line above those it adds, as if at the top of the file, but is not there")]
    NotAtTop,
    /// The hunk shows no context, and only the lines that it adds were found.
    #[error("it has no context lines, so finding its new lines somewhere proves nothing")]
    NoContext,
}

impl NotPlaced {
    /// Returns the first lines (0-based) of the places among which the user can choose, in order;
    /// empty if there is no choice.
    pub fn candidates(&self) -> &[usize] {
        match self {
            NotPlaced::Ambiguous { candidates } | NotPlaced::Doubtful { candidates, .. } => {
                candidates
            }
            _ => &[],
        }
    }

    /// Returns whether the user can settle where the hunk belongs by choosing a place.
    pub fn is_ambiguous(&self) -> bool {
        matches!(
            self,
            NotPlaced::Ambiguous { .. } | NotPlaced::Doubtful { .. }
        )
    }

    /// The candidates, which must move when lines above them are added or removed.
    pub(crate) fn candidates_mut(&mut self) -> Option<&mut Vec<usize>> {
        match self {
            NotPlaced::Ambiguous { candidates } | NotPlaced::Doubtful { candidates, .. } => {
                Some(candidates)
            }
            _ => None,
        }
    }
}

/// Says which `lines` (0-based) these are, in words: "line 3", or "lines 3, 9".
fn line_numbers(lines: &[usize]) -> String {
    let unit = if lines.len() == 1 { "line" } else { "lines" };
    let listed = lines.iter().take(MAX_LISTED);
    let one_based: Vec<String> = listed.map(|line| (line + 1).to_string()).collect();
    let more = if lines.len() > MAX_LISTED {
        ", …"
    } else {
        ""
    };
    format!("{unit} {}{more}", one_based.join(", "))
}

/// A text prepared for searching.
pub(crate) struct Index<'a> {
    text: &'a Text,
    /// Each distinct line's number.
    numbers: HashMap<&'a [u8], usize>,
    /// For each line of the text its number; lines are compared by number, not byte by byte.
    lines: Vec<usize>,
    /// For each number the lines (0-based) that have it, in order.
    occurrences: Vec<Vec<usize>>,
    /// Computed only once a search is large enough; see [`MAX_COMPARED`].
    heads: OnceCell<Heads>,
}

/// A search that might compare more lines than this uses the sieve.
const MAX_COMPARED: usize = 1 << 20;

impl<'a> Index<'a> {
    /// Indexes `text`, in O(bytes) time and space.
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

    /// Returns the lines (0-based) at which `run` starts, the nearest to line `near` first, at most
    /// [`MAX_CANDIDATES`] of them. If two are equally near, the one further up comes first. An
    /// empty run is found only in an empty text: elsewhere it would fit between any two lines.
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

    /// Returns a filter for the `n_hits` lines where `run` might start. If comparing all of them
    /// would take long, it quickly excludes most; otherwise it excludes none.
    fn sieve(&self, run: &[&[u8]], n_hits: usize) -> impl Fn(usize) -> bool {
        let is_worth_it = n_hits.saturating_mul(run.len()) > MAX_COMPARED;
        let heads = is_worth_it.then(|| self.heads.get_or_init(|| Heads::new(self.text)));
        let sieve = heads.map(|heads| heads.sieve(run));
        move |start| sieve.as_ref().is_none_or(|may_be_at| may_be_at(start))
    }

    /// Returns whether `run` occurs at line `start` (0-based).
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

// Excludes places where a run of lines cannot occur, without comparing the lines.
//
// A rolling hash (Karp and Rabin 1987): the hash of any consecutive lines is computed from two of
// the prefix hashes, which are kept for the whole text. Among recurring lines, a run of *k* lines
// may match nearly to its end at each of *n* places; comparing them takes O(n k) time, the sieve
// O(n + k). Whatever passes the sieve must still be compared.

/// An odd number whose set bits are well spread: 2⁶⁴ divided by the golden ratio, as in SplitMix64.
const BASE: u64 = 0x9e37_79b9_7f4a_7c15;

/// The hash of every prefix of a text, in lines.
pub struct Heads(Vec<u64>);

impl Heads {
    /// Hashes all prefixes of `text` in one pass; takes 8 bytes per line.
    pub fn new(text: &Text) -> Heads {
        let mut heads = Vec::with_capacity(text.len() + 1);
        let mut hash = 0;
        heads.push(hash);
        for line in text.lines(0..text.len()) {
            hash = longer(hash, line);
            heads.push(hash);
        }
        Heads(heads)
    }

    /// Returns a test whether `run` may start at a given line (0-based). If the test says no, that
    /// is certain.
    pub fn sieve(&self, run: &[&[u8]]) -> impl Fn(usize) -> bool {
        let hash = run.iter().fold(0, |hash, line| longer(hash, line));
        let power = (0..run.len()).fold(1_u64, |power, _| power.wrapping_mul(BASE));
        let len = run.len();
        move |start| {
            let end = start.checked_add(len).and_then(|end| self.0.get(end));
            end.is_some_and(|end| end.wrapping_sub(self.0[start].wrapping_mul(power)) == hash)
        }
    }
}

/// Returns the hash of the lines behind `hash`, followed by `line`.
fn longer(hash: u64, line: &[u8]) -> u64 {
    // `DefaultHasher` has fixed keys, so the hash is the same in each run.
    let hashed = BuildHasherDefault::<DefaultHasher>::default().hash_one(line);
    hash.wrapping_mul(BASE).wrapping_add(hashed)
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
        assert!(said.ends_with(
            "(beginning at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, …)"
        ));
    }

    /// Without the sieve, comparing the lines at each place would take minutes.
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

#[cfg(test)]
mod sieve_tests {
    use super::*;

    #[test]
    fn only_the_starts_of_the_run_pass() {
        let text = Text::new(b"a\na\nb\na\na\nb\n".to_vec());
        let heads = Heads::new(&text);
        let passing = |run: &[&[u8]]| -> Vec<usize> {
            let sieve = heads.sieve(run);
            (0..8).filter(|&start| sieve(start)).collect()
        };
        assert_eq!(passing(&[b"a\n", b"b\n"]), [1, 4]);
        assert_eq!(passing(&[b"a\n", b"a\n", b"b\n"]), [0, 3]);
        assert_eq!(passing(&[b"b\n", b"b\n"]), []);
    }
}
