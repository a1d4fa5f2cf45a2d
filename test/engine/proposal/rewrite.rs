//! What the user makes of a hunk: other lines, or lines merged with those of the target.

mod model;
mod walk;

use agent_q_diff_engine::patch::locate::NotPlaced;
use agent_q_diff_engine::review::Command::{Accept, Unapply};
use agent_q_diff_engine::review::{Fact, Mark, Plan, Refusal};
use agent_q_diff_engine::weave::FlipError;

use crate::common::desk::Desk;

const ORIGINAL: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n0\nx\ny\nz\n";
const MODIFIED: &str = "1\n2\nthree\n4\n5\n6\n7\n8\n9\n0\nX\ny\nz\n";

impl Desk {
    pub fn edit(&mut self, hunk: usize, text: &str) -> Result<(), Refusal> {
        let plan = self.review.plan_edit(hunk, text.as_bytes())?;
        self.carry_out(&plan);
        Ok(())
    }

    fn merge(&mut self, hunk: usize, text: &str) -> Result<Plan, Refusal> {
        let plan = self.review.plan_merge(hunk, text.as_bytes())?;
        self.carry_out(&plan);
        Ok(plan)
    }

    fn merged(&self, hunk: usize) -> (bool, String) {
        let merged = self.review.merge(hunk).expect("a place");
        (
            merged.n_conflicts() == 0,
            String::from_utf8(merged.marked()).unwrap(),
        )
    }
}

#[test]
fn an_edited_hunk_is_pending_and_puts_in_what_the_user_wrote() {
    let mut desk = Desk::of_texts(ORIGINAL, MODIFIED);
    assert_eq!(
        desk.review.proposal().proposed(0),
        b"1\n2\nthree\n4\n5\n6\n"
    );
    desk.edit(0, "1\n2\nIII\niii\n4\n5\n6\n").unwrap();
    assert_eq!(
        (desk.review.mark(0), desk.review.fact(0)),
        (Mark::Pending, Fact::Out)
    );
    assert_eq!(
        (desk.review.is_edited(0), desk.review.is_edited(1)),
        (true, false)
    );
    assert_eq!(desk.text(), ORIGINAL);
    let expected = "\
@@ -1,6 +1,7 @@
 1
 2
-3
+III
+iii
 4
 5
 6
@@ -8,6 +9,6 @@
 8
 9
 0
-x
+X
 y
 z
";
    assert_eq!(desk.shown(), expected);
    desk.act(0, Accept).unwrap();
    desk.act(1, Accept).unwrap();
    let both = ORIGINAL.replace("3\n", "III\niii\n").replace('x', "X");
    assert_eq!(desk.text(), both);
    desk.act(0, Unapply).unwrap();
    desk.act(1, Unapply).unwrap();
    assert_eq!(desk.text(), ORIGINAL);
}

#[test]
fn context_lines_can_be_edited_as_well() {
    let mut desk = Desk::of_texts(ORIGINAL, MODIFIED);
    desk.edit(0, "one\n2\n3\n4\n5\nsix\n").unwrap();
    desk.act(0, Accept).unwrap();
    let expected = ORIGINAL.replacen('1', "one", 1).replace('6', "six");
    assert_eq!(desk.text(), expected);
    desk.act(0, Unapply).unwrap();
    assert_eq!(desk.text(), ORIGINAL);
}

#[test]
fn an_applied_hunk_that_is_edited_stays_applied_and_the_target_follows() {
    let mut desk = Desk::of_texts(ORIGINAL, MODIFIED);
    desk.act(0, Accept).unwrap();
    let plan = desk
        .review
        .plan_edit(0, b"1\n2\nthree\nIII\n4\n5\n6\n")
        .unwrap();
    assert_eq!(plan.edits.len(), 1);
    assert_eq!(plan.edits[0].n_removed, 0, "only what differs is touched");
    desk.carry_out(&plan);
    assert_eq!(
        (desk.review.mark(0), desk.review.fact(0)),
        (Mark::Applied, Fact::In)
    );
    assert_eq!(desk.text(), ORIGINAL.replace("3\n", "three\nIII\n"));
    desk.act(0, Unapply).unwrap();
    assert_eq!(desk.text(), ORIGINAL);
}

#[test]
fn with_the_text_of_the_original_a_hunk_would_change_nothing() {
    let mut desk = Desk::of_texts(ORIGINAL, MODIFIED);
    let refusal = desk.edit(0, "1\n2\n3\n4\n5\n6\n").unwrap_err();
    assert_eq!(refusal, Refusal::ChangesNothing);
    assert!(!desk.review.is_edited(0));
}

