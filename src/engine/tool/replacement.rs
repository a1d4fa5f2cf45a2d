//! Exact replacement of a string in a text, for the tool `edit_file`.
//!
//! A search string matches byte for byte: nothing is folded, trimmed, unescaped or treated as a
//! pattern, and a replacement is inserted literally. Overlapping matches count, so "exactly one"
//! means that there is no other place at all. Only line ends are adapted: in a text whose lines all
//! end with CRLF, a `\n` in the arguments means CRLF.
//!
//! With *n* bytes of text and *m* of search string, everything takes O(n + m) time; only the list
//! of matches grows with *n*. If nothing was found, the nearest place ([`mod@nearest`]) is searched
//! for only in texts of up to 8 MiB.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem;

use crate::text::{n_crlf, n_newlines};

use super::nearest::{self, Nearest};
use sha2::{Digest, Sha256};

/// How many matches a replacement may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Exactly one.
    Unique,
    /// One or more without overlaps; each is replaced.
    All,
}

/// Why a replacement cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplaceError {
    /// The search string has no bytes, so it would match everywhere.
    #[error("the string to find is empty")]
    Empty,
    /// Search string and replacement are equal.
    #[error("the string to find and its replacement are equal")]
    Equal,
    /// The search string is not in the text.
    #[error("the string is not in the text")]
    NotFound {
        /// The place that resembles it most, if any does.
        nearest: Option<Nearest>,
    },
    /// The search string must occur once, but occurs several times.
    #[error("the string is in the text {} times", lines.len())]
    Several {
        /// The line (0-based) on which each match begins.
        lines: Vec<usize>,
    },
    /// Matches share bytes, so replacing one would destroy another.
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

/// The matches to be replaced, and their replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement<'a> {
    /// The places, in order and without overlaps; at least one.
    pub matches: Vec<Match>,
    /// What replaces each of them: the given replacement, with its line ends adapted to the text.
    pub new: Cow<'a, [u8]>,
}

/// Returns the SHA-256 of `text` in hexadecimal digits.
pub fn hash(text: &[u8]) -> String {
    let bytes = Sha256::digest(text);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Finds what to replace in `text` so that `old` becomes `new`.
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
    /// Returns `text`, which must be the text that was searched, with the replacements made.
    pub fn apply(&self, text: &[u8]) -> Vec<u8> {
        let (mut result, mut done) = (Vec::new(), 0);
        for found in &self.matches {
            result.extend_from_slice(&text[done..found.bytes.start]);
            result.extend_from_slice(&self.new);
            done = found.bytes.end;
        }
        result.extend_from_slice(&text[done..]);
        result
    }

    /// Returns the lines of the result (0-based, half-open) that each replacement touches.
    ///
    /// If the replacement is empty, that is the line from which something was removed.
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

/// Returns every match of `old`, which is not empty, in `text`, in order.
///
/// Matches may overlap: `aaa` has two of `aa`.
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

/// Returns `old` and `new` with their line ends adapted to `text`.
///
/// LF becomes CRLF if all lines of `text` end with CRLF, or if line ends are mixed and only `old`
/// with CRLF occurs in `text`. Otherwise nothing changes.
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

// Where a pattern occurs in a text, and how a pattern reads with other line ends.

/// Returns the offset of each match of `pattern`, which is not empty, in `text`, overlaps included.
pub(super) fn occurrences(text: &[u8], pattern: &[u8]) -> impl Iterator<Item = usize> {
    let finder = memmem::Finder::new(pattern).into_owned();
    occurrences_by(text, pattern, move |rest| finder.find(rest))
}

/// Returns the offset of each match of `pattern`, which is not empty, in `text`, overlaps included.
///
/// This is Knuth, Morris and Pratt's algorithm, so repetitive texts are searched in linear time,
/// too. While no part of the pattern matches, the faster `skip` is called with the rest of `text`:
/// it returns how many elements to skip, because no match begins in them, or `None` if the rest has
/// no match.
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

/// Returns for each prefix of `pattern` the length of its longest border: the longest proper prefix
/// of it that is also its suffix.
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

/// Returns `bytes` with every LF that is not part of a CRLF replaced by CRLF.
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
