//! Reviews of changes that were written before.

use agent_q_diff_engine::review::Command::{self, Accept, Reject, Toggle, Unapply};
use agent_q_diff_engine::review::Fact::{self, In, Mixed, Out};
use agent_q_diff_engine::review::Mark::{self, Applied, Pending, Rejected};
use agent_q_diff_engine::review::Note::{self, AlreadyOut, Edited, Marked, Unchanged};
use agent_q_diff_engine::review::OnDisk;
use agent_q_diff_engine::review::Refusal::{self, Gone, Partly};
use agent_q_diff_engine::review::Whereabouts::{Changed, File, Nowhere, Target, Unknown, Unsaved};

use super::{FIRST_IN, OUT, TWO_IN};
use crate::common::desk::Desk;

/// The second hunk's part that is left when its first line was taken out.
const SECOND_PART: &str = "A\n1\n2\n3\n4\n5\n6\n7\nb\n8\nC\n";

type Row = (Mark, Fact, Command, Result<(Mark, Fact, Note), Refusal>);

/// Every mark, fact and command; then the new mark and fact, and the note for the user, or why the
/// command is refused.
const TABLE: [Row; 36] = [
    (Pending, In, Accept, Ok((Applied, In, Marked))),
    (Pending, In, Reject, Ok((Rejected, Out, Edited))),
    (Pending, In, Toggle, Ok((Applied, In, Marked))),
    (Pending, In, Unapply, Ok((Pending, In, Unchanged))),
    (Applied, In, Accept, Ok((Applied, In, Unchanged))),
    (Applied, In, Reject, Ok((Rejected, Out, Edited))),
    (Applied, In, Toggle, Ok((Pending, In, Marked))),
    (Applied, In, Unapply, Ok((Pending, In, Marked))),
    (Rejected, In, Accept, Ok((Applied, In, Marked))),
    (Rejected, In, Reject, Ok((Rejected, Out, Edited))),
    (Rejected, In, Toggle, Ok((Applied, In, Marked))),
    (Rejected, In, Unapply, Ok((Pending, In, Marked))),
    (Pending, Mixed, Accept, Err(Partly)),
    (Pending, Mixed, Reject, Ok((Rejected, Out, Edited))),
    (Pending, Mixed, Toggle, Err(Partly)),
    (Pending, Mixed, Unapply, Ok((Pending, Mixed, Unchanged))),
    (Applied, Mixed, Accept, Err(Partly)),
    (Applied, Mixed, Reject, Ok((Rejected, Out, Edited))),
    (Applied, Mixed, Toggle, Ok((Pending, Mixed, Marked))),
    (Applied, Mixed, Unapply, Ok((Pending, Mixed, Marked))),
    (Rejected, Mixed, Accept, Err(Partly)),
    (Rejected, Mixed, Reject, Ok((Rejected, Out, Edited))),
    (Rejected, Mixed, Toggle, Err(Partly)),
    (Rejected, Mixed, Unapply, Ok((Pending, Mixed, Marked))),
    (Pending, Out, Accept, Err(Gone)),
    (Pending, Out, Reject, Ok((Rejected, Out, AlreadyOut))),
    (Pending, Out, Toggle, Err(Gone)),
    (Pending, Out, Unapply, Ok((Pending, In, Edited))),
    (Applied, Out, Accept, Err(Gone)),
    (Applied, Out, Reject, Ok((Rejected, Out, AlreadyOut))),
    (Applied, Out, Toggle, Ok((Pending, Out, AlreadyOut))),
    (Applied, Out, Unapply, Ok((Pending, Out, AlreadyOut))),
    (Rejected, Out, Accept, Ok((Applied, In, Edited))),
    (Rejected, Out, Reject, Ok((Rejected, Out, Unchanged))),
    (Rejected, Out, Toggle, Ok((Applied, In, Edited))),
    (Rejected, Out, Unapply, Ok((Pending, In, Edited))),
];

/// A review of two hunks that are written.
fn desk() -> Desk {
    let mut desk = Desk::of_texts(OUT, TWO_IN);
    desk.becomes(TWO_IN);
    desk.review.begin_written();
    desk
}

/// Returns the target with the first hunk, and the second or a part of it.
fn with_second(fact: Fact) -> &'static str {
    match fact {
        Out => FIRST_IN,
        In => TWO_IN,
        Mixed => SECOND_PART,
    }
}

