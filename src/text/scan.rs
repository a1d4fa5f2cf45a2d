//! Where the lines of a text begin.

use memchr::memchr_iter;
use wide::{CmpEq, i8x16};

use super::{offset, same};

/// Number of bytes in which newlines are looked for at once.
const BLOCK_LEN: usize = 64;

/// Returns where each line of `bytes` begins, and where the last one ends.
///
/// A search for one newline after the other takes three times as long: lines are short.
pub fn line_starts(bytes: &[u8]) -> Vec<u32> {
    let mut starts = Starts::new(&[0], bytes, 0);
    starts.scan(bytes, 0);
    starts.finish(bytes.len())
}

/// Returns the same of bytes that are the same as `others` but for what is in their middle, given
/// the starts `other_starts` of these, of which each but the first and the last follows a newline.
pub fn line_starts_beside(bytes: &[u8], others: &[u8], other_starts: &[u32]) -> Vec<u32> {
    let head = same::equal_head(bytes, others);
    let tail = same::equal_tail(&bytes[head..], &others[head..]);
    let (end, other_end) = (bytes.len() - tail, others.len() - tail);
    let n_above = other_starts.partition_point(|&at| at <= offset(head));
    // Where the other text ends, this one goes on with the same line, unless that has its newline.
    let above = &other_starts[..n_above.clamp(1, other_starts.len().max(2) - 1)];
    let below = &other_starts[other_starts.partition_point(|&at| at <= offset(other_end))..];
    let first = above[above.len() - 1] as usize;
    let mut starts = Starts::new(above, &bytes[first..end], below.len());
    starts.scan(&bytes[..end], first);
    let by = offset(end).wrapping_sub(offset(other_end));
    starts.extend(below.iter().map(|at| at.wrapping_add(by)));
    starts.finish(bytes.len())
}

/// Where lines begin, found from the first to the last.
struct Starts {
    /// The starts, and behind them room for more.
    starts: Vec<u32>,
    /// How many there are.
    len: usize,
}

impl Starts {
    /// Begins with the starts `known` and makes room for about the lines of `bytes` and `n_more`.
    fn new(known: &[u32], bytes: &[u8], n_more: usize) -> Starts {
        let len = known.len();
        let room = estimated_len(bytes) + BLOCK_LEN;
        let mut starts = Vec::with_capacity(len + room + n_more);
        starts.extend_from_slice(known);
        starts.resize(len + room, 0);
        Starts { starts, len }
    }

    /// Adds what follows the newlines of `bytes` from `from` on.
    fn scan(&mut self, bytes: &[u8], from: usize) {
        let (blocks, rest) = bytes[from..].as_chunks::<BLOCK_LEN>();
        let mut base = from;
        for block in blocks {
            if self.starts.len() < self.len + BLOCK_LEN {
                self.starts.resize(2 * (self.len + BLOCK_LEN), 0);
            }
            let room = &mut self.starts[self.len..self.len + BLOCK_LEN];
            self.len += put_ends(room, newlines(block), offset(base));
            base += BLOCK_LEN;
        }
        self.extend(memchr_iter(b'\n', rest).map(|at| offset(base + at + 1)));
    }

    fn extend(&mut self, more: impl Iterator<Item = u32>) {
        self.starts.truncate(self.len);
        self.starts.extend(more);
        self.len = self.starts.len();
    }

    /// Ends the table with `len`, where the text ends.
    fn finish(mut self, len: usize) -> Vec<u32> {
        self.starts.truncate(self.len);
        if self.starts.last() != Some(&offset(len)) {
            self.starts.push(offset(len));
        }
        self.starts.shrink_to_fit();
        self.starts
    }
}

/// Number of places where newlines are counted to guess how many there are, and how many bytes
/// at each.
const N_SAMPLES: usize = 16;
const SAMPLE_LEN: usize = 1 << 10;

/// Returns about how many lines `bytes` have: to count all newlines first takes as long as to
/// write down half of them.
fn estimated_len(bytes: &[u8]) -> usize {
    let step = (bytes.len() / N_SAMPLES).max(SAMPLE_LEN);
    let samples = bytes
        .chunks(step)
        .map(|chunk| &chunk[..chunk.len().min(SAMPLE_LEN)]);
    let (n_lines, n_bytes) = samples.fold((0, 0), |(n_lines, n_bytes), sample| {
        let n_newlines = memchr_iter(b'\n', sample).count();
        (n_lines + n_newlines, n_bytes + sample.len())
    });
    // A sixteenth more, for what the samples do not tell.
    n_lines * (bytes.len() / n_bytes.max(1) + 1) / 16 * 17
}

/// Puts where the bits of `newlines` are, from `base` on, into `ends`; returns their number.
#[inline]
fn put_ends(ends: &mut [u32], mut newlines: u64, base: u32) -> usize {
    let n_newlines = newlines.count_ones() as usize;
    // Mostly there are no more than these, and to write them always is cheaper than to branch.
    const USUAL: usize = 4;
    let (usual, others) = ends.split_at_mut(USUAL);
    for end in usual {
        *end = base.wrapping_add(newlines.trailing_zeros() + 1);
        newlines &= newlines.wrapping_sub(1);
    }
    for end in others.iter_mut().take(n_newlines.saturating_sub(USUAL)) {
        *end = base + newlines.trailing_zeros() + 1;
        newlines &= newlines.wrapping_sub(1);
    }
    n_newlines
}

/// Returns a bit for each byte of `block`, set if it is a newline.
#[inline]
fn newlines(block: &[u8; BLOCK_LEN]) -> u64 {
    let (parts, _) = block.as_chunks::<16>();
    let bits = parts.iter().map(|part| {
        let is_newline = i8x16::new(part.map(|byte| byte as i8)).cmp_eq(i8x16::splat(b'\n' as i8));
        // One bit for each of the 16.
        is_newline.move_mask() as u16 as u64
    });
    bits.rev().fold(0, |all, bits| all << 16 | bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the tables must be, found the slow and obvious way.
    fn naive_starts(bytes: &[u8]) -> Vec<u32> {
        let mut starts = vec![0];
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            starts.push(starts[starts.len() - 1] + line.len() as u32);
        }
        starts
    }

    /// Bytes of which about one in `n` is a newline, the same for each `seed`.
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

    #[test]
    fn a_line_begins_behind_each_newline() {
        for n in [1, 2, 5, 30, 200] {
            for len in (0..300).chain([1_000, 1_023, 4_096, 70_001]) {
                let text = text(len, n, len as u64);
                assert_eq!(line_starts(&text), naive_starts(&text), "{len} {n}");
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
                        let starts = line_starts_beside(&bytes, &other, &naive_starts(&other));
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
