//! A diff as typed lines (a line, its kind, its numbers), for clients that show edits.
//!
//! Programs that display an edit in their own way get this instead of unified diff text. Time and
//! space are those of [`crate::diff`].

use std::ops::Range;

use crate::diff::{Edit, edits, group, hunk};
use crate::patch::hunk::{Hunk, LineKind, range_start};
use crate::text::n_newlines;
use crate::text::{Text, is_unterminated};
use crate::tool::replacement::Replacement;

/// The kind of a typed line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A hunk header.
    Hunk,
    /// In both texts.
    Context,
    /// In the new text only.
    Added,
    /// In the old text only.
    Removed,
    /// The marker saying that the line above has no newline.
    NoNewline,
}

/// One line of a typed diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypedLine {
    /// Its kind.
    pub kind: Kind,
    /// Its number in the original (1-based), or 0 if it is not there.
    pub old_number: usize,
    /// Its number in the modified text (1-based), or 0 if it is not there.
    pub new_number: usize,
    /// The line without its sign and newline; a CR before the newline is kept.
    pub text: Vec<u8>,
}

/// Returns the diff from `original` to `modified`, with `context_len` unchanged lines around each
/// change.
///
/// ```
/// use agent_q_diff_engine::tool::diff_lines::{Kind, typed_lines};
/// let lines = typed_lines(b"a\nb\n".to_vec(), b"a\nB\n".to_vec(), 3);
/// let seen: Vec<_> = lines.iter().map(|l| (l.kind, l.old_number, l.new_number)).collect();
/// assert_eq!(lines[0].text, b"@@ -1,2 +1,2 @@");
/// assert_eq!(seen[1..], [(Kind::Context, 1, 1), (Kind::Removed, 2, 0), (Kind::Added, 0, 2)]);
/// ```
pub fn typed_lines(original: Vec<u8>, modified: Vec<u8>, context_len: usize) -> Vec<TypedLine> {
    let (original, modified) = (Text::new(original), Text::new(modified));
    let edits = edits(&original, &modified);
    lines_of(&original, &modified, &edits, context_len)
}

/// Returns the diff that `replacement` makes in `text`, with `context_len` unchanged lines around
/// each change.
///
/// Only the replaced lines are compared with those that replace them, so the diff never covers more
/// than the replacement.
pub fn typed_replacement(
    text: &[u8],
    replacement: &Replacement<'_>,
    context_len: usize,
) -> Vec<TypedLine> {
    let (original, modified) = (Text::new(text.to_vec()), Text::new(replacement.apply(text)));
    let edits: Vec<_> = blocks(&original, &modified, replacement)
        .iter()
        .flat_map(|block| edits_in(&original, &modified, block))
        .collect();
    lines_of(&original, &modified, &edits, context_len)
}

/// Returns the diff for `edits`.
fn lines_of(
    original: &Text,
    modified: &Text,
    edits: &[Edit],
    context_len: usize,
) -> Vec<TypedLine> {
    let mut lines = Vec::new();
    for group in &group(edits, original.len(), context_len) {
        put_hunk(&hunk(group, edits, original, modified, b""), &mut lines);
    }
    lines
}

/// Returns the runs of whole lines that `replacement` touches, each pair separated by at least one
/// line that it does not touch.
fn blocks(original: &Text, modified: &Text, replacement: &Replacement<'_>) -> Vec<Edit> {
    let n_new = n_newlines(&replacement.new);
    let (mut added, mut removed) = (0, 0);
    let mut blocks: Vec<Edit> = Vec::new();
    for found in &replacement.matches {
        let n_old = n_newlines(&original.bytes()[found.bytes.clone()]);
        let before = found.line..found.line + n_old + 1;
        let after = before.start + added - removed..before.start + added - removed + n_new + 1;
        added += n_new;
        removed += n_old;
        match blocks.last_mut() {
            Some(last) if last.before.end >= before.start => {
                last.before.end = before.end;
                last.after.end = after.end;
            }
            _ => blocks.push(Edit { before, after }),
        }
    }
    if let Some(last) = blocks.last_mut() {
        // Bytes after the last newline make a line; nothing after it is no line.
        last.before.end = last.before.end.min(original.len());
        last.after.end = last.after.end.min(modified.len());
    }
    blocks
}

/// Returns the edits within `block`, a pair of runs of whole lines.
fn edits_in(original: &Text, modified: &Text, block: &Edit) -> Vec<Edit> {
    let part = |text: &Text, range: &Range<usize>| {
        let start = range.start.min(range.end);
        Text::new(text.lines_bytes(start..range.end).to_vec())
    };
    let inner = edits(
        &part(original, &block.before),
        &part(modified, &block.after),
    );
    let moved = |range: Range<usize>, by: usize| range.start + by..range.end + by;
    let (before, after) = (block.before.start, block.after.start);
    let moved = inner.into_iter().map(|edit| Edit {
        before: moved(edit.before, before.min(original.len())),
        after: moved(edit.after, after.min(modified.len())),
    });
    moved.collect()
}

fn put_hunk(hunk: &Hunk<'_>, lines: &mut Vec<TypedLine>) {
    let (before, after) = (&hunk.before, &hunk.after);
    let header = format!(
        "@@ -{},{} +{},{} @@",
        range_start(before),
        before.len(),
        range_start(after),
        after.len(),
    );
    let unnumbered = |kind, text: &[u8]| TypedLine {
        kind,
        old_number: 0,
        new_number: 0,
        text: text.to_vec(),
    };
    lines.push(unnumbered(Kind::Hunk, header.as_bytes()));
    let (mut old_next, mut new_next) = (range_start(before), range_start(after));
    let take = |next: &mut usize, is_there| {
        let number = if is_there { *next } else { 0 };
        *next += usize::from(is_there);
        number
    };
    for line in &hunk.lines {
        lines.push(TypedLine {
            kind: match line.kind {
                LineKind::Context => Kind::Context,
                LineKind::Removed => Kind::Removed,
                LineKind::Added => Kind::Added,
            },
            old_number: take(&mut old_next, line.kind != LineKind::Added),
            new_number: take(&mut new_next, line.kind != LineKind::Removed),
            text: line.text.strip_suffix(b"\n").unwrap_or(line.text).to_vec(),
        });
        if is_unterminated(line.text) {
            lines.push(unnumbered(Kind::NoNewline, b"\\ No newline at end of file"));
        }
    }
}
