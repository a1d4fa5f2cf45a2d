//! What a look does not look at, and why.

use serde::Serialize;

use crate::path::Path;

/// A path that is not looked at, and why.
pub type LeftOut = (Path, Why);

/// Why a path is not looked at. The values are in the order in which they are said.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "data")]
pub enum Why {
    /// It is a submodule with changes, which are reviewed in its own project.
    Submodule(Submodule),
    /// New lines of this file hide it from git.
    Hidden(String),
    /// It is a repository or a project of its own.
    Repository,
    /// It is larger than 8 MiB, on disk or in a commit.
    Large,
    /// It has the filter with this name, which the repository's own configuration defines, so that it is not
    /// run: it cannot be told what the file holds in a commit, nor whether it has changed.
    Filter(String),
    /// It is a folder at the top with so many files that git does not know.
    Many(usize),
    /// It is no text, nor was it when it was known, in a project without git.
    NoText,
    /// It was left out before, and could be looked at now: what it held is not known; see
    /// [`Ledger::left_out`](crate::Ledger::left_out).
    Unknown,
    /// Another reason, a clause.
    Other(String),
}

impl Why {
    /// Returns whether the path is that of a file which the user can mark as reviewed all the same.
    pub fn is_of_file(&self) -> bool {
        matches!(self, Why::Large | Why::NoText | Why::Unknown)
    }
}

/// What has changed about a submodule.
#[derive(Debug, Default, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Submodule {
    /// The name of the commit that was reviewed for it, if there is one.
    pub reviewed: Option<String>,
    /// The one that is checked out, if it is there.
    pub checked_out: Option<String>,
    /// Whether something is pending in it.
    pub is_changed: bool,
    /// Why that cannot be known, a clause; `None` if it can.
    pub failed: Option<String>,
}

impl Submodule {
    /// Returns whether anything about it has changed, or that is not known.
    pub(crate) fn is_said(&self) -> bool {
        self.reviewed != self.checked_out || self.is_changed || self.failed.is_some()
    }
}

/// Sorts `left_out` by path; what is in it twice is then in it once.
pub(crate) fn sorted(mut left_out: Vec<LeftOut>) -> Vec<LeftOut> {
    left_out.sort();
    left_out.dedup();
    left_out
}