#[test]
fn where_others_have_changed_a_line_it_is_not_edited_over() {
    let mut desk = Desk::of_texts(ORIGINAL, MODIFIED);
    desk.edit_outside(3, 1, b"theirs\n", false);
    desk.edit(0, "1\n2\nIII\n4\n5\n6\n").expect("beside it");
    let refusal = desk.edit(0, "1\n2\nIII\nIV\n5\n6\n").unwrap_err();
    assert!(matches!(
        refusal,
        Refusal::Flip(FlipError::ChangedByUser { .. })
    ));
    desk.act(0, Accept).unwrap();
    assert_eq!(desk.text(), ORIGINAL.replace("3\n4\n", "III\ntheirs\n"));
}

#[test]
fn lines_that_others_put_right_beside_a_change_are_not_in_the_way_of_editing_it() {
    let mut desk = Desk::of_texts(ORIGINAL, MODIFIED);
    desk.edit_outside(3, 0, b"below\n", false);
    desk.edit(0, "1\n2\nIII\n4\n5\n6\n").unwrap();
    desk.act(0, Accept).unwrap();
    desk.edit_outside(2, 0, b"above\n", false);
    desk.edit(0, "1\n2\niii\n4\n5\n6\n").unwrap();
    assert_eq!(desk.text(), ORIGINAL.replace("3\n", "above\niii\nbelow\n"));
    desk.act(0, Unapply).unwrap();
    assert_eq!(desk.text(), ORIGINAL.replace("3\n", "above\n3\nbelow\n"));
}

#[test]
fn a_hunk_of_a_bare_diff_without_context_is_edited_and_merged_alone() {
    let mut desk = Desk::of_diff("@@ -2 +2 @@\n-b\n+B\n", "a\nb\nc\n");
    desk.edit(0, "C\n").unwrap();
    desk.act(0, Accept).unwrap();
    desk.edit(0, "D\n").unwrap();
    assert_eq!(desk.text(), "a\nD\nc\n");
    desk.edit_outside(1, 1, b"mine\n", false);
    desk.merge(0, "mine\nD\n").unwrap();
    assert_eq!(desk.text(), "a\nmine\nD\nc\n");
    desk.act(0, Unapply).unwrap();
    assert_eq!(desk.text(), "a\nmine\nc\n");
}

#[test]
fn a_newline_that_the_user_left_out_is_put_back_unless_the_file_has_none() {
    let mut desk = Desk::of_texts(ORIGINAL, MODIFIED);
    desk.edit(0, "1\n2\nIII\n4\n5\n6").unwrap();
    desk.act(0, Accept).unwrap();
    assert_eq!(desk.text(), ORIGINAL.replace('3', "III"));
    let mut desk = Desk::of_texts("a\r\nb\r\n", "a\r\nB\r\n");
    desk.edit(0, "a\r\nC").unwrap();
    desk.act(0, Accept).unwrap();
    assert_eq!(desk.text(), "a\r\nC\r\n");
    let mut desk = Desk::of_texts("a\nb", "a\nB");
    desk.edit(0, "a\nC").unwrap();
    desk.act(0, Accept).unwrap();
    assert_eq!(desk.text(), "a\nC");
}

#[test]
fn where_lines_follow_that_were_typed_since_a_newline_left_out_is_put_back_too() {
    let mut desk = Desk::of_texts("a\nb", "a\nB\n");
    desk.act(0, Accept).unwrap();
    desk.edit_outside(2, 0, b"mine\n", false);
    desk.edit(0, "a\nC").unwrap();
    assert_eq!(desk.text(), "a\nC\nmine\n");
}

#[test]
fn nothing_is_added_after_a_line_without_newline() {
    let mut desk = Desk::of_texts("a\nb", "a\nB\nC\n");
    desk.review.pick(0, 0..1).unwrap();
    let refusal = desk.merge(1, "C\n").unwrap_err();
    assert_eq!(refusal, Refusal::Flip(FlipError::Glued));
    assert_eq!(desk.text(), "a\nb");
}

