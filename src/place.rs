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
    /// The lines are in the target more than once, and nothing tells which is meant.
    #[error(
        "its lines are in the target more than once (lines {}); nothing tells which is meant",
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

    /// Returns where `run` stands: at line `expected` if it is there, else at the only other place.
    ///
    /// # Errors
    ///
    /// [`NotPlaced`] says why there is no such place, or none that can be told from others. A run
    /// of no lines has a place only in an empty text.
    pub fn locate(&self, run: &[&[u8]], expected: Option<usize>) -> Result<Place, NotPlaced> {
        if run.is_empty() {
            return match self.text.is_empty() {
                true => Ok(Place { line: 0, offset: 0 }),
                false => Err(NotPlaced::NoContext),
            };
        }
        if let Some(line) = expected.filter(|&line| self.is_at(run, line)) {
            return Ok(Place { line, offset: 0 });
        }
        match self.candidates(run)[..] {
            [] => Err(NotPlaced::NotFound),
            [line] => Ok(Place {
                line,
                offset: offset(expected.unwrap_or(line), line),
            }),
            ref several => Err(NotPlaced::Ambiguous {
                candidates: several.to_vec(),
            }),
        }
    }

    /// Returns the first few lines where `run` starts.
    fn candidates(&self, run: &[&[u8]]) -> Vec<usize> {
        let count = |line: &[u8]| self.occurrences.get(line).map_or(0, Vec::len);
        let rarest = (0..run.len()).min_by_key(|&at| count(run[at])).unwrap_or(0);
        let hits = self.occurrences.get(run[rarest]).into_iter().flatten();
        let starts = hits.filter_map(|&hit| hit.checked_sub(rarest));
        starts
            .filter(|&start| self.is_at(run, start))
            .take(MAX_CANDIDATES)
            .collect()
    }

    fn is_at(&self, run: &[&[u8]], start: usize) -> bool {
        let Some(end) = start
            .checked_add(run.len())
            .filter(|&end| end <= self.text.len())
        else {
            return false;
        };
        self.text.lines(start..end).eq(run.iter().copied())
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

    fn locate(text: &str, run: &str, expected: Option<usize>) -> Result<Place, NotPlaced> {
        let text = Text::new(text.as_bytes().to_vec());
        let lines: Vec<&[u8]> = run.split_inclusive('\n').map(str::as_bytes).collect();
        Index::new(&text).locate(&lines, expected)
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
