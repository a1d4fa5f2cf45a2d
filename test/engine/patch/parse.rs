//! Unified diff text to hunks: diffs of any origin, texts that are nearly diffs, and diffy beside
//! us.

use agent_q_diff_engine::patch::hunk::{Line, LineKind, print};
use agent_q_diff_engine::patch::parse::{FileDiff, ParseError, parse, parse_hunks};
use agent_q_diff_engine::proposal::Proposal;

use crate::common::compared::compare;
use crate::common::pairs::for_each_pair;
use crate::common::tools::check_divergences;

/// Returns what is read from `diff` as text: the names of each file; the header line, ranges,
/// heading and lines of each hunk.
fn read(diff: &str) -> String {
    let files = parse(diff.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{diff}"));
    files.iter().map(picture).collect()
}

fn picture(file: &FileDiff<'_>) -> String {
    let name = |name: Option<&[u8]>| String::from_utf8_lossy(name.unwrap_or(b"?")).into_owned();
    let mut picture = format!("{} {}\n", name(file.old_name), name(file.new_name));
    for parsed in &file.hunks {
        let hunk = &parsed.hunk;
        let heading = String::from_utf8_lossy(hunk.heading);
        let at = parsed.header_line;
        picture += &format!("{at}: {:?} {:?} {heading}\n", hunk.before, hunk.after);
        for line in &hunk.lines {
            let sign = match line.kind {
                LineKind::Context => ' ',
                LineKind::Removed => '-',
                LineKind::Added => '+',
            };
            picture += &format!("{sign}{:?}\n", String::from_utf8_lossy(line.text));
        }
        picture += if hunk.is_open_ended { "open\n" } else { "" };
    }
    picture
}

#[track_caller]
fn check(diff: &str, expected: &str) {
    assert_eq!(
        read(diff).trim_end(),
        expected.replace("\n        ", "\n").trim()
    );
}

/// Checks that reading each diff fails with the error after it.
macro_rules! refuses {
    ($($diff:expr => $pattern:pat),+ $(,)?) => {$(
        let diff = $diff;
        let result = parse(diff.as_bytes());
        assert!(matches!(result, Err($pattern)), "{diff:?}\n{result:?}");
    )+};
}

#[test]
fn a_file_without_hunks_is_no_file_of_a_diff_of_hunks() {
    let rename = "diff --git a/x b/y\nrename from x\nrename to y\n";
    let edit = "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n";
    let both = format!("{rename}{edit}");
    assert_eq!(parse(both.as_bytes()).unwrap().len(), 2);
    let files = parse_hunks(both.as_bytes()).unwrap();
    assert_eq!((files.len(), files[0].new_name), (1, Some(&b"b/f"[..])));
    assert!(Proposal::from_diff(both.as_bytes()).is_ok());
    assert_eq!(
        parse_hunks(rename.as_bytes()),
        Err(ParseError::NoHunk { n_lines: 3 })
    );
}

#[test]
fn a_diff_as_git_writes_it() {
    check(
        "From 1234\nSubject: x\n\n- a list\n+ another\n---\n f | 2 +-\n\n\
         diff --git a/f b/f\nold mode 100644\nnew mode 100755\nindex 1..2\n\
         --- a/f\t2026-01-01\n+++ b/f\n@@ -1,2 +1,2 @@ int f()\n-a\n+b\n c\n-- \n2.47\n\n",
        r#"
        a/f b/f
        14: 0..2 0..2 int f()
        -"a\n"
        +"b\n"
         "c\n""#,
    );
}

/// A patch, as the tests of prose around it have it.
const PATCH: &str = "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n+b\n c\n";

#[test]
fn prose_that_looks_like_parts_of_a_diff_is_skipped() {
    for prose in [
        "Binary files a/x.png and b/x.png differ",
        "GIT binary patch",
        "@@VERSION@@ was not replaced in the tarball.",
        "@@ is how a hunk begins",
        "@@@ and so does a merge",
        "diff --cc is how a merge is shown",
        "diff --git is how git begins",
        "diff --git a/x b/x\n\nrename from x\nrename to y",
        "rename from x",
        "deleted file mode 100644",
        "new mode 160000",
        "--- a/x",
        "+++ b/x",
        "--- a/x\n+++ b/x",
        "Index: g",
        "- a list\n+ another",
        "similarity index 100%",
    ] {
        let mail =
            format!("Subject: x\n\n{prose}\n\nMore.\n---\n f | 2 +-\n\n{PATCH}-- \n2.39.2\n\n");
        let mails = mail.repeat(2);
        let files = parse(mails.as_bytes());
        let files = files.unwrap_or_else(|error| panic!("{prose}: {error}"));
        let names = files.iter().map(|file| (file.new_name, file.hunks.len()));
        let expected = [(Some(&b"b/f"[..]), 1); 2];
        assert_eq!(names.collect::<Vec<_>>(), expected, "{prose}");
        assert!(
            files.iter().all(|file| file.index_name.is_none()),
            "{prose}"
        );
    }
}

#[test]
fn a_signature_may_have_lost_its_blank() {
    for signature in [
        "-- \n2.39.2\n",
        "--\n2.39.2\n",
        "--\r\n2.39.2\r\n",
        "--\nA. U. Thor\n",
    ] {
        let mails = format!("{PATCH}{signature}\n{PATCH}");
        let files = parse_hunks(mails.as_bytes());
        assert_eq!(files.map(|files| files.len()), Ok(2), "{signature:?}");
    }
    refuses! {
        // A line of the hunk is missing.
        PATCH.replace(" c\n", "-- \n2.39.2\n") => ParseError::UnknownSign { .. },
        PATCH.replace("1,2 +1,2", "1,2 +1").replace(" c\n", "--\n2.39.2\n") =>
            ParseError::Truncated { line: 7, header_line: 4, n_before: 1, n_after: 0 },
        // Lines of the hunk that its header does not count.
        format!("{PATCH}--\n+d\n") => ParseError::TooManyLines { line: 8, .. },
        format!("{PATCH}--\n") => ParseError::TooManyLines { line: 8, .. },
        format!("{PATCH}--\n-d\n") => ParseError::TooManyLines { line: 8, .. },
    }
}

#[test]
fn the_header_of_our_own_buffer_is_prose() {
    check(
        "# File: /f\nProgress: 0/1\n\n--- /f\n+++ /f\n@@ -3,0 +4 @@\n+a\n",
        "/f /f\n5: 3..3 3..4 \n+\"a\\n\"",
    );
}

#[test]
fn several_files_with_and_without_a_line_between() {
    check(
        "--- a\n+++ b\n@@ -1 +1 @@\n-1\n+2\n--- c\n+++ d\n@@ -1 +1 @@\n-3\n+4\n\n\
         diff --git e e\n@@ -1 +0,0 @@\n-5\n",
        r#"
        a b
        2: 0..1 0..1 
        -"1\n"
        +"2\n"
        c d
        7: 0..1 0..1 
        -"3\n"
        +"4\n"
        ? ?
        12: 0..1 0..0 
        -"5\n""#,
    );
}

#[test]
fn hunks_without_a_file_header_are_one_file() {
    check(
        "@@ -1 +1 @@\n-a\n+b\nprose\n@@ -5 +5 @@x\n-c\n+d\n",
        r#"
        ? ?
        0: 0..1 0..1 
        -"a\n"
        +"b\n"
        4: 4..5 4..5 x
        -"c\n"
        +"d\n""#,
    );
}

#[test]
fn only_counting_decides_what_a_changed_line_is() {
    check(
        "@@ -1,3 +1,4 @@\n--- x\n+++ y\n+@@ -1 +1 @@\n---\n-- \n++\n\
         +\\ No newline at end of file\n",
        r#"
        ? ?
        0: 0..3 0..4 
        -"-- x\n"
        +"++ y\n"
        +"@@ -1 +1 @@\n"
        -"--\n"
        -"- \n"
        +"+\n"
        +"\\ No newline at end of file\n""#,
    );
}

#[test]
fn an_empty_line_among_the_counted_is_context() {
    check(
        "@@ -1,3 +1,2 @@\n\n-a\n\r\n",
        r#"
        ? ?
        0: 0..3 0..2 
         "\n"
        -"a\n"
         "\r\n""#,
    );
}

#[test]
fn crlf_belongs_to_the_lines() {
    check(
        "--- a\r\n+++ b\r\n@@ -1 +1 @@ x\r\n-a\r\n\\ No newline at end of file\r\n+b\r\n",
        r#"
        a b
        2: 0..1 0..1 x
        -"a"
        +"b\r\n""#,
    );
    check(
        "@@ -1 +1 @@\n-a\r\n\\ No newline at end of file\n+b\r\n",
        "? ?\n0: 0..1 0..1 \n-\"a\\r\"\n+\"b\\r\\n\"",
    );
}

#[test]
fn a_heading_has_no_line_end_left_in_it() {
    // With a newline printed after it, the carriage return would be read as a part of the
    // terminator.
    check(
        "@@ -1 +1 @@ x\r\r\n-a\n+b\n",
        "? ?\n0: 0..1 0..1 x\n-\"a\\n\"\n+\"b\\n\"",
    );
}

#[test]
fn a_text_that_ends_in_its_last_line_is_open_ended() {
    check(
        "@@ -1 +1 @@\n-a\n+b",
        "? ?\n0: 0..1 0..1 \n-\"a\\n\"\n+\"b\"\nopen",
    );
    check("@@ -0,0 +1 @@\n+", "? ?\n0: 0..0 0..1 \n+\"\"\nopen");
    let marked = "@@ -0,0 +1 @@\n+b\n\\ No newline at end of file";
    check(marked, "? ?\n0: 0..0 0..1 \n+\"b\"");
}

#[test]
fn no_hunk() {
    refuses! {
        "" => ParseError::NoHunk { n_lines: 0 },
        "prose\n- a\n+ b" => ParseError::NoHunk { n_lines: 3 },
        "*** a\n--- b\n***************\n*** 1 ****\n! x\n" => ParseError::NoHunk { .. },
    }
}

#[test]
fn bad_header() {
    refuses! {
        "@@ ... @@\n-a\n" => ParseError::BadHeader { line: 1, .. },
        "\n@@ -1 +1\n-a\n" => ParseError::BadHeader { line: 2, .. },
        "@@ -1, +1 @@\n" => ParseError::BadHeader { .. },
        "@@ --1 +1 @@\n" => ParseError::BadHeader { .. },
        "@@ -1 -1 @@\n" => ParseError::BadHeader { .. },
        "@@ -1  +1 @@\n" => ParseError::BadHeader { .. },
        "@@ -1,1,1 +1 @@\n" => ParseError::BadHeader { .. },
        "@@ -+1 +1 @@\n" => ParseError::BadHeader { .. },
        "@@" => ParseError::BadHeader { .. },
        "@@ -0 +1 @@\n-a\n" => ParseError::LineZero { line: 1, .. },
        "@@ -1 +0,2 @@\n-a\n" => ParseError::LineZero { line: 1, .. },
    }
}

#[test]
fn numbers_that_no_file_has() {
    refuses! {
        "@@ -18446744073709551616 +1 @@\n" => ParseError::NumberTooLarge { line: 1, .. },
        "@@ -1,99999999999999999999999999 +1 @@\n" => ParseError::NumberTooLarge { .. },
        "@@ -18446744073709551615,2 +1 @@\n" => ParseError::NumberTooLarge { .. },
        "@@ -1 +18446744073709551615,18446744073709551615 @@\n" => ParseError::NumberTooLarge { .. },
    }
}

#[test]
fn a_hunk_that_ends_too_early() {
    const MAX: usize = usize::MAX;
    refuses! {
        "@@ -1,2 +1,3 @@\n-a\n+b\n" =>
            ParseError::Truncated { line: 4, header_line: 1, n_before: 1, n_after: 2 },
        "@@ -1,2 +1,2 @@\n-a\n+b\n@@ -9 +9 @@\n-a\n+b\n" =>
            ParseError::Truncated { line: 4, header_line: 1, n_before: 1, n_after: 1 },
        "@@ -1,2 +1,2 @@\n-a\n+b\ndiff --git a b\n" => ParseError::Truncated { line: 4, .. },
        "@@ -1 +1 @@" => ParseError::Truncated { line: 2, .. },
        "@@ -1,18446744073709551615 +0,0 @@\n-a\n" => ParseError::Truncated { n_before: 18446744073709551614, .. },
        "@@ -0,0 +1,18446744073709551615 @@\n" => ParseError::Truncated { n_after: MAX, .. },
    }
}

#[test]
fn more_lines_than_are_counted() {
    refuses! {
        "@@ -1 +1 @@\n-a\n+b\n+c\n" => ParseError::TooManyLines { line: 4, header_line: 1 },
        "@@ -1 +1 @@\n-a\n+b\n c\n" => ParseError::TooManyLines { line: 4, .. },
        "@@ -1 +1 @@\n-a\n+b\n-c\n" => ParseError::TooManyLines { line: 4, .. },
        "@@ -1 +1 @@\n-a\n-b\n+c\n" => ParseError::TooManyLines { line: 3, header_line: 1 },
        "@@ -1 +1 @@\n-a\n b\n+c\n" => ParseError::TooManyLines { line: 3, .. },
        // A blank line or a signature does not hide the line after it.
        "@@ -1 +1 @@\n-a\n+b\n\n+c\n" => ParseError::TooManyLines { line: 5, .. },
        "@@ -1 +1 @@\n-a\n+b\n-- \n+c\n" => ParseError::TooManyLines { line: 5, .. },
        "@@ -1 +1 @@\n-a\n+b\n--- c\n+++ d\ne\n" => ParseError::TooManyLines { line: 4, .. },
    }
}

#[test]
fn a_line_without_sign() {
    refuses! {
        "@@ -1,2 +1,2 @@\n-a\n+b\nc\n" => ParseError::UnknownSign { line: 4, .. },
        "@@ -1,2 +1,2 @@\n-a\n+b\n\tc\n" => ParseError::UnknownSign { line: 4, .. },
        "@@ -1,2 +1,2 @@\n-a\n+b\n\\begin{x}\n" => ParseError::UnknownSign { line: 4, .. },
    }
}

#[test]
fn a_no_newline_marker_that_ends_no_side() {
    const MARKER: &str = "\\ No newline at end of file\n";
    let middle = format!("@@ -1,2 +1,2 @@\n a\n{MARKER}-b\n+c\n");
    let first = format!("@@ -1,2 +1 @@\n{MARKER}-a\n-b\n+c\n");
    let removed = format!("@@ -1,2 +1 @@\n-a\n{MARKER}-b\n+c\n");
    let twice = format!("@@ -1 +1 @@\n-a\n{MARKER}{MARKER}+c\n");
    let later = format!("@@ -1 +1 @@\n-a\n+c\n\n{MARKER}");
    let hunk_after = format!("@@ -1 +1 @@\n-a\n+c\n{MARKER}@@ -3 +3 @@\n-a\n+c\n");
    refuses! {
        middle => ParseError::MisplacedMarker { line: 3 },
        first => ParseError::MisplacedMarker { line: 2 },
        removed => ParseError::MisplacedMarker { line: 3 },
        twice => ParseError::MisplacedMarker { line: 4 },
        later => ParseError::MisplacedMarker { line: 5 },
        "@@ -1 +1 @@\n-a\n+c\n\\" => ParseError::MisplacedMarker { line: 4 },
        hunk_after => ParseError::MisplacedMarker { line: 4 },
    }
}

#[test]
fn a_no_newline_marker_after_a_line_of_which_nothing_would_be_left() {
    const MARKER: &str = "\\ No newline at end of file";
    let added = format!("@@ -1 +1,2 @@\n a\n+\n{MARKER}\n");
    let blank = format!("@@ -1,2 +1 @@\n-a\n\n{MARKER}\n");
    let crlf = format!("@@ -1 +1,2 @@\r\n a\r\n+\r\n{MARKER}\r\n");
    refuses! {
        added => ParseError::MisplacedMarker { line: 4 },
        blank => ParseError::MisplacedMarker { line: 4 },
        crlf => ParseError::MisplacedMarker { line: 4 },
    }
}

#[test]
fn hunks_out_of_order() {
    refuses! {
        "@@ -5 +5 @@\n-a\n+b\n@@ -1 +1 @@\n-a\n+b\n" =>
            ParseError::OutOfOrder { line: 4, start: 1, previous_end: 6 },
        "@@ -1,2 +1 @@\n-a\n-b\n+b\n@@ -2 +2 @@\n-a\n+b\n" => ParseError::OutOfOrder { line: 5, .. },
        "@@ -1,2 +1 @@\n-a\n-b\n+b\n@@ -1,0 +2 @@\n+b\n" => ParseError::OutOfOrder { line: 5, .. },
    }
    // Line numbers start again in the next file, and two insertions may touch.
    read("--- a\n+++ a\n@@ -5 +5 @@\n-a\n+b\n--- b\n+++ b\n@@ -1 +1 @@\n-a\n+b\n");
    read("@@ -1,0 +2 @@\n+a\n@@ -1,0 +3 @@\n+b\n");
}

#[test]
fn a_hunk_that_changes_nothing() {
    refuses! {
        "\n@@ -1,2 +1,2 @@\n a\n b\n" => ParseError::NoChange { line: 2 },
        "@@ -1,0 +1,0 @@\n" => ParseError::NoChange { line: 1 },
    }
}

#[test]
fn half_a_file_header() {
    refuses! {
        "--- a\n@@ -1 +1 @@\n-a\n+b\n" => ParseError::LoneFileHeader { line: 1, .. },
        "\n+++ a\n@@ -1 +1 @@\n-a\n+b\n" => ParseError::LoneFileHeader { line: 2, .. },
        "--- a\n+++ b\n" => ParseError::FileWithoutHunk { line: 3 },
        "--- a\n+++ b\n\n@@ -1 +1 @@\n-a\n+b\n" => ParseError::FileWithoutHunk { line: 3 },
    }
}

#[test]
fn formats_that_are_not_read() {
    refuses! {
        "diff --cc f\n--- a/f\n+++ b/f\n@@@ -1 -1 +1 @@@\n" => ParseError::Combined { line: 1 },
        "--- a/f\n+++ b/f\n@@@ -1 -1 +1 @@@\n- a\n" => ParseError::Combined { line: 3 },
        "diff --git a b\nGIT binary patch\nliteral 1\n" => ParseError::Binary { line: 2, .. },
        "Binary files a and b differ\n" => ParseError::Binary { line: 1, .. },
        format!("{PATCH}Binary files a and b differ\n{PATCH}") => ParseError::Binary { line: 8, .. },
        format!("Binary files a and b differ\n{PATCH}") => ParseError::Binary { line: 1, .. },
        format!("diff -r 12 x\nBinary file x has changed\n{PATCH}") => ParseError::Binary { .. },
    }
}

/// Where diffy reads a diff differently, and why. Each has a test of its name.
const DIVERGING: [(&str, &str); 3] = [
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
    check_divergences(&DIVERGING, include_str!("parse.rs"));
}

/// Tells whether diffy and we read the same hunks, apart from the newline of a heading.
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
