//! Lines that may be among those taken away as well as among those added.
//!
//! Most changed lines are on one side only, and to say so a few bytes of each and a table of flags
//! are enough. What this takes for the same may still differ; what it takes for different does.

use std::ops::Range;

use super::Edit;
use crate::text::Text;

/// Flags for each changed line: the more, the fewer different lines share one.
const FLAGS: usize = 8;

/// Most flags of all, so that making them never takes long.
const MAX_FLAGS: usize = 1 << 22;

const REMOVED: u8 = 1;
const ADDED: u8 = 2;

/// Letters and digits from which on a line says something; a brace and a blank line are everywhere.
const MIN_WORD_LEN: usize = 4;

/// Length of a line, in bytes, up to which it is cheap to see whether it says something.
const SHORT_LEN: usize = 12;

/// Returns the indices of those of the lines of `edits` that may have been taken away and added,
/// and may say something; they are counted from edit to edit, what goes before what comes.
///
/// Takes O(1) time for each line, however long it is.
pub fn suspects(original: &Text, modified: &Text, edits: &[Edit]) -> Vec<usize> {
    let n_lines: usize = edits.iter().map(Edit::n_lines).sum();
    let n_flags = (FLAGS * n_lines).next_power_of_two().min(MAX_FLAGS);
    let mut seen = Seen {
        // One more, for what says nothing.
        sides: vec![0; n_flags + 1],
        lines: Vec::with_capacity(n_lines),
    };
    for edit in edits {
        seen.add(original, edit.before.clone(), REMOVED);
        seen.add(modified, edit.after.clone(), ADDED);
    }
    let lines = seen.lines.iter().enumerate();
    let both = lines.filter(|&(_, &place)| seen.sides[place as usize] == REMOVED | ADDED);
    both.map(|(line, _)| line).collect()
}

struct Seen {
    /// On which sides the lines of each fingerprint are.
    sides: Vec<u8>,
    /// The fingerprint of each line.
    lines: Vec<u32>,
}

impl Seen {
    fn add(&mut self, text: &Text, lines: Range<usize>, side: u8) {
        let n_flags = self.sides.len() - 1;
        for index in lines {
            let (line, fingerprint) = text.line_with_fingerprint(index);
            if line.len() <= SHORT_LEN && (line.len() < MIN_WORD_LEN || !says_something(line)) {
                self.lines.push(n_flags as u32);
                continue;
            }
            let place = fingerprint as usize & (n_flags - 1);
            self.sides[place] |= side;
            self.lines.push(place as u32);
        }
    }
}

/// Tells whether `line` says something, so that it is one to be followed.
pub fn says_something(line: &[u8]) -> bool {
    let word = line
        .iter()
        .filter(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii());
    word.take(MIN_WORD_LEN).count() == MIN_WORD_LEN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_goes_and_comes_is_a_suspect_and_few_others_are() {
        let text = |step: usize| {
            let lines = (0..2_000).map(|at| format!("line {}\n", at * step));
            Text::new(lines.collect::<String>().into_bytes())
        };
        let (original, modified) = (text(3), text(1_000));
        let edit = |at: usize| Edit {
            before: at..at + 10,
            after: at..at + 10,
        };
        let edits: Vec<Edit> = (0..2_000).step_by(20).map(edit).collect();
        let found = suspects(&original, &modified, &edits);
        let lines = |text: &Text, range: &Range<usize>| -> Vec<Vec<u8>> {
            text.lines(range.clone()).map(<[u8]>::to_vec).collect()
        };
        let removed: Vec<_> = edits
            .iter()
            .flat_map(|edit| lines(&original, &edit.before))
            .collect();
        let added: Vec<_> = edits
            .iter()
            .flat_map(|edit| lines(&modified, &edit.after))
            .collect();
        let mut n_right = 0;
        for at in 0..2_000 {
            let index = at / 20 * 10 + at % 10;
            let is_both = match at % 20 < 10 {
                true => added.contains(&removed[index]),
                false => removed.contains(&added[index]),
            };
            assert!(!is_both || found.contains(&at), "{at}");
            n_right += usize::from(is_both);
        }
        assert!(
            n_right > 0 && found.len() < n_right + 400,
            "{n_right} {}",
            found.len()
        );
    }
}
