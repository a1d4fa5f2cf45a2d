//! Reads unified diff text into hunks.
//!
//! No other code reads diffs: what this parser accepts is what a reviewer sees and what is applied.
//! A diff may come from git, GNU diff, a mail, a person or a model, with prose around it. Whatever
//! cannot be read exactly is an error. GNU patch and git silently repair or skip such places, so
//! that the change made is not the change that was read.
//!
//! Inside a hunk, only the counts in its header decide where it ends, since changed lines may look
//! like headers. Time and space are O(bytes); a stated count never determines an allocation.

mod header;

use crate::text::{is_unterminated, without_terminator};

use super::hunk::{Hunk, Line, LineKind, unquoted};
pub use header::{Blobs, GitHeader, Stamp};
use header::{Header, beginning, name_and_stamp};

/// The changes to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDiff<'a> {
    /// The name after `---`, without the time stamp and still quoted:
    /// [`crate::patch::hunk::unquoted`] gives the path. `None` if the hunks came without a file
    /// header.
    pub old_name: Option<&'a [u8]>,
    /// The name after `+++`, in the same form.
    pub new_name: Option<&'a [u8]>,
    /// What the two lines say about the file on their side besides its name.
    pub stamps: [Stamp; 2],
    /// The name on the line `Index: NAME` above the file header, as Subversion, CVS and quilt write
    /// it.
    pub index_name: Option<&'a [u8]>,
    /// The ids in the line `index OLD..NEW` above the file header, if git wrote one.
    pub blobs: Option<Blobs>,
    /// What git wrote above the file header, if it did.
    pub git: Option<GitHeader<'a>>,
    /// At least one hunk, unless git says what else happens to the file. On the old side they are
    /// in order and do not overlap.
    pub hunks: Vec<ParsedHunk<'a>>,
}

/// A hunk and where it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedHunk<'a> {
    /// The hunk. Its `after` range is as stated, which is often wrong in diffs written by hand, so
    /// nothing relies on it.
    pub hunk: Hunk<'a>,
    /// Line of the diff text (0-based) that holds the hunk header.
    pub header_line: usize,
}

/// Reads all hunks of `diff`.
///
/// A text that ends in the middle of a hunk's last line gives an open-ended hunk. An empty line
/// inside a hunk is an empty context line, as in GNU patch and git, since editors and models drop
/// the space. Hunks without a file header belong to one file without names.
///
/// Takes O(bytes) time and space.
///
/// ```
/// use agent_q_diff_engine::patch::parse::{ParseError, parse};
/// let files = parse(b"a word\n--- a/f\n+++ b/f\n@@ -1 +1,2 @@ here\n-b\n+B\n+C\n").unwrap();
/// assert_eq!(files[0].new_name, Some(&b"b/f"[..]));
/// assert_eq!(files[0].hunks[0].header_line, 3);
/// assert_eq!(files[0].hunks[0].hunk.after, 0..2);
/// let short = parse(b"@@ -1 +1,2 @@\n-b\n+B\n");
/// assert!(matches!(short, Err(ParseError::Truncated { line: 4, n_after: 1, .. })));
/// ```
pub fn parse(diff: &[u8]) -> Result<Vec<FileDiff<'_>>, ParseError> {
    let mut parser = Parser {
        lines: diff.split_inclusive(|&byte| byte == b'\n').collect(),
        at: 0,
        files: Vec::new(),
        place: Place::Outside,
        blobs: None,
        git: None,
        index_name: None,
        marker: None,
    };
    while parser.at < parser.lines.len() {
        parser.outside_hunk()?;
    }
    parser.end_header();
    match parser.files {
        files if files.is_empty() => Err(ParseError::NoHunk {
            n_lines: parser.lines.len(),
        }),
        files => Ok(files),
    }
}

/// Reads the hunks of `diff`, like [`parse`], but only the files that have any.
///
/// # Errors
///
/// As for [`parse`]; [`ParseError::NoHunk`] also if no file has a hunk.
pub fn parse_hunks(diff: &[u8]) -> Result<Vec<FileDiff<'_>>, ParseError> {
    let mut files = parse(diff)?;
    files.retain(|file| !file.hunks.is_empty());
    if files.is_empty() {
        Err(ParseError::NoHunk {
            n_lines: diff.split_inclusive(|&byte| byte == b'\n').count(),
        })
    } else {
        Ok(files)
    }
}

