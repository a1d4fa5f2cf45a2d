//! White space apart from what else changes: hunks in which lines differ only in white space are
//! split there, and a change can be made without that of the white space.
//!
//! What is taken as white space here is decided without being read, so it is only what cannot mean
//! anything else. Each changed line corresponds to one line, in order among the lines that stay; both
//! have the same words, with blanks between them where the other has some; only blanks at the ends
//! differ, or those between words if nothing can be a string there. Blank lines come or go. Nothing
//! counts below a line after which a string may go on, or that is continued. No language is known
//! here: callers leave out all files but those in languages that are known to ignore white space.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput};
use memchr::memmem::{find, find_iter};

use crate::diff::{Edit, Group, HeadingRule};
use crate::patch::hunk::{Hunk, LineKind};
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
    /// In white space only, which means nothing there.
    White,
    /// Otherwise, too, or perhaps.
    Other,
}

impl Proposal {
    /// Returns the hunks that change only white space, which means nothing there. Of a bare diff there
    /// are none, since too little of the text is known, and neither of a text that names its language.
    pub fn white_space_hunks(&self) -> Vec<usize> {
        let texts = [self.weave.original(), self.weave.modified()];
        if self.bare.is_some() || texts.into_iter().any(names_its_language) {
            return Vec::new();
        }
        let hunks = self.hunks(HeadingRule::Default);
        let has_same_words = (0..hunks.len()).filter(|&hunk| has_same_words(&hunks[hunk]));
        let is_white = |&hunk: &usize| {
            let (_, pieces) = self.pieces_of(self.hunks.group(hunk));
            pieces.iter().all(|piece| piece.kind != Kind::Other)
        };
        has_same_words.filter(is_white).collect()
    }

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
        let ([old, new], pieces) = self.pieces_of(&group);
        let mut changes = joined(pieces);
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
        let ([old, new], pieces) = self.pieces_of(self.hunks.group(hunk));
        let mut text = Vec::new();
        for Piece { edit, kind } in pieces {
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

    /// Returns the lines of `group` in the original and in the modified text, and their pieces.
    fn pieces_of(&self, group: &Group) -> ([Text; 2], Vec<Piece>) {
        let (original, modified) = (self.weave.original(), self.weave.modified());
        let old = original_lines(&self.weave, group.before.clone());
        let new = Text::new(modified.lines_bytes(group.after.clone()).to_vec());
        let [open_old, open_new] = self.weave.first_open();
        let above = |text: &'_ Text, start: usize| match start {
            0 => Vec::new(),
            start => text.line(start - 1).to_vec(),
        };
        let sides = Sides {
            old: &old,
            new: &new,
            above: [
                above(original, group.before.start),
                above(modified, group.after.start),
            ],
            n_certain: [
                open_old.saturating_sub(group.before.start),
                open_new.saturating_sub(group.after.start),
            ],
        };
        let pieces = sides.pieces();
        ([old, new], pieces)
    }
}

/// How many bytes at the end of a text may have local variables for Emacs, which reads 3000 characters.
const MAX_LEN_OF_VARIABLES: usize = 12_000;

/// Returns whether `text` says in which language it is, so that its file's name need not: as a script or
/// as XML, by a mode for Emacs in one of its first two lines or among local variables at its end, or by
/// what only Go reads, to which the lines next to it matter.
fn names_its_language(text: &Text) -> bool {
    let has_mode = |line: &[u8]| {
        let start = find(line, b"-*-").map(|at| at + 3);
        let rest = start.map(|start| line[start..].to_ascii_lowercase());
        let settings = rest
            .as_deref()
            .and_then(|rest| Some(&rest[..find(rest, b"-*-")?]));
        settings.is_some_and(|all| sets_mode(all) || !all.contains(&b':'))
    };
    let bytes = text.bytes();
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let end = bytes[bytes.len().saturating_sub(MAX_LEN_OF_VARIABLES)..].to_ascii_lowercase();
    let variables = find(&end, b"local variables:").map(|at| &end[at..]);
    bytes.starts_with(b"#!")
        || bytes.trim_ascii_start().starts_with(b"<")
        || text.lines(0..text.len().min(2)).any(has_mode)
        || variables.is_some_and(sets_mode)
        || GO_DIRECTIVES.iter().any(|mark| find(bytes, mark).is_some())
}

/// Comments of Go that are read by where they begin, or by whether a blank line is next to them.
const GO_DIRECTIVES: [&[u8]; 5] = [
    b"import \"C\"",
    b"//go:",
    b"// +build",
    b"//export ",
    b"//line ",
];

/// Returns whether `settings`, in lower case, give the variable `mode` a value.
fn sets_mode(settings: &[u8]) -> bool {
    let is_in_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    find_iter(settings, b"mode").any(|at| {
        !settings[..at].last().is_some_and(is_in_name)
            && settings[at + 4..].trim_ascii_start().starts_with(b":")
    })
}

/// Lines of two texts.
struct Sides<'a> {
    old: &'a Text,
    new: &'a Text,
    /// The line above each; empty if there is none.
    above: [Vec<u8>; 2],
    /// How many lines of each are before one after which a string may go on.
    n_certain: [usize; 2],
}

