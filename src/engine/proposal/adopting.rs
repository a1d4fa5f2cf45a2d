//! Adopting the text that a diff was made from, once it is known: git names it in the diff.
//!
//! The line `index OLD..NEW` has the ids of the two texts. If the target is one of them byte for
//! byte, every stated line is right, and the diff is as good as two whole texts: from then on its
//! hunks have places that are known and not searched for.
//!
//! The engine does not see the bytes of the file, only its text; the caller compares the ids.

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
    /// The text after it.
    New,
}

impl Proposal {
    /// Returns the ids of the texts that the diff compares, while neither is known; `None` if it
    /// states none, or for a proposal of two texts.
    pub fn blobs(&self) -> Option<&Blobs> {
        self.bare.as_ref()?.blobs()
    }

    /// Adopts `live`, the target, as the text of the diff's `side`, so that each hunk is where its
    /// header says, and returns whether the lines there agree.
    ///
    /// If the lines there are not the hunk's, whoever wrote the diff changed it by hand and left
    /// the ids: then they prove nothing, and nothing has changed. So it is where the user has
    /// rewritten a hunk.
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

/// Returns the two whole texts of a bare diff, if `live` is the one of `side`; `None` if it cannot
/// be.
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

/// Adds `bytes`, `n_lines` lines that both texts have; `None` if nothing can follow what is there.
fn push_both(texts: &mut Assembly, bytes: &[u8], n_lines: usize) -> Option<()> {
    append(&mut texts.original, bytes)?;
    append(&mut texts.modified, bytes)?;
    texts.n_before += n_lines;
    texts.n_after += n_lines;
    Some(())
}

/// Adds a hunk, `group` with `atoms`, whose lines are `old` and `new`; `None` if nothing can follow
/// what is there.
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

/// Adds `bytes` to `text`; `None` if that has ended: nothing can follow a line without newline.
fn append(text: &mut Vec<u8>, bytes: &[u8]) -> Option<()> {
    let is_ended = !text.is_empty() && is_unterminated(text);
    if is_ended && !bytes.is_empty() {
        return None;
    }
    text.extend_from_slice(bytes);
    Some(())
}
