//! What git runs by itself: hooks, and what the repository's own configuration names.
//!
//! Nobody reviews `.git` by the hunk. So it is only known which of that there is, and whether it changes. That
//! holds for submodules, other working trees and repositories in the project, too: git is run there as well.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread;

use super::{Git, always_safe, common_folder, is_true, line, own_folder, path_of, setting};
use crate::file::{self, Links};
use crate::programs::Programs;
use crate::version::Digest;

/// Most bytes of a hook that are read; of a larger one, its size and time are known.
const MAX_HOOK: u64 = 1 << 20;

/// Most repositories that are asked at a time.
const N_AT_ONCE: usize = 8;

/// What the repository's own configuration has that may have git run something.
#[derive(Debug, Clone, Default)]
pub(super) struct Settings {
    /// All values of each, as they are in the configuration, by its scope, of the repository or of the working
    /// tree, and its name.
    values: BTreeMap<(&'static str, Vec<u8>), Vec<u8>>,
    /// Where the user or the repository says that hooks are.
    hooks: Option<PathBuf>,
    /// Where the user says so for all repositories.
    users_hooks: Option<PathBuf>,
}

/// The files of the scopes of a repository's own configuration.
const FILES: [(&str, &str); 2] = [("local", "config"), ("worktree", "config.worktree")];

impl Settings {
    /// Adds a setting as `git config --list` has it.
    pub(super) fn add(&mut self, scope: &[u8], name: &[u8], value: Option<&[u8]>) {
        let own = FILES.iter().find(|(own, _)| own.as_bytes() == scope);
        if name == b"core.hookspath" && scope != b"command" {
            self.hooks = value.map(path_of);
            if own.is_none() {
                self.users_hooks.clone_from(&self.hooks);
            }
        }
        let Some((scope, _)) = own else {
            return;
        };
        if is_harmless(name, value.unwrap_or(b"true")) {
            return;
        }
        let values = self.values.entry((scope, name.to_vec())).or_default();
        values.extend(value.unwrap_or_default());
        values.push(0);
    }

    /// Returns whether it says that the files of the repository with git's folder `own` are not in `root`. For
    /// another working tree, what the repository says does not count.
    pub(super) fn is_elsewhere(&self, own: &Path, root: &Path) -> bool {
        let is_linked = own.join("commondir").exists();
        let mut values = self.values.iter();
        values.any(|((scope, name), values)| {
            let at = own.join(path_of(values.strip_suffix(b"\0").unwrap_or(values)));
            name == b"core.worktree"
                && !(is_linked && *scope == "local")
                && !fs::canonicalize(at).is_ok_and(|at| at == root)
        })
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

/// Returns whether `folder` is git's own folder for a repository, or for one of its working trees.
fn is_gits_own(folder: &Path) -> bool {
    let has = |name: &str| fs::symlink_metadata(folder.join(name)).is_ok();
    has("HEAD") && (has("objects") || has("commondir"))
}

/// Returns the folders in `folder`, also those that links lead to.
fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths.filter(|path| path.is_dir()).collect()
}

/// Returns whether `value` only turns something on or off.
fn is_switch(value: &[u8]) -> bool {
    let trues = [&b"true"[..], b"yes", b"on", b"1", b"keep"];
    !is_true(value) || trues.iter().any(|yes| value.eq_ignore_ascii_case(yes))
}

impl Git {
    /// Returns what git may run by itself: hooks that can be executed, and settings of the repository's own, as
    /// of the last [`Git::make_safe`]. Each hook of the project itself that is not ignored is a file like any.
    ///
    /// That of submodules and of other working trees counts, too, and of the repositories in the folders `trees`.
    pub fn programs(&self, trees: &[PathBuf]) -> Programs {
        let mut programs = self.own_programs(self);
        let others: Vec<PathBuf> = self.others(trees).into_iter().collect();
        for some in others.chunks(N_AT_ONCE) {
            thread::scope(|scope| {
                let own = some.iter().map(PathBuf::as_path);
                let ask = |own| scope.spawn(move || self.of_folder(own).own_programs(self));
                let asked: Vec<_> = own.map(ask).collect();
                let found = asked.into_iter().map(|one| one.join().expect("no panic"));
                programs.extend(found.flatten());
            });
        }
        programs
    }

