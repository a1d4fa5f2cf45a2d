//! Rounds: what the user says to agents about their changes, what they answer, and what they were not told
//! yet.
//!
//! A [`Comment`] belongs to lines of a version of a file; [`place`] finds these lines in a later one. What
//! was rejected is remembered, so that it can be said when it comes back. A [`Message`] waits until its
//! agents can be told. Of a turn it is remembered what its agent wrote, and what became of that.
//!
//! What is said is for who wrote the lines: for the [`address`] of a session.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use agent_q_diff_engine::diff::edits;
use agent_q_diff_engine::text::Text;
use serde::{Deserialize, Serialize};

use crate::path::{self, Path};
use crate::version::{Digest, Version};

/// A side of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// What was reviewed.
    Old,
    /// What the file holds.
    New,
}

/// Lines of a version of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Place {
    /// Whether they are reviewed lines, or the file's.
    pub side: Side,
    /// The lines, from 0.
    pub lines: Range<usize>,
    /// The text of which they are.
    pub text: Digest,
}

/// Returns the address of `agent` in `session`, its name for that. It is empty for any agent, and one line if
/// the session is not known.
pub fn address(agent: &str, session: &str) -> String {
    match session {
        "" => agent.to_owned(),
        _ => format!("{agent}\n{session}"),
    }
}

/// Returns the agent and the session of `address`.
pub fn addressee(address: &str) -> (&str, &str) {
    address.split_once('\n').unwrap_or((address, ""))
}

/// Returns `text` as characters: bytes that are none are shown by their numbers, as `\200`, and surrogates
/// become U+FFFD.
pub fn plain(text: &[u8]) -> String {
    let mut plain = String::new();
    let mut left = text;
    while let Some(chunk) = left.utf8_chunks().next() {
        plain.push_str(chunk.valid());
        let rest = &left[chunk.valid().len()..];
        left = match rest {
            [0xed, 0xa0..=0xbf, 0x80..=0xbf, rest @ ..] => {
                plain.push('\u{fffd}');
                rest
            }
            [byte, rest @ ..] => {
                plain.push_str(&format!("\\{byte:o}"));
                rest
            }
            [] => rest,
        };
    }
    plain
}

/// What the user wants with a [`Comment`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The agent is to do something.
    Comment,
    /// The agent is to answer.
    Question,
}

/// How far a [`Comment`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// No agent was told.
    Open,
    /// An agent was told.
    Sent,
    /// An agent has answered it.
    Handled,
    /// The user needs it no more.
    Closed,
}

/// What somebody has answered to a [`Comment`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Reply {
    /// When, in seconds since 1970.
    pub time: u64,
    /// Who.
    pub who: String,
    /// What.
    pub text: String,
}

/// What the user says about some lines, or about a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Comment {
    /// Its number, from 1.
    pub id: u64,
    /// When it was made, in seconds since 1970.
    pub time: u64,
    /// The file.
    #[serde(with = "path")]
    pub path: Path,
    /// Its lines; `None` if it is about the whole file.
    pub place: Option<Place>,
    /// What the user wants.
    pub kind: Kind,
    /// What the user says.
    pub text: String,
    /// How far it is.
    pub state: State,
    /// What was answered, in that order.
    #[serde(default)]
    pub replies: Vec<Reply>,
    /// The addresses of those who wrote the lines; none if that is not known, so that it is for any agent.
    pub to: Vec<String>,
    /// Other names that the file had since it was made, the latest last.
    #[serde(default)]
    pub names: Vec<Name>,
    /// The addresses of those who were told it, as it is now; empty for some who are not known. None if that was
    /// not recorded.
    #[serde(default)]
    pub told: Vec<String>,
}

/// A name of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Name(#[serde(with = "path")] pub Path);

impl Comment {
    /// Returns it on the file `path`, which is its own under another name.
    pub(crate) fn moved(mut self, path: &Path) -> Comment {
        let old = Name(std::mem::replace(&mut self.path, path.clone()));
        self.names.retain(|name| name.0 != *path && *name != old);
        self.names.push(old);
        self
    }
}

