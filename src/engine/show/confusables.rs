//! Characters that look like something else, or like nothing.
//!
//! An agent's text is only half trusted, and nobody can review what looks like something harmless:
//! bidirectional controls ([Trojan Source](https://trojansource.codes/)), characters without width,
//! unusual spaces, and letters that look like ASCII ones. The latter are found by the skeletons of
//! [UTS #39](https://www.unicode.org/reports/tr39/). Legitimate use is not reported, as far as the
//! rest of the line shows that it is legitimate: a Cyrillic word in a Russian sentence is fine. A
//! Cyrillic letter in a Latin word is reported, and so are the letters of a line in which every
//! Cyrillic letter could be taken for a Latin one.
//!
//! Takes O(bytes) time; each byte of ASCII text is read only once.

use std::ops::Range;

use unicode_normalization::char::{compose, is_combining_mark};
use unicode_script::{Script, UnicodeScript};
use unicode_security::confusable_detection::skeleton;

use crate::text::char_len;

/// How a character misleads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Deceit {
    /// It changes the direction in which other characters are displayed.
    Direction,
    /// It has no width.
    Invisible,
    /// It is a space, but not the usual one.
    Space,
    /// It is a control character, or a byte that is not part of a character.
    Control,
    /// It looks like one or more ASCII characters.
    Lookalike,
    /// It combines with the letter before it, and they look like a single character.
    Combining,
}

/// A misleading character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Suspect {
    /// Its index in the text (0-based), in characters as Emacs counts them.
    pub index: usize,
    /// How it misleads.
    pub deceit: Deceit,
}

/// Returns the misleading characters of `text`, in order.
///
/// ```
/// use agent_q_diff_engine::show::confusables::{Deceit, Suspect, suspects};
/// let text = "if (level != \u{202e}x) { p\u{430}y(); }\n";
/// assert_eq!(suspects(b"if (level != 1) { pay(); }\n"), []);
/// assert_eq!(suspects(text.as_bytes()), [
///     Suspect { index: 13, deceit: Deceit::Direction },
///     Suspect { index: 20, deceit: Deceit::Lookalike },
/// ]);
/// ```
pub fn suspects(text: &[u8]) -> Vec<Suspect> {
    let mut suspects = Vec::new();
    Reader::default().read(text, |suspect| suspects.push(suspect));
    suspects
}

/// Counts the misleading characters of `texts`, each text by itself.
pub fn n_suspects<'a>(texts: impl IntoIterator<Item = &'a [u8]>) -> usize {
    let (mut reader, mut n) = (Reader::default(), 0);
    for text in texts {
        reader.read(text, |_| n += 1);
    }
    n
}

/// Reads texts and caches the traits of characters.
#[derive(Default)]
struct Reader {
    known: Known,
    /// The characters of a line; `None` for those that Emacs has but Unicode does not.
    chars: Vec<Option<char>>,
}

impl Reader {
    /// Calls `report` with each misleading character of `text`, in order.
    fn read(&mut self, text: &[u8], mut report: impl FnMut(Suspect)) {
        let mut first = 0;
        for line in text.split_inclusive(|&byte| byte == b'\n') {
            if is_plain(line) {
                first += line.len();
                continue;
            }
            self.chars.clear();
            self.chars.extend(chars(line));
            let mut scene = Scene::of(&self.chars, &mut self.known);
            for at in 0..self.chars.len() {
                if let Some(deceit) = scene.deceit(at) {
                    let index = first + at;
                    report(Suspect { index, deceit });
                }
            }
            first += self.chars.len();
        }
    }
}

/// Returns whether `line` consists of printable ASCII characters, newlines, tabs and form feeds.
fn is_plain(line: &[u8]) -> bool {
    line.iter()
        .all(|&byte| (b' '..0x7f).contains(&byte) || matches!(byte, b'\n' | b'\t' | b'\x0c'))
}

/// Returns the characters of `line`; `None` for those that Emacs has but Unicode does not.
fn chars(line: &[u8]) -> impl Iterator<Item = Option<char>> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let (char, tail) = match rest {
            [] => return None,
            _ => rest.split_at(char_len(rest)),
        };
        rest = tail;
        Some(char_of(char))
    })
}

/// Decodes `bytes`, which are one character for Emacs (see [`char_len`]); `None` if it is not in
/// Unicode.
fn char_of(bytes: &[u8]) -> Option<char> {
    match *bytes {
        [byte] => byte.is_ascii().then_some(char::from(byte)),
        [first, ref tail @ ..] => {
            let head = u32::from(first) & (0x7f >> bytes.len());
            let code = tail
                .iter()
                .fold(head, |code, byte| code << 6 | u32::from(byte & 0x3f));
            char::from_u32(code)
        }
        [] => None,
    }
}

