//! The lines of a bare diff's hunk in one of the ways in which they may stand in the target, and what
//! a place where they stand so proves.

use crate::patch::locate::Index;
use crate::proposal::lines::HunkLines;
use crate::text::is_unterminated;

use super::Candidate;

/// A hunk's lines with its change or without, with some context ignored, and with or without the last
/// newline.
pub(super) struct Variant<'a> {
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

    /// Returns whether the lines at `line` of `live`, which read so, count as a place of the hunk.
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

    /// Returns whether `longer`, the other side of the hunk, goes on above these lines, and whether
    /// it goes on below them, where the hunk shows no context.
    fn is_part_of(&self, longer: &[&[u8]]) -> [bool; 2] {
        let is_shorter = self.run.len() < longer.len();
        let [above, below] = self.is_bare.map(|is_bare| is_bare && is_shorter);
        [
            above && (self.is_gone[0] || longer.ends_with(&self.run)),
            below && (self.is_gone[1] || longer.starts_with(&self.run)),
        ]
    }
}
