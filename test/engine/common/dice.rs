//! A random number generator whose numbers are the same each time.

use std::hash::{DefaultHasher, Hash, Hasher};

/// SplitMix64 (Steele, Lea and Flood 2014), which is short and good enough for tests.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    /// Seeds the generator with two texts, so that a pair that is made smaller gets its own
    /// numbers.
    pub fn of(original: &[u8], modified: &[u8]) -> Dice {
        // Made by `new`, this hasher has fixed keys.
        let mut hasher = DefaultHasher::new();
        (original, modified).hash(&mut hasher);
        Dice(hasher.finish())
    }

    /// Returns a number below `n_sides`, which is not 0.
    pub fn roll(&mut self, n_sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % n_sides as u64).expect("less than n_sides")
    }

    /// Puts `all` in a random order.
    pub fn shuffle<T>(&mut self, all: &mut [T]) {
        for at in (1..all.len()).rev() {
            all.swap(at, self.roll(at + 1));
        }
    }
}
