//! What paths are in a commit and in the index: their modes, and their bytes as a checkout writes them.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::{Entries, Entry, Git, GitError};
use crate::files::Committed;

impl Git {
    /// Returns what each of `paths` is in `commit`, in their order; `known` has what is known of that, as
    /// [`Status::in_head`].
    ///
    /// # Errors
    ///
    /// [`GitError`], also if the commit is gone.
    pub fn committed(
        &self,
        commit: &str,
        paths: &[&[u8]],
        known: &Entries,
    ) -> Result<Vec<Committed>, GitError> {
        self.contents(self.entries(commit, paths, known)?, paths)
    }

    /// Returns what each of `paths` is in the index, where it is as `known` says, in their order.
    ///
    /// # Errors
    ///
    /// [`GitError`].
    pub fn staged(&self, paths: &[&[u8]], known: &Entries) -> Result<Vec<Committed>, GitError> {
        let entries = paths.iter().map(|path| known.get(*path).cloned().flatten());
        self.contents(entries.collect(), paths)
    }

    /// Returns those paths in `entries` that are larger there than `max` bytes, before filters.
    ///
    /// # Errors
    ///
    /// [`GitError`].
    pub fn large<'a>(
        &self,
        entries: impl IntoIterator<Item = (&'a Vec<u8>, &'a Entry)>,
        max: u64,
    ) -> Result<HashSet<Vec<u8>>, GitError> {
        let named = entries
            .into_iter()
            .filter_map(|(path, entry)| Some((path, entry.as_ref()?)));
        let named: Vec<(&Vec<u8>, &str)> = named
            .filter(|(_, (mode, _))| !is_submodule(*mode))
            .map(|(path, (_, object))| (path, &object[..]))
            .collect();
        if named.is_empty() {
            return Ok(HashSet::new());
        }
        let input: String = named.iter().map(|(_, name)| format!("{name}\n")).collect();
        // What is missing has no size; whoever reads it says so.
        let format = "--batch-check=%(objectsize)";
        let sizes = self.run(&["cat-file", format, "--buffer"], input.as_bytes())?;
        let sizes = String::from_utf8_lossy(&sizes).into_owned();
        let sizes = sizes.lines().map(|size| size.parse().unwrap_or(0));
        let large = named.iter().zip(sizes).filter(|(_, size)| *size > max);
        Ok(large.map(|((path, _), _)| (*path).clone()).collect())
    }

    /// Returns what each of `paths` is, by its entry in `entries`.
    fn contents(&self, entries: Vec<Entry>, paths: &[&[u8]]) -> Result<Vec<Committed>, GitError> {
        // A path with a newline cannot be named among others.
        let is_alone = |path: &[u8]| path.contains(&b'\n');
        let named = entries.iter().zip(paths).filter_map(|(entry, path)| {
            let (mode, object) = entry.as_ref()?;
            (!is_submodule(*mode) && !is_alone(path)).then_some((object, path))
        });
        let input: Vec<u8> = named
            .flat_map(|(object, path)| [object.as_bytes(), b" ", path, b"\n"].concat())
            .collect();
        // git only knows sizes before filters, so it prints a line that nobody can guess before each
        // object.
        let name = format!("object-{:x}", random());
        let batch = format!("--batch={name}");
        let mut answer = match input[..] {
            [] => Vec::new(),
            _ => self.run(&["cat-file", &batch, "--filters", "--buffer"], &input)?,
        };
        let head = name + "\n";
        answer.extend(head.as_bytes());
        let mut rest = &answer[..];
        let mut committed = Vec::new();
        for (entry, path) in entries.into_iter().zip(paths) {
            let (mode, bytes) = match entry {
                None => (0, Vec::new()),
                Some((mode, commit)) if is_submodule(mode) => (mode, commit.into_bytes()),
                Some((mode, object)) if is_alone(path) => {
                    (self.mode(mode), self.filtered(&object, path)?)
                }
                Some((mode, _)) => (
                    self.mode(mode),
                    next_object(&mut rest, head.as_bytes())?.to_vec(),
                ),
            };
            committed.push(Committed { mode, bytes });
        }
        Ok(committed)
    }

    /// Returns the bytes of `object` as a checkout would write them to `path`.
    pub(super) fn filtered(&self, object: &str, path: &[u8]) -> Result<Vec<u8>, GitError> {
        let mut command = self.command(&["cat-file", "--filters"]);
        let path = [b"--path=", path].concat();
        let command = command.arg(OsStr::from_bytes(&path)).arg(object);
        self.run_command(command, "cat-file", b"")
    }

    /// Returns what each of `paths` is in `commit`, by path; `known` has what is known of that.
    ///
    /// # Errors
    ///
    /// [`GitError`], also if the commit is gone.
    pub fn entries_of(
        &self,
        commit: &str,
        paths: &[&[u8]],
        known: &Entries,
    ) -> Result<Entries, GitError> {
        let entries = self.entries(commit, paths, known)?;
        Ok(paths
            .iter()
            .map(|path| path.to_vec())
            .zip(entries)
            .collect())
    }

    /// Returns what each of `paths` is in `commit`; `known` has what is known of that.
    fn entries(
        &self,
        commit: &str,
        paths: &[&[u8]],
        known: &Entries,
    ) -> Result<Vec<Entry>, GitError> {
        let mut found = HashMap::new();
        let unknown = paths.iter().filter(|path| !known.contains_key(**path));
        let unknown: Vec<&[u8]> = unknown.copied().collect();
        // The names are arguments, of which there can be only so many.
        for some in unknown.chunks(1000) {
            let mut command = self.command(&["ls-tree", "-z", "--full-tree", commit, "--"]);
            command.args(some.iter().map(|path| OsStr::from_bytes(path)));
            command.env("GIT_LITERAL_PATHSPECS", "1");
            let output = self.run_command(&mut command, "ls-tree", b"")?;
            for entry in output.split(|&byte| byte == 0) {
                let Some(tab) = entry.iter().position(|&byte| byte == b'\t') else {
                    continue;
                };
                let words: Vec<&[u8]> = entry[..tab].split(|&byte| byte == b' ').collect();
                let [mode, _, object] = words[..] else {
                    return Err(GitError::Answer("ls-tree"));
                };
                let path = entry[tab + 1..].to_vec();
                found.insert(path, entry_of(mode, object, "ls-tree")?);
            }
        }
        let entries = paths.iter().map(|path| match known.get(*path) {
            Some(entry) => entry.clone(),
            None => found.remove(*path).flatten(),
        });
        Ok(entries.collect())
    }
}

