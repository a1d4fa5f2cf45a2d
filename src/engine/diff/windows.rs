//! Many lines, compared in windows as far as a budget of steps reaches.
//!
//! Each window begins where the texts were last found to agree, so lines added or removed above do
//! not matter; but matches beyond the window are not found, so the result is called coarse. Windows
//! grow as long as they take few steps.

use std::iter::zip;
use std::ops::Range;

use imara_diff::Token;

use super::matcher::Matcher;
use super::{Budget, Comparison, ENOUGH, Edit, MAX_WINDOW, MIN_WINDOW};

/// A window above the share of its lines may take one in this many of the steps that are left.
const VENTURE: u64 = 32;

/// Steps that a window takes, and each of its lines, if nothing changes.
const START: usize = 32;
const LINE: usize = 4;

/// Largest number of lines on each side of a window, unless all windows may be as long as possible.
const LONG: usize = 1 << 9;

/// imara-diff looks for each line that recurs at those above it, so many in a step.
const SCAN: usize = 6;

/// Calls `compare` for the head of what is left of `part` until all of it is compared. It returns the
/// window that it compared and the edits in it, or nothing if the rest is to be one edit. `trimmed`
/// returns lines without those at the ends that are equal.
pub fn in_windows(
    part: Edit,
    trimmed: impl Fn(Edit) -> Edit,
    mut compare: impl FnMut(&Edit) -> Option<(Edit, Vec<Edit>)>,
) -> Comparison {
    let mut found = Comparison::default();
    let mut rest = trimmed(part);
    while !rest.is_one_sided() {
        let Some((window, mut edits)) = compare(&rest) else {
            found.is_coarse = true;
            break;
        };
        let is_last = window == rest;
        let (n_edits, end) = kept(&window, &edits);
        if !is_last {
            found.is_coarse = true;
            edits.truncate(n_edits);
        }
        edits.into_iter().for_each(|edit| found.push(edit));
        if is_last {
            return found;
        }
        rest = trimmed(Edit {
            before: end.0..rest.before.end,
            after: end.1..rest.after.end,
        });
    }
    found.push(rest);
    found
}

/// Returns how many of the `edits` in `window` are kept, and where to go on below them: after the
/// matches in three quarters of the window, since what is near its end might match lines below it.
/// If most of these quarters differ, all are kept.
fn kept(window: &Edit, edits: &[Edit]) -> (usize, (usize, usize)) {
    let (before, after) = (&window.before, &window.after);
    let limit = |lines: &Range<usize>| lines.start + lines.len().div_ceil(4) * 3;
    let limits = (limit(before).min(before.end), limit(after).min(after.end));
    let (mut start, mut last) = ((before.start, after.start), None);
    let ends = edits
        .iter()
        .map(|edit| (edit.before.start, edit.after.start));
    for (n_edits, end) in ends.chain([(before.end, after.end)]).enumerate() {
        let most = limits.0.saturating_sub(start.0);
        let most = most.min(limits.1.saturating_sub(start.1));
        let len = most.min(end.0 - start.0);
        if len > 0 {
            last = Some((n_edits, (start.0 + len, start.1 + len)));
        }
        let Some(edit) = edits.get(n_edits) else {
            break;
        };
        start = (edit.before.end, edit.after.end);
    }
    let is_far = |&(_, end): &(usize, (usize, usize))| {
        2 * (end.0 - before.start + end.1 - after.start) >= window.n_lines()
    };
    last.filter(is_far)
        .unwrap_or((edits.len(), (before.end, after.end)))
}

/// The steps that are left for the lines of all pieces that are compared in windows.
pub struct Steps {
    n_left: u64,
    /// How many lines are below the piece that is compared.
    n_below: usize,
    /// How many lines on each side the next window may have, whatever the share of its lines is.
    len: usize,
    /// Largest number of lines on each side of a window.
    most: usize,
}

impl Steps {
    pub fn new(budget: Budget, n_lines: usize) -> Steps {
        Steps {
            n_left: budget.0,
            n_below: n_lines,
            len: usize::MAX,
            most: match budget.window(n_lines) {
                MAX_WINDOW => MAX_WINDOW,
                _ => LONG,
            },
        }
    }

    pub fn n_left(&self) -> u64 {
        self.n_left
    }

    /// Returns how many lines on each side of `rest` may be compared at once.
    fn window(&self, rest: &Edit) -> usize {
        let n_lines = rest.n_lines() + self.n_below;
        let share = usize::try_from(self.n_left).unwrap_or(usize::MAX) / n_lines.max(1);
        let venture = usize::try_from((self.n_left / VENTURE / 2).isqrt()).unwrap_or(usize::MAX);
        let len = match share {
            share if share >= ENOUGH => self.most,
            share => (share / 2).max(self.len.min(venture)),
        };
        len.clamp(MIN_WINDOW, self.most)
    }

    /// Notes that `n_changed` lines were found to change in `window`.
    fn spend(&mut self, window: &Edit, rest: &Edit, n_changed: usize) {
        let n_lines = rest.n_lines() + self.n_below;
        let share = self.n_left / n_lines.max(1) as u64;
        let len = window.before.len().max(window.after.len());
        let n_steps =
            START + (LINE + len / SCAN) * window.n_lines() + n_changed * n_changed.min(ENOUGH) / 2;
        let n_steps = n_steps as u64;
        let is_cheap = 4 * n_steps / window.n_lines().max(1) as u64 <= share;
        self.len = if is_cheap { 2 * len } else { MIN_WINDOW };
        self.n_left = self.n_left.saturating_sub(n_steps);
    }
}

