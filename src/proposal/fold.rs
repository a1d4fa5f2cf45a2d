//! Following a target that somebody else changed: what they did enters the line map.

use std::ops::Range;

use crate::diff::{self, Edit};
use crate::text::Text;
use crate::trust::{Compared, Trust};
use crate::weave::Changed;

use super::Proposal;
use super::anchors::Anchors;

/// How many lines on one side of an edit are taken at its word. Wider ones come from commands that
/// rewrite a whole region, and what is inside is compared.
const MAX_PLAIN_LEN: usize = 1;

/// How many lines around what changed are compared with it, at first: the comparison chooses among
/// equal ways by what is around, and in repetitive text a run of lines can slide.
const N_AROUND: usize = 64;

/// An edit of the target as an editor tells it: which whole lines hold the new text.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// Number of characters, as Emacs counts them, before the first of these lines.
    pub n_before: usize,
    /// Number of characters behind the last of them.
    pub n_behind: usize,
    /// Number of characters that the target had before the edit.
    pub n_chars: usize,
    /// The lines, as they are now.
    pub text: &'a [u8],
    /// Whether the edit began at the start of the first line.
    pub is_at_start: bool,
    /// Whether the edit undid another.
    pub is_undo: bool,
}

impl Proposal {
    /// Learns of an edit of the target by somebody else, and tells whether there can have been one.
    ///
    /// If not, an edit before it was missed, or the editor counts raw bytes one by one that make up
    /// a character: follow the target then. A line at the edge of the edit of which nothing changed
    /// keeps its identity: the one after an edit that began at the start of a line, or the one
    /// before an edit that began at its end.
    pub fn see_edit(&mut self, seen: &Seen) -> bool {
        let Some(Range { start, end }) = self.lines_of(seen) else {
            return false;
        };
        let old = Text::new(self.weave.target_lines(start..end));
        let new = Text::new(seen.text.to_vec());
        let (mut head, mut tail) = (0, 0);
        match (old.len().checked_sub(1), new.len().checked_sub(1)) {
            (Some(a), Some(b)) if seen.is_at_start => {
                tail = usize::from(old.line(a) == new.line(b));
            }
            (Some(_), Some(_)) => head = usize::from(old.line(0) == new.line(0)),
            _ => {}
        }
        let text = new.lines_bytes(head..new.len() - tail);
        let n_removed = old.len() - head - tail;
        self.edit_outside(start + head, n_removed, text, seen.is_undo);
        true
    }

    /// Returns the lines of the target that the edit `seen` has replaced, if there are such lines.
    fn lines_of(&self, seen: &Seen) -> Option<Range<usize>> {
        let end = seen.n_chars.checked_sub(seen.n_behind)?;
        let is_possible = self.n_chars() == seen.n_chars && seen.n_before <= end;
        let lines =
            is_possible.then(|| Some(self.weave.line_at(seen.n_before)?..self.weave.line_at(end)?));
        lines.flatten()
    }

    /// Learns that somebody else replaced `n_removed` lines of the target from line `line` on by
    /// `text`, and whether that was the undoing of something.
    ///
    /// Panics if the target has no such lines. `text` consists of whole lines; only at the end of
    /// the target can its last one lack the newline.
    pub fn edit_outside(&mut self, line: usize, n_removed: usize, text: &[u8], is_undo: bool) {
        let text = Text::new(text.to_vec());
        if n_removed.min(text.len()) <= MAX_PLAIN_LEN {
            (self.weave).edit_outside(line, n_removed, text.bytes(), is_undo);
            if is_undo {
                self.forget_doubts();
            }
            return self.begin_anew_if_reverted(is_undo);
        }
        if is_undo && self.weave.undo_outside(line, n_removed, text.bytes()) {
            return self.forget_doubts();
        }
        let lines = line..line + n_removed;
        if self.bare.is_some() {
            let live = self.weave.pieces_with(&lines, text.bytes()).concat();
            self.search(&live);
        } else if let Some(facts) = self.facts_in(&self.weave.pieces_with(&lines, text.bytes())) {
            self.unravel(&facts);
        } else {
            self.fold_command(lines, &text);
        }
    }

