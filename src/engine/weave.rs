//! A weave: all lines of the original, of the proposal and of the target, in one list.
//!
//! As in SCCS and Bazaar, the lines of all versions are woven into one sequence of segments, in
//! file order: the original's lines, the proposal's, and those that are in neither. An atom's old
//! lines come before its new ones. *The target is the alive segments in order*, so places are known
//! rather than searched for, and a change is applied or unapplied by flipping its atoms.
//!
//! The parts, and what each of them knows:
//!
//! - `Texts` knows the bytes and characters of lines, but not their order.
//! - `Segments` knows the order of lines, which it identifies by number, and which of them are
//!   alive. Only its own methods change it, and they keep its invariants.
//! - `Journal` knows what happened to the target, for undoing and redoing it.
//! - `Target` reads segments and texts as one text, and compares another text with it.
//! - `Weave` owns all of them and keeps them consistent.
//!
//! With s segments, a run of outside edits takes O(s) time plus that for the segments between each
//! two edits; flipping many atoms at once takes O(s). Flipping one atom, or looking up its place,
//! takes O(log s), plus time for the segments up to the nearest unchanged lines on either side. A
//! segment takes 24 bytes.

mod atom;
mod journal;
mod segment;
mod segments;
mod target;
mod texts;

use std::ops::Range;

use crate::diff::{Edit, Group};
use crate::text::{Syntax, Text};

pub(crate) use atom::{Atom, Owner, Placed, Stretch};
pub use atom::{FlipError, LineEdit};
use journal::Journal;
pub(crate) use journal::Now;
pub(crate) use segments::Around;
use segments::Segments;
pub use target::Changed;
pub(crate) use target::Target;
use texts::Texts;

/// The weave of one file under review. See the module's documentation.
#[derive(Debug, Clone)]
pub(crate) struct Weave {
    texts: Texts,
    segments: Segments,
    journal: Journal,
}

/// Construction, the parts, and laying it out anew.
impl Weave {
    /// Weaves `original` and `modified`, which differ by `edits`. No atom is applied, so the target
    /// is the original.
    pub(crate) fn new(original: Text, modified: Text, edits: &[Edit]) -> Weave {
        let atom = |edit: &Edit| Atom {
            old: edit.before.clone(),
            new: edit.after.clone(),
            is_applied: false,
            is_edited: false,
        };
        let atoms = edits.iter().map(atom).collect();
        Weave {
            segments: Segments::new(atoms, original.len()),
            texts: Texts::new(original, modified),
            journal: Journal::default(),
        }
    }

    /// The original, or its substitute: the lines of a bare diff.
    pub(crate) fn original(&self) -> &Text {
        self.texts.original()
    }

    /// The modified text, or its substitute.
    pub(crate) fn modified(&self) -> &Text {
        self.texts.modified()
    }

    /// Takes what of original and modified text are strings and comments; forgotten when these change.
    pub(crate) fn set_syntaxes(&mut self, syntaxes: Option<[Syntax; 2]>) {
        self.texts.set_syntaxes(syntaxes);
    }

    /// What of original and modified text are strings and comments, if that is known.
    pub(crate) fn syntaxes(&self) -> Option<&[Syntax; 2]> {
        self.texts.syntaxes()
    }

    /// The first lines of original and modified text that may be something else than they seem, which `find`
    /// finds once.
    pub(crate) fn first_doubtful(
        &self,
        find: impl FnOnce([&Text; 2], Option<&[Syntax; 2]>) -> [usize; 2],
    ) -> [usize; 2] {
        self.texts.first_doubtful(find)
    }

    /// The atoms, in the order of the original.
    pub(crate) fn atoms(&self) -> &[Atom] {
        self.segments.atoms()
    }

    /// The target, according to the weave.
    pub(crate) fn target(&self) -> Target<'_> {
        let (texts, segments) = (&self.texts, &self.segments);
        Target { texts, segments }
    }

    /// Returns the bytes of the lines that `atom` has in the target when applied, or when not, as
    /// `is_applied` says.
    pub(crate) fn side(&self, atom: &Atom, is_applied: bool) -> &[u8] {
        if is_applied {
            self.modified().lines_bytes(atom.new.clone())
        } else {
            self.original().lines_bytes(atom.old.clone())
        }
    }

    /// Removes the newline at the end of original and modified text, or restores it.
    ///
    /// For a diff whose own text broke off before that newline, so that only the target shows
    /// whether it is there. An empty last line is left alone.
    pub(crate) fn toggle_last_terminator(&mut self) {
        self.texts.toggle_last_terminator();
        self.segments.forget_bytes();
    }

    /// Replaces all segments by those of original and proposal, without any text of others.
    /// `is_applied` says of each atom whether it is applied.
    pub(crate) fn lay_whole(&mut self, is_applied: &[bool]) {
        self.texts.set_user(Text::new(Vec::new()));
        let n_lines = self.original().len();
        self.segments.lay_whole(n_lines, is_applied);
        self.journal.forget();
    }

    /// Replaces all segments: the target becomes `live`, the runs `placed` are at their lines of
    /// it, and everything around them is text of others. `is_applied` says of each atom whether it
    /// is applied. Atoms outside all runs lose their places.
    ///
    /// The runs must be in the order of their lines, inside `live`, and disjoint.
    pub(crate) fn lay_out(&mut self, live: Text, placed: &[Placed], is_applied: &[bool]) {
        self.segments.lay_out(live.len(), placed, is_applied);
        self.texts.set_user(live);
        self.journal.forget();
    }

    /// Inserts the segments of `run`, whose atoms have no place yet, where its lines are in the
    /// target; its atoms are applied if `is_applied`. [`Weave::owner_of`] must be `None` for these
    /// lines.
    pub(crate) fn lay_in(&mut self, run: &Placed, is_applied: bool) {
        self.segments.lay_in(run, is_applied);
        self.journal.forget();
    }

    /// Returns who owns one of the `lines` of the target; `None` if all are text of others and none
    /// was typed at a point where it may belong before or after an atom.
    pub(crate) fn owner_of(&self, lines: Range<usize>) -> Option<Owner> {
        self.segments.owner_of(lines)
    }
}

