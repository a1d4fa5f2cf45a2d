//! The beginning and the end of an agent's turn, and what the agent is told then.
//!
//! They are recorded in the project: what is written meanwhile is the agent's. What the user has said in
//! reviews of that is told beside the next prompt, or, if a review was finished during the turn, at its
//! end, and the agent goes on with it. It is printed before it is recorded as told, so nothing is lost.
//!
//! Whatever fails here changes nothing for the agent and its user: the prompt passes, the turn ends.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use agent_q_diff_reviewed::rounds::addressee;
use agent_q_diff_reviewed::{Project, ProjectError, Transcript, Turn, answers_in, git_top};
use serde_json::{Value, json};

use super::event::{Event, Moment};
use super::{begin_in, reader_gone, time_is_up};
use crate::agents::records;
use crate::options::Hook;

/// How long each step may take, with a disk that hangs or an Emacs that is busy.
const TIME_FOR_STEP: Duration = Duration::from_secs(5);

/// How long an agent that goes on waits for an Emacs that is busy: nothing depends on its answer.
const TIME_TO_GO_ON: Duration = Duration::from_secs(1);

/// How often in a row an agent is kept from ending. Claude Code ends all the same after eight times.
const MAX_HELD: usize = 7;

/// Number of characters of a prompt's first line that are the title of its turn.
const MAX_TITLE_LEN: usize = 200;

/// What an agent reads above a message about lines that it did not write in this session.
const OF_AN_EARLIER_SESSION: &str =
    "What follows is about what an agent of an earlier session wrote, which has ended since.";

/// Most characters that an agent is told at once: of more, agents show their model a part only.
const MAX_TOLD: usize = 8000;

/// Number of characters that are kept free for the sentence that more messages wait.
const ROOM: usize = 100;

/// Programs that agents run this one with.
const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "fish", "ksh", "busybox"];

/// Records what `event`, which is about no tool, means for the agent's turn, and prints what the agent is
/// told.
pub async fn follow(options: &Hook, event: &Event) {
    match event.moment {
        Moment::Begins => {
            let work = Work::of(options, event);
            let opened = in_time(move || {
                let mut trees = work.trees();
                let (mut waits, mut told) = (false, Vec::new());
                for tree in &mut trees {
                    let _ = work.end_earlier(tree);
                    let waits_here = tree.has_waiting().unwrap_or(false);
                    if waits_here || work.is_told_something(tree) {
                        told.push(tree.root().to_owned());
                    }
                    waits |= waits_here;
                }
                (waits, told, trees)
            });
            let Some((waits, told, mut trees)) = opened.await.filter(|found| !found.2.is_empty())
            else {
                return went_on(options, event, TIME_TO_GO_ON).await;
            };
            let work = Work::of(options, event);
            let begun = in_time(move || work.begin(&mut trees));
            if told.is_empty() {
                tokio::join!(begun, went_on(options, event, TIME_TO_GO_ON));
                return;
            }
            // Emacs takes out what waits for the end of a turn, and makes the message anew, of what the files
            // hold now.
            let time = if waits { TIME_FOR_STEP } else { TIME_TO_GO_ON };
            for tree in told {
                went_on_in(options, event, tree, time).await;
            }
            begun.await;
        }
        Moment::GoesOn => {
            note_tasks(options, event).await;
            went_on(options, event, TIME_TO_GO_ON).await;
        }
        Moment::Ends => end(options, event).await,
        // A subagent's end is not that of the turn.
        Moment::Breaks if event.thread != event.session => {}
        Moment::Breaks | Moment::Waits | Moment::Closes => {
            let work = Work::of(options, event);
            let ended = in_time(move || work.close()).await.unwrap_or_default();
            if ended.is_empty() {
                went_on(options, event, TIME_TO_GO_ON).await;
            }
            for tree in ended {
                let told = turn_ended(options, event, tree, false);
                let _ = tokio::time::timeout(TIME_TO_GO_ON, told).await;
            }
        }
        Moment::Before | Moment::After | Moment::Other => {}
    }
}

