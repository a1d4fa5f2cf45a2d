//! Two texts to hunks.
//!
//! The steps from texts to a diff are [`edits`], [`group`], [`section_headings`], [`hunk`]; each
//! returns a plain value, so that a review can regroup or split without comparing the texts again.
//!
//! Near-identical texts are read side by side and searched only where they differ. Searching is
//! imara-diff's: its histogram, as git's `--histogram`, and Myers' algorithm where most lines
//! recur. Big texts are cut for it into pieces, and of big pieces only lines that both sides have are
//! compared, so with *n* lines that usually takes O(n log n) time and O(n) space; where pieces must be
//! cut blindly, the result is called coarse. Edits are slid to where a reader expects them by git's
//! indent heuristic.

mod indent;
mod lockstep;
mod matcher;
mod search;
mod slide;
mod windows;

use std::ops::Range;

use crate::patch::hunk::{Hunk, Line, LineKind};
use crate::text::Text;
use search::Search;

/// A maximal run of changed lines.
///
/// The edits of two texts are in order, each changes something, and at least one unchanged line
/// stands between two of them.
///
/// ```
/// use agent_q_diff_engine::diff::{Edit, edits};
/// use agent_q_diff_engine::text::Text;
/// let original = Text::new(b"a\nb\nc\n".to_vec());
/// let modified = Text::new(b"a\nB\nc\n".to_vec());
/// assert_eq!(edits(&original, &modified), [Edit { before: 1..2, after: 1..2 }]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Edit {
    /// Lines of the original that are removed (0-based, half-open).
    pub before: Range<usize>,
    /// Lines of the modified text that replace them (0-based, half-open).
    pub after: Range<usize>,
}

impl Edit {
    fn n_lines(&self) -> usize {
        self.before.len() + self.after.len()
    }

    fn is_one_sided(&self) -> bool {
        self.before.is_empty() || self.after.is_empty()
    }

    /// Returns the first `before` and `after` lines.
    fn head(&self, before: usize, after: usize) -> Edit {
        Edit {
            before: self.before.start..self.before.start + before,
            after: self.after.start..self.after.start + after,
        }
    }

    /// Returns the first lines, up to `len` on each side.
    fn first(&self, len: usize) -> Edit {
        self.head(self.before.len().min(len), self.after.len().min(len))
    }

    /// Returns the lines of `hunk`, which is counted from the first ones.
    fn part(&self, hunk: &imara_diff::Hunk) -> Edit {
        let above = self.head(hunk.before.end as usize, hunk.after.end as usize);
        above.below(hunk.before.start as usize, hunk.after.start as usize)
    }

    /// Returns what is below the first `before` and `after` lines.
    fn below(&self, before: usize, after: usize) -> Edit {
        Edit {
            before: self.before.start + before..self.before.end,
            after: self.after.start + after..self.after.end,
        }
    }
}

/// The edits that turn one text into another.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// The edits, in order.
    pub edits: Vec<Edit>,
    /// Whether the budget did not suffice, so that edits may be bigger than necessary, or not be
    /// where a reader expects them. They lead to the modified text even so.
    pub is_coarse: bool,
}

impl Comparison {
    /// Adds an edit, which is joined with the last one if no line is between them.
    fn push(&mut self, edit: Edit) {
        match self.edits.last_mut() {
            Some(last)
                if last.before.end == edit.before.start && last.after.end == edit.after.start =>
            {
                last.before.end = edit.before.end;
                last.after.end = edit.after.end;
            }
            _ => self.edits.extend((edit.n_lines() > 0).then_some(edit)),
        }
    }

    /// Adds the edits of what is below.
    fn append(&mut self, below: Comparison) {
        below.edits.into_iter().for_each(|edit| self.push(edit));
        self.is_coarse |= below.is_coarse;
    }
}

/// About the largest number of steps of a comparison, a few nanoseconds each.
///
/// The engine has no clock, and no key interrupts it. A search of lines that hardly match takes for
/// each line up to as many steps as there are lines on a side, but not much more than a thousand.
/// So the more lines differ, the fewer are compared at once.
///
/// Splitting texts into lines, numbering these and reading them side by side is not counted, since
/// it takes linear time.
///
/// ```
/// use agent_q_diff_engine::diff::{Budget, edits_within};
/// use agent_q_diff_engine::text::Text;
/// let original = Text::new(b"a\nb\nc\nb\na\n".to_vec());
/// let modified = Text::new(b"c\nb\nb\na\nc\n".to_vec());
/// let found = edits_within(&original, &modified, Budget(0));
/// assert!(found.is_coarse);
/// assert_eq!(found.edits.len(), 1);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Budget(pub u64);

