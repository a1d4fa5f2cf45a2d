//! The numbers of progress notifications.
//!
//! MCP requires that they grow with each notification, but hunks can become undecided again, and a
//! notification can be sent only to show that the server is alive. So they follow the greatest
//! number of decided hunks seen, and approach it from below: at 2 hunks they are 1.5, 1.75, 1.83…,
//! and at none 0, 0.25, 0.33…, below 0.5. They never reach the number of all hunks. The message that
//! goes with them has the exact numbers.

use crate::socket::Progress;

/// The numbers of the notifications for one call.
#[derive(Default)]
pub struct Series {
    /// The greatest number of decided hunks seen.
    n_decided: u32,
    /// The greatest number of all hunks seen: it shrinks if the user takes back that a hunk is split.
    n_hunks: u32,
    /// The number of notifications at `n_decided`.
    n_sent: u32,
}

impl Series {
    /// Returns the numbers of the next notification: progress and, once Emacs has begun the review,
    /// the total. `progress` is none before that.
    pub fn next(&mut self, progress: Option<Progress>) -> (f64, Option<f64>) {
        if let Some(Progress { decided, total }) = progress {
            self.n_hunks = self.n_hunks.max(to_u32(total));
            if to_u32(decided) > self.n_decided {
                self.n_decided = to_u32(decided);
                self.n_sent = 0;
            }
        }
        self.n_sent = self.n_sent.saturating_add(1);
        let distance = 0.5 / f64::from(self.n_sent);
        let limit = match self.n_decided {
            0 => 0.5,
            n => f64::from(n),
        };
        let total = (self.n_hunks > 0).then(|| f64::from(self.n_hunks));
        (limit - distance, total)
    }
}

fn to_u32(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the numbers of notifications about these numbers of decided hunks, each with the
    /// number of all hunks. None stands for a review that Emacs has not begun.
    fn numbers(seen: &[Option<(u64, u64)>]) -> Vec<(f64, Option<f64>)> {
        let mut series = Series::default();
        seen.iter()
            .map(|seen| series.next(seen.map(|(decided, total)| Progress { decided, total })))
            .collect()
    }

    /// Checks that the numbers for `seen` grow and do not exceed the total.
    fn assert_grows(seen: &[Option<(u64, u64)>]) {
        let numbers = numbers(seen);
        for pair in numbers.windows(2) {
            assert!(pair[0].0 < pair[1].0, "{pair:?}");
        }
        for (progress, total) in numbers {
            assert!(progress >= 0.0);
            assert!(total.is_none_or(|total| progress <= total));
        }
    }

    #[test]
    fn a_decision_counts_at_once_but_never_as_the_last() {
        assert_eq!(
            numbers(&[Some((0, 3)), Some((1, 3)), Some((2, 3)), Some((3, 3))]),
            [0.0, 0.5, 1.5, 2.5].map(|progress| (progress, Some(3.0)))
        );
    }

    #[test]
    fn before_emacs_has_begun_there_is_no_total() {
        assert_eq!(
            numbers(&[None, None, Some((0, 1)), Some((1, 1))]),
            [
                (0.0, None),
                (0.25, None),
                (0.5 - 0.5 / 3.0, Some(1.0)),
                (0.5, Some(1.0)),
            ]
        );
    }

    #[test]
    fn decisions_that_are_undone_make_the_numbers_grow_all_the_same() {
        let seen = [0, 1, 0, 1, 3, 2, 1, 0, 2, 3, 4, 0, 4].map(|decided| Some((decided, 4)));
        assert_grows(&seen);
    }

    #[test]
    fn a_total_that_shrinks_stays_above_the_progress() {
        assert_grows(&[Some((4, 5)), Some((5, 5)), Some((4, 4)), Some((4, 4))]);
        assert_eq!(numbers(&[Some((5, 5)), Some((4, 4))])[1].1, Some(5.0));
    }

    #[test]
    fn days_of_waiting_make_the_numbers_grow() {
        let waiting = |at: Option<(u64, u64)>| std::iter::repeat_n(at, 20_000);
        let seen: Vec<_> = waiting(None)
            .chain(waiting(Some((0, 100_000))))
            .chain(waiting(Some((99_999, 100_000))))
            .chain(waiting(Some((100_000, 100_000))))
            .collect();
        assert_grows(&seen);
    }
}
