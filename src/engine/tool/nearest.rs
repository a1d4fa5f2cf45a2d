//! Finds what resembles a string that is not in a text, and says how it differs.
//!
//! An agent that quotes a file from memory usually errs in what is hard to see: white space, line
//! ends, typographic quotes, composed or decomposed accents. So text and string are compared with
//! all such differences folded away. Then each kind of folding is left out in turn: if the place no
//! longer matches, it differs in that way. If nothing matches even when folded, the most similar
//! line is searched for.
//!
//! For *n* bytes of text, takes O(n) time and 8 n bytes; texts longer than 8 MiB are not searched.

use std::ops::Range;

use unicode_normalization::char::{canonical_combining_class, decompose_canonical};

use crate::text::n_newlines;

use super::replacement::{occurrences_by, with_crlf};

/// Longest text that is searched, in bytes. The folded text takes eight times as much memory, which
/// is a lot for what is only a hint.
const MAX_TEXT_LEN: usize = 8 << 20;

/// How many places are compared in detail at most. Each takes time linear in the string.
const MAX_PLACES: usize = 64;

/// How many bytes are compared in detail at most, over all places. One place is always compared,
/// however long it is.
const MAX_COMPARED_LEN: usize = 1 << 18;

/// Similarity, between 0 and 1, that a line must exceed to be reported.
const MIN_SIMILARITY: f64 = 0.5;

/// A way in which two strings differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Difference {
    /// LF or CRLF.
    LineEnds,
    /// Spaces, tabs, line breaks, indentation.
    WhiteSpace,
    /// Upper or lower case.
    Case,
    /// Composed or decomposed forms of the same character.
    Normalization,
    /// Typographic or ASCII quotes, dashes and ellipses.
    Punctuation,
    /// Characters without width.
    Invisible,
    /// Anything else.
    Wording,
}

/// The differences that folding removes, in the order in which they are reported.
const FOLDED: [Difference; 6] = [
    Difference::LineEnds,
    Difference::WhiteSpace,
    Difference::Case,
    Difference::Normalization,
    Difference::Punctuation,
    Difference::Invisible,
];

/// The place in a text that most resembles a string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nearest {
    /// Its lines (0-based, half-open).
    pub lines: Range<usize>,
    /// How it differs from the string.
    pub differences: Vec<Difference>,
}

/// Returns the place in `text` that most resembles `old`, which does not occur there; `None` if
/// nothing resembles it.
///
/// ```
/// use agent_q_diff_engine::tool::nearest::{Difference, Nearest, nearest};
/// let found = nearest(b"(defun f ()\n\t42)\n", b"(defun f ()\n  42)");
/// let differences = vec![Difference::WhiteSpace];
/// assert_eq!(found, Some(Nearest { lines: 0..2, differences }));
/// ```
pub fn nearest(text: &[u8], old: &[u8]) -> Option<Nearest> {
    if text.len() > MAX_TEXT_LEN {
        return None;
    }
    folded_place(text, old).or_else(|| similar_line(text, old))
}

fn folded_place(text: &[u8], old: &[u8]) -> Option<Nearest> {
    let pattern = units(&fold(old, &FOLDED));
    if pattern.is_empty() {
        return None;
    }
    let folded = fold(text, &FOLDED);
    let codes = units(&folded);
    let skip = |rest: &[_]| rest.iter().position(|code| *code == pattern[0]);
    let places = occurrences_by(&codes, &pattern, skip)
        .take((MAX_COMPARED_LEN / old.len()).clamp(1, MAX_PLACES))
        .filter_map(|at| {
            let last = &folded[at + pattern.len() - 1];
            let place = folded[at].bytes().start..last.bytes().end;
            let place = with_edges_of(old, text, place);
            let differences = differences(&text[place.clone()], old)?;
            Some((place, differences))
        });
    let (place, differences) = places.min_by_key(|(_, differences)| differences.len())?;
    let first = n_newlines(&text[..place.start]);
    let place = &text[place];
    let n_more = n_newlines(&place[..place.len() - 1]);
    Some(Nearest {
        lines: first..first + n_more + 1,
        differences,
    })
}

