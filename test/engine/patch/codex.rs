//! Patches as Codex writes them.
//!
//! The table says what Codex 0.169 makes of each. If `AGENT_Q_DIFF_CODEX` names its program, that
//! is asked as well, for the table and for patches at random.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs};

use agent_q_diff_engine::patch::codex::{Action, CodexError, parse, updated, with_paths};

use crate::common::dice::Dice;
use crate::common::n_cases;

/// From names to texts.
type Tree = BTreeMap<String, String>;

fn tree(files: &[(&str, &str)]) -> Tree {
    let files = files.iter();
    files
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .collect()
}

/// Returns what `patch` makes of `before`: all of it, or nothing; the error says why.
fn applied(before: &Tree, patch: &str) -> Result<Tree, String> {
    let mut after = before.clone();
    for file in parse(patch).map_err(|error| error.to_string())? {
        let missing = || format!("there is no {}", file.path);
        match file.action {
            Action::Add { text } => {
                after.insert(file.path.to_owned(), text);
            }
            Action::Delete => {
                after.remove(file.path).ok_or_else(missing)?;
            }
            Action::Update { new_path, chunks } => {
                let text = after.get(file.path).ok_or_else(missing)?;
                let text = updated(text.as_bytes(), &chunks).map_err(|error| error.to_string())?;
                after.remove(file.path);
                let path = new_path.unwrap_or(file.path);
                after.insert(path.to_owned(), String::from_utf8(text).unwrap());
            }
        }
    }
    Ok(after)
}

/// Returns what Codex makes of `before`, if its program is there; `Some(None)` if it refuses.
fn applied_by_codex(before: &Tree, patch: &str) -> Option<Option<Tree>> {
    static N_FOLDERS: AtomicUsize = AtomicUsize::new(0);
    let codex = PathBuf::from(env::var_os("AGENT_Q_DIFF_CODEX")?);
    let number = N_FOLDERS.fetch_add(1, Ordering::Relaxed);
    let folder = format!("agent-q-diff-codex-{}-{number}", std::process::id());
    let folder = env::temp_dir().join(folder);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    for (name, text) in before {
        fs::write(folder.join(name), text).unwrap();
    }
    let output = Command::new(codex)
        // Called by this name, it is the tool.
        .arg0("apply_patch")
        .arg(patch)
        .current_dir(&folder)
        .output()
        .unwrap();
    let mut after = Tree::new();
    for entry in fs::read_dir(&folder).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        after.insert(name, fs::read_to_string(entry.path()).unwrap());
    }
    fs::remove_dir_all(&folder).unwrap();
    Some(output.status.success().then_some(after))
}

const ABC: &str = "a\nb\nc\nd\ne\n";

