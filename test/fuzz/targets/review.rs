//! Any commands and any edits by others, in any order: after each step the target is as planned.
//!
//! The model is a list of tagged lines, which a plan may never confuse, even where they read the
//! same. The model cannot know what the engine decides by comparing two texts: it asks the engine,
//! and checks that the engine keeps to the answer from then on.
#![no_main]

#[allow(dead_code)]
#[path = "../../engine/common/compared.rs"]
mod compared;
#[allow(dead_code)]
#[path = "../../engine/common/desk.rs"]
mod desk;
mod input;

use std::ops::Range;

use agent_q_diff_engine::diff::{self, Edit, HeadingRule};
use agent_q_diff_engine::proposal::Proposal;
use agent_q_diff_engine::review::{
    Basis, Command, Decision, Fact, Mark, Plan, Refusal, Stage, Step, step,
};
use agent_q_diff_engine::text::{Text, is_unterminated};
use agent_q_diff_engine::weave::{FlipError, LineEdit};
use compared::Sides;
use desk::{Desk, Replaced, replaced};
use input::{Input, Pair};
use libfuzzer_sys::fuzz_target;

const MAX_STEPS: usize = 24;

/// With more hunks than this, a repetitive text can be read in more ways than the engine keeps.
const MAX_HUNKS_READ: usize = 6;

fuzz_target!(|bytes: &[u8]| {
    let mut input = Input::new(bytes);
    let (pair, context_len) = (input.pair(), input.below(5));
    let Some(mut walk) = Walk::new(&pair, context_len) else {
        assert_eq!(pair.compared.original, pair.compared.modified);
        return;
    };
    for _ in 0..MAX_STEPS {
        if input.is_used_up() {
            break;
        }
        walk.step(&mut input);
        walk.check();
    }
});

/// Which line a line of the target is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tag {
    /// A line of the original or of the proposal, with its place in the order of all of them.
    Known(usize),
    /// A line that somebody else typed: between these two places.
    Typed { after: usize, before: usize },
    /// A line that only a comparison could identify.
    Unsure,
}

impl Tag {
    fn known(self) -> Option<usize> {
        match self {
            Tag::Known(place) => Some(place),
            Tag::Typed { .. } | Tag::Unsure => None,
        }
    }

    /// Returns the places that the line is after and before, if they are known.
    fn bounds(self) -> Option<(usize, usize)> {
        match self {
            Tag::Known(place) => Some((place, place)),
            Tag::Typed { after, before } => Some((after, before)),
            Tag::Unsure => None,
        }
    }
}

type TaggedLine = (Tag, Vec<u8>);

/// Distance between the places of two lines of the original.
const ROOM: usize = 1 << 16;

#[derive(Clone)]
struct State {
    lines: Vec<TaggedLine>,
    /// For each atom whether it is in the target.
    is_in: Vec<bool>,
    /// Whether the target is the original with these atoms and nothing else.
    is_pure: bool,
}

/// Something that was done to the target, and the edits that undo it.
struct Done {
    before: State,
    undoing: Vec<LineEdit>,
}

struct Walk<'a> {
    pair: &'a Pair,
    desk: Desk,
    atoms: Vec<Edit>,
    /// The atoms of each hunk.
    hunks: Vec<Range<usize>>,
    marks: Vec<Mark>,
    state: State,
    done: Vec<Done>,
}

