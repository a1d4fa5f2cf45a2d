//! What the index has when what was decided is staged.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use agent_q_diff_reviewed::{Held, Moves, Project};

use crate::dice::Dice;
use crate::disk::{git, pending, repository, run_git};

type Content<'a> = (u32, &'a [u8]);

const FILE: u32 = 0o100_644;

/// Stages the change from `before` to `after` of `path`, and returns what was wrong.
fn stage(folder: &Path, path: &str, before: Content, after: Content) -> Result<(), String> {
    let mut project = Project::open(folder).expect("a project");
    let path = path.as_bytes();
    let hold = |(mode, bytes): Content| project.hold(path, &Held::Bytes(mode, bytes.to_vec()));
    let (before, after) = (hold(before).expect("a text"), hold(after).expect("a text"));
    let staged = project.stage(path, before, after);
    staged.map_err(|error| error.to_string())
}

/// The same of the text of a file.
fn stage_text(folder: &Path, path: &str, before: &str, after: &str) -> Result<(), String> {
    let [before, after] = [before, after].map(str::as_bytes);
    stage(folder, path, (FILE, before), (FILE, after))
}

/// Returns the entry of `path` in the index, as `MODE TEXT`, or nothing.
fn indexed(folder: &Path, path: &str) -> String {
    let entry = git(folder, &["ls-files", "-s", "--", path]);
    match entry.split_whitespace().next() {
        Some(mode) => {
            let name = format!(":{path}");
            let blob = run_git(folder, &["cat-file", "blob", &name]).stdout;
            format!("{mode} {}", blob.escape_ascii())
        }
        None => String::new(),
    }
}

/// Runs `git apply --cached` on what `git diff` says is between two texts of `path`; returns whether it
/// applies.
fn applies(folder: &Path, path: &str, before: &str, after: &str) -> bool {
    let texts = tempfile::tempdir().unwrap();
    for (side, text) in [("a", before), ("b", after)] {
        fs::create_dir(texts.path().join(side)).unwrap();
        fs::write(texts.path().join(side).join(path), text).unwrap();
    }
    let [old, new] = ["a", "b"].map(|side| format!("{side}/{path}"));
    let arguments = ["diff", "--no-index", "--no-prefix", &old, &new];
    let patch = run_git(texts.path(), &arguments).stdout;
    let mut apply = Command::new("git")
        .args(["apply", "--cached", "-"])
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    apply.stdin.take().unwrap().write_all(&patch).unwrap();
    apply.wait().unwrap().success()
}

/// Edits some of `lines`, which are all different.
fn edited(dice: &mut Dice, lines: &[String], n_edits: usize, name: &str) -> Vec<String> {
    let mut lines = lines.to_vec();
    for n in 0..n_edits {
        let at = dice.roll(lines.len());
        match dice.roll(3) {
            0 => lines.insert(at, format!("{name}{n}\n")),
            1 if lines.len() > 1 => drop(lines.remove(at)),
            _ => lines[at] = format!("{name}{n}\n"),
        }
    }
    lines
}

#[test]
fn the_index_gets_what_git_apply_would_give_it() {
    let folder = repository();
    let folder = folder.path();
    let mut dice = Dice::new(34);
    let (mut n_same, mut n_refused) = (0, 0);
    for _ in 0..60 {
        let base: Vec<String> = (0..30).map(|line| format!("{line}\n")).collect();
        let n_theirs = dice.roll(3);
        let theirs = edited(&mut dice, &base, n_theirs, "their").concat();
        let n_ours = 1 + dice.roll(2);
        let ours = edited(&mut dice, &base, n_ours, "our").concat();
        let base = base.concat();
        fs::write(folder.join("f"), &theirs).unwrap();
        git(folder, &["add", "f"]);
        let head = git(folder, &["rev-parse", "HEAD"]);
        let result = stage_text(folder, "f", &base, &ours);
        let found = indexed(folder, "f");
        git(folder, &["add", "f"]);
        let does_apply = base == ours || applies(folder, "f", &base, &ours);
        if does_apply {
            assert_eq!(result, Ok(()), "{theirs:?} {ours:?}");
            assert_eq!(found, indexed(folder, "f"), "{theirs:?} {ours:?}");
            n_same += 1;
        } else if result.is_err() {
            assert_eq!(found, indexed(folder, "f"), "{theirs:?} {ours:?}");
            n_refused += 1;
        }
        assert_eq!(fs::read_to_string(folder.join("f")).unwrap(), theirs);
        assert_eq!(git(folder, &["rev-parse", "HEAD"]), head);
    }
    assert!(n_same > 20 && n_refused > 0, "{n_same} {n_refused}");
}

