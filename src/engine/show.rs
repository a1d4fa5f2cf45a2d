//! What helps a person to read a hunk.
//!
//! - [`words`]: changed words inside changed lines
//! - [`confusables`]: characters that read as something else

pub mod confusables;
pub mod words;
