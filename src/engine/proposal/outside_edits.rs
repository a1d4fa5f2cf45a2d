//! Edits of the target by others, as an editor reports them: each enters the weave as it was made.
//!
//! Decides which edits are taken literally and which must be compared; [`super::learning`]
//! compares.

use std::ops::Range;

use crate::text::{Text, is_unterminated, n_newlines};
use crate::weave::Weave;

use super::hunks::{HunkLines, Hunks};
use super::{Around, Proposal};

/// How many lines an edit may remove, and how many it may insert, to be taken literally. Larger
/// edits come from commands that rewrite a whole region, and are compared.
const MAX_PLAIN_LEN: usize = 1;

/// An edit of the target as an editor reports it: some characters were replaced by others. All
/// numbers are of characters as Emacs counts them.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// Number of characters before those that were replaced.
    pub n_before: usize,
    /// Number of characters after them.
    pub n_behind: usize,
    /// Number of characters that the target had before the edit.
    pub n_chars: usize,
    /// The characters that replaced them.
    pub text: &'a [u8],
    /// Whether an undo or redo made the edit.
    pub is_undo: bool,
}

impl Proposal {
    /// Records an edit of the target by somebody else, and returns whether such an edit is
    /// possible; see `Review::see_edit_loosely`.
    pub(crate) fn see_edit_loosely(&mut self, seen: &Seen) -> bool {
        let Some(Around {
            line,
            bytes,
            inside,
        }) = self.lines_around(seen)
        else {
            return false;
        };
        let text = [&bytes[..inside.start], seen.text, &bytes[inside.end..]].concat();
        // Most edits are inside one line, for which it would take long to make texts.
        let lines = |text| <[u8]>::split_inclusive(text, |&byte| byte == b'\n');
        let is_at_start = inside.start == 0;
        let (was, is) = if is_at_start {
            (lines(&bytes).next_back(), lines(&text).next_back())
        } else {
            (lines(&bytes).next(), lines(&text).next())
        };
        let kept = was.filter(|_| was == is);
        let (n_kept, len) = (usize::from(kept.is_some()), kept.map_or(0, <[u8]>::len));
        let n_removed = n_lines(&bytes) - n_kept;
        let (first, text) = if is_at_start {
            (line, &text[..text.len() - len])
        } else {
            (line + n_kept, &text[len..])
        };
        self.edit_loosely(first..first + n_removed, text, seen.is_undo);
        true
    }

    /// Returns the lines of the target around the characters that the edit `seen` replaced; `None`
    /// if there are no such characters.
    fn lines_around(&mut self, seen: &Seen) -> Option<Around> {
        let end = seen.n_chars.checked_sub(seen.n_behind)?;
        self.weave.lines_around(seen.n_before..end, seen.n_chars)
    }

    /// Ends a run of edits that were reported to [`Proposal::see_edit_loosely`].
    pub(crate) fn settle(&mut self) {
        self.weave.settle();
    }

    /// Records that somebody else replaced `n_removed` lines of the target, from line `line`
    /// (0-based) on, by `text`; `is_undo` says whether an editor's undo or redo did that.
    ///
    /// Panics if the target has no such lines. `text` consists of whole lines; only at the end of
    /// the target may the last one lack its newline.
    pub fn edit_outside(&mut self, line: usize, n_removed: usize, text: &[u8], is_undo: bool) {
        self.edit_loosely(line..line + n_removed, text, is_undo);
        self.settle();
    }

    fn edit_loosely(&mut self, lines: Range<usize>, text: &[u8], is_undo: bool) {
        let n_now = n_lines(text);
        if lines.len().min(n_now) <= MAX_PLAIN_LEN {
            (self.weave).edit_loosely(lines.start, lines.len(), text, is_undo);
            self.move_candidates(&lines, n_now);
            if is_undo {
                self.undo_doubts();
            }
            return self.restart_if_reverted(is_undo);
        }
        self.settle();
        if is_undo && (self.weave).undo_outside(lines.start, lines.len(), text) {
            self.move_candidates(&lines, n_now);
            return self.undo_doubts();
        }
        if self.bare.is_some() {
            self.move_expected(&lines, n_now);
            let live = self.weave.target().pieces_with(&lines, text).concat();
            self.search_but(&live, self.places_around(&lines, n_now));
        } else if let Some(facts) = self.facts_with(&lines, text) {
            self.become_choice(&facts);
        } else {
            let text = Text::new(text.to_vec());
            self.learning().learn_command(lines, &text);
        }
    }

