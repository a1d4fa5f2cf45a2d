//! Lines that are unique in two texts.

use std::collections::HashMap;

use memchr::memmem;

use crate::text::Text;

/// Which lines of an old text are unique in it and in a new one.
///
/// Of a long run only the outermost anchors count, and near its ends there is mostly one. So the
/// first few lines that are asked for are searched for in both texts, which reads them faster than
/// any table can be made of them; the table comes after that.
pub(super) struct Anchors<'a> {
    texts: [&'a Text; 2],
    /// How many more lines may be searched for.
    n_searches: usize,
    /// For each text how often each of its lines is there.
    counts: Option<[HashMap<&'a [u8], usize>; 2]>,
}

/// How many lines are searched for before a table is made, which takes as long as some forty.
const MAX_SEARCHES: usize = 20;

impl<'a> Anchors<'a> {
    pub(super) fn new(old: &'a Text, new: &'a Text) -> Anchors<'a> {
        Anchors {
            texts: [old, new],
            n_searches: MAX_SEARCHES,
            counts: None,
        }
    }

    /// Tells whether line `at` of the old text is unique in both.
    pub(super) fn is_anchor(&mut self, at: usize) -> bool {
        let line = self.texts[0].line(at);
        if self.n_searches > 0 {
            self.n_searches -= 1;
            return self.texts.iter().all(|text| is_unique(line, text));
        }
        let texts = self.texts;
        let counts = self.counts.get_or_insert_with(|| texts.map(counts));
        counts.iter().all(|count| count.get(line) == Some(&1))
    }
}

/// Tells whether `line`, with its newline if it has one, is in `text` just once.
fn is_unique(line: &[u8], text: &Text) -> bool {
    let bytes = text.bytes();
    if !line.ends_with(b"\n") {
        return !text.is_empty() && text.line(text.len() - 1) == line;
    }
    let begins_line = |&at: &usize| at == 0 || bytes[at - 1] == b'\n';
    // A newline at the end alone: no two of these can overlap.
    let mut places = memmem::find_iter(bytes, line).filter(begins_line);
    places.next().is_some() && places.next().is_none()
}

fn counts(text: &Text) -> HashMap<&[u8], usize> {
    let mut counts = HashMap::with_capacity(text.len());
    for line in text.lines(0..text.len()) {
        *counts.entry(line).or_default() += 1;
    }
    counts
}
