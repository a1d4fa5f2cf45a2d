//! Walks over a repository in which an agent and the user write, and git moves HEAD and files.
//!
//! The oracle knows only bytes: each line is there once, and is the user's or an agent's. What the user wrote,
//! kept or committed is reviewed, wherever git brings it; what an agent wrote is pending wherever it is.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use agent_q_diff_reviewed::{Moves, Project};
use tempfile::TempDir;

use crate::dice::Dice;
use crate::disk::{git, run_git, saved};

const PATHS: [&str; 2] = ["f", "g"];

struct Walk {
    folder: TempDir,
    /// What holds another working tree of the same repository, in which agent and user work, too.
    elsewhere: TempDir,
    /// Whether that is where things are done now.
    is_elsewhere: bool,
    dice: Dice,
    /// The lines that are reviewed.
    approved: BTreeSet<String>,
    n_lines: usize,
    n_stashed: usize,
    trail: Vec<String>,
}

impl Walk {
    fn new(seed: u64) -> Walk {
        let folder = tempfile::tempdir().unwrap();
        git(folder.path(), &["init", "-q", "-b", "main"]);
        let mut walk = Walk {
            folder,
            elsewhere: tempfile::tempdir().unwrap(),
            is_elsewhere: false,
            dice: Dice::new(seed),
            approved: BTreeSet::new(),
            n_lines: 0,
            n_stashed: 0,
            trail: Vec::new(),
        };
        for path in PATHS {
            let lines: Vec<String> = (0..12).map(|n| format!("{path} {n}\n")).collect();
            walk.approved.extend(lines.iter().cloned());
            fs::write(walk.name(path), lines.concat()).unwrap();
        }
        walk.git(&["add", "."]);
        walk.git(&["commit", "-qm", "first"]);
        walk.git(&["branch", "other"]);
        walk.look_after("first");
        let there = walk.elsewhere.path().join("tree");
        walk.git(&["worktree", "add", "-qb", "there", there.to_str().unwrap()]);
        walk.is_elsewhere = true;
        walk.look_after("first");
        walk.is_elsewhere = false;
        walk
    }

    /// Returns the top of the working tree in which things are done.
    fn top(&self) -> PathBuf {
        match self.is_elsewhere {
            true => self.elsewhere.path().join("tree"),
            false => self.folder.path().to_owned(),
        }
    }

    fn name(&self, path: &str) -> PathBuf {
        self.top().join(path)
    }

    fn git(&self, arguments: &[&str]) {
        git(&self.top(), arguments);
    }

    fn open(&self) -> Project {
        Project::open(&self.top()).unwrap()
    }

    fn lines(&self, path: &str) -> Vec<String> {
        let text = fs::read_to_string(self.name(path)).unwrap();
        text.split_inclusive('\n').map(str::to_owned).collect()
    }

    /// Returns the lines that HEAD has.
    fn head(&self) -> Vec<String> {
        let lines = PATHS.map(|path| git(&self.top(), &["show", &format!("HEAD:{path}")]));
        let text = lines.concat();
        text.split_inclusive('\n').map(str::to_owned).collect()
    }

    /// Looks as Emacs does, where the user says that new commits are the user's if they are new by `what`, and
    /// not if they were only written anew: an agent may have made them.
    fn look_after(&mut self, what: &str) {
        let mut project = self.open();
        let is_mine = matches!(what, "commit" | "there" | "cherry-pick of the user's");
        let moves = if is_mine { Moves::User } else { Moves::NotNew };
        let look = match project.question(5).unwrap() {
            Some(_) => project.look(moves),
            None => project.look_unasked(),
        };
        let look = look.unwrap();
        let texts = project.texts();
        for path in PATHS {
            let working = self.lines(path);
            let one = look.pending.iter().find(|one| one.path == path.as_bytes());
            let reviewed = one.map_or(working.concat(), |one| {
                let digest = one.reviewed.digest().unwrap();
                fs::read_to_string(texts.join(digest.to_string())).unwrap()
            });
            let expected = working.iter().filter(|line| self.approved.contains(*line));
            let expected: String = expected.cloned().collect();
            assert_eq!(reviewed, expected, "{path}: {:#?}", self.trail);
        }
    }

