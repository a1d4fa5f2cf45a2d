//! A project on disk: its files, its repository, and what was reviewed of it.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use agent_q_diff_engine::diff::edits;
use agent_q_diff_engine::text::Text;

use crate::authors::{Authors, Written};
use crate::disk::{
    Bounded, Disk, Elsewhere, Known, Look, bounded, is_binary, look_with_git, look_without_git,
    said, stored,
};
use crate::error::ProjectError;
use crate::files::{self, MAX_SIZE};
use crate::git::{self, Entries, Git, GitError};
use crate::ledger::{Ledger, Moves, Pending};
use crate::left_out::{self, LeftOut, Why};
use crate::moved::Moved;
use crate::path;
use crate::plain::{Plain, projects_folder};
use crate::processes::{self, Processes};
use crate::record::{HunkNote, TakenOut, Turn};
use crate::renames::Rename;
use crate::store::{Store, now};
use crate::tree::{Tree, git_top, record_of};
use crate::version::Version;
use crate::world::World;

mod index;
mod talk;

pub use talk::Placed;

/// A number of lines, and the first of them.
pub type Lines = (usize, Vec<u8>);

/// Least time between two times that texts are deleted which nothing names; younger ones stay anyway.
const PRUNE_PAUSE: Duration = Duration::from_secs(60 * 60);

/// What to ask when HEAD has got commits that may be the user's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// How many commits that are.
    pub n_commits: usize,
    /// The abbreviated names of the latest, each with the first line of its message.
    pub subjects: Vec<String>,
    /// The paths of which less is pending if the commits are the user's.
    pub paths: Vec<Vec<u8>>,
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
    /// As [`Look::left_out`]; what a file held is not unknown if the commit has it.
    pub left_out: Vec<LeftOut>,
}

/// The files of a project, and what was reviewed of them.
#[derive(Debug)]
pub struct Project {
    pub(crate) tree: Tree,
    pub(crate) store: Store,
    /// When texts that nothing names were last deleted.
    pruned: Option<Instant>,
    /// The [`Git::index_stamp`] with which no file had conflicts.
    index: Option<(SystemTime, u64)>,
    /// What was read of commits at the last look, until the turns that end with it are recorded.
    pub(crate) known: Known,
}

impl Project {
    /// Opens the project that `folder` is in.
    ///
    /// # Errors
    ///
    /// [`ProjectError`].
    pub fn open(folder: &Path) -> Result<Project, ProjectError> {
        Project::open_among(folder, &projects_folder(|name| std::env::var_os(name)))
    }

    /// Opens the project that `folder` is in for what is done there at once: git's configuration, which is read for
    /// that, is not read again for it.
    ///
    /// # Errors
    ///
    /// [`ProjectError`].
    pub fn open_at_once(folder: &Path) -> Result<Project, ProjectError> {
        let mut project = Project::open(folder)?;
        if let Tree::Git(git) = &mut project.tree {
            git.trust_what_was_read();
        }
        Ok(project)
    }

    /// Opens the project that `folder` is in; `projects` is the folder of the data of those without git,
    /// see [`projects_folder`]. The nearest one counts.
    ///
    /// # Errors
    ///
    /// [`ProjectError`].
    pub fn open_among(folder: &Path, projects: &Path) -> Result<Project, ProjectError> {
        let tree = match (git_of(folder)?, Plain::find(folder, projects)) {
            (None, None) => return Err(ProjectError::NoRepository(folder.to_owned())),
            (None, Some(plain)) => Tree::Plain(plain),
            (Some(git), Some(plain)) if plain.root == git.root => {
                plain.hand_over(&git.data_folder())?;
                Tree::Git(git)
            }
            (Some(git), Some(plain)) if plain.root.starts_with(&git.root) => Tree::Plain(plain),
            (Some(git), _) => Tree::Git(git),
        };
        Project::of(tree)
    }

