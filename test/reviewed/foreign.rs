//! What others put into the record of a project, or where a file is expected.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use agent_q_diff_reviewed::rounds::Kind;
use agent_q_diff_reviewed::{Held, Look, Moves, Note, Project, Version, Why};
use tempfile::TempDir;

use crate::disk::{NOTHING, git, held, pending, repository, saved};

/// Returns what `body` does, which would not end if it waited for a file.
fn in_time<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> T {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || send.send(body()));
    let limit = Duration::from_secs(60);
    receive.recv_timeout(limit).expect("it ends")
}

/// Looks at `folder` and returns that, or what went wrong.
fn look(folder: &Path) -> Result<Look, String> {
    let folder = folder.to_owned();
    in_time(move || {
        let look = Project::open(&folder).and_then(|mut project| project.look(Moves::Agent));
        look.map_err(|error| error.to_string())
    })
}

/// What can be where a file is expected.
const KINDS: [&str; 5] = ["fifo", "socket", "folder", "device", "link"];

/// Puts `kind`, one of [`KINDS`], in the place of what is at `path`.
fn put(kind: &str, path: &Path) {
    let _ = fs::remove_file(path);
    match kind {
        "fifo" => {
            let made = Command::new("mkfifo").arg(path).status().expect("mkfifo");
            assert!(made.success());
        }
        "socket" => drop(UnixListener::bind(path).expect("a socket")),
        "folder" => fs::create_dir(path).expect("a folder"),
        "device" => symlink("/dev/zero", path).expect("a link"),
        _ => symlink("/etc/passwd", path).expect("a link"),
    }
}

/// Returns a repository with a record, in which `f` has a line that an agent wrote and `g` was reviewed.
fn reviewed() -> TempDir {
    let folder = repository();
    fs::write(folder.path().join("f"), "a\nB\nc\n").unwrap();
    fs::write(folder.path().join("g"), "mine\n").unwrap();
    let mut project = Project::open(folder.path()).unwrap();
    project.look(Moves::Agent).unwrap();
    project.mark_reviewed(&[b"g".to_vec()]).unwrap();
    folder
}

const PENDING: &str = "f: a\\nb\\nc\\n -> a\\nB\\nc\\n";

// Files that are none.

#[test]
fn a_ledger_or_a_lock_that_is_no_file_is_refused_and_stays() {
    for kind in KINDS {
        for name in ["record", "lock"] {
            let folder = reviewed();
            let path = folder.path().join(".git/agent-q-diff").join(name);
            let kept = path.with_extension("kept");
            fs::rename(&path, &kept).unwrap();
            put(kind, &path);
            let error = look(folder.path()).unwrap_err();
            let expected = format!("{}: it is not a regular file", path.display());
            assert_eq!(error, expected, "{kind}");
            assert!(!fs::symlink_metadata(&path).unwrap().is_file(), "{kind}");
            // What was recorded is there when the file is.
            match kind {
                "folder" => fs::remove_dir(&path).unwrap(),
                _ => fs::remove_file(&path).unwrap(),
            }
            fs::rename(&kept, &path).unwrap();
            assert_eq!(pending(folder.path(), Moves::Agent), [PENDING]);
        }
    }
}

#[test]
fn a_stored_text_that_is_no_file_is_refused() {
    for kind in KINDS {
        let folder = reviewed();
        let folder = folder.path().to_owned();
        let mut project = Project::open(&folder).unwrap();
        let text = project.look(Moves::Agent).unwrap().pending[0].reviewed;
        let path = project.texts().join(text.digest().unwrap().to_string());
        put(kind, &path);
        let lines = Some((
            agent_q_diff_reviewed::rounds::Side::Old,
            0..1,
            text.digest(),
        ));
        let said = in_time(move || project.comment(b"f", lines, Kind::Comment, "why", &[]));
        let expected = format!("{}: it is not a regular file", path.display());
        assert_eq!(said.unwrap_err().to_string(), expected, "{kind}");
    }
}

#[test]
fn a_stored_text_with_other_bytes_is_refused() {
    let folder = reviewed();
    let mut project = Project::open(folder.path()).unwrap();
    let text = project.look(Moves::Agent).unwrap().pending[0].reviewed;
    let path = project.texts().join(text.digest().unwrap().to_string());
    fs::write(&path, "A\nb\nc\n").unwrap();
    let lines = Some((
        agent_q_diff_reviewed::rounds::Side::Old,
        0..1,
        text.digest(),
    ));
    let error = project
        .comment(b"f", lines, Kind::Comment, "why", &[])
        .unwrap_err();
    assert!(error.to_string().contains("is damaged"), "{error}");
}

