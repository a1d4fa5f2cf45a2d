//! What counts as white space only.

use super::*;

fn shown(old: &str, new: &str) -> Vec<String> {
    let texts = [old, new].map(|text| Text::new(text.into()));
    let whole = [old, new].map(|text| Text::new(format!("x\n{text}").into()));
    let language = Language {
        spacing: Spacing::Words,
        syntax: None,
    };
    let sides = Sides {
        tokens: [0, 1].map(|side| Tokens::new(&texts[side], language)),
        texts: whole.each_ref(),
        syntaxes: None,
        spacing: None,
        starts: [1, 1],
        n_certain: [0, 1].map(|side| first_open_line(&texts[side])),
    };
    let pieces = joined(sides.pieces());
    let shown = pieces
        .iter()
        .map(|Piece { edit, kind }| format!("{kind:?} {:?} {:?}", edit.before, edit.after));
    shown.collect()
}

#[test]
fn lines_that_differ_only_in_white_space_correspond() {
    assert_eq!(
        shown("a\nb\nc\nd\n", "  a\n\tb\nx\n  d\n"),
        ["White 0..2 0..2", "Other 2..3 2..3", "White 3..4 3..4"]
    );
    assert_eq!(
        shown("a\nb\n", "a\n b\n"),
        ["Same 0..1 0..1", "White 1..2 1..2"]
    );
    // Blank lines.
    assert_eq!(
        shown("a\n\nb\n", "a\nb\n"),
        ["Same 0..1 0..1", "White 1..2 1..1", "Same 2..3 1..2"]
    );
    // A line that is broken in two is another statement in some languages, and so are two words
    // that become one.
    assert_eq!(shown("f(a, b)\n", "f(a,\n  b)\n"), ["Other 0..1 0..2"]);
    assert_eq!(shown("a b\n", "ab\n"), ["Other 0..1 0..1"]);
}

fn is_white(old: &str, new: &str) -> bool {
    let pieces = shown(old, new);
    pieces.iter().all(|piece| !piece.starts_with("Other"))
}

#[test]
fn white_space_that_may_mean_something_is_none() {
    for (old, new) in [
        // Order.
        ("verify(u);\ngrant(u);\n", "grant(u);\nverify(u);\n"),
        ("verify(u);\ngrant(u);\n", "  grant(u);\n  verify(u);\n"),
        ("}\nx();\n", "x();\n}\n"),
        // Line breaks.
        ("// a\nb();\n", "// a b();\n"),
        ("// a b();\n", "// a\nb();\n"),
        ("return\nx;\n", "return x;\n"),
        ("a", "a\n"),
        ("#!/bin/sh\n", "#!/bin/sh\r\n"),
        ("a\nb\n", "a\n\r\nb\n"),
        // Words that are joined or divided.
        ("a - -b\n", "a--b\n"),
        ("a = b / *c;\n", "a = b /*c;\n"),
        ("x = 1 .5\n", "x = 1.5\n"),
        ("#define f(x) x\n", "#define f (x) x\n"),
        // A private field of JavaScript, and a comment.
        ("#re = /^a  b$/;\n", "#re = /^a b$/;\n"),
        ("#dir = `/srv/my  dir`;\n", "#dir = `/srv/my dir`;\n"),
        ("#define F /* a  b */ 1\n", "#define F /* a b */ 1\n"),
        ("in t;\n", "int;\n"),
        // Strings, characters, regular expressions, comments.
        ("s = \"a  b\";\n", "s = \"a b\";\n"),
        ("c = ' ';\n", "c = '  ';\n"),
        ("/a  b/.test(x)\n", "/a b/.test(x)\n"),
        ("(f ?\\ x)\n", "(f ?\\  x)\n"),
        ("(f ?  x)\n", "(f ? x)\n"),
        ("(f ? \n x)\n", "(f ?\n x)\n"),
        ("(f ?\tx)\n", "(f ? x)\n"),
        ("(f '|a  b|)\n", "(f '|a b|)\n"),
        ("(f |a  b|)\n", "(f |a b|)\n"),
        ("(f |a\n  b|)\n", "(f |a\n b|)\n"),
        ("(f #\\  x)\n", "(f #\\ x)\n"),
        ("(f #\\ \n x)\n", "(f #\\\n x)\n"),
        ("f($  , x)\n", "f($ , x)\n"),
        ("(f #<<E\n  a\nE\n)\n", "(f #<<E\n a\nE\n)\n"),
        ("#include <a  b.h>\n", "#include <a b.h>\n"),
        ("///  x\n", "///      x\n"),
        // Strings over lines, and lines that go on.
        ("s = `\n  a`;\n", "s = `\n    a`;\n"),
        (
            "(defun f ()\n  \"A.\n  b\")\n",
            "(defun f ()\n  \"A.\nb\")\n",
        ),
        ("s = \"a \\\n  b\";\n", "s = \"a \\\n b\";\n"),
        ("#define f \\\n  a\nb\n", "#define f \\\n\n  a\nb\n"),
        ("a \\\nb\n", "a \\ \nb\n"),
        // Comments that Go reads.
        ("//go:build a\n\npackage a\n", "//go:build a\npackage a\n"),
        (
            "//go:noinline\nfunc f() {}\n",
            "  //go:noinline\nfunc f() {}\n",
        ),
        (
            "//export f\n// F.\nfunc f() {}\n",
            "//export f\n// F.\n\nfunc f() {}\n",
        ),
        // Comments that are about what is right below.
        ("// a\n\nb();\n", "// a\nb();\n"),
        ("  # noqa\nb()\n", "# noqa\n\n  b()\n"),
        ("a();\n/* b\n */\n\n\nc();\n", "a();\n/* b\n */\nc();\n"),
        ("a();\n// b\n\n// c\nd();\n", "a();\n// b\n// c\nd();\n"),
        // Comments that are read where they begin.
        (";;;###autoload\n(f)\n", "  ;;;###autoload\n(f)\n"),
        ("/*line a:1*/ f();\n", " /*line a:1*/ f();\n"),
        // A backslash, to C.
        ("// a ??/\nb();\n", "// a ??/\n\nb();\n"),
        // What is no space, or no space to all.
        ("a b\n", "a\u{a0}b\n"),
        ("a\n", "\u{c}a\n"),
    ] {
        assert!(!is_white(old, new), "{old:?} {new:?}");
    }
}

