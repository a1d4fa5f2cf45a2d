//! The tools `Edit`, `MultiEdit` and `Write` of Claude Code.
//!
//! The rules were measured with Claude Code 2.1.330. `Write` writes its content as it is. `Edit`
//! sees a file without CR before LF, and writes every line with CRLF if among the first 4,096
//! UTF-16 units more lines end so than with LF. A string that is not in the file exactly is
//! searched for with straight quotation marks in place of curly ones; the new string then gets
//! curly ones. Deleting a string that is a whole line also deletes its newline. All of them keep a
//! byte order mark, and UTF-16 after one. Before a hook sees an input, Claude Code has removed
//! white space at the ends of its new lines, unless the file is Markdown; it does not do that with
//! an input that comes from a hook.

use super::{FileText, InputError, Replacement, as_given, smallest, with_crlf, with_lf};

/// Number of UTF-16 units that decide about line ends.
const MAX_UNITS_LOOKED_AT: usize = 4096;

/// Returns the file after `Write` with `content`; `base` is the file before, if there is one.
pub fn written(base: Option<&FileText>, content: &str) -> FileText {
    as_given(base, content)
}

/// Returns the file after `edits`, made one after the other; `base` is the file before, if there is
/// one.
///
/// # Errors
///
/// [`InputError`] if one of them cannot be made.
pub fn edited(base: Option<&FileText>, edits: &[Replacement]) -> Result<FileText, InputError> {
    let mut text = base.map(|base| with_lf(&base.text));
    for edit in edits {
        text = Some(edited_once(text.as_deref(), edit)?);
    }
    let text = text.ok_or(InputError::Missing)?;
    Ok(match base {
        None => FileText::new(text),
        Some(base) if has_crlf(&base.text) => base.with_text(with_crlf(&text)),
        Some(base) => base.with_text(text),
    })
}

/// Returns the `Edit` that turns `base` into `decided`, or `None` if there is no such edit.
pub fn edit_to(base: Option<&FileText>, decided: &str) -> Option<Replacement> {
    let edit = match base {
        None => smallest("", decided),
        Some(base) => smallest(&with_lf(&base.text), &with_lf(decided)),
    };
    let made = edited(base, std::slice::from_ref(&edit)).ok()?;
    (made.text == decided).then_some(edit)
}

/// Returns whether `text` is written with CRLF.
fn has_crlf(text: &str) -> bool {
    let (mut n_units, mut n_crlf, mut n_lf) = (0, 0, 0);
    let mut last = None;
    for character in text.chars() {
        n_units += character.len_utf16();
        if n_units > MAX_UNITS_LOOKED_AT {
            break;
        }
        match (last, character) {
            (Some('\r'), '\n') => n_crlf += 1,
            (_, '\n') => n_lf += 1,
            _ => {}
        }
        last = Some(character);
    }
    n_crlf > n_lf
}

/// Returns `text` after `edit`. It has no CRLF, or is `None` if there is no file.
fn edited_once(text: Option<&str>, edit: &Replacement) -> Result<String, InputError> {
    if edit.old.is_empty() {
        return match text {
            Some(text) if !text.trim().is_empty() => Err(InputError::Exists),
            _ => Ok(edit.new.clone()),
        };
    }
    let text = text.ok_or(InputError::Missing)?;
    let old = found(text, &edit.old).ok_or(InputError::NotFound)?;
    let n = text.matches(old).count();
    if n > 1 && !edit.is_all {
        return Err(InputError::Several { n });
    }
    let new = if old == edit.old {
        edit.new.clone()
    } else {
        with_curly_quotes(&edit.new, old)
    };
    let with_newline = format!("{old}\n");
    let is_line = new.is_empty() && !old.ends_with('\n') && text.contains(&with_newline);
    let old = if is_line { &with_newline } else { old };
    Ok(if edit.is_all {
        text.replace(old, &new)
    } else {
        text.replacen(old, &new, 1)
    })
}

/// Returns the part of `text` that counts as `old`, or `None` if there is none.
fn found<'a>(text: &'a str, old: &str) -> Option<&'a str> {
    if let Some(at) = text.find(old) {
        return Some(&text[at..at + old.len()]);
    }
    let (plain_text, plain_old) = (with_straight_quotes(text), with_straight_quotes(old));
    let at = plain_text.find(&plain_old)?;
    let n_before = plain_text[..at].chars().count();
    let mut starts = text.char_indices().map(|(start, _)| start);
    let start = starts.by_ref().nth(n_before)?;
    let end = starts
        .nth(plain_old.chars().count() - 1)
        .unwrap_or(text.len());
    Some(&text[start..end])
}

fn with_straight_quotes(text: &str) -> String {
    let straight = |character| match character {
        '\u{2018}' | '\u{2019}' => '\'',
        '\u{201c}' | '\u{201d}' => '"',
        other => other,
    };
    text.chars().map(straight).collect()
}

/// Returns `new` with curly quotation marks of the kinds that `old`, a part of the file, has.
fn with_curly_quotes(new: &str, old: &str) -> String {
    let has_double = old.contains(['\u{201c}', '\u{201d}']);
    let has_single = old.contains(['\u{2018}', '\u{2019}']);
    let characters: Vec<char> = new.chars().collect();
    let letter_at = |at: Option<usize>| {
        at.and_then(|at| characters.get(at))
            .is_some_and(|character| character.is_alphabetic())
    };
    let is_opening = |at: usize| {
        let before = at.checked_sub(1).map(|before| characters[before]);
        before.is_none_or(|before| {
            matches!(
                before,
                ' ' | '\t' | '\n' | '\r' | '(' | '[' | '{' | '\u{2013}' | '\u{2014}'
            )
        })
    };
    let curly = |(at, &character): (usize, &char)| match character {
        '"' if has_double && is_opening(at) => '\u{201c}',
        '"' if has_double => '\u{201d}',
        '\'' if has_single && letter_at(at.checked_sub(1)) && letter_at(Some(at + 1)) => '\u{2019}',
        '\'' if has_single && is_opening(at) => '\u{2018}',
        '\'' if has_single => '\u{2019}',
        other => other,
    };
    characters.iter().enumerate().map(curly).collect()
}
