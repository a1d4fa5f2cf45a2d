//! Any two texts, in pieces that imara-diff compares.
//!
//! Its histogram takes quadratic time where every other line is new, and up to thousands of steps
//! for each line where most recur; its Myers search takes about as many steps for each line as
//! there are lines, up to a thousand. So big texts are first cut at lines that each side has
//! exactly once and in the same order, as patience diff does, and a piece that is still bigger than
//! the window is compared window by window. Each window begins where the texts were last found to
//! differ, so lines added or removed above do not matter; but matches beyond the window are not
//! found, so the result is called coarse. Texts of so many lines that numbering them would take too
//! long are compared in windows from the start.

use std::collections::HashSet;
use std::iter::{successors, zip};
use std::ops::Range;

use imara_diff::{Algorithm, Diff, Hunk, InternedInput, Token};

use super::{Budget, Comparison, Edit, without_equal_ends};
use crate::text::Text;

/// Texts of up to this many lines in all are compared in one piece.
const WHOLE_LEN: usize = 1 << 11;

/// A piece of larger texts ends at the first possible place after this many lines.
const PIECE_LEN: usize = 1 << 9;

/// Texts of more lines in all than this are not numbered all at once.
const MAX_NUMBERED: usize = 1 << 20;

/// Number of lines on each side of those texts that are numbered together: few enough to be close in
/// memory.
const NUMBERED_LEN: usize = 1 << 16;

/// A line is rare if it occurs at most this often in the original.
const MAX_RARE: u32 = 8;

/// If less than one line in this many is rare, Myers' algorithm is used.
const LEAST_RARE: usize = 32;

/// The histogram's result is kept if it changes at most this many times as many lines as Myers'.
const MAX_RATIO: f64 = 1.25;

/// Two texts and what was found of them so far, from the top.
pub struct Search<'a> {
    original: &'a Text,
    modified: &'a Text,
    diff: Diff,
    found: Comparison,
}

impl<'a> Search<'a> {
    pub fn new(original: &'a Text, modified: &'a Text) -> Search<'a> {
        Search {
            original,
            modified,
            diff: Diff::default(),
            found: Comparison {
                edits: Vec::new(),
                is_coarse: false,
            },
        }
    }

    pub fn finish(self) -> Comparison {
        self.found
    }

    /// Adds an edit, which is joined with the last one if no line is between them.
    fn push(&mut self, edit: Edit) {
        match self.found.edits.last_mut() {
            Some(last)
                if last.before.end == edit.before.start && last.after.end == edit.after.start =>
            {
                last.before.end = edit.before.end;
                last.after.end = edit.after.end;
            }
            _ => self
                .found
                .edits
                .extend((edit.n_lines() > 0).then_some(edit)),
        }
    }

    /// Compares `part` of the texts, which is below all those before, as well as `budget` allows.
    pub fn compare(&mut self, part: Edit, budget: Budget) {
        let is_much = part.n_lines() > MAX_NUMBERED;
        let all_alike = budget.window(part.n_lines());
        let len = if !is_much {
            MAX_NUMBERED
        } else if all_alike > 0 {
            NUMBERED_LEN
        } else {
            0
        };
        self.in_windows(part, len, |search, part| {
            let mut lines = Numbered::new(search.original, search.modified, &part);
            let pieces = lines.pieces(part, all_alike.min(PIECE_LEN));
            let pieces = pieces
                .into_iter()
                .map(|piece| without_equal_ends(search.original, search.modified, piece))
                .collect::<Vec<_>>();
            // Most of the lines between two changes may be the same, and take no steps.
            let window = if is_much {
                all_alike
            } else {
                budget.window(pieces.iter().map(Edit::n_lines).sum())
            };
            for piece in pieces {
                let is_cut = piece.before.len().max(piece.after.len()) > window;
                if !is_cut || lines.have_common(&piece) {
                    search.in_windows(piece, window, |search, part| {
                        search.compare_window(part, window, &mut lines)
                    });
                } else {
                    search.push(piece);
                }
            }
        });
    }

    /// Calls `compare` for `part`, or for windows of it that have at most `len` lines on each side.
    fn in_windows(&mut self, part: Edit, len: usize, mut compare: impl FnMut(&mut Self, Edit)) {
        let mut rest = without_equal_ends(self.original, self.modified, part);
        while !rest.is_one_sided() && len > 0 {
            let n_found = self.found.edits.len();
            let (before, after) = (rest.before.len().min(len), rest.after.len().min(len));
            compare(self, rest.head(before, after));
            let below = rest.below(before, after);
            if below.n_lines() == 0 {
                return;
            }
            self.found.is_coarse = true;
            // What is near the end of the window might match lines below it.
            let is_near = |edit: &Edit| {
                let (line, other) = (edit.before.start, edit.after.start);
                (line, other) > (rest.before.start, rest.after.start)
                    && 4 * (line - rest.before.start) <= 3 * before
                    && 4 * (other - rest.after.start) <= 3 * after
            };
            let last = self.found.edits[n_found..].iter().rposition(is_near);
            rest = match last.and_then(|last| self.found.edits.drain(n_found + last..).next()) {
                Some(edit) => Edit {
                    before: edit.before.start..rest.before.end,
                    after: edit.after.start..rest.after.end,
                },
                None => below,
            };
        }
        self.found.is_coarse |= !rest.is_one_sided();
        self.push(rest);
    }

    /// Compares `part`, of at most `window` lines on each side.
    fn compare_window(&mut self, part: Edit, window: usize, lines: &mut Numbered) {
        let is_all = part.before.len().max(part.after.len()) < window;
        for hunk in lines.hunks(&part, is_all, &mut self.diff) {
            let above = part.head(hunk.before.end as usize, hunk.after.end as usize);
            self.push(above.below(hunk.before.start as usize, hunk.after.start as usize));
        }
    }
}