/// Name, the file `f` before, the patch between its markers, and `f` after; `None` if the patch is
/// refused.
const OF_ONE_FILE: &[(&str, &str, &str, Option<&str>)] = &[
    ("one line", ABC, "@@\n-b\n+B", Some("a\nB\nc\nd\ne\n")),
    (
        "with context lines",
        ABC,
        "@@\n a\n-b\n+B\n c",
        Some("a\nB\nc\nd\ne\n"),
    ),
    ("without @@", ABC, " a\n-b\n+B", Some("a\nB\nc\nd\ne\n")),
    (
        "two chunks",
        ABC,
        "@@\n-a\n+A\n@@\n-e\n+E",
        Some("A\nb\nc\nd\nE\n"),
    ),
    (
        "the second above the first",
        ABC,
        "@@\n-e\n+E\n@@\n-a\n+A",
        None,
    ),
    (
        "the second needs @@",
        ABC,
        "@@\n-a\n+A\n*** x\n-e\n+E",
        None,
    ),
    (
        "a line after @@",
        "x\nb\ny\nb\n",
        "@@ y\n-b\n+B",
        Some("x\nb\ny\nB\n"),
    ),
    (
        "a line after @@ that is not there",
        ABC,
        "@@ nope\n-b\n+B",
        None,
    ),
    ("a line after @@ below the lines", ABC, "@@ d\n-b\n+B", None),
    (
        "a line after @@ with other white space",
        " x\nb\n",
        "@@ x\n-b\n+B",
        Some(" x\nB\n"),
    ),
    (
        "the first of equal lines",
        "b\nb\n",
        "@@\n-b\n+B",
        Some("B\nb\n"),
    ),
    (
        "equal lines one after the other",
        "b\nb\n",
        "@@\n-b\n+B\n@@\n-b\n+C",
        Some("B\nC\n"),
    ),
    ("lines that are not there", ABC, "@@\n-x\n+y", None),
    ("lines in another order", ABC, "@@\n c\n-b\n+B", None),
    (
        "white space at the end",
        "a  \nb\n",
        "@@\n a\n-b\n+B",
        Some("a  \nB\n"),
    ),
    (
        "white space at the end in the patch",
        ABC,
        "@@\n a  \n-b\n+B",
        Some("a\nB\nc\nd\ne\n"),
    ),
    (
        "white space in front",
        "\ta\nb\n",
        "@@\n a\n-b\n+B",
        Some("\ta\nB\n"),
    ),
    (
        "exactly before without white space",
        " b\nb\n",
        "@@\n-b\n+B",
        Some(" b\nB\n"),
    ),
    (
        "a typographic dash",
        "a \u{2013} b\n",
        "@@\n-a - b\n+c",
        Some("c\n"),
    ),
    (
        "typographic quotes",
        "\u{201c}a\u{201d} \u{2018}b\u{2019}\n",
        "@@\n-\"a\" 'b'\n+c",
        Some("c\n"),
    ),
    (
        "a no-break space",
        "a\u{a0}b\n",
        "@@\n-a b\n+c",
        Some("c\n"),
    ),
    (
        "a typographic character in the patch",
        "a - b\n",
        "@@\n-a \u{2014} b\n+c",
        Some("c\n"),
    ),
    (
        "an ellipsis is none of them",
        "a\u{2026}\n",
        "@@\n-a...\n+c",
        None,
    ),
    (
        "only added lines",
        ABC,
        "@@\n+x\n+y",
        Some("a\nb\nc\nd\ne\nx\ny\n"),
    ),
    (
        "only added lines after a line",
        ABC,
        "@@ b\n+x",
        Some("a\nb\nc\nd\ne\nx\n"),
    ),
    (
        "added between context lines",
        ABC,
        "@@\n b\n+x\n c",
        Some("a\nb\nx\nc\nd\ne\n"),
    ),
    ("only removed lines", ABC, "@@\n-b\n-c", Some("a\nd\ne\n")),
    ("all lines removed", "a\n", "@@\n-a", Some("")),
    (
        "no newline at the end",
        "a\nb",
        "@@\n-b\n+B",
        Some("a\nB\n"),
    ),
    (
        "no newline at the end, elsewhere",
        "a\nb",
        "@@\n-a\n+A",
        Some("A\nb\n"),
    ),
    (
        "the end of the file",
        "b\na\nb\n",
        "@@\n-b\n+B\n*** End of File",
        Some("b\na\nB\n"),
    ),
    (
        "not at the end of the file",
        ABC,
        "@@\n-b\n+B\n*** End of File",
        None,
    ),
    (
        "added at the end of the file",
        ABC,
        "@@\n e\n+f\n*** End of File",
        Some("a\nb\nc\nd\ne\nf\n"),
    ),
    (
        "lines after the end of the file",
        ABC,
        "@@\n e\n+f\n*** End of File\n+g",
        None,
    ),
    (
        "the end of the file above the line after @@",
        "x\ny\n",
        "@@ y\n-y\n+Y\n*** End of File",
        None,
    ),
    (
        "two chunks at the end of the file",
        ABC,
        "@@\n e\n+f\n*** End of File\n@@\n+g\n*** End of File",
        Some("a\nb\nc\nd\ne\nf\ng\n"),
    ),
    (
        "an empty line",
        "a\n\nb\n",
        "@@\n a\n\n-b\n+B",
        Some("a\n\nB\n"),
    ),
    (
        "an empty line for the newline at the end",
        "a\nb\n",
        "@@\n-b\n+B\n",
        Some("a\nB\n"),
    ),
    (
        "empty lines between chunks",
        ABC,
        "@@\n-a\n+A\n\n@@\n-c\n+C",
        Some("A\nb\nC\nd\ne\n"),
    ),
    (
        "CRLF lines",
        "a\r\nb\r\n",
        "@@\n a\n-b\n+B",
        Some("a\r\nB\r\n"),
    ),
    (
        "lines of a diff's header",
        ABC,
        "@@ -1,2 +1,2 @@\n a\n-b\n+B",
        None,
    ),
    ("only an empty line", ABC, "", Some(ABC)),
    ("a chunk without lines", ABC, "@@", None),
    (
        "a chunk without lines before another",
        ABC,
        "@@\n@@\n-b\n+B",
        None,
    ),
    ("a line without a sign", ABC, "@@\nb\n+B", None),
    (
        "a line without a sign after others",
        ABC,
        "@@\n-b\n+B\nc",
        None,
    ),
    ("an empty file", "", "@@\n+a", Some("a\n")),
    ("an empty file has no lines", "", "@@\n-a\n+b", None),
];

/// Name, the files before, the patch, and the files after.
type OfFiles = (
    &'static str,
    &'static [(&'static str, &'static str)],
    &'static str,
    Option<&'static [(&'static str, &'static str)]>,
);