#[test]
fn what_is_no_file_any_more_is_named_and_its_record_stays() {
    for kind in ["fifo", "socket"] {
        let folder = reviewed();
        let f = folder.path().join("f");
        put(kind, &f);
        let found = look(folder.path()).unwrap();
        assert_eq!(found.pending, [], "{kind}");
        let why = Why::Other("it is neither a file nor a link nor a folder".to_owned());
        assert_eq!(found.left_out, [(b"f".to_vec(), why)], "{kind}");
        fs::remove_file(&f).unwrap();
        fs::write(&f, "a\nB\nc\n").unwrap();
        assert_eq!(pending(folder.path(), Moves::Agent), [PENDING]);
    }
}

#[test]
fn git_waits_for_no_file_that_is_none() {
    let folder = reviewed();
    let folder = folder.path();
    fs::create_dir(folder.join("sub")).unwrap();
    fs::write(folder.join("sub/x"), "x\n").unwrap();
    fs::create_dir(folder.join("inner")).unwrap();
    git(&folder.join("inner"), &["init", "-q"]);
    for name in [
        ".git/HEAD",
        ".git/index",
        ".git/config",
        ".git/info/exclude",
        ".git/objects/info/alternates",
        ".git/objects/info/commit-graph",
        ".gitignore",
        "sub/.gitignore",
        "inner/.git/HEAD",
    ] {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let kept = path.with_extension("kept");
        let is_there = fs::rename(&path, &kept).is_ok();
        put("fifo", &path);
        let error = look(folder).unwrap_err();
        let expected = format!(
            "git cannot read {}, which is not a regular file; move it away, then look again",
            path.display()
        );
        assert_eq!(error, expected);
        fs::remove_file(&path).unwrap();
        if is_there {
            fs::rename(&kept, &path).unwrap();
        }
    }
    assert_eq!(look(folder).unwrap().pending.len(), 2);
}

#[test]
fn where_git_is_no_file_there_is_no_repository() {
    for kind in KINDS {
        let folder = tempfile::tempdir().unwrap();
        put(kind, &folder.path().join(".git"));
        let error = look(folder.path()).unwrap_err();
        let why = match kind {
            "link" => "invalid gitfile format",
            _ => "is in no git repository",
        };
        assert!(error.contains(why), "{kind}: {error}");
    }
}

// A record that was cut off.

/// The names of ledgers that are kept aside.
fn kept_aside(folder: &Path) -> Vec<std::path::PathBuf> {
    let all = fs::read_dir(folder.join(".git/agent-q-diff")).unwrap();
    let all = all.map(|entry| entry.unwrap().path());
    all.filter(|path| path.to_string_lossy().contains("cut-off"))
        .collect()
}

/// Checks that after `cut` is put in the place of the ledger, what `rest` says is known, that `cut` is kept,
/// and that the user is told once.
#[track_caller]
fn is_kept_aside(folder: &Path, cut: &[u8], rest: &[&str]) {
    let ledger = folder.join(".git/agent-q-diff/record");
    fs::write(&ledger, cut).unwrap();
    let mut project = Project::open(folder).unwrap();
    assert_eq!(crate::disk::pending_of(&mut project, Moves::Agent), rest);
    let [aside] = &kept_aside(folder)[..] else {
        panic!("{:?}", kept_aside(folder));
    };
    assert_eq!(fs::read(aside).unwrap(), cut);
    // It stays readable, and what is recorded now is there.
    project.mark_reviewed(&[b"f".to_vec()]).unwrap();
    let mut again = Project::open(folder).unwrap();
    let found = again.look(Moves::Agent).unwrap();
    assert_eq!(found.notes.len(), 1);
    assert!(found.notes[0].contains("was cut off"), "{:?}", found.notes);
    assert!(found.notes[0].contains(&*aside.to_string_lossy()));
    again.note_heard().unwrap();
    let found = Project::open(folder).unwrap().look(Moves::Agent).unwrap();
    assert_eq!(found.notes, [""; 0]);
    assert!(found.pending.iter().all(|one| one.path != b"f"));
    fs::remove_file(aside).unwrap();
}

