//! Which of several places of an edit reads best.
//!
//! This is git's indent heuristic: each end of the edit is a split between two lines, every split
//! has a score from the indentation and the blank lines around it, and the best sum wins. The
//! weights are git's, which fitted them to examples that people had judged.
//!
//! imara-diff has it too, but at the end of a text it takes the number of the line for the number
//! of blank lines below (`Indents::at_token` in 0.2.0). A function added at the end of a file then
//! begins with the wrong blank line, and where depends on how long the file is.

use std::cmp::Ordering;
use std::ops::{Add, Range};

use crate::text::Text;

/// Largest number of places that are tried, from the last possible one upward.
const MAX_SLIDING: usize = 100;

/// Largest number of blank lines that a search for a line with text passes over.
const MAX_BLANKS: usize = 20;

/// Indentation beyond which all lines count as equal, in columns.
const MAX_INDENT: i32 = 200;

/// Distance of tab stops, in columns.
const TAB_WIDTH: i32 = 8;

/// Returns where the run of lines that ends at `end` in `text`, and could end anywhere from
/// `earliest_end` on, should end.
pub fn best_end(text: &Text, run: Range<usize>, earliest_end: usize) -> usize {
    // Moved up by more than its own length, an edit has slid past a whole copy of itself.
    let first = earliest_end
        .max(run.start.saturating_sub(1))
        .max(run.end.saturating_sub(MAX_SLIDING));
    let score = |end: usize| split(text, end - run.len()).score() + split(text, end).score();
    let mut best = (first, score(first));
    for end in first + 1..=run.end {
        let candidate = score(end);
        if candidate.is_as_good_as(&best.1) {
            best = (end, candidate);
        }
    }
    best.0
}

fn indent(line: &[u8]) -> Option<i32> {
    let mut columns = 0;
    for byte in line {
        match byte {
            b' ' => columns += 1,
            b'\t' => columns += TAB_WIDTH - columns % TAB_WIDTH,
            b'\n' | b'\r' | 0x0b | 0x0c => {}
            _ => return Some(columns),
        }
        if columns >= MAX_INDENT {
            return Some(MAX_INDENT);
        }
    }
    None
}

/// Measures the split above line `at` of `text`.
fn split(text: &Text, at: usize) -> Split {
    let below = at + 1..text.len();
    let (n_blanks_above, above) = past_blanks(text.lines(0..at).rev());
    let (n_blanks_below, next) = past_blanks(text.lines(below));
    Split {
        is_at_end: at == text.len(),
        here: text.lines(at..text.len()).next().and_then(indent),
        above,
        n_blanks_above,
        next,
        n_blanks_below,
    }
}

/// Returns how many blank lines `lines` starts with, and the indentation after them.
fn past_blanks<'a>(lines: impl Iterator<Item = &'a [u8]>) -> (i32, Option<i32>) {
    let mut n_blanks = 0;
    for line in lines.take(MAX_BLANKS) {
        if let Some(indent) = indent(line) {
            return (n_blanks, Some(indent));
        }
        n_blanks += 1;
    }
    let is_far = n_blanks as usize == MAX_BLANKS;
    (n_blanks, is_far.then_some(0))
}

/// What is around a place between two lines.
struct Split {
    /// Whether no line is below.
    is_at_end: bool,
    /// Indentation of the line below; `None` if it is blank.
    here: Option<i32>,
    /// Indentation of the nearest line with text above, and the number of blank lines before it.
    above: Option<i32>,
    n_blanks_above: i32,
    /// Likewise for the lines after the line below.
    next: Option<i32>,
    n_blanks_below: i32,
}

impl Split {
    fn score(&self) -> Score {
        let is_at_start = self.above.is_none() && self.n_blanks_above == 0;
        let n_blanks_here = match self.here {
            None => self.n_blanks_below + 1,
            Some(_) => 0,
        };
        let n_blanks = self.n_blanks_above + n_blanks_here;
        Score {
            indent: self.here.or(self.next).unwrap_or(-1),
            penalty: i32::from(is_at_start) + 21 * i32::from(self.is_at_end) - 30 * n_blanks
                + 6 * n_blanks_here
                + self.step_penalty(n_blanks > 0),
        }
    }

    /// Returns the penalty for a change of indentation at the split.
    fn step_penalty(&self, has_blanks: bool) -> i32 {
        let (Some(here), Some(above)) = (self.here.or(self.next), self.above) else {
            return 0;
        };
        let goes_in_again = self.next.is_some_and(|next| next > here);
        match (here.cmp(&above), has_blanks) {
            (Ordering::Greater, false) => -4,
            (Ordering::Greater, true) => 10,
            (Ordering::Equal, _) => 0,
            (Ordering::Less, true) => 17,
            (Ordering::Less, false) if goes_in_again => 24,
            (Ordering::Less, false) => 23,
        }
    }
}

/// How bad a place is: first by indentation, which weighs as much as a penalty of 60.
#[derive(Clone, Copy)]
struct Score {
    indent: i32,
    penalty: i32,
}

impl Score {
    fn is_as_good_as(&self, other: &Score) -> bool {
        60 * (self.indent - other.indent).signum() + self.penalty - other.penalty <= 0
    }
}

impl Add for Score {
    type Output = Score;

    fn add(self, other: Score) -> Score {
        Score {
            indent: self.indent + other.indent,
            penalty: self.penalty + other.penalty,
        }
    }
}
