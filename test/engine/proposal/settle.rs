//! A place that the user names for a hunk of a bare diff.

use agent_q_diff_engine::patch::locate::NotPlaced;
use agent_q_diff_engine::review::Command::{Accept, Reject, Unapply};
use agent_q_diff_engine::review::{Note, Refusal};

use super::{IN_EQUAL_BLOCKS, ONE_LINE, check_place, offered};
use crate::common::desk::Desk;
use crate::common::texts::text;

#[test]
fn a_place_that_is_named_is_taken_and_given_back() {
    let before = text("- { } { } { } { }");
    let mut desk = Desk::of_diff(IN_EQUAL_BLOCKS, &before);
    assert_eq!(desk.act_at(0, 3, Accept), Ok(Note::Edited));
    assert_eq!(desk.text(), text("- { } { new } { } { }"));
    // The line added above has moved the other places.
    assert_eq!(offered(&desk, 1), [6, 8, 1]);
    let reason = desk.review.proposal().place(1).unwrap_err();
    assert_eq!(reason.candidates(), [1, 3, 6, 8]);
    assert_eq!(desk.act_at(1, 8, Accept), Ok(Note::Edited));
    assert_eq!(desk.text(), text("- { } { new } { } { new }"));
    desk.act(0, Unapply).unwrap();
    desk.act(1, Unapply).unwrap();
    assert_eq!(desk.text(), before);
}

#[test]
fn of_two_readings_at_one_line_either_can_be_named() {
    // Five equal lines: they can be four and the added one, or five without it.
    let diff = "@@ -2,4 +2,5 @@\n a\n a\n+a\n a\n a\n";
    let live = text("- a a a a a -");
    let mut desk = Desk::of_diff(diff, &live);
    let places = desk.review.proposal().candidates(0);
    let ways: Vec<_> = places
        .iter()
        .map(|place| (place.line, place.is_in))
        .collect();
    assert_eq!(ways, [(1, false), (1, true), (2, false)]);
    let plan = desk.review.plan_at(0, (1, Some(true)), Accept).unwrap();
    assert_eq!(plan.steps[0].1.note, Note::AlreadyIn);
    let mut desk = Desk::of_diff(diff, &live);
    let plan = desk.review.plan_at(0, (1, Some(false)), Accept).unwrap();
    assert_eq!(plan.steps[0].1.note, Note::Edited);
}

#[test]
fn only_a_place_where_the_lines_are_can_be_named() {
    let mut desk = Desk::of_diff(IN_EQUAL_BLOCKS, &text("- { } { } { } { }"));
    let candidates = vec![1, 3, 5, 7];
    let expected = Refusal::NotPlaced(NotPlaced::NotThere { candidates });
    assert_eq!(desk.act_at(0, 2, Accept), Err(expected));
    let mut desk = Desk::of_diff(ONE_LINE, &text("- a b c"));
    let candidates = vec![1];
    let expected = Refusal::NotPlaced(NotPlaced::NotThere { candidates });
    assert_eq!(desk.act_at(0, 0, Accept), Err(expected));
    assert_eq!(desk.act_at(0, 1, Accept), Ok(Note::Edited));
    let mut desk = Desk::of_diff(ONE_LINE, &text("- x b c"));
    let expected = Refusal::NotPlaced(NotPlaced::NotFound);
    assert_eq!(desk.act_at(0, 1, Accept), Err(expected));
}

#[test]
fn two_hunks_cannot_be_given_one_place() {
    let diff = "@@ -1,3 +1,3 @@\n a\n-b\n+1\n c\n@@ -5,3 +5,3 @@\n a\n-b\n+2\n c\n";
    let mut desk = Desk::of_diff(diff, &text("a b c a b c -"));
    desk.review.plan_at(0, (3, None), Reject).unwrap();
    assert_eq!(offered(&desk, 1), [0]);
    let candidates = vec![0];
    let expected = Refusal::NotPlaced(NotPlaced::NotThere { candidates });
    assert_eq!(desk.act_at(1, 3, Accept), Err(expected));
    assert_eq!(desk.act_at(1, 0, Accept), Ok(Note::Edited));
    assert_eq!(desk.text(), text("a 2 c a b c -"));
}

#[test]
fn a_named_place_stays_while_lines_elsewhere_are_rewritten() {
    let mut desk = Desk::of_diff(IN_EQUAL_BLOCKS, &text("- { } { } { } { }"));
    desk.act_at(0, 3, Accept).unwrap();
    // Of an edit of several lines only the lines inside it have to be searched.
    desk.edit_outside(0, 3, text("x y z { }").as_bytes(), false);
    assert_eq!(desk.text(), text("x y z { } { new } { } { }"));
    check_place(&desk, 0, 6, 4);
    desk.act(0, Unapply).unwrap();
    assert_eq!(desk.text(), text("x y z { } { } { } { }"));
}
