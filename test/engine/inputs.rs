//! What agents' tools make of a file, and inputs that make what was decided.

use std::collections::BTreeMap;

use agent_q_diff_engine::inputs::codex::FileEdit;
use agent_q_diff_engine::inputs::{
    Encoding, FileText, InputError, Replacement, claude, codex, gemini, opencode, smallest,
};
use agent_q_diff_engine::patch::codex::{Action, parse, updated};

use crate::common::dice::Dice;
use crate::common::n_cases;

fn replacement(old: &str, new: &str) -> Replacement {
    Replacement {
        old: old.to_owned(),
        new: new.to_owned(),
        is_all: false,
    }
}

fn all(old: &str, new: &str) -> Replacement {
    let replacement = replacement(old, new);
    Replacement {
        is_all: true,
        ..replacement
    }
}

/// Returns the text that Claude Code's `Edit` makes of `base`.
fn claude(base: &str, edit: &Replacement) -> Result<String, InputError> {
    let base = FileText::new(base.to_owned());
    claude::edited(Some(&base), std::slice::from_ref(edit)).map(|file| file.text)
}

#[test]
fn claude_edits_as_measured() {
    let long = |end: &str| format!("{}\n{end}", "é".repeat(2100));
    let crlf_later = "x\r\n".repeat(30);
    let cases = [
        (
            "one\ntwo\nthree\n",
            replacement("two\n", "two\nx\n"),
            "one\ntwo\nx\nthree\n",
        ),
        (
            "one\r\ntwo\r\nthree\r\n",
            replacement("two\nthree", "TWO\nTHREE"),
            "one\r\nTWO\r\nTHREE\r\n",
        ),
        // The line ends of most lines become those of all.
        (
            "one\r\ntwo\nthree\r\nfour\r\n",
            replacement("four", "FOUR"),
            "one\r\ntwo\r\nthree\r\nFOUR\r\n",
        ),
        (
            "one\ntwo\nthree\r\nfour\n",
            replacement("four", "FOUR"),
            "one\ntwo\nthree\nFOUR\n",
        ),
        ("one\r\ntwo\n", replacement("two", "TWO"), "one\nTWO\n"),
        (&long(&crlf_later), replacement("é\n", "e\n"), &{
            let text = long(&crlf_later)
                .replace("\r\n", "\n")
                .replace("é\n", "e\n");
            text.replace('\n', "\r\n")
        }),
        ("a\rb\rc\n", replacement("b", "B"), "a\rB\rc\n"),
        ("one\ntwo\n", replacement("two", "a\r\nb"), "one\na\r\nb\n"),
        (
            "one\r\ntwo\r\n",
            replacement("two", "a\r\nb\nc"),
            "one\r\na\r\nb\r\nc\r\n",
        ),
        // To delete a whole line without its newline deletes that, too.
        ("one\ntwo\nthree\n", replacement("two", ""), "one\nthree\n"),
        ("a\nb\nb2\n", replacement("a\n", ""), "b\nb2\n"),
        ("x\nyx\nx\n", all("x", ""), "y"),
        ("x\nx\ny\n", all("x", "z"), "z\nz\ny\n"),
        ("aaa\n", replacement("aa", "b"), "ba\n"),
        ("one\ntwo", replacement("two", "TWO"), "one\nTWO"),
        ("", replacement("", "hello\n"), "hello\n"),
        // Quotation marks.
        (
            "say “hi” now\n",
            replacement("say \"hi\" now", "say \"ho\" 's now"),
            "say “ho” 's now\n",
        ),
        (
            "it’s “a”\nz\n",
            replacement("it's \"a\"\n", "it's \"b\" ('c') don't\n"),
            "it’s “b” (‘c’) don’t\nz\n",
        ),
        (
            "‘x’ and ‘y’\n",
            replacement("'x' and 'y'", "'q' and can't"),
            "‘q’ and can’t\n",
        ),
    ];
    for (base, edit, wanted) in cases {
        assert_eq!(claude(base, &edit).as_deref(), Ok(wanted), "{edit:?}");
    }
}

