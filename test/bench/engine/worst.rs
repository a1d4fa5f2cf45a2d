//! In search of the worst text of 10 MB: every kind that we could think of.

use std::time::Duration;

use agent_q_diff_engine::text::Text;

use crate::dice::Dice;
use crate::harness::{Bench, LONG as LEN, limit_row, median_of_three, timed};
use crate::peers::{compared, n_changed as n_changed_by};

/// Makes a kind of pair.
type Make = fn(&mut Dice) -> [Vec<u8>; 2];

/// Prints the time of each kind of pair, from bytes to edits.
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

/// Prints a row for the worst kind, with `--quick` of those that were the worst before.
pub fn row(bench: &Bench) {
    let n_kinds = if bench.is_quick { 4 } else { KINDS.len() };
    let all = KINDS[..n_kinds]
        .iter()
        .map(|(name, make)| (measured(*make).0, name));
    let (time, name) = all.max().expect("a kind");
    limit_row(&format!("the worst of 10 MB, {name}"), time);
}

/// Returns the median time from bytes to edits, the number of changed lines, and whether the answer
/// is coarse.
fn measured(make: Make) -> (Duration, usize, bool) {
    let [original, modified] = make(&mut Dice::new(1));
    let (mut n_changed, mut is_coarse) = (0, false);
    let mut work = |(original, modified)| {
        let found = compared(&Text::new(original), &Text::new(modified));
        is_coarse = found.is_coarse;
        n_changed = n_changed_by(&found.edits);
    };
    // The first time includes cleaning up the allocator after the texts were made.
    let time = median_of_three(|| timed(|| (original.clone(), modified.clone()), &mut work));
    (time, n_changed, is_coarse)
}

