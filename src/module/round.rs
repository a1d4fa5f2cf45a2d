//! A review of what was written already, as one of several: what was rejected before it, and its end.

use std::collections::BTreeMap;

use agent_q_diff_engine::change::Change;
use agent_q_diff_engine::review::Mark;
use agent_q_diff_reviewed::round::{Likeness, Round, Writers};
use agent_q_diff_reviewed::rounds::Rejected;
use emacs::{Env, Result, Value, defun};

use crate::lisp::{answer, catching_panics, elements, said, signal, text};
use crate::pending::with_project_of;
use crate::session::{Session, ongoing};
use crate::values::{Bytes, lisp};

/// Reads (AUTHORS . LINES), who wrote a file, as in `agent-q-diff-module-pending`, or nil.
pub(crate) fn writers(value: Value) -> Result<Writers> {
    // Others than turns are symbols.
    let all = |list: Value| -> Result<Vec<Option<u64>>> {
        let authors = elements(list)?.into_iter();
        Ok(authors.map(|author| author.into_rust().ok()).collect())
    };
    if !value.is_not_nil() {
        return Ok(Writers::default());
    }
    let lines = elements(value.cdr()?)?.into_iter().map(|one| {
        let one = elements(one)?;
        Ok((one[0].into_rust()?, one[1].into_rust()?, all(one[2])?))
    });
    Ok(Writers {
        all: all(value.car()?)?,
        lines: lines.collect::<Result<_>>()?,
    })
}

/// Reads an alist from hunks to the user's comments on them.
pub(crate) fn comments(value: Value) -> Result<BTreeMap<usize, String>> {
    let mut comments = BTreeMap::new();
    for pair in elements(value)? {
        let comment: Value = pair.cdr()?;
        if comment.is_not_nil() {
            comments.insert(pair.car()?, said(comment)?);
        }
    }
    Ok(comments)
}

/// Returns what was rejected before that `hunk` is like; see [`hunk`](crate::decide).
pub(crate) fn earlier<'e>(
    env: &'e Env,
    round: &mut Round,
    change: &Change,
    hunk: usize,
) -> Result<Value<'e>> {
    let Some((one, likeness)) = round.earlier(change, hunk) else {
        return env.intern("nil");
    };
    let how = match likeness {
        Likeness::Same => "t",
        Likeness::Part => "part",
        Likeness::Like => "like",
    };
    let reason = text(env, one.reason.as_bytes())?;
    env.vector((env.intern(how)?, one.time, reason))
}

/// Return (N-NEW . N-AGAIN), numbers of pending hunks of REVIEW, which was written before.
///
/// N-NEW counts those that the user has not seen, and is nil if the user has never
/// finished a review of the project.  N-AGAIN counts those that are like what was
/// rejected before.
#[defun]
fn news<'e>(env: &'e Env, session: &mut Session) -> Result<Value<'e>> {
    catching_panics(env, || {
        let ongoing = ongoing(env, session)?;
        let (change, Some(written)) = (&ongoing.change, &ongoing.written) else {
            return signal(env, "agent-q-diff-error", "it was not written before");
        };
        let mut written = written.borrow_mut();
        let root = written.root.clone();
        let round = &mut written.round;
        let n_new = with_project_of(env, root, false, |project| {
            let shown = answer(env, project.shown())?;
            Ok(shown.map(|shown| round.n_new(change, shown)))
        })?;
        env.cons(n_new, round.again(change, &[Mark::Pending]).len())
    })
}

/// Record the reasons for rejections in REVIEW, which was written before, as they are now.
///
/// COMMENTS is an alist from hunks to them.  IS-TOLD is non-nil if an agent reads
/// them in another way.  If FINISHED is non-nil, the user has finished the review
/// now; if it is `shown', the next one knows what was not decided in this one.
///
/// Return (NOW . AGAIN).  NOW is a list of (HUNK PATH . KEY) of what was rejected in
/// REVIEW.  AGAIN is a list of (PATH . KEY) of what was rejected before that it has
/// all the same: the agent has written it again, or the user thinks otherwise now.
#[defun]
fn finish_round<'e>(
    env: &'e Env,
    session: &mut Session,
    comments: Value<'e>,
    is_told: Value<'e>,
    finished: Value<'e>,
) -> Result<Value<'e>> {
    catching_panics(env, || {
        let comments = self::comments(comments)?;
        let is_shown = finished == env.intern("shown")?;
        let is_shown = finished.is_not_nil().then_some(is_shown);
        let ongoing = ongoing(env, session)?;
        let (change, Some(written)) = (&ongoing.change, &ongoing.written) else {
            return signal(env, "agent-q-diff-error", "it was not written before");
        };
        let mut written = written.borrow_mut();
        let root = written.root.clone();
        let round = &mut written.round;
        let notes = round.end(change, &comments, is_told.is_not_nil(), is_shown);
        if !notes.is_empty() {
            with_project_of(env, root, false, |project| {
                answer(env, project.record(&notes))
            })?;
        }
        let named = |one: &Rejected| (Bytes(one.path.clone()), one.hunk.clone());
        let again = round.again(change, &[Mark::Pending, Mark::Applied]);
        let again: Vec<_> = again.iter().map(named).collect();
        let now = round.rejected_now(change).into_iter();
        let now: Vec<_> = now.map(|(hunk, one)| (hunk, named(one))).collect();
        lisp(env, &(now, again))
    })
}
