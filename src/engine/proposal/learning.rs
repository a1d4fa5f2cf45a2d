//! Learning from a comparison: an edit of the target was missed, or one command rewrote much of it.
//!
//! The differences found enter the weave as edits, or as flipped atoms if they are what an atom
//! does. An atom whose place the comparison does not prove is put in doubt. Knows weave and doubts,
//! but not hunks.

use std::collections::HashSet;
use std::mem;
use std::ops::Range;

use crate::diff::{self, Budget, Edit};
use crate::patch::locate;
use crate::text::Text;
use crate::trust::{Compared, LineCounts, Trust};
use crate::weave::{Changed, Weave};

/// How many lines around the change are compared with it at first: what is around decides which of
/// several equal diffs the comparison chooses, and in repetitive text a run of lines can slide.
const N_AROUND: usize = 64;

/// How many edits at once are learned one by one at most. If there are more, everything from the
/// first to the last counts as one edit: learning so many takes long, and nobody reviews hunks
/// among them.
const MAX_PLACES: usize = 300_000;

/// An atom, and its lines of the target.
type Span = (usize, Range<usize>);

/// The parts of a proposal that learning changes.
pub(super) struct Learning<'a> {
    pub weave: &'a mut Weave,
    pub doubts: &'a mut Doubts,
}

