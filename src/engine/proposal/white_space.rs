//! White space apart from what else changes: hunks in which lines differ only in white space are
//! split there, and a change can be made without that of the white space.
//!
//! What is taken as white space here is decided without being read, so it is only what cannot mean
//! anything else: the same tokens in the same order, with white space between them that means the same
//! in their language (`tokens`). Callers say which language that is, and what of it are strings and
//! comments; without these, lines correspond to lines with the same words, and nothing counts below a
//! line after which a string may go on. Blank lines come or go, but the first line stays the first, and
//! what is right below a comment stays there, since the comment may be about it, or for a program that reads
//! both.

mod tokens;

use std::borrow::Cow;
use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput, Token};
use memchr::memmem::{find, find_iter};

use crate::diff::{Edit, Group, HeadingRule};
use crate::patch::hunk::{Hunk, LineKind};
use crate::text::{Place, Syntax, Text, first_open_line, is_unterminated, without_white_space};

use super::rewrite::original_lines;
use super::{Obstacle, Proposal};

pub use tokens::Spacing;
use tokens::{Kind as TokenKind, Language, Tokens, are_same, is_blank, is_continued};

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
        let names_other = |text| names_other_language(text, self.spacing);
        if self.bare.is_some() || self.texts().into_iter().any(names_other) {
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

    /// Takes what is known of the language of the text: how white space is read in it, and what of the
    /// original and of the modified text are strings and comments. It is forgotten when one of the texts
    /// changes, as when the user edits a hunk.
    pub fn set_language(&mut self, spacing: Option<Spacing>, syntaxes: Option<[Syntax; 2]>) {
        self.spacing = match (spacing, &syntaxes) {
            (Some(Spacing::Tokens), Some(syntaxes)) => {
                let mut sides = self.texts().into_iter().zip(syntaxes);
                let has_markup =
                    sides.any(|(text, syntax)| tokens::has_markup(text.bytes(), syntax));
                Some(if has_markup {
                    Spacing::Margins
                } else {
                    Spacing::Tokens
                })
            }
            _ => spacing,
        };
        self.weave.set_syntaxes(syntaxes);
    }

    /// Returns the original and the modified text if it is not known yet what of them are strings and
    /// comments. Of a bare diff, too little of them is known.
    pub fn texts_without_syntax(&self) -> Option<[&[u8]; 2]> {
        let is_wanted = self.bare.is_none() && self.weave.syntaxes().is_none();
        is_wanted.then(|| self.texts().map(Text::bytes))
    }

    /// Returns the original and the modified text with what of them are strings and comments, if that is
    /// known.
    pub fn syntaxes(&self) -> Option<[(&Text, &Syntax); 2]> {
        let syntaxes = self.weave.syntaxes()?;
        let texts = self.texts();
        Some([0, 1].map(|side| (texts[side], &syntaxes[side])))
    }

    /// Returns the first lines of both texts that may be something else than they seem: a string may go on
    /// there that is not known as one, or Emacs reads them as local variables.
    fn first_doubtful(&self) -> [usize; 2] {
        self.weave.first_doubtful(|texts, syntaxes| {
            [0, 1].map(|side| {
                let text = texts[side];
                let doubtful = match (self.spacing, syntaxes) {
                    (Some(spacing), Some(syntaxes)) => {
                        let doubt = tokens::first_doubt(text.bytes(), &syntaxes[side], spacing);
                        text.line_of(doubt)
                    }
                    _ => first_open_line(text),
                };
                let variables = local_variables(text.bytes());
                variables.map_or(doubtful, |at| doubtful.min(text.line_of(at)))
            })
        })
    }

    /// Returns the lines of `group` in the original and in the modified text, and their pieces.
    fn pieces_of(&self, group: &Group) -> ([Text; 2], Vec<Piece>) {
        let texts = self.texts();
        let starts = [group.before.start, group.after.start];
        let old = original_lines(&self.weave, group.before.clone());
        let new = Text::new(texts[1].lines_bytes(group.after.clone()).to_vec());
        let first_doubtful = self.first_doubtful();
        let lines = [old, new];
        let known = self.spacing.zip(self.weave.syntaxes());
        let language = |side: usize| Language {
            spacing: known.map_or(Spacing::Words, |(spacing, _)| spacing),
            syntax: known.map(|(_, both)| (&both[side], texts[side].start(starts[side]))),
        };
        let sides = Sides {
            tokens: [0, 1].map(|side| Tokens::new(&lines[side], language(side))),
            texts,
            syntaxes: known.map(|(_, both)| both),
            spacing: self.spacing,
            starts,
            n_certain: [0, 1].map(|side| first_doubtful[side].saturating_sub(starts[side])),
        };
        let pieces = sides.pieces();
        (lines, pieces)
    }
}

