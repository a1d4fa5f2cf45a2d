//! What a repository, its configuration or its files can have that misleads.

use std::fs;
use std::path::{Path, PathBuf};

use agent_q_diff_reviewed::{Moves, Project};

use crate::disk::{git, passes_with, pending, repository, run_git};

/// `f` of [`repository`], and one line of it that an agent has edited.
const EDITED: &str = "f: a\\nb\\nc\\n -> a\\nB\\nc\\n";

fn write(folder: &Path, name: &str, text: impl AsRef<[u8]>) {
    fs::write(folder.join(name), text).expect("it can be written");
}

/// A program that leaves a trace in `folder`, as a configuration of git names it.
fn canary(folder: &Path, name: &str) -> String {
    format!("sh -c 'touch {}/ran-{name}; false'", folder.display())
}

/// Returns which of the [`canary`] programs ran.
fn ran(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).expect("a folder").map(|entry| {
        let name = entry.expect("an entry").file_name();
        name.to_string_lossy().into_owned()
    });
    names.filter(|name| name.starts_with("ran-")).collect()
}

// What the repository names is not run.

/// Checks that the filter `name` of all files does not run, which the file `file` defines, once `prepare`
/// has been called with the repository and that file.
#[track_caller]
fn no_filter_runs(name: &[u8], file: &str, prepare: impl FnOnce(&Path, &Path)) {
    let traces = tempfile::tempdir().unwrap();
    let folder = repository();
    let folder = folder.path();
    let file = folder.join(".git").join(file);
    let run = canary(traces.path(), "filter");
    let mut definition = fs::read(&file).unwrap_or_default();
    definition.extend([b"[filter \"", name, b"\"]\n"].concat());
    for key in ["clean", "smudge", "process"] {
        definition.extend(format!("\t{key} = \"{run}\"\n").as_bytes());
    }
    fs::write(&file, definition).unwrap();
    prepare(folder, &file);
    let attributes = [b"* filter=", name, b"\n"].concat();
    write(folder, ".git/info/attributes", attributes);
    write(folder, "f", "a\nB\nc\n");
    assert_eq!(pending(folder, Moves::Agent), [EDITED]);
    assert!(ran(traces.path()).is_empty());
    // The trap is one.
    run_git(folder, &["diff"]);
    assert!(!ran(traces.path()).is_empty(), "it never runs");
}

#[test]
fn no_filter_runs_that_an_included_file_defines() {
    no_filter_runs(b"trap", "more", |folder, file| {
        let file = file.to_str().unwrap();
        git(folder, &["config", "include.path", file]);
    });
}

#[test]
fn no_filter_runs_that_the_configuration_of_one_worktree_defines() {
    no_filter_runs(b"trap", "config.worktree", |folder, _| {
        git(folder, &["config", "extensions.worktreeConfig", "true"]);
    });
}

#[test]
fn no_filter_runs_whatever_its_name_is() {
    for name in [&b"a=b.c"[..], b"\xff", b"A.clean"] {
        no_filter_runs(name, "config", |_, _| {});
    }
}

