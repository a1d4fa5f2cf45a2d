//! The tools `replace` and `write_file` of Gemini CLI.
//!
//! The rules were measured with Gemini CLI 0.61.0. Both write every line with CRLF if the file has
//! a CRLF anywhere. `write_file` writes without a byte order mark; `replace` keeps one. They would
//! replace bytes that are not UTF-8. A string that is not in the file exactly is searched for in
//! looser ways, which are not modeled: such an input is refused.

use super::{FileText, InputError, Replacement, smallest, with_crlf, with_lf};

/// Returns the file after `write_file` with `content`; `base` is the file before, if there is one.
pub fn written(base: Option<&FileText>, content: &str) -> FileText {
    let is_crlf = base.is_some_and(|base| has_crlf(&base.text));
    FileText::new(if is_crlf {
        with_crlf(content)
    } else {
        content.to_owned()
    })
}

/// Returns the file after `edit`; `base` is the file before, if there is one.
///
/// # Errors
///
/// [`InputError`] if it cannot be made.
pub fn replaced(base: Option<&FileText>, edit: &Replacement) -> Result<FileText, InputError> {
    let Some(base) = base else {
        return if edit.old.is_empty() {
            Ok(FileText::new(edit.new.clone()))
        } else {
            Err(InputError::Missing)
        };
    };
    if edit.old.is_empty() {
        return Err(InputError::Exists);
    }
    let (text, old, new) = (with_lf(&base.text), with_lf(&edit.old), with_lf(&edit.new));
    let text = match text.matches(&old).count() {
        0 => return Err(InputError::NotFound),
        n if n > 1 && !edit.is_all => return Err(InputError::Several { n }),
        _ => text.replace(&old, &new),
    };
    Ok(base.with_text(if has_crlf(&base.text) {
        with_crlf(&text)
    } else {
        text
    }))
}

/// Returns the `replace` that turns `base` into `decided`, or `None` if there is no such edit.
pub fn replace_to(base: Option<&FileText>, decided: &str) -> Option<Replacement> {
    let edit = match base {
        None => smallest("", decided),
        Some(base) => smallest(&with_lf(&base.text), &with_lf(decided)),
    };
    let made = replaced(base, &edit).ok()?;
    (made.text == decided).then_some(edit)
}

fn has_crlf(text: &str) -> bool {
    text.contains("\r\n")
}
