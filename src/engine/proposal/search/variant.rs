//! One of the ways in which the lines of a bare diff's hunk may occur in the target, and what such
//! an occurrence proves.

use crate::patch::locate::Index;
use crate::proposal::lines::HunkLines;
use crate::text::is_unterminated;

use super::Candidate;

/// A hunk's lines, with or without its change, with or without the last newline, and with some
/// context ignored.
pub(super) struct Variant<'a> {
    pub run: Vec<&'a [u8]>,
    /// The lines with the change if `run` is without it, and the reverse.
    other: Vec<&'a [u8]>,
    /// Whether the hunk shows no context above its first change; the same below its last.
    is_bare: [bool; 2],
    /// Whether the first change has no lines on this side; the same for the last one.
    is_gone: [bool; 2],
    /// The place of these lines at line 0; see [`Variant::at`].
    place: Candidate,
    /// Whether the hunk was on this side when its place was last known.
    is_known: bool,
    /// Whether a no-newline marker says that the file ends with these lines.
    is_last: bool,
}

impl<'a> Variant<'a> {
    pub fn new(hunk: HunkLines<'a>, is_in: bool, fuzz: usize, is_toggled: bool) -> Variant<'a> {
        let [head, tail] = hunk.ignored(fuzz);
        let sides = [is_in, !is_in].map(|side| hunk.all_toggled(side, is_toggled));
        let [run, other] = sides.map(|side| side[head..side.len() - tail].to_vec());
        let is_marked = |side: &&Vec<&[u8]>| side.last().is_some_and(|line| is_unterminated(line));
        let is_last = !is_toggled && [&run, &other].iter().any(is_marked);
        let place = Candidate {
            line: 0,
            change: hunk.head_len(fuzz),
            is_in,
            fuzz,
            len: run.len(),
            is_toggled,
        };
        Variant {
            run,
            other,
            is_bare: hunk.context_lens().map(|len| len == 0),
            is_gone: hunk
                .outermost()
                .map(|atom| hunk.side(atom, is_in).is_empty()),
            place,
            is_known: is_in == hunk.is_in(),
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

    /// Returns whether an occurrence of these lines at line `line` of `live` counts as a place of
    /// the hunk.
    ///
    /// If a hunk only adds or removes lines at an end where it shows no context, its shorter side
    /// is part of its longer one. Unless the hunk was on the shorter side before, finding that side
    /// proves nothing, except where the text begins or ends as well: elsewhere, the lines missing
    /// from the longer side may just have been changed. And nothing may follow a line that a marker
    /// says is the last.
    pub fn counts(&self, live: &Index, line: usize) -> bool {
        let [goes_on_above, goes_on_below] = self.is_part_of(&self.other);
        let is_cut_off =
            (!goes_on_above || line == 0) && (!goes_on_below || live.is_end(line, self.run.len()));
        (self.is_known || is_cut_off) && (!self.is_last || live.is_end(line, self.run.len()))
    }

    /// Returns whether `longer`, the other side of the hunk, continues above these lines, and
    /// whether it continues below them, at ends where the hunk shows no context.
    fn is_part_of(&self, longer: &[&[u8]]) -> [bool; 2] {
        let is_shorter = self.run.len() < longer.len();
        let [above, below] = self.is_bare.map(|is_bare| is_bare && is_shorter);
        [
            above && (self.is_gone[0] || longer.ends_with(&self.run)),
            below && (self.is_gone[1] || longer.starts_with(&self.run)),
        ]
    }
}
