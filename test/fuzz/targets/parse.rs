//! Reading diffs: any bytes give hunks whose counts agree or an error with its line, and a printed
//! diff is read back the same.
#![no_main]

#[allow(dead_code)]
#[path = "../../engine/common/compared.rs"]
mod compared;
#[allow(dead_code)]
#[path = "../../engine/common/desk.rs"]
mod desk;
mod input;

use agent_q_diff_engine::change::describe;
use agent_q_diff_engine::patch::codex::{self, Action};
use agent_q_diff_engine::patch::hunk::{Hunk, LineKind, print, print_hunks, unquoted};
use agent_q_diff_engine::patch::parse::{FileDiff, ParseError, ParsedHunk, parse};
use agent_q_diff_engine::proposal::Proposal;
use agent_q_diff_engine::review::Command;
use agent_q_diff_engine::text::Text;
use compared::{Sides, patched};
use desk::Desk;
use input::Input;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    check_any_text(bytes);
    check_two_texts(bytes);
});

fn check_any_text(text: &[u8]) {
    if let Ok(text) = str::from_utf8(text) {
        check_codex(text);
    }
    // Whatever it says, it says it.
    let _ = describe(text);
    match parse(text) {
        Ok(files) => {
            assert!(!files.is_empty());
            files.iter().for_each(|file| check_file(file, text));
        }
        Err(error) => check_error(&error, text),
    }
}

/// A patch of Codex's gives a text or an error, of whatever file.
fn check_codex(text: &str) {
    let patch = format!("*** Begin Patch\n*** Update File: f\n{text}\n*** End Patch");
    for file in codex::parse(&patch).unwrap_or_default() {
        if let Action::Update { chunks, .. } = file.action {
            let _ = codex::updated(text.as_bytes(), &chunks);
        }
    }
}

fn check_error(error: &ParseError, text: &[u8]) {
    use ParseError::*;
    let n_lines = Text::new(text.to_vec()).len();
    let (line, header_line) = match *error {
        NoHunk { n_lines: told } => return assert_eq!(told, n_lines),
        BadHeader { line, .. }
        | LineZero { line, .. }
        | NumberTooLarge { line, .. }
        | UnknownSign { line, .. }
        | MisplacedMarker { line }
        | OutOfOrder { line, .. }
        | NoChange { line }
        | LoneFileHeader { line, .. }
        | Combined { line }
        | Binary { line, .. }
        | Submodule { line, .. } => (line, None),
        TooManyLines { line, header_line } => (line, Some(header_line)),
        // The end of the text counts as the line after the last.
        FileWithoutHunk { line } => (line.min(n_lines), None),
        Truncated {
            line, header_line, ..
        } => (line.min(n_lines), Some(header_line)),
    };
    assert!((1..=n_lines).contains(&line), "{error}");
    assert!(header_line.is_none_or(|header_line| (1..=line).contains(&header_line)));
}

fn check_file(file: &FileDiff, text: &[u8]) {
    let lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
    let mut done = 0;
    for ParsedHunk { hunk, header_line } in &file.hunks {
        assert!(lines[*header_line].starts_with(b"@@ -"));
        assert!(hunk.before.start >= done);
        done = hunk.before.end;
        assert_eq!(hunk.pre_image().count(), hunk.before.len());
        assert_eq!(hunk.post_image().count(), hunk.after.len());
        assert!(hunk.lines.iter().any(|line| line.kind != LineKind::Context));
        // Memory is taken for lines of the text only, whatever a header states.
        assert!(hunk.lines.len() < lines.len());
        assert!(hunk.lines.capacity() <= 2 * hunk.lines.len().max(2));
        let inside = text.as_ptr_range();
        for line in &hunk.lines {
            let range = line.text.as_ptr_range();
            assert!(inside.start <= range.start && range.end <= inside.end);
        }
        check_does_what_it_says(hunk);
    }
    let hunks = hunks_of(file);
    check_reads_back(&print_hunks(&hunks).bytes, &hunks);
}

fn check_reads_back(printed: &[u8], hunks: &[Hunk]) {
    let files = parse(printed).expect("what was printed");
    assert_eq!(files.len(), 1);
    assert_eq!(hunks_of(&files[0]), hunks);
}

fn hunks_of<'a>(file: &FileDiff<'a>) -> Vec<Hunk<'a>> {
    let hunks = file.hunks.iter();
    hunks.map(|parsed| parsed.hunk.clone()).collect()
}

/// Checks that `hunk` makes its post-image of its pre-image.
fn check_does_what_it_says(hunk: &Hunk) {
    let whole = |side: Vec<&[u8]>, last: LineKind| {
        let is_open = hunk.is_open_ended && hunk.lines.last().is_some_and(|l| l.kind != last);
        [&side.concat()[..], if is_open { b"\n" } else { b"" }].concat()
    };
    let before = whole(hunk.pre_image().collect(), LineKind::Added);
    let after = whole(hunk.post_image().collect(), LineKind::Removed);
    let here = Hunk {
        before: 0..hunk.before.len(),
        after: 0..hunk.after.len(),
        ..hunk.clone()
    };
    let proposal = Proposal::from_diff(&print_hunks(&[here]).bytes).expect("one hunk");
    let mut desk = Desk::open(proposal, &before);
    desk.act(0, Command::Accept).expect("its own lines");
    assert_eq!(desk.live, after);
}

/// Checks that a diff of two texts is read back as it was printed, and patches.
fn check_two_texts(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let path = input.bytes(8);
    let context_len = input.below(5);
    let compared = input.pair().compared;
    let hunks = compared.hunks(context_len);
    let printed = print(path, &hunks);
    if hunks.is_empty() {
        assert_eq!(compared.original, compared.modified);
        assert_eq!(printed.bytes, b"");
        return;
    }
    let files = parse(&printed.bytes).expect("what was printed");
    let [file] = &files[..] else {
        panic!("{} files", files.len());
    };
    for name in [file.old_name, file.new_name] {
        assert_eq!(*unquoted(name.expect("a name")), *path);
    }
    let read = hunks_of(file);
    let header_lines: Vec<usize> = file.hunks.iter().map(|parsed| parsed.header_line).collect();
    assert_eq!(read, hunks);
    assert_eq!(header_lines, printed.header_lines);
    assert_eq!(
        patched(&compared.original, &read),
        compared.modified.bytes()
    );
}
