//! The families of texts that are hard to compare: how many lines change, and how long it takes.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use agent_q_diff_engine::diff::{Budget, edits_within};
use agent_q_diff_engine::text::Text;
use tempfile::TempDir;

use crate::all::{FAMILIES, Family, cyclic};
use crate::harness::{Bench, LONG, count_row, limit_row, median_of_three};
use crate::peers;
use crate::tools::{DIFF_COMMANDS, n_changed_in, write_a_and_b};

/// How long git and GNU diff may take. An answer that comes later does not count.
const PATIENCE: Duration = Duration::from_secs(5);

/// Lines of each text that the peers compare, too.
const N_LINES: usize = 20_000;

/// What a comparison took, and what it gave.
struct Measured {
    time: Duration,
    n_changed: usize,
    is_coarse: bool,
}

fn measured(texts: [Vec<u8>; 2]) -> Measured {
    let start = Instant::now();
    let [original, modified] = texts.map(Text::new);
    let found = edits_within(&original, &modified, Budget::default());
    Measured {
        time: start.elapsed(),
        n_changed: peers::n_changed(&found.edits),
        is_coarse: found.is_coarse,
    }
}

/// Returns the number of changed lines of the better of git and GNU diff, if one finishes in time.
fn best_of_peers(texts: &[Vec<u8>; 2]) -> Option<usize> {
    let folder = tempfile::tempdir().expect("a folder for the peers");
    write_a_and_b(folder.path(), texts.each_ref().map(|text| &text[..]));
    let counts = DIFF_COMMANDS.iter();
    counts
        .filter_map(|command| n_changed(&folder, command))
        .min()
}

fn n_changed(folder: &TempDir, command: &[&str]) -> Option<usize> {
    let output = std::fs::File::create(folder.path().join("output")).expect("a file");
    let mut peer = Command::new(command[0])
        .args(&command[1..])
        .current_dir(folder.path())
        .stdout(output)
        .stderr(Stdio::null())
        .spawn()
        .expect("the peer runs");
    let start = Instant::now();
    while peer.try_wait().expect("its status").is_none() {
        if start.elapsed() > PATIENCE {
            peer.kill().expect("to end it");
            peer.wait().expect("its end");
            return None;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let output = std::fs::read(folder.path().join("output")).expect("its output");
    Some(n_changed_in(&output))
}

/// Returns texts of the family as long as [`LONG`].
fn long_texts(family: &Family) -> [Vec<u8>; 2] {
    let n_sample = 100_000;
    let [sample, _] = family.texts(n_sample, 1);
    family.texts(n_sample * (LONG / 1000) / (sample.len() / 1000), 1)
}

/// Prints what comes of each family with `only` in its name, beside the peers at `n_lines` lines
/// and alone at 10 MB.
pub fn print_all(n_lines: usize, only: &str) {
    for family in FAMILIES {
        if !family.name.contains(only) {
            continue;
        }
        let texts = family.texts(n_lines, 1);
        let best = best_of_peers(&texts);
        let ours = measured(texts);
        let ratio = best.map_or(f64::NAN, |best| ours.n_changed as f64 / best as f64);
        let long = measured(long_texts(family));
        let coarse = |is_coarse| if is_coarse { "coarse" } else { "" };
        println!(
            "{ratio:6.2} {:8} : {:8} {:4} ms {:6} | {:4} ms {:8} {:6} | {}",
            ours.n_changed,
            best.unwrap_or(0),
            ours.time.as_millis(),
            coarse(ours.is_coarse),
            long.time.as_millis(),
            long.n_changed,
            coarse(long.is_coarse),
            family.name
        );
    }
    if !only.is_empty() {
        return;
    }
    let (mut n_bad, mut worst) = (0, 0.0_f64);
    for seed in 0..150 {
        let texts = cyclic(seed);
        let best = best_of_peers(&texts).unwrap_or(0).max(1);
        let ours = measured(texts);
        let ratio = ours.n_changed as f64 / best as f64;
        n_bad += usize::from(ratio > 1.1);
        worst = worst.max(ratio);
        if ratio > 1.3 {
            println!(
                "cyclic {seed}: {} : {best} {}",
                ours.n_changed, ours.is_coarse
            );
        }
    }
    println!("cyclic: {n_bad} of 150 above 1.1, the worst {worst:.2}");
}

/// Prints the rows: of the answers that are not called coarse the one with the most changed lines
/// by the better of the peers, and the family that takes the longest at 10 MB.
pub fn rows(bench: &Bench) {
    let mut worst = (0.0, 0, 1, "");
    let families = FAMILIES.iter();
    let pairs = families.map(|family| (family.name, family.texts(N_LINES, 1)));
    for (name, texts) in pairs.chain((0..150).map(|seed| ("a cyclic text", cyclic(seed)))) {
        let Some(best) = best_of_peers(&texts) else {
            continue;
        };
        let ours = measured(texts);
        let ratio = ours.n_changed as f64 / best.max(1) as f64;
        if !ours.is_coarse && ratio > worst.0 {
            worst = (ratio, ours.n_changed, best, name);
        }
    }
    let name = format!(
        "worst of the families, {}, changed lines : better of git and GNU diff",
        worst.3
    );
    count_row(&name, worst.1, worst.2, "lines", Some(2.0));
    if bench.is_quick {
        return;
    }
    for family in FAMILIES {
        let time = median_of_three(|| measured(long_texts(family)).time);
        limit_row(&format!("10 MB of {}", family.name), time);
    }
}