/// Returns how `place` differs from `old`; `None` if they differ even when folded.
fn differences(place: &[u8], old: &[u8]) -> Option<Vec<Difference>> {
    let is_equal = |kinds: &[Difference]| units(&fold(place, kinds)) == units(&fold(old, kinds));
    if !is_equal(&FOLDED) {
        return None;
    }
    let counts = |kind: &Difference| {
        let others: Vec<_> = FOLDED.into_iter().filter(|other| other != kind).collect();
        !is_equal(&others)
    };
    Some(FOLDED.into_iter().filter(counts).collect())
}

/// Widens `place` in `text` by the bytes at either end of `old` that folding drops, if they are
/// there too.
fn with_edges_of(old: &[u8], text: &[u8], place: Range<usize>) -> Range<usize> {
    let folded = fold(old, &FOLDED);
    let (Some(first), Some(last)) = (folded.first(), folded.last()) else {
        return place;
    };
    let (head, tail) = (&old[..first.bytes().start], &old[last.bytes().end..]);
    let n_head = if text[..place.start].ends_with(head) {
        head.len()
    } else {
        0
    };
    let after = &text[place.end..];
    let has_tail = |tail: &&Vec<u8>| after.starts_with(tail);
    let spellings = [tail.to_vec(), with_crlf(tail), with_lf(tail)];
    let n_tail = spellings.iter().find(has_tail).map_or(0, Vec::len);
    place.start - n_head..place.end + n_tail
}

/// Returns `bytes` with every CRLF replaced by LF.
fn with_lf(bytes: &[u8]) -> Vec<u8> {
    let next = bytes.iter().skip(1).map(Some).chain([None]);
    let kept = bytes
        .iter()
        .zip(next)
        .filter(|&(&byte, next)| byte != b'\r' || next != Some(&b'\n'));
    kept.map(|(&byte, _)| byte).collect()
}

/// A character after folding, or part of one.
#[derive(Debug, Clone, Copy)]
struct Unit {
    /// The code point. Bytes that are not part of a character have numbers above the last code
    /// point.
    code: u32,
    /// Byte offset of the character that it comes from.
    start: u32,
    /// Length of that character in bytes.
    len: u8,
}

impl Unit {
    fn bytes(&self) -> Range<usize> {
        self.start as usize..self.start as usize + usize::from(self.len)
    }
}

fn units(folded: &[Unit]) -> Vec<u32> {
    folded.iter().map(|unit| unit.code).collect()
}

/// Folds away the differences `kinds` from `bytes`.
fn fold(bytes: &[u8], kinds: &[Difference]) -> Vec<Unit> {
    let mut folded = Vec::new();
    let mut at = 0;
    for chunk in bytes.utf8_chunks() {
        for (offset, char) in chunk.valid().char_indices() {
            let start = at + offset;
            let next = bytes.get(start + char.len_utf8());
            fold_char(char, next, kinds, |code| {
                folded.push(unit(code, start, char.len_utf8()))
            });
        }
        at += chunk.valid().len();
        for (offset, &byte) in chunk.invalid().iter().enumerate() {
            folded.push(unit(
                u32::from(char::MAX) + 1 + u32::from(byte),
                at + offset,
                1,
            ));
        }
        at += chunk.invalid().len();
    }
    if kinds.contains(&Difference::Normalization) {
        order_marks(&mut folded);
    }
    folded
}

fn unit(code: u32, start: usize, len: usize) -> Unit {
    Unit {
        code,
        start: u32::try_from(start).expect("texts are shorter than MAX_TEXT_LEN"),
        len: u8::try_from(len).expect("characters have at most four bytes"),
    }
}

