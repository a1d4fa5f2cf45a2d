//! Decisions undone and redone.

use agent_q_diff_engine::review::Command::{Accept, Reject, Toggle, Unapply};
use agent_q_diff_engine::review::Mark::{Applied, Pending, Rejected};
use agent_q_diff_engine::review::{Fact, Refusal};

use super::{FIRST_IN, OUT, TWO_IN, accept_all, desk, marks};
use crate::common::desk::Desk;

/// Undoes the latest decision.
fn undo(desk: &mut Desk) -> Result<(), Refusal> {
    let plan = desk.review.plan_undo()?;
    desk.carry_out(&plan);
    Ok(())
}

/// Redoes the latest decision that was undone.
fn redo(desk: &mut Desk) -> Result<(), Refusal> {
    let plan = desk.review.plan_redo()?;
    desk.carry_out(&plan);
    Ok(())
}

#[test]
fn undo_and_redo_change_mark_and_file_together() {
    let mut desk = desk();
    desk.act(0, Accept).unwrap();
    desk.act(1, Reject).unwrap();
    desk.act(1, Accept).unwrap();
    desk.act(0, Toggle).unwrap();
    let pictures = [
        ([Applied, Applied], TWO_IN),
        ([Applied, Rejected], FIRST_IN),
        ([Applied, Pending], FIRST_IN),
        ([Pending, Pending], OUT),
    ];
    for (expected, text) in pictures {
        undo(&mut desk).unwrap();
        assert_eq!((marks(&desk), desk.text()), (expected, text.to_owned()));
    }
    assert_eq!(undo(&mut desk), Err(Refusal::NothingToTakeBack));
    for (expected, text) in pictures[..3].iter().rev() {
        redo(&mut desk).unwrap();
        assert_eq!((marks(&desk), desk.text()), (*expected, text.to_string()));
    }
    redo(&mut desk).unwrap();
    assert_eq!(
        (marks(&desk), desk.text()),
        ([Pending, Applied], TWO_IN.to_owned())
    );
    assert_eq!(redo(&mut desk), Err(Refusal::NothingToTakeBack));
    // After a new decision nothing can be redone.
    undo(&mut desk).unwrap();
    desk.act(1, Reject).unwrap();
    assert_eq!(redo(&mut desk), Err(Refusal::NothingToTakeBack));
}

#[test]
fn accepting_and_rejecting_all_is_one_decision() {
    let mut desk = desk();
    accept_all(&mut desk);
    undo(&mut desk).unwrap();
    assert_eq!(
        (marks(&desk), desk.text()),
        ([Pending, Pending], OUT.to_owned())
    );
    desk.act(0, Accept).unwrap();
    let (plan, _) = desk.plan_for_all(Reject);
    desk.review.commit(&plan);
    undo(&mut desk).unwrap();
    assert_eq!(marks(&desk), [Applied, Pending]);
    desk.act(1, Accept).unwrap();
    desk.review.join_decisions(2);
    undo(&mut desk).unwrap();
    assert_eq!(
        (marks(&desk), desk.text()),
        ([Pending, Pending], OUT.to_owned())
    );
    assert_eq!(desk.review.n_decisions(), 0);
}

#[test]
fn a_decision_is_not_undone_over_the_edits_of_others() {
    let mut desk = desk();
    desk.act(0, Accept).unwrap();
    let edited = desk.text().replacen('A', "mine", 1);
    desk.becomes(&edited);
    assert!(matches!(undo(&mut desk), Err(Refusal::Flip(_))));
    assert_eq!((marks(&desk)[0], desk.text()), (Applied, edited));
    assert_eq!(desk.review.n_decisions(), 1);
}

#[test]
fn a_split_is_undone_before_the_decision_before_it() {
    let mut desk = desk();
    desk.act(1, Accept).unwrap();
    let shown = desk.shown();
    assert_eq!(desk.review.split(1), Ok(2));
    assert_eq!(undo(&mut desk), Err(Refusal::NothingToTakeBack));
    assert_eq!(desk.review.undo_split(true), Ok(None));
    assert_eq!(desk.review.undo_split(false), Ok(Some((1, 2))));
    assert_eq!(desk.shown(), shown);
    assert_eq!(desk.review.undo_split(false), Ok(None));
    undo(&mut desk).unwrap();
    assert_eq!((marks(&desk), desk.text()), ([Pending; 2], OUT.to_owned()));
    redo(&mut desk).unwrap();
    assert_eq!(desk.review.redo_split(), Ok(Some((1, 2, false))));
    assert_eq!(desk.review.redo_split(), Ok(None));
    assert_eq!(desk.review.proposal().n_hunks(), 3);
}