impl Default for Budget {
    /// Keeps texts of 10 MB under a second.
    fn default() -> Budget {
        Budget(64_000_000)
    }
}

/// Largest number of lines on each side that are compared at once.
const MAX_WINDOW: usize = 1 << 13;

/// Smallest number of lines on each side that are compared at once: comparing fewer would take less
/// time than setting the comparison up.
const MIN_WINDOW: usize = 1 << 5;

/// Steps for each line that suffice for windows of any length.
const ENOUGH: usize = 1 << 10;

/// One part in this many of a budget is for sliding edits to their best places.
const SLIDING: u64 = 16;

impl Budget {
    /// Returns half of the budget, for one of the two comparisons of an operation.
    pub(crate) fn half(self) -> Budget {
        Budget(self.0 / 2)
    }

    /// Returns the part of the budget for `n_lines` of `n_all`.
    fn share(self, n_lines: usize, n_all: usize) -> Budget {
        let share = u128::from(self.0) * n_lines as u128 / n_all.max(1) as u128;
        Budget(u64::try_from(share).unwrap_or(u64::MAX))
    }

    /// Returns how many lines on each side may be compared at once, of `n_lines` that differ.
    fn window(self, n_lines: usize) -> usize {
        match usize::try_from(self.0).unwrap_or(usize::MAX) / n_lines.max(1) {
            n_steps if n_steps < MIN_WINDOW => 0,
            n_steps if n_steps < ENOUGH => n_steps,
            _ => MAX_WINDOW,
        }
    }
}

/// Returns the edits that turn `original` into `modified`; see [`edits_within`].
pub fn edits(original: &Text, modified: &Text) -> Vec<Edit> {
    edits_within(original, modified, Budget::default()).edits
}

/// Compares `original` with `modified` as well as `budget` allows.
///
/// Lines are compared with their terminators: `x` and `x\n` differ, as do `x\n` and `x\r\n`. The
/// same texts and the same budget always give the same edits.
pub fn edits_within(original: &Text, modified: &Text, budget: Budget) -> Comparison {
    let whole = Edit {
        before: 0..original.len(),
        after: 0..modified.len(),
    };
    let whole = without_equal_ends(original, modified, whole);
    let found = lockstep::edits(original, modified, &whole, budget).unwrap_or_else(|| {
        let mut search = Search::new(original, modified);
        search.compare(whole, budget);
        search.finish()
    });
    let mut n_steps = i64::try_from(budget.0 / SLIDING).unwrap_or(i64::MAX);
    let edits = slide::settled(original, modified, &found.edits, &mut n_steps);
    Comparison {
        edits,
        is_coarse: found.is_coarse || n_steps < 0,
    }
}

/// Returns `edit` without the lines at its head and tail that are equal on both sides.
fn without_equal_ends(original: &Text, modified: &Text, edit: Edit) -> Edit {
    let Edit { before, after } = edit.clone();
    let n_same = original.equal_head(before, modified, after);
    let rest = edit.below(n_same, n_same);
    let Edit { before, after } = rest.clone();
    let n_same = original.equal_tail(before, modified, after);
    rest.head(rest.before.len() - n_same, rest.after.len() - n_same)
}

/// Edits that are shown together under one hunk header.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Group {
    /// Indices into the edits.
    pub edits: Range<usize>,
    /// Lines of the original, context included.
    pub before: Range<usize>,
    /// Lines of the modified text, context included.
    pub after: Range<usize>,
}

/// Groups `edits` of an original of `original_len` lines, with up to `context_len` unchanged lines
/// around each.
///
/// Edits that at most twice `context_len` unchanged lines separate are one group, as in GNU diff
/// and git: their contexts touch or overlap.
pub fn group(edits: &[Edit], original_len: usize, context_len: usize) -> Vec<Group> {
    let near = |a: &Edit, b: &Edit| b.before.start - a.before.end <= context_len.saturating_mul(2);
    let mut groups = Vec::new();
    let mut first = 0;
    for run in edits.chunk_by(near) {
        let range = first..first + run.len();
        first = range.end;
        groups.push(with_context(range, run, original_len, context_len));
    }
    groups
}

