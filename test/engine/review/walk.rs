//! Random walks over reviews: after any commands in any order the target is the naive result.

use std::cell::Cell;

use agent_q_diff_engine::diff;
use agent_q_diff_engine::patch::hunk::print;
use agent_q_diff_engine::patch::locate::{Doubt, NotPlaced};
use agent_q_diff_engine::proposal::{Proposal, Side};
use agent_q_diff_engine::review::{Command, Fact, Mark, Refusal};
use agent_q_diff_engine::weave::LineEdit;

use crate::common::desk::{Desk, lines_of};
use crate::common::dice::Dice;
use crate::common::model::{Naive, Tag, TaggedLine, bytes, tags};
use crate::common::n_cases;
use crate::common::pairs::{Pair, for_each_pair};
use crate::common::texts::numbered;

const N_CASES: u32 = 10_000;

fn naive(pair: &Pair, context_len: usize) -> Option<Naive> {
    Naive::new(&pair.original, &pair.modified, context_len)
}

/// Carries out random commands, beginning with the hunks `chosen` in the target, and compares the
/// target with the naive result after each. `head` is the text above the original in the target.
fn walk(desk: &mut Desk, naive: &Naive, mut chosen: Vec<bool>, head: &[u8], dice: &mut Dice) {
    for _ in 0..12 {
        let hunk = dice.roll(chosen.len());
        let mark = desk.review.mark(hunk);
        match dice.roll(10) {
            6 => {
                // Undo and redo together change nothing, whatever the decision was.
                let states = |desk: &Desk| {
                    (0..desk.review.counts().total)
                        .map(|hunk| desk.state(hunk))
                        .collect::<Vec<_>>()
                };
                let before = (states(desk), desk.live.clone());
                let Ok(plan) = desk.review.plan_undo() else {
                    assert_eq!(desk.review.n_decisions(), 0);
                    continue;
                };
                desk.carry_out(&plan);
                assert_ne!((states(desk), desk.live.clone()), before);
                let plan = desk.review.plan_redo().unwrap();
                desk.carry_out(&plan);
                assert_eq!((states(desk), desk.live.clone()), before);
            }
            5 => {
                let (plan, refused) = desk.plan_for_all(Command::Unapply);
                assert_eq!(refused, []);
                assert_eq!(plan.edits.is_empty(), !chosen.contains(&true));
                chosen.fill(false);
                desk.carry_out(&plan);
            }
            0 => {
                let (plan, refused) = desk.plan_all();
                assert_eq!(refused, []);
                for (hunk, is_in) in chosen.iter_mut().enumerate() {
                    *is_in |= desk.review.mark(hunk) == Mark::Pending;
                }
                desk.carry_out(&plan);
            }
            1 => _ = desk.act(hunk, Command::Reject).unwrap(),
            2 => {
                desk.act(hunk, Command::Toggle).unwrap();
                chosen[hunk] |= mark != Mark::Applied;
            }
            3 | 4 => {
                let is_refused = !chosen[hunk] && mark != Mark::Applied;
                let result = desk.act(hunk, Command::Unapply);
                assert_eq!(result.err(), is_refused.then_some(Refusal::NotIn));
                chosen[hunk] = false;
            }
            _ => {
                desk.act(hunk, Command::Accept).unwrap();
                chosen[hunk] = true;
            }
        }
        assert_eq!(desk.live, [head, &naive.text(&chosen)].concat());
    }
}

#[test]
fn any_commands_in_any_order_leave_the_naive_result() {
    for_each_pair(N_CASES, |pair| {
        let mut dice = Dice::of(&pair.original, &pair.modified);
        let context_len = [0, 1, 3][dice.roll(3)];
        let Some(naive) = naive(pair, context_len) else {
            return;
        };
        let mut desk = desk_of(pair, context_len, &pair.original);
        assert_eq!(desk.review.proposal().n_hunks(), naive.groups.len());
        let none = vec![false; naive.groups.len()];
        walk(&mut desk, &naive, none, b"", &mut dice);
    });
}

