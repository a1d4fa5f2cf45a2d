//! Reads patches of Codex's tool `apply_patch`, and applies them to texts as the tool does.
//!
//! The format has no line numbers: each chunk is found by its lines, from where the one before
//! ended. They are compared exactly, then without white space at their ends, then without white
//! space around them, and last with plain characters in the place of typographic ones. The rules
//! are those of Codex 0.169 (`codex-rs/apply-patch`: `parser.rs`, `seek_sequence.rs`), whose
//! results [`updated`] gives byte for byte. Codex writes files one by one, and if one fails, the
//! earlier ones stay written; here the caller has all texts before anything is written.

use std::borrow::Cow;

/// The part of a patch that is for one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePatch<'a> {
    /// The file.
    pub path: &'a str,
    /// What the patch does to it.
    pub action: Action<'a>,
}

/// What a patch does to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action<'a> {
    /// The file is written with this text, whether it exists or not.
    Add {
        /// Lines that all end with a newline.
        text: String,
    },
    /// The file is deleted.
    Delete,
    /// Lines of the file are replaced.
    Update {
        /// Its new name, if it gets one.
        new_path: Option<&'a str>,
        /// At least one.
        chunks: Vec<Chunk<'a>>,
    },
}

/// Lines to be found, and those that replace them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// Line of the patch (1-based) where it begins.
    pub line: usize,
    /// A line to look for first; the chunk's lines are below it.
    pub context: Option<&'a str>,
    /// Its lines. If all of them are added, they go to the end of the file.
    pub lines: Vec<(Sign, &'a str)>,
    /// Whether they are the last lines of the file.
    pub is_at_end: bool,
}

/// What a patch does to a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// It must be found, and stays.
    Context,
    /// It must be found, and is removed.
    Removed,
    /// It is added.
    Added,
}

/// Why a text is not a patch, or does not fit a file. Lines are those of the patch, 1-based.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CodexError {
    /// A marker around the patch is missing.
    #[error("the patch must begin with \"*** Begin Patch\" and end with \"*** End Patch\"")]
    NoMarkers,
    /// The patch does nothing.
    #[error("the patch names no file")]
    Empty,
    /// A line begins no file.
    #[error(
        "line {line}: expected \"*** Add File: PATH\", \"*** Delete File: PATH\" or \
         \"*** Update File: PATH\", found {found:?}"
    )]
    NoFile {
        /// Its number.
        line: usize,
        /// The line.
        found: String,
    },
    /// A file is updated without a chunk, or a chunk has no lines.
    #[error(
        "line {line}: nothing is to be changed here; add lines that begin with ' ', '-' or '+'"
    )]
    NoLines {
        /// Where they are missing.
        line: usize,
    },
    /// A chunk after the first does not begin with `@@`.
    #[error(
        "line {line}: expected \"@@\" or a line that begins with ' ', '-' or '+', found {found:?}"
    )]
    BadLine {
        /// Its number.
        line: usize,
        /// The line.
        found: String,
    },
    /// The line after `@@` is not in the file.
    #[error("line {line} of the patch: the file has no line {context:?} there")]
    NoContext {
        /// Where the chunk begins.
        line: usize,
        /// The line that is not found.
        context: String,
    },
    /// The lines of a chunk are not in the file.
    #[error("line {line} of the patch: the file has no such lines there, beginning with {first:?}")]
    NotFound {
        /// Where the chunk begins.
        line: usize,
        /// The first of them.
        first: String,
    },
}

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
pub(crate) const ADD: &str = "*** Add File: ";
pub(crate) const DELETE: &str = "*** Delete File: ";
pub(crate) const UPDATE: &str = "*** Update File: ";
pub(crate) const MOVE: &str = "*** Move to: ";
const END_OF_FILE: &str = "*** End of File";

