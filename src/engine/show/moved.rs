//! Code that moved: blocks of lines that are removed in one place and added in another, perhaps with
//! changes inside.
//!
//! What is called moved is equal to its partner, byte by byte, and in what each byte is: code, a string or a
//! comment, as far as that is known. Around and between such lines, a block has
//! lines that changed (a removed and an added one that are similar), lines that are only removed and lines
//! that are only added. These are shown like any other change.
//!
//! The rules:
//!
//! - A block begins with a run of equal lines, as long as possible, that is not interrupted by lines that
//!   stay. It goes on beyond other lines, at most `MAX_INSIDE`, if the equal lines there have at least
//!   `MIN_ALNUM` letters and digits, or are as many as those between, or if these are similar in pairs.
//!   The lines right above and below it are a part of it if they are similar, and like nothing else there.
//! - As in `git diff --color-moved=zebra`, the equal lines of a block have at least 20 letters and digits in
//!   all, so that closing brackets are not said to move.
//! - A block has moved past something: lines that stay, of its file and between its two places, which have at
//!   least 20 letters and digits. So nothing is said to move that is where it was, nor has a block moved past
//!   a blank line or a bracket. Between two files, nothing is asked.
//! - Lines that a run of changes both removes and adds, but for white space, stay where they are, unless more
//!   of them is a part of blocks.
//! - Of blocks that have lines in common, that with the most letters and digits has them.
//!
//! A line whose text is removed in more than `MAX_TRIED` places begins no block, so the time is about
//! linear in the number of lines.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::ops::Range;

use crate::patch::hunk::{Hunk, LineKind};
use crate::text::Span;

use super::alike::{Place, Syntaxes, n_fitting};
use super::rows;
use super::words;

/// Fewest letters and digits of a block, as in git's `diff.c` (`COLOR_MOVED_MIN_ALNUM_COUNT`), and of what
/// it moves past.
const MIN_ALNUM: usize = 20;

/// Most places of the same line that are tried for a block.
const MAX_TRIED: usize = 16;

/// Most lines, removed and added ones, between two equal lines of a block.
const MAX_INSIDE: usize = 30;

/// Least similarity of two lines at the edge of a block, in thousandths.
const LEAST_SIMILAR: usize = 600;

/// How often what is left of a block is looked at again after another one took some of its lines.
const MAX_CUTS: usize = 8;

/// A block that moved. Its places are in order, and those in pairs are where it was removed and where it was
/// added.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Move {
    /// The lines that moved: those of a pair are equal.
    pub equal: Vec<[Place; 2]>,
    /// The lines that changed, as many in one place as in the other.
    pub changed: Vec<[Place; 2]>,
    /// The lines that are only removed.
    pub removed: Vec<Place>,
    /// The lines that are only added.
    pub added: Vec<Place>,
}

/// What a changed line is in a block that moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inside {
    /// It is as it was.
    Equal,
    /// It changed in these columns, as in [`words::Span`], from its partner.
    Changed(Vec<Range<usize>>),
    /// It is only removed, or only added.
    Alone,
}

/// The blocks that moved between the hunks of several files.
#[derive(Debug, Clone, Default)]
pub struct Moves {
    blocks: Vec<Move>,
    lines: HashMap<(usize, usize), Inside>,
}

impl Moves {
    /// Finds what moved in `files`, which have these hunks each. `syntaxes` are those of the files, none if
    /// there are fewer.
    pub fn of(files: &[Vec<Hunk>], syntaxes: &[Syntaxes]) -> Moves {
        let blocks = blocks(files, syntaxes);
        let hunks: Vec<&Hunk> = files.iter().flatten().collect();
        let mut lines = HashMap::new();
        let alone = blocks
            .iter()
            .flat_map(|block| [&block.removed, &block.added]);
        let equal = blocks.iter().flat_map(|block| block.equal.iter().flatten());
        for (places, inside) in [
            (alone.flatten().collect::<Vec<_>>(), Inside::Alone),
            (equal.collect(), Inside::Equal),
        ] {
            for place in places {
                let here = place.lines.clone().map(|at| (place.hunk, at));
                lines.extend(here.map(|line| (line, inside.clone())));
            }
        }
        for pair in blocks.iter().flat_map(|block| &block.changed) {
            let [old, new] = pair.each_ref().map(|place| texts(hunks[place.hunk], place));
            for (at, (old, new)) in old.into_iter().zip(new).enumerate() {
                let columns = words::changed_columns(old, new);
                for (place, columns) in pair.iter().zip(columns) {
                    let line = (place.hunk, place.lines.start + at);
                    lines.insert(line, Inside::Changed(columns));
                }
            }
        }
        Moves { blocks, lines }
    }

