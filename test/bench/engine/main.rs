//! The part of `make bench` that measures the engine beside its peers.
//!
//! Prints rows for `test/bench/run`: `ROW`, name, ours, peer, ratio, target and verdict, separated
//! by tabs. A ratio is our median divided by the peer's; below 1 we are faster. Criterion measures
//! one function after the other; here they take turns, so that a noisy machine disturbs both alike.
//!
//! `--quick` leaves out the slowest rows and takes fewer rounds. The other options measure something
//! else instead, each only what has NAME in its name:
//!
//! - `--worst`: kinds of texts of 10 MB, in search of the worst
//! - `--families LINES NAME`: the families of texts that are hard to compare, of LINES lines each
//! - `--calls NAME`: calls into the engine on 10 MB
//! - `--rows NAME`: groups of rows

#[path = "../../engine/common/families.rs"]
mod all;
mod calls;
// Only the tests use `Dice::of`.
#[allow(dead_code)]
#[path = "../../engine/common/dice.rs"]
mod dice;
mod families;
mod harness;
mod peers;
mod rows;
mod texts;
// Only the tests apply diffs with them.
#[allow(dead_code)]
#[path = "../../engine/common/tools.rs"]
mod tools;
mod worst;

use harness::Bench;

fn main() {
    let is_given = |option: &str| std::env::args().any(|argument| argument == option);
    let bench = Bench::new(is_given("--quick"));
    if is_given("--worst") {
        return worst::print_all();
    }
    let argument = |index| {
        std::env::args()
            .filter(|argument| argument != "--bench")
            .nth(index)
            .unwrap_or_default()
    };
    if is_given("--families") {
        return families::print_all(argument(2).parse().unwrap_or(20_000), &argument(3));
    }
    if is_given("--calls") {
        return calls::rows(&argument(2));
    }
    let only = if is_given("--rows") {
        argument(2)
    } else {
        String::new()
    };
    for (name, rows) in GROUPS {
        if name.contains(&only) {
            rows(&bench);
        }
    }
}

/// Rows that are measured together, with their name.
type Group = (&'static str, fn(&Bench));

const GROUPS: &[Group] = &[
    ("local edits", rows::local_edits),
    ("rewrites", rows::rewrites),
    ("indented anew", rows::indented_anew),
    ("pathological", rows::pathological),
    ("long lines", rows::long_lines),
    ("real pairs", rows::real_pairs),
    ("worst", worst::row),
    ("families", families::rows),
    ("calls", |bench| {
        if !bench.is_quick {
            calls::rows("");
        }
    }),
];
