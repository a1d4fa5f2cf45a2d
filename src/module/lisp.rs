//! Converts the engine's values and errors to plain Lisp ones, and values back.

use std::any::Any;
use std::cell::RefCell;
use std::fmt::Debug;
use std::panic::{self, AssertUnwindSafe};

use agent_q_diff_engine::change::{GitError, Unable};
use agent_q_diff_engine::diff::HeadingRule;
use agent_q_diff_engine::patch::codex::CodexError;
use agent_q_diff_engine::proposal::ProposalError;
use agent_q_diff_engine::review::{Command, Mark, Refusal};
use agent_q_diff_engine::tool::replacement::ReplaceError;
use agent_q_diff_reviewed::rounds::plain;
use emacs::{Env, IntoLisp, Result, Value};

/// Returns `values` as a Lisp vector. `agent-q-diff-engine.el` names its elements.
pub(crate) fn vector<'e, const N: usize>(
    env: &'e Env,
    values: [Value<'e>; N],
) -> Result<Value<'e>> {
    env.call("vector", &values[..])
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

/// Returns the string `value`, of what somebody says, as characters; see [`plain`].
pub(crate) fn said(value: Value) -> Result<String> {
    Ok(plain(&value.clone_string_contents()?))
}

pub(crate) fn list<'e, T: IntoLisp<'e>>(env: &'e Env, items: Vec<T>) -> Result<Value<'e>> {
    let nil = env.intern("nil")?;
    items
        .into_iter()
        .rev()
        .try_fold(nil, |tail, item| env.cons(item, tail))
}

/// Returns a Lisp list of the elements that `items` make, unless one of them fails.
pub(crate) fn list_of<'e, T: IntoLisp<'e>>(
    env: &'e Env,
    items: impl IntoIterator<Item = Result<T>>,
) -> Result<Value<'e>> {
    list(env, items.into_iter().collect::<Result<Vec<_>>>()?)
}

/// Returns a symbol with the name of `variant`, one of an enum without fields: `line-ends` for
/// `LineEnds`.
pub(crate) fn symbol(env: &Env, variant: impl Debug) -> Result<Value<'_>> {
    let mut name = String::new();
    for char in format!("{variant:?}").chars() {
        if char.is_ascii_uppercase() && !name.is_empty() {
            name.push('-');
        }
        name.push(char.to_ascii_lowercase());
    }
    env.intern(&name)
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
    list_of(env, items.map(|(one, other)| env.cons(one, other)))
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
    if is_lisp.is_not_nil() {
        HeadingRule::Lisp
    } else {
        HeadingRule::Default
    }
}

pub(crate) fn command_named(env: &Env, name: Value) -> Result<Command> {
    let all = [
        Command::Accept,
        Command::Reject,
        Command::Toggle,
        Command::Unapply,
    ];
    let named = find(all, |command| Ok(symbol(env, command)? == name))?;
    named.map_or_else(|| signal(env, "agent-q-diff-error", "no such command"), Ok)
}

pub(crate) fn mark_symbol(env: &Env, mark: Mark) -> Result<Value<'_>> {
    match mark {
        Mark::Pending => env.intern("nil"),
        mark => symbol(env, mark),
    }
}

// Turns failures of the engine, including panics, into Lisp errors.

thread_local! {
    /// The message and the location of the last panic on this thread.
    static LAST_PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps the text of a panic for the Lisp error that it becomes.
pub(crate) fn note_panic(text: &str) {
    LAST_PANIC.set(text.to_owned());
}

/// Runs `body`, and turns a panic into the Lisp error `agent-q-diff-panic` with its text.
pub(crate) fn catching_panics<T>(env: &Env, body: impl FnOnce() -> Result<T>) -> Result<T> {
    let unwound: std::result::Result<_, Box<dyn Any + Send>> =
        panic::catch_unwind(AssertUnwindSafe(body));
    match unwound {
        Ok(result) => result,
        Err(_) => signal(env, "agent-q-diff-panic", &LAST_PANIC.take()),
    }
}

/// An error of the engine that has a symbol in Lisp.
pub(crate) trait Signal: std::error::Error {
    fn symbol(&self) -> &'static str;
}

impl Signal for ProposalError {
    fn symbol(&self) -> &'static str {
        match self {
            ProposalError::Identical => "agent-q-diff-identical",
            ProposalError::Malformed(_) | ProposalError::EndsEarly { .. } => {
                "agent-q-diff-malformed"
            }
            ProposalError::SeveralFiles { .. } => "agent-q-diff-several-files",
        }
    }
}

impl Signal for Refusal {
    fn symbol(&self) -> &'static str {
        match self {
            Refusal::NoSuchHunk { .. } | Refusal::NoSuchLines => "agent-q-diff-no-hunk",
            Refusal::ChangesNothing => "agent-q-diff-identical",
            Refusal::NotIn | Refusal::Gone | Refusal::Partly => "agent-q-diff-not-in",
            Refusal::NothingToTakeBack => "agent-q-diff-nothing-to-take-back",
            Refusal::NotPlaced(why) if why.is_ambiguous() => "agent-q-diff-ambiguous",
            Refusal::NotPlaced(_) => "agent-q-diff-not-found",
            Refusal::Apart | Refusal::PartsUnknown | Refusal::Flip(_) => "agent-q-diff-conflict",
        }
    }
}

impl Signal for Unable {
    fn symbol(&self) -> &'static str {
        match self {
            Unable::NoSuchEntry | Unable::NoLines => "agent-q-diff-no-hunk",
            Unable::Changed(_) => "agent-q-diff-bad-target",
            Unable::Text(refusal) => refusal.symbol(),
        }
    }
}

impl Signal for GitError {
    fn symbol(&self) -> &'static str {
        match self {
            GitError::Parse(_) | GitError::BadLink { .. } | GitError::NotEmptied { .. } => {
                "agent-q-diff-malformed"
            }
            GitError::NoName { .. } | GitError::Copy { .. } => "agent-q-diff-bad-target",
        }
    }
}

impl Signal for CodexError {
    fn symbol(&self) -> &'static str {
        match self {
            CodexError::NoContext { .. } | CodexError::NotFound { .. } => "agent-q-diff-not-found",
            _ => "agent-q-diff-malformed",
        }
    }
}

impl Signal for ReplaceError {
    fn symbol(&self) -> &'static str {
        match self {
            ReplaceError::Empty => "agent-q-diff-empty-search",
            ReplaceError::Equal => "agent-q-diff-equal-texts",
            ReplaceError::NotFound { .. } => "agent-q-diff-no-match",
            ReplaceError::Several { .. } => "agent-q-diff-several-matches",
            ReplaceError::Overlapping { .. } => "agent-q-diff-overlapping-matches",
        }
    }
}

pub(crate) fn answer<T, E: Signal>(env: &Env, result: std::result::Result<T, E>) -> Result<T> {
    result.or_else(|error| signal(env, error.symbol(), &error.to_string()))
}

/// Signals the Lisp error `symbol` with `message`.
pub(crate) fn signal<T>(env: &Env, symbol: &str, message: &str) -> Result<T> {
    signal_data(env, symbol, env.list((message,))?)
}

pub(crate) fn signal_data<T>(env: &Env, symbol: &str, data: Value<'_>) -> Result<T> {
    match env.call("signal", (env.intern(symbol)?, data)) {
        Err(error) => Err(error),
        Ok(_) => unreachable!("`signal' returned"),
    }
}
