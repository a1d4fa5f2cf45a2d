//! Rewriting a hunk: the user edits its proposed lines, or merges them with those of the target.
//!
//! Both rewrite the hunk's lines in the two texts, and its segments in the weave. An edited hunk
//! still removes its lines of the original. A merged hunk is as if it had been proposed for the
//! current lines of the target, so unapplying it restores those.
//!
//! Each takes the time of one comparison of the hunk's lines, plus one walk over the weave.

use std::ops::Range;

use crate::diff::{self, Budget, Edit, Group};
use crate::merge::{self, Merged};
use crate::patch::locate;
use crate::text::{Text, is_unterminated};
use crate::weave::{FlipError, LineEdit, Stretch, Weave};

use super::lines::{HunkLines, without_ends};
use super::{Obstacle, Proposal};

/// The new lines of a hunk, as the user wrote them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewrite {
    hunk: usize,
    /// The part of the hunk that is rewritten.
    group: Group,
    old: Text,
    new: Text,
    /// The edits from `old` to `new`, whose line numbers count from the first lines of these.
    edits: Vec<Edit>,
    is_applied: bool,
    /// Whether `old` was taken from the target.
    is_merged: bool,
}

/// Edits of the target in the order of their lines, and the rewrite to record once they are made.
pub(crate) type Change = (Vec<LineEdit>, Rewrite);

impl Rewrite {
    /// Index of the hunk (0-based).
    pub(crate) fn hunk(&self) -> usize {
        self.hunk
    }
}

impl Proposal {
    /// Returns the lines that hunk `hunk` leaves, including its context.
    pub fn proposed(&self, hunk: usize) -> &[u8] {
        let after = self.hunks.group(hunk).after.clone();
        self.weave.modified().lines_bytes(after)
    }

    /// Returns the change by which hunk `hunk` leaves the lines `text` instead of
    /// [`Proposal::proposed`]; `None` if `text` equals its lines of the original.
    ///
    /// If the hunk is in the target, wholly or in part, the new lines will be in it too.
    ///
    /// # Errors
    ///
    /// If the lines that would change are not those of the original.
    pub(crate) fn edited(&self, hunk: usize, text: &[u8]) -> Result<Option<Change>, Obstacle> {
        let whole = self.hunks.group(hunk).clone();
        let old = original_lines(&self.weave, whole.before.clone());
        if text == old.bytes() {
            return Ok(None);
        }
        // Another part of the last change may follow, or one of the user's lines.
        let can_be_last =
            hunk + 1 == self.n_hunks() && (self.is_out(hunk) || is_last(&self.weave, &whole));
        let new = whole_lines(text, [old.bytes(), self.proposed(hunk)], can_be_last);
        // Two comparisons together may take no longer than one.
        let half = Budget::default().half();
        let edits = diff::edits_within(&old, &new, half).edits;
        let Some(core) = core(self.lines_of(hunk), &edits) else {
            return Ok(None);
        };
        let n_below = old.len() - core.end;
        let group = without_ends(whole, core.start, n_below);
        let new = Text::new(new.lines_bytes(core.start..new.len() - n_below).to_vec());
        let is_applied = !self.is_out(hunk);
        let stretch = self.untouched(hunk, &group)?;
        let rewrite = Rewrite {
            hunk,
            group,
            old: Text::new(old.lines_bytes(core.clone()).to_vec()),
            new,
            edits: edits
                .iter()
                .map(|edit| moved_up(edit, core.start))
                .collect(),
            is_applied,
            is_merged: false,
        };
        let stretch = stretch.filter(|_| is_applied);
        let edits = stretch.map_or(Vec::new(), |stretch| {
            let found = diff::edits_within(&stretch.live, &rewrite.new, half);
            line_edits(&stretch, &rewrite.new, &found.edits)
        });
        refuse_to_glue(&self.weave, &edits)?;
        Ok(Some((edits, rewrite)))
    }

    /// Returns the lines of the target where `group` of `hunk` is, provided that nobody else
    /// changed them; `None` if it has no place.
    fn untouched(&self, hunk: usize, group: &Group) -> Result<Option<Stretch>, Obstacle> {
        let Some(stretch) = self.weave.stretch(group) else {
            return Ok(None);
        };
        let known = self.placed_group(hunk).before;
        let is_known = known.start <= group.before.start && group.before.end <= known.end;
        if !stretch.is_untouched || !is_known {
            let line = stretch.line;
            return Err(FlipError::ChangedByUser { line }.into());
        }
        match self.reason(hunk).filter(|_| !self.is_out(hunk)) {
            Some(reason) => Err(reason.into()),
            None => Ok(Some(stretch)),
        }
    }