/// Places of atoms, and flipping them.
impl Weave {
    /// Returns the line of the target (0-based) at which atom `atom` is or would be; `None` if it
    /// has no place.
    pub(crate) fn line_of(&self, atom: usize) -> Option<usize> {
        self.segments.line_of(atom)
    }

    /// Returns how many lines the atoms before `atom` add to the target; negative if they remove
    /// more.
    pub(crate) fn delta_before(&self, atom: usize) -> isize {
        self.segments.delta_before(atom)
    }

    /// Returns whether a line next to atom `atom` was changed from outside.
    ///
    /// The atom's place is still certain, but the user may want to check it.
    pub(crate) fn is_next_to_edit(&self, atom: usize) -> bool {
        self.segments.is_next_to_edit(atom)
    }

    /// Returns whether outside edits inserted lines into the target or deleted some.
    pub(crate) fn is_touched(&self) -> bool {
        self.segments.is_touched()
    }

    /// Checks whether atom `atom` can be flipped.
    ///
    /// # Errors
    ///
    /// Any [`FlipError`] except [`FlipError::Glued`], which depends on what else is flipped.
    pub(crate) fn check(&self, atom: usize) -> Result<(), FlipError> {
        self.segments.check(atom)
    }

    /// Returns the edits that flip the atoms `chosen`, which are in order. The edits are in the
    /// order of their lines.
    ///
    /// # Errors
    ///
    /// The first [`FlipError`] that prevents it; then none of them can be flipped.
    pub(crate) fn edits_to_flip(&self, chosen: &[usize]) -> Result<Vec<LineEdit>, FlipError> {
        chosen.iter().try_for_each(|&atom| self.check(atom))?;
        self.segments.refuse_to_glue(&self.texts, chosen)?;
        let edit = |&atom: &usize| Some(self.edit_to_flip(atom, self.line_of(atom)?));
        Ok(chosen.iter().filter_map(edit).collect())
    }

    fn edit_to_flip(&self, atom: usize, line: usize) -> LineEdit {
        let atom = &self.atoms()[atom];
        let text = self.side(atom, !atom.is_applied).to_vec();
        LineEdit {
            line,
            n_removed: atom.alive_side().len(),
            text,
        }
    }

    /// Flips the atoms `chosen`, which are in order. Call this after the target has been edited.
    pub(crate) fn flip(&mut self, chosen: &[usize]) {
        if !chosen.is_empty() {
            self.journal.push_flip(chosen);
            self.segments.flip(&self.texts, chosen);
        }
    }

    /// Records that outside edits flipped the atoms `chosen`.
    pub(crate) fn learn_flips(&mut self, chosen: &[usize]) {
        self.journal.forget();
        self.segments.flip(&self.texts, chosen);
    }
}

/// Changing the atoms themselves. Earlier changes can then no longer be undone line by line, since
/// the lines belong to other atoms now.
impl Weave {
    /// Cuts atom `atom` in two after the first `n_lines` of its changed lines, where its removed
    /// lines are counted before its added ones.
    ///
    /// Cutting never changes this order of the segments. So if two lines replace two others, no cut
    /// gives an atom of just the first removed and the first added line. Panics unless both parts
    /// have lines.
    pub(crate) fn cut(&mut self, atom: usize, n_lines: usize) {
        self.journal.forget();
        self.segments.cut(atom, n_lines);
    }

    /// Rewrites `group`: its lines of the original become `old`, those of the modified text `new`,
    /// and its atoms are made of `edits`, whose line numbers count from the first lines of `old`
    /// and `new`.
    ///
    /// The atoms are applied if `is_applied`; the caller ensures that the target then agrees with
    /// the weave. A group without a place gets none.
    pub(crate) fn rewrite(
        &mut self,
        group: &Group,
        (old, new): (&Text, &Text),
        edits: &[Edit],
        is_applied: bool,
    ) {
        self.journal.forget();
        self.texts.splice(group, old, new);
        let n_lines = (old.len(), new.len());
        self.segments.rewrite(group, n_lines, edits, is_applied);
    }

