//! The files of a project: the working tree of a git repository, or a folder without git.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::ProjectError;
use crate::file::{self, Links};
use crate::git::{Committed, Git};
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
    /// [`ProjectError::File`], and [`StoreError::BadPath`].
    pub fn working(&self, path: &[u8]) -> Result<Committed, ProjectError> {
        StoreError::check_path(path)?;
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

/// Returns whether `path` is below `root`, and neither a file nor a link nor a folder: a FIFO, for example.
pub fn is_special(root: &Path, path: &[u8]) -> bool {
    let found = fs::symlink_metadata(root.join(OsStr::from_bytes(path)));
    found.is_ok_and(|found| !found.is_file() && !found.is_symlink() && !found.is_dir())
}

/// Returns why `path` is not that of a file of a project, or `None` if it is: relative, below the top, and
/// outside of what is git's own under any name that a disk may take for `.git`.
///
/// It says so after "it". git itself tracks no file with such a path.
pub fn flaw(path: &[u8]) -> Option<&'static str> {
    if path.contains(&0) {
        return Some("has a NUL byte");
    }
    if path.starts_with(b"/") {
        return Some("is absolute");
    }
    let mut parts = path.split(|&byte| byte == b'/');
    parts.find_map(|part| match part {
        b"" => Some("has an empty part"),
        b"." | b".." => Some("has a part . or .."),
        _ if is_gits(part) => Some("is in a folder of git's own"),
        _ => None,
    })
}

/// Returns whether some disk takes `part` of a path for `.git`: case may not matter, nor characters without
/// width, nor what follows a colon, nor dots and spaces at the end; and `git~1` may be its short name.
fn is_gits(part: &[u8]) -> bool {
    let has_width = |char: &char| !matches!(*char, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let name = String::from_utf8_lossy(part);
    let name: String = name.chars().filter(has_width).collect();
    let name = name.to_ascii_lowercase();
    let name = name.split(':').next().unwrap_or_default();
    let name = name.trim_end_matches(['.', ' ']);
    let short = name.strip_prefix("git~");
    name == ".git" || short.is_some_and(|n| n.len() == 1 && n.as_bytes()[0].is_ascii_digit())
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
        (mode, file::read(&name, Links::Refused, file::MAX_BYTES)?)
    } else {
        (0, Vec::new())
    };
    Ok(Committed { mode, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_below_the_top_and_outside_of_gits_own_folders() {
        for path in [
            &b""[..],
            b"/abs/x",
            b"../x",
            b"a/../../x",
            b"a/..",
            b"./x",
            b"a//x",
            b"a/",
            b"a\0b",
            b".git",
            b".git/config",
            b".git/hooks/pre-commit",
            b"a/.git/config",
            b".GIT/config",
            b".Git",
            b".git./x",
            b".git /x",
            b".git::$INDEX_ALLOCATION/x",
            b"git~1/x",
            "a/.g\u{200c}it/x".as_bytes(),
        ] {
            assert!(flaw(path).is_some(), "{}", String::from_utf8_lossy(path));
        }
        for path in [
            &b"x"[..],
            b"a/x",
            b"..x",
            b"a../...",
            b".gitignore",
            b".github/x",
            b"a.git/x",
            b"git/x",
            b"git~x",
            b"~/x",
            b"$HOME",
            b"a:b",
            b"a\nb",
            b"\xff",
        ] {
            assert_eq!(flaw(path), None, "{}", String::from_utf8_lossy(path));
        }
    }
}