struct Parser<'a> {
    lines: Vec<&'a [u8]>,
    /// Index of the next line to read.
    at: usize,
    files: Vec<FileDiff<'a>>,
    place: Place,
    /// The last `index OLD..NEW` line read, which belongs to the next file.
    blobs: Option<Blobs>,
    /// The header of git's that is being read, which belongs to the next file.
    git: Option<GitHeader<'a>>,
    /// The name on the last `Index:` line read, which belongs to the next file.
    index_name: Option<&'a [u8]>,
    /// Line (1-based) of the last no-newline marker in the current file.
    marker: Option<usize>,
}

/// Where the next line is, unless it begins a hunk.
#[derive(Clone, Copy)]
enum Place {
    /// Before the hunks of a file whose header, if any, has not been read yet.
    Outside,
    /// In the last file of `files`.
    InFile,
    /// In the last file of `files`, after a hunk whose header is on this line (1-based), with at
    /// most blank lines and a mail signature in between.
    AfterHunk(usize),
}

impl<'a> Parser<'a> {
    fn outside_hunk(&mut self) -> Result<(), ParseError> {
        let line = self.lines[self.at];
        self.refuse_other_formats(line)?;
        if self.is_hunk_header() {
            return self.hunk();
        }
        match (line, self.line_after(1), self.line_after(2)) {
            ([b'-', b'-', b'-', b' ', ..], [b'+', b'+', b'+', b' ', ..], [b'@', b'@', ..]) => {
                self.file_header();
                Ok(())
            }
            (_, next, _) => self.prose(line, next),
        }
    }

    /// Returns whether the next line is a hunk header, or was meant to be one. Prose may begin with
    /// `@@`, too.
    fn is_hunk_header(&self) -> bool {
        match self.lines[self.at] {
            [b'@', b'@', b' ', b'-', ..] => true,
            [b'@', b'@', rest @ ..] => {
                let is_alone = matches!(rest, [] | [b' ' | b'\n' | b'\r', ..]);
                let is_below_header =
                    matches!(self.place, Place::InFile) && self.line_before().starts_with(b"+++ ");
                let next = self.line_after(1);
                let is_above_lines = next.is_empty() || is_signed(next);
                matches!(self.place, Place::AfterHunk(_))
                    || is_below_header
                    || is_alone && is_above_lines
            }
            _ => false,
        }
    }

