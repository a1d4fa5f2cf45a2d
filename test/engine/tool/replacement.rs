//! Exact replacement of a string: pictures, and random texts beside a naive search.

use agent_q_diff_engine::tool::nearest::{Difference, Nearest};
use agent_q_diff_engine::tool::replacement::{Match, ReplaceError, Scope, find, hash, matches};

use super::random_bytes;
use crate::common::dice::Dice;

fn replaced(text: &str, old: &str, new: &str, scope: Scope) -> Result<String, ReplaceError> {
    let (text, old, new) = (text.as_bytes(), old.as_bytes(), new.as_bytes());
    let result = find(text, old, new, scope)?.apply(text);
    Ok(String::from_utf8(result).expect("all of it was UTF-8"))
}

#[track_caller]
fn check(text: &str, old: &str, new: &str, expected: &str) {
    assert_eq!(
        replaced(text, old, new, Scope::Unique).as_deref(),
        Ok(expected)
    );
}

#[track_caller]
fn check_affected(text: &str, old: &str, new: &str, expected: &[(usize, usize)]) {
    let found = find(text.as_bytes(), old.as_bytes(), new.as_bytes(), Scope::All);
    let found = found.expect("it is there and does not overlap");
    let lines = found.affected_lines(text.as_bytes());
    let lines: Vec<_> = lines.iter().map(|lines| (lines.start, lines.end)).collect();
    assert_eq!(lines, expected);
}

#[test]
fn a_string_that_looks_like_a_pattern_is_literal() {
    check("a.c abc\n", "a.c", "x", "x abc\n");
    check(
        "a+b* [c]\n",
        "a+b* [c]",
        r"\& \1 $1 $& \\",
        "\\& \\1 $1 $& \\\\\n",
    );
    check("^start$\n", "^start$", "", "\n");
}

#[test]
fn case_counts_and_is_not_adapted() {
    check(
        "Timeout = 1\nTIMEOUT = 1\ntimeout = 1\n",
        "timeout = 1",
        "retry_limit = TWO",
        "Timeout = 1\nTIMEOUT = 1\nretry_limit = TWO\n",
    );
}

#[test]
fn white_space_counts() {
    check("foo  bar\nfoo bar\n", "foo bar", "x", "foo  bar\nx\n");
    check(
        "  (defun foo)\n",
        "  (defun foo)",
        "\t(defun foo)",
        "\t(defun foo)\n",
    );
}

#[test]
fn a_string_of_several_lines_is_found_with_its_newlines() {
    check("a\nb\nc\n", "a\nb\n", "", "c\n");
    check("a\nb\nc", "\nc", "\n", "a\nb\n");
}

#[test]
fn nothing_is_unescaped() {
    check("s = \"a\\nb\";\n", "\\n", "\\t", "s = \"a\\tb\";\n");
}

#[test]
fn a_match_in_two_places_is_refused_with_its_lines() {
    let several = |lines: &[usize]| {
        Err(ReplaceError::Several {
            lines: lines.to_vec(),
        })
    };
    assert_eq!(
        replaced("x\ny\nx\n", "x", "z", Scope::Unique),
        several(&[0, 2])
    );
    assert_eq!(replaced("aaa", "aa", "b", Scope::Unique), several(&[0, 0]));
    assert_eq!(
        replaced("\n\n\n", "\n\n", "\n", Scope::Unique),
        several(&[0, 1])
    );
}

#[test]
fn all_matches_are_replaced_unless_they_overlap() {
    assert_eq!(
        replaced("x y x\n", "x", "xx", Scope::All).as_deref(),
        Ok("xx y xx\n")
    );
    assert_eq!(replaced("abab", "ab", "", Scope::All).as_deref(), Ok(""));
    let overlapping = Err(ReplaceError::Overlapping { lines: vec![0, 1] });
    assert_eq!(replaced("a\na\na", "a\na", "b", Scope::All), overlapping);
}

#[test]
fn an_empty_string_and_one_equal_to_its_replacement_are_refused() {
    for scope in [Scope::Unique, Scope::All] {
        assert_eq!(replaced("a", "", "b", scope), Err(ReplaceError::Empty));
        assert_eq!(replaced("a", "a", "a", scope), Err(ReplaceError::Equal));
    }
    // With the line ends of the text it is the string that it replaces.
    assert_eq!(
        replaced("a\r\n", "a\n", "a\r\n", Scope::Unique),
        Err(ReplaceError::Equal)
    );
}

#[test]
fn in_a_crlf_text_a_newline_is_one_of_its_line_ends() {
    check(
        "a\r\nb\r\nc\r\n",
        "a\nb\n",
        "x\ny\nz\n",
        "x\r\ny\r\nz\r\nc\r\n",
    );
    check("a\r\nb\r\n", "b", "b\nc", "a\r\nb\r\nc\r\n");
    check("a\r\nb\r\n", "a\r\nb", "x\r\ny\nz", "x\r\ny\r\nz\r\n");
    check("a\r\nb", "\nb", "\nb\n", "a\r\nb\r\n");
}