#[test]
fn every_step_leaves_mark_fact_and_target_as_the_table_says() {
    let keys: std::collections::HashSet<_> =
        TABLE.iter().map(|row| (row.0, row.1, row.2)).collect();
    assert_eq!(keys.len(), 3 * 3 * 4);
    for (mark, fact, command, expected) in TABLE {
        let case = format!("{mark:?} {fact:?} {command:?}");
        let mut desk = desk();
        desk.becomes(with_second(fact));
        assert_eq!(desk.review.fact(1), fact, "{case}");
        desk.review.set_mark(1, mark);
        let note = expected.clone().map(|(_, _, note)| note);
        assert_eq!(desk.act(1, command), note, "{case}");
        let (new_mark, new_fact, _) = expected.unwrap_or((mark, fact, Unchanged));
        let second = (desk.review.mark(1), desk.review.fact(1));
        assert_eq!(second, (new_mark, new_fact), "{case}");
        assert_eq!(desk.text(), with_second(new_fact), "{case}");
        assert_eq!((desk.review.mark(0), desk.review.fact(0)), (Pending, In));
    }
}

#[test]
fn what_was_reviewed_is_what_is_kept_and_nothing_that_others_wrote() {
    let mut desk = desk();
    assert_eq!(desk.review.reviewed(), OUT.as_bytes());
    desk.act(0, Accept).unwrap();
    assert_eq!(desk.review.reviewed(), FIRST_IN.as_bytes());
    desk.becomes(&TWO_IN.replace("4\n", "4\ntyped\n"));
    assert_eq!(desk.review.reviewed(), FIRST_IN.as_bytes());
    desk.act(1, Reject).unwrap();
    assert_eq!(desk.text(), FIRST_IN.replace("4\n", "4\ntyped\n"));
    assert_eq!(desk.review.reviewed(), FIRST_IN.as_bytes());
}

#[test]
fn what_an_undo_elsewhere_brings_back_is_pending_again_and_out_again_with_a_redo() {
    let mut desk = desk();
    desk.act(0, Reject).unwrap();
    desk.act(1, Reject).unwrap();
    let first = [OUT, FIRST_IN].map(|text| text.split_inclusive('\n').next().unwrap());
    for (line, mark) in [
        (first[1], Pending),
        (first[0], Rejected),
        (first[1], Pending),
    ] {
        desk.edit_outside(0, 1, line.as_bytes(), true);
        desk.review.recognize();
        assert!(desk.review.follow_undo());
        assert_eq!([desk.review.mark(0), desk.review.mark(1)], [mark, Rejected]);
    }
    assert_eq!(desk.act(0, Reject), Ok(Edited));
    // Typed, it is the user's.
    desk.edit_outside(0, 1, first[1].as_bytes(), false);
    desk.review.recognize();
    assert!(!desk.review.follow_undo());
    assert_eq!(desk.review.mark(0), Rejected);
}

#[test]
fn undoing_the_rejection_of_a_part_joins_it_with_the_rest() {
    let mut desk = desk();
    let (n_parts, picked) = desk.review.pick(1, 0..1).unwrap();
    assert!(n_parts > 1);
    desk.act(1 + picked, Reject).unwrap();
    desk.review.join_decisions(2);
    let plan = desk.review.plan_undo().unwrap();
    desk.carry_out(&plan);
    assert_eq!(desk.review.undo_split(true), Ok(Some((1, n_parts))));
    assert_eq!((desk.review.mark(1), desk.review.fact(1)), (Pending, In));
    assert_eq!(desk.text(), TWO_IN);
}

#[test]
fn undoing_or_redoing_a_keep_writes_nothing_that_others_have_withdrawn() {
    let mut desk = desk();
    desk.act(0, Accept).unwrap();
    desk.becomes(OUT);
    for mark in [Pending, Applied] {
        let plan = match mark {
            Pending => desk.review.plan_undo(),
            _ => desk.review.plan_redo(),
        };
        desk.carry_out(&plan.unwrap());
        assert_eq!((desk.review.mark(0), desk.text()), (mark, OUT.to_owned()));
    }
    // What the user put back is a decision on the lines.
    desk.act(0, Toggle).unwrap();
    desk.act(0, Unapply).unwrap();
    for text in [OUT, FIRST_IN] {
        let plan = match text {
            OUT => desk.review.plan_undo(),
            _ => desk.review.plan_redo(),
        };
        desk.carry_out(&plan.unwrap());
        assert_eq!(desk.text(), text);
    }
}

/// Returns whether keeping some hunks in any way wrote something.
fn is_written_by_keeping(desk: &mut Desk) -> bool {
    let before = desk.text();
    let (plan, _) = desk.plan_all();
    desk.carry_out(&plan);
    for hunk in 0..2 {
        let _ = desk.act(hunk, Accept);
        let _ = desk.act(hunk, Toggle);
    }
    desk.text() != before
}

