//! Reads a diff of several files, as git writes it, into a change.

use std::borrow::Cow;

use crate::patch::hunk::{LineKind, unquoted};
use crate::patch::parse::{FileDiff, GitHeader, ParseError, Stamp, parse};
use crate::proposal::Side;

use super::{Node, Operation};

/// Why a diff cannot be a change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GitError {
    /// The text cannot be read as a diff.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// Hunks came without a name of their file.
    #[error("the hunks on line {line} name no file; write \"--- OLD\" and \"+++ NEW\" above them")]
    NoName {
        /// Line of the first of their headers (1-based).
        line: usize,
    },
    /// A file is a copy of another one.
    #[error("{file} is a copy of another file, which cannot be reviewed; make the diff without -C")]
    Copy {
        /// Its name, for a message.
        file: String,
    },
    /// A file is deleted, but lines of it stay.
    #[error(
        "{file} is deleted, but its hunks leave lines in it; remove them all, or name the file \
         after \"+++\""
    )]
    NotEmptied {
        /// Its name, for a message.
        file: String,
    },
    /// A symbolic link changes in a way that is no change of one line.
    #[error("{file}: a symbolic link is one line without a newline")]
    BadLink {
        /// Its name, for a message.
        file: String,
    },
}

/// The type of a symbolic link in a mode of git's.
const LINK_MODE: u32 = 0o120_000;

/// The mode of a plain file, where a diff states none.
const PLAIN_MODE: u32 = 0o100_644;

/// The name by which a diff says that a file does not exist.
const NO_FILE: &[u8] = b"/dev/null";

/// The prefixes that git puts before names: `a/` and `b/`, and those of `diff.mnemonicPrefix`.
const PREFIXES: [&[u8]; 6] = [b"a", b"b", b"c", b"i", b"o", b"w"];

/// How the names in a header may be meant: as those of a file in some directory.
///
/// Which directory that is, and which reading, depends on which files exist. That is for the caller
/// to find out; `agent-q-diff-input.el` says by which rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// The name before; `None` if the file is new.
    pub old_path: Option<Vec<u8>>,
    /// The name after; `None` if the file is deleted.
    pub new_path: Option<Vec<u8>>,
    /// How many leading directories were taken off, as by the option `-p` of GNU patch. `None` if
    /// the diff has the name without any prefix, in the lines of a rename.
    pub n_stripped: Option<usize>,
    /// How far it is from what the diff says.
    pub doubt: Doubt,
}

/// How far a reading of a name is from what the diff says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doubt {
    /// It is how the name is usually meant.
    Usual,
    /// It is how the name may be meant if there is no file for a usual reading.
    Unusual,
    /// Somebody may mean it, but must say so.
    Guess,
}

/// Returns the names in the header of `file`, old and new, as far as they are stated.
fn stated_names<'a>(file: &FileDiff<'a>) -> [Option<Cow<'a, [u8]>>; 2] {
    let names = file.git.as_ref().and_then(|git| git.names);
    let (old, new) = names.unzip();
    [file.old_name.or(old), file.new_name.or(new)].map(|name| name.map(unquoted))
}

/// Returns whether, by its header, `file` does not exist before, and after.
///
/// A file that loses all its lines is empty, unless its header says that it is gone: by its name,
/// by git's words, or, where git wrote no header, by its time. A time counts only if no line is
/// left, as for GNU patch.
fn absences(file: &FileDiff<'_>) -> [bool; 2] {
    let is_no_file = stated_names(file).map(|name| name.is_some_and(|name| *name == *NO_FILE));
    if let Some(git) = &file.git {
        return [is_no_file[0] || git.is_new, is_no_file[1] || git.is_deleted];
    }
    let [is_new, is_gone] = file.stamps.map(|stamp| stamp == Stamp::Absent);
    [
        is_no_file[0] || is_new && !keeps_lines(file, LineKind::Added),
        is_no_file[1] || is_gone && !keeps_lines(file, LineKind::Removed),
    ]
}

/// Returns whether the hunks of `file` have lines that are not of the kind `other`.
fn keeps_lines(file: &FileDiff<'_>, other: LineKind) -> bool {
    let mut lines = file.hunks.iter().flat_map(|parsed| &parsed.hunk.lines);
    lines.any(|line| line.kind != other)
}

