//! What was reviewed of a project, as its records say.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::authors::{Author, Authors};
use crate::path::{Path, escaped};
use crate::processes::{Processes, Task};
use crate::programs::{Known, Programs};
use crate::record::{Excludes, HunkNote, Record, Seen, Staged, TakenOut, Turn};
use crate::rounds::{RoundRecord, Rounds, address};
use crate::version::{Digest, Version};

mod rules;

pub use rules::{Moves, Pending};

/// Number of turns that are remembered.
const N_TURNS: usize = 200;

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
    /// The processes that turns left running.
    processes: Processes,
    /// What git runs by itself, as the user knows it; `None` until the first look.
    programs: Option<Known>,
    rounds: Rounds,
    /// The agents whose edits pass before they are reviewed, with the patterns of files for which that does
    /// not hold.
    passes: BTreeMap<String, Vec<String>>,
    /// The lines that hide files from git and are no part of the project, once there was a look.
    excludes: Option<Excludes>,
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
                self.rounds.reopen(&address(&turn.agent, &turn.session));
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
            Record::TakenOut(new) => {
                // What was interrupted, and is done now, was done once.
                let is_again = |one: &TakenOut| {
                    one.left.is_none() && one.had == new.had && one.path == new.path
                };
                self.taken_out.retain(|one| !is_again(one));
                self.taken_out.push(new);
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
            Record::Processes(processes) => self.processes = processes,
            Record::Programs(known) => self.programs = Some(known),
            Record::Excludes(excludes) => self.excludes = Some(excludes),
            Record::Round(record) => self.rounds.replay(record),
            Record::Passes(agent, Some(protected)) => {
                self.passes.insert(agent, protected);
            }
            Record::Passes(agent, None) => {
                self.passes.remove(&agent);
            }
            Record::Lost(digest) => {
                self.forget_text(digest);
            }
            Record::Said(note) => self.said.push(note),
            Record::Heard => self.said.clear(),
        }
    }

    /// Forgets all that cannot be known without the text `digest`. Returns whether that was anything.
    fn forget_text(&mut self, digest: Digest) -> bool {
        let n_known = |ledger: &Ledger| {
            let n_seen: usize = ledger.seen.values().map(VecDeque::len).sum();
            n_seen + ledger.reviewed.len() + ledger.staged.len() + ledger.taken_out.len()
        };
        let n_before = n_known(self);
        let has = |version: &Version| version.digest() == Some(digest);
        self.reviewed.retain(|_, version| !has(version));
        for seen in self.seen.values_mut() {
            seen.retain(|one| {
                !(has(&one.working) || has(&one.reviewed) || one.written.lines == Some(digest))
            });
        }
        self.seen.retain(|_, seen| !seen.is_empty());
        self.staged.retain(|_, staged| !has(&staged.version));
        self.taken_out
            .retain(|one| !(has(&one.had) || one.left.as_ref().is_some_and(has)));
        n_known(self) < n_before
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
        all.extend(self.turns.iter().cloned().map(Record::Turn));
        all.extend(self.taken_out.iter().cloned().map(Record::TakenOut));
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
        let has_processes = self.processes != Processes::default();
        all.extend(has_processes.then(|| Record::Processes(self.processes.clone())));
        all.extend(self.programs.clone().map(Record::Programs));
        all.extend(self.excludes.iter().cloned().map(Record::Excludes));
        all.extend(self.rounds.all_records().into_iter().map(Record::Round));
        let passes = self.passes.iter();
        all.extend(
            passes.map(|(agent, patterns)| Record::Passes(agent.clone(), Some(patterns.clone()))),
        );
        all.extend(self.said.iter().cloned().map(Record::Said));
        all
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

    /// Records that the text `digest` is lost, and says of which paths it was what was reviewed. Returns
    /// whether it was needed for anything that can be asked again.
    pub fn lose(&mut self, digest: Digest) -> bool {
        let is_it = |version: &Version| version.digest() == Some(digest);
        let reviewed = self.reviewed.iter().filter(|(_, version)| is_it(version));
        let paths: Vec<String> = reviewed.map(|(path, _)| escaped(path)).collect();
        if !self.forget_text(digest) {
            return false;
        }
        self.records.push(Record::Lost(digest));
        for path in paths {
            self.say(&format!(
                "What was reviewed of {path} is lost, since its text in the record's folder is missing or \
                 damaged; the file is asked again"
            ));
        }
        true
    }

    /// Records that something is about to be taken out of `path`, which holds `had`, at `time`, in
    /// seconds since 1970.
    pub fn take_out(&mut self, path: &[u8], time: u64, had: Version) {
        self.note(Record::TakenOut(TakenOut {
            path: path.to_vec(),
            time,
            had,
            left: None,
        }));
    }

    /// Records what `path` holds after something was taken out of it, as was recorded before, and returns what
    /// it held until then. If that is the same, nothing was taken out.
    pub fn leave(&mut self, path: &[u8], left: Version) -> Option<Version> {
        let mut begun = self.taken_out.iter().rev();
        let begun = begun.find(|one| one.path == path);
        let had = begun.filter(|one| one.left.is_none()).map(|one| one.had);
        self.note(Record::Left(path.to_vec(), left));
        had
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

    /// Returns whether HEAD has changes of `path` that are pending, and that the user did not commit.
    pub fn is_in_head(&self, path: &[u8]) -> bool {
        self.in_head.contains(path)
    }

    /// Returns the paths of which HEAD has changes that the user did not commit, and that were not read.
    pub(crate) fn unread_in_head(&self) -> Vec<Path> {
        let paths = self.in_head.iter();
        let unread = paths.filter(|path| !self.reviewed.contains_key(*path));
        unread.cloned().collect()
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

    /// Returns what is known of processes since turns began.
    pub fn processes(&self) -> &Processes {
        &self.processes
    }

    /// Records what is known of processes now.
    pub fn note_processes(&mut self, processes: Processes) {
        if self.processes != processes {
            self.note(Record::Processes(processes));
        }
    }

    /// Records which of these still run now.
    pub(crate) fn follow_processes(&mut self) {
        let is_alive = |id| {
            let mut turns = self.turns.iter();
            turns.any(|turn| turn.id == id && turn.is_alive())
        };
        self.note_processes(self.processes.now(is_alive));
    }

    /// Records that `tasks`, by the agent's names, are what the last turn of `agent` in `session` has in the
    /// background now; without such a turn, nothing is recorded.
    pub(crate) fn note_tasks(&mut self, agent: &str, session: &str, tasks: Vec<String>) {
        let is_its = |turn: &&Turn| turn.agent == agent && turn.session == session;
        let its: Vec<u64> = self
            .turns
            .iter()
            .filter(is_its)
            .map(|turn| turn.id)
            .collect();
        let Some(&last) = its.last() else { return };
        let mut known = self.processes.clone();
        known.tasks.retain(|task| !its.contains(&task.turn));
        let tasks = tasks.into_iter().map(|id| Task { turn: last, id });
        known.tasks.extend(tasks);
        self.note_processes(known);
    }

    /// Returns what `agent` has in the background of `session`, by its own names.
    pub(crate) fn tasks(&self, agent: &str, session: &str) -> Vec<String> {
        let is_its = |task: &&Task| {
            let mut turns = self.turns.iter();
            turns.any(|turn| turn.id == task.turn && turn.agent == agent && turn.session == session)
        };
        let its = self.processes.tasks.iter().filter(is_its);
        its.map(|task| task.id.clone()).collect()
    }

    /// Returns whether what somebody does now in what is git's own is done by the user: turns are known here,
    /// none is open, and nothing that one has begun was running at the last look.
    pub(crate) fn is_users_time(&self) -> bool {
        let is_free = self.at_work().next().is_none() && !self.processes.may_run();
        is_free && !self.turns.is_empty()
    }

    /// Records that git now runs `now` by itself. The user knows that at the first look, if `is_known`, and what
    /// the user has written since then.
    pub fn follow_programs(&mut self, now: &Programs, is_known: bool) {
        let writers = (!self.is_users_time()).then(|| self.writers());
        let followed = match &self.programs {
            Some(known) if !is_known => known.followed(now, writers.as_deref()),
            _ => Known::all(now.clone()),
        };
        if self.programs.as_ref() != Some(&followed) {
            self.note(Record::Programs(followed));
        }
    }

    /// Returns what of the programs that git runs by itself the user does not know, as sentences without
    /// their last period.
    pub fn unknown_programs(&self) -> Vec<String> {
        let agent_of = |id| {
            let turn = self.turns.iter().find(|turn| turn.id == id);
            turn.map_or("An agent".to_owned(), |turn| turn.agent.clone())
        };
        let known = self.programs.as_ref();
        known.map_or(Vec::new(), |known| known.sentences(agent_of))
    }

    /// Records that `now` are the lines that hide files from git and are no part of the project.
    pub(crate) fn follow_excludes(&mut self, now: Vec<String>) {
        let is_theirs = !self.is_users_time();
        let known = self.excludes.clone();
        let (others, users) = now.into_iter().partition(|line| match &known {
            None => false,
            Some(known) => known.others.contains(line) || is_theirs && !known.users.contains(line),
        });
        let excludes = Excludes { users, others };
        if known.as_ref() != Some(&excludes) {
            self.note(Record::Excludes(excludes));
        }
    }

    /// Returns whether `line` is one of these that is not the user's.
    pub(crate) fn hides(&self, line: &str) -> bool {
        let excludes = self.excludes.as_ref();
        excludes.is_some_and(|excludes| excludes.others.iter().any(|other| other == line))
    }

    /// Records that all these lines count as the user's, and returns how many did not.
    pub(crate) fn accept_excludes(&mut self) -> usize {
        let known = self.excludes.clone().unwrap_or_default();
        let n_others = known.others.len();
        if n_others > 0 {
            let users = [known.users, known.others].concat();
            let others = Vec::new();
            self.note(Record::Excludes(Excludes { users, others }));
        }
        n_others
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
        } else if let (true, Some(turn)) = (self.has_base, self.processes.background()) {
            vec![Author::Background(turn)]
        } else if self.has_base {
            vec![Author::Outside]
        } else {
            vec![Author::Unknown]
        }
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
}

fn remember(commits: &mut VecDeque<String>, commit: String) {
    commits.push_back(commit);
    while commits.len() > N_COMMITS {
        commits.pop_front();
    }
}