#[test]
fn what_is_staged_can_be_taken_out_of_the_index_again() {
    let folder = repository();
    let folder = folder.path();
    stage_text(folder, "f", "a\nb\nc\n", "A\nb\nc\n").unwrap();
    stage_text(folder, "f", "A\nb\nc\n", "A\nb\nC\n").unwrap();
    assert_eq!(indexed(folder, "f"), "100644 A\\nb\\nC\\n");
    stage_text(folder, "f", "A\nb\nC\n", "a\nb\nC\n").unwrap();
    assert_eq!(indexed(folder, "f"), "100644 a\\nb\\nC\\n");
    // What is not there need not be taken out.
    stage_text(folder, "f", "A\nb\nC\n", "a\nb\nC\n").unwrap();
    assert_eq!(indexed(folder, "f"), "100644 a\\nb\\nC\\n");
}

#[test]
fn nothing_is_staged_where_the_index_has_other_lines() {
    let folder = repository();
    let folder = folder.path();
    let why = "f is not staged: the index has other lines there than those that you have reviewed";
    let found = stage_text(folder, "f", "a\nx\nc\n", "a\ny\nc\n");
    assert_eq!(found, Err(why.to_owned()));
    assert_eq!(indexed(folder, "f"), "100644 a\\nb\\nc\\n");
}

#[test]
fn ends_of_lines_are_converted_as_git_converts_them() {
    let folder = repository();
    let folder = folder.path();
    git(folder, &["config", "core.autocrlf", "true"]);
    stage_text(folder, "f", "a\r\nb\r\nc\r\n", "a\r\nB\r\nc\r\n").unwrap();
    assert_eq!(indexed(folder, "f"), "100644 a\\nB\\nc\\n");
    stage(folder, "new", (0, b""), (FILE, b"x\r\n")).unwrap();
    assert_eq!(indexed(folder, "new"), "100644 x\\n");
}

#[test]
fn what_is_staged_passes_the_filters_of_the_user() {
    let folder = repository();
    let folder = folder.path();
    git(folder, &["config", "filter.up.clean", "tr a-z A-Z"]);
    fs::write(folder.join(".git/info/attributes"), "new filter=up\n").unwrap();
    stage(folder, "new", (0, b""), (FILE, b"x\n")).unwrap();
    assert_eq!(indexed(folder, "new"), "100644 X\\n");
}

#[test]
fn staging_runs_no_hook() {
    use std::os::unix::fs::PermissionsExt;
    let folder = repository();
    let folder = folder.path();
    let hook = folder.join(".git/hooks/post-index-change");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\ntouch .git/ran\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    stage_text(folder, "f", "a\nb\nc\n", "a\nB\nc\n").unwrap();
    assert!(!folder.join(".git/ran").exists());
    // The hook is one that git runs.
    git(folder, &["update-index", "--chmod=+x", "f"]);
    assert!(folder.join(".git/ran").exists());
}