/// Returns how the names of `file` may be read, the likeliest first; none if there is no name.
fn readings(file: &FileDiff<'_>) -> Vec<Reading> {
    let git = file.git.clone().unwrap_or_default();
    if let Some((old, new)) = git.renamed.or(git.copied) {
        let [old_path, new_path] = [old, new].map(|name| Some(unquoted(name).into_owned()));
        return vec![Reading {
            old_path,
            new_path,
            n_stripped: None,
            doubt: Doubt::Usual,
        }];
    }
    let [is_new, is_gone] = absences(file);
    let mut readings: Vec<Reading> = Vec::new();
    for (name, n_stripped, doubt) in possible_names(file) {
        let path = |is_absent: bool| (!is_absent).then(|| name.clone());
        let reading = Reading {
            old_path: path(is_new),
            new_path: path(is_gone),
            n_stripped: Some(n_stripped),
            doubt,
        };
        let is_same = |other: &Reading| {
            other.old_path == reading.old_path && other.new_path == reading.new_path
        };
        if !readings.iter().any(is_same) {
            readings.push(reading);
        }
    }
    readings.sort_by_key(|reading| reading.doubt);
    readings
}

/// Returns the names that `file` may have, each with the number of directories taken off.
fn possible_names(file: &FileDiff<'_>) -> Vec<(Vec<u8>, usize, Doubt)> {
    let is_git = file.git.is_some();
    let git_names = file.git.as_ref().and_then(|git| git.names);
    let pair = git_names.map(|(old, new)| (unquoted(old), unquoted(new)));
    let [old, new] = stated_names(file).map(|name| name.filter(|name| **name != *NO_FILE));
    let (old, new) = match (pair, old, new) {
        (Some((old, new)), _, _) | (None, Some(old), Some(new)) => (old, new),
        (None, Some(name), None) | (None, None, Some(name)) => return equal_names(&name, true),
        (None, None, None) => {
            let name = file.index_name.map(unquoted);
            return name.map_or(Vec::new(), |name| equal_names(&name, false));
        }
    };
    let mut names = if old == new {
        equal_names(&new, false)
    } else {
        different_names(&old, &new, is_git)
    };
    // CVS has only the last part of the name in the file header.
    let is_longer = |index: &Cow<'_, [u8]>| index.ends_with(&[b"/", &*new].concat());
    if let Some(index) = file.index_name.map(unquoted).filter(is_longer) {
        for (_, _, doubt) in &mut names {
            *doubt = (*doubt).max(Doubt::Unusual);
        }
        names.insert(0, (index.into_owned(), 0, Doubt::Usual));
    }
    names
}

/// Returns the names that a file may have for which the header has only `name`. The other side has
/// none if `is_lone`.
fn equal_names(name: &[u8], is_lone: bool) -> Vec<(Vec<u8>, usize, Doubt)> {
    let has_prefix = has_prefix(name);
    let mut names: Vec<_> = (0..parts(name).len())
        .filter_map(|n| {
            let doubt = match n {
                0 => Doubt::Usual,
                1 if has_prefix => Doubt::Usual,
                _ => Doubt::Guess,
            };
            Some((stripped(name, n)?, n, doubt))
        })
        .collect();
    if is_lone && has_prefix && names.len() > 1 {
        names.swap(0, 1);
    }
    names
}

