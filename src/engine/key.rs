//! By what a hunk is known in every review of its file, also after a restart.
//!
//! A [`Key`] is made of what the two texts hold, never of what is shown: of the lines that the hunk
//! changes, and of its place. The place is a line of what is reviewed now, with which the next review
//! begins, told by a digest of all lines above it and one of all below. So a key holds until something
//! else is kept, and is then made anew. An agent that writes on changes neither of the two; what is
//! reviewed above since changes only the first, and what is below only the second, so that one of the
//! two is enough. No two lines of a text have the same place.
//!
//! Which lines are one hunk depends on how much context is shown, and on what else was changed
//! nearby. So what was a hunk, or a part that the user had split off, is also found among the lines
//! of a larger hunk; there, too, it must be in its place.
//!
//! If the original has no such place any more, since lines on both sides were reviewed, the hunk is the one
//! that changes the same lines and has the same lines beside it in the modified text. That it is the only
//! one that changes the same lines says little: it may be among other lines by now, and this another one. If
//! several are left, or if the same change is now in another place, it is not sure which one is meant, and
//! nothing must be done to any of them.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use crate::change::{Entry, FileChange, Operation};
use crate::diff::Edit;
use crate::proposal::Proposal;
use crate::review::{Mark, Review};
use crate::text::Text;

/// Number of lines on each side that are beside a hunk.
const N_BESIDE: usize = 3;

/// The key of a hunk, or of another entry of a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Key {
    /// A hunk, or a part of one.
    Lines(Lines),
    /// Another entry: its kind and its values.
    Whole(String),
}

/// The key of changed lines. Of what an earlier version has recorded, only `change` is known.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Lines {
    /// A digest of the lines that are removed and added, with their signs, and of those between them.
    change: u128,
    n_removed: usize,
    n_added: usize,
    /// Digests of all lines above and below of what is reviewed; 0 if they are not known.
    place: [u64; 2],
    /// A digest of the lines beside it; 0 if another hunk with the same change had the same.
    beside: u64,
}

impl fmt::Display for Key {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Key::Whole(words) => to.write_str(words),
            Key::Lines(lines) => {
                let [above, below] = lines.place;
                write!(
                    to,
                    "{:032x}-{}-{}",
                    lines.change, lines.n_removed, lines.n_added
                )?;
                write!(to, "-{above:x}-{below:x}-{:x}", lines.beside)
            }
        }
    }
}

impl FromStr for Key {
    type Err = Infallible;

    /// Reads what `Display` writes, or 64 hexadecimal digits, by which an earlier version knew the
    /// lines. Any other text is no key of a hunk.
    fn from_str(text: &str) -> Result<Key, Infallible> {
        let known = if text.len() == 64 {
            known_before(text)
        } else {
            lines_of(text)
        };
        Ok(known.map_or_else(|| Key::Whole(text.to_owned()), Key::Lines))
    }
}

impl Key {
    /// Tells whether this entry has come in the place of `gone`: one of its kind, or bytes of lines.
    fn is_instead(&self, gone: &Key) -> bool {
        let Key::Whole(now) = self else {
            return false;
        };
        let wanted = match gone {
            Key::Whole(gone) => gone,
            Key::Lines(_) => "binary",
        };
        now.split(' ').next() == wanted.split(' ').next()
    }
}

fn known_before(text: &str) -> Option<Lines> {
    Some(Lines {
        change: u128::from_str_radix(text.get(..32)?, 16).ok()?,
        n_removed: 0,
        n_added: 0,
        place: [0, 0],
        beside: 0,
    })
}

fn lines_of(text: &str) -> Option<Lines> {
    let parts: Vec<&str> = text.split('-').collect();
    let &[change, n_removed, n_added, above, below, beside] = &parts[..] else {
        return None;
    };
    let digest = |digits| u64::from_str_radix(digits, 16).ok();
    Some(Lines {
        change: u128::from_str_radix(change, 16).ok()?,
        n_removed: n_removed.parse().ok()?,
        n_added: n_added.parse().ok()?,
        place: [digest(above)?, digest(below)?],
        beside: digest(beside)?,
    })
}

