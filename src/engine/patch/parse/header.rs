//! Hunk headers, file headers, and the lines that git writes above these.

use std::ops::Range;

use crate::patch::hunk::range_from_header;
use crate::text::without_terminator;

use super::ParseError;

/// What stands after a name in a file header.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stamp {
    /// Nothing that says whether the file exists, perhaps a revision.
    #[default]
    None,
    /// A time: the file exists.
    Time,
    /// The file does not exist: the time is the epoch, as GNU diff and Mercurial write it, or
    /// Subversion says so.
    Absent,
}

/// Splits `line`, the rest of a line of a file header, into the name, still quoted, and what stands
/// after it.
///
/// GNU diff and Subversion put a tab between them, other programs blanks. A tab may have become
/// blanks in a mail.
pub(super) fn name_and_stamp(line: &[u8]) -> (&[u8], Stamp) {
    if let [b'"', inner @ ..] = line
        && let Some(end) = end_of_quoted(inner)
    {
        let (name, rest) = line.split_at(end + 2);
        return (name, stamp(rest).unwrap_or_default());
    }
    if let Some(tab) = line.iter().position(|&byte| byte == b'\t') {
        return (&line[..tab], stamp(&line[tab..]).unwrap_or_default());
    }
    let blanks = (1..line.len()).filter(|&at| line[at] == b' ' && line[at - 1] != b' ');
    let mut splits = blanks.map(|at| line.split_at(at));
    let split = splits.find_map(|(name, rest)| Some((name, stamp(rest)?)));
    split.unwrap_or((line, Stamp::None))
}

/// Returns at which of the bytes after an opening quote the closing one is.
fn end_of_quoted(inner: &[u8]) -> Option<usize> {
    let mut is_escaped = false;
    inner.iter().position(|&byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    })
}

/// Reads what stands after a name: a time or a revision. `None` if it is neither.
fn stamp(text: &[u8]) -> Option<Stamp> {
    let text = str::from_utf8(text).ok()?.trim();
    // Subversion also names branches, each in a field of its own.
    let last = text.rsplit('\t').next()?.trim();
    if let Some(words) = last
        .strip_prefix('(')
        .and_then(|last| last.strip_suffix(')'))
    {
        return match words {
            "nonexistent" | "revision 0" => Some(Stamp::Absent),
            "working copy" => Some(Stamp::None),
            _ => {
                let number = words
                    .strip_prefix("revision ")
                    .or(words.strip_prefix("rev "))?;
                number.parse::<u64>().ok().map(|_| Stamp::None)
            }
        };
    }
    let time = Time::read(text)?;
    Some(if time.is_epoch() {
        Stamp::Absent
    } else {
        Stamp::Time
    })
}

/// A time in one of the forms in which programs write it.
#[derive(Default)]
struct Time {
    year: Option<u32>,
    month: Option<u32>,
    day: Option<u32>,
    /// Minutes since midnight.
    minutes: Option<i32>,
    has_seconds: bool,
    /// Minutes by which the time is ahead of UTC.
    zone: i32,
}

impl Time {
    /// Reads `text`, which has a date, a time of day and perhaps a zone, and nothing else but a
    /// revision of CVS's.
    fn read(text: &str) -> Option<Time> {
        let mut time = Time::default();
        for word in text.split_whitespace() {
            let is_iso = word.len() > 11 && word.as_bytes()[10] == b'T' && word.is_ascii();
            match word.split_once('T').filter(|_| is_iso) {
                Some((date, rest)) => {
                    time.read_word(date)?;
                    let end = rest.find(['+', '-', 'Z']).unwrap_or(rest.len());
                    time.read_word(&rest[..end])?;
                    if end < rest.len() {
                        time.read_word(&rest[end..])?;
                    }
                }
                None => time.read_word(word)?,
            }
        }
        let has_date = time.year.is_some() && time.month.is_some() && time.day.is_some();
        (has_date && time.minutes.is_some()).then_some(time)
    }

