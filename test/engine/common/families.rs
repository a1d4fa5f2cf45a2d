//! Families of texts that are hard to compare: most lines recur, or nothing is where it was.
//!
//! A test compares our diffs of them with those of git and GNU diff, and the benchmark, which
//! includes this file, measures them at 10 MB.

use super::dice::Dice;

/// A kind of pair of texts.
pub struct Family {
    /// Describes the texts.
    pub name: &'static str,
    /// Makes the lines of both sides as numbers, given about how many each side is to have.
    make: fn(usize, &mut Dice) -> [Vec<usize>; 2],
}

impl Family {
    /// Returns two texts of about `n_lines` lines each, the same for each `seed`.
    pub fn texts(&self, n_lines: usize, seed: u64) -> [Vec<u8>; 2] {
        (self.make)(n_lines, &mut Dice::new(seed)).map(text_of)
    }
}

/// Returns the text with these lines, each a number.
fn text_of(lines: Vec<usize>) -> Vec<u8> {
    let mut text = Vec::new();
    lines.iter().for_each(|&line| push_line(&mut text, line));
    text
}

/// Adds a line with the number `line`, written in letters.
fn push_line(text: &mut Vec<u8>, mut line: usize) {
    loop {
        text.push(b'a' + (line % 26) as u8);
        line /= 26;
        if line == 0 {
            return text.push(b'\n');
        }
    }
}

/// First number of the lines that are unique.
const UNIQUE: usize = 1_000_000;

/// All families.
pub const FAMILIES: &[Family] = &[
    Family {
        name: "a period of 3 and one of 4",
        make: |n, _| [[0, 1, 2].repeat(n / 3), [2, 1, 0, 1].repeat(n / 4)],
    },
    Family {
        name: "two periods interleaved, each rotated",
        make: |n, _| {
            [(0, 0), (3, 5)].map(|(even, odd)| {
                let line = |at: usize| match at % 2 {
                    0 => (at / 2 + even) % 7,
                    _ => 7 + (at / 2 + odd) % 11,
                };
                (0..n).map(line).collect()
            })
        },
    },
    Family {
        name: "two periods interleaved, one line in 50 changed",
        make: |n, dice| {
            let lines = (0..n).map(|at| [at / 2 % 5, 5 + at / 2 % 6][at % 2]);
            let lines: Vec<usize> = lines.collect();
            let changed = one_in(50, &lines, 11, dice);
            [lines, changed]
        },
    },
    Family {
        name: "every second line of 4 texts replaced by another of them",
        make: |n, dice| every_second(n, 4, dice),
    },
    Family {
        name: "every second line of 10 texts replaced by another of them",
        make: |n, dice| every_second(n, 10, dice),
    },
    Family {
        name: "every second line of 10 texts replaced by a unique one",
        make: |n, dice| {
            let lines = random(n, 10, dice);
            let mut changed = lines.clone();
            let second = changed.iter_mut().enumerate().step_by(2);
            second.for_each(|(at, line)| *line = UNIQUE + at);
            [lines, changed]
        },
    },
    Family {
        name: "a text of 10 texts twice, against once, one line in 10 changed",
        make: |n, dice| {
            let lines = random(n / 2, 10, dice);
            let changed = one_in(10, &lines, 10, dice);
            [lines.repeat(2), changed]
        },
    },
    Family {
        name: "a text of unique lines twice, against once backward and forward",
        make: |n, _| {
            let lines: Vec<usize> = (UNIQUE..UNIQUE + n / 2).collect();
            let backward: Vec<usize> = lines.iter().rev().copied().collect();
            [lines.repeat(2), [backward, lines].concat()]
        },
    },
    Family {
        name: "a text of unique lines twice, against once, one line in 10 changed",
        make: |n, dice| {
            let lines: Vec<usize> = (UNIQUE..UNIQUE + n / 2).collect();
            let changed = one_in(10, &lines, 10, dice);
            [lines.repeat(2), changed]
        },
    },
    Family {
        name: "unique lines shuffled, a common line behind each",
        make: |n, dice| {
            let lines: Vec<usize> = (UNIQUE..UNIQUE + n / 2).collect();
            let mut shuffled = lines.clone();
            dice.shuffle(&mut shuffled);
            [lines, shuffled].map(|lines| lines.iter().flat_map(|&line| [line, 0]).collect())
        },
    },
    Family {
        name: "unique lines, one in 3 moved by up to 50, a common line behind each",
        make: |n, dice| {
            let lines: Vec<usize> = (UNIQUE..UNIQUE + n / 2).collect();
            let mut moved = lines.clone();
            for at in (0..lines.len()).step_by(3) {
                let to = lines.len().min(at + 1 + dice.roll(50)) - 1;
                moved[at..=to].rotate_left(1);
            }
            [lines, moved].map(|lines| lines.iter().flat_map(|&line| [line, 0]).collect())
        },
    },
    Family {
        name: "unique lines replaced, a common line behind each",
        make: |n, _| {
            [0, n].map(|first| {
                let lines = (0..n / 2).map(|at| UNIQUE + first + at);
                lines.flat_map(|line| [line, 0]).collect()
            })
        },
    },
    Family {
        name: "a Fibonacci word rotated by a third",
        make: |n, _| {
            let word = fibonacci(n);
            let mut rotated = word.clone();
            rotated.rotate_left(n / 3);
            [word, rotated]
        },
    },
    Family {
        name: "a Fibonacci word, one line in 100 changed",
        make: |n, dice| {
            let word = fibonacci(n);
            let changed = one_in(100, &word, 2, dice);
            [word, changed]
        },
    },
    Family {
        name: "the Thue-Morse word, and from a third on",
        make: |n, _| {
            [0, n / 3].map(|first| {
                let line = |at: usize| (at.count_ones() % 2) as usize;
                (first..first + n).map(line).collect()
            })
        },
    },
    Family {
        name: "2 texts at random",
        make: |n, dice| [(); 2].map(|()| random(n, 2, dice)),
    },
    Family {
        name: "30 texts at random",
        make: |n, dice| [(); 2].map(|()| random(n, 30, dice)),
    },
    Family {
        name: "3,000 texts at random",
        make: |n, dice| [(); 2].map(|()| random(n, 3000, dice)),
    },
    Family {
        name: "3,000 texts at random, one line in 4 changed",
        make: |n, dice| {
            let lines = random(n, 3000, dice);
            let changed = one_in(4, &lines, 3000, dice);
            [lines, changed]
        },
    },
    Family {
        name: "a period of 30 rotated, one line in 40 changed",
        make: |n, dice| {
            let period = random(30, 12, dice);
            let lines = period.repeat(n / 30);
            let mut rotated = lines.clone();
            rotated.rotate_left(13);
            let changed = one_in(40, &rotated, 12, dice);
            [lines, changed]
        },
    },
    Family {
        name: "blocks of 40 lines of 6 texts, in another order",
        make: |n, dice| {
            let blocks: Vec<Vec<usize>> = (0..n / 40).map(|_| random(40, 6, dice)).collect();
            let mut shuffled = blocks.clone();
            dice.shuffle(&mut shuffled);
            [blocks.concat(), shuffled.concat()]
        },
    },
    Family {
        name: "every third line replaced",
        make: |n, _| {
            let line = |at: usize| match at % 3 {
                0 => UNIQUE + n + at,
                _ => UNIQUE + at,
            };
            [(UNIQUE..UNIQUE + n).collect(), (0..n).map(line).collect()]
        },
    },
    Family {
        name: "pairs of unique lines swapped",
        make: |n, _| {
            let lines: Vec<usize> = (UNIQUE..UNIQUE + n / 2 * 2).collect();
            let mut swapped = lines.clone();
            swapped.chunks_exact_mut(2).for_each(|pair| pair.swap(0, 1));
            [lines, swapped]
        },
    },
    Family {
        name: "two halves of unique lines swapped, one line in 30 changed",
        make: |n, dice| {
            let lines: Vec<usize> = (UNIQUE..UNIQUE + n).collect();
            let mut swapped = lines.clone();
            swapped.rotate_left(n / 2);
            let changed = one_in(30, &swapped, 10, dice);
            [lines, changed]
        },
    },
];

