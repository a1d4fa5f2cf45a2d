//! Merges three texts into one: the original with the user's changes and the proposal's.
//!
//! The algorithm is that of GNU diff3 ("A Formal Investigation of Diff3", Khanna, Kunal and Pierce
//! 2007): both texts are compared with the original, and edits of the two sides that overlap or
//! touch form one region. If only one side changed a region, or both changed it in the same way,
//! the merge takes that change. Otherwise all three versions go between conflict markers, in the
//! format of `git merge-file --diff3`, which Emacs's `smerge-mode` understands.
//!
//! Takes the time of two comparisons, each within a third of the budget, plus O(bytes).

use std::ops::Range;

use crate::diff::{self, Budget, Comparison, Edit};
use crate::text::{Text, is_unterminated};

/// The result of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// The text; with conflict markers unless `is_clean`.
    pub bytes: Vec<u8>,
    /// Whether there is no conflict.
    pub is_clean: bool,
    /// Whether a budget did not suffice for a comparison. Conflicts may then be larger than necessary, but
    /// whatever was merged without a conflict is still right.
    pub is_coarse: bool,
}

/// Merges the changes from `original` to `live` with those from `original` to `modified`; see
/// [`merge_within`].
///
/// ```
/// use agent_q_diff_engine::merge::merge;
/// let merged = merge(b"a\nb\nc\n", b"A\nb\nc\n", b"a\nb\nC\n");
/// assert!(merged.is_clean);
/// assert_eq!(merged.bytes, b"A\nb\nC\n");
/// ```
pub fn merge(original: &[u8], live: &[u8], modified: &[u8]) -> Merged {
    merge_within(original, live, modified, Budget::default())
}

/// Merges the changes from `original` to `live` with those from `original` to `modified`, as finely
/// as `budget` allows. The same texts and budget always give the same result.
///
/// Conflict markers call `live` "ours" and `modified` "theirs". Each marker is on a line of its
/// own: if the line before it has no newline, it gets one.
pub fn merge_within(original: &[u8], live: &[u8], modified: &[u8], budget: Budget) -> Merged {
    merge_with(original, live, modified, budget, Conflicts::Marked)
}

/// Merges as [`merge`] does; where both changed the same lines, the lines of `live` stand there and
/// below them those of `modified`, unless they are there already, without markers. So no line that
/// either of them has added is missing.
///
/// ```
/// use agent_q_diff_engine::merge::union;
/// assert_eq!(union(b"a\nb\n", b"a\nmine\n", b"A\nb\n"), b"a\nmine\nA\nb\n");
/// ```
pub fn union(original: &[u8], live: &[u8], modified: &[u8]) -> Vec<u8> {
    merge_with(original, live, modified, Budget::default(), Conflicts::Both).bytes
}

/// What a merge has where both changed the same lines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Conflicts {
    /// All three versions, between markers.
    Marked,
    /// The lines of both, one below the other.
    Both,
}

fn merge_with(
    original: &[u8],
    live: &[u8],
    modified: &[u8],
    budget: Budget,
    conflicts: Conflicts,
) -> Merged {
    let [original, live, modified] =
        [original, live, modified].map(|bytes| Text::new(bytes.to_vec()));
    // The last third of the time goes into splitting the texts and assembling the result.
    let each = Budget(budget.0 / 3);
    let ours = diff::edits_within(&original, &live, each);
    let theirs = diff::edits_within(&original, &modified, each);
    let is_coarse = ours.is_coarse || theirs.is_coarse;
    let mut merging = Merging {
        original: &original,
        ours: Side::new(&live, &ours),
        theirs: Side::new(&modified, &theirs),
        conflicts,
        merged: Merged {
            bytes: Vec::new(),
            is_clean: true,
            is_coarse,
        },
    };
    merging.run();
    merging.merged
}

/// One side's changes to the original.
struct Side<'a> {
    text: &'a Text,
    edits: &'a [Edit],
    /// How many of the edits have been merged.
    n_merged: usize,
}

impl<'a> Side<'a> {
    fn new(text: &'a Text, found: &'a Comparison) -> Side<'a> {
        Side {
            text,
            edits: &found.edits,
            n_merged: 0,
        }
    }

    /// Returns the next edit to merge.
    fn next(&self) -> Option<&'a Edit> {
        self.edits.get(self.n_merged)
    }

    /// If the next edit begins at or before line `end` of the original, takes it into the region
    /// that ends there, and returns where the region then ends.
    fn next_up_to(&mut self, end: usize) -> Option<usize> {
        let edit = self.next().filter(|edit| edit.before.start <= end)?;
        self.n_merged += 1;
        Some(end.max(edit.before.end))
    }

    /// Returns this side's lines for `region` of the original, which contains exactly its edits
    /// from index `first` up to the next one to merge.
    fn lines(&self, region: &Range<usize>, first: usize) -> &'a [u8] {
        let line = |edits: &[Edit], line: usize| {
            let above = edits
                .last()
                .map_or((0, 0), |edit| (edit.before.end, edit.after.end));
            above.1 + (line - above.0)
        };
        let start = line(&self.edits[..first], region.start);
        let end = line(&self.edits[..self.n_merged], region.end);
        self.text.lines_bytes(start..end)
    }
}

struct Merging<'a> {
    original: &'a Text,
    ours: Side<'a>,
    theirs: Side<'a>,
    conflicts: Conflicts,
    merged: Merged,
}

