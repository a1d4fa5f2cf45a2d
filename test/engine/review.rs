//! The state machine: every transition, the commands on all hunks, the decision.

mod dice;
mod fuzz_pictures;
mod journal;
mod outside;
mod pairs;
mod placing;
mod repeated;
mod reworked;
mod rewriting;
mod rules;
mod splitting;
mod target;
mod walks;

use agent_q_diff_engine::review::{
    Basis, Command, Counts, Decision, Fact, Mark, Note, Plan, Refusal, Step, step,
};
use agent_q_diff_engine::weave::FlipError;
use target::Desk;

use Command::{Accept, Reject, Toggle, Unapply};
use Fact::{In, Mixed, Out};
use Mark::{Applied, Pending, Rejected};
use Note::{AlreadyIn, AlreadyOut, Edited, Marked, StaysIn, Unchanged};

const FLIPS: bool = true;
const STAYS: bool = false;

type Row = (Mark, Fact, Command, Option<(Mark, bool, Note)>);

/// Every mark, fact and command; then the mark that follows, whether the target changes, and what
/// the user is told. `None` is refused: there is nothing to take out.
const TABLE: [Row; 36] = [
    (Pending, Out, Accept, Some((Applied, FLIPS, Edited))),
    (Pending, Out, Reject, Some((Rejected, STAYS, Marked))),
    (Pending, Out, Toggle, Some((Applied, FLIPS, Edited))),
    (Pending, Out, Unapply, None),
    (Pending, In, Accept, Some((Applied, STAYS, AlreadyIn))),
    (Pending, In, Reject, Some((Rejected, STAYS, StaysIn))),
    (Pending, In, Toggle, Some((Applied, STAYS, AlreadyIn))),
    (Pending, In, Unapply, Some((Pending, FLIPS, Edited))),
    (Applied, Out, Accept, Some((Applied, FLIPS, Edited))),
    (Applied, Out, Reject, Some((Rejected, STAYS, Marked))),
    (Applied, Out, Toggle, Some((Pending, STAYS, Marked))),
    (Applied, Out, Unapply, Some((Pending, STAYS, AlreadyOut))),
    (Applied, In, Accept, Some((Applied, STAYS, Unchanged))),
    (Applied, In, Reject, Some((Rejected, STAYS, StaysIn))),
    (Applied, In, Toggle, Some((Pending, STAYS, StaysIn))),
    (Applied, In, Unapply, Some((Pending, FLIPS, Edited))),
    (Rejected, Out, Accept, Some((Applied, FLIPS, Edited))),
    (Rejected, Out, Reject, Some((Rejected, STAYS, Unchanged))),
    (Rejected, Out, Toggle, Some((Applied, FLIPS, Edited))),
    (Rejected, Out, Unapply, None),
    (Rejected, In, Accept, Some((Applied, STAYS, AlreadyIn))),
    (Rejected, In, Reject, Some((Rejected, STAYS, StaysIn))),
    (Rejected, In, Toggle, Some((Applied, STAYS, AlreadyIn))),
    (Rejected, In, Unapply, Some((Pending, FLIPS, Edited))),
    (Pending, Mixed, Accept, Some((Applied, FLIPS, Edited))),
    (Pending, Mixed, Reject, Some((Rejected, STAYS, StaysIn))),
    (Pending, Mixed, Toggle, Some((Applied, FLIPS, Edited))),
    (Pending, Mixed, Unapply, Some((Pending, FLIPS, Edited))),
    (Applied, Mixed, Accept, Some((Applied, FLIPS, Edited))),
    (Applied, Mixed, Reject, Some((Rejected, STAYS, StaysIn))),
    (Applied, Mixed, Toggle, Some((Applied, FLIPS, Edited))),
    (Applied, Mixed, Unapply, Some((Pending, FLIPS, Edited))),
    (Rejected, Mixed, Accept, Some((Applied, FLIPS, Edited))),
    (Rejected, Mixed, Reject, Some((Rejected, STAYS, StaysIn))),
    (Rejected, Mixed, Toggle, Some((Applied, FLIPS, Edited))),
    (Rejected, Mixed, Unapply, Some((Pending, FLIPS, Edited))),
];

