//! Hunk headers.

use std::ops::Range;

use super::ParseError;
use crate::patch::hunk::range_from_header;

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