#[test]
fn keeping_writes_nothing_that_others_have_withdrawn() {
    for target in [OUT, FIRST_IN, SECOND_PART, TWO_IN] {
        for mark in [Pending, Applied] {
            let mut desk = desk();
            desk.becomes(target);
            desk.review.set_mark(0, mark);
            desk.review.set_mark(1, mark);
            assert!(!is_written_by_keeping(&mut desk), "{target:?} {mark:?}");
        }
    }
}

#[test]
fn keeping_all_leaves_out_what_is_not_in_the_file() {
    for (fact, why) in [(Out, Gone), (Mixed, Partly)] {
        let mut desk = desk();
        desk.becomes(with_second(fact));
        let (plan, refused) = desk.plan_all();
        assert_eq!(refused, [(1, why)]);
        desk.carry_out(&plan);
        assert_eq!(
            [desk.review.mark(0), desk.review.mark(1)],
            [Applied, Pending]
        );
        assert_eq!(desk.text(), with_second(fact));
        assert_eq!(desk.review.reviewed(), FIRST_IN.as_bytes());
    }
}

#[test]
fn making_all_pending_puts_back_only_what_the_user_took_out() {
    let mut desk = desk();
    desk.act(0, Accept).unwrap();
    desk.becomes(OUT);
    let (plan, refused) = desk.plan_for_all(Unapply);
    assert!(plan.edits.is_empty() && refused.is_empty());
    desk.carry_out(&plan);
    assert_eq!([desk.review.mark(0), desk.review.mark(1)], [Pending; 2]);
    // One that is pending is put back by its own key.
    assert_eq!(desk.act(0, Unapply), Ok(Edited));
    assert_eq!(desk.text(), FIRST_IN);
}

#[test]
fn undo_puts_back_what_was_rejected_and_unkeeps_what_was_kept() {
    let mut desk = desk();
    desk.act(0, Accept).unwrap();
    desk.act(1, Reject).unwrap();
    for (text, reviewed) in [(TWO_IN, FIRST_IN), (TWO_IN, OUT)] {
        let plan = desk.review.plan_undo().unwrap();
        desk.carry_out(&plan);
        assert_eq!(desk.text(), text);
        assert_eq!(desk.review.reviewed(), reviewed.as_bytes());
    }
}

#[test]
fn all_can_be_kept_or_be_pending_again() {
    let mut desk = desk();
    let (plan, refused) = desk.plan_all();
    assert!(plan.edits.is_empty() && refused.is_empty());
    desk.carry_out(&plan);
    assert_eq!(desk.review.reviewed(), TWO_IN.as_bytes());
    desk.act(1, Reject).unwrap();
    let (plan, refused) = desk.plan_for_all(Unapply);
    assert!(refused.is_empty());
    desk.carry_out(&plan);
    assert_eq!(desk.text(), TWO_IN);
    assert_eq!(desk.review.reviewed(), OUT.as_bytes());
}

// A review of what was written since an older text than what was reviewed.

/// Returns `reviewed` after `commands`, one for each hunk, in a review of `old` and `written`.
fn beside(old: &str, written: &str, reviewed: &str, commands: &[Command]) -> String {
    let mut desk = Desk::of_texts(old, written);
    desk.becomes(written);
    desk.review.begin_written();
    assert_eq!(desk.review.proposal().n_hunks(), commands.len());
    for (hunk, &command) in commands.iter().enumerate() {
        desk.act(hunk, command).unwrap();
    }
    String::from_utf8(desk.review.reviewed_beside(reviewed.as_bytes())).unwrap()
}

/// Sixteen lines, some of which are others.
fn sixteen(lines: &[(usize, &str)]) -> String {
    let line = |n| match lines.iter().find(|(at, _)| *at == n) {
        Some((_, line)) => (*line).to_owned(),
        None => format!("{n}\n"),
    };
    (1..=16).map(line).collect()
}

#[test]
fn what_is_decided_beside_an_older_text_is_reviewed_where_it_was_pending() {
    let old = sixteen(&[]);
    let written = sixteen(&[(2, "B\n"), (14, "N\n")]);
    // The first was committed meanwhile, the second is an agent's.
    let reviewed = sixteen(&[(2, "B\n")]);
    let after = |commands: &[Command]| beside(&old, &written, &reviewed, commands);
    assert_eq!(after(&[Unapply, Unapply]), reviewed);
    assert_eq!(after(&[Accept, Unapply]), reviewed);
    assert_eq!(after(&[Accept, Accept]), written);
    assert_eq!(after(&[Unapply, Accept]), written);
    // Taking out what was reviewed is the user's change; what was pending is as it was.
    assert_eq!(after(&[Reject, Unapply]), old);
    assert_eq!(after(&[Reject, Reject]), old);
    assert_eq!(after(&[Unapply, Reject]), reviewed);
}

