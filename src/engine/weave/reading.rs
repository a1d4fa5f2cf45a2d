//! Compares a text with the target while it is read part by part.
//!
//! An editor copies the text that it hands out. Read in parts, that takes the memory of one part
//! only, and a part is still in the processor's cache when it is compared.

use std::ops::Range;

use super::Changed;
use super::segment::Segment;
use super::target::Target;
use crate::text::{equal_head, equal_tail};

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

#[cfg(test)]
mod tests {
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