#[test]
fn new_and_deleted_files_are_staged() {
    let folder = repository();
    let folder = folder.path();
    for name in ["new", "a folder/b,c\n", "-x", ":y"] {
        stage(folder, name, (0, b""), (0o100_755, b"x\n")).unwrap();
        let literal = git(
            folder,
            &["--literal-pathspecs", "ls-files", "-s", "--", name],
        );
        assert!(literal.starts_with("100755 "), "{name}");
        stage(folder, name, (0o100_755, b"x\n"), (0, b"")).unwrap();
    }
    assert_eq!(git(folder, &["ls-files"]), "f\n");
    stage(folder, "f", (FILE, b"a\nb\nc\n"), (0, b"")).unwrap();
    assert_eq!(git(folder, &["ls-files"]), "");
    assert!(folder.join("f").exists());
    // Twice is once.
    stage(folder, "f", (FILE, b"a\nb\nc\n"), (0, b"")).unwrap();
    let found = stage_text(folder, "f", "a\nb\nc\n", "a\nB\nc\n");
    assert!(found.unwrap_err().contains("the index has no such file"));
}

#[test]
fn a_file_is_not_deleted_or_new_where_the_index_has_another() {
    let folder = repository();
    let folder = folder.path();
    let found = stage(folder, "f", (FILE, b"a\nb\n"), (0, b""));
    assert!(found.unwrap_err().contains("the index has other lines"));
    let found = stage(folder, "f", (0, b""), (FILE, b"a\n"));
    assert!(found.unwrap_err().contains("the index has another file"));
    // A file where a folder is would remove what is in it.
    let found = stage(folder, "f/g", (0, b""), (FILE, b"a\n"));
    assert!(
        found
            .unwrap_err()
            .contains("f/g is not staged: git update-index: ")
    );
    assert_eq!(indexed(folder, "f"), "100644 a\\nb\\nc\\n");
}

#[test]
fn an_executable_file_is_deleted_where_modes_mean_nothing() {
    let folder = repository();
    let folder = folder.path();
    git(folder, &["update-index", "--chmod=+x", "f"]);
    git(folder, &["config", "core.fileMode", "false"]);
    stage_text(folder, "f", "a\nb\nc\n", "a\nB\nc\n").unwrap();
    assert_eq!(indexed(folder, "f"), "100755 a\\nB\\nc\\n");
    stage(folder, "f", (FILE, b"a\nB\nc\n"), (0, b"")).unwrap();
    assert_eq!(indexed(folder, "f"), "");
}

#[test]
fn modes_links_and_files_that_are_no_text_are_staged_as_a_whole() {
    let folder = repository();
    let folder = folder.path();
    let text = b"a\nb\nc\n";
    stage(folder, "f", (FILE, text), (0o100_755, text)).unwrap();
    assert_eq!(indexed(folder, "f"), "100755 a\\nb\\nc\\n");
    // Its lines leave the mode as it is.
    stage_text(folder, "f", "a\nb\nc\n", "a\nB\nc\n").unwrap();
    assert_eq!(indexed(folder, "f"), "100755 a\\nB\\nc\\n");
    // No filter is for links.
    git(folder, &["config", "core.autocrlf", "input"]);
    stage(folder, "link", (0, b""), (0o120_000, b"f\r\n")).unwrap();
    assert_eq!(indexed(folder, "link"), "120000 f\\r\\n");
    stage(folder, "link", (0o120_000, b"f\r\n"), (0o120_000, b"g")).unwrap();
    assert_eq!(indexed(folder, "link"), "120000 g");
    stage(folder, "bytes", (0, b""), (FILE, b"\0a\nb\n")).unwrap();
    let found = stage(folder, "bytes", (FILE, b"\0a\nc\n"), (FILE, b"\0a\nd\n"));
    assert!(found.unwrap_err().contains("the index has another version"));
    stage(folder, "bytes", (FILE, b"\0a\nb\n"), (FILE, b"\0a\nd\n")).unwrap();
    assert_eq!(indexed(folder, "bytes"), "100644 \\x00a\\nd\\n");
}

#[test]
fn a_file_that_git_was_told_to_add_later_is_new() {
    let folder = repository();
    let folder = folder.path();
    fs::write(folder.join("new"), "x\ny\n").unwrap();
    git(folder, &["add", "--intent-to-add", "new"]);
    stage(folder, "new", (0, b""), (FILE, b"x\n")).unwrap();
    assert_eq!(indexed(folder, "new"), "100644 x\\n");
    let staged = git(folder, &["diff", "--cached", "--name-status"]);
    assert_eq!(staged, "A\tnew\n");
}

