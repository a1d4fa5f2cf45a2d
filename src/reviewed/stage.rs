//! What the index gets when a decision of the user's is staged, and what it has that was not kept.

use agent_q_diff_engine::merge::merge;

use crate::files::Committed;

/// Returns whether all that `indexed` has and `committed` has not is in `reviewed`.
pub fn is_kept(committed: &Committed, reviewed: &Committed, indexed: &Committed) -> bool {
    if indexed == reviewed || indexed == committed {
        return true;
    }
    let is_mode_kept = [committed.mode, reviewed.mode].contains(&indexed.mode);
    let are_bytes_kept = if [&committed.bytes, &reviewed.bytes].contains(&&indexed.bytes) {
        true
    } else if is_text(&[committed, reviewed, indexed]) {
        let all = merge(&committed.bytes, &reviewed.bytes, &indexed.bytes).clean();
        all.is_some_and(|all| all == reviewed.bytes)
    } else {
        false
    };
    is_mode_kept && are_bytes_kept
}

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
        merge(&before.bytes, &indexed.bytes, &after.bytes)
            .clean()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_applied(base: &str, onto: &str, from: &str, expected: Option<&str>) {
        let [base, onto, from] = [base, onto, from].map(|text| Committed {
            mode: 0o100_644,
            bytes: text.as_bytes().to_vec(),
        });
        let staged = staged(&base, &from, &onto).map(|staged| staged.unwrap_or(onto).bytes);
        let applied = staged
            .map(|bytes| String::from_utf8(bytes).expect("text"))
            .ok();
        assert_eq!(applied.as_deref(), expected);
    }

    #[test]
    fn a_change_is_applied_where_the_lines_around_it_moved() {
        check_applied(
            "a\nb\nc\n",
            "x\ny\na\nb\nc\n",
            "a\nb\nC\n",
            Some("x\ny\na\nb\nC\n"),
        );
        check_applied("a\nb\nc\nd\n", "b\nc\nd\n", "a\nb\nd\n", Some("b\nd\n"));
    }

    #[test]
    fn a_change_that_is_there_already_is_not_applied_twice() {
        check_applied(
            "a\nb\nc\n",
            "a\nx\nb\nc\n",
            "a\nx\nb\nC\n",
            Some("a\nx\nb\nC\n"),
        );
    }

    #[test]
    fn a_change_is_not_applied_where_other_lines_are_beside_it() {
        check_applied("a\nb\nc\n", "a\nx\nc\n", "a\ny\nc\n", None);
        check_applied("a\nb\nc\n", "a\nb\nx\nc\n", "a\nb\ny\nc\n", None);
        check_applied("a\nb\nc\n", "A\nb\nc\n", "a\nB\nc\n", None);
        check_applied("a\nb\nc\n", "", "a\nb\nmore\nc\n", None);
    }
}