    /// Returns the line that was read last.
    fn line_before(&self) -> &'a [u8] {
        let before = self.at.checked_sub(1);
        before.map_or(b"", |at| self.lines[at])
    }

    fn line_after(&self, n_lines: usize) -> &'a [u8] {
        self.lines
            .get(self.at + n_lines)
            .copied()
            .unwrap_or_default()
    }

    /// Number of the next line to read (1-based).
    fn line_number(&self) -> usize {
        self.at + 1
    }

    /// Refuses `line`, the next one, if it belongs to a diff that is not of lines. In prose, such
    /// as a commit message, it is a line like any other.
    fn refuse_other_formats(&self, line: &[u8]) -> Result<(), ParseError> {
        let number = self.line_number();
        let begins_combined =
            line.starts_with(b"diff --cc ") || line.starts_with(b"diff --combined ");
        if line.starts_with(b"@@@ -") || begins_combined && self.is_above_header_line() {
            return Err(ParseError::Combined { line: number });
        }
        if self.is_binary(line.trim_ascii_end()) {
            Err(ParseError::Binary {
                line: number,
                file: self.shown_name(),
            })
        } else {
            Ok(())
        }
    }

    /// Returns whether the line after the next one is one that git writes below a line `diff`.
    fn is_above_header_line(&self) -> bool {
        let next = self.line_after(1);
        let starts: [&[u8]; 6] = [
            b"index ",
            b"mode ",
            b"new file mode ",
            b"deleted file mode ",
            b"--- ",
            b"@@@",
        ];
        starts.iter().any(|start| next.starts_with(start))
    }

    /// Returns whether `text`, the next line, says that a file of the diff is binary.
    fn is_binary(&self, text: &[u8]) -> bool {
        let is_difference = text.starts_with(b"Binary files ") && text.ends_with(b" differ");
        let is_in_header = self.git.is_some() || self.line_before().starts_with(b"diff ");
        if text == b"GIT binary patch"
            || text.starts_with(b"Binary file ") && text.ends_with(b" has changed")
        {
            return is_in_header;
        }
        if text == b"Cannot display: file marked as a binary type." {
            return self.line_before().starts_with(b"=====");
        }
        // As GNU diff writes it, among other lines of a diff.
        is_difference
            && (is_in_header || self.is_below_diff_line() && is_diff_line(self.line_after(1)))
    }

    /// Returns whether the line that was read last belongs to a diff, or the text begins here.
    fn is_below_diff_line(&self) -> bool {
        let before = self.line_before();
        let is_below_hunk =
            matches!(self.place, Place::AfterHunk(_)) && !before.trim_ascii().is_empty();
        is_below_hunk || is_diff_line(before)
    }

    /// Returns the name in git's header for an error message.
    fn shown_name(&self) -> String {
        let name = self.git.as_ref().map(GitHeader::shown_name);
        match name.unwrap_or_default() {
            b"" => "the file".to_owned(),
            name => String::from_utf8_lossy(&unquoted(name)).into_owned(),
        }
    }

    /// Ends the header of git's that is being read, if any. If it says something and no hunk has
    /// followed, that is all that happens to the file.
    fn end_header(&mut self) {
        self.git = self.git.take().filter(GitHeader::is_operation);
        if self.git.is_some() {
            self.begin_file();
        }
    }

    /// Begins a file, to which the header lines belong that were read above it, and returns it.
    fn begin_file(&mut self) -> &mut FileDiff<'a> {
        self.files.push(FileDiff {
            old_name: None,
            new_name: None,
            stamps: [Stamp::None; 2],
            index_name: self.index_name.take(),
            blobs: self.blobs.take(),
            git: self.git.take(),
            hunks: Vec::new(),
        });
        self.files.last_mut().expect("one was pushed")
    }

    /// Reads the line of a file header that is `n_lines` after the next one.
    fn name_and_stamp(&self, n_lines: usize) -> (&'a [u8], Stamp) {
        let line = without_terminator(&self.line_after(n_lines)["--- ".len()..]);
        let names = self.git.as_ref().and_then(|git| git.names);
        // Git writes no time, so what looks like one belongs to the name.
        if names.is_some_and(|(old, new)| [old, new].contains(&line)) {
            (line, Stamp::None)
        } else {
            name_and_stamp(line)
        }
    }

    fn file_header(&mut self) {
        let (old_name, old_stamp) = self.name_and_stamp(0);
        let (new_name, new_stamp) = self.name_and_stamp(1);
        let file = self.begin_file();
        (file.old_name, file.new_name) = (Some(old_name), Some(new_name));
        file.stamps = [old_stamp, new_stamp];
        self.at += 2;
        self.place = Place::InFile;
        self.marker = None;
    }

    /// Skips a line that is neither a header nor part of a hunk, unless it was apparently meant to
    /// be one.
    fn prose(&mut self, line: &'a [u8], next: &[u8]) -> Result<(), ParseError> {
        let number = self.line_number();
        if let Place::AfterHunk(header_line) = self.place {
            self.place = after_hunk((line, next), number, header_line)?;
        }
        let names_file = line.starts_with(b"--- ") || line.starts_with(b"+++ ");
        if names_file && next.starts_with(b"@@ -") {
            let found = beginning(line);
            return Err(ParseError::LoneFileHeader {
                line: number,
                found,
            });
        }
        if line.starts_with(b"--- ") && next.starts_with(b"+++ ") && self.is_above_hunk(2) {
            return Err(ParseError::FileWithoutHunk { line: number + 2 });
        }
        self.header_line(line, number)?;
        if let Some(name) = without_terminator(line).strip_prefix(b"Index: ")
            && (next.starts_with(b"=====") || next.starts_with(b"RCS file: ") || is_diff_line(next))
        {
            self.index_name = Some(name.trim_ascii());
            self.place = Place::Outside;
        }
        self.blobs = Blobs::read(without_terminator(line)).or(self.blobs.take());
        self.at += 1;
        Ok(())
    }

    /// Returns whether, from `n_lines` after the next line, there are only blank lines before the
    /// lines of a hunk or the end.
    fn is_above_hunk(&self, n_lines: usize) -> bool {
        let rest = self.lines.get(self.at + n_lines..).unwrap_or_default();
        let first = rest.iter().find(|line| !line.trim_ascii().is_empty());
        first.is_none_or(|line| line.starts_with(b"@@") || is_signed(line))
    }

    /// Reads `line`, the next one, if it belongs to a header of git's.
    fn header_line(&mut self, line: &'a [u8], number: usize) -> Result<(), ParseError> {
        if line.starts_with(b"diff ") {
            self.end_header();
            self.place = Place::Outside;
            self.blobs = None;
            self.git = GitHeader::begin(line);
        } else if let Some(git) = &mut self.git {
            let is_read = git.read(line);
            if git.is_submodule() {
                return Err(ParseError::Submodule {
                    line: number,
                    file: self.shown_name(),
                });
            }
            // What looks like a line of the header is prose from here on.
            if !is_read {
                self.end_header();
            }
        }
        Ok(())
    }

    fn hunk(&mut self) -> Result<(), ParseError> {
        let header_line = self.at;
        let header = Header::read(self.line_after(0), self.line_number())?;
        self.enter_file(&header)?;
        self.at += 1;
        let lines = self.hunk_lines(&header)?;
        self.check_for_signature(&lines, header_line)?;
        if lines.iter().all(|line| line.kind == LineKind::Context) {
            return Err(ParseError::NoChange {
                line: header_line + 1,
            });
        }
        let is_at_end = self.at == self.lines.len();
        let hunk = Hunk {
            before: header.before,
            after: header.after,
            heading: header.heading,
            lines,
            is_open_ended: is_at_end
                && is_unterminated(self.lines[self.at - 1])
                && self.marker != Some(self.at),
        };
        let file = self.files.last_mut().expect("enter_file left a file");
        file.hunks.push(ParsedHunk { hunk, header_line });
        self.place = Place::AfterHunk(header_line + 1);
        Ok(())
    }

    /// Ensures that the last of `files` is the one that the hunk belongs to, and checks that the
    /// hunk may follow there.
    fn enter_file(&mut self, header: &Header<'_>) -> Result<(), ParseError> {
        if let Place::Outside = self.place {
            self.begin_file();
            self.marker = None;
        }
        let file = self.files.last().expect("outside a file, one was added");
        let previous_end = file.hunks.last().map_or(0, |last| last.hunk.before.end);
        if header.before.start < previous_end {
            return Err(ParseError::OutOfOrder {
                line: self.line_number(),
                start: header.before.start + 1,
                previous_end: previous_end + 1,
            });
        }
        match self.marker {
            Some(line) => Err(ParseError::MisplacedMarker { line }),
            None => Ok(()),
        }
    }

    fn hunk_lines(&mut self, header: &Header<'_>) -> Result<Vec<Line<'a>>, ParseError> {
        let header_line = self.at;
        let mut left = Left {
            n_before: header.before.len(),
            n_after: header.after.len(),
        };
        let mut lines = Vec::new();
        loop {
            let next = self.line_after(0);
            if next.starts_with(b"\\ ") {
                self.no_newline_marker(&mut lines, &left)?;
            } else if left.n_before == 0 && left.n_after == 0 {
                return Ok(lines);
            } else {
                let line = self.hunk_line(next, header_line, &left)?;
                left.count(line.kind).ok_or(ParseError::TooManyLines {
                    line: self.line_number(),
                    header_line,
                })?;
                lines.push(line);
            }
            self.at += 1;
        }
    }

    /// Refuses a hunk whose last line, one that is removed, is the signature below it: git's version
    /// follows then, and a line of the hunk is missing.
    fn check_for_signature(
        &self,
        lines: &[Line<'_>],
        header_line: usize,
    ) -> Result<(), ParseError> {
        match lines.last() {
            Some(line)
                if line.kind == LineKind::Removed
                    && matches!(without_terminator(line.text), b"-" | b"- ")
                    && is_version(self.line_after(0)) =>
            {
                Err(ParseError::Truncated {
                    line: self.at,
                    header_line: header_line + 1,
                    n_before: 1,
                    n_after: 0,
                })
            }
            _ => Ok(()),
        }
    }

    fn hunk_line(
        &self,
        text: &'a [u8],
        header_line: usize,
        left: &Left,
    ) -> Result<Line<'a>, ParseError> {
        let kind = match text {
            [b'-', ..] => LineKind::Removed,
            [b'+', ..] => LineKind::Added,
            [b' ', ..] | b"\n" | b"\r\n" => LineKind::Context,
            // None of these can be a hunk line whose sign was merely forgotten.
            b"" | [b'@', b'@', b' ', ..] | [b'd', b'i', b'f', b'f', b' ', b'-', b'-', ..] => {
                return Err(ParseError::Truncated {
                    line: self.line_number(),
                    header_line,
                    n_before: left.n_before,
                    n_after: left.n_after,
                });
            }
            _ => {
                return Err(ParseError::UnknownSign {
                    line: self.line_number(),
                    found: beginning(text),
                });
            }
        };
        let is_blank = matches!(text[0], b'\n' | b'\r');
        let text = if is_blank { text } else { &text[1..] };
        Ok(Line { kind, text })
    }

    /// Removes the terminator of the line before the no-newline marker that comes next.
    ///
    /// The terminator is `\n`. A `\r` before it belongs to the line, unless the marker itself ends
    /// in CRLF: then the whole diff was saved with CRLF line ends.
    fn no_newline_marker(&mut self, lines: &mut [Line<'a>], left: &Left) -> Result<(), ParseError> {
        let number = self.line_number();
        let ended = lines.last_mut().filter(|line| left.is_last(line.kind));
        let stripped = ended.and_then(|line| Some((line.text.strip_suffix(b"\n")?, line)));
        let Some((text, line)) = stripped else {
            return Err(ParseError::MisplacedMarker { line: number });
        };
        let is_crlf = self.line_after(0).ends_with(b"\r\n");
        line.text = match text {
            [text @ .., b'\r'] if is_crlf => text,
            text => text,
        };
        if line.text.is_empty() {
            // The header counted it, but without bytes and terminator it is not a line.
            return Err(ParseError::MisplacedMarker { line: number });
        }
        self.marker = Some(number);
        Ok(())
    }
}

/// Returns where the parser is after `line`, which follows a hunk and comes before `next`; an error
/// if the line was probably meant to be part of that hunk.
fn after_hunk(
    (line, next): (&[u8], &[u8]),
    number: usize,
    header_line: usize,
) -> Result<Place, ParseError> {
    match line {
        b"\n" | b"\r\n" | b"-- \n" | b"-- \r\n" | b"-- " => Ok(Place::AfterHunk(header_line)),
        // A signature whose trailing blank somebody has removed.
        b"--\n" | b"--\r\n" if !next.is_empty() && !is_signed(next) => {
            Ok(Place::AfterHunk(header_line))
        }
        [b' ' | b'+' | b'-', ..] => Err(ParseError::TooManyLines {
            line: number,
            header_line,
        }),
        [b'\\', ..] => Err(ParseError::MisplacedMarker { line: number }),
        _ => Ok(Place::InFile),
    }
}

/// Returns whether `line` begins like a line of a hunk.
fn is_signed(line: &[u8]) -> bool {
    matches!(line, [b' ' | b'+' | b'-', ..])
}

/// Returns whether `line` is the version of git, the signature below a patch that it mails.
fn is_version(line: &[u8]) -> bool {
    let version = line.split(|&byte| byte == b' ').next().unwrap_or_default();
    let is_part = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_alphanumeric);
    let mut parts = without_terminator(version).split(|&byte| byte == b'.');
    let first = parts.next().unwrap_or_default();
    let second = parts.next().unwrap_or_default();
    !first.is_empty()
        && first.iter().all(u8::is_ascii_digit)
        && is_part(second)
        && parts.all(is_part)
}

