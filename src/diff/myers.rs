//! Myers' algorithm: as few changed lines as possible, in linear space.
//!
//! "An O(ND) Difference Algorithm and its Variations" (1986), with the bounds that git puts on it
//! (`xdl_split`): where the way is long, a good place to cut is taken in place of the best. Lines
//! that occur on one side only do not enter the search, so that it takes O(n) where every second
//! line changed. In general it takes O(n √n) for *n* lines, and no more than the budget.

use std::iter::zip;

use imara_diff::Token;

use super::matches::Matches;
use super::sides::Sides;
use super::work::Work;

/// Number of equal lines in a row that make a good place to cut (`XDL_SNAKE_CNT`).
const GOOD_LEN: usize = 20;

/// Number of changed lines before a good place is looked for (`XDL_HEUR_MIN_COST`).
const MIN_COST: usize = 256;

/// How much farther than the changed lines a good place must be (`XDL_K_HEUR`).
const MIN_GAIN: usize = 4;

/// Which lines occur on both sides; made once for many comparisons.
#[derive(Default)]
pub struct Myers {
    /// For each token the sides on which it is; 0 between comparisons.
    sides: Vec<u8>,
}

const BEFORE: u8 = 1;
const AFTER: u8 = 2;

impl Myers {
    /// Makes room for tokens below `n_tokens`.
    pub fn reserve(&mut self, n_tokens: usize) {
        self.sides.resize(n_tokens, 0);
    }

    /// Adds to `matches` what is the same in `sides`.
    pub fn compare(&mut self, sides: Sides<'_>, matches: &mut Matches, work: &mut Work) {
        if !work.spend(sides.n_lines()) {
            return;
        }
        let lines = [(sides.before, BEFORE), (sides.after, AFTER)];
        for (lines, side) in lines {
            lines
                .iter()
                .for_each(|token| self.sides[token.0 as usize] |= side);
        }
        let [before, after] = lines.map(|(lines, _)| self.common(lines));
        for (lines, _) in lines {
            lines
                .iter()
                .for_each(|token| self.sides[token.0 as usize] = 0);
        }
        let common = Sides {
            before: &before.0,
            after: &after.0,
            start: (0, 0),
        };
        for found in compared(common, work).iter() {
            let old = before.1[found.before..][..found.len].iter();
            let new = after.1[found.after..][..found.len].iter();
            zip(old, new).for_each(|(old, new)| {
                matches.push(sides.start.0 + old, sides.start.1 + new, 1);
            });
        }
    }

    /// Returns those of `lines` that are on both sides, and where they are.
    fn common(&self, lines: &[Token]) -> (Vec<Token>, Vec<usize>) {
        let is_common = |line: &usize| self.sides[lines[*line].0 as usize] == BEFORE | AFTER;
        let places: Vec<usize> = (0..lines.len()).filter(is_common).collect();
        (places.iter().map(|&line| lines[line]).collect(), places)
    }
}

/// What comes next.
enum Task<'a> {
    /// Two sides, and whether a short way between them is known, so that no bounds are needed.
    Compare(Sides<'a>, bool),
    Push((usize, usize), usize),
}

fn compared(sides: Sides<'_>, work: &mut Work) -> Matches {
    let mut matches = Matches::default();
    let max_cost = MIN_COST.max(sides.n_lines().isqrt());
    let mut fronts = Fronts::new(sides.n_lines());
    // Not by recursion: the way can have as many turns as the texts have lines.
    let mut tasks = vec![Task::Compare(sides, false)];
    while let Some(task) = tasks.pop() {
        let (sides, is_short) = match task {
            Task::Push((before, after), len) => {
                matches.push(before, after, len);
                continue;
            }
            Task::Compare(sides, is_short) => (sides, is_short),
        };
        let (rest, tail) = sides.without_equal_ends(&mut matches);
        tasks.push(Task::Push(rest.end(), tail));
        if rest.is_one_sided() {
            continue;
        }
        let max_cost = if is_short { usize::MAX } else { max_cost };
        if let Some(cut) = fronts.cut(rest, max_cost, work) {
            let (above, below) = rest.split_at(cut.before, cut.after);
            tasks.push(Task::Compare(below, cut.is_short_below));
            tasks.push(Task::Compare(above, cut.is_short_above));
        }
    }
    matches
}

