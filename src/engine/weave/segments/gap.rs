//! A gap buffer, which holds the segments during a run of outside edits.
//!
//! Edits come in runs, each near the one before: a word is replaced everywhere, or that is undone.
//! So the segments are kept in two lists, those above the gap and those below it, with the size of
//! the part above. An edit then takes time linear in the number of segments between it and the edit
//! before.
//!
//! Knows only how many lines, characters and bytes each segment has in the target, from
//! [`Measure`].

use std::ops::Range;

use super::atoms::Atoms;
use crate::weave::segment::Segment;
use crate::weave::texts::{Extent, Texts};

/// All segments in order, with a gap at one place.
#[derive(Debug, Clone)]
pub(super) struct Gap {
    above: Vec<Segment>,
    /// Those below the gap, in reverse order.
    below: Vec<Segment>,
    /// The size of the part of the target above the gap.
    extent_above: Extent,
    /// The size of the whole target.
    extent: Extent,
}

/// Computes the size of a segment in the target, which is zero if the segment is dead.
#[derive(Clone, Copy)]
pub(super) struct Measure<'a> {
    pub atoms: &'a Atoms,
    pub texts: &'a Texts,
}

impl Measure<'_> {
    fn of(&self, segment: &Segment) -> Extent {
        match self.atoms.is_alive(segment) {
            true => self.texts.extent(segment),
            false => Extent::default(),
        }
    }

    /// Returns the number of lines, without counting characters.
    fn n_lines(&self, segment: &Segment) -> usize {
        match self.atoms.is_alive(segment) {
            true => segment.len(),
            false => 0,
        }
    }
}

/// Segments removed at the gap, where [`Gap::insert`] inserts others.
pub(super) struct Window {
    pub segments: Vec<Segment>,
    /// Line of the target (0-based) at which the first of them begins.
    pub line: usize,
    /// Index of the first of them.
    pub index: usize,
}

impl Gap {
    /// Opens a gap after all `segments`.
    pub fn at_end(segments: Vec<Segment>, measure: Measure) -> Gap {
        let mut extent = Extent::default();
        for segment in &segments {
            extent += measure.of(segment);
        }
        Gap {
            above: segments,
            below: Vec::new(),
            extent_above: extent,
            extent,
        }
    }

    /// Closes the gap and returns the segments.
    pub fn close(self) -> Vec<Segment> {
        let mut segments = self.above;
        segments.extend(self.below.into_iter().rev());
        segments
    }

    /// Returns the size of the target.
    pub fn extent(&self) -> Extent {
        self.extent
    }

    /// Returns the size of the part of the target that is above the gap.
    pub fn extent_above(&self) -> Extent {
        self.extent_above
    }

    /// Returns the segments above the gap, the nearest one first.
    pub fn upward(&self) -> impl Iterator<Item = &Segment> {
        self.above.iter().rev()
    }

    /// Returns the segments below the gap, the nearest one first.
    pub fn downward(&self) -> impl Iterator<Item = &Segment> {
        self.below.iter().rev()
    }

    /// Moves the gap to just above the last alive segment that begins before line `line`, or to the
    /// top if there is none.
    pub fn move_before_line(&mut self, line: usize, measure: Measure) {
        while self.extent_above.lines >= line && self.step_up(measure) {}
        while let Some(segment) = self.below.last() {
            if self.extent_above.lines + measure.n_lines(segment) >= line {
                break;
            }
            self.step_down(measure);
        }
    }

    /// Moves the gap to the start of the segment with the character that follows the first `chars`
    /// ones, or to the end of the target if there is none. Returns the line with that character
    /// (the number of lines at the end of the target), and how many characters are before it in
    /// that line.
    pub fn move_to_char(&mut self, chars: usize, measure: Measure) -> (usize, usize) {
        while self.extent_above.chars > chars && self.step_up(measure) {}
        while let Some(segment) = self.below.last() {
            let rest = chars - self.extent_above.chars;
            if rest < measure.of(segment).chars {
                let n_chars = |n| measure.texts.chars_of_head(segment, n);
                let n = partition_point(segment.len(), |n| n_chars(n + 1) <= rest);
                return (self.extent_above.lines + n, rest - n_chars(n));
            }
            self.step_down(measure);
        }
        (self.extent_above.lines, 0)
    }

    /// Returns the bytes of the lines of the target in `range`, and moves the gap there.
    pub fn lines_near(&mut self, range: &Range<usize>, measure: Measure) -> Vec<u8> {
        self.move_before_line(range.start, measure);
        let mut bytes = Vec::new();
        let mut line = self.extent_above.lines;
        for segment in self.downward() {
            if line >= range.end {
                break;
            }
            if measure.atoms.is_alive(segment) {
                bytes.extend_from_slice(measure.texts.bytes_within(segment, line, range));
                line += segment.len();
            }
        }
        bytes
    }

    /// Removes and returns the segments that an edit of `n_removed` lines from line `line` on can
    /// affect: those from the last alive one before these lines to the first alive one after them.
    pub fn take_window(&mut self, line: usize, n_removed: usize, measure: Measure) -> Window {
        self.move_before_line(line, measure);
        let mut window = Window {
            segments: Vec::new(),
            line: self.extent_above.lines,
            index: self.above.len(),
        };
        let mut at = window.line;
        while let Some(segment) = self.below.last() {
            let extent = measure.of(segment);
            if extent.lines > 0 && at > line + n_removed {
                break;
            }
            at += extent.lines;
            self.extent -= extent;
            window.segments.extend(self.below.pop());
        }
        window
    }

    /// Inserts `segments` above the gap.
    pub fn insert(&mut self, segments: Vec<Segment>, measure: Measure) {
        for segment in segments {
            let extent = measure.of(&segment);
            self.extent_above += extent;
            self.extent += extent;
            self.above.push(segment);
        }
    }

    /// Replaces the `n` segments from index `first` on by `segments`, moves the gap above them, and
    /// returns what it replaced.
    pub fn replace(
        &mut self,
        first: usize,
        n: usize,
        segments: &[Segment],
        measure: Measure,
    ) -> Vec<Segment> {
        while self.above.len() > first {
            self.step_up(measure);
        }
        while self.above.len() < first {
            self.step_down(measure);
        }
        let was: Vec<Segment> = self.below.drain(self.below.len() - n..).rev().collect();
        for segment in &was {
            self.extent -= measure.of(segment);
        }
        for segment in segments.iter().rev() {
            self.extent += measure.of(segment);
            self.below.push(segment.clone());
        }
        was
    }

    /// Moves the gap up by one segment, and returns whether there was one.
    fn step_up(&mut self, measure: Measure) -> bool {
        let Some(segment) = self.above.pop() else {
            return false;
        };
        self.extent_above -= measure.of(&segment);
        self.below.push(segment);
        true
    }

    fn step_down(&mut self, measure: Measure) {
        if let Some(segment) = self.below.pop() {
            self.extent_above += measure.of(&segment);
            self.above.push(segment);
        }
    }
}

/// Returns how many of the numbers below `n` satisfy `is_first`, which holds up to some number and
/// for none after it. Takes O(log n) calls.
pub(in crate::weave) fn partition_point(n: usize, is_first: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = low + (high - low) / 2;
        match is_first(middle) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    low
}
