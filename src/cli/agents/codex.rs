//! Codex: its events, tools, answers, settings and records. Measured with 0.169.0.

use std::path::PathBuf;
use std::process::Command;

use agent_q_diff_engine::inputs::Encoding;
use serde_json::{Value, json};

use super::fields::Field;
use super::records::{self, Edit, Said, lines_of, other_hook};
use super::{
    Agent, Dialect, Events, Form, Handler, Kind, LESS_THAN_A_DAY, Scope, Settings, Setup, Tool,
    claude, directory_of, patch, without_brackets,
};
use crate::socket::current_directory;

const EVENTS: Events = Events {
    goes_on: &[],
    breaks: &["Interrupt"],
    ..claude::EVENTS
};

/// Codex.
pub static AGENT: Agent = Agent {
    name: "codex",
    title: "Codex",
    timeout: LESS_THAN_A_DAY,
    events: EVENTS,
    arguments: &[(Field::Patch, "command")],
    tool: |name, _| match name {
        "apply_patch" => Some(&PATCH),
        "Bash" | "shell" => Some(&SHELL),
        _ => None,
    },
    project: None,
    before: |verdict, input| Ok(claude::before_with_input(verdict, input)),
    after: claude::after,
    beside_prompt: Some(claude::beside_prompt),
    // Its model reads "&lt;" there for "<".
    going_on: Some(|told| claude::going_on(&without_brackets(told))),
    refusal: None,
    hears_while_at_work: true,
    setup: Some(Setup {
        file,
        files: || [Scope::Project, Scope::User].map(file).to_vec(),
        form: Form::Settings(SETTINGS),
        // It is asked.
        switches: |_| Vec::new(),
        adapter: None,
        variables: &[],
        without_hooks: "",
        steer: None,
        said,
        edits_after: |since| {
            let directory = directory().join("sessions");
            records::edits_in(&directory, since, "FileChange", edit_in)
        },
        last_edits: || None,
        without: ", without -c features.hooks=false; trust the hook in its /hooks",
        advice: "Codex skips a hook that you have not trusted, and says nothing: start it, call \
                 /hooks, and trust the hook. After each change of it you have to do so again. \
                 Started with -c features.hooks=false or --disable hooks, it runs none, and edits \
                 without a decision. What its shell writes, unless that is by apply_patch, is \
                 reviewed after that, or refused if agent-q-diff-shell-writes is ask in Emacs.",
    }),
};

/// Applies a patch.
pub static PATCH: Tool = Tool {
    kind: Kind::Patch,
    made: patch::patched,
    can_patch: |before, after| {
        let mut files = before.into_iter().chain(after);
        files.all(|file| file.encoding != Encoding::Utf16Le)
    },
    ..Tool::PLAIN
};

/// The shell. Codex applies a patch in a command by itself, and then runs no hook in which its model
/// could be told what was decided.
pub static SHELL: Tool = Tool {
    kind: Kind::Shell,
    is_run_by_emacs: true,
    ..Tool::PLAIN
};

const SETTINGS: Settings = Settings {
    events: EVENTS,
    second: 1,
    // A shell command can have a patch in a here-document.
    matcher: "apply_patch|Bash",
    matcher_before: "apply_patch|Bash",
    dialect: Dialect {
        other_bytes: false,
        repeated_keys: false,
        keys: &["description", "hooks"],
        ..Dialect::STRICT
    },
    knows: |groups| {
        let is_handler = |handler: &Value| handler["type"].is_string();
        let is_group = |group: &Value| match &group["hooks"] {
            Value::Array(handlers) => handlers.iter().all(is_handler),
            other => other.is_null(),
        };
        groups.iter().all(is_group)
    },
    on_fault: "ignores the whole file",
    // It has further places.
    says_others: true,
};

/// Returns the directory in which it has what the user sets, and what it records.
fn directory() -> PathBuf {
    directory_of("CODEX_HOME", ".codex")
}

fn file(scope: Scope) -> PathBuf {
    match scope {
        Scope::User => directory(),
        Scope::Project => current_directory().join(".codex"),
    }
    .join("hooks.json")
}

/// Returns what it says when it is asked for its hooks.
fn said() -> Vec<Said> {
    let mut command = Command::new("codex");
    command.arg("app-server");
    let requests = [
        json!({ "id": 0, "method": "initialize", "params": {
            "clientInfo": { "name": "agent-q-diff", "version": env!("CARGO_PKG_VERSION") } } }),
        json!({ "method": "initialized" }),
        json!({ "id": 1, "method": "hooks/list",
                "params": { "cwds": [current_directory()] } }),
    ];
    let requests = requests.map(|request| request.to_string()).join("\n");
    let is_answer =
        |line: &str| serde_json::from_str(line).is_ok_and(|line: Value| line["id"] == 1);
    let (lines, _) = lines_of(command, &format!("{requests}\n"), is_answer);
    let answer = lines
        .last()
        .and_then(|line| serde_json::from_str(line).ok());
    said_in(&answer.unwrap_or_default())
}

