//! Myers' algorithm: as few changed lines as possible, in linear space.
//!
//! "An O(ND) Difference Algorithm and its Variations" (1986), with the bounds that git puts on it
//! (`xdl_split`): where the way is long, a good place to cut is taken in place of the best. Lines
//! that occur on one side only do not enter the search, so that it takes O(n) where every second
//! line changed. In general it takes O(n √n) for *n* lines, and no more than the budget.

use std::iter::zip;

use imara_diff::Token;

use super::front::Front;
use super::matches::Matches;
use super::sides::Sides;
use super::work::Work;

/// Number of changed lines before a good place is looked for (`XDL_HEUR_MIN_COST`).
const MIN_COST: usize = 256;

/// Number of changed lines below which a way that is cut there says nothing.
const LEAST_COST: usize = 16;

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
    let Some(max_cost) = affordable_cost(sides.n_lines(), work) else {
        return matches;
    };
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

/// Returns the number of changed lines after which a way between sides of `n_lines` is cut, or
/// `None` if there is too little work left to find what is worth reading.
fn affordable_cost(n_lines: usize, work: &mut Work) -> Option<usize> {
    let max_cost = MIN_COST.max(n_lines.isqrt());
    // Of lines that hardly ever agree it takes about half so many steps for each.
    let affordable = work.share(n_lines).saturating_mul(2);
    if affordable < max_cost {
        work.cut_short();
    }
    Some(max_cost.min(affordable)).filter(|&cost| cost >= LEAST_COST)
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