/// Records what the agent's calls have begun and stopped in the background, by `event`, after them.
pub async fn note_tasks(options: &Hook, event: &Event) {
    if event.moment != Moment::Before && !(event.begun.is_empty() && event.ended.is_empty()) {
        let work = Work::of(options, event);
        in_time(move || work.follow_tasks(&mut work.project()?)).await;
    }
}

/// Records that the agent's turn has begun by now if it is about to edit, which `event` announces. The edit
/// is decided all the same if that fails.
pub async fn note_edit(options: &Hook, event: &Event) {
    if event.moment == Moment::Before && !options.agent.events.ends.is_empty() {
        let work = Work::of(options, event);
        let note = move || {
            let (folder, agent) = (work.event.project(work.options.agent), &work.options.name);
            match Project::is_recorded_at_work(&folder, agent, &work.event.session) {
                true => Ok(()),
                false => work.begin_unless_begun(&mut work.project()?),
            }
        };
        let _ = tokio::task::spawn_blocking(note).await;
    }
}

/// Records that the agent's turn has begun by now in the working tree that `event` comes from, if that is
/// another one of the repository: a subagent may have one of its own, and an agent may go into one.
pub async fn note_elsewhere(options: &Hook, event: &Event) {
    let is_elsewhere = git_top(event.directory()) != git_top(&event.project(options.agent));
    if is_elsewhere && event.moment == Moment::Before && !options.agent.events.ends.is_empty() {
        let work = Work::of(options, event);
        let note = move || work.begin_elsewhere(&mut work.project()?);
        let _ = tokio::task::spawn_blocking(note).await;
    }
}

/// Tells Emacs that what was to run before has run, or will not; waits for `time` at most.
async fn went_on(options: &Hook, event: &Event, time: Duration) {
    went_on_in(options, event, event.project(options.agent), time).await;
}

/// Like [`went_on`], about the working tree `tree`.
async fn went_on_in(options: &Hook, event: &Event, tree: PathBuf, time: Duration) {
    let arguments = json!({ "session": event.thread });
    tell_emacs(options, tree, "session_went_on", arguments, time).await;
}

/// Calls `tool` of Emacs with `arguments`, about the working tree `tree`, and waits for `time` at most.
async fn tell_emacs(options: &Hook, tree: PathBuf, tool: &str, arguments: Value, time: Duration) {
    let call = begin_in(options, tree, tool, arguments);
    let _ = tokio::time::timeout(time, call.answer()).await;
}

/// Records what the agent's reply answers, and has the agent go on with what the user has said since its turn
/// began, or ends the turn.
async fn end(options: &Hook, event: &Event) {
    let work = Work::of(options, event);
    let opened = in_time(move || {
        let mut trees = work.trees();
        (work.note_answers(&mut trees), trees)
    });
    let Some((answered, mut trees)) = opened.await else {
        return;
    };
    for (tree, ids) in answered {
        let arguments = json!({ "session": event.thread, "ids": ids });
        tell_emacs(options, tree, "comments_answered", arguments, TIME_TO_GO_ON).await;
    }
    let work = Work::of(options, event);
    let ended = in_time(move || (work.end(&mut trees), trees)).await;
    let (over, mut trees) = match ended {
        Some((Some(over), trees)) => (over, trees),
        Some((None, _)) => return went_on(options, event, TIME_TO_GO_ON).await,
        None => return,
    };
    let here = event.project(options.agent);
    for tree in [here].into_iter().chain(over.elsewhere.clone()) {
        turn_ended(options, event, tree, over.can_go_on).await;
    }
    if over.can_go_on {
        let work = Work::of(options, event);
        in_time(move || work.go_on_after_all(&mut trees, &over)).await;
    }
}

