//! When the line that a hunk's header states decides between several places.

use agent_q_diff_engine::patch::locate::NotPlaced;
use agent_q_diff_engine::review::Command::Accept;
use agent_q_diff_engine::review::Fact;

use super::{check_place, check_refused};
use crate::common::desk::Desk;
use crate::common::texts::text;

/// Three hunks: the first and the last change unique lines.
const BETWEEN: &str = "\
@@ -1,2 +1,2 @@
-top
+TOP
 {
@@ -4,2 +4,3 @@
 {
+new
 }
@@ -9,2 +10,2 @@
 }
-end
+END
";

#[test]
fn neighbors_that_moved_alike_vouch_for_the_stated_line() {
    let live = text("top { } { } { } { } end");
    let mut desk = Desk::of_diff(BETWEEN, &live);
    check_place(&desk, 1, 4, 0);
    desk.act(1, Accept).unwrap();
    assert_eq!(desk.text(), text("top { } { new } { } { } end"));
    // With lines above all hunks, and the first hunk in.
    let mut desk = Desk::of_diff(BETWEEN, &text("x y TOP { } { } { } { } end"));
    assert_eq!(desk.review.fact(0), Fact::In);
    check_place(&desk, 1, 6, 2);
    desk.act(1, Accept).unwrap();
    assert_eq!(desk.text(), text("x y TOP { } { new } { } { } end"));
}

#[test]
fn neighbors_that_moved_differently_do_not_vouch() {
    let mut desk = Desk::of_diff(BETWEEN, &text("top { } { } { } end"));
    let candidates = vec![1, 3, 5];
    check_refused(&mut desk, 1, NotPlaced::Ambiguous { candidates });
    let mut desk = Desk::of_diff(BETWEEN, &text("x top { } { } { } { } end"));
    check_place(&desk, 1, 5, 1);
    desk.becomes(&text("x top { } { } { } { } y end"));
    let candidates = vec![2, 4, 6, 8];
    check_refused(&mut desk, 1, NotPlaced::Ambiguous { candidates });
}

#[test]
fn a_neighbor_on_one_side_does_not_vouch() {
    let (head, tail) = BETWEEN.split_at(BETWEEN.find("@@ -9").unwrap());
    let mut desk = Desk::of_diff(head, &text("top { } { } { } { } end"));
    let candidates = vec![1, 3, 5, 7];
    check_refused(
        &mut desk,
        1,
        NotPlaced::Ambiguous {
            candidates: candidates.clone(),
        },
    );
    let middle = &head[head.find("@@ -4").unwrap()..];
    let mut desk = Desk::of_diff(&format!("{middle}{tail}"), &text("top { } { } { } { } end"));
    check_refused(&mut desk, 0, NotPlaced::Ambiguous { candidates });
}

#[test]
fn neighbors_vouch_also_for_what_is_in_already() {
    let desk = Desk::of_diff(BETWEEN, &text("top { } { new } { new } { } end"));
    // Two blocks have the line already. The numbers fit only if the stated one got it.
    let reason = desk.review.proposal().place(1).unwrap_err();
    assert_eq!(reason.candidates(), [1, 3, 6, 9]);
    let desk = Desk::of_diff(
        &BETWEEN.replace("-9,2 +10,2", "-10,2 +11,2"),
        &text("top { } { new } { new } { } end"),
    );
    assert_eq!(desk.review.fact(1), Fact::In);
    check_place(&desk, 1, 4, 0);
}
