//! Each rule of what is reviewed, in the situation that it is for.

use agent_q_diff_engine::diff::edits;
use agent_q_diff_engine::text::Text;
use agent_q_diff_reviewed::Moves::{Agent, Unknown, User};
use agent_q_diff_reviewed::Version;
use agent_q_diff_reviewed::authors::Author;

use crate::dice::Dice;
use crate::world::Reviewed;

/// A project with one committed file of three lines, looked at once.
fn project() -> Reviewed {
    let mut project = Reviewed::default();
    project.world.write("f", "a\nb\nc\n");
    project.world.commit();
    assert!(project.pending(User).is_empty());
    project
}

#[test]
fn what_an_agent_writes_is_pending_until_it_is_kept() {
    let mut project = project();
    project.world.write("f", "a\nB\nc\n");
    project.world.write("new", "x\n");
    let all = [
        "f: \"a\\nb\\nc\\n\" -> \"a\\nB\\nc\\n\"",
        "new: - -> \"x\\n\"",
    ];
    assert_eq!(project.pending(Agent), all);
    let working = project.world.at("f");
    project.decide("f", working);
    assert_eq!(project.pending(Agent), all[1..]);
    project.restart();
    assert_eq!(project.pending(User), all[1..]);
}

#[test]
fn what_was_rejected_asks_again_only_if_it_comes_back() {
    let mut project = project();
    project.world.write("f", "a\nB\nc\n");
    let shown = project.pending(Agent);
    let reviewed = project.reviewed("f");
    project.world.write("f", "a\nb\nc\n");
    project.decide("f", reviewed);
    assert!(project.pending(Agent).is_empty());
    project.world.write("f", "a\nB\nc\n");
    assert_eq!(project.pending(Agent), shown);
}

#[test]
fn lines_that_are_written_again_after_a_rejection_are_by_the_turn_that_wrote_them() {
    for is_rejected in [true, false] {
        let mut project = project();
        project.turn(true);
        project.world.write("f", "a\nB\nc\n");
        project.turn(false);
        // Without a rejection, a stash or an undo has the same effect.
        let reviewed = project.reviewed("f");
        let [had, left] = [project.world.at("f"), reviewed];
        if is_rejected {
            project.ledger.take_out(b"f", 1, had);
        }
        project.world.write("f", "a\nb\nc\n");
        if is_rejected {
            project.decide("f", reviewed);
            project.ledger.leave(b"f", left);
        }
        assert!(project.pending(User).is_empty());
        project.turn(true);
        project.world.write("f", "a\nB\nc\n");
        project.turn(false);
        let pending = project.look(Agent);
        let turn = if is_rejected { 2 } else { 1 };
        assert_eq!(pending[0].written.authors, [Author::Turn(turn)]);
        // Later looks do not change that.
        project.world.write("f", "a\nB\nC\n");
        project.look(Agent);
        project.world.write("f", "a\nB\nc\n");
        let pending = project.look(Agent);
        assert_eq!(pending[0].written.authors, [Author::Turn(turn)]);
    }
}

#[test]
fn what_is_left_of_a_hunk_keeps_its_author_when_the_rest_is_written_again() {
    let mut project = project();
    project.turn(true);
    project.world.write("f", "A\nb\nC\n");
    project.turn(false);
    let reviewed = project.reviewed("f");
    let had = project.world.at("f");
    project.ledger.take_out(b"f", 1, had);
    project.world.write("f", "a\nb\nC\n");
    project.decide("f", reviewed);
    project.turn(true);
    project.world.write("f", "A\nb\nC\n");
    project.turn(false);
    let pending = project.look(Agent);
    let expected = [
        ("A\n".to_owned(), vec![Author::Turn(2)]),
        ("C\n".to_owned(), vec![Author::Turn(1)]),
    ];
    assert_eq!(project.authors(&pending[0]), expected);
}

#[test]
fn what_the_user_saves_is_reviewed_where_it_touches_nothing_pending() {
    let mut project = project();
    project.save("f", "a\nb\nc\nmine\n");
    assert!(project.pending(User).is_empty());
    project.world.write("f", "A\nb\nc\nmine\n");
    project.pending(Agent);
    project.save("f", "A\nb\nc\nmine\nmore\n");
    let shown = "f: \"a\\nb\\nc\\nmine\\nmore\\n\" -> \"A\\nb\\nc\\nmine\\nmore\\n\"";
    assert_eq!(project.pending(User), [shown]);
    // An agent's line that the user changes stays pending.
    project.save("f", "AA\nb\nc\nmine\nmore\n");
    let shown = "f: \"a\\nb\\nc\\nmine\\nmore\\n\" -> \"AA\\nb\\nc\\nmine\\nmore\\n\"";
    assert_eq!(project.pending(User), [shown]);
}

