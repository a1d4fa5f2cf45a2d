//! What is reviewed once the user has committed, or moved HEAD: situations in letters, and laws.

use std::collections::BTreeMap;

use agent_q_diff_engine::text::Text;
use agent_q_diff_reviewed::Step;
use agent_q_diff_reviewed::commits::reviewed_after;

use crate::dice::Dice;

/// Returns the text with one letter a line.
fn text(letters: &str) -> Text {
    Text::new(
        letters
            .chars()
            .map(|one| format!("{one}\n"))
            .collect::<String>()
            .into(),
    )
}

fn step(before: &[&str], now: &str) -> Step<Text> {
    Step {
        before: before.iter().map(|before| text(before)).collect(),
        now: text(now),
    }
}

/// Returns what [`reviewed_after`] makes of texts in letters.
fn after(working: &str, reviewed: &str, mine: &Step<Text>, others: &[Step<Text>]) -> String {
    after_as(true, working, reviewed, mine, others)
}

/// Like [`after`]; `is_chosen` is whether the user has committed it.
fn after_as(
    is_chosen: bool,
    working: &str,
    reviewed: &str,
    mine: &Step<Text>,
    others: &[Step<Text>],
) -> String {
    let (working, reviewed) = (text(working), text(reviewed));
    let bytes = reviewed_after(&working, &reviewed, (mine, is_chosen), others);
    String::from_utf8(bytes).expect("text").replace('\n', "")
}

#[test]
fn a_pending_change_is_reviewed_if_head_has_it_and_had_it_not() {
    let situations = [
        (
            "a part of what was kept is committed",
            "ab",
            "ab",
            "",
            "a",
            "ab",
        ),
        (
            "commit -a with a new, pending line",
            "ab",
            "acb",
            "",
            "acb",
            "acb",
        ),
        ("add -p of a, commit", "", "acb", "", "a", "a"),
        (
            "a pull adds q, an agent's z is pending",
            "p",
            "pzq",
            "p",
            "pq",
            "pq",
        ),
        (
            "a rebase over an agent's commit of z",
            "p",
            "pqz",
            "pz",
            "pqz",
            "pq",
        ),
        ("reset --soft", "ab", "ab", "ab", "a", "ab"),
        ("a pull removes d", "pd", "p", "pd", "p", "p"),
        (
            "an agent removed a, a pull adds q",
            "ab",
            "bq",
            "ab",
            "abq",
            "abq",
        ),
        (
            "the user commits what an agent removed",
            "ab",
            "b",
            "ab",
            "b",
            "b",
        ),
        // Of lines that were replaced, the old ones were never committed.
        (
            "commit -a of a line that was replaced",
            "ab",
            "aB",
            "a",
            "aB",
            "aB",
        ),
        ("a pull changes another line", "ab", "aB", "ab", "Ab", "ab"),
        (
            "a part of what replaces a line is committed",
            "ab",
            "axy",
            "ab",
            "ax",
            "ax",
        ),
        (
            "one of two lines that were replaced is committed",
            "abc",
            "aBC",
            "abc",
            "aBc",
            "aBc",
        ),
        (
            "the other one is, after an agent's commit of the first",
            "abc",
            "aBC",
            "aBc",
            "aBC",
            "abC",
        ),
        (
            "a rebase beside a line that an agent replaced",
            "px",
            "pyq",
            "py",
            "pyq",
            "pxq",
        ),
        (
            "a pull changes a line that an agent replaced",
            "ax",
            "ay",
            "ax",
            "az",
            "ax",
        ),
    ];
    for (situation, reviewed, working, before, now, expected) in situations {
        let found = after(working, reviewed, &step(&[before], now), &[]);
        assert_eq!(found, expected, "{situation}");
    }
}

#[test]
fn a_line_that_git_never_had_goes_only_by_a_commit_of_the_users() {
    // An agent has wiped out m, which was kept; then r comes to its place.
    let mine = step(&["ab"], "arb");
    assert_eq!(after_as(true, "arb", "amb", &mine, &[]), "arb");
    assert_eq!(after_as(false, "arb", "amb", &mine, &[]), "amrb");
}

#[test]
fn what_somebody_else_committed_stays_pending_though_the_user_merged_it() {
    let mine = step(&["p"], "pqz");
    assert_eq!(after("pqz", "p", &mine, &[]), "pqz");
    assert_eq!(after("pqz", "p", &mine, &[step(&["p"], "pz")]), "pq");
    // A merge of theirs brings only what none of its parents has.
    let merge = step(&["pq", "pz"], "pqzm");
    let mine = step(&["p"], "pqzm");
    assert_eq!(after("pqzm", "p", &mine, &[merge]), "pqz");
    // Nor is what they removed gone.
    assert_eq!(
        after("p", "pd", &step(&["pd"], "p"), &[step(&["pd"], "p")]),
        "pd"
    );
    assert_eq!(
        after("pB", "pb", &step(&["pb"], "pB"), &[step(&["pb"], "pB")]),
        "pb"
    );
}

