//! Hunks, unified diff text, and where a run of lines stands in a text.
//!
//! - [`hunk`]: hunks, their ranges and headers
//! - [`quote`]: file names as a file header writes them
//! - [`parse`]: unified diff text to hunks
//! - [`mod@print`]: hunks to unified diff text
//! - [`locate`]: where a run of lines stands in a text

pub mod hunk;
pub mod locate;
pub mod parse;
pub mod print;
pub mod quote;
