//! Numbers for long lines.
//!
//! Numbering lines reads each of them once to hash it, and once more to compare it with the line of
//! the same hash. A few bytes of a long line mostly tell which others it can equal, so that only
//! lines that do equal another are read.

use std::collections::HashMap;
use std::ops::Range;

use imara_diff::Token;

use crate::text::Text;

/// Mean length of lines in bytes from which on this is cheaper than hashing.
const MIN_LEN: usize = 1 << 10;

/// The numbers of the lines of two texts.
pub struct Numbered {
    pub before: Vec<Token>,
    pub after: Vec<Token>,
    /// One more than the largest.
    pub n_tokens: u32,
}

/// Numbers the lines `before` and `after`, equal ones alike. `None` if they are not long, or if many
/// that differ can hardly be told apart: then hashing them takes less time.
pub fn numbered(
    (original, before): (&Text, Range<usize>),
    (modified, after): (&Text, Range<usize>),
) -> Option<Numbered> {
    let n_bytes = original.lines_bytes(before.clone()).len();
    let n_bytes = n_bytes + modified.lines_bytes(after.clone()).len();
    if n_bytes < MIN_LEN * (before.len() + after.len()) {
        return None;
    }
    let mut numbers = Numbers {
        alike: HashMap::new(),
        lines: Vec::new(),
        n_left: n_bytes,
    };
    let before = numbers.of(original, before)?;
    let after = numbers.of(modified, after)?;
    Some(Numbered {
        before,
        after,
        // A text has fewer lines than bytes, and these are counted in 32 bits.
        n_tokens: numbers.lines.len() as u32,
    })
}

/// The lines that have a number.
struct Numbers<'a> {
    /// The numbers of those with the same length and fingerprint.
    alike: HashMap<(usize, u32, u64), Vec<u32>>,
    /// A line with each number.
    lines: Vec<&'a [u8]>,
    /// How many bytes of lines that differ may still be compared.
    n_left: usize,
}

impl<'a> Numbers<'a> {
    fn of(&mut self, text: &'a Text, range: Range<usize>) -> Option<Vec<Token>> {
        let mut keys = Vec::with_capacity(range.len());
        text.each_fingerprint(range.clone(), |len, fingerprint, last| {
            keys.push((len, fingerprint, last));
        });
        let lines = text.lines(range).zip(keys);
        lines.map(|(line, key)| self.number(line, key)).collect()
    }

    fn number(&mut self, line: &'a [u8], key: (usize, u32, u64)) -> Option<Token> {
        let alike = self.alike.entry(key).or_default();
        for &number in alike.iter() {
            if self.lines[number as usize] == line {
                return Some(Token(number));
            }
            self.n_left = self.n_left.checked_sub(line.len())?;
        }
        let number = self.lines.len() as u32;
        alike.push(number);
        self.lines.push(line);
        Some(Token(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;

    fn text(lines: &[String]) -> Text {
        Text::new(lines.concat().into_bytes())
    }

    #[test]
    fn lines_have_the_same_number_if_they_are_equal() {
        let mut dice = Dice::new(1);
        // Some differ only in bytes that the fingerprint leaves out.
        let mut line = || {
            let mut line = "x".repeat(3000);
            line.replace_range(700..701, ["y", "z"][dice.roll(2)]);
            line + &format!("{}\n", dice.roll(20))
        };
        let sides: [Vec<String>; 2] = std::array::from_fn(|_| (0..40).map(|_| line()).collect());
        let [original, modified] = [&sides[0], &sides[1]].map(|lines| text(lines));
        let numbered = numbered((&original, 0..40), (&modified, 0..40)).expect("they are long");
        let tokens = [numbered.before, numbered.after].concat();
        let lines = sides.concat();
        for (at, other) in (0..80).flat_map(|at| (0..80).map(move |other| (at, other))) {
            assert_eq!(tokens[at] == tokens[other], lines[at] == lines[other]);
        }
        let most = tokens.iter().map(|token| token.0).max();
        assert_eq!(most, Some(numbered.n_tokens - 1));
    }

    #[test]
    fn short_lines_and_those_that_hardly_differ_get_no_numbers() {
        let short = text(&vec!["short\n".to_owned(); 40]);
        assert!(numbered((&short, 0..40), (&short, 0..40)).is_none());
        let line = |at: usize| "x".repeat(100 + at) + "y" + &"x".repeat(2000 - at) + "\n";
        let alike = text(&(0..100).map(line).collect::<Vec<_>>());
        assert!(numbered((&alike, 0..100), (&alike, 0..100)).is_none());
    }
}
