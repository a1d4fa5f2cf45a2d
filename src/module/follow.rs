//! Functions by which Lisp tells a review what is in its target.

use emacs::{Env, IntoLisp, Result, Value, defun};

use agent_q_diff_engine::proposal::{Seen, Side};
use agent_q_diff_engine::weave::Next;

use crate::error::{catching_panics, signal};
use crate::lisp::{chars, with_part};
use crate::session::{Session, file_of, ongoing, text_of, told};

/// Tell REVIEW that its target's text is now LIVE.  Return t if that is a change.
#[defun]
fn follow(env: &Env, session: &mut Session, live: Vec<u8>) -> Result<bool> {
    catching_panics(env, || {
        let mut review = told(env, session)?;
        review.settle();
        // If the text has changed, following it has already recognized a choice of hunks.
        Ok(review.follow(&live) || review.recognize())
    })
}

/// Begin to read the text of REVIEW's target, which has N-CHARS characters.
///
/// Return (FROM . TO), the characters, from 0, to pass to
/// `agent-q-diff-module-read-on', or nil if the review needs the whole text;
/// see `agent-q-diff-module-follow'.
#[defun]
fn read<'e>(env: &'e Env, session: &mut Session, n_chars: usize) -> Result<Value<'e>> {
    catching_panics(env, || {
        let reading = text_of(env, session)?.reading(n_chars);
        let part = reading.as_ref().map(|reading| reading.part());
        let file = file_of(session);
        let mut ongoing = ongoing(env, session)?;
        ongoing.leave_off();
        ongoing.reading = reading.map(|reading| (file, reading));
        match part {
            Some(part) => chars(env, part),
            None => ().into_lisp(env),
        }
    })
}

/// Continue reading the target of REVIEW with TEXT, the requested characters.
///
/// Return the characters to read next as (FROM . TO).  At the end return t if
/// the text has changed, otherwise nil.
#[defun]
fn read_on<'e>(env: &'e Env, session: &mut Session, text: Value<'e>) -> Result<Value<'e>> {
    catching_panics(env, || {
        let file = file_of(session);
        let reading = ongoing(env, session)?.reading.take();
        let Some((_, mut reading)) = reading.filter(|(other, _)| *other == file) else {
            return signal(env, "error", "nothing is being read");
        };
        let mut review = text_of(env, session)?;
        let next = with_part(text, reading.part().len(), |text| {
            review.read_on(&mut reading, text)
        })?;
        match next {
            Next::Read(part) => {
                drop(review);
                ongoing(env, session)?.reading = Some((file, reading));
                chars(env, part)
            }
            // If the text has changed, following it has already recognized a choice of hunks.
            Next::Changed(_) => true.into_lisp(env),
            Next::Same => review.recognize().into_lisp(env),
        }
    })
}

/// Tell REVIEW that every edit of its target has been reported.
///
/// N-CHARS is the number of characters that the target now has.  Return
/// `follow' if an edit must have been missed, so that the whole text is
/// needed; t if the target equals the original with some of the hunks applied
/// although others edited it; otherwise nil.
#[defun]
fn recognize<'e>(env: &'e Env, session: &mut Session, n_chars: usize) -> Result<Value<'e>> {
    catching_panics(env, || {
        let mut review = told(env, session)?;
        review.settle();
        if review.proposal().n_chars() != n_chars {
            return env.intern("follow");
        }
        env.intern(if review.recognize() { "t" } else { "nil" })
    })
}

/// Tell REVIEW that somebody else edited its target.  Return nil if that is impossible.
///
/// TEXT has replaced all but the first N-BEFORE characters and the last
/// N-BEHIND ones of the target, which had N-CHARS characters.  IS-UNDO is
/// non-nil if the edit undid another one.
#[defun]
fn edit_outside(
    env: &Env,
    session: &mut Session,
    n_before: usize,
    n_behind: usize,
    n_chars: usize,
    text: Vec<u8>,
    is_undo: Value,
) -> Result<bool> {
    catching_panics(env, || {
        let seen = Seen {
            n_before,
            n_behind,
            n_chars,
            text: &text,
            is_undo: is_undo.is_not_nil(),
        };
        Ok(told(env, session)?.see_edit_loosely(&seen))
    })
}

/// Return (OLD . NEW), git's ids of the texts that REVIEW's diff compares, or nil.
///
/// They are abbreviated as git wrote them, to 7 or more hexadecimal digits.
/// Once one of the texts is known, the value is nil.
#[defun]
fn blobs<'e>(env: &'e Env, session: &mut Session) -> Result<Value<'e>> {
    catching_panics(env, || match text_of(env, session)?.proposal().blobs() {
        Some(ids) => env.cons(ids.old.as_str(), ids.new.as_str()),
        None => ().into_lisp(env),
    })
}

/// Tell REVIEW that LIVE, its target's text, is one of those that its diff compares.
///
/// If IS-NEW is non-nil, it is the text after the change, otherwise the one
/// before.  Each hunk is then where its header says; return t.  If its lines
/// are not there, change nothing and return nil.
#[defun]
fn adopt(env: &Env, session: &mut Session, live: Vec<u8>, is_new: Value) -> Result<bool> {
    catching_panics(env, || {
        let side = match is_new.is_not_nil() {
            true => Side::New,
            false => Side::Old,
        };
        let mut review = told(env, session)?;
        review.settle();
        Ok(review.adopt(&live, side))
    })
}
