//! What a repository, its configuration or its files can have that misleads.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

use agent_q_diff_reviewed::{Held, Moves, Note, Project, Version, Why};
use tempfile::TempDir;

use crate::disk::{NOTHING, git, passes_with, pending, repository, run_git, saved};

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
    let name = String::from_utf8_lossy(name).into_owned();
    assert_eq!(left_out(folder), [(b"f".to_vec(), Why::Filter(name))]);
    assert!(ran(traces.path()).is_empty());
    // The trap is one.
    run_git(folder, &["diff"]);
    assert!(!ran(traces.path()).is_empty(), "it never runs");
}

#[test]
fn which_files_are_the_project_s_is_found_without_its_monitor() {
    let traces = tempfile::tempdir().unwrap();
    let folder = repository();
    let folder = folder.path();
    write(folder, ".gitignore", "*.log\n");
    run_git(
        folder,
        &[
            "config",
            "core.fsmonitor",
            &canary(traces.path(), "monitor"),
        ],
    );
    let project = Project::open(folder).unwrap();
    let included =
        ["f", "new/a.txt", "a.log", "../f"].map(|name| project.includes(&folder.join(name)));
    assert_eq!(included, [true, true, false, false]);
    assert!(ran(traces.path()).is_empty());
    // The trap is one.
    run_git(folder, &["status"]);
    assert_eq!(ran(traces.path()), ["ran-monitor"]);
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
    assert_eq!(project.question(5).unwrap().unwrap().n_commits, 1);
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

#[test]
fn files_at_which_git_was_told_not_to_look_are_looked_at() {
    for (set, unset) in [
        ("--assume-unchanged", "--no-assume-unchanged"),
        ("--skip-worktree", "--no-skip-worktree"),
    ] {
        let folder = repository();
        let folder = folder.path();
        git(folder, &["update-index", set, "f"]);
        assert!(pending(folder, Moves::Agent).is_empty());
        write(folder, "f", "a\nB\nc\n");
        assert_eq!(pending(folder, Moves::Agent), [EDITED]);
        fs::remove_file(folder.join("f")).unwrap();
        assert_eq!(pending(folder, Moves::Agent), ["f: a\\nb\\nc\\n -> -"]);
        git(folder, &["update-index", unset, "f"]);
        git(folder, &["checkout", "-q", "f"]);
        assert!(pending(folder, Moves::User).is_empty());
    }
}

#[test]
fn a_change_of_a_files_size_and_time_alike_is_seen() {
    let folder = repository();
    let folder = folder.path();
    // The index is as old as the file, which is written over in place.
    let time = fs::metadata(folder.join("f")).unwrap().modified().unwrap();
    write(folder, "f", "a\nB\nc\n");
    for name in ["f", ".git/index"] {
        let file = fs::File::options().write(true).open(folder.join(name));
        file.unwrap().set_modified(time).unwrap();
    }
    assert_eq!(pending(folder, Moves::Agent), [EDITED]);
}

#[test]
fn modes_that_mean_nothing_are_no_change() {
    use std::os::unix::fs::PermissionsExt;
    let folder = repository();
    let folder = folder.path();
    git(folder, &["config", "core.fileMode", "false"]);
    git(folder, &["update-index", "--chmod=+x", "f"]);
    git(folder, &["commit", "-qm", "executable"]);
    write(folder, "f", "a\nB\nc\n");
    write(folder, "g", "x\n");
    let mode = |name: &str, mode| {
        let mode = fs::Permissions::from_mode(mode);
        fs::set_permissions(folder.join(name), mode).unwrap();
    };
    mode("g", 0o755);
    let modes = || {
        let look = Project::open(folder).unwrap().look(Moves::User).unwrap();
        let modes = look.pending.iter();
        let modes = modes.map(|one| (one.reviewed.mode(), one.working.mode()));
        modes.collect::<Vec<_>>()
    };
    assert_eq!(modes(), [(0o100_644, 0o100_644), (0, 0o100_644)]);
    let mut project = Project::open(folder).unwrap();
    let program = |text: &str| Held::Bytes(0o100_755, text.into());
    let decided = |path: &str, before, after| Note::Decided {
        path: path.into(),
        before,
        after,
    };
    let notes = [
        decided("f", program("a\nb\nc\n"), program("a\nB\nc\n")),
        decided("g", NOTHING, program("x\n")),
    ];
    project.record(&notes).unwrap();
    assert!(modes().is_empty());
    mode("f", 0o755);
    mode("g", 0o644);
    assert!(modes().is_empty());
}

#[test]
fn a_new_file_whose_name_differs_in_case_only_is_seen() {
    let folder = repository();
    let folder = folder.path();
    write(folder, "F", "x\n");
    if fs::read_to_string(folder.join("f")).unwrap() == "x\n" {
        // This disk holds them to be one.
        return;
    }
    git(folder, &["config", "core.ignoreCase", "true"]);
    assert_eq!(pending(folder, Moves::Agent), ["F: - -> x\\n"]);
}

// Parts of a repository, and more than one.

/// A repository with `in/f` and `out/f` of three lines, and only `in` checked out.
fn sparse() -> tempfile::TempDir {
    let repository = repository();
    let folder = repository.path();
    for name in ["in", "out"] {
        fs::create_dir(folder.join(name)).unwrap();
        write(folder, &format!("{name}/f"), "a\nb\nc\n");
    }
    git(folder, &["add", "."]);
    git(folder, &["commit", "-qm", "folders"]);
    git(folder, &["sparse-checkout", "set", "--cone", "in"]);
    assert!(!folder.join("out").exists());
    assert!(pending(folder, Moves::User).is_empty());
    repository
}

/// Commits that `out/f` of [`sparse`] has another line, and leaves it out again.
fn commit_outside(folder: &Path) {
    git(folder, &["sparse-checkout", "disable"]);
    write(folder, "out/f", "a\nB\nc\n");
    git(folder, &["commit", "-qam", "outside"]);
    git(folder, &["sparse-checkout", "set", "--cone", "in"]);
    assert!(!folder.join("out").exists());
}

#[test]
fn files_that_a_sparse_checkout_leaves_out_are_not_deleted() {
    let repository = sparse();
    let folder = repository.path();
    assert!(pending(folder, Moves::Agent).is_empty());
    write(folder, "in/f", "a\nB\nc\n");
    let edited = [format!("in/{EDITED}")];
    assert_eq!(pending(folder, Moves::Agent), edited);
    git(folder, &["checkout", "-q", "."]);
    commit_outside(folder);
    assert!(pending(folder, Moves::User).is_empty());
    git(folder, &["sparse-checkout", "disable"]);
    assert!(pending(folder, Moves::User).is_empty());
}

#[test]
fn what_an_agent_committed_outside_a_sparse_checkout_is_pending_once_it_is_there() {
    let repository = sparse();
    let folder = repository.path();
    commit_outside(folder);
    assert!(pending(folder, Moves::Agent).is_empty());
    git(folder, &["sparse-checkout", "disable"]);
    assert_eq!(pending(folder, Moves::Agent), [format!("out/{EDITED}")]);
}

#[test]
fn a_repository_with_other_digests_is_like_any() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    git(folder, &["init", "-q", "--object-format=sha256"]);
    write(folder, "f", "a\nb\nc\n");
    git(folder, &["add", "."]);
    assert_eq!(pending(folder, Moves::User).len(), 1);
    git(folder, &["commit", "-qm", "first"]);
    assert!(pending(folder, Moves::User).is_empty());
    write(folder, "f", "a\nB\nc\n");
    assert_eq!(pending(folder, Moves::Agent), [EDITED]);
    git(folder, &["commit", "-qam", "second"]);
    assert_eq!(pending(folder, Moves::Agent), [EDITED]);
    let mut project = Project::open(folder).unwrap();
    project.mark_reviewed(&[b"f".to_vec()]).unwrap();
    assert!(pending(folder, Moves::User).is_empty());
}

