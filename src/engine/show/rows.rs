//! Which removed line stands next to which added one, when both are shown side by side.
//!
//! Lines of a change are aligned by how many characters of their words they share, so that the sum
//! over all pairs is greatest (Needleman and Wunsch, 1970, without a penalty for gaps). What is left
//! between two pairs is put side by side in order. Changes of more than 10,000 pairs of
//! lines are not compared.

use crate::patch::hunk::{Hunk, LineKind};

use super::words::{runs, words};

/// Most pairs of lines of one change that are compared.
const MAX_PAIRS: usize = 10_000;

/// Least similarity of two lines that are aligned, in thousandths.
const LEAST_SIMILAR: usize = 400;

/// Most rows in a row that one side lacks, where none of its lines can stand for them.
///
/// An editor draws those as one piece, in which a window cannot begin.
const MAX_GAP: usize = 10;

/// A change of a hunk, on two sides: a run of removed lines and of the added ones that follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Index of its first line in the hunk (0-based, without the header).
    pub first: usize,
    /// The row of each removed line, counted from 0 in the block, ascending.
    pub removed: Vec<usize>,
    /// The row of each added line, which may be that of a removed one.
    pub added: Vec<usize>,
}

/// Returns the changes of `hunk`, in order.
///
/// Of the rows of a block that only one side has, at most ten follow one another, but for
/// those below the last removed line, and those above the first added one.
pub fn blocks(hunk: &Hunk) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut first = 0;
    for run in runs(&hunk.lines) {
        if run[0].kind != LineKind::Context {
            let n_removed = run.partition_point(|line| line.kind == LineKind::Removed);
            let texts: Vec<_> = run
                .iter()
                .map(|line| String::from_utf8_lossy(line.text))
                .collect();
            let (removed, added) = rows(&texts[..n_removed], &texts[n_removed..]);
            blocks.push(Block {
                first,
                removed,
                added,
            });
        }
        first += run.len();
    }
    blocks
}

/// Returns the rows of the lines `removed` and of the lines `added`.
fn rows(removed: &[impl AsRef<str>], added: &[impl AsRef<str>]) -> (Vec<usize>, Vec<usize>) {
    let (n_removed, n_added) = (removed.len(), added.len());
    if n_removed * n_added <= MAX_PAIRS {
        let rows = laid_out(&pairs(removed, added), n_removed, n_added);
        if has_small_gaps(&rows.0, &rows.1) {
            return rows;
        }
    }
    laid_out(&[], n_removed, n_added)
}

