//! The report on a review: for each hunk, what the user decided, and where its change is.
//!
//! It is computed from the weave, followed to the text that the file has on disk. No text is searched for.

use super::{Fact, Mark, Review};

/// What the file of a review has on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnDisk<'t> {
    /// The text of the target.
    Target,
    /// Another text, such as that from before edits which are not saved.
    Other(&'t [u8]),
    /// There is no such file. A buffer may have the target, which is not saved then.
    Missing {
        /// Whether it has.
        is_in_buffer: bool,
    },
    /// It cannot be read.
    Unreadable,
}

/// Where the change of a hunk is, the whole of it or a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Whereabouts {
    /// In the file on disk, and in the target.
    File,
    /// In the target, which is not saved, and not in the file.
    Target,
    /// In the file on disk, and not in the target, which is not saved.
    Unsaved,
    /// Nowhere.
    Nowhere,
    /// It was in the target, or was rejected, and others have changed its lines there since.
    Changed,
    /// Others have changed its lines on disk, it is unsure where they are there, or nobody can read that.
    Unknown,
}

/// What became of a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Report {
    /// What the user decided.
    pub mark: Mark,
    /// Where its change is.
    pub whereabouts: Whereabouts,
}

impl Review {
    /// Returns what became of each hunk, if the file has `disk`.
    ///
    /// Takes the time of a comparison if the file does not have the target's text.
    pub fn report(&self, disk: OnDisk<'_>) -> Vec<Report> {
        let there = match disk {
            OnDisk::Other(text) => {
                let mut there = self.clone();
                there.follow(text);
                Some(there)
            }
            _ => None,
        };
        let hunks = 0..self.marks.len();
        hunks
            .map(|hunk| Report {
                mark: self.marks[hunk],
                whereabouts: self.whereabouts(hunk, disk, there.as_ref()),
            })
            .collect()
    }

    /// Returns where the change of hunk `hunk` is, whose file has `disk`, which `there` has followed if it is
    /// another text. A missing file has no lines: one that only removes lines is still made there.
    fn whereabouts(&self, hunk: usize, disk: OnDisk<'_>, there: Option<&Review>) -> Whereabouts {
        let has = |review: &Review| {
            let is_out = review.fact(hunk) == Fact::Out;
            // What was put back may have been changed as well, and then have the change again.
            let is_whole =
                (is_out && self.marks[hunk] != Mark::Rejected) || !review.proposal.is_changed(hunk);
            is_whole.then_some(!is_out)
        };
        let here = has(self);
        let on_disk = match disk {
            OnDisk::Target => Some(here == Some(true)),
            OnDisk::Other(_) => there.and_then(has),
            OnDisk::Missing { .. } => Some(!self.proposal.adds_lines(hunk)),
            OnDisk::Unreadable => None,
        };
        let here = match disk {
            OnDisk::Missing {
                is_in_buffer: false,
            } => on_disk,
            _ => here,
        };
        match (here, on_disk) {
            (_, None) => Whereabouts::Unknown,
            (Some(true), Some(true)) => Whereabouts::File,
            (Some(true), Some(false)) => Whereabouts::Target,
            (_, Some(true)) => Whereabouts::Unsaved,
            (Some(false), Some(false)) => Whereabouts::Nowhere,
            (None, Some(false)) => Whereabouts::Changed,
        }
    }
}
