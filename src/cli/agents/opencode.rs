//! opencode: its events, tools, answers, plugin and records. Measured with 1.18.33.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use agent_q_diff_engine::inputs::{Encoding, FileText, opencode as rules};
use serde_json::{Value, json};

use super::fields::{Field, put_content, put_replacement, replacement};
use super::records::{Edit, lines_of};
use super::{
    Agent, Events, Form, Kind, LESS_THAN_A_DAY, Plugin, Scope, Setup, Tool, Verdict, directory_of,
    home, patch,
};
use crate::socket::current_directory;

/// opencode.
pub static AGENT: Agent = Agent {
    name: "opencode",
    title: "opencode",
    timeout: LESS_THAN_A_DAY,
    events: Events {
        before: &["tool.execute.before"],
        after: &["tool.execute.after"],
        begins: &["chat.message"],
        goes_on: &["subagent.idle"],
        ends: &["session.idle"],
        ..Events::NONE
    },
    arguments: &[
        (Field::Path, "filePath"),
        (Field::Old, "oldString"),
        (Field::New, "newString"),
        (Field::All, "replaceAll"),
        (Field::Content, "content"),
        (Field::Patch, "patchText"),
    ],
    tool: |name, _| match name {
        "edit" => Some(&EDIT),
        "write" => Some(&WRITE),
        "apply_patch" => Some(&PATCH),
        _ => None,
    },
    project: None,
    // Its plugin reads this.
    before: |verdict, _| {
        Ok(match verdict {
            Verdict::Allow => json!({ "decision": "allow" }),
            Verdict::Change(input) => json!({ "decision": "allow", "input": input }),
            Verdict::Deny(reason) => json!({ "decision": "deny", "reason": reason }),
        })
    },
    after: |told| json!({ "output": told }),
    beside_prompt: Some(|told| json!({ "context": told })),
    // A further prompt can be sent then, but `opencode run` ends before it is answered.
    going_on: None,
    refusal: None,
    hears_while_at_work: true,
    setup: Some(Setup {
        file,
        files,
        form: Form::Plugin(Plugin {
            text: include_str!("opencode.js"),
            settings_files,
        }),
        switches: |_| Vec::new(),
        adapter: None,
        variables: &["OPENCODE_PURE"],
        without_hooks: "opencode reads no plugin",
        steer: None,
        // It fills its directories when it is run.
        said: Vec::new,
        // It is in the last session in the current directory.
        edits_after: |_| edits().unwrap_or_default(),
        last_edits: || None,
        without: ", without --pure",
        advice: "opencode reads its plugins when it starts: restart it. Started with --pure, it \
                 reads none, and edits without a decision. What its shell writes is reviewed after \
                 that, or refused if agent-q-diff-shell-writes is ask in Emacs.",
    }),
};

/// Replaces a string.
pub static EDIT: Tool = Tool {
    made: |base, input| {
        rules::edited(base, &replacement(input)?).map_err(|error| error.to_string())
    },
    rewrite: |input, base, wanted| {
        put_replacement(input, &rules::edit_to(base, &wanted.text)?, "replaceAll");
        Some(())
    },
    // It takes `$` in a string that replaces all as JavaScript's `replaceAll` does.
    is_misread: |input| replacement(input).is_ok_and(|edit| edit.is_all && edit.new.contains('$')),
    ..Tool::PLAIN
};

/// Writes a whole file.
pub static WRITE: Tool = Tool {
    made: |base, input| Ok(rules::written(base, Field::Content.text(input)?)),
    rewrite: |input, base, wanted| {
        put_content(input, base, wanted);
        Some(())
    },
    ..Tool::PLAIN
};

/// Applies a patch.
pub static PATCH: Tool = Tool {
    kind: Kind::Patch,
    made: patch::patched,
    can_patch: |before, after| {
        // It adds lines without CR, and a byte order mark is no part of a line.
        let is_known =
            |file: &FileText| file.encoding == Encoding::Utf8 && !file.text.contains('\r');
        // Some versions take an empty line at the end for the newline.
        let ends_well = |file: &FileText| !(file.text == "\n" || file.text.ends_with("\n\n"));
        before.into_iter().chain(after).all(is_known) && after.is_none_or(ends_well)
    },
    // It skips lines that Codex reads.
    is_misread: |_| true,
    ..Tool::PLAIN
};

