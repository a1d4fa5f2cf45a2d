//! The commits of a repository: which are new, and what they touch.

use std::path::{Path, PathBuf};

use super::{Git, GitError, path_of};

/// Most names of commits that are asked for.
const MAX_TIPS: usize = 1000;

/// A commit that has a name.
pub struct Tip {
    /// It.
    pub commit: String,
    /// Whether it is the tip of a branch of this repository.
    pub is_branch: bool,
    /// The top of the working tree in which that is checked out, if there is one.
    pub folder: Option<PathBuf>,
}

/// The name of a commit, and those of its parents.
pub type Commit = (String, Vec<String>);

/// A commit, and paths that it touches.
pub type Touched = (String, Vec<Vec<u8>>);

impl Git {
    /// Returns the commits that branches, remote-tracking ones and tags name; those with the latest dates, if
    /// they are very many.
    ///
    /// # Errors
    ///
    /// [`GitError`].
    pub fn tips(&self) -> Result<Vec<Tip>, GitError> {
        let count = format!("--count={MAX_TIPS}");
        let arguments = [
            "for-each-ref",
            &count,
            "--sort=-creatordate",
            "--format=%(objectname) %(*objectname) %(refname:rstrip=-2) %(worktreepath)",
            "refs/heads",
            "refs/remotes",
            "refs/tags",
        ];
        let answer = self.run(&arguments, b"")?;
        let lines = answer.split(|&byte| byte == b'\n');
        let tip = |line: &[u8]| {
            let mut words = line.splitn(4, |&byte| byte == b' ');
            let (object, peeled) = (words.next()?, words.next()?);
            let is_branch = words.next()? == b"refs/heads";
            let folder = Some(path_of(words.next()?));
            let commit = if peeled.is_empty() { object } else { peeled };
            Some(Tip {
                commit: String::from_utf8_lossy(commit).into_owned(),
                is_branch,
                folder: folder.filter(|folder| folder != Path::new("")),
            })
        };
        Ok(lines.filter_map(tip).collect())
    }

    /// Returns the commits that one of `tips` has and none of `known`, nor, if `is_local`, a remote-tracking
    /// branch; the latest first, at most 1,000. What of these does not exist does not count.
    ///
    /// # Errors
    ///
    /// [`GitError`].
    pub fn new_commits<'a>(
        &self,
        tips: impl IntoIterator<Item = &'a str>,
        known: impl IntoIterator<Item = &'a str>,
        is_local: bool,
    ) -> Result<Vec<String>, GitError> {
        let tips = tips.into_iter().map(|tip| format!("{tip}\n"));
        let known = known.into_iter().map(|tip| format!("^{tip}\n"));
        let input: String = tips.chain(known).collect();
        let mut arguments = vec!["rev-list", "--ignore-missing", "-n1000", "--stdin"];
        if is_local {
            arguments.extend(["--not", "--remotes"]);
        }
        let answer = self.run(&arguments, input.as_bytes())?;
        Ok(words(&answer).map(str::to_owned).collect())
    }

    /// Returns the last one of `commits`, of which only the last 100 count, that still exists and that `head`
    /// has; `None` if there is none.
    ///
    /// # Errors
    ///
    /// [`GitError`].
    pub fn latest_of<'a>(
        &self,
        commits: impl IntoIterator<Item = &'a String, IntoIter: DoubleEndedIterator>,
        head: Option<&str>,
    ) -> Result<Option<String>, GitError> {
        for commit in commits.into_iter().rev().take(MAX_TIPS / 10) {
            let has = [
                "merge-base",
                "--is-ancestor",
                commit,
                head.unwrap_or("HEAD"),
            ];
            if self.run(&has, b"").is_ok() {
                return Ok(Some(commit.clone()));
            }
        }
        Ok(None)
    }

    /// Returns the commits that `new` has and `old` has not, each with its parents.
    ///
    /// # Errors
    ///
    /// [`GitError`], also if a commit is gone.
    pub fn commits_between(&self, old: Option<&str>, new: &str) -> Result<Vec<Commit>, GitError> {
        let not_old = old.map(|old| format!("^{old}"));
        let mut arguments = vec!["rev-list", "--parents", new];
        arguments.extend(not_old.as_deref());
        let answer = self.run(&arguments, b"")?;
        let answer = String::from_utf8_lossy(&answer);
        let commits = answer.lines().filter_map(|line| {
            let mut words = line.split(' ').map(str::to_owned);
            Some((words.next()?, words.collect()))
        });
        Ok(commits.collect())
    }

    /// Returns the abbreviated name of each of `commits` with the first line of its message.
    ///
    /// # Errors
    ///
    /// [`GitError`], also if a commit is gone.
    pub fn subjects(&self, commits: &[String]) -> Result<Vec<String>, GitError> {
        let mut arguments = vec!["log", "--format=%h %s", "--no-show-signature"];
        arguments.push("--no-walk=unsorted");
        arguments.extend(commits.iter().map(String::as_str));
        let answer = self.run(&arguments, b"")?;
        let answer = String::from_utf8_lossy(&answer);
        Ok(answer.lines().map(str::to_owned).collect())
    }

    /// Returns the paths that each of `commits` touches, for a merge those that no parent of it has so.
    ///
    /// # Errors
    ///
    /// [`GitError`], also if a commit is gone.
    pub fn touched(&self, commits: &[String]) -> Result<Vec<Touched>, GitError> {
        let mut touched: Vec<Touched> = Vec::new();
        if commits.is_empty() {
            return Ok(touched);
        }
        let arguments = [
            "diff-tree",
            "--stdin",
            "--root",
            "-c",
            "-r",
            "-z",
            "--raw",
            "--no-renames",
        ];
        let input: String = commits.iter().map(|commit| format!("{commit}\n")).collect();
        let answer = self.run(&arguments, input.as_bytes())?;
        let mut words = answer
            .split(|&byte| byte == 0)
            .filter(|word| !word.is_empty());
        // The name of each commit that touches something, and for each path two words.
        while let Some(word) = words.next() {
            if word.starts_with(b":") {
                let path = words.next().zip(touched.last_mut());
                let (path, (_, paths)) = path.ok_or(GitError::Answer("diff-tree"))?;
                paths.push(path.to_vec());
            } else {
                touched.push((String::from_utf8_lossy(word).into_owned(), Vec::new()));
            }
        }
        Ok(touched)
    }
}

fn words(answer: &[u8]) -> impl Iterator<Item = &str> {
    std::str::from_utf8(answer)
        .unwrap_or_default()
        .split_ascii_whitespace()
}
