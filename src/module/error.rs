//! Turns failures of the engine, including panics, into Lisp errors.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};

use emacs::{Env, Result, Value};

use agent_q_diff_engine::change::{GitError, Unable};
use agent_q_diff_engine::patch::codex::CodexError;
use agent_q_diff_engine::proposal::ProposalError;
use agent_q_diff_engine::review::Refusal;
use agent_q_diff_engine::tool::replacement::ReplaceError;

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
            Refusal::NoSuchHunk { .. } => "agent-q-diff-no-hunk",
            Refusal::NoSuchLines => "agent-q-diff-no-hunk",
            Refusal::ChangesNothing => "agent-q-diff-identical",
            Refusal::NotIn => "agent-q-diff-not-in",
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
            GitError::File { why, .. } => why.symbol(),
            GitError::Parse(_) | GitError::BadLink { .. } => "agent-q-diff-malformed",
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
