//! Choices and texts made of the bytes that the fuzzer gives.
//!
//! Each byte is one choice, so that changing one byte changes one thing. Each target includes this
//! file, and not all use all of it.
#![allow(dead_code)]

use std::ops::Range;

use crate::compared::{Compared, compare};

/// Most lines of a text. Small texts reach every boundary, and many of them are tried in a second.
const MAX_LINES: usize = 32;

/// The bytes of the fuzzer that are not read yet.
pub struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub fn new(bytes: &'a [u8]) -> Input<'a> {
        Input(bytes)
    }

    pub fn is_used_up(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns a number below `n`, which is 1 to 256; 0 when all bytes are read.
    pub fn below(&mut self, n: usize) -> usize {
        let Some((&first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        usize::from(first) % n
    }

    /// Returns up to `max_len` bytes unchanged.
    pub fn bytes(&mut self, max_len: usize) -> &'a [u8] {
        let len = self.below(max_len + 1).min(self.0.len());
        let (bytes, rest) = self.0.split_at(len);
        self.0 = rest;
        bytes
    }

    /// Returns a range of up to `max_len` of the numbers below `len`.
    pub fn range_in(&mut self, len: usize, max_len: usize) -> Range<usize> {
        let start = self.below(len + 1);
        start..len.min(start + self.below(max_len + 1))
    }

    /// Returns up to `max_len` lines of `family`, each with its terminator.
    pub fn lines(&mut self, family: &Family, max_len: usize) -> Vec<Vec<u8>> {
        let n_lines = self.below(max_len + 1);
        (0..n_lines).map(|_| self.line(family)).collect()
    }

    pub fn line(&mut self, family: &Family) -> Vec<u8> {
        family.0[self.below(family.0.len())].to_vec()
    }

    /// Returns a text, and the same with a few runs of lines replaced. Both may lack the newline at
    /// the end.
    pub fn pair(&mut self) -> Pair {
        let family = &FAMILIES[self.below(FAMILIES.len())];
        let original = match self.below(2) {
            0 => self.lines(family, MAX_LINES),
            _ => {
                let block = self.lines(family, 4);
                vec![block; self.below(8)].concat()
            }
        };
        let mut modified = original.clone();
        for _ in 0..1 + self.below(6) {
            let range = self.range_in(modified.len(), 3);
            modified.splice(range, self.lines(family, 3));
        }
        let endings = self.below(8);
        let text = |lines: Vec<Vec<u8>>, is_open: bool| {
            let mut text = lines.concat();
            if is_open {
                text.pop();
            }
            text
        };
        let (original, modified) = (
            text(original, endings & 1 != 0),
            text(modified, endings & 2 != 0),
        );
        Pair {
            compared: compare(&original, &modified),
            family,
        }
    }
}

/// The lines that a text is made of: few, so that most of them recur.
pub struct Family(&'static [&'static [u8]]);

const FAMILIES: &[Family] = &[
    Family(&[b"a\n", b"b\n"]),
    Family(&[
        b"{\n", b"  x\n", b"}\n", b"\n", b"one\n", b"two\n", b"three\n",
    ]),
    Family(&[b"a\r\n", b"a\n", b"\r\n", b"\n", b"\rb\n", b"\r\r\n"]),
    Family(&[b"\0\n", b"\0\0\n", b"\xff\n", b"\xe2\x82\n", b"\n"]),
    // Lines that look like a part of a diff, with or without a sign before them.
    Family(&[
        b"-- a\n",
        b"++ b\n",
        b"--- a\n",
        b"+++ b\n",
        b"@@ -1 +1 @@\n",
        b"- \n",
        b"\\ No newline at end of file\n",
        b" No newline at end of file\n",
        b"diff --git a/f b/f\n",
        b"GIT binary patch\n",
        b"x\n",
    ]),
];

/// Two texts, and what their lines are made of.
pub struct Pair {
    pub compared: Compared,
    pub family: &'static Family,
}
