//! The text of the target: the bytes of the alive segments, in order.
//!
//! Only reads segments and texts, and copies nothing unless asked to.

use std::ops::Range;

use crate::text::{Text, equal_head, equal_tail};

use super::segment::Segment;
use super::segments::{Segments, partition_point};
use super::texts::Texts;

/// The target, according to the weave.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target<'a> {
    pub(super) texts: &'a Texts,
    pub(super) segments: &'a Segments,
}

impl<'a> Target<'a> {
    /// Returns the whole text.
    pub(crate) fn to_vec(self) -> Vec<u8> {
        self.pieces().concat()
    }

    /// Returns the whole text in pieces.
    pub(crate) fn pieces(self) -> Vec<&'a [u8]> {
        let alive = self.segments.alive();
        alive.map(|segment| self.texts.bytes(segment)).collect()
    }

    /// Returns the pieces of the whole text, with `lines` replaced by `text`.
    pub(crate) fn pieces_with(self, lines: &Range<usize>, text: &'a [u8]) -> Vec<&'a [u8]> {
        let mut pieces = self.pieces_of(0..lines.start);
        pieces.push(text);
        pieces.extend(self.pieces_of(lines.end..self.n_lines()));
        pieces
    }

    /// Returns the bytes of the lines in `range`.
    pub(crate) fn lines(self, range: Range<usize>) -> Vec<u8> {
        self.pieces_of(range).concat()
    }

    /// Returns the lines in `range`, in pieces. Takes O(log s) time for s segments, plus that for
    /// the segments in `range`.
    fn pieces_of(self, range: Range<usize>) -> Vec<&'a [u8]> {
        let mut pieces = Vec::new();
        let (first, mut line) = self.segments.above_line(range.start);
        for segment in self.segments.alive_from(first) {
            let piece = self.texts.bytes_within(segment, line, &range);
            if !piece.is_empty() {
                pieces.push(piece);
            }
            line += segment.len();
            if line >= range.end {
                break;
            }
        }
        pieces
    }

    /// Returns the number of lines.
    pub(crate) fn n_lines(self) -> usize {
        self.segments.n_lines()
    }

    /// Returns the number of characters, as Emacs counts them.
    pub fn n_chars(self) -> usize {
        self.segments.n_chars(self.texts)
    }

    /// Returns how many characters, as Emacs counts them, come before line `line`.
    pub(crate) fn chars_before(self, line: usize) -> usize {
        self.segments.chars_before(self.texts, line)
    }

    /// Returns how many bytes come before line `line`.
    pub(super) fn bytes_before(self, line: usize) -> usize {
        let pieces = self.pieces_of(0..line);
        pieces.iter().map(|piece| piece.len()).sum()
    }

    /// Returns how many lines begin before byte `at`.
    pub(super) fn lines_before(self, at: usize) -> usize {
        let (mut n_lines, mut rest) = (0, at);
        for segment in self.segments.alive() {
            let (text, lines) = (self.texts.text_of(segment), segment.lines());
            let len = |n: usize| text.lines_bytes(lines.start..lines.start + n).len();
            if rest < len(lines.len()) {
                return n_lines + partition_point(lines.len(), |n| len(n) < rest);
            }
            n_lines += lines.len();
            rest -= len(lines.len());
        }
        n_lines
    }

    /// Returns whether the text equals `live`, byte for byte.
    pub(crate) fn is(self, live: &[u8]) -> bool {
        let alive = self.segments.alive();
        let lens = alive.map(|segment| self.texts.bytes(segment).len());
        if lens.sum::<usize>() != live.len() {
            return false;
        }
        let mut rest = live;
        for segment in self.segments.alive() {
            match rest.strip_prefix(self.texts.bytes(segment)) {
                Some(after) => rest = after,
                None => return false,
            }
        }
        rest.is_empty()
    }

    /// Returns the lines one by one.
    pub(crate) fn lines_one_by_one(self) -> Vec<&'a [u8]> {
        let alive = self.segments.alive();
        let lines = alive.map(|segment| self.texts.text_of(segment).lines(segment.lines()));
        lines.flatten().collect()
    }
}

// Compares a text with the target while it is read part by part.
//
// An editor copies the text that it hands out. Read in parts, that takes the memory of one part
// only, and a part is still in the processor's cache when it is compared.

/// The state of reading a text; see `Review::read_on`.
#[derive(Debug, Clone)]
pub struct Reading {
    /// Number of characters of the text, as Emacs counts them.
    n_chars: usize,
    /// Number of characters in a part; [`Reading::PART_LEN`] except in tests.
    part_len: usize,
    /// The characters that are to be read next.
    part: Range<usize>,
    place: Place,
    /// How far the target was compared.
    at: Cursor,
}

