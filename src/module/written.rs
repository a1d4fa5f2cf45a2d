//! What is recorded of a decision: what files hold before it and after it, and what of a change that was
//! written before its review is reviewed by it.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use agent_q_diff_engine::change::{Change, ChangePlan, Entry, FileChange, Operation, Part};
use agent_q_diff_engine::review::Mark;
use agent_q_diff_reviewed::round::{Round, RoundFile};
use agent_q_diff_reviewed::{
    Decided, Digest, Held, Note, Project, ProjectError, Version, now, tree_root,
};
use emacs::{Env, IntoLisp, Result, Value, Vector, defun};
use serde::de::IgnoredAny;

use crate::lisp::{answer, catching_panics, elements, list, said, text, vector};
use crate::pending::{path_of, projects, try_with_project, with_project, with_project_of};
use crate::round::{comments, writers};
use crate::session::{Session, ongoing, written};
use crate::values::{lisp, rust};

/// What is known of a change that was written before its review, beyond its hunks.
pub(crate) struct Written {
    pub(crate) root: PathBuf,
    files: Vec<WrittenFile>,
    pub(crate) round: Round,
    /// By path, what was recorded last, and what was when all that was kept was staged.
    recorded: BTreeMap<Vec<u8>, [Version; 2]>,
}

/// One of its files.
struct WrittenFile {
    path: Vec<u8>,
    /// What the change begins with.
    old: Version,
    /// What was there when it began.
    new: Version,
    /// What was reviewed of the path, if that is something else than what the change begins with, and the
    /// same as text.
    now: Option<(Version, Vec<u8>)>,
    /// The path that it had before it was renamed, and the bytes that were reviewed there.
    from: Option<(Vec<u8>, Version)>,
}

/// What is reviewed of a path by what was decided.
#[derive(Clone, PartialEq)]
enum Reviewed {
    Stored(Version),
    /// A text as a buffer has it, which is to be encoded.
    Text {
        mode: u32,
        text: Vec<u8>,
        /// The name of its coding, if it is not the one of its buffer.
        coding: Option<Vec<u8>>,
    },
}

/// Which decisions count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// None: what was reviewed when the review began.
    Begun,
    Now,
}

impl Written {
    /// Reads [ROOT FILES NOWS OPERATIONS]; see [`begin_written`](crate::decide).
    pub(crate) fn read(env: &Env, value: Value) -> Result<Written> {
        let value: Vector = value.into_rust()?;
        let root: Value = value.get(0)?;
        let (nows, operations) = (elements(value.get(2)?)?, elements(value.get(3)?)?);
        let (mut files, mut of_round) = (Vec::new(), Vec::new());
        for (at, file) in elements(value.get(1)?)?.into_iter().enumerate() {
            let known = WrittenFile::read(file, nows.get(at).copied())?;
            let operations = elements(operations[at])?.into_iter().map(said);
            of_round.push(RoundFile {
                path: known.path.clone(),
                from: known.from.as_ref().map(|(from, _)| from.clone()),
                operations: operations.collect::<Result<_>>()?,
                writers: writers(file.into_rust::<Vector>()?.get(7)?)?,
            });
            files.push(known);
        }
        let round = with_project(env, root, false, |project| {
            Ok(Round::new(of_round, answer(env, project.rejected())?))
        })?;
        Ok(Written {
            root: path_of(root)?,
            files,
            round,
            recorded: BTreeMap::new(),
        })
    }

    /// Returns what is reviewed of the paths of file `file` of `change`.
    fn reviewed(&self, change: &Change, file: usize, moment: Moment) -> Vec<(Vec<u8>, Reviewed)> {
        let (known, change) = (&self.files[file], &change.files()[file]);
        let reviewed = match (&known.from, &known.now) {
            (Some(from), Some((now, _))) => return known.renamed(change, from, *now, moment),
            (_, None) => known.decided(change, moment),
            (None, Some((now, _))) if moment == Moment::Begun => Reviewed::Stored(*now),
            (None, Some((now, text))) => known.beside(change, *now, text),
        };
        vec![(known.path.clone(), reviewed)]
    }
}

