//! Splitting hunks: the parts are hunks of their own, and together they are the whole hunk.

use agent_q_diff_engine::diff::{self, HeadingRule};
use agent_q_diff_engine::patch::locate::NotPlaced;
use agent_q_diff_engine::proposal::Proposal;
use agent_q_diff_engine::review::Command::{Accept, Reject, Unapply};
use agent_q_diff_engine::review::{Fact, Mark, Refusal};
use agent_q_diff_engine::show::rows::{self, Block};
use agent_q_diff_engine::text::Text;
use agent_q_diff_engine::weave::FlipError;

use crate::common::compared::{compare, patched};
use crate::common::desk::{Desk, lines_of};
use crate::common::dice::Dice;
use crate::common::pairs::for_each_pair;

const ORIGINAL: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
const MODIFIED: &str = "1\n2\nthree\n4\n5\n6\n7\neight\n9\n";

#[test]
fn the_lines_between_are_shared_out_and_none_is_shown_twice() {
    let mut desk = Desk::of_texts(ORIGINAL, MODIFIED);
    assert_eq!(desk.review.split(0), Ok(2));
    let expected = "\
@@ -1,5 +1,5 @@
 1
 2
-3
+three
 4
 5
@@ -6,4 +6,4 @@
 6
 7
-8
+eight
 9
";
    assert_eq!(desk.shown(), expected);
}

#[test]
fn each_part_is_decided_by_itself() {
    let mut desk = Desk::of_texts(ORIGINAL, MODIFIED);
    desk.review.split(0).unwrap();
    desk.act(1, Accept).unwrap();
    assert_eq!(desk.text(), ORIGINAL.replace('8', "eight"));
    desk.act(0, Reject).unwrap();
    assert_eq!(
        (desk.review.mark(0), desk.review.mark(1)),
        (Mark::Rejected, Mark::Applied)
    );
    assert_eq!(
        (desk.review.fact(0), desk.review.fact(1)),
        (Fact::Out, Fact::In)
    );
}

#[test]
fn parts_of_what_is_applied_are_applied_and_can_be_taken_out_one_by_one() {
    let mut desk = Desk::of_texts(ORIGINAL, MODIFIED);
    desk.act(0, Accept).unwrap();
    desk.review.split(0).unwrap();
    assert_eq!(
        (desk.review.mark(0), desk.review.mark(1)),
        (Mark::Applied, Mark::Applied)
    );
    desk.act(0, Unapply).unwrap();
    assert_eq!(desk.text(), ORIGINAL.replace('8', "eight"));
}

#[test]
fn a_change_that_only_removes_or_only_adds_stays_whole() {
    for (original, modified) in [("a\nb\n", "a\n"), ("a\n", "a\nb\nc\n")] {
        let mut desk = Desk::of_texts(original, modified);
        assert_eq!(desk.review.split(0), Ok(1));
        assert_eq!(desk.review.proposal().n_hunks(), 1);
    }
}

#[test]
fn lines_and_what_replaces_them_are_one_part() {
    for replacement in ["1\n.x\n.y\n2\n", "1\n.x\n2\n"] {
        let mut desk = Desk::of_texts("1\n.a\n.b\n2\n", replacement);
        assert_eq!(desk.review.split(0), Ok(1));
        assert_eq!(desk.review.proposal().n_hunks(), 1);
    }
}

#[test]
fn what_a_change_removes_and_what_it_adds_can_be_picked() {
    let mut desk = Desk::of_texts("1\n.a\n.b\n2\n", "1\n.x\n.y\n2\n");
    assert_eq!(desk.review.pick(0, 0..2), Ok((2, 0)));
    let expected = "@@ -1,3 +1 @@\n 1\n-.a\n-.b\n@@ -4 +2,3 @@\n+.x\n+.y\n 2\n";
    assert_eq!(desk.shown(), expected);
    desk.act(1, Accept).unwrap();
    assert_eq!(desk.text(), "1\n.a\n.b\n.x\n.y\n2\n");
    desk.act(0, Accept).unwrap();
    assert_eq!(desk.text(), "1\n.x\n.y\n2\n");
    desk.act(1, Unapply).unwrap();
    assert_eq!(desk.text(), "1\n2\n");
    desk.act(0, Unapply).unwrap();
    assert_eq!(desk.text(), "1\n.a\n.b\n2\n");
}

