//! Three texts to one: properties of random triples, and agreement with git.

use std::fs;
use std::path::Path;

use agent_q_diff_engine::diff::Budget;
use agent_q_diff_engine::merge::{Merged, merge, merge_within};

use crate::common::dice::Dice;
use crate::common::pairs::for_each_pair;
use crate::common::tools::output_of;

#[test]
fn merging_a_changed_side_with_the_original_gives_the_changed_side() {
    for_each_pair(10_000, |pair| {
        let (original, changed) = (&pair.original, &pair.modified);
        for budget in [Budget::default(), Budget(0), Budget(300)] {
            for merged in [
                merge_within(original, changed, original, budget),
                merge_within(original, original, changed, budget),
                merge_within(original, changed, changed, budget),
            ] {
                assert!(merged.is_clean);
                assert_eq!(&merged.bytes, changed);
            }
        }
    });
}

/// Returns a text of `n_lines` lines made by `line`, and two copies with up to three edits each.
/// One text in four lacks the newline at its end.
fn triple(
    n_lines: usize,
    dice: &mut Dice,
    line: impl Fn(usize, &mut Dice) -> String,
) -> [String; 3] {
    let original: Vec<String> = (0..n_lines).map(|at| line(at, dice)).collect();
    let mut changed = |side: usize| {
        let mut lines = original.clone();
        for at in 0..dice.roll(4) {
            let start = dice.roll(lines.len() + 1);
            let end = lines.len().min(start + dice.roll(3));
            let new = |n| line(1000 * (side + 1) + 10 * at + n, &mut Dice::new(n as u64));
            lines.splice(start..end, (0..dice.roll(3)).map(new));
        }
        lines
    };
    let [ours, theirs] = [changed(1), changed(2)];
    [original, ours, theirs].map(|lines| {
        let mut text = lines.concat();
        if dice.roll(4) == 0 {
            text.pop();
        }
        text
    })
}

fn distinct(at: usize, _: &mut Dice) -> String {
    format!("line {at}\n")
}

fn repeated(at: usize, dice: &mut Dice) -> String {
    match at {
        0..1000 => format!("{}\n", ["{", "  x", "}", ""][dice.roll(4)]),
        _ => format!("{}\n", ["{", "new", "}"][at % 3]),
    }
}

#[test]
fn a_clean_merge_has_what_both_sides_added_and_nothing_that_one_removed() {
    let (mut dice, mut n_clean) = (Dice::new(1), 0);
    for _ in 0..5000 {
        let texts = triple(20, &mut dice, distinct);
        let [original, ours, theirs] = texts.each_ref().map(|text| text.as_bytes());
        let merged = merge(original, ours, theirs);
        if !merged.is_clean {
            continue;
        }
        n_clean += 1;
        // Without their terminators all lines are distinct.
        let [original, ours, theirs] = texts.each_ref().map(|text| lines(text));
        let merged = String::from_utf8(merged.bytes).unwrap();
        let merged = lines(&merged);
        for line in ours
            .iter()
            .chain(&theirs)
            .filter(|line| !original.contains(line))
        {
            assert!(merged.contains(line), "{line}");
        }
        for line in original {
            let is_kept = ours.contains(&line) && theirs.contains(&line);
            assert_eq!(merged.contains(&line), is_kept, "{line}");
        }
    }
    assert!(n_clean > 1000, "{n_clean}");
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().collect()
}

/// A small budget gives more conflicts, and loses no line.
#[test]
fn whatever_the_budget_a_side_that_is_chosen_has_all_that_it_added() {
    let (mut dice, mut n_coarse) = (Dice::new(2), 0);
    for _ in 0..2000 {
        let texts = triple(12, &mut dice, distinct);
        let [original, ours, theirs] = texts.each_ref().map(|text| text.as_bytes());
        for budget in [0, 30, 300, 3000].map(Budget) {
            let merged = merge_within(original, ours, theirs, budget);
            n_coarse += usize::from(merged.is_coarse);
            let sides = [
                (&texts[1], "<<<<<<< ours\n", "||||||| original\n"),
                (&texts[2], "=======\n", ">>>>>>> theirs\n"),
            ];
            for (side, from, to) in sides {
                let chosen = choice(&merged, from, to);
                let (chosen, original) = (lines(&chosen), lines(&texts[0]));
                for line in lines(side) {
                    assert!(chosen.contains(&line) || original.contains(&line), "{line}");
                }
            }
        }
    }
    assert!(n_coarse > 1000, "{n_coarse}");
}

