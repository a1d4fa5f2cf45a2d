//! What an agent's own tool makes of a file, and the input with which it makes another text of it.
//!
//! A user decides about an edit before the agent's tool makes it. The tool then gets another input,
//! so that it writes just what was decided. Each tool has its own rules for line ends and for what
//! counts as found; they were measured with the clients that the modules name. A rewritten input
//! is only given if those rules make the decided text of it, byte for byte.
//!
//! - [`file_text`]: a file's bytes as text, and back
//! - [`strings`]: the smallest replacement of a string that makes one text of another
//! - [`claude`]: the tools `Edit`, `MultiEdit` and `Write` of Claude Code
//! - [`codex`]: the tool `apply_patch` of Codex
//! - [`gemini`]: the tools `replace` and `write_file` of Gemini CLI
//! - [`opencode`]: the tools `edit` and `write` of opencode

pub mod claude;
pub mod codex;
pub mod file_text;
pub mod gemini;
pub mod opencode;
pub mod strings;

use file_text::{Encoding, FileText};

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
    /// A file is to be created that is there.
    #[error("the file is there and not empty, so the old string must not be empty")]
    Exists,
    /// The file is not there.
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

/// Returns the file with `content` as it is, which may begin with a byte order mark; that of the file
/// before, `base`, stays.
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
