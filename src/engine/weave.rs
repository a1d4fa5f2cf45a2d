//! A weave: all lines of the original, of the proposal and of the target, in one list.
//!
//! As in SCCS and Bazaar, the lines of all versions are woven into one sequence of segments, in
//! file order: those of the original, those of the proposal, and those that neither knows. Per atom
//! the order is old, new. *The target is the alive segments in order*, so a place is known and never
//! searched for, and to apply or take out a change is to flip its atoms.
//!
//! Who knows what:
//!
//! - `Texts` knows bytes and characters of lines, not their order.
//! - `Segments` knows the order of lines and which are alive, by their numbers. Only its methods
//!   change it, and keep its invariants.
//! - `Journal` knows what happened to the target, so that it can be undone.
//! - [`Target`] reads segments and texts as one text; [`Reading`] compares another one with it.
//! - [`Weave`] has all of them, and keeps them in step.
//!
//! With s segments, a run of outside edits takes O(s) time and what lies between them, and so does
//! flipping many atoms at once. Flipping one, or looking up its place, takes O(log s) and what is
//! around it up to the nearest unchanged lines. A segment is 24 bytes.

mod atom;
mod changed;
mod journal;
mod reading;
mod segments;
mod target;
mod texts;
mod unique;

use std::ops::Range;

use crate::diff::{Edit, Group};
use crate::text::Text;
pub(crate) use atom::Owner;
pub use atom::{Atom, FlipError, LineEdit, Placed, Stretch};
pub use changed::Changed;
use journal::Journal;
pub(crate) use journal::Now;
pub use reading::{Next, Reading};
use segments::Segments;
pub use target::Target;
pub(crate) use target::{TargetLines, TargetRun};
use texts::Texts;

/// The weave of one file under review. See the module's documentation.
#[derive(Debug, Clone)]
pub struct Weave {
    texts: Texts,
    segments: Segments,
    journal: Journal,
}

/// What it is made of, and laying it out again.
impl Weave {
    /// Weaves `original` and `modified`, which differ by `edits`. No atom is applied: the target
    /// is the original.
    pub fn new(original: Text, modified: Text, edits: &[Edit]) -> Weave {
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

    /// The original, or what stands in for it.
    pub fn original(&self) -> &Text {
        self.texts.original()
    }

    /// The modified text, or what stands in for it.
    pub fn modified(&self) -> &Text {
        self.texts.modified()
    }

    /// The atoms in the order of the original.
    pub fn atoms(&self) -> &[Atom] {
        self.segments.atoms()
    }

    /// The target as the weave has it.
    pub fn target(&self) -> Target<'_> {
        let (texts, segments) = (&self.texts, &self.segments);
        Target { texts, segments }
    }

    /// Returns the lines of `atom` in the target if it is applied, or else if it is not, as bytes.
    pub fn side(&self, atom: &Atom, is_applied: bool) -> &[u8] {
        match is_applied {
            true => self.modified().lines_bytes(atom.new.clone()),
            false => self.original().lines_bytes(atom.old.clone()),
        }
    }

    /// Takes the newline off the end of original and modified text, or puts it back.
    ///
    /// For a diff whose own text broke off before that newline, so that only the target can tell
    /// whether it is there. An empty last line is left alone.
    pub fn toggle_last_terminator(&mut self) {
        self.texts.toggle_last_terminator();
        self.segments.forget_bytes();
    }

    /// Replaces the segments by what original and proposal alone say; no text of others remains.
    /// `is_applied` tells it of each atom.
    pub fn lay_whole(&mut self, is_applied: &[bool]) {
        self.texts.set_user(Text::new(Vec::new()));
        let n_lines = self.original().len();
        self.segments.lay_whole(n_lines, is_applied);
        self.journal.forget();
    }

