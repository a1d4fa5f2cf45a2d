//! Edits that are made before they are reviewed: whether one would be pending after that, and for which
//! agents the user has chosen that also while no Emacs runs.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::ProjectError;
use crate::files::MAX_SIZE;
use crate::git::{self, Git};
use crate::path::is_editors_own;
use crate::plain::is_outside;
use crate::project::Project;
use crate::record::Turn;

impl Project {
    /// Returns whether the file `path`, an absolute name, is or would be one of the project: git does not ignore
    /// it.
    pub fn includes(&self, path: &Path) -> bool {
        let folder = folder_of(path);
        let rest = path.strip_prefix(&folder).unwrap_or(path);
        let real = folder.canonicalize().map(|folder| folder.join(rest));
        real.is_ok_and(|real| {
            real.starts_with(self.root()) && !self.tree.git().is_some_and(|git| git.ignores(&real))
        })
    }

    /// Checks that an edit of the file `path`, an absolute name, is pending once it is made: the project
    /// can be looked at, `agent` is in a turn in it, and the next look will see the file. `thread` is the
    /// agent's session, perhaps with a space and the name of a subagent. `text` is what the file will
    /// hold, or `None` if it is to be deleted.
    ///
    /// # Errors
    ///
    /// [`ProjectError::NotPending`] if it would not be, and others if that cannot be known.
    pub fn check_pending_after(
        &mut self,
        agent: &str,
        thread: &str,
        path: &Path,
        text: Option<&[u8]>,
    ) -> Result<(), ProjectError> {
        let refuse = |why: &str| Err(ProjectError::NotPending(why.to_owned()));
        let look = self.look_unasked()?;
        let is_its = |turn: &Turn| {
            let rest = thread.strip_prefix(&turn.session);
            turn.agent == agent && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        };
        let mut turns = self.store.ledger().at_work();
        if !turns.any(|turn| is_its(turn) && turn.goes_on()) {
            return Err(ProjectError::NotPending(format!(
                "no turn of {agent} is known in its project"
            )));
        }
        let Some(path) = self.relative(path) else {
            return refuse("it is not in the project");
        };
        let is_left_out = look.left_out.iter().any(|(folder, _)| {
            let rest = path.strip_prefix(&folder[..]);
            let is_in = |rest: &[u8]| folder.ends_with(b"/") || rest.starts_with(b"/");
            rest.is_some_and(|rest| rest.is_empty() || is_in(rest))
        });
        if is_left_out || is_editors_own(&path) {
            return refuse("it is not looked at for what is pending");
        }
        if text.is_some_and(|text| text.len() as u64 > MAX_SIZE) {
            return refuse("it is too large to be looked at");
        }
        match self.tree.git() {
            Some(git) if git.is_ignored(&path)? => refuse("git ignores it"),
            Some(git) if !git.own_filtered([&path])?.is_empty() => {
                refuse("it has a filter that the repository's own configuration defines")
            }
            None if is_outside(&path) => refuse("it is not looked at for what is pending"),
            None if text.is_some_and(|text| text.contains(&0)) => refuse("it is no text"),
            _ => Ok(()),
        }
    }

    /// Records that the edits of `agent` pass before they are reviewed, also while no Emacs runs, except
    /// of files that `protected` patterns match; or, without these, that they do not pass.
    ///
    /// # Errors
    ///
    /// [`ProjectError::Store`]; then nothing was written.
    pub fn let_pass(
        &mut self,
        agent: &str,
        protected: Option<Vec<String>>,
    ) -> Result<(), ProjectError> {
        self.store.refresh()?;
        if self.store.ledger().protected_from(agent) == protected.as_deref() {
            return Ok(());
        }
        self.store.change(|ledger, _| {
            ledger.let_pass(agent, protected);
            Ok(())
        })
    }

