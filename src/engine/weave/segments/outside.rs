//! Outside edits of the target, which change the segments just as they were made.
//!
//! A line's identity depends on what was done, never on its text: lines that were deleted and typed
//! again are new ones. Replaced lines remain as dead segments, which keep their place.

use std::mem;
use std::ops::Range;

use crate::text::{self, is_unterminated, len_of_chars, partition_point};
use crate::weave::segment::{Kind, Segment};
use crate::weave::target::Target;
use crate::weave::texts::{Extent, Texts};

use super::Segments;
use super::status::Atoms;

/// A replacement of segments by others, which can be undone.
#[derive(Debug, Clone)]
pub(in crate::weave) struct Replaced {
    /// Index of the first segment that differs.
    first: usize,
    segments: Vec<Segment>,
    /// Number of segments that replaced them.
    n_segments: usize,
}

impl Replaced {
    /// Returns the smallest replacement that turns the segments `before` into `after`.
    fn between(before: &[Segment], after: &[Segment]) -> Replaced {
        let pairs = before.iter().zip(after);
        let first = pairs.take_while(|(a, b)| a == b).count();
        let tails = before[first..]
            .iter()
            .rev()
            .zip(after[first..].iter().rev());
        let n_tail = tails.take_while(|(a, b)| a == b).count();
        Replaced {
            first,
            segments: before[first..before.len() - n_tail].to_vec(),
            n_segments: after.len() - n_tail - first,
        }
    }

    /// Returns the replacement that brings back `segments`, which this one replaces.
    fn inverse(&self, segments: Vec<Segment>) -> Replaced {
        Replaced {
            first: self.first,
            segments,
            n_segments: self.segments.len(),
        }
    }
}

/// Lines of the target around some of its characters.
#[derive(Debug)]
pub(crate) struct Around {
    /// The first of these lines (0-based).
    pub line: usize,
    /// The lines.
    pub bytes: Vec<u8>,
    /// Which of these bytes are the characters.
    pub inside: Range<usize>,
}

/// The segments and the applied atoms at some time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::weave) struct State {
    list: Vec<Segment>,
    is_applied: Vec<bool>,
}

impl State {
    /// Carries out `replaced`, which must undo or redo a change of this state; returns the inverse.
    pub fn replace(&mut self, replaced: &Replaced) -> Replaced {
        let range = replaced.first..replaced.first + replaced.n_segments;
        let was = self.list.splice(range, replaced.segments.iter().cloned());
        replaced.inverse(was.collect())
    }

    /// Flips `atoms`.
    pub fn flip(&mut self, atoms: &[usize]) {
        atoms.iter().for_each(|&atom| self.is_applied[atom] ^= true);
    }

    /// Returns the text that the target would have with these segments, in pieces.
    fn pieces<'a>(&self, texts: &'a Texts) -> Vec<&'a [u8]> {
        let is_alive = |segment: &&Segment| {
            let is_chosen = match segment.kind() {
                Kind::Common | Kind::User => true,
                Kind::Old(atom) => !self.is_applied[atom],
                Kind::New(atom) => self.is_applied[atom],
            };
            is_chosen && !segment.is_dead
        };
        let alive = self.list.iter().filter(is_alive);
        alive.map(|segment| texts.bytes(segment)).collect()
    }
}

impl Segments {
    pub fn state(&self) -> State {
        State {
            list: self.all().to_vec(),
            is_applied: self.atoms.iter().map(|atom| atom.is_applied).collect(),
        }
    }

    /// Returns whether the target would have the same text in `state`. Most often only lengths are
    /// compared.
    pub fn reads_as(&self, texts: &Texts, state: &State) -> bool {
        let segments = self;
        let now = Target { texts, segments }.pieces();
        let then = state.pieces(texts);
        let n_bytes = |pieces: &[&[u8]]| pieces.iter().map(|piece| piece.len()).sum::<usize>();
        n_bytes(&now) == n_bytes(&then) && now.concat() == then.concat()
    }

    /// Restores segments and atoms to `state`. No atom may have been cut or rewritten since then.
    pub fn restore(&mut self, state: State) {
        for (atom, &is_applied) in state.is_applied.iter().enumerate() {
            self.atoms.set_applied(atom, is_applied);
        }
        self.list = state.list;
        self.update();
    }

    /// Returns the replacement that turned the segments of `before` into the current ones.
    pub fn replaced_since(&self, before: &State) -> Replaced {
        Replaced::between(&before.list, self.all())
    }