#[derive(Debug, Clone)]
enum Place {
    /// At the beginning of the text, as long as it equals the target.
    Head,
    /// At the end of the text, as long as it equals the target, at most back to this line.
    Tail(Floor),
    /// At the lines that replace these lines of the target.
    Middle { lines: Range<usize> },
}

/// The first line of the target that differs in the text.
#[derive(Debug, Clone)]
struct Floor {
    line: usize,
    /// Number of characters before it.
    n_chars: usize,
    /// Number of bytes from its start on that have not been compared with the tail.
    n_left: usize,
}

/// A place between two bytes of the target.
#[derive(Debug, Clone, Default)]
struct Cursor {
    /// Number of bytes before it.
    n_passed: usize,
    /// Number of segments before the one that it is in.
    n_segments: usize,
    /// Number of bytes of that segment before it.
    n_inside: usize,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Read these characters (0-based).
    Read(Range<usize>),
    /// Nothing more: the text is the target.
    Same,
    /// Nothing more: the text differs in this way.
    Changed(Changed),
}

impl Reading {
    /// Number of characters in a part, as long as the text equals the target.
    pub const PART_LEN: usize = 1 << 15;

    /// Begins to read a text of `n_chars` characters.
    pub(crate) fn new(n_chars: usize) -> Reading {
        Reading::in_parts(n_chars, Reading::PART_LEN)
    }

    fn in_parts(n_chars: usize, part_len: usize) -> Reading {
        Reading {
            n_chars,
            part_len,
            part: 0..n_chars.min(part_len),
            place: Place::Head,
            at: Cursor::default(),
        }
    }

    /// Returns the characters to be read next.
    pub fn part(&self) -> Range<usize> {
        self.part.clone()
    }

    /// Continues with `text`, the characters of [`Reading::part`], and returns what to do next.
    ///
    /// `target` must not have changed since the reading began.
    pub(crate) fn read_on(&mut self, target: Target, text: &[u8]) -> Next {
        match self.place.clone() {
            Place::Head => self.read_head(target, text),
            Place::Tail(floor) => self.read_tail(target, text, floor),
            Place::Middle { lines } => {
                let changed = target.changed_inside(lines, text);
                changed.map_or(Next::Same, Next::Changed)
            }
        }
    }

    fn read_head(&mut self, target: Target, text: &[u8]) -> Next {
        let n_same = target.pass_head(&mut self.at, text);
        if n_same == text.len() && self.part.end < self.n_chars {
            return self.ask_below(self.part.end);
        }
        let n_bytes = target.bytes_before(target.n_lines());
        let n_head = self.at.n_passed;
        if n_same == text.len() && n_head == n_bytes {
            return Next::Same;
        }
        // The text may continue the target's last line, if that has no newline.
        let line = target.lines_before(n_head + 1).saturating_sub(1);
        let floor = Floor {
            line,
            n_chars: target.chars_before(line),
            n_left: n_bytes - target.bytes_before(line),
        };
        self.at = Cursor::default();
        self.place = Place::Tail(floor.clone());
        self.ask_above(self.n_chars, &floor)
    }

    fn read_tail(&mut self, target: Target, text: &[u8], mut floor: Floor) -> Next {
        let text = &text[text.len().saturating_sub(floor.n_left)..];
        let n_same = target.pass_tail(&mut self.at, text);
        floor.n_left -= n_same;
        let start = self.part.start;
        if n_same == text.len() && floor.n_left > 0 && start > floor.n_chars {
            self.place = Place::Tail(floor.clone());
            return self.ask_above(start, &floor);
        }
        // The first line that begins after a newline that both have.
        let n_bytes = target.bytes_before(target.n_lines());
        let end = target.lines_before(n_bytes - self.at.n_passed + 1);
        let n_behind = target.n_chars() - target.chars_before(end);
        let lines = floor.line..end;
        self.place = Place::Middle { lines };
        self.ask(floor.n_chars..self.n_chars - n_behind)
    }

    fn ask_below(&mut self, at: usize) -> Next {
        self.ask(at..self.n_chars.min(at + self.part_len))
    }

    fn ask_above(&mut self, at: usize, floor: &Floor) -> Next {
        self.ask(at.saturating_sub(self.part_len).max(floor.n_chars)..at)
    }

