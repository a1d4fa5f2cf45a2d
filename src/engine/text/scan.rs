//! Where the lines of a text begin.

use fearless_simd::{Level, Simd, SimdInt, SimdInto, SimdMask, dispatch, u8x64};
use memchr::{memchr, memchr_iter};

use super::same;
use super::table::{self, Table, offset};

/// Number of bytes that are searched for newlines at once.
const BLOCK_LEN: usize = 64;

/// Number of bytes after which the first entries of new blocks of lines are stored: within so many,
/// the low half of an entry is enough to find it.
const CHUNK_LEN: usize = 1 << 15;

/// A first line that is longer makes a table wide.
const NEAR_LEN: usize = 1 << 16;

/// Returns where each line of `bytes` begins, and where the last one ends.
///
/// Lines are short, so looking for one newline after another (`memchr_iter`) takes several times as
/// long: comparing 100,000 lines from their bytes would take 2 to 3.6 times as long as it does, and
/// opening a file of 37 MB a tenth longer (`make bench-check`).
pub fn line_starts(bytes: &[u8]) -> Table {
    line_starts_on(Level::new(), bytes)
}

/// Like [`line_starts`], with the instructions of `level`.
fn line_starts_on(level: Level, bytes: &[u8]) -> Table {
    // Found out only at the end, this would mean reading everything twice.
    let head = bytes.get(..NEAR_LEN + 1).unwrap_or_default();
    if !head.is_empty() && memchr(b'\n', head).is_none() {
        return Table::wide(wide_starts(bytes));
    }
    let mut starts = Starts::new(&Table::new(), 1, bytes, 0);
    starts.scan(level, bytes, 0);
    starts.finish(bytes)
}

/// Like [`line_starts`], reusing the starts `other_starts` of `others`, which share a prefix and a
/// suffix with `bytes`.
///
/// Each entry of `other_starts` but the first and the last must follow a newline.
pub fn line_starts_beside(bytes: &[u8], others: &[u8], other_starts: &Table) -> Table {
    if other_starts.is_wide() {
        return line_starts(bytes);
    }
    let head = same::equal_head(bytes, others);
    let tail = same::equal_tail(&bytes[head..], &others[head..]);
    let (end, other_end) = (bytes.len() - tail, others.len() - tail);
    // If the other text ends within the prefix, its last line may go on here.
    let n_above = other_starts.n_all_up_to(head);
    let n_above = n_above.clamp(1, other_starts.len().max(2) - 1);
    let n_not_below = other_starts.n_all_up_to(other_end);
    let first = other_starts.at(n_above - 1);
    let n_below = other_starts.len() - n_not_below;
    let mut starts = Starts::new(other_starts, n_above, &bytes[first..end], n_below);
    starts.scan(Level::new(), &bytes[..end], first);
    starts.extend_from(other_starts, n_not_below, end.wrapping_sub(other_end));
    starts.finish(bytes)
}

/// The entries of a narrow [`Table`] while they are found, from first to last.
struct Starts {
    /// The low halves of the entries, followed by unused elements.
    low: Vec<u16>,
    /// Number of entries.
    len: usize,
    /// The first entry of each block of lines.
    firsts: Vec<u32>,
}

impl Starts {
    /// Begins with the first `n_known` entries of `known` and reserves space for the estimated lines
    /// of `bytes` and `n_more`.
    fn new(known: &Table, n_known: usize, bytes: &[u8], n_more: usize) -> Starts {
        let room = estimated_len(bytes) + BLOCK_LEN;
        let all = n_known + room + n_more;
        let mut low = Vec::with_capacity(all);
        low.extend_from_slice(&known.low()[..n_known]);
        low.resize(n_known + room, 0);
        let mut firsts = Vec::with_capacity(all / table::BLOCK_LEN + 1);
        firsts.extend_from_slice(&known.firsts()[..n_known.div_ceil(table::BLOCK_LEN)]);
        let len = n_known;
        Starts { low, len, firsts }
    }

    /// Adds the offset after each newline of `bytes` from `from` on.
    fn scan(&mut self, level: Level, bytes: &[u8], from: usize) {
        let mut base = from;
        for chunk in bytes[from..].chunks(CHUNK_LEN) {
            dispatch!(level, simd => self.scan_chunk(simd, chunk, base as u16));
            while let Some(low) = self.next_block() {
                self.firsts.push(table::entry(offset(base), low));
            }
            base += chunk.len();
        }
    }

