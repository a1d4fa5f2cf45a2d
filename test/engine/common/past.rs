//! A naive journal: what the model of a target knew before and after each change, and so what an
//! editor's undo or redo brings back.
//!
//! Undoing the latest edits backward, or all changes since a flip, brings back what was known
//! before them; the edits of an undo, made backward, bring back what was known after the changes
//! that it undid. Everything else that an undo or redo does is like typing.

/// What is known of a target at some time.
#[derive(Debug, Clone)]
pub struct Known<S> {
    pub text: Vec<u8>,
    /// `None` if the model does not know it.
    pub state: Option<S>,
}

/// `new` replaced `old` from line `line` on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub line: usize,
    pub old: Vec<u8>,
    pub new: Vec<u8>,
}

impl Edit {
    pub fn backward(self) -> Edit {
        Edit {
            line: self.line,
            old: self.new,
            new: self.old,
        }
    }
}

/// An edit or, without one, a flip.
#[derive(Debug, Clone)]
struct Change<S> {
    edit: Option<Edit>,
    before: Known<S>,
    after: Known<S>,
}

/// All that happened since the model last lost track.
#[derive(Debug)]
pub struct Past<S> {
    done: Vec<Change<S>>,
    /// The changes that were undone at a time, and the edits that undid them, all in the order in
    /// which they were made.
    undone: Vec<(Vec<Change<S>>, Vec<Edit>)>,
    /// How many changes came before those undone.
    n_before: usize,
    /// How many of the last flips were redone.
    n_redone: usize,
}

impl<S: Clone> Past<S> {
    pub fn new() -> Past<S> {
        Past {
            done: Vec::new(),
            undone: Vec::new(),
            n_before: 0,
            n_redone: 0,
        }
    }

    pub fn forget(&mut self) {
        *self = Past::new();
    }

    /// Replaces each state by what `now` makes of it; the texts stay.
    pub fn map(&mut self, now: impl Fn(S) -> Option<S>) {
        let undone = self.undone.iter_mut().flat_map(|(changes, _)| changes);
        for change in self.done.iter_mut().chain(undone) {
            for known in [&mut change.before, &mut change.after] {
                known.state = known.state.take().and_then(&now);
            }
        }
    }

    pub fn flip(&mut self, before: Known<S>, after: Known<S>) {
        self.change(None, before, after);
    }

    pub fn typed(&mut self, edit: Edit, before: Known<S>, after: Known<S>) {
        self.change(Some(edit), before, after);
    }

    /// Returns the texts to which an undo can lead, those before the changes done, and to which a
    /// redo can lead, those after the changes undone.
    pub fn texts(&self) -> [Vec<Vec<u8>>; 2] {
        let befores = self.done.iter().map(|it| it.before.text.clone());
        let undone = self.undone.iter().flat_map(|(changes, _)| changes);
        let afters = undone.map(|it| it.after.text.clone());
        [befores.collect(), afters.collect()]
    }

    fn change(&mut self, edit: Option<Edit>, before: Known<S>, after: Known<S>) {
        (self.n_redone, self.undone) = (0, Vec::new());
        let change = Change {
            edit,
            before,
            after,
        };
        self.done.push(change);
    }

    /// Returns what is known after an undo or redo has made `edit`, which as typing would have led
    /// from `before` to `typed`.
    pub fn undo(&mut self, edit: Edit, before: Known<S>, typed: Known<S>) -> Known<S> {
        if let Some(at) = self.undone_by(&edit) {
            return self.go_back(at, vec![edit]);
        }
        let text = typed.text.clone();
        let change = Change {
            edit: Some(edit),
            before,
            after: typed.clone(),
        };
        self.done.push(change);
        let known = self.undone_flip(&text).or_else(|| self.redone(&text));
        known.unwrap_or(typed)
    }

    /// Returns what was known before the last flip, if the target had the same `text` then. If it
    /// was redone, that may have been part of undoing an earlier one.
    fn undone_flip(&mut self, text: &[u8]) -> Option<Known<S>> {
        let flips = (0..self.done.len()).rev();
        let flips = flips.filter(|&at| self.done[at].edit.is_none());
        let mut flips = flips.take(1 + self.n_redone).enumerate();
        let (n_crossed, at) = flips.find(|&(_, at)| self.done[at].before.text == text)?;
        let known = self.go_back(at, Vec::new());
        if n_crossed > 0 {
            (self.n_redone, self.undone) = (0, Vec::new());
        }
        Some(known)
    }

    /// Returns the first of the last edits if `edit` undoes exactly these, each of which replaced
    /// what the one before it had made.
    fn undone_by(&self, edit: &Edit) -> Option<usize> {
        let mut new = &edit.old;
        for (at, change) in self.done.iter().enumerate().rev() {
            let last = change.edit.as_ref()?;
            if (last.line, &last.new) != (edit.line, new) {
                return None;
            }
            if last.old == edit.new {
                return Some(at);
            }
            new = &last.old;
        }
        None
    }

    fn go_back(&mut self, at: usize, last: Vec<Edit>) -> Known<S> {
        if self.undone.is_empty() {
            self.n_before = at + usize::from(self.done[at].edit.is_none());
        }
        let by = self.done.iter().skip(self.n_before);
        let by: Vec<Edit> = by.filter_map(|change| change.edit.clone()).collect();
        let mut changes = self.done.split_off(at);
        let before = changes[0].before.clone();
        let n_flips = changes.iter().filter(|it| it.edit.is_none()).count();
        self.n_redone = self.n_redone.saturating_sub(n_flips);
        if at < self.n_before {
            changes.truncate(self.n_before - at);
            self.undone.push((changes, [by, last].concat()));
            self.n_before = at;
        }
        before
    }

    fn redone(&mut self, text: &[u8]) -> Option<Known<S>> {
        let (changes, by) = self.undone.last_mut()?;
        let edits = self.done[self.n_before..].iter();
        let edits: Vec<Edit> = edits.filter_map(|change| change.edit.clone()).collect();
        let n_left = by.len().checked_sub(edits.len())?;
        let backward = by[n_left..].iter().rev().cloned().map(Edit::backward);
        if !backward.eq(edits) {
            return None;
        }
        let last = changes.iter().position(|it| it.after.text == text)?;
        by.truncate(n_left);
        self.done.truncate(self.n_before);
        self.done.extend(changes.drain(..=last));
        let is_all = changes.is_empty();
        self.undone
            .truncate(self.undone.len() - usize::from(is_all));
        let redone = &self.done[self.n_before..];
        self.n_redone += redone.iter().filter(|it| it.edit.is_none()).count();
        self.n_before = self.done.len();
        self.done.last().map(|change| change.after.clone())
    }
}
