//! What an agent has noted of its edits, what it says when it is asked, and when it last ran its hook.
//!
//! Agents keep a record of each session: an edit without the hook can be seen there. A record of
//! another form than was measured tells nothing, and versions that do not know a question say nothing.

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use agent_q_diff_reviewed::file::{self, Links};
use chrono::DateTime;
use serde_json::Value;

use super::{Agent, directory_of};

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

impl Edit {
    /// Returns the edit of the file `path`, a string, made at the timestamp of `noted`.
    pub fn of(path: &Value, noted: &Value) -> Option<Self> {
        let time = DateTime::parse_from_rfc3339(noted["timestamp"].as_str()?).ok()?;
        Some(Self {
            path: path.as_str()?.to_owned(),
            at: time.into(),
        })
    }
}

/// How long an agent may take to answer.
const TIMEOUT: Duration = Duration::from_secs(30);

/// What is said about whether an agent runs the hook, by the agent itself or by a check.
#[derive(Debug, PartialEq, Eq)]
pub enum Said {
    /// This is as it should be.
    Good(String),
    /// This is not, and how to mend it.
    Fault(String),
    /// This keeps no hook from being run, and the user should know it.
    Note(String),
}

/// Returns the edits in the records below `directory` that were written after `since`. `edit_of`
/// returns the edit in a line, if it has one; then the line has the text `mark`.
pub fn edits_in(
    directory: &Path,
    since: SystemTime,
    mark: &str,
    edit_of: impl Fn(&Value) -> Option<Edit>,
) -> Vec<Edit> {
    let mut records = Vec::new();
    collect(directory, MAX_DEPTH, since, &mut records);
    records.sort_by_key(|(written, _)| std::cmp::Reverse(*written));
    let records = records.iter().take(MAX_RECORDS);
    let texts = records.filter_map(|(_, file)| read_text(file));
    texts
        .flat_map(|text| {
            let lines = text.lines().filter(|line| line.contains(mark));
            let edits = lines.filter_map(|line| edit_of(&serde_json::from_str(line).ok()?));
            edits.collect::<Vec<_>>()
        })
        .collect()
}

/// Returns the text of the newest record below `directory`, without those of subagents.
pub fn last_in(directory: &Path) -> Option<String> {
    let mut records = Vec::new();
    collect(directory, MAX_DEPTH, SystemTime::UNIX_EPOCH, &mut records);
    records.retain(|(_, file)| {
        let name = file.file_name().unwrap_or_default();
        !name.as_encoded_bytes().starts_with(b"agent-")
    });
    read_text(&records.iter().max()?.1)
}

/// Returns the text of the file `path`, or `None` if it has none or cannot be read.
pub fn read_text(path: &Path) -> Option<String> {
    let bytes = file::read(path, Links::Followed, file::MAX_BYTES).ok()?;
    String::from_utf8(bytes).ok()
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

/// Returns what it means that `file` also runs `command` at `event`, after an edit.
pub fn other_hook(file: &str, event: &str, command: &str) -> String {
    format!(
        "{event}: {file} also runs {command}; what that changes in a file after an edit is told to \
         you and the agent, and is no part of what you decided"
    )
}

/// Runs `command` with `input`, and returns the lines of its output and of its errors, up to a line
/// that `is_last`. If it takes too long, there are none.
pub fn lines_of(
    mut command: Command,
    input: &str,
    is_last: impl Fn(&str) -> bool,
) -> (Vec<String>, Vec<String>) {
    let (mut out, mut errors) = (Vec::new(), Vec::new());
    let pipes = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let Ok(mut child) = pipes.spawn() else {
        return (out, errors);
    };
    let mut stdin = child.stdin.take().filter(|_| !input.is_empty());
    let (sender, lines) = channel();
    send_lines(child.stdout.take(), sender.clone(), true);
    send_lines(child.stderr.take(), sender, false);
    if let Some(stdin) = &mut stdin {
        let _ = stdin.write_all(input.as_bytes());
    }
    let end = Instant::now() + TIMEOUT;
    let is_answered = loop {
        match lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok((line, true)) => {
                let is_end = is_last(&line);
                out.push(line);
                if is_end {
                    break true;
                }
            }
            Ok((line, false)) => errors.push(line),
            Err(error) => break error == std::sync::mpsc::RecvTimeoutError::Disconnected,
        }
    };
    drop(stdin);
    let _ = child.kill();
    let _ = child.wait();
    if is_answered {
        (out, errors)
    } else {
        Default::default()
    }
}

/// Sends each line of `pipe`, with `mark`, to `sender`.
fn send_lines(
    pipe: Option<impl Read + Send + 'static>,
    sender: Sender<(String, bool)>,
    mark: bool,
) {
    let Some(pipe) = pipe else { return };
    thread::spawn(move || {
        for line in BufReader::new(pipe).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).into_owned();
            if sender.send((line, mark)).is_err() {
                return;
            }
        }
    });
}

/// Returns the file called `name` in which the program keeps something between its runs.
pub fn state_file(name: &str) -> PathBuf {
    directory_of("XDG_STATE_HOME", ".local/state")
        .join("agent-q-diff")
        .join(name)
}

/// Writes `text` into `file`, a [`state_file`], if that is possible.
pub fn write_state(file: &Path, text: &str) {
    let write = || {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        file::open(file, Links::Followed, &mut options)?.write_all(text.as_bytes())
    };
    if write().is_err()
        && let Some(directory) = file.parent()
    {
        let _ = fs::create_dir_all(directory).and_then(|()| write());
    }
}

/// Returns the file that is written whenever `agent` runs its hook.
fn last_run_file(agent: &Agent) -> PathBuf {
    state_file(&format!("last-run-{}", agent.name))
}

/// Notes that `agent` has run its hook now. If that cannot be noted, the edit is decided all the
/// same.
pub fn note_run(agent: &Agent) {
    write_state(&last_run_file(agent), "");
}

/// Returns when `agent` last ran its hook, or `None` if that was never noted.
pub fn last_run(agent: &Agent) -> Option<SystemTime> {
    fs::metadata(last_run_file(agent)).ok()?.modified().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{claude, codex, gemini, opencode};
    use super::*;

    /// What Claude Code 2.1.330, Codex 0.169.0, Gemini CLI 0.61.0 and opencode 1.18.33 have written
    /// about an edit, shortened.
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
        claude::edit_in(line)
            .or_else(|| codex::edit_in(line))
            .or_else(|| gemini::edit_in(line))
            .or_else(|| opencode::edit_in(line))
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
        let read = |since| edits_in(&directory, since, "toolUseResult", claude::edit_in).len();
        assert_eq!(read(SystemTime::UNIX_EPOCH), 1);
        assert_eq!(read(SystemTime::now() + Duration::from_secs(60)), 0);
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn a_program_that_does_not_end_is_read_up_to_its_answer() {
        let mut command = Command::new("sh");
        command.args(["-c", "read line; echo a; echo \"$line\"; exec sleep 600"]);
        let (out, _) = lines_of(command, "question\n", |line| line == "question");
        assert_eq!(out, ["a", "question"]);
    }
}
