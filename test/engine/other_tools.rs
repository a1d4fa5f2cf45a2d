//! Agreement with GNU patch, git and diffy, and every case where they and we part.

#[path = "pairs.rs"]
mod pairs;

use std::fs;
use std::path::Path;
use std::process::Command;

use agent_q_diff_engine::patch::hunk::{Hunk, Line, LineKind, header_range};
use agent_q_diff_engine::patch::parse::parse;
use agent_q_diff_engine::patch::print::print;
use pairs::{Pair, compare, for_each_insertion, for_each_pair};

/// Where another tool and we part, and why. Each has a test of its name.
///
/// GNU patch and `git apply` are not in the list: they agree on every pair.
const DIVERGING: [(&str, &str); 4] = [
    (
        "git_weighs_the_equal_head_too",
        "git's histogram counts the lines of the whole texts, imara-diff's only those between the \
         equal head and tail, so the anchors differ",
    ),
    (
        "diffy_keeps_the_newline_of_a_heading",
        "its `function_context` is the rest of the line; ours is without terminator",
    ),
    (
        "diffy_takes_what_is_not_a_whole_hunk",
        "it drops lines after the counted end, as GNU patch does, takes a marker in the middle of a \
         hunk, a hunk without changes and a text without hunks",
    ),
    (
        "diffy_refuses_what_we_take",
        "prose between hunks; an empty CRLF line among the counted",
    ),
];

#[test]
fn every_divergence_has_its_test() {
    let source = include_str!("other_tools.rs");
    for (name, why) in DIVERGING {
        assert!(
            source.contains(&format!("#[test]\nfn {name}()")),
            "{name}: {why}"
        );
    }
}

/// A tool that applies the file `diff` to the file `f` in the same folder.
struct Tool {
    command: &'static [&'static str],
    /// What stands in place of our two file header lines, which name an absolute path.
    file_header: &'static str,
}

const PATCH: Tool = Tool {
    command: &["patch", "--force", "--input=diff", "f"],
    file_header: "--- /f\n+++ /f\n",
};

/// git refuses absolute paths.
const GIT: Tool = Tool {
    command: &["git", "apply", "--verbose", "--whitespace=nowarn", "diff"],
    file_header: "--- a/f\n+++ b/f\n",
};

/// Applies our diff of `pair` with `tool`: to exactly the modified text, or with what it says.
fn apply(tool: &Tool, pair: &Pair) -> Result<(), String> {
    let printed = print(b"/f", &compare(&pair.original, &pair.modified).hunks(3)).bytes;
    let Some(hunks) = printed.strip_prefix(b"--- /f\n+++ /f\n") else {
        assert_eq!(pair.original, pair.modified);
        return Ok(());
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f");
    fs::write(&file, &pair.original).unwrap();
    let diff = [tool.file_header.as_bytes(), hunks].concat();
    fs::write(folder.path().join("diff"), diff).unwrap();
    let (is_success, said) = run(tool.command, folder.path());
    let is_exact = is_success && !said.contains("offset") && !said.contains("fuzz");
    match fs::read(&file) {
        Ok(result) if is_exact && result == pair.modified => Ok(()),
        result => Err(format!("{said}{result:?}")),
    }
}

/// Runs `command` in `folder`, away from the settings of the user and the machine.
///
/// Returns whether it succeeded, and what it said.
fn run(command: &[&str], folder: &Path) -> (bool, String) {
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
    (output.status.success(), said)
}

#[track_caller]
fn check_applies(tool: &Tool, pair: &Pair) {
    if let Err(said) = apply(tool, pair) {
        panic!("{pair:?}\n{said}");
    }
}

#[test]
fn gnu_patch_applies_what_we_print() {
    for_each_pair(400, |pair| check_applies(&PATCH, pair));
}

#[test]
fn git_applies_what_we_print() {
    for_each_pair(400, |pair| check_applies(&GIT, pair));
}

fn pair(original: &str, modified: &str) -> Pair {
    let (original, modified) = (original.into(), modified.into());
    Pair { original, modified }
}

#[test]
fn both_apply_what_has_gone_wrong_elsewhere() {
    let table = [
        ("", "a\n"),
        ("a\n", ""),
        ("a", "a\n"),
        ("a\n", "a"),
        ("a\nb", "a\nb\nc"),
        ("a\nb\nc", "a\nb"),
        ("x\nb", "y\nb"),
        ("\n", "\n\n"),
        ("a\r\nb\r\n", "a\nb\r\n"),
        ("a\r\nb", "a\r\nb\r\n"),
        ("a\0b\n", "a\0c\n\0"),
        ("-- x\n-- y\n", "-- x\n"),
        ("x\n++ y\n", "++ y\n++ y\nx\n"),
        ("@@ -1 +1 @@\n-a\n", "@@ -1 +1 @@\n+a\n"),
        ("- \n2.47\n", "2.47\n"),
        (
            "\\ No newline at end of file\n",
            "\\ No newline at end of file",
        ),
        ("a\u{85}\u{2028}b\n", "a\u{85}\u{2028}c\n"),
        ("int f(\0)\n1\n2\n3\n4\n", "int f(\0)\n1\n2\n3\n5\n"),
    ];
    for (original, modified) in table {
        let pair = pair(original, modified);
        check_applies(&PATCH, &pair);
        check_applies(&GIT, &pair);
    }
}

#[test]
fn gnu_patch_takes_any_path_in_the_header() {
    for path in [
        "/a b ",
        "/é",
        "/a\n@@ -1 +1 @@\n-x",
        "/\"q\"\\",
        "/t\tx",
        "/r\r",
        "",
    ] {
        let printed = print(path.as_bytes(), &compare(b"a\n", b"b\n").hunks(3)).bytes;
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("f"), "a\n").unwrap();
        fs::write(folder.path().join("diff"), printed).unwrap();
        let (is_success, said) = run(PATCH.command, folder.path());
        assert!(is_success, "{path:?} {said}");
        assert_eq!(fs::read(folder.path().join("f")).unwrap(), b"b\n");
    }
}

