//! Which changes are equal: the same words replaced by the same words, whatever stands around.
//!
//! A hunk is cut into its runs of changed lines. What a run does is told by its [`Kind`], two texts,
//! and in what it does it, code, a string or a comment, if that is known. Runs with the same four make
//! the same change. Nothing that a run does is left out, so one that replaces the words and does
//! something else besides makes another change.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use crate::patch::hunk::{Hunk, Line, LineKind};
use crate::text::{Place as InSyntax, Syntax, Text};

use super::moved::{Move, Moves};
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
    /// It moves lines to another place, which [`super::moved`] finds: of the places, every other one is
    /// where lines were removed, and the one after it where they were added. Both texts are empty.
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
    /// The text that goes; see [`Kind`]. Words have around them what is joined to them in all places,
    /// and [`MORE`] where that differs.
    pub before: String,
    /// The text that comes.
    pub after: String,
    /// Where, in order; at least two, or one if there is something in `within`. Of what moved, in pairs.
    pub places: Vec<Place>,
    /// In what it does it, if the same is done elsewhere in other places of the syntax.
    pub within: Vec<InSyntax>,
    /// What moved, with what changed inside.
    pub block: Option<Move>,
}

/// What is known of the syntax of the original and the modified text.
pub type Syntaxes<'a> = Option<[(&'a Text, &'a Syntax); 2]>;

/// Returns how many of `hunks` are looked at.
pub(super) fn n_fitting<'a>(hunks: impl Iterator<Item = &'a Hunk<'a>>) -> usize {
    let mut n_left = MAX_LEN;
    let fitting = hunks.map_while(|hunk| {
        let changes = hunk.lines.iter();
        let changes = changes.filter(|line| line.kind != LineKind::Context);
        let len: usize = changes.map(|line| line.text.len()).sum();
        n_left = n_left.checked_sub(len)?;
        Some(())
    });
    fitting.count()
}

/// Returns the changes that the hunks of `files` make in more than one place, in the order of their first
/// places. Hunks are counted over all files, and `syntaxes` are those of the files, none if there are fewer.
/// Where lines moved, as `moves` has it, there is no other change besides.
pub fn groups(files: &[Vec<Hunk>], moves: &Moves, syntaxes: &[Syntaxes]) -> Vec<Group> {
    let n_fitting = n_fitting(files.iter().flatten());
    let hunks = files.iter().enumerate().flat_map(|(file, hunks)| {
        let syntaxes = syntaxes.get(file).copied().flatten();
        hunks.iter().map(move |hunk| (hunk, syntaxes))
    });
    let mut found: Vec<(Does, Vec<Place>, Vec<Around>)> = Vec::new();
    let mut known: HashMap<Does, usize> = HashMap::new();
    for (index, (hunk, syntaxes)) in hunks.take(n_fitting).enumerate() {
        for (place, (does, around)) in changes_of(index, hunk, syntaxes) {
            let mut lines = place.lines.clone();
            if lines.any(|at| moves.line(index, at).is_some()) {
                continue;
            }
            let at = *known.entry(does).or_insert_with_key(|does| {
                found.push((does.clone(), Vec::new(), around.clone()));
                found.len() - 1
            });
            let (_, places, all) = &mut found[at];
            places.push(place);
            all.iter_mut()
                .zip(&around)
                .for_each(|(all, one)| all.join(one));
        }
    }
    // By words alone: how often most are done in one place of the syntax, and in how many.
    let mut same_words: HashMap<(Kind, &str, &str), (usize, usize)> = HashMap::new();
    for (does, places, _) in &found {
        let (most, n) = same_words.entry(does.words()).or_default();
        (*most, *n) = ((*most).max(places.len()), *n + 1);
    }
    let groups = found.iter().filter_map(|(does, places, around)| {
        let (most, n) = same_words[&does.words()];
        let counts = places.len() > 1 || most > 1 && !does.within.is_empty();
        counts.then(|| does.group(places, around, n > 1))
    });
    let mut groups: Vec<Group> = groups.collect();
    groups.extend(moves.blocks().iter().map(|block| Group {
        kind: Kind::Moved,
        before: String::new(),
        after: String::new(),
        places: block.equal.iter().flatten().cloned().collect(),
        within: Vec::new(),
        block: Some(block.clone()),
    }));
    groups.sort_by_key(|group| {
        let places = group.places.iter();
        places.map(|place| (place.hunk, place.lines.start)).min()
    });
    groups
}

