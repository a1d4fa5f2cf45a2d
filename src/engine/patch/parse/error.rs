//! What is wrong with a text that cannot be read as a diff.

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
