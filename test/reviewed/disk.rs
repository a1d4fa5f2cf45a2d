//! Projects on disk, with git.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{SystemTime, UNIX_EPOCH};

use agent_q_diff_reviewed::authors::authors_word;
use agent_q_diff_reviewed::{Held, Moves, Note, Project, Version, Why};
use tempfile::TempDir;

/// Runs git in `folder` with settings of its own.
pub fn run_git(folder: &Path, arguments: &[&str]) -> Output {
    Command::new("git")
        .args(["-c", "user.name=User", "-c", "user.email=user@example.com"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .expect("git")
}

/// Like [`run_git`], but it must succeed; returns what it prints.
pub fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = run_git(folder, arguments);
    assert!(output.status.success(), "git {arguments:?}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// A repository with `f` of three lines committed, that was looked at.
pub fn repository() -> TempDir {
    let folder = repository_without_record();
    assert!(pending(folder.path(), Moves::User).is_empty());
    folder
}

/// The same before anybody has looked at it.
fn repository_without_record() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    git(folder.path(), &["init", "-q"]);
    fs::write(folder.path().join("f"), "a\nb\nc\n").unwrap();
    git(folder.path(), &["add", "."]);
    git(folder.path(), &["commit", "-qm", "first"]);
    folder
}

/// Returns that `path`, a file with the bytes `before`, was saved with `after`.
pub fn saved(path: &str, before: impl AsRef<[u8]>, after: impl AsRef<[u8]>) -> Note {
    Note::Saved {
        path: path.into(),
        before: held(before),
        after: held(after),
        has_undone: false,
    }
}

/// Returns a file that has `bytes`.
pub fn held(bytes: impl AsRef<[u8]>) -> Held {
    Held::Bytes(0o100_644, bytes.as_ref().to_vec())
}

/// What a path holds where there is nothing.
pub const NOTHING: Held = Held::Bytes(0, Vec::new());

/// Returns what is pending, as `PATH: REVIEWED -> WORKING`.
pub fn pending(folder: &Path, moves: Moves) -> Vec<String> {
    pending_of(&mut Project::open(folder).expect("a project"), moves)
}

/// Like [`pending`], in a project that is open.
pub fn pending_of(project: &mut Project, moves: Moves) -> Vec<String> {
    let pending = project.look(moves).expect("a look").pending;
    let texts = project.texts();
    let shown = |version: Version| match version.digest() {
        None => "-".to_owned(),
        Some(digest) => {
            let bytes = fs::read(texts.join(digest.to_string())).expect("its text");
            bytes.escape_ascii().to_string()
        }
    };
    let pending = pending.iter().map(|pending| {
        let path = pending.path.escape_ascii();
        format!(
            "{path}: {} -> {}",
            shown(pending.reviewed),
            shown(pending.working)
        )
    });
    pending.collect()
}

/// Runs the test `name` again, with these variables, in a process of its own, since the environment is
/// shared by all tests; it must pass.
pub fn passes_with(name: &str, variables: &[(&str, PathBuf)]) {
    let found = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", name])
        .envs(variables.iter().cloned())
        .output()
        .expect("a process");
    let said = String::from_utf8_lossy(&found.stdout);
    assert!(said.contains("1 passed"), "{found:?}");
}

#[test]
fn what_differs_from_what_was_reviewed_is_pending() {
    let folder = repository();
    let folder = folder.path();
    fs::write(folder.join("f"), "a\nB\nc\n").unwrap();
    fs::create_dir(folder.join("a folder")).unwrap();
    fs::write(folder.join("a folder/new\n"), "x\n").unwrap();
    std::os::unix::fs::symlink("f", folder.join("link")).unwrap();
    let all = [
        "a folder/new\\n: - -> x\\n",
        "f: a\\nb\\nc\\n -> a\\nB\\nc\\n",
        "link: - -> f",
    ];
    assert_eq!(pending(folder, Moves::Agent), all);
    let mut project = Project::open(&folder.join("a folder")).unwrap();
    project
        .mark_reviewed(&[b"link".to_vec(), b"f".to_vec()])
        .unwrap();
    assert_eq!(pending(folder, Moves::Agent), all[..1]);
    fs::remove_file(folder.join("f")).unwrap();
    assert_eq!(pending(folder, Moves::Agent)[1], "f: a\\nB\\nc\\n -> -");
}

#[test]
fn a_folder_is_in_the_repository_in_which_git_is_there() {
    let folder = repository();
    let folder = &folder.path().canonicalize().unwrap();
    let root_of = |folder: &Path| Project::open(folder).map(|project| project.root().to_owned());
    // A folder that is none of git's, whatever it has.
    let config = fs::read(folder.join(".git/config")).unwrap();
    fs::create_dir_all(folder.join("inner/.git")).unwrap();
    fs::write(folder.join("inner/.git/config"), &config).unwrap();
    fs::create_dir_all(folder.join("a/b")).unwrap();
    std::os::unix::fs::symlink("../a/b", folder.join("inner/link")).unwrap();
    for inside in ["", "a/b", "inner", "inner/link"] {
        assert_eq!(root_of(&folder.join(inside)).unwrap(), *folder, "{inside}");
    }
    // One of its own.
    git(folder, &["init", "-q", "a"]);
    assert_eq!(root_of(&folder.join("a/b")).unwrap(), folder.join("a"));
    // One without files, and git's own folder.
    git(folder, &["init", "-q", "--bare", "bare"]);
    for none in ["bare", "bare/refs", ".git", ".git/hooks"] {
        assert!(root_of(&folder.join(none)).is_err(), "{none}");
    }
    git(folder, &["worktree", "add", "-q", "linked"]);
    assert_eq!(
        root_of(&folder.join("linked")).unwrap(),
        folder.join("linked")
    );
    git(&folder.join("a"), &["config", "core.bare", "true"]);
    assert!(root_of(&folder.join("a/b")).is_err());
}

#[test]
fn what_editors_keep_for_themselves_is_not_pending() {
    let folder = repository();
    for name in [".#f", "#f#", "f~", ".f.swp"] {
        fs::write(folder.path().join(name), "x\n").unwrap();
    }
    assert!(pending(folder.path(), Moves::Agent).is_empty());
}

#[test]
fn what_is_too_much_is_left_out_and_named() {
    let folder = repository();
    let folder = folder.path();
    fs::create_dir_all(folder.join("node_modules/x")).unwrap();
    fs::create_dir(folder.join("some")).unwrap();
    for n in 0..1001 {
        fs::write(folder.join(format!("node_modules/x/{n}")), "x\n").unwrap();
    }
    fs::write(folder.join("some/new"), "x\n").unwrap();
    fs::write(folder.join("big"), vec![b'x'; (8 << 20) + 1]).unwrap();
    let look = Project::open(folder).unwrap().look(Moves::Agent).unwrap();
    let paths = look.pending.iter().map(|pending| &pending.path[..]);
    assert_eq!(paths.collect::<Vec<_>>(), [b"some/new"]);
    assert_eq!(
        look.left_out,
        [
            (b"big".to_vec(), Why::Large),
            (b"node_modules".to_vec(), Why::Many(1001))
        ]
    );
}

#[test]
fn what_was_reviewed_and_then_is_left_out_stays_reviewed() {
    let folder = repository();
    let folder = folder.path();
    fs::write(folder.join("f"), "a\nb\nc\nmine\n").unwrap();
    let mut project = Project::open(folder).unwrap();
    project.mark_reviewed(&[b"f".to_vec()]).unwrap();
    fs::write(folder.join("f"), vec![b'x'; (8 << 20) + 1]).unwrap();
    assert!(pending(folder, Moves::User).is_empty());
    fs::write(folder.join("f"), "a\nb\nc\nmine\nmore\n").unwrap();
    let shown = ["f: a\\nb\\nc\\nmine\\n -> a\\nb\\nc\\nmine\\nmore\\n"];
    assert_eq!(pending(folder, Moves::Agent), shown);
}

#[test]
fn in_the_middle_of_a_merge_nothing_is_looked_at() {
    let folder = repository();
    let folder = folder.path();
    git(folder, &["checkout", "-q", "-b", "other"]);
    fs::write(folder.join("f"), "a\nother\nc\n").unwrap();
    git(folder, &["commit", "-qam", "other"]);
    git(folder, &["checkout", "-q", "-"]);
    fs::write(folder.join("f"), "a\nmine\nc\n").unwrap();
    git(folder, &["commit", "-qam", "mine"]);
    let merge = run_git(folder, &["merge", "-q", "other"]);
    assert!(!merge.status.success());
    let error = Project::open(folder)
        .unwrap()
        .look(Moves::User)
        .unwrap_err();
    assert!(
        error.to_string().contains("in the middle of a merge"),
        "{error}"
    );
    git(folder, &["merge", "--abort"]);
    assert!(pending(folder, Moves::User).is_empty());
}

#[test]
fn a_base_that_is_gone_is_given_up() {
    let folder = repository();
    let folder = folder.path();
    fs::write(folder.join("f"), "A\nb\nc\n").unwrap();
    pending(folder, Moves::Agent);
    git(folder, &["commit", "-qam", "amended", "--amend"]);
    git(folder, &["reflog", "expire", "--expire=now", "--all"]);
    git(folder, &["gc", "-q", "--prune=now"]);
    fs::write(folder.join("f"), "A\nb\nC\n").unwrap();
    assert!(
        Project::open(folder)
            .unwrap()
            .question(5)
            .unwrap()
            .is_none()
    );
    // What was pending stays so.
    let shown = ["f: a\\nb\\nc\\n -> A\\nb\\nC\\n"];
    assert_eq!(pending(folder, Moves::Agent), shown);
}

#[test]
fn the_repository_is_only_read() {
    let folder = repository();
    let folder = folder.path();
    fs::write(folder.join("f"), "a\nB\nc\n").unwrap();
    fs::write(folder.join("staged"), "x\n").unwrap();
    git(folder, &["add", "staged"]);
    git(folder, &["stash", "-q", "--keep-index"]);
    fs::write(folder.join("f"), "a\nBB\nc\n").unwrap();
    let state = || {
        let refs = git(folder, &["for-each-ref"]);
        let objects = git(folder, &["count-objects", "-v"]);
        let index = fs::read(folder.join(".git/index")).unwrap();
        (refs, objects, index)
    };
    let before = state();
    assert!(!pending(folder, Moves::Agent).is_empty());
    pending(folder, Moves::User);
    assert_eq!(state(), before);
}

#[test]
fn a_saved_text_is_reviewed_where_nothing_is_pending() {
    let folder = repository();
    let folder = folder.path();
    fs::write(folder.join("f"), "A\nb\nc\n").unwrap();
    pending(folder, Moves::Agent);
    let mut project = Project::open(folder).unwrap();
    fs::write(folder.join("f"), "A\nb\nc\nmine\n").unwrap();
    let saved = saved("f", "A\nb\nc\n", "A\nb\nc\nmine\n");
    project.record(&[saved]).unwrap();
    let shown = ["f: a\\nb\\nc\\nmine\\n -> A\\nb\\nc\\nmine\\n"];
    assert_eq!(pending(folder, Moves::User), shown);
}

#[test]
fn what_is_decided_before_the_first_look_is_reviewed_and_nothing_else() {
    let folder = repository_without_record();
    let folder = folder.path();
    // The user's own line is in no commit yet.
    let [before, after] = ["mine\na\nb\nc\n", "mine\na\nB\nc\n"];
    fs::write(folder.join("f"), after).unwrap();
    let mut project = Project::open(folder).unwrap();
    project.record(&[saved("f", before, after)]).unwrap();
    let shown = ["f: a\\nB\\nc\\n -> mine\\na\\nB\\nc\\n"];
    assert_eq!(pending(folder, Moves::Unknown), shown);
    assert_eq!(written(folder), ["f: ?"]);
}

#[test]
fn at_the_first_look_head_was_reviewed_also_where_something_was_decided_before_it() {
    let folder = repository_without_record();
    let folder = folder.path();
    fs::write(folder.join("f"), "a\nB\nc\n").unwrap();
    let mut project = Project::open(folder).unwrap();
    project
        .record(&[saved("f", "a\nb\nc\n", "a\nB\nc\n")])
        .unwrap();
    fs::write(folder.join("f"), "a\nB\nc\nmine\n").unwrap();
    git(folder, &["commit", "-qam", "mine"]);
    assert!(pending(folder, Moves::Unknown).is_empty());
    fs::write(folder.join("f"), "a\nB\nc\nmine\nagent\n").unwrap();
    let shown = ["f: a\\nB\\nc\\nmine\\n -> a\\nB\\nc\\nmine\\nagent\\n"];
    assert_eq!(pending(folder, Moves::Unknown), shown);
}

#[test]
fn what_an_agent_commits_and_wipes_out_is_pending() {
    let folder = repository();
    let folder = folder.path();
    fs::write(folder.join("f"), "a\nb\nc\nmine\n").unwrap();
    let mut project = Project::open(folder).unwrap();
    project.mark_reviewed(&[b"f".to_vec()]).unwrap();
    git(folder, &["checkout", "-q", "."]);
    let shown = ["f: a\\nb\\nc\\nmine\\n -> a\\nb\\nc\\n"];
    assert_eq!(pending(folder, Moves::Agent), shown);
    fs::write(folder.join("g"), "x\n").unwrap();
    git(folder, &["add", "."]);
    git(folder, &["commit", "-qm", "an agent's"]);
    let all = [shown[0], "g: - -> x\\n"];
    assert_eq!(pending(folder, Moves::Agent), all);
    fs::write(folder.join("other"), "").unwrap();
    git(folder, &["add", "."]);
    git(folder, &["commit", "-qm", "the user's"]);
    assert_eq!(pending(folder, Moves::User), all);
}

#[test]
fn what_the_user_may_have_written_and_is_gone_with_a_file_that_is_brought_back_can_be_had_again() {
    let folder = repository();
    let folder = folder.path();
    let (first, agents) = ("a\nb\nc\n", "a\nB\nc\n");
    let mut project = Project::open(folder).unwrap();
    project.begin_turn("Codex", "s", "", None).unwrap();
    fs::write(folder.join("f"), agents).unwrap();
    project.end_turns(None).unwrap();
    let n_pending = |project: &mut Project| project.look_unasked().unwrap().pending.len();
    let n_after = |project: &mut Project, text: &str| {
        fs::write(folder.join("f"), text).unwrap();
        n_pending(project)
    };
    let n_after_saving = |project: &mut Project, before: &str, text: &str| {
        fs::write(folder.join("f"), text).unwrap();
        project.record(&[saved("f", before, text)]).unwrap();
        n_pending(project)
    };
    assert_eq!(n_pending(&mut project), 1);
    // As by a rewind of the agent's, which gives the whole file back.
    assert_eq!(n_after(&mut project, first), 0);
    assert_eq!(taken_out(&mut project), [""; 0]);
    assert_eq!(n_after(&mut project, agents), 1);
    // The user corrects what is pending, which makes it no less so.
    assert_eq!(n_after_saving(&mut project, agents, "a\nBee\nc\n"), 1);
    assert_eq!(n_after(&mut project, first), 0);
    let shown = ["f: 100644 -> 100644: 1, Bee\\n"];
    assert_eq!(taken_out(&mut project), shown);
    // Lines that count as reviewed are pending if they are gone.
    assert_eq!(n_after_saving(&mut project, first, "a\nb\nc\nmine\n"), 0);
    assert_eq!(n_after(&mut project, first), 1);
    assert_eq!(taken_out(&mut project), shown);
}

#[test]
fn a_repository_without_commits_can_be_reviewed() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    git(folder, &["init", "-q"]);
    fs::write(folder.join("f"), "a\n").unwrap();
    assert_eq!(pending(folder, Moves::Agent), ["f: - -> a\\n"]);
    git(folder, &["add", "."]);
    git(folder, &["commit", "-qm", "first"]);
    assert_eq!(pending(folder, Moves::Agent), ["f: - -> a\\n"]);
}

#[test]
fn the_bytes_are_those_of_the_working_files_whatever_git_makes_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    git(folder, &["init", "-q"]);
    fs::write(
        folder.join(".gitattributes"),
        "*.txt eol=crlf\n*.id ident\n",
    )
    .unwrap();
    fs::write(folder.join("f.txt"), "a\r\nb\r\n").unwrap();
    fs::write(folder.join("f.id"), "$Id$\n").unwrap();
    git(folder, &["add", "."]);
    git(folder, &["commit", "-qm", "first"]);
    fs::remove_file(folder.join("f.id")).unwrap();
    git(folder, &["checkout", "-q", "."]);
    assert!(pending(folder, Moves::User).is_empty());
    fs::write(folder.join("f.txt"), "a\r\nB\r\n").unwrap();
    fs::remove_file(folder.join("f.id")).unwrap();
    let shown = pending(folder, Moves::Agent);
    assert!(shown[0].starts_with("f.id: $Id: "), "{shown:?}");
    assert_eq!(shown[1], "f.txt: a\\r\\nb\\r\\n -> a\\r\\nB\\r\\n");
}