#[test]
fn what_the_index_hides_or_has_conflicts_in_is_refused() {
    let folder = repository();
    let folder = folder.path();
    for (flag, other, why) in [
        ("--skip-worktree", "--no-skip-worktree", "(skip-worktree)"),
        (
            "--assume-unchanged",
            "--no-assume-unchanged",
            "(assume-unchanged)",
        ),
    ] {
        git(folder, &["update-index", flag, "f"]);
        let found = stage_text(folder, "f", "a\nb\nc\n", "a\nB\nc\n").unwrap_err();
        assert!(found.ends_with(why), "{found}");
        git(folder, &["update-index", other, "f"]);
    }
    git(folder, &["checkout", "-qb", "other"]);
    fs::write(folder.join("f"), "a\nother\nc\n").unwrap();
    git(folder, &["commit", "-qam", "other"]);
    git(folder, &["checkout", "-q", "-"]);
    fs::write(folder.join("f"), "a\nmine\nc\n").unwrap();
    git(folder, &["commit", "-qam", "mine"]);
    run_git(folder, &["merge", "other"]);
    let found = stage_text(folder, "f", "a\nmine\nc\n", "a\nB\nc\n").unwrap_err();
    assert_eq!(found, "f is not staged: the index has a conflict there");
    assert!(!git(folder, &["ls-files", "-u"]).is_empty());
}

#[test]
fn an_index_that_another_git_has_locked_is_left_alone() {
    let folder = repository();
    let folder = folder.path();
    fs::write(folder.join(".git/index.lock"), "").unwrap();
    let found = stage_text(folder, "f", "a\nb\nc\n", "a\nB\nc\n").unwrap_err();
    assert_eq!(
        found,
        "f is not staged: another git has locked the index (index.lock)"
    );
    assert_eq!(indexed(folder, "f"), "100644 a\\nb\\nc\\n");
}

// What the user stages.

/// A project with twelve lines in `f`, in which an agent has written a line at each end in its turn.
fn written_in_a_turn() -> tempfile::TempDir {
    let folder = repository();
    fs::write(folder.path().join("f"), lines(&[])).unwrap();
    git(folder.path(), &["commit", "-qam", "twelve"]);
    assert!(pending(folder.path(), Moves::User).is_empty());
    begin_turn(folder.path());
    fs::write(folder.path().join("f"), lines(&[1, 12])).unwrap();
    folder
}

fn lines(written: &[usize]) -> String {
    let line = |n| match written.contains(&n) {
        true => format!("written {n}\n"),
        false => format!("{n}\n"),
    };
    (1..=12).map(line).collect()
}

fn begin_turn(folder: &Path) {
    let mut project = Project::open(folder).unwrap();
    project.begin_turn("Codex", "", "", None).unwrap();
}

fn end_turn(folder: &Path) {
    assert_eq!(Project::open(folder).unwrap().end_turns(None).unwrap(), 1);
}

/// Makes `text` what the index has of `f`, as `git add -p` would.
fn put_into_index(folder: &Path, text: &str) {
    let working = fs::read(folder.join("f")).unwrap();
    fs::write(folder.join("f"), text).unwrap();
    git(folder, &["add", "f"]);
    fs::write(folder.join("f"), working).unwrap();
}

fn shown(reviewed: &[usize], working: &[usize]) -> [String; 1] {
    let [reviewed, working] = [reviewed, working].map(|n| lines(n).escape_debug().to_string());
    [format!("f: {reviewed} -> {working}")]
}

#[test]
fn what_the_user_stages_outside_a_turn_is_reviewed() {
    let folder = written_in_a_turn();
    let folder = folder.path();
    end_turn(folder);
    assert_eq!(pending(folder, Moves::Unknown), shown(&[], &[1, 12]));
    put_into_index(folder, &lines(&[1]));
    assert_eq!(pending(folder, Moves::Unknown), shown(&[1], &[1, 12]));
    // What is taken out of the index stays reviewed.
    git(folder, &["reset", "-q"]);
    assert_eq!(pending(folder, Moves::Unknown), shown(&[1], &[1, 12]));
    git(folder, &["add", "f"]);
    assert!(pending(folder, Moves::Unknown).is_empty());
}