    /// Replaces the `n_removed` lines of the target from line `line` (0-based) on by the lines
    /// `user` of the text of others, which may be none. Call [`Segments::settle`] afterwards; see
    /// the documentation of the module.
    ///
    /// Panics if the target has no such lines.
    pub fn replace(
        &mut self,
        texts: &Texts,
        line: usize,
        n_removed: usize,
        user: Range<usize>,
    ) -> Replaced {
        let (gap, measure) = self.open(texts);
        let atoms = measure.atoms;
        let window = gap.take_window(line, n_removed, measure);
        let mut now = window.segments.clone();
        let (range, ambiguous) = replaced_in(atoms, &mut now, line - window.line, n_removed);
        let mut inside: Vec<Segment> = now[range.clone()].to_vec();
        inside.retain(|segment| !segment.is_user());
        for segment in &mut inside {
            segment.is_dead |= atoms.is_chosen(segment);
        }
        if !user.is_empty() {
            inside.push(Segment::new(Kind::User, user).with_ambiguous(ambiguous));
        }
        now.splice(range, inside);
        let mut replaced = Replaced::between(&window.segments, &now);
        replaced.first += window.index;
        gap.insert(now, measure);
        replaced
    }

    /// Carries out `replaced`, which must undo the latest change of the segments, and returns the
    /// inverse. Call [`Segments::settle`] afterwards; see the documentation of the module.
    pub fn undo(&mut self, texts: &Texts, replaced: &Replaced) -> Replaced {
        let (gap, measure) = self.open(texts);
        let Replaced {
            first, n_segments, ..
        } = *replaced;
        replaced.inverse(gap.replace(first, n_segments, &replaced.segments, measure))
    }

    /// Ends a run of edits: closes the gap and updates what is derived.
    pub fn settle(&mut self) {
        if let Some(gap) = self.gap.take() {
            self.list = gap.close();
            self.update();
        }
    }

    /// Returns the lines of the target around its characters `chars` (0-based, as Emacs counts
    /// them): those that have one of these characters or the one after them. `None` if the target
    /// does not have `n_chars` characters, or not those. May be called during a run of edits.
    pub fn lines_around(
        &mut self,
        texts: &Texts,
        chars: Range<usize>,
        n_chars: usize,
    ) -> Option<Around> {
        let (gap, measure) = self.open(texts);
        let n_lines = gap.extent.lines;
        if gap.extent.chars != n_chars || chars.start > chars.end || chars.end > n_chars {
            return None;
        }
        let (mut first, mut n_before) = gap.move_to_char(chars.start, measure);
        let (last, _) = gap.move_to_char(chars.end, measure);
        let mut bytes = gap.lines_near(&(first..n_lines.min(last + 1)), measure);
        // What follows a last line without a newline belongs to that line.
        if first == n_lines && first > 0 {
            let above = gap.lines_near(&(first - 1..first), measure);
            if is_unterminated(&above) {
                (first, n_before) = (first - 1, text::n_chars(&above));
                bytes = above;
            }
        }
        let start = len_of_chars(&bytes, n_before);
        let end = start + len_of_chars(&bytes[start..], chars.len());
        Some(Around {
            line: first,
            bytes,
            inside: start..end,
        })
    }

    /// Returns the bytes of the lines of the target in `range`. May be called during a run of
    /// edits.
    pub fn lines_near(&mut self, texts: &Texts, range: Range<usize>) -> Vec<u8> {
        let (gap, measure) = self.open(texts);
        gap.lines_near(&range, measure)
    }

    /// Returns whether the target equals the original, byte for byte. Compares upward and downward
    /// from the last edit, since differences are usually near it. May be called during a run of
    /// edits.
    pub fn reads_as_original(&mut self, texts: &Texts) -> bool {
        let (gap, measure) = self.open(texts);
        let original = texts.original().bytes();
        let is_alive = |segment: &&Segment| measure.atoms.is_alive(segment);
        let mut above = gap.above.iter().rev().filter(is_alive);
        let mut below = gap.below.iter().rev().filter(is_alive);
        let middle = gap.extent_above.bytes;
        let (mut start, mut end) = (middle, middle);
        if gap.extent.bytes != original.len() {
            return false;
        }
        let bytes = |segment: Option<&Segment>| segment.map_or(&[][..], |own| texts.bytes(own));
        loop {
            let (up, down) = (above.next(), below.next());
            if up.is_none() && down.is_none() {
                return true;
            }
            let (up, down) = (bytes(up), bytes(down));
            start -= up.len();
            let is_same = is_same(up, &original[start..start + up.len()])
                && is_same(down, &original[end..end + down.len()]);
            if !is_same {
                return false;
            }
            end += down.len();
        }
    }

    /// Returns the gap, opening it if necessary.
    fn open<'a>(&'a mut self, texts: &'a Texts) -> (&'a mut Gap, Measure<'a>) {
        let atoms = &self.atoms;
        let measure = Measure { atoms, texts };
        let open = || Gap::at_end(mem::take(&mut self.list), measure);
        (self.gap.get_or_insert_with(open), measure)
    }
}