/// Returns what was taken out, as `PATH: HAD -> LEFT: NUMBER of lines, first line`.
fn taken_out(project: &mut Project) -> Vec<String> {
    let all = project.taken_out().expect("what was taken out").into_iter();
    let shown = all.map(|(one, lines)| {
        let lines = lines.map_or("no text".to_owned(), |(n, first)| {
            format!("{n}, {}", first.escape_ascii())
        });
        let left = one.left.map_or(0, Version::mode);
        format!(
            "{}: {:o} -> {left:o}: {lines}",
            one.path.escape_ascii(),
            one.had.mode()
        )
    });
    shown.collect()
}

#[test]
fn what_the_user_takes_out_is_listed_once_though_the_user_may_have_written_it() {
    let folder = repository();
    let folder = folder.path();
    let mut project = Project::open(folder).unwrap();
    let (first, corrected) = ("a\nb\nc\n", "a\nBee\nc\n");
    let correct = |project: &mut Project| {
        project.begin_turn("Codex", "s", "", None).unwrap();
        fs::write(folder.join("f"), "a\nB\nc\n").unwrap();
        project.end_turns(None).unwrap();
        fs::write(folder.join("f"), corrected).unwrap();
        let saved = saved("f", "a\nB\nc\n", corrected);
        project.record(&[saved]).unwrap();
    };
    // Takes all out of the first file, so that the second has `left`.
    let reject = |project: &mut Project, [path, now]: [&str; 2], left: &str| {
        let held_there = [(path.into(), Held::InFile)];
        project.prepare(&held_there, Some(4_000_000_000)).unwrap();
        if path != now {
            fs::remove_file(folder.join(path)).unwrap();
        }
        fs::write(folder.join(now), left).unwrap();
        let left = Note::Left {
            path: path.into(),
            now: now.into(),
            holds: Held::InFile,
        };
        let decided = |path: &str, reviewed: Held| Note::Decided {
            path: path.into(),
            before: reviewed.clone(),
            after: reviewed,
        };
        let mut notes = vec![left];
        if path != now {
            notes.push(decided(path, NOTHING));
        }
        notes.push(decided(now, held(first)));
        project.record(&notes).unwrap();
        project.look_unasked().unwrap();
    };
    correct(&mut project);
    reject(&mut project, ["f", "f"], first);
    let shown = "f: 100644 -> 100644: 1, Bee\\n";
    assert_eq!(taken_out(&mut project), [shown]);
    // The file was given back before that, so that nothing is taken out of it.
    correct(&mut project);
    fs::write(folder.join("f"), first).unwrap();
    reject(&mut project, ["f", "f"], first);
    assert_eq!(taken_out(&mut project), [shown]);
    fs::write(folder.join("f"), "a\nBees\nc\n").unwrap();
    project.look_unasked().unwrap();
    fs::write(folder.join("f"), first).unwrap();
    reject(&mut project, ["f", "f"], first);
    let both = ["f: 100644 -> 100644: 1, Bees\\n", shown];
    assert_eq!(taken_out(&mut project), both);
    // What was in a file that gets its old name back is still there.
    correct(&mut project);
    fs::rename(folder.join("f"), folder.join("g")).unwrap();
    project.look_unasked().unwrap();
    reject(&mut project, ["g", "f"], corrected);
    assert_eq!(taken_out(&mut project), both);
}

