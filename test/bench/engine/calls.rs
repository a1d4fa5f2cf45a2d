//! Each call into the engine that takes a text, with 10 MB that are hard for it. None may take
//! longer than half a second, since no key interrupts one.

use std::time::Duration;

use agent_q_diff_engine::diff::HeadingRule;
use agent_q_diff_engine::merge::merge;
use agent_q_diff_engine::patch::parse::parse;
use agent_q_diff_engine::proposal::Proposal;
use agent_q_diff_engine::review::{Command, Mark, Review};
use agent_q_diff_engine::show::confusables::suspects;
use agent_q_diff_engine::show::words::changed_words;
use agent_q_diff_engine::tool::diff_lines::typed_lines;
use agent_q_diff_engine::tool::replacement::{self, Scope};

use crate::all::FAMILIES;
use crate::dice::Dice;
use crate::harness::{LONG as LEN, limit_row, median_of_three, timed};

/// Prints a row for each call with `only` in its name.
pub fn rows(only: &str) {
    for &(name, call) in CALLS {
        if name.contains(only) {
            limit_row(&format!("10 MB, {name}"), median_of_three(call));
        }
    }
}

/// A call, and how long it takes.
type Call = (&'static str, fn() -> Duration);

const CALLS: &[Call] = &[
    ("a merge of a hunk, all of it others'", || {
        timed(few_words, |[a, b, c]| merge(&a, &b, &c))
    }),
    ("a merge of a hunk, two texts at random", || {
        timed(random_texts, |[a, b, c]| merge(&a, &b, &c))
    }),
    ("changed words of one change", || {
        timed(|| review_of(few_words()), |review| words(&review))
    }),
    ("changed words of many changes", || {
        timed(|| review_of(many_words()), |review| words(&review))
    }),
    ("changed words of long lines", || {
        timed(|| review_of(long_lines()), |review| words(&review))
    }),
    ("hunks that change white space only", || {
        timed(
            || review_of(many_words()),
            |review| review.proposal().white_space_hunks().len(),
        )
    }),
    ("a split into the smallest parts", || {
        timed(
            || review_of(every_second()),
            |mut review| review.split(0).map(|_| review),
        )
    }),
    ("a pick of one line", || {
        timed(
            || review_of(every_second()),
            |mut review| review.pick(0, 100_000..100_001).map(|_| review),
        )
    }),
    ("a pick of many lines", || {
        timed(
            || review_of(few_words()),
            |mut review| review.pick(0, 100..100_001).map(|_| review),
        )
    }),
    ("an edited hunk", || {
        timed(
            || (review_of(few_words()), random_text()),
            |(review, text)| review.plan_edit(0, &text).map(|_| review),
        )
    }),
    ("a merged hunk", || {
        timed(
            || (review_of(few_words()), random_text()),
            |(review, text)| review.plan_merge(0, &text).map(|_| review),
        )
    }),
    ("a target that somebody else rewrote", || {
        timed(|| (review_of(every_second()), random_text()), follow)
    }),
    ("a target of which somebody else changed one line", || {
        timed(
            || {
                let [original, modified] = every_second();
                let live = changed_by_others(&original, original.len());
                (review_of([original, modified]), live)
            },
            follow,
        )
    }),
    ("a target of which somebody else changed a third", || {
        timed(
            || {
                let [original, modified] = every_second();
                let live = changed_by_others(&original, 3);
                (review_of([original, modified]), live)
            },
            follow,
        )
    }),
    ("a target of few texts that somebody else changed", || {
        timed(
            || {
                let text = random_text();
                let [modified, live] = [7, 11].map(|one_in| changed_by_others(&text, one_in));
                (review_of([text, modified]), live)
            },
            follow,
        )
    }),
    ("the lines of a hunk in the target", || {
        timed(
            || review_of(every_second()),
            |review| review.live_lines(0).map(|_| review),
        )
    }),
    ("all hunks planned", || {
        timed(
            || review_of(apart()),
            |review| {
                let all = review.plan_each(Command::Accept, |_| true).0;
                (all.edits.len(), review)
            },
        )
    }),
    ("decisions joined", || {
        timed(
            || {
                let mut review = review_of(apart());
                for hunk in 0..review.proposal().n_hunks().min(2_000) {
                    let plan = review.plan(hunk, Command::Reject);
                    review.commit(&plan.expect("a plan"));
                }
                let is_pending = |hunk| review.mark(hunk) == Mark::Pending;
                let all = review.plan_each(Command::Accept, is_pending).0;
                review.commit(&all);
                review
            },
            |mut review| {
                review.join_decisions(3_000);
                review
            },
        )
    }),
    ("misleading characters", || {
        timed(
            || "\u{202e}\u{430}a\u{200b} ".repeat(LEN / 10),
            found_suspects,
        )
    }),
    ("misleading characters in one word", || {
        timed(|| "\u{430}a".repeat(LEN / 3), found_suspects)
    }),
    ("misleading characters, two scripts", || {
        timed(|| "\u{436}\u{3bf}a".repeat(LEN / 5), found_suspects)
    }),
    ("misleading characters, accents", || {
        timed(|| "a\u{301}".repeat(LEN / 3), found_suspects)
    }),
    ("misleading characters, one letter with accents", || {
        timed(
            || "a".to_owned() + &"\u{301}".repeat(LEN / 2),
            found_suspects,
        )
    }),
    ("a diff as typed lines", || {
        timed(every_second, |[a, b]| typed_lines(a, b, 3))
    }),
    ("a diff parsed", || {
        timed(|| diff(3), |diff| parse(&diff).map(|files| files.len()))
    }),
    ("a bare diff", || {
        timed(|| diff(2), |diff| Proposal::from_diff(&diff))
    }),
    ("a bare diff laid on equal lines", || {
        timed(|| (bare("a", 20_000), b"a\n".repeat(LEN / 2)), follow)
    }),
    ("a bare diff laid on nearly equal lines", || {
        timed(
            || {
                let text = [b"a\n".repeat(400), b"b\n".to_vec()].concat();
                (bare_run(500), text.repeat(LEN / 802))
            },
            follow,
        )
    }),
    (
        "a bare diff of many hunks laid on nearly equal lines",
        || {
            timed(
                || {
                    let text = [b"a\n".repeat(40), b"b\n".to_vec()].concat();
                    (bare("a", 20_000), text.repeat(LEN / 82))
                },
                follow,
            )
        },
    ),
    ("a replacement of all", || {
        replacing(b"a".repeat(LEN), b"a", Scope::All)
    }),
    ("a replacement, many matches of one", || {
        replacing(b"a".repeat(LEN), b"aaa", Scope::Unique)
    }),
    ("a replacement that is nowhere", || {
        let text = [b"a".repeat(1000), b"\n".to_vec()].concat();
        let old = [b"a".repeat(999), b"b\n".to_vec()].concat();
        replacing(text.repeat(8 * 1024), &old, Scope::Unique)
    }),
    ("a replacement that is nowhere, one long line", || {
        replacing(b"a b".repeat((8 << 20) / 3), b"a bb a", Scope::Unique)
    }),
    ("a replacement that is nearly everywhere", || {
        replacing(
            b"a\t".repeat(4 << 20),
            &b"a ".repeat(1 << 20),
            Scope::Unique,
        )
    }),
    ("a replacement that is nowhere, accents", || {
        let text = "\u{e9}\u{300}\u{301} ".repeat((8 << 20) / 8);
        let old = "e\u{301}\u{302}xyz";
        replacing(text.into_bytes(), old.as_bytes(), Scope::Unique)
    }),
    ("a replacement that is nowhere, short lines", || {
        let mut dice = Dice::new(1);
        let line = |_| format!("{}\n", dice.roll(1_000_000));
        let text: String = (0..1_000_000).map(line).collect();
        let old: String = (0..200)
            .map(|at| format!("some other line {at}\n"))
            .collect();
        replacing(text.into_bytes(), old.as_bytes(), Scope::Unique)
    }),
];

fn replacing(text: Vec<u8>, old: &[u8], scope: Scope) -> Duration {
    timed(|| text, |text| replacement::find(&text, old, b"new", scope))
}

fn review_of([original, modified]: [Vec<u8>; 2]) -> Review {
    Review::new(Proposal::from_texts(original, modified, 3).expect("a change"))
}

fn follow((mut review, live): (Review, Vec<u8>)) -> Option<Review> {
    review.follow(&live).then_some(review)
}

fn found_suspects(text: String) -> usize {
    suspects(text.as_bytes()).len()
}

fn words(review: &Review) -> usize {
    let hunks = review.proposal().hunks_in(0..1, HeadingRule::Default);
    hunks
        .iter()
        .map(|hunk| changed_words(hunk, |_| None).len())
        .sum()
}

/// Returns texts that have no line in common and few words.
fn few_words<const N: usize>() -> [Vec<u8>; N] {
    std::array::from_fn(|side| {
        let line = |at: usize| format!("let x{side} = f({});\n", at % 999);
        (0..LEN / 18).map(line).collect::<String>().into_bytes()
    })
}

fn random_text() -> Vec<u8> {
    let [text] = random_texts();
    text
}

/// Returns texts made of two different lines, in random order.
fn random_texts<const N: usize>() -> [Vec<u8>; N] {
    let family = FAMILIES
        .iter()
        .find(|family| family.name == "2 texts at random");
    std::array::from_fn(|seed| {
        let [text, _] = family.expect("the family").texts(LEN / 2, seed as u64);
        text
    })
}

/// Returns texts of one hunk with many changes of many words.
fn many_words() -> [Vec<u8>; 2] {
    [0, 1].map(|side| {
        let mut dice = Dice::new(side);
        let mut text = String::new();
        while text.len() < LEN {
            for _ in 0..1000 {
                text += ["a ", "b ", "c ", "a\n"][dice.roll(4)];
            }
            text += &format!("x{side}\nsame {}\n", text.len() / 3000);
        }
        text.into_bytes()
    })
}

fn long_lines() -> [Vec<u8>; 2] {
    [0, 1].map(|side| {
        let mut dice = Dice::new(side);
        let mut text: String = (0..LEN / 2).map(|_| ["a ", "b "][dice.roll(2)]).collect();
        text += &format!("{side}\n");
        text.into_bytes()
    })
}

/// Returns texts of one hunk with many changes.
fn every_second() -> [Vec<u8>; 2] {
    changed_where(|at| at % 2 == 1)
}

/// Returns texts of many hunks.
fn apart() -> [Vec<u8>; 2] {
    changed_where(|at| at % 10 == 0)
}

/// Returns texts that differ in the lines for whose number `is_changed` holds.
fn changed_where(is_changed: fn(usize) -> bool) -> [Vec<u8>; 2] {
    [0, 1].map(|side| {
        let line = |at: usize| match is_changed(at) {
            true => format!("{side} {at}\n"),
            false => format!("line {at}\n"),
        };
        (0..LEN / 12).map(line).collect::<String>().into_bytes()
    })
}

/// Returns `text` with one in `one_in` lines changed, beginning with the second.
fn changed_by_others(text: &[u8], one_in: usize) -> Vec<u8> {
    let lines = text.split_inclusive(|&byte| byte == b'\n').enumerate();
    let line = |(at, line): (usize, &[u8])| match at % one_in {
        1 => format!("theirs {at}\n").into_bytes(),
        _ => line.to_vec(),
    };
    lines.flat_map(line).collect()
}

/// Returns a diff of one file with many hunks.
fn diff(n_changed: usize) -> Vec<u8> {
    let hunk = |at: usize| {
        let lines = "-a\n+b\n".repeat(n_changed);
        format!(
            "@@ -{0},{1} +{0},{1} @@\n c\n{lines} d\n",
            10 * at + 1,
            n_changed + 2
        )
    };
    let hunks: String = (0..LEN / (20 + 6 * n_changed)).map(hunk).collect();
    format!("--- f\n+++ f\n{hunks}").into_bytes()
}

/// Returns a review of a diff with `n_hunks` hunks, each of which changes `line` among others.
fn bare(line: &str, n_hunks: usize) -> Review {
    let hunk = |at: usize| {
        let (at, context) = (10 * at + 1, format!(" {line}\n").repeat(3));
        format!("@@ -{at},7 +{at},7 @@\n{context}-{line}\n+new\n{context}")
    };
    let hunks: String = (0..n_hunks).map(hunk).collect();
    let diff = format!("--- f\n+++ f\n{hunks}");
    Review::new(Proposal::from_diff(diff.as_bytes()).expect("a diff"))
}

/// Returns a review of a diff with one hunk of `n` equal lines.
fn bare_run(n: usize) -> Review {
    let diff = format!(
        "--- f\n+++ f\n@@ -9,{n} +9,{n} @@\n{}-a\n+new\n",
        " a\n".repeat(n - 1)
    );
    Review::new(Proposal::from_diff(diff.as_bytes()).expect("a diff"))
}
