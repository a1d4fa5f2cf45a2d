//! The texts whose lines are woven: the original, the modified text, and what others typed.
//!
//! Knows the bytes and characters of lines. Which of them are in the target, and in what order, is for
//! [`Segments`](super::segments::Segments) to know.

use std::ops::{AddAssign, Range, SubAssign};

use once_cell::unsync::OnceCell;

use crate::diff::Group;
use crate::text::{Syntax, Text, is_unterminated, n_chars};

use super::segment::{Kind, Segment};

/// The texts, each with its characters counted.
#[derive(Debug, Clone)]
pub(super) struct Texts {
    original: Counted,
    modified: Counted,
    /// Every line that others have inserted into the target, including those deleted since. After
    /// [`Texts::set_user`], also the lines of the target that belong to no hunk.
    user: Counted,
    /// What of the original and of the modified text are strings and comments, if that is known.
    syntaxes: Option<[Syntax; 2]>,
    first_doubtful: OnceCell<[usize; 2]>,
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
            syntaxes: None,
            first_doubtful: OnceCell::new(),
        }
    }

    pub fn original(&self) -> &Text {
        &self.original.text
    }

    pub fn modified(&self) -> &Text {
        &self.modified.text
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

    /// Takes what of the original and of the modified text are strings and comments. It is forgotten when
    /// one of them changes.
    pub fn set_syntaxes(&mut self, syntaxes: Option<[Syntax; 2]>) {
        self.syntaxes = syntaxes;
        self.first_doubtful.take();
    }

    pub fn syntaxes(&self) -> Option<&[Syntax; 2]> {
        self.syntaxes.as_ref()
    }

    /// Returns the first lines of the original and the modified text that may be something else than they
    /// seem. On the first call, `find` finds them.
    pub fn first_doubtful(
        &self,
        find: impl FnOnce([&Text; 2], Option<&[Syntax; 2]>) -> [usize; 2],
    ) -> [usize; 2] {
        let texts = [self.original(), self.modified()];
        *self
            .first_doubtful
            .get_or_init(|| find(texts, self.syntaxes()))
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
        let is_old_same = self.original.has(&group.before, old);
        let is_new_same = self.modified.has(&group.after, new);
        if !is_old_same {
            self.original.splice(group.before.clone(), old);
        }
        if !is_new_same {
            self.modified.splice(group.after.clone(), new);
        }
        if !is_old_same || !is_new_same {
            self.set_syntaxes(None);
        }
    }

    /// Removes the newline at the end of original and modified text, or restores it. An empty last
    /// line is left alone: without its newline it would not be a line.
    pub fn toggle_last_terminator(&mut self) {
        self.set_syntaxes(None);
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

    /// Returns whether `range` has just `lines`.
    fn has(&self, range: &Range<usize>, lines: &Text) -> bool {
        range.len() == lines.len() && self.text.lines_bytes(range.clone()) == lines.bytes()
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
