//! Where a run of lines stands in a text that nobody kept track of.
//!
//! Needed for a diff that came without its original, and for a target that changed behind the line
//! map's back. A match is exact and starts at a line; a tie is an answer of its own and never a
//! guess. GNU patch and git take the nearest of several matches, and of near-identical blocks they
//! change the wrong one and report success.
//!
//! Building the [`Index`] takes O(bytes) time and space once; one search takes O(k · m) in the
//! worst case, for k occurrences of the rarest line of a run of m bytes.

use std::collections::HashMap;

use thiserror::Error;

use crate::text::Text;

/// How many places of a tie are told; more would help nobody.
const MAX_CANDIDATES: usize = 16;

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
        /// First lines (0-based) of the first few places.
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

fn numbers(lines: &[usize]) -> String {
    let one_based: Vec<String> = lines.iter().map(|line| (line + 1).to_string()).collect();
    one_based.join(", ")
}

/// A text prepared for searching.
pub struct Index<'a> {
    text: &'a Text,
    occurrences: HashMap<&'a [u8], Vec<usize>>,
}

impl<'a> Index<'a> {
    /// Prepares `text`.
    pub fn new(text: &'a Text) -> Index<'a> {
        let mut occurrences: HashMap<&[u8], Vec<usize>> = HashMap::new();
        for (number, line) in text.lines(0..text.len()).enumerate() {
            occurrences.entry(line).or_default().push(number);
        }
        Index { text, occurrences }
    }

    /// Returns which of two `runs` of lines stands in the text, by index, and where.
    ///
    /// They are two readings of one hunk, with and without its change, the likelier one first.
    /// One that is at line `expected` is meant, the first before the second. Elsewhere a place
    /// counts only if it is the only one of either run; those inside the longer run at the same
    /// place, as the three lines before an appended one are, are not others. And where the second
    /// run is the first without a line at its end, it proves that the line is gone only at the end
    /// of the text: elsewhere the line may just read otherwise.
    ///
    /// # Errors
    ///
    /// [`NotPlaced`] says why there is no such place, or none that can be told from others. A run
    /// of no lines has a place only in an empty text.
    pub fn locate(
        &self,
        runs: [&[&[u8]]; 2],
        expected: Option<usize>,
    ) -> Result<(usize, Place), NotPlaced> {
        let is_proof = |which, line| which == 0 || self.is_cut_off(runs[1], runs[0], line);
        let at_expected = |&which: &usize| {
            let line = expected.filter(|&line| self.is_at(runs[which], line));
            !runs[which].is_empty() && line.is_some_and(|line| is_proof(which, line))
        };
        let placed = |which, line| {
            let offset = offset(expected.unwrap_or(line), line);
            Ok((which, Place { line, offset }))
        };
        if let Some(which) = (0..2).find(at_expected) {
            return placed(which, expected.unwrap_or(0));
        }
        let candidates = |which: usize| -> Vec<usize> {
            let starts = self.starts(runs[which]);
            let proofs = starts.filter(|&line| is_proof(which, line));
            proofs.take(MAX_CANDIDATES).collect()
        };
        let (first, second) = (candidates(0), candidates(1));
        match (&first[..], &second[..]) {
            ([], []) if runs[0].is_empty() && !self.text.is_empty() => Err(NotPlaced::NoContext),
            ([], []) => Err(NotPlaced::NotFound),
            (&[line], []) => placed(0, line),
            ([], &[line]) => placed(1, line),
            (&[line], inner) if is_inside(runs[1], inner, runs[0], line) => placed(0, line),
            (inner, &[line]) if is_inside(runs[0], inner, runs[1], line) => placed(1, line),
            _ => Err(NotPlaced::Ambiguous {
                candidates: merged(first, second),
            }),
        }
    }

    /// Tells whether `run`, which stands at line `start`, ends where the text does on each side on
    /// which `whole` goes on.
    fn is_cut_off(&self, run: &[&[u8]], whole: &[&[u8]], start: usize) -> bool {
        let is_shorter = run.len() < whole.len();
        let goes_on_below = is_shorter && whole.starts_with(run);
        let goes_on_above = is_shorter && whole.ends_with(run);
        (!goes_on_below || self.is_end(start, run.len())) && (!goes_on_above || start == 0)
    }

    /// Returns the lines where `run` starts, in order. A run of no lines starts nowhere but in an
    /// empty text: elsewhere it would fit between any two lines.
    pub fn starts(&self, run: &[&[u8]]) -> impl Iterator<Item = usize> {
        let rarest = (0..run.len())
            .min_by_key(|&at| self.count(run[at]))
            .unwrap_or(0);
        let hits = run
            .get(rarest)
            .and_then(|&line| self.occurrences.get(line))
            .into_iter()
            .flatten();
        let starts = hits.filter_map(move |&hit| hit.checked_sub(rarest));
        let in_empty = (run.is_empty() && self.text.is_empty()).then_some(0);
        starts
            .filter(|&start| self.is_at(run, start))
            .chain(in_empty)
    }

    /// Returns the first few lines where `run` starts; several of them are a tie.
    pub fn places(&self, run: &[&[u8]]) -> Vec<usize> {
        self.starts(run).take(MAX_CANDIDATES).collect()
    }

    /// Returns how often `line` is in the text.
    pub fn count(&self, line: &[u8]) -> usize {
        self.occurrences.get(line).map_or(0, Vec::len)
    }

    /// Tells whether `run` stands at line `start`.
    pub fn is_at(&self, run: &[&[u8]], start: usize) -> bool {
        let Some(end) = start
            .checked_add(run.len())
            .filter(|&end| end <= self.text.len())
        else {
            return false;
        };
        self.text.lines(start..end).eq(run.iter().copied())
    }

    /// Tells whether the text ends with the run of `len` lines that starts at line `start`.
    pub fn is_end(&self, start: usize, len: usize) -> bool {
        start.checked_add(len) == Some(self.text.len())
    }

    /// Tells whether the text has no lines.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

/// Tells whether all of `starts`, where `inner` stands, are inside `outer`, which stands at `line`.
fn is_inside(inner: &[&[u8]], starts: &[usize], outer: &[&[u8]], line: usize) -> bool {
    let is_in = |&start: &usize| line <= start && start + inner.len() <= line + outer.len();
    inner.len() < outer.len() && starts.iter().all(is_in)
}

fn merged(first: Vec<usize>, second: Vec<usize>) -> Vec<usize> {
    let mut lines = [first, second].concat();
    lines.sort_unstable();
    lines.dedup();
    lines.truncate(MAX_CANDIDATES);
    lines
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

    fn locate(text: &str, run: &str, expected: Option<usize>) -> Result<Place, NotPlaced> {
        let text = Text::new(text.as_bytes().to_vec());
        let lines: Vec<&[u8]> = run.split_inclusive('\n').map(str::as_bytes).collect();
        let (_, place) = Index::new(&text).locate([&lines, &[b"nowhere\n"]], expected)?;
        Ok(place)
    }

    fn at(line: usize, offset: isize) -> Result<Place, NotPlaced> {
        Ok(Place { line, offset })
    }

    #[test]
    fn the_expected_line_decides_between_equal_places() {
        assert_eq!(locate("a\nb\na\nb\n", "a\nb\n", Some(2)), at(2, 0));
    }

    #[test]
    fn elsewhere_only_a_unique_match_counts() {
        assert_eq!(locate("x\na\nb\n", "a\nb\n", Some(0)), at(1, 1));
        assert_eq!(locate("a\nb\nx\n", "a\nb\n", Some(2)), at(0, -2));
        let candidates = vec![0, 2];
        let tie = Err(NotPlaced::Ambiguous { candidates });
        assert_eq!(locate("a\nb\na\nb\nx\n", "a\nb\n", Some(1)), tie);
    }

    #[test]
    fn overlapping_places_are_a_tie() {
        let candidates = vec![0, 1];
        assert_eq!(
            locate("a\na\na\n", "a\na\n", None),
            Err(NotPlaced::Ambiguous { candidates })
        );
    }

    #[test]
    fn letter_case_line_starts_and_terminators_count() {
        assert_eq!(
            locate("HELLO\n", "hello\n", Some(0)),
            Err(NotPlaced::NotFound)
        );
        assert_eq!(
            locate("not_enabled\n", "enabled\n", Some(0)),
            Err(NotPlaced::NotFound)
        );
        assert_eq!(locate("a", "a\n", Some(0)), Err(NotPlaced::NotFound));
        assert_eq!(locate("a\r\n", "a\n", Some(0)), Err(NotPlaced::NotFound));
    }

    #[test]
    fn a_run_of_no_lines_fits_only_an_empty_text() {
        assert_eq!(locate("", "", Some(0)), at(0, 0));
        assert_eq!(locate("a\n", "", Some(1)), Err(NotPlaced::NoContext));
    }

    #[test]
    fn a_run_past_the_end_is_not_found() {
        assert_eq!(
            locate("a\n", "a\nb\n", Some(usize::MAX)),
            Err(NotPlaced::NotFound)
        );
    }
}
