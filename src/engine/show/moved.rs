//! Code that moved: blocks of lines that are removed in one place and added in another.
//!
//! A block is a run of added lines that equals a run of removed ones, byte by byte, as long as
//! possible: what has another margin, or a change inside, is not only moved, and is shown like any
//! other change. Lines that a run of changes both removes and adds have not left it, and do not move.
//! As in `git diff --color-moved=zebra`, a block counts only if it has at least 20 letters and
//! digits, so that closing brackets are not said to move.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::patch::hunk::{Hunk, LineKind};

use super::alike::Place;

/// Fewest letters and digits of a block, as in git's `diff.c` (`COLOR_MOVED_MIN_ALNUM_COUNT`).
const MIN_ALNUM: usize = 20;

/// Most places of the same line that are tried as the beginning of a block.
const MAX_TRIED: usize = 50;

/// A line that is added or removed.
struct Changed<'a> {
    /// Its text, with its terminator.
    text: &'a [u8],
    hunk: usize,
    /// Which of the changed lines of the hunk it is.
    at: usize,
    /// Its line in its text.
    line: usize,
    /// Which run of changed lines of the hunk it is in.
    run: usize,
}

/// Returns the blocks that moved, each with the place where it was removed and the one where it was
/// added, in the order of the latter.
pub fn blocks(hunks: &[Hunk]) -> Vec<[Place; 2]> {
    let removed = changed(hunks, LineKind::Removed);
    let added = changed(hunks, LineKind::Added);
    let mut where_removed: HashMap<&[u8], Vec<usize>> = HashMap::new();
    for (at, line) in removed.iter().enumerate() {
        where_removed.entry(line.text).or_default().push(at);
    }
    let mut taken = HashSet::new();
    let mut found: Vec<(Range<usize>, Range<usize>)> = Vec::new();
    let mut at = 0;
    while at < added.len() {
        let text = added[at].text;
        let starts = where_removed.get(text);
        let starts = starts.filter(|_| !text.trim_ascii().is_empty());
        let starts = starts.into_iter().flatten().take(MAX_TRIED);
        let is_here = |start: &usize| {
            let (old, new) = (&removed[*start], &added[at]);
            (old.hunk, old.run) == (new.hunk, new.run)
        };
        let lens = starts
            .filter(|start| !taken.contains(*start) && !is_here(start))
            .map(|&start| (len_of(&removed, start, &added, at, &taken), start));
        // Of several, the first longest.
        let longest = lens.max_by_key(|&(len, start)| (len, std::cmp::Reverse(start)));
        let Some((len, start)) = longest.filter(|&(len, _)| len > 0) else {
            at += 1;
            continue;
        };
        taken.extend(start..start + len);
        found.push((start..start + len, at..at + len));
        at += len;
    }
    let counts = found.into_iter().filter(|(_, new)| {
        let lines = &added[new.clone()];
        let n_alnum = lines.iter().flat_map(|line| line.text);
        let n_alnum = n_alnum.filter(|byte| byte.is_ascii_alphanumeric()).count();
        n_alnum >= MIN_ALNUM
    });
    let blocks = counts.map(|(old, new)| [place(hunks, &removed[old]), place(hunks, &added[new])]);
    blocks.collect()
}

fn changed<'a>(hunks: &[Hunk<'a>], kind: LineKind) -> Vec<Changed<'a>> {
    let mut changed = Vec::new();
    for (index, hunk) in hunks.iter().enumerate() {
        let start = if kind == LineKind::Removed {
            hunk.before.start
        } else {
            hunk.after.start
        };
        let (mut line, mut at, mut run) = (start, 0, 0);
        for each in &hunk.lines {
            run += usize::from(each.kind == LineKind::Context);
            if each.kind == kind {
                changed.push(Changed {
                    text: each.text,
                    hunk: index,
                    at,
                    line,
                    run,
                });
            }
            line += usize::from(each.kind == kind || each.kind == LineKind::Context);
            at += usize::from(each.kind != LineKind::Context);
        }
    }
    changed
}

/// Returns whether the line `at` follows the one before it in the same run of `lines`.
fn follows(lines: &[Changed], at: usize) -> bool {
    let (above, line) = (&lines[at - 1], &lines[at]);
    (above.hunk, above.at + 1, above.line + 1) == (line.hunk, line.at, line.line)
}