#[test]
fn what_was_taken_out_is_listed_the_latest_first() {
    let folder = repository();
    let folder = folder.path();
    let open = || Project::open(folder).unwrap();
    let mut project = open();
    let time = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs();
    let mut take_out = |path: &str, had: &[u8], left: Option<(u32, &[u8])>| {
        let path = path.as_bytes().to_vec();
        let had = [(path.clone(), Held::Bytes(0o100_644, had.to_vec()))];
        project.prepare(&had, Some(time)).unwrap();
        if let Some((mode, left)) = left {
            let left = Note::Left {
                path: path.clone(),
                now: path,
                holds: Held::Bytes(mode, left.to_vec()),
            };
            project.record(&[left]).unwrap();
        }
    };
    take_out("f", b"a\nx\ny\nb\n", Some((0o100_644, b"a\nb\n")));
    take_out("new", b"n\n", Some((0, b"")));
    take_out("image", b"\0x", Some((0o100_644, b"\0y")));
    // Only added lines, or nothing.
    take_out("f", b"a\n", Some((0o100_644, b"a\nb\n")));
    take_out("f", b"a\n", Some((0o100_644, b"a\n")));
    // Interrupted before the file was written, and after.
    take_out("f", b"a\nb\nc\n", None);
    take_out("gone", b"g\n", None);
    let all = [
        "gone: 100644 -> 0: 1, g\\n",
        "image: 100644 -> 100644: no text",
        "new: 100644 -> 0: 1, n\\n",
        "f: 100644 -> 100644: 2, x\\n",
    ];
    assert_eq!(taken_out(&mut open()), all);
}

