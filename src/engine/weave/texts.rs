//! The texts whose lines are woven: the original, the modified text, and what others typed.
//!
//! Knows the bytes and characters of lines, and which lines are unique. Which of them are in the
//! target, and in what order, is for [`Segments`](super::segments::Segments) to know.

use std::ops::{AddAssign, Range, SubAssign};

use imara_diff::{InternedInput, Token};
use once_cell::unsync::OnceCell;

use crate::diff::Group;
use crate::text::{Text, first_open_line, is_unterminated, n_chars};

use super::Atom;
use super::segment::{Kind, Segment};

/// The texts, each with its characters counted.
#[derive(Debug, Clone)]
pub(super) struct Texts {
    original: Counted,
    modified: Counted,
    /// Every line that others have inserted into the target, including those deleted since. After
    /// [`Texts::set_user`], also the lines of the target that belong to no hunk.
    user: Counted,
    unique: OnceCell<UniqueLines>,
    first_open: OnceCell<[usize; 2]>,
}

/// The size of some lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Extent {
    pub lines: usize,
    /// Number of characters as Emacs counts them.
    pub chars: usize,
    pub bytes: usize,
}

impl Texts {
    /// Makes the texts, without any text of others.
    pub fn new(original: Text, modified: Text) -> Texts {
        Texts {
            original: Counted::new(original),
            modified: Counted::new(modified),
            user: Counted::new(Text::new(Vec::new())),
            unique: OnceCell::new(),
            first_open: OnceCell::new(),
        }
    }

    pub fn original(&self) -> &Text {
        &self.original.text
    }

    pub fn modified(&self) -> &Text {
        &self.modified.text
    }

    pub fn user(&self) -> &Text {
        &self.user.text
    }

    /// Returns the text that has the lines of `segment`.
    pub fn text_of(&self, segment: &Segment) -> &Text {
        &self.counted(segment).text
    }

    pub fn bytes(&self, segment: &Segment) -> &[u8] {
        self.text_of(segment).lines_bytes(segment.lines())
    }

    /// Returns the bytes of those lines of `segment`, which begins at line `start` of the target,
    /// that are in `lines` of the target.
    pub fn bytes_within(&self, segment: &Segment, start: usize, lines: &Range<usize>) -> &[u8] {
        let end = start + segment.len();
        let first = segment.lines().start;
        let from = lines.start.clamp(start, end) - start;
        let to = lines.end.clamp(start, end) - start;
        let own = first + from..first + to;
        self.text_of(segment).lines_bytes(own)
    }

    /// Returns the number of characters in the first `n` lines of `segment`. The first call for a
    /// text counts it, in O(bytes).
    pub fn chars_of_head(&self, segment: &Segment, n: usize) -> usize {
        let start = segment.lines().start;
        self.counted(segment).chars_in(start..start + n)
    }

    /// Returns whether the last line of `segment` lacks its terminator. Reads the line only if that
    /// is possible.
    pub fn is_unterminated(&self, segment: &Segment) -> bool {
        let Counted {
            text, has_inner, ..
        } = self.counted(segment);
        let is_last = segment.lines().end == text.len();
        (*has_inner || is_last) && is_unterminated(self.bytes(segment))
    }

    pub fn extent(&self, segment: &Segment) -> Extent {
        let (counted, lines) = (self.counted(segment), segment.lines());
        let n_bytes = counted.text.lines_bytes(lines.clone()).len();
        Extent {
            lines: lines.len(),
            chars: counted.n_chars_in(lines).unwrap_or(n_bytes),
            bytes: n_bytes,
        }
    }

    /// Returns which lines are unique among those of the original and those that `atoms` add; see
    /// [`UniqueLines`]. Computed on the first call.
    pub fn unique(&self, atoms: &[Atom]) -> &UniqueLines {
        let find = || UniqueLines::new(self.original(), self.modified(), atoms);
        self.unique.get_or_init(find)
    }

    /// Returns the first lines of the original and of the modified text that may leave a string open;
    /// see [`first_open_line`]. Computed on the first call.
    pub fn first_open(&self) -> [usize; 2] {
        let find = || [self.original(), self.modified()].map(first_open_line);
        *self.first_open.get_or_init(find)
    }

    /// Replaces the text of others by `text`.
    pub fn set_user(&mut self, text: Text) {
        self.user = Counted::new(text);
    }

    /// Appends `text` to the text of others, and returns its range of lines there.
    pub fn append_user(&mut self, text: &[u8]) -> Range<usize> {
        self.user.append(text)
    }

    /// Replaces the lines of `group` in both texts by `old` and `new`.
    pub fn splice(&mut self, group: &Group, old: &Text, new: &Text) {
        self.unique.take();
        self.first_open.take();
        self.original.splice(group.before.clone(), old);
        self.modified.splice(group.after.clone(), new);
    }

    /// Removes the newline at the end of original and modified text, or restores it. An empty last
    /// line is left alone: without its newline it would not be a line.
    pub fn toggle_last_terminator(&mut self) {
        self.unique.take();
        self.first_open.take();
        for counted in [&mut self.original, &mut self.modified] {
            *counted = Counted::new(counted.text.with_last_terminator_toggled());
        }
    }

    fn counted(&self, segment: &Segment) -> &Counted {
        match segment.kind() {
            Kind::Common | Kind::Old(_) => &self.original,
            Kind::New(_) => &self.modified,
            Kind::User => &self.user,
        }
    }
}