/// Returns what is left out in `folder`, where nothing is pending.
#[track_caller]
fn left_out(folder: &Path) -> Vec<(Vec<u8>, Why)> {
    let look = Project::open(folder).unwrap().look(Moves::Agent).unwrap();
    assert_eq!(look.pending, []);
    look.left_out
}

#[test]
fn repositories_in_a_repository_are_named_if_they_are_new() {
    let other = repository();
    let folder = repository();
    let folder = folder.path();
    let url = other.path().to_str().unwrap();
    git(folder, &["clone", "-q", url, "nested"]);
    write(folder, "nested/f", "a\nB\nc\n");
    assert_eq!(left_out(folder), [(b"nested/".to_vec(), Why::Repository)]);
    assert_eq!(pending(&folder.join("nested"), Moves::Agent), [EDITED]);
}

/// Returns a repository with the submodule `part`, that was looked at.
pub fn with_submodule() -> TempDir {
    let folder = repository();
    add_submodule(folder.path(), "part");
    let mut project = Project::open(folder.path()).unwrap();
    let look = project.look(Moves::User).unwrap();
    assert_eq!((look.pending, look.left_out), (vec![], vec![]));
    folder
}

/// Makes the submodule `name` in `folder`, and commits it.
pub fn add_submodule(folder: &Path, name: &str) {
    let other = repository();
    let url = other.path().to_str().unwrap();
    let add = ["submodule", "-q", "add", url, name];
    let allow = ["-c", "protocol.file.allow=always"];
    git(folder, &[&allow[..], &add].concat());
    git(folder, &["commit", "-qm", "a submodule"]);
}

/// What is said of a submodule: its commits if they differ, whether something is pending in it, and why that
/// is not known.
type Said = (Option<[Option<String>; 2]>, bool, Option<String>);

/// Returns what is said of the submodule `part` of `folder`.
#[track_caller]
fn submodule(folder: &Path) -> Option<Said> {
    let left_out = left_out(folder);
    let (path, Why::Submodule(found)) = left_out.into_iter().next()? else {
        panic!("no submodule is left out");
    };
    assert_eq!(path, b"part");
    let commits = [found.reviewed, found.checked_out];
    let commits = (commits[0] != commits[1]).then_some(commits);
    Some((commits, found.is_changed, found.failed))
}

#[test]
fn a_submodule_is_named_as_long_as_something_is_pending_in_it() {
    let folder = with_submodule();
    let folder = folder.path();
    let part = folder.join("part");
    write(&part, "f", "a\nB\nc\n");
    assert_eq!(submodule(folder), Some((None, true, None)));
    assert!(!folder.join(".git/modules/part/agent-q-diff").exists());
    // What was reviewed there is not said again.
    assert_eq!(pending(&part, Moves::Agent), [EDITED]);
    assert_eq!(submodule(folder), Some((None, true, None)));
    mark_reviewed(&part, "f");
    assert_eq!(submodule(folder), None);
    write(&part, "f", "a\nb\nc\n");
    assert_eq!(submodule(folder), Some((None, true, None)));
    git(&part, &["checkout", "-q", "."]);
    mark_reviewed(&part, "f");
    write(&part, "new", "x\n");
    assert_eq!(submodule(folder), Some((None, true, None)));
    git(folder, &["update-index", "--split-index"]);
    assert_eq!(submodule(folder), Some((None, true, None)));
}

#[test]
fn a_submodule_at_another_commit_is_named_with_both() {
    let folder = with_submodule();
    let folder = folder.path();
    let part = folder.join("part");
    let head = || Some(git(&part, &["rev-parse", "HEAD"]).trim().to_owned());
    let old = head();
    git(&part, &["commit", "-q", "--allow-empty", "-m", "moved"]);
    let moved = Some((Some([old.clone(), head()]), false, None));
    assert_eq!(submodule(folder), moved);
    // Staged, it is still not that of HEAD.
    git(folder, &["add", "part"]);
    assert_eq!(submodule(folder), moved);
    // Nor is it reviewed when an agent commits it.
    git(folder, &["commit", "-qm", "moved"]);
    assert_eq!(submodule(folder), moved);
    assert_eq!(Project::open(folder).unwrap().know().unwrap(), 1);
    assert_eq!(submodule(folder), None);
    fs::remove_dir_all(&part).unwrap();
    assert_eq!(
        submodule(folder),
        Some((Some([head_of(folder), None]), false, None))
    );
    write(folder, "part", "a file\n");
    let (_, _, failed) = submodule(folder).unwrap();
    assert_eq!(failed.as_deref(), Some("it is no folder any more"));
}

/// Returns the commit that HEAD of `folder` has for the submodule `part`.
fn head_of(folder: &Path) -> Option<String> {
    Some(git(folder, &["rev-parse", "HEAD:part"]).trim().to_owned())
}

#[test]
fn what_an_agent_commits_and_is_not_read_is_said_until_the_user_knows_it() {
    let folder = repository();
    let folder = folder.path();
    git(folder, &["config", "filter.own.clean", "cat"]);
    write(folder, ".gitattributes", "*.key filter=own\n");
    write(folder, "a.key", "a\n");
    write(folder, "large", "a\n");
    git(folder, &["add", "."]);
    git(folder, &["commit", "-qm", "before"]);
    let mut project = Project::open(folder).unwrap();
    project.look(Moves::User).unwrap();
    project.know().unwrap();
    let change = |by: &str| {
        write(folder, "a.key", by);
        write(
            folder,
            "large",
            format!("{by}{}", "a line\n".repeat(1_500_000)),
        );
        git(folder, &["commit", "-qam", by]);
    };
    project.begin_turn("Codex", "s", "", None).unwrap();
    change("agent");
    project.end_turns(None).unwrap();
    let said = |project: &mut Project| project.look_unasked().unwrap().left_out;
    let both = [
        (b"a.key".to_vec(), Why::Filter("own".to_owned())),
        (b"large".to_vec(), Why::Large),
    ];
    assert_eq!(said(&mut project), both);
    assert_eq!(said(&mut project), both);
    project.mark_reviewed(&[b"large".to_vec()]).unwrap();
    assert_eq!(said(&mut project), both[..1]);
    assert_eq!(project.know().unwrap(), 1);
    assert_eq!(said(&mut project), []);
    // What the user commits is known.
    change("user");
    assert_eq!(project.look(Moves::User).unwrap().left_out, []);
    assert_eq!(said(&mut project), []);
}

