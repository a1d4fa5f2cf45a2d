//! The histogram algorithm: rare lines first.
//!
//! Of all runs of lines that two texts have in common, the one with the rarest line is taken, or
//! the longest of several as rare; then the lines above it and those below it are compared in the
//! same way. JGit invented it, git has it as `--histogram`, and it matches lines as a reader does.
//!
//! Alone it is not enough. It takes O(n d) time for *n* lines and *d* runs (when every second line of
//! 100,000 changed, git's takes half a minute), and it finds nothing where all lines recur often. In
//! both cases the rest is left to [Myers' algorithm](super::myers). imara-diff's own histogram search
//! counts no steps and cannot be stopped; on 10 MB of text it can take many seconds.

use std::iter::successors;

use imara_diff::Token;

use super::matches::Matches;
use super::myers::Myers;
use super::token_slices::TokenSlices;
use super::work::{Work, look_up};

/// Largest number of times that a line may recur and still be used, as in git.
const MAX_OCCURRENCES: u32 = 63;

/// Steps for each line of both sides after which the search is left to Myers' algorithm.
///
/// Source code takes about ten.
pub const MAX_STEPS: usize = 64;

const NONE: u32 = u32::MAX;

/// Where each line occurs among those that are compared; made once for many comparisons.
#[derive(Default)]
pub struct Histogram {
    /// For each token the number of its occurrences; 0 between comparisons.
    counts: Vec<u32>,
    /// For each token its first occurrence, if it has one.
    firsts: Vec<u32>,
    /// For each line the next occurrence of the same token, or `NONE`.
    nexts: Vec<u32>,
    pub myers: Myers,
}

/// The result of a search for a run.
enum Found {
    Run(Run),
    /// The two have no line in common.
    Nothing,
    /// They have, but only lines that recur often, or the search took too long.
    Unclear,
}

/// A run of lines that is the same on both sides.
#[derive(Debug, Clone, Copy)]
struct Run {
    before: usize,
    after: usize,
    len: usize,
    /// How often its rarest line occurs.
    n_occurrences: u32,
}

impl Run {
    fn is_better_than(&self, other: &Run) -> bool {
        self.len > other.len || self.n_occurrences < other.n_occurrences
    }
}

/// A step that remains to be done.
enum Task<'a> {
    Compare(TokenSlices<'a>),
    /// Lines of both texts that are the same, and how many.
    Push((usize, usize), usize),
}

/// Returns what comes next once `run` is found in `sides`, the last of it first.
fn parted(sides: TokenSlices<'_>, run: Run) -> [Task<'_>; 3] {
    let (above, rest) = sides.split_at(run.before, run.after);
    let (_, below) = rest.split_at(run.len, run.len);
    [
        Task::Compare(below),
        Task::Push(rest.start, run.len),
        Task::Compare(above),
    ]
}

impl Histogram {
    /// Reserves space for tokens below `n_tokens`.
    pub fn reserve(&mut self, n_tokens: u32) {
        let n_tokens = self.counts.len().max(n_tokens as usize);
        self.counts.resize(n_tokens, 0);
        self.firsts.resize(n_tokens, NONE);
        self.myers.reserve(n_tokens);
    }

    /// Adds the equal lines of `sides` to `matches`, with up to `max_steps` for each line. Returns
    /// whether this algorithm found some of them.
    pub fn compare(
        &mut self,
        sides: TokenSlices<'_>,
        max_steps: usize,
        matches: &mut Matches,
        work: &mut Work,
    ) -> bool {
        let mut n_left = sides.n_lines() * max_steps;
        let mut is_any_run = false;
        // Not by recursion, which could become as deep as the texts are long.
        let mut tasks = vec![Task::Compare(sides)];
        while let Some(task) = tasks.pop() {
            let sides = match task {
                Task::Push((before, after), len) => {
                    matches.push(before, after, len);
                    work.pass(2 * len);
                    continue;
                }
                Task::Compare(sides) => sides,
            };
            let found = match sides.is_one_sided() {
                true => Found::Nothing,
                false => self.found(sides, &mut n_left, work),
            };
            match found {
                Found::Run(run) => {
                    is_any_run = true;
                    tasks.extend(parted(sides, run));
                }
                Found::Nothing => work.pass(sides.n_lines()),
                Found::Unclear => {
                    self.myers.compare(sides, matches, work);
                    work.pass(sides.n_lines());
                }
            }
        }
        is_any_run
    }

