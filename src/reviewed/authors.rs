//! Who wrote what is pending in a file, line by line.

use std::ops::Range;

use agent_q_diff_engine::diff::edits;
use agent_q_diff_engine::text::Text;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::version::{Digest, Word};

/// Who wrote a line, or removed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Author {
    /// The agent of the turn with this number.
    Turn(u64),
    /// Another program than the user's Emacs, outside any turn of an agent, while that of the turn with this
    /// number had something in the background: that, or any other.
    Background(u64),
    /// Another program than the user's Emacs, outside any turn of an agent.
    Outside,
    /// Nobody knows: it was there at the first look.
    Unknown,
    /// The user, in Emacs.
    User,
}

impl Author {
    /// Returns it as a word: `t` and the number of its turn, `b` and such a number, `o`, `?` or `u`.
    pub fn word(self) -> String {
        match self {
            Author::Turn(id) => format!("t{id}"),
            Author::Background(id) => format!("b{id}"),
            Author::Outside => "o".to_owned(),
            Author::Unknown => "?".to_owned(),
            Author::User => "u".to_owned(),
        }
    }

    fn parse(word: &str) -> Option<Author> {
        match word {
            "o" => Some(Author::Outside),
            "?" => Some(Author::Unknown),
            "u" => Some(Author::User),
            _ => match word.strip_prefix('b') {
                Some(id) => Some(Author::Background(id.parse().ok()?)),
                None => Some(Author::Turn(word.strip_prefix('t')?.parse().ok()?)),
            },
        }
    }
}

/// As its word, or, for Lisp, as the number of its turn, alone or in a list, or a symbol.
impl Serialize for Author {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            _ if to.is_human_readable() => to.serialize_str(&self.word()),
            Author::Turn(id) => to.serialize_u64(*id),
            Author::Background(id) => [*id][..].serialize(to),
            Author::Outside => to.serialize_unit_variant("Author", 2, "outside"),
            Author::Unknown => to.serialize_unit_variant("Author", 3, "unknown"),
            Author::User => to.serialize_unit_variant("Author", 4, "user"),
        }
    }
}

impl<'de> Deserialize<'de> for Author {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Author, D::Error> {
        from.deserialize_str(Word(Author::parse))
    }
}

/// Some authors, each once, in their order.
pub type Authors = Vec<Author>;

/// Returns the authors of both.
pub(crate) fn union(one: &[Author], other: &[Author]) -> Authors {
    let mut all = [one, other].concat();
    all.sort();
    all.dedup();
    all
}

/// Returns `authors` as a word: those of each joined with `+`; a dot if there is none.
pub fn authors_word(authors: &[Author]) -> String {
    if authors.is_empty() {
        return ".".to_owned();
    }
    let words: Vec<String> = authors.iter().map(|author| author.word()).collect();
    words.join("+")
}

/// Reads what [`authors_word`] writes.
pub fn parse_authors(word: &str) -> Option<Authors> {
    match word {
        "." => Some(Authors::new()),
        _ => word.split('+').map(Author::parse).collect(),
    }
}

/// Who wrote what is pending in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// All of them.
    pub authors: Authors,
    /// Names the stored [`LineAuthors`] of the working text. Without it, all that is pending was
    /// written by all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<Digest>,
}

impl Written {
    /// All of it was written by `authors`.
    pub fn by(authors: Authors) -> Written {
        Written {
            authors,
            lines: None,
        }
    }
}

/// The authors of the lines of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineAuthors {
    /// Of each line, who wrote it; nobody, if it was reviewed.
    lines: Vec<Authors>,
    /// Of each line and the end, who removed lines above it.
    gaps: Vec<Authors>,
}

impl LineAuthors {
    /// Returns those of `working`, in which all that differs from `reviewed` is by `authors`.
    pub fn of(reviewed: &Text, working: &Text, authors: &[Author]) -> LineAuthors {
        let all_reviewed = LineAuthors {
            lines: vec![Authors::new(); reviewed.len()],
            gaps: vec![Authors::new(); reviewed.len() + 1],
        };
        all_reviewed.followed(reviewed, working, authors)
    }