#[test]
fn no_other_program_runs_that_the_configuration_names() {
    let traces = tempfile::tempdir().unwrap();
    let folder = repository();
    let folder = folder.path();
    for key in [
        "core.fsmonitor",
        "core.sshCommand",
        "core.editor",
        "core.pager",
        "core.askPass",
        "core.gitProxy",
        "core.alternateRefsCommand",
        "diff.external",
        "diff.trap.textconv",
        "diff.trap.command",
        "gpg.program",
        "gpg.ssh.program",
        "pager.status",
        "pager.log",
        "credential.helper",
        "alias.status",
        "uploadpack.packObjectsHook",
    ] {
        let run = canary(traces.path(), key);
        let run = if key.starts_with("alias") {
            format!("!{run}")
        } else {
            run
        };
        git(folder, &["config", key, &run]);
    }
    git(folder, &["config", "log.showSignature", "true"]);
    write(folder, ".git/info/attributes", "* diff=trap\n");
    fs::create_dir_all(folder.join(".git/hooks")).unwrap();
    for hook in [
        "post-index-change",
        "reference-transaction",
        "post-checkout",
        "fsmonitor-watchman",
    ] {
        use std::os::unix::fs::PermissionsExt;
        let file = folder.join(".git/hooks").join(hook);
        let run = canary(traces.path(), hook);
        fs::write(&file, format!("#!/bin/sh\n{run}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    write(folder, "f", "a\nB\nc\n");
    assert_eq!(pending(folder, Moves::Agent), [EDITED]);
    // Also when HEAD has moved.
    git(
        folder,
        &["-c", "core.hooksPath=/dev/null", "commit", "-qam", "more"],
    );
    for name in ran(traces.path()) {
        fs::remove_file(traces.path().join(name)).unwrap();
    }
    let mut project = Project::open(folder).unwrap();
    assert_eq!(project.moved(5).unwrap().unwrap().len(), 1);
    assert_eq!(pending(folder, Moves::Agent), [EDITED]);
    assert!(ran(traces.path()).is_empty(), "{:?}", ran(traces.path()));
}

#[test]
fn an_object_that_is_not_there_is_fetched_by_no_program() {
    let traces = tempfile::tempdir().unwrap();
    let folder = repository();
    let folder = folder.path();
    let object = git(folder, &["rev-parse", "HEAD:f"]);
    let run = canary(traces.path(), "ssh");
    for (key, value) in [
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.url", "ssh://host.invalid/x"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.partialCloneFilter", "blob:none"),
        ("protocol.ssh.allow", "always"),
        ("core.sshCommand", &run),
    ] {
        git(folder, &["config", key, value]);
    }
    let (start, rest) = object.trim().split_at(2);
    fs::remove_file(folder.join(".git/objects").join(start).join(rest)).unwrap();
    write(folder, "f", "a\nB\nc\n");
    let mut project = Project::open(folder).unwrap();
    let error = project.look(Moves::Agent).unwrap_err().to_string();
    assert!(error.contains(object.trim()), "{error}");
    assert!(ran(traces.path()).is_empty());
    run_git(folder, &["diff"]);
    assert!(!ran(traces.path()).is_empty(), "it is never fetched");
}

#[test]
fn an_object_in_place_of_another_hides_nothing() {
    let folder = repository();
    let folder = folder.path();
    write(folder, "f", "a\nB\nc\n");
    let new = git(folder, &["hash-object", "-w", "f"]);
    let old = git(folder, &["rev-parse", "HEAD:f"]);
    git(folder, &["replace", old.trim(), new.trim()]);
    assert_eq!(pending(folder, Moves::Agent), [EDITED]);
}

// The environment.

#[test]
fn no_variable_of_git_misleads() {
    let name = "traps::no_variable_of_git_misleads";
    if let Some(folder) = std::env::var_os("LOOK_AT") {
        assert_eq!(pending(Path::new(&folder), Moves::Agent), [EDITED]);
        return;
    }
    let folder = repository();
    let folder = folder.path();
    write(folder, "f", "a\nB\nc\n");
    let local = git(folder, &["rev-parse", "--local-env-vars"]);
    let more = [
        "GIT_LITERAL_PATHSPECS",
        "GIT_GLOB_PATHSPECS",
        "GIT_ICASE_PATHSPECS",
        "GIT_ATTR_SOURCE",
        "GIT_NAMESPACE",
        "GIT_TRACE",
        "GIT_EXTERNAL_DIFF",
    ];
    let names = local.lines().chain(more);
    let mut variables: Vec<(&str, PathBuf)> = names.map(|name| (name, "1".into())).collect();
    variables.push(("LOOK_AT", folder.to_owned()));
    passes_with(name, &variables);
    // Without a commit, git says so by saying nothing.
    let empty = tempfile::tempdir().unwrap();
    git(empty.path(), &["init", "-q"]);
    write(empty.path(), "f", "a\nb\nc\n");
    pending(empty.path(), Moves::Agent);
    let mut project = Project::open(empty.path()).unwrap();
    project.mark_reviewed(&[b"f".to_vec()]).unwrap();
    write(empty.path(), "f", "a\nB\nc\n");
    variables.pop();
    variables.push(("LOOK_AT", empty.path().to_owned()));
    passes_with(name, &variables);
}

// What git is in the middle of.

/// A repository whose branch `other` and whose current one have each changed the same line of `f`.
fn conflicting() -> tempfile::TempDir {
    let repository = repository();
    let folder = repository.path();
    git(folder, &["checkout", "-q", "-b", "other"]);
    for text in ["a\nother\nc\n", "a\nother again\nc\n"] {
        write(folder, "f", text);
        git(folder, &["commit", "-qam", "other"]);
    }
    git(folder, &["checkout", "-q", "-"]);
    write(folder, "f", "a\nmine\nc\n");
    git(folder, &["commit", "-qam", "mine"]);
    assert!(pending(folder, Moves::User).is_empty());
    repository
}

/// Checks that while `begin` is not ended there is no look, which says that it is `what`, and that after
/// `end` all is as it was.
#[track_caller]
fn a_look_waits(begin: &[&str], what: &str, end: &[&str]) {
    let repository = conflicting();
    let folder = repository.path();
    fs::write(folder.join("new"), "an agent's\n").unwrap();
    write(folder, "kept", "mine\n");
    let mut project = Project::open(folder).unwrap();
    project.mark_reviewed(&[b"kept".to_vec()]).unwrap();
    let before = pending(folder, Moves::User);
    assert_eq!(before, ["new: - -> an agent\\'s\\n"]);
    run_git(folder, begin);
    let error = project.look(Moves::User).unwrap_err().to_string();
    assert!(error.contains(what), "{error}");
    git(folder, end);
    assert_eq!(pending(folder, Moves::User), before);
    write(folder, "kept", "mine\nmore\n");
    let after = pending(folder, Moves::Agent);
    assert_eq!(after, ["kept: mine\\n -> mine\\nmore\\n", &before[0]]);
}

#[test]
fn in_the_middle_of_a_rebase_nothing_is_looked_at() {
    let abort = ["rebase", "--abort"];
    a_look_waits(&["rebase", "other"], "a rebase", &abort);
    a_look_waits(&["rebase", "--apply", "other"], "a rebase", &abort);
}

#[test]
fn in_the_middle_of_a_cherry_pick_nothing_is_looked_at() {
    let abort = ["cherry-pick", "--abort"];
    a_look_waits(&["cherry-pick", "other"], "a cherry-pick", &abort);
    // Of several, between two of them.
    let repository = conflicting();
    let folder = repository.path();
    run_git(folder, &["cherry-pick", "other~", "other"]);
    write(folder, "f", "a\nboth\nc\n");
    git(folder, &["commit", "-qam", "the first"]);
    let mut project = Project::open(folder).unwrap();
    let error = project.look(Moves::User).unwrap_err().to_string();
    assert!(error.contains("a cherry-pick or revert"), "{error}");
    git(folder, &["cherry-pick", "--quit"]);
    assert!(pending(folder, Moves::User).is_empty());
}

#[test]
fn in_the_middle_of_a_revert_nothing_is_looked_at() {
    a_look_waits(&["revert", "other~"], "a revert", &["revert", "--abort"]);
}

#[test]
fn in_the_middle_of_a_bisect_nothing_is_looked_at() {
    a_look_waits(
        &["bisect", "start", "HEAD", "HEAD~"],
        "a bisect",
        &["bisect", "reset"],
    );
}

#[test]
fn in_the_middle_of_a_merge_in_another_worktree_it_is_looked_at() {
    let repository = conflicting();
    let folder = repository.path();
    let elsewhere = tempfile::tempdir().unwrap();
    let tree = elsewhere.path().join("line\nbreak");
    git(
        folder,
        &["worktree", "add", "-q", "--detach", tree.to_str().unwrap()],
    );
    assert!(pending(&tree, Moves::User).is_empty());
    run_git(&tree, &["merge", "other"]);
    assert!(pending(folder, Moves::User).is_empty());
    let error = Project::open(&tree).unwrap().look(Moves::User);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("a merge"), "{error}");
}

#[test]
fn conflicts_that_a_stash_left_are_not_looked_at() {
    let folder = repository();
    let folder = folder.path();
    write(folder, "f", "a\nstashed\nc\n");
    git(folder, &["stash", "-q"]);
    write(folder, "f", "a\nmine\nc\n");
    git(folder, &["commit", "-qam", "mine"]);
    run_git(folder, &["stash", "pop"]);
    let mut project = Project::open(folder).unwrap();
    let error = project.look(Moves::User).unwrap_err().to_string();
    assert!(error.contains("conflicts, such as f;"), "{error}");
    git(folder, &["checkout", "-q", "--ours", "f"]);
    git(folder, &["add", "f"]);
    assert!(pending(folder, Moves::User).is_empty());
}

// The index.

#[test]
fn the_configuration_of_status_changes_nothing() {
    let folder = repository();
    let folder = folder.path();
    write(folder, "f", "a\nstashed\nc\n");
    git(folder, &["stash", "-q"]);
    for (key, value) in [
        ("status.showStash", "true"),
        ("status.branch", "true"),
        ("status.short", "true"),
        ("status.relativePaths", "true"),
        ("status.showUntrackedFiles", "no"),
        ("status.renames", "copies"),
        ("column.ui", "always"),
        ("color.ui", "always"),
    ] {
        git(folder, &["config", key, value]);
    }
    write(folder, "f", "a\nB\nc\n");
    write(folder, "new", "x\n");
    let shown = [EDITED, "new: - -> x\\n"];
    assert_eq!(pending(folder, Moves::Agent), shown);
}

#[test]
fn a_file_that_left_the_index_alone_is_as_it_was() {
    let folder = repository();
    let folder = folder.path();
    git(folder, &["rm", "-q", "--cached", "f"]);
    assert!(pending(folder, Moves::Agent).is_empty());
    write(folder, "f", "a\nB\nc\n");
    assert_eq!(pending(folder, Moves::Agent), [EDITED]);
}