/// Has the repository in `folder` name programs for all that git runs programs for.
fn set_traps(folder: &Path) {
    let trap = |name: &str| format!("sh -c 'touch {}/ran-{name}; cat'", folder.display());
    for (key, name) in [
        ("core.fsmonitor", "monitor"),
        ("filter.trap.clean", "clean"),
        ("filter.trap.smudge", "smudge"),
        ("filter.trap.process", "process"),
        ("diff.external", "diff"),
        ("core.pager", "pager"),
    ] {
        git(folder, &["config", key, &trap(name)]);
    }
    git(folder, &["config", "filter.trap.required", "true"]);
    fs::write(folder.join(".git/info/attributes"), "* filter=trap\n").unwrap();
}

/// Returns how many of these programs were run.
fn n_trapped(folder: &Path) -> usize {
    let ran = fs::read_dir(folder).unwrap();
    let ran = ran.filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_string_lossy().starts_with("ran-")
    });
    ran.count()
}

#[test]
fn nothing_is_run_that_the_repository_names() {
    let folder = repository();
    let folder = folder.path();
    set_traps(folder);
    fs::write(folder.join("f"), "a\nB\nc\n").unwrap();
    let look = Project::open(folder).unwrap().look(Moves::Agent).unwrap();
    assert!(look.pending.iter().all(|one| one.path != b"f"));
    assert!(
        look.left_out
            .contains(&(b"f".to_vec(), Why::Filter("trap".to_owned())))
    );
    assert_eq!(n_trapped(folder), 0);
}

#[test]
fn what_is_committed_is_found_whatever_is_staged() {
    let folder = repository();
    let folder = folder.path();
    for name in ["link", "none", "program"] {
        fs::write(folder.join(name), "x\n").unwrap();
    }
    git(folder, &["add", "."]);
    git(folder, &["commit", "-qm", "second"]);
    assert_eq!(pending(folder, Moves::User), [""; 0]);
    git(folder, &["rm", "-q", "--cached", "f"]);
    git(folder, &["rm", "-q", "none"]);
    fs::write(folder.join("f"), "a\nb\nc\nd\n").unwrap();
    fs::write(folder.join("intended"), "i\n").unwrap();
    git(folder, &["add", "--intent-to-add", "intended"]);
    fs::write(folder.join("staged"), "s\n").unwrap();
    git(folder, &["add", "staged"]);
    fs::remove_file(folder.join("link")).unwrap();
    std::os::unix::fs::symlink("f", folder.join("link")).unwrap();
    git(folder, &["add", "link"]);
    fs::write(folder.join("program"), "y\n").unwrap();
    let all = [
        "f: a\\nb\\nc\\n -> a\\nb\\nc\\nd\\n",
        "intended: - -> i\\n",
        "link: x\\n -> f",
        "none: x\\n -> -",
        "program: x\\n -> y\\n",
        "staged: - -> s\\n",
    ];
    assert_eq!(pending(folder, Moves::Agent), all);
    // The answer is that of a look at the commit itself.
    git(folder, &["reset", "-q", "--mixed"]);
    assert_eq!(pending(folder, Moves::Agent), all);
}

