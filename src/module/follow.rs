//! How a review learns what is in its target.

use emacs::{Env, IntoLisp, Result, Value, defun};

use agent_q_diff_engine::proposal::{Seen, Side};
use agent_q_diff_engine::weave::Next;

use crate::error::{catching_panics, signal};
use crate::lisp::{chars, with_part};
use crate::session::{Session, ongoing, told};

/// Tell REVIEW that its target's text is now LIVE.  Return t if that is news.
#[defun]
fn follow(env: &Env, session: &mut Session, live: Vec<u8>) -> Result<bool> {
    catching_panics(env, || {
        session.leave_off();
        let review = ongoing(env, session)?;
        // What it then reads as, it has found out.
        Ok(review.follow(&live) || review.recognize())
    })
}

/// Begin to read the text of REVIEW's target, of N-CHARS characters.
///
/// Return (FROM . TO), the characters from 0 that `read-on' wants; nil if
/// the review can only `follow' the whole text.
#[defun]
fn read<'e>(env: &'e Env, session: &mut Session, n_chars: usize) -> Result<Value<'e>> {
    catching_panics(env, || {
        session.leave_off();
        session.reading = ongoing(env, session)?.reading(n_chars);
        match &session.reading {
            Some(reading) => chars(env, reading.part()),
            None => ().into_lisp(env),
        }
    })
}

/// Go on reading the target of REVIEW: TEXT is what was asked for.
///
/// Return what is wanted next, as (FROM . TO).  At the end return t if the
/// text is news, nil if not.
#[defun]
fn read_on<'e>(env: &'e Env, session: &mut Session, text: Value<'e>) -> Result<Value<'e>> {
    catching_panics(env, || {
        let Some(mut reading) = session.reading.take() else {
            return signal(env, "error", "nothing is being read");
        };
        let review = ongoing(env, session)?;
        let next = with_part(text, reading.part().len(), |text| {
            review.read_on(&mut reading, text)
        })?;
        match next {
            Next::Read(part) => {
                session.reading = Some(reading);
                chars(env, part)
            }
            // What it then reads as, it has found out.
            Next::Changed(_) => true.into_lisp(env),
            Next::Same => review.recognize().into_lisp(env),
        }
    })
}

/// Take it in that REVIEW was told of every edit of its target.
///
/// N-CHARS is the number of characters that the target now has.  Return
/// `follow' if that cannot be all, so that the whole text is needed; t if
/// the target reads as a choice of hunks, although others had a hand in
/// it; nil otherwise.
#[defun]
fn recognize<'e>(env: &'e Env, session: &mut Session, n_chars: usize) -> Result<Value<'e>> {
    catching_panics(env, || {
        session.leave_off();
        let review = ongoing(env, session)?;
        if review.proposal().n_chars() != n_chars {
            return env.intern("follow");
        }
        env.intern(if review.recognize() { "t" } else { "nil" })
    })
}

/// Tell REVIEW that somebody else edited its target; nil if that cannot be.
///
/// All but the first N-BEFORE characters and the last N-BEHIND are now
/// TEXT, whole lines; there were N-CHARS of them before.  HOW is a number:
/// 1 if the edit began at the start of a line, and 2 more if it undid
/// another.
#[defun]
fn edit_outside(
    env: &Env,
    session: &mut Session,
    n_before: usize,
    n_behind: usize,
    n_chars: usize,
    text: Vec<u8>,
    how: usize,
) -> Result<bool> {
    catching_panics(env, || {
        session.leave_off();
        let seen = Seen {
            n_before,
            n_behind,
            n_chars,
            text: &text,
            is_at_start: how & 1 != 0,
            is_undo: how & 2 != 0,
        };
        Ok(told(env, session)?.see_edit_loosely(&seen))
    })
}

/// Return (OLD . NEW), the ids of the texts that REVIEW's diff compares, or nil.
///
/// They are as git wrote them: as many hexadecimal digits as it found
/// enough, 7 or more.  Once one of the texts is known, the value is nil.
#[defun]
fn blobs<'e>(env: &'e Env, session: &mut Session) -> Result<Value<'e>> {
    catching_panics(env, || match ongoing(env, session)?.proposal().blobs() {
        Some(ids) => env.cons(ids.old.as_str(), ids.new.as_str()),
        None => ().into_lisp(env),
    })
}

/// Tell REVIEW that LIVE, its target's text, is one that its diff compares.
///
/// It is the one after the change if IS-NEW is non-nil, or else the one
/// before.  Then each hunk is where its header says; return t.  If the
/// lines are not there, return nil, and nothing is learned.
#[defun]
fn adopt(env: &Env, session: &mut Session, live: Vec<u8>, is_new: Value) -> Result<bool> {
    catching_panics(env, || {
        session.leave_off();
        let side = match is_new.is_not_nil() {
            true => Side::New,
            false => Side::Old,
        };
        Ok(ongoing(env, session)?.adopt(&live, side))
    })
}
