//! Lines as tokens, with what is between them: whether two texts differ only in white space that means
//! nothing in their language.
//!
//! What is a string or a comment says an editor's [`Syntax`]; what else is one token is decided here, so
//! that in doubt two are one, or cannot be parted: a line can be one token, as that of a preprocessor.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr2;
use memchr::memmem::find;

use crate::text::{Place, Span, Syntax, Text, without_white_space};

/// How white space is read in a language that is known to ignore some of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spacing {
    /// Only around what is on a line means it nothing.
    Margins,
    /// How much of it there is between words means nothing; where it is, and line breaks, may.
    Words,
    /// As in Go and JavaScript: between tokens it means nothing, but line breaks do.
    Tokens,
    /// As in Java and JSON: line breaks are white space, too.
    Statements,
    /// As [`Spacing::Statements`], with strings that may go on in the next line.
    Rust,
    /// As [`Spacing::Statements`], with lines for a preprocessor.
    C,
    /// It divides words, and combines selectors.
    Css,
    /// It divides what is not divided by brackets.
    Lisp,
}

impl Spacing {
    /// Returns the one that is called `name`; see `agent-q-diff-white-space-free` in Lisp.
    pub fn named(name: &str) -> Option<Spacing> {
        Some(match name {
            "margins" => Spacing::Margins,
            "words" => Spacing::Words,
            "tokens" => Spacing::Tokens,
            "statements" => Spacing::Statements,
            "rust" => Spacing::Rust,
            "c" => Spacing::C,
            "css" => Spacing::Css,
            "lisp" => Spacing::Lisp,
            _ => return None,
        })
    }

    /// Returns the modes with it that are named most in texts themselves.
    pub(super) fn modes(self) -> &'static [&'static [u8]] {
        match self {
            Spacing::C => &[b"c", b"c++", b"objc"],
            Spacing::Lisp => &[b"lisp", b"emacs-lisp", b"scheme", b"clojure"],
            Spacing::Rust => &[b"rust"],
            Spacing::Statements => &[b"java"],
            Spacing::Tokens => &[b"js", b"javascript", b"go"],
            Spacing::Css => &[b"css", b"scss"],
            Spacing::Margins | Spacing::Words => &[],
        }
    }

    /// Returns whether a line break is like any other white space.
    fn breaks(self) -> bool {
        !matches!(self, Spacing::Margins | Spacing::Words | Spacing::Tokens)
    }

    /// Returns the characters that are tokens by themselves.
    fn signs(self) -> &'static [u8] {
        match self {
            Spacing::Margins | Spacing::Words => b"",
            Spacing::Css => b"{}();,:",
            Spacing::Lisp => b"()[]",
            _ => b"!%&()*+,-./:;<=>?[]^{|}~",
        }
    }
}

/// What is between a token and the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Gap {
    Nothing,
    Blanks,
    Break,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    #[default]
    Word,
    /// One of [`Spacing::signs`].
    Sign,
    String,
    Comment,
    /// All of a line, or of several that belong together.
    Line,
}

/// What cannot be divided by white space without meaning something else.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token {
    /// Its bytes in the lines.
    pub start: usize,
    pub end: usize,
    pub kind: Kind,
    /// What is before it.
    pub gap: Gap,
    /// The line on which it begins, and the one on which it ends.
    pub line: usize,
    pub last_line: usize,
}

/// What is known of the language of some lines.
#[derive(Clone, Copy)]
pub(super) struct Language<'a> {
    pub spacing: Spacing,
    /// The syntax of the text that the lines are of, and the byte of it with which they begin; `None` if
    /// nobody knows.
    pub syntax: Option<(&'a Syntax, usize)>,
}

/// The tokens of lines.
pub(super) struct Tokens<'a> {
    pub text: &'a Text,
    pub all: Vec<Token>,
    spacing: Spacing,
    is_known: bool,
}

