//! Edits of the target that others make: they enter the line map exactly as they were made.
//!
//! Which line a line is depends on what was done, never on how it reads: lines that were deleted
//! and typed again are others. Only the undoing of the very last edit brings the same lines back.

use std::ops::Range;

use super::{Kind, Segment, Weave};

/// How many changes can be undone line by line; older ones cost their lines their identity.
const MAX_PAST: usize = 512;

/// Something that happened to the target and can be undone.
#[derive(Debug, Clone)]
pub(super) enum Past {
    Edit(Replaced),
    /// These atoms were flipped.
    Flip(Vec<usize>),
}

/// An edit from outside: what it did to the text and to the segments.
#[derive(Debug, Clone)]
pub(super) struct Replaced {
    line: usize,
    old: Vec<u8>,
    new: Vec<u8>,
    /// Index of the first segment that is not what it was.
    first: usize,
    segments: Vec<Segment>,
    n_segments: usize,
}

/// What happened to the target and can be undone, the latest last.
#[derive(Debug, Clone, Default)]
pub(super) struct Journal {
    entries: Vec<Past>,
    /// How many were forgotten, which came before these.
    n_forgotten: usize,
}

impl Journal {
    /// Returns how many things have happened, those forgotten included.
    fn n_done(&self) -> usize {
        self.n_forgotten + self.entries.len()
    }

    fn push(&mut self, past: Past) {
        if self.entries.len() == MAX_PAST {
            self.entries.drain(..MAX_PAST / 2);
            self.n_forgotten += MAX_PAST / 2;
        }
        self.entries.push(past);
    }

    /// Leaves no more than the first `n_done`, those forgotten included.
    fn cut(&mut self, n_done: usize) {
        self.entries
            .truncate(n_done.saturating_sub(self.n_forgotten));
    }

    /// Forgets everything: it can no longer be undone line by line.
    pub fn forget(&mut self) {
        self.n_forgotten = self.n_done();
        self.entries.clear();
    }
}

/// The segments at some time, and how much had happened by then.
pub(crate) struct Now {
    n_done: usize,
    segments: Vec<Segment>,
}

impl Replaced {
    /// Returns what made the segments `before` those `after`.
    fn between(
        line: usize,
        old: Vec<u8>,
        new: &[u8],
        before: &[Segment],
        after: &[Segment],
    ) -> Replaced {
        let pairs = before.iter().zip(after);
        let first = pairs.take_while(|(a, b)| a == b).count();
        let tails = before[first..]
            .iter()
            .rev()
            .zip(after[first..].iter().rev());
        let n_tail = tails.take_while(|(a, b)| a == b).count();
        Replaced {
            line,
            old,
            new: new.to_vec(),
            first,
            segments: before[first..before.len() - n_tail].to_vec(),
            n_segments: after.len() - n_tail - first,
        }
    }

    /// Makes `segments` what they were before the edit.
    fn undo(&self, segments: &mut Vec<Segment>) {
        let range = self.first..self.first + self.n_segments;
        segments.splice(range, self.segments.iter().cloned());
    }
}

impl Weave {
    /// Learns that somebody else replaced `n_removed` lines of the target from line `line` on by
    /// `text`, and whether that was the undoing of something.
    ///
    /// Panics if the target has no such lines. `text` consists of whole lines; only at the end of
    /// the target can its last one lack the newline.
    pub fn edit_outside(&mut self, line: usize, n_removed: usize, text: &[u8], is_undo: bool) {
        self.edit_loosely(line, n_removed, text, is_undo);
        self.settle();
    }

    /// The same, but nothing can be asked before [`Weave::settle`] is called.
    pub(crate) fn edit_loosely(
        &mut self,
        line: usize,
        n_removed: usize,
        text: &[u8],
        is_undo: bool,
    ) {
        if n_removed == 0 && text.is_empty() {
            return;
        }
        if !(is_undo && self.undo_edit(line, n_removed, text)) {
            self.replace(line, n_removed, text);
            if is_undo {
                self.undo_flip();
            }
        }
    }

    /// Takes the last edits from outside back if the given one, an undoing, does that to the text,
    /// and tells whether it does.
    pub fn undo_outside(&mut self, line: usize, n_removed: usize, text: &[u8]) -> bool {
        let is_undone = self.undo_edit(line, n_removed, text);
        self.settle();
        is_undone
    }

