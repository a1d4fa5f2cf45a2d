//! What the user and agents say to each other about a project on disk.

use std::collections::BTreeMap;
use std::fs;

use agent_q_diff_reviewed::rounds::{Kind, Side, State, address};
use agent_q_diff_reviewed::{Digest, Note, Project, ProjectError};

use crate::disk::{git, repository};

#[test]
fn a_comment_moves_with_its_lines_and_outlives_restarts() {
    let folder = repository();
    let folder = folder.path();
    let open = || Project::open(folder).unwrap();
    let shown = || -> Vec<_> {
        let all = open().comments(&BTreeMap::new()).unwrap();
        let all = all.into_iter();
        all.map(|one| (one.comment.id, one.line, one.lines))
            .collect()
    };
    let on = |side, lines| Some((side, lines, None));
    let b = open().comment(b"f", on(Side::New, 1..2), Kind::Question, "why?", &[]);
    let old = open().comment(b"f", on(Side::Old, 2..3), Kind::Comment, "shorter", &[]);
    let file = open().comment(b"f", None, Kind::Comment, "split it", &[]);
    assert_eq!((b.unwrap(), old.unwrap(), file.unwrap()), (1, 2, 3));
    fs::write(folder.join("f"), "new\na\nb\n").unwrap();
    let lines = |text: &str| text.as_bytes().to_vec();
    let expected = [
        (1, Some((2, false)), lines("b\n")),
        // What was reviewed has not changed.
        (2, Some((2, false)), lines("c\n")),
        (3, None, Vec::new()),
    ];
    assert_eq!(shown(), expected);
    // Its line is gone.
    fs::write(folder.join("f"), "new\na\n").unwrap();
    assert_eq!(shown()[0].1, None);
    // Other texts may count: those of a review.
    let then = Digest::of(b"b\n");
    fs::write(open().texts().join(then.to_string()), "b\n").unwrap();
    let texts = BTreeMap::from([(b"f".to_vec(), [None, Some(then)])]);
    let there = open().comments(&texts).unwrap();
    assert_eq!((there[0].line, there[1].line), (Some((0, false)), None));
    // What is not there cannot be commented on.
    for lines in [2..2, 2..3] {
        let error = open().comment(b"f", on(Side::New, lines), Kind::Comment, "?", &[]);
        assert!(matches!(error, Err(ProjectError::NoLines(_))));
    }
    let error = open().comment(b"none", on(Side::New, 0..1), Kind::Comment, "?", &[]);
    assert!(matches!(error, Err(ProjectError::NoLines(_))));
}

#[test]
fn a_comment_is_answered_until_the_user_closes_it() {
    let folder = repository();
    let open = || Project::open(folder.path()).unwrap();
    let one = || open().comments(&BTreeMap::new()).unwrap().pop();
    let id = open()
        .comment(b"f", None, Kind::Question, "why?", &[])
        .unwrap();
    let message = open()
        .queue_message(&["Codex".to_owned()], "why?", &[id])
        .unwrap();
    assert_eq!(one().unwrap().comment.state, State::Open);
    open().told(Some("Codex"), &[message]).unwrap();
    assert_eq!(one().unwrap().comment.state, State::Sent);
    open().answer(id, "Codex", "it is faster").unwrap();
    let answered = one().unwrap().comment;
    assert_eq!(
        (answered.state, &*answered.replies[0].text),
        (State::Handled, "it is faster")
    );
    // What is said anew is to be told anew, and the answer stays.
    open()
        .edit_comment(id, Kind::Comment, "measure it")
        .unwrap();
    let again = one().unwrap().comment;
    assert_eq!((again.state, again.replies.len()), (State::Open, 1));
    // Without a text, it is closed.
    open().edit_comment(id, Kind::Comment, " ").unwrap();
    assert_eq!(one(), None);
    let error = open().answer(id, "Codex", "done").unwrap_err();
    assert_eq!(error.to_string(), "there is no open comment with id 1");
    assert!(open().answer(7, "Codex", "").is_err());
    // Its number is not given to another.
    assert_eq!(
        open().comment(b"f", None, Kind::Comment, "x", &[]).unwrap(),
        2
    );
}

