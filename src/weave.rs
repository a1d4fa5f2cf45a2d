//! The line map: where every line of the original, of the proposal and of the target belongs.
//!
//! One list of segments, in file order, holds the original, the proposal and the text that neither
//! knows. Per atom the order is old, new. Each segment is alive or not: common and user text
//! always, an atom's old lines unless it is applied, its new lines if it is. *The target is the
//! alive segments in order*, so a place is known and never searched for, and to apply or take out
//! a change is to flip its atoms.
//!
//! With s segments, a flip or a look-up of one place takes O(s) time; flipping any number of atoms
//! at once takes the same one pass. A segment is 32 bytes.

use std::ops::Range;

use thiserror::Error;

use crate::diff::Edit;
use crate::text::{Text, is_unterminated};

/// Where a segment's lines come from and what decides whether they are alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Lines of the original that the proposal keeps.
    Common,
    /// The lines of the original that this atom removes.
    Old(usize),
    /// The lines of the modified text that this atom adds.
    New(usize),
    /// Lines of the target that are in neither text.
    User,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Segment {
    kind: Kind,
    /// Lines of the text that `kind` names.
    lines: Range<usize>,
}

/// A maximal run of changed lines: the smallest thing that is applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Atom {
    /// Lines of the original that the atom removes.
    pub old: Range<usize>,
    /// Lines of the modified text that the atom adds.
    pub new: Range<usize>,
    /// Whether the target holds the new lines instead of the old ones.
    pub is_applied: bool,
}

/// A change of the target: the lines `line..line + n_removed` give way to `text`.
///
/// Line numbers are 0-based and count the target as it is before any edit of the same list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineEdit {
    /// First line of the target that changes.
    pub line: usize,
    /// Number of lines that go.
    pub n_removed: usize,
    /// What takes their place, terminators included.
    pub text: Vec<u8>,
}

/// A run of the original, with the atoms in it, that stands somewhere in the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// First line of the run in the target (0-based).
    pub line: usize,
    /// Lines of the original that the run spans.
    pub before: Range<usize>,
    /// Indices of the atoms inside `before`.
    pub atoms: Range<usize>,
}

/// Why atoms cannot be flipped.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FlipError {
    /// A line without newline would be followed by another one and be glued to it.
    #[error("a line without newline would no longer be the last one; decide the neighbor first")]
    Glued,
}

/// The line map of one review. See the module's documentation.
#[derive(Debug, Clone)]
pub struct Weave {
    original: Text,
    modified: Text,
    user: Text,
    atoms: Vec<Atom>,
    segments: Vec<Segment>,
}

impl Weave {
    /// Weaves `original` and `modified`, which differ by `edits`. No atom is applied: the target
    /// is the original.
    pub fn new(original: Text, modified: Text, edits: &[Edit]) -> Weave {
        let atom = |edit: &Edit| Atom {
            old: edit.before.clone(),
            new: edit.after.clone(),
            is_applied: false,
        };
        let mut weave = Weave {
            original,
            modified,
            user: Text::new(Vec::new()),
            atoms: edits.iter().map(atom).collect(),
            segments: Vec::new(),
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
    }

    /// Sets whether atom `atom` is applied, without a word about whether it can be.
    ///
    /// For what was learned about the target; [`Weave::edits_to_flip`] is for what shall change.
    pub fn set_applied(&mut self, atom: usize, is_applied: bool) {
        self.atoms[atom].is_applied = is_applied;
    }

    /// Lays the segments anew as original and proposal alone say; no user text remains.
    pub fn unravel(&mut self) {
        self.user = Text::new(Vec::new());
        self.segments.clear();
        self.lay(0..self.original.len(), 0..self.atoms.len());
    }

    /// Lays the segments anew: `placed` runs stand in `live` where they say, and everything around
    /// them is user text. Atoms outside all runs have no place any more.
    ///
    /// The runs must be in the order of their lines, inside `live` and disjoint.
    pub fn lay_out(&mut self, live: Text, placed: &[Placed]) {
        self.segments.clear();
        let mut at = 0;
        for run in placed {
            self.push(Kind::User, at..run.line);
            self.lay(run.before.clone(), run.atoms.clone());
            at = run.line + self.alive_len(run);
        }
        self.push(Kind::User, at..live.len());
        self.user = live;
    }

    /// Returns the number of lines that `run` takes in the target.
    pub fn alive_len(&self, run: &Placed) -> usize {
        let atoms = &self.atoms[run.atoms.clone()];
        let old: usize = atoms.iter().map(|atom| atom.old.len()).sum();
        let alive: usize = atoms.iter().map(|atom| alive_side(atom).len()).sum();
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
            self.segments.push(Segment { kind, lines });
        }
    }