    /// Returns where hunk `hunk` begins in the target, and the current lines there; see
    /// `Review::live_lines`.
    ///
    /// # Errors
    ///
    /// If the place of the hunk is not known.
    pub(crate) fn live_lines(&self, hunk: usize) -> Result<(usize, Text), Obstacle> {
        match self.obstacle(hunk) {
            Some(Obstacle::NotPlaced(reason)) => Err(reason.into()),
            Some(Obstacle::Flip(_)) | None => {
                let stretch = self.stretch(hunk)?;
                Ok((stretch.line, stretch.live))
            }
        }
    }

    /// Merges hunk `hunk` with the current lines in its place; see `Review::merge`.
    ///
    /// # Errors
    ///
    /// If the place of the hunk is not known.
    pub(crate) fn merge(&self, hunk: usize) -> Result<Merged, Obstacle> {
        let group = self.placed_group(hunk);
        let live = self.stretch(hunk)?.live;
        let original = self.weave.original().lines_bytes(group.before);
        let modified = self.weave.modified().lines_bytes(group.after);
        Ok(merge::merge_within(
            original,
            live.bytes(),
            modified,
            self.budget,
        ))
    }

    /// Returns the change by which `text` replaces the lines of the target with which
    /// [`Proposal::merge`] merged hunk `hunk`; `None` if the target has just `text` there.
    ///
    /// # Errors
    ///
    /// If the place of the hunk is not known.
    pub(crate) fn merged(&self, hunk: usize, text: &[u8]) -> Result<Option<Change>, Obstacle> {
        let group = self.placed_group(hunk);
        let stretch = self.stretch(hunk)?;
        let modified = self.weave.modified().lines_bytes(group.after.clone());
        let models = [stretch.live.bytes(), modified];
        let new = whole_lines(text, models, ends_with(&self.weave, &stretch));
        let edits = diff::edits(&stretch.live, &new);
        if edits.is_empty() {
            return Ok(None);
        }
        let line_edits = line_edits(&stretch, &new, &edits);
        refuse_to_glue(&self.weave, &line_edits)?;
        let rewrite = Rewrite {
            hunk,
            group,
            old: stretch.live,
            new,
            edits,
            is_applied: true,
            is_merged: true,
        };
        Ok(Some((line_edits, rewrite)))
    }

    /// Returns the rewrite by which hunk `hunk`, whose lines were in the target and were then
    /// changed by others, proposes the current lines in its place; `None` if these are its lines of
    /// the original.
    ///
    /// # Errors
    ///
    /// If the place of the hunk is not known.
    pub(crate) fn kept(&self, hunk: usize) -> Result<Option<Rewrite>, Obstacle> {
        let group = self.placed_group(hunk);
        let old = original_lines(&self.weave, group.before.clone());
        let new = self.stretch(hunk)?.live;
        let edits = diff::edits(&old, &new);
        let rewrite = Rewrite {
            hunk,
            group,
            old,
            new,
            edits,
            is_applied: true,
            is_merged: false,
        };
        Ok(Some(rewrite).filter(|rewrite| !rewrite.edits.is_empty()))
    }

    /// Returns whether the target has just the lines that hunk `hunk` leaves in its place.
    ///
    /// # Errors
    ///
    /// If the place of the hunk is not known.
    pub(crate) fn is_as_proposed(&self, hunk: usize) -> Result<bool, Obstacle> {
        let after = self.placed_group(hunk).after;
        let stretch = self.stretch(hunk)?;
        Ok(stretch.live.bytes() == self.weave.modified().lines_bytes(after))
    }

    /// Returns the lines of the target in the place of `hunk`. That place may be in doubt, since
    /// the user sees it when merging.
    pub(super) fn stretch(&self, hunk: usize) -> Result<Stretch, Obstacle> {
        let lost = || {
            self.reason(hunk)
                .map_or(FlipError::NoPlace.into(), Obstacle::from)
        };
        self.weave
            .stretch(&self.placed_group(hunk))
            .ok_or_else(lost)
    }

    /// Returns `hunk` without the context lines that were ignored to find it.
    fn placed_group(&self, hunk: usize) -> Group {
        self.lines_of(hunk).group_within(self.fuzz(hunk))
    }

