//! The changes of the target that can be undone.
//!
//! Only undoing the very latest edits brings back the same lines, and only a redo of what was undone
//! flips the same atoms again; any other edit counts as a new one. An editor's redo makes the edits
//! of its undo backward, so it is recognized by these and not by the text, to which other edits may
//! lead as well. The journal knows what was done and undone, in order; how that changes segments is
//! up to these.

use super::segments::{Replaced, Segments, State};
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
    /// What was undone and can be redone, the latest undone last. It begins with a flip, since
    /// undone edits matter only if a flip after them can be redone. Emptied by each change that is
    /// neither an undo nor a redo.
    undone: Vec<Undone>,
    /// How many changes came before those that were undone. Later ones were made by undos and redos
    /// and are not known to be one of them.
    n_before_undone: usize,
    /// How many of the last flips were redone since the last change that is neither an undo nor a
    /// redo.
    n_redone: usize,
}

/// A change of the target that can be undone, or redone if it was undone.
#[derive(Debug, Clone)]
enum Past {
    /// An outside edit, and the replacement of segments that undoes or redoes it.
    Edit(Edit, Replaced),
    /// These atoms were flipped.
    Flip(Vec<usize>),
}

/// An outside edit: `new` replaced `old` from line `line` (0-based) of the target on.
#[derive(Debug, Clone)]
struct Edit {
    line: usize,
    old: Vec<u8>,
    new: Vec<u8>,
}

/// Changes that were undone together.
#[derive(Debug, Clone)]
struct Undone {
    /// The changes, the latest first.
    changes: Vec<Past>,
    /// The edits that undid them, in order.
    by: Vec<Edit>,
}

impl Edit {
    fn undoes(&self, other: &Edit) -> bool {
        self.line == other.line && self.old == other.new && self.new == other.old
    }
}

impl Past {
    fn edit(&self) -> Option<&Edit> {
        match self {
            Past::Edit(edit, _) => Some(edit),
            Past::Flip(_) => None,
        }
    }

    fn is_flip(&self) -> bool {
        self.edit().is_none()
    }

    /// Undoes this change, the latest one in `state`, or redoes it if it was undone. Returns how
    /// the segments that this replaced are brought back, if it replaced any.
    fn carry_out(&self, state: &mut State) -> Option<Replaced> {
        match self {
            Past::Edit(_, replaced) => Some(state.replace(replaced)),
            Past::Flip(atoms) => {
                state.flip(atoms);
                None
            }
        }
    }

