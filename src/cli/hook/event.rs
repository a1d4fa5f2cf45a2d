//! What an agent says about a call of its tool.

use std::path::{Path, PathBuf};

use rmcp::model::JsonObject;
use serde_json::{Value, json};

use crate::agents::{ALL, Agent, Events};

/// When an event comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Before the tool runs.
    Before,
    /// After it has run.
    After,
    /// When the user has given the agent a prompt.
    Begins,
    /// When the agent has gone on after some tools.
    GoesOn,
    /// When the agent's turn has ended.
    Ends,
    /// When it was interrupted, or has failed.
    Breaks,
    /// When it waits for its user's next prompt.
    Waits,
    /// When its session has ended.
    Closes,
    /// At another time, which does not matter here.
    Other,
}

impl Moment {
    /// Returns when an event called `name` comes, whichever agent it is from.
    fn of(name: &str) -> Self {
        type Names = fn(&Events) -> &[&str];
        let moments: [(Names, Self); 8] = [
            (|events| events.before, Self::Before),
            (|events| events.after, Self::After),
            (|events| events.begins, Self::Begins),
            (|events| events.goes_on, Self::GoesOn),
            (|events| events.ends, Self::Ends),
            (|events| events.breaks, Self::Breaks),
            (|events| events.waits, Self::Waits),
            (|events| events.closes, Self::Closes),
        ];
        let mut moments = moments.into_iter();
        let is_one = |names: Names| ALL.iter().any(|agent| names(&agent.events).contains(&name));
        let found = moments.find(|(names, _)| is_one(*names));
        found.map_or(Self::Other, |(_, moment)| moment)
    }

    /// Returns whether it is about a tool, so that no answer is a consent.
    pub fn is_of_tool(self) -> bool {
        matches!(self, Self::Before | Self::After)
    }
}

/// Returns the word by which Emacs knows what an agent does without being asked to in its mode `word`, if
/// there is one. The words are those of Claude Code and Codex.
fn mode_for_emacs(word: &str) -> Option<&'static str> {
    match word {
        "default" => Some("asks"),
        // In "dontAsk", what its rules do not allow is denied, and all else is made.
        "acceptEdits" | "auto" | "bypassPermissions" | "dontAsk" => Some("accepts"),
        "plan" => Some(PLANS),
        _ => None,
    }
}

/// Returns the text of `prompt`, which Kimi gives in parts.
fn prompt_in(prompt: &Value) -> String {
    let parts = prompt.as_array().into_iter().flatten();
    let parts: Vec<_> = parts.filter_map(|part| part["text"].as_str()).collect();
    prompt
        .as_str()
        .map_or_else(|| parts.join("\n"), str::to_owned)
}

/// Returns whether `event`, about a prompt, is one of Qwen Code's before each further request to its model: it
/// has no prompt.
fn is_repeated(event: &Value) -> bool {
    event["prompt"] == "" && !event["prompt_id"].is_null() && event["submitted_prompt"].is_null()
}

/// The word for a mode in which an agent edits nothing.
pub const PLANS: &str = "plans";

/// The beginning of a prompt by which Claude Code tells itself what became of something that ran beside it.
const NOTIFICATION: &str = "<task-notification>";

/// Keys of the name of an event, those of Claude Code, and of VS Code.
const EVENT_NAMES: &[&str] = &["hook_event_name", "hookEventName"];

/// Keys of what the agent has said last, those of Claude Code, Codex and Qwen Code, and of Gemini CLI.
const REPLIES: &[&str] = &["last_assistant_message", "prompt_response"];

/// A call of an agent's tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// When it comes.
    pub moment: Moment,
    /// The tool's name.
    pub tool: String,
    /// The tool's input.
    pub input: JsonObject,
    /// Whether the tool has run and failed.
    pub has_failed: bool,
    /// What the tool says that it has done, or null.
    pub response: Value,
    /// The agent's mode, by Emacs's word for it.
    pub mode: Option<&'static str>,
    /// The agent's session, and in it the subagent, if it is one's.
    pub thread: String,
    /// The agent's session.
    pub session: String,
    /// What the user has said to it; empty if that is not told.
    pub prompt: String,
    /// What the agent has said last; empty if that is not told.
    pub reply: String,
    /// Whether that prompt is no user's, but the agent's own.
    pub is_notification: bool,
    /// The agent's own name for its turn; empty if it has none.
    pub turn: String,
    /// The agent's record of its session, if it says where that is.
    pub transcript: Option<String>,
    /// The names of what its calls have begun in the background, which goes on after them.
    pub begun: Vec<String>,
    /// The names of what has ended there, or was stopped.
    pub ended: Vec<String>,
    /// The names of all that still runs there, if it says so.
    pub running: Option<Vec<String>>,
    /// Whether subagents of it go on after its end; then it goes on when they have ended.
    pub has_subagents: bool,
    /// The directory to which names in the input are relative.
    directory: PathBuf,
    /// The call's id, if the agent gives it one.
    call: Option<String>,
}