#[test]
fn what_an_agent_wipes_out_is_pending() {
    let mut project = project();
    project.save("f", "a\nb\nc\nmine\n");
    project.save("untracked", "mine\n");
    project.world.files = project.world.head_files();
    let shown = [
        "f: \"a\\nb\\nc\\nmine\\n\" -> \"a\\nb\\nc\\n\"",
        "untracked: \"mine\\n\" -> -",
    ];
    assert_eq!(project.pending(Agent), shown);
    assert_eq!(project.pending(Agent), shown);
}

#[test]
fn what_the_user_wipes_out_is_reviewed() {
    let mut project = project();
    project.save("f", "a\nb\nc\nmine\n");
    project.world.files = project.world.head_files();
    assert!(project.pending(User).is_empty());
}

#[test]
fn what_the_user_commits_is_reviewed_and_the_rest_is_not() {
    let mut project = project();
    project.world.write("f", "A\nb\nC\n");
    project.pending(Agent);
    // As `git add -p` of the first hunk, and commit.
    let part = project.world.file("A\nb\nc\n");
    let mut files = project.world.head_files();
    files.insert(b"f".to_vec(), part);
    project.world.commits.push(files);
    project.world.head = Some(1);
    assert_eq!(
        project.pending(User),
        ["f: \"A\\nb\\nc\\n\" -> \"A\\nb\\nC\\n\""]
    );
}

#[test]
fn what_an_agent_commits_stays_pending() {
    let mut project = project();
    project.world.write("f", "a\nB\nc\n");
    project.pending(Agent);
    project.world.commit();
    let shown = ["f: \"a\\nb\\nc\\n\" -> \"a\\nB\\nc\\n\""];
    assert_eq!(project.pending(Agent), shown);
    // Also through the user's amending it, which changes another file.
    project.world.write("other", "x\n");
    project.world.commit();
    assert_eq!(project.pending(User), shown);
}

#[test]
fn an_unrelated_pull_clears_nothing() {
    let mut project = project();
    project.world.write("f", "a\nB\nc\n");
    project.pending(Agent);
    let mut files = project.world.head_files();
    let other = project.world.file("other\n");
    files.insert(b"other".to_vec(), other);
    project.world.commits.push(files);
    project.world.head = Some(1);
    project.world.files.insert(b"other".to_vec(), other);
    assert_eq!(
        project.pending(User),
        ["f: \"a\\nb\\nc\\n\" -> \"a\\nB\\nc\\n\""]
    );
}

#[test]
fn stash_and_pop_bring_back_what_was_pending_and_what_was_not() {
    for pop in [User, Agent] {
        let mut project = project();
        project.save("f", "a\nb\nc\nmine\n");
        project.world.write("f", "A\nb\nc\nmine\n");
        let shown = project.pending(Agent);
        let files = project.world.files.clone();
        project.world.files = project.world.head_files();
        assert!(project.pending(User).is_empty());
        project.world.files = files;
        assert_eq!(project.pending(pop), shown, "{pop:?}");
    }
}

#[test]
fn another_branch_and_back_asks_nothing_again() {
    let mut project = project();
    project.world.write("f", "A\nb\nC\n");
    project.pending(Agent);
    let kept = project.world.file("A\nb\nc\n");
    project.decide("f", kept);
    project.world.commit();
    let shown = project.pending(Agent);
    assert_eq!(shown, ["f: \"A\\nb\\nc\\n\" -> \"A\\nb\\nC\\n\""]);
    project.world.others = vec![(0, 1)];
    project.world.head = Some(0);
    project.world.files = project.world.head_files();
    assert!(project.pending(User).is_empty());
    project.world.head = Some(1);
    project.world.files = project.world.head_files();
    assert_eq!(project.pending(User), shown);
}

#[test]
fn a_mode_is_reviewed_as_a_text_is() {
    let mut project = project();
    let Version::File { digest, .. } = project.world.at("f") else {
        panic!("a file");
    };
    let script = Version::File {
        digest,
        is_executable: true,
    };
    project.world.files.insert(b"f".to_vec(), script);
    assert_eq!(project.pending(Agent).len(), 1);
    project.decide("f", script);
    assert!(project.pending(Agent).is_empty());
}

