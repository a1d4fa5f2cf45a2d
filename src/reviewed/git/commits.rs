//! The commits of a repository: which are new, and what they touch.

use std::path::{Path, PathBuf};

use super::{Git, GitError, path_of};

/// Most branches whose tips are known; those with the latest commits.
const MAX_TIPS: usize = 500;

/// A commit, and paths that it touches.
pub type Touched = (String, Vec<Vec<u8>>);

impl Git {
    /// Returns the commits that are the tips of branches, each with the folder of the working tree in which
    /// that branch is checked out, if there is one.
    ///
    /// # Errors
    ///
    /// [`GitError`].
    pub fn tips(&self) -> Result<Vec<(String, Option<PathBuf>)>, GitError> {
        let count = format!("--count={MAX_TIPS}");
        let arguments = [
            "for-each-ref",
            &count,
            "--sort=-committerdate",
            "--format=%(objectname) %(worktreepath)",
            "refs/heads",
        ];
        let answer = self.run(&arguments, b"")?;
        let lines = answer.split(|&byte| byte == b'\n');
        let tip = |line: &[u8]| {
            let end = line.iter().position(|&byte| byte == b' ')?;
            let folder = Some(path_of(&line[end + 1..]));
            let folder = folder.filter(|folder| folder != Path::new(""));
            Some((String::from_utf8_lossy(&line[..end]).into_owned(), folder))
        };
        Ok(lines.filter_map(tip).collect())
    }

    /// Returns the commits that one of `tips` has, and neither one of `known` nor a remote-tracking branch;
    /// the latest first. What of these does not exist does not count.
    ///
    /// # Errors
    ///
    /// [`GitError`].
    pub fn new_commits<'a>(
        &self,
        tips: impl IntoIterator<Item = &'a str>,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Result<Vec<String>, GitError> {
        let tips = tips.into_iter().map(|tip| format!("{tip}\n"));
        let known = known.into_iter().map(|tip| format!("^{tip}\n"));
        let input: String = tips.chain(known).collect();
        let arguments = [
            "rev-list",
            "--ignore-missing",
            "--stdin",
            "--not",
            "--remotes",
        ];
        let answer = self.run(&arguments, input.as_bytes())?;
        Ok(words(&answer).map(str::to_owned).collect())
    }

    /// Returns the commits that `new` has and `old` has not, each with its parents.
    ///
    /// # Errors
    ///
    /// [`GitError`], also if a commit is gone.
    pub fn commits_between(
        &self,
        old: Option<&str>,
        new: &str,
    ) -> Result<Vec<(String, Vec<String>)>, GitError> {
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
    pub fn subjects_of(&self, commits: &[String]) -> Result<Vec<String>, GitError> {
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