/// Compares bytes. The original's bytes in a segment are the same memory, which makes that fast.
fn is_same(ours: &[u8], theirs: &[u8]) -> bool {
    std::ptr::eq(ours, theirs) || ours == theirs
}

/// Cuts the segments of `window` where its `n_removed` lines from line `line` on begin and end.
/// Returns the segments to be replaced, and the atoms that the new text may belong before or after.
fn replaced_in(
    atoms: &Atoms,
    window: &mut Vec<Segment>,
    line: usize,
    n_removed: usize,
) -> (Range<usize>, Vec<usize>) {
    let first = cut_at(atoms, window, line);
    if n_removed == 0 {
        let at = insertion_point(atoms, window, first);
        return (at..at, ambiguous_in_gap(atoms, window, first));
    }
    let end = cut_at(atoms, window, line + n_removed);
    let last = (first..end).rfind(|&at| atoms.is_alive(&window[at]));
    let range = first..last.map_or(first, |last| last + 1);
    let ambiguous = ambiguous_inside(atoms, &window[range.clone()]);
    (range, ambiguous)
}

/// Returns the index at which user text goes that is inserted before the alive segment `right`:
/// after the segments that belong to the line before, and before the dead lines with which the
/// following atom begins.
fn insertion_point(atoms: &Atoms, window: &[Segment], right: usize) -> usize {
    let Some(atom) = window.get(right).and_then(Segment::atom) else {
        return right;
    };
    let head = window[..right].iter().rev();
    let is_head = |segment: &&Segment| segment.atom() == Some(atom) && !atoms.is_alive(segment);
    right - head.take_while(is_head).count()
}

/// Returns the atoms whose lines may belong before or after text that is inserted before the alive
/// segment `right`.
fn ambiguous_in_gap(atoms: &Atoms, window: &[Segment], right: usize) -> Vec<usize> {
    let is_alive = |segment: &Segment| atoms.is_alive(segment);
    let left = window[..right].iter().rposition(is_alive);
    let mut ambiguous = match left.map(|left| &window[left]) {
        Some(user) if user.is_user() => user.ambiguous().to_vec(),
        _ => Vec::new(),
    };
    add_empty(
        atoms,
        &window[left.map_or(0, |left| left + 1)..right],
        &mut ambiguous,
    );
    ambiguous
}

fn ambiguous_inside(atoms: &Atoms, segments: &[Segment]) -> Vec<usize> {
    let inside = segments
        .iter()
        .flat_map(|user| user.ambiguous().iter().copied());
    let mut ambiguous: Vec<usize> = inside.collect();
    add_empty(atoms, segments, &mut ambiguous);
    ambiguous
}

/// Appends to `ambiguous` the atoms of `segments` that have no line in the target.
fn add_empty(atoms: &Atoms, segments: &[Segment], ambiguous: &mut Vec<usize>) {
    let inside = segments.iter().filter_map(Segment::atom);
    ambiguous.extend(inside.filter(|&atom| atoms[atom].alive_side().is_empty()));
    ambiguous.sort_unstable();
    ambiguous.dedup();
}

/// Cuts the segments of `window` so that an alive one begins at its line `line`, and returns the
/// index of that one; at the end of `window`, the number of segments.
pub(super) fn cut_at(atoms: &Atoms, window: &mut Vec<Segment>, line: usize) -> usize {
    let mut rest = line;
    for index in 0..window.len() {
        let segment = &window[index];
        let len = segment.len();
        match atoms.is_alive(segment) {
            true if rest == 0 => return index,
            true if rest < len => {
                let (head, tail) = segment.clone().cut_at_line(segment.lines().start + rest);
                window[index] = head;
                window.insert(index + 1, tail);
                return index + 1;
            }
            true => rest -= len,
            false => {}
        }
    }
    assert_eq!(rest, 0, "a line past the end of the target");
    window.len()
}

// A gap buffer, which holds the segments during a run of outside edits.
//
// Edits come in runs, each near the one before: a word is replaced everywhere, or that is undone.
// So the segments are kept in two lists, those above the gap and those below it, with the size of
// the part above. An edit then takes time linear in the number of segments between it and the edit
// before.
//
// Knows only how many lines, characters and bytes each segment has in the target, from
// [`Measure`].

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
        if self.atoms.is_alive(segment) {
            self.texts.extent(segment)
        } else {
            Extent::default()
        }
    }

    /// Returns the number of lines, without counting characters.
    fn n_lines(&self, segment: &Segment) -> usize {
        if self.atoms.is_alive(segment) {
            segment.len()
        } else {
            0
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
        for segment in self.below.iter().rev() {
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