/// Commits something in the submodule `part` of `folder`, and then its new commit in `folder`. Returns the old
/// and the new one.
fn move_submodule(folder: &Path) -> [Option<String>; 2] {
    let part = folder.join("part");
    let old = head_of(folder);
    write(&part, "f", "a\nB\nc\n");
    git(&part, &["commit", "-qam", "in it"]);
    git(folder, &["commit", "-qam", "around it"]);
    [old, head_of(folder)]
}

/// Returns what is said of the submodule `part` of `folder` when nobody says who has moved HEAD.
fn submodule_unasked(folder: &Path) -> Option<[Option<String>; 2]> {
    let look = Project::open(folder).unwrap().look_unasked().unwrap();
    assert_eq!(look.pending, []);
    let (_, Why::Submodule(found)) = look.left_out.into_iter().next()? else {
        panic!("no submodule is left out");
    };
    Some([found.reviewed, found.checked_out])
}

#[test]
fn a_commit_of_a_submodule_that_an_agent_commits_is_said_until_the_user_knows_it() {
    let folder = with_submodule();
    let folder = folder.path();
    let mut project = Project::open(folder).unwrap();
    project.begin_turn("Codex", "s", "", None).unwrap();
    let both = Some(move_submodule(folder));
    project.end_turns(None).unwrap();
    assert_eq!(submodule_unasked(folder), both);
    // What the user commits on top of that, and another branch, changes nothing.
    git(folder, &["commit", "-q", "--allow-empty", "-m", "mine"]);
    git(folder, &["checkout", "-qb", "other"]);
    assert_eq!(submodule_unasked(folder), both);
    git(folder, &["checkout", "-q", "HEAD~2"]);
    assert_eq!(submodule_unasked(folder), both);
    git(folder, &["checkout", "-q", "-"]);
    assert_eq!(submodule_unasked(folder), both);
    assert_eq!(project.know().unwrap(), 1);
    assert_eq!(submodule_unasked(folder), None);
    assert_eq!(project.know().unwrap(), 0);
    // In a comparison with a commit, that is what counts.
    let since = project.since("HEAD~2", false).unwrap();
    assert_eq!(since.changed, []);
    let [(_, Why::Submodule(found))] = &since.left_out[..] else {
        panic!("{:?}", since.left_out);
    };
    assert_eq!(
        Some([found.reviewed.clone(), found.checked_out.clone()]),
        both
    );
}

#[test]
fn a_commit_of_a_submodule_that_the_user_commits_is_reviewed() {
    let folder = with_submodule();
    let folder = folder.path();
    let [old, new] = move_submodule(folder);
    let look = |moves| Project::open(folder).unwrap().look(moves).unwrap();
    assert_eq!(look(Moves::User).left_out, []);
    // What is pulled may be checked out later.
    let entry = format!("160000,{},part", old.clone().unwrap());
    git(folder, &["update-index", "--cacheinfo", &entry]);
    git(folder, &["commit", "-qm", "back"]);
    look(Moves::User);
    assert_eq!(submodule_unasked(folder), Some([old.clone(), new]));
    git(&folder.join("part"), &["checkout", "-q", &old.unwrap()]);
    assert_eq!(submodule_unasked(folder), None);
}

#[test]
fn a_commit_of_a_submodule_that_is_not_checked_out_is_said() {
    let origin = with_submodule();
    let elsewhere = tempfile::tempdir().unwrap();
    let folder = elsewhere.path();
    git(
        folder,
        &["clone", "-q", origin.path().to_str().unwrap(), "."],
    );
    assert_eq!(submodule_unasked(folder), None);
    let mut project = Project::open(folder).unwrap();
    project.begin_turn("Codex", "s", "", None).unwrap();
    let [old, new] = [head_of(folder), Some("1".repeat(40))];
    let entry = format!("160000,{},part", new.clone().unwrap());
    git(folder, &["update-index", "--cacheinfo", &entry]);
    git(folder, &["commit", "-qm", "an agent's"]);
    project.end_turns(None).unwrap();
    assert_eq!(submodule_unasked(folder), Some([old, new]));
}

#[test]
fn a_file_that_an_agent_commits_in_the_place_of_a_submodule_is_pending() {
    let folder = with_submodule();
    let folder = folder.path();
    git(folder, &["rm", "-q", "--cached", "part"]);
    fs::remove_dir_all(folder.join("part")).unwrap();
    write(folder, "part", "a file\n");
    git(folder, &["add", "part"]);
    for _ in 0..2 {
        let look = Project::open(folder).unwrap().look(Moves::Agent).unwrap();
        assert_eq!(look.pending.len(), 1);
        assert_eq!(look.pending[0].reviewed, Version::Absent);
        assert!(matches!(look.pending[0].working, Version::File { .. }));
        assert!(
            matches!(&look.left_out[..], [(_, Why::Submodule(found))] if found.checked_out.is_none())
        );
        run_git(folder, &["commit", "-qm", "a file"]);
    }
}

#[test]
fn a_submodule_without_its_repository_is_said() {
    let gone = Some((None, false, Some("its .git is gone".to_owned())));
    let broken = "its .git leads to no repository";
    let broken = Some((None, false, Some(broken.to_owned())));
    let folder = with_submodule();
    let folder = folder.path();
    let part = folder.join("part");
    let own = part.join(".git");
    fs::remove_file(&own).unwrap();
    assert_eq!(submodule(folder), gone);
    fs::write(&own, "gitdir: ../nowhere\n").unwrap();
    assert_eq!(submodule(folder), broken);
    fs::write(&own, "no repository\n").unwrap();
    assert!(submodule(folder).unwrap().2.is_some());
    fs::remove_file(&own).unwrap();
    std::os::unix::fs::symlink("nowhere", &own).unwrap();
    assert_eq!(submodule(folder), broken);
    fs::remove_file(&own).unwrap();
    fs::create_dir(&own).unwrap();
    assert_eq!(submodule(folder), broken);
    // Also where nothing is left of it, but not where the user has done that by git.
    fs::remove_dir_all(&part).unwrap();
    fs::create_dir(&part).unwrap();
    assert_eq!(submodule(folder), gone);
    git(folder, &["submodule", "-q", "update", "--init"]);
    assert_eq!(submodule(folder), None);
    git(folder, &["submodule", "-q", "deinit", "part"]);
    assert_eq!(submodule(folder), None);
}

#[test]
fn nothing_is_run_that_a_submodule_names() {
    let traces = tempfile::tempdir().unwrap();
    let folder = with_submodule();
    let folder = folder.path();
    let part = folder.join("part");
    for key in ["filter.trap.clean", "filter.trap.process", "core.fsmonitor"] {
        let run = canary(traces.path(), key);
        git(&part, &["config", key, &run]);
    }
    write(
        folder,
        ".git/modules/part/info/attributes",
        "* filter=trap\n",
    );
    write(&part, "f", "a\nB\nc\n");
    write(&part, "new", "x\n");
    assert_eq!(submodule(folder), Some((None, true, None)));
    assert!(ran(traces.path()).is_empty());
    run_git(folder, &["status", "--ignore-submodules=none"]);
    assert!(!ran(traces.path()).is_empty(), "it never runs");
}

