//! What a diff between two states of a target proves about its lines.
//!
//! A diff is a short way from one text to the other, not a record of what was done. Among equal
//! lines it may name other lines than those that were edited. So what it says of a line is trusted
//! only if three checks succeed. No run of changed lines could slide over the line. Histogram and
//! Myers diffs, each forward and backward, agree about it. And it is held on both sides: the same
//! unbroken run of kept lines has, above the line or at it, and below it or at it, a line that is
//! unique in both texts (an anchor). The third check is skipped only if it is known that nothing
//! around the texts changed and the diff has at most one edit. For a whole file, one edit in the
//! diff may still be the result of two.
//!
//! Only a part of the texts need be compared: the one that contains all differences, and around it
//! the lines over which a run can slide. With n lines in it the checks take O(n) time and space,
//! plus four diffs. If more than `MAX_LEN` lines differ, nothing is proven about them.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput, Interner};
use memchr::memmem;

use crate::diff::Edit;
use crate::text::Text;

/// Two states of a text, or of a part of it that contains all differences, and a diff of them.
#[derive(Clone, Copy)]
pub struct Compared<'a> {
    /// The old text.
    pub old: &'a Text,
    /// The new one.
    pub new: &'a Text,
    /// The edits that turn the old text into the new one.
    pub edits: &'a [Edit],
    /// Number of lines before the part and after it, which are equal in both states.
    pub n_around: (usize, usize),
}

/// For which lines of an old text a diff can be trusted.
pub struct Trust {
    /// The lines of the old text (0-based) over which runs of the diff can slide, in order; these
    /// ranges may overlap.
    zones: Vec<Range<usize>>,
    /// The lines about which four diffs agree.
    numbers: Agreement,
    /// The runs of kept lines with their anchors, in order; `None` if agreement is enough.
    runs: Option<Vec<Run>>,
}

impl Trust {
    /// Checks a diff when nothing is known about how the old text became the new one.
    ///
    /// `is_anchor` says of a line, counted in the whole old text, whether it is unique in both
    /// texts.
    pub fn new(compared: &Compared, is_anchor: impl FnMut(usize) -> bool) -> Trust {
        let numbers = Agreement::new(compared);
        let runs = Some(held_runs(&numbers, false, is_anchor));
        Trust {
            zones: compared.zones(),
            numbers,
            runs,
        }
    }

    /// Checks a diff of what one command changed, so that nothing around the part changed.
    pub fn of_command(compared: &Compared) -> Trust {
        let numbers = Agreement::new(compared);
        let is_simple = compared.edits.len() <= 1;
        let runs = (!is_simple).then(|| held_runs(&numbers, true, compared.anchors()));
        Trust {
            zones: compared.zones(),
            numbers,
            runs,
        }
    }

    /// Returns whether it is certain where the old `lines`, which the diff keeps, went. An empty
    /// range stands for the place between two lines.
    pub fn is_certain(&self, mut lines: Range<usize>) -> bool {
        if self.is_loose(&lines) {
            return false;
        }
        if lines.is_empty() {
            return self.is_certain_around(lines);
        }
        let is_held = self.is_held_above(lines.end - 1) && self.is_held_below(lines.start);
        is_held && lines.all(|at| self.numbers.get(at).is_ok())
    }

    /// Returns whether it is certain where the places before and after the old `lines`, which the
    /// diff does not keep, went.
    pub fn is_certain_around(&self, lines: Range<usize>) -> bool {
        let above = lines.start.checked_sub(1);
        let below = Some(lines.end).filter(|&below| below < self.numbers.len());
        above.is_none_or(|above| self.is_held_above(above))
            && below.is_none_or(|below| self.is_held_below(below))
    }

    /// Returns whether a run of the diff can slide over one of `lines`, or over their place if they
    /// are an empty range.
    fn is_loose(&self, lines: &Range<usize>) -> bool {
        // A place between two lines is reached from either of them.
        let more = usize::from(lines.is_empty());
        let is_above = |zone: &Range<usize>| zone.end + more <= lines.start;
        let zone = self.zones.get(self.zones.partition_point(is_above));
        zone.is_some_and(|zone| zone.start < lines.end + more)
    }
}

impl<'a> Compared<'a> {
    /// Returns whether a run of the diff can slide up to an end of the part that is not an end of
    /// the text. It might then slide farther in the whole text.
    pub fn is_too_narrow(&self) -> bool {
        let reaches = self.reaches();
        let is_at_start = |reach: &Range<usize>| self.n_around.0 > 0 && reach.start == 0;
        let is_at_end = |reach: &Range<usize>| self.n_around.1 > 0 && reach.end == self.old.len();
        reaches.first().is_some_and(is_at_start) || reaches.last().is_some_and(is_at_end)
    }