/// A place on a short way from one side to the other.
struct Cut {
    before: usize,
    after: usize,
    /// Whether the way above it and the way below it are known to be short.
    is_short_above: bool,
    is_short_below: bool,
}

/// The two searches for a way, from the head and from the tail.
struct Fronts {
    down: Front<false>,
    up: Front<true>,
}

impl Fronts {
    /// Makes room for sides of together `n_lines`.
    fn new(n_lines: usize) -> Fronts {
        Fronts {
            down: Front::new(n_lines),
            up: Front::new(n_lines),
        }
    }

    /// Returns a place where the way from head to tail of `sides` can be cut in two, or `None` if
    /// there is not enough work left to find one.
    fn cut(&mut self, sides: Sides<'_>, max_cost: usize, work: &mut Work) -> Option<Cut> {
        self.down.start(sides);
        self.up.start(sides);
        let delta = self.down.n_before - self.down.n_after;
        let is_odd = delta % 2 != 0;
        for cost in 1.. {
            let n_steps = self.down.n_steps + self.up.n_steps;
            let met = self.down.advance(sides, is_odd.then_some(&self.up));
            if let Some((before, after)) = met {
                return Some(Cut::best(before, after));
            }
            let met = self.up.advance(sides, (!is_odd).then_some(&self.down));
            if let Some((before, after)) = met {
                return Some(Cut::best(
                    sides.before.len() - before,
                    sides.after.len() - after,
                ));
            }
            if !work.spend(self.down.n_steps + self.up.n_steps - n_steps) {
                return None;
            }
            if cost > MIN_COST && max_cost != usize::MAX {
                let cut = self.good_cut(sides, cost);
                if cut.is_some() {
                    return cut;
                }
            }
            if cost >= max_cost {
                return Some(self.farthest_cut(sides));
            }
        }
        None
    }

    /// Returns a cut at the end of a long run of equal lines that is worth its `cost`.
    fn good_cut(&self, sides: Sides<'_>, cost: usize) -> Option<Cut> {
        if let Some((before, after)) = self.down.good_place(sides, cost) {
            return Some(Cut::below_short(before, after));
        }
        let (before, after) = self.up.good_place(sides, cost)?;
        Some(Cut::above_short(
            sides.before.len() - before,
            sides.after.len() - after,
        ))
    }

    /// Returns a cut where one of the searches is farthest.
    fn farthest_cut(&self, sides: Sides<'_>) -> Cut {
        let (down, up) = (self.down.farthest(), self.up.farthest());
        match down.0 + down.1 > up.0 + up.1 {
            true => Cut::below_short(down.0, down.1),
            false => Cut::above_short(sides.before.len() - up.0, sides.after.len() - up.1),
        }
    }
}

impl Cut {
    /// A place on a shortest way.
    fn best(before: usize, after: usize) -> Cut {
        Cut {
            before,
            after,
            is_short_above: true,
            is_short_below: true,
        }
    }

    /// A place to which a short way leads.
    fn below_short(before: usize, after: usize) -> Cut {
        Cut {
            before,
            after,
            is_short_above: true,
            is_short_below: false,
        }
    }

    /// A place from which a short way leads on.
    fn above_short(before: usize, after: usize) -> Cut {
        Cut {
            before,
            after,
            is_short_above: false,
            is_short_below: true,
        }
    }
}

/// A search from one corner: how far each diagonal was reached at a cost.
///
/// The search from the tail is the same as the one from the head of both sides reversed, and its
/// numbers count lines from the tail.
struct Front<const IS_UP: bool> {
    /// For each diagonal, lines of the side before minus lines of the side after, the largest
    /// number of lines of the side before that was reached.
    reached: Vec<i32>,
    /// Index of diagonal 0.
    middle: i32,
    /// The first and the last diagonal of the last cost; those between are every second one.
    first: i32,
    last: i32,
    n_before: i32,
    n_after: i32,
    n_steps: usize,
    /// Whether the last cost led over a long run of equal lines.
    is_on_long_run: bool,
}

/// Less than any number of lines.
const NOWHERE: i32 = -1;

