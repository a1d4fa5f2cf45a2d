//! What is recorded of a project: each record is a change of a [`Ledger`](crate::Ledger).

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};

use crate::authors::Written;
use crate::path::{self, Path};
use crate::processes::{self, Processes};
use crate::programs::Known;
use crate::rounds::RoundRecord;
use crate::transcript::Transcript;
use crate::version::{Digest, Version};

/// A turn of an agent: from a prompt of the user's until the agent has ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Turn {
    /// Its number, from 1.
    pub id: u64,
    /// When it began, in seconds since 1970.
    pub time: u64,
    /// HEAD at that time.
    pub head: Option<String>,
    /// What the agent is called.
    pub agent: String,
    /// The agent's name for its session; empty if it has none.
    pub session: String,
    /// The first line of the prompt; empty if it is not known.
    pub title: String,
    /// The agent's process, if that is known: when it is gone, the turn is over.
    pub pid: Option<u32>,
    /// The agent's own name for the turn; empty if it has none.
    #[serde(default)]
    pub name: String,
    /// The agent's record of its session, if that is known: once it says so, the turn is over.
    #[serde(default)]
    pub transcript: Option<Transcript>,
    /// Whether it has ended.
    #[serde(default)]
    pub is_over: bool,
}

impl Turn {
    /// Returns whether its agent still runs, as far as that is known.
    pub fn is_alive(&self) -> bool {
        let pid = self
            .pid
            .and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        // It may be another user's, who may not be told.
        pid.is_none_or(|pid| {
            test_kill_process(pid) != Err(Errno::SRCH) && !processes::is_zombie(pid)
        })
    }

    /// Returns whether it is not over, as far as that is known: its agent still runs, and was neither
    /// interrupted nor has failed.
    pub fn goes_on(&self) -> bool {
        let says_ended = |transcript: &Transcript| transcript.says_ended();
        !self.is_over && self.is_alive() && !self.transcript.as_ref().is_some_and(says_ended)
    }

    /// Returns when the agent was last seen to do anything in it, in seconds since 1970.
    pub fn last_seen(&self) -> u64 {
        let written = self.transcript.as_ref().and_then(Transcript::last_written);
        written.unwrap_or_default().max(self.time)
    }
}

/// What a file held before something was taken out of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenOut {
    /// Its path.
    #[serde(with = "path")]
    pub path: Path,
    /// When that was, in seconds since 1970.
    pub time: u64,
    /// What it held.
    pub had: Version,
    /// What it held after that; `None` if that was not told, since Emacs ended meanwhile.
    pub left: Option<Version>,
}

/// A pending hunk that the user has rejected, to be taken out when no agent is at work any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct HunkNote {
    /// Its [`Key`](agent_q_diff_engine::key::Key); empty once nothing of the file was pending.
    pub hunk: String,
    /// Why.
    pub comment: Option<String>,
    /// False where a version before has noted only a comment on the hunk, which becomes one on its lines.
    pub is_waiting: bool,
}

/// What git's index has of a path, where that is not what HEAD has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Staged {
    /// Its mode and the name of its object.
    pub object: String,
    /// It as a checkout would write it.
    pub version: Version,
}

/// Lines of files that hide others from git and are no part of the project, each after the file's name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Excludes {
    /// Those that count as the user's.
    pub users: Vec<String>,
    /// Those that do not.
    pub others: Vec<String>,
}