    /// Returns the low half of the first entry that begins a block and is not in `firsts` yet.
    fn next_block(&self) -> Option<u16> {
        self.low[..self.len]
            .get(self.firsts.len() * table::BLOCK_LEN)
            .copied()
    }

    #[inline(always)]
    fn scan_chunk<S: Simd>(&mut self, simd: S, chunk: &[u8], base: u16) {
        let (blocks, rest) = chunk.as_chunks::<BLOCK_LEN>();
        let mut len = self.len;
        // The low half of the offset after the block's first byte.
        let mut second = base.wrapping_add(1);
        for block in blocks {
            if self.low.len() < len + BLOCK_LEN {
                self.low.resize(2 * (len + BLOCK_LEN), 0);
            }
            let room = &mut self.low[len..len + BLOCK_LEN];
            len += put_ends(room, newlines(simd, block), second);
            second = second.wrapping_add(BLOCK_LEN as u16);
        }
        self.len = len;
        // Only the last chunk has a rest, so unused elements are no longer needed.
        if !rest.is_empty() {
            self.extend(memchr_iter(b'\n', rest).map(|at| second.wrapping_add(at as u16)));
        }
    }

    fn extend(&mut self, more: impl Iterator<Item = u16>) {
        self.low.truncate(self.len);
        self.low.extend(more);
        self.len = self.low.len();
    }

    /// Adds the entries of `other` from `index` on, each moved by `by`.
    fn extend_from(&mut self, other: &Table, index: usize, by: usize) {
        let n_above = self.len;
        self.extend(
            other.low()[index..]
                .iter()
                .map(|low| low.wrapping_add(by as u16)),
        );
        while self.next_block().is_some() {
            let at = self.firsts.len() * table::BLOCK_LEN;
            let entry = other.at(index + at - n_above).wrapping_add(by);
            self.firsts.push(offset(entry));
        }
    }

    /// Ends the table with the length of `bytes`, whose lines these are.
    fn finish(mut self, bytes: &[u8]) -> Table {
        self.low.truncate(self.len);
        let len = offset(bytes.len());
        let ends = self.firsts[1..].iter().chain([&len]);
        if !self
            .firsts
            .iter()
            .zip(ends)
            .all(|(&first, &end)| table::is_near(first, end))
        {
            return Table::wide(wide_starts(bytes));
        }
        let mut table = Table::narrow(self.low, self.firsts);
        if table.at(table.len() - 1) != bytes.len() {
            table.push(len);
        }
        table.shrink_to_fit();
        table
    }
}

/// Returns all entries of the table of `bytes`, most of whose lines are long.
fn wide_starts(bytes: &[u8]) -> Vec<u32> {
    let ends = memchr_iter(b'\n', bytes).map(|at| offset(at + 1));
    let mut starts: Vec<u32> = [0].into_iter().chain(ends).collect();
    if starts.last() != Some(&offset(bytes.len())) {
        starts.push(offset(bytes.len()));
    }
    starts.shrink_to_fit();
    starts
}

/// Number of places where newlines are counted to estimate how many there are, and number of bytes
/// read at each.
const N_SAMPLES: usize = 16;
const SAMPLE_LEN: usize = 1 << 10;

/// Estimates the number of lines of `bytes`. Counting all newlines first would take half as long as
/// storing them.
fn estimated_len(bytes: &[u8]) -> usize {
    let step = (bytes.len() / N_SAMPLES).max(SAMPLE_LEN);
    let samples = bytes
        .chunks(step)
        .map(|chunk| &chunk[..chunk.len().min(SAMPLE_LEN)]);
    let (n_lines, n_bytes) = samples.fold((0, 0), |(n_lines, n_bytes), sample| {
        let n_newlines = memchr_iter(b'\n', sample).count();
        (n_lines + n_newlines, n_bytes + sample.len())
    });
    // A sixteenth more, since the samples may be off.
    n_lines * (bytes.len() / n_bytes.max(1) + 1) / 16 * 17
}

/// Stores the offset after each bit of `newlines` in `ends`, where `second` is the offset after the
/// lowest bit; returns the number of bits.
#[inline(always)]
fn put_ends(ends: &mut [u16], mut newlines: u64, second: u16) -> usize {
    // Blocks rarely have more, and always writing these is cheaper than branching.
    const USUAL: usize = 5;
    let n_newlines = newlines.count_ones() as usize;
    let (usual, others) = ends.split_at_mut(USUAL);
    for end in usual {
        *end = second.wrapping_add(newlines.trailing_zeros() as u16);
        newlines &= newlines.wrapping_sub(1);
    }
    for end in &mut others[..n_newlines.saturating_sub(USUAL)] {
        *end = second.wrapping_add(newlines.trailing_zeros() as u16);
        newlines &= newlines.wrapping_sub(1);
    }
    n_newlines
}