    /// Adds a line to a file, and returns its path and what it held.
    fn add_line(&mut self, who: &str) -> (&'static str, String) {
        let path = PATHS[self.dice.roll(PATHS.len())];
        let mut lines = self.lines(path);
        let before = lines.concat();
        self.n_lines += 1;
        let line = format!("{who} {}\n", self.n_lines);
        if who == "user" {
            self.approved.insert(line.clone());
        }
        // Apart from others, so that git can merge it.
        let at = 1 + 2 * self.dice.roll(lines.len() / 2);
        lines.insert(at, line);
        fs::write(self.name(path), lines.concat()).unwrap();
        (path, before)
    }

    fn is_clean(&self) -> bool {
        git(&self.top(), &["status", "--porcelain"]).is_empty()
    }

    /// Returns whether there is a reviewed line that is not committed.
    fn has_uncommitted(&self) -> bool {
        let head = self.head();
        let lines = PATHS.map(|path| self.lines(path)).concat();
        let mut reviewed = lines.iter().filter(|line| self.approved.contains(*line));
        reviewed.any(|line| !head.contains(line))
    }

    fn agent(&mut self) {
        let mut project = self.open();
        project.begin_turn("Codex", "s", "", None).unwrap();
        self.add_line("agent");
        if self.dice.roll(3) == 0 {
            self.git(&["commit", "-qam", "by the agent"]);
        }
        project.end_turns(None).unwrap();
    }

