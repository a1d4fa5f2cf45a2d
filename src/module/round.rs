//! A review of what was written already, as one of several: what was rejected before it, and its end.

use std::collections::BTreeMap;

use agent_q_diff_engine::change::Change;
use agent_q_diff_engine::review::Mark;
use agent_q_diff_reviewed::round::{Likeness, Round, Writers};
use agent_q_diff_reviewed::rounds::{KeysByPath, Rejected};
use emacs::{Env, IntoLisp, Result, Value, defun};

use crate::lisp::{answer, catching_panics, elements, said, text};
use crate::pending::with_project_of;
use crate::session::{Session, ongoing, written};
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

/// Return (N-NEW N-LIKE N-AGAIN), numbers of pending hunks of REVIEW, which was written before.
///
/// N-NEW counts those that the user has neither seen nor rejected before, and is nil if
/// the user has never finished a review of the project.  N-LIKE counts those of these
/// that have lines that were rejected, and N-AGAIN those that were rejected before.
#[defun]
fn news<'e>(env: &'e Env, session: &mut Session) -> Result<Value<'e>> {
    catching_panics(env, || {
        let written = written(env, session)?;
        let root = written.borrow().root.clone();
        // Lisp is called only while no review is borrowed.
        let shown = with_project_of(env, root, false, |project| {
            Ok(answer(env, project.shown())?.cloned())
        })?;
        let ongoing = ongoing(env, session)?;
        let (change, round) = (&ongoing.change, &mut written.borrow_mut().round);
        let news = round.news(change, shown.as_ref().unwrap_or(&KeysByPath::new()));
        let n_new = shown.map(|_| news.n_new);
        env.list((n_new.into_lisp(env)?, news.n_like, news.n_again))
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
        let written = written(env, session)?;
        let root = written.borrow().root.clone();
        let notes = {
            let ongoing = ongoing(env, session)?;
            let round = &mut written.borrow_mut().round;
            round.end(&ongoing.change, &comments, is_told.is_not_nil(), is_shown)
        };
        // Lisp is called only while no review is borrowed.
        if !notes.is_empty() {
            with_project_of(env, root, false, |project| {
                answer(env, project.record(&notes))
            })?;
        }
        let ongoing = ongoing(env, session)?;
        let (change, round) = (&ongoing.change, &mut written.borrow_mut().round);
        let named = |one: &Rejected| (Bytes(one.path.clone()), one.hunk.clone());
        let again = round.again(change, &[Mark::Pending, Mark::Applied]);
        let again: Vec<_> = again.iter().map(named).collect();
        let now = round.rejected_now(change).into_iter();
        let now: Vec<_> = now.map(|(hunk, one)| (hunk, named(one))).collect();
        lisp(env, &(now, again))
    })
}
