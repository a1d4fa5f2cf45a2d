//! The rules of the weave, one picture each. The lines of the texts are single words.

mod outside;

use agent_q_diff_engine::review::{Command, Fact, Note, Refusal};
use agent_q_diff_engine::weave::FlipError::{
    self, ChangedByUser, InsertionPointTouched, NeighborsGone,
};

use crate::common::desk::Desk;
use crate::common::texts::text;

use Command::{Accept, Unapply};

fn desk(original: &str, modified: &str) -> Desk {
    Desk::of_texts(&text(original), &text(modified))
}

#[track_caller]
fn check_target(desk: &Desk, words: &str) {
    assert_eq!(desk.text(), text(words));
}

#[track_caller]
fn check_refused(desk: &mut Desk, command: Command, conflict: FlipError) {
    let before = desk.text();
    assert_eq!(desk.act(0, command), Err(Refusal::Flip(conflict)));
    assert_eq!(desk.text(), before);
}

/// Replaces `n_removed` lines as an edit of somebody else.
fn edit(desk: &mut Desk, line: usize, n_removed: usize, words: &str) {
    desk.edit_outside(line, n_removed, text(words).as_bytes(), false);
}

fn undo(desk: &mut Desk, line: usize, n_removed: usize, words: &str) {
    desk.edit_outside(line, n_removed, text(words).as_bytes(), true);
}

#[test]
fn a_changed_line_of_the_hunk_is_a_conflict() {
    let mut desk = desk("a b c d", "a B C d");
    edit(&mut desk, 1, 1, "mine");
    check_refused(&mut desk, Accept, ChangedByUser { line: 1 });
}

#[test]
fn a_line_typed_among_those_of_the_hunk_is_a_conflict() {
    let mut desk = desk("a b c d", "a B C d");
    edit(&mut desk, 2, 0, "mine");
    check_refused(&mut desk, Accept, ChangedByUser { line: 1 });
    edit(&mut desk, 2, 1, "");
    desk.act(0, Accept).unwrap();
    check_target(&desk, "a B C d");
}

#[test]
fn a_line_typed_where_lines_are_to_be_inserted_is_a_conflict() {
    let mut desk = desk("a b", "a new b");
    edit(&mut desk, 1, 0, "mine");
    check_refused(&mut desk, Accept, InsertionPointTouched { line: 1 });
    edit(&mut desk, 1, 1, "");
    desk.act(0, Accept).unwrap();
    check_target(&desk, "a new b");
}

#[test]
fn a_line_typed_where_lines_were_deleted_is_a_conflict() {
    let mut desk = desk("a b c", "a c");
    desk.act(0, Accept).unwrap();
    edit(&mut desk, 1, 0, "mine");
    check_refused(&mut desk, Unapply, InsertionPointTouched { line: 1 });
}

#[test]
fn an_insertion_without_a_neighbor_is_a_conflict() {
    let mut desk = desk("- a b -", "- a new b -");
    edit(&mut desk, 1, 1, "");
    assert_eq!(desk.review.proposal().obstacle(0), None);
    edit(&mut desk, 1, 1, "");
    check_refused(&mut desk, Accept, NeighborsGone { line: 1 });
}

#[test]
fn the_ends_of_the_file_are_neighbors() {
    let mut desk = desk("a b", "new a b");
    edit(&mut desk, 0, 2, "");
    desk.act(0, Accept).unwrap();
    check_target(&desk, "new");
}

#[test]
fn a_last_line_without_newline_is_not_glued_to_the_next() {
    let mut desk = Desk::of_texts("a\nb\n", "a\nB");
    edit(&mut desk, 2, 0, "mine");
    check_refused(&mut desk, Accept, FlipError::Glued);
}

#[test]
fn a_hunk_is_applied_as_a_whole_or_not_at_all() {
    let mut desk = desk("a b c d e", "A b c d E");
    edit(&mut desk, 4, 1, "mine");
    let proposal = desk.review.proposal();
    let conflict = ChangedByUser { line: 4 };
    assert_eq!(proposal.edits_for(&[(0, true)]), Err(conflict.clone()));
    assert_eq!(proposal.obstacle(0), Some(conflict.clone().into()));
    check_refused(&mut desk, Accept, conflict);
    check_target(&desk, "a b c d mine");
}

