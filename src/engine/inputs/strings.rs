//! The smallest replacement of a string that makes one text of another.

use std::ops::Range;

use memchr::memmem;

/// A string in a text, and what replaces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    /// The string to be found. If it is empty, the text is new.
    pub old: String,
    /// What replaces it.
    pub new: String,
    /// Whether it is replaced wherever it occurs, not only in one place.
    pub is_all: bool,
}

/// Returns the smallest replacement of whole lines of `base`, which occur there once, that makes
/// `decided` of it: all lines that differ, and around them as many as it takes. No line at either
/// end of them can be left out. If `base` is empty, so is the old string.
///
/// With *n* bytes of text, this takes O(*n* log *n*) time.
///
/// ```
/// use agent_q_diff_engine::inputs::strings::smallest;
/// let replacement = smallest("a\nb\na\n", "a\nb\nA\n");
/// assert_eq!((&*replacement.old, &*replacement.new), ("b\na\n", "b\nA\n"));
/// ```
pub fn smallest(base: &str, decided: &str) -> Replacement {
    let old: Vec<&str> = base.split_inclusive('\n').collect();
    let new: Vec<&str> = decided.split_inclusive('\n').collect();
    let pairs = old.iter().zip(&new);
    let n_above = pairs.take_while(|(old, new)| old == new).count();
    let pairs = old[n_above..].iter().rev().zip(new[n_above..].iter().rev());
    let n_below = pairs.take_while(|(old, new)| old == new).count();
    let lines = Lines::new(&old);
    let is_once =
        |above: usize, below: usize| lines.is_once(n_above - above..old.len() - n_below + below);
    // More lines around them occur no more often.
    let n_around = n_above.max(n_below);
    let around = first_true(n_around, |n| is_once(n.min(n_above), n.min(n_below)));
    let below = around.min(n_below);
    let above = first_true(around.min(n_above), |above| is_once(above, below));
    let below = first_true(below, |below| is_once(above, below));
    let part = |lines: &[&str]| lines[n_above - above..lines.len() - n_below + below].concat();
    Replacement {
        old: part(&old),
        new: part(&new),
        is_all: false,
    }
}

/// Returns the smallest number up to `max` for which `is_true` is, or `max`. If it is true for a
/// number, it must be for all greater ones.
fn first_true(max: usize, is_true: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, max);
    // The number is often small, and small strings are found fast.
    let mut guess = 0;
    while low < high {
        if is_true(guess) {
            high = guess;
        } else {
            low = guess + 1;
        }
        guess = if high == max && low > 0 {
            (2 * low).min(high - usize::from(low < high))
        } else {
            low.midpoint(high)
        };
    }
    high
}

/// The lines of a text, and where they begin.
struct Lines {
    text: String,
    starts: Vec<usize>,
}

impl Lines {
    fn new(lines: &[&str]) -> Self {
        let mut starts = vec![0];
        for line in lines {
            starts.push(starts[starts.len() - 1] + line.len());
        }
        let text = lines.concat();
        Self { text, starts }
    }

    /// Returns whether the text of the lines in `range` is in the text only once, overlaps included.
    fn is_once(&self, range: Range<usize>) -> bool {
        let bytes = self.starts[range.start]..self.starts[range.end];
        let text = self.text.as_bytes();
        if bytes.is_empty() {
            return text.is_empty();
        }
        let finder = memmem::Finder::new(&text[bytes.clone()]);
        // An earlier place may overlap, and so may a later one.
        finder.find(text) == Some(bytes.start) && finder.find(&text[bytes.start + 1..]).is_none()
    }
}
