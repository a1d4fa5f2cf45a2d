//! Exact replacement: pictures, a naive oracle over random texts, and what is said of a string
//! that is not there.

// Only the walks need dice that depend on texts.
#[allow(dead_code)]
mod dice;

use agent_q_diff_engine::text::n_chars;
use agent_q_diff_engine::tool::diff_lines::{Kind, TypedLine, typed_lines, typed_replacement};
use agent_q_diff_engine::tool::nearest::{Difference, Nearest, nearest};
use agent_q_diff_engine::tool::replacement::{Match, ReplaceError, Scope, find, matches};
use dice::Dice;
use sha2::{Digest, Sha256};

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

#[track_caller]
fn check_nearest(text: &str, old: &str, lines: std::ops::Range<usize>, expected: &[Difference]) {
    let differences = expected.to_vec();
    let found = nearest(text.as_bytes(), old.as_bytes());
    assert_eq!(found, Some(Nearest { lines, differences }));
}

// Replacing

#[test]
fn what_looks_like_a_pattern_is_none() {
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
fn an_empty_string_and_one_that_stays_are_refused() {
    for scope in [Scope::Unique, Scope::All] {
        assert_eq!(replaced("a", "", "b", scope), Err(ReplaceError::Empty));
        assert_eq!(replaced("a", "a", "a", scope), Err(ReplaceError::Equal));
    }
    // It would stay once it has the line ends of the text.
    assert_eq!(
        replaced("a\r\n", "a\n", "a\r\n", Scope::Unique),
        Err(ReplaceError::Equal)
    );
}

// Line ends

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

// Against the obvious way

fn naive_matches(text: &[u8], old: &[u8]) -> Vec<Match> {
    let starts = 0..(text.len() + 1).saturating_sub(old.len());
    let is_there = |start: &usize| text[*start..].starts_with(old);
    let place = |start: usize| Match {
        line: text[..start].iter().filter(|&&byte| byte == b'\n').count(),
        bytes: start..start + old.len(),
    };
    starts.filter(is_there).map(place).collect()
}

fn random_bytes(dice: &mut Dice, alphabet: &[u8], max_len: usize) -> Vec<u8> {
    let len = dice.roll(max_len + 1);
    (0..len)
        .map(|_| alphabet[dice.roll(alphabet.len())])
        .collect()
}

#[test]
fn matches_are_those_that_trying_every_place_finds() {
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

fn hash(text: &[u8]) -> String {
    let digits = |byte: &u8| format!("{byte:02x}");
    Sha256::digest(text).iter().map(digits).collect()
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
        assert_eq!(found.hashes(&text), (hash(&text), hash(&expected)));
        n_replaced += 1;
    }
    assert!(
        n_replaced > 1000,
        "only {n_replaced} cases replaced anything"
    );
}

#[test]
fn a_text_of_repeated_parts_takes_linear_time() {
    // The obvious way would compare ten thousand million times.
    let text = vec![b'a'; 1 << 20];
    let old = vec![b'a'; 10_000];
    assert_eq!(matches(&text, &old).len(), text.len() - old.len() + 1);
}

// Lines

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

#[test]
fn characters_are_counted_as_emacs_counts_them() {
    let cases: [(&[u8], usize); 9] = [
        (b"", 0),
        (b"abc", 3),
        ("é✓𝒳".as_bytes(), 3),
        ("e\u{301}".as_bytes(), 2),
        (b"\xff\xfe", 2),
        (b"a\xc3", 2),
        (b"\xed\xa0\x80", 1), // A lone surrogate is a character of Emacs.
        (b"\xf8\x88\x80\x80\x80", 1), // So is one beyond Unicode.
        (b"\xe0\x80\x80\x80", 4),
    ];
    for (bytes, n) in cases {
        assert_eq!(n_chars(bytes), n, "{bytes:x?}");
    }
}

// What is near

#[test]
fn the_nearest_text_differs_in_one_kind() {
    use Difference::*;
    check_nearest("a\n\tfoo  bar\n", "foo bar", 1..2, &[WhiteSpace]);
    check_nearest("a\n  foo\n  bar\n", "foo\nbar", 1..3, &[WhiteSpace]);
    check_nearest("x = 1\ny\u{a0}= 2\n", "y = 2", 1..2, &[WhiteSpace]);
    check_nearest("a\r\nb\nc\n", "a\nb\r\n", 0..2, &[LineEnds]);
    check_nearest("one\nHello\n", "hello", 1..2, &[Case]);
    check_nearest("one\nHello\n", "hello\n", 1..2, &[Case]);
    check_nearest("le café\n", "cafe\u{301}", 0..1, &[Normalization]);
    check_nearest("le cafe\u{301}\n", "café", 0..1, &[Normalization]);
    check_nearest("say “hi”\n", "say \"hi\"", 0..1, &[Punctuation]);
    check_nearest("wait... 1-2\n", "wait… 1–2", 0..1, &[Punctuation]);
    check_nearest("foo\u{200b}bar\n", "foobar", 0..1, &[Invisible]);
}

#[test]
fn marks_in_another_order_are_the_same_character() {
    check_nearest(
        "a\u{323}\u{307}b\n",
        "a\u{307}\u{323}b",
        0..1,
        &[Difference::Normalization],
    );
}

#[test]
fn the_nearest_text_differs_in_several_kinds() {
    use Difference::*;
    check_nearest(
        "x\n  Foo(“A”)\n",
        "foo(\"a\") ",
        1..2,
        &[WhiteSpace, Case, Punctuation],
    );
}

#[test]
fn of_several_places_the_one_with_fewest_differences_is_nearest() {
    check_nearest(
        "FOO  BAR\nfoo  bar\n",
        "foo bar",
        1..2,
        &[Difference::WhiteSpace],
    );
}

#[test]
fn failing_that_the_most_similar_line_is_nearest() {
    let text = "(defun one ())\n(defun process-item (item)\n  42)\n";
    check_nearest(
        text,
        "(defun process-items (item)\n  43)",
        1..2,
        &[Difference::Wording],
    );
}

#[test]
fn what_resembles_nothing_has_nothing_near() {
    for (text, old) in [
        ("abc\n", "xyz"),
        ("", "a"),
        ("abc\n", " \n\t"),
        ("cafés\n", "ca\u{301}"),
    ] {
        assert_eq!(nearest(text.as_bytes(), old.as_bytes()), None, "{old:?}");
    }
}

#[test]
fn bytes_that_are_no_text_do_not_hinder_it() {
    let found = nearest(b"\xff\xfe\0foo  bar\n\xc3", b"foo bar");
    assert_eq!(found.map(|found| found.lines), Some(0..1));
    assert_eq!(nearest(b"\xff\xfe", b"\xfe\xff"), None);
}

#[test]
fn nothing_is_near_where_it_is_not_searched_for_long() {
    let long = b"foo  bar\n".repeat(1 << 20);
    assert_eq!(nearest(&long, b"foo bar"), None);
}

// Typed lines

#[track_caller]
fn check_typed(original: &str, modified: &str, expected: &[(Kind, usize, usize, &str)]) {
    let lines = typed_lines(original.into(), modified.into(), 1);
    let seen: Vec<_> = lines
        .iter()
        .map(|line| {
            let text = std::str::from_utf8(&line.text).expect("all of it was UTF-8");
            (line.kind, line.old_number, line.new_number, text)
        })
        .collect();
    assert_eq!(seen, expected);
}

#[test]
fn typed_lines_have_the_numbers_of_their_sides() {
    use Kind::*;
    check_typed(
        "a\nb\nc\nd\n",
        "a\nB\nB\nc\nd\n",
        &[
            (Hunk, 0, 0, "@@ -1,3 +1,4 @@"),
            (Context, 1, 1, "a"),
            (Removed, 2, 0, "b"),
            (Added, 0, 2, "B"),
            (Added, 0, 3, "B"),
            (Context, 3, 4, "c"),
        ],
    );
}

#[test]
fn typed_lines_of_an_empty_side_begin_at_zero() {
    use Kind::*;
    check_typed(
        "",
        "a\n",
        &[(Hunk, 0, 0, "@@ -0,0 +1,1 @@"), (Added, 0, 1, "a")],
    );
    check_typed(
        "a\n",
        "",
        &[(Hunk, 0, 0, "@@ -1,1 +0,0 @@"), (Removed, 1, 0, "a")],
    );
    check_typed("a\n", "a\n", &[]);
}

#[test]
fn typed_lines_tell_a_missing_newline_and_keep_a_carriage_return() {
    use Kind::*;
    check_typed(
        "a",
        "a\r\n",
        &[
            (Hunk, 0, 0, "@@ -1,1 +1,1 @@"),
            (Removed, 1, 0, "a"),
            (NoNewline, 0, 0, "\\ No newline at end of file"),
            (Added, 0, 1, "a\r"),
        ],
    );
}

/// Returns `original` with the lines that `typed` removes and adds.
fn applied(original: &[u8], typed: &[TypedLine]) -> Vec<u8> {
    let old: Vec<_> = original.split_inclusive(|&byte| byte == b'\n').collect();
    let (mut result, mut done) = (Vec::new(), 0);
    for (at, line) in typed.iter().enumerate() {
        let is_open = typed
            .get(at + 1)
            .is_some_and(|next| next.kind == Kind::NoNewline);
        let mut bytes = line.text.clone();
        bytes.extend_from_slice(if is_open { b"" } else { b"\n" });
        match line.kind {
            Kind::Hunk | Kind::NoNewline => continue,
            Kind::Added => result.extend_from_slice(&bytes),
            Kind::Context | Kind::Removed => {
                let upto = line.old_number - 1;
                old[done..upto]
                    .iter()
                    .for_each(|line| result.extend_from_slice(line));
                assert_eq!(old[upto], bytes);
                done = upto + 1;
                if line.kind == Kind::Context {
                    result.extend_from_slice(&bytes);
                }
            }
        }
    }
    old[done..]
        .iter()
        .for_each(|line| result.extend_from_slice(line));
    result
}

#[test]
fn typed_lines_of_a_replacement_lead_to_its_result() {
    let mut dice = Dice::new(3);
    let mut n_replaced = 0;
    for _ in 0..50_000 {
        let text = random_bytes(&mut dice, b"ab\n\n", 40);
        let old = random_bytes(&mut dice, b"ab\n\n", 4);
        let new = random_bytes(&mut dice, b"abx\n\n", 5);
        let scope = [Scope::Unique, Scope::All][dice.roll(2)];
        let Ok(found) = find(&text, &old, &new, scope) else {
            continue;
        };
        // With no context an added line does not tell where it belongs.
        for context in [1, 3] {
            let typed = typed_replacement(&text, &found, context);
            let is_place_known = typed.iter().any(|line| line.old_number > 0) || text.is_empty();
            assert!(is_place_known, "{text:?} {old:?} {new:?}");
            assert_eq!(
                applied(&text, &typed),
                found.apply(&text),
                "{text:?} {old:?} {new:?}"
            );
        }
        n_replaced += 1;
    }
    assert!(
        n_replaced > 3000,
        "only {n_replaced} cases replaced anything"
    );
}

#[test]
fn typed_lines_of_a_replacement_are_few_in_a_text_of_repeated_parts() {
    let part: String = (0..20_000)
        .map(|number| format!("line {number}\n"))
        .collect();
    let text = part.repeat(10).into_bytes();
    let found = find(&text, b"line 15000\n", b"x\n", Scope::All).expect("it is there");
    assert_eq!(typed_replacement(&text, &found, 3).len(), 10 * 9);
}
