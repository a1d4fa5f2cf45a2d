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
        Moment::Breaks | Moment::Closes => {
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
    /// now; none if there is no project.
    fn trees(&self) -> Vec<Project> {
        let Ok(project) = self.project() else {
            return Vec::new();
        };
        let mut others = project.others(|turn| self.is_its(turn));
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

    /// Returns whether `turn` is one of the session's.
    fn is_its(&self, turn: &Turn) -> bool {
        turn.agent == self.options.name && turn.session == self.event.session
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
            let is_open = self.open_turn(tree).is_some();
            if is_open && tree.end_turns(Some((agent, session))).is_ok() {
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
mod tests {
    use std::cell::RefCell;
    use std::path::Path;
    use std::process::Command;

    use agent_q_diff_reviewed::rounds::{Kind, address};

    use super::*;
    use crate::agents::{Agent, claude, codex, gemini, opencode};

    impl Work {
        fn begin_alone(&self) -> Result<(), ProjectError> {
            match self.trees() {
                trees if trees.is_empty() => self.project().map(drop),
                mut trees => self.begin(&mut trees),
            }
        }

        fn end_alone(&self) -> Option<Over> {
            self.end(&mut self.trees())
        }

        fn go_on_alone(&self, over: &Over) -> Result<(), ProjectError> {
            self.go_on_after_all(&mut self.trees(), over)
        }

        /// Returns the numbers of what the reply answers in the first of the trees that it does in.
        fn answers(&self) -> Vec<u64> {
            let answered = self.note_answers(&mut self.trees()).into_iter();
            answered.flat_map(|(_, ids)| ids).collect()
        }
    }

    thread_local! {
        static PRINTED: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    }

    fn printed() -> Vec<String> {
        PRINTED.take()
    }

    /// A repository, and the file that says how often a session in it was kept from ending.
    struct Repository(PathBuf);

    impl Repository {
        fn new(name: &str) -> Self {
            let name = format!("agent-q-diff-turn-{}-{name}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir(&folder).unwrap();
            let made = Command::new("git")
                .arg("init")
                .arg("-q")
                .arg(&folder)
                .status();
            assert!(made.unwrap().success());
            Self(folder)
        }

        /// Returns what `agent` has to be done at the event `name`, an object with `rest` in it.
        fn work(&self, agent: &'static Agent, name: &str, rest: Value) -> Work {
            let mut event = json!({ "hook_event_name": name, "session_id": "s", "cwd": self.0 });
            let members = rest.as_object().cloned().unwrap_or_default();
            event.as_object_mut().unwrap().extend(members);
            let event = Event::parse(event.to_string().as_bytes()).unwrap();
            let options = Hook {
                agent,
                name: agent.title.to_owned(),
                socket: None,
                timeout: None,
            };
            let mut work = Work::of(&options, &event);
            work.held = Held(self.0.join(".git/held"));
            work.print = |answer| {
                PRINTED.with_borrow_mut(|printed| printed.push(answer.to_string()));
                true
            };
            work
        }

        /// Adds a working tree, and returns its top.
        fn add_tree(&self) -> PathBuf {
            let git = |arguments: &[&str]| {
                let mut git = Command::new("git");
                let names = ["-c", "user.name=a", "-c", "user.email=a"];
                let done = git.current_dir(&self.0).args(names).args(arguments);
                assert!(done.output().unwrap().status.success());
            };
            git(&["commit", "-q", "--allow-empty", "-m", "One"]);
            git(&["worktree", "add", "-q", "trees/other"]);
            self.0.join("trees/other")
        }

        fn queue(&self, agent: &Agent, text: &str) {
            let mut project = Project::open(&self.0).unwrap();
            project
                .queue_message(&[agent.title.to_owned()], text, &[])
                .unwrap();
        }

        /// Ends all turns.
        fn end(&self) {
            Project::open(&self.0).unwrap().end_turns(None).unwrap();
        }

        /// Returns the titles of the turns, and whether each is over.
        fn turns(&self) -> Vec<(String, bool)> {
            let mut project = Project::open(&self.0).unwrap();
            let turns = project.turns().unwrap().iter();
            turns
                .map(|turn| (turn.title.clone(), turn.is_over))
                .collect()
        }
    }

    impl Drop for Repository {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn prompt(text: &str) -> Value {
        json!({ "prompt": text })
    }

    fn turn(title: &str, is_over: bool) -> (String, bool) {
        (title.to_owned(), is_over)
    }

    #[test]
    fn what_was_interrupted_or_has_failed_is_over_and_nothing_is_told() {
        for name in ["StopFailure", "Interrupt"] {
            let repository = Repository::new(name);
            let agent = &codex::AGENT;
            let work = |name, rest| repository.work(agent, name, rest);
            let begin = |text: &str| {
                let prompted = work("UserPromptSubmit", prompt(text));
                prompted.begin_alone().unwrap();
                printed()
            };
            begin("Fix it");
            repository.queue(agent, "Take it out");
            let broken = work(name, json!({}));
            assert_eq!(broken.close().len(), 1);
            assert_eq!(printed(), [""; 0]);
            assert_eq!(repository.turns(), [turn("Fix it", true)]);
            assert!(broken.close().is_empty());
            begin("More");
            assert_eq!(repository.turns()[1], turn("More", false));
        }
    }

    #[test]
    fn a_prompt_while_the_agent_works_is_in_its_turn_and_another_ends_it() {
        let repository = Repository::new("queued");
        let begin = |agent: &'static Agent, rest: Value| {
            let event = if std::ptr::eq(agent, &gemini::AGENT) {
                "BeforeAgent"
            } else {
                "UserPromptSubmit"
            };
            repository.work(agent, event, rest).begin_alone().unwrap();
        };
        let named = |text: &str, name: &str| json!({ "prompt": text, "prompt_id": name });
        let (claude, gemini) = (&claude::AGENT, &gemini::AGENT);
        begin(claude, named("One", "p1"));
        begin(claude, named("queued", "p1"));
        assert_eq!(repository.turns(), [turn("One", false)]);
        begin(claude, named("Two", "p2"));
        assert_eq!(repository.turns(), [turn("One", true), turn("Two", false)]);
        // Without names, nobody knows.
        begin(claude, prompt("perhaps queued"));
        assert_eq!(repository.turns().len(), 2);
        begin(gemini, prompt("Three"));
        begin(gemini, prompt("Four"));
        assert_eq!(
            repository.turns()[2..],
            [turn("Three", true), turn("Four", false)]
        );
    }

    #[test]
    fn a_prompt_after_an_interruption_ends_what_was_interrupted() {
        let repository = Repository::new("interrupted");
        let record = repository.0.join("record.jsonl");
        let begin = |text: &str| {
            let rest = json!({ "prompt": text, "transcript_path": record });
            let work = repository.work(&claude::AGENT, "UserPromptSubmit", rest);
            let mut trees = work.trees();
            work.end_earlier(&mut trees[0]).unwrap();
            let n_open = repository
                .turns()
                .iter()
                .filter(|(_, is_over)| !is_over)
                .count();
            work.begin(&mut trees).unwrap();
            n_open
        };
        begin("One");
        assert_eq!(begin("queued"), 1);
        let said = r#"{"type":"user","message":{"content":[{"type":"text",
            "text":"[Request interrupted by user]"}]}}"#;
        fs::write(&record, said.replace("\n", " ")).unwrap();
        assert_eq!(begin("Two"), 0);
        assert_eq!(repository.turns(), [turn("One", true), turn("Two", false)]);
    }

    #[test]
    fn what_runs_in_the_background_is_known_until_its_end() {
        let repository = Repository::new("background");
        let agent = &claude::AGENT;
        let work = |name, rest| repository.work(agent, name, rest);
        // Other tests run processes meanwhile, which may count as left.
        let may_run = || {
            let mut is_any = false;
            let mut project = Project::open(&repository.0).unwrap();
            let followed = project.follow_tasks(agent.title, "s", |known| {
                is_any = !known.is_empty();
                known
            });
            followed.unwrap();
            is_any
        };
        let follow = |name, rest| {
            let work = work(name, rest);
            work.follow_tasks(&mut work.project().unwrap()).unwrap();
            may_run()
        };
        let call = |tool: &str, input: Value, response: Value| json!({ "tool_name": tool, "tool_input": input, "tool_response": response, "tool_use_id": "c" });
        let shell =
            |is_beside: bool| call("Bash", json!({ "run_in_background": is_beside }), json!(""));
        let stop = |rest: Value| work("Stop", rest).end_alone().is_some() && may_run();
        let notified = |status: &str| {
            prompt(&format!(
                "<task-notification>\n<task-id>b</task-id>\n<tool-use-id>c</tool-use-id>\n{status}"
            ))
        };
        let begin = |rest: Value| {
            work("UserPromptSubmit", rest).begin_alone().unwrap();
            may_run()
        };
        assert!(!begin(prompt("Fix it")));
        assert!(!follow("PostToolUse", shell(false)));
        assert!(follow("PostToolUse", shell(true)));
        assert!(stop(json!({})));
        assert!(begin(notified("")));
        assert!(!begin(notified("<status>completed</status>")));
        for tool in ["Monitor", "CronCreate", "Workflow", "ScheduleWakeup"] {
            let batch = json!({ "tool_calls": [shell(false), call(tool, json!({}), json!(""))] });
            assert!(follow("PostToolBatch", batch), "{tool}");
            assert!(!follow(
                "PostToolUse",
                call("TaskStop", json!({ "task_id": "c" }), json!(""))
            ));
        }
        // What it says at its end counts.
        let tasks = json!([{ "id": "b", "type": "shell", "status": "running" }]);
        assert!(stop(
            json!({ "background_tasks": tasks, "session_crons": [] })
        ));
        begin(prompt("More"));
        assert!(!stop(
            json!({ "background_tasks": [], "session_crons": [] })
        ));
        begin(prompt("More"));
        assert!(stop(
            json!({ "background_tasks": [], "session_crons": [{ "id": "7" }] })
        ));
        work("SessionEnd", json!({})).close();
        assert!(!may_run());
    }

    #[test]
    fn a_prompt_begins_a_turn_and_carries_what_was_not_told() {
        for (agent, event) in [
            (&codex::AGENT, "UserPromptSubmit"),
            (&gemini::AGENT, "BeforeAgent"),
            (&opencode::AGENT, "chat.message"),
        ] {
            let repository = Repository::new(&format!("prompt-{}", agent.name));
            repository.queue(agent, "one\ntwo");
            let mut gone = repository.work(agent, event, prompt("\n Fix it\nnow"));
            gone.print = |_| false;
            gone.begin_alone().unwrap();
            assert_eq!(repository.turns(), [("Fix it".to_owned(), false)]);
            // What could not be printed is told the next time, and then no more.
            repository.end();
            repository
                .work(agent, event, prompt("More"))
                .begin_alone()
                .unwrap();
            let [answer] = &printed()[..] else {
                panic!("it was not told once");
            };
            assert!(answer.contains(r"one\ntwo"), "{answer}");
            let long = "x".repeat(MAX_TITLE_LEN + 1);
            repository.end();
            repository
                .work(agent, event, prompt(&long))
                .begin_alone()
                .unwrap();
            assert_eq!(printed(), [""; 0]);
            assert_eq!(repository.turns()[2].0, long[1..]);
            let states = repository.turns().into_iter().map(|(_, is_over)| is_over);
            assert_eq!(states.collect::<Vec<_>>(), [true, true, false]);
        }
    }

    #[test]
    fn what_is_for_a_session_waits_for_its_end_and_then_says_so() {
        let repository = Repository::new("session");
        let agent = &codex::AGENT;
        let work = |session: &str, name, rest| {
            let mut work = repository.work(agent, name, rest);
            work.event.session = session.to_owned();
            work
        };
        for session in ["one", "two"] {
            work(session, "UserPromptSubmit", prompt("Fix it"))
                .begin_alone()
                .unwrap();
        }
        let mut project = Project::open(&repository.0).unwrap();
        let to = [address(agent.title, "one")];
        project.queue_message(&to, "Take it out", &[]).unwrap();
        let more = || {
            work("two", "UserPromptSubmit", prompt("More"))
                .begin_alone()
                .unwrap();
            printed()
        };
        assert_eq!(more(), [""; 0]);
        work("one", "SessionEnd", json!({})).close();
        let [told] = &more()[..] else {
            panic!("it was not told once");
        };
        assert!(told.contains("of an earlier session") && told.contains("Take it out"));
        assert_eq!(more(), [""; 0]);
        // What both have written is no other session's, and is told once.
        let both = ["one", "two"].map(|session| address(agent.title, session));
        project.queue_message(&both, "Leave it", &[]).unwrap();
        let [told] = &more()[..] else {
            panic!("it was not told once");
        };
        assert!(!told.contains("of an earlier session") && told.contains("Leave it"));
        assert_eq!(more(), [""; 0]);
    }

    #[test]
    fn what_is_too_long_to_be_told_at_once_waits_and_that_is_said() {
        let repository = Repository::new("long");
        let agent = &codex::AGENT;
        let prompted = || {
            let more = repository.work(agent, "UserPromptSubmit", prompt("More"));
            more.begin_alone().unwrap();
            printed().join("")
        };
        prompted();
        let mut project = Project::open(&repository.0).unwrap();
        // Each is also for another session, so that none takes the place of another.
        for n in 1..=3 {
            let to = [agent.title.to_owned(), address("Other", &n.to_string())];
            let text = format!("round {n} {}", "é".repeat(3900));
            project.queue_message(&to, &text, &[]).unwrap();
        }
        let first = prompted();
        assert!(
            first.contains("round 1") && first.contains("round 2") && !first.contains("round 3")
        );
        assert!(first.contains("Not all of it fits here (1 more): call review_comments."));
        let second = prompted();
        assert!(
            second.contains("round 3") && !second.contains("round 2") && !second.contains("fits")
        );
        assert_eq!(prompted(), "");
    }

    #[test]
    fn a_turn_in_another_working_tree_begins_and_ends_with_its_session() {
        let repository = Repository::new("trees");
        let other = repository.add_tree();
        let agent = &codex::AGENT;
        let begin = |folder: &Path| {
            let rest = json!({ "prompt": "Fix it", "cwd": folder });
            let work = repository.work(agent, "UserPromptSubmit", rest);
            let mut trees = work.trees();
            // The project is where the session was begun.
            trees.sort_by_key(|tree| tree.root() != repository.0);
            work.begin(&mut trees).unwrap();
        };
        let titles = || {
            let mut project = Project::open(&other).unwrap();
            let turns = project.turns().unwrap().iter();
            turns
                .map(|turn| (turn.title.clone(), turn.is_over))
                .collect::<Vec<_>>()
        };
        begin(&repository.0);
        assert_eq!(titles(), []);
        // A tool of its own, or of a subagent, is run there.
        let before = json!({ "cwd": other, "tool_name": "Edit", "tool_input": {} });
        let before = repository.work(agent, "PreToolUse", before);
        let mut project = Project::open(&repository.0).unwrap();
        for _ in 0..2 {
            before.begin_elsewhere(&mut project).unwrap();
            assert_eq!(titles(), [turn("Fix it", false)]);
        }
        let over = repository.work(agent, "Stop", json!({})).end_alone();
        assert_eq!(over.unwrap().elsewhere, std::slice::from_ref(&other));
        assert_eq!(titles(), [turn("Fix it", true)]);
        // Its session has gone there, and what was said there is told.
        let mut project = Project::open(&other).unwrap();
        let to = [agent.title.to_owned()];
        project.queue_message(&to, "Take it out", &[]).unwrap();
        begin(&other);
        assert!(printed()[0].contains("Take it out"));
        assert_eq!(titles()[1], turn("Fix it", false));
        let closed = repository.work(agent, "SessionEnd", json!({})).close();
        assert_eq!(closed, [repository.0.clone(), other.clone()]);
        assert_eq!(titles()[1], turn("Fix it", true));
        assert!(repository.turns().iter().all(|(_, is_over)| *is_over));
    }

    #[test]
    fn what_is_said_in_another_working_tree_is_told_and_answered_by_its_session() {
        let repository = Repository::new("said");
        let other = repository.add_tree();
        let agent = &codex::AGENT;
        let work = |name, rest| repository.work(agent, name, rest);
        work("UserPromptSubmit", prompt("Fix it"))
            .begin_alone()
            .unwrap();
        // A subagent has worked there.
        let before = work(
            "PreToolUse",
            json!({ "cwd": other, "tool_name": "Edit", "tool_input": {} }),
        );
        let mut project = Project::open(&repository.0).unwrap();
        before.begin_elsewhere(&mut project).unwrap();
        assert!(work("Stop", json!({})).end_alone().is_some());
        let ask = |folder: &Path| {
            fs::write(folder.join("a.txt"), "a\n").unwrap();
            let mut project = Project::open(folder).unwrap();
            let to = [agent.title.to_owned()];
            let path = b"a.txt".to_vec();
            let id = project.comment(&path, None, Kind::Question, "Why?", &to);
            project.queue_message(&to, "Why?", &[id.unwrap()]).unwrap();
        };
        let more = || {
            work("UserPromptSubmit", prompt("More"))
                .begin_alone()
                .unwrap();
            printed().join("")
        };
        ask(&other);
        let place = format!(
            "What follows is about the working tree {}.",
            other.display()
        );
        let told = more();
        assert!(told.contains(&place), "{told}");
        assert_eq!(more(), "");
        let stop = work("Stop", json!({ "last_assistant_message": "[1] Because." }));
        let answered = stop.note_answers(&mut stop.trees());
        assert_eq!(answered, [(other.clone(), vec![1])]);
        // Of two with one number, it is not known which is answered.
        let mut project = Project::open(&other).unwrap();
        project.edit_comment(1, Kind::Question, "Why not?").unwrap();
        project
            .queue_message(&[agent.title.to_owned()], "Why not?", &[1])
            .unwrap();
        ask(&repository.0);
        let told = more();
        assert!(told.contains(&place) && told.contains("Why not?") && told.contains("Why?"));
        assert_eq!(stop.answers(), [0; 0]);
    }

    #[test]
    fn what_the_reply_says_to_a_comment_answers_it_once_it_was_told() {
        let repository = Repository::new("reply");
        let agent = &codex::AGENT;
        let reply =
            json!({ "last_assistant_message": "Well:\n\n- **[1]** a.txt: because\nof it.\n\nSo." });
        let stop = repository.work(agent, "Stop", reply);
        fs::write(repository.0.join("a.txt"), "a\n").unwrap();
        let mut project = Project::open(&repository.0).unwrap();
        let to = [agent.title.to_owned()];
        let path = b"a.txt".to_vec();
        let id = project.comment(&path, None, Kind::Question, "Why?", &to);
        assert_eq!(id.unwrap(), 1);
        // The user's question was not told, so the number means something else.
        assert_eq!(stop.answers(), [0; 0]);
        project.queue_message(&to, "Why?", &[1]).unwrap();
        let work = |name| repository.work(name, "UserPromptSubmit", prompt("Go on"));
        work(agent).begin_alone().unwrap();
        assert_eq!(stop.answers(), [1]);
        // A further reply with that number is none to it.
        assert_eq!(stop.answers(), [0; 0]);
        let comments = project.comments(&Default::default()).unwrap();
        let [reply] = &comments[0].comment.replies[..] else {
            panic!("it was not answered once");
        };
        assert_eq!(
            (&*reply.who, &*reply.text),
            (agent.title, "a.txt: because\nof it.")
        );
    }

    #[test]
    fn an_agent_goes_on_seven_times_in_a_row_at_most() {
        let repository = Repository::new("seven");
        let agent = &codex::AGENT;
        let work = |name, rest| repository.work(agent, name, rest);
        work("UserPromptSubmit", prompt("Fix it"))
            .begin_alone()
            .unwrap();
        for n in 1..=7 {
            repository.queue(agent, &format!("round {n}"));
            assert!(work("Stop", json!({})).end_alone().is_none());
            assert_eq!(printed().len(), 1);
            assert_eq!(repository.turns(), [("Fix it".to_owned(), false)]);
        }
        repository.queue(agent, "round 8");
        let over = work("Stop", json!({})).end_alone().unwrap();
        assert!(!over.can_go_on && over.title == "Fix it");
        assert_eq!(printed(), [""; 0]);
        assert_eq!(repository.turns(), [("Fix it".to_owned(), true)]);
        // The rest waits for the next prompt, and the next turn can go on.
        work("UserPromptSubmit", prompt("More"))
            .begin_alone()
            .unwrap();
        assert!(printed()[0].contains("round 8"));
        repository.queue(agent, "round 9");
        assert!(work("Stop", json!({})).end_alone().is_none());
    }

    #[test]
    fn what_was_finished_before_the_turn_waits_for_the_next_prompt() {
        let repository = Repository::new("before");
        let agent = &codex::AGENT;
        let work = |name, rest| repository.work(agent, name, rest);
        repository.queue(agent, "early");
        // There is no turn, as with settings of an earlier version.
        let over = work("Stop", json!({})).end_alone().unwrap();
        work("Stop", json!({})).go_on_alone(&over).unwrap();
        // Messages and turns have whole seconds.
        let second = || std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
        let queued = second();
        while second() == queued {
            std::thread::yield_now();
        }
        let mut unread = work("UserPromptSubmit", prompt("Fix it"));
        unread.print = |_| false;
        unread.begin_alone().unwrap();
        let over = work("Stop", json!({})).end_alone().unwrap();
        work("Stop", json!({})).go_on_alone(&over).unwrap();
        assert_eq!(printed(), [""; 0]);
        work("UserPromptSubmit", prompt("More"))
            .begin_alone()
            .unwrap();
        assert!(printed()[0].contains("early"));
    }

    #[test]
    fn what_is_finished_at_the_end_begins_a_further_turn_of_that_title() {
        let repository = Repository::new("answer");
        let work = |name, rest| repository.work(&codex::AGENT, name, rest);
        work("UserPromptSubmit", prompt("Fix it"))
            .begin_alone()
            .unwrap();
        let stop = work("Stop", json!({}));
        let over = stop.end_alone().unwrap();
        repository.queue(&codex::AGENT, "Take it out");
        stop.go_on_alone(&over).unwrap();
        assert!(printed()[0].contains(r#""reason":"Take it out""#));
        let turn = |is_over| turn("Fix it", is_over);
        assert_eq!(repository.turns(), [turn(true), turn(false)]);
        let over = stop.end_alone().unwrap();
        stop.go_on_alone(&over).unwrap();
        assert_eq!(repository.turns(), [turn(true), turn(true)]);
    }

    #[test]
    fn only_the_user_s_prompts_begin_turns() {
        let repository = Repository::new("prompts");
        let agent = &gemini::AGENT;
        let work = |name, rest| repository.work(agent, name, rest);
        work("BeforeAgent", prompt("Fix it")).begin_alone().unwrap();
        repository.queue(agent, "Take it out\n");
        assert!(work("AfterAgent", json!({})).end_alone().is_none());
        work("BeforeAgent", prompt("Take it out"))
            .begin_alone()
            .unwrap();
        let notified = prompt("<task-notification>\nIt has ended");
        work("UserPromptSubmit", notified.clone())
            .begin_alone()
            .unwrap();
        assert_eq!(repository.turns(), [("Fix it".to_owned(), false)]);
        assert_eq!(work("SessionEnd", json!({})).close().len(), 1);
        assert!(work("SessionEnd", json!({})).close().is_empty());
        work("UserPromptSubmit", notified).begin_alone().unwrap();
        assert_eq!(repository.turns()[1], (String::new(), false));
    }

    #[test]
    fn while_subagents_work_the_turn_is_not_over() {
        let repository = Repository::new("subagents");
        let work = |name, rest| repository.work(&codex::AGENT, name, rest);
        work("UserPromptSubmit", prompt("Fix it"))
            .begin_alone()
            .unwrap();
        let tasks =
            |kind: &str| json!({ "background_tasks": [{ "type": kind, "status": "running" }] });
        assert!(work("Stop", tasks("subagent")).end_alone().is_none());
        assert_eq!(repository.turns(), [("Fix it".to_owned(), false)]);
        assert!(work("Stop", tasks("shell")).end_alone().is_some());
        assert_eq!(repository.turns(), [("Fix it".to_owned(), true)]);
    }

    #[test]
    fn where_there_is_no_project_nothing_is_told() {
        let repository = Repository::new("none");
        fs::remove_dir_all(repository.0.join(".git")).unwrap();
        let work = |name, rest| repository.work(&codex::AGENT, name, rest);
        assert!(
            work("UserPromptSubmit", prompt("Fix it"))
                .begin_alone()
                .is_err()
        );
        assert!(work("Stop", json!({})).end_alone().is_some());
        assert!(work("SessionEnd", json!({})).close().is_empty());
        assert!(Path::new(&repository.0).is_dir() && printed().is_empty());
    }
}