/// A hunk that the user has rejected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Rejected {
    /// Its file.
    #[serde(with = "path")]
    pub path: Path,
    /// Its [`Key`](agent_q_diff_engine::key::Key).
    pub hunk: String,
    /// When, in seconds since 1970.
    pub time: u64,
    /// Why; empty if that was not said.
    pub reason: String,
    /// The line of its first change, from 1: in the file as it was at the end of the review, or, where its place
    /// in that was not certain, in what had been reviewed. 0 for an operation.
    pub line: u64,
    /// Its lines, as in a diff.
    pub lines: String,
    /// Whether an agent was told.
    pub is_told: bool,
    /// Whether the user, after an agent was told, has undone that it was taken out, so that it is pending again.
    #[serde(default)]
    pub is_back: bool,
    /// The addresses of those who wrote it, as in [`Comment::to`].
    pub to: Vec<String>,
}

/// What agents are to be told of a review that the user has finished.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Message {
    /// Its number, from 1.
    pub id: u64,
    /// When the review was finished, in seconds since 1970.
    pub time: u64,
    /// The addresses of those who were not told yet.
    pub to: Vec<String>,
    /// What they are told.
    pub text: String,
    /// The numbers of the comments in it that say what they said when it was made.
    pub comments: Vec<u64>,
    /// Whether some agent was told.
    pub is_told: bool,
    /// Who was told, as in [`Comment::told`].
    #[serde(default)]
    pub told: Vec<String>,
}

/// The keys of hunks of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown(#[serde(with = "path")] pub Path, pub Vec<String>);

/// A file, and what it held when a turn began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begun(#[serde(with = "path")] pub Path, pub Version);

/// What a turn has made of a file: its path, what it held before, and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wrote(#[serde(with = "path")] pub Path, pub Version, pub Version);

/// What became of what was written in a turn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Number of hunks that were kept in reviews after the write.
    pub n_kept: u64,
    /// Number of hunks that were taken out.
    pub n_taken_out: u64,
    /// What it has written, by path; `None` as long as it is open, or if that is not known any more.
    pub wrote: Option<Vec<Wrote>>,
    /// While it is open, what files held when it began that were not as in HEAD.
    pub(crate) begun: Vec<Begun>,
}

/// A change of [`Rounds`], to be written down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RoundRecord {
    /// A comment was made or changed; its replies stay if none are in it.
    Comment(Comment),
    /// A comment has got further.
    State(u64, State),
    /// A comment was answered.
    Reply(u64, Reply),
    /// A hunk was rejected.
    Rejected(Rejected),
    /// The hunk of this path, with this key, is not rejected after all.
    Unrejected(#[serde(with = "path")] Path, String),
    /// The user has finished a review, in which these hunks were shown and not decided.
    Shown(Vec<Shown>),
    /// There is something to be told, instead of what the same were not told yet.
    Message(Message),
    /// The message with this number was told to whom this address is for, or, without one, to all. Who read it
    /// has the last address, if that is known.
    Told(
        u64,
        Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")] Option<String>,
    ),
    /// The session with this address has ended.
    Closed(String),
    /// Of the turn with this number, so many hunks were kept, and so many taken out.
    Decided(u64, u64, u64),
    /// What files held when the turn with this number began.
    Begun(u64, Vec<Begun>),
    /// What was written in the turn with this number.
    Wrote(u64, Vec<Wrote>),
}

impl RoundRecord {
    /// Returns the paths that it names.
    pub(crate) fn paths(&self) -> Vec<&Path> {
        match self {
            // Without a path, it is about the whole review.
            RoundRecord::Comment(comment) if comment.path.is_empty() => Vec::new(),
            RoundRecord::Comment(comment) => {
                let names = comment.names.iter().map(|name| &name.0);
                names.chain([&comment.path]).collect()
            }
            RoundRecord::Rejected(one) => vec![&one.path],
            RoundRecord::Unrejected(path, _) => vec![path],
            RoundRecord::Shown(files) => files.iter().map(|one| &one.0).collect(),
            RoundRecord::Begun(_, files) => files.iter().map(|one| &one.0).collect(),
            RoundRecord::Wrote(_, files) => files.iter().map(|one| &one.0).collect(),
            _ => Vec::new(),
        }
    }
}

