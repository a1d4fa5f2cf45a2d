//! Lines of the target that are unique, before and after an edit that nobody told of.

use std::collections::HashSet;
use std::ops::Range;

use once_cell::unsync::OnceCell;

use crate::trust::{Compared, LineCounts};
use crate::weave::{Changed, TargetLines, TargetRun, Weave};

/// Which lines of the target are unique in it and in a text that differs in a few lines from it.
///
/// The first few are searched for in all of the text, and mostly that is all. Of most others it is
/// known that neither original nor proposal has them twice, once both were read for that, so that
/// only what others put in has to be searched.
pub(super) struct Anchors<'a> {
    weave: &'a Weave,
    /// The lines that were searched for, and whether they are anchors. Where lines recur, there are
    /// few different ones.
    searched: Vec<(&'a [u8], bool)>,
    /// Where the last of them was: they are asked for one after the other.
    run: Option<TargetRun<'a>>,
    known: OnceCell<Known<'a>>,
    /// Lines of the target in the part that was compared.
    part: Range<usize>,
    old_part: LineCounts<'a>,
    new_part: LineCounts<'a>,
    live: LineCounts<'a>,
}

/// How many lines are searched for before original and proposal are read.
const MAX_SEARCHES: usize = 8;

/// What is known of the lines of the target.
struct Known<'a> {
    lines: TargetLines<'a>,
    user_lines: HashSet<&'a [u8]>,
}

impl<'a> Anchors<'a> {
    /// Returns the anchors between the target, as `weave` has it, and a text that differs as
    /// `changed` says; all of that is in `compared`.
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

    /// Returns whether line `at` of the target, which the other text has, too, is unique in both.
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
            // The target has no other.
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
        // What is around the parts is the same in both.
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