impl<'a> Tokens<'a> {
    pub fn new(text: &'a Text, language: Language<'_>) -> Tokens<'a> {
        let mut scanner = Scanner {
            bytes: text.bytes(),
            language,
            at: 0,
            line: 0,
            n_checked: 0,
        };
        Tokens {
            text,
            all: std::iter::from_fn(|| scanner.next_token()).collect(),
            spacing: language.spacing,
            is_known: language.syntax.is_some(),
        }
    }

    pub fn bytes(&self, token: &Token) -> &'a [u8] {
        &self.text.bytes()[token.start..token.end]
    }

    /// Returns for each token what tells it from others, apart from white space that means nothing in it.
    pub fn keys(&self) -> impl Iterator<Item = (Kind, Cow<'a, [u8]>)> {
        self.all.iter().map(|token| {
            let bytes = self.bytes(token);
            let key = match token.kind {
                Kind::Comment if bytes.contains(&b'\n') => {
                    Cow::Owned(without_white_space(bytes).collect())
                }
                Kind::Line if bytes.starts_with(b"#") => Cow::Owned(directive(bytes)),
                _ => Cow::Borrowed(bytes),
            };
            (token.kind, key)
        })
    }

    /// Returns the first and the last of the places between lines that are also before the token `at`, and
    /// after the one before it; blank lines are between them.
    pub fn lines_before(&self, at: usize) -> [usize; 2] {
        let above = at.checked_sub(1).map(|above| &self.all[above]);
        let from = above
            .map_or(0, |token| token.last_line + 1)
            .min(self.text.len());
        let to = self.all.get(at).map_or(self.text.len(), |token| token.line);
        [from, to]
    }

    /// Returns the tokens that begin on `lines`; `None` if one of them, or of others, is also on a line
    /// that is not among them.
    pub fn on(&self, lines: &Range<usize>) -> Option<Range<usize>> {
        let from = self.all.partition_point(|token| token.line < lines.start);
        let to = self.all.partition_point(|token| token.line < lines.end);
        let is_within = |at: Option<usize>, end: usize| {
            at.is_none_or(|at| self.all[at].last_line < end || self.all[at].line >= end)
        };
        let is_whole =
            is_within(from.checked_sub(1), lines.start) && is_within(to.checked_sub(1), lines.end);
        is_whole.then_some(from..to)
    }

    /// Returns whether the token `at` is the first on its line, and none goes on there.
    pub fn begins_line(&self, at: usize) -> bool {
        let is_below = |before: usize| self.all[before].last_line < self.all[at].line;
        at.checked_sub(1).is_none_or(is_below)
    }
}

/// Returns whether the tokens `old` and `new` of both are the same, with white space between them that
/// means the same.
pub(super) fn are_same(sides: [&Tokens; 2], old: Range<usize>, new: Range<usize>) -> bool {
    let spacing = sides[0].spacing;
    old.len() == new.len()
        && old.clone().zip(new.clone()).all(|(at, new_at)| {
            let (token, other) = (&sides[0].all[at], &sides[1].all[new_at]);
            let is_first = at == old.start;
            token.kind == other.kind
                && is_same_text(sides[0].bytes(token), sides[1].bytes(other), token.kind)
                && (is_first || token.gap == other.gap || is_same_gap(spacing, sides, at, new_at))
        })
}

fn is_same_text(old: &[u8], new: &[u8], kind: Kind) -> bool {
    let is_same = || match kind {
        Kind::Comment => is_same_comment(old, new),
        Kind::Line => is_directive(old) && directive(old) == directive(new),
        Kind::Word | Kind::Sign | Kind::String => false,
    };
    old == new || is_same()
}

/// Returns whether `line`, one token, is for a preprocessor, and not what some other language begins with
/// such a sign: there it is one token only if it has a backslash.
fn is_directive(line: &[u8]) -> bool {
    line.starts_with(b"#") && !line.contains(&b'\\')
}

/// Returns `line`, which is for a preprocessor, as it means the same: without the blanks after its sign, and
/// with one where several are between words, unless they may be text, the name of a file, a comment, or a
/// pattern of JavaScript, where a private field begins with such a sign.
fn directive(line: &[u8]) -> Vec<u8> {
    const NAMES: [&[u8]; 5] = [b"define", b"undef", b"if", b"el", b"endif"];
    let rest = line[1..].trim_ascii_start();
    let is_text =
        !NAMES.iter().any(|name| rest.starts_with(name)) || find(rest, b"__has_").is_some();
    if is_text || rest.iter().any(|byte| b"\"'`/\n".contains(byte)) {
        return rest.to_vec();
    }
    let words = rest.split(is_blank).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(&b' ')
}