/// Number of comments that are remembered; those that are closed are forgotten first.
const N_COMMENTS: usize = 1000;

/// Number of rejected hunks that are remembered.
const N_REJECTED: usize = 1000;

/// Number of messages that are remembered.
const N_MESSAGES: usize = 50;

/// Number of sessions of which it is remembered that they have ended.
const N_CLOSED: usize = 200;

/// Number of turns of which it is remembered what they wrote.
const N_WROTE: usize = 20;

/// Keys of hunks, by the paths of their files.
pub type KeysByPath = BTreeMap<Path, Vec<String>>;

/// What the user and agents say to each other about a project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rounds {
    comments: BTreeMap<u64, Comment>,
    rejected: VecDeque<Rejected>,
    messages: VecDeque<Message>,
    closed: VecDeque<String>,
    shown: Option<KeysByPath>,
    outcomes: BTreeMap<u64, Outcome>,
}

impl Rounds {
    /// Returns all comments, by number.
    pub fn comments(&self) -> &BTreeMap<u64, Comment> {
        &self.comments
    }

    /// Returns the number that the next comment gets.
    pub fn next_comment(&self) -> u64 {
        self.comments.last_key_value().map_or(1, |(id, _)| id + 1)
    }

    /// Returns the hunks that the user has rejected, the latest last.
    pub fn rejected(&self) -> &VecDeque<Rejected> {
        &self.rejected
    }

    /// Returns the keys of the hunks that were shown and not decided when the user last finished a review
    /// of their file, by path; `None` if the user has finished none.
    pub fn shown(&self) -> Option<&KeysByPath> {
        self.shown.as_ref()
    }

    /// Returns the latest messages, the latest last, also those that were told.
    pub fn messages(&self) -> &VecDeque<Message> {
        &self.messages
    }

    /// Returns whether the session with `address` has said that it ends.
    pub(crate) fn is_closed(&self, address: &str) -> bool {
        self.closed.iter().any(|closed| closed == address)
    }

    /// Notes that the session with `address` goes on: an agent may begin one that it has ended once more.
    pub(crate) fn reopen(&mut self, address: &str) {
        self.closed.retain(|closed| closed != address);
    }

    /// Returns the number that the next message gets.
    pub fn next_message(&self) -> u64 {
        self.messages.back().map_or(1, |message| message.id + 1)
    }

    /// Returns what became of the turn with the number `turn`, if anything is known of that.
    pub fn outcome(&self, turn: u64) -> Option<&Outcome> {
        self.outcomes.get(&turn)
    }

    /// Carries out `record`, which was written down.
    pub(crate) fn replay(&mut self, record: RoundRecord) {
        match record {
            RoundRecord::Comment(mut comment) => {
                if let Some(known) = self.comments.remove(&comment.id) {
                    if (known.kind, &known.text) != (comment.kind, &comment.text) {
                        // Who reads what waits does not read this.
                        for message in &mut self.messages {
                            message.comments.retain(|one| *one != comment.id);
                        }
                    }
                    if comment.replies.is_empty() {
                        comment.replies = known.replies;
                    }
                }
                self.comments.insert(comment.id, comment);
                self.forget_comments();
            }
            RoundRecord::State(id, state) => {
                if let Some(comment) = self.comments.get_mut(&id) {
                    comment.state = state;
                }
            }
            RoundRecord::Reply(id, reply) => {
                if let Some(comment) = self.comments.get_mut(&id) {
                    comment.replies.push(reply);
                }
            }
            RoundRecord::Rejected(one) => {
                self.forget_rejected(&one.path, &one.hunk);
                self.rejected.push_back(one);
                while self.rejected.len() > N_REJECTED {
                    self.rejected.pop_front();
                }
            }
            RoundRecord::Unrejected(path, hunk) => self.forget_rejected(&path, &hunk),
            RoundRecord::Shown(files) => {
                let shown = self.shown.get_or_insert_default();
                shown.extend(files.into_iter().map(|Shown(path, hunks)| (path, hunks)));
                shown.retain(|_, hunks| !hunks.is_empty());
            }
            RoundRecord::Message(message) => {
                let is_for_others = |to: &[String]| to.iter().any(|one| !message.to.contains(one));
                self.messages
                    .retain(|one| one.is_told || is_for_others(&one.to));
                self.messages.push_back(message);
                while self.messages.len() > N_MESSAGES {
                    self.messages.pop_front();
                }
            }
            RoundRecord::Told(id, address, who) => {
                self.tell(id, address.as_deref(), who.unwrap_or_default());
            }
            RoundRecord::Closed(address) => {
                self.reopen(&address);
                self.closed.push_back(address);
                while self.closed.len() > N_CLOSED {
                    self.closed.pop_front();
                }
            }
            RoundRecord::Decided(turn, n_kept, n_taken_out) => {
                let outcome = self.outcomes.entry(turn).or_default();
                outcome.n_kept = n_kept;
                outcome.n_taken_out = n_taken_out;
            }
            RoundRecord::Begun(turn, files) => {
                self.outcomes.entry(turn).or_default().begun = files;
            }
            RoundRecord::Wrote(turn, files) => {
                let outcome = self.outcomes.entry(turn).or_default();
                outcome.wrote = Some(files);
                outcome.begun.clear();
                let known = self.outcomes.iter().rev();
                let known = known.filter(|(_, outcome)| outcome.wrote.is_some());
                let old: Vec<u64> = known.skip(N_WROTE).map(|(turn, _)| *turn).collect();
                for turn in old {
                    self.outcomes.entry(turn).or_default().wrote = None;
                }
            }
        }
    }

