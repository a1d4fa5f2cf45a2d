//! The state machine: every mark, fact and command.

use agent_q_diff_engine::review::Command::{self, Accept, Reject, Toggle, Unapply};
use agent_q_diff_engine::review::Fact::{self, In, Mixed, Out};
use agent_q_diff_engine::review::Mark::{self, Applied, Pending, Rejected};
use agent_q_diff_engine::review::Note::{
    self, AlreadyIn, AlreadyOut, Edited, Marked, StaysIn, Unchanged,
};
use agent_q_diff_engine::review::{Refusal, Stage, Step, step};

use super::{OUT, SECOND_IN, SECOND_MIXED, TWO_IN};
use crate::common::desk::Desk;

const FLIPS: bool = true;
const STAYS: bool = false;

type Row = (Mark, Fact, Command, Option<(Mark, bool, Note)>);

/// Every mark, fact and command; then the new mark, whether the target changes, and the note for
/// the user. `None`: the command is refused, since the hunk is not in the target.
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
            step(Stage::Proposed, mark, fact, command),
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