#[test]
fn hunks_in_any_state_are_decided_at_once_as_one_after_the_other() {
    let [n_decided, n_refused, n_more] = [const { Cell::new(0) }; 3];
    for_each_pair(N_CASES, |pair| {
        let mut dice = Dice::of(&pair.original, &pair.modified);
        let is_written = dice.roll(2) == 0;
        let live = [&pair.original, &pair.modified][usize::from(is_written)];
        if pair.original == pair.modified {
            return;
        }
        let mut desk = desk_of(pair, [0, 1, 3][dice.roll(3)], live);
        if is_written {
            desk.review.begin_written();
        }
        for step in 0..8 {
            let n_lines = lines_of(&desk.live).len();
            if dice.roll(4) == 0 && n_lines > 0 {
                let (line, n_removed) = (dice.roll(n_lines), dice.roll(2));
                desk.edit_outside(
                    line,
                    n_removed,
                    format!("theirs {step}\n").as_bytes(),
                    false,
                );
            }
            let n_hunks = desk.review.proposal().n_hunks();
            if dice.roll(2) == 0 {
                let first = dice.roll(4);
                let lines = first..first + 1 + dice.roll(2);
                _ = desk.review.pick(dice.roll(n_hunks), lines);
            }
            let command = [Command::Accept, Command::Reject, Command::Unapply][dice.roll(3)];
            let n_hunks = desk.review.proposal().n_hunks();
            let meant: Vec<bool> = (0..n_hunks).map(|_| dice.roll(3) > 0).collect();
            let [at_once, one_by_one] = decide_at_once(&mut desk, command, &meant);
            n_decided.set(n_decided.get() + meant.len() - at_once);
            n_refused.set(n_refused.get() + at_once);
            n_more.set(n_more.get() + one_by_one - at_once);
        }
    });
    assert!(n_decided.get() > 10_000 && n_refused.get() > 100);
    assert!(n_more.get() * 100 < n_decided.get());
}

/// Decides the hunks that are `meant` at once; checks that this is one decision, and that the same comes
/// of one after the other. Returns how many hunks are refused at once, and one after the other.
fn decide_at_once(desk: &mut Desk, command: Command, meant: &[bool]) -> [usize; 2] {
    let mut other = Desk {
        review: desk.review.clone(),
        live: desk.live.clone(),
    };
    let mut hunks: Vec<usize> = (0..meant.len()).filter(|&hunk| meant[hunk]).collect();
    let expected = loop {
        let refused = hunks
            .iter()
            .filter_map(|&hunk| Some((hunk, other.act(hunk, command).err()?)));
        let refused: Vec<_> = refused.collect();
        // At the end of the text, one may be possible only after another that is below it.
        if refused.len() == hunks.len() {
            break refused;
        }
        hunks = refused.iter().map(|(hunk, _)| *hunk).collect();
    };
    let before = (state_of(desk), desk.review.n_decisions());
    let (plan, refused) = desk.review.plan_each(command, |hunk| meant[hunk]);
    desk.carry_out(&plan);
    // The line that a reason names has moved, if hunks above it are decided before.
    let kinds = |refused: &[(usize, Refusal)]| -> Vec<_> {
        let kind = |(hunk, why): &(usize, Refusal)| {
            let why = format!("{why:?}");
            (*hunk, why.split(" {").next().map(str::to_owned))
        };
        refused.iter().map(kind).collect()
    };
    let n_refused = [refused.len(), expected.len()];
    let expected = kinds(&expected);
    assert!(kinds(&refused).iter().all(|one| expected.contains(one)));
    let after = state_of(desk);
    // One after the other, a part of a hunk may take away the lines by which another is placed.
    if n_refused[0] == n_refused[1] {
        assert_eq!(after, state_of(&other));
    }
    let is_any = after != before.0;
    assert_eq!(desk.review.n_decisions(), before.1 + usize::from(is_any));
    if !is_any {
        return n_refused;
    }
    let Ok(plan) = desk.review.plan_undo() else {
        // Without the lines around them, lines that were taken out have no place.
        while let Ok(plan) = other.review.plan_undo() {
            other.carry_out(&plan);
        }
        assert!(other.review.n_decisions() > before.1);
        return n_refused;
    };
    desk.carry_out(&plan);
    assert_eq!(state_of(desk), before.0);
    let plan = desk.review.plan_redo().unwrap();
    desk.carry_out(&plan);
    assert_eq!(state_of(desk), after);
    n_refused
}

