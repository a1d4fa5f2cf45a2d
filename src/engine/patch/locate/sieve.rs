//! Which places of a text cannot have a run of lines, told without comparing the lines.
//!
//! A rolling hash (Karp and Rabin 1987): the hash of any lines in a row is the difference of two
//! numbers that are kept for the whole text. Among lines that recur a run of *k* lines may agree
//! with each of *n* places nearly to its end; so it takes O(n + k) time instead of O(n k). What the
//! sieve lets pass is still to be compared.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use crate::text::Text;

/// An odd number with bits all over (the golden ratio, as SplitMix64 has it).
const BASE: u64 = 0x9e37_79b9_7f4a_7c15;

/// The hashes of all heads of a text.
pub struct Heads(Vec<u64>);

impl Heads {
    /// Reads `text` once; takes 8 bytes for each line.
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

    /// Returns what tells of a line whether `run` may start there. What it says no to is certain.
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

/// Returns the hash of some lines and `line` below them.
fn longer(hash: u64, line: &[u8]) -> u64 {
    // The same each time: its keys are fixed.
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