/// How many bytes at the end of a text may have local variables for Emacs, which reads 3000 characters.
const MAX_LEN_OF_VARIABLES: usize = 12_000;

/// Returns whether `text` says that it is in another language than one with `spacing`: as a script or as XML,
/// or by a mode for Emacs in one of its first two lines or among local variables at its end. Of a Go file with
/// cgo, comments are C.
fn names_other_language(text: &Text, spacing: Option<Spacing>) -> bool {
    let has_mode = |line: &[u8]| {
        let start = find(line, b"-*-").map(|at| at + 3);
        let rest = start.map(|start| line[start..].to_ascii_lowercase());
        let settings = rest
            .as_deref()
            .and_then(|rest| Some(&rest[..find(rest, b"-*-")?]));
        settings.is_some_and(|all| match spacing {
            Some(spacing) if spacing.modes().contains(&all.trim_ascii()) => false,
            _ => sets_mode(all) || !all.contains(&b':'),
        })
    };
    let bytes = text.bytes();
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let variables = local_variables(bytes).map(|at| bytes[at..].to_ascii_lowercase());
    // Rust has attributes that begin so.
    bytes.starts_with(b"#!") && !bytes.starts_with(b"#![")
        || bytes.trim_ascii_start().starts_with(b"<")
        || text.lines(0..text.len().min(2)).any(has_mode)
        || variables.is_some_and(|variables| sets_mode(&variables))
        || matches!(spacing, None | Some(Spacing::Tokens | Spacing::Margins)) && has_cgo(text)
}

/// Returns where the local variables for Emacs begin at the end of `text`, if it may have some.
fn local_variables(text: &[u8]) -> Option<usize> {
    let start = text.len().saturating_sub(MAX_LEN_OF_VARIABLES);
    let end = text[start..].to_ascii_lowercase();
    find(&end, b"local variables:").map(|at| start + at)
}

/// Returns whether `text` may be a Go file that imports "C", in whatever form.
fn has_cgo(text: &Text) -> bool {
    let has = |mark| find(text.bytes(), mark).is_some();
    (has(b"\"C\"") || has(b"`C`"))
        && has(b"import")
        && text
            .lines(0..text.len())
            .any(|line| line.starts_with(b"package"))
}

/// Comments that are read only where they begin: directives of Go and of C, and cookies of Emacs.
const DIRECTIVES: [&[u8]; 6] = [
    b"//go:",
    b"// +build",
    b"//export ",
    b"//line ",
    b"/*line ",
    b";;;###",
];

/// Returns whether `line` of a Lisp file is a heading, or one of its first comments that Emacs reads, like
/// `;; Version: 1.0`. Both are so only at the margin.
fn is_heading_of_lisp(line: &[u8]) -> bool {
    let n_signs = line.iter().take_while(|&&byte| byte == b';').count();
    let name = line[n_signs..].trim_ascii_start();
    let n_name = name.iter().take_while(|byte| is_in_name(byte)).count();
    n_signs > 2 || n_signs > 0 && n_name > 0 && name[n_name..].starts_with(b":")
}

