//! What the user of a project and its agents say to each other, and what became of turns.

use std::collections::BTreeMap;

use agent_q_diff_reviewed::rounds::Wrote;
use agent_q_diff_reviewed::{Digest, Placed};
use emacs::{Env, IntoLisp, Result, Value, Vector, defun};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use crate::lisp::{answer, catching_panics, elements, list, said, text, vector};
use crate::pending::{since_for_lisp, turn_members, with_project};

/// Returns what the symbol `name` means in the record.
fn meaning<T: DeserializeOwned>(env: &Env, name: Value) -> Result<T> {
    let word = env.call("format", ("%s", name))?.into_rust::<String>()?;
    serde_json::from_value(Json::String(word)).or_else(|error| {
        let wanted = error.to_string().into_lisp(env)?;
        env.signal(env.intern("wrong-type-argument")?, [wanted, name])
    })
}

/// Returns the symbol that has `meaning` in the record.
fn symbol(env: &Env, meaning: impl Serialize) -> Result<Value<'_>> {
    let word = serde_json::to_value(meaning).expect("it is a word");
    env.intern(word.as_str().expect("it is a word"))
}

fn digest(name: Value) -> Result<Option<Digest>> {
    let name: Option<String> = name.into_rust()?;
    Ok(name.and_then(|name| Digest::parse(&name)))
}

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
        let to = all_said(to)?;
        let kind = meaning(env, kind)?;
        let place = match lines.is_not_nil() {
            false => None,
            true => {
                let lines: Vector = lines.into_rust()?;
                let side = meaning(env, lines.get(0)?)?;
                let start: usize = lines.get(1)?;
                let n: usize = lines.get(2)?;
                Some((side, start..start + n, digest(lines.get(3)?)?))
            }
        };
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
        let kind = meaning(env, kind)?;
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
        let state = meaning(env, state)?;
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
/// That is a list of [ID PATH SIDE LINE N KIND COMMENT STATE REPLIES LINES UNSURE WAS TO].
/// SIDE is as for `agent-q-diff-module-comment', or nil if it is about the whole
/// file.  LINE is the first of its N lines, from 0, or nil if they are not
/// there any more, and LINES is what they were.  UNSURE is non-nil if such
/// lines are in several places.  WAS is where the first was then, from 0.
/// REPLIES is a list of (WHO . REPLY).  TO is as for `agent-q-diff-module-comment'.
///
/// TEXTS is a list of [PATH OLD NEW], the names of the texts of PATH in which
/// the lines are looked for; of others, that is what is there now.
#[defun]
fn comments<'e>(env: &'e Env, folder: Value<'e>, texts: Value<'e>) -> Result<Value<'e>> {
    catching_panics(env, || {
        let mut known = BTreeMap::new();
        for one in elements(texts)? {
            let one: Vector = one.into_rust()?;
            let path = one.get::<Value>(0)?.clone_string_contents()?;
            known.insert(path, [digest(one.get(1)?)?, digest(one.get(2)?)?]);
        }
        with_project(env, folder, false, |project| {
            let all = answer(env, project.comments(&known))?;
            let all = all.iter().map(|placed| comment_for_lisp(env, placed));
            list(env, all.collect::<Result<Vec<_>>>()?)
        })
    })
}

fn comment_for_lisp<'e>(env: &'e Env, placed: &Placed) -> Result<Value<'e>> {
    let Placed {
        comment,
        line,
        lines,
    } = placed;
    let nil = env.intern("nil")?;
    let (side, n, was) = match &comment.place {
        None => (nil, 0, 0),
        Some(place) => {
            let side = symbol(env, place.side)?;
            (side, place.lines.len(), place.lines.start)
        }
    };
    let (line, is_unsure) = match line {
        None => (nil, false),
        Some((line, is_unsure)) => (line.into_lisp(env)?, *is_unsure),
    };
    let replies = comment.replies.iter().map(|reply| {
        let [who, what] = [&reply.who, &reply.text].map(|it| text(env, it.as_bytes()));
        env.cons(who?, what?)
    });
    let found = [
        comment.id.into_lisp(env)?,
        text(env, &comment.path)?,
        side,
        line,
        n.into_lisp(env)?,
        symbol(env, comment.kind)?,
        text(env, comment.text.as_bytes())?,
        symbol(env, comment.state)?,
        list(env, replies.collect::<Result<Vec<_>>>()?)?,
        text(env, lines)?,
        is_unsure.into_lisp(env)?,
        was.into_lisp(env)?,
        texts(env, &comment.to)?,
    ];
    vector(env, found)
}

/// Record that agents of the project of FOLDER are to be told MESSAGE; return its id.
///
/// TO is a list of their addresses, or nil for whichever asks first.  An address
/// is the name of an agent, and, if it is only for one session, a second line with
/// the agent's name for that.  COMMENTS is a list of the ids of the comments in it,
/// which are sent when it is told.  It takes the place of a message that the same
/// were not told yet.
#[defun]
fn queue_message(
    env: &Env,
    folder: Value,
    to: Value,
    message: Value,
    comments: Value,
) -> Result<u64> {
    catching_panics(env, || {
        let to = all_said(to)?;
        let message = said(message)?;
        let comments = ids(comments)?;
        with_project(env, folder, false, |project| {
            answer(env, project.queue_message(&to, &message, &comments))
        })
    })
}

