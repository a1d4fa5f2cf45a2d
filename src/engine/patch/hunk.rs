//! Hunks, their ranges and their headers; writing them as unified diff text.
//!
//! Only this file deals with 1-based line numbers and with the empty-range rule of unified diffs:
//! an empty range is written with the number of the line *before* it (POSIX diff, "Diff Unified
//! Output Format"). Everywhere else line ranges are 0-based and half-open.

use std::borrow::Cow;
use std::ops::Range;

use crate::text::is_unterminated;

/// The kind of a line in a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LineKind {
    /// In the pre-image and in the post-image.
    Context,
    /// In the pre-image only.
    Removed,
    /// In the post-image only.
    Added,
}

/// One line of a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Line<'a> {
    /// Which of the two images the line is in.
    pub kind: LineKind,
    /// The line, with its terminator but without the sign in front of it.
    pub text: &'a [u8],
}

/// A contiguous block of changes with its context, under one `@@` header.
///
/// It has `before.len()` context and removed lines, and `after.len()` context and added lines;
/// [`crate::patch::parse`] refuses a text in which these differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk<'a> {
    /// Lines of the original that the hunk spans, context included.
    pub before: Range<usize>,
    /// Lines of the modified text that the hunk spans, context included.
    pub after: Range<usize>,
    /// Section heading: the text after the second `@@`, without the space before it or trailing
    /// white space; empty if there is none.
    pub heading: &'a [u8],
    /// The lines in the order of the diff: removed before added within a run of changes.
    pub lines: Vec<Line<'a>>,
    /// Whether the diff text ended without a newline in the middle of the last line, so that nobody
    /// knows whether that line has a terminator. If so, its `text` has none.
    pub is_open_ended: bool,
}

impl Hunk<'_> {
    /// Returns the indices of the lines that are removed or added, in order.
    pub fn changed(&self) -> impl Iterator<Item = usize> {
        let lines = self.lines.iter().enumerate();
        let changed = lines.filter(|(_, line)| line.kind != LineKind::Context);
        changed.map(|(index, _)| index)
    }

    /// Returns the kind of each line that [`print()`] writes below the header: `c` for context, `r` for
    /// a removed and `a` for an added line, and `n` for the marker of a missing newline.
    ///
    /// ```
    /// use agent_q_diff_engine::patch::parse::parse;
    /// let files = parse(b"@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n").unwrap();
    /// assert_eq!(files[0].hunks[0].hunk.kinds(), "crna");
    /// ```
    pub fn kinds(&self) -> String {
        let mut kinds = String::with_capacity(self.lines.len() + 1);
        for (index, line) in self.lines.iter().enumerate() {
            kinds.push(match line.kind {
                LineKind::Context => 'c',
                LineKind::Removed => 'r',
                LineKind::Added => 'a',
            });
            let is_open = self.is_open_ended && index + 1 == self.lines.len();
            if is_unterminated(line.text) && !is_open {
                kinds.push('n');
            }
        }
        kinds
    }
}

/// Formats `range` for a hunk header: `START,LEN`, 1-based. `,LEN` is omitted if the length is 1,
/// and an empty range names the line before it.
///
/// ```
/// use agent_q_diff_engine::patch::hunk::header_range;
/// assert_eq!(header_range(&(4..7)), "5,3");
/// assert_eq!(header_range(&(4..5)), "5");
/// assert_eq!(header_range(&(4..4)), "4,0");
/// ```
pub fn header_range(range: &Range<usize>) -> String {
    match range.len() {
        1 => format!("{}", range_start(range)),
        len => format!("{},{len}", range_start(range)),
    }
}

/// Returns the 1-based number that a hunk header writes for the start of `range`.
pub(crate) fn range_start(range: &Range<usize>) -> usize {
    range.start + usize::from(!range.is_empty())
}

/// Returns the 0-based range for the 1-based `start` and the `len` in a hunk header, or `None` if
/// the range would begin before the first line or end past `usize::MAX`.
pub(crate) fn range_from_header(start: usize, len: usize) -> Option<Range<usize>> {
    let first = if len == 0 {
        start
    } else {
        start.checked_sub(1)?
    };
    Some(first..first.checked_add(len)?)
}

// Writes hunks as unified diff text.
//
// GNU patch and `git apply` apply the output without offset or fuzz, and [`crate::patch::parse`]
// reads it back as the same hunks. Time and space are O(bytes written).

/// A unified diff as text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Printed {
    /// The text.
    pub bytes: Vec<u8>,
    /// For each hunk, the line of `bytes` (0-based) that holds its header.
    pub header_lines: Vec<usize>,
}