#[test]
fn a_submodule_that_cannot_be_looked_at_is_named_and_stops_no_look() {
    let folder = with_submodule();
    let folder = folder.path();
    let own = folder.join(".git/modules/part");
    fs::write(own.join("MERGE_HEAD"), "").unwrap();
    let (_, _, failed) = submodule(folder).unwrap();
    assert!(failed.unwrap().contains("in the middle of a merge"));
    fs::remove_file(own.join("MERGE_HEAD")).unwrap();
    // Its working tree is said to be elsewhere.
    git(&own, &["config", "core.worktree", folder.to_str().unwrap()]);
    assert!(submodule(folder).unwrap().2.is_some());
}

// What is hidden.

/// Returns what is hidden in `folder`, as `PATH by PLACE`.
fn hidden(folder: &Path) -> Vec<String> {
    let look = Project::open(folder).unwrap().look(Moves::Agent).unwrap();
    let hidden = look.left_out.into_iter().map(|(path, why)| {
        let Why::Hidden(place) = why else {
            panic!("{why:?}");
        };
        format!("{} by {place}", String::from_utf8_lossy(&path))
    });
    hidden.collect()
}

#[test]
fn what_lines_hide_that_an_agent_wrote_in_its_turn_is_named() {
    let folder = repository();
    let folder = folder.path();
    write(folder, ".git/info/exclude", "# a comment\nmine\n");
    write(folder, "mine", "x\n");
    assert_eq!(
        hidden(folder),
        ["mine by .git/info/exclude"],
        "no turn is known"
    );
    let mut project = Project::open(folder).unwrap();
    project.know().unwrap();
    project.begin_turn("Agent", "1", "", None).unwrap();
    let lines = "# a comment\nmine\nsecret.sh\nnew/\nsecond turn\n";
    write(folder, ".git/info/exclude", lines);
    write(folder, "secret.sh", "x\n");
    fs::create_dir(folder.join("new")).unwrap();
    write(folder, "new/x", "x\n");
    let named = [
        "new/ by .git/info/exclude",
        "secret.sh by .git/info/exclude",
    ];
    assert_eq!(hidden(folder), named);
    project.end_turns(None).unwrap();
    // What the user excludes after that is the user's.
    write(folder, ".git/info/exclude", lines.to_owned() + "mine too\n");
    write(folder, "mine too", "x\n");
    assert_eq!(hidden(folder), named);
    project.begin_turn("Agent", "1", "", None).unwrap();
    project.end_turns(None).unwrap();
    assert_eq!(hidden(folder), named);
    // Nothing of it is pending once it was made.
    let checked = project.check_pending_after("Agent", "1", &folder.join("secret.sh"), None);
    assert!(checked.is_err());
    project.know().unwrap();
    assert_eq!(hidden(folder), [""; 0]);
    write(folder, "second turn", "x\n");
    assert_eq!(hidden(folder), [""; 0]);
}

#[test]
fn what_a_gitignore_hides_is_named_until_its_lines_are_reviewed() {
    let folder = repository();
    let folder = folder.path();
    fs::create_dir(folder.join("d")).unwrap();
    write(folder, "d/.gitignore", "*.o\n");
    mark_reviewed(folder, "d/.gitignore");
    write(folder, "d/a.o", "x\n");
    write(folder, "d/b.sh", "x\n");
    write(folder, "d/.gitignore", "*.o\n/b.sh\n");
    assert_eq!(hidden(folder), ["d/b.sh by d/.gitignore"]);
    mark_reviewed(folder, "d/.gitignore");
    assert_eq!(hidden(folder), [""; 0]);
}

#[test]
fn what_a_file_hides_that_the_configuration_names_since_is_named() {
    let folder = repository();
    let folder = folder.path();
    let elsewhere = tempfile::tempdir().unwrap();
    write(elsewhere.path(), "patterns", "*.sh\n");
    let patterns = elsewhere.path().join("patterns");
    let patterns = patterns.to_str().unwrap();
    write(folder, "x.sh", "x\n");
    // No turn is known.
    git(folder, &["config", "core.excludesFile", patterns]);
    assert_eq!(hidden(folder), [format!("x.sh by {patterns}")]);
}

/// Runs the test `name` again as a user who may not read everything, with `folder` to look at. Returns whether
/// this is that test.
fn is_no_superuser(name: &str, folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    use std::os::unix::process::CommandExt;
    if fs::metadata(folder).unwrap().uid() != 0 {
        return true;
    }
    let nobody = 65_534;
    let mut chown = Command::new("chown");
    chown.arg("-R").arg(nobody.to_string()).arg(folder);
    assert!(chown.status().unwrap().success());
    let found = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name])
        .env("LOOK_AT", folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("HOME", folder)
        .uid(nobody)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&found.stdout);
    assert!(said.contains("1 passed"), "{found:?}");
    false
}

#[test]
fn what_cannot_be_read_is_named_and_stops_no_look() {
    let name = "traps::what_cannot_be_read_is_named_and_stops_no_look";
    let there = std::env::var_os("LOOK_AT").map(PathBuf::from);
    let folder = match &there {
        None => {
            let folder = repository();
            if !is_no_superuser(name, folder.path()) {
                return;
            }
            folder.keep()
        }
        Some(there) => there.clone(),
    };
    let no_access = |path: &str| {
        let none = PermissionsExt::from_mode(0o000);
        fs::set_permissions(folder.join(path), none).unwrap();
    };
    fs::create_dir(folder.join("d")).unwrap();
    write(&folder, "d/x", "x\n");
    for path in ["f", "new"] {
        write(&folder, path, "other\n");
        no_access(path);
    }
    no_access("d");
    let why = |why: &str| Why::Other(why.to_owned());
    let named = [
        (b"d/".to_vec(), why("it cannot be read")),
        (b"f".to_vec(), why("it cannot be read: permission denied")),
        (b"new".to_vec(), why("it cannot be read: permission denied")),
    ];
    assert_eq!(left_out(&folder), named);
    let since = Project::open(&folder)
        .unwrap()
        .since("HEAD", false)
        .unwrap();
    assert_eq!((since.changed, since.left_out), (vec![], named.to_vec()));
    fs::set_permissions(folder.join("d"), PermissionsExt::from_mode(0o755)).unwrap();
    if there.is_none() {
        fs::remove_dir_all(&folder).unwrap();
    }
}

#[test]
fn what_is_behind_a_link_is_not_in_the_project() {
    let elsewhere = tempfile::tempdir().unwrap();
    write(elsewhere.path(), "g", "x\n");
    let folder = repository();
    let folder = folder.path();
    fs::create_dir(folder.join("d")).unwrap();
    write(folder, "d/g", "x\n");
    git(folder, &["add", "."]);
    git(folder, &["commit", "-qm", "a folder"]);
    pending(folder, Moves::User);
    fs::remove_dir_all(folder.join("d")).unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), folder.join("d")).unwrap();
    let target = elsewhere.path().display();
    let shown = [format!("d: - -> {target}"), "d/g: x\\n -> -".to_owned()];
    assert_eq!(pending(folder, Moves::Agent), shown);
}