#[test]
fn a_repository_can_have_any_name() {
    let elsewhere = tempfile::tempdir().unwrap();
    let folder = elsewhere.path().join("a\n/b\n\n");
    fs::create_dir_all(folder.parent().unwrap()).unwrap();
    let original = repository();
    fs::rename(original.path(), &folder).unwrap();
    fs::create_dir(folder.join("c")).unwrap();
    fs::write(folder.join("c/new"), "x\n").unwrap();
    assert_eq!(
        pending(&folder.join("c"), Moves::Agent),
        ["c/new: - -> x\\n"]
    );
    assert!(folder.join(".git/agent-q-diff/record").exists());
    let tree = elsewhere.path().join("tree\n");
    let name = tree.to_str().unwrap();
    git(&folder, &["worktree", "add", "-q", "--detach", name]);
    fs::write(tree.join("f"), "a\nB\nc\n").unwrap();
    assert_eq!(
        pending(&tree, Moves::Agent),
        ["f: a\\nb\\nc\\n -> a\\nB\\nc\\n"]
    );
}

#[test]
fn nothing_is_run_at_a_save_that_the_repository_names_since_the_last_look() {
    let folder = repository();
    let folder = folder.path();
    let mut project = Project::open(folder).unwrap();
    project.look(Moves::Agent).unwrap();
    set_traps(folder);
    fs::write(folder.join("f"), "a\nB\nc\n").unwrap();
    let saved = project.record(&[saved("f", "a\nb\nc\n", "a\nB\nc\n")]);
    assert_eq!(saved.map_err(|error| error.to_string()), Ok(Vec::new()));
    assert_eq!(n_trapped(folder), 0);
    assert!(pending(folder, Moves::Agent).is_empty());
}

#[test]
fn another_repository_in_the_environment_misleads_nobody() {
    if let Some(folder) = std::env::var_os("LOOK_AT") {
        let shown = pending(Path::new(&folder), Moves::Agent);
        assert_eq!(shown, ["f: a\\nb\\nc\\n -> A\\nb\\nc\\n"]);
        return;
    }
    let folder = repository();
    let elsewhere = repository();
    fs::write(folder.path().join("f"), "A\nb\nc\n").unwrap();
    let variables = [
        ("GIT_DIR", elsewhere.path().join(".git")),
        ("GIT_WORK_TREE", elsewhere.path().to_owned()),
        ("GIT_INDEX_FILE", "/nowhere".into()),
        ("LOOK_AT", folder.path().to_owned()),
    ];
    passes_with(
        "disk::another_repository_in_the_environment_misleads_nobody",
        &variables,
    );
}

#[test]
fn a_folder_without_repository_is_an_error_that_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let error = Project::open(folder.path()).unwrap_err().to_string();
    assert!(error.ends_with("is in no git repository"), "{error}");
}

/// Returns what is pending, as `PATH: AUTHORS`, or `PATH LINES: AUTHORS` for each difference.
fn written(folder: &Path) -> Vec<String> {
    let mut project = Project::open(folder).expect("a project");
    let pending = project.look_unasked().expect("a look").pending;
    let shown = pending.iter().flat_map(|pending| {
        let path = pending.path.escape_ascii();
        let lines = project.authors_of(pending).expect("its authors");
        if lines.is_empty() {
            let authors = authors_word(&pending.written.authors);
            return vec![format!("{path}: {authors}")];
        }
        let lines = lines.into_iter().map(|(lines, authors)| {
            let authors = authors_word(&authors);
            format!("{path} {}-{}: {authors}", lines.start, lines.end)
        });
        lines.collect()
    });
    shown.collect()
}

#[test]
fn what_is_written_in_a_turn_is_the_agents_and_the_rest_is_not() {
    let folder = repository();
    let folder = folder.path();
    let open = || Project::open(folder).unwrap();
    // Before the turn, another program has written, and nobody has looked.
    fs::write(folder.join("f"), "a\nb\nc\nformatted\n").unwrap();
    open()
        .begin_turn("Codex", "s1", "fix it\nand more", None)
        .unwrap();
    fs::write(folder.join("f"), "A\nb\nc\nformatted\n").unwrap();
    fs::write(folder.join("new"), "x\n").unwrap();
    let both = ["f 0-1: t1", "f 3-4: o", "new: t1"];
    assert_eq!(written(folder), both);
    // Another session's end is not this one's.
    assert_eq!(open().end_turns(Some(("Codex", "s2"))).unwrap(), 0);
    assert_eq!(open().end_turns(Some(("Codex", "s1"))).unwrap(), 1);
    fs::write(folder.join("later"), "y\n").unwrap();
    let later = [&["f 0-1: t1", "f 3-4: o", "later: o"][..], &both[2..]].concat();
    assert_eq!(written(folder), later);
    let mut project = open();
    let turns = project.turns().unwrap();
    let shown: Vec<_> = turns
        .iter()
        .map(|turn| (turn.id, &turn.title[..], turn.is_over))
        .collect();
    assert_eq!(shown, [(1, "fix it", true)]);
    // It has nothing to end, and begins anew.
    assert_eq!(project.end_turns(None).unwrap(), 0);
    project.begin_turn("Codex", "s1", "", None).unwrap();
    project.begin_turn("Codex", "s1", "again", None).unwrap();
    assert_eq!(project.end_turns(None).unwrap(), 1);
}

#[test]
fn an_agents_line_that_the_user_changed_is_by_both() {
    let folder = repository();
    let folder = folder.path();
    let mut project = Project::open(folder).unwrap();
    project.begin_turn("Codex", "", "", None).unwrap();
    // Nobody has looked since, and the agent is still at work.
    let (before, after) = ("a\nB\nc\n", "a\nBB\nc\nmine\n");
    fs::write(folder.join("f"), after).unwrap();
    project.record(&[saved("f", before, after)]).unwrap();
    assert_eq!(written(folder), ["f: t1+u"]);
    assert_eq!(
        pending(folder, Moves::User),
        ["f: a\\nb\\nc\\nmine\\n -> a\\nBB\\nc\\nmine\\n"]
    );
}

