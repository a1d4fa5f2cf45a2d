//! White space apart from what else changes: hunks in which lines differ only in white space are
//! split there, and a change can be made without that of the white space.
//!
//! Lines correspond if they are the same but for ASCII white space. They are found by a comparison
//! without it (Myers), so lines that a formatter has broken in two, or joined, correspond as well
//! where nothing else changes between them.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput};

use crate::diff::{Edit, Group};
use crate::text::{Text, is_unterminated, without_white_space};

use super::rewrite::original_lines;
use super::{Obstacle, Proposal};

/// A stretch of lines of two texts.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Piece {
    edit: Edit,
    kind: Kind,
}

/// How the lines of a [`Piece`] differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Not at all.
    Same,
    /// In white space only.
    White,
    /// Otherwise, too.
    Other,
}

impl Proposal {
    /// Splits hunk `hunk` where lines that differ only in white space are next to others, and returns
    /// the number of its parts; 1 if it has only one kind of lines, or is a bare diff's.
    ///
    /// # Errors
    ///
    /// If others have changed its lines. Then nothing has changed.
    pub(crate) fn split_white_space(&mut self, hunk: usize) -> Result<usize, Obstacle> {
        let (is_in, is_out) = (self.is_in(hunk), self.is_out(hunk));
        if self.bare.is_some() || is_in == is_out {
            return Ok(1);
        }
        let group = self.hunks.group(hunk).clone();
        let (old, new) = self.texts_of(&group);
        let mut changes = pieces(&old, &new);
        changes.retain(|piece| piece.kind != Kind::Same);
        let begins = |at: &usize| *at == 0 || changes[at - 1].kind != changes[*at].kind;
        let firsts: Vec<usize> = (0..changes.len()).filter(begins).collect();
        if firsts.len() < 2 || self.untouched(hunk, &group)?.is_none() {
            return Ok(1);
        }
        let edits: Vec<Edit> = changes.into_iter().map(|piece| piece.edit).collect();
        self.divide(hunk, &group, (&old, &new), &edits, is_in);
        let first = group.edits.start;
        let firsts: Vec<usize> = firsts.iter().map(|at| first + at).collect();
        self.regroup(hunk, &firsts);
        Ok(firsts.len())
    }

    /// Returns the lines that hunk `hunk` would leave, including its context, without its changes of
    /// white space: lines that differ in nothing else stay as they are, and a line that replaces
    /// another keeps the white space around that. `None` if lines replace more or fewer others, so that
    /// they have no counterparts.
    pub(crate) fn without_white_space(&self, hunk: usize) -> Option<Vec<u8>> {
        let (old, new) = self.texts_of(self.hunks.group(hunk));
        let mut text = Vec::new();
        for Piece { edit, kind } in pieces(&old, &new) {
            let Edit { before, after } = edit;
            // The last line of the original may have no line end, and get others below.
            let goes_on = match kind {
                Kind::Other => !after.is_empty(),
                _ => !before.is_empty(),
            };
            if goes_on && !text.is_empty() && is_unterminated(&text) {
                let has_cr = new.bytes().ends_with(b"\r\n") || text.contains(&b'\r');
                text.extend_from_slice(if has_cr { b"\r\n" } else { b"\n" });
            }
            match kind {
                Kind::Same | Kind::White => text.extend_from_slice(old.lines_bytes(before)),
                Kind::Other if before.is_empty() || after.is_empty() => {
                    text.extend_from_slice(new.lines_bytes(after));
                }
                Kind::Other if before.len() == after.len() => {
                    for (old, new) in old.lines(before).zip(new.lines(after)) {
                        text.extend(with_margins(old, new));
                    }
                }
                Kind::Other => return None,
            }
        }
        Some(text)
    }

    fn texts_of(&self, group: &Group) -> (Text, Text) {
        let old = original_lines(&self.weave, group.before.clone());
        let new = self.weave.modified().lines_bytes(group.after.clone());
        (old, Text::new(new.to_vec()))
    }
}

