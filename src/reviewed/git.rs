//! Reads a project that is a git repository.
//!
//! The repository is only read, except for its index (`index`), and of what its own configuration names nothing is run: an agent can
//! write that file. So hooks and the monitor of its files are off, and so are the filters that it
//! defines; those of the user's own configuration are run, as git itself would.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender, TryRecvError};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant, SystemTime};

use crate::file::{self, Links};
use crate::files::{self, Committed};
use crate::path::flaw;

mod commits;
mod contents;
mod excludes;
mod index;
mod programs;
mod status;

pub use commits::{Commit, Tip};
pub use contents::is_submodule;
pub use excludes::patterns;
pub use index::Indexed;
pub use status::Status;

/// Why a repository cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// git is not installed, or cannot be started.
    #[error("git cannot be started: {0}")]
    NoGit(io::Error),
    /// git says that something is wrong.
    #[error("git {command}: {message}")]
    Failed {
        /// The command of git.
        command: String,
        /// What it says.
        message: String,
    },
    /// A merge, or what does the same such as `git stash pop`, has left marks of conflicts in files.
    #[error("files have conflicts, such as {0}; resolve them, then look again")]
    Conflicts(String),
    /// git waits for a file that is none, which the repository or the project has.
    #[error("git cannot read {}, which is not a regular file; move it away, then look again", .0.display())]
    Waits(PathBuf),
    /// A setting of the repository's own, which agents can write, has git look for its files elsewhere, or for none.
    #[error("{setting} in {} keeps git from looking at the files here; delete that line, then look again", file.display())]
    Setting {
        /// The file that has it.
        file: PathBuf,
        /// The setting, with its value.
        setting: String,
    },
    /// Another git is writing the index.
    #[error("another git has locked the index (index.lock)")]
    Locked,
    /// Its answer is not as expected.
    #[error("git {0}: its answer is not understood")]
    Answer(&'static str),
}

/// Most bytes of a file `.git`, which names a folder.
const MAX_GIT_FILE: u64 = 1 << 20;

/// How long what was read of the configuration counts as read now. It can change while git runs, too.
const JUST_NOW: Duration = Duration::from_millis(100);

/// How long git runs until it is looked whether it waits for a file that is none.
const PATIENCE: Duration = Duration::from_millis(500);

/// The files of a project that git reads to know what to do with others.
const OBEYED: [&str; 3] = [".gitignore", ".gitattributes", ".gitmodules"];

/// What in git's own folders is not looked at for files that are none, since git never reads it.
const NOT_GITS: &str = "agent-q-diff";