impl Event {
    /// Reads an event from `bytes`, an object in JSON.
    ///
    /// # Errors
    ///
    /// A sentence about what is wrong with it.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let unknown = |why: &str| {
            format!(
                "agent-q-diff does not understand the agent's event, so the edit is refused: {why}"
            )
        };
        let event: Value =
            serde_json::from_slice(bytes).map_err(|error| unknown(&error.to_string()))?;
        let value = |names: &[&str]| names.iter().find_map(|name| event.get(*name));
        let text = |names: &[&str]| value(names).and_then(Value::as_str).map(str::to_owned);
        // Copilot CLI names no event; only after it, there is a result.
        let name =
            text(EVENT_NAMES).or_else(|| match (event.get("toolName"), event.get("toolResult")) {
                (None, _) => None,
                (Some(_), None) => Some("preToolUse".to_owned()),
                (Some(_), Some(_)) => Some("postToolUse".to_owned()),
            });
        let name = name.ok_or_else(|| unknown("it has no hook_event_name"))?;
        let moment = match Moment::of(&name) {
            Moment::Begins if is_repeated(&event) => Moment::GoesOn,
            // It can wait for an answer as well.
            Moment::Waits if event["notification_type"] != "idle_prompt" => Moment::Other,
            moment => moment,
        };
        let tool = text(&["tool_name", "toolName"]);
        // Earlier versions of Copilot CLI have its JSON as a string.
        let input = match value(&["tool_input", "toolArgs"]) {
            Some(Value::String(input)) => serde_json::from_str(input).ok(),
            input => input.cloned(),
        };
        let input = input.as_ref().and_then(Value::as_object);
        let session = text(&["session_id", "sessionId", "conversation_id"]).unwrap_or_default();
        let prompt = prompt_in(&event["prompt"]);
        let tasks = event["background_tasks"].as_array();
        let is_subagent = |task: &Value| task["type"] == "subagent" && task["status"] == "running";
        let calls = match event["tool_calls"].as_array() {
            Some(calls) => calls.iter().collect(),
            None => vec![&event],
        };
        if moment.is_of_tool() && (tool.is_none() || input.is_none()) {
            return Err(unknown(
                "it has no tool_name, or its tool_input is no object",
            ));
        }
        Ok(Self {
            moment,
            tool: tool.unwrap_or_default(),
            input: input.cloned().unwrap_or_default(),
            has_failed: event
                .pointer("/tool_response/error")
                .is_some_and(|error| !error.is_null() && error != "")
                || event
                    .pointer("/toolResult/resultType")
                    .is_some_and(|kind| kind != "success"),
            response: event.get("tool_response").cloned().unwrap_or_default(),
            mode: text(&["permission_mode"]).and_then(|word| mode_for_emacs(&word)),
            // Subagents of Claude Code work at the same time in one session.
            thread: match text(&["agent_id"]) {
                Some(agent) => format!("{session} {agent}"),
                None => session.clone(),
            },
            session,
            reply: text(REPLIES).unwrap_or_default(),
            turn: text(&["turn_id", "prompt_id"]).unwrap_or_default(),
            transcript: text(&["transcript_path"]).filter(|path| !path.is_empty()),
            begun: calls.iter().filter_map(|call| begun_by(call)).collect(),
            ended: [
                calls.iter().filter_map(|call| stopped_by(call)).collect(),
                ended_in(&prompt),
            ]
            .concat(),
            running: running_in(&event),
            is_notification: prompt.starts_with(NOTIFICATION),
            prompt,
            has_subagents: tasks.is_some_and(|tasks| tasks.iter().any(is_subagent)),
            directory: text(&["cwd"]).map_or_else(crate::socket::current_directory, PathBuf::from),
            // Qwen Code has both, and makes the first anew for each event.
            call: text(&["tool_call_id", "tool_use_id", "toolUseId"]),
        })
    }

    /// Returns `path`, a name in the input, as an absolute one.
    pub fn absolute(&self, path: &str) -> PathBuf {
        self.directory.join(path)
    }

    /// Returns the directory in which a command in the input runs.
    pub fn shell_directory(&self) -> PathBuf {
        let names = ["directory", "dir_path", "workdir"];
        let named = names
            .iter()
            .find_map(|name| self.input.get(*name)?.as_str());
        self.absolute(named.unwrap_or_default())
    }

    /// Returns an id of the call, which changes `path`. Those that the agent gives are unique in a
    /// session only; without one, a session's calls for a file count as one after the other.
    pub fn call_of(&self, path: &Path) -> String {
        match &self.call {
            Some(call) => format!("{} {call}", self.session),
            None => format!("{} {}", self.session, path.display()),
        }
    }

    /// Returns what Emacs is told of the call, which changes `path`.
    pub fn about(&self, path: &Path) -> Value {
        json!({ "path": path, "call": self.call_of(path) })
    }

    /// Returns the directory in which the agent is, to which names in the input are relative.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the root of the project in which `agent` works.
    pub fn project(&self, agent: &Agent) -> PathBuf {
        let root = agent.project.and_then(std::env::var_os);
        root.map_or_else(|| self.directory.clone(), PathBuf::from)
    }
}

