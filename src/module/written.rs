//! What is recorded of a decision: what files hold before it and after it, and what of a change that was
//! written before its review is reviewed by it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use agent_q_diff_engine::change::{Change, ChangePlan, Entry, FileChange, Operation, Part};
use agent_q_diff_engine::review::Mark;
use agent_q_diff_reviewed::{Decided, Digest, Held, Note, Project, Version};
use emacs::{Env, IntoLisp, Result, Value, Vector, defun};

use crate::lisp::{answer, catching_panics, elements, list, signal, text, vector};
use crate::pending::{name, path_of, try_with_project, with_project, with_project_of};
use crate::session::{Session, ongoing};

/// A mode, as git writes it, or 0 for nothing, and the bytes that were stored with it, if there are any.
type State = (u32, Option<Digest>);

/// What is known of a change that was written before its review, beyond its hunks.
pub(crate) struct Written {
    root: PathBuf,
    files: Vec<WrittenFile>,
    /// By path, what was recorded.
    recorded: BTreeMap<Vec<u8>, Recorded>,
}

/// One of its files.
struct WrittenFile {
    path: Vec<u8>,
    /// What the change begins with.
    old: State,
    /// What was there when it began.
    new: State,
    /// What was reviewed of the path, if that is something else than what the change begins with, and the
    /// same as text.
    now: Option<(State, Vec<u8>)>,
    /// The path that it had before it was renamed, and the bytes that were reviewed there.
    from: Option<(Vec<u8>, Option<Digest>)>,
}

/// What was recorded of a path in this review.
struct Recorded {
    /// What is reviewed of it.
    now: Version,
    /// What was when all that was kept was staged.
    staged: Version,
}

/// What is reviewed of a path by what was decided.
struct Reviewed {
    path: Vec<u8>,
    mode: u32,
    text: ReviewedText,
}

#[derive(Clone, PartialEq)]
enum ReviewedText {
    Stored(Option<Digest>),
    /// As a buffer has it, and is to be encoded.
    Decoded(Vec<u8>),
}

impl Reviewed {
    fn stored(path: &[u8], (mode, digest): State) -> Reviewed {
        Reviewed {
            path: path.to_vec(),
            mode,
            text: ReviewedText::Stored(digest),
        }
    }

    fn named(path: &[u8], (mode, text): (u32, ReviewedText)) -> Reviewed {
        let path = path.to_vec();
        Reviewed { path, mode, text }
    }
}

/// Which decisions count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// None: what was reviewed when the review began.
    Begun,
    Now,
}

impl Written {
    /// Reads [ROOT FILES NOWS]; see [`begin_written`](crate::decide).
    pub(crate) fn read(value: Value) -> Result<Written> {
        let value: Vector = value.into_rust()?;
        let nows = elements(value.get(2)?)?;
        let files = elements(value.get(1)?)?.into_iter().enumerate();
        let files = files.map(|(at, file)| WrittenFile::read(file, nows.get(at).copied()));
        Ok(Written {
            root: path_of(value.get(0)?)?,
            files: files.collect::<Result<_>>()?,
            recorded: BTreeMap::new(),
        })
    }

    /// Returns what is reviewed of the paths of file `file` of `change`.
    fn reviewed(&self, change: &Change, file: usize, moment: Moment) -> Vec<Reviewed> {
        let (known, change) = (&self.files[file], &change.files()[file]);
        let path = &known.path;
        match (&known.from, &known.now) {
            (Some(from), Some((now, _))) => known.renamed(change, from, *now, moment).into(),
            (None, Some((now, _))) if moment == Moment::Begun => vec![Reviewed::stored(path, *now)],
            (None, Some(now)) => vec![Reviewed::named(path, known.beside(change, now))],
            (_, None) => vec![Reviewed::named(path, known.decided(change, moment))],
        }
    }
}

