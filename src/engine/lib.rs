//! The engine of agent-q-diff: reviews the changes that an AI agent proposes to a file, hunk by
//! hunk.
//!
//! The engine takes bytes and returns plain values. It knows nothing of files, buffers or windows,
//! reads no clock and makes no random choices.
//!
//! Each module uses only the modules above it in this list:
//!
//! - [`text`]: text as lines with their terminators
//! - [`diff`]: compares two texts, which gives hunks
//! - [`patch`]: hunks; parses and prints unified diffs; finds where a run of lines occurs in a text
//! - [`mod@merge`]: merges three texts into one
//! - [`weave`]: where every line belongs, whatever was applied or typed
//! - `trust`: what a diff of two states of a target proves about its lines
//! - [`proposal`]: a proposal's hunks and where each is in the target
//! - [`review`]: the state machine of a review, and its decision
//! - [`change`]: several files, decided together
//! - [`key`]: by what a hunk is known in every review of its file
//! - [`tool`]: replaces a string exactly, finds what resembles one that is missing, diffs as lines
//! - [`inputs`]: what agents' own tools make of a file, and inputs that make what was decided
//! - [`show`]: changed words inside changed lines, and misleading characters

// Only the integration tests use `Dice::of`.
pub mod change;
#[allow(dead_code)]
#[cfg(test)]
#[path = "../../test/engine/common/dice.rs"]
mod dice;
pub mod diff;
pub mod inputs;
pub mod key;
pub mod merge;
pub mod patch;
pub mod proposal;
pub mod review;
pub mod show;
pub mod text;
pub mod tool;
mod trust;
pub mod weave;
