//! Walks with everything that changes hunks: split, pick, edit, merge, among edits by the user.

use agent_q_diff::diff::HeadingRule;
use agent_q_diff::print::print_hunks;
use agent_q_diff::review::Command::{Accept, Reject, Toggle, Unapply};
use agent_q_diff::review::Fact;

use crate::dice::Dice;
use crate::target::Desk;

fn text(dice: &mut Dice, n_max: usize) -> Vec<String> {
    (0..dice.roll(n_max + 1))
        .map(|_| format!("{}\n", ["a", "b", "c", "d", "\u{e9}"][dice.roll(5)]))
        .collect()
}

fn mutated(dice: &mut Dice, lines: &[String], tag: &str) -> Vec<String> {
    let mut out = Vec::new();
    for line in lines {
        let side = if line.starts_with('U') {
            5
        } else {
            dice.roll(6)
        };
        match side {
            0 => {}
            1 => out.push(format!("{tag}{}\n", dice.roll(9))),
            2 => out.extend([line.clone(), format!("{tag}{}\n", dice.roll(9))]),
            _ => out.push(line.clone()),
        }
    }
    out
}

fn opened(dice: &mut Dice, lines: &[String]) -> String {
    let mut text = lines.concat();
    if dice.roll(3) == 0 && text.ends_with('\n') && text.len() > 1 && !text.ends_with("\n\n") {
        text.pop();
    }
    text
}

fn lines_of(text: &str) -> Vec<String> {
    text.split_inclusive('\n').map(str::to_owned).collect()
}

fn without_user(text: &str) -> String {
    lines_of(text)
        .into_iter()
        .filter(|line| !line.starts_with('U'))
        .collect()
}

fn user_lines(text: &str) -> Vec<String> {
    let mut lines = lines_of(text);
    lines.retain(|line| line.starts_with('U'));
    // A text merged by chance moves lines, and what a comparison makes of that may be any order.
    lines.sort();
    lines.dedup();
    lines
}

