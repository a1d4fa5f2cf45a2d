//! What git runs by itself: hooks, and what the repository's own configuration names.
//!
//! Nobody reviews `.git` by the hunk. So it is only known which of that there is, and whether it changes.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::{Git, is_true, path_of};
use crate::file::{self, Links};
use crate::programs::Programs;
use crate::version::Digest;

/// Most bytes of a hook that are read; of a larger one, its size and time are known.
const MAX_HOOK: u64 = 1 << 20;

/// What the repository's own configuration has that may have git run something.
#[derive(Debug, Clone, Default)]
pub(super) struct Settings {
    /// All values of each, as they are in the configuration.
    values: BTreeMap<String, Vec<u8>>,
    /// Where the user or the repository says that hooks are.
    hooks: Option<PathBuf>,
}

impl Settings {
    /// Adds a setting as `git config --list` has it.
    pub(super) fn add(&mut self, scope: &[u8], name: &[u8], value: Option<&[u8]>) {
        if name == b"core.hookspath" && scope != b"command" {
            self.hooks = value.map(path_of);
        }
        let file = match scope {
            b"local" => ".git/config",
            b"worktree" => ".git/config.worktree",
            _ => return,
        };
        if is_harmless(name, value.unwrap_or(b"true")) {
            return;
        }
        let name = format!("{} in {file}", String::from_utf8_lossy(name));
        let values = self.values.entry(name).or_default();
        values.extend(value.unwrap_or_default());
        values.push(0);
    }
}

/// Returns whether the setting `name`, with its section and key in lower case, cannot have git run anything
/// when it has this value. What is not known to be so can.
fn is_harmless(name: &[u8], value: &[u8]) -> bool {
    let name = String::from_utf8_lossy(name);
    let (section, rest) = name.split_once('.').unwrap_or((&name, ""));
    let key = rest.rsplit('.').next().unwrap_or_default();
    let is_switch = || is_switch(value);
    match section {
        "advice" | "color" | "column" | "extensions" | "feature" | "fetch" | "index" | "init"
        | "maintenance" | "pull" | "rerere" | "status" | "user" => true,
        "branch" => key != "mergeoptions",
        "gc" => key != "recentobjectshook",
        "commit" => matches!(
            key,
            "gpgsign" | "template" | "verbose" | "cleanup" | "status"
        ),
        "merge" => matches!(key, "conflictstyle" | "ff" | "renames" | "stat" | "log"),
        "core" if matches!(key, "fsmonitor" | "untrackedcache") => is_switch(),
        "core" => matches!(
            key,
            "abbrev"
                | "autocrlf"
                | "bare"
                | "bigfilethreshold"
                | "checkstat"
                | "commentchar"
                | "compression"
                | "eol"
                | "excludesfile"
                | "filemode"
                | "ignorecase"
                | "logallrefupdates"
                | "longpaths"
                | "precomposeunicode"
                | "preloadindex"
                | "quotepath"
                | "repositoryformatversion"
                | "safecrlf"
                | "sharedrepository"
                | "sparsecheckout"
                | "sparsecheckoutcone"
                | "splitindex"
                | "symlinks"
                | "trustctime"
                | "whitespace"
        ),
        "lfs" => matches!(key, "repositoryformatversion" | "access" | "locksverify"),
        "push" => matches!(key, "default" | "autosetupremote" | "followtags"),
        // A helper is named by two colons.
        "remote" | "submodule" if matches!(key, "url" | "pushurl") => {
            !value.starts_with(b"-") && !value.windows(2).any(|two| two == b"::")
        }
        "remote" => matches!(
            key,
            "fetch" | "gh-resolved" | "prune" | "push" | "pushdefault" | "tagopt"
        ),
        "submodule" => matches!(
            key,
            "active" | "branch" | "ignore" | "fetchrecursesubmodules"
        ),
        _ => false,
    }
}

/// Returns whether `value` only turns something on or off.
fn is_switch(value: &[u8]) -> bool {
    let trues = [&b"true"[..], b"yes", b"on", b"1", b"keep"];
    !is_true(value) || trues.iter().any(|yes| value.eq_ignore_ascii_case(yes))
}

