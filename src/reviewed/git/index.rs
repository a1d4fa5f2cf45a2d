//! Reads and writes one entry of git's index, for lines that the user stages.
//!
//! Here, and nowhere else, filters run that the repository's own configuration defines: what is staged is
//! converted as `git add` would convert it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::thread;
use std::time::Duration;

use super::{Git, GitError, line};
use crate::files::Committed;

/// How often the index is tried while another git has locked it, and how long to wait between.
const TRIES: (usize, Duration) = (5, Duration::from_millis(100));

/// What the index has of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Indexed {
    /// A file or a link as a checkout would write it, or nothing.
    Known(Committed),
    /// Something that cannot be staged; it says why.
    Refused(&'static str),
}

impl Git {
    /// Returns what `path` is in the index.
    ///
    /// # Errors
    ///
    /// [`GitError`].
    pub fn indexed(&self, path: &[u8]) -> Result<Indexed, GitError> {
        let mut command = self.command(&["ls-files", "-s", "-v", "-z", "--"]);
        command.arg(OsStr::from_bytes(path));
        command.env("GIT_LITERAL_PATHSPECS", "1");
        let output = self.run_command(&mut command, "ls-files", b"")?;
        // As `H 100644 OBJECT 0<tab>PATH`. A path that is a folder there has entries of other names.
        let entry = output.split(|&byte| byte == 0).find_map(|entry| {
            let tab = entry.iter().position(|&byte| byte == b'\t')?;
            (&entry[tab + 1..] == path).then(|| String::from_utf8_lossy(&entry[..tab]).into_owned())
        });
        let Some(entry) = entry else {
            return Ok(Indexed::Known(Committed {
                mode: 0,
                bytes: Vec::new(),
            }));
        };
        let words: Vec<&str> = entry.split(' ').collect();
        let [tag, mode, object, _] = words[..] else {
            return Err(GitError::Answer("ls-files"));
        };
        Ok(match (tag, mode) {
            ("M", _) => Indexed::Refused("the index has a conflict there"),
            ("S" | "s", _) => Indexed::Refused("git was told not to look at it (skip-worktree)"),
            (_, "160000") => Indexed::Refused("the index has a repository there"),
            ("H", _) => {
                let mode = u32::from_str_radix(mode, 8);
                let mode = mode.map_err(|_| GitError::Answer("ls-files"))?;
                let bytes = match mode {
                    // No filter is for links.
                    0o120_000 => self.run(&["cat-file", "blob", object], b"")?,
                    _ => self.filtered(object, path)?,
                };
                Indexed::Known(Committed { mode, bytes })
            }
            _ => Indexed::Refused("git was told not to look at it (assume-unchanged)"),
        })
    }

    /// Makes `wanted` what `path` is in the index.
    ///
    /// # Errors
    ///
    /// [`GitError`]; [`GitError::Locked`] if another git is writing the index. Then it is as before.
    pub fn write_index(&self, path: &[u8], wanted: &Committed) -> Result<(), GitError> {
        let mut words: Vec<OsString> = Vec::new();
        if wanted.mode == 0 {
            words.extend(["--force-remove", "--"].map(OsString::from));
            words.push(OsString::from_vec(path.to_vec()));
        } else {
            let object = self.write_object(path, wanted)?;
            let entry = format!("{:o},{object},", wanted.mode);
            words.extend(["--add", "--cacheinfo"].map(OsString::from));
            words.push(OsString::from_vec([entry.as_bytes(), path].concat()));
        }
        for _ in 1..TRIES.0 {
            match self.update_index(&words) {
                Err(GitError::Locked) => thread::sleep(TRIES.1),
                result => return result,
            }
        }
        self.update_index(&words)
    }

    fn update_index(&self, words: &[OsString]) -> Result<(), GitError> {
        let mut command = self.command(&["update-index"]);
        match self.run_command(command.args(words), "update-index", b"") {
            Err(GitError::Failed { message, .. })
                if message.contains("index.lock': File exists") =>
            {
                Err(GitError::Locked)
            }
            result => result.map(|_| ()),
        }
    }

    /// Stores what `wanted` is in the repository, with the user's filters for `path`, and returns the
    /// object's name.
    fn write_object(&self, path: &[u8], wanted: &Committed) -> Result<String, GitError> {
        let git = self.with_filters();
        let how = match wanted.mode {
            0o120_000 => OsString::from("--no-filters"),
            _ => OsString::from_vec([b"--path=", path].concat()),
        };
        let mut command = git.command(&["hash-object", "-w", "--stdin"]);
        let object = git.run_command(command.arg(how), "hash-object", &wanted.bytes)?;
        Ok(String::from_utf8_lossy(line(&object)).into_owned())
    }

    /// Returns the same repository, whose own filters are run.
    fn with_filters(&self) -> Git {
        let mut git = self.clone();
        git.safe
            .retain(|(name, _)| !name.as_bytes().starts_with(b"filter."));
        git
    }
}
