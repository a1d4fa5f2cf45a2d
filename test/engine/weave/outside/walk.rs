//! Random walks with edits by others, beside a naive model in which every line has a tag.
//!
//! The model is a list of tagged lines. It derives the place of a change from the tags and from
//! what was known when each line was typed, never from text or segments. For flips and for cuts,
//! the weave must refuse exactly where the model finds the place uncertain: a needless refusal
//! fails the test. What undo and redo bring back, the model knows from [`Past`].

use std::ops::Range;

use agent_q_diff_engine::diff::{self, Edit};
use agent_q_diff_engine::proposal::Proposal;
use agent_q_diff_engine::review::{Command, Fact, Note, Plan, Refusal};
use agent_q_diff_engine::text::Text;

use crate::common::desk::{Desk, Replaced, lines_of, replaced};
use crate::common::dice::Dice;
use crate::common::n_cases;
use crate::common::past::{self, Known, Past};
use crate::common::texts::{changed, equal_blocks, numbered, source};

/// Cases for each of the three kinds of text.
const N_CASES: u32 = 8_000;
const N_STEPS: usize = 16;

/// Distance between the keys of two lines of the original.
const STEP: usize = 1 << 16;

/// Where a line belongs in the order of original and proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tag {
    /// A line of one of the two texts. Added lines have keys after those of the lines they replace.
    Known(usize),
    /// A line typed by others: between these two keys.
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

/// A change of the proposal, or a part cut from one: applied and taken out as a whole.
#[derive(Debug, Clone)]
struct Part {
    old: Vec<Line>,
    new: Vec<Line>,
}

impl Part {
    fn side(&self, is_in: bool) -> &[Line] {
        if is_in { &self.new } else { &self.old }
    }

    /// Returns the keys of all its lines, in order.
    fn keys(&self) -> impl DoubleEndedIterator<Item = usize> {
        let lines = self.old.iter().chain(&self.new);
        lines.map(|line| line.0.lowest())
    }

    fn n_lines(&self) -> usize {
        self.old.len() + self.new.len()
    }