/// A change of a ledger, to be written down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Record {
    /// The commit that reviewed texts without an entry are from.
    Base(Option<String>),
    /// The reviewed text of a path.
    Reviewed(#[serde(with = "path")] Path, Version),
    /// The reviewed text of a path is the base's.
    AsBase(#[serde(with = "path")] Path),
    /// The state of a path.
    Seen(#[serde(with = "path")] Path, Seen),
    /// A turn of an agent has begun, or is written down again.
    Turn(Turn),
    /// The turn with this number has ended.
    TurnOver(u64),
    /// Something is about to be taken out of a file.
    TakenOut(TakenOut),
    /// What the path holds after the last [`Record::TakenOut`] of it.
    Left(#[serde(with = "path")] Path, Version),
    /// What the user has noted of hunks of a path, in their order.
    Noted(#[serde(with = "path")] Path, Vec<HunkNote>),
    /// What the index has of a path; `None` if that is what HEAD has.
    Staged(#[serde(with = "path")] Path, Option<Staged>),
    /// Whether what the user stages is reviewed.
    KeepsStaged(bool),
    /// Whether a file was left out, so that what it held is not known.
    LeftOut(#[serde(with = "path")] Path, bool),
    /// Whether HEAD has changes of a path that somebody else than the user committed, and that are pending.
    InHead(#[serde(with = "path")] Path, bool),
    /// A commit that was the tip of a branch at a look.
    Tip(String),
    /// A commit that somebody else than the user made.
    OthersCommit(String),
    /// The processes that turns left running.
    Processes(Processes),
    /// What git runs by itself, as the user knows it.
    Programs(Known),
    /// The lines that hide files from git.
    Excludes(Excludes),
    /// What the user or an agent has said.
    Round(RoundRecord),
    /// The edits of an agent pass before they are reviewed, except of files that these patterns match;
    /// or, without them, they do not pass.
    Passes(String, Option<Vec<String>>),
    /// The text with this digest is missing or damaged; what was known by it is not known any more.
    Lost(Digest),
    /// Something about the ledger itself that the user is to read.
    Said(String),
    /// The user was shown all of that.
    Heard,
}

impl Record {
    /// Returns the first path in it that no file of a project can have, escaped as in the record, and
    /// what is wrong with it; `None` if there is none.
    pub fn flaw(&self) -> Option<(String, &'static str)> {
        let paths = match self {
            // Without a path, they are about the whole review.
            Record::Noted(path, _) if path.is_empty() => Vec::new(),
            Record::Reviewed(path, _)
            | Record::AsBase(path)
            | Record::Seen(path, _)
            | Record::TakenOut(TakenOut { path, .. })
            | Record::Left(path, _)
            | Record::Noted(path, _)
            | Record::Staged(path, _)
            | Record::LeftOut(path, _)
            | Record::InHead(path, _) => vec![path],
            Record::Round(record) => record.paths(),
            _ => Vec::new(),
        };
        let mut paths = paths.into_iter();
        paths.find_map(|path| Some((path::escaped(path), path::flaw(path)?)))
    }

    /// Returns whether its names of commits, which are arguments for git, can be such names.
    pub fn is_safe(&self) -> bool {
        let commit = match self {
            Record::Base(commit) => commit.as_ref(),
            Record::Turn(turn) => turn.head.as_ref(),
            Record::Tip(commit) | Record::OthersCommit(commit) => Some(commit),
            _ => None,
        };
        let is_digit = |byte: u8| byte.is_ascii_hexdigit();
        commit.is_none_or(|name| !name.is_empty() && name.bytes().all(is_digit))
    }
}

/// The state of a path at some time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Seen {
    /// What it held.
    pub working: Version,
    /// What was reviewed then.
    pub reviewed: Version,
    /// Whether the user brought it back to that, as by a stash or another branch.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_back: bool,
    /// Whether the user made it of what it held before, in an editor.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_typed: bool,
    /// Who wrote what was pending.
    pub written: Written,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::authors::Author;
    use crate::processes::Task;
    use crate::rounds;

    /// A record of each kind.
    pub(crate) fn records() -> Vec<Record> {
        let file = Version::File {
            digest: Digest::of(b"text"),
            is_executable: true,
        };
        let link = Version::Link {
            digest: Digest::of(b"there"),
        };
        let path = b"a folder/\xff%\n".to_vec();
        let mut all = vec![
            Record::Base(Some("0123abc".to_owned())),
            Record::Reviewed(path.clone(), file),
            Record::Reviewed(b"gone".to_vec(), Version::Absent),
            Record::AsBase(b"gone".to_vec()),
            Record::Seen(
                path.clone(),
                Seen {
                    working: link,
                    reviewed: file,
                    is_back: true,
                    is_typed: true,
                    written: Written {
                        authors: vec![Author::Turn(3), Author::User],
                        lines: Some(Digest::of(b"lines")),
                    },
                },
            ),
            Record::Turn(Turn {
                id: 3,
                time: 1_800_000_000,
                head: None,
                agent: "Claude Code".to_owned(),
                session: String::new(),
                title: ".\u{e9} %".to_owned(),
                pid: Some(7),
                ..Turn::default()
            }),
            Record::TurnOver(3),
            Record::TakenOut(TakenOut {
                path: path.clone(),
                time: 1_800_000_000,
                had: file,
                left: None,
            }),
            Record::Left(path.clone(), Version::Absent),
            Record::Noted(
                path,
                vec![
                    HunkNote {
                        hunk: "a1".to_owned(),
                        comment: Some("why\n not \u{e9}?".to_owned()),
                        is_waiting: false,
                    },
                    HunkNote {
                        hunk: "b2".to_owned(),
                        comment: None,
                        is_waiting: true,
                    },
                ],
            ),
            Record::Noted(b"gone".to_vec(), Vec::new()),
            Record::Staged(
                b"a%b".to_vec(),
                Some(Staged {
                    object: "0123abc".to_owned(),
                    version: file,
                }),
            ),
            Record::Staged(b"gone".to_vec(), None),
            Record::KeepsStaged(true),
            Record::KeepsStaged(false),
            Record::LeftOut(b"a%b".to_vec(), true),
            Record::LeftOut(b"gone".to_vec(), false),
            Record::Excludes(Excludes {
                users: vec![".git/info/exclude: *.o".to_owned()],
                others: vec!["~/x: \u{fffd}".to_owned()],
            }),
            Record::InHead(b"a%b".to_vec(), true),
            Record::InHead(b"gone".to_vec(), false),
            Record::Tip("0123abc".to_owned()),
            Record::OthersCommit("0123abc".to_owned()),
            Record::Processes(Processes {
                since: Some(7),
                left: vec![(8, 9)],
                beside: vec![(8, 9)],
                turn: 3,
                tasks: vec![Task {
                    turn: 3,
                    id: "b1".to_owned(),
                }],
            }),
            Record::Programs(Known::default().followed(
                &[("a hook".to_owned(), Digest::of(b"text"))].into(),
                Some(&[Author::Turn(3)]),
            )),
        ];
        all.extend(rounds::tests::records().into_iter().map(Record::Round));
        all.extend([
            Record::Round(RoundRecord::Told(7, None, None)),
            Record::Passes("Claude Code".to_owned(), Some(Vec::new())),
            Record::Passes(
                "Codex".to_owned(),
                Some(vec![".git/".to_owned(), "a b*".to_owned()]),
            ),
            Record::Passes("Codex".to_owned(), None),
            Record::Said("a ledger\n".to_owned()),
            Record::Lost(Digest::of(b"text")),
            Record::Heard,
            Record::Base(None),
        ]);
        all
    }

    #[test]
    fn records_are_read_as_they_were_written() {
        let turn = Record::Turn(Turn {
            name: "a turn".to_owned(),
            transcript: Some(Transcript {
                path: "/x.jsonl".to_owned(),
                from: 7,
            }),
            ..Turn::default()
        });
        for record in records().into_iter().chain([turn]) {
            let line = serde_json::to_string(&record).unwrap();
            assert!(!line.contains('\n'), "{line}");
            let read: Record = serde_json::from_str(&line).unwrap();
            assert_eq!(read, record, "{line}");
        }
    }

    #[test]
    fn a_path_is_readable_and_keeps_its_bytes() {
        let line = |path: &[u8]| serde_json::to_string(&Record::AsBase(path.to_vec())).unwrap();
        assert_eq!(
            line("a b/\u{e9}.txt".as_bytes()),
            "{\"as-base\":\"a b/\u{e9}.txt\"}"
        );
        assert_eq!(line(b"50%\xff\n"), r#"{"as-base":"50%25%FF\n"}"#);
        for wrong in ["%", "%4", "%zz", "%+1", "a%\u{e9}"] {
            let line = format!("{{\"as-base\":\"{wrong}\"}}");
            assert!(serde_json::from_str::<Record>(&line).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_commit_is_no_option_for_git() {
        assert!(Record::Tip("0123abc".to_owned()).is_safe());
        for name in ["", "--upload-pack=x", "HEAD"] {
            assert!(!Record::Base(Some(name.to_owned())).is_safe(), "{name}");
        }
    }
}
