//! Following a target that somebody else changed: what they did enters the line map.

use std::ops::Range;

use crate::diff::{self, Edit};
use crate::text::Text;
use crate::trust::{History, Trust};

use super::Proposal;

/// How many lines on one side of an edit are taken at its word. Wider ones come from commands that
/// rewrite a whole region, and what is inside is compared.
const MAX_PLAIN_LEN: usize = 1;

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
            return self.begin_anew_if_reverted(is_undo);
        }
        if is_undo && self.weave.undo_outside(line, n_removed, text.bytes()) {
            return self.forget_doubts();
        }
        let n_lines = self.weave.n_lines();
        let head = self.weave.target_lines(0..line);
        let tail = self.weave.target_lines(line + n_removed..n_lines);
        let live = [&head, text.bytes(), &tail].concat();
        if self.bare.is_some() {
            self.search(&live);
        } else if let Some(facts) = self.facts_in(&[&live]) {
            self.unravel(&facts);
        } else {
            self.fold(line..line + n_removed, &text, History::Inside);
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

    /// Compares the `lines` of the target with `new`, which is now in their place, and takes the
    /// difference over. Hunks whose place that does not prove are ambiguous from then on.
    pub(super) fn fold(&mut self, lines: Range<usize>, new: &Text, history: History) {
        let old = Text::new(self.weave.target_lines(lines.clone()));
        let edits = diff::edits(&old, new);
        let trust = Trust::new(&old, new, &edits, history);
        let spans = self.spans_in(&lines);
        let before = self.weave.now();
        let mut is_doubted: Vec<usize> = Vec::new();
        let mut done: Vec<usize> = Vec::new();
        for edit in edits.iter().rev() {
            match self.atom_done_by(edit, &spans, &old, new) {
                Some(atom) => {
                    self.weave.learn_flip(atom);
                    done.push(atom);
                    if !trust.is_certain_around(edit.before.clone()) {
                        is_doubted.push(atom);
                    }
                }
                None => {
                    let text = new.lines_bytes(edit.after.clone());
                    let line = lines.start + edit.before.start;
                    self.weave
                        .edit_outside(line, edit.before.len(), text, false);
                }
            }
        }
        if done.is_empty() {
            let doubts = self.is_doubted.clone();
            self.past_doubts.push((before.n_past(), doubts));
            let (old, new) = (old.bytes(), new.bytes());
            self.weave.count_as_one(before, lines.start, old, new);
        }
        let is_in_doubt = |(atom, span): &(usize, Range<usize>)| {
            !done.contains(atom) && !trust.is_certain(span.clone())
        };
        let doubted = spans.iter().filter(|span| is_in_doubt(span));
        is_doubted.extend(doubted.map(|span| span.0));
        for atom in is_doubted {
            self.is_doubted[atom] = true;
        }
    }

    /// Returns the atoms that stand whole inside `lines` of the target, each with its own lines,
    /// counted from the first of these.
    fn spans_in(&self, lines: &Range<usize>) -> Vec<(usize, Range<usize>)> {
        let span = |atom: usize| {
            self.weave.check(atom).ok()?;
            let start = self.weave.line_of(atom)?.checked_sub(lines.start)?;
            let end = start + self.weave.atoms()[atom].alive_side().len();
            (end <= lines.len()).then_some((atom, start..end))
        };
        (0..self.weave.atoms().len()).filter_map(span).collect()
    }

    /// Returns the atom that `edit` puts in or takes out, if that is all it does.
    fn atom_done_by(
        &self,
        edit: &Edit,
        spans: &[(usize, Range<usize>)],
        old: &Text,
        new: &Text,
    ) -> Option<usize> {
        let text = new.lines_bytes(edit.after.clone());
        let is_done = |(atom, span): &&(usize, Range<usize>)| {
            let atom = &self.weave.atoms()[*atom];
            *span == edit.before
                && self.weave.side(atom, !atom.is_applied) == text
                && self.weave.side(atom, atom.is_applied) == old.lines_bytes(span.clone())
        };
        let first = spans.partition_point(|(_, span)| span.start < edit.before.start);
        let here = spans[first..].iter();
        let mut here = here.take_while(|(_, span)| span.start == edit.before.start);
        here.find(is_done).map(|(atom, _)| *atom)
    }

    /// Forgets the doubts that came with edits that are undone.
    fn forget_doubts(&mut self) {
        let n_past = self.weave.now().n_past();
        while let Some((_, doubts)) = self.past_doubts.pop_if(|(then, _)| *then >= n_past) {
            self.is_doubted = doubts;
        }
    }
}