    /// Returns those of `new`, which `authors` made of `old`, whose own these are.
    ///
    /// Lines that take the place of others are by the authors of both.
    pub fn followed(&self, old: &Text, new: &Text, authors: &[Author]) -> LineAuthors {
        let mut to = LineAuthors {
            lines: Vec::with_capacity(new.len()),
            gaps: Vec::with_capacity(new.len() + 1),
        };
        // Who removed what stood above the next line.
        let mut above = Authors::new();
        let mut done = 0;
        for edit in edits(old, new) {
            let Range { start, end } = edit.before;
            self.copy(done..start, &mut above, &mut to);
            let mut made = authors.to_vec();
            for line in start..end {
                made = union(&union(&made, &self.gaps[line]), &self.lines[line]);
            }
            if edit.after.is_empty() {
                above = union(&above, &made);
            }
            for _ in edit.after {
                to.gaps.push(std::mem::take(&mut above));
                to.lines.push(made.clone());
            }
            done = end;
        }
        self.copy(done..old.len(), &mut above, &mut to);
        to.gaps.push(union(&above, &self.gaps[old.len()]));
        to
    }

    /// Makes `lines` by who wrote the lines `there` of the text whose authors are `from`; an empty range is
    /// what is removed in that place.
    pub fn take(&mut self, lines: Range<usize>, from: &LineAuthors, there: Range<usize>) {
        self.gaps[lines.start..=lines.end].clone_from_slice(&from.gaps[there.start..=there.end]);
        self.lines[lines].clone_from_slice(&from.lines[there]);
    }

    /// Appends `lines` to `to`; `above` is who removed what stood above the first, besides those known
    /// here.
    fn copy(&self, lines: Range<usize>, above: &mut Authors, to: &mut LineAuthors) {
        for line in lines {
            to.gaps
                .push(union(&std::mem::take(above), &self.gaps[line]));
            to.lines.push(self.lines[line].clone());
        }
    }

    /// Returns the lines of `working`, whose authors these are, that differ from `reviewed`: each run of
    /// lines by the same authors in a difference, and for lines that were only removed an empty run. Where
    /// it is not known who wrote them, that is `fallback`.
    pub fn of_edits(
        &self,
        reviewed: &Text,
        working: &Text,
        fallback: &[Author],
    ) -> Vec<(Range<usize>, Authors)> {
        let known = |authors: Authors| match authors.is_empty() {
            true => fallback.to_vec(),
            false => authors,
        };
        let mut runs: Vec<(Range<usize>, Authors)> = Vec::new();
        for edit in edits(reviewed, working) {
            let Range { start, end } = edit.after;
            if start == end {
                runs.push((start..end, known(self.gaps[start].clone())));
            }
            for line in start..end {
                let mut authors = self.lines[line].clone();
                if !edit.before.is_empty() {
                    authors = union(&authors, &self.gaps[line]);
                    if line + 1 == end {
                        authors = union(&authors, &self.gaps[end]);
                    }
                }
                let authors = known(authors);
                match runs.last_mut() {
                    Some((run, same)) if line > start && *same == authors => run.end = line + 1,
                    _ => runs.push((line..line + 1, authors)),
                }
            }
        }
        runs
    }

    /// Returns them as lines of text: for each run of lines with the same authors, their number and
    /// these; before that, if lines above it were removed, `-` and who did that.
    pub fn bytes(&self) -> Vec<u8> {
        let mut text = String::new();
        let mut line = 0;
        while line < self.lines.len() {
            // Only the first line of a run may have something removed above it.
            let rest = self.lines[line + 1..].iter().zip(&self.gaps[line + 1..]);
            let n = 1 + rest
                .take_while(|(authors, gap)| **authors == self.lines[line] && gap.is_empty())
                .count();
            if !self.gaps[line].is_empty() {
                text += &format!("- {}\n", authors_word(&self.gaps[line]));
            }
            text += &format!("{n} {}\n", authors_word(&self.lines[line]));
            line += n;
        }
        if let Some(gap) = self.gaps.last().filter(|gap| !gap.is_empty()) {
            text += &format!("- {}\n", authors_word(gap));
        }
        text.into_bytes()
    }

