//! Following a target: which hunks it holds, and where each of them is.

use crate::diff::Group;
use crate::place::{self, Index, NotPlaced, Place};
use crate::text::Text;
use crate::weave::Placed;

use super::Proposal;

/// Following a target that is some choice of the proposal's own hunks and nothing else.
impl Proposal {
    pub(super) fn unravel(&mut self, facts: &[bool]) {
        facts
            .iter()
            .enumerate()
            .for_each(|(hunk, &is_in)| self.set_in(hunk, is_in));
        self.weave.unravel();
        self.offsets.fill(Ok(0));
        self.fuzz.fill(0);
        self.is_doubted.fill(false);
        self.past_doubts.clear();
    }

    /// Returns which hunks are in the text of the pieces `live`, if it is the original with some of
    /// them and no more.
    ///
    /// In repetitive text the lines of a hunk may fit both ways, and only what follows tells which
    /// is right; so all ways of reading are kept as long as they last. Where several last to the
    /// end, they are the same bytes, and the one that keeps to what was known is taken.
    pub(super) fn facts_in(&self, live: &[&[u8]]) -> Option<Vec<bool>> {
        let original = self.weave.original();
        let mut layers = vec![vec![Way::new(live)]];
        let mut at = 0;
        for hunk in 0..self.n_hunks() {
            let atoms = &self.weave.atoms()[self.atoms_of(hunk)];
            let gap = original.lines_bytes(at..atoms[0].old.start);
            at = atoms[atoms.len() - 1].old.end;
            let next = self.ways_past(hunk, gap, &layers[hunk]);
            layers.push(next);
        }
        let tail = original.lines_bytes(at..original.len());
        let is_end = |way: &Way| way.rest.without(tail).is_some_and(|rest| rest.is_empty());
        let mut way = layers.pop()?.into_iter().find(is_end)?;
        let mut facts = Vec::with_capacity(self.n_hunks());
        while let Some(ways) = layers.pop() {
            facts.push(way.is_in);
            way = ways[way.from];
        }
        facts.reverse();
        Some(facts)
    }

    /// Returns the `ways` that go on past `gap` and past `hunk`, with its change or without.
    fn ways_past<'a>(&self, hunk: usize, gap: &[u8], ways: &[Way<'a>]) -> Vec<Way<'a>> {
        let mut next: Vec<Way> = Vec::new();
        for (from, way) in ways.iter().enumerate() {
            let Some(rest) = way.rest.without(gap) else {
                continue;
            };
            for is_in in [self.is_in(hunk), !self.is_in(hunk)] {
                let rest = self.strip_hunk(hunk, is_in, rest);
                let is_new = |rest: &Rest| next.iter().all(|way| way.rest.n_read != rest.n_read);
                if let Some(rest) = rest.filter(is_new).filter(|_| next.len() < MAX_WAYS) {
                    next.push(Way { rest, from, is_in });
                }
            }
        }
        next
    }

    /// Takes the lines of `hunk`, from its first change to its last, off the front of `rest`.
    fn strip_hunk<'a>(&self, hunk: usize, is_in: bool, rest: Rest<'a>) -> Option<Rest<'a>> {
        let atoms = &self.weave.atoms()[self.atoms_of(hunk)];
        let mut rest = rest;
        let mut at = atoms[0].old.start;
        for atom in atoms {
            rest = rest.without(self.weave.original().lines_bytes(at..atom.old.start))?;
            rest = rest.without(self.weave.side(atom, is_in))?;
            at = atom.old.end;
        }
        Some(rest)
    }
}

/// How many ways of reading a target are kept at a time. In source there is one, after a hunk that
/// repeats its surroundings two; a text that needs more is searched instead.
const MAX_WAYS: usize = 64;

/// A way to read a target as the original with some hunks, up to and with one of them.
#[derive(Clone, Copy)]
struct Way<'a> {
    /// What is not read yet.
    rest: Rest<'a>,
    /// Index of the way that it continues, among those that end before the hunk.
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

/// The rest of a text in pieces: a target that the line map has is not put together only to see
/// that it is no choice of hunks.
#[derive(Clone, Copy)]
struct Rest<'a> {
    /// What is left of the piece that is being read.
    first: &'a [u8],
    more: &'a [&'a [u8]],
    /// Number of bytes before it.
    n_read: usize,
}