/// The name of the plugin's file.
const NAME: &str = "agent-q-diff.js";

/// Returns the plugin's file in `directory`, one of opencode's.
fn plugin_in(directory: &Path) -> PathBuf {
    directory.join("plugins").join(NAME)
}

/// Returns the directory in which it has what the user sets.
fn directory() -> PathBuf {
    directory_of("XDG_CONFIG_HOME", ".config").join("opencode")
}

fn file(scope: Scope) -> PathBuf {
    plugin_in(&match scope {
        // opencode reads the user's usual directory, too.
        Scope::User => match std::env::var_os("OPENCODE_CONFIG_DIR") {
            Some(directory) if !directory.is_empty() => current_directory().join(directory),
            _ => directory(),
        },
        Scope::Project => current_directory().join(".opencode"),
    })
}

/// Returns all files in which opencode, started here, finds the plugin.
fn files() -> Vec<PathBuf> {
    let mut files = vec![
        file(Scope::User),
        plugin_in(&directory()),
        plugin_in(&home().join(".opencode")),
    ];
    // It also looks in the directories above, up to the top of the repository.
    let here = current_directory();
    for directory in here.ancestors() {
        files.push(plugin_in(&directory.join(".opencode")));
        if directory.join(".git").exists() {
            break;
        }
    }
    files
}

/// Returns the files in which its settings may be.
fn settings_files() -> Vec<PathBuf> {
    let plugins = files().into_iter();
    let mut directories: Vec<_> = plugins
        .filter_map(|file| Some(file.parent()?.parent()?.to_owned()))
        .collect();
    directories.push(current_directory());
    let names = ["opencode.jsonc", "opencode.json"];
    let files = directories
        .iter()
        .flat_map(|it| names.map(|name| it.join(name)));
    files.collect()
}

/// Returns the edits of its last session in the current directory, which it has in a data base and
/// tells itself, without reading the user's settings.
fn edits() -> Option<Vec<Edit>> {
    let data = directory_of("XDG_DATA_HOME", ".local/share").join("opencode");
    if !data.is_dir() {
        return None;
    }
    let sessions = told(&["session", "list", "--max-count", "1", "--format", "json"])?;
    let session = told(&["export", sessions[0]["id"].as_str()?])?;
    let messages = session["messages"].as_array()?.iter();
    let parts = messages.flat_map(|message| message["parts"].as_array().into_iter().flatten());
    Some(parts.filter_map(edit_in).collect())
}

/// Returns what it prints, in JSON, when it is called with `arguments`.
fn told(arguments: &[&str]) -> Option<Value> {
    // It would put files beside the user's settings.
    let name = format!("agent-q-diff-opencode-{}", std::process::id());
    let directory = std::env::temp_dir().join(name);
    fs::create_dir(&directory).ok()?;
    let mut command = Command::new("opencode");
    command
        .arg("--pure")
        .args(arguments)
        .env("XDG_CONFIG_HOME", &directory)
        .env("OPENCODE_DISABLE_PROJECT_CONFIG", "1")
        .env_remove("OPENCODE_CONFIG_DIR");
    let (lines, _) = lines_of(command, "", |_| false);
    let _ = fs::remove_dir_all(&directory);
    serde_json::from_str(&lines.join("\n")).ok()
}

/// Returns the edit in `part` of a message.
pub fn edit_in(part: &Value) -> Option<Edit> {
    let (state, input) = (&part["state"], &part["state"]["input"]);
    if state["status"] != "completed" {
        return None;
    }
    let path = match part["tool"].as_str()? {
        "edit" | "multiedit" | "write" => input["filePath"].as_str()?.to_owned(),
        // Its patch names the files.
        "apply_patch" | "patch" => {
            let patch = input["patchText"]
                .as_str()
                .or_else(|| input["patch"].as_str())?;
            let mut names = patch.lines().filter_map(|line| {
                let line = line.strip_prefix("*** ")?;
                Some(line.split_once(" File: ")?.1.to_owned())
            });
            names.next()?
        }
        _ => return None,
    };
    let end = Duration::from_millis(state["time"]["end"].as_u64()?);
    Some(Edit {
        path,
        at: SystemTime::UNIX_EPOCH + end,
    })
}