    /// Reads what [`LineAuthors::bytes`] writes of a text of `n_lines` lines; `None` if it is not that.
    pub fn parse(bytes: &[u8], n_lines: usize) -> Option<LineAuthors> {
        let mut all = LineAuthors {
            lines: Vec::new(),
            gaps: Vec::new(),
        };
        let mut gap = Authors::new();
        for line in std::str::from_utf8(bytes).ok()?.lines() {
            let (n, word) = line.split_once(' ')?;
            let authors = parse_authors(word)?;
            if n == "-" {
                gap = authors;
                continue;
            }
            let n: usize = n.parse().ok()?;
            if n > n_lines - all.lines.len() {
                return None;
            }
            for _ in 0..n {
                all.gaps.push(std::mem::take(&mut gap));
                all.lines.push(authors.clone());
            }
        }
        all.gaps.push(gap);
        (all.lines.len() == n_lines).then_some(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AGENT: Author = Author::Turn(7);

    /// Writes `texts`, each by its author, beginning with what is reviewed, and returns the runs of lines
    /// of the last that differ from that, and their authors.
    fn written(reviewed: &str, texts: &[(&str, Author)]) -> Vec<(Range<usize>, String)> {
        let reviewed = Text::new(reviewed.as_bytes().to_vec());
        let mut text = reviewed.clone();
        let mut authors = LineAuthors::of(&reviewed, &reviewed, &[]);
        for (next, author) in texts {
            let next = Text::new(next.as_bytes().to_vec());
            authors = authors.followed(&text, &next, &[*author]);
            assert_eq!(
                LineAuthors::parse(&authors.bytes(), next.len()).as_ref(),
                Some(&authors)
            );
            text = next;
        }
        let edits = authors.of_edits(&reviewed, &text, &[Author::Unknown]);
        let shown = edits
            .into_iter()
            .map(|(lines, authors)| (lines, authors_word(&authors)));
        shown.collect()
    }

    #[test]
    fn each_difference_is_whose_who_wrote_its_lines() {
        let all = written(
            "a\nb\nc\nd\ne\n",
            &[
                ("a\nB\nc\nd\ne\n", AGENT),
                ("a\nB\nc\nd\ne\nf\n", Author::Outside),
            ],
        );
        assert_eq!(all, [(1..2, "t7".to_owned()), (5..6, "o".to_owned())]);
    }

    #[test]
    fn a_line_that_another_changed_again_is_by_both() {
        let all = written(
            "a\nb\nc\n",
            &[("a\nB\nc\n", AGENT), ("a\nBB\nc\n", Author::User)],
        );
        assert_eq!(all, [(1..2, "t7+u".to_owned())]);
    }

    #[test]
    fn what_was_removed_is_by_who_removed_it() {
        let all = written(
            "a\nb\nc\nd\n",
            &[
                ("a\nc\nd\n", AGENT),
                ("a\nc\n", Author::Outside),
                ("new\na\nc\n", Author::User),
            ],
        );
        let expected = [
            (0..1, "u".to_owned()),
            (2..2, "t7".to_owned()),
            (3..3, "o".to_owned()),
        ];
        assert_eq!(all, expected);
        // An agent's line that the user removed, which took the place of another.
        let all = written("a\nb\n", &[("a\nB\n", AGENT), ("a\n", Author::User)]);
        assert_eq!(all, [(1..1, "t7+u".to_owned())]);
    }

    #[test]
    fn lines_between_an_agents_are_the_users() {
        let all = written(
            "a\n",
            &[("a\nx\ny\n", AGENT), ("a\nx\nmine\ny\n", Author::User)],
        );
        let [agent, user] = ["t7", "u"].map(str::to_owned);
        assert_eq!(all, [(1..2, agent.clone()), (2..3, user), (3..4, agent)]);
    }

    #[test]
    fn what_is_no_list_of_authors_is_refused() {
        for text in ["2 t7\n", "1 t7\n1 x\n", "1\n", "3 u\n"] {
            let parsed = LineAuthors::parse(text.as_bytes(), 1);
            assert_eq!(parsed, None, "{text:?}");
        }
    }
}
