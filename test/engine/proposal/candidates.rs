//! Where a hunk of a bare diff may belong, and whether that is certain.

mod repeated;

use agent_q_diff_engine::patch::locate::{Doubt, NotPlaced};
use agent_q_diff_engine::review::Command::{Accept, Reject, Unapply};
use agent_q_diff_engine::review::{Fact, Note};

use super::{IN_EQUAL_BLOCKS, ONE_LINE, check_place, check_refused, offered};
use crate::common::desk::Desk;
use crate::common::texts::text;

#[test]
fn the_stated_line_alone_does_not_decide_between_equal_places() {
    // The lines are at four places, and language models get line numbers wrong.
    let mut desk = Desk::of_diff(IN_EQUAL_BLOCKS, &text("- { } { } { } { }"));
    for (hunk, stated) in [(0, 1), (1, 5)] {
        let candidates = vec![1, 3, 5, 7];
        check_refused(&mut desk, hunk, NotPlaced::Ambiguous { candidates });
        assert_eq!(offered(&desk, hunk)[0], stated);
    }
    let (plan, refused) = desk.plan_all();
    assert_eq!((plan.edits.len(), refused.len()), (0, 2));
}

#[test]
fn the_stated_place_is_offered_first_and_then_the_nearest() {
    let desk = Desk::of_diff(IN_EQUAL_BLOCKS, &text("- { } { } { } { }"));
    assert_eq!(offered(&desk, 0), [1, 3, 5, 7]);
    assert_eq!(offered(&desk, 1), [5, 3, 7, 1]);
    let desk = Desk::of_diff(IN_EQUAL_BLOCKS, &text("- - { } - - - { }"));
    assert_eq!(offered(&desk, 0), [2, 7]);
    assert_eq!(offered(&desk, 1), [7, 2]);
}

#[test]
fn a_tie_away_from_the_expected_line_is_refused_and_the_places_are_told() {
    let mut desk = Desk::of_diff(IN_EQUAL_BLOCKS, &text("x y { } { } - - { }"));
    for hunk in 0..2 {
        let candidates = vec![2, 4, 8];
        check_refused(&mut desk, hunk, NotPlaced::Ambiguous { candidates });
    }
}

#[test]
fn hunks_that_are_in_move_the_expected_line_of_those_below() {
    let mut desk = Desk::of_diff(IN_EQUAL_BLOCKS, &text("- { new } { } { } { }"));
    // The first hunk can belong to one of the other blocks, too.
    assert_eq!(desk.review.fact(0), Fact::Out);
    assert_eq!(desk.act_at(0, 1, Accept), Ok(Note::AlreadyIn));
    assert_eq!(desk.review.fact(0), Fact::In);
    assert_eq!(offered(&desk, 1)[0], 6);
    desk.review.plan_at(1, (6, None), Reject).unwrap();
    check_place(&desk, 1, 7, 0);
}

#[test]
fn a_hunk_without_context_below_belongs_at_the_end_of_the_file() {
    // Whatever line is stated, as in git apply (match_end) and GNU patch (suffix_fuzz).
    for (diff, before, after) in [
        (
            "@@ -1,2 +1,3 @@\n {\n }\n+new\n",
            "{ } { } { }",
            "{ } { } { } new",
        ),
        (
            "@@ -1,2 +1,2 @@\n {\n-}\n+]\n",
            "{ } { } { }",
            "{ } { } { ]",
        ),
        ("@@ -1,2 +1 @@\n {\n-}\n", "{ } { } { }", "{ } { } {"),
    ] {
        let mut desk = Desk::of_diff(diff, &text(before));
        assert_eq!(desk.act(0, Accept), Ok(Note::Edited));
        assert_eq!(desk.text(), text(after));
        let desk = Desk::of_diff(diff, &text(after));
        // A hunk that only removes lines leaves just its context, which is elsewhere, too.
        let is_left = diff.contains('+') && !diff.contains("+1 @@");
        assert_eq!(desk.review.fact(0) == Fact::In, is_left);
    }
}

#[test]
fn a_hunk_without_context_above_belongs_at_the_beginning() {
    let diff = "@@ -1,2 +1,3 @@\n+new\n {\n }\n";
    let mut desk = Desk::of_diff(diff, &text("{ } { } { }"));
    assert_eq!(desk.act(0, Accept), Ok(Note::Edited));
    assert_eq!(desk.text(), text("new { } { } { }"));
    assert_eq!(Desk::of_diff(diff, &desk.text()).review.fact(0), Fact::In);
    // Its header states another line, so it was not made at the beginning.
    let mut desk = Desk::of_diff(
        &diff.replace("-1,2 +1,3", "-3,2 +3,3"),
        &text("{ } { } { }"),
    );
    let candidates = vec![0, 2, 4];
    check_refused(&mut desk, 0, NotPlaced::Ambiguous { candidates });
}