/// A working tree of a git repository.
#[derive(Debug, Clone)]
pub struct Git {
    /// The top of the working tree.
    pub root: PathBuf,
    /// git's own folder for this working tree.
    folder: PathBuf,
    /// The one that all its working trees share.
    common: PathBuf,
    /// Names and values of the configuration that keep git from running what the repository names.
    safe: Vec<(OsString, &'static str)>,
    /// The names of the filters that the repository's own configuration defines; they are not run.
    own_filters: HashSet<Vec<u8>>,
    /// The file with patterns to ignore that its own configuration names.
    own_excludes: Option<Vec<u8>>,
    /// Whether its configuration could be read.
    is_known: bool,
    /// Whether the modes of files mean something.
    has_modes: bool,
    /// Whether only some of the files are checked out.
    is_sparse: bool,
    /// The settings of the repository's own that may have git run something, and where its hooks are.
    settings: programs::Settings,
    /// When its configuration was read, see [`Git::trust_what_was_read`].
    read: Option<Instant>,
}

/// What a path is in a commit, as its mode and the name of its object; `None` if it is not there.
type Entry = Option<(u32, String)>;

/// What some paths are in a commit.
pub type Entries = HashMap<Vec<u8>, Entry>;

/// The variable with the folders above which git looks for no repository.
const CEILINGS: &str = "GIT_CEILING_DIRECTORIES";

/// The only variables of git's that it sees: where its programs are, and its configuration that is the
/// user's. Others could make it read another repository.
const KEPT: [&str; 7] = [
    "GIT_EXEC_PATH",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_ATTR_NOSYSTEM",
    CEILINGS,
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
];

/// Variables by which it takes no object from another repository, which may name a program, and shows
/// none in place of another.
const SAFE: [(&str, &str); 5] = [
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("LC_ALL", "C"),
];

impl Git {
    /// Returns the working tree that `folder` is in; `None` if it is in none.
    ///
    /// # Errors
    ///
    /// [`GitError`], also if git refuses a repository that another user owns.
    pub fn find(folder: &Path) -> Result<Option<Git>, GitError> {
        if let Some(git) = Git::find_by_settings(folder) {
            return Ok(Some(git));
        }
        let mut git = Git::unknown(folder);
        let both = ["rev-parse", "--show-toplevel", "--absolute-git-dir"];
        let both = match git.run(&both, b"") {
            Ok(both) => both,
            Err(GitError::Failed { message, .. })
                if message.contains("not a git repository")
                    || message.contains("must be run in a work tree") =>
            {
                // It may be meant to have no files, unless it had some.
                let top = folder.ancestors().find(|top| has_record(top));
                return top.map_or(Ok(None), |top| refused(top, "core.bare").map(|()| None));
            }
            Err(error @ GitError::Failed { .. }) => {
                let top = folder.ancestors().find(|top| own_folder(top).is_some());
                top.map_or(Ok(()), |top| refused(top, "core.worktree"))?;
                return Err(error);
            }
            Err(error) => return Err(error),
        };
        let lines: Vec<&[u8]> = line(&both).split(|&byte| byte == b'\n').collect();
        match lines[..] {
            [top, own]
                if own_folder(&path_of(top)).is_some_and(|folder| folder == path_of(own)) =>
            {
                (git.root, git.folder) = (path_of(top), path_of(own));
            }
            // A name has a newline, or the repository says that its working tree is elsewhere, where git
            // may find another repository.
            _ => {
                git.folder = path_of(line(&git.run(&["rev-parse", "--absolute-git-dir"], b"")?));
                git.root = path_of(line(&git.run(&["rev-parse", "--show-toplevel"], b"")?));
            }
        }
        git.common = fs::canonicalize(common_folder(&git.folder)).map_err(GitError::NoGit)?;
        if own_folder(&git.root).is_none_or(|own| own != git.folder) {
            refused_by(&git.folder, "core.worktree")?;
        }
        let settings = git.read_settings(None);
        git.settle(settings);
        Ok(Some(git))
    }

    /// Returns the working tree that `folder` is in if that is sure by which settings git reads there, which are
    /// needed anyway.
    fn find_by_settings(folder: &Path) -> Option<Git> {
        let folder = fs::canonicalize(folder).ok()?;
        let mut tops = folder.ancestors();
        let root = tops.find(|top| fs::symlink_metadata(top.join(".git")).is_ok())?;
        // Several ceilings are parted by colons.
        root.parent()
            .filter(|above| !above.as_os_str().as_bytes().contains(&b':'))?;
        let own = own_folder(root)?;
        let common = fs::canonicalize(common_folder(&own)).ok()?;
        // There, git finds no working tree.
        if folder.starts_with(&own) || folder.starts_with(&common) {
            return None;
        }
        let mut git = Git::unknown(&folder);
        (git.folder, git.common) = (own, common);
        let settings = git.read_settings(root.parent()).ok()?;
        // It has found this repository, may read it, and nothing there says that its files are elsewhere.
        let mut own = settings.iter().filter(|one| is_own(&one.scope));
        let config = git.common.join("config");
        let is_found = own
            .clone()
            .any(|one| one.scope == b"local" && one.is_in(root, &config));
        let is_plain = own.all(|one| match &one.name[..] {
            b"core.bare" => one.is_off(),
            name => name != b"core.worktree",
        });
        root.clone_into(&mut git.root);
        git.settle(Ok(settings));
        (is_found && is_plain).then_some(git)
    }

