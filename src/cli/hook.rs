//! The edits that agents make with their own tools, decided before they are made.
//!
//! A coding agent runs `agent-q-diff hook` before a tool of its own edits a file. The program works
//! out the text that the tool would leave, has Emacs ask the user, and answers with the input that
//! makes the tool write just what was decided. After the tool has run, the agent runs it again:
//! Emacs compares the file with what was decided, and the agent's model is told what became of each
//! hunk. Nothing is claimed before the file is written.
//!
//! Hooks fail open: an agent takes any failure but exit status 2 for consent. So whatever goes
//! wrong here ends in a refusal that says what to do.
//!
//! Agents may call several tools at once. Each edit starts from the result of the one before it, so
//! the program waits for its turn, which Emacs gives it, before it reads the file.
//!
//! It runs it at prompts and at the ends of turns as well, where a failure must change nothing.
//!
//! - [`event`]: what an agent says about a call of its tool, or about its turn
//! - [`turn`]: the beginning and the end of its turn, and what it is told then
//! - [`file`]: a file as the tool finds it
//! - [`edit`]: the edit that the tool would make, and the input that makes it write what was
//!   decided

mod edit;
mod event;
mod file;
mod turn;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::sync::oneshot;

use agent_q_diff_reviewed::{Project, ProjectError, folder_of};

use crate::agents::{Agent, Tool, Verdict, patch, records, shell_command};
use crate::options::Hook;
use crate::shell::{self, Written};
use crate::socket::{Answer, Call, Request, Source, State, Texts, sockets};

use edit::Edit;
use event::{Event, Moment, PLANS};

/// The environment variable with which a user lets every edit of an agent pass.
const OFF_VARIABLE: &str = "AGENT_Q_DIFF";

/// Exit status with which an agent is told that an edit is refused.
const REFUSED: u8 = 2;

/// What is said if a call ends without an answer.
const FAILED: &str = "Error: agent-q-diff failed. Your tool was not run.";

/// What is said to nobody.
const GONE: &str = "Error: the agent is gone.";

/// How much longer than the user the program may take in all. Agents wait for some seconds more.
const GRACE: Duration = Duration::from_secs(5);

/// Whether a failure is no refusal, since the event is about no tool.
static IS_PASSING: AtomicBool = AtomicBool::new(false);

/// Answers the event on standard input. Returns the exit status, which is [`REFUSED`] if there is
/// no well-formed answer.
pub async fn run(options: Hook) -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        pass_if_passing();
        say(&format!(
            "agent-q-diff failed, so the edit is refused: {panic}"
        ));
        std::process::exit(REFUSED.into());
    }));
    if let Some(time) = options.timeout {
        end_after(time + GRACE, options.agent);
    }
    let mut input = Vec::new();
    let mut stdin = tokio::io::stdin().take(file::MAX_BYTES + 1);
    let read = stdin.read_to_end(&mut input).await;
    if options.agent.setup.is_some() {
        records::note_run(options.agent);
    }
    // Only now, since an agent that cannot send its event takes that for a failure.
    if std::env::var_os(OFF_VARIABLE).is_some_and(|value| value == "off") {
        return ExitCode::SUCCESS;
    }
    let answer = match read {
        Ok(_) if input.len() as u64 > file::MAX_BYTES => Err(
            "agent-q-diff cannot show this edit to the user, so it was not made: the agent's \
             event is larger than 64 MiB"
                .to_owned(),
        ),
        Ok(_) => answer(&options, &input).await,
        Err(error) => Err(format!("agent-q-diff cannot read the event: {error}")),
    };
    match answer {
        Ok(None) => ExitCode::SUCCESS,
        Ok(Some(reply)) => match writeln!(std::io::stdout(), "{reply}") {
            Ok(()) => ExitCode::SUCCESS,
            // The agent is gone, and nobody reads this.
            Err(_) => ExitCode::from(REFUSED),
        },
        Err(message) => ExitCode::from(refuse(&message, options.agent)),
    }
}

/// Ends the program with success if a failure is no refusal.
fn pass_if_passing() {
    if IS_PASSING.load(Ordering::Relaxed) {
        std::process::exit(0);
    }
}

/// Refuses an edit of `agent` with `message`. Returns the exit status.
fn refuse(message: &str, agent: &Agent) -> u8 {
    if let Some(refusal) = agent.refusal
        && writeln!(std::io::stdout(), "{}", refusal(message)).is_ok()
    {
        return 0;
    }
    say(message);
    REFUSED
}

