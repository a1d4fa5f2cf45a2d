//! The search for equal lines of two texts, wherever they are.
//!
//! Lines are numbered, equal ones alike. Big texts are cut where a unique line shows what belongs
//! together, and each part is compared by the histogram algorithm, or by Myers' where that could take
//! too long. Where the result removes and adds the same lines, it is [checked](super::recheck).
//!
//! Where the budget does not suffice to number all lines, the texts are compared in windows: each by
//! itself, and the next begins after the matches in its first three quarters. The lines that remain
//! when the budget is spent are one edit.

use imara_diff::InternedInput;

use super::anchors;
use super::histogram::{Histogram, MAX_STEPS};
use super::long_lines;
use super::matches::Matches;
use super::recheck::Recheck;
use super::token_slices::TokenSlices;
use super::work::{Work, look_up};
use super::{Edit, equal_ends};
use crate::text::Text;

/// Number of pairs of lines up to which comparing each is cheaper than numbering the lines.
const MAX_PAIRS: usize = 32;

/// Steps to number a line, and more steps if it is new: where there are many, each is somewhere else
/// in memory.
const NUMBERING: usize = 4;
const NUMBERING_NEW: usize = 40;

/// Number of lines of each side that are numbered together if the whole texts have too many, and the
/// steps to number one of them, since they are close in memory.
const WINDOW_LEN: usize = 1 << 14;
const NUMBERING_NEAR: usize = 8;

/// Fewest steps for each line that a comparison needs to find much.
const LEAST_SHARE: usize = 24;

/// Number of lines of both sides up to which all are taken for new ones, since checking would take as
/// long.
const MIN_SAMPLED: usize = 1 << 7;

/// Number of lines sampled to estimate how many are new.
const N_SAMPLES: usize = 1 << 10;

/// Number of lines of both sides beyond which texts are cut.
const MAX_LEN: usize = 1 << 13;

/// A pair of line ranges with equal lines above and below.
pub enum Part {
    /// It is an edit, and not searched.
    Known(Edit),
    /// It is to be searched.
    Unknown(Edit),
}

impl Part {
    pub fn lines(&self) -> &Edit {
        match self {
            Part::Known(lines) | Part::Unknown(lines) => lines,
        }
    }
}

/// Returns the edits in `parts` of both texts, which are from first to last.
pub fn edits(
    original: &Text,
    modified: &Text,
    parts: impl IntoIterator<Item = Part>,
    work: &mut Work,
) -> Vec<Edit> {
    let mut search = Search {
        original,
        modified,
        input: InternedInput::default(),
        histogram: Histogram::default(),
        recheck: Recheck::default(),
        matches: Matches::default(),
    };
    let parts: Vec<Part> = parts.into_iter().collect();
    let unknown = parts.iter().filter(|part| matches!(part, Part::Unknown(_)));
    let mut n_ahead: usize = unknown.map(|part| part.lines().n_lines()).sum();
    let mut edits = Vec::with_capacity(parts.len());
    for part in parts {
        match part {
            Part::Known(edit) => edits.push(edit),
            Part::Unknown(part) => {
                work.set_ahead(n_ahead);
                n_ahead -= part.n_lines();
                search.search(&part, work);
                search.matches.drain_edits(&part, &mut edits);
            }
        }
    }
    edits
}

/// Two texts, the matches found in a part of them so far, and space for numbers.
struct Search<'a> {
    original: &'a Text,
    modified: &'a Text,
    input: InternedInput<&'a [u8]>,
    histogram: Histogram,
    recheck: Recheck,
    matches: Matches,
}

impl<'a> Search<'a> {
    /// Adds the equal lines of `part`, a pair of line ranges.
    fn search(&mut self, part: &Edit, work: &mut Work) {
        if part.is_one_sided() {
            return;
        }
        let (head, tail) = equal_ends(self.original, self.modified, part);
        self.matches.push(part.before.start, part.after.start, head);
        self.search_inside(&part.without_ends(head, tail), work);
        self.matches
            .push(part.before.end - tail, part.after.end - tail, tail);
    }

    fn search_inside(&mut self, part: &Edit, work: &mut Work) {
        if part.is_one_sided() || self.is_all_different(part) {
            return;
        }
        let n_steps = self.numbering_cost(part);
        // If nothing could be done with the numbers, windows find more.
        if (n_steps + LEAST_SHARE * part.n_lines()) as u64 > work.portion(part.n_lines()) {
            return self.search_windows(part, work);
        }
        work.spend(n_steps);
        self.search_numbered(part, work);
    }

    /// Estimates the number of steps to number the lines of `part`, by sampling how many are new.
    fn numbering_cost(&self, part: &Edit) -> usize {
        if part.n_lines() <= MIN_SAMPLED {
            return (NUMBERING + NUMBERING_NEW) * part.n_lines();
        }
        let mut seen = Vec::new();
        for (text, lines) in [(self.original, &part.before), (self.modified, &part.after)] {
            for line in lines.clone().step_by(lines.len() / N_SAMPLES + 1) {
                text.each_fingerprint(line..line + 1, |_, fingerprint, _| seen.push(fingerprint));
            }
        }
        let n_seen = seen.len().max(1);
        seen.sort_unstable();
        seen.dedup();
        let n_new = part.n_lines() * seen.len() / n_seen;
        NUMBERING * part.n_lines() + NUMBERING_NEW * n_new
    }