impl WrittenFile {
    /// Reads an `agent-q-diff-pending-file`; `now` is what is reviewed of it now as text, or nil.
    fn read(file: Value, now: Option<Value>) -> Result<WrittenFile> {
        let file: Vector = file.into_rust()?;
        let digest = |at: usize| -> Result<Option<Digest>> {
            let name: Option<String> = file.get(at)?;
            Ok(name.as_deref().and_then(Digest::parse))
        };
        let now_mode: Option<u32> = file.get(7)?;
        let now = match now_mode {
            None => None,
            Some(mode) => {
                let text = now.filter(|now| now.is_not_nil());
                let text = text.map(|now| now.clone_string_contents()).transpose()?;
                Some(((mode, digest(8)?), text.unwrap_or_default()))
            }
        };
        let from: Value = file.get(9)?;
        let from = if from.is_not_nil() {
            Some((from.clone_string_contents()?, digest(10)?))
        } else {
            None
        };
        Ok(WrittenFile {
            path: file.get::<Value>(0)?.clone_string_contents()?,
            old: (file.get(1)?, digest(2)?),
            new: (file.get(3)?, digest(4)?),
            now,
            from,
        })
    }

    /// Returns what is reviewed of it: what the change begins with, and what is kept of that.
    fn decided(&self, change: &FileChange, moment: Moment) -> (u32, ReviewedText) {
        let is_kept = |is_meant: fn(&Operation) -> bool| {
            let mut decided = operations(change);
            moment == Moment::Now
                && decided.any(|(operation, mark)| mark == Mark::Applied && is_meant(operation))
        };
        let text = match (change.review(), moment) {
            (Some(review), Moment::Now) => ReviewedText::Decoded(review.reviewed()),
            (Some(review), Moment::Begun) => {
                ReviewedText::Decoded(review.proposal().original().to_vec())
            }
            (None, _) => {
                let is_new = |operation: &_| {
                    use Operation::{Binary, Create, Link};
                    matches!(operation, Create { .. } | Link { .. } | Binary)
                };
                ReviewedText::Stored(if is_kept(is_new) {
                    self.new.1
                } else {
                    self.old.1
                })
            }
        };
        // A new file with lines is there as soon as there is one of them.
        let has_lines = matches!(&text, ReviewedText::Decoded(text) if !text.is_empty());
        let is_implied =
            has_lines && operations(change).next().is_none() && change.operations().len() > 0;
        let has_mode = |operation: &_| {
            use Operation::{Create, Delete, Link, Mode};
            matches!(
                operation,
                Create { .. } | Delete { .. } | Mode { .. } | Link { .. }
            )
        };
        let is_new = is_implied || is_kept(has_mode);
        (if is_new { self.new.0 } else { self.old.0 }, text)
    }

    /// Returns what is reviewed under its new and its old name: `now` was under the new one.
    fn renamed(
        &self,
        change: &FileChange,
        (from, from_text): &(Vec<u8>, Option<Digest>),
        now: State,
        moment: Moment,
    ) -> [Reviewed; 2] {
        let begun = self.decided(change, Moment::Begun);
        let after = self.decided(change, Moment::Now);
        let (path, nothing) = (&self.path, (0, None));
        let old = Reviewed::stored(from, (begun.0, *from_text));
        let mut renaming = operations(change);
        let mark = renaming.find(|(operation, _)| **operation == Operation::Rename);
        match mark.map_or(Mark::Pending, |(_, mark)| mark) {
            Mark::Applied if moment == Moment::Now => [
                Reviewed::named(path, after),
                Reviewed::stored(from, nothing),
            ],
            Mark::Rejected if moment == Moment::Now => [
                Reviewed::stored(path, nothing),
                Reviewed::named(from, after),
            ],
            // Lines that the user has added since are in it only if a hunk is.
            Mark::Pending if moment == Moment::Now && begun != after => {
                [Reviewed::stored(path, now), Reviewed::named(from, after)]
            }
            _ => [Reviewed::stored(path, now), old],
        }
    }

