//! What the `edit_file` tool needs: replacing a string, and showing the change.
//!
//! - [`replacement`]: replaces a string exactly, and hashes the text before and after
//! - [`nearest`]: finds what resembles a string that is not in the text
//! - [`diff_lines`]: a diff as lines, each with its kind and numbers

pub mod diff_lines;
pub mod nearest;
pub mod replacement;
