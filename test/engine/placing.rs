//! Where hunks are found in a target that is not the original, or whose original is not known.

use agent_q_diff_engine::patch::locate::{Doubt, NotPlaced};
use agent_q_diff_engine::proposal::{Proposal, ProposalError, Side};
use agent_q_diff_engine::review::{Command, Fact, Note, Refusal};
use agent_q_diff_engine::weave::FlipError::{self, ChangedByUser, NeighborsGone};

use crate::target::Desk;

use Command::{Accept, Reject, Unapply};

/// Returns the text whose lines are the words of `words`.
fn text(words: &str) -> String {
    words.split(' ').map(|word| format!("{word}\n")).collect()
}

/// Returns the refusal of `command`, and checks that nothing changed.
#[track_caller]
fn refusal(desk: &mut Desk, hunk: usize, command: Command) -> Refusal {
    let before = (desk.text(), desk.review.mark(hunk), desk.review.fact(hunk));
    let refusal = desk.act(hunk, command).expect_err("a refusal");
    assert_eq!(desk.review.proposal().target(), desk.live);
    let after = (desk.text(), desk.review.mark(hunk), desk.review.fact(hunk));
    assert_eq!(after, before);
    refusal
}

#[track_caller]
fn check_refused(desk: &mut Desk, hunk: usize, reason: NotPlaced) {
    assert_eq!(refusal(desk, hunk, Accept), Refusal::NotPlaced(reason));
}

#[track_caller]
fn check_conflict(desk: &mut Desk, hunk: usize, reason: FlipError) {
    assert_eq!(refusal(desk, hunk, Accept), Refusal::Flip(reason));
}

#[track_caller]
fn check_place(desk: &Desk, hunk: usize, line: usize, offset: isize) {
    let place = desk.review.proposal().place(hunk).expect("a place");
    assert_eq!((place.line, place.offset), (line, offset));
}

/// Two of many equal blocks get a line each, as a diff shows it.
const IN_EQUAL_BLOCKS: &str = "\
@@ -2,2 +2,3 @@
 {
+new
 }
@@ -6,2 +7,3 @@
 {
+new
 }
";

#[test]
fn in_equal_blocks_a_rejected_hunk_does_not_move_the_next() {
    // diff-mode, git apply and diffy search from the new start, line 7, as if hunk 1 were in.
    let mut desk = named(IN_EQUAL_BLOCKS, &text("- { } { } { } { }"));
    desk.act(0, Reject).unwrap();
    desk.act(1, Accept).unwrap();
    assert_eq!(desk.text(), text("- { } { } { new } { }"));
}

#[test]
fn in_equal_blocks_hunks_can_be_taken_in_any_order_and_back() {
    let mut desk = named(IN_EQUAL_BLOCKS, &text("- { } { } { } { }"));
    desk.act(1, Accept).unwrap();
    desk.act(0, Accept).unwrap();
    assert_eq!(desk.text(), text("- { new } { } { new } { }"));
    desk.act(1, Unapply).unwrap();
    assert_eq!(desk.text(), text("- { new } { } { } { }"));
}

/// Opens a review of `diff`, of which git says that `live` is the text before the change.
fn named(diff: &str, live: &str) -> Desk {
    let mut proposal = Proposal::from_diff(diff.as_bytes()).expect("a diff");
    assert!(proposal.adopt(live.as_bytes(), Side::Old));
    Desk::open(proposal, live.as_bytes())
}

#[test]
fn the_stated_line_alone_does_not_decide_between_equal_places() {
    // The lines are at four places, and models get line numbers wrong.
    let mut desk = Desk::of_diff(IN_EQUAL_BLOCKS, &text("- { } { } { } { }"));
    for (hunk, stated) in [(0, 1), (1, 5)] {
        let candidates = vec![1, 3, 5, 7];
        check_refused(&mut desk, hunk, NotPlaced::Ambiguous { candidates });
        assert_eq!(offered(&desk, hunk)[0], stated);
    }
    let (plan, refused) = desk.review.plan_all();
    assert_eq!((plan.edits.len(), refused.len()), (0, 2));
}

