//! Whether edits that were found one by one may have separated lines that belong together.

use imara_diff::Interner;

use super::Edit;
use super::maybe_moved::is_distinctive;
use super::search::Part;
use crate::text::Text;

/// Lines to the next edit within which a line may have moved to it, at least.
const MIN_REACH: usize = 64;

/// Returns `edits`, joining those between which a line may have moved into one part to be searched:
/// one of the lines at the indices `suspects` is distinctive, and was removed in one edit and added
/// in another nearby. `None` if there is no such line.
///
/// How near depends on the longest edit: for a line to go from one to the other, all between them
/// would be moved by as much.
pub fn doubtful_parts(
    original: &Text,
    modified: &Text,
    edits: &[Edit],
    suspects: &[usize],
) -> Option<Vec<Part>> {
    if suspects.is_empty() {
        return None;
    }
    let pairs = pairs(original, modified, edits, suspects);
    let mut pairs = pairs.into_iter().peekable();
    pairs.peek()?;
    let mut parts: Vec<Part> = Vec::with_capacity(edits.len());
    for (index, edit) in edits.iter().enumerate() {
        let first = pairs.next_if(|pair| pair.edit == index);
        let is_in = |above: &mut Part| {
            first
                .as_ref()
                .is_some_and(|pair| pair.first <= above.lines().before.end)
        };
        let mut part = Part::Known(edit.clone());
        while let Some(above) = parts.pop_if(is_in) {
            part = Part::Unknown(Edit {
                before: above.lines().before.start..edit.before.end,
                after: above.lines().after.start..edit.after.end,
            });
        }
        parts.push(part);
    }
    Some(parts)
}

/// An edit to which a line may have moved.
struct Pair {
    /// Its index.
    edit: usize,
    /// Where the first edit is from which one may have come, as a line of the original.
    first: usize,
}

/// Returns the pairs of `edits` between which one of the lines at the indices `suspects` may have
/// moved.
fn pairs(original: &Text, modified: &Text, edits: &[Edit], suspects: &[usize]) -> Vec<Pair> {
    let longest = edits.iter().map(Edit::n_lines).max().unwrap_or(0);
    let (mut n_seen, mut suspects) = (0, suspects.iter().peekable());
    let mut changed = Changed::default();
    let mut pairs = Vec::new();
    for (index, edit) in edits.iter().enumerate() {
        let first = n_seen;
        n_seen += edit.n_lines();
        if suspects.peek().is_none_or(|&&at| at >= n_seen) {
            continue;
        }
        let line = |at: usize| match at.checked_sub(edit.before.len()) {
            None => (original.line(edit.before.start + at), true),
            Some(at) => (modified.line(edit.after.start + at), false),
        };
        let lines = std::iter::from_fn(|| suspects.next_if(|&&at| at < n_seen));
        let lines = lines.map(|at| line(at - first));
        let reach = edit.before.start.saturating_sub(2 * longest + MIN_REACH);
        let first = changed.first_pair(lines, edit.before.start, reach);
        pairs.extend(first.map(|first| Pair { edit: index, first }));
    }
    pairs
}

/// The lines that edits remove and add, as far as they are suspects.
#[derive(Default)]
struct Changed<'a> {
    lines: Interner<&'a [u8]>,
    /// For each token the last edits that removed it and that added it.
    last: Vec<Last>,
    /// The tokens of an edit, and whether it removed them.
    tokens: Vec<(usize, bool)>,
}

/// Where the edits are, as lines of the original.
#[derive(Clone, Default)]
struct Last {
    removed: Option<usize>,
    added: Option<usize>,
}

impl<'a> Changed<'a> {
    /// Adds `lines` of the edit at `line`, each with whether it is removed, and returns the first
    /// edit from `reach` on that did the opposite with one of them.
    fn first_pair(
        &mut self,
        lines: impl Iterator<Item = (&'a [u8], bool)>,
        line: usize,
        reach: usize,
    ) -> Option<usize> {
        self.tokens.clear();
        for (line, is_removed) in lines.filter(|(line, _)| is_distinctive(line)) {
            let token = self.lines.intern(line).0 as usize;
            self.tokens.push((token, is_removed));
        }
        self.last
            .resize(self.lines.num_tokens() as usize, Last::default());
        let contrary = |&(token, is_removed): &(usize, bool)| match is_removed {
            true => self.last[token].added,
            false => self.last[token].removed,
        };
        let pairs = self.tokens.iter().filter_map(contrary);
        let first = pairs.filter(|&at| at >= reach).min();
        for &(token, is_removed) in &self.tokens {
            match is_removed {
                true => self.last[token].removed = Some(line),
                false => self.last[token].added = Some(line),
            }
        }
        first
    }
}