    fn read_word(&mut self, word: &str) -> Option<()> {
        const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
        const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
        let number = |text: &str| text.parse::<u32>().ok();
        if let Some((hour, rest)) = word.split_once(':')
            && self.minutes.is_none()
        {
            let (minute, seconds) = rest.split_once(':').unwrap_or((rest, "0"));
            let (hour, minute) = (number(hour)?, number(minute)?);
            self.minutes = Some(i32::try_from(hour * 60 + minute).ok()?);
            self.has_seconds = seconds.parse::<f64>().ok()? != 0.0;
        } else if let [b'+' | b'-', ..] = word.as_bytes() {
            let digits = word[1..].replace(':', "");
            let digits = number(&digits).filter(|_| digits.len() == 4)?;
            let minutes = i32::try_from(digits / 100 * 60 + digits % 100).ok()?;
            self.zone = if word.starts_with('-') {
                -minutes
            } else {
                minutes
            };
        } else if let [year, month, day] = word.split(['-', '/']).collect::<Vec<_>>()[..] {
            (self.year, self.month, self.day) = (
                Some(number(year)?),
                Some(number(month)?),
                Some(number(day)?),
            );
        } else if let Some(month) = (0..12).find(|&at| MONTHS[at * 3..][..3] == *word) {
            self.month = u32::try_from(month + 1).ok();
        } else if let Some(number) = number(word) {
            let field = if word.len() == 4 {
                &mut self.year
            } else {
                &mut self.day
            };
            *field = Some(number);
        } else if !DAYS.contains(&word.trim_end_matches(','))
            && !word.bytes().all(|byte| byte.is_ascii_uppercase())
            && !word.split('.').all(|part| number(part).is_some())
        {
            return None;
        }
        Some(())
    }

    /// Whether it is the time by which a file is marked as one that does not exist.
    fn is_epoch(&self) -> bool {
        let days = match (self.year, self.month, self.day) {
            (Some(1970), Some(1), Some(1)) => 0,
            (Some(1969), Some(12), Some(31)) => -1,
            _ => return false,
        };
        let minutes = self.minutes.unwrap_or_default();
        !self.has_seconds && days * 24 * 60 + minutes == self.zone
    }
}

/// The contents of a hunk header.
pub(super) struct Header<'a> {
    pub before: Range<usize>,
    pub after: Range<usize>,
    pub heading: &'a [u8],
}

impl<'a> Header<'a> {
    /// Parses `text`, which is line `line` of the diff (1-based).
    pub fn read(text: &'a [u8], line: usize) -> Result<Header<'a>, ParseError> {
        let rest = without_terminator(text);
        let mut reader = HeaderReader { text, rest, line };
        reader.expect(b"@@ -")?;
        let before = reader.range()?;
        reader.expect(b" +")?;
        let after = reader.range()?;
        reader.expect(b" @@")?;
        let heading = reader.rest.strip_prefix(b" ").unwrap_or(reader.rest);
        Ok(Header {
            before,
            after,
            heading: heading.trim_ascii_end(),
        })
    }
}

/// Reads one hunk header from left to right.
struct HeaderReader<'a> {
    text: &'a [u8],
    rest: &'a [u8],
    /// Number of the header's line in the diff (1-based).
    line: usize,
}

