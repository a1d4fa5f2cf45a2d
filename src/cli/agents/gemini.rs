//! Gemini CLI: its events, tools, answers, settings and records. Measured with 0.61.0.

use std::path::PathBuf;

use agent_q_diff_engine::inputs::gemini as rules;
use serde_json::{Value, json};

use super::fields::{Field, put_replacement, replacement};
use super::records::{self, Edit};
use super::{
    Agent, Dialect, Events, Form, LESS_THAN_A_DAY, Layer, Scope, Settings, Setup, Tool, Verdict,
    claude, directory_of, first, hook_output, without_brackets,
};
use crate::socket::current_directory;

const EVENTS: Events = Events {
    before: &["BeforeTool"],
    after: &["AfterTool"],
    begins: &["BeforeAgent"],
    ends: &["AfterAgent"],
    closes: &["SessionEnd"],
    ..Events::NONE
};

/// Gemini CLI.
pub static AGENT: Agent = Agent {
    name: "gemini",
    title: "Gemini CLI",
    timeout: LESS_THAN_A_DAY,
    events: EVENTS,
    arguments: &[
        (Field::Path, "file_path"),
        (Field::Old, "old_string"),
        (Field::New, "new_string"),
        (Field::All, "allow_multiple"),
        (Field::Content, "content"),
        (Field::Description, "instruction"),
    ],
    tool: |name, _| match name {
        "replace" => Some(&REPLACE),
        "write_file" => Some(&WRITE),
        _ => None,
    },
    project: Some("GEMINI_PROJECT_DIR"),
    before: |verdict, _| {
        Ok(match verdict {
            Verdict::Allow => json!({ "decision": "allow" }),
            Verdict::Change(input) => {
                let mut reply = hook_output("BeforeTool", json!({ "tool_input": input }));
                reply["decision"] = "allow".into();
                reply
            }
            Verdict::Deny(reason) => json!({ "decision": "deny", "reason": reason }),
        })
    },
    // Its model reads "&lt;" there for "<", and "&gt;" for ">", but "&" as it is.
    after: |told| {
        let told = without_brackets(told);
        hook_output("AfterTool", json!({ "additionalContext": told }))
    },
    beside_prompt: Some(|told| {
        let told = without_brackets(told);
        hook_output("BeforeAgent", json!({ "additionalContext": told }))
    }),
    // That is its next prompt, with an event for it.
    going_on: Some(claude::going_on),
    refusal: None,
    // It keeps what is said then until its turn has ended.
    hears_while_at_work: false,
    setup: Some(Setup {
        file,
        files,
        form: Form::Settings(Settings {
            events: EVENTS,
            second: 1_000,
            matcher: "replace|write_file",
            matcher_before: "replace|write_file|run_shell_command",
            dialect: Dialect {
                comments: true,
                ..Dialect::STRICT
            },
            knows: |_| true,
            on_fault: "does not start with such a file",
            says_others: false,
        }),
        switches,
        adapter: None,
        variables: &[],
        without_hooks: "",
        steer: None,
        // It has no such command.
        said: Vec::new,
        edits_after: |since| {
            let directory = directory().join("tmp");
            records::edits_in(&directory, since, "toolCalls", edit_in)
        },
        last_edits: || None,
        without: ", without --acp",
        advice: "Gemini CLI reads its settings when it starts: restart it. A project's own \
                 settings count only in a folder that you trust. Started with --acp, it runs no \
                 hook, and edits without a decision. What its shell writes is reviewed after \
                 that, or refused if agent-q-diff-shell-writes is ask in Emacs.",
    }),
};

/// Replaces a string.
pub static REPLACE: Tool = Tool {
    made: |base, input| {
        rules::replaced(base, &replacement(input)?).map_err(|error| error.to_string())
    },
    rewrite: |input, base, wanted| {
        put_replacement(
            input,
            &rules::replace_to(base, &wanted.text)?,
            "allow_multiple",
        );
        Some(())
    },
    ..TOOL
};

/// Writes a whole file.
pub static WRITE: Tool = Tool {
    made: |base, input| Ok(rules::written(base, Field::Content.text(input)?)),
    rewrite: |input, _, wanted| {
        Field::Content.put(input, wanted.text.clone().into(), "content");
        Some(())
    },
    ..TOOL
};

/// The properties of both its tools.
const TOOL: Tool = Tool {
    written: |response| {
        let text = response.pointer("/returnDisplay/newContent")?;
        Some(text.as_str()?.to_owned())
    },
    prefixes: &['@'],
    ..Tool::PLAIN
};

/// Returns the directory in which it has what the user sets, and what it records.
fn directory() -> PathBuf {
    directory_of("GEMINI_CLI_HOME", "").join(".gemini")
}

fn file(scope: Scope) -> PathBuf {
    match scope {
        Scope::User => directory(),
        Scope::Project => current_directory().join(".gemini"),
    }
    .join("settings.json")
}

fn files() -> Vec<PathBuf> {
    let named = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let place = if cfg!(target_os = "macos") {
        "/Library/Application Support/GeminiCli/settings.json"
    } else {
        "/etc/gemini-cli/settings.json"
    };
    let system = named("GEMINI_CLI_SYSTEM_SETTINGS_PATH")
        .map_or_else(|| PathBuf::from(place), PathBuf::from);
    let defaults = named("GEMINI_CLI_SYSTEM_DEFAULTS_PATH").map_or_else(
        || system.with_file_name("system-defaults.json"),
        PathBuf::from,
    );
    vec![system, file(Scope::Project), file(Scope::User), defaults]
}

/// Returns what in `layers` turns the hook off.
fn switches(layers: &[Layer<'_>]) -> Vec<String> {
    let mut found = Vec::new();
    // The first that says anything counts.
    if let Some((layer, value)) = first(layers, "/hooksConfig/enabled")
        && *value == false
    {
        found.push(layer.turns_off("\"enabled\" in hooksConfig"));
    }
    let is_ours = |name: &Value| name.as_str().is_some_and(|name| AGENT.is_ours(name));
    for layer in layers {
        let disabled = layer.settings["hooksConfig"]["disabled"].as_array();
        if disabled.is_some_and(|names| names.iter().any(is_ours)) {
            found.push(layer.turns_off("\"disabled\" in hooksConfig"));
        }
    }
    found
}

/// Returns the last edit in `line` of a record.
pub fn edit_in(line: &Value) -> Option<Edit> {
    let is_made = |call: &&Value| {
        let is_edit = call["name"] == "replace" || call["name"] == "write_file";
        is_edit && call["status"] == "success"
    };
    let call = line["toolCalls"].as_array()?.iter().rfind(is_made)?;
    Edit::of(&call["args"]["file_path"], call)
}
