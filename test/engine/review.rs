//! One proposal being decided: marks, facts, counts and the decision.

mod history;
mod plan;
mod table;
mod walk;
mod written;

use agent_q_diff_engine::review::Command::{Accept, Reject, Toggle, Unapply};
use agent_q_diff_engine::review::Fact::{In, Out};
use agent_q_diff_engine::review::Mark::{self, Applied, Pending, Rejected};
use agent_q_diff_engine::review::Note::{Edited, Marked, StaysIn};
use agent_q_diff_engine::review::{Basis, Counts, Decision, Plan, Refusal};

use crate::common::desk::Desk;

const OUT: &str = "a\n1\n2\n3\n4\n5\n6\n7\nb\n8\n";
const FIRST_IN: &str = "A\n1\n2\n3\n4\n5\n6\n7\nb\n8\n";
const SECOND_IN: &str = "a\n1\n2\n3\n4\n5\n6\n7\nB\n8\nC\n";
const SECOND_MIXED: &str = "a\n1\n2\n3\n4\n5\n6\n7\nb\n8\nC\n";
const TWO_IN: &str = "A\n1\n2\n3\n4\n5\n6\n7\nB\n8\nC\n";
/// A target without the lines of either hunk.
const LOST: &str = "x\n";

fn desk() -> Desk {
    Desk::of_texts(OUT, TWO_IN)
}

fn accept_all(desk: &mut Desk) -> (Plan, Vec<(usize, Refusal)>) {
    let (plan, refused) = desk.plan_all();
    desk.carry_out(&plan);
    (plan, refused)
}

fn marks(desk: &Desk) -> [Mark; 2] {
    [0, 1].map(|hunk| desk.review.mark(hunk))
}

#[test]
fn live_lines_are_those_in_the_place_of_a_hunk() {
    let mut desk = desk();
    desk.act(0, Accept).unwrap();
    let live_lines = |desk: &Desk, hunk| {
        let (line, lines) = desk.review.live_lines(hunk).unwrap();
        let place: Vec<_> = desk
            .text()
            .split_inclusive('\n')
            .map(str::to_owned)
            .collect();
        assert_eq!(
            lines.bytes(),
            place[line..line + lines.len()].concat().as_bytes()
        );
        String::from_utf8(lines.bytes().to_vec()).unwrap()
    };
    assert!(live_lines(&desk, 0).starts_with("A\n"));
    let edited = desk.text().replacen("A\n", "mine\nand mine\n", 1);
    desk.becomes(&edited);
    assert!(live_lines(&desk, 0).starts_with("mine\nand mine\n"));
    assert_eq!(
        desk.review.live_lines(7),
        Err(Refusal::NoSuchHunk {
            hunk: 7,
            n_hunks: 2
        })
    );
}

#[track_caller]
fn check_decision(desk: &Desk, by_marks: Decision, by_facts: Decision) {
    assert_eq!(desk.review.decision(Basis::Marks), by_marks);
    assert_eq!(desk.review.decision(Basis::Facts), by_facts);
}

#[test]
fn nothing_applied_is_a_rejection() {
    let mut desk = desk();
    check_decision(&desk, Decision::Rejected, Decision::Rejected);
    let (plan, _) = desk.plan_for_all(Reject);
    desk.review.commit(&plan);
    check_decision(&desk, Decision::Rejected, Decision::Rejected);
}

#[test]
fn one_applied_hunk_is_an_acceptance() {
    let mut desk = desk();
    desk.act(0, Accept).unwrap();
    desk.act(1, Reject).unwrap();
    check_decision(&desk, Decision::Accepted, Decision::Accepted);
}

#[test]
fn a_change_that_stays_without_its_mark_counts_by_facts_only() {
    let mut desk = desk();
    desk.act(0, Accept).unwrap();
    assert_eq!(desk.act(0, Toggle), Ok(StaysIn));
    check_decision(&desk, Decision::Rejected, Decision::Accepted);
}

