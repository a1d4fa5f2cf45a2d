//! A file as an agent's tool finds it.

use std::io;
use std::path::{Component, Path};

use agent_q_diff_engine::inputs::{Encoding, FileText};
use agent_q_diff_reviewed::file::{self, Links};

/// Checks that an agent's tool and Emacs mean the same file by `path`, an absolute name.
///
/// # Errors
///
/// A sentence, without its period.
pub fn check_spelling(path: &Path) -> Result<(), String> {
    let is_plain = |part: Component<'_>| !matches!(part, Component::ParentDir | Component::CurDir);
    let has_dot = path
        .as_os_str()
        .as_encoded_bytes()
        .windows(3)
        .any(|part| part == b"/./");
    if path.components().all(is_plain) && !has_dot {
        Ok(())
    } else {
        Err("give the file's absolute name, without . or .. in it".to_owned())
    }
}

/// How many bytes a file, or an event, may have. What is made of it takes several times as much
/// memory, and without enough of that the program would abort.
pub const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Returns the text of the file `path`, or `None` if there is no such file.
///
/// # Errors
///
/// A sentence, without its period, about why it cannot be read.
pub fn read(path: &Path) -> Result<Option<FileText>, String> {
    let unreadable = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    match file::read(path, Links::Followed, MAX_BYTES) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(&error)),
        Ok(bytes) => FileText::read(&bytes)
            .map(Some)
            .map_err(|error| error.to_string()),
    }
}

/// Returns what `file`'s encoding is called.
pub fn encoding_name(file: &FileText) -> &'static str {
    match file.encoding {
        Encoding::Utf8 => "utf-8",
        Encoding::Utf8WithBom => "utf-8 with BOM",
        Encoding::Utf16Le => "utf-16le",
    }
}
