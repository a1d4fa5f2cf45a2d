//! The files of a project as a look reads them, and what they are compared with.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::thread;

use crate::error::ProjectError;
use crate::files::{self, Committed, MAX_SIZE};
use crate::git::{self, Entries, Git, Status, Tip};
use crate::hidden;
use crate::ledger::{Ledger, Moves, Pending};
use crate::left_out::{self, LeftOut, Submodule, Why};
use crate::moved::Moved;
use crate::path::{self, Path};
use crate::plain::{Files, IS_SPECIAL, Plain, is_outside};
use crate::record::{Staged, Turn};
use crate::store::{self, Store, StoreError};
use crate::tree::Tree;
use crate::version::{Digest, Version};
use crate::world::{Step, World};

/// Most files that git does not know, below one folder at the top, that are looked at: more are what some
/// program installed, such as `node_modules`.
const MAX_NEW: usize = 1000;

/// Most submodules that are looked at at a time.
const N_AT_ONCE: usize = 8;

/// What a look has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// The commit that was checked out; `None` if there is none.
    pub head: Option<String>,
    /// What is pending, by path.
    pub pending: Vec<Pending>,
    /// What was not looked at, by path.
    pub left_out: Vec<LeftOut>,
    /// What the user should know of the record itself, see `Project::note_heard`, and of what git runs by
    /// itself: sentences without their last period.
    pub notes: Vec<String>,
}

/// What paths hold in commits.
pub(crate) type Known = HashMap<(String, Path), Version>;

/// Looks at a project with git; see [`crate::Project::look`]. If `is_said`, the user has said who moved HEAD.
/// What was read of commits is `known` then.
pub(crate) fn look_with_git(
    git: &Git,
    tree: &Tree,
    store: &mut Store,
    (moves, is_said): (Moves, bool),
    known: &mut Known,
) -> Result<Look, ProjectError> {
    if let Some(what) = git::in_progress(store.folder()) {
        return Err(ProjectError::InProgress(what));
    }
    let (found, tips) = thread::scope(|scope| {
        let tips = scope.spawn(|| git.tips());
        (bounded(git), tips.join().expect("it does not panic"))
    });
    let mut found = found?;
    let (head, in_head) = (found.head.clone(), std::mem::take(&mut found.in_head));
    let checked_out = head.clone();
    let mut left_out = std::mem::take(&mut found.left_out);
    let in_index = std::mem::take(&mut found.in_index);
    let mut submodules = found.submodules.clone();
    let (away, here): (Vec<Tip>, Vec<Tip>) =
        tips?.into_iter().partition(|tip| is_elsewhere(git, tip));
    let large = left_out.iter().filter(|(_, why)| *why == Why::Large);
    let large: Vec<Path> = large.map(|(path, _)| path.clone()).collect();
    let programs = git.programs(&found.repositories);
    let (pending, unknown, unread, by_others) = store.change(|ledger, store| {
        if let Some(base) = ledger.base()
            && Some(base) != head.as_deref()
            && !git.has_commit(base)?
        {
            // Who is at work may have seen to that, so what is known to be older is taken.
            let older = match is_at_work(ledger) {
                true => git.latest_of(ledger.tips(), head.as_deref())?,
                false => None,
            };
            ledger.lose_base(older.as_deref().or(head.as_deref()));
        }
        if ledger.base() == head.as_deref() {
            let is_in_base = |path: &[u8]| in_head.get(path).is_some_and(Option::is_some);
            ledger.forget_known(|_| true, is_in_base);
        }
        let mut disk = found.disk(tree, store)?;
        disk.read_committed(git, ledger.base(), ledger.has_base(), &in_head)?;
        let is_by_others = moves == Moves::NotNew && is_said;
        if matches!(moves, Moves::User | Moves::NotNew) && ledger.base() != head.as_deref() {
            let known = Elsewhere::read(git, ledger, store.folder());
            disk.moved = Moved::read(git, ledger, head.as_deref(), &known.others, is_by_others)?;
            disk.elsewhere = known.stores;
        }
        let index = disk.index(git, ledger, in_index)?;
        ledger.follow_index(&mut disk, index, false)?;
        let pending = ledger.look(&mut disk, moves)?;
        let pending = without_submodules(pending, &mut submodules, store)?;
        left_out.extend(note_unread(git, ledger, &disk, moves)?);
        ledger.follow_programs(&programs, false);
        ledger.follow_processes();
        let large = large
            .into_iter()
            .filter(|path| in_head.get(path) == Some(&None));
        let unknown = disk.leave_out(ledger, large.collect())?;
        let mut by_others = match is_by_others {
            true => std::mem::take(&mut disk.moved.new),
            false => Vec::new(),
        };
        if moves == Moves::NotNew && !is_said {
            // A commit of an agent's that the user has written anew, as by a rebase, is still not the user's.
            let touched = git.touched(&disk.moved.new)?.into_iter();
            let others =
                touched.filter(|(_, paths)| paths.iter().any(|one| ledger.is_in_head(one)));
            by_others.extend(others.map(|(commit, _)| commit));
        }
        if ledger.base() == head.as_deref() {
            if is_at_work(ledger) {
                by_others.extend(commits_of_turn(git, ledger, head.as_deref(), &here)?);
            }
            note_tips(git, ledger, store.folder(), (away, here), head);
        }
        hidden::note_excludes(git, ledger);
        left_out.extend(hidden::hidden(git, ledger, store, &pending)?);
        *known = std::mem::take(&mut disk.committed);
        Ok::<_, ProjectError>((pending, unknown, disk.unread, by_others))
    })?;
    note_others(git, store, &by_others)?;
    // What the user has committed is reviewed by that, whatever it is.
    let is_open = |(path, _): &LeftOut| {
        !matches!(moves, Moves::User | Moves::NotNew) || in_head.contains_key(path)
    };
    left_out.extend(unread.into_iter().filter(is_open));
    left_out.extend(said(submodules));
    left_out.extend(unknown.into_iter().map(|path| (path, Why::Unknown)));
    Ok(Look {
        head: checked_out,
        pending,
        left_out: left_out::sorted(left_out),
        notes: store.notes(),
    })
}

