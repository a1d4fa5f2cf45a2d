//! The rules by which reviewed texts change: by the user's decisions and saves, and when the base
//! moves by itself.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::carry::{carried, common};
use crate::{Digest, Version};

/// The path of a file in the project, with `/` between its parts. Paths are bytes.
pub type Path = Vec<u8>;

/// The project as it is now, and the bytes of all versions.
pub trait World {
    /// What can go wrong when it is read.
    type Error;

    /// Returns the commit that is checked out; `None` if there is none.
    fn head(&self) -> Option<String>;

    /// Returns what `path` holds in `commit`, as a checkout would write it. Without a commit,
    /// nothing.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    fn committed(&mut self, commit: Option<&str>, path: &[u8]) -> Result<Version, Self::Error>;

    /// Returns what `path` holds now.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    fn working(&mut self, path: &[u8]) -> Result<Version, Self::Error>;

    /// Returns the paths that differ between two commits.
    ///
    /// # Errors
    ///
    /// If a commit is gone.
    fn changed(&mut self, old: Option<&str>, new: Option<&str>) -> Result<Vec<Path>, Self::Error>;

    /// Returns the paths whose file may differ from HEAD, new files included.
    ///
    /// # Errors
    ///
    /// If that cannot be found out.
    fn dirty(&mut self) -> Result<Vec<Path>, Self::Error>;

    /// Returns whether `path`, which is not among [`World::dirty`], was left out there although it may
    /// be.
    fn is_left_out(&self, path: &[u8]) -> bool;

    /// Returns the bytes with this digest.
    ///
    /// # Errors
    ///
    /// If they are not stored.
    fn bytes(&mut self, digest: Digest) -> Result<Vec<u8>, Self::Error>;

    /// Stores bytes, and returns their digest.
    ///
    /// # Errors
    ///
    /// If they cannot be stored.
    fn store(&mut self, bytes: Vec<u8>) -> Result<Digest, Self::Error>;
}

/// Who may have moved HEAD, and brought files back to what they were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moves {
    /// The user, outside any turn of an agent: what is committed is reviewed.
    User,
    /// An agent in its turn, or nobody knows: what is reviewed stays.
    Agent,
}

/// A path whose working text is not what was reviewed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    /// Its path.
    pub path: Path,
    /// What was reviewed.
    pub reviewed: Version,
    /// What is there now.
    pub working: Version,
}

/// What a file held before something was taken out of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenOut {
    /// Its path.
    pub path: Path,
    /// When that was, in seconds since 1970.
    pub time: u64,
    /// What it held.
    pub had: Version,
    /// What it held after that; `None` if that was not told, since Emacs ended meanwhile.
    pub left: Option<Version>,
}

/// A change of a [`Ledger`], to be written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// The commit that reviewed texts without an entry are from.
    Base(Option<String>),
    /// The reviewed text of a path.
    Reviewed(Path, Version),
    /// The reviewed text of a path is the base's.
    AsBase(Path),
    /// The path held `working` when `reviewed` was its reviewed text.
    Seen {
        /// The path.
        path: Path,
        /// What it held.
        working: Version,
        /// What was reviewed then.
        reviewed: Version,
        /// Whether the user brought it back to that, as by a stash or another branch.
        is_back: bool,
    },
    /// Something is about to be taken out of a file.
    TakenOut {
        /// The path.
        path: Path,
        /// When, in seconds since 1970.
        time: u64,
        /// What it holds until then.
        had: Version,
    },
    /// What the path holds after the last [`Record::TakenOut`] of it.
    Left(Path, Version),
}

/// The state of a path at some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    working: Version,
    reviewed: Version,
    /// Whether the user brought it back to that, as by a stash or another branch.
    is_back: bool,
}

/// Number of earlier versions of a path that are remembered.
const N_SEEN: usize = 50;

/// What was reviewed: a base commit, and the paths whose reviewed text differs from it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ledger {
    has_base: bool,
    base: Option<String>,
    reviewed: BTreeMap<Path, Version>,
    /// For each path, its earlier states; the latest last.
    seen: BTreeMap<Path, VecDeque<Seen>>,
    /// What was taken out of files, in the order in which that was done.
    taken_out: Vec<TakenOut>,
    /// What changed since it was last written down.
    records: Vec<Record>,
}