/// Returns the hunk headers that git, with these two options, and we give for a pair.
fn headers(
    original: &str,
    modified: &str,
    unified: &str,
    algorithm: &str,
) -> (Vec<String>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a"), original).unwrap();
    fs::write(folder.path().join("b"), modified).unwrap();
    let command = ["git", "diff", "--no-index", unified, algorithm, "a", "b"];
    let (_, said) = run(&command, folder.path());
    let of_git = said.lines().filter(|line| line.starts_with("@@ "));
    let context_len = unified.strip_prefix("-U").unwrap().parse().unwrap();
    let compared = compare(original.as_bytes(), modified.as_bytes());
    let ours = compared.hunks(context_len);
    (
        of_git.map(str::to_owned).collect(),
        ours.iter().map(header).collect(),
    )
}

fn header(hunk: &Hunk<'_>) -> String {
    let (before, after) = (header_range(&hunk.before), header_range(&hunk.after));
    let heading = String::from_utf8_lossy(hunk.heading);
    format!("@@ -{before} +{after} @@ {heading}")
        .trim_end()
        .to_owned()
}

/// A source file of eight functions.
fn source() -> Vec<String> {
    let function = |n| {
        format!(
            "/* Does {n}. */\nint f{n}(int x)\n{{\n    if (x) {{\n        g(x, {n});\n    }}\n\n    \
             return x;\n}}\n\n"
        )
    };
    let text: String = (0..8).map(function).collect();
    text.split_inclusive('\n').map(str::to_owned).collect()
}

/// Returns [`source`] before and after `change`.
fn changed(change: impl Fn(&mut Vec<String>)) -> (String, String) {
    let mut lines = source();
    change(&mut lines);
    (source().concat(), lines.concat())
}

type Change = fn(&mut Vec<String>);

#[test]
fn git_makes_the_same_hunks_of_source_code() {
    let table: [(&str, Change); 9] = [
        ("a line", |l| l[44] = "        h(x);\n".into()),
        ("a function again", |l| {
            drop(l.splice(20..20, source()[10..20].to_vec()))
        }),
        ("a function less", |l| drop(l.drain(30..40))),
        ("a function moved", |l| l.rotate_left(10)),
        ("a function at the end", |l| {
            l.extend_from_slice(&source()[0..10])
        }),
        ("a block again", |l| {
            drop(l.splice(36..36, source()[33..36].to_vec()))
        }),
        ("blank lines", |l| {
            drop(l.splice(39..39, ["\n".into(), "\n".into()]))
        }),
        ("two lines near", |l| {
            [13, 20]
                .map(|at| l[at] = "x\n".into())
                .into_iter()
                .for_each(drop)
        }),
        ("two lines apart", |l| {
            [13, 21]
                .map(|at| l[at] = "x\n".into())
                .into_iter()
                .for_each(drop)
        }),
    ];
    for (name, change) in table {
        let (original, modified) = changed(change);
        let (of_git, ours) = headers(&original, &modified, "-U3", "--histogram");
        assert_eq!(ours, of_git, "{name}");
        let (of_git, ours) = headers(&modified, &original, "-U3", "--histogram");
        assert_eq!(ours, of_git, "{name}, reversed");
    }
}

