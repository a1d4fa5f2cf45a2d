//! The header lines that git writes above a file header.
//!
//! They say what a unified diff cannot: that a file appears, goes, or has another name or mode (git
//! diff, "Generating patch text with -p").

use super::header::without_terminator;

/// What git's header says about a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GitHeader<'a> {
    /// The names on the line `diff --git OLD NEW`, still quoted and with their prefixes; `None` if
    /// it cannot be told where one ends.
    pub names: Option<(&'a [u8], &'a [u8])>,
    /// The names of `rename from` and `rename to`, still quoted, without prefixes.
    pub renamed: Option<(&'a [u8], &'a [u8])>,
    /// The names of `copy from` and `copy to`, in the same form.
    pub copied: Option<(&'a [u8], &'a [u8])>,
    /// The mode before, if it is stated: of `old mode` or `deleted file mode`.
    pub old_mode: Option<u32>,
    /// The mode after, if it is stated: of `new mode` or `new file mode`.
    pub new_mode: Option<u32>,
    /// Whether the file appears.
    pub is_new: bool,
    /// Whether the file goes.
    pub is_deleted: bool,
}

/// The mode by which git marks the commit of a submodule.
pub(super) const SUBMODULE_MODE: u32 = 0o160_000;

impl<'a> GitHeader<'a> {
    /// Reads `line`, which begins a header; `None` if it does not.
    pub(super) fn begin(line: &'a [u8]) -> Option<GitHeader<'a>> {
        let names = without_terminator(line).strip_prefix(b"diff --git ")?;
        Some(GitHeader {
            names: names_in(names),
            ..GitHeader::default()
        })
    }

    /// Reads `line`, one of the further lines of the header, and returns whether it is one.
    pub(super) fn read(&mut self, line: &'a [u8]) -> bool {
        let line = without_terminator(line);
        let after = |start: &str| line.strip_prefix(start.as_bytes());
        let empty: (&[u8], &[u8]) = (b"", b"");
        if let Some(mode) = after("old mode ") {
            self.old_mode = mode_in(mode);
        } else if let Some(mode) = after("new mode ") {
            self.new_mode = mode_in(mode);
        } else if let Some(mode) = after("deleted file mode ") {
            self.is_deleted = true;
            self.old_mode = mode_in(mode);
        } else if let Some(mode) = after("new file mode ") {
            self.is_new = true;
            self.new_mode = mode_in(mode);
        } else if let Some(name) = after("rename from ") {
            self.renamed.get_or_insert(empty).0 = name;
        } else if let Some(name) = after("rename to ") {
            self.renamed.get_or_insert(empty).1 = name;
        } else if let Some(name) = after("copy from ") {
            self.copied.get_or_insert(empty).0 = name;
        } else if let Some(name) = after("copy to ") {
            self.copied.get_or_insert(empty).1 = name;
        } else if let Some(rest) = after("index ") {
            // The mode stands here if it stays the same.
            let mode = rest.rsplit(|&byte| byte == b' ').next().and_then(mode_in);
            if rest.contains(&b' ') && mode.is_some() {
                (self.old_mode, self.new_mode) = (mode, mode);
            }
        } else {
            return after("similarity index ").is_some() || after("dissimilarity index ").is_some();
        }
        true
    }

    /// Whether it says more than that the text changes.
    pub fn is_operation(&self) -> bool {
        self.is_new
            || self.is_deleted
            || self.renamed.is_some()
            || self.copied.is_some()
            || self.old_mode != self.new_mode
    }

    /// Whether the file is a submodule, before or after.
    pub(super) fn is_submodule(&self) -> bool {
        [self.old_mode, self.new_mode].contains(&Some(SUBMODULE_MODE))
    }

    /// Returns the name to show to a person, still quoted.
    pub(super) fn shown_name(&self) -> &'a [u8] {
        let named = self.renamed.or(self.copied).or(self.names);
        let (old, new) = named.unwrap_or_default();
        if new.is_empty() { old } else { new }
    }
}

