//! Exact replacements, hashes, typed diffs and misleading characters: functions that need no
//! review.

use agent_q_diff_engine::show::confusables::{self, Suspect};
use agent_q_diff_engine::text::n_chars;
use agent_q_diff_engine::tool::diff_lines::{
    TypedLine, typed_lines as typed_lines_of, typed_replacement,
};
use agent_q_diff_engine::tool::replacement::{self, Match, ReplaceError, Scope};
use emacs::{Env, Result, Value, defun};

use crate::lisp::{Signal, catching_panics, list, list_of, pairs, signal_data, symbol, text};

/// Return (SPANS LINES NEW HASHES . TYPED), the replacement of OLD by NEW in TEXT.
///
/// SPANS is a list of (START . END), the offsets of each match, in
/// characters, or in bytes if IN-BYTES is non-nil.  LINES is a list of (FIRST
/// . END), the lines of the result, from 0, that each replacement is on.  NEW
/// has its line ends adapted to TEXT.  HASHES is (BEFORE . AFTER), the
/// SHA-256 of TEXT and of the result in UTF-8, or nil if they are not text.
/// TYPED is as for `agent-q-diff-module-typed-lines', with CONTEXT unchanged
/// lines.  There must be exactly one match, or at least one if IS-ALL is
/// non-nil.
#[defun]
fn replace<'e>(
    env: &'e Env,
    text: Vec<u8>,
    old: Vec<u8>,
    new: Vec<u8>,
    is_all: Value<'e>,
    in_bytes: Value<'e>,
    context: usize,
) -> Result<Value<'e>> {
    catching_panics(env, || {
        let scope = if is_all.is_not_nil() {
            Scope::All
        } else {
            Scope::Unique
        };
        let found = match replacement::find(&text, &old, &new, scope) {
            Ok(found) => found,
            Err(error) => return refuse_replacement(env, &error),
        };
        let spans = spans(&text, &found.matches, in_bytes.is_not_nil());
        let affected = found.affected_lines(&text);
        let lines = affected.iter().map(|lines| (lines.start, lines.end));
        let lines = pairs(env, lines)?;
        let spans = pairs(env, spans.into_iter())?;
        let typed = typed_list(env, &typed_replacement(&text, &found, context))?;
        let is_text = [&text[..], &found.new]
            .iter()
            .all(|bytes| str::from_utf8(bytes).is_ok());
        let hashes = if is_text {
            let after = found.apply(&text);
            env.cons(replacement::hash(&text), replacement::hash(&after))?
        } else {
            env.intern("nil")?
        };
        let rest = env.cons(hashes, typed)?;
        let rest = env.cons(self::text(env, &found.new)?, rest)?;
        env.cons(spans, env.cons(lines, rest)?)
    })
}

/// Return the SHA-256 of TEXT in UTF-8, in hexadecimal digits.
#[defun]
fn hash(env: &Env, text: Vec<u8>) -> Result<String> {
    catching_panics(env, || Ok(replacement::hash(&text)))
}

/// Return the diff from ORIGINAL to MODIFIED, a list of (KIND OLD NEW TEXT).
///
/// KIND is `hunk', `context', `added', `removed' or `no-newline'.  OLD and
/// NEW are the numbers of the line, from 1, in ORIGINAL and in MODIFIED, or 0
/// if it is not there.  TEXT is the line without its sign and newline.
/// Around each change there are CONTEXT unchanged lines.
#[defun]
fn typed_lines<'e>(
    env: &'e Env,
    original: Vec<u8>,
    modified: Vec<u8>,
    context: usize,
) -> Result<Value<'e>> {
    catching_panics(env, || {
        typed_list(env, &typed_lines_of(original, modified, context))
    })
}

/// Returns the start and end of each of `matches` in `text`, in characters as Emacs counts them, or
/// in bytes if `in_bytes`.
fn spans(text: &[u8], matches: &[Match], in_bytes: bool) -> Vec<(usize, usize)> {
    let (mut offset, mut counted) = (0, 0);
    let mut upto = |end: usize| {
        let more = &text[counted..end];
        offset += if in_bytes { more.len() } else { n_chars(more) };
        counted = end;
        offset
    };
    let places = matches.iter().map(|found| &found.bytes);
    places
        .map(|bytes| (upto(bytes.start), upto(bytes.end)))
        .collect()
}

/// Returns `lines` as a list of (KIND OLD NEW TEXT) for Lisp.
fn typed_list<'e>(env: &'e Env, lines: &[TypedLine]) -> Result<Value<'e>> {
    let entry = |line: &TypedLine| {
        let kind = symbol(env, line.kind)?;
        env.list((
            kind,
            line.old_number,
            line.new_number,
            text(env, &line.text)?,
        ))
    };
    list_of(env, lines.iter().map(entry))
}

/// Signals why there is no replacement, with the data for a message: the lines of the matches, or
/// `(FIRST END . DIFFERENCES)` for the nearest text.
fn refuse_replacement<T>(env: &Env, error: &ReplaceError) -> Result<T> {
    let details = match error {
        ReplaceError::Several { lines } | ReplaceError::Overlapping { lines } => {
            list(env, lines.clone())?
        }
        ReplaceError::NotFound {
            nearest: Some(nearest),
        } => {
            let kinds = nearest.differences.iter();
            let kinds = list_of(env, kinds.map(|kind| symbol(env, kind)))?;
            env.cons(nearest.lines.start, env.cons(nearest.lines.end, kinds)?)?
        }
        _ => env.intern("nil")?,
    };
    let data = env.list((error.to_string(), details))?;
    signal_data(env, error.symbol(), data)
}

/// Return the misleading characters of TEXT.
///
/// The value is a list of (INDEX . DECEIT).  INDEX is the index of a
/// character, from 0.  DECEIT says how it misleads: `direction', `invisible',
/// `space', `control', `lookalike' or `combining'.
#[defun]
fn suspects<'e>(env: &'e Env, text: Vec<u8>) -> Result<Value<'e>> {
    catching_panics(env, || {
        let suspects = confusables::suspects(&text);
        let pair = |suspect: &Suspect| env.cons(suspect.index, symbol(env, suspect.deceit)?);
        list_of(env, suspects.iter().map(pair))
    })
}
