//! Exact replacement of a string in a text, as the tool `edit_file` asks for it.
//!
//! A search string matches byte for byte: nothing is folded, trimmed, unescaped or taken for a
//! pattern, and a replacement goes in as it is. Matches that overlap count, so that "exactly one"
//! means that there is no other place at all. Only line ends are seen to: in a text whose lines all
//! end with CRLF, a `\n` of the arguments stands for one of them.
//!
//! With *n* bytes of text and *m* of search string, all of it takes O(n + m) time; the places found
//! are the only space that grows with *n*. Why nothing was found ([`mod@nearest`]) is searched for
//! only in texts of up to 8 MiB.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem;
use sha2::{Digest, Sha256};

use super::nearest::{self, Nearest};
use crate::text::{n_crlf, n_newlines};

/// How many matches a replacement may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Exactly one.
    Unique,
    /// One or more that do not overlap; each is replaced.
    All,
}

/// Why a replacement cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplaceError {
    /// The search string has no bytes, so it is everywhere.
    #[error("the string to find is empty")]
    Empty,
    /// Search string and replacement are the same.
    #[error("the string to find and its replacement are equal")]
    Equal,
    /// The search string is not in the text.
    #[error("the string is not in the text")]
    NotFound {
        /// What resembles it most, if anything does.
        nearest: Option<Nearest>,
    },
    /// The search string is in several places and was to be in one.
    #[error("the string is in the text {} times", lines.len())]
    Several {
        /// The line (0-based) on which each match begins.
        lines: Vec<usize>,
    },
    /// Matches share bytes, so that to replace one would destroy another.
    #[error("matches of the string overlap")]
    Overlapping {
        /// The line (0-based) on which each match begins.
        lines: Vec<usize>,
    },
}

/// A place where a search string was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// The line (0-based) on which it begins.
    pub line: usize,
    /// Its bytes in the text.
    pub bytes: Range<usize>,
}

/// What is to be replaced, and by what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement<'a> {
    /// The places, in order and apart; at least one.
    pub matches: Vec<Match>,
    /// What comes into each of them: the replacement as it was given, but with the line ends of
    /// the text.
    pub new: Cow<'a, [u8]>,
}

/// Returns the SHA-256 of `text` in hexadecimal digits.
pub fn hash(text: &[u8]) -> String {
    digits(Sha256::new_with_prefix(text))
}

fn digits(hash: Sha256) -> String {
    let bytes = hash.finalize();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Finds what is to be replaced in `text` if `old` shall become `new`.
///
/// ```
/// use agent_q_diff_engine::tool::replacement::{Match, ReplaceError, Scope, find};
/// let found = find(b"one\ntwo\n", b"two", br"\& $1", Scope::Unique).unwrap();
/// assert_eq!(found.matches, [Match { line: 1, bytes: 4..7 }]);
/// assert_eq!(found.apply(b"one\ntwo\n"), b"one\n\\& $1\n");
/// assert_eq!(
///     find(b"aaa", b"aa", b"b", Scope::Unique),
///     Err(ReplaceError::Several { lines: vec![0, 0] }),
/// );
/// ```
pub fn find<'a>(
    text: &[u8],
    old: &'a [u8],
    new: &'a [u8],
    scope: Scope,
) -> Result<Replacement<'a>, ReplaceError> {
    if old.is_empty() {
        return Err(ReplaceError::Empty);
    }
    let (old, new) = with_line_ends_of(text, old, new);
    if old == new {
        return Err(ReplaceError::Equal);
    }
    let matches = matches(text, &old);
    let lines = || matches.iter().map(|found| found.line).collect();
    let overlap = |pair: &[Match]| pair[0].bytes.end > pair[1].bytes.start;
    match scope {
        _ if matches.is_empty() => Err(ReplaceError::NotFound {
            nearest: nearest::nearest(text, &old),
        }),
        Scope::Unique if matches.len() > 1 => Err(ReplaceError::Several { lines: lines() }),
        Scope::All if matches.windows(2).any(overlap) => {
            Err(ReplaceError::Overlapping { lines: lines() })
        }
        Scope::Unique | Scope::All => Ok(Replacement { matches, new }),
    }
}

