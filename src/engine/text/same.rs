//! How many bytes two texts share at their heads and tails.

use std::iter::zip;

/// Number of bytes that are compared at once.
const BLOCK_LEN: usize = 32;

/// Number of bytes that are read as one number.
const WORD_LEN: usize = 8;

/// Length in bytes beyond which bytes are compared by the C library, which knows the processor.
const NEAR_LEN: usize = 512;

/// Numbers of bytes that it compares in one call: enough to make up for the call.
const STEP_LEN: usize = 1 << 10;
const LEAP_LEN: usize = 1 << 14;

/// Returns the length in bytes of the longest common prefix of `a` and `b`.
pub fn equal_head(a: &[u8], b: &[u8]) -> usize {
    let len = a.len().min(b.len());
    let (a, b) = (&a[..len], &b[..len]);
    let near = len.min(NEAR_LEN);
    let mut done = equal_chunks::<BLOCK_LEN>(&a[..near], &b[..near]);
    if done == NEAR_LEN {
        done += equal_chunks::<LEAP_LEN>(&a[done..], &b[done..]);
        done += equal_chunks::<STEP_LEN>(&a[done..], &b[done..]);
        done += equal_chunks::<BLOCK_LEN>(&a[done..], &b[done..]);
    }
    done + equal_bytes(&a[done..], &b[done..])
}

/// Returns the length in bytes of the longest common suffix of `a` and `b`.
pub fn equal_tail(a: &[u8], b: &[u8]) -> usize {
    let mut done = equal_last_chunks::<LEAP_LEN>(a, b);
    done += equal_last_chunks::<STEP_LEN>(&a[..a.len() - done], &b[..b.len() - done]);
    done += equal_last_chunks::<BLOCK_LEN>(&a[..a.len() - done], &b[..b.len() - done]);
    let (a, b) = (&a[..a.len() - done], &b[..b.len() - done]);
    let rest = zip(a.iter().rev(), b.iter().rev());
    done + rest.take_while(|(a, b)| a == b).count()
}

/// Returns the length in bytes of the common prefix, in whole chunks of `N` bytes.
#[inline]
fn equal_chunks<const N: usize>(a: &[u8], b: &[u8]) -> usize {
    let chunks = zip(a.as_chunks::<N>().0, b.as_chunks::<N>().0);
    N * chunks.take_while(|(a, b)| a == b).count()
}

#[inline]
fn equal_last_chunks<const N: usize>(a: &[u8], b: &[u8]) -> usize {
    let (a, b) = (a.as_rchunks::<N>().1, b.as_rchunks::<N>().1);
    let chunks = zip(a.iter().rev(), b.iter().rev());
    N * chunks.take_while(|(a, b)| a == b).count()
}

/// Returns how many leading bytes of two words are equal.
#[inline]
fn equal_word(a: &[u8; WORD_LEN], b: &[u8; WORD_LEN]) -> usize {
    (u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b)).trailing_zeros() as usize / 8
}

/// Like [`equal_head`], for a common prefix that is expected to be short.
#[inline]
fn equal_bytes(a: &[u8], b: &[u8]) -> usize {
    let words = zip(a.as_chunks::<WORD_LEN>().0, b.as_chunks::<WORD_LEN>().0);
    let mut done = 0;
    for (a, b) in words {
        let n_same = equal_word(a, b);
        done += n_same;
        if n_same < WORD_LEN {
            return done;
        }
    }
    let rest = zip(&a[done..], &b[done..]);
    done + rest.take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_the_same_ends_at_the_first_byte_that_differs() {
        let long: Vec<u8> = (0..3 * LEAP_LEN).map(|at| (at % 251) as u8).collect();
        for len in (0..700).chain([LEAP_LEN + NEAR_LEN, 2 * LEAP_LEN + 1, long.len()]) {
            let a = &long[..len];
            assert_eq!((equal_head(a, a), equal_tail(a, a)), (len, len));
            assert_eq!((equal_head(a, &long), equal_head(&long, a)), (len, len));
            assert_eq!(equal_tail(&long[long.len() - len..], &long), len);
            for at in [0, 1, len / 3, len / 2, len.saturating_sub(1)] {
                let mut b = a.to_vec();
                if let Some(byte) = b.get_mut(at) {
                    *byte ^= 0x80;
                    assert_eq!((equal_head(a, &b), equal_tail(a, &b)), (at, len - at - 1));
                }
            }
        }
    }
}
