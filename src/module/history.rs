//! The history of what agents proposed: property lists of Lisp as lines of JSON, and back.

use agent_q_diff_reviewed::history::History;
use emacs::{Env, Result, Value, defun};

use crate::lisp::{catching_panics, signal};
use crate::pending::path_of;
use crate::values::{lisp, rust};

/// Record EVENT, a property list, in FILE.
///
/// Its keys are as in the manual's section on the log; there may be others.  If
/// FILE has MAX-BYTES or more, it is rotated first; nil is never.  N-OLD rotated
/// files are kept.
#[defun]
fn record_event(
    env: &Env,
    file: Value,
    max_bytes: Option<u64>,
    n_old: u32,
    event: Value,
) -> Result<()> {
    catching_panics(env, || {
        let file = path_of(file)?;
        let history = History {
            file,
            max_bytes,
            n_old,
        };
        told(env, &history, history.record(&rust(event)?))
    })
}

/// Return the latest events in FILE, at most N, the latest first.
///
/// If there are fewer, go on with the N-OLD rotated files.  Each is a property
/// list, as it was recorded, in which symbols are strings.
#[defun]
fn events<'e>(env: &'e Env, file: Value<'e>, n_old: u32, n: usize) -> Result<Value<'e>> {
    catching_panics(env, || {
        let history = History {
            file: path_of(file)?,
            max_bytes: None,
            n_old,
        };
        let events = told(env, &history, history.latest(n))?;
        lisp(env, &events)
    })
}

fn told<T>(env: &Env, history: &History, result: std::io::Result<T>) -> Result<T> {
    result.or_else(|error| {
        let message = format!("{}: {error}", history.file.display());
        signal(env, "agent-q-diff-error", &message)
    })
}