impl<'a> Walk<'a> {
    /// Returns `None` for equal texts.
    fn new(pair: &'a Pair, context_len: usize) -> Option<Walk<'a>> {
        let atoms = pair.compared.edits.clone();
        let groups = diff::group(&atoms, pair.compared.original.len(), context_len);
        let hunks: Vec<Range<usize>> = groups.into_iter().map(|group| group.edits).collect();
        let texts =
            [&pair.compared.original, &pair.compared.modified].map(|text| text.bytes().to_vec());
        let [original, modified] = texts;
        let proposal = Proposal::from_texts(original, modified, context_len).ok()?;
        let mut walk = Walk {
            pair,
            desk: Desk::open(proposal, pair.compared.original.bytes()),
            marks: vec![Mark::Pending; hunks.len()],
            state: State {
                lines: Vec::new(),
                is_in: Vec::new(),
                is_pure: true,
            },
            done: Vec::new(),
            atoms,
            hunks,
        };
        walk.become_choice(vec![false; walk.atoms.len()]);
        walk.check();
        Some(walk)
    }

    fn step(&mut self, input: &mut Input) {
        let hunk = input.below(self.hunks.len() + 1);
        match input.below(16) {
            0..=2 => self.act(hunk, Command::Accept, false),
            3 => self.act(hunk, Command::Reject, false),
            4 => self.act(hunk, Command::Toggle, false),
            5 | 6 => self.act(hunk, Command::Unapply, false),
            7 => self.act(hunk, Command::Accept, true),
            8 => self.accept_all(),
            9 => self.split(hunk),
            10 | 11 => self.edit(hunk, input),
            12 | 13 => self.undo(),
            14 => self.follow(input),
            _ if input.below(2) == 0 => self.reject_all(),
            _ => self.recognize(),
        }
    }

    fn check(&self) {
        let (review, state) = (&self.desk.review, &self.state);
        assert_eq!(self.desk.live, text_of(&state.lines));
        assert_eq!(review.proposal().target(), self.desk.live);
        assert_eq!(review.proposal().n_hunks(), self.hunks.len());
        let known = state.lines.iter().filter_map(|(tag, _)| tag.known());
        assert!(known.is_sorted_by(|one, next| one < next));
        for (hunk, atoms) in self.hunks.iter().enumerate() {
            assert_eq!(review.mark(hunk), self.marks[hunk]);
            assert_eq!(review.fact(hunk), self.fact(atoms));
            if state.is_pure {
                assert_eq!(review.proposal().obstacle(hunk), None);
            }
        }
        if state.is_pure {
            assert_eq!(self.desk.live, text_of(&self.choice(&state.is_in)));
        }
        self.check_decision();
    }

    fn check_decision(&self) {
        let counts = self.desk.review.counts();
        let n_marked = |mark| self.marks.iter().filter(|&&other| other == mark).count();
        assert_eq!(counts.total, self.marks.len());
        assert_eq!(counts.applied, n_marked(Mark::Applied));
        assert_eq!(counts.rejected, n_marked(Mark::Rejected));
        let is_accepted = |basis| self.desk.review.decision(basis) == Decision::Accepted;
        assert_eq!(is_accepted(Basis::Marks), counts.applied > 0);
        assert_eq!(is_accepted(Basis::Facts), counts.in_target > 0);
    }

    fn fact(&self, atoms: &Range<usize>) -> Fact {
        let is_in = &self.state.is_in[atoms.clone()];
        match (is_in.contains(&true), is_in.contains(&false)) {
            (true, false) => Fact::In,
            (false, _) => Fact::Out,
            (true, true) => Fact::Mixed,
        }
    }
}

/// Commands.
impl Walk<'_> {
    fn act(&mut self, hunk: usize, command: Command, is_vouched: bool) {
        let planned = match is_vouched {
            true => self.desk.review.plan_vouched(hunk, command),
            false => self.desk.review.plan(hunk, command),
        };
        let n_hunks = self.hunks.len();
        if hunk == n_hunks {
            return assert_eq!(planned, Err(Refusal::NoSuchHunk { hunk, n_hunks }));
        }
        let expected = step(
            Stage::Proposed,
            self.marks[hunk],
            self.fact(&self.hunks[hunk]),
            command,
        );
        match (expected, planned) {
            (Ok(step), Ok(plan)) => {
                assert_eq!(plan.steps, [(hunk, step)]);
                self.carry_out(&plan);
            }
            (Ok(step), Err(refusal)) => {
                // A hunk that others have changed since is not called applied.
                assert!(step.is_flip || self.desk.review.proposal().is_lost(hunk));
                assert!(!(is_vouched && matches!(refusal, Refusal::NotPlaced(_))));
                self.check_refusal(&[(hunk, step)], &refusal);
                self.desk.review.fail(hunk);
            }
            (Err(expected), planned) => assert_eq!(planned, Err(expected)),
        }
    }

