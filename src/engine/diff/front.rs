//! One of the two searches of Myers' algorithm: how far a given number of changed lines leads.

use imara_diff::Token;

use super::token_slices::TokenSlices;

/// A search from one corner: how far each diagonal was reached at a cost.
///
/// The search from the tail is the same as the one from the head of both sides reversed, and its
/// numbers count lines from the tail.
pub struct Front<const IS_UP: bool> {
    /// For each diagonal, lines of the side before minus lines of the side after, the largest
    /// number of lines of the side before that was reached.
    reached: Vec<i32>,
    /// Index of diagonal 0.
    middle: i32,
    /// The first and the last diagonal of the last cost; those between are every second one.
    first: i32,
    last: i32,
    pub n_before: i32,
    pub n_after: i32,
    pub n_steps: usize,
}

/// Less than any number of lines.
const NOWHERE: i32 = -1;

impl<const IS_UP: bool> Front<IS_UP> {
    /// Reserves space for a search of up to `max_cost` changed lines.
    pub fn new(max_cost: usize) -> Front<IS_UP> {
        Front {
            reached: vec![NOWHERE; 2 * max_cost + 5],
            // Costs are fewer than lines, and tokens of imara-diff fewer than this.
            middle: max_cost as i32 + 2,
            first: 0,
            last: 0,
            n_before: 0,
            n_after: 0,
            n_steps: 0,
        }
    }

    pub fn start(&mut self, sides: TokenSlices<'_>) {
        // Tokens of imara-diff are fewer.
        (self.n_before, self.n_after) = (sides.before.len() as i32, sides.after.len() as i32);
        (self.first, self.last) = (0, 0);
        self.set(0, 0);
    }

    /// Returns whether the search has passed all lines of both sides.
    pub fn is_at_end(&self) -> bool {
        let delta = self.n_before - self.n_after;
        (self.first..=self.last).contains(&delta)
            && (delta - self.first) % 2 == 0
            && self.get(delta) >= self.n_before
    }

    fn get(&self, diagonal: i32) -> i32 {
        self.reached[(self.middle + diagonal) as usize]
    }

    fn set(&mut self, diagonal: i32, reached: i32) {
        self.reached[(self.middle + diagonal) as usize] = reached;
    }

    /// Goes on with one more changed line. Returns the place where it met `other`, if it did.
    pub fn advance<const OTHER: bool>(
        &mut self,
        sides: TokenSlices<'_>,
        other: Option<&Front<OTHER>>,
    ) -> Option<(usize, usize)> {
        self.widen();
        let delta = self.n_before - self.n_after;
        let reach = other.map(|other| other.reach());
        // This loop takes most of the time. Line numbers are far from wrapping, and checking that
        // would cost as much as everything else, and so would keeping its state in `self`.
        let mut n_steps = self.n_steps;
        let (mut diagonal, first, n_before) = (self.last, self.first, self.n_before);
        let mut at = (self.middle + diagonal) as usize;
        let reached = &mut self.reached[..];
        let mut right = reached[at + 1];
        let mut met = None;
        while diagonal >= first {
            let left = reached[at - 1];
            let before = left.wrapping_add(1).max(right);
            right = left;
            let len = equal_len::<IS_UP>(sides, before, before.wrapping_sub(diagonal));
            let before = before.wrapping_add(len);
            // A processor can hardly predict whether lines are equal.
            n_steps = n_steps.wrapping_add(1 + 2 * len.min(1) as usize + len as usize / 4);
            reached[at] = before;
            if let Some(reach) = &reach {
                let rest = n_before.wrapping_sub(before);
                if reach.is_at(delta.wrapping_sub(diagonal), rest) {
                    met = Some((before as usize, (before - diagonal) as usize));
                    break;
                }
            }
            diagonal = diagonal.wrapping_sub(2);
            at = at.wrapping_sub(2);
        }
        self.n_steps = n_steps;
        met
    }

    fn reach(&self) -> Reach<'_> {
        Reach {
            reached: &self.reached,
            middle: self.middle,
            first: self.first,
            last: self.last,
        }
    }

    /// Makes the diagonals on both sides part of the search, or leaves out those at the borders.
    fn widen(&mut self) {
        if self.first > -self.n_after {
            self.first -= 1;
            self.set(self.first - 1, NOWHERE);
        } else {
            self.first += 1;
        }
        if self.last < self.n_before {
            self.last += 1;
            self.set(self.last + 1, NOWHERE);
        } else {
            self.last -= 1;
        }
    }

    /// Returns the place reached at `cost` that has most lines of both sides above it.
    ///
    /// The lines that one side has more of below the place must change, so they are subtracted. In
    /// repetitive texts a path off the diagonal can be the fastest for a while, and all of that is
    /// undone later.
    pub fn farthest(&self, cost: usize) -> (usize, usize) {
        let place = |diagonal: i32| {
            let before = self
                .get(diagonal)
                .min(self.n_before)
                .min(self.n_after + diagonal);
            (before, before - diagonal)
        };
        let places = || (self.first..=self.last).rev().step_by(2).map(place);
        let n_passed = |(before, after): (i32, i32)| i64::from(before) + i64::from(after);
        let most = places().map(n_passed).max().unwrap_or(0);
        let delta = self.n_before - self.n_after;
        let gain = |place: &(i32, i32)| {
            let aside = (delta - (place.0 - place.1)).abs() - delta.abs();
            n_passed(*place) * cost as i64 - i64::from(aside.max(0)) * most
        };
        let (before, after) = places().max_by_key(gain).unwrap_or((0, 0));
        (before as usize, after as usize)
    }
}

/// How far a search has come, as the other one needs it.
struct Reach<'a> {
    reached: &'a [i32],
    middle: i32,
    first: i32,
    last: i32,
}

impl Reach<'_> {
    #[inline]
    fn is_at(&self, diagonal: i32, before: i32) -> bool {
        let at = self.middle.wrapping_add(diagonal) as usize;
        (self.first..=self.last).contains(&diagonal) && self.reached[at] >= before
    }
}

/// Returns how many lines are equal from `before` and `after` on, from the tail up if `IS_UP`.
#[inline]
fn equal_len<const IS_UP: bool>(sides: TokenSlices<'_>, before: i32, after: i32) -> i32 {
    let line = |lines: &[Token], at: i32| {
        let at = match IS_UP {
            false => at as usize,
            true => lines.len().wrapping_sub(1).wrapping_sub(at as usize),
        };
        // A negative number becomes one that is out of range.
        lines.get(at).copied()
    };
    let mut len: i32 = 0;
    loop {
        let lines = (
            line(sides.before, before.wrapping_add(len)),
            line(sides.after, after.wrapping_add(len)),
        );
        match lines {
            (Some(line), Some(other)) if line == other => len = len.wrapping_add(1),
            _ => return len,
        }
    }
}