/// Returns what `answer`, its list of its hooks, says about ours.
fn said_in(answer: &Value) -> Vec<Said> {
    let Some(data) = answer["result"]["data"].as_array() else {
        return Vec::new();
    };
    let lists = |name: &str| {
        let lists: Vec<_> = data.iter().filter_map(|it| it[name].as_array()).collect();
        lists.into_iter().flatten()
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let faults = lists("warnings")
        .map(text)
        .chain(lists("errors").map(|error| text(&error["message"])));
    let mut said: Vec<_> = faults
        .map(|fault| {
            let said = format!("Codex says: {}", fault.replace('\n', " "));
            // The user has hooks of another kind in config.toml; it runs both.
            if fault.contains("prefer a single representation") {
                Said::Note(said)
            } else {
                Said::Fault(said)
            }
        })
        .collect();
    for event in SETTINGS.events() {
        let name = |hook: &Value| text(&hook["eventName"]);
        let at_event = |hook: &&Value| name(hook).eq_ignore_ascii_case(event);
        let is_ours = |hook: &&Value| AGENT.is_ours(&text(&hook["command"]));
        let ours: Vec<_> = lists("hooks").filter(at_event).filter(is_ours).collect();
        let runs = |hook: &&&Value| {
            let trust = hook["trustStatus"].as_str();
            hook["enabled"] != false && matches!(trust, None | Some("trusted" | "managed"))
        };
        said.push(match (ours.first(), ours.iter().find(runs)) {
            // Without it, every edit is decided all the same; its settings are looked at elsewhere.
            (None, _) if SETTINGS.wait_at(event).is_some() => continue,
            (None, _) => Said::Fault(format!(
                "{event}: Codex does not run the hook here; look whether its config.toml has \
                 hooks = false in [features], and whether it trusts this folder"
            )),
            (Some(hook), None) if hook["enabled"] == false => Said::Fault(format!(
                "{event}: the hook is turned off in Codex; turn it on in its /hooks"
            )),
            (Some(_), None) => Said::Fault(format!(
                "{event}: Codex skips the hook, which you have not trusted; trust it in its /hooks"
            )),
            (_, Some(_)) => Said::Good(format!("{event}: Codex runs the hook")),
        });
    }
    let others = lists("hooks").filter(|hook| {
        let handler = Handler {
            matcher: hook["matcher"].as_str().map(str::to_owned),
            command: text(&hook["command"]),
            timeout: None,
        };
        hook["eventName"] == "postToolUse"
            && hook["enabled"] != false
            && !AGENT.is_ours(&handler.command)
            && SETTINGS.is_for_edits(&handler)
    });
    let others = others.map(|hook| {
        let (file, command) = (text(&hook["sourcePath"]), text(&hook["command"]));
        Said::Note(other_hook(&file, "PostToolUse", &command))
    });
    said.extend(others.collect::<Vec<_>>());
    said
}

/// Returns the edit in `line` of a record.
pub fn edit_in(line: &Value) -> Option<Edit> {
    let item = &line["payload"]["item"];
    let is_made = item["type"] == "FileChange" && item["status"] == "completed";
    let path = item["changes"].as_object()?.keys().next()?;
    let edit = Edit::of(&path.as_str().into(), line)?;
    is_made.then_some(edit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_codex_runs_and_skips_is_said() {
        let hook = |event: &str, command: &str, trust: &str| {
            json!({ "eventName": event, "command": command, "enabled": true, "matcher": "*",
                    "sourcePath": "/h/config.toml", "trustStatus": trust })
        };
        let (before, after) = ("preToolUse", "postToolUse");
        let said = |hooks: &[Value], warnings: &[&str]| {
            said_in(&json!({ "result": { "data": [
                { "hooks": hooks, "warnings": warnings, "errors": [] }] } }))
        };
        let ours = "/x/agent-q-diff hook codex";
        let all = said(
            &[hook(before, ours, "trusted"), hook(after, ours, "trusted")],
            &[],
        );
        assert!(all.iter().all(|it| matches!(it, Said::Good(_))), "{all:?}");
        let none = said(&[], &["failed to parse hooks config"]);
        assert!(
            none.iter().all(|it| matches!(it, Said::Fault(_))) && none.len() == 3,
            "{none:?}"
        );
        let [Said::Fault(skipped), ..] = &said(&[hook(before, ours, "untrusted")], &[])[..] else {
            panic!("it is not said");
        };
        assert!(skipped.contains("not trusted"), "{skipped}");
        let other = said(&[hook(after, "prettier", "trusted")], &[]);
        assert!(matches!(other.last(), Some(Said::Note(_))), "{other:?}");
        let both = "loading hooks from both hooks.json and config.toml; prefer a single \
                    representation for this layer";
        let beside = said(&[hook(before, ours, "trusted")], &[both]);
        assert!(matches!(beside.first(), Some(Said::Note(_))), "{beside:?}");
        // An older version does not know the question.
        assert_eq!(said_in(&json!({ "error": {} })), []);
    }
}
