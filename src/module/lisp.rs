//! Converts the engine's values to plain Lisp values, and back.

use std::cell::RefCell;
use std::ops::Range;

use emacs::{Env, IntoLisp, Result, Value};

use agent_q_diff_engine::diff::HeadingRule;
use agent_q_diff_engine::review::{Command, Mark};
use agent_q_diff_engine::weave::Reading;

use crate::error::signal;

/// Most bytes of a Unicode character in UTF-8.
const MAX_CHAR_LEN: usize = 4;

/// Number of bytes that suffices for any part of a buffer and a zero byte after it.
const PART_BUFFER_LEN: usize = MAX_CHAR_LEN * Reading::PART_LEN + 1;

thread_local! {
    /// Space into which parts of an Emacs buffer are copied.
    static PART_BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Returns `values` as a Lisp vector. `agent-q-diff-engine.el` names its elements.
pub(crate) fn vector<'e, const N: usize>(
    env: &'e Env,
    values: [Value<'e>; N],
) -> Result<Value<'e>> {
    env.call("vector", &values[..])
}

/// Calls `body` with the bytes of `text`, a string of `n_chars` characters.
///
/// Emacs encodes a string once to compute its length, and again to copy it. If the space is known
/// to be large enough, only the latter is needed.
pub(crate) fn with_part<T>(
    text: Value<'_>,
    n_chars: usize,
    body: impl FnOnce(&[u8]) -> T,
) -> Result<T> {
    // Including the zero byte that Emacs appends.
    if MAX_CHAR_LEN * n_chars + 1 > PART_BUFFER_LEN {
        return Ok(body(&text.clone_string_contents()?));
    }
    PART_BUFFER.with_borrow_mut(|room| {
        room.resize(PART_BUFFER_LEN, 0);
        Ok(body(text.copy_string_contents(room)?))
    })
}

/// Returns `bytes` as a Lisp string: multibyte if they are UTF-8, otherwise unibyte, for Lisp to
/// decode.
///
/// ASCII is unibyte, too, and needs no decoding: for a multibyte string Emacs would make two
/// strings.
pub(crate) fn text<'e>(env: &'e Env, bytes: &[u8]) -> Result<Value<'e>> {
    match std::str::from_utf8(bytes) {
        Ok(string) if !string.is_ascii() => string.into_lisp(env),
        _ => bytes.into_lisp(env),
    }
}

pub(crate) fn list<'e, T: IntoLisp<'e>>(env: &'e Env, items: Vec<T>) -> Result<Value<'e>> {
    let nil = env.intern("nil")?;
    items
        .into_iter()
        .rev()
        .try_fold(nil, |tail, item| env.cons(item, tail))
}

/// Returns the elements of the Lisp list `items`.
pub(crate) fn elements(items: Value<'_>) -> Result<Vec<Value<'_>>> {
    let (mut found, mut rest) = (Vec::new(), items);
    while rest.is_not_nil() {
        found.push(rest.car()?);
        rest = rest.cdr()?;
    }
    Ok(found)
}

/// Returns `items` as a list of conses for Lisp.
pub(crate) fn pairs<'e>(
    env: &'e Env,
    items: impl Iterator<Item = (usize, usize)>,
) -> Result<Value<'e>> {
    let conses = items.map(|(one, other)| env.cons(one, other));
    list(env, conses.collect::<Result<Vec<_>>>()?)
}

/// Returns characters of a buffer for Lisp: (FROM . TO), from 0.
pub(crate) fn chars<'e>(env: &'e Env, chars: Range<usize>) -> Result<Value<'e>> {
    env.cons(chars.start, chars.end)
}

pub(crate) fn find<T: Copy, const N: usize>(
    all: [T; N],
    is_it: impl Fn(&T) -> Result<bool>,
) -> Result<Option<T>> {
    for one in all {
        if is_it(&one)? {
            return Ok(Some(one));
        }
    }
    Ok(None)
}

/// Returns the rule for section headings in a file that is Lisp (if `is_lisp`) or not.
pub(crate) fn rule(is_lisp: Value) -> HeadingRule {
    match is_lisp.is_not_nil() {
        true => HeadingRule::Lisp,
        false => HeadingRule::Default,
    }
}

pub(crate) fn command_named(env: &Env, name: Value) -> Result<Command> {
    let named = [
        ("accept", Command::Accept),
        ("reject", Command::Reject),
        ("toggle", Command::Toggle),
        ("unapply", Command::Unapply),
    ];
    match find(named, |(candidate, _)| Ok(env.intern(candidate)? == name))? {
        Some((_, command)) => Ok(command),
        None => signal(env, "agent-q-diff-error", "no such command"),
    }
}

pub(crate) fn mark_symbol(env: &Env, mark: Mark) -> Result<Value<'_>> {
    env.intern(match mark {
        Mark::Pending => "nil",
        Mark::Applied => "applied",
        Mark::Rejected => "rejected",
    })
}
