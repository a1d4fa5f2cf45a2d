//! What is pending in a project, and recording what was reviewed.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsString;
use std::ops::Range;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use agent_q_diff_engine::merge;
use agent_q_diff_reviewed::authors::{Author, Authors};
use agent_q_diff_reviewed::{
    Digest, LeftOut, Moves, Pending, Project, ProjectError, Since, Turn, Version, Why, folder_of,
    projects_folder, read_text, recorded_root as root_of,
};
use emacs::{Env, IntoLisp, Result, Value, defun};
use serde::Serialize;

use crate::lisp::{Signal, answer, catching_panics, list, signal, text};
use crate::values::{Bytes, lisp, rust};

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
/// that were reviewed.  FILES is a list of [PATH REVIEWED WORKING AUTHORS LINES
/// NOW FROM nil IS-IN-HEAD], where PATH is relative to ROOT.  REVIEWED is what was
/// reviewed, and WORKING what is there now, each a (MODE . TEXT): MODE is as git writes it,
/// or 0 for nothing, and TEXT is the name of the text in TEXTS, or nil.
///
/// A file that was renamed has what was reviewed of its old path as REVIEWED, with
/// the lines that the user has saved since; NOW is what was reviewed of PATH, and
/// FROM is (OLD-PATH . REVIEWED), what was of the old one.  In other files, both
/// are nil.
///
/// IS-IN-HEAD is non-nil if somebody else than the user has committed changes of
/// PATH that are pending.
///
/// AUTHORS is a list of those who wrote it: the number of an agent's turn,
/// `user' in Emacs, `outside' for another program outside any turn, (ID) for one
/// while the agent of the turn ID had something in the background, or
/// `unknown' for what was there at the first look.  If they wrote different
/// lines, LINES is a list of ([START END] . AUTHORS): the lines of WORKING that
/// differ, from 0, without the one at END; START is END where lines were only
/// removed.
///
/// TURNS is a list of [ID TIME HEAD AGENT SESSION TITLE PID IS-OVER], the latest
/// turns of agents, the latest last.  TIME is when it began, in seconds since 1970,
/// and HEAD was the commit then, or is nil.  SESSION is the agent's name for its
/// session, or empty if not the agent has said that the turn begins.  PID is its
/// process, or nil.
///
/// LEFT-OUT is a list of (PATH . WHY), what was not looked at.  WHY is one of
/// [submodule [REVIEWED CHECKED-OUT IS-CHANGED FAILED]], a submodule with changes
/// of its own, or at another commit than REVIEWED, or of which FAILED, a clause, says
/// why that is not known; [hidden PLACE], a file or folder that new lines of the file
/// PLACE hide from git, which the user has not reviewed; [repository], a repository or a
/// project of its own; [large], a file of more than 8 MiB, on disk or in a commit;
/// [filter NAME], a file with a filter that the repository's own configuration
/// defines, which is not run; [many N], a folder with N files that git does not
/// know; [no-text], a file that is no text in a project without git; [unknown], a
/// file that was left out before, and could be looked at now; [other CLAUSE].  A member that is a string is a sentence about the record
/// itself, without its last period.
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
    answer(env, project.move_comments(&look.pending, &renames))?;
    let is_gone = |at: usize| renames.iter().any(|rename| rename.from == at);
    let files = look.pending.iter().enumerate();
    let files = files.filter(|(at, _)| !is_gone(*at)).map(|(at, pending)| {
        let from = renames.iter().find(|rename| rename.to == at);
        Ok(File {
            reviewed: from.map_or(pending.reviewed, |rename| rename.reviewed),
            lines: answer(env, project.authors_of(pending))?,
            now: from.map(|_| pending.reviewed),
            from: from.map(|rename| {
                let from = &look.pending[rename.from];
                (Bytes(&from.path), from.reviewed)
            }),
            ..File::new(pending)
        })
    });
    let files = files.collect::<Result<Vec<_>>>()?;
    let turns: Vec<_> = answer(env, project.turns())?.iter().cloned().collect();
    let turns: Vec<_> = turns.iter().map(ATurn::of).collect();
    let (root, texts) = places(project);
    let left_out = not_looked_at(&look.left_out, &look.notes);
    lisp(env, &(root, texts, files, left_out, turns))
}

/// A turn for Lisp, without how its end is known.
#[derive(Serialize)]
pub(crate) struct ATurn<'a> {
    id: u64,
    time: u64,
    head: Option<&'a str>,
    agent: &'a str,
    session: &'a str,
    title: &'a str,
    pid: Option<u32>,
    is_over: bool,
}