/// Returns the similar ones of the lines `removed` and `added`, as pairs of indices, ascending.
pub(super) fn pairs(removed: &[impl AsRef<str>], added: &[impl AsRef<str>]) -> Vec<(usize, usize)> {
    let old: Vec<_> = removed
        .iter()
        .map(|line| sorted_words(line.as_ref()))
        .collect();
    let new: Vec<_> = added
        .iter()
        .map(|line| sorted_words(line.as_ref()))
        .collect();
    // `best[i][j]` is the greatest sum for the lines from `i` and from `j` on.
    let width = new.len() + 1;
    let mut similar = vec![0; old.len() * new.len()];
    let mut best = vec![0; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            let score = similarity(&old[i], &new[j]);
            similar[i * new.len() + j] = score;
            let pair = if score < LEAST_SIMILAR {
                0
            } else {
                score + best[(i + 1) * width + j + 1]
            };
            let skipped = best[(i + 1) * width + j].max(best[i * width + j + 1]);
            best[i * width + j] = pair.max(skipped);
        }
    }
    let mut pairs = Vec::new();
    let (mut i, mut j) = (0, 0);
    while i < old.len() && j < new.len() {
        let here = best[i * width + j];
        let score = similar[i * new.len() + j];
        if score >= LEAST_SIMILAR && here == score + best[(i + 1) * width + j + 1] {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if here == best[(i + 1) * width + j] {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}

/// Returns the words of `line` in order, as [`similarity`] takes them.
pub(super) fn sorted_words(line: &str) -> Vec<&str> {
    let mut words = words(line);
    words.sort_unstable();
    words
}

/// Returns how many of the characters of two lines are in words that both have, in thousandths. Both
/// are words in order; a line without any is like nothing.
pub(super) fn similarity(one: &[&str], other: &[&str]) -> usize {
    let n_chars = |words: &[&str]| -> usize { words.iter().map(|word| word.len()).sum() };
    let n_all = n_chars(one) + n_chars(other);
    let (mut i, mut j, mut n_same) = (0, 0, 0);
    while i < one.len() && j < other.len() {
        match one[i].cmp(other[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                n_same += one[i].len();
                (i, j) = (i + 1, j + 1);
            }
        }
    }
    (2000 * n_same).checked_div(n_all).unwrap_or(0)
}

/// Returns rows in which `pairs` stand side by side, and the lines between two of them in order. Above
/// the first pair, lines that nothing is added for come first.
fn laid_out(
    pairs: &[(usize, usize)],
    n_removed: usize,
    n_added: usize,
) -> (Vec<usize>, Vec<usize>) {
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    let mut row = 0;
    for &(old, new) in pairs.iter().chain([&(n_removed, n_added)]) {
        let (n_old, n_new) = (old - removed.len(), new - added.len());
        let n_above = if added.is_empty() && n_new > 0 {
            n_old.saturating_sub(n_new)
        } else {
            0
        };
        removed.extend((0..n_old).map(|at| row + at));
        added.extend((0..n_new).map(|at| row + n_above + at));
        row += n_old.max(n_new);
        if old < n_removed || new < n_added {
            removed.push(row);
            added.push(row);
            row += 1;
        }
    }
    (removed, added)
}

/// Returns whether each side has few rows that it lacks, where none of its lines can stand for them.
fn has_small_gaps(removed: &[usize], added: &[usize]) -> bool {
    let n_rows = removed.last().max(added.last()).map_or(0, |row| row + 1);
    // Below the last removed line, added ones stand for the rows, and above the first added one,
    // removed ones.
    let first_added = added.first().copied().unwrap_or(n_rows);
    let largest_gap = |first: usize, rows: &[usize]| {
        let above = std::iter::once(first).chain(rows.iter().map(|row| row + 1));
        above.zip(rows).map(|(above, row)| row - above).max()
    };
    let added_and_end = [added, &[n_rows]].concat();
    largest_gap(0, removed).max(largest_gap(first_added, &added_and_end)) <= Some(MAX_GAP)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::hunk::Line;

    /// Returns the rows of `diff`: what is removed, a bar, and what is added.
    fn shown(diff: &str) -> Vec<String> {
        let line = |text: &str| {
            let (kind, text) = match text.split_at(1) {
                ("-", text) => (LineKind::Removed, text),
                ("+", text) => (LineKind::Added, text),
                (_, text) => (LineKind::Context, text),
            };
            (kind, text.as_bytes().to_vec())
        };
        let lines: Vec<_> = diff.split_inclusive('\n').map(line).collect();
        let hunk = Hunk {
            before: 0..0,
            after: 0..0,
            heading: b"",
            lines: lines
                .iter()
                .map(|(kind, text)| Line { kind: *kind, text })
                .collect(),
            is_open_ended: false,
        };
        let text = |at: usize| String::from_utf8(lines[at].1.trim_ascii().to_vec()).unwrap();
        let mut shown = Vec::new();
        for Block {
            first,
            removed,
            added,
        } in blocks(&hunk)
        {
            let n_rows = removed.last().max(added.last()).unwrap() + 1;
            for row in 0..n_rows {
                let side = |rows: &[usize], first: usize| {
                    let at = rows.iter().position(|at| *at == row);
                    at.map_or(String::new(), |at| text(first + at))
                };
                let old = side(&removed, first);
                let new = side(&added, first + removed.len());
                assert!(!old.is_empty() || !new.is_empty());
                shown.push(format!("{old}|{new}"));
            }
        }
        shown
    }

    #[test]
    fn similar_lines_stand_side_by_side() {
        assert_eq!(
            shown(
                " same\n-let count = 1;\n-print(count);\n+// Counted.\n+let total = 1;\n+print(total);\n"
            ),
            [
                "|// Counted.",
                "let count = 1;|let total = 1;",
                "print(count);|print(total);"
            ]
        );
        assert_eq!(
            shown("-alpha one\n-beta two three\n-gamma four\n+alpha 1 one\n+gamma 4 four\n"),
            [
                "alpha one|alpha 1 one",
                "beta two three|",
                "gamma four|gamma 4 four"
            ]
        );
    }

    #[test]
    fn other_lines_stand_side_by_side_in_order() {
        assert_eq!(shown("-a\n-b\n+c\n+d\n+e\n"), ["a|c", "b|d", "|e"]);
        // What nothing replaces comes first.
        assert_eq!(shown("-a\n-b\n-c\n+d\n"), ["a|", "b|", "c|d"]);
        assert_eq!(shown("-a\n same\n+b\n"), ["a|", "|b"]);
    }

    #[test]
    fn long_gaps_are_at_the_ends() {
        let gone: String = (0..=MAX_GAP).map(|at| format!("-q{at}\n")).collect();
        let diff = format!(
            "-first line here\n{gone}-last line there\n+first line, here\n+last line, there\n"
        );
        let rows = shown(&diff);
        assert_eq!(rows[0], "first line here|");
        assert_eq!(rows[rows.len() - 1], "last line there|last line, there");
        assert_eq!(rows.len(), MAX_GAP + 3);
    }

    #[test]
    fn rows_ascend_and_none_is_empty() {
        let mut state = 7_u64;
        let mut random = move |n: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % n
        };
        for _ in 0..500 {
            let mut line = |sign| {
                let words: Vec<String> = (0..3).map(|_| format!("w{}", random(6))).collect();
                format!("{sign}{}\n", words.join(" "))
            };
            let removed: Vec<String> = (0..7).map(|_| line('-')).collect();
            let added: Vec<String> = (0..9).map(|_| line('+')).collect();
            let (n_old, n_new) = (random(7) as usize, 1 + random(8) as usize);
            let (old, new) = rows(&removed[..n_old], &added[..n_new]);
            assert_eq!((old.len(), new.len()), (n_old, n_new));
            assert!(old.is_sorted_by(|a, b| a < b) && new.is_sorted_by(|a, b| a < b));
            let n_rows = old.last().max(new.last()).unwrap() + 1;
            assert!((0..n_rows).all(|row| old.contains(&row) || new.contains(&row)));
        }
    }
}
