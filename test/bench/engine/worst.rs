//! The worst text of 10 MB: every kind of it that we could think of.

use std::time::Duration;

use agent_q_diff::text::Text;

use crate::dice::Dice;
use crate::harness::{Bench, time_row, timed};
use crate::peers::compared;

/// Length of each text, in bytes.
const LEN: usize = 10_000_000;

/// What the default budget is to keep every such text under.
const LIMIT: Duration = Duration::from_millis(500);

/// Makes a kind of pair.
type Make = fn(&mut Dice) -> [Vec<u8>; 2];

/// Prints the time of each kind of pair, with and without splitting into lines.
pub fn print_all() {
    for (name, make) in KINDS {
        let (time, n_changed, is_coarse) = measured(*make);
        let coarse = if is_coarse { "coarse" } else { "" };
        println!(
            "{:>6} ms  {n_changed:>8} lines  {name} {coarse}",
            time.as_millis()
        );
    }
}

/// Prints a row for the worst of all, or of those that were worst before.
pub fn row(bench: &Bench) {
    let n_kinds = if bench.is_quick { 4 } else { KINDS.len() };
    let all = KINDS[..n_kinds]
        .iter()
        .map(|(name, make)| (measured(*make).0, name));
    let (time, name) = all.max().expect("a kind");
    time_row(
        &format!("the worst of 10 MB, {name} : half a second"),
        time,
        LIMIT,
        Some(1.0),
    );
}

/// Returns the median time from bytes to edits, the number of changed lines, and whether the answer
/// is coarse.
fn measured(make: Make) -> (Duration, usize, bool) {
    let [original, modified] = make(&mut Dice::new(1));
    let (mut n_changed, mut is_coarse) = (0, false);
    let mut work = |(original, modified)| {
        let found = compared(&Text::new(original), &Text::new(modified));
        is_coarse = found.is_coarse;
        let edits = found.edits.iter();
        n_changed = edits.map(|edit| edit.before.len() + edit.after.len()).sum();
    };
    // The first time also pays for what making the texts has left in the allocator.
    let mut times = [(); 3].map(|()| timed(|| (original.clone(), modified.clone()), &mut work));
    times.sort();
    (times[1], n_changed, is_coarse)
}

/// The four that were worst come first.
const KINDS: &[(&str, Make)] = &[
    ("all lines of 10 bytes shuffled", |dice| {
        shuffled_all(dice, 10)
    }),
    ("all lines of 13 bytes shuffled", |dice| {
        shuffled_all(dice, 13)
    }),
    ("all lines of 16 bytes shuffled", |dice| {
        shuffled_all(dice, 16)
    }),
    ("a period of 3 and one of 4", |_| {
        [
            b"a\nb\nc\n".repeat(LEN / 6),
            b"c\nb\na\nb\n".repeat(LEN / 8),
        ]
    }),
    ("every third line replaced", |_| every(3)),
    ("two texts at random, lines of one letter", |dice| {
        few(dice, 2, 1)
    }),
    ("ten texts at random, lines of one letter", |dice| {
        few(dice, 10, 1)
    }),
    ("blocks of 7 lines shuffled", |dice| blocks(dice, 7)),
    ("blocks of 100 lines shuffled", |dice| blocks(dice, 100)),
    ("blocks of 3000 lines shuffled", |dice| blocks(dice, 3000)),
    ("ten texts at random, long lines", |dice| few(dice, 10, 60)),
    ("500 texts at random", |dice| few(dice, 500, 10)),
    ("50000 texts at random", |dice| few(dice, 50_000, 10)),
    ("all lines reversed", |_| {
        let lines = numbered("");
        let reversed: Vec<_> = lines.iter().rev().cloned().collect();
        [lines.concat(), reversed.concat()]
    }),
    ("every other line replaced", |_| every(2)),
    ("nothing in common", |_| {
        [numbered("a").concat(), numbered("b").concat()]
    }),
    ("one line again and again", |_| {
        [b"\n".repeat(LEN), b"\n".repeat(LEN - 1000)]
    }),
    ("a period of 9 with a line more in every 50", |_| period()),
    ("a source of 10 MB, another one", |_| {
        [1, 2].map(|seed| crate::texts::source(LEN / 34, seed).concat().into_bytes())
    }),
    ("one line, all of it", |_| {
        [vec![b'a'; LEN], vec![b'b'; LEN]]
    }),
];

/// Returns different lines, so many that they come to the length of a text.
fn numbered(word: &str) -> Vec<Vec<u8>> {
    let line = |at| format!("{word}{at}\n").into_bytes();
    (0..LEN / 8).map(line).collect()
}

fn shuffled(lines: &[Vec<u8>], dice: &mut Dice) -> Vec<Vec<u8>> {
    let mut lines = lines.to_vec();
    for at in (1..lines.len()).rev() {
        lines.swap(at, dice.roll(at + 1));
    }
    lines
}

fn shuffled_all(dice: &mut Dice, len: usize) -> [Vec<u8>; 2] {
    let line = |at| format!("{at:0width$}\n", width = len - 1).into_bytes();
    let lines: Vec<Vec<u8>> = (0..LEN / len).map(line).collect();
    [lines.concat(), shuffled(&lines, dice).concat()]
}

fn blocks(dice: &mut Dice, len: usize) -> [Vec<u8>; 2] {
    let lines = numbered("");
    let blocks: Vec<Vec<u8>> = lines.chunks(len).map(|lines| lines.concat()).collect();
    [blocks.concat(), shuffled(&blocks, dice).concat()]
}

fn few(dice: &mut Dice, n_texts: usize, len: usize) -> [Vec<u8>; 2] {
    let line = |n: usize| format!("{:0len$}\n", n).into_bytes();
    let lines: Vec<Vec<u8>> = (0..n_texts).map(line).collect();
    let n_lines = LEN / (len + 1);
    [(); 2].map(|()| {
        let lines = (0..n_lines).map(|_| &lines[dice.roll(n_texts)][..]);
        lines.collect::<Vec<_>>().concat()
    })
}

fn every(n: usize) -> [Vec<u8>; 2] {
    let lines = numbered("");
    let mut changed = lines.clone();
    let changing = changed.iter_mut().enumerate().step_by(n);
    changing.for_each(|(at, line)| *line = format!("x{at}\n").into_bytes());
    [lines.concat(), changed.concat()]
}

fn period() -> [Vec<u8>; 2] {
    let lines = |skip: usize| {
        let line = |at: usize| match at % 50 {
            0 => format!("{}\n", at % 7).into_bytes(),
            _ => format!("{}\n", (at + at / 50 * skip) % 9).into_bytes(),
        };
        (0..LEN / 2).flat_map(line).collect()
    };
    [lines(1), lines(2)]
}
