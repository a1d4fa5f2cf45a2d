//! What the lines of a bare diff's hunk are, on either side, and what they say of its place.

use crate::patch::hunk::{Hunk, Line, LineKind};
use crate::patch::locate::Index;
use crate::text::is_unterminated;

use super::Proposal;
use super::candidates::Candidate;

/// At which ends of its file a hunk says that it stands, by the context that it lacks there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Edges {
    /// At the beginning: it shows no context above, and its header states the first line.
    pub top: bool,
    /// At the end: it shows no context below, and no other hunk follows.
    pub end: bool,
}

impl Edges {
    /// Returns what `hunk`, the last one of its diff if `is_last`, says. Without any context, as
    /// with `diff -U0`, it says nothing.
    pub fn of(hunk: &Hunk, is_last: bool) -> Edges {
        let is_context = |line: &&Line| line.kind == LineKind::Context;
        let has_context = hunk.lines.iter().any(|line| is_context(&line));
        let [above, below] = [hunk.lines.first(), hunk.lines.last()];
        Edges {
            top: has_context && above.filter(is_context).is_none() && hunk.before.start == 0,
            end: has_context && below.filter(is_context).is_none() && is_last,
        }
    }

    /// Returns what part `part` of such a hunk, split into `n_parts`, says.
    pub fn of_part(self, part: usize, n_parts: usize) -> Edges {
        Edges {
            top: self.top && part == 0,
            end: self.end && part + 1 == n_parts,
        }
    }

    /// Tells whether `place` in `live` is at the ends where the hunk says that it is.
    pub fn are_at(self, live: &Index, place: &Candidate) -> bool {
        (!self.top || place.line == 0) && (!self.end || live.is_end(place.line, place.len))
    }
}

/// A hunk's lines, read in one of the ways in which they may stand in the target.
pub(super) struct Reading<'a> {
    pub run: Vec<&'a [u8]>,
    /// The lines of the other side.
    other: Vec<&'a [u8]>,
    /// Whether the hunk shows no context above its first change, and below its last.
    is_bare: [bool; 2],
    /// Whether the first change has no lines on this side, and the last one.
    is_gone: [bool; 2],
    /// What is known of each place but its lines.
    place: Candidate,
    /// Whether the side is the one that the hunk was on when its place was last known.
    is_known: bool,
    /// Whether a no-newline marker says that the file ends here.
    is_last: bool,
}

impl<'a> Reading<'a> {
    pub fn new(
        proposal: &'a Proposal,
        hunk: usize,
        is_in: bool,
        fuzz: usize,
        is_toggled: bool,
    ) -> Reading<'a> {
        let (head, tail) = proposal.cut(hunk, fuzz);
        let sides = [is_in, !is_in].map(|side| proposal.toggled_run(hunk, side, is_toggled));
        let [run, other] = sides.map(|side| side[head..side.len() - tail].to_vec());
        let is_marked = |side: &&Vec<&[u8]>| side.last().is_some_and(|line| is_unterminated(line));
        let is_last = !is_toggled && [&run, &other].iter().any(is_marked);
        let place = Candidate {
            line: 0,
            change: proposal.head_len(hunk, fuzz),
            is_in,
            fuzz,
            len: run.len(),
            is_toggled,
        };
        Reading {
            run,
            other,
            is_bare: proposal.context_lens(hunk).map(|len| len == 0),
            is_gone: proposal
                .outermost(hunk)
                .map(|atom| proposal.weave.side(atom, is_in).is_empty()),
            place,
            is_known: is_in == proposal.is_in(hunk),
            is_last,
        }
    }

    /// Returns the place at line `line`.
    pub fn at(&self, line: usize) -> Candidate {
        let change = line + self.place.change;
        Candidate {
            line,
            change,
            ..self.place
        }
    }

    /// Tells whether the lines at `line` of `live`, which read so, count as a place of the hunk.
    ///
    /// Where a hunk only adds or removes lines at an end where it shows no context, the shorter
    /// side is the longer one without these. Such lines of the side that the hunk was not on before
    /// prove nothing, unless the text begins or ends there too: elsewhere the others may just read
    /// otherwise. And a file does not go on behind its last line.
    pub fn counts(&self, live: &Index, line: usize) -> bool {
        let [goes_on_above, goes_on_below] = self.is_part_of(&self.other);
        let is_cut_off =
            (!goes_on_above || line == 0) && (!goes_on_below || live.is_end(line, self.run.len()));
        (self.is_known || is_cut_off) && (!self.is_last || live.is_end(line, self.run.len()))
    }

    /// Tells whether `longer`, the other side of the hunk, goes on above these lines, and whether it
    /// goes on below them, where the hunk shows no context.
    fn is_part_of(&self, longer: &[&[u8]]) -> [bool; 2] {
        let is_shorter = self.run.len() < longer.len();
        let [above, below] = self.is_bare.map(|is_bare| is_bare && is_shorter);
        [
            above && (self.is_gone[0] || longer.ends_with(&self.run)),
            below && (self.is_gone[1] || longer.starts_with(&self.run)),
        ]
    }
}