    fn of(tree: Tree) -> Result<Project, ProjectError> {
        let store = Store::open(tree.data_folder())?;
        Ok(Project {
            tree,
            store,
            pruned: None,
            index: None,
            known: Known::new(),
        })
    }

    /// Returns whether `agent` is in a turn in `session` in the project that `folder` is in, if its record says so
    /// for sure. No program is run.
    pub fn is_recorded_at_work(folder: &Path, agent: &str, session: &str) -> bool {
        let projects = projects_folder(|name| std::env::var_os(name));
        let store = record_of(folder, &projects).and_then(|record| Store::open(record).ok());
        store.is_some_and(|store| {
            let mut turns = store.ledger().at_work();
            turns.any(|turn| turn.agent == agent && turn.session == session && turn.goes_on())
        })
    }

    /// Begins a project at `root`, which is in no git repository, unless that is in one that has begun: all
    /// that its files hold now was reviewed. `projects` is as for [`Project::open_among`].
    ///
    /// # Errors
    ///
    /// [`ProjectError`], also if it is too wide, or has too many files; then nothing was written.
    pub fn begin(root: &Path, projects: &Path) -> Result<Project, ProjectError> {
        match Project::open_among(root, projects) {
            Err(ProjectError::NoRepository(_)) => {}
            found => return found,
        }
        let tree = Tree::Plain(Plain::at(root, projects)?);
        if let Tree::Plain(plain) = &tree {
            plain.begin(|folder| {
                let files = plain.files(MAX_SIZE)?;
                Store::open(folder.to_owned())?.change(|ledger, store| {
                    let large = files.large.clone();
                    let (mut disk, not_text) = Disk::without_git(&tree, store, ledger, files)?;
                    for path in disk.dirty.clone() {
                        let working = disk.working(&path)?;
                        ledger.decide(&mut disk, &path, working, (working, working))?;
                    }
                    ledger.look(&mut disk, Moves::Unknown)?;
                    disk.leave_out(ledger, [large, not_text].concat())?;
                    Ok(())
                })
            })?;
        }
        Project::of(tree)
    }

    /// Returns the root that [`Project::begin`] would give a project, and how many files it would have.
    ///
    /// # Errors
    ///
    /// [`ProjectError`], as there.
    pub fn before_begin(root: &Path, projects: &Path) -> Result<(PathBuf, usize), ProjectError> {
        let plain = Plain::at(root, projects)?;
        let paths = plain.files(MAX_SIZE)?.paths;
        let tree = Tree::Plain(plain);
        let mut n = 0;
        for path in paths {
            n += usize::from(tree.working(&path).is_ok_and(|found| !is_binary(&found)));
        }
        Ok((tree.root().to_owned(), n))
    }

    /// Returns whether the folder is still such a project as when it was opened: one without git may have
    /// got it.
    pub fn is_current(&self) -> bool {
        match &self.tree {
            Tree::Git(_) => true,
            Tree::Plain(plain) => !plain.root.join(".git").exists() && plain.has_begun(),
        }
    }

    /// The top of the working tree.
    pub fn root(&self) -> &Path {
        self.tree.root()
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
        self.look_as(moves, true)
    }

    /// Looks as [`Project::look`] does, or without `moves` as [`Project::look_unasked`], for somebody who reads
    /// the reviewed texts next: each of them is there, and has the bytes that were stored.
    ///
    /// # Errors
    ///
    /// [`ProjectError`].
    pub fn look_to_show(&mut self, moves: Option<Moves>) -> Result<Look, ProjectError> {
        self.without_lost_texts(|project| {
            let look = match moves {
                Some(moves) => project.look(moves)?,
                None => project.look_unasked()?,
            };
            for pending in &look.pending {
                project.text(pending.reviewed)?;
            }
            Ok(look)
        })
    }