impl Replacement<'_> {
    /// Returns `text`, the text that was searched, with the replacements made.
    pub fn apply(&self, text: &[u8]) -> Vec<u8> {
        self.pieces(text).collect::<Vec<_>>().concat()
    }

    /// Returns the pieces of the result in order: first what is before the first match, then by
    /// turns what came in and what is behind it.
    fn pieces<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        let gap = |index: usize| {
            let above = index.checked_sub(1).map(|above| &self.matches[above]);
            let below = self.matches.get(index);
            let start = above.map_or(0, |above| above.bytes.end);
            &text[start..below.map_or(text.len(), |below| below.bytes.start)]
        };
        let rest = (1..=self.matches.len()).flat_map(move |index| [&self.new, gap(index)]);
        std::iter::once(gap(0)).chain(rest)
    }

    /// Returns the SHA-256 of `text`, the text that was searched, and of the result, in hexadecimal
    /// digits.
    ///
    /// Their common head is read once.
    pub fn hashes(&self, text: &[u8]) -> (String, String) {
        let mut pieces = self.pieces(text);
        let common = pieces.next().unwrap_or_default();
        let mut before = Sha256::new_with_prefix(common);
        let mut after = before.clone();
        before.update(&text[common.len()..]);
        pieces.for_each(|piece| after.update(piece));
        (digits(before), digits(after))
    }

    /// Returns the lines (0-based, half-open) on which each replacement stands in the result.
    ///
    /// Where nothing came in, it is the line on which something went.
    pub fn affected_lines(&self, text: &[u8]) -> Vec<Range<usize>> {
        let n_new = n_newlines(&self.new);
        let is_closed = self.new.ends_with(b"\n");
        let n_lines = if is_closed { n_new } else { n_new + 1 };
        let (mut added, mut removed) = (0, 0);
        let mut ranges = Vec::with_capacity(self.matches.len());
        for found in &self.matches {
            let first = found.line + added - removed;
            ranges.push(first..first + n_lines);
            added += n_new;
            removed += n_newlines(&text[found.bytes.clone()]);
        }
        ranges
    }
}

/// Returns every place where `old`, which is not empty, is in `text`, in order.
///
/// Matches may overlap: `aa` is twice in `aaa`.
pub fn matches(text: &[u8], old: &[u8]) -> Vec<Match> {
    let (mut line, mut counted) = (0, 0);
    let place = |start: usize| {
        line += n_newlines(&text[counted..start]);
        counted = start;
        Match {
            line,
            bytes: start..start + old.len(),
        }
    };
    occurrences(text, old).map(place).collect()
}

/// Returns where `pattern`, which is not empty, begins in `text`, overlaps included.
fn occurrences(text: &[u8], pattern: &[u8]) -> impl Iterator<Item = usize> {
    let finder = memmem::Finder::new(pattern).into_owned();
    occurrences_by(text, pattern, move |rest| finder.find(rest))
}

/// Returns where `pattern`, which is not empty, begins in `text`, overlaps included.
///
/// This is Knuth, Morris and Pratt's algorithm: no text of repeated parts makes it slow. Where no
/// part of the pattern matches, `skip` is faster: it returns how much of the rest of `text` has no
/// match that begins there, or `None` if the rest has none at all.
pub(super) fn occurrences_by<T: Eq>(
    text: &[T],
    pattern: &[T],
    skip: impl Fn(&[T]) -> Option<usize>,
) -> impl Iterator<Item = usize> {
    let borders = borders(pattern);
    let (mut at, mut n_matching) = (0, 0);
    std::iter::from_fn(move || {
        while at < text.len() {
            if n_matching == 0 {
                at += skip(&text[at..])?;
            }
            while n_matching > 0 && pattern.get(n_matching) != Some(&text[at]) {
                n_matching = borders[n_matching - 1];
            }
            n_matching += usize::from(pattern.get(n_matching) == Some(&text[at]));
            at += 1;
            if n_matching == pattern.len() {
                return Some(at - pattern.len());
            }
        }
        None
    })
}

/// Returns for each head of `pattern` the length of its longest border: the longest shorter head
/// that is its tail as well.
fn borders<T: Eq>(pattern: &[T]) -> Vec<usize> {
    let mut borders = vec![0; pattern.len()];
    for at in 1..pattern.len() {
        let mut len = borders[at - 1];
        while len > 0 && pattern[len] != pattern[at] {
            len = borders[len - 1];
        }
        borders[at] = len + usize::from(pattern[len] == pattern[at]);
    }
    borders
}

/// Returns `old` and `new` with the line ends of `text`.
///
/// That is so if all lines of `text` end with CRLF, or if lines end in both ways and `old` is not
/// there with LF, but with CRLF it is.
fn with_line_ends_of<'a>(
    text: &[u8],
    old: &'a [u8],
    new: &'a [u8],
) -> (Cow<'a, [u8]>, Cow<'a, [u8]>) {
    let has_bare = |bytes: &[u8]| n_newlines(bytes) > n_crlf(bytes);
    let is_there = |old: &[u8]| occurrences(text, old).next().is_some();
    let n_crlf = n_crlf(text);
    let is_crlf = n_crlf > 0
        && (n_crlf == n_newlines(text)
            || has_bare(old) && !is_there(old) && is_there(&with_crlf(old)));
    if is_crlf {
        (with_crlf(old).into(), with_crlf(new).into())
    } else {
        (old.into(), new.into())
    }
}

/// Returns `bytes` with every LF that is not part of a CRLF made one.
pub(super) fn with_crlf(bytes: &[u8]) -> Vec<u8> {
    let mut result = Vec::with_capacity(bytes.len());
    for &byte in bytes {
        if byte == b'\n' && result.last() != Some(&b'\r') {
            result.push(b'\r');
        }
        result.push(byte);
    }
    result
}