    /// Records `rewrite`, after its edits have been made.
    pub(crate) fn take_over(&mut self, rewrite: &Rewrite) {
        let Rewrite { hunk, group, .. } = rewrite;
        let is_doubted = self.doubts.is_any(group.edits.clone());
        self.agents.keep(&self.weave, group.edits.clone());
        let (n_atoms, n_old, n_new) = (rewrite.edits.len(), rewrite.old.len(), rewrite.new.len());
        let is_applied = rewrite.is_applied && !rewrite.is_merged;
        let texts = (&rewrite.old, &rewrite.new);
        self.weave.rewrite(group, texts, &rewrite.edits, is_applied);
        let first = group.edits.start;
        let atoms = first..first + n_atoms;
        for atom in atoms.clone() {
            let is_agents = self.agents.has(&self.weave, atom);
            self.weave.set_edited(atom, !is_agents);
        }
        if rewrite.is_merged {
            // A separate flip, so that undoing the edit in the target unapplies the hunk.
            self.weave.flip(&atoms.collect::<Vec<usize>>());
        }
        let is_doubted = is_doubted && !rewrite.is_merged;
        self.doubts
            .replace(group.edits.clone(), n_atoms, is_doubted);
        self.hunks.resize(*hunk, group, (n_atoms, n_old, n_new));
        if let Some(bare) = &mut self.bare {
            bare.lengthen(*hunk, locate::offset(group.before.len(), n_old));
        }
    }

    /// Returns whether the user edited any change of hunk `hunk`.
    pub(crate) fn is_edited(&self, hunk: usize) -> bool {
        let atoms = self.lines_of(hunk).atoms();
        atoms.iter().any(|atom| atom.is_edited)
    }
}

/// Returns the lines of `hunk`, counted from its first, from the first to the last one that its
/// changes or `edits` affect; `None` if there are no `edits`.
fn core(hunk: HunkLines, edits: &[Edit]) -> Option<Range<usize>> {
    let (first, last) = (edits.first()?, edits.last()?);
    let changed = hunk.changed();
    Some(changed.start.min(first.before.start)..changed.end.max(last.before.end))
}

fn original_lines(weave: &Weave, range: Range<usize>) -> Text {
    Text::new(weave.original().lines_bytes(range).to_vec())
}

/// Returns whether no line of the target follows `group`; true also if it has no place.
fn is_last(weave: &Weave, group: &Group) -> bool {
    let stretch = weave.stretch(group);
    stretch.is_none_or(|stretch| ends_with(weave, &stretch))
}

/// Returns whether no line of the target follows `stretch`.
fn ends_with(weave: &Weave, stretch: &Stretch) -> bool {
    stretch.line + stretch.live.len() == weave.target().n_lines()
}

/// Refuses edits after which a line without terminator would be followed by another line.
fn refuse_to_glue(weave: &Weave, edits: &[LineEdit]) -> Result<(), FlipError> {
    let target = weave.target();
    let n_lines = target.n_lines();
    let last = target.lines(n_lines.saturating_sub(1)..n_lines);
    let glues = |edit: &LineEdit| match edit.line + edit.n_removed < n_lines {
        true => is_open(&edit.text),
        false => edit.line == n_lines && !edit.text.is_empty() && is_open(&last),
    };
    match edits.iter().any(glues) {
        true => Err(FlipError::Glued),
        false => Ok(()),
    }
}

/// Converts `edits`, which turn `stretch` into `new`, to edits of the target.
fn line_edits(stretch: &Stretch, new: &Text, edits: &[Edit]) -> Vec<LineEdit> {
    let edit = |edit: &Edit| LineEdit {
        line: stretch.line + edit.before.start,
        n_removed: edit.before.len(),
        text: new.lines_bytes(edit.after.clone()).to_vec(),
    };
    edits.iter().map(edit).collect()
}

/// Returns `text` with a terminator at its end, of the kind that `models` have. But if it
/// `can_be_last` in the target and one of `models` ends without a terminator, it is returned as it
/// is, since the user may want none.
fn whole_lines(text: &[u8], models: [&[u8]; 2], can_be_last: bool) -> Text {
    let mut text = text.to_vec();
    if is_open(&text) && !(can_be_last && models.iter().any(|model| is_open(model))) {
        let has_cr = models.iter().any(|model| model.ends_with(b"\r\n"));
        text.extend_from_slice(if has_cr { b"\r\n" } else { b"\n" });
    }
    Text::new(text)
}

fn is_open(text: &[u8]) -> bool {
    !text.is_empty() && is_unterminated(text)
}

fn moved_up(edit: &Edit, by: usize) -> Edit {
    Edit {
        before: edit.before.start - by..edit.before.end - by,
        after: edit.after.start - by..edit.after.end - by,
    }
}
