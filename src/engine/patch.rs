//! Hunks, unified diff text, and finding a run of lines in a text.
//!
//! - [`hunk`]: hunks, their ranges and headers
//! - [`quote`]: file names as file headers quote them
//! - [`parse`]: reads unified diff text into hunks
//! - [`mod@print`]: writes hunks as unified diff text
//! - [`codex`]: reads the text of Codex's tool `apply_patch`
//! - [`locate`]: finds where a run of lines occurs in a text

pub mod codex;
pub mod hunk;
pub mod locate;
pub mod parse;
pub mod print;
pub mod quote;
