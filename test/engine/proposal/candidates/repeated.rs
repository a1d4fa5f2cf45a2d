//! Random diffs among repeated blocks, in a target that others have changed, beside a model that
//! knows where each hunk belongs.

use std::collections::HashMap;

use agent_q_diff_engine::patch::hunk::print;
use agent_q_diff_engine::proposal::{Candidate, Proposal, Side};
use agent_q_diff_engine::review::{Command, Note};

use crate::common::desk::Desk;
use crate::common::dice::Dice;
use crate::common::model::{Naive, Tag, TaggedLine, bytes, tags};
use crate::common::tools::{GIT_APPLY, GNU_PATCH, Patcher};

const N_CASES: u64 = 20_000;

/// A diff, and a target: the original with some of its hunks and with the edits of others.
struct Case {
    naive: Naive,
    context_len: usize,
    /// Whether each hunk is in the target.
    chosen: Vec<bool>,
    live: Vec<TaggedLine>,
    is_touched: bool,
}

/// Returns the block of a kind, 0 to 2. The kinds are similar.
fn block(kind: usize) -> Vec<String> {
    let body = ["  x\n", "  y\n", "  x\n  y\n"][kind];
    let lines = format!("{{\n{body}}}\n");
    lines.split_inclusive('\n').map(str::to_owned).collect()
}

impl Case {
    fn new(dice: &mut Dice) -> Option<Case> {
        let n_kinds = 1 + dice.roll(3);
        let (original, modified) = texts(dice, n_kinds);
        let context_len = 1 + dice.roll(3);
        let naive = Naive::new(original.as_bytes(), modified.as_bytes(), context_len)?;
        let some_are_in = dice.roll(2) == 0;
        let is_in = |_| some_are_in && dice.roll(3) == 0;
        let chosen: Vec<bool> = (0..naive.groups.len()).map(is_in).collect();
        let mut case = Case {
            naive,
            context_len,
            chosen,
            live: Vec::new(),
            is_touched: false,
        };
        case.live = case.target(dice, n_kinds);
        Some(case)
    }

    /// Returns the target. Others edit between hunks only, so that each hunk has its place. They
    /// either only add blocks or only remove lines, since two edits that cancel each other leave no
    /// trace in a diff, and GNU patch and git miss them, too. Nobody adds lines where a hunk begins
    /// or ends the file, since that is what shows its place.
    fn target(&mut self, dice: &mut Dice, n_kinds: usize) -> Vec<TaggedLine> {
        let adds = dice.roll(2) == 0;
        let wants_edits = dice.roll(4) > 0;
        let original = &self.naive.compared.original;
        let old = |line: usize| (Tag::Original(line), original.line(line).to_vec());
        let groups = &self.naive.groups;
        let mut lines = Vec::new();
        let mut at = 0;
        for hunk in 0..=groups.len() {
            let end = groups.get(hunk).map(|group| group.before.start);
            let mut gap: Vec<_> = (at..end.unwrap_or(original.len())).map(old).collect();
            let is_edge = gap.is_empty() && (hunk == 0 || hunk == groups.len());
            if wants_edits && !is_edge && dice.roll(2) == 0 {
                let cut = dice.roll(gap.len() + 1);
                if adds {
                    let added = (0..1 + dice.roll(2)).flat_map(|_| block(dice.roll(n_kinds)));
                    let added = added.map(|line| (Tag::FromOutside, line.into_bytes()));
                    gap.splice(cut..cut, added.collect::<Vec<_>>());
                    self.is_touched = true;
                } else if cut < gap.len() {
                    gap.drain(cut..gap.len().min(cut + 1 + dice.roll(4)));
                    self.is_touched = true;
                }
            }
            lines.extend(gap);
            if hunk < groups.len() {
                lines.extend(self.naive.run(hunk, self.chosen[hunk]));
                at = groups[hunk].before.end;
            }
        }
        lines
    }

    fn diff(&self) -> Vec<u8> {
        print(b"/f", &self.naive.compared.hunks(self.context_len)).bytes
    }

    fn live_text(&self) -> String {
        String::from_utf8(bytes(&self.live)).expect("text")
    }