#[test]
fn what_the_user_stages_again_is_reviewed() {
    let folder = written_in_a_turn();
    let folder = folder.path();
    end_turn(folder);
    git(folder, &["add", "f"]);
    assert!(pending(folder, Moves::Unknown).is_empty());
    begin_turn(folder);
    let text = lines(&[1, 12]).replace("written 12", "written again");
    fs::write(folder.join("f"), &text).unwrap();
    fs::write(folder.join("new"), "a\nb\n").unwrap();
    end_turn(folder);
    assert_eq!(pending(folder, Moves::Unknown).len(), 2);
    git(folder, &["add", "."]);
    assert!(pending(folder, Moves::Unknown).is_empty());
    begin_turn(folder);
    fs::write(folder.join("new"), "a\nB\nc\n").unwrap();
    end_turn(folder);
    assert_eq!(
        pending(folder, Moves::Unknown),
        ["new: a\\nb\\n -> a\\nB\\nc\\n"]
    );
    git(folder, &["add", "."]);
    assert!(pending(folder, Moves::Unknown).is_empty());
}

#[test]
fn what_is_staged_in_a_turn_stays_pending() {
    let folder = written_in_a_turn();
    let folder = folder.path();
    put_into_index(folder, &lines(&[1]));
    end_turn(folder);
    assert_eq!(pending(folder, Moves::Unknown), shown(&[], &[1, 12]));
    // Then the user stages the rest: what the agent had staged is not the user's by that.
    git(folder, &["add", "f"]);
    assert_eq!(pending(folder, Moves::Unknown), shown(&[12], &[1, 12]));
}

#[test]
fn what_is_staged_where_no_turn_is_known_stays_pending_unless_it_is_said_to_be_the_users() {
    let folder = repository();
    let folder = folder.path();
    fs::write(folder.join("f"), "a\nB\nc\n").unwrap();
    git(folder, &["add", "f"]);
    let all = ["f: a\\nb\\nc\\n -> a\\nB\\nc\\n"];
    assert_eq!(pending(folder, Moves::Unknown), all);
    fs::write(folder.join("f"), "a\nB\nc\nd\n").unwrap();
    git(folder, &["add", "f"]);
    Project::open(folder).unwrap().note_staged().unwrap();
    // What was staged before, nobody knows.
    assert_eq!(
        pending(folder, Moves::Unknown),
        ["f: a\\nb\\nc\\nd\\n -> a\\nB\\nc\\nd\\n"]
    );
}

#[test]
fn what_the_user_stages_is_not_reviewed_if_that_is_not_wanted() {
    let folder = written_in_a_turn();
    let folder = folder.path();
    end_turn(folder);
    Project::open(folder).unwrap().keep_staged(false).unwrap();
    git(folder, &["add", "f"]);
    assert_eq!(pending(folder, Moves::Unknown), shown(&[], &[1, 12]));
    // Nor later, when it was staged before.
    Project::open(folder).unwrap().keep_staged(true).unwrap();
    assert_eq!(pending(folder, Moves::Unknown), shown(&[], &[1, 12]));
}

