//! What `make bench` measures: the engine beside its peers, in one run.
//!
//! Each row is a ratio of medians; below 1 the engine is faster. Peer and engine take turns, so
//! that a noisy machine disturbs both.

use std::hint::black_box;
use std::process::Command;
use std::time::{Duration, Instant};

use agent_q_diff::diff::{self, HeadingRule};
use agent_q_diff::print;
use agent_q_diff::proposal::Proposal;
use agent_q_diff::review::{self, Review};
use agent_q_diff::text::Text;
use imara_diff::{Algorithm, Diff, InternedInput};

const ROUNDS: usize = 9;

fn main() {
    println!(
        "{:>7} {:>6}  {:<44} ratio",
        "lines", "hunks", "engine : peer"
    );
    for (n_lines, n_hunks) in [(1_000, 10), (10_000, 100), (100_000, 1_000), (100_000, 1)] {
        let pair = Pair::new(n_lines, n_hunks);
        pair.row(
            "edits : imara histogram",
            || drop(pair.edits()),
            || pair.imara(),
        );
        pair.row(
            "diff text : git diff --no-index",
            || drop(pair.print()),
            || pair.git(),
        );
        pair.row(
            "accept one hunk : diff both texts again",
            pair.accept_one(),
            || pair.imara(),
        );
        pair.row(
            "accept all hunks : diff both texts again",
            pair.accept_all(),
            || pair.imara(),
        );
    }
}

/// A source-like text and a proposal on it.
struct Pair {
    original: Vec<u8>,
    modified: Vec<u8>,
    n_lines: usize,
    n_hunks: usize,
    files: tempfile::TempDir,
}

impl Pair {
    fn new(n_lines: usize, n_hunks: usize) -> Pair {
        let step = n_lines / n_hunks;
        let line =
            |number: usize, word: &str| format!("    let value_{number} = {word}({number});\n");
        let text = |change: &str| -> String {
            let word = |number| {
                if number % step == step / 2 {
                    change
                } else {
                    "compute"
                }
            };
            (0..n_lines)
                .map(|number| line(number, word(number)))
                .collect()
        };
        let (original, modified) = (text("compute").into_bytes(), text("changed").into_bytes());
        let files = tempfile::tempdir().expect("a directory for the peers");
        std::fs::write(files.path().join("a"), &original).expect("a file");
        std::fs::write(files.path().join("b"), &modified).expect("a file");
        Pair {
            original,
            modified,
            n_lines,
            n_hunks,
            files,
        }
    }

    fn row(&self, name: &str, mut engine: impl FnMut(), mut peer: impl FnMut()) {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            ours.push(time(&mut engine));
            theirs.push(time(&mut peer));
        }
        let ratio = median(ours).as_secs_f64() / median(theirs).as_secs_f64();
        println!(
            "{:>7} {:>6}  {name:<44} {ratio:.4}",
            self.n_lines, self.n_hunks
        );
    }

    fn edits(&self) -> Vec<diff::Edit> {
        let (original, modified) = (self.original.clone(), self.modified.clone());
        diff::edits(&Text::new(original), &Text::new(modified))
    }

    fn imara(&self) {
        let mut input = InternedInput::<&[u8]>::default();
        input.update_before(self.original.split_inclusive(|&byte| byte == b'\n'));
        input.update_after(self.modified.split_inclusive(|&byte| byte == b'\n'));
        let mut diff = Diff::compute(Algorithm::Histogram, &input);
        diff.postprocess_lines(&input);
        black_box(diff.hunks().count());
    }

    fn proposal(&self) -> Proposal {
        Proposal::from_texts(self.original.clone(), self.modified.clone(), 3).expect("a change")
    }

    fn print(&self) -> Vec<u8> {
        print::print(b"/file", &self.proposal().hunks(HeadingRule::Default)).bytes
    }

    fn git(&self) {
        let mut command = Command::new("git");
        command.args(["diff", "--no-index", "--histogram", "a", "b"]);
        let output = command
            .current_dir(self.files.path())
            .output()
            .expect("git runs");
        black_box(output.stdout.len());
    }

    /// Accepts the hunk in the middle and takes it out again, so that each round does the same.
    fn accept_one(&self) -> impl FnMut() {
        let mut review = Review::new(self.proposal());
        let middle = self.n_hunks / 2;
        move || {
            for command in [review::Command::Accept, review::Command::Unapply] {
                let plan = review.plan(middle, command).expect("the hunk has a place");
                review.commit(&plan);
            }
        }
    }

    fn accept_all(&self) -> impl FnMut() {
        let review = Review::new(self.proposal());
        move || {
            black_box(review.plan_all());
        }
    }
}

fn time(work: &mut impl FnMut()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
