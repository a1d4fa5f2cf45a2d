//! What a diff between two states of a target proves about its lines.
//!
//! A diff finds a shortest way from one text to the other, not what was done. Among equal lines it
//! may name others than those that were touched, so its word about a line counts only if checks
//! hold: the line is in no zone over which a run of the diff could slide; histogram and Myers
//! diffs, forward and backward, agree about it; and on both sides, on the same unbroken run of kept
//! lines, stands a line that is unique in both texts. Only where it is known that nothing around the
//! texts changed, and the diff has one edit, the last is not needed: a diff of a whole file with one
//! edit can still be the work of two.
//!
//! With n lines the checks take O(n) time and space, and the four diffs what a diff takes of the
//! part that differs; where that has more than `MAX_LEN` lines, nothing in it is proven.

use std::collections::HashMap;
use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput};

use crate::diff::Edit;
use crate::text::Text;

/// How many lines of both texts together are compared four times over. imara-diff cannot be
/// stopped, and this takes half a second at worst.
const MAX_LEN: usize = 1 << 14;

/// What is known about how one text became the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum History {
    /// Nothing.
    Unknown,
    /// It was one command, and nothing around the two texts changed.
    Inside,
}

/// The lines of an old text that a diff can be trusted about.
pub struct Trust {
    /// For each line of the old text whether a run of the diff can slide over it.
    is_loose: Vec<bool>,
    /// The same for each place between two lines, and for both ends.
    is_loose_place: Vec<bool>,
    kept: Kept,
}

impl Trust {
    /// Weighs `edits`, which make `old` to `new`.
    pub fn new(old: &Text, new: &Text, edits: &[Edit], history: History) -> Trust {
        let (is_loose, is_loose_place) = loose(old, new, edits);
        let numbers = agreed(old, new);
        let kept = match history == History::Inside && edits.len() <= 1 {
            true => Kept::by_agreement(numbers),
            false => Kept::by_anchors(numbers, old, new, history == History::Inside),
        };
        Trust {
            is_loose,
            is_loose_place,
            kept,
        }
    }

    /// Tells whether it is certain what became of the old `lines`, which are kept; if there are
    /// none, what became of the place between the lines before and after.
    pub fn is_certain(&self, lines: Range<usize>) -> bool {
        let is_loose = match lines.is_empty() {
            true => self.is_loose_place[lines.start],
            false => self.is_loose[lines.clone()].contains(&true),
        };
        !is_loose && self.kept.is_certain(lines)
    }

    /// Tells whether it is certain what became of the places before and after the old `lines`,
    /// which are not kept.
    pub fn is_certain_around(&self, lines: Range<usize>) -> bool {
        self.kept.is_certain_around(lines)
    }
}

/// Returns which lines and which places of `old` a run of `edits` can slide over.
fn loose(old: &Text, new: &Text, edits: &[Edit]) -> (Vec<bool>, Vec<bool>) {
    let mut lines = vec![0_isize; old.len() + 1];
    let mut places = vec![0_isize; old.len() + 2];
    for (index, edit) in edits.iter().enumerate() {
        let above = index.checked_sub(1).map(|above| &edits[above]);
        let room = edit.before.start - above.map_or(0, |above| above.before.end);
        let below = edits.get(index + 1);
        let end = below.map_or(old.len(), |below| below.before.start);
        let room = (room, end - edit.before.end);
        let (up, down) = slide(old, &edit.before, room);
        let (other_up, other_down) = slide(new, &edit.after, room);
        let (up, down) = (up.max(other_up), down.max(other_down));
        if up + down > 0 {
            let zone = edit.before.start - up..edit.before.end + down;
            (lines[zone.start], lines[zone.end]) = (lines[zone.start] + 1, lines[zone.end] - 1);
            places[zone.start] += 1;
            places[zone.end + 1] -= 1;
        }
    }
    lines.pop();
    places.pop();
    (covered(&lines), covered(&places))
}