impl Learning<'_> {
    /// Records that one command replaced the `lines` of the target by `new`. Atoms whose place a
    /// comparison does not prove are in doubt from then on.
    pub fn learn_command(&mut self, lines: Range<usize>, new: &Text) {
        let old = Text::new(self.weave.target().lines(lines.clone()));
        // The steps after the comparison take as long as it does.
        let edits = edits_to_learn(&old, new, Budget::default().half());
        let compared = Compared {
            old: &old,
            new,
            edits: &edits,
            n_around: (lines.start, self.weave.target().n_lines() - lines.end),
        };
        let trust = Trust::of_command(&compared);
        let spans = self.spans_in(&lines);
        self.learn(
            &compared,
            &trust,
            &spans,
            (lines.start, old.bytes(), new.bytes()),
        );
    }

    /// Records that the target has changed by `changed`, in an unknown number of edits. Atoms whose
    /// place a comparison does not prove are in doubt from then on. Comparing takes at most half
    /// the budget of one comparison.
    pub fn learn_missed(&mut self, changed: &Changed) {
        self.learn_around(changed, N_AROUND, Budget::default().half().half());
    }

    /// Like [`Learning::learn_missed`], but also compares `n_around` lines on each side of the
    /// change, within `budget`. If these are too few, it compares again with more, each time within
    /// half of the budget before; all comparisons together take at most twice `budget`.
    pub fn learn_around(&mut self, changed: &Changed, n_around: usize, budget: Budget) {
        let n_lines = self.weave.target().n_lines();
        let window = self.weave.target().widened(changed, n_around);
        let old = Text::new(self.weave.target().lines(window.lines.clone()));
        let new = Text::new(window.text);
        let edits = edits_to_learn(&old, &new, budget);
        let compared = Compared {
            old: &old,
            new: &new,
            edits: &edits,
            n_around: (window.lines.start, n_lines - window.lines.end),
        };
        if compared.is_too_narrow() {
            // Once the rest is not much more, comparing everything is faster than more steps.
            let wider = if 2 * window.lines.len() >= n_lines {
                n_lines
            } else {
                8 * (n_around + 1)
            };
            return self.learn_around(changed, wider, budget.half());
        }
        let trust = Trust::new(&compared, anchors(self.weave, &compared, changed));
        let spans = self.spans_in(&(0..n_lines));
        let was = self.weave.target().lines(changed.lines.clone());
        let replaced = (changed.lines.start, &was[..], &changed.text[..]);
        self.learn(&compared, &trust, &spans, replaced);
    }

    /// Records the edits in `compared`, and puts those atoms of `spans` in doubt about which
    /// `trust` is not certain. As a whole, `is` replaced `was` from line `line` (0-based) on.
    fn learn(
        &mut self,
        compared: &Compared,
        trust: &Trust,
        spans: &[Span],
        (line, was, is): (usize, &[u8], &[u8]),
    ) {
        let (done, others) = self.done_and_others(compared, spans);
        let is_doubted = self.doubts_about(&done, spans, trust);
        if done.is_empty() {
            let (n_done, before) = (self.weave.n_done(), self.weave.now());
            self.edit_all(compared, &others);
            let n_forgotten = self.weave.n_forgotten();
            self.doubts.note_edit(is_doubted, n_done, n_forgotten);
            self.weave.count_as_one(&before, line, was, is);
        } else {
            let atoms: Vec<usize> = done.iter().map(|(atom, _)| *atom).collect();
            self.weave.learn_flips(&atoms);
            self.edit_all(compared, &others);
        }
    }

    /// Returns the atoms that edits of `compared` apply or unapply, each with its lines of the
    /// target; and the other edits, each with its line once these atoms are flipped.
    fn done_and_others<'a>(
        &self,
        compared: &Compared<'a>,
        spans: &[Span],
    ) -> (Vec<Span>, Vec<(usize, &'a Edit)>) {
        let (mut done, mut others) = (Vec::new(), Vec::new());
        let mut moved = 0;
        for edit in compared.edits {
            let first = compared.n_around.0;
            let lines = first + edit.before.start..first + edit.before.end;
            match self.atom_done_by(edit, &lines, spans, compared) {
                Some(atom) => {
                    moved += locate::offset(edit.before.len(), edit.after.len());
                    done.push((atom, lines));
                }
                None => others.push((lines.start.saturating_add_signed(moved), edit)),
            }
        }
        (done, others)
    }

    /// Records which atoms are in doubt, and returns those that were not in doubt before.
    fn doubts_about(&mut self, done: &[Span], spans: &[Span], trust: &Trust) -> Vec<usize> {
        let is_flip_doubted = |(_, lines): &&Span| !trust.is_certain_around(lines.clone());
        let is_done: HashSet<usize> = done.iter().map(|(atom, _)| *atom).collect();
        let is_in_doubt =
            |(atom, span): &&Span| !is_done.contains(atom) && !trust.is_certain(span.clone());
        let flips = done.iter().filter(is_flip_doubted);
        let doubted = flips.chain(spans.iter().filter(is_in_doubt));
        self.doubts.add(doubted.map(|(atom, _)| *atom))
    }

    /// Makes the `edits` of `compared`, each at its line of the target: from the last to the first,
    /// so that none moves another, and with only one walk over the segments.
    fn edit_all(&mut self, compared: &Compared, edits: &[(usize, &Edit)]) {
        for (line, edit) in edits.iter().rev() {
            let text = compared.new.lines_bytes(edit.after.clone());
            (self.weave).edit_loosely(*line, edit.before.len(), text, false);
        }
        self.weave.settle();
    }

    /// Returns the atoms that are entirely inside `lines` of the target, each with its lines.
    fn spans_in(&self, lines: &Range<usize>) -> Vec<Span> {
        let span = |atom: usize| {
            self.weave.check(atom).ok()?;
            let start = self.weave.line_of(atom)?;
            let end = start + self.weave.atoms()[atom].alive_side().len();
            (lines.start <= start && end <= lines.end).then_some((atom, start..end))
        };
        (0..self.weave.atoms().len()).filter_map(span).collect()
    }

    /// Returns the atom that `edit`, of these `lines` of the target, applies or unapplies, if it
    /// does nothing else.
    fn atom_done_by(
        &self,
        edit: &Edit,
        lines: &Range<usize>,
        spans: &[Span],
        compared: &Compared,
    ) -> Option<usize> {
        let was = compared.old.lines_bytes(edit.before.clone());
        let is = compared.new.lines_bytes(edit.after.clone());
        let is_done = |(atom, span): &&Span| {
            let atom = &self.weave.atoms()[*atom];
            span == lines
                && self.weave.side(atom, !atom.is_applied) == is
                && self.weave.side(atom, atom.is_applied) == was
        };
        let first = spans.partition_point(|(_, span)| span.start < lines.start);
        let here = spans[first..].iter();
        let mut here = here.take_while(|(_, span)| span.start == lines.start);
        here.find(is_done).map(|(atom, _)| *atom)
    }
}