    fn ask(&mut self, part: Range<usize>) -> Next {
        self.part = part;
        Next::Read(self.part())
    }
}

impl Target<'_> {
    /// Advances `at` over the leading bytes of `text` that equal the target's from there on, and
    /// returns their number.
    fn pass_head(self, at: &mut Cursor, text: &[u8]) -> usize {
        let segments = self.segments.all()[at.n_segments..].iter();
        self.pass(at, segments, |bytes, n_inside, n_done| {
            equal_head(&bytes[n_inside..], &text[n_done..])
        })
    }

    /// Like [`Target::pass_head`] for the tail of `text`; `at` counts from the end of the target.
    fn pass_tail(self, at: &mut Cursor, text: &[u8]) -> usize {
        let segments = self.segments.all().iter().rev().skip(at.n_segments);
        self.pass(at, segments, |bytes, n_inside, n_done| {
            equal_tail(
                &bytes[..bytes.len() - n_inside],
                &text[..text.len() - n_done],
            )
        })
    }

    /// Advances `at` over the bytes of `segments` as long as they equal the text's, and returns
    /// their number. `n_same` gets the bytes of a segment, how many of them `at` has passed, and
    /// how many bytes this call has passed; it returns how many more are equal.
    fn pass<'a>(
        self,
        at: &mut Cursor,
        segments: impl Iterator<Item = &'a Segment>,
        n_same: impl Fn(&[u8], usize, usize) -> usize,
    ) -> usize {
        let mut n_done = 0;
        for segment in segments {
            if self.segments.is_alive(segment) {
                let bytes = self.texts.bytes(segment);
                let n_more = n_same(bytes, at.n_inside, n_done);
                n_done += n_more;
                at.n_passed += n_more;
                at.n_inside += n_more;
                if at.n_inside < bytes.len() {
                    break;
                }
            }
            at.n_segments += 1;
            at.n_inside = 0;
        }
        n_done
    }
}

// Finds where another text differs from the target.
//
// If an edit was missed, the new text usually differs from the target in a few lines only.
// Comparing memory from both ends finds them; everything else is unchanged.

/// The part that differs between the target and another text: whole lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// Lines of the target (0-based) that are different in the other text.
    pub lines: Range<usize>,
    /// The lines that replace them in the other text.
    pub text: Vec<u8>,
}

impl Target<'_> {
    /// Returns the part in which `live` differs from the target; `None` if it does not.
    ///
    /// Above and below that part, both have the same lines. Takes O(n) time and space for n bytes.
    pub(crate) fn changed_in(self, live: &[u8]) -> Option<Changed> {
        self.changed_inside(0..self.n_lines(), live)
    }

    /// Like [`Target::changed_in`], for the target with `lines` replaced by `text`.
    pub(super) fn changed_inside(self, lines: Range<usize>, text: &[u8]) -> Option<Changed> {
        let old = Text::new(self.lines(lines.clone()));
        let new = Text::new(text.to_vec());
        if old == new {
            return None;
        }
        let n_head = old.equal_head(0..old.len(), &new, 0..new.len());
        let n_tail = old.equal_tail(n_head..old.len(), &new, n_head..new.len());
        Some(Changed {
            lines: lines.start + n_head..lines.end - n_tail,
            text: new.lines_bytes(n_head..new.len() - n_tail).to_vec(),
        })
    }

    /// Widens `changed` by up to `n_lines` lines on each side.
    pub(crate) fn widened(self, changed: &Changed, n_lines: usize) -> Changed {
        let Changed { lines, text } = changed;
        let start = lines.start.saturating_sub(n_lines);
        let end = lines.end.saturating_add(n_lines).min(self.n_lines());
        let above = self.lines(start..lines.start);
        let below = self.lines(lines.end..end);
        Changed {
            lines: start..end,
            text: [&above, &text[..], &below].concat(),
        }
    }
}

#[cfg(test)]
mod reading_tests {
    use super::*;
    use crate::dice::Dice;
    use crate::diff;
    use crate::text::Text;
    use crate::weave::Weave;

    /// Returns a text of fewer than `max_len` lines and perhaps a last one without newline.
    fn any_text(roll: &mut impl FnMut(usize) -> usize, max_len: usize) -> String {
        let lines = ["\n", "a\n", "b\u{e4}\n", "\u{1f600}\n"];
        let n_lines = roll(max_len);
        let mut text: String = (0..n_lines).map(|_| lines[roll(4)]).collect();
        text.push_str(["", "", "a", "\u{e4}"][roll(4)]);
        text
    }

