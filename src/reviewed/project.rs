//! A project on disk: its files, its repository, and what was reviewed of it.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use agent_q_diff_engine::diff::edits;
use agent_q_diff_engine::text::Text;
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use crate::authors::{Authors, Written};
use crate::git::{self, Committed, Entries, Git, GitError, Indexed, Status};
use crate::stage::staged;
use crate::store::{Content, Store, StoreError, now};
use crate::{
    Digest, HunkNote, Ledger, Moves, Pending, Rename, Staged, TakenOut, Turn, Version, World,
};

/// Why a project cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// It is in no git repository.
    #[error("{} is in no git repository", .0.display())]
    NoRepository(PathBuf),
    /// git is in the middle of something, and files may have marks of conflicts.
    #[error("git is in the middle of {0}; finish or abort it, then look again")]
    InProgress(&'static str),
    /// There is no such commit.
    #[error("there is no commit \"{0}\" here")]
    NoCommit(String),
    /// Two commits have no history in common.
    #[error("HEAD and \"{0}\" have no commit in common")]
    NothingInCommon(String),
    /// It is all of the home directory, or of the machine.
    #[error("turns of agents are not recorded in a repository at {}", .0.display())]
    TooWide(PathBuf),
    /// git cannot read it.
    #[error(transparent)]
    Git(#[from] GitError),
    /// Its store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What was decided about a file cannot go into git's index.
    #[error("{} is not staged: {why}", String::from_utf8_lossy(path))]
    NotStaged {
        /// The file.
        path: Vec<u8>,
        /// Why.
        why: String,
    },
    /// A file cannot be read.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        error: std::io::Error,
    },
}

/// A number of lines, and the first of them.
pub type Lines = (usize, Vec<u8>);

/// Largest size of a file that is looked at, in bytes.
const MAX_SIZE: u64 = 8 << 20;

/// Most files that git does not know, below one folder at the top, that are looked at: more are what some
/// program installed, such as `node_modules`.
const MAX_NEW: usize = 1000;

/// Least time between two times that texts are deleted which nothing names; younger ones stay anyway.
const PRUNE_PAUSE: Duration = Duration::from_secs(60 * 60);

/// What is not looked at: the path of a file or of a folder, and how many files that are; 0 is a folder
/// that is a repository of its own.
pub type LeftOut = (Vec<u8>, usize);

/// What a look has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// What is pending, by path.
    pub pending: Vec<Pending>,
    /// What was not looked at: files that are larger than 8 MiB, each with 1, and folders at the top
    /// with more than 1,000 files that git does not know, with their number; repositories in it that are
    /// new or at another commit, each with 0.
    pub left_out: Vec<LeftOut>,
}

/// What differs from a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Since {
    /// The abbreviated name of the commit, and the first line of its message.
    pub name: String,
    /// What differs, by path; what is called reviewed there is what the commit has.
    pub changed: Vec<Pending>,
    /// What was reviewed of these paths, in their order.
    pub reviewed: Vec<Version>,
    /// As [`Look::left_out`].
    pub left_out: Vec<LeftOut>,
}

/// A working tree, and what was reviewed of it.
#[derive(Debug)]
pub struct Project {
    git: Git,
    store: Store,
    /// When texts that nothing names were last deleted.
    pruned: Option<Instant>,
}

impl Project {
    /// Opens the project that `folder` is in.
    ///
    /// # Errors
    ///
    /// [`ProjectError`].
    pub fn open(folder: &Path) -> Result<Project, ProjectError> {
        let git = Git::find(folder)?;
        let git = git.ok_or_else(|| ProjectError::NoRepository(folder.to_owned()))?;
        let store = Store::open(git.data_folder())?;
        Ok(Project {
            git,
            store,
            pruned: None,
        })
    }

    /// The top of the working tree.
    pub fn root(&self) -> &Path {
        &self.git.root
    }

    /// The folder of the texts that were reviewed, each in a file named by its digest.
    pub fn texts(&self) -> PathBuf {
        self.store.texts()
    }