#[test]
fn what_was_kept_and_wiped_out_is_pending_beside_many_new_files() {
    let folder = repository();
    let folder = folder.path();
    fs::create_dir(folder.join("d")).unwrap();
    write(folder, "d/g", "a\n");
    git(folder, &["add", "."]);
    git(folder, &["commit", "-qm", "a folder"]);
    pending(folder, Moves::User);
    write(folder, "d/g", "a\nmine\n");
    let mut project = Project::open(folder).unwrap();
    project.mark_reviewed(&[b"d/g".to_vec()]).unwrap();
    for n in 0..1000 {
        write(folder, &format!("d/{n}"), "");
    }
    let look = project.look(Moves::Agent).unwrap();
    assert_eq!((look.pending.len(), look.left_out.len()), (1000, 0));
    write(folder, "d/1000", "");
    git(folder, &["checkout", "-q", "."]);
    assert_eq!(pending(folder, Moves::Agent), ["d/g: a\\nmine\\n -> a\\n"]);
}

#[test]
fn each_worktree_has_its_own_ledger_which_moves_with_it() {
    let folder = repository();
    let folder = folder.path();
    let elsewhere = tempfile::tempdir().unwrap();
    let [one, other] = ["one", "other"].map(|name| elsewhere.path().join(name));
    let name = one.to_str().unwrap();
    git(folder, &["worktree", "add", "-q", "--detach", name]);
    pending(&one, Moves::User);
    write(&one, "f", "a\nB\nc\n");
    write(folder, "f", "a\nB\nc\n");
    let mut project = Project::open(&one).unwrap();
    project.mark_reviewed(&[b"f".to_vec()]).unwrap();
    assert!(pending(&one, Moves::Agent).is_empty());
    assert_eq!(pending(folder, Moves::Agent), [EDITED]);
    git(folder, &["worktree", "move", name, other.to_str().unwrap()]);
    assert!(pending(&other, Moves::Agent).is_empty());
    fs::rename(&other, &one).unwrap();
    git(folder, &["worktree", "prune", "--expire=now"]);
    let error = Project::open(&one).unwrap_err().to_string();
    assert!(error.ends_with("is in no git repository"), "{error}");
    assert_eq!(pending(folder, Moves::Agent), [EDITED]);
}

#[test]
fn a_repository_whose_data_lies_elsewhere_is_like_any() {
    let data = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (data, folder) = (data.path(), folder.path());
    git(data, &["init", "-q", "--bare"]);
    git(data, &["config", "core.bare", "false"]);
    git(data, &["config", "core.worktree", folder.to_str().unwrap()]);
    write(folder, ".git", format!("gitdir: {}\n", data.display()));
    write(folder, "f", "a\nb\nc\n");
    git(folder, &["add", "f"]);
    git(folder, &["commit", "-qm", "first"]);
    assert!(pending(folder, Moves::User).is_empty());
    write(folder, "f", "a\nB\nc\n");
    assert_eq!(pending(folder, Moves::Agent), [EDITED]);
    assert!(data.join("agent-q-diff/record").exists());
    // One without files is none that can be reviewed.
    let bare = tempfile::tempdir().unwrap();
    git(bare.path(), &["init", "-q", "--bare"]);
    let error = Project::open(bare.path()).unwrap_err().to_string();
    assert!(error.ends_with("is in no git repository"), "{error}");
}

#[test]
fn a_setting_that_keeps_git_from_the_files_is_named() {
    let folder = repository();
    let folder = folder.path().canonicalize().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let config = folder.join(".git/config");
    let mut project = Project::open(&folder).unwrap();
    project.look(Moves::User).unwrap();
    let before = fs::read(&config).unwrap();
    let elsewhere = elsewhere.path().to_str().unwrap();
    let settings = [
        "worktree = /nowhere",
        "worktree = d",
        "worktree = nowhere",
        "bare = true",
    ];
    for setting in [&format!("worktree = {elsewhere}")[..]]
        .into_iter()
        .chain(settings)
    {
        let text = format!("[core]\n\t{setting}\n");
        fs::write(&config, [&before[..], text.as_bytes()].concat()).unwrap();
        let expected = format!(
            "core.{setting} in {} keeps git from looking at the files here; delete that line, then look again",
            config.display()
        );
        let opened = Project::open(&folder).map(|_| ());
        assert_eq!(opened.unwrap_err().to_string(), expected);
        if !setting.starts_with("bare") {
            assert_eq!(project.look_unasked().unwrap_err().to_string(), expected);
        }
        fs::write(&config, &before).unwrap();
        assert_eq!(project.look_unasked().unwrap().pending, []);
        // git's own folder is in no project by itself, whatever is said of it.
        let inside = Project::open(&folder.join(".git")).unwrap_err().to_string();
        assert!(inside.ends_with("is in no git repository"), "{inside}");
    }
}

#[test]
fn a_repository_of_another_user_is_refused_by_gits_own_words() {
    let folder = repository();
    let folder = folder.path();
    // Only root can give it away.
    if std::os::unix::fs::chown(folder, Some(12345), None).is_err() {
        return;
    }
    let error = Project::open(folder).unwrap_err().to_string();
    assert!(error.contains("dubious ownership"), "{error}");
}

// Filters.

/// Checks that of `f`, which git's `attributes` and configuration make `text` of when it is checked out,
/// nothing is pending, and that one edited line is one edited line.
#[track_caller]
fn one_line_is_one_line(
    folder: &Path,
    settings: &[(&str, &str)],
    attributes: &str,
    lines: [&[u8]; 3],
) {
    git(folder, &["init", "-q"]);
    for (key, value) in settings {
        git(folder, &["config", key, value]);
    }
    write(folder, ".gitattributes", attributes);
    write(folder, "f", lines.concat());
    git(folder, &["add", "."]);
    git(folder, &["commit", "-qm", "first"]);
    fs::remove_file(folder.join("f")).unwrap();
    git(folder, &["checkout", "-q", "f"]);
    assert_eq!(fs::read(folder.join("f")).unwrap(), lines.concat());
    assert!(pending(folder, Moves::Agent).is_empty());
    let edited = [lines[0], lines[2], lines[2]].concat();
    write(folder, "f", &edited);
    let edited = edited.escape_ascii().to_string();
    let before = lines.concat().escape_ascii().to_string();
    let shown = [format!("f: {before} -> {edited}")];
    assert_eq!(pending(folder, Moves::Agent), shown);
    git(folder, &["commit", "-qam", "an agent's"]);
    assert_eq!(pending(folder, Moves::Agent), shown);
}

#[test]
fn line_ends_of_a_checkout_are_the_files() {
    let folder = tempfile::tempdir().unwrap();
    let autocrlf = [("core.autocrlf", "true"), ("core.safecrlf", "false")];
    let lines = [&b"a\r\n"[..], b"b\r\n", b"c\r\n"];
    one_line_is_one_line(folder.path(), &autocrlf, "", lines);
}

#[test]
fn the_encoding_of_a_checkout_is_the_files() {
    let folder = tempfile::tempdir().unwrap();
    let lines = [&b"\xff\xfea\0\n\0"[..], b"b\0\n\0", b"c\0\n\0"];
    let attributes = "f working-tree-encoding=UTF-16LE-BOM\n";
    one_line_is_one_line(folder.path(), &[], attributes, lines);
}