/// Tells Emacs that the turn in the working tree `tree` has ended. While Emacs reports progress, it waits for
/// its user's review, and so does the agent, if it `can_go_on` with what comes of that.
async fn turn_ended(options: &Hook, event: &Event, tree: PathBuf, can_go_on: bool) {
    let arguments = json!({ "session": event.thread, "can_go_on": can_go_on });
    let call = begin_in(options, tree, "turn_ended", arguments);
    let mut states = call.states();
    let heard = states.wait_for(|state| state.answer.is_some() || state.progress.is_some());
    if tokio::time::timeout(TIME_FOR_STEP, heard).await.is_err() {
        return;
    }
    tokio::select! {
        _ = call.answer() => {}
        () = time_is_up(options) => {}
        () = reader_gone() => {}
    }
}

/// Returns what `work` returns, or `None` if that takes too long.
async fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let work = tokio::task::spawn_blocking(work);
    tokio::time::timeout(TIME_FOR_STEP, work).await.ok()?.ok()
}

/// A turn that has ended.
struct Over {
    /// Its title; empty if that is not known.
    title: String,
    /// When it began, in seconds since 1970; `None` if it was not recorded.
    since: Option<u64>,
    /// Whether the agent could go on all the same.
    can_go_on: bool,
    /// The other working trees of the repository in which it was open as well.
    elsewhere: Vec<PathBuf>,
}

/// What is to be done in the project at an event.
struct Work {
    options: Hook,
    event: Event,
    held: Held,
    /// Prints an answer, and returns whether that was possible.
    print: fn(&Value) -> bool,
}

impl Work {
    fn of(options: &Hook, event: &Event) -> Self {
        Self {
            options: options.clone(),
            event: event.clone(),
            held: Held::of(options.agent.name, &event.session),
            print,
        }
    }

    fn project(&self) -> Result<Project, ProjectError> {
        Project::open_at_once(&self.event.project(self.options.agent))
    }

    /// Returns the project, and the other working trees of its repository in which the session has worked or is
    /// now, or something waits for an earlier one; none if there is no project.
    fn trees(&self) -> Vec<Project> {
        let Ok(project) = self.project() else {
            return Vec::new();
        };
        let mut others = project.others(&self.options.name, &self.event.session);
        let at = project.other_at(self.event.directory());
        others.extend(at.filter(|at| others.iter().all(|other| other.root() != at.root())));
        [project].into_iter().chain(others).collect()
    }

    /// Returns the session's turn that is not over.
    fn open_turn(&self, project: &mut Project) -> Option<Turn> {
        let (agent, session) = (&self.options.name, &self.event.session);
        let mut turns = project.turns().ok()?.iter().rev();
        let is_this =
            |turn: &&Turn| !turn.is_over && turn.agent == *agent && turn.session == *session;
        turns.find(is_this).cloned()
    }

    /// Records what the agent has begun and stopped in the background, by the event.
    fn follow_tasks(&self, project: &mut Project) -> Result<(), ProjectError> {
        let Event {
            begun,
            ended,
            running,
            ..
        } = &self.event;
        if begun.is_empty() && ended.is_empty() && running.is_none() {
            return Ok(());
        }
        project.follow_tasks(&self.options.name, &self.event.session, |known| {
            let mut tasks = running.clone().unwrap_or(known);
            for one in begun {
                if !tasks.contains(one) {
                    tasks.push(one.clone());
                }
            }
            tasks.retain(|one| !ended.contains(one));
            tasks
        })
    }

    /// Returns whether the agent is told something beside its prompt.
    fn is_told_something(&self, project: &mut Project) -> bool {
        let messages = project.messages(&self.options.name, &self.event.session, None);
        self.options.agent.beside_prompt.is_some() && messages.is_ok_and(|all| !all.is_empty())
    }

    /// Records that a turn called `title` begins.
    fn begin_turn(&self, project: &mut Project, title: &str) -> Result<(), ProjectError> {
        project.begin_new(Turn {
            agent: self.options.name.clone(),
            session: self.event.session.clone(),
            title: title.to_owned(),
            pid: agent_process(),
            name: self.event.turn.clone(),
            transcript: self.event.transcript.as_deref().map(Transcript::now),
            ..Turn::default()
        })
    }

