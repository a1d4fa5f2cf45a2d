//! Projects without git.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use agent_q_diff_reviewed::{Moves, Note, Project, ProjectError, Why, projects_folder};
use tempfile::TempDir;

use crate::disk::{NOTHING, git, held, passes_with, pending_of, saved};

/// A folder without git, and one for what is recorded of it.
struct Notes {
    files: TempDir,
    state: TempDir,
}

impl Notes {
    /// Makes one with `f` of three lines and `sub/g`, in which nothing has begun.
    fn new() -> Notes {
        let [files, state] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        let notes = Notes { files, state };
        notes.write("f", "a\nb\nc\n");
        notes.write("sub/g", "g\n");
        notes
    }

    /// Makes one that has begun.
    fn begun() -> Notes {
        let notes = Notes::new();
        notes.begin().expect("a project");
        notes
    }

    fn path(&self, name: &str) -> PathBuf {
        self.files.path().join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn projects(&self) -> PathBuf {
        self.state.path().join("agent-q-diff/projects")
    }

    fn begin(&self) -> Result<Project, ProjectError> {
        Project::begin(self.files.path(), &self.projects())
    }

    fn open(&self) -> Project {
        self.open_at("").expect("a project")
    }

    fn open_at(&self, name: &str) -> Result<Project, ProjectError> {
        Project::open_among(&self.path(name), &self.projects())
    }

    fn pending(&self) -> Vec<String> {
        self.look(Moves::Unknown)
    }

    fn look(&self, moves: Moves) -> Vec<String> {
        pending_of(&mut self.open(), moves)
    }

    /// Returns what is not looked at, as `PATH: WHY`.
    fn left_out(&self) -> Vec<String> {
        let look = self.open().look(Moves::Unknown).unwrap();
        let left_out = look.left_out.iter();
        let left_out = left_out.map(|(path, why)| format!("{}: {why:?}", path.escape_ascii()));
        left_out.collect()
    }
}

const EDITED: &str = "f: a\\nb\\nc\\n -> a\\nB\\nc\\n";

/// Returns that the user has made the file `path`, with `text`.
fn made(path: &str, text: &str) -> Note {
    Note::Saved {
        path: path.into(),
        before: NOTHING,
        after: held(text),
        has_undone: false,
    }
}

#[test]
fn a_project_begins_only_when_the_user_says_so() {
    let notes = Notes::new();
    let error = notes.open_at("").unwrap_err();
    assert!(matches!(error, ProjectError::NoRepository(_)), "{error}");
    let error = error.to_string();
    assert!(error.contains("M-x agent-q-diff-review-changes"), "{error}");
    let before = Project::before_begin(notes.files.path(), &notes.projects());
    let root = notes.files.path().canonicalize().unwrap();
    assert_eq!(before.unwrap(), (root.clone(), 2));
    assert!(!notes.projects().exists());
    assert_eq!(notes.begin().unwrap().root(), root);
    assert!(notes.pending().is_empty());
}

#[test]
fn what_was_there_at_the_first_look_is_reviewed_and_what_is_written_then_is_pending() {
    let notes = Notes::begun();
    notes.write("f", "a\nB\nc\n");
    notes.write("new", "x\n");
    fs::remove_file(notes.path("sub/g")).unwrap();
    let all = [EDITED, "new: - -> x\\n", "sub/g: g\\n -> -"];
    assert_eq!(notes.pending(), all);
    // Nor does it take another program's word, or a second one.
    assert_eq!(notes.begin().unwrap().root(), notes.open().root());
    assert_eq!(notes.look(Moves::Agent), all);
    assert_eq!(notes.look(Moves::User), all);
}

#[test]
fn what_is_kept_is_not_pending_and_what_is_taken_out_is_as_it_was() {
    let notes = Notes::begun();
    notes.write("f", "a\nB\nc\nd\n");
    fs::remove_file(notes.path("sub/g")).unwrap();
    notes.pending();
    let [before, after] = [&b"a\nb\nc\n"[..], b"a\nB\nc\n"];
    let decided = Note::Decided {
        path: b"f".to_vec(),
        before: held(before),
        after: held(after),
    };
    notes.open().record(&[decided]).unwrap();
    let left = "f: a\\nB\\nc\\n -> a\\nB\\nc\\nd\\n";
    assert_eq!(notes.pending(), [left, "sub/g: g\\n -> -"]);
    notes.write("f", after);
    notes.write("sub/g", "g\n");
    assert!(notes.pending().is_empty());
    // Whoever takes it back later is asked about.
    notes.write("f", before);
    assert_eq!(notes.pending(), ["f: a\\nB\\nc\\n -> a\\nb\\nc\\n"]);
}

#[test]
fn a_deleted_file_that_was_kept_so_is_new_when_it_comes_back() {
    let notes = Notes::begun();
    fs::remove_file(notes.path("sub/g")).unwrap();
    fs::remove_dir(notes.path("sub")).unwrap();
    assert_eq!(notes.pending(), ["sub/g: g\\n -> -"]);
    notes.open().mark_reviewed(&[b"sub/g".to_vec()]).unwrap();
    assert!(notes.pending().is_empty());
    notes.write("sub/g", "g\n");
    assert_eq!(notes.pending(), ["sub/g: - -> g\\n"]);
}

#[test]
fn what_the_user_saves_is_reviewed() {
    let notes = Notes::begun();
    notes.write("f", "A\nb\nc\n");
    notes.pending();
    let [before, after] = ["A\nb\nc\n", "A\nb\nc\nmine\n"];
    notes.write("f", after);
    notes.open().record(&[saved("f", before, after)]).unwrap();
    notes.write("mine", "new\n");
    notes.open().record(&[made("mine", "new\n")]).unwrap();
    let shown = ["f: a\\nb\\nc\\nmine\\n -> A\\nb\\nc\\nmine\\n"];
    assert_eq!(notes.pending(), shown);
}

#[test]
fn what_is_written_in_a_turn_is_the_agents() {
    let notes = Notes::begun();
    let open = || notes.open_at("sub").unwrap();
    notes.write("new", "before\n");
    open().begin_turn("Codex", "s", "do it", None).unwrap();
    assert_eq!(open().turn_at_work().unwrap().unwrap().agent, "Codex");
    notes.write("f", "a\nB\nc\n");
    assert_eq!(open().end_turns(Some(("Codex", "s"))).unwrap(), 1);
    notes.write("later", "x\n");
    let look = notes.open().look_unasked().unwrap();
    let written = look.pending.iter().map(|pending| {
        let authors = agent_q_diff_reviewed::authors::authors_word(&pending.written.authors);
        format!("{}: {authors}", pending.path.escape_ascii())
    });
    let written: Vec<_> = written.collect();
    assert_eq!(written, ["f: t1", "later: o", "new: o"]);
    assert_eq!(notes.open().question(5).unwrap(), None);
}

#[test]
fn nothing_is_staged() {
    let notes = Notes::begun();
    let mut project = notes.open();
    let hold = |text: &str| project.hold(b"f", &held(text)).unwrap();
    let (before, after) = (hold("a\n"), hold("b\n"));
    let error = project.stage(b"f", before, after);
    assert_eq!(
        error.unwrap_err().to_string(),
        "f is not staged: there is no git repository"
    );
    project.note_staged().unwrap();
}

#[test]
fn links_are_looked_at_and_not_followed() {
    let notes = Notes::new();
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("x"), "x\n").unwrap();
    symlink(elsewhere.path(), notes.path("folder")).unwrap();
    symlink("f", notes.path("link")).unwrap();
    notes.begin().unwrap();
    fs::write(elsewhere.path().join("y"), "y\n").unwrap();
    fs::remove_file(notes.path("link")).unwrap();
    symlink("sub", notes.path("link")).unwrap();
    assert_eq!(notes.pending(), ["link: f -> sub"]);
    // Nor is what was known below a folder that is a link now.
    fs::remove_dir_all(notes.path("sub")).unwrap();
    symlink(elsewhere.path(), notes.path("sub")).unwrap();
    fs::write(elsewhere.path().join("g"), "other\n").unwrap();
    assert_eq!(notes.pending()[2], "sub/g: g\\n -> -");
}