/// Returns `lines` with some changed. New letters are unique if there is a number of them.
fn edited(dice: &mut Dice, lines: &str, unique: Option<&mut u32>) -> String {
    let mut lines: Vec<char> = lines.chars().collect();
    let mut next = unique;
    for _ in 0..dice.roll(4) {
        let at = dice.roll(lines.len() + 1);
        let new = match &mut next {
            Some(n) => {
                **n += 1;
                char::from_u32(0x4e00 + **n).expect("a letter")
            }
            None => ['a', 'b', '}'][dice.roll(3)],
        };
        match dice.roll(3) {
            0 => lines.insert(at, new),
            1 if at < lines.len() => lines[at] = new,
            _ if at < lines.len() => drop(lines.remove(at)),
            _ => {}
        }
    }
    lines.into_iter().collect()
}

fn counts(lines: &str) -> BTreeMap<char, usize> {
    let mut counts = BTreeMap::new();
    lines
        .chars()
        .for_each(|one| *counts.entry(one).or_default() += 1);
    counts
}

/// Returns how many lines must be added and removed to make `new` of `old`, in letters.
fn n_pending(old: &str, new: &str) -> usize {
    let edits = agent_q_diff_engine::diff::edits(&text(old), &text(new));
    edits
        .iter()
        .map(|edit| edit.before.len() + edit.after.len())
        .sum()
}

fn n_cases() -> u64 {
    let given = std::env::var("AGENT_Q_DIFF_CASES").ok();
    given.map_or(20_000, |given| given.parse().expect("a number"))
}

#[test]
fn whatever_is_committed_the_laws_hold() {
    for seed in 0..n_cases() {
        let mut dice = Dice::new(seed);
        let mut n = 0;
        let is_unique = dice.roll(2) == 0;
        let mut edit =
            |dice: &mut Dice, lines: &str| edited(dice, lines, is_unique.then_some(&mut n));
        let before = edit(&mut dice, "{x}{y}");
        let reviewed = edit(&mut dice, &before);
        let working = edit(&mut dice, &reviewed);
        let random = edit(&mut dice, &before);
        let words = format!("{reviewed} · {working} · {before}, seed {seed}");
        for now in [&before, &random, &working, &reviewed] {
            let found = after(&working, &reviewed, &step(&[&before], now), &[]);
            let words = format!("{words} · {now} -> {found}");
            assert!(
                n_pending(&found, &working) <= n_pending(&reviewed, &working),
                "more is pending: {words}"
            );
            let [in_found, in_reviewed, in_working] =
                [&found, &reviewed, &working].map(|lines| counts(lines));
            let count = |counts: &BTreeMap<char, usize>, one| counts.get(one).copied().unwrap_or(0);
            for (one, n) in &in_found {
                let most = count(&in_reviewed, one).max(count(&in_working, one));
                assert!(*n <= most, "{one} is there too often: {words}");
            }
            for (one, n) in &in_reviewed {
                let least = (*n).min(count(&in_working, one));
                assert!(
                    count(&in_found, one) >= least,
                    "{one}, kept, is pending: {words}"
                );
            }
            if now == &before {
                assert_eq!(found, reviewed, "HEAD did not touch it: {words}");
            }
            if reviewed == working {
                assert_eq!(found, working, "nothing was pending: {words}");
            }
            if is_unique && now == &working && reviewed == before {
                assert_eq!(found, working, "all was committed: {words}");
            }
        }
    }
}

#[test]
fn a_huge_change_takes_no_more_than_its_comparisons() {
    // All of a new file, and one in which each second line was replaced. It would take hours if each line
    // were looked for among the others.
    let lines = |word: &str| -> Text {
        let lines =
            (0..200_000).map(|n| format!("{} {n}\n", if n % 2 == 0 { word } else { "same" }));
        Text::new(lines.collect::<String>().into())
    };
    let [empty, one, other] = [text(""), lines("one"), lines("other")];
    let committed = Step {
        before: vec![empty.clone()],
        now: one.clone(),
    };
    assert!(reviewed_after(&one, &empty, (&committed, true), &[]) == one.bytes());
    let committed = Step {
        before: vec![one.clone()],
        now: other.clone(),
    };
    assert!(reviewed_after(&other, &one, (&committed, true), &[]) == other.bytes());
    assert!(reviewed_after(&other, &empty, (&committed, true), &[]).len() < other.bytes().len());
}
