//! Sliding: an edit that could stand in several places is put where a reader expects it.
//!
//! This is what git does (`xdl_change_compact`): a run of changed lines slides up and down as long
//! as the result reads the same. Runs that meet become one. If removed lines can slide to where
//! lines are added, both become one edit; otherwise the indent heuristic chooses the place.

use std::ops::Range;

use super::indent;
use super::{Edit, without_equal_ends};
use crate::text::Text;

/// Returns `edits`, each slid to its best place, as long as there are steps left: one is subtracted
/// from `n_steps` for each line that an edit slides by. If more are wanted, it becomes negative.
pub fn settled(original: &Text, modified: &Text, edits: &[Edit], n_steps: &mut i64) -> Vec<Edit> {
    let mut removed = runs(edits.iter().map(|edit| &edit.before));
    let mut added = runs(edits.iter().map(|edit| &edit.after));
    slide(modified, &mut added, &removed, n_steps);
    slide(original, &mut removed, &added, n_steps);
    joined(original, modified, removed, added)
}

/// Returns the edits whose sides are `removed` and `added`.
fn joined(original: &Text, modified: &Text, removed: Vec<Run>, added: Vec<Run>) -> Vec<Edit> {
    let mut edits = Vec::with_capacity(removed.len().max(added.len()));
    let (mut n_removed, mut n_added) = (0, 0);
    let (mut removed, mut added) = (removed.into_iter().peekable(), added.into_iter().peekable());
    loop {
        let places = [removed.peek(), added.peek()].into_iter().flatten();
        let Some(place) = places.map(|run| run.place).min() else {
            return edits;
        };
        let lines = |run: Option<Run>, start| run.map_or(start..start, |run| run.lines);
        let edit = Edit {
            before: lines(removed.next_if(|run| run.place == place), place + n_removed),
            after: lines(added.next_if(|run| run.place == place), place + n_added),
        };
        n_removed += edit.before.len();
        n_added += edit.after.len();
        // After sliding, removed and added lines can be equal.
        let edit = without_equal_ends(original, modified, edit);
        edits.extend((edit.n_lines() > 0).then_some(edit));
    }
}

/// A run of changed lines on one side.
#[derive(Debug, Clone)]
struct Run {
    /// How many lines above it are unchanged, which tells whether runs of both sides meet.
    place: usize,
    lines: Range<usize>,
}

/// Returns the runs of `side`, the lines of all edits on one side.
fn runs<'a>(side: impl ExactSizeIterator<Item = &'a Range<usize>>) -> Vec<Run> {
    let mut runs = Vec::with_capacity(side.len());
    let mut n_changed = 0;
    for lines in side.filter(|lines| !lines.is_empty()) {
        runs.push(Run {
            place: lines.start - n_changed,
            lines: lines.clone(),
        });
        n_changed += lines.len();
    }
    runs
}

#[inline]
fn can_go_up(text: &Text, lines: &Range<usize>) -> bool {
    lines.start > 0 && text.is_line_same(lines.start - 1, text, lines.end - 1)
}

#[inline]
fn can_go_down(text: &Text, lines: &Range<usize>) -> bool {
    lines.end < text.len() && text.is_line_same(lines.start, text, lines.end)
}

/// Slides each of `runs` of lines of `text` to its best place beside the `others`, as long as there
/// are steps left.
fn slide(text: &Text, runs: &mut Vec<Run>, others: &[Run], n_steps: &mut i64) {
    let mut slider = Slider {
        text,
        runs,
        n_above: 0,
        n_taken: 0,
        others,
        n_others: 0,
        n_steps,
    };
    while let Some(run) = slider.next_below(|_| true) {
        let run = slider.settled(run);
        // There are never more runs above than were taken.
        slider.runs[slider.n_above] = run;
        slider.n_above += 1;
    }
    let n_runs = slider.n_above;
    runs.truncate(n_runs);
}

struct Slider<'a> {
    text: &'a Text,
    /// Runs that have their place, and behind them, from `n_taken` on, those that have none yet.
    runs: &'a mut Vec<Run>,
    n_above: usize,
    n_taken: usize,
    /// The runs of the other side.
    others: &'a [Run],
    /// How many of these are above the last place that was asked about: the next one is near.
    n_others: usize,
    n_steps: &'a mut i64,
}