impl Ledger {
    /// Returns whether there was a first look: without one, the base is the HEAD of that.
    pub fn has_base(&self) -> bool {
        self.has_base
    }

    /// Returns the commit that reviewed texts without an entry are from.
    pub fn base(&self) -> Option<&str> {
        self.base.as_deref()
    }

    /// Carries out `record`, which was written down earlier.
    pub fn replay(&mut self, record: Record) {
        match record {
            Record::Base(base) => {
                self.has_base = true;
                self.base = base;
            }
            Record::Reviewed(path, version) => {
                self.reviewed.insert(path, version);
            }
            Record::AsBase(path) => {
                self.reviewed.remove(&path);
            }
            Record::Seen {
                path,
                working,
                reviewed,
                is_back,
            } => {
                let seen = self.seen.entry(path).or_default();
                seen.retain(|other| other.working != working);
                seen.push_back(Seen {
                    working,
                    reviewed,
                    is_back,
                });
                while seen.len() > N_SEEN {
                    seen.pop_front();
                }
            }
            Record::TakenOut { path, time, had } => {
                // What was interrupted, and is done now, was done once.
                let is_again =
                    |one: &TakenOut| one.left.is_none() && one.had == had && one.path == path;
                self.taken_out.retain(|one| !is_again(one));
                self.taken_out.push(TakenOut {
                    path,
                    time,
                    had,
                    left: None,
                });
            }
            Record::Left(path, left) => {
                let last = self.taken_out.iter().rposition(|one| one.path == path);
                let Some(at) = last.filter(|&at| self.taken_out[at].left.is_none()) else {
                    return;
                };
                if self.taken_out[at].had == left {
                    self.taken_out.remove(at);
                } else {
                    self.taken_out[at].left = Some(left);
                }
            }
        }
    }

    /// Returns what changed since the last call, to be written down.
    pub fn take_records(&mut self) -> Vec<Record> {
        std::mem::take(&mut self.records)
    }

    /// Returns the records that make this ledger of an empty one.
    pub fn all_records(&self) -> Vec<Record> {
        let mut all = Vec::new();
        if self.has_base {
            all.push(Record::Base(self.base.clone()));
        }
        let reviewed = self.reviewed.iter();
        all.extend(reviewed.map(|(path, version)| Record::Reviewed(path.clone(), *version)));
        for (path, seen) in &self.seen {
            all.extend(seen.iter().map(|seen| Record::Seen {
                path: path.clone(),
                working: seen.working,
                reviewed: seen.reviewed,
                is_back: seen.is_back,
            }));
        }
        for one in &self.taken_out {
            all.push(Record::TakenOut {
                path: one.path.clone(),
                time: one.time,
                had: one.had,
            });
            all.extend(one.left.map(|left| Record::Left(one.path.clone(), left)));
        }
        all
    }

    /// Returns the number of [`Ledger::all_records`].
    pub fn n_records(&self) -> usize {
        let n_seen: usize = self.seen.values().map(VecDeque::len).sum();
        let taken_out = self.taken_out.iter();
        let n_taken_out: usize = taken_out
            .map(|one| 1 + usize::from(one.left.is_some()))
            .sum();
        usize::from(self.has_base) + self.reviewed.len() + n_seen + n_taken_out
    }

    /// Returns all digests that the ledger names.
    pub fn digests(&self) -> BTreeSet<Digest> {
        let reviewed = self.reviewed.values().copied();
        let seen = self.seen.values().flatten();
        let seen = seen.flat_map(|seen| [seen.working, seen.reviewed]);
        let taken_out = self.taken_out.iter();
        let taken_out = taken_out
            .flat_map(|one| [Some(one.had), one.left])
            .flatten();
        let all = reviewed.chain(seen).chain(taken_out);
        all.filter_map(Version::digest).collect()
    }

    /// Records that something is about to be taken out of `path`, which holds `had`, at `time`, in
    /// seconds since 1970.
    pub fn take_out(&mut self, path: &[u8], time: u64, had: Version) {
        let path = path.to_vec();
        self.note(Record::TakenOut { path, time, had });
    }

