//! Markings that help a person to read a hunk.
//!
//! - [`words`]: changed words inside changed lines
//! - [`confusables`]: misleading characters

pub mod confusables;
pub mod words;