/// The properties of a character that do not depend on its surroundings.
#[derive(Debug, Clone, Copy)]
struct Traits {
    /// How it misleads by itself.
    deceit: Option<Deceit>,
    is_mark: bool,
    /// Whether it is part of a word.
    is_word: bool,
    is_ascii_letter: bool,
    /// Whether it is a Chinese, Japanese or Korean letter.
    is_wide: bool,
    /// Its script, if it is a non-ASCII letter that cannot be taken for an ASCII one.
    honest: Option<Script>,
    look: Look,
}

/// What a character looks like.
#[derive(Debug, Clone, Copy)]
enum Look {
    /// Like itself.
    Own,
    /// Like ASCII, but it is not a letter of a script.
    Sign { is_wide_form: bool },
    /// Like ASCII, and it is a letter of a script.
    Letter {
        script: Script,
        is_symbol_of_science: bool,
    },
}

impl Traits {
    fn of(char: char) -> Traits {
        let looks_ascii = !char.is_ascii() && looks_ascii(char);
        let is_foreign_letter = !char.is_ascii() && char.is_alphabetic();
        Traits {
            deceit: by_itself(char),
            is_mark: is_combining_mark(char),
            is_word: char.is_alphanumeric() || char == '_',
            is_ascii_letter: char.is_ascii_alphabetic(),
            is_wide: is_wide(char),
            honest: (is_foreign_letter && !looks_ascii).then(|| script(char)),
            look: if looks_ascii && !is_told_apart(char) {
                Look::of_lookalike(char)
            } else {
                Look::Own
            },
        }
    }
}

impl Look {
    fn of_lookalike(char: char) -> Look {
        match script(char) {
            Script::Common => Look::Sign {
                is_wide_form: is_wide_form(char),
            },
            script => Look::Letter {
                script,
                is_symbol_of_science: is_symbol_of_science(char),
            },
        }
    }
}

/// How many characters share a page of [`Known`].
const PAGE_LEN: usize = 256;

/// The traits of the characters seen so far. Computing them takes a hundred times as long as
/// looking them up here.
#[derive(Default)]
struct Known(Vec<Option<Box<[Option<Traits>; PAGE_LEN]>>>);

impl Known {
    fn traits(&mut self, char: char) -> Traits {
        let (page, at) = (char as usize / PAGE_LEN, char as usize % PAGE_LEN);
        if self.0.len() <= page {
            self.0.resize(page + 1, None);
        }
        let page = self.0[page].get_or_insert_with(|| Box::new([None; PAGE_LEN]));
        *page[at].get_or_insert_with(|| Traits::of(char))
    }
}

/// Returns how `char` misleads in any surroundings, if it does.
fn by_itself(char: char) -> Option<Deceit> {
    Some(match char {
        '\t' | '\n' | '\x0c' => return None,
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' => Deceit::Control,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            Deceit::Direction
        }
        '\u{a0}'
        | '\u{1680}'
        | '\u{2000}'..='\u{200a}'
        | '\u{202f}'
        | '\u{205f}'
        | '\u{2800}'
        | '\u{3000}'
        // Some programs treat these as line breaks and others do not.
        | '\u{2028}'
        | '\u{2029}' => Deceit::Space,
        '\u{ad}'
        | '\u{34f}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200d}'
        | '\u{2060}'..='\u{2065}'
        | '\u{206a}'..='\u{206f}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' => Deceit::Invisible,
        _ => return None,
    })
}

/// Returns whether the invisible character at index `at` is legitimate there: as part of an emoji,
/// or between letters of a script that needs it.
fn is_used_honestly(chars: &[Option<char>], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| chars[before]);
    let after = chars.get(at + 1).copied().flatten();
    let is_emoji = |char: Option<char>| {
        char.is_some_and(|char| {
            matches!(char, '\u{2190}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '\u{fe0f}'
                | '\u{1f000}'..='\u{1faff}' | '\u{20e3}' | '#' | '*' | '0'..='9')
        })
    };
    let joins = |char: Option<char>| {
        char.is_some_and(|char| matches!(char, '\u{600}'..='\u{8ff}' | '\u{900}'..='\u{dff}'))
    };
    match chars[at] {
        // Digits, `#` and `*` are emoji only as keycaps.
        Some('\u{fe0f}') => match before {
            Some('#' | '*' | '0'..='9') => after == Some('\u{20e3}'),
            before => is_emoji(before),
        },
        Some('\u{200d}') if before.is_some_and(|char| !char.is_ascii()) && is_emoji(before) => {
            after.is_some_and(|char| !char.is_ascii()) && is_emoji(after)
        }
        Some('\u{200c}' | '\u{200d}') => joins(before) && joins(after),
        _ => false,
    }
}

