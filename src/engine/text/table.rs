//! The table of lines: where each begins.
//!
//! In a text of short lines, four bytes for each line would take twice as much memory as the text. So
//! the table has two bytes for each line and four for each block of lines, as long as no block is
//! long.

use std::ops::Range;

/// Largest length of a text, in bytes: where its lines begin is kept in 32 bits, or fewer, so that
/// the table of a text of short lines is not several times the text.
pub const MAX_LEN: usize = u32::MAX as usize;

/// Number of lines in a block.
pub const BLOCK_LEN: usize = 32;

/// Most bytes from the first line of a block to that of the next. Two neighboring blocks together
/// are shorter than 64 KiB, so the low halves of their entries identify them.
const MAX_SPAN: u32 = (1 << 15) - 1;

/// Byte offset of each line's first byte, and one more entry: the length of the text.
#[derive(Debug, Clone)]
pub struct Table {
    /// The low 16 bits of each entry; empty if the table is wide.
    low: Vec<u16>,
    /// The first entry of each block.
    firsts: Vec<u32>,
    /// All entries of a text with a long block; otherwise empty.
    wide: Vec<u32>,
}

impl Table {
    /// Makes the table of a text without lines.
    pub fn new() -> Table {
        Table {
            low: vec![0],
            firsts: vec![0],
            wide: Vec::new(),
        }
    }

    /// Makes a table of all `entries`.
    pub fn wide(entries: Vec<u32>) -> Table {
        Table {
            low: Vec::new(),
            firsts: Vec::new(),
            wide: entries,
        }
    }

    /// Makes a table from the low halves of its entries and the first entry of each block.
    pub fn narrow(low: Vec<u16>, firsts: Vec<u32>) -> Table {
        Table {
            low,
            firsts,
            wide: Vec::new(),
        }
    }

    pub fn is_wide(&self) -> bool {
        self.low.is_empty()
    }

    /// Returns the low halves of the entries.
    pub fn low(&self) -> &[u16] {
        &self.low
    }

    pub fn firsts(&self) -> &[u32] {
        &self.firsts
    }

    /// Returns the number of entries, which is one more than that of lines.
    pub fn len(&self) -> usize {
        self.low.len().max(self.wide.len())
    }

    /// Returns entry `index`.
    #[inline]
    pub fn at(&self, index: usize) -> usize {
        match self.low.get(index) {
            Some(&low) => entry(self.firsts[index / BLOCK_LEN], low) as usize,
            None => self.wide[index] as usize,
        }
    }

    /// Returns the byte range of line `index`.
    #[inline]
    pub fn line(&self, index: usize) -> Range<usize> {
        match self.low_ends(index) {
            Some(&[low, next]) => {
                let start = entry(self.firsts[index / BLOCK_LEN], low) as usize;
                start..start + usize::from(next.wrapping_sub(low))
            }
            None => self.wide[index] as usize..self.wide[index + 1] as usize,
        }
    }

    /// Returns the low halves of the start and the end of line `index`.
    #[inline]
    fn low_ends(&self, index: usize) -> Option<&[u16; 2]> {
        self.low.get(index..)?.first_chunk()
    }

    /// Returns the low 16 bits of the length of line `index`. Lines that differ in them differ in
    /// length.
    #[inline]
    pub fn low_len(&self, index: usize) -> u16 {
        match self.low_ends(index) {
            Some(&[low, next]) => next.wrapping_sub(low),
            None => self.wide[index + 1].wrapping_sub(self.wide[index]) as u16,
        }
    }

    /// Returns how many entries after `first`, up to `last`, are at most `end`, which is no less than
    /// entry `first`. Takes time logarithmic in the result.
    pub fn n_up_to(&self, first: usize, last: usize, end: usize) -> usize {
        let from = self.at(first);
        let near = self.low.get(first + 1..=last);
        if let Some(near) = near.and_then(<[u16]>::first_chunk::<BLOCK_LEN>) {
            let low = self.low[first];
            let most = u16::try_from(end - from).unwrap_or(u16::MAX);
            // Without a branch for each entry.
            let is_up_to = |at: &u16| u16::from(at.wrapping_sub(low) <= most);
            let n = near.iter().fold(0u16, |n, at| n.wrapping_add(is_up_to(at)));
            if usize::from(n) < BLOCK_LEN {
                return usize::from(n);
            }
        }
        n_first(last - first, |n| self.at(first + 1 + n) <= end)
    }

    /// Returns how many of the entries in `first..end` are at least `from`. Takes time logarithmic
    /// in the result.
    pub fn n_from(&self, first: usize, end: usize, from: usize) -> usize {
        n_first(end - first, |n| self.at(end - 1 - n) >= from)
    }

    /// Returns how many entries are at most `end`.
    pub fn n_all_up_to(&self, end: usize) -> usize {
        partition_point(0..self.len(), |index| self.at(index) <= end)
    }

    /// Adds entries, which are from first to last.
    pub fn extend(&mut self, entries: impl Iterator<Item = usize>) {
        for at in entries {
            self.push(offset(at));
        }
    }

    /// Adds `at`, which is no less than the last entry.
    pub fn push(&mut self, at: u32) {
        let last = self.firsts.last().copied().unwrap_or(0);
        if !self.is_wide() && !is_near(last, at) {
            *self = Table::wide(
                (0..self.len())
                    .map(|index| offset(self.at(index)))
                    .collect(),
            );
        }
        if self.is_wide() {
            return self.wide.push(at);
        }
        if self.low.len().is_multiple_of(BLOCK_LEN) {
            self.firsts.push(at);
        }
        self.low.push(at as u16);
    }