/// Returns the lines at which `hunk` may belong, in the order in which they are offered.
fn offered(desk: &Desk, hunk: usize) -> Vec<usize> {
    let candidates = desk.review.proposal().candidates(hunk);
    candidates.iter().map(|place| place.line).collect()
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
fn a_place_that_is_named_is_taken_and_given_back() {
    let before = text("- { } { } { } { }");
    let mut desk = Desk::of_diff(IN_EQUAL_BLOCKS, &before);
    assert_eq!(desk.act_at(0, 3, Accept), Ok(Note::Edited));
    assert_eq!(desk.text(), text("- { } { new } { } { }"));
    // What was added above has moved the others.
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
fn of_two_ways_to_fit_one_line_either_can_be_named() {
    // One line more or less of five that are equal: nobody can tell by them what was done.
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
    // Several lines at once: what is inside has to be searched, what is outside has not.
    desk.edit_outside(0, 3, text("x y z { }").as_bytes(), false);
    assert_eq!(desk.text(), text("x y z { } { new } { } { }"));
    check_place(&desk, 0, 6, 4);
    desk.act(0, Unapply).unwrap();
    assert_eq!(desk.text(), text("x y z { } { } { } { }"));
}

/// Three hunks: the first and the last change lines that are there once.
const BETWEEN: &str = "\
@@ -1,2 +1,2 @@
-top
+TOP
 {
@@ -4,2 +4,3 @@
 {
+new
 }
@@ -9,2 +10,2 @@
 }
-end
+END
";

#[test]
fn neighbors_that_moved_alike_vouch_for_the_stated_line() {
    let live = text("top { } { } { } { } end");
    let mut desk = Desk::of_diff(BETWEEN, &live);
    check_place(&desk, 1, 4, 0);
    desk.act(1, Accept).unwrap();
    assert_eq!(desk.text(), text("top { } { new } { } { } end"));
    // With lines above all of them, and the first one in.
    let mut desk = Desk::of_diff(BETWEEN, &text("x y TOP { } { } { } { } end"));
    assert_eq!(desk.review.fact(0), Fact::In);
    check_place(&desk, 1, 6, 2);
    desk.act(1, Accept).unwrap();
    assert_eq!(desk.text(), text("x y TOP { } { new } { } { } end"));
}

#[test]
fn neighbors_that_moved_differently_do_not_vouch() {
    let mut desk = Desk::of_diff(BETWEEN, &text("top { } { } { } end"));
    let candidates = vec![1, 3, 5];
    check_refused(&mut desk, 1, NotPlaced::Ambiguous { candidates });
    let mut desk = Desk::of_diff(BETWEEN, &text("x top { } { } { } { } end"));
    check_place(&desk, 1, 5, 1);
    desk.becomes(&text("x top { } { } { } { } y end"));
    let candidates = vec![2, 4, 6, 8];
    check_refused(&mut desk, 1, NotPlaced::Ambiguous { candidates });
}

#[test]
fn a_neighbor_on_one_side_does_not_vouch() {
    let (head, tail) = BETWEEN.split_at(BETWEEN.find("@@ -9").unwrap());
    let mut desk = Desk::of_diff(head, &text("top { } { } { } { } end"));
    let candidates = vec![1, 3, 5, 7];
    check_refused(
        &mut desk,
        1,
        NotPlaced::Ambiguous {
            candidates: candidates.clone(),
        },
    );
    let middle = &head[head.find("@@ -4").unwrap()..];
    let mut desk = Desk::of_diff(&format!("{middle}{tail}"), &text("top { } { } { } { } end"));
    check_refused(&mut desk, 0, NotPlaced::Ambiguous { candidates });
}

#[test]
fn neighbors_vouch_also_for_what_is_in_already() {
    let desk = Desk::of_diff(BETWEEN, &text("top { } { new } { new } { } end"));
    // Two blocks have the line already; the numbers fit only if the stated one was given it.
    let reason = desk.review.proposal().place(1).unwrap_err();
    assert_eq!(reason.candidates(), [1, 3, 6, 9]);
    let desk = Desk::of_diff(
        &BETWEEN.replace("-9,2 +10,2", "-10,2 +11,2"),
        &text("top { } { new } { new } { } end"),
    );
    assert_eq!(desk.review.fact(1), Fact::In);
    check_place(&desk, 1, 4, 0);
}

#[test]
fn two_whole_texts_of_equal_blocks_know_their_places() {
    let original = text("- { } { } { } { } { } { }");
    let modified = text("- { new } { } { } { } { new } { }");
    let mut desk = Desk::of_texts(&original, &modified);
    desk.act(0, Reject).unwrap();
    desk.act(1, Accept).unwrap();
    assert_eq!(desk.text(), text("- { } { } { } { } { new } { }"));
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
    // The other blocks can be the one that the first hunk is for, as well.
    assert_eq!(desk.review.fact(0), Fact::Out);
    assert_eq!(desk.act_at(0, 1, Accept), Ok(Note::AlreadyIn));
    assert_eq!(desk.review.fact(0), Fact::In);
    assert_eq!(offered(&desk, 1)[0], 6);
    desk.review.plan_at(1, (6, None), Reject).unwrap();
    check_place(&desk, 1, 7, 0);
}

#[test]
fn a_hunk_without_context_below_belongs_at_the_end_of_the_file() {
    // As git apply (match_end) and GNU patch (suffix_fuzz) have it, whatever line is stated.
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
        // Of a hunk that only removes lines the context alone is left, and it is elsewhere as well.
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
    // Its header states another line: then it was not made there.
    let mut desk = Desk::of_diff(
        &diff.replace("-1,2 +1,3", "-3,2 +3,3"),
        &text("{ } { } { }"),
    );
    let candidates = vec![0, 2, 4];
    check_refused(&mut desk, 0, NotPlaced::Ambiguous { candidates });
}

#[test]
fn lines_added_at_an_end_wait_where_others_have_added_some_there() {
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
    // git apply refuses it (match_beginning); its own lines are at one place.
    let diff = "@@ -1,3 +1,3 @@\n-a\n+A\n b\n c\n";
    let mut desk = Desk::of_diff(diff, &text("above a b c"));
    check_place(&desk, 0, 1, 1);
    desk.act(0, Accept).unwrap();
    assert_eq!(desk.text(), text("above A b c"));
}

#[test]
fn without_any_context_a_hunk_says_nothing_of_its_place() {
    // diff -U0 makes every hunk so, wherever it is.
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
        // Whoever looks may know better.
        assert_eq!(desk.act_at(0, at, Accept), Ok(Note::AlreadyIn));
    }
    // All of the file is proof.
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

const ONE_LINE: &str = "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n";

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
fn of_two_hunks_that_fit_one_place_the_one_that_is_expected_there_has_it() {
    let diff = "@@ -1,2 +1,2 @@\n a\n-b\n+1\n@@ -5,2 +5,2 @@\n a\n-b\n+2\n";
    let mut desk = Desk::of_diff(diff, &text("v w x y a b"));
    check_refused(&mut desk, 0, NotPlaced::Overlaps { other: 1 });
    desk.act(1, Accept).unwrap();
    assert_eq!(desk.text(), text("v w x y a 2"));
}

#[test]
fn of_two_hunks_that_fit_one_unexpected_place_neither_has_it() {
    let diff = "@@ -1,2 +1,2 @@\n a\n-b\n+1\n@@ -5,2 +5,2 @@\n a\n-b\n+2\n";
    let mut desk = Desk::of_diff(diff, &text("x a b"));
    check_refused(&mut desk, 0, NotPlaced::Overlaps { other: 1 });
    check_refused(&mut desk, 1, NotPlaced::Overlaps { other: 0 });
    assert_eq!(desk.review.plan_all().0.edits, []);
}

#[test]
fn the_same_target_again_is_no_news() {
    let mut desk = Desk::of_diff(ONE_LINE, &text("a x c"));
    assert!(!desk.review.follow(text("a x c").as_bytes()));
    assert!(desk.review.follow(text("a b c").as_bytes()));
    assert!(!desk.review.follow(text("a b c").as_bytes()));
}

#[test]
fn no_hunk_can_follow_the_end_of_the_file() {
    let diff = "@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n@@ -3 +3 @@\n-c\n+d\n";
    let error = Proposal::from_diff(diff.as_bytes()).unwrap_err();
    assert!(matches!(error, ProposalError::Malformed(_)));
}

#[test]
fn one_file_at_a_time() {
    let one = "--- f\n+++ f\n@@ -1 +1 @@\n-a\n+b\n";
    let error = Proposal::from_diff(one.repeat(2).as_bytes()).unwrap_err();
    assert_eq!(error, ProposalError::SeveralFiles { n_files: 2 });
}

#[test]
fn a_proposal_that_changes_nothing_is_an_error() {
    let proposal = Proposal::from_texts(b"a".to_vec(), b"a".to_vec(), 3);
    assert_eq!(proposal.unwrap_err(), ProposalError::Identical);
}

/// Applies `diff` to `live` and takes it back.
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

#[test]
fn a_newline_is_not_taken_from_a_line_that_is_no_longer_the_last() {
    let mut desk = Desk::of_texts("1\n2\n3\na\n", "1\n2\n3\na");
    desk.becomes("1\n2\n3\na\nb\n");
    assert_eq!(refusal(&mut desk, 0, Accept), FlipError::Glued.into());
    let (plan, refused) = desk.review.plan_all();
    assert_eq!(plan.edits, []);
    assert_eq!(refused, [(0, FlipError::Glued.into())]);
}

#[test]
fn accept_all_leaves_out_what_would_glue_lines_and_no_more() {
    let original = "A\n1\n2\n3\n4\n5\n6\n7\nz\n";
    let mut desk = Desk::of_texts(original, &format!("B{}", &original[1..original.len() - 1]));
    desk.becomes(&format!("{original}more\n"));
    let (plan, refused) = desk.review.plan_all();
    assert_eq!(refused, [(1, FlipError::Glued.into())]);
    desk.carry_out(&plan);
    assert_eq!(desk.text(), format!("B{}more\n", &original[1..]));
}

#[test]
fn a_newline_stays_where_lines_were_typed_after_it() {
    let mut desk = Desk::of_texts("1\n2\n3\na", "1\n2\n3\na\n");
    desk.act(0, Accept).unwrap();
    desk.becomes("1\n2\n3\na\nb\n");
    assert_eq!(refusal(&mut desk, 0, Unapply), FlipError::Glued.into());
}

const ORIGINAL: &str = "one two three four five six seven eight nine ten";
const MODIFIED: &str = "ONE two three four five six seven eight nine TEN more";

fn desk() -> Desk {
    Desk::of_texts(&text(ORIGINAL), &text(MODIFIED))
}

#[test]
fn a_line_typed_above_all_moves_every_hunk_and_is_kept() {
    let mut desk = desk();
    desk.becomes(&text(&format!("typed {ORIGINAL}")));
    check_place(&desk, 0, 1, 1);
    check_place(&desk, 1, 10, 1);
    desk.act(1, Accept).unwrap();
    desk.act(0, Accept).unwrap();
    assert_eq!(desk.text(), text(&format!("typed {MODIFIED}")));
    desk.act(1, Unapply).unwrap();
    desk.act(0, Unapply).unwrap();
    assert_eq!(desk.text(), text(&format!("typed {ORIGINAL}")));
}

#[test]
fn a_hunk_whose_lines_were_changed_is_refused_and_the_others_still_apply() {
    let mut desk = desk();
    desk.becomes(&text(ORIGINAL).replace("one", "mine"));
    check_conflict(&mut desk, 0, ChangedByUser { line: 0 });
    desk.act(1, Accept).unwrap();
    assert_eq!(desk.text(), text(MODIFIED).replace("ONE", "mine"));
}

#[test]
fn a_change_that_is_taken_back_gives_every_place_back() {
    let mut desk = desk();
    desk.act(1, Accept).unwrap();
    let before = desk.text();
    desk.becomes("nothing of it\n");
    check_conflict(&mut desk, 0, ChangedByUser { line: 0 });
    desk.becomes(&before);
    assert_eq!(desk.review.fact(1), Fact::In);
    check_place(&desk, 0, 0, 0);
    check_place(&desk, 1, 9, 0);
    desk.act(0, Accept).unwrap();
    assert_eq!(desk.text(), text(MODIFIED));
}

#[test]
fn the_same_change_typed_by_hand_is_in() {
    let mut desk = desk();
    desk.becomes(&text(ORIGINAL).replace("one", "ONE"));
    assert_eq!(desk.act(0, Accept), Ok(Note::AlreadyIn));
    desk.becomes(&text(&format!("typed {MODIFIED}")));
    assert_eq!(desk.act(1, Accept), Ok(Note::AlreadyIn));
}

#[test]
fn of_equal_blocks_the_one_that_is_left_need_not_be_the_hunks_own() {
    let original = text("{ a b c d } - { a b c d } - x");
    let modified = text("{ a b c d } - { a b new c d } - x");
    let mut desk = Desk::of_texts(&original, &modified);
    desk.becomes(&text("{ a b c d } - x"));
    check_conflict(&mut desk, 0, NeighborsGone { line: 7 });
}

#[test]
fn of_equal_lines_those_that_moved_together_need_not_be_the_hunks_own() {
    let original = text("c c b b a c a c a c c c - - b b c c c - - c c c b");
    let modified = text("c c b b a c a c a c a c c - - b b c c c - - c c c b");
    let mut desk = Desk::of_texts(&original, &modified);
    desk.act(0, Accept).unwrap();
    // With "c - - b b c" gone after the added "a", the lines around it read as if it were not in.
    desk.becomes(&text("c c b b a c a c a c a c c c - - c c c b"));
    assert_eq!(desk.review.fact(0), Fact::In);
    let candidates = vec![10];
    let place = desk.review.proposal().place(0);
    assert_eq!(place, Err(NotPlaced::Ambiguous { candidates }));
}

#[test]
fn lines_that_another_hunk_moved_are_not_taken_for_those_to_delete() {
    let original = text("p q 1 2 3 4 5 6");
    let modified = text("1 2 3 4 5 6 p q z");
    let proposal = Proposal::from_texts(original.clone().into(), modified.into(), 0);
    let mut desk = Desk::open(proposal.unwrap(), original.as_bytes());
    desk.act(1, Accept).unwrap();
    assert_eq!(desk.text(), text("p q 1 2 3 4 5 6 p q z"));
    desk.becomes(&text("typed 1 2 3 4 5 6 p q typed"));
    check_conflict(&mut desk, 0, ChangedByUser { line: 0 });
}

#[test]
fn an_appended_line_that_was_changed_is_not_taken_back_nor_done_again() {
    let mut desk = Desk::of_texts(&text("a b c"), &text("a b c new"));
    desk.act(0, Accept).unwrap();
    desk.becomes(&text("a b c newer"));
    assert_eq!(desk.review.fact(0), Fact::In);
    let conflict = Refusal::Flip(ChangedByUser { line: 3 });
    assert_eq!(refusal(&mut desk, 0, Unapply), conflict);
}

#[test]
fn a_last_line_that_was_changed_is_not_said_to_be_deleted() {
    let mut desk = Desk::of_texts(&text("a b c old"), &text("a b c"));
    desk.becomes(&text("a b c older"));
    check_conflict(&mut desk, 0, ChangedByUser { line: 3 });
    let mut desk = Desk::of_diff("@@ -1,2 +1 @@\n-a\n b\n", &text("x b"));
    check_refused(&mut desk, 0, NotPlaced::NotFound);
}

const BLOCKS: &str = "{ a b } { a b } { a b } { a b }";

#[test]
fn equal_blocks_in_a_target_that_nobody_followed_are_refused_until_somebody_looks() {
    let modified = text("{ a b } { a b } { a new b } { a b }");
    let mut desk = Desk::of_texts(&text(BLOCKS), &modified);
    desk.becomes(&format!("typed\n{}", text(BLOCKS)));
    let candidates = vec![11];
    check_refused(&mut desk, 0, NotPlaced::Ambiguous { candidates });
    let plan = desk.review.plan_vouched(0, Accept).unwrap();
    desk.carry_out(&plan);
    assert_eq!(desk.text(), format!("typed\n{modified}"));
    desk.act(0, Unapply).unwrap();
    assert_eq!(desk.text(), format!("typed\n{}", text(BLOCKS)));
}
