//! What the decisions on one text mean for another that is compared with the same text.

use std::collections::HashMap;

use super::{Mark, Review};
use crate::diff::edits;
use crate::proposal::Shown;
use crate::text::Text;

impl Review {
    /// Returns `reviewed` with what was decided here, where the modified text differs from it, too.
    ///
    /// The proposal may be from a text that is older than `reviewed`. A difference between `reviewed` and
    /// what was decided is taken over if the hunk in which it lies was decided, and shows all lines of it,
    /// removed or added. So nothing is taken over that was not shown.
    ///
    /// Takes the time of a comparison.
    pub fn reviewed_beside(&self, reviewed: &[u8]) -> Vec<u8> {
        let (decided, shown) = self.proposal.decided(|hunk| match self.marks[hunk] {
            Mark::Pending => None,
            mark => Some(mark == Mark::Applied),
        });
        let [reviewed, decided] = [reviewed, &decided].map(|text| Text::new(text.to_vec()));
        let mut text = Vec::new();
        let mut done = 0;
        for edit in edits(&reviewed, &decided) {
            let removed = reviewed.lines_bytes(edit.before.clone());
            let first = shown.partition_point(|change| change.lines.end < edit.after.start);
            let near = shown[first..]
                .iter()
                .take_while(|change| change.lines.start <= edit.after.start);
            let mut holds = near
                .filter(|change| edit.after.end <= change.lines.end && is_shown(removed, change));
            if holds.next().is_some() {
                text.extend_from_slice(reviewed.lines_bytes(done..edit.before.start));
                text.extend_from_slice(decided.lines_bytes(edit.after));
                done = edit.before.end;
            }
        }
        text.extend_from_slice(reviewed.lines_bytes(done..reviewed.len()));
        text
    }
}

/// Returns whether `change` shows all of `lines`, each as often as it is among them.
fn is_shown(lines: &[u8], change: &Shown) -> bool {
    let mut n_shown: HashMap<&[u8], usize> = HashMap::new();
    for line in change.both.iter().flat_map(|text| split(text)) {
        *n_shown.entry(line).or_default() += 1;
    }
    split(lines).all(|line| match n_shown.get_mut(line) {
        Some(n) if *n > 0 => {
            *n -= 1;
            true
        }
        _ => false,
    })
}

fn split(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|&byte| byte == b'\n')
}
