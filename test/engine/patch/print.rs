//! Hunks to unified diff text: read back by us, and applied by GNU patch and git.

use agent_q_diff_engine::patch::hunk::{Hunk, Line, LineKind, print, print_headers, unquoted};
use agent_q_diff_engine::patch::parse::parse;
use agent_q_diff_engine::text::Text;

use crate::common::compared::{compare, patched};
use crate::common::pairs::{Pair, for_each_pair};
use crate::common::tools::{GIT_APPLY, GNU_PATCH, Patcher};

#[test]
fn what_is_printed_is_read_back_and_patches() {
    for_each_pair(10_000, |pair| {
        let compared = compare(&pair.original, &pair.modified);
        let hunks = compared.hunks(3);
        let printed = print(b"/tmp/f", &hunks);
        if hunks.is_empty() {
            assert_eq!(printed.bytes, b"");
            return;
        }
        let files = parse(&printed.bytes).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(files.len(), 1);
        assert_eq!(files[0].old_name, Some(&b"/tmp/f"[..]));
        let (read, lines): (Vec<_>, Vec<_>) = files
            .into_iter()
            .flat_map(|file| file.hunks)
            .map(|parsed| (parsed.hunk, parsed.header_line))
            .unzip();
        assert_eq!(read, hunks);
        assert_eq!(lines, printed.header_lines);
        let text = Text::new(printed.bytes.clone());
        let headers: Vec<_> = lines.iter().map(|&line| text.line(line)).collect();
        assert_eq!(print_headers(&hunks), headers.concat());
        assert_eq!(patched(&compared.original, &read), pair.modified);
    });
}

#[test]
fn a_diff_that_is_cut_off_is_an_error_or_has_only_whole_hunks() {
    for_each_pair(1_000, |pair| {
        let compared = compare(&pair.original, &pair.modified);
        let hunks = compared.hunks(0);
        let printed = print(b"/f", &hunks).bytes;
        for end in 0..printed.len().min(400) {
            let Ok(files) = parse(&printed[..end]) else {
                continue;
            };
            if printed[end..].starts_with(b"\\ ") {
                // Nothing shows that the marker is missing.
                continue;
            }
            let read = files.iter().flat_map(|file| &file.hunks);
            for (parsed, whole) in read.zip(&hunks) {
                assert!(parsed.hunk == *whole || parsed.hunk.is_open_ended);
                assert_eq!(parsed.hunk.lines.len(), whole.lines.len());
            }
        }
    });
}

#[track_caller]
fn check_print(original: &str, modified: &str, expected: &str) {
    let printed = print(
        b"/f",
        &compare(original.as_bytes(), modified.as_bytes()).hunks(3),
    );
    assert_eq!(String::from_utf8_lossy(&printed.bytes), expected);
    let text = Text::new(printed.bytes);
    for line in printed.header_lines {
        assert!(text.line(line).starts_with(b"@@ -"));
    }
}

#[test]
fn no_change_prints_nothing() {
    check_print("a\n", "a\n", "");
}

#[test]
fn an_empty_range_names_the_line_before() {
    check_print("", "a\n", "--- /f\n+++ /f\n@@ -0,0 +1 @@\n+a\n");
    check_print("a\n", "", "--- /f\n+++ /f\n@@ -1 +0,0 @@\n-a\n");
}

#[test]
fn a_missing_final_newline_is_marked_on_each_side_that_lacks_it() {
    const MARKER: &str = "\\ No newline at end of file\n";
    let header = "--- /f\n+++ /f\n@@ -1 +1 @@\n";
    check_print("a", "a\n", &format!("{header}-a\n{MARKER}+a\n"));
    check_print("a\n", "a", &format!("{header}-a\n+a\n{MARKER}"));
    check_print("a", "b", &format!("{header}-a\n{MARKER}+b\n{MARKER}"));
    let header = "--- /f\n+++ /f\n@@ -1,2 +1,2 @@\n";
    check_print("a\nz", "b\nz", &format!("{header}-a\n+b\n z\n{MARKER}"));
}

#[test]
fn removed_before_added_and_a_heading() {
    let original = "fn f() {\n 1\n 2\n 3\n x\n y\n 4\n 5\n 6\n}\n";
    let modified = "fn f() {\n 1\n 2\n 3\n X\n Y\n 4\n 5\n 6\n}\n";
    let hunk = "@@ -2,8 +2,8 @@ fn f() {\n  1\n  2\n  3\n- x\n- y\n+ X\n+ Y\n  4\n  5\n  6\n";
    check_print(original, modified, &format!("--- /f\n+++ /f\n{hunk}"));
}