const OF_FILES: &[OfFiles] = &[
    (
        "a new file",
        &[],
        "*** Begin Patch\n*** Add File: n\n+a\n+\n+b\n*** End Patch",
        Some(&[("n", "a\n\nb\n")]),
    ),
    (
        "an empty new file",
        &[],
        "*** Begin Patch\n*** Add File: n\n*** End Patch",
        Some(&[("n", "")]),
    ),
    (
        "a new file over an old one",
        &[("n", "old\n")],
        "*** Begin Patch\n*** Add File: n\n+new\n*** End Patch",
        Some(&[("n", "new\n")]),
    ),
    (
        "a file that goes",
        &[("f", "a\n"), ("g", "b\n")],
        "*** Begin Patch\n*** Delete File: f\n*** End Patch",
        Some(&[("g", "b\n")]),
    ),
    (
        "a file that goes and is not there",
        &[],
        "*** Begin Patch\n*** Delete File: f\n*** End Patch",
        None,
    ),
    (
        "an update of no file",
        &[],
        "*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n*** End Patch",
        None,
    ),
    (
        "a move",
        &[("f", "a\n")],
        "*** Begin Patch\n*** Update File: f\n*** Move to: g\n@@\n-a\n+b\n*** End Patch",
        Some(&[("g", "b\n")]),
    ),
    (
        "a move over another file",
        &[("f", "a\n"), ("g", "c\n")],
        "*** Begin Patch\n*** Update File: f\n*** Move to: g\n@@\n-a\n+b\n*** End Patch",
        Some(&[("g", "b\n")]),
    ),
    (
        "a move without lines",
        &[("f", "a\n")],
        "*** Begin Patch\n*** Update File: f\n*** Move to: g\n*** End Patch",
        None,
    ),
    (
        "several files",
        &[("f", "a\n")],
        "*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n*** Add File: g\n+c\n*** End Patch",
        Some(&[("f", "b\n"), ("g", "c\n")]),
    ),
    (
        "one file twice",
        &[("f", "a\nb\n")],
        "*** Begin Patch\n*** Update File: f\n@@\n-a\n+A\n*** Update File: f\n@@\n-b\n+B\n*** End Patch",
        Some(&[("f", "A\nB\n")]),
    ),
    (
        "the second file fails",
        &[("f", "a\n"), ("g", "b\n")],
        "*** Begin Patch\n*** Update File: f\n@@\n-a\n+A\n*** Update File: g\n@@\n-x\n+y\n*** End Patch",
        None,
    ),
    (
        "no markers",
        &[("f", "a\n")],
        "*** Update File: f\n@@\n-a\n+b\n",
        None,
    ),
    (
        "no end",
        &[("f", "a\n")],
        "*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n",
        None,
    ),
    (
        "white space around markers",
        &[("f", "a\n")],
        "\n  *** Begin Patch \n*** Update File: f\n@@\n-a\n+b\n *** End Patch  \n\n",
        Some(&[("f", "b\n")]),
    ),
    (
        "white space before a file's header",
        &[("f", "a\n")],
        "*** Begin Patch\n  *** Update File: f\n@@\n-a\n+b\n*** End Patch",
        Some(&[("f", "b\n")]),
    ),
    (
        "a here-document",
        &[("f", "a\n")],
        "<<'EOF'\n*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n*** End Patch\nEOF\n",
        Some(&[("f", "b\n")]),
    ),
    (
        "a here-document with another word",
        &[("f", "a\n")],
        "<<END\n*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n*** End Patch\nEND\n",
        None,
    ),
    (
        "nothing",
        &[("f", "a\n")],
        "*** Begin Patch\n*** End Patch",
        None,
    ),
    (
        "prose",
        &[("f", "a\n")],
        "*** Begin Patch\nhello\n*** End Patch",
        None,
    ),
    (
        "a patch with CRLF",
        &[("f", "a\n")],
        "*** Begin Patch\r\n*** Update File: f\r\n@@\r\n-a\r\n+b\r\n*** End Patch\r\n",
        Some(&[("f", "b\n")]),
    ),
];

fn check(name: &str, before: &Tree, patch: &str, expected: Option<Tree>) {
    let ours = applied(before, patch);
    assert_eq!(ours.as_ref().ok(), expected.as_ref(), "{name}: {ours:?}");
    if let Some(theirs) = applied_by_codex(before, patch) {
        assert_eq!(theirs, expected, "{name}: Codex");
    }
}

#[test]
fn each_patch_of_the_table_gives_what_codex_makes_of_it() {
    for (name, before, patch, after) in OF_ONE_FILE {
        let patch = format!("*** Begin Patch\n*** Update File: f\n{patch}\n*** End Patch");
        let after = after.map(|after| tree(&[("f", after)]));
        check(name, &tree(&[("f", before)]), &patch, after);
    }
    for (name, before, patch, after) in OF_FILES {
        check(name, &tree(before), patch, after.map(tree));
    }
}

