//! The tools `edit` and `write` of opencode.
//!
//! The rules were read in the program of opencode 1.18.33 and measured with it. `edit` writes the
//! line ends of both its strings with CRLF if the file has a CRLF anywhere, else with LF; what it
//! does not replace stays as it is. `write` writes its content as it is. Both keep a byte order
//! mark, and take one that comes with the new text. They would replace bytes that are not UTF-8. A
//! string that is not in the file exactly once is searched for in looser ways, which are not
//! modeled: such an input is refused.

use memchr::memmem;

use super::{FileText, InputError, Replacement, as_given, smallest, with_crlf, with_lf};

/// Returns the file after `write` with `content`; `base` is the file before, if there is one.
pub fn written(base: Option<&FileText>, content: &str) -> FileText {
    as_given(base, content)
}

/// Returns the file after `edit`; `base` is the file before, if there is one.
///
/// Here, the new string is always inserted literally. opencode itself interprets `$` in it if all
/// occurrences are replaced.
///
/// # Errors
///
/// [`InputError`] if it cannot be made.
pub fn edited(base: Option<&FileText>, edit: &Replacement) -> Result<FileText, InputError> {
    let Some(base) = base else {
        return if edit.old.is_empty() {
            Ok(as_given(None, &edit.new))
        } else {
            Err(InputError::Missing)
        };
    };
    if edit.old.is_empty() {
        return Err(InputError::Exists);
    }
    let with_ends = if base.text.contains("\r\n") {
        with_crlf
    } else {
        with_lf
    };
    let (old, new) = (with_ends(&edit.old), with_ends(&edit.new));
    let first = memmem::find(base.text.as_bytes(), old.as_bytes()).ok_or(InputError::NotFound)?;
    // Places that overlap count, too.
    if !edit.is_all && memmem::rfind(base.text.as_bytes(), old.as_bytes()) != Some(first) {
        let n = base.text.matches(&old).count().max(2);
        return Err(InputError::Several { n });
    }
    Ok(as_given(Some(base), &base.text.replace(&old, &new)))
}

/// Returns the `edit` that turns `base` into `decided`, or `None` if there is no such edit.
pub fn edit_to(base: Option<&FileText>, decided: &str) -> Option<Replacement> {
    let edit = smallest(base.map_or("", |base| &base.text), decided);
    let made = edited(base, &edit).ok()?;
    (made.text == decided).then_some(edit)
}