    /// Returns what is reviewed where that was not what the change begins with: only what it shows is
    /// reviewed by what is decided.
    fn beside(&self, change: &FileChange, (now, text): &(State, Vec<u8>)) -> (u32, ReviewedText) {
        let mut marks = operations(change).map(|(_, mark)| mark);
        let decided = match marks.find(|mark| *mark != Mark::Pending) {
            Some(Mark::Applied) => Some(self.new),
            // What is taken out is as it was in the commit.
            Some(_) => Some(self.old),
            None => None,
        };
        let Some(review) = change.review() else {
            let (mode, text) = decided.unwrap_or(*now);
            return (mode, ReviewedText::Stored(text));
        };
        let after = review.reviewed_beside(text);
        let mode = match (decided, now.0) {
            (Some((mode, _)), _) => mode,
            (None, mode) if after == *text => mode,
            // It was new, and is deleted.
            (None, _) if after.is_empty() && self.old.0 == 0 => 0,
            (None, 0) => self.new.0,
            (None, mode) => mode,
        };
        (mode, ReviewedText::Decoded(after))
    }
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

/// What a file holds that is about to change, as Lisp hands it back.
struct Prepared {
    /// The root of its project.
    root: PathBuf,
    path: Vec<u8>,
    /// What it holds; with unsaved edits of its buffer, what it would hold after saving them.
    had: Version,
    /// If its buffer has such edits, what it holds on disk.
    on_disk: Option<Version>,
    /// Whether something is taken out of it, or what is written is decided before that.
    is_taken_out: bool,
}

/// A file that was to change, after that.
struct FileNow {
    before: Prepared,
    path: Vec<u8>,
    /// What it holds, unless that is in the file.
    holds: Option<Held>,
    before_hooks: Option<Held>,
}

/// What Lisp says about a plan that was carried out; see [`commit`](crate::decide).
pub(crate) struct CarriedOut<'e> {
    files: Vec<FileNow>,
    codings: Vec<(usize, Value<'e>)>,
    stages: bool,
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
            let path = file.car::<Value>()?.clone_string_contents()?;
            Ok((path, held(file.cdr()?)?))
        });
        let files = files.collect::<Result<Vec<_>>>()?;
        let version = |version: Version| env.cons(version.mode(), name(env, version)?);
        with_project(env, root, false, |project| {
            let mut on_disk = Vec::new();
            for (path, unsaved) in &files {
                let is_other = unsaved.is_some();
                let disk = is_other.then(|| project.hold(path, &Held::InFile));
                on_disk.push(answer(env, disk.transpose())?);
            }
            let files = files.into_iter();
            let files = files.map(|(path, unsaved)| (path, unsaved.unwrap_or(Held::InFile)));
            let files: Vec<_> = files.collect();
            let had = answer(env, project.prepare(&files, time))?;
            let prepared = files.iter().zip(had).zip(on_disk);
            let prepared = prepared.map(|(((path, _), had), on_disk)| {
                let file = [
                    root,
                    text(env, path)?,
                    version(had)?,
                    on_disk.map(version).transpose()?.into_lisp(env)?,
                    time.is_some().into_lisp(env)?,
                ];
                vector(env, file)
            });
            list(env, prepared.collect::<Result<Vec<_>>>()?)
        })
    })
}

/// Record what became of FILES, of which `agent-q-diff-module-prepare' has stored what they held.
///
/// FILES is a list of [PREPARED PATH HOLDS BEFORE-HOOKS].  PREPARED is an element
/// of the value of that function, and PATH what it is called now.  HOLDS is (MODE
/// . BYTES), what it holds, or what was decided about it, unless that is in the
/// file.  BEFORE-HOOKS, for `agent-q-diff-module-commit', is what a file would
/// hold if no hook had changed it in the latest save, or nil if none has.
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
    /// Reads [FILES CODINGS STAGES], or nil.
    pub(crate) fn read(value: Value<'e>) -> Result<Option<CarriedOut<'e>>> {
        if !value.is_not_nil() {
            return Ok(None);
        }
        let value: Vector = value.into_rust()?;
        Ok(Some(CarriedOut {
            files: files_now(value.get(0)?)?,
            codings: codings(value.get(1)?)?,
            stages: value.get::<Value>(2)?.is_not_nil(),
        }))
    }
}

