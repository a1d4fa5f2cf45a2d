//! Claude Code: its events, tools, answers, settings and records. Measured with 2.1.330.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use agent_q_diff_engine::inputs::{FileText, Replacement, claude as rules};
use rmcp::model::JsonObject;
use serde_json::{Value, json};

use super::fields::{Field, put_content, put_replacement, replacement, replacements};
use super::records::{self, Edit, Said, lines_of};
use super::{
    Agent, Dialect, Events, Form, LESS_THAN_A_DAY, Layer, Scope, Settings, Setup, Steer, Tool,
    Verdict, first, home, hook_output, is_switch, notebook, shell_command,
};
use crate::shell;
use crate::socket::current_directory;

pub const EVENTS: Events = Events {
    before: &["PreToolUse"],
    after: &["PostToolUse"],
    begins: &["UserPromptSubmit"],
    goes_on: &["PostToolBatch"],
    ends: &["Stop"],
    breaks: &["StopFailure"],
    waits: &[],
    closes: &["SessionEnd"],
};

/// Claude Code.
pub static AGENT: Agent = Agent {
    name: "claude",
    title: "Claude Code",
    timeout: LESS_THAN_A_DAY,
    events: EVENTS,
    arguments: &[
        (Field::Path, "file_path"),
        (Field::Path, "notebook_path"),
        (Field::Old, "old_string"),
        (Field::New, "new_string"),
        (Field::All, "replace_all"),
        (Field::Content, "content"),
        (Field::Edits, "edits"),
    ],
    tool: |name, _| match name {
        "Edit" => Some(&EDIT),
        "MultiEdit" => Some(&MULTI_EDIT),
        "NotebookEdit" => Some(&NOTEBOOK_EDIT),
        "Write" => Some(&WRITE),
        _ => None,
    },
    project: Some("CLAUDE_PROJECT_DIR"),
    before: |verdict, _| Ok(before(verdict)),
    after,
    beside_prompt: Some(beside_prompt),
    going_on: Some(going_on),
    refusal: None,
    hears_while_at_work: true,
    setup: Some(Setup {
        file: |scope| match scope {
            Scope::User => directory().join("settings.json"),
            Scope::Project => current_directory().join(".claude/settings.json"),
        },
        files: || {
            let mut files = managed_files();
            let project = current_directory().join(".claude");
            files.extend(["settings.local.json", "settings.json"].map(|name| project.join(name)));
            files.push(directory().join("settings.json"));
            files
        },
        form: Form::Settings(Settings {
            events: EVENTS,
            second: 1,
            matcher: "Edit|Write|MultiEdit|NotebookEdit",
            matcher_before: "Edit|Write|MultiEdit|NotebookEdit|Bash",
            dialect: Dialect {
                byte_order_mark: true,
                empty_file: true,
                null: true,
                ..Dialect::STRICT
            },
            knows,
            on_fault: "ignores the whole file",
            says_others: false,
        }),
        switches,
        adapter: Some("claude-agent-acp"),
        variables: &SWITCHES,
        without_hooks: "Claude Code runs no hook",
        steer: Some(Steer {
            name: "CLAUDE_CODE_THRIFTY_SONIC",
            value: "0",
            without: "its newer models may be told to edit by the shell, which writes before you decide",
        }),
        said: || {
            let mut command = Command::new("claude");
            command.arg("doctor").envs([
                ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
                ("DISABLE_AUTOUPDATER", "1"),
            ]);
            said_in(&lines_of(command, "", |_| false).0)
        },
        edits_after,
        last_edits,
        without: ", without --bare, --safe-mode and --setting-sources",
        advice: "Claude Code reads its settings when it starts: restart it, and look whether \
                 /hooks lists the hook. Started with --bare or --safe-mode, with --setting-sources \
                 that leave out the hook's file, or with --settings that have disableAllHooks, it \
                 runs none, and edits without a decision. What its shell writes is reviewed after \
                 that, or refused if agent-q-diff-shell-writes is ask in Emacs.",
    }),
};

/// Replaces a string.
pub static EDIT: Tool = Tool {
    made: |base, input| edited(base, &[replacement(input)?]),
    rewrite: |input, base, wanted| {
        put_replacement(input, &rules::edit_to(base, &wanted.text)?, "replace_all");
        Some(())
    },
    written: |response| {
        let text = |name: &str| Some(response.get(name)?.as_str()?.to_owned());
        let edit = Replacement {
            old: text("oldString")?,
            new: text("newString")?,
            is_all: response["replaceAll"] == true,
        };
        let base = match response.get("originalFile")? {
            Value::Null => None,
            original => Some(FileText::new(original.as_str()?.to_owned())),
        };
        Some(edited(base.as_ref(), &[edit]).ok()?.text)
    },
    ..TOOL
};