/// Returns whether `line`, which is not in a hunk, is one that programs write between the files of a
/// diff. The end of the text counts as one.
fn is_diff_line(line: &[u8]) -> bool {
    let starts: [&[u8]; 6] = [
        b"diff ",
        b"--- ",
        b"Index: ",
        b"Only in ",
        b"Binary files ",
        b"=====",
    ];
    line.is_empty() || starts.iter().any(|start| line.starts_with(start))
}

/// How many of the lines counted by a hunk header are still to be read.
struct Left {
    n_before: usize,
    n_after: usize,
}

impl Left {
    /// Counts one line, or returns `None` if none of its kind is left.
    fn count(&mut self, kind: LineKind) -> Option<()> {
        if kind != LineKind::Added {
            self.n_before = self.n_before.checked_sub(1)?;
        }
        if kind != LineKind::Removed {
            self.n_after = self.n_after.checked_sub(1)?;
        }
        Some(())
    }

    /// Returns whether nothing more follows in the images that a line of `kind` is in.
    fn is_last(&self, kind: LineKind) -> bool {
        (kind == LineKind::Added || self.n_before == 0)
            && (kind == LineKind::Removed || self.n_after == 0)
    }
}

// What is wrong with a text that cannot be read as a diff.

/// Why a text cannot be read exactly as a diff.
///
/// Line numbers are those of the diff text, 1-based.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// Nothing in the text begins a hunk.
    #[error(
        "no hunk found (number of lines: {n_lines}); each begins with a line like @@ -1,2 +1,3 @@"
    )]
    NoHunk {
        /// Number of lines of the text.
        n_lines: usize,
    },
    /// A line begins with `@@` but is not a hunk header.
    #[error("line {line}: expected a hunk header like \"@@ -1,2 +1,3 @@\", found {found:?}")]
    BadHeader {
        /// Its number.
        line: usize,
        /// The beginning of the line.
        found: String,
    },
    /// A hunk header states line 0 and a count other than 0.
    #[error("line {line}: lines are numbered from 1, found {found:?}; write 0 only as \"0,0\"")]
    LineZero {
        /// Its number.
        line: usize,
        /// The beginning of the line.
        found: String,
    },
    /// A hunk header states a line that no file can have.
    #[error("line {line}: a number is too large in {found:?}")]
    NumberTooLarge {
        /// Its number.
        line: usize,
        /// The beginning of the line.
        found: String,
    },
    /// The text ends, or another header begins, before all the lines that the hunk header counts.
    #[error(
        "line {line}: the hunk ends too early, {n_before} old and {n_after} new lines are missing; \
         correct the counts in the hunk header on line {header_line} or add the lines"
    )]
    Truncated {
        /// The first line that is not part of the hunk; if the text ended, the number of its lines
        /// plus 1.
        line: usize,
        /// Where the hunk header stands.
        header_line: usize,
        /// Number of context and removed lines that are missing.
        n_before: usize,
        /// Number of context and added lines that are missing.
        n_after: usize,
    },
    /// A line with a sign follows after all the lines that the hunk header counts.
    #[error(
        "line {line}: not counted by the hunk header on line {header_line}; \
         correct its counts or remove the line"
    )]
    TooManyLines {
        /// The first such line.
        line: usize,
        /// Where the hunk header stands.
        header_line: usize,
    },
    /// A line of a hunk has no sign.
    #[error("line {line}: expected ' ', '-' or '+' at the beginning of {found:?}")]
    UnknownSign {
        /// Its number.
        line: usize,
        /// The beginning of the line.
        found: String,
    },
    /// A no-newline marker comes where neither image ends, or after an empty line.
    #[error(
        "line {line}: \"\\ No newline at end of file\" is legal only after the last line of a file; \
         remove it"
    )]
    MisplacedMarker {
        /// Its number.
        line: usize,
    },
    /// A hunk starts before the end of the hunk before it.
    #[error(
        "line {line}: the hunk starts at old line {start}, before the end of the hunk before it \
         at {previous_end}; put the hunks in the order of the file and join those that overlap"
    )]
    OutOfOrder {
        /// Where the hunk header stands.
        line: usize,
        /// First old line of the hunk (1-based).
        start: usize,
        /// First old line after the hunk before it (1-based).
        previous_end: usize,
    },
    /// A hunk has no removed and no added line.
    #[error("line {line}: the hunk changes nothing; remove it")]
    NoChange {
        /// Where the hunk header stands.
        line: usize,
    },
    /// One of the two file header lines is missing before a hunk.
    #[error("line {line}: expected \"--- OLD\" and \"+++ NEW\" before the hunk, found {found:?}")]
    LoneFileHeader {
        /// Where the other one is.
        line: usize,
        /// The beginning of the line.
        found: String,
    },
    /// No hunk follows a file header.
    #[error("line {line}: expected a hunk header after the file header")]
    FileWithoutHunk {
        /// Where the hunk header should be.
        line: usize,
    },
    /// The diff compares a merge commit with more than one of its parents.
    #[error("line {line}: combined diffs cannot be applied; make a diff of two files")]
    Combined {
        /// Where that shows.
        line: usize,
    },
    /// A file in the diff is binary.
    #[error(
        "line {line}: {file} is binary; binary patches cannot be reviewed, make a diff of text"
    )]
    Binary {
        /// Where that shows.
        line: usize,
        /// The name of the file, for a message.
        file: String,
    },
    /// A file in the diff is a submodule of the repository.
    #[error("line {line}: {file} is a submodule, which cannot be reviewed; leave it out")]
    Submodule {
        /// Where that shows.
        line: usize,
        /// Its name, for a message.
        file: String,
    },
}