    fn forget_rejected(&mut self, path: &[u8], hunk: &str) {
        self.rejected
            .retain(|one| (&*one.path, &*one.hunk) != (path, hunk));
    }

    fn tell(&mut self, id: u64, address: Option<&str>, who: String) {
        let Some(message) = self.messages.iter_mut().find(|one| one.id == id) else {
            return;
        };
        // What is for others is in another message.
        let is_in = |to: &[String]| to.is_empty() || message.to.iter().any(|one| to.contains(one));
        for one in &mut self.rejected {
            one.is_told |= one.time <= message.time && is_in(&one.to);
        }
        message.to.retain(|to| match address {
            None => false,
            Some(address) => !to.is_empty() && to != address,
        });
        message.is_told = true;
        for id in &message.comments {
            if let Some(comment) = self.comments.get_mut(id) {
                add(&mut comment.told, &who);
                if comment.state == State::Open {
                    comment.state = State::Sent;
                }
            }
        }
        add(&mut message.told, &who);
    }

    fn forget_comments(&mut self) {
        while self.comments.len() > N_COMMENTS {
            let mut closed = self.comments.values();
            let closed = closed.find(|one| one.state == State::Closed);
            let Some(id) = closed.map(|one| one.id) else {
                return;
            };
            self.comments.remove(&id);
        }
    }

    /// Forgets the outcomes of turns of which `is_known` is not true.
    pub(crate) fn forget_turns(&mut self, is_known: impl Fn(u64) -> bool) {
        self.outcomes.retain(|turn, _| is_known(*turn));
    }

    /// Returns the records that make these of none.
    pub(crate) fn all_records(&self) -> Vec<RoundRecord> {
        let mut all = Vec::new();
        all.extend(self.comments.values().cloned().map(RoundRecord::Comment));
        all.extend(self.rejected.iter().cloned().map(RoundRecord::Rejected));
        all.extend(self.messages.iter().cloned().map(RoundRecord::Message));
        all.extend(self.closed.iter().cloned().map(RoundRecord::Closed));
        let shown = self.shown.iter().map(|shown| {
            let shown = shown.iter();
            RoundRecord::Shown(
                shown
                    .map(|(path, hunks)| Shown(path.clone(), hunks.clone()))
                    .collect(),
            )
        });
        all.extend(shown);
        for (turn, outcome) in &self.outcomes {
            all.push(RoundRecord::Decided(
                *turn,
                outcome.n_kept,
                outcome.n_taken_out,
            ));
            if !outcome.begun.is_empty() {
                all.push(RoundRecord::Begun(*turn, outcome.begun.clone()));
            }
            let wrote = outcome.wrote.iter().cloned();
            all.extend(wrote.map(|wrote| RoundRecord::Wrote(*turn, wrote)));
        }
        all
    }