impl WrittenFile {
    /// Reads an `agent-q-diff-pending-file`; `now` is what is reviewed of it now as text, or nil.
    fn read(file: Value, now: Option<Value>) -> Result<WrittenFile> {
        type Stored = (Vec<u8>, Version);
        let (path, old, new, _, _, known, from, _, _): (
            _,
            _,
            _,
            IgnoredAny,
            IgnoredAny,
            Option<Version>,
            Option<Stored>,
            IgnoredAny,
            bool,
        ) = rust(file)?;
        let text = now.filter(|now| now.is_not_nil()).map(bytes_of);
        let text = text.transpose()?.unwrap_or_default();
        let now = known.map(|known| (known, text));
        Ok(WrittenFile {
            path,
            old,
            new,
            now,
            from,
        })
    }

    /// Returns what is reviewed of it: what the change begins with, and what is kept of that.
    fn decided(&self, change: &FileChange, moment: Moment) -> Reviewed {
        use Operation::{Binary, Mode, Reading, Rename};
        let (mut has_mode, mut has_bytes, mut coding) = (false, false, None);
        for (operation, mark) in operations(change) {
            let is_kept = moment == Moment::Now && mark == Mark::Applied;
            has_mode |= is_kept && !matches!(operation, Binary | Reading { .. } | Rename);
            if let Reading { old, new } = operation {
                coding = Some(if is_kept { new.clone() } else { old.clone() });
            }
            has_bytes |= is_kept && !matches!(operation, Mode { .. } | Rename);
        }
        let Some(review) = change.review() else {
            let [mode, bytes] = [has_mode, has_bytes].map(|is_new| match is_new {
                true => self.new,
                false => self.old,
            });
            return Reviewed::Stored(with_mode(mode.mode(), bytes.digest()));
        };
        let text = match moment {
            Moment::Now => review.reviewed(),
            Moment::Begun => review.proposal().original().to_vec(),
        };
        // A new file with lines is there as soon as there is one of them.
        let is_implied = operations(change).next().is_none() && change.operations().len() > 0;
        let is_new = has_mode || is_implied && !text.is_empty();
        let version = if is_new { self.new } else { self.old };
        if !has_bytes && text == review.proposal().original() {
            return Reviewed::Stored(with_mode(version.mode(), self.old.digest()));
        }
        Reviewed::Text {
            mode: version.mode(),
            text,
            coding,
        }
    }

    /// Returns what is reviewed under its new and its old name: `now` was under the new one.
    fn renamed(
        &self,
        change: &FileChange,
        (from, old): &(Vec<u8>, Version),
        now: Version,
        moment: Moment,
    ) -> Vec<(Vec<u8>, Reviewed)> {
        let after = self.decided(change, Moment::Now);
        let [nothing, now, old] = [Version::Absent, now, *old].map(Reviewed::Stored);
        let mut renaming = operations(change);
        let renaming = renaming.find(|(operation, _)| **operation == Operation::Rename);
        let reviewed = match renaming.map_or(Mark::Pending, |(_, mark)| mark) {
            _ if moment == Moment::Begun => [now, old],
            Mark::Applied => [after, nothing],
            Mark::Rejected => [nothing, after],
            // Lines that the user has added since are in it only if a hunk is.
            Mark::Pending if after == self.decided(change, Moment::Begun) => [now, old],
            Mark::Pending => [now, after],
        };
        let paths = [self.path.clone(), from.clone()];
        paths.into_iter().zip(reviewed).collect()
    }

    /// Returns what is reviewed where that was `now`, with this text, and not what the change begins with:
    /// only what it shows is reviewed by what is decided.
    fn beside(&self, change: &FileChange, now: Version, text: &[u8]) -> Reviewed {
        let mut marks = operations(change).map(|(_, mark)| mark);
        let decided = marks.find(|mark| *mark != Mark::Pending);
        // What is taken out is as it was in the commit.
        let decided = decided.map(|mark| match mark {
            Mark::Applied => self.new,
            _ => self.old,
        });
        let Some(review) = change.review() else {
            return Reviewed::Stored(decided.unwrap_or(now));
        };
        let after = review.reviewed_beside(text);
        let mode = match (decided, now) {
            (Some(decided), _) => decided.mode(),
            (None, now) if after == text => now.mode(),
            // It was new, and is deleted.
            (None, _) if after.is_empty() && self.old == Version::Absent => 0,
            (None, Version::Absent) => self.new.mode(),
            (None, now) => now.mode(),
        };
        Reviewed::Text {
            mode,
            text: after,
            coding: None,
        }
    }
}