    /// Checks that the repository's configuration did not say at the last [`Git::make_safe`] that its files are
    /// elsewhere.
    ///
    /// # Errors
    ///
    /// [`GitError::Setting`].
    pub fn check_place(&self) -> Result<(), GitError> {
        // Where git cannot even go there, it says nothing of its configuration.
        match self.is_known && !self.settings.is_elsewhere(&self.folder, &self.root) {
            true => Ok(()),
            false => refused_by(&self.folder, "core.worktree"),
        }
    }

    /// Returns the working tree that `folder` is in before anything is known of it.
    fn unknown(folder: &Path) -> Git {
        Git {
            root: folder.to_owned(),
            folder: PathBuf::new(),
            common: PathBuf::new(),
            safe: Vec::new(),
            is_known: true,
            has_modes: true,
            is_sparse: false,
            own_filters: HashSet::new(),
            own_excludes: None,
            settings: programs::Settings::default(),
            read: None,
        }
    }

    /// Sees to it that nothing is run that the repository's configuration names now; it can change.
    pub fn make_safe(&mut self) {
        if self.read.take().is_none_or(|at| at.elapsed() > JUST_NOW) {
            let settings = self.read_settings(None);
            self.settle(settings);
        }
    }

    /// Returns the settings that git reads here, where it looks for a repository only below `ceiling`, if there is
    /// one.
    fn read_settings(&self, ceiling: Option<&Path>) -> Result<Vec<Setting>, GitError> {
        let list = ["config", "-z", "--show-scope", "--show-origin", "--list"];
        let mut command = self.command(&list);
        if let Some(ceiling) = ceiling {
            let mut all = ceiling.as_os_str().to_owned();
            if let Some(others) = std::env::var_os(CEILINGS) {
                all.push(":");
                all.push(others);
            }
            command.env(CEILINGS, all);
        }
        let found = self.run_command(&mut command, "config", b"")?;
        let mut words = found.split(|&byte| byte == 0);
        let mut settings = Vec::new();
        while let (Some(scope), Some(origin), Some(entry)) =
            (words.next(), words.next(), words.next())
        {
            let (name, value) = setting(entry);
            settings.push(Setting {
                scope: scope.to_vec(),
                origin: origin.to_vec(),
                name: name.to_vec(),
                value: value.map(<[u8]>::to_vec),
            });
        }
        Ok(settings)
    }

    /// Sees to it that nothing is run that these settings name. Where they could not be read, git does nothing
    /// else, either.
    fn settle(&mut self, settings: Result<Vec<Setting>, GitError>) {
        let mut options = always_safe();
        self.is_known = settings.is_ok();
        (self.has_modes, self.is_sparse) = (true, false);
        self.settings = programs::Settings::default();
        self.own_filters.clear();
        self.own_excludes = None;
        for one in settings.unwrap_or_default() {
            let (name, value) = (&one.name[..], one.value.as_deref());
            self.settings.add(&one.scope, name, value);
            let is_own = is_own(&one.scope);
            match name {
                b"core.excludesfile" if is_own => self.own_excludes = value.map(<[u8]>::to_vec),
                b"core.filemode" => self.has_modes = !one.is_off(),
                b"core.sparsecheckout" => self.is_sparse = !one.is_off(),
                _ => {}
            }
            let is_own = is_own && name.starts_with(b"filter.");
            let dot = name.iter().rposition(|&byte| byte == b'.');
            if let Some(dot) = dot.filter(|_| is_own) {
                let key = |key: &[u8]| OsString::from_vec([&name[..=dot], key].concat());
                options.extend([&b"clean"[..], b"smudge", b"process"].map(|name| (key(name), "")));
                options.push((key(b"required"), "false"));
                let filter = &name[b"filter.".len()..dot.max(b"filter.".len())];
                self.own_filters.insert(filter.to_vec());
            }
        }
        // git believes it on a disk where it does not hold, and then does not see some new files.
        if fs::symlink_metadata(self.root.join(".GIT")).is_err() {
            options.push(("core.ignoreCase".into(), "false"));
        }
        self.safe = options;
    }