impl Slider<'_> {
    fn settled(&mut self, mut run: Run) -> Run {
        if !can_go_up(self.text, &run.lines) && !can_go_down(self.text, &run.lines) {
            return run;
        }
        let (mut earliest_end, mut is_modification);
        loop {
            while self.up(&mut run) {}
            earliest_end = run.lines.end;
            is_modification = self.is_beside_other(&run);
            let len = run.lines.len();
            while self.down(&mut run) {
                is_modification |= self.is_beside_other(&run);
            }
            // A run that has met others may be able to slide higher up than each of them.
            if run.lines.len() == len {
                break;
            }
        }
        if is_modification {
            while !self.is_beside_other(&run) && self.up(&mut run) {}
        } else if run.lines.end > earliest_end {
            let end = indent::best_end(self.text, run.lines.clone(), earliest_end);
            while run.lines.end > end && self.up(&mut run) {}
        }
        run
    }

    /// Returns whether the other side also changes lines in that place.
    fn is_beside_other(&mut self, run: &Run) -> bool {
        let is_above = |other: &Run| other.place < run.place;
        while self.n_others > 0 && !is_above(&self.others[self.n_others - 1]) {
            self.n_others -= 1;
        }
        while self.others.get(self.n_others).is_some_and(is_above) {
            self.n_others += 1;
        }
        let next = self.others.get(self.n_others);
        next.is_some_and(|other| other.place == run.place)
    }

    /// Takes a step, and returns whether there was one.
    fn step(&mut self) -> bool {
        *self.n_steps -= 1;
        *self.n_steps >= 0
    }

    /// Slides `run` up by a line, if it can, and returns whether it did.
    fn up(&mut self, run: &mut Run) -> bool {
        let Some(place) = run.place.checked_sub(1) else {
            return false;
        };
        if !can_go_up(self.text, &run.lines) || !self.step() {
            return false;
        }
        let Range { start, end } = run.lines;
        run.place = place;
        run.lines = start - 1..end - 1;
        if let Some(above) = self.runs[..self.n_above].last()
            && above.place == run.place
        {
            run.lines.start = above.lines.start;
            self.n_above -= 1;
        }
        true
    }

    /// Slides `run` down by a line, if it can, and returns whether it did.
    fn down(&mut self, run: &mut Run) -> bool {
        let place = run.place + 1;
        if !can_go_down(self.text, &run.lines) || !self.step() {
            return false;
        }
        let Range { start, end } = run.lines;
        run.place = place;
        run.lines = start + 1..end + 1;
        if let Some(met) = self.next_below(|below| below.place == run.place) {
            run.lines.end = met.lines.end;
        }
        true
    }

    /// Takes the next of the runs that have no place yet, if it `is_wanted`.
    fn next_below(&mut self, is_wanted: impl Fn(&Run) -> bool) -> Option<Run> {
        let next = self.runs.get(self.n_taken).filter(|run| is_wanted(run))?;
        self.n_taken += 1;
        Some(next.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each value of a sorted file comes once more: each edit can slide up to the one above.
    #[test]
    fn a_long_chain_of_edits_slides_in_few_steps() {
        let text = |n_copies: usize| {
            let lines = (0..5000).map(|value| format!("{value}\n").repeat(n_copies));
            Text::new(lines.collect::<String>().into_bytes())
        };
        let (original, modified) = (text(4), text(5));
        let edit = |value: usize| Edit {
            before: 4 * value + 4..4 * value + 4,
            after: 5 * value + 4..5 * value + 5,
        };
        let edits: Vec<Edit> = (0..5000).map(edit).collect();
        let mut n_steps = 50 * 5000;
        let slid = settled(&original, &modified, &edits, &mut n_steps);
        assert!(n_steps >= 0);
        // So each meets the next one.
        let two = |n: usize| Edit {
            before: 8 * n + 4..8 * n + 4,
            after: 10 * n + 4..10 * n + 6,
        };
        assert!(slid.into_iter().eq((0..2500).map(two)));
        // However few steps there are, it ends.
        for mut n_steps in [0, 1, 7, 2500] {
            let some = settled(&original, &modified, &edits, &mut n_steps);
            assert_eq!(some.iter().map(Edit::n_lines).sum::<usize>(), 5000);
            assert!(n_steps < 0);
        }
    }
}