#[test]
fn a_decision_on_a_part_is_undone_and_redone_around_the_split() {
    let mut desk = desk();
    let (shown, text) = (desk.shown(), desk.text());
    assert_eq!(desk.review.pick(1, 0..1), Ok((2, 0)));
    desk.act(1, Accept).unwrap();
    desk.review.join_decisions(2);
    let (shown_after, text_after) = (desk.shown(), desk.text());
    for _ in 0..2 {
        undo(&mut desk).unwrap();
        assert_eq!(desk.review.undo_split(true), Ok(Some((1, 2))));
        assert_eq!((desk.shown(), desk.text()), (shown.clone(), text.clone()));
        assert_eq!(desk.review.redo_split(), Ok(Some((1, 2, true))));
        redo(&mut desk).unwrap();
        assert_eq!(
            (desk.shown(), desk.text()),
            (shown_after.clone(), text_after.clone())
        );
    }
}

#[test]
fn splitting_again_after_an_undo_leaves_nothing_to_redo() {
    let mut desk = desk();
    assert_eq!(desk.review.split(1), Ok(2));
    desk.act(1, Accept).unwrap();
    undo(&mut desk).unwrap();
    assert_eq!(desk.review.undo_split(false), Ok(Some((1, 2))));
    assert_eq!(desk.review.split(1), Ok(2));
    assert_eq!(desk.review.redo_split(), Ok(None));
    assert_eq!(redo(&mut desk), Err(Refusal::NothingToTakeBack));
}

#[test]
fn a_split_whose_part_others_made_is_not_undone() {
    let mut desk = desk();
    desk.act(0, Accept).unwrap();
    assert_eq!(desk.review.split(1), Ok(2));
    desk.becomes(&FIRST_IN.replacen('b', "B", 1));
    assert_eq!(desk.review.undo_split(false), Err(Refusal::Apart));
    assert_eq!(desk.review.proposal().n_hunks(), 3);
    // Only the next undo takes back what came before.
    undo(&mut desk).unwrap();
    assert_eq!(marks(&desk), [Pending; 2]);
}

#[test]
fn a_replacement_that_was_cut_once_is_one_part() {
    let mut desk = desk();
    assert_eq!(desk.review.pick(0, 0..1), Ok((2, 0)));
    assert_eq!(desk.review.undo_split(false), Ok(Some((0, 2))));
    assert_eq!(desk.review.split(0), Ok(1));
}

#[test]
fn a_split_whose_part_was_edited_is_not_undone() {
    let mut desk = desk();
    assert_eq!(desk.review.split(1), Ok(2));
    desk.edit(1, "edited\n").unwrap();
    assert_eq!(desk.review.undo_split(false), Ok(None));
    assert_eq!(desk.review.proposal().n_hunks(), 3);
}

/// Two changes in one hunk.
const PARTS: [&str; 2] = ["1\n2\n3\n4\n5\n", "1\nA\n2\n3\n4\nB\n5\n"];

#[test]
fn a_part_that_was_in_comes_back_and_no_more() {
    let mut desk = Desk::of_texts(PARTS[0], PARTS[1]);
    desk.act(0, Accept).unwrap();
    let part = "1\n2\n3\n4\nB\n5\n";
    desk.becomes(part);
    desk.act(0, Unapply).unwrap();
    assert_eq!(desk.text(), PARTS[0]);
    undo(&mut desk).unwrap();
    assert_eq!(
        (desk.state(0), desk.text()),
        ((Applied, Fact::Mixed), part.to_owned())
    );
    redo(&mut desk).unwrap();
    assert_eq!(
        (desk.state(0), desk.text()),
        ((Pending, Fact::Out), PARTS[0].to_owned())
    );
    undo(&mut desk).unwrap();
    undo(&mut desk).unwrap();
    assert_eq!(
        (desk.state(0), desk.text()),
        ((Pending, Fact::Out), PARTS[0].to_owned())
    );
    redo(&mut desk).unwrap();
    assert_eq!(
        (desk.state(0), desk.text()),
        ((Applied, Fact::Mixed), part.to_owned())
    );
}

#[test]
fn a_part_that_was_in_comes_back_to_the_parts_of_a_hunk_too() {
    let mut desk = Desk::of_texts(PARTS[0], PARTS[1]);
    desk.act(0, Accept).unwrap();
    let part = "1\n2\n3\n4\nB\n5\n";
    desk.becomes(part);
    desk.act(0, Unapply).unwrap();
    desk.review.split(0).unwrap();
    desk.review.undo_split(false).unwrap();
    undo(&mut desk).unwrap();
    assert_eq!(desk.text(), part);
    redo(&mut desk).unwrap();
    desk.review.split(0).unwrap();
    desk.act(0, Accept).unwrap();
    undo(&mut desk).unwrap();
    desk.review.undo_split(false).unwrap();
    undo(&mut desk).unwrap();
    assert_eq!(desk.text(), part);
}
