//! A segment of the weave, stored compactly.
//!
//! If every other line changed, there are three segments for each change, and they take most of a
//! review's memory besides the texts. Lines and atoms are numbered in 32 bits, which suffices since
//! a text has no more bytes; what only few segments have is stored separately.

use std::ops::Range;

/// Where a segment's lines come from and what decides whether they are alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Lines of the original that the proposal keeps.
    Common,
    /// The lines of the original that this atom removes.
    Old(usize),
    /// The lines of the modified text that this atom adds.
    New(usize),
    /// Lines of the target that are in neither text.
    User,
}

/// A run of lines that belong together. Takes 24 bytes, and more only for user text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Segment {
    side: Side,
    /// Whether the lines were deleted from outside.
    pub is_dead: bool,
    /// The atom, or 0 if the segment belongs to none.
    atom: u32,
    start: u32,
    end: u32,
    ambiguous: Option<Box<Ambiguous>>,
}

/// See [`Segment::ambiguous`]; so rare that a segment only has a pointer to it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Ambiguous(Vec<usize>);

/// A [`Kind`] without its atom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Common,
    Old,
    New,
    User,
}

impl Segment {
    /// Makes a segment of the lines in `lines` of the text that `kind` names.
    pub fn new(kind: Kind, lines: Range<usize>) -> Segment {
        let segment = Segment {
            side: Side::Common,
            is_dead: false,
            atom: 0,
            start: number(lines.start),
            end: number(lines.end),
            ambiguous: None,
        };
        segment.with_kind(kind)
    }

    pub fn kind(&self) -> Kind {
        match self.side {
            Side::Common => Kind::Common,
            Side::Old => Kind::Old(self.atom as usize),
            Side::New => Kind::New(self.atom as usize),
            Side::User => Kind::User,
        }
    }

    /// Returns a segment of the same lines with another kind.
    pub fn with_kind(self, kind: Kind) -> Segment {
        let (side, atom) = match kind {
            Kind::Common => (Side::Common, 0),
            Kind::Old(atom) => (Side::Old, atom),
            Kind::New(atom) => (Side::New, atom),
            Kind::User => (Side::User, 0),
        };
        let atom = number(atom);
        Segment { side, atom, ..self }
    }

    /// Returns the atom whose lines these are, if any.
    pub fn atom(&self) -> Option<usize> {
        match self.kind() {
            Kind::Old(atom) | Kind::New(atom) => Some(atom),
            Kind::Common | Kind::User => None,
        }
    }

    pub fn is_user(&self) -> bool {
        self.side == Side::User
    }

    /// Returns the lines (0-based, half-open) in the text of the segment's kind.
    pub fn lines(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Returns the number of lines.
    pub fn len(&self) -> usize {
        self.lines().len()
    }

    /// Returns a segment like this one, but of `lines`.
    pub fn with_lines(self, lines: Range<usize>) -> Segment {
        Segment {
            start: number(lines.start),
            end: number(lines.end),
            ..self
        }
    }

    /// Cuts the segment before line `line`, and returns both parts, which may be empty.
    pub fn cut_at_line(self, line: usize) -> (Segment, Segment) {
        let Range { start, end } = self.lines();
        let line = line.clamp(start, end);
        let head = self.clone().with_lines(start..line);
        (head, self.with_lines(line..end))
    }

    /// Returns the atoms whose lines may belong before this segment or after it; only user text has
    /// any.
    pub fn ambiguous(&self) -> &[usize] {
        self.ambiguous
            .as_ref()
            .map_or(&[], |ambiguous| &ambiguous.0)
    }

    pub fn with_ambiguous(self, ambiguous: Vec<usize>) -> Segment {
        let ambiguous = (!ambiguous.is_empty()).then(|| Box::new(Ambiguous(ambiguous)));
        Segment { ambiguous, ..self }
    }
}

/// Converts `n`, the number of a line or an atom, to the stored form.
fn number(n: usize) -> u32 {
    u32::try_from(n).expect("a text has fewer lines than bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_24_bytes_and_loses_nothing() {
        assert_eq!(size_of::<Segment>(), 24);
        for kind in [Kind::Common, Kind::Old(7), Kind::New(7), Kind::User] {
            let segment = Segment::new(kind, 3..9);
            assert_eq!(
                (segment.kind(), segment.lines(), segment.ambiguous()),
                (kind, 3..9, &[][..])
            );
            let segment = segment.with_ambiguous(vec![1, 2]);
            let (head, tail) = segment.clone().cut_at_line(5);
            assert_eq!((head.lines(), tail.lines()), (3..5, 5..9));
            assert_eq!((head.kind(), tail.ambiguous()), (kind, segment.ambiguous()));
        }
    }
}