/// Returns what has the mode `mode`, as git writes it, and these bytes, if there are any.
fn with_mode(mode: u32, digest: Option<Digest>) -> Version {
    let version = digest.and_then(|digest| Version::with_mode(mode, digest));
    version.unwrap_or(Version::Absent)
}

fn bytes_of(text: Value) -> Result<Vec<u8>> {
    text.clone_string_contents()
}

/// Returns the operations on a file that are decided by themselves, with their marks.
fn operations(change: &FileChange) -> impl Iterator<Item = (&Operation, Mark)> {
    let decided = change.entries().filter_map(|entry| match entry {
        Entry::Operation(at) => Some((change.operations().nth(at)?, change.mark(entry))),
        Entry::Hunk(_) => None,
    });
    decided.collect::<Vec<_>>().into_iter()
}

// What files hold before a change and after it.

/// A file that was about to change, and what became of it.
struct Changed {
    /// The root of its project.
    root: PathBuf,
    path: Vec<u8>,
    /// What it held; with unsaved edits of its buffer, what it would have held after saving them.
    had: Version,
    /// If its buffer had such edits, what it held on disk.
    on_disk: Option<Version>,
    /// Whether something was taken out of it, or what is written was decided before that.
    is_taken_out: bool,
    /// Its path now.
    now: Vec<u8>,
    /// What it holds, unless that is in the file.
    holds: Option<Held>,
    before_hooks: Option<Held>,
    /// Whether an undo or a redo is part of what its buffer had.
    has_undone: bool,
}

/// What Lisp says about a plan that was carried out; see [`commit`](crate::decide).
pub(crate) struct CarriedOut<'e> {
    files: Vec<Changed>,
    codings: Vec<(usize, Value<'e>)>,
    stages: bool,
    comments: BTreeMap<usize, String>,
    said: BTreeMap<usize, (u64, String)>,
}

/// Store what FILES hold, which are about to change, and return them for `agent-q-diff-module-record'.
///
/// They are in the project at ROOT.  FILES is a list of (PATH . UNSAVED), where
/// PATH is relative to ROOT.  If its buffer has unsaved edits, UNSAVED is (MODE .
/// BYTES), what the file would hold if they were saved.  MODE is as git writes
/// it, 0 for nothing.
///
/// If TIME is non-nil, in seconds since 1970, something is taken out of the files
/// then.  That is recorded at once, so that it can be brought back even if Emacs
/// ends meanwhile.  Otherwise the user decides about what is written.
///
/// The value has a vector [ROOT PATH HAD ON-DISK IS-TAKEN-OUT] for each file.  HAD
/// is (MODE . TEXT), where TEXT is the name of a text, as in
/// `agent-q-diff-module-pending'.  ON-DISK is the same of the file where it has
/// not the bytes of UNSAVED.
#[defun]
fn prepare<'e>(
    env: &'e Env,
    root: Value<'e>,
    time: Option<u64>,
    files: Value<'e>,
) -> Result<Value<'e>> {
    catching_panics(env, || {
        let files = elements(files)?.into_iter().map(|file| {
            let path = bytes_of(file.car()?)?;
            Ok((path, held(file.cdr()?)?))
        });
        let files = files.collect::<Result<Vec<_>>>()?;
        with_project(env, root, false, |project| {
            let prepared = answer(env, prepare_files(project, &files, time))?;
            let prepared = files.iter().zip(prepared);
            let prepared = prepared
                .map(|((path, _), versions)| prepared_value(env, (root, path), versions, time));
            list(env, prepared.collect::<Result<Vec<_>>>()?)
        })
    })
}

/// What files held, and what those held on disk whose buffers had unsaved edits.
type Prepared = Vec<(Version, Option<Version>)>;

/// Stores what `files` hold, or what their buffers do; see [`Project::prepare`].
fn prepare_files(
    project: &mut Project,
    files: &[(Vec<u8>, Option<Held>)],
    time: Option<u64>,
) -> std::result::Result<Prepared, ProjectError> {
    let mut on_disk = Vec::new();
    for (path, unsaved) in files {
        let is_other = unsaved.is_some();
        let disk = is_other.then(|| project.hold(path, &Held::InFile));
        on_disk.push(disk.transpose()?);
    }
    let files = files.iter().cloned();
    let files = files.map(|(path, unsaved)| (path, unsaved.unwrap_or(Held::InFile)));
    let had = project.prepare(&files.collect::<Vec<_>>(), time)?;
    Ok(had.into_iter().zip(on_disk).collect())
}