#[test]
fn claude_refuses_as_measured() {
    let cases = [
        (
            "one\r\ntwo\r\n",
            replacement("one\r\ntwo", "1"),
            InputError::NotFound,
        ),
        (
            "aa\naa\n",
            replacement("aa", "b"),
            InputError::Several { n: 2 },
        ),
        ("a\n", replacement("", "b"), InputError::Exists),
        ("a\n", replacement("b", "c"), InputError::NotFound),
    ];
    for (base, edit, error) in cases {
        assert_eq!(claude(base, &edit), Err(error), "{edit:?}");
    }
    let missing = claude::edited(None, &[replacement("a", "b")]);
    assert_eq!(missing, Err(InputError::Missing));
    let made = claude::edited(None, &[replacement("", "b\r\n")]).unwrap();
    assert_eq!(made.bytes(), b"b\r\n");
}

#[test]
fn claude_makes_several_edits_one_after_the_other() {
    let base = FileText::new("a\r\nb\r\n".to_owned());
    let edits = [replacement("a", "b\nc"), all("b", "d")];
    let made = claude::edited(Some(&base), &edits).unwrap();
    assert_eq!(made.text, "d\r\nc\r\nd\r\n");
}

#[test]
fn claude_keeps_the_encoding() {
    let bom = b"\xef\xbb\xbfone\ntwo\n";
    let utf_16: Vec<u8> = "\u{feff}one\r\ntwo\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let edit = |bytes: &[u8]| {
        let base = FileText::read(bytes).unwrap();
        claude::edited(Some(&base), &[replacement("two", "TWO")])
            .unwrap()
            .bytes()
    };
    assert_eq!(edit(bom), b"\xef\xbb\xbfone\nTWO\n");
    let wanted: Vec<u8> = "\u{feff}one\nTWO\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    assert_eq!(edit(&utf_16), wanted);
    let write = |bytes: &[u8], content: &str| {
        let base = FileText::read(bytes).unwrap();
        claude::written(Some(&base), content).bytes()
    };
    assert_eq!(write(bom, "ONE\r\ntwo\n\n"), b"\xef\xbb\xbfONE\r\ntwo\n\n");
    assert_eq!(write(b"one\n", "\u{feff}ONE\n"), b"\xef\xbb\xbfONE\n");
    assert_eq!(write(b"one\r\n", "ONE\ntwo\n"), b"ONE\ntwo\n");
    assert_eq!(write(&utf_16, "x\n"), b"\xff\xfex\0\n\0");
    assert_eq!(claude::written(None, "ONE\r\ntwo").bytes(), b"ONE\r\ntwo");
}

#[test]
fn what_is_no_text_is_refused() {
    let cases: [&[u8]; 4] = [
        b"caf\xe9\none\n",
        b"a\0b\n",
        b"\xff\xfea",
        b"\xff\xfe\x00\xd8",
    ];
    for bytes in cases {
        assert_eq!(FileText::read(bytes), Err(InputError::NotUtf8), "{bytes:?}");
    }
    let mut late = vec![b'a'; 8192];
    late.push(0);
    assert_eq!(
        FileText::read(&late).map(|file| file.encoding),
        Ok(Encoding::Utf8)
    );
}