    /// Returns all digests that these name.
    pub(crate) fn digests(&self) -> impl Iterator<Item = Digest> {
        let places = self.comments.values().filter_map(|one| one.place.as_ref());
        let begun = self.outcomes.values().flat_map(|one| &one.begun);
        let wrote = self.outcomes.values().filter_map(|one| one.wrote.as_ref());
        let wrote = wrote.flatten();
        let wrote = wrote.flat_map(|Wrote(_, before, after)| [*before, *after]);
        let versions = begun.map(|Begun(_, before)| *before).chain(wrote);
        let versions = versions.filter_map(|version| version.digest());
        places.map(|place| place.text).chain(versions)
    }
}

/// Adds `who` to `told`, those who were told something, unless it is there.
fn add(told: &mut Vec<String>, who: &str) {
    if told.iter().all(|one| one != who) {
        told.push(who.to_owned());
    }
}

/// Returns where `lines` of `then` are in `now`, from 0, and whether that is unsure; `None` if they are not
/// there any more.
///
/// Lines that nobody has touched are where the comparison of both texts has them. Others are looked for among
/// those that are new in `now`: an equal line that was there before is another one. Of several equal places
/// the nearest one is taken, and is unsure. How lines end, and whether there is a byte order mark, is no
/// difference.
pub fn place(then: &Text, lines: &Range<usize>, now: &Text) -> Option<(usize, bool)> {
    let (then, now) = (&*with_lf(then), &*with_lf(now));
    let Range { start, end } = *lines;
    if start > end || end > then.len() {
        return None;
    }
    let edits = edits(then, now);
    let mut at = start;
    let mut is_touched = false;
    for edit in &edits {
        if edit.before.end <= start {
            at = edit.after.end + (start - edit.before.end);
        } else {
            is_touched |= edit.before.start < end;
        }
    }
    if !is_touched {
        return Some((at, false));
    }
    let n = end - start;
    let is_here = |at: &usize| (0..n).all(|line| then.line(start + line) == now.line(at + line));
    let new = edits.iter().map(|edit| edit.after.clone());
    let new = new.flat_map(|Range { start, end }| start..(end + 1).saturating_sub(n).max(start));
    let places: Vec<usize> = new.filter(is_here).collect();
    let nearest = places.iter().min_by_key(|place| place.abs_diff(at))?;
    Some((*nearest, places.len() > 1))
}

