//! The line map: where every line of the original, of the proposal and of the target belongs.
//!
//! One list of segments, in file order, holds the original, the proposal and the text that neither
//! knows. Per atom the order is old, new. Each segment is alive or not: common and user text
//! always, an atom's old lines unless it is applied, its new lines if it is, and none of them once
//! they were deleted from outside. *The target is the alive segments in order*, so a place is known
//! and never searched for, and to apply or take out a change is to flip its atoms.
//!
//! With s segments, a run of outside edits takes O(s) time and what lies between them, and so does
//! flipping many atoms at once.
//! Flipping one, or looking up its place, takes O(log s) and what is around it up to the nearest
//! unchanged lines. A segment is 24 bytes.

mod atom;
mod changed;
mod gap;
mod lay_in;
mod offsets;
mod outside;
mod reading;
mod rewrite;
mod segment;
mod status;
mod sums;
mod unique;

use std::cell::OnceCell;
use std::ops::Range;

use crate::diff::Edit;
use crate::text::Text;
pub use atom::{Atom, FlipError, LineEdit, Placed};
pub use changed::Changed;
use gap::Gap;
use offsets::{Counted, Offsets};
use outside::Journal;
pub(crate) use unique::{TargetLines, TargetRun};

pub(crate) use lay_in::Owner;
pub use reading::{Next, Reading};
pub use rewrite::Stretch;
use segment::{Kind, Segment};
use status::Status;
use sums::Sums;

