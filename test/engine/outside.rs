//! Random walks with edits from outside, against an oracle that knows every line by its tag.
//!
//! The oracle keeps the target as a list of tagged lines and nothing else. Where a change belongs
//! it derives from tags and from what was known when each line was typed: never from text, and not
//! from segments.

use std::ops::Range;

use agent_q_diff::diff::{self, Edit, Group};
use agent_q_diff::proposal::Proposal;
use agent_q_diff::review::{Command, Fact, Note, Refusal};
use agent_q_diff::text::Text;

use crate::dice::Dice;
use crate::target::Desk;

/// Cases for each of the three kinds of text.
const N_CASES: u64 = 8_000;
const N_STEPS: usize = 16;

/// Room between the keys of two lines of the original.
const STEP: usize = 1 << 16;

/// Where a line belongs in the order of original and proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tag {
    /// A line of one of the two texts. Added lines have keys before that of the line they replace.
    Known(usize),
    /// A line typed from outside: after all that is known to be before it, and so on.
    Typed { after: usize, before: usize },
}

impl Tag {
    fn lowest(self) -> usize {
        match self {
            Tag::Known(key) => key,
            Tag::Typed { after, .. } => after,
        }
    }

    fn highest(self) -> usize {
        match self {
            Tag::Known(key) => key,
            Tag::Typed { before, .. } => before,
        }
    }
}

type Line = (Tag, Vec<u8>);

#[derive(Debug, Clone)]
struct State {
    lines: Vec<Line>,
    /// Keys of the lines that were deleted from outside.
    gone: Vec<usize>,
    is_in: Vec<bool>,
}

struct Oracle {
    original: Text,
    modified: Text,
    edits: Vec<Edit>,
    groups: Vec<Group>,
    state: State,
}

fn key(line: usize) -> usize {
    (line + 1) * STEP
}

impl Oracle {
    fn new(original: &Text, modified: &Text, context_len: usize) -> Oracle {
        let edits = diff::edits(original, modified);
        let groups = diff::group(&edits, original.len(), context_len);
        let mut oracle = Oracle {
            original: original.clone(),
            modified: modified.clone(),
            state: State {
                lines: Vec::new(),
                gone: Vec::new(),
                is_in: vec![false; groups.len()],
            },
            edits,
            groups,
        };
        oracle.become_choice(vec![false; oracle.groups.len()]);
        oracle
    }

    fn text(&self) -> Vec<u8> {
        let lines = self.state.lines.iter();
        lines.flat_map(|(_, line)| line).copied().collect()
    }

    /// Makes the target the original with the hunks `is_in` and nothing else.
    fn become_choice(&mut self, is_in: Vec<bool>) {
        let mut lines = Vec::new();
        let mut done = 0;
        for (group, is_in) in self.groups.iter().zip(&is_in) {
            for edit in self.edits[group.edits.clone()].iter().filter(|_| *is_in) {
                lines.extend(self.old(done..edit.before.start));
                lines.extend(self.new_lines(edit));
                done = edit.before.end;
            }
        }
        lines.extend(self.old(done..self.original.len()));
        let gone = Vec::new();
        self.state = State { lines, gone, is_in };
    }

    fn old(&self, range: Range<usize>) -> Vec<Line> {
        let line = |at: usize| (Tag::Known(key(at)), self.original.line(at).to_vec());
        range.map(line).collect()
    }

    fn new_lines(&self, edit: &Edit) -> Vec<Line> {
        let first = key(edit.before.start) - STEP / 2;
        let lines = self.modified.lines(edit.after.clone()).enumerate();
        let line = |(at, line): (usize, &[u8])| (Tag::Known(first + at), line.to_vec());
        lines.map(line).collect()
    }

    /// Returns which lines of the target `edit` replaces when it is flipped, or `None` if it has
    /// no certain place.
    fn place(&self, edit: &Edit, is_in: bool) -> Option<Range<usize>> {
        let side = match is_in {
            true => self.new_lines(edit),
            false => self.old(edit.before.clone()),
        };
        let lines = &self.state.lines;
        if let Some(first) = side.first() {
            let start = lines.iter().position(|line| line.0 == first.0)?;
            let range = start..start + side.len();
            return (lines.get(range.clone())? == side).then_some(range);
        }
        let other = match is_in {
            true => self.old(edit.before.clone()),
            false => self.new_lines(edit),
        };
        self.point(other[0].0.lowest())
    }