/// Returns whether two comments differ only in white space at the ends of lines, and in how far all lines
/// but the first are indented.
fn is_same_comment(old: &[u8], new: &[u8]) -> bool {
    let margin = |line: &[u8]| {
        let blanks = line.iter().take_while(|byte| is_blank(byte));
        blanks.fold(0_isize, |width, &byte| match byte {
            b'\t' => width / 8 * 8 + 8,
            _ => width + 1,
        })
    };
    let lines = |text: &'_ [u8]| -> Vec<Vec<u8>> {
        let lines = text.split(|&byte| byte == b'\n');
        lines.map(|line| line.trim_ascii_end().to_vec()).collect()
    };
    let (old, new) = (lines(old), lines(new));
    let is_same =
        |(old, new): (&Vec<u8>, &Vec<u8>)| old.trim_ascii_start() == new.trim_ascii_start();
    let below = || {
        old.iter()
            .zip(&new)
            .skip(1)
            .filter(|(old, _)| !old.is_empty())
    };
    let mut moved = below().map(|(old, new)| margin(new) - margin(old));
    let first = moved.next();
    old.len() == new.len()
        && old[0] == new[0]
        && old.iter().zip(&new).all(is_same)
        && moved.all(|by| Some(by) == first)
}

/// Returns whether what is before the same token means the same on both sides, although it differs.
fn is_same_gap(spacing: Spacing, sides: [&Tokens; 2], at: usize, new_at: usize) -> bool {
    let (token, before) = (&sides[0].all[at], &sides[0].all[at - 1]);
    let gaps = [token.gap, sides[1].all[new_at].gap];
    let is_bound = |token: &Token| matches!(token.kind, Kind::Comment | Kind::Line);
    let has_break = gaps.contains(&Gap::Break);
    if has_break && (!spacing.breaks() || is_bound(token) || is_bound(before)) {
        return false;
    }
    if !gaps.contains(&Gap::Nothing) {
        return true;
    }
    sides[0].is_known
        && match spacing {
            Spacing::Margins | Spacing::Words => false,
            Spacing::Lisp => is_sign(sides[0], before, b"([") || is_sign(sides[0], token, b")]"),
            Spacing::Css => {
                let declares = |at: usize| {
                    is_sign(sides[0], &sides[0].all[at], b":") && declares(sides[0], at)
                };
                is_sign(sides[0], before, b"{};,(")
                    || is_sign(sides[0], token, b"{};,)")
                    || declares(at - 1)
                    || declares(at)
            }
            _ => {
                // What joins the token before, on either side.
                let glued = (at > 1 && new_at > 1)
                    .then(|| [&sides[0].all[at - 1], &sides[1].all[new_at - 1]])
                    .filter(|two| two.iter().any(|token| token.gap == Gap::Nothing))
                    .map(|_| sides[0].bytes(&sides[0].all[at - 2]));
                can_be_parted(
                    glued,
                    (before.kind, sides[0].bytes(before)),
                    (token.kind, sides[0].bytes(token)),
                )
            }
        }
}

fn is_sign(tokens: &Tokens, token: &Token, signs: &[u8]) -> bool {
    token.kind == Kind::Sign && signs.contains(&tokens.bytes(token)[0])
}

/// Returns whether the colon `at` in CSS is that of a declaration, not of a selector: a property is before it,
/// and no block follows.
fn declares(tokens: &Tokens, at: usize) -> bool {
    let [.., above, property, _] = tokens.all[..=at] else {
        return false;
    };
    let name = tokens.bytes(&property);
    let mut rest = tokens.all[at + 1..].iter();
    let end = rest.find(|token| is_sign(tokens, token, b"{};"));
    is_sign(tokens, &above, b"{};")
        && property.kind == Kind::Word
        && (name[0].is_ascii_alphanumeric() || b"-_$@".contains(&name[0]))
        && end.is_some_and(|token| !is_sign(tokens, token, b"{"))
}

/// Operators as in C that are two tokens, also without white space between.
const PAIRS: [&[u8; 2]; 34] = [
    b"=-", b"=*", b"=&", b"=!", b"<*", b"<&", b">-", b">*", b">&", b"+-", b"+*", b"+&", b"-*",
    b"-&", b"*-", b"*&", b"*!", b"/-", b"/&", b"%-", b"%&", b"&-", b"&*", b"&!", b"|-", b"|*",
    b"|!", b"|&", b"?-", b"?*", b"?&", b":-", b":*", b":!",
];

