//! The result of an edit by an agent's own tool, and the input that leads to another result.
//!
//! The user decides about an edit before the agent's tool makes it. The tool's input is then
//! replaced, so that it writes just what was decided. Each tool has its own rules for line ends and
//! for what counts as a match; they were measured with the clients that the modules name. An input
//! is replaced only if by those rules the result is the decided text, byte for byte.
//!
//! - [`FileText`]: a file's bytes as text, and back
//! - [`smallest`]: the smallest string replacement that turns one text into another
//! - [`claude`]: the tools `Edit`, `MultiEdit` and `Write` of Claude Code
//! - [`codex`]: the tool `apply_patch` of Codex
//! - [`gemini`]: the tools `replace` and `write_file` of Gemini CLI
//! - [`opencode`]: the tools `edit` and `write` of opencode

pub mod claude;
pub mod codex;
pub mod gemini;
pub mod opencode;

use std::ops::Range;

use memchr::memmem;

use crate::text::partition_point;

/// Why a tool's input cannot be shown as an edit. The agent reads this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// The file is neither UTF-8 nor a variant that the tool keeps.
    #[error("the file is not UTF-8, and the tool would change its other bytes, too")]
    NotUtf8,
    /// The string to be replaced is not in the file.
    #[error(
        "the file does not have the old string exactly; read the file, and send the exact text"
    )]
    NotFound,
    /// The string to be replaced is in the file several times.
    #[error("the file has the old string {n} times; send more of the text around it")]
    Several {
        /// How often it occurs.
        n: usize,
    },
    /// The file to be created exists.
    #[error("the file is there and not empty, so the old string must not be empty")]
    Exists,
    /// The file does not exist.
    #[error("there is no such file")]
    Missing,
}

/// Returns `text` with every CRLF replaced by LF.
fn with_lf(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// Returns `text` with every line ended by CRLF.
fn with_crlf(text: &str) -> String {
    with_lf(text).replace('\n', "\r\n")
}

/// Returns the file with `content` as given, which may begin with a byte order mark; the mark of
/// the old file, `base`, stays.
fn as_given(base: Option<&FileText>, content: &str) -> FileText {
    let (text, has_bom) = match content.strip_prefix('\u{feff}') {
        Some(rest) => (rest, true),
        None => (content, false),
    };
    let mut file = FileText::new(text.to_owned());
    file.encoding = base.map_or(Encoding::Utf8, |base| base.encoding);
    if has_bom && file.encoding == Encoding::Utf8 {
        file.encoding = Encoding::Utf8WithBom;
    }
    file
}

// A file's bytes as text, and back.

const UTF_8_BOM: &[u8] = b"\xef\xbb\xbf";
const UTF_16_LE_BOM: &[u8] = b"\xff\xfe";

/// Number of bytes at the beginning of a file in which a NUL means that it is binary.
const MAX_BYTES_LOOKED_AT: usize = 8192;

/// How a file's text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8.
    Utf8,
    /// UTF-8 after a byte order mark.
    Utf8WithBom,
    /// UTF-16, little end first, after a byte order mark.
    Utf16Le,
}

/// The text of a file, without its byte order mark, and how it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileText {
    /// The text, with the line ends that the file has.
    pub text: String,
    /// How it is written.
    pub encoding: Encoding,
}

impl FileText {
    /// Returns the text of a new file.
    pub fn new(text: String) -> Self {
        let encoding = Encoding::Utf8;
        Self { text, encoding }
    }

    /// Decodes `bytes`, those of a file.
    ///
    /// # Errors
    ///
    /// [`InputError::NotUtf8`] if they are text in another encoding, or no text.
    pub fn read(bytes: &[u8]) -> Result<Self, InputError> {
        if let Some(rest) = bytes.strip_prefix(UTF_16_LE_BOM) {
            let (units, odd) = rest.as_chunks::<2>();
            let units = units.iter().map(|&unit| u16::from_le_bytes(unit));
            let text: Result<String, _> = char::decode_utf16(units).collect();
            return match text {
                Ok(text) if odd.is_empty() => Ok(Self {
                    text,
                    encoding: Encoding::Utf16Le,
                }),
                _ => Err(InputError::NotUtf8),
            };
        }
        if bytes
            .iter()
            .take(MAX_BYTES_LOOKED_AT)
            .any(|&byte| byte == 0)
        {
            return Err(InputError::NotUtf8);
        }
        let (rest, encoding) = match bytes.strip_prefix(UTF_8_BOM) {
            Some(rest) => (rest, Encoding::Utf8WithBom),
            None => (bytes, Encoding::Utf8),
        };
        let text = std::str::from_utf8(rest).map_err(|_| InputError::NotUtf8)?;
        Ok(Self {
            text: text.to_owned(),
            encoding,
        })
    }

