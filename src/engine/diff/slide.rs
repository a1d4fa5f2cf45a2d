//! Sliding: an edit that could stand in several places is put where a reader expects it.
//!
//! What git does (`xdl_change_compact`): a run of changed lines slides up and down as long as the
//! rest reads the same. Runs that meet become one. If what goes can stand where something comes,
//! the two are one edit; else the indent heuristic chooses the place.
//!
//! Most edits can go nowhere, and stay as they are. The others slide in groups. To one edit another
//! matters only if runs of both come to the same place; then both are in one group, and that slides
//! anew. A group that grows is doubled at least, so that all together take no more than a few times
//! as long as all edits in one.

use std::ops::Range;

use super::indent;
use super::work::Work;
use super::{Edit, equal_ends, without_equal_ends};
use crate::text::Text;

/// Steps of the work for sliding by a line.
const STEP: usize = 2;

/// Returns `edits`, each slid to its best place, as long as there is work left.
pub fn settled(original: &Text, modified: &Text, edits: &[Edit], work: &mut Work) -> Vec<Edit> {
    let mut settling = Settling {
        original,
        modified,
        edits,
        settled: Vec::with_capacity(edits.len()),
        groups: Vec::new(),
        removed: Vec::new(),
        added: Vec::new(),
    };
    let mut n_done = 0;
    while let Some(edit) = edits.get(n_done) {
        if settling.can_change(edit) {
            n_done = settling.settle(n_done, work);
        } else {
            settling.settled.push(edit.clone());
            n_done += 1;
        }
    }
    settling.settled
}

/// Edits, of which the first so many have their place.
struct Settling<'a> {
    original: &'a Text,
    modified: &'a Text,
    edits: &'a [Edit],
    /// What came of these.
    settled: Vec<Edit>,
    /// Those of them that slid; the others are as they were.
    groups: Vec<Group>,
    /// The runs of the group that slides.
    removed: Vec<Run>,
    added: Vec<Run>,
}

/// Edits that slid together.
struct Group {
    edits: Range<usize>,
    /// How many edits had their place before.
    n_settled: usize,
    /// How many unchanged lines below the last of its edits one of its runs has been.
    reach: usize,
}

