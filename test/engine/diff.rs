//! Two texts to hunks: properties of random pairs, pictures, and the hunks of git.

mod search;

use std::ops::Range;

use agent_q_diff_engine::diff::{
    self, Budget, Edit, Group, HeadingRule, edits_within, group, section_headings,
};
use agent_q_diff_engine::patch::hunk::{Hunk, header_range};
use agent_q_diff_engine::proposal::Proposal;
use agent_q_diff_engine::text::Text;

use crate::common::compared::{compare, edited, patched};
use crate::common::pairs::{for_each_insertion, for_each_pair};
use crate::common::tools::{check_divergences, run, write_a_and_b};

#[test]
fn edits_lead_from_the_original_to_the_modified_text() {
    for_each_pair(10_000, |pair| {
        let compared = compare(&pair.original, &pair.modified);
        let result = edited(&compared.original, &compared.edits, &compared.modified);
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
    for edit in diff::edits(&original, &modified) {
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
    // Cut at the first difference, the edit would begin below a `/** */` and end with the next one.
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

/// Returns the section heading of a single hunk whose first line is line `start` of `text`.
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
    // Groups start at lines 0, 18, 38 and 97. Two headings are the first lines of a group.
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
fn any_budget_leads_to_the_modified_text_and_one_that_suffices_to_the_same_edits() {
    for_each_pair(5_000, |pair| {
        let compared = compare(&pair.original, &pair.modified);
        let (original, modified) = (&compared.original, &compared.modified);
        for budget in [0, 20, 500].map(Budget) {
            let found = edits_within(original, modified, budget);
            let groups = group(&found.edits, original.len(), 0);
            let hunk = |group| diff::hunk(group, &found.edits, original, modified, b"");
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

/// Where git makes different hunks, and why. Each has a test of its name.
const DIVERGING: [(&str, &str); 1] = [(
    "git_weighs_the_equal_head_too",
    "git's histogram counts the lines of the whole texts, imara-diff's only those between the \
     equal head and tail, so the anchors differ",
)];

#[test]
fn every_divergence_has_its_test() {
    check_divergences(&DIVERGING, include_str!("diff.rs"));
}

/// Returns the hunk headers of git, with these two options, and ours.
fn headers(
    original: &str,
    modified: &str,
    unified: &str,
    algorithm: &str,
) -> (Vec<String>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    write_a_and_b(folder.path(), [original, modified].map(str::as_bytes));
    let command = ["git", "diff", "--no-index", unified, algorithm, "a", "b"];
    let (_, said) = run(&command, folder.path());
    let of_git = said.lines().filter(|line| line.starts_with("@@ "));
    let context_len = unified.strip_prefix("-U").unwrap().parse().unwrap();
    let compared = compare(original.as_bytes(), modified.as_bytes());
    let ours = compared.hunks(context_len);
    (
        of_git.map(str::to_owned).collect(),
        ours.iter().map(header).collect(),
    )
}

fn header(hunk: &Hunk<'_>) -> String {
    let (before, after) = (header_range(&hunk.before), header_range(&hunk.after));
    let heading = String::from_utf8_lossy(hunk.heading);
    format!("@@ -{before} +{after} @@ {heading}")
        .trim_end()
        .to_owned()
}

/// A source file of eight functions.
fn source() -> Vec<String> {
    let function = |n| {
        format!(
            "/* Does {n}. */\nint f{n}(int x)\n{{\n    if (x) {{\n        g(x, {n});\n    }}\n\n    \
             return x;\n}}\n\n"
        )
    };
    let text: String = (0..8).map(function).collect();
    text.split_inclusive('\n').map(str::to_owned).collect()
}

/// Returns [`source`] before and after `change`.
fn changed(change: impl Fn(&mut Vec<String>)) -> (String, String) {
    let mut lines = source();
    change(&mut lines);
    (source().concat(), lines.concat())
}

type Change = fn(&mut Vec<String>);

#[test]
fn git_makes_the_same_hunks_of_source_code() {
    let table: [(&str, Change); 9] = [
        ("a line", |l| l[44] = "        h(x);\n".into()),
        ("a function again", |l| {
            drop(l.splice(20..20, source()[10..20].to_vec()))
        }),
        ("a function less", |l| drop(l.drain(30..40))),
        ("a function moved", |l| l.rotate_left(10)),
        ("a function at the end", |l| {
            l.extend_from_slice(&source()[0..10])
        }),
        ("a block again", |l| {
            drop(l.splice(36..36, source()[33..36].to_vec()))
        }),
        ("blank lines", |l| {
            drop(l.splice(39..39, ["\n".into(), "\n".into()]))
        }),
        ("two lines near", |l| {
            [13, 20]
                .map(|at| l[at] = "x\n".into())
                .into_iter()
                .for_each(drop)
        }),
        ("two lines apart", |l| {
            [13, 21]
                .map(|at| l[at] = "x\n".into())
                .into_iter()
                .for_each(drop)
        }),
    ];
    for (name, change) in table {
        let (original, modified) = changed(change);
        let (of_git, ours) = headers(&original, &modified, "-U3", "--histogram");
        assert_eq!(ours, of_git, "{name}");
        let (of_git, ours) = headers(&modified, &original, "-U3", "--histogram");
        assert_eq!(ours, of_git, "{name}, reversed");
    }
}

#[test]
fn git_puts_an_insertion_where_we_do() {
    // With Myers git leaves out the equal ends. With a single edit the algorithms agree.
    for_each_insertion(1_000, |pair| {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let (shorter, longer) = (text(&pair.original), text(&pair.modified));
        for (original, modified) in [(&shorter, &longer), (&longer, &shorter)] {
            let (of_git, ours) = headers(original, modified, "-U0", "--minimal");
            assert_eq!(ours, of_git, "{original:?} to {modified:?}");
        }
    });
}

#[test]
fn git_weighs_the_equal_head_too() {
    let (of_git, ours) = headers(
        "b\nc\na\nc\nb\nc\n",
        "b\nb\nc\nd\nd\nc\n",
        "-U0",
        "--histogram",
    );
    assert_eq!(ours, ["@@ -2,3 +1,0 @@ b", "@@ -6,0 +4,3 @@ c"]);
    assert_eq!(of_git, ["@@ -1,0 +2 @@ b", "@@ -3,3 +4,2 @@ c"]);
}
