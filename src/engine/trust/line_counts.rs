//! How often lines occur in a text.

use imara_diff::Interner;
use memchr::memmem;

/// Counts how often given lines occur in a text.
///
/// Of a long run of kept lines only the first and the last unique line matter, and these are
/// usually near its ends. So the first few lines are searched for, which is faster than counting
/// all lines of the text. Only after that all lines are counted in a table, in O(bytes) time and
/// space.
pub struct LineCounts<'a> {
    /// The text, in pieces that each consist of whole lines.
    text: Vec<&'a [u8]>,
    /// How many more lines may be searched for.
    n_searches: usize,
    counts: Option<Counts<'a>>,
}

/// How often each line occurs.
struct Counts<'a> {
    lines: Interner<&'a [u8]>,
    /// For each token of `lines` its count, where 2 means two or more.
    counts: Vec<u8>,
}

/// How many lines are searched for before the table is made, which takes as long as about forty
/// searches.
const MAX_SEARCHES: usize = 20;

impl<'a> LineCounts<'a> {
    /// Prepares to count lines in the text whose pieces, each of whole lines, are `text`. Reads
    /// nothing yet.
    pub fn new(text: Vec<&'a [u8]>) -> LineCounts<'a> {
        LineCounts {
            text,
            n_searches: MAX_SEARCHES,
            counts: None,
        }
    }

    /// Returns how often `line`, with its newline if it has one, occurs in the text; 2 means two or
    /// more.
    pub fn count(&mut self, line: &'a [u8]) -> usize {
        if self.n_searches > 0 {
            self.n_searches -= 1;
            return self.search(line);
        }
        let text = &self.text;
        let counts = self.counts.get_or_insert_with(|| Counts::new(text));
        counts.count(line)
    }

    fn search(&self, line: &[u8]) -> usize {
        if !line.ends_with(b"\n") {
            let last = self.text.iter().rev().find(|piece| !piece.is_empty());
            return usize::from(last.and_then(|piece| lines(piece).next_back()) == Some(line));
        }
        let finder = memmem::Finder::new(line);
        let places = self.text.iter().flat_map(|piece| {
            let begins_line = |&at: &usize| at == 0 || piece[at - 1] == b'\n';
            // The line's only newline is its last byte, so no two matches overlap.
            finder.find_iter(piece).filter(begins_line)
        });
        places.take(2).count()
    }
}

fn lines(piece: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    piece.split_inclusive(|&byte| byte == b'\n')
}

impl<'a> Counts<'a> {
    fn new(text: &[&'a [u8]]) -> Counts<'a> {
        let mut lines = Interner::new(0);
        let mut counts = Vec::new();
        for line in text.iter().flat_map(|piece| self::lines(piece)) {
            let token = lines.intern(line).0 as usize;
            if token == counts.len() {
                counts.push(0);
            }
            counts[token] = (counts[token] + 1).min(2);
        }
        Counts { lines, counts }
    }

    fn count(&mut self, line: &'a [u8]) -> usize {
        let token = self.lines.intern(line).0 as usize;
        self.counts.get(token).copied().map_or(0, usize::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_counted_up_to_two() {
        let mut counts = LineCounts::new(vec![b"a\nba\nb\n", b"a\na"]);
        assert_eq!(
            [b"a\n", b"b\n", b"c\n"].map(|line| counts.count(line)),
            [2, 1, 0]
        );
        assert_eq!(counts.count(b"a"), 1);
    }
}
