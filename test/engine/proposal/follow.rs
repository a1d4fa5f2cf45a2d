//! Where the hunks of two whole texts are once the target has changed.

use agent_q_diff_engine::patch::locate::NotPlaced;
use agent_q_diff_engine::proposal::Proposal;
use agent_q_diff_engine::review::Command::{Accept, Reject, Unapply};
use agent_q_diff_engine::review::{Fact, Note, Refusal};
use agent_q_diff_engine::weave::FlipError::{self, ChangedByUser, NeighborsGone};

use super::{ONE_LINE, check_conflict, check_place, check_refused, refusal};
use crate::common::desk::Desk;
use crate::common::texts::text;

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
fn following_the_same_target_again_changes_nothing() {
    let mut desk = Desk::of_diff(ONE_LINE, &text("a x c"));
    assert!(!desk.review.follow(text("a x c").as_bytes()));
    assert!(desk.review.follow(text("a b c").as_bytes()));
    assert!(!desk.review.follow(text("a b c").as_bytes()));
}

#[test]
fn a_newline_is_not_taken_from_a_line_that_is_no_longer_the_last() {
    let mut desk = Desk::of_texts("1\n2\n3\na\n", "1\n2\n3\na");
    desk.becomes("1\n2\n3\na\nb\n");
    assert_eq!(refusal(&mut desk, 0, Accept), FlipError::Glued.into());
    let (plan, refused) = desk.plan_all();
    assert_eq!(plan.edits, []);
    assert_eq!(refused, [(0, FlipError::Glued.into())]);
}

#[test]
fn accept_all_leaves_out_what_would_glue_lines_and_no_more() {
    let original = "A\n1\n2\n3\n4\n5\n6\n7\nz\n";
    let mut desk = Desk::of_texts(original, &format!("B{}", &original[1..original.len() - 1]));
    desk.becomes(&format!("{original}more\n"));
    let (plan, refused) = desk.plan_all();
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
fn undoing_a_change_restores_every_place() {
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
    // Without "c - - b b c" after the added "a", the lines around it look as if it were not in.
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
fn equal_blocks_in_a_target_changed_unseen_are_refused_until_the_user_confirms() {
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