#[test]
fn chosen_lines_become_a_hunk_of_their_own_and_keep_the_order_of_the_diff() {
    let mut desk = Desk::of_texts("1\n.b\n.c\n2\n", "1\n.b2\n.c2\n2\n");
    assert_eq!(desk.review.pick(0, 1..3), Ok((3, 1)));
    let expected = "\
@@ -1,2 +1 @@
 1
-.b
@@ -3 +2 @@
-.c
+.b2
@@ -4 +3,2 @@
+.c2
 2
";
    assert_eq!(desk.shown(), expected);
    desk.act(1, Accept).unwrap();
    assert_eq!(desk.text(), "1\n.b\n.b2\n2\n");
    desk.act(2, Accept).unwrap();
    desk.act(0, Accept).unwrap();
    assert_eq!(desk.text(), "1\n.b2\n.c2\n2\n");
}

#[test]
fn lines_picked_one_after_the_other_stay_in_the_order_of_the_diff() {
    let mut desk = Desk::of_texts("b\nc\n", "b2\nc2\n");
    assert_eq!(desk.review.pick(0, 0..1), Ok((2, 0)));
    desk.act(0, Accept).unwrap();
    assert_eq!(desk.review.pick(1, 1..2), Ok((3, 1)));
    desk.act(2, Accept).unwrap();
    assert_eq!(desk.text(), "c\nb2\n");
}

#[test]
fn chosen_lines_of_several_changes_are_one_hunk_with_what_is_between() {
    let mut desk = Desk::of_texts(ORIGINAL, MODIFIED);
    assert_eq!(desk.review.pick(0, 1..3), Ok((3, 1)));
    desk.act(1, Accept).unwrap();
    assert_eq!(desk.text(), "1\n2\n3\nthree\n4\n5\n6\n7\n9\n");
    assert_eq!(desk.review.pick(1, 0..2), Ok((1, 0)), "all of it");
}

#[test]
fn lines_that_are_not_there_are_refused() {
    let mut desk = Desk::of_texts(ORIGINAL, MODIFIED);
    for lines in [0..5, 2..2, 4..5] {
        assert_eq!(desk.review.pick(0, lines), Err(Refusal::NoSuchLines));
    }
    let (hunk, n_hunks) = (1, 1);
    let no_hunk = Refusal::NoSuchHunk { hunk, n_hunks };
    assert_eq!(desk.review.pick(1, 0..1), Err(no_hunk));
}

#[test]
fn a_change_whose_lines_others_have_changed_is_not_cut() {
    let mut desk = Desk::of_texts("1\na\nb\n2\n", "1\nx\ny\n2\n");
    desk.edit_outside(2, 0, b"typed\n", false);
    let refusal = desk.review.pick(0, 0..1).unwrap_err();
    let line = 1;
    assert_eq!(refusal, Refusal::Flip(FlipError::ChangedByUser { line }));
    assert_eq!(desk.review.split(0), Ok(1));
}

#[test]
fn text_typed_where_lines_would_go_is_in_the_way_of_each_part_of_them() {
    let mut desk = Desk::of_texts("1\n2\n", "1\nx\ny\n2\n");
    assert_eq!(desk.review.pick(0, 0..1), Ok((2, 0)));
    desk.edit_outside(1, 0, b"typed\n", false);
    for hunk in 0..2 {
        assert!(desk.act(hunk, Accept).is_err());
    }
}

#[test]
fn parts_of_a_change_that_may_be_elsewhere_may_be_elsewhere() {
    let original = "{\na\nb\n}\n".repeat(4);
    let modified = "{\na\nb\n}\n".repeat(2) + "{\na\nx\ny\nb\n}\n{\na\nb\n}\n";
    let mut desk = Desk::of_texts(&original, &modified);
    desk.becomes(&format!("typed\n{original}"));
    assert_eq!(desk.review.pick(0, 0..1), Ok((2, 0)));
    for hunk in 0..2 {
        let refusal = desk.act(hunk, Accept).unwrap_err();
        let candidates = vec![11];
        assert_eq!(refusal, NotPlaced::Ambiguous { candidates }.into());
    }
}

#[test]
fn what_was_doubted_before_a_split_is_not_brought_back_by_undoing() {
    let mut desk = Desk::of_texts(ORIGINAL, "1\n2\nthree\n4\n5\n6\n7\n8\n9\n");
    desk.edit_outside(5, 2, b"six\nseven\n", false);
    desk.review.pick(0, 0..1).unwrap();
    desk.edit_outside(5, 2, b"VI\nVII\n", false);
    desk.edit_outside(5, 2, b"six\nseven\n", true);
    desk.act(1, Accept).unwrap();
    desk.act(0, Accept).unwrap();
    assert_eq!(desk.text(), "1\n2\nthree\n4\n5\nsix\nseven\n8\n9\n");
}