#[test]
fn half_a_line_end_of_a_crlf_text_does_not_match() {
    let twice = Err(ReplaceError::Several { lines: vec![0, 1] });
    assert_eq!(replaced("a\r\nb\r\n", "\n", "", Scope::Unique), twice);
    assert_eq!(
        replaced("a\r\nb\r\n", "\n", "", Scope::All).as_deref(),
        Ok("ab")
    );
}

#[test]
fn where_lines_end_in_both_ways_the_bytes_count_first() {
    check("a\nb\r\na\r\nb\r\n", "a\nb", "x\ny", "x\ny\r\na\r\nb\r\n");
    check("a\nb\r\nc\r\nd\n", "b\nc", "x\ny", "a\nx\r\ny\r\nd\n");
    check("a\nb\r\nc\n", "a", "x\ny", "x\ny\nb\r\nc\n");
}

#[test]
fn a_crlf_is_not_found_in_a_text_of_lf() {
    let refused = replaced("a\nb\n", "a\r\nb", "x", Scope::Unique);
    let differences = vec![Difference::LineEnds];
    let nearest = Some(Nearest {
        lines: 0..2,
        differences,
    });
    assert_eq!(refused, Err(ReplaceError::NotFound { nearest }));
}

fn naive_matches(text: &[u8], old: &[u8]) -> Vec<Match> {
    let starts = 0..(text.len() + 1).saturating_sub(old.len());
    let is_there = |start: &usize| text[*start..].starts_with(old);
    let place = |start: usize| Match {
        line: text[..start].iter().filter(|&&byte| byte == b'\n').count(),
        bytes: start..start + old.len(),
    };
    starts.filter(is_there).map(place).collect()
}

#[test]
fn matches_are_those_of_a_naive_search() {
    let mut dice = Dice::new(1);
    for _ in 0..30_000 {
        let alphabet: &[u8] = [b"ab".as_slice(), b"a\n", b"a\r\nb\xff\0"][dice.roll(3)];
        let text = random_bytes(&mut dice, alphabet, 30);
        let old = random_bytes(&mut dice, alphabet, 4);
        if !old.is_empty() {
            assert_eq!(matches(&text, &old), naive_matches(&text, &old));
        }
    }
}

#[test]
fn a_hash_is_the_sha_256() {
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(hash(b"abc"), abc);
}

#[test]
fn a_replacement_changes_its_places_and_nothing_else() {
    let mut dice = Dice::new(2);
    let mut n_replaced = 0;
    for _ in 0..30_000 {
        let text = random_bytes(&mut dice, b"abc\n\xc3\xa9", 30);
        let old = random_bytes(&mut dice, b"abc\n\xc3\xa9", 3);
        let new = random_bytes(&mut dice, b"ab\n\\&$1", 4);
        let scope = [Scope::Unique, Scope::All][dice.roll(2)];
        if old.is_empty() || old == new {
            continue;
        }
        let there = naive_matches(&text, &old);
        let is_apart = there
            .windows(2)
            .all(|pair| pair[0].bytes.end <= pair[1].bytes.start);
        let is_wanted = !there.is_empty() && is_apart && (scope == Scope::All || there.len() == 1);
        let found = find(&text, &old, &new, scope);
        assert_eq!(found.is_ok(), is_wanted);
        let Ok(found) = found else { continue };
        let pieces: Vec<_> = there
            .iter()
            .scan(0, |done, place| {
                let piece = &text[*done..place.bytes.start];
                *done = place.bytes.end;
                Some(piece)
            })
            .collect();
        let mut expected = pieces.join(&new[..]);
        expected.extend_from_slice(&new);
        expected.extend_from_slice(&text[there[there.len() - 1].bytes.end..]);
        assert_eq!(found.apply(&text), expected);
        n_replaced += 1;
    }
    assert!(
        n_replaced > 1000,
        "only {n_replaced} cases replaced anything"
    );
}

#[test]
fn a_text_of_repeated_parts_takes_linear_time() {
    // The naive search would take ten thousand million comparisons.
    let text = vec![b'a'; 1 << 20];
    let old = vec![b'a'; 10_000];
    assert_eq!(matches(&text, &old).len(), text.len() - old.len() + 1);
}

#[test]
fn affected_lines_are_those_of_the_result() {
    check_affected("a\nb\nc\n", "b", "x", &[(1, 2)]);
    check_affected("a\nb\nc\n", "b\n", "x\ny\n", &[(1, 3)]);
    check_affected("a\nb\nc\n", "b", "x\ny", &[(1, 3)]);
    check_affected("a\nb\nc\n", "b\n", "", &[(1, 2)]);
    check_affected("a\nb\nc\n", "a\nb\nc\n", "x", &[(0, 1)]);
    check_affected(
        "x\na\nx\na\nx\n",
        "x\n",
        "1\n2\n",
        &[(0, 2), (3, 5), (6, 8)],
    );
    check_affected("a\n\nb\n\nc", "\n\n", " ", &[(0, 1), (0, 1)]);
}