impl<'a> ATurn<'a> {
    pub(crate) fn of(turn: &'a Turn) -> Self {
        Self {
            id: turn.id,
            time: turn.time,
            head: turn.head.as_deref(),
            agent: &turn.agent,
            session: &turn.session,
            title: &turn.title,
            pid: turn.pid,
            is_over: turn.is_over,
        }
    }
}

/// Returns the folders of `project` and of its texts, for Lisp.
fn places(project: &Project) -> (Bytes<Vec<u8>>, Bytes<Vec<u8>>) {
    let bytes = |folder: PathBuf| Bytes(folder.into_os_string().into_vec());
    (bytes(project.root().to_owned()), bytes(project.texts()))
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

/// A file that is pending, for Lisp.
#[derive(Serialize)]
struct File<'a> {
    path: Bytes<&'a Vec<u8>>,
    reviewed: Version,
    working: Version,
    authors: &'a [Author],
    lines: Vec<(Range<usize>, Authors)>,
    now: Option<Version>,
    from: Option<(Bytes<&'a Vec<u8>>, Version)>,
    turns: (),
    is_in_head: bool,
}

impl<'a> File<'a> {
    fn new(pending: &'a Pending) -> File<'a> {
        File {
            path: Bytes(&pending.path),
            reviewed: pending.reviewed,
            working: pending.working,
            authors: &pending.written.authors,
            lines: Vec::new(),
            now: None,
            from: None,
            turns: (),
            is_in_head: pending.is_in_head,
        }
    }
}

/// What was not looked at, for Lisp: a path and why, or a sentence about the record.
#[derive(Serialize)]
enum Left<'a> {
    Out((Bytes<&'a Vec<u8>>, &'a Why)),
    Note(&'a str),
}

/// Returns `left_out` and what is said of the record, for Lisp.
fn not_looked_at<'a>(left_out: &'a [LeftOut], notes: &'a [String]) -> Vec<Left<'a>> {
    let left_out = left_out.iter();
    let left_out = left_out.map(|(path, why)| Left::Out((Bytes(path), why)));
    left_out
        .chain(notes.iter().map(|note| Left::Note(note)))
        .collect()
}

/// Return what differs in the project of FOLDER from REVISION: [ROOT TEXTS FILES LEFT-OUT NAME].
///
/// REVISION names a commit; if IS-PARTING is non-nil, the one is meant at which
/// that and HEAD have parted.  NAME is its abbreviated name, and the first line
/// of its message.
///
/// The others are as from `agent-q-diff-module-pending', which is to be called
/// before this, but that REVIEWED in FILES is what the commit has, and NOW what is
/// reviewed.
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
    let files = changed.map(|(pending, reviewed)| File {
        now: Some(*reviewed),
        ..File::new(pending)
    });
    let (root, texts) = places(project);
    let left_out = not_looked_at(&since.left_out, &[]);
    lisp(
        env,
        &(
            root,
            texts,
            files.collect::<Vec<_>>(),
            left_out,
            &since.name,
        ),
    )
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

/// Return [AGENT SINCE SEEN] of the turn in the project of FOLDER that began last and is not over.
///
/// AGENT is the name of its agent, and the other two are times in seconds since
/// 1970: when the turn began, and when the agent was last seen to do anything.
/// If no agent is at work there, return nil.
#[defun]
fn at_work<'e>(env: &'e Env, folder: Value<'e>) -> Result<Value<'e>> {
    catching_panics(env, || {
        let turn = with_project(env, folder, false, |project| {
            answer(env, project.turn_at_work())
        })?;
        let said = turn.map(|turn| (turn.agent.clone(), turn.time, turn.last_seen()));
        lisp(env, &said)
    })
}

/// Return what to ask about the new commits of the project at FOLDER, or nil.
///
/// They are those that HEAD did not have when `agent-q-diff-module-pending' was
/// called last, and that may be the user's.  If something is pending or not by
/// that, the value is [N SUBJECTS PATHS]: their number, the first lines of the
/// latest, at most N-MOST, and the paths of the files of which less is pending
/// if the user made them.
#[defun]
fn moved<'e>(env: &'e Env, folder: Value<'e>, n_most: usize) -> Result<Value<'e>> {
    catching_panics(env, || {
        let question = with_project(env, folder, true, |project| {
            answer(env, project.question(n_most))
        });
        let question = question?.map(|found| {
            let paths = found.paths.iter().map(Bytes).collect::<Vec<_>>();
            lisp(env, &(found.n_commits, &found.subjects, paths))
        });
        question.transpose()?.into_lisp(env)
    })
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
        let protected: Option<Vec<String>> = match protected == env.intern("t")? {
            true => None,
            false => rust(protected)?,
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
        let paths: Vec<Vec<u8>> = rust(paths)?;
        with_project(env, folder, false, |project| {
            answer(env, project.mark_reviewed(&paths))
        })
    })
}

/// Check that what the last look at the project of FOLDER has found can be decided.
///
/// If its record is gone by now, or git is in the middle of a merge or the like,
/// signal an error.
#[defun]
fn check_decidable(env: &Env, folder: Value) -> Result<()> {
    catching_panics(env, || {
        with_project(env, folder, false, |project| {
            answer(env, project.check_decidable())
        })
    })
}

/// Record that the user knows what others have written for git in the project at FOLDER.
///
/// That is what it runs by itself, commits of submodules, and lines that hide files
/// from it; these are not named again, unless the lines are those of a .gitignore,
/// which is a file of the project.  Return how much of that was not known.
#[defun]
fn know(env: &Env, folder: Value) -> Result<usize> {
    catching_panics(env, || {
        with_project(env, folder, false, |project| answer(env, project.know()))
    })
}

/// Return variables by which git in FOLDER runs nothing that its repository's configuration names.
///
/// They are a list of strings for `process-environment'.
#[defun]
fn safe_environment<'e>(env: &'e Env, folder: Value<'e>) -> Result<Value<'e>> {
    catching_panics(env, || {
        let variables = agent_q_diff_reviewed::safe_environment(&path_of(folder)?);
        let variables = variables.iter().map(|one| text(env, one.as_bytes()));
        list(env, variables.collect::<Result<Vec<_>>>()?)
    })
}

// Rejections that wait.

/// Record which pending hunks of files in the project at FOLDER the user has rejected.
///
/// FILES is a list of (PATH . NOTES), where PATH is relative to the top of the
/// working tree.  NOTES is a list of [HUNK REASON IS-WAITING], all of that file, in the
/// order of the hunks, which are to be taken out when no agent is at work any more.
/// HUNK is its key, empty once nothing of the file was pending, and REASON why it is
/// rejected, or nil.  IS-WAITING is nil only in
/// what older versions have recorded: then REASON is a comment on the hunk.
#[defun]
fn note_hunks(env: &Env, folder: Value, files: Value) -> Result<()> {
    catching_panics(env, || {
        let files = rust(files)?;
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
            let files = answer(env, project.noted())?.iter();
            let files = files.map(|(path, notes)| (Bytes(path), notes));
            lisp(env, &files.collect::<Vec<_>>())
        })
    })
}