#[test]
fn what_was_reviewed_stays_so_when_only_head_is_reset() {
    let mut project = project();
    let first = project.world.head;
    project.world.write("f", "a\nB\nc\n");
    project.world.commit();
    assert!(project.pending(User).is_empty());
    project.world.head = first;
    assert!(project.pending(User).is_empty());
    // And on a branch without commits.
    project.world.head = None;
    assert!(project.pending(User).is_empty());
}

#[test]
fn a_new_file_that_the_user_commits_is_reviewed_as_it_was_committed() {
    let mut project = project();
    project.save("new", "a\nb\nc\nd\n");
    project.world.write("new", "a\nB\nc\nd\n");
    assert_eq!(project.pending(Agent).len(), 1);
    project.world.commit();
    assert!(project.pending(User).is_empty());
    project.world.write("new", "a\nB\nc\nD\n");
    assert_eq!(
        project.pending(Agent),
        ["new: \"a\\nB\\nc\\nd\\n\" -> \"a\\nB\\nc\\nD\\n\""]
    );
}

#[test]
fn where_a_commit_of_the_users_has_other_lines_than_were_reviewed_it_counts() {
    let mut project = project();
    project.world.write("f", "a\nB\nc\n");
    let kept = project.world.at("f");
    project.decide("f", kept);
    project.world.write("f", "a\nBB\nc\n");
    assert_eq!(project.pending(Agent).len(), 1);
    project.world.commit();
    assert!(project.pending(User).is_empty());
}

#[test]
fn what_was_reviewed_and_is_still_there_stays_so_when_the_user_moves_head_back() {
    let mut project = project();
    project.save("f", "a\nmine\nb\nc\n");
    project.save("new", "mine\n");
    project.world.commit();
    assert!(project.pending(User).is_empty());
    project.world.write("f", "a\nmine\nb\nC\n");
    project.world.write("new", "mine\nagent\n");
    let shown = project.pending(Agent);
    assert_eq!(shown.len(), 2);
    // As by `git reset HEAD~1`.
    project.world.head = Some(0);
    assert_eq!(project.pending(User), shown);
}

// Renames.

/// A project with two committed files, of which an agent renames `f`.
fn renamed(text: &str) -> Reviewed {
    let mut project = project();
    project.world.write("g", "1\n2\n3\n4\n");
    project.world.commit();
    assert!(project.pending(User).is_empty());
    project.world.files.remove(&b"f"[..]);
    project.world.write("to/h", text);
    project
}

#[test]
fn a_file_that_was_renamed_is_found_by_its_lines() {
    for text in ["a\nb\nc\n", "a\nB\nc\n", "a\nb\nc\nd\n"] {
        let found = renamed(text).renames();
        assert_eq!(found, ["f -> to/h: \"a\\nb\\nc\\n\""], "{text}");
    }
    for text in ["", "a\n", "a\nX\nY\n", "x\ny\nz\n"] {
        assert!(renamed(text).renames().is_empty(), "{text}");
    }
}

#[test]
fn of_two_files_that_are_like_it_the_one_with_most_lines_was_renamed() {
    let mut project = renamed("a\nb\nc\nd\n");
    project.world.write("e", "a\nb\nC\n");
    project.world.write("i", "a\nb\nc\n");
    assert_eq!(project.renames(), ["f -> i: \"a\\nb\\nc\\n\""]);
}

#[test]
fn lines_that_go_into_a_file_that_was_there_are_no_rename() {
    let mut project = renamed("a\n");
    project.world.write("g", "1\n2\n3\n4\na\nb\nc\n");
    assert!(project.renames().is_empty());
    // Nor if the file was new once, and kept.
    project.world.write("i", "1\n");
    project.pending(Agent);
    let kept = project.world.at("i");
    project.decide("i", kept);
    project.world.write("i", "1\na\nb\nc\n");
    assert!(project.renames().is_empty());
}

#[test]
fn the_users_lines_in_a_file_that_was_renamed_follow_it() {
    // Those that were there before the rename are no difference.
    let mut project = project();
    project.save("f", "a\nmine\nb\nc\n");
    let file = project.world.files.remove(&b"f"[..]).unwrap();
    project.world.files.insert(b"h".to_vec(), file);
    assert_eq!(project.renames(), ["f -> h: \"a\\nmine\\nb\\nc\\n\""]);
    // Those that the user adds afterwards are not the agent's, and go where the file goes.
    project.save("h", "a\nmine\nb\nc\nmore\n");
    assert_eq!(
        project.renames(),
        ["f -> h: \"a\\nmine\\nb\\nc\\nmore\\n\""]
    );
    project.world.write("h", "a\nmine\nB\nc\nmore\n");
    assert_eq!(
        project.renames(),
        ["f -> h: \"a\\nmine\\nb\\nc\\nmore\\n\""]
    );
    project.restart();
    assert_eq!(
        project.renames(),
        ["f -> h: \"a\\nmine\\nb\\nc\\nmore\\n\""]
    );
}

