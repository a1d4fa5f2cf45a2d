//! What the user of a project and its agents say to each other, and what became of turns.

use agent_q_diff_reviewed::rounds::{Outcome, Side, Wrote};
use agent_q_diff_reviewed::{Digest, Placed};
use emacs::{Env, Result, Value, defun};
use serde::Serialize;

use crate::lisp::{answer, catching_panics, said};
use crate::pending::{ATurn, since_for_lisp, with_project};
use crate::values::{Bytes, lisp, rust};

/// Record that the user says COMMENT about PATH in the project of FOLDER; return its id.
///
/// LINES is [SIDE START N TEXT], or nil for the whole file: N lines from START
/// on, from 0, of TEXT, the name of a text as in `agent-q-diff-module-pending',
/// or, if that is nil, of what is there now.  SIDE is `old' for what was
/// reviewed or `new' for what the file holds.  KIND is `comment' or `question'.
/// TO is a list of the addresses of those who wrote the lines, as for
/// `agent-q-diff-module-queue-message'.
#[defun]
fn comment(
    env: &Env,
    folder: Value,
    path: Value,
    lines: Value,
    kind: Value,
    comment: Value,
    to: Value,
) -> Result<u64> {
    catching_panics(env, || {
        let path = path.clone_string_contents()?;
        let comment = said(comment)?;
        let (kind, to) = (rust(kind)?, rust::<Vec<String>>(to)?);
        let place: Option<(Side, usize, usize, Option<Digest>)> = rust(lines)?;
        let place = place.map(|(side, start, n, text)| (side, start..start + n, text));
        with_project(env, folder, false, |project| {
            answer(env, project.comment(&path, place, kind, &comment, &to))
        })
    })
}

/// Make COMMENT, of KIND, of the comment ID in the project of FOLDER.
///
/// KIND is as for `agent-q-diff-module-comment'.  Agents are told anew.  If COMMENT is
/// blank, it is closed.
#[defun]
fn edit_comment(env: &Env, folder: Value, id: u64, kind: Value, comment: Value) -> Result<()> {
    catching_panics(env, || {
        let comment = said(comment)?;
        let kind = rust(kind)?;
        with_project(env, folder, false, |project| {
            answer(env, project.edit_comment(id, kind, &comment))
        })
    })
}

/// Make STATE that of the comment ID in the project of FOLDER.
///
/// It is `open', `sent', `handled' or `closed'.
#[defun]
fn set_comment(env: &Env, folder: Value, id: u64, state: Value) -> Result<()> {
    catching_panics(env, || {
        let state = rust(state)?;
        with_project(env, folder, false, |project| {
            answer(env, project.set_comment(id, state))
        })
    })
}

/// Record that WHO has answered the comment ID in the project of FOLDER with REPLY.
///
/// The comment is handled by that.  If the user has closed it, or there is none,
/// signal an error.
#[defun]
fn answer_comment(env: &Env, folder: Value, id: u64, who: Value, reply: Value) -> Result<()> {
    catching_panics(env, || {
        let (who, reply) = (said(who)?, said(reply)?);
        with_project(env, folder, false, |project| {
            answer(env, project.answer(id, &who, &reply))
        })
    })
}

/// Return the comments in the project of FOLDER that are not closed, by their ids.
///
/// That is a list of [ID TIME PATH PLACE KIND COMMENT STATE REPLIES TO NAMES TOLD
/// SIDE LINE N WAS UNSURE LINES].  NAMES are those that the file had before, and
/// TOLD the addresses of those who were told it, "" if somebody was who is not
/// known.  PLACE is how it is recorded where it is.  SIDE is as for
/// `agent-q-diff-module-comment', or nil if it is about the whole file.  LINE is
/// the first of its N lines, from 0, or nil if they are not there any more, and
/// LINES is what they were.  UNSURE is non-nil if such lines are in several
/// places.  WAS is where the first was then, from 0.  REPLIES is a list of
/// [TIME WHO REPLY].  TO is as for `agent-q-diff-module-comment'.
///
/// TEXTS is a list of [PATH OLD NEW], the names of the texts of PATH in which
/// the lines are looked for; of others, that is what is there now.
#[defun]
fn comments<'e>(env: &'e Env, folder: Value<'e>, texts: Value<'e>) -> Result<Value<'e>> {
    catching_panics(env, || {
        let texts: Vec<(Vec<u8>, Option<Digest>, Option<Digest>)> = rust(texts)?;
        let texts = texts
            .into_iter()
            .map(|(path, old, new)| (path, [old, new]))
            .collect();
        with_project(env, folder, false, |project| {
            let all = answer(env, project.comments(&texts))?;
            let all = all
                .iter()
                .map(|placed| (&placed.comment, Lines::of(placed)));
            lisp(env, &all.collect::<Vec<_>>())
        })
    })
}

/// Where the lines of a comment are, for Lisp.
#[derive(Serialize)]
struct Lines<'a> {
    side: Option<Side>,
    line: Option<usize>,
    n: usize,
    was: usize,
    is_unsure: bool,
    lines: Bytes<&'a Vec<u8>>,
}