    /// Returns the run to begin with, and subtracts the steps to find it from `n_left` and `work`.
    fn found(&mut self, sides: TokenSlices<'_>, n_left: &mut usize, work: &mut Work) -> Found {
        if *n_left < sides.n_lines() {
            return Found::Unclear;
        }
        self.count(sides.before);
        let mut search = Search {
            histogram: self,
            sides,
            n_steps: sides.n_lines(),
            best: None,
        };
        let is_any = search.run();
        let (best, n_steps) = (search.best, search.n_steps);
        sides
            .before
            .iter()
            .for_each(|token| self.counts[token.0 as usize] = 0);
        *n_left = n_left.saturating_sub(n_steps);
        match best {
            _ if !work.spend(look_up(sides.n_lines()) * n_steps) => Found::Nothing,
            Some(run) => Found::Run(run),
            None if is_any => Found::Unclear,
            None => Found::Nothing,
        }
    }

    fn count(&mut self, lines: &[Token]) {
        self.nexts.resize(self.nexts.len().max(lines.len()), NONE);
        // Upward, so that each chain goes downward.
        for (line, token) in lines.iter().enumerate().rev() {
            let token = token.0 as usize;
            self.nexts[line] = match self.counts[token] {
                0 => NONE,
                _ => self.firsts[token],
            };
            // imara-diff numbers lines in 32 bits.
            self.firsts[token] = line as u32;
            self.counts[token] += 1;
        }
    }

    fn n_occurrences(&self, token: Token) -> u32 {
        self.counts[token.0 as usize]
    }

    /// Returns the lines with `token`, from first to last.
    fn occurrences(&self, token: Token) -> impl Iterator<Item = usize> + '_ {
        let first = Some(self.firsts[token.0 as usize]);
        let next = |&line: &u32| Some(self.nexts[line as usize]).filter(|&next| next != NONE);
        let lines = successors(first, next);
        lines.map(|line| line as usize)
    }
}

struct Search<'a> {
    histogram: &'a Histogram,
    sides: TokenSlices<'a>,
    n_steps: usize,
    best: Option<Run>,
}

impl Search<'_> {
    /// Looks for the best run, and returns whether any line is on both sides.
    fn run(&mut self) -> bool {
        let (mut is_any, mut after) = (false, 0);
        while let Some(&token) = self.sides.after.get(after) {
            let n_occurrences = self.histogram.n_occurrences(token);
            is_any |= n_occurrences > 0;
            let most = self.best.map_or(MAX_OCCURRENCES, |best| best.n_occurrences);
            after = match (1..=most).contains(&n_occurrences) {
                true => self.try_all(after, token),
                false => after + 1,
            };
        }
        is_any
    }

    /// Tries each run around line `after`, and returns the line below all of them.
    fn try_all(&mut self, after: usize, token: Token) -> usize {
        let (mut next, mut tried_to) = (after + 1, 0);
        for before in self.histogram.occurrences(token) {
            self.n_steps += 1;
            if before < tried_to {
                continue;
            }
            let run = self.run_around(before, after);
            self.n_steps += run.len;
            tried_to = run.before + run.len;
            next = next.max(run.after + run.len);
            if self.best.is_none_or(|best| run.is_better_than(&best)) {
                self.best = Some(run);
            }
        }
        next
    }

    fn run_around(&self, before: usize, after: usize) -> Run {
        let (above, below) = self.sides.split_at(before, after);
        let (up, down) = (above.tail_len(), below.head_len());
        let lines = &self.sides.before[before - up..before + down];
        let counts = lines
            .iter()
            .map(|&token| self.histogram.n_occurrences(token));
        Run {
            before: before - up,
            after: after - up,
            len: lines.len(),
            n_occurrences: counts.min().unwrap_or(NONE),
        }
    }
}