/// Returns how many lines `run` can move up and down in `text`, within `room`, so that the rest
/// reads the same.
fn slide(text: &Text, run: &Range<usize>, room: (usize, usize)) -> (usize, usize) {
    if run.is_empty() {
        return (0, 0);
    }
    let is_same_up = |&by: &usize| text.line(run.start - by) == text.line(run.end - by);
    let is_same_down = |&by: &usize| text.line(run.start + by) == text.line(run.end + by);
    let up = (1..=room.0).take_while(is_same_up).count();
    (up, (0..room.1).take_while(is_same_down).count())
}

/// Returns at which indices the sum of `steps` so far is not 0.
fn covered(steps: &[isize]) -> Vec<bool> {
    let mut depth = 0;
    let mut is_covered = |step: &isize| {
        depth += step;
        depth != 0
    };
    steps.iter().map(&mut is_covered).collect()
}

/// The lines that four diffs keep alike, and those among them that are on a run with an anchor.
struct Kept {
    /// For each old line its number in the new text, if all agree that it is kept; `Err` if they
    /// do not agree.
    numbers: Vec<Result<Option<usize>, Disagree>>,
    /// Whether a line that is unique stands on the same run, at the line or above.
    is_held_above: Vec<bool>,
    /// The same at the line or below.
    is_held_below: Vec<bool>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Disagree;

impl Kept {
    fn by_agreement(numbers: Vec<Result<Option<usize>, Disagree>>) -> Kept {
        let is_agreed: Vec<bool> = numbers.iter().map(Result::is_ok).collect();
        Kept {
            numbers,
            is_held_above: is_agreed.clone(),
            is_held_below: is_agreed,
        }
    }

    fn by_anchors(
        numbers: Vec<Result<Option<usize>, Disagree>>,
        old: &Text,
        new: &Text,
        is_bounded: bool,
    ) -> Kept {
        let counts = [old, new].map(counts);
        let is_anchor = |at: usize| {
            counts
                .iter()
                .all(|count| count.get(old.line(at)) == Some(&1))
        };
        let follows = |at: usize| match (at.checked_sub(1).map(|above| numbers[above]), numbers[at])
        {
            (Some(Ok(Some(above))), Ok(Some(number))) => above + 1 == number,
            (None, Ok(Some(0))) => is_bounded,
            _ => false,
        };
        let is_kept = |at: usize| matches!(numbers[at], Ok(Some(_)));
        let mut is_held_above = vec![false; old.len()];
        for at in 0..old.len() {
            let above = at.checked_sub(1).is_none_or(|above| is_held_above[above]);
            is_held_above[at] = is_kept(at) && (is_anchor(at) || (follows(at) && above));
        }
        let mut is_held_below = vec![false; old.len()];
        for at in (0..old.len()).rev() {
            let below = match at + 1 == old.len() {
                true => is_bounded && numbers[at] == Ok(new.len().checked_sub(1)),
                false => follows(at + 1) && is_held_below[at + 1],
            };
            is_held_below[at] = is_kept(at) && (is_anchor(at) || below);
        }
        Kept {
            numbers,
            is_held_above,
            is_held_below,
        }
    }

    fn is_certain(&self, lines: Range<usize>) -> bool {
        match lines.is_empty() {
            true => self.is_certain_around(lines),
            false => {
                let is_agreed = self.numbers[lines.clone()].iter().all(Result::is_ok);
                is_agreed && self.is_held_above[lines.end - 1] && self.is_held_below[lines.start]
            }
        }
    }