#[test]
fn an_edited_hunk_of_a_bare_diff_keeps_its_place_and_its_numbers() {
    let diff = "@@ -11,3 +11,3 @@\n a\n-b\n+B\n c\n@@ -15,2 +15,2 @@\n e\n-f\n+F\n";
    let target = "x\n".repeat(12) + "a\nb\nc\nd\ne\nf\n";
    let mut desk = Desk::of_diff(diff, &target);
    desk.edit(0, "a\nB\nBB\nc\n").unwrap();
    let expected = "@@ -11,3 +11,4 @@\n a\n-b\n+B\n+BB\n c\n@@ -15,2 +16,2 @@\n e\n-f\n+F\n";
    assert_eq!(desk.shown(), expected);
    assert_eq!(desk.review.proposal().place(1).unwrap().offset, 2);
    desk.act(0, Accept).unwrap();
    desk.act(1, Accept).unwrap();
    let both = target.replace("b\n", "B\nBB\n").replace("f\n", "F\n");
    assert_eq!(desk.text(), both);
}

#[test]
fn a_hunk_of_a_bare_diff_that_is_not_found_can_be_edited_and_stays_so() {
    let mut desk = Desk::of_diff("@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", "nothing\n");
    desk.edit(0, "a\nBB\nc\n").unwrap();
    assert!(desk.act(0, Accept).is_err());
    desk.becomes("a\nb\nc\n");
    desk.act(0, Accept).unwrap();
    assert_eq!(desk.text(), "a\nBB\nc\n");
}

#[test]
fn of_a_conflict_the_three_texts_are_merged_and_the_users_lines_are_applied() {
    let mut desk = Desk::of_texts(ORIGINAL, MODIFIED);
    desk.edit_outside(2, 1, b"mine\n", false);
    assert!(desk.act(0, Accept).is_err());
    let merged = "\
1
2
<<<<<<< ours
mine
||||||| original
3
=======
three
>>>>>>> theirs
4
5
6
";
    assert_eq!(desk.merged(0), (false, merged.to_owned()));
    desk.merge(0, "1\n2\nmine\nthree\n4\n5\n6\n").unwrap();
    assert_eq!(
        (desk.review.mark(0), desk.review.fact(0)),
        (Mark::Applied, Fact::In)
    );
    assert!(desk.review.is_edited(0));
    assert_eq!(desk.text(), ORIGINAL.replace("3\n", "mine\nthree\n"));
    desk.act(0, Unapply).unwrap();
    assert_eq!(desk.text(), ORIGINAL.replace('3', "mine"), "theirs is back");
    desk.act(0, Accept).unwrap();
    desk.act(1, Accept).unwrap();
    let both = ORIGINAL.replace("3\n", "mine\nthree\n").replace('x', "X");
    assert_eq!(desk.text(), both);
}

#[test]
fn undoing_a_merge_in_the_target_takes_the_hunk_out() {
    let mut desk = Desk::of_texts(ORIGINAL, MODIFIED);
    desk.edit_outside(2, 1, b"mine\n", false);
    desk.merge(0, "1\n2\nmine\nthree\n4\n5\n6\n").unwrap();
    desk.edit_outside(3, 1, b"", true);
    assert_eq!(desk.review.fact(0), Fact::Out);
    desk.act(0, Accept).unwrap();
    assert_eq!(desk.text(), ORIGINAL.replace("3\n", "mine\nthree\n"));
}

#[test]
fn changes_that_do_not_touch_are_merged_without_markers() {
    let (original, modified) = ("1\na\nb\nc\nd\n2\n", "1\na\nB\nc\nD\n2\n");
    let mut desk = Desk::of_texts(original, modified);
    desk.edit_outside(4, 1, b"d\nD\n", false);
    assert!(desk.act(0, Accept).is_err());
    desk.edit_outside(4, 2, b"mine\n", false);
    let (is_clean, merged) = desk.merged(0);
    assert!(!is_clean);
    assert!(merged.starts_with("1\na\nB\nc\n<<<<<<<"), "{merged}");
}

#[test]
fn a_conflict_settled_for_what_the_target_has_is_a_rejection() {
    let mut desk = Desk::of_texts(ORIGINAL, MODIFIED);
    desk.edit_outside(2, 1, b"mine\n", false);
    desk.merge(0, "1\n2\nmine\n4\n5\n6\n").unwrap();
    assert_eq!(
        (desk.review.mark(0), desk.review.fact(0)),
        (Mark::Rejected, Fact::Out)
    );
    assert_eq!(desk.text(), ORIGINAL.replace('3', "mine"));
}

