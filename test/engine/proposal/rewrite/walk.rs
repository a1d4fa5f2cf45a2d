//! Random walks in which the user edits, merges, splits and picks hunks while others edit the
//! target, beside the naive model. What undo and redo bring back, the model knows from [`Past`].

use agent_q_diff_engine::diff::HeadingRule;
use agent_q_diff_engine::patch::hunk::{Hunk, LineKind, print};
use agent_q_diff_engine::proposal::Proposal;
use agent_q_diff_engine::review::{Command, Fact, Mark, Plan, Refusal, Stage, Step, step};
use agent_q_diff_engine::weave::{FlipError, LineEdit};

use super::model::Touch::{Conflict, Touched, Untouched};
use super::model::{
    Block, Gap, Lines, Region, State, Touch, changed as changed_lines, completed, edited, is_open,
    runs, sides,
};
use crate::common::desk::{Desk, Replaced, lines_of, replaced};
use crate::common::dice::Dice;
use crate::common::n_cases;
use crate::common::past::{self, Known, Past};
use crate::common::texts::{changed, equal_blocks, source};

/// Cases for each of the two kinds of text.
const N_CASES: u32 = 6_000;
const N_STEPS: usize = 20;

/// An edit as the target's undo makes it: line, number of removed lines, added text.
type LinesReplaced = (usize, usize, Vec<u8>);

/// What was done to the target last.
struct Done {
    is_flip: bool,
    /// The state before; `None` if a hunk has been rewritten since.
    before: Option<State>,
    /// What undoing it does to the text, in order.
    undoing: Vec<LinesReplaced>,
}

/// What was undone last.
struct Undone {
    done: Done,
    after: State,
    /// What redoing it does to the text.
    redoing: Vec<LinesReplaced>,
}

#[derive(Debug, Default)]
struct Counts {
    n_walks: usize,
    n_flips: usize,
    n_edits: usize,
    n_merges: usize,
    n_conflicts_merged: usize,
    n_parts: usize,
    n_undone: usize,
    n_redone: usize,
    /// Edits whose first or last line stays the same.
    n_wide_edits: usize,
    /// Hunks that could not be flipped after a step although nobody had touched their lines.
    n_needless: usize,
}

struct Walk<'a> {
    desk: Desk,
    state: State,
    done: Vec<Done>,
    undone: Vec<Undone>,
    past: Past<State>,
    dice: &'a mut Dice,
    eol: &'static str,
    /// For a bare diff, the first line of each hunk as its header states it, counted from 0.
    starts: Option<Vec<usize>>,
    n_typed: usize,
    counts: &'a mut Counts,
}