/// Records which of the files that are not read somebody else than the user has committed. Returns those: until
/// the user knows them, they are said.
fn note_unread(
    git: &Git,
    ledger: &mut Ledger,
    disk: &Disk,
    moves: Moves,
) -> Result<Vec<LeftOut>, ProjectError> {
    for path in disk.unread.keys() {
        let others = disk.moved.others(path);
        match moves {
            Moves::Unknown => {}
            Moves::Agent => ledger.note_in_head(path, true),
            Moves::User | Moves::NotNew => {
                ledger.note_in_head(path, others.is_none_or(|others| !others.is_empty()));
            }
        }
    }
    let paths = ledger.unread_in_head();
    let Some(head) = disk.head.as_deref().filter(|_| !paths.is_empty()) else {
        return Ok(Vec::new());
    };
    let names: Vec<&[u8]> = paths.iter().map(Vec::as_slice).collect();
    let entries = git.entries_of(head, &names, &Entries::new())?;
    let large = git.large(&entries, MAX_SIZE)?.into_iter();
    let filtered = git.own_filtered(&paths)?.into_iter();
    let large = large.map(|path| (path, Why::Large));
    Ok(large
        .chain(filtered.map(|(path, name)| (path, Why::Filter(name))))
        .collect())
}

/// Returns whether an agent is in its turn, and still runs. One that was interrupted since the last look is
/// among them: what was done until now may be its own.
pub(crate) fn is_at_work(ledger: &Ledger) -> bool {
    ledger.at_work().any(Turn::is_alive)
}

/// Returns whether `tip` is a branch that is checked out in another working tree, not below that of `git`,
/// with a record of its own: that says whose its commits are.
fn is_elsewhere(git: &Git, tip: &Tip) -> bool {
    let folder = tip.folder.as_ref();
    folder.is_some_and(|folder| !folder.starts_with(&git.root) && git::has_record(folder))
}

/// Returns the commits that were made since the last look, when an agent was in its turn: those of HEAD, and
/// of the branches among `here`, which are not checked out elsewhere. What it has pushed is among them.
fn commits_of_turn(
    git: &Git,
    ledger: &Ledger,
    head: Option<&str>,
    here: &[Tip],
) -> Result<Vec<String>, ProjectError> {
    if ledger.tips().is_empty() {
        return Ok(Vec::new());
    }
    let here = here.iter().filter(|tip| tip.is_branch);
    let here = here.map(|tip| tip.commit.as_str()).chain(head);
    let known = ledger.tips().iter().map(String::as_str);
    let here: Vec<&str> = here
        .filter(|tip| !ledger.tips().iter().any(|known| known == tip))
        .collect();
    match here[..] {
        [] => Ok(Vec::new()),
        _ => Ok(git.new_commits(here, known, false)?),
    }
}

