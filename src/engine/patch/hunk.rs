//! Hunks, their ranges and their headers.
//!
//! This is the only home of 1-based line numbers and of the empty-range rule of unified diffs: a
//! range of no lines is written with the number of the line *before* it (POSIX diff, "Diff Unified
//! Output Format"). Everywhere else line ranges are 0-based and half-open.

use std::ops::Range;

/// What a line of a hunk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LineKind {
    /// In the pre-image and in the post-image.
    Context,
    /// In the pre-image only.
    Removed,
    /// In the post-image only.
    Added,
}

/// One line of a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Line<'a> {
    /// Which side or sides the line is on.
    pub kind: LineKind,
    /// The line with its terminator and without the sign in front of it.
    pub text: &'a [u8],
}

/// A contiguous block of changes with its context, under one `@@` header.
///
/// The number of context and removed lines equals `before.len()`, that of context and added lines
/// `after.len()`; [`crate::patch::parse`] refuses a text where they differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk<'a> {
    /// Lines of the original that the hunk spans, context included.
    pub before: Range<usize>,
    /// Lines of the modified text that the hunk spans, context included.
    pub after: Range<usize>,
    /// Section heading: the text after the second `@@`, without the space before it and without
    /// white space at its end; empty if there is none.
    pub heading: &'a [u8],
    /// The lines in the order of the diff: removed before added within a run of changes.
    pub lines: Vec<Line<'a>>,
    /// Whether the text of the diff ended in the middle of the last line, so that it is not known
    /// whether that line has a terminator. Its `text` is then without one.
    pub is_open_ended: bool,
}

impl Hunk<'_> {
    /// Returns the lines that the hunk expects, in order.
    pub fn pre_image(&self) -> impl Iterator<Item = &[u8]> {
        self.side(LineKind::Removed)
    }

    /// Returns the lines that the hunk leaves, in order.
    pub fn post_image(&self) -> impl Iterator<Item = &[u8]> {
        self.side(LineKind::Added)
    }

    fn side(&self, own: LineKind) -> impl Iterator<Item = &[u8]> {
        let on_side = move |line: &&Line| line.kind == LineKind::Context || line.kind == own;
        self.lines.iter().filter(on_side).map(|line| line.text)
    }
}

/// Returns `range` as a hunk header writes it: `START,LEN`, 1-based; `,LEN` is left out when it
/// is 1; a range of no lines names the line before it.
///
/// ```
/// use agent_q_diff_engine::patch::hunk::header_range;
/// assert_eq!(header_range(&(4..7)), "5,3");
/// assert_eq!(header_range(&(4..5)), "5");
/// assert_eq!(header_range(&(4..4)), "4,0");
/// ```
pub fn header_range(range: &Range<usize>) -> String {
    match range.len() {
        1 => format!("{}", range_start(range)),
        len => format!("{},{len}", range_start(range)),
    }
}

/// Returns the 1-based number that a hunk header writes for the start of `range`.
pub(crate) fn range_start(range: &Range<usize>) -> usize {
    range.start + usize::from(!range.is_empty())
}

/// Returns the 0-based range that a hunk header states as 1-based `start` and `len`, or `None` if
/// it states a line before the first or one past the largest number that fits.
pub(crate) fn range_from_header(start: usize, len: usize) -> Option<Range<usize>> {
    let first = if len == 0 {
        start
    } else {
        start.checked_sub(1)?
    };
    Some(first..first.checked_add(len)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_no_lines_starts_at_the_line_before_it() {
        assert_eq!(range_start(&(4..7)), 5);
        assert_eq!(range_start(&(4..4)), 4);
    }
}