fn is_in_name(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

/// Returns whether `settings`, in lower case, give the variable `mode` a value.
fn sets_mode(settings: &[u8]) -> bool {
    find_iter(settings, b"mode").any(|at| {
        !settings[..at].last().is_some_and(is_in_name)
            && settings[at + 4..].trim_ascii_start().starts_with(b":")
    })
}

/// Most tokens of either side that are compared as such; of more, lines are.
const MAX_TOKENS: usize = 100_000;

/// Lines of two texts.
struct Sides<'a> {
    tokens: [Tokens<'a>; 2],
    /// The texts that they are of, what is known of them, and which of their lines are the first.
    texts: [&'a Text; 2],
    syntaxes: Option<&'a [Syntax; 2]>,
    spacing: Option<Spacing>,
    starts: [usize; 2],
    /// How many lines of each are before one that may be something else than it seems.
    n_certain: [usize; 2],
}

impl Sides<'_> {
    /// Returns the stretches of both, in order; together they have all lines. Each is as small as it can be
    /// where the same tokens begin a line on both sides.
    fn pieces(&self) -> Vec<Piece> {
        let is_small = self.tokens.iter().all(|side| side.all.len() <= MAX_TOKENS);
        let cuts = if is_small {
            self.cuts_at_tokens()
        } else {
            self.cuts_at_lines()
        };
        let mut pieces = Vec::with_capacity(cuts.len());
        let (mut at, mut new_at) = (0, 0);
        for (end, new_end) in cuts {
            // Blank lines can be above something that is on one side only, and below it.
            let (end, new_end) = (end.max(at), new_end.max(new_at));
            if (end, new_end) != (at, new_at) {
                let edit = Edit {
                    before: at..end,
                    after: new_at..new_end,
                };
                let kind = self.kind(&edit);
                pieces.push(Piece { edit, kind });
                (at, new_at) = (end, new_end);
            }
        }
        pieces
    }

    /// Returns the lines before which both sides are cut, as numbers that do not decrease: where lines begin
    /// that are the same but for white space, and after them; and the ends.
    fn cuts_at_lines(&self) -> Vec<(usize, usize)> {
        let texts = [self.tokens[0].text, self.tokens[1].text];
        let key = |line| without_white_space(line).collect::<Vec<u8>>();
        let mut input = InternedInput::<Vec<u8>>::default();
        input.update_before(texts[0].lines(0..texts[0].len()).map(key));
        input.update_after(texts[1].lines(0..texts[1].len()).map(key));
        let mut diff = Diff::compute(Algorithm::Myers, &input);
        diff.postprocess_no_heuristic(&input);
        path(&diff, texts.map(Text::len)).collect()
    }

    /// Returns the lines before which both sides are cut, as [`Sides::cuts_at_lines`]: where the same token
    /// begins a line on both, or what is before or after the same tokens.
    fn cuts_at_tokens(&self) -> Vec<(usize, usize)> {
        let [old, new] = &self.tokens;
        let mut input = InternedInput::<(TokenKind, Cow<[u8]>)>::default();
        input.update_before(old.keys());
        input.update_after(new.keys());
        let mut diff = Diff::compute(Algorithm::Myers, &input);
        let side_of = |tokens: &[Token]| match std::ptr::eq(tokens, &raw const input.before[..]) {
            true => old,
            false => new,
        };
        // Whole lines are added or removed, if that can be.
        let best_end = |tokens: &[Token], hunk: Range<u32>, earliest: u32| {
            let side = side_of(tokens);
            let begins = |at: u32| at as usize == tokens.len() || side.begins_line(at as usize);
            let len = hunk.end - hunk.start;
            let ends = (earliest.max(len)..=hunk.end).rev().take(MAX_SLIDE);
            let mut ends = ends.filter(|&end| begins(end));
            let first = ends.clone().next();
            ends.find(|&end| begins(end - len))
                .or(first)
                .unwrap_or(hunk.end)
        };
        diff.postprocess_with_heuristic(&input, best_end);
        let mut cuts = Vec::new();
        for (at, new_at) in path(&diff, [old.all.len(), new.all.len()]) {
            let is_cut = |side: &Tokens, at: usize| at == side.all.len() || side.begins_line(at);
            if is_cut(old, at) && is_cut(new, new_at) {
                // Blank lines correspond to each other, as far as there are some on both sides.
                let ([from, to], [new_from, new_to]) =
                    (old.lines_before(at), new.lines_before(new_at));
                let n_both = (to - from).min(new_to - new_from);
                cuts.extend((0..=n_both).map(|n| (from + n, new_from + n)));
                cuts.push((to, new_to));
            }
        }
        cuts
    }

    fn kind(&self, edit: &Edit) -> Kind {
        let (before, after) = (edit.before.clone(), edit.after.clone());
        let [old, new] = [self.tokens[0].text, self.tokens[1].text];
        if old.lines_bytes(before.clone()) == new.lines_bytes(after.clone()) {
            return Kind::Same;
        }
        let is_certain = before.end <= self.n_certain[0] && after.end <= self.n_certain[1];
        let above = [(0, before.start), (1, after.start)].map(|(side, start)| {
            let above = (self.starts[side] + start).checked_sub(1);
            above.map_or(&[][..], |above| self.texts[side].line(above))
        });
        let mut lines = above
            .into_iter()
            .chain(old.lines(before.clone()))
            .chain(new.lines(after.clone()));
        let tokens = || Some((self.tokens[0].on(&before)?, self.tokens[1].on(&after)?));
        let is_white = is_certain
            && !lines.any(is_continued)
            && has_same_ends(edit, [old, new], above[0])
            && self.read_lines(0, &before) == self.read_lines(1, &after)
            && self.has_same_below_comments(edit)
            && tokens().is_some_and(|(old, new)| {
                self.has_same_first(&before, &after, &old, &new)
                    && are_same([&self.tokens[0], &self.tokens[1]], old, new)
            });
        if is_white { Kind::White } else { Kind::Other }
    }

    /// Returns what white space means in those of `lines` of a side that programs read as they are, or by
    /// where they begin.
    fn read_lines(&self, side: usize, lines: &Range<usize>) -> Vec<&[u8]> {
        let is_exact = |line: &[u8]| {
            DIRECTIVES.iter().any(|mark| line.starts_with(mark))
                || self.spacing == Some(Spacing::Css) && {
                    let word = line.get(..8).unwrap_or_default();
                    word.eq_ignore_ascii_case(b"@charset")
                }
        };
        let lines = self.tokens[side].text.lines(lines.clone());
        let read = lines.filter_map(|line| {
            let rest = line.trim_ascii_start();
            let margin: &[u8] = if is_blank(&line[0]) { b" " } else { b"" };
            if is_exact(rest) {
                Some(body(line).0)
            } else if self.spacing == Some(Spacing::Lisp) && is_heading_of_lisp(rest) {
                Some(margin)
            } else {
                None
            }
        });
        read.collect()
    }

    /// Returns whether what is right below a comment on lines of its own stays there, and what is not stays
    /// apart.
    fn has_same_below_comments(&self, edit: &Edit) -> bool {
        let sides = [(0, &edit.before), (1, &edit.after)].map(|(side, lines)| {
            let text = self.texts[side];
            let [start, end] = [lines.start, lines.end].map(|line| self.starts[side] + line);
            let is_empty = |&at: &usize| text.line(at).trim_ascii().is_empty();
            let below = |at: usize| (at..text.len()).take_while(is_empty).count();
            let above = |at: usize| (0..at).rev().take_while(is_empty).count();
            let [head, tail] = [below(start).min(end - start), above(end).min(end - start)];
            // Whether something is apart from the comment that ends above `at`; `None` if there is none.
            let apart = |at: usize| {
                let comment = (at - above(at)).checked_sub(1)?;
                let is_last = at + below(at) == text.len();
                let is_comment = self.is_comment(side, comment) && !is_last;
                is_comment.then(|| above(at) + below(at) > 0)
            };
            let inside = (start + head..end - tail.min(end - start - head)).skip(1);
            let inside: Vec<bool> = inside
                .filter(|at| !is_empty(at))
                .filter_map(apart)
                .collect();
            (inside, [(head, apart(start)), (tail, apart(end))])
        });
        let [(old, old_ends), (new, new_ends)] = sides;
        // Blank lines are the same at an end, or make no difference there.
        let is_same = |(old, new): ((usize, _), (usize, _))| old.0 == new.0 || old.1 == new.1;
        old == new && old_ends.into_iter().zip(new_ends).all(is_same)
    }

    /// Returns whether the line `at` of a text is a comment, or a part of one, and nothing else.
    fn is_comment(&self, side: usize, at: usize) -> bool {
        const MARKS: [&[u8]; 6] = [b"//", b"/*", b"*", b"#", b";", b"--"];
        let text = self.texts[side];
        let (line, words) = (text.line(at), text.line(at).trim_ascii());
        let start = text.start(at) + line.len() - line.trim_ascii_start().len();
        match self.syntaxes {
            Some(syntaxes) => [start, start + words.len().saturating_sub(1)]
                .iter()
                .all(|&byte| syntaxes[side].place(byte) == Place::Comment),
            None => MARKS.iter().any(|mark| words.starts_with(mark)) || words.ends_with(b"*/"),
        }
    }

    /// Returns whether the first line of the text that is not blank stays where it is, which tells Emacs and
    /// others what the file is.
    fn has_same_first(
        &self,
        before: &Range<usize>,
        after: &Range<usize>,
        old: &Range<usize>,
        new: &Range<usize>,
    ) -> bool {
        let is_first = |side: usize, start: usize| self.starts[side] + start == 0;
        let line = |side: usize, tokens: &Range<usize>, end: usize| match tokens.is_empty() {
            true => end,
            false => self.tokens[side].all[tokens.start].line,
        };
        !(is_first(0, before.start) || is_first(1, after.start))
            || line(0, old, before.end) - before.start == line(1, new, after.end) - after.start
    }
}

/// Most tokens by which what is added or removed is moved to where whole lines are.
const MAX_SLIDE: usize = 1_000;

/// Returns the pairs of places between the items of both sides, which have `lens`, that the path of `diff`
/// goes through, without those inside what differs; the ends are among them.
fn path(diff: &Diff, lens: [usize; 2]) -> impl Iterator<Item = (usize, usize)> {
    let ends = diff.hunks().map(|hunk| {
        let usize_range = |range: Range<u32>| range.start as usize..range.end as usize;
        (usize_range(hunk.before), usize_range(hunk.after))
    });
    let end = std::iter::once((lens[0]..lens[0], lens[1]..lens[1]));
    let (mut at, mut new_at) = (0, 0);
    ends.chain(end).flat_map(move |(before, after)| {
        let same = (at..=before.start).zip(new_at..=after.start);
        (at, new_at) = (before.end, after.end);
        same
    })
}

/// Returns whether the lines of `edit` of both texts have the same line ends, where they could differ;
/// those of blank lines that come or go are those of the line `above`.
fn has_same_ends(edit: &Edit, texts: [&Text; 2], above: &[u8]) -> bool {
    let (before, after) = (edit.before.clone(), edit.after.clone());
    if before.len() == 1 && after.len() == 1 {
        return body(texts[0].line(before.start)).1 == body(texts[1].line(after.start)).1;
    }
    let ends = |text: &'_ Text, lines: Range<usize>| -> Vec<Vec<u8>> {
        text.lines(lines)
            .map(|line| body(line).1.to_vec())
            .collect()
    };
    let (old, new) = (ends(texts[0], before), ends(texts[1], after));
    let expected = match (old.first(), body(above).1) {
        (Some(end), _) if !end.is_empty() => end.clone(),
        (_, end) if !above.is_empty() => end.to_vec(),
        _ => b"\n".to_vec(),
    };
    // The last line of a text may have none.
    let is_open = |ends: &[Vec<u8>]| ends.last().is_some_and(Vec::is_empty);
    let n_open = usize::from(is_open(&old) && is_open(&new));
    let all = old[..old.len() - n_open.min(old.len())].iter();
    let all = all.chain(&new[..new.len() - n_open.min(new.len())]);
    all.into_iter().all(|end| *end == expected)
}

/// Returns `line` without its line end, and that.
fn body(line: &[u8]) -> (&[u8], &[u8]) {
    let ends: [&[u8]; 2] = [b"\r\n", b"\n"];
    let end = ends.iter().find(|end| line.ends_with(end));
    line.split_at(line.len() - end.map_or(0, |end| end.len()))
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
