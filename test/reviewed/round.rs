//! What the decisions of a review after the write mean for agents and for later reviews.

use std::collections::BTreeMap;

use agent_q_diff_engine::change::{Change, Entry, FileChange};
use agent_q_diff_engine::proposal::Proposal;
use agent_q_diff_engine::review::{Mark, Review};
use agent_q_diff_reviewed::Project;
use agent_q_diff_reviewed::round::{Likeness, Round, RoundFile, Writers};

use crate::disk::repository;

const OLD: &str = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n";
const NEW: &str = "A\nb\nc\nd\ne\nf\ng\nh\ni\nJ\n";

/// A change of two hunks in `f`, of which turn 1 wrote the first, and the user the second.
fn change(project: &mut Project) -> (Change, Round) {
    let proposal = Proposal::from_texts(OLD.into(), NEW.into(), 3).unwrap();
    let file = FileChange::new(Vec::new(), Some(Review::new(proposal)));
    let mut change = Change::new(vec![file]);
    change.begin_written();
    let file = RoundFile {
        path: b"f".to_vec(),
        from: None,
        operations: Vec::new(),
        writers: Writers {
            all: vec![Some(1), None],
            lines: vec![(0, 1, vec![Some(1)]), (9, 10, vec![None])],
        },
    };
    let round = Round::new(vec![file], project.rejected().unwrap());
    (change, round)
}

#[test]
fn what_is_rejected_is_remembered_with_its_reason_until_that_is_undone() {
    let folder = repository();
    let mut project = Project::open(folder.path()).unwrap();
    project.begin_turn("Codex", "s", "do it", None).unwrap();
    let (mut change, mut round) = change(&mut project);
    let mut decide = |project: &mut Project, marks: [Mark; 2], reason: &str| {
        for (hunk, mark) in marks.into_iter().enumerate() {
            change.set_mark(0, Entry::Hunk(hunk), mark);
        }
        let comments = BTreeMap::from([(0, reason.to_owned())]);
        let noted = round.note(&change, &[], &comments, &BTreeMap::new(), 7);
        project.record(&noted.notes).unwrap();
        let comments = noted.comments.clone();
        round.take_over(noted);
        comments
    };
    let counts = |project: &mut Project| {
        let outcomes = project.outcomes().unwrap();
        (outcomes[0].1.n_kept, outcomes[0].1.n_taken_out)
    };
    decide(&mut project, [Mark::Rejected, Mark::Applied], "why");
    let all: Vec<_> = project.rejected().unwrap().cloned().collect();
    let [one] = &all[..] else { panic!("{all:?}") };
    assert_eq!((one.lines.as_str(), one.line, one.time), ("-a\n+A\n", 1, 7));
    assert_eq!(
        (one.reason.as_str(), &*one.to),
        ("why", &["Codex\ns".to_owned()][..])
    );
    // The second one was not written in the turn.
    assert_eq!(counts(&mut project), (0, 1));
    // Nothing was decided since.
    decide(&mut project, [Mark::Rejected, Mark::Applied], "other");
    assert_eq!(counts(&mut project), (0, 1));
    decide(&mut project, [Mark::Pending, Mark::Applied], "");
    assert_eq!(project.rejected().unwrap().count(), 0);
    assert_eq!(counts(&mut project), (0, 0));
    decide(&mut project, [Mark::Applied, Mark::Pending], "");
    assert_eq!(counts(&mut project), (1, 0));
}

