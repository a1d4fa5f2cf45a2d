//! Code that moved: random moves with changes inside.

use std::collections::HashMap;
use std::process::Command;

use agent_q_diff_engine::diff::HeadingRule;
use agent_q_diff_engine::patch::hunk::{Hunk, Line, LineKind};
use agent_q_diff_engine::patch::parse::parse;
use agent_q_diff_engine::proposal::{Proposal, ProposalError};
use agent_q_diff_engine::review::Review;
use agent_q_diff_engine::show::alike::{Kind, Place, groups};
use agent_q_diff_engine::show::moved::{Inside, Move, Moves};

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

/// Returns a proposal in which a block moved, perhaps with changes; `None` if nothing changed.
fn moved(dice: &mut Dice) -> Option<Proposal> {
    let (mut old, mut new) = (lines(0, 40), lines(0, 40));
    let mut block = lines(100, 6 + dice.roll(12));
    let at = dice.roll(40);
    old.splice(at..at, block.iter().cloned());
    change(&mut block, dice);
    let at = dice.roll(40);
    new.splice(at..at, block);
    match Proposal::from_texts(old.concat().into(), new.concat().into(), 3) {
        Err(ProposalError::Identical) => None,
        proposal => Some(proposal.unwrap()),
    }
}

fn changed_lines<'a>(hunk: &Hunk<'a>) -> Vec<Line<'a>> {
    let changes = hunk.lines.iter();
    let changes = changes.filter(|line| line.kind != LineKind::Context);
    changes.copied().collect()
}

fn lines_of<'a>(hunks: &[Hunk<'a>], place: &Place, kind: LineKind) -> Vec<&'a [u8]> {
    let lines = changed_lines(&hunks[place.hunk])[place.lines.clone()].to_vec();
    assert!(lines.iter().all(|line| line.kind == kind));
    lines.iter().map(|line| line.text).collect()
}

/// Checks `block`, and counts its lines: those that are equal, and those inside.
fn check(hunks: &[Hunk], moves: &Moves, block: &Move, n_lines: &mut [usize; 2]) {
    let is = |place: &Place, is: fn(&Inside) -> bool| {
        let mut lines = place.lines.clone();
        assert!(lines.all(|at| moves.line(place.hunk, at).is_some_and(is)));
    };
    let sides = |[old, new]: &[Place; 2]| {
        [
            lines_of(hunks, old, LineKind::Removed),
            lines_of(hunks, new, LineKind::Added),
        ]
    };
    for pair in &block.equal {
        let [old, new] = sides(pair);
        assert_eq!(old, new);
        n_lines[0] += old.len();
        pair.iter()
            .for_each(|place| is(place, |it| *it == Inside::Equal));
    }
    for pair in &block.changed {
        let [old, new] = sides(pair);
        assert!(old.len() == new.len() && old.iter().zip(&new).all(|(old, new)| old != new));
        n_lines[1] += old.len();
        for place in pair {
            is(place, |it| matches!(it, Inside::Changed(_)));
        }
    }
    for (places, kind) in [
        (&block.removed, LineKind::Removed),
        (&block.added, LineKind::Added),
    ] {
        for place in places {
            n_lines[1] += lines_of(hunks, place, kind).len();
            is(place, |it| *it == Inside::Alone);
        }
    }
}

#[test]
fn no_line_that_is_called_moved_differs_from_its_partner() {
    let mut dice = Dice::new(42);
    let (mut n_lines, n_cases) = ([0, 0], n_cases(10_000));
    for proposal in (0..n_cases).filter_map(|_| moved(&mut dice)) {
        let files = [proposal.hunks(HeadingRule::Default)];
        let moves = Moves::of(&files, &[]);
        for block in moves.blocks() {
            check(&files[0], &moves, block, &mut n_lines);
        }
        // No key that decides equal changes, and no fold, takes what changed inside.
        let mut n_moved: HashMap<(usize, usize), usize> = HashMap::new();
        for group in groups(&files, &moves, &[]) {
            for place in &group.places {
                for at in place.lines.clone() {
                    let is_equal = moves.line(place.hunk, at) == Some(&Inside::Equal);
                    assert_eq!(group.kind == Kind::Moved, is_equal);
                    *n_moved.entry((place.hunk, at)).or_default() += 1;
                }
            }
        }
        assert!(n_moved.values().all(|&n| n == 1));
    }
    let n_cases = n_cases as usize;
    assert!(
        n_lines[0] > 5 * n_cases && n_lines[1] > n_cases / 2,
        "{n_lines:?}"
    );
}

#[test]
fn splitting_a_hunk_changes_nothing_about_what_moved() {
    let mut dice = Dice::new(43);
    // Of each line that is in a block, what it is there.
    let seen = |proposal: &Proposal| {
        let files = [proposal.hunks(HeadingRule::Default)];
        let moves = Moves::of(&files, &[]);
        let lines = files[0].iter().enumerate().flat_map(|(hunk, lines)| {
            let n = changed_lines(lines).len();
            let lines = (0..n).map(|at| moves.line(hunk, at).cloned());
            lines.collect::<Vec<_>>()
        });
        (moves.blocks().len(), lines.collect::<Vec<_>>())
    };
    for _ in 0..300 {
        let Some(proposal) = moved(&mut dice) else {
            continue;
        };
        let before = seen(&proposal);
        let mut review = Review::new(proposal);
        for _ in 0..4 {
            let hunk = dice.roll(review.proposal().n_hunks());
            let n = changed_lines(&review.proposal().hunks(HeadingRule::Default)[hunk]).len();
            let from = dice.roll(n);
            let to = from + 1 + dice.roll(n - from);
            review.pick(hunk, from..to).unwrap();
        }
        assert_eq!(seen(review.proposal()), before);
    }
}

