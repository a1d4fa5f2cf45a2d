//! The engine of agent-q-diff: what an AI agent wants to do to a file, decided hunk by hunk.
//!
//! Text in, text out; the middle is data. The engine takes bytes and returns plain values; it
//! knows no file, buffer or window, keeps no clock and makes no random choice. A module sees only
//! those listed before it.

pub mod text;
pub mod hunk;
pub mod diff;
pub mod quote;
pub mod parse;
pub mod print;