    /// Returns how many things have happened to the target. Less if one of them is undone.
    pub(crate) fn n_done(&self) -> usize {
        self.past.n_done()
    }

    /// Returns how many of these are too long ago to be undone.
    pub(crate) fn n_forgotten(&self) -> usize {
        self.past.n_forgotten
    }

    /// Returns a mark for [`Weave::count_as_one`].
    pub(crate) fn now(&self) -> Now {
        Now {
            n_done: self.n_done(),
            segments: self.segments.clone(),
        }
    }

    /// Makes all edits from outside since `before` one, which replaced `old` by `new` at `line`.
    pub(crate) fn count_as_one(&mut self, before: Now, line: usize, old: &[u8], new: &[u8]) {
        if self.n_done() > before.n_done {
            self.past.cut(before.n_done);
            let old = old.to_vec();
            let all = Replaced::between(line, old, new, &before.segments, &self.segments);
            self.past.push(Past::Edit(all));
        }
    }

    fn replace(&mut self, line: usize, n_removed: usize, text: &[u8]) {
        let old = self.lines_near(line..line + n_removed);
        let window = self.take_window(line, n_removed);
        let mut now = window.segments.clone();
        let (range, amb) = self.replaced_in(&mut now, line - window.line, n_removed);
        let mut inside: Vec<Segment> = now[range.clone()].to_vec();
        inside.retain(|segment| !segment.is_user());
        for segment in &mut inside {
            segment.is_dead |= self.is_chosen(segment);
        }
        if !text.is_empty() {
            let user = Segment::new(Kind::User, self.append_user(text));
            inside.push(user.with_amb(amb));
        }
        now.splice(range, inside);
        let mut replaced = Replaced::between(line, old, text, &window.segments, &now);
        replaced.first += window.index;
        self.past.push(Past::Edit(replaced));
        self.put_back(now);
    }

    /// Cuts the segments of `window` where `n_removed` lines from line `line` of it on begin and end.
    /// Returns which segments give way to what is put there, and the atoms that it might belong
    /// before or after.
    fn replaced_in(
        &self,
        window: &mut Vec<Segment>,
        line: usize,
        n_removed: usize,
    ) -> (Range<usize>, Vec<usize>) {
        let first = self.cut_at(window, line);
        if n_removed == 0 {
            let at = self.insertion_point(window, first);
            return (at..at, self.amb_of_gap(window, first));
        }
        let end = self.cut_at(window, line + n_removed);
        let range = first..self.past_last_alive(window, first..end);
        let amb = self.amb_inside(&window[range.clone()]);
        (range, amb)
    }

    /// Returns the index where user text goes that is inserted before the alive segment `right`:
    /// after what belongs to the line before, and before the dead head of the atom that follows.
    fn insertion_point(&self, window: &[Segment], right: usize) -> usize {
        let Some(atom) = window.get(right).and_then(Segment::atom) else {
            return right;
        };
        let head = window[..right].iter().rev();
        let is_head = |segment: &&Segment| segment.atom() == Some(atom) && !self.is_alive(segment);
        right - head.take_while(is_head).count()
    }

    /// Returns the atoms whose lines might belong before or after what is inserted before the
    /// alive segment `right`.
    fn amb_of_gap(&self, window: &[Segment], right: usize) -> Vec<usize> {
        let is_alive = |segment: &Segment| self.is_alive(segment);
        let left = window[..right].iter().rposition(is_alive);
        let mut amb = match left.map(|left| &window[left]) {
            Some(user) if user.is_user() => user.amb().to_vec(),
            _ => Vec::new(),
        };
        self.add_empty(&window[left.map_or(0, |left| left + 1)..right], &mut amb);
        amb
    }

    fn amb_inside(&self, segments: &[Segment]) -> Vec<usize> {
        let ambs = segments.iter().flat_map(|user| user.amb().iter().copied());
        let mut amb: Vec<usize> = ambs.collect();
        self.add_empty(segments, &mut amb);
        amb
    }

    /// Adds to `amb` the atoms among `segments` that have no line in the target.
    fn add_empty(&self, segments: &[Segment], amb: &mut Vec<usize>) {
        let atoms = segments.iter().filter_map(Segment::atom);
        amb.extend(atoms.filter(|&atom| self.atoms[atom].alive_side().is_empty()));
        amb.sort_unstable();
        amb.dedup();
    }