/// Returns whether `before` and `token` are two tokens in C and languages like it, with or without white
/// space between them. `glued` is what may be one with `before`.
fn can_be_parted(glued: Option<&[u8]>, before: (Kind, &[u8]), token: (Kind, &[u8])) -> bool {
    const ALONE: &[u8] = b"(){}[],;";
    let is_number = |word: &[u8]| word[0].is_ascii_digit();
    let has_exponent =
        |word: &[u8]| is_number(word) && word.last().is_some_and(|byte| b"eEpP".contains(byte));
    match (before, token) {
        ((Kind::Line, _), (Kind::Comment, _)) => true,
        ((Kind::Line, _), _) | (_, (Kind::Line, _)) => false,
        ((Kind::Comment, _), _) | (_, (Kind::Comment, _)) => true,
        ((Kind::Sign, _), (Kind::String, _)) | ((Kind::String, _), (Kind::Sign, _)) => true,
        ((Kind::Word, word), (Kind::Sign, sign)) => match sign[0] {
            b'.' => !is_number(word),
            b'+' | b'-' => !has_exponent(word),
            _ => !word.ends_with(b"'"),
        },
        ((Kind::Sign, sign), (Kind::Word, word)) => match sign[0] {
            b'.' => !is_number(word) && !glued.is_some_and(is_number),
            b'+' | b'-' => !glued.is_some_and(has_exponent),
            _ => true,
        },
        ((Kind::Sign, one), (Kind::Sign, other)) => {
            let (one, other) = (one[0], other[0]);
            ALONE.contains(&one)
                || ALONE.contains(&other)
                || PAIRS.contains(&&[one, other]) && glued != Some(b"-")
        }
        _ => false,
    }
}

pub(super) fn is_blank(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Returns whether `line` goes on in the next one; C has an older sign for a backslash.
pub(super) fn is_continued(line: &[u8]) -> bool {
    let line = line.trim_ascii_end();
    line.ends_with(b"\\") || line.ends_with(b"??/")
}

/// Returns the part of `bytes`, from `start` to `end`, without the white space at its end.
fn trimmed_end(bytes: &[u8], start: usize, end: usize) -> usize {
    start + bytes[start..end].trim_ascii_end().len()
}

/// What may make text of the blanks on its line, where no syntax is known: quotes, what begins a character
/// or a symbol in Lisp or a comment, and slashes, as of a regular expression.
const TEXT: &[u8] = b"\"'`\\/?$|#";

/// Cuts lines into tokens.
struct Scanner<'a> {
    bytes: &'a [u8],
    language: Language<'a>,
    at: usize,
    line: usize,
    /// How many lines have been looked at whether they are one token.
    n_checked: usize,
}