// Commits.

#[test]
fn a_commit_of_all_leaves_nothing_and_writes_nothing_twice() {
    for (kept, working) in [
        ("a\nb\nc\nfn\nend\n", "a\nb\nc\nfn\nmore\nend\n"),
        // Lines of what was never committed are replaced, removed, moved.
        ("a\nb\nc\nfn\nx\nend\n", "a\nb\nc\nfn\ny\nend\n"),
        ("a\nb\nc\nfn\nx\nend\n", "a\nb\nc\nfn\nend\n"),
        ("fn\nend\na\nb\nc\n", "a\nb\nc\nfn\nend\n"),
    ] {
        let mut project = project();
        project.world.write("f", kept);
        let version = project.world.at("f");
        project.decide("f", version);
        project.world.write("f", working);
        assert_eq!(project.pending(Agent).len(), 1);
        project.world.commit();
        assert!(project.pending(User).is_empty(), "{kept:?} {working:?}");
    }
}

#[test]
fn a_part_of_what_was_kept_is_committed_and_nothing_is_asked_again() {
    let mut project = project();
    project.world.write("f", "a\nb\nc\none\ntwo\n");
    let kept = project.world.at("f");
    project.decide("f", kept);
    let part = project.world.file("a\nb\nc\none\n");
    let mut files = project.world.head_files();
    files.insert(b"f".to_vec(), part);
    project.world.commits.push(files);
    project.world.head = Some(1);
    assert!(project.pending(User).is_empty());
    assert_eq!(project.reviewed("f"), kept);
}

#[test]
fn what_an_agent_removed_and_committed_stays_pending_when_the_user_commits_the_rest() {
    let mut project = project();
    project.world.write("f", "a\nc\n");
    project.pending(Agent);
    project.world.commit();
    let shown = ["f: \"a\\nb\\nc\\n\" -> \"a\\nc\\n\""];
    assert_eq!(project.pending(Agent), shown);
    project.world.write("f", "a\nc\nmore\n");
    project.pending(Agent);
    project.world.commit();
    let shown = ["f: \"a\\nb\\nc\\nmore\\n\" -> \"a\\nc\\nmore\\n\""];
    assert_eq!(project.pending(User), shown);
    project.restart();
    assert_eq!(project.pending(Agent), shown);
}

#[test]
fn what_others_committed_stays_pending_though_the_user_merges_it() {
    let mut project = project();
    project.world.write("f", "a\nb\nc\nagent\n");
    let commit = project.world.commit();
    project.world.others = vec![(0, commit)];
    project.world.write("f", "mine\na\nb\nc\nagent\n");
    project.world.commit();
    assert_eq!(
        project.pending(User),
        ["f: \"mine\\na\\nb\\nc\\n\" -> \"mine\\na\\nb\\nc\\nagent\\n\""]
    );
}

#[test]
fn a_file_is_deleted_made_and_executable_by_a_commit_of_the_users() {
    let mut project = project();
    let Version::File { digest, .. } = project.world.at("f") else {
        panic!("a file");
    };
    let script = Version::File {
        digest,
        is_executable: true,
    };
    project.world.files.insert(b"f".to_vec(), script);
    project.world.write("new", "");
    assert_eq!(project.pending(Agent).len(), 2);
    project.world.commit();
    assert!(project.pending(User).is_empty());
    project.world.files.remove(&b"f"[..]);
    assert_eq!(project.pending(Agent), ["f: \"a\\nb\\nc\\n\" -> -"]);
    project.world.commit();
    assert!(project.pending(User).is_empty());
    // What was committed before a file was deleted, or renamed, comes back with it.
    let mut project = self::project();
    project.world.write("f", "a\nb\nmine\n");
    project.world.commit();
    project.world.files.remove(&b"f"[..]);
    assert_eq!(project.pending(User), ["f: \"a\\nb\\nmine\\n\" -> -"]);
    // What only git forgets was not deleted.
    let mut project = self::project();
    project.world.write("f", "a\nc\n");
    let shown = project.pending(Agent);
    project.world.commits.push(Default::default());
    project.world.head = Some(1);
    assert_eq!(project.pending(User), shown);
}