/// Returns the edits from `old` to `new`, or one edit for everything if there are more than
/// [`MAX_PLACES`].
fn edits_to_learn(old: &Text, new: &Text, budget: Budget) -> Vec<Edit> {
    let edits = diff::edits_within(old, new, budget).edits;
    match &edits[..] {
        [first, .., last] if edits.len() > MAX_PLACES => vec![Edit {
            before: first.before.start..last.before.end,
            after: first.after.start..last.after.end,
        }],
        _ => edits,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::dice::Dice;
    use crate::proposal::Proposal;

    /// Returns `lines` after some random edits, perhaps without the last newline.
    fn edited(dice: &mut Dice, lines: &[Vec<u8>], n_edits: usize) -> Vec<u8> {
        let words: [&[u8]; 5] = [b"{\n", b"}\n", b"\n", b"x\n", b"y\n"];
        let mut lines = lines.to_vec();
        for _ in 0..n_edits {
            let at = dice.roll(lines.len() + 1);
            let end = (at + dice.roll(3)).min(lines.len());
            let with = (0..dice.roll(3)).map(|_| words[dice.roll(5)].to_vec());
            lines.splice(at..end, with);
        }
        let mut text = lines.concat();
        if dice.roll(6) == 0 {
            text.pop();
        }
        text
    }

    pub fn lines_of(text: &[u8]) -> Vec<Vec<u8>> {
        let lines = text.split_inclusive(|&byte| byte == b'\n');
        lines.map(<[u8]>::to_vec).collect()
    }

    /// Returns a proposal, partly applied to a target that others edited, and the target after more
    /// edits, which were missed.
    pub fn missed(dice: &mut Dice) -> Option<(Proposal, Vec<u8>, Changed)> {
        // Similar blocks, with a unique line here and there.
        let line = |at: usize| match dice.roll(4) {
            0 => format!("line {at}\n").into_bytes(),
            _ => [&b"{\n"[..], b"x\n", b"y\n", b"}\n", b"\n"][at % 5].to_vec(),
        };
        let lines: Vec<Vec<u8>> = (0..40).map(line).collect();
        let modified = edited(dice, &lines, 5);
        let mut proposal = Proposal::from_texts(lines.concat(), modified, 1).ok()?;
        proposal.follow(&lines.concat());
        for hunk in 0..proposal.n_hunks() {
            if dice.roll(2) == 0 && proposal.edits_for(&[(hunk, true)]).is_ok() {
                proposal.flip(&[(hunk, true)], &[]);
            }
        }
        if dice.roll(2) == 0 {
            let at = dice.roll(proposal.weave.target().n_lines());
            let text = [&b"typed\n"[..], &lines[dice.roll(40)]].concat();
            proposal.edit_outside(at, 0, &text, false);
        }
        let n_edits = 1 + dice.roll(2);
        let live = edited(dice, &lines_of(&proposal.target()), n_edits);
        let changed = proposal.weave.target().changed_in(&live)?;
        Some((proposal, live, changed))
    }

    fn in_doubt(proposal: &Proposal) -> Vec<bool> {
        let atoms = 0..proposal.weave.atoms().len();
        let is_doubted = |atom| proposal.doubts.is_any(atom..atom + 1);
        atoms.map(is_doubted).collect()
    }

    #[test]
    fn what_is_around_the_change_proves_as_much_as_the_whole_text() {
        let mut dice = Dice::new(1);
        let (mut n_doubted, mut n_certain) = (0, 0);
        for case in 0..20_000 {
            let Some((mut proposal, live, changed)) = missed(&mut dice) else {
                continue;
            };
            let mut narrow = proposal.clone();
            narrow
                .learning()
                .learn_around(&changed, dice.roll(3), Budget::default());
            proposal
                .learning()
                .learn_around(&changed, usize::MAX, Budget::default());
            assert_eq!(narrow.target(), live);
            assert_eq!(proposal.target(), live);
            assert_eq!(in_doubt(&narrow), in_doubt(&proposal), "case {case}");
            for hunk in 0..proposal.n_hunks() {
                // Of several equal diffs, the comparison may choose another one and doubt it.
                let place = |proposal: &Proposal| proposal.place(hunk).ok();
                assert_eq!(place(&narrow), place(&proposal), "case {case}");
                let is_certain = proposal.obstacle(hunk).is_none();
                assert_eq!(narrow.obstacle(hunk).is_none(), is_certain, "case {case}");
                n_certain += usize::from(is_certain);
                n_doubted += usize::from(!is_certain);
            }
        }
        assert!(
            n_doubted > 10_000 && n_certain > 10_000,
            "{n_doubted}, {n_certain}"
        );
    }

    /// Returns sixty unique lines.
    fn sixty_lines() -> Vec<Vec<u8>> {
        (0..60)
            .map(|at| format!("line {at}\n").into_bytes())
            .collect()
    }

    #[test]
    fn what_others_put_in_and_what_they_changed_are_told_apart() {
        let lines = sixty_lines();
        let mut modified = lines.clone();
        modified[40] = b"changed\n".to_vec();
        modified.insert(10, b"one\ntwo\n".to_vec());
        let proposal = Proposal::from_texts(lines.concat(), modified.concat(), 1);
        let mut proposal = proposal.expect("two hunks");
        let mut live = lines.clone();
        live.remove(50);
        live[25] = b"theirs\n".to_vec();
        live.insert(10, b"one\ntwo\n".to_vec());
        live[2] = b"theirs, too\n".to_vec();
        assert!(proposal.follow(&live.concat()));
        assert_eq!(proposal.target(), live.concat());
        assert!(proposal.is_in(0) && proposal.is_out(1));
        assert_eq!(proposal.place(1).map(|place| place.line), Ok(42));
        assert!((0..2).all(|hunk| proposal.obstacle(hunk).is_none()));
    }

    /// A walk over the segments for each of them would take minutes.
    #[test]
    fn many_edits_that_were_missed_are_learned_at_once() {
        let text = |theirs: usize, ours: usize| -> Vec<u8> {
            let line = |at: usize| match (at % theirs, at % ours) {
                (0, _) => format!("theirs {at}\n"),
                (_, 0) => format!("ours {at}\n"),
                _ => format!("line {at}\n"),
            };
            (1..200_000).flat_map(|at| line(at).into_bytes()).collect()
        };
        let never = usize::MAX;
        let proposal = Proposal::from_texts(text(never, never), text(never, 7), 1);
        let mut proposal = proposal.expect("many hunks");
        let live = text(5, never);
        assert!(proposal.follow(&live));
        assert_eq!(proposal.target(), live);
    }
}

// Lines of the target that are unique both before and after an edit that was missed.

/// Returns the test whether line `at` of the target (0-based), according to `weave`, is unique both in
/// it and in a text that has this line, too, and differs from the target by `changed`, which is inside
/// the part `compared`.
fn anchors<'a>(
    weave: &'a Weave,
    compared: &Compared<'a>,
    changed: &'a Changed,
) -> impl FnMut(usize) -> bool + use<'a> {
    let lines = weave.target().lines_one_by_one();
    let mut live = LineCounts::new(weave.target().pieces_with(&changed.lines, &changed.text));
    let [mut old, mut new] =
        [compared.old, compared.new].map(|text| LineCounts::new(vec![text.bytes()]));
    // Around the compared parts, both texts are equal.
    move |at| live.count(lines[at]) == 1 && old.count(lines[at]) == new.count(lines[at])
}

