//! What is pending in a project, and recording what was reviewed.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::ops::Range;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use agent_q_diff_engine::merge;
use agent_q_diff_reviewed::authors::{Author, Authors};
use agent_q_diff_reviewed::{
    Digest, HunkNote, LeftOut, Look, Moves, Pending, Project, ProjectError, Since, Turn, Version,
    folder_of, projects_folder, read_text, recorded_root as root_of,
};
use emacs::{Env, IntoLisp, Result, Value, Vector, defun};

use crate::lisp::{Signal, answer, catching_panics, elements, list, said, signal, text, vector};

impl Signal for ProjectError {
    fn symbol(&self) -> &'static str {
        match self {
            ProjectError::NoRepository(_) => "agent-q-diff-no-repository",
            _ => "agent-q-diff-bad-target",
        }
    }
}

thread_local! {
    /// The projects that were looked at, by the folder for which that was asked: to record what was
    /// reviewed takes no process then.
    static PROJECTS: RefCell<HashMap<PathBuf, Project>> = RefCell::new(HashMap::new());
}

/// Calls `body` with the project that `folder` is in, which is opened anew if `is_new`.
pub(crate) fn with_project<T>(
    env: &Env,
    folder: Value,
    is_new: bool,
    body: impl FnOnce(&mut Project) -> Result<T>,
) -> Result<T> {
    with_project_of(env, path_of(folder)?, is_new, body)
}

pub(crate) fn with_project_of<T>(
    env: &Env,
    folder: PathBuf,
    is_new: bool,
    body: impl FnOnce(&mut Project) -> Result<T>,
) -> Result<T> {
    if is_new {
        PROJECTS.with_borrow_mut(|all| all.remove(&folder));
    }
    answer(env, try_with_project(env, folder, body)?)?
}

/// Calls `body` with the project that `folder` is in, and returns its value, or why there is no such project.
pub(crate) fn try_with_project<T>(
    env: &Env,
    folder: PathBuf,
    body: impl FnOnce(&mut Project) -> T,
) -> Result<std::result::Result<T, ProjectError>> {
    let known = PROJECTS.with_borrow_mut(|all| all.remove(&folder));
    let mut project = match known.filter(Project::is_current) {
        Some(project) => project,
        None => match Project::open_among(&folder, &projects(env)?) {
            Ok(project) => project,
            Err(error) => return Ok(Err(error)),
        },
    };
    let result = body(&mut project);
    PROJECTS.with_borrow_mut(|all| all.insert(folder, project));
    Ok(Ok(result))
}

pub(crate) fn path_of(name: Value) -> Result<PathBuf> {
    Ok(PathBuf::from(OsString::from_vec(
        name.clone_string_contents()?,
    )))
}

/// Returns the folder of the data of projects without git, by the environment that Emacs gives to the
/// programs that it runs.
pub(crate) fn projects(env: &Env) -> Result<PathBuf> {
    let variable = |name: &str| -> Result<Option<OsString>> {
        let value = env.call("getenv", [name.into_lisp(env)?])?;
        let bytes = value.is_not_nil().then(|| value.clone_string_contents());
        Ok(bytes.transpose()?.map(OsString::from_vec))
    };
    let (state, home) = (variable("XDG_STATE_HOME")?, variable("HOME")?);
    Ok(projects_folder(|name| match name {
        "HOME" => home.clone(),
        _ => state.clone(),
    }))
}

/// Return the root of the project that FOLDER is in, if something of it was recorded, or nil.
///
/// That is its repository, or a nearer folder without git that is a project.  It
/// is found out on disk, and no program is run.
#[defun]
fn recorded_root<'e>(env: &'e Env, folder: Value<'e>) -> Result<Value<'e>> {
    catching_panics(env, || match root_of(&path_of(folder)?, &projects(env)?) {
        Some(root) => text(env, root.as_os_str().as_bytes()),
        None => env.intern("nil"),
    })
}

/// Return the bytes of the text with NAME in TEXTS, which is from `agent-q-diff-module-pending'.
///
/// NAME is their digest.  If it is that of other bytes, signal an error.
#[defun]
fn text_bytes<'e>(env: &'e Env, texts: Value<'e>, name: String) -> Result<Value<'e>> {
    catching_panics(env, || {
        let Some(digest) = Digest::parse(&name) else {
            return signal(env, "agent-q-diff-error", "this is no text");
        };
        let bytes = read_text(&path_of(texts)?, digest).map_err(ProjectError::from);
        let bytes = answer(env, bytes)?;
        (&bytes[..]).into_lisp(env)
    })
}