#[test]
fn what_was_kept_since_is_not_asked_again_when_a_file_is_as_before() {
    let mut project = project();
    project.world.write("f", "a\nb\nc\nz\n");
    project.pending(Agent);
    let first = project.world.commit();
    project.world.others = vec![(0, first)];
    project.pending(Agent);
    project.world.write("f", "a\nb\nc\nz\ny\n");
    project.pending(Agent);
    let second = project.world.commit();
    project.world.others.push((first, second));
    project.pending(Agent);
    let kept = project.world.at("f");
    project.decide("f", kept);
    project.world.head = Some(first);
    project.world.files = project.world.head_files();
    assert!(project.pending(User).is_empty());
}

#[test]
fn what_the_user_writes_and_commits_is_reviewed_though_it_was_rejected_before() {
    let mut project = project();
    let rejected = "a\nb\nc\ndebug\n";
    project.world.write("f", rejected);
    project.pending(Agent);
    let reviewed = project.reviewed("f");
    project.world.write("f", "a\nb\nc\n");
    project.decide("f", reviewed);
    project.world.write("f", rejected);
    project.world.commit();
    assert!(project.pending(User).is_empty());
}

#[test]
fn what_is_staged_without_a_hand_is_not_reviewed() {
    let mut project = project();
    project.turn(true);
    project.world.write("f", "a\nb\nc\nagent\n");
    project.world.commit();
    project.turn(false);
    let shown = ["f: \"a\\nb\\nc\\n\" -> \"a\\nb\\nc\\nagent\\n\""];
    assert_eq!(project.pending(User), shown);
    // As by `git reset --soft`: the index has what HEAD had.
    project.world.head = Some(0);
    let working = project.world.at("f");
    project.world.index.insert(b"f".to_vec(), working);
    assert_eq!(project.pending(User), shown);
    // As by `git merge --squash`: index and file have changed together.
    let mut project = self::project();
    project.turn(true);
    project.turn(false);
    project.world.write("f", "a\nb\nc\nagent\n");
    let working = project.world.at("f");
    project.world.index.insert(b"f".to_vec(), working);
    for _ in 0..2 {
        assert_eq!(project.pending(User), shown);
    }
}

#[test]
fn what_an_agent_has_staged_is_not_reviewed_when_a_stash_brings_it_back() {
    let mut project = project();
    project.turn(true);
    project.world.write("f", "a\nb\nc\nagent\n");
    let working = project.world.at("f");
    project.world.index.insert(b"f".to_vec(), working);
    project.turn(false);
    let shown = project.pending(User);
    assert_eq!(shown.len(), 1);
    let files = project.world.files.clone();
    project.world.files = project.world.head_files();
    project.world.index.clear();
    assert!(project.pending(Unknown).is_empty());
    project.world.files = files;
    project.world.index.insert(b"f".to_vec(), working);
    for _ in 0..2 {
        assert_eq!(project.pending(Unknown), shown);
    }
}

/// Returns `n` lines, some of them changed.
fn lines(n: usize, changed: &[(usize, &str)]) -> String {
    let line = |at: usize| match changed.iter().find(|(other, _)| *other == at) {
        Some((_, text)) => (*text).to_owned(),
        None => format!("line {at}\n"),
    };
    (1..=n).map(line).collect()
}

/// A project with a file of thirty lines, in which an agent has changed some in its turn.
fn written(changed: &[(usize, &str)]) -> Reviewed {
    let mut project = Reviewed::default();
    project.world.write("f", &lines(30, &[]));
    project.world.commit();
    project.pending(User);
    project.turn(true);
    project.world.write("f", &lines(30, changed));
    project.turn(false);
    project
}

/// Takes something out of `f`, so that it holds `text`.
fn take_out(project: &mut Reviewed, text: &str) {
    let reviewed = project.reviewed("f");
    project.world.write("f", text);
    project.decide("f", reviewed);
}

#[test]
fn what_an_undo_brings_back_is_pending_again_by_who_wrote_it() {
    let agent = [(5, "A\n"), (20, "B\nC\n")];
    let mut project = written(&agent);
    take_out(&mut project, &lines(30, &agent[1..]));
    take_out(&mut project, &lines(30, &[]));
    assert!(project.pending(User).is_empty());
    let other = (28, "other\n");
    project.world.write("f", &lines(30, &[other]));
    project.look(User);
    // One of the two; the line that the user has typed is the user's.
    let back = project.undo("f", &lines(30, &[(1, "mine\n"), agent[1], other]));
    assert_eq!(back, "-line 20\n+B\n+C\n");
    let pending = project.look(User);
    let authors = project.authors(&pending[0]);
    let expected = [
        ("B\nC\n".to_owned(), vec![Author::Turn(1)]),
        ("other\n".to_owned(), vec![Author::Outside]),
    ];
    assert_eq!(authors, expected);
    let expected = lines(30, &[(1, "mine\n")]);
    assert_eq!(project.world.text(pending[0].reviewed), expected);
    // The other as well, and the user's line is gone.
    project.undo("f", &lines(30, &agent));
    let pending = project.look(User);
    assert_eq!(project.world.text(pending[0].reviewed), lines(30, &[]));
    assert_eq!(pending[0].written.authors, [Author::Turn(1)]);
    // Redone, it is out again.
    assert_eq!(project.undo("f", &lines(30, &agent[..1])), "");
    let pending = project.look(User);
    assert_eq!(project.world.text(pending[0].reviewed), lines(30, &[]));
    project.restart();
    assert_eq!(project.look(User), pending);
}

