//! Random interleavings of what an agent, the user and git do, beside what must always hold.

use std::collections::{BTreeMap, BTreeSet};

use agent_q_diff_engine::diff::edits;
use agent_q_diff_engine::text::Text;
use agent_q_diff_reviewed::authors::Author;
use agent_q_diff_reviewed::{Moves, Pending, Version};

use crate::dice::Dice;
use crate::world::{Files, Reviewed, holds};

/// Number of walks, or that of `AGENT_Q_DIFF_CASES`.
fn n_walks() -> u64 {
    let given = std::env::var("AGENT_Q_DIFF_CASES").ok();
    given.map_or(20_000, |given| given.parse().expect("a number"))
}

const PATHS: [&str; 3] = ["f", "g", "dir/h"];

/// A project on a walk, with what the model knows of it.
struct Walk {
    dice: Dice,
    project: Reviewed,
    /// Lines that the user typed and saved, by path, that nobody wiped out since. Each is unique.
    typed: BTreeSet<(usize, String)>,
    /// Stashed files, and the commit that they are from.
    stash: Option<(Option<usize>, Files)>,
    n_lines: usize,
    /// Who wrote each unique line, as long as it is there.
    authors: BTreeMap<String, Author>,
    trail: Vec<String>,
}

impl Walk {
    fn new(seed: u64, has_git: bool) -> Walk {
        let mut project = Reviewed::default();
        for path in &PATHS[..2] {
            project.world.write(path, "{\n}\n\n{\n}\n\n{\n}\n");
        }
        if has_git {
            project.world.commit();
        } else {
            project.world.known = Some(BTreeSet::new());
            for path in &PATHS[..2] {
                let working = project.world.at(path);
                project.decide(path, working);
            }
        }
        project.look(Moves::User);
        Walk {
            dice: Dice::new(seed),
            project,
            typed: BTreeSet::new(),
            stash: None,
            n_lines: 0,
            authors: BTreeMap::new(),
            trail: Vec::new(),
        }
    }

    fn text(&self, path: usize) -> String {
        self.project.world.text(self.project.world.at(PATHS[path]))
    }

    /// Returns the text of `path` with some lines changed; new ones contain `who`, or are as others.
    fn edited(&mut self, path: usize, who: &str) -> String {
        let text = self.text(path);
        let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
        // A line of many like it that goes in one place and comes in another is also a move of the lines in
        // between, and then these are by whoever did that.
        let removes = who == "agent" && self.dice.roll(2) == 0;
        for _ in 0..=self.dice.roll(2) {
            let at = self.dice.roll(lines.len() + 1);
            self.n_lines += 1;
            let new = match self.dice.roll(4) {
                0 if who == "agent" && !removes => {
                    ["{\n", "}\n", "\n"][self.dice.roll(3)].to_owned()
                }
                _ => format!("{who} {}\n", self.n_lines),
            };
            let author = match self.project.ledger.at_work().last() {
                _ if who == "user" => Author::User,
                Some(turn) => Author::Turn(turn.id),
                None => Author::Outside,
            };
            if new.starts_with(who) {
                self.authors.insert(new.clone(), author);
            }
            // The user adds lines, and an agent replaces and removes them, too.
            match self.dice.roll(3) {
                0 if removes && at < lines.len() => drop(lines.remove(at)),
                1 if removes && at < lines.len() => lines[at] = new,
                _ => lines.insert(at, new),
            }
        }
        lines.concat()
    }

    fn look(&mut self, moves: Moves) -> Vec<Pending> {
        let pending = self.project.look(moves);
        for one in &pending {
            assert_ne!(one.reviewed, one.working, "{:?}", self.trail);
            self.check_authors(one);
        }
        pending
    }

    /// Checks that what is pending is by who wrote it.
    fn check_authors(&mut self, pending: &Pending) {
        let reviewed = self.project.world.text(pending.reviewed);
        let is_reviewed = |line: &str| reviewed.split_inclusive('\n').any(|one| one == line);
        for (text, authors) in self.project.authors(pending) {
            for line in text.split_inclusive('\n').filter(|line| !is_reviewed(line)) {
                let author = self.authors.get(line);
                assert!(
                    author.is_none_or(|author| authors.contains(author)),
                    "{line:?} of {author:?} is said to be of {authors:?}: {:?}",
                    self.trail
                );
            }
        }
    }