#[test]
fn of_a_bare_diff_what_was_cut_apart_is_not_searched_for() {
    let diff = "@@ -1,3 +1,3 @@\n 1\n-a\n+x\n 2\n";
    let mut desk = Desk::of_diff(diff, "1\na\n2\n");
    assert_eq!(desk.review.pick(0, 0..1), Ok((2, 0)));
    desk.act(1, Accept).unwrap();
    assert_eq!(desk.text(), "1\na\nx\n2\n");
    desk.becomes("0\n1\na\nx\n2\n");
    for (hunk, command) in [(0, Accept), (1, Unapply)] {
        let refusal = desk.act(hunk, command).unwrap_err();
        assert_eq!(refusal, Refusal::NotPlaced(NotPlaced::Cut));
    }
}

#[test]
fn other_hunks_keep_their_marks_and_places() {
    let far = |text: &str| format!("{text}{}", "x\ny\nz\n".repeat(5));
    let (original, modified) = (far(ORIGINAL), far(MODIFIED) + "end\n");
    let mut desk = Desk::of_texts(&original, &modified);
    desk.act(1, Accept).unwrap();
    assert_eq!(desk.review.split(0), Ok(2));
    assert_eq!(
        (desk.review.mark(2), desk.review.fact(2)),
        (Mark::Applied, Fact::In)
    );
    desk.act(2, Unapply).unwrap();
    assert_eq!(desk.text(), original);
}

#[test]
fn of_a_hunk_that_does_not_apply_the_parts_that_fit_do() {
    let mut desk = Desk::of_texts(ORIGINAL, MODIFIED);
    desk.becomes("1\n2\n3\n4\n5\n6\n7\nother\n9\n");
    assert!(desk.act(0, Accept).is_err());
    desk.review.split(0).unwrap();
    desk.act(0, Accept).unwrap();
    assert!(desk.act(1, Accept).is_err());
    assert_eq!(desk.text(), "1\n2\nthree\n4\n5\n6\n7\nother\n9\n");
}

#[test]
fn the_parts_of_a_bare_diff_keep_its_line_numbers() {
    let diff = "@@ -11,5 +12,6 @@\n a\n-b\n c\n+new\n+new\n d\n e\n";
    let target = "x\n".repeat(10) + "a\nb\nc\nd\ne\n";
    let mut desk = Desk::of_diff(diff, &target);
    assert_eq!(desk.review.split(0), Ok(2));
    let expected = "@@ -11,3 +11,2 @@\n a\n-b\n c\n@@ -14,2 +13,4 @@\n+new\n+new\n d\n e\n";
    assert_eq!(desk.shown(), expected);
    desk.act(1, Accept).unwrap();
    assert_eq!(desk.text(), target.replace("d\n", "new\nnew\nd\n"));
}

#[test]
fn whatever_is_split_the_parts_together_are_the_proposal() {
    for_each_pair(2_000, |pair| {
        let compared = compare(&pair.original, &pair.modified);
        if diff::group(&compared.edits, compared.original.len(), 3).is_empty() {
            return;
        }
        let proposal = Proposal::from_texts(pair.original.clone(), pair.modified.clone(), 3);
        let mut desk = Desk::open(proposal.expect("a change"), &pair.original);
        let mut dice = Dice::of(&pair.original, &pair.modified);
        for _ in 0..4 {
            let hunk = dice.roll(desk.review.proposal().n_hunks());
            match dice.roll(4) {
                0 => drop(desk.review.split(hunk).unwrap()),
                1 => {
                    let n_lines = desk.review.proposal().n_changed_lines(hunk);
                    let from = dice.roll(n_lines);
                    let to = from + 1 + dice.roll(n_lines - from);
                    desk.review.pick(hunk, from..to).unwrap();
                }
                2 => drop(desk.act(hunk, Accept)),
                _ => drop(desk.act(hunk, Unapply)),
            }
        }
        let proposal = desk.review.proposal();
        let hunks = proposal.hunks_in(0..proposal.n_hunks(), HeadingRule::Default);
        let original = Text::new(pair.original.clone());
        assert_eq!(patched(&original, &hunks), pair.modified);
        let (plan, _) = desk.plan_all();
        desk.carry_out(&plan);
        // Backward, since a missing newline must not end up in the middle of the text.
        for hunk in (0..desk.review.proposal().n_hunks()).rev() {
            drop(desk.act(hunk, Accept));
        }
        for hunk in 0..desk.review.proposal().n_hunks() {
            desk.act(hunk, Accept).expect("every part has a place");
        }
        assert_eq!(desk.live, pair.modified);
    });
}