/// Returns where `text` has `part` last.
fn memrfind(text: &[u8], part: &[u8]) -> usize {
    let mut parts = text.windows(part.len());
    parts
        .rposition(|window| window == part)
        .expect("it is there")
}

#[test]
fn a_ledger_that_was_cut_off_is_kept_aside_and_said_once() {
    let folder = reviewed();
    let folder = folder.path();
    let ledger = folder.join(".git/agent-q-diff/record");
    let whole = fs::read(&ledger).unwrap();
    let new = ["g: - -> mine\\n"];
    // Nothing can be read.
    for cut in [&b""[..], b"{\"agent-q-diff rec"] {
        is_kept_aside(folder, cut, &[PENDING, new[0]]);
    }
    // In the middle of the last line, and of another.
    let last = memrfind(&whole, b"{\"reviewed\"");
    is_kept_aside(folder, &whole[..last + 12], &[PENDING, new[0]]);
    let first = whole.iter().position(|&byte| byte == b'\n').unwrap() + 3;
    is_kept_aside(folder, &whole[..first], &[PENDING, new[0]]);
    is_kept_aside(
        folder,
        &[&whole[..], b"{\"reviewed\":"].concat(),
        &[PENDING],
    );
}

#[test]
fn a_ledger_that_is_cut_off_or_replaced_while_it_is_used_stays_readable() {
    let folder = reviewed();
    let folder = folder.path();
    let ledger = folder.join(".git/agent-q-diff/record");
    let whole = fs::read(&ledger).unwrap();
    for place in [0, 5, whole.len() / 2, whole.len() - 1] {
        let mut project = Project::open(folder).unwrap();
        project.look(Moves::Agent).unwrap();
        fs::write(&ledger, &whole[..place]).unwrap();
        project.mark_reviewed(&[b"f".to_vec()]).unwrap();
        let found = Project::open(folder).unwrap().look(Moves::Agent).unwrap();
        assert!(found.pending.iter().all(|one| one.path != b"f"));
    }
    // Put back where it was, by a program that writes files in place.
    let mut project = Project::open(folder).unwrap();
    project.look(Moves::Agent).unwrap();
    let longer = [
        &whole[..],
        &whole[whole.iter().position(|&b| b == b'\n').unwrap() + 1..],
    ];
    fs::write(&ledger, longer.concat()).unwrap();
    assert_eq!(
        crate::disk::pending_of(&mut project, Moves::Agent),
        [PENDING]
    );
}

#[test]
fn the_line_that_older_versions_refuse_costs_no_decision_where_it_is_cut_off() {
    let folder = reviewed();
    let [ledger, record] = ["ledger", "record"].map(|name| {
        let folder = folder.path().join(".git/agent-q-diff");
        folder.join(name)
    });
    let line = fs::read(&ledger).unwrap();
    let whole = fs::read(&record).unwrap();
    for n in [0, 5, 21] {
        fs::write(&ledger, &line[..n]).unwrap();
        let found = look(folder.path()).unwrap();
        assert_eq!((found.pending.len(), found.notes), (1, vec![]), "{n}");
        assert_eq!(fs::read(&ledger).unwrap(), line);
        assert!(fs::read(&record).unwrap().starts_with(&whole), "{n}");
    }
}

#[test]
fn a_text_that_is_lost_costs_only_what_was_reviewed_as_it() {
    let kept = "a\nB\nc\nkept\n";
    for bytes in [None, Some("other\n"), Some("a\nB\nc\nKEPT\n")] {
        let folder = reviewed();
        let folder = folder.path();
        let open = || Project::open(folder).unwrap();
        fs::write(folder.join("f"), kept).unwrap();
        let mut project = open();
        project.look(Moves::Agent).unwrap();
        project.mark_reviewed(&[b"f".to_vec()]).unwrap();
        fs::write(folder.join("f"), "a\nB\nc\nkept\nmore\n").unwrap();
        fs::write(folder.join("new"), "new\n").unwrap();
        let look = open().look(Moves::Agent).unwrap();
        let of_f = &look.pending[0];
        let text = open()
            .texts()
            .join(of_f.reviewed.digest().unwrap().to_string());
        fs::remove_file(&text).unwrap();
        if let Some(bytes) = bytes {
            fs::write(&text, bytes).unwrap();
        }
        let mut project = open();
        let look = project.look_to_show(Some(Moves::Agent)).unwrap();
        let paths: Vec<_> = look.pending.iter().map(|one| &one.path[..]).collect();
        assert_eq!(paths, [&b"f"[..], b"new"]);
        let [note] = &look.notes[..] else {
            panic!("{:?}", look.notes);
        };
        assert!(note.starts_with("What was reviewed of f is lost"), "{note}");
        // It is what HEAD has that counts now, and it can be decided as ever.
        let head = fs::read(
            project
                .texts()
                .join(look.pending[0].reviewed.digest().unwrap().to_string()),
        );
        assert_eq!(head.unwrap(), b"a\nb\nc\n");
        project.note_heard().unwrap();
        project
            .mark_reviewed(&[b"f".to_vec(), b"new".to_vec()])
            .unwrap();
        let look = open().look(Moves::Agent).unwrap();
        assert_eq!((look.pending, look.notes), (vec![], vec![]));
    }
}

