//! What a tool for agents needs to replace one string by another and to show that.
//!
//! - [`replacement`]: exact replacement of a string, and the hashes before and after
//! - [`nearest`]: what resembles a string that is not there
//! - [`diff_lines`]: a diff as lines with their kinds and numbers

pub mod diff_lines;
pub mod nearest;
pub mod replacement;
