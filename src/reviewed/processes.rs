//! Processes that the agent of a turn has left running at its end: what they do later is not the user's.
//!
//! What such a process is, only Linux says, in `/proc`.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::Pid;
use serde::{Deserialize, Serialize};

/// A process, by its number and the time of its start, since numbers are given again.
pub type Process = (u32, u64);

/// What is known of processes since turns began.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Processes {
    /// When the first of the turns that are open began, in ticks of the system's clock.
    pub since: Option<u64>,
    /// Those that turns left running, as of the last look.
    pub left: Vec<Process>,
    /// Those of them that run beside the agents, rather than having called this program.
    #[serde(default)]
    pub beside: Vec<Process>,
    /// The number of the turn that was the last to leave one of these.
    #[serde(default)]
    pub turn: u64,
    /// What agents have said that they run in the background.
    #[serde(default)]
    pub tasks: Vec<Task>,
}

/// Something that an agent runs in the background: a command, a watch, or a prompt of its own at some time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The number of the turn of its session in which that was last said.
    pub turn: u64,
    /// The agent's name for it.
    pub id: String,
}

impl Processes {
    /// Returns the number of a turn whose agent has something in the background, if there is one.
    pub fn background(&self) -> Option<u64> {
        let left = (!self.beside.is_empty()).then_some(self.turn);
        self.tasks.last().map(|task| task.turn).or(left)
    }

    /// Returns whether something that turns have begun may still run.
    pub fn may_run(&self) -> bool {
        !self.left.is_empty() || !self.tasks.is_empty()
    }

    /// Adds those that `turns` of these numbers and agents leave, in the project at `root`.
    pub fn add_left(&mut self, turns: &[(u64, Option<u32>)], root: &Path) {
        let Some(since) = self.since else { return };
        for (turn, agent) in turns {
            let (left, callers) = left(since, *agent, root);
            let beside = left.iter().filter(|one| !callers.contains(one));
            let n_before = self.beside.len();
            self.beside.extend(beside);
            if self.beside.len() > n_before {
                self.turn = *turn;
            }
            self.left.extend(left);
        }
        for list in [&mut self.left, &mut self.beside] {
            list.sort_unstable();
            list.dedup();
        }
    }

    /// Returns those that still run. Of the tasks, these are those of turns that `is_alive`.
    pub fn now(&self, is_alive: impl Fn(u64) -> bool) -> Processes {
        let tasks = self.tasks.iter().filter(|task| is_alive(task.turn));
        let all = match self.left.is_empty() && self.beside.is_empty() {
            true => HashMap::new(),
            false => all(),
        };
        Processes {
            left: still(&self.left, &all),
            beside: still(&self.beside, &all),
            tasks: tasks.cloned().collect(),
            ..*self
        }
    }
}

/// What the system says of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stat {
    parent: u32,
    start: u64,
    /// Whether it is one that becomes the parent of those without one.
    is_reaper: bool,
    /// Whether it has ended, and its parent has not asked how.
    is_zombie: bool,
}

/// Programs that become the parents of processes without one.
const REAPERS: [&str; 5] = ["systemd", "init", "tini", "dumb-init", "catatonit"];

impl Stat {
    fn read(name: &str) -> Option<Stat> {
        let stat = fs::read_to_string(format!("/proc/{name}/stat")).ok()?;
        // The name of the program, in parentheses, may have any character.
        let (name, rest) = stat.rsplit_once(')')?;
        let (_, name) = name.split_once('(')?;
        let words: Vec<&str> = rest.split_ascii_whitespace().collect();
        Some(Stat {
            parent: words.get(1)?.parse().ok()?,
            start: words.get(19)?.parse().ok()?,
            is_reaper: REAPERS.contains(&name),
            is_zombie: matches!(words[0], "Z" | "X"),
        })
    }
}

/// Returns the time in ticks of the system's clock: when a thread starts that is made for it.
pub fn ticks() -> Option<u64> {
    let stat = std::thread::spawn(|| Stat::read("thread-self"));
    Some(stat.join().ok()??.start)
}

/// Returns whether the process `id` has ended, and only its parent has not asked how.
pub fn is_zombie(id: Pid) -> bool {
    Stat::read(&id.as_raw_nonzero().to_string()).is_some_and(|stat| stat.is_zombie)
}

/// Returns the processes of this user.
fn all() -> HashMap<u32, Stat> {
    let own = fs::metadata("/proc/self").map(|found| found.uid()).ok();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let id = name.parse().ok()?;
        (entry.metadata().ok()?.uid() == own?).then_some(())?;
        Some((id, Stat::read(&name)?))
    });
    processes.collect()
}

/// Returns the processes that a turn leaves, which began at `since`, of an agent with the process `agent` in
/// the project at `root`. They have begun in the turn, and are below the agent, or in the project's folder and
/// beside this process or without a parent. A process that has called this one is one of them, too, if it
/// has begun in the turn; those are returned once more.
fn left(since: u64, agent: Option<u32>, root: &Path) -> (Vec<Process>, Vec<Process>) {
    let all = all();
    let this = std::process::id();
    let above = |id: u32| {
        let next = |id: &u32| all.get(id).map(|stat| stat.parent);
        std::iter::successors(Some(id), next)
            .skip(1)
            .take(all.len())
    };
    let beside = all.get(&this).map(|stat| stat.parent);
    let is_loose = |stat: &Stat| {
        let parent = all.get(&stat.parent).filter(|_| stat.parent != 1);
        parent.is_none_or(|parent| parent.is_reaper) || Some(stat.parent) == beside
    };
    let is_meant = |id: u32, stat: &Stat| {
        let is_in_project = || {
            let cwd = fs::read_link(format!("/proc/{id}/cwd"));
            cwd.is_ok_and(|cwd| cwd.starts_with(root))
        };
        above(this).any(|one| one == id)
            || agent.is_some_and(|agent| above(id).any(|one| one == agent))
            || is_loose(stat) && is_in_project()
    };
    let new = all.iter();
    let new = new.filter(|(id, stat)| **id != this && stat.start >= since && is_meant(**id, stat));
    let new = sorted(new);
    let callers = new.iter().copied();
    let callers = callers.filter(|(id, _)| above(this).any(|one| one == *id));
    let callers = callers.collect();
    (new, callers)
}

fn sorted<'a>(processes: impl Iterator<Item = (&'a u32, &'a Stat)>) -> Vec<Process> {
    let mut sorted: Vec<Process> = processes.map(|(id, stat)| (*id, stat.start)).collect();
    sorted.sort_unstable();
    sorted
}

/// Returns those of `left` that are among `all`, which run now, and those that they have begun.
fn still(left: &[Process], all: &HashMap<u32, Stat>) -> Vec<Process> {
    let is_known = |id: &u32| {
        let stat = all.get(id);
        stat.is_some_and(|stat| left.contains(&(*id, stat.start)))
    };
    let next = |id: &u32| all.get(id).map(|stat| stat.parent);
    let is_below = |id: u32| {
        let mut chain = std::iter::successors(Some(id), next).take(all.len());
        chain.any(|one| is_known(&one))
    };
    sorted(all.iter().filter(|(id, _)| is_below(**id)))
}
