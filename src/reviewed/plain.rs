//! A project without git: where its data lies, and which files it has.
//!
//! The data lies below one folder of the user's, in a folder for each project that is named by the digest
//! of the project's root, which the file `root` has.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::error::ProjectError;
use crate::file::{self, Links};
use crate::path::{self, is_editors_own};
use crate::store::Store;
use crate::version::Digest;

/// Most files that a project without git can have.
const MAX_FILES: usize = 2000;

/// Most bytes that the name of a root can have.
const MAX_NAME: u64 = 1 << 20;

/// A project without git.
#[derive(Debug)]
pub struct Plain {
    /// The top of its files.
    pub root: PathBuf,
    /// The folder for what is recorded of it.
    pub folder: PathBuf,
    /// The folder in which all projects have theirs.
    projects: PathBuf,
}

/// Said of a path at which is something else, such as a FIFO.
pub const IS_SPECIAL: &str = "it is neither a file nor a link nor a folder";

/// What files a project has, by their paths.
#[derive(Debug, Default)]
pub struct Files {
    /// Those that are not large, and links.
    pub paths: Vec<Vec<u8>>,
    /// Those that are larger than is looked at.
    pub large: Vec<Vec<u8>>,
    /// Folders that are projects of their own.
    pub projects: Vec<Vec<u8>>,
    /// What is no file, and folders that cannot be read, each with a clause that says so.
    pub refused: Vec<(Vec<u8>, String)>,
}

/// Returns the folder of the data of all projects without git, where `variable` gets a variable of the
/// environment.
pub fn projects_folder(variable: impl Fn(&str) -> Option<OsString>) -> PathBuf {
    let state = variable("XDG_STATE_HOME").map(PathBuf::from);
    let state = state
        .filter(|state| state.is_absolute())
        .unwrap_or_else(|| {
            let home = variable("HOME").unwrap_or_else(|| "/".into());
            Path::new(&home).join(".local/state")
        });
    state.join("agent-q-diff/projects")
}

/// Returns whether `root` is all of the user's home directory, or more.
fn is_too_wide(root: &Path) -> bool {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let home = home.map(|home| home.canonicalize().unwrap_or(home));
    root.parent().is_none() || home.is_some_and(|home| home.starts_with(root))
}

impl Plain {
    /// Returns the project at `root`, whether it has begun or not. The data of all projects lies in
    /// `projects`.
    ///
    /// # Errors
    ///
    /// [`ProjectError`], also if that is all of the home directory.
    pub fn at(root: &Path, projects: &Path) -> Result<Plain, ProjectError> {
        let root = root.canonicalize().map_err(failed(root))?;
        if is_too_wide(&root) {
            return Err(ProjectError::TooWide(root));
        }
        Ok(Plain::of(root, projects))
    }

    fn of(root: PathBuf, projects: &Path) -> Plain {
        let name = Digest::of(root.as_os_str().as_bytes()).to_string();
        Plain {
            folder: projects.join(name),
            root,
            projects: projects.to_owned(),
        }
    }

    /// Returns the nearest project that `folder` is in, of those that have begun.
    pub fn find(folder: &Path, projects: &Path) -> Option<Plain> {
        if !projects.is_dir() {
            return None;
        }
        let folder = folder.canonicalize().ok()?;
        let mut all = folder
            .ancestors()
            .map(|root| Plain::of(root.to_owned(), projects));
        all.find(Plain::has_begun)
    }

    /// Returns whether its first look was made.
    pub fn has_begun(&self) -> bool {
        let root = self.folder.join("root");
        let root = file::read(&root, Links::Refused, MAX_NAME);
        root.is_ok_and(|root| root == self.root.as_os_str().as_bytes())
    }

    /// Makes its folder, which `write` writes into; it is there as a whole or not at all.
    ///
    /// # Errors
    ///
    /// [`ProjectError`].
    pub fn begin(
        &self,
        write: impl FnOnce(&Path) -> Result<(), ProjectError>,
    ) -> Result<(), ProjectError> {
        self.delete_drafts();
        let draft = format!("{}.new", std::process::id());
        let draft = self.folder.with_extension(draft);
        let written = file::make_private(&draft)
            .map_err(failed(&draft))
            .and_then(|()| write(&draft))
            .and_then(|()| {
                fs::write(draft.join("root"), self.root.as_os_str().as_bytes())
                    .map_err(failed(&draft))
            })
            .and_then(|()| fs::rename(&draft, &self.folder).map_err(failed(&self.folder)));
        if written.is_err() {
            let _ = fs::remove_dir_all(&draft);
        }
        // Another program may have begun it meanwhile.
        if self.has_begun() { Ok(()) } else { written }
    }