/// Lines of a hunk, which count those that it removes and those that it adds from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Removed lines.
    pub removed: Range<usize>,
    /// Added lines.
    pub added: Range<usize>,
}

/// Where what a key means may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// Nowhere; this entry, if there is one, has come in its place.
    Gone(Option<usize>),
    /// It is this entry of the file, or only a part of it.
    Sure(usize, Option<Part>),
    /// It may be any of these entries of the file.
    Unsure(Vec<usize>),
}

/// The keys of the entries of a file.
pub struct Keys<'a> {
    all: Vec<Key>,
    hunks: Option<Hunks<'a>>,
}

impl<'a> Keys<'a> {
    /// Returns the keys of `file`, by which the next review knows what is not kept in this one.
    pub fn of(file: &'a FileChange) -> Keys<'a> {
        let operations: Vec<&Operation> = file.operations().collect();
        let all = file.entries().filter_map(|entry| match entry {
            Entry::Operation(at) => Some(Key::Whole(words(operations[at], file.content))),
            Entry::Hunk(_) => None,
        });
        let mut all: Vec<Key> = all.collect();
        let hunks = file.review().map(|review| Hunks::new(review, all.len()));
        let lines = hunks.iter().flat_map(|hunks| hunks.keys.iter().cloned());
        all.extend(lines.map(Key::Lines));
        Keys { all, hunks }
    }

    /// Returns the keys, in the order of the entries.
    pub fn all(&self) -> &[Key] {
        &self.all
    }

    /// Returns where what `wanted` means is in this file.
    pub fn find(&self, wanted: &Key) -> Found {
        let (Key::Lines(wanted), Some(hunks)) = (wanted, &self.hunks) else {
            let at = self.all.iter().position(|key| key == wanted);
            let instead = || self.all.iter().position(|key| key.is_instead(wanted));
            return at.map_or_else(|| Found::Gone(instead()), |at| Found::Sure(at, None));
        };
        let equal = (0..).zip(&hunks.keys);
        let equal: Vec<(usize, &Lines)> = equal
            .filter(|(_, lines)| lines.change == wanted.change)
            .collect();
        let mut placed = hunks.parts(wanted);
        let whole = equal.iter().filter(|(hunk, _)| hunks.is_at(*hunk, wanted));
        placed.extend(whole.map(|(hunk, _)| (*hunk, None)));
        if let [(at, part)] = &mut placed[..] {
            return Found::Sure(hunks.first + *at, part.take());
        }
        let all: Vec<usize> = match &placed[..] {
            [] => equal.iter().map(|(at, _)| hunks.first + at).collect(),
            placed => placed.iter().map(|(at, _)| hunks.first + at).collect(),
        };
        let is_near = |lines: &Lines| wanted.beside != 0 && lines.beside == wanted.beside;
        let mut near = equal.iter().filter(|(_, lines)| is_near(lines));
        match (&all[..], near.next(), near.next()) {
            ([], ..) => Found::Gone(hunks.instead(wanted)),
            (_, Some((at, _)), None) if !hunks.has_place(wanted) => {
                Found::Sure(hunks.first + at, None)
            }
            _ => Found::Unsure(all),
        }
    }
}

/// A hunk, a change in it, and a line of the original where that, or a part of it, begins or ends.
type At = (usize, usize, usize);

/// A text in which hunks have places: the original, or what is reviewed of it now.
struct Base<'a> {
    text: Cow<'a, Text>,
    is_kept: Vec<bool>,
    /// By how many lines what is kept moves the lines of each hunk, and those below the last one.
    moved: Vec<isize>,
}