/// Calls `put` with each code point that folding leaves of `char`, which the byte `next` follows.
fn fold_char(char: char, next: Option<&u8>, kinds: &[Difference], mut put: impl FnMut(u32)) {
    let is_dropped = match char {
        '\r' => next == Some(&b'\n') && kinds.contains(&Difference::LineEnds),
        _ if char.is_whitespace() => kinds.contains(&Difference::WhiteSpace),
        _ => is_invisible(char) && kinds.contains(&Difference::Invisible),
    };
    if is_dropped {
        return;
    }
    let plain = if kinds.contains(&Difference::Punctuation) {
        plain_punctuation(char)
    } else {
        None
    };
    if let Some(plain) = plain {
        return plain.chars().for_each(|char| put(char.into()));
    }
    let lower = |char: char| {
        if kinds.contains(&Difference::Case) {
            char.to_lowercase().for_each(|char| put(char.into()))
        } else {
            put(char.into())
        }
    };
    if kinds.contains(&Difference::Normalization) {
        decompose_canonical(char, lower)
    } else {
        Some(char).into_iter().for_each(lower)
    }
}

/// Returns whether `char` is invisible because it has no width.
fn is_invisible(char: char) -> bool {
    matches!(char, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{feff}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{e0000}'..='\u{e0fff}')
}

/// Returns the ASCII spelling of the typographic character `char`, or `None`.
fn plain_punctuation(char: char) -> Option<&'static str> {
    match char {
        '\u{2018}'..='\u{201b}' | '\u{2032}' => Some("'"),
        '\u{201c}'..='\u{201f}' | '\u{2033}' => Some("\""),
        '\u{2010}'..='\u{2015}' | '\u{2212}' => Some("-"),
        '\u{2026}' => Some("..."),
        _ => None,
    }
}

/// Brings combining marks into Unicode's canonical order.
fn order_marks(folded: &mut [Unit]) {
    let class = |unit: &Unit| char::from_u32(unit.code).map_or(0, canonical_combining_class);
    for marks in folded.chunk_by_mut(|_, next| class(next) != 0) {
        // A run begins with the base character, which stays in front.
        if let [_, marks @ ..] = marks {
            marks.sort_by_key(class);
        }
    }
}

/// Returns the line of `text` most similar to the longest line of `old`.
fn similar_line(text: &[u8], old: &[u8]) -> Option<Nearest> {
    let lines = old.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let wanted = lines.max_by_key(|line| line.len())?;
    let mut best = (MIN_SIMILARITY, None);
    let counts = pair_counts(wanted);
    let mut left = counts.clone();
    for (number, line) in text.split(|&byte| byte == b'\n').enumerate() {
        let line = line.trim_ascii();
        if line.len() < wanted.len() / 3 || line.len() / 3 > wanted.len() {
            continue;
        }
        let similarity = similarity(wanted, line, &counts, &mut left);
        if similarity > best.0 {
            best = (similarity, Some(number));
        }
    }
    best.1.map(|line| Nearest {
        lines: line..line + 1,
        differences: vec![Difference::Wording],
    })
}

/// Counts how often each pair of neighboring bytes occurs in `line`.
fn pair_counts(line: &[u8]) -> Vec<u32> {
    let mut counts = vec![0; 1 << 16];
    line.windows(2)
        .for_each(|pair| counts[pair_index(pair)] += 1);
    counts
}

fn pair_index(pair: &[u8]) -> usize {
    usize::from(pair[0]) << 8 | usize::from(pair[1])
}

/// Returns the Sørensen–Dice coefficient of the byte pairs of two lines, between 0 and 1, in
/// O(bytes).
///
/// `counts` counts the pairs of `wanted`. `left` is a copy of it, changed during the call and then
/// restored.
fn similarity(wanted: &[u8], line: &[u8], counts: &[u32], left: &mut [u32]) -> f64 {
    let n_pairs = wanted.len().saturating_sub(1) + line.len().saturating_sub(1);
    let mut n_common = 0_u32;
    for pair in line.windows(2).map(pair_index) {
        if left[pair] > 0 {
            left[pair] -= 1;
            n_common += 1;
        }
    }
    line.windows(2)
        .map(pair_index)
        .for_each(|pair| left[pair] = counts[pair]);
    if n_pairs == 0 {
        return 0.0;
    }
    2.0 * f64::from(n_common) / n_pairs as f64
}