#[test]
fn a_ledger_that_is_not_understood_is_refused_and_stays() {
    let folder = reviewed();
    let folder = folder.path();
    let ledger = folder.join(".git/agent-q-diff/record");
    let mut text = fs::read_to_string(&ledger).unwrap();
    text.push_str("something newer\n");
    fs::write(&ledger, &text).unwrap();
    let n = text.lines().count();
    let error = look(folder).unwrap_err();
    assert!(error.starts_with(&format!("line {n} of ")), "{error}");
    assert!(
        !error.contains("delete") && !error.contains("remove"),
        "{error}"
    );
    assert_eq!(fs::read_to_string(&ledger).unwrap(), text);
}

// Paths in a record.

/// The paths that none of a project's files has.
const BAD: [&str; 7] = [
    "../x",
    "/abs/x",
    ".git/config",
    ".git/hooks/pre-commit",
    "sub/.GIT/config",
    "a/../../x",
    "a\\u0000b",
];

/// A line of each kind that has a path, with `%P` for it and `%V` for a version.
const LINES: [&str; 16] = [
    r#"{"reviewed":["%P","%V"]}"#,
    r#"{"as-base":"%P"}"#,
    r#"{"seen":["%P",{"working":"%V","reviewed":"0","written":{"authors":[]}}]}"#,
    r#"{"seen":["%P",{"working":"%V","reviewed":"0","is-back":true,"written":{"authors":[]}}]}"#,
    r#"{"taken-out":{"path":"%P","time":1800000000,"had":"%V","left":null}}"#,
    r#"{"left":["%P","%V"]}"#,
    r#"{"noted":["%P",[{"hunk":"a","comment":"","is-waiting":true}]]}"#,
    r#"{"staged":["%P",{"object":"0123","version":"%V"}]}"#,
    r#"{"staged":["%P",null]}"#,
    r#"{"left-out":["%P",true]}"#,
    r#"{"left-out":["%P",false]}"#,
    r#"{"round":{"comment":{"id":1,"time":1800000000,"path":"%P","place":null,"kind":"comment","text":"why","state":"open","replies":[],"to":[],"names":[],"told":[]}}}"#,
    r#"{"round":{"comment":{"id":2,"time":1800000000,"path":"ok","place":null,"kind":"comment","text":"why","state":"open","replies":[],"to":[],"names":["%P"],"told":[]}}}"#,
    r#"{"round":{"rejected":{"path":"%P","hunk":"h","time":1800000000,"reason":"","line":1,"lines":"","is-told":false,"is-back":false,"to":[]}}}"#,
    r#"{"round":{"begun":[1,[["ok","%V"],["%P","%V"]]]}}"#,
    r#"{"round":{"wrote":[1,[["%P","0","%V"]]]}}"#,
];