/// Records that `head` and the tips exist at this look. While an agent is in a turn, here or elsewhere, those
/// of branches that are checked out elsewhere, `away`, may be its commits, and wait.
fn note_tips(
    git: &Git,
    ledger: &mut Ledger,
    folder: &std::path::Path,
    (away, here): (Vec<Tip>, Vec<Tip>),
    head: Option<String>,
) {
    let is_new = |tip: &Tip| !ledger.tips().contains(&tip.commit);
    let waits = away.iter().any(is_new)
        && (is_at_work(ledger) || {
            let stores = Elsewhere::read(git, ledger, folder).stores;
            stores.iter().any(|store| is_at_work(store.ledger()))
        });
    let away = away.into_iter().filter(|_| !waits);
    let known: Vec<String> = here.into_iter().chain(away).map(|tip| tip.commit).collect();
    ledger.note_tips(known.into_iter().chain(head));
}

/// What the working trees of a repository know of commits that the user did not make.
pub(crate) struct Elsewhere {
    /// These commits.
    pub others: HashSet<String>,
    /// The stores of the other working trees.
    pub stores: Vec<Store>,
}

impl Elsewhere {
    /// Reads it; `ledger`, in `folder`, is that of the working tree of `git`. What cannot be read says nothing.
    pub(crate) fn read(git: &Git, ledger: &Ledger, folder: &std::path::Path) -> Elsewhere {
        let stores = git.data_folders().into_iter();
        let stores = stores.filter(|other| other != folder);
        let stores: Vec<Store> = stores.filter_map(|other| Store::open(other).ok()).collect();
        let others = stores.iter().flat_map(|store| store.ledger().others());
        let others = others.chain(ledger.others()).cloned().collect();
        Elsewhere { others, stores }
    }
}

/// Records that the user did not make `commits`, also where it is found when this working tree is gone.
fn note_others(git: &Git, store: &mut Store, commits: &[String]) -> Result<(), ProjectError> {
    if commits.is_empty() {
        return Ok(());
    }
    let note = |ledger: &mut Ledger, _: &Store| {
        ledger.note_others(commits.iter().cloned());
        Ok::<(), ProjectError>(())
    };
    store.change(note)?;
    let common = git.common_data_folder();
    if common != store.folder() {
        Store::open(common)?.change(note)?;
    }
    Ok(())
}

/// Looks at a project without git; see [`crate::Project::look`].
pub(crate) fn look_without_git(
    plain: &Plain,
    tree: &Tree,
    store: &mut Store,
    moves: Moves,
) -> Result<Look, ProjectError> {
    let files = plain.files(MAX_SIZE)?;
    let with = |paths: &[Path], why: Why| -> Vec<LeftOut> {
        let paths = paths.iter().cloned();
        paths.map(|path| (path, why.clone())).collect()
    };
    let mut left_out = with(&files.large, Why::Large);
    left_out.extend(with(&files.projects, Why::Repository));
    let mut look = store.change(|ledger, store| {
        let large = files.large.clone();
        let (mut disk, not_text) = Disk::without_git(tree, store, ledger, files)?;
        let pending = ledger.look(&mut disk, moves)?;
        ledger.follow_processes();
        let unknown = disk.leave_out(ledger, [large, not_text.clone()].concat())?;
        left_out.extend(with(&not_text, Why::NoText));
        left_out.extend(with(&unknown, Why::Unknown));
        left_out.append(&mut disk.refused);
        Ok::<_, ProjectError>(Look {
            head: None,
            pending,
            left_out: left_out::sorted(left_out),
            notes: Vec::new(),
        })
    })?;
    look.notes = store.notes();
    Ok(look)
}

/// What git says of the files of a project, and which of them are looked at.
pub(crate) struct Bounded {
    /// As [`git::Status::head`].
    pub head: Option<String>,
    /// The paths that may differ from HEAD and are looked at, sorted.
    pub dirty: Vec<Vec<u8>>,
    /// As [`Look::left_out`], without submodules.
    pub left_out: Vec<LeftOut>,
    /// The submodules, with what HEAD has as reviewed.
    pub submodules: BTreeMap<Path, Submodule>,
    /// All paths that are not looked at.
    pub not_looked_at: HashSet<Vec<u8>>,
    /// As [`git::Status::in_head`].
    pub in_head: Entries,
    /// As [`git::Status::in_index`].
    pub in_index: Entries,
    /// The folders of submodules, and of other repositories in the project.
    pub repositories: Vec<PathBuf>,
}

