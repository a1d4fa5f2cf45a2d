//! Why a project cannot be looked at.

use std::path::PathBuf;

use crate::git::GitError;
use crate::store::StoreError;

/// Why a project cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// It is in no git repository, and nobody has said that it is a project all the same.
    #[error("call M-x agent-q-diff-review-changes there first: {} is in no git repository", .0.display())]
    NoRepository(PathBuf),
    /// It has no git, and more files than that.
    #[error(
        "{} has more than {} files; make it a git repository (git init), then look again",
        .0.display(), thousands(*.1)
    )]
    TooMany(PathBuf, usize),
    /// git is in the middle of something, and files may have marks of conflicts.
    #[error("git is in the middle of {0}; finish or abort it, then look again")]
    InProgress(&'static str),
    /// What was looked at is not in the record any more.
    #[error(
        "what was recorded of {} is gone, so it is not known what was reviewed; look again", .0.display()
    )]
    NoRecord(PathBuf),
    /// There is no such commit.
    #[error("there is no commit \"{0}\" here")]
    NoCommit(String),
    /// Two commits have no history in common.
    #[error("HEAD and \"{0}\" have no commit in common")]
    NothingInCommon(String),
    /// It is all of the home directory, or of the machine.
    #[error("{} is too much for one project, so nothing is recorded there", .0.display())]
    TooWide(PathBuf),
    /// git cannot read it.
    #[error(transparent)]
    Git(#[from] GitError),
    /// Its store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An edit would not be pending once it is made, which says why.
    #[error("{0}")]
    NotPending(String),
    /// An edit must not pass while no Emacs runs: the user has not chosen that, or which says why.
    #[error("{}", .0.as_deref().unwrap_or("the user has not chosen to review it after it is made"))]
    NotPassing(Option<String>),
    /// What was decided about a file cannot go into git's index.
    #[error("{} is not staged: {why}", String::from_utf8_lossy(path))]
    NotStaged {
        /// The file.
        path: Vec<u8>,
        /// Why.
        why: String,
    },
    /// What a comment was to be on is not there.
    #[error("{} has no such lines", String::from_utf8_lossy(.0))]
    NoLines(Vec<u8>),
    /// There is no such comment, or the user has closed it.
    #[error("there is no open comment with id {0}")]
    NoComment(u64),
    /// It is not known any more what a turn has written.
    #[error("what turn {0} has written is not known yet, or not any more")]
    NoTurn(u64),
    /// A file cannot be read.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        error: std::io::Error,
    },
}

/// Returns `n`, which is at least 1,000, as people write it.
fn thousands(n: usize) -> String {
    format!("{},{:03}", n / 1000, n % 1000)
}