/// A text whose characters are counted on demand.
#[derive(Debug, Clone)]
struct Counted {
    text: Text,
    chars: OnceCell<Chars>,
    /// Whether lines other than the last may lack their terminators.
    has_inner: bool,
}

/// How many characters come before each line of a text; `None` if every character is a byte.
type Chars = Option<Vec<usize>>;

impl Counted {
    fn new(text: Text) -> Counted {
        Counted {
            text,
            chars: OnceCell::new(),
            has_inner: false,
        }
    }

    fn chars_in(&self, lines: Range<usize>) -> usize {
        let n_chars = self.n_chars_in(lines.clone());
        n_chars.unwrap_or_else(|| self.text.lines_bytes(lines).len())
    }

    /// Returns the number of characters in `lines`; `None` if every character is a byte.
    fn n_chars_in(&self, lines: Range<usize>) -> Option<usize> {
        let counts = self.chars.get_or_init(|| count(&self.text)).as_ref()?;
        Some(counts[lines.end] - counts[lines.start])
    }

    fn append(&mut self, more: &[u8]) -> Range<usize> {
        if more.is_empty() {
            return self.text.len()..self.text.len();
        }
        self.has_inner |= !self.text.is_empty() && is_unterminated(self.text.bytes());
        let lines = self.text.append(more);
        match self.chars.get_mut() {
            None => {}
            Some(None) if more.is_ascii() => {}
            Some(None) => drop(self.chars.take()),
            Some(Some(counts)) => {
                for line in self.text.lines(lines.clone()) {
                    counts.push(counts.last().map_or(0, |sum| sum + n_chars(line)));
                }
            }
        }
        lines
    }

    fn splice(&mut self, range: Range<usize>, lines: &Text) {
        self.text.splice(range, lines);
        self.chars.take();
        self.has_inner = true;
    }
}

fn count(text: &Text) -> Chars {
    let add = |sum: &mut usize, line: &[u8]| {
        *sum += n_chars(line);
        Some(*sum)
    };
    let ends = || text.lines(0..text.len()).scan(0, add);
    (!text.bytes().is_ascii()).then(|| std::iter::once(0).chain(ends()).collect())
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

// Which lines occur only once.

/// Which of the original's lines and of the lines that atoms add equal no other of these lines.
///
/// Flipping atoms does not change that. Takes one bit per line of both texts.
#[derive(Debug, Clone)]
pub(super) struct UniqueLines {
    original: Flags,
    modified: Flags,
}

impl UniqueLines {
    /// Compares all lines of `original` and those lines of `modified` that `atoms` add. Takes O(n)
    /// time and space for n lines.
    pub fn new(original: &Text, modified: &Text, atoms: &[Atom]) -> UniqueLines {
        let added = || atoms.iter().flat_map(|atom| atom.new.clone());
        let n_added: usize = atoms.iter().map(|atom| atom.new.len()).sum();
        let mut input = InternedInput::<&[u8]>::default();
        // A text has fewer lines than bytes, and these are counted in 32 bits.
        input.reserve(original.len() as u32, n_added as u32);
        input.update_before(original.lines(0..original.len()));
        input.update_after(added().map(|line| modified.line(line)));
        let mut is_several = vec![false; input.interner.num_tokens() as usize];
        let mut is_there = is_several.clone();
        for token in input.before.iter().chain(&input.after) {
            let token = token.0 as usize;
            is_several[token] |= is_there[token];
            is_there[token] = true;
        }
        let is_unique = |(_, token): &(usize, &Token)| !is_several[token.0 as usize];
        let line = |(line, _)| line;
        let lines = (0..original.len()).zip(&input.before).filter(is_unique);
        let added = added().zip(&input.after).filter(is_unique);
        UniqueLines {
            original: Flags::new(original.len(), lines.map(line)),
            modified: Flags::new(modified.len(), added.map(line)),
        }
    }
    /// Returns whether line `line` of the text of `segment`, one of the segment's lines, is unique;
    /// false for text of others.
    pub fn has(&self, segment: &Segment, line: usize) -> bool {
        match segment.kind() {
            Kind::Common | Kind::Old(_) => self.original.is_set(line),
            Kind::New(_) => self.modified.is_set(line),
            Kind::User => false,
        }
    }
}

/// A set of lines.
#[derive(Debug, Clone)]
struct Flags(Vec<u64>);

impl Flags {
    fn new(n_lines: usize, set: impl Iterator<Item = usize>) -> Flags {
        let mut flags = vec![0; n_lines.div_ceil(64)];
        set.for_each(|line| flags[line / 64] |= 1 << (line % 64));
        Flags(flags)
    }

    fn is_set(&self, line: usize) -> bool {
        self.0[line / 64] >> (line % 64) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_stay_counted_while_lines_are_appended() {
        let mut counted = Counted::new(Text::new(b"a\n".to_vec()));
        assert_eq!(counted.chars_in(0..1), 2);
        for more in ["bc\n", "\u{e4}\n", "d\u{1f600}\n", "e"] {
            counted.append(more.as_bytes());
            let n_lines = counted.text.len();
            let all = n_chars(counted.text.bytes());
            assert_eq!(counted.chars_in(0..n_lines), all);
            let last = n_chars(more.as_bytes());
            assert_eq!(counted.chars_in(n_lines - 1..n_lines), last);
        }
    }
}
