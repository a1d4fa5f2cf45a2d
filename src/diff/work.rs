//! How much a comparison may do.
//!
//! The engine has no clock, and no key interrupts it. So what could take long counts its steps, and
//! when they are spent the rest of the answer is coarse.

/// Largest number of steps of a comparison: comparing two lines or two numbers is one.
///
/// Splitting texts into lines and reading them in step is not counted: its time grows with the
/// texts and no faster.
///
/// ```
/// use agent_q_diff::diff::{Budget, edits_within};
/// use agent_q_diff::text::Text;
/// let original = Text::new(b"a\nb\nc\nb\na\n".to_vec());
/// let modified = Text::new(b"c\nb\nb\na\nc\n".to_vec());
/// let found = edits_within(&original, &modified, Budget(0));
/// assert!(found.is_coarse);
/// assert_eq!(found.edits.len(), 1);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Budget(pub u64);

impl Default for Budget {
    /// What keeps texts of 10 MB under about half a second. Where all of them changes, that is
    /// enough for 1.6 million lines of both.
    fn default() -> Budget {
        Budget(40_000_000)
    }
}

/// What is left of a budget.
#[derive(Debug)]
pub struct Work {
    left: u64,
    is_coarse: bool,
}

impl Work {
    pub fn new(budget: Budget) -> Work {
        Work {
            left: budget.0,
            is_coarse: false,
        }
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

    /// Notes that less is done than would be without a budget.
    pub fn cut_short(&mut self) {
        self.is_coarse = true;
    }

    /// Tells whether more was wanted than there was.
    pub fn is_coarse(&self) -> bool {
        self.is_coarse
    }
}
