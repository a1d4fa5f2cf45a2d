//! What an agent itself has noted of its edits: an edit without the hook can be seen there.
//!
//! Agents keep a record of each session. The forms were read off Claude Code 2.1.330, Codex 0.169.0,
//! Gemini CLI 0.61.0 and opencode 1.18.33. A record of another form tells nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use chrono::DateTime;
use serde_json::Value;

use super::ask::lines_of;
use crate::options::Client;
use crate::places::directory_of_client;

/// Number of records that are looked at, the newest ones.
const MAX_RECORDS: usize = 20;

/// Number of directories between a record and the directory of all records.
const MAX_DEPTH: usize = 3;

/// An edit that an agent has made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The file, as the agent names it.
    pub path: String,
    /// When it was made.
    pub at: SystemTime,
}

/// Returns the edits that `client` has noted after the time `since`. Of opencode, those are the ones
/// in its last session in the current directory.
pub fn edits_after(client: Client, since: SystemTime) -> Vec<Edit> {
    let directory = directory_of_client(client);
    let mut edits = match client {
        Client::Claude => of_records(
            &directory.join("projects"),
            since,
            "toolUseResult",
            edit_of_claude,
        ),
        Client::Codex => of_records(
            &directory.join("sessions"),
            since,
            "FileChange",
            edit_of_codex,
        ),
        Client::Gemini => of_records(&directory.join("tmp"), since, "toolCalls", edit_of_gemini),
        Client::Opencode => of_opencode().unwrap_or_default(),
    };
    edits.retain(|edit| edit.at > since);
    edits
}

/// Returns the edits in the records below `directory` that were written after `since`. `edit_of`
/// returns the edit in a line, if it has one; then the line has the text `mark`.
fn of_records(
    directory: &Path,
    since: SystemTime,
    mark: &str,
    edit_of: impl Fn(&Value) -> Option<Edit>,
) -> Vec<Edit> {
    let mut records = Vec::new();
    collect(directory, MAX_DEPTH, since, &mut records);
    records.sort_by_key(|(written, _)| std::cmp::Reverse(*written));
    let records = records.iter().take(MAX_RECORDS);
    let texts = records.filter_map(|(_, file)| fs::read_to_string(file).ok());
    texts
        .flat_map(|text| {
            let lines = text.lines().filter(|line| line.contains(mark));
            let edits = lines.filter_map(|line| edit_of(&serde_json::from_str(line).ok()?));
            edits.collect::<Vec<_>>()
        })
        .collect()
}

/// Adds to `records` those that were written after `since`, with the time of that, from `directory`
/// and directories in it, `depth` of them deep.
fn collect(
    directory: &Path,
    depth: usize,
    since: SystemTime,
    records: &mut Vec<(SystemTime, PathBuf)>,
) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let (path, Ok(metadata)) = (entry.path(), entry.metadata()) else {
            continue;
        };
        if metadata.is_dir() && depth > 0 {
            collect(&path, depth - 1, since, records);
        } else if metadata.is_file()
            && path.extension().is_some_and(|name| name == "jsonl")
            && let Ok(written) = metadata.modified()
            && written > since
        {
            records.push((written, path));
        }
    }
}

/// Returns the time that `line` was written, by its timestamp.
fn time_of(line: &Value) -> Option<SystemTime> {
    let time = DateTime::parse_from_rfc3339(line["timestamp"].as_str()?).ok()?;
    Some(time.into())
}

/// Claude Code's `Edit` and `Write` note a patch, `NotebookEdit` the notebook.
fn edit_of_claude(line: &Value) -> Option<Edit> {
    let result = &line["toolUseResult"];
    let path = match result["structuredPatch"].is_array() {
        true => &result["filePath"],
        false if result["edit_mode"].is_string() && !result["error"].is_string() => {
            &result["notebook_path"]
        }
        false => return None,
    };
    Some(Edit {
        path: path.as_str()?.to_owned(),
        at: time_of(line)?,
    })
}

fn edit_of_codex(line: &Value) -> Option<Edit> {
    let item = &line["payload"]["item"];
    let is_made = item["type"] == "FileChange" && item["status"] == "completed";
    let path = item["changes"].as_object()?.keys().next()?;
    is_made.then_some(Edit {
        path: path.clone(),
        at: time_of(line)?,
    })
}

fn edit_of_gemini(line: &Value) -> Option<Edit> {
    let is_made = |call: &&Value| {
        let is_edit = call["name"] == "replace" || call["name"] == "write_file";
        is_edit && call["status"] == "success"
    };
    let call = line["toolCalls"].as_array()?.iter().rfind(is_made)?;
    Some(Edit {
        path: call["args"]["file_path"].as_str()?.to_owned(),
        at: time_of(call)?,
    })
}

