//! Agreement with GNU patch, git and diffy, and every case where they and we part.

#[path = "pairs.rs"]
mod pairs;

use std::fs;
use std::path::Path;
use std::process::Command;

use agent_q_diff::print::print;
use pairs::{Pair, compare, for_each_pair};

/// A tool that applies a diff to the file `f` in a folder.
struct Tool {
    command: &'static [&'static str],
    /// What stands in place of our two file header lines, which name an absolute path.
    file_header: &'static str,
}

const PATCH: Tool = Tool {
    command: &["patch", "--force", "--input=diff", "f"],
    file_header: "--- /f\n+++ /f\n",
};

/// git refuses absolute paths. Without its own first line it takes a side without lines for
/// `/dev/null`, and a file that it believes to be new must not exist.
const GIT: Tool = Tool {
    command: &["git", "apply", "--verbose", "--whitespace=nowarn", "diff"],
    file_header: "diff --git a/f b/f\n--- a/f\n+++ b/f\n",
};

/// Pairs for which a tool does not do what our diff says.
const DIVERGING: &[(&str, &str, &str)] = &[];

fn check_applies(tool: &Tool, pair: &Pair) {
    let printed = print(b"/f", &compare(&pair.original, &pair.modified).hunks(3)).bytes;
    let Some(hunks) = printed.strip_prefix(b"--- /f\n+++ /f\n") else {
        return assert_eq!(pair.original, pair.modified);
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f");
    fs::write(&file, &pair.original).unwrap();
    let diff = [tool.file_header.as_bytes(), hunks].concat();
    fs::write(folder.path().join("diff"), diff).unwrap();
    let said = run(tool.command, folder.path());
    assert!(!said.contains("offset") && !said.contains("fuzz"), "{said}");
    assert_eq!(fs::read(&file).unwrap(), pair.modified, "{said}");
}

/// Runs `command` in `folder` away from the settings of user and machine, and returns what it says.
fn run(command: &[&str], folder: &Path) -> String {
    let output = Command::new(command[0])
        .args(&command[1..])
        .current_dir(folder)
        .env("LC_ALL", "C")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CEILING_DIRECTORIES", folder.parent().unwrap())
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}", command[0]));
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(output.status.success(), "{said}");
    said
}

#[test]
fn gnu_patch_applies_what_we_print() {
    for_each_pair(400, |pair| check_applies(&PATCH, pair));
}

#[test]
fn git_applies_what_we_print() {
    for_each_pair(400, |pair| check_applies(&GIT, pair));
}