impl<'a> Base<'a> {
    fn new(text: Cow<'a, Text>, edits: &[Vec<Edit>], is_kept: Vec<bool>) -> Base<'a> {
        let mut moved = vec![0];
        for (edits, is_kept) in edits.iter().zip(&is_kept) {
            let more = |edit: &Edit| edit.after.len() as isize - edit.before.len() as isize;
            let more = edits.iter().map(more).sum::<isize>() * isize::from(*is_kept);
            moved.push(moved[moved.len() - 1] + more);
        }
        Base {
            text,
            is_kept,
            moved,
        }
    }

    /// Returns the line that was the line `line` of the original, in `hunk`, or just above it.
    fn line(&self, hunk: usize, line: usize) -> usize {
        line.wrapping_add_signed(self.moved[hunk])
    }
}

/// The hunks of a file.
struct Hunks<'a> {
    texts: [&'a Text; 2],
    edits: Vec<Vec<Edit>>,
    /// The index of the first among the entries of the file.
    first: usize,
    keys: Vec<Lines>,
    /// The original, and, if a hunk is kept, what is reviewed now: a key may have been made of either.
    bases: Vec<Base<'a>>,
    /// What begins or ends at a line, by digests of all lines above and below that.
    places: OnceCell<[HashMap<u64, Vec<At>>; 2]>,
    /// All digests of the bases.
    known: OnceCell<HashSet<u64>>,
}

impl<'a> Hunks<'a> {
    fn new(review: &'a Review, first: usize) -> Hunks<'a> {
        let proposal = review.proposal();
        let texts = proposal.texts();
        let all = 0..proposal.n_hunks();
        let edits: Vec<_> = all.map(|hunk| runs(proposal, hunk)).collect();
        let is_kept = (0..edits.len()).map(|hunk| review.mark(hunk) == Mark::Applied);
        let is_kept: Vec<bool> = is_kept.collect();
        let none = vec![false; is_kept.len()];
        let mut bases = vec![Base::new(Cow::Borrowed(texts[0]), &edits, none)];
        if is_kept.contains(&true) {
            let reviewed = Cow::Owned(Text::new(review.reviewed()));
            bases.push(Base::new(reviewed, &edits, is_kept));
        }
        let mut hunks = Hunks {
            texts,
            edits,
            first,
            keys: Vec::new(),
            bases,
            places: OnceCell::new(),
            known: OnceCell::new(),
        };
        hunks.keys = hunks.keys();
        hunks
    }

    fn keys(&self) -> Vec<Lines> {
        let base = &self.bases[self.bases.len() - 1];
        let ends = self.edits.iter().enumerate().map(|(hunk, edits)| {
            let [start, end] = ends(edits);
            [base.line(hunk, start), base.line(hunk + 1, end)]
        });
        let ends: Vec<[usize; 2]> = ends.collect();
        let digests = digests(&base.text, ends.concat());
        let keys = self.edits.iter().zip(ends).map(|(edits, [start, end])| {
            let [first, last] = [&edits[0], &edits[edits.len() - 1]];
            Lines {
                change: self.change(edits),
                n_removed: edits.iter().map(|edit| edit.before.len()).sum(),
                n_added: edits.iter().map(|edit| edit.after.len()).sum(),
                place: [digests[&start][0], digests[&end][1]],
                beside: beside(self.texts[1], first.after.start, last.after.end),
            }
        });
        let mut keys: Vec<Lines> = keys.collect();
        let mut n_alike: HashMap<(u128, u64), usize> = HashMap::new();
        for lines in &keys {
            *n_alike.entry((lines.change, lines.beside)).or_default() += 1;
        }
        for lines in &mut keys {
            if n_alike[&(lines.change, lines.beside)] > 1 {
                lines.beside = 0;
            }
        }
        keys
    }

    fn places(&self) -> &[HashMap<u64, Vec<At>>; 2] {
        self.places.get_or_init(|| {
            let mut places: [HashMap<u64, Vec<At>>; 2] = Default::default();
            for base in &self.bases {
                let pending = self.edits.iter().enumerate();
                let pending = pending.filter(|(hunk, _)| !base.is_kept[*hunk]);
                let all = pending.flat_map(|(hunk, edits)| {
                    let lines = |edit: &Edit| edit.before.start..=edit.before.end;
                    let edits = edits.iter().map(lines).enumerate();
                    edits.flat_map(move |(index, lines)| lines.map(move |line| (hunk, index, line)))
                });
                let all: Vec<At> = all.collect();
                let lines = all.iter().map(|(hunk, _, line)| base.line(*hunk, *line));
                let digests = digests(&base.text, lines.collect());
                for at in all {
                    let digests = digests[&base.line(at.0, at.2)];
                    for (places, digest) in places.iter_mut().zip(digests) {
                        places.entry(digest).or_default().push(at);
                    }
                }
            }
            places
        })
    }

    /// Returns whether all of `hunk` is where `wanted` was.
    fn is_at(&self, hunk: usize, wanted: &Lines) -> bool {
        let edits = &self.edits[hunk];
        let indices = [0, edits.len() - 1].into_iter().zip(ends(edits));
        let places = self.places().iter().zip(wanted.place).zip(indices);
        let mut places = places.map(|((places, place), (index, line))| {
            let there = places.get(&place);
            there.is_some_and(|there| there.contains(&(hunk, index, line)))
        });
        places.any(|is_there| is_there)
    }

    /// Returns whether a base has the place of `wanted`.
    fn has_place(&self, wanted: &Lines) -> bool {
        let known = self.known.get_or_init(|| {
            let all = self.bases.iter().flat_map(|base| {
                let lines = (0..=base.text.len()).collect();
                digests(&base.text, lines).into_values().flatten()
            });
            all.collect()
        });
        wanted.place.iter().any(|digest| known.contains(digest))
    }

    /// Returns the entry that changes something where `wanted` did.
    fn instead(&self, wanted: &Lines) -> Option<usize> {
        let places = self.places().iter().zip(wanted.place);
        let mut there = places.filter_map(|(places, place)| places.get(&place)?.first());
        there.next().map(|(hunk, ..)| self.first + hunk)
    }

    /// Returns which hunks have parts that change what `wanted` does in its place, and these.
    fn parts(&self, wanted: &Lines) -> Vec<(usize, Option<Part>)> {
        let mut found = Vec::new();
        for (side, places) in self.places().iter().enumerate() {
            for &(hunk, index, line) in places.get(&wanted.place[side]).into_iter().flatten() {
                let (above, edit) = (&self.edits[hunk][..index], &self.edits[hunk][index]);
                let n_removed: usize = above.iter().map(|edit| edit.before.len()).sum();
                let n_added: usize = above.iter().map(|edit| edit.after.len()).sum();
                let removed = n_removed + line - edit.before.start;
                for added in n_added..=n_added + edit.after.len() {
                    // The part begins at this line, or ends there.
                    let range = |at: usize, len: usize| match side {
                        0 => Some(at..at + len),
                        _ => Some(at.checked_sub(len)?..at),
                    };
                    let part = range(removed, wanted.n_removed).zip(range(added, wanted.n_added));
                    let part = part.map(|(removed, added)| Part { removed, added });
                    let part =
                        part.filter(|part| self.is_change(hunk, part, (side, index), wanted));
                    // Without it, the lines are the same.
                    let is_known = |part: &Part| {
                        found.iter().any(|(other, known): &(usize, Option<Part>)| {
                            let known = known.as_ref().filter(|_| *other == hunk);
                            known.is_some_and(|known| {
                                known.removed == part.removed
                                    && self.left(hunk, known).eq(self.left(hunk, part))
                            })
                        })
                    };
                    let part = part.filter(|part| !is_known(part));
                    found.extend(part.map(|part| (hunk, Some(part))));
                }
            }
        }
        found
    }

    /// Returns the lines that `hunk` adds without `part`, each with the index of its change.
    fn left<'h>(&'h self, hunk: usize, part: &'h Part) -> impl Iterator<Item = (usize, &'h [u8])> {
        let edits = self.edits[hunk].iter().enumerate();
        let lines = edits.flat_map(|(index, edit)| {
            let lines = self.texts[1].lines(edit.after.clone());
            lines.map(move |line| (index, line))
        });
        let lines = lines.enumerate().filter(|(n, _)| !part.added.contains(n));
        lines.map(|(_, line)| line)
    }

