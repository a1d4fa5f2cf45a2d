//! Merges three texts into one: a base, and two texts that were made of it.
//!
//! The algorithm is that of GNU diff3 ("A Formal Investigation of Diff3", Khanna, Kunal and Pierce
//! 2007): both texts are compared with the base, and edits of the two sides that overlap or touch
//! form one region. If only one side changed a region, or both changed it in the same way, that
//! change is the result. Otherwise the region is a conflict, which is a value: what is printed of
//! it is up to the caller, see [`Merge`].
//!
//! Takes the time of two comparisons, each within a third of the budget, plus O(bytes).

use std::ops::Range;

use crate::diff::{self, Budget, Comparison, Edit};
use crate::text::{Text, is_unterminated};

/// A stretch of merged lines. Each text is the lines of its stretches in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Region {
    /// Lines that at most one side has changed, or both in the same way, as they should be.
    Resolved(Vec<u8>),
    /// What each text has where both sides have changed the base, and not in the same way.
    Conflict {
        /// The lines of the base.
        base: Vec<u8>,
        /// Those of one side.
        ours: Vec<u8>,
        /// Those of the other.
        theirs: Vec<u8>,
    },
}

/// The result of a merge: a list of regions, and three ways to print it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merge {
    /// The regions in the order of the text. No two resolved ones are beside each other, and none is empty.
    pub regions: Vec<Region>,
    /// Whether a budget did not suffice for a comparison. Conflicts may then be larger than necessary, but
    /// whatever was merged without a conflict is still right.
    pub is_coarse: bool,
}

/// Merges the changes from `base` to `ours` with those from `base` to `theirs`; see [`merge_within`].
///
/// ```
/// use agent_q_diff_engine::merge::merge;
/// let merged = merge(b"a\nb\nc\n", b"A\nb\nc\n", b"a\nb\nC\n");
/// assert_eq!(merged.clean(), Some(b"A\nb\nC\n".to_vec()));
/// ```
pub fn merge(base: &[u8], ours: &[u8], theirs: &[u8]) -> Merge {
    merge_within(base, ours, theirs, Budget::default())
}

/// Merges the changes from `base` to `ours` with those from `base` to `theirs`, as finely as `budget`
/// allows. The same texts and budget always give the same result; with the sides swapped, it is the
/// same with the sides of each conflict swapped.
pub fn merge_within(base: &[u8], ours: &[u8], theirs: &[u8], budget: Budget) -> Merge {
    let [base, ours, theirs] = [base, ours, theirs].map(|bytes| Text::new(bytes.to_vec()));
    // The last third of the time goes into splitting the texts and assembling the result.
    let each = Budget(budget.0 / 3);
    let to_ours = diff::edits_within(&base, &ours, each);
    let to_theirs = diff::edits_within(&base, &theirs, each);
    let mut merging = Merging {
        base: &base,
        ours: Side::new(&ours, &to_ours),
        theirs: Side::new(&theirs, &to_theirs),
        regions: Vec::new(),
    };
    merging.run();
    Merge {
        regions: merging.regions,
        is_coarse: to_ours.is_coarse || to_theirs.is_coarse,
    }
}

impl Merge {
    /// Returns how many conflicts there are.
    pub fn n_conflicts(&self) -> usize {
        let is_conflict = |region: &&Region| matches!(region, Region::Conflict { .. });
        self.regions.iter().filter(is_conflict).count()
    }

    /// Returns the text, or `None` if there is a conflict.
    pub fn clean(&self) -> Option<Vec<u8>> {
        (self.n_conflicts() == 0).then(|| self.marked())
    }

    /// Returns the text; all three versions of a conflict stand between markers, in the format of
    /// `git merge-file --diff3`, which Emacs's `smerge-mode` understands.
    ///
    /// Each marker is on a line of its own: if the line before it has no newline, it gets one.
    pub fn marked(&self) -> Vec<u8> {
        self.printed(|text, base, ours, theirs| {
            for (marker, lines) in [
                ("<<<<<<< ours\n", ours),
                ("||||||| original\n", base),
                ("=======\n", theirs),
                (">>>>>>> theirs\n", &[][..]),
            ] {
                // GNU diff3 would put the marker at the end of that line, where nobody would find it.
                terminate(text);
                text.extend_from_slice(marker.as_bytes());
                text.extend_from_slice(lines);
            }
        })
    }

    /// Returns the text; of a conflict, it has the lines of our side and below them those of the other
    /// one, unless they are there already. So no line that either of them has added is missing.
    ///
    /// ```
    /// use agent_q_diff_engine::merge::merge;
    /// assert_eq!(merge(b"a\nb\n", b"a\nmine\n", b"A\nb\n").union(), b"a\nmine\nA\nb\n");
    /// ```
    pub fn union(&self) -> Vec<u8> {
        self.printed(|text, _, ours, theirs| {
            text.extend_from_slice(ours);
            if !has_lines(ours, theirs) {
                terminate(text);
                text.extend_from_slice(theirs);
            }
        })
    }