    fn is_certain_around(&self, lines: Range<usize>) -> bool {
        let above = lines.start.checked_sub(1);
        let below = Some(lines.end).filter(|&below| below < self.numbers.len());
        above.is_none_or(|above| self.is_held_above[above])
            && below.is_none_or(|below| self.is_held_below[below])
    }
}

fn counts(text: &Text) -> HashMap<&[u8], usize> {
    let mut counts = HashMap::with_capacity(text.len());
    for line in text.lines(0..text.len()) {
        *counts.entry(line).or_default() += 1;
    }
    counts
}

/// Returns for each line of `old` its number in `new`, as far as four diffs agree.
fn agreed(old: &Text, new: &Text) -> Vec<Result<Option<usize>, Disagree>> {
    let pairs = || old.lines(0..old.len()).zip(new.lines(0..new.len()));
    let head = pairs().take_while(|(a, b)| a == b).count();
    let shorter = old.len().min(new.len()) - head;
    let tails = (old.lines(head..old.len()).rev()).zip(new.lines(head..new.len()).rev());
    let tail = tails.take(shorter).take_while(|(a, b)| a == b).count();
    let old_part: Vec<&[u8]> = old.lines(head..old.len() - tail).collect();
    let new_part: Vec<&[u8]> = new.lines(head..new.len() - tail).collect();
    let mut numbers: Vec<_> = (0..head).map(|at| Ok(Some(at))).collect();
    match old_part.len() + new_part.len() {
        0..=MAX_LEN => numbers.extend(agreed_part(old_part, new_part, head)),
        _ => numbers.extend(old_part.iter().map(|_| Err(Disagree))),
    }
    numbers.extend((new.len() - tail..new.len()).map(|at| Ok(Some(at))));
    numbers
}

fn agreed_part<'a>(
    mut old: Vec<&'a [u8]>,
    mut new: Vec<&'a [u8]>,
    first: usize,
) -> Vec<Result<Option<usize>, Disagree>> {
    let algorithms = [Algorithm::Histogram, Algorithm::Myers];
    let forward = algorithms.map(|algorithm| numbers_by(algorithm, &old, &new));
    old.reverse();
    new.reverse();
    let backward = algorithms.map(|algorithm| {
        let mut numbers = numbers_by(algorithm, &old, &new);
        numbers.reverse();
        let turned = |number: Option<usize>| number.map(|number| new.len() - 1 - number);
        numbers.into_iter().map(turned).collect::<Vec<_>>()
    });
    let agree = |at: usize| {
        let number = forward[0][at];
        let is_same = forward.iter().chain(&backward).all(|by| by[at] == number);
        is_same
            .then_some(number.map(|number| first + number))
            .ok_or(Disagree)
    };
    (0..old.len()).map(agree).collect()
}

fn numbers_by(algorithm: Algorithm, old: &[&[u8]], new: &[&[u8]]) -> Vec<Option<usize>> {
    let mut input = InternedInput::<&[u8]>::default();
    input.update_before(old.iter().copied());
    input.update_after(new.iter().copied());
    let diff = Diff::compute(algorithm, &input);
    let mut numbers = Vec::with_capacity(old.len());
    let mut next = 0;
    for hunk in diff.hunks() {
        let (before, after) = (hunk.before, hunk.after);
        numbers.extend((numbers.len()..before.start as usize).map(|_| {
            next += 1;
            Some(next - 1)
        }));
        numbers.resize(before.end as usize, None);
        next = after.end as usize;
    }
    numbers.extend((next..new.len()).map(Some));
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff;

    fn trust(old: &str, new: &str, history: History) -> Trust {
        let text = |words: &str| Text::new(words.replace(' ', "\n").into_bytes());
        let (old, new) = (text(old), text(new));
        Trust::new(&old, &new, &diff::edits(&old, &new), history)
    }

    #[test]
    fn of_equal_neighbors_nobody_knows_which_one_went() {
        let trust = trust("1 a a 2", "1 a 2", History::Inside);
        assert!(!trust.is_certain(1..2) && !trust.is_certain(2..3));
        assert!(trust.is_certain(0..1) && trust.is_certain(3..4));
        assert!(!trust.is_certain(2..2));
    }

    #[test]
    fn of_lines_that_changed_places_nobody_knows_which_one_stayed() {
        let trust = trust("1 a b 2", "1 b a 2", History::Unknown);
        assert!(!trust.is_certain(1..2) && !trust.is_certain(2..3));
    }

    #[test]
    fn among_equal_lines_a_unique_one_on_both_sides_is_needed() {
        let edited = |history| trust("1 x a x a x 2", "3 x a x a x 2", history);
        assert!(!edited(History::Unknown).is_certain(2..3));
        assert!(edited(History::Inside).is_certain(2..3));
        let trust = trust("0 1 x a x 2 3", "one 1 x a x 2 three", History::Unknown);
        assert!(trust.is_certain(3..4));
    }
}
