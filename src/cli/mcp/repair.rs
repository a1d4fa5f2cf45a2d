//! Messages that are not JSON because of their texts, though everything else can be read.
//!
//! JavaScript writes half of a surrogate pair, which an agent's text may end with, as an escape like
//! `\\ud83d`. That is no character, so there is no such text in Rust. RFC 8259, section 8.2, leaves
//! open what a reader makes of it.

use std::borrow::Cow;

/// What is wrong with a call that is not UTF-8.
const NOT_UTF_8: &str = "Error: the call is not UTF-8, so nothing was changed. Send it in UTF-8.";

/// What is wrong with a call that has half of a surrogate pair.
const HALF_A_PAIR: &str = "Error: the call has half of a surrogate pair, such as \\ud83d without \
    the other half, so nothing was changed. Send the whole character.";

/// The escape of U+FFFD, which has the length of the escapes that it replaces.
const REPLACEMENT: &str = "\\ufffd";

/// Returns `message` with U+FFFD in place of what is no character, and what was wrong, in words for
/// the agent; or none if nothing is.
pub fn repaired(message: &[u8]) -> Option<(Vec<u8>, &'static str)> {
    match String::from_utf8_lossy(message) {
        Cow::Borrowed(text) => Some((without_halves(text)?.into_bytes(), HALF_A_PAIR)),
        Cow::Owned(text) => {
            let text = without_halves(&text).unwrap_or(text);
            Some((text.into_bytes(), NOT_UTF_8))
        }
    }
}

/// Returns `json` with U+FFFD in place of each half of a surrogate pair, or none if it has none.
fn without_halves(json: &str) -> Option<String> {
    if !json.contains("\\ud") && !json.contains("\\uD") {
        return None;
    }
    let mut repaired = String::new();
    let (mut done, mut at) = (0, 0);
    while let Some(n) = json[at..].find('\\') {
        at += n;
        let half = unit(json, at);
        if half.is_some_and(is_first) && unit(json, at + REPLACEMENT.len()).is_some_and(is_second) {
            at += 2 * REPLACEMENT.len();
        } else if half.is_some_and(|unit| is_first(unit) || is_second(unit)) {
            repaired.push_str(&json[done..at]);
            repaired.push_str(REPLACEMENT);
            at += REPLACEMENT.len();
            done = at;
        } else {
            // A backslash and what it escapes, of which no more than one byte is skipped.
            at += 1 + usize::from(json.as_bytes().get(at + 1).is_some_and(u8::is_ascii));
        }
    }
    if done == 0 {
        return None;
    }
    repaired.push_str(&json[done..]);
    Some(repaired)
}

/// Returns the UTF-16 code unit whose escape, like `\\u00e9`, is at `at` in `json`, if there is one.
fn unit(json: &str, at: usize) -> Option<u16> {
    let escape = json.get(at..at + REPLACEMENT.len())?;
    u16::from_str_radix(escape.strip_prefix("\\u")?, 16).ok()
}

/// Whether `unit` is the first half of a surrogate pair.
fn is_first(unit: u16) -> bool {
    (0xd800..0xdc00).contains(&unit)
}

/// Whether `unit` is the second half of a surrogate pair.
fn is_second(unit: u16) -> bool {
    (0xdc00..0xe000).contains(&unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_halves_of_pairs_are_replaced() {
        for (json, expected) in [
            (r#""a""#, None),
            (r#""\\ud83d""#, None),
            (r#""\ud83d\ude00""#, None),
            (r#""\uD83D\uDE00 \u00e9 \n""#, None),
            (r#""\ud83d""#, Some(r#""\ufffd""#)),
            (r#""\\\ud83d""#, Some(r#""\\\ufffd""#)),
            (r#""\ude00 é""#, Some(r#""\ufffd é""#)),
            (r#""\ud83d\ud83d\ude00""#, Some(r#""\ufffd\ud83d\ude00""#)),
            (r#""\ude00\ud83d""#, Some(r#""\ufffd\ufffd""#)),
            (r#""\ud83d\n\ude00""#, Some(r#""\ufffd\n\ufffd""#)),
            // Neither is JSON, but neither may do harm.
            (r#""\ud83"#, None),
            (r#""\ud83d\é\"#, Some(r#""\ufffd\é\"#)),
        ] {
            let found = repaired(json.as_bytes());
            let expected = expected.map(|json: &str| (json.as_bytes().to_vec(), HALF_A_PAIR));
            assert_eq!(found, expected, "{json}");
        }
    }

    #[test]
    fn bytes_that_are_not_utf_8_are_replaced_as_well() {
        let found = repaired(b"\"\xff \\ud83d\"");
        let expected = "\"\u{fffd} \\ufffd\"".as_bytes().to_vec();
        assert_eq!(found, Some((expected, NOT_UTF_8)));
    }
}