    /// Adds the equal lines of `part`, which has too many lines to number them all, in windows: the
    /// matches in the first three quarters of each stay.
    fn search_windows(&mut self, part: &Edit, work: &mut Work) {
        work.cut_short();
        let mut rest = part.clone();
        loop {
            let (before, after) = (rest.before.clone(), rest.after.clone());
            let head = self.original.equal_head(before, self.modified, after);
            self.matches.push(rest.before.start, rest.after.start, head);
            rest = rest.without_ends(head, 0);
            let window = Edit {
                before: rest.before.start..rest.before.end.min(rest.before.start + WINDOW_LEN),
                after: rest.after.start..rest.after.end.min(rest.after.start + WINDOW_LEN),
            };
            if rest.is_one_sided() || !work.afford(NUMBERING_NEAR * window.n_lines()) {
                return;
            }
            work.set_ahead(rest.n_lines());
            if window == rest {
                return self.search_numbered(&rest, work);
            }
            let outer = std::mem::take(&mut self.matches);
            self.search_numbered(&window, work);
            let found = std::mem::replace(&mut self.matches, outer);
            let end = self.keep_most(&found, &window);
            rest = Edit {
                before: end.0..rest.before.end,
                after: end.1..rest.after.end,
            };
        }
    }

    /// Adds the matches `found` that are in the first three quarters of `window`, and returns where
    /// to go on.
    fn keep_most(&mut self, found: &Matches, window: &Edit) -> (usize, usize) {
        let (before, after) = (window.before.len() / 4 * 3, window.after.len() / 4 * 3);
        let end = (window.before.start + before, window.after.start + after);
        let mut last = None;
        for found in found.iter() {
            let n_left =
                (end.0.saturating_sub(found.before)).min(end.1.saturating_sub(found.after));
            let len = found.len.min(n_left);
            if len > 0 {
                self.matches.push(found.before, found.after, len);
                last = Some((found.before + len, found.after + len));
            }
        }
        last.unwrap_or(end)
    }

    /// Numbers the lines of `part` and adds the equal ones.
    fn search_numbered(&mut self, part: &Edit, work: &mut Work) {
        let n_tokens = self.number(part);
        let sides = TokenSlices {
            before: &self.input.before,
            after: &self.input.after,
            start: (part.before.start, part.after.start),
        };
        let parts = match sides.n_lines() <= MAX_LEN {
            true => vec![sides],
            false => anchors::parts(sides, n_tokens),
        };
        self.histogram.reserve(n_tokens);
        self.recheck.reserve(n_tokens);
        // Half of the work is for Myers' algorithm, which finds more with little.
        let max_steps = MAX_STEPS.min(work.share(2 * look_up(sides.n_lines()) * sides.n_lines()));
        for part in parts {
            let (inside, tail) = part.without_equal_ends(&mut self.matches);
            work.pass(part.n_lines() - inside.n_lines());
            let mut found = Matches::default();
            let is_histogram = self.histogram.compare(inside, max_steps, &mut found, work);
            if is_histogram {
                work.put_ahead(inside.n_lines());
                let myers = &mut self.histogram.myers;
                found = self.recheck.better(inside, found, myers, work);
                work.pass(inside.n_lines());
            }
            self.matches.append(&found);
            self.matches.push(inside.end().0, inside.end().1, tail);
        }
    }

    /// Numbers the lines of `part`, equal ones alike, and returns how many different ones there are.
    fn number(&mut self, part: &Edit) -> u32 {
        let (before, after) = (part.before.clone(), part.after.clone());
        let sides = (self.original, self.modified);
        if let Some(found) = long_lines::numbered((sides.0, before), (sides.1, after)) {
            (self.input.before, self.input.after) = (found.before, found.after);
            return found.n_tokens;
        }
        self.input.clear();
        // A text has fewer lines than bytes, and these are counted in 32 bits.
        let (before, after) = (part.before.len() as u32, part.after.len() as u32);
        self.input.reserve(before, after);
        self.input
            .update_before(self.original.lines(part.before.clone()));
        self.input
            .update_after(self.modified.lines(part.after.clone()));
        self.input.interner.num_tokens()
    }

    /// Returns whether `part` has no line in common, if it is so short that this is cheap to tell.
    fn is_all_different(&self, part: &Edit) -> bool {
        let is_same = |line, other| self.original.is_line_same(line, self.modified, other);
        let is_in_after = |line| part.after.clone().any(|other| is_same(line, other));
        part.before.len() * part.after.len() <= MAX_PAIRS && !part.before.clone().any(is_in_after)
    }
}
