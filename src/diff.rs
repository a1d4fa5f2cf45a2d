//! Two texts to hunks.
//!
//! The way from texts to a diff is [`edits`], [`group`], [`section_headings`], [`hunk`]; each step
//! is a plain value, so that a review can regroup or split without comparing the texts again.
//!
//! Edits come from imara-diff's histogram algorithm, slid to where a reader expects them by git's
//! indent heuristic. With *n* lines in the part that differs, all of it takes O(n log n) time and
//! O(n) space. Where two big texts have next to nothing in common but repeated lines, the answer is
//! coarse: one edit of everything between the places where they do agree.

mod parts;
mod slide;

use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput};

use crate::hunk::{Hunk, Line, LineKind};
use crate::text::Text;
use parts::Limits;
use slide::IndentHeuristic;

/// A maximal run of changed lines.
///
/// The edits of two texts are in order, each changes something, and at least one unchanged line
/// stands between two of them.
///
/// ```
/// use agent_q_diff::diff::{Edit, edits};
/// use agent_q_diff::text::Text;
/// let original = Text::new(b"a\nb\nc\n".to_vec());
/// let modified = Text::new(b"a\nB\nc\n".to_vec());
/// assert_eq!(edits(&original, &modified), [Edit { before: 1..2, after: 1..2 }]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Edit {
    /// Lines of the original that go (0-based, half-open).
    pub before: Range<usize>,
    /// Lines of the modified text that come in their place.
    pub after: Range<usize>,
}

/// Lines of the equal head and tail that take part in the comparison although they are equal.
///
/// An edit can often stand in several places that give the same text: `}` and the blank line of a
/// new function belong to it or to its neighbor. git weighs up to 100 of them
/// (`INDENT_HEURISTIC_MAX_SLIDING`), and for each it looks past up to 20 blank lines
/// (`MAX_BLANKS`). Cutting the texts where they first differ would pin every edit to that line.
const SLIDE_ROOM: usize = slide::MAX_SLIDING + slide::MAX_BLANKS + 1;

impl Edit {
    fn n_lines(&self) -> usize {
        self.before.len() + self.after.len()
    }
}

/// Returns what changes `original` to `modified`.
///
/// Lines are compared with their terminators: `x` and `x\n` differ, as do `x\n` and `x\r\n`. The
/// same texts always give the same edits.
pub fn edits(original: &Text, modified: &Text) -> Vec<Edit> {
    edits_within(original, modified, Limits::USUAL)
}

fn edits_within(original: &Text, modified: &Text, limits: Limits) -> Vec<Edit> {
    let whole = Edit {
        before: 0..original.len(),
        after: 0..modified.len(),
    };
    let changed = without_equal_ends(original, modified, whole, SLIDE_ROOM);
    let mut edits = Vec::new();
    for part in parts::parts(original, modified, changed, limits) {
        let part = without_equal_ends(original, modified, part, SLIDE_ROOM);
        if part.n_lines() <= limits.max_len {
            edits.extend(edits_of_part(original, modified, part));
        } else {
            edits.push(without_equal_ends(original, modified, part, 0));
        }
    }
    edits
}

/// Returns `part`, a pair of line ranges, without those lines at its head and its tail that are
/// the same on both sides, but for up to `room` lines at each end.
///
/// Comparing memory is many times cheaper than hashing lines, and most proposals leave most of a
/// file alone.
fn without_equal_ends(original: &Text, modified: &Text, part: Edit, room: usize) -> Edit {
    let Edit { before, after } = part;
    let lines = || {
        original
            .lines(before.clone())
            .zip(modified.lines(after.clone()))
    };
    let head = lines().take_while(|(a, b)| a == b).count();
    let shorter = before.len().min(after.len());
    let tails = (original.lines(before.clone()).rev()).zip(modified.lines(after.clone()).rev());
    let tails = tails.take(shorter - head);
    let tail = tails.take_while(|(a, b)| a == b).count();
    let (head, tail) = (head.saturating_sub(room), tail.saturating_sub(room));
    Edit {
        before: before.start + head..before.end - tail,
        after: after.start + head..after.end - tail,
    }
}

fn edits_of_part(original: &Text, modified: &Text, part: Edit) -> Vec<Edit> {
    let mut input = InternedInput::<&[u8]>::default();
    input.update_before(original.lines(part.before.clone()));
    input.update_after(modified.lines(part.after.clone()));
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_with_heuristic(&input, IndentHeuristic::new(&input));
    let from = |start, range: Range<u32>| start + range.start as usize..start + range.end as usize;
    let to_edit = |hunk: imara_diff::Hunk| Edit {
        before: from(part.before.start, hunk.before),
        after: from(part.after.start, hunk.after),
    };
    let trimmed = |edit| without_equal_ends(original, modified, edit, 0);
    // Slid into each other, what goes and what comes can be the same lines.
    let edits = diff.hunks().map(to_edit).map(trimmed);
    edits.filter(|edit| edit.n_lines() > 0).collect()
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
/// A search goes back no farther than to the group before, whose heading then serves again. So all
/// together read each line once.
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

/// Returns the section heading of a hunk whose first line is line `before_start` of `original`.
///
/// Reads back to the start of the text if need be; for many hunks use [`section_headings`].
pub fn section_heading(original: &Text, before_start: usize, rule: HeadingRule) -> &[u8] {
    heading_in(original, 0..before_start, rule).unwrap_or_default()
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
mod tests {
    use super::*;

    /// Four thousand small pairs of texts with lines that recur and lines that do not.
    fn pairs() -> impl Iterator<Item = (Text, Text)> {
        let mut state = 1_u64;
        let mut next = move |n: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % n
        };
        (0..4000).map(move |_| {
            let mut text = || {
                let lines = (0..next(40)).map(|at| match next(3) {
                    0 => format!("{}\n", next(3)),
                    _ => format!("line {}\n", at + next(4)),
                });
                Text::new(lines.collect::<String>().into_bytes())
            };
            (text(), text())
        })
    }

    #[test]
    fn texts_compared_in_parts_give_exact_edits_that_are_apart() {
        let limits = Limits {
            part_len: 4,
            max_len: 12,
        };
        for (original, modified) in pairs() {
            let edits = edits_within(&original, &modified, limits);
            let mut result = Vec::new();
            let mut done = 0;
            for edit in &edits {
                assert!(edit.n_lines() > 0);
                assert!(edit.before.start > done || done == 0, "{edits:?}");
                result.extend_from_slice(original.lines_bytes(done..edit.before.start));
                result.extend_from_slice(modified.lines_bytes(edit.after.clone()));
                done = edit.before.end;
            }
            result.extend_from_slice(original.lines_bytes(done..original.len()));
            assert_eq!(result, modified.bytes());
        }
    }

    #[test]
    fn big_texts_without_a_common_order_are_one_edit() {
        let original = Text::new(b"a\nb\n".repeat(30_000));
        let modified = Text::new(b"b\na\n".repeat(30_000));
        assert_eq!(edits(&original, &modified).len(), 1);
    }
}