    /// Lays the map anew if the target reads as the original: whatever was done to it was taken
    /// back, by a revert that came in pieces or by hand.
    ///
    /// Not while something is undone, since that comes in pieces that can read like anything.
    fn begin_anew_if_reverted(&mut self, is_undo: bool) {
        let is_whole = self.bare.is_none();
        if is_whole && !is_undo && self.weave.is_target(self.weave.original().bytes()) {
            self.unravel(&vec![false; self.n_hunks()]);
        }
    }

    /// Takes the target for a choice of hunks if it reads as one, although others had a hand in it,
    /// and tells whether that is news.
    ///
    /// So a hunk that another program applied is known to be in. Which lines are which no longer
    /// matters then: any reading that gives this text gives the same text for every choice.
    pub fn recognize(&mut self) -> bool {
        if self.bare.is_some() || !self.weave.is_touched() {
            return false;
        }
        let facts = self.facts_in(&self.weave.target_pieces());
        facts.map(|facts| self.unravel(&facts)).is_some()
    }

    /// Takes it over that one command put `new` in the place of the `lines` of the target. Hunks whose
    /// place a comparison does not prove are ambiguous from then on.
    fn fold_command(&mut self, lines: Range<usize>, new: &Text) {
        let old = Text::new(self.weave.target_lines(lines.clone()));
        let edits = diff::edits(&old, new);
        let compared = Compared {
            old: &old,
            new,
            edits: &edits,
            n_around: (lines.start, self.weave.n_lines() - lines.end),
        };
        let trust = Trust::of_command(&compared);
        let spans = self.spans_in(&lines);
        self.fold(
            &compared,
            &trust,
            &spans,
            (lines.start, old.bytes(), new.bytes()),
        );
    }

    /// Takes it over that the target differs as `changed` says, nobody knows by how many edits. Hunks
    /// whose place a comparison does not prove are ambiguous from then on.
    pub(super) fn fold_missed(&mut self, changed: &Changed) {
        self.fold_around(changed, N_AROUND);
    }

    /// The same, but `n_around` lines around what changed are compared with it, or more if need be.
    fn fold_around(&mut self, changed: &Changed, n_around: usize) {
        let window = self.weave.widened(changed, n_around);
        let old = Text::new(self.weave.target_lines(window.lines.clone()));
        let new = Text::new(window.text);
        let edits = diff::edits(&old, &new);
        let n_lines = self.weave.n_lines();
        let compared = Compared {
            old: &old,
            new: &new,
            edits: &edits,
            n_around: (window.lines.start, n_lines - window.lines.end),
        };
        if compared.is_too_narrow() {
            return self.fold_around(changed, 8 * (n_around + 1));
        }
        let mut anchors = Anchors::new(&self.weave, &compared, changed);
        let trust = Trust::new(&compared, |at| anchors.is_anchor(at));
        let spans = self.spans_in(&(0..n_lines));
        let was = self.weave.target_lines(changed.lines.clone());
        let replaced = (changed.lines.start, &was[..], &changed.text[..]);
        self.fold(&compared, &trust, &spans, replaced);
    }

    /// Takes over what `compared` says, as far as `trust` goes for the atoms of `spans`; all of it is
    /// that at a line one text was replaced by another.
    fn fold(
        &mut self,
        compared: &Compared,
        trust: &Trust,
        spans: &[(usize, Range<usize>)],
        (line, was, is): (usize, &[u8], &[u8]),
    ) {
        let n_done = self.weave.n_done();
        let before = self.weave.now();
        let mut is_doubted: Vec<usize> = Vec::new();
        let mut done: Vec<usize> = Vec::new();
        for edit in compared.edits.iter().rev() {
            let first = compared.n_around.0;
            let lines = first + edit.before.start..first + edit.before.end;
            match self.atom_done_by(edit, &lines, spans, compared) {
                Some(atom) => {
                    self.weave.learn_flip(atom);
                    done.push(atom);
                    if !trust.is_certain_around(lines) {
                        is_doubted.push(atom);
                    }
                }
                None => {
                    let text = compared.new.lines_bytes(edit.after.clone());
                    (self.weave).edit_outside(lines.start, lines.len(), text, false);
                }
            }
        }
        let is_in_doubt = |(atom, span): &&(usize, Range<usize>)| {
            !done.contains(atom) && !trust.is_certain(span.clone())
        };
        is_doubted.extend(spans.iter().filter(is_in_doubt).map(|(atom, _)| *atom));
        is_doubted.retain(|&atom| !std::mem::replace(&mut self.is_doubted[atom], true));
        // Most were in doubt already, perhaps.
        is_doubted.shrink_to_fit();
        if done.is_empty() {
            let n_forgotten = self.weave.n_forgotten();
            (self.past_doubts).retain(|(then, _)| *then >= n_forgotten);
            self.past_doubts.push((n_done, is_doubted));
            self.weave.count_as_one(before, line, was, is);
        }
    }