/// Returns what git prints of the latest `n` commits of this repository, without and with colors, in which what
/// moved is blue.
fn commits(n: usize) -> [Vec<u8>; 2] {
    ["never", "always"].map(|color| {
        let mut git = Command::new("git");
        git.current_dir(env!("CARGO_MANIFEST_DIR"));
        for (kind, color) in [
            ("old", "red"),
            ("new", "red"),
            ("oldMoved", "blue"),
            ("newMoved", "blue"),
            ("oldMovedAlternative", "blue"),
            ("newMovedAlternative", "blue"),
        ] {
            git.args(["-c", &format!("color.diff.{kind}={color}")]);
        }
        git.args([
            "log",
            "-p",
            "--no-merges",
            "--no-renames",
            "--no-ext-diff",
            "--format=commit %H",
        ]);
        git.args([
            "--color-moved=zebra",
            &format!("--color={color}"),
            &format!("-n{n}"),
        ]);
        let output = git.output().unwrap();
        assert!(output.status.success());
        output.stdout
    })
}

/// Whether a changed line has moved: as git says, and as we do.
struct Compared<'a> {
    text: &'a [u8],
    by_git: bool,
    by_us: Option<Inside>,
}

/// Compares what moved in the diff `plain`, which `colored` is with colors.
fn compared<'a>(plain: &[&'a [u8]], colored: &[&[u8]]) -> Option<Vec<Compared<'a>>> {
    let text = plain.concat();
    let diffs = parse(&text).ok()?;
    let hunks = diffs
        .iter()
        .map(|diff| diff.hunks.iter().map(|it| it.hunk.clone()));
    let files: Vec<Vec<Hunk>> = hunks.map(Iterator::collect).collect();
    let moves = Moves::of(&files, &[]);
    let mut found = Vec::new();
    for (number, hunk) in diffs.iter().flat_map(|diff| &diff.hunks).enumerate() {
        let mut at = 0;
        for (line, kind) in (hunk.header_line + 1..).zip(hunk.hunk.kinds().chars()) {
            if matches!(kind, 'r' | 'a') {
                found.push(Compared {
                    text: plain[line],
                    by_git: colored[line].starts_with(b"\x1b[34m"),
                    by_us: moves.line(number, at).cloned(),
                });
                at += 1;
            }
        }
    }
    Some(found)
}

/// Prints the runs of lines of which git says something else than we do.
fn show(commit: &[u8], lines: &[Compared]) {
    let differs = |line: &Compared| line.by_git != (line.by_us == Some(Inside::Equal));
    for run in lines.chunk_by(|above, line| differs(above) == differs(line)) {
        if differs(&run[0]) {
            print!("{}", String::from_utf8_lossy(commit));
            for line in run {
                let by = if line.by_git { "git" } else { "we" };
                println!(
                    "  {by} {:?} {:?}",
                    line.by_us,
                    String::from_utf8_lossy(line.text)
                );
            }
        }
    }
}

#[test]
fn what_moved_in_real_commits_is_what_git_says() {
    let outputs = commits(n_cases(200) as usize);
    let [plain, colored] = outputs.each_ref().map(|output| {
        let lines = output.split_inclusive(|&byte| byte == b'\n');
        lines.collect::<Vec<_>>()
    });
    assert_eq!(plain.len(), colored.len());
    let starts = |line: &&[u8]| line.starts_with(b"commit ");
    let firsts: Vec<usize> = (0..plain.len()).filter(|&at| starts(&plain[at])).collect();
    // What both say, only git, only we, and what changed inside of a block.
    let [mut n_both, mut n_git, mut n_ours, mut n_inside] = [0; 4];
    for (index, &first) in firsts.iter().enumerate() {
        let end = firsts.get(index + 1).copied().unwrap_or(plain.len());
        let lines = compared(&plain[first + 1..end], &colored[first + 1..end]);
        if std::env::var_os("AGENT_Q_DIFF_SHOW").is_some() {
            show(plain[first], lines.as_deref().unwrap_or_default());
        }
        for line in lines.into_iter().flatten() {
            let is_equal = line.by_us == Some(Inside::Equal);
            n_inside += usize::from(line.by_us.is_some() && !is_equal);
            match (line.by_git, is_equal) {
                (true, true) => n_both += 1,
                (true, false) => n_git += 1,
                (false, true) => n_ours += 1,
                _ => {}
            }
        }
    }
    println!("both {n_both}, git {n_git}, we {n_ours}, inside {n_inside}");
    assert!(n_git + n_ours <= n_both, "{n_both} {n_git} {n_ours}");
}