    /// Returns what is pending, by path; see [`Ledger::look`](crate::Ledger::look). The reviewed and
    /// the working texts are then in [`Project::texts`].
    ///
    /// # Errors
    ///
    /// [`ProjectError`]; then nothing was written.
    pub fn look(&mut self, moves: Moves) -> Result<Look, ProjectError> {
        self.git.make_safe();
        if let Some(what) = git::in_progress(self.store.folder()) {
            return Err(ProjectError::InProgress(what));
        }
        let mut status = self.git.status()?;
        let head = status.head.clone();
        let in_head = std::mem::take(&mut status.in_head);
        let in_index = std::mem::take(&mut status.in_index);
        let (dirty, left_out, not_looked_at) = self.bounded(status);
        let git = &self.git;
        let pending = self.store.change(|ledger, store| {
            if let Some(base) = ledger.base()
                && Some(base) != head.as_deref()
                && !git.has_commit(base)?
            {
                ledger.lose_base(head.as_deref());
            }
            let mut disk = Disk::new(git, store, head, dirty);
            disk.left_out = not_looked_at;
            disk.read_committed(ledger.base(), ledger.has_base(), &in_head)?;
            let index = disk.index(ledger, in_index)?;
            ledger.follow_index(&mut disk, index, false)?;
            let pending = ledger.look(&mut disk, moves)?;
            ledger.end_turns(|turn| !is_alive(turn));
            Ok::<_, ProjectError>(pending)
        })?;
        if self.pruned.is_none_or(|at| at.elapsed() > PRUNE_PAUSE) {
            self.store.prune()?;
            self.pruned = Some(Instant::now());
        }
        Ok(Look { pending, left_out })
    }

    /// Returns what differs from the commit that `revision` names, or, if `is_parting`, from the one at which
    /// that and HEAD have parted. What was reviewed is as of the last look. The texts are in
    /// [`Project::texts`] for a day.
    ///
    /// # Errors
    ///
    /// [`ProjectError`], also if there is no such commit.
    pub fn since(&mut self, revision: &str, is_parting: bool) -> Result<Since, ProjectError> {
        self.git.make_safe();
        let commit = self.git.commit(revision)?;
        let mut commit = commit.ok_or_else(|| ProjectError::NoCommit(revision.to_owned()))?;
        if is_parting {
            let base = self.git.merge_base(&commit)?;
            commit = base.ok_or_else(|| ProjectError::NothingInCommon(revision.to_owned()))?;
        }
        let name = self.git.subjects(None, &commit, 1)?.join("");
        let status = self.git.status()?;
        let head = status.head.clone();
        let (dirty, left_out, not_looked_at) = self.bounded(status);
        let mut paths = self.git.changed(Some(&commit), head.as_deref())?;
        paths.extend(dirty.iter().cloned());
        paths.retain(|path| !not_looked_at.contains(path) && self.git.size(path) <= MAX_SIZE);
        paths.sort();
        paths.dedup();
        let names: Vec<&[u8]> = paths.iter().map(Vec::as_slice).collect();
        let committed = self.git.committed(&commit, &names, &Entries::new())?;
        let mut disk = Disk::new(&self.git, &self.store, head, dirty);
        disk.left_out = not_looked_at;
        let mut changed = Vec::new();
        let mut reviewed = Vec::new();
        for (path, committed) in paths.iter().zip(committed) {
            let working = working(&self.git, path)?;
            if working == committed {
                continue;
            }
            let before = self.store.ledger().reviewed(&mut disk, path)?;
            let [committed, working] = [&committed, &working].map(|one| stored(&self.store, one));
            let (committed, working) = (committed?, working?);
            for version in [committed, working, before] {
                self.store.hold(version)?;
            }
            if committed != working {
                changed.push(Pending {
                    path: path.clone(),
                    reviewed: committed,
                    working,
                    written: Written::default(),
                });
                reviewed.push(before);
            }
        }
        Ok(Since {
            name,
            changed,
            reviewed,
            left_out,
        })
    }