    fn accept_all(&mut self) {
        let (plan, refused) = self.desk.plan_all();
        for (hunk, mark) in self.marks.iter().enumerate() {
            let step = step(
                Stage::Proposed,
                *mark,
                self.fact(&self.hunks[hunk]),
                Command::Accept,
            );
            let planned = plan.steps.iter().find(|(other, _)| *other == hunk);
            let refusal = refused.iter().find(|(other, _)| *other == hunk);
            assert_eq!(
                planned.is_some() || refusal.is_some(),
                *mark == Mark::Pending
            );
            if let Some(&(_, planned)) = planned {
                assert_eq!((Ok(planned), refusal), (step, None));
            }
        }
        for (hunk, refusal) in &refused {
            let step = step(
                Stage::Proposed,
                Mark::Pending,
                self.fact(&self.hunks[*hunk]),
                Command::Accept,
            );
            let step = step.expect("accepting is never refused");
            let with = [&plan.steps[..], &[(*hunk, step)]].concat();
            self.check_refusal(&with, refusal);
        }
        self.carry_out(&plan);
    }

    /// Checks that there is a reason to refuse `steps`: others changed the target, and if the
    /// reason is that lines would be joined, some would be.
    fn check_refusal(&self, steps: &[(usize, Step)], refusal: &Refusal) {
        assert!(!self.state.is_pure, "{refusal:?}");
        assert_ne!(*refusal, Refusal::NotIn);
        if *refusal == Refusal::Flip(FlipError::Glued) {
            let flips = self.flips(steps);
            let ends = |&(atom, is_in): &(usize, bool)| {
                let sides = [is_in, !is_in].map(|is_in| text_of(&self.side(atom, is_in)));
                sides
                    .iter()
                    .any(|side| !side.is_empty() && is_unterminated(side))
            };
            let last = self.state.lines.last();
            let is_open = last.is_some_and(|(_, line)| is_unterminated(line));
            assert!(is_open || flips.iter().any(ends));
        }
    }

    /// Carries out `plan` on the tagged lines, which checks that it replaces only its own.
    fn carry_out(&mut self, plan: &Plan) {
        let before = self.state.clone();
        let flips = self.flips(&plan.steps);
        assert_eq!(plan.edits.len(), flips.len());
        // Undoing begins with the last edit, while the lines above are still as they were.
        let mut undoing = Vec::new();
        let done = replaced(&self.desk.live, &plan.edits);
        for ((edit, done), &(atom, is_in)) in plan.edits.iter().zip(done).zip(&flips) {
            let (from, to) = (self.side(atom, !is_in), self.side(atom, is_in));
            assert_eq!((edit.n_removed, &edit.text), (from.len(), &text_of(&to)));
            let Replaced {
                line,
                n_added,
                removed,
            } = done;
            self.replace(line, &from, to);
            self.state.is_in[atom] = is_in;
            let piece = |n_removed, text| LineEdit {
                line,
                n_removed,
                text,
            };
            undoing.extend([piece(0, removed), piece(n_added, Vec::new())]);
        }
        undoing.reverse();
        let is_open = |(_, line): &TaggedLine| is_unterminated(line);
        let last = self.state.lines.len().saturating_sub(1);
        assert!(!self.state.lines[..last].iter().any(is_open));
        self.desk.carry_out(plan);
        for (hunk, step) in &plan.steps {
            self.marks[*hunk] = step.mark;
        }
        if !flips.is_empty() {
            self.done.push(Done { before, undoing });
        }
    }

    /// Replaces the lines `own`, which must be at line `line` of the target, by `lines`.
    fn replace(&mut self, line: usize, own: &[TaggedLine], lines: Vec<TaggedLine>) {
        let range = line..line + own.len();
        for ((tag, text), (own_tag, own_text)) in self.state.lines[range.clone()].iter().zip(own) {
            assert!(
                tag == own_tag || *tag == Tag::Unsure,
                "{tag:?} for {own_tag:?}"
            );
            assert_eq!(text, own_text);
        }
        if own.is_empty() {
            self.check_point(line, lines[0].0.known().expect("a line of a side"));
        }
        self.state.lines.splice(range, lines);
    }