/// Reads FILES; see [`record`].
fn files_now(files: Value) -> Result<Vec<FileNow>> {
    let version = |value: Value| -> Result<Version> {
        let (mode, name): (u32, Option<String>) = (value.car()?, value.cdr()?);
        let digest = name.as_deref().and_then(Digest::parse);
        let version = digest.and_then(|digest| Version::with_mode(mode, digest));
        Ok(version.unwrap_or(Version::Absent))
    };
    let files = elements(files)?.into_iter().map(|file| {
        let file: Vector = file.into_rust()?;
        let before: Vector = file.get(0)?;
        let on_disk: Value = before.get(3)?;
        let before = Prepared {
            root: path_of(before.get(0)?)?,
            path: before.get::<Value>(1)?.clone_string_contents()?,
            had: version(before.get(2)?)?,
            on_disk: match on_disk.is_not_nil() {
                true => Some(version(on_disk)?),
                false => None,
            },
            is_taken_out: before.get::<Value>(4)?.is_not_nil(),
        };
        Ok(FileNow {
            before,
            path: file.get::<Value>(1)?.clone_string_contents()?,
            holds: held(file.get(2)?)?,
            before_hooks: held(file.get(3)?)?,
        })
    });
    files.collect()
}

/// Reads (MODE . BYTES), or nil.
fn held(value: Value) -> Result<Option<Held>> {
    if !value.is_not_nil() {
        return Ok(None);
    }
    let bytes = value.cdr::<Value>()?.clone_string_contents()?;
    Ok(Some(Held::Bytes(value.car()?, bytes)))
}

/// Reads an alist from the indices of files to coding systems.
fn codings(value: Value) -> Result<Vec<(usize, Value)>> {
    let pairs = elements(value)?.into_iter();
    pairs.map(|pair| Ok((pair.car()?, pair.cdr()?))).collect()
}

/// Returns what is to be recorded of `files`, by the roots of their projects.
fn notes_of(files: Vec<FileNow>) -> BTreeMap<PathBuf, Vec<Note>> {
    let mut notes: BTreeMap<PathBuf, Vec<Note>> = BTreeMap::new();
    for file in files {
        let here = notes.entry(file.before.root.clone()).or_default();
        if file.before.is_taken_out {
            here.extend(file.left());
        } else {
            here.push(file.written());
        }
    }
    notes
}

impl FileNow {
    /// Returns what is to be recorded after something was taken out of it.
    fn left(self) -> Vec<Note> {
        let Prepared { path, had, .. } = self.before;
        let is_saved = self.holds.is_none();
        let mut notes = Vec::new();
        if had != Version::Absent {
            notes.push(Note::Left {
                path: path.clone(),
                now: self.path.clone(),
                holds: self.holds.unwrap_or(Held::InFile),
            });
        }
        // The user's edits, which were saved with that.
        let on_disk = self.before.on_disk.filter(|_| is_saved);
        notes.extend(on_disk.map(|on_disk| Note::Saved {
            path,
            before: Held::Stored(on_disk),
            after: Held::Stored(had),
        }));
        notes
    }

    /// Returns that the user's hooks changed it while it was saved, if they did.
    fn hooked(&self) -> Option<Note> {
        self.before_hooks.clone().map(|before| Note::Saved {
            path: self.path.clone(),
            before,
            after: Held::InFile,
        })
    }

    /// Returns what is to be recorded after it was written as the user had decided before.
    fn written(self) -> Note {
        let Prepared { path, had, .. } = self.before;
        let before = Held::Stored(had);
        let after = self.holds.unwrap_or(Held::InFile);
        if path == self.path {
            Note::Saved {
                path,
                before,
                after,
            }
        } else {
            Note::Renamed {
                from: (path, before),
                to: (self.path, after),
            }
        }
    }
}

