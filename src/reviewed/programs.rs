//! What git runs by itself, as the user knows it, and who has changed that since.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::authors::{Author, Authors, union};
use crate::version::Digest;

/// Of hooks of git's and of settings by which it may run something, by their names as the user reads them,
/// the digests of what they are.
pub type Programs = BTreeMap<String, Digest>;

/// Most names in a sentence.
const MAX_NAMED: usize = 5;

/// What git runs by itself, as the user knows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    /// What there was when the user knew all of it.
    known: Programs,
    /// What is another now, with what it was at the last look, unless it was gone, and who did that.
    changed: BTreeMap<String, (Option<Digest>, Authors)>,
}

impl Known {
    /// Returns it where the user knows all of `programs`.
    pub fn all(programs: Programs) -> Known {
        Known {
            known: programs,
            changed: BTreeMap::new(),
        }
    }

    /// Returns it after `writers`, or without them the user, have made `now` of what there was at the last
    /// look.
    pub fn followed(&self, now: &Programs, writers: Option<&[Author]>) -> Known {
        let mut known = self.known.clone();
        if writers.is_none() {
            known.retain(|name, _| now.contains_key(name) || self.changed.contains_key(name));
            let new = now
                .iter()
                .filter(|(name, _)| !self.changed.contains_key(*name));
            known.extend(new.map(|(name, digest)| (name.clone(), *digest)));
        }
        let writers = writers.unwrap_or_default();
        let names: BTreeSet<&String> = known.keys().chain(now.keys()).collect();
        let differs = |name: &&&String| known.get(**name) != now.get(**name);
        let changed = names.iter().filter(differs).map(|name| {
            let digest = now.get(*name).copied();
            let authors = match self.changed.get(*name) {
                Some((before, authors)) if *before == digest => authors.clone(),
                Some((_, authors)) => union(authors, writers),
                None => writers.to_vec(),
            };
            ((*name).clone(), (digest, authors))
        });
        let changed = changed.collect();
        Known { known, changed }
    }

    /// Returns what others have changed, as sentences without their last period. `agent_of` has the names of
    /// the agents of turns.
    pub fn sentences(&self, agent_of: impl Fn(u64) -> String) -> Vec<String> {
        let mut groups: BTreeMap<(&Authors, bool), Vec<&str>> = BTreeMap::new();
        for (name, (digest, authors)) in &self.changed {
            let group = groups.entry((authors, digest.is_none())).or_default();
            group.push(name);
        }
        let groups = groups.into_iter().map(|((authors, is_gone), names)| {
            let mut who: Vec<String> = authors
                .iter()
                .map(|author| match author {
                    Author::Turn(id) => format!("{}'s turn", agent_of(*id)),
                    _ => "somebody, outside any turn of an agent,".to_owned(),
                })
                .collect();
            who.dedup();
            let who = who.join(" and ");
            let has_setting = names.iter().any(|name| name.contains(" in "));
            let which = match (is_gone, has_setting) {
                (false, false) => "wrote {}, which git runs",
                (false, true) => "wrote {}, by which git can run programs",
                (true, false) => "deleted {}, which git ran",
                (true, true) => "deleted {}, by which git could run programs",
            };
            let sentence = format!("{who} {}", which.replace("{}", &named(&names)));
            let mut letters = sentence.chars();
            let first = letters.next().into_iter().flat_map(char::to_uppercase);
            first.chain(letters.clone()).collect()
        });
        groups.collect()
    }
}

/// Returns `names` as a list in a sentence.
fn named(names: &[&str]) -> String {
    let n_named = if names.len() > MAX_NAMED + 1 {
        MAX_NAMED
    } else {
        names.len()
    };
    let mut parts: Vec<String> = names[..n_named]
        .iter()
        .map(|name| (*name).to_owned())
        .collect();
    if n_named < names.len() {
        parts.push(format!("{} more", names.len() - n_named));
    }
    match parts.pop() {
        Some(last) if !parts.is_empty() => format!("{} and {last}", parts.join(", ")),
        last => last.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn programs(of: &[(&str, &str)]) -> Programs {
        let pairs = of.iter();
        pairs
            .map(|(name, text)| ((*name).to_owned(), Digest::of(text.as_bytes())))
            .collect()
    }

    fn said(known: &Known) -> Vec<String> {
        known.sentences(|id| format!("\u{e9}gent {id}"))
    }

    #[test]
    fn what_changes_is_said_with_its_author_until_it_is_as_before() {
        let before = programs(&[("h/a", "1"), ("h/b", "1")]);
        let known = Known::all(before.clone());
        let now = programs(&[("h/b", "2"), ("h/c", "1")]);
        let known = known.followed(&now, Some(&[Author::Turn(7)]));
        let expected = [
            "\u{c9}gent 7's turn wrote h/b and h/c, which git runs",
            "\u{c9}gent 7's turn deleted h/a, which git ran",
        ];
        assert_eq!(said(&known), expected);
        // Who looks at it later has not written it.
        let known = known.followed(&now, Some(&[Author::Outside]));
        assert_eq!(said(&known), expected);
        let known = known.followed(
            &programs(&[("h/a", "1"), ("h/b", "3")]),
            Some(&[Author::Outside]),
        );
        let expected = "\u{c9}gent 7's turn and somebody, outside any turn of an agent, wrote h/b, which git runs";
        assert_eq!(said(&known), [expected]);
        assert!(said(&known.followed(&before, Some(&[Author::Outside]))).is_empty());
        // What the user writes is known, but for what others have begun.
        let now = programs(&[("h/a", "2"), ("h/b", "3"), ("h/d", "1")]);
        assert_eq!(said(&known.followed(&now, None)), [expected]);
    }

    #[test]
    fn many_are_counted_and_settings_are_said_to_be_some() {
        let names: Vec<String> = (0..9).map(|n| format!("h/{n}")).collect();
        let now = names.iter().map(|name| (name.clone(), Digest::of(b"")));
        let known = Known::default().followed(&now.collect(), Some(&[Author::Outside]));
        let expected = "Somebody, outside any turn of an agent, wrote h/0, h/1, h/2, h/3, h/4 and \
                        4 more, which git runs";
        assert_eq!(said(&known), [expected]);
        let now = programs(&[("core.pager in .git/config", "x")]);
        let known = Known::default().followed(&now, Some(&[Author::Turn(1)]));
        let expected =
            "\u{c9}gent 1's turn wrote core.pager in .git/config, by which git can run programs";
        assert_eq!(said(&known), [expected]);
    }
}