// What was taken out.

/// The lines that were taken out, for Lisp, if they are text.
#[derive(Serialize)]
struct TakenLines<'a> {
    n: Option<usize>,
    first: Option<Bytes<&'a Vec<u8>>>,
}

/// Return what was taken out in the project that FOLDER is in: [ROOT TEXTS ENTRIES].
///
/// ROOT and TEXTS are as from `agent-q-diff-module-pending'.  ENTRIES is a list
/// of [PATH TIME HAD LEFT N-LINES LINE], the latest first.  TIME is in seconds
/// since 1970.  The file PATH held HAD, a (MODE . TEXT), and after that LEFT, which
/// is nil if that is not known.
/// N-LINES is the number of lines that were taken out and LINE the first of
/// them, or both are nil if it is not text.
#[defun]
fn taken_out<'e>(env: &'e Env, folder: Value<'e>) -> Result<Value<'e>> {
    catching_panics(env, || {
        with_project(env, folder, true, |project| {
            let taken_out = answer(env, project.taken_out())?;
            let entries = taken_out.iter().map(|(one, lines)| {
                let lines = lines.as_ref();
                let lines = TakenLines {
                    n: lines.map(|(n, _)| *n),
                    first: lines.map(|(_, first)| Bytes(first)),
                };
                (one, lines)
            });
            let (root, texts) = places(project);
            lisp(env, &(root, texts, entries.collect::<Vec<_>>()))
        })
    })
}

/// Return (N-CONFLICTS . TEXT): OURS with the changes from BASE to THEIRS.
///
/// N-CONFLICTS is in how many places both have changed the same lines.  There,
/// TEXT has all three versions between the markers of a conflict; if HAS-BOTH
/// is non-nil, the lines of OURS and below them those of THEIRS.
#[defun]
fn merge_texts<'e>(
    env: &'e Env,
    base: Vec<u8>,
    ours: Vec<u8>,
    theirs: Vec<u8>,
    has_both: Option<Value<'e>>,
) -> Result<Value<'e>> {
    catching_panics(env, || {
        let merged = merge::merge(&base, &ours, &theirs);
        let printed = if has_both.is_some() {
            merged.union()
        } else {
            merged.marked()
        };
        env.cons(merged.n_conflicts(), text(env, &printed)?)
    })
}
