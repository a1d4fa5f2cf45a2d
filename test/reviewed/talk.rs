//! What the user and agents say to each other about a project on disk.

use std::collections::BTreeMap;
use std::fs;

use agent_q_diff_reviewed::rounds::{Kind, Rejected, RoundRecord, Side, State, address};
use agent_q_diff_reviewed::{Digest, Moves, Note, Project, ProjectError};
use tempfile::TempDir;

use crate::disk::{git, held, pending_of, repository};

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

/// Looks, has comments follow their files, and returns the path and the line of each.
fn placed(folder: &std::path::Path) -> Vec<(String, Option<usize>)> {
    let mut project = Project::open(folder).unwrap();
    let look = project.look(Moves::User).unwrap();
    let renames = project.renames(&look.pending).unwrap();
    project.move_comments(&look.pending, &renames).unwrap();
    let all = project.comments(&BTreeMap::new()).unwrap().into_iter();
    all.map(|one| {
        let path = String::from_utf8(one.comment.path).unwrap();
        (path, one.line.map(|(line, _)| line))
    })
    .collect()
}

fn at(path: &str, line: usize) -> (String, Option<usize>) {
    (path.to_owned(), Some(line))
}

#[test]
fn a_comment_follows_its_file_through_renames_and_back() {
    let folder = repository();
    let folder = folder.path();
    let on = Some((Side::New, 1..2, None));
    let mut project = Project::open(folder).unwrap();
    (project.comment(b"f", on, Kind::Comment, "why?", &[])).unwrap();
    let rename = |from: &str, to: &str| {
        fs::create_dir_all(folder.join("d")).unwrap();
        fs::rename(folder.join(from), folder.join(to)).unwrap();
    };
    rename("f", "d/g");
    assert_eq!(placed(folder), [at("d/g", 1)]);
    rename("d/g", "h");
    assert_eq!(placed(folder), [at("h", 1)]);
    // The rename is rejected.
    rename("h", "f");
    assert_eq!(placed(folder), [at("f", 1)]);
    // It is committed, and the user goes to another branch and comes back.
    rename("f", "h");
    assert_eq!(placed(folder), [at("h", 1)]);
    git(folder, &["checkout", "-qb", "other"]);
    git(folder, &["add", "-A"]);
    git(folder, &["commit", "-qm", "renamed"]);
    assert_eq!(placed(folder), [at("h", 1)]);
    git(folder, &["checkout", "-q", "-"]);
    assert_eq!(placed(folder), [at("f", 1)]);
    git(folder, &["checkout", "-q", "-"]);
    assert_eq!(placed(folder), [at("h", 1)]);
    // The user renames it, which is reviewed at once.
    let renamed = |from: &str, to: &str| {
        let text = held("a\nb\nc\n");
        rename(from, to);
        let renamed = Note::Renamed {
            from: (from.into(), text.clone()),
            to: (to.into(), text),
        };
        let mut project = Project::open(folder).unwrap();
        project.record(&[renamed]).unwrap();
        assert_eq!(pending_of(&mut project, Moves::User), Vec::<String>::new());
    };
    renamed("h", "i");
    assert_eq!(placed(folder), [at("i", 1)]);
    renamed("i", "h");
    // Both are there: it is on the one that it was on.
    fs::write(folder.join("f"), "a\nb\n").unwrap();
    assert_eq!(placed(folder), [at("h", 1)]);
}

#[test]
fn comments_follow_all_files_of_a_folder_that_is_renamed() {
    let folder = repository();
    let folder = folder.path();
    fs::create_dir(folder.join("old")).unwrap();
    let n_files = 80;
    for nth in 0..n_files {
        fs::write(
            folder.join(format!("old/{nth}")),
            format!("{nth}\nb{nth}\n"),
        )
        .unwrap();
    }
    git(folder, &["add", "-A"]);
    git(folder, &["commit", "-qm", "files"]);
    placed(folder);
    let mut project = Project::open(folder).unwrap();
    for nth in 0..n_files {
        let on = Some((Side::New, 1..2, None));
        let path = format!("old/{nth}");
        (project.comment(path.as_bytes(), on, Kind::Comment, "why?", &[])).unwrap();
    }
    fs::rename(folder.join("old"), folder.join("new")).unwrap();
    let expected: Vec<_> = (0..n_files)
        .map(|nth| at(&format!("new/{nth}"), 1))
        .collect();
    assert_eq!(placed(folder), expected);
}