    /// Forgets the doubts from edits that were undone. Redoing such an edit would have to bring them
    /// back, so it counts as a new one.
    fn undo_doubts(&mut self) {
        if self.doubts.undo(self.weave.n_done()) {
            self.weave.forget_undone();
        }
    }

    /// Lays out the weave anew if the target equals the original: everything done to it was undone,
    /// by a revert in several edits or by hand.
    ///
    /// Does nothing during an undo, which comes in several edits, between which the text can be
    /// anything.
    fn restart_if_reverted(&mut self, is_undo: bool) {
        let is_whole = self.bare.is_none();
        if is_whole && !is_undo && self.weave.reads_as_original() {
            self.become_choice(&vec![false; self.n_hunks()]);
        }
    }

    /// Recognizes a target that equals the original with some of the hunks applied; see
    /// `Review::recognize`.
    pub(crate) fn recognize(&mut self) -> bool {
        if self.bare.is_some() || !self.weave.is_touched() {
            return false;
        }
        let pieces = self.weave.target().pieces();
        let facts = facts_in(&self.weave, &self.hunks, &pieces);
        facts.map(|facts| self.become_choice(&facts)).is_some()
    }

    /// Returns for each hunk whether it is applied in the target with `lines` replaced by `text`;
    /// `None` if that is not the original with some of the hunks.
    fn facts_with(&self, lines: &Range<usize>, text: &[u8]) -> Option<Vec<bool>> {
        let pieces = self.weave.target().pieces_with(lines, text);
        facts_in(&self.weave, &self.hunks, &pieces)
    }

    /// Moves the candidate places of hunks without a certain place, now that `n_now` lines have
    /// replaced `lines` of the target.
    ///
    /// Emacs reports each edit of a command separately, so this must not go through all hunks of a
    /// proposal of two texts, which have no candidate places.
    fn move_candidates(&mut self, lines: &Range<usize>, n_now: usize) {
        self.move_expected(lines, n_now);
        if let Some(bare) = &mut self.bare {
            bare.move_candidates(lines.start, lines.len(), n_now);
        }
    }

    /// Moves the lines at which the hunks of a bare diff should begin in the same way.
    pub(super) fn move_expected(&mut self, lines: &Range<usize>, n_now: usize) {
        if lines.len() == n_now {
            return;
        }
        let Some(search) = self.searching() else {
            return;
        };
        let expected: Vec<usize> = (0..self.n_hunks())
            .map(|hunk| search.likely(hunk))
            .collect();
        if let Some(bare) = &mut self.bare {
            bare.move_expected(&expected, (lines.start, lines.len()), n_now);
        }
    }
}

/// Returns the number of lines of `text`.
pub(super) fn n_lines(text: &[u8]) -> usize {
    n_newlines(text) + usize::from(!text.is_empty() && is_unterminated(text))
}

// Recognizing a target that is the original with some of the proposal's hunks applied, and no
// other changes.
//
// Knows texts and hunks, but not where anything was before.

/// Returns for each hunk whether it is applied in the text of the pieces `live`; `None` if that is
/// not the original with some of the hunks.
///
/// In repetitive text, a hunk's lines may fit both with its change and without, and only what
/// follows shows which is right; so all ways of reading are kept as long as they fit. If several
/// fit to the end, they give the same bytes, and the one that agrees with what was known before is
/// taken.
pub(super) fn facts_in(weave: &Weave, hunks: &Hunks, live: &[&[u8]]) -> Option<Vec<bool>> {
    let original = weave.original();
    let mut layers = vec![vec![Way::new(live)]];
    let mut at = 0;
    for hunk in 0..hunks.len() {
        let lines = HunkLines::new(weave, hunks, hunk);
        let [first, last] = lines.outermost();
        let gap = original.lines_bytes(at..first.old.start);
        at = last.old.end;
        let next = ways_past(weave, lines, gap, &layers[hunk]);
        layers.push(next);
    }
    let tail = original.lines_bytes(at..original.len());
    let is_end = |way: &Way| way.rest.without(tail).is_some_and(|rest| rest.is_empty());
    let mut way = layers.pop()?.into_iter().find(is_end)?;
    let mut facts = Vec::with_capacity(hunks.len());
    while let Some(ways) = layers.pop() {
        facts.push(way.is_in);
        way = ways[way.from];
    }
    facts.reverse();
    Some(facts)
}

