//! Myers' algorithm: as few changed lines as possible, in linear space.
//!
//! "An O(ND) Difference Algorithm and its Variations" (1986). Lines that occur on one side only do
//! not enter the search, so that it takes O(n) where every second line changed. With *d* changed
//! lines it takes O(n + d²) where equal lines are in long runs, and O(n d) at worst.
//!
//! Where that is more than the budget allows, the path is found in windows, much as git (`xdl_split`)
//! and GNU diff do with their bounds on the cost: from the head the search goes as far as a number of
//! changed lines leads, and the first three quarters of the best path to the farthest place are kept.
//! The number is what the budget allows for each remaining line, so that the last window gets as much
//! as the first. Windows are also used where the texts are equally different everywhere, since they
//! then find nearly as much in less time. imara-diff's own search of Myers cannot be stopped: with
//! 10 MB of text it can take many seconds.

use std::iter::zip;

use imara_diff::Token;

use super::front::Front;
use super::matches::Matches;
use super::token_slices::TokenSlices;
use super::work::{Work, look_up};

/// Fewest changed lines of a window: with fewer it would find little, and it is better to leave the
/// tail.
const LEAST_COST: usize = 12;

/// Number of changed lines beyond which a window finds no more, or the square root of the number of
/// lines if that is greater (`XDL_HEUR_MIN_COST`).
const MAX_COST: usize = 256;

/// The search for the shortest path between two texts gets one in so many of their steps: finding the
/// lines on it takes as many again, and windows take the rest.
const ATTEMPT: u64 = 3;

/// Steps for a diagonal at one cost, with a few equal lines.
pub const CELL: u64 = 3;

/// A search is far from its end if it would cost more than so many times its cost so far.
const FAR: usize = 2;

/// Steps for a turn of the path, besides those of the search for it.
const TURN: usize = 8;

/// Which lines occur on both sides; made once for many comparisons.
#[derive(Default)]
pub struct Myers {
    /// For each token the sides on which it is; 0 between comparisons.
    sides: Vec<u8>,
}

const BEFORE: u8 = 1;
const AFTER: u8 = 2;

impl Myers {
    /// Reserves space for tokens below `n_tokens`.
    pub fn reserve(&mut self, n_tokens: usize) {
        self.sides.resize(n_tokens, 0);
    }

    /// Adds the equal lines of `sides` to `matches`, using the share of `work` for that many lines.
    pub fn compare(&mut self, sides: TokenSlices<'_>, matches: &mut Matches, work: &mut Work) {
        if !work.spend(look_up(sides.n_lines()) * sides.n_lines()) {
            return;
        }
        let [before, after] = self.common(sides);
        let common = TokenSlices {
            before: &before.0,
            after: &after.0,
            start: (0, 0),
        };
        let mut part = work.part(work.portion(sides.n_lines()));
        for found in compared(common, &mut part).iter() {
            let old = before.1[found.before..][..found.len].iter();
            let new = after.1[found.after..][..found.len].iter();
            zip(old, new).for_each(|(&old, &new)| {
                let (old, new) = (old as usize, new as usize);
                matches.push(sides.start.0 + old, sides.start.1 + new, 1);
            });
        }
        work.rejoin(&part);
    }

    /// Returns the fewest lines that can change between `sides`, if they are at most `max_cost`;
    /// `None` if they are more, or if `work` does not suffice.
    pub fn least(
        &mut self,
        sides: TokenSlices<'_>,
        max_cost: usize,
        work: &mut Work,
    ) -> Option<usize> {
        if !work.spend(look_up(sides.n_lines()) * sides.n_lines()) {
            return None;
        }
        let [before, after] = self.common(sides);
        let common = TokenSlices {
            before: &before.0,
            after: &after.0,
            start: (0, 0),
        };
        let n_lone = sides.n_lines() - common.n_lines();
        let (rest, _) = common.without_equal_ends(&mut Matches::default());
        if rest.is_one_sided() {
            return Some(n_lone + rest.n_lines()).filter(|&cost| cost <= max_cost);
        }
        let max_cost = max_cost.checked_sub(n_lone)?;
        let mut fronts = Fronts::new(max_cost.div_ceil(2));
        let way = fronts.way(rest, max_cost.div_ceil(2), None, work);
        way.is_whole.then_some(n_lone + way.cost)
    }

    /// Returns those lines of each side that are on both, and where they are.
    fn common(&mut self, sides: TokenSlices<'_>) -> [(Vec<Token>, Vec<u32>); 2] {
        let lines = [(sides.before, BEFORE), (sides.after, AFTER)];
        for (lines, side) in lines {
            lines
                .iter()
                .for_each(|token| self.sides[token.0 as usize] |= side);
        }
        let common = lines.map(|(lines, _)| {
            // imara-diff numbers lines in 32 bits.
            let places = (0..lines.len() as u32)
                .filter(|&line| self.sides[lines[line as usize].0 as usize] == BEFORE | AFTER);
            let places: Vec<u32> = places.collect();
            let tokens = places.iter().map(|&line| lines[line as usize]);
            (tokens.collect(), places)
        });
        for (lines, _) in lines {
            lines
                .iter()
                .for_each(|token| self.sides[token.0 as usize] = 0);
        }
        common
    }
}

