//! The files that a shell command plainly writes.
//!
//! This is no shell. It reads words, quotes, redirections and here-documents, and knows a few programs that
//! write files. What it cannot read, such as a name with a variable in it, it does not claim to know.

use std::iter::Peekable;
use std::path::{Path, PathBuf};
use std::str::CharIndices;

/// Commands in commands are looked at so deep.
const MAX_DEPTH: usize = 3;

/// Programs that run the command behind them.
const WRAPPERS: [&str; 8] = [
    "sudo", "env", "command", "exec", "time", "nohup", "builtin", "nice",
];

/// Words of the shell before a command.
const KEYWORDS: [&str; 9] = [
    "if", "then", "else", "elif", "do", "while", "until", "{", "!",
];

/// A file that a command plainly writes.
#[derive(Debug, PartialEq, Eq)]
pub enum Written {
    /// This file.
    File(PathBuf),
    /// Files in this directory, named in a patch.
    In(PathBuf),
}

impl Written {
    /// Returns the file, or the directory.
    pub fn path(&self) -> &Path {
        match self {
            Self::File(path) | Self::In(path) => path,
        }
    }
}

/// Returns what `command`, run in `directory`, plainly writes, each only once.
pub fn written(command: &str, directory: &Path) -> Vec<Written> {
    let mut found = Vec::new();
    written_at(command, directory, 0, &mut found);
    found
}

fn written_at(command: &str, directory: &Path, depth: usize, found: &mut Vec<Written>) {
    let mut directory = Some(directory.to_owned());
    for one in commands(command) {
        let mut run = Run {
            directory: directory.as_deref(),
            depth,
            found,
        };
        run.command(&one);
        if let ["cd" | "pushd" | "popd", ..] = one.names()[..] {
            let to = match &one.words[..] {
                [_, Word(Some(to))] if to != "-" => directory.map(|from| from.join(to)),
                _ => None,
            };
            directory = to;
        }
    }
}

/// A word, or `None` if it depends on more than is written there.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Word(Option<String>);

/// A command with its words, without its redirections.
#[derive(Debug, Default)]
struct Simple {
    words: Vec<Word>,
    /// Where its output goes.
    outputs: Vec<Word>,
    /// Here-documents that it reads.
    documents: Vec<String>,
}

impl Simple {
    /// Returns the words, an empty one for each that is not known.
    fn names(&self) -> Vec<&str> {
        let words = self.words.iter();
        words
            .map(|word| word.0.as_deref().unwrap_or_default())
            .collect()
    }
}

/// Reads commands of a shell.
struct Reader<'c> {
    text: &'c str,
    characters: Peekable<CharIndices<'c>>,
    commands: Vec<Simple>,
    /// The delimiters of here-documents that begin with the next line, and whether tabs are stripped.
    pending: Vec<(String, bool)>,
}

/// Returns the commands in `text`, as far as it can be read.
fn commands(text: &str) -> Vec<Simple> {
    let mut reader = Reader {
        text,
        characters: text.char_indices().peekable(),
        commands: vec![Simple::default()],
        pending: Vec::new(),
    };
    // What is behind something that cannot be read is not known.
    let _ = reader.read();
    reader.commands
}

