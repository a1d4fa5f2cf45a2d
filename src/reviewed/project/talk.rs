//! What the user of a project and its agents say to each other, and what became of turns.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use agent_q_diff_engine::text::Text;

use super::{Project, Since};
use crate::authors::Written;
use crate::disk::Disk;
use crate::error::ProjectError;
use crate::files;
use crate::git::Git;
use crate::ledger::{Ledger, Pending};
use crate::path::Path;
use crate::record::Turn;
use crate::renames::Rename;
use crate::replies::answers_in;
use crate::rounds::{
    Begun, Comment, KeysByPath, Kind, Message, Outcome, Place, Rejected, Reply, RoundRecord, Side,
    State, Wrote, address, addressee, place,
};
use crate::store::now;
use crate::version::{Digest, Version};
use crate::world::World;

/// Most files of a turn that are remembered.
const MAX_FILES: usize = 1000;

/// A comment, and where its lines are now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// The comment.
    pub comment: Comment,
    /// The first of its lines, from 0, and whether that is unsure; `None` if it is about the whole file, or
    /// if they are not there any more.
    pub line: Option<(usize, bool)>,
    /// The lines when the comment was made; empty if it is about the whole file.
    pub lines: Vec<u8>,
}

impl Project {
    /// Records what the user says about `path`, and returns the number of the comment. `lines` are on that
    /// side, from 0, of the text with that digest, or else of what is there now; without them, the whole
    /// file is meant. `to` is as [`Comment::to`].
    ///
    /// # Errors
    ///
    /// [`ProjectError`]; then nothing is recorded.
    pub fn comment(
        &mut self,
        path: &[u8],
        lines: Option<(Side, Range<usize>, Option<Digest>)>,
        kind: Kind,
        text: &str,
        to: &[String],
    ) -> Result<u64, ProjectError> {
        let no_lines = || ProjectError::NoLines(path.to_vec());
        let tree = &self.tree;
        self.store.change(|ledger, store| {
            let place = match lines {
                None => None,
                Some((side, lines, digest)) => {
                    let mut disk = Disk::new(tree, store);
                    let text = match digest {
                        Some(digest) => digest,
                        None => version_on(ledger, &mut disk, path, side)?
                            .digest()
                            .ok_or_else(no_lines)?,
                    };
                    let n_lines = Text::new(disk.bytes(text)?).len();
                    if lines.is_empty() || lines.end > n_lines {
                        return Err(no_lines());
                    }
                    Some(Place { side, lines, text })
                }
            };
            let id = ledger.rounds().next_comment();
            ledger.note_round(RoundRecord::Comment(Comment {
                id,
                time: now(),
                path: path.to_vec(),
                place,
                kind,
                text: text.to_owned(),
                state: State::Open,
                replies: Vec::new(),
                to: to.to_vec(),
                names: Vec::new(),
                told: Vec::new(),
            }));
            Ok(id)
        })
    }

    /// Changes what the user says in the comment `id`; agents are told anew. If that is nothing, it is closed.
    ///
    /// # Errors
    ///
    /// [`ProjectError`], also if there is none.
    pub fn edit_comment(&mut self, id: u64, kind: Kind, text: &str) -> Result<(), ProjectError> {
        self.store.change(|ledger, _| {
            let known = ledger.rounds().comments().get(&id);
            let known = known.ok_or(ProjectError::NoComment(id))?.clone();
            if text.trim().is_empty() {
                ledger.note_round(RoundRecord::State(id, State::Closed));
                return Ok(());
            }
            ledger.note_round(RoundRecord::Comment(Comment {
                kind,
                text: text.to_owned(),
                state: State::Open,
                told: Vec::new(),
                ..known
            }));
            Ok(())
        })
    }

    /// Has comments follow their files: to the new name of those of `pending` that are `renames`, and back to an
    /// earlier name if there is a file only under that, as once a rename was rejected, or on another branch.
    ///
    /// # Errors
    ///
    /// [`ProjectError::Store`].
    pub fn move_comments(
        &mut self,
        pending: &[Pending],
        renames: &[Rename],
    ) -> Result<(), ProjectError> {
        let root = self.tree.root();
        let name_now = |path: &Path| {
            let mut renames = renames.iter();
            let rename = renames.find(|rename| pending[rename.from].path == *path);
            match rename {
                Some(rename) => Some(pending[rename.to].path.clone()),
                None => files::is_there(root, path).then(|| path.clone()),
            }
        };
        let comments = self.store.ledger().rounds().comments().values();
        let moved = comments.filter(|one| !one.path.is_empty() && one.state != State::Closed);
        let moved: Vec<(u64, Path)> = moved
            .filter_map(|one| {
                let earlier = one.names.iter().rev();
                let mut names = [&one.path].into_iter().chain(earlier.map(|name| &name.0));
                Some((
                    one.id,
                    names.find_map(name_now).filter(|name| *name != one.path)?,
                ))
            })
            .collect();
        if moved.is_empty() {
            return Ok(());
        }
        self.store.change(|ledger, _| {
            for (id, path) in moved {
                if let Some(comment) = ledger.rounds().comments().get(&id).cloned() {
                    ledger.note_round(RoundRecord::Comment(comment.moved(&path)));
                }
            }
            Ok(())
        })
    }