    /// Cuts the segments of `window` so that one that is alive begins with its line `line`, and
    /// returns its index; behind the last line, the number of segments.
    pub(super) fn cut_at(&self, window: &mut Vec<Segment>, line: usize) -> usize {
        let mut rest = line;
        for index in 0..window.len() {
            let segment = &window[index];
            let len = segment.len();
            match self.is_alive(segment) {
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

    fn past_last_alive(&self, window: &[Segment], range: Range<usize>) -> usize {
        let is_alive = |segment: &Segment| self.is_alive(segment);
        let last = window[range.clone()].iter().rposition(is_alive);
        last.map_or(range.start, |last| range.start + last + 1)
    }

    /// Returns the lines of the target in `range`, as bytes.
    pub fn target_lines(&self, range: Range<usize>) -> Vec<u8> {
        self.pieces_of(range).concat()
    }

    /// Returns the lines of the target in `range`, in pieces.
    pub(super) fn pieces_of(&self, range: Range<usize>) -> Vec<&[u8]> {
        let mut pieces = Vec::new();
        let (first, mut line) = self.segment_above(range.start);
        for segment in self.alive_of(&self.segments[first..]) {
            let end = line + segment.len();
            let from = range.start.clamp(line, end) - line + segment.lines().start;
            let to = range.end.clamp(line, end) - line + segment.lines().start;
            if from < to {
                pieces.push(self.text_of(segment).lines_bytes(from..to));
            }
            line = end;
            if line >= range.end {
                break;
            }
        }
        pieces
    }
}

/// Undoing.
impl Weave {
    pub(super) fn remember_flip(&mut self, chosen: &[usize]) {
        self.past.push(Past::Flip(chosen.to_vec()));
    }

    /// Takes the last edits from outside back if that is what the given edit does to the text.
    ///
    /// Several are taken back at once only if each replaced what the one before it had put: Emacs
    /// undoes a word that was typed in one step.
    fn undo_edit(&mut self, line: usize, n_removed: usize, text: &[u8]) -> bool {
        let now = self.lines_near(line..line + n_removed);
        let mut removed = &now[..];
        let mut n_left = self.past.entries.len();
        loop {
            let Some(Past::Edit(last)) = n_left.checked_sub(1).map(|last| &self.past.entries[last])
            else {
                return false;
            };
            if last.line != line || last.new != removed {
                return false;
            }
            n_left -= 1;
            if last.old == text {
                break;
            }
            removed = &last.old;
        }
        while self.past.entries.len() > n_left {
            if let Some(Past::Edit(last)) = self.past.entries.pop() {
                self.replace_segments(last.first, last.n_segments, &last.segments);
            }
        }
        true
    }

    /// Takes the last flip back, with all that came after it, if the target now reads as before.
    fn undo_flip(&mut self) {
        let is_flip = |past: &Past| matches!(past, Past::Flip(_));
        let Some(at) = self.past.entries.iter().rposition(is_flip) else {
            return;
        };
        self.settle();
        let mut segments = self.segments.clone();
        let mut facts: Vec<bool> = self.atoms.iter().map(|atom| atom.is_applied).collect();
        for past in self.past.entries[at..].iter().rev() {
            match past {
                Past::Edit(edit) => edit.undo(&mut segments),
                Past::Flip(chosen) => chosen.iter().for_each(|&atom| facts[atom] ^= true),
            }
        }
        if self.reads_as(&segments, &facts, &self.target()) {
            let atoms = self.atoms.iter_mut().zip(facts);
            atoms.for_each(|(atom, is_applied)| atom.is_applied = is_applied);
            self.segments = segments;
            self.past.entries.truncate(at);
            self.update_statuses();
        }
    }

    /// Tells whether the target would read as `live` with these `segments` and `facts`.
    fn reads_as(&self, segments: &[Segment], facts: &[bool], live: &[u8]) -> bool {
        let mut rest = Some(live);
        for segment in segments.iter().filter(|segment| !segment.is_dead) {
            let is_chosen = match segment.kind() {
                Kind::Common | Kind::User => true,
                Kind::Old(atom) => !facts[atom],
                Kind::New(atom) => facts[atom],
            };
            if is_chosen {
                rest = rest.and_then(|rest| rest.strip_prefix(self.bytes(segment)));
            }
        }
        rest.is_some_and(<[u8]>::is_empty)
    }
}
