//! A file as an agent's tool finds it, and as it would leave it.

use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::{Component, Path};

use agent_q_diff_engine::inputs::{Encoding, FileText};

/// Checks that an agent's tool and Emacs mean the same file by `path`, an absolute name.
///
/// # Errors
///
/// A sentence, without its full stop.
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
/// A sentence, without its full stop, about why it cannot be read.
pub fn read(path: &Path) -> Result<Option<FileText>, String> {
    let unreadable = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(&error)),
        // To open a FIFO would wait for its writer.
        Ok(metadata) if !metadata.is_file() => Err(unreadable(&"it is not a regular file")),
        Ok(metadata) if metadata.len() > MAX_BYTES => Err(unreadable(&"it is larger than 64 MiB")),
        Ok(_) => {
            let bytes = fs::read(path).map_err(|error| unreadable(&error))?;
            FileText::read(&bytes)
                .map(Some)
                .map_err(|error| error.to_string())
        }
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

/// Returns whether all lines of a file, `before` and `after`, end with CRLF.
pub fn is_all_crlf(before: Option<&FileText>, after: &FileText) -> bool {
    let is_crlf = |text: &str| {
        text.contains('\n')
            && text
                .split_inclusive('\n')
                .all(|line| line.ends_with("\r\n") || !line.ends_with('\n'))
    };
    before.is_some_and(|before| is_crlf(&before.text)) && is_crlf(&after.text)
}

/// Returns the texts that the user compares: before, if there is a file, and after. If all lines of
/// both end with CRLF, they are shown without CR.
pub fn shown<'a>(
    before: Option<&'a FileText>,
    after: &'a FileText,
) -> (Option<Cow<'a, str>>, Cow<'a, str>) {
    match before {
        Some(before) if is_all_crlf(Some(before), after) => {
            (Some(with_lf(&before.text)), with_lf(&after.text))
        }
        before => {
            let before = before.map(|before| before.text.as_str().into());
            (before, after.text.as_str().into())
        }
    }
}

/// Returns the text of a file that is `before` and would be `after`, if `decided` is what the user
/// has made of the texts that were [`shown`].
pub fn with_line_ends(before: Option<&FileText>, after: &FileText, decided: &str) -> String {
    if is_all_crlf(before, after) {
        decided.replace('\n', "\r\n")
    } else {
        decided.to_owned()
    }
}

/// Returns `text` without CR before LF.
fn with_lf(text: &str) -> Cow<'_, str> {
    text.replace("\r\n", "\n").into()
}