/// Returns the equal lines of `sides`, within `work`.
fn compared(sides: TokenSlices<'_>, work: &mut Work) -> Matches {
    let mut matches = Matches::default();
    let (rest, tail) = sides.without_equal_ends(&mut matches);
    if !rest.is_one_sided() {
        // Both searches together take as many steps as the square of their cost.
        let n_cells = work.left() / ATTEMPT / CELL;
        let attempt = usize::try_from(n_cells.isqrt()).unwrap_or(usize::MAX);
        let max_cost = attempt.max(LEAST_COST).min(rest.n_lines());
        let mut fronts = Fronts::new(max_cost);
        let rest = fronts.first(rest, max_cost, &mut matches, work);
        fronts.windows(rest, &mut matches, work);
    }
    matches.push(sides.end().0 - tail, sides.end().1 - tail, tail);
    matches
}

/// The two searches for a path, from the head and from the tail.
struct Fronts {
    down: Front<false>,
    up: Front<true>,
    max_cost: usize,
}

/// A place on a path from the head of two sides to their tail.
struct Way {
    before: usize,
    after: usize,
    /// The number of changed lines on the shortest path: to the tail if `is_whole`, else to the
    /// place.
    cost: usize,
    is_whole: bool,
    /// Whether the search was given up because windows do as well.
    is_even: bool,
}

/// How far a search has come, to tell whether the texts are equally different everywhere: then
/// going on takes quadratic time, and windows find nearly as much.
#[derive(Default)]
struct Progress {
    n_passed: usize,
}

impl Progress {
    /// Notes the farthest place at `cost` in a text of `n_lines`. Returns whether the search came no
    /// farther for each changed line than before, and is far from the end.
    fn is_even(&mut self, cost: usize, n_lines: usize, farthest: impl Fn() -> Way) -> bool {
        if cost < MAX_COST / 2 || !cost.is_power_of_two() {
            return false;
        }
        let way = farthest();
        let n_before = std::mem::replace(&mut self.n_passed, way.before + way.after);
        // The estimated cost of the whole search, for each of two.
        let whole = cost * n_lines / self.n_passed.max(1) / 2;
        cost >= MAX_COST && self.n_passed <= 3 * n_before && whole > FAR * cost
    }
}

impl Fronts {
    /// Reserves space for paths with up to `max_cost` changed lines on each side of the middle.
    fn new(max_cost: usize) -> Fronts {
        Fronts {
            down: Front::new(max_cost),
            up: Front::new(max_cost),
            max_cost,
        }
    }

