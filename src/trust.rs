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
use memchr::memmem;

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
        let mut anchors = Anchors::new(old, new);
        let (mut is_held_above, mut is_held_below) =
            (vec![false; old.len()], vec![false; old.len()]);
        for run in runs(&numbers) {
            let is_first = is_bounded && run.start == 0 && numbers[0] == Ok(Some(0));
            let is_last = is_bounded
                && run.end == old.len()
                && numbers[run.end - 1] == Ok(new.len().checked_sub(1));
            let above = match is_first {
                true => Some(run.start),
                false => run.clone().find(|&at| anchors.is_anchor(at)),
            };
            let below = match is_last {
                true => Some(run.end - 1),
                false => run.clone().rfind(|&at| anchors.is_anchor(at)),
            };
            if let Some(above) = above {
                is_held_above[above..run.end].fill(true);
            }
            if let Some(below) = below {
                is_held_below[run.start..=below].fill(true);
            }
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

/// Returns the unbroken runs of lines that are kept, for each old line its number in the new text.
fn runs(numbers: &[Result<Option<usize>, Disagree>]) -> impl Iterator<Item = Range<usize>> + '_ {
    let number = |at: usize| numbers[at].ok().flatten();
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = (at..numbers.len()).find(|&at| number(at).is_some())?;
        let first = number(start)?;
        let is_next = |&other: &usize| number(other) == Some(first + other - start);
        at = (start..numbers.len())
            .take_while(is_next)
            .last()
            .map_or(start, |last| last + 1);
        Some(start..at)
    })
}

/// Which lines of an old text are unique in it and in a new one.
///
/// Of a long run only the outermost anchors count, and near its ends there is mostly one. So the
/// first few lines that are asked for are searched for in both texts, which reads them faster than
/// any table can be made of them; the table comes after that.
struct Anchors<'a> {
    texts: [&'a Text; 2],
    /// How many more lines may be searched for.
    n_searches: usize,
    /// For each text how often each of its lines is there.
    counts: Option<[HashMap<&'a [u8], usize>; 2]>,
}

/// How many lines are searched for before a table is made, which takes as long as some forty.
const MAX_SEARCHES: usize = 20;

impl<'a> Anchors<'a> {
    fn new(old: &'a Text, new: &'a Text) -> Anchors<'a> {
        Anchors {
            texts: [old, new],
            n_searches: MAX_SEARCHES,
            counts: None,
        }
    }

    /// Tells whether line `at` of the old text is unique in both.
    fn is_anchor(&mut self, at: usize) -> bool {
        let line = self.texts[0].line(at);
        if self.n_searches > 0 {
            self.n_searches -= 1;
            return self.texts.iter().all(|text| is_unique(line, text));
        }
        let texts = self.texts;
        let counts = self.counts.get_or_insert_with(|| texts.map(counts));
        counts.iter().all(|count| count.get(line) == Some(&1))
    }
}

/// Tells whether `line`, with its newline if it has one, is in `text` just once.
fn is_unique(line: &[u8], text: &Text) -> bool {
    let bytes = text.bytes();
    if !line.ends_with(b"\n") {
        return !text.is_empty() && text.line(text.len() - 1) == line;
    }
    let begins_line = |&at: &usize| at == 0 || bytes[at - 1] == b'\n';
    // A newline at the end alone: no two of these can overlap.
    let mut places = memmem::find_iter(bytes, line).filter(begins_line);
    places.next().is_some() && places.next().is_none()
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
    let head = old.equal_head(0..old.len(), new, 0..new.len());
    let tail = old.equal_tail(head..old.len(), new, head..new.len());
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

    /// Returns a text of up to `max_len` lines, its last one perhaps without a newline.
    fn any_text(roll: &mut impl FnMut(usize) -> usize, max_len: usize) -> Text {
        let lines = ["\n", "a\n", "ba\n", "b\n", "c\n", "d\n", "e\n", "f\n"];
        let n_lines = roll(max_len);
        let mut text: String = (0..n_lines).map(|_| lines[roll(lines.len())]).collect();
        if roll(4) == 0 {
            text.push_str(["a", "c"][roll(2)]);
        }
        Text::new(text.into_bytes())
    }

    #[test]
    fn anchors_are_the_lines_of_a_run_that_are_once_in_both_texts() {
        let mut state = 1_u64;
        let mut roll = |n: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % n as u64) as usize
        };
        let mut n_held = 0;
        for _ in 0..20_000 {
            let old = any_text(&mut roll, 12);
            let new = match roll(3) {
                0 => any_text(&mut roll, 12),
                _ => {
                    let mut lines: Vec<&[u8]> = old.lines(0..old.len()).collect();
                    lines.insert(roll(lines.len() + 1), b"g\n");
                    Text::new(lines.concat())
                }
            };
            let is_bounded = roll(2) == 0;
            let numbers = agreed(&old, &new);
            let kept = Kept::by_anchors(numbers.clone(), &old, &new, is_bounded);
            let n_there =
                |text: &Text, line| text.lines(0..text.len()).filter(|&l| l == line).count();
            let is_anchor = |at: usize| {
                let line = old.line(at);
                n_there(&old, line) == 1 && n_there(&new, line) == 1
            };
            let mut anchors = Anchors::new(&old, &new);
            for at in 0..old.len() {
                // The first are searched for, the others looked up.
                (0..2).for_each(|_| assert_eq!(anchors.is_anchor(at), is_anchor(at)));
                let number = |at: usize| numbers[at].ok().flatten();
                let is_run = |range: Range<usize>| {
                    let mut pairs = range.clone().zip(range.skip(1));
                    pairs.all(|(a, b)| number(a).map(|a| a + 1) == number(b))
                };
                let is_above = |&first: &usize| {
                    let is_edge = is_bounded && first == 0 && number(0) == Some(0);
                    (is_edge || is_anchor(first)) && is_run(first..at + 1)
                };
                let is_below = |&last: &usize| {
                    let is_edge = last + 1 == old.len() && number(last) == Some(new.len() - 1);
                    (is_bounded && is_edge || is_anchor(last)) && is_run(at..last + 1)
                };
                let is_kept = number(at).is_some();
                let is_held_above = is_kept && (0..=at).any(|first| is_above(&first));
                let is_held_below = is_kept && (at..old.len()).any(|last| is_below(&last));
                assert_eq!(kept.is_held_above[at], is_held_above);
                assert_eq!(kept.is_held_below[at], is_held_below);
                n_held += usize::from(is_held_above && is_held_below);
            }
        }
        assert!(n_held > 10_000, "only {n_held} lines are held");
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