    /// Records how far the comment `id` is.
    ///
    /// # Errors
    ///
    /// [`ProjectError`], also if there is none.
    pub fn set_comment(&mut self, id: u64, state: State) -> Result<(), ProjectError> {
        self.store.change(|ledger, _| {
            if !ledger.rounds().comments().contains_key(&id) {
                return Err(ProjectError::NoComment(id));
            }
            ledger.note_round(RoundRecord::State(id, state));
            Ok(())
        })
    }

    /// Records that `who` has answered the comment `id` with `text`, which handles it.
    ///
    /// # Errors
    ///
    /// [`ProjectError`], also if there is none, or if the user has closed it.
    pub fn answer(&mut self, id: u64, who: &str, text: &str) -> Result<(), ProjectError> {
        self.store.change(|ledger, _| {
            let known = ledger.rounds().comments().get(&id);
            if known.is_none_or(|known| known.state == State::Closed) {
                return Err(ProjectError::NoComment(id));
            }
            ledger.note_round(RoundRecord::Reply(
                id,
                Reply {
                    time: now(),
                    who: who.to_owned(),
                    text: text.to_owned(),
                },
            ));
            ledger.note_round(RoundRecord::State(id, State::Handled));
            Ok(())
        })
    }

    /// Returns what `reply`, which `agent` has said to its user in `session`, answers to comments that this
    /// session was told: their numbers, and what is said in a paragraph that begins with one, as in `[3]
    /// Because.`. Where it is not known which session was told, it may be any that the comment is for.
    ///
    /// # Errors
    ///
    /// [`ProjectError::Store`].
    pub fn answers_in_reply(
        &mut self,
        agent: &str,
        session: &str,
        reply: &str,
    ) -> Result<Vec<(u64, String)>, ProjectError> {
        self.store.refresh()?;
        let ledger = self.store.ledger();
        let is_its = |to: &String| is_for(ledger, to, agent, session);
        let own = address(agent, session);
        let was_told = |known: &Comment| {
            let is_any = |to: &String| addressee(to).1.is_empty() && is_its(to);
            known.told.contains(&own)
                || (known.told.is_empty() || known.told.iter().any(is_any))
                    && (known.to.is_empty() || known.to.iter().any(is_its))
        };
        let mut answers = answers_in(reply);
        answers.retain(|(id, _)| {
            let known = ledger.rounds().comments().get(id);
            known.is_some_and(|known| known.state == State::Sent && was_told(known))
        });
        Ok(answers)
    }

    /// Returns the comments that are not closed, by number, and where their lines are now. `texts` are, for
    /// a path, the texts that count as reviewed and as what the file holds; for others, those that are.
    ///
    /// # Errors
    ///
    /// [`ProjectError`].
    pub fn comments(
        &mut self,
        texts: &BTreeMap<Vec<u8>, [Option<Digest>; 2]>,
    ) -> Result<Vec<Placed>, ProjectError> {
        self.store.refresh()?;
        self.move_comments(&[], &[])?;
        let ledger = self.store.ledger();
        let mut disk = Disk::new(&self.tree, &self.store);
        let all = ledger.rounds().comments().values();
        let all = all.filter(|one| one.state != State::Closed);
        all.map(|comment| placed(ledger, &mut disk, texts, comment))
            .collect()
    }

    /// Records that `text` is to be told at the addresses `to`, or, if there is none, to any agent; `comments`
    /// are the numbers of those in it. It takes the place of a message that the same were not told yet. Returns
    /// the number of the message.
    ///
    /// # Errors
    ///
    /// [`ProjectError::Store`].
    pub fn queue_message(
        &mut self,
        to: &[String],
        text: &str,
        comments: &[u64],
    ) -> Result<u64, ProjectError> {
        let to = match to {
            [] => vec![String::new()],
            _ => to.to_vec(),
        };
        self.store.change(|ledger, _| {
            let id = ledger.rounds().next_message();
            ledger.note_round(RoundRecord::Message(Message {
                id,
                time: now(),
                to,
                text: text.to_owned(),
                comments: comments.to_vec(),
                is_told: false,
                told: Vec::new(),
            }));
            Ok(id)
        })
    }

