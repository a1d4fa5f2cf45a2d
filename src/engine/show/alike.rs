//! Which changes are equal: the same words replaced by the same words, whatever stands around.
//!
//! A hunk is cut into its runs of changed lines. What a run does is told by its [`Kind`] and two
//! texts, and runs with the same three make the same change. Nothing that a run does is left out, so
//! one that replaces the words and does something else besides makes another change.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use crate::patch::hunk::{Hunk, Line, LineKind};

use super::moved;
use super::words::{MAX_TOKENS, diff_of, is_replacement, n_chars, runs};

/// Most bytes of changed lines that are looked at, over all hunks. What comes after them is like
/// nothing.
const MAX_LEN: usize = 1 << 20;

/// What is between two words in the texts of [`Kind::Words`].
pub const BETWEEN: &str = "\u{1f}";

/// What a change does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// It replaces words by others. The texts are these words, in pairs, with [`BETWEEN`] after each
    /// but the last.
    Words,
    /// It adds lines. The second text has them, without the white space around each.
    Added,
    /// It removes lines. The first text has them, as in [`Kind::Added`].
    Removed,
    /// It replaces lines by others that have little in common with them. Both texts are as in
    /// [`Kind::Added`].
    Lines,
    /// It moves lines to another place, which [`super::moved`] finds: the first place is where they were
    /// removed, and the second where they were added. Both texts are empty.
    Moved,
    /// It moves lines to the right or left. The second text has the white space that each line gets
    /// there, or the first one what it loses.
    Indent,
}

/// One place at which a change is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The index of its hunk.
    pub hunk: usize,
    /// The changed lines of the hunk that make the change, counted from 0 in the order of the diff.
    pub lines: Range<usize>,
    /// Whether these are all the lines that the hunk changes.
    pub is_whole: bool,
    /// The line, from 0, at which they begin: of the original if the first of them is removed, else of
    /// the modified text.
    pub line: usize,
}

/// A change that is made in several places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// What it does.
    pub kind: Kind,
    /// The text that goes; see [`Kind`].
    pub before: String,
    /// The text that comes.
    pub after: String,
    /// Where; at least two, in order.
    pub places: Vec<Place>,
}

/// Returns the changes that `hunks` make in more than one place, in the order of their first places.
/// What moved is no other change besides.
pub fn groups<'a>(hunks: impl IntoIterator<Item = Hunk<'a>>) -> Vec<Group> {
    let mut n_left = MAX_LEN;
    let mut fits = |hunk: &Hunk| {
        let changes = hunk.lines.iter();
        let changes = changes.filter(|line| line.kind != LineKind::Context);
        let len: usize = changes.map(|line| line.text.len()).sum();
        n_left = n_left.checked_sub(len)?;
        Some(())
    };
    let hunks: Vec<Hunk> = hunks
        .into_iter()
        .map_while(|hunk| fits(&hunk).map(|()| hunk))
        .collect();
    let blocks = moved::blocks(&hunks);
    let mut moved: HashMap<usize, Vec<&Range<usize>>> = HashMap::new();
    for place in blocks.iter().flatten() {
        moved.entry(place.hunk).or_default().push(&place.lines);
    }
    let has_moved = |hunk: usize, lines: &Range<usize>| {
        let mut here = moved.get(&hunk).into_iter().flatten();
        here.any(|moved| moved.start < lines.end && lines.start < moved.end)
    };
    let mut groups: Vec<Group> = Vec::new();
    let mut known: HashMap<(Kind, String, String), usize> = HashMap::new();
    for (index, hunk) in hunks.iter().enumerate() {
        for (place, (kind, before, after)) in changes_of(index, hunk) {
            if has_moved(index, &place.lines) {
                continue;
            }
            let key = (kind, before, after);
            let at = *known
                .entry(key)
                .or_insert_with_key(|(kind, before, after)| {
                    groups.push(Group {
                        kind: *kind,
                        before: before.clone(),
                        after: after.clone(),
                        places: Vec::new(),
                    });
                    groups.len() - 1
                });
            groups[at].places.push(place);
        }
    }
    groups.retain(|group| group.places.len() > 1);
    groups.extend(blocks.into_iter().map(|places| Group {
        kind: Kind::Moved,
        before: String::new(),
        after: String::new(),
        places: places.into(),
    }));
    groups.sort_by_key(|group| {
        let places = group.places.iter();
        places.map(|place| (place.hunk, place.lines.start)).min()
    });
    groups
}

type Does = (Kind, String, String);