impl Scanner<'_> {
    fn next_token(&mut self) -> Option<Token> {
        let gap = self.skip_white_space();
        let start = self.at;
        if start == self.bytes.len() {
            return None;
        }
        let line = self.line;
        let mut end_of_line = None;
        if self.n_checked <= line {
            self.n_checked = line + 1;
            end_of_line = self.end_of_single();
        }
        let (kind, end) = match (end_of_line, self.span_at(start)) {
            (Some(end), _) => (Kind::Line, end),
            (None, Some(span)) if span.place == Place::Comment => {
                (Kind::Comment, trimmed_end(self.bytes, start, span.end))
            }
            (None, Some(span)) => (Kind::String, span.end),
            (None, None) if self.is_sign(start) => (Kind::Sign, start + 1),
            (None, None) => (Kind::Word, self.end_of_word(start)),
        };
        // At least one byte.
        let end = end.max(start + 1);
        self.line += memchr::memchr_iter(b'\n', &self.bytes[start..end]).count();
        self.at = end;
        Some(Token {
            start,
            end,
            kind,
            gap,
            line,
            last_line: self.line,
        })
    }

    fn skip_white_space(&mut self) -> Gap {
        let mut gap = Gap::Nothing;
        // A string has its white space, also where the lines begin in the middle of it.
        if self.at == 0 && matches!(self.span_at(0), Some(span) if span.place == Place::String) {
            return gap;
        }
        loop {
            match self.bytes[self.at..] {
                [b' ' | b'\t', ..] => gap = gap.max(Gap::Blanks),
                [b'\n', ..] => {
                    gap = Gap::Break;
                    self.line += 1;
                }
                [b'\r', b'\n', ..] => {}
                _ => return gap,
            }
            self.at += 1;
        }
    }

    fn is_sign(&self, at: usize) -> bool {
        self.language.syntax.is_some() && self.language.spacing.signs().contains(&self.bytes[at])
    }

    /// Returns the strings and comments from `at` on, cut to the lines.
    fn spans(&self, at: usize) -> impl Iterator<Item = Span> {
        let (spans, base) = match self.language.syntax {
            Some((syntax, base)) => (syntax.spans_from(base + at), base),
            None => (&[][..], 0),
        };
        let len = self.bytes.len();
        spans.iter().map(move |span| Span {
            start: span.start.saturating_sub(base).min(len),
            end: (span.end - base).min(len),
            place: span.place,
        })
    }

    fn span_at(&self, at: usize) -> Option<Span> {
        self.spans(at).next().filter(|span| span.start <= at)
    }

    /// Returns the end of the line of `at`, without its line end.
    fn line_end(&self, at: usize) -> usize {
        memchr::memchr(b'\n', &self.bytes[at..]).map_or(self.bytes.len(), |len| at + len)
    }

    /// Returns where what begins here ends, if it is one token with all that follows on its line.
    fn end_of_single(&self) -> Option<usize> {
        let (start, line_end) = (self.at, self.line_end(self.at));
        if self.language.syntax.is_none() {
            return self.end_of_unknown(start, line_end);
        }
        if !self.is_single(start..line_end) {
            return None;
        }
        let here = |end| self.spans(start).take_while(move |span| span.start < end);
        let end_of = |span: Span| trimmed_end(self.bytes, span.start.max(start), span.end);
        // A comment at its end is a token of its own.
        let is_last = |span: &Span| {
            let end = end_of(*span);
            let rest = &self.bytes[end..self.line_end(end)];
            span.place == Place::Comment && start < span.start && rest.trim_ascii().is_empty()
        };
        if let Some(comment) = here(line_end).find(is_last) {
            return Some(trimmed_end(self.bytes, start, comment.start));
        }
        // What it begins goes on: a string, or the line itself.
        let mut end = line_end;
        loop {
            let open = here(end).map(end_of).max().unwrap_or(start);
            if end < open {
                end = self.line_end(open);
            } else if is_continued(&self.bytes[start..end]) && end < self.bytes.len() {
                end = self.line_end(end + 1);
            } else {
                return Some(trimmed_end(self.bytes, start, end));
            }
        }
    }

    /// Like [`Scanner::end_of_single`], where no syntax is known: what may be a string is one.
    fn end_of_unknown(&self, start: usize, line_end: usize) -> Option<usize> {
        let line = &self.bytes[start..line_end];
        let is_single = self.language.spacing == Spacing::Margins
            || line.iter().any(|byte| TEXT.contains(byte));
        let end = trimmed_end(self.bytes, start, line_end);
        // A blank at the end is a character in Lisp there.
        let has_character = self.bytes[start..end].ends_with(b"?") && end < line_end;
        is_single.then_some(end + usize::from(has_character))
    }

    /// Returns whether all of `line` is one token.
    fn is_single(&self, line: Range<usize>) -> bool {
        let has = |marks: &[&[u8]]| {
            let mut code = self.code(line.clone());
            code.any(|code| marks.iter().any(|mark| find(code, mark).is_some()))
        };
        match self.language.spacing {
            Spacing::Margins => true,
            // A regular expression that is not known as one, perhaps.
            Spacing::Words | Spacing::Tokens => has(&[b"\\", b"/"]),
            Spacing::Statements | Spacing::Rust => has(&[b"\\"]),
            Spacing::C => {
                let mut code = self.code(line.clone()).map(<[u8]>::trim_ascii_start);
                let first = code.find(|code| !code.is_empty());
                // Older signs for it, and for a backslash.
                let signs: [&[u8]; 3] = [b"#", b"%:", b"??="];
                let begins = |code: &[u8]| signs.iter().any(|sign| code.starts_with(sign));
                first.is_some_and(begins) || has(&[b"\\", b"??/"])
            }
            // Variables inside words, addresses, and values that scripts read.
            Spacing::Css => {
                let mut code = self.code(line.clone());
                has(&[b"\\", b"#{", b"@{"])
                    || code.any(|code| has_address(code) || own_properties(code).next().is_some())
            }
            Spacing::Lisp => false,
        }
    }

    /// Returns what is neither string nor comment in `range`.
    fn code(&self, range: Range<usize>) -> impl Iterator<Item = &[u8]> {
        let mut at = range.start;
        let end = range.end;
        let spans = self.spans(range.start);
        let spans = spans.take_while(move |span| span.start < end);
        spans
            .map(|span| (span.start, span.end))
            .chain(std::iter::once((end, end)))
            .map(move |(start, next)| {
                let code = &self.bytes[at.min(start)..start];
                at = next.min(end);
                code
            })
    }

    fn end_of_word(&self, start: usize) -> usize {
        let next_span = self.spans(start).next().map(|span| span.start);
        let limit = next_span.unwrap_or(self.bytes.len());
        let is_lisp = self.language.spacing == Spacing::Lisp && self.language.syntax.is_some();
        let mut at = start;
        while at < limit {
            let byte = self.bytes[at];
            let is_end = is_blank(&byte)
                || byte == b'\n'
                || byte == b'\r' && self.bytes.get(at + 1) == Some(&b'\n')
                || self.is_sign(at);
            if is_end {
                break;
            }
            at += 1;
            // A character, be it a blank or a bracket.
            let is_prefix = |byte: &u8| b"'`,@#".contains(byte);
            let quotes = match byte {
                b'\\' => true,
                b'?' => self.bytes[start..at - 1].iter().all(is_prefix),
                _ => false,
            };
            if is_lisp && quotes && at < limit && (byte == b'\\' || self.bytes[at] != b'\\') {
                at += 1;
            }
        }
        at
    }
}