    /// Returns the messages that `session` of `agent` was not told yet and may read, the latest last, each with
    /// the address that lets it. That may be one of another session that has ended. With `since`, a time in
    /// seconds since 1970, those are meant that were finished then or later.
    ///
    /// # Errors
    ///
    /// [`ProjectError::Store`].
    pub fn messages(
        &mut self,
        agent: &str,
        session: &str,
        since: Option<u64>,
    ) -> Result<Vec<(Message, String)>, ProjectError> {
        self.store.refresh()?;
        let own = address(agent, session);
        // What it has read itself, it need not read in place of one that has ended.
        let (read, unread): (Vec<_>, Vec<_>) = self
            .messages_for(agent, session)
            .into_iter()
            .partition(|(message, _)| !session.is_empty() && message.told.contains(&own));
        if !read.is_empty() {
            let read: Vec<u64> = read.iter().map(|(message, _)| message.id).collect();
            self.told_in(agent, session, &read)?;
        }
        let is_meant = |message: &Message| since.is_none_or(|since| message.time >= since);
        let unread = unread.into_iter();
        Ok(unread.filter(|(message, _)| is_meant(message)).collect())
    }

    /// Returns the messages that wait for an address that is for `session` of `agent`, too, each with that.
    fn messages_for(&self, agent: &str, session: &str) -> Vec<(Message, String)> {
        let ledger = self.store.ledger();
        let is_its = |to: &&String| is_for(ledger, to, agent, session);
        // It may have written with others, and then it is not about an earlier session.
        let own = address(agent, session);
        let all = ledger.rounds().messages().iter();
        let its = all.filter_map(|message| {
            let to = message.to.iter().find(|to| **to == own);
            let to = to.or_else(|| message.to.iter().find(is_its))?;
            Some((message.clone(), to.clone()))
        });
        its.collect()
    }

    /// Records that the session of `agent` has ended: others read what was for it.
    ///
    /// # Errors
    ///
    /// [`ProjectError::Store`].
    pub fn close_session(&mut self, agent: &str, session: &str) -> Result<(), ProjectError> {
        self.store.change(|ledger, _| {
            let is_its = |turn: &Turn| turn.agent == agent && turn.session == session;
            if ledger.turns().iter().any(is_its) {
                ledger.note_round(RoundRecord::Closed(address(agent, session)));
            }
            Ok(())
        })
    }

    /// Returns the messages that some agent was not told yet, and the last one if all were told; the latest
    /// last.
    ///
    /// # Errors
    ///
    /// [`ProjectError::Store`].
    pub fn untold(&mut self) -> Result<Vec<Message>, ProjectError> {
        self.store.refresh()?;
        let all = self.store.ledger().rounds().messages();
        let untold: Vec<Message> = all
            .iter()
            .filter(|one| !one.to.is_empty())
            .cloned()
            .collect();
        match all.back() {
            Some(last) if untold.is_empty() => Ok(vec![last.clone()]),
            _ => Ok(untold),
        }
    }

    /// Records that the messages `ids` were told to whom `to`, an address, is for, or, without one, to all,
    /// whoever that is.
    ///
    /// # Errors
    ///
    /// [`ProjectError::Store`].
    pub fn told(&mut self, to: Option<&str>, ids: &[u64]) -> Result<(), ProjectError> {
        self.store.change(|ledger, _| {
            let to = to.map(str::to_owned);
            for &id in ids {
                ledger.note_round(RoundRecord::Told(id, to.clone(), to.clone()));
            }
            Ok(())
        })
    }

    /// Records that `session` of `agent` was told the messages `ids`, by whichever address let it.
    ///
    /// # Errors
    ///
    /// [`ProjectError::Store`].
    pub fn told_in(&mut self, agent: &str, session: &str, ids: &[u64]) -> Result<(), ProjectError> {
        self.store.change(|ledger, _| {
            let own = address(agent, session);
            let messages = ledger.rounds().messages().iter();
            let told = messages.filter(|message| ids.contains(&message.id));
            let told = told.flat_map(|message| {
                let its = message.to.iter();
                let its = its.filter(|to| is_for(ledger, to, agent, session));
                // Another session may have taken it meanwhile.
                its.chain([&own]).map(|to| (message.id, to.clone()))
            });
            let told: Vec<_> = told.collect();
            for (id, to) in told {
                ledger.note_round(RoundRecord::Told(id, Some(to), Some(own.clone())));
            }
            Ok(())
        })
    }