/// Reads `text`, which may be inside a here-document, as a shell command has it.
///
/// # Errors
///
/// [`CodexError`] names the line that cannot be read.
///
/// ```
/// use agent_q_diff_engine::patch::codex::{Action, parse, updated};
/// let text = "*** Begin Patch\n*** Update File: f\n@@\n-b\n+B\n*** End Patch";
/// let files = parse(text).unwrap();
/// let Action::Update { chunks, .. } = &files[0].action else { panic!() };
/// assert_eq!(updated(b"a\nb\n", chunks).unwrap(), b"a\nB\n");
/// ```
pub fn parse(text: &str) -> Result<Vec<FilePatch<'_>>, CodexError> {
    let n_before = text.len() - text.trim_start().len();
    let first_line = text[..n_before].matches('\n').count();
    let lines: Vec<&str> = text.trim().lines().collect();
    let (lines, n_skipped) = within_markers(&lines)?;
    let mut files: Vec<FilePatch> = Vec::new();
    let mut header_lines = Vec::new();
    for (number, line) in (first_line + n_skipped + 1..).zip(lines) {
        match file_header(line.trim()) {
            Some(file) => {
                files.push(file);
                header_lines.push(number);
            }
            None => read_line(files.last_mut(), line, number)?,
        }
    }
    for (file, line) in files.iter().zip(header_lines) {
        check_lines(file, line)?;
    }
    if files.is_empty() {
        Err(CodexError::Empty)
    } else {
        Ok(files)
    }
}

/// Returns `text`, a patch, with `path` applied to each name in it.
///
/// ```
/// use agent_q_diff_engine::patch::codex::with_paths;
/// let text = "*** Begin Patch\n*** Delete File: f\n*** End Patch";
/// let whole = with_paths(text, |path| format!("/d/{path}"));
/// assert_eq!(whole, "*** Begin Patch\n*** Delete File: /d/f\n*** End Patch");
/// ```
pub fn with_paths(text: &str, path: impl Fn(&str) -> String) -> String {
    let mut is_below_update = false;
    let lines = text.split_inclusive('\n').map(|line| {
        let trimmed = line.trim();
        let new_path = trimmed.strip_prefix(MOVE).filter(|_| is_below_update);
        is_below_update = false;
        let (header, name) = match (file_header(trimmed), new_path) {
            (Some(file), _) => match file.action {
                Action::Add { .. } => (ADD, file.path),
                Action::Delete => (DELETE, file.path),
                Action::Update { .. } => {
                    is_below_update = true;
                    (UPDATE, file.path)
                }
            },
            (None, Some(name)) => (MOVE, name),
            (None, None) => return line.to_owned(),
        };
        format!("{header}{}\n", path(name))
    });
    lines.collect()
}

/// Checks that `file`, whose header is on line `line`, is updated by at least one chunk, and that
/// each has lines.
fn check_lines(file: &FilePatch<'_>, line: usize) -> Result<(), CodexError> {
    let Action::Update { chunks, .. } = &file.action else {
        return Ok(());
    };
    match chunks.iter().find(|chunk| chunk.lines.is_empty()) {
        Some(chunk) => Err(CodexError::NoLines { line: chunk.line }),
        None if chunks.is_empty() => Err(CodexError::NoLines { line }),
        None => Ok(()),
    }
}

/// Returns the lines between the markers, and how many are above.
fn within_markers<'l, 'a>(lines: &'l [&'a str]) -> Result<(&'l [&'a str], usize), CodexError> {
    match lines {
        [first, inner @ .., last] if first.trim() == BEGIN && last.trim() == END => Ok((inner, 1)),
        ["<<EOF" | "<<'EOF'" | "<<\"EOF\"", inner @ .., last] if last.ends_with("EOF") => {
            let (inner, n_above) = within_markers(inner)?;
            Ok((inner, n_above + 1))
        }
        _ => Err(CodexError::NoMarkers),
    }
}

/// Reads `line`, with which a file begins; `None` if it is another line.
fn file_header(line: &str) -> Option<FilePatch<'_>> {
    let add = || Action::Add {
        text: String::new(),
    };
    let update = || Action::Update {
        new_path: None,
        chunks: Vec::new(),
    };
    let (path, action) = if let Some(path) = line.strip_prefix(ADD) {
        (path, add())
    } else if let Some(path) = line.strip_prefix(DELETE) {
        (path, Action::Delete)
    } else {
        (line.strip_prefix(UPDATE)?, update())
    };
    Some(FilePatch { path, action })
}