#[test]
fn a_filter_of_the_users_makes_what_is_reviewed() {
    let name = "traps::a_filter_of_the_users_makes_what_is_reviewed";
    if let Some(folder) = std::env::var_os("LOOK_AT") {
        let shown = ["f: A\\nB\\nC\\n -> A\\nX\\nC\\n"];
        assert_eq!(pending(Path::new(&folder), Moves::Agent), shown);
        return;
    }
    let folder = repository();
    let folder = folder.path();
    let config = tempfile::NamedTempFile::new().unwrap();
    let filter = "[filter \"case\"]\n\tclean = tr A-Z a-z\n\tsmudge = tr a-z A-Z\n";
    fs::write(&config, filter).unwrap();
    write(folder, ".git/info/attributes", "f filter=case\n");
    write(folder, "f", "A\nX\nC\n");
    let variables = [
        ("GIT_CONFIG_GLOBAL", config.path().to_owned()),
        ("LOOK_AT", folder.to_owned()),
    ];
    passes_with(name, &variables);
}

#[test]
fn what_a_filter_that_does_not_run_made_is_not_pending() {
    let folder = repository();
    let folder = folder.path();
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:";
    let clean = format!("printf '{pointer}'; sha256sum");
    git(folder, &["config", "filter.store.clean", &clean]);
    write(folder, ".gitattributes", "big filter=store\n");
    // Old enough for git to know from its time that it has not changed.
    let write_big = |text, time| {
        write(folder, "big", text);
        let file = fs::File::options().write(true).open(folder.join("big"));
        let time = UNIX_EPOCH + Duration::from_secs(time);
        file.unwrap().set_modified(time).unwrap();
    };
    write_big("one\n", 1_000_000_000);
    git(folder, &["add", "."]);
    git(folder, &["commit", "-qm", "a pointer"]);
    assert!(git(folder, &["show", "HEAD:big"]).starts_with("version"));
    assert!(pending(folder, Moves::User).is_empty());
    write_big("one\ntwo\n", 1_000_000_001);
    git(folder, &["commit", "-qam", "another"]);
    assert!(pending(folder, Moves::User).is_empty());
}

/// Returns a repository with the files `a.key` and `b.key`, whose filter the repository itself defines, as
/// git-crypt does, and what is said of such a file.
fn with_keys() -> (TempDir, impl Fn(&str) -> (Vec<u8>, Why)) {
    let folder = repository();
    git(
        folder.path(),
        &["config", "filter.rot.clean", "tr a-z n-za-m"],
    );
    git(
        folder.path(),
        &["config", "filter.rot.smudge", "tr a-z n-za-m"],
    );
    git(folder.path(), &["config", "filter.rot.required", "true"]);
    write(folder.path(), ".gitattributes", "*.key filter=rot\n");
    write(folder.path(), "a.key", "one\n");
    write(folder.path(), "b.key", "two\n");
    git(folder.path(), &["add", "."]);
    git(folder.path(), &["commit", "-qm", "keys"]);
    assert_eq!(git(folder.path(), &["show", "HEAD:a.key"]), "bar\n");
    Project::open(folder.path())
        .unwrap()
        .look(Moves::User)
        .unwrap();
    (folder, |path| (path.into(), Why::Filter("rot".to_owned())))
}

#[test]
fn a_file_with_a_filter_of_the_repositorys_is_named_and_never_compared() {
    let (folder, named) = with_keys();
    let folder = folder.path();
    write(folder, "a.key", "an agent's\n");
    assert_eq!(left_out(folder)[0], named("a.key"));
    // The attributes are an agent's as well.
    fs::remove_file(folder.join(".gitattributes")).unwrap();
    let look = Project::open(folder).unwrap().look(Moves::Agent).unwrap();
    assert_eq!(look.left_out[0], named("a.key"));
    let paths = look.pending.iter().map(|one| &one.path[..]);
    assert_eq!(paths.collect::<Vec<_>>(), [b".gitattributes"]);
    git(folder, &["checkout", "-q", ".gitattributes"]);
    // Nor is it where all is shown since a commit, or committed in a turn.
    let first = git(folder, &["rev-list", "--max-parents=0", "HEAD"]);
    let since = Project::open(folder).unwrap().since(first.trim(), false);
    let since = since.unwrap();
    assert_eq!(since.left_out, [named("a.key"), named("b.key")]);
    let paths = since.changed.iter().map(|one| &one.path[..]);
    assert_eq!(paths.collect::<Vec<_>>(), [b".gitattributes"]);
    let mut project = Project::open(folder).unwrap();
    project.begin_turn("Agent", "1", "", None).unwrap();
    write(folder, "b.key", "an agent's\n");
    git(folder, &["commit", "-qam", "an agent's"]);
    let look = project.look(Moves::Agent).unwrap();
    assert_eq!(look.pending, []);
    assert!(look.left_out.contains(&named("b.key")));
    project.end_turns(None).unwrap();
    assert_eq!(project.since_turn(1).unwrap().changed, []);
}

#[test]
fn a_new_file_with_a_filter_of_the_repositorys_is_pending_until_git_knows_it() {
    let (folder, named) = with_keys();
    let folder = folder.path();
    write(folder, "c.key", "new\n");
    assert_eq!(pending(folder, Moves::Agent), ["c.key: - -> new\\n"]);
    let since = Project::open(folder).unwrap().since("HEAD", false).unwrap();
    assert_eq!(since.changed.len(), 1);
    git(folder, &["add", "c.key"]);
    assert!(left_out(folder).contains(&named("c.key")));
}

#[test]
fn line_ends_that_git_no_longer_makes_are_not_pending() {
    let folder = repository();
    let folder = folder.path();
    write(folder, ".git/info/attributes", "f eol=crlf\n");
    git(folder, &["commit", "-q", "--allow-empty", "-m", "more"]);
    write(folder, "f", "a\nB\nc\n");
    git(folder, &["commit", "-qam", "mine"]);
    assert!(pending(folder, Moves::User).is_empty());
}

// Names.

#[test]
fn names_can_be_anything() {
    use std::os::unix::ffi::OsStrExt;
    let folder = repository();
    let folder = folder.path();
    let names = [
        &b"\xff\xfe"[..],
        b"a\nb",
        b"--output=x",
        b"-",
        b"*",
        b":(glob)*",
        b":!f",
        b"F",
        b"[f]",
        b"\\f",
        b" ",
        b"\"q\"",
        b"f -> g",
        b"HEAD",
    ];
    let path = |name: &[u8]| folder.join(std::ffi::OsStr::from_bytes(name));
    for name in names {
        fs::write(path(name), "a\nb\nc\n").unwrap();
    }
    write(folder, ".git/info/attributes", "* text=auto eol=crlf\n");
    git(folder, &["add", "-A"]);
    git(folder, &["commit", "-qm", "names"]);
    assert!(pending(folder, Moves::User).is_empty());
    for name in names {
        fs::write(path(name), "a\r\nB\r\nc\r\n").unwrap();
    }
    let mut expected: Vec<String> = names
        .iter()
        .map(|name| {
            let name = name.escape_ascii();
            format!("{name}: a\\r\\nb\\r\\nc\\r\\n -> a\\r\\nB\\r\\nc\\r\\n")
        })
        .collect();
    let mut shown = pending(folder, Moves::Agent);
    expected.sort();
    shown.sort();
    assert_eq!(shown, expected);
}

