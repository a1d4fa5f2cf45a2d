//! Agents that run hooks much as Claude Code does, but edit if a hook takes too long. Their
//! settings are not known, so the user puts the hook there; their tools are known by what they get.
//!
//! Measured with Copilot CLI 1.0.102, Kimi 2.1.0 and Qwen Code 0.24.4: Kimi drops all its hooks if
//! one is to wait for more than 600 seconds, Qwen Code goes on after 60 whatever it is told, and
//! Copilot CLI swallows standard error.

use std::time::Duration;

use agent_q_diff_engine::inputs::{FileText, InputError, Replacement};
use rmcp::model::JsonObject;
use serde_json::{Value, json};

use super::fields::{Field, replacements};
use super::{Agent, Events, Kind, Tool, Verdict, claude, hook_output, patch, without_brackets};

/// Any agent, so it is cautious. The names of arguments are those of VS Code and Cursor, by their
/// documentation.
pub static ANY: Agent = Agent {
    name: "claude",
    title: "An agent",
    arguments: &[
        (Field::Path, "path"),
        (Field::Path, "target_file"),
        (Field::Content, "contents"),
        (Field::Patch, "patch"),
        (Field::Patch, "input"),
        (Field::Edits, "replacements"),
    ],
    before: |verdict, _| match verdict {
        // All agents with Claude Code's events understand a refusal by the exit status.
        Verdict::Deny(reason) => Err(reason),
        Verdict::Allow | Verdict::Change(_) => Ok(hook_output("PreToolUse", allowed())),
    },
    after: claude::after,
    refusal: None,
    ..READING_OUTPUT
};

/// Copilot CLI.
pub static COPILOT: Agent = Agent {
    name: "copilot",
    title: "Copilot CLI",
    timeout: Duration::from_secs(590),
    events: Events {
        before: &["preToolUse"],
        after: &["postToolUse"],
        ..Events::NONE
    },
    arguments: &[
        (Field::Old, "old_str"),
        (Field::New, "new_str"),
        (Field::Content, "file_text"),
    ],
    ..READING_OUTPUT
};

/// Kimi.
pub static KIMI: Agent = Agent {
    name: "kimi",
    title: "Kimi",
    timeout: Duration::from_secs(590),
    arguments: &[
        (Field::Old, "old"),
        (Field::New, "new"),
        (Field::Edits, "edit"),
    ],
    // At the end of a turn it can be kept from ending only once.
    beside_prompt: Some(|told| json!({ "message": told })),
    ..READING_OUTPUT
};

/// Qwen Code.
pub static QWEN: Agent = Agent {
    name: "qwen",
    title: "Qwen Code",
    // After an interruption, it says only that it waits.
    events: Events {
        breaks: &["StopFailure"],
        waits: &["Notification"],
        ..READING_OUTPUT.events
    },
    beside_prompt: Some(|told| claude::beside_prompt(&without_brackets(told))),
    going_on: Some(claude::going_on),
    ..READING_OUTPUT
};

/// An agent that reads a refusal on standard output.
const READING_OUTPUT: Agent = Agent {
    name: "",
    title: "",
    timeout: Duration::from_secs(50),
    events: Events {
        before: &["PreToolUse"],
        after: &["PostToolUse"],
        begins: &["UserPromptSubmit"],
        ends: &["Stop"],
        breaks: &["Interrupt", "StopFailure"],
        ..Events::NONE
    },
    arguments: &[],
    tool,
    project: None,
    before: |verdict, _| {
        Ok(match verdict {
            Verdict::Deny(reason) => denied(&reason),
            Verdict::Allow | Verdict::Change(_) => with_plain("PreToolUse", allowed()),
        })
    },
    after: |told| with_plain("PostToolUse", json!({ "additionalContext": told })),
    beside_prompt: None,
    going_on: None,
    refusal: Some(denied),
    hears_while_at_work: true,
    setup: None,
};

/// The names of agents whose hooks cannot decide anything, and why.
pub const WITHOUT_HOOKS: [(&str, &str); 1] = [(
    "cline",
    "Cline takes every failure of a hook for consent, also a refusal by its exit status, so its \
     edits cannot be decided by a hook. Let it propose them over MCP (agent-q-diff mcp), and edit \
     nothing by itself.",
)];

fn allowed() -> Value {
    json!({ "permissionDecision": "allow" })
}

/// Returns a refusal with its `reason`.
fn denied(reason: &str) -> Value {
    let denial = json!({
        "permissionDecision": "deny",
        "permissionDecisionReason": reason,
    });
    with_plain("PreToolUse", denial)
}

/// Returns the answer `output` for the event `name`, as Copilot CLI reads it, with that of Claude
/// Code in it.
fn with_plain(name: &str, output: Value) -> Value {
    let mut plain = output.clone();
    plain["hookSpecificOutput"] = hook_output(name, output)["hookSpecificOutput"].take();
    plain
}

/// Replaces strings, by rules that are not known.
pub static EDIT: Tool = Tool {
    made: |base, input| edited(base, &replacements(input)?).map_err(|error| error.to_string()),
    ..TOOL
};