    /// Records what `path` holds after something was taken out of it, as was recorded before. If
    /// that is what it held, nothing was taken out.
    pub fn leave(&mut self, path: &[u8], left: Version) {
        self.note(Record::Left(path.to_vec(), left));
    }

    /// Returns what was taken out of files, in the order in which that was done.
    pub fn taken_out(&self) -> &[TakenOut] {
        &self.taken_out
    }

    /// Forgets what was taken out before `time`.
    pub fn forget_taken_out(&mut self, time: u64) {
        self.taken_out.retain(|one| one.time >= time);
    }

    fn note(&mut self, record: Record) {
        self.records.push(record.clone());
        self.replay(record);
    }

    fn set(&mut self, path: &[u8], version: Version) {
        if self.reviewed.get(path) != Some(&version) {
            self.note(Record::Reviewed(path.to_vec(), version));
        }
    }

    fn see(&mut self, path: &[u8], working: Version, reviewed: Version, is_back: bool) {
        let latest = self.latest(path);
        let is_known =
            latest.is_some_and(|seen| (seen.working, seen.reviewed) == (working, reviewed));
        if !is_known {
            self.note(Record::Seen {
                path: path.to_vec(),
                working,
                reviewed,
                is_back,
            });
        }
    }

    /// Returns the state of `path` at the last look.
    fn latest(&self, path: &[u8]) -> Option<Seen> {
        self.seen.get(path)?.back().copied()
    }

    /// Returns what was reviewed of `path` when it held `working` before, if it held something else
    /// since.
    ///
    /// What an agent makes of a file that the user had not brought back to something is no return, or
    /// it could undo what the user did.
    fn returned(&self, path: &[u8], working: Version, moves: Moves) -> Option<Version> {
        let latest = self.latest(path)?;
        let may_return = latest.is_back || moves == Moves::User;
        let mut seen = self.seen.get(path)?.iter();
        let found = seen.find(|other| other.working == working)?;
        (may_return && latest.working != working).then_some(found.reviewed)
    }

    /// Returns what was reviewed of `path`.
    ///
    /// # Errors
    ///
    /// Those of `world`.
    pub fn reviewed<W: World>(&self, world: &mut W, path: &[u8]) -> Result<Version, W::Error> {
        match self.reviewed.get(path) {
            Some(&version) => Ok(version),
            None => world.committed(self.base.as_deref(), path),
        }
    }

    /// Looks at the project as it is, and returns what is pending, by path.
    ///
    /// `moves` says who can have moved HEAD, or changed files otherwise than by writing them, since the
    /// last look.
    ///
    /// # Errors
    ///
    /// Those of `world`. What was found out until then is kept.
    pub fn look<W: World>(
        &mut self,
        world: &mut W,
        moves: Moves,
    ) -> Result<Vec<Pending>, W::Error> {
        let head = world.head();
        if !self.has_base {
            self.note(Record::Base(head.clone()));
        } else if self.base != head {
            self.follow_head(world, head.as_deref(), moves)?;
        }
        let dirty: BTreeSet<Path> = world.dirty()?.into_iter().collect();
        let known = self.reviewed.keys().chain(self.seen.keys());
        let paths: BTreeSet<Path> = dirty.iter().chain(known).cloned().collect();
        let mut pending = Vec::new();
        for path in paths {
            let is_dirty = dirty.contains(&path);
            if !is_dirty && world.is_left_out(&path) {
                continue;
            }
            pending.extend(self.look_at(world, &path, is_dirty, moves)?);
        }
        Ok(pending)
    }