#[test]
fn accepting_all_leaves_out_the_hunks_that_are_not_whole() {
    let mut desk = desk("a b c d e 1 2 3 4 5 6 7 z", "A b c d E 1 2 3 4 5 6 7 Z");
    edit(&mut desk, 4, 1, "mine");
    let (plan, refused) = desk.plan_all();
    assert_eq!(refused, [(0, ChangedByUser { line: 4 }.into())]);
    desk.carry_out(&plan);
    check_target(&desk, "a b c d mine 1 2 3 4 5 6 7 Z");
}

#[test]
fn a_line_typed_below_a_hunk_stays_below() {
    let mut desk = desk("a b c", "a B c");
    edit(&mut desk, 2, 0, "mine");
    desk.act(0, Accept).unwrap();
    check_target(&desk, "a B mine c");
    desk.act(0, Unapply).unwrap();
    check_target(&desk, "a b mine c");
}

#[test]
fn a_line_typed_above_an_applied_hunk_stays_above() {
    let mut desk = desk("a b c", "a B c");
    desk.act(0, Accept).unwrap();
    edit(&mut desk, 1, 0, "mine");
    desk.act(0, Unapply).unwrap();
    check_target(&desk, "a mine b c");
}

#[test]
fn a_line_typed_after_one_at_the_point_of_an_insertion_is_at_that_point_too() {
    let mut desk = desk("a b", "a new b");
    edit(&mut desk, 1, 0, "mine");
    edit(&mut desk, 2, 0, "more");
    edit(&mut desk, 1, 1, "");
    check_refused(&mut desk, Accept, InsertionPointTouched { line: 1 });
}

#[test]
fn a_line_typed_before_one_at_the_point_of_an_insertion_is_at_that_point_too() {
    let mut desk = desk("a b", "a new b");
    edit(&mut desk, 1, 0, "mine");
    edit(&mut desk, 1, 0, "more");
    edit(&mut desk, 2, 1, "");
    check_refused(&mut desk, Accept, InsertionPointTouched { line: 1 });
}

#[test]
fn what_replaces_the_lines_on_both_sides_of_an_insertion_may_belong_on_either() {
    let mut desk = desk("a b c", "a new b c");
    desk.act(0, Accept).unwrap();
    edit(&mut desk, 1, 0, "above");
    desk.act(0, Unapply).unwrap();
    check_target(&desk, "a above b c");
    edit(&mut desk, 1, 2, "mine");
    check_refused(&mut desk, Accept, InsertionPointTouched { line: 1 });
}

#[test]
fn what_replaces_a_line_at_the_point_of_an_insertion_is_at_that_point() {
    let mut desk = desk("a b", "a new b");
    edit(&mut desk, 1, 0, "mine");
    edit(&mut desk, 1, 1, "yours");
    check_refused(&mut desk, Accept, InsertionPointTouched { line: 1 });
}

#[test]
fn what_replaces_the_line_after_an_insertion_stays_after_it() {
    let mut desk = desk("a b c", "a new b c");
    edit(&mut desk, 1, 1, "mine");
    desk.act(0, Accept).unwrap();
    check_target(&desk, "a new mine c");
}

#[test]
fn undoing_the_last_edit_brings_the_line_back() {
    let mut desk = desk("a b c", "a B c");
    edit(&mut desk, 1, 1, "");
    check_refused(&mut desk, Accept, ChangedByUser { line: 1 });
    undo(&mut desk, 1, 0, "b");
    desk.act(0, Accept).unwrap();
    check_target(&desk, "a B c");
}

#[test]
fn a_word_that_was_typed_letter_by_letter_is_undone_at_once() {
    let mut desk = desk("a b c", "a B c");
    edit(&mut desk, 1, 1, "bo");
    edit(&mut desk, 1, 1, "boo");
    undo(&mut desk, 1, 1, "b");
    desk.act(0, Accept).unwrap();
    check_target(&desk, "a B c");
}

#[test]
fn only_the_last_edit_is_undone() {
    let mut desk = desk("a b c", "a B c");
    edit(&mut desk, 1, 1, "");
    edit(&mut desk, 2, 0, "mine");
    undo(&mut desk, 1, 0, "b");
    check_refused(&mut desk, Accept, ChangedByUser { line: 1 });
}

#[test]
fn undoing_a_flip_takes_the_hunk_out_also_in_several_steps() {
    let mut desk = desk("a b c", "a B c");
    edit(&mut desk, 3, 0, "mine");
    desk.act(0, Accept).unwrap();
    undo(&mut desk, 2, 0, "b");
    undo(&mut desk, 1, 1, "");
    assert_eq!(desk.review.fact(0), Fact::Out);
    undo(&mut desk, 3, 1, "");
    desk.act(0, Accept).unwrap();
    check_target(&desk, "a B c");
}