#[test]
fn a_target_with_any_hunks_in_it_is_read_as_that() {
    for_each_pair(N_CASES, |pair| {
        let mut dice = Dice::of(&pair.original, &pair.modified);
        let Some(naive) = naive(pair, 3) else {
            return;
        };
        let live = naive.text(&naive.some_hunks(&mut dice));
        let mut desk = desk_of(pair, 3, &live);
        assert_eq!(desk.review.proposal().target(), live);
        // Among equal lines different hunks can give the same bytes.
        let facts = desk.facts();
        assert_eq!(naive.text(&facts), live);
        walk(&mut desk, &naive, facts, b"", &mut dice);
    });
}

#[test]
fn a_bare_diff_of_any_text_leaves_the_naive_result_too() {
    for_each_pair(N_CASES, |pair| {
        let mut dice = Dice::of(&pair.original, &pair.modified);
        let Some(naive) = naive(pair, 3) else {
            return;
        };
        let mut desk = bare_desk_of(&naive, &pair.original);
        for hunk in 0..naive.groups.len() {
            let stated = naive.groups[hunk].before.start;
            if desk.review.proposal().place(hunk).is_err() {
                // Its lines are at several places, and the user picks the stated one.
                assert_eq!(desk.review.proposal().candidates(hunk)[0].line, stated);
                desk.review
                    .plan_at(hunk, (stated, None), Command::Reject)
                    .unwrap();
            }
            assert_eq!(desk.review.proposal().place(hunk).map(|p| p.offset), Ok(0));
        }
        let none = vec![false; naive.groups.len()];
        walk(&mut desk, &naive, none, b"", &mut dice);
    });
}

#[test]
fn of_a_bare_diff_whose_text_is_named_every_stated_line_is_certain() {
    for_each_pair(N_CASES, |pair| {
        let mut dice = Dice::of(&pair.original, &pair.modified);
        let context_len = [0, 1, 3][dice.roll(3)];
        let Some(naive) = naive(pair, context_len) else {
            return;
        };
        let diff = print(b"f", &naive.compared.hunks(context_len)).bytes;
        for (side, live) in [(Side::Old, &pair.original), (Side::New, &pair.modified)] {
            let mut proposal = Proposal::from_diff(&diff).expect("a diff");
            assert!(proposal.adopt(live, side));
            let mut desk = Desk::open(proposal, live);
            for hunk in 0..naive.groups.len() {
                assert_eq!(desk.review.proposal().place(hunk).map(|p| p.offset), Ok(0));
            }
            let all = vec![side == Side::New; naive.groups.len()];
            assert_eq!(desk.facts(), all);
            walk(&mut desk, &naive, all, b"", &mut dice);
        }
    });
}