#[test]
fn whole_files_that_the_user_stages_are_reviewed() {
    let folder = written_in_a_turn();
    let folder = folder.path();
    fs::write(folder.join("f"), lines(&[])).unwrap();
    fs::write(folder.join("new"), "x\n").unwrap();
    fs::write(folder.join("binary"), b"\0").unwrap();
    fs::write(folder.join("left"), "y\n").unwrap();
    std::os::unix::fs::symlink("f", folder.join("link")).unwrap();
    end_turn(folder);
    git(folder, &["add", "new", "binary", "link"]);
    git(folder, &["add", "-N", "left"]);
    assert_eq!(pending(folder, Moves::Unknown), ["left: - -> y\\n"]);
    // What leaves the index is still there, unless it is deleted.
    git(folder, &["rm", "-q", "--cached", "f"]);
    assert_eq!(pending(folder, Moves::Unknown), ["left: - -> y\\n"]);
    fs::remove_file(folder.join("f")).unwrap();
    assert!(
        pending(folder, Moves::Unknown)
            .iter()
            .any(|one| one.starts_with("f: "))
    );
    git(folder, &["reset", "-q"]);
    assert!(
        pending(folder, Moves::Unknown)
            .iter()
            .any(|one| one.starts_with("f: "))
    );
    git(folder, &["rm", "-q", "f"]);
    assert_eq!(pending(folder, Moves::Unknown), ["left: - -> y\\n"]);
}

// What a process that an agent has started does after the turn.

/// Returns whether `f` is pending once `act` was done after a turn in which Codex has run `script`.
fn is_pending_after(script: &str, act: impl FnOnce(&Path)) -> bool {
    let folder = repository();
    let folder = &folder.path().canonicalize().unwrap();
    let mut project = Project::open(folder).unwrap();
    project.begin_turn("Codex", "s", "", None).unwrap();
    fs::write(folder.join("f"), "a\nAGENT\nc\n").unwrap();
    let begun = Command::new("sh")
        .args(["-c", script])
        .current_dir(folder)
        .spawn();
    begun.unwrap().wait().unwrap();
    let end = Project::open(folder)
        .unwrap()
        .end_turns(Some(("Codex", "s")));
    assert_eq!(end.unwrap(), 1);
    act(folder);
    let look = Project::open(folder).unwrap().look_unasked().unwrap();
    !look.pending.is_empty()
}

/// Waits until `is_done`.
fn wait_for(is_done: impl Fn() -> bool) {
    let begun = std::time::Instant::now();
    while !is_done() {
        assert!(begun.elapsed().as_secs() < 20, "it takes too long");
        std::thread::yield_now();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_a_process_of_an_agents_stages_after_the_turn_stays_pending() {
    // It has no parent any more, and has ended by the time of the look.
    let script = "(until [ -e go ]; do sleep 0.01; done; git add f; touch done) & exit 0";
    let goes = |folder: &Path| {
        fs::write(folder.join("go"), "").unwrap();
        wait_for(|| folder.join("done").exists());
        fs::remove_file(folder.join("go")).unwrap();
        fs::remove_file(folder.join("done")).unwrap();
    };
    assert!(is_pending_after(script, goes));
    // While it runs, it may be that which has staged something.
    let script = "(until [ -e go ]; do sleep 0.01; done) & exit 0";
    let add = |folder: &Path| drop(git(folder, &["add", "f"]));
    assert!(is_pending_after(script, |folder| {
        add(folder);
        fs::write(folder.join("go"), "").unwrap();
    }));
    // Otherwise, it is the user.
    assert!(!is_pending_after("exit 0", add));
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_staged_below_an_agents_process_stays_pending_until_that_has_ended() {
    let folder = repository();
    let folder = folder.path();
    let mut project = Project::open(folder).unwrap();
    let agent = Some(std::process::id());
    project.begin_turn("Codex", "s", "", agent).unwrap();
    fs::write(folder.join("f"), "a\nAGENT\nc\n").unwrap();
    // It is in another folder.
    let mut server = Command::new("sleep").arg("1000").spawn().unwrap();
    project.end_turns(None).unwrap();
    git(folder, &["add", "f"]);
    let is_pending = || {
        !Project::open(folder)
            .unwrap()
            .look_unasked()
            .unwrap()
            .pending
            .is_empty()
    };
    assert!(is_pending() && is_pending());
    server.kill().unwrap();
    server.wait().unwrap();
    // What was staged by then stays so; what the user stages after the next look is reviewed.
    git(folder, &["reset", "-q"]);
    assert!(is_pending());
    git(folder, &["add", "f"]);
    assert!(!is_pending());
}
