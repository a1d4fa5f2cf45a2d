//! A proposal's hunks and where each of them is in the target.

mod bare;
mod blob;
mod candidates;
mod follow;
mod fuzz;
mod rewrite;
mod settle;
mod split;
mod vouch;
mod white_space;

use agent_q_diff_engine::patch::locate::NotPlaced;
use agent_q_diff_engine::proposal::{Proposal, ProposalError};
use agent_q_diff_engine::review::Command::{self, Accept};
use agent_q_diff_engine::review::Refusal;
use agent_q_diff_engine::weave::FlipError;

use crate::common::desk::Desk;

/// Returns why `command` is refused, and checks that nothing changed.
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

/// A diff that adds a line to two of many equal blocks.
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

const ONE_LINE: &str = "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n";

/// Returns the lines at which `hunk` may belong, in the order in which they are offered.
fn offered(desk: &Desk, hunk: usize) -> Vec<usize> {
    let candidates = desk.review.proposal().candidates(hunk);
    candidates.iter().map(|place| place.line).collect()
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
