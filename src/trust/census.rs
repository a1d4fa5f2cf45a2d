//! How often lines are in a text.

use std::collections::HashMap;

use memchr::memmem;

/// Tells of lines how often a text has them.
///
/// Of a long run of kept lines only the outermost ones that are unique count, and near its ends
/// there mostly is one. So the first few lines that are asked for are searched for, which reads the
/// text faster than any table can be made of it; the table comes after that.
pub struct Census<'a> {
    /// In pieces of whole lines.
    text: Vec<&'a [u8]>,
    /// How many more lines may be searched for.
    n_searches: usize,
    /// How often each line is there.
    counts: Option<HashMap<&'a [u8], usize>>,
}

/// How many lines are searched for before a table is made, which takes as long as some forty.
const MAX_SEARCHES: usize = 20;

impl<'a> Census<'a> {
    /// Returns a census of the text of the pieces `text`, each of whole lines, of which nothing is
    /// read yet.
    pub fn new(text: Vec<&'a [u8]>) -> Census<'a> {
        Census {
            text,
            n_searches: MAX_SEARCHES,
            counts: None,
        }
    }

    /// Returns how often `line`, with its newline if it has one, is in the text; 2 stands for more.
    ///
    /// ```
    /// use agent_q_diff::trust::Census;
    /// let mut census = Census::new(vec![b"a\nba\nb\n", b"a\na"]);
    /// assert_eq!([b"a\n", b"b\n", b"c\n"].map(|line| census.count(line)), [2, 1, 0]);
    /// assert_eq!(census.count(b"a"), 1);
    /// ```
    pub fn count(&mut self, line: &[u8]) -> usize {
        if self.n_searches > 0 {
            self.n_searches -= 1;
            return self.search(line);
        }
        let text = &self.text;
        let counts = self.counts.get_or_insert_with(|| counts(text));
        counts.get(line).map_or(0, |&count| count.min(2))
    }

    fn search(&self, line: &[u8]) -> usize {
        if !line.ends_with(b"\n") {
            let last = self.text.iter().rev().find(|piece| !piece.is_empty());
            return usize::from(last.and_then(|piece| lines(piece).next_back()) == Some(line));
        }
        let finder = memmem::Finder::new(line);
        let places = self.text.iter().flat_map(|piece| {
            let begins_line = |&at: &usize| at == 0 || piece[at - 1] == b'\n';
            // A newline at the end alone: no two of these can overlap.
            finder.find_iter(piece).filter(begins_line)
        });
        places.take(2).count()
    }
}

fn lines(piece: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    piece.split_inclusive(|&byte| byte == b'\n')
}

fn counts<'a>(text: &[&'a [u8]]) -> HashMap<&'a [u8], usize> {
    let mut counts = HashMap::new();
    for line in text.iter().flat_map(|piece| lines(piece)) {
        *counts.entry(line).or_default() += 1;
    }
    counts
}