    /// Returns the target with every hunk in it.
    fn done_text(&self) -> String {
        let mut lines = self.live.clone();
        for hunk in 0..self.naive.groups.len() {
            let (start, len) = self.place(hunk, &lines, self.chosen[hunk]);
            lines.splice(start..start + len, self.naive.run(hunk, true));
        }
        String::from_utf8(bytes(&lines)).expect("text")
    }

    /// Returns where `hunk` is in `lines`: the first line, and how many there are.
    fn place(&self, hunk: usize, lines: &[TaggedLine], is_in: bool) -> (usize, usize) {
        let run = tags(&self.naive.run(hunk, is_in));
        let mut windows = lines.windows(run.len());
        let start = windows.position(|window| tags(window) == run);
        (start.expect("nobody touches a hunk's lines"), run.len())
    }

    /// Tells whether `place` is that of `hunk`.
    fn is_own(&self, hunk: usize, place: &Candidate) -> bool {
        let (start, len) = self.place(hunk, &self.live, self.chosen[hunk]);
        let is_there = (place.line, place.line + place.len) == (start, start + len);
        // With fuzz, outer context lines are ignored.
        let is_inside = start <= place.line && place.line + place.len <= start + len;
        place.is_in == self.chosen[hunk] && (is_there || place.fuzz > 0 && is_inside)
    }
}

/// Returns a text of blocks of `n_kinds` kinds with some unique lines between them, and the same
/// with some of the blocks and lines changed.
fn texts(dice: &mut Dice, n_kinds: usize) -> (String, String) {
    let n_unique = [0, 2, 5][dice.roll(3)];
    let (mut original, mut modified) = (String::new(), String::new());
    for at in 0..2 + dice.roll(12) {
        if dice.roll(10) < n_unique {
            let line = format!("line {at}\n");
            original += &line;
            modified += if dice.roll(3) == 0 {
                "changed\n"
            } else {
                &line
            };
        }
        let lines = block(dice.roll(n_kinds));
        original += &lines.concat();
        let mut changed = lines.clone();
        match dice.roll(8) {
            0 => changed.insert(1 + dice.roll(lines.len()), "  new\n".to_owned()),
            1 => changed[1] = "  other\n".to_owned(),
            2 => drop(changed.remove(1)),
            3 if dice.roll(3) == 0 => changed.extend(lines),
            _ => {}
        }
        modified += &changed.concat();
    }
    (original, modified)
}

/// Calls `check` with random cases.
fn for_each_case(n_cases: u64, mut check: impl FnMut(&Case, &mut Dice)) {
    for seed in 0..n_cases {
        let mut dice = Dice::new(seed);
        if let Some(case) = Case::new(&mut dice) {
            check(&case, &mut dice);
        }
    }
}

#[derive(Debug, Default)]
struct Counts {
    /// Hunks that are certain.
    n_placed: usize,
    /// Hunks with several places, left to the user.
    n_open: usize,
    /// Those of them in a text that nobody else changed, where the stated line was right.
    n_needless: usize,
    /// Hunks that are found nowhere.
    n_lost: usize,
}

/// Accepting with one key puts no hunk into a wrong place: 0 of 21,657. For GNU patch and `git
/// apply` see [`other_tools_put_some_of_them_into_wrong_places`].
///
/// The price is a second key for the 19,891 hunks whose stated line nothing confirms. In hindsight
/// it was not needed for 8,105 of them, whose target is the original, perhaps with some of the
/// hunks. There an index line of git spares it: see [`named_by_its_id_no_hunk_is_left_open`].
#[test]
fn among_repeated_blocks_no_hunk_is_put_into_a_wrong_place() {
    let mut counts = Counts::default();
    for_each_case(N_CASES, |case, _| {
        let proposal = Proposal::from_diff(&case.diff()).expect("a diff");
        let desk = Desk::open(proposal, case.live_text().as_bytes());
        for hunk in 0..case.naive.groups.len() {
            let candidates = desk.review.proposal().candidates(hunk);
            match desk.review.proposal().place(hunk) {
                Ok(_) => {
                    assert!(case.is_own(hunk, &candidates[0]), "{}", case.live_text());
                    counts.n_placed += 1;
                }
                Err(reason) if reason.is_ambiguous() => {
                    // The right place is among those offered.
                    let is_own = |place| case.is_own(hunk, place);
                    assert!(candidates.iter().any(is_own), "{}", case.live_text());
                    counts.n_open += 1;
                    counts.n_needless += usize::from(!case.is_touched);
                }
                Err(_) => counts.n_lost += 1,
            }
        }
    });
    assert!(counts.n_placed > 10_000, "{counts:?}");
    assert!(10 * counts.n_lost < counts.n_placed, "{counts:?}");
}