    /// Tells whether the target, as the line map has it, is `live` byte for byte.
    pub fn is_target(&self, live: &[u8]) -> bool {
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
        self.alive()
            .flat_map(|segment| self.bytes(segment))
            .copied()
            .collect()
    }

    /// Returns the line of the target where atom `atom` is or would be, or `None` if it has no
    /// place.
    pub fn line_of(&self, atom: usize) -> Option<usize> {
        let mut line = 0;
        for segment in &self.segments {
            if atom_of(segment) == Some(atom) {
                return Some(line);
            }
            line += if self.is_alive(segment) {
                segment.lines.len()
            } else {
                0
            };
        }
        None
    }

    /// Returns the edits that flip the atoms chosen (one entry an atom), in the order of their
    /// lines. Chosen atoms that have no place are passed over: ask for that first.
    ///
    /// # Errors
    ///
    /// [`FlipError::Glued`] if two lines would become one.
    pub fn edits_to_flip(&self, chosen: &[bool]) -> Result<Vec<LineEdit>, FlipError> {
        self.refuse_to_glue(chosen)?;
        let mut edits: Vec<LineEdit> = Vec::new();
        let (mut line, mut last) = (0, None);
        for segment in &self.segments {
            let flips = atom_of(segment).filter(|&atom| chosen[atom]);
            if let Some(atom) = flips.filter(|_| flips != last) {
                edits.push(self.edit_to_flip(atom, line));
            }
            last = flips;
            line += if self.is_alive(segment) {
                segment.lines.len()
            } else {
                0
            };
        }
        Ok(edits)
    }

    /// Flips the atoms chosen (one entry an atom): call it when the target has been edited.
    pub fn flip(&mut self, chosen: &[bool]) {
        for (atom, is_chosen) in self.atoms.iter_mut().zip(chosen) {
            atom.is_applied ^= is_chosen;
        }
    }

    fn edit_to_flip(&self, atom: usize, line: usize) -> LineEdit {
        let atom = &self.atoms[atom];
        let text = self.side(atom, !atom.is_applied).to_vec();
        LineEdit {
            line,
            n_removed: alive_side(atom).len(),
            text,
        }
    }

    fn refuse_to_glue(&self, chosen: &[bool]) -> Result<(), FlipError> {
        let flips = |segment: &Segment| atom_of(segment).is_some_and(|atom| chosen[atom]);
        let will_live = |segment: &&Segment| self.is_alive(segment) != flips(segment);
        let mut is_open = false;
        for segment in self.segments.iter().filter(will_live) {
            if is_open {
                return Err(FlipError::Glued);
            }
            is_open = is_unterminated(self.bytes(segment));
        }
        Ok(())
    }

    fn alive(&self) -> impl Iterator<Item = &Segment> {
        self.segments
            .iter()
            .filter(|segment| self.is_alive(segment))
    }

    fn is_alive(&self, segment: &Segment) -> bool {
        match segment.kind {
            Kind::Common | Kind::User => true,
            Kind::Old(atom) => !self.atoms[atom].is_applied,
            Kind::New(atom) => self.atoms[atom].is_applied,
        }
    }

    fn bytes(&self, segment: &Segment) -> &[u8] {
        let text = match segment.kind {
            Kind::Common | Kind::Old(_) => &self.original,
            Kind::New(_) => &self.modified,
            Kind::User => &self.user,
        };
        text.lines_bytes(segment.lines.clone())
    }
}

fn alive_side(atom: &Atom) -> &Range<usize> {
    if atom.is_applied {
        &atom.new
    } else {
        &atom.old
    }
}

fn atom_of(segment: &Segment) -> Option<usize> {
    match segment.kind {
        Kind::Old(atom) | Kind::New(atom) => Some(atom),
        Kind::Common | Kind::User => None,
    }
}