impl Settling<'_> {
    /// Tells whether sliding can change `edit`, even if no other one comes to its place.
    #[inline]
    fn can_change(&self, edit: &Edit) -> bool {
        let can_go = |text, lines: &Range<usize>| {
            !lines.is_empty() && (can_go_up(text, lines) || can_go_down(text, lines))
        };
        can_go(self.original, &edit.before)
            || can_go(self.modified, &edit.after)
            || equal_ends(self.original, self.modified, edit) != (0, 0)
    }

    /// Slides edit `first` and those that matter to it. Returns the next one.
    fn settle(&mut self, first: usize, work: &mut Work) -> usize {
        let mut group = first..first + 1;
        let mut reach = self.slide(&group, work);
        while reach.is_none() && group.len() < self.edits.len() {
            group = self.grown(group);
            reach = self.slide(&group, work);
        }
        let n_settled = self.settled.len();
        self.join(&group);
        let end = group.end;
        self.groups.extend(reach.map(|reach| Group {
            edits: group,
            n_settled,
            reach,
        }));
        end
    }

    /// Returns `group` with as many edits more above it, or groups, and then as many below as that
    /// makes, if there are. Those above have no place any more.
    fn grown(&mut self, group: Range<usize>) -> Range<usize> {
        let mut start = group.start;
        while start > 0 && group.start - start < group.len() {
            match self.groups.pop_if(|above| above.edits.end == start) {
                Some(above) => {
                    self.settled.truncate(above.n_settled);
                    start = above.edits.start;
                }
                None => {
                    self.settled.pop();
                    start -= 1;
                }
            }
        }
        // Whatever slides again is in a group of twice the size.
        let n = group.end - start;
        start..self.edits.len().min(group.end + n)
    }

    /// Slides `group`, by itself. Returns how many unchanged lines below its last edit one of its
    /// runs has been, or `None` if one came to a place of others.
    fn slide(&mut self, group: &Range<usize>, work: &mut Work) -> Option<usize> {
        let edits = &self.edits[group.clone()];
        let base = edits[0].before.start;
        put_runs(
            &mut self.removed,
            base,
            edits.iter().map(|edit| &edit.before),
        );
        put_runs(&mut self.added, base, edits.iter().map(|edit| &edit.after));
        let n_removed: usize = edits.iter().map(|edit| edit.before.len()).sum();
        let last = edits[edits.len() - 1].before.end - n_removed;
        let below = self.edits.get(group.end);
        let mut room = Room {
            free: self.first_free(group.start)
                ..below.map_or(usize::MAX, |below| below.before.start - n_removed),
            last,
            is_left: false,
        };
        let (removed, added) = (&mut self.removed, &mut self.added);
        slide(self.modified, added, removed, &mut room, work);
        slide(self.original, removed, added, &mut room, work);
        (!room.is_left).then(|| room.last - last)
    }

    /// Returns the first place above edit `index` where no run of others is or has been.
    fn first_free(&self, index: usize) -> usize {
        let Some(above) = self.edits[..index].last() else {
            return 0;
        };
        match self.groups.last() {
            Some(group) if group.edits.end == index => above.before.end + group.reach + 1,
            _ => above.before.end + 1,
        }
    }

    /// Adds the edits of which the runs of `group` are the sides.
    fn join(&mut self, group: &Range<usize>) {
        let Edit { before, after } = &self.edits[group.start];
        let (mut n_removed, mut n_added) = (0, 0);
        let (mut removed, mut added) =
            (self.removed.iter().peekable(), self.added.iter().peekable());
        loop {
            let places = [removed.peek(), added.peek()].into_iter().flatten();
            let Some(place) = places.map(|run| run.place).min() else {
                return;
            };
            let lines =
                |run: Option<&Run>, start| run.map_or(start..start, |run| run.lines.clone());
            let edit = Edit {
                before: lines(removed.next_if(|run| run.place == place), place + n_removed),
                after: lines(
                    added.next_if(|run| run.place == place),
                    place + after.start - before.start + n_added,
                ),
            };
            n_removed += edit.before.len();
            n_added += edit.after.len();
            // Slid into each other, what goes and what comes can be the same lines.
            let edit = without_equal_ends(self.original, self.modified, edit);
            self.settled.extend((edit.n_lines() > 0).then_some(edit));
        }
    }
}

/// A run of changed lines on one side.
#[derive(Debug, Clone)]
struct Run {
    /// Its place: how many lines of the original are above it, without those that its group takes
    /// away.
    place: usize,
    lines: Range<usize>,
}

/// Puts the runs of a group into `runs`, and nothing else: `side` are the lines of its edits on one
/// side, and `base` is the place of the first.
fn put_runs<'a>(runs: &mut Vec<Run>, base: usize, side: impl Iterator<Item = &'a Range<usize>>) {
    let mut side = side.peekable();
    let start = side.peek().map_or(0, |lines| lines.start);
    let mut n_changed = 0;
    let run = |lines: &Range<usize>| {
        let place = base + (lines.start - start) - n_changed;
        n_changed += lines.len();
        let lines = lines.clone();
        (!lines.is_empty()).then_some(Run { place, lines })
    };
    runs.clear();
    runs.extend(side.filter_map(run));
}

/// Where a group slides.
struct Room {
    /// The places between those of others.
    free: Range<usize>,
    /// The last place where a run has been.
    last: usize,
    /// Whether one would have come to a place of others. Then no more slide, and what came of them
    /// is for nothing.
    is_left: bool,
}