    /// Returns the keys of what was shown and not decided; see [`Rounds::shown`](crate::rounds::Rounds::shown).
    ///
    /// # Errors
    ///
    /// [`ProjectError::Store`].
    pub fn shown(&mut self) -> Result<Option<&KeysByPath>, ProjectError> {
        self.store.refresh()?;
        Ok(self.store.ledger().rounds().shown())
    }

    /// Returns the hunks that the user has rejected, the latest last.
    ///
    /// # Errors
    ///
    /// [`ProjectError::Store`].
    pub fn rejected(&mut self) -> Result<impl DoubleEndedIterator<Item = &Rejected>, ProjectError> {
        self.store.refresh()?;
        Ok(self.store.ledger().rounds().rejected().iter())
    }

    /// Returns the latest turns of agents, the latest last, and what became of what they wrote.
    ///
    /// # Errors
    ///
    /// [`ProjectError::Store`].
    pub fn outcomes(&mut self) -> Result<Vec<(Turn, Outcome)>, ProjectError> {
        self.store.refresh()?;
        let ledger = self.store.ledger();
        let outcome = |turn: &Turn| ledger.rounds().outcome(turn.id).cloned();
        let turns = ledger.turns().iter();
        Ok(turns
            .map(|turn| (turn.clone(), outcome(turn).unwrap_or_default()))
            .collect())
    }

    /// Records what files that are not as in HEAD hold when the turn with the number `turn` begins.
    pub(super) fn note_begun(&mut self, turn: u64) -> Result<(), ProjectError> {
        let tree = &self.tree;
        self.store.change(|ledger, store| {
            let mut disk = Disk::new(tree, store);
            let mut files = Vec::new();
            for path in ledger.changed_paths().into_iter().take(MAX_FILES) {
                let before = disk.working(&path)?;
                files.push(Begun(path, before));
            }
            ledger.note_round(RoundRecord::Begun(turn, files));
            Ok(())
        })
    }

    /// Records what was written in `turns`, which end now.
    pub(super) fn note_wrote(&mut self, turns: &[Turn]) -> Result<(), ProjectError> {
        let tree = &self.tree;
        let known = std::mem::take(&mut self.known);
        self.store.change(|ledger, store| {
            let mut disk = Disk::new(tree, store);
            disk.committed = known;
            for turn in turns {
                let begun = ledger.rounds().outcome(turn.id);
                let begun: BTreeMap<_, _> = begun
                    .map(|outcome| {
                        let begun = outcome.begun.iter();
                        begun
                            .map(|Begun(path, before)| (path.clone(), *before))
                            .collect()
                    })
                    .unwrap_or_default();
                let mut paths = ledger.changed_paths();
                paths.extend(begun.keys().cloned());
                let head = tree.git().map(Git::head).transpose()?.flatten();
                let is_moved = head != turn.head;
                let is_gone = match (tree.git(), &turn.head) {
                    (Some(git), Some(commit)) if is_moved => !git.has_commit(commit)?,
                    _ => false,
                };
                if is_moved && !is_gone {
                    paths.extend(disk.changed(turn.head.as_deref(), head.as_deref())?);
                }
                let mut files = Vec::new();
                if !is_gone {
                    let read = paths.iter().filter(|path| !begun.contains_key(*path));
                    let read: Vec<&[u8]> = read.map(Vec::as_slice).collect();
                    disk.read_paths(turn.head.as_deref(), &read)?;
                }
                for path in paths {
                    let before = match begun.get(&path) {
                        Some(before) => *before,
                        None if is_gone => continue,
                        None => disk.committed(turn.head.as_deref(), &path)?,
                    };
                    let after = disk.working(&path)?;
                    if before != after && files.len() < MAX_FILES {
                        files.push(Wrote(path, before, after));
                    }
                }
                ledger.note_round(RoundRecord::Wrote(turn.id, files));
            }
            Ok(())
        })
    }