    /// Records that the user has just staged something: that is reviewed, unless an agent is at work.
    ///
    /// # Errors
    ///
    /// [`ProjectError`]; then nothing was written.
    pub fn note_staged(&mut self) -> Result<(), ProjectError> {
        self.git.make_safe();
        let mut status = self.git.status()?;
        let head = status.head.clone();
        let in_index = std::mem::take(&mut status.in_index);
        let (dirty, _, not_looked_at) = self.bounded(status);
        let git = &self.git;
        self.store.change(|ledger, store| {
            let mut disk = Disk::new(git, store, head, dirty);
            disk.left_out = not_looked_at;
            let index = disk.index(ledger, in_index)?;
            ledger.follow_index(&mut disk, index, true)
        })
    }

    /// Records whether what the user stages, outside any turn of an agent, is reviewed by that.
    ///
    /// # Errors
    ///
    /// [`ProjectError::Store`].
    pub fn keep_staged(&mut self, keeps: bool) -> Result<(), ProjectError> {
        self.store.refresh()?;
        if self.store.ledger().keeps_staged() == keeps {
            return Ok(());
        }
        self.store.change(|ledger, _| {
            ledger.keep_staged(keeps);
            Ok(())
        })
    }

    /// Returns who can have moved HEAD since the last look, as far as that is known without asking.
    fn moves_unasked(&self) -> Moves {
        let ledger = self.store.ledger();
        let mut turns = ledger.at_work();
        match turns.next() {
            Some(first) if first.head.as_deref() == ledger.base() => Moves::Agent,
            _ => Moves::Unknown,
        }
    }

    /// Looks as [`Project::look`] does, without knowing who has moved HEAD: in an agent's turn that was
    /// the agent, and otherwise it is left to be asked.
    ///
    /// # Errors
    ///
    /// [`ProjectError`]; then nothing was written.
    pub fn look_unasked(&mut self) -> Result<Look, ProjectError> {
        self.store.refresh()?;
        self.look(self.moves_unasked())
    }

    /// Records that `agent`, the process `pid`, has begun a turn in `session`, and what the files hold at
    /// that time: what others write until its end is the agent's. In the middle of a merge or the like,
    /// files are not looked at.
    ///
    /// # Errors
    ///
    /// [`ProjectError`], also if the project is all of the home directory.
    pub fn begin_turn(
        &mut self,
        agent: &str,
        session: &str,
        title: &str,
        pid: Option<u32>,
    ) -> Result<(), ProjectError> {
        let home = std::env::var_os("HOME");
        if self.root().parent().is_none()
            || home.is_some_and(|home| self.root() == Path::new(&home))
        {
            return Err(ProjectError::TooWide(self.root().to_owned()));
        }
        self.look_if_possible()?;
        let head = self.git.head()?;
        let title = title.lines().next().unwrap_or_default();
        self.store.change(|ledger, _| {
            ledger.begin_turn(Turn {
                time: now(),
                head,
                agent: agent.to_owned(),
                session: session.to_owned(),
                title: title.to_owned(),
                pid,
                ..Turn::default()
            });
            Ok(())
        })
    }

    /// Records that the turn of `agent` in `session` is over, or, without them, each turn; returns how
    /// many were.
    ///
    /// # Errors
    ///
    /// [`ProjectError`].
    pub fn end_turns(&mut self, only: Option<(&str, &str)>) -> Result<usize, ProjectError> {
        let is_meant = |turn: &Turn| {
            only.is_none_or(|(agent, session)| turn.agent == agent && turn.session == session)
        };
        self.store.refresh()?;
        let n = self
            .store
            .ledger()
            .at_work()
            .filter(|turn| is_meant(turn))
            .count();
        if n > 0 {
            self.look_if_possible()?;
            self.store.change(|ledger, _| {
                ledger.end_turns(is_meant);
                Ok::<(), ProjectError>(())
            })?;
        }
        Ok(n)
    }