    /// Checks that a line with the place `own`, inserted before line `line` of the target, is on
    /// the right side of all lines that others wrote there.
    fn check_point(&self, line: usize, own: usize) {
        let (above, below) = self.state.lines.split_at(line);
        let is_other = |(tag, _): &&TaggedLine| tag.known().is_none();
        let above = above.iter().rev().take_while(is_other);
        for (tag, _) in above {
            let before = tag.bounds().map(|(_, before)| before);
            assert!(
                before.is_none_or(|before| before <= own),
                "{tag:?} above {own}"
            );
        }
        for (tag, _) in below.iter().take_while(is_other) {
            let after = tag.bounds().map(|(after, _)| after);
            assert!(
                after.is_none_or(|after| own <= after),
                "{tag:?} below {own}"
            );
        }
    }

    /// Returns the atoms that `steps` flip, in order, each with whether it is to be in the target.
    fn flips(&self, steps: &[(usize, Step)]) -> Vec<(usize, bool)> {
        let steps = steps.iter().filter(|(_, step)| step.is_flip);
        let wanted = steps.flat_map(|(hunk, step)| {
            let is_in = step.mark == Mark::Applied;
            self.hunks[*hunk].clone().map(move |atom| (atom, is_in))
        });
        wanted
            .filter(|&(atom, is_in)| self.state.is_in[atom] != is_in)
            .collect()
    }

    fn split(&mut self, hunk: usize) {
        // Cutting a single change makes atoms that this model does not know.
        if hunk == self.hunks.len() || self.hunks[hunk].len() == 1 {
            return;
        }
        let shown = |desk: &Desk, hunks: Range<usize>| -> Vec<(Range<usize>, Range<usize>)> {
            let hunks = desk.review.proposal().hunks_in(hunks, HeadingRule::Default);
            for hunk in &hunks {
                assert!(
                    self.pair
                        .compared
                        .original
                        .lines(hunk.before.clone())
                        .eq(hunk.pre_image())
                );
                assert!(
                    self.pair
                        .compared
                        .modified
                        .lines(hunk.after.clone())
                        .eq(hunk.post_image())
                );
            }
            hunks
                .into_iter()
                .map(|hunk| (hunk.before, hunk.after))
                .collect()
        };
        let whole = shown(&self.desk, hunk..hunk + 1);
        let atoms = self.hunks[hunk].clone();
        let n_parts = self.desk.review.split(hunk).expect("a hunk");
        assert_eq!(n_parts, atoms.len());
        let parts = shown(&self.desk, hunk..hunk + n_parts);
        assert!(
            parts.is_sorted_by(|one, next| one.0.end == next.0.start && one.1.end == next.1.start)
        );
        let (first, last) = (&parts[0], &parts[n_parts - 1]);
        assert_eq!(
            (first.0.start..last.0.end, first.1.start..last.1.end),
            whole[0]
        );
        self.hunks
            .splice(hunk..=hunk, atoms.map(|atom| atom..atom + 1));
        self.marks
            .splice(hunk..=hunk, vec![self.marks[hunk]; n_parts]);
    }

    fn reject_all(&mut self) {
        let (plan, _) = self.desk.plan_for_all(Command::Reject);
        self.desk.review.commit(&plan);
        for (hunk, mark) in self.marks.iter_mut().enumerate() {
            if *mark != Mark::Applied {
                // One that was rejected before may have failed to be accepted since.
                self.desk.review.set_mark(hunk, Mark::Rejected);
                *mark = Mark::Rejected;
            }
        }
    }
}