    /// Returns what differs, in the files that were written in the turn with the number `turn`, from what
    /// they held before it. The texts are in [`Project::texts`] for a day.
    ///
    /// # Errors
    ///
    /// [`ProjectError`], also if that is not known any more.
    pub fn since_turn(&mut self, turn: u64) -> Result<Since, ProjectError> {
        self.store.refresh()?;
        let ledger = self.store.ledger();
        let known = ledger.turns().iter().find(|one| one.id == turn);
        let outcome = ledger.rounds().outcome(turn);
        let wrote = outcome.and_then(|outcome| outcome.wrote.as_ref());
        let (Some(known), Some(wrote)) = (known, wrote) else {
            return Err(ProjectError::NoTurn(turn));
        };
        let name = match &*known.title {
            "" => format!("{}'s turn {turn}", known.agent),
            title => format!("{}'s turn \"{title}\"", known.agent),
        };
        let mut disk = Disk::new(&self.tree, &self.store);
        let mut changed = Vec::new();
        let mut reviewed = Vec::new();
        for Wrote(path, before, _) in wrote {
            let working = disk.working(path)?;
            if working == *before {
                continue;
            }
            let now_reviewed = ledger.reviewed(&mut disk, path)?;
            for version in [*before, working, now_reviewed] {
                self.store.hold(version)?;
            }
            changed.push(Pending {
                path: path.clone(),
                reviewed: *before,
                working,
                written: Written::default(),
                is_in_head: false,
            });
            reviewed.push(now_reviewed);
        }
        Ok(Since {
            name,
            changed,
            reviewed,
            left_out: Vec::new(),
        })
    }
}

/// Returns whether what is for the address `to` is for `session` of `agent`, too.
fn is_for(ledger: &Ledger, to: &str, agent: &str, session: &str) -> bool {
    let (name, of) = addressee(to);
    to.is_empty() || name == agent && (of.is_empty() || of == session || !is_open(ledger, to))
}

/// Returns whether something waits in `ledger` for one of `sessions` of `agent` that has ended, and no other
/// session of it, which would read that, is open there.
pub(super) fn waits_for_ended(ledger: &Ledger, agent: &str, sessions: &HashSet<&str>) -> bool {
    let waits = |to: &String| {
        let (name, of) = addressee(to);
        name == agent && sessions.contains(of) && !is_open(ledger, to)
    };
    let mut messages = ledger.rounds().messages().iter();
    let mut turns = ledger.turns().iter();
    messages.any(|message| message.to.iter().any(waits))
        && !turns.any(|turn| turn.agent == agent && is_open(ledger, &address(agent, &turn.session)))
}

/// Returns whether the session with the address `to` has not ended, as far as that is known: its agent's
/// process still runs.
fn is_open(ledger: &Ledger, to: &str) -> bool {
    let (agent, session) = addressee(to);
    let mut turns = ledger.turns().iter().rev();
    let last = turns.find(|turn| turn.agent == agent && turn.session == session);
    !ledger.rounds().is_closed(to) && last.is_some_and(|turn| turn.pid.is_some() && turn.is_alive())
}

/// Returns what counts as the side `side` of `path`.
fn version_on(
    ledger: &Ledger,
    disk: &mut Disk<'_>,
    path: &[u8],
    side: Side,
) -> Result<Version, ProjectError> {
    match side {
        Side::Old => ledger.reviewed(disk, path),
        Side::New => disk.working(path),
    }
}

/// Returns `comment`, and where its lines are; `texts` is as for [`Project::comments`].
fn placed(
    ledger: &Ledger,
    disk: &mut Disk<'_>,
    texts: &BTreeMap<Vec<u8>, [Option<Digest>; 2]>,
    comment: &Comment,
) -> Result<Placed, ProjectError> {
    let nowhere = Placed {
        comment: comment.clone(),
        line: None,
        lines: Vec::new(),
    };
    let Some(Place { side, lines, text }) = comment.place.clone() else {
        return Ok(nowhere);
    };
    let then = match disk.bytes(text) {
        Err(ProjectError::Store(error)) if error.lost().is_some() => return Ok(nowhere),
        bytes => Text::new(bytes?),
    };
    let names = comment.names.iter().map(|name| &name.0);
    let mut known = [&comment.path].into_iter().chain(names.rev());
    let now = match known.find_map(|path| texts.get(path)) {
        Some([old, new]) => *if side == Side::Old { old } else { new },
        None => version_on(ledger, disk, &comment.path, side)?.digest(),
    };
    let line = match now {
        None => None,
        Some(now) if now == text => Some((lines.start, false)),
        Some(now) => place(&then, &lines, &Text::new(disk.bytes(now)?)),
    };
    Ok(Placed {
        line,
        lines: then.lines_bytes(lines).to_vec(),
        ..nowhere
    })
}
