use super::*;

#[test]
fn lines_keep_their_terminators_and_join_to_the_text() {
    for case in ["", "a", "a\n", "a\nb", "\n\n", "a\r\nb\rc\n", "\0\n\u{85}x"] {
        let text = Text::new(case.as_bytes().to_vec());
        let joined: Vec<u8> = text.lines(0..text.len()).flatten().copied().collect();
        assert_eq!(joined, case.as_bytes());
        assert_eq!(text.len(), case.split_inclusive('\n').count(), "{case:?}");
    }
}

#[test]
fn spliced_lines_are_between_those_that_stay() {
    let case = |range, lines: &str| {
        let mut text = Text::new(b"a\nb\nc\n".to_vec());
        text.splice(range, &Text::new(lines.into()));
        let lines = (0..text.len()).map(|at| String::from_utf8_lossy(text.line(at)).into());
        lines.collect::<Vec<String>>()
    };
    assert_eq!(case(1..2, "x\ny\n"), ["a\n", "x\n", "y\n", "c\n"]);
    assert_eq!(case(0..0, "x\n"), ["x\n", "a\n", "b\n", "c\n"]);
    assert_eq!(case(3..3, "x"), ["a\n", "b\n", "c\n", "x"]);
    assert_eq!(case(0..1, "x"), ["x", "b\n", "c\n"]);
    assert_eq!(case(0..3, ""), Vec::<String>::new());
}

#[test]
fn append_numbers_on() {
    let mut text = Text::new(b"a\n".to_vec());
    assert_eq!(text.append(b"b\nc\n"), 1..3);
    assert_eq!(text.line(2), b"c\n");
}

/// Texts of few different lines, some of them assembled so that a line in the middle lacks its
/// terminator.
fn texts() -> Vec<Text> {
    let plain = [
        "",
        "a",
        "a\n",
        "\n\n",
        "a\nb\na\nb",
        "a\nb\na\nb\n",
        "b\na\nb\n",
        "ab\na\nb",
        "a\nb\na\nbb\na\nb\n",
        "one longer line\nanother line\nthis line\n",
        "one longer line\nanother lime\nthis line\nanother line",
        "one longer lime\nanother line\nthat line\n",
        "ane lonter line\nan\nher line\nthis line\n",
    ];
    let mut texts: Vec<Text> = plain.map(|text| Text::new(text.into())).into();
    for at in 0..plain.len() {
        let mut appended = texts[at].clone();
        appended.append(b"b\na\nb\n");
        let mut spliced = appended.clone();
        spliced.splice(0..1, &Text::new(b"a\nb".to_vec()));
        let long = Text::from_lines([&b"a\nb\n\n".repeat(40), texts[at].bytes()]);
        texts.extend([appended, spliced, long]);
    }
    texts
}

#[test]
fn equal_ends_are_those_found_line_by_line() {
    let texts = texts();
    for (text, other) in texts
        .iter()
        .flat_map(|text| texts.iter().map(move |other| (text, other)))
    {
        for (from, other_from) in [(0, 0), (1, 0), (0, 1), (2, 4)] {
            let range = from.min(text.len())..text.len();
            let other_range = other_from.min(other.len())..other.len();
            let lines = || {
                text.lines(range.clone())
                    .zip(other.lines(other_range.clone()))
            };
            let head = lines().take_while(|(a, b)| a == b).count();
            assert_eq!(
                text.equal_head(range.clone(), other, other_range.clone()),
                head
            );
            let (range, other_range) = (0..range.start, 0..other_range.start);
            for (range, other_range) in [(range, other_range), (0..text.len(), 0..other.len())] {
                let ends = text.lines(range.clone()).rev();
                let ends = ends.zip(other.lines(other_range.clone()).rev());
                let tail = ends.take_while(|(a, b)| a == b).count();
                assert_eq!(
                    text.equal_tail(range, other, other_range),
                    tail,
                    "{text:?} {other:?}"
                );
            }
        }
    }
}
