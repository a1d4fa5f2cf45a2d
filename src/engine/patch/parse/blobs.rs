//! The `index OLD..NEW MODE` line that git writes above a file header.

/// The ids of the two blobs that a diff made by git compares.
///
/// An id is the SHA-1 or SHA-256 of `blob LEN\0` followed by the bytes of the file (gitformat-pack,
/// "object name"), in lower-case hexadecimal. Git abbreviates it to as many digits as make it
/// unique in its repository: 7 or more, unless `core.abbrev` asks for fewer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blobs {
    /// The id of the text before the change, possibly abbreviated. All zeros mean that the file
    /// does not exist.
    pub old: String,
    /// The id of the text after the change, in the same form.
    pub new: String,
}

/// The fewest digits that identify a blob reliably enough: one in 268 million other texts has an id
/// with the same 7 digits. Of the 4 digits to which git can be set, it would be one in 65,536.
const MIN_DIGITS: usize = 7;

/// Number of digits of an unabbreviated SHA-256.
const MAX_DIGITS: usize = 64;

impl Blobs {
    /// Parses `line`, which has no terminator. Returns `None` if it is no `index` line or its ids
    /// are too short to identify a text.
    pub(super) fn read(line: &[u8]) -> Option<Blobs> {
        let line = str::from_utf8(line).ok()?.strip_prefix("index ")?;
        let ids = line.split(' ').next()?;
        let (old, new) = ids.split_once("..")?;
        let is_id = |id: &str| {
            let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
            (MIN_DIGITS..=MAX_DIGITS).contains(&id.len()) && id.bytes().all(is_digit)
        };
        (is_id(old) && is_id(new)).then(|| Blobs {
            old: old.to_owned(),
            new: new.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_with_and_without_a_mode_and_prose_is_none() {
        let read = |line: &str| Blobs::read(line.as_bytes()).map(|ids| (ids.old, ids.new));
        let ids = |old: &str, new: &str| Some((old.to_owned(), new.to_owned()));
        let expected = ids("1234567", "89abcde");
        assert_eq!(read("index 1234567..89abcde 100644"), expected);
        assert_eq!(read("index 1234567..89abcde"), expected);
        assert_eq!(read("index 0000000..89abcde"), ids("0000000", "89abcde"));
        for line in [
            "index 123456..89abcde",
            "index 1234567..89ABCDE",
            "index 1234567,1111111..89abcde",
            "index of the ..1234567",
            "Index: f",
            " index 1234567..89abcde",
            "index 1234567...89abcde",
        ] {
            assert_eq!(read(line), None, "{line}");
        }
    }
}