/// Replaces several strings; earlier versions have it.
pub static MULTI_EDIT: Tool = Tool {
    made: |base, input| edited(base, &replacements(input)?),
    rewrite: |input, base, wanted| {
        let mut only = JsonObject::new();
        put_replacement(
            &mut only,
            &rules::edit_to(base, &wanted.text)?,
            "replace_all",
        );
        Field::Edits.put(input, json!([only]), "edits");
        Some(())
    },
    ..TOOL
};

/// Writes a whole file.
pub static WRITE: Tool = Tool {
    made: |base, input| Ok(rules::written(base, Field::Content.text(input)?)),
    rewrite: |input, base, wanted| {
        put_content(input, base, wanted);
        Some(())
    },
    written: |response| Some(response.get("content")?.as_str()?.to_owned()),
    ..TOOL
};

/// Changes a cell of a notebook. No input can make it leave another text; see [`notebook`].
pub static NOTEBOOK_EDIT: Tool = Tool {
    made: |base, input| {
        let base = base.ok_or("there is no such notebook")?;
        Ok(base.with_text(notebook::edited(&base.text, input)?))
    },
    is_rewritable: false,
    ..TOOL
};

/// The properties of all its tools.
const TOOL: Tool = Tool {
    keeps_utf_16: true,
    ..Tool::PLAIN
};

fn edited(base: Option<&FileText>, edits: &[Replacement]) -> Result<FileText, String> {
    rules::edited(base, edits).map_err(|error| error.to_string())
}

/// Variables by which it is told to run no hook; some of its options set them.
const SWITCHES: [&str; 3] = [
    "CLAUDE_CODE_SIMPLE",
    "CLAUDE_CODE_SAFE_MODE",
    "CLAUDE_CODE_RESTRICTED",
];

/// Returns the answer before an edit.
fn before(verdict: Verdict) -> Value {
    hook_output(
        "PreToolUse",
        match verdict {
            Verdict::Allow => json!({ "permissionDecision": "allow" }),
            Verdict::Change(input) => {
                json!({ "permissionDecision": "allow", "updatedInput": input })
            }
            Verdict::Deny(reason) => {
                json!({ "permissionDecision": "deny", "permissionDecisionReason": reason })
            }
        },
    )
}

/// Returns the answer before an edit, for Codex, which takes no consent without an `input`.
pub fn before_with_input(verdict: Verdict, input: &JsonObject) -> Value {
    before(match verdict {
        Verdict::Allow => Verdict::Change(input.clone()),
        other => other,
    })
}

/// Returns the answer after an edit. A decision "block" would take the place of the tool's result,
/// but in a script that the model has written, it is an exception: the rest of the script does not
/// run.
pub fn after(told: &str) -> Value {
    hook_output("PostToolUse", json!({ "additionalContext": told }))
}

/// Returns the answer at a prompt. What has more than 10,000 characters it saves in a file, and shows its
/// model the beginning and the file's name.
pub fn beside_prompt(told: &str) -> Value {
    hook_output("UserPromptSubmit", json!({ "additionalContext": told }))
}

/// Returns the answer at the end of a turn. After eight in a row it ends all the same.
pub fn going_on(told: &str) -> Value {
    json!({ "decision": "block", "reason": told })
}

/// Returns the directory in which it has what the user sets, and what it records.
fn directory() -> PathBuf {
    // It takes an empty name for the current directory.
    std::env::var_os("CLAUDE_CONFIG_DIR").map_or_else(
        || home().join(".claude"),
        |named| current_directory().join(named),
    )
}

/// Returns the settings files of whoever administers this machine.
fn managed_files() -> Vec<PathBuf> {
    let directory = managed_directory();
    let parts = fs::read_dir(directory.join("managed-settings.d"));
    let parts = parts.into_iter().flatten().flatten().map(|it| it.path());
    let mut files: Vec<_> = parts
        .filter(|file| file.extension().is_some_and(|name| name == "json"))
        .collect();
    files.sort();
    files.reverse();
    files.push(directory.join("managed-settings.json"));
    files
}

fn managed_directory() -> &'static Path {
    Path::new(if cfg!(target_os = "macos") {
        "/Library/Application Support/ClaudeCode"
    } else {
        "/etc/claude-code"
    })
}

/// Returns whether it reads settings with `groups` at an event. What it does not know it skips,
/// unless it then knows nothing.
fn knows(groups: &[Value]) -> bool {
    let is_handler = |handler: &Value| handler["type"].is_string();
    let is_group = |group: &Value| {
        let handlers = group["hooks"].as_array();
        handlers.is_some_and(|it| it.is_empty() || it.iter().any(is_handler))
    };
    groups.is_empty() || groups.iter().any(is_group)
}

