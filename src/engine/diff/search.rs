//! Any two texts, in pieces that imara-diff compares.
//!
//! Its histogram takes quadratic time where every other line is new, and up to thousands of steps
//! for each line where most recur; its Myers search takes about as many steps for each line as
//! there are lines, up to a thousand. So big texts are first cut at lines that each side has
//! exactly once and in the same order, as patience diff does. Of a piece that is still too big, only
//! the lines that both sides have are compared, [in windows](super::windows) if these are too many.
//! Texts of so many lines that numbering them would take too long are compared in windows from the
//! start.

use std::iter::{successors, zip};

use imara_diff::{InternedInput, Token};

use super::matcher::Matcher;
use super::windows::{Common, Steps, in_windows};
use super::{Budget, Comparison, Edit, without_equal_ends};
use crate::text::Text;

/// Texts of up to this many lines in all are compared in one piece.
const WHOLE_LEN: usize = 1 << 11;

/// A piece of larger texts ends at the first possible place after this many lines, or after fewer
/// if the budget is small.
const PIECE_LEN: usize = 1 << 9;
const MIN_PIECE_LEN: usize = 1 << 5;

/// Texts of more lines in all than this are not numbered all at once.
const MAX_NUMBERED: usize = 1 << 20;

/// Number of lines on each side of those texts that are numbered together: few enough to be close in
/// memory.
const NUMBERED_LEN: usize = 1 << 16;

/// If the last lines took few steps, the next ones may take one in this many of those left.
const VENTURE: u64 = 16;

/// Steps that numbering such a line takes.
const NUMBERING: u64 = 4;

/// Two texts and what was found of them so far, from the top.
pub struct Search<'a> {
    original: &'a Text,
    modified: &'a Text,
    found: Comparison,
}

impl<'a> Search<'a> {
    pub fn new(original: &'a Text, modified: &'a Text) -> Search<'a> {
        Search {
            original,
            modified,
            found: Comparison::default(),
        }
    }

    pub fn finish(self) -> Comparison {
        self.found
    }

    /// Compares `part` of the texts, which is below all those before, as well as `budget` allows.
    pub fn compare(&mut self, part: Edit, budget: Budget) {
        let part = without_equal_ends(self.original, self.modified, part);
        let mut lines = Numbered::default();
        let found = if part.is_one_sided() {
            Comparison {
                edits: vec![part],
                is_coarse: false,
            }
        } else if part.n_lines() <= MAX_NUMBERED && budget.window(part.n_lines()) > 0 {
            self.compared(part, budget, &mut lines).0
        } else {
            self.in_windows(part, budget, &mut lines)
        };
        self.found.append(found);
    }

    /// Compares `part`, which has too many lines to number them all.
    fn in_windows(&self, part: Edit, budget: Budget, lines: &mut Numbered<'a>) -> Comparison {
        let mut left = budget;
        let (mut is_coarse, mut is_cheap) = (false, true);
        let trimmed = |part| without_equal_ends(self.original, self.modified, part);
        let mut found = in_windows(part, trimmed, |rest| {
            let window = rest.first(NUMBERED_LEN);
            let numbering = NUMBERING * window.n_lines() as u64;
            let share = left.share(window.n_lines(), rest.n_lines());
            let share = Budget(share.0.saturating_sub(numbering));
            left.0 = left.0.saturating_sub(numbering);
            // Lines that were moved by much match only in large windows.
            let venture = Budget(left.0 / VENTURE);
            let most = if is_cheap { share.max(venture) } else { share };
            if share.0 == 0 {
                return None;
            }
            let (found, n_spent) = self.compared(trimmed(window.clone()), most, lines);
            left.0 = left.0.saturating_sub(n_spent);
            is_cheap = n_spent <= share.0;
            is_coarse |= found.is_coarse;
            Some((window, found.edits))
        });
        found.is_coarse |= is_coarse;
        found
    }

    /// Compares `part`, which has few enough lines to number them all. Also returns how many steps
    /// that took.
    fn compared(&self, part: Edit, budget: Budget, lines: &mut Numbered<'a>) -> (Comparison, u64) {
        lines.number(self.original, self.modified, &part);
        let least = budget.window(part.n_lines());
        let pieces = lines.pieces(part, least.clamp(MIN_PIECE_LEN, PIECE_LEN));
        let pieces = pieces
            .into_iter()
            .map(|piece| without_equal_ends(self.original, self.modified, piece))
            .collect::<Vec<_>>();
        let mut matcher = Matcher::new(lines.input.interner.num_tokens());
        // Most of the lines between two changes may be the same, and take no steps.
        let n_lines = pieces.iter().map(Edit::n_lines).sum();
        let window = budget.window(n_lines).max(MIN_PIECE_LEN);
        let is_cut = |piece: &&Edit| piece.before.len().max(piece.after.len()) > window;
        let n_cut = pieces.iter().filter(is_cut).map(Edit::n_lines).sum();
        let cut = pieces.iter().filter(is_cut).map(|piece| {
            let (before, after) = lines.tokens(piece);
            Common::new(piece, before, after, &mut matcher)
        });
        let cut: Vec<Common> = cut.collect();
        let n_common = cut.iter().map(Common::n_lines).sum();
        let mut steps = Steps::new(budget.share(n_cut, n_lines), n_common);
        let mut cut = cut.into_iter();
        let mut found = Comparison::default();
        for piece in &pieces {
            if is_cut(&piece) {
                let common = cut.next().expect("one for each such piece");
                found.append(common.compared(piece, &mut steps, &mut matcher));
            } else {
                let (before, after) = lines.tokens(piece);
                let hunks = matcher.hunks(before, after);
                hunks.iter().for_each(|hunk| found.push(piece.part(hunk)));
            }
        }
        (found, budget.0 - steps.n_left())
    }
}

/// The lines of a part of two texts as numbers: equal lines have the same.
#[derive(Default)]
struct Numbered<'a> {
    input: InternedInput<&'a [u8]>,
    /// The lines of the texts where the part begins.
    start: (usize, usize),
}

impl<'a> Numbered<'a> {
    fn number(&mut self, original: &'a Text, modified: &'a Text, part: &Edit) {
        self.input.clear();
        // A text has fewer lines than bytes, and these are counted in 32 bits.
        let (before, after) = (part.before.len() as u32, part.after.len() as u32);
        self.input.reserve(before, after);
        self.input
            .update_before(original.lines(part.before.clone()));
        self.input.update_after(modified.lines(part.after.clone()));
        self.start = (part.before.start, part.after.start);
    }

    /// Returns the lines of `part` as numbers.
    fn tokens(&self, part: &Edit) -> (&[Token], &[Token]) {
        let (at, other_at) = (
            part.before.start - self.start.0,
            part.after.start - self.start.1,
        );
        (
            &self.input.before[at..at + part.before.len()],
            &self.input.after[other_at..other_at + part.after.len()],
        )
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
            let (line, other) = (self.start.0 + before, self.start.1 + after);
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
            self.places(&self.input.before),
            self.places(&self.input.after),
        );
        // Lines were numbered in the order of the original.
        zip(places, other_places)
            .filter_map(|(place, other)| Some((place.once()?, other.once()?)))
            .collect()
    }

    /// Returns for each number where `lines` have it.
    fn places(&self, lines: &[Token]) -> Vec<Place> {
        let mut places = vec![Place::Nowhere; self.input.interner.num_tokens() as usize];
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