impl HeaderReader<'_> {
    fn expect(&mut self, part: &[u8]) -> Result<(), ParseError> {
        let rest = self.rest.strip_prefix(part);
        self.rest = rest.ok_or_else(|| self.bad_header())?;
        Ok(())
    }

    fn range(&mut self) -> Result<Range<usize>, ParseError> {
        let start = self.number()?;
        let len = match self.rest {
            [b',', rest @ ..] => {
                self.rest = rest;
                self.number()?
            }
            _ => 1,
        };
        if start == 0 && len > 0 {
            return Err(ParseError::LineZero {
                line: self.line,
                found: beginning(self.text),
            });
        }
        range_from_header(start, len).ok_or_else(|| self.number_too_large())
    }

    fn number(&mut self) -> Result<usize, ParseError> {
        let is_digit = |byte: &&u8| byte.is_ascii_digit();
        let n_digits = self.rest.iter().take_while(is_digit).count();
        let (digits, rest) = self.rest.split_at(n_digits);
        if digits.is_empty() {
            return Err(self.bad_header());
        }
        self.rest = rest;
        let push = |number: usize, digit: &u8| {
            number
                .checked_mul(10)?
                .checked_add(usize::from(digit - b'0'))
        };
        let number = digits.iter().try_fold(0, push);
        number.ok_or_else(|| self.number_too_large())
    }

    fn bad_header(&self) -> ParseError {
        ParseError::BadHeader {
            line: self.line,
            found: beginning(self.text),
        }
    }

    fn number_too_large(&self) -> ParseError {
        ParseError::NumberTooLarge {
            line: self.line,
            found: beginning(self.text),
        }
    }
}

/// Returns the first 60 bytes of `line`, for an error message.
pub(super) fn beginning(line: &[u8]) -> String {
    const LEN: usize = 60;
    let line = without_terminator(line);
    String::from_utf8_lossy(&line[..line.len().min(LEN)]).into_owned()
}

// The header lines that git writes above a file header.
//
// They say what a unified diff cannot: that a file appears, goes, or has another name or mode (git
// diff, "Generating patch text with -p").

/// The facts in git's header of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GitHeader<'a> {
    /// The names on the line `diff --git OLD NEW`, still quoted and with their prefixes; `None` if
    /// it cannot be told where one ends.
    pub names: Option<(&'a [u8], &'a [u8])>,
    /// The names of `rename from` and `rename to`, still quoted, without prefixes.
    pub renamed: Option<(&'a [u8], &'a [u8])>,
    /// The names of `copy from` and `copy to`, in the same form.
    pub copied: Option<(&'a [u8], &'a [u8])>,
    /// The mode before, if it is stated: of `old mode` or `deleted file mode`.
    pub old_mode: Option<u32>,
    /// The mode after, if it is stated: of `new mode` or `new file mode`.
    pub new_mode: Option<u32>,
    /// Whether the file is created.
    pub is_new: bool,
    /// Whether the file is deleted.
    pub is_deleted: bool,
}

/// The mode by which git marks the commit of a submodule.
pub(super) const SUBMODULE_MODE: u32 = 0o160_000;

impl<'a> GitHeader<'a> {
    /// Reads `line`, which begins a header; `None` if it does not.
    pub(super) fn begin(line: &'a [u8]) -> Option<GitHeader<'a>> {
        let names = without_terminator(line).strip_prefix(b"diff --git ")?;
        Some(GitHeader {
            names: names_in(names),
            ..GitHeader::default()
        })
    }

    /// Reads `line`, one of the further lines of the header, and returns whether it is one.
    pub(super) fn read(&mut self, line: &'a [u8]) -> bool {
        let line = without_terminator(line);
        let after = |start: &str| line.strip_prefix(start.as_bytes());
        let empty: (&[u8], &[u8]) = (b"", b"");
        if let Some(mode) = after("old mode ") {
            self.old_mode = mode_in(mode);
        } else if let Some(mode) = after("new mode ") {
            self.new_mode = mode_in(mode);
        } else if let Some(mode) = after("deleted file mode ") {
            self.is_deleted = true;
            self.old_mode = mode_in(mode);
        } else if let Some(mode) = after("new file mode ") {
            self.is_new = true;
            self.new_mode = mode_in(mode);
        } else if let Some(name) = after("rename from ") {
            self.renamed.get_or_insert(empty).0 = name;
        } else if let Some(name) = after("rename to ") {
            self.renamed.get_or_insert(empty).1 = name;
        } else if let Some(name) = after("copy from ") {
            self.copied.get_or_insert(empty).0 = name;
        } else if let Some(name) = after("copy to ") {
            self.copied.get_or_insert(empty).1 = name;
        } else if let Some(rest) = after("index ") {
            // The mode stands here if it stays the same.
            let mode = rest.rsplit(|&byte| byte == b' ').next().and_then(mode_in);
            if rest.contains(&b' ') && mode.is_some() {
                (self.old_mode, self.new_mode) = (mode, mode);
            }
        } else {
            return after("similarity index ").is_some() || after("dissimilarity index ").is_some();
        }
        true
    }

    /// Whether it says more than that the text changes.
    pub fn is_operation(&self) -> bool {
        self.is_new
            || self.is_deleted
            || self.renamed.is_some()
            || self.copied.is_some()
            || self.old_mode != self.new_mode
    }

    /// Whether the file is a submodule, before or after.
    pub(super) fn is_submodule(&self) -> bool {
        [self.old_mode, self.new_mode].contains(&Some(SUBMODULE_MODE))
    }

    /// Returns the name to show to a person, still quoted.
    pub(super) fn shown_name(&self) -> &'a [u8] {
        let named = self.renamed.or(self.copied).or(self.names);
        let (old, new) = named.unwrap_or_default();
        if new.is_empty() { old } else { new }
    }
}

