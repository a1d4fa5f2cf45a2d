//! Lines of the target that are unique, before and after an edit that nobody told of.

use std::collections::HashSet;
use std::ops::Range;

use crate::trust::{Census, Compared};
use crate::weave::{Changed, TargetLines, Weave};

/// Which lines of the target are unique in it and in a text that differs in a few lines from it.
///
/// Of most lines it is known that neither original nor proposal has them twice, so that only what
/// others put in has to be searched. The others are searched for in all of the text.
pub(super) struct Anchors<'a> {
    lines: TargetLines<'a>,
    user_lines: HashSet<&'a [u8]>,
    /// Lines of the target in the part that was compared.
    part: Range<usize>,
    old_part: Census<'a>,
    new_part: Census<'a>,
    live: Census<'a>,
}

impl<'a> Anchors<'a> {
    /// Returns the anchors between the target, as `weave` has it, and a text that differs as
    /// `changed` says; all of that is in `compared`.
    pub fn new(weave: &'a Weave, compared: &Compared<'a>, changed: &'a Changed) -> Anchors<'a> {
        let live = weave.pieces_with(&changed.lines, &changed.text);
        let first = compared.n_around.0;
        Anchors {
            lines: weave.target_lines_one_by_one(),
            user_lines: weave.user_lines().collect(),
            part: first..first + compared.old.len(),
            old_part: Census::new(vec![compared.old.bytes()]),
            new_part: Census::new(vec![compared.new.bytes()]),
            live: Census::new(live),
        }
    }

    /// Tells whether line `at` of the target, which the other text has, too, is unique in both.
    pub fn is_anchor(&mut self, at: usize) -> bool {
        let (line, is_alone) = self.lines.get(at);
        if is_alone && !self.user_lines.contains(line) {
            // The target has no other.
            return self.new_part.count(line) == usize::from(self.part.contains(&at));
        }
        // What is around the parts is the same in both.
        self.live.count(line) == 1 && self.old_part.count(line) == self.new_part.count(line)
    }
}