/// Returns a short run of lines that is repeated, and the same rotated, edited or both, as a
/// table of test cases or a generated file has them; a case for each `seed`.
pub fn cyclic(seed: u64) -> [Vec<u8>; 2] {
    let dice = &mut Dice::new(seed);
    let (period_len, n_texts) = (2 + dice.roll(40), 2 + dice.roll(12));
    let period = random(period_len, n_texts, dice);
    let lines = period.repeat((200 + dice.roll(3000)) / period_len);
    let mut changed = lines.clone();
    if dice.roll(3) > 0 {
        changed.rotate_left(dice.roll(period_len));
    }
    for _ in 0..[0, 3, 30, 120][dice.roll(4)] {
        let at = dice.roll(changed.len());
        let end = changed.len().min(at + dice.roll(4));
        let n_new = dice.roll(4);
        changed.splice(at..end, random(n_new, n_texts + dice.roll(2), dice));
    }
    [lines, changed].map(text_of)
}

fn random(n: usize, n_texts: usize, dice: &mut Dice) -> Vec<usize> {
    (0..n).map(|_| dice.roll(n_texts)).collect()
}

fn every_second(n: usize, n_texts: usize, dice: &mut Dice) -> [Vec<usize>; 2] {
    let lines = random(n, n_texts, dice);
    let mut changed = lines.clone();
    for line in changed.iter_mut().step_by(2) {
        *line = (*line + 1 + dice.roll(n_texts - 1)) % n_texts;
    }
    [lines, changed]
}

/// Returns `lines` with one in `n`, at random, replaced by one of `n_texts`.
fn one_in(n: usize, lines: &[usize], n_texts: usize, dice: &mut Dice) -> Vec<usize> {
    let line = |&line: &usize| match dice.roll(n) {
        0 => dice.roll(n_texts),
        _ => line,
    };
    lines.iter().map(line).collect()
}

/// Returns the first `n` letters of the Fibonacci word: no run of it recurs more than three times
/// in a row.
fn fibonacci(n: usize) -> Vec<usize> {
    let (mut last, mut word) = (vec![0], vec![0, 1]);
    while word.len() < n {
        let next = [&word[..], &last].concat();
        last = std::mem::replace(&mut word, next);
    }
    word.truncate(n);
    word
}
