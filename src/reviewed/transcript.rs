//! What an agent's own record of its session says of a turn: that the user has interrupted it, or that it has
//! failed, where the agent runs no hook for that.
//!
//! Such a record has a JSON object a line, the latest last. One of another form than was measured says nothing.

use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom};
use std::path::Path;
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::file::{self, Links};

/// Most bytes of a record that are read: its last ones.
const TAIL: u64 = 256 * 1024;

/// The record of an agent's session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transcript {
    /// Its file.
    pub path: String,
    /// Its length when the turn began: what is before that is about earlier turns.
    pub from: u64,
}

/// What an entry of a record says of the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    /// It was interrupted, or has failed.
    Ended,
    /// It is at work.
    Works,
}

impl Transcript {
    /// Returns the record `path` as it is at the beginning of a turn.
    pub fn now(path: &str) -> Transcript {
        Transcript {
            path: path.to_owned(),
            from: fs::metadata(path).map_or(0, |found| found.len()),
        }
    }

    /// Returns whether the last of its entries that says anything of the turn says that the agent was
    /// interrupted, or has failed.
    pub fn says_ended(&self) -> bool {
        let lines = self.tail().unwrap_or_default();
        let lines = lines.rsplit(|&byte| byte == b'\n');
        let mut said = lines.filter_map(|line| says(&serde_json::from_slice(line).ok()?));
        said.next() == Some(Says::Ended)
    }

    /// Returns when the agent last wrote anything there, in seconds since 1970.
    pub fn last_written(&self) -> Option<u64> {
        let written = fs::metadata(&self.path).ok()?.modified().ok()?;
        Some(written.duration_since(UNIX_EPOCH).ok()?.as_secs())
    }

    /// Returns what was written there since the turn began, or the last of that.
    fn tail(&self) -> Option<Vec<u8>> {
        let mut options = OpenOptions::new();
        let path = Path::new(&self.path);
        let mut file = file::open(path, Links::Followed, options.read(true)).ok()?;
        let length = file.metadata().ok()?.len();
        // One that was written anew begins again.
        let from = if length < self.from { 0 } else { self.from };
        let start = from.max(length.saturating_sub(TAIL));
        file.seek(SeekFrom::Start(start)).ok()?;
        file::read_rest(&mut file, 2 * TAIL).ok()
    }
}

/// Returns what `entry` says, if that is anything: of Claude Code, of Codex, or of Gemini CLI, which have other
/// types of entries.
fn says(entry: &Value) -> Option<Says> {
    let content = &entry["message"]["content"];
    let text = content.as_str().or_else(|| content[0]["text"].as_str());
    let text = text.unwrap_or_default();
    match entry["type"].as_str()? {
        // What its subagents say.
        _ if entry["isSidechain"] == true => None,
        "user" if text.starts_with("[Request interrupted by user") => Some(Says::Ended),
        // Gemini CLI writes the prompt again, and what became of its calls, also after it was interrupted.
        "user" if entry["content"].is_array() => None,
        "gemini" => says_of_calls(entry["toolCalls"].as_array().map_or(&[], Vec::as_slice)),
        "assistant" if entry["isApiErrorMessage"] == true => Some(Says::Ended),
        "user" | "assistant" => Some(Says::Works),
        "event_msg" if entry["payload"]["type"] == "turn_aborted" => Some(Says::Ended),
        // One that has not failed runs a hook.
        "event_msg" if entry["payload"]["error"].is_object() => Some(Says::Ended),
        "event_msg" | "response_item" => Some(Says::Works),
        "info" if entry["content"] == "Request cancelled." => Some(Says::Ended),
        _ => None,
    }
}