/// Returns a text at random and a patch of it, which may not fit.
fn random_patch(dice: &mut Dice) -> (String, String) {
    let words = [
        "a", " b", "b ", "\u{2013}", "-", "", "\tc", "c", "d\u{a0}e", "d e", "\"", "\u{201c}",
    ];
    let line = |dice: &mut Dice| words[dice.roll(words.len())].to_owned();
    let lines: Vec<String> = (0..dice.roll(12)).map(|_| line(dice)).collect();
    let mut text = lines
        .iter()
        .map(|line| format!("{line}\n"))
        .collect::<String>();
    if dice.roll(4) == 0 {
        text.pop();
    }
    let mut patch = "*** Begin Patch\n*** Update File: f\n".to_owned();
    let mut at = 0;
    for _ in 0..1 + dice.roll(3) {
        match dice.roll(5) {
            0 => patch.push_str(&format!("@@ {}\n", line(dice))),
            1 if at == 0 => {}
            _ => patch.push_str("@@\n"),
        }
        at += dice.roll(3);
        for _ in 0..1 + dice.roll(4) {
            let old = match lines.get(at) {
                Some(old) if dice.roll(8) > 0 => old.clone(),
                _ => line(dice),
            };
            match dice.roll(4) {
                0 => patch.push_str(&format!("+{}\n", line(dice))),
                1 => {
                    patch.push_str(&format!("-{old}\n"));
                    at += 1;
                }
                _ if old.is_empty() && dice.roll(2) == 0 => {
                    patch.push('\n');
                    at += 1;
                }
                _ => {
                    patch.push_str(&format!(" {old}\n"));
                    at += 1;
                }
            }
        }
        if dice.roll(6) == 0 {
            patch.push_str("*** End of File\n");
        }
    }
    patch.push_str("*** End Patch\n");
    (text, patch)
}

#[test]
fn patches_at_random_give_what_codex_makes_of_them() {
    let mut n_fitting = 0;
    for case in 0..n_cases(300) {
        let mut dice = Dice::new(u64::from(case));
        let (text, patch) = random_patch(&mut dice);
        let before = tree(&[("f", &text)]);
        let ours = applied(&before, &patch);
        n_fitting += u32::from(ours.is_ok());
        if let Some(theirs) = applied_by_codex(&before, &patch) {
            assert_eq!(ours.clone().ok(), theirs, "{text:?}\n{patch}\n{ours:?}");
        }
    }
    assert!(n_fitting > n_cases(300) / 5, "{n_fitting} fit");
}

#[test]
fn an_error_names_the_line_of_the_patch() {
    let error = |patch: &str| parse(patch).unwrap_err();
    let line = |patch: &str| match error(patch) {
        CodexError::NoFile { line, .. }
        | CodexError::NoLines { line }
        | CodexError::BadLine { line, .. } => line,
        other => panic!("{other}"),
    };
    assert_eq!(line("*** Begin Patch\nhello\n*** End Patch"), 2);
    assert_eq!(
        line("\n\n*** Begin Patch\n*** Update File: f\n@@\nb\n*** End Patch"),
        6
    );
    assert_eq!(
        line("<<EOF\n*** Begin Patch\n*** Update File: f\n*** End Patch\nEOF"),
        3
    );
    let files =
        parse("*** Begin Patch\n*** Update File: f\n@@\n-b\n@@ x\n-c\n*** End Patch").unwrap();
    let Action::Update { chunks, .. } = &files[0].action else {
        panic!("it is an update");
    };
    assert_eq!((chunks[0].line, chunks[1].line), (3, 5));
    let missing = updated(b"b\n", chunks).unwrap_err();
    assert!(
        matches!(missing, CodexError::NoContext { line: 5, .. }),
        "{missing}"
    );
}

#[test]
fn paths_are_changed_where_a_file_begins_and_nowhere_else() {
    let patch = "*** Begin Patch\n*** Update File: f\n*** Move to: d/g\n@@\n-*** Add File: x\n\
                 +*** Move to: x\n*** Delete File: /h\n*** Add File: i\n+*** Delete File: x\n\
                 *** End Patch";
    let absolute = with_paths(patch, |name| match name.strip_prefix('/') {
        Some(_) => name.to_owned(),
        None => format!("/p/{name}"),
    });
    assert_eq!(
        absolute,
        "*** Begin Patch\n*** Update File: /p/f\n*** Move to: /p/d/g\n@@\n-*** Add File: x\n\
         +*** Move to: x\n*** Delete File: /h\n*** Add File: /p/i\n+*** Delete File: x\n\
         *** End Patch"
    );
    assert_eq!(parse(&absolute).unwrap().len(), parse(patch).unwrap().len());
}
