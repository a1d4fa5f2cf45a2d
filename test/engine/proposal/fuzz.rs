//! Hunks of a bare diff whose outermost context lines differ in the target.

use agent_q_diff_engine::patch::locate::NotPlaced;
use agent_q_diff_engine::review::Command::{Accept, Unapply};
use agent_q_diff_engine::review::Refusal;

use crate::common::desk::Desk;
use crate::common::texts::text;

/// A changed line between three lines of context on each side, as GNU diff writes it.
const DIFF: &str = "\
@@ -3,7 +3,7 @@
 a
 b
 c
-old
+new
 d
 e
 f
";

/// Checks that `DIFF` applies to `before`, with this fuzz and offset, and can be taken out again.
#[track_caller]
fn check(before: &str, after: &str, fuzz: usize, offset: isize) {
    let mut desk = Desk::of_diff(DIFF, &text(before));
    let place = desk.review.proposal().place(0).expect("a place");
    assert_eq!(
        (desk.review.proposal().fuzz(0), place.offset),
        (fuzz, offset)
    );
    desk.act(0, Accept).unwrap();
    assert_eq!(desk.text(), text(after));
    desk.act(0, Unapply).unwrap();
    assert_eq!(desk.text(), text(before));
}

#[track_caller]
fn check_refused(before: &str, reason: NotPlaced) {
    let mut desk = Desk::of_diff(DIFF, &text(before));
    assert_eq!(desk.act(0, Accept), Err(Refusal::NotPlaced(reason)));
    assert_eq!(desk.text(), text(before));
}

#[test]
fn without_fuzz_where_all_lines_match() {
    check("1 2 a b c old d e f", "1 2 a b c new d e f", 0, 0);
}

#[test]
fn the_targets_own_context_lines_stay_as_they_are() {
    check("1 2 A b c old d e F", "1 2 A b c new d e F", 1, 0);
    check("1 2 A B c old d E F", "1 2 A B c new d E F", 2, 0);
}

#[test]
fn with_an_offset_as_well() {
    check("1 2 3 4 A b c old d e f", "1 2 3 4 A b c new d e f", 1, 2);
    check("A b c old d e f", "A b c new d e f", 1, -2);
}

#[test]
fn one_line_of_context_on_each_side_must_match() {
    check_refused("1 2 A B C old d e f", NotPlaced::NotFound);
    check_refused("1 2 a b c old D E F", NotPlaced::NotFound);
}

#[test]
fn what_the_hunk_changes_must_match() {
    check_refused("1 2 a b c OLD d e f", NotPlaced::NotFound);
}

#[test]
fn a_tie_is_refused_even_where_the_line_number_would_tell() {
    let candidates = vec![3, 11];
    check_refused(
        "1 2 A b c old d e f 9 B b c old d e f",
        NotPlaced::Ambiguous { candidates },
    );
}

#[test]
fn less_fuzz_wins_over_more() {
    // With fuzz 2 there would be a tie.
    check(
        "1 2 A B c old d E F 9 A b c old d e F",
        "1 2 A B c old d E F 9 A b c new d e F",
        1,
        8,
    );
}

#[test]
fn no_fuzz_without_context() {
    let mut desk = Desk::of_diff("@@ -3 +3 @@\n-old\n+new\n", &text("1 2 OLD"));
    assert_eq!(
        desk.act(0, Accept),
        Err(Refusal::NotPlaced(NotPlaced::NotFound))
    );
}

#[test]
fn a_hunk_that_shows_the_beginning_of_the_file_has_no_context_to_give_there() {
    let diff = "@@ -1,4 +1,4 @@\n-old\n+new\n d\n e\n f\n";
    let mut desk = Desk::of_diff(diff, &text("old d e F"));
    assert_eq!(desk.review.proposal().fuzz(0), 1);
    desk.act(0, Accept).unwrap();
    assert_eq!(desk.text(), text("new d e F"));
}

#[test]
fn once_applied_it_is_found_again_after_an_outside_change() {
    let mut desk = Desk::of_diff(DIFF, &text("1 2 A b c old d e F"));
    desk.act(0, Accept).unwrap();
    desk.becomes(&text("0 1 2 A b c new d e F"));
    desk.act(0, Unapply).unwrap();
    assert_eq!(desk.text(), text("0 1 2 A b c old d e F"));
}
