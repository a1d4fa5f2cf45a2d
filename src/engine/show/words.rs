//! Changed words inside changed lines.
//!
//! Where added lines replace removed ones, both are cut into tokens, which are then compared as
//! lines are. Tokens are words, found by [UAX #29](https://www.unicode.org/reports/tr29/) and cut
//! at underscores, and single grapheme clusters of everything else. With *n* tokens that takes O(n
//! log n) time, or O(n √n) if most tokens recur. Nothing is marked in changes of more than 20,000
//! tokens, in changes beyond 256 KiB of a hunk, or between lines that have so little in common that
//! marks would only distract. But where one long line replaces another, what they begin and end with
//! in common is left out first, which takes time linear in their lengths.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput};
use unicode_segmentation::UnicodeSegmentation;

use crate::patch::hunk::{Hunk, Line, LineKind};

use super::moved::Inside;

/// Most tokens on one side of a change. If there are more, the change is not marked.
pub(super) const MAX_TOKENS: usize = 20_000;

/// Most bytes compared in one hunk, over all its changes. A change that exceeds what is left of
/// them is not marked, unless it is of one line.
const MAX_LEN: usize = 1 << 18;

/// Most characters of a word at the end of what two long lines have in common.
const LONGEST_WORD: usize = 100;

/// Bytes of two lines from which on what they have in common at their ends is not compared.
const LONG: usize = 10_000;

/// Changed characters in one line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Index of the line in the hunk (0-based, without the header).
    pub line: usize,
    /// The changed characters: a half-open range that counts from 0 after the line's sign.
    pub columns: Range<usize>,
}

/// Returns the changed words of `hunk`, in the order of its lines. `moved` says what each changed line, counted
/// in the order of the diff, is in a block that moved: it is compared only with its partner there.
///
/// ```
/// use agent_q_diff_engine::patch::hunk::{Hunk, Line, LineKind};
/// use agent_q_diff_engine::show::words::{Span, changed_words};
/// let line = |kind, text| Line { kind, text };
/// let lines = vec![
///     line(LineKind::Removed, b"let x = 1;\n".as_slice()),
///     line(LineKind::Added, b"let y = 1;\n"),
/// ];
/// let hunk = Hunk { before: 0..1, after: 0..1, heading: b"", lines, is_open_ended: false };
/// let spans = changed_words(&hunk, |_| None);
/// assert_eq!(spans, [Span { line: 0, columns: 4..5 }, Span { line: 1, columns: 4..5 }]);
/// ```
pub fn changed_words<'m>(hunk: &Hunk, moved: impl Fn(usize) -> Option<&'m Inside>) -> Vec<Span> {
    let mut spans = Vec::new();
    let (mut first, mut at, mut n_left) = (0, 0, MAX_LEN);
    for run in runs(&hunk.lines) {
        if run[0].kind != LineKind::Context {
            let mut sides = [Vec::new(), Vec::new()];
            for (line, each) in (first..).zip(run) {
                match moved(at) {
                    None => {
                        sides[usize::from(each.kind == LineKind::Added)].push((line, each.text))
                    }
                    Some(Inside::Changed(all)) => spans.extend(all.iter().map(|columns| Span {
                        line,
                        columns: columns.clone(),
                    })),
                    Some(Inside::Equal | Inside::Alone) => {}
                }
                at += 1;
            }
            let len: usize = sides.iter().flatten().map(|(_, text)| text.len()).sum();
            let is_long_pair = len > LONG && sides.iter().all(|side| side.len() == 1);
            if is_long_pair || len <= n_left && sides.iter().all(|side| !side.is_empty()) {
                n_left -= if is_long_pair { 0 } else { len };
                spans.extend(changed_between(&sides));
            }
        }
        first += run.len();
    }
    spans.sort_by_key(|span| (span.line, span.columns.start));
    spans
}

/// Returns the changed words between removed and added lines, each with its index in the hunk.
fn changed_between(sides: &[Vec<(usize, &[u8])>; 2]) -> Vec<Span> {
    let texts = sides.each_ref().map(|side| {
        let texts = side.iter().map(|(_, text)| str::from_utf8(text).ok());
        texts.collect::<Option<Vec<_>>>()
    });
    let [Some(removed), Some(added)] = texts else {
        return Vec::new();
    };
    let found = compare_lines(&removed, &added).unwrap_or_default();
    let found = found.into_iter().zip(sides).flat_map(|(spans, side)| {
        spans.into_iter().map(|span| Span {
            line: side[span.line].0,
            ..span
        })
    });
    found.collect()
}

