//! Hunks, unified diff text, and finding a run of lines in a text.
//!
//! - [`hunk`]: hunks, their ranges and headers; writes them as unified diff text, with file names
//!   as file headers quote them
//! - [`parse`]: reads unified diff text into hunks
//! - [`codex`]: reads the text of Codex's tool `apply_patch`
//! - [`locate`]: finds where a run of lines occurs in a text

pub mod codex;
pub mod hunk;
pub mod locate;
pub mod parse;