/// Has the program end after `time`, with a refusal, even if it waits for something else than the
/// user, such as a disk: an agent that waits in vain edits.
fn end_after(time: Duration, agent: &'static Agent) {
    std::thread::spawn(move || {
        std::thread::sleep(time);
        pass_if_passing();
        let message = "agent-q-diff could not end in the time that the agent waits, so the edit is \
                       refused. Read the file before you go on, and tell the user.";
        std::process::exit(refuse(message, agent).into());
    });
}

/// Prints `message` on standard error. If that cannot be written, the exit status must say enough.
fn say(message: &str) {
    let _ = writeln!(std::io::stderr(), "{message}");
}

/// Returns what to print in answer to the event `input`, or `None` if the edit passes without a
/// word.
async fn answer(options: &Hook, input: &[u8]) -> Result<Option<Value>, String> {
    let event = Event::parse(input)?;
    if !event.moment.is_of_tool() {
        IS_PASSING.store(true, Ordering::Relaxed);
        turn::follow(options, &event).await;
        // A disk that hangs would keep the runtime from ending.
        std::process::exit(0);
    }
    let command = shell_command(&event.tool, &event.input);
    let written = match command {
        Some(command) => written_by(options, &event, command).await,
        None => Vec::new(),
    };
    let is_patch = command.is_some_and(|command| command.contains(patch::BEGIN));
    if command.is_none() || is_patch || !written.is_empty() {
        turn::note_edit(options, &event).await;
    }
    if let (Some(command), false) = (command, written.is_empty())
        && let Some(refusal) = follow_shell(options, &event, command, &written).await
    {
        let denied = Verdict::Deny(refusal);
        return (options.agent.before)(denied, &event.input).map(Some);
    }
    turn::note_elsewhere(options, &event).await;
    turn::note_tasks(options, &event).await;
    let Some(tool) = (options.agent.tool)(&event.tool, &event.input) else {
        return Ok(None);
    };
    match event.moment {
        Moment::Before => {
            let begun = Instant::now();
            let verdict = match take_turn(options, tool, &event).await {
                Ok((_call, has_waited)) => {
                    let options = &Hook {
                        timeout: options
                            .timeout
                            .map(|time| time.saturating_sub(begun.elapsed())),
                        ..options.clone()
                    };
                    match Edit::of(tool, &event) {
                        Ok(None) => return Ok(None),
                        Ok(Some(edit)) => decide(options, &event, &edit).await,
                        Err(reason) => Verdict::Deny(no_edit(
                            edit::path_of(tool, &event).ok().as_deref(),
                            &reason,
                            has_waited,
                        )),
                    }
                }
                Err(refusal) if refusal.source == Source::NoEmacs => {
                    without_emacs(options, tool, &event, refusal.text).await
                }
                Err(refusal) => Verdict::Deny(refusal.text),
            };
            (options.agent.before)(verdict, &event.input).map(Some)
        }
        Moment::After if tool.is_run_by_emacs => Ok(None),
        Moment::After if event.has_failed => {
            // It has written nothing, and the next edit of the file need not wait for it.
            if let Ok(path) = edit::path_of(tool, &event) {
                let arguments = json!({ "call": event.call_of(&path) });
                tell(options, &event, "call_failed", arguments).await;
            }
            Ok(None)
        }
        Moment::After => {
            let told = check(options, tool, &event).await;
            Ok((!told.is_empty()).then(|| (options.agent.after)(&told)))
        }
        _ => Ok(None),
    }
}

/// Returns what `command`, of a shell, plainly writes in the project in which the agent of `event` works.
async fn written_by(options: &Hook, event: &Event, command: &str) -> Vec<Written> {
    let written = shell::written(command, &event.shell_directory());
    if written.is_empty() {
        return written;
    }
    let folder = event.project(options.agent);
    let in_project = move || {
        let project = Project::open(&folder).ok()?;
        let written = written.into_iter();
        Some(written.filter(|it| project.includes(it.path())).collect())
    };
    let found = tokio::task::spawn_blocking(in_project).await;
    found.ok().flatten().unwrap_or_default()
}

