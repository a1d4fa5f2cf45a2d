//! A project on disk: its files, its repository, and what was reviewed of it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::git::{Committed, Git, GitError};
use crate::store::{Store, StoreError};
use crate::{Digest, Moves, Pending, Version, World};

/// Why a project cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// It is in no git repository.
    #[error("{} is in no git repository", .0.display())]
    NoRepository(PathBuf),
    /// git cannot read it.
    #[error(transparent)]
    Git(#[from] GitError),
    /// Its store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file cannot be read.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        error: std::io::Error,
    },
}

/// A working tree, and what was reviewed of it.
#[derive(Debug)]
pub struct Project {
    git: Git,
    store: Store,
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
        let store = Store::open(git.data_folder()?)?;
        Ok(Project { git, store })
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
    pub fn look(&mut self, moves: Moves) -> Result<Vec<Pending>, ProjectError> {
        let head = self.git.head()?;
        let dirty = self.git.status()?;
        let lock = self.store.lock()?;
        let mut disk = Disk::new(&self.git, &self.store, head, dirty);
        let mut ledger = self.store.ledger().clone();
        disk.read_committed(ledger.base(), ledger.has_base())?;
        let pending = ledger.look(&mut disk, moves)?;
        *self.store.ledger_mut() = ledger;
        self.store.write(&lock)?;
        self.store.prune(&lock)?;
        Ok(pending)
    }

    /// If HEAD is another commit than at the last look, returns the first lines of the latest commits that
    /// it has and that one has not, at most `n_most`.
    ///
    /// # Errors
    ///
    /// [`ProjectError`].
    pub fn moved(&mut self, n_most: usize) -> Result<Option<Vec<String>>, ProjectError> {
        self.store.refresh()?;
        let ledger = self.store.ledger();
        let head = self.git.head()?;
        match head.as_deref() {
            Some(head) if ledger.has_base() && ledger.base() != Some(head) => {
                Ok(Some(self.git.subjects(ledger.base(), head, n_most)?))
            }
            _ => Ok(None),
        }
    }

    /// Records that the user decided about `path`, a path in the working tree: `reviewed` is what was
    /// reviewed now.
    ///
    /// # Errors
    ///
    /// [`ProjectError`]; then nothing was written.
    pub fn decide(&mut self, path: &[u8], reviewed: Version) -> Result<(), ProjectError> {
        let lock = self.store.lock()?;
        let working = Disk::new(&self.git, &self.store, None, Vec::new()).working(path)?;
        self.store.ledger_mut().decide(path, reviewed, working);
        Ok(self.store.write(&lock)?)
    }

    /// Records that all of `paths` were reviewed as they are.
    ///
    /// # Errors
    ///
    /// [`ProjectError`]; then nothing was written.
    pub fn mark_reviewed(&mut self, paths: &[Vec<u8>]) -> Result<(), ProjectError> {
        let lock = self.store.lock()?;
        for path in paths {
            let working = Disk::new(&self.git, &self.store, None, Vec::new()).working(path)?;
            self.store.ledger_mut().decide(path, working, working);
        }
        Ok(self.store.write(&lock)?)
    }

    /// Records that the user, in an editor, made `after` of `before`, which `path` held; see
    /// [`Ledger::save`](crate::Ledger::save). Others may have written the file since.
    ///
    /// # Errors
    ///
    /// [`ProjectError`]; then nothing was written.
    pub fn save(
        &mut self,
        path: &[u8],
        before: Version,
        after: Version,
    ) -> Result<(), ProjectError> {
        let lock = self.store.lock()?;
        let mut disk = Disk::new(&self.git, &self.store, None, Vec::new());
        let mut ledger = self.store.ledger().clone();
        ledger.save(&mut disk, path, before, after)?;
        *self.store.ledger_mut() = ledger;
        Ok(self.store.write(&lock)?)
    }

    /// Stores `bytes`, and returns their digest.
    ///
    /// # Errors
    ///
    /// [`ProjectError::Store`].
    pub fn store(&self, bytes: &[u8]) -> Result<Digest, ProjectError> {
        Ok(self.store.put(bytes)?)
    }
}

/// The project during one look.
struct Disk<'a> {
    git: &'a Git,
    store: &'a Store,
    head: Option<String>,
    dirty: Vec<Vec<u8>>,
    committed: HashMap<(String, Vec<u8>), Version>,
}

impl<'a> Disk<'a> {
    fn new(git: &'a Git, store: &'a Store, head: Option<String>, dirty: Vec<Vec<u8>>) -> Disk<'a> {
        Disk {
            git,
            store,
            head,
            dirty,
            committed: HashMap::new(),
        }
    }

    /// Reads at once what a look will ask for: what differs from HEAD, and between it and `base`.
    fn read_committed(&mut self, base: Option<&str>, has_base: bool) -> Result<(), ProjectError> {
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
        for commit in commits.into_iter().flatten() {
            let names: Vec<&[u8]> = paths.iter().map(Vec::as_slice).collect();
            let all = self.git.committed(&commit, &names)?;
            for (path, committed) in paths.iter().zip(all) {
                let version = self.stored(&committed)?;
                self.committed
                    .insert((commit.clone(), path.clone()), version);
            }
        }
        Ok(())
    }

    fn stored(&self, committed: &Committed) -> Result<Version, ProjectError> {
        if committed.mode == 0 {
            return Ok(Version::Absent);
        }
        let digest = self.store.put(&committed.bytes)?;
        Ok(Version::with_mode(committed.mode, digest).unwrap_or(Version::Absent))
    }
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
        let version = match &self.git.committed(commit, &[path])?[..] {
            [committed] => self.stored(committed)?,
            _ => Version::Absent,
        };
        self.committed.insert(key, version);
        Ok(version)
    }

    fn working(&mut self, path: &[u8]) -> Result<Version, ProjectError> {
        let working = self.git.working(path);
        let working = working.map_err(|error| ProjectError::File {
            path: self.git.root.join(String::from_utf8_lossy(path).as_ref()),
            error,
        })?;
        self.stored(&working)
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

    fn bytes(&mut self, digest: Digest) -> Result<Vec<u8>, ProjectError> {
        Ok(self.store.bytes(digest)?)
    }

    fn store(&mut self, bytes: Vec<u8>) -> Result<Digest, ProjectError> {
        Ok(self.store.put(&bytes)?)
    }
}