#[test]
fn the_table_has_every_mark_fact_and_command_once() {
    let keys: std::collections::HashSet<_> =
        TABLE.iter().map(|row| (row.0, row.1, row.2)).collect();
    assert_eq!(keys.len(), 3 * 3 * 4);
}

#[test]
fn every_step_is_as_the_table_says() {
    for (mark, fact, command, expected) in TABLE {
        let step_of = |(mark, is_flip, note)| Step {
            mark,
            is_flip,
            note,
        };
        let expected = expected.map(step_of).ok_or(Refusal::NotIn);
        assert_eq!(
            step(mark, fact, command),
            expected,
            "{mark:?} {fact:?} {command:?}"
        );
    }
}

#[test]
fn every_step_leaves_mark_fact_and_target_as_the_table_says() {
    for (mark, fact, command, expected) in TABLE {
        let case = format!("{mark:?} {fact:?} {command:?}");
        let mut desk = Desk::of_texts(OUT, TWO_IN);
        desk.becomes(with_second(fact));
        assert_eq!(desk.review.fact(1), fact);
        desk.review.set_mark(1, mark);
        let result = desk.act(1, command);
        let flips = expected.is_some_and(|(_, is_flip, _)| is_flip);
        let after = match (flips, expected.map(|row| row.0)) {
            (true, Some(Applied)) => In,
            (true, _) => Out,
            (false, _) => fact,
        };
        assert_eq!(result.ok(), expected.map(|row| row.2), "{case}");
        assert_eq!(
            desk.review.mark(1),
            expected.map_or(mark, |row| row.0),
            "{case}"
        );
        assert_eq!(desk.review.fact(1), after, "{case}");
        assert_eq!(desk.text(), with_second(after), "{case}");
        assert_eq!((desk.review.mark(0), desk.review.fact(0)), (Pending, Out));
    }
}

/// Returns the original with the second hunk or a part of it.
fn with_second(fact: Fact) -> &'static str {
    match fact {
        Out => OUT,
        In => SECOND_IN,
        Mixed => SECOND_MIXED,
    }
}

const OUT: &str = "a\n1\n2\n3\n4\n5\n6\n7\nb\n8\n";
const FIRST_IN: &str = "A\n1\n2\n3\n4\n5\n6\n7\nb\n8\n";
const SECOND_IN: &str = "a\n1\n2\n3\n4\n5\n6\n7\nB\n8\nC\n";
const SECOND_MIXED: &str = "a\n1\n2\n3\n4\n5\n6\n7\nb\n8\nC\n";
const TWO_IN: &str = "A\n1\n2\n3\n4\n5\n6\n7\nB\n8\nC\n";
/// Neither hunk has its lines.
const LOST: &str = "x\n";

fn desk() -> Desk {
    Desk::of_texts(OUT, TWO_IN)
}

fn accept_all(desk: &mut Desk) -> (Plan, Vec<(usize, Refusal)>) {
    let (plan, refused) = desk.review.plan_all();
    desk.carry_out(&plan);
    (plan, refused)
}

fn marks(desk: &Desk) -> [Mark; 2] {
    [0, 1].map(|hunk| desk.review.mark(hunk))
}

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
    let (plan, refused) = desk.review.plan_none();
    desk.carry_out(&plan);
    assert_eq!((plan.edits.len(), refused), (3, vec![]));
    assert_eq!(desk.text(), OUT);
    assert_eq!(marks(&desk), [Pending, Pending]);

    accept_all(&mut desk);
    let edited = TWO_IN.replacen("A", "edited", 1);
    desk.becomes(&edited);
    let (plan, refused) = desk.review.plan_none();
    desk.carry_out(&plan);
    assert!(
        matches!(refused[..], [(0, Refusal::Flip(_))]),
        "{refused:?}"
    );
    assert_eq!(desk.text(), FIRST_IN.replacen("A", "edited", 1));
    assert_eq!(marks(&desk), [Applied, Pending]);
}

/// Takes the latest decision back, or again.
fn take_back(desk: &mut Desk, is_redo: bool) -> Result<(), Refusal> {
    let plan = match is_redo {
        true => desk.review.plan_redo()?,
        false => desk.review.plan_undo()?,
    };
    desk.carry_out(&plan);
    Ok(())
}