/// The lines of a part of two texts as numbers: equal lines have the same.
struct Numbered {
    sides: Sides,
    /// For each number its number among those of a window, and the window that this was for.
    renumbered: Vec<(Token, usize)>,
    n_windows: usize,
}

impl Numbered {
    fn new(original: &Text, modified: &Text, part: &Edit) -> Numbered {
        let mut input = InternedInput::<&[u8]>::default();
        input.update_before(original.lines(part.before.clone()));
        input.update_after(modified.lines(part.after.clone()));
        Numbered {
            renumbered: vec![(Token(0), 0); input.interner.num_tokens() as usize],
            n_windows: 0,
            sides: Sides {
                start: (part.before.start, part.after.start),
                before: input.before,
                after: input.after,
            },
        }
    }

    /// Returns whether any line is on both sides of `part`.
    fn have_common(&self, part: &Edit) -> bool {
        let (before, after) = self.sides.tokens(part);
        let (short, long) = if before.len() < after.len() {
            (before, after)
        } else {
            (after, before)
        };
        let short: HashSet<&Token> = short.iter().collect();
        long.iter().any(|token| short.contains(token))
    }

    /// Returns what changes in `window`, counted from its first lines. If it is not all that is to
    /// be compared, only Myers' algorithm is used.
    fn hunks(&mut self, window: &Edit, is_all: bool, diff: &mut Diff) -> Vec<Hunk> {
        let (before, after, n_tokens) = self.renumbered(window);
        let mut hunks = |algorithm| -> Vec<Hunk> {
            diff.compute_with(algorithm, &before, &after, n_tokens);
            diff.hunks().collect()
        };
        if !is_all || !has_rare(&before, &after, n_tokens) {
            return hunks(Algorithm::Myers);
        }
        let found = hunks(Algorithm::Histogram);
        if is_any_again(&found, &before, &after, n_tokens) {
            let others = hunks(Algorithm::Myers);
            if n_changed(&found) as f64 > MAX_RATIO * n_changed(&others) as f64 {
                return others;
            }
        }
        found
    }

    /// Returns the lines of `window` with numbers that are as small as possible, and how many there
    /// are: imara-diff makes tables of all numbers.
    fn renumbered(&mut self, window: &Edit) -> (Vec<Token>, Vec<Token>, u32) {
        self.n_windows += 1;
        let n_windows = self.n_windows;
        let mut n_tokens = 0;
        let mut renumber = |token: &Token| {
            let (number, window) = &mut self.renumbered[token.0 as usize];
            if *window != n_windows {
                (*number, *window) = (Token(n_tokens), n_windows);
                n_tokens += 1;
            }
            *number
        };
        let (before, after) = self.sides.tokens(window);
        let before = before.iter().map(&mut renumber).collect();
        let after = after.iter().map(&mut renumber).collect();
        (before, after, n_tokens)
    }

