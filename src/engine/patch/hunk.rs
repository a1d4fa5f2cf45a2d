//! Hunks, their ranges and their headers.
//!
//! Only this file deals with 1-based line numbers and with the empty-range rule of unified diffs:
//! an empty range is written with the number of the line *before* it (POSIX diff, "Diff Unified
//! Output Format"). Everywhere else line ranges are 0-based and half-open.

use std::ops::Range;

/// The kind of a line in a hunk.
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
    /// Which of the two images the line is in.
    pub kind: LineKind,
    /// The line, with its terminator but without the sign in front of it.
    pub text: &'a [u8],
}

/// A contiguous block of changes with its context, under one `@@` header.
///
/// It has `before.len()` context and removed lines, and `after.len()` context and added lines;
/// [`crate::patch::parse`] refuses a text in which these differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk<'a> {
    /// Lines of the original that the hunk spans, context included.
    pub before: Range<usize>,
    /// Lines of the modified text that the hunk spans, context included.
    pub after: Range<usize>,
    /// Section heading: the text after the second `@@`, without the space before it or trailing
    /// white space; empty if there is none.
    pub heading: &'a [u8],
    /// The lines in the order of the diff: removed before added within a run of changes.
    pub lines: Vec<Line<'a>>,
    /// Whether the diff text ended without a newline in the middle of the last line, so that nobody
    /// knows whether that line has a terminator. If so, its `text` has none.
    pub is_open_ended: bool,
}

impl Hunk<'_> {
    /// Returns the lines that the hunk expects (context and removed), in order.
    pub fn pre_image(&self) -> impl Iterator<Item = &[u8]> {
        self.side(LineKind::Removed)
    }

    /// Returns the lines that the hunk leaves (context and added), in order.
    pub fn post_image(&self) -> impl Iterator<Item = &[u8]> {
        self.side(LineKind::Added)
    }

    fn side(&self, own: LineKind) -> impl Iterator<Item = &[u8]> {
        let on_side = move |line: &&Line| line.kind == LineKind::Context || line.kind == own;
        self.lines.iter().filter(on_side).map(|line| line.text)
    }
}

/// Formats `range` for a hunk header: `START,LEN`, 1-based. `,LEN` is omitted if the length is 1,
/// and an empty range names the line before it.
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

/// Returns the 0-based range for the 1-based `start` and the `len` in a hunk header, or `None` if
/// the range would begin before the first line or end past `usize::MAX`.
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