#[test]
fn a_bare_diff_of_source_is_found_in_a_target_with_any_hunks_in_it_and_lines_above() {
    for_each_source(|pair, dice| {
        if pair.modified.is_empty() {
            // Lines above an empty text do not show what was deleted.
            return;
        }
        let naive = naive(pair, 3).expect("texts that differ");
        let mut chosen = naive.some_hunks(dice);
        let shift = dice.roll(3);
        // With lines above, the context below a deletion at the top does not prove it done.
        chosen[0] &= shift == 0 || naive.compared.edits[0].before.start > 0;
        let head = &b"above\nall\n"[..[0, 6, 10][shift]];
        let live = [head, &naive.text(&chosen)].concat();
        let mut desk = bare_desk_of(&naive, &live);
        let edits = &naive.compared.edits;
        let first = edits[naive.groups[0].edits.clone()].iter();
        let n_removed: usize = first.map(|edit| edit.before.len()).sum();
        if shift > 0 && chosen[0] && n_removed == naive.groups[0].before.len() {
            // If no line of the text stays, its new lines prove nothing at another place.
            let (candidates, doubt) = (vec![shift], Doubt::NoContext);
            let place = desk.review.proposal().place(0);
            assert_eq!(place, Err(NotPlaced::Doubtful { candidates, doubt }));
            desk.review
                .plan_at(0, (shift, None), Command::Reject)
                .unwrap();
        }
        assert_eq!(desk.facts(), chosen);
        if shift > 0 && !chosen[0] && edits[0].before == (0..0) {
            // Lines added above the first belong at the top, where others have added some.
            let (candidates, doubt) = (vec![shift], Doubt::NotAtTop);
            let place = desk.review.proposal().place(0);
            assert_eq!(place, Err(NotPlaced::Doubtful { candidates, doubt }));
            desk.review
                .plan_at(0, (shift, None), Command::Reject)
                .unwrap();
        }
        for hunk in 0..chosen.len() {
            let offset = desk.review.proposal().place(hunk).map(|p| p.offset);
            assert_eq!(offset, Ok(shift as isize));
        }
        walk(&mut desk, &naive, chosen, head, dice);
    });
}

#[test]
fn in_source_that_changed_outside_every_whole_hunk_is_found_and_none_elsewhere() {
    for_each_source(|pair, dice| {
        let naive = naive(pair, 3).expect("texts that differ");
        let chosen = naive.some_hunks(dice);
        let mut desk = desk_of(pair, 3, &naive.text(&chosen));
        let lines = edited_outside(naive.lines(&chosen), dice);
        follow(&mut desk, &lines);
        for (hunk, &was_in) in chosen.iter().enumerate() {
            // Somebody else's edit can apply the hunk, or take it out.
            let sides = [was_in, !was_in].into_iter();
            let whole = sides.filter(|&is_in| is_whole(&lines, &naive, hunk, was_in, is_in));
            let place = desk.review.proposal().place(hunk).map(drop);
            match whole.clone().next() {
                Some(is_in) => {
                    let flip = flip(&desk, &naive, &lines, hunk);
                    assert_ne!(flip, Flip::Elsewhere);
                    // At an end of the text an insertion has a neighbor on one side only.
                    let edits = &naive.compared.edits[naive.groups[hunk].edits.clone()];
                    if edits[0].before.start > 0
                        && edits[edits.len() - 1].before.end < naive.compared.original.len()
                    {
                        assert_eq!((place, flip), (Ok(()), Flip::Own));
                        assert_eq!(desk.review.fact(hunk) == Fact::In, is_in);
                    }
                }
                None => assert_ne!(flip(&desk, &naive, &lines, hunk), Flip::Elsewhere),
            }
        }
        desk.becomes(&String::from_utf8(naive.text(&chosen)).unwrap());
        walk(&mut desk, &naive, chosen, b"", dice);
    });
}

/// Among equal lines even a single exact match is no proof, since nobody can tell which of them
/// were deleted. These texts have hardly any other lines: about 1 flip in 350 goes to a wrong
/// place.
#[test]
fn in_repetitive_text_that_changed_outside_hunks_are_refused_rather_than_misplaced() {
    let (n_own, n_elsewhere) = (Cell::new(0), Cell::new(0));
    for_each_pair(N_CASES, |pair| {
        let mut dice = Dice::of(&pair.original, &pair.modified);
        let Some(naive) = naive(pair, 3) else {
            return;
        };
        let chosen = naive.some_hunks(&mut dice);
        let mut desk = desk_of(pair, 3, &pair.original);
        for hunk in (0..chosen.len()).filter(|&hunk| chosen[hunk]) {
            desk.act(hunk, Command::Accept).unwrap();
        }
        let lines = edited_outside(naive.lines(&chosen), &mut dice);
        if naive.text(&chosen) == bytes(&lines) {
            return;
        }
        follow(&mut desk, &lines);
        for hunk in 0..chosen.len() {
            match flip(&desk, &naive, &lines, hunk) {
                Flip::Refused => {}
                Flip::Own => n_own.set(n_own.get() + 1),
                Flip::Elsewhere => n_elsewhere.set(n_elsewhere.get() + 1),
            }
        }
    });
    assert!(
        n_elsewhere.get() * 250 <= n_own.get(),
        "{n_elsewhere:?} {n_own:?}"
    );
}