// What is recorded.

/// What Lisp reads of a decision that was recorded, or could not be.
#[derive(Default)]
pub(crate) struct Outcome {
    /// Why it could not be recorded.
    pub(crate) failed: Option<String>,
    /// Why what is kept could not be staged, for each file.
    pub(crate) unstaged: Vec<String>,
}

/// Records what was decided by `plan` for the change of `session`, which was committed.
pub(crate) fn record_decision(
    env: &Env,
    session: &mut Session,
    plan: &ChangePlan,
    carried_out: CarriedOut,
) -> Result<Outcome> {
    let CarriedOut {
        files,
        codings,
        stages,
    } = carried_out;
    let hooked: Vec<_> = files.iter().filter_map(FileNow::hooked).collect();
    let mut notes = notes_of(files);
    let ongoing = ongoing(env, session)?;
    let written = ongoing.written.clone();
    let mut decisions = Vec::new();
    if let Some(written) = &written {
        let parts = plan.parts.iter().filter(|part| is_decided(part));
        decisions.extend(parts.map(|part| {
            let decisions = written.borrow().decisions(&ongoing.change, part.file);
            (part.file, decisions)
        }));
    }
    // Lisp is called only while no review is borrowed.
    drop(ongoing);
    if let Some(written) = &written {
        let here = notes.entry(written.borrow().root.clone()).or_default();
        for (file, decisions) in decisions {
            let coding = codings.iter().find(|(other, _)| *other == file);
            for decision in decisions {
                match decision.note(env, coding.map(|(_, coding)| *coding)) {
                    Ok(note) => here.push(note),
                    Err(_) => return Ok(Outcome::failed("it cannot be encoded".to_owned())),
                }
            }
        }
        here.extend(hooked);
    }
    let mut outcome = Outcome::default();
    for (root, notes) in notes {
        let recorded = try_with_project(env, root, |project| {
            let decided = project.record(&notes)?;
            if let Some(written) = &written {
                outcome.unstaged = written.borrow_mut().take_over(project, decided, stages);
            }
            Ok(())
        })?;
        if let Err(error) = recorded.and_then(|recorded| recorded) {
            return Ok(Outcome::failed(error.to_string()));
        }
    }
    Ok(outcome)
}

impl Outcome {
    fn failed(why: String) -> Outcome {
        Outcome {
            failed: Some(why),
            unstaged: Vec::new(),
        }
    }
}

/// Returns whether anything is decided by `part`.
fn is_decided(part: &Part) -> bool {
    let has_steps = part
        .text
        .as_ref()
        .is_some_and(|text| !text.steps.is_empty());
    has_steps || !part.operations.is_empty()
}

/// What was decided about a path.
struct Decision {
    path: Vec<u8>,
    /// What was recorded of it last, or what was reviewed when the review began.
    before: std::result::Result<Version, Reviewed>,
    after: Reviewed,
}

impl Decision {
    /// Returns it as it is recorded; texts are encoded in `coding` if there is one.
    fn note(self, env: &Env, coding: Option<Value>) -> Result<Note> {
        Ok(Note::Decided {
            path: self.path,
            before: match self.before {
                Ok(version) => Held::Stored(version),
                Err(begun) => begun.held(env, coding)?,
            },
            after: self.after.held(env, coding)?,
        })
    }
}

