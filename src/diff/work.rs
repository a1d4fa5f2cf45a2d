//! How much a comparison may do.
//!
//! The engine has no clock, and no key interrupts it. So what could take long counts its steps, and
//! when they are spent the rest of the answer is coarse.

/// Largest number of steps of a comparison: comparing two lines or two numbers is one.
///
/// Splitting and numbering lines is not counted: its time grows with the texts and no faster.
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
    /// What keeps texts of 10 MB under about half a second.
    fn default() -> Budget {
        Budget(100_000_000)
    }
}

/// What is left of a budget.
#[derive(Debug)]
pub struct Work {
    left: u64,
    is_spent: bool,
}

impl Work {
    pub fn new(budget: Budget) -> Work {
        Work {
            left: budget.0,
            is_spent: false,
        }
    }

    /// Takes `n_steps` off what is left, and tells whether there were so many.
    pub fn spend(&mut self, n_steps: usize) -> bool {
        match self.left.checked_sub(n_steps as u64) {
            Some(left) => self.left = left,
            None => (self.left, self.is_spent) = (0, true),
        }
        !self.is_spent
    }

    /// Tells whether more was asked for than there was.
    pub fn is_spent(&self) -> bool {
        self.is_spent
    }
}