#[test]
fn what_is_offered_first_is_right_where_nobody_touched_the_text() {
    for_each_case(N_CASES / 4, |case, _| {
        if case.is_touched || case.chosen.contains(&true) {
            return;
        }
        let proposal = Proposal::from_diff(&case.diff()).expect("a diff");
        let mut desk = Desk::open(proposal, case.live_text().as_bytes());
        for hunk in 0..case.naive.groups.len() {
            let place = desk.review.proposal().candidates(hunk)[0];
            assert_eq!(
                desk.act_at(hunk, place.line, Command::Accept),
                Ok(Note::Edited)
            );
        }
        assert_eq!(desk.text(), case.done_text());
    });
}

#[test]
fn named_by_its_id_no_hunk_is_left_open() {
    for_each_case(N_CASES / 4, |case, dice| {
        let mut proposal = Proposal::from_diff(&case.diff()).expect("a diff");
        let original = case.naive.compared.original.bytes();
        assert!(proposal.adopt(original, Side::Old));
        let mut desk = Desk::open(proposal, original);
        let n_hunks = case.naive.groups.len();
        let first = dice.roll(n_hunks);
        for at in 0..n_hunks {
            let hunk = (first + at) % n_hunks;
            assert_eq!(desk.act(hunk, Command::Accept), Ok(Note::Edited));
        }
        assert_eq!(desk.live, case.naive.compared.modified.bytes());
    });
}

/// What became of a diff: all applied where it belongs, or refused, or some of it misplaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Outcome {
    Right,
    Refused,
    Wrong,
}

/// Applies the diff of `case` with `tool`.
fn outcome_of(tool: &Patcher, case: &Case) -> Outcome {
    let applied = tool.apply(&case.diff(), case.live_text().as_bytes());
    match applied.is_success {
        true if applied.result.expect("a file") == case.done_text().as_bytes() => Outcome::Right,
        true => Outcome::Wrong,
        false => Outcome::Refused,
    }
}

/// Results for 300 of these diffs, in a text that others have changed.
///
/// | tool | right | refused, or left open | wrong, with exit code 0 |
/// | --- | --- | --- | --- |
/// | `git apply` | 221 | 1 | 78 |
/// | GNU patch | 230 | 2 | 68 |
/// | ours | 113 | 187 | 0 |
#[test]
fn other_tools_put_some_of_them_into_wrong_places() {
    let mut counts: HashMap<(&str, Outcome), usize> = HashMap::new();
    let mut n_left = 300;
    for_each_case(N_CASES, |case, _| {
        if !case.is_touched || case.chosen.contains(&true) || n_left == 0 {
            return;
        }
        n_left -= 1;
        for (name, tool) in [("git", &GIT_APPLY), ("patch", &GNU_PATCH)] {
            *counts.entry((name, outcome_of(tool, case))).or_default() += 1;
        }
        let proposal = Proposal::from_diff(&case.diff()).expect("a diff");
        let mut desk = Desk::open(proposal, case.live_text().as_bytes());
        let (plan, refused) = desk.plan_all();
        desk.carry_out(&plan);
        let outcome = match refused.is_empty() {
            true if desk.text() == case.done_text() => Outcome::Right,
            true => Outcome::Wrong,
            false => Outcome::Refused,
        };
        *counts.entry(("ours", outcome)).or_default() += 1;
    });
    assert_eq!(n_left, 0);
    assert!(
        !counts.contains_key(&("ours", Outcome::Wrong)),
        "{counts:?}"
    );
    for name in ["git", "patch"] {
        assert!(counts[&(name, Outcome::Wrong)] > 30, "{counts:?}");
    }
}