/// Returns the columns of the changed words of two lines, of which one became the other.
pub(super) fn changed_columns(old: &[u8], new: &[u8]) -> [Vec<Range<usize>>; 2] {
    let (Ok(old), Ok(new)) = (str::from_utf8(old), str::from_utf8(new)) else {
        return Default::default();
    };
    let found = compare_lines(&[old], &[new]).unwrap_or_default();
    found.map(|spans| spans.into_iter().map(|span| span.columns).collect())
}

/// Cuts `lines` of a hunk into runs: each is a change, removed lines and then added ones, or the
/// unchanged lines between two.
pub(super) fn runs<'a, 'b>(lines: &'a [Line<'b>]) -> impl Iterator<Item = &'a [Line<'b>]> {
    lines.chunk_by(|a, b| !begins_run(a.kind, b.kind))
}

/// Returns whether a line of kind `next` after one of kind `last` begins a new run: another change,
/// or the unchanged lines after one.
fn begins_run(last: LineKind, next: LineKind) -> bool {
    use LineKind::{Added, Context, Removed};
    match (last, next) {
        (Context, Context) | (Removed, Removed | Added) | (Added, Added) => false,
        (Context, Removed | Added) | (Removed | Added, Context) | (Added, Removed) => true,
    }
}

/// A piece of a line that counts as changed or unchanged as a whole.
#[derive(Debug, Clone, Copy)]
struct Token<'a> {
    text: &'a str,
    line: usize,
    column: usize,
}

/// Returns the changed words of the lines `removed` and of the lines `added`; `None` if they have too
/// many tokens or too little in common.
fn compare_lines(removed: &[&str], added: &[&str]) -> Option<[Vec<Span>; 2]> {
    match (removed, added) {
        (&[old], &[new]) if old.len() + new.len() > LONG => compare_middles(old, new),
        _ => compare(removed, added, 0),
    }
}

/// Returns the changed words of the lines `removed` and of the lines `added`, around which they have
/// `n_around` characters in common; `None` if they have too many tokens or too little in common.
fn compare(removed: &[&str], added: &[&str], n_around: usize) -> Option<[Vec<Span>; 2]> {
    let (before, after) = (tokens(removed)?, tokens(added)?);
    let diff = diff_of(
        before.iter().map(|token| token.text),
        after.iter().map(|token| token.text),
    );
    let is_same = |side: &[Token], is_changed: &dyn Fn(u32) -> bool| -> usize {
        let kept = (0_u32..)
            .zip(side)
            .filter(|(at, _)| !is_changed(*at))
            .map(|(_, token)| token.text.trim().chars().count());
        kept.sum()
    };
    let n_same = n_around + is_same(&before, &|at| diff.is_removed(at));
    let smaller = n_around + n_chars(removed).min(n_chars(added));
    if is_replacement(n_same, smaller) {
        return None;
    }
    Some([
        spans(&before, |at| diff.is_removed(at)),
        spans(&after, |at| diff.is_added(at)),
    ])
}

/// Returns the changed words of two long lines, without comparing what both begin and end with. If
/// more is between than can be compared, all of that counts as changed.
fn compare_middles(removed: &str, added: &str) -> Option<[Vec<Span>; 2]> {
    let [removed, added] = [removed, added].map(|line| line.trim_end_matches(['\n', '\r']));
    let head = common(removed.chars().zip(added.chars()));
    let (old, new) = (&removed[head.len()..], &added[head.len()..]);
    let tail = common(old.chars().rev().zip(new.chars().rev()));
    let (old, new) = (
        &old[..old.len() - tail.len()],
        &new[..new.len() - tail.len()],
    );
    let n_head = head.chars().count();
    let n_around = n_head + tail.chars().count();
    let found = if old.len() + new.len() <= LONG {
        compare(&[old], &[new], n_around)?
    } else if is_replacement(n_around, n_around + n_chars(&[old]).min(n_chars(&[new]))) {
        return None;
    } else {
        [old, new].map(|text| {
            let columns = 0..text.chars().count();
            vec![Span { line: 0, columns }]
        })
    };
    Some(found.map(|mut spans| {
        spans.retain(|span| !span.columns.is_empty());
        for Span { columns, .. } in &mut spans {
            *columns = columns.start + n_head..columns.end + n_head;
        }
        spans
    }))
}

/// Returns what two lines have in common from one end on, in that direction, without a word that
/// goes on differently.
fn common(pairs: impl Iterator<Item = (char, char)>) -> String {
    let same = pairs.take_while(|(a, b)| a == b);
    let mut text: String = same.map(|(a, _)| a).collect();
    let word = text.chars().rev().take_while(|c| c.is_alphanumeric());
    let n_word: usize = word.take(LONGEST_WORD).map(char::len_utf8).sum();
    text.truncate(text.len() - n_word);
    text
}

