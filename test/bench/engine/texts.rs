//! Texts to compare, the same in each run.

use crate::dice::Dice;

/// Two texts that are compared.
pub struct Pair {
    pub original: Vec<u8>,
    pub modified: Vec<u8>,
}

impl Pair {
    pub fn new(original: &[String], modified: &[String]) -> Pair {
        let text = |lines: &[String]| lines.concat().into_bytes();
        Pair {
            original: text(original),
            modified: text(modified),
        }
    }
}

/// Returns `n_lines` lines like those of a source file: some are unique, some recur, and some, like
/// braces and blank lines, are everywhere.
pub fn source(n_lines: usize, seed: u64) -> Vec<String> {
    let mut dice = Dice::new(seed);
    let mut lines = Vec::with_capacity(n_lines + 40);
    while lines.len() < n_lines {
        push_function(&mut lines, &mut dice);
    }
    lines.truncate(n_lines);
    lines
}

fn push_function(lines: &mut Vec<String>, dice: &mut Dice) {
    let n = lines.len();
    lines.push(format!("/// Computes value {n} of a table.\n"));
    lines.push(format!(
        "pub fn value_{n}(input: &Input, index: usize) -> u32 {{\n"
    ));
    for _ in 0..dice.roll(8) + 2 {
        let (one, two) = (dice.roll(40), dice.roll(1000));
        match dice.roll(6) {
            0 => lines.extend(block(one)),
            1 => lines.push(format!("    let item_{one} = input.get(index)?;\n")),
            2 => lines.push("    total += 1;\n".into()),
            3 => lines.push("\n".into()),
            _ => lines.push(format!(
                "    let item_{one} = compute_{two}(input, index + {n});\n"
            )),
        }
    }
    lines.extend(["    total\n".into(), "}\n".into(), "\n".into()]);
}

fn block(n: usize) -> [String; 3] {
    [
        format!("    if item_{n}.is_empty() {{\n"),
        "        return 0;\n".into(),
        "    }\n".into(),
    ]
}

/// Returns `lines` with `n_hunks` local edits: some lines replaced, added or taken away at each.
pub fn edited(lines: &[String], n_hunks: usize, seed: u64) -> Vec<String> {
    let mut dice = Dice::new(seed);
    let step = lines.len() / n_hunks;
    let mut edited = Vec::with_capacity(lines.len() + 4 * n_hunks);
    let mut rest = 0;
    for hunk in 0..n_hunks {
        let at = (hunk * step + dice.roll(step)).max(rest).min(lines.len());
        edited.extend_from_slice(&lines[rest..at]);
        let kind = dice.roll(4);
        let n_removed = if kind == 0 { 0 } else { dice.roll(3) + 1 };
        let n_added = if kind == 1 { 0 } else { dice.roll(3) + 1 };
        edited.extend((0..n_added).map(|n| new_line(n, &mut dice)));
        rest = lines.len().min(at + n_removed);
    }
    edited.extend_from_slice(&lines[rest..]);
    edited
}

fn new_line(n: usize, dice: &mut Dice) -> String {
    match dice.roll(6) {
        0 => "\n".into(),
        1 => "    }\n".into(),
        _ => format!(
            "    let changed_{n} = change(input, {});\n",
            dice.roll(1_000_000)
        ),
    }
}

/// Returns about `len` bytes of functions, whose lines are all different but for the last two, a brace
/// and a blank line.
pub fn functions(len: usize) -> Vec<String> {
    let function = |n: usize| {
        let statement = move |at| format!("  statement_{}(argument);\n", 7 * n + at);
        let head = std::iter::once(format!("fn function_{n}() {{\n"));
        let tail = ["}\n".to_owned(), "\n".to_owned()];
        head.chain((0..7).map(statement)).chain(tail)
    };
    let n_functions = len / function(len / 250).map(|line| line.len()).sum::<usize>();
    (0..n_functions).flat_map(function).collect()
}

/// Returns `lines` indented by two more columns, but for blank ones.
pub fn indented(lines: &[String]) -> Vec<String> {
    let line = |line: &String| match line.as_str() {
        "\n" => line.clone(),
        _ => format!("  {line}"),
    };
    lines.iter().map(line).collect()
}

/// Returns `lines` with every second one replaced.
pub fn every_other(lines: &[String]) -> Vec<String> {
    let line = |(at, line): (usize, &String)| match at % 2 {
        0 => format!("    replaced_{at}();\n"),
        _ => line.clone(),
    };
    lines.iter().enumerate().map(line).collect()
}

/// Returns `lines` with a part of those in the middle moved down by as many lines.
pub fn with_moved_block(lines: &[String]) -> Vec<String> {
    let mut moved = lines.to_vec();
    let third = lines.len() / 3;
    moved[third / 2..third / 2 + 2 * third].rotate_left(third);
    moved
}

/// Returns `n_lines` lines of which `n_texts` are distinct, at random.
pub fn few_distinct(n_lines: usize, n_texts: usize, seed: u64) -> Vec<String> {
    let mut dice = Dice::new(seed);
    (0..n_lines)
        .map(|_| format!("line of text {}\n", dice.roll(n_texts)))
        .collect()
}

/// Returns `lines` with one in `n`, at random, replaced by another of them.
pub fn one_in(n: usize, lines: &[String], seed: u64) -> Vec<String> {
    let mut dice = Dice::new(seed);
    let mut line = |line: &String| match dice.roll(n) {
        0 => lines[dice.roll(lines.len())].clone(),
        _ => line.clone(),
    };
    lines.iter().map(&mut line).collect()
}
