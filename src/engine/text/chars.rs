//! Counting characters and line ends in bytes.

use memchr::{memchr, memchr_iter};

/// Returns the number of LF in `bytes`.
pub(crate) fn n_newlines(bytes: &[u8]) -> usize {
    memchr_iter(b'\n', bytes).count()
}

/// Returns the number of CRLF in `bytes`.
pub(crate) fn n_crlf(bytes: &[u8]) -> usize {
    // Most texts have no CR at all.
    let first = memchr(b'\r', bytes).unwrap_or(bytes.len());
    let rest = &bytes[first..];
    rest.windows(2).filter(|pair| pair == b"\r\n").count()
}

/// Returns the number of characters in `bytes` as Emacs counts them.
///
/// Emacs writes characters beyond Unicode in up to five bytes and lets surrogates pass; a byte that
/// belongs to no character counts as one.
pub fn n_chars(bytes: &[u8]) -> usize {
    if bytes.is_ascii() {
        return bytes.len();
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        return text.chars().count();
    }
    let mut n = 0;
    let mut rest = bytes;
    while !rest.is_empty() {
        rest = &rest[char_len(rest)..];
        n += 1;
    }
    n
}

/// Returns how many of `bytes` make the first `n` characters as Emacs counts them.
pub(crate) fn len_of_chars(bytes: &[u8], n: usize) -> usize {
    if bytes.is_ascii() {
        return n;
    }
    let mut len = 0;
    for _ in 0..n {
        len += char_len(&bytes[len..]);
    }
    len
}

/// Returns how many of `bytes`, which are not empty, make the first character for Emacs.
pub(crate) fn char_len(bytes: &[u8]) -> usize {
    // The second byte of the longer forms has a least value, or a shorter form would do.
    let (len, least) = match bytes[0] {
        0xc2..=0xdf => (2, 0x80),
        0xe0 => (3, 0xa0),
        0xe1..=0xef => (3, 0x80),
        0xf0 => (4, 0x90),
        0xf1..=0xf7 => (4, 0x80),
        0xf8 => (5, 0x88),
        _ => return 1,
    };
    let is_tail = |byte: &u8| (0x80..0xc0).contains(byte);
    match bytes.get(1..len) {
        Some(tail) if tail.iter().all(is_tail) && tail[0] >= least => len,
        _ => 1,
    }
}
