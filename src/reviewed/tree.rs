//! The files of a project: the working tree of a git repository, or a folder without git.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::error::ProjectError;
use crate::files::{self, Committed};
use crate::git::{self, Git};
use crate::plain::Plain;
use crate::store::StoreError;

/// The files of a project.
#[derive(Debug)]
pub enum Tree {
    /// In a git repository.
    Git(Git),
    /// Without git.
    Plain(Plain),
}

/// Returns the root of the project that `folder` is in, if that has a record: its repository, or a nearer
/// folder without git. `projects` is as for [`crate::Project::open_among`]. No program is run.
pub fn recorded_root(folder: &Path, projects: &Path) -> Option<PathBuf> {
    let root = tree_root(folder, projects);
    root.filter(|(_, is_recorded)| *is_recorded)
        .map(|(root, _)| root)
}

/// Returns the top of the working tree of git's that `folder` is in, by the `.git` that it has. No program is
/// run.
pub fn git_top(folder: &Path) -> Option<PathBuf> {
    let top = folder.ancestors().find(|top| top.join(".git").exists())?;
    top.canonicalize().ok()
}

/// Returns the root of the project that `folder` is in, or would be in if it had a record, and whether it has
/// one; see [`recorded_root`].
pub fn tree_root(folder: &Path, projects: &Path) -> Option<(PathBuf, bool)> {
    let folder = folder.ancestors().find(|folder| folder.exists())?;
    let top = git_top(folder);
    let plain = Plain::find(folder, projects).map(|plain| plain.root);
    match (top, plain) {
        (Some(top), Some(plain)) if plain.starts_with(&top) => Some((plain, true)),
        (None, plain) => plain.map(|plain| (plain, true)),
        (Some(top), _) => {
            let is_recorded = git::has_record(&top);
            Some((top, is_recorded))
        }
    }
}

/// Returns the folder for what is recorded of the project that `folder` is in, if there is a record and it is
/// sure without git which that is. `projects` is as for [`crate::Project::open_among`]. No program is run.
pub fn record_of(folder: &Path, projects: &Path) -> Option<PathBuf> {
    let folder = folder.canonicalize().ok()?;
    match (git_top(&folder), Plain::find(&folder, projects)) {
        // It is about to be handed over.
        (Some(top), Some(plain)) if plain.root == top => None,
        (Some(top), Some(plain)) if plain.root.starts_with(&top) => Some(plain.folder),
        (Some(top), _) => git::data_folder_of(&top).filter(|_| git::has_record(&top)),
        (None, plain) => plain.map(|plain| plain.folder),
    }
}

impl Tree {
    /// Returns the top of the tree.
    pub fn root(&self) -> &Path {
        match self {
            Tree::Git(git) => &git.root,
            Tree::Plain(plain) => &plain.root,
        }
    }

    /// Returns the folder for what is recorded of it.
    pub fn data_folder(&self) -> PathBuf {
        match self {
            Tree::Git(git) => git.data_folder(),
            Tree::Plain(plain) => plain.folder.clone(),
        }
    }

    /// Returns git, if the tree has it.
    pub fn git(&self) -> Option<&Git> {
        match self {
            Tree::Git(git) => Some(git),
            Tree::Plain(_) => None,
        }
    }

    /// Sees to it that nothing is run that the repository's configuration names now.
    ///
    /// # Errors
    ///
    /// [`git::GitError::Setting`] if that says by now that its files are elsewhere.
    pub fn make_safe(&mut self) -> Result<(), git::GitError> {
        match self {
            Tree::Git(git) => {
                git.make_safe();
                git.check_place()
            }
            Tree::Plain(_) => Ok(()),
        }
    }

    /// Returns `mode`, as git writes it, or what of it means something here.
    pub fn mode(&self, mode: u32) -> u32 {
        self.git().map_or(mode, |git| git.mode(mode))
    }

    /// Returns what the file `path` holds.
    ///
    /// # Errors
    ///
    /// [`ProjectError::File`], and [`StoreError::BadPath`].
    pub fn working(&self, path: &[u8]) -> Result<Committed, ProjectError> {
        StoreError::check_path(path)?;
        let found = match self {
            Tree::Git(git) => git.working(path),
            Tree::Plain(plain) => files::working(&plain.root, path),
        };
        found.map_err(|error| ProjectError::File {
            path: self.root().join(OsStr::from_bytes(path)),
            error,
        })
    }
}
