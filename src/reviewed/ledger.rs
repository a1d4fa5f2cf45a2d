//! The rules by which reviewed texts change: by the user's decisions and saves, and when the base
//! moves by itself.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

use agent_q_diff_engine::text::Text;

use crate::authors::{Author, Authors, LineAuthors, Written};
use crate::carry::{carried, common};
use crate::commits::{Step, followed};
use crate::rounds::{RoundRecord, Rounds};
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

    /// Returns what the commits by which HEAD has moved, to `head`, made of `path` and the user did not make.
    ///
    /// # Errors
    ///
    /// If they cannot be read.
    fn others(
        &mut self,
        head: Option<&str>,
        path: &[u8],
    ) -> Result<Vec<Step<Version>>, Self::Error>;

    /// Returns whether HEAD has moved by a commit of `path` that is new, and not one of those.
    fn is_committed_by_user(&self, path: &[u8]) -> bool;

    /// Returns the paths whose file may differ from HEAD, new files included. Without git, those are all
    /// that exist or are known.
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
    /// An agent in its turn: what is reviewed stays.
    Agent,
    /// The user, but commits that are new were not made by the user: what these brought stays pending.
    NotNew,
    /// Nobody knows. What is reviewed stays, and so does the base, so that the user can be asked later.
    Unknown,
}

/// A turn of an agent: from a prompt of the user's until the agent has ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Turn {
    /// Its number, from 1.
    pub id: u64,
    /// When it began, in seconds since 1970.
    pub time: u64,
    /// HEAD at that time.
    pub head: Option<String>,
    /// What the agent is called.
    pub agent: String,
    /// The agent's name for its session; empty if it has none.
    pub session: String,
    /// The first line of the prompt; empty if it is not known.
    pub title: String,
    /// The agent's process, if that is known: when it is gone, the turn is over.
    pub pid: Option<u32>,
    /// Whether it has ended.
    pub is_over: bool,
}

/// Number of turns that are remembered.
const N_TURNS: usize = 200;

/// A path whose working text is not what was reviewed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    /// Its path.
    pub path: Path,
    /// What was reviewed.
    pub reviewed: Version,
    /// What is there now.
    pub working: Version,
    /// Who wrote that.
    pub written: Written,
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

/// What the user has noted of a pending hunk, which outlives its review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HunkNote {
    /// Its [`Key`](agent_q_diff_engine::key::Key).
    pub hunk: String,
    /// The user's comment; empty if there is none.
    pub comment: String,
    /// Whether the hunk is taken out when no agent is at work any more.
    pub is_waiting: bool,
}

/// What git's index has of a path, where that is not what HEAD has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Staged {
    /// Its mode and the name of its object.
    pub object: String,
    /// It as a checkout would write it.
    pub version: Version,
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
    /// The state of a path.
    Seen(Path, Seen),
    /// A turn of an agent has begun, or is written down again.
    Turn(Turn),
    /// The turn with this number has ended.
    TurnOver(u64),
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
    /// What the user has noted of hunks of a path, in their order.
    Noted(Path, Vec<HunkNote>),
    /// What the index has of a path; `None` if that is what HEAD has.
    Staged(Path, Option<Staged>),
    /// Whether what the user stages is reviewed.
    KeepsStaged(bool),
    /// Whether a file was left out, so that what it held is not known; see [`Ledger::left_out`].
    LeftOut(Path, bool),
    /// Whether HEAD has changes of a path that somebody else than the user committed, and that are pending.
    InHead(Path, bool),
    /// A commit that was the tip of a branch at a look.
    Tip(String),
    /// A commit that somebody else than the user made.
    OthersCommit(String),
    /// What the user or an agent has said.
    Round(RoundRecord),
    /// The edits of an agent pass before they are reviewed, except of files that these patterns match;
    /// or, without them, they do not pass.
    Passes(String, Option<Vec<String>>),
    /// Something about the ledger itself that the user is to read.
    Said(String),
    /// The user was shown all of that.
    Heard,
}

impl Record {
    /// Returns the paths that it names.
    pub fn paths(&self) -> Vec<&Path> {
        match self {
            // Without a path, they are about the whole review.
            Record::Noted(path, _) if path.is_empty() => Vec::new(),
            Record::Reviewed(path, _)
            | Record::AsBase(path)
            | Record::Seen(path, _)
            | Record::TakenOut { path, .. }
            | Record::Left(path, _)
            | Record::Noted(path, _)
            | Record::Staged(path, _)
            | Record::LeftOut(path, _)
            | Record::InHead(path, _) => vec![path],
            Record::Round(record) => record.paths(),
            Record::Base(_)
            | Record::Turn(_)
            | Record::TurnOver(_)
            | Record::KeepsStaged(_)
            | Record::Passes(..)
            | Record::Tip(_)
            | Record::OthersCommit(_)
            | Record::Said(_)
            | Record::Heard => Vec::new(),
        }
    }
}

/// The state of a path at some time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// What it held.
    pub working: Version,
    /// What was reviewed then.
    pub reviewed: Version,
    /// Whether the user brought it back to that, as by a stash or another branch.
    pub is_back: bool,
    /// Who wrote what was pending.
    pub written: Written,
}