    /// Returns the agent whose turn began last and is not over, if there is one.
    ///
    /// # Errors
    ///
    /// [`ProjectError::Store`].
    pub fn agent_at_work(&mut self) -> Result<Option<String>, ProjectError> {
        let turns = self.at_work()?;
        Ok(turns.last().map(|turn| turn.agent.clone()))
    }

    /// Returns whether `agent` is in a turn in `session`.
    ///
    /// # Errors
    ///
    /// [`ProjectError::Store`].
    pub fn is_at_work(&mut self, agent: &str, session: &str) -> Result<bool, ProjectError> {
        let mut turns = self.at_work()?;
        Ok(turns.any(|turn| turn.agent == agent && turn.session == session))
    }

    /// Returns the turns that are not over, and whose agents still run.
    fn at_work(&mut self) -> Result<impl Iterator<Item = &Turn>, ProjectError> {
        self.store.refresh()?;
        Ok(self.store.ledger().at_work().filter(|turn| is_alive(turn)))
    }

    fn look_if_possible(&mut self) -> Result<(), ProjectError> {
        match self.look_unasked() {
            Ok(_) | Err(ProjectError::InProgress(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Returns the latest turns of agents, at most 200, the latest last.
    ///
    /// # Errors
    ///
    /// [`ProjectError::Store`].
    pub fn turns(&mut self) -> Result<&VecDeque<Turn>, ProjectError> {
        self.store.refresh()?;
        Ok(self.store.ledger().turns())
    }

    /// Returns who wrote which lines of `pending`; see [`Ledger::authors_of`].
    ///
    /// # Errors
    ///
    /// [`ProjectError`].
    pub fn authors_of(
        &self,
        pending: &Pending,
    ) -> Result<Vec<(Range<usize>, Authors)>, ProjectError> {
        let mut disk = Disk::new(&self.git, &self.store, None, Vec::new());
        Ledger::authors_of(&mut disk, pending)
    }

    /// Returns which of `pending` were renamed; see [`Ledger::renames`].
    ///
    /// # Errors
    ///
    /// [`ProjectError`].
    pub fn renames(&self, pending: &[Pending]) -> Result<Vec<Rename>, ProjectError> {
        let mut disk = Disk::new(&self.git, &self.store, None, Vec::new());
        let found = self.store.ledger().renames(&mut disk, pending)?;
        for rename in &found {
            self.store.hold(rename.reviewed)?;
        }
        Ok(found)
    }

    /// Returns which paths of `status` are looked at, sorted, what is left out, see [`Look`], and all paths
    /// that are not looked at.
    fn bounded(&self, status: Status) -> (Vec<Vec<u8>>, Vec<LeftOut>, HashSet<Vec<u8>>) {
        let top = |path: &[u8]| {
            path.iter()
                .position(|&byte| byte == b'/')
                .map(|at| path[..at].to_vec())
        };
        let mut n_new: HashMap<Vec<u8>, usize> = HashMap::new();
        for (path, is_new) in &status.changed {
            if let Some(top) = top(path).filter(|_| *is_new) {
                *n_new.entry(top).or_default() += 1;
            }
        }
        n_new.retain(|_, n| *n > MAX_NEW);
        let is_left_out = |path: &[u8]| top(path).is_some_and(|top| n_new.contains_key(&top));
        let mut not_looked_at: HashSet<Vec<u8>> = status.outside.into_iter().collect();
        let mut left_out: Vec<LeftOut> = Vec::new();
        let mut looked = Vec::new();
        for (path, is_new) in status.changed {
            if is_new && is_left_out(&path) {
                not_looked_at.insert(path);
            } else if self.git.size(&path) > MAX_SIZE {
                left_out.push((path.clone(), 1));
                not_looked_at.insert(path);
            } else {
                looked.push(path);
            }
        }
        left_out.extend(n_new);
        left_out.extend(status.repositories.into_iter().map(|path| (path, 0)));
        left_out.sort();
        (looked, left_out, not_looked_at)
    }

    /// If HEAD is another commit than at the last look, and nobody knows who has moved it, returns the
    /// first lines of the latest commits that it has and that one has not, at most `n_most`.
    ///
    /// # Errors
    ///
    /// [`ProjectError`].
    pub fn moved(&mut self, n_most: usize) -> Result<Option<Vec<String>>, ProjectError> {
        self.store.refresh()?;
        let ledger = self.store.ledger();
        if self.moves_unasked() == Moves::Agent {
            return Ok(None);
        }
        let head = self.git.head()?;
        match head.as_deref() {
            Some(head) if ledger.has_base() && ledger.base() != Some(head) => match ledger.base() {
                // Nobody can say what has changed since.
                Some(base) if !self.git.has_commit(base)? => Ok(None),
                base => Ok(Some(self.git.subjects(base, head, n_most)?)),
            },
            _ => Ok(None),
        }
    }

    /// Records that the user decided about `path`, a path in the working tree: in a review where `before`
    /// was reviewed of it, `after` is now. Each is a mode, as git writes it, and bytes; the mode 0 is
    /// nothing. What others have decided or saved meanwhile stays; see [`Ledger::decide_from`].
    ///
    /// # Errors
    ///
    /// [`ProjectError`]; then nothing was written.
    pub fn decide(
        &mut self,
        path: &[u8],
        before: (u32, &[u8]),
        after: (u32, &[u8]),
    ) -> Result<(), ProjectError> {
        let git = &self.git;
        self.store.change(|ledger, store| {
            let mut disk = Disk::new(git, store, None, Vec::new());
            let working = disk.working(path)?;
            let decided = (disk.version(before)?, disk.version(after)?);
            ledger.decide_from(&mut disk, path, decided, working)
        })
    }

    /// Makes the change from `before` to `after`, which are as for [`Project::decide`], to what git's
    /// index has of `path`, if the index does not have it already.
    ///
    /// Neither the file nor what was reviewed of it changes.
    ///
    /// # Errors
    ///
    /// [`ProjectError::NotStaged`]; then the index is as before.
    pub fn stage(
        &mut self,
        path: &[u8],
        before: (u32, &[u8]),
        after: (u32, &[u8]),
    ) -> Result<(), ProjectError> {
        let not_staged = |why: String| ProjectError::NotStaged {
            path: path.to_vec(),
            why,
        };
        self.git.make_safe();
        let git = &self.git;
        let failed = |error: GitError| not_staged(error.to_string());
        let indexed = match git.indexed(path).map_err(failed)? {
            Indexed::Known(indexed) => indexed,
            Indexed::Refused(why) => return Err(not_staged(why.to_owned())),
        };
        let [before, after] = [before, after].map(|(mode, bytes)| Committed {
            mode: git.mode(mode),
            bytes: bytes.to_vec(),
        });
        match staged(&before, &after, &indexed).map_err(|why| not_staged(why.to_owned()))? {
            Some(wanted) => git.write_index(path, &wanted).map_err(failed),
            None => Ok(()),
        }
    }

    /// Records that all of `paths` were reviewed as they are.
    ///
    /// # Errors
    ///
    /// [`ProjectError`]; then nothing was written.
    pub fn mark_reviewed(&mut self, paths: &[Vec<u8>]) -> Result<(), ProjectError> {
        let git = &self.git;
        self.store.change(|ledger, store| {
            let mut disk = Disk::new(git, store, None, Vec::new());
            for path in paths {
                let working = disk.working(path)?;
                ledger.decide(&mut disk, path, working, working)?;
            }
            Ok(())
        })
    }

    /// Records that the user, in an editor, made `after` of `before`, which `path` held; see
    /// [`Ledger::save`](crate::Ledger::save). Each is a mode and bytes, as for [`Project::decide`].
    /// Others may have written the file since.
    ///
    /// # Errors
    ///
    /// [`ProjectError`]; then nothing was written.
    pub fn save(
        &mut self,
        path: &[u8],
        before: (u32, &[u8]),
        after: (u32, &[u8]),
    ) -> Result<(), ProjectError> {
        let git = &self.git;
        self.store.change(|ledger, store| {
            let mut disk = Disk::new(git, store, None, Vec::new());
            let (before, after) = (disk.version(before)?, disk.version(after)?);
            ledger.save(&mut disk, path, before, after)
        })
    }

    /// Records that the user has renamed a file; see [`Ledger::rename`]. Each is its path, its mode and
    /// its bytes, as for [`Project::decide`].
    ///
    /// # Errors
    ///
    /// [`ProjectError`]; then nothing was written.
    pub fn rename(&mut self, before: &Content, after: &Content) -> Result<(), ProjectError> {
        let git = &self.git;
        self.store.change(|ledger, store| {
            let mut disk = Disk::new(git, store, None, Vec::new());
            let old = disk.version((before.1, &before.2))?;
            let new = disk.version((after.1, &after.2))?;
            ledger.rename(&mut disk, (&before.0, old), (&after.0, new))
        })
    }

    /// Stores what `files` hold, and records that something is about to be taken out of them at
    /// `time`, in seconds since 1970.
    ///
    /// # Errors
    ///
    /// [`ProjectError::Store`]; then nothing is recorded.
    pub fn take_out(&mut self, time: u64, files: &[Content]) -> Result<(), ProjectError> {
        Ok(self.store.take_out(time, files)?)
    }

    /// Records what `files` hold after [`Project::take_out`].
    ///
    /// # Errors
    ///
    /// [`ProjectError::Store`]; then nothing is recorded.
    pub fn leave(&mut self, files: &[Content]) -> Result<(), ProjectError> {
        Ok(self.store.leave(files)?)
    }

    /// Records that `notes` are all that the user has noted of pending hunks of each path.
    ///
    /// # Errors
    ///
    /// [`ProjectError::Store`]; then nothing is recorded.
    pub fn note_hunks(&mut self, notes: Vec<(Vec<u8>, Vec<HunkNote>)>) -> Result<(), ProjectError> {
        self.store.change(|ledger, _| {
            for (path, notes) in notes {
                ledger.note_hunks(&path, notes);
            }
            Ok(())
        })
    }

    /// Returns what the user has noted of pending hunks, by path, in the order of the hunks.
    ///
    /// # Errors
    ///
    /// [`ProjectError::Store`].
    pub fn noted(&mut self) -> Result<&BTreeMap<Vec<u8>, Vec<HunkNote>>, ProjectError> {
        self.store.refresh()?;
        Ok(self.store.ledger().noted())
    }

    /// Returns what was taken out of files in the last 30 days, the latest first, each with the number
    /// of lines and the first of them, or `None` if it is not text.
    ///
    /// A step that took out no line is not among it, nor one that was begun and not carried out.
    ///
    /// # Errors
    ///
    /// [`ProjectError`].
    pub fn taken_out(&self) -> Result<Vec<(TakenOut, Option<Lines>)>, ProjectError> {
        let mut found = Vec::new();
        for one in self.store.ledger().taken_out().iter().rev() {
            let left = match one.left {
                Some(left) => self.text(left)?,
                None => {
                    let now = working(&self.git, &one.path)?;
                    if now.version() == one.had {
                        continue;
                    }
                    (now.version() != Version::Absent).then_some(now.bytes)
                }
            };
            let had = self.text(one.had)?;
            let is_link = |version| matches!(version, Version::Link { .. });
            if is_link(one.had) || one.left.is_some_and(is_link) {
                found.push((one.clone(), None));
                continue;
            }
            match lines_taken_out(&had.unwrap_or_default(), &left.unwrap_or_default()) {
                Some((0, _)) => {}
                lines => found.push((one.clone(), lines)),
            }
        }
        Ok(found)
    }

    /// Returns the bytes of `version`; `None` if it is nothing.
    fn text(&self, version: Version) -> Result<Option<Vec<u8>>, ProjectError> {
        let bytes = version.digest().map(|digest| self.store.bytes(digest));
        Ok(bytes.transpose()?)
    }
}

/// Returns whether the agent of `turn` still runs, as far as that is known.
fn is_alive(turn: &Turn) -> bool {
    let pid = turn
        .pid
        .and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
    // It may be another user's, who may not be told.
    pid.is_none_or(|pid| test_kill_process(pid) != Err(Errno::SRCH))
}

/// Returns how many lines `had` has that `left` has not, and the first of them; `None` if they are not
/// text.
fn lines_taken_out(had: &[u8], left: &[u8]) -> Option<Lines> {
    if had.contains(&0) || left.contains(&0) {
        return None;
    }
    let [had, left] = [had, left].map(|bytes| Text::new(bytes.to_vec()));
    let taken: Vec<_> = edits(&had, &left)
        .into_iter()
        .flat_map(|edit| edit.before)
        .collect();
    let first = taken.first().map(|&line| had.line(line).to_vec());
    Some((taken.len(), first.unwrap_or_default()))
}

fn working(git: &Git, path: &[u8]) -> Result<Committed, ProjectError> {
    git.working(path).map_err(|error| ProjectError::File {
        path: git.root.join(String::from_utf8_lossy(path).as_ref()),
        error,
    })
}

/// The project during one look.
struct Disk<'a> {
    git: &'a Git,
    store: &'a Store,
    head: Option<String>,
    dirty: Vec<Vec<u8>>,
    committed: HashMap<(String, Vec<u8>), Version>,
    working: HashMap<Vec<u8>, Version>,
    /// The paths that are not looked at.
    left_out: HashSet<Vec<u8>>,
}

impl<'a> Disk<'a> {
    fn new(git: &'a Git, store: &'a Store, head: Option<String>, dirty: Vec<Vec<u8>>) -> Disk<'a> {
        Disk {
            git,
            store,
            head,
            dirty,
            committed: HashMap::new(),
            working: HashMap::new(),
            left_out: HashSet::new(),
        }
    }

    /// Reads at once what a look will ask for: what differs from HEAD, and between it and `base`.
    /// `in_head` is [`Status::in_head`].
    fn read_committed(
        &mut self,
        base: Option<&str>,
        has_base: bool,
        in_head: &Entries,
    ) -> Result<(), ProjectError> {
        let head = self.head.clone();
        let base = if has_base {
            base.map(str::to_owned)
        } else {
            head.clone()
        };
        let mut paths = self.dirty.clone();
        if base != head {
            paths.extend(self.git.changed(base.as_deref(), head.as_deref())?);
            paths.sort();
            paths.dedup();
        }
        let commits = [
            base.clone(),
            head.filter(|head| Some(head) != base.as_ref()),
        ];
        let (git, store) = (self.git, self.store);
        for commit in commits.into_iter().flatten() {
            let names = paths.iter().map(Vec::as_slice);
            let names: Vec<&[u8]> = names
                .filter(|path| !self.is_as_committed(&commit, path))
                .collect();
            let unknown = Entries::new();
            let is_head = self.head.as_ref() == Some(&commit);
            let known = if is_head { in_head } else { &unknown };
            let read = || {
                let all = git.committed(&commit, &names, known)?;
                all.iter().map(|one| stored(store, one)).collect()
            };
            let all: Result<Vec<Version>, ProjectError> = thread::scope(|scope| {
                let all = scope.spawn(read);
                self.read_working();
                all.join().expect("it does not panic")
            });
            for (path, version) in names.into_iter().zip(all?) {
                self.committed
                    .insert((commit.clone(), path.to_vec()), version);
            }
        }
        Ok(())
    }

    /// Reads the files that differ from HEAD, unless that was done. What cannot be read is left to
    /// [`World::working`], which says so.
    fn read_working(&mut self) {
        if self.working.is_empty() {
            let read = self.dirty.iter().filter_map(|path| {
                let version = working(self.git, path).and_then(|found| stored(self.store, &found));
                Some((path.clone(), version.ok()?))
            });
            self.working = read.collect();
        }
    }

    /// Returns what the index has of the paths that are looked at, where that is not what HEAD has, by
    /// `entries`. What `ledger` knows is not read again.
    fn index(
        &self,
        ledger: &Ledger,
        entries: Entries,
    ) -> Result<Vec<(Vec<u8>, Staged)>, ProjectError> {
        let object = |path: &[u8]| match entries.get(path) {
            Some(Some((mode, object))) => format!("{mode:o}:{object}"),
            _ => "-".to_owned(),
        };
        let looked = self.dirty.iter().map(Vec::as_slice);
        let paths: Vec<&[u8]> = looked.filter(|path| entries.contains_key(*path)).collect();
        let is_known = |path: &[u8]| {
            let known = ledger.staged(path);
            known.filter(|known| known.object == object(path))
        };
        let new = paths
            .iter()
            .copied()
            .filter(|path| is_known(path).is_none());
        let new: Vec<&[u8]> = new.collect();
        let mut read = self.git.staged(&new, &entries)?.into_iter();
        let mut index = Vec::new();
        for path in paths {
            let staged = match is_known(path) {
                Some(known) => known.clone(),
                None => Staged {
                    object: object(path),
                    version: match read.next() {
                        Some(found) => stored(self.store, &found)?,
                        None => Version::Absent,
                    },
                },
            };
            index.push((path.to_vec(), staged));
        }
        Ok(index)
    }

    /// Returns whether the working text of `path` is that of `commit`, as far as git can tell: whatever
    /// filters made it, or would make of it now.
    fn is_as_committed(&self, commit: &str, path: &[u8]) -> bool {
        let is_dirty = |path| self.dirty.binary_search_by(|other| other[..].cmp(path));
        self.head.as_deref() == Some(commit)
            && is_dirty(path).is_err()
            && !self.left_out.contains(path)
    }

    /// Stores what has this mode, as git writes it, and these bytes.
    fn version(&self, (mode, bytes): (u32, &[u8])) -> Result<Version, ProjectError> {
        Ok(self.store.version(self.git.mode(mode), bytes)?)
    }
}

fn stored(store: &Store, committed: &Committed) -> Result<Version, ProjectError> {
    Ok(store.version(committed.mode, &committed.bytes)?)
}

impl World for Disk<'_> {
    type Error = ProjectError;

    fn head(&self) -> Option<String> {
        self.head.clone()
    }

    fn committed(&mut self, commit: Option<&str>, path: &[u8]) -> Result<Version, ProjectError> {
        let Some(commit) = commit else {
            return Ok(Version::Absent);
        };
        let key = (commit.to_owned(), path.to_vec());
        if let Some(&version) = self.committed.get(&key) {
            return Ok(version);
        }
        if self.is_as_committed(commit, path) {
            return self.working(path);
        }
        // The repository may name a filter since the last look.
        let mut git = self.git.clone();
        git.make_safe();
        let version = match &git.committed(commit, &[path], &Entries::new())?[..] {
            [committed] => stored(self.store, committed)?,
            _ => Version::Absent,
        };
        self.committed.insert(key, version);
        Ok(version)
    }

    fn working(&mut self, path: &[u8]) -> Result<Version, ProjectError> {
        if let Some(&version) = self.working.get(path) {
            return Ok(version);
        }
        let version = stored(self.store, &working(self.git, path)?)?;
        self.working.insert(path.to_vec(), version);
        Ok(version)
    }

    fn changed(
        &mut self,
        old: Option<&str>,
        new: Option<&str>,
    ) -> Result<Vec<Vec<u8>>, ProjectError> {
        Ok(self.git.changed(old, new)?)
    }

    fn dirty(&mut self) -> Result<Vec<Vec<u8>>, ProjectError> {
        Ok(self.dirty.clone())
    }

    fn is_left_out(&self, path: &[u8]) -> bool {
        self.left_out.contains(path)
    }

    fn bytes(&mut self, digest: Digest) -> Result<Vec<u8>, ProjectError> {
        Ok(self.store.bytes(digest)?)
    }

    fn store(&mut self, bytes: Vec<u8>) -> Result<Digest, ProjectError> {
        Ok(self.store.put(&bytes)?)
    }
}