    /// Returns what git may run by itself in this repository alone, with the names that it has from `around`.
    fn own_programs(&self, around: &Git) -> Programs {
        let mut programs = Programs::new();
        for ((scope, name), values) in &self.settings.values {
            let at = self
                .folder
                .join(path_of(values.strip_suffix(b"\0").unwrap_or(values)));
            // It, or what is left of it, since it may be deleted.
            let real = || at.ancestors().find_map(|at| fs::canonicalize(at).ok());
            let is_inside = || real().is_some_and(|at| at.starts_with(&around.root));
            // As each submodule has it.
            if name == b"core.worktree" && is_inside() {
                continue;
            }
            let (_, file) = FILES
                .iter()
                .find(|(own, _)| own == scope)
                .expect("it is one");
            let file = around.shown(&self.own_file(scope, file));
            let name = format!("{} in {file}", String::from_utf8_lossy(name));
            programs.insert(name, Digest::of(values));
        }
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
                programs.insert(around.shown(&path), digest);
            }
        }
        programs
    }

    /// Returns git's own folders of the other repositories that belong to this one, wherever they are checked
    /// out, and of those in the folders `trees`.
    fn others(&self, trees: &[PathBuf]) -> BTreeSet<PathBuf> {
        let mine = [&self.folder, &self.common].map(PathBuf::clone);
        let mut seen = BTreeSet::new();
        let mut found = BTreeSet::new();
        let mut todo: Vec<PathBuf> = trees.iter().filter_map(|tree| own_folder(tree)).collect();
        todo.extend(mine.iter().cloned());
        while let Some(folder) = todo.pop() {
            let Ok(folder) = fs::canonicalize(folder) else {
                continue;
            };
            if !seen.insert(folder.clone()) {
                continue;
            }
            if is_gits_own(&folder) {
                let inner = ["worktrees", "modules"].map(|inner| folders_in(&folder.join(inner)));
                todo.extend(inner.into_iter().flatten());
                todo.push(common_folder(&folder));
                let is_working_tree = !folder.join("config").exists();
                if !is_working_tree || folder.join("config.worktree").exists() {
                    found.insert(folder);
                }
            } else {
                // The name of a submodule may have slashes.
                todo.extend(folders_in(&folder));
            }
        }
        // What a working tree shares with others is found by the folder that they share.
        found.retain(|folder| !mine.contains(folder));
        found
    }

    /// Returns whether there are files in the folder `tree` of a submodule that is not checked out, or one of git's
    /// own folders has that as its working tree: then it was checked out, and is not since its `.git` is gone.
    pub fn was_checked_out(&self, tree: &Path) -> bool {
        let is_its = |own: &PathBuf| {
            let config = file::read(&own.join("config"), Links::Followed, MAX_HOOK);
            let config = config.unwrap_or_default();
            let mut lines = config.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
            // As git writes it.
            let value = lines.find_map(|line| line.strip_prefix(b"worktree = "));
            value.is_some_and(|value| {
                let real = [own.join(path_of(value)), tree.to_owned()].map(fs::canonicalize);
                matches!(real, [Ok(one), Ok(other)] if one == other)
            })
        };
        fs::read_dir(tree).is_ok_and(|mut files| files.next().is_some())
            || self.others(&[]).iter().any(is_its)
    }

    /// Returns the repository with git's own folder `own`, as far as it is asked what git runs there. Nothing is
    /// asked there, since its configuration may keep git from doing anything.
    fn of_folder(&self, own: &Path) -> Git {
        let mut git = Git::unknown(&self.root);
        git.folder = own.to_owned();
        git.common = fs::canonicalize(common_folder(own)).unwrap_or_else(|_| own.to_owned());
        git.settings.hooks.clone_from(&self.settings.users_hooks);
        let mut tree = None;
        for (scope, file) in FILES {
            let file = git.own_file(scope, file);
            if !file.is_file() {
                continue;
            }
            let mut command = self.command(&["config", "-z", "--includes", "--list", "--file"]);
            let found = self.run_command(command.arg(file), "config", b"");
            let found = found.unwrap_or_default();
            let entries = found.split(|&byte| byte == 0);
            let entries = entries.filter(|entry| !entry.is_empty());
            for (name, value) in entries.map(setting) {
                git.settings.add(scope.as_bytes(), name, value);
                if name == b"core.worktree" {
                    tree = value.map(path_of);
                }
            }
        }
        let read = |name: &str| file::read(&own.join(name), Links::Followed, MAX_HOOK).ok();
        let gitdir = || Some(path_of(line(&read("gitdir")?)).parent()?.to_owned());
        let tree = tree
            .or_else(gitdir)
            .or_else(|| Some(own.parent()?.to_owned()));
        git.root = own.join(tree.unwrap_or_default());
        git.root = fs::canonicalize(&git.root).unwrap_or(git.root);
        git.safe = always_safe();
        git
    }

    /// Returns the file that has the settings of `scope`.
    fn own_file(&self, scope: &str, file: &str) -> PathBuf {
        let is_shared = scope == "local";
        let folder = if is_shared {
            &self.common
        } else {
            &self.folder
        };
        folder.join(file)
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