/// Number of commits that are remembered, as [`Record::Tip`] and as [`Record::OthersCommit`].
const N_COMMITS: usize = 2000;

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
    /// The latest turns of agents, in the order in which they began.
    turns: VecDeque<Turn>,
    /// For each path, what the user has noted of its pending hunks, in their order.
    noted: BTreeMap<Path, Vec<HunkNote>>,
    /// What the index had at the last look, where that was not what HEAD had.
    staged: BTreeMap<Path, Staged>,
    /// Whether what the user stages is not reviewed by that.
    leaves_staged: bool,
    /// The files that were left out and of which nothing was reviewed.
    left_out: BTreeSet<Path>,
    /// The paths of which HEAD has changes that are pending, and that the user did not commit.
    in_head: BTreeSet<Path>,
    /// The commits that were tips of branches at looks; the latest last.
    tips: VecDeque<String>,
    /// The commits of the repository that the user did not make; the latest last.
    others: VecDeque<String>,
    rounds: Rounds,
    /// The agents whose edits pass before they are reviewed, with the patterns of files for which that does
    /// not hold.
    passes: BTreeMap<String, Vec<String>>,
    /// What the user is to read about the ledger itself.
    said: Vec<String>,
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
            Record::Seen(path, one) => {
                let seen = self.seen.entry(path).or_default();
                seen.retain(|other| other.working != one.working);
                seen.push_back(one);
                while seen.len() > N_SEEN {
                    seen.pop_front();
                }
            }
            Record::Turn(turn) => {
                self.turns.push_back(turn);
                while self.turns.len() > N_TURNS {
                    self.turns.pop_front();
                }
                let first = self.turns.front().map_or(0, |turn| turn.id);
                self.rounds.forget_turns(|id| id >= first);
            }
            Record::TurnOver(id) => {
                for turn in self.turns.iter_mut().filter(|turn| turn.id == id) {
                    turn.is_over = true;
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
            Record::Noted(path, notes) if notes.is_empty() => {
                self.noted.remove(&path);
            }
            Record::Noted(path, notes) => {
                self.noted.insert(path, notes);
            }
            Record::Staged(path, Some(staged)) => {
                self.staged.insert(path, staged);
            }
            Record::Staged(path, None) => {
                self.staged.remove(&path);
            }
            Record::KeepsStaged(keeps) => self.leaves_staged = !keeps,
            Record::LeftOut(path, true) => {
                self.left_out.insert(path);
            }
            Record::LeftOut(path, false) => {
                self.left_out.remove(&path);
            }
            Record::InHead(path, true) => {
                self.in_head.insert(path);
            }
            Record::InHead(path, false) => {
                self.in_head.remove(&path);
            }
            Record::Tip(commit) => remember(&mut self.tips, commit),
            Record::OthersCommit(commit) => remember(&mut self.others, commit),
            Record::Round(record) => self.rounds.replay(record),
            Record::Passes(agent, Some(protected)) => {
                self.passes.insert(agent, protected);
            }
            Record::Passes(agent, None) => {
                self.passes.remove(&agent);
            }
            Record::Said(note) => self.said.push(note),
            Record::Heard => self.said.clear(),
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
            let records = seen
                .iter()
                .map(|seen| Record::Seen(path.clone(), seen.clone()));
            all.extend(records);
        }
        for turn in &self.turns {
            all.push(Record::Turn(Turn {
                is_over: false,
                ..turn.clone()
            }));
            all.extend(turn.is_over.then_some(Record::TurnOver(turn.id)));
        }
        for one in &self.taken_out {
            all.push(Record::TakenOut {
                path: one.path.clone(),
                time: one.time,
                had: one.had,
            });
            all.extend(one.left.map(|left| Record::Left(one.path.clone(), left)));
        }
        let noted = self.noted.iter();
        all.extend(noted.map(|(path, notes)| Record::Noted(path.clone(), notes.clone())));
        let staged = self.staged.iter();
        all.extend(staged.map(|(path, one)| Record::Staged(path.clone(), Some(one.clone()))));
        all.extend(self.leaves_staged.then_some(Record::KeepsStaged(false)));
        let left_out = self.left_out.iter();
        all.extend(left_out.map(|path| Record::LeftOut(path.clone(), true)));
        let in_head = self.in_head.iter();
        all.extend(in_head.map(|path| Record::InHead(path.clone(), true)));
        all.extend(self.tips.iter().cloned().map(Record::Tip));
        all.extend(self.others.iter().cloned().map(Record::OthersCommit));
        all.extend(self.rounds.all_records().into_iter().map(Record::Round));
        let passes = self.passes.iter();
        all.extend(
            passes.map(|(agent, patterns)| Record::Passes(agent.clone(), Some(patterns.clone()))),
        );
        all.extend(self.said.iter().cloned().map(Record::Said));
        all
    }

    /// Returns the number of [`Ledger::all_records`].
    pub fn n_records(&self) -> usize {
        let n_seen: usize = self.seen.values().map(VecDeque::len).sum();
        let taken_out = self.taken_out.iter();
        let n_taken_out: usize = taken_out
            .map(|one| 1 + usize::from(one.left.is_some()))
            .sum();
        let n_over = self.turns.iter().filter(|turn| turn.is_over).count();
        let n_turns = self.turns.len() + n_over;
        let n_flags = usize::from(self.has_base) + usize::from(self.leaves_staged);
        let n_paths = self.reviewed.len() + self.noted.len() + self.staged.len();
        let n_others = n_taken_out + self.left_out.len() + self.in_head.len() + self.passes.len();
        let n_more = self.tips.len() + self.others.len() + self.said.len();
        n_flags + n_paths + n_seen + n_turns + n_others + n_more + self.rounds.n_records()
    }

    /// Returns all digests that the ledger names.
    pub fn digests(&self) -> BTreeSet<Digest> {
        let reviewed = self.reviewed.values().copied();
        let seen = || self.seen.values().flatten();
        let lines = seen().filter_map(|seen| seen.written.lines);
        let seen = seen().flat_map(|seen| [seen.working, seen.reviewed]);
        let taken_out = self.taken_out.iter();
        let taken_out = taken_out
            .flat_map(|one| [Some(one.had), one.left])
            .flatten();
        let staged = self.staged.values().map(|staged| staged.version);
        let all = reviewed.chain(seen).chain(taken_out).chain(staged);
        let all = all.filter_map(Version::digest).chain(lines);
        all.chain(self.rounds.digests()).collect()
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

    /// Records that `notes` are all that the user has noted of pending hunks of `path`.
    pub fn note_hunks(&mut self, path: &[u8], notes: Vec<HunkNote>) {
        if self.noted.get(path).map_or(&[][..], Vec::as_slice) != notes {
            self.note(Record::Noted(path.to_vec(), notes));
        }
    }

    /// Returns what the user has noted of pending hunks, by path, in the order of the hunks.
    pub fn noted(&self) -> &BTreeMap<Path, Vec<HunkNote>> {
        &self.noted
    }

    /// Returns what the user and agents have said to each other.
    pub fn rounds(&self) -> &Rounds {
        &self.rounds
    }

    /// Records something that the user or an agent has said.
    pub fn note_round(&mut self, record: RoundRecord) {
        self.note(Record::Round(record));
    }

    /// Returns the latest commits that were tips of branches at looks.
    pub fn tips(&self) -> &VecDeque<String> {
        &self.tips
    }

    /// Records that `commits` are tips of branches at this look.
    pub fn note_tips(&mut self, commits: impl IntoIterator<Item = String>) {
        for commit in commits {
            if !self.tips.contains(&commit) {
                self.note(Record::Tip(commit));
            }
        }
    }

    /// Returns the latest commits of the repository that the user did not make, as far as is known here.
    pub fn others(&self) -> &VecDeque<String> {
        &self.others
    }

    /// Records that the user did not make `commits`.
    pub fn note_others(&mut self, commits: impl IntoIterator<Item = String>) {
        for commit in commits {
            if !self.others.contains(&commit) {
                self.note(Record::OthersCommit(commit));
            }
        }
    }

    /// Returns what the user is to read about the ledger itself.
    pub fn said(&self) -> &[String] {
        &self.said
    }

    /// Records that the user is to read `note`, which is about the ledger itself.
    pub fn say(&mut self, note: &str) {
        self.note(Record::Said(note.to_owned()));
    }

    /// Records that the user was shown all of [`Ledger::said`].
    pub fn hear(&mut self) {
        if !self.said.is_empty() {
            self.note(Record::Heard);
        }
    }

    /// Returns what was taken out of files, in the order in which that was done.
    pub fn taken_out(&self) -> &[TakenOut] {
        &self.taken_out
    }

    /// Forgets what was taken out before `time`.
    pub fn forget_taken_out(&mut self, time: u64) {
        self.taken_out.retain(|one| one.time >= time);
    }

    /// Records that `turn` has begun, and returns its number. What was open in that session is over by that.
    pub fn begin_turn(&mut self, turn: Turn) -> u64 {
        self.end_turns(|other| other.agent == turn.agent && other.session == turn.session);
        let id = self.turns.back().map_or(1, |turn| turn.id + 1);
        self.note(Record::Turn(Turn { id, ..turn }));
        id
    }

    /// Records that those open turns are over of which `is_meant` is true.
    pub fn end_turns(&mut self, is_meant: impl Fn(&Turn) -> bool) {
        let ended: Vec<u64> = self
            .at_work()
            .filter(|turn| is_meant(turn))
            .map(|turn| turn.id)
            .collect();
        for id in ended {
            self.note(Record::TurnOver(id));
        }
    }

    /// Returns the turns that are remembered, in the order in which they began.
    pub fn turns(&self) -> &VecDeque<Turn> {
        &self.turns
    }

    /// Returns the turns that are not over.
    pub fn at_work(&self) -> impl Iterator<Item = &Turn> {
        self.turns.iter().filter(|turn| !turn.is_over)
    }

    /// Returns who writes now, besides the user in Emacs.
    fn writers(&self) -> Authors {
        let turns: Authors = self.at_work().map(|turn| Author::Turn(turn.id)).collect();
        if !turns.is_empty() {
            turns
        } else if self.has_base {
            vec![Author::Outside]
        } else {
            vec![Author::Unknown]
        }
    }

    fn note(&mut self, record: Record) {
        self.records.push(record.clone());
        self.replay(record);
    }

    fn set(&mut self, path: &[u8], version: Version) {
        if version != Version::Absent {
            self.forget_left_out(path);
        }
        if self.reviewed.get(path) != Some(&version) {
            self.note(Record::Reviewed(path.to_vec(), version));
        }
    }

    fn see(&mut self, path: &[u8], seen: Seen) {
        let is_known = self.latest(path).is_some_and(|latest| {
            (latest.working, latest.reviewed) == (seen.working, seen.reviewed)
        });
        if !is_known {
            self.note(Record::Seen(path.to_vec(), seen));
        }
    }

    /// Returns the state of `path` at the last look.
    fn latest(&self, path: &[u8]) -> Option<&Seen> {
        self.seen.get(path)?.back()
    }

    /// Returns what `path` held when nothing of it was reviewed, if that is remembered.
    pub(crate) fn born(&self, path: &[u8]) -> Option<Version> {
        let mut seen = self.seen.get(path)?.iter();
        let born =
            seen.find(|seen| seen.reviewed == Version::Absent && seen.working != Version::Absent);
        born.map(|seen| seen.working)
    }

    /// Returns what was reviewed of `path` when it held `working` before, if it held something else
    /// since.
    ///
    /// What an agent makes of a file that the user had not brought back to something is no return, or
    /// it could undo what the user did.
    fn returned(&self, path: &[u8], working: Version, is_by_user: bool) -> Option<Version> {
        let latest = self.latest(path)?;
        let may_return = latest.is_back || is_by_user;
        let mut seen = self.seen.get(path)?.iter();
        let found = seen.find(|other| other.working == working)?;
        (may_return && latest.working != working).then_some(found.reviewed)
    }

    /// Returns what was reviewed of `path`. Until the first look, that is what HEAD has, with what was decided.
    ///
    /// # Errors
    ///
    /// Those of `world`.
    pub fn reviewed<W: World>(&self, world: &mut W, path: &[u8]) -> Result<Version, W::Error> {
        match self.reviewed.get(path) {
            Some(&version) => Ok(version),
            None if self.has_base => world.committed(self.base.as_deref(), path),
            None => {
                let head = world.head();
                world.committed(head.as_deref(), path)
            }
        }
    }

    /// Returns what was reviewed of `path`, if that is not what the base has of it.
    pub(crate) fn differing(&self, path: &[u8]) -> Option<Version> {
        self.reviewed.get(path).copied()
    }

    /// Returns the paths of which something is known.
    pub fn paths(&self) -> BTreeSet<&Path> {
        self.reviewed.keys().chain(self.seen.keys()).collect()
    }

    /// Returns the paths whose files, at the last look, may not have been as in the base.
    pub(crate) fn changed_paths(&self) -> BTreeSet<Path> {
        let pending = self.seen.iter().filter(|(_, seen)| {
            let latest = seen.back();
            latest.is_some_and(|latest| latest.working != latest.reviewed)
        });
        let pending = pending.map(|(path, _)| path);
        self.reviewed.keys().chain(pending).cloned().collect()
    }

    /// Returns the files that were left out, and of which nothing was reviewed or pending by then: they
    /// existed, and nobody knows with what. They are not looked at, also when they can be: they would be
    /// new files, and rejecting those deletes them.
    pub fn left_out(&self) -> &BTreeSet<Path> {
        &self.left_out
    }

    /// Returns which of [`Ledger::left_out`] would be pending otherwise. `dirty` are the paths that may
    /// differ from HEAD, sorted.
    pub fn unknown(&self, dirty: &[Path]) -> Vec<Path> {
        let left_out = self.left_out.iter().filter(|path| {
            dirty.binary_search(path).is_ok() || self.reviewed.contains_key(&path[..])
        });
        left_out.cloned().collect()
    }

    /// Records that `paths` are files that are left out, see [`Ledger::left_out`].
    ///
    /// # Errors
    ///
    /// Those of `world`. What was found out until then is kept.
    pub fn leave_out<W: World>(&mut self, world: &mut W, paths: Vec<Path>) -> Result<(), W::Error> {
        for path in paths {
            let latest = self.latest(&path).map(|latest| latest.working);
            if !self.left_out.contains(&path)
                && latest.is_none_or(|latest| latest == Version::Absent)
                && self.reviewed(world, &path)? == Version::Absent
            {
                self.note(Record::LeftOut(path, true));
            }
        }
        Ok(())
    }

    /// Forgets those of [`Ledger::left_out`] that are not there any more, and those that are in the base.
    pub fn forget_known(
        &mut self,
        is_there: impl Fn(&[u8]) -> bool,
        is_in_base: impl Fn(&[u8]) -> bool,
    ) {
        let known = self.left_out.iter().filter(|path| {
            !is_there(path) || !self.reviewed.contains_key(&path[..]) && is_in_base(path)
        });
        let known: Vec<Path> = known.cloned().collect();
        for path in known {
            self.forget_left_out(&path);
        }
    }

    fn forget_left_out(&mut self, path: &[u8]) {
        if self.left_out.contains(path) {
            self.note(Record::LeftOut(path.to_vec(), false));
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
        let writers = self.writers();
        let mut dirty: BTreeSet<Path> = world.dirty()?.into_iter().collect();
        let mut by_head: BTreeSet<Path> = BTreeSet::new();
        if !self.has_base {
            self.note(Record::Base(head.clone()));
            // What HEAD has was reviewed, whatever was decided before.
            let decided = self.reviewed.keys().filter(|path| !dirty.contains(*path));
            let decided: Vec<Path> = decided.cloned().collect();
            for path in decided {
                self.note(Record::AsBase(path));
            }
        } else if self.base != head {
            match moves {
                Moves::Unknown => dirty.extend(world.changed(self.base(), head.as_deref())?),
                _ => by_head.extend(self.follow_head(world, head.as_deref(), moves)?),
            }
        }
        let paths: BTreeSet<Path> = dirty.iter().chain(self.paths()).cloned().collect();
        let mut pending = Vec::new();
        for path in paths {
            let is_dirty = dirty.contains(&path);
            if self.left_out.contains(&path) || !is_dirty && world.is_left_out(&path) {
                continue;
            }
            // What HEAD has changed was followed already.
            let is_followed = by_head.contains(&path);
            pending.extend(self.look_at(world, &path, (is_dirty, is_followed), moves, &writers)?);
        }
        self.forget_notes(&pending);
        Ok(pending)
    }

    /// Forgets what was noted of hunks of files of which nothing is pending any more: if the same lines come
    /// back, they are others.
    fn forget_notes(&mut self, pending: &[Pending]) {
        let is_pending = |path: &Path| pending.iter().any(|one| one.path == *path);
        let noted = self.noted.keys();
        let gone: Vec<Path> = noted
            .filter(|path| !path.is_empty() && !is_pending(path))
            .cloned()
            .collect();
        for path in gone {
            self.note(Record::Noted(path, Vec::new()));
        }
    }

    /// Looks at `path`, which is as in HEAD unless `is_dirty`, and which `writers` have written. If
    /// `is_followed`, HEAD has moved, and changed it.
    fn look_at<W: World>(
        &mut self,
        world: &mut W,
        path: &[u8],
        (is_dirty, is_followed): (bool, bool),
        moves: Moves,
        writers: &[Author],
    ) -> Result<Option<Pending>, W::Error> {
        // What was pending and is gone, as by a stash, is seen to be gone.
        let was_pending = |seen: &Seen| seen.working != seen.reviewed;
        if !is_dirty
            && !self.reviewed.contains_key(path)
            && !self.latest(path).is_some_and(was_pending)
        {
            return Ok(None);
        }
        let working = world.working(path)?;
        let mut reviewed = self.reviewed(world, path)?;
        let latest = self
            .latest(path)
            .map(|latest| (latest.working, latest.reviewed));
        let mut is_back = false;
        if working != reviewed {
            let is_new = latest.is_some_and(|(before, _)| before != working);
            let as_committed =
                (!is_dirty && !is_followed && is_new && moves == Moves::User).then_some(working);
            let returned = self.returned(path, working, moves == Moves::User);
            if let Some(version) = returned.or(as_committed) {
                // What was pending until then, such as what an agent wiped out, still is.
                let before = latest.map_or(reviewed, |(before, _)| before);
                reviewed = carried_over(world, before, version, reviewed)?;
                self.set(path, reviewed);
                is_back = true;
            }
        }
        if reviewed == working {
            self.note_in_head(path, false);
        }
        if !is_dirty && reviewed == working {
            self.note(Record::AsBase(path.to_vec()));
        }
        if latest != Some((working, reviewed)) {
            let written = self.written(world, path, working, reviewed, writers)?;
            self.see(
                path,
                Seen {
                    working,
                    reviewed,
                    is_back,
                    written,
                },
            );
        }
        let written = self.latest(path).map(|latest| latest.written.clone());
        Ok((working != reviewed).then(|| Pending {
            path: path.to_vec(),
            reviewed,
            working,
            written: written.unwrap_or_default(),
        }))
    }

    /// Returns who wrote what is pending in `path`, which `by` made of what it was at the last look.
    fn written<W: World>(
        &self,
        world: &mut W,
        path: &[u8],
        working: Version,
        reviewed: Version,
        by: &[Author],
    ) -> Result<Written, W::Error> {
        let mut seen = self.seen.get(path).into_iter().flatten().rev();
        // What a file holds again is by who wrote it first.
        let latest = seen
            .find(|seen| seen.working == working && seen.working != seen.reviewed)
            .or_else(|| self.latest(path))
            .filter(|latest| latest.working != latest.reviewed);
        let Some(latest) = latest.filter(|_| working != reviewed) else {
            return Ok(Written::by(by.to_vec()));
        };
        let is_same = (latest.working, latest.reviewed) == (working, reviewed);
        if is_same
            || latest.written.lines.is_none()
                && (latest.working == working || latest.written.authors == by)
        {
            return Ok(latest.written.clone());
        }
        let texts = [latest.reviewed, latest.working, working, reviewed];
        let texts = texts.map(|version| text_of(world, version));
        let [Some(old_reviewed), Some(old), Some(new), Some(reviewed)] = transposed(texts)? else {
            let mut all = [&latest.written.authors, by].concat();
            all.sort();
            all.dedup();
            return Ok(Written::by(all));
        };
        let stored = latest.written.lines.map(|lines| world.bytes(lines));
        let stored = stored.transpose()?;
        let stored = stored.and_then(|bytes| LineAuthors::parse(&bytes, old.len()));
        let before =
            stored.unwrap_or_else(|| LineAuthors::of(&old_reviewed, &old, &latest.written.authors));
        let after = before.followed(&old, &new, by);
        let mut edits = after.of_edits(&reviewed, &new, by).into_iter();
        let Some((_, mut authors)) = edits.next() else {
            return Ok(Written::by(by.to_vec()));
        };
        let mut is_same = true;
        for (_, others) in edits {
            is_same &= others == authors;
            authors.extend(others);
        }
        authors.sort();
        authors.dedup();
        let lines = if is_same {
            None
        } else {
            Some(world.store(after.bytes())?)
        };
        Ok(Written { authors, lines })
    }

    /// Returns the runs of lines, from 0, of what differs in `pending`, and who wrote each; none if all are
    /// by the same. Where lines were only removed, the run is empty.
    ///
    /// # Errors
    ///
    /// Those of `world`.
    pub fn authors_of<W: World>(
        world: &mut W,
        pending: &Pending,
    ) -> Result<Vec<(Range<usize>, Authors)>, W::Error> {
        let Some(lines) = pending.written.lines else {
            return Ok(Vec::new());
        };
        let texts = [pending.reviewed, pending.working].map(|version| text_of(world, version));
        let [Some(reviewed), Some(working)] = transposed(texts)? else {
            return Ok(Vec::new());
        };
        let stored = LineAuthors::parse(&world.bytes(lines)?, working.len());
        let of_edits =
            stored.map(|lines| lines.of_edits(&reviewed, &working, &pending.written.authors));
        Ok(of_edits.unwrap_or_default())
    }

    /// Returns what the index had of `path` at the last look, if that was not what HEAD had.
    pub fn staged(&self, path: &[u8]) -> Option<&Staged> {
        self.staged.get(path)
    }

    /// Returns whether what the user stages is reviewed by that.
    pub fn keeps_staged(&self) -> bool {
        !self.leaves_staged
    }

    /// Records whether what the user stages is reviewed by that.
    pub fn keep_staged(&mut self, keeps: bool) {
        self.note(Record::KeepsStaged(keeps));
    }

    /// Records that the edits of `agent` pass before they are reviewed, except of files that `protected`
    /// patterns match; or, without these, that they do not pass.
    pub fn let_pass(&mut self, agent: &str, protected: Option<Vec<String>>) {
        self.note(Record::Passes(agent.to_owned(), protected));
    }

    /// Returns the patterns of the files that edits of `agent` do not pass for; `None` if none pass.
    pub fn protected_from(&self, agent: &str) -> Option<&[String]> {
        self.passes.get(agent).map(Vec::as_slice)
    }

    /// Returns the agents whose edits pass before they are reviewed.
    pub fn passing(&self) -> impl Iterator<Item = &str> {
        self.passes.keys().map(String::as_str)
    }

    /// Looks at what the index has, where that is not what HEAD has. What was staged since the last look is
    /// reviewed if the user staged it: if no agent is in a turn, and turns are known here or `is_by_user`.
    /// What was taken out of the index stays reviewed.
    ///
    /// # Errors
    ///
    /// Those of `world`. What was found out until then is kept.
    pub fn follow_index<W: World>(
        &mut self,
        world: &mut W,
        index: Vec<(Path, Staged)>,
        is_by_user: bool,
    ) -> Result<(), W::Error> {
        let is_users = self.at_work().next().is_none() && (is_by_user || !self.turns.is_empty());
        let is_kept = self.has_base && self.keeps_staged() && is_users;
        let paths: BTreeSet<&Path> = index.iter().map(|(path, _)| path).collect();
        let gone = self.staged.keys().filter(|path| !paths.contains(path));
        let gone: Vec<Path> = gone.cloned().collect();
        for path in gone {
            self.note(Record::Staged(path, None));
        }
        for (path, staged) in index {
            if self.staged.get(&path) == Some(&staged) {
                continue;
            }
            // What changes together with the file was not staged by hand: it is a merge's or a stash's.
            let latest = self.latest(&path).map(|latest| latest.working);
            if is_kept && (is_by_user || latest == Some(world.working(&path)?)) {
                self.keep_of_index(world, &path, staged.version)?;
            }
            self.note(Record::Staged(path, Some(staged)));
        }
        Ok(())
    }

    /// Makes reviewed what the user has staged of `path`, of which the index now has `staged`.
    fn keep_of_index<W: World>(
        &mut self,
        world: &mut W,
        path: &[u8],
        staged: Version,
    ) -> Result<(), W::Error> {
        let head = world.head();
        let head = world.committed(head.as_deref(), path)?;
        let before = self.staged.get(path).map_or(head, |staged| staged.version);
        let reviewed = self.reviewed(world, path)?;
        let working = world.working(path)?;
        let followed = if self.left_out.contains(path) {
            // Of a part of it, nobody could say what the others held.
            if staged == working { staged } else { reviewed }
        } else {
            // What was in the index already, an agent may have staged; and what the last look's HEAD had, it
            // may have committed.
            let base = world.committed(self.base.clone().as_deref(), path)?;
            let step = Step {
                before: vec![before, base],
                now: staged,
            };
            followed(world, reviewed, working, (&step, true), &[])?
        };
        self.set(path, followed);
        Ok(())
    }

    /// Makes `head` the base, since the commit that was is gone: what differed between them counts as
    /// reviewed, except for what was pending at the last look.
    pub fn lose_base(&mut self, head: Option<&str>) {
        let latest = self.seen.iter().filter_map(|(path, seen)| {
            let latest = seen.back()?;
            let is_pending = latest.working != latest.reviewed;
            (is_pending && !self.reviewed.contains_key(path))
                .then(|| Record::Reviewed(path.clone(), latest.reviewed))
        });
        let latest: Vec<Record> = latest.collect();
        latest.into_iter().for_each(|record| self.note(record));
        self.note(Record::Base(head.map(str::to_owned)));
    }

    /// Makes `head` the base. Returns the paths that it has changed.
    fn follow_head<W: World>(
        &mut self,
        world: &mut W,
        head: Option<&str>,
        moves: Moves,
    ) -> Result<Vec<Path>, W::Error> {
        let base = self.base.clone();
        let changed = world.changed(base.as_deref(), head)?;
        for path in changed.clone() {
            let reviewed = self.reviewed(world, &path)?;
            let now = world.committed(head, &path)?;
            let followed = match moves {
                Moves::Agent | Moves::Unknown => reviewed,
                Moves::User | Moves::NotNew => {
                    self.moved_by_user(world, (base.as_deref(), head), &path)?
                }
            };
            self.set(&path, followed);
            if moves == Moves::Agent && followed != now {
                self.note_in_head(&path, true);
            }
        }
        self.note(Record::Base(head.map(str::to_owned)));
        Ok(changed)
    }

    /// Returns what is reviewed of `path` once the user has moved HEAD from `base` to `head`.
    fn moved_by_user<W: World>(
        &mut self,
        world: &mut W,
        (base, head): (Option<&str>, Option<&str>),
        path: &[u8],
    ) -> Result<Version, W::Error> {
        let reviewed = self.reviewed(world, path)?;
        let old = world.committed(base, path)?;
        let new = world.committed(head, path)?;
        if world.is_left_out(path) {
            return carried_over(world, old, reviewed, new);
        }
        let working = world.working(path)?;
        let is_chosen = world.is_committed_by_user(path);
        let returned = self.returned(path, working, true);
        let reviewed = match returned.filter(|_| !is_chosen) {
            Some(version) => self.as_before(world, path, working, (version, reviewed))?,
            None => reviewed,
        };
        let others = world.others(head, path)?;
        let is_others = !others.is_empty() || self.in_head.contains(path);
        if new == working && !is_others && is_chosen {
            // All was committed, also what was reviewed and never committed, and an agent had removed.
            return Ok(working);
        }
        let step = Step {
            before: vec![old],
            now: new,
        };
        let followed = followed(world, reviewed, working, (&step, is_chosen), &others)?;
        if !others.is_empty() && followed != working {
            self.note_in_head(path, true);
        }
        Ok(followed)
    }

    /// Returns what is reviewed of `path`, which holds `working` again, of which `version` was reviewed when it
    /// did: that, and what was reviewed since, as `reviewed` has it. What was wiped out since is pending.
    fn as_before<W: World>(
        &self,
        world: &mut W,
        path: &[u8],
        working: Version,
        (version, reviewed): (Version, Version),
    ) -> Result<Version, W::Error> {
        let since = Step {
            before: vec![version],
            now: reviewed,
        };
        let version = followed(world, version, working, (&since, true), &[])?;
        let before = self.latest(path).map_or(reviewed, |latest| latest.working);
        carried_over(world, before, version, reviewed)
    }

    fn note_in_head(&mut self, path: &[u8], is_in_head: bool) {
        if self.in_head.contains(path) != is_in_head {
            self.note(Record::InHead(path.to_vec(), is_in_head));
        }
    }

    /// Records that the user decided about `path`: `reviewed` is what was reviewed now, and `working`
    /// what the file holds.
    ///
    /// # Errors
    ///
    /// Those of `world`.
    pub fn decide<W: World>(
        &mut self,
        world: &mut W,
        path: &[u8],
        reviewed: Version,
        working: Version,
    ) -> Result<(), W::Error> {
        self.forget_left_out(path);
        self.set(path, reviewed);
        let writers = self.writers();
        self.see_written(world, path, working, reviewed, &writers)
    }

    /// Records that the user decided about `path`, which holds `working`, in a review where `before` was
    /// reviewed of it and `after` is now. That change is made in what was reviewed, which others may have
    /// changed meanwhile.
    ///
    /// # Errors
    ///
    /// Those of `world`.
    pub fn decide_from<W: World>(
        &mut self,
        world: &mut W,
        path: &[u8],
        (before, after): (Version, Version),
        working: Version,
    ) -> Result<(), W::Error> {
        let reviewed = self.reviewed(world, path)?;
        let followed = match after {
            Version::Absent if before != after => after,
            _ => carried_over(world, before, reviewed, after)?,
        };
        self.decide(world, path, followed, working)
    }

    /// Records that the user, in an editor, made `after` of `before`, which the file held. What the
    /// user changed is reviewed, except where that touches what is pending. Of a file that was left out,
    /// see [`Ledger::left_out`], all is.
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
        if self.left_out.contains(path) {
            return self.decide(world, path, after, after);
        }
        let reviewed = self.reviewed(world, path)?;
        let followed = match after {
            // What is pending in it is gone by that, too.
            Version::Absent => after,
            _ => carried_over(world, before, reviewed, after)?,
        };
        if before != reviewed {
            // What others have written since the last look is not the user's.
            let writers = self.writers();
            self.see_written(world, path, before, reviewed, &writers)?;
        }
        self.set(path, followed);
        self.see_written(world, path, after, followed, &[Author::User])
    }

    /// Records that the user has renamed `path`, which held `before`, to `new_path`, which holds `after`.
    /// What is pending in it goes with it.
    ///
    /// # Errors
    ///
    /// Those of `world`.
    pub fn rename<W: World>(
        &mut self,
        world: &mut W,
        (path, before): (&[u8], Version),
        (new_path, after): (&[u8], Version),
    ) -> Result<(), W::Error> {
        if self.left_out.contains(path) {
            self.decide(world, path, Version::Absent, Version::Absent)?;
            return self.leave_out(world, vec![new_path.to_vec()]);
        }
        let reviewed = self.reviewed(world, path)?;
        let followed = carried_over(world, before, reviewed, after)?;
        self.decide(world, path, Version::Absent, Version::Absent)?;
        self.decide(world, new_path, followed, after)
    }

    /// Records that `path` holds `working`, which `by` made of what it held at the last look, while
    /// `reviewed` is what was reviewed.
    fn see_written<W: World>(
        &mut self,
        world: &mut W,
        path: &[u8],
        working: Version,
        reviewed: Version,
        by: &[Author],
    ) -> Result<(), W::Error> {
        let written = self.written(world, path, working, reviewed, by)?;
        self.see(
            path,
            Seen {
                working,
                reviewed,
                is_back: false,
                written,
            },
        );
        Ok(())
    }
}