// Which atoms may be somewhere else than in the weave's place.
//
// A missed edit is found by comparing texts, which does not always prove where a line went. Atoms
// are known by number here, and each doubt with the time when it arose, so that it ends when the
// edit is undone.

/// The doubts about atoms.
#[derive(Debug, Clone)]
pub(super) struct Doubts {
    is_doubted: Vec<bool>,
    /// The atoms that each edit made doubtful, with the number of changes of the target before that
    /// edit.
    by_edit: Vec<(usize, Vec<usize>)>,
}

impl Doubts {
    /// Makes the doubts for `n_atoms` atoms, none of which is in doubt.
    pub fn none(n_atoms: usize) -> Doubts {
        Doubts {
            is_doubted: vec![false; n_atoms],
            by_edit: Vec::new(),
        }
    }

    /// Returns whether any of `atoms` is in doubt.
    pub fn is_any(&self, atoms: Range<usize>) -> bool {
        self.is_doubted[atoms].contains(&true)
    }

    /// Records that the places of `atoms` are right.
    pub fn vouch_for(&mut self, atoms: Range<usize>) {
        self.is_doubted[atoms].fill(false);
    }

    /// Puts `atoms` in doubt, and returns those that were not in doubt before.
    pub fn add(&mut self, atoms: impl Iterator<Item = usize>) -> Vec<usize> {
        let mut added: Vec<usize> = atoms.collect();
        added.retain(|&atom| !mem::replace(&mut self.is_doubted[atom], true));
        // Most of them may have been in doubt already.
        added.shrink_to_fit();
        added
    }