/// Returns the first byte of `text` from which on its syntax is in doubt, or how many bytes it has: what an
/// editor takes for a string or for code there may be something else.
pub(super) fn first_doubt(text: &[u8], syntax: &Syntax, spacing: Spacing) -> usize {
    let spans = syntax.spans_from(0);
    let mut at = 0;
    for (nth, span) in spans.iter().enumerate() {
        if let Some(doubt) = doubt_in_code(&text[at..span.start], spacing) {
            return at + doubt;
        }
        let before = match nth.checked_sub(1).map(|nth| spans[nth].end) {
            Some(end) if end == span.start => None,
            _ => Some(&text[..span.start]),
        };
        let is_doubtful = match span.place {
            Place::Comment => is_open_comment(&text[span.start..span.end]),
            _ => is_doubtful_string(text, span, before, spacing),
        };
        if is_doubtful {
            return span.start;
        }
        at = span.end;
    }
    doubt_in_code(&text[at..], spacing).map_or(text.len(), |doubt| at + doubt)
}

/// Returns whether `code` in CSS has an address that may be without quotes.
fn has_address(code: &[u8]) -> bool {
    let code = code.to_ascii_lowercase();
    let names: [&[u8]; 3] = [b"url(", b"url-prefix(", b"domain("];
    names.iter().any(|name| find(&code, name).is_some())
}

/// Returns where in `code` the values of properties begin whose names are the author's own.
fn own_properties(code: &[u8]) -> impl Iterator<Item = usize> {
    memchr::memmem::find_iter(code, b"--").filter_map(|at| {
        let before = code[..at].last();
        let ends = |byte: &u8| byte.is_ascii_whitespace() || b"{};".contains(byte);
        let is_in_name = |byte: &&u8| !byte.is_ascii_whitespace() && !b":{};()".contains(byte);
        let name = code[at..].iter().take_while(is_in_name).count();
        let rest = code[at + name..].trim_ascii_start();
        let is_one = before.is_none_or(ends) && rest.starts_with(b":");
        is_one.then(|| code.len() - rest.len() + 1)
    })
}