#[test]
fn git_puts_an_insertion_where_we_do() {
    // With Myers git leaves the equal ends out, and with only one edit the algorithms agree.
    for_each_insertion(1_000, |pair| {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let (shorter, longer) = (text(&pair.original), text(&pair.modified));
        for (original, modified) in [(&shorter, &longer), (&longer, &shorter)] {
            let (of_git, ours) = headers(original, modified, "-U0", "--minimal");
            assert_eq!(ours, of_git, "{original:?} to {modified:?}");
        }
    });
}

#[test]
fn git_weighs_the_equal_head_too() {
    let (of_git, ours) = headers(
        "b\nc\na\nc\nb\nc\n",
        "b\nb\nc\nd\nd\nc\n",
        "-U0",
        "--histogram",
    );
    assert_eq!(ours, ["@@ -2,3 +1,0 @@ b", "@@ -6,0 +4,3 @@ c"]);
    assert_eq!(of_git, ["@@ -1,0 +2 @@ b", "@@ -3,3 +4,2 @@ c"]);
}

/// Tells whether diffy and we read the same hunks, the newline of a heading aside.
fn agrees_with_diffy(diff: &[u8]) -> bool {
    let (Ok(files), Ok(theirs)) = (parse(diff), diffy::Patch::from_bytes(diff)) else {
        return false;
    };
    let ours = files.iter().flat_map(|file| &file.hunks);
    let is_same = ours.zip(theirs.hunks()).all(|(ours, theirs)| {
        let mut lines = ours.hunk.lines.iter().zip(theirs.lines());
        let heading = theirs.function_context().unwrap_or_default();
        ours.hunk.before.len() == theirs.old_range().len()
            && ours.hunk.after.len() == theirs.new_range().len()
            && ours.hunk.lines.len() == theirs.lines().len()
            && heading.trim_ascii_end() == ours.hunk.heading
            && lines.all(|(ours, theirs)| is_same_line(ours, theirs))
    });
    is_same && files[0].hunks.len() == theirs.hunks().len()
}

fn is_same_line(ours: &Line<'_>, theirs: &diffy::Line<'_, [u8]>) -> bool {
    let (kind, text) = match *theirs {
        diffy::Line::Context(text) => (LineKind::Context, text),
        diffy::Line::Delete(text) => (LineKind::Removed, text),
        diffy::Line::Insert(text) => (LineKind::Added, text),
    };
    ours.kind == kind && ours.text == text
}

#[test]
fn diffy_reads_what_we_print() {
    for_each_pair(10_000, |pair| {
        let printed = print(b"/f", &compare(&pair.original, &pair.modified).hunks(3)).bytes;
        assert!(printed.is_empty() || agrees_with_diffy(&printed));
    });
}

#[test]
fn diffy_keeps_the_newline_of_a_heading() {
    let diff = b"@@ -1 +1 @@ x\n-a\n+b\n";
    let theirs = diffy::Patch::from_bytes(diff).unwrap();
    assert_eq!(theirs.hunks()[0].function_context(), Some(&b"x\n"[..]));
    assert_eq!(parse(diff).unwrap()[0].hunks[0].hunk.heading, b"x");
}

#[test]
fn diffy_takes_what_is_not_a_whole_hunk() {
    let table = [
        "",
        "@@ -1 +1 @@\n-a\n+b\n+c\n",
        "@@ -1,2 +1 @@\n-a\n\\ No newline at end of file\n b\n",
        "@@ -1 +1 @@\n a\n",
    ];
    for diff in table {
        assert!(parse(diff.as_bytes()).is_err(), "{diff:?}");
        assert!(
            diffy::Patch::from_bytes(diff.as_bytes()).is_ok(),
            "{diff:?}"
        );
    }
}

#[test]
fn diffy_refuses_what_we_take() {
    let table = [
        "@@ -1 +1 @@\n-a\n+b\nprose\n@@ -3 +3 @@\n-a\n+b\n",
        "@@ -1,2 +1,2 @@\n-a\r\n+b\r\n\r\n",
    ];
    for diff in table {
        assert!(parse(diff.as_bytes()).is_ok(), "{diff:?}");
        assert!(
            diffy::Patch::from_bytes(diff.as_bytes()).is_err(),
            "{diff:?}"
        );
    }
}
