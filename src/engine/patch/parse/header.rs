//! Hunk headers and file headers.

use std::ops::Range;

use super::ParseError;
use crate::patch::hunk::range_from_header;

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

/// Returns `line` without its line end.
pub(super) fn without_terminator(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Returns the first 60 bytes of `line`, for an error message.
pub(super) fn beginning(line: &[u8]) -> String {
    const LEN: usize = 60;
    let line = without_terminator(line);
    String::from_utf8_lossy(&line[..line.len().min(LEN)]).into_owned()
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