#[test]
fn who_has_committed_is_asked_unless_it_was_in_a_turn() {
    let folder = repository();
    let folder = folder.path();
    let commit = |text: &str| {
        fs::write(folder.join("f"), text).unwrap();
        git(folder, &["commit", "-qam", text.trim()]);
    };
    let asked = || {
        Project::open(folder)
            .unwrap()
            .question(5)
            .unwrap()
            .is_some()
    };
    let mut project = Project::open(folder).unwrap();
    project.begin_turn("Codex", "", "", None).unwrap();
    commit("a\nB\nc\n");
    assert!(!asked());
    project.end_turns(None).unwrap();
    let agents = ["f: a\\nb\\nc\\n -> a\\nB\\nc\\n"];
    assert_eq!(pending(folder, Moves::User), agents);
    // Outside a turn, nobody knows: it stays to be asked, however often somebody looks.
    commit("a\nB\nC\n");
    for _ in 0..2 {
        assert_eq!(written(folder), ["f 1-2: t1", "f 2-3: o"]);
        assert!(asked());
    }
    // Also if a turn begins meanwhile, and ends.
    project.begin_turn("Codex", "", "", None).unwrap();
    project.end_turns(None).unwrap();
    assert!(asked());
    assert_eq!(
        pending(folder, Moves::User),
        ["f: a\\nb\\nC\\n -> a\\nB\\nC\\n"]
    );
    assert!(!asked());
}

#[test]
fn the_turn_of_an_agent_that_is_gone_is_over() {
    let folder = repository();
    let folder = folder.path();
    let mut agent = Command::new("sleep").arg("1000").spawn().unwrap();
    let mut project = Project::open(folder).unwrap();
    let begun = project.begin_turn("Codex", "s", "", Some(agent.id()));
    begun.unwrap();
    assert_eq!(project.turn_at_work().unwrap().unwrap().agent, "Codex");
    fs::write(folder.join("f"), "A\nb\nc\n").unwrap();
    agent.kill().unwrap();
    // It is gone, also before whoever has begun it asks how it ended.
    while project.turn_at_work().unwrap().is_some() {
        std::thread::yield_now();
    }
    agent.wait().unwrap();
    assert_eq!(project.turn_at_work().unwrap(), None);
    assert!(!project.is_at_work("Codex", "s").unwrap());
    // What was there when that was noticed is still its own.
    assert_eq!(written(folder), ["f: t1"]);
    fs::write(folder.join("g"), "x\n").unwrap();
    assert_eq!(written(folder), ["f: t1", "g: o"]);
}

#[test]
fn what_an_agent_has_in_the_background_is_not_plainly_outside_any_turn() {
    let folder = repository();
    let folder = folder.path();
    let open = || Project::open(folder).unwrap();
    let tasks = |ids: &[&str]| {
        let ids = ids.iter().map(|id| (*id).to_owned()).collect();
        open().follow_tasks("Claude Code", "s", |_| ids).unwrap();
    };
    let put = |name: &str| fs::write(folder.join(name), "x\n").unwrap();
    // Of a session without a turn, nothing is known.
    tasks(&["b0"]);
    open().begin_turn("Claude Code", "s", "", None).unwrap();
    open().end_turns(None).unwrap();
    put("before");
    assert_eq!(written(folder), ["before: o"]);
    open().begin_turn("Claude Code", "s", "", None).unwrap();
    tasks(&["b1", "b2"]);
    open().end_turns(None).unwrap();
    put("during");
    assert!(open().has_left_processes());
    assert_eq!(written(folder), ["before: o", "during: b2"]);
    tasks(&["b2"]);
    // What nobody has looked at may be by what ends now.
    put("more");
    tasks(&[]);
    assert!(!open().has_left_processes());
    put("since");
    let all = ["before: o", "during: b2", "more: b2", "since: o"];
    assert_eq!(written(folder), all);
}

#[test]
fn what_an_agent_that_is_gone_had_in_the_background_is_gone() {
    let folder = repository();
    let folder = folder.path();
    let mut agent = Command::new("sleep").arg("1000").spawn().unwrap();
    let mut project = Project::open(folder).unwrap();
    let begun = project.begin_turn("Claude Code", "s", "", Some(agent.id()));
    begun.unwrap();
    let tasks = |_| vec!["b1".to_owned()];
    project.follow_tasks("Claude Code", "s", tasks).unwrap();
    project.end_turns(None).unwrap();
    fs::write(folder.join("g"), "x\n").unwrap();
    agent.kill().unwrap();
    agent.wait().unwrap();
    assert_eq!(written(folder), ["g: b1"]);
    fs::write(folder.join("h"), "x\n").unwrap();
    assert_eq!(written(folder), ["g: b1", "h: o"]);
}

#[test]
fn a_script_ends_no_turn_of_which_a_hook_says_the_end() {
    let folder = repository();
    let folder = folder.path();
    let mut project = Project::open(folder).unwrap();
    let mut agent = Command::new("sleep").arg("1000").spawn().unwrap();
    let pid = Some(agent.id());
    project.begin_turn("Claude Code", "s", "", pid).unwrap();
    project.begin_turn("aider", "", "", None).unwrap();
    let mut end = |only| project.end_turns_of_scripts(only).unwrap();
    assert_eq!(end(Some(("Claude Code", "s"))), (0, 1));
    assert_eq!(end(None), (1, 1));
    agent.kill().unwrap();
    agent.wait().unwrap();
    assert_eq!(end(None), (1, 0));
}

/// Commits all that `f` holds once it has `text`.
fn commit(folder: &Path, text: &str) {
    fs::write(folder.join("f"), text).unwrap();
    git(folder, &["commit", "-qam", text.trim()]);
}

fn question(folder: &Path) -> Option<agent_q_diff_reviewed::Question> {
    Project::open(folder).unwrap().question(5).unwrap()
}