/// Returns the element of a file in the value of [`prepare`].
fn prepared_value<'e>(
    env: &'e Env,
    (root, path): (Value<'e>, &[u8]),
    (had, on_disk): (Version, Option<Version>),
    time: Option<u64>,
) -> Result<Value<'e>> {
    let file = [
        root,
        text(env, path)?,
        lisp(env, &had)?,
        lisp(env, &on_disk)?,
        time.is_some().into_lisp(env)?,
    ];
    vector(env, file)
}

/// Store what the files NAMES hold, about which the user decides before they are written.
///
/// NAMES are absolute, without links in those of their directories.  Return a list
/// with (ROOT IS-RECORDED . PREPARED) for each of them, or nil if it is in no project
/// and no git repository, or cannot be read.  ROOT is that of its project, and
/// IS-RECORDED is non-nil if that has a record already.  PREPARED is as from
/// `agent-q-diff-module-prepare'.
#[defun]
fn watch<'e>(env: &'e Env, names: Value<'e>) -> Result<Value<'e>> {
    catching_panics(env, || {
        let projects = projects(env)?;
        let watched = elements(names)?.into_iter().map(|name| {
            let name = path_of(name)?;
            let found = name
                .parent()
                .and_then(|folder| tree_root(folder, &projects));
            let Some((root, is_recorded)) = found else {
                return env.intern("nil");
            };
            let Ok(path) = name.strip_prefix(&root) else {
                return env.intern("nil");
            };
            let path = path.as_os_str().as_bytes();
            let prepared = try_with_project(env, root.clone(), |project| {
                prepare_files(project, &[(path.to_vec(), None)], None)
            })?;
            let Ok(Ok(prepared)) = prepared else {
                return env.intern("nil");
            };
            // As Emacs names a directory.
            let root = text(env, root.join("").as_os_str().as_bytes())?;
            let prepared = prepared_value(env, (root, path), prepared[0], None)?;
            env.cons(root, env.cons(is_recorded, prepared)?)
        });
        list(env, watched.collect::<Result<Vec<_>>>()?)
    })
}

/// Record what became of FILES, of which `agent-q-diff-module-prepare' has stored what they held.
///
/// FILES is a list of [PREPARED PATH HOLDS BEFORE-HOOKS HAS-UNDONE].  PREPARED is an element
/// of the value of that function, and PATH what it is called now.  HOLDS is (MODE
/// . BYTES), what it holds, or what was decided about it, unless that is in the
/// file.  BEFORE-HOOKS, for `agent-q-diff-module-commit', is what a file would
/// hold if no hook had changed it in the latest save, or nil if none has.
/// HAS-UNDONE is non-nil if the user has undone or redone edits of its buffer that
/// are saved: lines that come back with that have the state that they had last.
#[defun]
fn record(env: &Env, files: Value) -> Result<()> {
    catching_panics(env, || {
        for (root, notes) in notes_of(files_now(files)?) {
            with_project_of(env, root, false, |project| {
                answer(env, project.record(&notes))
            })?;
        }
        Ok(())
    })
}