/// Writes `hunks` of the file at `path` as a unified diff.
///
/// Both file header lines name `path`, quoted if it might otherwise be taken for lines of the diff.
/// Without hunks the text is empty, as in git.
///
/// ```
/// use agent_q_diff_engine::patch::hunk::{Hunk, Line, LineKind};
/// use agent_q_diff_engine::patch::hunk::print;
/// let hunk = Hunk {
///     before: 0..2,
///     after: 0..1,
///     heading: b"",
///     lines: vec![
///         Line { kind: LineKind::Context, text: b"a\n" },
///         Line { kind: LineKind::Removed, text: b"b" },
///     ],
///     is_open_ended: false,
/// };
/// let printed = print(b"/tmp/f", &[hunk]);
/// let expected = "--- /tmp/f\n+++ /tmp/f\n@@ -1,2 +1 @@\n a\n-b\n\\ No newline at end of file\n";
/// assert_eq!(printed.bytes, expected.as_bytes());
/// assert_eq!(printed.header_lines, [2]);
/// ```
pub fn print(path: &[u8], hunks: &[Hunk<'_>]) -> Printed {
    let mut printer = Printer::default();
    if !hunks.is_empty() {
        printer.file_header(&quoted(path));
    }
    hunks.iter().for_each(|hunk| printer.hunk(hunk));
    printer.printed
}

/// Writes `hunks` without a file header, to go among other hunks of the same file.
pub fn print_hunks(hunks: &[Hunk<'_>]) -> Printed {
    let mut printer = Printer::default();
    hunks.iter().for_each(|hunk| printer.hunk(hunk));
    printer.printed
}

/// Writes only the headers of `hunks`, one per line.
pub fn print_headers(hunks: &[Hunk<'_>]) -> Vec<u8> {
    let mut printer = Printer::default();
    hunks.iter().for_each(|hunk| printer.hunk_header(hunk));
    printer.printed.bytes
}

/// What is written so far.
#[derive(Default)]
struct Printer {
    printed: Printed,
    /// Number of lines so far.
    n_lines: usize,
}

impl Printer {
    fn file_header(&mut self, name: &[u8]) {
        for lead in [b"--- ", b"+++ "] {
            self.put(&[lead, name, b"\n"]);
            self.n_lines += 1;
        }
    }

    fn hunk(&mut self, hunk: &Hunk<'_>) {
        if is_unterminated(&self.printed.bytes) && !self.printed.bytes.is_empty() {
            // The hunk before is open-ended, although only the last one should be. Without a
            // newline its last line would swallow this header.
            self.put(&[b"\n"]);
        }
        self.printed.header_lines.push(self.n_lines);
        self.hunk_header(hunk);
        let n_closed = hunk.lines.len() - usize::from(hunk.is_open_ended);
        let (closed, open) = hunk.lines.split_at(n_closed);
        closed.iter().for_each(|line| self.closed_line(line));
        open.iter().for_each(|line| self.line(line));
    }

    fn hunk_header(&mut self, hunk: &Hunk<'_>) {
        let (before, after) = (header_range(&hunk.before), header_range(&hunk.after));
        let ranges = format!("@@ -{before} +{after} @@");
        let space: &[u8] = if hunk.heading.is_empty() { b"" } else { b" " };
        self.put(&[ranges.as_bytes(), space, hunk.heading, b"\n"]);
        self.n_lines += 1;
    }

    fn closed_line(&mut self, line: &Line<'_>) {
        self.line(line);
        if is_unterminated(line.text) {
            self.put(&[b"\n\\ No newline at end of file\n"]);
            self.n_lines += 1;
        }
    }

    fn line(&mut self, line: &Line<'_>) {
        let sign = match line.kind {
            LineKind::Context => b" ",
            LineKind::Removed => b"-",
            LineKind::Added => b"+",
        };
        self.put(&[sign, line.text]);
        self.n_lines += 1;
    }

    fn put(&mut self, parts: &[&[u8]]) {
        for part in parts {
            self.printed.bytes.extend_from_slice(part);
        }
    }
}

// Quotes and unquotes paths in file header lines.
//
// A path is any bytes, and a newline in it must not begin a line of the diff. As in git, such a
// path is put in double quotes, with the escapes of C strings.

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
/// use agent_q_diff_engine::patch::hunk::unquoted;
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
    fn a_range_of_no_lines_starts_at_the_line_before_it() {
        assert_eq!(range_start(&(4..7)), 5);
        assert_eq!(range_start(&(4..4)), 4);
    }
}

#[cfg(test)]
mod quote_tests {
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