#[test]
fn a_name_with_a_newline_has_its_own_filters() {
    let folder = repository();
    let folder = folder.path();
    write(folder, ".git/info/attributes", "a?b eol=crlf\n");
    write(folder, "a\nb", "x\r\ny\r\n");
    write(folder, "z", "x\n");
    git(folder, &["add", "."]);
    git(folder, &["commit", "-qm", "a name"]);
    assert!(pending(folder, Moves::User).is_empty());
    write(folder, "a\nb", "x\r\nY\r\n");
    write(folder, "z", "Z\n");
    let shown = ["a\\nb: x\\r\\ny\\r\\n -> x\\r\\nY\\r\\n", "z: x\\n -> Z\\n"];
    assert_eq!(pending(folder, Moves::Agent), shown);
}

#[test]
fn what_editors_keep_for_themselves_in_a_folder_is_not_pending() {
    let folder = repository();
    let folder = folder.path();
    fs::create_dir(folder.join("d")).unwrap();
    for name in ["d/#x#", "d/x~", "d/.x.swp"] {
        write(folder, name, "x\n");
    }
    // Emacs' lock is a link to nothing.
    std::os::unix::fs::symlink("user@host.123:456", folder.join("d/.#x")).unwrap();
    assert!(pending(folder, Moves::Agent).is_empty());
    // Unless it is committed.
    git(folder, &["add", "d/#x#"]);
    assert_eq!(pending(folder, Moves::Agent), ["d/#x#: - -> x\\n"]);
}

// What users of other tools complain about.

fn mark_reviewed(folder: &Path, path: &str) {
    let mut project = Project::open(folder).unwrap();
    project.mark_reviewed(&[path.into()]).unwrap();
}

/// Writes what was reviewed into all files that have something pending: the user rejects all.
fn reject_all(folder: &Path) {
    let mut project = Project::open(folder).unwrap();
    let texts = project.texts();
    for one in project.look(Moves::Agent).unwrap().pending {
        let name = folder.join(std::str::from_utf8(&one.path).unwrap());
        match one.reviewed.digest() {
            None => fs::remove_file(name).unwrap(),
            Some(digest) => {
                fs::copy(texts.join(digest.to_string()), name).unwrap();
            }
        }
    }
}

fn save(folder: &Path, before: &str, after: &str) {
    write(folder, "f", after);
    let mut project = Project::open(folder).unwrap();
    project.record(&[saved("f", before, after)]).unwrap();
}

#[test]
fn rejecting_all_takes_out_nothing_that_was_kept_in_an_earlier_turn() {
    let folder = repository();
    let folder = folder.path();
    write(folder, "f", "a\nB\nc\n");
    write(folder, "new", "x\n");
    mark_reviewed(folder, "f");
    mark_reviewed(folder, "new");
    pending(folder, Moves::Agent);
    write(folder, "f", "a\nB\nC\n");
    write(folder, "new", "y\n");
    write(folder, "newer", "z\n");
    assert_eq!(pending(folder, Moves::Agent).len(), 3);
    reject_all(folder);
    let text = |name| fs::read_to_string(folder.join(name)).unwrap();
    assert_eq!((text("f"), text("new")), ("a\nB\nc\n".into(), "x\n".into()));
    assert!(!folder.join("newer").exists());
    assert!(pending(folder, Moves::Agent).is_empty());
}

#[test]
fn rejecting_all_takes_out_nothing_that_the_user_committed() {
    let folder = repository();
    let folder = folder.path();
    write(folder, "f", "a\nB\nc\n");
    assert_eq!(pending(folder, Moves::Agent), [EDITED]);
    git(folder, &["commit", "-qam", "the user's"]);
    write(folder, "f", "a\nB\nC\n");
    assert_eq!(
        pending(folder, Moves::User),
        ["f: a\\nB\\nc\\n -> a\\nB\\nC\\n"]
    );
    reject_all(folder);
    assert!(git(folder, &["status", "--porcelain"]).is_empty());
}

#[test]
fn rejecting_all_takes_out_nothing_that_the_user_saved() {
    let folder = repository();
    let folder = folder.path();
    write(folder, "f", "a\nb\nC\n");
    pending(folder, Moves::Agent);
    save(folder, "a\nb\nC\n", "mine\na\nb\nC\n");
    let shown = ["f: mine\\na\\nb\\nc\\n -> mine\\na\\nb\\nC\\n"];
    assert_eq!(pending(folder, Moves::Agent), shown);
    reject_all(folder);
    assert_eq!(fs::read(folder.join("f")).unwrap(), b"mine\na\nb\nc\n");
}

#[test]
fn one_new_line_is_all_that_is_asked_about_next_time() {
    let folder = repository();
    let folder = folder.path();
    write(folder, "f", "A\nB\nC\n");
    write(folder, "g", "x\n");
    pending(folder, Moves::Agent);
    mark_reviewed(folder, "f");
    mark_reviewed(folder, "g");
    write(folder, "f", "A\nB\nC\nD\n");
    let shown = ["f: A\\nB\\nC\\n -> A\\nB\\nC\\nD\\n"];
    assert_eq!(pending(folder, Moves::Agent), shown);
}

#[test]
fn what_was_decided_is_known_after_the_process_is_killed() {
    let folder = repository();
    let folder = folder.path();
    write(folder, "f", "a\nB\nc\n");
    let mut project = Project::open(folder).unwrap();
    project.look(Moves::Agent).unwrap();
    project.mark_reviewed(&[b"f".to_vec()]).unwrap();
    // Killed, it ends without a word, and in the middle of a line.
    std::mem::forget(project);
    let log = folder.join(".git/agent-q-diff/record");
    let torn = [
        &fs::read(&log).unwrap()[..],
        b"{\"reviewed\":[\"f\",\"100644:0123",
    ]
    .concat();
    fs::write(&log, torn).unwrap();
    fs::write(folder.join(".git/agent-q-diff/record.1.new"), "torn").unwrap();
    assert!(pending(folder, Moves::Agent).is_empty());
    write(folder, "f", "a\nB\nC\n");
    let shown = ["f: a\\nB\\nc\\n -> a\\nB\\nC\\n"];
    assert_eq!(pending(folder, Moves::Agent), shown);
}

// Sizes, and no commits.

#[test]
fn a_huge_file_that_the_user_commits_is_reviewed() {
    let folder = repository();
    let folder = folder.path();
    let huge = |byte| vec![byte; (8 << 20) + 1];
    write(folder, "f", huge(b'x'));
    let mut project = Project::open(folder).unwrap();
    let look = project.look(Moves::Agent).unwrap();
    assert_eq!(
        (look.pending, look.left_out),
        (vec![], vec![(b"f".to_vec(), Why::Large)])
    );
    git(folder, &["commit", "-qam", "huge"]);
    let look = project.look(Moves::User).unwrap();
    assert_eq!((look.pending, look.left_out), (vec![], vec![]));
    write(folder, "f", "small\n");
    git(folder, &["commit", "-qam", "small"]);
    let look = project.look(Moves::User).unwrap();
    assert_eq!((look.pending, look.left_out), (vec![], vec![]));
    write(folder, "f", "other\n");
    assert_eq!(pending(folder, Moves::Agent), ["f: small\\n -> other\\n"]);
}