    /// Cuts `part`, all of the lines, into pieces that may be compared one by one.
    ///
    /// Each but the first begins with a line that both sides have exactly once.
    fn pieces(&self, part: Edit, least: usize) -> Vec<Edit> {
        if part.n_lines() <= WHOLE_LEN {
            return vec![part];
        }
        let (mut pieces, mut rest) = (Vec::new(), part);
        for (before, after) in increasing(&self.unique_lines()) {
            let (line, other) = (self.sides.start.0 + before, self.sides.start.1 + after);
            let (before, after) = (line - rest.before.start, other - rest.after.start);
            if before + after > least {
                pieces.push(rest.head(before, after));
                rest = rest.below(before, after);
            }
        }
        pieces.push(rest);
        pieces
    }

    /// Returns the places of the lines that occur exactly once on each side, in the order of the
    /// original.
    fn unique_lines(&self) -> Vec<(usize, usize)> {
        let (places, other_places) = (
            self.places(&self.sides.before),
            self.places(&self.sides.after),
        );
        // Lines were numbered in the order of the original.
        zip(places, other_places)
            .filter_map(|(place, other)| Some((place.once()?, other.once()?)))
            .collect()
    }

    /// Returns for each number where `lines` have it.
    fn places(&self, lines: &[Token]) -> Vec<Place> {
        let mut places = vec![Place::Nowhere; self.renumbered.len()];
        for (line, token) in lines.iter().enumerate() {
            let place = &mut places[token.0 as usize];
            *place = match place {
                // imara-diff numbers lines in 32 bits.
                Place::Nowhere => Place::Once(line as u32),
                _ => Place::Often,
            };
        }
        places
    }
}

/// The numbers of the lines of both texts.
struct Sides {
    before: Vec<Token>,
    after: Vec<Token>,
    /// The lines of the texts where they begin.
    start: (usize, usize),
}

impl Sides {
    /// Returns the lines of `part` as numbers.
    fn tokens(&self, part: &Edit) -> (&[Token], &[Token]) {
        let (at, other_at) = (
            part.before.start - self.start.0,
            part.after.start - self.start.1,
        );
        (
            &self.before[at..at + part.before.len()],
            &self.after[other_at..other_at + part.after.len()],
        )
    }
}

/// Returns whether enough of the lines `after` are rare among the lines `before`.
fn has_rare(before: &[Token], after: &[Token], n_tokens: u32) -> bool {
    let mut n_times = vec![0; n_tokens as usize];
    before
        .iter()
        .for_each(|token| n_times[token.0 as usize] += 1);
    let is_rare = |token: &&Token| (1..=MAX_RARE).contains(&n_times[token.0 as usize]);
    let n_rare = after.iter().filter(is_rare).count();
    (n_rare + 1) * LEAST_RARE >= after.len()
}

/// Returns whether `hunks` add any line that they also remove.
fn is_any_again(hunks: &[Hunk], before: &[Token], after: &[Token], n_tokens: u32) -> bool {
    let lines = |range: &Range<u32>| range.start as usize..range.end as usize;
    let mut is_removed = vec![false; n_tokens as usize];
    for token in hunks.iter().flat_map(|hunk| &before[lines(&hunk.before)]) {
        is_removed[token.0 as usize] = true;
    }
    let mut added = hunks.iter().flat_map(|hunk| &after[lines(&hunk.after)]);
    added.any(|token| is_removed[token.0 as usize])
}

fn n_changed(hunks: &[Hunk]) -> usize {
    hunks
        .iter()
        .map(|hunk| hunk.before.len() + hunk.after.len())
        .sum()
}

#[derive(Clone, Copy)]
enum Place {
    Nowhere,
    Once(u32),
    Often,
}

impl Place {
    fn once(self) -> Option<usize> {
        match self {
            Place::Once(line) => Some(line as usize),
            _ => None,
        }
    }
}

/// Returns a longest run of `pairs`, in order but not adjacent, in which the second numbers
/// increase as the first ones do.
fn increasing(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // For each length, the pair with the smallest second number that ends a run of that length.
    let mut ends: Vec<usize> = Vec::new();
    let mut previous: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (index, pair) in pairs.iter().enumerate() {
        let is_below = |&end: &usize| pairs[end].1 < pair.1;
        // Mostly the longest run goes on.
        let len = if ends.last().is_none_or(is_below) {
            ends.len()
        } else {
            ends.partition_point(is_below)
        };
        previous.push(len.checked_sub(1).map(|len| ends[len]));
        match ends.get_mut(len) {
            Some(end) => *end = index,
            None => ends.push(index),
        }
    }
    let last = ends.last().copied();
    let mut run: Vec<_> = successors(last, |&index| previous[index])
        .map(|index| pairs[index])
        .collect();
    run.reverse();
    run
}
