//! Files that somebody has renamed: one that is gone, and a new one that is like it.

use agent_q_diff_engine::diff::edits;
use agent_q_diff_engine::text::Text;

use crate::carry::carried;
use crate::ledger::{Ledger, Pending};
use crate::version::Version;
use crate::world::{World, text_of};

/// A file that was renamed. Both are indices of what is pending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rename {
    /// The file that is gone.
    pub from: usize,
    /// The file that is new. Only lines of it are reviewed that the user has saved there.
    pub to: usize,
    /// What was reviewed of the first, with these lines of the user's.
    pub reviewed: Version,
}

/// Most files that are gone, and that are new, which are compared with each other line by line, as by
/// git's `diff.renameLimit`. Equal files are found among any number.
const LIMIT: usize = 50;

/// A file that may have had another name.
struct New {
    at: usize,
    text: Text,
    /// What of it is reviewed, lines of the user's.
    own: Text,
    /// What it held when nothing of it was reviewed.
    born: Text,
}

impl Ledger {
    /// Returns which of `pending` were renamed: those that are equal, then those that have most lines in
    /// common, at least half of those of the longer one, as git's `-M50%` finds them. Empty files, links and
    /// what is no text are not renamed.
    ///
    /// # Errors
    ///
    /// Those of `world`.
    pub fn renames<W: World>(
        &self,
        world: &mut W,
        pending: &[Pending],
    ) -> Result<Vec<Rename>, W::Error> {
        let mut gone = Vec::new();
        for (at, one) in pending.iter().enumerate() {
            if one.working == Version::Absent
                && let Some(text) = text_of(world, one.reviewed)?
                && !text.is_empty()
            {
                gone.push((at, text));
            }
        }
        if gone.is_empty() {
            return Ok(Vec::new());
        }
        let mut new = Vec::new();
        for (at, one) in pending.iter().enumerate() {
            new.extend(self.new_file(world, at, one)?);
        }
        let is_many = gone.len() > LIMIT || new.len() > LIMIT;
        let mut scores = Vec::new();
        for (nth, (_, old)) in gone.iter().enumerate() {
            for (other, new) in new.iter().enumerate() {
                let score = match old.bytes() == new.born.bytes() {
                    true => 1.0,
                    false if is_many => 0.0,
                    // It can be like it, and not be that any more.
                    false => likeness(old, &new.born).min(likeness(old, &new.text)),
                };
                if score >= 0.5 {
                    scores.push((score, nth, other));
                }
            }
        }
        // The best first; of equal ones the first by path.
        scores.sort_by(|one, other| other.0.total_cmp(&one.0));
        let mut found: Vec<Rename> = Vec::new();
        for (_, nth, other) in scores {
            let ((from, old), new) = (&gone[nth], &new[other]);
            if found
                .iter()
                .any(|one| one.from == *from || one.to == new.at)
            {
                continue;
            }
            let mut reviewed = pending[*from].reviewed;
            if !new.own.is_empty() {
                let base = without(&new.text, &new.own);
                let text = world.store(carried(&base, old.bytes(), new.text.bytes()))?;
                reviewed = Version::with_mode(reviewed.mode(), text).unwrap_or(reviewed);
            }
            found.push(Rename {
                from: *from,
                to: new.at,
                reviewed,
            });
        }
        found.sort_by_key(|rename| rename.to);
        Ok(found)
    }

    /// Returns `pending`, which is number `at`, if it is a file that was not there before.
    fn new_file<W: World>(
        &self,
        world: &mut W,
        at: usize,
        pending: &Pending,
    ) -> Result<Option<New>, W::Error> {
        let born = match pending.reviewed {
            Version::Absent => Some(pending.working),
            _ => self.born(&pending.path),
        };
        let Some(born) = born else {
            return Ok(None);
        };
        let texts =
            [pending.working, pending.reviewed, born].map(|version| text_of(world, version));
        let [text, own, born] = texts;
        let (Some(text), Some(own), Some(born)) = (text?, own?, born?) else {
            return Ok(None);
        };
        let is_all_there = edits(&own, &text).iter().all(|edit| edit.before.is_empty());
        Ok(
            (pending.working != Version::Absent && is_all_there).then_some(New {
                at,
                text,
                own,
                born,
            }),
        )
    }
}

/// Returns how many lines two texts have in common, as a part of the longer one.
fn likeness(one: &Text, other: &Text) -> f64 {
    let (short, long) = (one.len().min(other.len()), one.len().max(other.len()));
    if 2 * short < long {
        return 0.0;
    }
    let n_removed: usize = edits(one, other).iter().map(|edit| edit.before.len()).sum();
    (one.len() - n_removed) as f64 / long as f64
}

/// Returns `text` without the lines of `own`, all of which it has.
fn without(text: &Text, own: &Text) -> Vec<u8> {
    let edits = edits(own, text).into_iter();
    edits
        .flat_map(|edit| text.lines_bytes(edit.after).to_vec())
        .collect()
}
