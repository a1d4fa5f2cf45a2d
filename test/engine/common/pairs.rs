//! Pairs of texts, made at random from a fixed seed.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// A text before and after a change.
#[derive(Clone)]
pub struct Pair {
    pub original: Vec<u8>,
    pub modified: Vec<u8>,
}

impl std::fmt::Debug for Pair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (original, modified) = (self.original.escape_ascii(), self.modified.escape_ascii());
        write!(f, "\"{original}\" to \"{modified}\"")
    }
}

/// Calls `check` with [`super::n_cases`] pairs, the same ones each time, and reports the smallest
/// one that panics.
pub fn for_each_pair(n_cases: u32, check: impl Fn(&Pair)) {
    for_each(n_cases, pair(), check);
}

fn for_each(n_cases: u32, pairs: impl Strategy<Value = Pair>, check: impl Fn(&Pair)) {
    let config = Config {
        cases: super::n_cases(n_cases),
        failure_persistence: None,
        ..Config::default()
    };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let run = |pair| {
        check(&pair);
        Ok(())
    };
    let result = TestRunner::new_with_rng(config, rng).run(&pairs, run);
    result.unwrap_or_else(|error| panic!("{error}"));
}

/// Like [`for_each_pair`], with pairs whose modified text is the original and a copy of some of its
/// lines.
pub fn for_each_insertion(n_cases: u32, check: impl Fn(&Pair)) {
    let line = one_of(&["fn x() {", "    if y {", "        z", "    }", "}", "", ""]);
    let copy = (any::<Index>(), 1..6_usize, any::<Index>());
    let inserted = (vec(line, 1..20), copy).prop_map(|(original, (from, len, to))| {
        let from = from.index(original.len());
        let copy = original[from..original.len().min(from + len)].to_vec();
        let at = to.index(original.len() + 1);
        let mut modified = original.clone();
        modified.splice(at..at, copy);
        joined(&original, &modified, (true, true))
    });
    for_each(n_cases, inserted, check);
}

fn pair() -> impl Strategy<Value = Pair> {
    let any_line = vec(any::<u8>(), 0..12).boxed();
    prop_oneof![
        edited(any_line.clone()),
        edited(one_of(&["a", "b", "c", ""])),
        edited(one_of(&["fn x() {", "    y();", "    z();", "}", ""])),
        edited(one_of(&["a\r", "b\r", "a", "\r", "\rb"])),
        edited(one_of(LOOK_ALIKES)),
        repetitive(),
        unrelated(any_line),
    ]
}

/// Lines that look like a part of a diff, with or without a sign before them.
const LOOK_ALIKES: &[&str] = &[
    "-- a",
    "--- a",
    "++ b",
    "+++ b",
    "@@ -1 +1 @@",
    "@@ -1,2 +1,2 @@ a",
    "- ",
    "-- ",
    "\\ No newline at end of file",
    " No newline at end of file",
    "diff --git a/f b/f",
    "*** a",
    "***************",
    "Index: f",
    "GIT binary patch",
    "1,2c3",
    "a",
    " ",
    "",
];

fn one_of(lines: &'static [&'static str]) -> BoxedStrategy<Vec<u8>> {
    select(lines).prop_map(|line| line.into()).boxed()
}

type Lines = Vec<Vec<u8>>;

/// A text of `line`s and the same after a few runs of lines were replaced.
fn edited(line: BoxedStrategy<Vec<u8>>) -> BoxedStrategy<Pair> {
    let text = vec(line.clone(), 0..60);
    changed(text.boxed(), line)
}

/// Forty times the same block, with a few lines replaced.
fn repetitive() -> BoxedStrategy<Pair> {
    let block = vec(one_of(&["{", "  x", "}", ""]), 1..6);
    let text = block.prop_map(|block| std::iter::repeat_n(block, 40).flatten().collect());
    changed(text.boxed(), one_of(&["{", "  x", "}", "", "new"]))
}

fn changed(text: BoxedStrategy<Lines>, line: BoxedStrategy<Vec<u8>>) -> BoxedStrategy<Pair> {
    let change = (any::<Index>(), 0..4_usize, vec(line, 0..4));
    (text, vec(change, 0..6), any::<(bool, bool)>())
        .prop_map(|(original, changes, is_terminated)| {
            let mut modified = original.clone();
            for (at, n_removed, added) in changes {
                let start = at.index(modified.len() + 1);
                let end = modified.len().min(start + n_removed);
                modified.splice(start..end, added);
            }
            joined(&original, &modified, is_terminated)
        })
        .boxed()
}

fn unrelated(line: BoxedStrategy<Vec<u8>>) -> BoxedStrategy<Pair> {
    (
        vec(line.clone(), 0..8),
        vec(line, 0..8),
        any::<(bool, bool)>(),
    )
        .prop_map(|(original, modified, is_terminated)| joined(&original, &modified, is_terminated))
        .boxed()
}

fn joined(original: &Lines, modified: &Lines, is_terminated: (bool, bool)) -> Pair {
    let text = |lines: &Lines, is_terminated| {
        let mut text = lines.join(&b'\n');
        if is_terminated && !lines.is_empty() {
            text.push(b'\n');
        }
        text
    };
    Pair {
        original: text(original, is_terminated.0),
        modified: text(modified, is_terminated.1),
    }
}