/// Returns what has `mode` and `object` as git's command `name` writes them.
pub(super) fn entry_of(mode: &[u8], object: &[u8], name: &'static str) -> Result<Entry, GitError> {
    let mode = u32::from_str_radix(&String::from_utf8_lossy(mode), 8);
    let mode = mode.map_err(|_| GitError::Answer(name))?;
    Ok((mode != 0).then(|| (mode, String::from_utf8_lossy(object).into_owned())))
}

/// Returns whether what has `mode` is a repository in the repository.
pub fn is_submodule(mode: u32) -> bool {
    mode & 0o170_000 == 0o160_000
}

/// Returns the first object of `rest`, where the line `head` is before each object and at the end, and
/// advances `rest`.
fn next_object<'a>(rest: &mut &'a [u8], head: &[u8]) -> Result<&'a [u8], GitError> {
    let Some(object) = rest.strip_prefix(head) else {
        // Such as that it is missing.
        let message = rest.split(|&byte| byte == b'\n').next();
        return Err(GitError::Failed {
            command: "cat-file".to_owned(),
            message: String::from_utf8_lossy(message.unwrap_or_default()).into_owned(),
        });
    };
    let end = [b"\n", head].concat();
    let len = memchr::memmem::find(object, &end).ok_or(GitError::Answer("cat-file"))?;
    *rest = &object[len + 1..];
    Ok(&object[..len])
}

/// Returns a number that no file of the repository can know.
fn random() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::process::id())
}