impl Bounded {
    /// Returns the project as it is during one look. The head and paths are taken out of the bounds.
    pub(crate) fn disk<'a>(
        self,
        tree: &'a Tree,
        store: &'a Store,
    ) -> Result<Disk<'a>, ProjectError> {
        let mut disk = Disk::bounded(tree, store, (self.head, self.dirty, self.not_looked_at));
        for (path, found) in self.submodules {
            let (mode, bytes) = match found.checked_out {
                Some(commit) => (0o160_000, commit.into_bytes()),
                None => (0, Vec::new()),
            };
            let version = store.version(mode, &bytes)?;
            disk.working.insert(path, version);
        }
        Ok(disk)
    }
}

/// Returns those of `submodules` that are to be said.
pub(crate) fn said(submodules: BTreeMap<Path, Submodule>) -> impl Iterator<Item = LeftOut> {
    let said = submodules.into_iter().filter(|(_, found)| found.is_said());
    said.map(|(path, found)| (path, Why::Submodule(found)))
}

/// Takes submodules out of `pending`, since no hunk decides them. What was reviewed of each is then in
/// `submodules`; of all others, what is checked out was.
fn without_submodules(
    pending: Vec<Pending>,
    submodules: &mut BTreeMap<Path, Submodule>,
    store: &Store,
) -> Result<Vec<Pending>, ProjectError> {
    for found in submodules.values_mut() {
        found.reviewed.clone_from(&found.checked_out);
    }
    let mut rest = Vec::new();
    for mut one in pending {
        let both = [&mut one.reviewed, &mut one.working];
        if both.iter().all(|version| !version.is_submodule()) {
            rest.push(one);
            continue;
        }
        let mut commits = Vec::new();
        for version in both {
            let digest = version.digest().filter(|_| version.is_submodule());
            let commit = digest.map(|digest| store.bytes(digest)).transpose()?;
            commits.push(commit.map(|name| String::from_utf8_lossy(&name).into_owned()));
            if version.is_submodule() {
                *version = Version::Absent;
            }
        }
        let found = submodules.entry(one.path.clone()).or_default();
        (found.checked_out, found.reviewed) = (commits.pop().flatten(), commits.pop().flatten());
        // A file in its place is decided as any.
        if one.reviewed != one.working {
            rest.push(one);
        }
    }
    Ok(rest)
}

/// Asks git what differs from HEAD, and returns what of it is looked at.
pub(crate) fn bounded(git: &Git) -> Result<Bounded, ProjectError> {
    let status = git.status()?;
    let (submodules, mut inner) = submodules(git, &status);
    let mut left_out = Vec::new();
    let folder = |path: &Path| git.root.join(OsStr::from_bytes(path));
    inner.extend(status.submodules.keys().map(folder));
    inner.extend(status.repositories.iter().map(folder));
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
    let mut looked = Vec::new();
    let known = [&status.in_head, &status.in_index];
    let large = git.large(known.into_iter().flatten(), MAX_SIZE)?;
    // What no commit has is reviewed as it is.
    let old = status.changed.iter().filter(|(_, is_new)| !is_new);
    let mut filtered = git.own_filtered(old.map(|(path, _)| path))?;
    for (path, is_new) in status.changed {
        if let Some(why) = refusal(&git.root, &path) {
            left_out.push((path.clone(), Why::Other(why)));
            not_looked_at.insert(path);
        } else if is_new && is_left_out(&path) {
            not_looked_at.insert(path);
        } else if files::size(&git.root, &path) > MAX_SIZE || large.contains(&path) {
            left_out.push((path.clone(), Why::Large));
            not_looked_at.insert(path);
        } else if let Some(name) = filtered.remove(&path) {
            left_out.push((path.clone(), Why::Filter(name)));
            not_looked_at.insert(path);
        } else {
            looked.push(path);
        }
    }
    left_out.extend(n_new.into_iter().map(|(path, n)| (path, Why::Many(n))));
    let moved = submodules.iter();
    let moved = moved.filter(|(_, found)| found.reviewed != found.checked_out);
    looked.extend(moved.map(|(path, _)| path.clone()));
    looked.sort();
    looked.dedup();
    let repositories = status.repositories.into_iter();
    left_out.extend(repositories.map(|path| (path, Why::Repository)));
    let unreadable = status.unreadable.into_iter();
    left_out.extend(unreadable.map(|path| (path, Why::Other("it cannot be read".to_owned()))));
    Ok(Bounded {
        head: status.head,
        dirty: looked,
        left_out: left_out::sorted(left_out),
        submodules,
        not_looked_at,
        in_head: status.in_head,
        in_index: status.in_index,
        repositories: inner,
    })
}

