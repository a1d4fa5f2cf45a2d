//! Which lines occur only once.

use imara_diff::{InternedInput, Token};

use super::Atom;
use super::segment::{Kind, Segment};
use crate::text::Text;

/// Which of the original's lines and of the lines that atoms add equal no other of these lines.
///
/// Flipping atoms does not change that. Takes one bit per line of both texts.
#[derive(Debug, Clone)]
pub(super) struct UniqueLines {
    original: Flags,
    modified: Flags,
}

impl UniqueLines {
    /// Compares all lines of `original` and those lines of `modified` that `atoms` add. Takes O(n)
    /// time and space for n lines.
    pub fn new(original: &Text, modified: &Text, atoms: &[Atom]) -> UniqueLines {
        let added = || atoms.iter().flat_map(|atom| atom.new.clone());
        let n_added: usize = atoms.iter().map(|atom| atom.new.len()).sum();
        let mut input = InternedInput::<&[u8]>::default();
        // A text has fewer lines than bytes, and these are counted in 32 bits.
        input.reserve(original.len() as u32, n_added as u32);
        input.update_before(original.lines(0..original.len()));
        input.update_after(added().map(|line| modified.line(line)));
        let mut is_several = vec![false; input.interner.num_tokens() as usize];
        let mut is_there = is_several.clone();
        for token in input.before.iter().chain(&input.after) {
            let token = token.0 as usize;
            is_several[token] |= is_there[token];
            is_there[token] = true;
        }
        let is_unique = |(_, token): &(usize, &Token)| !is_several[token.0 as usize];
        let line = |(line, _)| line;
        let lines = (0..original.len()).zip(&input.before).filter(is_unique);
        let added = added().zip(&input.after).filter(is_unique);
        UniqueLines {
            original: Flags::new(original.len(), lines.map(line)),
            modified: Flags::new(modified.len(), added.map(line)),
        }
    }
    /// Returns whether line `line` of the text of `segment`, one of the segment's lines, is unique;
    /// false for text of others.
    pub fn has(&self, segment: &Segment, line: usize) -> bool {
        match segment.kind() {
            Kind::Common | Kind::Old(_) => self.original.is_set(line),
            Kind::New(_) => self.modified.is_set(line),
            Kind::User => false,
        }
    }
}

/// A set of lines.
#[derive(Debug, Clone)]
struct Flags(Vec<u64>);

impl Flags {
    fn new(n_lines: usize, set: impl Iterator<Item = usize>) -> Flags {
        let mut flags = vec![0; n_lines.div_ceil(64)];
        set.for_each(|line| flags[line / 64] |= 1 << (line % 64));
        Flags(flags)
    }

    fn is_set(&self, line: usize) -> bool {
        self.0[line / 64] >> (line % 64) & 1 == 1
    }
}
