//! Paths of files of a project, which are bytes, and their form in a line of JSON; Lisp gets the bytes.

use serde::{Deserialize, Deserializer, Serializer};

use crate::version::Word;

/// The path of a file in the project, with `/` between its parts. Paths are bytes.
pub type Path = Vec<u8>;

/// Returns why `path` is not that of a file of a project, or `None` if it is: relative, below the top, and
/// outside of what is git's own under any name that a disk may take for `.git`.
///
/// It says so after "it". git itself tracks no file with such a path.
pub fn flaw(path: &[u8]) -> Option<&'static str> {
    if path.contains(&0) {
        return Some("has a NUL byte");
    }
    if path.starts_with(b"/") {
        return Some("is absolute");
    }
    let mut parts = path.split(|&byte| byte == b'/');
    parts.find_map(|part| match part {
        b"" => Some("has an empty part"),
        b"." | b".." => Some("has a part . or .."),
        _ if is_gits(part) => Some("is in a folder of git's own"),
        _ => None,
    })
}

/// Returns whether some disk takes `part` of a path for `.git`: case may not matter, nor characters without
/// width, nor what follows a colon, nor dots and spaces at the end; and `git~1` may be its short name.
fn is_gits(part: &[u8]) -> bool {
    let has_width = |char: &char| !matches!(*char, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let name = String::from_utf8_lossy(part);
    let name: String = name.chars().filter(has_width).collect();
    let name = name.to_ascii_lowercase();
    let name = name.split(':').next().unwrap_or_default();
    let name = name.trim_end_matches(['.', ' ']);
    let short = name.strip_prefix("git~");
    name == ".git" || short.is_some_and(|n| n.len() == 1 && n.as_bytes()[0].is_ascii_digit())
}

/// Returns whether the file `path`, which git does not know, is one that an editor keeps for itself:
/// a lock or an automatic save of Emacs, a backup, a swap file of Vim, or a draft of this package.
pub fn is_editors_own(path: &[u8]) -> bool {
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
    name.starts_with(b".#")
        || name.starts_with(b".agent-q-diff-")
        || (name.starts_with(b"#") && name.ends_with(b"#"))
        || name.ends_with(b"~")
        || (name.starts_with(b".")
            && [&b".swp"[..], b".swo"]
                .iter()
                .any(|end| name.ends_with(end)))
}

/// Returns `path` with `%XX` for what is not printable ASCII, and for `%`.
pub fn escaped(path: &[u8]) -> String {
    let mut word = String::new();
    for &byte in path {
        match byte {
            b'!'..=b'~' if byte != b'%' => word.push(char::from(byte)),
            _ => word.push_str(&format!("%{byte:02X}")),
        }
    }
    word
}

/// Writes `path` as a string, with `%XX` for each byte that is not part of a character, and for `%`.
pub fn serialize<S: Serializer>(path: &[u8], to: S) -> Result<S::Ok, S::Error> {
    if !to.is_human_readable() {
        return to.serialize_bytes(path);
    }
    match std::str::from_utf8(path) {
        Ok(text) if !text.contains('%') => return to.serialize_str(text),
        _ => {}
    }
    let mut text = String::new();
    for chunk in path.utf8_chunks() {
        text.push_str(&chunk.valid().replace('%', "%25"));
        let invalid = chunk.invalid().iter();
        invalid.for_each(|byte| text.push_str(&format!("%{byte:02X}")));
    }
    to.serialize_str(&text)
}

/// Reads what [`serialize`] writes.
pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Path, D::Error> {
    if !from.is_human_readable() {
        return Path::deserialize(from);
    }
    from.deserialize_str(Word(unescaped))
}

/// Returns the bytes that `word` stands for, in which `%XX` is a byte; `None` if it is no such word.
pub fn unescaped(word: &str) -> Option<Path> {
    let mut parts = word.split('%');
    let mut path = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let digits = part.get(..2).filter(|digits| !digits.starts_with('+'))?;
        path.push(u8::from_str_radix(digits, 16).ok()?);
        path.extend_from_slice(&part.as_bytes()[2..]);
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_below_the_top_and_outside_of_gits_own_folders() {
        for path in [
            &b""[..],
            b"/abs/x",
            b"../x",
            b"a/../../x",
            b"a/..",
            b"./x",
            b"a//x",
            b"a/",
            b"a\0b",
            b".git",
            b".git/config",
            b".git/hooks/pre-commit",
            b"a/.git/config",
            b".GIT/config",
            b".Git",
            b".git./x",
            b".git /x",
            b".git::$INDEX_ALLOCATION/x",
            b"git~1/x",
            "a/.g\u{200c}it/x".as_bytes(),
        ] {
            assert!(flaw(path).is_some(), "{}", String::from_utf8_lossy(path));
        }
        for path in [
            &b"x"[..],
            b"a/x",
            b"..x",
            b"a../...",
            b".gitignore",
            b".github/x",
            b"a.git/x",
            b"git/x",
            b"git~x",
            b"~/x",
            b"$HOME",
            b"a:b",
            b"a\nb",
            b"\xff",
        ] {
            assert_eq!(flaw(path), None, "{}", String::from_utf8_lossy(path));
        }
    }
}