/// Returns the names that a file may have if the header calls it `old` and `new`, which differ.
fn different_names(old: &[u8], new: &[u8], is_git: bool) -> Vec<(Vec<u8>, usize, Doubt)> {
    let (old_parts, new_parts) = (parts(old), parts(new));
    let n_equal = old_parts.iter().rev().zip(new_parts.iter().rev());
    let n_equal = n_equal.take_while(|(old, new)| old == new).count();
    let n_prefix = new_parts.len() - n_equal;
    let have_prefixes = has_prefix(old) && has_prefix(new) && old_parts[0] != new_parts[0];
    let mut names = Vec::new();
    // Whatever differs is a prefix.
    if n_equal > 0 {
        names.extend(stripped(new, n_prefix).map(|name| (name, n_prefix, Doubt::Usual)));
    }
    // Or two files are compared, or two trees.
    let is_certain = n_prefix == 1 && n_equal > 0 && (is_git || have_prefixes);
    let strips = if have_prefixes {
        vec![1, 0]
    } else {
        (0..n_prefix).collect()
    };
    for n in strips.into_iter().filter(|&n| n < n_prefix || n_equal == 0) {
        let is_prefix = n == 1 && has_prefix(old) && has_prefix(new);
        let is_usual = !is_certain && (n == usize::from(have_prefixes) || is_prefix);
        let sides = match which_is_backup(&old_parts, &new_parts) {
            Some(Side::Old) => [(new, is_usual), (old, false)],
            Some(Side::New) => [(old, is_usual), (new, false)],
            None => [(new, is_usual), (old, is_usual)],
        };
        for (name, is_usual) in sides {
            let doubt = if is_usual {
                Doubt::Usual
            } else {
                Doubt::Unusual
            };
            names.extend(stripped(name, n).map(|name| (name, n, doubt)));
        }
    }
    // Or the diff was made further up.
    for n in n_prefix + 1..new_parts.len() {
        names.extend(stripped(new, n).map(|name| (name, n, Doubt::Guess)));
    }
    names
}

/// Returns which name is that of a backup or a copy of the other: the first parts that differ, do
/// so by a suffix, as in `f.orig` or `pkg-1.0.orig/f`.
fn which_is_backup(old: &[&[u8]], new: &[&[u8]]) -> Option<Side> {
    let (old, new) = old.iter().zip(new).find(|(old, new)| old != new)?;
    match (old.starts_with(new), new.starts_with(old)) {
        (true, _) => Some(Side::Old),
        (_, true) => Some(Side::New),
        _ => None,
    }
}

/// Returns the parts of `name` between its slashes.
fn parts(name: &[u8]) -> Vec<&[u8]> {
    name.split(|&byte| byte == b'/').collect()
}

/// Returns whether `name` begins with one of git's prefixes.
fn has_prefix(name: &[u8]) -> bool {
    let parts = parts(name);
    parts.len() > 1 && PREFIXES.contains(&parts[0])
}

/// Returns `name` without its first `n` directories. `None` if nothing is left, or something that
/// would be looked up elsewhere than below a directory.
fn stripped(name: &[u8], n: usize) -> Option<Vec<u8>> {
    let rest = parts(name).get(n..)?.join(&b'/');
    match (n, &rest[..]) {
        (_, b"") => None,
        (0, _) => Some(rest),
        (_, [b'/', ..]) => None,
        // No home directory.
        (_, [b'~', ..]) => Some([b"./", &rest[..]].concat()),
        _ => Some(rest),
    }
}

/// What a diff says about one file.
#[derive(Debug, Clone)]
pub struct Described<'a> {
    /// How its names may be read, at least one way, the likeliest first.
    pub readings: Vec<Reading>,
    /// Whether git wrote its header.
    pub is_git: bool,
    /// Its operations: changes other than to its text.
    pub operations: Vec<Operation>,
    /// The hunks of its text, if that changes.
    pub text: Option<FileDiff<'a>>,
}

/// Reads a unified diff of one or more files, as `git diff` or `diff -u` write it.
///
/// What becomes a link, or was one, is a deletion and a creation to git. Here it is one file.
///
/// # Errors
///
/// [`GitError`] names the line or the file that cannot be reviewed.
pub fn describe(diff: &[u8]) -> Result<Vec<Described<'_>>, GitError> {
    let mut files: Vec<Described<'_>> = Vec::new();
    for file in parse(diff)? {
        let file = described(file)?;
        match files.last().and_then(|last| replaced(last, &file)) {
            Some(both) => *files.last_mut().expect("there is one") = both,
            None => files.push(file),
        }
    }
    Ok(files)
}

