//! Characters that read as something else, or as nothing.
//!
//! An agent's text is only half trusted, and what a reviewer cannot tell from something innocent
//! cannot be reviewed: controls of writing direction
//! ([Trojan Source](https://trojansource.codes/)), characters without width, odd spaces, and letters
//! that look like ASCII ones. The last are found by the skeletons of
//! [UTS #39](https://www.unicode.org/reports/tr39/). What honest writers use is left alone as far
//! as its surroundings tell: a word of Cyrillic in a Russian sentence is one, a Cyrillic letter in
//! a word of Latin ones, or a line in which every Cyrillic letter could be taken for a Latin one, is
//! none.
//!
//! Time is linear in the text; ASCII text costs one look at each byte.

use unicode_normalization::char::{compose, is_combining_mark};
use unicode_script::{Script, UnicodeScript};
use unicode_security::confusable_detection::skeleton;

use crate::replace::char_len;

/// As what a character deceives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Deceit {
    /// It changes the direction in which other characters are shown.
    Direction,
    /// It has no width.
    Invisible,
    /// It is a space, but not the usual one.
    Space,
    /// It is a control character, or a byte that belongs to no character.
    Control,
    /// It looks like another character, or other characters, of ASCII.
    Lookalike,
    /// It joins the letter before to one that looks like a single character.
    Combining,
}

/// A character that reads as something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Suspect {
    /// Its index in the text, in characters as Emacs counts them.
    pub index: usize,
    /// As what it deceives.
    pub deceit: Deceit,
}

/// Returns the characters of `text` that read as something else, in their order.
///
/// ```
/// use agent_q_diff::honest::{Deceit, Suspect, suspects};
/// let text = "if (level != \u{202e}x) { p\u{430}y(); }\n";
/// assert_eq!(suspects(b"if (level != 1) { pay(); }\n"), []);
/// assert_eq!(suspects(text.as_bytes()), [
///     Suspect { index: 13, deceit: Deceit::Direction },
///     Suspect { index: 20, deceit: Deceit::Lookalike },
/// ]);
/// ```
pub fn suspects(text: &[u8]) -> Vec<Suspect> {
    let mut suspects = Vec::new();
    let mut first = 0;
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        if is_plain(line) {
            first += line.len();
            continue;
        }
        let chars = chars(line);
        let found = suspects_of_line(&chars);
        suspects.extend(found.into_iter().map(|(at, deceit)| Suspect {
            index: first + at,
            deceit,
        }));
        first += chars.len();
    }
    suspects
}

/// Tells whether every byte of `line` is an ASCII character that is what it seems.
fn is_plain(line: &[u8]) -> bool {
    line.iter()
        .all(|&byte| (b' '..0x7f).contains(&byte) || matches!(byte, b'\n' | b'\t' | b'\x0c'))
}

/// Returns the characters of `line`; for what is none in Unicode `None`.
fn chars(line: &[u8]) -> Vec<Option<char>> {
    let mut chars = Vec::new();
    let mut rest = line;
    while !rest.is_empty() {
        let (char, tail) = rest.split_at(char_len(rest));
        chars.push(
            str::from_utf8(char)
                .ok()
                .and_then(|char| char.chars().next()),
        );
        rest = tail;
    }
    chars
}

fn suspects_of_line(chars: &[Option<char>]) -> Vec<(usize, Deceit)> {
    let scene = Scene::of(chars);
    let deceit = |at: usize| match chars[at].map(by_itself) {
        None => Some(Deceit::Control),
        Some(Some(deceit)) => Some(deceit).filter(|_| !is_used_honestly(chars, at)),
        Some(None) if combines(chars, at) => Some(Deceit::Combining),
        Some(None) => scene.is_lookalike(chars, at).then_some(Deceit::Lookalike),
    };
    (0..chars.len())
        .filter_map(|at| deceit(at).map(|deceit| (at, deceit)))
        .collect()
}

/// Returns as what `char` deceives wherever it stands, if it does.
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
        // Line breaks to some programs and none to others.
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

/// Tells whether the invisible character at `at` has its honest place there: between emoji, or
/// after a letter of a script that needs it.
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
        // Of digits and the like only the keycaps are emoji.
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