    /// Returns whether `part` of `hunk` is not all of it, has no gap, and changes what `wanted` does. The
    /// change with the index `end` is its first on side 0, or its last on side 1.
    fn is_change(
        &self,
        hunk: usize,
        part: &Part,
        (side, end): (usize, usize),
        wanted: &Lines,
    ) -> bool {
        let within = |lines: &Range<usize>, chosen: &Range<usize>, n_above: &mut usize| {
            let at = |line: usize| line.saturating_sub(*n_above).min(lines.len()) + lines.start;
            let within = at(chosen.start)..at(chosen.end);
            *n_above += lines.len();
            within
        };
        let (mut n_removed, mut n_added) = (0, 0);
        let chosen = self.edits[hunk].iter().map(|edit| Edit {
            before: within(&edit.before, &part.removed, &mut n_removed),
            after: within(&edit.after, &part.added, &mut n_added),
        });
        let chosen: Vec<Edit> = chosen.collect();
        let is_empty = |edit: &&Edit| edit.before.is_empty() && edit.after.is_empty();
        let n_above = chosen.iter().take_while(is_empty).count();
        let n_below = chosen.iter().rev().take_while(is_empty).count();
        let all = self.edits[hunk].iter().zip(&chosen);
        let inner: Vec<_> = all.take(chosen.len() - n_below).skip(n_above).collect();
        let has_gap = inner.windows(2).any(|two| {
            let [(above, upper), (below, lower)] = [two[0], two[1]];
            let ends = |edit: &Edit| [edit.before.end, edit.after.end];
            let starts = |edit: &Edit| [edit.before.start, edit.after.start];
            ends(above) != ends(upper) || starts(below) != starts(lower)
        });
        let ends = [n_above, chosen.len().wrapping_sub(1 + n_below)];
        !has_gap
            && ends[side] == end
            && part.removed.end <= n_removed
            && part.added.end <= n_added
            && part.removed.len() + part.added.len() < n_removed + n_added
            && self.change(&chosen[n_above..chosen.len() - n_below]) == wanted.change
    }