/// The four that were worst come first.
const KINDS: &[(&str, Make)] = &[
    (
        "every other line of ten at random, all others replaced",
        |dice| {
            [0, 1].map(|side| {
                let line = |at: usize| match at % 2 {
                    0 => format!("{}\n", dice.roll(10)).into_bytes(),
                    _ => format!("{side}{at}\n").into_bytes(),
                };
                (0..LEN / 6).map(line).collect::<Vec<_>>().concat()
            })
        },
    ),
    (
        "a sequence with each word of 20 letters once, and another",
        |dice| [1, 5].map(|tap| register(dice, tap)),
    ),
    ("one line in 6 changed, of two texts", |dice| {
        few_changed(dice, 2, 6)
    }),
    ("two texts at random, lines of one letter", |dice| {
        few(dice, 2, 1)
    }),
    ("all lines of 13 bytes shuffled", |dice| {
        shuffled_all(dice, 13)
    }),
    ("ten texts at random, long lines", |dice| few(dice, 10, 60)),
    ("a blank line more in each 100", |_| blank_more(100, 1)),
    ("all lines of 10 bytes shuffled", |dice| {
        shuffled_all(dice, 10)
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
    ("ten texts at random, lines of one letter", |dice| {
        few(dice, 10, 1)
    }),
    ("blocks of 7 lines shuffled", |dice| blocks(dice, 7)),
    ("blocks of 100 lines shuffled", |dice| blocks(dice, 100)),
    ("blocks of 3000 lines shuffled", |dice| blocks(dice, 3000)),
    ("500 texts at random", |dice| few(dice, 500, 10)),
    ("50000 texts at random", |dice| few(dice, 50_000, 10)),
    ("all lines of 13 bytes shuffled, and sorted", |dice| {
        let [sorted, shuffled] = shuffled_all(dice, 13);
        [shuffled, sorted]
    }),
    ("a source of 10 MB, all lines shuffled", |dice| {
        let lines = crate::texts::source(LEN / 34, 1);
        let mut shuffled = lines.clone();
        dice.shuffle(&mut shuffled);
        [lines, shuffled].map(|lines| lines.concat().into_bytes())
    }),
    ("a source of 10 MB, all lines indented", |_| {
        let lines = crate::texts::source(LEN / 34, 1);
        let indented = crate::texts::indented(&lines);
        [lines, indented].map(|lines| lines.concat().into_bytes())
    }),
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
    ("newlines, and lines of one letter", |_| {
        [b"\n".repeat(LEN), b"a\n".repeat(LEN / 2)]
    }),
    ("newlines, and one line in two of them a letter", |_| {
        [b"\n".repeat(LEN), b"\n\na\n".repeat(LEN / 4)]
    }),
    (
        "one line in 20 changed, and all lines come 64 times",
        |dice| few_changed(dice, LEN / 8 / 64, 20),
    ),
    ("one line in 2 of 1000 texts changed", |dice| {
        few_changed(dice, 1000, 2)
    }),
    ("two halves swapped, one line in 30 changed", |dice| {
        let [original, _] = few_changed(dice, LEN / 8, 1000);
        let lines: Vec<&[u8]> = original.split_inclusive(|&byte| byte == b'\n').collect();
        let mut swapped = lines.clone();
        swapped.rotate_left(lines.len() / 2);
        for at in (0..lines.len()).step_by(30) {
            swapped[at] = b"another\n";
        }
        [original.clone(), swapped.concat()]
    }),
    ("pairs of lines swapped", |_| {
        let lines = numbered("");
        let mut swapped = lines.clone();
        swapped.chunks_exact_mut(2).for_each(|pair| pair.swap(0, 1));
        [lines.concat(), swapped.concat()]
    }),
    (
        "the original in the modified text backward and forward",
        |_| {
            let lines = numbered("");
            let (some, _) = lines.split_at(lines.len() / 2);
            let backward: Vec<_> = some.iter().rev().cloned().collect();
            let forward = some.concat();
            [forward.repeat(2), [backward.concat(), forward].concat()]
        },
    ),
    (
        "blocks of 8000 lines replaced, 10 lines between them",
        |_| between(8000, 10, 5, |block, side| 2 * block + side),
    ),
    ("blocks of 200 lines replaced, 4 lines between them", |_| {
        between(200, 4, 5, |block, side| 2 * block + side)
    }),
    (
        "blocks of 8000 lines moved on, 10 lines between them",
        |_| between(8000, 10, 5, |block, side| block + side),
    ),
    ("blocks of 20 lines moved on, 4 lines between them", |_| {
        between(20, 4, 5, |block, side| block + side)
    }),
    (
        "blocks of 20 lines moved far, 4 longer lines between them",
        |_| between(20, 4, 13, |block, side| block + 3000 * side),
    ),
    (
        "blocks of 8000 longer lines moved on, 10 lines between them",
        |_| between(8000, 10, 13, |block, side| block + side),
    ),
    ("12 blank lines more in each 120", |_| blank_more(120, 12)),
    ("a line of 5 MB, then short ones", |dice| {
        let [a, b] = few(dice, 10, 1);
        [a, b].map(|text| [vec![b'x'; LEN / 2], text[..LEN / 2].to_vec()].concat())
    }),
    ("one line, all of it", |_| {
        [vec![b'a'; LEN], vec![b'b'; LEN]]
    }),
];

/// Returns different lines, enough for a text of [`LEN`] bytes.
fn numbered(word: &str) -> Vec<Vec<u8>> {
    let line = |at| format!("{word}{at}\n").into_bytes();
    (0..LEN / 8).map(line).collect()
}

fn shuffled(lines: &[Vec<u8>], dice: &mut Dice) -> Vec<Vec<u8>> {
    let mut lines = lines.to_vec();
    dice.shuffle(&mut lines);
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

/// Returns lines of one letter out of two, made by a linear feedback shift register with the taps
/// 0, 3 and `tap`.
fn register(dice: &mut Dice, tap: u32) -> Vec<u8> {
    let mut state = 1 + dice.roll(1 << 20);
    let line = |_| {
        let bit = (state ^ state >> tap ^ state >> 3) & 1;
        state = state >> 1 | bit << 19;
        [&b"a\n"[..], b"b\n"][bit]
    };
    (0..LEN / 2).map(line).collect::<Vec<_>>().concat()
}

/// Returns lines of `n_texts` texts at random, and the same with one in `n` replaced by another of
/// them.
fn few_changed(dice: &mut Dice, n_texts: usize, n: usize) -> [Vec<u8>; 2] {
    let lines: Vec<String> = (0..LEN / 8)
        .map(|_| format!("{:07}\n", dice.roll(n_texts)))
        .collect();
    [lines.concat(), crate::texts::one_in(n, &lines, 3).concat()].map(String::into_bytes)
}

/// Returns texts of blocks of `block_len` lines, with `n_same` equal lines between two blocks. Each
/// line has `len` bytes. `number` gives the number of a block from its place and its side, 0 or 1.
fn between(
    block_len: usize,
    n_same: usize,
    len: usize,
    number: fn(usize, usize) -> usize,
) -> [Vec<u8>; 2] {
    let n_blocks = LEN / len / (block_len + n_same);
    [0, 1].map(|side| {
        let mut text = Vec::with_capacity(LEN);
        for block in 0..n_blocks {
            for at in 0..block_len {
                push_word(&mut text, number(block, side) * block_len + at, 0xa0, len);
            }
            for at in 0..n_same {
                push_word(&mut text, block * n_same + at, b'A', len);
            }
        }
        text
    })
}

/// Adds a line of `len` bytes: the number `n` to the base 45, in the letters from `first` on.
fn push_word(text: &mut Vec<u8>, mut n: usize, first: u8, len: usize) {
    for _ in 1..len {
        text.push(first + (n % 45) as u8);
        n /= 45;
    }
    text.push(b'\n');
}

/// Returns texts with `n_blank` blank lines between each two others, and `n_more` more on one side.
fn blank_more(n_blank: usize, n_more: usize) -> [Vec<u8>; 2] {
    let len = 8 + n_blank + n_more;
    [n_blank, n_blank + n_more].map(|n_blank| {
        let run = |at| format!("{at:07}\n{}", "\n".repeat(n_blank));
        (0..LEN / len).map(run).collect::<String>().into_bytes()
    })
}