/// Returns what is found of the submodules of `git`, and the folders of repositories in any of them.
fn submodules(git: &Git, status: &Status) -> (BTreeMap<Path, Submodule>, Vec<PathBuf>) {
    let all: Vec<(&Path, &Option<String>)> = status.submodules.iter().collect();
    let (mut all_found, mut repositories) = (BTreeMap::new(), Vec::new());
    for some in all.chunks(N_AT_ONCE) {
        thread::scope(|scope| {
            let look = |(path, commit): &(&Path, &Option<String>)| {
                let (path, commit) = ((*path).clone(), (*commit).clone());
                scope.spawn(move || (path.clone(), submodule(git, status, &path, commit)))
            };
            let looks: Vec<_> = some.iter().map(look).collect();
            for look in looks {
                let (path, (found, inner)) = look.join().expect("it does not panic");
                all_found.insert(path, found);
                repositories.extend(inner);
            }
        });
    }
    (all_found, repositories)
}

/// Returns what is found of the submodule `path`, with `commit` in the index, and the folders of repositories
/// in it.
fn submodule(
    git: &Git,
    status: &Status,
    path: &[u8],
    commit: Option<String>,
) -> (Submodule, Vec<PathBuf>) {
    let folder = git.root.join(OsStr::from_bytes(path));
    let reviewed = match status.in_head.get(path) {
        Some(entry) => entry.as_ref().map(|(_, commit)| commit.clone()),
        None => commit.clone(),
    };
    let mut inner = Vec::new();
    let mut found = Submodule {
        reviewed,
        checked_out: commit,
        is_changed: false,
        failed: None,
    };
    if files::is_there(&git.root, path) {
        found.failed = Some("it is no folder any more".to_owned());
    } else if !folder.exists() {
        found.checked_out = None;
    } else if fs::symlink_metadata(folder.join(".git")).is_ok() {
        match pending_in(&folder, &mut inner) {
            Ok((head, is_changed)) => (found.checked_out, found.is_changed) = (head, is_changed),
            Err(ProjectError::NoRepository(_)) => {
                found.failed = Some("its .git leads to no repository".to_owned());
            }
            Err(error) => found.failed = Some(error.to_string()),
        }
    } else if git.was_checked_out(&folder) {
        found.failed = Some("its .git is gone".to_owned());
    }
    (found, inner)
}

/// Returns the commit that is checked out in the repository `folder`, and whether something is pending in it.
/// Nothing is recorded. The folders of repositories in it are added to `inner`.
fn pending_in(
    folder: &std::path::Path,
    inner: &mut Vec<PathBuf>,
) -> Result<(Option<String>, bool), ProjectError> {
    let is_top = |git: &Git| folder.canonicalize().is_ok_and(|folder| folder == git.root);
    let git = Git::find(folder)?.filter(is_top);
    let git = git.ok_or_else(|| ProjectError::NoRepository(folder.to_owned()))?;
    if let Some(what) = git::in_progress(&git.data_folder()) {
        return Err(ProjectError::InProgress(what));
    }
    let mut found = bounded(&git)?;
    inner.extend_from_slice(&found.repositories);
    let head = found.head.clone();
    let mut submodules = found.submodules.values();
    let is_left_out =
        !found.left_out.is_empty() || submodules.any(|one| one.is_changed || one.failed.is_some());
    let is_changed = !found.dirty.is_empty() || is_left_out;
    if !git::has_record(&git.root) || is_left_out {
        return Ok((head, is_changed));
    }
    let store = Store::open(git.data_folder())?;
    let mut ledger = store.ledger().clone();
    if let Some(base) = ledger.base()
        && !git.has_commit(base)?
    {
        return Ok((head, is_changed));
    }
    let tree = Tree::Git(git.clone());
    let in_head = std::mem::take(&mut found.in_head);
    let mut disk = found.disk(&tree, &store)?;
    disk.read_committed(&git, ledger.base(), ledger.has_base(), &in_head)?;
    Ok((head, !ledger.look(&mut disk, Moves::Unknown)?.is_empty()))
}

