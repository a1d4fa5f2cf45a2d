//! Quotes and unquotes paths in file header lines.
//!
//! A path is any bytes, and a newline in it must not begin a line of the diff. As in git, such a
//! path is put in double quotes, with the escapes of C strings.

use std::borrow::Cow;

/// The letters that may follow a backslash, and the bytes that they represent.
const ESCAPES: [(u8, u8); 9] = [
    (b'a', 0x07),
    (b'b', 0x08),
    (b't', b'\t'),
    (b'n', b'\n'),
    (b'v', 0x0b),
    (b'f', 0x0c),
    (b'r', b'\r'),
    (b'"', b'"'),
    (b'\\', b'\\'),
];

/// Returns `path` as git writes it with `core.quotePath` off.
///
/// It is quoted if it has an ASCII control character, a double quote or a backslash. Spaces and
/// non-ASCII characters need no quotes.
pub(crate) fn quoted(path: &[u8]) -> Cow<'_, [u8]> {
    if !path.iter().copied().any(needs_escape) {
        return Cow::Borrowed(path);
    }
    let mut quoted = vec![b'"'];
    for &byte in path {
        if needs_escape(byte) {
            quoted.extend_from_slice(&escape(byte));
        } else {
            quoted.push(byte);
        }
    }
    quoted.push(b'"');
    Cow::Owned(quoted)
}

fn needs_escape(byte: u8) -> bool {
    byte.is_ascii_control() || matches!(byte, b'"' | b'\\')
}

fn escape(byte: u8) -> Vec<u8> {
    match ESCAPES.iter().find(|(_, escaped)| *escaped == byte) {
        Some((letter, _)) => vec![b'\\', *letter],
        None => format!("\\{byte:03o}").into_bytes(),
    }
}

/// Returns the path that `name`, from a file header line, represents: the reverse of quoting.
///
/// A name without quotes, or with malformed quoting, represents itself.
///
/// ```
/// use agent_q_diff_engine::patch::quote::unquoted;
/// assert_eq!(*unquoted(br#""a/\303\244\t""#), *"a/ä\t".as_bytes());
/// assert_eq!(*unquoted(br#""a/\z""#), *br#""a/\z""#);
/// ```
pub fn unquoted(name: &[u8]) -> Cow<'_, [u8]> {
    unescaped(name).map_or(Cow::Borrowed(name), Cow::Owned)
}

fn unescaped(name: &[u8]) -> Option<Vec<u8>> {
    let mut rest = name.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    let mut path = Vec::with_capacity(rest.len());
    while let Some((&byte, after)) = rest.split_first() {
        let (byte, after) = match byte {
            b'"' => return None,
            b'\\' => unescape(after)?,
            plain => (plain, after),
        };
        path.push(byte);
        rest = after;
    }
    Some(path)
}

/// Returns the byte for the escape at the start of `rest` (the backslash is already gone), and the
/// bytes after it.
fn unescape(rest: &[u8]) -> Option<(u8, &[u8])> {
    let (&first, after) = rest.split_first()?;
    if let Some((_, escaped)) = ESCAPES.iter().find(|(letter, _)| *letter == first) {
        return Some((*escaped, after));
    }
    let (digits, after) = rest.split_at_checked(3)?;
    let digits = std::str::from_utf8(digits).ok()?;
    let is_octal = digits.bytes().all(|digit| matches!(digit, b'0'..=b'7'));
    let byte = u8::from_str_radix(digits, 8).ok()?;
    is_octal.then_some((byte, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_quoted_if_it_has_a_control_character() {
        assert_eq!(*quoted("/tmp/ä b".as_bytes()), *"/tmp/ä b".as_bytes());
        assert_eq!(*quoted(b"/tmp/a\nb\x1b"), *br#""/tmp/a\nb\033""#);
    }

    #[test]
    fn every_byte_survives_and_stays_on_one_line() {
        for byte in 0..=u8::MAX {
            let path = [b'/', byte, b'7'];
            let name = quoted(&path);
            assert!(!name.iter().any(u8::is_ascii_control), "{byte}");
            assert_eq!(*unquoted(&name), path, "{byte}");
        }
    }

    #[test]
    fn names_that_are_not_well_formed_stand_for_themselves() {
        let table = r##"" "a "a"b" "\" "\ "\40" "\400" "\é""##;
        for name in table.split(' ') {
            assert_eq!(*unquoted(name.as_bytes()), *name.as_bytes(), "{name}");
        }
    }
}
