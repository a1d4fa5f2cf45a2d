//! Texts for the tests, as strings and as lists of lines, each line with its terminator.

use super::dice::Dice;

/// Returns the text whose lines are the words of `words`.
pub fn text(words: &str) -> String {
    let lines = words.split_whitespace().map(|word| format!("{word}\n"));
    lines.collect()
}

/// Returns `n_lines` different lines.
pub fn numbered(n_lines: usize) -> Vec<String> {
    (0..n_lines).map(|n| format!("line {n}\n")).collect()
}

/// Returns two to nine equal blocks in braces.
pub fn equal_blocks(dice: &mut Dice) -> Vec<String> {
    let n_inside = 1 + dice.roll(4);
    let block = |_| {
        let inside = (0..n_inside).map(|at| format!("  {at}\n"));
        let (first, last) = (["{\n".to_owned()], ["}\n".to_owned()]);
        first.into_iter().chain(inside).chain(last)
    };
    (0..2 + dice.roll(8)).flat_map(block).collect()
}

/// Returns three or more lines, fewer than `max_len` + 3: most are unique, one in four is a brace
/// or blank, as in source code.
pub fn source(dice: &mut Dice, max_len: usize) -> Vec<String> {
    let n_lines = 3 + dice.roll(max_len);
    let line = |at: usize| match dice.roll(4) {
        0 => ["}\n", "\n", "    }\n"][at % 3].to_owned(),
        _ => format!("line {at}\n"),
    };
    (0..n_lines).map(line).collect()
}

/// Returns `lines` with one to `max_changes` runs of up to three lines replaced, each by up to
/// three lines that are new or copied from `lines`.
pub fn changed(lines: &[String], max_changes: usize, dice: &mut Dice) -> Vec<String> {
    let mut changed = lines.to_vec();
    for change in 0..1 + dice.roll(max_changes) {
        let start = dice.roll(changed.len() + 1);
        let end = changed.len().min(start + dice.roll(4));
        let added = (0..dice.roll(4)).map(|n| match dice.roll(2) {
            0 => format!("new {change} {n}\n"),
            _ => lines[dice.roll(lines.len())].clone(),
        });
        let added: Vec<String> = added.collect();
        changed.splice(start..end, added);
    }
    changed
}