#[test]
fn gemini_edits_as_measured() {
    let cases = [
        (
            "one\ntwo\nthree\n",
            replacement("two\n", "two  \nx\t\n"),
            "one\ntwo  \nx\t\nthree\n",
        ),
        (
            "one\r\ntwo\r\nthree\r\n",
            replacement("two\nthree", "TWO\nTHREE"),
            "one\r\nTWO\r\nTHREE\r\n",
        ),
        (
            "one\r\ntwo\nthree\r\n",
            replacement("two\nthree", "2\n3"),
            "one\r\n2\r\n3\r\n",
        ),
        (
            "one\ntwo\nthree\r\n",
            replacement("one", "1"),
            "1\r\ntwo\r\nthree\r\n",
        ),
        (
            "one\r\ntwo\r\n",
            replacement("one\r\n", "1\r\n"),
            "1\r\ntwo\r\n",
        ),
        ("one\ntwo\n", replacement("one", "a\r\nb"), "a\nb\ntwo\n"),
        ("one\ntwo", replacement("two", "TWO"), "one\nTWO"),
        ("a\nb\n", replacement("a\n", ""), "b\n"),
        ("one\n", replacement("one", "$& $1 $$"), "$& $1 $$\n"),
        ("x\nx\n", all("x", "z"), "z\nz\n"),
    ];
    for (base, edit, wanted) in cases {
        let base = FileText::new(base.to_owned());
        let made = gemini::replaced(Some(&base), &edit).map(|file| file.text);
        assert_eq!(made.as_deref(), Ok(wanted), "{edit:?}");
    }
    let refused = [
        (
            "say “hi”\n",
            replacement("say \"hi\"", "say \"ho\""),
            InputError::NotFound,
        ),
        (
            "x\ny\nx\n",
            replacement("x", "z"),
            InputError::Several { n: 2 },
        ),
        ("x\n", replacement("", "z"), InputError::Exists),
    ];
    for (base, edit, error) in refused {
        let base = FileText::new(base.to_owned());
        assert_eq!(gemini::replaced(Some(&base), &edit), Err(error), "{edit:?}");
    }
}

#[test]
fn gemini_writes_as_measured() {
    let write = |base: &[u8], content: &str| {
        let base = FileText::read(base).unwrap();
        gemini::written(Some(&base), content).bytes()
    };
    assert_eq!(
        write(b"one\r\ntwo\r\n", "ONE\ntwo  \n"),
        b"ONE\r\ntwo  \r\n"
    );
    assert_eq!(write(b"\xef\xbb\xbfone\n", "ONE\r\ntwo\n"), b"ONE\r\ntwo\n");
    assert_eq!(gemini::written(None, "a\r\nb").bytes(), b"a\r\nb");
    let bom = FileText::read(b"\xef\xbb\xbfone\ntwo\n").unwrap();
    let made = gemini::replaced(Some(&bom), &replacement("two", "TWO")).unwrap();
    assert_eq!(made.bytes(), b"\xef\xbb\xbfone\nTWO\n");
}

#[test]
fn opencode_edits_as_measured() {
    let cases = [
        ("one\ntwo\n", replacement("two\n", "2  \n"), "one\n2  \n"),
        (
            "one\r\ntwo\r\nthree\r\n",
            replacement("two\nthree", "TWO\nTHREE"),
            "one\r\nTWO\r\nTHREE\r\n",
        ),
        // What is not replaced keeps its line ends.
        (
            "one\ntwo\r\nthree\n",
            replacement("two\n", "2\n3\n"),
            "one\n2\r\n3\r\nthree\n",
        ),
        ("one\ntwo\n", replacement("one", "a\r\nb"), "a\nb\ntwo\n"),
        ("a\nb\n", replacement("a\n", ""), "b\n"),
        ("a\nb", replacement("a", ""), "\nb"),
        ("one\n", replacement("one", "$& $1 $$"), "$& $1 $$\n"),
        ("x\nx\n", all("x", "z"), "z\nz\n"),
    ];
    for (base, edit, wanted) in cases {
        let base = FileText::new(base.to_owned());
        let made = opencode::edited(Some(&base), &edit).map(|file| file.text);
        assert_eq!(made.as_deref(), Ok(wanted), "{edit:?}");
    }
    let refused = [
        ("a\n", replacement("  a", "b"), InputError::NotFound),
        (
            "a\r\nb\nc\r\n",
            replacement("b\nc", "x"),
            InputError::NotFound,
        ),
        (
            "x\nx\n",
            replacement("x", "z"),
            InputError::Several { n: 2 },
        ),
        (
            "aaa\n",
            replacement("aa", "z"),
            InputError::Several { n: 2 },
        ),
        ("x\n", replacement("", "z"), InputError::Exists),
    ];
    for (base, edit, error) in refused {
        let base = FileText::new(base.to_owned());
        assert_eq!(opencode::edited(Some(&base), &edit), Err(error), "{edit:?}");
    }
    let missing = opencode::edited(None, &replacement("a", "b"));
    assert_eq!(missing, Err(InputError::Missing));
    let made = opencode::edited(None, &replacement("", "\u{feff}b\r\n")).unwrap();
    assert_eq!(made.bytes(), b"\xef\xbb\xbfb\r\n");
}