#[test]
fn a_message_is_for_the_session_that_wrote_the_lines_while_it_is_open() {
    let folder = repository();
    let open = || Project::open(folder.path()).unwrap();
    let mine = std::process::id();
    for (session, pid) in [("one", Some(mine)), ("two", Some(mine)), ("gone", None)] {
        let mut project = open();
        project.begin_turn("Codex", session, "", pid).unwrap();
        project.end_turns(None).unwrap();
    }
    let read = |agent: &str, session: &str| -> Vec<String> {
        let messages = open().messages(agent, session, None).unwrap().into_iter();
        messages.map(|(message, _)| message.text).collect()
    };
    for session in ["one", "two", "gone", "unknown"] {
        let to = [address("Codex", session)];
        open().queue_message(&to, session, &[]).unwrap();
    }
    open().queue_message(&[], "any", &[]).unwrap();
    assert_eq!(read("Codex", "one"), ["one", "gone", "unknown", "any"]);
    assert_eq!(read("Codex", "two"), ["two", "gone", "unknown", "any"]);
    assert_eq!(read("Claude Code", "one"), ["any"]);
    open().close_session("Codex", "one").unwrap();
    assert_eq!(
        read("Codex", "two"),
        ["one", "two", "gone", "unknown", "any"]
    );
    assert_eq!(read("Codex", "one"), ["one", "gone", "unknown", "any"]);
}

#[test]
fn a_message_waits_for_its_agents() {
    let folder = repository();
    let open = || Project::open(folder.path()).unwrap();
    let told = |agent: &str, since| -> Vec<String> {
        let messages = open().messages(agent, "s", since).unwrap();
        for (message, to) in &messages {
            open().told(Some(to), &[message.id]).unwrap();
        }
        let texts = messages.into_iter();
        texts.map(|(message, _)| message.text).collect()
    };
    let queue = |to: &[&str], text: &str| {
        let to: Vec<String> = to.iter().map(|to| (*to).to_owned()).collect();
        open().queue_message(&to, text, &[]).unwrap()
    };
    queue(&["Codex"], "zero");
    // Instead of the first, which nobody has read.
    queue(&["Claude Code", "Codex"], "one");
    assert_eq!(told("Claude Code", Some(u64::MAX)), [""; 0]);
    assert_eq!(told("Claude Code", Some(0)), ["one"]);
    assert_eq!(told("Claude Code", None), [""; 0]);
    queue(&[], "two");
    assert_eq!(open().untold().unwrap().len(), 2);
    assert_eq!(told("Codex", None), ["one", "two"]);
    // For those who ask what was said last.
    let last = open().untold().unwrap();
    assert_eq!((last.len(), &*last[0].text), (1, "two"));
}

#[test]
fn what_a_turn_wrote_is_known_after_it() {
    let folder = repository();
    let folder = folder.path();
    let open = || Project::open(folder).unwrap();
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    // The user's, from before.
    write("mine", "mine\n");
    write("both", "mine\n");
    open().begin_turn("Codex", "s", "do it", None).unwrap();
    write("f", "a\nB\nc\n");
    write("both", "mine\nits\n");
    write("new", "new\n");
    git(folder, &["add", "new"]);
    git(folder, &["commit", "-qm", "its", "new"]);
    assert!(matches!(open().since_turn(1), Err(ProjectError::NoTurn(1))));
    open().end_turns(None).unwrap();
    let files = |turn: u64| -> Vec<String> {
        let since = open().since_turn(turn).unwrap();
        let changed = since.changed.iter();
        changed
            .map(|one| String::from_utf8(one.path.clone()).unwrap())
            .collect()
    };
    assert_eq!(files(1), ["both", "f", "new"]);
    // What is as before again is not among it.
    write("f", "a\nb\nc\n");
    assert_eq!(files(1), ["both", "new"]);
    let since = open().since_turn(1).unwrap();
    assert_eq!(since.name, "Codex's turn \"do it\"");
    let before = since.changed[0].reviewed.digest().unwrap();
    assert_eq!(before, Digest::of(b"mine\n"));
    open()
        .record(&[Note::Counted(1, 3, 1), Note::Counted(1, -1, 0)])
        .unwrap();
    let outcomes = open().outcomes().unwrap();
    let [(turn, outcome)] = &outcomes[..] else {
        panic!("{outcomes:?}");
    };
    assert_eq!((turn.id, outcome.n_kept, outcome.n_taken_out), (1, 2, 1));
    assert!(matches!(open().since_turn(9), Err(ProjectError::NoTurn(9))));
}
