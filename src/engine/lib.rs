//! The engine of agent-q-diff: what an AI agent wants to do to a file, decided hunk by hunk.
//!
//! Text in, text out; the middle is data. The engine takes bytes and returns plain values; it
//! knows no file, buffer or window, keeps no clock and makes no random choice.
//!
//! The modules, each of which uses only those above it:
//!
//! - [`text`]: text as lines with their terminators
//! - [`diff`]: two texts to hunks
//! - [`patch`]: hunks; unified diff text to hunks and back; where a run of lines stands in a text
//! - [`mod@merge`]: three texts to one
//! - [`weave`]: where every line belongs, whatever was applied or typed
//! - `trust`: what a diff of two states of a target proves
//! - [`proposal`]: a proposal's hunks and where each is in the target
//! - [`review`]: the state machine, the decision
//! - [`tool`]: exact replacement of a string, what resembles one not found, diffs as lines
//! - [`show`]: changed words inside changed lines, characters that read as something else

// Only the integration tests use `Dice::of`.
#[allow(dead_code)]
#[cfg(test)]
#[path = "../../test/engine/common/dice.rs"]
mod dice;
pub mod diff;
pub mod merge;
pub mod patch;
pub mod proposal;
pub mod review;
pub mod show;
pub mod text;
pub mod tool;
mod trust;
pub mod weave;
