//! Which lines are there only once.

use std::ops::Range;

use imara_diff::{InternedInput, Token};

use super::{Kind, Segment, Weave};
use crate::text::Text;

/// Which lines of the original, and of those that atoms add, are equal to no other of these.
///
/// They stay unique whatever is flipped. Takes a bit for each line of both texts.
#[derive(Debug, Clone)]
pub(super) struct UniqueLines {
    original: Flags,
    modified: Flags,
}

impl UniqueLines {
    /// Takes O(n) time and space for n lines.
    fn new(weave: &Weave) -> UniqueLines {
        let (original, modified) = (&weave.original, &weave.modified);
        let added = || weave.atoms.iter().flat_map(|atom| atom.new.clone());
        let n_added: usize = weave.atoms.iter().map(|atom| atom.new.len()).sum();
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
        let is_alone = |(_, token): &(usize, &Token)| !is_several[token.0 as usize];
        let line = |(line, _)| line;
        let lines = (0..original.len()).zip(&input.before).filter(is_alone);
        let added = added().zip(&input.after).filter(is_alone);
        UniqueLines {
            original: Flags::new(original.len(), lines.map(line)),
            modified: Flags::new(modified.len(), added.map(line)),
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

/// The lines of the target, each found in O(log s) time for s segments.
pub(crate) struct TargetLines<'a> {
    weave: &'a Weave,
    alone: &'a UniqueLines,
    /// For each segment that is alive, the line of the target with which it begins.
    starts: Vec<(usize, &'a Segment)>,
}

/// Lines of the target that stand together in one of the texts.
pub(crate) struct TargetRun<'a> {
    lines: Range<usize>,
    text: &'a Text,
    /// Line of the text that is the first of them.
    first: usize,
}

impl<'a> TargetRun<'a> {
    /// Returns line `at` of the target, if it is one of these.
    pub fn get(&self, at: usize) -> Option<&'a [u8]> {
        let is_here = self.lines.contains(&at);
        is_here.then(|| self.text.line(self.first + at - self.lines.start))
    }
}

impl Weave {
    /// Returns the lines of the target. Takes O(s) time for s segments, and the first time after the
    /// texts changed O(n) for n lines.
    pub(crate) fn target_lines_one_by_one(&self) -> TargetLines<'_> {
        let mut line = 0;
        let mut start = |segment: &Segment| {
            line += segment.len();
            line - segment.len()
        };
        TargetLines {
            weave: self,
            alone: self.counted.alone.get_or_init(|| UniqueLines::new(self)),
            starts: self
                .alive()
                .map(|segment| (start(segment), segment))
                .collect(),
        }
    }

    /// Returns the run of lines of the target around line `at`. Panics if there is no such line.
    pub(crate) fn target_run(&self, at: usize) -> TargetRun<'_> {
        let (first, mut line) = self.segment_above(at);
        let mut alive = self.alive_of(&self.segments[first..]);
        let mut holds_line = |segment: &&Segment| {
            line += segment.len();
            line > at
        };
        let segment = alive.find(&mut holds_line).expect("a line of the target");
        TargetRun {
            lines: line - segment.len()..line,
            text: self.text_of(segment),
            first: segment.lines().start,
        }
    }

    /// Returns the lines that others put into the target, those that are gone included.
    pub(crate) fn user_lines(&self) -> impl Iterator<Item = &[u8]> {
        self.user.lines(0..self.user.len())
    }
}

impl<'a> TargetLines<'a> {
    /// Returns line `at` of the target (0-based), and whether it is known to be equal to no other but
    /// those that others put in. Panics if there is no such line.
    pub fn get(&self, at: usize) -> (&'a [u8], bool) {
        let index = self.starts.partition_point(|(start, _)| *start <= at) - 1;
        let (start, segment) = self.starts[index];
        let line = segment.lines().start + at - start;
        let is_alone = match segment.kind() {
            Kind::Common | Kind::Old(_) => self.alone.original.is_set(line),
            Kind::New(_) => self.alone.modified.is_set(line),
            Kind::User => false,
        };
        (self.weave.text_of(segment).line(line), is_alone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff;

    #[test]
    fn a_line_is_unique_if_both_texts_have_it_at_most_once() {
        let original = Text::new(b"1\n2\n2\n3\n4\n5\n".to_vec());
        let modified = Text::new(b"1\n2\n2\n6\n7\n7\n5\n1\n".to_vec());
        let edits = diff::edits(&original, &modified);
        let mut weave = Weave::new(original, modified, &edits);
        let alone = |weave: &Weave| {
            let lines = weave.target_lines_one_by_one();
            let is_alone = |&at: &usize| lines.get(at).1;
            let alone = (0..weave.n_lines()).filter(is_alone);
            alone
                .flat_map(|at| lines.get(at).0)
                .copied()
                .collect::<Vec<u8>>()
        };
        assert_eq!(alone(&weave), b"3\n4\n5\n");
        weave.flip(&[0, 1]);
        assert_eq!(weave.target(), b"1\n2\n2\n6\n7\n7\n5\n1\n");
        assert_eq!(alone(&weave), b"6\n5\n");
        weave.edit_outside(0, 0, b"5\n9\n", false);
        assert_eq!(alone(&weave), b"6\n5\n");
        assert_eq!(weave.user_lines().collect::<Vec<_>>(), [b"5\n", b"9\n"]);
    }
}
