//! Recording a decision: what files hold is stored before they change, and what was decided is written down
//! after that, at once.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::disk::Disk;
use crate::error::ProjectError;
use crate::ledger::Ledger;
use crate::path::Path;
use crate::plain::is_outside;
use crate::project::Project;
use crate::rounds::{Rejected, RoundRecord, address, plain};
use crate::store::StoreError;
use crate::tree::Tree;
use crate::version::Version;
use crate::world::World;

/// What a path holds, as far as a caller knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Held {
    /// What is there now.
    InFile,
    /// What was stored of it.
    Stored(Version),
    /// A mode, as git writes it, and bytes; the mode 0 is nothing.
    Bytes(u32, Vec<u8>),
}

/// Something that the user did, to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// Something was taken out of a file, as was announced with [`Project::prepare`].
    Left {
        /// Its path until then.
        path: Path,
        /// Its path now.
        now: Path,
        /// What it holds now.
        holds: Held,
    },
    /// In an editor, the user made `after` of `before`; see [`Ledger::save`].
    Saved {
        /// The path of the file.
        path: Path,
        /// What the file held.
        before: Held,
        /// What it holds.
        after: Held,
        /// Whether an undo or a redo is part of that.
        has_undone: bool,
    },
    /// The user renamed a file; see [`Ledger::rename`].
    Renamed {
        /// Its old path, and what it held.
        from: (Path, Held),
        /// Its new path, and what it holds.
        to: (Path, Held),
    },
    /// In a review where `before` was reviewed of a path, `after` is now; see [`Ledger::decide_from`].
    Decided {
        /// The path.
        path: Path,
        /// What was reviewed of it.
        before: Held,
        /// What is reviewed now.
        after: Held,
    },
    /// The user has rejected a hunk that was written in these turns; that is for their sessions.
    Rejected(Rejected, Vec<u64>),
    /// Of what was written in the turn with this number, so many hunks more were kept, and so many more taken
    /// out; they are negative if that was undone.
    Counted(u64, i64, i64),
    /// Something else that the user has said.
    Said(RoundRecord),
}

impl Note {
    /// Returns the paths that it is about.
    fn paths(&self) -> Vec<&Path> {
        match self {
            Note::Left { path, now, .. } => vec![path, now],
            Note::Saved { path, .. } | Note::Decided { path, .. } => vec![path],
            Note::Renamed { from, to } => vec![&from.0, &to.0],
            Note::Rejected(one, _) => vec![&one.path],
            Note::Said(record) => record.paths(),
            Note::Counted(..) => Vec::new(),
        }
    }
}

/// A decision that was recorded: a path, what was reviewed of it, and what is now.
pub type Decided = (Path, Version, Version);

impl Project {
    /// Stores what `files` hold, and returns it. If `taken_out_at` is a time, in seconds since 1970, also
    /// records that something is about to be taken out of those that are there, and returns only when all of
    /// that is on the disk.
    ///
    /// # Errors
    ///
    /// [`ProjectError`]; then nothing is recorded. So nothing begins to be in a project that is all of the home
    /// directory.
    pub fn prepare(
        &mut self,
        files: &[(Path, Held)],
        taken_out_at: Option<u64>,
    ) -> Result<Vec<Version>, ProjectError> {
        if !self.store.ledger().has_base() {
            self.check_width()?;
        }
        let mut disk = Disk::new(&self.tree, &self.store);
        let held = files.iter().map(|(path, held)| {
            StoreError::check_path(path)?;
            version(&mut disk, path, held)
        });
        let held = held.collect::<Result<Vec<_>, ProjectError>>()?;
        let Some(time) = taken_out_at else {
            return Ok(held);
        };
        let there = files.iter().zip(&held);
        let there: Vec<_> = there.filter(|(_, had)| **had != Version::Absent).collect();
        if there.is_empty() {
            return Ok(held);
        }
        let texts = self.store.texts();
        for digest in there.iter().filter_map(|(_, had)| had.digest()) {
            self.store.sync(&texts.join(digest.to_string()))?;
        }
        self.store.change(|ledger, _| {
            for ((path, _), had) in there {
                ledger.take_out(path, time, *had);
            }
            Ok::<(), ProjectError>(())
        })?;
        self.store.sync(&self.store.record())?;
        Ok(held)
    }

    /// Records `notes`, in their order, and returns those of them that are decisions. What others have
    /// decided or saved meanwhile stays.
    ///
    /// # Errors
    ///
    /// [`ProjectError`]; then nothing was written.
    pub fn record(&mut self, notes: &[Note]) -> Result<Vec<Decided>, ProjectError> {
        let tree = &self.tree;
        self.store.change(|ledger, store| {
            let mut disk = Disk::new(tree, store);
            if let Some(git) = tree.git()
                && !ledger.has_base()
            {
                // Nobody has looked yet, and what HEAD has was reviewed.
                let paths = notes.iter().flat_map(Note::paths).cloned();
                let paths: BTreeSet<_> = paths.collect();
                disk = Disk::bounded(
                    tree,
                    store,
                    (git.head()?, Vec::from_iter(paths), HashSet::new()),
                );
            }
            let mut recorded = Recorded::default();
            for note in notes {
                record(ledger, &mut disk, tree, note, &mut recorded)?;
            }
            Ok(recorded.decided)
        })
    }

