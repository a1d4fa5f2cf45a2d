//! Writes hunks as unified diff text.
//!
//! GNU patch and `git apply` apply the output without offset or fuzz, and [`crate::patch::parse`]
//! reads it back as the same hunks. Time and space are O(bytes written).

use crate::patch::hunk::{Hunk, Line, LineKind, header_range};
use crate::patch::quote::quoted;
use crate::text::is_unterminated;

/// A unified diff as text.
#[derive(Debug, Clone, PartialEq, Eq)]
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
/// use agent_q_diff_engine::patch::print::print;
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
    printer.printed()
}

/// Writes `hunks` without a file header, to go among other hunks of the same file.
pub fn print_hunks(hunks: &[Hunk<'_>]) -> Printed {
    let mut printer = Printer::default();
    hunks.iter().for_each(|hunk| printer.hunk(hunk));
    printer.printed()
}

/// Writes only the headers of `hunks`, one per line.
pub fn print_headers(hunks: &[Hunk<'_>]) -> Vec<u8> {
    let mut printer = Printer::default();
    hunks.iter().for_each(|hunk| printer.hunk_header(hunk));
    printer.bytes
}

/// What is written so far.
#[derive(Default)]
struct Printer {
    bytes: Vec<u8>,
    /// Number of lines in `bytes`.
    n_lines: usize,
    header_lines: Vec<usize>,
}

impl Printer {
    fn printed(self) -> Printed {
        Printed {
            bytes: self.bytes,
            header_lines: self.header_lines,
        }
    }

    fn file_header(&mut self, name: &[u8]) {
        for lead in [b"--- ", b"+++ "] {
            self.put(&[lead, name, b"\n"]);
            self.n_lines += 1;
        }
    }

    fn hunk(&mut self, hunk: &Hunk<'_>) {
        if is_unterminated(&self.bytes) && !self.bytes.is_empty() {
            // The hunk before is open-ended, although only the last one should be. Without a
            // newline its last line would swallow this header.
            self.put(&[b"\n"]);
        }
        self.header_lines.push(self.n_lines);
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
        parts
            .iter()
            .for_each(|part| self.bytes.extend_from_slice(part));
    }
}