/// Checks that `f` is left out, and that nothing of it is read.
#[track_caller]
fn f_is_left_out(folder: &Path, moves: Moves) {
    let mut project = Project::open(folder).unwrap();
    let look = project.look(moves).unwrap();
    assert_eq!(
        (look.pending, look.left_out),
        (vec![], vec![(b"f".to_vec(), Why::Large)])
    );
    let texts = fs::read_dir(project.texts()).unwrap();
    let sizes = texts.map(|text| text.unwrap().metadata().unwrap().len());
    assert!(sizes.max().unwrap_or(0) <= 8 << 20, "it was stored");
}

#[test]
fn what_is_huge_in_git_is_left_out_whatever_became_of_it() {
    let folder = repository();
    let folder = folder.path();
    write(folder, "f", vec![b'x'; (8 << 20) + 1]);
    git(folder, &["commit", "-qam", "huge"]);
    assert!(pending(folder, Moves::User).is_empty());
    let first = git(folder, &["rev-parse", "HEAD"]);
    fs::remove_file(folder.join("f")).unwrap();
    f_is_left_out(folder, Moves::Agent);
    write(folder, "f", "small\n");
    f_is_left_out(folder, Moves::Agent);
    // Only the index has what is huge.
    git(folder, &["checkout", "-q", "HEAD~", "--", "f"]);
    git(folder, &["commit", "-qm", "as before"]);
    f_is_left_out(folder, Moves::Unknown);
    f_is_left_out(folder, Moves::Agent);
    assert!(pending(folder, Moves::Agent).is_empty());
    write(folder, "f", vec![b'y'; (8 << 20) + 1]);
    git(folder, &["add", "f"]);
    write(folder, "f", "small\n");
    f_is_left_out(folder, Moves::Agent);
    git(folder, &["reset", "-q"]);
    assert_eq!(
        pending(folder, Moves::Agent),
        ["f: a\\nb\\nc\\n -> small\\n"]
    );
    // And so it is where all is shown since a commit.
    let since = Project::open(folder).unwrap().since(first.trim(), false);
    let since = since.unwrap();
    assert_eq!(
        (since.changed, since.left_out),
        (vec![], vec![(b"f".to_vec(), Why::Large)])
    );
}

#[test]
fn what_is_huge_and_hidden_in_the_index_is_left_out() {
    let folder = repository();
    let folder = folder.path();
    write(folder, "f", vec![b'x'; (8 << 20) + 1]);
    git(folder, &["commit", "-qam", "huge"]);
    git(folder, &["update-index", "--assume-unchanged", "f"]);
    fs::remove_file(folder.join("f")).unwrap();
    f_is_left_out(folder, Moves::Agent);
}

/// Returns a repository with `w`, which git does not know, that was left out since it was huge, and is small
/// now.
fn with_unknown() -> TempDir {
    let folder = repository();
    write(folder.path(), "w", vec![b'x'; (8 << 20) + 1]);
    let mut project = Project::open(folder.path()).unwrap();
    let look = project.look(Moves::Agent).unwrap();
    assert_eq!(look.left_out, [(b"w".to_vec(), Why::Large)]);
    write(folder.path(), "w", "small\n");
    assert_eq!(unknown(folder.path()), [b"w"]);
    folder
}

/// Returns what is not looked at since what it held is not known; nothing is pending.
fn unknown(folder: &Path) -> Vec<Vec<u8>> {
    let look = Project::open(folder).unwrap().look(Moves::Agent).unwrap();
    assert_eq!(look.pending, []);
    let unknown = look.left_out.into_iter();
    let unknown = unknown.map(|(path, why)| {
        assert_eq!(why, Why::Unknown);
        path
    });
    unknown.collect()
}

#[test]
fn a_huge_file_that_git_does_not_know_is_not_new_when_it_is_small() {
    let folder = with_unknown();
    let folder = folder.path();
    let since = Project::open(folder).unwrap().since("HEAD", false).unwrap();
    assert_eq!(
        (since.changed, since.left_out),
        (vec![], vec![(b"w".to_vec(), Why::Unknown)])
    );
    // Nor when an agent commits it.
    git(folder, &["add", "."]);
    git(folder, &["commit", "-qm", "an agent's"]);
    assert_eq!(unknown(folder), [b"w"]);
    write(folder, "w", "smaller\n");
    assert_eq!(unknown(folder), [b"w"]);
    mark_reviewed(folder, "w");
    write(folder, "w", "small\n");
    assert_eq!(pending(folder, Moves::Agent), ["w: smaller\\n -> small\\n"]);
    // Deleted, and made anew later, it is new.
    let folder = with_unknown();
    let folder = folder.path();
    fs::remove_file(folder.join("w")).unwrap();
    assert_eq!(unknown(folder), [b""; 0]);
    write(folder, "w", "x\n");
    assert_eq!(pending(folder, Moves::Agent), ["w: - -> x\\n"]);
}

#[test]
fn what_was_left_out_is_reviewed_when_the_user_commits_or_stages_all_of_it() {
    let folder = with_unknown();
    let folder = folder.path();
    git(folder, &["add", "."]);
    git(folder, &["commit", "-qm", "the user's"]);
    assert!(pending(folder, Moves::User).is_empty());
    write(folder, "w", "other\n");
    assert_eq!(pending(folder, Moves::Agent), ["w: small\\n -> other\\n"]);
    let folder = with_unknown();
    let folder = folder.path();
    write(folder, "w", "part\n");
    git(folder, &["add", "w"]);
    write(folder, "w", "small\n");
    Project::open(folder).unwrap().note_staged().unwrap();
    assert_eq!(unknown(folder), [b"w"]);
    git(folder, &["add", "w"]);
    Project::open(folder).unwrap().note_staged().unwrap();
    assert_eq!(unknown(folder), [b""; 0]);
    write(folder, "w", "other\n");
    assert_eq!(pending(folder, Moves::Agent), ["w: small\\n -> other\\n"]);
}

#[test]
fn what_was_left_out_and_is_in_the_commit_that_becomes_the_base_is_known() {
    let folder = with_unknown();
    let folder = folder.path();
    git(folder, &["add", "."]);
    git(folder, &["commit", "-qm", "amended", "--amend"]);
    git(folder, &["reflog", "expire", "--expire=now", "--all"]);
    git(folder, &["gc", "-q", "--prune=now"]);
    assert_eq!(unknown(folder), [b""; 0]);
    write(folder, "w", "other\n");
    assert_eq!(pending(folder, Moves::Agent), ["w: small\\n -> other\\n"]);
}

#[test]
fn what_is_pending_stays_so_where_no_commit_is_checked_out_any_more() {
    let folder = repository();
    let folder = folder.path();
    write(folder, "f", "a\nB\nc\n");
    assert_eq!(pending(folder, Moves::Agent), [EDITED]);
    git(folder, &["checkout", "-q", "--orphan", "empty"]);
    assert_eq!(pending(folder, Moves::Agent), [EDITED]);
    git(folder, &["commit", "-qam", "anew"]);
    assert_eq!(pending(folder, Moves::Agent), [EDITED]);
}