fn all_said(list: Value) -> Result<Vec<String>> {
    elements(list)?.into_iter().map(said).collect()
}

fn texts<'e>(env: &'e Env, texts: &[String]) -> Result<Value<'e>> {
    let texts = texts.iter().map(|one| text(env, one.as_bytes()));
    list(env, texts.collect::<Result<Vec<_>>>()?)
}

fn ids(list: Value) -> Result<Vec<u64>> {
    elements(list)?.into_iter().map(Value::into_rust).collect()
}

/// Return the messages that agents of the project of FOLDER were not told yet.
///
/// That is a list of [ID TIME TO MESSAGE COMMENTS IS-TOLD], the latest last.  TIME
/// is when the review was finished, in seconds since 1970; IS-TOLD is non-nil if
/// some agent was told.  The others are as for `agent-q-diff-module-queue-message',
/// but that "" stands for any agent.  If all were told, return the last one, with t
/// as TO.
#[defun]
fn messages<'e>(env: &'e Env, folder: Value<'e>) -> Result<Value<'e>> {
    catching_panics(env, || {
        with_project(env, folder, false, |project| {
            let all = answer(env, project.untold())?;
            let all = all.iter().map(|message| {
                let message = [
                    message.id.into_lisp(env)?,
                    message.time.into_lisp(env)?,
                    match message.to.is_empty() {
                        true => env.intern("t")?,
                        false => texts(env, &message.to)?,
                    },
                    text(env, message.text.as_bytes())?,
                    list(env, message.comments.clone())?,
                    message.is_told.into_lisp(env)?,
                ];
                vector(env, message)
            });
            list(env, all.collect::<Result<Vec<_>>>()?)
        })
    })
}

/// Record that the messages IDS in the project of FOLDER were told to the address TO.
///
/// If that is nil, they were told to all of their agents.
#[defun]
fn told(env: &Env, folder: Value, ids: Value, to: Value) -> Result<()> {
    catching_panics(env, || {
        let ids = self::ids(ids)?;
        let to = to.is_not_nil().then(|| said(to)).transpose()?;
        with_project(env, folder, false, |project| {
            answer(env, project.told(to.as_deref(), &ids))
        })
    })
}

/// Return what the user has rejected in the project of FOLDER, the latest last.
///
/// That is a list of [PATH HUNK TIME REASON LINE LINES IS-TOLD TO].  HUNK is its key.
/// TIME is in seconds since 1970.  REASON may be empty.  LINE is its first
/// line in what was reviewed, from 1, and LINES are its lines, as in a diff.
/// IS-TOLD is non-nil if an agent was told.  TO is as for
/// `agent-q-diff-module-comment'.
#[defun]
fn rejected<'e>(env: &'e Env, folder: Value<'e>) -> Result<Value<'e>> {
    catching_panics(env, || {
        with_project(env, folder, false, |project| {
            let all = answer(env, project.rejected())?.map(|one| {
                let one = [
                    text(env, &one.path)?,
                    text(env, one.hunk.as_bytes())?,
                    one.time.into_lisp(env)?,
                    text(env, one.reason.as_bytes())?,
                    one.line.into_lisp(env)?,
                    text(env, one.lines.as_bytes())?,
                    one.is_told.into_lisp(env)?,
                    texts(env, &one.to)?,
                ];
                vector(env, one)
            });
            list(env, all.collect::<Result<Vec<_>>>()?)
        })
    })
}

/// Return the latest turns of agents in the project of FOLDER, the latest last.
///
/// That is a list of [ID AGENT TITLE TIME IS-OVER N-KEPT N-TAKEN-OUT PATHS SESSION].
/// The first five are as in `agent-q-diff-module-pending', and the next two as
/// recorded with the decisions on them.  PATHS are the files that
/// it has written, or t if that is not known.  SESSION is the agent's name for
/// its session, or empty if not the agent has said that the turn begins.
#[defun]
fn turns<'e>(env: &'e Env, folder: Value<'e>) -> Result<Value<'e>> {
    catching_panics(env, || {
        with_project(env, folder, false, |project| {
            let all = answer(env, project.outcomes())?;
            let all = all.iter().map(|(turn, outcome)| {
                let wrote = match &outcome.wrote {
                    None => env.intern("t")?,
                    Some(wrote) => {
                        let paths = wrote.iter().map(|Wrote(path, ..)| text(env, path));
                        list(env, paths.collect::<Result<Vec<_>>>()?)?
                    }
                };
                let [id, agent, title, time, is_over] = turn_members(env, turn)?;
                let n_kept = outcome.n_kept.into_lisp(env)?;
                let n_taken_out = outcome.n_taken_out.into_lisp(env)?;
                let session = text(env, turn.session.as_bytes())?;
                let turn = [
                    id,
                    agent,
                    title,
                    time,
                    is_over,
                    n_kept,
                    n_taken_out,
                    wrote,
                    session,
                ];
                vector(env, turn)
            });
            list(env, all.collect::<Result<Vec<_>>>()?)
        })
    })
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
