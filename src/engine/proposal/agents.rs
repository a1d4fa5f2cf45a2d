//! What the agent proposed where the user made something else of it.

use std::ops::Range;

use crate::weave::Weave;

/// The lines of the agent's atoms that the user has rewritten.
#[derive(Debug, Clone, Default)]
pub(super) struct AgentLines(Vec<Lines>);

/// The lines of an atom and where in the original it is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Lines {
    start: usize,
    old: Vec<u8>,
    new: Vec<u8>,
}

impl AgentLines {
    /// Returns whether the user has rewritten nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Keeps the lines of those `atoms` that are the agent's, before they are rewritten.
    pub fn keep(&mut self, weave: &Weave, atoms: Range<usize>) {
        let agents = atoms.filter(|&atom| !weave.atoms()[atom].is_edited);
        self.0.extend(agents.map(|atom| lines(weave, atom)));
    }

    /// Returns whether the agent proposed `atom` as it is: the user made nothing else of it, or has
    /// taken that back.
    pub fn has(&self, weave: &Weave, atom: usize) -> bool {
        self.0.contains(&lines(weave, atom))
    }
}

fn lines(weave: &Weave, atom: usize) -> Lines {
    let atom = &weave.atoms()[atom];
    Lines {
        start: atom.old.start,
        old: weave.side(atom, false).to_vec(),
        new: weave.side(atom, true).to_vec(),
    }
}