impl Reader<'_> {
    fn peek(&mut self) -> Option<char> {
        self.characters.peek().map(|(_, character)| *character)
    }

    fn next(&mut self) -> Option<char> {
        self.characters.next().map(|(_, character)| character)
    }

    /// Goes behind `wanted`, if that comes next.
    fn eat(&mut self, wanted: char) -> bool {
        self.characters
            .next_if(|(_, character)| *character == wanted)
            .is_some()
    }

    fn blanks(&mut self) {
        while self.eat(' ') || self.eat('\t') || self.eat('\r') {}
    }

    fn last(&mut self) -> &mut Simple {
        self.commands.last_mut().expect("there is always one")
    }

    /// Reads to the end, or returns `None` where that cannot be done.
    fn read(&mut self) -> Option<()> {
        loop {
            self.blanks();
            match self.peek() {
                None => return Some(()),
                Some('#') => {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.next();
                    }
                }
                Some('\n') => {
                    self.next();
                    self.documents()?;
                    self.commands.push(Simple::default());
                }
                Some('&') => {
                    self.next();
                    if self.eat('>') {
                        self.redirection()?;
                    } else {
                        self.commands.push(Simple::default());
                    }
                }
                Some(';' | '|' | '(' | ')') => {
                    self.next();
                    self.commands.push(Simple::default());
                }
                Some('>') => {
                    self.next();
                    self.redirection()?;
                }
                Some('<') => self.input()?,
                Some(_) => {
                    let word = self.word()?;
                    let is_number = |text: &String| {
                        !text.is_empty() && text.chars().all(|c| c.is_ascii_digit())
                    };
                    let is_redirected = matches!(self.peek(), Some('<' | '>'));
                    if !(is_redirected && word.0.as_ref().is_some_and(is_number)) {
                        self.last().words.push(word);
                    }
                }
            }
        }
    }

    /// Reads where output goes; its first `>` is read.
    fn redirection(&mut self) -> Option<()> {
        let _ = self.eat('>') || self.eat('|');
        let is_duplicate = self.eat('&');
        self.blanks();
        if self.peek() == Some('(') {
            return None;
        }
        let word = self.word()?;
        let is_descriptor = |text: &String| text.chars().all(|c| c.is_ascii_digit() || c == '-');
        if !(is_duplicate && word.0.as_ref().is_some_and(is_descriptor)) {
            self.last().outputs.push(word);
        }
        Some(())
    }

    /// Reads where input comes from.
    fn input(&mut self) -> Option<()> {
        self.next();
        if self.eat('<') {
            if self.eat('<') {
                self.blanks();
                let Word(text) = self.word()?;
                self.last().documents.extend(text);
                return Some(());
            }
            let is_stripped = self.eat('-');
            self.blanks();
            let delimiter = self.word()?.0?;
            self.pending.push((delimiter, is_stripped));
            return Some(());
        }
        if self.eat('>') {
            return self.redirection();
        }
        self.eat('&');
        self.blanks();
        if self.peek() == Some('(') {
            return None;
        }
        self.word().map(drop)
    }

    /// Reads the here-documents that begin here. They are the last command's.
    fn documents(&mut self) -> Option<()> {
        for (delimiter, is_stripped) in std::mem::take(&mut self.pending) {
            let mut document = String::new();
            loop {
                let start = self.characters.peek()?.0;
                let rest = &self.text[start..];
                let line = rest.split_inclusive('\n').next()?;
                for _ in line.chars() {
                    self.next();
                }
                let plain = line.trim_end_matches(['\n', '\r']);
                let plain = match is_stripped {
                    true => plain.trim_start_matches('\t'),
                    false => plain,
                };
                if plain == delimiter {
                    break;
                }
                document.push_str(line);
            }
            self.last().documents.push(document);
        }
        Some(())
    }

    /// Reads a word.
    fn word(&mut self) -> Option<Word> {
        let (mut text, mut is_known, mut is_first) = (String::new(), true, true);
        while let Some(character) = self.peek() {
            match character {
                ' ' | '\t' | '\r' | '\n' | ';' | '|' | '&' | '<' | '>' | '(' | ')' => break,
                '\'' => {
                    self.next();
                    loop {
                        match self.next()? {
                            '\'' => break,
                            other => text.push(other),
                        }
                    }
                }
                '"' => is_known &= self.quoted(&mut text)?,
                '\\' => {
                    self.next();
                    match self.next()? {
                        '\n' => {}
                        other => text.push(other),
                    }
                }
                '$' | '`' => {
                    self.expansion()?;
                    is_known = false;
                }
                '*' | '?' | '[' => {
                    is_known = false;
                    text.extend(self.next());
                }
                // Braces stand for several words, and `{}` is one of find's.
                '{' if !is_first
                    || !matches!(self.text.get(self.at() + 1..), Some(rest) if rest.starts_with(char::is_whitespace)) =>
                {
                    is_known = false;
                    text.extend(self.next());
                }
                '~' if is_first => {
                    is_known = false;
                    text.extend(self.next());
                }
                _ => text.extend(self.next()),
            }
            is_first = false;
        }
        Some(Word(is_known.then_some(text)))
    }

    fn at(&mut self) -> usize {
        let end = self.text.len();
        self.characters.peek().map_or(end, |(at, _)| *at)
    }

    /// Reads what is in double quotes into `text`, and returns whether it is all that it stands for.
    fn quoted(&mut self, text: &mut String) -> Option<bool> {
        self.next();
        let mut is_known = true;
        loop {
            match self.peek()? {
                '"' => {
                    self.next();
                    return Some(is_known);
                }
                '$' | '`' => {
                    self.expansion()?;
                    is_known = false;
                }
                '\\' => {
                    self.next();
                    match self.next()? {
                        '\n' => {}
                        escaped @ ('"' | '\\' | '$' | '`') => text.push(escaped),
                        other => text.extend(['\\', other]),
                    }
                }
                _ => text.extend(self.next()),
            }
        }
    }

    /// Goes behind what begins with `$` or a backquote.
    fn expansion(&mut self) -> Option<()> {
        if self.next()? == '`' {
            while self.next()? != '`' {}
            return Some(());
        }
        let (open, close) = match self.peek() {
            Some('(') => ('(', ')'),
            Some('{') => ('{', '}'),
            _ => return Some(()),
        };
        self.next();
        let mut depth = 1;
        while depth > 0 {
            match self.next()? {
                '\\' => drop(self.next()),
                '\'' => while self.next()? != '\'' {},
                character if character == open => depth += 1,
                character if character == close => depth -= 1,
                _ => {}
            }
        }
        Some(())
    }
}