/// Returns whether JavaScript has markup in it, whose texts are no strings. There, an apostrophe begins no
/// string, and two slashes no comment, so what is in doubt may be markup, too.
pub(super) fn has_markup(text: &[u8], syntax: &Syntax) -> bool {
    let doubt = first_doubt(text, syntax, Spacing::Tokens);
    let is_apart = |span: &&Span| {
        let line = text[..span.start].iter().rposition(|&byte| byte == b'\n');
        let margin = &text[line.map_or(0, |line| line + 1)..span.start];
        match span.place {
            Place::Comment => {
                text[span.start..].starts_with(b"/*") && margin.trim_ascii().is_empty()
            }
            _ => span.end <= doubt,
        }
    };
    let mut at = 0;
    let ends = std::iter::once((text.len(), text.len()));
    let spans = syntax.spans_from(0).iter().filter(is_apart);
    let spans = spans.map(|span| (span.start, span.end));
    spans.chain(ends).any(|(start, end)| {
        let code = &text[at..start];
        at = end;
        memchr::memchr_iter(b'/', code).any(|slash| {
            let (before, after) = (code[..slash].trim_ascii_end(), &code[slash + 1..]);
            let is_comment = |byte: Option<&u8>| byte.is_some_and(|byte| b"*/".contains(byte));
            before.ends_with(b"<") && !is_comment(after.first())
                || after.trim_ascii_start().starts_with(b">") && !is_comment(before.last())
        })
    })
}

fn is_open_comment(comment: &[u8]) -> bool {
    let closes = |open: &[u8], close: &[u8]| comment.starts_with(open) && !comment.ends_with(close);
    closes(b"/*", b"*/") || closes(b"#|", b"|#")
}

/// Returns where `code` has what may begin a string that is not known as one.
fn doubt_in_code(code: &[u8], spacing: Spacing) -> Option<usize> {
    let quoted = |at: &usize| {
        at.checked_sub(1)
            .is_some_and(|before| code[before] == b'\\')
    };
    let quote = |quote: u8| memchr::memchr_iter(quote, code).find(|at| !quoted(at));
    let marks = match spacing {
        Spacing::Lisp => [quote(b'"'), find(code, b"#<"), None],
        Spacing::Css => {
            let slashes = memchr::memmem::find_iter(code, b"//");
            let mut comments = slashes.filter(|&at| {
                let line = code[..at].iter().rposition(|&byte| byte == b'\n');
                !has_address(&code[line.unwrap_or(0)..at])
            });
            // Braces that do not tell where a declaration ends.
            let mut blocks = own_properties(code).filter(|&value| {
                let end = code[value..].iter().find(|byte| b"{};".contains(byte));
                end == Some(&b'{')
            });
            [quote(b'"'), comments.next(), blocks.next()]
        }
        Spacing::Words | Spacing::Tokens | Spacing::Margins => [quote(b'"'), quote(b'`'), None],
        _ => [quote(b'"'), None, None],
    };
    marks.into_iter().flatten().min()
}

/// Returns whether `span` of `text` may be another string than it seems. `before` is the text before it,
/// unless that is a string or comment.
fn is_doubtful_string(text: &[u8], span: &Span, before: Option<&[u8]>, spacing: Spacing) -> bool {
    let string = &text[span.start..span.end];
    let last = before
        .and_then(|before| before.last().copied())
        .unwrap_or(b' ');
    let is_lisp = spacing == Spacing::Lisp;
    if matches!(last, b'?' | b'\\') || last == b'\'' && !is_lisp {
        return true;
    }
    if let Some(is_right) = is_right_raw_string(text, span, before.unwrap_or_default(), spacing) {
        return !is_right;
    }
    let has_break = || {
        let breaks = memchr::memchr_iter(b'\n', string);
        let body = |at: usize| string[..at].strip_suffix(b"\r").unwrap_or(&string[..at]);
        breaks.into_iter().any(|at| !body(at).ends_with(b"\\"))
    };
    let first = string[0];
    let is_closed = string.len() > 1 && string.ends_with(&[first]);
    let is_tripled = string.len() == 2 && text.get(span.end) == Some(&first);
    match first {
        b'"' if string.starts_with(b"\"\"\"") => string.len() < 6 || !string.ends_with(b"\"\"\""),
        b'"' => {
            let can_break = matches!(spacing, Spacing::Lisp | Spacing::Rust);
            !is_closed
                || !can_break && has_break()
                || is_tripled
                || may_have_string(string, last, spacing)
        }
        b'`' => !is_closed || may_have_code(string, text, span.start),
        b'\'' => !is_closed || is_tripled || has_break(),
        b'|' if is_lisp => !is_closed,
        _ => has_break(),
    }
}

