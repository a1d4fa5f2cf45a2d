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