/// Return what a project at FOLDER, which is in none, would be: (ROOT . N-FILES).
///
/// N-FILES is the number of its files that would be looked at.  If it cannot be a
/// project, signal an error.
#[defun]
fn new_project<'e>(env: &'e Env, folder: Value<'e>) -> Result<Value<'e>> {
    catching_panics(env, || {
        let found = Project::before_begin(&path_of(folder)?, &projects(env)?);
        let (root, n_files) = answer(env, found)?;
        env.cons(text(env, root.as_os_str().as_bytes())?, n_files)
    })
}

/// Begin a project at FOLDER, which is in no git repository; what its files hold is reviewed.
///
/// If it is in a project already, do nothing.
#[defun]
fn begin_project(env: &Env, folder: Value) -> Result<()> {
    catching_panics(env, || {
        let begun = Project::begin(&path_of(folder)?, &projects(env)?);
        answer(env, begun.map(|_| ()))
    })
}

/// Return what is pending in the project of FOLDER: [ROOT TEXTS FILES LEFT-OUT TURNS].
///
/// ROOT is the top of its working tree, and TEXTS the folder of the texts
/// that were reviewed.  FILES is a list of [PATH MODE TEXT NEW-MODE NEW-TEXT
/// AUTHORS LINES NOW-MODE NOW-TEXT FROM FROM-TEXT nil], where PATH is relative to
/// ROOT.  MODE is what was reviewed, as git writes it, or 0 for nothing; TEXT
/// is the name of the text in TEXTS, or nil.  NEW-MODE and NEW-TEXT are what is
/// there now.
///
/// A file that was renamed has what was reviewed of FROM, its old path, as MODE
/// and TEXT, with the lines that the user has saved since; NOW-MODE and
/// NOW-TEXT are what was reviewed of PATH, and FROM-TEXT what was of FROM.  In
/// other files, all four are nil.
///
/// AUTHORS is a list of those who wrote it: the number of an agent's turn,
/// `user' in Emacs, `outside' for another program outside any turn, or
/// `unknown' for what was there at the first look.  If they wrote different
/// lines, LINES is a list of [START END AUTHORS]: the lines of NEW-TEXT that
/// differ, from 0, without the one at END; START is END where lines were only
/// removed.
///
/// TURNS is a list of [ID AGENT TITLE TIME IS-OVER], the latest turns of
/// agents, the latest last.  TIME is when it began, in seconds since 1970.
///
/// LEFT-OUT is a list of (PATH . N), what was not looked at: a file that is
/// larger than 8 MiB, on disk or in a commit, or a folder with N files that git does not know, or, if N
/// is nil, a file that is no text in a project without git, or, if N is
/// `unknown', a file that was left out before, and could be looked at now.  If
/// N is a string, it is a clause that says why the path is not looked at.  A
/// member that is a string is a sentence about the record itself, without its
/// last period.
///
/// BY is who has made the commits that HEAD has got since the last call: `user',
/// `agent', or nil if nobody was asked; `agent-q-diff-module-moved' says whether
/// to ask.
#[defun]
fn pending<'e>(env: &'e Env, folder: Value<'e>, by: Value<'e>) -> Result<Value<'e>> {
    catching_panics(env, || {
        let moves = if by == env.intern("user")? {
            Some(Moves::User)
        } else {
            by.is_not_nil().then_some(Moves::NotNew)
        };
        with_project(env, folder, false, |project| found(env, project, moves))
    })
}

/// Looks at `project`, and returns what is pending for Lisp.
fn found<'e>(env: &'e Env, project: &mut Project, moves: Option<Moves>) -> Result<Value<'e>> {
    let look = answer(env, project.look_to_show(moves))?;
    let renames = answer(env, project.renames(&look.pending))?;
    let is_gone = |at: usize| renames.iter().any(|rename| rename.from == at);
    let files = look.pending.iter().enumerate();
    let files = files.filter(|(at, _)| !is_gone(*at)).map(|(at, pending)| {
        let lines = lines(env, &answer(env, project.authors_of(pending))?)?;
        let Some(rename) = renames.iter().find(|rename| rename.to == at) else {
            return vector(env, file(env, pending, lines, None, None)?);
        };
        let shown = Pending {
            reviewed: rename.reviewed,
            ..pending.clone()
        };
        let from = Some(&look.pending[rename.from]);
        vector(env, file(env, &shown, lines, Some(pending.reviewed), from)?)
    });
    let files = files.collect::<Result<Vec<_>>>()?;
    let found = [
        text(env, project.root().as_os_str().as_bytes())?,
        text(env, project.texts().as_os_str().as_bytes())?,
        list(env, files)?,
        not_looked_at(env, &look)?,
        turns(env, answer(env, project.turns())?)?,
    ];
    vector(env, found)
}

