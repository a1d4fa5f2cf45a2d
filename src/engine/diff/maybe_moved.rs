//! Lines that may have been both removed and added.
//!
//! Most changed lines are on one side only, and a few bytes of each and a table of flags are enough
//! to tell. Lines that this takes for equal may still differ; those that it takes for different do.

use std::ops::Range;

use super::Edit;
use crate::text::Text;

/// Number of flags for each changed line: the more there are, the fewer different lines share one.
const FLAGS: usize = 4;

/// Largest number of flags, so that allocating them never takes long.
const MAX_FLAGS: usize = 1 << 22;

const REMOVED: u8 = 1;
const ADDED: u8 = 2;

/// Set in a fingerprint if the line is not distinctive; greater than any place in the table of flags.
const MUTE: u32 = 1 << 31;

/// Number of letters and digits from which on a line is distinctive: braces and blank lines are
/// everywhere.
const MIN_WORD_LEN: usize = 4;

/// Length in bytes of a line up to which it is cheap to tell whether it is distinctive, since the
/// bytes fit into one number.
const SHORT_LEN: usize = 8;

/// The changed lines that may have been both removed and added.
pub struct Changed {
    /// See [`Changed::suspects`].
    suspects: Vec<usize>,
    n_lines: usize,
    /// How many of the lines may have been both removed and added, distinctive or not.
    n_both: usize,
}

impl Changed {
    /// Takes O(1) time for each of the lines of `edits`, however long it is.
    pub fn new(original: &Text, modified: &Text, edits: &[Edit]) -> Changed {
        let n_lines: usize = edits.iter().map(Edit::n_lines).sum();
        let n_flags = (FLAGS * n_lines).next_power_of_two().min(MAX_FLAGS);
        let mut seen = Seen {
            sides: vec![0; n_flags],
            lines: Vec::with_capacity(n_lines),
        };
        for edit in edits {
            seen.add(original, edit.before.clone(), REMOVED);
            seen.add(modified, edit.after.clone(), ADDED);
        }
        let (mut suspects, mut n_both) = (Vec::new(), 0);
        for (index, &line) in seen.lines.iter().enumerate() {
            if seen.sides[(line & !MUTE) as usize] == REMOVED | ADDED {
                n_both += 1;
                suspects.extend((line & MUTE == 0).then_some(index));
            }
        }
        Changed {
            suspects,
            n_lines,
            n_both,
        }
    }

    /// Returns the indices of the lines that may have been both removed and added and may be
    /// distinctive. Lines are counted from edit to edit, removed ones before added ones.
    pub fn suspects(&self) -> &[usize] {
        &self.suspects
    }

    /// Returns whether so many lines are both removed and added that [`recur`] may hold.
    pub fn may_recur(&self) -> bool {
        self.n_lines >= MIN_CHANGED && 2 * self.n_both >= self.n_lines
    }
}

/// Changed lines below which a better answer would not be worth the search.
const MIN_CHANGED: usize = 24;

/// Returns whether half of the lines of `edits` are both removed and added, each of them more than
/// once. Then recurring runs of lines may have been mismatched, and a search of everything may
/// change much less.
///
/// This does not hold for a block that was moved as a whole, since most of its lines are removed and
/// added once. Takes O(1) time for each changed line.
pub fn recur(original: &Text, modified: &Text, edits: &[Edit]) -> bool {
    let n_lines: usize = edits.iter().map(Edit::n_lines).sum();
    let n_flags = (FLAGS * n_lines).next_power_of_two().min(MAX_FLAGS);
    let mut counts = vec![[0_u8; 2]; n_flags];
    for edit in edits {
        let sides = [(original, &edit.before), (modified, &edit.after)];
        for (side, (text, lines)) in sides.into_iter().enumerate() {
            text.each_fingerprint(lines.clone(), |_, fingerprint, _| {
                let count = &mut counts[fingerprint as usize & (n_flags - 1)][side];
                *count = count.saturating_add(1);
            });
        }
    }
    let n_both = counts.iter().map(|[removed, added]| removed.min(added));
    let n_both = n_both.filter(|&&n| n > 1).map(|&n| match n {
        // The count is saturated: the line may occur any number of times.
        u8::MAX => n_lines,
        _ => usize::from(n),
    });
    4 * n_both.sum::<usize>() >= n_lines
}