/// Tells Emacs that `command`, of a shell, is about to write, or has by now written, what is `written`.
/// Returns why it must not run, if that is so. If no Emacs runs, it may.
async fn follow_shell(
    options: &Hook,
    event: &Event,
    command: &str,
    written: &[Written],
) -> Option<String> {
    let call = event.call_of(Path::new(""));
    if event.moment == Moment::After {
        let arguments = json!({ "call": call, "session": event.thread });
        tell(options, event, "shell_wrote", arguments).await;
        return None;
    }
    let root = event.project(options.agent);
    let names = written.iter().map(|written| {
        let path = written.path();
        match written {
            Written::File(_) => path.strip_prefix(&root).unwrap_or(path).to_owned(),
            Written::In(_) => "what the patch names".into(),
        }
    });
    let files = written.iter().filter(|it| matches!(it, Written::File(_)));
    let mut arguments = json!({
        "command": command,
        "names": names.collect::<Vec<_>>(),
        "files": files.map(Written::path).collect::<Vec<_>>(),
        "call": call,
        "session": event.thread,
    });
    if let Some(mode) = event.mode {
        arguments["mode"] = mode.into();
    }
    let answer = wait(options, event, "shell_writes", arguments).await.ok()?;
    let is_denied = answer.result?.get("verdict")? == "deny";
    is_denied.then_some(answer.text)
}

/// Waits until no other edit of the files that `tool` would change is to be decided, or made.
/// Returns a call, until whose end the turn lasts, and whether there was any waiting. If the files
/// are not known, there is no turn.
///
/// # Errors
///
/// What the agent reads if the turn does not come.
async fn take_turn(
    options: &Hook,
    tool: &Tool,
    event: &Event,
) -> Result<(Option<Call>, bool), Answer> {
    let files = edit::files(tool, event);
    let Some(first) = files.first() else {
        return Ok((None, false));
    };
    let arguments = json!({
        "files": files.iter().map(|path| json!({ "path": path })).collect::<Vec<_>>(),
        "tool": event.tool,
        "call": event.call_of(first),
        "session": event.thread,
    });
    let call = begin(options, event, "take_turn", arguments);
    let mut states = call.states();
    let is_over = |state: &State| state.turn.is_some() || state.answer.is_some();
    let failure = tokio::select! {
        state = states.wait_for(is_over) => {
            let state = state.map(|state| state.clone()).unwrap_or_default();
            match (state.turn, state.answer) {
                (Some(has_waited), _) => return Ok((Some(call), has_waited)),
                (None, Some(answer)) => answered(options, answer),
                (None, None) => failed(options, FAILED),
            }
        }
        () = time_is_up(options) => failed(
            options,
            &format!(
                "Error: an earlier edit of {} was not decided, or not made, in the time that the \
                 agent waits, so this one was not shown to the user, and nothing was changed.",
                first.display()
            ),
        ),
        () = reader_gone() => failed(options, GONE),
    };
    Err(failure)
}

/// Decides about the edit that `tool` is about to make, by `event`, while no Emacs runs: it passes if the
/// user has chosen to review this agent's edits after they are made, and it is pending then for sure.
/// Otherwise the agent reads `refusal`, and why.
async fn without_emacs(
    options: &Hook,
    tool: &'static Tool,
    event: &Event,
    refusal: String,
) -> Verdict {
    let edit = match Edit::of(tool, event) {
        Ok(Some(edit)) => edit,
        _ => return Verdict::Deny(refusal),
    };
    let (agent, thread) = (options.name.clone(), event.thread.clone());
    let Some(files) = edit.files_after() else {
        return Verdict::Deny(refusal);
    };
    let checked = tokio::task::spawn_blocking(move || {
        files.iter().try_for_each(|(path, text)| {
            check_passes(&agent, &thread, path, text.as_deref()).map_err(|why| (path.clone(), why))
        })
    });
    match (checked.await, edit.input_as_called()) {
        (Ok(Ok(())), Some(verdict)) => verdict,
        // As if there were no such choice.
        (Ok(Err((_, ProjectError::NotPassing(None)))), _) => Verdict::Deny(refusal),
        (Ok(Err((path, why))), _) => Verdict::Deny(format!(
            "{refusal} The user reviews your edits after they are made, but while no Emacs runs, {} \
             cannot be edited: {why}.",
            path.display()
        )),
        _ => Verdict::Deny(refusal),
    }
}

/// Checks that an edit of the file `path` passes while no Emacs runs; `text` is what it will hold, or `None`
/// if it is to be deleted.
fn check_passes(
    agent: &str,
    thread: &str,
    path: &Path,
    text: Option<&[u8]>,
) -> Result<(), ProjectError> {
    let mut project =
        Project::open(&folder_of(path)).map_err(|_| ProjectError::NotPassing(None))?;
    project.check_passes(agent, path)?;
    project.check_pending_after(agent, thread, path, text)
}