/// Returns a bit for each byte of `block`, set if it is a newline.
#[inline(always)]
fn newlines<S: Simd>(simd: S, block: &[u8; BLOCK_LEN]) -> u64 {
    let block: u8x64<S> = (*block).simd_into(simd);
    block.simd_eq(b'\n').to_bitmask()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected table, computed the slow and obvious way.
    fn naive_starts(bytes: &[u8]) -> Table {
        let mut starts = vec![0];
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            starts.push(starts[starts.len() - 1] + line.len() as u32);
        }
        Table::wide(starts)
    }

    /// Bytes of which about one in `n` is a newline; they depend on the arguments only.
    fn text(len: usize, n: u64, mut seed: u64) -> Vec<u8> {
        let mut byte = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            match (seed >> 33) % n {
                0 => b'\n',
                // Some differ from a newline in one bit, or have the highest one.
                roll => [b'a', b'\r', 0x0b, 0x8a, 0, b'z'][roll as usize % 6],
            }
        };
        (0..len).map(|_| byte()).collect()
    }

    /// The level of this processor, and lower ones.
    fn levels() -> Vec<Level> {
        let mut levels = vec![Level::new(), Level::baseline()];
        #[cfg(target_arch = "x86_64")]
        levels.extend(Level::new().as_sse4_2().map(|simd| simd.level()));
        levels
    }

    #[test]
    fn a_line_begins_behind_each_newline() {
        for n in [1, 2, 5, 30, 200] {
            for len in (0..300).chain([1_000, 1_023, 4_096, 70_001]) {
                let text = text(len, n, len as u64);
                for level in levels() {
                    let starts = line_starts_on(level, &text);
                    assert_eq!(starts, naive_starts(&text), "{len} {n} {level:?}");
                }
            }
        }
    }

    #[test]
    fn long_lines_among_short_ones_begin_where_they_do() {
        for long in [CHUNK_LEN - 40, CHUNK_LEN, 2 * CHUNK_LEN, 5 * CHUNK_LEN + 7] {
            for at in [0, 1, 70_000] {
                let mut bytes = text(100_000, 5, 1);
                bytes.splice(at..at, vec![b'x'; long]);
                assert_eq!(line_starts(&bytes), naive_starts(&bytes), "{long} {at}");
                let mut other = bytes.clone();
                other.splice(at..at + long, text(900, 5, 2));
                for (a, b) in [(&bytes, &other), (&other, &bytes)] {
                    let starts = line_starts_beside(a, b, &line_starts(b));
                    assert_eq!(starts, naive_starts(a), "{long} {at}");
                }
            }
        }
    }

    #[test]
    fn what_no_sample_tells_finds_its_room() {
        let mut text = vec![b'x'; 1 << 20];
        text[SAMPLE_LEN..(1 << 16) - SAMPLE_LEN].fill(b'\n');
        assert_eq!(line_starts(&text), naive_starts(&text));
        text.extend(vec![b'\n'; 1 << 14]);
        assert_eq!(line_starts(&text), naive_starts(&text));
    }

    #[test]
    fn beside_another_text_the_lines_are_the_same() {
        let mut seed = 1;
        for n in [1, 2, 5, 30] {
            for len in (0..40).chain([200, 5_000]) {
                let other = text(len, n, len as u64);
                for cut in [0, 1, 2, len / 3, len / 2, len.saturating_sub(1), len] {
                    for (n_gone, n_new) in [(0, 0), (0, 1), (1, 0), (2, 1), (len, 3), (3, 200)] {
                        seed += 1;
                        let gone = cut.min(len)..(cut + n_gone).min(len);
                        let mut bytes = other.clone();
                        bytes.splice(gone, text(n_new, n, seed));
                        let starts = line_starts_beside(&bytes, &other, &line_starts(&other));
                        let case = || {
                            format!(
                                "{:?} {:?}",
                                other.escape_ascii().to_string(),
                                bytes.escape_ascii().to_string()
                            )
                        };
                        assert_eq!(starts, naive_starts(&bytes), "{}", case());
                    }
                }
            }
        }
    }
}
