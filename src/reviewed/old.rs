//! Reads the form of the ledger that version 0.1 of this package wrote: lines of words, divided by spaces.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::authors::{Written, parse_authors};
use crate::file::{self, Links};
use crate::path::unescaped;
use crate::record::{HunkNote, Record, Seen, Staged, TakenOut, Turn};
use crate::rounds::{
    Begun, Comment, KINDS, Message, Place, Rejected, Reply, RoundRecord, SIDES, STATES, Wrote,
    meaning,
};
use crate::version::{Digest, Version};

/// The first line of such a ledger.
pub const HEADER: &str = "agent-q-diff ledger 1\n";

/// The first line of what has taken its place, which that version refuses to read and to write.
pub const MOVED: &str = "agent-q-diff ledger 2: a newer version has it in the file \"record\"\n";

/// Returns whether the file at `path` is such a ledger, or was cut off so early that nobody can say.
pub fn is_there(path: &Path) -> bool {
    let mut start = [0; HEADER.len()];
    let opened = file::open(path, Links::Refused, OpenOptions::new().read(true));
    let read = opened.and_then(|file| file.read_at(&mut start, 0));
    // What cannot be read is said when it is to be migrated.
    match read {
        Ok(n) => start[..n] != MOVED.as_bytes()[..n] || n < start.len(),
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

/// Reads a record from `line`, which has no newline.
pub fn parse(line: &[u8]) -> Option<Record> {
    let line = std::str::from_utf8(line).ok()?;
    let words: Vec<&str> = line.split(' ').collect();
    Some(match words[..] {
        ["base", "-"] => Record::Base(None),
        ["base", commit] => Record::Base(Some(commit.to_owned())),
        ["reviewed", version, path] => Record::Reviewed(unescaped(path)?, Version::parse(version)?),
        ["as-base", path] => Record::AsBase(unescaped(path)?),
        [
            name @ ("seen" | "back"),
            working,
            reviewed,
            authors,
            lines,
            path,
        ] => {
            let written = Written {
                authors: parse_authors(authors)?,
                lines: match lines {
                    "-" => None,
                    _ => Some(Digest::parse(lines)?),
                },
            };
            let seen = Seen {
                working: Version::parse(working)?,
                reviewed: Version::parse(reviewed)?,
                is_back: name == "back",
                written,
            };
            Record::Seen(unescaped(path)?, seen)
        }
        ["turn", id, time, head, pid, agent, session, title] => Record::Turn(Turn {
            id: id.parse().ok()?,
            time: time.parse().ok()?,
            head: match head {
                "-" => None,
                _ => Some(head.to_owned()),
            },
            pid: match pid {
                "-" => None,
                _ => Some(pid.parse().ok()?),
            },
            agent: text_of(agent)?,
            session: text_of(session)?,
            title: text_of(title)?,
            is_over: false,
        }),
        ["turn-over", id] => Record::TurnOver(id.parse().ok()?),
        ["taken-out", time, had, path] => Record::TakenOut(TakenOut {
            path: unescaped(path)?,
            time: time.parse().ok()?,
            had: Version::parse(had)?,
            left: None,
        }),
        ["left", version, path] => Record::Left(unescaped(path)?, Version::parse(version)?),
        ["unstaged", path] => Record::Staged(unescaped(path)?, None),
        ["staged", object, version, path] => {
            let staged = Staged {
                object: object.to_owned(),
                version: Version::parse(version)?,
            };
            Record::Staged(unescaped(path)?, Some(staged))
        }
        ["keeps-staged", "yes"] => Record::KeepsStaged(true),
        ["keeps-staged", "no"] => Record::KeepsStaged(false),
        ["not-passing", agent] => Record::Passes(text_of(agent)?, None),
        ["passes", agent, ref protected @ ..] => {
            let protected = protected.iter().map(|pattern| text_of(pattern));
            Record::Passes(text_of(agent)?, Some(protected.collect::<Option<_>>()?))
        }
        ["left-out", path] => Record::LeftOut(unescaped(path)?, true),
        ["not-left-out", path] => Record::LeftOut(unescaped(path)?, false),
        ["in-head", path] => Record::InHead(unescaped(path)?, true),
        ["not-in-head", path] => Record::InHead(unescaped(path)?, false),
        ["tip", commit] => Record::Tip(commit.to_owned()),
        ["others", commit] => Record::OthersCommit(commit.to_owned()),
        ["noted", path, ref notes @ ..] if notes.len() % 3 == 0 => {
            let notes = notes.chunks(3).map(|words| {
                Some(HunkNote {
                    hunk: text_of(words[0])?,
                    comment: text_of(words[2])?,
                    is_waiting: match words[1] {
                        "waits" => true,
                        "-" => false,
                        _ => return None,
                    },
                })
            });
            Record::Noted(unescaped(path)?, notes.collect::<Option<_>>()?)
        }
        ["said", note] => Record::Said(text_of(note)?),
        ["heard"] => Record::Heard,
        _ => Record::Round(round(&words)?),
    })
}

/// Reads a record from `words`, those of a line; `None` if it is none.
fn round(words: &[&str]) -> Option<RoundRecord> {
    Some(match *words {
        [
            "comment",
            id,
            time,
            kind,
            state,
            side,
            start,
            end,
            digest,
            path,
            text,
            ref to @ ..,
        ] => RoundRecord::Comment(Comment {
            id: id.parse().ok()?,
            time: time.parse().ok()?,
            path: unescaped(path)?,
            place: match side {
                "-" => None,
                _ => Some(Place {
                    side: meaning(&SIDES, side)?,
                    lines: start.parse().ok()?..end.parse().ok()?,
                    text: Digest::parse(digest)?,
                }),
            },
            kind: meaning(&KINDS, kind)?,
            text: text_of(text)?,
            state: meaning(&STATES, state)?,
            replies: Vec::new(),
            to: texts_of(to)?,
        }),
        ["comment-is", id, state] => RoundRecord::State(id.parse().ok()?, meaning(&STATES, state)?),
        ["reply", id, time, who, text] => RoundRecord::Reply(
            id.parse().ok()?,
            Reply {
                time: time.parse().ok()?,
                who: text_of(who)?,
                text: text_of(text)?,
            },
        ),
        [
            "rejected",
            time,
            hunk,
            context,
            path,
            reason,
            line,
            lines,
            told @ ("told" | "-"),
            ref to @ ..,
        ] => RoundRecord::Rejected(Rejected {
            path: unescaped(path)?,
            hunk: text_of(hunk)?,
            context: text_of(context)?,
            time: time.parse().ok()?,
            reason: text_of(reason)?,
            line: line.parse().ok()?,
            lines: text_of(lines)?,
            is_told: told == "told",
            to: texts_of(to)?,
        }),
        ["finished", turn] => RoundRecord::Finished(turn.parse().ok()?),
        ["unrejected", hunk, context, path, line] => RoundRecord::Unrejected(
            unescaped(path)?,
            text_of(hunk)?,
            text_of(context)?,
            line.parse().ok()?,
        ),
        [
            "message",
            id,
            time,
            told @ ("told" | "-"),
            text,
            n_to,
            ref rest @ ..,
        ] => {
            let (to, comments) = rest.split_at_checked(n_to.parse().ok()?)?;
            let comments = comments.iter().map(|id| id.parse().ok());
            RoundRecord::Message(Message {
                id: id.parse().ok()?,
                time: time.parse().ok()?,
                to: texts_of(to)?,
                text: text_of(text)?,
                comments: comments.collect::<Option<_>>()?,
                is_told: told == "told",
            })
        }
        ["told", id] => RoundRecord::Told(id.parse().ok()?, None),
        ["told", id, address] => RoundRecord::Told(id.parse().ok()?, Some(text_of(address)?)),
        ["closed", address] => RoundRecord::Closed(text_of(address)?),
        ["decided", turn, n_kept, n_taken_out] => RoundRecord::Decided(
            turn.parse().ok()?,
            n_kept.parse().ok()?,
            n_taken_out.parse().ok()?,
        ),
        ["begun", turn, ref files @ ..] if files.len() % 2 == 0 => {
            let files = files.chunks(2);
            let files =
                files.map(|words| Some(Begun(unescaped(words[0])?, Version::parse(words[1])?)));
            RoundRecord::Begun(turn.parse().ok()?, files.collect::<Option<_>>()?)
        }
        ["wrote", turn, ref files @ ..] if files.len() % 3 == 0 => {
            let files = files.chunks(3).map(|words| {
                Some(Wrote(
                    unescaped(words[0])?,
                    Version::parse(words[1])?,
                    Version::parse(words[2])?,
                ))
            });
            RoundRecord::Wrote(turn.parse().ok()?, files.collect::<Option<_>>()?)
        }
        _ => return None,
    })
}

fn texts_of(words: &[&str]) -> Option<Vec<String>> {
    words.iter().map(|word| text_of(word)).collect()
}

fn text_of(word: &str) -> Option<String> {
    if word == "." {
        return Some(String::new());
    }
    String::from_utf8(unescaped(word)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::records;

    #[test]
    fn each_kind_of_line_is_read() {
        let sample = include_str!("../../test/reviewed/ledger-1");
        let lines = sample.strip_prefix(HEADER).unwrap().lines();
        let read: Option<Vec<Record>> = lines.map(|line| parse(line.as_bytes())).collect();
        assert_eq!(read.unwrap(), records());
    }

    #[test]
    fn what_is_no_such_line_is_not_read() {
        for line in [
            "reviewed 0",
            "comment 1",
            "message 1 2 - . 3 a",
            "wrote 1 a 0",
            "comment-is 1 new",
            "base a b",
        ] {
            assert_eq!(parse(line.as_bytes()), None, "{line}");
        }
    }
}
