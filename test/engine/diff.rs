//! Two texts to hunks: properties over random pairs, and pictures.

#[path = "pairs.rs"]
mod pairs;

use std::ops::Range;

use agent_q_diff_engine::diff::{
    Budget, Edit, Group, HeadingRule, edits_within, group, section_headings,
};
use agent_q_diff_engine::proposal::Proposal;
use agent_q_diff_engine::text::Text;
use pairs::{compare, for_each_pair, patched};

#[test]
fn edits_lead_from_the_original_to_the_modified_text() {
    for_each_pair(10_000, |pair| {
        let compared = compare(&pair.original, &pair.modified);
        let mut result = Vec::new();
        let mut done = 0;
        for edit in &compared.edits {
            result.extend_from_slice(compared.original.lines_bytes(done..edit.before.start));
            result.extend_from_slice(compared.modified.lines_bytes(edit.after.clone()));
            done = edit.before.end;
        }
        let rest = done..compared.original.len();
        result.extend_from_slice(compared.original.lines_bytes(rest));
        assert_eq!(result, pair.modified);
    });
}

#[test]
fn edits_are_apart_and_what_is_between_them_is_the_same_on_both_sides() {
    for_each_pair(10_000, |pair| {
        let compared = compare(&pair.original, &pair.modified);
        let (mut before, mut after, mut least) = (0, 0, 0);
        let end = Edit {
            before: compared.original.len()..compared.original.len(),
            after: compared.modified.len()..compared.modified.len(),
        };
        for edit in compared.edits.iter().chain([&end]) {
            let same = compared.original.lines_bytes(before..edit.before.start);
            assert_eq!(same, compared.modified.lines_bytes(after..edit.after.start));
            assert!(edit.before.start - before >= least || *edit == end);
            assert!(!edit.before.is_empty() || !edit.after.is_empty() || *edit == end);
            (before, after, least) = (edit.before.end, edit.after.end, 1);
        }
    });
}

#[test]
fn hunks_of_any_context_length_lead_to_the_modified_text() {
    for_each_pair(10_000, |pair| {
        let compared = compare(&pair.original, &pair.modified);
        for context_len in [0, 1, 3, usize::MAX] {
            let hunks = compared.hunks(context_len);
            assert_eq!(patched(&compared.original, &hunks), pair.modified);
            assert!(context_len != usize::MAX || hunks.len() <= 1);
        }
    });
}

fn check_edits(original: &str, modified: &str, expected: &[(Range<usize>, Range<usize>)]) {
    let edits = compare(original.as_bytes(), modified.as_bytes()).edits;
    let found: Vec<_> = edits.into_iter().map(|e| (e.before, e.after)).collect();
    assert_eq!(found, expected, "{original:?} {modified:?}");
}

#[test]
fn equal_texts_have_no_edits() {
    for text in ["", "a", "a\n", "\n", "a\nb"] {
        check_edits(text, text, &[]);
    }
}

#[test]
fn no_edit_puts_back_what_it_takes_away() {
    let lines = |text: &str| {
        Text::from_lines(text.as_bytes().chunks(1).map(|line| match line {
            b"a" => &b"a\n"[..],
            _ => b"b\n",
        }))
    };
    let original = lines("baaabbbbaaaabaaaababbab");
    let modified = lines("aababbbbaaaabaaaababbabb");
    for edit in agent_q_diff_engine::diff::edits(&original, &modified) {
        let (before, after) = (edit.before.clone(), edit.after.clone());
        let removed: Vec<_> = original.lines(before).collect();
        let added: Vec<_> = modified.lines(after).collect();
        let is_same_end = |one: Option<_>, other| one.is_some() && one == other;
        assert!(!is_same_end(removed.first(), added.first()), "{edit:?}");
        assert!(!is_same_end(removed.last(), added.last()), "{edit:?}");
    }
}

#[test]
fn a_terminator_is_part_of_its_line() {
    check_edits("x", "x\n", &[(0..1, 0..1)]);
    check_edits("a\nx\n", "a\nx", &[(1..2, 1..2)]);
    check_edits("a\nx\n", "a\r\nx\n", &[(0..1, 0..1)]);
    check_edits("a\0\n", "a\n", &[(0..1, 0..1)]);
}

#[test]
fn one_side_may_be_empty() {
    check_edits("", "a\nb", &[(0..0, 0..2)]);
    check_edits("a\nb", "", &[(0..2, 0..0)]);
}

#[test]
fn an_inserted_function_brings_its_own_comment() {
    // Cut where the texts first differ, the edit would begin below `/** */` and end with one.
    let f = |name: &str| format!("/** */\nfn {name}() {{\n    x();\n}}\n\n");
    let original = f("a") + &f("c");
    let modified = f("a") + &f("b") + &f("c");
    check_edits(&original, &modified, &[(5..5, 5..10)]);
    check_edits(&modified, &original, &[(5..10, 5..5)]);
}