#[test]
fn reformatting_is_white_space() {
    for (old, new) in [
        ("if (x)  y;\n", "\tif (x) y;\n"),
        ("int  a;\nlong b;\n", "int    a;\nlong   b;\n"),
        ("f();  \n", "f();\n"),
        ("f();\r\n", "  f();\r\n"),
        ("s = \"a  b\";\n", "  s = \"a  b\";\n"),
        ("a\n", "a\n\n"),
        ("a\r\n", "a\r\n\r\n"),
        ("a\n   \nb\n", "a\n\nb\n"),
        ("// a\n\n\nb();\n", "// a\n\n  b();\n"),
        ("a();\n// b\nc();\n", "a();\n\n  // b\n  c();\n\n"),
        ("a();\n// b\n", "a();\n// b\n\n"),
        (
            "fn f() {\n  if x {\n    g(\"a\");\n  }\n}\n",
            "fn f() {\n    if x {\n        g(\"a\");\n    }\n}\n",
        ),
        (
            "(defun f (x)\n  \"Return X.\"\n(g\nx))\n",
            "(defun f (x)\n  \"Return X.\"\n  (g\n   x))\n",
        ),
    ] {
        assert!(is_white(old, new), "{old:?} {new:?}");
    }
}

#[test]
fn a_text_can_name_its_language() {
    let names = |text: &str| {
        let spacing = match text.contains("package") {
            true => Spacing::Tokens,
            false => Spacing::C,
        };
        names_other_language(&Text::new(text.into()), Some(spacing))
    };
    for text in [
        "#!/usr/bin/env python3\n",
        "# -*- Python -*-\n",
        "\n# -*- coding: utf-8; Mode: Python -*-\n",
        "a\n// Local\x20Variables:\n// mode: python\n// End:\n",
        "a\n/* local\x20variables:\n   tab-width: 4\n   Mode : python */\n",
        "<?xml version=\"1.0\"?>\n<TS>\n",
        "\u{feff}<!DOCTYPE TS>\n",
        "package a\n\n// #cgo LDFLAGS: -lx\nimport \"C\"\n",
        "package a\n\n// int f();\nimport  \"C\"\n",
        "package a\n\n// int f();\nimport (\n\t`C`\n)\n",
    ] {
        assert!(names(text), "{text}");
    }
    for text in [
        "",
        "a\n",
        ";;; a.el -*- lexical-binding: t; -*-\n",
        ";;; a.el -*- indent-tabs-mode: nil -*-\n",
        "a -*- b\n",
        "// a -*- C++ -*-\n",
        "a\n;; Local\x20Variables:\n;; indent-tabs-mode: nil\n;; End:\n",
        "mode: x\nLocal\x20Variables\n",
        "//go:build linux\n\npackage a\n\nimport \"fmt\"\n",
        "#![no_std]\n",
    ] {
        assert!(!names(text), "{text}");
    }
}

#[test]
fn a_line_keeps_the_margins_of_the_one_that_it_replaces() {
    let with = |old: &str, new: &str| {
        String::from_utf8(with_margins(old.as_bytes(), new.as_bytes())).unwrap()
    };
    assert_eq!(with("    old();\n", "\tnew();\n"), "    new();\n");
    assert_eq!(with("old();  \r\n", "  new();\n"), "new();  \r\n");
    assert_eq!(with("  \n", "\tx\n"), "\tx\n");
    assert_eq!(with("  x\n", "\t\n"), "  \n");
    assert_eq!(with("old", "  new\n"), "new");
}
