//! A naive model of a target whose hunks the user rewrites: blocks of text with gaps between them.
//!
//! Blocks and gaps alternate, with one block for each hunk and its context. A block is one of its
//! two sides. Editing a hunk replaces one side of its block, merging it replaces both. Typing into
//! a gap changes only the gap. After typing into a block only this is certain: the hunk is refused,
//! or exactly its own lines are replaced by exactly its other lines. It must be refused once lines
//! that it would replace are gone.

use agent_q_diff_engine::patch::hunk::{Hunk, Line, LineKind};
use agent_q_diff_engine::review::Mark;
use agent_q_diff_engine::weave::LineEdit;

use crate::common::desk::lines_of;

pub type Lines = Vec<Vec<u8>>;

/// What others did to a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Touch {
    Untouched,
    Touched,
    /// Lines that the hunk would replace are gone.
    Conflict,
}

use Touch::Untouched;

#[derive(Debug, Clone)]
pub struct Block {
    pub old: Lines,
    pub new: Lines,
    /// The lines in the target.
    pub live: Lines,
    pub touch: Touch,
    pub is_in: bool,
    pub mark: Mark,
    pub is_edited: bool,
}

impl Block {
    pub fn side(&self, is_in: bool) -> &Lines {
        if is_in { &self.new } else { &self.old }
    }

    pub fn become_side(&mut self, is_in: bool) {
        self.live = self.side(is_in).clone();
        (self.is_in, self.touch) = (is_in, Untouched);
    }
}

/// The lines between two blocks, before the first or after the last.
#[derive(Debug, Clone, Default)]
pub struct Gap {
    pub original: Lines,
    /// The lines in the target, each with whether it was typed.
    pub live: Vec<(bool, Vec<u8>)>,
    pub has_deletions: bool,
}

impl Gap {
    pub fn become_original(&mut self) {
        let lines = self.original.iter();
        self.live = lines.map(|line| (false, line.clone())).collect();
        self.has_deletions = false;
    }

    pub fn is_touched(&self) -> bool {
        self.has_deletions || self.live.iter().any(|line| line.0)
    }
}

#[derive(Debug, Clone)]
pub struct State {
    pub blocks: Vec<Block>,
    /// One more than blocks.
    pub gaps: Vec<Gap>,
}

/// A place in the target.
#[derive(Debug, Clone, Copy)]
pub enum Region {
    Gap(usize),
    Block(usize),
}