    /// Records that an edit put `added` in doubt. Before it there were `n_done` changes of the
    /// target, of which the first `n_forgotten` can no longer be undone.
    pub fn note_edit(&mut self, added: Vec<usize>, n_done: usize, n_forgotten: usize) {
        self.by_edit.retain(|(then, _)| *then >= n_forgotten);
        self.by_edit.push((n_done, added));
    }

    /// Forgets the doubts from edits that were undone: those after the first `n_done` changes.
    /// Returns whether there were any.
    pub fn undo(&mut self, n_done: usize) -> bool {
        let mut is_any = false;
        while let Some((_, atoms)) = self.by_edit.pop_if(|(then, _)| *then >= n_done) {
            for atom in atoms {
                self.is_doubted[atom] = false;
                is_any = true;
            }
        }
        is_any
    }

    /// Records that `atom` was cut in two.
    pub fn cut_atom(&mut self, atom: usize) {
        self.is_doubted.insert(atom, self.is_doubted[atom]);
        self.by_edit.clear();
    }

    /// Records that `n` atoms replaced `atoms`; these are in doubt if `is_doubted`.
    pub fn replace(&mut self, atoms: Range<usize>, n: usize, is_doubted: bool) {
        self.is_doubted.splice(atoms, vec![is_doubted; n]);
        self.by_edit.clear();
    }
}

#[cfg(test)]
mod anchors_tests {
    use super::*;
    use crate::dice::Dice;
    use crate::proposal::learning::tests::{lines_of, missed};
    use crate::text::Text;

    #[test]
    fn anchors_are_once_in_the_target_and_once_in_what_it_became() {
        let mut dice = Dice::new(7);
        let (mut n_anchors, mut n_others) = (0, 0);
        for _ in 0..5_000 {
            let Some((proposal, live, changed)) = missed(&mut dice) else {
                continue;
            };
            let window = proposal.weave.target().widened(&changed, dice.roll(3));
            let target = proposal.target();
            let (old, new) = (lines_of(&target), lines_of(&live));
            let part = |text: &[u8]| Text::new(text.to_vec());
            let compared = Compared {
                old: &part(&old[window.lines.clone()].concat()),
                new: &part(&window.text),
                edits: &[],
                n_around: (window.lines.start, old.len() - window.lines.end),
            };
            let mut is_unique = anchors(&proposal.weave, &compared, &changed);
            for (at, line) in old.iter().enumerate() {
                let n_there = |text: &[Vec<u8>]| text.iter().filter(|&other| other == line).count();
                let is_anchor = n_there(&old) == 1 && n_there(&new) == 1;
                assert_eq!(is_unique(at), is_anchor, "line {at}");
                n_anchors += usize::from(is_anchor);
                n_others += usize::from(!is_anchor);
            }
        }
        assert!(
            n_anchors > 10_000 && n_others > 10_000,
            "{n_anchors}, {n_others}"
        );
    }
}