#[test]
fn decisions_are_taken_back_and_again_mark_and_file_together() {
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
        take_back(&mut desk, false).unwrap();
        assert_eq!((marks(&desk), desk.text()), (expected, text.to_owned()));
    }
    assert_eq!(take_back(&mut desk, false), Err(Refusal::NothingToTakeBack));
    for (expected, text) in pictures[..3].iter().rev() {
        take_back(&mut desk, true).unwrap();
        assert_eq!((marks(&desk), desk.text()), (*expected, text.to_string()));
    }
    take_back(&mut desk, true).unwrap();
    assert_eq!(
        (marks(&desk), desk.text()),
        ([Pending, Applied], TWO_IN.to_owned())
    );
    assert_eq!(take_back(&mut desk, true), Err(Refusal::NothingToTakeBack));
    // A new decision is the end of what could be taken again.
    take_back(&mut desk, false).unwrap();
    desk.act(1, Reject).unwrap();
    assert_eq!(take_back(&mut desk, true), Err(Refusal::NothingToTakeBack));
}

#[test]
fn accepting_and_rejecting_all_is_one_decision() {
    let mut desk = desk();
    accept_all(&mut desk);
    take_back(&mut desk, false).unwrap();
    assert_eq!(
        (marks(&desk), desk.text()),
        ([Pending, Pending], OUT.to_owned())
    );
    desk.act(0, Accept).unwrap();
    desk.review.reject_all();
    take_back(&mut desk, false).unwrap();
    assert_eq!(marks(&desk), [Applied, Pending]);
    desk.act(1, Accept).unwrap();
    desk.review.join_decisions(2);
    take_back(&mut desk, false).unwrap();
    assert_eq!(
        (marks(&desk), desk.text()),
        ([Pending, Pending], OUT.to_owned())
    );
    assert_eq!(desk.review.n_decisions(), 0);
}

#[test]
fn a_decision_is_not_taken_back_over_what_others_have_changed() {
    let mut desk = desk();
    desk.act(0, Accept).unwrap();
    let edited = desk.text().replacen('A', "mine", 1);
    desk.becomes(&edited);
    assert!(matches!(take_back(&mut desk, false), Err(Refusal::Flip(_))));
    assert_eq!((marks(&desk)[0], desk.text()), (Applied, edited));
    assert_eq!(desk.review.n_decisions(), 1);
}

#[test]
fn a_decision_on_what_was_split_since_is_taken_back_on_its_parts() {
    let mut desk = desk();
    desk.act(1, Accept).unwrap();
    assert_eq!(desk.review.split(1), Ok(2));
    take_back(&mut desk, false).unwrap();
    assert_eq!(desk.text(), OUT);
    assert_eq!(
        (0..3)
            .map(|hunk| desk.review.mark(hunk))
            .collect::<Vec<_>>(),
        [Pending; 3]
    );
}

#[test]
fn what_stands_in_the_place_of_a_hunk_is_told_by_line() {
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

#[test]
fn reject_all_leaves_the_applied_and_the_target() {
    let mut desk = desk();
    desk.act(0, Accept).unwrap();
    desk.review.reject_all();
    assert_eq!(marks(&desk), [Applied, Rejected]);
    assert_eq!(desk.text(), FIRST_IN);
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
    desk.review.reject_all();
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
fn rejecting_all_rejects_what_failed_also_if_it_was_marked_rejected_before() {
    let mut desk = desk();
    desk.act(0, Reject).unwrap();
    desk.becomes(LOST);
    desk.act(0, Accept).unwrap_err();
    desk.review.fail(0);
    check_decision(&desk, Decision::NotApplied, Decision::NotApplied);
    desk.review.reject_all();
    check_decision(&desk, Decision::Rejected, Decision::Rejected);
}

#[test]
fn taking_the_mark_back_after_a_failed_accept_is_no_rejection() {
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
    assert_eq!((counts, counts.pending()), (expected, 0));
    desk.act(1, Unapply).unwrap();
    let counts = desk.review.counts();
    assert_eq!((counts.pending(), counts.in_target), (1, 1));
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