    /// Returns the atoms that stand whole inside `lines` of the target, each with its own lines.
    fn spans_in(&self, lines: &Range<usize>) -> Vec<(usize, Range<usize>)> {
        let span = |atom: usize| {
            self.weave.check(atom).ok()?;
            let start = self.weave.line_of(atom)?;
            let end = start + self.weave.atoms()[atom].alive_side().len();
            (lines.start <= start && end <= lines.end).then_some((atom, start..end))
        };
        (0..self.weave.atoms().len()).filter_map(span).collect()
    }

    /// Returns the atom that `edit`, of these `lines` of the target, puts in or takes out, if that is
    /// all it does.
    fn atom_done_by(
        &self,
        edit: &Edit,
        lines: &Range<usize>,
        spans: &[(usize, Range<usize>)],
        compared: &Compared,
    ) -> Option<usize> {
        let was = compared.old.lines_bytes(edit.before.clone());
        let is = compared.new.lines_bytes(edit.after.clone());
        let is_done = |(atom, span): &&(usize, Range<usize>)| {
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

    /// Forgets the doubts that came with edits that are undone.
    fn forget_doubts(&mut self) {
        let n_done = self.weave.n_done();
        while let Some((_, atoms)) = self.past_doubts.pop_if(|(then, _)| *then >= n_done) {
            for atom in atoms {
                self.is_doubted[atom] = false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;

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

    fn lines_of(text: &[u8]) -> Vec<Vec<u8>> {
        let lines = text.split_inclusive(|&byte| byte == b'\n');
        lines.map(<[u8]>::to_vec).collect()
    }

    /// Returns a proposal, some of it in a target that others edited, too, and what that became when
    /// nobody looked.
    fn missed(dice: &mut Dice) -> Option<(Proposal, Vec<u8>, Changed)> {
        // Blocks that are alike, with a unique line here and there.
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
                proposal.bring_to(&[(hunk, true)]);
            }
        }
        if dice.roll(2) == 0 {
            let at = dice.roll(proposal.weave.n_lines());
            let text = [&b"typed\n"[..], &lines[dice.roll(40)]].concat();
            proposal.edit_outside(at, 0, &text, false);
        }
        let n_edits = 1 + dice.roll(2);
        let live = edited(dice, &lines_of(&proposal.target()), n_edits);
        let changed = proposal.weave.changed_in(&live)?;
        Some((proposal, live, changed))
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
            narrow.fold_around(&changed, dice.roll(3));
            proposal.fold_around(&changed, usize::MAX);
            assert_eq!(narrow.target(), live);
            assert_eq!(proposal.target(), live);
            assert_eq!(narrow.is_doubted, proposal.is_doubted, "case {case}");
            for hunk in 0..proposal.n_hunks() {
                // Of equal ways the comparison may choose another one, and doubt it.
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

    #[test]
    fn anchors_are_once_in_the_target_and_once_in_what_it_became() {
        let mut dice = Dice::new(7);
        let (mut n_anchors, mut n_others) = (0, 0);
        for _ in 0..5_000 {
            let Some((proposal, live, changed)) = missed(&mut dice) else {
                continue;
            };
            let window = proposal.weave.widened(&changed, dice.roll(3));
            let target = proposal.target();
            let (old, new) = (lines_of(&target), lines_of(&live));
            let part = |text: &[u8]| Text::new(text.to_vec());
            let compared = Compared {
                old: &part(&old[window.lines.clone()].concat()),
                new: &part(&window.text),
                edits: &[],
                n_around: (window.lines.start, old.len() - window.lines.end),
            };
            let mut anchors = Anchors::new(&proposal.weave, &compared, &changed);
            for (at, line) in old.iter().enumerate() {
                let n_there = |text: &[Vec<u8>]| text.iter().filter(|&other| other == line).count();
                let is_anchor = n_there(&old) == 1 && n_there(&new) == 1;
                assert_eq!(anchors.is_anchor(at), is_anchor, "line {at}");
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