/// Reads a mode: octal digits.
fn mode_in(text: &[u8]) -> Option<u32> {
    u32::from_str_radix(str::from_utf8(text).ok()?, 8).ok()
}

/// Splits `text`, two names with a space between them.
///
/// Names with spaces are quoted only if they have other special characters. Where git writes only
/// this line with names, both are equal but for their prefixes, which decides where the first one
/// ends (git, `git_header_name`). Usually a prefix is one directory.
fn names_in(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let spaces = (0..text.len()).filter(|&at| text[at] == b' ');
    let mut splits = spaces.map(|at| (&text[..at], &text[at + 1..]));
    match text {
        [b'"', ..] => splits.find(|(old, _)| is_quoted(old)),
        [.., b'"'] => splits.find(|(_, new)| is_quoted(new)),
        _ => {
            let mut others = splits.clone();
            let split = splits.find(|(old, new)| without_prefix(old) == without_prefix(new));
            split.or_else(|| others.find(|(old, new)| last_part(old) == last_part(new)))
        }
    }
}

/// Returns the part of `name` after its last slash.
fn last_part(name: &[u8]) -> &[u8] {
    let part = name.rsplit(|&byte| byte == b'/').next();
    part.unwrap_or_default()
}

/// Returns whether `name` is in quotes, and no quote before its end closes them.
fn is_quoted(name: &[u8]) -> bool {
    let [b'"', inner @ .., b'"'] = name else {
        return false;
    };
    let mut bytes = inner.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return false,
            b'\\' if bytes.next().is_none() => return false,
            _ => {}
        }
    }
    true
}

/// Returns `name` without its first directory, which git puts in front: `a/` or `b/`.
fn without_prefix(name: &[u8]) -> &[u8] {
    let slash = name.iter().position(|&byte| byte == b'/');
    slash.map_or(name, |slash| &name[slash + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(line: &str) -> Option<(String, String)> {
        let string = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        let header = GitHeader::begin(line.as_bytes())?;
        header.names.map(|(old, new)| (string(old), string(new)))
    }

    #[test]
    fn names_are_told_apart_with_spaces_and_quotes() {
        let table = [
            ("diff --git a/f b/f", ("a/f", "b/f")),
            ("diff --git a/a b/c b/a b/c", ("a/a b/c", "b/a b/c")),
            ("diff --git f f", ("f", "f")),
            ("diff --git x y x y", ("x y", "x y")),
            (
                "diff --git p/q/a b/f g p/r/a b/f g",
                ("p/q/a b/f g", "p/r/a b/f g"),
            ),
            ("diff --git \"a/\\t b\" b/c", ("\"a/\\t b\"", "b/c")),
            ("diff --git a/c d \"b/\\\" x\"", ("a/c d", "\"b/\\\" x\"")),
            (
                "diff --git \"a/\\n\" \"b/\\n\"\r\n",
                ("\"a/\\n\"", "\"b/\\n\""),
            ),
        ];
        for (line, (old, new)) in table {
            assert_eq!(
                names(line),
                Some((old.to_owned(), new.to_owned())),
                "{line}"
            );
        }
        // Of a rename; its names are on lines of their own.
        assert_eq!(names("diff --git a/x y b/z"), None);
        assert_eq!(names("diff -u a b"), None);
    }

    #[test]
    fn each_line_says_one_thing() {
        let mut header = GitHeader::begin(b"diff --git a/f b/f").unwrap();
        assert!(!header.is_operation());
        assert!(header.read(b"index 1234567..89abcde 100644\n"));
        assert!(!header.is_operation());
        assert!(header.read(b"old mode 100644\n") && header.read(b"new mode 100755\n"));
        assert!(header.is_operation());
        assert_eq!(
            (header.old_mode, header.new_mode),
            (Some(0o100_644), Some(0o100_755))
        );
        assert!(header.read(b"rename from x y\n") && header.read(b"rename to \"z\\t\"\n"));
        assert_eq!(header.renamed, Some((&b"x y"[..], &b"\"z\\t\""[..])));
        assert!(header.read(b"similarity index 90%\n"));
        assert!(!header.read(b"some prose\n"));
    }
}
