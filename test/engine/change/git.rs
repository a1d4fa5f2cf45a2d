//! Changes that git made, with git as the oracle.
//!
//! For pairs of real trees, accepting everything in `git diff` gives the second tree, rejecting it
//! leaves the first, and any choice gives what `git apply` makes of a diff of just that.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, io::Write};

use agent_q_diff_engine::change::{
    Change, ChangePlan, Described, Doubt, Entry, FileChange, GitError, Node, Operation, describe,
};
use agent_q_diff_engine::patch::parse::ParseError;
use agent_q_diff_engine::proposal::{Proposal, Side};
use agent_q_diff_engine::review::Command::{Accept, Reject, Unapply};
use agent_q_diff_engine::review::Review;

use crate::common::desk::edited;
use crate::common::dice::Dice;
use crate::common::n_cases;
use crate::common::tools::{GIT_APPLY, Patcher};

/// A folder that is deleted in the end, with a repository of git's in it.
struct Repository {
    folder: PathBuf,
    /// Where the objects are; another repository's may be read, too.
    git_dir: PathBuf,
}

impl Drop for Repository {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Repository {
    /// Creates an empty repository in a folder called after `name`, which reads the objects of
    /// `other` as well.
    fn create(name: &str, other: Option<&Path>) -> Repository {
        let folder = format!("agent-q-diff-{name}-{}", std::process::id());
        let folder = env::temp_dir().join(folder);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let git_dir = folder.join("git");
        let repository = Repository { folder, git_dir };
        repository.run(&["init", "--quiet", "--bare"], b"");
        if let Some(other) = other {
            let alternates = repository.git_dir.join("objects/info/alternates");
            fs::write(alternates, format!("{}\n", other.join("objects").display())).unwrap();
        }
        repository
    }

