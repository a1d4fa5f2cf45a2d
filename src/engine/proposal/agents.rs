//! The agent's lines in hunks that the user rewrote.

use std::ops::Range;

use crate::weave::Weave;

/// The agent's atoms that the user rewrote.
#[derive(Debug, Clone, Default)]
pub(super) struct AgentLines(Vec<Lines>);

/// The lines of an atom, and where in the original it is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Lines {
    start: usize,
    old: Vec<u8>,
    new: Vec<u8>,
}

impl AgentLines {
    /// Returns whether the user rewrote nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Keeps those of `atoms` that are the agent's. To be called before they are rewritten.
    pub fn keep(&mut self, weave: &Weave, atoms: Range<usize>) {
        let agents = atoms.filter(|&atom| !weave.atoms()[atom].is_edited);
        self.0.extend(agents.map(|atom| lines(weave, atom)));
    }

    /// Returns whether the agent proposed `atom` just as it is now: the user never edited it, or
    /// restored it.
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
