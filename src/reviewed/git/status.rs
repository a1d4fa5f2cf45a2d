//! What git says of the working tree: what differs from HEAD, and what it does not look at.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::Output;
use std::thread;

use super::contents::entry_of;
use super::{Entries, Git, GitError};
use crate::file::{self, Links};
use crate::files::{self, MAX_SIZE};
use crate::path::is_editors_own;

/// What git says of the working tree.
#[derive(Debug, Default)]
pub struct Status {
    /// The commit that is checked out; `None` if there is none yet.
    pub head: Option<String>,
    /// The paths that may differ from HEAD, in the index or in the working tree, each with whether git
    /// does not know it. They are sorted.
    pub changed: Vec<(Vec<u8>, bool)>,
    /// The folders that are repositories of their own, and that git does not know.
    pub repositories: Vec<Vec<u8>>,
    /// The submodules, each with its commit in the index; not those that a sparse checkout leaves out.
    pub submodules: BTreeMap<Vec<u8>, Option<String>>,
    /// The folders that cannot be read, each with a slash at its end.
    pub unreadable: Vec<Vec<u8>>,
    /// The paths that a sparse checkout leaves out.
    pub outside: Vec<Vec<u8>>,
    /// What the paths that git lists are in HEAD.
    pub in_head: Entries,
    /// What they are in the index, where that is something else.
    pub in_index: Entries,
}

impl Git {
    /// Returns what differs from `head`, which is checked out; not what is ignored.
    ///
    /// # Errors
    ///
    /// [`GitError`], also if there are conflicts.
    pub fn status(&self) -> Result<Status, GitError> {
        let arguments = [
            "status",
            "--branch",
            "--no-ahead-behind",
            "--porcelain=v2",
            "-z",
            "--untracked-files=all",
            "--no-renames",
            "--ignore-submodules=dirty",
        ];
        // Both read the whole index, so they run at the same time.
        let (answer, listed) = thread::scope(|scope| {
            let listing = scope.spawn(|| self.listed());
            let answer = self.output_of(&mut self.command(&arguments), "status", b"");
            (answer, listing.join().expect("it does not panic"))
        });
        let Output {
            stdout: answer,
            stderr,
            ..
        } = answer?;
        let head = answer
            .split(|&byte| byte == 0)
            .find_map(|entry| entry.strip_prefix(b"# branch.oid "))
            .filter(|oid| *oid != b"(initial)")
            .map(|oid| String::from_utf8_lossy(oid).into_owned());
        let mut status = self.hidden(listed?, head.as_deref())?;
        status.head = head;
        status.unreadable = unreadable(&stderr);
        for entry in answer
            .split(|&byte| byte == 0)
            .filter(|entry| !entry.is_empty())
        {
            // The path is after so many words.
            let n_words = match entry[0] {
                b'1' => 8,
                b'u' => 10,
                b'?' => 1,
                // The branch, and whatever else the configuration may ask for.
                b'#' => continue,
                _ => return Err(GitError::Answer("status")),
            };
            let words = entry.splitn(n_words + 1, |&byte| byte == b' ');
            let words: Vec<&[u8]> = words.collect();
            let path = *words.get(n_words).ok_or(GitError::Answer("status"))?;
            let is_new = entry[0] == b'?';
            if is_new {
                // It is in HEAD if it was taken out of the index; then it was listed before.
                status.in_head.entry(path.to_vec()).or_insert(None);
            } else if entry[0] == b'1' {
                let head = entry_of(words[3], words[6], "status")?;
                let index = entry_of(words[4], words[7], "status")?;
                if index != head {
                    status.in_index.insert(path.to_vec(), index);
                }
                status.in_head.insert(path.to_vec(), head);
            }
            // One that the index has no more is there as what it was.
            let is_submodule = entry[0] == b'1' && words[4] == b"160000";
            if is_submodule {
                let index = status.in_index.get(path).or(status.in_head.get(path));
                let commit = index.cloned().flatten().map(|(_, commit)| commit);
                status.submodules.insert(path.to_vec(), commit);
            }
            if entry[0] == b'u' {
                let path = String::from_utf8_lossy(path).into_owned();
                return Err(GitError::Conflicts(path));
            } else if path.ends_with(b"/") {
                status.repositories.push(path.to_vec());
            } else if !(is_submodule || is_new && is_editors_own(path)) {
                status.changed.push((path.to_vec(), is_new));
            }
        }
        // A file that is in HEAD, and no longer in the index, is there twice.
        status.changed.sort();
        status.changed.dedup_by(|other, known| other.0 == known.0);
        Ok(status)
    }