#[test]
fn lines_for_an_end_of_the_file_are_doubtful_where_others_added_some_there() {
    let mut desk = Desk::of_diff("@@ -1,2 +1,3 @@\n a\n b\n+new\n", &text("x a b theirs"));
    let (candidates, doubt) = (vec![1], Doubt::NotAtEnd);
    check_refused(&mut desk, 0, NotPlaced::Doubtful { candidates, doubt });
    assert_eq!(desk.act_at(0, 1, Accept), Ok(Note::Edited));
    assert_eq!(desk.text(), text("x a b new theirs"));
    let mut desk = Desk::of_diff("@@ -1,2 +1,3 @@\n+new\n a\n b\n", &text("theirs a b"));
    let (candidates, doubt) = (vec![1], Doubt::NotAtTop);
    check_refused(&mut desk, 0, NotPlaced::Doubtful { candidates, doubt });
}

#[test]
fn a_line_above_the_first_hunk_does_not_refuse_it() {
    // git apply refuses it (match_beginning), although its lines are at one place only.
    let diff = "@@ -1,3 +1,3 @@\n-a\n+A\n b\n c\n";
    let mut desk = Desk::of_diff(diff, &text("above a b c"));
    check_place(&desk, 0, 1, 1);
    desk.act(0, Accept).unwrap();
    assert_eq!(desk.text(), text("above A b c"));
}

#[test]
fn without_any_context_a_hunk_says_nothing_of_its_place() {
    // All hunks of diff -U0 are like this, wherever they are.
    let diff = "@@ -2 +2 @@\n-a\n+A\n";
    let mut desk = Desk::of_diff(diff, &text("x a y a"));
    let candidates = vec![1, 3];
    check_refused(&mut desk, 0, NotPlaced::Ambiguous { candidates });
    let mut desk = Desk::of_diff(diff, &text("x y a z"));
    check_place(&desk, 0, 2, 1);
    desk.act(0, Accept).unwrap();
    assert_eq!(desk.text(), text("x y A z"));
}

#[test]
fn one_equal_line_is_no_proof_that_a_hunk_without_context_is_in() {
    let diff = "@@ -2 +2 @@\n-a\n+A\n";
    for live in ["A x y", "x A y"] {
        let mut desk = Desk::of_diff(diff, &text(live));
        let at = usize::from(live.starts_with('x'));
        let (candidates, doubt) = (vec![at], Doubt::NoContext);
        check_refused(&mut desk, 0, NotPlaced::Doubtful { candidates, doubt });
        assert_eq!(desk.review.fact(0), Fact::Out);
        // The user may know better.
        assert_eq!(desk.act_at(0, at, Accept), Ok(Note::AlreadyIn));
    }
    // The whole file is proof.
    let mut desk = Desk::of_diff("@@ -1 +1 @@\n-a\n+A\n", &text("A"));
    assert_eq!(desk.act(0, Accept), Ok(Note::AlreadyIn));
}

#[test]
fn the_last_lines_of_a_file_are_not_in_already_in_the_middle_of_it() {
    let diff = "@@ -1,3 +1,3 @@\n a\n b\n-c\n\\ No newline at end of file\n+c\n";
    for live in ["a b c more", "a b c a b"] {
        let mut desk = Desk::of_diff(diff, &text(live));
        assert_eq!(desk.review.fact(0), Fact::Out);
        check_refused(&mut desk, 0, NotPlaced::NotFound);
    }
    let mut desk = Desk::of_diff(diff, &text("x a b c"));
    assert_eq!(desk.act(0, Accept), Ok(Note::AlreadyIn));
}

#[test]
fn a_place_other_than_the_expected_is_reported() {
    let mut desk = Desk::of_diff(ONE_LINE, &text("above all a b c"));
    check_place(&desk, 0, 3, 2);
    assert_eq!(desk.act(0, Accept), Ok(Note::Edited));
    assert_eq!(desk.text(), text("above all a B c"));
}

#[test]
fn a_hunk_below_its_place_is_found_above() {
    let diff = ONE_LINE.replace("-1,3 +1,3", "-9,3 +9,3");
    check_place(&Desk::of_diff(&diff, &text("a b c d")), 0, 1, -8);
}

#[test]
fn what_is_in_already_is_marked_and_not_done_twice() {
    for live in ["a B c", "above all a B c"] {
        let mut desk = Desk::of_diff(ONE_LINE, &text(live));
        assert_eq!(desk.review.fact(0), Fact::In);
        assert_eq!(desk.act(0, Accept), Ok(Note::AlreadyIn));
        assert_eq!(desk.text(), text(live));
    }
}

#[test]
fn at_the_stated_line_both_sides_are_a_tie_too() {
    let mut desk = Desk::of_diff(ONE_LINE, &text("a B c a b c"));
    let candidates = vec![0, 3];
    check_refused(&mut desk, 0, NotPlaced::Ambiguous { candidates });
    assert_eq!(desk.act_at(0, 0, Accept), Ok(Note::AlreadyIn));
    assert_eq!(desk.text(), text("a B c a b c"));
    let mut desk = Desk::of_diff(ONE_LINE, &text("a B c a b c"));
    assert_eq!(desk.act_at(0, 3, Accept), Ok(Note::Edited));
    assert_eq!(desk.text(), text("a B c a B c"));
}

