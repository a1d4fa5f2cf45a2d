//! What the index gets when a decision of the user's is staged.

use crate::carry::applied;
use crate::files::Committed;

/// Returns what the index gets of a path where it has `indexed`, by a decision that made `after` of
/// `before`; `None` if it has that already. As with `git apply --cached`, the lines that change must be
/// in the index, and what is no text must be there as a whole.
///
/// # Errors
///
/// Why it cannot get it.
pub fn staged(
    before: &Committed,
    after: &Committed,
    indexed: &Committed,
) -> Result<Option<Committed>, &'static str> {
    if before == after || indexed == after {
        return Ok(None);
    }
    if indexed == before {
        return Ok(Some(after.clone()));
    }
    // `git add --intent-to-add` has an empty file there.
    if before.mode == 0 && indexed.bytes.is_empty() && is_text(&[after]) {
        return Ok(Some(after.clone()));
    }
    match (before.mode, after.mode, indexed.mode) {
        (0, _, _) => return Err("the index has another file there"),
        // That it is gone, or never was there.
        (_, 0, 0) => return Ok(None),
        (_, _, 0) => return Err("the index has no such file; stage the whole file first"),
        // Modes may mean nothing here.
        (_, 0, _) if indexed.bytes == before.bytes => return Ok(Some(after.clone())),
        (_, 0, _) => return Err("the index has other lines than those that you have reviewed"),
        _ => {}
    }
    let mode = if before.mode == after.mode || indexed.mode == after.mode {
        indexed.mode
    } else if indexed.mode == before.mode {
        after.mode
    } else {
        return Err("the index has another mode");
    };
    let bytes = if before.bytes == after.bytes || indexed.bytes == after.bytes {
        indexed.bytes.clone()
    } else if indexed.bytes == before.bytes {
        after.bytes.clone()
    } else if is_text(&[before, after, indexed]) {
        applied(&before.bytes, &indexed.bytes, &after.bytes)
            .ok_or("the index has other lines there than those that you have reviewed")?
    } else {
        return Err("the index has another version of it");
    };
    let wanted = Committed { mode, bytes };
    Ok((wanted != *indexed).then_some(wanted))
}

fn is_text(all: &[&Committed]) -> bool {
    all.iter()
        .all(|one| one.mode & 0o170_000 == 0o100_000 && !one.bytes.contains(&0))
}
