//! How many lines change in texts that are hard to compare, beside git and GNU diff, and within a
//! budget.

use std::path::Path;

use agent_q_diff_engine::diff::{Budget, Comparison, Edit, edits_within};
use agent_q_diff_engine::text::Text;

use crate::common::compared::{edited, n_changed};
use crate::common::families::{FAMILIES, cyclic};
use crate::common::tools::{DIFF_COMMANDS, n_changed_in, output_of, write_a_and_b};

/// Most lines that may change for each one that changes in the better of git and GNU diff, unless
/// the answer is called coarse.
const MAX_RATIO: f64 = 1.5;

/// Compares two texts, and checks that the edits make the one of the other.
fn compared(texts: [Vec<u8>; 2], budget: Budget) -> Comparison {
    let [original, modified] = texts.map(Text::new);
    let found = edits_within(&original, &modified, budget);
    let result = edited(&original, &found.edits, &modified);
    assert!(result == modified.bytes(), "the edits lead elsewhere");
    found
}

/// Returns the number of changed lines of the better of git and GNU diff.
fn best_of_peers(folder: &Path, texts: &[Vec<u8>; 2]) -> usize {
    write_a_and_b(folder, texts.each_ref().map(|text| &text[..]));
    let counts = DIFF_COMMANDS.map(|command| n_changed_in(&output_of(command, folder).stdout));
    counts[0].min(counts[1])
}

/// Returns how many lines change for each one that changes in the better of git and GNU diff, and
/// whether the answer is coarse.
fn ratio(folder: &Path, texts: [Vec<u8>; 2]) -> (f64, bool) {
    let best = best_of_peers(folder, &texts);
    let found = compared(texts, Budget::default());
    (
        n_changed(&found.edits) as f64 / best.max(1) as f64,
        found.is_coarse,
    )
}

#[test]
fn of_each_family_hardly_more_lines_change_than_for_git_and_gnu_diff_or_it_is_called_coarse() {
    let folder = tempfile::tempdir().unwrap();
    for family in FAMILIES {
        for (n_lines, seed) in [(60, 1), (700, 2), (2_000, 3), (9_000, 4)] {
            let (ratio, is_coarse) = ratio(folder.path(), family.texts(n_lines, seed));
            let name = family.name;
            assert!(
                is_coarse || ratio <= MAX_RATIO,
                "{name}, {n_lines}: {ratio}"
            );
            // These texts are small enough never to be coarse.
            assert!(ratio <= MAX_RATIO, "{name}, {n_lines}: {ratio}, coarse");
        }
    }
}

#[test]
fn of_cyclic_texts_hardly_more_lines_change_than_for_git_and_gnu_diff() {
    let folder = tempfile::tempdir().unwrap();
    let mut n_more = 0;
    for seed in 0..150 {
        let (ratio, is_coarse) = ratio(folder.path(), cyclic(seed));
        assert!(!is_coarse && ratio <= MAX_RATIO, "{seed}: {ratio}");
        n_more += usize::from(ratio > 1.1);
    }
    // Before this test there was one in six, with up to 51 times as many lines.
    assert!(n_more <= 5, "{n_more}");
}

/// What is the same takes no steps, however much of it there is between two changes.
#[test]
fn much_that_is_inserted_into_a_long_text_is_no_reason_to_be_coarse() {
    let lines: Vec<_> = (0..200_000).map(|n| format!("line {n}\n")).collect();
    let inserted: String = (0..3_000).map(|n| format!("other {n}\n")).collect();
    let original = lines.concat().into_bytes();
    let mut lines = lines;
    lines[10] = "LINE 10\n".to_string();
    lines[150_000] += &inserted;
    lines[150_001] = String::new();
    let found = compared([original, lines.concat().into_bytes()], Budget::default());
    assert!(!found.is_coarse);
    let edit = |before, after| Edit { before, after };
    let expected = [
        edit(10..11, 10..11),
        edit(150_001..150_002, 150_001..153_001),
    ];
    assert_eq!(found.edits, expected);
}

#[test]
fn one_line_that_becomes_many_others_is_no_reason_to_be_coarse() {
    let lines = |n: usize| (0..n).map(|n| format!("line {n}\n")).collect::<String>();
    let original = lines(30).replace("line 9\n", "nine\n");
    let added: String = (0..100_000).map(|n| format!("added {n}\n")).collect();
    let modified = lines(30).replace("line 9\n", &added);
    let found = compared(
        [original.into_bytes(), modified.into_bytes()],
        Budget::default(),
    );
    assert!(!found.is_coarse);
    assert_eq!(
        found.edits,
        [Edit {
            before: 9..10,
            after: 9..100_009
        }]
    );
}

/// Only the blank lines between functions are the same, and they are most of what is compared.
#[test]
fn a_long_text_that_is_indented_anew_changes_function_by_function() {
    let function = |n: usize| {
        let statements = (0..7).map(|at| format!("  statement_{}();\n", 7 * n + at));
        format!(
            "fn function_{n}() {{\n{}}}\n\n",
            statements.collect::<String>()
        )
    };
    let original: String = (0..20_000).map(function).collect();
    let indented = |line: &str| match line {
        "\n" => line.to_string(),
        _ => format!("    {line}"),
    };
    let modified: String = original.split_inclusive('\n').map(indented).collect();
    for n_blank in [0, 1] {
        let modified = "\n".repeat(n_blank) + &modified;
        let texts = [original.clone().into_bytes(), modified.into_bytes()];
        let found = compared(texts, Budget::default());
        assert!(!found.is_coarse);
        assert_eq!(found.edits.len(), 20_000);
    }
}

/// Texts of so many lines are numbered part by part, and have few steps for each line.
#[test]
fn texts_of_millions_of_short_lines_are_not_one_edit() {
    for (name, most) in [
        ("two periods interleaved, each rotated", 152),
        ("two periods interleaved, one line in 50 changed", 44_000),
        ("every third line replaced", 900_000),
        ("pairs of unique lines swapped", 1_400_000),
    ] {
        let family = FAMILIES.iter().find(|family| family.name == name).unwrap();
        let found = compared(family.texts(1_200_000, 1), Budget::default());
        assert!(
            n_changed(&found.edits) <= most,
            "{name}: {}",
            n_changed(&found.edits)
        );
    }
}

#[test]
fn a_small_budget_is_spread_over_the_whole_text() {
    for name in [
        "2 texts at random",
        "30 texts at random",
        "every second line of 10 texts replaced by another of them",
        "every third line replaced",
        "unique lines replaced, a common line behind each",
    ] {
        let family = FAMILIES.iter().find(|family| family.name == name).unwrap();
        let texts = family.texts(20_000, 1);
        let best = compared(texts.clone(), Budget::default());
        let found = compared(texts.clone(), Budget(4_000_000));
        assert!(found.is_coarse || found == best);
        // Matches are found throughout the text, not only at its beginning.
        let n_lines = texts[0].iter().filter(|&&byte| byte == b'\n').count();
        let longest = found.edits.iter().map(|edit| edit.before.len()).max();
        assert!(longest.unwrap() < n_lines / 10, "{name}: {longest:?}");
        assert!(
            n_changed(&found.edits) < 2 * n_changed(&best.edits),
            "{name}"
        );
    }
}