/// What a change does.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Does {
    kind: Kind,
    before: String,
    after: String,
    /// In what it does it: each of its words, or each of its lines that is not blank.
    within: Vec<InSyntax>,
}

impl Does {
    fn words(&self) -> (Kind, &str, &str) {
        (self.kind, &self.before, &self.after)
    }

    /// Returns the group of what is done in `places`, with `around` its words, and elsewhere in the syntax
    /// as well if it `is_elsewhere`.
    fn group(&self, places: &[Place], around: &[Around], is_elsewhere: bool) -> Group {
        let with_around = |words: &str| {
            if self.kind != Kind::Words {
                return words.to_owned();
            }
            let words = words.split(BETWEEN).zip(around);
            let words = words.map(|(word, around)| around.with(word));
            words.collect::<Vec<_>>().join(BETWEEN)
        };
        let within: BTreeSet<InSyntax> = self.within.iter().copied().collect();
        Group {
            kind: self.kind,
            before: with_around(&self.before),
            after: with_around(&self.after),
            places: places.to_vec(),
            within: within.into_iter().filter(|_| is_elsewhere).collect(),
            block: None,
        }
    }
}

/// What a change does, and what is joined to its words.
type Done = (Does, Vec<Around>);

/// What stands for the rest of a word that is not the same in all places.
pub const MORE: char = '…';

/// What is joined to words in all places of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Around {
    left: String,
    right: String,
}

impl Around {
    /// Returns what is joined to the words `changed`, which are between `left` and `right` on a line: letters,
    /// digits, underscores, and hyphens between letters.
    fn of(left: &str, changed: [&str; 2], right: &str) -> Around {
        let changed = changed.map(|text| Some(text).filter(|text| !text.is_empty()));
        let first = changed.map(|text| text.and_then(|text| text.chars().next()));
        let last = changed.map(|text| text.and_then(|text| text.chars().next_back()));
        let left = joined_to(first, &mut left.chars().rev());
        Around {
            left: left.chars().rev().collect(),
            right: joined_to(last, &mut right.chars()),
        }
    }

    /// Leaves what is also joined to the same words in `other`.
    fn join(&mut self, other: &Around) {
        let common = |one: &mut dyn Iterator<Item = char>,
                      other: &mut dyn Iterator<Item = char>| {
            let pairs = one.zip(other).take_while(|(one, other)| one == other);
            pairs.map(|(char, _)| char).collect::<String>()
        };
        // Whole parts of words.
        let cut = |common: String| match common.rfind(['-', '_']) {
            Some(at) => common[..=at].to_owned() + MORE.encode_utf8(&mut [0; 4]),
            None => MORE.into(),
        };
        if self.right != other.right {
            let right = common(&mut self.right.chars(), &mut other.right.chars());
            self.right = cut(right);
        }
        if self.left != other.left {
            let left = common(&mut self.left.chars().rev(), &mut other.left.chars().rev());
            self.left = cut(left).chars().rev().collect();
        }
    }

    fn with(&self, word: &str) -> String {
        [&self.left, word, &self.right].concat()
    }
}

/// Returns the first of `chars` that are joined to one of `ends`, the characters next to them.
fn joined_to(ends: [Option<char>; 2], chars: &mut dyn Iterator<Item = char>) -> String {
    let is_joined = |char: char| char.is_alphanumeric() || matches!(char, '_' | '-');
    let Some(end) = ends.into_iter().flatten().find(|&end| is_joined(end)) else {
        return String::new();
    };
    let chars: Vec<char> = chars.take(MAX_AROUND).collect();
    let is_part = |at: &usize| {
        let before = at.checked_sub(1).map_or(end, |before| chars[before]);
        match chars[*at] {
            '-' => {
                before.is_alphabetic() && chars.get(at + 1).is_some_and(|next| next.is_alphabetic())
            }
            char => is_joined(char),
        }
    };
    let n = (0..chars.len()).take_while(is_part).count();
    chars[..n].iter().collect()
}