    /// Returns the place of lines with the key `key` that are not in the target.
    fn point(&self, key: usize) -> Option<Range<usize>> {
        let lines = &self.state.lines;
        let known = |line: &Line| match line.0 {
            Tag::Known(key) => Some(key),
            Tag::Typed { .. } => None,
        };
        let below = |line: &Line| known(line).is_some_and(|other| other < key);
        let above = |line: &Line| known(line).is_some_and(|other| other > key);
        let start = lines.iter().rposition(below).map_or(0, |at| at + 1);
        let end = lines.iter().position(above).unwrap_or(lines.len());
        let gap = &lines[start..end];
        if gap
            .iter()
            .any(|line| line.0.lowest() < key && key < line.0.highest())
        {
            return None;
        }
        let alive = || lines.iter().filter_map(known);
        let gone = || self.state.gone.iter().copied();
        let nearest_below = |other: &usize| *other < key;
        let is_gone_below =
            gone().filter(nearest_below).max() > alive().filter(nearest_below).max();
        let nearest_above = |other: &usize| *other > key;
        let is_gone_above = match gone().filter(nearest_above).min() {
            None => false,
            Some(gone) => alive()
                .filter(nearest_above)
                .min()
                .is_none_or(|alive| gone < alive),
        };
        if is_gone_below && is_gone_above {
            return None;
        }
        let at = start + gap.iter().filter(|line| line.0.highest() <= key).count();
        Some(at..at)
    }

    /// Tells whether every change of `hunk` has a certain place.
    fn can_flip(&self, hunk: usize) -> bool {
        let mut edits = self.edits[self.groups[hunk].edits.clone()].iter();
        edits.all(|edit| self.place(edit, self.state.is_in[hunk]).is_some())
    }

    fn flip(&mut self, hunk: usize) {
        let is_in = self.state.is_in[hunk];
        let edits = self.edits.clone();
        for edit in edits[self.groups[hunk].edits.clone()].iter() {
            let range = self.place(edit, is_in).expect("a place");
            let now = match is_in {
                true => self.old(edit.before.clone()),
                false => self.new_lines(edit),
            };
            self.state.lines.splice(range, now);
        }
        self.state.is_in[hunk] = !is_in;
    }

    fn edit_outside(&mut self, range: Range<usize>, typed: &[Vec<u8>]) {
        let lines = &mut self.state.lines;
        let (after, before) = match range.is_empty() {
            true => {
                let left = range.start.checked_sub(1).map(|at| lines[at].0);
                let right = lines.get(range.start).map(|line| line.0);
                let after = left.map_or(0, Tag::lowest);
                (after, right.map_or(usize::MAX, Tag::highest))
            }
            false => {
                let tags = || lines[range.clone()].iter().map(|line| line.0);
                let after = tags().map(Tag::lowest).min();
                (
                    after.unwrap_or(0),
                    tags().map(Tag::highest).max().unwrap_or(0),
                )
            }
        };
        let tag = Tag::Typed { after, before };
        let typed: Vec<Line> = typed.iter().map(|line| (tag, line.clone())).collect();
        for (tag, _) in lines.splice(range, typed) {
            if let Tag::Known(key) = tag {
                self.state.gone.push(key);
            }
        }
    }
}

/// What was done to the target last, as lines to be put back.
struct Done {
    before: State,
    /// What undoing it does to the text: in the order in which it is done.
    undoing: Vec<(usize, usize, Vec<u8>)>,
}

struct Walk<'a> {
    desk: Desk,
    oracle: Oracle,
    done: Vec<Done>,
    dice: &'a mut Dice,
    n_typed: usize,
    n_flips: usize,
}

