//! A project in memory: files, commits, and the bytes of all versions.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use agent_q_diff_reviewed::Step;
use agent_q_diff_reviewed::authors::Authors;
use agent_q_diff_reviewed::{Digest, Ledger, Moves, Pending, Record, Staged, Turn, Version, World};

/// The files of a project, by path.
pub type Files = BTreeMap<Vec<u8>, Version>;

/// A project in memory.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    pub files: Files,
    pub commits: Vec<Files>,
    /// Index into the commits.
    pub head: Option<usize>,
    /// What the index has, where that is not what HEAD has.
    pub index: Files,
    /// Without git, the paths of which something is known.
    pub known: Option<BTreeSet<Vec<u8>>>,
    bytes: BTreeMap<Digest, Vec<u8>>,
    /// How many of the commits there were at the last look.
    n_seen: usize,
    /// The commits that the user did not make, each with its parent.
    pub others: Vec<(usize, usize)>,
}

impl Memory {
    /// Returns the file with this text.
    pub fn file(&mut self, text: &str) -> Version {
        let digest = self.put(text.as_bytes().to_vec());
        Version::File {
            digest,
            is_executable: false,
        }
    }

    fn put(&mut self, bytes: Vec<u8>) -> Digest {
        let digest = Digest::of(&bytes);
        self.bytes.insert(digest, bytes);
        digest
    }

    /// Returns the text of a version; nothing if there is no file.
    pub fn text(&self, version: Version) -> String {
        let bytes = version.digest().map(|digest| self.bytes[&digest].clone());
        String::from_utf8(bytes.unwrap_or_default()).expect("text")
    }

    pub fn at(&self, path: &str) -> Version {
        holds(&self.files, path.as_bytes())
    }

    pub fn write(&mut self, path: &str, text: &str) {
        let file = self.file(text);
        self.files.insert(path.into(), file);
    }

    /// Commits all files.
    pub fn commit(&mut self) -> usize {
        self.index.clear();
        self.commits.push(self.files.clone());
        self.head = Some(self.commits.len() - 1);
        self.commits.len() - 1
    }

    /// Returns the files of the commit that is checked out.
    pub fn head_files(&self) -> Files {
        self.head
            .map_or(Files::new(), |head| self.commits[head].clone())
    }

    fn files_of(&self, commit: Option<&str>) -> Files {
        commit.map_or(Files::new(), |commit| {
            self.commits[commit.parse::<usize>().expect("a commit")].clone()
        })
    }
}

/// Returns what `files` have at `path`.
pub fn holds(files: &Files, path: &[u8]) -> Version {
    files.get(path).copied().unwrap_or(Version::Absent)
}

fn differing(old: &Files, new: &Files) -> Vec<Vec<u8>> {
    let paths: BTreeSet<&Vec<u8>> = old.keys().chain(new.keys()).collect();
    let differs = |path: &&&Vec<u8>| holds(old, path) != holds(new, path);
    paths
        .iter()
        .filter(differs)
        .map(|path| (*path).clone())
        .collect()
}

impl World for Memory {
    type Error = Infallible;

    fn time(&self) -> u64 {
        0
    }

    fn head(&self) -> Option<String> {
        self.head.map(|head| head.to_string())
    }

    fn committed(&mut self, commit: Option<&str>, path: &[u8]) -> Result<Version, Infallible> {
        Ok(holds(&self.files_of(commit), path))
    }

    fn working(&mut self, path: &[u8]) -> Result<Version, Infallible> {
        Ok(holds(&self.files, path))
    }

    fn changed(
        &mut self,
        old: Option<&str>,
        new: Option<&str>,
    ) -> Result<Vec<Vec<u8>>, Infallible> {
        Ok(differing(&self.files_of(old), &self.files_of(new)))
    }

    fn others(&mut self, _: Option<&str>, path: &[u8]) -> Result<Vec<Step<Version>>, Infallible> {
        let others = self.others.iter().map(|&(parent, commit)| Step {
            before: vec![holds(&self.commits[parent], path)],
            now: holds(&self.commits[commit], path),
        });
        Ok(others.filter(|step| step.before[0] != step.now).collect())
    }

    fn is_committed_by_user(&self, _: &[u8]) -> bool {
        self.head.is_some_and(|head| head >= self.n_seen)
    }

    fn dirty(&mut self) -> Result<Vec<Vec<u8>>, Infallible> {
        let Some(known) = &self.known else {
            return Ok(differing(&self.head_files(), &self.files));
        };
        Ok(known
            .union(&self.files.keys().cloned().collect())
            .cloned()
            .collect())
    }

    fn is_left_out(&self, _path: &[u8]) -> bool {
        false
    }

    fn bytes(&mut self, digest: Digest) -> Result<Vec<u8>, Infallible> {
        Ok(self.bytes[&digest].clone())
    }