/// Most characters of what is joined to words that are looked at.
const MAX_AROUND: usize = 60;

/// Returns the place of each change of `hunk`, which has the index `index`, and what it does. If all
/// its runs do the same, they are one change.
fn changes_of(index: usize, hunk: &Hunk, syntaxes: Syntaxes) -> Vec<(Place, Done)> {
    let mut found: Vec<(Place, Option<Done>)> = Vec::new();
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
            let n_added = run.len() - n_removed;
            let within = Within {
                syntaxes,
                lines: [old..old + n_removed, new..new + n_added],
            };
            found.push((place, what(run, &within)));
            at += run.len();
        }
        old += n_context + n_removed;
        new += run.len() - n_removed;
    }
    let does = |one: &'_ (Place, Option<(Does, _)>)| one.1.as_ref().map(|(does, _)| does.clone());
    let is_one = found.windows(2).all(|two| does(&two[0]) == does(&two[1]));
    if is_one {
        let rest = found.split_off(found.len().min(1));
        let others = rest.into_iter().filter_map(|(_, does)| does);
        if let [(_, Some((_, around)))] = &mut found[..] {
            for (_, other) in others {
                around
                    .iter_mut()
                    .zip(&other)
                    .for_each(|(all, one)| all.join(one));
            }
        }
    }
    let changes = found.into_iter().filter_map(|(mut place, does)| {
        if is_one {
            (place.lines, place.is_whole) = (0..at, true);
        }
        does.map(|does| (place, does))
    });
    changes.collect()
}

/// Where in the syntax of its texts a run of changed lines is.
struct Within<'a> {
    syntaxes: Syntaxes<'a>,
    /// The removed and the added lines.
    lines: [Range<usize>; 2],
}

impl Within<'_> {
    /// Returns what the byte `column` of the line `at` of a side is; code, if nobody knows.
    fn place(&self, side: usize, at: usize, column: usize) -> InSyntax {
        self.syntaxes.map_or(InSyntax::Code, |sides| {
            let (text, syntax) = sides[side];
            syntax.place(text.start(self.lines[side].start + at) + column)
        })
    }

    /// Returns what the first bytes of `lines` of a side are that are not blank.
    fn places(&self, side: usize, lines: &[&str]) -> Vec<InSyntax> {
        let lines = lines.iter().enumerate();
        let lines = lines.filter(|(_, line)| !line.trim().is_empty());
        let places =
            lines.map(|(at, line)| self.place(side, at, line.len() - line.trim_start().len()));
        places.collect()
    }
}

/// Returns what `run`, removed lines and then added ones, does, and what is joined to its words; `None` if
/// that is too much to tell, or only white space that is no indentation.
fn what(run: &[Line], within: &Within) -> Option<Done> {
    let texts: Option<Vec<&str>> = run
        .iter()
        .map(|line| str::from_utf8(line.text).ok())
        .collect();
    let texts = texts?;
    let (removed, added) = texts.split_at(within.lines[0].len());
    if removed
        .iter()
        .chain(added)
        .all(|line| line.trim().is_empty())
    {
        return None;
    }
    let lines = |kind, before, after| {
        let within = [within.places(0, removed), within.places(1, added)].concat();
        let does = Does {
            kind,
            before,
            after,
            within,
        };
        (does, Vec::new())
    };
    match (removed.is_empty(), added.is_empty()) {
        (true, _) => Some(lines(Kind::Added, String::new(), trimmed(added))),
        (_, true) => Some(lines(Kind::Removed, trimmed(removed), String::new())),
        _ if trimmed(removed) == trimmed(added) => {
            let (before, after) = indentation(removed, added)?;
            let does = Does {
                kind: Kind::Indent,
                before,
                after,
                // However many lines there are.
                within: Vec::from_iter(BTreeSet::from_iter(within.places(0, removed))),
            };
            Some((does, Vec::new()))
        }
        _ => match replaced(removed, added, within)? {
            Replaced::Words(does, around) => Some((does, around)),
            Replaced::Lines => Some(lines(Kind::Lines, trimmed(removed), trimmed(added))),
        },
    }
}

