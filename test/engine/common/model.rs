//! A naive model of a target: a list of lines, each with a tag that tells it from lines that read
//! the same.

use agent_q_diff_engine::diff::{self, Group};

use super::compared::{Compared, compare};
use super::dice::Dice;

/// Which line a line of the target is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tag {
    /// A line of the original, counted from 0.
    Original(usize),
    /// An added line of the modified text, counted from 0.
    Modified(usize),
    /// A line that somebody else wrote.
    FromOutside,
}

pub type TaggedLine = (Tag, Vec<u8>);

/// Two texts and the groups of their edits, one for each hunk.
pub struct Naive {
    pub compared: Compared,
    pub groups: Vec<Group>,
}

impl Naive {
    /// Returns `None` for equal texts, which are no proposal.
    pub fn new(original: &[u8], modified: &[u8], context_len: usize) -> Option<Naive> {
        let compared = compare(original, modified);
        let groups = diff::group(&compared.edits, compared.original.len(), context_len);
        (!groups.is_empty()).then_some(Naive { compared, groups })
    }

    /// Returns the original with exactly the hunks in `chosen`.
    pub fn text(&self, chosen: &[bool]) -> Vec<u8> {
        bytes(&self.lines(chosen))
    }

    /// Returns the lines of [`Naive::text`].
    pub fn lines(&self, chosen: &[bool]) -> Vec<TaggedLine> {
        let Compared {
            original,
            modified,
            edits,
        } = &self.compared;
        let mut lines = Vec::new();
        let mut done = 0;
        let old = |at: usize| (Tag::Original(at), original.line(at).to_vec());
        let new = |at: usize| (Tag::Modified(at), modified.line(at).to_vec());
        for (group, is_in) in self.groups.iter().zip(chosen) {
            for edit in edits[group.edits.clone()].iter().filter(|_| *is_in) {
                lines.extend((done..edit.before.start).map(old));
                lines.extend(edit.after.clone().map(new));
                done = edit.before.end;
            }
        }
        lines.extend((done..original.len()).map(old));
        lines
    }

    /// Returns the lines that `hunk` spans with its change or without, context included.
    pub fn run(&self, hunk: usize, is_in: bool) -> Vec<TaggedLine> {
        let hunks = 0..self.groups.len();
        let chosen: Vec<bool> = hunks.map(|other| other == hunk && is_in).collect();
        let Group { before, after, .. } = &self.groups[hunk];
        let len = if is_in { after.len() } else { before.len() };
        let lines = self.lines(&chosen).into_iter();
        lines.skip(before.start).take(len).collect()
    }

    pub fn some_hunks(&self, dice: &mut Dice) -> Vec<bool> {
        self.groups.iter().map(|_| dice.roll(2) == 0).collect()
    }
}

pub fn bytes(lines: &[TaggedLine]) -> Vec<u8> {
    lines.iter().flat_map(|(_, line)| line).copied().collect()
}

pub fn tags(lines: &[TaggedLine]) -> Vec<Tag> {
    lines.iter().map(|line| line.0).collect()
}