impl Merging<'_> {
    fn run(&mut self) {
        let mut done = 0;
        loop {
            let (ours, theirs) = (self.ours.n_merged, self.theirs.n_merged);
            let Some(region) = self.next_region() else {
                break;
            };
            self.push(self.original.lines_bytes(done..region.start));
            done = region.end;
            self.push_region(&region, ours, theirs);
        }
        self.push(self.original.lines_bytes(done..self.original.len()));
    }

    /// Returns the next region of the original: the lines of the next edit of either side, and of
    /// all edits that overlap or touch the region as it grows.
    fn next_region(&mut self) -> Option<Range<usize>> {
        let next = [self.ours.next(), self.theirs.next()];
        let starts = next.into_iter().flatten().map(|edit| edit.before.start);
        let start = starts.min()?;
        let mut end = start;
        while let Some(more) = None
            .or_else(|| self.ours.next_up_to(end))
            .or_else(|| self.theirs.next_up_to(end))
        {
            end = more;
        }
        Some(start..end)
    }

    /// Appends the merge of `region` of the original, in which each side's edits begin with the
    /// given index.
    fn push_region(&mut self, region: &Range<usize>, first_ours: usize, first_theirs: usize) {
        let original = self.original.lines_bytes(region.clone());
        let ours = self.ours.lines(region, first_ours);
        let theirs = self.theirs.lines(region, first_theirs);
        match () {
            () if ours == theirs || theirs == original => self.push(ours),
            () if ours == original => self.push(theirs),
            () => self.push_conflict(original, ours, theirs),
        }
    }

    fn push_conflict(&mut self, original: &[u8], ours: &[u8], theirs: &[u8]) {
        self.merged.is_clean = false;
        if self.conflicts == Conflicts::Both {
            self.push(ours);
            if !has_lines(ours, theirs) {
                self.push_marker("");
                self.push(theirs);
            }
            return;
        }
        self.push_marker("<<<<<<< ours\n");
        self.push(ours);
        self.push_marker("||||||| original\n");
        self.push(original);
        self.push_marker("=======\n");
        self.push(theirs);
        self.push_marker(">>>>>>> theirs\n");
    }

    /// Appends `marker` on a line of its own.
    fn push_marker(&mut self, marker: &str) {
        // GNU diff3 would put the marker at the end of that line, where nobody would find it.
        if !self.merged.bytes.is_empty() && is_unterminated(&self.merged.bytes) {
            self.push(b"\n");
        }
        self.push(marker.as_bytes());
    }

    fn push(&mut self, lines: &[u8]) {
        self.merged.bytes.extend_from_slice(lines);
    }
}

/// Returns whether `text` has all lines of `lines`, in a row.
fn has_lines(text: &[u8], lines: &[u8]) -> bool {
    let [text, lines] = [text, lines].map(|bytes| Text::new(bytes.to_vec()));
    text.has_run(0..text.len(), &lines, 0..lines.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_changed_twice_stand_between_markers_with_the_original_among_them() {
        let merged = merge(b"a\nb\nc\n", b"a\nmine\nc\n", b"a\ntheirs\nc\n");
        assert!(!merged.is_clean);
        let expected =
            "a\n<<<<<<< ours\nmine\n||||||| original\nb\n=======\ntheirs\n>>>>>>> theirs\nc\n";
        assert_eq!(String::from_utf8_lossy(&merged.bytes), expected);
    }

    #[test]
    fn a_last_line_without_newline_leaves_every_marker_on_a_line_of_its_own() {
        let merged = merge(b"a", b"b", b"c");
        let text = String::from_utf8_lossy(&merged.bytes).into_owned();
        let expected = "<<<<<<< ours\nb\n||||||| original\na\n=======\nc\n>>>>>>> theirs";
        assert_eq!(text.trim_end(), expected);
    }

    #[test]
    fn a_union_has_the_lines_of_both_and_those_of_both_once() {
        let check = |live: &str, modified: &str, expected: &str| {
            let bytes = union(b"a\nb\nc\n", live.as_bytes(), modified.as_bytes());
            assert_eq!(String::from_utf8_lossy(&bytes), expected);
        };
        check("a\nmine\nc\n", "a\nx\nc\n", "a\nmine\nx\nc\n");
        check("a\nmine\nx\nc\n", "a\nx\nc\n", "a\nmine\nx\nc\n");
        check("A\nb\nc\n", "a\nb\nC\n", "A\nb\nC\n");
        check("a\nmine", "a\nb\nc\nx", "a\nmine\nb\nc\nx");
        check("a\nmine\nc\n", "a\nc\n", "a\nmine\nc\n");
    }

    #[test]
    fn edits_that_touch_are_a_conflict_as_in_git() {
        assert!(!merge(b"a\nb\n", b"A\nb\n", b"a\nB\n").is_clean);
        assert!(!merge(b"a\nb\n", b"a\nx\nb\n", b"A\nb\n").is_clean);
        assert!(!merge(b"a\nb\n", b"a\nx\nb\n", b"a\ny\nb\n").is_clean);
        assert!(merge(b"a\nb\nc\n", b"A\nb\nc\n", b"a\nb\nC\n").is_clean);
    }

    #[test]
    fn without_a_budget_a_merge_says_that_it_is_coarse() {
        let (original, live) = (b"a\nb\nc\nb\na\n", b"c\nb\nb\na\nc\n");
        let coarse = merge_within(original, live, b"a\nb\nc\nb\nb\n", Budget(0));
        assert!(coarse.is_coarse && !coarse.is_clean);
        assert!(!merge(original, live, b"a\nb\nc\nb\nb\n").is_coarse);
    }
}