/// Compares two sequences of tokens.
pub(super) fn diff_of<'a>(
    before: impl Iterator<Item = &'a str>,
    after: impl Iterator<Item = &'a str>,
) -> Diff {
    let mut input = InternedInput::<&str>::default();
    input.update_before(before);
    input.update_after(after);
    let mut diff = Diff::compute(Algorithm::Myers, &input);
    diff.postprocess_no_heuristic(&input);
    diff
}

/// Returns the pairs of `before` and `after` that stay, in order.
pub(super) fn kept(before: &[Vec<u8>], after: &[Vec<u8>]) -> Vec<[usize; 2]> {
    let mut input = InternedInput::<&[u8]>::default();
    input.update_before(before.iter().map(Vec::as_slice));
    input.update_after(after.iter().map(Vec::as_slice));
    let diff = Diff::compute(Algorithm::Histogram, &input);
    let kept = |side: usize, is_changed: &dyn Fn(u32) -> bool| {
        let all = (0..side).filter(|at| !is_changed(*at as u32));
        all.collect::<Vec<_>>()
    };
    let old = kept(before.len(), &|at| diff.is_removed(at));
    let new = kept(after.len(), &|at| diff.is_added(at));
    old.into_iter()
        .zip(new)
        .map(|(old, new)| [old, new])
        .collect()
}

/// Returns whether lines were replaced rather than changed: with less than a third of the characters of
/// the `smaller` side in common.
pub(super) fn is_replacement(n_same: usize, smaller: usize) -> bool {
    n_same * 3 < smaller || n_same == 0
}

/// Returns the number of characters of `lines`, but for white space around each.
pub(super) fn n_chars(lines: &[&str]) -> usize {
    lines.iter().map(|line| line.trim().chars().count()).sum()
}

/// Returns the tokens of `line` that are not white space.
pub(super) fn words(line: &str) -> Vec<&str> {
    cut(line).filter(|token| !token.trim().is_empty()).collect()
}

/// Cuts `lines` into tokens; `None` if there are more than [`MAX_TOKENS`].
fn tokens<'a>(lines: &[&'a str]) -> Option<Vec<Token<'a>>> {
    let mut tokens = Vec::new();
    for (line, text) in lines.iter().enumerate() {
        let mut column = 0;
        for text in cut(text) {
            tokens.push(Token { text, line, column });
            column += text.chars().count();
        }
        if tokens.len() > MAX_TOKENS {
            return None;
        }
    }
    Some(tokens)
}

/// Cuts `text` into tokens: words, after each underscore as well, since these join words in code, and
/// grapheme clusters of everything else.
fn cut(text: &str) -> impl Iterator<Item = &str> {
    text.split_word_bounds().flat_map(|word| {
        let pieces: Vec<&str> = if word.contains(char::is_alphanumeric) {
            word.split_inclusive('_').collect()
        } else {
            word.graphemes(true).collect()
        };
        pieces
    })
}