/// Record that the user was shown what `agent-q-diff-module-pending' said of the record of FOLDER.
#[defun]
fn note_heard(env: &Env, folder: Value) -> Result<()> {
    catching_panics(env, || {
        with_project(env, folder, false, |project| {
            answer(env, project.note_heard())
        })
    })
}

/// Returns `pending`, whose lines are by `lines`, for Lisp; `now` is what was reviewed of it if that is
/// something else, and `from` the file that it was before it was renamed.
fn file<'e>(
    env: &'e Env,
    pending: &Pending,
    lines: Value<'e>,
    now: Option<Version>,
    from: Option<&Pending>,
) -> Result<[Value<'e>; 12]> {
    let [old, new] = [pending.reviewed, pending.working];
    let nil = env.intern("nil")?;
    let (now_mode, now_text) = match now {
        None => (nil, nil),
        Some(now) => (now.mode().into_lisp(env)?, name(env, now)?),
    };
    let (from_path, from_text) = match from {
        None => (nil, nil),
        Some(from) => (text(env, &from.path)?, name(env, from.reviewed)?),
    };
    Ok([
        text(env, &pending.path)?,
        old.mode().into_lisp(env)?,
        name(env, old)?,
        new.mode().into_lisp(env)?,
        name(env, new)?,
        authors(env, &pending.written.authors)?,
        lines,
        now_mode,
        now_text,
        from_path,
        from_text,
        nil,
    ])
}

/// Returns what `look` has not looked at, and what it says of the record, for Lisp.
fn not_looked_at<'e>(env: &'e Env, look: &Look) -> Result<Value<'e>> {
    let nil = env.intern("nil")?;
    let not_text = look.not_text.iter();
    let not_text = not_text.map(|path| env.cons(text(env, path)?, nil));
    let refused = look.refused.iter();
    let refused = refused.map(|(path, why)| env.cons(text(env, path)?, text(env, why.as_bytes())?));
    let notes = look.notes.iter().map(|note| text(env, note.as_bytes()));
    let others = not_text.chain(refused).chain(notes);
    left_out(env, &look.left_out, &look.unknown, others)
}

/// Returns `left_out`, the files `unknown`, and `others` for Lisp.
fn left_out<'e>(
    env: &'e Env,
    left_out: &[LeftOut],
    unknown: &[Vec<u8>],
    others: impl Iterator<Item = Result<Value<'e>>>,
) -> Result<Value<'e>> {
    let left_out = left_out.iter();
    let left_out = left_out.map(|(path, n)| env.cons(text(env, path)?, *n));
    let word = env.intern("unknown")?;
    let unknown = unknown.iter().map(|path| env.cons(text(env, path)?, word));
    let all = left_out.chain(unknown).chain(others);
    list(env, all.collect::<Result<Vec<_>>>()?)
}

/// Return what differs in the project of FOLDER from REVISION: [ROOT TEXTS FILES LEFT-OUT NAME].
///
/// REVISION names a commit; if IS-PARTING is non-nil, the one is meant at which
/// that and HEAD have parted.  NAME is its abbreviated name, and the first line
/// of its message.
///
/// The others are as from `agent-q-diff-module-pending', which is to be called
/// before this, but that MODE and TEXT in FILES are what the commit has, and
/// NOW-MODE and NOW-TEXT what is reviewed.
#[defun]
fn pending_since<'e>(
    env: &'e Env,
    folder: Value<'e>,
    revision: String,
    is_parting: Value<'e>,
) -> Result<Value<'e>> {
    catching_panics(env, || {
        with_project(env, folder, false, |project| {
            let since = answer(env, project.since(&revision, is_parting.is_not_nil()))?;
            since_for_lisp(env, project, &since)
        })
    })
}