/// Returns `text` without a byte order mark, and with LF where lines end with CRLF. It has as many lines.
fn with_lf(text: &Text) -> Cow<'_, Text> {
    let bytes = text.bytes();
    let rest = bytes.strip_prefix(b"\xef\xbb\xbf");
    if rest.is_none() && !bytes.contains(&b'\r') {
        return Cow::Borrowed(text);
    }
    let mut plain = Vec::with_capacity(bytes.len());
    for line in rest.unwrap_or(bytes).split_inclusive(|byte| *byte == b'\n') {
        match line.strip_suffix(b"\r\n") {
            Some(line) => plain.extend([line, b"\n"].concat()),
            None => plain.extend(line),
        }
    }
    Cow::Owned(Text::new(plain))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn text(text: &str) -> Text {
        Text::new(text.as_bytes().to_vec())
    }

    fn comment(id: u64) -> Comment {
        Comment {
            id,
            time: 1_800_000_000,
            path: b"a b/\xff".to_vec(),
            place: Some(Place {
                side: Side::Old,
                lines: 3..5,
                text: Digest::of(b"text"),
            }),
            kind: Kind::Question,
            text: "why\nnot \u{e9}?".to_owned(),
            state: State::Open,
            replies: Vec::new(),
            to: vec![address("Codex", "s 1"), String::new()],
            names: vec![Name(b"a/\xff".to_vec())],
            told: vec![address("Codex", "s 2")],
        }
    }

    fn message(to: &[&str]) -> Message {
        Message {
            id: 4,
            time: 7,
            to: to.iter().map(|to| (*to).to_owned()).collect(),
            text: "all kept.".to_owned(),
            comments: vec![1, 3],
            is_told: false,
            told: Vec::new(),
        }
    }

    pub(crate) fn records() -> Vec<RoundRecord> {
        let file = Version::File {
            digest: Digest::of(b"f"),
            is_executable: false,
        };
        let path = b"a b".to_vec();
        vec![
            RoundRecord::Comment(comment(1)),
            RoundRecord::Comment(Comment {
                id: 3,
                place: None,
                kind: Kind::Comment,
                state: State::Closed,
                ..comment(3)
            }),
            RoundRecord::State(1, State::Sent),
            RoundRecord::State(1, State::Handled),
            RoundRecord::Reply(
                1,
                Reply {
                    time: 8,
                    who: "Claude Code".to_owned(),
                    text: String::new(),
                },
            ),
            RoundRecord::Rejected(Rejected {
                to: vec!["Codex".to_owned()],
                path: path.clone(),
                hunk: "h1".to_owned(),
                time: 9,
                reason: "keep it.".to_owned(),
                line: 12,
                lines: "-a\n+b\n".to_owned(),
                is_told: true,
                is_back: true,
            }),
            RoundRecord::Shown(vec![
                Shown(path.clone(), vec!["mode 1 2".to_owned(), "h3".to_owned()]),
                Shown(b"b".to_vec(), Vec::new()),
            ]),
            RoundRecord::Unrejected(path.clone(), "h2".to_owned()),
            RoundRecord::Message(message(&["Claude Code", ""])),
            RoundRecord::Message(Message {
                id: 5,
                comments: Vec::new(),
                is_told: true,
                ..message(&[])
            }),
            RoundRecord::Told(4, Some("Claude Code".to_owned()), Some("B".to_owned())),
            RoundRecord::Told(5, None, None),
            RoundRecord::Closed(address("Codex", "s 1")),
            RoundRecord::Decided(2, 3, 4),
            RoundRecord::Begun(2, vec![Begun(path.clone(), file)]),
            RoundRecord::Wrote(1, vec![Wrote(path, Version::Absent, file)]),
        ]
    }

    #[test]
    fn all_records_make_the_same_again() {
        let mut rounds = Rounds::default();
        records()
            .into_iter()
            .for_each(|record| rounds.replay(record));
        let mut again = Rounds::default();
        rounds
            .all_records()
            .into_iter()
            .for_each(|record| again.replay(record));
        assert_eq!(again, rounds);
        let comment = &rounds.comments()[&1];
        assert_eq!((comment.state, comment.replies.len()), (State::Handled, 1));
        // The file that was not there has none.
        assert_eq!(rounds.digests().count(), 3);
    }

    #[test]
    fn who_was_told_is_known_where_it_was_recorded() {
        let read = |line: &str| serde_json::from_str::<RoundRecord>(line).unwrap();
        let told = |records: [RoundRecord; 2]| {
            let mut rounds = Rounds::default();
            rounds.replay(RoundRecord::Comment(Comment {
                told: Vec::new(),
                ..comment(1)
            }));
            rounds.replay(RoundRecord::Message(message(&["A", "B"])));
            records.into_iter().for_each(|one| rounds.replay(one));
            let message = rounds.messages()[0].told.clone();
            assert_eq!(rounds.comments()[&1].told, message);
            message
        };
        let of = |to: &str, who| RoundRecord::Told(4, Some(to.to_owned()), who);
        let by = |who: &str| Some(who.to_owned());
        assert_eq!(told([of("A", by("A")), of("B", by("A"))]), ["A"]);
        assert_eq!(told([of("A", by("A")), of("B", by("C"))]), ["A", "C"]);
        // Versions before do not say it.
        assert_eq!(read(r#"{"told":[4,"A"]}"#), of("A", None));
        assert_eq!(told([of("A", None), of("B", None)]), [""]);
        let old = r#"{"comment":{"id":1,"time":2,"path":"f","place":null,"kind":"question","text":"why",
            "state":"sent","to":[]}}"#;
        let RoundRecord::Comment(old) = read(old) else {
            panic!("it is none");
        };
        assert_eq!(old.told, [""; 0]);
    }

    #[test]
    fn a_message_is_told_to_each_of_its_agents_once() {
        let told = |to: &[&str], agents: &[Option<&str>]| {
            let mut rounds = Rounds::default();
            rounds.replay(RoundRecord::Comment(comment(1)));
            rounds.replay(RoundRecord::Message(message(to)));
            for agent in agents {
                rounds.replay(RoundRecord::Told(4, agent.map(str::to_owned), None));
            }
            (
                rounds.messages()[0].to.join("+"),
                rounds.comments()[&1].state,
            )
        };
        let (open, sent) = (State::Open, State::Sent);
        assert_eq!(told(&["A", "B"], &[]), ("A+B".to_owned(), open));
        assert_eq!(told(&["A", "B"], &[Some("A")]), ("B".to_owned(), sent));
        assert_eq!(told(&["A", "B"], &[None]), (String::new(), sent));
        assert_eq!(told(&[""], &[Some("C")]).0, "");
        assert_eq!(told(&["A"], &[Some("C")]).0, "A");
        // What nobody was told is told in another way.
        let mut rounds = Rounds::default();
        for id in 4..7 {
            let message = message(&["A", "B"]);
            rounds.replay(RoundRecord::Message(Message { id, ..message }));
            if id == 5 {
                rounds.replay(RoundRecord::Told(5, Some("B".to_owned()), None));
            }
        }
        let left: Vec<u64> = rounds.messages().iter().map(|one| one.id).collect();
        assert_eq!(left, [5, 6]);
    }

    #[test]
    fn what_is_not_bounded_by_itself_is_forgotten() {
        let mut rounds = Rounds::default();
        for id in 1..=N_COMMENTS as u64 + 10 {
            let state = if id % 2 == 0 {
                State::Closed
            } else {
                State::Open
            };
            rounds.replay(RoundRecord::Comment(Comment {
                state,
                ..comment(id)
            }));
            rounds.replay(RoundRecord::Wrote(id, Vec::new()));
        }
        assert_eq!(rounds.comments().len(), N_COMMENTS);
        let n_open = rounds
            .comments()
            .values()
            .filter(|one| one.state == State::Open);
        assert_eq!(n_open.count(), N_COMMENTS / 2 + 5);
        let wrote = rounds.outcomes.values().filter(|one| one.wrote.is_some());
        assert_eq!(wrote.count(), N_WROTE);
    }

    #[test]
    fn lines_are_found_where_they_have_moved() {
        let then = text("a\nb\nx\nb\nc\n");
        let found = |lines: Range<usize>, now: &str| place(&then, &lines, &text(now));
        assert_eq!(found(1..2, "a\nb\nx\nb\nc\n"), Some((1, false)));
        // Of equal lines, each is followed.
        assert_eq!(found(1..2, "new\na\nb\nx\nb\nc\n"), Some((2, false)));
        assert_eq!(found(3..4, "new\na\nb\nx\nb\nc\n"), Some((4, false)));
        assert_eq!(found(3..5, "a\nx\nb\nc\nd\n"), Some((2, false)));
        // They are gone.
        assert_eq!(found(2..3, "a\nb\nb\nc\n"), None);
        assert_eq!(found(2..4, "a\nb\nx\nc\n"), None);
        // Something was written between them.
        assert_eq!(found(2..4, "a\nb\nx\nnew\nb\nc\n"), None);
        // Only how they end has changed, or a mark.
        assert_eq!(
            found(1..3, "new\r\na\r\nb\r\nx\r\nb\r\nc\r\n"),
            Some((2, false))
        );
        assert_eq!(found(0..2, "\u{feff}a\nb\nx\nb\nc\n"), Some((0, false)));
        assert_eq!(found(1..2, "a\r\nB\r\nx\r\nb\r\nc\r\n"), None);
        // Another line like it stays.
        assert_eq!(found(1..2, "a\nx\nb\nc\n"), None);
        // They were moved.
        assert_eq!(found(2..3, "x\na\nb\nb\nc\n"), Some((0, false)));
        // One is there twice, and the other is gone.
        let then = text("x\n1\n2\n3\n4\n5\n");
        let moved = text("1\n2\n3\n4\nx\n5\nx\n");
        let found = place(&then, &(0..1), &moved);
        assert_eq!(found, Some((4, true)));
        assert_eq!(place(&then, &(7..9), &moved), None);
    }
}