#[test]
fn a_line_with_a_bad_path_does_not_count_and_stays() {
    let folder = reviewed();
    let folder = folder.path();
    let mut project = Project::open(folder).unwrap();
    let text = project.look(Moves::Agent).unwrap().pending[0].reviewed;
    let version = format!("100644:{}", text.digest().unwrap());
    let ledger = folder.join(".git/agent-q-diff/record");
    let whole = fs::read_to_string(&ledger).unwrap();
    let n_whole = whole.lines().count();
    for bad in BAD {
        let lines = LINES.map(|line| line.replace("%P", bad).replace("%V", &version));
        fs::write(&ledger, whole.clone() + &lines.join("\n") + "\n").unwrap();
        let mut project = Project::open(folder).unwrap();
        let found = project.look(Moves::Agent).unwrap();
        let paths: Vec<_> = found.pending.iter().map(|one| &one.path[..]).collect();
        assert_eq!(paths, [b"f"], "{bad}");
        assert_eq!(found.notes.len(), lines.len(), "{bad}: {:?}", found.notes);
        for (at, note) in found.notes.iter().enumerate() {
            let start = format!("Line {} of {} ", n_whole + at + 1, ledger.display());
            assert!(note.starts_with(&start), "{note}");
            let shown = bad.replace("\\u0000", "%00");
            assert!(note.contains(&format!("\"{shown}\"")), "{note}");
        }
        // What is not counted is nowhere else, either.
        assert!(project.taken_out().unwrap().is_empty());
        assert!(project.noted().unwrap().is_empty());
        assert!(project.comments(&Default::default()).unwrap().is_empty());
        // The rest of the record works, and the lines stay, also when the log is written anew.
        for n in 0..1100 {
            project.keep_staged(n % 2 == 1).unwrap();
        }
        project.mark_reviewed(&[b"f".to_vec()]).unwrap();
        let log = fs::read_to_string(&ledger).unwrap();
        assert!(log.lines().count() < 1100, "it was not written anew");
        assert!(
            lines
                .iter()
                .all(|line| log.contains(&format!("\n{line}\n")))
        );
        let found = Project::open(folder).unwrap().look(Moves::Agent).unwrap();
        assert_eq!((found.pending, found.notes.len()), (vec![], lines.len()));
    }
}

#[test]
fn nothing_is_recorded_of_a_bad_path() {
    let folder = reviewed();
    let mut project = Project::open(folder.path()).unwrap();
    let ledger = folder.path().join(".git/agent-q-diff/record");
    let before = fs::read(&ledger).unwrap();
    for bad in ["../x", "/abs/x", ".git/config", "a/../../x", "a\0b", ""] {
        let path = bad.as_bytes();
        let [file, good] = [path, b"f"].map(|path| (path.to_vec(), held("x")));
        let notes = [
            Note::Decided {
                path: path.to_vec(),
                before: held("x"),
                after: NOTHING,
            },
            saved(bad, "x", "y"),
            Note::Renamed {
                from: good.clone(),
                to: file.clone(),
            },
            Note::Renamed {
                from: file.clone(),
                to: good,
            },
            Note::Left {
                path: path.to_vec(),
                now: b"f".to_vec(),
                holds: Held::InFile,
            },
        ];
        let recorded = notes.map(|note| project.record(&[note]).map(|_| ()));
        let others = [
            project.prepare(&[file], Some(1_800_000_000)).map(|_| ()),
            project.mark_reviewed(&[path.to_vec()]),
            project.stage(path, Version::Absent, Version::Absent),
            project
                .prepare(&[(path.to_vec(), Held::InFile)], None)
                .map(|_| ()),
        ];
        for said in recorded.into_iter().chain(others) {
            let error = said.unwrap_err().to_string();
            assert!(error.contains("is no path of a file"), "{bad}: {error}");
        }
    }
    assert_eq!(fs::read(&ledger).unwrap(), before);
}

#[test]
fn what_looks_like_gits_own_folder_is_not_looked_at_and_named() {
    let folder = repository();
    let folder = folder.path();
    for name in [".GIT", "git~1", "sub"] {
        fs::create_dir_all(folder.join(name)).unwrap();
        fs::write(folder.join(name).join("x"), "x\n").unwrap();
    }
    let found = look(folder).unwrap();
    let paths: Vec<_> = found.pending.iter().map(|one| &one.path[..]).collect();
    assert_eq!(paths, [b"sub/x"]);
    let why = Why::Other("its path is in a folder of git's own".to_owned());
    let refused = [b".GIT/x".to_vec(), b"git~1/x".to_vec()].map(|path| (path, why.clone()));
    assert_eq!(found.left_out, refused);
    // Also where a commit has it.
    let blob = git(folder, &["hash-object", "-w", "sub/x"]);
    let entry = format!("100644 blob {}\tx", blob.trim());
    let tree = mktree(folder, &entry);
    let tree = mktree(folder, &format!("040000 tree {tree}\tgit~1"));
    let commit = git(folder, &["commit-tree", "-p", "HEAD", "-m", "trap", &tree]);
    git(folder, &["update-ref", "HEAD", commit.trim()]);
    for moves in [Moves::Unknown, Moves::User] {
        let mut project = Project::open(folder).unwrap();
        project.look(moves).unwrap();
        let since = project.since("HEAD~", false).unwrap();
        assert!(
            since
                .changed
                .iter()
                .all(|one| !one.path.starts_with(b"git~1"))
        );
    }
}