    /// Returns the text; `print` appends each conflict to it, of which it gets the lines of the base, ours
    /// and theirs.
    fn printed(&self, print: impl Fn(&mut Vec<u8>, &[u8], &[u8], &[u8])) -> Vec<u8> {
        let mut text = Vec::new();
        for region in &self.regions {
            match region {
                Region::Resolved(lines) => text.extend_from_slice(lines),
                Region::Conflict { base, ours, theirs } => print(&mut text, base, ours, theirs),
            }
        }
        text
    }
}

/// Gives the last line of `text` a newline if it has none.
fn terminate(text: &mut Vec<u8>) {
    if !text.is_empty() && is_unterminated(text) {
        text.push(b'\n');
    }
}

/// One side's changes to the base.
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

    /// If the next edit begins at or before line `end` of the base, takes it into the region
    /// that ends there, and returns where the region then ends.
    fn next_up_to(&mut self, end: usize) -> Option<usize> {
        let edit = self.next().filter(|edit| edit.before.start <= end)?;
        self.n_merged += 1;
        Some(end.max(edit.before.end))
    }

    /// Returns this side's lines for `region` of the base, which contains exactly its edits
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
    base: &'a Text,
    ours: Side<'a>,
    theirs: Side<'a>,
    regions: Vec<Region>,
}

impl Merging<'_> {
    fn run(&mut self) {
        let mut done = 0;
        loop {
            let (ours, theirs) = (self.ours.n_merged, self.theirs.n_merged);
            let Some(region) = self.next_region() else {
                break;
            };
            self.push(self.base.lines_bytes(done..region.start));
            done = region.end;
            self.push_region(&region, ours, theirs);
        }
        self.push(self.base.lines_bytes(done..self.base.len()));
    }

    /// Returns the next region of the base: the lines of the next edit of either side, and of all
    /// edits that overlap or touch the region as it grows.
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

    /// Appends the merge of `region` of the base, in which each side's edits begin with the given
    /// index.
    fn push_region(&mut self, region: &Range<usize>, first_ours: usize, first_theirs: usize) {
        let base = self.base.lines_bytes(region.clone());
        let ours = self.ours.lines(region, first_ours);
        let theirs = self.theirs.lines(region, first_theirs);
        match () {
            () if ours == theirs || theirs == base => self.push(ours),
            () if ours == base => self.push(theirs),
            () => self.regions.push(Region::Conflict {
                base: base.to_vec(),
                ours: ours.to_vec(),
                theirs: theirs.to_vec(),
            }),
        }
    }

    /// Appends `lines`, which are resolved.
    fn push(&mut self, lines: &[u8]) {
        match self.regions.last_mut() {
            _ if lines.is_empty() => {}
            Some(Region::Resolved(text)) => text.extend_from_slice(lines),
            _ => self.regions.push(Region::Resolved(lines.to_vec())),
        }
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
        assert_eq!(merged.clean(), None);
        let expected =
            "a\n<<<<<<< ours\nmine\n||||||| original\nb\n=======\ntheirs\n>>>>>>> theirs\nc\n";
        assert_eq!(String::from_utf8_lossy(&merged.marked()), expected);
    }

    #[test]
    fn a_last_line_without_newline_leaves_every_marker_on_a_line_of_its_own() {
        let merged = merge(b"a", b"b", b"c");
        let text = String::from_utf8_lossy(&merged.marked()).into_owned();
        let expected = "<<<<<<< ours\nb\n||||||| original\na\n=======\nc\n>>>>>>> theirs";
        assert_eq!(text.trim_end(), expected);
    }

    #[test]
    fn a_union_has_the_lines_of_both_and_those_of_both_once() {
        let check = |live: &str, modified: &str, expected: &str| {
            let bytes = merge(b"a\nb\nc\n", live.as_bytes(), modified.as_bytes()).union();
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
        assert_eq!(merge(b"a\nb\n", b"A\nb\n", b"a\nB\n").n_conflicts(), 1);
        assert_eq!(merge(b"a\nb\n", b"a\nx\nb\n", b"A\nb\n").n_conflicts(), 1);
        assert_eq!(
            merge(b"a\nb\n", b"a\nx\nb\n", b"a\ny\nb\n").n_conflicts(),
            1
        );
        assert_eq!(
            merge(b"a\nb\nc\n", b"A\nb\nc\n", b"a\nb\nC\n").n_conflicts(),
            0
        );
    }

    #[test]
    fn without_a_budget_a_merge_says_that_it_is_coarse() {
        let (original, live) = (b"a\nb\nc\nb\na\n", b"c\nb\nb\na\nc\n");
        let coarse = merge_within(original, live, b"a\nb\nc\nb\nb\n", Budget(0));
        assert!(coarse.is_coarse && coarse.n_conflicts() > 0);
        assert!(!merge(original, live, b"a\nb\nc\nb\nb\n").is_coarse);
    }
}
