//! The rules by which reviewed texts change: by the user's decisions and saves, and when the base
//! moves by itself.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use agent_q_diff_engine::text::{Text, without_terminator};

use super::Ledger;
use crate::authors::{Author, Authors, LineAuthors, Written};
use crate::carry::{carried, common};
use crate::commits::followed;
use crate::path::Path;
use crate::record::{HunkNote, Record, Seen, Staged, TakenOut};
use crate::undone::{Back, Earlier, Undone};
use crate::version::Version;
use crate::world::{Step, World, text_of, transposed};

/// What the user is to read, once, when others have written over a correction.
const LOST: &str =
    "Lines that you typed are not in their files any more; M-x agent-q-diff-taken-out lists them";

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
    /// Whether HEAD has some of it, which somebody else than the user committed.
    pub is_in_head: bool,
}

impl Ledger {
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
        self.forget_hunks(world, &pending);
        Ok(pending)
    }

    /// Forgets which hunks notes are on, of files of which nothing is pending any more: if the same lines come
    /// back, they are others. What was said of them stays, to be told.
    fn forget_hunks<W: World>(&mut self, world: &W, pending: &[Pending]) {
        let is_out = |path: &Path| self.left_out.contains(path) || world.is_left_out(path);
        let is_pending = |path: &Path| pending.iter().any(|one| one.path == *path);
        let noted = self.noted.iter().filter(|(path, notes)| {
            let is_known = notes.iter().any(|note| !note.hunk.is_empty());
            is_known && !path.is_empty() && !is_pending(path) && !is_out(path)
        });
        let gone: Vec<(Path, Vec<HunkNote>)> = noted
            .map(|(path, notes)| (path.clone(), notes.clone()))
            .collect();
        for (path, mut notes) in gone {
            notes.iter_mut().for_each(|note| note.hunk.clear());
            self.note(Record::Noted(path, notes));
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
        if !is_followed {
            self.keep_lost(world, path, working, &[reviewed])?;
        }
        if latest != Some((working, reviewed)) {
            let is_again = self.was_taken_out(path, working, writers);
            let written = self.written(world, path, (working, reviewed), writers, is_again)?;
            self.see(
                path,
                Seen {
                    working,
                    reviewed,
                    is_back,
                    is_typed: false,
                    written,
                },
            );
        }
        if working == reviewed {
            return Ok(None);
        }
        let head = world.head();
        let written = self.latest(path).map(|latest| latest.written.clone());
        Ok(Some(Pending {
            path: path.to_vec(),
            reviewed,
            working,
            written: written.unwrap_or_default(),
            is_in_head: self.in_head.contains(path)
                && world.committed(head.as_deref(), path)? != reviewed,
        }))
    }

    /// Records what `path` held at the last look, if others have made `given` of it, and a pending line of the
    /// user's is in neither that nor any of `others`: one that was typed in an editor, or, if the file was given
    /// back as it was before, one that the user may have written. Nothing else would show that line any more; an
    /// agent that rewinds, or that writes on from what it remembers, asks nobody.
    fn keep_lost<W: World>(
        &mut self,
        world: &mut W,
        path: &[u8],
        given: Version,
        others: &[Version],
    ) -> Result<(), W::Error> {
        let Some(latest) = self.latest(path) else {
            return Ok(());
        };
        let had = latest.working;
        if had == given
            || had == Version::Absent
            || had == latest.reviewed
            || !latest.written.authors.iter().any(may_be_users)
        {
            return Ok(());
        }
        let is_listed = |one: &TakenOut| one.had == had && one.left == Some(given);
        let mut listed = self.taken_out.iter().rev();
        if listed.find(|one| one.path == path).is_some_and(is_listed) {
            return Ok(());
        }
        let Some(lost) = lost(world, latest, &[&[given], others].concat())? else {
            return Ok(());
        };
        // What is gone can have been renamed, with all that it had.
        let is_typed = given != Version::Absent && self.is_any_typed(world, path, &lost)?;
        if is_typed || self.held(world, path, given)? {
            self.take_out(path, world.time(), had);
            self.leave(path, given);
        }
        if is_typed && !self.said().iter().any(|known| known == LOST) {
            self.say(LOST);
        }
        Ok(())
    }

    /// Returns whether the user has typed any of `lines` in `path`; if there are none, whether the user made what
    /// it held at the last look.
    fn is_any_typed<W: World>(
        &self,
        world: &mut W,
        path: &[u8],
        lines: &HashSet<Vec<u8>>,
    ) -> Result<bool, W::Error> {
        if lines.is_empty() {
            return Ok(self.latest(path).is_some_and(|latest| latest.is_typed));
        }
        let seen: Vec<&Seen> = self.seen.get(path).into_iter().flatten().collect();
        for (at, one) in seen.iter().enumerate().rev() {
            if !one.is_typed {
                continue;
            }
            let before = match at {
                0 => one.reviewed,
                _ => seen[at - 1].working,
            };
            let texts = [before, one.working].map(|version| text_of(world, version));
            let [Some(before), Some(after)] = transposed(texts)? else {
                continue;
            };
            let (before, after) = (line_counts(&before), line_counts(&after));
            if lines
                .iter()
                .any(|line| before.get(&line[..]) < after.get(&line[..]))
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns whether `path` is known to have held `version`, in its file or in the base, or whether that was
    /// reviewed of it.
    fn held<W: World>(
        &self,
        world: &mut W,
        path: &[u8],
        version: Version,
    ) -> Result<bool, W::Error> {
        let mut seen = self.seen.get(path).into_iter().flatten();
        let is_known = seen.any(|seen| seen.working == version || seen.reviewed == version)
            || self.reviewed(world, path)? == version;
        Ok(is_known
            || self.base.is_some() && world.committed(self.base.as_deref(), path)? == version)
    }

    /// Returns whether the user has taken something out of `working`, which `path` held, and `writers`, who
    /// are agents in other turns than that in which it was written, have written it again.
    fn was_taken_out(&self, path: &[u8], working: Version, writers: &[Author]) -> bool {
        let mut taken_out = self.taken_out.iter();
        let mut seen = self.seen.get(path).into_iter().flatten().rev();
        let first = seen.find(|seen| seen.working == working);
        let is_by_first = |author| first.is_some_and(|one| one.written.authors.contains(author));
        let is_turn = |author: &Author| matches!(author, Author::Turn(_));
        writers
            .iter()
            .all(|author| is_turn(author) && !is_by_first(author))
            && taken_out.any(|one| one.path == path && one.had == working)
    }

    /// Returns who wrote what is pending in `path`, which `by` made of what it was at the last look. If
    /// `is_again`, they wrote what it held before; otherwise it was only brought back.
    fn written<W: World>(
        &self,
        world: &mut W,
        path: &[u8],
        (working, reviewed): (Version, Version),
        by: &[Author],
        is_again: bool,
    ) -> Result<Written, W::Error> {
        let mut seen = self.seen.get(path).into_iter().flatten().rev();
        // What a file holds again is by who wrote it first.
        let latest = seen
            .find(|seen| !is_again && seen.working == working && seen.working != seen.reviewed)
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
        let before = line_authors(world, &latest.written, (&old_reviewed, &old))?;
        let after = before.followed(&old, &new, by);
        summed(world, &after, (&reviewed, &new), by)
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

    /// Looks at what the index has, where that is not what HEAD has. What was staged since the last look is
    /// reviewed if the user staged it: if no agent is in a turn, and turns are known here or `is_by_user`. Unless
    /// it is `is_by_user`, a process that a turn left running until the last look may have staged it.
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
        let is_free = self.at_work().next().is_none();
        let is_users = is_by_user && is_free || self.is_users_time();
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
        if old.is_submodule() || new.is_submodule() {
            return self.submodule_moved_by_user(world, head, (path, new), reviewed);
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

    /// Returns what is reviewed of the submodule `path` once the user has moved HEAD to `head`, which has `new`;
    /// until then, `reviewed` was. It may be checked out only later, by another command.
    fn submodule_moved_by_user<W: World>(
        &mut self,
        world: &mut W,
        head: Option<&str>,
        (path, new): (&[u8], Version),
        reviewed: Version,
    ) -> Result<Version, W::Error> {
        let is_new = |version: &Version| *version == new;
        let others = world.others(head, path)?;
        if reviewed == new || !others.iter().any(|step| step.brought(is_new)) {
            return Ok(new);
        }
        self.note_in_head(path, true);
        Ok(reviewed)
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

    /// Records whether HEAD has changes of `path` that are pending, and that the user did not commit.
    pub(crate) fn note_in_head(&mut self, path: &[u8], is_in_head: bool) {
        if self.in_head.contains(path) != is_in_head {
            self.note(Record::InHead(path.to_vec(), is_in_head));
        }
    }

    /// Records that the user decided about `path`: `reviewed` is what was reviewed now. The file held `before`
    /// until then, and holds `working`.
    ///
    /// # Errors
    ///
    /// Those of `world`.
    pub fn decide<W: World>(
        &mut self,
        world: &mut W,
        path: &[u8],
        reviewed: Version,
        (before, working): (Version, Version),
    ) -> Result<(), W::Error> {
        self.keep_lost(world, path, before, &[working, reviewed])?;
        self.forget_left_out(path);
        self.set(path, reviewed);
        if reviewed == working {
            self.note_in_head(path, false);
        }
        let writers = self.writers();
        self.see_written(world, path, working, reviewed, &writers)
    }

    /// Records that the user decided about `path`, in a review where `before` was reviewed of it and `after` is
    /// now. That change is made in what was reviewed, which others may have changed meanwhile. `held` is what
    /// the file held until then, and what it holds.
    ///
    /// # Errors
    ///
    /// Those of `world`.
    pub fn decide_from<W: World>(
        &mut self,
        world: &mut W,
        path: &[u8],
        (before, after): (Version, Version),
        held: (Version, Version),
    ) -> Result<(), W::Error> {
        let reviewed = self.reviewed(world, path)?;
        let followed = match after {
            Version::Absent if before != after => after,
            _ => carried_over(world, before, reviewed, after)?,
        };
        self.decide(world, path, followed, held)
    }

    /// Records that the user, in an editor, made `after` of `before`, which the file held. What the
    /// user changed is reviewed, except where that touches what is pending. Of a file that was left out,
    /// see [`Ledger::left_out`], all is.
    ///
    /// If `has_undone`, an undo or a redo is part of that: lines that come back with it have the state that
    /// they had when the file last held them, so that what was pending and taken out is pending again, by who
    /// wrote it. Returns those that are, as in a diff.
    ///
    /// # Errors
    ///
    /// Those of `world`.
    pub fn save<W: World>(
        &mut self,
        world: &mut W,
        path: &[u8],
        (before, after): (Version, Version),
        has_undone: bool,
    ) -> Result<Vec<u8>, W::Error> {
        if self.left_out.contains(path) {
            self.decide(world, path, after, (before, after))?;
            return Ok(Vec::new());
        }
        let reviewed = self.reviewed(world, path)?;
        let texts = [before, after].map(|version| text_of(world, version));
        let (mut typed, mut back, mut lines) = (after, Vec::new(), Vec::new());
        if let ([Some(old), Some(new)], true) = (transposed(texts)?, has_undone) {
            let seen = self.seen.get(path).into_iter().flatten().rev();
            let earlier = seen.map(|seen| earlier(world, seen));
            let undone = Undone::find(&old, &new, earlier)?;
            back = undone.back();
            lines = undone.lines(&back);
            if !back.is_empty() {
                let text = undone.without(&back);
                typed = match text == old.bytes() {
                    true => before,
                    false => with_text(world, (before, before, after), text)?,
                };
            }
        }
        let followed = match typed {
            // What is pending in it is gone by that, too.
            Version::Absent if back.is_empty() => typed,
            _ => carried_over(world, before, reviewed, typed)?,
        };
        self.keep_lost(world, path, before, &[after, followed])?;
        if before != reviewed {
            // What others have written since the last look is not the user's.
            let writers = self.writers();
            self.see_written(world, path, before, reviewed, &writers)?;
        }
        self.set(path, followed);
        let by = [Author::User];
        let mut written = self.written(world, path, (after, followed), &by, false)?;
        if !back.is_empty() && after != followed {
            written = self.written_before(world, path, (after, followed), written, &back)?;
        }
        self.see(
            path,
            Seen {
                working: after,
                reviewed: followed,
                is_back: false,
                is_typed: true,
                written,
            },
        );
        Ok(lines)
    }

    /// Returns `written`, who wrote what is pending in `path`, which holds `working`, with `back` by who wrote
    /// it first.
    fn written_before<W: World>(
        &self,
        world: &mut W,
        path: &[u8],
        (working, reviewed): (Version, Version),
        written: Written,
        back: &[Back],
    ) -> Result<Written, W::Error> {
        let texts = [reviewed, working].map(|version| text_of(world, version));
        let [Some(reviewed), Some(working)] = transposed(texts)? else {
            return Ok(written);
        };
        let mut lines = line_authors(world, &written, (&reviewed, &working))?;
        let seen = self.seen.get(path).into_iter().flatten().rev();
        let seen: Vec<Seen> = seen.cloned().collect();
        for one in back {
            let (nth, there) = &one.from;
            let Some(Earlier { reviewed, working }) = earlier(world, &seen[*nth])? else {
                continue;
            };
            let then = line_authors(world, &seen[*nth].written, (&reviewed, &working))?;
            lines.take(one.lines.clone(), &then, there.clone());
        }
        summed(world, &lines, (&reviewed, &working), &written.authors)
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
            self.decide(world, path, Version::Absent, (before, Version::Absent))?;
            return self.leave_out(world, vec![new_path.to_vec()]);
        }
        let reviewed = self.reviewed(world, path)?;
        let followed = carried_over(world, before, reviewed, after)?;
        self.decide(world, path, Version::Absent, (before, Version::Absent))?;
        self.decide(world, new_path, followed, (after, after))
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
        let written = self.written(world, path, (working, reviewed), by, false)?;
        self.see(
            path,
            Seen {
                working,
                reviewed,
                is_back: false,
                is_typed: false,
                written,
            },
        );
        Ok(())
    }
}

/// Returns whether the user may have written what is by `author`.
fn may_be_users(author: &Author) -> bool {
    !matches!(author, Author::Turn(_) | Author::Background(_))
}

/// Returns the lines that the user may have written, that were pending in `seen`, and that are in none of
/// `versions`; `None` if nothing is lost. If one of these texts has no lines, that is so if one of `versions` is
/// what was seen, and otherwise the set is empty.
fn lost<W: World>(
    world: &mut W,
    seen: &Seen,
    versions: &[Version],
) -> Result<Option<HashSet<Vec<u8>>>, W::Error> {
    let texts = versions.iter().map(|&version| text_of(world, version));
    let texts = texts.collect::<Result<Option<Vec<Text>>, W::Error>>()?;
    let (Some(texts), Some(Earlier { reviewed, working })) = (texts, earlier(world, seen)?) else {
        return Ok((!versions.contains(&seen.working)).then(HashSet::new));
    };
    let lines = line_authors(world, &seen.written, (&reviewed, &working))?;
    let runs = lines.of_edits(&reviewed, &working, &seen.written.authors);
    let counts: Vec<_> = texts.iter().map(line_counts).collect();
    let n_had = line_counts(&working);
    // Where a line stands does not matter: it may have moved.
    let is_missing = |line: &[u8]| {
        let n_had = n_had.get(line);
        counts.iter().all(|counts| counts.get(line) < n_had)
    };
    let runs = runs.into_iter();
    let runs = runs.filter(|(_, authors)| authors.iter().any(may_be_users));
    let lines = runs.flat_map(|(run, _)| working.lines(run).map(without_terminator));
    let lost: HashSet<Vec<u8>> = lines
        .filter(|line| is_missing(line))
        .map(<[u8]>::to_vec)
        .collect();
    Ok((!lost.is_empty()).then_some(lost))
}

/// Returns how often `text` has each of its lines, without line ends.
fn line_counts(text: &Text) -> HashMap<&[u8], usize> {
    let mut counts = HashMap::new();
    for line in text.lines(0..text.len()) {
        *counts.entry(without_terminator(line)).or_insert(0) += 1;
    }
    counts
}

/// Returns the texts of `seen`, if both are lines.
fn earlier<W: World>(world: &mut W, seen: &Seen) -> Result<Option<Earlier>, W::Error> {
    let texts = [seen.reviewed, seen.working].map(|version| text_of(world, version));
    let [Some(reviewed), Some(working)] = transposed(texts)? else {
        return Ok(None);
    };
    Ok(Some(Earlier { reviewed, working }))
}

/// Returns who wrote each line of `working` that differs from `reviewed`, as `written` says.
fn line_authors<W: World>(
    world: &mut W,
    written: &Written,
    (reviewed, working): (&Text, &Text),
) -> Result<LineAuthors, W::Error> {
    let stored = written.lines.map(|lines| world.bytes(lines));
    let stored = stored.transpose()?;
    let stored = stored.and_then(|bytes| LineAuthors::parse(&bytes, working.len()));
    Ok(stored.unwrap_or_else(|| LineAuthors::of(reviewed, working, &written.authors)))
}

/// Returns who wrote what differs in `working` from `reviewed`, as `lines` says, or else `by`.
fn summed<W: World>(
    world: &mut W,
    lines: &LineAuthors,
    (reviewed, working): (&Text, &Text),
    by: &[Author],
) -> Result<Written, W::Error> {
    let edits = lines.of_edits(reviewed, working, by);
    let Some((_, first)) = edits.first() else {
        return Ok(Written::by(by.to_vec()));
    };
    let is_same = edits.iter().all(|(_, others)| others == first);
    let mut authors: Authors = edits.into_iter().flat_map(|(_, others)| others).collect();
    authors.sort();
    authors.dedup();
    let lines = if is_same {
        None
    } else {
        Some(world.store(lines.bytes())?)
    };
    Ok(Written { authors, lines })
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