    /// Looks as [`Project::look`] does. If `is_said`, the user has said who moved HEAD.
    fn look_as(&mut self, moves: Moves, is_said: bool) -> Result<Look, ProjectError> {
        self.tree.make_safe()?;
        let index = self.tree.git().and_then(Git::index_stamp);
        self.known.clear();
        let look = self.without_lost_texts(|project| {
            let (tree, store) = (&project.tree, &mut project.store);
            match tree {
                Tree::Git(git) => {
                    look_with_git(git, tree, store, (moves, is_said), &mut project.known)
                }
                Tree::Plain(plain) => look_without_git(plain, tree, store, moves),
            }
        })?;
        self.index = index;
        // What was written until now is theirs.
        self.close_turns(|turn| !turn.goes_on())?;
        if self.pruned.is_none_or(|at| at.elapsed() > PRUNE_PAUSE) {
            self.store.prune()?;
            self.pruned = Some(Instant::now());
        }
        Ok(look)
    }

    /// Checks that what the last look has found can be decided: that there still is a record, and that git is
    /// not in the middle of something by now.
    ///
    /// # Errors
    ///
    /// [`ProjectError`], as of a look.
    pub fn check_decidable(&mut self) -> Result<(), ProjectError> {
        self.store.refresh()?;
        if !self.store.ledger().has_base() {
            return Err(ProjectError::NoRecord(self.root().to_owned()));
        }
        let Some(git) = self.tree.git() else {
            return Ok(());
        };
        if let Some(what) = git::in_progress(self.store.folder()) {
            return Err(ProjectError::InProgress(what));
        }
        let index = git.index_stamp();
        if self.index != index {
            git.check_conflicts()?;
            self.index = index;
        }
        Ok(())
    }

