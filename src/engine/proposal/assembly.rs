//! Assembles two texts from the top, hunk by hunk, with the edits between them.

use crate::diff::{Edit, Group};
use crate::text::{Text, is_unterminated};
use crate::weave::Weave;

/// Two texts and their hunks, as far as they are assembled.
#[derive(Default)]
pub(super) struct Assembly {
    pub original: Vec<u8>,
    pub modified: Vec<u8>,
    /// Number of lines of the original so far.
    pub n_before: usize,
    /// Number of lines of the modified text so far.
    pub n_after: usize,
    /// Edits so far, in the order of their lines.
    pub edits: Vec<Edit>,
    groups: Vec<Group>,
}

impl Assembly {
    /// Returns whether one text's last line has no terminator, so that nothing can follow.
    pub fn is_ended(&self) -> bool {
        [&self.original, &self.modified]
            .iter()
            .any(|text| !text.is_empty() && is_unterminated(text))
    }

    /// Begins a hunk. Everything added since the last hunk is between the two.
    pub fn begin_hunk(&mut self) {
        self.groups.push(Group {
            edits: self.edits.len()..self.edits.len(),
            before: self.n_before..self.n_before,
            after: self.n_after..self.n_after,
        });
    }

    /// Ends the current hunk, which includes everything added since it began.
    pub fn end_hunk(&mut self) {
        if let Some(group) = self.groups.last_mut() {
            group.edits.end = self.edits.len();
            group.before.end = self.n_before;
            group.after.end = self.n_after;
        }
    }

    /// Returns the weave of the two texts, and each hunk's group of edits.
    pub fn finish(self) -> (Weave, Vec<Group>) {
        let (original, modified) = (Text::new(self.original), Text::new(self.modified));
        (Weave::new(original, modified, &self.edits), self.groups)
    }
}
