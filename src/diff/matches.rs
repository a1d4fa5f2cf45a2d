//! What is the same in two texts, and so what is not.

use super::Edit;

/// Lines that are the same in two texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Match {
    /// First line of the original (0-based).
    pub before: usize,
    /// First line of the modified text (0-based).
    pub after: usize,
    /// Number of lines.
    pub len: usize,
}

/// Equal lines, found from first to last.
#[derive(Debug, Default)]
pub struct Matches(Vec<Match>);

impl Matches {
    /// Adds `len` lines that are the same from `before` and `after` on, which are not above those
    /// that were added.
    pub fn push(&mut self, before: usize, after: usize, len: usize) {
        if len == 0 {
            return;
        }
        match self.0.last_mut() {
            Some(last) if (last.before + last.len, last.after + last.len) == (before, after) => {
                last.len += len;
            }
            _ => self.0.push(Match { before, after, len }),
        }
    }

    /// Returns the matches, from first to last.
    pub fn iter(&self) -> impl Iterator<Item = &Match> {
        self.0.iter()
    }

    /// Adds the edits between the matches, which are in `part`, a pair of line ranges, to `edits`,
    /// and leaves none of the matches.
    pub fn drain_edits(&mut self, part: &Edit, edits: &mut Vec<Edit>) {
        let (mut before, mut after) = (part.before.start, part.after.start);
        let end = Match {
            before: part.before.end,
            after: part.after.end,
            len: 0,
        };
        for found in self.0.drain(..).chain([end]) {
            let edit = Edit {
                before: before..found.before,
                after: after..found.after,
            };
            (before, after) = (found.before + found.len, found.after + found.len);
            edits.extend((edit.n_lines() > 0).then_some(edit));
        }
    }
}