/// Reads `line`, which is line `number` of the patch and belongs to `file`.
fn read_line<'a>(
    file: Option<&mut FilePatch<'a>>,
    line: &'a str,
    number: usize,
) -> Result<(), CodexError> {
    let found = || line.to_owned();
    match file.map(|file| &mut file.action) {
        None | Some(Action::Delete) => Err(CodexError::NoFile {
            line: number,
            found: found(),
        }),
        Some(Action::Add { text }) => {
            let Some(added) = line.strip_prefix('+') else {
                return Err(CodexError::BadLine {
                    line: number,
                    found: found(),
                });
            };
            text.push_str(added);
            text.push('\n');
            Ok(())
        }
        Some(Action::Update { new_path, chunks }) => {
            let trimmed = line.trim();
            let begins = trimmed == "@@" || trimmed.starts_with("@@ ");
            if chunks.is_empty() && new_path.is_none() && trimmed.starts_with(MOVE) {
                *new_path = trimmed.strip_prefix(MOVE);
                return Ok(());
            }
            if begins || (chunks.is_empty() && trimmed != END_OF_FILE) {
                chunks.push(Chunk {
                    line: number,
                    context: trimmed.strip_prefix("@@ "),
                    ..Chunk::default()
                });
            }
            let Some(chunk) = chunks.last_mut().filter(|_| !begins) else {
                return Ok(());
            };
            if trimmed == END_OF_FILE {
                chunk.is_at_end = true;
                return Ok(());
            }
            let signed = signed(line).filter(|_| !chunk.is_at_end);
            chunk.lines.push(signed.ok_or_else(|| CodexError::BadLine {
                line: number,
                found: found(),
            })?);
            Ok(())
        }
    }
}

/// Returns `line` of a chunk with its sign taken off; `None` if it has none.
fn signed(line: &str) -> Option<(Sign, &str)> {
    match line.as_bytes() {
        // The space may be missing in front of nothing.
        [] => Some((Sign::Context, line)),
        [b' ', ..] => Some((Sign::Context, &line[1..])),
        [b'+', ..] => Some((Sign::Added, &line[1..])),
        [b'-', ..] => Some((Sign::Removed, &line[1..])),
        _ => None,
    }
}

/// Returns `original` with `chunks` applied. Added lines end as its first line does, and the last
/// line then has an end. Lines of the context stay as they are in the file, however they were
/// found.
///
/// # Errors
///
/// [`CodexError::NoContext`] or [`CodexError::NotFound`] names the chunk that does not fit.
pub fn updated(original: &[u8], chunks: &[Chunk<'_>]) -> Result<Vec<u8>, CodexError> {
    let whole: Vec<&[u8]> = original.split_inclusive(|&byte| byte == b'\n').collect();
    let lines: Vec<&[u8]> = whole.iter().map(|line| without_end(line)).collect();
    let is_crlf = whole.first().is_some_and(|line| line.ends_with(b"\r\n"));
    let end: &[u8] = if is_crlf { b"\r\n" } else { b"\n" };
    let mut at = 0;
    let mut edits: Vec<Edit> = Vec::new();
    for chunk in chunks {
        if let Some(context) = chunk.context {
            let found = seek(&lines, &[context], at, false);
            at = 1 + found.ok_or_else(|| CodexError::NoContext {
                line: chunk.line,
                context: context.to_owned(),
            })?;
        }
        if chunk.old().next().is_none() {
            edits.extend(edits_of(&chunk.lines, lines.len()).0);
            continue;
        }
        let (start, signed) = chunk.find(&lines, at).ok_or_else(|| CodexError::NotFound {
            line: chunk.line,
            first: chunk.old().next().unwrap_or_default().to_owned(),
        })?;
        let (chunk_edits, end) = edits_of(&signed, start);
        edits.extend(chunk_edits);
        at = end;
    }
    // What is added at the end may come before the edits of a later chunk.
    edits.sort_by_key(|edit| edit.line);
    Ok(edited(&whole, &edits, end))
}

/// The lines removed and added at a line of the file.
struct Edit<'a> {
    line: usize,
    n_removed: usize,
    added: Vec<&'a str>,
}

/// Returns the edits of `signed`, the lines of a chunk that begins at `line`, and the line after
/// it.
fn edits_of<'a>(signed: &[(Sign, &'a str)], mut line: usize) -> (Vec<Edit<'a>>, usize) {
    let mut edits: Vec<Edit> = Vec::new();
    let mut is_new = true;
    for &(sign, text) in signed {
        if sign == Sign::Context {
            line += 1;
            is_new = true;
            continue;
        }
        if is_new {
            edits.push(Edit {
                line,
                n_removed: 0,
                added: Vec::new(),
            });
            is_new = false;
        }
        let edit = edits.last_mut().expect("one was pushed");
        match sign {
            Sign::Added => edit.added.push(text),
            _ => {
                edit.n_removed += 1;
                line += 1;
            }
        }
    }
    (edits, line)
}