/// Returns why the file `path` below `root` is not looked at, whatever it holds; `None` if it is.
fn refusal(root: &std::path::Path, path: &[u8]) -> Option<String> {
    match path::flaw(path) {
        Some(why) => Some(format!("its path {why}")),
        None if files::is_special(root, path) => Some(IS_SPECIAL.to_owned()),
        None => files::unreadable(root, path).map(|why| format!("it cannot be read: {why}")),
    }
}

/// Returns whether it is a file that is no text.
pub(crate) fn is_binary(found: &Committed) -> bool {
    found.mode & 0o170_000 == 0o100_000 && found.bytes.contains(&0)
}

/// The project during one look.
pub(crate) struct Disk<'a> {
    tree: &'a Tree,
    store: &'a Store,
    head: Option<String>,
    pub(crate) dirty: Vec<Vec<u8>>,
    pub(crate) committed: Known,
    working: HashMap<Vec<u8>, Version>,
    /// The paths that are not looked at.
    left_out: HashSet<Vec<u8>>,
    /// How HEAD has moved since the last look, as far as that was asked.
    pub(crate) moved: Moved,
    /// The stores of the other working trees of the repository.
    pub(crate) elsewhere: Vec<Store>,
    /// Those that are not read in the commits between which HEAD has moved, and why.
    unread: HashMap<Path, Why>,
    /// Paths at which a project without git has no file that can be read, and why.
    refused: Vec<LeftOut>,
}