#[test]
fn what_is_hidden_or_installed_or_an_editors_own_is_no_part_of_it() {
    let notes = Notes::begun();
    for name in [
        ".hidden",
        ".folder/x",
        "sub/.folder/x",
        "sub/node_modules/a/b",
        "#f#",
        "f~",
    ] {
        notes.write(name, "x\n");
        notes.open().record(&[made(name, "x\n")]).unwrap();
    }
    assert!(notes.pending().is_empty());
    notes.write(".hidden", "y\n");
    assert!(notes.pending().is_empty());
    assert!(notes.left_out().is_empty());
}

#[test]
fn what_is_large_or_no_text_is_left_out_and_named() {
    let notes = Notes::begun();
    notes.write("big", vec![b'x'; (8 << 20) + 1]);
    notes.write("image", "a\0b");
    notes.write("repository/f", "x\n");
    git(&notes.path("repository"), &["init", "-q"]);
    notes.write("project/f", "x\n");
    Project::begin(&notes.path("project"), &notes.projects()).expect("it is in one that has begun");
    let named = ["big: Large", "image: NoText", "repository: Repository"];
    assert_eq!(notes.left_out(), named);
    assert_eq!(notes.pending(), ["project/f: - -> x\\n"]);
    // What was text is shown when it is no more.
    notes.write("f", "\0");
    assert_eq!(notes.pending()[0], "f: a\\nb\\nc\\n -> \\x00");
    assert_eq!(notes.left_out(), named);
}