impl<'a> Lines<'a> {
    fn of(placed: &'a Placed) -> Lines<'a> {
        let place = placed.comment.place.as_ref();
        Lines {
            side: place.map(|place| place.side),
            line: placed.line.map(|(line, _)| line),
            n: place.map_or(0, |place| place.lines.len()),
            was: place.map_or(0, |place| place.lines.start),
            is_unsure: placed.line.is_some_and(|(_, is_unsure)| is_unsure),
            lines: Bytes(&placed.lines),
        }
    }
}

/// Record that agents of the project of FOLDER are to be told MESSAGE; return its id.
///
/// TO is a list of their addresses, or nil for whichever asks first.  An address
/// is the name of an agent, and, if it is only for one session, a second line with
/// the agent's name for that.  COMMENTS is a list of the ids of the comments in it,
/// which are sent when it is told, unless they have changed since.  It takes the
/// place of a message that the same were not told yet.
#[defun]
fn queue_message(
    env: &Env,
    folder: Value,
    to: Value,
    message: Value,
    comments: Value,
) -> Result<u64> {
    catching_panics(env, || {
        let (to, comments) = (rust::<Vec<String>>(to)?, rust::<Vec<u64>>(comments)?);
        let message = said(message)?;
        with_project(env, folder, false, |project| {
            answer(env, project.queue_message(&to, &message, &comments))
        })
    })
}

/// Return the messages that agents of the project of FOLDER were not told yet.
///
/// That is a list of [ID TIME TO MESSAGE COMMENTS IS-TOLD TOLD], the latest last.
/// TIME is when the review was finished, in seconds since 1970; IS-TOLD is non-nil
/// if some agent was told, and TOLD is as in `agent-q-diff-module-comments'.  The
/// others are as for `agent-q-diff-module-queue-message', but that "" stands for
/// any agent.  If all were told, return the last one, with nil as TO.
#[defun]
fn messages<'e>(env: &'e Env, folder: Value<'e>) -> Result<Value<'e>> {
    catching_panics(env, || {
        with_project(env, folder, false, |project| {
            lisp(env, &answer(env, project.untold())?)
        })
    })
}

/// Record that the messages IDS in the project of FOLDER were told to the address TO.
///
/// If that is nil, they were told to all of their agents, whoever read them.
#[defun]
fn told(env: &Env, folder: Value, ids: Value, to: Value) -> Result<()> {
    catching_panics(env, || {
        let (ids, to) = (rust::<Vec<u64>>(ids)?, rust::<Option<String>>(to)?);
        with_project(env, folder, false, |project| {
            answer(env, project.told(to.as_deref(), &ids))
        })
    })
}

/// Return what the user has rejected in the project of FOLDER, the latest last.
///
/// That is a list of [PATH HUNK TIME REASON LINE LINES IS-TOLD IS-BACK TO].
/// HUNK is its key.
/// TIME is in seconds since 1970.  REASON may be empty.  LINE is its first
/// line in what was reviewed, from 1, and LINES are its lines, as in a diff.
/// IS-TOLD is non-nil if an agent was told, and IS-BACK if the user has undone
/// since that it was taken out, so that it is pending again.  TO is as for
/// `agent-q-diff-module-comment'.
#[defun]
fn rejected<'e>(env: &'e Env, folder: Value<'e>) -> Result<Value<'e>> {
    catching_panics(env, || {
        with_project(env, folder, false, |project| {
            let all = answer(env, project.rejected())?;
            lisp(env, &all.collect::<Vec<_>>())
        })
    })
}

/// Return the latest turns of agents in the project of FOLDER, the latest last.
///
/// That is a list of [ID TIME HEAD AGENT SESSION TITLE PID IS-OVER N-KEPT N-TAKEN-OUT
/// PATHS].  The first eight are as in `agent-q-diff-module-pending', and the next
/// two as recorded with the decisions on them.  PATHS are the files
/// that it has written, or `unknown'.
#[defun]
fn turns<'e>(env: &'e Env, folder: Value<'e>) -> Result<Value<'e>> {
    catching_panics(env, || {
        with_project(env, folder, false, |project| {
            let all = answer(env, project.outcomes())?;
            let all = all
                .iter()
                .map(|(turn, outcome)| (ATurn::of(turn), Became::of(outcome)));
            lisp(env, &all.collect::<Vec<_>>())
        })
    })
}

/// What became of what was written in a turn, for Lisp.
#[derive(Serialize)]
struct Became<'a> {
    n_kept: u64,
    n_taken_out: u64,
    paths: Paths<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
enum Paths<'a> {
    Unknown,
    Known(Vec<Bytes<&'a Vec<u8>>>),
}

impl<'a> Became<'a> {
    fn of(outcome: &'a Outcome) -> Became<'a> {
        let paths = |wrote: &'a Vec<Wrote>| wrote.iter().map(|one| Bytes(&one.0)).collect();
        Became {
            n_kept: outcome.n_kept,
            n_taken_out: outcome.n_taken_out,
            paths: outcome
                .wrote
                .as_ref()
                .map_or(Paths::Unknown, |wrote| Paths::Known(paths(wrote))),
        }
    }
}

/// Return what differs from before TURN in the files that were written in it.
///
/// TURN is the number of a turn in the project of FOLDER, and the value is as
/// from `agent-q-diff-module-pending-since'.  If that is not known any more,
/// signal an error.
#[defun]
fn pending_since_turn<'e>(env: &'e Env, folder: Value<'e>, turn: u64) -> Result<Value<'e>> {
    catching_panics(env, || {
        with_project(env, folder, false, |project| {
            let since = answer(env, project.since_turn(turn))?;
            since_for_lisp(env, project, &since)
        })
    })
}