/// Returns the group of `run`, which is not empty and stands at `range` among the edits.
fn with_context(
    range: Range<usize>,
    run: &[Edit],
    original_len: usize,
    context_len: usize,
) -> Group {
    let (first, last) = (&run[0], &run[run.len() - 1]);
    // Unchanged lines have as many lines around them on both sides, so one count serves both.
    let lead = context_len.min(first.before.start);
    let trail = context_len.min(original_len - last.before.end);
    Group {
        edits: range,
        before: first.before.start - lead..last.before.end + trail,
        after: first.after.start - lead..last.after.end + trail,
    }
}

/// Which lines serve as section headings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HeadingRule {
    /// git's rule for files that it has no better one for: a line that starts with an ASCII
    /// letter, `_` or `$`.
    Default,
    /// A line that starts with an open parenthesis: where Emacs takes a top-level form to begin
    /// (`open-paren-in-column-0-is-defun-start`). git's own driver for Scheme misses forms whose
    /// names it does not list.
    Lisp,
}

impl HeadingRule {
    fn matches(self, line: &[u8]) -> bool {
        let Some(&first) = line.first() else {
            return false;
        };
        match self {
            HeadingRule::Default => first.is_ascii_alphabetic() || first == b'_' || first == b'$',
            HeadingRule::Lisp => first == b'(',
        }
    }
}

/// Longest section heading, in bytes, as in git.
const HEADING_LEN: usize = 80;

/// Returns the section heading of each of `groups`: the nearest line of `original` above the
/// group that `rule` takes, or nothing.
///
/// Each search goes back no farther than the group before, whose heading then applies again. So
/// every line is read at most once.
pub fn section_headings<'a>(
    original: &'a Text,
    groups: &[Group],
    rule: HeadingRule,
) -> Vec<&'a [u8]> {
    let mut heading: &[u8] = b"";
    let mut searched = 0;
    let mut headings = Vec::with_capacity(groups.len());
    for group in groups {
        let start = group.before.start;
        if let Some(found) = heading_in(original, searched..start, rule) {
            heading = found;
        }
        searched = start;
        headings.push(heading);
    }
    headings
}

fn heading_in(original: &Text, range: Range<usize>, rule: HeadingRule) -> Option<&[u8]> {
    let line = original.lines(range).rfind(|line| rule.matches(line))?;
    Some(cut(line).trim_ascii_end())
}

/// Returns at most [`HEADING_LEN`] bytes of `line`, whole characters if it is UTF-8.
///
/// git cuts inside a character, and the terminal then shows a replacement character.
fn cut(line: &[u8]) -> &[u8] {
    let is_boundary = |&at: &usize| line[at] & 0b1100_0000 != 0b1000_0000;
    match line.len() {
        // A character has at most four bytes. Where no boundary is near, the line is not UTF-8.
        len if len > HEADING_LEN => {
            let near = HEADING_LEN - 3..=HEADING_LEN;
            &line[..near.rev().find(is_boundary).unwrap_or(HEADING_LEN)]
        }
        _ => line,
    }
}

/// Returns the hunk of `group`, which [`group`](fn@group) made of `edits`.
pub fn hunk<'a>(
    group: &Group,
    edits: &[Edit],
    original: &'a Text,
    modified: &'a Text,
    heading: &'a [u8],
) -> Hunk<'a> {
    let mut lines = Vec::with_capacity(group.before.len() + group.after.len());
    let mut push = |kind, text: &'a Text, range| {
        lines.extend(text.lines(range).map(|text| Line { kind, text }));
    };
    let mut shown = group.before.start;
    for edit in &edits[group.edits.clone()] {
        push(LineKind::Context, original, shown..edit.before.start);
        push(LineKind::Removed, original, edit.before.clone());
        push(LineKind::Added, modified, edit.after.clone());
        shown = edit.before.end;
    }
    push(LineKind::Context, original, shown..group.before.end);
    Hunk {
        before: group.before.clone(),
        after: group.after.clone(),
        heading,
        lines,
        is_open_ended: false,
    }
}

#[cfg(test)]
mod tests;