/// Returns what in `layers` turns the hook off.
fn switches(layers: &[Layer<'_>]) -> Vec<String> {
    let mut found = Vec::new();
    // The first that says anything counts.
    if let Some((layer, value)) = first(layers, "/disableAllHooks")
        && *value == true
    {
        found.push(layer.turns_off("disableAllHooks"));
    }
    for variable in SWITCHES.iter().chain(&["AGENT_Q_DIFF"]) {
        if let Some((layer, value)) = first(layers, &format!("/env/{variable}"))
            && value
                .as_str()
                .is_some_and(|value| is_switch(variable, value))
        {
            found.push(layer.turns_off(&format!("it sets {variable} in \"env\"")));
        }
    }
    // The user cannot change these.
    let is_managed = |layer: &&Layer<'_>| layer.file.starts_with(managed_directory());
    let managed = || layers.iter().filter(is_managed);
    let has_hook = |layer: &Layer<'_>| layer.settings.to_string().contains("agent-q-diff");
    if managed().any(has_hook) {
        return found;
    }
    for layer in managed() {
        let only_plugins = &layer.settings["strictPluginOnlyCustomization"];
        let has_hooks = |list: &Vec<Value>| list.iter().any(|it| it == "hooks");
        if layer.settings["allowManagedHooksOnly"] == true {
            found.push(layer.turns_off("allowManagedHooksOnly"));
        } else if *only_plugins == true || only_plugins.as_array().is_some_and(has_hooks) {
            found.push(layer.turns_off("strictPluginOnlyCustomization"));
        }
    }
    found
}

/// Returns the settings that it calls invalid, in `lines`, which its doctor prints.
fn said_in(lines: &[String]) -> Vec<Said> {
    let lines = lines.iter().skip_while(|line| *line != "Invalid settings");
    let lines = lines.skip(1).map_while(|line| line.strip_prefix("- "));
    lines
        .map(|line| {
            let said = format!("Claude Code says: {line}");
            // An entry alone is left out then, else the whole file.
            if line.contains("ignored") {
                Said::Note(said)
            } else {
                Said::Fault(format!("{said}; it ignores the whole file"))
            }
        })
        .collect()
}

/// Returns the edits in its records that were written after `since`.
fn edits_after(since: SystemTime) -> Vec<Edit> {
    let directory = directory().join("projects");
    records::edits_in(&directory, since, "toolUseResult", edit_in)
}

/// Returns how many edits the last session has made by its tools, and by its shell.
fn last_edits() -> Option<(usize, usize)> {
    let text = records::last_in(&directory().join("projects"))?;
    let lines = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let counts = lines.map(|line| {
        (
            usize::from(edit_in(&line).is_some()),
            shell_writes_in(&line),
        )
    });
    Some(counts.fold((0, 0), |(tools, shell), (tool, more)| {
        (tools + tool, shell + more)
    }))
}

/// Returns how many commands in `line` of a record, what the model has said, plainly write a file.
fn shell_writes_in(line: &Value) -> usize {
    let directory = Path::new(line["cwd"].as_str().unwrap_or("/"));
    let parts = line.pointer("/message/content").and_then(Value::as_array);
    let calls = parts.into_iter().flatten();
    let calls = calls.filter(|part| part["type"] == "tool_use");
    calls
        .filter_map(|call| shell_command(call["name"].as_str()?, call["input"].as_object()?))
        .filter(|command| !shell::written(command, directory).is_empty())
        .count()
}

/// Returns the edit in `line` of a record: `Edit` and `Write` note a patch, `NotebookEdit` the
/// notebook.
pub fn edit_in(line: &Value) -> Option<Edit> {
    let result = &line["toolUseResult"];
    let path = if result["structuredPatch"].is_array() {
        &result["filePath"]
    } else if result["edit_mode"].is_string() && !result["error"].is_string() {
        &result["notebook_path"]
    } else {
        return None;
    };
    Edit::of(path, line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_write_a_file_are_counted_as_edits_of_the_shell() {
        let line = |name: &str, command: &str| {
            json!({ "cwd": "/p", "type": "assistant", "message": { "content": [
                { "type": "text", "text": "sed -i s/a/b/ a.txt" },
                { "type": "tool_use", "name": name, "input": { "command": command } }] } })
        };
        assert_eq!(shell_writes_in(&line("Bash", "sed -i s/a/b/ a.txt")), 1);
        assert_eq!(shell_writes_in(&line("Bash", "cat a.txt")), 0);
        assert_eq!(shell_writes_in(&line("Read", "sed -i s/a/b/ a.txt")), 0);
        assert_eq!(
            shell_writes_in(&json!({ "message": { "content": "x" } })),
            0
        );
    }

    #[test]
    fn what_claude_code_calls_invalid_is_said() {
        let lines = [
            "Claude Code doctor",
            "",
            "Invalid settings",
            "- /h/settings.json › cleanupPeriodDays: Expected number, but received string",
            "- /h/settings.json › hooks.Foo: Unknown hook event \"Foo\" was ignored.",
            "",
            "- Not signed in",
        ];
        let said = said_in(&lines.map(str::to_owned));
        assert!(
            matches!(&said[..], [Said::Fault(_), Said::Note(_)]),
            "{said:?}"
        );
        assert_eq!(said_in(&["No problem".to_owned()]), []);
    }
}