    /// Returns the blocks, in the order of the places where they were added.
    pub fn blocks(&self) -> &[Move] {
        &self.blocks
    }

    /// Returns what the changed line `at` of `hunk` is in a block, or `None` if it is in none. Hunks are
    /// counted over all files, and changed lines in the order of the diff.
    pub fn line(&self, hunk: usize, at: usize) -> Option<&Inside> {
        self.lines.get(&(hunk, at))
    }
}

/// Returns the changed lines of `hunk` that `place` has.
fn texts<'a>(hunk: &Hunk<'a>, place: &Place) -> Vec<&'a [u8]> {
    let changes = hunk.lines.iter();
    let changes = changes.filter(|line| line.kind != LineKind::Context);
    let here = changes.skip(place.lines.start).take(place.lines.len());
    here.map(|line| line.text).collect()
}

/// A line that is added or removed.
struct Line<'a> {
    /// Its text, with its terminator.
    text: &'a [u8],
    /// A number that lines have in common if their texts are equal, and so is what is code there.
    key: usize,
    n_alnum: usize,
    file: usize,
    hunk: usize,
    /// Which of the changed lines of the hunk it is.
    at: usize,
    /// Its line in its text.
    line: usize,
    /// How many lines of its file that stay are above it.
    gap: usize,
}

/// The lines of a file that stay, as far as they are known.
#[derive(Default)]
struct Staying {
    /// The number of each in the file, of those that stay, and how many letters and digits those up to
    /// it have.
    known: Vec<(usize, usize)>,
}

impl Staying {
    fn push(&mut self, number: usize, n_alnum: usize) {
        let (last, sum) = self.known.last().copied().unzip();
        if last.is_none_or(|last| last < number) {
            self.known.push((number, sum.unwrap_or(0) + n_alnum));
        }
    }

    /// Returns how many letters and digits the lines above line `number` have. Those that no hunk shows
    /// count as enough to move past.
    fn n_alnum_above(&self, number: usize) -> usize {
        let n_known = self.known.partition_point(|&(known, _)| known < number);
        let sum = n_known.checked_sub(1).map_or(0, |last| self.known[last].1);
        sum + (number - n_known) * MIN_ALNUM
    }
}

/// Which side of a diff: the removed lines, or the added ones.
const OLD: usize = 0;
const NEW: usize = 1;

/// Indices of a removed and an added line.
type Pair = [usize; 2];

/// A direction in which lines follow one another.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Up,
    Down,
}

/// Finds blocks in the removed and the added lines of all hunks.
struct Finder<'a> {
    sides: [Vec<Line<'a>>; 2],
    /// Which of the lines are in a block, or stay.
    is_taken: [Vec<bool>; 2],
    /// The lines of each file that stay.
    files: Vec<Staying>,
    /// How many lines each hunk changes.
    n_changed: Vec<usize>,
}

/// Returns the blocks that moved in `files`; see [`Moves::of`].
fn blocks(files: &[Vec<Hunk>], syntaxes: &[Syntaxes]) -> Vec<Move> {
    let mut finder = Finder::new(files, syntaxes);
    let mut found = finder.equal_pairs();
    found.sort_unstable_by_key(|pairs| pairs[0][NEW]);
    let found = found.into_iter().map(|pairs| finder.with_inside(pairs));
    let found: Vec<_> = found.collect();
    found.iter().map(|rows| finder.block(rows)).collect()
}

