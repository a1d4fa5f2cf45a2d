//! The engine of agent-q-diff: what an AI agent wants to do to a file, decided hunk by hunk.
//!
//! Text in, text out; the middle is data. The engine takes bytes and returns plain values; it
//! knows no file, buffer or window, keeps no clock and makes no random choice.
//!
//! The rooms, each of which uses only those above it:
//!
//! - [`text`]: text as lines with their terminators
//! - [`hunk`]: hunks, their ranges and headers
//! - [`diff`]: two texts to hunks
//! - [`quote`]: file names as a file header writes them
//! - [`parse`]: unified diff text to hunks
//! - [`mod@print`]: hunks to unified diff text
//! - [`place`]: where a run of lines stands in a text
//! - [`mod@merge`]: three texts to one
//! - [`weave`]: the line map, where every line belongs
//! - [`trust`]: what a diff of two states of a target proves
//! - [`proposal`]: a proposal's hunks and where each is in the target
//! - [`review`]: the state machine, the decision
//! - [`replace`]: exact replacement of a string
//! - [`typed`]: a diff as typed lines with their numbers
//! - [`words`]: changed words inside changed lines
//! - [`honest`]: characters that read as something else

// Only the walks need dice that depend on texts.
#[allow(dead_code)]
#[cfg(test)]
#[path = "../test/engine/dice.rs"]
mod dice;
pub mod diff;
pub mod honest;
pub mod hunk;
pub mod merge;
pub mod parse;
pub mod place;
pub mod print;
pub mod proposal;
pub mod quote;
pub mod replace;
pub mod review;
pub mod text;
pub mod trust;
pub mod typed;
pub mod weave;
pub mod words;

#[cfg(feature = "module")]
mod module;