    /// Reads `live` in parts of `part_len` characters, and returns where it differs.
    fn read(weave: &Weave, live: &str, part_len: usize) -> Option<Changed> {
        let chars: Vec<char> = live.chars().collect();
        let mut reading = Reading::in_parts(chars.len(), part_len);
        let mut part = reading.part();
        loop {
            let text: String = chars[part].iter().collect();
            part = match reading.read_on(weave.target(), text.as_bytes()) {
                Next::Read(part) => part,
                Next::Same => return None,
                Next::Changed(changed) => return Some(changed),
            };
        }
    }

    #[test]
    fn what_is_read_in_parts_differs_where_the_whole_does() {
        let mut dice = Dice::new(1);
        let mut roll = |n: usize| dice.roll(n);
        let mut n_changed = 0;
        for case in 0..50_000 {
            let [original, modified] = [(); 2].map(|()| any_text(&mut roll, 8));
            let [original, modified] =
                [original, modified].map(|text| Text::new(text.into_bytes()));
            let edits = diff::edits(&original, &modified);
            let mut weave = Weave::new(original, modified, &edits);
            let all: Vec<usize> = (0..edits.len()).collect();
            weave.flip(&all[..roll(all.len() + 1)]);
            let target =
                String::from_utf8(weave.target().to_vec()).expect("it is made of characters");
            let live = match roll(3) {
                0 => any_text(&mut roll, 8),
                1 => target,
                _ => {
                    let mut chars: Vec<char> = target.chars().collect();
                    let at = roll(chars.len() + 1);
                    let end = (at + roll(3)).min(chars.len());
                    chars.splice(at..end, any_text(&mut roll, 2).chars());
                    chars.into_iter().collect()
                }
            };
            let changed = read(&weave, &live, 1 + roll(6));
            assert_eq!(
                changed,
                weave.target().changed_in(live.as_bytes()),
                "case {case}"
            );
            n_changed += usize::from(changed.is_some());
        }
        assert!(n_changed > 20_000, "only {n_changed} differ");
    }
}

#[cfg(test)]
mod changed_tests {
    use super::*;
    use crate::dice::Dice;
    use crate::diff;
    use crate::weave::Weave;

    /// Returns a text of fewer than `max_len` lines and perhaps a last one without newline.
    fn any_text(roll: &mut impl FnMut(usize) -> usize, max_len: usize) -> Vec<u8> {
        let lines = ["\n", "a\n", "ba\n", "b\n"];
        let mut text = (0..roll(max_len))
            .map(|_| lines[roll(4)])
            .collect::<String>();
        if roll(3) == 0 {
            text.push_str(["a", "b", "\r"][roll(3)]);
        }
        text.into_bytes()
    }

    #[test]
    fn all_but_the_part_that_changed_are_the_same_lines() {
        let mut dice = Dice::new(1);
        let mut roll = |n: usize| dice.roll(n);
        for _ in 0..50_000 {
            let original = Text::new(any_text(&mut roll, 6));
            let modified = Text::new(any_text(&mut roll, 6));
            let edits = diff::edits(&original, &modified);
            let mut weave = Weave::new(original, modified, &edits);
            let all: Vec<usize> = (0..edits.len()).collect();
            weave.flip(&all[..roll(all.len() + 1)]);
            let (old, live) = (
                Text::new(weave.target().to_vec()),
                Text::new(any_text(&mut roll, 6)),
            );
            let Some(changed) = weave.target().changed_in(live.bytes()) else {
                assert_eq!(old, live);
                continue;
            };
            let Changed { lines, text } = changed.clone();
            let n_tail = old.len() - lines.end;
            // The change is what remains between the equal lines at both ends.
            let n_head = (0..old.len().min(live.len()))
                .take_while(|&at| old.line(at) == live.line(at))
                .count();
            let n_room = old.len().min(live.len()) - n_head;
            let is_same = |at: &usize| old.line(old.len() - at) == live.line(live.len() - at);
            let n_same = (1..=n_room).take_while(is_same).count();
            assert_eq!((lines.start, n_tail), (n_head, n_same), "{old:?} {live:?}");
            assert_eq!(text, live.lines_bytes(n_head..live.len() - n_same));
            let wide = weave.target().widened(&changed, 1);
            let n_more = [n_head.min(1), n_same.min(1)];
            assert_eq!(wide.lines, n_head - n_more[0]..lines.end + n_more[1]);
            let wide_lines = wide.lines.start..live.len() - (old.len() - wide.lines.end);
            assert_eq!(live.lines_bytes(wide_lines), wide.text);
        }
    }
}