    fn store(&mut self, bytes: Vec<u8>) -> Result<Digest, Infallible> {
        Ok(self.put(bytes))
    }
}

/// A project and what was reviewed of it.
#[derive(Debug, Clone, Default)]
pub struct Reviewed {
    pub world: Memory,
    pub ledger: Ledger,
    /// What was written down.
    log: Vec<Record>,
}

impl Reviewed {
    pub fn look(&mut self, moves: Moves) -> Vec<Pending> {
        if let Some(known) = &mut self.world.known {
            *known = self.ledger.paths().into_iter().cloned().collect();
        }
        self.follow_index(false);
        let Ok(pending) = self.ledger.look(&mut self.world, moves);
        self.world.n_seen = self.world.commits.len();
        self.log.extend(self.ledger.take_records());
        pending
    }

    /// Looks at the index.
    pub fn follow_index(&mut self, is_by_user: bool) {
        let index = self.world.index.iter();
        let index = index.map(|(path, &version)| {
            let object = format!("{version:?}");
            (path.clone(), Staged { object, version })
        });
        let index = index.collect();
        let Ok(()) = self.ledger.follow_index(&mut self.world, index, is_by_user);
        self.log.extend(self.ledger.take_records());
    }

    /// Returns the pending texts as `PATH: REVIEWED -> WORKING`.
    pub fn pending(&mut self, moves: Moves) -> Vec<String> {
        let shown = |world: &Memory, version| match version {
            Version::Absent => "-".to_owned(),
            _ => format!("{:?}", world.text(version)),
        };
        let pending = self.look(moves);
        let pending = pending.iter().map(|pending| {
            let [reviewed, working] =
                [pending.reviewed, pending.working].map(|version| shown(&self.world, version));
            let path = String::from_utf8_lossy(&pending.path);
            format!("{path}: {reviewed} -> {working}")
        });
        pending.collect()
    }

    pub fn reviewed(&mut self, path: &str) -> Version {
        let Ok(version) = self.ledger.reviewed(&mut self.world, path.as_bytes());
        version
    }

    pub fn decide(&mut self, path: &str, reviewed: Version) {
        let working = self.world.at(path);
        let held = (working, working);
        let Ok(()) = self
            .ledger
            .decide(&mut self.world, path.as_bytes(), reviewed, held);
        self.log.extend(self.ledger.take_records());
    }

    /// The user saves `text` in an editor.
    pub fn save(&mut self, path: &str, text: &str) {
        self.save_as(path, text, false);
    }

    /// The user saves `text` in an editor, after an undo. Returns what was brought back, as in a diff.
    pub fn undo(&mut self, path: &str, text: &str) -> String {
        self.save_as(path, text, true)
    }

    fn save_as(&mut self, path: &str, text: &str, has_undone: bool) -> String {
        let before = self.world.at(path);
        self.world.write(path, text);
        let after = self.world.at(path);
        let saved = self.ledger.save(
            &mut self.world,
            path.as_bytes(),
            (before, after),
            has_undone,
        );
        let Ok(back) = saved;
        self.log.extend(self.ledger.take_records());
        String::from_utf8(back).expect("text")
    }

    /// An agent begins its turn, or ends it.
    pub fn turn(&mut self, is_begun: bool) {
        if is_begun {
            self.look(Moves::Unknown);
            let head = self.world.head();
            self.ledger.begin_turn(Turn {
                head,
                ..Turn::default()
            });
        } else {
            self.look(Moves::Agent);
            self.ledger.end_turns(|_| true);
        }
        self.log.extend(self.ledger.take_records());
    }

    /// Returns the lines of each difference of `pending`, and who wrote it.
    pub fn authors(&mut self, pending: &Pending) -> Vec<(String, Authors)> {
        let Ok(authors) = Ledger::authors_of(&mut self.world, pending);
        let text = self.world.text(pending.working);
        if authors.is_empty() {
            return vec![(text, pending.written.authors.clone())];
        }
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let authors = authors.into_iter();
        authors
            .map(|(range, authors)| (lines[range].concat(), authors))
            .collect()
    }

    /// Returns what was renamed of what is pending, as `FROM -> TO: REVIEWED`.
    pub fn renames(&mut self) -> Vec<String> {
        let pending = self.look(Moves::Unknown);
        let Ok(renames) = self.ledger.renames(&mut self.world, &pending);
        let path = |at: usize| String::from_utf8_lossy(&pending[at].path).into_owned();
        let shown = renames.iter().map(|rename| {
            let text = self.world.text(rename.reviewed);
            format!("{} -> {}: {text:?}", path(rename.from), path(rename.to))
        });
        shown.collect()
    }

    /// Starts anew from what was written down.
    pub fn restart(&mut self) {
        self.ledger = Ledger::default();
        for record in &self.log {
            self.ledger.replay(record.clone());
        }
    }
}
