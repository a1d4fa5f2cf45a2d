//! Which parts of a text are strings and comments, as an editor that knows its language says.

use super::chars::len_of_chars;

/// What a stretch of a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// Neither of the others.
    Code,
    /// A string, or something like it: a character, a regular expression.
    String,
    /// A comment.
    Comment,
}

/// A string or a comment, with the marks at its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    /// The byte with which it begins.
    pub start: usize,
    /// The byte after it.
    pub end: usize,
    /// What it is.
    pub place: Place,
}

/// The strings and comments of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Syntax(Vec<Span>);

impl Syntax {
    /// Makes the syntax of `text` of `spans`: from which character, as Emacs counts them, to before
    /// which one, and what that is. `None` if they are not in order, or not in the text.
    ///
    /// ```
    /// use agent_q_diff_engine::text::{Place, Syntax};
    /// let syntax = Syntax::new(b"x = \"a\"; // b\n", [(4, 7, Place::String)]).unwrap();
    /// assert_eq!(syntax.place(5), Place::String);
    /// assert_eq!(syntax.place(7), Place::Code);
    /// ```
    pub fn new(
        text: &[u8],
        spans: impl IntoIterator<Item = (usize, usize, Place)>,
    ) -> Option<Syntax> {
        let is_ascii = text.is_ascii();
        let (mut byte, mut char) = (0, 0);
        let mut byte_of = |at: usize| {
            let n = at.checked_sub(char)?;
            let rest = &text[byte..];
            // No character has fewer bytes than one, or more than five.
            (n <= rest.len()).then_some(())?;
            byte += match is_ascii {
                true => n,
                false => len_of_chars(&rest[..rest.len().min(5 * n)], n),
            };
            char = at;
            Some(byte)
        };
        let spans = spans.into_iter().map(|(from, to, place)| {
            let (start, end) = (byte_of(from)?, byte_of(to)?);
            Some(Span { start, end, place })
        });
        spans.collect::<Option<Vec<_>>>().map(Syntax)
    }

    /// Returns the strings and comments that end after `byte`, in order.
    pub fn spans_from(&self, byte: usize) -> &[Span] {
        &self.0[self.0.partition_point(|span| span.end <= byte)..]
    }

    /// Returns what `byte` of the text is.
    pub fn place(&self, byte: usize) -> Place {
        match self.spans_from(byte) {
            [span, ..] if span.start <= byte => span.place,
            _ => Place::Code,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_counted_as_emacs_does() {
        let text = "\u{e4} \"\u{1f600}\" ; x".as_bytes();
        let spans = [(2, 5, Place::String), (6, 9, Place::Comment)];
        let syntax = Syntax::new(text, spans).unwrap();
        let bytes: Vec<_> = syntax
            .spans_from(0)
            .iter()
            .map(|span| (span.start, span.end))
            .collect();
        assert_eq!(bytes, [(3, 9), (10, 13)]);
        assert_eq!(syntax.place(8), Place::String);
        assert_eq!(syntax.place(9), Place::Code);
        assert_eq!(syntax.place(12), Place::Comment);
    }

    #[test]
    fn what_is_not_in_the_text_is_no_syntax() {
        assert_eq!(Syntax::new(b"abc", [(0, 5, Place::String)]), None);
        let twice = [(2, 3, Place::String), (1, 2, Place::String)];
        assert_eq!(Syntax::new(b"abc", twice), None);
    }
}
