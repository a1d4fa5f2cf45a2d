//! White space apart from what else changes: whatever an agent does to a text, what is taken as white
//! space leaves the words of each line, their order, and all that quotes are around.

use agent_q_diff_engine::proposal::{Proposal, ProposalError};
use agent_q_diff_engine::review::Command::Accept;

use crate::common::desk::Desk;
use crate::common::dice::Dice;
use crate::common::n_cases;

const LINES: [&str; 10] = [
    "verify(u);",
    "grant(u);",
    "int  a;",
    "if (x) {",
    "}",
    "// no b();",
    "s = \"a  b\";",
    "x = a - -b;",
    "",
    "#define f \\",
];

/// Does something to a line of `lines`, or to two.
fn change(lines: &mut Vec<String>, dice: &mut Dice) {
    let at = dice.roll(lines.len() - 1);
    match dice.roll(10) {
        0 | 1 => lines[at].insert_str(0, "  "),
        2 => lines[at].push(' '),
        3 => lines[at] = lines[at].replace("  ", " "),
        4 => lines[at] = lines[at].replacen(' ', "", 1),
        5 => lines.swap(at, at + 1),
        6 => {
            let next = lines.remove(at + 1);
            lines[at].push_str(&format!(" {next}"));
        }
        7 => lines[at] = lines[at].replacen(' ', "\n", 1),
        8 => lines.insert(at, String::new()),
        _ => lines[at] = lines[at].replacen(' ', "  ", 1),
    }
}

fn text(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Returns what each line of `text` means that is not blank: its words, or all of it if it is quoted or
/// continues the line above.
fn meant(text: &[u8]) -> Vec<Vec<String>> {
    let mut meant = Vec::new();
    let mut is_continued = false;
    for line in str::from_utf8(text).unwrap().lines() {
        if is_continued {
            meant.push(vec![line.to_owned()]);
        } else if line.contains('"') {
            meant.push(vec![line.trim().to_owned()]);
        } else if !line.trim().is_empty() {
            meant.push(line.split_whitespace().map(String::from).collect());
        }
        is_continued = line.ends_with('\\');
    }
    meant
}

#[test]
fn what_is_taken_as_white_space_leaves_words_and_their_order() {
    let mut dice = Dice::new(40);
    let (mut n_white, mut n_other) = (0, 0);
    for _ in 0..n_cases(2_000) {
        let line = |dice: &mut Dice| LINES[dice.roll(LINES.len())].to_owned();
        let old: Vec<String> = (0..12).map(|_| line(&mut dice)).collect();
        let mut new = old.clone();
        for _ in 0..=dice.roll(8) {
            change(&mut new, &mut dice);
        }
        let (old, new) = (text(&old), text(&new));
        let proposal = Proposal::from_texts(old.clone().into(), new.into(), 3);
        let proposal = match proposal {
            Err(ProposalError::Identical) => continue,
            proposal => proposal.unwrap(),
        };
        let mut desk = Desk::open(proposal, old.as_bytes());
        for hunk in (0..desk.review.proposal().n_hunks()).rev() {
            desk.review.split_white_space(hunk).unwrap();
        }
        let white = desk.review.proposal().white_space_hunks();
        n_white += white.len();
        n_other += desk.review.proposal().n_hunks() - white.len();
        for hunk in white {
            desk.act(hunk, Accept).unwrap();
        }
        assert_eq!(meant(&desk.live), meant(old.as_bytes()));
    }
    assert!(n_white > 500 && n_other > 500, "{n_white} {n_other}");
}