impl Walk<'_> {
    fn step(&mut self) {
        let hunk = self.dice.roll(self.oracle.groups.len());
        match self.dice.roll(16) {
            0..=3 => self.act(hunk, Command::Accept),
            4 | 5 => self.act(hunk, Command::Unapply),
            6 => self.act(hunk, Command::Toggle),
            7 => self.act(hunk, Command::Reject),
            8 => self.accept_all(),
            9..=13 => self.edit(),
            14 => self.undo(),
            _ if self.dice.roll(4) == 0 => self.revert(),
            _ => self.undo(),
        }
        assert_eq!(self.desk.live, self.oracle.text());
        for hunk in 0..self.oracle.groups.len() {
            let fact = match self.oracle.state.is_in[hunk] {
                true => Fact::In,
                false => Fact::Out,
            };
            assert_eq!(self.desk.review.fact(hunk), fact);
            let obstacle = self.desk.review.proposal().obstacle(hunk);
            assert_eq!(
                obstacle.is_none(),
                self.oracle.can_flip(hunk),
                "{obstacle:?}"
            );
        }
    }

    fn act(&mut self, hunk: usize, command: Command) {
        let can_flip = self.oracle.can_flip(hunk);
        let planned = self.desk.review.plan(hunk, command);
        match planned {
            Ok(plan) if plan.steps[0].1.note == Note::Edited => {
                assert!(can_flip);
                self.n_flips += 1;
                self.note(|walk| {
                    walk.desk.carry_out(&plan);
                    walk.oracle.flip(hunk);
                });
            }
            Ok(plan) => self.desk.carry_out(&plan),
            Err(Refusal::NotIn) => {}
            Err(refusal) => assert!(!can_flip, "{refusal:?}"),
        }
    }

    fn accept_all(&mut self) {
        let (plan, refused) = self.desk.review.plan_all();
        for (hunk, refusal) in refused {
            assert!(!self.oracle.can_flip(hunk), "{refusal:?}");
        }
        let flipped = plan.steps.iter().filter(|(_, step)| step.is_flip);
        let mut flipped: Vec<usize> = flipped.map(|(hunk, _)| *hunk).collect();
        assert!(flipped.iter().all(|&hunk| self.oracle.can_flip(hunk)));
        // From the last to the first none is in the way of another.
        flipped.reverse();
        self.note(|walk| {
            walk.desk.carry_out(&plan);
            flipped.iter().for_each(|&hunk| walk.oracle.flip(hunk));
        });
    }

    /// Does `act` and notes how Emacs would undo it: each edit as a deletion and an insertion.
    fn note(&mut self, act: impl FnOnce(&mut Self)) {
        let before = self.oracle.state.clone();
        let old = lines_of(&self.desk.live);
        act(self);
        let new = lines_of(&self.desk.live);
        let mut undoing = Vec::new();
        let (old, new) = (
            Text::from_lines(old.iter().map(|l| &l[..])),
            Text::from_lines(new.iter().map(|l| &l[..])),
        );
        for edit in diff::edits(&old, &new).iter().rev() {
            let text = old.lines_bytes(edit.before.clone()).to_vec();
            undoing.push((edit.after.end, 0, text));
            undoing.push((edit.after.start, edit.after.len(), Vec::new()));
        }
        if !undoing.is_empty() {
            self.done.push(Done { before, undoing });
        }
    }

    fn edit(&mut self) {
        let n_lines = self.oracle.state.lines.len();
        let start = self.dice.roll(n_lines + 1);
        let n_removed = match self.dice.roll(3) {
            0 => 0,
            _ => self.dice.roll(4).min(n_lines - start),
        };
        let n_added = match n_removed {
            0 => 1 + self.dice.roll(2),
            1 => self.dice.roll(3),
            _ => self.dice.roll(2),
        };
        let typed: Vec<Vec<u8>> = (0..n_added).map(|_| self.typed_line()).collect();
        let before = self.oracle.state.clone();
        let end = start + n_removed;
        let old = self.oracle.state.lines[start..end].iter();
        let old: Vec<u8> = old.flat_map(|(_, line)| line).copied().collect();
        self.desk
            .edit_outside(start, n_removed, &typed.concat(), false);
        self.oracle.edit_outside(start..end, &typed);
        if self.desk.live == self.oracle.original.bytes() {
            let n_hunks = self.oracle.groups.len();
            self.oracle.become_choice(vec![false; n_hunks]);
            self.done.clear();
            return;
        }
        let undoing = vec![(start, n_added, old)];
        self.done.push(Done { before, undoing });
    }

    /// Returns a line that is in the texts, or one that is nowhere else.
    fn typed_line(&mut self) -> Vec<u8> {
        self.n_typed += 1;
        match self.dice.roll(2) {
            0 => format!("typed {}\n", self.n_typed).into_bytes(),
            _ => {
                let line = self.dice.roll(self.oracle.modified.len().max(1));
                let modified = &self.oracle.modified;
                match modified.is_empty() {
                    true => b"x\n".to_vec(),
                    false => modified.line(line).to_vec(),
                }
            }
        }
    }

    fn undo(&mut self) {
        let Some(done) = self.done.pop() else {
            return;
        };
        for (line, n_removed, text) in &done.undoing {
            self.desk.edit_outside(*line, *n_removed, text, true);
        }
        self.oracle.state = done.before;
    }

    fn revert(&mut self) {
        if self.desk.live == self.oracle.original.bytes() {
            return;
        }
        self.desk.live = self.oracle.original.bytes().to_vec();
        self.desk.review.follow(&self.desk.live);
        // Equal lines can leave open which hunks are in; the bytes then agree either way.
        let hunks = 0..self.oracle.groups.len();
        let is_in = hunks.map(|hunk| self.desk.review.fact(hunk) == Fact::In);
        let is_in = is_in.collect();
        self.oracle.become_choice(is_in);
        self.done.clear();
    }
}

