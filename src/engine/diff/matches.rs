//! Equal lines of two texts, and the edits between them.

use super::Edit;

/// A run of lines that both texts have.
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
    /// Adds `len` equal lines from `before` and `after` on, which come after all that were added so
    /// far.
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

    /// Adds all of `others`, which come after all that were added so far.
    pub fn append(&mut self, others: &Matches) {
        for found in others.iter() {
            self.push(found.before, found.after, found.len);
        }
    }

    /// Returns the first match from line `before` of the original on, as lines of the original and of
    /// the modified text.
    pub fn first_from(&self, before: usize) -> Option<(usize, usize)> {
        let index = self
            .0
            .partition_point(|found| found.before + found.len <= before);
        let found = self.0.get(index)?;
        let n_passed = before.saturating_sub(found.before);
        Some((found.before + n_passed, found.after + n_passed))
    }

    /// Returns the number of equal lines between two places.
    pub fn n_lines_in(&self, start: (usize, usize), end: (usize, usize)) -> usize {
        let first = self
            .0
            .partition_point(|found| found.before + found.len <= start.0);
        let near = self.0[first..]
            .iter()
            .take_while(|found| found.before < end.0);
        let n_inside = |found: &Match| {
            let skipped =
                (start.0.saturating_sub(found.before)).max(start.1.saturating_sub(found.after));
            let over = (found.before + found.len).saturating_sub(end.0);
            let over = over.max((found.after + found.len).saturating_sub(end.1));
            found.len.saturating_sub(skipped + over)
        };
        near.map(n_inside).sum()
    }

    /// Returns the number of equal lines.
    pub fn n_lines(&self) -> usize {
        self.0.iter().map(|found| found.len).sum()
    }

    /// Returns the matches, from first to last.
    pub fn iter(&self) -> impl Iterator<Item = &Match> {
        self.0.iter()
    }

    /// Adds the edits between the matches, all in `part`, a pair of line ranges, to `edits`, and
    /// clears the matches.
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