#[test]
fn lines_typed_at_the_edge_of_a_hunk_without_context_take_part_in_the_merge() {
    let mut desk = Desk::of_texts("a\n", "a\nb\n");
    desk.edit_outside(1, 0, b"mine\n", false);
    assert!(desk.act(0, Accept).is_err());
    let (is_clean, merged) = desk.merged(0);
    assert!(!is_clean && merged.contains("mine") && merged.contains("b\n"));
    desk.merge(0, "a\nmine\nb\n").unwrap();
    assert_eq!(desk.text(), "a\nmine\nb\n");
    desk.act(0, Unapply).unwrap();
    assert_eq!(desk.text(), "a\nmine\n");
}

#[test]
fn a_new_file_that_somebody_else_has_made_meanwhile_can_be_merged_with() {
    let mut desk = Desk::of_texts("", "a\nb\n");
    desk.edit_outside(0, 0, b"theirs\n", false);
    assert!(desk.act(0, Accept).is_err());
    desk.merge(0, "a\ntheirs\nb\n").unwrap();
    assert_eq!(desk.text(), "a\ntheirs\nb\n");
    desk.act(0, Unapply).unwrap();
    assert_eq!(desk.text(), "theirs\n");
}

#[test]
fn after_a_merge_the_hunks_below_have_the_numbers_of_the_lines_as_they_are() {
    let mut desk = Desk::of_texts(ORIGINAL, MODIFIED);
    desk.edit_outside(2, 1, b"my\nown\n", false);
    assert_eq!(desk.review.proposal().place(1).unwrap().offset, 1);
    desk.merge(0, "1\n2\nmy\nthree\n4\n5\n6\n").unwrap();
    assert!(
        desk.shown().contains("@@ -9,6 +9,6 @@ own\n 8\n"),
        "{}",
        desk.shown()
    );
    assert_eq!(desk.review.proposal().place(1).unwrap().offset, 0);
}

#[test]
fn after_a_merge_of_a_bare_diff_the_hunks_below_are_as_far_from_their_headers_as_before() {
    let diff = "@@ -11,3 +11,3 @@\n a\n-b\n+B\n c\n@@ -15,2 +15,2 @@\n e\n-f\n+F\n";
    let target = "x\n".repeat(10) + "a\nb\nc\nd\ne\nf\n";
    let mut desk = Desk::of_diff(diff, &target);
    desk.edit_outside(11, 1, b"my\nown\n", false);
    assert_eq!(desk.review.proposal().place(1).unwrap().offset, 1);
    desk.merge(0, "a\nmy\nB\nc\n").unwrap();
    assert_eq!(desk.review.proposal().place(1).unwrap().offset, 1);
}

#[test]
fn an_edited_hunk_that_may_be_elsewhere_may_still_be_elsewhere() {
    let original = "{\na\nb\n}\n".repeat(4);
    let modified = "{\na\nb\n}\n".repeat(2) + "{\na\nx\nb\n}\n{\na\nb\n}\n";
    let mut desk = Desk::of_texts(&original, &modified);
    desk.becomes(&format!("typed\n{original}"));
    let text = String::from_utf8(desk.review.proposal().proposed(0).to_vec()).unwrap();
    desk.edit(0, &text.replace("x\n", "y\n")).unwrap();
    let candidates = vec![11];
    let ambiguous = NotPlaced::Ambiguous { candidates };
    assert_eq!(desk.act(0, Accept).unwrap_err(), ambiguous.into());
    // The user sees the place that he merges at.
    desk.merge(0, &text).unwrap();
    assert_eq!(desk.text(), format!("typed\n{modified}"));
}

#[test]
fn what_was_doubted_before_an_edit_is_not_brought_back_by_undoing() {
    let mut desk = Desk::of_texts(ORIGINAL, MODIFIED);
    desk.edit_outside(6, 2, b"seven\neight\n", false);
    desk.edit(0, "one\n2\n3\n4\nV\n6\n").unwrap();
    desk.edit_outside(6, 2, b"VII\nVIII\n", false);
    desk.edit_outside(6, 2, b"seven\neight\n", true);
    desk.act(1, Accept).unwrap();
    let both = ORIGINAL.replace("7\n8\n", "seven\neight\n");
    assert_eq!(desk.text(), both.replace('x', "X"));
}

#[test]
fn an_edited_hunk_is_split_like_any_other() {
    let mut desk = Desk::of_texts(ORIGINAL, MODIFIED);
    desk.edit(0, "one\n2\n3\n4\nV\n6\n").unwrap();
    assert_eq!(desk.review.split(0), Ok(2));
    assert!(desk.review.is_edited(0) && desk.review.is_edited(1));
    desk.act(1, Accept).unwrap();
    assert_eq!(desk.text(), ORIGINAL.replace('5', "V"));
}
