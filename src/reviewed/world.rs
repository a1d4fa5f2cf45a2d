//! What the rules see of a project: its files, and what git has of them.

use agent_q_diff_engine::text::Text;

use crate::path::Path;
use crate::version::{Digest, Version};

/// The project as it is now, and the bytes of all versions.
pub trait World {
    /// What can go wrong when it is read.
    type Error;

    /// Returns the time of now, in seconds since 1970.
    fn time(&self) -> u64;

    /// Returns the commit that is checked out; `None` if there is none.
    fn head(&self) -> Option<String>;

    /// Returns what `path` holds in `commit`, as a checkout would write it. Without a commit,
    /// nothing.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    fn committed(&mut self, commit: Option<&str>, path: &[u8]) -> Result<Version, Self::Error>;

    /// Returns what `path` holds now.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    fn working(&mut self, path: &[u8]) -> Result<Version, Self::Error>;

    /// Returns the paths that differ between two commits.
    ///
    /// # Errors
    ///
    /// If a commit is gone.
    fn changed(&mut self, old: Option<&str>, new: Option<&str>) -> Result<Vec<Path>, Self::Error>;

    /// Returns what the commits by which HEAD has moved, to `head`, made of `path` and the user did not make.
    ///
    /// # Errors
    ///
    /// If they cannot be read.
    fn others(
        &mut self,
        head: Option<&str>,
        path: &[u8],
    ) -> Result<Vec<Step<Version>>, Self::Error>;

    /// Returns whether HEAD has moved by a commit of `path` that is new, and not one of those.
    fn is_committed_by_user(&self, path: &[u8]) -> bool;

    /// Returns the paths whose file may differ from HEAD, new files included. Without git, those are all
    /// that exist or are known.
    ///
    /// # Errors
    ///
    /// If that cannot be found out.
    fn dirty(&mut self) -> Result<Vec<Path>, Self::Error>;

    /// Returns whether `path`, which is not among [`World::dirty`], was left out there although it may
    /// be.
    fn is_left_out(&self, path: &[u8]) -> bool;

    /// Returns the bytes with this digest.
    ///
    /// # Errors
    ///
    /// If they are not stored.
    fn bytes(&mut self, digest: Digest) -> Result<Vec<u8>, Self::Error>;

    /// Stores bytes, and returns their digest.
    ///
    /// # Errors
    ///
    /// If they cannot be stored.
    fn store(&mut self, bytes: Vec<u8>) -> Result<Digest, Self::Error>;
}

/// A change of what git has of a file: by one commit or several, or of the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step<T> {
    /// What git had before. A merge has several: only what none of them has is new.
    pub before: Vec<T>,
    /// What it has now.
    pub now: T,
}

impl<T> Step<T> {
    /// Returns the step with `of` applied to each value.
    pub(crate) fn map<'a, U>(&'a self, of: impl Fn(&'a T) -> U) -> Step<U> {
        Step {
            before: self.before.iter().map(&of).collect(),
            now: of(&self.now),
        }
    }

    /// Returns whether `is_there` is true of what git has now, and of nothing that it had before.
    pub(crate) fn brought(&self, is_there: impl Fn(&T) -> bool) -> bool {
        is_there(&self.now) && !self.before.iter().any(is_there)
    }
}

/// Returns the text of `version`, which is empty if there is nothing; `None` if it has no lines.
pub(crate) fn text_of<W: World>(world: &mut W, version: Version) -> Result<Option<Text>, W::Error> {
    let bytes = match version {
        Version::Absent => Vec::new(),
        Version::Link { .. } | Version::Submodule { .. } => return Ok(None),
        Version::File { digest, .. } => world.bytes(digest)?,
    };
    Ok((!bytes.contains(&0)).then(|| Text::new(bytes)))
}

/// Returns `results`, or the first error among them.
pub(crate) fn transposed<T, E, const N: usize>(results: [Result<T, E>; N]) -> Result<[T; N], E> {
    let all: Result<Vec<T>, E> = results.into_iter().collect();
    Ok(all?
        .try_into()
        .unwrap_or_else(|_| unreachable!("there are as many")))
}