/// Returns `since`, of `project`, for Lisp.
pub(crate) fn since_for_lisp<'e>(
    env: &'e Env,
    project: &Project,
    since: &Since,
) -> Result<Value<'e>> {
    let changed = since.changed.iter().zip(&since.reviewed);
    let files = changed.map(|(pending, reviewed)| {
        let lines = env.intern("nil")?;
        vector(env, file(env, pending, lines, Some(*reviewed), None)?)
    });
    let found = [
        text(env, project.root().as_os_str().as_bytes())?,
        text(env, project.texts().as_os_str().as_bytes())?,
        list(env, files.collect::<Result<Vec<_>>>()?)?,
        left_out(env, &since.left_out, &since.unknown, std::iter::empty())?,
        text(env, since.name.as_bytes())?,
    ];
    vector(env, found)
}

/// Returns `authors` for Lisp.
fn authors<'e>(env: &'e Env, authors: &[Author]) -> Result<Value<'e>> {
    let authors = authors.iter().map(|author| match author {
        Author::Turn(id) => id.into_lisp(env),
        Author::User => env.intern("user"),
        Author::Outside => env.intern("outside"),
        Author::Unknown => env.intern("unknown"),
    });
    list(env, authors.collect::<Result<Vec<_>>>()?)
}

/// Returns `lines`, and who wrote them, for Lisp.
fn lines<'e>(env: &'e Env, lines: &[(Range<usize>, Authors)]) -> Result<Value<'e>> {
    let lines = lines.iter().map(|(range, who)| {
        let [start, end] = [range.start, range.end].map(|line| line.into_lisp(env));
        vector(env, [start?, end?, authors(env, who)?])
    });
    list(env, lines.collect::<Result<Vec<_>>>()?)
}

/// Returns `turns` for Lisp.
fn turns<'e>(env: &'e Env, turns: &VecDeque<Turn>) -> Result<Value<'e>> {
    let turns = turns
        .iter()
        .map(|turn| vector(env, turn_members(env, turn)?));
    list(env, turns.collect::<Result<Vec<_>>>()?)
}

/// Returns the members of `turn` for Lisp: id, agent, title, time, and whether it is over.
pub fn turn_members<'e>(env: &'e Env, turn: &Turn) -> Result<[Value<'e>; 5]> {
    Ok([
        turn.id.into_lisp(env)?,
        text(env, turn.agent.as_bytes())?,
        text(env, turn.title.as_bytes())?,
        turn.time.into_lisp(env)?,
        turn.is_over.into_lisp(env)?,
    ])
}

/// Record that AGENT begins a turn in SESSION, with TITLE, in the project of FOLDER.
///
/// SESSION and TITLE, the first line of its prompt, may be empty.
#[defun]
fn begin_turn(
    env: &Env,
    folder: Value,
    agent: String,
    session: String,
    title: String,
) -> Result<()> {
    catching_panics(env, || {
        with_project(env, folder, false, |project| {
            let begun = project.begin_turn(&agent, &session, &title, None);
            answer(env, begun)
        })
    })
}

/// Record that each turn of an agent in the project of FOLDER is over; return how many were not.
#[defun]
fn end_turns(env: &Env, folder: Value) -> Result<usize> {
    catching_panics(env, || {
        with_project(env, folder, false, |project| {
            answer(env, project.end_turns(None))
        })
    })
}

/// Return the name of the agent whose turn in the project of FOLDER began last and is not over.
///
/// If no agent is at work there, return nil.
#[defun]
fn at_work(env: &Env, folder: Value) -> Result<Option<String>> {
    catching_panics(env, || {
        with_project(env, folder, false, |project| {
            answer(env, project.agent_at_work())
        })
    })
}

/// Return what to ask about the new commits of the project at FOLDER, or nil.
///
/// They are those that HEAD did not have when `agent-q-diff-module-pending' was
/// called last, and that may be the user's.  If something is pending or not by
/// that, the value is (N SUBJECTS PATHS): their number, the first lines of the
/// latest, at most N-MOST, and the paths of the files of which less is pending
/// if the user made them.
#[defun]
fn moved<'e>(env: &'e Env, folder: Value<'e>, n_most: usize) -> Result<Value<'e>> {
    catching_panics(env, || {
        let question = with_project(env, folder, true, |project| {
            answer(env, project.question(n_most))
        });
        match question? {
            None => env.intern("nil"),
            Some(question) => {
                let paths = question.paths.iter().map(|path| text(env, path));
                let paths: Vec<Value> = paths.collect::<Result<_>>()?;
                env.list((
                    question.n_commits,
                    list(env, question.subjects)?,
                    list(env, paths)?,
                ))
            }
        }
    })
}