/// Returns the `ways` that continue past `gap` and past `hunk`, with its change or without.
fn ways_past<'a>(weave: &Weave, hunk: HunkLines, gap: &[u8], ways: &[Way<'a>]) -> Vec<Way<'a>> {
    let mut next: Vec<Way> = Vec::new();
    for (from, way) in ways.iter().enumerate() {
        let Some(rest) = way.rest.without(gap) else {
            continue;
        };
        for is_in in [hunk.is_in(), !hunk.is_in()] {
            let rest = strip_hunk(weave, hunk, is_in, rest);
            let is_new = |rest: &Rest| next.iter().all(|way| way.rest.n_read != rest.n_read);
            if let Some(rest) = rest.filter(is_new).filter(|_| next.len() < MAX_WAYS) {
                next.push(Way { rest, from, is_in });
            }
        }
    }
    next
}

/// Removes the lines of `hunk`, from its first change to its last, from the front of `rest`.
fn strip_hunk<'a>(weave: &Weave, hunk: HunkLines, is_in: bool, rest: Rest<'a>) -> Option<Rest<'a>> {
    let mut rest = rest;
    let mut at = hunk.outermost()[0].old.start;
    for atom in hunk.atoms() {
        rest = rest.without(weave.original().lines_bytes(at..atom.old.start))?;
        rest = rest.without(weave.side(atom, is_in))?;
        at = atom.old.end;
    }
    Some(rest)
}

/// How many ways of reading a target are kept at a time. In source code there is one, or two after
/// a hunk that repeats its surroundings; a text that needs more is compared instead.
const MAX_WAYS: usize = 64;

/// A way to read a target as the original with some hunks, up to the end of one of them.
#[derive(Clone, Copy)]
struct Way<'a> {
    /// What is not read yet.
    rest: Rest<'a>,
    /// Index of the way that it continues, among the ways that end with the hunk before.
    from: usize,
    /// Whether the hunk is in the target.
    is_in: bool,
}

impl<'a> Way<'a> {
    fn new(live: &'a [&'a [u8]]) -> Way<'a> {
        let rest = Rest {
            first: &[],
            more: live,
            n_read: 0,
        };
        let (from, is_in) = (0, false);
        Way { rest, from, is_in }
    }
}

/// The rest of a text in pieces, so that a target need not be copied into one just for this.
#[derive(Clone, Copy)]
struct Rest<'a> {
    /// What is left of the piece that is being read.
    first: &'a [u8],
    more: &'a [&'a [u8]],
    /// Number of bytes read so far.
    n_read: usize,
}

