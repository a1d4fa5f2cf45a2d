//! Markings that help a person to read a hunk.
//!
//! - [`alike`]: which changes are equal
//! - [`moved`]: code that moved
//! - [`words`]: changed words inside changed lines
//! - [`rows`]: which removed line stands next to which added one
//! - [`confusables`]: misleading characters

pub mod alike;
pub mod confusables;
pub mod moved;
pub mod rows;
pub mod words;
