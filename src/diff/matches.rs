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

    /// Returns the edits between the matches, in texts of these lengths.
    pub fn into_edits(self, before_len: usize, after_len: usize) -> Vec<Edit> {
        let (mut before, mut after) = (0, 0);
        let end = Match {
            before: before_len,
            after: after_len,
            len: 0,
        };
        let mut edit = |found: Match| {
            let edit = Edit {
                before: before..found.before,
                after: after..found.after,
            };
            (before, after) = (found.before + found.len, found.after + found.len);
            edit
        };
        let mut edits = Vec::with_capacity(self.0.len() + 1);
        let all = self.0.into_iter().chain([end]).map(&mut edit);
        edits.extend(all.filter(|edit| edit.n_lines() > 0));
        edits
    }
}