    /// Returns `text`, written in the encoding of this file.
    pub fn with_text(&self, text: String) -> Self {
        let encoding = self.encoding;
        Self { text, encoding }
    }

    /// Returns the bytes of the file.
    pub fn bytes(&self) -> Vec<u8> {
        match self.encoding {
            Encoding::Utf8 => self.text.clone().into_bytes(),
            Encoding::Utf8WithBom => [UTF_8_BOM, self.text.as_bytes()].concat(),
            Encoding::Utf16Le => {
                let units = self.text.encode_utf16().flat_map(u16::to_le_bytes);
                UTF_16_LE_BOM.iter().copied().chain(units).collect()
            }
        }
    }
}

// The smallest replacement of a string that makes one text of another.

/// A string in a text, and what replaces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    /// The string to be found. If it is empty, the text is new.
    pub old: String,
    /// What replaces it.
    pub new: String,
    /// Whether it is replaced wherever it occurs, not only in one place.
    pub is_all: bool,
}

/// Returns the smallest replacement of whole lines that turns `base` into `decided`: all lines that
/// differ, and as many around them as make the old string unique in `base`. No line at either end
/// can be left out. If `base` is empty, so is the old string.
///
/// With *n* bytes of text, this takes O(*n* log *n*) time.
///
/// ```
/// use agent_q_diff_engine::inputs::smallest;
/// let replacement = smallest("a\nb\na\n", "a\nb\nA\n");
/// assert_eq!((&*replacement.old, &*replacement.new), ("b\na\n", "b\nA\n"));
/// ```
pub fn smallest(base: &str, decided: &str) -> Replacement {
    let old: Vec<&str> = base.split_inclusive('\n').collect();
    let new: Vec<&str> = decided.split_inclusive('\n').collect();
    let pairs = old.iter().zip(&new);
    let n_above = pairs.take_while(|(old, new)| old == new).count();
    let pairs = old[n_above..].iter().rev().zip(new[n_above..].iter().rev());
    let n_below = pairs.take_while(|(old, new)| old == new).count();
    let lines = Lines::new(&old);
    let is_once =
        |above: usize, below: usize| lines.is_once(n_above - above..old.len() - n_below + below);
    // More lines around them occur no more often.
    let n_around = n_above.max(n_below);
    let around = partition_point(n_around, |n| !is_once(n.min(n_above), n.min(n_below)));
    let below = around.min(n_below);
    let above = partition_point(around.min(n_above), |above| !is_once(above, below));
    let below = partition_point(below, |below| !is_once(above, below));
    let part = |lines: &[&str]| lines[n_above - above..lines.len() - n_below + below].concat();
    Replacement {
        old: part(&old),
        new: part(&new),
        is_all: false,
    }
}

/// The lines of a text, and where they begin.
struct Lines {
    text: String,
    starts: Vec<usize>,
}

impl Lines {
    fn new(lines: &[&str]) -> Self {
        let mut starts = vec![0];
        for line in lines {
            starts.push(starts[starts.len() - 1] + line.len());
        }
        let text = lines.concat();
        Self { text, starts }
    }

    /// Returns whether the text of the lines in `range` is in the text only once, overlaps
    /// included.
    fn is_once(&self, range: Range<usize>) -> bool {
        let bytes = self.starts[range.start]..self.starts[range.end];
        let text = self.text.as_bytes();
        if bytes.is_empty() {
            return text.is_empty();
        }
        let finder = memmem::Finder::new(&text[bytes.clone()]);
        // An earlier place may overlap, and so may a later one.
        finder.find(text) == Some(bytes.start) && finder.find(&text[bytes.start + 1..]).is_none()
    }
}