struct Seen {
    /// On which sides the lines of each fingerprint are.
    sides: Vec<u8>,
    /// The fingerprint of each line, with [`MUTE`] added if the line is not distinctive.
    lines: Vec<u32>,
}

impl Seen {
    fn add(&mut self, text: &Text, lines: Range<usize>, side: u8) {
        // There are no more than `MAX_FLAGS`.
        let mask = (self.sides.len() - 1) as u32;
        text.each_fingerprint(lines, |len, fingerprint, last| {
            let place = fingerprint & mask;
            let is_mute = len <= SHORT_LEN && !is_distinctive_word(last);
            self.sides[place as usize] |= side;
            self.lines.push(match is_mute {
                true => place | MUTE,
                false => place,
            });
        });
    }
}

/// Returns whether `line` is distinctive: it has at least four letters or digits.
pub fn is_distinctive(line: &[u8]) -> bool {
    let word = line
        .iter()
        .filter(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii());
    word.take(MIN_WORD_LEN).count() == MIN_WORD_LEN
}

/// Returns a number whose bytes are all `byte`.
const fn each(byte: u8) -> u64 {
    u64::from_le_bytes([byte; SHORT_LEN])
}

/// Like [`is_distinctive`], for a line of at most eight bytes, given as a number with zeros around
/// it.
///
/// Does without branches, which a processor could hardly predict here.
#[inline]
fn is_distinctive_word(bytes: u64) -> bool {
    // Sets the highest bit of each byte that is at least `least`; must be unset in all bytes.
    let is_from = |bytes: u64, least: u8| bytes.wrapping_add(each(0x80 - least));
    let ascii = bytes & each(0x7f);
    let small = ascii | each(b'a' - b'A');
    let is_digit = is_from(ascii, b'0') & !is_from(ascii, b'9' + 1);
    let is_letter = is_from(small, b'a') & !is_from(small, b'z' + 1);
    let is_word = (is_digit | is_letter | bytes) & each(0x80);
    // The multiplication sums all bytes up in the highest one.
    (is_word >> 7).wrapping_mul(each(1)) >> 56 >= MIN_WORD_LEN as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_line_is_as_distinctive_as_a_number_as_by_its_bytes() {
        for byte in 0..=u8::MAX {
            for len in 1..=SHORT_LEN {
                for n_words in 0..len {
                    let mut line = vec![byte; len];
                    line[..n_words].copy_from_slice(&b"zA09a1\xffZ"[..n_words]);
                    let mut word = [0; SHORT_LEN];
                    word[..len].copy_from_slice(&line);
                    let found = is_distinctive_word(u64::from_le_bytes(word));
                    assert_eq!(found, is_distinctive(&line), "{line:?}");
                }
            }
        }
    }

    #[test]
    fn a_line_removed_here_and_added_there_is_a_suspect_and_few_others_are() {
        let text = |step: usize| {
            let lines = (0..2_000).map(|at| format!("line {}\n", at * step));
            Text::new(lines.collect::<String>().into_bytes())
        };
        let (original, modified) = (text(3), text(1_000));
        let edit = |at: usize| Edit {
            before: at..at + 10,
            after: at..at + 10,
        };
        let edits: Vec<Edit> = (0..2_000).step_by(20).map(edit).collect();
        let changed = Changed::new(&original, &modified, &edits);
        let found = changed.suspects();
        let lines = |text: &Text, range: &Range<usize>| -> Vec<Vec<u8>> {
            text.lines(range.clone()).map(<[u8]>::to_vec).collect()
        };
        let removed: Vec<_> = edits
            .iter()
            .flat_map(|edit| lines(&original, &edit.before))
            .collect();
        let added: Vec<_> = edits
            .iter()
            .flat_map(|edit| lines(&modified, &edit.after))
            .collect();
        let mut n_right = 0;
        for at in 0..2_000 {
            let index = at / 20 * 10 + at % 10;
            let is_both = match at % 20 < 10 {
                true => added.contains(&removed[index]),
                false => removed.contains(&added[index]),
            };
            assert!(!is_both || found.contains(&at), "{at}");
            n_right += usize::from(is_both);
        }
        assert!(
            n_right > 0 && found.len() < n_right + 400,
            "{n_right} {}",
            found.len()
        );
    }
}
