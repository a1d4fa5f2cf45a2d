//! The half of `make bench` that measures the engine, beside its peers, in one run.
//!
//! Prints rows for `test/bench/run`: `ROW`, name, ours, peer, ratio, target and verdict, separated
//! by tabs. A ratio is ours by the peer's, of medians; below 1 we are faster. Criterion measures one
//! function after the other; here they take turns, so that a noisy machine disturbs both alike.
//!
//! `--quick` leaves out the slowest rows and takes fewer rounds. `--worst` looks for the worst text
//! of 10 MB instead.

#[path = "../../engine/dice.rs"]
// The tests use all of it.
#[allow(dead_code)]
mod dice;
mod harness;
mod peers;
mod rows;
mod texts;
mod worst;

use harness::Bench;

fn main() {
    let is_given = |option: &str| std::env::args().any(|argument| argument == option);
    let bench = Bench::new(is_given("--quick"));
    if is_given("--worst") {
        return worst::print_all();
    }
    rows::local_edits(&bench);
    rows::rewrites(&bench);
    rows::pathological(&bench);
    rows::real_pairs(&bench);
    worst::row(&bench);
}
