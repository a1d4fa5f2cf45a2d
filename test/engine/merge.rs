//! Three texts to one: properties of random triples, and agreement with git.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use agent_q_diff_engine::diff::Budget;
use agent_q_diff_engine::merge::{Merge, Region, merge, merge_within};

use crate::common::dice::Dice;
use crate::common::n_cases;
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
                assert_eq!(merged.clean().as_ref(), Some(changed));
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
        let Some(merged) = merge(original, ours, theirs).clean() else {
            continue;
        };
        n_clean += 1;
        // Without their terminators all lines are distinct.
        let [original, ours, theirs] = texts.each_ref().map(|text| lines(text));
        let merged = String::from_utf8(merged).unwrap();
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
fn choice(merged: &Merge, from: &str, to: &str) -> String {
    let text = String::from_utf8(merged.marked()).unwrap();
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
        assert_eq!(merged.n_conflicts() == 0, is_clean, "{texts:?}");
        assert_eq!(
            String::from_utf8_lossy(&merged.marked()),
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
        n_one += usize::from((merged.n_conflicts() == 0) != is_clean);
        if merged.n_conflicts() == 0 && is_clean {
            n_both += 1;
            assert_eq!(
                String::from_utf8_lossy(&merged.marked()),
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

/// Returns `merge` with its sides swapped.
fn mirrored(merge: &Merge) -> Merge {
    let regions = merge.regions.iter().map(|region| match region.clone() {
        Region::Resolved(lines) => Region::Resolved(lines),
        Region::Conflict { base, ours, theirs } => Region::Conflict {
            base,
            ours: theirs,
            theirs: ours,
        },
    });
    Merge {
        regions: regions.collect(),
        is_coarse: merge.is_coarse,
    }
}

/// Checks what holds for any three texts.
fn check_laws(base: &[u8], ours: &[u8], theirs: &[u8]) {
    let merged = merge(base, ours, theirs);
    assert_eq!(merge(base, theirs, ours), mirrored(&merged));
    for (one, other, expected) in [
        (base, ours, ours),
        (ours, base, ours),
        (ours, ours, ours),
        (base, base, base),
    ] {
        assert_eq!(merge(base, one, other).clean().as_deref(), Some(expected));
    }
    let mut was_resolved = false;
    for region in &merged.regions {
        match region {
            Region::Resolved(lines) => assert!(!lines.is_empty() && !was_resolved),
            Region::Conflict { base, ours, theirs } => {
                assert!(base != ours && base != theirs && ours != theirs);
            }
        }
        was_resolved = matches!(region, Region::Resolved(_));
    }
}

#[test]
fn of_any_three_texts_the_laws_hold() {
    let mut dice = Dice::new(5);
    for _ in 0..n_cases(100_000) {
        let n_lines = dice.roll(8);
        let texts = if dice.roll(2) == 0 {
            triple(n_lines, &mut dice, distinct)
        } else {
            triple(n_lines, &mut dice, repeated)
        };
        let [base, ours, theirs] = texts.each_ref().map(|text| text.as_bytes());
        check_laws(base, ours, theirs);
    }
}

/// Returns what `git` prints in this repository if it gets `input`.
fn git(arguments: &[&str], input: &str) -> Vec<u8> {
    let mut child = Command::new("git")
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut to_git = child.stdin.take().unwrap();
    let input = input.to_owned();
    // git may print before it has read all.
    let writer = std::thread::spawn(move || to_git.write_all(input.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success(), "git {arguments:?}");
    output.stdout
}

/// Returns up to `n` triples of successive versions of files, from all of this repository's history:
/// of each version, and of every second one, from which more has changed.
fn successive_versions(n: usize) -> Vec<[String; 3]> {
    let log = [
        "log",
        "--first-parent",
        "--reverse",
        "--no-renames",
        "--raw",
    ];
    let format = ["--format=", "--no-abbrev", "--diff-filter=AM", "-m"];
    let log = String::from_utf8(git(&[&log[..], &format].concat(), "")).unwrap();
    let mut versions: HashMap<&str, Vec<&str>> = HashMap::new();
    let mut triples: Vec<[&str; 3]> = Vec::new();
    for line in log.lines() {
        let (about, path) = line.split_once('\t').unwrap();
        let fields: Vec<&str> = about.split(' ').collect();
        let of_path = versions.entry(path).or_default();
        of_path.push(fields[3]);
        if fields[1] != "100644" || path.ends_with(".png") {
            continue;
        }
        if let [.., a, b, c] = of_path[..] {
            triples.push([a, b, c]);
        }
        if let [.., a, _, b, _, c] = of_path[..] {
            triples.push([a, b, c]);
        }
    }
    let n = n.min(triples.len());
    let triples: Vec<[&str; 3]> = (0..n).map(|at| triples[at * triples.len() / n]).collect();
    let objects = triples.as_flattened().join("\n");
    let mut bytes = &git(&["cat-file", "--batch"], &objects)[..];
    let mut texts = Vec::new();
    while !bytes.is_empty() {
        let end = bytes.iter().position(|&byte| byte == b'\n').unwrap();
        let header = std::str::from_utf8(&bytes[..end]).unwrap();
        let size: usize = header.rsplit(' ').next().unwrap().parse().unwrap();
        texts.push(String::from_utf8(bytes[end + 1..end + 1 + size].to_vec()).ok());
        bytes = &bytes[end + 2 + size..];
    }
    let triple = |texts: &[Option<String>]| {
        let texts: Vec<String> = texts.iter().flatten().cloned().collect();
        texts.try_into().ok()
    };
    texts.chunks_exact(3).filter_map(triple).collect()
}

/// The base is the version in the middle, of which one side has gone back, and the other on.
#[test]
fn versions_of_this_repository_s_files_are_merged_as_by_git() {
    let folder = tempfile::tempdir().unwrap();
    let triples = successive_versions(n_cases(100) as usize);
    let (mut n_git, mut n_other) = (0, 0);
    for [before, base, after] in &triples {
        let texts = [base, before, after].map(Clone::clone);
        let (is_clean, expected) = git_merge(folder.path(), &texts);
        let [base, ours, theirs] = texts.each_ref().map(|text| text.as_bytes());
        check_laws(base, ours, theirs);
        if is_clean {
            n_git += 1;
            let merged = merge(base, ours, theirs).clean();
            n_other += usize::from(merged.as_deref() != Some(expected.as_bytes()));
        }
    }
    // As of lines that recur; of 2,000 triples, git merges two in another way.
    assert!(n_other * 200 <= n_git.max(200), "{n_other} of {n_git}");
}