impl Written {
    /// Returns what is to be recorded of file `file` of `change`: all of its paths.
    fn decisions(&self, change: &Change, file: usize) -> Vec<Decision> {
        let begun = self.reviewed(change, file, Moment::Begun).into_iter();
        let now = self.reviewed(change, file, Moment::Now).into_iter();
        let decisions = begun.zip(now).map(|(begun, after)| {
            let path = after.path.clone();
            let recorded = self.recorded.get(&path);
            Decision {
                before: recorded.map(|recorded| recorded.now).ok_or(begun),
                path,
                after,
            }
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
            let recorded = self.recorded.entry(path.clone()).or_insert(Recorded {
                now: before,
                staged: before,
            });
            recorded.now = after;
            if !stages || before == after {
                continue;
            }
            match project.stage(&path, before, after) {
                Ok(()) if recorded.staged == before => recorded.staged = after,
                Ok(()) => {}
                Err(error) => unstaged.push(error.to_string()),
            }
        }
        unstaged
    }
}

impl Reviewed {
    /// Returns it as bytes, in `coding` if there is one, and else in UTF-8.
    fn held(self, env: &Env, coding: Option<Value>) -> Result<Held> {
        let bytes = match self.text {
            ReviewedText::Stored(Some(digest)) => {
                let version = Version::with_mode(self.mode, digest);
                return Ok(Held::Stored(version.unwrap_or(Version::Absent)));
            }
            ReviewedText::Stored(None) => Vec::new(),
            ReviewedText::Decoded(text) => match coding {
                None => text,
                Some(coding) => encoded(env, &text, coding)?,
            },
        };
        Ok(Held::Bytes(self.mode, bytes))
    }
}

/// Returns `text`, which is in the form that the module gets from Lisp, as bytes in `coding`.
fn encoded(env: &Env, text: &[u8], coding: Value) -> Result<Vec<u8>> {
    let internal = env.intern("utf-8-emacs-unix")?;
    let text = env.call("decode-coding-string", (text.into_lisp(env)?, internal))?;
    let bytes: Value = env.call("encode-coding-string", (text, coding))?;
    Ok(bytes.clone_string_contents()?)
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
        let (written, files) = {
            let ongoing = ongoing(env, session)?;
            let Some(written) = ongoing.written.clone() else {
                return signal(env, "agent-q-diff-error", "it was not written before");
            };
            let n_files = ongoing.change.files().len();
            let reviewed = (0..n_files).map(|file| {
                let decisions = written.borrow().decisions(&ongoing.change, file);
                let before = decisions.into_iter();
                before.map(|one| (one.path, one.before)).collect()
            });
            let reviewed: Vec<Vec<_>> = reviewed.collect();
            (written, reviewed)
        };
        let root = written.borrow().root.clone();
        with_project_of(env, root, false, |project| {
            answer(env, project.look_unasked())?;
            let mut fresh = Vec::new();
            for (file, paths) in files.into_iter().enumerate() {
                let coding = codings.iter().find(|(other, _)| *other == file);
                let coding = coding.map(|(_, coding)| *coding);
                let mut versions = Vec::new();
                for (path, before) in paths {
                    let version = match before {
                        Ok(version) => version,
                        Err(begun) => answer(env, project.hold(&path, &begun.held(env, coding)?))?,
                    };
                    versions.push((path, version));
                }
                if answer(env, project.are_reviewed(&versions))? {
                    fresh.push(file);
                }
            }
            list(env, fresh)
        })
    })
}

/// Put what is kept in REVIEW into git's index; return (N . FAILED).
///
/// Its change was written before.  N is the number of files that were staged,
/// and FAILED has, for each file that could not be, a sentence that says why.
#[defun]
fn stage<'e>(env: &'e Env, session: &mut Session) -> Result<Value<'e>> {
    catching_panics(env, || {
        let Some(written) = ongoing(env, session)?.written.clone() else {
            return signal(env, "agent-q-diff-error", "it was not written before");
        };
        let mut written = written.borrow_mut();
        let (mut n, mut failed) = (0, Vec::new());
        let root = written.root.clone();
        with_project_of(env, root, false, |project| {
            for (path, recorded) in &mut written.recorded {
                if recorded.staged == recorded.now {
                    continue;
                }
                match project.stage(path, recorded.staged, recorded.now) {
                    Ok(()) => {
                        recorded.staged = recorded.now;
                        n += 1;
                    }
                    Err(error) => failed.push(text(env, error.to_string().as_bytes())?),
                }
            }
            env.cons(n, list(env, failed)?)
        })
    })
}