#[test]
fn opencode_keeps_the_byte_order_mark() {
    let base = FileText::read(b"\xef\xbb\xbfone\r\ntwo\n").unwrap();
    let made = opencode::edited(Some(&base), &replacement("two", "TWO")).unwrap();
    assert_eq!(made.bytes(), b"\xef\xbb\xbfone\r\nTWO\n");
    let made = opencode::written(Some(&base), "1\n2");
    assert_eq!(made.bytes(), b"\xef\xbb\xbf1\n2");
}

#[test]
fn the_smallest_replacement_is_unique_and_no_longer_than_needed() {
    let cases = [
        ("a\nb\nc\n", "a\nB\nc\n", "b\n", "B\n"),
        ("a\nb\na\n", "a\nb\nA\n", "b\na\n", "b\nA\n"),
        // A line inserted between equal ones.
        ("x\nx\nx\n", "x\nx\ny\nx\n", "x\nx\nx\n", "x\nx\ny\nx\n"),
        ("a\nb\n", "a\nnew\nb\n", "b\n", "new\nb\n"),
        ("a\nb\n", "a\n", "b\n", ""),
        ("a", "b", "a", "b"),
        ("", "a\n", "", "a\n"),
        // The string must not be found inside a longer line either.
        ("xa\na\n", "xa\nb\n", "xa\na\n", "xa\nb\n"),
    ];
    for (base, decided, old, new) in cases {
        let found = smallest(base, decided);
        assert_eq!(
            (&*found.old, &*found.new),
            (old, new),
            "{base:?} {decided:?}"
        );
    }
}

/// Returns a text of up to 12 lines of few kinds, each ended by one of `ends`.
fn some_text(dice: &mut Dice, ends: &[&str]) -> String {
    const LINES: [&str; 8] = ["", "a", "aa", "b", "  a", "\"q\"", "“q”", "end"];
    let n_lines = dice.roll(12);
    let mut text = String::new();
    for _ in 0..n_lines {
        text += LINES[dice.roll(LINES.len())];
        text += ends[dice.roll(ends.len())];
    }
    if dice.roll(3) == 0 {
        text += LINES[dice.roll(LINES.len())];
    }
    text
}

/// Returns `text` with up to three lines of it changed, gone or new; the others stay.
fn some_change(dice: &mut Dice, text: &str, end: &str) -> String {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    for _ in 0..=dice.roll(3) {
        let at = dice.roll(lines.len() + 1);
        let line = format!("{}{end}", ["a", "new", "b", ""][dice.roll(4)]);
        match dice.roll(3) {
            0 => lines.insert(at, line),
            1 if at < lines.len() => drop(lines.remove(at)),
            _ if at < lines.len() => lines[at] = line,
            _ => {}
        }
    }
    lines.concat()
}

