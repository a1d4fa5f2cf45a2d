//! A diff as lines with their kinds and numbers.

use agent_q_diff_engine::tool::diff_lines::{Kind, TypedLine, typed_lines, typed_replacement};
use agent_q_diff_engine::tool::replacement::{Scope, find};

use super::random_bytes;
use crate::common::dice::Dice;

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
fn diff_lines_have_the_numbers_of_their_sides() {
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
fn diff_lines_of_an_empty_side_begin_at_zero() {
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
fn diff_lines_mark_a_missing_newline_and_keep_a_carriage_return() {
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
fn diff_lines_of_a_replacement_lead_to_its_result() {
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
        // Without context an added line does not show where it belongs.
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
fn diff_lines_of_a_replacement_are_few_in_a_text_of_repeated_parts() {
    let part: String = (0..20_000)
        .map(|number| format!("line {number}\n"))
        .collect();
    let text = part.repeat(10).into_bytes();
    let found = find(&text, b"line 15000\n", b"x\n", Scope::All).expect("it is there");
    assert_eq!(typed_replacement(&text, &found, 3).len(), 10 * 9);
}
