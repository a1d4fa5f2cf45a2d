//! The history: what agents proposed, and what became of it, in a file of the user's for all projects.
//!
//! Each [`Event`] is a line of JSON. Several programs may write at once: who does, or rotates the file,
//! holds a lock on it. Whoever gets the lock of a file that was renamed meanwhile opens the new one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::file::{self, Links};

/// How long the lock is waited for: a torn line is better than an event that is missing.
const LOCK_TIME: Duration = Duration::from_secs(1);

/// Time between attempts to take the lock.
const LOCK_PAUSE: Duration = Duration::from_millis(2);

/// Most bytes at the end of a file that are read, however long its lines are.
const MAX_READ: u64 = 16 << 20;

/// Number of bytes at the end of a file that are read first.
const FIRST_READ: u64 = 256 << 10;

/// What an agent proposed, and what became of it. What is not known is left out.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
#[rustfmt::skip]
pub struct Event {
    /// When it was recorded, in UTC as by ISO 8601.
    #[serde(deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// The tool that was called, or `review`.
    #[serde(deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// What the agent is called.
    #[serde(deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What the agent said about it.
    #[serde(deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The file, or the folder of several.
    #[serde(deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// What became of it, in words.
    #[serde(deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// The number of hunks.
    #[serde(deserialize_with = "fitting", skip_serializing_if = "Option::is_none")]
    pub total: Option<i64>,
    /// The number of those whose change is in the file.
    #[serde(deserialize_with = "fitting", skip_serializing_if = "Option::is_none")]
    pub in_file: Option<i64>,
    /// Whether the file was saved.
    #[serde(deserialize_with = "fitting", skip_serializing_if = "Option::is_none")]
    pub saved: Option<bool>,
    /// A hash of the file before that.
    #[serde(deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    pub hash_before: Option<String>,
    /// A hash of the file after it.
    #[serde(deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    pub hash_after: Option<String>,
    /// What became of each hunk.
    #[serde(deserialize_with = "fitting", skip_serializing_if = "Option::is_none")]
    pub hunks: Option<Vec<Hunk>>,
    /// Who decided it.
    #[serde(deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    /// Why.
    #[serde(deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The proposal.
    #[serde(deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// What others, or other versions, have added.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

/// What became of a hunk.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
#[rustfmt::skip]
pub struct Hunk {
    /// Its number, from 0.
    #[serde(deserialize_with = "fitting", skip_serializing_if = "Option::is_none")]
    pub index: Option<i64>,
    /// Its mark.
    #[serde(deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Whether its change is in the file.
    #[serde(deserialize_with = "fitting", skip_serializing_if = "Option::is_none")]
    pub in_file: Option<bool>,
    /// Where its change is, unless it is in the file: `buffer`, `unsaved`, `changed` or `unknown`.
    #[serde(rename = "where", deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    pub whereabouts: Option<String>,
    /// What the user made of it.
    #[serde(deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    pub edited: Option<String>,
    /// What the user said about it.
    #[serde(deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Why it was decided so.
    #[serde(deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The rule that decided it.
    #[serde(deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    /// What others, or other versions, have added.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

// Others may write the file, too. A value of another type costs no line.

fn text<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::Null => None,
        Value::String(text) => Some(text),
        other => Some(other.to_string()),
    })
}

fn fitting<'de, D: Deserializer<'de>, T: DeserializeOwned>(from: D) -> Result<Option<T>, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(from)?).ok())
}

/// A file with a history, and those that it was before it became too large.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    /// The file that is written to. The latest that is rotated is named like it, with `.1` at its end.
    pub file: PathBuf,
    /// Size in bytes from which on it is rotated; `None` is never.
    pub max_bytes: Option<u64>,
    /// How many rotated files are kept.
    pub n_old: u32,
}

impl History {
    /// Records `event`. The file, and the folders above it that are missing, are made for the user alone.
    ///
    /// # Errors
    ///
    /// If the file cannot be written, or is no regular file.
    pub fn record(&self, event: &Event) -> io::Result<()> {
        let mut line = serde_json::to_vec(event)?;
        line.push(b'\n');
        if let Some(folder) = self.file.parent() {
            file::make_private(folder)?;
        }
        let (mut file, is_locked) = self.open()?;
        let mut size = file.metadata()?.len();
        let is_full = self.max_bytes.is_some_and(|max| size >= max.max(1));
        // A file that is too large is better than an event that is missing.
        if is_locked && is_full && self.rotate().is_ok() {
            file = self.open()?.0;
            size = file.metadata()?.len();
        }
        let mut last = [b'\n'];
        if size > 0 {
            file.read_at(&mut last, size - 1)?;
        }
        if last != *b"\n" {
            // Somebody was interrupted.
            line.insert(0, b'\n');
        }
        let written = file.write_all(&line);
        if written.is_err() && is_locked {
            let _ = file.set_len(size);
        }
        written
    }