impl Git {
    /// Returns what git may run by itself: hooks that can be executed, and settings of the repository's own, as
    /// of the last [`Git::make_safe`]. Each hook of the project itself that is not ignored is a file like any.
    pub fn programs(&self) -> Programs {
        let settings = self.settings.values.iter();
        let mut programs: Programs = settings
            .map(|(name, values)| (name.clone(), Digest::of(values)))
            .collect();
        let folder = self.hooks();
        let is_own = self.is_in_project(&folder);
        let ignored = if is_own {
            self.ignored_in(&folder)
        } else {
            Vec::new()
        };
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.extension() == Some(OsStr::new("sample")) || is_own && !ignored.contains(&path)
            {
                continue;
            }
            if let Some(digest) = self.hook(&path) {
                programs.insert(self.shown(&path), digest);
            }
        }
        programs
    }

    /// Returns the folder in which git looks for hooks.
    fn hooks(&self) -> PathBuf {
        match &self.settings.hooks {
            Some(folder) => match (folder.strip_prefix("~"), std::env::var_os("HOME")) {
                (Ok(rest), Some(home)) => Path::new(&home).join(rest),
                _ => self.root.join(folder),
            },
            None => self.common.join("hooks"),
        }
    }

    /// Returns whether `path` is in the working tree, and not in what is git's own.
    fn is_in_project(&self, path: &Path) -> bool {
        path.starts_with(&self.root)
            && !path.starts_with(self.root.join(".git"))
            && !path.starts_with(&self.common)
    }

    /// Returns the files below `folder` that git ignores.
    fn ignored_in(&self, folder: &Path) -> Vec<PathBuf> {
        let arguments = ["ls-files", "-o", "-i", "--exclude-standard", "-z", "--"];
        let mut command = self.command(&arguments);
        command.arg(folder).env("GIT_LITERAL_PATHSPECS", "1");
        let found = self
            .run_command(&mut command, "ls-files", b"")
            .unwrap_or_default();
        let paths = found
            .split(|&byte| byte == 0)
            .filter(|path| !path.is_empty());
        paths
            .map(|path| self.root.join(OsStr::from_bytes(path)))
            .collect()
    }

    /// Returns what the hook `path` is; `None` if git does not run it. A link to a file of the project is where
    /// it leads, since that file is reviewed.
    fn hook(&self, path: &Path) -> Option<Digest> {
        let found = fs::metadata(path).ok()?;
        if !found.is_file() || found.permissions().mode() & 0o111 == 0 {
            return None;
        }
        let target = fs::canonicalize(path).ok()?;
        if fs::symlink_metadata(path).is_ok_and(|it| it.is_symlink()) && self.is_in_project(&target)
        {
            return Some(Digest::of(target.as_os_str().as_bytes()));
        }
        let bytes = file::read(path, Links::Followed, MAX_HOOK);
        let bytes =
            bytes.unwrap_or_else(|_| format!("{} {:?}", found.len(), found.modified()).into());
        Some(Digest::of(&bytes))
    }

    /// Returns the name of the hook `path` as the user reads it.
    fn shown(&self, path: &Path) -> String {
        let inside = path
            .strip_prefix(&self.common)
            .map(|rest| Path::new(".git").join(rest));
        let below = path.strip_prefix(&self.root).map(Path::to_owned);
        let name = inside.or(below).unwrap_or_else(|_| path.to_owned());
        name.to_string_lossy().into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_to_run_nothing_can_run_something() {
        for (name, value) in [
            ("branch.a.b.merge", "refs/heads/a"),
            ("branch.a.vscode-merge-base", "origin/main"),
            ("core.fsmonitor", "true"),
            ("core.bare", "false"),
            ("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"),
            ("remote.origin.url", "git@example.com:a/b"),
            ("submodule.a.url", "https://example.com/a"),
            ("user.name", "User"),
        ] {
            assert!(is_harmless(name.as_bytes(), value.as_bytes()), "{name}");
        }
        for (name, value) in [
            ("core.fsmonitor", "./evil.sh"),
            ("core.hookspath", ".hooks"),
            ("core.sshcommand", "x"),
            ("core.pager", "x"),
            ("core.worktree", "/"),
            ("alias.st", "!x"),
            ("filter.a.clean", "x"),
            ("diff.a.textconv", "x"),
            ("merge.a.driver", "x"),
            ("include.path", "x"),
            ("includeif.gitdir:/.path", "x"),
            ("credential.helper", "x"),
            ("remote.origin.url", "ext::sh -c x"),
            ("remote.origin.uploadpack", "x"),
            ("submodule.a.update", "!x"),
            ("of-the-future.program", "x"),
        ] {
            assert!(!is_harmless(name.as_bytes(), value.as_bytes()), "{name}");
        }
    }
}