/// Returns `merged` with each conflict replaced by its part between the markers `from` and `to`.
fn choice(merged: &Merged, from: &str, to: &str) -> String {
    let text = String::from_utf8(merged.bytes.clone()).unwrap();
    let (mut chosen, mut is_inside, mut is_chosen) = (String::new(), false, false);
    for line in text.split_inclusive('\n') {
        match line {
            _ if line == from => (is_inside, is_chosen) = (true, true),
            ">>>>>>> theirs\n" => (is_inside, is_chosen) = (false, false),
            "<<<<<<< ours\n" => is_inside = true,
            _ if line == to => is_chosen = false,
            _ if !is_inside || is_chosen => chosen.push_str(line),
            _ => {}
        }
    }
    chosen
}

/// Returns whether git merges the texts without conflicts, and the text that it gives.
fn git_merge(folder: &Path, texts: &[String; 3]) -> (bool, String) {
    for (name, text) in ["original", "ours", "theirs"].iter().zip(texts) {
        fs::write(folder.join(name), text).unwrap();
    }
    let labels = ["-L", "ours", "-L", "original", "-L", "theirs"];
    let files = ["ours", "original", "theirs"];
    let command = ["git", "merge-file", "--diff3", "-p"];
    let output = output_of(&[&command[..], &labels, &files].concat(), folder);
    let code = output.status.code().unwrap();
    assert!((0..128).contains(&code), "git merge-file: {output:?}");
    (code == 0, String::from_utf8(output.stdout).unwrap())
}

#[test]
fn of_distinct_lines_git_merges_the_same_and_has_the_same_conflicts() {
    let folder = tempfile::tempdir().unwrap();
    let (mut dice, mut n_clean) = (Dice::new(3), 0);
    for _ in 0..400 {
        let texts = triple(15, &mut dice, distinct);
        let (is_clean, expected) = git_merge(folder.path(), &texts);
        let [original, ours, theirs] = texts.each_ref().map(|text| text.as_bytes());
        let merged = merge(original, ours, theirs);
        n_clean += usize::from(is_clean);
        assert_eq!(merged.is_clean, is_clean, "{texts:?}");
        assert_eq!(
            String::from_utf8_lossy(&merged.bytes),
            expected,
            "{texts:?}"
        );
    }
    assert!((100..350).contains(&n_clean), "{n_clean}");
}

#[test]
fn of_lines_that_recur_git_merges_the_same_where_both_see_no_conflict() {
    let folder = tempfile::tempdir().unwrap();
    let (mut dice, mut n_both, mut n_one) = (Dice::new(4), 0, 0);
    for _ in 0..400 {
        let texts = triple(15, &mut dice, repeated);
        let (is_clean, expected) = git_merge(folder.path(), &texts);
        let [original, ours, theirs] = texts.each_ref().map(|text| text.as_bytes());
        let merged = merge(original, ours, theirs);
        n_one += usize::from(merged.is_clean != is_clean);
        if merged.is_clean && is_clean {
            n_both += 1;
            assert_eq!(
                String::from_utf8_lossy(&merged.bytes),
                expected,
                "{texts:?}"
            );
        }
    }
    // A divergence: git compares with Myers' algorithm here, we with the histogram's. They can
    // differ in which of several equal lines changed, and so in which edits touch. One merge in
    // forty is clean for one of them only.
    assert!(n_both > 200 && n_one <= 20, "{n_both} {n_one}");
}