fn walk(seed: u64, is_bare: bool) {
    let mut dice = Dice::new(seed);
    let lines = text(&mut dice, 12);
    let original = opened(&mut dice, &lines);
    let changed = mutated(&mut dice, &lines, "M");
    let modified = opened(&mut dice, &changed);
    if original == modified {
        return;
    }
    let mut desk = Desk::of_texts(&original, &modified);
    if is_bare {
        let proposal = desk.review.proposal();
        let hunks = proposal.hunks_in(0..proposal.n_hunks(), HeadingRule::Default);
        let diff = String::from_utf8(print_hunks(&hunks).bytes).unwrap();
        desk = Desk::of_diff(&diff, &original);
    }
    let mut has_merged = false;
    let mut tag = 0;
    let mut log = format!("{original:?} -> {modified:?}\n");
    for _ in 0..14 {
        let n = desk.review.proposal().n_hunks();
        let hunk = dice.roll(n);
        let before = user_lines(&desk.text());
        // A merge may move lines of the user's; cut in two, some are taken out for good reason.
        match if has_merged {
            3 + dice.roll(6)
        } else {
            dice.roll(9)
        } {
            0 => {
                let _ = desk.review.split(hunk);
                log += &format!("split {hunk}\n");
            }
            1 => {
                let n_lines = desk.review.proposal().n_changed_lines(hunk);
                let from = dice.roll(n_lines);
                let to = from + 1 + dice.roll(n_lines - from);
                let done = desk.review.pick(hunk, from..to).is_ok();
                log += &format!("pick {hunk} {from}..{to} {done}\n");
            }
            2 => {
                let shown = desk.review.proposal().proposed(hunk).to_vec();
                let shown = lines_of(&String::from_utf8(shown).unwrap());
                let wanted = mutated(&mut dice, &shown, "E");
                let wanted = opened(&mut dice, &wanted);
                let plan = desk.review.plan_edit(hunk, wanted.as_bytes());
                log += &format!("edit {hunk} {wanted:?} {}\n", plan.is_ok());
                if let Ok(plan) = plan {
                    let n_before = desk.review.fact(hunk);
                    desk.carry_out(&plan);
                    if plan.rewrite.is_some() && n_before != Fact::Out {
                        let proposed = desk.review.proposal().proposed(hunk).to_vec();
                        assert!(
                            String::from_utf8(proposed).unwrap().starts_with(&wanted),
                            "{seed}\n{log}"
                        );
                    }
                }
            }
            3 if desk.review.fact(hunk) == Fact::Out => {
                if desk.review.proposal().obstacle(hunk).is_some()
                    && let Ok(merged) = desk.review.merge(hunk)
                {
                    let merged = String::from_utf8(merged.bytes).unwrap();
                    let mut kept: Vec<String> = Vec::new();
                    for line in lines_of(&merged) {
                        let is_user = line.starts_with('U');
                        if is_user || dice.roll(3) > 0 {
                            kept.push(line);
                        }
                    }
                    let wanted = kept.concat();
                    let plan = desk.review.plan_merge(hunk, wanted.as_bytes());
                    log += &format!("merge {hunk} {wanted:?} {}\n", plan.is_ok());
                    if let Ok(plan) = plan {
                        has_merged = true;
                        desk.carry_out(&plan);
                    }
                }
            }
            4 => {
                let live = lines_of(&desk.text());
                if live.iter().all(|line| line.ends_with('\n')) {
                    tag += 1;
                    let at = dice.roll(live.len() + 1);
                    desk.edit_outside(at, 0, format!("U{tag}\n").as_bytes(), false);
                    log += &format!("user inserts U{tag} at {at}\n");
                    continue;
                }
            }
            op => {
                let command = [Accept, Unapply, Toggle, Reject][op % 4];
                let done = desk.act(hunk, command);
                log += &format!("{command:?} {hunk} {done:?}\n");
            }
        }
        let live = desk.text();
        assert_eq!(user_lines(&live), before, "seed {seed}\n{log}");
        let n = desk.review.proposal().n_hunks();
        let printed = print_hunks(&desk.review.proposal().hunks_in(0..n, HeadingRule::Default));
        assert_eq!(printed.header_lines.len(), n);
    }
    // Everything out again, in any order, leaves the original and the user's lines.
    let mut is_stuck = true;
    while std::mem::replace(&mut is_stuck, false) {
        for hunk in 0..desk.review.proposal().n_hunks() {
            if desk.review.fact(hunk) != Fact::Out {
                is_stuck |= desk.act(hunk, Unapply).is_ok();
            }
        }
    }
    let all_out =
        (0..desk.review.proposal().n_hunks()).all(|hunk| desk.review.fact(hunk) == Fact::Out);
    if all_out {
        assert_eq!(without_user(&desk.text()), original, "seed {seed}\n{log}");
    }
}

fn walk_many(is_bare: bool) {
    let n = std::env::var("STRANGER").map_or(10_000, |n| n.parse().unwrap());
    let fails = |&seed: &u64| std::panic::catch_unwind(|| walk(seed, is_bare)).is_err();
    let failed: Vec<u64> = (0..n).filter(fails).collect();
    let some = &failed[..failed.len().min(9)];
    assert!(
        failed.is_empty(),
        "{} of {n} walks fail: {some:?}",
        failed.len()
    );
}

#[test]
fn stranger_walks_keep_the_users_lines_and_bring_the_original_back() {
    walk_many(false);
}

#[test]
fn stranger_walks_of_bare_diffs() {
    walk_many(true);
}

#[test]
fn stranger_line_without_newline_is_not_glued_to_the_users() {
    let mut desk = Desk::of_texts("c", "c\n");
    desk.act(0, Accept).unwrap();
    desk.edit_outside(1, 0, b"mine\n", false);
    let plan = desk.review.plan_edit(0, b"E").unwrap();
    desk.carry_out(&plan);
    assert_eq!(desk.text(), "E\nmine\n");
}