impl<'e> CarriedOut<'e> {
    /// Reads [FILES CODINGS STAGES COMMENTS SAID], or nil.
    pub(crate) fn read(value: Value<'e>) -> Result<Option<CarriedOut<'e>>> {
        if !value.is_not_nil() {
            return Ok(None);
        }
        let value: Vector = value.into_rust()?;
        Ok(Some(CarriedOut {
            files: files_now(value.get(0)?)?,
            codings: codings(value.get(1)?)?,
            stages: value.get::<Value>(2)?.is_not_nil(),
            comments: comments(value.get(3)?)?,
            said: elements(value.get(4)?)?
                .into_iter()
                .map(|one| {
                    let comment: Value = one.cdr()?;
                    Ok((one.car()?, (comment.car()?, said(comment.cdr()?)?)))
                })
                .collect::<Result<_>>()?,
        }))
    }
}

/// Reads FILES; see [`record`].
fn files_now(files: Value) -> Result<Vec<Changed>> {
    let files = elements(files)?.into_iter().map(|file| {
        let file: Vector = file.into_rust()?;
        let before: Vector = file.get(0)?;
        Ok(Changed {
            root: path_of(before.get(0)?)?,
            path: bytes_of(before.get(1)?)?,
            had: rust(before.get(2)?)?,
            on_disk: rust(before.get(3)?)?,
            is_taken_out: before.get::<Value>(4)?.is_not_nil(),
            now: bytes_of(file.get(1)?)?,
            holds: held(file.get(2)?)?,
            before_hooks: held(file.get(3)?)?,
            has_undone: file.get::<Value>(4)?.is_not_nil(),
        })
    });
    files.collect()
}

/// Reads (MODE . BYTES), or nil.
fn held(value: Value) -> Result<Option<Held>> {
    if !value.is_not_nil() {
        return Ok(None);
    }
    Ok(Some(Held::Bytes(value.car()?, bytes_of(value.cdr()?)?)))
}

/// Reads an alist from the indices of files to coding systems.
fn codings(value: Value) -> Result<Vec<(usize, Value)>> {
    let pairs = elements(value)?.into_iter();
    pairs.map(|pair| Ok((pair.car()?, pair.cdr()?))).collect()
}

/// Returns what is to be recorded of `files`, by the roots of their projects.
fn notes_of(files: Vec<Changed>) -> BTreeMap<PathBuf, Vec<Note>> {
    let mut notes: BTreeMap<PathBuf, Vec<Note>> = BTreeMap::new();
    for file in files {
        let here = notes.entry(file.root.clone()).or_default();
        if file.is_taken_out {
            here.extend(file.left());
        } else {
            here.push(file.written());
        }
    }
    notes
}

impl Changed {
    /// Returns what is to be recorded after something was taken out of it.
    fn left(self) -> Vec<Note> {
        let mut notes = Vec::new();
        // The user's edits, which were saved with that.
        let on_disk = self.on_disk.filter(|_| self.holds.is_none());
        if self.had != Version::Absent {
            notes.push(Note::Left {
                path: self.path.clone(),
                now: self.now,
                holds: self.holds.unwrap_or(Held::InFile),
            });
        }
        notes.extend(on_disk.map(|on_disk| Note::Saved {
            path: self.path,
            before: Held::Stored(on_disk),
            after: Held::Stored(self.had),
            has_undone: self.has_undone,
        }));
        notes
    }

    /// Returns that the user's hooks changed it while it was saved, if they did.
    fn hooked(&self) -> Option<Note> {
        self.before_hooks.clone().map(|before| Note::Saved {
            path: self.now.clone(),
            before,
            after: Held::InFile,
            has_undone: false,
        })
    }