    /// Replaces the segments: the target is `live`, the runs `placed` stand in it where they say,
    /// and everything around them is text of others. `is_applied` tells it of each atom. Atoms
    /// outside all runs have no place any more.
    ///
    /// The runs must be in the order of their lines, inside `live` and disjoint.
    pub fn lay_out(&mut self, live: Text, placed: &[Placed], is_applied: &[bool]) {
        self.segments.lay_out(live.len(), placed, is_applied);
        self.texts.set_user(live);
        self.journal.forget();
    }

    /// Lays `run`, whose atoms have no place yet and are applied if `is_applied`, where its lines
    /// stand in the target. [`Weave::owner_of`] these lines must be nobody.
    pub(crate) fn lay_in(&mut self, run: &Placed, is_applied: bool) {
        self.segments.lay_in(run, is_applied);
        self.journal.forget();
    }

    /// Returns who owns any of the `lines` of the target; `None` if all are text of others, and none
    /// was typed where it may be before or after an atom.
    pub(crate) fn owner_of(&self, lines: Range<usize>) -> Option<Owner> {
        self.segments.owner_of(lines)
    }
}

/// Where atoms are, and flipping them.
impl Weave {
    /// Returns the line of the target where atom `atom` is or would be, or `None` if it has no
    /// place.
    pub fn line_of(&self, atom: usize) -> Option<usize> {
        self.segments.line_of(atom)
    }

    /// Returns by how many lines the atoms before `atom` make the target longer.
    pub fn delta_before(&self, atom: usize) -> isize {
        self.segments.delta_before(atom)
    }

    /// Returns whether a line right beside atom `atom` was changed from outside.
    ///
    /// The atom's place is certain all the same; a reader may want to check it.
    pub fn is_next_to_edit(&self, atom: usize) -> bool {
        self.segments.is_next_to_edit(atom)
    }

    /// Returns whether somebody else put lines into the target or took some out.
    pub fn is_touched(&self) -> bool {
        self.segments.is_touched()
    }

    /// Returns whether atom `atom` can be flipped, or why not.
    ///
    /// # Errors
    ///
    /// Any [`FlipError`] but [`FlipError::Glued`], which depends on what else is flipped.
    pub fn check(&self, atom: usize) -> Result<(), FlipError> {
        self.segments.check(atom)
    }

    /// Returns the edits that flip the atoms `chosen`, in order, in the order of their lines.
    ///
    /// # Errors
    ///
    /// The first [`FlipError`] that stands against it; then none of them can be flipped.
    pub fn edits_to_flip(&self, chosen: &[usize]) -> Result<Vec<LineEdit>, FlipError> {
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

    /// Flips the atoms `chosen`, in order: call it when the target has been edited.
    pub fn flip(&mut self, chosen: &[usize]) {
        if !chosen.is_empty() {
            self.journal.push_flip(chosen);
            self.segments.flip(&self.texts, chosen);
        }
    }

    /// Learns that the atoms `chosen` were flipped in the target by somebody else.
    pub(crate) fn learn_flips(&mut self, chosen: &[usize]) {
        self.journal.forget();
        self.segments.flip(&self.texts, chosen);
    }
}

/// Changing what the atoms are. What was done before can then no longer be undone line by line,
/// since the lines belong to other atoms now.
impl Weave {
    /// Cuts atom `atom` in two behind the first `n_lines` of its changed lines, the removed ones
    /// counted before the added ones.
    ///
    /// That is the order of the segments, and it stays: of two lines that are removed and two that
    /// replace them, the first removed and the first added one are apart for good. Panics unless
    /// lines are left on both sides.
    pub(crate) fn cut(&mut self, atom: usize, n_lines: usize) {
        self.journal.forget();
        self.segments.cut(atom, n_lines);
    }

    /// Rewrites the lines of `group`: those of the original are now `old`, those of the modified
    /// text are `new`, and its atoms are what `edits`, counted from the first lines of these, change.
    ///
    /// They are applied if `is_applied`, and the caller ensures that the target is then what the
    /// weave says. A group that has no place gets none.
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

