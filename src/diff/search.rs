//! The search for what two texts have in common, wherever it is.
//!
//! The lines that differ are numbered, equal lines alike. Big texts are cut where a line that is
//! unique shows what belongs together, and each part is compared by the histogram algorithm, or by
//! Myers' where that is not safe.

use imara_diff::InternedInput;

use super::anchors;
use super::histogram::{Histogram, MAX_STEPS};
use super::matches::Matches;
use super::sides::Sides;
use super::work::Work;
use super::{Edit, equal_ends};
use crate::text::Text;

/// Pairs of lines up to which it is cheaper to compare each than to number the lines.
const MAX_PAIRS: usize = 32;

/// Steps to number a line: where there are many it is somewhere else in memory each time.
const NUMBERING: usize = 24;

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
        matches: Matches::default(),
    };
    let parts = parts.into_iter();
    let mut edits = Vec::with_capacity(parts.size_hint().0);
    for part in parts {
        match part {
            Part::Known(edit) => edits.push(edit),
            Part::Unknown(part) => {
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
        if !work.afford(NUMBERING * part.n_lines()) {
            return;
        }
        self.input.clear();
        // A text has fewer lines than bytes, and these are counted in 32 bits.
        let (before, after) = (part.before.len() as u32, part.after.len() as u32);
        self.input.reserve(before, after);
        self.input
            .update_before(self.original.lines(part.before.clone()));
        self.input
            .update_after(self.modified.lines(part.after.clone()));
        let sides = Sides {
            before: &self.input.before,
            after: &self.input.after,
            start: (part.before.start, part.after.start),
        };
        let n_tokens = self.input.interner.num_tokens();
        let parts = match sides.n_lines() <= MAX_LEN {
            true => vec![sides],
            false => anchors::parts(sides, n_tokens),
        };
        self.histogram.reserve(n_tokens);
        // Half of the work is for Myers' algorithm, which makes more of little.
        let max_steps = MAX_STEPS.min(work.share(2 * sides.n_lines()));
        for part in parts {
            let (inside, tail) = part.without_equal_ends(&mut self.matches);
            self.histogram
                .compare(inside, max_steps, &mut self.matches, work);
            self.matches.push(inside.end().0, inside.end().1, tail);
        }
    }

    /// Tells whether `part` is so short that it is cheap to see that it has no line in common.
    fn is_all_different(&self, part: &Edit) -> bool {
        let is_same = |line, other| self.original.is_line_same(line, self.modified, other);
        let is_in_after = |line| part.after.clone().any(|other| is_same(line, other));
        part.before.len() * part.after.len() <= MAX_PAIRS && !part.before.clone().any(is_in_after)
    }
}