/// Returns whether `string`, after the byte `last`, may end in another string, in code that it has: as in Swift,
/// Kotlin and C#. There, a backslash can also be just that.
fn may_have_string(string: &[u8], last: u8, spacing: Spacing) -> bool {
    let n_of = |wanted: u8| memchr::memchr_iter(wanted, string).count();
    let is_open = |mark: &[u8], open: u8, close: u8| {
        find(string, mark).is_some() && n_of(open) != n_of(close)
    };
    match spacing {
        Spacing::Words => is_open(b"${", b'{', b'}') || is_open(b"\\(", b'(', b')'),
        Spacing::C => {
            last == b'$' && is_open(b"{", b'{', b'}')
                || matches!(last, b'$' | b'@') && find(string, b"\\\"").is_some()
        }
        _ => false,
    }
}

/// Returns whether the template `string` of JavaScript at `start` of `text` may have other strings in it,
/// or may be part of a regular expression.
fn may_have_code(string: &[u8], text: &[u8], start: usize) -> bool {
    let n_of = |part: &[u8], wanted: u8| memchr::memchr_iter(wanted, part).count();
    let mut parts = memchr::memmem::find_iter(string, b"${");
    let has_string_inside = parts.any(|at| {
        let rest = &string[at..];
        let inside = &rest[..memchr::memchr(b'}', rest).unwrap_or(rest.len())];
        b"\"'/".iter().any(|&quote| n_of(inside, quote) % 2 != 0)
    });
    let line = text[..start].iter().rposition(|&byte| byte == b'\n');
    has_string_inside
        || find(string, b"${").is_some() && n_of(string, b'{') != n_of(string, b'}')
        || find(string, b"\\`").is_some()
        || memchr2(b'/', b'`', &text[line.unwrap_or(0)..=start])
            .is_some_and(|at| text[line.unwrap_or(0) + at] == b'/')
}

/// If `span` of `text` is a raw string, returns whether it ends where that does; `before` is before it.
fn is_right_raw_string(text: &[u8], span: &Span, before: &[u8], spacing: Spacing) -> Option<bool> {
    let string = &text[span.start..span.end];
    let is_in_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let quote = memchr::memchr(b'"', string)?;
    match spacing {
        Spacing::C if quote == 0 => {
            let prefix = before.strip_suffix(b"R")?;
            let name = prefix
                .iter()
                .rev()
                .take_while(|byte| is_in_name(byte))
                .count();
            let name = &prefix[prefix.len() - name..];
            matches!(name, b"" | b"L" | b"u" | b"U" | b"u8").then_some(())?;
            let Some(open) = memchr::memchr(b'(', string) else {
                return Some(false);
            };
            let close = [b")", &string[1..open], b"\""].concat();
            Some(find(string, &close).is_some_and(|at| at + close.len() == string.len()))
        }
        Spacing::Rust => {
            let head = &text[..span.start + quote];
            let n_hashes = head.iter().rev().take_while(|&&byte| byte == b'#').count();
            let prefix = head[..head.len() - n_hashes].strip_suffix(b"r");
            let is_raw = prefix.is_some_and(|prefix| {
                let name = prefix
                    .iter()
                    .rev()
                    .take_while(|byte| is_in_name(byte))
                    .count();
                matches!(&prefix[prefix.len() - name..], b"" | b"b" | b"c")
            });
            if !is_raw {
                return (n_hashes > 0).then_some(false);
            }
            let close = [b"\"".as_slice(), &vec![b'#'; n_hashes]].concat();
            let start = span.start + quote + 1;
            let end = start + find(&text[start..], &close)?;
            Some((end + 1..=end + close.len()).contains(&span.end))
        }
        _ if before.ends_with(b"#") && !matches!(spacing, Spacing::Lisp | Spacing::Css) => {
            Some(false)
        }
        _ => None,
    }
}