    /// Returns, for each run of the diff that can slide, the lines of the old text that it can
    /// occupy.
    fn zones(&self) -> Vec<Range<usize>> {
        let reaches = self.reaches().into_iter().zip(self.edits);
        let zones = reaches.filter(|(reach, edit)| *reach != edit.before);
        let in_text = |zone: Range<usize>| zone.start + self.n_around.0..zone.end + self.n_around.0;
        zones.map(|(zone, _)| in_text(zone)).collect()
    }

    /// Returns for each edit the lines of the old part that it can occupy by sliding, its own
    /// included.
    fn reaches(&self) -> Vec<Range<usize>> {
        let Compared {
            old, new, edits, ..
        } = self;
        let reach = |(index, edit): (usize, &Edit)| {
            let above = index.checked_sub(1).map(|above| &edits[above]);
            let room = edit.before.start - above.map_or(0, |above| above.before.end);
            let below = edits.get(index + 1);
            let end = below.map_or(old.len(), |below| below.before.start);
            let room = (room, end - edit.before.end);
            let (up, down) = slide(old, &edit.before, room);
            let (other_up, other_down) = slide(new, &edit.after, room);
            edit.before.start - up.max(other_up)..edit.before.end + down.max(other_down)
        };
        edits.iter().enumerate().map(reach).collect()
    }

    /// Returns the test whether a line of the old text is an anchor: it is unique in both parts, or
    /// it is outside them, where nothing changed.
    fn anchors(&self) -> impl FnMut(usize) -> bool + use<'a> {
        let old = self.old;
        let mut texts = [old, self.new].map(|text| LineCounts::new(vec![text.bytes()]));
        let (first, end) = (self.n_around.0, self.n_around.0 + old.len());
        move |at| {
            let is_unique = |text: &mut LineCounts<'a>| text.count(old.line(at - first)) == 1;
            !(first..end).contains(&at) || texts.iter_mut().all(is_unique)
        }
    }
}

/// Returns how many lines `run` can slide up and down in `text`, at most `room`, without changing
/// the rest of the text.
fn slide(text: &Text, run: &Range<usize>, room: (usize, usize)) -> (usize, usize) {
    if run.is_empty() {
        return (0, 0);
    }
    let is_same_up = |&by: &usize| text.line(run.start - by) == text.line(run.end - by);
    let is_same_down = |&by: &usize| text.line(run.start + by) == text.line(run.end + by);
    let up = (1..=room.0).take_while(is_same_up).count();
    (up, (0..room.1).take_while(is_same_down).count())
}

/// An unbroken run of kept lines.
struct Run {
    lines: Range<usize>,
    /// Its first anchor.
    first_anchor: Option<usize>,
    /// Its last anchor.
    last_anchor: Option<usize>,
}

/// Returns the runs of `numbers` with their anchors. If `is_bounded`, nothing changed around the
/// compared texts, so a line that is the first of both, or the last of both, is an anchor too.
fn held_runs(
    numbers: &Agreement,
    is_bounded: bool,
    mut is_anchor: impl FnMut(usize) -> bool,
) -> Vec<Run> {
    let mut run = |lines: Range<usize>| {
        let (first, last) = (lines.start, lines.end - 1);
        Run {
            first_anchor: if is_bounded && numbers.is_first(first) {
                Some(first)
            } else {
                lines.clone().find(|&at| is_anchor(at))
            },
            last_anchor: if is_bounded && numbers.is_last(last) {
                Some(last)
            } else {
                lines.clone().rfind(|&at| is_anchor(at))
            },
            lines,
        }
    };
    numbers.runs().map(&mut run).collect()
}

impl Trust {
    /// Returns whether the run of line `at` has an anchor at that line or above it.
    fn is_held_above(&self, at: usize) -> bool {
        self.is_held(at, |run| {
            run.first_anchor.is_some_and(|anchor| anchor <= at)
        })
    }

    /// Returns whether the run of line `at` has an anchor at that line or below it.
    fn is_held_below(&self, at: usize) -> bool {
        self.is_held(at, |run| run.last_anchor.is_some_and(|anchor| anchor >= at))
    }

    fn is_held(&self, at: usize, has_anchor: impl Fn(&Run) -> bool) -> bool {
        let Some(runs) = &self.runs else {
            return self.numbers.get(at).is_ok();
        };
        let run = runs.get(runs.partition_point(|run| run.lines.end <= at));
        run.is_some_and(|run| run.lines.start <= at && has_anchor(run))
    }
}