/// Returns the edits of opencode's last session in the current directory, which it has in a data base
/// and tells itself.
fn of_opencode() -> Option<Vec<Edit>> {
    let sessions = told_by_opencode(&["session", "list", "--max-count", "1", "--format", "json"])?;
    let session = told_by_opencode(&["export", sessions[0]["id"].as_str()?])?;
    let messages = session["messages"].as_array()?.iter();
    let parts = messages.flat_map(|message| message["parts"].as_array().into_iter().flatten());
    Some(parts.filter_map(edit_of_opencode).collect())
}

/// Returns what opencode prints, in JSON, when it is called with `arguments`.
fn told_by_opencode(arguments: &[&str]) -> Option<Value> {
    let mut command = Command::new("opencode");
    command.arg("--pure").args(arguments);
    let (lines, _) = lines_of(command, "", |_| false);
    serde_json::from_str(&lines.join("\n")).ok()
}

fn edit_of_opencode(part: &Value) -> Option<Edit> {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What the agents named above have written about an edit, shortened.
    fn lines() -> [Value; 7] {
        let time = "2026-11-24T18:15:49.889Z";
        [
            json!({ "timestamp": time, "type": "user", "toolUseResult": {
                "filePath": "/p/a.txt", "oldString": "a", "newString": "A",
                "structuredPatch": [{ "lines": ["-a", "+A"] }] } }),
            json!({ "timestamp": time, "type": "event_msg", "payload": {
                "type": "item_completed", "item": { "type": "FileChange", "status": "completed",
                    "changes": { "/p/a.txt": { "type": "update" } } } } }),
            json!({ "timestamp": "2026-11-24T18:15:49.000Z", "type": "gemini", "toolCalls": [
                { "name": "replace", "args": { "file_path": "/p/a.txt" }, "status": "success",
                  "timestamp": time },
                { "name": "write_file", "args": { "file_path": "/p/b.txt" }, "status": "error",
                  "timestamp": time }] }),
            json!({ "type": "tool", "tool": "edit", "state": {
                "status": "completed", "input": { "filePath": "/p/a.txt" },
                "metadata": { "filediff": {} }, "time": { "end": 1_795_544_149_889_u64 } } }),
            json!({ "timestamp": time, "type": "user", "toolUseResult": {
                "notebook_path": "/p/a.txt", "edit_mode": "insert", "new_source": "completed" } }),
            json!({ "type": "tool", "tool": "write", "state": {
                "status": "completed", "input": { "filePath": "/p/a.txt" },
                "metadata": {}, "time": { "end": 1_795_544_149_889_u64 } } }),
            json!({ "type": "tool", "tool": "apply_patch", "state": {
                "status": "completed", "input": {
                    "patchText": "*** Begin Patch\n*** Add File: /p/a.txt\n+a\n*** End Patch" },
                "metadata": {}, "time": { "end": 1_795_544_149_889_u64 } } }),
        ]
    }

    fn edit_in(line: &Value) -> Option<Edit> {
        edit_of_claude(line)
            .or_else(|| edit_of_codex(line))
            .or_else(|| edit_of_gemini(line))
            .or_else(|| edit_of_opencode(line))
    }

    #[test]
    fn an_edit_is_found_in_each_agent_s_record() {
        let at = SystemTime::UNIX_EPOCH + Duration::from_millis(1_795_544_149_889);
        let path = "/p/a.txt".to_owned();
        for line in lines() {
            let edit = Edit {
                path: path.clone(),
                at,
            };
            assert_eq!(edit_in(&line), Some(edit), "{line}");
        }
    }

    #[test]
    fn what_failed_or_edits_nothing_is_no_edit() {
        for line in lines() {
            let text = line.to_string();
            let text = text
                .replace("completed", "failed")
                .replace("success", "error");
            let text = text
                .replace("structuredPatch", "content")
                .replace("new_source", "error");
            let failed = serde_json::from_str(&text).unwrap();
            assert_eq!(edit_in(&failed), None, "{failed}");
        }
        assert_eq!(edit_in(&json!({})), None);
        let read = json!({ "type": "tool", "tool": "read", "state": { "status": "completed",
            "input": { "filePath": "/p/a.txt" }, "time": { "end": 1_795_544_149_889_u64 } } });
        assert_eq!(edit_in(&read), None);
    }

    #[test]
    fn only_records_written_since_are_read() {
        let directory = std::env::temp_dir().join(format!("records-{}", std::process::id()));
        let deep = directory.join("2026/11/24");
        fs::create_dir_all(&deep).unwrap();
        let [line, ..] = lines();
        fs::write(deep.join("a.jsonl"), format!("not JSON\n{line}\n")).unwrap();
        fs::write(deep.join("a.txt"), line.to_string()).unwrap();
        let read = |since| of_records(&directory, since, "toolUseResult", edit_of_claude).len();
        assert_eq!(read(SystemTime::UNIX_EPOCH), 1);
        assert_eq!(read(SystemTime::now() + Duration::from_secs(60)), 0);
        fs::remove_dir_all(&directory).unwrap();
    }
}