/// Returns the place of each change of `hunk`, which has the index `index`, and what it does. If all
/// its runs do the same, they are one change.
fn changes_of(index: usize, hunk: &Hunk) -> Vec<(Place, Does)> {
    let mut found: Vec<(Place, Option<Does>)> = Vec::new();
    let (mut at, mut old, mut new) = (0, hunk.before.start, hunk.after.start);
    for run in runs(&hunk.lines) {
        let n_of = |kind| run.iter().filter(|line| line.kind == kind).count();
        let (n_context, n_removed) = (n_of(LineKind::Context), n_of(LineKind::Removed));
        if n_context == 0 {
            let place = Place {
                hunk: index,
                lines: at..at + run.len(),
                is_whole: false,
                line: if n_removed > 0 { old } else { new },
            };
            found.push((place, what(run)));
            at += run.len();
        }
        old += n_context + n_removed;
        new += run.len() - n_removed;
    }
    let is_one = found.windows(2).all(|two| two[0].1 == two[1].1);
    if is_one {
        found.truncate(1);
    }
    let changes = found.into_iter().filter_map(|(mut place, does)| {
        if is_one {
            (place.lines, place.is_whole) = (0..at, true);
        }
        does.map(|does| (place, does))
    });
    changes.collect()
}

/// Returns what `run`, removed lines and then added ones, does; `None` if that is too much to tell,
/// or only white space that is no indentation.
fn what(run: &[Line]) -> Option<Does> {
    let texts: Option<Vec<&str>> = run
        .iter()
        .map(|line| str::from_utf8(line.text).ok())
        .collect();
    let texts = texts?;
    let n_removed = run
        .iter()
        .filter(|line| line.kind == LineKind::Removed)
        .count();
    let (removed, added) = texts.split_at(n_removed);
    if removed
        .iter()
        .chain(added)
        .all(|line| line.trim().is_empty())
    {
        return None;
    }
    match (removed.is_empty(), added.is_empty()) {
        (true, _) => Some((Kind::Added, String::new(), trimmed(added))),
        (_, true) => Some((Kind::Removed, trimmed(removed), String::new())),
        _ if trimmed(removed) == trimmed(added) => indentation(removed, added),
        _ => replaced(removed, added),
    }
}

fn trimmed(lines: &[&str]) -> String {
    let lines: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
    lines.join("\n")
}

/// Returns by what the lines `removed` were moved, if all of them were moved by the same; `added` are
/// the same lines but for white space around them.
fn indentation(removed: &[&str], added: &[&str]) -> Option<Does> {
    let margin = |line: &str| line[..line.len() - line.trim_start().len()].to_owned();
    let mut all = BTreeSet::new();
    for (old, new) in removed.iter().zip(added) {
        if old.trim().is_empty() {
            continue;
        }
        if old.trim_start() != new.trim_start() {
            return None;
        }
        let (old, new) = (margin(old), margin(new));
        let moved = match (new.strip_prefix(&old), old.strip_prefix(&new)) {
            (Some(more), _) => (String::new(), more.to_owned()),
            (None, Some(less)) => (less.to_owned(), String::new()),
            (None, None) => return None,
        };
        all.insert(moved);
    }
    let (before, after) = all.pop_first()?;
    all.is_empty().then_some((Kind::Indent, before, after))
}

/// Returns which words of the lines `removed` are replaced by which of the lines `added`.
fn replaced(removed: &[&str], added: &[&str]) -> Option<Does> {
    let (before, after) = (tokens(removed)?, tokens(added)?);
    let diff = diff_of(before.iter().copied(), after.iter().copied());
    let mut all = Vec::new();
    for hunk in diff.hunks() {
        let side = |tokens: &[&str], range: Range<u32>| {
            tokens[range.start as usize..range.end as usize].concat()
        };
        let pair = (side(&before, hunk.before), side(&after, hunk.after));
        if !all.contains(&pair) {
            all.push(pair);
        }
    }
    // Of several words, some may be the same in unrelated lines, too.
    let kept = (0_u32..)
        .zip(&before)
        .filter(|(at, _)| !diff.is_removed(*at));
    let n_same: usize = kept.map(|(_, token)| n_chars(&[*token])).sum();
    if all.len() > 1 && is_replacement(n_same, n_chars(removed).min(n_chars(added))) {
        return Some((Kind::Lines, trimmed(removed), trimmed(added)));
    }
    let (before, after): (Vec<String>, Vec<String>) = all.into_iter().unzip();
    Some((Kind::Words, before.join(BETWEEN), after.join(BETWEEN)))
}

