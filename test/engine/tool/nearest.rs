//! What resembles a string that is not found.

use std::ops::Range;

use agent_q_diff_engine::tool::nearest::{Difference, Nearest, nearest};

#[track_caller]
fn check_nearest(text: &str, old: &str, lines: Range<usize>, expected: &[Difference]) {
    let differences = expected.to_vec();
    let found = nearest(text.as_bytes(), old.as_bytes());
    assert_eq!(found, Some(Nearest { lines, differences }));
}

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
fn a_string_that_resembles_nothing_has_no_nearest_text() {
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
fn invalid_utf8_does_not_prevent_a_nearest_text() {
    let found = nearest(b"\xff\xfe\0foo  bar\n\xc3", b"foo bar");
    assert_eq!(found.map(|found| found.lines), Some(0..1));
    assert_eq!(nearest(b"\xff\xfe", b"\xfe\xff"), None);
}

#[test]
fn a_very_long_text_is_not_searched_for_the_nearest() {
    let long = b"foo  bar\n".repeat(1 << 20);
    assert_eq!(nearest(&long, b"foo bar"), None);
}
