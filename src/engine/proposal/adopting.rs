//! Adopting the text that a diff was made from, which git identifies in the diff.
//!
//! The line `index OLD..NEW` has the ids of the two texts. If the target is one of them, byte for
//! byte, every stated line is right, and the diff is as good as two whole texts: from then on the
//! places of its hunks are known and need not be searched for.
//!
//! The engine sees only the text, not the bytes of the file, so the caller compares the ids.

use crate::diff::{Edit, Group};
use crate::patch::parse::Blobs;
use crate::text::{Text, is_unterminated};
use crate::weave::Atom;

use super::Proposal;
use super::assembly::Assembly;
use super::lines::HunkLines;
use super::search::Search;

/// One of the two texts that a diff compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The text before the change.
    Old,
    /// The text after the change.
    New,
}

impl Proposal {
    /// Returns the ids of the texts that the diff compares, as long as neither text is known;
    /// `None` if it states none, or if the proposal was made from two texts.
    pub fn blobs(&self) -> Option<&Blobs> {
        self.bare.as_ref()?.blobs()
    }

    /// Adopts `live`, the target, as the text on `side` of the diff, so that each hunk is where its
    /// header says; returns whether its lines are really there.
    ///
    /// If they are not, somebody edited the diff and left the ids as they were. These then prove
    /// nothing, so nothing changes. Nor does anything change if the user has rewritten a hunk.
    pub fn adopt(&mut self, live: &[u8], side: Side) -> bool {
        let is_open = match &self.bare {
            Some(bare) if self.agents.is_empty() => bare.is_open_ended(),
            _ => return false,
        };
        let live = Text::new(live.to_vec());
        let read = |proposal: &Proposal| whole(proposal.searching()?, &live, side);
        let mut whole = read(self);
        if whole.is_none() && is_open {
            self.toggle_last_end(true);
            whole = read(self);
            self.toggle_last_end(whole.is_none());
        }
        let Some(whole) = whole else {
            return false;
        };
        let (weave, groups) = whole.finish();
        self.weave = weave;
        self.hunks.replace_groups(groups);
        self.bare = None;
        self.become_choice(&vec![side == Side::New; self.n_hunks()]);
        true
    }
}

/// Returns the two whole texts of a bare diff, given that `live` is the one on `side`; `None` if
/// that cannot be.
fn whole(search: Search, live: &Text, side: Side) -> Option<Assembly> {
    let Search { weave, hunks, bare } = search;
    let mut whole = Assembly::default();
    let mut at = 0;
    for (hunk, group) in hunks.groups().iter().enumerate() {
        let gap = bare.start(hunk).checked_sub(whole.n_before)?;
        let start = at + gap;
        let old = weave.original().lines_bytes(group.before.clone());
        let new = weave.modified().lines_bytes(group.after.clone());
        let (here, len) = match side {
            Side::Old => (old, group.before.len()),
            Side::New => (new, group.after.len()),
        };
        let end = start + len;
        if end > live.len() || live.lines_bytes(start..end) != here {
            return None;
        }
        push_both(&mut whole, live.lines_bytes(at..start), gap)?;
        let atoms = HunkLines::new(weave, hunks, hunk).atoms();
        push_hunk(&mut whole, group, atoms, (old, new))?;
        at = end;
    }
    let rest = at..live.len();
    push_both(&mut whole, live.lines_bytes(rest.clone()), rest.len())?;
    Some(whole)
}

/// Appends `bytes`, which are `n_lines` lines, to both texts; `None` if the texts cannot be
/// continued.
fn push_both(texts: &mut Assembly, bytes: &[u8], n_lines: usize) -> Option<()> {
    append(&mut texts.original, bytes)?;
    append(&mut texts.modified, bytes)?;
    texts.n_before += n_lines;
    texts.n_after += n_lines;
    Some(())
}

/// Appends a hunk, `group` with `atoms`, whose lines are `old` and `new`; `None` if the texts
/// cannot be continued.
fn push_hunk(
    texts: &mut Assembly,
    group: &Group,
    atoms: &[Atom],
    (old, new): (&[u8], &[u8]),
) -> Option<()> {
    texts.begin_hunk();
    append(&mut texts.original, old)?;
    append(&mut texts.modified, new)?;
    let (before, after) = (group.before.start, group.after.start);
    let (n_before, n_after) = (texts.n_before, texts.n_after);
    for Atom { old, new, .. } in atoms {
        texts.edits.push(Edit {
            before: old.start - before + n_before..old.end - before + n_before,
            after: new.start - after + n_after..new.end - after + n_after,
        });
    }
    texts.n_before += group.before.len();
    texts.n_after += group.after.len();
    texts.end_hunk();
    Some(())
}

/// Appends `bytes` to `text`; `None` if that ends with a line without newline, which nothing can
/// follow.
fn append(text: &mut Vec<u8>, bytes: &[u8]) -> Option<()> {
    let is_ended = !text.is_empty() && is_unterminated(text);
    if is_ended && !bytes.is_empty() {
        return None;
    }
    text.extend_from_slice(bytes);
    Some(())
}
