//! Tests of the engine's public functions. Each suite is named after the module of the engine that
//! it tests, and stands where that stands in `src/engine`.

mod change;
mod common;
mod diff;
mod inputs;
mod key;
mod merge;
mod patch;
mod proposal;
mod review;
mod show;
mod text;
mod tool;
mod weave;