/// Reads a mode: octal digits.
fn mode_in(text: &[u8]) -> Option<u32> {
    u32::from_str_radix(str::from_utf8(text).ok()?, 8).ok()
}

/// Splits `text`, two names with a space between them.
///
/// Names with spaces are quoted only if they have other special characters. Where git writes only
/// this line with names, both are equal but for their prefixes, which decides where the first one
/// ends (git, `git_header_name`). Usually a prefix is one directory.
fn names_in(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let spaces = (0..text.len()).filter(|&at| text[at] == b' ');
    let mut splits = spaces.map(|at| (&text[..at], &text[at + 1..]));
    match text {
        [b'"', ..] => splits.find(|(old, _)| is_quoted(old)),
        [.., b'"'] => splits.find(|(_, new)| is_quoted(new)),
        _ => {
            let mut others = splits.clone();
            let split = splits.find(|(old, new)| without_prefix(old) == without_prefix(new));
            split.or_else(|| others.find(|(old, new)| last_part(old) == last_part(new)))
        }
    }
}

/// Returns the part of `name` after its last slash.
fn last_part(name: &[u8]) -> &[u8] {
    let part = name.rsplit(|&byte| byte == b'/').next();
    part.unwrap_or_default()
}

/// Returns whether `name` is in quotes, and no quote before its end closes them.
fn is_quoted(name: &[u8]) -> bool {
    let [b'"', inner @ .., b'"'] = name else {
        return false;
    };
    let mut bytes = inner.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return false,
            b'\\' if bytes.next().is_none() => return false,
            _ => {}
        }
    }
    true
}

/// Returns `name` without its first directory, which git puts in front: `a/` or `b/`.
fn without_prefix(name: &[u8]) -> &[u8] {
    let slash = name.iter().position(|&byte| byte == b'/');
    slash.map_or(name, |slash| &name[slash + 1..])
}

