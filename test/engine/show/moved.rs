//! Code that moved: random moves with changes inside.

use agent_q_diff_engine::diff::HeadingRule;
use agent_q_diff_engine::patch::hunk::{Hunk, Line, LineKind};
use agent_q_diff_engine::proposal::{Proposal, ProposalError};
use agent_q_diff_engine::show::alike::{Kind, Place, groups};

use crate::common::dice::Dice;
use crate::common::n_cases;

fn lines(first: usize, n: usize) -> Vec<String> {
    let lines = first..first + n;
    lines.map(|n| format!("some code on line {n};\n")).collect()
}

/// Changes, adds, removes, indents or swaps some lines of `block`.
fn change(block: &mut Vec<String>, dice: &mut Dice) {
    for _ in 0..dice.roll(4) {
        let at = dice.roll(block.len() - 1);
        match dice.roll(6) {
            0 => block[at] = block[at].replace("line", "row"),
            1 => block.insert(at, "os.system(rm)\n".to_owned()),
            2 => drop(block.remove(at)),
            3 => block[at].insert_str(0, "    "),
            4 => block.swap(at, at + 1),
            _ => block[at] = block[at].replace('\n', " \n"),
        }
    }
}

fn lines_of<'a>(hunks: &[Hunk<'a>], place: &Place) -> Vec<Line<'a>> {
    let changes = hunks[place.hunk].lines.iter();
    let changes: Vec<_> = changes
        .filter(|line| line.kind != LineKind::Context)
        .copied()
        .collect();
    changes[place.lines.clone()].to_vec()
}

#[test]
fn no_line_that_is_called_moved_differs_from_its_partner() {
    let mut dice = Dice::new(42);
    let (mut n_lines, n_cases) = (0, n_cases(2_000));
    for _ in 0..n_cases {
        let (mut old, mut new) = (lines(0, 40), lines(0, 40));
        let mut block = lines(100, 6 + dice.roll(12));
        let at = dice.roll(40);
        old.splice(at..at, block.iter().cloned());
        change(&mut block, &mut dice);
        let at = dice.roll(40);
        new.splice(at..at, block);
        let proposal = Proposal::from_texts(old.concat().into(), new.concat().into(), 3);
        let proposal = match proposal {
            Err(ProposalError::Identical) => continue,
            proposal => proposal.unwrap(),
        };
        let hunks = proposal.hunks(HeadingRule::Default);
        let all = groups(hunks.iter().cloned().map(|hunk| (hunk, None)));
        for group in all.iter().filter(|group| group.kind == Kind::Moved) {
            let [old, new] = &group.places[..] else {
                panic!("{group:?}");
            };
            let (old, new) = (lines_of(&hunks, old), lines_of(&hunks, new));
            assert!(old.iter().all(|line| line.kind == LineKind::Removed));
            assert!(new.iter().all(|line| line.kind == LineKind::Added));
            assert!(
                old.iter()
                    .map(|line| line.text)
                    .eq(new.iter().map(|line| line.text))
            );
            n_lines += old.len();
        }
    }
    assert!(n_lines > 5 * n_cases as usize, "{n_lines}");
}
