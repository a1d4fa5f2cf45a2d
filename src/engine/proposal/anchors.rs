//! Lines of the target that are unique both before and after an edit that was missed.

use std::collections::HashSet;
use std::ops::Range;

use once_cell::unsync::OnceCell;

use crate::trust::{Compared, LineCounts};
use crate::weave::{Changed, TargetLines, TargetRun, Weave};

/// Determines which lines of the target are unique both in it and in a text that differs from it in
/// a few lines.
///
/// The first few lines are searched for in the whole text, and usually no more are needed. After
/// that, original and proposal are read once. Most further lines are then known to occur only once
/// in these, so that only lines inserted by others must be searched.
pub(super) struct Anchors<'a> {
    weave: &'a Weave,
    /// The lines that were searched for, and whether they are anchors. If lines recur, few of them
    /// are distinct.
    searched: Vec<(&'a [u8], bool)>,
    /// Where the last line was: lines are asked for one after the other.
    run: Option<TargetRun<'a>>,
    known: OnceCell<Known<'a>>,
    /// The lines of the target that were compared.
    part: Range<usize>,
    old_part: LineCounts<'a>,
    new_part: LineCounts<'a>,
    live: LineCounts<'a>,
}

/// How many lines are searched for at most before original and proposal are read.
const MAX_SEARCHES: usize = 8;

/// What is known about the lines of the target.
struct Known<'a> {
    lines: TargetLines<'a>,
    user_lines: HashSet<&'a [u8]>,
}

impl<'a> Anchors<'a> {
    /// Prepares to find anchors between the target, according to `weave`, and a text that differs
    /// from it by `changed`, which is inside the part `compared`.
    pub fn new(weave: &'a Weave, compared: &Compared<'a>, changed: &'a Changed) -> Anchors<'a> {
        let live = weave.target().pieces_with(&changed.lines, &changed.text);
        let first = compared.n_around.0;
        Anchors {
            weave,
            searched: Vec::new(),
            run: None,
            known: OnceCell::new(),
            part: first..first + compared.old.len(),
            old_part: LineCounts::new(vec![compared.old.bytes()]),
            new_part: LineCounts::new(vec![compared.new.bytes()]),
            live: LineCounts::new(live),
        }
    }

    /// Returns whether line `at` of the target (0-based), which the other text also has, is unique
    /// in both.
    pub fn is_anchor(&mut self, at: usize) -> bool {
        if self.known.get().is_none() {
            let line = self.line(at);
            let known = self.searched.iter().find(|(searched, _)| *searched == line);
            if let Some((_, is_anchor)) = known {
                return *is_anchor;
            }
            if self.searched.len() < MAX_SEARCHES {
                let is_anchor = self.is_once_in_both(line);
                self.searched.push((line, is_anchor));
                return is_anchor;
            }
        }
        let known = self.known.get_or_init(|| Known {
            lines: self.weave.target().lines_one_by_one(),
            user_lines: self.weave.target().user_lines().collect(),
        });
        let (line, is_unique) = known.lines.get(at);
        if is_unique && !known.user_lines.contains(line) {
            // The target has no other such line.
            return self.new_part.count(line) == usize::from(self.part.contains(&at));
        }
        self.is_once_in_both(line)
    }

    fn line(&mut self, at: usize) -> &'a [u8] {
        if let Some(line) = self.run.as_ref().and_then(|run| run.get(at)) {
            return line;
        }
        let run = self.run.insert(self.weave.target().run(at));
        run.get(at).expect("the run is around the line")
    }

    fn is_once_in_both(&mut self, line: &'a [u8]) -> bool {
        // Around the compared parts, both texts are equal.
        self.live.count(line) == 1 && self.old_part.count(line) == self.new_part.count(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;
    use crate::proposal::learning::tests::{lines_of, missed};
    use crate::text::Text;

    #[test]
    fn anchors_are_once_in_the_target_and_once_in_what_it_became() {
        let mut dice = Dice::new(7);
        let (mut n_anchors, mut n_others) = (0, 0);
        for _ in 0..5_000 {
            let Some((proposal, live, changed)) = missed(&mut dice) else {
                continue;
            };
            let window = proposal.weave.target().widened(&changed, dice.roll(3));
            let target = proposal.target();
            let (old, new) = (lines_of(&target), lines_of(&live));
            let part = |text: &[u8]| Text::new(text.to_vec());
            let compared = Compared {
                old: &part(&old[window.lines.clone()].concat()),
                new: &part(&window.text),
                edits: &[],
                n_around: (window.lines.start, old.len() - window.lines.end),
            };
            let mut anchors = Anchors::new(&proposal.weave, &compared, &changed);
            for (at, line) in old.iter().enumerate() {
                let n_there = |text: &[Vec<u8>]| text.iter().filter(|&other| other == line).count();
                let is_anchor = n_there(&old) == 1 && n_there(&new) == 1;
                assert_eq!(anchors.is_anchor(at), is_anchor, "line {at}");
                n_anchors += usize::from(is_anchor);
                n_others += usize::from(!is_anchor);
            }
        }
        assert!(
            n_anchors > 10_000 && n_others > 10_000,
            "{n_anchors}, {n_others}"
        );
    }
}
