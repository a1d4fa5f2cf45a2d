//! Where four diffs agree that each line of a text went.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput};

use super::Compared;

/// Most lines of both texts together that are compared four times. imara-diff cannot be
/// interrupted; with so many lines it takes half a second at worst.
const MAX_LEN: usize = 1 << 14;

/// The diffs disagree about a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Disagree;

/// For each old line its number in the new text, or none if it is not kept, as far as all four
/// diffs agree.
///
/// Takes space only for the lines between the common head and tail.
pub(super) struct Agreement {
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
    pub(super) fn new(compared: &Compared) -> Agreement {
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
    pub(super) fn len(&self) -> usize {
        self.tail_start() + self.n_tail
    }

    /// Returns the old line at which the common tail begins.
    fn tail_start(&self) -> usize {
        self.n_head + self.part.len()
    }

    /// Returns where the old line `at` is in the new text (both 0-based), or `None` if it is not
    /// kept.
    pub(super) fn get(&self, at: usize) -> Result<Option<usize>, Disagree> {
        match at.checked_sub(self.n_head) {
            None => Ok(Some(at)),
            Some(at) if at < self.part.len() => self.part[at],
            Some(at) => Ok(Some(self.n_new - self.n_tail + at - self.part.len())),
        }
    }

    /// Returns whether the old line `at` is the first line of both texts.
    pub(super) fn is_first(&self, at: usize) -> bool {
        at == 0 && self.kept(at) == Some(0)
    }

    /// Returns whether the old line `at` is the last line of both texts.
    pub(super) fn is_last(&self, at: usize) -> bool {
        at + 1 == self.len() && self.kept(at).is_some_and(|number| number + 1 == self.n_new)
    }

    fn kept(&self, at: usize) -> Option<usize> {
        self.get(at).ok().flatten()
    }

    /// Returns the unbroken runs of kept lines, in order.
    pub(super) fn runs(&self) -> impl Iterator<Item = Range<usize>> + '_ {
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