impl<'a> Rest<'a> {
    /// Returns what is left if the text goes on with `head`.
    fn without(mut self, mut head: &[u8]) -> Option<Rest<'a>> {
        loop {
            let len = self.first.len().min(head.len());
            let (ours, theirs) = (&self.first[..len], &head[..len]);
            // What the line map has of the original is the same memory.
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

/// Following the target of a bare diff: by exact search.
impl Proposal {
    pub(super) fn search(&mut self, live: &[u8]) {
        let live = Text::new(live.to_vec());
        let mut found = self.find_all(&live);
        if self.bare.as_ref().is_some_and(|bare| bare.is_open_ended) {
            found = self.find_either_end(&live, found);
        }
        self.note_facts(&found);
        let runs = self.keep_disjoint(&mut found);
        // A hunk that lost its place is as it was last known: the other side is not proven.
        self.note_facts(&found);
        self.weave.lay_out(live, &runs);
        self.fuzz = found.iter().map(|found| found.fuzz).collect();
        let is_here = |(hunk, found): (usize, Found)| {
            let (_, place) = found.place?;
            Ok(place.offset - self.shift(hunk))
        };
        self.offsets = found.into_iter().enumerate().map(is_here).collect();
    }

    fn note_facts(&mut self, found: &[Found]) {
        for (hunk, found) in found.iter().enumerate() {
            self.set_in(hunk, found.is_in());
        }
    }

    /// Searches again as if the last line of the diff ended the other way, and returns what fits
    /// better, that or `found`.
    fn find_either_end(&mut self, live: &Text, mut found: Vec<Found>) -> Vec<Found> {
        self.weave.toggle_last_terminator();
        let toggled = self.find_all(live);
        let (Some(one), Some(other)) = (found.last_mut(), toggled.last()) else {
            return found;
        };
        match (&one.place, &other.place) {
            (Err(NotPlaced::NotFound), Ok(_)) => return toggled,
            (Ok((_, one)), Ok((_, other))) if one.offset != 0 && other.offset == 0 => {
                return toggled;
            }
            (Ok((_, first)), Ok((_, second))) if first.offset != 0 => {
                let candidates = vec![first.line.min(second.line), first.line.max(second.line)];
                one.place = Err(NotPlaced::Ambiguous { candidates });
            }
            _ => {}
        }
        self.weave.toggle_last_terminator();
        found
    }

    /// Returns for each hunk whether its change is in `live`, and where.
    fn find_all(&self, live: &Text) -> Vec<Found> {
        let live = Index::new(live);
        let mut delta = 0;
        let mut found = Vec::with_capacity(self.n_hunks());
        for hunk in 0..self.n_hunks() {
            let group = &self.groups[hunk];
            let start = self.bare.as_ref().map_or(0, |bare| bare.starts[hunk]);
            let answer = self.find(&live, hunk, start.saturating_add_signed(delta));
            if answer.is_in() {
                delta += place::offset(group.before.len(), group.after.len());
            }
            found.push(answer);
        }
        found
    }

    /// Searches for a hunk of a bare diff.
    fn find(&self, live: &Index, hunk: usize, expected: usize) -> Found {
        let was_in = self.is_in(hunk);
        if self.bare.as_ref().is_some_and(|bare| bare.is_cut[hunk]) {
            return Found::exactly(was_in, Err(NotPlaced::Cut));
        }
        let likelier = was_in || self.is_appended(live, hunk, expected);
        let runs = [likelier, !likelier].map(|is_in| self.run(hunk, is_in));
        let place = match self.run(hunk, was_in).is_empty() && !was_in && !live.is_empty() {
            true => Err(NotPlaced::NoContext),
            false => live.locate([&runs[0], &runs[1]], Some(expected)),
        };
        let place = place.map(|(which, place)| ((which == 0) == likelier, place));
        match place {
            Err(NotPlaced::NotFound) => self.find_nearly(live, hunk, expected),
            place => Found::exactly(was_in, place),
        }
    }

    fn find_nearly(&self, live: &Index, hunk: usize, expected: usize) -> Found {
        let was_in = self.is_in(hunk);
        let (fuzz, place) = match self.find_fuzzy(live, hunk, was_in, expected) {
            Ok((fuzz, place)) => (fuzz, Ok((was_in, place))),
            Err(reason) => (0, Err(reason)),
        };
        Found {
            was_in,
            place,
            fuzz,
        }
    }

    /// Tells whether `hunk` is at the end of `live` already, if it shows no line after its change.
    ///
    /// Appended lines leave those before them as they were, so that the hunk fits both ways. But
    /// it says that the file ends with it, and only one of the ways does.
    fn is_appended(&self, live: &Index, hunk: usize, expected: usize) -> bool {
        let atoms = &self.weave.atoms()[self.atoms_of(hunk)];
        let run = self.run(hunk, true);
        atoms[atoms.len() - 1].old.end == self.groups[hunk].before.end
            && !run.is_empty()
            && live.is_at(&run, expected)
            && live.is_end(expected, run.len())
    }

    /// Returns the lines of `hunk` with its context, with or without its change.
    pub(super) fn run(&self, hunk: usize, is_in: bool) -> Vec<&[u8]> {
        let group = &self.groups[hunk];
        let (original, mut at) = (self.weave.original(), group.before.start);
        let mut run = Vec::new();
        for atom in &self.weave.atoms()[group.edits.clone()] {
            run.extend(original.lines(at..atom.old.start));
            run.extend(
                self.weave
                    .side(atom, is_in)
                    .split_inclusive(|&byte| byte == b'\n'),
            );
            at = atom.old.end;
        }
        run.extend(original.lines(at..group.before.end));
        run
    }

    /// Returns the runs of all hunks found, in the order of their lines, and takes the place from
    /// those that overlap: from both, unless just one of them is where it was expected.
    fn keep_disjoint(&self, found: &mut [Found]) -> Vec<Placed> {
        let placed = |(hunk, found): (usize, &Found)| Some((hunk, self.placed(hunk, found)?));
        let mut runs: Vec<(usize, Placed)> = found.iter().enumerate().filter_map(placed).collect();
        runs.sort_by_key(|(_, run)| run.line);
        let end = |run: &Placed| run.line + self.weave.alive_len(run);
        let mut widest: Option<&(usize, Placed)> = None;
        let offsets: Vec<Option<isize>> = found.iter().map(Found::offset).collect();
        for next in &runs {
            if let Some((other, run)) = widest.filter(|(_, run)| next.1.line < end(run)) {
                let (hunk, other) = (next.0, *other);
                for (loser, winner) in [(hunk, other), (other, hunk)] {
                    if offsets[loser] != Some(0) || offsets[winner] == Some(0) {
                        found[loser].place = Err(NotPlaced::Overlaps { other: winner });
                    }
                }
                if end(&next.1) <= end(run) {
                    continue;
                }
            }
            widest = Some(next);
        }
        runs.retain(|(hunk, _)| found[*hunk].place.is_ok());
        runs.into_iter().map(|(_, run)| run).collect()
    }

    fn placed(&self, hunk: usize, found: &Found) -> Option<Placed> {
        let Group { edits, before, .. } = self.groups[hunk].clone();
        let (_, place) = found.place.as_ref().ok()?;
        let (line, atoms) = (place.line, edits);
        // Context lines that were ignored are the target's own, and stay as they are.
        let (head, tail) = self.cut(hunk, found.fuzz);
        let before = before.start + head..before.end - tail;
        Some(Placed {
            line,
            before,
            atoms,
        })
    }
}

/// What a search for one hunk found.
struct Found {
    /// Whether its change was in the target when its place was last known.
    was_in: bool,
    /// Whether its change is in the target, and where.
    place: Result<(bool, Place), NotPlaced>,
    /// The outer context lines on a side that were ignored.
    fuzz: usize,
}

impl Found {
    fn exactly(was_in: bool, place: Result<(bool, Place), NotPlaced>) -> Found {
        let fuzz = 0;
        Found {
            was_in,
            place,
            fuzz,
        }
    }

    fn is_in(&self) -> bool {
        self.place.as_ref().map_or(self.was_in, |&(is_in, _)| is_in)
    }

    fn offset(&self) -> Option<isize> {
        let (_, place) = self.place.as_ref().ok()?;
        Some(place.offset)
    }
}
