//! Unified diffs, read and written.

mod codex;
mod parse;
mod print;