/// Returns whether the combining mark at index `at` and the character before it might be taken for
/// a single character: that character is ASCII, or Unicode has the two as one.
fn combines(chars: &[Option<char>], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| chars[before]);
    match (before, chars[at]) {
        (Some(before), Some(mark)) => before.is_ascii() || compose(before, mark).is_some(),
        _ => false,
    }
}

/// More scripts than Unicode has.
const N_SCRIPTS: usize = 256;

/// A line, with what its characters say about the legitimacy of each letter.
struct Scene<'a> {
    chars: &'a [Option<char>],
    known: &'a mut Known,
    /// Whether there is a Chinese, Japanese or Korean letter, which makes wide punctuation and wide
    /// forms legitimate.
    is_wide: bool,
    /// For each script, whether the line has a letter of it that cannot be taken for an ASCII one.
    is_honest: [bool; N_SCRIPTS],
    /// The range of the last word that was read, and whether it contains an ASCII letter. A word
    /// can be as long as the line, so it is read once for all its letters.
    word: (Range<usize>, bool),
}

impl<'a> Scene<'a> {
    fn of(chars: &'a [Option<char>], known: &'a mut Known) -> Scene<'a> {
        let mut scene = Scene {
            chars,
            known,
            is_wide: false,
            is_honest: [false; N_SCRIPTS],
            word: (0..0, false),
        };
        for &char in chars.iter().flatten() {
            let traits = scene.known.traits(char);
            scene.is_wide |= traits.is_wide;
            if let Some(script) = traits.honest {
                scene.is_honest[script as usize] = true;
            }
        }
        scene
    }

    /// Returns how the character at index `at` misleads, if it does.
    fn deceit(&mut self, at: usize) -> Option<Deceit> {
        let Some(char) = self.chars[at] else {
            return Some(Deceit::Control);
        };
        let traits = self.known.traits(char);
        match traits.deceit {
            Some(deceit) => (!is_used_honestly(self.chars, at)).then_some(deceit),
            None if traits.is_mark && combines(self.chars, at) => Some(Deceit::Combining),
            None => self
                .is_lookalike(traits.look, at)
                .then_some(Deceit::Lookalike),
        }
    }

    /// Returns whether the character at index `at`, which looks like `look`, would be taken for
    /// ASCII in this line.
    fn is_lookalike(&mut self, look: Look, at: usize) -> bool {
        match look {
            Look::Own => false,
            Look::Sign { is_wide_form } => !(self.is_wide && is_wide_form),
            Look::Letter {
                script: Script::Latin,
                ..
            } => !self.is_honest[Script::Latin as usize],
            Look::Letter {
                script,
                is_symbol_of_science,
            } => {
                let is_plausible = !is_symbol_of_science && !self.is_honest[script as usize];
                is_plausible || self.is_in_word_of_ascii(at)
            }
        }
    }

    /// Returns whether the word around the letter at index `at` contains an ASCII letter.
    fn is_in_word_of_ascii(&mut self, at: usize) -> bool {
        if !self.word.0.contains(&at) {
            let mut has_ascii = false;
            let mut is_part = |char: &&Option<char>| {
                let traits = char.map(|char| self.known.traits(char));
                has_ascii |= traits.is_some_and(|traits| traits.is_ascii_letter);
                traits.is_some_and(|traits| traits.is_word)
            };
            let (above, below) = self.chars.split_at(at);
            let n_above = above.iter().rev().take_while(&mut is_part).count();
            let n_below = below.iter().take_while(&mut is_part).count();
            self.word = (at - n_above..at + n_below.max(1), has_ascii);
        }
        self.word.1
    }
}

/// Returns whether `char` is a Chinese, Japanese or Korean letter.
fn is_wide(char: char) -> bool {
    let is_east_asian = matches!(char, '\u{1100}'..='\u{11ff}'
        | '\u{3041}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7ff}' | '\u{20000}'..='\u{3ffff}');
    is_east_asian && char.is_alphabetic()
}

/// Returns whether `char` looks like one or several ASCII characters.
fn looks_ascii(char: char) -> bool {
    let mut buffer = [0; 4];
    let mut skeleton = skeleton(char.encode_utf8(&mut buffer)).peekable();
    skeleton.peek().is_some() && skeleton.all(|char| char.is_ascii())
}

/// Returns whether readers can tell `char` from ASCII although its skeleton is ASCII: punctuation
/// of prose, and the Turkish dotless i.
fn is_told_apart(char: char) -> bool {
    "‘’“”„‚–—…•·×´¨«»¸°ºª¹²³¼½¾′″÷€©®™ı".contains(char)
}

/// Returns whether `char` is a lower-case Greek letter that is common in formulas and can be told
/// from ASCII there.
fn is_symbol_of_science(char: char) -> bool {
    matches!(
        char,
        'α' | 'γ' | 'η' | 'ι' | 'κ' | 'ν' | 'ρ' | 'σ' | 'τ' | 'υ' | 'ω' | 'µ' | 'μ'
    )
}