#[test]
fn a_rewritten_input_makes_what_was_decided() {
    let mut dice = Dice::new(19);
    let mut n_rewritten = 0;
    let n_cases = n_cases(20_000);
    for _ in 0..n_cases {
        let (ends, end): (&[&str], _) = match dice.roll(4) {
            0 => (&["\r\n"], "\r\n"),
            1 => (&["\n", "\r\n"], "\n"),
            _ => (&["\n"], "\n"),
        };
        let text = some_text(&mut dice, ends);
        let decided = some_change(&mut dice, &text, end);
        if text == decided {
            continue;
        }
        let base = FileText::new(text.clone());
        let has = |end| text.contains(end) || decided.contains(end);
        // Line ends of both kinds are not what the tools write.
        let is_one_kind = !has("\r\n") || !text.replace("\r\n", "").contains('\n') && end == "\r\n";
        let crlf_only = is_one_kind && has("\r\n") && text.contains("\r\n");
        let expressible = !has("\r\n") || crlf_only;
        let edits = [
            ("Edit", claude::edit_to(Some(&base), &decided), true),
            (
                "replace",
                gemini::replace_to(Some(&base), &decided),
                !text.is_empty(),
            ),
            (
                "edit",
                opencode::edit_to(Some(&base), &decided),
                !text.is_empty(),
            ),
        ];
        for (tool, edit, is_possible) in edits {
            let Some(edit) = edit else {
                assert!(
                    !(expressible && is_possible),
                    "{tool}: {text:?} {decided:?}"
                );
                continue;
            };
            n_rewritten += 1;
            // Only opencode leaves the line ends of other lines alone.
            if tool == "edit" {
                let made = opencode::edited(Some(&base), &edit).map(|file| file.text);
                assert_eq!(made.as_deref(), Ok(&*decided), "{text:?} {edit:?}");
                let made = text.replacen(&edit.old, &edit.new, 1);
                assert_eq!(made, decided, "{text:?} {edit:?}");
                continue;
            }
            let plain = text.replace("\r\n", "\n");
            let n_places = (0..plain.len())
                .filter(|&at| plain.as_bytes()[at..].starts_with(edit.old.as_bytes()));
            assert_eq!(
                n_places.count(),
                usize::from(!plain.is_empty()),
                "{tool}: {edit:?}"
            );
            let made = plain.replacen(&edit.old, &edit.new, 1);
            assert_eq!(
                made,
                decided.replace("\r\n", "\n"),
                "{tool}: {text:?} {edit:?}"
            );
        }
        if let Some(patch) = codex_patch(Some(&base), &decided) {
            let files = parse(&patch).unwrap();
            let Action::Update { chunks, .. } = &files[0].action else {
                panic!("{patch}");
            };
            let made = updated(text.as_bytes(), chunks);
            assert_eq!(made, Ok(decided.clone().into_bytes()), "{text:?} {patch}");
            n_rewritten += 1;
        } else {
            // It ends every line, and new ones as the first line is.
            let ends_with_newline = decided.is_empty() || decided.ends_with('\n');
            assert!(!(expressible && ends_with_newline), "{text:?} {decided:?}");
        }
        // What is written as a whole has no such limits.
        assert_eq!(claude::written(Some(&base), &decided).text, decided);
    }
    assert!(n_rewritten > 2 * n_cases, "{n_rewritten}");
}

/// Returns the patch that makes `decided` of the file f, which is `base`.
fn codex_patch(base: Option<&FileText>, decided: &str) -> Option<String> {
    codex_patch_to(base, &FileText::new(decided.to_owned()))
}

fn codex_patch_to(base: Option<&FileText>, decided: &FileText) -> Option<String> {
    codex::patch_of(&[FileEdit {
        path: "f",
        new_path: None,
        before: base,
        after: Some(decided),
    }])
}

/// Files by their names.
type Tree = BTreeMap<String, String>;

/// Returns the files that `patch` makes of `tree`, as Codex carries them out: one after the other.
fn patched(tree: &Tree, patch: &str) -> Tree {
    let mut tree = tree.clone();
    for file in parse(patch).unwrap() {
        let before = tree.remove(file.path);
        match file.action {
            Action::Add { text } => {
                assert_eq!(before, None, "{patch}");
                tree.insert(file.path.to_owned(), text);
            }
            Action::Delete => assert!(before.is_some(), "{patch}"),
            Action::Update { new_path, chunks } => {
                let after = updated(before.unwrap().as_bytes(), &chunks).unwrap();
                let path = new_path.unwrap_or(file.path).to_owned();
                tree.insert(path, String::from_utf8(after).unwrap());
            }
        }
    }
    tree
}

