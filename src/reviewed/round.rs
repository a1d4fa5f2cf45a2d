//! One review of what was written already: what its decisions mean for agents and for later reviews.
//!
//! What is rejected is remembered, and forgotten again when that is undone, or when the same lines are kept
//! later. For each turn, it is counted how many of its hunks were kept and taken out.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use agent_q_diff_engine::change::{Change, Entry, Operation};
use agent_q_diff_engine::key::{self, Found, Key, Keys};
use agent_q_diff_engine::review::Mark;

use crate::decided::Note;
use crate::path::Path;
use crate::rounds::{KeysByPath, Rejected, RoundRecord, Shown, State, plain};

/// Who wrote what is decided about a file: numbers of turns, or `None` for somebody else.
#[derive(Debug, Clone, Default)]
pub struct Writers {
    /// All of them.
    pub all: Vec<Option<u64>>,
    /// First line, line after the last, and who wrote these lines, as in the modified text; none if each line
    /// is by all of them.
    pub lines: Vec<(usize, usize, Vec<Option<u64>>)>,
}

/// A file of a round.
#[derive(Debug, Clone)]
pub struct RoundFile {
    /// Its path.
    pub path: Path,
    /// The path that it had before it was renamed.
    pub from: Option<Path>,
    /// For each of its operations that is decided by itself, what it does, for the user and agents.
    pub operations: Vec<String>,
    /// Who wrote it.
    pub writers: Writers,
}

/// How a hunk is like one that was rejected before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Likeness {
    /// It is that one.
    Same,
    /// It has its lines, and others.
    Part,
    /// It has the same lines in another place.
    Like,
}

/// How a hunk is decided, as far as that is recorded.
#[derive(Debug, Clone)]
struct Decided {
    mark: Mark,
    turns: Vec<u64>,
    rejected: Option<Rejected>,
    /// The reason of an earlier rejection, or what was said of its lines, if it was taken over.
    taken_over: Option<String>,
    /// The number of the comment that is the reason as long as it is rejected.
    comment: Option<u64>,
}

/// Numbers of pending hunks of a review.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct News {
    /// Those that the user has neither seen nor rejected before.
    pub n_new: usize,
    /// Those of these that have lines that the user has rejected.
    pub n_like: usize,
    /// Those that the user has rejected before.
    pub n_again: usize,
}

/// A review of what was written already, beyond its hunks.
#[derive(Debug)]
pub struct Round {
    files: Vec<RoundFile>,
    /// What was rejected in these files before the review, the latest first.
    before: Vec<Rejected>,
    /// By ids of hunks, which of `before` they are like.
    likenesses: HashMap<usize, Option<(usize, Likeness)>>,
    /// By ids of hunks.
    decided: BTreeMap<usize, Decided>,
}

/// What a decision means; see [`Round::note`].
pub struct Noted {
    /// What is to be recorded.
    pub notes: Vec<Note>,
    /// Hunks whose comments are taken over from earlier rejections, or are not any more: the comment that each
    /// has, and the one that it gets.
    pub comments: Vec<(usize, Option<String>, Option<String>)>,
    decided: BTreeMap<usize, Decided>,
}

/// For each turn, how many more of its hunks are kept, and taken out.
type Tally = BTreeMap<u64, [i64; 2]>;

fn count(tally: &mut Tally, decided: &Decided, n: i64) {
    for turn in &decided.turns {
        let counts = tally.entry(*turn).or_default();
        counts[usize::from(decided.mark == Mark::Rejected)] += n;
    }
}

fn counted(tally: Tally) -> impl Iterator<Item = Note> {
    let counts = tally.into_iter().filter(|(_, counts)| *counts != [0; 2]);
    counts.map(|(turn, [n_kept, n_out])| Note::Counted(turn, n_kept, n_out))
}

impl Noted {
    /// Forgets those decisions that are not the hunks' of `change` any more: they were changed or undone, also by
    /// an undo in the file's buffer.
    fn withdraw(&mut self, change: &Change, tally: &mut Tally) {
        let (comments, notes) = (&mut self.comments, &mut self.notes);
        self.decided.retain(|id, known| {
            let number = change.number_with_id(*id);
            let mark = number.and_then(|number| Some(mark_of(change, change.entry(number).ok()?)));
            if mark == Some(known.mark) {
                return true;
            }
            count(tally, known, -1);
            if let Some(one) = &known.rejected {
                let reason = known.taken_over.clone();
                if let Some(number) = number.filter(|_| reason.is_some()) {
                    comments.push((number, reason, None));
                }
                notes.push(forgotten(one));
                notes.extend(known.comment.map(|id| is_now(id, State::Open)));
            }
            false
        });
    }
}

