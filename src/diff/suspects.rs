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

/// Which of the lines that some edits change are suspects.
pub struct Suspects {
    /// What is known of the lines of each fingerprint.
    sides: Vec<u8>,
    /// The fingerprint of each line, in the order of the edits, what goes before what comes.
    lines: Vec<u32>,
}

impl Suspects {
    /// Looks at all lines of `edits`. Takes O(1) time for each, however long it is.
    pub fn new(original: &Text, modified: &Text, edits: &[Edit]) -> Suspects {
        let n_lines: usize = edits.iter().map(Edit::n_lines).sum();
        let n_flags = (FLAGS * n_lines).next_power_of_two().min(MAX_FLAGS);
        let mut suspects = Suspects {
            sides: vec![0; n_flags],
            lines: Vec::with_capacity(n_lines),
        };
        for edit in edits {
            suspects.add(original, edit.before.clone(), REMOVED);
            suspects.add(modified, edit.after.clone(), ADDED);
        }
        suspects
    }

    fn add(&mut self, text: &Text, lines: Range<usize>, side: u8) {
        let mask = self.sides.len() - 1;
        for line in lines {
            let at = text.fingerprint(line) as usize & mask;
            self.sides[at] |= side;
            self.lines.push(at as u32);
        }
    }

    /// Returns the indices of those of the lines in `range`, counted as they were looked at, that
    /// may have been taken away and added.
    pub fn among(&self, range: Range<usize>) -> impl Iterator<Item = usize> {
        range.filter(|&line| self.sides[self.lines[line] as usize] == REMOVED | ADDED)
    }
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
        let suspects = Suspects::new(&original, &modified, &edits);
        let found: Vec<usize> = suspects.among(0..2_000).collect();
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