    /// Looks at `path`, which is as in HEAD unless `is_dirty`.
    fn look_at<W: World>(
        &mut self,
        world: &mut W,
        path: &[u8],
        is_dirty: bool,
        moves: Moves,
    ) -> Result<Option<Pending>, W::Error> {
        if !is_dirty && !self.reviewed.contains_key(path) {
            return Ok(None);
        }
        let working = world.working(path)?;
        let mut reviewed = self.reviewed(world, path)?;
        let latest = self.latest(path);
        let mut is_back = false;
        if working != reviewed {
            let is_new = latest.is_some_and(|latest| latest.working != working);
            let as_committed = (!is_dirty && is_new && moves == Moves::User).then_some(working);
            let returned = self.returned(path, working, moves);
            if let Some(version) = returned.or(as_committed) {
                // What was pending until then, such as what an agent wiped out, still is.
                let before = latest.map_or(reviewed, |latest| latest.working);
                reviewed = carried_over(world, before, version, reviewed)?;
                self.set(path, reviewed);
                is_back = true;
            }
        }
        if !is_dirty && reviewed == working {
            self.note(Record::AsBase(path.to_vec()));
        }
        self.see(path, working, reviewed, is_back);
        Ok((working != reviewed).then(|| Pending {
            path: path.to_vec(),
            reviewed,
            working,
        }))
    }

    /// Makes `head` the base, since the commit that was is gone: what differed between them counts as
    /// reviewed.
    pub fn lose_base(&mut self, head: Option<&str>) {
        self.note(Record::Base(head.map(str::to_owned)));
    }

    /// Makes `head` the base.
    fn follow_head<W: World>(
        &mut self,
        world: &mut W,
        head: Option<&str>,
        moves: Moves,
    ) -> Result<(), W::Error> {
        let base = self.base.clone();
        for path in world.changed(base.as_deref(), head)? {
            let old = world.committed(base.as_deref(), &path)?;
            let reviewed = self.reviewed(world, &path)?;
            let followed = match moves {
                Moves::Agent => reviewed,
                Moves::User => {
                    let working = world.working(&path)?;
                    let new = world.committed(head, &path)?;
                    match self.returned(&path, working, moves) {
                        Some(version) => version,
                        None => carried_over(world, old, new, reviewed)?,
                    }
                }
            };
            self.set(&path, followed);
        }
        self.note(Record::Base(head.map(str::to_owned)));
        Ok(())
    }

    /// Records that the user decided about `path`: `reviewed` is what was reviewed now, and `working`
    /// what the file holds.
    pub fn decide(&mut self, path: &[u8], reviewed: Version, working: Version) {
        self.set(path, reviewed);
        self.see(path, working, reviewed, false);
    }

    /// Records that the user, in an editor, made `after` of `before`, which the file held. What the
    /// user changed is reviewed, except where that touches what is pending.
    ///
    /// # Errors
    ///
    /// Those of `world`.
    pub fn save<W: World>(
        &mut self,
        world: &mut W,
        path: &[u8],
        before: Version,
        after: Version,
    ) -> Result<(), W::Error> {
        let reviewed = self.reviewed(world, path)?;
        let followed = carried_over(world, before, reviewed, after)?;
        self.decide(path, followed, after);
        Ok(())
    }
}

/// Returns `onto` with the changes from `base` to `from`, except where both change the same lines, or
/// what has no lines; then `onto` stays.
fn carried_over<W: World>(
    world: &mut W,
    base: Version,
    onto: Version,
    from: Version,
) -> Result<Version, W::Error> {
    if onto == from || from == base {
        return Ok(onto);
    }
    if onto == base {
        return Ok(from);
    }
    let Version::File {
        is_executable: from_bit,
        ..
    } = from
    else {
        return Ok(onto);
    };
    let mut texts = [Vec::new(), Vec::new(), Vec::new()];
    for (text, version) in texts.iter_mut().zip([base, onto, from]) {
        match version {
            Version::Absent => {}
            Version::Link { .. } => return Ok(onto),
            Version::File { digest, .. } => *text = world.bytes(digest)?,
        }
    }
    if texts.iter().any(|text| text.contains(&0)) {
        return Ok(onto);
    }
    let [mut old, onto_text, from_text] = texts;
    if base == Version::Absent {
        // Otherwise a file that is written again would have its lines twice.
        old = common(&onto_text, &from_text);
    }
    let text = carried(&old, &onto_text, &from_text);
    let is_executable = match (base, onto) {
        (
            Version::File { is_executable, .. },
            Version::File {
                is_executable: bit, ..
            },
        ) if is_executable == from_bit => bit,
        _ => from_bit,
    };
    if text.is_empty() && onto == Version::Absent {
        return Ok(Version::Absent);
    }
    let digest = world.store(text)?;
    Ok(Version::File {
        digest,
        is_executable,
    })
}
