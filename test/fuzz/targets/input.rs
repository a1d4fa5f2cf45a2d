//! Choices and texts made of the bytes that the fuzzer gives.
//!
//! A byte is a choice, so that a byte which the fuzzer changes changes one thing. Each target
//! includes this file, and not all use all of it.
#![allow(dead_code)]

use std::ops::Range;

use agent_q_diff_engine::diff::{self, Edit, HeadingRule};
use agent_q_diff_engine::patch::hunk::Hunk;
use agent_q_diff_engine::text::Text;

/// Most lines of a text: small texts meet every boundary, and many of them are tried in a second.
const MAX_LINES: usize = 32;

/// What the fuzzer gives and nobody has read yet.
pub struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub fn new(bytes: &'a [u8]) -> Input<'a> {
        Input(bytes)
    }

    pub fn is_used_up(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns a number below `n`, which is at least 1 and at most 256; 0 when all is read.
    pub fn below(&mut self, n: usize) -> usize {
        let Some((&first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        usize::from(first) % n
    }

    /// Returns up to `max_len` bytes as they are.
    pub fn bytes(&mut self, max_len: usize) -> &'a [u8] {
        let len = self.below(max_len + 1).min(self.0.len());
        let (bytes, rest) = self.0.split_at(len);
        self.0 = rest;
        bytes
    }

    /// Returns up to `max_len` of the numbers below `len`, as a range.
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

    /// Returns lines and what becomes of them when a few runs are replaced; both may be without a
    /// newline at their ends.
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
            Text::new(text)
        };
        Pair {
            original: text(original, endings & 1 != 0),
            modified: text(modified, endings & 2 != 0),
            family,
        }
    }
}

/// Lines that a text is made of. Few, so that most of them are there many times.
pub struct Family(&'static [&'static [u8]]);

const FAMILIES: &[Family] = &[
    Family(&[b"a\n", b"b\n"]),
    Family(&[
        b"{\n", b"  x\n", b"}\n", b"\n", b"one\n", b"two\n", b"three\n",
    ]),
    Family(&[b"a\r\n", b"a\n", b"\r\n", b"\n", b"\rb\n", b"\r\r\n"]),
    Family(&[b"\0\n", b"\0\0\n", b"\xff\n", b"\xe2\x82\n", b"\n"]),
    // Lines that read as something else, with or without a sign before them.
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

pub struct Pair {
    pub original: Text,
    pub modified: Text,
    pub family: &'static Family,
}

impl Pair {
    pub fn edits(&self) -> Vec<Edit> {
        diff::edits(&self.original, &self.modified)
    }

    pub fn hunks(&self, context_len: usize) -> Vec<Hunk<'_>> {
        let (edits, original) = (self.edits(), &self.original);
        let groups = diff::group(&edits, original.len(), context_len);
        let headings = diff::section_headings(original, &groups, HeadingRule::Default);
        let hunk = |(group, heading)| diff::hunk(group, &edits, original, &self.modified, heading);
        groups.iter().zip(headings).map(hunk).collect()
    }
}
