//! Other programs and libraries, which the engine is compared with.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Runs `command` in `folder`, without the settings of the user and of the machine.
pub fn output_of(command: &[&str], folder: &Path) -> Output {
    Command::new(command[0])
        .args(&command[1..])
        .current_dir(folder)
        .env("LC_ALL", "C")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CEILING_DIRECTORIES", folder.parent().unwrap())
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}", command[0]))
}

/// Runs `command` like [`output_of`] and returns whether it succeeded, and what it printed to
/// standard output and standard error.
pub fn run(command: &[&str], folder: &Path) -> (bool, String) {
    let output = output_of(command, folder);
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    (output.status.success(), said)
}

/// git and GNU diff, comparing the files `a` and `b`: unified diffs without context.
pub const DIFF_COMMANDS: [&[&str]; 2] = [
    &["git", "diff", "--no-index", "--histogram", "-U0", "a", "b"],
    &["diff", "-U0", "a", "b"],
];

/// Returns how many lines the unified diff `diff` removes and adds.
pub fn n_changed_in(diff: &[u8]) -> usize {
    let is_changed = |line: &&[u8]| {
        matches!(line.first(), Some(b'+' | b'-'))
            && !line.starts_with(b"+++ ")
            && !line.starts_with(b"--- ")
    };
    let lines = diff.split(|&byte| byte == b'\n');
    lines.filter(is_changed).count()
}

/// Writes the files `a` and `b` into `folder`.
pub fn write_a_and_b(folder: &Path, texts: [&[u8]; 2]) {
    for (name, text) in ["a", "b"].iter().zip(texts) {
        fs::write(folder.join(name), text).unwrap();
    }
}

/// A tool that applies the file `diff` to the file `f` in the same folder.
pub struct Patcher {
    pub command: &'static [&'static str],
    /// The two file header lines that it takes.
    pub file_header: &'static str,
}

pub const GNU_PATCH: Patcher = Patcher {
    command: &["patch", "--force", "--input=diff", "f"],
    file_header: "--- /f\n+++ /f\n",
};

/// git refuses absolute paths.
pub const GIT_APPLY: Patcher = Patcher {
    command: &["git", "apply", "--verbose", "--whitespace=nowarn", "diff"],
    file_header: "--- a/f\n+++ b/f\n",
};

/// What a [`Patcher`] did.
pub struct Applied {
    pub is_success: bool,
    pub said: String,
    /// The bytes of the file afterwards, which is gone if the patch deleted it.
    pub result: std::io::Result<Vec<u8>>,
}

impl Patcher {
    /// Applies `diff`, which our printer wrote for the path `/f`, to a file with the bytes `text`.
    pub fn apply(&self, diff: &[u8], text: &[u8]) -> Applied {
        let hunks = diff.strip_prefix(b"--- /f\n+++ /f\n");
        let hunks = hunks.expect("a diff of /f");
        self.apply_as_it_is(&[self.file_header.as_bytes(), hunks].concat(), text)
    }

    /// Applies `diff`, its file header included, to a file with the bytes `text`.
    pub fn apply_as_it_is(&self, diff: &[u8], text: &[u8]) -> Applied {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f");
        fs::write(&file, text).unwrap();
        fs::write(folder.path().join("diff"), diff).unwrap();
        let (is_success, said) = run(self.command, folder.path());
        Applied {
            is_success,
            said,
            result: fs::read(&file),
        }
    }
}

/// Checks that each divergence from another tool, named with its reason, has a test of its name
/// in the source file `suite`.
#[track_caller]
pub fn check_divergences(divergences: &[(&str, &str)], suite: &str) {
    for (name, why) in divergences {
        let test = format!("#[test]\nfn {name}()");
        assert!(suite.contains(&test), "{name}: {why}");
    }
}
