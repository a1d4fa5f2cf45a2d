//! Pairs of texts, made at random from a fixed seed, and the one way to compare them.
//!
//! Each test file includes this one, and few use all of it.
#![allow(dead_code)]

use agent_q_diff_engine::diff::{self, Edit, HeadingRule};
use agent_q_diff_engine::patch::hunk::Hunk;
use agent_q_diff_engine::text::Text;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// A text and what becomes of it.
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

/// Calls `check` with the same `n_cases` pairs each time, or with as many as the environment
/// variable `AGENT_Q_DIFF_CASES` says, and reports the smallest one that panics.
pub fn for_each_pair(n_cases: u32, check: impl Fn(&Pair)) {
    for_each(n_cases, pair(), check);
}

fn for_each(n_cases: u32, pairs: impl Strategy<Value = Pair>, check: impl Fn(&Pair)) {
    let from_env = std::env::var("AGENT_Q_DIFF_CASES");
    let config = Config {
        cases: from_env.map_or(n_cases, |n| {
            n.parse().expect("AGENT_Q_DIFF_CASES: a number")
        }),
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

/// Calls `check` with `n_cases` pairs of which the modified text has a copy of some lines more.
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

/// Lines that read as something else than a line of a text, with and without a sign before them.
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

/// A comparison, with everything that a test looks at.
pub struct Compared {
    pub original: Text,
    pub modified: Text,
    pub edits: Vec<Edit>,
}

pub fn compare(original: &[u8], modified: &[u8]) -> Compared {
    let (original, modified) = (Text::new(original.to_vec()), Text::new(modified.to_vec()));
    let edits = diff::edits(&original, &modified);
    Compared {
        original,
        modified,
        edits,
    }
}

impl Compared {
    pub fn hunks(&self, context_len: usize) -> Vec<Hunk<'_>> {
        let (original, modified) = (&self.original, &self.modified);
        let groups = diff::group(&self.edits, original.len(), context_len);
        let headings = diff::section_headings(original, &groups, HeadingRule::Default);
        let hunk = |(group, heading)| diff::hunk(group, &self.edits, original, modified, heading);
        groups.iter().zip(headings).map(hunk).collect()
    }
}

/// Returns `original` with `hunks` done to it, each exactly where it says; panics if one is not
/// there.
pub fn patched(original: &Text, hunks: &[Hunk<'_>]) -> Vec<u8> {
    let mut patched = Vec::new();
    let mut done = 0;
    for hunk in hunks {
        patched.extend_from_slice(original.lines_bytes(done..hunk.before.start));
        let before: Vec<_> = original.lines(hunk.before.clone()).collect();
        assert_eq!(hunk.pre_image().collect::<Vec<_>>(), before);
        assert_eq!(Text::new(patched.clone()).len(), hunk.after.start);
        patched.extend(hunk.post_image().flatten());
        done = hunk.before.end;
    }
    patched.extend_from_slice(original.lines_bytes(done..original.len()));
    patched
}