    /// Lets what was read of its configuration just now count for the next [`Git::make_safe`], if that is soon.
    pub fn trust_what_was_read(&mut self) {
        self.read = Some(Instant::now());
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        for (variable, _) in std::env::vars_os() {
            let is_kept = KEPT.iter().any(|kept| variable == *kept);
            if variable.as_bytes().starts_with(b"GIT_") && !is_kept {
                command.env_remove(variable);
            }
        }
        command
            .envs(self.variables())
            .arg("--no-optional-locks")
            .args(arguments)
            .current_dir(&self.root)
            .envs(SAFE);
        command
    }

    /// Returns the variables by which git runs nothing that the repository's configuration names.
    fn variables(&self) -> impl Iterator<Item = (String, OsString)> {
        // Not by options, where a name cannot have `=`.
        let count = self.safe.len().to_string();
        let pairs = self.safe.iter().enumerate().flat_map(|(n, (name, value))| {
            let (key, value) = (name.clone(), OsString::from(value));
            [
                (format!("GIT_CONFIG_KEY_{n}"), key),
                (format!("GIT_CONFIG_VALUE_{n}"), value),
            ]
        });
        [("GIT_CONFIG_COUNT".to_owned(), count.into())]
            .into_iter()
            .chain(pairs)
    }

    /// Runs git with `input`, and returns its output.
    pub(crate) fn run(&self, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, GitError> {
        let name = arguments.first().copied().unwrap_or_default();
        self.run_command(&mut self.command(arguments), name, input)
    }

    /// Runs `command`, which is git's command `name`, with `input`, and returns its output.
    fn run_command(
        &self,
        command: &mut Command,
        name: &str,
        input: &[u8],
    ) -> Result<Vec<u8>, GitError> {
        Ok(self.output_of(command, name, input)?.stdout)
    }

    /// Like [`Git::run_command`]; what it prints on standard error, such as a warning, is returned, too.
    fn output_of(
        &self,
        command: &mut Command,
        name: &str,
        input: &[u8],
    ) -> Result<Output, GitError> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut git = command.spawn().map_err(GitError::NoGit)?;
        let mut stdin = git.stdin.take().expect("it is piped");
        let (stdout, stderr) = (git.stdout.take(), git.stderr.take());
        let (at_end, ended) = mpsc::channel::<()>();
        let (stdout, stderr, endless) = thread::scope(|scope| {
            // git begins to answer before it has read everything.
            scope.spawn(move || stdin.write_all(input));
            let stdout = read_in(scope, stdout, at_end.clone());
            let stderr = read_in(scope, stderr, at_end);
            let mut pause = PATIENCE;
            let endless = loop {
                // Both have ended when nobody can send any more.
                if ended.recv_timeout(pause) == Err(RecvTimeoutError::Disconnected) {
                    break None;
                }
                let found = self.no_file(&|| ended.try_recv() == Err(TryRecvError::Disconnected));
                if found.is_some() && git.kill().is_ok() {
                    break found;
                }
                pause *= 2;
            };
            let [stdout, stderr] = [stdout, stderr].map(|one| one.join().expect("no panic"));
            (stdout, stderr, endless)
        });
        let status = git.wait().map_err(GitError::NoGit)?;
        if let Some(path) = endless {
            return Err(GitError::Waits(path));
        }
        let output = Output {
            status,
            stdout: stdout.map_err(GitError::NoGit)?,
            stderr: stderr.map_err(GitError::NoGit)?,
        };
        successful(output, name)
    }

