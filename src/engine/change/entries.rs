//! All entries of a change, numbered from 0 through all its files, and what there is to show of
//! them.

use std::ops::Range;

use crate::review::{Counts, Fact, Mark, Position, Snapshot, Standing};

use super::{Change, Entry, FileChange, Presence, Unable};

impl FileChange {
    /// Returns the number of entries.
    pub fn n_entries(&self) -> usize {
        self.decided().len() + self.review().map_or(0, |review| review.tally().0)
    }

    /// Returns the number of `entry` among those of this file.
    fn number(&self, entry: Entry) -> usize {
        match entry {
            Entry::Operation(at) => at - self.n_implied,
            Entry::Hunk(hunk) => self.decided().len() + hunk,
        }
    }

    /// Returns the entry with the number `number` among those of this file.
    fn numbered(&self, number: usize) -> Entry {
        match number.checked_sub(self.decided().len()) {
            None => Entry::Operation(number + self.n_implied),
            Some(hunk) => Entry::Hunk(hunk),
        }
    }
}

impl Change {
    /// Returns the number of all entries.
    pub fn n_entries(&self) -> usize {
        self.files.iter().map(FileChange::n_entries).sum()
    }

    /// Returns the numbers of the entries of file `file`. Panics if there is no such file.
    pub fn entries_of(&self, file: usize) -> Range<usize> {
        let start = self.files[..file].iter().map(FileChange::n_entries).sum();
        start..start + self.files[file].n_entries()
    }

    /// Returns the number of `entry` of file `file`. Panics if there is no such file.
    pub fn number(&self, file: usize, entry: Entry) -> usize {
        self.entries_of(file).start + self.files[file].number(entry)
    }

    /// Returns the file of the entry with the number `number`, and the entry.
    ///
    /// # Errors
    ///
    /// [`Unable::NoSuchEntry`].
    pub fn entry(&self, number: usize) -> Result<(usize, Entry), Unable> {
        let mut rest = number;
        for (file, change) in (0..).zip(&self.files) {
            let n = change.n_entries();
            if rest < n {
                return Ok((file, change.numbered(rest)));
            }
            rest -= n;
        }
        Err(Unable::NoSuchEntry)
    }

    /// Returns the number of the next pending entry after `number`, wrapping around at the end;
    /// `None` if no other is pending.
    ///
    /// # Errors
    ///
    /// [`Unable::NoSuchEntry`].
    pub fn next_pending(&self, number: usize) -> Result<Option<usize>, Unable> {
        let (file, entry) = self.entry(number)?;
        let here = self.files[file].number(entry);
        let n_files = self.files.len();
        let others = (file + 1..n_files).chain(0..file);
        let others = others.map(|file| (file, 0..self.files[file].n_entries()));
        let places = std::iter::once((file, here + 1..self.files[file].n_entries()));
        let places = places.chain(others).chain([(file, 0..here)]);
        let pending = places.filter_map(|(file, numbers)| {
            let change = &self.files[file];
            let is_pending = |entry: &Entry| change.mark(*entry) == Mark::Pending;
            let mut entries = numbers.map(|number| change.numbered(number));
            Some((file, entries.find(is_pending)?))
        });
        let mut pending = pending.map(|(file, entry)| self.number(file, entry));
        Ok(pending.next())
    }

    /// Sets the mark of `entry` of file `file`, and changes nothing else. Panics if there is no
    /// such entry.
    pub fn set_mark(&mut self, file: usize, entry: Entry, mark: Mark) {
        let change = &mut self.files[file];
        match (entry, &mut change.review) {
            (Entry::Operation(at), _) => {
                change.operations[at].mark = mark;
                change.operations[at].has_failed &= mark == Mark::Pending;
            }
            (Entry::Hunk(hunk), Some(review)) => review.set_mark(hunk, mark),
            (Entry::Hunk(_), None) => panic!("only a text has hunks"),
        }
    }

    /// Rejects every entry of `files` that is not marked applied.
    pub fn reject_all(&mut self, files: Range<usize>) {
        let plan = self.plan_reject(files.clone());
        self.commit(&plan);
        // One that was rejected already may have failed to be accepted since then.
        for file in files {
            for number in 0..self.files[file].n_entries() {
                let entry = self.files[file].numbered(number);
                if self.files[file].mark(entry) != Mark::Applied {
                    self.set_mark(file, entry, Mark::Rejected);
                }
            }
        }
    }

