//! Replacing strings, for agents: what is replaced, what resembles a string that is not found, and
//! the diff of it.

mod diff_lines;
mod nearest;
mod replacement;

use crate::common::dice::Dice;

fn random_bytes(dice: &mut Dice, alphabet: &[u8], max_len: usize) -> Vec<u8> {
    let len = dice.roll(max_len + 1);
    (0..len)
        .map(|_| alphabet[dice.roll(alphabet.len())])
        .collect()
}