impl Writers {
    /// Returns the turns that wrote `entry` of file `file`.
    fn turns(&self, change: &Change, file: usize, entry: Entry) -> Vec<u64> {
        let here = match (entry, change.files()[file].review()) {
            (Entry::Hunk(hunk), Some(review)) => {
                let changed = review.proposal().changed_lines(hunk);
                let is_here = |(from, to, _): &&(usize, usize, _)| {
                    // Two that only touch are two.
                    (*from <= changed.end && changed.start <= *to)
                        && (*from < changed.end || changed.is_empty())
                        && (changed.start < *to || from == to)
                };
                let here = self.lines.iter().filter(is_here);
                here.flat_map(|(_, _, who)| who).collect()
            }
            _ => Vec::new(),
        };
        let known = if here.is_empty() {
            self.all.iter().collect()
        } else {
            here
        };
        let turns: BTreeSet<u64> = known.into_iter().flatten().copied().collect();
        turns.into_iter().collect()
    }
}

impl RoundFile {
    fn has_path(&self, path: &Path) -> bool {
        self.path == *path || self.from.as_ref() == Some(path)
    }
}

impl Round {
    /// Returns one that begins, with `files`, those of its change in their order. `rejected` is what was
    /// rejected in the project, the latest last.
    pub fn new<'r>(
        files: Vec<RoundFile>,
        rejected: impl DoubleEndedIterator<Item = &'r Rejected>,
    ) -> Round {
        let is_here = |one: &&Rejected| files.iter().any(|file| file.has_path(&one.path));
        let before = rejected.rev().filter(is_here).cloned().collect();
        Round {
            files,
            before,
            likenesses: HashMap::new(),
            decided: BTreeMap::new(),
        }
    }

    /// Returns the path that file `file` of `change` has now.
    fn path(&self, change: &Change, file: usize) -> &Path {
        let known = &self.files[file];
        let file = &change.files()[file];
        let mut operations = file.operations();
        let renaming = operations.position(|one| *one == Operation::Rename);
        match (&known.from, renaming) {
            (Some(from), Some(at)) if !file.is_in(Entry::Operation(at)) => from,
            _ => &known.path,
        }
    }

    /// Returns what was rejected before this review that the hunk `number` of `change` is like.
    pub fn earlier(&mut self, change: &Change, number: usize) -> Option<(&Rejected, Likeness)> {
        if self.before.is_empty() {
            return None;
        }
        let (file, entry) = change.entry(number).ok()?;
        let id = change.id(file, entry);
        if !self.likenesses.contains_key(&id) {
            self.compare(change, file);
        }
        let (at, likeness) = (*self.likenesses.get(&id)?)?;
        Some((&self.before[at], likeness))
    }

    /// Learns which earlier rejections the hunks of file `file` of `change` are like.
    fn compare(&mut self, change: &Change, file: usize) {
        let path = self.path(change, file).clone();
        let before = self.before.iter().enumerate();
        let before: Vec<_> = before.filter(|(_, one)| one.path == path).collect();
        let first = change.entries_of(file).start;
        let mut found = HashMap::new();
        if !before.is_empty() {
            let keys = Keys::of(&change.files()[file]);
            for (at, one) in &before {
                let Ok(key) = one.hunk.parse::<Key>();
                match keys.find(&key) {
                    Found::Sure(hunk, None) => {
                        found.insert(first + hunk, (*at, Likeness::Same));
                    }
                    Found::Sure(hunk, Some(_)) => {
                        let part = (*at, Likeness::Part);
                        found.entry(first + hunk).or_insert(part);
                    }
                    Found::Gone(_) | Found::Unsure(_) => {}
                }
            }
        }
        for (number, entry) in change.entries_of(file).zip(change.files()[file].entries()) {
            let likeness = found.get(&number).copied();
            let likeness = likeness.or_else(|| like(change, file, entry, &before));
            self.likenesses.insert(change.id(file, entry), likeness);
        }
    }

    /// Returns what is to be recorded of the hunks of `change` that are decided otherwise than before, at
    /// `time`, in seconds since 1970. `comments` are the user's comments on hunks, and `said`, by ids of hunks,
    /// those on exactly their lines, with their numbers. When such a hunk is rejected, that is the reason, unless
    /// another one was given, and the comment is closed until that is undone. What is kept
    /// of `elsewhere`, as from [`Round::elsewhere`], is not rejected any more.
    pub fn note(
        &mut self,
        change: &Change,
        elsewhere: &[Rejected],
        comments: &BTreeMap<usize, String>,
        said: &BTreeMap<usize, (u64, String)>,
        time: u64,
    ) -> Noted {
        let mut noted = Noted {
            notes: Vec::new(),
            comments: Vec::new(),
            decided: self.decided.clone(),
        };
        let mut tally = Tally::new();
        noted.withdraw(change, &mut tally);
        let mut keys = HashMap::new();
        let mut found = HashMap::new();
        for number in 0..change.n_entries() {
            let Ok((file, entry)) = change.entry(number) else {
                continue;
            };
            let (id, mark) = (change.id(file, entry), mark_of(change, (file, entry)));
            if mark == Mark::Pending || noted.decided.contains_key(&id) {
                continue;
            }
            let earlier = self.earlier(change, number);
            let earlier = earlier.filter(|(_, likeness)| *likeness != Likeness::Part);
            let earlier = earlier.map(|(one, _)| one.clone());
            let mut decided = Decided {
                mark,
                turns: self.files[file].writers.turns(change, file, entry),
                rejected: None,
                taken_over: None,
                comment: None,
            };
            if mark == Mark::Rejected {
                let comment = comments.get(&number);
                let mut reason = earlier.map(|one| one.reason).unwrap_or_default();
                if let Some((id, text)) = said.get(&id) {
                    noted.notes.push(is_now(*id, State::Closed));
                    decided.comment = Some(*id);
                    reason.clone_from(text);
                }
                if (comment.is_none() || decided.comment.is_some()) && !reason.is_empty() {
                    noted.comments.push((number, None, Some(reason.clone())));
                    decided.taken_over = Some(reason);
                }
                let reason = comment.or(decided.taken_over.as_ref());
                let reason = reason.cloned().unwrap_or_default();
                let one = Rejected {
                    hunk: key_of(&mut keys, change, number),
                    time,
                    reason,
                    ..self.rejected(change, file, entry)
                };
                noted
                    .notes
                    .push(Note::Rejected(one.clone(), decided.turns.clone()));
                decided.rejected = Some(one);
            } else {
                noted.notes.extend(earlier.as_ref().map(forgotten));
                let all = || find_all(elsewhere, change, file, self.path(change, file));
                let here = found.entry(file).or_insert_with(all).iter();
                let here = here.filter(|(its, _)| *its == number);
                noted.notes.extend(here.map(|(_, one)| forgotten(one)));
            }
            count(&mut tally, &decided, 1);
            noted.decided.insert(id, decided);
        }
        noted.notes.extend(counted(tally));
        noted
    }

    /// Returns those of `rejected`, what is rejected in the project now, that were neither known when this
    /// review began nor rejected in it: another Emacs has rejected them meanwhile.
    pub fn elsewhere<'r>(&self, rejected: impl Iterator<Item = &'r Rejected>) -> Vec<Rejected> {
        let here = self
            .decided
            .values()
            .filter_map(|one| one.rejected.as_ref());
        let known = self.before.iter().chain(here);
        let known: BTreeSet<_> = known.map(|one| (&*one.path, &*one.hunk)).collect();
        let is_here = |one: &Rejected| self.files.iter().any(|file| file.has_path(&one.path));
        let is_new = |one: &&Rejected| is_here(one) && !known.contains(&(&*one.path, &*one.hunk));
        rejected.filter(is_new).cloned().collect()
    }

    /// Returns what is remembered of a hunk that is rejected, but for its key, the time and the reason.
    fn rejected(&self, change: &Change, file: usize, entry: Entry) -> Rejected {
        let nth = change.number(file, entry) - change.entries_of(file).start;
        let (line, lines) = match (entry, change.files()[file].review()) {
            (Entry::Hunk(hunk), Some(review)) => {
                let proposal = review.proposal();
                let first = proposal.edits(hunk)[0].before.start as u64;
                (first + 1, plain(&key::changed_lines(proposal, hunk)))
            }
            _ => {
                let words = self.files[file].operations.get(nth);
                (0, words.cloned().unwrap_or_default())
            }
        };
        Rejected {
            path: self.path(change, file).clone(),
            hunk: String::new(),
            time: 0,
            reason: String::new(),
            line,
            lines,
            is_told: false,
            is_back: false,
            to: Vec::new(),
        }
    }

    /// Takes over what was recorded of `noted`.
    pub fn take_over(&mut self, noted: Noted) {
        self.decided = noted.decided;
    }

    /// Returns what is to be recorded at the end of the review: the reasons for its rejections, their keys, paths
    /// and lines, which may have changed since, and what of it is still pending, if the user has finished it and
    /// `is_shown` says so. `comments` are as for [`Round::note`]; if `is_told`, an agent reads them in another way.
    pub fn end(
        &mut self,
        change: &Change,
        comments: &BTreeMap<usize, String>,
        is_told: bool,
        is_shown: Option<bool>,
    ) -> Vec<Note> {
        let mut noted = Noted {
            notes: Vec::new(),
            comments: Vec::new(),
            decided: std::mem::take(&mut self.decided),
        };
        let mut tally = Tally::new();
        noted.withdraw(change, &mut tally);
        let Noted {
            mut notes, decided, ..
        } = noted;
        self.decided = decided;
        notes.extend(counted(tally));
        let mut keys = HashMap::new();
        let paths = (0..self.files.len()).map(|file| self.path(change, file).clone());
        let paths: Vec<Path> = paths.collect();
        for (id, decided) in &mut self.decided {
            let (Some(one), Some(number)) = (&mut decided.rejected, change.number_with_id(*id))
            else {
                continue;
            };
            let Ok((file, entry)) = change.entry(number) else {
                continue;
            };
            let reason = comments.get(&number).cloned().unwrap_or_default();
            let key = key_of(&mut keys, change, number);
            let line = line_now(change, file, entry).unwrap_or(one.line);
            let is_moved = key != one.hunk || paths[file] != one.path;
            if is_moved {
                notes.push(forgotten(one));
            }
            if is_told || reason != one.reason || line != one.line || is_moved {
                (one.reason, one.is_told, one.line, one.hunk) = (reason, is_told, line, key);
                one.path.clone_from(&paths[file]);
                notes.push(Note::Rejected(one.clone(), decided.turns.clone()));
            }
        }
        if let Some(is_shown) = is_shown {
            let mut shown = Vec::new();
            let files = change.files().iter().enumerate().filter(|_| is_shown);
            for (at, file) in files.filter(|(_, file)| file.entries().next().is_some()) {
                let keys = Keys::of(file);
                let keys = keys.all().iter().zip(file.entries());
                let keys = keys.filter(|(_, entry)| file.mark(*entry) == Mark::Pending);
                let keys = keys.map(|(key, _)| key.to_string()).collect();
                shown.push(Shown(self.path(change, at).clone(), keys));
            }
            notes.push(Note::Said(RoundRecord::Shown(shown)));
        }
        notes
    }

    /// Returns the hunks of `change` that were rejected in this review, by their numbers.
    pub fn rejected_now(&self, change: &Change) -> Vec<(usize, &Rejected)> {
        let decided = self.decided.iter();
        let rejected = decided.filter_map(|(id, decided)| {
            Some((change.number_with_id(*id)?, decided.rejected.as_ref()?))
        });
        rejected.collect()
    }

    /// Returns what was rejected before that the hunks of `change` with one of `marks` are like.
    pub fn again(&mut self, change: &Change, marks: &[Mark]) -> Vec<Rejected> {
        let numbers = 0..change.n_entries();
        let again = numbers.filter_map(|number| {
            let is_meant = marks.contains(&mark_of(change, change.entry(number).ok()?));
            let (one, _) = self.earlier(change, number).filter(|_| is_meant)?;
            Some(one.clone())
        });
        again.collect()
    }

    /// Returns what is new in `change`, if hunks with the keys `shown`, by path, are not. One that may have
    /// been shown is new, too, and so is one that only has lines of a rejected one, or is in another place.
    pub fn news(&mut self, change: &Change, shown: &KeysByPath) -> News {
        let mut news = News::default();
        for (at, file) in change.files().iter().enumerate() {
            let keys = Keys::of(file);
            let known = shown.get(self.path(change, at)).into_iter().flatten();
            let known: Vec<usize> = known
                .filter_map(|key| {
                    let Ok(key) = key.parse::<Key>();
                    match keys.find(&key) {
                        Found::Sure(hunk, None) => Some(hunk),
                        _ => None,
                    }
                })
                .collect();
            let first = change.entries_of(at).start;
            for (nth, entry) in file.entries().enumerate() {
                let likeness = self.earlier(change, first + nth);
                match likeness.map(|(_, likeness)| likeness) {
                    _ if file.mark(entry) != Mark::Pending => {}
                    Some(Likeness::Same) => news.n_again += 1,
                    _ if known.contains(&nth) => {}
                    likeness => {
                        news.n_new += 1;
                        news.n_like += usize::from(likeness.is_some());
                    }
                }
            }
        }
        news
    }
}

