//! Agents that run hooks much as Claude Code does, but edit if a hook takes too long. Their settings
//! are not known, so the user puts the hook there; their tools are known by what they get.
//!
//! Measured with Copilot CLI 1.0.102, Kimi 2.1.0 and Qwen Code 0.24.4: Kimi drops all its hooks if one
//! is to wait for more than 600 seconds, Qwen Code goes on after 60 whatever it is told, and Copilot
//! CLI swallows standard error.

use std::time::Duration;

use rmcp::model::JsonObject;
use serde_json::{Value, json};

use super::fields::Field;
use super::{Agent, Events, Verdict, claude, hook_output};
use crate::hook::patch;
use crate::hook::tool::Tool;

/// Any agent, so it is cautious. The names of arguments are those of VS Code and Cursor, by their
/// documentation.
pub static ANY: Agent = Agent {
    name: "claude",
    title: "An agent",
    timeout: Duration::from_secs(50),
    arguments: &[
        (Field::Path, "path"),
        (Field::Path, "target_file"),
        (Field::Content, "contents"),
        (Field::Patch, "patch"),
        (Field::Patch, "input"),
        (Field::Edits, "replacements"),
    ],
    events: Events {
        before: &["PreToolUse"],
        after: &["PostToolUse"],
        over: &["Stop"],
    },
    tool,
    project: None,
    before: |verdict, _| match verdict {
        // All agents with Claude Code's events understand a refusal by the exit status.
        Verdict::Deny(reason) => Err(reason),
        Verdict::Allow | Verdict::Change(_) => Ok(hook_output("PreToolUse", allowed())),
    },
    after: claude::after,
    refusal: None,
    setup: None,
};

/// Copilot CLI.
pub static COPILOT: Agent = Agent {
    name: "copilot",
    title: "Copilot CLI",
    timeout: Duration::from_secs(590),
    events: Events {
        before: &["preToolUse"],
        after: &["postToolUse"],
        over: &[],
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
    ..READING_OUTPUT
};

/// Qwen Code.
pub static QWEN: Agent = Agent {
    name: "qwen",
    title: "Qwen Code",
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
        over: &["Stop"],
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
    refusal: Some(denied),
    setup: None,
};

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

/// Returns the answer `output` for the event `name`, as Copilot CLI reads it, with that of Claude Code
/// in it.
fn with_plain(name: &str, output: Value) -> Value {
    let mut plain = output.clone();
    plain["hookSpecificOutput"] = hook_output(name, output)["hookSpecificOutput"].take();
    plain
}

/// Words in names of tools that change files.
const CHANGING: [&str; 8] = [
    "edit", "write", "replace", "patch", "create", "insert", "delete", "notebook",
];

/// Returns what the tool called `name` does, by its `input`, or `None` if it edits no file.
fn tool(name: &str, input: &JsonObject) -> Option<Tool> {
    let has_path = Field::Path.is_text_in(input);
    let is_edit = |input: &JsonObject| Field::Old.is_text_in(input) && Field::New.is_text_in(input);
    let name = name.to_lowercase();
    if has_path && (is_edit(input) || matches!(Field::Edits.find(input), Ok(Some(_)))) {
        Some(Tool::OtherEdit)
    } else if has_path && Field::Content.is_text_in(input) {
        Some(Tool::OtherWrite)
    } else if patch::text_in(input).is_ok_and(|text| text.trim_start().starts_with(patch::BEGIN)) {
        Some(Tool::OtherPatch)
    } else if CHANGING.iter().any(|word| name.contains(word)) && !name.contains("todo") {
        Some(Tool::OtherUnknown)
    } else {
        None
    }
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
                Some(Tool::OtherEdit),
            ),
            (
                "edit",
                json!({ "path": "f", "old_str": "a", "new_str": "b" }),
                Some(Tool::OtherEdit),
            ),
            (
                "StrReplaceFile",
                json!({ "path": "f", "edit": { "old": "a", "new": "b" } }),
                Some(Tool::OtherEdit),
            ),
            (
                "create_file",
                json!({ "filePath": "f", "content": "" }),
                Some(Tool::OtherWrite),
            ),
            (
                "create",
                json!({ "path": "f", "file_text": "" }),
                Some(Tool::OtherWrite),
            ),
            (
                "Write",
                json!({ "file_path": "f", "contents": "" }),
                Some(Tool::OtherWrite),
            ),
            (
                "apply_patch",
                json!({ "input": patch }),
                Some(Tool::OtherPatch),
            ),
            // What may change a file, nobody knows how, is refused; all else passes.
            (
                "insert_edit_into_file",
                json!({ "filePath": "f" }),
                Some(Tool::OtherUnknown),
            ),
            ("Delete", json!({ "path": "f" }), Some(Tool::OtherUnknown)),
            ("Read", json!({ "file_path": "f" }), None),
            ("Shell", json!({ "command": "ls" }), None),
            ("TodoWrite", json!({ "todos": [] }), None),
        ] {
            assert_eq!(tool(name, input), wanted, "{name}");
        }
    }
}
