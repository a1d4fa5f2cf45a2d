//! Sliding: an edit that could stand in several places is put where a reader expects it.
//!
//! What git does (`xdl_change_compact`): a run of changed lines slides up and down as long as the
//! rest reads the same. Runs that meet become one. If what goes can stand where something comes,
//! the two are one edit; else the indent heuristic chooses the place.

use std::iter::Peekable;
use std::ops::Range;
use std::vec::IntoIter;

use super::indent;
use super::work::Work;
use super::{Edit, without_equal_ends};
use crate::text::Text;

/// A run of changed lines on one side.
#[derive(Debug, Clone)]
struct Run {
    /// Number of unchanged lines above.
    n_kept: usize,
    lines: Range<usize>,
}

/// Returns `edits`, each slid to its best place, as long as there is work left.
pub fn settled(original: &Text, modified: &Text, edits: Vec<Edit>, work: &mut Work) -> Vec<Edit> {
    let removed = runs(edits.iter().map(|edit| &edit.before));
    let added = runs(edits.iter().map(|edit| &edit.after));
    let added = slid(modified, added, &removed, work);
    let removed = slid(original, removed, &added, work);
    let edits = joined(removed, added).into_iter();
    // Slid into each other, what goes and what comes can be the same lines.
    let trimmed = edits.map(|edit| without_equal_ends(original, modified, edit));
    trimmed.filter(|edit| edit.n_lines() > 0).collect()
}

fn runs<'a>(sides: impl Iterator<Item = &'a Range<usize>>) -> Vec<Run> {
    let mut n_changed = 0;
    let run = |lines: &Range<usize>| {
        let n_kept = lines.start - n_changed;
        n_changed += lines.len();
        let lines = lines.clone();
        (!lines.is_empty()).then_some(Run { n_kept, lines })
    };
    let mut runs = Vec::with_capacity(sides.size_hint().1.unwrap_or(0));
    runs.extend(sides.filter_map(run));
    runs
}

/// Returns the edits of which these are the sides.
fn joined(removed: Vec<Run>, added: Vec<Run>) -> Vec<Edit> {
    let mut edits = Vec::with_capacity(removed.len().max(added.len()));
    let (mut removed, mut added) = (removed.into_iter().peekable(), added.into_iter().peekable());
    let (mut n_removed, mut n_added) = (0, 0);
    loop {
        let places = [removed.peek(), added.peek()].into_iter().flatten();
        let Some(n_kept) = places.map(|run| run.n_kept).min() else {
            return edits;
        };
        let before = removed.next_if(|run| run.n_kept == n_kept);
        let after = added.next_if(|run| run.n_kept == n_kept);
        let lines = |run: Option<Run>, start| run.map_or(start..start, |run| run.lines);
        let edit = Edit {
            before: lines(before, n_kept + n_removed),
            after: lines(after, n_kept + n_added),
        };
        n_removed += edit.before.len();
        n_added += edit.after.len();
        edits.push(edit);
    }
}

/// Returns `runs` of lines of `text`, each slid to its best place beside the `others`.
fn slid(text: &Text, runs: Vec<Run>, others: &[Run], work: &mut Work) -> Vec<Run> {
    let mut slider = Slider {
        text,
        above: Vec::with_capacity(runs.len()),
        below: runs.into_iter().peekable(),
        others,
        n_others: 0,
        work,
    };
    while let Some(run) = slider.below.next() {
        let run = slider.settled(run);
        slider.above.push(run);
    }
    slider.above
}

struct Slider<'a> {
    text: &'a Text,
    /// The runs that have their place.
    above: Vec<Run>,
    /// The runs that have none yet.
    below: Peekable<IntoIter<Run>>,
    /// The runs of the other side.
    others: &'a [Run],
    /// How many of these are above the last place that was asked about: the next one is near.
    n_others: usize,
    work: &'a mut Work,
}

impl Slider<'_> {
    fn settled(&mut self, mut run: Run) -> Run {
        let n_kept = run.n_kept;
        let (mut earliest_end, mut is_modification);
        loop {
            while self.up(&mut run) {}
            // Most can go nowhere.
            if run.n_kept == n_kept && !self.can_go_down(&run) {
                return run;
            }
            earliest_end = run.lines.end;
            is_modification = self.is_beside_other(&run);
            let len = run.lines.len();
            while self.down(&mut run) {
                is_modification |= self.is_beside_other(&run);
            }
            // One that has met others may be able to slide higher up than each of them.
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

    /// Tells whether lines of the other side go or come in the same place.
    fn is_beside_other(&mut self, run: &Run) -> bool {
        let is_above = |other: &Run| other.n_kept < run.n_kept;
        while self.n_others > 0 && !is_above(&self.others[self.n_others - 1]) {
            self.n_others -= 1;
        }
        while self.others.get(self.n_others).is_some_and(is_above) {
            self.n_others += 1;
        }
        let next = self.others.get(self.n_others);
        next.is_some_and(|other| other.n_kept == run.n_kept)
    }

    #[inline]
    fn can_go_up(&self, run: &Run) -> bool {
        let Range { start, end } = run.lines;
        start > 0 && self.text.is_line_same(start - 1, self.text, end - 1)
    }

    #[inline]
    fn can_go_down(&self, run: &Run) -> bool {
        let Range { start, end } = run.lines;
        end < self.text.len() && self.text.is_line_same(start, self.text, end)
    }

    /// Slides `run` up by a line, if it can, and tells whether it did.
    fn up(&mut self, run: &mut Run) -> bool {
        if !self.can_go_up(run) || !self.work.spend(1) {
            return false;
        }
        let Range { start, end } = run.lines;
        run.n_kept -= 1;
        run.lines = start - 1..end - 1;
        if let Some(met) = self.above.pop_if(|above| above.n_kept == run.n_kept) {
            run.lines.start = met.lines.start;
        }
        true
    }

    /// Slides `run` down by a line, if it can, and tells whether it did.
    fn down(&mut self, run: &mut Run) -> bool {
        if !self.can_go_down(run) || !self.work.spend(1) {
            return false;
        }
        let Range { start, end } = run.lines;
        run.n_kept += 1;
        run.lines = start + 1..end + 1;
        if let Some(met) = self.below.next_if(|below| below.n_kept == run.n_kept) {
            run.lines.end = met.lines.end;
        }
        true
    }
}