    /// Does something at random. An agent's turn is a look before and after.
    fn step(&mut self) {
        let path = self.dice.roll(PATHS.len());
        let name = PATHS[path];
        let roll = self.dice.roll(25);
        self.trail.push(format!("{roll} {name}"));
        let is_gits = matches!(roll, 10..=14 | 17..=19);
        match roll {
            _ if is_gits && self.project.world.known.is_some() => {
                self.project.world.files.remove(name.as_bytes());
                self.look(Moves::Unknown);
            }
            0..4 => {
                let text = self.edited(path, "agent");
                self.project.world.write(name, &text);
                self.look(Moves::Agent);
            }
            4..7 => {
                let text = self.edited(path, "user");
                let old = self.text(path);
                let new = text.lines().filter(|line| !old.contains(line));
                let new: Vec<String> = new.map(str::to_owned).collect();
                self.typed.extend(new.into_iter().map(|line| (path, line)));
                self.project.save(name, &text);
            }
            7 => {
                let working = self.project.world.at(name);
                self.project.decide(name, working);
                self.forget_wiped(path);
            }
            8 => {
                // One of two hunks is kept: what a merge of a random half gives.
                let reviewed = self.project.reviewed(name);
                let working = self.project.world.at(name);
                if let (Version::File { .. }, Version::File { .. }) = (reviewed, working) {
                    let [old, new] =
                        [reviewed, working].map(|version| self.project.world.text(version));
                    let half = self.half(&old, &new);
                    let kept = self.project.world.file(&half);
                    self.project.decide(name, kept);
                    self.forget_wiped(path);
                }
            }
            9 => {
                let reviewed = self.project.reviewed(name);
                self.put(name, reviewed);
                self.project.decide(name, reviewed);
            }
            10 => {
                self.project.world.commit();
                self.look(Moves::User);
                (0..PATHS.len()).for_each(|path| self.forget_wiped(path));
            }
            11 => {
                self.project.world.commit();
                self.look(Moves::Agent);
            }
            12 => {
                // The user's `git checkout .`: what was not committed is gone, and meant to be.
                self.project.world.files = self.project.world.head_files();
                self.project.world.index.clear();
                self.look(Moves::User);
                self.typed.clear();
            }
            13 => {
                self.project.world.files = self.project.world.head_files();
                self.project.world.index.clear();
                self.look(Moves::Agent);
            }
            14 => self.stash_or_pop(),
            15 => self.project.turn(true),
            16 => self.project.turn(false),
            17 => self.stage(path, true),
            // Another branch, or back; a hard reset, or one that undoes it; a rebase, or its abort.
            20 => self.move_head(Moves::User, true),
            21 => self.move_head(Moves::Agent, true),
            // An amended commit, or a reset that leaves the files.
            22 => self.move_head(Moves::User, false),
            23 => self.move_head(Moves::Agent, false),
            18 => self.stage(path, false),
            19 => {
                self.project.world.index.remove(name.as_bytes());
                self.look(Moves::Unknown);
            }
            _ => self.project.restart(),
        }
    }

    /// Forgets what the user typed into `path` and agreed to lose.
    fn forget_wiped(&mut self, path: usize) {
        let working = self.text(path);
        self.typed
            .retain(|(other, line)| *other != path || working.lines().any(|there| there == line));
    }

    fn put(&mut self, name: &str, version: Version) {
        match version {
            Version::Absent => drop(self.project.world.files.remove(name.as_bytes())),
            _ => drop(self.project.world.files.insert(name.into(), version)),
        }
    }

    /// Returns `old` with some of the changes that lead to `new`.
    fn half(&mut self, old: &str, new: &str) -> String {
        let [old, new] = [old, new].map(|text| Text::new(text.into()));
        let mut half = Vec::new();
        let mut done = 0;
        for edit in edits(&old, &new) {
            half.extend_from_slice(old.lines_bytes(done..edit.before.start));
            half.extend_from_slice(match self.dice.roll(2) {
                0 => old.lines_bytes(edit.before.clone()),
                _ => new.lines_bytes(edit.after),
            });
            done = edit.before.end;
        }
        half.extend_from_slice(old.lines_bytes(done..old.len()));
        String::from_utf8(half).expect("text")
    }