/// A command that is run in a directory, if that is known.
struct Run<'r> {
    directory: Option<&'r Path>,
    depth: usize,
    found: &'r mut Vec<Written>,
}

impl Run<'_> {
    fn add(&mut self, written: Written) {
        if !self.found.contains(&written) {
            self.found.push(written);
        }
    }

    /// Returns the absolute name of the file called `name`.
    fn absolute(&self, name: &str) -> Option<PathBuf> {
        match self.directory {
            Some(directory) => Some(directory.join(name)),
            None => Path::new(name).is_absolute().then(|| name.into()),
        }
    }

    fn file(&mut self, name: &str) {
        if !(name.is_empty() || name == "-" || name.starts_with("/dev/"))
            && let Some(path) = self.absolute(name)
        {
            self.add(Written::File(path));
        }
    }

    fn files<'n>(&mut self, names: impl IntoIterator<Item = &'n str>) {
        for name in names {
            self.file(name);
        }
    }

    fn directory(&mut self, name: &str) {
        if let Some(path) = self.absolute(name) {
            self.add(Written::In(path));
        }
    }

    fn command(&mut self, simple: &Simple) {
        self.files(simple.outputs.iter().filter_map(|word| word.0.as_deref()));
        let mut words = &simple.names()[..];
        while let [first, rest @ ..] = words {
            let is_before = WRAPPERS.contains(first)
                || KEYWORDS.contains(first)
                || first.split_once('=').is_some_and(|(name, _)| {
                    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
                    !name.is_empty() && name.chars().all(is_part)
                });
            if !is_before {
                break;
            }
            words = rest;
        }
        let [program, arguments @ ..] = words else {
            return;
        };
        match program.rsplit('/').next().unwrap_or_default() {
            "sed" | "gsed" => self.edited_in_place(arguments, "efl", "expression"),
            "perl" | "ruby" => self.edited_in_place(arguments, "eEMmIr", ""),
            "tee" => self.files(operands(arguments, &[])),
            "patch" => self.patched(arguments),
            "git" if is_apply(arguments) => self.directory("."),
            "cp" | "mv" | "install" => self.copied(arguments),
            "bash" | "sh" | "zsh" | "dash" => self.shell(arguments, &simple.documents),
            name if name.starts_with("python") => self.python(arguments, &simple.documents),
            _ => {}
        }
    }

    /// Adds the files that an editor of streams edits where they are. `taking` are its short options with an
    /// argument, `long` is the long one that, as the first of them, has a script.
    fn edited_in_place(&mut self, arguments: &[&str], taking: &str, long: &str) {
        let (mut is_in_place, mut has_script) = (false, false);
        let mut files = Vec::new();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            if let Some(option) = argument.strip_prefix("--") {
                let (name, value) = option
                    .split_once('=')
                    .map_or((option, None), |(name, value)| (name, Some(value)));
                is_in_place |= name == "in-place";
                if !long.is_empty() && (name == long || name == "file") {
                    has_script = true;
                    if value.is_none() {
                        arguments.next();
                    }
                }
                continue;
            }
            let Some(options) = argument.strip_prefix('-').filter(|it| !it.is_empty()) else {
                files.push(*argument);
                continue;
            };
            let Some(at) = options.find(|c| c == 'i' || taking.contains(c)) else {
                continue;
            };
            let (option, rest) = (&options[at..=at], &options[at + 1..]);
            is_in_place |= option == "i";
            // What follows `i` is the ending of a copy, but for perl, `ie` has a script as well.
            if (option == "i" && rest == "e" && long.is_empty()) || option != "i" && rest.is_empty()
            {
                arguments.next();
            }
            has_script |= matches!(option, "e" | "E" | "f") || (rest == "e" && long.is_empty());
        }
        if is_in_place {
            self.files(files.into_iter().skip(usize::from(!has_script)));
        }
    }

    fn patched(&mut self, arguments: &[&str]) {
        if arguments.contains(&"--dry-run") {
            return;
        }
        let with = ["-p", "-i", "-d", "-o", "-F", "-r", "-B", "-z", "-V", "-D"];
        let value = |short: &str| {
            let at = arguments.iter().position(|it| it.starts_with(short))?;
            match &arguments[at][short.len()..] {
                "" => arguments.get(at + 1).copied(),
                value => Some(value),
            }
        };
        match (value("-o"), operands(arguments, &with).first().copied()) {
            (Some(file), _) | (None, Some(file)) => self.file(file),
            (None, None) => self.directory(value("-d").unwrap_or(".")),
        }
    }

    /// Adds the file that is overwritten by a copy.
    fn copied(&mut self, arguments: &[&str]) {
        let files = operands(arguments, &["-S", "-m", "-o", "-g"]);
        let [sources @ .., target] = &files[..] else {
            return;
        };
        let Some(target) = self.absolute(target).filter(|_| !target.is_empty()) else {
            return;
        };
        let mut targets = vec![target.clone()];
        if target.is_dir() {
            let names = sources.iter().filter_map(|it| Path::new(it).file_name());
            targets = names.map(|name| target.join(name)).collect();
        }
        // A new file is a copy or gets another name, which no tool that edits can do.
        for target in targets {
            if !sources.is_empty() && target.is_file() {
                self.add(Written::File(target));
            }
        }
    }

    fn shell(&mut self, arguments: &[&str], documents: &[String]) {
        let Some(directory) = self.directory.filter(|_| self.depth < MAX_DEPTH) else {
            return;
        };
        let is_script =
            |it: &&str| it.starts_with('-') && !it.starts_with("--") && it.ends_with('c');
        let at = arguments.iter().position(is_script);
        match at.and_then(|at| arguments.get(at + 1)) {
            Some(script) => written_at(script, directory, self.depth + 1, self.found),
            None if arguments.iter().all(|it| it.starts_with('-')) => {
                for document in documents {
                    written_at(document, directory, self.depth + 1, self.found);
                }
            }
            None => {}
        }
    }

    fn python(&mut self, arguments: &[&str], documents: &[String]) {
        let at = arguments.iter().position(|it| *it == "-c");
        match at.and_then(|at| arguments.get(at + 1)) {
            Some(code) => self.code(code),
            None if arguments.iter().all(|it| it.starts_with('-')) => {
                for document in documents {
                    self.code(document);
                }
            }
            None => {}
        }
    }

    /// Adds the files that `code`, in Python, opens to write: those that it names there, or where it names a
    /// variable, those that are there of all that it names.
    fn code(&mut self, code: &str) {
        let mut is_unknown = false;
        for (at, _) in code.match_indices("open(") {
            let rest = &code[at + "open(".len()..];
            let call = rest.split(['\n', ')']).next().unwrap_or_default();
            let texts = strings(call);
            let is_mode = |text: &&str| {
                text.len() <= 3
                    && text.contains(['w', 'a', 'x', '+'])
                    && text.chars().all(|c| "wabxrt+".contains(c))
            };
            match &texts[..] {
                [name, modes @ ..]
                    if modes.iter().any(is_mode) && call.trim_start().starts_with(['\'', '"']) =>
                {
                    self.file(name);
                }
                modes => is_unknown |= call.contains(',') && modes.iter().any(is_mode),
            }
        }
        for (at, _) in code
            .match_indices(".write_text(")
            .chain(code.match_indices(".write_bytes("))
        {
            let before = &code[..at];
            match before
                .strip_suffix(')')
                .and_then(|it| it.rsplit_once("Path("))
            {
                Some((_, name)) if !strings(name).is_empty() => self.files(strings(name)),
                _ => is_unknown = true,
            }
        }
        if is_unknown {
            for name in strings(code) {
                let is_there = !name.is_empty() && !name.contains('\n');
                if is_there && self.absolute(name).is_some_and(|path| path.is_file()) {
                    self.file(name);
                }
            }
        }
    }
}

