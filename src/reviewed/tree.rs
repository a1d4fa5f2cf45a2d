//! The files of a project: the working tree of a git repository, or a folder without git.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::ProjectError;
use crate::git::{Committed, Git};
use crate::plain::Plain;

/// The files of a project.
#[derive(Debug)]
pub enum Tree {
    /// In a git repository.
    Git(Git),
    /// Without git.
    Plain(Plain),
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
    pub fn make_safe(&mut self) {
        if let Tree::Git(git) = self {
            git.make_safe();
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
    /// [`ProjectError::File`].
    pub fn working(&self, path: &[u8]) -> Result<Committed, ProjectError> {
        let found = match self {
            Tree::Git(git) => git.working(path),
            Tree::Plain(plain) => working(&plain.root, path),
        };
        found.map_err(|error| ProjectError::File {
            path: self.root().join(OsStr::from_bytes(path)),
            error,
        })
    }
}

/// Returns the size in bytes of the file `path` below `root`; 0 if there is none.
pub fn size(root: &Path, path: &[u8]) -> u64 {
    let name = root.join(OsStr::from_bytes(path));
    fs::symlink_metadata(name).map_or(0, |metadata| metadata.len())
}

/// Returns whether `path` is a file or a link below `root`.
pub fn is_there(root: &Path, path: &[u8]) -> bool {
    let found = fs::symlink_metadata(root.join(OsStr::from_bytes(path)));
    found.is_ok_and(|found| !found.is_dir())
}

/// Returns what `path` is below `root`.
///
/// # Errors
///
/// If it is there and cannot be read.
pub fn working(root: &Path, path: &[u8]) -> Result<Committed, io::Error> {
    let name = root.join(OsStr::from_bytes(path));
    let nothing = Committed {
        mode: 0,
        bytes: Vec::new(),
    };
    // What is behind a link that stands where a folder was is no file of the project.
    let mut folders = Path::new(OsStr::from_bytes(path)).ancestors().skip(1);
    if folders.any(|folder| root.join(folder).is_symlink() && folder != Path::new("")) {
        return Ok(nothing);
    }
    let metadata = match fs::symlink_metadata(&name) {
        Ok(metadata) => metadata,
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(nothing);
        }
        Err(error) => return Err(error),
    };
    let (mode, bytes) = if metadata.is_symlink() {
        (0o120_000, fs::read_link(&name)?.into_os_string().into_vec())
    } else if metadata.is_file() {
        let is_executable = metadata.permissions().mode() & 0o100 != 0;
        let mode = if is_executable { 0o100_755 } else { 0o100_644 };
        (mode, fs::read(&name)?)
    } else {
        (0, Vec::new())
    };
    Ok(Committed { mode, bytes })
}