    /// Returns the agents whose edits pass; see [`Project::let_pass`].
    ///
    /// # Errors
    ///
    /// [`ProjectError::Store`].
    pub fn passing(&mut self) -> Result<Vec<String>, ProjectError> {
        self.store.refresh()?;
        Ok(self.store.ledger().passing().map(str::to_owned).collect())
    }

    /// Checks that an edit of the file `path`, an absolute name, by `agent` passes while no Emacs runs: that
    /// is recorded by [`Project::let_pass`], and nothing protects the file, as far as that can be seen
    /// here. If in doubt, it is protected.
    ///
    /// # Errors
    ///
    /// [`ProjectError::NotPassing`], or [`ProjectError::Store`].
    pub fn check_passes(&mut self, agent: &str, path: &Path) -> Result<(), ProjectError> {
        let refuse = |why: Option<&str>| Err(ProjectError::NotPassing(why.map(str::to_owned)));
        self.store.refresh()?;
        let Some(protected) = self.store.ledger().protected_from(agent) else {
            return refuse(None);
        };
        let Some(relative) = self.relative(path) else {
            return refuse(Some("it is not in the project"));
        };
        if path != self.root().join(OsStr::from_bytes(&relative)) {
            return refuse(Some("a link leads to it"));
        }
        let is_plain = |found: &fs::Metadata| found.is_file() && found.nlink() == 1;
        if fs::symlink_metadata(path).is_ok_and(|found| !is_plain(&found)) {
            return refuse(Some("it has another name, or is no plain file"));
        }
        let mut folders = path.ancestors().skip(1);
        let folders = folders.by_ref().take_while(|folder| *folder != self.root());
        let mut both =
            folders.map(|folder| folder.join("HEAD").exists() && folder.join("objects").exists());
        if both.any(|is_git| is_git) {
            return refuse(Some("it may be one of git's own"));
        }
        if is_protected(protected, &relative) {
            return refuse(Some(
                "it is protected, so the user is asked before it is edited",
            ));
        }
        Ok(())
    }

    /// Returns the path of the file that is called `name`, an absolute name, in this project, or `None`
    /// if it is elsewhere. It need not exist.
    fn relative(&self, name: &Path) -> Option<Vec<u8>> {
        let folder = folder_of(name);
        let rest = name.strip_prefix(&folder).ok()?;
        let mut real = folder.canonicalize().ok()?.join(rest);
        if real.is_symlink() {
            real = real.canonicalize().ok()?;
        }
        let path = real.strip_prefix(self.root()).ok()?;
        Some(path.as_os_str().as_bytes().to_vec())
    }
}