/// Writes a whole file.
pub static WRITE: Tool = Tool {
    made: written,
    ..TOOL
};

/// Applies a patch.
pub static PATCH: Tool = Tool {
    kind: Kind::Patch,
    is_run_by_emacs: true,
    ..TOOL
};

/// Seems to change a file in an unknown way.
pub static UNKNOWN: Tool = TOOL;

/// The properties of all their tools.
const TOOL: Tool = Tool {
    takes_input: false,
    ..Tool::PLAIN
};

/// Words in names of tools that change files.
const CHANGING: [&str; 8] = [
    "edit", "write", "replace", "patch", "create", "insert", "delete", "notebook",
];

/// Returns what the tool called `name` does, by its `input`, or `None` if it edits no file.
fn tool(name: &str, input: &JsonObject) -> Option<&'static Tool> {
    let has_path = Field::Path.is_text_in(input);
    let is_edit = |input: &JsonObject| Field::Old.is_text_in(input) && Field::New.is_text_in(input);
    let name = name.to_lowercase();
    if has_path && (is_edit(input) || matches!(Field::Edits.find(input), Ok(Some(_)))) {
        Some(&EDIT)
    } else if has_path && Field::Content.is_text_in(input) {
        Some(&WRITE)
    } else if patch::text_in(input).is_ok_and(|text| text.trim_start().starts_with(patch::BEGIN)) {
        Some(&PATCH)
    } else if CHANGING.iter().any(|word| name.contains(word)) && !name.contains("todo") {
        Some(&UNKNOWN)
    } else {
        None
    }
}

/// Returns a file after `edits`, made one after the other, each of an exact string; `base` is the
/// file before, or `None` if there is none.
fn edited(base: Option<&FileText>, edits: &[Replacement]) -> Result<FileText, InputError> {
    let mut file = match base {
        Some(base) => base.clone(),
        None => FileText::new(String::new()),
    };
    for edit in edits {
        let is_new = base.is_none() && file.text.is_empty();
        let n = file.text.matches(&edit.old).count();
        file.text = match (edit.old.is_empty(), n) {
            (true, _) if is_new => edit.new.clone(),
            (true, _) => return Err(InputError::Exists),
            (false, _) if is_new => return Err(InputError::Missing),
            (false, 0) => return Err(InputError::NotFound),
            (false, n) if n > 1 && !edit.is_all => return Err(InputError::Several { n }),
            _ => file.text.replace(&edit.old, &edit.new),
        };
    }
    Ok(file)
}

/// Returns the file with the content in `input`, or with that at its end if `input` says so; `base`
/// is the file before, or `None` if there is none.
fn written(base: Option<&FileText>, input: &JsonObject) -> Result<FileText, String> {
    let content = Field::Content.text(input)?;
    let before = base.map_or("", |base| &base.text);
    let text = match input.get("mode").and_then(Value::as_str) {
        None | Some("overwrite") => content.to_owned(),
        Some("append") => format!("{before}{content}"),
        Some(mode) => return Err(format!("its mode {mode} is not known")),
    };
    Ok(base.map_or_else(
        || FileText::new(text.clone()),
        |base| base.with_text(text.clone()),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_of_other_agents_are_known_by_their_inputs() {
        let tool = |name: &str, input: Value| {
            let input = input.as_object().unwrap();
            (ANY.tool)(name, input)
        };
        let patch = "*** Begin Patch\n*** Delete File: f\n*** End Patch";
        for (name, input, wanted) in [
            // VS Code, Copilot CLI, Cursor and Kimi, by their documentation.
            (
                "replace_string_in_file",
                json!({ "filePath": "f", "oldString": "a", "newString": "b" }),
                Some(&EDIT),
            ),
            (
                "edit",
                json!({ "path": "f", "old_str": "a", "new_str": "b" }),
                Some(&EDIT),
            ),
            (
                "StrReplaceFile",
                json!({ "path": "f", "edit": { "old": "a", "new": "b" } }),
                Some(&EDIT),
            ),
            (
                "create_file",
                json!({ "filePath": "f", "content": "" }),
                Some(&WRITE),
            ),
            (
                "create",
                json!({ "path": "f", "file_text": "" }),
                Some(&WRITE),
            ),
            (
                "Write",
                json!({ "file_path": "f", "contents": "" }),
                Some(&WRITE),
            ),
            ("apply_patch", json!({ "input": patch }), Some(&PATCH)),
            // What may change a file, nobody knows how, is refused; all else passes.
            (
                "insert_edit_into_file",
                json!({ "filePath": "f" }),
                Some(&UNKNOWN),
            ),
            ("Delete", json!({ "path": "f" }), Some(&UNKNOWN)),
            ("Read", json!({ "file_path": "f" }), None),
            ("Shell", json!({ "command": "ls" }), None),
            ("TodoWrite", json!({ "todos": [] }), None),
        ] {
            assert_eq!(tool(name, input), wanted, "{name}");
        }
    }
}