/// Undoes a flip of one line, `line`, which becomes `new`: in two edits, as Emacs does.
fn undo_line(desk: &mut Desk, line: usize, new: &str) {
    undo(desk, line + 1, 0, new);
    undo(desk, line, 1, "");
}

/// Redoes what was undone like that, also as Emacs does: the same edits backward.
fn redo_line(desk: &mut Desk, line: usize, new: &str) {
    undo(desk, line, 0, new);
    undo(desk, line + 1, 1, "");
}

const TWO_HUNKS: [&str; 2] = ["a b c d 1 2 3 4 5 6 7 e", "a B c d 1 2 3 4 5 6 7 E"];

#[test]
fn redoing_flips_puts_the_hunks_in_again() {
    let mut desk = desk(TWO_HUNKS[0], TWO_HUNKS[1]);
    edit(&mut desk, 12, 0, "mine");
    desk.act(0, Accept).unwrap();
    desk.act(1, Accept).unwrap();
    for _ in 0..3 {
        undo_line(&mut desk, 11, "e");
        assert_eq!(desk.facts(), [true, false]);
        undo_line(&mut desk, 1, "b");
        assert_eq!(desk.facts(), [false, false]);
        redo_line(&mut desk, 1, "B");
        assert_eq!(desk.facts(), [true, false]);
        redo_line(&mut desk, 11, "E");
        assert_eq!(desk.facts(), [true, true]);
    }
    check_target(&desk, "a B c d 1 2 3 4 5 6 7 E mine");
    desk.act(0, Unapply).unwrap();
    desk.act(1, Unapply).unwrap();
    check_target(&desk, "a b c d 1 2 3 4 5 6 7 e mine");
}

#[test]
fn a_flip_is_redone_after_what_was_typed_before_it() {
    let mut desk = desk("a b c", "a B c");
    edit(&mut desk, 3, 0, "m");
    edit(&mut desk, 3, 1, "mi");
    edit(&mut desk, 3, 1, "mine");
    desk.act(0, Accept).unwrap();
    for _ in 0..3 {
        undo_line(&mut desk, 1, "b");
        undo(&mut desk, 3, 1, "");
        assert_eq!(desk.facts(), [false]);
        undo(&mut desk, 3, 0, "mine");
        assert_eq!(desk.facts(), [false]);
        redo_line(&mut desk, 1, "B");
        assert_eq!(desk.facts(), [true]);
    }
    check_target(&desk, "a B c mine");
    desk.act(0, Unapply).unwrap();
    check_target(&desk, "a b c mine");
}

/// What was typed between the flips is undone in one edit, unlike it was made.
#[test]
fn a_flip_is_redone_after_another_and_what_was_typed_between_them() {
    let mut desk = desk(TWO_HUNKS[0], TWO_HUNKS[1]);
    desk.act(0, Accept).unwrap();
    edit(&mut desk, 12, 0, "my");
    edit(&mut desk, 13, 0, "own");
    desk.act(1, Accept).unwrap();
    for _ in 0..3 {
        undo_line(&mut desk, 11, "e");
        undo(&mut desk, 12, 2, "");
        undo_line(&mut desk, 1, "b");
        assert_eq!(desk.facts(), [false, false]);
        redo_line(&mut desk, 1, "B");
        assert_eq!(desk.facts(), [true, false]);
        undo(&mut desk, 12, 0, "my own");
        redo_line(&mut desk, 11, "E");
        assert_eq!(desk.facts(), [true, true]);
    }
    desk.act(0, Unapply).unwrap();
    desk.act(1, Unapply).unwrap();
    check_target(&desk, "a b c d 1 2 3 4 5 6 7 e my own");
}

#[test]
fn after_typing_or_another_decision_no_flip_is_redone() {
    let others: [fn(&mut Desk); 2] = [
        |desk| edit(desk, 12, 1, "yours"),
        |desk| assert!(desk.act(1, Accept).is_ok()),
    ];
    for other in others {
        let mut desk = desk(TWO_HUNKS[0], TWO_HUNKS[1]);
        edit(&mut desk, 12, 0, "mine");
        desk.act(0, Accept).unwrap();
        undo_line(&mut desk, 1, "b");
        other(&mut desk);
        redo_line(&mut desk, 1, "B");
        assert_eq!(desk.review.fact(0), Fact::Out);
        check_refused(&mut desk, Accept, ChangedByUser { line: 2 });
    }
}