// Where four diffs agree that each line of a text went.

/// Most lines of both texts together that are compared four times. imara-diff cannot be
/// interrupted; with so many lines it takes half a second at worst.
const MAX_LEN: usize = 1 << 14;

/// The diffs disagree about a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Disagree;

/// For each old line its number in the new text, or none if it is not kept, as far as all four
/// diffs agree.
///
/// Takes space only for the lines between the common head and tail.
struct Agreement {
    /// Number of lines in the common head.
    n_head: usize,
    part: Vec<Result<Option<usize>, Disagree>>,
    /// Number of lines in the common tail.
    n_tail: usize,
    /// Number of lines of the new text.
    n_new: usize,
}

impl Agreement {
    /// Compares the texts in all four ways.
    fn new(compared: &Compared) -> Agreement {
        let Compared {
            old,
            new,
            n_around: (n_above, n_below),
            ..
        } = *compared;
        let n_head = old.equal_head(0..old.len(), new, 0..new.len());
        let n_tail = old.equal_tail(n_head..old.len(), new, n_head..new.len());
        let old_part: Vec<&[u8]> = old.lines(n_head..old.len() - n_tail).collect();
        let new_part: Vec<&[u8]> = new.lines(n_head..new.len() - n_tail).collect();
        let part = match old_part.len() + new_part.len() {
            0..=MAX_LEN => agreed_part(old_part, new_part, n_above + n_head),
            _ => vec![Err(Disagree); old_part.len()],
        };
        Agreement {
            n_head: n_above + n_head,
            part,
            n_tail: n_tail + n_below,
            n_new: n_above + new.len() + n_below,
        }
    }

    /// Returns the number of old lines.
    fn len(&self) -> usize {
        self.tail_start() + self.n_tail
    }

    /// Returns the old line at which the common tail begins.
    fn tail_start(&self) -> usize {
        self.n_head + self.part.len()
    }

    /// Returns where the old line `at` is in the new text (both 0-based), or `None` if it is not
    /// kept.
    fn get(&self, at: usize) -> Result<Option<usize>, Disagree> {
        match at.checked_sub(self.n_head) {
            None => Ok(Some(at)),
            Some(at) if at < self.part.len() => self.part[at],
            Some(at) => Ok(Some(self.n_new - self.n_tail + at - self.part.len())),
        }
    }

    /// Returns whether the old line `at` is the first line of both texts.
    fn is_first(&self, at: usize) -> bool {
        at == 0 && self.kept(at) == Some(0)
    }

    /// Returns whether the old line `at` is the last line of both texts.
    fn is_last(&self, at: usize) -> bool {
        at + 1 == self.len() && self.kept(at).is_some_and(|number| number + 1 == self.n_new)
    }

    fn kept(&self, at: usize) -> Option<usize> {
        self.get(at).ok().flatten()
    }

    /// Returns the unbroken runs of kept lines, in order.
    fn runs(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let mut at = 0;
        std::iter::from_fn(move || {
            let start = (at..self.len()).find(|&at| self.kept(at).is_some())?;
            at = self.run_end(start)?;
            Some(start..at)
        })
    }

    /// Returns the end of the run that begins with the old line `start`; `None` if that is not
    /// kept.
    fn run_end(&self, start: usize) -> Option<usize> {
        let first = self.kept(start)?;
        let mut at = start;
        while at < self.len() && self.kept(at) == Some(first + at - start) {
            // In the common head and tail, all lines are kept.
            at = match at {
                at if at < self.n_head => self.n_head,
                at if at >= self.tail_start() => self.len(),
                at => at + 1,
            };
        }
        Some(at)
    }
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

// How often lines occur in a text.

/// Counts how often given lines occur in a text.
///
/// Of a long run of kept lines only the first and the last unique line matter, and these are
/// usually near its ends. So the first few lines are searched for, which is faster than counting
/// all lines of the text. Only after that all lines are counted in a table, in O(bytes) time and
/// space.
pub struct LineCounts<'a> {
    /// The text, in pieces that each consist of whole lines.
    text: Vec<&'a [u8]>,
    /// How many more lines may be searched for.
    n_searches: usize,
    counts: Option<Counts<'a>>,
}

/// How often each line occurs.
struct Counts<'a> {
    lines: Interner<&'a [u8]>,
    /// For each token of `lines` its count, where 2 means two or more.
    counts: Vec<u8>,
}

/// How many lines are searched for before the table is made, which takes as long as about forty
/// searches.
const MAX_SEARCHES: usize = 20;

