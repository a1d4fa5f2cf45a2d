//! Recognizing a target that is the original with some of the proposal's hunks applied, and no
//! other changes.
//!
//! Knows texts and hunks, but not where anything was before.

use crate::weave::Weave;

use super::hunks::Hunks;
use super::lines::HunkLines;

/// Returns for each hunk whether it is applied in the text of the pieces `live`; `None` if that is
/// not the original with some of the hunks.
///
/// In repetitive text, a hunk's lines may fit both with its change and without, and only what
/// follows shows which is right; so all ways of reading are kept as long as they fit. If several
/// fit to the end, they give the same bytes, and the one that agrees with what was known before is
/// taken.
pub(super) fn facts_in(weave: &Weave, hunks: &Hunks, live: &[&[u8]]) -> Option<Vec<bool>> {
    let original = weave.original();
    let mut layers = vec![vec![Way::new(live)]];
    let mut at = 0;
    for hunk in 0..hunks.len() {
        let lines = HunkLines::new(weave, hunks, hunk);
        let [first, last] = lines.outermost();
        let gap = original.lines_bytes(at..first.old.start);
        at = last.old.end;
        let next = ways_past(weave, lines, gap, &layers[hunk]);
        layers.push(next);
    }
    let tail = original.lines_bytes(at..original.len());
    let is_end = |way: &Way| way.rest.without(tail).is_some_and(|rest| rest.is_empty());
    let mut way = layers.pop()?.into_iter().find(is_end)?;
    let mut facts = Vec::with_capacity(hunks.len());
    while let Some(ways) = layers.pop() {
        facts.push(way.is_in);
        way = ways[way.from];
    }
    facts.reverse();
    Some(facts)
}

/// Returns the `ways` that continue past `gap` and past `hunk`, with its change or without.
fn ways_past<'a>(weave: &Weave, hunk: HunkLines, gap: &[u8], ways: &[Way<'a>]) -> Vec<Way<'a>> {
    let mut next: Vec<Way> = Vec::new();
    for (from, way) in ways.iter().enumerate() {
        let Some(rest) = way.rest.without(gap) else {
            continue;
        };
        for is_in in [hunk.is_in(), !hunk.is_in()] {
            let rest = strip_hunk(weave, hunk, is_in, rest);
            let is_new = |rest: &Rest| next.iter().all(|way| way.rest.n_read != rest.n_read);
            if let Some(rest) = rest.filter(is_new).filter(|_| next.len() < MAX_WAYS) {
                next.push(Way { rest, from, is_in });
            }
        }
    }
    next
}

/// Removes the lines of `hunk`, from its first change to its last, from the front of `rest`.
fn strip_hunk<'a>(weave: &Weave, hunk: HunkLines, is_in: bool, rest: Rest<'a>) -> Option<Rest<'a>> {
    let mut rest = rest;
    let mut at = hunk.outermost()[0].old.start;
    for atom in hunk.atoms() {
        rest = rest.without(weave.original().lines_bytes(at..atom.old.start))?;
        rest = rest.without(weave.side(atom, is_in))?;
        at = atom.old.end;
    }
    Some(rest)
}

/// How many ways of reading a target are kept at a time. In source code there is one, or two after
/// a hunk that repeats its surroundings; a text that needs more is compared instead.
const MAX_WAYS: usize = 64;

/// A way to read a target as the original with some hunks, up to the end of one of them.
#[derive(Clone, Copy)]
struct Way<'a> {
    /// What is not read yet.
    rest: Rest<'a>,
    /// Index of the way that it continues, among the ways that end with the hunk before.
    from: usize,
    /// Whether the hunk is in the target.
    is_in: bool,
}

impl<'a> Way<'a> {
    fn new(live: &'a [&'a [u8]]) -> Way<'a> {
        let rest = Rest {
            first: &[],
            more: live,
            n_read: 0,
        };
        let (from, is_in) = (0, false);
        Way { rest, from, is_in }
    }
}

/// The rest of a text in pieces, so that a target need not be copied into one just for this.
#[derive(Clone, Copy)]
struct Rest<'a> {
    /// What is left of the piece that is being read.
    first: &'a [u8],
    more: &'a [&'a [u8]],
    /// Number of bytes read so far.
    n_read: usize,
}

impl<'a> Rest<'a> {
    /// Returns what is left after `head`; `None` if the text does not continue with it.
    fn without(mut self, mut head: &[u8]) -> Option<Rest<'a>> {
        loop {
            let len = self.first.len().min(head.len());
            let (ours, theirs) = (&self.first[..len], &head[..len]);
            // The weave's lines of the original are the same memory, which need not be compared.
            if !std::ptr::eq(ours, theirs) && ours != theirs {
                return None;
            }
            (self.first, head) = (&self.first[len..], &head[len..]);
            self.n_read += len;
            if head.is_empty() {
                return Some(self);
            }
            (self.first, self.more) = self
                .more
                .split_first()
                .map(|(first, more)| (*first, more))?;
        }
    }

    fn is_empty(&self) -> bool {
        self.first.is_empty() && self.more.iter().all(|piece| piece.is_empty())
    }
}