/// Edits of others.
impl Walk<'_> {
    /// Types something, in one case of two at hunk `hunk`.
    fn edit(&mut self, hunk: usize, input: &mut Input) {
        let lines = &self.state.lines;
        let mut range = input.range_in(lines.len(), 4);
        if hunk < self.hunks.len()
            && input.below(2) == 0
            && let Some(line) = self.desk.review.proposal().line(hunk)
        {
            range = line..lines.len().min(line + range.len());
        }
        let mut typed = input.lines(self.pair.family, 4);
        if let Some((_, last)) = lines.last()
            && range.start == lines.len()
            && is_unterminated(last)
        {
            range.start -= 1;
            typed.insert(0, [last, &b"\n"[..]].concat());
        }
        if let Some(last) = typed.last_mut()
            && range.end == lines.len()
            && last.len() > 1
            && input.below(4) == 0
        {
            last.pop();
        }
        let before = self.state.clone();
        let undoing = vec![LineEdit {
            line: range.start,
            n_removed: typed.len(),
            text: text_of(&lines[range.clone()]),
        }];
        let (line, n_removed) = (range.start, range.len());
        self.desk
            .edit_outside(line, n_removed, &typed.concat(), false);
        let is_wide = n_removed.min(typed.len()) > 1;
        let tag = match is_wide {
            true => Tag::Unsure,
            false => self.tag_of_typed(range.clone()),
        };
        let is_change = n_removed + typed.len() > 0;
        self.state
            .lines
            .splice(range, typed.into_iter().map(|line| (tag, line)));
        self.state.is_pure &= !is_change;
        if is_wide {
            self.done.clear();
            self.take_its_word();
        } else if self.desk.live == self.pair.compared.original.bytes() {
            self.become_choice(vec![false; self.atoms.len()]);
        }
        if is_change && !self.state.is_pure {
            self.done.push(Done { before, undoing });
        }
    }

    /// Returns the tag of lines that somebody types in place of those in `range`.
    fn tag_of_typed(&self, range: Range<usize>) -> Tag {
        let lines = &self.state.lines;
        let bounds = |at: Option<usize>, outside| match at.and_then(|at| lines.get(at)) {
            Some((tag, _)) => tag.bounds(),
            None => Some((outside, outside)),
        };
        let all: Option<Vec<(usize, usize)>> = match range.is_empty() {
            true => [
                bounds(range.start.checked_sub(1), 0),
                bounds(Some(range.end), usize::MAX),
            ]
            .into_iter()
            .collect(),
            false => lines[range.clone()]
                .iter()
                .map(|(tag, _)| tag.bounds())
                .collect(),
        };
        let Some(all) = all else {
            return Tag::Unsure;
        };
        Tag::Typed {
            after: all.iter().map(|bounds| bounds.0).min().unwrap_or(0),
            before: all
                .iter()
                .map(|bounds| bounds.1)
                .max()
                .unwrap_or(usize::MAX),
        }
    }

    fn undo(&mut self) {
        let Some(Done { before, undoing }) = self.done.pop() else {
            return;
        };
        for LineEdit {
            line,
            n_removed,
            text,
        } in &undoing
        {
            self.desk.edit_outside(*line, *n_removed, text, true);
        }
        let n_restored = Text::new(undoing[0].text.clone()).len();
        let is_wide = undoing[0].n_removed.min(n_restored) > 1;
        self.state = before;
        if is_wide {
            // The engine may recognize this as undoing the last edit, or compare the texts.
            let was_pure = self.state.is_pure;
            self.be_unsure();
            if was_pure {
                self.take_its_word();
                assert!(self.state.is_pure || self.hunks.len() > MAX_HUNKS_READ);
            } else {
                self.state.is_in = self.facts_told();
            }
        }
    }

    /// Makes the target another text without reporting an edit.
    fn follow(&mut self, input: &mut Input) {
        let kind = input.below(4);
        let mut is_in = vec![false; self.atoms.len()];
        for atoms in &self.hunks {
            is_in[atoms.clone()].fill(kind == 0 || input.below(2) == 0);
        }
        let mut lines: Vec<Vec<u8>> = self.choice(&is_in).into_iter().map(|line| line.1).collect();
        match kind {
            0 | 1 => {}
            2 => {
                let range = input.range_in(lines.len(), 3);
                lines.splice(range, input.lines(self.pair.family, 3));
            }
            _ => lines = input.lines(self.pair.family, 20),
        }
        let live = Text::new(lines.concat());
        let is_news = live.bytes() != self.desk.live;
        self.desk.live = live.bytes().to_vec();
        assert_eq!(self.desk.review.follow(live.bytes()), is_news);
        if !is_news {
            return;
        }
        let unsure = |line: &[u8]| (Tag::Unsure, line.to_vec());
        self.state.lines = live.lines(0..live.len()).map(unsure).collect();
        self.be_unsure();
        self.take_its_word();
        if kind < 2 && self.hunks.len() <= MAX_HUNKS_READ {
            assert!(self.state.is_pure, "a choice of hunks is not read as one");
        }
    }

    fn recognize(&mut self) {
        if self.desk.review.recognize() {
            self.take_its_word();
            assert!(self.state.is_pure || self.hunks.len() > MAX_HUNKS_READ);
            self.done.clear();
        }
    }

    /// Marks every line as unsure.
    fn be_unsure(&mut self) {
        for (tag, _) in &mut self.state.lines {
            *tag = Tag::Unsure;
        }
        self.state.is_pure = false;
        self.done.clear();
    }

    /// Takes over which hunks the engine found in the target. If they explain all of the target,
    /// every line is known again.
    fn take_its_word(&mut self) {
        let is_in = self.facts_told();
        let is_whole = |atoms: &Range<usize>| is_in[atoms.clone()].windows(2).all(|w| w[0] == w[1]);
        let is_read = self.hunks.len() <= MAX_HUNKS_READ && self.hunks.iter().all(is_whole);
        if is_read && text_of(&self.choice(&is_in)) == self.desk.live {
            self.become_choice(is_in);
        } else {
            self.state.is_in = is_in;
        }
    }

    /// Returns for each atom whether the engine has it in the target.
    fn facts_told(&self) -> Vec<bool> {
        let mut review = self.desk.review.clone();
        let several = |hunk: &usize| self.hunks[*hunk].len() > 1;
        let hunks = (0..self.hunks.len()).rev().filter(several);
        hunks.for_each(|hunk| _ = review.split(hunk));
        let is_in = |atom| review.fact(atom) == Fact::In;
        (0..self.atoms.len()).map(is_in).collect()
    }

    fn become_choice(&mut self, is_in: Vec<bool>) {
        let lines = self.choice(&is_in);
        let is_pure = true;
        self.state = State {
            lines,
            is_in,
            is_pure,
        };
        self.done.clear();
    }

    /// Returns the original with exactly the atoms `is_in`.
    fn choice(&self, is_in: &[bool]) -> Vec<TaggedLine> {
        let (mut lines, mut done) = (Vec::new(), 0);
        for (atom, edit) in self.atoms.iter().enumerate() {
            lines.extend(self.originals(done..edit.before.start));
            lines.extend(self.side(atom, is_in[atom]));
            done = edit.before.end;
        }
        lines.extend(self.originals(done..self.pair.compared.original.len()));
        lines
    }

    fn side(&self, atom: usize, is_in: bool) -> Vec<TaggedLine> {
        let edit = &self.atoms[atom];
        if !is_in {
            return self.originals(edit.before.clone());
        }
        let first = place(edit.before.start) - ROOM / 2;
        let lines = self
            .pair
            .compared
            .modified
            .lines(edit.after.clone())
            .enumerate();
        lines
            .map(|(at, line)| (Tag::Known(first + at), line.to_vec()))
            .collect()
    }

    fn originals(&self, range: Range<usize>) -> Vec<TaggedLine> {
        let lines = range.clone().zip(self.pair.compared.original.lines(range));
        lines
            .map(|(at, line)| (Tag::Known(place(at)), line.to_vec()))
            .collect()
    }
}

/// Returns the place of a line of the original among all lines.
fn place(line: usize) -> usize {
    (line + 1) * ROOM
}

fn text_of(lines: &[TaggedLine]) -> Vec<u8> {
    lines.iter().flat_map(|(_, line)| line).copied().collect()
}
