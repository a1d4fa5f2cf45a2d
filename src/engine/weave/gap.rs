//! The segments while edits by others are told one after the other: a gap buffer.
//!
//! Edits come in runs, each not far from the last: a word is replaced everywhere, or that is
//! undone. So the segments below the last edit are kept apart, the last one first, with the size of
//! what is above them. The next edit then takes as long as what lies between the two, and only at
//! the next question are the segments put together and walked over.

use std::ops::{AddAssign, Range, SubAssign};

use super::offsets::{Chars, partition_point};
use super::{Segment, Weave};

/// What is known while the segments are apart. Those above the gap are the weave's.
#[derive(Debug, Clone)]
pub(super) struct Gap {
    below: Vec<Segment>,
    above: Extent,
    all: Extent,
    user: Chars,
}

/// How much of the target some segments are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Extent {
    lines: usize,
    /// As Emacs counts them.
    chars: usize,
    bytes: usize,
}

impl AddAssign for Extent {
    fn add_assign(&mut self, other: Extent) {
        self.lines += other.lines;
        self.chars += other.chars;
        self.bytes += other.bytes;
    }
}

impl SubAssign for Extent {
    fn sub_assign(&mut self, other: Extent) {
        self.lines -= other.lines;
        self.chars -= other.chars;
        self.bytes -= other.bytes;
    }
}

/// Some segments taken out of the list, to be put back with [`Weave::put_back`].
pub(super) struct Window {
    pub segments: Vec<Segment>,
    /// Line of the target with which the first of them begins.
    pub line: usize,
    /// Index of the first of them.
    pub index: usize,
}

impl Weave {
    /// Puts the segments together again, and takes note of how they now are.
    ///
    /// To be called after [`Weave::edit_loosely`], before anything else is asked.
    pub(crate) fn settle(&mut self) {
        if let Some(gap) = self.gap.take() {
            self.segments.extend(gap.below.into_iter().rev());
            self.update_statuses();
        }
    }

    /// Tells whether the segments are together, so that questions can be answered.
    pub(super) fn is_settled(&self) -> bool {
        self.gap.is_none()
    }

    /// Returns which lines of the target begin with its character `start` and end before `end`, as
    /// Emacs counts them; `None` if no lines do, or the target has not just `n_chars` of them.
    pub(crate) fn lines_between(
        &mut self,
        start: usize,
        end: usize,
        n_chars: usize,
    ) -> Option<Range<usize>> {
        let mut gap = self.opened();
        let is_possible = gap.all.chars == n_chars && start <= end && end <= n_chars;
        let lines = is_possible.then(|| {
            let first = self.line_at_gap(&mut gap, start)?;
            Some(first..self.line_at_gap(&mut gap, end)?)
        });
        self.gap = Some(gap);
        lines.flatten()
    }

    /// Returns the lines of the target in `range`, as bytes, and moves the gap there.
    pub(crate) fn lines_near(&mut self, range: Range<usize>) -> Vec<u8> {
        let mut gap = self.opened();
        self.seek(&mut gap, range.start);
        let mut bytes = Vec::new();
        let mut line = gap.above.lines;
        for segment in gap.below.iter().rev() {
            if line >= range.end {
                break;
            }
            if !self.is_alive(segment) {
                continue;
            }
            let end = line + segment.len();
            let from = range.start.clamp(line, end) - line + segment.lines().start;
            let to = range.end.clamp(line, end) - line + segment.lines().start;
            bytes.extend_from_slice(self.text_of(segment).lines_bytes(from..to));
            line = end;
        }
        self.gap = Some(gap);
        bytes
    }

    /// Takes out the segments that an edit of `n_removed` lines from line `line` on can change: those
    /// from the last alive one before it up to the first one behind it.
    pub(super) fn take_window(&mut self, line: usize, n_removed: usize) -> Window {
        let mut gap = self.opened();
        self.seek(&mut gap, line);
        let mut window = Window {
            segments: Vec::new(),
            line: gap.above.lines,
            index: self.segments.len(),
        };
        let mut at = window.line;
        while let Some(segment) = gap.below.last() {
            let extent = self.extent(&gap.user, segment);
            if self.is_alive(segment) && at > line + n_removed {
                break;
            }
            at += extent.lines;
            gap.all -= extent;
            window.segments.extend(gap.below.pop());
        }
        self.gap = Some(gap);
        window
    }

    /// Puts `segments` where [`Weave::take_window`] has taken some out.
    pub(super) fn put_back(&mut self, segments: Vec<Segment>) {
        let mut gap = self.opened();
        for segment in segments {
            let extent = self.extent(&gap.user, &segment);
            gap.above += extent;
            gap.all += extent;
            self.segments.push(segment);
        }
        self.gap = Some(gap);
    }