    /// Opens the file, and returns whether it is locked, which lasts until it is closed.
    fn open(&self) -> io::Result<(File, bool)> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true).mode(0o600);
        let begun = Instant::now();
        loop {
            let file = file::open(&self.file, Links::Followed, &mut options)?;
            let is_locked = flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
            let there = fs::metadata(&self.file);
            let is_there = |opened: &fs::Metadata| {
                there.is_ok_and(|there| (there.dev(), there.ino()) == (opened.dev(), opened.ino()))
            };
            if is_locked && is_there(&file.metadata()?) || begun.elapsed() >= LOCK_TIME {
                return Ok((file, is_locked));
            }
            if !is_locked {
                std::thread::sleep(LOCK_PAUSE);
            }
        }
    }

    /// Gives each file the next number.
    fn rotate(&self) -> io::Result<()> {
        if self.n_old == 0 {
            return fs::remove_file(&self.file);
        }
        for n in (0..self.n_old).rev() {
            match fs::rename(self.name(n), self.name(n + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the name of the `n`th rotated file; 0 is the current one.
    fn name(&self, n: u32) -> PathBuf {
        let mut name = self.file.clone().into_os_string();
        if n > 0 {
            name.push(format!(".{n}"));
        }
        name.into()
    }

    /// Returns the latest events, at most `n`, the latest first. Lines that are none are skipped.
    ///
    /// # Errors
    ///
    /// If a file is there and cannot be read, or is no regular file.
    pub fn latest(&self, n: usize) -> io::Result<Vec<Event>> {
        let mut events = Vec::new();
        for old in 0..=self.n_old {
            if events.len() < n {
                events.extend(latest_in(&self.name(old), n - events.len())?);
            }
        }
        Ok(events)
    }
}

/// Returns the events in the last `n` lines of the file at `path`, the last one first. Only its end is
/// read, in each attempt twice as much.
fn latest_in(path: &Path, n: usize) -> io::Result<Vec<Event>> {
    let file = match file::open(path, Links::Followed, OpenOptions::new().read(true)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        opened => opened?,
    };
    let size = file.metadata()?.len();
    let most = size.min(MAX_READ);
    let mut n_bytes = FIRST_READ.min(most);
    loop {
        let start = size - n_bytes;
        let mut bytes = vec![0; usize::try_from(n_bytes).unwrap_or_default()];
        file.read_exact_at(&mut bytes, start)?;
        let all = bytes.split(|&byte| byte == b'\n');
        // What the first one begins with was not read.
        let lines = all.skip(usize::from(start > 0));
        let lines: Vec<&[u8]> = lines.filter(|line| !line.is_empty()).collect();
        if lines.len() >= n || n_bytes == most {
            let lines = lines.iter().rev().take(n);
            return Ok(lines
                .filter_map(|line| serde_json::from_slice(line).ok())
                .collect());
        }
        n_bytes = (2 * n_bytes).min(most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(folder: &tempfile::TempDir) -> History {
        History {
            file: folder.path().join("new/log.jsonl"),
            max_bytes: None,
            n_old: 0,
        }
    }

    fn event(tool: &str) -> Event {
        Event {
            tool: Some(tool.to_owned()),
            ..Event::default()
        }
    }

    fn tools(events: &[Event]) -> Vec<&str> {
        let tools = events.iter().map(|event| event.tool.as_deref());
        tools.map(Option::unwrap_or_default).collect()
    }

    #[test]
    fn what_others_have_added_to_an_event_stays() {
        let line =
            r#"{"tool":"x","hunks":[{"index":1,"new":[true]}],"diff":"","newer":{"a":null}}"#;
        let event: Event = serde_json::from_str(line).unwrap();
        assert_eq!(event.hunks.as_ref().unwrap()[0].index, Some(1));
        assert_eq!(serde_json::to_string(&event).unwrap(), line);
    }

    #[test]
    fn a_value_of_another_type_costs_no_line() {
        let line = r#"{"tool":[1],"total":"two","saved":null,"hunks":{"a":1},"reason":null}"#;
        let read: Event = serde_json::from_str(line).unwrap();
        assert_eq!(read, event("[1]"));
    }

    #[test]
    fn of_a_huge_file_only_the_end_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let history = history(&folder);
        history.record(&event("first")).unwrap();
        // It has a hole, which no disk and no memory could hold.
        let file = OpenOptions::new().write(true).open(&history.file).unwrap();
        file.set_len(1 << 43).unwrap();
        for n in 0..5 {
            history.record(&event(&n.to_string())).unwrap();
        }
        assert_eq!(tools(&history.latest(3).unwrap()), ["4", "3", "2"]);
        assert_eq!(history.latest(100).unwrap().len(), 5);
    }

    #[test]
    fn who_holds_the_lock_for_long_costs_no_event_and_no_rotation() {
        let folder = tempfile::tempdir().unwrap();
        let mut history = history(&folder);
        history.record(&event("1")).unwrap();
        history.max_bytes = Some(1);
        let other = File::open(&history.file).unwrap();
        flock(&other, FlockOperation::LockExclusive).unwrap();
        history.record(&event("2")).unwrap();
        assert_eq!(tools(&history.latest(5).unwrap()), ["2", "1"]);
        // When it has ended, however that was, the lock is free.
        drop(other);
        history.record(&event("3")).unwrap();
        assert_eq!(tools(&history.latest(5).unwrap()), ["3"]);
    }
}