fn is_wide_form(char: char) -> bool {
    matches!(char, '\u{ff00}'..='\u{ffef}' | '\u{3000}'..='\u{303f}')
}

/// Returns the script of `char`, which is `Common` for letter-like symbols, and for full-width and
/// half-width forms.
fn script(char: char) -> Script {
    match char {
        '\u{2100}'..='\u{214f}' | '\u{ff00}'..='\u{ffef}' => Script::Common,
        _ if !char.is_alphabetic() => Script::Common,
        _ => char.script(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the misleading characters of `text`, each with how it misleads.
    fn found(text: &str) -> Vec<(char, Deceit)> {
        let at = |index| text.chars().nth(index).unwrap();
        let pair = |suspect: Suspect| (at(suspect.index), suspect.deceit);
        suspects(text.as_bytes()).into_iter().map(pair).collect()
    }

    #[test]
    fn what_honest_writers_use_is_not_reported() {
        for text in [
            "plain ASCII\twith a tab\x0c\n",
            "naïve café, Zürich, ½ – “quoted” – ‘so’ … 3 × 4 = 12 °C €",
            "Привет, мир! Это а и о, как всегда.",
            "Λόγος και ύλη",
            "let α = β + γ; // Δx → 0, λ, μ, σ² ≤ ν",
            "変数：値（一）、ＡＢＣ。",
            "한국어 문장",
            "❤️ 👩‍👩‍👧 1️⃣ ☎️ 🏳️‍🌈",
            "می‌خواهم",
            "क्‍ष",
            "שלום עולם",
            "fıstık ve şeker",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
    }

    #[test]
    fn a_letter_of_another_script_is_told_by_its_surroundings() {
        let lookalike = |text: &str| found(text).iter().map(|pair| pair.0).collect::<String>();
        assert_eq!(lookalike("p\u{430}ypal"), "\u{430}");
        assert_eq!(
            lookalike("\u{440}\u{430}\u{443} = 1"),
            "\u{440}\u{430}\u{443}"
        );
        assert_eq!(lookalike("if \u{3bf}k"), "\u{3bf}");
        // It is harmless in a sentence that cannot be taken for Latin, but not inside a Latin word.
        assert_eq!(lookalike("это а"), "");
        assert_eq!(lookalike("это pаypal"), "\u{430}");
        assert_eq!(lookalike("ｉｆ (x)"), "ｉｆ");
        assert_eq!(lookalike("x \u{37e}"), "\u{37e}");
        assert_eq!(lookalike("𝐢𝐟 \u{2215} \u{ff1b}"), "𝐢𝐟\u{2215}\u{ff1b}");
    }

    #[test]
    fn what_cannot_be_seen_is_found() {
        for (text, deceit) in [
            ("a\u{202e}b", Deceit::Direction),
            ("a\u{2066}b", Deceit::Direction),
            ("a\u{200b}b", Deceit::Invisible),
            ("a\u{e0041}b", Deceit::Invisible),
            ("a\u{fe0f}b", Deceit::Invisible),
            ("ab\u{200d}c", Deceit::Invisible),
            ("a\u{a0}b", Deceit::Space),
            ("a\u{3000}b", Deceit::Space),
            ("a\u{1b}[2J", Deceit::Control),
            ("a\rb", Deceit::Control),
            ("e\u{301}", Deceit::Combining),
        ] {
            assert_eq!(
                found(text).iter().map(|pair| pair.1).collect::<Vec<_>>(),
                [deceit],
                "{text:?}"
            );
        }
        let byte = [Suspect {
            index: 2,
            deceit: Deceit::Control,
        }];
        assert_eq!(suspects(b"ab\xffc"), byte);
    }

    #[test]
    fn indices_count_characters_from_the_start_of_the_text() {
        let indices = |text: &str| {
            suspects(text.as_bytes())
                .iter()
                .map(|s| s.index)
                .collect::<Vec<_>>()
        };
        assert_eq!(indices("ab\n\u{200b}c\nß\u{200b}\n"), [3, 7]);
    }

    #[test]
    fn each_text_is_counted_by_itself() {
        let texts = ["p\u{430}ypal\n", "\u{436}", "\u{430}\n", "a\u{200b}"].map(str::as_bytes);
        assert_eq!(n_suspects(texts), 3);
    }

    /// Reading the whole word again for each of its letters would take minutes.
    #[test]
    fn a_word_as_long_as_a_text_is_read_once() {
        let text = "\u{430}".repeat(400_000);
        assert_eq!(suspects(text.as_bytes()).len(), 400_000);
        let honest = "\u{436}".to_owned() + &text;
        assert_eq!(suspects(honest.as_bytes()), []);
        assert_eq!(suspects((honest + "a").as_bytes()).len(), 400_000);
    }
}