/// Returns how many lines of `removed` from `start` on equal those of `added` from `at` on.
fn len_of(
    removed: &[Changed],
    start: usize,
    added: &[Changed],
    at: usize,
    taken: &HashSet<usize>,
) -> usize {
    let mut len = 0;
    while start + len < removed.len()
        && at + len < added.len()
        && !taken.contains(&(start + len))
        && (len == 0 || follows(removed, start + len) && follows(added, at + len))
        && removed[start + len].text == added[at + len].text
    {
        len += 1;
    }
    len
}

fn place(hunks: &[Hunk], lines: &[Changed]) -> Place {
    let (first, last) = (&lines[0], &lines[lines.len() - 1]);
    let changes = hunks[first.hunk].lines.iter();
    let n_changed = changes
        .filter(|line| line.kind != LineKind::Context)
        .count();
    Place {
        hunk: first.hunk,
        lines: first.at..last.at + 1,
        is_whole: last.at + 1 - first.at == n_changed,
        line: first.line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::HeadingRule;
    use crate::proposal::Proposal;

    /// Returns the blocks that move between `old` and `new`: (line, lines) removed and added.
    fn shown(old: &str, new: &str) -> Vec<String> {
        let proposal =
            Proposal::from_texts(old.as_bytes().to_vec(), new.as_bytes().to_vec(), 3).unwrap();
        let hunks = proposal.hunks(HeadingRule::Default);
        let shown = blocks(&hunks).into_iter().map(|[old, new]| {
            format!(
                "{}+{} to {}+{}",
                old.line,
                old.lines.len(),
                new.line,
                new.lines.len()
            )
        });
        shown.collect()
    }

    fn lines(range: Range<usize>) -> String {
        range.map(|n| format!("some code on line {n};\n")).collect()
    }

    #[test]
    fn a_block_moves_but_not_with_another_margin() {
        let block = "fn f() {\n    one();\n    another();\n    third(1, 2);\n}\n";
        let old = format!("{}{block}{}", lines(0..20), lines(20..40));
        let new = format!("{}{}{block}", lines(0..20), lines(20..40));
        assert_eq!(shown(&old, &new), ["20+5 to 40+5"]);
        let indented: String = block.lines().map(|line| format!("  {line}\n")).collect();
        let new = format!("{}{}{indented}", lines(0..20), lines(20..40));
        assert!(shown(&old, &new).is_empty());
        // In Python, it is another branch that ends with the last line.
        let (block, other) = (
            "    if is_owner:\n        check_the_permission()\n        return True\n",
            "    if is_owner:\n        check_the_permission()\n    return True\n",
        );
        let old = format!("{block}{}", lines(0..30));
        let new = format!("{}{other}", lines(0..30));
        assert_eq!(shown(&old, &new), ["0+2 to 30+2"]);
    }

    #[test]
    fn lines_that_are_only_indented_do_not_move() {
        let indented: String = lines(0..10)
            .lines()
            .map(|line| format!("  {line}\n"))
            .collect();
        assert!(shown(&lines(0..10), &indented).is_empty());
    }

    #[test]
    fn what_changes_inside_a_block_has_not_moved() {
        let block = lines(100..110);
        let old = format!("{block}{}", lines(0..30));
        let with = |new: &str| shown(&old, &format!("{}{new}", lines(0..30)));
        assert_eq!(
            with(&block.replace("line 104", "row 104")),
            ["0+4 to 30+4", "5+5 to 35+5"]
        );
        assert_eq!(
            with(&block.replace("some code on line 104;\n", "")),
            ["0+4 to 30+4", "5+5 to 34+5"]
        );
        assert_eq!(
            with(&block.replace("line 104;\n", "line 104;\nos.system(rm)\n")),
            ["0+5 to 30+5", "5+5 to 36+5"]
        );
        assert_eq!(
            with(&block.replace("line 104;\n", "line 104;\r\n")),
            ["0+4 to 30+4", "5+5 to 35+5"]
        );
    }

    #[test]
    fn brackets_do_not_move_but_a_long_line_does() {
        let old = format!("}}\n\n}}\n);\n{}", lines(0..30));
        let new = format!("{}}}\n\n}}\n);\n", lines(0..30));
        assert!(shown(&old, &new).is_empty());
        let old = format!("a line of its own, quite long\n{}", lines(0..30));
        let new = format!("{}a line of its own, quite long\n", lines(0..30));
        assert_eq!(shown(&old, &new), ["0+1 to 30+1"]);
    }

    #[test]
    fn a_block_among_other_changed_lines_is_found() {
        let block = lines(100..105);
        let old = format!("gone\n{block}gone too\n{}", lines(0..30));
        let new = format!("{}new\n{block}", lines(0..30));
        assert_eq!(shown(&old, &new), ["1+5 to 31+5"]);
    }
}