#[test]
fn what_is_no_file_is_named() {
    let notes = Notes::begun();
    std::os::unix::net::UnixListener::bind(notes.path("socket")).unwrap();
    let why = "Other(\"it is neither a file nor a link nor a folder\")";
    assert_eq!(notes.left_out(), [format!("socket: {why}")]);
}

/// Returns what is pending, and what is not looked at since what it held is not known.
fn pending_and_unknown(notes: &Notes) -> (Vec<String>, Vec<Vec<u8>>) {
    let left_out = notes.open().look(Moves::Unknown).unwrap().left_out;
    let unknown = left_out.into_iter();
    let unknown = unknown.filter(|(_, why)| *why == Why::Unknown);
    (notes.pending(), unknown.map(|(path, _)| path).collect())
}

fn unknown(path: &str) -> (Vec<String>, Vec<Vec<u8>>) {
    (vec![], vec![path.into()])
}

#[test]
fn what_was_left_out_at_the_beginning_is_not_new_when_it_is_small_and_text() {
    for (name, bytes) in [
        ("w.txt", b"\xff\xfea\0\n\0".to_vec()),
        ("sub/data.csv", b"1,2\n".repeat((8 << 18) + 1)),
    ] {
        let notes = Notes::new();
        notes.write(name, bytes);
        notes.begin().unwrap();
        // An agent rewrites it before anybody has looked again.
        notes.write(name, "a\n");
        assert_eq!(pending_and_unknown(&notes), unknown(name));
        assert_eq!(notes.look(Moves::Agent), [""; 0]);
        assert_eq!(notes.left_out(), [format!("{name}: Unknown")]);
        assert!(Why::Unknown.is_of_file());
        // The user has it reviewed as it is.
        let path = name.as_bytes().to_vec();
        notes.open().mark_reviewed(&[path]).unwrap();
        assert_eq!(pending_and_unknown(&notes), (vec![], vec![]));
        notes.write(name, "b\n");
        assert_eq!(notes.pending(), [format!("{name}: a\\n -> b\\n")]);
    }
}