/// Those lines of a piece that are on both sides.
pub struct Common {
    before: Side,
    after: Side,
}

struct Side {
    /// Where the lines are in the text.
    lines: Vec<usize>,
    tokens: Vec<Token>,
}

impl Common {
    /// Takes the lines of `piece` with the numbers `before` and `after`.
    pub fn new(piece: &Edit, before: &[Token], after: &[Token], matcher: &mut Matcher) -> Common {
        let [lines, other_lines] = matcher.common(before, after);
        let side = |start: usize, lines: Vec<u32>, tokens: &[Token]| Side {
            tokens: lines.iter().map(|&line| tokens[line as usize]).collect(),
            lines: lines.iter().map(|&line| start + line as usize).collect(),
        };
        Common {
            before: side(piece.before.start, lines, before),
            after: side(piece.after.start, other_lines, after),
        }
    }

    fn whole(&self) -> Edit {
        Edit {
            before: 0..self.before.lines.len(),
            after: 0..self.after.lines.len(),
        }
    }

    pub fn n_lines(&self) -> usize {
        self.whole().n_lines()
    }

    /// Returns the edits in `piece`, whose lines these are.
    pub fn compared(&self, piece: &Edit, steps: &mut Steps, matcher: &mut Matcher) -> Comparison {
        steps.n_below = steps.n_below.saturating_sub(self.n_lines());
        let found = in_windows(
            self.whole(),
            |part| self.without_equal_ends(part),
            |rest| {
                if steps.n_left == 0 {
                    return None;
                }
                let window = self.window(rest, steps.window(rest));
                let (before, after) = self.tokens(&window);
                let hunks = matcher.fewest_hunks(before, after);
                let edits: Vec<Edit> = hunks.iter().map(|hunk| window.part(hunk)).collect();
                steps.spend(&window, rest, edits.iter().map(Edit::n_lines).sum());
                Some((window, edits))
            },
        );
        // Of lines that are few enough, rare ones would come first.
        let is_short = piece.before.len().max(piece.after.len()) <= MAX_WINDOW;
        Comparison {
            is_coarse: found.is_coarse || is_short && !found.edits.is_empty(),
            edits: self.edits(piece, &found.edits),
        }
    }

    /// Returns the head of `rest` that has up to `len` lines on each side, which are from as many
    /// lines of the texts: most lines that were changed are as many as before.
    fn window(&self, rest: &Edit, len: usize) -> Edit {
        if rest.before.len().max(rest.after.len()) <= len {
            return rest.clone();
        }
        let sides = [(&self.before, &rest.before), (&self.after, &rest.after)];
        let [span, other_span] = sides.map(|(side, range)| {
            let end = range.end.min(range.start + len);
            side.lines[end - 1] - side.lines[range.start]
        });
        let span = span.min(other_span);
        let [before, after] = sides.map(|(side, range)| {
            let lines = &side.lines[range.start..range.end.min(range.start + len)];
            let n_near = lines.partition_point(|line| line - lines[0] <= span);
            n_near.max(MIN_WINDOW.min(lines.len()))
        });
        rest.head(before, after)
    }

    fn tokens(&self, part: &Edit) -> (&[Token], &[Token]) {
        (
            &self.before.tokens[part.before.clone()],
            &self.after.tokens[part.after.clone()],
        )
    }

    fn without_equal_ends(&self, part: Edit) -> Edit {
        let (before, after) = self.tokens(&part);
        let n_same = zip(before, after).take_while(|(line, other)| line == other);
        let n_same = n_same.count();
        let rest = part.below(n_same, n_same);
        let (before, after) = self.tokens(&rest);
        let n_same = zip(before.iter().rev(), after.iter().rev());
        let n_same = n_same.take_while(|(line, other)| line == other).count();
        rest.head(rest.before.len() - n_same, rest.after.len() - n_same)
    }

    /// Returns the edits in `piece` that are left if all of its common lines match but those in
    /// `edits`, which are counted among the common ones.
    fn edits(&self, piece: &Edit, edits: &[Edit]) -> Vec<Edit> {
        let mut found = Comparison::default();
        let (mut start, mut done) = ((piece.before.start, piece.after.start), (0, 0));
        let ends = edits.iter().map(|edit| (edit.before.start, edit.clone()));
        let whole = self.whole();
        let tail = whole.below(whole.before.len(), whole.after.len());
        for (end, edit) in ends.chain([(whole.before.end, tail)]) {
            for (&line, &other) in zip(&self.before.lines[done.0..end], &self.after.lines[done.1..])
            {
                found.push(Edit {
                    before: start.0..line,
                    after: start.1..other,
                });
                start = (line + 1, other + 1);
            }
            done = (edit.before.end, edit.after.end);
        }
        found.push(Edit {
            before: start.0..piece.before.end,
            after: start.1..piece.after.end,
        });
        found.edits
    }
}