impl<'a> LineCounts<'a> {
    /// Prepares to count lines in the text whose pieces, each of whole lines, are `text`. Reads
    /// nothing yet.
    pub fn new(text: Vec<&'a [u8]>) -> LineCounts<'a> {
        LineCounts {
            text,
            n_searches: MAX_SEARCHES,
            counts: None,
        }
    }

    /// Returns how often `line`, with its newline if it has one, occurs in the text; 2 means two or
    /// more.
    pub fn count(&mut self, line: &'a [u8]) -> usize {
        if self.n_searches > 0 {
            self.n_searches -= 1;
            return self.search(line);
        }
        let text = &self.text;
        let counts = self.counts.get_or_insert_with(|| Counts::new(text));
        counts.count(line)
    }

    fn search(&self, line: &[u8]) -> usize {
        if !line.ends_with(b"\n") {
            let last = self.text.iter().rev().find(|piece| !piece.is_empty());
            return usize::from(last.and_then(|piece| lines(piece).next_back()) == Some(line));
        }
        let finder = memmem::Finder::new(line);
        let places = self.text.iter().flat_map(|piece| {
            let begins_line = |&at: &usize| at == 0 || piece[at - 1] == b'\n';
            // The line's only newline is its last byte, so no two matches overlap.
            finder.find_iter(piece).filter(begins_line)
        });
        places.take(2).count()
    }
}

fn lines(piece: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    piece.split_inclusive(|&byte| byte == b'\n')
}

impl<'a> Counts<'a> {
    fn new(text: &[&'a [u8]]) -> Counts<'a> {
        let mut lines = Interner::new(0);
        let mut counts = Vec::new();
        for line in text.iter().flat_map(|piece| self::lines(piece)) {
            let token = lines.intern(line).0 as usize;
            if token == counts.len() {
                counts.push(0);
            }
            counts[token] = (counts[token] + 1).min(2);
        }
        Counts { lines, counts }
    }

    fn count(&mut self, line: &'a [u8]) -> usize {
        let token = self.lines.intern(line).0 as usize;
        self.counts.get(token).copied().map_or(0, usize::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;
    use crate::diff;

    /// What is known about the edits between the two texts.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum History {
        Unknown,
        Inside,
    }

    fn trust(old: &str, new: &str, history: History) -> Trust {
        let text = |words: &str| Text::new(words.replace(' ', "\n").into_bytes());
        let (old, new) = (text(old), text(new));
        let compared = Compared {
            old: &old,
            new: &new,
            edits: &diff::edits(&old, &new),
            n_around: (0, 0),
        };
        match history {
            History::Unknown => Trust::new(&compared, compared.anchors()),
            History::Inside => Trust::of_command(&compared),
        }
    }

    #[test]
    fn of_equal_neighbors_it_is_open_which_one_was_deleted() {
        let trust = trust("1 a a 2", "1 a 2", History::Inside);
        assert!(!trust.is_certain(1..2) && !trust.is_certain(2..3));
        assert!(trust.is_certain(0..1) && trust.is_certain(3..4));
        assert!(!trust.is_certain(2..2));
    }

    #[test]
    fn of_lines_that_swapped_places_it_is_open_which_one_stayed() {
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
        let mut dice = Dice::new(1);
        let mut roll = |n: usize| dice.roll(n);
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
            let compared = Compared {
                old: &old,
                new: &new,
                edits: &[],
                n_around: (0, 0),
            };
            let numbers = Agreement::new(&compared);
            let runs = Some(held_runs(&numbers, is_bounded, compared.anchors()));
            let kept = Trust {
                zones: Vec::new(),
                numbers,
                runs,
            };
            let n_there =
                |text: &Text, line| text.lines(0..text.len()).filter(|&l| l == line).count();
            let is_anchor = |at: usize| {
                let line = old.line(at);
                n_there(&old, line) == 1 && n_there(&new, line) == 1
            };
            let mut found_anchor = compared.anchors();
            for at in 0..old.len() {
                // The first time it is searched for, the second time looked up.
                (0..2).for_each(|_| assert_eq!(found_anchor(at), is_anchor(at)));
                let number = |at: usize| kept.numbers.get(at).ok().flatten();
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
                assert_eq!(kept.is_held_above(at), is_held_above);
                assert_eq!(kept.is_held_below(at), is_held_below);
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

#[cfg(test)]
mod line_counts_tests {
    use super::*;

    #[test]
    fn a_line_is_counted_up_to_two() {
        let mut counts = LineCounts::new(vec![b"a\nba\nb\n", b"a\na"]);
        assert_eq!(
            [b"a\n", b"b\n", b"c\n"].map(|line| counts.count(line)),
            [2, 1, 0]
        );
        assert_eq!(counts.count(b"a"), 1);
    }
}
