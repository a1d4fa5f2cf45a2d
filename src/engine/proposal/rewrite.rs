//! Rewriting a hunk, and splitting it: the user edits its proposed lines, merges them with those of
//! the target, or makes two hunks of it.
//!
//! An edit and a merge rewrite the hunk's lines in the two texts, and its segments in the weave. An
//! edited hunk still removes its lines of the original. A merged hunk is as if it had been proposed
//! for the current lines of the target, so unapplying it restores those. Either takes the time of one comparison of the hunk's lines, plus one walk over the weave.

use std::ops::Range;

use crate::diff::{self, Budget, Edit, Group};
use crate::merge::{self, Merge};
use crate::patch::locate;
use crate::text::{Text, is_unterminated};
use crate::weave::{Atom, FlipError, LineEdit, Stretch, Weave};

use super::hunks::{HunkLines, without_ends};
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

    /// Returns the lines that hunk `hunk` replaces, including its context.
    pub fn replaced(&self, hunk: usize) -> &[u8] {
        let before = self.hunks.group(hunk).before.clone();
        self.weave.original().lines_bytes(before)
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
    pub(super) fn untouched(
        &self,
        hunk: usize,
        group: &Group,
    ) -> Result<Option<Stretch>, Obstacle> {
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
    pub(crate) fn merge(&self, hunk: usize) -> Result<Merge, Obstacle> {
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

pub(super) fn original_lines(weave: &Weave, range: Range<usize>) -> Text {
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
    let glues = |edit: &LineEdit| {
        if edit.line + edit.n_removed < n_lines {
            is_open(&edit.text)
        } else {
            edit.line == n_lines && !edit.text.is_empty() && is_open(&last)
        }
    };
    if edits.iter().any(glues) {
        Err(FlipError::Glued)
    } else {
        Ok(())
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

// Splitting a hunk into its smallest parts, or at lines that the user chooses.
//
// A hunk is a group of atoms that are shown together, so splitting it regroups them and moves
// nothing: every place stays the same. Half of the unchanged lines between two parts go to the
// part above and half to the one below, so that no line is shown twice. An atom can also be cut;
// its lines keep their order, which is that of the diff.

impl Proposal {
    /// Splits hunk `hunk` into its smallest parts, and returns their number; see `Review::split`.
    pub(crate) fn split(&mut self, hunk: usize) -> usize {
        let Range { start, end } = self.hunks.atoms(hunk);
        let atoms = self.weave.atoms();
        // Lines and what replaces them are one part: half of a replacement is rarely meant. They
        // are several atoms in a diff that adds first, and where lines were picked once.
        let is_first = |atom: &usize| atoms[atom - 1].old.end < atoms[*atom].old.start;
        let firsts: Vec<usize> = std::iter::once(start)
            .chain((start + 1..end).filter(is_first))
            .collect();
        if firsts.len() == 1 {
            return 1;
        }
        self.regroup(hunk, &firsts);
        firsts.len()
    }

    /// Makes a separate hunk of the changed lines `lines` of hunk `hunk`; see `Review::pick`.
    /// Panics if it does not have these lines, or if none is chosen.
    ///
    /// # Errors
    ///
    /// A [`FlipError`] if an atom would have to be cut that has no place, or whose lines others
    /// have changed. Then nothing has changed.
    pub(crate) fn pick(
        &mut self,
        hunk: usize,
        lines: Range<usize>,
    ) -> Result<(usize, usize), FlipError> {
        assert!(!lines.is_empty());
        let n_lines = self.n_changed_lines(hunk);
        let is_above = lines.start > 0;
        let cuts = [lines.start, lines.end].into_iter();
        let cuts: Vec<usize> = cuts.filter(|at| (1..n_lines).contains(at)).collect();
        self.cut_again(hunk, &cuts)?;
        Ok((cuts.len() + 1, usize::from(is_above)))
    }

    /// Makes a separate hunk of the lines of hunk `hunk` that it removes, `removed`, and adds, `added`;
    /// see `Review::pick_rows`. `None` if a change would have to be cut in a bare diff, or in one that
    /// is in the target in part.
    ///
    /// # Errors
    ///
    /// If a change would have to be cut whose lines others have changed. Then nothing has changed.
    pub(crate) fn pick_rows(
        &mut self,
        hunk: usize,
        removed: Range<usize>,
        added: Range<usize>,
    ) -> Result<Option<(usize, usize)>, Obstacle> {
        let group = self.hunks.group(hunk).clone();
        let atoms = &self.weave.atoms()[group.edits.clone()];
        let mut is_cut = false;
        // The edits of the three parts: above the lines, these, and below them.
        let mut parts: Vec<(usize, Edit)> = Vec::new();
        let (mut n_removed, mut n_added) = (0, 0);
        for (index, atom) in group.edits.clone().zip(atoms) {
            let n_known = parts.len();
            let old = atom.old.start - group.before.start;
            let new = atom.new.start - group.after.start;
            let cut =
                |line: usize, n_before: usize, len: usize| line.saturating_sub(n_before).min(len);
            let olds =
                [removed.start, removed.end].map(|line| cut(line, n_removed, atom.old.len()));
            let news = [added.start, added.end].map(|line| cut(line, n_added, atom.new.len()));
            let olds = [0, olds[0], olds[1], atom.old.len()];
            let news = [0, news[0], news[1], atom.new.len()];
            for part in 0..3 {
                let edit = Edit {
                    before: old + olds[part]..old + olds[part + 1],
                    after: new + news[part]..new + news[part + 1],
                };
                if !edit.before.is_empty() || !edit.after.is_empty() {
                    parts.push((part, edit));
                }
            }
            if parts.len() > n_known + 1 {
                self.weave.check(index)?;
                is_cut = true;
            }
            (n_removed, n_added) = (n_removed + atom.old.len(), n_added + atom.new.len());
        }
        let begins = |at: &usize| *at == 0 || parts[at - 1].0 != parts[*at].0;
        let firsts: Vec<usize> = (0..parts.len()).filter(begins).collect();
        let picked = firsts.iter().position(|at| parts[*at].0 == 1);
        let Some(picked) = picked else {
            return Ok(None);
        };
        if is_cut {
            let (is_in, is_out) = (self.is_in(hunk), self.is_out(hunk));
            if self.bare.is_some() || is_in == is_out || self.untouched(hunk, &group)?.is_none() {
                return Ok(None);
            }
            let old = original_lines(&self.weave, group.before.clone());
            let new = self.weave.modified().lines_bytes(group.after.clone());
            let new = Text::new(new.to_vec());
            let edits: Vec<Edit> = parts.into_iter().map(|(_, edit)| edit).collect();
            self.divide(hunk, &group, (&old, &new), &edits, is_in);
        }
        let first = group.edits.start;
        let firsts: Vec<usize> = firsts.iter().map(|at| first + at).collect();
        self.regroup(hunk, &firsts);
        Ok(Some((firsts.len(), picked)))
    }

    /// Returns for each of the `n` hunks from `hunk` on, but the first, how many changed lines the
    /// ones before it have.
    pub(crate) fn cuts(&self, hunk: usize, n: usize) -> Vec<usize> {
        let lens = (hunk..hunk + n - 1).map(|hunk| self.n_changed_lines(hunk));
        let cuts = lens.scan(0, |n_lines, len| {
            *n_lines += len;
            Some(*n_lines)
        });
        cuts.collect()
    }

    /// Returns whether the `n` hunks from `hunk` on can become one again. Those of a bare diff
    /// cannot if they are in places that do not belong together.
    pub(crate) fn can_join(&self, hunk: usize, n: usize) -> bool {
        self.bare.as_ref().is_none_or(|bare| bare.can_join(hunk, n))
    }

    /// Makes one hunk of the `n` hunks from `hunk` on, which are the parts of one. Atoms that were
    /// cut stay cut, which changes neither places nor the order of lines.
    pub(crate) fn join(&mut self, hunk: usize, n: usize) {
        self.hunks.join(hunk, n);
        let Range { start, end } = self.hunks.atoms(hunk);
        let atoms = self.weave.atoms();
        let borders = |above: usize| atoms[above].old.end == atoms[above + 1].old.start;
        let is_cut = (start > 0 && borders(start - 1)) || (end < atoms.len() && borders(end - 1));
        if let Some(bare) = &mut self.bare {
            bare.join(hunk, n, is_cut);
        }
    }

    /// Splits hunk `hunk` again where [`Proposal::cuts`] says.
    ///
    /// # Errors
    ///
    /// As for [`Proposal::pick`].
    pub(crate) fn cut_again(&mut self, hunk: usize, cuts: &[usize]) -> Result<(), FlipError> {
        for &line in cuts {
            if let (atom, 1..) = self.lines_of(hunk).cut_point(line) {
                self.weave.check(atom)?;
            }
        }
        let mut firsts = Vec::with_capacity(cuts.len() + 1);
        // From the last cut to the first, since a cut moves the atoms below.
        for &line in cuts.iter().rev() {
            let (atom, n_lines) = self.lines_of(hunk).cut_point(line);
            let n_atoms = self.weave.atoms().len();
            let first = self.cut_atom(atom, n_lines);
            let n_new = self.weave.atoms().len() - n_atoms;
            firsts.iter_mut().for_each(|other| *other += n_new);
            firsts.push(first);
        }
        firsts.push(self.hunks.atoms(hunk).start);
        firsts.reverse();
        self.regroup(hunk, &firsts);
        Ok(())
    }

    /// Returns the number of lines that hunk `hunk` removes plus that of lines that it adds.
    pub fn n_changed_lines(&self, hunk: usize) -> usize {
        self.lines_of(hunk).n_changed()
    }

    /// Cuts `atom` after its first `n_lines` changed lines, and returns the atom that then begins
    /// there; if `n_lines` is 0, cuts nothing and returns `atom` itself.
    fn cut_atom(&mut self, atom: usize, n_lines: usize) -> usize {
        if n_lines == 0 {
            return atom;
        }
        self.weave.cut(atom, n_lines);
        self.doubts.cut_atom(atom);
        self.hunks.cut_atom(atom);
        atom + 1
    }

    /// Makes the atoms of hunk `hunk`, which has `group`, of `edits`; its lines in both `texts` stay, and so
    /// does whether it is in the target, which `is_applied` says.
    pub(super) fn divide(
        &mut self,
        hunk: usize,
        group: &Group,
        texts: (&Text, &Text),
        edits: &[Edit],
        is_applied: bool,
    ) {
        let is_edited = self.is_edited(hunk);
        let is_doubted = self.doubts.is_any(group.edits.clone());
        self.weave.rewrite(group, texts, edits, is_applied);
        let first = group.edits.start;
        for atom in first..first + edits.len() {
            self.weave.set_edited(atom, is_edited);
        }
        self.doubts
            .replace(group.edits.clone(), edits.len(), is_doubted);
        let (n_old, n_new) = (texts.0.len(), texts.1.len());
        self.hunks.resize(hunk, group, (edits.len(), n_old, n_new));
    }

    /// Splits `hunk` before each of the atoms `firsts`.
    pub(super) fn regroup(&mut self, hunk: usize, firsts: &[usize]) {
        let parts = self.hunks.parts(self.weave.atoms(), hunk, firsts);
        let (n_parts, was_lost) = (parts.len(), self.offset(hunk).is_err());
        let is_cut = is_cut(self.weave.atoms(), &parts);
        if let Some(bare) = &mut self.bare {
            bare.split(hunk, self.hunks.group(hunk), &parts, &is_cut);
        }
        self.hunks.regroup(hunk, parts);
        let has_target = self.bare.as_ref().is_some_and(|bare| bare.has_target);
        if was_lost && n_parts > 1 && has_target {
            let live = self.target();
            self.search(&live);
        }
    }
}

/// Returns for each of the `parts` of a hunk whether no unchanged line separates it from a
/// neighbor.
fn is_cut(atoms: &[Atom], parts: &[Group]) -> Vec<bool> {
    let is_near = |pair: &[Group]| {
        let (above, below) = (&pair[0].edits, &pair[1].edits);
        atoms[above.end - 1].old.end == atoms[below.start].old.start
    };
    let mut is_cut = vec![false; parts.len()];
    for (at, pair) in parts.windows(2).enumerate() {
        is_cut[at] |= is_near(pair);
        is_cut[at + 1] |= is_near(pair);
    }
    is_cut
}

// The agent's lines in hunks that the user rewrote.

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
