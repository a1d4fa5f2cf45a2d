//! Files that are hidden from git by lines which the user has not reviewed.

use std::collections::BTreeMap;

use crate::error::ProjectError;
use crate::git::{Git, patterns};
use crate::ledger::{Ledger, Pending};
use crate::left_out::{LeftOut, Why};
use crate::path::{Path, is_editors_own};
use crate::store::Store;
use crate::version::Version;

/// Returns how the ledger has `line` of the file `place`.
fn worded(place: &[u8], line: &[u8]) -> String {
    String::from_utf8_lossy(&[place, b": ", line].concat()).into_owned()
}

/// Records the patterns that are no part of the project, see [`Git::excludes`].
pub(crate) fn note_excludes(git: &Git, ledger: &mut Ledger) {
    let places = git.excludes();
    let now = places.iter().flat_map(|(place, lines)| {
        let lines = lines.iter();
        lines.map(|line| worded(place, line))
    });
    ledger.follow_excludes(now.collect());
}

/// Returns what is hidden from git by lines of a `.gitignore` that are among `pending`, or by patterns that
/// the user did not write, as [`note_excludes`] has recorded. Without such lines, nothing is looked for.
pub(crate) fn hidden(
    git: &Git,
    ledger: &Ledger,
    store: &Store,
    pending: &[Pending],
) -> Result<Vec<LeftOut>, ProjectError> {
    let mut new: BTreeMap<Path, Vec<Vec<u8>>> = git.excludes();
    for (place, lines) in &mut new {
        lines.retain(|line| ledger.hides(&worded(place, line)));
    }
    let is_ignore =
        |one: &&Pending| one.path.rsplit(|&byte| byte == b'/').next() == Some(b".gitignore");
    for one in pending.iter().filter(is_ignore) {
        let lines = |version: Version| {
            let text = version.digest().map(|digest| store.bytes(digest));
            text.transpose()
                .map(|text| patterns(&text.unwrap_or_default()))
        };
        let (before, mut now) = (lines(one.reviewed)?, lines(one.working)?);
        now.retain(|line| !before.contains(line));
        new.insert(one.path.clone(), now);
    }
    if new.values().all(Vec::is_empty) {
        return Ok(Vec::new());
    }
    let ignored = git.ignored()?.into_iter();
    let hidden = ignored.filter(|(path, place, line)| {
        let is_new = new.get(place).is_some_and(|lines| lines.contains(line));
        is_new && !is_editors_own(path)
    });
    let hidden = hidden.map(|(path, place, _)| {
        (
            path,
            Why::Hidden(String::from_utf8_lossy(&place).into_owned()),
        )
    });
    Ok(hidden.collect())
}
