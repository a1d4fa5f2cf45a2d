//! The search for what two texts have in common, wherever it is.
//!
//! The lines that differ are numbered, equal lines alike. Big texts are cut where a line that is
//! unique shows what belongs together, and each part is compared by the histogram algorithm, or by
//! Myers' where that is not safe. Where that takes away and adds the same lines, it is [looked at
//! once more](super::recheck).
//!
//! Where the budget does not suffice to number all lines, the texts are gone through in windows:
//! each is compared by itself, and the next begins behind what was found in its first three quarters.
//! What is left when the budget is spent is one edit.

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

/// Pairs of lines up to which it is cheaper to compare each than to number the lines.
const MAX_PAIRS: usize = 32;

/// Steps to number a line that is there already, and those more to number one that is new: where
/// there are many, each is somewhere else in memory.
const NUMBERING: usize = 4;
const NUMBERING_NEW: usize = 40;

/// Lines of each side up to which they are numbered together if those of the whole are too many,
/// and the steps to number one then: all of them are near in memory.
const WINDOW_LEN: usize = 1 << 14;
const NUMBERING_NEAR: usize = 8;

/// Steps for each line without which a comparison says little.
const LEAST_SHARE: usize = 24;

/// Lines of both sides up to which all are taken for new ones, since to look would take as long.
const MIN_SAMPLED: usize = 1 << 7;

/// Number of lines that say how many are new.
const N_SAMPLES: usize = 1 << 10;

/// Lines of both sides beyond which texts are cut.
const MAX_LEN: usize = 1 << 13;

/// A pair of line ranges with equal lines above and below.
pub enum Part {
    /// Nothing is looked for in it: it is an edit.
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

/// Two texts, what was found in a part of them so far, and a place for numbers.
struct Search<'a> {
    original: &'a Text,
    modified: &'a Text,
    input: InternedInput<&'a [u8]>,
    histogram: Histogram,
    recheck: Recheck,
    matches: Matches,
}

impl<'a> Search<'a> {
    /// Adds what is the same in `part`, a pair of line ranges.
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
        // Where nothing could be done with the numbers, windows do more.
        if (n_steps + LEAST_SHARE * part.n_lines()) as u64 > work.portion(part.n_lines()) {
            return self.search_windows(part, work);
        }
        work.spend(n_steps);
        self.search_numbered(part, work);
    }

    /// Returns how many steps it takes to number the lines of `part`, about: a few lines say how many
    /// are new.
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

    /// Adds what is the same in `part`, of which there are too many lines to be numbered, in windows:
    /// what is found in the first three quarters of one stays.
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

    /// Adds those of the matches `found` in `window` that are in its first three quarters, and returns
    /// where to go on.
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

    /// Adds what is the same in `part`, whose lines are numbered for that.
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
        // Half of the work is for Myers' algorithm, which makes more of little.
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

    /// Tells whether `part` is so short that it is cheap to see that it has no line in common.
    fn is_all_different(&self, part: &Edit) -> bool {
        let is_same = |line, other| self.original.is_line_same(line, self.modified, other);
        let is_in_after = |line| part.after.clone().any(|other| is_same(line, other));
        part.before.len() * part.after.len() <= MAX_PAIRS && !part.before.clone().any(is_in_after)
    }
}
