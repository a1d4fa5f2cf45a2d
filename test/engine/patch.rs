//! Unified diffs, read and written.

mod parse;
mod print;
