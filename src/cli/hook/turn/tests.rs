//! Turns that begin and end, by events as agents send them.

use std::cell::RefCell;
use std::path::Path;
use std::process::Command;

use agent_q_diff_reviewed::rounds::{Kind, address};

use super::*;
use crate::agents::{Agent, claude, codex, gemini, opencode, other};

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
fn an_agent_that_waits_for_a_prompt_has_no_open_turn_but_it_may_have_gone_on() {
    let repository = Repository::new("waits");
    let work = |name, rest| repository.work(&other::QWEN, name, rest);
    let begin = |text: &str, name: &str| {
        let rest = json!({ "prompt": text, "prompt_id": name });
        work("UserPromptSubmit", rest).begin_alone().unwrap();
    };
    let waits = |mut rest: Value| {
        rest["notification_type"] = json!("idle_prompt");
        work("Notification", rest).close().len()
    };
    begin("One", "s#0");
    assert_eq!(waits(json!({})), 1);
    begin("Two", "s#1");
    assert_eq!(waits(json!({ "prompt_id": "s#0" })), 0);
    assert_eq!(repository.turns(), [turn("One", true), turn("Two", false)]);
    assert_eq!(waits(json!({ "prompt_id": "s#1" })), 1);
    assert_eq!(waits(json!({ "prompt_id": "s#1" })), 0);
    assert_eq!(repository.turns(), [turn("One", true), turn("Two", true)]);
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
    assert!(first.contains("round 1") && first.contains("round 2") && !first.contains("round 3"));
    assert!(first.contains("Not all of it fits here (1 more): call review_comments."));
    let second = prompted();
    assert!(second.contains("round 3") && !second.contains("round 2") && !second.contains("fits"));
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
fn what_waits_elsewhere_for_a_session_that_has_ended_is_told_at_a_later_prompt() {
    let repository = Repository::new("ended");
    let other = repository.add_tree();
    let agent = &codex::AGENT;
    let work = |name, session: &str, rest: Value| {
        let mut event = rest;
        event["session_id"] = session.into();
        repository.work(agent, name, event)
    };
    work("UserPromptSubmit", "s", prompt("Fix it"))
        .begin_alone()
        .unwrap();
    let call = json!({ "cwd": other, "tool_name": "Edit", "tool_input": {} });
    let mut project = Project::open(&repository.0).unwrap();
    work("PreToolUse", "s", call)
        .begin_elsewhere(&mut project)
        .unwrap();
    let mut there = Project::open(&other).unwrap();
    let to = [address(agent.title, "s")];
    there.queue_message(&to, "Take it out", &[]).unwrap();
    let more = || {
        work("UserPromptSubmit", "t", prompt("More"))
            .begin_alone()
            .unwrap();
        printed().join("")
    };
    // It may read that itself.
    assert_eq!(more(), "");
    work("SessionEnd", "s", json!({})).close();
    let told = more();
    let place = format!(
        "What follows is about the working tree {}.",
        other.display()
    );
    assert!(
        told.contains(&place) && told.contains("Take it out"),
        "{told}"
    );
    assert!(told.contains(OF_AN_EARLIER_SESSION), "{told}");
    assert_eq!(more(), "");
    // Another session that is open there reads the next one.
    there.queue_message(&to, "Once more", &[]).unwrap();
    let own = json!({ "cwd": other, "prompt": "Here" });
    work("UserPromptSubmit", "u", own.clone())
        .begin_alone()
        .unwrap();
    assert!(printed().join("").contains("Once more"));
    there.queue_message(&to, "And again", &[]).unwrap();
    assert_eq!(more(), "");
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
fn a_session_that_has_read_no_question_answers_none_by_a_list_of_its_own() {
    let repository = Repository::new("list");
    let agent = &codex::AGENT;
    let work = |name, session: &str, rest: Value| {
        let mut event = rest;
        event["session_id"] = session.into();
        repository.work(agent, name, event)
    };
    let begin = |session: &str| {
        work("UserPromptSubmit", session, prompt("Go on"))
            .begin_alone()
            .unwrap();
        printed().join("")
    };
    let stop = |session: &str| {
        let reply = json!({ "last_assistant_message": "I did:\n\n[1] a.txt, line 5: a test" });
        let stop = work("Stop", session, reply);
        let answers = stop.answers();
        stop.end_alone().unwrap();
        answers
    };
    let close = |session: &str| work("SessionEnd", session, json!({})).close();
    ["one", "two"].into_iter().for_each(|session| {
        begin(session);
        stop(session);
    });
    fs::write(repository.0.join("a.txt"), "a\n").unwrap();
    let mut project = Project::open(&repository.0).unwrap();
    let to = [address(agent.title, "one")];
    let path = b"a.txt".to_vec();
    let id = project.comment(&path, None, Kind::Question, "Why?", &to);
    project.queue_message(&to, "Why?", &[id.unwrap()]).unwrap();
    assert!(begin("one").contains("Why?"));
    close("one");
    for other in ["two", "three"] {
        assert_eq!(begin(other), "");
        assert_eq!(stop(other), [0; 0], "{other}");
    }
    // It goes on, and is the same session.
    assert_eq!(begin("one"), "");
    assert_eq!(stop("one"), [1]);
    // What was for one that has ended is told to another one, which answers it.
    project.edit_comment(1, Kind::Question, "Why so?").unwrap();
    close("one");
    project.queue_message(&to, "Why so?", &[1]).unwrap();
    assert!(begin("two").contains("Why so?"));
    begin("one");
    assert_eq!(stop("one"), [0; 0]);
    assert_eq!(stop("two"), [1]);
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
    let tasks = |kind: &str| json!({ "background_tasks": [{ "type": kind, "status": "running" }] });
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