/// Returns the spans of the changed `tokens`: one for each run on a line, without the line's end.
fn spans(tokens: &[Token], is_changed: impl Fn(u32) -> bool) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for (_, token) in (0..).zip(tokens).filter(|(at, _)| is_changed(*at)) {
        let text = token.text.trim_end_matches(['\n', '\r']);
        let columns = token.column..token.column + text.chars().count();
        match spans.last_mut() {
            Some(last) if last.line == token.line && last.columns.end == columns.start => {
                last.columns.end = columns.end;
            }
            _ if columns.is_empty() => {}
            _ => spans.push(Span {
                line: token.line,
                columns,
            }),
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the lines of `diff`, each with its sign, and the changed words in brackets.
    fn shown(diff: &str) -> String {
        let line = |text: &'static str| {
            let (kind, text) = match text.split_at(1) {
                ("-", text) => (LineKind::Removed, text),
                ("+", text) => (LineKind::Added, text),
                (_, text) => (LineKind::Context, text),
            };
            let text = text.as_bytes();
            Line { kind, text }
        };
        let diff: &'static str = diff.to_owned().leak();
        let lines: Vec<_> = diff.split_inclusive('\n').map(line).collect();
        let hunk = Hunk {
            before: 0..0,
            after: 0..0,
            heading: b"",
            lines,
            is_open_ended: false,
        };
        let mut marked: Vec<Vec<String>> = diff
            .split_inclusive('\n')
            .map(|line| line.chars().map(String::from).collect())
            .collect();
        for Span { line, columns } in changed_words(&hunk, |_| None) {
            marked[line][columns.start + 1].insert(0, '[');
            marked[line][columns.end].push(']');
        }
        marked.concat().concat()
    }

    #[test]
    fn words_are_marked_whole_and_signs_by_themselves() {
        assert_eq!(
            shown(" same\n-let count = old + 1;\n+let total = old - 1;\n same\n"),
            " same\n-let [count] = old [+] 1;\n+let [total] = old [-] 1;\n same\n"
        );
        assert_eq!(
            shown("-call(read_old_file, x)\n+call(read_new_file, x)\n"),
            "-call(read_[old_]file, x)\n+call(read_[new_]file, x)\n"
        );
    }

    #[test]
    fn a_change_can_run_over_lines() {
        assert_eq!(
            shown("-if a then b\n+if a\n+then b\n"),
            "-if a[ ]then b\n+if a\n+then b\n"
        );
    }

    #[test]
    fn characters_are_whole_however_many_make_them_up() {
        assert_eq!(
            shown("-one: 👩‍👩‍👧 day\n+one: 👩‍👩‍👦 day\n"),
            "-one: [👩‍👩‍👧] day\n+one: [👩‍👩‍👦] day\n"
        );
        assert_eq!(
            shown("-die Straße hier\n+die Größe hier\n"),
            "-die [Straße] hier\n+die [Größe] hier\n"
        );
    }

    #[test]
    fn unrelated_lines_have_no_changed_words() {
        for diff in [
            "-alpha beta gamma\n+one two three\n",
            "-only removed\n same\n+only added\n",
            "+added\n+more\n",
        ] {
            assert_eq!(shown(diff), diff);
        }
    }

    #[test]
    fn two_changes_in_one_hunk_are_apart() {
        assert_eq!(
            shown("-a = 1\n+a = 2\n x\n-b = 1\n+b = 2\n"),
            "-a = [1]\n+a = [2]\n x\n-b = [1]\n+b = [2]\n"
        );
    }

    #[test]
    fn invalid_utf8_and_very_long_changes_have_no_changed_words() {
        let line = |kind, text| Line { kind, text };
        let long = ". ".repeat(MAX_TOKENS);
        for (removed, added) in [
            (&b"a \xff b\n"[..], &b"a c b\n"[..]),
            (long.as_bytes(), b"x y\n"),
        ] {
            let lines = vec![
                line(LineKind::Removed, removed),
                line(LineKind::Added, added),
            ];
            let hunk = Hunk {
                before: 0..1,
                after: 0..1,
                heading: b"",
                lines,
                is_open_ended: false,
            };
            assert_eq!(changed_words(&hunk, |_| None), []);
        }
    }

    #[test]
    fn of_long_lines_what_is_between_equal_ends_is_compared() {
        let long = "some words ".repeat(MAX_LEN / 4);
        let marked = shown(&format!(
            "-{long}port=80 host=abc {long}\n+{long}port=81 host=xyz {long}\n"
        ));
        let ends = format!("{long}\n");
        assert_eq!(
            marked.replace(&ends, "|\n").replace(&long, "|"),
            "-|port=[80] host=[abc] |\n+|port=[81] host=[xyz] |\n"
        );
        let marked = shown(&format!("-{long}\n+{long}ADMIN{long}\n"));
        assert_eq!(marked.matches('[').count(), 1);
        assert!(marked.contains("[ADMIN"));
        let other = "0 ".repeat(LONG);
        let marked = shown(&format!("-{long}|{other}|{long}\n+{long}||{long}\n"));
        assert_eq!(marked.matches("[").count(), 1);
        assert!(marked.contains(&format!("[{other}]")));
    }

    #[test]
    fn of_a_big_hunk_the_changes_that_fit_are_compared() {
        let long = "word ".repeat(MAX_LEN / 4);
        let texts = [
            "x a\n", "x b\n", "same\n", &long, "x\n", "same\n", "y a\n", "y b\n",
        ];
        use LineKind::{Added, Context, Removed};
        let kinds = [
            Removed, Added, Context, Removed, Added, Context, Removed, Added,
        ];
        let lines = kinds.iter().zip(texts).map(|(&kind, text)| Line {
            kind,
            text: text.as_bytes(),
        });
        let hunk = Hunk {
            before: 0..0,
            after: 0..0,
            heading: b"",
            lines: lines.collect(),
            is_open_ended: false,
        };
        let found: Vec<usize> = changed_words(&hunk, |_| None)
            .iter()
            .map(|span| span.line)
            .collect();
        assert_eq!(found, [0, 1, 6, 7]);
    }
}