    /// Records that the session's turn that is not over is over now, if the prompt begins another one.
    fn end_earlier(&self, project: &mut Project) -> Result<(), ProjectError> {
        match self.open_turn(project) {
            Some(turn) if !self.goes_on(&turn) => {
                let this = (&self.options.name[..], &self.event.session[..]);
                project.end_turns(Some(this)).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// Returns whether the prompt is no user's, but the agent's own.
    fn is_own(&self) -> bool {
        // Gemini CLI takes what keeps it from ending for a prompt.
        self.event.is_notification || self.held.is_with(self.event.prompt.trim())
    }

    /// Returns whether the prompt is in the open `turn`: it is the agent's own, or its user has said it while
    /// the agent works.
    fn goes_on(&self, turn: &Turn) -> bool {
        let is_named = !self.event.turn.is_empty() && !turn.name.is_empty();
        let is_heard = match is_named {
            true => self.event.turn == turn.name,
            false => self.options.agent.hears_while_at_work,
        };
        turn.goes_on() && (is_heard || self.is_own())
    }

    /// Records that a turn begins, if none is open.
    fn begin_unless_begun(&self, project: &mut Project) -> Result<(), ProjectError> {
        if !project.is_at_work(&self.options.name, &self.event.session)? {
            self.begin_turn(project, "")?;
        }
        Ok(())
    }

    /// Records that the turn in `project` has begun, too, in the working tree that the event comes from, if
    /// that is another one of the repository.
    fn begin_elsewhere(&self, project: &mut Project) -> Result<(), ProjectError> {
        let Some(mut other) = project.other_at(self.event.directory()) else {
            return Ok(());
        };
        if other.is_at_work(&self.options.name, &self.event.session)? {
            return Ok(());
        }
        let title = self.open_turn(project).map(|turn| turn.title);
        self.begin_turn(&mut other, &title.unwrap_or_default())
    }

    /// Records that a turn begins in the project, the first of `trees`, and where the agent is, and tells the
    /// agent beside the prompt what it was not told yet.
    fn begin(&self, trees: &mut [Project]) -> Result<(), ProjectError> {
        let at = git_top(self.event.directory());
        let mut begun = Ok(());
        for (n, tree) in trees.iter_mut().enumerate() {
            if n == 0 {
                begun = self.begin_in(tree);
                let _ = self.follow_tasks(tree);
            } else if at.as_deref() == Some(tree.root()) {
                begun = begun.and(self.begin_in(tree));
            }
        }
        if let Some(beside_prompt) = self.options.agent.beside_prompt {
            self.tell(trees, beside_prompt, None)?;
        }
        begun
    }

    /// Records that a turn begins in `project`, unless the prompt is in one that is open there.
    fn begin_in(&self, project: &mut Project) -> Result<(), ProjectError> {
        let open = self.open_turn(project);
        if open.is_some_and(|turn| self.goes_on(&turn)) {
            Ok(())
        } else if self.is_own() {
            self.begin_turn(project, "")
        } else {
            self.held.forget();
            let title = self.event.prompt.trim().lines().next().unwrap_or_default();
            let title: String = title.chars().take(MAX_TITLE_LEN).collect();
            self.begin_turn(project, &title)
        }
    }

    /// Records what the agent's reply answers to comments of the user's in `trees`, and returns their numbers, by
    /// the top of the tree. A number that was told of several trees answers none: nobody knows which is meant.
    fn note_answers(&self, trees: &mut [Project]) -> Vec<(PathBuf, Vec<u64>)> {
        let (agent, event) = (&self.options.name, &self.event);
        if answers_in(&event.reply).is_empty() {
            return Vec::new();
        }
        let found = trees.iter_mut().map(|tree| {
            let found = tree.answers_in_reply(agent, &event.session, &event.reply);
            found.unwrap_or_default()
        });
        let found: Vec<Vec<(u64, String)>> = found.collect();
        let told: Vec<u64> = found.iter().flatten().map(|(id, _)| *id).collect();
        let mut answered = Vec::new();
        for (tree, mut answers) in trees.iter_mut().zip(found) {
            answers.retain(|(id, answer)| {
                let is_sure = told.iter().filter(|one| *one == id).count() == 1;
                is_sure && tree.answer(*id, agent, answer).is_ok()
            });
            if !answers.is_empty() {
                let ids = answers.into_iter().map(|(id, _)| id).collect();
                answered.push((tree.root().to_owned(), ids));
            }
        }
        answered
    }

    /// Has the agent go on with what the user has said since its turn began; if there is nothing, records
    /// that the turn is over, and returns it. Where there is no project, nothing was recorded.
    fn end(&self, trees: &mut [Project]) -> Option<Over> {
        let mut over = Over {
            title: String::new(),
            since: None,
            can_go_on: self.options.agent.going_on.is_some() && self.held.n() < MAX_HELD,
            elsewhere: Vec::new(),
        };
        if trees.is_empty() {
            return Some(over);
        }
        let _ = self.follow_tasks(&mut trees[0]);
        let open = trees.iter_mut().map(|tree| self.open_turn(tree));
        let open: Vec<Option<Turn>> = open.collect();
        if let Some(turn) = open.iter().flatten().next() {
            (over.title, over.since) = (turn.title.clone(), Some(turn.time));
            let goes_on = over.can_go_on && self.go_on(trees, over.since).unwrap_or(false);
            if goes_on || self.event.has_subagents {
                return None;
            }
        }
        for (n, tree) in trees.iter_mut().enumerate() {
            if open[n].is_some() {
                let _ = tree.end_turns(Some((&self.options.name, &self.event.session)));
                over.elsewhere
                    .extend((n > 0).then(|| tree.root().to_owned()));
            }
        }
        if !over.can_go_on {
            self.held.forget();
        }
        Some(over)
    }

    /// Has the agent go on, in a turn of its own, with what the user has said since the turn `over` began,
    /// if there is anything.
    fn go_on_after_all(&self, trees: &mut [Project], over: &Over) -> Result<(), ProjectError> {
        if !self.go_on(trees, over.since)? {
            self.held.forget();
            return Ok(());
        }
        for (n, tree) in trees.iter_mut().enumerate() {
            if n == 0 || over.elsewhere.iter().any(|other| other == tree.root()) {
                self.begin_turn(tree, &over.title)?;
            }
        }
        Ok(())
    }

    /// Has the agent go on with what the user has said since the time `since`, that of its turn, and
    /// returns whether there was anything.
    fn go_on(&self, trees: &mut [Project], since: Option<u64>) -> Result<bool, ProjectError> {
        let (Some(going_on), Some(_)) = (self.options.agent.going_on, since) else {
            return Ok(false);
        };
        let hold = |text: &str| {
            // Gemini CLI runs the hook for it at once.
            self.held.hold(text);
            going_on(text)
        };
        self.tell(trees, hold, since)
    }

    /// Prints the `answer` with what the user has said in `trees`, if there is anything, and then records that it
    /// was told; with a time `since`, only what is from then or later. Messages that are too long together with
    /// those before them wait. Returns whether anything was printed.
    fn tell(
        &self,
        trees: &mut [Project],
        answer: impl Fn(&str) -> Value,
        since: Option<u64>,
    ) -> Result<bool, ProjectError> {
        let session = &self.event.session;
        let at = git_top(self.event.directory());
        let is_one_of_several = trees.len() > 1;
        let mut messages = Vec::new();
        for (n, tree) in trees.iter_mut().enumerate() {
            let found = tree.messages(&self.options.name, session, since)?;
            // Its names of files are relative to another folder than the agent thinks.
            let is_elsewhere = is_one_of_several && at.as_deref() != Some(tree.root());
            let place = is_elsewhere.then(|| tree.root().display().to_string());
            messages.extend(
                found
                    .into_iter()
                    .map(|(one, to)| (n, place.clone(), one, to)),
            );
        }
        let mut told = Vec::new();
        let mut texts = String::new();
        for (n, place, message, to) in &messages {
            let (_, of) = addressee(to);
            let mut text = String::new();
            if !told.is_empty() {
                text += "\n\n";
            }
            if let Some(place) = place {
                text += &format!("What follows is about the working tree {place}.\n\n");
            }
            if !(of.is_empty() || of == session) {
                text += &format!("{OF_AN_EARLIER_SESSION}\n\n");
            }
            text += &message.text;
            if !told.is_empty() && texts.chars().count() + text.chars().count() > MAX_TOLD - ROOM {
                let n = messages.len() - told.len();
                texts += &format!("\n\nNot all of it fits here ({n} more): call review_comments.");
                break;
            }
            texts += &text;
            told.push((*n, message.id));
        }
        // If it cannot be printed, the agent is gone, and reads it the next time.
        if told.is_empty() || !(self.print)(&answer(&texts)) {
            return Ok(false);
        }
        for (n, id) in told {
            trees[n].told_in(&self.options.name, session, &[id])?;
        }
        Ok(true)
    }

    /// Returns whether the open `turn` is over by the event. That the agent waits can be told late, when it has
    /// a further prompt.
    fn is_over_now(&self, turn: &Turn) -> bool {
        let names = [&self.event.turn, &turn.name];
        let is_another = names.iter().all(|name| !name.is_empty()) && names[0] != names[1];
        self.event.moment != Moment::Waits || !is_another
    }

    /// Records that the turn is over, since it was interrupted, has failed, or its session is over. Returns the
    /// tops of the working trees in which it was open.
    fn close(&self) -> Vec<PathBuf> {
        self.held.forget();
        let (agent, session) = (&self.options.name[..], &self.event.session[..]);
        let mut ended = Vec::new();
        for tree in &mut self.trees() {
            if self.event.moment == Moment::Closes {
                let _ = tree.close_session(agent, session);
                let _ = tree.follow_tasks(agent, session, |_| Vec::new());
            }
            let open = self.open_turn(tree);
            let is_over = open.is_some_and(|turn| self.is_over_now(&turn));
            if is_over && tree.end_turns(Some((agent, session))).is_ok() {
                ended.push(tree.root().to_owned());
            }
        }
        ended
    }
}

fn print(answer: &Value) -> bool {
    let mut output = std::io::stdout();
    let printed = writeln!(output, "{answer}").and_then(|()| output.flush());
    printed.is_ok()
}

/// How often in a row a session of an agent was kept from ending, and with what text. A file has that,
/// since each event runs the program anew.
struct Held(PathBuf);

impl Held {
    fn of(agent: &str, session: &str) -> Self {
        let is_plain = |c: &char| c.is_ascii_alphanumeric() || "-_".contains(*c);
        let session: String = session.chars().filter(is_plain).take(100).collect();
        Self(records::state_file(&format!("held-{agent}-{session}")))
    }

    /// Returns what is recorded: a line with the number, and the text.
    fn read(&self) -> Option<(usize, String)> {
        let recorded = records::read_text(&self.0)?;
        let (n, text) = recorded.split_once('\n')?;
        Some((n.parse().ok()?, text.to_owned()))
    }

    fn n(&self) -> usize {
        self.read().map_or(0, |(n, _)| n)
    }

    /// Returns whether `prompt` is the text with which the session was kept from ending.
    fn is_with(&self, prompt: &str) -> bool {
        self.read().is_some_and(|(_, text)| text.trim() == prompt)
    }

    /// Records that the session is kept from ending once more, with `text`.
    fn hold(&self, text: &str) {
        records::write_state(&self.0, &format!("{}\n{text}", self.n() + 1));
    }

    fn forget(&self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Returns the agent's process: the first above this one that is no shell, as far as the system says so.
fn agent_process() -> Option<u32> {
    let mut id = std::os::unix::process::parent_id();
    loop {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // The name of the program, in parentheses, may have any character.
        let (name, rest) = stat.rsplit_once(')')?;
        let (_, name) = name.split_once('(')?;
        if !SHELLS.contains(&name) {
            return (id > 1).then_some(id);
        }
        id = rest.split_ascii_whitespace().nth(1)?.parse().ok()?;
    }
}

#[cfg(test)]
mod tests;