    /// Adds the equal lines of `sides` if a search of `max_cost` from each end finds the shortest
    /// path, or else those on the path to the farthest place reached. Returns the rest.
    fn first<'a>(
        &mut self,
        sides: TokenSlices<'a>,
        max_cost: usize,
        matches: &mut Matches,
        work: &mut Work,
    ) -> TokenSlices<'a> {
        // Long runs of equal lines take most of the steps.
        let mut part = work.part(work.left() / ATTEMPT);
        let way = self.way(sides, max_cost, Some(Progress::default()), &mut part);
        work.give_back(&part);
        if !way.is_whole && !way.is_even {
            work.cut_short();
        }
        let (above, below) = sides.split_at(way.before, way.after);
        if way.is_whole {
            self.exact(above, matches, work);
            self.exact(below, matches, work);
            return below.split_at(below.before.len(), below.after.len()).1;
        }
        let n_kept = self.window(above, matches, work);
        sides.split_at(n_kept.0, n_kept.1).1
    }

    /// Adds the equal lines of `sides`, window by window.
    fn windows(&mut self, sides: TokenSlices<'_>, matches: &mut Matches, work: &mut Work) {
        let mut rest = sides;
        let wanted = MAX_COST.max(sides.n_lines().isqrt());
        loop {
            let head = rest.head_len();
            work.spend(head / 4);
            matches.push(rest.start.0, rest.start.1, head);
            (_, rest) = rest.split_at(head, head);
            if rest.is_one_sided() {
                return;
            }
            let share = work.share(CELL as usize * rest.n_lines());
            if share < wanted {
                work.cut_short();
            }
            let cost = share.clamp(LEAST_COST, wanted);
            let Some(way) = self.way_down(rest, cost.min(self.max_cost), work) else {
                return;
            };
            let (above, below) = rest.split_at(way.before, way.after);
            if way.is_whole {
                return self.exact(rest, matches, work);
            }
            let n_kept = match below.is_one_sided() {
                true => {
                    self.exact(above, matches, work);
                    (way.before, way.after)
                }
                false => self.window(above, matches, work),
            };
            (_, rest) = rest.split_at(n_kept.0, n_kept.1);
        }
    }

    /// Adds the equal lines of the first three quarters of `sides`, and returns how many lines of
    /// both sides these are: the lines below may change the rest.
    fn window(
        &mut self,
        sides: TokenSlices<'_>,
        matches: &mut Matches,
        work: &mut Work,
    ) -> (usize, usize) {
        let mut found = Matches::default();
        self.exact(sides, &mut found, work);
        let end = sides.n_lines() / 4 * 3;
        let mut n_kept = (0, 0);
        for found in found.iter() {
            let (before, after) = (found.before - sides.start.0, found.after - sides.start.1);
            let n_left = end.saturating_sub(before + after) / 2;
            let len = found.len.min(n_left);
            if len == 0 {
                break;
            }
            matches.push(found.before, found.after, len);
            n_kept = (before + len, after + len);
        }
        match n_kept {
            // No lines are equal so early, or only a few.
            (0, 0) => {
                found.iter().for_each(|found| {
                    matches.push(found.before, found.after, found.len);
                });
                (sides.before.len(), sides.after.len())
            }
            _ => n_kept,
        }
    }

    /// Adds the equal lines of `sides`, for which a path of at most twice the largest cost is known.
    fn exact(&mut self, sides: TokenSlices<'_>, matches: &mut Matches, work: &mut Work) {
        // Not by recursion: the path can have as many turns as the texts have lines.
        let mut tasks = vec![Task::Compare(sides)];
        while let Some(task) = tasks.pop() {
            let sides = match task {
                Task::Push((before, after), len) => {
                    matches.push(before, after, len);
                    continue;
                }
                Task::Compare(sides) => sides,
            };
            let (rest, tail) = sides.without_equal_ends(matches);
            tasks.push(Task::Push(rest.end(), tail));
            let n_steps = TURN + (sides.n_lines() - rest.n_lines()) / 4;
            if rest.is_one_sided() || !work.spend(n_steps) {
                continue;
            }
            let way = self.way(rest, self.max_cost, None, work);
            let (above, below) = rest.split_at(way.before, way.after);
            // Without work left the place can be the end, to which no path was found.
            if way.is_whole || below.n_lines() > 0 {
                tasks.push(Task::Compare(below));
                tasks.push(Task::Compare(above));
            }
        }
    }

    /// Returns a place on the shortest path through `sides` if a search of `max_cost` from each end
    /// finds it within `work`, or else the farthest place that the one from the head reaches. With
    /// `progress` it also ends there if the texts are equally different everywhere.
    fn way(
        &mut self,
        sides: TokenSlices<'_>,
        max_cost: usize,
        mut progress: Option<Progress>,
        work: &mut Work,
    ) -> Way {
        self.down.start(sides);
        self.up.start(sides);
        let delta = self.down.n_before - self.down.n_after;
        let is_odd = delta % 2 != 0;
        for cost in 1..=max_cost {
            let n_steps = self.down.n_steps + self.up.n_steps;
            let met = self.down.advance(sides, is_odd.then_some(&self.up));
            if let Some(met) = met {
                return Way::whole(met, 2 * cost - 1);
            }
            let met = self.up.advance(sides, (!is_odd).then_some(&self.down));
            if let Some((before, after)) = met {
                let met = (sides.before.len() - before, sides.after.len() - after);
                return Way::whole(met, 2 * cost);
            }
            let n_steps = self.down.n_steps + self.up.n_steps - n_steps;
            if !work.spend(n_steps) {
                return self.farthest(cost);
            }
            if let Some(progress) = &mut progress
                && progress.is_even(cost, sides.n_lines(), || self.farthest(cost))
            {
                return Way {
                    is_even: true,
                    ..self.farthest(cost)
                };
            }
        }
        self.farthest(max_cost)
    }

    /// Returns the farthest place in `sides` that a search of `max_cost` from the head reaches;
    /// `None` if there is not enough work left.
    fn way_down(
        &mut self,
        sides: TokenSlices<'_>,
        max_cost: usize,
        work: &mut Work,
    ) -> Option<Way> {
        self.down.start(sides);
        for cost in 1..=max_cost {
            let n_steps = self.down.n_steps;
            self.down.advance(sides, None::<&Front<true>>);
            if self.down.is_at_end() {
                return Some(Way {
                    is_whole: true,
                    ..self.farthest(cost)
                });
            }
            if !work.spend(self.down.n_steps - n_steps) {
                return None;
            }
        }
        Some(self.farthest(max_cost))
    }

    fn farthest(&self, cost: usize) -> Way {
        let (before, after) = self.down.farthest(cost);
        Way {
            before,
            after,
            cost,
            is_whole: false,
            is_even: false,
        }
    }
}

impl Way {
    fn whole((before, after): (usize, usize), cost: usize) -> Way {
        Way {
            before,
            after,
            cost,
            is_whole: true,
            is_even: false,
        }
    }
}

/// A step that remains to be done.
enum Task<'a> {
    Compare(TokenSlices<'a>),
    Push((usize, usize), usize),
}