    /// Returns the first `n_lines` lines and the rest. Removed lines come before added ones.
    fn cut(&self, n_lines: usize) -> [Part; 2] {
        let n_old = self.old.len().min(n_lines);
        let (old, new) = (self.old.split_at(n_old), self.new.split_at(n_lines - n_old));
        [(old.0, new.0), (old.1, new.1)].map(|(old, new)| Part {
            old: old.to_vec(),
            new: new.to_vec(),
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct State {
    lines: Vec<Line>,
    /// Keys of the lines that others deleted.
    gone: Vec<usize>,
    /// For each part whether it is in the target.
    is_in: Vec<bool>,
}

struct Oracle {
    original: Text,
    modified: Text,
    /// The lines that both texts have.
    common: Vec<Line>,
    parts: Vec<Part>,
    /// The parts of each hunk.
    hunks: Vec<Range<usize>>,
    state: State,
}

fn key(line: usize) -> usize {
    (line + 1) * STEP
}

impl Oracle {
    fn new(original: &Text, modified: &Text, context_len: usize) -> Oracle {
        let edits = diff::edits(original, modified);
        let groups = diff::group(&edits, original.len(), context_len);
        let old = |at: usize| (Tag::Known(key(at)), original.line(at).to_vec());
        let part = |edit: &Edit| {
            let first = key(edit.before.end) - STEP / 2;
            let new = modified.lines(edit.after.clone()).enumerate();
            let new = new.map(|(at, line)| (Tag::Known(first + at), line.to_vec()));
            Part {
                old: edit.before.clone().map(old).collect(),
                new: new.collect(),
            }
        };
        let is_kept = |at: &usize| edits.iter().all(|edit| !edit.before.contains(at));
        let mut oracle = Oracle {
            original: original.clone(),
            modified: modified.clone(),
            common: (0..original.len()).filter(is_kept).map(old).collect(),
            parts: edits.iter().map(part).collect(),
            hunks: groups.into_iter().map(|group| group.edits).collect(),
            state: State {
                lines: Vec::new(),
                gone: Vec::new(),
                is_in: Vec::new(),
            },
        };
        oracle.become_choice(vec![false; oracle.parts.len()]);
        oracle
    }

    fn text(&self) -> Vec<u8> {
        let lines = self.state.lines.iter();
        lines.flat_map(|(_, line)| line).copied().collect()
    }

    /// Returns the fact of `hunk`. After parts were joined, the target's undo can put one of them
    /// into another state than the rest.
    fn fact(&self, hunk: usize) -> Fact {
        let parts = self.hunks[hunk].clone();
        let is_in: Vec<bool> = parts.map(|part| self.state.is_in[part]).collect();
        match (is_in.contains(&true), is_in.contains(&false)) {
            (true, true) => Fact::Mixed,
            (true, false) => Fact::In,
            _ => Fact::Out,
        }
    }

    /// Makes the target the original with the parts `is_in` and nothing else.
    fn become_choice(&mut self, is_in: Vec<bool>) {
        let sides = self.parts.iter().zip(&is_in);
        let changed = sides.flat_map(|(part, &is_in)| part.side(is_in));
        let mut lines: Vec<Line> = self.common.iter().chain(changed).cloned().collect();
        lines.sort_by_key(|line| line.0.lowest());
        let gone = Vec::new();
        self.state = State { lines, gone, is_in };
    }

    /// Returns which lines of the target `part` replaces when it is flipped, or `None` if it has
    /// no certain place.
    fn place(&self, part: usize) -> Option<Range<usize>> {
        let (part, is_in) = (&self.parts[part], self.state.is_in[part]);
        let (side, lines) = (part.side(is_in), &self.state.lines);
        match side.first() {
            None => self.point(part.keys().next()?),
            Some(first) => {
                let start = lines.iter().position(|line| line.0 == first.0)?;
                let range = start..start + side.len();
                (lines.get(range.clone())? == side).then_some(range)
            }
        }
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

    /// Tells whether every part of `hunk` has a certain place.
    fn can_flip(&self, hunk: usize) -> bool {
        let mut parts = self.hunks[hunk].clone();
        parts.all(|part| self.place(part).is_some())
    }

    /// Flips all of `hunks`, which are in order, and the parts `besides`, at once.
    fn flip(&mut self, flips: &[(usize, bool)], besides: &[usize]) {
        let mut places: Vec<_> = besides
            .iter()
            .map(|&part| (part, self.place(part).expect("a place")))
            .collect();
        for &(hunk, is_in) in flips {
            for part in self.hunks[hunk].clone() {
                if self.state.is_in[part] != is_in {
                    places.push((part, self.place(part).expect("a place")));
                }
            }
        }
        places.sort_by_key(|(part, _)| *part);
        for (part, range) in places.into_iter().rev() {
            let is_in = !self.state.is_in[part];
            let now = self.parts[part].side(is_in).to_vec();
            self.state.lines.splice(range, now);
            self.state.is_in[part] = is_in;
        }
    }

    /// Returns the part of `hunk` with its changed line `line`, and how many of its lines are
    /// before that.
    fn cut_point(&self, hunk: usize, line: usize) -> (usize, usize) {
        let mut rest = line;
        for part in self.hunks[hunk].clone() {
            match self.parts[part].n_lines() {
                n_lines if rest < n_lines => return (part, rest),
                n_lines => rest -= n_lines,
            }
        }
        (self.hunks[hunk].end, 0)
    }

    /// Returns whether a line that both texts have is between `part` and the part above.
    fn is_below_common(&self, part: usize) -> bool {
        let above = self.parts[part - 1].keys().max();
        let below = self.parts[part].keys().min();
        let mut common = self.common.iter().map(|(tag, _)| Some(tag.lowest()));
        common.any(|key| above < key && key < below)
    }

    /// Cuts `part` behind its first `n_lines` lines.
    fn cut(&mut self, part: usize, n_lines: usize) {
        let parts = self.parts[part].cut(n_lines);
        self.parts.splice(part..=part, parts);
        self.state.is_in.insert(part, self.state.is_in[part]);
        for hunk in &mut self.hunks {
            hunk.start += usize::from(hunk.start > part);
            hunk.end += usize::from(hunk.end > part);
        }
    }

    /// Makes one hunk of the `n` hunks from `hunk` on.
    fn join(&mut self, hunk: usize, n: usize) {
        self.hunks[hunk].end = self.hunks[hunk + n - 1].end;
        self.hunks.drain(hunk + 1..hunk + n);
    }

    /// Divides `hunk` into one hunk for each of `firsts`, the numbers of their first parts.
    fn regroup(&mut self, hunk: usize, firsts: &[usize]) {
        let end = self.hunks[hunk].end;
        let ends = firsts[1..].iter().chain([&end]);
        let hunks: Vec<_> = firsts.iter().zip(ends).map(|(&a, &b)| a..b).collect();
        self.hunks.splice(hunk..=hunk, hunks);
    }

    /// Returns the keys between which a line belongs that is typed before line `at` of the target.
    ///
    /// If a line beside it belongs to a part, it is outside of all of that part, unless its lines
    /// are on both sides.
    fn between(&self, at: usize) -> (usize, usize) {
        let lines = &self.state.lines;
        let left = at.checked_sub(1).map(|at| lines[at].0);
        let right = lines.get(at).map(|line| line.0);
        let part_of = |tag: Option<Tag>| {
            let known = tag.filter(|tag| matches!(tag, Tag::Known(_)))?;
            let has = |part: &Part| part.keys().any(|key| key == known.lowest());
            self.parts.iter().position(has)
        };
        let (above, below) = (part_of(left), part_of(right));
        let after = left.map_or(0, Tag::lowest);
        let before = right.map_or(usize::MAX, Tag::highest);
        if above.is_some() && above == below {
            return (after, before);
        }
        let last = above.and_then(|part| self.parts[part].keys().next_back());
        let first = below.and_then(|part| self.parts[part].keys().next());
        (last.unwrap_or(after), first.unwrap_or(before))
    }

    fn edit_outside(&mut self, range: Range<usize>, typed: &[Vec<u8>]) {
        let (after, before) = match range.is_empty() {
            true => self.between(range.start),
            false => {
                let lines = &self.state.lines;
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
        for (tag, _) in self.state.lines.splice(range, typed) {
            if let Tag::Known(key) = tag {
                self.state.gone.push(key);
            }
        }
    }
}

/// An edit as a target's undo makes it: line, number of removed lines, added text.
type Step = (usize, usize, Vec<u8>);

/// Something that was done to the target, and how it is undone.
struct Done {
    /// The state before; `None` if a part was cut since, so that undoing counts as typing.
    before: Option<State>,
    /// What undoing it does to the text, in order.
    undoing: Vec<Step>,
}

/// Something that was undone, and how it is redone.
struct Undone {
    done: Done,
    after: State,
    redoing: Vec<Step>,
}

struct Walk<'a> {
    desk: Desk,
    oracle: Oracle,
    done: Vec<Done>,
    undone: Vec<Undone>,
    past: Past<State>,
    dice: &'a mut Dice,
    n_typed: usize,
    n_flips: usize,
    n_cuts: usize,
    n_joined: usize,
    n_redone: usize,
}

impl Walk<'_> {
    fn step(&mut self) {
        let hunk = self.dice.roll(self.oracle.hunks.len());
        match self.dice.roll(26) {
            0..=3 => self.act(hunk, Command::Accept),
            4 | 5 => self.act(hunk, Command::Unapply),
            6 => self.act(hunk, Command::Toggle),
            7 => self.act(hunk, Command::Reject),
            8 => self.accept_all(),
            9..=13 => self.edit(),
            14 => self.undo(),
            15 | 16 => self.pick(hunk),
            17 => self.split(hunk),
            18..=20 => self.take_back(),
            21 => self.do_again(),
            22 | 23 => self.go_to_and_fro(),
            _ if self.dice.roll(4) == 0 => self.revert(),
            _ => self.undo(),
        }
        assert_eq!(self.desk.live, self.oracle.text());
        let n_hunks = self.oracle.hunks.len();
        assert_eq!(self.desk.review.proposal().n_hunks(), n_hunks);
        for hunk in 0..n_hunks {
            assert_eq!(self.desk.review.fact(hunk), self.oracle.fact(hunk));
            let obstacle = self.desk.review.proposal().obstacle(hunk);
            assert_eq!(
                obstacle.is_none(),
                self.oracle.can_flip(hunk),
                "{obstacle:?}"
            );
        }
        self.desk.check_live_lines();
    }

    fn act(&mut self, hunk: usize, command: Command) {
        let can_flip = self.oracle.can_flip(hunk);
        let planned = self.desk.review.plan(hunk, command);
        match planned {
            Ok(plan) if plan.steps[0].1.note == Note::Edited => {
                assert!(can_flip);
                self.n_flips += 1;
                self.flip(&plan);
            }
            Ok(plan) => self.desk.carry_out(&plan),
            Err(Refusal::NotIn) => {}
            Err(refusal) => assert!(!can_flip, "{refusal:?}"),
        }
    }

    fn accept_all(&mut self) {
        let (plan, refused) = self.desk.plan_all();
        for (hunk, refusal) in refused {
            assert!(!self.oracle.can_flip(hunk), "{refusal:?}");
        }
        let flipped = plan.steps.iter().filter(|(_, step)| step.is_flip);
        let flipped: Vec<usize> = flipped.map(|(hunk, _)| *hunk).collect();
        assert!(flipped.iter().all(|&hunk| self.oracle.can_flip(hunk)));
        self.flip(&plan);
    }

    /// Carries out `plan`, and records how Emacs would undo it: edit by edit,
    /// each as an insertion and a deletion.
    fn flip(&mut self, plan: &Plan) {
        let (known, before) = (self.known(), Some(self.oracle.state.clone()));
        let mut undoing = Vec::new();
        for done in replaced(&self.desk.live, &plan.edits) {
            let Replaced {
                line,
                n_added,
                removed,
            } = done;
            undoing.extend([(line, n_added, Vec::new()), (line + n_added, 0, removed)]);
        }
        undoing.reverse();
        self.desk.carry_out(plan);
        self.oracle.flip(&plan.flips, &plan.atoms);
        if !undoing.is_empty() {
            self.undone.clear();
            self.past.flip(known, self.known());
            self.done.push(Done { before, undoing });
        }
    }

    fn known(&self) -> Known<State> {
        Known {
            text: self.oracle.text(),
            state: Some(self.oracle.state.clone()),
        }
    }

    /// Makes a hunk of some of the changed lines of `hunk`. A part that has to be cut is cut if its
    /// place is certain, and only then.
    fn pick(&mut self, hunk: usize) {
        let parts = &self.oracle.parts[self.oracle.hunks[hunk].clone()];
        let n_lines = parts.iter().map(Part::n_lines).sum();
        let from = self.dice.roll(n_lines);
        let to = from + 1 + self.dice.roll(n_lines - from);
        let [(picked, n_before), (behind, n_inside)] =
            [from, to].map(|line| self.oracle.cut_point(hunk, line));
        let is_sure = |part: usize, n_lines| n_lines == 0 || self.oracle.place(part).is_some();
        let can_cut = is_sure(picked, n_before) && is_sure(behind, n_inside);
        let result = self.desk.review.pick(hunk, from..to);
        if !can_cut {
            return assert!(matches!(result, Err(Refusal::Flip(_))), "{result:?}");
        }
        if n_inside > 0 {
            self.cut(behind, n_inside);
        }
        let mut behind = behind + usize::from(n_inside > 0);
        if n_before > 0 {
            self.cut(picked, n_before);
            behind += 1;
        }
        let picked = picked + usize::from(n_before > 0);
        let Range { start, end } = self.oracle.hunks[hunk];
        let mut firsts = vec![start, picked, behind];
        firsts.dedup();
        firsts.retain(|&first| first < end);
        assert_eq!(result, Ok((firsts.len(), usize::from(picked > start))));
        self.oracle.regroup(hunk, &firsts);
    }

    fn split(&mut self, hunk: usize) {
        let Range { start, end } = self.oracle.hunks[hunk].clone();
        let is_first = |&part: &usize| self.oracle.is_below_common(part);
        let parts: Vec<usize> = std::iter::once(start)
            .chain((start + 1..end).filter(is_first))
            .collect();
        assert_eq!(self.desk.review.split(hunk), Ok(parts.len()));
        self.oracle.regroup(hunk, &parts);
    }

    /// Undoes the latest split or decision, if that can be undone.
    fn take_back(&mut self) {
        match self.desk.review.undo_split(false) {
            Ok(Some((hunk, n))) => {
                self.oracle.join(hunk, n);
                self.n_joined += 1;
            }
            Ok(None) => {
                if let Ok(plan) = self.desk.review.plan_undo() {
                    self.flip(&plan);
                }
            }
            Err(refusal) => assert_eq!(refusal, Refusal::Apart),
        }
    }

    /// Redoes the split or decision that was undone last, if that can be redone.
    fn do_again(&mut self) {
        match self.desk.review.redo_split() {
            Ok(Some((hunk, n, _))) => {
                let proposal = self.desk.review.proposal();
                let lens = (hunk..hunk + n).map(|part| proposal.n_changed_lines(part));
                let starts = lens.scan(0, |n_lines, len| {
                    *n_lines += len;
                    Some(*n_lines - len)
                });
                let cuts: Vec<usize> = starts.collect();
                let points = cuts.iter().map(|&line| self.oracle.cut_point(hunk, line));
                let firsts: Vec<usize> = points
                    .map(|(part, n_lines)| {
                        assert_eq!(n_lines, 0, "what was cut once stays cut");
                        part
                    })
                    .collect();
                self.oracle.regroup(hunk, &firsts);
            }
            Ok(None) => {
                if let Ok(plan) = self.desk.review.plan_redo() {
                    self.flip(&plan);
                }
            }
            Err(refusal) => panic!("{refusal:?}"),
        }
    }

    /// Cuts a part. After that, undoing earlier edits counts as typing.
    fn cut(&mut self, part: usize, n_lines: usize) {
        self.oracle.cut(part, n_lines);
        self.done.iter_mut().for_each(|done| done.before = None);
        self.undone.clear();
        self.past.forget();
        self.n_cuts += 1;
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
        let (known, before) = (self.known(), Some(self.oracle.state.clone()));
        let end = start + n_removed;
        let old = self.oracle.state.lines[start..end].iter();
        let old: Vec<u8> = old.flat_map(|(_, line)| line).copied().collect();
        self.desk
            .edit_outside(start, n_removed, &typed.concat(), false);
        self.oracle.edit_outside(start..end, &typed);
        self.undone.clear();
        if self.desk.live == self.oracle.original.bytes() {
            let n_parts = self.oracle.parts.len();
            self.oracle.become_choice(vec![false; n_parts]);
            self.done.clear();
            self.past.forget();
            return;
        }
        let edit = past::Edit {
            line: start,
            old: old.clone(),
            new: typed.concat(),
        };
        self.past.typed(edit, known, self.known());
        let undoing = vec![(start, n_added, old)];
        self.done.push(Done { before, undoing });
    }

    /// Returns a line of the texts, or one that occurs nowhere else.
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
        let after = self.oracle.state.clone();
        let (redoing, n_met) = self.step_back_all(&done.undoing);
        if let Some(before) = &done.before {
            assert_eq!(&self.oracle.state, before);
        }
        match done.before.is_some() && n_met[0] <= 1 && n_met[1] == 0 {
            true => self.undone.push(Undone {
                done,
                after,
                redoing,
            }),
            false => self.undone.clear(),
        }
    }

    /// Undoes and redoes several things.
    fn go_to_and_fro(&mut self) {
        for _ in 0..4 + self.dice.roll(5) {
            match self.dice.roll(5) {
                0..=2 => self.undo(),
                _ => self.redo(),
            }
        }
    }

    fn redo(&mut self) {
        let Some(Undone {
            done,
            after,
            redoing,
        }) = self.undone.pop()
        else {
            return;
        };
        let (_, n_met) = self.step_back_all(&redoing);
        let is_clear = n_met[0] == 0 && n_met[1] <= 1;
        if is_clear {
            assert_eq!(self.oracle.state, after);
            self.n_redone += 1;
        }
        self.done.push(done);
        if !is_clear {
            // It may as well have been an undo of something else.
            self.done.iter_mut().for_each(|done| done.before = None);
            self.undone.clear();
        }
    }

    /// Makes `steps`. Returns the steps that revert them, in order, and how often they lead to a text
    /// to which an undo can lead, and a redo: more than once, and they may be another one.
    fn step_back_all(&mut self, steps: &[Step]) -> (Vec<Step>, [usize; 2]) {
        let texts = self.past.texts();
        let (mut back, mut n_met) = (Vec::new(), [0, 0]);
        for step in steps {
            back.push(self.step_back(step));
            if !is_nothing(step) {
                for (n_met, texts) in n_met.iter_mut().zip(&texts) {
                    *n_met += texts.iter().filter(|&text| *text == self.desk.live).count();
                }
            }
        }
        back.reverse();
        (back, n_met)
    }

    /// Makes an edit as the target's undo or redo, and returns the edit that reverts it.
    fn step_back(&mut self, step: &Step) -> Step {
        let (line, n_removed, text) = step;
        let (range, lines) = (*line..line + n_removed, lines_of(text));
        let old = self.oracle.state.lines[range.clone()].iter();
        let old: Vec<u8> = old.flat_map(|(_, line)| line).copied().collect();
        self.desk.edit_outside(*line, *n_removed, text, true);
        if !is_nothing(step) {
            let before = self.known();
            self.oracle.edit_outside(range, &lines);
            let edit = past::Edit {
                line: *line,
                old: old.clone(),
                new: text.clone(),
            };
            let now = self.past.undo(edit, before, self.known());
            self.oracle.state = now.state.expect("a state");
        }
        (*line, lines.len(), old)
    }

    fn revert(&mut self) {
        if self.desk.live == self.oracle.original.bytes() {
            return;
        }
        self.desk.live = self.oracle.original.bytes().to_vec();
        self.desk.review.follow(&self.desk.live);
        // Among equal lines different hunks can give the same bytes.
        let hunks = self.oracle.hunks.iter().enumerate();
        let is_in = hunks.flat_map(|(hunk, parts)| {
            let is_in = self.desk.review.fact(hunk) == Fact::In;
            parts.clone().map(move |_| is_in)
        });
        let is_in = is_in.collect();
        self.oracle.become_choice(is_in);
        self.done.clear();
        self.undone.clear();
        self.past.forget();
    }
}

fn is_nothing((_, n_removed, text): &Step) -> bool {
    *n_removed == 0 && text.is_empty()
}

/// Walks over texts whose originals are made by `lines`.
fn walk_over(lines: impl Fn(&mut Dice) -> Vec<String>) {
    let (mut n_flips, mut n_cuts, mut n_joined, mut n_walks) = (0, 0, 0, 0);
    let mut n_redone = 0;
    for seed in 0..u64::from(n_cases(N_CASES)) {
        let mut dice = Dice::new(seed);
        let original = lines(&mut dice);
        let modified = changed(&original, 5, &mut dice);
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
        let (done, undone, n_typed) = (Vec::new(), Vec::new(), 0);
        let mut walk = Walk {
            desk,
            oracle,
            done,
            undone,
            past: Past::new(),
            dice: &mut dice,
            n_typed,
            n_flips: 0,
            n_cuts: 0,
            n_joined: 0,
            n_redone: 0,
        };
        (0..N_STEPS).for_each(|_| walk.step());
        n_flips += walk.n_flips;
        n_cuts += walk.n_cuts;
        n_joined += walk.n_joined;
        n_redone += walk.n_redone;
        n_walks += 1;
    }
    assert!(n_flips > n_walks, "{n_flips} flips in {n_walks} walks");
    assert!(2 * n_cuts > n_walks, "{n_cuts} cuts in {n_walks} walks");
    assert!(
        5 * n_joined > n_walks,
        "{n_joined} joined in {n_walks} walks"
    );
    assert!(
        5 * n_redone > n_walks,
        "{n_redone} redone in {n_walks} walks"
    );
}

#[test]
fn in_equal_blocks_every_hunk_stays_in_its_own_whatever_is_typed() {
    walk_over(equal_blocks);
}

#[test]
fn in_source_every_hunk_stays_in_its_own_place_whatever_is_typed() {
    walk_over(|dice| source(dice, 30));
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

/// Others have changed every second line between two hunks, too many to place each change: a hunk
/// among them is doubtful, those above and below are applied where they belong.
#[test]
fn among_too_many_places_changed_by_others_no_hunk_is_put_in_unseen() {
    const N_LINES: usize = 700_000;
    let original = numbered(N_LINES);
    let with = |changed: &[usize], lines: &[String]| {
        let mut lines = lines.to_vec();
        for &line in changed {
            lines[line] = format!("PROPOSED {line}\n");
        }
        lines.concat()
    };
    let hunks = [10, N_LINES / 2, N_LINES - 10];
    let mut desk = Desk::of_texts(&original.concat(), &with(&hunks, &original));
    let mut theirs = original;
    for line in (101..N_LINES - 100).step_by(2) {
        theirs[line] = format!("theirs {line}\n");
    }
    desk.becomes(&theirs.concat());
    let answers: Vec<_> = (0..3).map(|hunk| desk.act(hunk, Command::Accept)).collect();
    assert!(answers[0].is_ok() && answers[2].is_ok(), "{answers:?}");
    assert!(answers[1].is_err(), "{answers:?}");
    assert!(desk.text() == with(&[10, N_LINES - 10], &theirs));
}
