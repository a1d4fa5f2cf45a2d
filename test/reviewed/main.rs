//! Tests of what is reviewed and what is pending.

mod after;
mod commits;
mod crash;
#[path = "../engine/common/dice.rs"]
#[allow(dead_code, reason = "it has more than these tests need")]
mod dice;
mod disk;
mod foreign;
mod head;
mod model;
mod plain;
mod programs;
mod round;
mod rules;
mod stage;
mod talk;
mod traps;
mod world;