    /// Returns a file that git reads and that is none, such as a FIFO: git waits for what nobody writes. It
    /// is looked for until `is_over`, in git's own folders and among the files of the project that git
    /// obeys.
    fn no_file(&self, is_over: &dyn Fn() -> bool) -> Option<PathBuf> {
        let mut tops = self.root.ancestors();
        let top = tops.find(|top| fs::symlink_metadata(top.join(".git")).is_ok())?;
        let own = own_folder(top)?;
        let common = common_folder(&own);
        let mut folders = vec![(top.to_owned(), false), (own, true), (common, true)];
        while let Some((folder, is_gits)) = folders.pop() {
            if is_over() {
                return None;
            }
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let (name, path) = (entry.file_name(), entry.path());
                let Ok(there) = entry.file_type() else {
                    continue;
                };
                let is_read = if is_gits {
                    name != NOT_GITS
                } else {
                    name == ".git" || OBEYED.iter().any(|obeyed| name == *obeyed)
                };
                if there.is_dir() {
                    if is_read || !is_gits {
                        // A repository in the project is asked, too.
                        folders.push((path, is_gits || name == ".git"));
                    }
                } else if is_read && is_endless(&path) {
                    return Some(path);
                }
            }
        }
        None
    }

    /// Returns the folder of this working tree for data of agent-q-diff, beside git's.
    pub fn data_folder(&self) -> PathBuf {
        self.folder.join("agent-q-diff")
    }

    /// Returns the folder for data of agent-q-diff that all working trees of the repository share.
    pub fn common_data_folder(&self) -> PathBuf {
        self.common.join("agent-q-diff")
    }

    /// Returns the folders for data of agent-q-diff of all working trees of the repository that have one.
    pub fn data_folders(&self) -> Vec<PathBuf> {
        let all = self.folders().into_iter();
        let all = all.map(|own| own.join("agent-q-diff"));
        all.filter(|folder| file::has_record(folder)).collect()
    }

    /// Returns git's own folders of all working trees of the repository, the shared one first.
    fn folders(&self) -> Vec<PathBuf> {
        let linked = fs::read_dir(self.common.join("worktrees"));
        let linked = linked.into_iter().flatten().flatten();
        let linked = linked.map(|entry| entry.path());
        [self.common.clone()].into_iter().chain(linked).collect()
    }

    /// Returns the tops of the other working trees of the repository that have a record.
    pub fn other_trees(&self) -> Vec<PathBuf> {
        let top = |own: PathBuf| {
            // A linked one names the `.git` in its top.
            let name = file::read(&own.join("gitdir"), Links::Followed, MAX_GIT_FILE);
            let git = name.map_or(own, |name| path_of(line(&name)));
            fs::canonicalize(git.parent()?).ok()
        };
        let tops = self.folders().into_iter().filter_map(top);
        tops.filter(|top| *top != self.root && has_record(top))
            .collect()
    }

    /// Returns whether `other` is a working tree of the same repository.
    pub fn shares(&self, other: &Git) -> bool {
        self.common == other.common
    }

