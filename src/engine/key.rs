//! By what a hunk is known in every review of its file, also after a restart.
//!
//! A [`Key`] is made of what the two texts hold, never of what is shown: of the lines that the hunk
//! changes, and of its place. The place is a line of the original, told by a digest of all lines
//! above it and one of all below. An agent that writes on changes neither of them, keeping a hunk
//! above changes only the first, and keeping one below only the second, so that one of the two is
//! enough. No two lines of a text have the same place.
//!
//! Which lines are one hunk depends on how much context is shown, and on what else was changed
//! nearby. So what was a hunk, or a part that the user had split off, is also found among the lines
//! of a larger hunk; there, too, it must be in its place.
//!
//! If the original has no such place any more, since hunks on both sides were kept, the hunk is the one
//! that changes the same lines and has the same lines beside it in the modified text. That it is the only
//! one that changes the same lines says little: it may be among other lines by now, and this another one. If
//! several are left, or if the same change is now in another place, it is not sure which one is meant, and
//! nothing must be done to any of them.

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
    /// Digests of all lines of the original above and below; 0 if they are not known.
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
    /// Returns the keys of `file`.
    pub fn of(file: &'a FileChange) -> Keys<'a> {
        let operations: Vec<&Operation> = file.operations().collect();
        let all = file.entries().filter_map(|entry| match entry {
            Entry::Operation(at) => Some(Key::Whole(words(operations[at], file.content))),
            Entry::Hunk(_) => None,
        });
        let mut all: Vec<Key> = all.collect();
        let hunks = file
            .review()
            .map(|review| Hunks::new(review.proposal(), all.len()));
        let lines = hunks.iter().flat_map(Hunks::keys);
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
            return at.map_or(Found::Gone(None), |at| Found::Sure(at, None));
        };
        let equal = self
            .all
            .iter()
            .enumerate()
            .filter_map(|(at, key)| match key {
                Key::Lines(lines) if lines.change == wanted.change => Some((at, lines)),
                _ => None,
            });
        let equal: Vec<(usize, &Lines)> = equal.collect();
        let mut placed = hunks.parts(wanted);
        for (at, lines) in &equal {
            if (0..2).any(|side| lines.place[side] == wanted.place[side]) {
                placed.push((*at, None));
            }
        }
        if let [(at, part)] = &mut placed[..] {
            return Found::Sure(*at, part.take());
        }
        let all = if placed.is_empty() {
            equal.iter().map(|(at, _)| *at).collect()
        } else {
            placed.into_iter().map(|(at, _)| at).collect::<Vec<_>>()
        };
        let is_near = |lines: &Lines| wanted.beside != 0 && lines.beside == wanted.beside;
        let mut near = equal.iter().filter(|(_, lines)| is_near(lines));
        match (&all[..], near.next(), near.next()) {
            ([], ..) => Found::Gone(hunks.instead(wanted)),
            (_, Some((at, _)), None) if !hunks.has_place(wanted) => Found::Sure(*at, None),
            _ => Found::Unsure(all),
        }
    }
}

/// A hunk, a change in it, and a line of the original where that, or a part of it, begins or ends.
type At = (usize, usize, usize);

/// The hunks of a file.
struct Hunks<'a> {
    texts: [&'a Text; 2],
    edits: Vec<Vec<Edit>>,
    /// The index of the first among the entries of the file.
    first: usize,
    /// Digests of all lines above and below the lines where a change, or a part of one, begins or ends.
    digests: HashMap<usize, [u64; 2]>,
    /// What begins or ends at such a line, by these digests.
    places: [HashMap<u64, Vec<At>>; 2],
    /// All digests of this text.
    known: OnceCell<HashSet<u64>>,
}

impl<'a> Hunks<'a> {
    fn new(proposal: &'a Proposal, first: usize) -> Hunks<'a> {
        let texts = proposal.texts();
        let hunks = 0..proposal.n_hunks();
        let edits: Vec<_> = hunks.map(|hunk| runs(proposal, hunk)).collect();
        let ends = edits
            .iter()
            .flatten()
            .flat_map(|edit| edit.before.start..=edit.before.end);
        let digests = digests(texts[0], ends.collect());
        let mut places: [HashMap<_, Vec<_>>; 2] = Default::default();
        for (hunk, edits) in edits.iter().enumerate() {
            for (index, edit) in edits.iter().enumerate() {
                for line in edit.before.start..=edit.before.end {
                    for (places, digest) in places.iter_mut().zip(digests[&line]) {
                        places.entry(digest).or_default().push((hunk, index, line));
                    }
                }
            }
        }
        Hunks {
            texts,
            edits,
            first,
            digests,
            places,
            known: OnceCell::new(),
        }
    }

    fn keys(&self) -> Vec<Lines> {
        let keys = self.edits.iter().map(|edits| {
            let [first, last] = [&edits[0], &edits[edits.len() - 1]];
            Lines {
                change: self.change(edits),
                n_removed: edits.iter().map(|edit| edit.before.len()).sum(),
                n_added: edits.iter().map(|edit| edit.after.len()).sum(),
                place: [
                    self.digests[&first.before.start][0],
                    self.digests[&last.before.end][1],
                ],
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

    /// Returns whether the original has the place of `wanted`.
    fn has_place(&self, wanted: &Lines) -> bool {
        let original = self.texts[0];
        let known = self.known.get_or_init(|| {
            let all = digests(original, (0..=original.len()).collect());
            all.into_values().flatten().collect()
        });
        wanted.place.iter().any(|digest| known.contains(digest))
    }

    /// Returns the entry that changes something where `wanted` did.
    fn instead(&self, wanted: &Lines) -> Option<usize> {
        let places = self.places.iter().zip(wanted.place);
        let mut there = places.filter_map(|(places, place)| places.get(&place)?.first());
        there.next().map(|(hunk, ..)| self.first + hunk)
    }

    /// Returns which parts of larger hunks change what `wanted` does in its place.
    fn parts(&self, wanted: &Lines) -> Vec<(usize, Option<Part>)> {
        let mut found = Vec::new();
        for (side, places) in self.places.iter().enumerate() {
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
                    let place = part.map(|part| (self.first + hunk, Some(part)));
                    found.extend(place.filter(|place| !found.contains(place)));
                }
            }
        }
        found
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

/// Returns the digests of all lines of `original` above and below each of `lines`; none of them is 0.
fn digests(original: &Text, mut lines: Vec<usize>) -> HashMap<usize, [u64; 2]> {
    lines.sort_unstable();
    lines.dedup();
    let (mut above, mut at) = (Sha256::new_with_prefix("above"), 0);
    let mut found: HashMap<usize, [u64; 2]> = HashMap::with_capacity(lines.len());
    for &line in &lines {
        above.update(original.lines_bytes(at..line));
        at = line;
        found.insert(line, [short(above.clone()), 0]);
    }
    let (mut below, mut at) = (Sha256::new_with_prefix("below"), original.len());
    for &line in lines.iter().rev() {
        for line in original.lines(line..at).rev() {
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