/// Returns the name of the text of `version` for Lisp, or nil if it is nothing.
pub(crate) fn name(env: &Env, version: Version) -> Result<Value<'_>> {
    match version.digest() {
        Some(digest) => digest.to_string().into_lisp(env),
        None => env.intern("nil"),
    }
}

/// Record that the user has just staged something in the project of FOLDER.
///
/// That is reviewed, unless an agent is at work.
#[defun]
fn note_staged(env: &Env, folder: Value) -> Result<()> {
    catching_panics(env, || {
        with_project(env, folder, false, |project| {
            answer(env, project.note_staged())
        })
    })
}

/// Record whether what the user stages in the project of FOLDER is reviewed by that.
///
/// IS-KEPT tells that.  It holds for what was staged between two looks, outside
/// any turn of an agent, where turns are known.
#[defun]
fn keep_staged(env: &Env, folder: Value, is_kept: Value) -> Result<()> {
    catching_panics(env, || {
        with_project(env, folder, false, |project| {
            answer(env, project.keep_staged(is_kept.is_not_nil()))
        })
    })
}

/// Signal an error unless an edit of the file PATH by AGENT is pending once it is made.
///
/// The data of the error say why it would not be, a clause.  SESSION is that of
/// the agent's turn.  PATH is absolute, and TEXT is what it will hold, or nil if
/// it is to be deleted.
#[defun]
fn check_pending_after(
    env: &Env,
    agent: String,
    session: String,
    path: Value,
    text: Value,
) -> Result<()> {
    catching_panics(env, || {
        let path = path_of(path)?;
        let text = text.is_not_nil().then(|| text.clone_string_contents());
        let text = text.transpose()?;
        with_project_of(env, folder_of(&path), false, |project| {
            let checked = project.check_pending_after(&agent, &session, &path, text.as_deref());
            answer(env, checked)
        })
    })
}

/// Record whether edits of AGENT in the project of FOLDER pass while no Emacs runs.
///
/// They are pending then.  PROTECTED is a list of patterns of files for which that
/// does not hold, as in `agent-q-diff-protected-asked', or t if no edit passes.
#[defun]
fn let_pass<'e>(
    env: &'e Env,
    folder: Value<'e>,
    agent: String,
    protected: Value<'e>,
) -> Result<()> {
    catching_panics(env, || {
        let protected = if protected == env.intern("t")? {
            None
        } else {
            let patterns = elements(protected)?.into_iter();
            Some(patterns.map(Value::into_rust).collect::<Result<_>>()?)
        };
        with_project(env, folder, false, |project| {
            answer(env, project.let_pass(&agent, protected))
        })
    })
}

/// Return the agents whose edits in the project of FOLDER pass while no Emacs runs.
///
/// See `agent-q-diff-module-let-pass'.
#[defun]
fn passing<'e>(env: &'e Env, folder: Value<'e>) -> Result<Value<'e>> {
    catching_panics(env, || {
        let agents = with_project(env, folder, false, |project| answer(env, project.passing()))?;
        list(env, agents)
    })
}

/// Record that PATHS in the project at FOLDER were reviewed as they are now.
///
/// They are relative to the top of the working tree.
#[defun]
fn mark_reviewed(env: &Env, folder: Value, paths: Value) -> Result<()> {
    catching_panics(env, || {
        let paths = elements(paths)?.into_iter();
        let paths = paths.map(|path| path.clone_string_contents());
        let paths = paths.collect::<std::result::Result<Vec<_>, _>>()?;
        with_project(env, folder, false, |project| {
            answer(env, project.mark_reviewed(&paths))
        })
    })
}

// Rejections that wait.

