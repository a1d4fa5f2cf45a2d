//! The Emacs module: the only crate that depends on the `emacs` crate.
//!
//! Each function that Lisp can call copies its arguments, calls the engine and returns a plain Lisp
//! value. None keeps a Lisp value, or calls Lisp while a review is borrowed. The documentation of
//! such a function is its Lisp docstring. Lisp calls most of them directly, but calls those that
//! take or return texts through `agent-q-diff-engine.el`, which knows how Emacs represents bytes
//! that are not text.
//!
//! A command on hunks crosses this boundary twice: planning it ([`decide`]) returns the edits to
//! make, and committing it returns everything to be shown afterwards.

mod decide;
mod history;
mod lisp;
mod pending;
mod replace;
mod review;
mod round;
mod session;
mod talk;
mod values;
mod written;

use std::panic;

use emacs::{Env, Result, defun};

emacs::plugin_is_GPL_compatible!();

/// Initializes the module. The default panic hook would write into a terminal frame, and its text
/// belongs in the Lisp error.
#[emacs::module(
    name = "agent-q-diff-module",
    defun_prefix = "agent-q-diff-module",
    separator = "-",
    mod_in_name = false
)]
fn init(_: &Env) -> Result<()> {
    panic::set_hook(Box::new(|info| lisp::note_panic(&info.to_string())));
    Ok(())
}

/// Return the version of the engine, a string.
#[defun]
fn version() -> Result<&'static str> {
    Ok(env!("CARGO_PKG_VERSION"))
}

/// Panic with MESSAGE, to test that Emacs survives it.
#[cfg(feature = "test-panic")]
#[defun]
fn panic(env: &Env, message: String) -> Result<()> {
    lisp::catching_panics(env, || panic!("{message}"))
}
