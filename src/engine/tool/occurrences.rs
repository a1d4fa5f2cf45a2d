//! Where a pattern occurs in a text, and how a pattern reads with other line ends.

use memchr::memmem;

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