#[test]
fn a_mark_that_the_user_undid_in_the_target_counts_by_marks_only() {
    let mut desk = desk();
    desk.act(0, Accept).unwrap();
    desk.becomes(OUT);
    check_decision(&desk, Decision::Accepted, Decision::Rejected);
}

fn desk_where_accepting_the_first_failed() -> Desk {
    let mut desk = desk();
    desk.becomes(LOST);
    desk.act(0, Accept).unwrap_err();
    desk.review.fail(0);
    desk
}

#[test]
fn a_failed_accept_is_no_rejection() {
    let desk = desk_where_accepting_the_first_failed();
    assert_eq!(marks(&desk), [Pending, Pending]);
    check_decision(&desk, Decision::NotApplied, Decision::NotApplied);
}

#[test]
fn a_failed_accept_that_is_rejected_afterwards_is_a_rejection() {
    let mut desk = desk_where_accepting_the_first_failed();
    desk.act(1, Reject).unwrap();
    check_decision(&desk, Decision::NotApplied, Decision::NotApplied);
    desk.act(0, Reject).unwrap();
    check_decision(&desk, Decision::Rejected, Decision::Rejected);
}

#[test]
fn unmarking_after_a_failed_accept_is_no_rejection() {
    let mut desk = desk();
    desk.act(0, Accept).unwrap();
    desk.becomes(OUT);
    desk.review.fail(0);
    assert_eq!(desk.act(0, Toggle), Ok(Marked));
    check_decision(&desk, Decision::NotApplied, Decision::NotApplied);
}

#[test]
fn a_failed_accept_does_not_matter_where_something_is_in() {
    let mut desk = desk();
    desk.review.fail(0);
    desk.act(1, Accept).unwrap();
    check_decision(&desk, Decision::Accepted, Decision::Accepted);
    desk.act(1, Toggle).unwrap();
    check_decision(&desk, Decision::Rejected, Decision::Accepted);
}

#[test]
fn a_failed_accept_that_works_later_is_forgotten() {
    let mut desk = desk_where_accepting_the_first_failed();
    desk.becomes(OUT);
    desk.act(0, Accept).unwrap();
    check_decision(&desk, Decision::Accepted, Decision::Accepted);
}

#[test]
fn a_mark_set_by_hand_counts_and_leaves_the_target_alone() {
    let mut desk = desk();
    desk.review.set_mark(1, Applied);
    assert_eq!((desk.review.mark(1), desk.review.fact(1)), (Applied, Out));
    assert_eq!(desk.review.proposal().target(), OUT.as_bytes());
    check_decision(&desk, Decision::Accepted, Decision::Rejected);
}

#[test]
fn a_rejection_by_hand_forgets_the_failed_accept() {
    let mut desk = desk_where_accepting_the_first_failed();
    desk.review.set_mark(0, Rejected);
    check_decision(&desk, Decision::Rejected, Decision::Rejected);
}

#[test]
fn counts_are_of_marks_and_of_what_is_in_the_target() {
    let mut desk = desk();
    desk.becomes(SECOND_IN);
    desk.act(0, Accept).unwrap();
    desk.act(1, Reject).unwrap();
    let counts = desk.review.counts();
    let expected = Counts {
        total: 2,
        applied: 1,
        rejected: 1,
        in_target: 2,
    };
    assert_eq!(counts, expected);
    desk.act(1, Unapply).unwrap();
    let counts = desk.review.counts();
    let n_pending = counts.total - counts.applied - counts.rejected;
    assert_eq!((n_pending, counts.in_target), (1, 1));
}

#[test]
fn an_undo_in_the_target_takes_the_fact_and_leaves_the_mark() {
    let mut desk = desk();
    desk.act(0, Accept).unwrap();
    desk.act(1, Accept).unwrap();
    desk.becomes(FIRST_IN);
    assert_eq!((desk.review.mark(1), desk.review.fact(1)), (Applied, Out));
    assert_eq!((desk.review.mark(0), desk.review.fact(0)), (Applied, In));
    assert_eq!(desk.act(1, Accept), Ok(Edited));
    assert_eq!(desk.text(), TWO_IN);
}