    /// Deletes the folders of projects that somebody was killed in the middle of beginning.
    fn delete_drafts(&self) {
        let is_ours = |name: &str| file::is_draft(name, |stem| Digest::parse(stem).is_some());
        for entry in fs::read_dir(&self.projects).into_iter().flatten().flatten() {
            let is_draft = entry.file_name().to_str().is_some_and(is_ours);
            let is_old = |found: fs::Metadata| found.is_dir() && file::is_old(&found);
            if is_draft && entry.metadata().is_ok_and(is_old) {
                // It does no harm where it cannot be deleted.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }

    /// Makes what is recorded of it that of the git repository that it has become, whose data lies in
    /// `data`, unless something is recorded there.
    ///
    /// # Errors
    ///
    /// [`ProjectError::File`].
    pub fn hand_over(&self, data: &Path) -> Result<(), ProjectError> {
        if file::has_record(data) {
            return Ok(());
        }
        // It may be of an earlier version.
        Store::open(self.folder.clone())?;
        let copy_all = || -> io::Result<()> {
            file::make_private(&data.join("texts"))?;
            for text in fs::read_dir(self.folder.join("texts"))? {
                let text = text?;
                file::copy(&text.path(), &data.join("texts").join(text.file_name()))?;
            }
            for name in ["ledger", "record"] {
                let bytes = file::read(&self.folder.join(name), Links::Refused, file::MAX_BYTES)?;
                file::write_whole(&data.join(name), &bytes)?;
            }
            Ok(())
        };
        copy_all().map_err(failed(data))
    }

    /// Returns its files, sorted; `max_size` is the largest size of a file that is looked at.
    ///
    /// # Errors
    ///
    /// [`ProjectError`], also if there are too many.
    pub fn files(&self, max_size: u64) -> Result<Files, ProjectError> {
        let mut found = Files::default();
        let mut folders = vec![PathBuf::new()];
        while let Some(folder) = folders.pop() {
            let full = self.root.join(&folder);
            let entries = match fs::read_dir(&full) {
                Err(error) if !folder.as_os_str().is_empty() => {
                    let why = format!("it cannot be read: {}", error.kind());
                    found
                        .refused
                        .push((folder.into_os_string().into_vec(), why));
                    continue;
                }
                entries => entries.map_err(failed(&full))?,
            };
            for entry in entries {
                let entry = entry.map_err(failed(&full))?;
                let name = entry.file_name();
                // It may be gone again.
                let Ok(metadata) = entry.metadata() else {
                    continue;
                };
                if is_no_part(name.as_bytes()) {
                    continue;
                }
                let path = folder.join(&name);
                if metadata.is_dir() {
                    if self.is_project(&entry.path()) {
                        found.projects.push(path.into_os_string().into_vec());
                    } else if entry.path() != self.projects {
                        folders.push(path);
                    }
                } else if !is_editors_own(name.as_bytes()) {
                    let path = path.into_os_string().into_vec();
                    if !metadata.is_file() && !metadata.is_symlink() {
                        found.refused.push((path, IS_SPECIAL.to_owned()));
                        continue;
                    }
                    if metadata.len() > max_size {
                        found.large.push(path);
                    } else {
                        found.paths.push(path);
                    }
                    if found.paths.len() + found.large.len() > MAX_FILES {
                        return Err(ProjectError::TooMany(self.root.clone(), MAX_FILES));
                    }
                }
            }
        }
        for paths in [&mut found.paths, &mut found.large, &mut found.projects] {
            paths.sort();
        }
        Ok(found)
    }

    /// Returns whether `folder`, which is below its root, is a project of its own.
    fn is_project(&self, folder: &Path) -> bool {
        fs::symlink_metadata(folder.join(".git")).is_ok()
            || Plain::of(folder.to_owned(), &self.projects).has_begun()
    }
}

/// Returns whether a file or folder with this name is no part of a project, with all that is in it.
fn is_no_part(name: &[u8]) -> bool {
    name.starts_with(b".") || name == b"node_modules" || path::flaw(name).is_some()
}

/// Returns whether the file `path` is never looked at, whatever it holds.
pub fn is_outside(path: &[u8]) -> bool {
    let mut names = path.split(|&byte| byte == b'/');
    names.any(is_no_part) || is_editors_own(path)
}

/// Returns what makes a [`ProjectError`] about `path` of an error.
fn failed(path: &Path) -> impl FnOnce(io::Error) -> ProjectError {
    let path = path.to_owned();
    |error| ProjectError::File { path, error }
}
