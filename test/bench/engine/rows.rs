//! The rows of the table.

use std::path::Path;
use std::process::Command;

use imara_diff::Algorithm::{Histogram, Myers};

use crate::harness::{Bench, LONG, count_row, time_row};
use crate::peers::{
    Files, GIT_HISTOGRAM, GIT_MYERS, GNU_DIFF, imara, imara_count, imara_split, our_count, ours,
    ours_split, similar,
};
use crate::texts::{
    Pair, edited, every_other, few_distinct, functions, indented, one_in, source, with_moved_block,
};

/// The target for local edits in the biggest texts: clearly ahead of imara's histogram, which compares
/// what is left of them when equal lines are taken away.
const LOCAL: f64 = 0.75;

/// The target for rewrites, which are cut into pieces for imara and tried with Myers' algorithm, too.
const REWRITE: f64 = 2.5;

/// Source-like texts with local edits.
pub fn local_edits(bench: &Bench) {
    let sizes = [
        (1_000, 1),
        (1_000, 10),
        (10_000, 1),
        (10_000, 100),
        (10_000, 1_000),
        (100_000, 1),
        (100_000, 1_000),
        (100_000, 5_000),
        (100_000, 10_000),
    ];
    for (n_lines, n_hunks) in sizes {
        let is_target = n_lines == 100_000 && n_hunks < 10_000;
        if bench.is_quick && !is_target {
            continue;
        }
        let lines = source(n_lines, 1);
        let pair = Pair::new(&lines, &edited(&lines, n_hunks, 2));
        let name = format!("edits: {n_lines} lines, {n_hunks} hunks");
        local_edits_of(bench, &name, &pair, is_target.then_some(LOCAL));
    }
}

fn local_edits_of(bench: &Bench, name: &str, pair: &Pair, target: Option<f64>) {
    let [our_time, histogram, myers, similar_time] = bench.medians([
        &mut || ours(pair),
        &mut || imara(Histogram, pair),
        &mut || imara(Myers, pair),
        &mut || similar(pair),
    ]);
    time_row(
        &format!("{name}, from bytes : imara histogram"),
        our_time,
        histogram,
        target,
    );
    time_row(
        &format!("{name}, from bytes : imara Myers"),
        our_time,
        myers,
        None,
    );
    time_row(
        &format!("{name}, from bytes : similar"),
        our_time,
        similar_time,
        None,
    );
    let [our_time, histogram] = bench.medians([&mut || ours_split(pair), &mut || {
        imara_split(Histogram, pair)
    }]);
    time_row(
        &format!("{name}, from lines : imara histogram"),
        our_time,
        histogram,
        target,
    );
    let counts = (our_count(pair), imara_count(Histogram, pair));
    let name = format!("{name}, changed lines : imara histogram");
    count_row(&name, counts.0, counts.1, "lines", Some(1.01));
}

/// Texts of which much or everything is new.
pub fn rewrites(bench: &Bench) {
    let lines = source(100_000, 1);
    let rewritten = [
        ("all lines replaced", source(100_000, 7)),
        ("a third of the lines changed", edited(&lines, 25_000, 3)),
        ("2,000 places, 20 lines each", rewritten_in_places(&lines)),
    ];
    for (what, modified) in rewritten {
        let pair = Pair::new(&lines, &modified);
        let [our_time, histogram, myers] = bench.medians([
            &mut || ours(&pair),
            &mut || imara(Histogram, &pair),
            &mut || imara(Myers, &pair),
        ]);
        let name = format!("rewrite of 100000 lines, {what}");
        time_row(
            &format!("{name} : imara histogram"),
            our_time,
            histogram,
            Some(REWRITE),
        );
        time_row(&format!("{name} : imara Myers"), our_time, myers, None);
        let counts = (our_count(&pair), imara_count(Histogram, &pair));
        let name = format!("{name}, changed lines : imara histogram");
        count_row(&name, counts.0, counts.1, "lines", Some(1.01));
    }
}

/// A long text of which all lines are indented anew but the blank ones between its functions.
pub fn indented_anew(bench: &Bench) {
    let lines = functions(LONG);
    let pair = Pair::new(&lines, &indented(&lines));
    let [our_time, histogram] =
        bench.medians([&mut || ours(&pair), &mut || imara(Histogram, &pair)]);
    let name = "10 MB indented anew";
    time_row(
        &format!("{name} : imara histogram"),
        our_time,
        histogram,
        Some(0.05),
    );
    let n_indented = lines.iter().filter(|line| *line != "\n").count();
    count_row(
        &format!("{name}, changed lines : those indented"),
        our_count(&pair),
        2 * n_indented,
        "lines",
        Some(1.0),
    );
}

fn rewritten_in_places(lines: &[String]) -> Vec<String> {
    let other = source(lines.len(), 9);
    let line = |at: usize| match at % 50 {
        0..20 => other[at].clone(),
        _ => lines[at].clone(),
    };
    (0..lines.len()).map(line).collect()
}

/// Texts on which one algorithm or another takes too long.
pub fn pathological(bench: &Bench) {
    let lines = source(100_000, 1);
    let pair = Pair::new(&lines, &every_other(&lines));
    let [our_time, myers] = bench.medians([&mut || ours(&pair), &mut || imara(Myers, &pair)]);
    time_row(
        "every other line of 100000 : imara Myers",
        our_time,
        myers,
        Some(3.0),
    );
    if !bench.is_quick {
        slow_peers("every other line of 100000", &pair);
    }
    moved_block(bench, &lines);
    let n_lines = 50_000;
    let sides = [1, 2].map(|seed| few_distinct(n_lines, 10, seed));
    let name = format!("{n_lines} lines of 10 texts, at random");
    few_texts(bench, &name, &Pair::new(&sides[0], &sides[1]));
    let lines = few_distinct(n_lines, 10, 1);
    let name = format!("{n_lines} lines of 10 texts, one in 10 changed");
    few_texts(bench, &name, &Pair::new(&lines, &one_in(10, &lines, 2)));
}

