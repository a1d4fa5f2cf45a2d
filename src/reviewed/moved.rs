//! Whose the commits are by which HEAD has moved.
//!
//! A commit that existed at the last look, or that a remote-tracking branch has, is nobody's question: it was
//! only checked out, merged or pulled. A commit that an agent made in its turn, in any worktree of the
//! repository, is not the user's by being merged. Of the others, which are new, the user may have to say.

use std::collections::{HashMap, HashSet};

use crate::error::ProjectError;
use crate::git::{Commit, Git};
use crate::ledger::Ledger;

/// Most commits of others that touch a path and are told apart from the user's. If there are more, all that
/// HEAD has of it stays pending.
const MAX_OTHERS: usize = 20;

/// The commits by which HEAD has moved.
#[derive(Debug, Default)]
pub(crate) struct Moved {
    /// Those that are new, and that the user may have made; the latest first.
    pub(crate) new: Vec<String>,
    /// The paths that these touch.
    pub(crate) touched: HashSet<Vec<u8>>,
    /// For each path, the commits by others that touch it, each with its parents.
    others: HashMap<Vec<u8>, Vec<Commit>>,
}

impl Moved {
    /// Asks git for the commits by which HEAD has moved from the base of `ledger` to `head`. `others` has
    /// commits that the user did not make; if `is_by_others`, the user did not make those that are new either.
    pub(crate) fn read(
        git: &Git,
        ledger: &Ledger,
        head: Option<&str>,
        others: &HashSet<String>,
        is_by_others: bool,
    ) -> Result<Moved, ProjectError> {
        let base = ledger.base();
        let Some(head) = head.filter(|head| ledger.has_base() && base != Some(head)) else {
            return Ok(Moved::default());
        };
        let tips = ledger.tips().iter().map(String::as_str);
        let mut new = git.new_commits([head], base.into_iter().chain(tips), true)?;
        new.retain(|commit| !others.contains(commit));
        let touched = git.touched(&new)?.into_iter().flat_map(|(_, paths)| paths);
        let mut moved = Moved {
            touched: touched.collect(),
            ..Moved::default()
        };
        let is_others =
            |commit: &String| others.contains(commit) || is_by_others && new.contains(commit);
        if !others.is_empty() || is_by_others && !new.is_empty() {
            let all = git.commits_between(base, head)?.into_iter();
            let parents: HashMap<String, Vec<String>> =
                all.filter(|(commit, _)| is_others(commit)).collect();
            let names: Vec<String> = parents.keys().cloned().collect();
            for (commit, paths) in git.touched(&names)? {
                for path in paths {
                    let by = moved.others.entry(path).or_default();
                    by.push((commit.clone(), parents[&commit].clone()));
                }
            }
        }
        moved.new = new;
        Ok(moved)
    }

    /// Returns the commits by others that touch `path`; `None` if they are too many to tell them apart.
    pub(crate) fn others(&self, path: &[u8]) -> Option<&[Commit]> {
        let others = self.others.get(path).map_or(&[][..], Vec::as_slice);
        (others.len() <= MAX_OTHERS).then_some(others)
    }
}