#[test]
fn a_comment_on_a_line_that_another_branch_lacks_is_back_with_it() {
    let folder = repository();
    let folder = folder.path();
    git(folder, &["checkout", "-qb", "other"]);
    fs::write(folder.join("f"), "a\nb\nline\nc\n").unwrap();
    fs::write(folder.join("only"), "x\ny\n").unwrap();
    git(folder, &["add", "-A"]);
    git(folder, &["commit", "-qm", "more"]);
    let mut project = Project::open(folder).unwrap();
    for (path, line) in [("f", 2), ("only", 1)] {
        let on = Some((Side::New, line..line + 1, None));
        (project.comment(path.as_bytes(), on, Kind::Comment, "why?", &[])).unwrap();
    }
    let here = [at("f", 2), at("only", 1)];
    assert_eq!(placed(folder), here);
    git(folder, &["checkout", "-q", "-"]);
    let there = [("f".to_owned(), None), ("only".to_owned(), None)];
    assert_eq!(placed(folder), there);
    git(folder, &["checkout", "-q", "-"]);
    assert_eq!(placed(folder), here);
}

#[test]
fn a_rejection_whose_lines_an_undo_brings_back_is_none() {
    for is_told in [false, true] {
        let folder = repository();
        let mut project = Project::open(folder.path()).unwrap();
        let (old, new) = ("a\nb\nc\n", "a\nB\nc\n");
        fs::write(folder.path().join("f"), new).unwrap();
        project.look(Moves::User).unwrap();
        let rejected = Rejected {
            path: b"f".to_vec(),
            hunk: "key".to_owned(),
            time: 1,
            reason: "no".to_owned(),
            line: 2,
            lines: "-b\n+B\n".to_owned(),
            is_told,
            is_back: false,
            to: Vec::new(),
        };
        let notes = [Note::Said(RoundRecord::Rejected(rejected.clone()))];
        project.record(&notes).unwrap();
        let save = |project: &mut Project, before: &str, after: &str, has_undone| {
            fs::write(folder.path().join("f"), after).unwrap();
            let path = b"f".to_vec();
            let (before, after) = (held(before), held(after));
            let saved = Note::Saved {
                path,
                before,
                after,
                has_undone,
            };
            project.record(&[saved]).unwrap();
            project.rejected().unwrap().cloned().collect::<Vec<_>>()
        };
        assert_eq!(
            save(&mut project, new, old, false),
            std::slice::from_ref(&rejected)
        );
        let back = save(&mut project, old, new, true);
        match is_told {
            false => assert_eq!(back, []),
            true => {
                assert_eq!(back.len(), 1);
                assert_eq!((back[0].is_told, back[0].is_back), (false, true));
            }
        }
        assert_eq!(
            pending_of(&mut project, Moves::User),
            ["f: a\\nb\\nc\\n -> a\\nB\\nc\\n"]
        );
    }
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

/// A turn of Codex in `session`, whose process is `pid`, begins and ends.
fn work_in(folder: &TempDir, session: &str, pid: Option<u32>) {
    let mut project = Project::open(folder.path()).unwrap();
    project.begin_turn("Codex", session, "", pid).unwrap();
    project.end_turns(None).unwrap();
}

#[test]
fn a_message_is_for_the_session_that_wrote_the_lines_while_it_is_open() {
    let folder = repository();
    let open = || Project::open(folder.path()).unwrap();
    let mine = Some(std::process::id());
    work_in(&folder, "one", mine);
    work_in(&folder, "two", mine);
    work_in(&folder, "gone", None);
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
fn a_reply_answers_what_its_session_was_told() {
    let folder = repository();
    let open = || Project::open(folder.path()).unwrap();
    let mine = Some(std::process::id());
    for session in ["one", "two"] {
        work_in(&folder, session, mine);
    }
    let to = [address("Codex", "one")];
    let id = open().comment(b"f", None, Kind::Question, "why?", &to);
    assert_eq!(id.unwrap(), 1);
    let queue = || open().queue_message(&to, "why?", &[1]).unwrap();
    let answers = |agent: &str, session: &str| {
        let reply = "[1] f, line 2: because";
        let answers = open().answers_in_reply(agent, session, reply).unwrap();
        answers.len()
    };
    let message = queue();
    assert_eq!(answers("Codex", "one"), 0);
    open().told_in("Codex", "one", &[message]).unwrap();
    assert_eq!((answers("Codex", "one"), answers("Codex", "two")), (1, 0));
    // A session that has ended may go on; another one has a list of its own.
    open().close_session("Codex", "one").unwrap();
    assert_eq!((answers("Codex", "one"), answers("Codex", "two")), (1, 0));
    // Of what is said anew, who was told that counts, also if the session that wrote the lines goes on.
    open().edit_comment(1, Kind::Question, "why so?").unwrap();
    let message = queue();
    open().told_in("Codex", "two", &[message]).unwrap();
    assert_eq!((answers("Codex", "one"), answers("Codex", "two")), (0, 1));
    work_in(&folder, "one", mine);
    assert_eq!((answers("Codex", "one"), answers("Codex", "two")), (0, 1));
    // Where the session that was told is not known, it may be any that the comment is for.
    for to in [None, Some("Codex")] {
        open().edit_comment(1, Kind::Question, "why not?").unwrap();
        let message = queue();
        open().told(to, &[message]).unwrap();
        assert_eq!((answers("Codex", "one"), answers("Codex", "two")), (1, 0));
        assert_eq!(answers("Claude Code", "one"), 0);
    }
    open().edit_comment(1, Kind::Question, "and now?").unwrap();
    open().set_comment(1, State::Sent).unwrap();
    assert_eq!((answers("Codex", "one"), answers("Codex", "two")), (1, 0));
}

#[test]
fn a_session_is_told_once_what_several_have_written() {
    let folder = repository();
    let open = || Project::open(folder.path()).unwrap();
    let mine = Some(std::process::id());
    for session in ["one", "two", "three"] {
        work_in(&folder, session, mine);
    }
    let told = |session: &str| -> Vec<String> {
        let messages = open().messages("Codex", session, None).unwrap();
        let ids: Vec<u64> = messages.iter().map(|(message, _)| message.id).collect();
        open().told_in("Codex", session, &ids).unwrap();
        messages.into_iter().map(|(one, _)| one.text).collect()
    };
    let both = ["one", "two"].map(|session| address("Codex", session));
    let queue = |to: &[String], text: &str| open().queue_message(to, text, &[]).unwrap();
    // What nobody is known to have written is for one of them.
    queue(&[], "any");
    queue(&["Codex".to_owned()], "its");
    assert_eq!(told("one"), ["any", "its"]);
    assert_eq!(told("two"), [""; 0]);
    // What both have written is for both, as long as both can read it.
    queue(&both, "both");
    assert_eq!(
        (told("one"), told("three")),
        (vec!["both".to_owned()], vec![])
    );
    assert_eq!(told("two"), ["both"]);
    queue(&both, "more");
    assert_eq!(told("one"), ["more"]);
    open().close_session("Codex", "two").unwrap();
    assert_eq!(told("one"), [""; 0]);
    // It has read that in place of the other one.
    assert_eq!(told("three"), [""; 0]);
    assert!(open().untold().unwrap()[0].to.is_empty());
}

#[test]
fn a_session_that_goes_on_after_its_end_is_open() {
    let folder = repository();
    let open = || Project::open(folder.path()).unwrap();
    let mine = Some(std::process::id());
    for session in ["one", "two"] {
        work_in(&folder, session, mine);
    }
    open().close_session("Codex", "one").unwrap();
    let to = [address("Codex", "one")];
    open().queue_message(&to, "why?", &[]).unwrap();
    let n_read = |session: &str| open().messages("Codex", session, None).unwrap().len();
    assert_eq!((n_read("one"), n_read("two")), (1, 1));
    work_in(&folder, "one", mine);
    assert_eq!((n_read("one"), n_read("two")), (1, 0));
}

#[test]
fn what_is_said_anew_is_not_told_with_what_waits() {
    let folder = repository();
    let open = || Project::open(folder.path()).unwrap();
    let state = || {
        let mut all = open().comments(&BTreeMap::new()).unwrap();
        all.pop().unwrap().comment.state
    };
    let mut project = open();
    (project.comment(b"f", None, Kind::Question, "why?", &[])).unwrap();
    let both = ["Codex", "Claude Code"].map(str::to_owned);
    let message = project.queue_message(&both, "why?", &[1]).unwrap();
    project.told_in("Codex", "s", &[message]).unwrap();
    assert_eq!(state(), State::Sent);
    open().edit_comment(1, Kind::Question, "why so?").unwrap();
    // It has read another question, under the same number.
    open().told_in("Claude Code", "t", &[message]).unwrap();
    assert_eq!(state(), State::Open);
    let message = open().queue_message(&both, "why so?", &[1]).unwrap();
    open().told_in("Codex", "s", &[message]).unwrap();
    assert_eq!(state(), State::Sent);
    let mut answers = |agent: &str, session: &str| {
        let found = project.answers_in_reply(agent, session, "[1] so");
        found.unwrap().len()
    };
    assert_eq!((answers("Codex", "s"), answers("Claude Code", "t")), (1, 0));
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
