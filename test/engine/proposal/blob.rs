//! Bare diffs whose original is known after all, since git names it in the diff.

use agent_q_diff_engine::proposal::{Proposal, Side};
use agent_q_diff_engine::review::Command::{Accept, Reject, Unapply};

use super::IN_EQUAL_BLOCKS;
use crate::common::desk::Desk;
use crate::common::texts::text;

/// Opens a review of `diff`, whose index line names `live` as the text before the change.
fn named(diff: &str, live: &str) -> Desk {
    let mut proposal = Proposal::from_diff(diff.as_bytes()).expect("a diff");
    assert!(proposal.adopt(live.as_bytes(), Side::Old));
    Desk::open(proposal, live.as_bytes())
}

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