/// Tells whether the character at `at` is a mark that makes of the letter before one that there is
/// as a single character too.
fn combines(chars: &[Option<char>], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| chars[before]);
    match (before, chars[at]) {
        (Some(before), Some(mark)) if is_combining_mark(mark) => {
            before.is_ascii() || compose(before, mark).is_some()
        }
        _ => false,
    }
}

/// What the rest of a line tells about its letters.
struct Scene {
    /// Whether there is a letter of Chinese, Japanese or Korean, with which come wide punctuation
    /// and wide forms.
    is_wide: bool,
    /// Scripts with a letter that cannot be taken for an ASCII one.
    honest: Vec<Script>,
}

impl Scene {
    fn of(chars: &[Option<char>]) -> Scene {
        let letters = || chars.iter().flatten().filter(|char| char.is_alphabetic());
        let is_wide = |char: &&char| {
            matches!(char, '\u{1100}'..='\u{11ff}'
            | '\u{3041}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7ff}' | '\u{20000}'..='\u{3ffff}')
        };
        let honest = letters().filter(|&&char| !char.is_ascii() && !looks_ascii(char));
        Scene {
            is_wide: letters().any(|char| is_wide(&char)),
            honest: honest.map(|&char| script(char)).collect(),
        }
    }

    /// Tells whether the character at `at` looks like ASCII where a reader would take it for that.
    fn is_lookalike(&self, chars: &[Option<char>], at: usize) -> bool {
        let Some(char) = chars[at].filter(|&char| !char.is_ascii() && looks_ascii(char)) else {
            return false;
        };
        match script(char) {
            _ if is_told_apart(char) => false,
            Script::Common => !(self.is_wide && is_wide_form(char)),
            Script::Latin => !self.honest.contains(&Script::Latin),
            script => {
                is_in_word_of_ascii(chars, at)
                    || (!is_symbol_of_science(char) && !self.honest.contains(&script))
            }
        }
    }
}

/// Tells whether a word that contains the character at `at` contains an ASCII letter, too.
fn is_in_word_of_ascii(chars: &[Option<char>], at: usize) -> bool {
    let is_part =
        |char: &&Option<char>| char.is_some_and(|char| char.is_alphanumeric() || char == '_');
    let is_ascii = |char: &Option<char>| char.is_some_and(|char| char.is_ascii_alphabetic());
    let before = chars[..at].iter().rev().take_while(is_part);
    let after = chars[at..].iter().take_while(is_part);
    before.chain(after).any(is_ascii)
}

/// Tells whether `char` looks like one or several ASCII characters.
fn looks_ascii(char: char) -> bool {
    let mut buffer = [0; 4];
    let mut skeleton = skeleton(char.encode_utf8(&mut buffer)).peekable();
    skeleton.peek().is_some() && skeleton.all(|char| char.is_ascii())
}

/// What a reader tells from ASCII although its skeleton does not: punctuation of prose, and the
/// dotless i of Turkish.
fn is_told_apart(char: char) -> bool {
    "‘’“”„‚–—…•·×´¨«»¸°ºª¹²³¼½¾′″÷€©®™ı".contains(char)
}

/// Lower case Greek letters that stand for themselves in formulas, and look it.
fn is_symbol_of_science(char: char) -> bool {
    matches!(
        char,
        'α' | 'γ' | 'η' | 'ι' | 'κ' | 'ν' | 'ρ' | 'σ' | 'τ' | 'υ' | 'ω' | 'µ' | 'μ'
    )
}

fn is_wide_form(char: char) -> bool {
    matches!(char, '\u{ff00}'..='\u{ffef}' | '\u{3000}'..='\u{303f}')
}

/// Returns the script of `char`. Letters for formulas, and wide and half-width forms, are signs.
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

    /// Returns what deceives in `text`, each character with its deceit.
    fn found(text: &str) -> Vec<(char, Deceit)> {
        let at = |index| text.chars().nth(index).unwrap();
        let pair = |suspect: Suspect| (at(suspect.index), suspect.deceit);
        suspects(text.as_bytes()).into_iter().map(pair).collect()
    }

    #[test]
    fn what_honest_writers_use_is_left_alone() {
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
        // In a sentence that nobody could take for Latin it is at home; mixed into a word it is not.
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
}