impl<'a> Rest<'a> {
    /// Returns what is left after `head`; `None` if the text does not continue with it.
    fn without(mut self, mut head: &[u8]) -> Option<Rest<'a>> {
        loop {
            let len = self.first.len().min(head.len());
            let (ours, theirs) = (&self.first[..len], &head[..len]);
            // The weave's lines of the original are the same memory, which need not be compared.
            if !std::ptr::eq(ours, theirs) && ours != theirs {
                return None;
            }
            (self.first, head) = (&self.first[len..], &head[len..]);
            self.n_read += len;
            if head.is_empty() {
                return Some(self);
            }
            (self.first, self.more) = self
                .more
                .split_first()
                .map(|(first, more)| (*first, more))?;
        }
    }

    fn is_empty(&self) -> bool {
        self.first.is_empty() && self.more.iter().all(|piece| piece.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;
    use crate::proposal::learning::tests::missed;

    /// An edit of characters, as an editor makes it: `new` replaces the bytes in `range`.
    #[derive(Clone)]
    struct Typed {
        range: Range<usize>,
        new: Vec<u8>,
    }

    /// Makes the edit in `text`, and returns the edit that undoes it.
    fn make(text: &mut Vec<u8>, edit: &Typed) -> Typed {
        let old = text.splice(edit.range.clone(), edit.new.iter().copied());
        let new = old.collect();
        let range = edit.range.start..edit.range.start + edit.new.len();
        Typed { range, new }
    }

    /// Returns how an editor reports `edit`, which is to change `text`.
    fn seen<'a>(text: &[u8], edit: &'a Typed, is_undo: bool) -> Seen<'a> {
        Seen {
            n_before: n_chars_of(&text[..edit.range.start]),
            n_behind: n_chars_of(&text[edit.range.end..]),
            n_chars: n_chars_of(text),
            text: &edit.new,
            is_undo,
        }
    }

    fn n_chars_of(text: &[u8]) -> usize {
        String::from_utf8_lossy(text).chars().count()
    }

    /// Returns the offset of the first byte of the character that includes byte `at`.
    fn char_start(text: &[u8], at: usize) -> usize {
        let is_inside = |at: &usize| text.get(*at).is_some_and(|byte| byte & 0xc0 == 0x80);
        at - (0..=at).rev().take_while(is_inside).count()
    }

    fn typed(dice: &mut Dice, text: &[u8], near: usize) -> Typed {
        let at = match dice.roll(4) {
            0 => dice.roll(text.len() + 1),
            _ => (near + dice.roll(20)).saturating_sub(8).min(text.len()),
        };
        let at = char_start(text, at);
        let end = (at + [0, 0, 1, 7, 30][dice.roll(5)]).min(text.len());
        let words = ["", "x", "}\n", "{\nx\n", "line 7\n", "\n", "é", "日\nö\n"];
        Typed {
            range: at..char_start(text, end).max(at),
            new: words[dice.roll(8)].as_bytes().to_vec(),
        }
    }

    /// Returns everything that a proposal knows about its hunks, for comparison.
    fn known(proposal: &Proposal) -> String {
        let hunks = 0..proposal.n_hunks();
        let known = hunks.map(|hunk| {
            let facts = (proposal.is_in(hunk), proposal.is_out(hunk));
            let (place, obstacle) = (proposal.place(hunk), proposal.obstacle(hunk));
            let is_next_to_edit = proposal.is_next_to_edit(hunk);
            (facts, place, obstacle, is_next_to_edit)
        });
        let counts = (proposal.n_chars(), proposal.weave.n_done());
        format!("{:?} {counts:?}", known.collect::<Vec<_>>())
    }

    #[test]
    fn a_run_of_edits_comes_to_the_same_as_one_edit_after_the_other() {
        let mut dice = Dice::new(11);
        let (mut n_edits, mut n_undone, mut n_original) = (0, 0, 0);
        for case in 0..4_000 {
            let Some((mut one_by_one, ..)) = missed(&mut dice) else {
                continue;
            };
            let mut run = one_by_one.clone();
            let mut text = one_by_one.target();
            let (mut undo, mut near) = (Vec::new(), 0);
            for _ in 0..1 + dice.roll(40) {
                let is_undo = !undo.is_empty() && dice.roll(5) < 2;
                let edit = if is_undo {
                    undo.pop().expect("an edit")
                } else {
                    typed(&mut dice, &text, near)
                };
                near = edit.range.start;
                let seen = seen(&text, &edit, is_undo);
                let back = make(&mut text, &edit);
                if !is_undo {
                    undo.push(back);
                }
                assert!(one_by_one.see_edit_loosely(&seen), "case {case}");
                one_by_one.settle();
                assert!(run.see_edit_loosely(&seen), "case {case}");
                n_original += usize::from(text == one_by_one.weave.original().bytes());
                (n_edits, n_undone) = (n_edits + 1, n_undone + usize::from(is_undo));
                if dice.roll(8) == 0 {
                    run.settle();
                }
            }
            run.settle();
            assert_eq!(run.target(), text, "case {case}");
            assert_eq!(one_by_one.target(), text, "case {case}");
            assert_eq!(known(&run), known(&one_by_one), "case {case}");
        }
        assert!(
            n_edits > 50_000 && n_undone > 15_000 && n_original > 100,
            "{n_edits}, {n_undone}, {n_original}"
        );
    }
}
