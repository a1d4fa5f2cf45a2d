//! The object through which Lisp holds a review.

use std::sync::atomic::{AtomicUsize, Ordering};

use emacs::{Env, Result, defun};

use agent_q_diff_engine::review::{Plan, Review};
use agent_q_diff_engine::weave::Reading;

use crate::error::{answer, signal};

/// The only type of `user-ptr`. One of a second type could be mistaken for it, since Emacs compares
/// only the addresses of their finalizers.
pub(crate) struct Session {
    /// `None` once the review has ended and its memory has been freed.
    pub(crate) review: Option<Counted>,
    /// The last plan, if it has neither been committed nor failed.
    pub(crate) plan: Option<Plan>,
    /// The reading of the target in progress, if any.
    pub(crate) reading: Option<Reading>,
}

/// Wraps a review for Lisp.
pub(crate) fn session(review: Review) -> Session {
    N_REVIEWS.fetch_add(1, Ordering::Relaxed);
    Session {
        review: Some(Counted(review)),
        plan: None,
        reading: None,
    }
}

impl Session {
    /// Drops the plan and the reading in progress, since the target may change.
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

/// Return the number of reviews whose memory has not been freed.
#[defun]
fn n_reviews() -> Result<usize> {
    Ok(N_REVIEWS.load(Ordering::Relaxed))
}

/// Free the memory of REVIEW.  Any later use of it is an error.
#[defun]
fn free(session: &mut Session) -> Result<()> {
    session.review = None;
    session.leave_off();
    Ok(())
}

/// Returns the review of `session`, after ending any run of edits.
pub(crate) fn ongoing<'s>(env: &Env, session: &'s mut Session) -> Result<&'s mut Review> {
    let review = told(env, session)?;
    review.settle();
    Ok(review)
}

/// Returns the review of `session` for reporting one in a run of edits; nothing else may be called
/// on it.
pub(crate) fn told<'s>(env: &Env, session: &'s mut Session) -> Result<&'s mut Review> {
    match &mut session.review {
        Some(Counted(review)) => Ok(review),
        None => signal(env, "agent-q-diff-ended", "the review has ended"),
    }
}

/// Returns the review of `session`; signals `agent-q-diff-no-hunk` if it has no hunk `hunk`.
pub(crate) fn with_hunk<'s>(
    env: &Env,
    session: &'s mut Session,
    hunk: usize,
) -> Result<&'s mut Review> {
    let review = ongoing(env, session)?;
    answer(env, review.check_hunk(hunk))?;
    Ok(review)
}
