//! Which of several places of an edit reads best.
//!
//! This is git's indent heuristic: each end of the edit is a split between two lines, every split
//! has a score from the indentation and the blank lines around it, and the best sum wins. The
//! weights are git's, which fitted them to examples that people had judged.
//!
//! imara-diff has it too, but if only blank lines are left below a split, it takes the number of the
//! line for the number of these (`unwrap_or((token_idx, …))` in `Indents::at_token` of 0.2.0). A
//! function added at the end of a file then begins with the wrong blank line, and where depends on
//! how long the file is. What its score is made of is private, so that cannot be set right here.

use std::cmp::Ordering;
use std::ops::Range;

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
    let score = |end: usize| {
        let (start, end) = (score(text, end - run.len()), score(text, end));
        Score {
            indent: start.indent + end.indent,
            penalty: start.penalty + end.penalty,
        }
    };
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

/// Returns how bad it is to split `text` above line `at`.
fn score(text: &Text, at: usize) -> Score {
    let (n_above, above) = past_blanks(text.lines(0..at).rev(), MAX_BLANKS);
    let (n_below, below) = past_blanks(text.lines(at..text.len()), MAX_BLANKS + 1);
    let next = match n_below {
        0 => past_blanks(text.lines((at + 1).min(text.len())..text.len()), MAX_BLANKS).1,
        _ => below,
    };
    // git takes the end of the text for a blank line.
    let is_at_end = at == text.len();
    let n_below = n_below + i32::from(is_at_end);
    let n_blanks = n_above + n_below;
    let is_at_start = above.is_none() && n_above == 0;
    let step = match (below, above) {
        (Some(here), Some(above)) => match (here.cmp(&above), n_blanks > 0) {
            (Ordering::Greater, false) => -4,
            (Ordering::Greater, true) => 10,
            (Ordering::Equal, _) => 0,
            (Ordering::Less, true) => 17,
            // It goes in again.
            (Ordering::Less, false) if next > Some(here) => 24,
            (Ordering::Less, false) => 23,
        },
        _ => 0,
    };
    Score {
        indent: below.unwrap_or(-1),
        penalty: i32::from(is_at_start) + 21 * i32::from(is_at_end) - 30 * n_blanks
            + 6 * n_below
            + step,
    }
}

/// Returns how many blank lines `lines` starts with, up to `most`, and the indentation after them.
fn past_blanks<'a>(lines: impl Iterator<Item = &'a [u8]>, most: usize) -> (i32, Option<i32>) {
    let mut n_blanks = 0;
    for line in lines.take(most) {
        if let Some(indent) = indent(line) {
            return (n_blanks, Some(indent));
        }
        n_blanks += 1;
    }
    let is_far = n_blanks as usize == most;
    (n_blanks, is_far.then_some(0))
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
