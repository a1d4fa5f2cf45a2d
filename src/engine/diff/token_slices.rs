//! Two runs of lines as numbers.

use std::iter::zip;

use imara_diff::Token;

use super::matches::Matches;

/// Two runs of lines that are compared; a line is a token, and equal lines are equal tokens.
#[derive(Debug, Clone, Copy)]
pub struct TokenSlices<'a> {
    pub before: &'a [Token],
    pub after: &'a [Token],
    /// The lines of the two texts where they begin.
    pub start: (usize, usize),
}

impl<'a> TokenSlices<'a> {
    pub fn n_lines(&self) -> usize {
        self.before.len() + self.after.len()
    }

    /// Returns whether there is nothing to compare, since a side has no lines.
    pub fn is_one_sided(&self) -> bool {
        self.before.is_empty() || self.after.is_empty()
    }

    /// Splits both sides at the lines `before` and `after`.
    pub fn split_at(&self, before: usize, after: usize) -> (TokenSlices<'a>, TokenSlices<'a>) {
        let (above, below) = (self.before.split_at(before), self.after.split_at(after));
        let (line, other) = self.start;
        let start = (line + before, other + after);
        let upper = TokenSlices {
            before: above.0,
            after: below.0,
            start: self.start,
        };
        let lower = TokenSlices {
            before: above.1,
            after: below.1,
            start,
        };
        (upper, lower)
    }

    /// Returns how many leading lines are equal.
    pub fn head_len(&self) -> usize {
        zip(self.before, self.after)
            .take_while(|(a, b)| a == b)
            .count()
    }

    /// Returns how many trailing lines are equal.
    pub fn tail_len(&self) -> usize {
        let lines = zip(self.before.iter().rev(), self.after.iter().rev());
        lines.take_while(|(a, b)| a == b).count()
    }

    /// Returns the sides without the equal lines at their head, which are added to `matches`, and
    /// without those at their tail, whose number is also returned.
    pub fn without_equal_ends(&self, matches: &mut Matches) -> (TokenSlices<'a>, usize) {
        let head = self.head_len();
        matches.push(self.start.0, self.start.1, head);
        let (_, rest) = self.split_at(head, head);
        let tail = rest.tail_len();
        let (rest, _) = rest.split_at(rest.before.len() - tail, rest.after.len() - tail);
        (rest, tail)
    }

    /// Returns the lines of the two texts where they end.
    pub fn end(&self) -> (usize, usize) {
        (
            self.start.0 + self.before.len(),
            self.start.1 + self.after.len(),
        )
    }
}
