//! What an undo in an editor brings back: lines have the state again that they last had.

use std::ops::Range;

use agent_q_diff_engine::diff::{Edit, edits};
use agent_q_diff_engine::text::Text;

/// A text that a file had, and what was reviewed of it then.
pub(crate) struct Earlier {
    /// What was reviewed.
    pub reviewed: Text,
    /// What the file held.
    pub working: Text,
}

/// Lines that an undo brought back, and that were pending when the file last had them. If they only lack
/// what was removed, they are an empty range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Back {
    /// Those lines of the file now.
    pub lines: Range<usize>,
    /// The lines in whose place they are, in what the file held before.
    pub removed: Range<usize>,
    /// Which of the earlier texts had them, and where.
    pub from: (usize, Range<usize>),
}

/// What an undo has changed.
pub(crate) struct Undone<'t> {
    before: &'t Text,
    after: &'t Text,
    edits: Vec<(Edit, State)>,
}

/// For each line of an edit, or for an edit that only removed lines, whether it is known and where it was
/// pending.
type State = Vec<Option<Option<(usize, usize)>>>;

impl<'t> Undone<'t> {
    /// Returns what an undo that made `after` of `before` has changed; `earlier` are what the file held, the
    /// latest first, of which only as many are asked for as are needed.
    ///
    /// # Errors
    ///
    /// Those of `earlier`.
    pub fn find<E>(
        before: &'t Text,
        after: &'t Text,
        earlier: impl Iterator<Item = Result<Option<Earlier>, E>>,
    ) -> Result<Undone<'t>, E> {
        let edits = edits(before, after).into_iter();
        let edits = edits.map(|edit| {
            let n = edit.after.len().max(1);
            (edit, vec![None; n])
        });
        let mut undone = Undone {
            before,
            after,
            edits: edits.collect(),
        };
        let mut known = Vec::new();
        for (nth, one) in earlier.enumerate() {
            if undone.is_known() {
                break;
            }
            if let Some(one) = one? {
                undone.compare(nth, &one, true);
                known.push((nth, one));
            }
        }
        // What was typed beside them since is not in any of these.
        for (nth, one) in &known {
            undone.compare(*nth, one, false);
        }
        Ok(undone)
    }

    fn is_known(&self) -> bool {
        let mut states = self.edits.iter().flat_map(|(_, state)| state);
        states.all(Option::is_some)
    }

    /// Learns what the text `one`, number `nth`, tells of edits all of whose lines it has; or, unless
    /// `is_whole`, of runs of their lines, if these are more than braces.
    fn compare(&mut self, nth: usize, one: &Earlier, is_whole: bool) {
        let since = edits(&one.working, self.after);
        let pending = edits(&one.reviewed, &one.working);
        let is_pending = |line: usize| {
            let at = pending.partition_point(|edit| edit.after.end <= line);
            pending
                .get(at)
                .is_some_and(|edit| edit.after.contains(&line))
        };
        for (edit, state) in &mut self.edits {
            if edit.after.is_empty() {
                let removed = self.before.lines_bytes(edit.before.clone());
                if let Some(at) = gap(&since, edit.after.start).filter(|_| state[0].is_none()) {
                    let is_it = |other: &&Edit| {
                        other.after == (at..at)
                            && one.reviewed.lines_bytes(other.before.clone()) == removed
                    };
                    state[0] = Some(pending.iter().find(is_it).map(|_| (nth, at)));
                }
                continue;
            }
            let mut start = edit.after.start;
            while start < edit.after.end {
                let Some(first) = line_in(&since, start) else {
                    start += 1;
                    continue;
                };
                let rest = start + 1..edit.after.end;
                let n = 1 + rest
                    .zip(first + 1..)
                    .take_while(|&(line, there)| line_in(&since, line) == Some(there))
                    .count();
                let run = start..start + n;
                let tells = match is_whole {
                    true => run == edit.after,
                    false => run.clone().any(|line| has_word(self.after.line(line))),
                };
                if tells {
                    for (line, there) in run.clone().zip(first..) {
                        let known = &mut state[line - edit.after.start];
                        known.get_or_insert(is_pending(there).then_some((nth, there)));
                    }
                }
                start = run.end;
            }
        }
    }

    /// Returns what was pending, in the order of its lines.
    pub fn back(&self) -> Vec<Back> {
        let mut all: Vec<Back> = Vec::new();
        for (edit, state) in &self.edits {
            let first = all.len();
            for (at, known) in state.iter().enumerate() {
                let Some(&(nth, there)) = known.as_ref().and_then(Option::as_ref) else {
                    continue;
                };
                let (line, n) = (edit.after.start + at, edit.after.len().min(1));
                match all[first..].last_mut() {
                    Some(last)
                        if last.lines.end == line
                            && last.from == (nth, last.from.1.start..there) =>
                    {
                        last.lines.end = line + n;
                        last.from.1.end = there + n;
                    }
                    _ => all.push(Back {
                        lines: line..line + n,
                        removed: edit.before.end..edit.before.end,
                        from: (nth, there..there + n),
                    }),
                }
            }
            if let Some(back) = all.get_mut(first) {
                back.removed = edit.before.clone();
            }
        }
        all
    }

    /// Returns what the file holds but for `back`, that is, with what the user has typed.
    pub fn without(&self, back: &[Back]) -> Vec<u8> {
        let mut text = Vec::new();
        let mut done = 0;
        for one in back {
            text.extend_from_slice(self.after.lines_bytes(done..one.lines.start));
            text.extend_from_slice(self.before.lines_bytes(one.removed.clone()));
            done = one.lines.end;
        }
        text.extend_from_slice(self.after.lines_bytes(done..self.after.len()));
        text
    }

    /// Returns `back` as in a diff.
    pub fn lines(&self, back: &[Back]) -> Vec<u8> {
        let mut lines = Vec::new();
        let mut add = |sign: u8, text: &Text, range: Range<usize>| {
            for line in range {
                lines.push(sign);
                lines.extend_from_slice(text.line(line));
                if lines.last() != Some(&b'\n') {
                    lines.push(b'\n');
                }
            }
        };
        for one in back {
            add(b'-', self.before, one.removed.clone());
            add(b'+', self.after, one.lines.clone());
        }
        lines
    }
}

/// Returns the line that line `line` was before `edits`; `None` if they made it.
fn line_in(edits: &[Edit], line: usize) -> Option<usize> {
    let at = edits.partition_point(|edit| edit.after.end <= line);
    let is_made = edits.get(at).is_some_and(|edit| edit.after.start <= line);
    let before = at.checked_sub(1).map(|at| &edits[at]);
    let line = before.map_or(line, |edit| line - edit.after.end + edit.before.end);
    (!is_made).then_some(line)
}

/// Returns where the place above line `line` was before `edits`; `None` if they changed a line beside it.
fn gap(edits: &[Edit], line: usize) -> Option<usize> {
    let is_beside = |edit: &Edit| edit.after.start <= line && line <= edit.after.end;
    if edits.iter().any(is_beside) {
        return None;
    }
    let before = edits.iter().rev().find(|edit| edit.after.end < line);
    Some(before.map_or(line, |edit| line - edit.after.end + edit.before.end))
}

fn has_word(line: &[u8]) -> bool {
    line.iter()
        .any(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii())
}
