//! Markings that help a person to read a hunk.
//!
//! - [`alike`]: which changes are equal
//! - [`words`]: changed words inside changed lines
//! - [`confusables`]: misleading characters

pub mod alike;
pub mod confusables;
pub mod words;
