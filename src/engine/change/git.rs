//! Reads a diff of several files, as git writes it, into a change.

use std::borrow::Cow;

use crate::patch::hunk::LineKind;
use crate::patch::parse::{FileDiff, GitHeader, ParseError, parse};
use crate::patch::quote::unquoted;
use crate::proposal::{Proposal, ProposalError};
use crate::review::Review;

use super::{Change, FileChange, Operation};

/// Why a diff cannot be a change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GitError {
    /// The text cannot be read as a diff.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// The hunks of a file cannot be a proposal.
    #[error("{file}: {why}")]
    File {
        /// Its name, for a message.
        file: String,
        /// What is wrong with them.
        why: ProposalError,
    },
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

impl Change {
    /// Makes a change from a unified diff of one or more files, as `git diff` or `diff -u` write
    /// it. The names are without git's prefixes `a/` and `b/`, if all have them.
    ///
    /// The hunks have no place until their reviews have seen their targets.
    ///
    /// # Errors
    ///
    /// [`GitError`] names the line or the file that cannot be reviewed.
    pub fn from_diff(diff: &[u8]) -> Result<Change, GitError> {
        let files = describe(diff)?.into_iter().map(file_change);
        Ok(Change::new(files.collect::<Result<_, _>>()?))
    }
}

/// The name by which a diff says that a file does not exist.
const NO_FILE: &[u8] = b"/dev/null";

/// Returns the names in the header of `file`, old and new, as far as they are stated.
fn stated_names<'a>(file: &FileDiff<'a>) -> [Option<Cow<'a, [u8]>>; 2] {
    let names = file.git.as_ref().and_then(|git| git.names);
    let (old, new) = names.unzip();
    [file.old_name.or(old), file.new_name.or(new)].map(|name| name.map(unquoted))
}

/// Returns whether the names in the header of `file` have git's prefixes.
fn has_prefixes(file: &FileDiff<'_>) -> bool {
    let [old, new] = stated_names(file);
    let is_prefixed = |name: Option<Cow<'_, [u8]>>, prefix: &[u8]| {
        name.is_none_or(|name| *name == *NO_FILE || name.starts_with(prefix))
    };
    // Of a file that is new or goes, only these have both names.
    let (git_old, git_new) = file.git.as_ref().and_then(|git| git.names).unzip();
    is_prefixed(old, b"a/")
        && is_prefixed(new, b"b/")
        && is_prefixed(git_old.map(unquoted), b"a/")
        && is_prefixed(git_new.map(unquoted), b"b/")
}

/// Returns the names of `file` before and after; `None` where it does not exist.
fn paths(file: &FileDiff<'_>, is_prefixed: bool) -> [Option<Vec<u8>>; 2] {
    let git = file.git.clone().unwrap_or_default();
    if let Some((old, new)) = git.renamed.or(git.copied) {
        return [old, new].map(|name| Some(unquoted(name).into_owned()));
    }
    let len = if is_prefixed { "a/".len() } else { 0 };
    let [old, new] = stated_names(file).map(|name| {
        let name = name.filter(|name| **name != *NO_FILE);
        name.map(|name| name[len..].to_vec())
    });
    let after_prefix = |name: &Vec<u8>| name.get(2..).map(<[u8]>::to_vec);
    match (&file.git, &old, &new) {
        // Other programs name two versions of one file.
        (None, Some(_), Some(_)) => [new.clone(), new],
        // Git has other prefixes of one letter (`diff.mnemonicPrefix`).
        (Some(_), Some(one), Some(other))
            if one != other
                && [one, other].iter().all(|name| name.get(1) == Some(&b'/'))
                && after_prefix(one) == after_prefix(other) =>
        {
            [after_prefix(one), after_prefix(other)]
        }
        // Two files were compared, not two states of one (`git diff --no-index`): git says so if one
        // was renamed.
        (Some(git), Some(one), Some(other)) if one != other && !git.is_new && !git.is_deleted => {
            [new.clone(), new]
        }
        _ => [old.filter(|_| !git.is_new), new.filter(|_| !git.is_deleted)],
    }
}

/// What a diff says about one file.
#[derive(Debug, Clone)]
pub struct Described<'a> {
    /// The name before; `None` if the file is new.
    pub old_path: Option<Vec<u8>>,
    /// The name after; `None` if the file goes.
    pub new_path: Option<Vec<u8>>,
    /// What happens to it besides changes of its text.
    pub operations: Vec<Operation>,
    /// The hunks of its text, if that changes.
    pub text: Option<FileDiff<'a>>,
}

/// Reads a unified diff of one or more files; see [`Change::from_diff`].
///
/// # Errors
///
/// As for [`Change::from_diff`], except [`GitError::File`].
pub fn describe(diff: &[u8]) -> Result<Vec<Described<'_>>, GitError> {
    let files = parse(diff)?;
    let is_prefixed = files.iter().all(has_prefixes);
    let files = files.into_iter().map(|file| described(file, is_prefixed));
    files.collect()
}

fn described(file: FileDiff<'_>, is_prefixed: bool) -> Result<Described<'_>, GitError> {
    let git = file.git.clone().unwrap_or_default();
    let [old_path, new_path] = paths(&file, is_prefixed);
    let Some(path) = new_path.as_ref().or(old_path.as_ref()) else {
        let line = file.hunks.first().map_or(0, |hunk| hunk.header_line) + 1;
        return Err(GitError::NoName { line });
    };
    if git.copied.is_some() {
        return Err(GitError::Copy { file: shown(path) });
    }
    let operations = operations(&file, &git, (&old_path, &new_path));
    let operations = operations.ok_or_else(|| GitError::BadLink { file: shown(path) })?;
    let are_lines = |operation: &Operation| {
        matches!(operation, Operation::Link { .. } | Operation::Delete { .. })
    };
    let has_text = !file.hunks.is_empty() && !operations.iter().any(are_lines);
    Ok(Described {
        old_path,
        new_path,
        operations,
        text: has_text.then_some(file),
    })
}

/// Returns `path` for a message.
fn shown(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}

fn file_change(file: Described<'_>) -> Result<FileChange, GitError> {
    let review = match &file.text {
        None => None,
        Some(text) => {
            let path = file.new_path.as_ref().or(file.old_path.as_ref());
            let proposal = Proposal::from_file_diff(text).map_err(|why| GitError::File {
                file: path.map_or(String::new(), |path| shown(path)),
                why,
            });
            Some(Review::new(proposal?))
        }
    };
    let paths = (file.old_path, file.new_path);
    Ok(FileChange::new(paths, file.operations, review))
}

/// Returns what happens to `file` besides changes of its text; `None` if that is impossible.
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