/// Has the user decide about `edit`, which `event` announces.
async fn decide(options: &Hook, event: &Event, edit: &Edit) -> Verdict {
    let (call, mut arguments) = edit.question();
    arguments["tool"] = event.tool.as_str().into();
    arguments["call"] = event.call_of(&edit.path).into();
    arguments["session"] = event.thread.as_str().into();
    arguments["planning"] = (event.mode == Some(PLANS)).into();
    if let Some(mode) = event.mode {
        arguments["mode"] = mode.into();
    }
    let answer = ask(options, event, call, arguments).await;
    let result = answer.result.unwrap_or_default();
    let decided = result.get("text").or_else(|| result.get("files"));
    let verdict = match (result.get("verdict").and_then(Value::as_str), decided) {
        _ if answer.is_error => return Verdict::Deny(answer.text),
        (Some("allow"), _) => edit.input_as_called(),
        (Some("change"), Some(decided)) => edit.input_for(decided).map(Verdict::Change),
        _ => return Verdict::Deny(answer.text),
    };
    match verdict {
        None => written_by_emacs(options, event, &edit.path).await,
        // A tool that writes the whole file would overwrite what others wrote meanwhile.
        Some(_) if !edit.is_current() => {
            not_run(options, event, &edit.path).await;
            Verdict::Deny(edit.not_current())
        }
        Some(verdict) => verdict,
    }
}

/// Has Emacs write what it knows to be decided, which no input of the tool can make; `path` is the
/// file, or the first of several.
async fn written_by_emacs(options: &Hook, event: &Event, path: &Path) -> Verdict {
    Verdict::Deny(
        ask(options, event, "write_decided", event.about(path))
            .await
            .text,
    )
}

/// Has Emacs tell the user that what was accepted is not made after all. If Emacs cannot be told,
/// the agent is told all the same.
async fn not_run(options: &Hook, event: &Event, path: &Path) {
    ask(options, event, "not_run", event.about(path)).await;
}

/// Has Emacs compare the file with what was decided, and returns what the model is to read.
async fn check(options: &Hook, tool: &'static Tool, event: &Event) -> String {
    let Ok(path) = edit::path_of(tool, event) else {
        return "agent-q-diff cannot check this edit, since its input names no file.".to_owned();
    };
    let mut arguments = event.about(&path);
    if let Ok(Some(text)) = file::read(&path) {
        arguments["text"] = text.text.clone().into();
        arguments["encoding"] = file::encoding_name(&text).into();
    }
    if let Some(written) = (tool.written)(&event.response) {
        arguments["written"] = written.into();
    }
    let why = match wait(options, event, "check_edit", arguments).await {
        Ok(answer) if !answer.is_error => return answer.text,
        Ok(answer) if answer.source == Source::Emacs => answer.text,
        Ok(answer) if answer.source == Source::NoEmacs => {
            if let Some(told) = told_without_emacs(options, tool, event).await {
                return told;
            }
            "Emacs did not answer".to_owned()
        }
        _ => "Emacs did not answer".to_owned(),
    };
    format!(
        "agent-q-diff could not compare {} with what the user decided: {} Read the file before you \
         go on, and tell the user.",
        path.display(),
        sentence(why.trim_start_matches("Error: "))
    )
}

/// Returns what the model is to read after an edit that passed while no Emacs runs, or `None` if it did not
/// pass for that.
async fn told_without_emacs(options: &Hook, tool: &'static Tool, event: &Event) -> Option<String> {
    let files = edit::files(tool, event);
    if files.is_empty() {
        return None;
    }
    let names: Vec<_> = files
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    let (agent, thread) = (options.name.clone(), event.thread.clone());
    let checked = tokio::task::spawn_blocking(move || {
        let mut files = files.iter();
        files.all(|path| check_passes(&agent, &thread, path, None).is_ok())
    });
    checked.await.ok()?.then(|| {
        format!(
            "The edit of {} was made, and is not reviewed yet: no Emacs is running. The user reviews \
             it later, and may take parts of it out then.",
            names.join(", ")
        )
    })
}

/// Begins a call of `tool` of Emacs with `arguments`, a JSON object.
fn begin(options: &Hook, event: &Event, tool: &str, arguments: Value) -> Call {
    begin_in(options, event.project(options.agent), tool, arguments)
}