    /// Returns what differs from the commit that `revision` names, or, if `is_parting`, from the one at which
    /// that and HEAD have parted. What was reviewed is as of the last look. The texts are in
    /// [`Project::texts`] for a day.
    ///
    /// # Errors
    ///
    /// [`ProjectError`], also if there is no such commit.
    pub fn since(&mut self, revision: &str, is_parting: bool) -> Result<Since, ProjectError> {
        self.tree.make_safe()?;
        let no_commit = || ProjectError::NoCommit(revision.to_owned());
        let git = self.tree.git().ok_or_else(no_commit)?;
        let commit = git.commit(revision)?;
        let mut commit = commit.ok_or_else(no_commit)?;
        if is_parting {
            let base = git.merge_base(&commit)?;
            commit = base.ok_or_else(|| ProjectError::NothingInCommon(revision.to_owned()))?;
        }
        let name = git.subjects(std::slice::from_ref(&commit))?.join("");
        let mut found = bounded(git)?;
        let mut left_out = std::mem::take(&mut found.left_out);
        left_out.extend(submodules_since(git, &commit, &found)?);
        let Bounded {
            head,
            dirty,
            not_looked_at,
            submodules,
            ..
        } = found;
        let mut paths = git.changed(Some(&commit), head.as_deref())?;
        paths.extend(dirty.iter().cloned());
        paths.retain(|path| {
            !not_looked_at.contains(path)
                && !submodules.contains_key(path)
                && path::flaw(path).is_none()
                && files::size(&git.root, path) <= MAX_SIZE
        });
        paths.sort();
        paths.dedup();
        let names: Vec<&[u8]> = paths.iter().map(Vec::as_slice).collect();
        let entries = git.entries_of(&commit, &names, &Entries::new())?;
        let large = git.large(&entries, MAX_SIZE)?;
        let filtered = git.own_filtered(&paths)?;
        paths.retain(|path| {
            let is_new = entries.get(path) == Some(&None) && dirty.contains(path);
            let was_submodule =
                matches!(entries.get(path), Some(Some((mode, _))) if git::is_submodule(*mode));
            !large.contains(path) && !was_submodule && (is_new || !filtered.contains_key(path))
        });
        left_out.extend(large.into_iter().map(|path| (path, Why::Large)));
        let filtered = filtered.into_iter();
        let filtered = filtered.filter(|(path, _)| paths.binary_search(path).is_err());
        left_out.extend(filtered.map(|(path, name)| (path, Why::Filter(name))));
        let names: Vec<&[u8]> = paths.iter().map(Vec::as_slice).collect();
        let committed = git.committed(&commit, &names, &Entries::new())?;
        let found = (head, dirty, not_looked_at);
        let mut disk = Disk::bounded(&self.tree, &self.store, found);
        let mut changed = Vec::new();
        let mut reviewed = Vec::new();
        for (path, committed) in paths.iter().zip(committed) {
            let working = self.tree.working(path)?;
            if working == committed {
                continue;
            }
            if committed.mode == 0 && self.store.ledger().left_out().contains(path) {
                left_out.push((path.clone(), Why::Unknown));
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
                    is_in_head: false,
                });
                reviewed.push(before);
            }
        }
        Ok(Since {
            name,
            changed,
            reviewed,
            left_out: left_out::sorted(left_out),
        })
    }

    /// Records that the user has just staged something: that is reviewed, unless an agent is at work.
    ///
    /// # Errors
    ///
    /// [`ProjectError`]; then nothing was written.
    pub fn note_staged(&mut self) -> Result<(), ProjectError> {
        self.tree.make_safe()?;
        let Some(git) = self.tree.git() else {
            return Ok(());
        };
        let mut found = bounded(git)?;
        let in_index = std::mem::take(&mut found.in_index);
        let tree = &self.tree;
        self.store.change(|ledger, store| {
            let mut disk = found.disk(tree, store)?;
            let index = disk.index(git, ledger, in_index)?;
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
    fn moves_unasked(&mut self) -> Result<Moves, ProjectError> {
        if self.is_agents_move() {
            return Ok(Moves::Agent);
        }
        let ledger = self.store.ledger();
        let is_moved = match self.tree.git() {
            Some(git) => ledger.has_base() && git.head()?.as_deref() != ledger.base(),
            None => false,
        };
        let is_clear = is_moved && self.question(1)?.is_none();
        Ok(if is_clear {
            Moves::NotNew
        } else {
            Moves::Unknown
        })
    }

    /// Returns whether an agent is in its turn that began at the base: if HEAD moves, the agent moves it.
    fn is_agents_move(&self) -> bool {
        let ledger = self.store.ledger();
        let mut turns = ledger.at_work().filter(|turn| turn.is_alive());
        turns
            .next()
            .is_some_and(|first| first.head.as_deref() == ledger.base())
    }

    /// Looks as [`Project::look`] does, without asking who has moved HEAD: in an agent's turn that was the
    /// agent. Otherwise, if there is a [`Project::question`], that waits until it is asked.
    ///
    /// # Errors
    ///
    /// [`ProjectError`]; then nothing was written.
    pub fn look_unasked(&mut self) -> Result<Look, ProjectError> {
        self.store.refresh()?;
        let moves = match self.moves_unasked() {
            Ok(moves) => moves,
            Err(error) => {
                self.tree.make_safe()?;
                return Err(error);
            }
        };
        self.look_as(moves, false)
    }

    /// Does what [`Project::begin_new`] does, with a turn of `agent`, the process `pid`, in `session`.
    ///
    /// # Errors
    ///
    /// [`ProjectError`], as there.
    pub fn begin_turn(
        &mut self,
        agent: &str,
        session: &str,
        title: &str,
        pid: Option<u32>,
    ) -> Result<(), ProjectError> {
        self.begin_new(Turn {
            agent: agent.to_owned(),
            session: session.to_owned(),
            title: title.to_owned(),
            pid,
            ..Turn::default()
        })
    }

    /// Records that `turn` has begun, and what the files hold at that time: what others write until its end is
    /// its agent's. Its number, time and commit are those of now. In the middle of a merge or the like, files
    /// are not looked at.
    ///
    /// # Errors
    ///
    /// [`ProjectError`], also if the project is all of the home directory.
    pub fn begin_new(&mut self, turn: Turn) -> Result<(), ProjectError> {
        self.check_width()?;
        self.end_turns(Some((&turn.agent, &turn.session)))?;
        let head = match (self.look_if_possible()?, self.tree.git()) {
            (Some(look), _) => look.head,
            (None, git) => git.map(Git::head).transpose()?.flatten(),
        };
        let title = turn.title.lines().next().unwrap_or_default().to_owned();
        let since = processes::ticks();
        let id = self.store.change(|ledger, _| {
            if ledger.at_work().next().is_none() {
                let known = ledger.processes().clone();
                ledger.note_processes(Processes { since, ..known });
            }
            Ok::<u64, ProjectError>(ledger.begin_turn(Turn {
                time: now(),
                head,
                title,
                ..turn
            }))
        })?;
        self.note_begun(id)
    }

    /// Returns the other working trees of the repository in which `agent` has worked in `session`, and those in
    /// which something waits for an earlier session of it here, which has ended.
    pub fn others(&self, agent: &str, session: &str) -> Vec<Project> {
        let here = self.store.ledger().turns().iter();
        let earlier: HashSet<&str> = here
            .filter(|turn| turn.agent == agent && turn.session != session)
            .map(|turn| turn.session.as_str())
            .collect();
        let tops = self.tree.git().map(Git::other_trees).unwrap_or_default();
        let has_one = |top: &PathBuf| {
            // Most have none, and no process need be run to know that.
            let store = Store::open(git::data_folder_of(top)?).ok()?;
            let is_its = |turn: &Turn| turn.agent == agent && turn.session == session;
            let ledger = store.ledger();
            let is_meant =
                ledger.turns().iter().any(is_its) || talk::waits_for_ended(ledger, agent, &earlier);
            is_meant.then_some(())
        };
        let tops = tops.iter().filter(|top| has_one(top).is_some());
        tops.filter_map(|top| Project::open_at_once(top).ok())
            .collect()
    }

    /// Returns the working tree that `folder` is in, if it is another one of the same repository.
    pub fn other_at(&self, folder: &Path) -> Option<Project> {
        // Nearly always it is this one, and no process need be run to know that.
        git_top(folder).filter(|top| top != self.root())?;
        let other = Project::open(folder).ok()?;
        let is_other = self.tree.git()?.shares(other.tree.git()?) && other.root() != self.root();
        is_other.then_some(other)
    }

    /// Checks that the project is not all of the home directory, or of the machine.
    pub(crate) fn check_width(&self) -> Result<(), ProjectError> {
        let home = std::env::var_os("HOME");
        if self.root().parent().is_none()
            || home.is_some_and(|home| self.root() == Path::new(&home))
        {
            return Err(ProjectError::TooWide(self.root().to_owned()));
        }
        Ok(())
    }

    /// Records that the turn of `agent` in `session` is over, or, without them, each turn; returns how
    /// many were.
    ///
    /// # Errors
    ///
    /// [`ProjectError`].
    pub fn end_turns(&mut self, only: Option<(&str, &str)>) -> Result<usize, ProjectError> {
        self.end_turns_that(|turn| is_one(turn, only))
    }

    /// Does what [`Project::end_turns`] does, but leaves those turns open whose agents' processes are known and
    /// still run: their hooks say when they are over, while the agents can say anything. Returns how many were
    /// over by that, and how many are left.
    ///
    /// # Errors
    ///
    /// [`ProjectError`].
    pub fn end_turns_of_scripts(
        &mut self,
        only: Option<(&str, &str)>,
    ) -> Result<(usize, usize), ProjectError> {
        let is_hooks = |turn: &Turn| turn.pid.is_some() && turn.goes_on();
        let ended = self.end_turns_that(|turn| is_one(turn, only) && !is_hooks(turn))?;
        let left = self.store.ledger().at_work();
        Ok((ended, left.filter(|turn| is_one(turn, only)).count()))
    }

    fn end_turns_that(&mut self, is_meant: impl Fn(&Turn) -> bool) -> Result<usize, ProjectError> {
        self.store.refresh()?;
        let mut open = self.store.ledger().at_work();
        if !open.any(&is_meant) {
            return Ok(0);
        }
        let n = open.filter(|turn| is_meant(turn)).count() + 1;
        self.look_if_possible()?;
        self.close_turns(is_meant)?;
        Ok(n)
    }

    /// Records that the open turns that `is_meant` are over, as of the last look.
    fn close_turns(&mut self, is_meant: impl Fn(&Turn) -> bool) -> Result<(), ProjectError> {
        let open = self.store.ledger().at_work().filter(|turn| is_meant(turn));
        let open: Vec<Turn> = open.cloned().collect();
        if !open.is_empty() {
            self.note_wrote(&open)?;
            let root = self.root().to_owned();
            self.store.change(|ledger, _| {
                let mut known = ledger.processes().clone();
                let ended: Vec<_> = open.iter().map(|turn| (turn.id, turn.pid)).collect();
                known.add_left(&ended, &root);
                ledger.note_processes(known);
                ledger.end_turns(|turn| open.iter().any(|one| one.id == turn.id));
                Ok::<(), ProjectError>(())
            })?;
        }
        Ok(())
    }

    /// Returns whether turns left processes running, as of the last look, or agents have something in the
    /// background: what is written or staged since, they may have done.
    pub fn has_left_processes(&self) -> bool {
        self.store.ledger().processes().may_run()
    }

    /// Records that what `agent` runs in the background of `session`, by its own names, is what `change` makes of
    /// it.
    ///
    /// # Errors
    ///
    /// [`ProjectError`].
    pub fn follow_tasks(
        &mut self,
        agent: &str,
        session: &str,
        change: impl FnOnce(Vec<String>) -> Vec<String>,
    ) -> Result<(), ProjectError> {
        self.store.refresh()?;
        let before = self.store.ledger().tasks(agent, session);
        let after = change(before.clone());
        if after == before {
            return Ok(());
        }
        if after.len() < before.len() {
            // What was written until now may be theirs.
            self.look_if_possible()?;
        }
        self.store.change(|ledger, _| {
            ledger.note_tasks(agent, session, after);
            Ok(())
        })
    }

    /// Returns the turn that began last and is not over, if there is one.
    ///
    /// # Errors
    ///
    /// [`ProjectError::Store`].
    pub fn turn_at_work(&mut self) -> Result<Option<Turn>, ProjectError> {
        Ok(self.at_work()?.last().cloned())
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

    /// Returns the turns that are not over, as far as that is known.
    fn at_work(&mut self) -> Result<impl Iterator<Item = &Turn>, ProjectError> {
        self.store.refresh()?;
        Ok(self.store.ledger().at_work().filter(|turn| turn.goes_on()))
    }

    fn look_if_possible(&mut self) -> Result<Option<Look>, ProjectError> {
        match self.look_unasked() {
            Ok(look) => Ok(Some(look)),
            Err(ProjectError::InProgress(_) | ProjectError::TooMany(..)) => Ok(None),
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
        let mut disk = Disk::new(&self.tree, &self.store);
        Ledger::authors_of(&mut disk, pending)
    }

    /// Returns which of `pending` were renamed; see [`Ledger::renames`].
    ///
    /// # Errors
    ///
    /// [`ProjectError`].
    pub fn renames(&self, pending: &[Pending]) -> Result<Vec<Rename>, ProjectError> {
        let mut disk = Disk::new(&self.tree, &self.store);
        let found = self.store.ledger().renames(&mut disk, pending)?;
        for rename in &found {
            self.store.hold(rename.reviewed)?;
        }
        Ok(found)
    }

    /// If HEAD has got commits since the last look that may be the user's, and what is pending depends on
    /// whether they are, returns what to ask; with the first lines of the latest `n_most` commits.
    ///
    /// # Errors
    ///
    /// [`ProjectError`].
    pub fn question(&mut self, n_most: usize) -> Result<Option<Question>, ProjectError> {
        self.store.refresh()?;
        self.tree.make_safe()?;
        let ledger = self.store.ledger();
        let (Some(git), true) = (self.tree.git(), ledger.has_base()) else {
            return Ok(None);
        };
        let head = git.head()?;
        if head.as_deref() == ledger.base()
            || self.is_agents_move()
            || git::in_progress(self.store.folder()).is_some()
        {
            return Ok(None);
        }
        if let Some(base) = ledger.base()
            && !git.has_commit(base)?
        {
            // Nobody can say what has changed since.
            return Ok(None);
        }
        let known = Elsewhere::read(git, ledger, self.store.folder());
        let moved = Moved::read(git, ledger, head.as_deref(), &known.others, false)?;
        if moved.new.is_empty() {
            return Ok(None);
        }
        let new = moved.new.clone();
        let mut found = bounded(git)?;
        let in_head = std::mem::take(&mut found.in_head);
        let mut disk = found.disk(&self.tree, &self.store)?;
        disk.read_committed(git, ledger.base(), true, &in_head)?;
        disk.elsewhere = known.stores;
        let mut pending = |moves, moved| {
            disk.moved = moved;
            self.store.ledger().clone().look(&mut disk, moves)
        };
        let if_mine = pending(Moves::User, moved)?;
        let moved = Moved::read(git, ledger, head.as_deref(), &known.others, true)?;
        let if_not = pending(Moves::NotNew, moved)?;
        let differs = |one: &&Pending| {
            let same = |other: &Pending| other.path == one.path && other.reviewed == one.reviewed;
            !if_mine.iter().any(same)
        };
        let paths: Vec<Vec<u8>> = if_not
            .iter()
            .filter(differs)
            .map(|one| one.path.clone())
            .collect();
        if paths.is_empty() {
            return Ok(None);
        }
        Ok(Some(Question {
            n_commits: new.len(),
            subjects: git.subjects(&new[..new.len().min(n_most)])?,
            paths,
        }))
    }

    /// Records that all of `paths` were reviewed as they are, also those that were left out.
    ///
    /// # Errors
    ///
    /// [`ProjectError`]; then nothing was written.
    pub fn mark_reviewed(&mut self, paths: &[Vec<u8>]) -> Result<(), ProjectError> {
        let tree = &self.tree;
        self.store.change(|ledger, store| {
            let mut disk = Disk::new(tree, store);
            for path in paths {
                let working = disk.working(path)?;
                ledger.decide(&mut disk, path, working, (working, working))?;
            }
            Ok(())
        })
    }

    /// Records that the user knows what git runs by itself, which files are hidden from git by lines outside the
    /// project, see [`Why::Hidden`], at which commits submodules are, and which files others have committed that
    /// are not read. Returns how much of that was not known.
    ///
    /// # Errors
    ///
    /// [`ProjectError`]; then nothing is recorded.
    pub fn know(&mut self) -> Result<usize, ProjectError> {
        self.tree.make_safe()?;
        let Some(git) = self.tree.git() else {
            return Ok(0);
        };
        let found = bounded(git)?;
        let programs = git.programs(&found.repositories);
        let tree = &self.tree;
        self.store.change(|ledger, store| {
            let n_programs = ledger.unknown_programs().len();
            ledger.follow_programs(&programs, true);
            let submodules: Vec<_> = found.submodules.keys().cloned().collect();
            let mut disk = found.disk(tree, store)?;
            let mut n_commits = 0;
            for path in submodules {
                let working = disk.working(&path)?;
                if ledger.reviewed(&mut disk, &path)? != working {
                    ledger.decide(&mut disk, &path, working, (working, working))?;
                    n_commits += 1;
                }
            }
            let unread = ledger.unread_in_head();
            for path in &unread {
                ledger.note_in_head(path, false);
            }
            Ok(n_programs + n_commits + unread.len() + ledger.accept_excludes())
        })
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

    /// Records that the user was shown [`Look::notes`] that are to be shown once.
    ///
    /// # Errors
    ///
    /// [`ProjectError::Store`]; then they are shown again.
    pub fn note_heard(&mut self) -> Result<(), ProjectError> {
        if self.store.ledger().said().is_empty() {
            return Ok(());
        }
        self.store.change(|ledger, _| {
            ledger.hear();
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

    /// Returns whether the rejection of a hunk waits for the end of turns, and none is open any more.
    ///
    /// # Errors
    ///
    /// [`ProjectError::Store`].
    pub fn has_waiting(&mut self) -> Result<bool, ProjectError> {
        let is_free = self.at_work()?.next().is_none();
        let mut notes = self.store.ledger().noted().values().flatten();
        Ok(is_free && notes.any(|note| note.is_waiting))
    }

    /// Returns what was taken out of files in the last 30 days, the latest first, each with the number
    /// of lines and the first of them, or `None` if it is not text.
    ///
    /// A step that took out no line is not among it, nor one that was begun and not carried out.
    ///
    /// # Errors
    ///
    /// [`ProjectError`].
    pub fn taken_out(&mut self) -> Result<Vec<(TakenOut, Option<Lines>)>, ProjectError> {
        self.without_lost_texts(|project| project.taken_out_now())
    }

    fn taken_out_now(&self) -> Result<Vec<(TakenOut, Option<Lines>)>, ProjectError> {
        let mut found = Vec::new();
        for one in self.store.ledger().taken_out().iter().rev() {
            let left = match one.left {
                Some(left) => self.text(left)?,
                None => {
                    let now = self.tree.working(&one.path)?;
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

    /// Calls `action` until the record needs no text that is missing or damaged.
    fn without_lost_texts<T>(
        &mut self,
        action: impl Fn(&mut Project) -> Result<T, ProjectError>,
    ) -> Result<T, ProjectError> {
        loop {
            let result = action(self);
            let lost = match &result {
                Err(ProjectError::Store(error)) => error.lost(),
                _ => None,
            };
            match lost {
                Some(digest) if self.store.lose(digest)? => {}
                _ => return result,
            }
        }
    }

    /// Returns the bytes of `version`; `None` if it is nothing.
    fn text(&self, version: Version) -> Result<Option<Vec<u8>>, ProjectError> {
        let bytes = version.digest().map(|digest| self.store.bytes(digest));
        Ok(bytes.transpose()?)
    }
}

/// Returns whether `turn` is that of the agent and the session `only`, or of any without them.
fn is_one(turn: &Turn, only: Option<(&str, &str)>) -> bool {
    only.is_none_or(|(agent, session)| turn.agent == agent && turn.session == session)
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

/// Returns which of the submodules in `found` are to be said where `commit` is what they are compared with.
fn submodules_since(
    git: &Git,
    commit: &str,
    found: &Bounded,
) -> Result<Vec<LeftOut>, ProjectError> {
    let mut submodules = found.submodules.clone();
    let names: Vec<&[u8]> = found.submodules.keys().map(Vec::as_slice).collect();
    let entries = git.entries_of(commit, &names, &Entries::new())?;
    for (path, one) in &mut submodules {
        let entry = entries.get(path).cloned().flatten();
        let entry = entry.filter(|(mode, _)| git::is_submodule(*mode));
        one.reviewed = entry.map(|(_, name)| name);
    }
    Ok(said(submodules).collect())
}

/// Returns the repository that `folder` is in, if there is one. Where git is not installed, there can only be
/// none.
fn git_of(folder: &Path) -> Result<Option<Git>, ProjectError> {
    match Git::find(folder) {
        Err(GitError::NoGit(_)) if !folder.ancestors().any(|one| one.join(".git").exists()) => {
            Ok(None)
        }
        found => Ok(found?),
    }
}