fn trimmed(lines: &[&str]) -> String {
    let lines: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
    lines.join("\n")
}

/// Returns by what the lines `removed` were moved, if all of them were moved by the same; `added` are
/// the same lines but for white space around them.
fn indentation(removed: &[&str], added: &[&str]) -> Option<(String, String)> {
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
    let moved = all.pop_first()?;
    all.is_empty().then_some(moved)
}

/// What the replacement of lines by others does.
enum Replaced {
    /// It replaces words, to which something is joined.
    Words(Does, Vec<Around>),
    /// It replaces them whole.
    Lines,
}

/// Returns which words of the lines `removed` are replaced by which of the lines `added`.
fn replaced(removed: &[&str], added: &[&str], within: &Within) -> Option<Replaced> {
    let (before, after) = (tokens(removed)?, tokens(added)?);
    let diff = diff_of(
        before.iter().map(|word| word.text),
        after.iter().map(|word| word.text),
    );
    // Each once: the words, in what they are, and what is joined to them.
    let mut all: Vec<([String; 2], [Option<InSyntax>; 2], Around)> = Vec::new();
    for hunk in diff.hunks() {
        let ranges =
            [hunk.before, hunk.after].map(|range| range.start as usize..range.end as usize);
        let sides = [(&before, removed), (&after, added)];
        let pair = [0, 1].map(|side| -> String {
            let words = sides[side].0[ranges[side].clone()].iter();
            words.map(|word| word.text).collect()
        });
        let places = [0, 1].map(|side| {
            let mut words = sides[side].0[ranges[side].clone()].iter();
            let word = words.find(|word| !word.text.trim().is_empty())?;
            Some(within.place(side, word.line, word.column))
        });
        let (words, lines) = sides[0];
        let around = around(words, lines, &ranges[0], [&pair[0], &pair[1]]);
        let same = all
            .iter_mut()
            .find(|(words, here, _)| *words == pair && *here == places);
        match same {
            Some((_, _, all)) => all.join(&around),
            None => all.push((pair, places, around)),
        }
    }
    // Of several words, some may be the same in unrelated lines, too.
    let kept = (0_u32..)
        .zip(&before)
        .filter(|(at, _)| !diff.is_removed(*at));
    let n_same: usize = kept.map(|(_, word)| n_chars(&[word.text])).sum();
    if all.len() > 1 && is_replacement(n_same, n_chars(removed).min(n_chars(added))) {
        return Some(Replaced::Lines);
    }
    let side = |side: usize| {
        let words = all.iter().map(|(pair, ..)| pair[side].as_str());
        words.collect::<Vec<_>>().join(BETWEEN)
    };
    let does = Does {
        kind: Kind::Words,
        before: side(0),
        after: side(1),
        within: all
            .iter()
            .flat_map(|(_, places, _)| places.iter().flatten().copied())
            .collect(),
    };
    Some(Replaced::Words(
        does,
        all.into_iter().map(|(_, _, around)| around).collect(),
    ))
}

/// Returns what is joined to those of `words` of `lines` that are in `range`, and to what replaces them; both
/// are `changed`.
fn around(words: &[Word], lines: &[&str], range: &Range<usize>, changed: [&str; 2]) -> Around {
    let line_at = |at: usize| words.get(at).map(|word| (lines[word.line], word.column));
    let before = |at: usize| {
        let word = &words[at.checked_sub(1)?];
        Some(&lines[word.line][..word.column + word.text.len()])
    };
    let right = line_at(range.end).map_or("", |(line, column)| &line[column..]);
    Around::of(before(range.start).unwrap_or(""), changed, right)
}