#[test]
fn rows_are_picked_with_both_of_their_sides() {
    let mut desk = Desk::of_texts("1\n.b\n.c\n.d\n2\n", "1\n.b2\n.c2\n.d2\n2\n");
    assert_eq!(desk.review.pick_rows(0, 1..2, 1..2), Ok(Some((3, 1))));
    desk.act(1, Accept).unwrap();
    assert_eq!(desk.text(), "1\n.b\n.c2\n.d\n2\n");
    desk.act(2, Accept).unwrap();
    assert_eq!(desk.text(), "1\n.b\n.c2\n.d2\n2\n");
    desk.act(1, Unapply).unwrap();
    assert_eq!(desk.text(), "1\n.b\n.c\n.d2\n2\n");
}

#[test]
fn rows_that_cannot_be_cut_out_are_refused() {
    let mut desk = Desk::of_texts("1\na\nb\n2\n", "1\nx\ny\n2\n");
    assert_eq!(
        desk.review.pick_rows(0, 1..1, 0..0),
        Err(Refusal::NoSuchLines)
    );
    assert_eq!(
        desk.review.pick_rows(0, 0..3, 0..2),
        Err(Refusal::NoSuchLines)
    );
    desk.edit_outside(2, 0, b"typed\n", false);
    let refusal = desk.review.pick_rows(0, 0..1, 0..1).unwrap_err();
    let line = 1;
    assert_eq!(refusal, Refusal::Flip(FlipError::ChangedByUser { line }));
    let diff = "@@ -1,4 +1,4 @@\n 1\n-a\n-b\n+x\n+y\n 2\n";
    let mut desk = Desk::of_diff(diff, "1\na\nb\n2\n");
    assert_eq!(desk.review.pick_rows(0, 0..1, 0..1), Ok(None));
    assert_eq!(desk.review.pick_rows(0, 0..2, 0..2), Ok(Some((1, 0))));
}

#[test]
fn whatever_rows_are_picked_just_they_are_applied() {
    for_each_pair(2_000, |pair| {
        let Ok(proposal) = Proposal::from_texts(pair.original.to_vec(), pair.modified.to_vec(), 3)
        else {
            return;
        };
        let mut dice = Dice::of(&pair.original, &pair.modified);
        let mut desk = Desk::open(proposal, &pair.original);
        let hunks = desk
            .review
            .proposal()
            .shown_hunks_in(0..1, HeadingRule::Default);
        let blocks = rows::blocks(&hunks[0]);
        let chosen = dice.roll(blocks.len());
        let Block { removed, added, .. } = &blocks[chosen];
        let n_rows = removed.last().max(added.last()).unwrap() + 1;
        let first = dice.roll(n_rows);
        let last = first + dice.roll(n_rows - first);
        let above = |rows: &[usize], row: usize| rows.iter().filter(|at| **at < row).count();
        let cut = |rows: &[usize]| above(rows, first)..above(rows, last + 1);
        let (picked_old, picked_new) = (cut(removed), cut(added));
        let mut expected = lines_of(&pair.original)[..hunks[0].before.start].concat();
        let mut at = 0;
        for (nth, block) in blocks.iter().enumerate() {
            let lines = &hunks[0].lines;
            let old_end = block.first + block.removed.len();
            expected.extend(lines[at..block.first].iter().flat_map(|line| line.text));
            let old = &lines[block.first..old_end];
            let new = &lines[old_end..old_end + block.added.len()];
            let (olds, news) = if nth == chosen {
                (picked_old.clone(), picked_new.clone())
            } else {
                (0..0, 0..0)
            };
            for line in [&old[..olds.start], &new[news], &old[olds.end..]].concat() {
                expected.extend(line.text);
            }
            at = old_end + block.added.len();
        }
        expected.extend(hunks[0].lines[at..].iter().flat_map(|line| line.text));
        expected.extend(lines_of(&pair.original)[hunks[0].before.end..].concat());
        let n_above = |side: fn(&Block) -> &Vec<usize>| -> usize {
            blocks[..chosen].iter().map(|block| side(block).len()).sum()
        };
        let (old_at, new_at) = (
            n_above(|block| &block.removed),
            n_above(|block| &block.added),
        );
        let picked = desk.review.pick_rows(
            0,
            old_at + picked_old.start..old_at + picked_old.end,
            new_at + picked_new.start..new_at + picked_new.end,
        );
        let (_, index) = picked.unwrap().unwrap();
        if desk.act(index, Accept) == Err(Refusal::Flip(FlipError::Glued)) {
            return;
        }
        let shown = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
        assert_eq!(shown(&desk.live), shown(&expected));
    });
}
