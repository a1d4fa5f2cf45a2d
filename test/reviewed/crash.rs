//! A process that is killed, or a disk that is full, while decisions are recorded.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use agent_q_diff_reviewed::{Moves, Note, Project};

use crate::dice::Dice;
use crate::disk::{NOTHING, held, repository};

/// Names the folder of the project in the process that decides.
const FOLDER: &str = "AGENT_Q_DIFF_DECIDES_IN";

/// Number of kills; more come with `AGENT_Q_DIFF_KILLS=400`.
const N_KILLS: usize = 12;

/// Number of files that are decided, each in turn.
const N_FILES: usize = 20;

/// An agent writes a file for the `n`th time, and the user keeps that.
fn decide(project: &mut Project, n: usize) -> Result<(), String> {
    let path = format!("f{}", n % N_FILES);
    let text = |n: usize| format!("{n}\n{}", "x\n".repeat(n % 300));
    fs::write(project.root().join(&path), text(n)).unwrap();
    let before = n.checked_sub(N_FILES).map(|n| held(text(n)));
    let decided = project.record(&[Note::Decided {
        path: path.into(),
        before: before.unwrap_or(NOTHING),
        after: held(text(n)),
    }]);
    decided.map(|_| ()).map_err(|error| error.to_string())
}

/// It does something only in a process of its own, until that is killed.
#[test]
fn a_process_decides_until_it_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let folder = Path::new(&folder);
    let first: usize = fs::read_to_string(folder.join(".git/first"))
        .unwrap()
        .parse()
        .unwrap();
    let mut project = Project::open(folder).unwrap();
    for n in first.. {
        decide(&mut project, n).unwrap();
        println!("decided {n}");
    }
}

/// Runs that process, and kills it at any moment; returns the number of the last decision that it has made.
fn killed(folder: &Path, first: usize, dice: &mut Dice) -> usize {
    fs::write(folder.join(".git/first"), first.to_string()).unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::a_process_decides_until_it_is_killed"])
        .args(["--nocapture", "--test-threads=1"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut numbers =
        lines.filter_map(|line| line.ok()?.strip_prefix("decided ")?.parse::<usize>().ok());
    // From its first decision on, at any moment of one.
    let mut last = numbers.next().expect("it decides");
    for _ in 0..dice.roll(60) {
        last = numbers.next().unwrap_or(last);
    }
    thread::sleep(Duration::from_micros(dice.roll(2000) as u64));
    child.kill().unwrap();
    last = numbers.last().unwrap_or(last);
    child.wait().unwrap();
    last
}

/// Checks that of the decisions up to that with the number `last`, each is known, and nothing else is pending
/// than what was to be decided after that.
#[track_caller]
fn all_is_known(folder: &Path, last: usize) {
    let look = Project::open(folder).unwrap().look(Moves::Agent).unwrap();
    let pending: Vec<_> = look.pending.iter().map(|one| one.path.clone()).collect();
    let next = format!("f{}", (last + 1) % N_FILES).into_bytes();
    assert!(
        pending.is_empty() || pending == [next],
        "{last}: {pending:?}"
    );
}

#[test]
fn a_kill_at_any_moment_leaves_every_decision_but_the_last() {
    let folder = repository();
    let folder = folder.path();
    Project::open(folder).unwrap().look(Moves::Agent).unwrap();
    let more = std::env::var("AGENT_Q_DIFF_KILLS");
    let n_kills = more.map_or(N_KILLS, |n| n.parse().unwrap());
    let mut dice = Dice::new(7);
    let mut first = 0;
    for _ in 0..n_kills {
        let last = killed(folder, first, &mut dice);
        all_is_known(folder, last);
        // What was written and not decided is decided next.
        first = last + 1;
    }
}

#[test]
fn a_full_disk_leaves_every_decision_but_the_last() {
    let folder = repository();
    let folder = folder.path();
    let data = folder.join(".git/agent-q-diff");
    fs::create_dir_all(&data).unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=8m", "tmpfs"])
        .arg(&data)
        .stderr(Stdio::null())
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        // Only the superuser can mount a file system to be filled.
        return;
    }
    let checked = std::panic::catch_unwind(|| check_full(folder, &data));
    let unmounted = Command::new("umount").arg("-l").arg(&data).status();
    assert!(unmounted.unwrap().success());
    checked.unwrap();
}

fn check_full(folder: &Path, data: &Path) {
    let mut project = Project::open(folder).unwrap();
    project.look(Moves::Agent).unwrap();
    decide(&mut project, 0).unwrap();
    let mut n = 0;
    // The rest of the disk is used up at another place of a decision each time.
    for left in (0..12).map(|pages| pages * 4096) {
        fs::write(data.join("room"), vec![0; left]).unwrap();
        let filler = data.join("filler");
        let mut filled = fs::File::create(&filler).unwrap();
        let full = std::io::copy(&mut std::io::repeat(0), &mut filled);
        assert!(full.is_err());
        drop(filled);
        fs::remove_file(data.join("room")).unwrap();
        let mut failed = None;
        for _ in 0..200 {
            n += 1;
            failed = decide(&mut project, n).err();
            if failed.is_some() {
                break;
            }
        }
        let failed = failed.expect("the disk is full");
        assert!(failed.contains("No space left"), "{failed}");
        fs::remove_file(&filler).unwrap();
        all_is_known(folder, n - 1);
        decide(&mut project, n).unwrap();
        all_is_known(folder, n);
        let notes = project.look(Moves::Agent).unwrap().notes;
        assert_eq!(notes, [""; 0]);
    }
}