/// Accepting both hunks at once and taking out the second are undone. The first edits of the second
/// undo read as a redo of taking it out.
#[test]
fn a_redo_that_turns_out_to_be_the_undo_of_an_earlier_flip_is_that() {
    let mut desk = desk(TWO_HUNKS[0], TWO_HUNKS[1]);
    edit(&mut desk, 12, 0, "mine");
    let (plan, _) = desk.plan_all();
    desk.carry_out(&plan);
    desk.act(1, Unapply).unwrap();
    undo_line(&mut desk, 11, "E");
    assert_eq!(desk.facts(), [true, true]);
    redo_line(&mut desk, 11, "e");
    undo_line(&mut desk, 1, "b");
    assert_eq!(desk.facts(), [false, false]);
    check_target(&desk, "a b c d 1 2 3 4 5 6 7 e mine");
}

/// The undo of deleting a line reads like the redo of a hunk that inserts the same one.
#[test]
fn a_line_of_the_user_is_no_redo_of_a_hunk_with_an_equal_line() {
    let mut desk = desk("a b", "a new b");
    edit(&mut desk, 2, 0, "mine");
    edit(&mut desk, 1, 0, "new");
    edit(&mut desk, 1, 1, "");
    desk.act(0, Accept).unwrap();
    undo(&mut desk, 1, 1, "");
    undo(&mut desk, 1, 0, "new");
    assert_eq!(desk.facts(), [false]);
    undo(&mut desk, 1, 1, "");
    undo(&mut desk, 1, 0, "new");
    assert_eq!(desk.facts(), [false]);
}

#[test]
fn a_line_that_was_deleted_and_typed_again_is_another() {
    let mut desk = desk("a b c", "a B c");
    edit(&mut desk, 3, 0, "mine");
    edit(&mut desk, 1, 1, "");
    edit(&mut desk, 1, 0, "b");
    check_refused(&mut desk, Accept, ChangedByUser { line: 1 });
}

#[test]
fn a_target_that_reads_as_the_original_again_is_the_original() {
    let mut desk = desk("a b c", "a B c");
    desk.act(0, Accept).unwrap();
    edit(&mut desk, 0, 1, "");
    edit(&mut desk, 0, 1, "b");
    edit(&mut desk, 0, 0, "a");
    assert_eq!(desk.review.fact(0), Fact::Out);
    desk.act(0, Accept).unwrap();
    check_target(&desk, "a B c");
}

#[test]
fn a_hunk_that_another_program_applied_is_recognized() {
    let mut desk = desk("a b c", "a B c");
    edit(&mut desk, 0, 3, "");
    edit(&mut desk, 0, 0, "a B c");
    assert!(desk.review.recognize());
    assert_eq!(desk.review.fact(0), Fact::In);
    assert!(!desk.review.recognize());
}

#[test]
fn a_hunk_right_beside_an_edit_applies_and_says_so() {
    let mut desk = desk("a b c d", "a B c d");
    assert!(!desk.review.proposal().is_next_to_edit(0));
    edit(&mut desk, 3, 1, "far");
    assert!(!desk.review.proposal().is_next_to_edit(0));
    edit(&mut desk, 2, 0, "near");
    assert!(desk.review.proposal().is_next_to_edit(0));
    assert_eq!(desk.act(0, Accept), Ok(Note::Edited));
    check_target(&desk, "a B near c far");
}

#[test]
fn a_region_that_was_rewritten_is_compared_inside() {
    let mut desk = desk("1 2 3 4 5 6 b 7 8 9", "1 2 3 4 5 6 B 7 8 9");
    edit(&mut desk, 1, 8, "two 3 4 5 6 b 7 eight");
    desk.act(0, Accept).unwrap();
    check_target(&desk, "1 two 3 4 5 6 B 7 eight 9");
}

#[test]
fn undoing_a_rewritten_region_brings_its_lines_back() {
    let mut desk = desk("1 2 3 b 4 5", "1 2 3 B 4 5");
    edit(&mut desk, 1, 4, "4 b 3 2");
    undo(&mut desk, 1, 4, "2 3 b 4");
    assert_eq!(desk.review.proposal().obstacle(0), None);
}
