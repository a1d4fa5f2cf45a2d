//! A review of what was written already, as one of several: what was rejected before it, and its end.

use std::collections::BTreeMap;

use agent_q_diff_engine::change::Change;
use agent_q_diff_engine::review::Mark;
use agent_q_diff_reviewed::round::{Likeness, Round, RoundFile, Writer, Writers};
use agent_q_diff_reviewed::rounds::Rejected;
use emacs::{Env, Result, Value, Vector, defun};

use crate::lisp::{answer, catching_panics, elements, list_of, said, signal, text};
use crate::pending::with_project_of;
use crate::session::{Session, ongoing};

/// Returns who wrote `file`, an `agent-q-diff-pending-file`.
pub(crate) fn writers(file: Value) -> Result<RoundFile> {
    let file: Vector = file.into_rust()?;
    let all = |list: Value| {
        elements(list)?
            .into_iter()
            .map(writer)
            .collect::<Result<_>>()
    };
    let lines = |lines: Value| {
        let lines = elements(lines)?.into_iter().map(|one| {
            let one = elements(one)?;
            Ok((one[0].into_rust()?, one[1].into_rust()?, all(one[2])?))
        });
        lines.collect::<Result<Vec<_>>>()
    };
    let turns: Value = file.get(11)?;
    let turns = match turns.is_not_nil() {
        false => Writers::default(),
        true => Writers {
            all: all(turns.car()?)?,
            lines: lines(turns.cdr()?)?,
        },
    };
    Ok(RoundFile {
        path: Vec::new(),
        from: None,
        operations: Vec::new(),
        turns,
        agents: Writers {
            all: all(file.get(5)?)?,
            lines: lines(file.get(6)?)?,
        },
    })
}

/// Reads an author as in `agent-q-diff-module-pending`: the number of a turn, the name of an agent, or a symbol.
fn writer(author: Value) -> Result<Writer> {
    if let Ok(turn) = author.into_rust::<u64>() {
        return Ok(Writer::Turn(turn));
    }
    Ok(said(author).map_or(Writer::Other, Writer::Agent))
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
        let named =
            |one: &Rejected| env.cons(text(env, &one.path)?, text(env, one.hunk.as_bytes())?);
        let again = round.again(change, &[Mark::Pending, Mark::Applied]);
        let again = list_of(env, again.iter().map(|(_, one)| named(one)))?;
        let now = round.rejected_now(change).into_iter();
        let now = list_of(env, now.map(|(hunk, one)| env.cons(hunk, named(one)?)))?;
        env.cons(now, again)
    })
}