#[test]
fn away_from_the_expected_line_both_sides_are_a_tie() {
    let mut desk = Desk::of_diff(ONE_LINE, &text("x a B c a b c"));
    let candidates = vec![1, 4];
    check_refused(&mut desk, 0, NotPlaced::Ambiguous { candidates });
}

#[test]
fn lines_appended_to_the_file_are_not_appended_twice() {
    let diff = "@@ -1,2 +1,3 @@\n a\n b\n+c\n";
    for live in ["a b c", "x a b c"] {
        let mut desk = Desk::of_diff(diff, &text(live));
        assert_eq!(desk.act(0, Accept), Ok(Note::AlreadyIn));
        assert_eq!(desk.text(), text(live));
    }
    let mut desk = Desk::of_diff(diff, &text("a b"));
    assert_eq!(desk.act(0, Accept), Ok(Note::Edited));
    assert_eq!(desk.text(), text("a b c"));
}

#[test]
fn lines_that_are_not_there_are_not_found() {
    for live in ["a x c", "A b c", "a b", "ab c"] {
        let mut desk = Desk::of_diff(ONE_LINE, &text(live));
        check_refused(&mut desk, 0, NotPlaced::NotFound);
    }
    check_refused(&mut Desk::of_diff(ONE_LINE, ""), 0, NotPlaced::NotFound);
    let crlf = text("a b c").replace('\n', "\r\n");
    check_refused(&mut Desk::of_diff(ONE_LINE, &crlf), 0, NotPlaced::NotFound);
}

#[test]
fn an_insertion_without_context_is_refused() {
    let mut desk = Desk::of_diff("@@ -2,0 +3 @@\n+new\n", &text("a b c"));
    check_refused(&mut desk, 0, NotPlaced::NoContext);
    let mut desk = Desk::of_diff("@@ -2,0 +3 @@\n+c\n", &text("a b c"));
    check_refused(&mut desk, 0, NotPlaced::NoContext);
}

#[test]
fn an_insertion_without_context_fits_an_empty_file() {
    let mut desk = Desk::of_diff("@@ -0,0 +1,2 @@\n+a\n+b\n", "");
    desk.act(0, Accept).unwrap();
    assert_eq!(desk.text(), text("a b"));
    desk.act(0, Unapply).unwrap();
    assert_eq!(desk.text(), "");
}

#[test]
fn a_deletion_without_context_whose_lines_are_not_there_is_not_said_to_be_done() {
    let mut desk = Desk::of_diff("@@ -2 +1,0 @@\n-b\n", &text("a x"));
    assert_eq!(desk.review.fact(0), Fact::Out);
    check_refused(&mut desk, 0, NotPlaced::NotFound);
}

#[test]
fn a_deletion_without_context_does_not_ask_for_context_where_the_text_just_ends_there() {
    let mut desk = Desk::of_diff("@@ -2 +1,0 @@\n-b\n", &text("a"));
    check_refused(&mut desk, 0, NotPlaced::NotFound);
}

#[test]
fn a_deletion_without_context_can_be_taken_back_though_another_hunk_has_no_place() {
    let diff = "@@ -2 +1,0 @@\n-b\n@@ -9 +8 @@\n-x\n+y\n";
    let mut desk = Desk::of_diff(diff, &text("a b c"));
    desk.act(0, Accept).unwrap();
    assert_eq!(desk.text(), text("a c"));
    desk.act(0, Unapply).unwrap();
    assert_eq!(desk.text(), text("a b c"));
}

#[test]
fn an_ambiguous_other_side_is_not_said_to_be_in() {
    let mut desk = Desk::of_diff(ONE_LINE, &text("x a B c a B c"));
    assert_eq!(desk.review.fact(0), Fact::Out);
    let candidates = vec![1, 4];
    check_refused(&mut desk, 0, NotPlaced::Ambiguous { candidates });
}

#[test]
fn of_two_hunks_that_fit_one_place_the_expected_one_gets_it() {
    let diff = "@@ -1,2 +1,2 @@\n a\n-b\n+1\n@@ -5,2 +5,2 @@\n a\n-b\n+2\n";
    let mut desk = Desk::of_diff(diff, &text("v w x y a b"));
    check_refused(&mut desk, 0, NotPlaced::Overlaps { other: 1 });
    desk.act(1, Accept).unwrap();
    assert_eq!(desk.text(), text("v w x y a 2"));
}

#[test]
fn two_hunks_that_fit_one_unexpected_place_are_both_refused() {
    let diff = "@@ -1,2 +1,2 @@\n a\n-b\n+1\n@@ -5,2 +5,2 @@\n a\n-b\n+2\n";
    let mut desk = Desk::of_diff(diff, &text("x a b"));
    check_refused(&mut desk, 0, NotPlaced::Overlaps { other: 1 });
    check_refused(&mut desk, 1, NotPlaced::Overlaps { other: 0 });
    assert_eq!(desk.plan_all().0.edits, []);
}