#[test]
fn what_is_typed_or_yanked_is_the_users_even_if_it_was_taken_out_before() {
    let agent = [(5, "A\n"), (20, "B\n")];
    let mut project = written(&agent);
    take_out(&mut project, &lines(30, &[]));
    project.save("f", &lines(30, &agent));
    assert!(project.pending(User).is_empty());
    // What the user has typed stays the user's when it is undone and redone.
    let mut project = written(&agent[..1]);
    for text in [
        lines(30, &[agent[0], (9, "mine\n")]),
        lines(30, &agent[..1]),
    ] {
        project.save("f", &text);
    }
    assert_eq!(
        project.undo("f", &lines(30, &[agent[0], (9, "mine\n")])),
        ""
    );
    let pending = project.look(User);
    let reviewed = lines(30, &[(9, "mine\n")]);
    assert_eq!(project.world.text(pending[0].reviewed), reviewed);
}

#[test]
fn an_undo_gives_lines_the_state_that_they_had_last() {
    let agent = [(5, "A\n"), (20, "")];
    let mut project = written(&agent);
    // Kept, and then removed by hand: it is reviewed again.
    let working = project.world.at("f");
    project.decide("f", working);
    project.save("f", &lines(30, &[]));
    assert_eq!(project.undo("f", &lines(30, &agent)), "");
    assert!(project.pending(User).is_empty());
    // An agent's removal, and its line that the user has removed by hand.
    let mut project = written(&agent);
    project.save("f", &lines(30, &[(20, "")]));
    take_out(&mut project, &lines(30, &[]));
    assert!(project.pending(User).is_empty());
    assert_eq!(project.undo("f", &lines(30, &[(20, "")])), "-line 20\n");
    assert_eq!(project.undo("f", &lines(30, &agent)), "-line 5\n+A\n");
    let pending = project.look(User);
    assert_eq!(project.world.text(pending[0].reviewed), lines(30, &[]));
    assert_eq!(pending[0].written.authors, [Author::Turn(1)]);
}

#[test]
fn a_line_typed_beside_what_comes_back_is_the_users_and_braces_prove_nothing() {
    let block = "fn new() {\n    old()\n}\n";
    let mut project = written(&[(5, block)]);
    take_out(&mut project, &lines(30, &[]));
    let both = format!("{block}mine\n");
    project.undo("f", &lines(30, &[(5, &both)]));
    let pending = project.look(User);
    let reviewed = lines(30, &[(5, "line 5\nmine\n")]);
    assert_eq!(project.world.text(pending[0].reviewed), reviewed);
    assert_eq!(pending[0].written.authors, [Author::Turn(1)]);
    // A function of the user's that ends like the agent's.
    let mut project = written(&[(5, block)]);
    take_out(&mut project, &lines(30, &[]));
    project.undo("f", &lines(30, &[(5, "fn mine() {\n}\n")]));
    assert!(project.pending(User).is_empty());
}

#[test]
fn a_new_file_that_an_undo_brings_back_is_pending_again() {
    let mut project = written(&[]);
    project.turn(true);
    project.world.write("new", "x\ny\n");
    project.turn(false);
    let shown = project.pending(User);
    project.save("new", "x\n");
    assert_eq!(project.undo("new", "x\ny\n"), "+y\n");
    assert_eq!(project.pending(User), shown);
    project.world.files.remove(&b"new"[..]);
    project.decide("new", Version::Absent);
    assert!(project.pending(User).is_empty());
    project.undo("new", "x\ny\n");
    assert_eq!(project.pending(User), shown);
}

/// Returns what can be had again, as `HAD -> LEFT`, each as the lines that are no `line N`.
fn kept(project: &Reviewed) -> Vec<String> {
    let shown = |version| {
        let text = project.world.text(version);
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| !line.starts_with("line "))
            .collect();
        lines.join(", ")
    };
    let all = project.ledger.taken_out().iter();
    let all = all.map(|one| format!("{} -> {}", shown(one.had), shown(one.left.unwrap())));
    all.collect()
}