    /// Stages some of what differs from HEAD in a file: the user in an editor, or whoever is at work.
    fn stage(&mut self, path: usize, is_by_user: bool) {
        let name = PATHS[path];
        let head = holds(&self.project.world.head_files(), name.as_bytes());
        let working = self.project.world.at(name);
        let [head, working] = [head, working].map(|version| self.project.world.text(version));
        let half = self.half(&head, &working);
        if half == head {
            return;
        }
        let staged = self.project.world.file(&half);
        let before = self.project.world.index.insert(name.into(), staged);
        let was_staged = before.map_or(head.clone(), |before| self.project.world.text(before));
        let before = self.project.reviewed(name);
        let before = self.project.world.text(before);
        self.project.follow_index(is_by_user);
        let after = self.project.reviewed(name);
        let after = self.project.world.text(after);
        let ledger = &self.project.ledger;
        let is_known = is_by_user || !ledger.turns().is_empty();
        // Whoever stages that a line goes agrees to that, also by staging lines in its place; of a file that
        // HEAD has not, to all of it.
        if before != after && head.is_empty() {
            self.forget_wiped(path);
        } else if before != after {
            let has = |text: &str, line: &str| text.lines().any(|other| other == line);
            let [old, new] = [&before, &working].map(|text| Text::new(text.clone().into()));
            let replaced = edits(&old, &new).into_iter();
            let replaced = replaced.filter(|edit| !edit.after.is_empty());
            let replaced = replaced.flat_map(|edit| old.lines(edit.before).collect::<Vec<_>>());
            let replaced: String =
                String::from_utf8(replaced.flatten().copied().collect()).unwrap();
            self.typed.retain(|(other, line)| {
                let is_agreed = has(&was_staged, line) || has(&replaced, line);
                *other != path || has(&half, line) || !is_agreed
            });
        }
        let ledger = &self.project.ledger;
        if ledger.at_work().next().is_some() || !is_known {
            assert_eq!(before, after, "{:?}", self.trail);
        }
        let has = |text: &str, line: &str| text.split_inclusive('\n').any(|other| other == line);
        for line in after.split_inclusive('\n') {
            assert!(
                has(&before, line) || has(&half, line),
                "{line:?} was not staged: {:?}",
                self.trail
            );
        }
        for line in before
            .split_inclusive('\n')
            .filter(|line| !has(&after, line))
        {
            assert!(!has(&half, line), "{line:?} was staged: {:?}", self.trail);
        }
        self.look(Moves::Unknown);
    }

    /// Moves HEAD to any commit that there was, with the files if `is_checkout`; files that git does not know
    /// stay, unless the agent cleans up.
    fn move_head(&mut self, moves: Moves, is_checkout: bool) {
        let world = &mut self.project.world;
        if moves == Moves::User && is_checkout && world.files != world.head_files() {
            // git refuses that, where it would lose something.
            return;
        }
        let n_commits = world.commits.len();
        if n_commits == 0 {
            return;
        }
        let known = world.head_files();
        world.head = Some(self.dice.roll(n_commits));
        world.index.clear();
        if is_checkout {
            let mut files = world.head_files();
            let new = world
                .files
                .iter()
                .filter(|(path, _)| !known.contains_key(*path));
            let stay = self.dice.roll(2) == 0;
            files.extend(
                new.filter(|_| stay)
                    .map(|(path, version)| (path.clone(), *version)),
            );
            world.files = files;
        }
        self.look(moves);
        // What an agent has wiped out, and the new HEAD has not, is gone by the user's move.
        if moves == Moves::User {
            (0..PATHS.len()).for_each(|path| self.forget_wiped(path));
        }
    }

    fn stash_or_pop(&mut self) {
        self.project.world.index.clear();
        let world = &mut self.project.world;
        match self.stash.take() {
            None => {
                let head = world.head_files();
                self.stash = Some((world.head, std::mem::replace(&mut world.files, head)));
                self.typed.clear();
            }
            Some((head, files)) if head == world.head && world.files == world.head_files() => {
                world.files = files;
            }
            // git would merge the files.
            Some(_) => return,
        }
        self.look(Moves::User);
    }

    /// Checks what must hold after each step.
    fn check(&mut self) {
        let texts: String = (0..PATHS.len()).map(|path| self.text(path)).collect();
        self.authors.retain(|line, _| texts.contains(&line[..]));
        let before = self.project.ledger.clone();
        self.project.restart();
        assert_eq!(self.project.ledger, before, "restarted: {:?}", self.trail);
        for (path, line) in self.typed.clone() {
            let reviewed = self.project.reviewed(PATHS[path]);
            let reviewed = self.project.world.text(reviewed);
            let has = |text: &str| text.lines().any(|other| other == line);
            assert!(
                has(&reviewed),
                "{line:?} of {} is lost, or shown as an agent's: {:?}",
                PATHS[path],
                self.trail
            );
        }
    }
}

fn walk_all(has_git: bool) {
    for seed in 0..n_walks() {
        let mut walk = Walk::new(seed, has_git);
        for _ in 0..12 {
            walk.step();
            walk.check();
        }
        // A second look finds what the first found.
        let first = walk.look(Moves::Agent);
        assert_eq!(first, walk.look(Moves::Agent), "{:?}", walk.trail);
    }
}

#[test]
fn whatever_happens_nothing_of_the_users_is_lost_and_all_survives_a_restart() {
    walk_all(true);
}

#[test]
fn without_git_nothing_of_the_users_is_lost_either() {
    walk_all(false);
}
