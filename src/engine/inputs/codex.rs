//! The tool `apply_patch` of Codex.
//!
//! What a patch makes of a file, [`crate::patch::codex`] knows. Here is the patch that makes a
//! decided text of it. It cannot leave a file without a newline at its end.

use super::file_text::FileText;
use crate::diff::{self, edits, group};
use crate::patch::codex::{Action, parse, updated};
use crate::patch::hunk::{Hunk, LineKind};
use crate::text::Text;

/// Number of unchanged lines around a chunk.
const CONTEXT_LEN: usize = 3;

/// Returns a patch that makes `decided` of the file that the patch calls `path`, or `None` if there
/// is none. `base` is the file before, or `None` if there is none. To Codex, a byte order mark is
/// the first character of the first line, so a patch can add one, or take it away.
///
/// ```
/// use agent_q_diff_engine::inputs::codex::patch_to;
/// use agent_q_diff_engine::inputs::file_text::FileText;
/// let base = FileText::new("a\nb\n".to_owned());
/// let decided = FileText::new("a\nB\n".to_owned());
/// let patch = patch_to("f", Some(&base), &decided).unwrap();
/// assert_eq!(patch, "*** Begin Patch\n*** Update File: f\n@@\n a\n-b\n+B\n*** End Patch\n");
/// ```
pub fn patch_to(path: &str, base: Option<&FileText>, decided: &FileText) -> Option<String> {
    let wanted = decided.bytes();
    let Some(base) = base else {
        let text = String::from_utf8(wanted).ok()?;
        let lines: String = text.lines().map(|line| format!("+{line}\n")).collect();
        let patch = wrapped(&format!("*** Add File: {path}\n{lines}"));
        return (made(&patch, None)? == text.as_bytes()).then_some(patch);
    };
    let bytes = base.bytes();
    // With all lines around it, every place is certain.
    [CONTEXT_LEN, usize::MAX]
        .into_iter()
        .find_map(|context_len| {
            let chunks = chunks(&bytes, &wanted, context_len);
            let patch = wrapped(&format!("*** Update File: {path}\n{chunks}"));
            (made(&patch, Some(&bytes))? == wanted).then_some(patch)
        })
}

fn wrapped(files: &str) -> String {
    format!("*** Begin Patch\n{files}*** End Patch\n")
}

/// Returns what `patch`, of one file, makes of that; `base` is the file before.
fn made(patch: &str, base: Option<&[u8]>) -> Option<Vec<u8>> {
    let files = parse(patch).ok()?;
    match (&files[..], base) {
        ([file], base) => match (&file.action, base) {
            (Action::Add { text }, _) => Some(text.clone().into_bytes()),
            (Action::Update { chunks, .. }, Some(base)) => updated(base, chunks).ok(),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the chunks that make `decided` of `base`, with `context_len` lines around each.
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
