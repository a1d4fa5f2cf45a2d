//! Git's index: what of a project is staged, and what it has that was not kept.

use super::Project;
use crate::error::ProjectError;
use crate::files::Committed;
use crate::git::{Git, GitError, Indexed};
use crate::stage::{is_kept, staged};
use crate::store::StoreError;
use crate::version::Version;

impl Project {
    /// Makes the change from `before` to `after`, which are stored, to what git's index has of `path`, if the
    /// index does not have it already.
    ///
    /// Neither the file nor what was reviewed of it changes.
    ///
    /// # Errors
    ///
    /// [`ProjectError::NotStaged`]; then the index is as before.
    pub fn stage(
        &mut self,
        path: &[u8],
        before: Version,
        after: Version,
    ) -> Result<(), ProjectError> {
        let not_staged = |why: String| ProjectError::NotStaged {
            path: path.to_vec(),
            why,
        };
        StoreError::check_path(path)?;
        self.tree.make_safe()?;
        let Some(git) = self.tree.git() else {
            return Err(not_staged("there is no git repository".to_owned()));
        };
        let failed = |error: GitError| not_staged(error.to_string());
        let indexed = match git.indexed(path).map_err(failed)? {
            Indexed::Known(indexed) => indexed,
            Indexed::Refused(why) => return Err(not_staged(why.to_owned())),
        };
        let (before, after) = (self.content(git, before)?, self.content(git, after)?);
        match staged(&before, &after, &indexed).map_err(|why| not_staged(why.to_owned()))? {
            Some(wanted) => git.write_index(path, &wanted).map_err(failed),
            None => Ok(()),
        }
    }

    /// Returns those of `paths` of which git's index has more than HEAD and what is reviewed: an agent may have
    /// added what the user has taken out or not decided.
    ///
    /// # Errors
    ///
    /// [`ProjectError`].
    pub fn staged_unkept(&mut self, paths: &[&[u8]]) -> Result<Vec<Vec<u8>>, ProjectError> {
        self.tree.make_safe()?;
        let Some(git) = self.tree.git() else {
            return Ok(Vec::new());
        };
        let status = git.status()?;
        let staged = paths.iter().copied();
        let paths: Vec<&[u8]> = staged
            .filter(|path| status.in_index.contains_key(*path))
            .collect();
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let indexed = git.staged(&paths, &status.in_index)?;
        let committed = match &status.head {
            Some(head) => git.committed(head, &paths, &status.in_head)?,
            None => vec![Committed::default(); paths.len()],
        };
        let mut unkept = Vec::new();
        for ((path, indexed), committed) in paths.iter().zip(&indexed).zip(committed) {
            let reviewed = match self.store.ledger().differing(path) {
                Some(version) => self.content(git, version)?,
                None => committed.clone(),
            };
            if !is_kept(&committed, &reviewed, indexed) {
                unkept.push(path.to_vec());
            }
        }
        Ok(unkept)
    }

    /// Returns `version` as the index would have it.
    fn content(&self, git: &Git, version: Version) -> Result<Committed, ProjectError> {
        Ok(Committed {
            mode: git.mode(version.mode()),
            bytes: self.text(version)?.unwrap_or_default(),
        })
    }
}
