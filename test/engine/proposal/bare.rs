//! Bare diffs that break off in their last line, and lines without a newline.

use agent_q_diff_engine::patch::locate::NotPlaced;
use agent_q_diff_engine::review::Command::{Accept, Unapply};
use agent_q_diff_engine::review::Note;
use agent_q_diff_engine::weave::FlipError;

use super::{check_refused, offered, refusal};
use crate::common::desk::Desk;

/// Checks that `diff` makes `expected` of `live`, and can be taken out again.
#[track_caller]
fn check_there_and_back(diff: &str, live: &str, expected: &str) {
    let mut desk = Desk::of_diff(diff, live);
    desk.act(0, Accept).unwrap();
    assert_eq!(desk.text(), expected);
    desk.act(0, Unapply).unwrap();
    assert_eq!(desk.text(), live);
}

#[test]
fn where_the_diff_breaks_off_the_terminator_of_the_target_stays() {
    check_there_and_back("@@ -1,2 +1,2 @@\n a\n-b\n+B", "a\nb\n", "a\nB\n");
    check_there_and_back("@@ -1,2 +1,2 @@\n a\n-b\n+B", "a\nb", "a\nB");
    check_there_and_back("@@ -1,2 +1,2 @@\n-a\n+A\n b", "a\nb\n", "A\nb\n");
    check_there_and_back("@@ -1,2 +1,2 @@\n-a\n+A\n b", "a\nb", "A\nb");
    check_there_and_back("@@ -1,2 +1 @@\n a\n-b", "a\nb\n", "a\n");
    check_there_and_back("@@ -1,2 +1 @@\n a\n-b", "a\nb", "a\n");
    check_there_and_back("@@ -1,2 +1,2 @@\n a\n-b\n+B", "a\nb\nc\n", "a\nB\nc\n");
}

#[test]
fn where_the_diff_breaks_off_both_ends_of_its_last_line_count() {
    for (start, first) in [(3, 2), (9, 2), (1, 0)] {
        let diff = format!("@@ -{start} +{start} @@\n-b\n+B");
        let mut desk = Desk::of_diff(&diff, "b\nx\nb");
        let candidates = vec![0, 2];
        check_refused(&mut desk, 0, NotPlaced::Ambiguous { candidates });
        assert_eq!(offered(&desk, 0)[0], first);
        desk.act_at(0, 2, Accept).unwrap();
        assert_eq!(desk.text(), "b\nx\nB");
        desk.act(0, Unapply).unwrap();
        assert_eq!(desk.text(), "b\nx\nb");
        let mut desk = Desk::of_diff(&diff, "b\nx\nb");
        desk.act_at(0, 0, Accept).unwrap();
        assert_eq!(desk.text(), "B\nx\nb");
    }
}

#[test]
fn a_no_newline_marker_counts_also_where_the_diff_breaks_off() {
    let diff = "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a";
    check_there_and_back(diff, "a", "a\n");
    for live in ["a\n", "x\na\n"] {
        let mut desk = Desk::of_diff(diff, live);
        assert_eq!(desk.act(0, Accept), Ok(Note::AlreadyIn));
    }
}

#[test]
fn a_line_without_newline_is_not_glued_to_one_appended_by_the_diff() {
    let mut desk = Desk::of_diff("@@ -1 +1,2 @@\n a\n+b", "a");
    assert_eq!(refusal(&mut desk, 0, Accept), FlipError::Glued.into());
}