/// Three of an agent's hunks.
const THREE: [(usize, &str); 3] = [(3, "three\n"), (15, "fifteen\n"), (27, "much\n")];

/// The same, the second of them corrected by the user.
const CORRECTED: [(usize, &str); 3] = [THREE[0], (15, "fifteen, mine\n"), THREE[2]];

#[test]
fn corrections_are_kept_when_a_file_is_given_back_after_other_lines_were_reviewed() {
    let mine = (9, "line 9, mine\n");
    for is_interrupted in [false, true] {
        // A hunk was kept, and nobody has seen the file as it was committed.
        let mut project = written(&THREE);
        if is_interrupted {
            project.turn(true);
        }
        let first = project.world.file(&lines(30, &THREE[..1]));
        project.decide("f", first);
        project.save("f", &lines(30, &CORRECTED));
        project.world.write("f", &lines(30, &[]));
        assert_eq!(project.look(Unknown).len(), 1);
        let all = ["three, fifteen, mine, much -> "];
        assert_eq!(kept(&project), all);
        project.restart();
        project.look(Unknown);
        assert_eq!(kept(&project), all);
        // The user typed elsewhere, too; once without a look at the correction.
        let mut project = written(&THREE);
        project.save("f", &lines(30, &[THREE[0], mine, THREE[1], THREE[2]]));
        project.save(
            "f",
            &lines(30, &[CORRECTED[0], mine, CORRECTED[1], CORRECTED[2]]),
        );
        project.world.write("f", &lines(30, &[]));
        assert_eq!(project.look(Unknown).len(), 1);
        assert_eq!(kept(&project), all);
    }
    // The base has it, and no look has found it: the user's line was saved before the agent wrote.
    let mut project = written(&[]);
    project.save("f", &lines(30, &[mine]));
    project.turn(true);
    project.world.write("f", &lines(30, &[mine, THREE[1]]));
    project.turn(false);
    project.save("f", &lines(30, &[mine, CORRECTED[1]]));
    project.world.write("f", &lines(30, &[]));
    project.look(Unknown);
    assert_eq!(kept(&project), ["fifteen, mine -> "]);
}

#[test]
fn corrections_are_kept_when_a_decision_finds_that_the_file_was_given_back() {
    let mut project = written(&THREE);
    project.save("f", &lines(30, &CORRECTED));
    let reviewed = project.reviewed("f");
    project.world.write("f", &lines(30, &[]));
    // As after a rejection that found nothing to take out.
    project.decide("f", reviewed);
    let all = ["three, fifteen, mine, much -> "];
    assert_eq!(kept(&project), all);
    assert!(project.look(Unknown).is_empty());
    assert_eq!(kept(&project), all);
}

#[test]
fn corrections_are_kept_when_a_save_finds_that_the_file_was_given_back() {
    let mut project = written(&THREE);
    project.save("f", &lines(30, &CORRECTED));
    project.world.write("f", &lines(30, &[]));
    project.save("f", &lines(30, &[(20, "line 20, mine\n")]));
    let all = ["three, fifteen, mine, much -> "];
    assert_eq!(kept(&project), all);
    assert!(project.look(Unknown).is_empty());
    assert_eq!(kept(&project), all);
}

#[test]
fn what_the_user_removes_or_still_has_is_not_kept_as_lost() {
    let [none, three, corrected] = [lines(30, &[]), lines(30, &THREE), lines(30, &CORRECTED)];
    // The user's own edits.
    let mut project = written(&THREE);
    for text in [&corrected, &three, &corrected, &none] {
        project.save("f", text);
        project.look(User);
    }
    assert_eq!(kept(&project), [""; 0]);
    // An agent's lines are given back, and the user's stay where they are, or elsewhere.
    let mut project = written(&THREE);
    project.save("f", &corrected);
    project.turn(true);
    let four = [CORRECTED[0], (9, "nine\n"), CORRECTED[1], CORRECTED[2]];
    project.world.write("f", &lines(30, &four));
    project.turn(false);
    project.world.write("f", &corrected);
    project.look(Unknown);
    assert_eq!(kept(&project), [""; 0]);
    // The user's line is reviewed, and pending by that.
    let working = project.world.at("f");
    project.decide("f", working);
    project.world.write("f", &none);
    assert_eq!(project.look(Unknown).len(), 1);
    assert_eq!(kept(&project), [""; 0]);
    // What another program wrote outside a turn, and an agent writes otherwise, nobody has typed.
    let mut project = written(&[]);
    project.world.write("f", &lines(30, &CORRECTED));
    project.look(User);
    project.turn(true);
    project.world.write("f", &lines(30, &[(15, "FIFTEEN\n")]));
    project.turn(false);
    assert_eq!(project.look(Unknown).len(), 1);
    assert_eq!(kept(&project), [""; 0]);
}