/// Tools of Claude Code that begin something, besides a call that says so: it acts later, without its user.
const LASTING: [&str; 4] = ["Monitor", "Workflow", "CronCreate", "ScheduleWakeup"];

/// Tools of Claude Code that stop something.
const STOPPING: [&str; 4] = ["KillShell", "KillBash", "TaskStop", "CronDelete"];

/// Returns the name of what `call`, which was made, has begun in the background, if it has: the agent's own, if
/// it says so, or else that of the call.
fn begun_by(call: &Value) -> Option<String> {
    let tool = call["tool_name"].as_str()?;
    let is_lasting = LASTING.contains(&tool) || call["tool_input"]["run_in_background"] == true;
    let has_run = call.get("tool_response").is_some();
    let names = ["/tool_response/backgroundTaskId", "/tool_use_id"];
    let mut names = names.iter().filter_map(|name| call.pointer(name)?.as_str());
    (is_lasting && has_run).then(|| names.next().unwrap_or(tool).to_owned())
}

/// Returns the name of what `call` has stopped, if it has.
fn stopped_by(call: &Value) -> Option<String> {
    let is_stopping = STOPPING.contains(&call["tool_name"].as_str()?);
    let names = ["task_id", "shell_id", "id"];
    let mut names = names
        .iter()
        .filter_map(|name| call["tool_input"][name].as_str());
    names.next().filter(|_| is_stopping).map(str::to_owned)
}

/// Returns the names of what has ended by the notification `prompt`: the agent's own, and that of the call.
fn ended_in(prompt: &str) -> Vec<String> {
    let within = |name: &str| {
        let (_, rest) = prompt.split_once(&format!("<{name}>"))?;
        Some(rest.split_once(&format!("</{name}>"))?.0.to_owned())
    };
    // What only says something of itself has none.
    let is_over =
        prompt.starts_with(NOTIFICATION) && within("status").is_some_and(|it| it != "running");
    let names = ["task-id", "tool-use-id"].into_iter();
    names
        .filter_map(|name| within(name).filter(|_| is_over))
        .collect()
}