impl<const IS_UP: bool> Front<IS_UP> {
    fn new(n_lines: usize) -> Front<IS_UP> {
        Front {
            reached: vec![NOWHERE; n_lines + 5],
            middle: 0,
            first: 0,
            last: 0,
            n_before: 0,
            n_after: 0,
            n_steps: 0,
            is_on_long_run: false,
        }
    }

    fn start(&mut self, sides: Sides<'_>) {
        // Tokens of imara-diff are fewer.
        (self.n_before, self.n_after) = (sides.before.len() as i32, sides.after.len() as i32);
        (self.first, self.last, self.middle) = (0, 0, self.n_after + 2);
        self.set(0, 0);
    }

    fn get(&self, diagonal: i32) -> i32 {
        self.reached[(self.middle + diagonal) as usize]
    }

    fn set(&mut self, diagonal: i32, reached: i32) {
        self.reached[(self.middle + diagonal) as usize] = reached;
    }

    /// Takes one changed line more. Returns the place where it met `other`, if it did.
    fn advance<const OTHER: bool>(
        &mut self,
        sides: Sides<'_>,
        other: Option<&Front<OTHER>>,
    ) -> Option<(usize, usize)> {
        self.widen();
        self.is_on_long_run = false;
        let delta = self.n_before - self.n_after;
        for diagonal in (self.first..=self.last).rev().step_by(2) {
            let (left, right) = (self.get(diagonal - 1), self.get(diagonal + 1));
            let before = if left >= right { left + 1 } else { right };
            let len = self.equal_len(sides, before, before - diagonal);
            let before = before + len;
            self.n_steps += 1 + len as usize / 4;
            self.is_on_long_run |= len as usize > GOOD_LEN;
            self.set(diagonal, before);
            let met =
                |other: &Front<OTHER>| other.reaches(delta - diagonal, self.n_before - before);
            if other.is_some_and(met) {
                return Some((before as usize, (before - diagonal) as usize));
            }
        }
        None
    }

    fn reaches(&self, diagonal: i32, before: i32) -> bool {
        (self.first..=self.last).contains(&diagonal) && self.get(diagonal) >= before
    }

    /// Makes the diagonals on both sides part of the search, or leaves out those at the borders.
    fn widen(&mut self) {
        if self.first > -self.n_after {
            self.first -= 1;
            self.set(self.first - 1, NOWHERE);
        } else {
            self.first += 1;
        }
        if self.last < self.n_before {
            self.last += 1;
            self.set(self.last + 1, NOWHERE);
        } else {
            self.last -= 1;
        }
    }

    fn equal_len(&self, sides: Sides<'_>, before: i32, after: i32) -> i32 {
        if before >= self.n_before || after >= self.n_after || after < 0 {
            return 0;
        }
        let len = match IS_UP {
            false => sides.split_at(before as usize, after as usize).1.head_len(),
            true => {
                let (before, after) = (self.n_before - before, self.n_after - after);
                sides.split_at(before as usize, after as usize).0.tail_len()
            }
        };
        len as i32
    }

    /// Returns the farthest place at the end of a long run that is far enough for its `cost`.
    fn good_place(&self, sides: Sides<'_>, cost: usize) -> Option<(usize, usize)> {
        let mut best = (MIN_GAIN * cost) as i32;
        let mut place = None;
        if !self.is_on_long_run {
            return place;
        }
        for diagonal in (self.first..=self.last).rev().step_by(2) {
            let before = self.get(diagonal);
            let after = before - diagonal;
            let gain = before + after - diagonal.abs();
            let len = GOOD_LEN as i32;
            let is_inside =
                (len..self.n_before).contains(&before) && (len..self.n_after).contains(&after);
            if gain > best && is_inside && self.equal_len(sides, before - len, after - len) >= len {
                (best, place) = (gain, Some((before as usize, after as usize)));
            }
        }
        place
    }

    /// Returns the place where most lines of both sides are passed.
    fn farthest(&self) -> (usize, usize) {
        let diagonals = (self.first..=self.last).rev().step_by(2);
        let place = |diagonal: i32| {
            let before = self
                .get(diagonal)
                .min(self.n_before)
                .min(self.n_after + diagonal);
            (before as usize, (before - diagonal) as usize)
        };
        diagonals
            .map(place)
            .max_by_key(|(before, after)| before + after)
            .unwrap_or((0, 0))
    }
}