#[test]
fn no_commit_leads_out_of_the_project() {
    let names = [
        "..",
        ".git",
        ".GIT",
        ".git ",
        ".git.",
        "git~1",
        ".g\u{200c}it",
        ".git::$x",
    ];
    for name in names {
        let folder = repository();
        let folder = folder.path();
        let outside = folder.parent().unwrap().join("x");
        let blob = git(folder, &["rev-parse", "HEAD:f"]);
        let entry = format!("100644 blob {}", blob.trim());
        // A rename from there, and one to there.
        let tree = mktree(folder, &format!("{entry}\tx"));
        let tree = mktree(folder, &format!("040000 tree {tree}\t{name}"));
        let commit = git(folder, &["commit-tree", "-p", "HEAD", "-m", "trap", &tree]);
        git(folder, &["update-ref", "HEAD", commit.trim()]);
        fs::rename(folder.join("f"), folder.join("g")).unwrap();
        let bad = format!("{name}/x");
        for moves in [Moves::Unknown, Moves::Agent, Moves::User] {
            let mut project = Project::open(folder).unwrap();
            let found = project.look(moves).unwrap();
            let renames = project.renames(&found.pending).unwrap();
            let paths = renames.iter().flat_map(|one| [one.from, one.to]);
            let paths = paths.map(|at| &found.pending[at].path);
            let paths = paths.chain(found.pending.iter().map(|one| &one.path));
            assert!(
                paths.clone().all(|path| path == b"f" || path == b"g"),
                "{name}"
            );
            assert!(
                found
                    .left_out
                    .iter()
                    .any(|(path, _)| *path == bad.as_bytes()),
                "{name}"
            );
        }
        assert!(!outside.exists(), "{name}");
    }
}

fn mktree(folder: &Path, entry: &str) -> String {
    let script = format!("printf '%s\\n' '{entry}' | git mktree");
    let made = Command::new("sh")
        .args(["-c", &script])
        .current_dir(folder)
        .output();
    String::from_utf8(made.unwrap().stdout)
        .unwrap()
        .trim()
        .to_owned()
}

#[test]
fn nothing_is_deleted_or_written_through_a_folder_that_is_a_link() {
    for name in [".git/agent-q-diff", ".git/agent-q-diff/texts"] {
        let folder = repository();
        let folder = folder.path();
        let book = tempfile::tempdir().unwrap();
        let texts = book
            .path()
            .join(if name.ends_with("texts") { "" } else { "texts" });
        fs::create_dir_all(&texts).unwrap();
        let chapter = texts.join("chapter1.txt");
        let other = texts.join("0".repeat(64));
        for file in [&chapter, &other] {
            fs::write(file, "mine\n").unwrap();
            let file = fs::File::options().write(true).open(file).unwrap();
            file.set_modified(std::time::UNIX_EPOCH).unwrap();
        }
        fs::remove_dir_all(folder.join(name)).unwrap();
        std::os::unix::fs::symlink(book.path(), folder.join(name)).unwrap();
        let error = Project::open(folder)
            .and_then(|mut project| project.look(Moves::User))
            .unwrap_err();
        assert!(error.to_string().contains("is not a folder"), "{error}");
        assert!(chapter.exists() && other.exists());
        assert_eq!(fs::read_dir(&texts).unwrap().count(), 2, "{name}");
    }
}

#[test]
fn what_lies_among_the_texts_and_is_none_stays() {
    let folder = repository();
    let texts = folder.path().join(".git/agent-q-diff/texts");
    let (note, unnamed) = (texts.join("note.txt"), texts.join("0".repeat(64)));
    let draft = texts.join("0".repeat(64) + ".17.new");
    for file in [&note, &unnamed, &draft] {
        fs::write(file, "x\n").unwrap();
        let file = fs::File::options().write(true).open(file).unwrap();
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
    }
    Project::open(folder.path())
        .unwrap()
        .look(Moves::User)
        .unwrap();
    assert!(note.exists() && !unnamed.exists() && !draft.exists());
}