#[test]
fn a_hunk_that_comes_again_has_its_reason_again_and_is_forgotten_once_it_is_kept() {
    let folder = repository();
    let mut project = Project::open(folder.path()).unwrap();
    let (mut change_then, mut round) = change(&mut project);
    change_then.set_mark(0, Entry::Hunk(0), Mark::Rejected);
    let comments = BTreeMap::from([(0, "why".to_owned())]);
    let noted = round.note(&change_then, &[], &comments, &BTreeMap::new(), 7);
    project.record(&noted.notes).unwrap();
    // Of this review, nothing was rejected before.
    assert_eq!(round.earlier(&change_then, 0), None);

    let (mut change, mut round) = change(&mut project);
    let earlier = round
        .earlier(&change, 0)
        .map(|(one, how)| (one.reason.clone(), how));
    assert_eq!(earlier, Some(("why".to_owned(), Likeness::Same)));
    assert_eq!(round.earlier(&change, 1), None);
    change.set_mark(0, Entry::Hunk(0), Mark::Rejected);
    let noted = round.note(&change, &[], &BTreeMap::new(), &BTreeMap::new(), 8);
    let why = || Some("why".to_owned());
    assert_eq!(noted.comments, [(0, None, why())]);
    project.record(&noted.notes).unwrap();
    round.take_over(noted);
    assert_eq!(project.rejected().unwrap().next().unwrap().reason, "why");
    change.set_mark(0, Entry::Hunk(0), Mark::Applied);
    let noted = round.note(&change, &[], &BTreeMap::new(), &BTreeMap::new(), 9);
    assert_eq!(noted.comments, [(0, why(), None)]);
    project.record(&noted.notes).unwrap();
    assert_eq!(project.rejected().unwrap().count(), 0);
}

#[test]
fn what_an_undo_in_the_files_buffer_brings_back_is_not_rejected_at_the_end() {
    let folder = repository();
    let mut project = Project::open(folder.path()).unwrap();
    project.begin_turn("Codex", "s", "do it", None).unwrap();
    let (mut change, mut round) = change(&mut project);
    let nothing = BTreeMap::new();
    change.set_mark(0, Entry::Hunk(0), Mark::Rejected);
    let noted = round.note(&change, &[], &nothing, &BTreeMap::new(), 7);
    project.record(&noted.notes).unwrap();
    round.take_over(noted);
    change.set_mark(0, Entry::Hunk(0), Mark::Pending);
    let notes = round.end(&change, &nothing, false, Some(true));
    project.record(&notes).unwrap();
    assert_eq!(project.rejected().unwrap().count(), 0);
    assert_eq!(project.outcomes().unwrap()[0].1.n_taken_out, 0);
    assert!(round.rejected_now(&change).is_empty());
}

#[test]
fn what_another_emacs_has_rejected_since_is_forgotten_once_it_is_kept() {
    let folder = repository();
    let mut project = Project::open(folder.path()).unwrap();
    let (mut change_here, mut here) = change(&mut project);
    let (mut change_there, mut there) = change(&mut project);
    for hunk in [0, 1] {
        change_there.set_mark(0, Entry::Hunk(hunk), Mark::Rejected);
    }
    let noted = there.note(&change_there, &[], &BTreeMap::new(), &BTreeMap::new(), 7);
    project.record(&noted.notes).unwrap();
    there.take_over(noted);
    // What this review has rejected is none of it.
    assert_eq!(there.elsewhere(project.rejected().unwrap()), []);
    let elsewhere = here.elsewhere(project.rejected().unwrap());
    assert_eq!(elsewhere.len(), 2);
    change_here.set_mark(0, Entry::Hunk(0), Mark::Applied);
    let noted = here.note(
        &change_here,
        &elsewhere,
        &BTreeMap::new(),
        &BTreeMap::new(),
        8,
    );
    project.record(&noted.notes).unwrap();
    let left: Vec<_> = project.rejected().unwrap().map(|one| one.line).collect();
    assert_eq!(left, [10]);
}

#[test]
fn bytes_that_are_no_characters_are_shown_by_their_numbers() {
    use agent_q_diff_reviewed::rounds::plain;
    assert_eq!(plain(b"a\x80\xffb\xc3\xa9"), "a\\200\\377b\u{e9}");
    assert_eq!(plain(b"\xed\xa0\x80z"), "\u{fffd}z");
}