#[test]
fn what_was_not_shown_is_not_reviewed() {
    let old = sixteen(&[]);
    // An agent has wiped out what was reviewed, and written a line of its own there.
    let reviewed = sixteen(&[(2, "mine\n"), (14, "14\nadded\n")]);
    let written = sixteen(&[(2, "agent\n"), (5, "5\nfive\n")]);
    let all = [Accept];
    assert_eq!(
        beside(&old, &sixteen(&[(2, "agent\n")]), &reviewed, &all),
        reviewed
    );
    let kept = beside(&old, &written, &reviewed, &all);
    assert_eq!(
        kept,
        sixteen(&[(2, "mine\n"), (5, "5\nfive\n"), (14, "14\nadded\n")])
    );
    // Nor what is put in its place by taking it out.
    assert_eq!(
        beside(&old, &sixteen(&[(2, "agent\n")]), &reviewed, &[Reject]),
        reviewed
    );
}

#[test]
fn without_an_older_text_it_is_what_is_kept() {
    let mut dice = crate::common::dice::Dice::new(34);
    for _ in 0..2000 {
        let old: Vec<String> = (0..20).map(|n| format!("{n}\n")).collect();
        let mut new = old.clone();
        for n in 0..3 {
            let at = dice.roll(new.len());
            match dice.roll(3) {
                0 => new.insert(at, format!("new {n}\n")),
                1 => drop(new.remove(at)),
                _ => new[at] = format!("new {n}\n"),
            }
        }
        let (old, new) = (old.concat(), new.concat());
        let mut desk = Desk::of_texts(&old, &new);
        desk.becomes(&new);
        desk.review.begin_written();
        for hunk in 0..desk.review.proposal().n_hunks() {
            desk.act(hunk, [Accept, Reject, Unapply][dice.roll(3)])
                .unwrap();
        }
        let review = &desk.review;
        assert_eq!(
            review.reviewed_beside(old.as_bytes()),
            review.reviewed(),
            "{old:?} {new:?}"
        );
    }
}

#[test]
fn the_report_says_by_the_weave_where_each_change_is() {
    let original = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\n";
    let modified = "a\nB\nc\nD\ne\nf\ng\nh\ni\nj\nk\nL\nm\n";
    let mut desk = Desk::of_texts(original, modified);
    desk.review.begin_written();
    desk.becomes(modified);
    desk.act(0, Reject).unwrap();
    let text = desk.text();
    let report = |desk: &Desk, disk: OnDisk<'_>| {
        let report = desk.review.report(disk);
        let marks: Vec<_> = report.iter().map(|one| one.mark).collect();
        assert_eq!(marks, [Rejected, Pending]);
        [report[0].whereabouts, report[1].whereabouts]
    };
    let with = |text: &str| report(&desk, OnDisk::Other(text.as_bytes()));
    assert_eq!(report(&desk, OnDisk::Target), [Nowhere, File]);
    let missing = |is_in_buffer| OnDisk::Missing { is_in_buffer };
    assert_eq!(report(&desk, missing(true)), [Nowhere, Target]);
    assert_eq!(report(&desk, missing(false)), [Nowhere, Nowhere]);
    assert_eq!(report(&desk, OnDisk::Unreadable), [Unknown, Unknown]);
    assert_eq!(with(&text), [Nowhere, File]);
    assert_eq!(with(modified), [Unsaved, File]);
    assert_eq!(with(original), [Nowhere, Target]);
    // One of two runs, and lines of somebody else.
    let half = modified.replace('B', "b").replace("a\n", "a\nmine\n");
    assert_eq!(with(&half), [Unsaved, File]);
    // Equal lines elsewhere are others.
    let copied = format!("{text}B\nD\n");
    assert_eq!(with(&copied), [Nowhere, File]);
    let others = modified.replace('L', "L, and more");
    assert_eq!(with(&others), [Unsaved, Unknown]);
    // Where a hunk was taken out, others have written.
    assert_eq!(with(&text.replace("b\n", "z\n")), [Unknown, File]);
    // The review itself still follows its target.
    assert_eq!(desk.text(), text);
    desk.becomes(&text.replace('L', "L, and more"));
    assert_eq!(report(&desk, OnDisk::Target), [Nowhere, Changed]);
    assert_eq!(
        report(&desk, OnDisk::Other(original.as_bytes())),
        [Nowhere, Changed]
    );
    // A file that is not there has no lines.
    let removed = original.replace("b\n", "").replace("l\n", "");
    let mut desk = Desk::of_texts(original, &removed);
    desk.review.begin_written();
    desk.becomes(&removed);
    desk.act(0, Reject).unwrap();
    assert_eq!(report(&desk, missing(true)), [Unsaved, File]);
    assert_eq!(report(&desk, missing(false)), [File, File]);
}