/// Returns the key of the hunk `number` of `change`. The keys of its file are kept in `known`, by file.
fn key_of(known: &mut HashMap<usize, Vec<Key>>, change: &Change, number: usize) -> String {
    let file = change.entry(number).map_or(0, |(file, _)| file);
    let all = || Keys::of(&change.files()[file]).all().to_vec();
    let keys = known.entry(file).or_insert_with(all);
    keys[number - change.entries_of(file).start].to_string()
}

fn mark_of(change: &Change, (file, entry): (usize, Entry)) -> Mark {
    change.files()[file].mark(entry)
}

/// Returns the line of the file, from 1, at which it has the first change of `entry`, or would have it; `None` if
/// that is not certain.
fn line_now(change: &Change, file: usize, entry: Entry) -> Option<u64> {
    match (entry, change.files()[file].review()) {
        (Entry::Hunk(hunk), Some(review)) => {
            let place = review.proposal().place(hunk).ok()?;
            Some(place.line as u64 + 1)
        }
        _ => None,
    }
}

fn is_now(comment: u64, state: State) -> Note {
    Note::Said(RoundRecord::State(comment, state))
}

fn forgotten(one: &Rejected) -> Note {
    Note::Said(RoundRecord::Unrejected(one.path.clone(), one.hunk.clone()))
}

