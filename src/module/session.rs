//! What Lisp holds of a review.

use std::sync::atomic::{AtomicUsize, Ordering};

use emacs::{Env, Result, defun};

use agent_q_diff_engine::review::{Plan, Review};
use agent_q_diff_engine::weave::Reading;

use crate::error::{answer, signal};

/// The one type that Lisp holds. A `user-ptr` of a second type could be taken for it, since Emacs
/// compares only the address of its finalizer.
pub(crate) struct Session {
    /// `None` once the review has ended and its memory is given back.
    pub(crate) review: Option<Counted>,
    /// What was planned last and is neither committed nor failed.
    pub(crate) plan: Option<Plan>,
    /// How far the target was read.
    pub(crate) reading: Option<Reading>,
}

/// A review for Lisp.
pub(crate) fn session(review: Review) -> Session {
    N_REVIEWS.fetch_add(1, Ordering::Relaxed);
    Session {
        review: Some(Counted(review)),
        plan: None,
        reading: None,
    }
}

impl Session {
    /// Leaves off what was planned, and what was read: the target may be another one then.
    pub(crate) fn leave_off(&mut self) {
        self.plan = None;
        self.reading = None;
    }
}

/// The number of reviews that hold memory.
static N_REVIEWS: AtomicUsize = AtomicUsize::new(0);

/// A review that is counted while it holds memory.
pub(crate) struct Counted(pub(crate) Review);

impl Drop for Counted {
    fn drop(&mut self) {
        N_REVIEWS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Return the number of reviews whose memory was not given back.
#[defun]
fn n_reviews() -> Result<usize> {
    Ok(N_REVIEWS.load(Ordering::Relaxed))
}

/// Give back what REVIEW holds.  Every later use of it is an error.
#[defun]
fn free(session: &mut Session) -> Result<()> {
    session.review = None;
    session.leave_off();
    Ok(())
}

/// Returns the review of `session`, ready to be asked.
pub(crate) fn ongoing<'s>(env: &Env, session: &'s mut Session) -> Result<&'s mut Review> {
    let review = told(env, session)?;
    review.settle();
    Ok(review)
}

/// Returns the review of `session`, to be told of one of a run of edits and not to be asked.
pub(crate) fn told<'s>(env: &Env, session: &'s mut Session) -> Result<&'s mut Review> {
    match &mut session.review {
        Some(Counted(review)) => Ok(review),
        None => signal(env, "agent-q-diff-ended", "the review has ended"),
    }
}

/// Returns the review of `session`, which has a hunk `hunk`; signals `agent-q-diff-no-hunk` if it
/// has none.
pub(crate) fn with_hunk<'s>(
    env: &Env,
    session: &'s mut Session,
    hunk: usize,
) -> Result<&'s mut Review> {
    let review = ongoing(env, session)?;
    answer(env, review.check_hunk(hunk))?;
    Ok(review)
}
