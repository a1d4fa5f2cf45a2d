//! Two texts compared, and the naive ways to make one of the other.

use agent_q_diff_engine::diff::{self, Edit, HeadingRule};
use agent_q_diff_engine::patch::hunk::{Hunk, LineKind};
use agent_q_diff_engine::text::Text;

/// The lines of a hunk on either side.
pub trait Sides {
    /// Returns the lines that are not of the kind `other`.
    fn without(&self, other: LineKind) -> impl Iterator<Item = &[u8]>;

    /// Returns the lines that the hunk expects, in order.
    fn pre_image(&self) -> impl Iterator<Item = &[u8]> {
        self.without(LineKind::Added)
    }

    /// Returns the lines that the hunk leaves, in order.
    fn post_image(&self) -> impl Iterator<Item = &[u8]> {
        self.without(LineKind::Removed)
    }
}

impl Sides for Hunk<'_> {
    fn without(&self, other: LineKind) -> impl Iterator<Item = &[u8]> {
        let lines = self.lines.iter().filter(move |line| line.kind != other);
        lines.map(|line| line.text)
    }
}

/// Two texts and the edits that make the second of the first.
pub struct Compared {
    pub original: Text,
    pub modified: Text,
    pub edits: Vec<Edit>,
}

pub fn compare(original: &[u8], modified: &[u8]) -> Compared {
    let (original, modified) = (Text::new(original.to_vec()), Text::new(modified.to_vec()));
    let edits = diff::edits(&original, &modified);
    Compared {
        original,
        modified,
        edits,
    }
}

impl Compared {
    pub fn hunks(&self, context_len: usize) -> Vec<Hunk<'_>> {
        let (original, modified) = (&self.original, &self.modified);
        let groups = diff::group(&self.edits, original.len(), context_len);
        let headings = diff::section_headings(original, &groups, HeadingRule::Default);
        let hunk = |(group, heading)| diff::hunk(group, &self.edits, original, modified, heading);
        groups.iter().zip(headings).map(hunk).collect()
    }
}

/// Returns `original` after `edits`, whose new lines are those of `modified`.
pub fn edited(original: &Text, edits: &[Edit], modified: &Text) -> Vec<u8> {
    let mut result = Vec::new();
    let mut done = 0;
    for edit in edits {
        result.extend_from_slice(original.lines_bytes(done..edit.before.start));
        result.extend_from_slice(modified.lines_bytes(edit.after.clone()));
        done = edit.before.end;
    }
    result.extend_from_slice(original.lines_bytes(done..original.len()));
    result
}

/// Returns `original` after `hunks`, each applied exactly at its stated line; panics if its lines
/// are not there.
pub fn patched(original: &Text, hunks: &[Hunk<'_>]) -> Vec<u8> {
    let mut patched = Vec::new();
    let mut done = 0;
    for hunk in hunks {
        patched.extend_from_slice(original.lines_bytes(done..hunk.before.start));
        let before: Vec<_> = original.lines(hunk.before.clone()).collect();
        assert_eq!(hunk.pre_image().collect::<Vec<_>>(), before);
        assert_eq!(Text::new(patched.clone()).len(), hunk.after.start);
        patched.extend(hunk.post_image().flatten());
        done = hunk.before.end;
    }
    patched.extend_from_slice(original.lines_bytes(done..original.len()));
    patched
}

/// Returns how many lines `edits` remove and add.
pub fn n_changed(edits: &[Edit]) -> usize {
    let edits = edits.iter();
    edits.map(|edit| edit.before.len() + edit.after.len()).sum()
}
