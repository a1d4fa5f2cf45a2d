//! What a command would do: to one hunk, and to all of them.

use agent_q_diff_engine::review::Command::{Accept, Reject, Unapply};
use agent_q_diff_engine::review::Mark::{Applied, Pending, Rejected};
use agent_q_diff_engine::review::Refusal;
use agent_q_diff_engine::weave::FlipError;

use crate::common::desk::Desk;

use super::{FIRST_IN, OUT, SECOND_IN, TWO_IN, accept_all, desk, marks};

#[test]
fn a_hunk_that_is_not_there_is_refused_by_number() {
    let refusal = Refusal::NoSuchHunk {
        hunk: 2,
        n_hunks: 2,
    };
    assert_eq!(desk().act(2, Accept), Err(refusal));
}

#[test]
fn a_plan_alone_changes_nothing() {
    let desk = desk();
    let plan = desk.review.plan(0, Accept).unwrap();
    assert_eq!(plan.edits.len(), 1);
    assert_eq!(marks(&desk), [Pending, Pending]);
    assert_eq!(desk.review.proposal().target(), OUT.as_bytes());
}

#[test]
fn accept_all_takes_the_pending_and_leaves_the_rejected() {
    let mut desk = desk();
    desk.act(0, Reject).unwrap();
    let (plan, refused) = accept_all(&mut desk);
    assert_eq!((plan.steps.len(), refused), (1, vec![]));
    assert_eq!(desk.text(), SECOND_IN);
    assert_eq!(marks(&desk), [Rejected, Applied]);
}

#[test]
fn accept_all_marks_what_is_in_already_and_edits_the_rest() {
    let mut desk = desk();
    desk.becomes(SECOND_IN);
    let (plan, _) = accept_all(&mut desk);
    assert_eq!(plan.edits.len(), 1);
    assert_eq!(desk.text(), TWO_IN);
    assert_eq!(marks(&desk), [Applied, Applied]);
}

#[test]
fn accept_all_does_what_it_can_and_says_what_it_cannot() {
    let mut desk = desk();
    desk.becomes(&format!("edited\n{}", &OUT[2..]));
    let (_, refused) = accept_all(&mut desk);
    let conflict = FlipError::ChangedByUser { line: 0 };
    assert_eq!(refused, [(0, Refusal::Flip(conflict))]);
    assert_eq!(desk.text(), format!("edited\n{}", &SECOND_IN[2..]));
    assert_eq!(marks(&desk), [Pending, Applied]);
}

#[test]
fn accept_all_with_nothing_pending_plans_nothing() {
    let mut desk = desk();
    desk.act(0, Accept).unwrap();
    desk.act(1, Reject).unwrap();
    let (plan, refused) = accept_all(&mut desk);
    assert_eq!(
        (plan.edits.len(), plan.steps.len(), refused.len()),
        (0, 0, 0)
    );
    assert_eq!(desk.text(), FIRST_IN);
}

#[test]
fn taking_all_out_leaves_only_what_others_have_changed() {
    let mut desk = desk();
    desk.becomes(TWO_IN);
    desk.act(1, Accept).unwrap();
    desk.act(0, Reject).unwrap();
    let (plan, refused) = desk.plan_for_all(Unapply);
    desk.carry_out(&plan);
    assert_eq!((plan.edits.len(), refused), (3, vec![]));
    assert_eq!(desk.text(), OUT);
    assert_eq!(marks(&desk), [Pending, Pending]);

    accept_all(&mut desk);
    let edited = TWO_IN.replacen("A", "edited", 1);
    desk.becomes(&edited);
    let (plan, refused) = desk.plan_for_all(Unapply);
    desk.carry_out(&plan);
    assert!(
        matches!(refused[..], [(0, Refusal::Flip(_))]),
        "{refused:?}"
    );
    assert_eq!(desk.text(), FIRST_IN.replacen("A", "edited", 1));
    assert_eq!(marks(&desk), [Applied, Pending]);
}

#[test]
fn taking_out_leaves_the_hunks_that_are_left_out() {
    let mut desk = desk();
    accept_all(&mut desk);
    let (plan, refused) = desk.review.plan_each(Unapply, |hunk| hunk == 1);
    desk.carry_out(&plan);
    assert_eq!((desk.text(), refused), (FIRST_IN.into(), vec![]));
    assert_eq!(marks(&desk), [Applied, Pending]);
}

#[test]
fn at_the_end_of_the_text_only_what_would_join_lines_is_refused() {
    let mut desk = Desk::of_texts("x", "x\ny\nz");
    desk.review.pick(0, 0..2).unwrap();
    desk.review.pick(1, 0..1).unwrap();
    accept_all(&mut desk);
    let (plan, refused) = desk.review.plan_each(Unapply, |hunk| hunk != 1);
    desk.carry_out(&plan);
    assert_eq!(refused, [(0, Refusal::Flip(FlipError::Glued))]);
    assert_eq!(desk.text(), "x\ny\n");
}

#[test]
fn rejecting_what_is_pending_leaves_the_applied_and_the_target() {
    let mut desk = desk();
    desk.act(0, Accept).unwrap();
    let (plan, _) = desk.plan_for_all(Reject);
    desk.review.commit(&plan);
    assert_eq!(marks(&desk), [Applied, Rejected]);
    assert_eq!(desk.text(), FIRST_IN);
}