/// Returns the stretches of `old` and `new`, in order; together they have all lines of both.
fn pieces(old: &Text, new: &Text) -> Vec<Piece> {
    let key = |line| without_white_space(line).collect::<Vec<u8>>();
    let mut input = InternedInput::<Vec<u8>>::default();
    input.update_before(old.lines(0..old.len()).map(key));
    input.update_after(new.lines(0..new.len()).map(key));
    let mut diff = Diff::compute(Algorithm::Myers, &input);
    diff.postprocess_no_heuristic(&input);
    let mut pieces = Vec::new();
    let (mut at, mut new_at) = (0, 0);
    let n_old = old.len();
    let hunks = diff.hunks().map(|hunk| {
        let usize_range = |range: Range<u32>| range.start as usize..range.end as usize;
        (usize_range(hunk.before), usize_range(hunk.after))
    });
    let end = std::iter::once((n_old..n_old, new.len()..new.len()));
    for (before, after) in hunks.chain(end) {
        while at < before.start {
            let (old_line, new_line) = (at..at + 1, new_at..new_at + 1);
            let is_same = old.lines_bytes(old_line.clone()) == new.lines_bytes(new_line.clone());
            let kind = if is_same { Kind::Same } else { Kind::White };
            push(&mut pieces, kind, old_line, new_line);
            (at, new_at) = (at + 1, new_at + 1);
        }
        if !before.is_empty() || !after.is_empty() {
            let removed = without_white_space(old.lines_bytes(before.clone()));
            let added = without_white_space(new.lines_bytes(after.clone()));
            let is_white = removed.eq(added);
            let kind = if is_white { Kind::White } else { Kind::Other };
            (at, new_at) = (before.end, after.end);
            push(&mut pieces, kind, before, after);
        }
    }
    pieces
}

/// Adds the lines `before` and `after` to `pieces`, to the last one if that is of the same `kind`.
fn push(pieces: &mut Vec<Piece>, kind: Kind, before: Range<usize>, after: Range<usize>) {
    match pieces.last_mut() {
        Some(last) if last.kind == kind => {
            last.edit.before.end = before.end;
            last.edit.after.end = after.end;
        }
        _ => pieces.push(Piece {
            edit: Edit { before, after },
            kind,
        }),
    }
}

/// Returns the line `new` with the white space that is around `old`; with its own if `old` is blank.
fn with_margins(old: &[u8], new: &[u8]) -> Vec<u8> {
    if old.trim_ascii().is_empty() {
        return new.to_vec();
    }
    let head = &old[..old.len() - old.trim_ascii_start().len()];
    let tail = &old[old.trim_ascii_end().len()..];
    [head, new.trim_ascii(), tail].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(old: &str, new: &str) -> Vec<String> {
        let text = |text: &str| Text::new(text.as_bytes().to_vec());
        let pieces = pieces(&text(old), &text(new));
        let shown = pieces
            .iter()
            .map(|Piece { edit, kind }| format!("{kind:?} {:?} {:?}", edit.before, edit.after));
        shown.collect()
    }

    #[test]
    fn lines_that_differ_only_in_white_space_correspond() {
        assert_eq!(
            shown("a\nb\nc\nd\n", "  a\n\tb\nx\n  d\n"),
            ["White 0..2 0..2", "Other 2..3 2..3", "White 3..4 3..4"]
        );
        assert_eq!(
            shown("a\nb\n", "a\n b\n"),
            ["Same 0..1 0..1", "White 1..2 1..2"]
        );
        // A line that was broken in two, and blank lines.
        assert_eq!(shown("f(a, b)\n", "f(a,\n  b)\n"), ["White 0..1 0..2"]);
        assert_eq!(
            shown("a\n\nb\n", "a\nb\n"),
            ["Same 0..1 0..1", "White 1..2 1..1", "Same 2..3 1..2"]
        );
        assert_eq!(shown("a b\n", "ab\n"), ["White 0..1 0..1"]);
    }

    #[test]
    fn a_line_keeps_the_margins_of_the_one_that_it_replaces() {
        let with = |old: &str, new: &str| {
            String::from_utf8(with_margins(old.as_bytes(), new.as_bytes())).unwrap()
        };
        assert_eq!(with("    old();\n", "\tnew();\n"), "    new();\n");
        assert_eq!(with("old();  \r\n", "  new();\n"), "new();  \r\n");
        assert_eq!(with("  \n", "\tx\n"), "\tx\n");
        assert_eq!(with("  x\n", "\t\n"), "  \n");
        assert_eq!(with("old", "  new\n"), "new");
    }
}