impl Walk<'_> {
    fn step(&mut self) {
        let hunk = self.dice.roll(self.state.blocks.len());
        match self.dice.roll(24) {
            0..=3 => self.act(hunk, Command::Accept),
            4 | 5 => self.act(hunk, Command::Unapply),
            6 => self.act(hunk, Command::Toggle),
            7 => self.act(hunk, Command::Reject),
            8 => self.accept_all(),
            9..=11 => self.edit(hunk),
            12 | 13 => self.merge(hunk),
            14 => self.merge(self.conflict().unwrap_or(hunk)),
            15 => self.split(hunk),
            16 => self.pick(hunk),
            17 if self.dice.roll(3) == 0 => self.become_choice(),
            18 => self.undo(),
            19 => self.go_to_and_fro(),
            _ => self.edit_outside(),
        }
        self.check();
    }

    fn conflict(&self) -> Option<usize> {
        let mut blocks = self.state.blocks.iter();
        blocks.position(|block| block.touch == Conflict)
    }

    fn hunks(&self) -> Vec<Hunk<'_>> {
        let proposal = self.desk.review.proposal();
        proposal.hunks_in(0..proposal.n_hunks(), HeadingRule::Default)
    }

    fn check(&mut self) {
        assert_eq!(
            String::from_utf8_lossy(&self.desk.live),
            String::from_utf8_lossy(&self.state.lines().concat())
        );
        let review = &self.desk.review;
        assert_eq!(review.proposal().n_hunks(), self.state.blocks.len());
        let (mut n_old, mut n_new, mut n_needless) = (0, 0, 0);
        for (at, hunk) in self.hunks().iter().enumerate() {
            let (gap, block) = (&self.state.gaps[at], &self.state.blocks[at]);
            // The hunks make the modified text of the original, as both are now. Those of a bare
            // diff begin in the original at the stated line, which does not change.
            (n_old, n_new) = (n_old + gap.original.len(), n_new + gap.original.len());
            let start = self.starts.as_ref().map_or(n_old, |starts| starts[at]);
            let new_start = (start + n_new).saturating_sub(n_old);
            assert_eq!(
                (hunk.before.clone(), hunk.after.clone()),
                (
                    start..start + block.old.len(),
                    new_start..new_start + block.new.len()
                )
            );
            (n_old, n_new) = (n_old + block.old.len(), n_new + block.new.len());
            assert_eq!(sides(hunk), (block.old.clone(), block.new.clone()));
            let fact = if block.is_in { Fact::In } else { Fact::Out };
            assert_eq!(review.fact(at), fact);
            assert_eq!(review.mark(at), block.mark);
            let runs = runs(hunk);
            let is_users = |line: &Vec<u8>| line.starts_with(b"mine ");
            let has_users = runs.iter().any(|(_, new)| new.iter().any(is_users));
            assert!(block.is_edited || !review.is_edited(at));
            assert!(review.is_edited(at) || !(block.is_edited && has_users));
            let obstacle = review.proposal().obstacle(at);
            match block.touch {
                Untouched if self.is_sure(at) => assert_eq!(obstacle, None),
                Untouched => n_needless += usize::from(obstacle.is_some()),
                Touched => {}
                Conflict => assert!(obstacle.is_some()),
            }
        }
        self.counts.n_needless += n_needless;
        self.desk.check_live_lines();
    }

    /// Tells whether the place of `hunk` is certain, whatever others have typed.
    fn is_sure(&self, hunk: usize) -> bool {
        let has_context = |end: fn(&Hunk<'_>) -> LineKind| {
            let proposal = self.desk.review.proposal();
            let hunks = proposal.hunks_in(hunk..hunk + 1, HeadingRule::Default);
            end(&hunks[0]) == LineKind::Context
        };
        let is_framed = has_context(|hunk| hunk.lines[0].kind)
            && has_context(|hunk| hunk.lines[hunk.lines.len() - 1].kind);
        self.state.blocks[hunk].touch == Untouched && (is_framed || !self.state.is_touched())
    }

    /// Carries out `plan`, which makes the target that of `after`.
    fn carry_out(&mut self, plan: &Plan, before: State, after: State) {
        let old = self.desk.live.clone();
        let mut undoing = Vec::new();
        for done in replaced(&old, &plan.edits) {
            let Replaced {
                line,
                n_added,
                removed,
            } = done;
            undoing.extend([(line, 0, removed), (line, n_added, Vec::new())]);
        }
        self.desk.carry_out(plan);
        self.state = after;
        // Last edit first. The added lines are deleted first, so that no two lines are joined.
        undoing.reverse();
        if !undoing.is_empty() {
            self.undone.clear();
            self.past.flip(known(&before), known(&self.state));
        }
        if !undoing.is_empty() && self.desk.live == old {
            // A line moved among its equals: the text is the same, so nothing is to be undone.
            self.done.clear();
        } else if !undoing.is_empty() {
            let before = Some(before);
            self.done.push(Done {
                is_flip: true,
                before,
                undoing,
            });
        }
    }

    /// Does `step` to `hunk` in the model `after`, and checks `edits`, those of this hunk.
    fn take_step(&self, after: &mut State, hunk: usize, step: Step, edits: &[LineEdit]) {
        after.blocks[hunk].mark = step.mark;
        if !step.is_flip {
            return assert_eq!(edits, []);
        }
        let (was, block) = (&self.state.blocks[hunk], &mut after.blocks[hunk]);
        assert_ne!(was.touch, Conflict);
        let is_in = !was.is_in;
        let start = self.state.line_of(hunk);
        let lines = &lines_of(&self.desk.live);
        for (edit, (old, new)) in edits.iter().zip(&runs(&self.hunks()[hunk])) {
            let taken = &lines[edit.line..edit.line + edit.n_removed];
            let (from, to) = if is_in { (old, new) } else { (new, old) };
            assert_eq!((taken, &edit.text), (&from[..], &to.concat()));
        }
        match was.touch {
            Untouched => block.become_side(is_in),
            _ => (block.live, block.is_in) = (edited(&was.live, start, edits), is_in),
        }
    }

    fn act(&mut self, hunk: usize, command: Command) {
        let block = &self.state.blocks[hunk];
        let fact = if block.is_in { Fact::In } else { Fact::Out };
        let planned = self.desk.review.plan(hunk, command);
        let step = match step(Stage::Proposed, block.mark, fact, command) {
            Ok(step) => step,
            Err(refusal) => return assert_eq!(planned, Err(refusal)),
        };
        match planned {
            Ok(plan) => {
                assert_eq!(plan.steps, [(hunk, step)]);
                let (before, mut after) = (self.state.clone(), self.state.clone());
                self.take_step(&mut after, hunk, step, &plan.edits);
                self.counts.n_flips += usize::from(step.is_flip);
                self.carry_out(&plan, before, after);
            }
            Err(Refusal::Flip(FlipError::Glued)) => {
                let mut after = self.state.clone();
                after.blocks[hunk].become_side(!block.is_in);
                assert!(block.touch != Untouched || after.is_glued());
            }
            Err(refusal) => assert!(!self.is_sure(hunk), "{refusal:?}"),
        }
    }

    fn accept_all(&mut self) {
        let (plan, refused) = self.desk.plan_all();
        for (hunk, refusal) in refused {
            let is_glued = refusal == Refusal::Flip(FlipError::Glued);
            assert!(is_glued || !self.is_sure(hunk), "{refusal:?}");
        }
        let (before, mut after) = (self.state.clone(), self.state.clone());
        let mut edits = &plan.edits[..];
        for &(hunk, step) in &plan.steps {
            assert_eq!(self.state.blocks[hunk].mark, Mark::Pending);
            let n_runs = runs(&self.hunks()[hunk]).len();
            let (own, rest) = edits.split_at(if step.is_flip { n_runs } else { 0 });
            self.take_step(&mut after, hunk, step, own);
            edits = rest;
        }
        assert_eq!(edits, []);
        self.carry_out(&plan, before, after);
    }

    fn edit(&mut self, hunk: usize) {
        let text = self.user_text(hunk);
        let block = self.state.blocks[hunk].clone();
        let is_last = self.state.line_of(hunk) + block.live.len() == self.state.lines().len();
        let is_last = hunk + 1 == self.state.blocks.len() && (is_last || !block.is_in);
        let ends = match is_last {
            true => vec![&block.old, &block.new],
            false => vec![],
        };
        let new = completed(&text, &ends, &[&block.old, &block.new]);
        let planned = self.desk.review.plan_edit(hunk, &text);
        if planned == Err(Refusal::ChangesNothing) {
            return assert!(new == block.old || text == block.old.concat());
        }
        let (before, mut after) = (self.state.clone(), self.state.clone());
        if text == block.new.concat() {
            let plan = planned.expect("nothing to do");
            assert_eq!((&plan.edits[..], &plan.rewrite), (&[][..], &None));
            return self.carry_out(&plan, before, after);
        }
        let now = &mut after.blocks[hunk];
        now.new = new;
        now.is_edited = true;
        if !block.is_in {
            now.mark = Mark::Pending;
        } else if block.touch == Untouched {
            now.become_side(true);
        }
        let plan = match planned {
            Ok(plan) => plan,
            Err(Refusal::Flip(FlipError::Glued)) => {
                return assert!(block.touch != Untouched || after.is_glued());
            }
            Err(refusal) => return assert!(!self.is_sure(hunk), "{refusal:?}"),
        };
        assert_ne!(block.touch, Conflict);
        assert!(block.is_in || plan.edits.is_empty());
        self.check_edits(&plan.edits);
        if block.touch != Untouched {
            let start = self.state.line_of(hunk);
            after.blocks[hunk].live = edited(&block.live, start, &plan.edits);
        }
        self.forget();
        self.carry_out(&plan, before, after);
        // Rewritten lines have no history, so the edit itself cannot be undone as one.
        self.forget();
        self.counts.n_edits += 1;
    }

    fn merge(&mut self, hunk: usize) {
        let merged = self.desk.review.merge(hunk).expect("a place");
        let (Some(above), Some(below)) = (self.absorbed(hunk, true), self.absorbed(hunk, false))
        else {
            return;
        };
        let (before, mut after) = (self.state.clone(), self.state.clone());
        let block = self.state.blocks[hunk].clone();
        let gap = &mut after.gaps[hunk].live;
        let above = gap.split_off(gap.len() - above);
        let below: Vec<_> = after.gaps[hunk + 1].live.drain(..below).collect();
        let text = |lines: Vec<(bool, Vec<u8>)>| lines.into_iter().map(|line| line.1);
        let live: Lines = text(above)
            .chain(block.live.clone())
            .chain(text(below))
            .collect();
        if block.touch == Untouched && live == block.live {
            assert_eq!(merged.n_conflicts(), 0);
            assert_eq!(merged.marked(), block.new.concat());
        }
        let text = match self.dice.roll(3) {
            0 if merged.n_conflicts() == 0 => merged.marked(),
            1 => live.concat(),
            _ => self.user_text(hunk),
        };
        let end = after.line_of(hunk) + live.len();
        let ends = match end == self.state.lines().len() {
            true => vec![&live, &block.new],
            false => vec![],
        };
        let new = completed(&text, &ends, &[&live, &block.new]);
        let planned = self.desk.review.plan_merge(hunk, &text);
        let now = &mut after.blocks[hunk];
        if new == live {
            let plan = planned.expect("nothing to do");
            assert_eq!(plan.edits, []);
            if block.is_in && live != block.old && live != block.new {
                // The hunk becomes what others have made of it.
                (now.new, now.is_edited, now.mark) = (live, true, Mark::Applied);
                now.become_side(true);
                self.forget();
                return self.carry_out(&plan, before, after);
            }
            let (before, mut after) = (before.clone(), before);
            after.blocks[hunk].mark = match block.is_in && live == block.new {
                true => Mark::Applied,
                false => Mark::Rejected,
            };
            return self.carry_out(&plan, before, after);
        }
        (now.old, now.new) = (live, new);
        now.is_edited = true;
        now.become_side(false);
        let out = after.clone();
        let now = &mut after.blocks[hunk];
        now.become_side(true);
        now.mark = Mark::Applied;
        let plan = match planned {
            Err(Refusal::Flip(FlipError::Glued)) => return assert!(after.is_glued()),
            planned => planned.expect("a place"),
        };
        assert!(!after.is_glued());
        self.check_edits(&plan.edits);
        self.forget();
        self.carry_out(&plan, out, after);
        self.counts.n_merges += 1;
        self.counts.n_conflicts_merged += usize::from(block.touch == Conflict);
    }

    /// Returns how many typed lines right above or below `hunk` are merged with it, since none of
    /// its own is left between them, or `None` if this model cannot tell.
    fn absorbed(&self, hunk: usize, is_above: bool) -> Option<usize> {
        let gap = &self.state.gaps[if is_above { hunk } else { hunk + 1 }];
        let is_typed = |line: &&(bool, Vec<u8>)| line.0;
        let n_typed = match is_above {
            true => gap.live.iter().rev().take_while(is_typed).count(),
            false => gap.live.iter().take_while(is_typed).count(),
        };
        let neighbor = match is_above {
            true => hunk.checked_sub(1),
            false => Some(hunk + 1).filter(|&below| below < self.state.blocks.len()),
        };
        let is_theirs = n_typed == gap.live.len()
            && neighbor.is_some_and(|other| self.state.blocks[other].touch != Untouched);
        match self.state.blocks[hunk].touch {
            // The lines beside an untouched hunk were certainly not typed between its lines.
            Untouched => Some(0),
            _ => (!is_theirs && n_typed == 0).then_some(0),
        }
    }

    /// Counts the edits whose first or last line stays the same.
    fn check_edits(&mut self, edits: &[LineEdit]) {
        let lines = lines_of(&self.desk.live);
        for edit in edits {
            let (old, new) = (
                &lines[edit.line..edit.line + edit.n_removed],
                lines_of(&edit.text),
            );
            if let (Some(first), Some(last)) = (old.first(), old.last()) {
                let is_wide = Some(first) == new.first() || Some(last) == new.last();
                self.counts.n_wide_edits += usize::from(is_wide);
            }
        }
    }

    fn split(&mut self, hunk: usize) {
        if self.state.blocks[hunk].touch == Untouched {
            let n_runs = runs(&self.hunks()[hunk]).len();
            let n_parts = self.desk.review.split(hunk).unwrap();
            assert_eq!(n_parts, n_runs);
            self.become_parts(hunk, n_parts);
        }
    }

    fn pick(&mut self, hunk: usize) {
        if self.state.blocks[hunk].touch != Untouched {
            return;
        }
        let all = changed_lines(&self.hunks()[hunk]);
        let n_runs = runs(&self.hunks()[hunk]).len();
        let from = self.dice.roll(all.len());
        let to = from + 1 + self.dice.roll(all.len() - from);
        match self.desk.review.pick(hunk, from..to) {
            Ok((n_parts, picked)) => {
                self.become_parts(hunk, n_parts);
                let parts = &self.hunks()[hunk..hunk + n_parts];
                if parts.iter().map(|part| runs(part).len()).sum::<usize>() > n_runs {
                    // A change was cut, so the engine does not know what happened to its parts.
                    self.past.forget();
                }
                let hunks = self.hunks();
                assert_eq!(changed_lines(&hunks[hunk + picked]), all[from..to]);
                let parts = hunks[hunk..hunk + n_parts].iter();
                assert_eq!(parts.flat_map(changed_lines).collect::<Vec<_>>(), all);
            }
            Err(refusal) => assert!(!self.is_sure(hunk), "{refusal:?}"),
        }
    }

    fn become_parts(&mut self, hunk: usize, n_parts: usize) {
        let whole = self.state.blocks[hunk].clone();
        let part = |hunk: &Hunk<'_>| {
            let (old, new) = sides(hunk);
            let mut part = Block {
                old,
                new,
                ..whole.clone()
            };
            part.become_side(whole.is_in);
            part
        };
        let parts: Vec<Block> = self.hunks()[hunk..hunk + n_parts]
            .iter()
            .map(part)
            .collect();
        let all = |side: fn(&Block) -> &Lines| parts.iter().flat_map(side).cloned().collect();
        assert_eq!(
            (whole.old, whole.new),
            (all(|part| &part.old), all(|part| &part.new))
        );
        if let Some(starts) = &mut self.starts {
            let start = starts[hunk];
            let lens = parts.iter().scan(start, |start, part| {
                *start += part.old.len();
                Some(*start - part.old.len())
            });
            starts.splice(hunk..=hunk, lens.collect::<Vec<_>>());
        }
        let divide = |mut state: State| {
            let whole = &state.blocks[hunk];
            let (is_in, is_touched) = (whole.is_in, whole.touch != Untouched);
            let mut now = parts.clone();
            now.iter_mut().for_each(|part| part.become_side(is_in));
            state.blocks.splice(hunk..=hunk, now);
            let between = vec![Gap::default(); n_parts - 1];
            state.gaps.splice(hunk + 1..hunk + 1, between);
            (!is_touched).then_some(state)
        };
        self.state = divide(self.state.clone()).expect("an untouched hunk");
        self.past.map(divide);
        self.counts.n_parts += n_parts;
        self.done.clear();
        self.undone.clear();
    }

    /// Makes the target a random choice of the hunks, which the engine learns by comparing.
    fn become_choice(&mut self) {
        let chosen: Vec<bool> = self
            .state
            .blocks
            .iter()
            .map(|_| self.dice.roll(2) == 0)
            .collect();
        let mut after = self.state.clone();
        after.become_choice(|at| chosen[at]);
        let original = self.state.original();
        let n_last = original.len().saturating_sub(1);
        let is_bare = self.starts.is_some();
        if is_bare || after.is_glued() || original[..n_last].iter().any(|line| is_open(line)) {
            return;
        }
        self.desk.live = after.lines().concat();
        if self.desk.review.follow(&self.desk.live) {
            // Among equal lines different hunks can give the same bytes.
            let review = &self.desk.review;
            after.become_choice(|at| review.fact(at) == Fact::In);
            self.state = after;
            self.clear();
        }
    }

    fn undo(&mut self) {
        let Some(done) = self.done.pop() else {
            return;
        };
        let Some(before) = &done.before else {
            self.undone.clear();
            for (line, n_removed, text) in &done.undoing {
                self.undo_as_typed(*line, *n_removed, text);
            }
            return;
        };
        let after = self.state.clone();
        let (redoing, n_met) = self.step_back_all(&done.undoing, (before, false));
        assert!(self.state.has_target_of(before));
        self.counts.n_undone += 1;
        match n_met[0] <= 1 && n_met[1] == 0 {
            true => self.undone.push(Undone {
                done,
                after,
                redoing,
            }),
            false => self.undone.clear(),
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
        let (_, n_met) = self.step_back_all(&redoing, (&after, !done.is_flip));
        self.done.push(done);
        let is_clear = n_met[0] == 0 && n_met[1] <= 1;
        if is_clear {
            assert!(self.state.has_target_of(&after));
            self.counts.n_redone += 1;
        } else {
            // It may as well have been an undo of something else.
            self.done.iter_mut().for_each(|done| done.before = None);
            self.undone.clear();
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

    /// Makes `steps`, which lead to the state `expected`; by a single one that is like typing if
    /// `is_typed`. Returns the steps that revert them, in order, and how often they lead to a text
    /// to which an undo can lead, and a redo: more than once, and they may be another one.
    fn step_back_all(
        &mut self,
        steps: &[LinesReplaced],
        (expected, is_typed): (&State, bool),
    ) -> (Vec<LinesReplaced>, [usize; 2]) {
        let texts = self.past.texts();
        let (mut back, mut n_met) = (Vec::new(), [0, 0]);
        let mut now = known(&self.state);
        for (line, n_removed, text) in steps {
            let lines = lines_of(&now.text);
            let old = lines[*line..line + n_removed].concat();
            self.desk.edit_outside(*line, *n_removed, text, true);
            if *n_removed > 0 || !text.is_empty() {
                let edit = past::Edit {
                    line: *line,
                    old: old.clone(),
                    new: text.clone(),
                };
                let typed = Known {
                    text: self.desk.live.clone(),
                    state: Some(expected.clone()).filter(|_| is_typed),
                };
                now = self.past.undo(edit, now, typed);
                for (n_met, texts) in n_met.iter_mut().zip(&texts) {
                    *n_met += texts.iter().filter(|&text| *text == self.desk.live).count();
                }
            }
            back.push((*line, lines_of(text).len(), old));
        }
        let state = now.state.unwrap_or_else(|| expected.clone());
        self.state.become_target_of(state);
        back.reverse();
        (back, n_met)
    }

    /// Makes the engine see undoing an earlier edit as typing.
    fn forget(&mut self) {
        self.done.iter_mut().for_each(|done| done.before = None);
        self.undone.clear();
        self.past.forget();
    }

    /// Makes the model forget what was done.
    fn clear(&mut self) {
        self.forget();
        self.done.clear();
    }

    /// Undoes an edit of lines that were rewritten since, if that changes a single region.
    fn undo_as_typed(&mut self, line: usize, n_removed: usize, text: &[u8]) {
        let n_lines = self.state.lines().len();
        let lines = lines_of(text);
        let is_open_before_more =
            lines.last().is_some_and(|last| is_open(last)) && line + n_removed < n_lines;
        if is_open_before_more || line + n_removed > n_lines || (n_removed == 0 && lines.is_empty())
        {
            return;
        }
        let mut first = 0;
        for (region, len) in self.state.regions() {
            let start = line.wrapping_sub(first);
            first += len;
            if line + n_removed <= first && self.can_type(region, start, n_removed) {
                let edit = past::Edit {
                    line,
                    old: self.state.lines()[line..line + n_removed].concat(),
                    new: text.to_vec(),
                };
                let before = known(&self.state);
                self.desk.edit_outside(line, n_removed, text, true);
                self.type_into(region, start, n_removed, &lines, Touched);
                let now = self.past.undo(edit, before, known(&self.state));
                let state = now.state.expect("a state");
                self.state.become_target_of(state);
                return;
            }
        }
    }

    /// Tells whether the model knows the effect of an edit of these lines of `region`.
    fn can_type(&self, region: Region, start: usize, n_removed: usize) -> bool {
        let lines = self.state.lines();
        let (len, first) = match region {
            Region::Gap(at) => {
                let above = at.checked_sub(1).map(|above| &self.state.blocks[above]);
                let above = above.map_or(0, |block| self.state.line_of(at - 1) + block.live.len());
                (self.state.gaps[at].live.len(), above)
            }
            Region::Block(at) => (self.state.blocks[at].live.len(), self.state.line_of(at)),
        };
        if start > len || start + n_removed > len {
            return false;
        }
        let is_behind_open =
            first + start == lines.len() && lines.last().is_some_and(|last| is_open(last));
        if is_behind_open {
            return false;
        }
        match region {
            Region::Gap(at) => {
                let above = at.checked_sub(1).filter(|_| start == 0);
                let below = Some(at).filter(|_| start + n_removed == len);
                let below = below.filter(|&below| below < self.state.blocks.len());
                above.is_none_or(|above| self.has_edge(above, false))
                    && below.is_none_or(|below| self.has_edge(below, true))
            }
            Region::Block(_) => n_removed > 0 || (0 < start && start < len),
        }
    }

    /// Tells whether the outermost line of `hunk` on that side is in the target: context, or a line
    /// of its first or last change.
    fn has_edge(&self, hunk: usize, is_above: bool) -> bool {
        let block = &self.state.blocks[hunk];
        let whole = &self.hunks()[hunk];
        let runs = runs(whole);
        let (edge, (old, new)) = match is_above {
            true => (&whole.lines[0], &runs[0]),
            false => (&whole.lines[whole.lines.len() - 1], &runs[runs.len() - 1]),
        };
        let side = if block.is_in { new } else { old };
        block.touch == Untouched && (edge.kind == LineKind::Context || !side.is_empty())
    }

    fn edit_outside(&mut self) {
        let regions = self.state.regions();
        // Blocks have the odd numbers.
        let at = match self.dice.roll(2) {
            0 => self.dice.roll(regions.len()),
            _ => 2 * self.dice.roll(self.state.blocks.len()) + 1,
        };
        let (region, len) = regions[at];
        let start = self.dice.roll(len + 1);
        let n_removed = self.dice.roll(4).min(len - start);
        if !self.can_type(region, start, n_removed) {
            return;
        }
        let n_added = match n_removed {
            0 => 1 + self.dice.roll(2),
            1 => self.dice.roll(3),
            _ => self.dice.roll(2),
        };
        let mut typed: Lines = (0..n_added).map(|_| self.any_line()).collect();
        let line = start + regions[..at].iter().map(|region| region.1).sum::<usize>();
        let is_end = line + n_removed == self.state.lines().len();
        if let Some(last) = typed
            .last_mut()
            .filter(|_| is_end && self.dice.roll(3) == 0)
        {
            last.truncate(last.len() - self.eol.len());
            if last.is_empty() {
                typed.pop();
            }
        }
        if n_removed == 0 && typed.is_empty() {
            return;
        }
        let (known_before, before) = (known(&self.state), Some(self.state.clone()));
        let old = self.state.lines()[line..line + n_removed].concat();
        (self.desk).edit_outside(line, n_removed, &typed.concat(), false);
        let touch = match region {
            Region::Block(hunk) if self.hits(hunk, start, n_removed) => Conflict,
            _ => Touched,
        };
        self.type_into(region, start, n_removed, &typed, touch);
        self.undone.clear();
        let is_whole = self.starts.is_none();
        if is_whole && self.desk.live == self.state.original().concat() {
            self.state.become_choice(|_| false);
            return self.clear();
        }
        let edit = past::Edit {
            line,
            old: old.clone(),
            new: typed.concat(),
        };
        self.past.typed(edit, known_before, known(&self.state));
        let undoing = vec![(line, typed.len(), old)];
        self.done.push(Done {
            is_flip: false,
            before,
            undoing,
        });
    }

    /// Tells whether one of these lines of `hunk`, counted in the target, is a changed line.
    fn hits(&self, hunk: usize, start: usize, n_removed: usize) -> bool {
        let block = &self.state.blocks[hunk];
        let gone = if block.is_in {
            LineKind::Removed
        } else {
            LineKind::Added
        };
        let whole = &self.hunks()[hunk];
        let live = whole.lines.iter().filter(|line| line.kind != gone);
        let mut live = live.skip(start).take(n_removed);
        block.touch == Untouched && live.any(|line| line.kind != LineKind::Context)
    }

    fn type_into(
        &mut self,
        region: Region,
        start: usize,
        n_removed: usize,
        typed: &[Vec<u8>],
        touch: Touch,
    ) {
        let range = start..start + n_removed;
        match region {
            Region::Gap(at) => {
                let gap = &mut self.state.gaps[at];
                let typed = typed.iter().map(|line| (true, line.clone()));
                let mut gone = gap.live.splice(range, typed);
                let is_deletion = gone.any(|line| !line.0);
                drop(gone);
                gap.has_deletions |= is_deletion;
            }
            Region::Block(at) => {
                let block = &mut self.state.blocks[at];
                block.live.splice(range, typed.iter().cloned());
                block.touch = block.touch.max(touch);
            }
        }
    }

    /// Returns a line of the texts or a new one, with a newline.
    fn any_line(&mut self) -> Vec<u8> {
        self.n_typed += 1;
        let new = format!("mine {}{}", self.n_typed, self.eol).into_bytes();
        let hunk = self.dice.roll(self.state.blocks.len());
        let lines = match self.dice.roll(3) {
            0 => return new,
            1 => &self.state.blocks[hunk].new,
            _ => &self.state.original(),
        };
        if lines.is_empty() {
            return new;
        }
        let mut line = lines[self.dice.roll(lines.len())].clone();
        if is_open(&line) {
            line.extend_from_slice(self.eol.as_bytes());
        }
        line
    }

    /// Returns the text that the user makes of `hunk`.
    fn user_text(&mut self, hunk: usize) -> Vec<u8> {
        let Block { old, new, live, .. } = &self.state.blocks[hunk];
        let mut lines = match self.dice.roll(8) {
            0 => return old.concat(),
            1 => Lines::new(),
            2 | 3 => live.clone(),
            4 => old.clone(),
            _ => new.clone(),
        };
        for _ in 0..1 + self.dice.roll(3) {
            let start = self.dice.roll(lines.len() + 1);
            let end = lines.len().min(start + self.dice.roll(3));
            let n_added = self.dice.roll(3);
            let added: Lines = (0..n_added).map(|_| self.any_line()).collect();
            lines.splice(start..end, added);
        }
        let n_last = lines.len().saturating_sub(1);
        for line in &mut lines[..n_last] {
            if is_open(line) {
                line.extend_from_slice(self.eol.as_bytes());
            }
        }
        let mut text = lines.concat();
        if self.dice.roll(4) == 0 && text.ends_with(self.eol.as_bytes()) {
            text.truncate(text.len() - self.eol.len());
        }
        text
    }
}

fn known(state: &State) -> Known<State> {
    Known {
        text: state.lines().concat(),
        state: Some(state.clone()),
    }
}

/// Walks over texts whose originals are made by `lines`.
fn walk_over(lines: impl Fn(&mut Dice) -> Vec<String>) {
    let mut counts = Counts::default();
    for seed in 0..u64::from(n_cases(N_CASES)) {
        let mut dice = Dice::new(seed);
        let original = lines(&mut dice);
        let modified = changed(&original, 4, &mut dice);
        let eol = ["\n", "\r\n"][usize::from(dice.roll(4) == 0)];
        let texts = [original, modified].map(|lines| {
            let mut text = lines.concat().replace('\n', eol);
            if dice.roll(4) == 0 && text.len() > eol.len() {
                text.truncate(text.len() - eol.len());
            }
            text.into_bytes()
        });
        let context_len = [0, 3][dice.roll(2)];
        let proposal = Proposal::from_texts(texts[0].clone(), texts[1].clone(), context_len);
        let Ok(proposal) = proposal else {
            continue;
        };
        let hunks = proposal.hunks_in(0..proposal.n_hunks(), HeadingRule::Default);
        let state = State::new(&texts[0], &hunks);
        let is_bare = dice.roll(3) == 0;
        let starts = is_bare.then(|| hunks.iter().map(|hunk| hunk.before.start).collect());
        let proposal = match is_bare {
            true => Proposal::from_diff(&print(b"f", &hunks).bytes).expect("a diff"),
            false => proposal,
        };
        let desk = Desk::open(proposal, &texts[0]);
        let is_found = |hunk| {
            let obstacle = desk.review.proposal().obstacle(hunk);
            obstacle.is_none() && desk.review.fact(hunk) == Fact::Out
        };
        if !(0..state.blocks.len()).all(is_found) {
            // Without the original and without context, the place of a hunk is open.
            assert!(is_bare);
            continue;
        }
        let mut walk = Walk {
            desk,
            state,
            done: Vec::new(),
            undone: Vec::new(),
            past: Past::new(),
            dice: &mut dice,
            eol,
            starts,
            n_typed: 0,
            counts: &mut counts,
        };
        walk.check();
        (0..N_STEPS).for_each(|_| walk.step());
        counts.n_walks += 1;
    }
    let enough = [
        counts.n_flips,
        counts.n_edits,
        counts.n_merges,
        counts.n_parts,
        10 * counts.n_conflicts_merged,
        5 * counts.n_undone,
        5 * counts.n_redone,
    ];
    assert!(enough.iter().all(|&n| n > counts.n_walks), "{counts:?}");
    // imara-diff's histogram gives one now and then, like git's.
    assert!(1000 * counts.n_wide_edits < counts.n_walks, "{counts:?}");
    // Others can delete the neighbors of a hunk without context, which makes its place uncertain.
    assert!(50 * counts.n_needless < counts.n_walks, "{counts:?}");
}

#[test]
fn in_equal_blocks_the_target_is_as_the_user_made_it() {
    walk_over(equal_blocks);
}

#[test]
fn in_source_the_target_is_as_the_user_made_it() {
    walk_over(|dice| source(dice, 40));
}