    /// Does something as the user, and returns what.
    fn step(&mut self) -> &'static str {
        match self.dice.roll(16) {
            0..3 => {
                self.agent();
                "agent"
            }
            3 => {
                let (path, before) = self.add_line("user");
                let after = fs::read_to_string(self.name(path)).unwrap();
                self.open().record(&[saved(path, before, after)]).unwrap();
                "save"
            }
            4 => {
                let paths = PATHS.map(|path| path.as_bytes().to_vec());
                self.open().mark_reviewed(&paths).unwrap();
                for path in PATHS {
                    let lines = self.lines(path);
                    self.approved.extend(lines);
                }
                "keep"
            }
            5 if !self.is_clean() => {
                self.commit_as_user();
                "commit"
            }
            // What disappears and was reviewed is pending, as its deletion.
            6 if !self.is_clean() && !self.has_uncommitted() => {
                self.git(&["stash", "-q"]);
                self.n_stashed += 1;
                "stash"
            }
            7 if self.n_stashed > 0 && self.is_clean() => {
                let popped = run_git(self.folder.path(), &["stash", "pop", "-q"]);
                if popped.status.success() {
                    self.n_stashed -= 1;
                    "pop"
                } else {
                    self.git(&["reset", "-q", "--hard"]);
                    "pop with conflicts, and reset"
                }
            }
            8 if self.is_clean() => {
                self.git(&["checkout", "-q", "other"]);
                self.look_after("away");
                self.git(&["checkout", "-q", "main"]);
                "away and back"
            }
            9 if self.is_clean() => {
                self.git(&["commit", "-q", "--amend", "--no-edit", "--reset-author"]);
                "amend"
            }
            10 if self.is_clean() => {
                // Another branch gets a line of the user's, and the commits here go on top of that.
                self.git(&["checkout", "-q", "other"]);
                self.n_lines += 1;
                let line = format!("there {}\n", self.n_lines);
                let text = fs::read_to_string(self.name("g")).unwrap() + &line;
                self.approved.insert(line);
                fs::write(self.name("g"), text).unwrap();
                self.git(&["commit", "-qam", "there"]);
                self.look_after("there");
                self.git(&["checkout", "-q", "main"]);
                self.look_after("away");
                match run_git(self.folder.path(), &["rebase", "-q", "other"])
                    .status
                    .success()
                {
                    true => "rebase",
                    false => {
                        self.check_in_progress();
                        self.git(&["rebase", "--abort"]);
                        "rebase and abort"
                    }
                }
            }
            11 if self.is_clean() => {
                self.git(&[
                    "checkout",
                    "-q",
                    "-b",
                    &format!("pick-{}", self.n_lines),
                    "main~0",
                ]);
                self.agent();
                if !self.is_clean() {
                    self.git(&["stash", "-q"]);
                    self.git(&["stash", "drop", "-q"]);
                }
                self.git(&["checkout", "-q", "main"]);
                "a branch of the agent's"
            }
            12 => {
                self.work_elsewhere();
                "elsewhere"
            }
            13 | 14 if self.is_clean() => self.cherry_pick(),
            15 if self.is_clean() => {
                let merged = run_git(&self.top(), &["merge", "-q", "--no-edit", "there"]);
                if merged.status.success() {
                    return "a merge of there";
                }
                self.check_in_progress();
                self.git(&["merge", "--abort"]);
                "a merge of there and abort"
            }
            _ => "nothing",
        }
    }

    /// Has the agent or the user write and commit something in the other working tree.
    fn work_elsewhere(&mut self) {
        self.is_elsewhere = true;
        if self.dice.roll(2) == 0 {
            self.agent();
            self.look_after("agent");
        } else {
            let (path, before) = self.add_line("user");
            let after = fs::read_to_string(self.name(path)).unwrap();
            self.open().record(&[saved(path, before, after)]).unwrap();
            self.look_after("save");
        }
        if self.dice.roll(2) == 0 && !self.is_clean() {
            self.commit_as_user();
            self.look_after("commit");
        }
        self.is_elsewhere = false;
    }

    fn commit_as_user(&mut self) {
        self.git(&["commit", "-qam", "by the user"]);
        let before = git(&self.top(), &["show", "HEAD^:f", "HEAD^:g"]);
        let new = self.head().into_iter();
        let new: Vec<String> = new.filter(|line| !before.contains(line.as_str())).collect();
        self.approved.extend(new);
    }

    /// Picks the last commit of the branch of the other working tree, and aborts that if there are conflicts.
    fn cherry_pick(&mut self) -> &'static str {
        let picked = run_git(&self.top(), &["cherry-pick", "there"]);
        if picked.status.success() {
            let is_mine = git(&self.top(), &["log", "-1", "--format=%s"]) == "by the user\n";
            let by = ["cherry-pick", "cherry-pick of the user's"];
            return by[usize::from(is_mine)];
        }
        self.check_in_progress();
        self.git(&["cherry-pick", "--abort"]);
        "cherry-pick and abort"
    }

    /// Checks that nothing is looked at in the middle of something.
    fn check_in_progress(&self) {
        assert!(self.open().question(5).unwrap().is_none());
        assert!(self.open().look_unasked().is_err());
    }
}

/// The first numbers, as many as `AGENT_Q_DIFF_HEADS` says, or three; in the second, the user picks commits from
/// another working tree, and aborts that.
fn seeds() -> Vec<u64> {
    match std::env::var("AGENT_Q_DIFF_HEADS") {
        Ok(given) => (0..given.parse().expect("a number")).collect(),
        Err(_) => vec![0, 7, 11],
    }
}

#[test]
fn what_is_pending_follows_git_wherever_it_moves() {
    for seed in seeds() {
        let mut walk = Walk::new(seed);
        for _ in 0..20 {
            let what = walk.step();
            let folder: &Path = walk.folder.path();
            let head = git(folder, &["log", "--oneline", "-1"]);
            walk.trail.push(format!("{seed}: {what} ({})", head.trim()));
            walk.look_after(what);
        }
    }
}