fn edits_at(lines: &[usize]) -> Vec<Edit> {
    let edit = |&at: &usize| Edit {
        before: at..at + 1,
        after: at..at + 1,
    };
    lines.iter().map(edit).collect()
}

#[track_caller]
fn check_groups(lines: &[usize], context_len: usize, expected: &str) {
    let groups = group(&edits_at(lines), 100, context_len);
    let ranges: Vec<_> = groups
        .iter()
        .map(|group| format!("{:?}", group.before))
        .collect();
    assert_eq!(ranges.join(" "), expected);
}

#[test]
fn hunks_merge_when_their_contexts_touch() {
    check_groups(&[10, 17], 3, "7..21");
    check_groups(&[10, 18], 3, "7..14 15..22");
    check_groups(&[10, 12], 0, "10..11 12..13");
    check_groups(&[10, 12], 1, "9..14");
}

#[test]
fn context_stops_at_the_ends_of_the_text() {
    check_groups(&[0, 99], 3, "0..4 96..100");
    check_groups(&[1, 98], usize::MAX, "0..100");
    check_groups(&[], 3, "");
}

/// Returns the section heading of a hunk by itself, whose first line is line `start` of `text`.
fn section_heading(text: &Text, start: usize, rule: HeadingRule) -> &[u8] {
    let group = Group {
        edits: 0..1,
        before: start..start,
        after: start..start,
    };
    section_headings(text, &[group], rule)[0]
}

#[track_caller]
fn check_heading(text: &str, rule: HeadingRule, expected: &str) {
    let text = Text::new(text.as_bytes().to_vec());
    let found = section_heading(&text, text.len(), rule);
    assert_eq!(String::from_utf8_lossy(found), expected);
}

#[test]
fn the_heading_is_the_nearest_line_that_looks_like_one() {
    check_heading("int f()\n{\n  x\n", HeadingRule::Default, "int f()");
    check_heading("a\n_b \t\r\n  x\n", HeadingRule::Default, "_b");
    check_heading("a\n$c\n(d)\n1\n\n", HeadingRule::Default, "$c");
    check_heading("é\n", HeadingRule::Default, "");
    check_heading(
        "a\n(defun f ()\n  x)\nb\n",
        HeadingRule::Lisp,
        "(defun f ()",
    );
    check_heading("", HeadingRule::Lisp, "");
}

#[test]
fn a_long_heading_is_cut_between_characters() {
    let x = "x".repeat(79);
    check_heading(&format!("{x}yz\n"), HeadingRule::Default, &format!("{x}y"));
    check_heading(&format!("{x}éz\n"), HeadingRule::Default, &x);
    check_heading(&format!("{x} z\n"), HeadingRule::Default, &x);
    let not_utf8 = Text::new([b"x", &[0x80; 100][..]].concat());
    assert_eq!(
        section_heading(&not_utf8, 1, HeadingRule::Default).len(),
        80
    );
}

#[test]
fn headings_of_all_groups_are_those_of_each() {
    // Groups start at lines 0, 18, 38 and 97; two headings are just there.
    let line = |n| match n {
        0 | 18 | 50 => format!("h{n}\n"),
        _ => " x\n".to_owned(),
    };
    let text: String = (0..100).map(line).collect();
    let text = Text::new(text.into_bytes());
    let groups = group(&edits_at(&[0, 3, 20, 40, 41, 99]), text.len(), 2);
    let each: Vec<_> = groups
        .iter()
        .map(|group| section_heading(&text, group.before.start, HeadingRule::Default))
        .collect();
    assert_eq!(section_headings(&text, &groups, HeadingRule::Default), each);
}

#[test]
fn any_budget_leads_to_the_modified_text_and_what_was_not_spent_changes_nothing() {
    for_each_pair(5_000, |pair| {
        let compared = compare(&pair.original, &pair.modified);
        let (original, modified) = (&compared.original, &compared.modified);
        for budget in [0, 20, 500].map(Budget) {
            let found = edits_within(original, modified, budget);
            let groups = group(&found.edits, original.len(), 0);
            let hunk = |group| {
                agent_q_diff_engine::diff::hunk(group, &found.edits, original, modified, b"")
            };
            let hunks: Vec<_> = groups.iter().map(hunk).collect();
            assert_eq!(patched(original, &hunks), pair.modified);
            assert!(found.is_coarse || found.edits == compared.edits);
        }
    });
}

#[test]
fn a_proposal_says_that_it_is_coarse() {
    let is_coarse = |budget| {
        let texts = [b"a\nb\nc\nb\na\n", b"c\nb\nb\na\nc\n"].map(|text| text.to_vec());
        let [original, modified] = texts;
        let proposal = Proposal::from_texts_within(original, modified, 3, budget);
        proposal.unwrap().is_coarse()
    };
    assert!(is_coarse(Budget(0)));
    assert!(!is_coarse(Budget::default()));
}