/// A word, or what is between two, and where it is in its line.
struct Word<'a> {
    text: &'a str,
    line: usize,
    column: usize,
}

/// Cuts `lines` into words, found by [UAX #29](https://www.unicode.org/reports/tr29/), and what is
/// between them; `None` if there are more than [`MAX_TOKENS`].
fn tokens<'a>(lines: &[&'a str]) -> Option<Vec<Word<'a>>> {
    let mut tokens = Vec::new();
    for (line, text) in lines.iter().enumerate() {
        let words = text.split_word_bound_indices();
        tokens.extend(words.map(|(column, text)| Word { text, line, column }));
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

    fn found(hunks: Vec<Hunk>) -> Vec<Group> {
        let files = [hunks];
        groups(&files, &Moves::of(&files, &[]), &[])
    }

    /// Returns each group of `diffs`: what it does, and hunk, lines and whether all of each place.
    fn shown(diffs: &[&str]) -> Vec<String> {
        let groups = found(diffs.iter().map(|diff| hunk(diff)).collect());
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
    fn words_are_shown_with_what_is_joined_to_them() {
        assert_eq!(
            shown(&[
                "-(q-diff-base)\n+(agent-q-diff-base)\n",
                "-q-diff-base\n+agent-q-diff-base\n"
            ]),
            [r#"Words "q-diff-base" "agent-q-diff-base" 0:0..2 1:0..2"#]
        );
        assert_eq!(
            shown(&[
                "-(q-diff-base 1)\n+(agent-q-diff-base 1)\n",
                "-q-diff-edit\n+agent-q-diff-edit\n"
            ]),
            [r#"Words "q-diff-…" "agent-q-diff-…" 0:0..2 1:0..2"#]
        );
        assert_eq!(
            shown(&["-x = n-1\n+x = m-1\n", "-f(n, 1)\n+f(m, 1)\n"]),
            [r#"Words "n" "m" 0:0..2 1:0..2"#]
        );
    }

    #[test]
    fn the_same_words_elsewhere_in_the_syntax_are_another_change() {
        let old = Text::new(b"f(old)\nf(\"old\")\ng(old)\n; old\n".to_vec());
        let new = Text::new(b"f(new)\nf(\"new\")\ng(new)\n; new\n".to_vec());
        let spans = [(9, 14, InSyntax::String), (23, 28, InSyntax::Comment)];
        let syntaxes = [&old, &new].map(|text| Syntax::new(text.bytes(), spans).unwrap());
        let syntaxes = Some([(&old, &syntaxes[0]), (&new, &syntaxes[1])]);
        let hunks = (0..4).map(|at| {
            let line = |kind, text: &'_ Text| Line {
                kind,
                text: text.line(at).to_vec().leak(),
            };
            let lines = vec![line(LineKind::Removed, &old), line(LineKind::Added, &new)];
            Hunk {
                before: at..at + 1,
                after: at..at + 1,
                lines,
                ..hunk("")
            }
        });
        let files = [hunks.collect()];
        let groups = groups(&files, &Moves::of(&files, &[syntaxes]), &[syntaxes]);
        let shown: Vec<_> = groups
            .iter()
            .map(|group| {
                (
                    group.within.clone(),
                    group.places.iter().map(|place| place.hunk).collect(),
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                (vec![InSyntax::Code], vec![0, 2]),
                (vec![InSyntax::String], vec![1]),
                (vec![InSyntax::Comment], vec![3])
            ]
        );
    }

    #[test]
    fn bytes_that_are_no_text_and_what_is_too_long_are_like_nothing() {
        let mut one = hunk("-a x\n+b x\n");
        one.lines[0].text = b"\xff x\n";
        assert!(found(vec![one.clone(), one]).is_empty());
        let long = format!("+{}\n", "x".repeat(MAX_LEN));
        assert!(shown(&[&long, "+a\n", "+a\n"]).is_empty());
    }
}