impl Room {
    /// Tells whether a run may come to `place`.
    fn has(&mut self, place: usize) -> bool {
        self.is_left |= !self.free.contains(&place);
        !self.is_left
    }
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
/// is `room`.
fn slide(text: &Text, runs: &mut Vec<Run>, others: &[Run], room: &mut Room, work: &mut Work) {
    let mut slider = Slider {
        text,
        runs,
        n_above: 0,
        n_taken: 0,
        others,
        n_others: 0,
        room,
        work,
    };
    while !slider.room.is_left
        && let Some(run) = slider.next_below(|_| true)
    {
        let run = slider.settled(run);
        // No more come to be above than were taken.
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
    room: &'a mut Room,
    work: &'a mut Work,
}

impl Slider<'_> {
    fn settled(&mut self, mut run: Run) -> Run {
        let (mut earliest_end, mut is_modification);
        loop {
            while self.up(&mut run) {}
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

    /// Tells whether a run that can go to `place`, if it can, may go there. That is a step of the
    /// work: without work left no run is in the way of another.
    fn may_go(&mut self, place: usize, can_go: bool) -> bool {
        can_go && !self.room.is_left && self.work.spend(STEP) && self.room.has(place)
    }

    /// Slides `run` up by a line, if it can, and tells whether it did.
    fn up(&mut self, run: &mut Run) -> bool {
        let Some(place) = run.place.checked_sub(1) else {
            return false;
        };
        if !self.may_go(place, can_go_up(self.text, &run.lines)) {
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

    /// Slides `run` down by a line, if it can, and tells whether it did.
    fn down(&mut self, run: &mut Run) -> bool {
        let place = run.place + 1;
        if !self.may_go(place, can_go_down(self.text, &run.lines)) {
            return false;
        }
        let Range { start, end } = run.lines;
        run.place = place;
        run.lines = start + 1..end + 1;
        self.room.last = self.room.last.max(run.place);
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
    use super::super::Budget;
    use super::super::search::{self, Part};
    use super::*;
    use crate::dice::Dice;

    /// What comes of `edits` as one group.
    fn settled_at_once(original: &Text, modified: &Text, edits: &[Edit]) -> Vec<Edit> {
        let mut settling = Settling {
            original,
            modified,
            edits,
            settled: Vec::new(),
            groups: Vec::new(),
            removed: Vec::new(),
            added: Vec::new(),
        };
        let all = 0..edits.len();
        settling.slide(&all, &mut Work::new(Budget::default()));
        settling.join(&all);
        settling.settled
    }

    /// Lines that mostly recur, and the same with some of them changed.
    fn texts(dice: &mut Dice) -> [Text; 2] {
        let n_texts = 2 + dice.roll(4);
        let mut lines = |n: usize| -> Vec<&str> {
            let line = || ["\n", "    x\n", "y\n", "z\n", "\tx\n", "}\n"][dice.roll(n_texts)];
            std::iter::repeat_with(line).take(n).collect()
        };
        let original = lines(80);
        let mut modified = original.clone();
        for at in [70, 60, 47, 33, 28, 20, 9, 1] {
            let new = lines(3);
            let (n_removed, n_added) = (new[0].len() - 1, new[1].len() - 1);
            modified.splice(at..at + n_removed, new.into_iter().take(n_added));
        }
        [original, modified].map(|lines| Text::new(lines.concat().into_bytes()))
    }

    #[test]
    fn in_groups_edits_slide_as_they_do_all_at_once() {
        let (mut dice, mut n_changed) = (Dice::new(1), 0);
        for _ in 0..20_000 {
            let [original, modified] = texts(&mut dice);
            let work = &mut Work::new(Budget::default());
            let whole = Edit {
                before: 0..original.len(),
                after: 0..modified.len(),
            };
            let edits = search::edits(&original, &modified, [Part::Unknown(whole)], work);
            if edits.is_empty() {
                continue;
            }
            let in_groups = settled(&original, &modified, &edits, work);
            n_changed += usize::from(in_groups != edits);
            assert_eq!(in_groups, settled_at_once(&original, &modified, &edits));
        }
        assert!(n_changed > 10_000, "{n_changed}");
    }

    /// Each value of a sorted file comes once more: each edit can slide up to the one above.
    #[test]
    fn a_long_chain_of_groups_slides_in_few_steps() {
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
        let mut work = Work::new(Budget(100 * 5000));
        let in_groups = settled(&original, &modified, &edits, &mut work);
        assert!(!work.is_coarse());
        assert_eq!(in_groups, settled_at_once(&original, &modified, &edits));
        // However little work there is, it ends.
        for budget in [0, 1, 7, 5000] {
            let mut work = Work::new(Budget(budget));
            let some = settled(&original, &modified, &edits, &mut work);
            assert_eq!(some.iter().map(Edit::n_lines).sum::<usize>(), 5000);
            assert!(work.is_coarse());
        }
    }
}