    /// Returns what git's index lists, and whether with the names of objects, which are needed only where there
    /// may be submodules: to print them takes as long as the rest. If the index plainly has nothing for which that
    /// is needed, nothing is listed.
    fn listed(&self) -> Result<(Vec<u8>, bool), GitError> {
        let names = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut indices = Vec::new();
        let mut shared = false;
        for path in names.map(|entry| entry.path()) {
            let name = path.file_name().unwrap_or_default().as_bytes();
            let is_shared = name.starts_with(b"sharedindex.");
            if is_shared || name == b"index" {
                indices.extend(file::read(&path, Links::Followed, file::MAX_BYTES));
                shared |= is_shared;
            }
        }
        if let ([index], false) = (&indices[..], shared)
            && is_plain(index)
        {
            return Ok((Vec::new(), false));
        }
        // The mode of a submodule, in the order of bytes that an index has.
        let is_there = |index: &Vec<u8>| memchr::memmem::find(index, &[0, 0, 0o340, 0]).is_some();
        let has_objects = indices.iter().any(is_there);
        let arguments = ["ls-files", "-v", "-z", "-s"];
        let arguments = &arguments[..if has_objects { 4 } else { 3 }];
        Ok((self.run(arguments, b"")?, has_objects))
    }

    /// Returns what differs from `head` of the files at which git was told not to look, what a sparse
    /// checkout leaves out, and which submodules are checked out. `listed` is as from [`Git::listed`].
    fn hidden(
        &self,
        (listed, has_objects): (Vec<u8>, bool),
        head: Option<&str>,
    ) -> Result<Status, GitError> {
        let mut status = Status::default();
        let mut hidden = Vec::new();
        for entry in listed.split(|&byte| byte == 0) {
            let [tag, b' ', rest @ ..] = entry else {
                continue;
            };
            // As `100644 OBJECT 0<tab>PATH`.
            let staged = has_objects.then(|| memchr::memchr(b'\t', rest)).flatten();
            let path = staged.map_or(rest, |tab| &rest[tab + 1..]);
            if let Some(tab) = staged
                && let Some(object) = rest[..tab].strip_prefix(b"160000 ")
            {
                if !tag.eq_ignore_ascii_case(&b'S') || self.is_there(path) {
                    let commit = object.split(|&byte| byte == b' ').next();
                    let commit = commit.map(|name| String::from_utf8_lossy(name).into_owned());
                    status.submodules.insert(path.to_vec(), commit);
                }
                continue;
            }
            let is_skipped = tag.eq_ignore_ascii_case(&b'S');
            if is_skipped && self.is_sparse && !self.is_there(path) {
                status.outside.push(path.to_vec());
            } else if is_skipped || tag.is_ascii_lowercase() {
                hidden.push(path);
            }
        }
        let (mut entries, mut large) = (Entries::new(), HashSet::new());
        if let Some(head) = head.filter(|_| !hidden.is_empty()) {
            entries = self.entries_of(head, &hidden, &entries)?;
            large = self.large(&entries, MAX_SIZE)?;
        }
        // What is large is not looked at, so that it counts as changed if it may be.
        hidden.retain(|path| {
            let is_large = large.contains(*path) || files::size(&self.root, path) > MAX_SIZE;
            if is_large {
                status.changed.push((path.to_vec(), false));
            }
            !is_large
        });
        let committed = match head {
            Some(head) if !hidden.is_empty() => self.committed(head, &hidden, &entries)?,
            _ => Vec::new(),
        };
        let mut committed = committed.into_iter();
        for path in hidden {
            let same = committed.next().is_some_and(|committed| {
                let has_size = files::size(&self.root, path) == committed.bytes.len() as u64;
                has_size && self.working(path).is_ok_and(|working| working == committed)
            });
            if !same {
                status.changed.push((path.to_vec(), false));
            }
        }
        Ok(status)
    }

    /// Returns those of `paths` that have a filter which the repository's own configuration defines, each with
    /// its name. What a commit would have there is not known, since none of these filters is run.
    ///
    /// # Errors
    ///
    /// [`GitError`].
    pub fn own_filtered<'a>(
        &self,
        paths: impl IntoIterator<Item = &'a Vec<u8>>,
    ) -> Result<HashMap<Vec<u8>, String>, GitError> {
        let mut found = HashMap::new();
        if self.own_filters.is_empty() {
            return Ok(found);
        }
        let paths = paths.into_iter();
        let input: Vec<u8> = paths.flat_map(|path| [path, &b"\0"[..]].concat()).collect();
        // The file with the attributes may have changed, too: what the index has counts as well.
        for more in [&[][..], &["--cached"]] {
            let arguments = [&["check-attr", "-z", "--stdin"], more, &["filter"]].concat();
            let answer = self.run(&arguments, &input)?;
            let words: Vec<&[u8]> = answer.split(|&byte| byte == 0).collect();
            for one in words.chunks_exact(3) {
                if self.own_filters.contains(one[2]) {
                    let name = String::from_utf8_lossy(one[2]).into_owned();
                    found.insert(one[0].to_vec(), name);
                }
            }
        }
        Ok(found)
    }
}

