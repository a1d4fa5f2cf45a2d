//! Carries one text's changes over to another, line by line.

use std::ops::Range;

use agent_q_diff_engine::diff::{Edit, edits};
use agent_q_diff_engine::text::Text;

/// Returns `onto` with the changes from `base` to `from`, except those of lines that `onto` has changed
/// or lacks.
///
/// Lines that were added in a place where `onto` has other lines stand behind these, or above them if
/// they stood above the lines in `base` that these replace; once, if `onto` has them there as well.
/// So lines that were added are never missing. Takes the time of two comparisons.
pub fn carried(base: &[u8], onto: &[u8], from: &[u8]) -> Vec<u8> {
    let [base, onto, from] = [base, onto, from].map(|bytes| Text::new(bytes.to_vec()));
    let theirs = edits(&base, &onto);
    let ours: Vec<(Edit, (usize, u8))> = edits(&base, &from)
        .into_iter()
        .filter_map(|edit| {
            let place = place(&edit, &theirs, &onto, &from)?;
            Some((edit, place))
        })
        .collect();
    let removed = theirs.iter().chain(ours.iter().map(|(edit, _)| edit));
    let mut is_kept = vec![true; base.len()];
    for edit in removed {
        is_kept[edit.before.clone()].fill(false);
    }
    let kept = (0..base.len()).filter(|&line| is_kept[line]);
    let mut parts: Vec<((usize, u8), &[u8])> = Vec::new();
    parts.extend(kept.map(|line| ((2 * line + 1, 0), base.line(line))));
    parts.extend(theirs.iter().map(|edit| {
        let place = (2 * edit.before.start, 1);
        (place, onto.lines_bytes(edit.after.clone()))
    }));
    parts.extend(
        ours.iter()
            .map(|(edit, place)| (*place, from.lines_bytes(edit.after.clone()))),
    );
    parts.sort_by_key(|(place, _)| *place);
    joined(parts.into_iter().map(|(_, lines)| lines))
}

/// Returns the lines that two texts have in common.
pub fn common(one: &[u8], other: &[u8]) -> Vec<u8> {
    let [one, other] = [one, other].map(|bytes| Text::new(bytes.to_vec()));
    let edits = edits(&one, &other);
    let starts = [0]
        .into_iter()
        .chain(edits.iter().map(|edit| edit.before.end));
    let ends = edits
        .iter()
        .map(|edit| edit.before.start)
        .chain([one.len()]);
    starts
        .zip(ends)
        .flat_map(|(start, end)| one.lines_bytes(start..end))
        .copied()
        .collect()
}

/// Returns where the lines of `edit` stand among those of `theirs`, whose lines stand at twice the line
/// at which they begin, and 1; `None` if it changes what they change, or adds what they add.
fn place(edit: &Edit, theirs: &[Edit], onto: &Text, from: &Text) -> Option<(usize, u8)> {
    let at = edit.before.start;
    let first = theirs.partition_point(|other| other.before.end < at);
    let near = theirs[first..]
        .iter()
        .take_while(|other| other.before.start <= edit.before.end);
    let mut place = (2 * at, 1);
    for other in near {
        if overlap(&edit.before, &other.before) {
            return None;
        }
        let is_added = edit.before.is_empty();
        if is_added && onto.has_run(other.after.clone(), from, edit.after.clone()) {
            return None;
        }
        if other.before.start < at || other.before.is_empty() && other.before.start == at {
            place = (2 * other.before.start, 2);
        } else if other.before.start == at {
            place = (2 * at, 0);
        }
    }
    Some(place)
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start.max(b.start) < a.end.min(b.end)
}

/// Joins `parts`, each of whole lines; a last line without newline gets one if more follows.
pub(crate) fn joined<'a>(parts: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut text: Vec<u8> = Vec::new();
    for part in parts.filter(|part| !part.is_empty()) {
        if text.last().is_some_and(|&last| last != b'\n') {
            text.push(b'\n');
        }
        text.extend_from_slice(part);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::carried;

    #[track_caller]
    fn check(base: &str, onto: &str, from: &str, expected: &str) {
        let carried = carried(base.as_bytes(), onto.as_bytes(), from.as_bytes());
        assert_eq!(String::from_utf8_lossy(&carried), expected);
    }

    #[test]
    fn changes_of_lines_that_both_have_are_carried_over() {
        check("a\nb\nc\n", "a\nb\nC\n", "A\nb\nc\n", "A\nb\nC\n");
        check("a\nb\n", "A\nb\n", "a\nB\n", "A\nB\n");
        check("a\nb\nc\n", "a\nb\nc\n", "a\nc\n", "a\nc\n");
    }

    #[test]
    fn a_line_that_both_changed_is_as_in_the_text_that_gets_the_changes() {
        check("a\nb\nc\n", "a\nx\nc\n", "a\ny\nc\n", "a\nx\nc\n");
        check("a\nb\n", "a\n", "a\nB\n", "a\n");
    }

    #[test]
    fn added_lines_are_never_missing() {
        check("one\ntwo\n", "", "one\nmine\ntwo\n", "mine\n");
        check("B\n", "b\n", "B\nmine\n", "b\nmine\n");
        check("B\n", "b\n", "mine\nB\n", "mine\nb\n");
        check("a\n", "a\nx\n", "a\nmine\n", "a\nx\nmine\n");
        check("a", "a\nx", "a\nmine", "a\nx");
    }

    #[test]
    fn lines_that_both_added_stand_once() {
        check("a\n", "a\nx\nmine\n", "a\nmine\n", "a\nx\nmine\n");
        check("a\n", "a\nmine\n", "a\nmine\n", "a\nmine\n");
    }
}
