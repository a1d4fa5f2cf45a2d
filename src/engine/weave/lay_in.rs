//! Laying a run among lines of the target that are nobody's, once somebody has said where it is.

use std::ops::Range;

use super::{Kind, Placed, Weave};

/// Whose a line of the target is, or beside whose lines it was typed.
pub(crate) enum Owner {
    /// This atom's.
    Atom(usize),
    /// The one's whose context this line of the original is.
    Original(usize),
}

impl Weave {
    /// Lays `run` where its lines stand in the target, among lines that no atom has.
    ///
    /// # Errors
    ///
    /// Whose lines stand there; then nothing has changed.
    pub(crate) fn lay_in(&mut self, run: &Placed) -> Result<(), Owner> {
        let lines = run.line..run.line + self.alive_len(run);
        if let Some(owner) = self.owner_of(lines.clone()) {
            return Err(owner);
        }
        let mut segments = std::mem::take(&mut self.segments);
        let start = self.cut_at(&mut segments, lines.start);
        let end = self.cut_at(&mut segments, lines.end);
        let rest = segments.split_off(end);
        segments.truncate(start);
        self.segments = segments;
        self.lay(run.before.clone(), run.atoms.clone());
        self.segments.extend(rest);
        self.past.forget();
        self.update_statuses();
        Ok(())
    }

    /// Returns whose any of the `lines` of the target is; `None` if all are in neither text, and
    /// none was typed beside a line that is.
    pub(crate) fn owner_of(&self, lines: Range<usize>) -> Option<Owner> {
        let (first, mut at) = self.segment_above(lines.start);
        for segment in self.alive_of(&self.segments[first..]) {
            let start = at;
            at += segment.len();
            if lines.end <= start {
                break;
            }
            let owner = match segment.kind() {
                Kind::User => segment.amb().first().copied().map(Owner::Atom),
                Kind::Old(atom) | Kind::New(atom) => Some(Owner::Atom(atom)),
                Kind::Common => Some(Owner::Original(segment.lines().start)),
            };
            if owner.is_some() && lines.start < at {
                return owner;
            }
        }
        None
    }
}