/// A hundred lines of 100 kB each: what counts is how often each byte is read.
pub fn long_lines(bench: &Bench) {
    let text = |change: &dyn Fn(usize) -> usize| -> Vec<String> {
        (0..100)
            .map(|at| format!("{}{}\n", "long ".repeat(20_000), change(at)))
            .collect()
    };
    let original = text(&|at| at);
    let changed = [
        (
            "one in 3 changed",
            text(&|at| at + 1000 * usize::from(at % 3 == 0)),
        ),
        ("all changed", text(&|at| at + 1000)),
        ("backward", original.iter().rev().cloned().collect()),
        ("two halves swapped", text(&|at| (at + 50) % 100)),
    ];
    for (what, modified) in changed {
        let pair = Pair::new(&original, &modified);
        let [our_time, histogram] =
            bench.medians([&mut || ours(&pair), &mut || imara(Histogram, &pair)]);
        time_row(
            &format!("100 lines of 100 kB, {what} : imara histogram"),
            our_time,
            histogram,
            Some(1.5),
        );
    }
}

/// Rows beside programs. Each is measured once, since the first takes half a minute.
fn slow_peers(name: &str, pair: &Pair) {
    let files = Files::new(pair);
    for (peer, command) in [("git Myers", GIT_MYERS), ("GNU diff", GNU_DIFF)] {
        time_row(
            &format!("{name} : {peer}"),
            ours(pair),
            files.run(command),
            None,
        );
    }
}

fn moved_block(bench: &Bench, lines: &[String]) {
    let pair = Pair::new(lines, &with_moved_block(lines));
    let [our_time, histogram] =
        bench.medians([&mut || ours(&pair), &mut || imara(Histogram, &pair)]);
    let name = "a block moved in 100000 lines";
    time_row(
        &format!("{name} : imara histogram"),
        our_time,
        histogram,
        Some(1.5),
    );
    let counts = (our_count(&pair), imara_count(Histogram, &pair));
    let name = format!("{name}, changed lines : imara histogram");
    count_row(&name, counts.0, counts.1, "lines", Some(1.1));
}

fn few_texts(bench: &Bench, name: &str, pair: &Pair) {
    let files = Files::new(pair);
    let [our_time, git] = bench.medians([&mut || ours(pair), &mut || files.run(GIT_MYERS)]);
    time_row(
        &format!("{name} : git, without its start"),
        our_time,
        git,
        Some(1.5),
    );
    let name = format!("{name}, changed lines : git");
    count_row(
        &name,
        our_count(pair),
        files.git_count("--diff-algorithm=myers"),
        "lines",
        None,
    );
}

/// Files of this repository, each beside its version some commits before.
pub fn real_pairs(bench: &Bench) {
    let pairs = history(if bench.is_quick { 3 } else { 12 });
    let (mut ours_all, mut git_all, mut worst) = (0, 0, (1.0, 0, 0));
    for pair in &pairs {
        let (our_n, git_n) = (our_count(pair), Files::new(pair).git_count("--histogram"));
        (ours_all, git_all) = (ours_all + our_n, git_all + git_n);
        let ratio = our_n as f64 / git_n.max(1) as f64;
        if ratio > worst.0 {
            worst = (ratio, our_n, git_n);
        }
    }
    let name = format!("{} real pairs, changed lines", pairs.len());
    count_row(
        &format!("{name} : git histogram"),
        ours_all,
        git_all,
        "lines",
        Some(1.01),
    );
    count_row(
        &format!("{name}, the worst : git histogram"),
        worst.1,
        worst.2,
        "lines",
        None,
    );
    let sum = |time: &dyn Fn(&Pair) -> _| pairs.iter().map(time).sum();
    let [our_time, histogram, git] = bench.medians([
        &mut || sum(&ours),
        &mut || sum(&|pair| imara(Histogram, pair)),
        &mut || sum(&|pair| Files::new(pair).run(GIT_HISTOGRAM)),
    ]);
    let name = format!("{} real pairs, one after the other", pairs.len());
    time_row(
        &format!("{name} : imara histogram"),
        our_time,
        histogram,
        None,
    );
    time_row(
        &format!("{name} : git histogram, without its start"),
        our_time,
        git,
        None,
    );
}

/// Returns pairs of versions of some files of this repository, up to `n_each` of each file.
fn history(n_each: usize) -> Vec<Pair> {
    let files = [
        "src/module.rs",
        "src/weave.rs",
        "src/review.rs",
        "src/diff.rs",
        "lisp/agent-q-diff-mode.el",
        "lisp/agent-q-diff-target.el",
        "lisp/agent-q-diff-engine.el",
        "README.md",
    ];
    let mut pairs = Vec::new();
    for file in files {
        // Not the commit that moved the file away, which has no version of it.
        let log = ["log", "--format=%H", "--diff-filter=AM", "-n", "200"];
        let commits = git(&[&log[..], &["--", file]].concat());
        let commits = String::from_utf8_lossy(&commits).into_owned();
        let versions: Vec<_> = commits.lines().collect();
        for ages in versions.windows(4).step_by(4).take(n_each) {
            let [modified, original] =
                [ages[0], ages[3]].map(|commit| git(&["show", &format!("{commit}:{file}")]));
            pairs.push(Pair { original, modified });
        }
    }
    pairs
}

/// Returns the output of git, which is empty outside of a repository.
fn git(arguments: &[&str]) -> Vec<u8> {
    let mut git = Command::new("git");
    git.args(arguments)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    git.output().expect("git runs").stdout
}