impl State {
    pub fn new(original: &[u8], review: &[Hunk<'_>]) -> State {
        let original = lines_of(original);
        let gap = |lines: &[Vec<u8>]| {
            let mut gap = Gap {
                original: lines.to_vec(),
                ..Gap::default()
            };
            gap.become_original();
            gap
        };
        let (mut blocks, mut gaps, mut done) = (Vec::new(), Vec::new(), 0);
        for hunk in review {
            gaps.push(gap(&original[done..hunk.before.start]));
            done = hunk.before.end;
            let mut block = Block {
                old: sides(hunk).0,
                new: sides(hunk).1,
                live: Lines::new(),
                touch: Untouched,
                is_in: false,
                mark: Mark::Pending,
                is_edited: false,
            };
            block.become_side(false);
            blocks.push(block);
        }
        gaps.push(gap(&original[done..]));
        State { blocks, gaps }
    }

    /// Returns the lines that `of_gap` gives for each gap and `of_block` for each block, in order.
    pub fn by_turns<'a>(
        &'a self,
        of_gap: impl Fn(&'a Gap) -> Lines,
        of_block: impl Fn(&'a Block) -> &'a Lines,
    ) -> Lines {
        let mut lines = of_gap(&self.gaps[0]);
        for (block, gap) in self.blocks.iter().zip(&self.gaps[1..]) {
            lines.extend_from_slice(of_block(block));
            lines.extend(of_gap(gap));
        }
        lines
    }

    pub fn lines(&self) -> Lines {
        let of_gap = |gap: &Gap| gap.live.iter().map(|line| line.1.clone()).collect();
        self.by_turns(of_gap, |block| &block.live)
    }

    /// Returns the original, with what the user made of it by merging.
    pub fn original(&self) -> Lines {
        self.by_turns(|gap| gap.original.clone(), |block| &block.old)
    }

    /// Returns all regions in order, each with the number of its lines.
    pub fn regions(&self) -> Vec<(Region, usize)> {
        let mut regions = vec![(Region::Gap(0), self.gaps[0].live.len())];
        for (at, block) in self.blocks.iter().enumerate() {
            regions.push((Region::Block(at), block.live.len()));
            regions.push((Region::Gap(at + 1), self.gaps[at + 1].live.len()));
        }
        regions
    }

    /// Returns the first line of `block` in the target.
    pub fn line_of(&self, block: usize) -> usize {
        let above = self.blocks[..block].iter().map(|block| block.live.len());
        let gaps = self.gaps[..=block].iter().map(|gap| gap.live.len());
        above.sum::<usize>() + gaps.sum::<usize>()
    }

    pub fn is_touched(&self) -> bool {
        self.gaps.iter().any(Gap::is_touched)
            || self.blocks.iter().any(|block| block.touch != Untouched)
    }

    /// Makes the target the original with the blocks `is_in` and nothing else.
    pub fn become_choice(&mut self, is_in: impl Fn(usize) -> bool) {
        self.gaps.iter_mut().for_each(Gap::become_original);
        for (at, block) in self.blocks.iter_mut().enumerate() {
            block.become_side(is_in(at));
        }
    }

    /// Makes the target that of `before`, and keeps the marks and texts of the hunks.
    pub fn become_target_of(&mut self, before: State) {
        self.gaps = before.gaps;
        for (block, was) in self.blocks.iter_mut().zip(before.blocks) {
            (block.live, block.is_in, block.touch) = (was.live, was.is_in, was.touch);
        }
    }

    /// Tells whether the target is that of `other`, with the same hunks in it.
    pub fn has_target_of(&self, other: &State) -> bool {
        let target = |state: &State| {
            let blocks = state.blocks.iter();
            let blocks = blocks.map(|block| (block.live.clone(), block.is_in, block.touch));
            let gaps = state.gaps.iter().map(|gap| gap.live.clone());
            (blocks.collect::<Vec<_>>(), gaps.collect::<Vec<_>>())
        };
        target(self) == target(other)
    }

    /// Tells whether a line without newline is followed by another one.
    pub fn is_glued(&self) -> bool {
        let lines = self.lines();
        let n_last = lines.len().saturating_sub(1);
        lines[..n_last].iter().any(|line| is_open(line))
    }
}

pub fn is_open(line: &[u8]) -> bool {
    !line.is_empty() && !line.ends_with(b"\n")
}

/// Returns the lines of `hunk` before it is applied and afterwards.
pub fn sides(hunk: &Hunk<'_>) -> (Lines, Lines) {
    let lines = |is_other: fn(LineKind) -> bool| -> Lines {
        let lines = hunk.lines.iter().filter(|line| !is_other(line.kind));
        lines.map(|line| line.text.to_vec()).collect()
    };
    (
        lines(|kind| kind == LineKind::Added),
        lines(|kind| kind == LineKind::Removed),
    )
}

/// Returns the removed and the added lines of each run of changes in `hunk`.
pub fn runs(hunk: &Hunk<'_>) -> Vec<(Lines, Lines)> {
    let is_context = |line: &Line<'_>| line.kind == LineKind::Context;
    let runs = hunk.lines.split(is_context).filter(|run| !run.is_empty());
    let of = |run: &[Line<'_>], kind| -> Lines {
        let lines = run.iter().filter(|line| line.kind == kind);
        lines.map(|line| line.text.to_vec()).collect()
    };
    runs.map(|run| (of(run, LineKind::Removed), of(run, LineKind::Added)))
        .collect()
}

/// Returns the changed lines of `hunk`, in its order.
pub fn changed(hunk: &Hunk<'_>) -> Vec<(LineKind, Vec<u8>)> {
    let lines = hunk
        .lines
        .iter()
        .filter(|line| line.kind != LineKind::Context);
    lines.map(|line| (line.kind, line.text.to_vec())).collect()
}

/// Returns the lines of `text`, with a newline at the end unless one of `ends` has none there. It
/// is CRLF if one of `models` ends so.
pub fn completed(text: &[u8], ends: &[&Lines], models: &[&Lines]) -> Lines {
    let mut lines = lines_of(text);
    let last = |lines: &&Lines| lines.last().cloned().unwrap_or_default();
    if let Some(open) = lines.last_mut().filter(|line| is_open(line))
        && !ends.iter().any(|end| is_open(&last(end)))
    {
        let has_cr = models.iter().any(|model| last(model).ends_with(b"\r\n"));
        open.extend_from_slice(if has_cr { b"\r\n" } else { b"\n" });
    }
    lines
}

/// Returns the lines `live`, which begin at line `start` of the target, after `edits`.
pub fn edited(live: &Lines, start: usize, edits: &[LineEdit]) -> Lines {
    let mut live = live.clone();
    for edit in edits.iter().rev() {
        let first = edit.line.checked_sub(start).expect("a line of the hunk");
        live.splice(first..first + edit.n_removed, lines_of(&edit.text));
    }
    live
}