    /// Notes whether atom `atom` is what the user made of the proposal.
    pub(crate) fn set_edited(&mut self, atom: usize, is_edited: bool) {
        self.segments.set_edited(atom, is_edited);
    }

    /// Returns what stands in the target where `group` is, or `None` if it has no place.
    ///
    /// Takes time for what is there, and O(log s) for s segments.
    pub(crate) fn stretch(&self, group: &Group) -> Option<Stretch> {
        self.segments.stretch(&self.texts, group)
    }
}

/// Edits that others make.
impl Weave {
    /// Learns that somebody else replaced `n_removed` lines of the target from line `line` on by
    /// `text`, and whether that was the undoing of something.
    ///
    /// Panics if the target has no such lines. `text` consists of whole lines; only at the end of
    /// the target can its last one lack the newline.
    pub fn edit_outside(&mut self, line: usize, n_removed: usize, text: &[u8], is_undo: bool) {
        self.edit_loosely(line, n_removed, text, is_undo);
        self.settle();
    }

    /// Like [`Weave::edit_outside`], for one of a run of edits: until [`Weave::settle`] is called,
    /// only other edits, [`Weave::lines_between`], [`Weave::lines_near`] and
    /// [`Weave::reads_as_original`] may follow.
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
        if !(is_undo && self.undo_edits(line, n_removed, text)) {
            self.replace(line, n_removed, text);
            if is_undo {
                self.journal.undo_flip(&mut self.segments, &self.texts);
            }
        }
    }

    fn replace(&mut self, line: usize, n_removed: usize, text: &[u8]) {
        let old = self.lines_near(line..line + n_removed);
        let user = self.texts.append_user(text);
        let replaced = (self.segments).replace(&self.texts, line, n_removed, user);
        self.journal.push_edit(line, old, text, replaced);
    }

    /// Undoes the last edits from outside if the given one, an undoing, does that to the text, and
    /// returns whether it does.
    pub fn undo_outside(&mut self, line: usize, n_removed: usize, text: &[u8]) -> bool {
        let is_undone = self.undo_edits(line, n_removed, text);
        self.settle();
        is_undone
    }

    fn undo_edits(&mut self, line: usize, n_removed: usize, text: &[u8]) -> bool {
        let lines = line..line + n_removed;
        (self.journal).undo_edits(&mut self.segments, &self.texts, lines, text)
    }

    /// Ends a run of edits, so that everything can be asked again.
    pub(crate) fn settle(&mut self) {
        self.segments.settle();
    }

    /// Returns which lines of the target begin with its character `start` and end before `end`, as
    /// Emacs counts them; `None` if no lines do, or the target has not just `n_chars` of them.
    pub(crate) fn lines_between(
        &mut self,
        start: usize,
        end: usize,
        n_chars: usize,
    ) -> Option<Range<usize>> {
        self.segments
            .lines_between(&self.texts, start, end, n_chars)
    }

    /// Returns the lines of the target in `range`, as bytes.
    pub(crate) fn lines_near(&mut self, range: Range<usize>) -> Vec<u8> {
        self.segments.lines_near(&self.texts, range)
    }

    /// Returns whether the target is the original, byte for byte.
    pub(crate) fn reads_as_original(&mut self) -> bool {
        self.segments.reads_as_original(&self.texts)
    }

    /// Returns how many things have happened to the target. Fewer if one of them is undone.
    pub(crate) fn n_done(&self) -> usize {
        self.journal.n_done()
    }

    /// Returns how many of these can no longer be undone line by line.
    pub(crate) fn n_forgotten(&self) -> usize {
        self.journal.n_forgotten()
    }

    /// Returns a mark for [`Weave::count_as_one`].
    pub(crate) fn now(&self) -> Now {
        self.journal.now(&self.segments)
    }

    /// Makes all edits from outside since `before` one, which replaced `old` by `new` at `line`.
    pub(crate) fn count_as_one(&mut self, before: &Now, line: usize, old: &[u8], new: &[u8]) {
        self.journal.join(before, &self.segments, line, old, new);
    }
}
