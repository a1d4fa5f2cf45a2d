//! Edits that are made before they are reviewed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use agent_q_diff_reviewed::{Project, folder_of};

use crate::disk::{git, repository};

/// Returns why an edit of `path` by Codex in the session `s` would not be pending, or nothing.
fn why_not_pending(path: &Path) -> String {
    let checked = Project::open(&folder_of(path))
        .and_then(|mut project| project.check_pending_after("Codex", "s", path, Some(b"x\n")));
    checked.map_or_else(|why| why.to_string(), |()| String::new())
}

fn begin_turn(folder: &Path) {
    let mut project = Project::open(folder).unwrap();
    project.begin_turn("Codex", "s", "", None).unwrap();
}

#[test]
fn an_edit_in_a_turn_is_pending_once_it_is_made_and_others_are_not() {
    let folder = repository();
    let root = folder.path();
    let file = root.join("f");
    let no_turn = "no turn of Codex is known in its project";
    assert_eq!(why_not_pending(&file), no_turn);
    begin_turn(root);
    for name in ["f", "new", "folder/that/is/new"] {
        assert_eq!(why_not_pending(&root.join(name)), "", "{name}");
    }
    let mut project = Project::open(root).unwrap();
    let mut check = |agent, thread, text| {
        let checked = project.check_pending_after(agent, thread, &file, text);
        checked.map_or_else(|why| why.to_string(), |()| String::new())
    };
    // A subagent's, and a file that is deleted.
    assert_eq!(check("Codex", "s a1", None), "");
    assert_eq!(check("Codex", "s2", None), no_turn);
    assert_eq!(
        check("Claude Code", "s", None),
        "no turn of Claude Code is known in its project"
    );
    let large = vec![b'x'; (8 << 20) + 1];
    assert_eq!(
        check("Codex", "s", Some(&large)),
        "it is too large to be looked at"
    );
    fs::write(root.join(".gitignore"), "*.log\n").unwrap();
    assert_eq!(why_not_pending(&root.join("d/a.log")), "git ignores it");
    fs::write(root.join("known.log"), "x\n").unwrap();
    git(root, &["add", "-f", "known.log"]);
    assert_eq!(why_not_pending(&root.join("known.log")), "");
    let not_seen = "it is not looked at for what is pending";
    assert_eq!(why_not_pending(&root.join("f~")), not_seen);
    // A link is the file that it leads to; a repository in it has no turn.
    let elsewhere = repository();
    symlink(elsewhere.path().join("f"), root.join("link")).unwrap();
    assert_eq!(
        why_not_pending(&root.join("link")),
        "it is not in the project"
    );
    fs::create_dir(root.join("inner")).unwrap();
    git(&root.join("inner"), &["init", "-q"]);
    assert_eq!(why_not_pending(&root.join("inner/f")), no_turn);
    fs::write(root.join(".git/MERGE_HEAD"), "").unwrap();
    assert_eq!(
        why_not_pending(&file),
        "git is in the middle of a merge; finish or abort it, then look again"
    );
    Project::open(root).unwrap().end_turns(None).unwrap();
    fs::remove_file(root.join(".git/MERGE_HEAD")).unwrap();
    assert_eq!(why_not_pending(&file), no_turn);
}

#[test]
fn what_no_project_has_is_not_pending() {
    let folder = tempfile::tempdir().unwrap();
    let why = why_not_pending(&folder.path().join("f"));
    assert!(why.ends_with("is in no git repository"), "{why}");
}

#[test]
fn while_no_emacs_runs_only_what_is_not_protected_passes() {
    let folder = repository();
    let root = folder.path().canonicalize().unwrap();
    let why_not = |name: &str| {
        let path = root.join(name);
        let mut project = Project::open(&folder_of(&path)).unwrap();
        let checked = project.check_passes("Codex", &path);
        checked.map_or_else(|why| why.to_string(), |()| String::new())
    };
    let not_chosen = "the user has not chosen to review it after it is made";
    assert_eq!(why_not("f"), not_chosen);
    let mut project = Project::open(&root).unwrap();
    let patterns = [".git/", ".envrc"].map(str::to_owned).to_vec();
    project.let_pass("Codex", Some(patterns)).unwrap();
    project.let_pass("Other", Some(Vec::new())).unwrap();
    assert_eq!(project.passing().unwrap(), ["Codex", "Other"]);
    assert_eq!(why_not("f"), "");
    assert_eq!(why_not("new/f"), "");
    let protected = "it is protected, so the user is asked before it is edited";
    for name in ["a/.envrc", "d/.git/config", "\u{e9}"] {
        assert_eq!(why_not(name), protected, "{name}");
    }
    fs::hard_link(root.join("f"), root.join("hard")).unwrap();
    let other = "it has another name, or is no plain file";
    assert_eq!(why_not("f"), other);
    fs::remove_file(root.join("hard")).unwrap();
    symlink("f", root.join("link")).unwrap();
    assert_eq!(why_not("link"), "a link leads to it");
    fs::create_dir_all(root.join("bare/objects")).unwrap();
    fs::write(root.join("bare/HEAD"), "x").unwrap();
    assert_eq!(why_not("bare/f"), "it may be one of git's own");
    // Written once, and taken back.
    let ledger = || fs::read_to_string(root.join(".git/agent-q-diff/record")).unwrap();
    let before = ledger();
    project.let_pass("Other", Some(Vec::new())).unwrap();
    assert_eq!(ledger(), before);
    project.let_pass("Codex", None).unwrap();
    assert_eq!(why_not("f"), not_chosen);
}