/// Returns what is pending when nobody is asked.
fn unasked(folder: &Path) -> Vec<String> {
    let look = Project::open(folder).unwrap().look_unasked().unwrap();
    look.pending
        .iter()
        .map(|one| one.path.escape_ascii().to_string())
        .collect()
}

#[test]
fn a_commit_of_what_was_kept_asks_nothing() {
    let folder = repository();
    let folder = folder.path();
    fs::write(folder.join("f"), "a\nb\nc\none\ntwo\n").unwrap();
    let mut project = Project::open(folder).unwrap();
    project.mark_reviewed(&[b"f".to_vec()]).unwrap();
    git(folder, &["commit", "-qam", "kept"]);
    assert_eq!(question(folder), None);
    assert!(unasked(folder).is_empty());
    // Its amendment, and one that has nothing to do with what is pending.
    git(folder, &["commit", "-q", "--amend", "-m", "amended"]);
    fs::write(folder.join("f"), "a\nb\nc\none\ntwo\nagent\n").unwrap();
    assert_eq!(unasked(folder), ["f"]);
    fs::write(folder.join("g"), "x\n").unwrap();
    project.mark_reviewed(&[b"g".to_vec()]).unwrap();
    git(folder, &["add", "g"]);
    git(folder, &["commit", "-qm", "g"]);
    assert_eq!(question(folder), None);
    assert_eq!(unasked(folder), ["f"]);
}

#[test]
fn commits_that_were_there_at_the_last_look_ask_nothing() {
    let folder = repository();
    let folder = folder.path();
    git(folder, &["checkout", "-qb", "other"]);
    commit(folder, "a\nb\nC\n");
    assert!(pending(folder, Moves::User).is_empty());
    git(folder, &["checkout", "-q", "-"]);
    for move_head in [
        &["merge", "-q", "--ff-only", "other"][..],
        &["reset", "-q", "--hard", "HEAD~1"],
        &["reset", "-q", "--hard", "ORIG_HEAD"],
        &["checkout", "-q", "HEAD~1"],
    ] {
        git(folder, move_head);
        assert_eq!(question(folder), None, "{move_head:?}");
        assert!(unasked(folder).is_empty(), "{move_head:?}");
    }
}

#[test]
fn commits_of_a_remote_tracking_branch_ask_nothing_and_leave_what_is_pending() {
    let origin = repository();
    let clone = tempfile::tempdir().unwrap();
    let name = origin.path().to_str().unwrap();
    git(clone.path(), &["clone", "-q", name, "."]);
    assert!(pending(clone.path(), Moves::User).is_empty());
    fs::write(clone.path().join("f"), "a\nb\nc\nagent\n").unwrap();
    assert_eq!(unasked(clone.path()), ["f"]);
    commit(origin.path(), "pulled\na\nb\nc\n");
    git(clone.path(), &["pull", "-q", "--rebase", "--autostash"]);
    assert_eq!(question(clone.path()), None);
    assert_eq!(
        pending(clone.path(), Moves::User),
        ["f: pulled\\na\\nb\\nc\\n -> pulled\\na\\nb\\nc\\nagent\\n"]
    );
}

#[test]
fn the_question_names_the_commits_and_the_files_that_it_is_about() {
    let folder = repository();
    let folder = folder.path();
    fs::write(folder.join("g"), "x\n").unwrap();
    fs::write(folder.join("kept"), "x\n").unwrap();
    let mut project = Project::open(folder).unwrap();
    project.mark_reviewed(&[b"kept".to_vec()]).unwrap();
    fs::write(folder.join("f"), "a\nB\nc\n").unwrap();
    assert_eq!(unasked(folder), ["f", "g"]);
    git(folder, &["add", "f", "kept"]);
    git(folder, &["commit", "-qm", "one"]);
    git(folder, &["commit", "-qm", "two", "--allow-empty"]);
    let found = question(folder).unwrap();
    assert_eq!(found.n_commits, 2);
    assert!(found.subjects[0].ends_with(" two") && found.subjects[1].ends_with(" one"));
    assert_eq!(found.paths, [b"f"]);
    // If they are not, all that they brought stays pending, and is not asked about again.
    let shown = pending(folder, Moves::NotNew);
    assert_eq!(shown, ["f: a\\nb\\nc\\n -> a\\nB\\nc\\n", "g: - -> x\\n"]);
    assert_eq!(question(folder), None);
    assert_eq!(pending(folder, Moves::User), shown);
}

#[test]
fn what_an_agent_committed_in_another_working_tree_is_not_reviewed_by_a_merge() {
    let folder = repository();
    let folder = folder.path();
    let (_elsewhere, tree) = working_tree(folder);
    let mut project = Project::open(&tree).unwrap();
    project.look_unasked().unwrap();
    project.begin_turn("Codex", "s", "", None).unwrap();
    commit(&tree, "a\nb\nc\nagent\n");
    // The user commits here meanwhile.
    commit(folder, "mine\na\nb\nc\n");
    project.end_turns(None).unwrap();
    assert!(pending(folder, Moves::User).is_empty());
    git(folder, &["merge", "-q", "agent"]);
    assert_eq!(question(folder), None);
    let shown = ["f: mine\\na\\nb\\nc\\n -> mine\\na\\nb\\nc\\nagent\\n"];
    assert_eq!(unasked(folder), ["f"]);
    assert_eq!(pending(folder, Moves::User), shown);
    git(
        folder,
        &["worktree", "remove", "--force", tree.to_str().unwrap()],
    );
    assert_eq!(pending(folder, Moves::User), shown);
}

#[test]
fn what_an_agent_committed_on_another_branch_is_not_reviewed_by_a_merge() {
    let folder = repository();
    let folder = folder.path();
    let mut project = Project::open(folder).unwrap();
    project.begin_turn("Codex", "s", "", None).unwrap();
    git(folder, &["checkout", "-qb", "agent"]);
    commit(folder, "a\nb\nc\nagent\n");
    git(folder, &["checkout", "-q", "-"]);
    project.end_turns(None).unwrap();
    assert!(unasked(folder).is_empty());
    git(folder, &["merge", "-q", "agent"]);
    assert_eq!(question(folder), None);
    assert_eq!(unasked(folder), ["f"]);
}

