//! Our comparison and those of the peers, each on the same bytes.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use agent_q_diff_engine::diff::{self, Comparison, Edit};
use agent_q_diff_engine::text::Text;
use imara_diff::{Algorithm, Diff, InternedInput};
use tempfile::TempDir;

use crate::harness::timed;
use crate::texts::Pair;

/// Our time from the bytes of both texts to edits. Our texts own their bytes, so these are copied
/// before, and outlive the measurement, as the bytes that the peers borrow do.
pub fn ours(pair: &Pair) -> Duration {
    timed(
        || (pair.original.clone(), pair.modified.clone()),
        |(original, modified)| {
            let (original, modified) = (Text::new(original), Text::new(modified));
            (compared(&original, &modified), original, modified)
        },
    )
}

/// The same without splitting the texts into lines.
pub fn ours_split(pair: &Pair) -> Duration {
    timed(
        || texts(pair),
        |(original, modified)| (compared(&original, &modified), original, modified),
    )
}

pub fn texts(pair: &Pair) -> (Text, Text) {
    (
        Text::new(pair.original.clone()),
        Text::new(pair.modified.clone()),
    )
}

pub fn compared(original: &Text, modified: &Text) -> Comparison {
    diff::edits_within(original, modified, diff::Budget::default())
}

/// Returns the number of lines that we take away and add.
pub fn our_count(pair: &Pair) -> usize {
    let (original, modified) = texts(pair);
    n_changed(&compared(&original, &modified).edits)
}

/// Returns the number of lines that `edits` take away and add.
pub fn n_changed(edits: &[Edit]) -> usize {
    let edits = edits.iter();
    edits.map(|edit| edit.before.len() + edit.after.len()).sum()
}

/// imara-diff at its best: with its own splitting, which reserves memory for its tokens, and with
/// sliding, since ours slides too.
pub fn imara(algorithm: Algorithm, pair: &Pair) -> Duration {
    timed(|| (), |()| imara_diff(algorithm, &imara_input(pair)))
}

/// The same without splitting the texts into lines.
pub fn imara_split(algorithm: Algorithm, pair: &Pair) -> Duration {
    let lines = |text| imara_diff::sources::byte_lines(text).collect::<Vec<&[u8]>>();
    timed(
        || (lines(&pair.original), lines(&pair.modified)),
        |(original, modified)| {
            let mut input = InternedInput::<&[u8]>::default();
            // imara-diff takes no more than this.
            input.reserve(original.len() as u32, modified.len() as u32);
            input.update_before(original.into_iter());
            input.update_after(modified.into_iter());
            imara_diff(algorithm, &input)
        },
    )
}

pub fn imara_count(algorithm: Algorithm, pair: &Pair) -> usize {
    let diff = imara_diff(algorithm, &imara_input(pair)).0;
    (diff.count_additions() + diff.count_removals()) as usize
}

fn imara_input(pair: &Pair) -> InternedInput<&[u8]> {
    InternedInput::new(&pair.original[..], &pair.modified[..])
}

fn imara_diff(algorithm: Algorithm, input: &InternedInput<&[u8]>) -> (Diff, usize) {
    let mut diff = Diff::compute(algorithm, input);
    diff.postprocess_lines(input);
    let n_hunks = diff.hunks().count();
    (diff, n_hunks)
}

/// The Myers search of similar, with its own splitting, and without sliding, which it lacks.
pub fn similar(pair: &Pair) -> Duration {
    timed(
        || (),
        |()| {
            let lines = |text| {
                std::str::from_utf8(text)
                    .expect("UTF-8")
                    .split_inclusive('\n')
            };
            let original: Vec<&str> = lines(&pair.original).collect();
            let modified: Vec<&str> = lines(&pair.modified).collect();
            similar::capture_diff_slices(similar::Algorithm::Myers, &original, &modified)
        },
    )
}

/// The two texts as files, for other programs.
pub struct Files(TempDir);

impl Files {
    pub fn new(pair: &Pair) -> Files {
        let folder = tempfile::tempdir().expect("a folder for the peers");
        let write = |name, text: &[u8]| {
            std::fs::write(folder.path().join(name), text).expect("a file");
        };
        write("a", &pair.original);
        write("b", &pair.modified);
        write("empty", b"");
        Files(folder)
    }

    /// Returns how long `command` takes on both files, less the time to start and end.
    pub fn run(&self, command: &[&str]) -> Duration {
        let whole = self.time(command, ["a", "b"]);
        // Two names of one empty file take just the time to start and end.
        whole.saturating_sub(self.time(command, ["empty", "./empty"]))
    }

    fn time(&self, command: &[&str], files: [&str; 2]) -> Duration {
        let start = Instant::now();
        let mut process = Command::new(command[0]);
        process
            .args(&command[1..])
            .args(files)
            .current_dir(self.0.path());
        process
            .stdout(Stdio::null())
            .status()
            .expect("the peer runs");
        start.elapsed()
    }

    /// Returns the number of lines that git takes away and adds.
    pub fn git_count(&self, algorithm: &str) -> usize {
        let mut git = Command::new("git");
        git.args(["diff", "--no-index", "--numstat", algorithm, "a", "b"]);
        let output = git.current_dir(self.0.path()).output().expect("git runs");
        let output = String::from_utf8_lossy(&output.stdout).into_owned();
        let counts = output.split_whitespace().take(2);
        counts.filter_map(|count| count.parse::<usize>().ok()).sum()
    }
}

pub const GIT_HISTOGRAM: &[&str] = &["git", "diff", "--no-index", "--numstat", "--histogram"];
pub const GIT_MYERS: &[&str] = &["git", "diff", "--no-index", "--numstat"];
pub const GNU_DIFF: &[&str] = &["diff"];
