//! Values as words of the ledger's lines: words are divided by spaces, and have only printable ASCII.

use crate::{Digest, Version};

/// Returns `version` as a word: its mode in octal, and the digest of its bytes.
pub(crate) fn version_word(version: Version) -> String {
    match version.digest() {
        None => "0".to_owned(),
        Some(digest) => format!("{:o}:{digest}", version.mode()),
    }
}

pub(crate) fn version_of(word: &str) -> Option<Version> {
    if word == "0" {
        return Some(Version::Absent);
    }
    let (mode, digest) = word.split_once(':')?;
    Version::with_mode(u32::from_str_radix(mode, 8).ok()?, Digest::parse(digest)?)
}

/// Returns `path` as a word of printable ASCII, with `%XX` for other bytes.
pub(crate) fn escaped(path: &[u8]) -> String {
    let mut word = String::new();
    for &byte in path {
        match byte {
            b'!'..=b'~' if byte != b'%' => word.push(char::from(byte)),
            _ => word.push_str(&format!("%{byte:02X}")),
        }
    }
    word
}

/// Returns `text` as a word, which is a dot if that is empty.
pub(crate) fn text_word(text: &str) -> String {
    if text.is_empty() {
        ".".to_owned()
    } else {
        escaped(text.as_bytes()).replace('.', "%2E")
    }
}

pub(crate) fn text_of(word: &str) -> Option<String> {
    if word == "." {
        return Some(String::new());
    }
    String::from_utf8(unescaped(word)?).ok()
}

pub(crate) fn unescaped(word: &str) -> Option<Vec<u8>> {
    let mut path = Vec::new();
    let mut rest = word.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte == b'%' {
            let (digits, after) = rest.split_at_checked(2)?;
            path.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
            rest = after;
        } else {
            path.push(byte);
        }
    }
    Some(path)
}