#[test]
fn corrections_are_kept_when_others_write_where_they_were() {
    // By the agent, in its next turn, and by whoever gives back what nobody has looked at.
    for is_in_turn in [true, false] {
        let mut project = written(&THREE);
        project.save("f", &lines(30, &CORRECTED));
        project.turn(true);
        let more = [CORRECTED[0], CORRECTED[1], (27, "more\n")];
        project.world.write("f", &lines(30, &more));
        project.turn(false);
        project.look(Unknown);
        assert_eq!(kept(&project), [""; 0]);
        project.restart();
        if is_in_turn {
            project.turn(true);
        }
        project
            .world
            .write("f", &lines(30, &[THREE[0], (15, "FIFTEEN\n")]));
        if is_in_turn {
            project.turn(false);
        }
        project.look(Unknown);
        let all = ["three, fifteen, mine, more -> three, FIFTEEN"];
        assert_eq!(kept(&project), all);
        let said = "Lines that you typed are not in their files any more; M-x agent-q-diff-taken-out lists them";
        assert_eq!(project.ledger.said(), [said]);
        // What the agent made of it is its own.
        project.turn(true);
        project
            .world
            .write("f", &lines(30, &[THREE[0], (15, "Fifteen\n")]));
        project.turn(false);
        project.look(Unknown);
        assert_eq!(kept(&project), all);
        assert_eq!(project.ledger.said(), [said]);
    }
}

#[test]
fn what_is_lost_twice_in_the_same_way_is_kept_once() {
    let mut project = written(&THREE);
    project.save("f", &lines(30, &CORRECTED));
    for _ in 0..2 {
        project.world.write("f", &lines(30, &[]));
        project.look(User);
        project.world.write("f", &lines(30, &CORRECTED));
        project.look(User);
    }
    assert_eq!(kept(&project), ["three, fifteen, mine, much -> "]);
}

#[test]
fn undoing_any_rejections_gives_what_was_pending_before_them() {
    let words = ["x\n", "y\n", "}\n", "\n", "fn a()\n", "fn b()\n"];
    let mut dice = Dice::new(5);
    let mut n_back = 0;
    for case in 0..3000 {
        let n = 3 + dice.roll(12);
        let old: Vec<&str> = (0..n).map(|_| words[dice.roll(6)]).collect();
        let mut new = old.clone();
        for _ in 0..1 + dice.roll(4) {
            let at = dice.roll(new.len() + 1);
            let end = (at + dice.roll(3)).min(new.len());
            let with: Vec<&str> = (0..dice.roll(3)).map(|_| words[dice.roll(6)]).collect();
            new.splice(at..end, with);
        }
        let (old, new) = (old.concat(), new.concat());
        let mut project = Reviewed::default();
        project.world.write("f", &old);
        project.world.commit();
        project.pending(User);
        project.turn(true);
        project.world.write("f", &new);
        project.turn(false);
        let shown = project.look(User);
        // Some of them are rejected.
        let [before, after] = [&old, &new].map(|text| Text::new(text.clone().into_bytes()));
        let mut left = Vec::new();
        let mut done = 0;
        for edit in edits(&before, &after) {
            left.extend_from_slice(after.lines_bytes(done..edit.after.start));
            left.extend_from_slice(match dice.roll(2) {
                0 => before.lines_bytes(edit.before.clone()),
                _ => after.lines_bytes(edit.after.clone()),
            });
            done = edit.after.end;
        }
        left.extend_from_slice(after.lines_bytes(done..after.len()));
        let left = String::from_utf8(left).unwrap();
        take_out(&mut project, &left);
        let was_out = project.look(User) != shown;
        project.undo("f", &new);
        assert_eq!(
            project.look(User),
            shown,
            "case {case}: {old:?} {left:?} {new:?}"
        );
        n_back += usize::from(was_out);
        // So it is if a line was typed and undone.
        project.save("f", &format!("typed\n{new}"));
        project.undo("f", &new);
        assert_eq!(
            project.look(User),
            shown,
            "case {case}: {old:?} {left:?} {new:?}"
        );
    }
    assert!(n_back > 1000, "{n_back}");
}