    /// Returns the inverse of this change, which was carried out and replaced segments as
    /// `replaced` says.
    fn inverse(self, replaced: Option<Replaced>) -> Past {
        match (self, replaced) {
            (Past::Edit(edit, _), Some(replaced)) => Past::Edit(edit, replaced),
            (past, _) => past,
        }
    }
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
        self.push(Past::Edit(Edit { line, old, new }, replaced));
    }

    /// Records that `atoms` were flipped.
    pub fn push_flip(&mut self, atoms: &[usize]) {
        self.forget_undone();
        self.push(Past::Flip(atoms.to_vec()));
    }

    /// Forgets what was undone, so that nothing can be redone.
    pub fn forget_undone(&mut self) {
        self.undone.clear();
        self.n_redone = 0;
    }

    /// Forgets everything, so that nothing can be undone line by line, or redone.
    pub fn forget(&mut self) {
        self.n_forgotten = self.n_done();
        self.entries.clear();
        self.flips.clear();
        self.forget_undone();
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
        let undo = |past: &Past| match past {
            Past::Edit(_, replaced) => Some(segments.undo(texts, replaced)),
            // There is none among them.
            Past::Flip(_) => None,
        };
        let replaced = self.entries[n_left..].iter().rev().map(undo).collect();
        let edit = Edit {
            line,
            old: now.to_vec(),
            new: text.to_vec(),
        };
        self.go_back(n_left, replaced, Some(edit));
        true
    }

    /// Returns how many entries remain if replacing `now` by `text` from line `line` on undoes the
    /// last ones; `None` if it undoes none.
    fn n_left_by(&self, line: usize, now: &[u8], text: &[u8]) -> Option<usize> {
        let mut removed = now;
        for (at, past) in self.entries.iter().enumerate().rev() {
            match past {
                Past::Edit(last, _) if last.line == line && last.new == removed => {
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

    /// Undoes the last flip and everything after it, if the target now reads as it did before;
    /// returns whether it does. What seemed to redo that flip may have been part of undoing an
    /// earlier one; then nothing can be redone.
    pub fn undo_flip(&mut self, segments: &mut Segments, texts: &Texts) -> bool {
        let flips = self.flips.iter().rev().take(1 + self.n_redone);
        let flips: Vec<usize> = flips.map(|at| at - self.n_forgotten).collect();
        let latest = flips.first().copied();
        // Most often there is none, and all entries need not be looked at for that.
        if flips.is_empty() {
            return false;
        }
        segments.settle();
        let (mut then, mut replaced) = (segments.state(), Vec::new());
        for at in flips {
            let later = &self.entries[at..self.entries.len() - replaced.len()];
            replaced.extend(later.iter().rev().map(|past| past.carry_out(&mut then)));
            if segments.reads_as(texts, &then) {
                segments.restore(then);
                self.go_back(at, replaced, None);
                if Some(at) != latest {
                    self.forget_undone();
                }
                return true;
            }
        }
        false
    }

    /// Redoes the changes that were undone last, if the edits since then are those that undid them,
    /// made backward; only as many of these changes as give the text that the target now has.
    pub fn redo(&mut self, segments: &mut Segments, texts: &Texts) {
        let at = self.n_before_undone.checked_sub(self.n_forgotten);
        let (Some(Undone { changes, by }), Some(at)) = (self.undone.last(), at) else {
            return self.undone.clear();
        };
        let edits = self.entries[at..].iter();
        let is_backward = |(past, by): (&Past, &Edit)| past.edit().is_some_and(|it| it.undoes(by));
        if edits.len() > by.len() || !edits.zip(by.iter().rev()).all(is_backward) {
            return;
        }
        segments.settle();
        let (mut then, mut replaced) = (segments.state(), Vec::new());
        for past in self.entries[at..].iter().rev() {
            past.carry_out(&mut then);
        }
        for past in changes.iter().rev() {
            replaced.push(past.carry_out(&mut then));
            if segments.reads_as(texts, &then) {
                segments.restore(then);
                return self.go_forward(at, replaced);
            }
        }
    }

    /// Keeps the first `n_left` entries. The others undid what had undone the next changes, so these
    /// were redone, which replaced segments as `replaced` says.
    fn go_forward(&mut self, n_left: usize, replaced: Vec<Option<Replaced>>) {
        let Some(Undone {
            mut changes,
            mut by,
        }) = self.undone.pop()
        else {
            return;
        };
        by.truncate(by.len() - (self.entries.len() - n_left));
        self.truncate(n_left);
        let redone = changes.split_off(changes.len() - replaced.len());
        for (past, replaced) in redone.into_iter().rev().zip(replaced) {
            self.n_redone += usize::from(past.is_flip());
            self.push(past.inverse(replaced));
        }
        self.n_before_undone = self.n_done();
        if !changes.is_empty() {
            self.undone.push(Undone { changes, by });
        }
    }

    /// Keeps the first `n_left` entries. The others were undone, the latest first, which replaced
    /// segments as `replaced` says: by `last`, or if that is `None`, by the last of them.
    fn go_back(&mut self, n_left: usize, replaced: Vec<Option<Replaced>>, last: Option<Edit>) {
        let is_first = self.undone.is_empty();
        // The others were made by undos and redos, or are not followed by a flip to be redone.
        let n_known = if is_first {
            n_left + usize::from(self.entries[n_left].is_flip())
        } else {
            self.n_before_undone.saturating_sub(self.n_forgotten)
        };
        if n_known <= n_left {
            return self.truncate(n_left);
        }
        let n_unknown = self.entries.len().saturating_sub(n_known);
        let by = self.entries.iter().skip(n_known).filter_map(Past::edit);
        let by: Vec<Edit> = by.cloned().chain(last).collect();
        let undone = self.entries.drain(n_left..).rev().zip(replaced);
        let undone = undone.skip(n_unknown);
        let changes: Vec<Past> = undone.map(|(past, how)| past.inverse(how)).collect();
        self.truncate(n_left);
        self.n_before_undone = self.n_done();
        self.undone.push(Undone { changes, by });
    }

    /// Keeps the first `n_left` entries.
    fn truncate(&mut self, n_left: usize) {
        self.entries.truncate(n_left);
        let n_done = self.n_done();
        let n_flips = self.flips.partition_point(|&at| at < n_done);
        self.n_redone = self.n_redone.saturating_sub(self.flips.len() - n_flips);
        self.flips.truncate(n_flips);
    }

    fn push(&mut self, past: Past) {
        if self.entries.len() == MAX_PAST {
            self.entries.drain(..MAX_PAST / 2);
            self.n_forgotten += MAX_PAST / 2;
            self.flips.retain(|&at| at >= self.n_forgotten);
        }
        if past.is_flip() {
            self.flips.push(self.n_done());
        }
        self.entries.push(past);
    }
}