    /// Frees unused capacity.
    pub fn shrink_to_fit(&mut self) {
        self.low.shrink_to_fit();
        self.firsts.shrink_to_fit();
        self.wide.shrink_to_fit();
    }

    /// Keeps the first `len` entries, at least one.
    pub fn truncate(&mut self, len: usize) {
        self.low.truncate(len);
        self.firsts.truncate(len.div_ceil(BLOCK_LEN));
        self.wide.truncate(len);
    }
}

impl PartialEq for Table {
    fn eq(&self, other: &Table) -> bool {
        // After being cut, a wide table may have no long block any more.
        self.len() == other.len() && (0..self.len()).all(|index| self.at(index) == other.at(index))
    }
}

impl Eq for Table {}

/// Returns whether a block whose first entry is `first` may contain entry `at` or end with it.
pub fn is_near(first: u32, at: u32) -> bool {
    at - first <= MAX_SPAN
}

/// Converts `at`, an offset in a text, to what the table stores.
pub fn offset(at: usize) -> u32 {
    debug_assert!(at <= MAX_LEN);
    // Each text is checked to be no longer than `MAX_LEN`.
    at as u32
}

/// Returns the first entry from `first` on that has the low bits `low`.
#[inline]
pub fn entry(first: u32, low: u16) -> u32 {
    first.wrapping_add(u32::from(low.wrapping_sub(first as u16)))
}

/// Returns how many of `0..len` hold; those that do come before those that do not. Takes time
/// logarithmic in the result.
fn n_first(len: usize, holds: impl Fn(usize) -> bool) -> usize {
    let mut end = 1;
    while end <= len && holds(end - 1) {
        end *= 2;
    }
    partition_point(end / 2..len.min(end), holds)
}

/// Returns the first of `range` that does not hold, by bisection.
fn partition_point(mut range: Range<usize>, holds: impl Fn(usize) -> bool) -> usize {
    while !range.is_empty() {
        let middle = range.start + range.len() / 2;
        if holds(middle) {
            range.start = middle + 1
        } else {
            range.end = middle
        }
    }
    range.start
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The entries for lines with the lengths `lens`.
    fn entries(lens: impl IntoIterator<Item = usize>) -> Vec<usize> {
        let mut entries = vec![0];
        for len in lens {
            entries.push(entries[entries.len() - 1] + len);
        }
        entries
    }

    fn table(entries: &[usize]) -> Table {
        let mut table = Table::new();
        table.extend(entries[1..].iter().copied());
        table
    }

    /// Entries for short lines, for blocks that are exactly as long as allowed or one byte longer,
    /// and for one long line among short ones.
    fn cases() -> Vec<Vec<usize>> {
        let most = MAX_SPAN as usize;
        let full = |more: usize| {
            let block = (1..=BLOCK_LEN).map(move |line| match line {
                BLOCK_LEN => most + more - (BLOCK_LEN - 1),
                _ => 1,
            });
            entries((0..4).flat_map(move |_| block.clone()))
        };
        let long = |at: usize, len: usize| entries((0..100).map(|n| if n == at { len } else { 3 }));
        vec![
            vec![0],
            entries([7]),
            entries([2; 1000]),
            entries((0..3000).map(|n| 1 + n * 7919 % 1300)),
            full(0),
            full(1),
            long(0, most),
            long(40, 1 << 15),
            long(99, 1 << 16),
            long(70, 200_000),
        ]
    }

    #[test]
    fn each_entry_is_what_was_put_there() {
        let mut n_wide = 0;
        for entries in cases() {
            let table = table(&entries);
            n_wide += usize::from(table.is_wide());
            assert_eq!(table.len(), entries.len());
            for (index, &at) in entries.iter().enumerate() {
                assert_eq!(table.at(index), at);
            }
            for (index, line) in entries.windows(2).enumerate() {
                assert_eq!(table.line(index), line[0]..line[1]);
                assert_eq!(table.low_len(index), (line[1] - line[0]) as u16);
            }
        }
        assert_eq!(n_wide, 5);
    }

    #[test]
    fn entries_are_counted_as_one_by_one() {
        for entries in cases() {
            let table = table(&entries);
            let n_lines = table.len() - 1;
            for first in (0..n_lines).step_by(13) {
                for last in [first, first + 5, first + 40, n_lines].map(|last| last.min(n_lines)) {
                    for end in [0, 1, 3, 70, 32_767, 65_535, 65_536, 1 << 20] {
                        let end = entries[first] + end;
                        let n_up_to = entries[first + 1..=last].iter().filter(|at| **at <= end);
                        assert_eq!(table.n_up_to(first, last, end), n_up_to.count());
                        let n_from = entries[first..last].iter().filter(|at| **at >= end);
                        assert_eq!(table.n_from(first, last, end), n_from.count());
                        let n_all = entries.iter().filter(|at| **at <= end).count();
                        assert_eq!(table.n_all_up_to(end), n_all);
                    }
                }
            }
        }
    }

    #[test]
    fn a_table_goes_on_where_it_was_cut() {
        for entries in cases() {
            for len in [1, 31, 32, 33, 70, 100].map(|len| len.min(entries.len())) {
                let mut cut = table(&entries);
                cut.truncate(len);
                assert_eq!(cut, table(&entries[..len]));
                cut.extend(entries[len..].iter().copied());
                assert_eq!(cut, table(&entries));
            }
        }
    }
}