/// Like [`begin`], about the project that `directory` is in.
fn begin_in(options: &Hook, directory: PathBuf, tool: &str, mut arguments: Value) -> Call {
    let texts = Texts::take(&mut arguments);
    Call::begin(
        sockets(options.socket.clone()),
        Request {
            tool: tool.to_owned(),
            arguments,
            texts,
            agent: Some(options.name.clone()),
            directory,
            timeout: options.timeout,
            ..Request::default()
        },
    )
}

/// Calls `tool` of Emacs with `arguments`, a JSON object. The call ends when the agent goes, or
/// when its time is up.
async fn ask(options: &Hook, event: &Event, tool: &str, arguments: Value) -> Answer {
    match wait(options, event, tool, arguments).await {
        Ok(answer) => answered(options, answer),
        Err(why) => failed(options, why),
    }
}

/// Calls `tool` of Emacs with `arguments`, as [`ask`] does.
///
/// # Errors
///
/// What is said if there is no answer.
async fn wait(
    options: &Hook,
    event: &Event,
    tool: &str,
    arguments: Value,
) -> Result<Answer, &'static str> {
    let call = begin(options, event, tool, arguments);
    tokio::select! {
        answer = call.answer() => answer.ok_or(FAILED),
        () = time_is_up(options) => Err(
            "Error: the user has not decided in the time that the agent waits, so nothing was \
             changed.",
        ),
        () = reader_gone() => Err(GONE),
    }
}

/// Calls `tool` of Emacs with `arguments`, a JSON object, even if the agent has ended.
async fn tell(options: &Hook, event: &Event, tool: &str, arguments: Value) {
    let call = begin(options, event, tool, arguments);
    tokio::select! {
        _ = call.answer() => {}
        () = time_is_up(options) => {}
    }
}

/// Returns `answer` of Emacs, with what the agent has to know if it is a failure.
fn answered(options: &Hook, answer: Answer) -> Answer {
    if !answer.is_error {
        return answer;
    }
    let text = match answer.source {
        Source::CutOff => {
            "Error: Emacs ended, or closed the connection, before it answered. Your tool was not \
             run; read the file before you go on."
        }
        _ => &answer.text,
    };
    Answer {
        source: answer.source,
        ..failed(options, text)
    }
}

/// Returns an answer about the failure that `text` describes.
fn failed(options: &Hook, text: &str) -> Answer {
    let text = format!("{} {}", sentence(text), how_to_go_on(&options.name));
    Answer::failure(text, Source::Program)
}

/// Returns when the agent waits no longer.
async fn time_is_up(options: &Hook) {
    match options.timeout {
        Some(time) => tokio::time::sleep(time).await,
        None => std::future::pending().await,
    }
}

/// Returns when nobody can read standard output any more.
async fn reader_gone() {
    let (sender, gone) = oneshot::channel();
    // A thread of the runtime would have to end before the program can.
    std::thread::spawn(move || {
        let output = std::io::stdout();
        // No events are asked for, so only those of the other end are reported.
        let mut polled = [PollFd::new(&output, PollFlags::empty())];
        if poll(&mut polled, None).is_ok() {
            // If nobody waits any more, there is an answer.
            let _ = sender.send(());
        }
    });
    if gone.await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Returns a sentence that says what the user can do if no edit of `agent` can be decided.
fn how_to_go_on(agent: &str) -> String {
    format!(
        "Do not edit by other means; tell the user. Only the user can turn this review off, by \
         starting {agent} with AGENT_Q_DIFF=off in its environment."
    )
}

/// Returns `text` with a period, unless it ends a sentence already.
fn sentence(text: &str) -> String {
    let is_ended = text.ends_with(['.', '!', '?']);
    format!("{text}{}", if is_ended { "" } else { "." })
}

/// Returns the message that an edit of `path`, if that is known, cannot be shown; `reason` may name
/// the file already. If the edit `has_waited` for others, these may be why. It has no period, since
/// Codex appends one.
fn no_edit(path: Option<&Path>, reason: &str, has_waited: bool) -> String {
    let path = path.map(|path| path.display().to_string());
    let name = path.filter(|path| !reason.contains(path.as_str()));
    let name = name.map_or_else(String::new, |path| format!("{path}: "));
    let advice = if has_waited {
        ". An earlier edit was decided first: read the file, and make your edit anew"
    } else {
        ""
    };
    format!(
        "agent-q-diff cannot show this edit to the user, so it was not made: {name}{reason}{advice}"
    )
}