/// Short texts, so that most edits are at an end, or the text is empty; their lines are all
/// different, and the last may lack its newline.
#[test]
fn in_short_texts_no_line_is_lost_or_glued_and_undo_brings_back_what_was_there() {
    let (n_undone, n_parts) = (Cell::new(0), Cell::new(0));
    for seed in 0..u64::from(n_cases(N_CASES)) {
        let mut dice = Dice::new(seed);
        let numbered = |name: &str, n| (0..n).map(|at| format!("{name} {at}\n")).collect();
        let original: Vec<String> = numbered("old", dice.roll(5));
        let mut modified = original.clone();
        for change in 0..1 + dice.roll(3) {
            let start = dice.roll(modified.len() + 1);
            let end = modified.len().min(start + dice.roll(3));
            let new: Vec<String> = numbered(&format!("new {change}"), dice.roll(3));
            modified.splice(start..end, new);
        }
        let mut text = |lines: &[String]| {
            let text = lines.concat();
            let len = text.len().saturating_sub(usize::from(dice.roll(3) == 0));
            text.into_bytes()[..len].to_vec()
        };
        let (original, modified) = (text(&original), text(&modified));
        if original == modified {
            continue;
        }
        let pair = Pair { original, modified };
        let mut desk = desk_of(&pair, 3, &pair.original);
        // The states before the decisions since the last edit by others.
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for step in 0..16 {
            let was = state_of(&desk);
            let n_decisions = desk.review.n_decisions();
            match dice.roll(10) {
                0..=2 => {
                    edit_at_an_end(&mut desk, &pair.original, step, &mut dice);
                    (before, after) = (Vec::new(), Vec::new());
                    continue;
                }
                3 | 4 => match desk.review.plan_undo() {
                    Ok(plan) => {
                        desk.carry_out(&plan);
                        let Some(expected) = before.pop() else {
                            after.clear();
                            continue;
                        };
                        assert_eq!(state_of(&desk), expected, "seed {seed}, step {step}");
                        after.push(was.clone());
                        n_undone.set(n_undone.get() + 1);
                        let is_part = expected.0.iter().any(|state| state.1 == Fact::Mixed);
                        n_parts.set(n_parts.get() + usize::from(is_part));
                    }
                    Err(_) => assert!(before.is_empty(), "seed {seed}, step {step}"),
                },
                5 => match desk.review.plan_redo() {
                    Ok(plan) => {
                        desk.carry_out(&plan);
                        let Some(expected) = after.pop() else {
                            before.clear();
                            continue;
                        };
                        assert_eq!(state_of(&desk), expected, "seed {seed}, step {step}");
                        before.push(was.clone());
                    }
                    Err(_) => assert!(after.is_empty(), "seed {seed}, step {step}"),
                },
                choice => {
                    let hunk = dice.roll(desk.review.proposal().n_hunks());
                    let command = match choice {
                        6 | 7 => Command::Accept,
                        8 => Command::Unapply,
                        _ => [Command::Toggle, Command::Reject][dice.roll(2)],
                    };
                    _ = desk.act(hunk, command);
                    if desk.review.n_decisions() > n_decisions {
                        before.push(was.clone());
                        after.clear();
                    }
                }
            }
            check_lines(&pair, &was.1, &desk.live);
        }
    }
    assert!(
        n_undone.get() > 2_000 && n_parts.get() > 0,
        "{n_undone:?} {n_parts:?}"
    );
}

fn state_of(desk: &Desk) -> (Vec<(Mark, Fact)>, Vec<u8>) {
    let hunks = 0..desk.review.proposal().n_hunks();
    (
        hunks.map(|hunk| desk.state(hunk)).collect(),
        desk.live.clone(),
    )
}