/// Returns the change of a file that `old` deletes and `new` creates as another kind; `None` if it is none.
fn replaced<'a>(old: &Described<'a>, new: &Described<'a>) -> Option<Described<'a>> {
    let node = |operation: &Operation| match operation {
        Operation::Delete { text } => Some(Node::File {
            mode: PLAIN_MODE,
            content: text.clone(),
        }),
        Operation::Create { mode } => Some(Node::File {
            mode: *mode,
            content: new
                .text
                .as_ref()
                .map_or_else(Vec::new, |text| side(text, LineKind::Removed)),
        }),
        Operation::Link {
            old: Some(target),
            new: None,
        }
        | Operation::Link {
            old: None,
            new: Some(target),
        } => Some(Node::Link {
            target: target.clone(),
        }),
        _ => None,
    };
    let [Some(before), Some(after)] = [old, new].map(|file| node(file.operations.first()?)) else {
        return None;
    };
    let is_other = matches!(
        (&before, &after),
        (Node::Link { .. }, Node::File { .. }) | (Node::File { .. }, Node::Link { .. })
    );
    let mut readings = old.readings.clone();
    readings.retain_mut(|reading| {
        reading.new_path.is_none() && {
            reading.new_path.clone_from(&reading.old_path);
            new.readings.iter().any(|other| {
                other.old_path.is_none()
                    && (&other.new_path, other.n_stripped)
                        == (&reading.new_path, reading.n_stripped)
            })
        }
    });
    (is_other && !readings.is_empty()).then(|| Described {
        readings,
        is_git: old.is_git,
        operations: vec![Operation::Kind {
            old: before,
            new: after,
        }],
        text: None,
    })
}

fn described(file: FileDiff<'_>) -> Result<Described<'_>, GitError> {
    let git = file.git.clone().unwrap_or_default();
    let readings = readings(&file);
    let first = readings
        .first()
        .filter(|first| first.old_path.is_some() || first.new_path.is_some());
    let Some(Reading {
        old_path, new_path, ..
    }) = first
    else {
        let line = file.hunks.first().map_or(0, |hunk| hunk.header_line) + 1;
        return Err(GitError::NoName { line });
    };
    let name = || {
        let path = new_path.as_ref().or(old_path.as_ref());
        String::from_utf8_lossy(path.expect("one is named")).into_owned()
    };
    if git.copied.is_some() {
        return Err(GitError::Copy { file: name() });
    }
    if new_path.is_none() && keeps_lines(&file, LineKind::Removed) {
        return Err(GitError::NotEmptied { file: name() });
    }
    let operations = operations(&file, &git, (old_path, new_path));
    let operations = operations.ok_or_else(|| GitError::BadLink { file: name() })?;
    let are_lines = |operation: &Operation| {
        matches!(operation, Operation::Link { .. } | Operation::Delete { .. })
    };
    let has_text = !file.hunks.is_empty() && !operations.iter().any(are_lines);
    Ok(Described {
        readings,
        is_git: file.git.is_some(),
        operations,
        text: has_text.then_some(file),
    })
}

/// Returns the operations on `file`; `None` if they are impossible.
fn operations(
    file: &FileDiff<'_>,
    git: &GitHeader<'_>,
    (old_path, new_path): (&Option<Vec<u8>>, &Option<Vec<u8>>),
) -> Option<Vec<Operation>> {
    let mut operations = Vec::new();
    if old_path.is_some() && new_path.is_some() && old_path != new_path {
        operations.push(Operation::Rename);
    }
    if [git.old_mode, git.new_mode].contains(&Some(LINK_MODE)) {
        if !file.hunks.is_empty() {
            let old = old_path.as_ref().map(|_| side(file, LineKind::Added));
            let new = new_path.as_ref().map(|_| side(file, LineKind::Removed));
            let is_link = |target: &Option<Vec<u8>>| {
                target.as_ref().is_none_or(|target| {
                    !target.is_empty() && !target.contains(&b'\n') && file.hunks.len() == 1
                })
            };
            if !is_link(&old) || !is_link(&new) {
                return None;
            }
            operations.push(Operation::Link { old, new });
        }
        return Some(operations);
    }
    if old_path.is_none() {
        let mode = git.new_mode.unwrap_or(PLAIN_MODE);
        operations.push(Operation::Create { mode });
    } else if new_path.is_none() {
        let text = side(file, LineKind::Added);
        operations.push(Operation::Delete { text });
    } else if let (Some(old), Some(new)) = (git.old_mode, git.new_mode)
        && old != new
    {
        operations.push(Operation::Mode { old, new });
    }
    Some(operations)
}

/// Returns the lines of the hunks of `file` without those of the kind `other`.
fn side(file: &FileDiff<'_>, other: LineKind) -> Vec<u8> {
    let lines = file.hunks.iter().flat_map(|parsed| &parsed.hunk.lines);
    let lines = lines.filter(|line| line.kind != other);
    lines.flat_map(|line| line.text.iter().copied()).collect()
}