#[test]
fn what_came_later_and_was_left_out_is_not_new_when_it_is_text_until_the_user_saves_it() {
    let notes = Notes::begun();
    notes.write("w", "a\0");
    assert_eq!(notes.left_out(), ["w: NoText"]);
    notes.write("w", vec![b'x'; (8 << 20) + 1]);
    assert_eq!(notes.left_out(), ["w: Large"]);
    notes.write("w", "a\n");
    assert_eq!(pending_and_unknown(&notes), unknown("w"));
    notes.write("w", "a\nmine\n");
    let saved = saved("w", "a\n", "a\nmine\n");
    notes.open().record(&[saved]).unwrap();
    assert_eq!(pending_and_unknown(&notes), (vec![], vec![]));
    notes.write("w", "mine\n");
    assert_eq!(notes.pending(), ["w: a\\nmine\\n -> mine\\n"]);
}

#[test]
fn what_was_left_out_is_not_new_under_the_name_that_the_user_gives_it() {
    let notes = Notes::begun();
    notes.write("w", "a\0");
    notes.left_out();
    notes.write("w", "a\n");
    fs::rename(notes.path("w"), notes.path("v")).unwrap();
    let [from, to] = [b"w", b"v"].map(|path| (path.to_vec(), held("a\n")));
    notes.open().record(&[Note::Renamed { from, to }]).unwrap();
    assert_eq!(pending_and_unknown(&notes), unknown("v"));
}

#[test]
fn what_was_left_out_and_is_deleted_is_new_when_it_is_made_anew() {
    let notes = Notes::begun();
    notes.write("w", "a\0");
    notes.left_out();
    fs::remove_file(notes.path("w")).unwrap();
    assert!(notes.pending().is_empty());
    notes.write("w", "a\n");
    let new = (vec!["w: - -> a\\n".to_owned()], vec![]);
    assert_eq!(pending_and_unknown(&notes), new);
    // What is pending is so again when it is small again.
    notes.write("w", vec![b'x'; (8 << 20) + 1]);
    assert_eq!(notes.left_out(), ["w: Large"]);
    notes.write("w", "a\n");
    assert_eq!(pending_and_unknown(&notes), new);
}

#[test]
fn two_thousand_files_are_not_too_many() {
    let notes = Notes::new();
    for n in 2..2000 {
        notes.write(&format!("many/{n}"), "x\n");
    }
    notes.begin().unwrap();
    assert!(notes.pending().is_empty());
    notes.write("one", "x\n");
    let error = notes.open().look(Moves::Unknown).unwrap_err().to_string();
    let said = "has more than 2,000 files; make it a git repository (git init), then look again";
    assert!(error.ends_with(said), "{error}");
    // A turn can begin and end all the same.
    notes.open().begin_turn("Codex", "", "", None).unwrap();
    assert_eq!(notes.open().end_turns(None).unwrap(), 1);
    let other = Notes {
        files: notes.files,
        state: tempfile::tempdir().unwrap(),
    };
    let error = other.begin().unwrap_err().to_string();
    assert!(error.ends_with(said), "{error}");
    assert!(!other.projects().exists() || fs::read_dir(other.projects()).unwrap().count() == 0);
}

#[test]
fn the_home_directory_is_too_wide_and_so_is_what_has_it() {
    let name = "plain::the_home_directory_is_too_wide_and_so_is_what_has_it";
    if std::env::var_os("IS_HOME").is_none() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        fs::create_dir_all(home.join("notes")).unwrap();
        symlink("home", folder.path().join("link")).unwrap();
        let home = folder.path().join("link");
        passes_with(name, &[("HOME", home), ("IS_HOME", "yes".into())]);
        return;
    }
    let home = PathBuf::from(std::env::var_os("HOME").unwrap());
    let projects = projects_folder(|name| std::env::var_os(name).filter(|_| name == "HOME"));
    assert_eq!(projects, home.join(".local/state/agent-q-diff/projects"));
    for root in [&home, home.parent().unwrap(), Path::new("/")] {
        let error = Project::begin(root, &projects).unwrap_err();
        assert!(matches!(error, ProjectError::TooWide(_)), "{error}");
        let error = Project::before_begin(root, &projects).unwrap_err();
        assert!(matches!(error, ProjectError::TooWide(_)), "{error}");
    }
    assert!(!projects.exists());
    let project = Project::begin(&home.join("notes"), &projects).unwrap();
    assert!(project.root().ends_with("home/notes"));
}