    /// Records whether the user edited atom `atom`.
    pub(crate) fn set_edited(&mut self, atom: usize, is_edited: bool) {
        self.segments.set_edited(atom, is_edited);
    }

    /// Returns the lines of the target where `group` is; `None` if it has no place.
    ///
    /// Takes O(log s) time for s segments, plus that for the lines returned.
    pub(crate) fn stretch(&self, group: &Group) -> Option<Stretch> {
        self.segments.stretch(&self.texts, group)
    }
}

/// Edits by others.
impl Weave {
    /// Records that somebody else replaced `n_removed` lines of the target, from line `line`
    /// (0-based) on, by `text`; `is_undo` says whether an editor's undo or redo did that.
    ///
    /// Panics if the target has no such lines. `text` consists of whole lines; only at the end of
    /// the target may the last one lack its newline.
    ///
    /// This is one in a run of edits: until [`Weave::settle`] is called, only more edits,
    /// [`Weave::lines_around`], [`Weave::lines_near`] and [`Weave::reads_as_original`] may be
    /// called.
    pub(crate) fn edit_loosely(
        &mut self,
        line: usize,
        n_removed: usize,
        text: &[u8],
        is_undo: bool,
    ) {
        if n_removed == 0 && text.is_empty() {
            return;
        }
        let old = self.lines_near(line..line + n_removed);
        if !(is_undo && self.undo_edits(line, &old, text)) {
            self.replace(line, n_removed, old, text);
            self.recognize_flip(is_undo);
        }
    }

    /// Recognizes the undo or redo of a flip, after an edit that was either one if `is_undo`.
    fn recognize_flip(&mut self, is_undo: bool) {
        let (segments, texts) = (&mut self.segments, &self.texts);
        if !is_undo {
            self.journal.forget_undone();
        } else if !self.journal.undo_flip(segments, texts) {
            self.journal.redo(segments, texts);
        }
    }

    /// Records that nothing that was undone can be redone.
    pub(crate) fn forget_undone(&mut self) {
        self.journal.forget_undone();
    }

    /// Replaces the `n_removed` lines `old` of the target from line `line` on by `text`.
    fn replace(&mut self, line: usize, n_removed: usize, old: Vec<u8>, text: &[u8]) {
        let user = self.texts.append_user(text);
        let replaced = (self.segments).replace(&self.texts, line, n_removed, user);
        self.journal.push_edit(line, old, text, replaced);
    }

    /// Undoes the last outside edits if the given edit, made by an undo, has just that effect on
    /// the text; returns whether it does.
    pub(crate) fn undo_outside(&mut self, line: usize, n_removed: usize, text: &[u8]) -> bool {
        let old = self.lines_near(line..line + n_removed);
        let is_undone = self.undo_edits(line, &old, text);
        self.settle();
        is_undone
    }

    fn undo_edits(&mut self, line: usize, old: &[u8], text: &[u8]) -> bool {
        (self.journal).undo_edits(&mut self.segments, &self.texts, line, old, text)
    }

    /// Ends a run of edits, so that all methods may be called again.
    pub(crate) fn settle(&mut self) {
        self.segments.settle();
    }

    /// Returns the lines of the target around its characters `chars` (0-based, as Emacs counts
    /// them): those that have one of these characters or the one after them. `None` if the target
    /// does not have `n_chars` characters, or not those.
    pub(crate) fn lines_around(&mut self, chars: Range<usize>, n_chars: usize) -> Option<Around> {
        self.segments.lines_around(&self.texts, chars, n_chars)
    }

    /// Returns the bytes of the lines of the target in `range`.
    pub(crate) fn lines_near(&mut self, range: Range<usize>) -> Vec<u8> {
        self.segments.lines_near(&self.texts, range)
    }

    /// Returns whether the target equals the original, byte for byte.
    pub(crate) fn reads_as_original(&mut self) -> bool {
        self.segments.reads_as_original(&self.texts)
    }

    /// Returns how many changes of the target there have been; undoing one reduces the number.
    pub(crate) fn n_done(&self) -> usize {
        self.journal.n_done()
    }

    /// Returns how many of these changes can no longer be undone line by line.
    pub(crate) fn n_forgotten(&self) -> usize {
        self.journal.n_forgotten()
    }

    /// Returns a mark for [`Weave::count_as_one`].
    pub(crate) fn now(&self) -> Now {
        self.journal.now(&self.segments)
    }

    /// Merges all outside edits since `before` into one, which replaced `old` by `new` at line
    /// `line` (0-based).
    pub(crate) fn count_as_one(&mut self, before: &Now, line: usize, old: &[u8], new: &[u8]) {
        self.journal.join(before, &self.segments, line, old, new);
    }
}