/// Returns the text of `lines` after `edits`, in their order. `end` ends each line that has no end.
fn edited(lines: &[&[u8]], edits: &[Edit<'_>], end: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    let push_lines = |text: &mut Vec<u8>, lines: &[&[u8]]| {
        for line in lines {
            text.extend_from_slice(line);
            if !line.ends_with(b"\n") {
                text.extend_from_slice(end);
            }
        }
    };
    let mut done = 0;
    for edit in edits {
        push_lines(&mut text, &lines[done..edit.line]);
        for line in &edit.added {
            text.extend_from_slice(line.as_bytes());
            text.extend_from_slice(end);
        }
        done = edit.line + edit.n_removed;
    }
    push_lines(&mut text, &lines[done..]);
    text
}

/// Returns `line` without its line end.
fn without_end(line: &[u8]) -> &[u8] {
    match line {
        [line @ .., b'\r', b'\n'] | [line @ .., b'\n'] => line,
        line => line,
    }
}

impl<'a> Chunk<'a> {
    /// The lines to be found.
    fn old(&self) -> impl Iterator<Item = &'a str> {
        let old = self.lines.iter().filter(|(sign, _)| *sign != Sign::Added);
        old.map(|(_, line)| *line)
    }

    /// Returns the first line from `at` on of `lines` at which the chunk fits, and its edits
    /// there.
    fn find(&self, lines: &[&[u8]], at: usize) -> Option<(usize, Vec<(Sign, &'a str)>)> {
        let old: Vec<&str> = self.old().collect();
        if let Some(start) = seek(lines, &old, at, self.is_at_end) {
            return Some((start, self.lines.clone()));
        }
        let [shorter @ .., ""] = &old[..] else {
            return None;
        };
        let start = seek(lines, shorter, at, self.is_at_end)?;
        Some((start, self.without_last_empty_line()))
    }

    /// Returns the lines if the last one to be found, which is empty, stands for the newline at the
    /// end of the file. An empty one at the end of what is left then does so, too.
    fn without_last_empty_line(&self) -> Vec<(Sign, &'a str)> {
        let mut lines = self.lines.clone();
        if let Some(at) = lines.iter().rposition(|(sign, _)| *sign != Sign::Added) {
            match lines[at].0 {
                Sign::Context => lines[at].0 = Sign::Added,
                _ => drop(lines.remove(at)),
            }
        }
        if let Some(at) = lines.iter().rposition(|(sign, _)| *sign != Sign::Removed)
            && lines[at].1.is_empty()
        {
            match lines[at].0 {
                Sign::Context => lines[at].0 = Sign::Removed,
                _ => drop(lines.remove(at)),
            }
        }
        lines
    }
}

/// Returns the first line from `start` on at which `pattern` is in `lines`, or its only possible
/// line if `is_at_end`: by the strictest way to compare by which there is one.
fn seek(lines: &[&[u8]], pattern: &[&str], start: usize, is_at_end: bool) -> Option<usize> {
    if pattern.is_empty() {
        return Some(start);
    }
    let last = lines.len().checked_sub(pattern.len())?;
    let start = if is_at_end { start.max(last) } else { start };
    const WAYS: [fn(&str) -> Cow<'_, str>; 4] = [
        |line| Cow::Borrowed(line),
        |line| Cow::Borrowed(line.trim_end()),
        |line| Cow::Borrowed(line.trim()),
        |line| Cow::Owned(plain(line)),
    ];
    WAYS.iter().find_map(|way| {
        let wanted: Vec<_> = pattern.iter().map(|line| way(line)).collect();
        (start..=last).find(|&at| {
            let mut pairs = lines[at..].iter().zip(&wanted);
            pairs.all(|(line, wanted)| way(&String::from_utf8_lossy(line)) == *wanted)
        })
    })
}

/// Returns `line` without white space around it, and with plain characters in the place of
/// typographic ones.
fn plain(line: &str) -> String {
    let plain = |character| match character {
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{2018}'..='\u{201b}' => '\'',
        '\u{201c}'..='\u{201f}' => '"',
        '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        other => other,
    };
    line.trim().chars().map(plain).collect()
}