fn lines_of(text: &[u8]) -> Vec<Vec<u8>> {
    text.split_inclusive(|&byte| byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect()
}

/// Walks over texts whose original `lines` makes, and returns how many flips were made.
fn walk_over(lines: impl Fn(&mut Dice) -> Vec<String>) {
    let n_cases = std::env::var("AGENT_Q_DIFF_CASES");
    let n_cases = n_cases.map_or(N_CASES, |n| {
        n.parse().expect("AGENT_Q_DIFF_CASES: a number")
    });
    let (mut n_flips, mut n_walks) = (0, 0);
    for seed in 0..n_cases {
        let mut dice = Dice::new(seed);
        let original = lines(&mut dice);
        let mut modified = original.clone();
        for change in 0..1 + dice.roll(5) {
            let start = dice.roll(modified.len() + 1);
            let end = modified.len().min(start + dice.roll(4));
            let added = (0..dice.roll(4)).map(|n| match dice.roll(2) {
                0 => format!("new {change} {n}\n"),
                _ => original[dice.roll(original.len())].clone(),
            });
            let added: Vec<String> = added.collect();
            modified.splice(start..end, added);
        }
        let texts = [original, modified].map(|lines| lines.concat().into_bytes());
        let context_len = [0, 3][dice.roll(2)];
        let Ok(proposal) = Proposal::from_texts(texts[0].clone(), texts[1].clone(), context_len)
        else {
            continue;
        };
        let oracle = Oracle::new(
            &Text::new(texts[0].clone()),
            &Text::new(texts[1].clone()),
            context_len,
        );
        let desk = Desk::open(proposal, &texts[0]);
        let (done, n_typed) = (Vec::new(), 0);
        let mut walk = Walk {
            desk,
            oracle,
            done,
            dice: &mut dice,
            n_typed,
            n_flips: 0,
        };
        (0..N_STEPS).for_each(|_| walk.step());
        n_flips += walk.n_flips;
        n_walks += 1;
    }
    assert!(n_flips > n_walks, "{n_flips} flips in {n_walks} walks");
}

#[test]
fn in_equal_blocks_every_hunk_stays_in_its_own_whatever_is_typed() {
    walk_over(|dice| {
        let body = 1 + dice.roll(4);
        let block = |_| {
            let body = (0..body).map(|at| format!("  {at}\n"));
            std::iter::once("{\n".to_owned())
                .chain(body)
                .chain(["}\n".to_owned()])
        };
        (0..2 + dice.roll(8)).flat_map(block).collect()
    });
}

#[test]
fn in_source_every_hunk_stays_in_its_own_place_whatever_is_typed() {
    walk_over(|dice| {
        let n_lines = 3 + dice.roll(30);
        let line = |at: usize| match dice.roll(4) {
            0 => ["}\n", "\n", "    }\n"][at % 3].to_owned(),
            _ => format!("line {at}\n"),
        };
        (0..n_lines).map(line).collect()
    });
}

#[test]
fn among_few_distinct_lines_every_hunk_stays_in_its_own_place_whatever_is_typed() {
    walk_over(|dice| {
        let n_lines = 3 + dice.roll(20);
        (0..n_lines)
            .map(|_| ["a\n", "b\n"][dice.roll(2)].to_owned())
            .collect()
    });
}