/// Edits the target as somebody else does who adds a line at an end or anywhere, deletes one, or
/// goes back to the original. The engine is told, or learns it by comparing.
fn edit_at_an_end(desk: &mut Desk, original: &[u8], step: usize, dice: &mut Dice) {
    let mut lines = lines_of(&desk.live);
    let mut theirs = format!("theirs {step}\n").into_bytes();
    let at = match dice.roll(4) {
        0 => 0,
        1 | 2 => lines.len(),
        _ => dice.roll(lines.len() + 1),
    };
    let is_deletion = at < lines.len() && dice.roll(3) == 0;
    match dice.roll(8) {
        0 => return desk.becomes(&String::from_utf8_lossy(original)),
        _ if is_deletion => _ = lines.remove(at),
        _ => {
            if at == lines.len() && dice.roll(3) == 0 {
                theirs.pop();
            }
            if at == lines.len()
                && let Some(last) = lines.last_mut()
                && !last.ends_with(b"\n")
            {
                last.push(b'\n');
            }
            lines.insert(at, theirs.clone());
        }
    }
    let live = lines.concat();
    let was = lines_of(&desk.live);
    let n_same = was.iter().zip(&lines).take_while(|(a, b)| a == b).count();
    if dice.roll(2) == 0 {
        return desk.becomes(&String::from_utf8_lossy(&live));
    }
    // A last line that gets a newline is replaced, and so is what follows a deleted one.
    let n_tail = match at + usize::from(!is_deletion) < lines.len() {
        true => lines.len() - at - usize::from(!is_deletion),
        false => 0,
    };
    let text = lines[n_same..lines.len() - n_tail].concat();
    desk.edit_outside(n_same, was.len() - n_tail - n_same, &text, false);
}

/// Checks that each line of `now` is one of the two texts or of somebody else's, and that those of
/// somebody else are the same as in `was`.
fn check_lines(pair: &Pair, was: &[u8], now: &[u8]) {
    let is_theirs = |line: &&Vec<u8>| line.starts_with(b"theirs");
    let theirs = |text: &[u8]| -> Vec<Vec<u8>> {
        lines_of(text).iter().filter(is_theirs).cloned().collect()
    };
    assert_eq!(theirs(was), theirs(now));
    let content = |line: &[u8]| line.strip_suffix(b"\n").unwrap_or(line).to_vec();
    let known: Vec<Vec<u8>> = [&pair.original[..], &pair.modified, was]
        .iter()
        .flat_map(|text| lines_of(text))
        .map(|line| content(&line))
        .collect();
    for line in lines_of(now) {
        assert!(known.contains(&content(&line)), "{}", line.escape_ascii());
    }
}

fn desk_of(pair: &Pair, context_len: usize, live: &[u8]) -> Desk {
    let texts = (pair.original.clone(), pair.modified.clone());
    let proposal = Proposal::from_texts(texts.0, texts.1, context_len);
    Desk::open(proposal.expect("texts that differ"), live)
}

fn bare_desk_of(naive: &Naive, live: &[u8]) -> Desk {
    let diff = print(b"f", &naive.compared.hunks(3)).bytes;
    Desk::open(Proposal::from_diff(&diff).expect("a diff"), live)
}

/// Calls `check` with texts whose lines are all different, like most lines of source code.
fn for_each_source(check: impl Fn(&Pair, &mut Dice)) {
    for seed in 0..u64::from(n_cases(N_CASES)) {
        let mut dice = Dice::new(seed);
        let n_lines = 1 + dice.roll(60);
        let original = numbered(n_lines);
        let mut modified = original.clone();
        for change in 0..1 + dice.roll(5) {
            let start = dice.roll(modified.len() + 1);
            let end = modified.len().min(start + dice.roll(4));
            let n_added = dice.roll(4).max(usize::from(start == end));
            modified.splice(
                start..end,
                (0..n_added).map(|n| format!("new {change} {n}\n")),
            );
        }
        let (original, modified) = (original.concat().into(), modified.concat().into());
        let pair = Pair { original, modified };
        if pair.original != pair.modified {
            check(&pair, &mut dice);
        }
    }
}