    /// Returns whether just `versions` were reviewed, each of its path, as of the last look.
    ///
    /// # Errors
    ///
    /// [`ProjectError`].
    pub fn are_reviewed(&self, versions: &[(Path, Version)]) -> Result<bool, ProjectError> {
        let mut disk = Disk::new(&self.tree, &self.store);
        for (path, version) in versions {
            if self.store.ledger().reviewed(&mut disk, path)? != *version {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Stores what `held` says that `path` holds, and returns it.
    ///
    /// # Errors
    ///
    /// [`ProjectError`].
    pub fn hold(&self, path: &[u8], held: &Held) -> Result<Version, ProjectError> {
        version(&mut Disk::new(&self.tree, &self.store), path, held)
    }
}

/// What was recorded of some notes.
#[derive(Default)]
struct Recorded {
    decided: Vec<Decided>,
    /// What files held before something was taken out of them.
    had: HashMap<Path, Version>,
}

/// Records `note` in `ledger`, and adds it to `recorded`.
fn record(
    ledger: &mut Ledger,
    disk: &mut Disk,
    tree: &Tree,
    note: &Note,
    recorded: &mut Recorded,
) -> Result<(), ProjectError> {
    for path in note.paths() {
        StoreError::check_path(path)?;
    }
    match note {
        Note::Left { path, now, holds } => {
            let left = version(disk, now, holds)?;
            let had = ledger.leave(path, left);
            recorded.had.extend(had.map(|had| (path.clone(), had)));
        }
        Note::Saved { path, .. } if tree.git().is_none() && is_outside(path) => {}
        Note::Saved {
            path,
            before,
            after,
            has_undone,
        } => {
            let held = (version(disk, path, before)?, version(disk, path, after)?);
            if held.0 != held.1 {
                let back = ledger.save(disk, path, held, *has_undone)?;
                take_back(ledger, path, &back);
            }
        }
        Note::Renamed { from, to } => {
            let before = version(disk, &from.0, &from.1)?;
            let after = version(disk, &to.0, &to.1)?;
            ledger.rename(disk, (&from.0, before), (&to.0, after))?;
            let comments = ledger.rounds().comments().values();
            let moved: Vec<_> = comments.filter(|one| one.path == from.0).cloned().collect();
            for comment in moved {
                ledger.note_round(RoundRecord::Comment(comment.moved(&to.0)));
            }
        }
        Note::Decided {
            path,
            before,
            after,
        } => {
            let (before, after) = (version(disk, path, before)?, version(disk, path, after)?);
            let working = disk.working(path)?;
            let had = recorded.had.get(path).copied().unwrap_or(working);
            ledger.decide_from(disk, path, (before, after), (had, working))?;
            recorded.decided.push((path.clone(), before, after));
        }
        Note::Rejected(one, turns) => {
            let known = ledger.turns().iter();
            let sessions = known.filter(|turn| turns.contains(&turn.id));
            let mut to: Vec<String> = Vec::new();
            for turn in sessions {
                let address = address(&turn.agent, &turn.session);
                if !to.contains(&address) {
                    to.push(address);
                }
            }
            let one = one.clone();
            ledger.note_round(RoundRecord::Rejected(Rejected { to, ..one }));
        }
        Note::Counted(turn, n_kept, n_taken_out) => {
            let known = ledger.rounds().outcome(*turn).cloned().unwrap_or_default();
            let n_kept = known.n_kept.saturating_add_signed(*n_kept);
            let n_taken_out = known.n_taken_out.saturating_add_signed(*n_taken_out);
            ledger.note_round(RoundRecord::Decided(*turn, n_kept, n_taken_out));
        }
        Note::Said(record) => ledger.note_round(record.clone()),
    }
    Ok(())
}

/// Takes back the rejections of what is pending in `path` again: `back`, lines as in a diff. An agent that was
/// told of one is told that.
fn take_back(ledger: &mut Ledger, path: &Path, back: &[u8]) {
    let back = format!("\n{}", plain(back));
    let is_back = |one: &&Rejected| {
        one.path == *path && one.lines.contains('\n') && back.contains(&format!("\n{}", one.lines))
    };
    let rejected: Vec<Rejected> = ledger
        .rounds()
        .rejected()
        .iter()
        .filter(is_back)
        .cloned()
        .collect();
    for one in rejected {
        ledger.note_round(match one.is_told {
            false => RoundRecord::Unrejected(one.path, one.hunk),
            true => RoundRecord::Rejected(Rejected {
                is_told: false,
                is_back: true,
                ..one
            }),
        });
    }
}

/// Stores what `held` says that `path` holds, and returns it.
fn version(disk: &mut Disk, path: &[u8], held: &Held) -> Result<Version, ProjectError> {
    match held {
        Held::InFile => disk.working(path),
        Held::Stored(version) => Ok(*version),
        Held::Bytes(mode, bytes) => disk.version((*mode, bytes)),
    }
}
