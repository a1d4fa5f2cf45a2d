//! Excludes places where a run of lines cannot occur, without comparing the lines.
//!
//! A rolling hash (Karp and Rabin 1987): the hash of any consecutive lines is computed from two of
//! the prefix hashes, which are kept for the whole text. Among recurring lines, a run of *k* lines
//! may match nearly to its end at each of *n* places; comparing them takes O(n k) time, the sieve
//! O(n + k). Whatever passes the sieve must still be compared.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use crate::text::Text;

/// An odd number whose set bits are well spread: 2⁶⁴ divided by the golden ratio, as in SplitMix64.
const BASE: u64 = 0x9e37_79b9_7f4a_7c15;

/// The hash of every prefix of a text, in lines.
pub struct Heads(Vec<u64>);

impl Heads {
    /// Hashes all prefixes of `text` in one pass; takes 8 bytes per line.
    pub fn new(text: &Text) -> Heads {
        let mut heads = Vec::with_capacity(text.len() + 1);
        let mut hash = 0;
        heads.push(hash);
        for line in text.lines(0..text.len()) {
            hash = longer(hash, line);
            heads.push(hash);
        }
        Heads(heads)
    }

    /// Returns a test whether `run` may start at a given line (0-based). If the test says no, that
    /// is certain.
    pub fn sieve(&self, run: &[&[u8]]) -> impl Fn(usize) -> bool {
        let hash = run.iter().fold(0, |hash, line| longer(hash, line));
        let power = (0..run.len()).fold(1_u64, |power, _| power.wrapping_mul(BASE));
        let len = run.len();
        move |start| {
            let end = start.checked_add(len).and_then(|end| self.0.get(end));
            end.is_some_and(|end| end.wrapping_sub(self.0[start].wrapping_mul(power)) == hash)
        }
    }
}

/// Returns the hash of the lines behind `hash`, followed by `line`.
fn longer(hash: u64, line: &[u8]) -> u64 {
    // `DefaultHasher` has fixed keys, so the hash is the same in each run.
    let hashed = BuildHasherDefault::<DefaultHasher>::default().hash_one(line);
    hash.wrapping_mul(BASE).wrapping_add(hashed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_starts_of_the_run_pass() {
        let text = Text::new(b"a\na\nb\na\na\nb\n".to_vec());
        let heads = Heads::new(&text);
        let passing = |run: &[&[u8]]| -> Vec<usize> {
            let sieve = heads.sieve(run);
            (0..8).filter(|&start| sieve(start)).collect()
        };
        assert_eq!(passing(&[b"a\n", b"b\n"]), [1, 4]);
        assert_eq!(passing(&[b"a\n", b"a\n", b"b\n"]), [0, 3]);
        assert_eq!(passing(&[b"b\n", b"b\n"]), []);
    }
}