/// Returns those of `rejected` that are hunks of file `file` of `change`, whose path is `path`, with their
/// numbers.
fn find_all<'r>(
    rejected: &'r [Rejected],
    change: &Change,
    file: usize,
    path: &Path,
) -> Vec<(usize, &'r Rejected)> {
    let here: Vec<_> = rejected.iter().filter(|one| one.path == *path).collect();
    if here.is_empty() {
        return Vec::new();
    }
    let keys = Keys::of(&change.files()[file]);
    let first = change.entries_of(file).start;
    let found = here.into_iter().filter_map(|one| {
        let Ok(key) = one.hunk.parse::<Key>();
        match keys.find(&key) {
            Found::Sure(hunk, None) => Some((first + hunk, one)),
            _ => None,
        }
    });
    found.collect()
}

/// Returns which of `before`, with their numbers, `entry` of file `file` is like, in another place.
fn like(
    change: &Change,
    file: usize,
    entry: Entry,
    before: &[(usize, &Rejected)],
) -> Option<(usize, Likeness)> {
    let (Entry::Hunk(hunk), Some(review)) = (entry, change.files()[file].review()) else {
        return None;
    };
    if before.is_empty() {
        return None;
    }
    let lines = plain(&key::changed_lines(review.proposal(), hunk));
    let lines = format!("\n{lines}");
    let find = |test: &dyn Fn(&str) -> bool| {
        let mut before = before.iter().filter(|(_, one)| one.lines.contains('\n'));
        let found = before.find(|(_, one)| test(&format!("\n{}", one.lines)));
        found.map(|(at, _)| *at)
    };
    let same = find(&|known| known == lines).map(|at| (at, Likeness::Like));
    same.or_else(|| find(&|known| lines.contains(known)).map(|at| (at, Likeness::Part)))
}
