//! The Emacs module: the only crate that depends on the `emacs` crate.
//!
//! Each function that Lisp can call copies its arguments in, calls the engine and hands a plain Lisp
//! value out; none keeps a Lisp value or calls back while a review is borrowed. The documentation of
//! such a function is its Lisp docstring. Lisp calls most of them as they are, and those that take
//! or return texts through `agent-q-diff-engine.el`, which knows how Emacs writes bytes that are no
//! text.
//!
//! A command on hunks crosses this boundary twice: a plan ([`decide`]) returns the edits to make,
//! and committing it returns all that there is to show afterwards.

mod decide;
mod error;
mod follow;
mod lisp;
mod replace;
mod review;
mod session;

use std::panic;

use emacs::{Env, Result, defun};

emacs::plugin_is_GPL_compatible!();

/// Prepares the module. The default panic hook would write over a terminal frame, and what it
/// writes is what the Lisp error must say.
#[emacs::module(
    name = "agent-q-diff-module",
    defun_prefix = "agent-q-diff-module",
    separator = "-",
    mod_in_name = false
)]
fn init(_: &Env) -> Result<()> {
    panic::set_hook(Box::new(|info| error::note_panic(&info.to_string())));
    Ok(())
}

/// Return the version of the engine, a string.
#[defun]
fn version() -> Result<&'static str> {
    Ok(env!("CARGO_PKG_VERSION"))
}

/// Panic with MESSAGE, for the test that Emacs survives it.
#[cfg(feature = "test-panic")]
#[defun]
fn panic(env: &Env, message: String) -> Result<()> {
    error::catching_panics(env, || panic!("{message}"))
}