/// The line map of one review. See the module's documentation.
#[derive(Debug, Clone)]
pub struct Weave {
    original: Text,
    modified: Text,
    user: Text,
    /// How many lines of `user` stood around the hunks when the segments were laid.
    n_around: usize,
    atoms: Vec<Atom>,
    segments: Vec<Segment>,
    /// What a walk over the segments tells about each atom; see [`Weave::update_statuses`].
    statuses: Vec<Option<Status>>,
    /// The atoms that have a place, in the order of their segments.
    ranks: Vec<usize>,
    /// For each of these, by how many lines its flips have made the target longer since the last
    /// walk over all segments.
    shifts: Sums,
    /// For each atom, by how many lines it makes the target longer than the original.
    deltas: Sums,
    /// Indices of the segments whose last line lacks its terminator.
    open: Vec<usize>,
    counted: Counted,
    offsets: OnceCell<Offsets>,
    /// Only while edits by others are told; see [`Weave::settle`].
    gap: Option<Gap>,
    past: Journal,
}

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
        let mut weave = Weave {
            original,
            modified,
            user: Text::new(Vec::new()),
            n_around: 0,
            atoms: edits.iter().map(atom).collect(),
            segments: Vec::new(),
            statuses: Vec::new(),
            ranks: Vec::new(),
            shifts: Sums::default(),
            deltas: Sums::default(),
            open: Vec::new(),
            counted: Counted::default(),
            offsets: OnceCell::new(),
            gap: None,
            past: Journal::default(),
        };
        weave.unravel();
        weave
    }

    /// The original, or what stands in for it.
    pub fn original(&self) -> &Text {
        &self.original
    }

    /// The modified text, or what stands in for it.
    pub fn modified(&self) -> &Text {
        &self.modified
    }

    /// The atoms in the order of the original.
    pub fn atoms(&self) -> &[Atom] {
        &self.atoms
    }

    /// Returns the lines of `atom` in the target if it is applied, or else if it is not, as bytes.
    pub fn side(&self, atom: &Atom, is_applied: bool) -> &[u8] {
        match is_applied {
            true => self.modified.lines_bytes(atom.new.clone()),
            false => self.original.lines_bytes(atom.old.clone()),
        }
    }

    /// Takes the newline off the end of both texts, or puts it back.
    ///
    /// For a diff whose own text broke off before that newline, so that only the target can tell
    /// whether it is there. An empty last line has nothing to be taken off.
    pub fn toggle_last_terminator(&mut self) {
        for text in [&mut self.original, &mut self.modified] {
            *text = text.with_last_terminator_toggled();
        }
        self.counted = Counted::default();
    }

    /// Sets whether atom `atom` is applied, unchecked.
    ///
    /// For what was learned about the target; [`Weave::edits_to_flip`] is for what shall change.
    ///
    /// Lay the segments anew afterwards.
    pub fn set_applied(&mut self, atom: usize, is_applied: bool) {
        self.atoms[atom].is_applied = is_applied;
    }

    /// Lays the segments anew as original and proposal alone say; no user text remains.
    pub fn unravel(&mut self) {
        self.gap = None;
        self.user = Text::new(Vec::new());
        self.n_around = 0;
        // No more room than it takes: there may be millions.
        let n_sides = self.atoms.iter().flat_map(|atom| [&atom.old, &atom.new]);
        let n_sides = n_sides.filter(|side| !side.is_empty()).count();
        self.segments = Vec::with_capacity(n_sides + self.atoms.len() + 1);
        self.lay(0..self.original.len(), 0..self.atoms.len());
        self.past.forget();
        self.update_statuses();
    }

    /// Lays the segments anew: `placed` runs stand in `live` where they say, and everything around
    /// them is user text. Atoms outside all runs have no place any more.
    ///
    /// The runs must be in the order of their lines, inside `live` and disjoint.
    pub fn lay_out(&mut self, live: Text, placed: &[Placed]) {
        self.gap = None;
        self.segments.clear();
        let mut at = 0;
        for run in placed {
            self.push(Kind::User, at..run.line);
            self.lay(run.before.clone(), run.atoms.clone());
            at = run.line + self.alive_len(run);
        }
        self.push(Kind::User, at..live.len());
        self.n_around = live.len();
        self.user = live;
        self.past.forget();
        self.update_statuses();
    }

    /// Returns the number of lines that `run` takes in the target.
    pub fn alive_len(&self, run: &Placed) -> usize {
        let atoms = &self.atoms[run.atoms.clone()];
        let old: usize = atoms.iter().map(|atom| atom.old.len()).sum();
        let alive: usize = atoms.iter().map(|atom| atom.alive_side().len()).sum();
        run.before.len() - old + alive
    }

    fn lay(&mut self, before: Range<usize>, atoms: Range<usize>) {
        let mut at = before.start;
        for atom in atoms {
            let Atom { old, new, .. } = self.atoms[atom].clone();
            self.push(Kind::Common, at..old.start);
            at = old.end;
            self.push(Kind::Old(atom), old);
            self.push(Kind::New(atom), new);
        }
        self.push(Kind::Common, at..before.end);
    }

    fn push(&mut self, kind: Kind, lines: Range<usize>) {
        if !lines.is_empty() {
            self.segments.push(Segment::new(kind, lines));
        }
    }

    /// Tells whether the target, as the line map has it, is `live` byte for byte.
    pub fn is_target(&self, live: &[u8]) -> bool {
        let lens = self.alive().map(|segment| self.bytes(segment).len());
        if lens.sum::<usize>() != live.len() {
            return false;
        }
        let mut rest = live;
        for segment in self.alive() {
            match rest.strip_prefix(self.bytes(segment)) {
                Some(after) => rest = after,
                None => return false,
            }
        }
        rest.is_empty()
    }

    /// Returns the target, as the line map has it.
    pub fn target(&self) -> Vec<u8> {
        self.target_pieces().concat()
    }

    /// Returns the target, as the line map has it, in pieces.
    pub fn target_pieces(&self) -> Vec<&[u8]> {
        self.alive().map(|segment| self.bytes(segment)).collect()
    }

    /// Returns the target, as the line map has it, with `text` in the place of `lines`, in pieces.
    pub(crate) fn pieces_with<'a>(&'a self, lines: &Range<usize>, text: &'a [u8]) -> Vec<&'a [u8]> {
        let mut pieces = self.pieces_of(0..lines.start);
        pieces.push(text);
        pieces.extend(self.pieces_of(lines.end..self.n_lines()));
        pieces
    }

    /// Returns the line of the target where atom `atom` is or would be, or `None` if it has no
    /// place.
    pub fn line_of(&self, atom: usize) -> Option<usize> {
        let status = self.statuses[atom].as_ref()?;
        Some(
            status
                .line
                .saturating_add_signed(self.shifts.before(status.rank)),
        )
    }

    /// Returns by how many lines the atoms before `atom` have made the target longer.
    pub fn delta_before(&self, atom: usize) -> isize {
        self.deltas.before(atom)
    }

    /// Tells whether a line right beside atom `atom` was changed from outside.
    ///
    /// The atom's place is certain all the same; a reader may want to look twice.
    pub fn is_next_to_edit(&self, atom: usize) -> bool {
        self.statuses[atom]
            .as_ref()
            .is_some_and(|status| status.is_next_to_edit)
    }

    /// Returns whether atom `atom` can be flipped, or why not.
    ///
    /// # Errors
    ///
    /// Any [`FlipError`] but [`FlipError::Glued`], which depends on what else is flipped.
    pub fn check(&self, atom: usize) -> Result<(), FlipError> {
        debug_assert!(self.is_settled());
        let status = self.statuses[atom].as_ref().ok_or(FlipError::NoPlace)?;
        let verdict = status.verdict.clone();
        // The line was that of the last walk over everything.
        verdict.map_err(|error| error.at(self.line_of(atom).unwrap_or(status.line)))
    }

    /// Returns the edits that flip the atoms `chosen`, in order, in the order of their lines.
    ///
    /// # Errors
    ///
    /// The first [`FlipError`] that stands against it; then none of them can be flipped.
    pub fn edits_to_flip(&self, chosen: &[usize]) -> Result<Vec<LineEdit>, FlipError> {
        chosen.iter().try_for_each(|&atom| self.check(atom))?;
        self.refuse_to_glue(chosen)?;
        let edit = |&atom: &usize| Some(self.edit_to_flip(atom, self.line_of(atom)?));
        Ok(chosen.iter().filter_map(edit).collect())
    }

    /// Flips the atoms `chosen`, in order: call it when the target has been edited.
    pub fn flip(&mut self, chosen: &[usize]) {
        if chosen.is_empty() {
            return;
        }
        self.remember_flip(chosen);
        self.flip_surveyed(chosen);
    }

    /// Learns that the atoms `chosen` were flipped in the target by somebody else.
    pub(crate) fn learn_flips(&mut self, chosen: &[usize]) {
        self.past.forget();
        self.flip_surveyed(chosen);
    }

    /// Tells whether somebody else put lines into the target or took some out.
    pub fn is_touched(&self) -> bool {
        let is_theirs = |segment: &Segment| segment.is_dead || segment.is_user();
        self.segments.iter().any(is_theirs)
    }

    /// Returns the number of lines of the target.
    pub fn n_lines(&self) -> usize {
        self.n_alive(&self.segments)
    }

    fn edit_to_flip(&self, atom: usize, line: usize) -> LineEdit {
        let atom = &self.atoms[atom];
        let text = self.side(atom, !atom.is_applied).to_vec();
        LineEdit {
            line,
            n_removed: atom.alive_side().len(),
            text,
        }
    }

    /// Refuses to flip the atoms `chosen` if a line without terminator would not be the last one.
    fn refuse_to_glue(&self, chosen: &[usize]) -> Result<(), FlipError> {
        let is_chosen = |atom: usize| chosen.binary_search(&atom).is_ok();
        let flips = |segment: &Segment| !segment.is_dead && segment.atom().is_some_and(is_chosen);
        let will_live = |at: usize| {
            let segment = &self.segments[at];
            self.is_alive(segment) != flips(segment)
        };
        let Some(open) = self.open.iter().copied().find(|&at| will_live(at)) else {
            return Ok(());
        };
        match (open + 1..self.segments.len()).rev().any(will_live) {
            true => Err(FlipError::Glued),
            false => Ok(()),
        }
    }

    fn alive(&self) -> impl Iterator<Item = &Segment> {
        debug_assert!(self.is_settled());
        self.alive_of(&self.segments)
    }

    /// Returns those of `segments` that are in the target.
    fn alive_of<'a>(&'a self, segments: &'a [Segment]) -> impl Iterator<Item = &'a Segment> {
        segments.iter().filter(|segment| self.is_alive(segment))
    }

    /// Returns how many lines of the target are those of `segments`.
    fn n_alive(&self, segments: &[Segment]) -> usize {
        self.alive_of(segments).map(Segment::len).sum()
    }

    fn is_alive(&self, segment: &Segment) -> bool {
        !segment.is_dead && self.is_chosen(segment)
    }

    /// Tells whether the segment is in the target unless it was deleted from outside.
    fn is_chosen(&self, segment: &Segment) -> bool {
        match segment.kind() {
            Kind::Common | Kind::User => true,
            Kind::Old(atom) => !self.atoms[atom].is_applied,
            Kind::New(atom) => self.atoms[atom].is_applied,
        }
    }

    fn bytes(&self, segment: &Segment) -> &[u8] {
        self.text_of(segment).lines_bytes(segment.lines())
    }

    fn text_of(&self, segment: &Segment) -> &Text {
        match segment.kind() {
            Kind::Common | Kind::Old(_) => &self.original,
            Kind::New(_) => &self.modified,
            Kind::User => &self.user,
        }
    }
}