impl<'a> Disk<'a> {
    /// Returns it for one path, or some, that are known.
    pub(crate) fn new(tree: &'a Tree, store: &'a Store) -> Disk<'a> {
        Disk::bounded(tree, store, (None, Vec::new(), HashSet::new()))
    }

    /// Returns it with HEAD, and the paths that are looked at and not, as in [`Bounded`].
    pub(crate) fn bounded(
        tree: &'a Tree,
        store: &'a Store,
        (head, dirty, left_out): (Option<String>, Vec<Vec<u8>>, HashSet<Vec<u8>>),
    ) -> Disk<'a> {
        Disk {
            tree,
            store,
            head,
            dirty,
            committed: HashMap::new(),
            working: HashMap::new(),
            left_out,
            moved: Moved::default(),
            elsewhere: Vec::new(),
            unread: HashMap::new(),
            refused: Vec::new(),
        }
    }

    /// Returns a project without git that has `files`, and those of them that are no text, which are left out
    /// unless `ledger` knows them.
    pub(crate) fn without_git(
        tree: &'a Tree,
        store: &'a Store,
        ledger: &Ledger,
        files: Files,
    ) -> Result<(Disk<'a>, Vec<Vec<u8>>), ProjectError> {
        let mut disk = Disk::new(tree, store);
        let (mut not_text, known) = (Vec::new(), ledger.paths());
        disk.left_out.extend(files.large);
        let refused = files.refused.into_iter();
        disk.refused
            .extend(refused.map(|(path, why)| (path, Why::Other(why))));
        for path in files.paths {
            if let Some(why) = refusal(tree.root(), &path) {
                disk.left_out.insert(path.clone());
                disk.refused.push((path, Why::Other(why)));
                continue;
            }
            let found = tree.working(&path)?;
            if is_binary(&found) && !known.contains(&path) {
                disk.left_out.insert(path.clone());
                not_text.push(path);
            } else {
                disk.working.insert(path.clone(), stored(store, &found)?);
            }
        }
        for path in known {
            if is_outside(path) {
                disk.left_out.insert(path.clone());
            } else if let Some(why) = refusal(tree.root(), path) {
                disk.left_out.insert(path.clone());
                disk.refused.push((path.clone(), Why::Other(why)));
            } else if !disk.left_out.contains(path) && !disk.working.contains_key(path) {
                disk.working
                    .insert(path.clone(), stored(store, &tree.working(path)?)?);
            }
        }
        disk.dirty.extend(disk.working.keys().cloned());
        disk.dirty.sort();
        Ok((disk, not_text))
    }

    /// Records that `new`, which are not in HEAD, were left out. Returns what is not looked at although it
    /// could be, since it was left out before.
    pub(crate) fn leave_out(
        &mut self,
        ledger: &mut Ledger,
        new: Vec<Vec<u8>>,
    ) -> Result<Vec<Vec<u8>>, ProjectError> {
        let root = self.tree.root();
        ledger.forget_known(|path| files::is_there(root, path), |_| false);
        if let Some(head) = &self.head {
            let absent = new
                .iter()
                .map(|path| ((head.clone(), path.clone()), Version::Absent));
            self.committed.extend(absent);
        }
        ledger.leave_out(self, new)?;
        let mut unknown = ledger.unknown(&self.dirty);
        unknown.retain(|path| !self.left_out.contains(path));
        Ok(unknown)
    }

    /// Reads at once what a look will ask for: what differs from HEAD, and between it and `base`.
    /// `in_head` is [`git::Status::in_head`].
    pub(crate) fn read_committed(
        &mut self,
        git: &Git,
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
            paths.extend(git.changed(base.as_deref(), head.as_deref())?);
            paths.sort();
            paths.dedup();
        }
        let commits = [
            base.clone(),
            head.filter(|head| Some(head) != base.as_ref()),
        ];
        let store = self.store;
        let unknown = Entries::new();
        for commit in commits.iter().flatten().filter(|_| base != self.head) {
            let names: Vec<&[u8]> = paths.iter().map(Vec::as_slice).collect();
            let known = self.known_in(commit, in_head, &unknown);
            let entries = git.entries_of(commit, &names, known)?;
            let large = git.large(&entries, MAX_SIZE)?.into_iter();
            self.unread.extend(large.map(|path| (path, Why::Large)));
        }
        if base != self.head {
            let filtered = git.own_filtered(&paths)?.into_iter();
            self.unread
                .extend(filtered.map(|(path, name)| (path, Why::Filter(name))));
        }
        self.left_out.extend(self.unread.keys().cloned());
        let unread = &self.unread;
        self.dirty.retain(|path| !unread.contains_key(path));
        for commit in commits.into_iter().flatten() {
            let names = paths.iter().map(Vec::as_slice);
            let names: Vec<&[u8]> = names
                .filter(|path| !self.unread.contains_key(*path))
                .filter(|path| !self.is_as_committed(&commit, path))
                .collect();
            let known = self.known_in(&commit, in_head, &unknown);
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

    /// Reads at once what `commit` has of `paths`, unless that is known; one by one, each takes several processes.
    pub(crate) fn read_paths(
        &mut self,
        commit: Option<&str>,
        paths: &[&[u8]],
    ) -> Result<(), ProjectError> {
        let (Some(commit), Some(git)) = (commit, self.tree.git()) else {
            return Ok(());
        };
        let is_known = |path: &[u8]| {
            let key = (commit.to_owned(), path.to_vec());
            self.committed.contains_key(&key) || self.is_as_committed(commit, path)
        };
        let paths = paths.iter().copied().filter(|path| !is_known(path));
        let paths: Vec<&[u8]> = paths.collect();
        if paths.is_empty() {
            return Ok(());
        }
        paths
            .iter()
            .try_for_each(|path| StoreError::check_path(path))?;
        // The repository may name a filter since the last look.
        let mut git = git.clone();
        git.make_safe();
        let all = git.committed(commit, &paths, &Entries::new())?;
        for (path, committed) in paths.into_iter().zip(all) {
            let version = stored(self.store, &committed)?;
            self.committed
                .insert((commit.to_owned(), path.to_vec()), version);
        }
        Ok(())
    }

    /// Returns `in_head` if `commit` is HEAD, and otherwise `unknown`.
    fn known_in<'b>(
        &self,
        commit: &str,
        in_head: &'b Entries,
        unknown: &'b Entries,
    ) -> &'b Entries {
        let is_head = self.head.as_deref() == Some(commit);
        if is_head { in_head } else { unknown }
    }

    /// Reads the files that differ from HEAD, unless that was done. What cannot be read is left to
    /// [`World::working`], which says so.
    fn read_working(&mut self) {
        let unread = self.dirty.iter();
        let unread = unread.filter(|path| !self.working.contains_key(*path));
        let read = unread.filter_map(|path| {
            let found = self.tree.working(path);
            let version = found.and_then(|found| stored(self.store, &found));
            Some((path.clone(), version.ok()?))
        });
        let read: Vec<(Path, Version)> = read.collect();
        self.working.extend(read);
    }

    /// Returns what the index has of the paths that are looked at, where that is not what HEAD has, by
    /// `entries`. What `ledger` knows is not read again.
    pub(crate) fn index(
        &self,
        git: &Git,
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
        let mut read = git.staged(&new, &entries)?.into_iter();
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

    /// Returns what was reviewed of `path` in the working trees where `commit` was made: of what it brought,
    /// that is not pending here.
    fn reviewed_elsewhere(
        &mut self,
        commit: &String,
        path: &[u8],
    ) -> Result<Vec<Version>, ProjectError> {
        let stores = self.elsewhere.iter().map(|store| (store, store.ledger()));
        let there = stores.filter(|(_, ledger)| ledger.others().contains(commit));
        let mut bases = Vec::new();
        let mut reviewed = Vec::new();
        for (store, ledger) in there {
            match ledger.differing(path) {
                Some(version) => {
                    if let Some(digest) = version.digest() {
                        self.store.put(&store.bytes(digest)?)?;
                    }
                    reviewed.push(version);
                }
                None => bases.extend(ledger.base().map(str::to_owned)),
            }
        }
        for base in bases {
            reviewed.push(self.committed(Some(&base), path)?);
        }
        Ok(reviewed)
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
    pub(crate) fn version(&self, (mode, bytes): (u32, &[u8])) -> Result<Version, ProjectError> {
        Ok(self.store.version(self.tree.mode(mode), bytes)?)
    }
}

pub(crate) fn stored(store: &Store, committed: &Committed) -> Result<Version, ProjectError> {
    Ok(store.version(committed.mode, &committed.bytes)?)
}

impl World for Disk<'_> {
    type Error = ProjectError;

    fn time(&self) -> u64 {
        store::now()
    }

    fn head(&self) -> Option<String> {
        self.head.clone()
    }

    fn committed(&mut self, commit: Option<&str>, path: &[u8]) -> Result<Version, ProjectError> {
        StoreError::check_path(path)?;
        let (Some(commit), Some(_)) = (commit, self.tree.git()) else {
            return Ok(Version::Absent);
        };
        let key = (commit.to_owned(), path.to_vec());
        if let Some(&version) = self.committed.get(&key) {
            return Ok(version);
        }
        if self.is_as_committed(commit, path) {
            return self.working(path);
        }
        self.read_paths(Some(commit), &[path])?;
        Ok(self.committed.get(&key).copied().unwrap_or(Version::Absent))
    }

    fn working(&mut self, path: &[u8]) -> Result<Version, ProjectError> {
        if let Some(&version) = self.working.get(path) {
            return Ok(version);
        }
        let version = stored(self.store, &self.tree.working(path)?)?;
        self.working.insert(path.to_vec(), version);
        Ok(version)
    }

    fn changed(
        &mut self,
        old: Option<&str>,
        new: Option<&str>,
    ) -> Result<Vec<Vec<u8>>, ProjectError> {
        let Some(git) = self.tree.git() else {
            return Ok(Vec::new());
        };
        let mut changed = git.changed(old, new)?;
        let filtered = git.own_filtered(&changed)?;
        changed.retain(|path| !self.unread.contains_key(path) && !filtered.contains_key(path));
        Ok(changed)
    }

    fn others(
        &mut self,
        head: Option<&str>,
        path: &[u8],
    ) -> Result<Vec<Step<Version>>, ProjectError> {
        let Some(others) = self.moved.others(path).map(<[_]>::to_vec) else {
            let now = self.committed(head, path)?;
            return Ok(vec![Step {
                before: Vec::new(),
                now,
            }]);
        };
        let mut steps = Vec::new();
        for (commit, parents) in others {
            let mut before = self.reviewed_elsewhere(&commit, path)?;
            for parent in &parents {
                before.push(self.committed(Some(parent), path)?);
            }
            let now = self.committed(Some(&commit), path)?;
            steps.push(Step { before, now });
        }
        Ok(steps)
    }

    fn is_committed_by_user(&self, path: &[u8]) -> bool {
        self.moved.touched.contains(path)
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
