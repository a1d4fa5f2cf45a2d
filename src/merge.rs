//! Three texts to one: what the user did to the original and what the proposal does to it.
//!
//! Where both changed the same lines, all three stand between conflict markers, as `git merge-file
//! --diff3` and GNU `diff3 -m` write them, so that Emacs's `smerge-mode` knows them. The merging is
//! diffy's; time is that of two diffs of the texts.

use diffy::{ConflictStyle, IncompleteHunkStyle, MergeOptions};

/// A text merged of three.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// The text; with conflict markers unless `is_clean`.
    pub bytes: Vec<u8>,
    /// Whether no line was changed in two ways.
    pub is_clean: bool,
}

/// Merges what makes `live` of `original` with what makes `modified` of it.
///
/// ```
/// use agent_q_diff::merge::merge;
/// let merged = merge(b"a\nb\nc\n", b"A\nb\nc\n", b"a\nb\nC\n");
/// assert!(merged.is_clean);
/// assert_eq!(merged.bytes, b"A\nb\nC\n");
/// ```
pub fn merge(original: &[u8], live: &[u8], modified: &[u8]) -> Merged {
    let mut options = MergeOptions::new();
    options.set_conflict_style(ConflictStyle::Diff3);
    // GNU diff3 puts a marker behind a line without newline, where nobody would find it.
    options.set_incomplete_hunk_style(IncompleteHunkStyle::Git);
    let merged = options.merge_bytes(original, live, modified);
    let is_clean = merged.is_ok();
    let bytes = merged.unwrap_or_else(|conflict| conflict);
    Merged { bytes, is_clean }
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
}