/// Record which pending hunks of files in the project at FOLDER the user has rejected.
///
/// FILES is a list of (PATH . NOTES), where PATH is relative to the top of the
/// working tree.  NOTES is a list of [HUNK REASON IS-WAITING], all of that file, in the
/// order of the hunks, which are to be taken out when no agent is at work any more.
/// HUNK is its key, and REASON why it is rejected, or nil.  IS-WAITING is nil only in
/// what older versions have recorded: then REASON is a comment on the hunk.
#[defun]
fn note_hunks(env: &Env, folder: Value, files: Value) -> Result<()> {
    catching_panics(env, || {
        let files = elements(files)?.into_iter().map(|file| {
            let path = file.car::<Value>()?.clone_string_contents()?;
            let notes = elements(file.cdr()?)?.into_iter().map(|note| {
                let note: Vector = note.into_rust()?;
                Ok(HunkNote {
                    hunk: note.get(0)?,
                    comment: match note.get::<Value>(1)? {
                        comment if comment.is_not_nil() => said(comment)?,
                        _ => String::new(),
                    },
                    is_waiting: note.get::<Value>(2)?.is_not_nil(),
                })
            });
            Ok((path, notes.collect::<Result<_>>()?))
        });
        let files = files.collect::<Result<Vec<_>>>()?;
        with_project(env, folder, false, |project| {
            answer(env, project.note_hunks(files))
        })
    })
}

/// Return what was recorded by `agent-q-diff-module-note-hunks' last.
///
/// FOLDER is that function's, and the value has the form of its FILES.
#[defun]
fn noted_hunks<'e>(env: &'e Env, folder: Value<'e>) -> Result<Value<'e>> {
    catching_panics(env, || {
        with_project(env, folder, false, |project| {
            let files = answer(env, project.noted())?.iter().map(|(path, notes)| {
                let notes = notes.iter().map(|note| {
                    let comment = Some(note.comment.as_str()).filter(|text| !text.is_empty());
                    let note = [
                        text(env, note.hunk.as_bytes())?,
                        match comment {
                            Some(comment) => text(env, comment.as_bytes())?,
                            None => env.intern("nil")?,
                        },
                        note.is_waiting.into_lisp(env)?,
                    ];
                    vector(env, note)
                });
                env.cons(
                    text(env, path)?,
                    list(env, notes.collect::<Result<Vec<_>>>()?)?,
                )
            });
            list(env, files.collect::<Result<Vec<_>>>()?)
        })
    })
}

// What was taken out.

/// Return what was taken out in the project that FOLDER is in: [ROOT TEXTS ENTRIES].
///
/// ROOT and TEXTS are as from `agent-q-diff-module-pending'.  ENTRIES is a list
/// of [TIME PATH MODE TEXT LEFT-MODE LEFT-TEXT N-LINES LINE], the latest first.
/// TIME is in seconds since 1970.  The file PATH held TEXT, with MODE, and
/// after that LEFT-TEXT, with LEFT-MODE, which is nil if that is not known.
/// N-LINES is the number of lines that were taken out and LINE the first of
/// them, or both are nil if it is not text.
#[defun]
fn taken_out<'e>(env: &'e Env, folder: Value<'e>) -> Result<Value<'e>> {
    catching_panics(env, || {
        with_project(env, folder, true, |project| taken_out_of(env, project))
    })
}

fn taken_out_of<'e>(env: &'e Env, project: &mut Project) -> Result<Value<'e>> {
    let taken_out = answer(env, project.taken_out())?;
    let entries = taken_out.iter().map(|(one, lines)| {
        let nil = env.intern("nil")?;
        let (left_mode, left_text) = match one.left {
            None => (nil, nil),
            Some(left) => (left.mode().into_lisp(env)?, name(env, left)?),
        };
        let (n_lines, line) = match lines {
            None => (nil, nil),
            Some((n, first)) => (n.into_lisp(env)?, text(env, first)?),
        };
        let entry = [
            one.time.into_lisp(env)?,
            text(env, &one.path)?,
            one.had.mode().into_lisp(env)?,
            name(env, one.had)?,
            left_mode,
            left_text,
            n_lines,
            line,
        ];
        vector(env, entry)
    });
    let entries = entries.collect::<Result<Vec<_>>>()?;
    let found = [
        text(env, project.root().as_os_str().as_bytes())?,
        text(env, project.texts().as_os_str().as_bytes())?,
        list(env, entries)?,
    ];
    vector(env, found)
}

/// Return LIVE with the changes from ORIGINAL to MODIFIED.
///
/// Where LIVE has changed the same lines, it has both, those of MODIFIED below
/// its own.
#[defun]
fn union<'e>(
    env: &'e Env,
    original: Vec<u8>,
    live: Vec<u8>,
    modified: Vec<u8>,
) -> Result<Value<'e>> {
    catching_panics(env, || {
        text(env, &merge::union(&original, &live, &modified))
    })
}