/// Returns what `calls` of Gemini CLI's say: if its user did not want any of them, it does not go on.
fn says_of_calls(calls: &[Value]) -> Option<Says> {
    let is_cancelled = |call: &&Value| call["status"] == "cancelled";
    match calls.iter().filter(is_cancelled).count() {
        0 => Some(Says::Works),
        n if n == calls.len() => Some(Says::Ended),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// What Claude Code 2.1.332, Codex 0.171.0 and Gemini CLI 0.61.0 write, shortened: of each, while it works,
    /// and when it was interrupted or has failed.
    const ENTRIES: [(&str, &str); 8] = [
        (
            r#"{"type":"assistant","isSidechain":false,"message":{"content":[{"type":"tool_use"}]}}"#,
            r#"{"type":"user","message":{"content":[{"type":"text","text":"[Request interrupted by user for tool use]"}]}}"#,
        ),
        (
            r#"{"type":"user","isSidechain":false,"message":{"content":"Fix it"}}"#,
            r#"{"type":"assistant","isApiErrorMessage":true,"message":{"content":[{"type":"text","text":"API Error: 400"}]}}"#,
        ),
        (
            r#"{"type":"response_item","payload":{"type":"function_call"}}"#,
            r#"{"type":"event_msg","payload":{"type":"turn_aborted","reason":"interrupted"}}"#,
        ),
        (
            r#"{"type":"event_msg","payload":{"type":"task_complete","error":null}}"#,
            r#"{"type":"event_msg","payload":{"type":"task_complete","error":{"message":"429"}}}"#,
        ),
        (
            r#"{"type":"gemini","content":"","toolCalls":[]}"#,
            r#"{"type":"info","content":"Request cancelled."}"#,
        ),
        (
            r#"{"type":"gemini","content":"","toolCalls":[{"status":"success"}]}"#,
            r#"{"type":"info","content":"Request cancelled."}
{"type":"gemini","content":"","toolCalls":[{"status":"success"},{"status":"cancelled"}]}
{"type":"user","content":[{"functionResponse":{"id":"1","response":{"error":"Cancelled"}}}]}"#,
        ),
        // Its user has refused the call, by ESC, and by another answer.
        (
            r#"{"type":"gemini","content":"","toolCalls":[{"status":"success"}]}"#,
            r#"{"type":"info","content":"Request cancelled."}
{"type":"user","content":[{"text":"<session_context>"},{"text":"Begin."}]}"#,
        ),
        (
            r#"{"type":"gemini","content":"","toolCalls":[{"status":"success"},{"status":"cancelled"}]}
{"type":"user","content":[{"functionResponse":{"id":"1","response":{"output":""}}}]}
{"type":"gemini","content":"Well."}"#,
            r#"{"type":"gemini","content":"","toolCalls":[{"status":"cancelled"}]}
{"type":"user","content":[{"functionResponse":{"id":"1","response":{"error":"Cancelled"}}}]}"#,
        ),
    ];

    /// What is no step of the agent itself.
    const ASIDE: [&str; 3] = [
        r#"{"type":"queue-operation","operation":"enqueue","content":"More"}"#,
        r#"{"type":"assistant","isSidechain":true,"message":{"content":[]}}"#,
        "no JSON",
    ];

    struct Record(std::path::PathBuf);

    impl Record {
        fn new(name: &str) -> Record {
            let name = format!("aqd-transcript-{}-{name}", std::process::id());
            let file = std::env::temp_dir().join(name);
            fs::write(&file, "").unwrap();
            Record(file)
        }

        fn add(&self, lines: &[&str]) {
            let mut file = OpenOptions::new().append(true).open(&self.0).unwrap();
            for line in lines {
                writeln!(file, "{line}").unwrap();
            }
        }

        fn now(&self) -> Transcript {
            Transcript::now(self.0.to_str().unwrap())
        }
    }

    impl Drop for Record {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.0);
        }
    }

    #[test]
    fn an_interruption_and_a_failure_are_seen_until_the_agent_goes_on() {
        for (at, (works, ended)) in ENTRIES.iter().enumerate() {
            let record = Record::new(&format!("ends-{at}"));
            let turn = record.now();
            assert!(!turn.says_ended());
            record.add(&[works]);
            assert!(!turn.says_ended());
            record.add(&[ended]);
            record.add(&ASIDE);
            assert!(turn.says_ended(), "{ended}");
            // That is not about the turn that begins now.
            assert!(!record.now().says_ended());
            record.add(&[works]);
            assert!(!turn.says_ended());
        }
    }

    #[test]
    fn of_a_long_record_the_end_is_read_and_one_that_is_not_there_says_nothing() {
        let record = Record::new("long");
        let turn = record.now();
        let text = "x".repeat(usize::try_from(TAIL).unwrap());
        record.add(&[&format!(
            r#"{{"type":"user","message":{{"content":"{text}"}}}}"#
        )]);
        record.add(&[ENTRIES[0].1]);
        assert!(turn.says_ended());
        // It was written anew.
        fs::write(&record.0, format!("{}\n", ENTRIES[0].1)).unwrap();
        assert!(
            Transcript {
                from: 1000,
                ..turn.clone()
            }
            .says_ended()
        );
        fs::remove_file(&record.0).unwrap();
        assert!(!turn.says_ended() && turn.last_written().is_none());
        assert!(!Transcript::now("/dev/zero").says_ended());
    }
}