    fn change(&self, edits: &[Edit]) -> u128 {
        number(Sha256::new_with_prefix(signed(self.texts, edits, true)))
    }
}

/// Returns the lines that `hunk` removes and adds, with their signs, as in a diff without context.
pub fn changed_lines(proposal: &Proposal, hunk: usize) -> Vec<u8> {
    signed(proposal.texts(), &runs(proposal, hunk), false)
}

/// Returns the line of the original where `edits`, those of a hunk, begin, and the one after them.
fn ends(edits: &[Edit]) -> [usize; 2] {
    [edits[0].before.start, edits[edits.len() - 1].before.end]
}

/// Returns the changes of `hunk`, those that were cut in two as one.
fn runs(proposal: &Proposal, hunk: usize) -> Vec<Edit> {
    let mut runs: Vec<Edit> = Vec::new();
    for edit in proposal.edits(hunk) {
        match runs.last_mut() {
            Some(last) if last.before.end == edit.before.start => {
                (last.before.end, last.after.end) = (edit.before.end, edit.after.end);
            }
            _ => runs.push(edit),
        }
    }
    runs
}

/// Returns the lines that `edits` remove and add, with their signs, and those between them if `has_gaps`
/// says so.
fn signed([original, modified]: [&Text; 2], edits: &[Edit], has_gaps: bool) -> Vec<u8> {
    let mut signed = Vec::new();
    let mut at = None;
    for edit in edits {
        if let Some(at) = at.replace(edit.before.end).filter(|_| has_gaps) {
            for line in original.lines(at..edit.before.start) {
                signed.push(b' ');
                signed.extend(line);
            }
        }
        let sides = [
            (b'-', original, &edit.before),
            (b'+', modified, &edit.after),
        ];
        for (sign, text, lines) in sides {
            for line in text.lines(lines.clone()) {
                signed.push(sign);
                signed.extend(line);
                if !line.ends_with(b"\n") {
                    signed.extend(b"\n\\ No newline at end of file\n");
                }
            }
        }
    }
    signed
}

/// Returns what tells `bytes` from others; see [`FileChange::content`].
pub fn content(bytes: &[u8]) -> u64 {
    short(Sha256::new_with_prefix(bytes))
}

/// Returns words for the kind and the values of `operation`; see [`FileChange::content`].
fn words(operation: &Operation, known: Option<u64>) -> String {
    let known = known.map_or_else(String::new, |known| format!(" {known:x}"));
    let link = |target: &Option<Vec<u8>>| target.as_ref().map_or(0, |target| content(target));
    match operation {
        Operation::Create { mode } => format!("create {mode:o}{known}"),
        Operation::Delete { text } => format!("delete {:x}", content(text)),
        Operation::Rename => "rename".to_owned(),
        Operation::Mode { old, new } => format!("mode {old:o} {new:o}"),
        Operation::Link { old, new } => format!("link {:x} {:x}", link(old), link(new)),
        Operation::Binary => format!("binary{known}"),
        Operation::Reading { old, new } => {
            format!("reading {:x} {:x}", content(old), content(new))
        }
        Operation::Kind { old, new } => {
            let [old, new] = [old, new].map(|node| content(&node.words()));
            format!("kind {old:x} {new:x}")
        }
    }
}

/// Returns a digest of the lines beside those from `start` to `end` of `modified`, never 0.
fn beside(modified: &Text, start: usize, end: usize) -> u64 {
    let above = modified.lines_bytes(start.saturating_sub(N_BESIDE)..start);
    let below = modified.lines_bytes(end..(end + N_BESIDE).min(modified.len()));
    short(
        Sha256::new()
            .chain_update(above)
            .chain_update([0])
            .chain_update(below),
    )
}

/// Returns the digests of all lines of `text` above and below each of `lines`; none of them is 0.
fn digests(text: &Text, mut lines: Vec<usize>) -> HashMap<usize, [u64; 2]> {
    lines.sort_unstable();
    lines.dedup();
    let (mut above, mut at) = (Sha256::new_with_prefix("above"), 0);
    let mut found: HashMap<usize, [u64; 2]> = HashMap::with_capacity(lines.len());
    for &line in &lines {
        above.update(text.lines_bytes(at..line));
        at = line;
        found.insert(line, [short(above.clone()), 0]);
    }
    let (mut below, mut at) = (Sha256::new_with_prefix("below"), text.len());
    for &line in lines.iter().rev() {
        for line in text.lines(line..at).rev() {
            below.update(line);
            below.update([0]);
        }
        at = line;
        found
            .entry(line)
            .and_modify(|known| known[1] = short(below.clone()));
    }
    found
}

fn number(digest: Sha256) -> u128 {
    let bytes = digest.finalize();
    bytes
        .iter()
        .take(16)
        .fold(0, |sum, byte| sum << 8 | u128::from(*byte))
}

/// Returns a shorter number for `digest`, which is not 0.
fn short(digest: Sha256) -> u64 {
    ((number(digest) >> 64) as u64).max(1)
}