/// Returns the words in `arguments` that are no options, nor the values of those in `with`.
fn operands<'a>(arguments: &[&'a str], with: &[&str]) -> Vec<&'a str> {
    let mut found = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        if with.contains(argument) {
            arguments.next();
        } else if argument.is_empty() || !argument.starts_with('-') {
            found.push(*argument);
        }
    }
    found
}

/// Returns whether `arguments` of git have it apply a patch to files.
fn is_apply(arguments: &[&str]) -> bool {
    let others = ["--check", "--stat", "--numstat", "--summary", "--cached"];
    arguments.first() == Some(&"apply") && !arguments.iter().any(|it| others.contains(it))
}

/// Returns the strings in `code`, without those that span lines.
fn strings(code: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(start) = rest.find(['\'', '"']) {
        let quote = &rest[start..=start];
        let inner = &rest[start + 1..];
        let Some(end) = inner.find(quote) else {
            break;
        };
        found.push(&inner[..end]);
        rest = &inner[end + 1..];
    }
    found
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Returns the names of what `command` writes in `directory`, relative to that.
    fn names(command: &str, directory: &Path) -> Vec<String> {
        let found = written(command, directory).into_iter();
        found
            .map(|written| {
                let path = written.path();
                let name = path.strip_prefix(directory).unwrap_or(path);
                name.display().to_string()
            })
            .collect()
    }

    #[test]
    fn what_is_plainly_written_is_found() {
        let directory = std::env::temp_dir().join(format!("shell-{}", std::process::id()));
        fs::create_dir_all(directory.join("sub")).unwrap();
        for name in ["a.txt", "sub/a.txt", "b.txt"] {
            fs::write(directory.join(name), "").unwrap();
        }
        for (command, wanted) in [
            ("echo x > a.txt", &["a.txt"][..]),
            ("echo x >>'a b.txt' 2>&1", &["a b.txt"]),
            ("echo x 2>err.txt", &["err.txt"]),
            ("make &>log", &["log"]),
            (": >| a.txt", &["a.txt"]),
            (
                "cat <<'EOF' > a.txt\nx > y\nEOF\necho > b.txt",
                &["a.txt", "b.txt"],
            ),
            ("cat > a.txt <<-EOF\n\tx\n\tEOF\n", &["a.txt"]),
            ("sed -i s/a/b/ a.txt b.txt", &["a.txt", "b.txt"]),
            ("sed -i.bak -e 's/a/b/' a.txt", &["a.txt"]),
            ("sed -E -i 's/a/b/;s/c/d/' \"a.txt\"", &["a.txt"]),
            ("sed -ni '1p' a.txt", &["a.txt"]),
            ("sed --in-place=.old --expression=p a.txt", &["a.txt"]),
            ("perl -pi -e 's/a/b/' a.txt", &["a.txt"]),
            ("perl -i -pe 's/a/b/' a.txt", &["a.txt"]),
            ("perl -0777 -pi.bak -e 's/a/b/' a.txt", &["a.txt"]),
            ("ls | tee -a a.txt b.txt >/dev/null", &["a.txt", "b.txt"]),
            ("patch -p1 < x.diff", &[""]),
            ("patch a.txt x.diff", &["a.txt"]),
            ("git apply x.diff", &[""]),
            ("cd sub && sed -i s/a/b/ a.txt", &["sub/a.txt"]),
            ("if true; then A=1 sudo tee a.txt; fi", &["a.txt"]),
            ("bash -lc 'echo x > a.txt'", &["a.txt"]),
            ("bash <<EOF\necho x > a.txt\nEOF", &["a.txt"]),
            ("cp b.txt a.txt", &["a.txt"]),
            ("mv a.txt sub", &["sub/a.txt"]),
            ("python3 -c \"open('a.txt', 'w').write('x')\"", &["a.txt"]),
            (
                "python - <<'EOF'\np = 'a.txt'\ns = open(p).read()\nopen(p, \"w\").write(s)\nEOF",
                &["a.txt"],
            ),
            (
                "python3 -c 'from pathlib import Path; Path(\"a.txt\").write_text(\"\")'",
                &["a.txt"],
            ),
            ("echo x > /tmp/a.txt", &["/tmp/a.txt"]),
        ] {
            assert_eq!(names(command, &directory), wanted, "{command}");
        }
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn what_is_not_plain_or_writes_nothing_is_not_claimed() {
        for command in [
            "",
            "ls -la; git status && grep -rn 'a > b' .",
            "echo 'a > b'",
            "echo \"a > b\" # > c",
            "echo x >&2 2>&1 >/dev/null",
            "cat < a.txt",
            "cat <<EOF\nsed -i s/a/b/ a.txt\nEOF",
            "sed -n 's/i/i/p' a.txt",
            "sed s/a/b/ a.txt",
            "perl -ne 'print' a.txt",
            "echo x > $FILE",
            "echo x > \"$(mktemp)\"",
            "echo $(sed -i s/a/b/ a.txt)",
            "cd $DIR; echo x > a.txt",
            "sed -i s/a/b/ *.txt",
            "find . -exec sed -i s/a/b/ {} +",
            "git apply --check x.diff",
            "patch --dry-run -p1 < x.diff",
            "cp a.txt new.txt",
            "mv none.txt other.txt",
            "python3 script.py",
            "python3 -c \"print(open('a.txt').read())\"",
            "diff <(sort a) <(sort b)",
            "echo 'unterminated > a.txt",
            "[ 1 -lt 2 ]",
            "awk '$1 > 2' a.txt",
            "\u{e9}\\",
            "'",
            "<<",
            ">",
            "$(",
        ] {
            let found = written(command, Path::new("/nowhere"));
            assert_eq!(found, [], "{command}");
        }
    }
}