/// Cuts `lines` into words, found by [UAX #29](https://www.unicode.org/reports/tr29/), and what is
/// between them; `None` if there are more than [`MAX_TOKENS`].
fn tokens<'a>(lines: &[&'a str]) -> Option<Vec<&'a str>> {
    let mut tokens = Vec::new();
    for text in lines {
        tokens.extend(text.split_word_bounds());
        if tokens.len() > MAX_TOKENS {
            return None;
        }
    }
    Some(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hunk(diff: &str) -> Hunk<'static> {
        let line = |text: &'static str| {
            let (kind, text) = match text.split_at(1) {
                ("-", text) => (LineKind::Removed, text),
                ("+", text) => (LineKind::Added, text),
                (_, text) => (LineKind::Context, text),
            };
            let text = text.as_bytes();
            Line { kind, text }
        };
        let diff: &'static str = diff.to_owned().leak();
        Hunk {
            before: 0..0,
            after: 0..0,
            heading: b"",
            lines: diff.split_inclusive('\n').map(line).collect(),
            is_open_ended: false,
        }
    }

    /// Returns each group of `diffs`: what it does, and hunk, lines and whether all of each place.
    fn shown(diffs: &[&str]) -> Vec<String> {
        let groups = groups(diffs.iter().map(|diff| hunk(diff)));
        let shown = groups.iter().map(|group| {
            let places: Vec<String> = group
                .places
                .iter()
                .map(|place| {
                    let part = if place.is_whole { "" } else { " part" };
                    format!("{}:{:?}{part}", place.hunk, place.lines)
                })
                .collect();
            let Group {
                kind,
                before,
                after,
                ..
            } = group;
            format!("{kind:?} {before:?} {after:?} {}", places.join(" "))
        });
        shown.collect()
    }

    #[test]
    fn the_same_words_are_replaced_whatever_stands_around() {
        assert_eq!(
            shown(&[
                " a\n-  call(old_name, 1);\n+  call(old_name2, 1);\n",
                "-x = old_name\n-y = old_name + 1\n+x = old_name2\n+y = old_name2 + 1\n b\n",
                "-x = old_name(1)\n+x = old_name2(2)\n",
                "-my_old_name()\n+my_old_name2()\n",
            ]),
            [r#"Words "old_name" "old_name2" 0:0..2 1:0..4"#]
        );
    }

    #[test]
    fn a_part_of_a_hunk_is_like_a_whole_one() {
        assert_eq!(
            shown(&[
                "-f(a)\n+g(a)\n x\n-one\n+two\n y\n-f(b)\n+g(b)\n",
                "-if f() {\n+if g() {\n",
                "-f(1)\n+g(1)\n x\n-f(2)\n+g(2)\n",
            ]),
            [r#"Words "f" "g" 0:0..2 part 0:4..6 part 1:0..2 2:0..4"#]
        );
    }

    #[test]
    fn what_is_added_removed_or_replaced_whole_is_the_same_at_any_margin() {
        assert_eq!(
            shown(&[
                "+  use a;\n",
                "+use a;\n+use b;\n",
                "+\tuse a;\r\n",
                "-  use a;\n",
                "-use a;\n",
                "-one thing\n+two more\n",
                "-  one thing\n+  two more\n",
                "+\n",
                "+\n",
            ]),
            [
                r#"Added "" "use a;" 0:0..1 2:0..1"#,
                r#"Removed "use a;" "" 3:0..1 4:0..1"#,
                r#"Lines "one thing" "two more" 5:0..2 6:0..2"#
            ]
        );
    }

    #[test]
    fn lines_are_moved_by_the_same_white_space() {
        assert_eq!(
            shown(&[
                "-a\n-\n-  b\n+  a\n+\n+    b\n",
                "-  c d\n+    c d\n",
                "-  e\n+e\n",
                "-    f\n+  f\n",
                "-  g\n+\tg\n",
                "-h  i\n+h i\n",
                "-k\n-l\n+  k\n+l\n",
            ]),
            [
                r#"Indent "" "  " 0:0..6 1:0..2"#,
                r#"Indent "  " "" 2:0..2 3:0..2"#
            ]
        );
    }

    #[test]
    fn what_also_does_something_else_is_kept_out() {
        assert!(shown(&["-f(a, b)\n+g(a)\n", "-f(a)\n+g(a)\n"]).is_empty());
        assert!(shown(&["-f(a)\n+  g(a)\n", "-f(a)\n+g(a)\n"]).is_empty());
        assert!(shown(&["-f(a)\n-z\n+g(a)\n", "-f(a)\n+g(a)\n"]).is_empty());
        assert!(shown(&["-f(a)\n+g(a)\n", "-g(a)\n+f(a)\n"]).is_empty());
    }

    #[test]
    fn bytes_that_are_no_text_and_what_is_too_long_are_like_nothing() {
        let mut one = hunk("-a x\n+b x\n");
        one.lines[0].text = b"\xff x\n";
        assert!(groups([one.clone(), one]).is_empty());
        let long = format!("+{}\n", "x".repeat(MAX_LEN));
        assert!(shown(&[&long, "+a\n", "+a\n"]).is_empty());
    }
}
