//! How much a comparison may do.
//!
//! The engine has no clock, and no key interrupts it. So what could take long counts its steps, and
//! when they are spent the rest of the answer is coarse. What is left is shared out by the number of
//! lines that are still to be compared, so that no part of the texts takes what another one needs.

/// Largest number of steps of a comparison. Going one line on in a search is one, a few
/// nanoseconds; what has to look elsewhere in memory counts for several.
///
/// Splitting texts into lines and reading them in step is not counted: its time grows with the
/// texts and no faster.
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
    /// What keeps texts of 10 MB under about half a second.
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

/// Lines of both sides up to which the tables of a comparison are near in memory.
const NEAR_LEN: usize = 1 << 16;

/// Returns what a step counts for that looks up a line of so many in a table.
pub fn look_up(n_lines: usize) -> usize {
    match n_lines <= NEAR_LEN {
        true => 1,
        false => 3,
    }
}

/// Part of a budget that is kept for sliding edits to their best places: one in so many.
const SLIDING: u64 = 8;

/// What is left of a budget.
#[derive(Debug)]
pub struct Work {
    left: u64,
    /// What is not for the search.
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

    /// Adds what was kept to what is left, now that the search is done.
    pub fn release(&mut self) {
        self.left += std::mem::take(&mut self.kept);
    }

    /// Takes `n_steps` off what is left, and tells whether there were so many.
    pub fn spend(&mut self, n_steps: usize) -> bool {
        let left = self.left.checked_sub(n_steps as u64);
        self.left = left.unwrap_or(0);
        self.is_coarse |= left.is_none();
        left.is_some()
    }

    /// Takes `n_steps` off if there are so many, and tells whether there were; if not, what is left
    /// is for others.
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

    /// Returns how many steps can be taken for each of `n` lines.
    pub fn share(&self, n: usize) -> usize {
        usize::try_from(self.left / n.max(1) as u64).unwrap_or(usize::MAX)
    }

    /// Notes that `n` lines are still to be compared.
    pub fn set_ahead(&mut self, n: usize) {
        self.n_ahead = n;
    }

    /// Notes that `n` of the lines that were to be compared are.
    pub fn pass(&mut self, n: usize) {
        self.n_ahead = self.n_ahead.saturating_sub(n);
    }

    /// Notes that `n` lines are to be compared once more.
    pub fn put_ahead(&mut self, n: usize) {
        self.n_ahead += n;
    }

    /// Returns what `n` of the lines that are to be compared may take.
    pub fn portion(&self, n: usize) -> u64 {
        let share = u128::from(self.left) * n as u128 / self.n_ahead.max(n).max(1) as u128;
        // No more than what is left.
        u64::try_from(share).unwrap_or(u64::MAX)
    }

    /// Takes up to `n_steps` off, to be worked with by themselves; see [`Work::rejoin`].
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

    /// Takes back what is left of `part`.
    pub fn rejoin(&mut self, part: &Work) {
        self.give_back(part);
        self.is_coarse |= part.is_coarse;
    }

    /// Takes back the steps that are left of `part`, whatever it lacked.
    pub fn give_back(&mut self, part: &Work) {
        self.left += part.left;
    }

    /// Returns how many steps are left.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Notes that less is done than would be without a budget.
    pub fn cut_short(&mut self) {
        self.is_coarse = true;
    }

    /// Tells whether more was wanted than there was.
    pub fn is_coarse(&self) -> bool {
        self.is_coarse
    }
}