/// Returns the text of `version`, which is empty if there is nothing; `None` if it has no lines.
pub(crate) fn text_of<W: World>(world: &mut W, version: Version) -> Result<Option<Text>, W::Error> {
    let bytes = match version {
        Version::Absent => Vec::new(),
        Version::Link { .. } => return Ok(None),
        Version::File { digest, .. } => world.bytes(digest)?,
    };
    Ok((!bytes.contains(&0)).then(|| Text::new(bytes)))
}

fn remember(commits: &mut VecDeque<String>, commit: String) {
    commits.push_back(commit);
    while commits.len() > N_COMMITS {
        commits.pop_front();
    }
}

/// Returns `results`, or the first error among them.
pub(crate) fn transposed<T, E, const N: usize>(results: [Result<T, E>; N]) -> Result<[T; N], E> {
    let all: Result<Vec<T>, E> = results.into_iter().collect();
    Ok(all?
        .try_into()
        .unwrap_or_else(|_| unreachable!("there are as many")))
}

/// Returns the file with this text, and with the mode of `from`, or of `onto` if `from` did not change that
/// of `base`.
fn with_text<W: World>(
    world: &mut W,
    (base, onto, from): (Version, Version, Version),
    text: Vec<u8>,
) -> Result<Version, W::Error> {
    let is_as_before = onto != Version::Absent && from.mode() == base.mode();
    let mode = if is_as_before {
        onto.mode()
    } else {
        from.mode()
    };
    let digest = world.store(text)?;
    Ok(Version::with_mode(mode, digest).unwrap_or(from))
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
    let texts = [base, onto, from].map(|version| text_of(world, version));
    let ([Some(base_text), Some(onto_text), Some(from_text)], Version::File { .. }) =
        (transposed(texts)?, from)
    else {
        return Ok(onto);
    };
    let [base_text, onto_text, from_text] = [&base_text, &onto_text, &from_text].map(Text::bytes);
    let text = match base {
        // Otherwise a file that is written again would have its lines twice.
        Version::Absent => carried(&common(onto_text, from_text), onto_text, from_text),
        _ => carried(base_text, onto_text, from_text),
    };
    if text.is_empty() && onto == Version::Absent {
        return Ok(Version::Absent);
    }
    with_text(world, (base, onto, from), text)
}