/// Returns the names of what runs in the background by `event`, if it says that. Of subagents, the turn is not
/// over.
fn running_in(event: &Value) -> Option<Vec<String>> {
    let tasks = event["background_tasks"].as_array()?.iter();
    let is_one = |task: &&Value| {
        let is_over = matches!(
            task["status"].as_str(),
            Some("completed" | "failed" | "killed")
        );
        task["type"] != "subagent" && !is_over
    };
    let crons = event["session_crons"].as_array().into_iter().flatten();
    let all = tasks.filter(is_one).chain(crons);
    Some(
        all.map(|one| one["id"].as_str().unwrap_or("?").to_owned())
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_all_agents_are_read() {
        let moments = [
            ("PreToolUse", Moment::Before),
            ("BeforeTool", Moment::Before),
            ("PostToolUse", Moment::After),
            ("AfterTool", Moment::After),
            ("preToolUse", Moment::Before),
            ("tool.execute.after", Moment::After),
            ("UserPromptSubmit", Moment::Begins),
            ("BeforeAgent", Moment::Begins),
            ("chat.message", Moment::Begins),
            ("PostToolBatch", Moment::GoesOn),
            ("subagent.idle", Moment::GoesOn),
            ("Stop", Moment::Ends),
            ("AfterAgent", Moment::Ends),
            ("session.idle", Moment::Ends),
            ("StopFailure", Moment::Breaks),
            ("Interrupt", Moment::Breaks),
            ("SessionEnd", Moment::Closes),
            // The end of a subagent is not that of the turn.
            ("SubagentStop", Moment::Other),
        ];
        for (name, moment) in moments {
            let event = format!(
                r#"{{"hook_event_name": "{name}", "tool_name": "T", "tool_input": {{"a": 1}},
                    "cwd": "/d", "session_id": "s", "tool_use_id": "c"}}"#
            );
            let event = Event::parse(event.as_bytes()).unwrap();
            assert_eq!(
                (event.moment, &*event.tool, &*event.thread),
                (moment, "T", "s")
            );
            assert_eq!(event.input["a"], 1);
            assert_eq!(event.absolute("f"), Path::new("/d/f"));
            assert_eq!(event.call_of(Path::new("/d/f")), "s c");
        }
        let other = br#"{"hookEventName": "PreToolUse", "toolName": "T", "toolArgs": {},
            "sessionId": "s", "agent_id": "a", "tool_call_id": "c"}"#;
        let other = Event::parse(other).unwrap();
        assert_eq!((&*other.tool, &*other.thread), ("T", "s a"));
        assert_eq!(other.call_of(Path::new("/f")), "s c");
        let stop = Event::parse(br#"{"hook_event_name": "Stop", "session_id": "s"}"#).unwrap();
        assert_eq!((stop.moment, &*stop.reply), (Moment::Ends, ""));
        for reply in ["last_assistant_message", "prompt_response"] {
            let stop = format!(r#"{{"hook_event_name": "Stop", "{reply}": "[1] Yes"}}"#);
            assert_eq!(Event::parse(stop.as_bytes()).unwrap().reply, "[1] Yes");
        }
        assert_eq!(stop.call_of(Path::new("/f")), "s /f");
    }

    #[test]
    fn an_agent_s_mode_has_a_meaning() {
        for (word, for_emacs) in [
            ("default", Some("asks")),
            ("acceptEdits", Some("accepts")),
            ("bypassPermissions", Some("accepts")),
            ("plan", Some("plans")),
            ("ludicrous", None),
        ] {
            let event = format!(r#"{{"hook_event_name": "Stop", "permission_mode": "{word}"}}"#);
            let mode = Event::parse(event.as_bytes()).unwrap().mode;
            assert_eq!(mode, for_emacs);
        }
        let none = Event::parse(br#"{"hook_event_name": "AfterAgent"}"#).unwrap();
        assert_eq!(none.mode, None);
    }

    #[test]
    fn qwen_code_waits_for_a_prompt_or_for_an_answer() {
        for (kind, moment) in [
            ("idle_prompt", Moment::Waits),
            ("permission_prompt", Moment::Other),
        ] {
            let event = json!({ "hook_event_name": "Notification", "notification_type": kind });
            let event = Event::parse(event.to_string().as_bytes()).unwrap();
            assert_eq!(event.moment, moment, "{kind}");
        }
    }

    #[test]
    fn qwen_code_s_further_requests_are_no_prompts() {
        let moment = |rest: &str| {
            let event = format!(r#"{{"hook_event_name": "UserPromptSubmit", {rest}}}"#);
            Event::parse(event.as_bytes()).unwrap().moment
        };
        assert_eq!(moment(r#""prompt_id": "i", "prompt": """#), Moment::GoesOn);
        let first = r#""prompt_id": "i", "prompt": "Fix it", "submitted_prompt": "Fix it""#;
        assert_eq!(moment(first), Moment::Begins);
        assert_eq!(moment(r#""prompt": """#), Moment::Begins);
    }

    #[test]
    fn a_prompt_may_have_parts() {
        let event = br#"{"hook_event_name": "UserPromptSubmit",
            "prompt": [{"type": "text", "text": "Fix it"}, {"type": "image"}]}"#;
        assert_eq!(Event::parse(event).unwrap().prompt, "Fix it");
    }

    #[test]
    fn an_event_without_a_name_is_known_by_its_result() {
        let event = |rest: &str| {
            let event = format!(r#"{{"sessionId": "s", "cwd": "/d", "toolName": "edit"{rest}}}"#);
            Event::parse(event.as_bytes())
        };
        let before = event(r#", "toolArgs": {"path": "f"}"#).unwrap();
        assert_eq!((before.moment, &*before.tool), (Moment::Before, "edit"));
        let text = event(r#", "toolArgs": "{\"path\": \"f\"}""#).unwrap();
        assert_eq!(text, before);
        let result = r#", "toolArgs": {"path": "f"}, "toolResult": {"resultType": "success"}"#;
        let after = event(result).unwrap();
        assert_eq!((after.moment, after.has_failed), (Moment::After, false));
        let failed = event(&result.replace("success", "failure")).unwrap();
        assert!(failed.has_failed);
        for rest in ["", r#", "toolArgs": "{""#, r#", "toolArgs": 1"#] {
            assert!(event(rest).is_err(), "{rest}");
        }
    }

    #[test]
    fn what_is_no_event_is_an_error() {
        let cases: [&[u8]; 5] = [
            b"",
            b"{",
            b"[]",
            br#"{"hook_event_name": "PreToolUse", "tool_name": "Edit"}"#,
            br#"{"hook_event_name": "PreToolUse", "tool_input": {}}"#,
        ];
        for bytes in cases {
            let error = Event::parse(bytes).unwrap_err();
            assert!(error.contains("the edit is refused"), "{error}");
        }
    }
}