    /// Returns the commit that is checked out; `None` if there is none yet.
    ///
    /// # Errors
    ///
    /// [`GitError`].
    pub fn head(&self) -> Result<Option<String>, GitError> {
        if let Some(commit) = self.head_in_files() {
            return Ok(Some(commit));
        }
        let arguments = ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"];
        match self.run(&arguments, b"") {
            Ok(commit) => Ok(Some(String::from_utf8_lossy(line(&commit)).into_owned())),
            Err(GitError::Failed { message, .. }) if message.is_empty() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the commit that is checked out if git's files say it plainly, which needs no process.
    fn head_in_files(&self) -> Option<String> {
        let read = |path: PathBuf| file::read(&path, Links::Refused, MAX_GIT_FILE).ok();
        let head = read(self.folder.join("HEAD"))?;
        let commit = match line(&head).strip_prefix(b"ref: ") {
            None => line(&head).to_vec(),
            Some(branch) if branch.starts_with(b"refs/heads/") && flaw(branch).is_none() => {
                read(self.common.join(path_of(branch)))?
            }
            Some(_) => return None,
        };
        let commit = String::from_utf8(line(&commit).to_vec()).ok()?;
        let is_name =
            matches!(commit.len(), 40 | 64) && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_name.then_some(commit)
    }

    /// Returns by what it is known whether git has written the index: when, and how long it is.
    pub fn index_stamp(&self) -> Option<(SystemTime, u64)> {
        let found = fs::metadata(self.folder.join("index")).ok()?;
        Some((found.modified().ok()?, found.len()))
    }

    /// Checks that no file has conflicts.
    ///
    /// # Errors
    ///
    /// [`GitError`], also if one has.
    pub fn check_conflicts(&self) -> Result<(), GitError> {
        let found = self.run(&["ls-files", "--unmerged", "-z"], b"")?;
        let first = found.split(|&byte| byte == 0).next().unwrap_or_default();
        match first.iter().position(|&byte| byte == b'\t') {
            None => Ok(()),
            Some(tab) => {
                let path = String::from_utf8_lossy(&first[tab + 1..]).into_owned();
                Err(GitError::Conflicts(path))
            }
        }
    }

    fn is_there(&self, path: &[u8]) -> bool {
        fs::symlink_metadata(self.root.join(OsStr::from_bytes(path))).is_ok()
    }

    /// Returns the paths that differ between two commits; `None` is one without files. Those that no file of
    /// a project can have, as a commit that was made by hand may, are not among them.
    ///
    /// # Errors
    ///
    /// [`GitError`], also if a commit is gone.
    pub fn changed(&self, old: Option<&str>, new: Option<&str>) -> Result<Vec<Vec<u8>>, GitError> {
        let empty = match (old, new) {
            (Some(_), Some(_)) => String::new(),
            _ => {
                let tree = self.run(&["hash-object", "-t", "tree", "--stdin"], b"")?;
                String::from_utf8_lossy(line(&tree)).into_owned()
            }
        };
        let [old, new] = [old, new].map(|commit| commit.unwrap_or(&empty));
        let arguments = [
            "diff-tree",
            "-r",
            "-z",
            "--name-only",
            "--no-renames",
            old,
            new,
        ];
        let answer = self.run(&arguments, b"")?;
        let paths = answer.split(|&byte| byte == 0);
        let paths = paths.filter(|path| flaw(path).is_none());
        Ok(paths.map(<[u8]>::to_vec).collect())
    }

    /// Returns whether `commit` is still there: one that no branch has is deleted some day.
    ///
    /// # Errors
    ///
    /// [`GitError::NoGit`].
    pub fn has_commit(&self, commit: &str) -> Result<bool, GitError> {
        Ok(self.commit(commit)?.is_some())
    }

    /// Returns the commit that `revision` names, as in `git show`; `None` if it names none.
    ///
    /// # Errors
    ///
    /// [`GitError::NoGit`].
    pub fn commit(&self, revision: &str) -> Result<Option<String>, GitError> {
        if revision.starts_with('-') {
            return Ok(None);
        }
        let name = format!("{revision}^{{commit}}");
        self.named(&["rev-parse", "--verify", "--quiet", &name])
    }

    /// Returns the commit at which `commit` and HEAD have parted; `None` if they have none in common.
    ///
    /// # Errors
    ///
    /// [`GitError::NoGit`].
    pub fn merge_base(&self, commit: &str) -> Result<Option<String>, GitError> {
        self.named(&["merge-base", "HEAD", commit])
    }

    /// Returns the object that git names if it is asked by `arguments`; `None` if it says that there is none.
    fn named(&self, arguments: &[&str]) -> Result<Option<String>, GitError> {
        match self.run(arguments, b"") {
            Ok(commit) => Ok(Some(String::from_utf8_lossy(line(&commit)).into_owned())),
            Err(GitError::Failed { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns `mode`, as git writes it, or that of a file that nobody executes if such modes mean nothing
    /// here.
    pub fn mode(&self, mode: u32) -> u32 {
        match mode {
            0o100_755 if !self.has_modes => 0o100_644,
            mode => mode,
        }
    }

    /// Returns what `path` is in the working tree.
    ///
    /// # Errors
    ///
    /// If it is there and cannot be read.
    pub fn working(&self, path: &[u8]) -> Result<Committed, io::Error> {
        let found = files::working(&self.root, path)?;
        Ok(Committed {
            mode: self.mode(found.mode),
            ..found
        })
    }
}

/// Returns names and values of the configuration that keep git from running what any repository names.
fn always_safe() -> Vec<(OsString, &'static str)> {
    vec![
        ("core.fsmonitor".into(), "false"),
        ("core.hooksPath".into(), "/dev/null"),
    ]
}

/// A setting that git has read.
struct Setting {
    /// As in `git config --show-scope`.
    scope: Vec<u8>,
    /// As in `git config --show-origin`.
    origin: Vec<u8>,
    name: Vec<u8>,
    /// Nothing means that it is on.
    value: Option<Vec<u8>>,
}

impl Setting {
    /// Returns whether it is in `file`; git has gone to `root`.
    fn is_in(&self, root: &Path, file: &Path) -> bool {
        let name = self.origin.strip_prefix(b"file:");
        let found = name.and_then(|name| fs::canonicalize(root.join(path_of(name))).ok());
        found.is_some() && found == fs::canonicalize(file).ok()
    }

    fn is_off(&self) -> bool {
        self.value.as_deref().is_some_and(|value| !is_true(value))
    }
}

/// Returns whether settings of this scope are of the repository's own, which agents can write.
fn is_own(scope: &[u8]) -> bool {
    matches!(scope, b"local" | b"worktree")
}

/// Returns the name and the value of a setting, as git lists it.
fn setting(entry: &[u8]) -> (&[u8], Option<&[u8]>) {
    let mut parts = entry.splitn(2, |&byte| byte == b'\n');
    (parts.next().unwrap_or_default(), parts.next())
}

/// Returns git's own folder that the working tree at `top` has, or names in the file `.git`, as in a
/// worktree or a submodule.
fn own_folder(top: &Path) -> Option<PathBuf> {
    let own = top.join(".git");
    let own = match file::read(&own, Links::Followed, MAX_GIT_FILE) {
        Ok(text) => top.join(path_of(line(text.strip_prefix(b"gitdir: ")?))),
        Err(_) => own,
    };
    fs::canonicalize(own).ok()
}

/// Returns the error that `setting` of the repository that the working tree at `top` has keeps git from looking
/// at it, if it is there.
fn refused(top: &Path, setting: &str) -> Result<(), GitError> {
    own_folder(top).map_or(Ok(()), |own| refused_by(&own, setting))
}

/// Like [`refused`], by git's own folder `own`.
fn refused_by(own: &Path, setting: &str) -> Result<(), GitError> {
    // Not asked there: that is what it keeps git from.
    let git = Git::unknown(Path::new("/"));
    for file in ["config.worktree", "config"].map(|name| own.join(name)) {
        let mut command = git.command(&["config", "--includes", "--file"]);
        let command = command.arg(&file).args(["--get", setting]);
        let value = git.run_command(command, "config", b"").ok();
        // Only this one is a switch.
        let value = value.filter(|value| setting != "core.bare" || is_true(line(value)));
        if let Some(value) = value {
            return Err(GitError::Setting {
                file: fs::canonicalize(&file).unwrap_or(file),
                setting: format!("{setting} = {}", String::from_utf8_lossy(line(&value))),
            });
        }
    }
    Ok(())
}

/// Returns variables, each with its value, by which a git that is run in `folder` runs nothing that the
/// repository's configuration names, and does not write the index by itself.
pub fn safe_environment(folder: &Path) -> Vec<OsString> {
    let mut git = Git::unknown(folder);
    git.make_safe();
    let name_and_value = |(name, value): (String, OsString)| {
        let mut variable = OsString::from(name + "=");
        variable.push(value);
        variable
    };
    let all = git.variables().map(name_and_value);
    all.chain(["GIT_OPTIONAL_LOCKS=0".into()]).collect()
}

/// Returns the folder for data of agent-q-diff of the working tree at `top`, as [`Git::data_folder`]. No
/// process is run.
pub fn data_folder_of(top: &Path) -> Option<PathBuf> {
    Some(own_folder(top)?.join("agent-q-diff"))
}

/// Returns whether there is a record of the working tree at `top`.
pub fn has_record(top: &Path) -> bool {
    data_folder_of(top).is_some_and(|folder| file::has_record(&folder))
}

/// Returns the folder that all working trees of a repository share, of which `own` is git's folder.
fn common_folder(own: &Path) -> PathBuf {
    let name = file::read(&own.join("commondir"), Links::Followed, MAX_GIT_FILE);
    name.map_or_else(|_| own.to_owned(), |name| own.join(path_of(line(&name))))
}

/// Returns whether to read the file `path` may take for ever. A socket cannot be opened, and some use
/// `/dev/null` as an empty file.
fn is_endless(path: &Path) -> bool {
    let is_endless = |found: fs::Metadata| {
        let kind = found.file_type();
        let null = fs::metadata("/dev/null").map(|null| null.rdev());
        kind.is_fifo() || kind.is_char_device() && null.is_ok_and(|null| null != found.rdev())
    };
    fs::metadata(path).is_ok_and(is_endless)
}

/// Returns the thread that reads what `from` has to its end, and then drops `at_end`.
fn read_in<'scope, 'env>(
    scope: &'scope thread::Scope<'scope, 'env>,
    from: Option<impl Read + Send + 'scope>,
    at_end: Sender<()>,
) -> ScopedJoinHandle<'scope, io::Result<Vec<u8>>> {
    scope.spawn(move || {
        let mut bytes = Vec::new();
        let read = from.map_or(Ok(0), |mut from| from.read_to_end(&mut bytes));
        drop(at_end);
        read.map(|_| bytes)
    })
}

fn successful(output: Output, name: &str) -> Result<Output, GitError> {
    if output.status.success() {
        return Ok(output);
    }
    let message = String::from_utf8_lossy(&output.stderr);
    Err(GitError::Failed {
        command: name.to_owned(),
        message: message.trim().to_owned(),
    })
}

/// Returns what git is in the middle of, such as a merge, or `None`. `folder` is [`Git::data_folder`],
/// beside which it says so, each worktree its own.
pub fn in_progress(folder: &Path) -> Option<&'static str> {
    let signs = [
        ("MERGE_HEAD", "a merge"),
        ("rebase-merge", "a rebase"),
        ("rebase-apply", "a rebase"),
        ("CHERRY_PICK_HEAD", "a cherry-pick"),
        ("REVERT_HEAD", "a revert"),
        ("sequencer", "a cherry-pick or revert"),
        ("BISECT_LOG", "a bisect"),
    ];
    let mut there = signs
        .iter()
        .filter(|(name, _)| fs::symlink_metadata(folder.with_file_name(name)).is_ok());
    there.next().map(|(_, what)| *what)
}

/// Returns whether `value` is one of git's words for true.
fn is_true(value: &[u8]) -> bool {
    let falses = [&b""[..], b"false", b"no", b"off", b"0"];
    !falses.iter().any(|no| value.eq_ignore_ascii_case(no))
}

/// Returns `output` without the newline at its end.
fn line(output: &[u8]) -> &[u8] {
    output.strip_suffix(b"\n").unwrap_or(output)
}

fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}
