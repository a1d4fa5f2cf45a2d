//! The changes of the target that can be undone.
//!
//! Only undoing the very latest edits brings back the same lines; any other edit counts as a new
//! one. The journal knows what was done, in order; how that changes segments is up to these.

use super::segments::{Replaced, Segments, State};
use super::target::Target;
use super::texts::Texts;

/// How many changes can be undone line by line. If older ones are undone, their lines count as new.
const MAX_PAST: usize = 512;

/// The changes of the target that can be undone, the latest last.
#[derive(Debug, Clone, Default)]
pub(super) struct Journal {
    entries: Vec<Past>,
    /// Which of the changes are flips, in ascending order; the first change has number 0.
    flips: Vec<usize>,
    /// How many earlier changes were forgotten.
    n_forgotten: usize,
}

/// A change of the target that can be undone.
#[derive(Debug, Clone)]
enum Past {
    Edit(Edited),
    /// These atoms were flipped.
    Flip(Vec<usize>),
}

/// An outside edit: its effect on the text and on the segments.
#[derive(Debug, Clone)]
struct Edited {
    /// The first line of the target that changed.
    line: usize,
    old: Vec<u8>,
    new: Vec<u8>,
    replaced: Replaced,
}

/// The segments at some time, and the number of changes up to then.
pub(crate) struct Now {
    n_done: usize,
    segments: State,
}

impl Journal {
    /// Returns how many changes there have been, including those forgotten.
    pub fn n_done(&self) -> usize {
        self.n_forgotten + self.entries.len()
    }

    /// Returns how many of these changes were forgotten and can no longer be undone line by line.
    pub fn n_forgotten(&self) -> usize {
        self.n_forgotten
    }

    /// Returns a mark for [`Journal::join`].
    pub fn now(&self, segments: &Segments) -> Now {
        Now {
            n_done: self.n_done(),
            segments: segments.state(),
        }
    }

    /// Merges all edits since `before` into one, which replaced `old` by `new` from line `line`
    /// (0-based) on.
    pub fn join(&mut self, before: &Now, segments: &Segments, line: usize, old: &[u8], new: &[u8]) {
        if self.n_done() > before.n_done {
            let n_left = before.n_done.saturating_sub(self.n_forgotten);
            self.truncate(n_left);
            let replaced = segments.replaced_since(&before.segments);
            self.push_edit(line, old.to_vec(), new, replaced);
        }
    }

    /// Records that `new` replaced the lines `old` from line `line` (0-based) on, and how the
    /// segments changed.
    pub fn push_edit(&mut self, line: usize, old: Vec<u8>, new: &[u8], replaced: Replaced) {
        let new = new.to_vec();
        self.push(Past::Edit(Edited {
            line,
            old,
            new,
            replaced,
        }));
    }

    /// Records that `atoms` were flipped.
    pub fn push_flip(&mut self, atoms: &[usize]) {
        self.flips.push(self.n_done());
        self.push(Past::Flip(atoms.to_vec()));
    }

    /// Forgets everything, so that nothing can be undone line by line.
    pub fn forget(&mut self) {
        self.n_forgotten = self.n_done();
        self.entries.clear();
        self.flips.clear();
    }

    /// Undoes the last edits if replacing `now`, the target's text from line `line` on, by `text`
    /// has just that effect on the text; returns whether it does.
    ///
    /// Several are undone at once only if each replaced the new text of the one before it: Emacs
    /// undoes a typed word in one step.
    pub fn undo_edits(
        &mut self,
        segments: &mut Segments,
        texts: &Texts,
        line: usize,
        now: &[u8],
        text: &[u8],
    ) -> bool {
        let Some(n_left) = self.n_left_by(line, now, text) else {
            return false;
        };
        for past in self.entries.drain(n_left..).rev() {
            // There is no flip among them.
            if let Past::Edit(last) = past {
                segments.undo(texts, &last.replaced);
            }
        }
        true
    }

    /// Returns how many entries remain if replacing `now` by `text` from line `line` on undoes the
    /// last ones; `None` if it undoes none.
    fn n_left_by(&self, line: usize, now: &[u8], text: &[u8]) -> Option<usize> {
        let mut removed = now;
        for (at, past) in self.entries.iter().enumerate().rev() {
            match past {
                Past::Edit(last) if last.line == line && last.new == removed => {
                    if last.old == text {
                        return Some(at);
                    }
                    removed = &last.old;
                }
                _ => return None,
            }
        }
        None
    }

    /// Undoes the last flip and everything after it, if the target now reads as it did before.
    pub fn undo_flip(&mut self, segments: &mut Segments, texts: &Texts) {
        // Most often there is none, and all entries need not be looked at for that.
        let latest = self.flips.last();
        let Some(at) = latest.and_then(|at| at.checked_sub(self.n_forgotten)) else {
            return;
        };
        segments.settle();
        let mut then = segments.state();
        for past in self.entries[at..].iter().rev() {
            match past {
                Past::Edit(edit) => then.undo(&edit.replaced),
                Past::Flip(atoms) => then.flip(atoms),
            }
        }
        let live = Target { texts, segments }.to_vec();
        if then.reads_as(texts, &live) {
            segments.restore(then);
            self.truncate(at);
        }
    }

    /// Keeps the first `n_left` entries.
    fn truncate(&mut self, n_left: usize) {
        self.entries.truncate(n_left);
        let n_done = self.n_done();
        self.flips
            .truncate(self.flips.partition_point(|&at| at < n_done));
    }

    fn push(&mut self, past: Past) {
        if self.entries.len() == MAX_PAST {
            self.entries.drain(..MAX_PAST / 2);
            self.n_forgotten += MAX_PAST / 2;
            self.flips.retain(|&at| at >= self.n_forgotten);
        }
        self.entries.push(past);
    }
}
