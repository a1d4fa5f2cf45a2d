//! Lines after which a string, or a symbol, may go on, so that what looks like indentation may be text.
//!
//! No language is known here. A line is taken to end outside any string that it begins only if that
//! holds however quotes, escapes and comments are read; so a line that is called open often is not.

use memchr::memmem::find;
use memchr::{memchr_iter, memchr2};

use super::Text;

/// What makes a line doubtful that has quotes in pairs: quotes as characters (of C, Lisp), raw strings
/// (of Rust, Swift, C++), and comments that end on their line.
const DOUBTFUL: [&[u8]; 10] = [
    b"'\"'", b"?\"", b"#\"", b"\"#", b"R\"", b"/*", b"*/", b"#|", b"|#", b"(*",
];

/// Returns the number of the first line (0-based) of `text` that may leave a string open, or how many
/// lines there are if none does.
pub fn first_open_line(text: &Text) -> usize {
    let is_open = |&at: &usize| may_leave_open(text.line(at));
    (0..text.len()).find(is_open).unwrap_or(text.len())
}

fn may_leave_open(line: &[u8]) -> bool {
    if find(line, b"'''").is_some() || find(line, b"#<").is_some() || opens_symbol(line) {
        return true;
    }
    if memchr2(b'"', b'`', line).is_none() {
        return false;
    }
    let n_of = |quote| line.iter().filter(|&&byte| byte == quote).count();
    let (n_double, n_back) = (n_of(b'"'), n_of(b'`'));
    let n_escaped = n_escaped_quotes(line);
    let has_pairs = [n_double, n_back, n_escaped]
        .iter()
        .all(|n| n.is_multiple_of(2));
    // Another quote can be text in a pair of these.
    let is_nested = n_double > 0 && n_back > 0 || n_of(b'\'') > 1;
    let has_code_inside = find(line, b"${").is_some() && n_of(b'{') != n_of(b'}');
    !has_pairs
        || is_nested
        || has_code_inside
        || find(line, b"\"\"\"").is_some()
        || n_back > 0 && is_after_slash(line)
        || DOUBTFUL.iter().any(|mark| find(line, mark).is_some())
}

/// Returns whether a symbol of Lisp in bars may go on after `line`: there is a bar that has no second one,
/// and one that begins a word. `A | B` of other languages begins none.
fn opens_symbol(line: &[u8]) -> bool {
    let bars: Vec<usize> = memchr_iter(b'|', line).collect();
    let begins_word = |&at: &usize| {
        let before = line[..at].last().copied().unwrap_or(b' ');
        let after = line.get(at + 1).copied().unwrap_or(b' ');
        matches!(
            before,
            b' ' | b'\t' | b'(' | b'[' | b'\'' | b'`' | b',' | b'@' | b':'
        ) && !matches!(after, b' ' | b'\t' | b'\r' | b'\n' | b'|' | b'=')
    };
    !bars.len().is_multiple_of(2) && bars.iter().any(begins_word)
}

/// Returns how many quotes of `line` are after a backslash that is not itself after one.
fn n_escaped_quotes(line: &[u8]) -> usize {
    let (mut n, mut is_escaped) = (0, false);
    for &byte in line {
        n += usize::from(is_escaped && (byte == b'"' || byte == b'`'));
        is_escaped = byte == b'\\' && !is_escaped;
    }
    n
}

/// Returns whether a slash comes before the first backquote of `line`, which may be in a regular
/// expression then.
fn is_after_slash(line: &[u8]) -> bool {
    memchr2(b'/', b'`', line).is_some_and(|at| line[at] == b'/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_in_pairs_leave_nothing_open() {
        for line in [
            "",
            "let x = 1; // don't",
            "f(\"a\", \"b\")",
            "printf(\"\\\"%s\\\"\");",
            "fetch(`/api/${id}`)",
            "(defun f () \"Doc, isn't it.\" x)",
            "fn f<'a>(x: &'a str) {",
            "#include \"a.h\"",
            "x = A | B",
            "  | Foo",
            "list.map(|x| x + 1)",
            "if (a || b)",
        ] {
            assert!(!may_leave_open(line.as_bytes()), "{line}");
        }
    }

    #[test]
    fn what_may_go_on_below_is_open() {
        for line in [
            "x = \"a",
            "  text\"",
            "let s = `",
            "\"\"\"Doc.\"\"\" \"\"\"",
            "x = '''",
            "x = \"a \\\"",
            "c = '\"'; s = \"",
            "?\" \"",
            "let s = r#\"a\" b",
            "auto s = R\"(a\" b",
            "/* \" */ s = \"",
            "a\" */ s = \"",
            "`${f(`x",
            "s = 'a\"' + \"b",
            "x = \"`\" + `",
            "/[`]/.test(`",
            "(f '|a",
            "|a| |b",
            "(f #<<END",
        ] {
            assert!(may_leave_open(line.as_bytes()), "{line}");
        }
    }

    #[test]
    fn the_first_open_line_is_found() {
        let first = |text: &str| first_open_line(&Text::new(text.into()));
        assert_eq!(first("a\n\"b\"\nc"), 3);
        assert_eq!(first("a\nx = \"b\nc\"\n"), 1);
        assert_eq!(first(""), 0);
    }
}
