//! How many steps a comparison may take.
//!
//! The engine has no clock, and no key interrupts it. So everything that could take long counts its
//! steps, and once they are spent the rest of the result is coarse. Remaining steps are shared out by
//! the number of lines still to be compared, so that no part of the texts takes what another needs.

/// Largest number of steps of a comparison. Moving on by a line in a search is one step, a few
/// nanoseconds; an access to distant memory counts as several.
///
/// Splitting texts into lines and reading them in step is not counted, since it takes linear time.
///
/// ```
/// use agent_q_diff_engine::diff::{Budget, edits_within};
/// use agent_q_diff_engine::text::Text;
/// let original = Text::new(b"a\nb\nc\nb\na\n".to_vec());
/// let modified = Text::new(b"c\nb\nb\na\nc\n".to_vec());
/// let found = edits_within(&original, &modified, Budget(0));
/// assert!(found.is_coarse);
/// assert_eq!(found.edits.len(), 1);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Budget(pub u64);

impl Default for Budget {
    /// Keeps texts of 10 MB under about half a second.
    fn default() -> Budget {
        Budget(64_000_000)
    }
}

impl Budget {
    /// Returns half of the budget: for one of two comparisons that are one operation.
    pub(crate) fn half(self) -> Budget {
        Budget(self.0 / 2)
    }
}

/// Number of lines of both sides up to which the tables of a comparison are close in memory.
const NEAR_LEN: usize = 1 << 16;

/// Returns the number of steps for looking up one of `n_lines` lines in a table.
pub(crate) fn look_up(n_lines: usize) -> usize {
    match n_lines <= NEAR_LEN {
        true => 1,
        false => 3,
    }
}

/// The share of a budget that is reserved for sliding edits to their best places: one in so many
/// steps.
const SLIDING: u64 = 8;

/// The rest of a budget.
#[derive(Debug)]
pub(crate) struct Work {
    left: u64,
    /// Steps reserved for sliding.
    kept: u64,
    /// Number of lines that are still to be compared.
    n_ahead: usize,
    is_coarse: bool,
}

impl Work {
    pub fn new(budget: Budget) -> Work {
        let kept = budget.0 / SLIDING;
        Work {
            left: budget.0 - kept,
            kept,
            n_ahead: 0,
            is_coarse: false,
        }
    }

    /// Makes the reserved steps available, once the search is done.
    pub fn release(&mut self) {
        self.left += std::mem::take(&mut self.kept);
    }

    /// Subtracts `n_steps`, and returns whether that many were left.
    pub fn spend(&mut self, n_steps: usize) -> bool {
        let left = self.left.checked_sub(n_steps as u64);
        self.left = left.unwrap_or(0);
        self.is_coarse |= left.is_none();
        left.is_some()
    }

    /// Subtracts `n_steps` if that many are left, and returns whether they were; otherwise nothing
    /// is subtracted.
    pub fn afford(&mut self, n_steps: usize) -> bool {
        let is_enough = self.left >= n_steps as u64;
        match is_enough {
            true => self.spend(n_steps),
            false => {
                self.is_coarse = true;
                false
            }
        }
    }

    /// Returns how many steps are left for each of `n` lines.
    pub fn share(&self, n: usize) -> usize {
        usize::try_from(self.left / n.max(1) as u64).unwrap_or(usize::MAX)
    }

    /// Notes that `n` lines are still to be compared.
    pub fn set_ahead(&mut self, n: usize) {
        self.n_ahead = n;
    }

    /// Notes that `n` of the lines to be compared are done.
    pub fn pass(&mut self, n: usize) {
        self.n_ahead = self.n_ahead.saturating_sub(n);
    }

    /// Notes that `n` lines are to be compared again.
    pub fn put_ahead(&mut self, n: usize) {
        self.n_ahead += n;
    }

    /// Returns how many steps `n` of the lines to be compared may take.
    pub fn portion(&self, n: usize) -> u64 {
        let share = u128::from(self.left) * n as u128 / self.n_ahead.max(n).max(1) as u128;
        // No more than what is left.
        u64::try_from(share).unwrap_or(u64::MAX)
    }

    /// Splits off up to `n_steps` to be spent separately; see [`Work::rejoin`].
    pub fn part(&mut self, n_steps: u64) -> Work {
        let n_steps = n_steps.min(self.left);
        self.left -= n_steps;
        Work {
            left: n_steps,
            kept: 0,
            n_ahead: 0,
            is_coarse: false,
        }
    }

    /// Adds what is left of `part` again, and notes if it was coarse.
    pub fn rejoin(&mut self, part: &Work) {
        self.give_back(part);
        self.is_coarse |= part.is_coarse;
    }

    /// Adds what is left of `part` again, even if it ran out.
    pub fn give_back(&mut self, part: &Work) {
        self.left += part.left;
    }

    /// Returns how many steps are left.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Notes that the budget made the result coarser.
    pub fn cut_short(&mut self) {
        self.is_coarse = true;
    }

    /// Returns whether the budget did not suffice.
    pub fn is_coarse(&self) -> bool {
        self.is_coarse
    }
}