    /// Returns the numbers of entries in each state.
    pub fn counts(&self) -> Counts {
        let mut sum = Counts::default();
        for change in &self.files {
            let counts = change.review().map(|review| review.counts());
            let counts = counts.unwrap_or_default();
            let with = |mark| change.decided().iter().filter(move |one| one.mark == mark);
            let is_in = |presence| presence == Presence::In;
            let done = change.decided().iter().filter(|one| is_in(one.presence));
            sum.total += counts.total + change.decided().len();
            sum.applied += counts.applied + with(Mark::Applied).count();
            sum.rejected += counts.rejected + with(Mark::Rejected).count();
            sum.in_target += counts.in_target + done.count();
        }
        sum
    }

    /// Returns how many entries are in the target, in conflict, or not where they were expected.
    pub fn standing(&self) -> Standing {
        let mut sum = Standing::default();
        for change in &self.files {
            let standing = change.review().map(|review| review.standing());
            let standing = standing.unwrap_or_default();
            sum.is_in += standing.is_in;
            if change.obstacle_to_lines().is_some() {
                sum.conflict += change.n_entries() - standing.is_in;
            } else {
                sum.conflict += standing.conflict;
                sum.ambiguous += standing.ambiguous;
                sum.shifted += standing.shifted;
            }
            for decided in change.decided() {
                match decided.presence {
                    Presence::In => sum.is_in += 1,
                    Presence::Neither => sum.conflict += 1,
                    Presence::Out => {}
                }
            }
        }
        sum
    }

    /// Returns everything to be shown of the entry with the number `number`. An operation has no
    /// line.
    ///
    /// # Errors
    ///
    /// [`Unable::NoSuchEntry`].
    pub fn snapshot(&self, number: usize) -> Result<Snapshot, Unable> {
        let (file, entry) = self.entry(number)?;
        let change = &self.files[file];
        let id = self.id(file, entry);
        Ok(match entry {
            Entry::Hunk(hunk) => {
                let snapshot = change.review_or_panic().snapshot(hunk);
                let is_out = snapshot.fact == Fact::Out;
                let obstacle = change.obstacle_to_lines().filter(|_| is_out);
                Snapshot {
                    hunk: number,
                    id,
                    position: match obstacle {
                        Some(_) => Position::Conflict,
                        None => snapshot.position,
                    },
                    reason: obstacle.or(snapshot.reason),
                    ..snapshot
                }
            }
            Entry::Operation(at) => {
                let decided = &change.operations[at];
                let is_changed = decided.presence == Presence::Neither;
                Snapshot {
                    hunk: number,
                    id,
                    mark: decided.mark,
                    fact: match decided.presence {
                        Presence::In => Fact::In,
                        Presence::Out | Presence::Neither => Fact::Out,
                    },
                    reason: is_changed.then(|| decided.obstacle()),
                    position: match is_changed {
                        true => Position::Conflict,
                        false => Position::Expected,
                    },
                    line: None,
                    offset: Some(0),
                    fuzz: 0,
                    places: Vec::new(),
                    was_in: decided.presence == Presence::In && !decided.is_ours,
                    is_edited: false,
                }
            }
        })
    }

    /// Returns a number that `entry` of file `file` keeps, even if its own changes; see
    /// [`Snapshot::id`].
    fn id(&self, file: usize, entry: Entry) -> usize {
        let change = &self.files[file];
        let within = match entry {
            Entry::Operation(at) => at,
            Entry::Hunk(hunk) => change.operations.len() + change.review_or_panic().id(hunk),
        };
        // The number of files stays the same.
        within * self.files.len() + file
    }

    /// Returns the number of the entry with the id `id`, if it still exists.
    pub fn number_with_id(&self, id: usize) -> Option<usize> {
        let file = id.checked_rem(self.files.len())?;
        let within = id / self.files.len();
        let change = &self.files[file];
        let entry = match within.checked_sub(change.operations.len()) {
            None => Entry::Operation(within),
            Some(id) => Entry::Hunk(change.review()?.hunk_with_id(id)?),
        };
        Some(self.number(file, entry))
    }
}