    /// Returns what is to be recorded after it was written as the user had decided before.
    fn written(self) -> Note {
        let before = Held::Stored(self.had);
        let after = self.holds.unwrap_or(Held::InFile);
        if self.path == self.now {
            Note::Saved {
                path: self.path,
                before,
                after,
                has_undone: self.has_undone,
            }
        } else {
            Note::Renamed {
                from: (self.path, before),
                to: (self.now, after),
            }
        }
    }
}

// What is recorded.

/// What became of recording a decision.
#[derive(Default)]
pub(crate) struct Outcome {
    /// Why it is not recorded, if it is not.
    pub(crate) failed: Option<String>,
    /// Why what is kept could not be staged, for each file.
    pub(crate) unstaged: Vec<String>,
    /// As [`Noted::comments`](agent_q_diff_reviewed::round::Noted).
    pub(crate) comments: Vec<(usize, Option<String>, Option<String>)>,
}

/// Records what was decided by `plan` for the change of `session`, which was committed.
pub(crate) fn record_decision(
    env: &Env,
    session: &mut Session,
    plan: &ChangePlan,
    carried_out: CarriedOut,
) -> Result<Outcome> {
    let hooked = carried_out.files.iter().filter_map(Changed::hooked);
    let hooked: Vec<_> = hooked.collect();
    let mut notes = notes_of(carried_out.files);
    let failed = |why: String| {
        Ok(Outcome {
            failed: Some(why),
            ..Outcome::default()
        })
    };
    // Lisp is called only while no review is borrowed.
    let written = ongoing(env, session)?.written.clone();
    let mut elsewhere = Vec::new();
    if let Some(written) = &written {
        let root = written.borrow().root.clone();
        let rejected = try_with_project(env, root, |project| {
            let all = project.rejected()?;
            Ok(written.borrow().round.elsewhere(all))
        })?;
        match rejected.and_then(|rejected| rejected) {
            Ok(rejected) => elsewhere = rejected,
            Err(error) => return failed(error.to_string()),
        }
    }
    let ongoing = ongoing(env, session)?;
    let mut decisions = Vec::new();
    let mut noted = None;
    if let Some(written) = &written {
        let parts = plan.parts.iter().filter(|part| is_decided(part));
        let mut written = written.borrow_mut();
        let (comments, said) = (&carried_out.comments, &carried_out.said);
        let round = &mut written.round;
        noted = Some(round.note(&ongoing.change, &elsewhere, comments, said, now()));
        decisions.extend(parts.map(|part| {
            let decisions = written.decisions(&ongoing.change, part.file);
            (part.file, decisions)
        }));
    }
    drop(ongoing);
    if let (Some(written), Some(noted)) = (&written, &mut noted) {
        let here = notes.entry(written.borrow().root.clone()).or_default();
        for (file, decisions) in decisions {
            let coding = coding_of(&carried_out.codings, file);
            for (path, before, after) in decisions {
                let (Ok(before), Ok(after)) = (before.held(env, coding), after.held(env, coding))
                else {
                    return failed("it cannot be encoded".to_owned());
                };
                here.push(Note::Decided {
                    path,
                    before,
                    after,
                });
            }
        }
        here.extend(hooked);
        here.append(&mut noted.notes);
    }
    let mut outcome = Outcome::default();
    for (root, notes) in notes {
        let recorded = try_with_project(env, root, |project| {
            let decided = project.record(&notes)?;
            if let Some(written) = &written {
                outcome.unstaged =
                    written
                        .borrow_mut()
                        .take_over(project, decided, carried_out.stages);
            }
            Ok(())
        })?;
        if let Err(error) = recorded.and_then(|recorded| recorded) {
            return failed(error.to_string());
        }
    }
    if let (Some(written), Some(mut noted)) = (&written, noted) {
        outcome.comments = std::mem::take(&mut noted.comments);
        written.borrow_mut().round.take_over(noted);
    }
    Ok(outcome)
}

fn coding_of<'e>(codings: &[(usize, Value<'e>)], file: usize) -> Option<Value<'e>> {
    let coding = codings.iter().find(|(other, _)| *other == file);
    coding.map(|(_, coding)| *coding)
}

/// Returns whether anything is decided by `part`.
fn is_decided(part: &Part) -> bool {
    let has_steps = part
        .text
        .as_ref()
        .is_some_and(|text| !text.steps.is_empty());
    has_steps || !part.operations.is_empty()
}

/// A path of a decision, what was recorded of it last, or was reviewed when the review began, and what is now.
type Decision = (Vec<u8>, Reviewed, Reviewed);

impl Written {
    /// Returns what is to be recorded of file `file` of `change`: all of its paths.
    fn decisions(&self, change: &Change, file: usize) -> Vec<Decision> {
        let begun = self.reviewed(change, file, Moment::Begun).into_iter();
        let now = self.reviewed(change, file, Moment::Now);
        let decisions = begun.zip(now).map(|((path, begun), (_, after))| {
            let recorded = self.recorded.get(&path);
            let before = recorded.map_or(begun, |[now, _]| Reviewed::Stored(*now));
            (path, before, after)
        });
        decisions.collect()
    }

    /// Takes over what was recorded. Returns why what of it is to be staged could not be.
    fn take_over(
        &mut self,
        project: &mut Project,
        decided: Vec<Decided>,
        stages: bool,
    ) -> Vec<String> {
        let mut unstaged = Vec::new();
        for (path, before, after) in decided {
            let [now, staged] = self.recorded.entry(path.clone()).or_insert([before; 2]);
            *now = after;
            if !stages || before == after {
                continue;
            }
            match project.stage(&path, before, after) {
                Ok(()) if *staged == before => *staged = after,
                Ok(()) => {}
                Err(error) => unstaged.push(error.to_string()),
            }
        }
        unstaged
    }
}