#[test]
fn where_the_state_lies_can_be_chosen_if_the_name_is_absolute() {
    let folder = |state: &'static str| {
        projects_folder(move |name| match name {
            "XDG_STATE_HOME" => Some(state.into()),
            _ => Some("/home/u".into()),
        })
    };
    assert_eq!(folder("/s"), Path::new("/s/agent-q-diff/projects"));
    let standard = Path::new("/home/u/.local/state/agent-q-diff/projects");
    assert_eq!(folder("s"), standard);
    assert_eq!(folder(""), standard);
}

#[test]
fn the_data_is_the_users_alone_and_says_whose_it_is() {
    let notes = Notes::begun();
    let folders = fs::read_dir(notes.projects()).unwrap();
    let folders: Vec<_> = folders.map(|folder| folder.unwrap()).collect();
    assert_eq!(folders.len(), 1);
    let mode = folders[0].metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let root = fs::read_to_string(folders[0].path().join("root")).unwrap();
    assert_eq!(Path::new(&root), notes.open().root());
    assert_eq!(fs::read_dir(notes.files.path()).unwrap().count(), 2);
}

#[test]
fn the_nearest_project_counts_and_a_repository_is_one() {
    let notes = Notes::begun();
    let root = |name: &str| notes.open_at(name).unwrap().root().to_owned();
    let top = root("");
    assert_eq!(root("sub"), top);
    fs::create_dir(notes.path("repository")).unwrap();
    git(&notes.path("repository"), &["init", "-q"]);
    assert_eq!(root("repository"), top.join("repository"));
    // One around it that begins later, and a repository.
    let inner = Notes::new();
    Project::begin(&inner.path("sub"), &inner.projects()).unwrap();
    inner.begin().unwrap();
    assert_eq!(inner.left_out(), ["sub: Repository"]);
    git(inner.files.path(), &["init", "-q"]);
    let inner_root = |name: &str| inner.open_at(name).unwrap().root().to_owned();
    let top = inner.files.path().canonicalize().unwrap();
    assert_eq!(inner_root("sub"), top.join("sub"));
    assert_eq!(inner_root(""), top);
}

#[test]
fn what_becomes_a_repository_keeps_what_was_reviewed() {
    let notes = Notes::begun();
    notes.write("f", "a\nB\nc\n");
    let open = notes.open();
    assert!(open.is_current());
    git(notes.files.path(), &["init", "-q"]);
    assert!(!open.is_current());
    assert_eq!(notes.pending(), [EDITED]);
    // An agent that commits what it wrote has not had it reviewed.
    git(notes.files.path(), &["add", "."]);
    git(notes.files.path(), &["commit", "-qm", "an agent's"]);
    assert_eq!(notes.open().question(5).unwrap().unwrap().n_commits, 1);
    assert_eq!(notes.look(Moves::Agent), [EDITED]);
    assert!(notes.path(".git/agent-q-diff/record").exists());
}

#[test]
fn what_was_moved_is_no_project() {
    let notes = Notes::begun();
    let elsewhere = tempfile::tempdir().unwrap();
    let moved = elsewhere.path().join("moved");
    fs::rename(notes.files.path(), &moved).unwrap();
    let error = Project::open_among(&moved, &notes.projects()).unwrap_err();
    assert!(matches!(error, ProjectError::NoRepository(_)), "{error}");
    fs::create_dir(notes.files.path()).unwrap();
}

#[test]
fn what_somebody_was_killed_while_beginning_is_deleted() {
    let notes = Notes::new();
    let name = "0".repeat(64);
    let [old, recent, other] = ["7.new", "8.new", "7.bak"].map(|end| {
        let draft = notes.projects().join(format!("{name}.{end}"));
        fs::create_dir_all(draft.join("texts")).unwrap();
        draft
    });
    for draft in [&old, &other] {
        let draft = fs::File::open(draft).unwrap();
        draft.set_modified(std::time::UNIX_EPOCH).unwrap();
    }
    notes.begin().unwrap();
    assert!(!old.exists() && recent.exists() && other.exists());
}