impl<'a> Finder<'a> {
    fn new(files: &[Vec<Hunk<'a>>], syntaxes: &[Syntaxes]) -> Finder<'a> {
        let mut finder = Finder {
            sides: [Vec::new(), Vec::new()],
            is_taken: [Vec::new(), Vec::new()],
            files: Vec::new(),
            n_changed: Vec::new(),
        };
        let mut keys: HashMap<(&[u8], Vec<Span>), usize> = HashMap::new();
        let mut n_left = n_fitting(files.iter().flatten());
        for (file, hunks) in files.iter().enumerate() {
            let syntaxes = syntaxes.get(file).copied().flatten();
            let mut staying = Staying::default();
            let mut n_changed = [0, 0];
            for hunk in hunks.iter().take(n_left) {
                let (mut lines, mut at) = ([hunk.before.start, hunk.after.start], 0);
                for each in &hunk.lines {
                    let n_alnum = n_alnum(each.text);
                    let side = match each.kind {
                        LineKind::Context => {
                            staying.push(lines[OLD].saturating_sub(n_changed[OLD]), n_alnum);
                            lines = lines.map(|line| line + 1);
                            continue;
                        }
                        LineKind::Removed => OLD,
                        LineKind::Added => NEW,
                    };
                    let n_keys = keys.len();
                    let key = (each.text, spans(syntaxes, side, lines[side]));
                    finder.sides[side].push(Line {
                        text: each.text,
                        key: *keys.entry(key).or_insert(n_keys),
                        n_alnum,
                        file,
                        hunk: finder.n_changed.len(),
                        at,
                        line: lines[side],
                        gap: lines[side].saturating_sub(n_changed[side]),
                    });
                    lines[side] += 1;
                    n_changed[side] += 1;
                    at += 1;
                }
                finder.n_changed.push(at);
            }
            n_left = n_left.saturating_sub(hunks.len());
            finder.files.push(staying);
        }
        finder.is_taken = finder.sides.each_ref().map(|side| vec![false; side.len()]);
        finder
    }

    fn lines(&self, pair: Pair) -> [&Line<'a>; 2] {
        [OLD, NEW].map(|side| &self.sides[side][pair[side]])
    }

    fn is_equal(&self, pair: Pair) -> bool {
        let [old, new] = self.lines(pair);
        old.key == new.key
    }

    /// Returns the letters and digits of `pairs` of equal lines.
    fn n_alnum(&self, pairs: &[Pair]) -> usize {
        let lines = pairs.iter().map(|pair| self.lines(*pair)[NEW].n_alnum);
        lines.sum()
    }

    /// Returns whether the lines of `pair` are apart, so that what is the same in both has moved.
    fn is_apart(&self, pair: Pair) -> bool {
        let [old, new] = self.lines(pair);
        if old.file != new.file {
            return true;
        }
        let above = [old, new].map(|line| self.files[line.file].n_alnum_above(line.gap));
        above[OLD].abs_diff(above[NEW]) >= MIN_ALNUM
    }

    /// Returns the line of `side` that follows line `at` without any other between, if it is not taken.
    fn next(&self, side: usize, at: usize, way: Way) -> Option<usize> {
        let next = match way {
            Way::Up => at.checked_sub(1)?,
            Way::Down => at + 1,
        };
        let lines = &self.sides[side];
        let (line, other) = (&lines[at], lines.get(next)?);
        let follows = (line.file, line.gap) == (other.file, other.gap)
            && line.line.abs_diff(other.line) == 1
            && !self.is_taken[side][next];
        follows.then_some(next)
    }

    fn next_pair(&self, pair: Pair, way: Way) -> Option<Pair> {
        Some([
            self.next(OLD, pair[OLD], way)?,
            self.next(NEW, pair[NEW], way)?,
        ])
    }

    /// Returns the pairs of equal lines from `pair`, one of them, on.
    fn equal_from(&self, pair: Pair, way: Way) -> Vec<Pair> {
        let next = |pair: &Pair| {
            self.next_pair(*pair, way)
                .filter(|pair| self.is_equal(*pair))
        };
        std::iter::successors(Some(pair), next).collect()
    }

    /// Returns the runs of equal lines that are apart, each as long as possible.
    fn candidates(&self) -> Vec<Vec<Pair>> {
        let mut where_removed: HashMap<usize, Vec<usize>> = HashMap::new();
        for (at, line) in self.sides[OLD].iter().enumerate() {
            where_removed.entry(line.key).or_default().push(at);
        }
        let mut found = Vec::new();
        // Up to which added line the runs are known, by how far removed and added lines are apart.
        let mut known: HashMap<usize, usize> = HashMap::new();
        for (new, line) in self.sides[NEW].iter().enumerate() {
            let olds = where_removed.get(&line.key).into_iter().flatten();
            let is_tried = line.n_alnum > 0 && olds.clone().nth(MAX_TRIED).is_none();
            for &old in olds.filter(|_| is_tried) {
                let apart = old.wrapping_sub(new);
                let is_known = known.get(&apart).is_some_and(|&end| new < end);
                if is_known || !self.is_apart([old, new]) {
                    continue;
                }
                let mut pairs = self.equal_from([old, new], Way::Up);
                pairs.reverse();
                pairs.pop();
                pairs.extend(self.equal_from([old, new], Way::Down));
                known.insert(apart, pairs[pairs.len() - 1][NEW] + 1);
                // A short one needs what is beyond, which is looked at only if it is certain.
                if self.n_alnum(&pairs) >= MIN_ALNUM || where_removed[&line.key].len() == 1 {
                    found.push(pairs);
                }
            }
        }
        found
    }

    /// Returns the pairs of lines that each run of changes both removes and adds, but for white space.
    fn staying(&self) -> Vec<Vec<Pair>> {
        let [olds, news] = &self.sides;
        let gap = |line: &Line| (line.file, line.gap);
        let (mut from, mut found) = (0, Vec::new());
        for (first, here) in chunks(olds, gap) {
            from += news[from..].partition_point(|line| gap(line) < gap(&here[0]));
            let n_new = news[from..].partition_point(|line| gap(line) == gap(&here[0]));
            let squeezed = |line: &Line| -> Vec<u8> {
                let bytes = line.text.iter().copied();
                bytes.filter(|byte| !byte.is_ascii_whitespace()).collect()
            };
            let before: Vec<_> = here.iter().map(squeezed).collect();
            let after: Vec<_> = news[from..from + n_new].iter().map(squeezed).collect();
            let kept = words::kept(&before, &after);
            found.push(
                kept.into_iter()
                    .map(|[old, new]| [first + old, from + new])
                    .collect(),
            );
            from += n_new;
        }
        found
    }

    /// Returns the pairs of equal lines of each block, from the first to the last.
    fn equal_pairs(&mut self) -> Vec<Vec<Pair>> {
        let mut queue = BinaryHeap::new();
        for (all, stays) in [(self.staying(), true), (self.candidates(), false)] {
            for pairs in all {
                queue.push((self.n_alnum(&pairs), stays, Reverse(pairs), 0));
            }
        }
        let mut found = Vec::new();
        while let Some((_, stays, Reverse(pairs), n_cuts)) = queue.pop() {
            let free: Vec<Pair> = pairs
                .iter()
                .copied()
                .filter(|pair| self.is_free(*pair))
                .collect();
            if free.len() < pairs.len() {
                // Of several runs, each can be a block.
                let runs = match stays {
                    true => vec![free],
                    false => free
                        .chunk_by(|a, b| a[OLD] + 1 == b[OLD])
                        .map(Vec::from)
                        .collect(),
                };
                let runs = runs
                    .into_iter()
                    .filter(|run| n_cuts < MAX_CUTS && !run.is_empty());
                queue.extend(runs.map(|run| (self.n_alnum(&run), stays, Reverse(run), n_cuts + 1)));
                continue;
            }
            let pairs = if stays { pairs } else { self.extended(pairs) };
            if stays || self.n_alnum(&pairs) >= MIN_ALNUM {
                self.take(&pairs);
                found.extend((!stays).then_some(pairs));
            }
        }
        found
    }

    fn is_free(&self, pair: Pair) -> bool {
        [OLD, NEW]
            .iter()
            .all(|&side| !self.is_taken[side][pair[side]])
    }

    fn take(&mut self, pairs: &[Pair]) {
        for pair in pairs {
            for side in [OLD, NEW] {
                self.is_taken[side][pair[side]] = true;
            }
        }
    }

    /// Returns `pairs` of equal lines with those above and below that are in the same block.
    fn extended(&self, mut pairs: Vec<Pair>) -> Vec<Pair> {
        for way in [Way::Up, Way::Down] {
            // The last one is the one to go on from.
            pairs.reverse();
            while let Some(more) = self.beyond(pairs[pairs.len() - 1], way) {
                pairs.extend(more);
            }
        }
        pairs
    }

    /// Returns the pairs of equal lines with which a block goes on beyond `pair` and what is inside.
    fn beyond(&self, pair: Pair, way: Way) -> Option<Vec<Pair>> {
        let [olds, news] = [OLD, NEW].map(|side| {
            let next = |at: &usize| self.next(side, *at, way);
            let ahead = std::iter::successors(next(&pair[side]), next);
            ahead.take(MAX_INSIDE + 1).collect::<Vec<_>>()
        });
        for n_between in 0..=MAX_INSIDE {
            for n_old in 0..=n_between {
                let n_new = n_between - n_old;
                let (Some(&old), Some(&new)) = (olds.get(n_old), news.get(n_new)) else {
                    continue;
                };
                if !self.is_equal([old, new]) {
                    continue;
                }
                let more = self.equal_from([old, new], way);
                let mut between = olds.iter().zip(&news).take(n_old);
                if more.len() >= n_old.max(n_new)
                    || self.n_alnum(&more) >= MIN_ALNUM
                    || n_old == n_new
                        && between.all(|(&old, &new)| self.similarity([old, new]) >= LEAST_SIMILAR)
                {
                    return Some(more);
                }
            }
        }
        None
    }

    fn similarity(&self, pair: Pair) -> usize {
        let [old, new] = self
            .lines(pair)
            .map(|line| String::from_utf8_lossy(line.text));
        rows::similarity(&rows::sorted_words(&old), &rows::sorted_words(&new))
    }

    /// Returns the rows of the block with these `pairs` of equal lines: what is between them, and what is
    /// similar right above and below. A row lacks a side if its line is only removed, or only added.
    fn with_inside(&mut self, pairs: Vec<Pair>) -> Vec<[Option<usize>; 2]> {
        let mut rows = Vec::new();
        let ends = [(pairs[0], Way::Up), (pairs[pairs.len() - 1], Way::Down)];
        let [mut above, below] = ends.map(|(pair, way)| self.edge(pair, way, pairs.len()));
        above.reverse();
        for two in pairs.windows(2) {
            rows.push(two[0].map(Some));
            rows.extend(self.between(two[0], two[1]));
        }
        rows.push(pairs[pairs.len() - 1].map(Some));
        let edges = [above, below].map(|pairs| pairs.into_iter().map(|pair| pair.map(Some)));
        let [above, below] = edges;
        above.chain(rows).chain(below).collect()
    }

    /// Takes and returns the pairs of similar lines, at most `n_most`, that follow `pair`, the last one of a
    /// block.
    fn edge(&mut self, mut pair: Pair, way: Way, n_most: usize) -> Vec<Pair> {
        let mut found = Vec::new();
        while let Some(next) = self.next_pair(pair, way) {
            if found.len() == n_most
                || self.similarity(next) < LEAST_SIMILAR
                || [OLD, NEW]
                    .iter()
                    .any(|&side| self.has_similar_here(side, next[side]))
            {
                break;
            }
            self.take(&[next]);
            found.push(next);
            pair = next;
        }
        found
    }

    /// Returns whether line `at` of `side` is like one of the other side in its run of changes, so that it may
    /// have changed in its place.
    fn has_similar_here(&self, side: usize, at: usize) -> bool {
        let (line, other) = (&self.sides[side][at], 1 - side);
        let gap = |line: &Line| (line.file, line.gap);
        let first = self.sides[other].partition_point(|it| gap(it) < gap(line));
        let here = self.sides[other].iter().enumerate().skip(first);
        let mut here = here
            .take_while(|(_, it)| gap(it) == gap(line))
            .take(MAX_INSIDE);
        here.any(|(there, _)| {
            let pair = if side == OLD {
                [at, there]
            } else {
                [there, at]
            };
            !self.is_taken[other][there] && self.similarity(pair) >= LEAST_SIMILAR
        })
    }

    /// Takes and returns the rows between two pairs of a block.
    fn between(&mut self, from: Pair, to: Pair) -> Vec<[Option<usize>; 2]> {
        let free = [OLD, NEW].map(|side| {
            let all = from[side] + 1..to[side];
            all.filter(|&at| !self.is_taken[side][at])
                .collect::<Vec<_>>()
        });
        let texts = [OLD, NEW].map(|side| {
            let lines = free[side].iter().map(|&at| self.sides[side][at].text);
            lines.map(String::from_utf8_lossy).collect::<Vec<_>>()
        });
        let (mut rows, mut done) = (Vec::new(), [0, 0]);
        let similar = rows::pairs(&texts[OLD], &texts[NEW]);
        let ends = [(free[OLD].len(), free[NEW].len())];
        for &(old, new) in similar.iter().chain(&ends) {
            rows.extend(free[OLD][done[OLD]..old].iter().map(|&at| [Some(at), None]));
            rows.extend(free[NEW][done[NEW]..new].iter().map(|&at| [None, Some(at)]));
            if let (Some(&old), Some(&new)) = (free[OLD].get(old), free[NEW].get(new)) {
                rows.push([Some(old), Some(new)]);
            }
            done = [old + 1, new + 1];
        }
        for side in [OLD, NEW] {
            for &at in &free[side] {
                self.is_taken[side][at] = true;
            }
        }
        rows
    }

    /// Returns the block that has these `rows`.
    fn block(&self, rows: &[[Option<usize>; 2]]) -> Move {
        let mut block = Move::default();
        let kind = |row: &[Option<usize>; 2]| match *row {
            [Some(old), Some(new)] if self.is_equal([old, new]) => 0,
            [Some(_), Some(_)] => 1,
            [_, None] => 2,
            [None, _] => 3,
        };
        let goes_on = |side: usize, above: Option<usize>, at: Option<usize>| {
            let (Some(above), Some(at)) = (above, at) else {
                return above == at;
            };
            let [above, line] = [above, at].map(|at| &self.sides[side][at]);
            (above.hunk, above.at + 1) == (line.hunk, line.at)
        };
        let place = |side: usize, row: &[[Option<usize>; 2]]| {
            let [first, last] = [row[0], row[row.len() - 1]].map(|row| row[side]);
            let [first, last] = [&self.sides[side][first?], &self.sides[side][last?]];
            Some(self.place(first, last))
        };
        for run in rows.chunk_by(|above, row| {
            kind(above) == kind(row)
                && [OLD, NEW]
                    .iter()
                    .all(|&side| goes_on(side, above[side], row[side]))
        }) {
            match ([OLD, NEW].map(|side| place(side, run)), kind(&run[0])) {
                ([Some(old), Some(new)], 0) => block.equal.push([old, new]),
                ([Some(old), Some(new)], _) => block.changed.push([old, new]),
                ([Some(old), None], _) => block.removed.push(old),
                ([_, new], _) => block.added.extend(new),
            }
        }
        block
    }

    fn place(&self, first: &Line, last: &Line) -> Place {
        let lines = first.at..last.at + 1;
        Place {
            hunk: first.hunk,
            is_whole: lines.len() == self.n_changed[first.hunk],
            lines,
            line: first.line,
        }
    }
}

/// Returns the runs of `lines` for which `key` is the same, each with the index of its first line.
fn chunks<'s, 'a, K: PartialEq>(
    lines: &'s [Line<'a>],
    key: impl Fn(&Line<'a>) -> K,
) -> impl Iterator<Item = (usize, &'s [Line<'a>])> {
    let mut first = 0;
    let chunks = lines.chunk_by(move |above, line| key(above) == key(line));
    chunks.map(move |chunk| {
        first += chunk.len();
        (first - chunk.len(), chunk)
    })
}

/// Returns what of the line with the number `line` of a side are strings and comments, counted from its first
/// byte.
fn spans(syntaxes: Syntaxes, side: usize, line: usize) -> Vec<Span> {
    let Some(sides) = syntaxes else {
        return Vec::new();
    };
    let (text, syntax) = sides[side];
    let (start, end) = (text.start(line), text.start(line + 1));
    let here = syntax.spans_from(start).iter();
    let here = here.take_while(|span| span.start < end).map(|span| Span {
        start: span.start.max(start) - start,
        end: span.end.min(end) - start,
        place: span.place,
    });
    here.collect()
}

/// Returns the number of letters and digits of `text`.
fn n_alnum(text: &[u8]) -> usize {
    text.iter()
        .filter(|byte| byte.is_ascii_alphanumeric())
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::HeadingRule;
    use crate::proposal::Proposal;
    use crate::text::{Place as InSyntax, Syntax};

    fn hunks_of(old: &str, new: &str) -> Proposal {
        Proposal::from_texts(old.as_bytes().to_vec(), new.as_bytes().to_vec(), 3).unwrap()
    }

    /// Returns the blocks that move between `old` and `new`: lines+number of what is equal, and then of what
    /// changed, was removed and was added inside.
    fn shown(old: &str, new: &str) -> Vec<String> {
        shown_of(&hunks_of(old, new))
    }

    fn shown_of(proposal: &Proposal) -> Vec<String> {
        let moves = Moves::of(
            &[proposal.hunks(HeadingRule::Default)],
            &[proposal.syntaxes()],
        );
        moves.blocks().iter().map(words_of).collect()
    }

    fn words_of(block: &Move) -> String {
        let place = |place: &Place| format!("{}+{}", place.line, place.lines.len());
        let pair = |[old, new]: &[Place; 2]| format!("{} to {}", place(old), place(new));
        let parts = [
            ("", block.equal.iter().map(pair).collect::<Vec<_>>()),
            ("changed ", block.changed.iter().map(pair).collect()),
            ("removed ", block.removed.iter().map(place).collect()),
            ("added ", block.added.iter().map(place).collect()),
        ];
        let parts = parts.into_iter().filter(|(_, places)| !places.is_empty());
        let parts: Vec<_> = parts
            .map(|(kind, places)| format!("{kind}{}", places.join(", ")))
            .collect();
        parts.join("; ")
    }

    fn lines(range: Range<usize>) -> String {
        range.map(|n| format!("some code on line {n};\n")).collect()
    }

    #[test]
    fn a_block_moves_but_not_with_another_margin() {
        let block = "fn f() {\n    one();\n    another();\n    third(1, 2);\n}\n";
        let old = format!("{}{block}{}", lines(0..20), lines(20..40));
        let new = format!("{}{}{block}", lines(0..20), lines(20..40));
        assert_eq!(shown(&old, &new), ["20+5 to 40+5"]);
        let indented: String = block.lines().map(|line| format!("  {line}\n")).collect();
        let new = format!("{}{}{indented}", lines(0..20), lines(20..40));
        assert!(shown(&old, &new).is_empty());
        // In Python, it is another branch that ends with the last line.
        let (block, other) = (
            "    if is_owner:\n        check_the_permission()\n        return True\n",
            "    if is_owner:\n        check_the_permission()\n    return True\n",
        );
        let old = format!("{block}{}", lines(0..30));
        let new = format!("{}{other}", lines(0..30));
        assert_eq!(shown(&old, &new), ["0+2 to 30+2; changed 2+1 to 32+1"]);
    }

    #[test]
    fn lines_that_are_only_indented_do_not_move() {
        let indented: String = lines(0..10)
            .lines()
            .map(|line| format!("  {line}\n"))
            .collect();
        assert!(shown(&lines(0..10), &indented).is_empty());
    }

    #[test]
    fn in_a_file_that_is_indented_anew_nothing_has_moved() {
        let functions = |margin: &str| -> String {
            let functions = (0..12).map(|n| {
                format!(
                    "def function_{n}(user):\n{margin}    if check_the_state_of(user):\n\
                     {margin}        return compute_the_result(user)\n\
                     {margin}    return compute_the_result(user)\n\n"
                )
            });
            functions.collect()
        };
        assert!(shown(&functions(""), &functions("    ")).is_empty());
        let indented = functions("    ").replace("def", "    def");
        assert!(shown(&functions(""), &indented).is_empty());
    }

    #[test]
    fn what_changes_inside_a_block_has_not_moved() {
        let block = lines(100..110);
        let old = format!("{block}{}", lines(0..30));
        let with = |new: &str| shown(&old, &format!("{}{new}", lines(0..30)));
        assert_eq!(
            with(&block.replace("line 104", "row 104")),
            ["0+4 to 30+4, 5+5 to 35+5; changed 4+1 to 34+1"]
        );
        assert_eq!(
            with(&block.replace("some code on line 104;\n", "")),
            ["0+4 to 30+4, 5+5 to 34+5; removed 4+1"]
        );
        assert_eq!(
            with(&block.replace("line 104;\n", "line 104;\nos.system(rm)\n")),
            ["0+5 to 30+5, 5+5 to 36+5; added 35+1"]
        );
        assert_eq!(
            with(&block.replace("line 104;\n", "line 104;\r\n")),
            ["0+4 to 30+4, 5+5 to 35+5; changed 4+1 to 34+1"]
        );
        // The first line and the last one, too.
        assert_eq!(
            with(
                &block
                    .replace("line 100", "row 100")
                    .replace("line 109", "row 109")
            ),
            ["1+8 to 31+8; changed 0+1 to 30+1, 9+1 to 39+1"]
        );
    }

    #[test]
    fn what_was_code_has_not_moved_into_a_comment() {
        let block = lines(100..105);
        let old = format!("{block}{}/*\n*/\n", lines(0..30));
        let new = format!("{}/*\n{block}*/\n", lines(0..30));
        let moved = |comments: [&str; 2]| {
            let mut proposal = hunks_of(&old, &new);
            let syntaxes = [(&old, comments[0]), (&new, comments[1])].map(|(text, comment)| {
                let span = text.find(comment).map(|at| (at, at + comment.len()));
                let span = span.map(|(start, end)| (start, end, InSyntax::Comment));
                Syntax::new(text.as_bytes(), span).unwrap()
            });
            proposal.set_language(None, Some(syntaxes));
            shown_of(&proposal)
        };
        assert_eq!(moved(["none", "none"]), ["0+5 to 31+5"]);
        let (whole, part) = (
            format!("/*\n{block}*/"),
            "some code on line 102;\nsome code on line 103;\n",
        );
        assert!(moved(["none", &whole]).is_empty());
        assert!(moved([&block, "none"]).is_empty());
        assert_eq!(moved([&block, &whole]), ["0+5 to 31+5"]);
        // Of a block, lines can become a comment, or the end of a line.
        assert_eq!(
            moved(["none", part]),
            ["0+2 to 31+2, 4+1 to 35+1; changed 2+2 to 33+2"]
        );
        assert_eq!(
            moved(["none", "on line 104"]),
            ["0+4 to 31+4; changed 4+1 to 35+1"]
        );
    }

    #[test]
    fn brackets_do_not_move_but_a_long_line_does() {
        let old = format!("}}\n\n}}\n);\n{}", lines(0..30));
        let new = format!("{}}}\n\n}}\n);\n", lines(0..30));
        assert!(shown(&old, &new).is_empty());
        let old = format!("a line of its own, quite long\n{}", lines(0..30));
        let new = format!("{}a line of its own, quite long\n", lines(0..30));
        assert_eq!(shown(&old, &new), ["0+1 to 30+1"]);
    }

    #[test]
    fn a_block_among_other_changed_lines_is_found() {
        let block = lines(100..105);
        let old = format!("gone\n{block}gone too\n{}", lines(0..30));
        let new = format!("{}new\n{block}", lines(0..30));
        assert_eq!(shown(&old, &new), ["1+5 to 31+5"]);
    }
}