/// Paths that need quoting, or nearly.
const ODD_PATHS: [&str; 7] = [
    "/a b ",
    "/é",
    "/a\n@@ -1 +1 @@\n-x",
    "/\"q\"\\",
    "/t\tx",
    "/r\r",
    "",
];

#[test]
fn no_path_reads_as_a_line_of_the_diff() {
    let compared = compare(b"a\n", b"b\n");
    let hunks = compared.hunks(3);
    for path in ODD_PATHS.into_iter().chain(["/\u{1b}[2J"]) {
        let printed = print(path.as_bytes(), &hunks);
        let files = parse(&printed.bytes).unwrap();
        assert_eq!(printed.header_lines, [2], "{path:?}");
        assert_eq!(files[0].hunks[0].hunk, hunks[0], "{path:?}");
        let name = files[0].new_name.unwrap();
        assert_eq!(*unquoted(name), *path.as_bytes());
    }
}

fn open_ended(text: &[u8]) -> Hunk<'_> {
    let kind = LineKind::Added;
    Hunk {
        before: 0..0,
        after: 0..1,
        heading: b"",
        lines: vec![Line { kind, text }],
        is_open_ended: true,
    }
}

#[test]
fn a_marker_counts_as_a_line() {
    let mut closed = open_ended(b"x");
    closed.is_open_ended = false;
    let printed = print(b"/f", &[closed.clone(), closed]);
    assert_eq!(printed.header_lines, [2, 5]);
}

#[test]
fn an_open_ended_hunk_stays_open() {
    let printed = print(b"/f", &[open_ended(b"x")]);
    assert_eq!(printed.bytes, b"--- /f\n+++ /f\n@@ -0,0 +1 @@\n+x");
    let files = parse(&printed.bytes).unwrap();
    assert_eq!(files[0].hunks[0].hunk, open_ended(b"x"));
}

#[test]
fn an_open_ended_hunk_does_not_swallow_the_next() {
    let printed = print(b"/f", &[open_ended(b"x"), open_ended(b"y")]);
    let expected = b"--- /f\n+++ /f\n@@ -0,0 +1 @@\n+x\n@@ -0,0 +1 @@\n+y";
    assert_eq!(printed.bytes, expected);
    assert_eq!(printed.header_lines, [2, 4]);
}

/// Checks that `tool` applies our diff of `pair`, to exactly the modified text and at the stated
/// lines.
#[track_caller]
fn check_applies(tool: &Patcher, pair: &Pair) {
    let printed = print(b"/f", &compare(&pair.original, &pair.modified).hunks(3)).bytes;
    if printed.is_empty() {
        return assert_eq!(pair.original, pair.modified);
    }
    let applied = tool.apply(&printed, &pair.original);
    let said = applied.said;
    let is_exact = applied.is_success && !said.contains("offset") && !said.contains("fuzz");
    match applied.result {
        Ok(result) if is_exact && result == pair.modified => {}
        result => panic!("{pair:?}\n{said}{result:?}"),
    }
}

#[test]
fn gnu_patch_applies_what_we_print() {
    for_each_pair(400, |pair| check_applies(&GNU_PATCH, pair));
}

#[test]
fn git_applies_what_we_print() {
    for_each_pair(400, |pair| check_applies(&GIT_APPLY, pair));
}

#[test]
fn gnu_patch_and_git_apply_texts_that_broke_other_tools() {
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
        let (original, modified) = (original.into(), modified.into());
        let pair = Pair { original, modified };
        check_applies(&GNU_PATCH, &pair);
        check_applies(&GIT_APPLY, &pair);
    }
}

#[test]
fn gnu_patch_takes_any_path_in_the_header() {
    for path in ODD_PATHS {
        let printed = print(path.as_bytes(), &compare(b"a\n", b"b\n").hunks(3)).bytes;
        let applied = GNU_PATCH.apply_as_it_is(&printed, b"a\n");
        assert!(applied.is_success, "{path:?} {}", applied.said);
        assert_eq!(applied.result.unwrap(), b"b\n");
    }
}
