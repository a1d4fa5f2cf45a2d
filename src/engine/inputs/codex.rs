//! The tool `apply_patch` of Codex.
//!
//! [`crate::patch::codex`] applies a patch; this file makes the patch that leads to a decided text,
//! or to those of several files. No patch can leave a file without a newline at its end.

use crate::diff::{self, edits, group};
use crate::patch::codex::{ADD, Action, DELETE, FilePatch, MOVE, UPDATE, parse, updated};
use crate::patch::hunk::{Hunk, LineKind};
use crate::text::Text;

use super::FileText;

/// Number of unchanged lines around a chunk.
const CONTEXT_LEN: usize = 3;

/// A file before and after an edit.
#[derive(Debug, Clone, Copy)]
pub struct FileEdit<'a> {
    /// Its name in the patch.
    pub path: &'a str,
    /// Its new name, if it gets one.
    pub new_path: Option<&'a str>,
    /// The file before, or `None` if there is none.
    pub before: Option<&'a FileText>,
    /// The file after, or `None` if there is to be none.
    pub after: Option<&'a FileText>,
}

/// Returns a patch that makes `edits`, or `None` if there is no such patch. Files that do not
/// change are left out, so at least one must change. To Codex, a byte order mark is the first
/// character of the first line, so a patch can add one, or take it away.
///
/// ```
/// use agent_q_diff_engine::inputs::codex::{FileEdit, patch_of};
/// use agent_q_diff_engine::inputs::FileText;
/// let text = FileText::new("a\n".to_owned());
/// let gone = FileEdit { path: "f", new_path: None, before: Some(&text), after: None };
/// let moved = FileEdit { path: "g", new_path: Some("h"), before: Some(&text), after: Some(&text) };
/// let patch = patch_of(&[gone, moved]).unwrap();
/// assert_eq!(
///     patch,
///     "*** Begin Patch\n*** Delete File: f\n*** Update File: g\n*** Move to: h\n@@\n a\n\
///      *** End Patch\n"
/// );
/// ```
pub fn patch_of(edits: &[FileEdit<'_>]) -> Option<String> {
    let edits: Vec<&FileEdit> = edits.iter().filter(|edit| !edit.is_idle()).collect();
    let sections: Option<Vec<String>> = edits.iter().map(|edit| edit.section()).collect();
    let patch = wrapped(&sections?.concat());
    let files = parse(&patch).ok()?;
    let is_right = files.len() == edits.len()
        && edits
            .iter()
            .zip(&files)
            .all(|(edit, file)| edit.is_made_by(file));
    is_right.then_some(patch)
}

impl FileEdit<'_> {
    /// Returns whether the file stays as it is.
    fn is_idle(&self) -> bool {
        self.new_path.is_none() && self.before == self.after
    }

    /// Returns the part of a patch that makes this edit, or `None` if there is none.
    fn section(&self) -> Option<String> {
        let path = self.path;
        match (self.before, self.after) {
            (None, None) => None,
            (Some(_), None) => Some(format!("{DELETE}{path}\n")),
            (None, Some(after)) => {
                let text = String::from_utf8(after.bytes()).ok()?;
                let lines: String = text.lines().map(|line| format!("+{line}\n")).collect();
                Some(format!("{ADD}{path}\n{lines}"))
            }
            (Some(before), Some(after)) => self.update(&before.bytes(), &after.bytes()),
        }
    }

    /// Returns the part of a patch that turns `base` into `wanted`, and gives the file its new
    /// name.
    fn update(&self, base: &[u8], wanted: &[u8]) -> Option<String> {
        let path = self.path;
        let new_path = self.new_path;
        let new_name = new_path.map_or_else(String::new, |path| format!("{MOVE}{path}\n"));
        // With all lines around it, every place is certain.
        [CONTEXT_LEN, usize::MAX]
            .into_iter()
            .find_map(|context_len| {
                let chunks = if base == wanted {
                    first_line(base)?
                } else {
                    chunks(base, wanted, context_len)
                };
                let section = format!("{UPDATE}{path}\n{new_name}{chunks}");
                let patch = wrapped(&section);
                let files = parse(&patch).ok()?;
                self.is_made_by(files.first()?).then_some(section)
            })
    }

    /// Returns whether `file`, of a patch, makes just this edit.
    fn is_made_by(&self, file: &FilePatch<'_>) -> bool {
        let wanted = self.after.map(FileText::bytes);
        let (new_path, made) = match (&file.action, self.before) {
            (Action::Delete, _) => (None, None),
            (Action::Add { text }, _) => (None, Some(text.clone().into_bytes())),
            (Action::Update { new_path, chunks }, Some(base)) => {
                match updated(&base.bytes(), chunks) {
                    Ok(made) => (*new_path, Some(made)),
                    Err(_) => return false,
                }
            }
            (Action::Update { .. }, None) => return false,
        };
        file.path == self.path && new_path == self.new_path && made == wanted
    }
}

fn wrapped(files: &str) -> String {
    format!("*** Begin Patch\n{files}*** End Patch\n")
}

/// Returns a chunk that finds the first line of `base` and changes nothing, or `None` if there is
/// no line: a file gets another name only with a chunk.
fn first_line(base: &[u8]) -> Option<String> {
    let line = base.split(|&byte| byte == b'\n').next()?;
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    (!base.is_empty()).then(|| format!("@@\n {}\n", String::from_utf8_lossy(line)))
}

/// Returns the chunks that turn `base` into `decided`, with `context_len` lines around each.
fn chunks(base: &[u8], decided: &[u8], context_len: usize) -> String {
    let (base, decided) = (Text::new(base.to_owned()), Text::new(decided.to_owned()));
    let edits = edits(&base, &decided);
    let groups = group(&edits, base.len(), context_len);
    let hunks = groups
        .iter()
        .map(|group| diff::hunk(group, &edits, &base, &decided, b""));
    hunks.map(|hunk| chunk(&hunk)).collect()
}

fn chunk(hunk: &Hunk<'_>) -> String {
    let mut chunk = "@@\n".to_owned();
    for line in &hunk.lines {
        chunk.push(match line.kind {
            LineKind::Context => ' ',
            LineKind::Removed => '-',
            LineKind::Added => '+',
        });
        let text = String::from_utf8_lossy(line.text);
        let text = text.strip_suffix('\n').unwrap_or(&text);
        chunk.push_str(text.strip_suffix('\r').unwrap_or(text));
        chunk.push('\n');
    }
    chunk
}