/// Replaces a few runs of lines by lines that occur nowhere else.
fn edited_outside(mut lines: Vec<TaggedLine>, dice: &mut Dice) -> Vec<TaggedLine> {
    for change in 0..1 + dice.roll(3) {
        let start = dice.roll(lines.len() + 1);
        let end = lines.len().min(start + dice.roll(8));
        let n_added = dice.roll(2);
        let line = format!("from outside {change}\n").into_bytes();
        lines.splice(start..end, vec![(Tag::FromOutside, line); n_added]);
    }
    // A last line without newline that is followed by others now gets one, which changes the line.
    let last = lines.len().saturating_sub(1);
    for (tag, line) in &mut lines[..last] {
        if !line.ends_with(b"\n") {
            line.push(b'\n');
            *tag = Tag::FromOutside;
        }
    }
    lines
}

fn follow(desk: &mut Desk, lines: &[TaggedLine]) {
    desk.live = bytes(lines);
    desk.review.follow(&desk.live);
    assert_eq!(desk.review.proposal().target(), desk.live);
}

/// Tells whether all lines of `hunk`, with its change or without, are in the target in one piece.
///
/// If the other side was there, and the lines asked for are its head or its tail, the rest of it
/// must be gone: otherwise the same lines are only read as the other side.
fn is_whole(lines: &[TaggedLine], naive: &Naive, hunk: usize, was_in: bool, is_in: bool) -> bool {
    let here = tags(lines);
    let [run, known] = [is_in, was_in].map(|is_in| tags(&naive.run(hunk, is_in)));
    let is_there = match run.len() {
        0 => here.is_empty(),
        len => here.windows(len).any(|window| window == run),
    };
    let is_less = run.len() < known.len();
    is_there
        && !(is_less && known.starts_with(&run) && !here.ends_with(&run))
        && !(is_less && known.ends_with(&run) && !here.starts_with(&run))
}

/// What became of a hunk that was to be flipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flip {
    Refused,
    /// It replaces its own lines, or is inserted beside its own neighbors.
    Own,
    /// It replaces lines that only read like its own.
    Elsewhere,
}

fn flip(desk: &Desk, naive: &Naive, lines: &[TaggedLine], hunk: usize) -> Flip {
    let (is_in, command) = match desk.review.fact(hunk) {
        Fact::In => (true, Command::Unapply),
        Fact::Out => (false, Command::Accept),
        Fact::Mixed => return Flip::Refused,
    };
    let Ok(plan) = desk.review.plan(hunk, command) else {
        return Flip::Refused;
    };
    let edits = &naive.compared.edits[naive.groups[hunk].edits.clone()];
    let n_lines = naive.compared.original.len();
    assert_eq!(plan.edits.len(), edits.len());
    for (done, edit) in plan.edits.iter().zip(edits) {
        let own: Vec<Tag> = match is_in {
            true => edit.after.clone().map(Tag::Modified).collect(),
            false => edit.before.clone().map(Tag::Original).collect(),
        };
        let taken = tags(&lines[done.line..done.line + done.n_removed]);
        let is_there = !own.is_empty() || lines.is_empty() || is_beside(lines, done, edit, n_lines);
        if taken != own || !is_there {
            return Flip::Elsewhere;
        }
    }
    Flip::Own
}

/// Tells whether the insertion `done` is right after the line before `edit`, or right before the
/// line after it; where there is no such line, at that end of the text.
fn is_beside(lines: &[TaggedLine], done: &LineEdit, edit: &diff::Edit, n_lines: usize) -> bool {
    let tag = |at: Option<usize>| at.and_then(|at| lines.get(at)).map(|line| line.0);
    let before = edit.before.start.checked_sub(1).map(Tag::Original);
    let after = Some(edit.before.end).filter(|&end| end < n_lines);
    let (left, right) = (tag(done.line.checked_sub(1)), tag(Some(done.line)));
    left == before || right == after.map(Tag::Original)
}