#[test]
fn what_an_agent_committed_and_the_user_rebased_stays_pending_on_other_branches() {
    let folder = repository();
    let folder = folder.path();
    git(folder, &["branch", "-M", "main"]);
    git(folder, &["branch", "other"]);
    in_turn(folder, || commit(folder, "a\nb\nc\nagent\n"));
    git(folder, &["checkout", "-q", "other"]);
    fs::write(folder.join("g"), "g\n").unwrap();
    git(folder, &["add", "g"]);
    git(folder, &["commit", "-qm", "there"]);
    assert!(pending(folder, Moves::User).is_empty());
    git(folder, &["checkout", "-q", "main"]);
    assert_eq!(unasked(folder), ["f"]);
    git(folder, &["rebase", "-q", "other"]);
    assert_eq!(unasked(folder), ["f"]);
    git(folder, &["checkout", "-q", "other"]);
    assert!(unasked(folder).is_empty());
    git(folder, &["checkout", "-q", "main"]);
    assert_eq!(unasked(folder), ["f"]);
}

#[test]
fn what_was_reviewed_in_another_working_tree_stays_so_when_it_is_merged() {
    let folder = repository();
    let folder = folder.path();
    let (_elsewhere, tree) = working_tree(folder);
    let mut project = Project::open(&tree).unwrap();
    project.look_unasked().unwrap();
    project.begin_turn("Codex", "s", "", None).unwrap();
    commit(&tree, "a\nb\nc\nkept\n");
    project.end_turns(None).unwrap();
    project.mark_reviewed(&[b"f".to_vec()]).unwrap();
    git(folder, &["merge", "-q", "agent"]);
    assert_eq!(unasked(folder), ["f"; 0]);
}

/// Returns a working tree of the repository `folder` elsewhere, with the new branch `agent`, and what holds it.
fn working_tree(folder: &Path) -> (TempDir, PathBuf) {
    let elsewhere = tempfile::tempdir().unwrap();
    let tree = elsewhere.path().join("tree");
    let name = tree.to_str().unwrap();
    git(folder, &["worktree", "add", "-qb", "agent", name]);
    (elsewhere, tree)
}

/// Runs `act` in a turn of an agent in `folder`.
fn in_turn(folder: &Path, act: impl FnOnce()) {
    let mut project = Project::open(folder).unwrap();
    project.begin_turn("Codex", "s", "", None).unwrap();
    act();
    Project::open(folder).unwrap().end_turns(None).unwrap();
}

#[test]
fn what_an_agent_has_pushed_is_not_reviewed_by_a_merge() {
    let folder = repository();
    let folder = folder.path();
    git(folder, &["branch", "agent"]);
    in_turn(folder, || {
        git(folder, &["checkout", "-q", "agent"]);
        commit(folder, "a\nb\nc\nagent\n");
        git(folder, &["update-ref", "refs/remotes/origin/x", "HEAD"]);
        git(folder, &["checkout", "-q", "-"]);
    });
    assert!(unasked(folder).is_empty());
    git(folder, &["merge", "-q", "agent"]);
    assert_eq!(unasked(folder), ["f"]);
}

#[test]
fn what_an_agent_committed_in_a_working_tree_that_it_made_is_not_reviewed_by_a_merge() {
    let folder = repository();
    let folder = folder.path();
    let elsewhere = tempfile::tempdir().unwrap();
    let tree = elsewhere.path().join("tree");
    let name = tree.to_str().unwrap();
    in_turn(folder, || {
        git(folder, &["worktree", "add", "-qb", "agent", name]);
        commit(&tree, "a\nb\nc\nagent\n");
    });
    assert!(unasked(folder).is_empty());
    git(folder, &["worktree", "remove", name]);
    assert!(unasked(folder).is_empty());
    git(folder, &["merge", "-q", "agent"]);
    assert_eq!(unasked(folder), ["f"]);
}

#[test]
fn what_an_agent_may_have_committed_elsewhere_is_asked_about_while_its_turn_is_open() {
    let folder = repository();
    let folder = folder.path();
    let (_elsewhere, tree) = working_tree(folder);
    let mut project = Project::open(&tree).unwrap();
    project.look_unasked().unwrap();
    project.begin_turn("Codex", "s", "", None).unwrap();
    commit(&tree, "a\nb\nc\nagent\n");
    assert!(unasked(folder).is_empty());
    git(folder, &["merge", "-q", "agent"]);
    assert!(question(folder).is_some());
    assert_eq!(pending(folder, Moves::NotNew).len(), 1);
}

#[test]
fn a_commit_after_an_agent_was_killed_is_asked_about() {
    let folder = repository();
    let folder = folder.path();
    let mut agent = Command::new("sleep").arg("1000").spawn().unwrap();
    let mut project = Project::open(folder).unwrap();
    let begun = project.begin_turn("Codex", "s", "", Some(agent.id()));
    begun.unwrap();
    fs::write(folder.join("f"), "A\nb\nc\n").unwrap();
    agent.kill().unwrap();
    agent.wait().unwrap();
    git(folder, &["commit", "-qam", "mine"]);
    assert!(question(folder).is_some());
    assert!(pending(folder, Moves::User).is_empty());
}

#[test]
fn a_base_that_an_agent_has_made_go_reviews_nothing() {
    let folder = repository();
    let folder = folder.path();
    commit(folder, "a\nb\nC\n");
    assert!(pending(folder, Moves::User).is_empty());
    in_turn(folder, || {
        fs::write(folder.join("f"), "a\nb\nC\nagent\n").unwrap();
        git(folder, &["commit", "-qam", "amended", "--amend"]);
        git(folder, &["reflog", "expire", "--expire=now", "--all"]);
        git(folder, &["gc", "-q", "--prune=now"]);
    });
    assert_eq!(unasked(folder), ["f"]);
}

#[test]
fn a_commit_that_a_tag_has_asks_nothing() {
    let folder = repository();
    let folder = folder.path();
    git(folder, &["checkout", "-q", "--detach"]);
    commit(folder, "a\nb\nC\n");
    git(folder, &["tag", "-a", "-m", "t", "t"]);
    git(folder, &["checkout", "-q", "-"]);
    assert!(unasked(folder).is_empty());
    git(folder, &["merge", "-q", "t"]);
    assert_eq!(question(folder), None);
    assert!(unasked(folder).is_empty());
}