// The `index OLD..NEW MODE` line that git writes above a file header.

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
    fn names_end_where_a_time_or_a_revision_begins() {
        use Stamp::{Absent, None, Time};
        let table = [
            ("src/x.c", "src/x.c", None),
            (
                "src/x.c\t2026-01-02 03:04:05.678901234 +0100",
                "src/x.c",
                Time,
            ),
            (
                "src/x.c 2026-01-02 03:04:05.678901234 +0100",
                "src/x.c",
                Time,
            ),
            ("src/x.c   2026-01-02 03:04:05", "src/x.c", Time),
            ("x y.c 2026-01-02T03:04:05Z", "x y.c", Time),
            ("x.c Fri Jan  2 03:04:05 2026", "x.c", Time),
            ("x.c Fri Jan 02 03:04:05 2026 +0100", "x.c", Time),
            ("x.c Fri Jan  2 03:04:05 CET 2026", "x.c", Time),
            ("x.c 2 Jan 2026 03:04:05 -0000 1.5", "x.c", Time),
            ("//depot/x.c 2026/01/02 03:04:05", "//depot/x.c", Time),
            ("x.c\t(revision 5)", "x.c", None),
            ("x.c (revision 5)", "x.c", None),
            ("x.c (working copy)", "x.c", None),
            ("x.c\t(.../trunk)\t(revision 5)", "x.c", None),
            ("x.c (nonexistent)", "x.c", Absent),
            ("x.c\t(revision 0)", "x.c", Absent),
            ("x.c\t1970-01-01 00:00:00.000000000 +0000", "x.c", Absent),
            ("x.c 1969-12-31 19:00:00.000000000 -0500", "x.c", Absent),
            ("x.c 1970-01-01 01:00:00 +0100", "x.c", Absent),
            ("x.c 1970-01-01 01:00:00 +0000", "x.c", Time),
            ("x.c Thu Jan 01 00:00:00 1970 +0000", "x.c", Absent),
            ("x.c Thu Jan  1 00:00:00 1970", "x.c", Absent),
            ("\"x\\t\\\".c\" 2026-01-02 03:04:05", "\"x\\t\\\".c\"", Time),
            // These are names.
            ("notes 2026-01-02", "notes 2026-01-02", None),
            ("x (copy).c", "x (copy).c", None),
            ("a (revision five)", "a (revision five)", None),
            ("read me 10:30", "read me 10:30", None),
            ("a file of\t", "a file of", None),
        ];
        for (line, name, stamp) in table {
            let (found, found_stamp) = name_and_stamp(line.as_bytes());
            let found = String::from_utf8_lossy(found);
            assert_eq!((&*found, found_stamp), (name, stamp), "{line}");
        }
    }
}

#[cfg(test)]
mod git_tests {
    use super::*;

    fn names(line: &str) -> Option<(String, String)> {
        let string = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        let header = GitHeader::begin(line.as_bytes())?;
        header.names.map(|(old, new)| (string(old), string(new)))
    }

    #[test]
    fn names_are_told_apart_with_spaces_and_quotes() {
        let table = [
            ("diff --git a/f b/f", ("a/f", "b/f")),
            ("diff --git a/a b/c b/a b/c", ("a/a b/c", "b/a b/c")),
            ("diff --git f f", ("f", "f")),
            ("diff --git x y x y", ("x y", "x y")),
            (
                "diff --git p/q/a b/f g p/r/a b/f g",
                ("p/q/a b/f g", "p/r/a b/f g"),
            ),
            ("diff --git \"a/\\t b\" b/c", ("\"a/\\t b\"", "b/c")),
            ("diff --git a/c d \"b/\\\" x\"", ("a/c d", "\"b/\\\" x\"")),
            (
                "diff --git \"a/\\n\" \"b/\\n\"\r\n",
                ("\"a/\\n\"", "\"b/\\n\""),
            ),
        ];
        for (line, (old, new)) in table {
            assert_eq!(
                names(line),
                Some((old.to_owned(), new.to_owned())),
                "{line}"
            );
        }
        // Of a rename; its names are on lines of their own.
        assert_eq!(names("diff --git a/x y b/z"), None);
        assert_eq!(names("diff -u a b"), None);
    }

    #[test]
    fn each_line_says_one_thing() {
        let mut header = GitHeader::begin(b"diff --git a/f b/f").unwrap();
        assert!(!header.is_operation());
        assert!(header.read(b"index 1234567..89abcde 100644\n"));
        assert!(!header.is_operation());
        assert!(header.read(b"old mode 100644\n") && header.read(b"new mode 100755\n"));
        assert!(header.is_operation());
        assert_eq!(
            (header.old_mode, header.new_mode),
            (Some(0o100_644), Some(0o100_755))
        );
        assert!(header.read(b"rename from x y\n") && header.read(b"rename to \"z\\t\"\n"));
        assert_eq!(header.renamed, Some((&b"x y"[..], &b"\"z\\t\""[..])));
        assert!(header.read(b"similarity index 90%\n"));
        assert!(!header.read(b"some prose\n"));
    }
}

#[cfg(test)]
mod blobs_tests {
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