impl Sides<'_> {
    /// Returns the stretches of both, in order; together they have all lines. Each is one line of both,
    /// or lines that have no counterparts.
    fn pieces(&self) -> Vec<Piece> {
        let (old, new) = (self.old, self.new);
        let key = |line| without_white_space(line).collect::<Vec<u8>>();
        let mut input = InternedInput::<Vec<u8>>::default();
        input.update_before(old.lines(0..old.len()).map(key));
        input.update_after(new.lines(0..new.len()).map(key));
        let mut diff = Diff::compute(Algorithm::Myers, &input);
        diff.postprocess_no_heuristic(&input);
        let mut pieces = Vec::new();
        let mut push = |before, after| {
            let edit = Edit { before, after };
            let kind = self.kind(&edit);
            pieces.push(Piece { edit, kind });
        };
        let (mut at, mut new_at) = (0, 0);
        let hunks = diff.hunks().map(|hunk| {
            let usize_range = |range: Range<u32>| range.start as usize..range.end as usize;
            (usize_range(hunk.before), usize_range(hunk.after))
        });
        let end = std::iter::once((old.len()..old.len(), new.len()..new.len()));
        for (before, after) in hunks.chain(end) {
            while at < before.start {
                push(at..at + 1, new_at..new_at + 1);
                (at, new_at) = (at + 1, new_at + 1);
            }
            (at, new_at) = (before.end, after.end);
            if !before.is_empty() || !after.is_empty() {
                push(before, after);
            }
        }
        pieces
    }

    fn kind(&self, edit: &Edit) -> Kind {
        let (before, after) = (edit.before.clone(), edit.after.clone());
        if self.old.lines_bytes(before.clone()) == self.new.lines_bytes(after.clone()) {
            return Kind::Same;
        }
        let is_certain = before.end <= self.n_certain[0] && after.end <= self.n_certain[1];
        let above = [
            line_above(self.old, before.start, &self.above[0]),
            line_above(self.new, after.start, &self.above[1]),
        ];
        if !is_certain || above.iter().any(|line| is_continued(body(line).0)) {
            return Kind::Other;
        }
        let is_white = if before.len() == 1 && after.len() == 1 {
            is_same_but_for_blanks(self.old.line(before.start), self.new.line(after.start))
        } else {
            // With the line ends that are there already.
            let (_, line_end) = body(above[0]);
            let mut lines = self.old.lines(before).chain(self.new.lines(after));
            lines.all(|line| {
                let (body, own) = body(line);
                body.iter().all(is_blank)
                    && (own == line_end || above[0].is_empty() && own == b"\n")
            })
        };
        if is_white { Kind::White } else { Kind::Other }
    }
}

/// Returns the line of `text` before line `at`, which is `above` if that is the first.
fn line_above<'a>(text: &'a Text, at: usize, above: &'a [u8]) -> &'a [u8] {
    at.checked_sub(1).map_or(above, |at| text.line(at))
}

/// Returns `line` without its line end, and that.
fn body(line: &[u8]) -> (&[u8], &[u8]) {
    let ends: [&[u8]; 2] = [b"\r\n", b"\n"];
    let end = ends.iter().find(|end| line.ends_with(end));
    line.split_at(line.len() - end.map_or(0, |end| end.len()))
}

fn is_blank(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Returns `body`, a line without its end, without the blanks around it.
fn without_margins(body: &[u8]) -> &[u8] {
    let Some(start) = body.iter().position(|byte| !is_blank(byte)) else {
        return &[];
    };
    let last = body.iter().rposition(|byte| !is_blank(byte));
    &body[start..=last.expect("there is a first one")]
}

/// Returns whether the line with `body` goes on in the next one.
fn is_continued(body: &[u8]) -> bool {
    without_margins(body).ends_with(b"\\")
}

/// What may make text of the blanks on its line: quotes, what begins a character or a symbol in Lisp or a
/// comment, and slashes, as of a regular expression.
const TEXT: &[u8] = b"\"'`\\/?$|#";

/// Returns whether the lines `old` and `new` have the same words, with blanks between the same of them,
/// and so that these blanks mean nothing: they differ only around what is there, or nothing there can
/// be part of a string, a character, a regular expression or a comment.
fn is_same_but_for_blanks(old: &[u8], new: &[u8]) -> bool {
    let ((old, old_end), (new, new_end)) = (body(old), body(new));
    let words = |body| <[u8]>::split(body, is_blank).filter(|word| !word.is_empty());
    let inside = without_margins(old);
    let has_same_inside = inside == without_margins(new);
    let has_text = inside.iter().any(|byte| TEXT.contains(byte));
    // A blank at the end is a character in Lisp there.
    let has_same_end = !inside.ends_with(b"?") || old.ends_with(b"?") && new.ends_with(b"?");
    old_end == new_end
        && !is_continued(old)
        && has_same_end
        && (has_same_inside || words(old).eq(words(new)) && !has_text)
}

/// Returns whether the changed lines of `hunk` are the same without white space.
fn has_same_words(hunk: &Hunk) -> bool {
    let side = |kind| {
        let lines = hunk.lines.iter().filter(move |line| line.kind == kind);
        lines.flat_map(|line| without_white_space(line.text))
    };
    side(LineKind::Removed).eq(side(LineKind::Added))
}

/// Joins those of `pieces` that follow each other and are of one kind.
fn joined(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut joined: Vec<Piece> = Vec::new();
    for piece in pieces {
        match joined.last_mut() {
            Some(last) if last.kind == piece.kind => {
                last.edit.before.end = piece.edit.before.end;
                last.edit.after.end = piece.edit.after.end;
            }
            _ => joined.push(piece),
        }
    }
    joined
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
mod tests;
