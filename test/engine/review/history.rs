//! Decisions undone and redone.

use agent_q_diff_engine::review::Command::{Accept, Reject, Toggle};
use agent_q_diff_engine::review::Mark::{Applied, Pending, Rejected};
use agent_q_diff_engine::review::Refusal;

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
    desk.review.reject_all();
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
fn a_decision_on_a_hunk_that_was_split_since_is_undone_on_its_parts() {
    let mut desk = desk();
    desk.act(1, Accept).unwrap();
    assert_eq!(desk.review.split(1), Ok(2));
    undo(&mut desk).unwrap();
    assert_eq!(desk.text(), OUT);
    assert_eq!(
        (0..3)
            .map(|hunk| desk.review.mark(hunk))
            .collect::<Vec<_>>(),
        [Pending; 3]
    );
}