    /// Returns what git, called with `arguments` and `input`, writes; an error if it fails.
    fn try_run(&self, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, String> {
        let mut git = Command::new("git");
        git.args(["-c", "core.abbrev=40", "-c", "core.quotePath=true"])
            .args(arguments)
            .env("GIT_DIR", &self.git_dir)
            .env("GIT_INDEX_FILE", self.folder.join("index"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("HOME", &self.folder)
            .current_dir(&self.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = git.spawn().expect("git is installed");
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        let writer = std::thread::spawn(move || {
            // Git may close it early.
            let _ = stdin.write_all(&input);
        });
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        match output.status.success() {
            true => Ok(output.stdout),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }

    fn run(&self, arguments: &[&str], input: &[u8]) -> Vec<u8> {
        let output = self.try_run(arguments, input);
        output.unwrap_or_else(|error| panic!("git {arguments:?}: {error}"))
    }

    fn line(&self, arguments: &[&str], input: &[u8]) -> String {
        let output = String::from_utf8(self.run(arguments, input)).unwrap();
        output.trim_end().to_owned()
    }

    /// Stores the files in `folder` and returns the id of their tree.
    fn tree_of_folder(&self, folder: &Path) -> String {
        let folder = folder.to_str().unwrap();
        self.run(&["read-tree", "--empty"], b"");
        self.run(
            &[
                "--work-tree",
                folder,
                "-C",
                folder,
                "add",
                "--all",
                "--force",
                ".",
            ],
            b"",
        );
        self.line(&["write-tree"], b"")
    }

    /// Stores `files` and returns the id of their tree.
    fn tree_of(&self, files: &Tree) -> String {
        let mut index = Vec::new();
        for (path, (mode, bytes)) in files {
            let id = self.line(&["hash-object", "-w", "--stdin"], bytes);
            index.extend(format!("{mode:o} {id}\t").into_bytes());
            index.extend(path);
            index.push(0);
        }
        self.run(&["read-tree", "--empty"], b"");
        self.run(&["update-index", "-z", "--index-info"], &index);
        self.line(&["write-tree"], b"")
    }

    /// Returns the files at `paths` in `tree`.
    fn files(&self, tree: &str, paths: &BTreeSet<Vec<u8>>) -> Tree {
        let listed = self.run(&["ls-tree", "-r", "-z", tree], b"");
        let mut found = Vec::new();
        for entry in listed
            .split(|&byte| byte == 0)
            .filter(|entry| !entry.is_empty())
        {
            let tab = entry.iter().position(|&byte| byte == b'\t').unwrap();
            let (info, path) = (str::from_utf8(&entry[..tab]).unwrap(), &entry[tab + 1..]);
            if paths.contains(path) {
                let mut info = info.split(' ');
                let mode = u32::from_str_radix(info.next().unwrap(), 8).unwrap();
                found.push((path.to_vec(), mode, info.nth(1).unwrap().to_owned()));
            }
        }
        let ids: String = found.iter().map(|(_, _, id)| format!("{id}\n")).collect();
        let mut contents = &self.run(&["cat-file", "--batch"], ids.as_bytes())[..];
        let mut tree = Tree::new();
        for (path, mode, _) in found {
            let end = contents.iter().position(|&byte| byte == b'\n').unwrap();
            let header = str::from_utf8(&contents[..end]).unwrap();
            let len: usize = header.rsplit(' ').next().unwrap().parse().unwrap();
            let bytes = contents[end + 1..][..len].to_vec();
            contents = &contents[end + 1 + len + 1..];
            tree.insert(path, (mode, bytes));
        }
        tree
    }

    /// Returns the tree that `git apply` makes of `tree` with `diff`.
    fn applied(&self, tree: &str, diff: &[u8]) -> String {
        if diff.is_empty() {
            return tree.to_owned();
        }
        self.run(&["read-tree", tree], b"");
        self.run(&["apply", "--cached", "--whitespace=nowarn", "-"], diff);
        self.line(&["write-tree"], b"")
    }
}

/// From paths to modes and bytes.
type Tree = BTreeMap<Vec<u8>, (u32, Vec<u8>)>;

/// The part of a diff that is about one file.
struct Section<'a> {
    header: Vec<&'a [u8]>,
    hunks: Vec<Vec<&'a [u8]>>,
    /// The lines of git's second part about it, by which it becomes something else.
    rest: Vec<&'a [u8]>,
}

/// Cuts `diff`, which git wrote, into sections. Lines of hunks never begin like a header.
fn sections(diff: &[u8]) -> Vec<Section<'_>> {
    let mut sections: Vec<Section> = Vec::new();
    for line in diff.split_inclusive(|&byte| byte == b'\n') {
        let is_first = line.starts_with(b"diff --git ");
        if is_first && sections.last().is_none_or(|last| last.header[0] != line) {
            sections.push(Section {
                header: vec![line],
                hunks: Vec::new(),
                rest: Vec::new(),
            });
            continue;
        }
        let section = sections.last_mut().unwrap();
        if is_first || !section.rest.is_empty() {
            section.rest.push(line);
            continue;
        }
        if line.starts_with(b"@@ ") {
            section.hunks.push(vec![line]);
        } else if let Some(hunk) = section.hunks.last_mut() {
            hunk.push(line);
        } else {
            section.header.push(line);
        }
    }
    sections
}

/// Returns `name`, perhaps in quotes, with `prefix` in front.
fn prefixed(prefix: &str, name: &str) -> String {
    match name.strip_prefix('"') {
        Some(rest) => format!("\"{prefix}{rest}"),
        None => format!("{prefix}{name}"),
    }
}

impl Section<'_> {
    fn is_binary(&self) -> bool {
        self.header
            .iter()
            .any(|line| line.starts_with(b"Binary files "))
    }

    fn text(&self) -> Vec<u8> {
        let hunks = self.hunks.concat();
        [self.header.concat(), hunks.concat(), self.rest.concat()].concat()
    }

    /// Returns a diff of only what is chosen here, for `git apply`; `None` if that is nothing.
    fn only(&self, operations: &[Operation], is_in: impl Fn(Entry) -> bool) -> Option<Vec<u8>> {
        if let [Operation::Kind { .. }] = operations {
            return is_in(Entry::Operation(0)).then(|| self.text());
        }
        let has = |wanted: fn(&Operation) -> bool| {
            let at = operations.iter().position(wanted)?;
            Some(is_in(Entry::Operation(at)))
        };
        let is_whole = operations.iter().any(|operation| {
            matches!(operation, Operation::Link { .. } | Operation::Delete { .. })
        });
        let hunks: Vec<usize> = (0..self.hunks.len())
            .filter(|&hunk| is_whole || is_in(Entry::Hunk(hunk)))
            .collect();
        let n_in = (0..operations.len())
            .filter(|&at| is_in(Entry::Operation(at)))
            .count();
        if n_in == 0 && (is_whole || hunks.is_empty()) {
            return None;
        }
        let is_renamed = has(|operation| *operation == Operation::Rename) != Some(false);
        let has_mode = has(|operation| matches!(operation, Operation::Mode { .. })) != Some(false);
        // Without the rename, its lines apply to the old name.
        let old_name = self
            .header
            .iter()
            .find_map(|line| line.strip_prefix(b"rename from "));
        let mut diff = Vec::new();
        for line in &self.header {
            let begins = |start: &str| line.starts_with(start.as_bytes());
            let is_name = begins("rename ") || begins("similarity ") || begins("dissimilarity ");
            if (is_name && !is_renamed)
                || ((begins("old mode ") || begins("new mode ")) && !has_mode)
                || ((begins("--- ") || begins("+++ ")) && hunks.is_empty())
                // The id of the new text would not be right.
                || begins("index ")
            {
                continue;
            }
            let old_name = old_name.filter(|_| !is_renamed);
            match old_name.map(|name| String::from_utf8(name.trim_ascii_end().to_vec()).unwrap()) {
                Some(name) if begins("diff ") => {
                    let (old, new) = (prefixed("a/", &name), prefixed("b/", &name));
                    diff.extend(format!("diff --git {old} {new}\n").bytes());
                }
                Some(name) if begins("--- ") => {
                    diff.extend(format!("--- {}\n", prefixed("a/", &name)).bytes());
                }
                Some(name) if begins("+++ ") => {
                    diff.extend(format!("+++ {}\n", prefixed("b/", &name)).bytes());
                }
                _ => diff.extend_from_slice(line),
            }
        }
        let mut n_more = 0;
        for hunk in hunks {
            let lines = &self.hunks[hunk];
            let header = String::from_utf8_lossy(lines[0]).into_owned();
            let ranges: Vec<&str> = header.split(' ').collect();
            let range = |text: &str| -> (isize, isize) {
                let (start, len) = text[1..].split_once(',').unwrap_or((&text[1..], "1"));
                (start.parse().unwrap(), len.parse().unwrap())
            };
            let ((start, n_before), (stated, n_after)) = (range(ranges[1]), range(ranges[2]));
            // Without the hunks above that are left out, its lines come elsewhere.
            let new_start = match (n_before, n_after) {
                (0, _) => start + n_more + 1,
                (_, 0) => start + n_more - 1,
                _ => start + n_more,
            };
            let new_start = if stated == 0 { 0 } else { new_start };
            let before = format!("-{start},{n_before}");
            diff.extend(format!("@@ {before} +{new_start},{n_after} @@\n").bytes());
            diff.extend(lines[1..].concat());
            n_more += n_after - n_before;
        }
        Some(diff)
    }
}

/// The names of a file before and after.
type Names = [Option<Vec<u8>>; 2];

/// Returns the names of `file`, read in the usual way.
fn names(file: &Described) -> Names {
    let reading = &file.readings[0];
    [reading.old_path.clone(), reading.new_path.clone()]
}

/// Returns the names of the first file of `diff`.
fn first_names(diff: &str) -> Names {
    names(&describe(diff.as_bytes()).unwrap()[0])
}

/// Makes a change of `diff`, and returns it with the names of each of its files.
fn change_of(diff: &[u8]) -> Result<(Change, Vec<Names>), GitError> {
    let files = describe(diff)?;
    let names = files.iter().map(names).collect();
    let files = files.into_iter().map(|file| {
        let text = file.text.as_ref();
        let proposal = text.map(|text| Proposal::from_file_diff(text).expect("git's hunks"));
        FileChange::new(file.operations, proposal.map(Review::new))
    });
    Ok((Change::new(files.collect()), names))
}

/// Carries `plan` out on `tree` and commits it; the files of `change` have these `names`.
fn carry_out(change: &mut Change, names: &[Names], tree: &mut Tree, plan: &ChangePlan) {
    for part in &plan.parts {
        let file = &change.files()[part.file];
        let is_in = |entry| file.is_in(entry);
        let [old, new] = names[part.file].clone();
        let is_renamed = file
            .operations()
            .zip(0..)
            .any(|(operation, at)| *operation == Operation::Rename && is_in(Entry::Operation(at)));
        let mut path = match (&old, &new) {
            (Some(_), Some(new)) if is_renamed => new.clone(),
            (Some(old), _) => old.clone(),
            (None, new) => new.clone().unwrap(),
        };
        let operations: Vec<&Operation> = file.operations().collect();
        let flips = part.operations.iter().filter(|(_, step)| step.is_flip);
        let flips: Vec<(usize, bool)> = flips
            .map(|&(at, _)| (at, !is_in(Entry::Operation(at))))
            .collect();
        for &(at, puts_in) in &flips {
            if let (Operation::Create { mode }, true) = (operations[at], puts_in) {
                assert!(tree.insert(path.clone(), (*mode, Vec::new())).is_none());
            }
        }
        if let Some(text) = part.text.as_ref().filter(|text| !text.edits.is_empty()) {
            let bytes = &mut tree.get_mut(&path).expect("lines are put into a file").1;
            *bytes = edited(bytes, &text.edits);
        }
        for &(at, puts_in) in &flips {
            match operations[at] {
                Operation::Create { .. } => {
                    if !puts_in {
                        assert_eq!(tree.remove(&path).unwrap().1, b"");
                    }
                }
                Operation::Delete { text } => match puts_in {
                    true => assert_eq!(&tree.remove(&path).unwrap().1, text),
                    false => panic!("nothing is taken out of these"),
                },
                Operation::Rename => {
                    let file = tree.remove(&path).unwrap();
                    path = if puts_in { new.clone() } else { old.clone() }.unwrap();
                    assert!(tree.insert(path.clone(), file).is_none());
                }
                Operation::Mode { old, new } => {
                    let mode = &mut tree.get_mut(&path).unwrap().0;
                    assert_eq!(*mode, if puts_in { *old } else { *new });
                    *mode = if puts_in { *new } else { *old };
                }
                Operation::Link { old, new } => {
                    let link = |target: &Vec<u8>| (0o120_000, target.clone());
                    let (before, after) = if puts_in { (old, new) } else { (new, old) };
                    assert_eq!(tree.remove(&path), before.as_ref().map(link));
                    tree.extend(after.as_ref().map(|target| (path.clone(), link(target))));
                }
                Operation::Binary => panic!("git's binary patches are refused"),
                Operation::Kind { old, new } => {
                    let file = tree.get_mut(&path).unwrap();
                    let of = |node: &Node| match node {
                        Node::Link { target } => (0o120_000, target.clone()),
                        Node::File { mode, content } => (*mode, content.clone()),
                    };
                    let (before, after) = if puts_in { (old, new) } else { (new, old) };
                    assert_eq!(file.1, of(before).1);
                    *file = of(after);
                }
                Operation::Reading { .. } => panic!("git has lines for a reading"),
            }
        }
    }
    change.commit(plan);
}

/// Returns whether `entry` makes a file where there is another one, which is to go.
fn is_in_the_way(file: &FileChange, names: &Names, entry: Entry, tree: &Tree) -> bool {
    let is_new = names[0].is_none() && !file.is_in(Entry::Operation(0));
    let path = names[1].as_ref();
    let is_taken = path.is_some_and(|path| tree.contains_key(path));
    match entry {
        Entry::Operation(at) => {
            let is_rename = file.operations().nth(at) == Some(&Operation::Rename);
            (is_new || is_rename) && is_taken
        }
        Entry::Hunk(_) => is_new && is_taken,
    }
}

/// Tells the reviews of `change` what is in `tree`, the first one.
fn follow(change: &mut Change, names: &[Names], tree: &Tree) {
    for (at, [old, _]) in names.iter().enumerate() {
        let bytes = old
            .as_ref()
            .and_then(|path| Some(tree.get(path)?.1.clone()));
        if let Some(review) = change.review_mut(at) {
            let bytes = bytes.unwrap_or_default();
            review.follow(&bytes);
            // The ids of the texts, which git wrote, say so.
            review.adopt(&bytes, Side::Old);
        }
    }
}

/// Returns how many files of `change` are renamed, appear or go, are links, and change the mode.
fn kinds(change: &Change) -> [usize; 5] {
    let operations: Vec<_> = change
        .files()
        .iter()
        .flat_map(|file| file.operations())
        .collect();
    let count = |is_kind: fn(&Operation) -> bool| {
        operations
            .iter()
            .filter(|operation| is_kind(operation))
            .count()
    };
    [
        count(|operation| *operation == Operation::Rename),
        count(|operation| matches!(operation, Operation::Create { .. })),
        count(|operation| matches!(operation, Operation::Delete { .. })),
        count(|operation| matches!(operation, Operation::Link { .. })),
        count(|operation| matches!(operation, Operation::Mode { .. })),
    ]
}

/// Compares what is made of the change from tree `old` to `new` with what git makes of it, and
/// returns the [`kinds`] of what happens there.
fn compare(repository: &Repository, old: &str, new: &str, dice: &mut Dice) -> [usize; 5] {
    let diff = repository.run(&["diff", "-M", old, new], b"");
    let sections: Vec<Section> = sections(&diff)
        .into_iter()
        .filter(|section| !section.is_binary())
        .collect();
    if sections.is_empty() {
        return [0; 5];
    }
    let diff: Vec<u8> = sections.iter().flat_map(Section::text).collect();
    let (mut change, names) =
        change_of(&diff).unwrap_or_else(|error| panic!("{old} {new}: {error}"));
    assert_eq!(change.files().len(), sections.len());
    let paths: BTreeSet<Vec<u8>> = names.iter().flatten().flatten().cloned().collect();
    let (first, second) = (repository.files(old, &paths), repository.files(new, &paths));
    follow(&mut change, &names, &first);
    let whole = 0..change.files().len();

    // Everything, and all of it back.
    let mut tree = first.clone();
    let mut all = change.clone();
    let (plan, refused) = all.plan_all(whole.clone(), Accept);
    assert_eq!(refused, []);
    carry_out(&mut all, &names, &mut tree, &plan);
    assert!(
        tree == second,
        "{old} {new}: accepted, it is not the second tree"
    );
    let (plan, _) = change.plan_all(whole.clone(), Reject);
    assert!(plan.parts.iter().all(|part| {
        let edits = part.text.iter().flat_map(|text| &text.edits);
        edits.count() == 0 && part.operations.iter().all(|(_, step)| !step.is_flip)
    }));

    // Some of it.
    let mut tree = first.clone();
    for file in whole.clone() {
        let entries: Vec<Entry> = change.files()[file].entries().collect();
        for entry in entries {
            let at = &change.files()[file];
            let is_free = !is_in_the_way(at, &names[file], entry, &tree);
            if dice.roll(2) == 0 && !at.is_in(entry) && is_free {
                let plan = change.plan(file, entry, Accept).unwrap();
                carry_out(&mut change, &names, &mut tree, &plan);
            }
        }
    }
    let chosen: Vec<u8> = sections
        .iter()
        .zip(change.files())
        .filter_map(|(section, file)| {
            let operations: Vec<Operation> = file.operations().cloned().collect();
            section.only(&operations, |entry| file.is_in(entry))
        })
        .flatten()
        .collect();
    let applied = repository.applied(old, &chosen);
    let expected = repository.files(&applied, &paths);
    assert!(
        tree == expected,
        "{old} {new}: git apply makes something else of\n{}",
        String::from_utf8_lossy(&chosen)
    );
    let counted = kinds(&change);

    // One hunk after the other back out, but no file that is gone.
    for file in whole {
        let entries = change.files()[file]
            .entries()
            .filter(|entry| matches!(entry, Entry::Hunk(_)));
        let entries: Vec<Entry> = entries.collect();
        for entry in entries {
            if change.files()[file].is_in(entry) {
                let plan = change.plan(file, entry, Unapply).unwrap();
                carry_out(&mut change, &names, &mut tree, &plan);
            }
        }
        if let Some(review) = change.files()[file].review() {
            assert_eq!(review.counts().in_target, 0);
        }
    }
    counted
}

/// Adds the numbers of `more` to those of `sum`.
fn add(sum: &mut [usize; 5], more: [usize; 5]) {
    sum.iter_mut()
        .zip(more)
        .for_each(|(sum, more)| *sum += more);
}

#[test]
fn pairs_of_this_project_s_commits_are_decided_as_git_applies_them() {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let asked = Command::new("git")
        .args(["rev-parse", "--path-format=absolute", "--git-common-dir"])
        .current_dir(&project)
        .output()
        .expect("git is installed");
    if !asked.status.success() {
        println!("not a clone, so there is no history to compare");
        return;
    }
    let git_dir = PathBuf::from(String::from_utf8(asked.stdout).unwrap().trim_end());
    let repository = Repository::create("history", Some(&git_dir));
    let log = Command::new("git")
        .args(["log", "--format=%T"])
        .current_dir(&project)
        .output()
        .unwrap();
    let trees = String::from_utf8(log.stdout).unwrap();
    let trees: Vec<&str> = trees.lines().collect();
    let mut dice = Dice::new(1);
    for _ in 0..n_cases(100) {
        let at = dice.roll(trees.len());
        let other = (at + dice.roll(8)).min(trees.len() - 1);
        let (old, new) = if dice.roll(2) == 0 {
            (at, other)
        } else {
            (other, at)
        };
        compare(&repository, trees[old], trees[new], &mut dice);
    }
}

#[test]
fn pairs_of_crates_are_decided_as_git_applies_them() {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| {
        let home = env::var_os("HOME")?;
        Some(PathBuf::from(home).join(".cargo"))
    });
    let registry = home
        .map(|home| home.join("registry/src"))
        .unwrap_or_default();
    let folders = |path: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        let mut folders: Vec<_> = entries.map(|entry| entry.path()).collect();
        folders.sort();
        folders
    };
    let crates: Vec<PathBuf> = folders(&registry)
        .iter()
        .flat_map(|at| folders(at))
        .collect();
    let repository = Repository::create("crates", None);
    let mut dice = Dice::new(2);
    let mut trees: BTreeMap<usize, String> = BTreeMap::new();
    for _ in 0..n_cases(100).min(100 * crates.len() as u32) {
        // The list is sorted, so that versions of a crate are neighbors.
        let at = dice.roll(crates.len());
        let other = (at + 1 + dice.roll(3)) % crates.len();
        let [old, new] = [at, other].map(|at| {
            let tree = trees
                .entry(at)
                .or_insert_with(|| repository.tree_of_folder(&crates[at]));
            tree.clone()
        });
        compare(&repository, &old, &new, &mut dice);
    }
}

/// Returns a tree at random, and one that was made of it.
fn random_trees(dice: &mut Dice) -> (Tree, Tree) {
    let text = |dice: &mut Dice| {
        let mut text: String = (0..5 + dice.roll(60))
            .map(|_| format!("line {}\n", dice.roll(40)))
            .collect();
        if dice.roll(4) == 0 {
            text.pop();
        }
        text.into_bytes()
    };
    let names = [
        "a",
        "b c",
        "dir/d",
        "dir/\u{e4}",
        "e\tf",
        "dir/sub/g\"h",
        "x y/i",
    ];
    let mut old = Tree::new();
    for name in names {
        let file = match dice.roll(6) {
            0 => continue,
            1 => (0o120_000, format!("to {}", dice.roll(9)).into_bytes()),
            2 => (0o100_755, text(dice)),
            3 if dice.roll(2) == 0 => (0o100_644, Vec::new()),
            _ => (0o100_644, text(dice)),
        };
        old.insert(name.into(), file);
    }
    let mut new = Tree::new();
    for (path, (mode, bytes)) in &old {
        let (mut path, mut mode, mut bytes) = (path.clone(), *mode, bytes.clone());
        match dice.roll(8) {
            0 => continue,
            1 => path = format!("moved/{}", dice.roll(1000)).into_bytes(),
            2 if mode != 0o120_000 => mode = 0o100_644 + 0o100_755 - mode,
            3 => (mode, bytes) = (0o120_000, b"elsewhere".to_vec()),
            _ => {}
        }
        if mode != 0o120_000 && dice.roll(2) == 0 {
            let mut lines: Vec<Vec<u8>> = bytes
                .split_inclusive(|&byte| byte == b'\n')
                .map(<[u8]>::to_vec)
                .collect();
            for _ in 0..dice.roll(4).min(lines.len()) {
                let at = dice.roll(lines.len());
                lines[at] = format!("other {}\n", dice.roll(40)).into_bytes();
            }
            bytes = lines.concat();
        }
        new.insert(path, (mode, bytes));
    }
    if dice.roll(2) == 0 {
        new.insert(b"new file".to_vec(), (0o100_644, text(dice)));
    }
    (old, new)
}

#[test]
fn pairs_of_made_up_trees_are_decided_as_git_applies_them() {
    let repository = Repository::create("trees", None);
    let mut dice = Dice::new(3);
    let mut sum = [0; 5];
    for _ in 0..n_cases(100) {
        let (old, new) = random_trees(&mut dice);
        let (old, new) = (repository.tree_of(&old), repository.tree_of(&new));
        add(&mut sum, compare(&repository, &old, &new, &mut dice));
    }
    assert!(
        sum.iter().all(|&n| n > 20),
        "kinds that hardly occur: {sum:?}"
    );
}

#[test]
fn what_cannot_be_reviewed_is_refused_by_name() {
    let refused = |diff: &str| describe(diff.as_bytes()).unwrap_err().to_string();
    let binary = "diff --git a/logo.png b/logo.png\nindex 1234567..89abcde 100644\n\
                  GIT binary patch\nliteral 1\nIcmZPo000310RR91\n\n";
    assert!(
        refused(binary).contains("logo.png is binary"),
        "{}",
        refused(binary)
    );
    let submodule = "diff --git a/lib b/lib\nindex 1234567..89abcde 160000\n--- a/lib\n+++ b/lib\n\
                     @@ -1 +1 @@\n-Subproject commit 1\n+Subproject commit 2\n";
    assert!(
        refused(submodule).contains("lib is a submodule"),
        "{}",
        refused(submodule)
    );
    let copy = "diff --git a/f b/g\nsimilarity index 100%\ncopy from f\ncopy to g\n";
    assert!(refused(copy).contains("g is a copy"), "{}", refused(copy));
    let link = "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n\
                @@ -0,0 +1 @@\n+two lines\n";
    assert!(
        refused(link).contains("a symbolic link is one line"),
        "{}",
        refused(link)
    );
    let nameless = describe(b"@@ -1 +1 @@\n-a\n+b\n").unwrap_err();
    assert_eq!(nameless, GitError::NoName { line: 1 });
    let prose = describe(b"nothing\n").unwrap_err();
    assert_eq!(prose, GitError::Parse(ParseError::NoHunk { n_lines: 1 }));
}

/// Returns whether the file `f` is there after `tool` has applied `diff` to its two lines; `None` if
/// that is refused.
fn is_there_after(tool: &Patcher, diff: &str) -> Option<bool> {
    let applied = tool.apply_as_it_is(diff.as_bytes(), b"one\ntwo\n");
    applied.is_success.then(|| applied.result.is_ok())
}

#[test]
fn a_file_without_lines_is_deleted_only_if_the_diff_says_so() {
    const ALL: &str = "@@ -1,2 +0,0 @@\n-one\n-two\n";
    let gnu_patch = Patcher {
        command: &["patch", "--strip=1", "--force", "--input=diff"],
        file_header: "",
    };
    let time = "\t2026-01-02 03:04:05 +0000";
    let epoch = "\t1970-01-01 00:00:00 +0000";
    let git = "diff --git a/f b/f\n";
    // Each with what happens to the file.
    let table = [
        (format!("--- a/f\n+++ b/f\n{ALL}"), true),
        (format!("--- a/f{time}\n+++ b/f{time}\n{ALL}"), true),
        (format!("{git}--- a/f\n+++ b/f\n{ALL}"), true),
        (
            format!("{git}index 814f4a4..e69de29 100644\n--- a/f\n+++ b/f\n{ALL}"),
            true,
        ),
        (
            format!("Index: a/f\n====\n--- a/f\t(revision 5)\n+++ a/f\t(working copy)\n{ALL}"),
            true,
        ),
        (format!("--- a/f{time}\n+++ b/f{epoch}\n{ALL}"), false),
        (format!("--- a/f\n+++ /dev/null\n{ALL}"), false),
        (format!("{git}--- a/f\n+++ /dev/null\n{ALL}"), false),
        (
            format!("{git}deleted file mode 100644\n--- a/f\n+++ /dev/null\n{ALL}"),
            false,
        ),
    ];
    for (diff, is_there) in table {
        assert_eq!(first_names(&diff)[1].is_some(), is_there, "{diff}");
        for tool in [&GIT_APPLY, &gnu_patch] {
            assert_eq!(is_there_after(tool, &diff), Some(is_there), "{diff}");
        }
    }
    // Subversion says that in words which the others do not know, and git knows no such time.
    for stamp in ["(nonexistent)", "Thu Jan  1 00:00:00 1970"] {
        let diff = format!("--- a/f{time}\n+++ b/f\t{stamp}\n{ALL}");
        assert_eq!(first_names(&diff)[1], None, "{diff}");
    }
    // A line stays.
    let some = "@@ -1,2 +1 @@\n one\n-two\n";
    let diff = format!("--- a/f{time}\n+++ b/f{epoch}\n{some}");
    assert!(first_names(&diff)[1].is_some());
    assert_eq!(is_there_after(&gnu_patch, &diff), Some(true));
    for header in [
        "--- a/f\n+++ /dev/null\n",
        "diff --git a/f b/f\ndeleted file mode 100644\n--- a/f\n+++ /dev/null\n",
    ] {
        let diff = format!("{header}{some}");
        let error = describe(diff.as_bytes()).unwrap_err();
        assert!(error.to_string().contains("leave lines"), "{error}");
        assert_eq!(is_there_after(&GIT_APPLY, &diff), None, "{diff}");
    }
}

/// Returns how the names of the only file of `diff` may be read: each name with how many directories
/// were taken off, and how far that is from what the diff says.
fn readings(diff: &str) -> Vec<(String, Option<usize>, Doubt)> {
    let files = describe(diff.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{diff}"));
    let shown = |path: &Option<Vec<u8>>| {
        let path = path.as_deref().unwrap_or(b"-");
        String::from_utf8_lossy(path).into_owned()
    };
    let readings = files[0].readings.iter().map(|reading| {
        let (old, new) = (shown(&reading.old_path), shown(&reading.new_path));
        let names = if old == new {
            old
        } else {
            format!("{old} {new}")
        };
        (names, reading.n_stripped, reading.doubt)
    });
    readings.collect()
}

/// A name that is meant, how many parts of the written one it lacks, and how doubtful that is.
type Meant = (&'static str, usize, Doubt);

#[test]
fn a_name_is_read_in_all_ways_in_which_it_may_be_meant() {
    use Doubt::{Guess, Unusual, Usual};
    let table: [(&str, &str, &[Meant]); 8] = [
        (
            "a/s/x",
            "b/s/x",
            &[
                ("s/x", 1, Usual),
                ("b/s/x", 0, Unusual),
                ("a/s/x", 0, Unusual),
                ("x", 2, Guess),
            ],
        ),
        ("a/x", "a/x", &[("a/x", 0, Usual), ("x", 1, Usual)]),
        ("s/x", "s/x", &[("s/x", 0, Usual), ("x", 1, Guess)]),
        (
            "o.orig/x",
            "o/x",
            &[("x", 1, Usual), ("o/x", 0, Usual), ("o.orig/x", 0, Unusual)],
        ),
        (
            "old/x",
            "new/x",
            &[("x", 1, Usual), ("new/x", 0, Usual), ("old/x", 0, Usual)],
        ),
        (
            "/dev/null",
            "b/x",
            &[("- x", 1, Usual), ("- b/x", 0, Usual)],
        ),
        ("x.orig", "x", &[("x", 0, Usual), ("x.orig", 0, Unusual)]),
        (
            "a/~u/x",
            "b/~u/x",
            &[
                ("./~u/x", 1, Usual),
                ("b/~u/x", 0, Unusual),
                ("a/~u/x", 0, Unusual),
                ("x", 2, Guess),
            ],
        ),
    ];
    for (old, new, expected) in table {
        let diff = format!("--- {old}\n+++ {new}\n@@ -0,0 +1 @@\n+b\n");
        let expected = expected
            .iter()
            .map(|&(name, n, doubt)| (name.to_owned(), Some(n), doubt));
        assert_eq!(readings(&diff), expected.collect::<Vec<_>>(), "{old} {new}");
    }
    let rename = "diff --git i/x w/y\nrename from x\nrename to y\n";
    assert_eq!(readings(rename), [("x y".to_owned(), None, Usual)]);
}

#[test]
fn names_without_prefixes_are_kept_as_they_are() {
    // Two versions of one file, as `diff -u` names them.
    let files = describe(b"--- a/f.orig\n+++ a/f\n@@ -1 +1 @@\n-a\n+b\n").unwrap();
    let [old, new] = names(&files[0]);
    assert_eq!(old.as_deref(), Some(&b"a/f"[..]));
    assert_eq!((old == new, files[0].operations.len()), (true, 0));
    let files = describe(b"--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+b\n").unwrap();
    assert_eq!(names(&files[0]), [None, Some(b"f".to_vec())]);
    assert!(matches!(
        files[0].operations[..],
        [Operation::Create { mode: 0o100_644 }]
    ));
}

#[test]
fn what_becomes_a_link_or_was_one_is_one_file() {
    let deleted = |mode: &str, line: &str| {
        format!(
            "diff --git a/x b/x\ndeleted file mode {mode}\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-{line}"
        )
    };
    let made = |mode: &str, line: &str| {
        format!(
            "diff --git a/x b/x\nnew file mode {mode}\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+{line}"
        )
    };
    let link = Node::Link {
        target: b"y".to_vec(),
    };
    let file = |mode| Node::File {
        mode,
        content: b"one\n".to_vec(),
    };
    let open = "y\n\\ No newline at end of file\n";
    let cases = [
        (
            deleted("120000", open),
            made("100755", "one\n"),
            [link.clone(), file(0o100_755)],
        ),
        (
            deleted("100644", "one\n"),
            made("120000", open),
            [file(0o100_644), link],
        ),
    ];
    for (before, after, [old, new]) in cases {
        let diff = before + &after;
        let [found] = &describe(diff.as_bytes()).unwrap()[..] else {
            panic!("one file: {diff}");
        };
        assert_eq!(found.operations, [Operation::Kind { old, new }]);
        assert!(found.text.is_none());
        let names = [&found.readings[0].old_path, &found.readings[0].new_path];
        assert_eq!(names, [&Some(b"x".to_vec()); 2]);
    }
    let other = deleted("100644", "one\n")
        + &made("120000", open)
            .replace("b/x", "b/z")
            .replace("a/x", "a/z");
    assert_eq!(describe(other.as_bytes()).unwrap().len(), 2);
}