#[test]
fn a_patch_of_several_files_makes_what_was_decided() {
    let mut dice = Dice::new(20);
    let mut n_made = 0;
    let n_cases = n_cases(20_000);
    for _ in 0..n_cases {
        let (mut tree, mut wanted) = (Tree::new(), Tree::new());
        let mut files = Vec::new();
        for n in 0..=dice.roll(4) {
            let ends: &[&str] = if dice.roll(4) == 0 {
                &["\r\n"]
            } else {
                &["\n"]
            };
            let before = (dice.roll(5) > 0).then(|| some_text(&mut dice, ends));
            let after = match &before {
                Some(_) if dice.roll(5) == 0 => None,
                Some(text) if dice.roll(4) == 0 => Some(text.clone()),
                Some(text) => Some(some_change(&mut dice, text, ends[0])),
                None => (dice.roll(3) > 0).then(|| some_text(&mut dice, &["\n"])),
            };
            let (path, new_path) = (format!("f{n}"), format!("d/g{n}"));
            let is_moved = before.is_some() && after.is_some() && dice.roll(3) == 0;
            if let Some(text) = &before {
                tree.insert(path.clone(), text.clone());
            }
            if let Some(text) = &after {
                let path = if is_moved { &new_path } else { &path };
                wanted.insert(path.clone(), text.clone());
            }
            let new = |text: Option<String>| text.map(FileText::new);
            files.push((path, is_moved.then_some(new_path), new(before), new(after)));
        }
        let edits: Vec<FileEdit> = files
            .iter()
            .map(|(path, new_path, before, after)| FileEdit {
                path,
                new_path: new_path.as_deref(),
                before: before.as_ref(),
                after: after.as_ref(),
            })
            .collect();
        // What Codex cannot make: a last line without a newline, CRLF where there is none yet, and an
        // empty file under a new name.
        let is_possible = edits.iter().all(|edit| match (edit.before, edit.after) {
            (Some(before), Some(after)) if before == after => {
                edit.new_path.is_none() || !before.text.is_empty() && before.text.ends_with('\n')
            }
            (before, Some(after)) => {
                let is_crlf = before.is_some_and(|before| before.text.contains("\r\n"));
                (after.text.is_empty() || after.text.ends_with('\n'))
                    && (is_crlf || !after.text.contains('\r'))
            }
            (_, None) => true,
        });
        match codex::patch_of(&edits) {
            Some(patch) => {
                assert_eq!(patched(&tree, &patch), wanted, "{patch}");
                n_made += 1;
            }
            None => assert!(tree == wanted || !is_possible, "{tree:?} {wanted:?}"),
        }
    }
    assert!(n_made > n_cases / 3, "{n_made}");
}

#[test]
fn a_patch_can_take_a_byte_order_mark_away_and_add_one() {
    let plain = FileText::new("a\nb\n".to_owned());
    let marked = FileText::read(b"\xef\xbb\xbfa\nB\n").unwrap();
    for (base, decided) in [(&plain, &marked), (&marked, &plain)] {
        let patch = codex_patch_to(Some(base), decided).unwrap();
        let files = parse(&patch).unwrap();
        let Action::Update { chunks, .. } = &files[0].action else {
            panic!("{patch}");
        };
        assert_eq!(
            updated(&base.bytes(), chunks),
            Ok(decided.bytes()),
            "{patch}"
        );
    }
}

#[test]
fn codex_gets_a_patch() {
    let base = FileText::new("a\nb\nc\n".to_owned());
    let patch = codex_patch(None, "x\n\ny\n").unwrap();
    assert_eq!(
        patch,
        "*** Begin Patch\n*** Add File: f\n+x\n+\n+y\n*** End Patch\n"
    );
    // A newline at the end cannot be left out, and CR is no part of a line.
    assert_eq!(codex_patch(None, "x"), None);
    assert_eq!(codex_patch(None, "x\r\n"), None);
    assert_eq!(codex_patch(Some(&base), "a\nb\nC"), None);
    // Where the lines around a place are elsewhere, too, all lines make it certain.
    let base = FileText::new("x\n".repeat(40));
    let decided = format!("{}new\n{}", "x\n".repeat(30), "x\n".repeat(10));
    let patch = codex_patch(Some(&base), &decided).unwrap();
    assert_eq!(patch.matches("\n x").count(), 40);
}

#[test]
fn rewriting_a_large_text_of_equal_lines_takes_few_searches() {
    let base = "same\n".repeat(50_000);
    let mut decided = "same\n".repeat(25_000);
    decided += "new\n";
    decided += &"same\n".repeat(25_000);
    let edit = smallest(&base, &decided);
    assert_eq!(edit.old.len(), base.len());
    assert_eq!(edit.new, decided);
}
