//! Whether Emacs, when it visits a file, shows the bytes as they are.

use memchr::{memchr, memchr2, memchr2_iter, memchr3};

/// How Emacs decodes the bytes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decoding {
    /// As lines of UTF-8, which it prefers to other coding systems.
    Plain,
    /// As [`Decoding::Plain`] unless they declare another coding system: they have one of the words
    /// that all declarations have.
    MayDeclare,
    /// That is not certain.
    Unknown,
}

/// The byte order mark of UTF-8, which Emacs takes out.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl Decoding {
    /// Returns how Emacs decodes `bytes`.
    ///
    /// Text with no newline at all is left to Emacs, which then does not know the kind of its line
    /// ends.
    pub fn of(bytes: &[u8]) -> Decoding {
        let is_plain = !bytes.starts_with(BYTE_ORDER_MARK)
            && memchr(b'\n', bytes).is_some()
            && !has_doubtful(bytes)
            && std::str::from_utf8(bytes).is_ok();
        match is_plain {
            false => Decoding::Unknown,
            true if may_declare(bytes) => Decoding::MayDeclare,
            true => Decoding::Plain,
        }
    }
}

/// Returns whether `bytes` have one that may occur in text that is not lines of UTF-8: NUL, CR, or
/// one by which ISO 2022 shifts from one charset to another.
fn has_doubtful(bytes: &[u8]) -> bool {
    memchr3(0, b'\r', 0x1b, bytes).is_some() || memchr2(0x0e, 0x0f, bytes).is_some()
}

/// Returns whether `bytes` have a word that is in every declaration of a coding system, in any
/// case. Each word is searched by its rarest letter.
fn may_declare(bytes: &[u8]) -> bool {
    let has = |word: &[u8], n_before: usize, at: usize| {
        let start = at.checked_sub(n_before);
        let found = start.and_then(|start| bytes.get(start..start + word.len()));
        found.is_some_and(|found| found.eq_ignore_ascii_case(word))
    };
    memchr2_iter(b'g', b'G', bytes).any(|at| has(b"coding", 5, at))
        || memchr2_iter(b'h', b'H', bytes).any(|at| has(b"charset", 1, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_utf_8_are_plain() {
        for text in [
            "\n",
            "a\nb",
            "Größe\n行数\n",
            "\u{d7ff}\u{e000}\u{10ffff}\n",
            "cod\ning\n",
        ] {
            assert_eq!(Decoding::of(text.as_bytes()), Decoding::Plain, "{text:?}");
        }
    }

    #[test]
    fn what_may_be_decoded_otherwise_is_not_plain() {
        let doubtful: [&[u8]; 11] = [
            b"",
            b"a",
            b"\xef\xbb\xbfa\n",
            b"a\r\n",
            b"a\rb\n",
            b"a\0\n",
            b"\x1b$B\n",
            b"\x0e\n",
            b"\x0f\n",
            b"\xe9t\xe9\n",
            b"\xed\xa0\x80\n",
        ];
        for bytes in doubtful {
            assert_eq!(Decoding::of(bytes), Decoding::Unknown, "{bytes:?}");
        }
    }

    #[test]
    fn a_word_of_a_declaration_is_found_anywhere_in_any_case() {
        for word in [
            "coding",
            "CODING",
            "Coding",
            "charset",
            "CharSet",
            "encoding",
            "recodings",
        ] {
            for text in [
                format!("{word}\n"),
                format!("gh\n{word}"),
                format!("\n- {word}: latin-1"),
            ] {
                assert_eq!(
                    Decoding::of(text.as_bytes()),
                    Decoding::MayDeclare,
                    "{text:?}"
                );
            }
        }
    }
}