    /// Puts `segments` in the place of the `n` segments from index `first` on.
    pub(super) fn replace_segments(&mut self, first: usize, n: usize, segments: &[Segment]) {
        let mut gap = self.opened();
        while self.segments.len() > first {
            self.step_up(&mut gap);
        }
        while self.segments.len() < first {
            self.step_down(&mut gap);
        }
        for segment in gap.below.drain(gap.below.len() - n..) {
            gap.all -= self.extent(&gap.user, &segment);
        }
        for segment in segments.iter().rev() {
            gap.all += self.extent(&gap.user, segment);
            gap.below.push(segment.clone());
        }
        self.gap = Some(gap);
    }

    /// Adds `text` to the text of others, and returns its lines there.
    pub(super) fn append_user(&mut self, text: &[u8]) -> Range<usize> {
        let mut gap = self.opened();
        let lines = self.user.append(text);
        gap.user.extend(&self.user, lines.clone());
        self.gap = Some(gap);
        lines
    }

    /// Tells whether the target is the original, byte for byte. Differences are looked for from the
    /// last edit on, in both directions: if there are others, they are near.
    pub(crate) fn reads_as_original(&mut self) -> bool {
        let gap = self.opened();
        let is_same = self.is_original_around(&gap);
        self.gap = Some(gap);
        is_same
    }

    fn is_original_around(&self, gap: &Gap) -> bool {
        let original = self.original().bytes();
        let is_alive = |segment: &&Segment| self.is_alive(segment);
        let mut above = self.segments.iter().rev().filter(is_alive);
        let mut below = gap.below.iter().rev().filter(is_alive);
        let (mut start, mut end) = (gap.above.bytes, gap.above.bytes);
        if gap.all.bytes != original.len() {
            return false;
        }
        loop {
            let (up, down) = (above.next(), below.next());
            if up.is_none() && down.is_none() {
                return true;
            }
            let (up, down) = (self.bytes_of(up), self.bytes_of(down));
            start -= up.len();
            let is_same = is_same(up, &original[start..start + up.len()])
                && is_same(down, &original[end..end + down.len()]);
            if !is_same {
                return false;
            }
            end += down.len();
        }
    }

    fn bytes_of(&self, segment: Option<&Segment>) -> &[u8] {
        segment.map_or(&[], |segment| self.bytes(segment))
    }

    /// Returns the gap, taken out; it is at the end if there was none.
    fn opened(&mut self) -> Gap {
        if let Some(gap) = self.gap.take() {
            return gap;
        }
        let user = self.offsets.take().map(|offsets| offsets.user);
        let user = user.unwrap_or_else(|| Chars::new(&self.user));
        let mut all = Extent::default();
        for segment in &self.segments {
            all += self.extent(&user, segment);
        }
        Gap {
            below: Vec::new(),
            above: all,
            all,
            user,
        }
    }

    fn extent(&self, user: &Chars, segment: &Segment) -> Extent {
        match self.is_alive(segment) {
            true => Extent {
                lines: segment.len(),
                chars: self.chars_of_head(user, segment, segment.len()),
                bytes: self.bytes(segment).len(),
            },
            false => Extent::default(),
        }
    }

    /// Moves the gap up past one segment, and tells whether there was one.
    fn step_up(&mut self, gap: &mut Gap) -> bool {
        let Some(segment) = self.segments.pop() else {
            return false;
        };
        gap.above -= self.extent(&gap.user, &segment);
        gap.below.push(segment);
        true
    }

    fn step_down(&mut self, gap: &mut Gap) {
        if let Some(segment) = gap.below.pop() {
            gap.above += self.extent(&gap.user, &segment);
            self.segments.push(segment);
        }
    }

    /// Moves the gap above the last segment that is alive and begins before line `line`; to the top
    /// if there is none.
    fn seek(&mut self, gap: &mut Gap, line: usize) {
        while gap.above.lines >= line && self.step_up(gap) {}
        while let Some(segment) = gap.below.last() {
            let n_lines = match self.is_alive(segment) {
                true => segment.len(),
                false => 0,
            };
            if gap.above.lines + n_lines >= line {
                break;
            }
            self.step_down(gap);
        }
    }

    /// Returns the line of the target before which `chars` characters come; see [`Weave::line_at`].
    fn line_at_gap(&mut self, gap: &mut Gap, chars: usize) -> Option<usize> {
        while gap.above.chars > chars && self.step_up(gap) {}
        while let Some(segment) = gap.below.last() {
            let rest = chars - gap.above.chars;
            if rest < self.extent(&gap.user, segment).chars {
                let n_chars = |n| self.chars_of_head(&gap.user, segment, n);
                let n = partition_point(segment.len(), |n| n_chars(n) < rest);
                return (n_chars(n) == rest).then_some(gap.above.lines + n);
            }
            self.step_down(gap);
        }
        (gap.above.chars == chars).then_some(gap.above.lines)
    }
}

/// Compares bytes; those that the line map has of the original are the same memory.
fn is_same(ours: &[u8], theirs: &[u8]) -> bool {
    std::ptr::eq(ours, theirs) || ours == theirs
}