impl Reviewed {
    /// Returns it as bytes, in its own coding, or in `buffers`, that of its buffer, or else in UTF-8.
    fn held(self, env: &Env, buffers: Option<Value>) -> Result<Held> {
        let (mode, text, coding) = match self {
            Reviewed::Stored(version) => return Ok(Held::Stored(version)),
            Reviewed::Text { mode, text, coding } => (mode, text, coding),
        };
        let own = coding.map(|coding| env.intern(&String::from_utf8_lossy(&coding)));
        let bytes = match own.transpose()?.or(buffers) {
            // A byte order mark would make a text of none.
            Some(coding) if !text.is_empty() => encoded(env, &text, coding)?,
            _ => text,
        };
        Ok(Held::Bytes(mode, bytes))
    }
}

/// Returns `text`, which is in the form that the module gets from Lisp, as bytes in `coding`.
fn encoded(env: &Env, text: &[u8], coding: Value) -> Result<Vec<u8>> {
    let internal = env.intern("utf-8-emacs-unix")?;
    let text = env.call("decode-coding-string", (text.into_lisp(env)?, internal))?;
    let bytes: Value = env.call("encode-coding-string", (text, coding))?;
    bytes_of(bytes)
}

// What is asked between decisions.

/// Return the indices of those files of REVIEW about which nobody has decided elsewhere.
///
/// What is reviewed of them now is what REVIEW has recorded; its change was
/// written before.  CODINGS is as for `agent-q-diff-module-commit'.
#[defun]
fn fresh<'e>(env: &'e Env, session: &mut Session, codings: Value<'e>) -> Result<Value<'e>> {
    catching_panics(env, || {
        let codings = self::codings(codings)?;
        let written = written(env, session)?;
        let written = written.borrow();
        let ongoing = ongoing(env, session)?;
        let files = 0..ongoing.change.files().len();
        let files: Vec<_> = files
            .map(|file| written.decisions(&ongoing.change, file))
            .collect();
        drop(ongoing);
        with_project_of(env, written.root.clone(), false, |project| {
            answer(env, project.look_unasked())?;
            let mut fresh = Vec::new();
            for (file, paths) in files.into_iter().enumerate() {
                let mut recorded = Vec::new();
                for (path, before, _) in paths {
                    let before = before.held(env, coding_of(&codings, file))?;
                    let version = answer(env, project.hold(&path, &before))?;
                    recorded.push((path, version));
                }
                if answer(env, project.are_reviewed(&recorded))? {
                    fresh.push(file);
                }
            }
            list(env, fresh)
        })
    })
}

/// Returns a sentence that names `paths`, of which the index has what is not kept.
fn unkept_words(paths: &[Vec<u8>]) -> Vec<u8> {
    const MAX_NAMES: usize = 3;
    let mut said = b"the index has changes of ".to_vec();
    said.extend(paths[..paths.len().min(MAX_NAMES)].join(&b", "[..]));
    if paths.len() > MAX_NAMES {
        said.extend(format!(" and {} more", paths.len() - MAX_NAMES).as_bytes());
    }
    said.extend(b" that you have not kept");
    said
}

/// Put what is kept in REVIEW into git's index; return (N . FAILED).
///
/// Its change was written before.  N is the number of files that were staged,
/// and FAILED has, for each file that could not be, a sentence that says why, and
/// one about the files of which the index has what is not kept.
#[defun]
fn stage<'e>(env: &'e Env, session: &mut Session) -> Result<Value<'e>> {
    catching_panics(env, || {
        let written = written(env, session)?;
        let mut written = written.borrow_mut();
        let (mut n, mut failed) = (0, Vec::new());
        let root = written.root.clone();
        with_project_of(env, root, false, |project| {
            for (path, [now, staged]) in &mut written.recorded {
                if now == staged {
                    continue;
                }
                match project.stage(path, *staged, *now) {
                    Ok(()) => {
                        *staged = *now;
                        n += 1;
                    }
                    Err(error) => failed.push(text(env, error.to_string().as_bytes())?),
                }
            }
            let paths = written.files.iter().flat_map(|file| {
                let from = file.from.as_ref().map(|(from, _)| &from[..]);
                from.into_iter().chain([&file.path[..]])
            });
            match project.staged_unkept(&paths.collect::<Vec<_>>()) {
                Ok(unkept) if unkept.is_empty() => {}
                Ok(unkept) => failed.push(text(env, &unkept_words(&unkept))?),
                Err(error) => failed.push(text(env, error.to_string().as_bytes())?),
            }
            env.cons(n, list(env, failed)?)
        })
    })
}