impl Git {
    /// Returns whether git ignores the file `path`, which it does not know.
    ///
    /// # Errors
    ///
    /// [`git::GitError`].
    fn is_ignored(&self, path: &[u8]) -> Result<bool, git::GitError> {
        // Not a pattern of git's.
        let path = [b"./", path, b"\0"].concat();
        match self.run(&["check-ignore", "-z", "--stdin"], &path) {
            Ok(ignored) => Ok(!ignored.is_empty()),
            Err(git::GitError::Failed { message, .. }) if message.is_empty() => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Returns the nearest folder above the file `name` that exists: its project is the file's.
pub fn folder_of(name: &Path) -> PathBuf {
    let mut folders = name.ancestors().skip(1);
    let found = folders.find(|folder| folder.is_dir());
    found.unwrap_or_else(|| Path::new("/")).to_owned()
}

/// Returns whether one of `patterns` matches `path` or, if it ends with a slash, a folder above it. They are
/// shell wildcards for each part, at any depth unless they begin with a slash, and case does not matter; as
/// in Emacs's option `agent-q-diff-protected-asked`. If that cannot be known here, it is true.
fn is_protected(patterns: &[String], path: &[u8]) -> bool {
    // Some disks take these for other characters.
    let is_odd = |byte: &u8| !byte.is_ascii_graphic() && *byte != b' ' || b"\\:~".contains(byte);
    let path = path.to_ascii_lowercase();
    let parts: Vec<&[u8]> = path.split(|&byte| byte == b'/').collect();
    path.iter().any(is_odd)
        || parts
            .iter()
            .any(|part| part.ends_with(b".") || part.ends_with(b" "))
        || patterns.iter().any(|pattern| matches(pattern, &parts))
}

fn matches(pattern: &str, parts: &[&[u8]]) -> bool {
    if !pattern.is_ascii() || pattern.contains('\\') {
        return true;
    }
    let pattern = pattern.to_ascii_lowercase();
    let wanted: Vec<&str> = pattern.split('/').filter(|part| !part.is_empty()).collect();
    let n_starts = if pattern.starts_with('/') {
        1
    } else {
        parts.len()
    };
    (0..n_starts).any(|start| {
        let rest = &parts[start..];
        let is_whole = rest.len() == wanted.len();
        (is_whole || pattern.ends_with('/') && rest.len() > wanted.len())
            && wanted
                .iter()
                .zip(rest)
                .all(|(part, name)| matches_part(part.as_bytes(), name))
    })
}

/// Returns whether the shell wildcard `pattern` matches `name`.
fn matches_part(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern, name) {
        ([], []) => true,
        ([b'*', rest @ ..], _) => (0..=name.len()).any(|n| matches_part(rest, &name[n..])),
        ([b'?', rest @ ..], [_, others @ ..]) => matches_part(rest, others),
        ([b'[', rest @ ..], [byte, others @ ..]) => {
            // A bracket that is the first one stands for itself.
            let (is_not, set) = match rest {
                [b'!' | b'^', set @ ..] => (true, set),
                set => (false, set),
            };
            let Some(end) = set.iter().skip(1).position(|&byte| byte == b']') else {
                return true;
            };
            let (set, rest) = (&set[..=end], &set[end + 2..]);
            is_in(set, *byte) != is_not && matches_part(rest, others)
        }
        ([wanted, rest @ ..], [byte, others @ ..]) => wanted == byte && matches_part(rest, others),
        _ => false,
    }
}

/// Returns whether `byte` is in `set`, the characters and ranges between brackets.
fn is_in(set: &[u8], byte: u8) -> bool {
    match set {
        [first, b'-', last, rest @ ..] => (*first..=*last).contains(&byte) || is_in(rest, byte),
        [one, rest @ ..] => *one == byte || is_in(rest, byte),
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_emacs() {
        let cases = [
            (".envrc", "a/.envrc", true),
            (".envrc", ".envrc/a", false),
            (".git/", "a/.git/hooks/x", true),
            (".git/", "a/.GIT", true),
            (".git/", "a.git/x", false),
            ("/top", "top", true),
            ("/top", "a/top", false),
            ("/a/", "a/b/c", true),
            (".github/workflows/", "x/.github/workflows/ci.yml", true),
            (".github/workflows/", ".github/other/ci.yml", false),
            ("project/*.sbt", "project/build.sbt", true),
            ("project/*.sbt", "project/a/build.sbt", false),
            ("git~[0-9]/", "git1/x", false),
            ("*.config.[cm][jt]s", "a/b.config.mts", true),
            ("*.config.[cm][jt]s", "a/b.config.xts", false),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[!a-c]x", "dx", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("package.json", "package.json.txt", false),
        ];
        for (pattern, path, expected) in cases {
            let patterns = [pattern.to_owned()];
            let found = is_protected(&patterns, path.as_bytes());
            assert_eq!(found, expected, "{pattern} {path}");
        }
    }

    #[test]
    fn what_is_in_doubt_is_protected() {
        for path in ["\u{e9}", "a:b", "git~1/x", "a\\b", "a./b", "a /b", "a\nb"] {
            assert!(is_protected(&[], path.as_bytes()), "{path:?}");
        }
        for pattern in ["\\*", "[a", "\u{e9}"] {
            assert!(is_protected(&[pattern.to_owned()], b"a"), "{pattern}");
        }
        assert!(!is_protected(&[], b"a folder/a-b_c.d"));
    }
}