/// Returns whether `index`, the bytes of a git index, has files and links only, at all of which git looks. Of one
/// with anything that is not known here, as of another version, it is not said.
fn is_plain(index: &[u8]) -> bool {
    /// Length of an entry before its path.
    const HEAD: usize = 62;
    let number = |at: usize| Some(u32::from_be_bytes(index.get(at..at + 4)?.try_into().ok()?));
    let read = || {
        // What git has read of other versions is longer, or shorter.
        let n_entries = number(8).filter(|_| index.starts_with(b"DIRC\0\0\0\x02"))?;
        let mut at = 12;
        for _ in 0..n_entries {
            let kind = number(at + 24)? >> 12;
            let flags = number(at + HEAD - 4)? & 0xffff;
            let path = index.get(at + HEAD..)?;
            let len = memchr::memchr(0, path)?;
            let padding = 8 - (HEAD + len) % 8;
            let is_whole = len > 0
                && flags & 0xfff == u32::try_from(len.min(0xfff)).ok()?
                && path.get(len..len + padding)?.iter().all(|&byte| byte == 0);
            // Not a folder or a submodule, nor one at which git does not look, or has more flags for.
            if !(is_whole && matches!(kind, 0o10 | 0o12) && flags & 0xc000 == 0) {
                return None;
            }
            at += HEAD + len + padding;
        }
        // The rest is of no use here, but for the name of a shared index, or what changes how entries are meant.
        while at + 20 < index.len() {
            let is_known = [b"TREE", b"REUC", b"UNTR", b"FSMN", b"EOIE", b"IEOT"]
                .iter()
                .any(|known| index[at..].starts_with(&known[..]));
            at += usize::try_from(number(at + 4).filter(|_| is_known)?).ok()? + 8;
        }
        (at + 20 == index.len()).then_some(())
    };
    read().is_some()
}

/// Returns the folders that git could not read, by its warnings.
fn unreadable(warnings: &[u8]) -> Vec<Vec<u8>> {
    let lines = warnings.split(|&byte| byte == b'\n');
    let names = lines.filter_map(|line| {
        let name = line.strip_prefix(b"warning: could not open directory '")?;
        let end = memchr::memmem::rfind(name, b"': ")?;
        Some(name[..end].to_vec())
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use super::*;

    struct Repository(PathBuf);

    impl Repository {
        fn new(name: &str) -> Repository {
            let name = format!("aqd-index-{}-{name}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir_all(folder.join("folder")).unwrap();
            let repository = Repository(folder);
            repository.git(&["init", "-q"]);
            for name in ["a", "folder/b", &"n".repeat(200)] {
                fs::write(repository.0.join(name), "text").unwrap();
            }
            std::os::unix::fs::symlink("a", repository.0.join("link")).unwrap();
            repository.git(&["add", "."]);
            let commit = [
                "-c",
                "user.name=a",
                "-c",
                "user.email=a",
                "commit",
                "-qm",
                "a",
            ];
            repository.git(&commit);
            repository
        }

        fn git(&self, arguments: &[&str]) {
            let mut git = Command::new("git");
            let done = git.current_dir(&self.0).args(arguments).output().unwrap();
            assert!(done.status.success(), "{arguments:?}: {done:?}");
        }

        fn index(&self) -> Vec<u8> {
            fs::read(self.0.join(".git/index")).unwrap()
        }
    }

    impl Drop for Repository {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn an_index_is_plain_only_if_git_looks_at_all_of_it() {
        let make_longer = |folder: &Path| {
            for n in 0..9 {
                fs::write(folder.join("a".repeat(n + 1)), "").unwrap();
            }
        };
        let plain: [&[&str]; 4] = [
            &["status"],
            &["add", "."],
            &["rm", "-q", "--cached", "a"],
            &["update-index", "--untracked-cache"],
        ];
        for arguments in plain {
            let repository = Repository::new("plain");
            make_longer(&repository.0);
            repository.git(arguments);
            assert!(is_plain(&repository.index()), "{arguments:?}");
        }
        let others: [&[&str]; 7] = [
            &["update-index", "--assume-unchanged", "folder/b"],
            &["update-index", "--skip-worktree", "folder/b"],
            &["update-index", "--index-version", "4"],
            &["update-index", "--split-index"],
            &["add", "-N", "."],
            &[
                "update-index",
                "--add",
                "--cacheinfo",
                "160000,1234567890123456789012345678901234567890,sub",
            ],
            &["sparse-checkout", "set", "--cone", "--sparse-index", "x"],
        ];
        for arguments in others {
            let repository = Repository::new("other");
            make_longer(&repository.0);
            repository.git(arguments);
            assert!(!is_plain(&repository.index()), "{arguments:?}");
        }
    }

    #[test]
    fn an_index_that_is_not_whole_is_not_plain() {
        let repository = Repository::new("part");
        let index = repository.index();
        assert!(is_plain(&index));
        // Below the entries, there is at least a checksum.
        let entries = memchr::memmem::find(&index, b"TREE").unwrap();
        for end in 0..entries + 20 {
            assert!(!is_plain(&index[..end]), "{end}");
        }
        let more = [&index[..], &[0]].concat();
        assert!(!is_plain(&more) && !is_plain(b""));
    }
}
