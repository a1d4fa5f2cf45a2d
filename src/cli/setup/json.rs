//! Settings in JSON, read as strictly as their agent reads them, and changes in their text that
//! leave all else in it as it is.
//!
//! What was put in can be taken out again so that every byte is as before. So an object or array
//! that was there, but empty, closes right behind what is put into it; one that is made closes on
//! a line of its own, and is removed when it is empty again.

use std::ops::Range;

use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use crate::agents::Dialect;
use crate::mcp::without_halves;

/// Deeper nesting is an error.
const MAX_DEPTH: usize = 500;

/// Number of characters that are quoted of what is wrong.
const MAX_QUOTED: usize = 40;

/// A value and its place.
struct Node {
    range: Range<usize>,
    kind: Kind,
}

enum Kind {
    Object(Vec<Item>),
    Array(Vec<Item>),
    Scalar(Value),
}

/// What is in an object or array.
struct Item {
    /// Its key, in an object.
    key: Option<String>,
    /// Where it, or its key, begins.
    start: usize,
    node: Node,
    /// Where the comma behind it is, if there is one.
    comma: Option<usize>,
}

impl Node {
    fn items(&self) -> Option<&[Item]> {
        match &self.kind {
            Kind::Object(items) | Kind::Array(items) => Some(items),
            Kind::Scalar(_) => None,
        }
    }

    /// Returns the place of `key`, which may be an index. Of equal keys, the last one counts.
    fn index_of(&self, key: &str) -> Option<usize> {
        match &self.kind {
            Kind::Object(items) => items
                .iter()
                .rposition(|item| item.key.as_deref() == Some(key)),
            Kind::Array(items) => key.parse().ok().filter(|index| *index < items.len()),
            Kind::Scalar(_) => None,
        }
    }

    fn value(&self) -> Value {
        match &self.kind {
            Kind::Scalar(value) => value.clone(),
            Kind::Array(items) => items.iter().map(|item| item.node.value()).collect(),
            Kind::Object(items) => {
                let key = |item: &Item| item.key.clone().unwrap_or_default();
                let entries = items.iter().map(|item| (key(item), item.node.value()));
                Value::Object(entries.collect::<Map<_, _>>())
            }
        }
    }
}

/// Returns the value of `text`. Of equal keys, the last one counts.
///
/// # Errors
///
/// A sentence, without its period, if it is not in this dialect.
pub fn value(text: &str, dialect: Dialect) -> Result<Value, String> {
    parse(text, dialect).map(|node| node.value())
}

/// Returns the first key that an object of `text` has twice: of the object at `path`, or of one on
/// the way to it.
///
/// # Errors
///
/// As for [`value`].
pub fn repeated_key(text: &str, dialect: Dialect, path: &[&str]) -> Result<Option<String>, String> {
    let root = parse(text, dialect)?;
    let mut node = Some(&root);
    let mut keys = path.iter();
    while let Some(outer) = node {
        if let Kind::Object(items) = &outer.kind {
            let names: Vec<_> = items
                .iter()
                .filter_map(|item| item.key.as_deref())
                .collect();
            let is_again = |(index, key): &(usize, &&str)| names[..*index].contains(*key);
            if let Some((_, key)) = names.iter().enumerate().find(is_again) {
                return Ok(Some((*key).to_owned()));
            }
        }
        node = keys.next().and_then(|key| {
            let index = outer.index_of(key)?;
            Some(&outer.items()?[index].node)
        });
    }
    Ok(None)
}

/// Returns whether there is anything at `path`, the keys and indices from the outermost object.
///
/// # Errors
///
/// As for [`value`], and if something on the way is no object and no array.
pub fn is_at(text: &str, dialect: Dialect, path: &[&str]) -> Result<bool, String> {
    Ok(node_at(&parse(text, dialect)?, path)?.is_some())
}

/// Returns `text` with `item` at the end of the object or array at `path`. `item` is a value in an
/// array, or a key with its value in an object, indented by two blanks.
///
/// # Errors
///
/// As for [`is_at`].
pub fn appended(text: &str, dialect: Dialect, path: &[&str], item: &str) -> Result<String, String> {
    let root = parse(text, dialect)?;
    let (range, items) = container_at(&root, path)?;
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let unit = unit(text);
    let indent = format!("{newline}{}", unit.repeat(path.len() + 1));
    let lines = item.lines().map(|line| {
        let blanks = line.len() - line.trim_start().len();
        format!("{}{}", unit.repeat(blanks / 2), line.trim_start())
    });
    let item = lines.collect::<Vec<_>>().join(&indent);
    let close = range.end - 1;
    let last = items.last();
    let (comma, rest) = match last {
        None => ("", range.start + 1),
        Some(Item {
            comma: Some(at), ..
        }) => ("", at + 1),
        Some(last) => (",", last.node.range.end),
    };
    // What is said in a comment is said of the item before it.
    let end = match last {
        None => close,
        Some(_) => rest + text[rest..close].trim_end().len(),
    };
    let (before, kept, after) = (&text[..rest], &text[rest..end], &text[end..]);
    Ok(format!("{before}{comma}{kept}{indent}{item}{after}"))
}

/// Returns `key: value`, an entry of the object at `path`, in which is `item`, and nothing else.
/// `brackets` are those of the value.
pub fn entry_around(key: &str, brackets: [&str; 2], item: &str) -> String {
    let [open, close] = brackets;
    let item = item.replace('\n', "\n  ");
    format!("\"{key}\": {open}\n  {item}\n{close}")
}

/// Returns `text` without what is at `path`, without the comma that this needs, and without what
/// was made around it and is empty now. Returns `None` if nothing is left of a text that was made.
///
/// # Errors
///
/// As for [`is_at`].
pub fn removed(text: &str, dialect: Dialect, path: &[&str]) -> Result<Option<String>, String> {
    let root = parse(text, dialect)?;
    let Some((key, outer)) = path.split_last() else {
        let rest = (&text[..root.range.start], &text[root.range.end..]);
        let is_made = matches!(rest, ("", "\n" | "\r\n"));
        return Ok((!is_made).then(|| format!("{}{}", rest.0, rest.1)));
    };
    let (range, items) = container_at(&root, outer)?;
    let index = node_at(&root, outer)?.and_then(|node| node.index_of(key));
    let index = index.ok_or_else(|| format!("there is no {key}"))?;
    let item = &items[index];
    let end = item.node.range.end;
    if let Some(comma) = item.comma {
        let rest = text[comma + 1..].trim_start();
        let between = &text[end..comma];
        return Ok(Some(format!("{}{between}{rest}", &text[..item.start])));
    }
    let (above, below) = (&text[..item.start], &text[end..range.end - 1]);
    if index == 0 {
        let inner = &text[range.start + 1..item.start];
        let is_made = inner.trim().is_empty() && below.trim().is_empty() && below.contains('\n');
        if is_made {
            return removed(text, dialect, outer);
        }
        return Ok(Some(format!(
            "{}{}",
            without_line_start(above),
            &text[end..]
        )));
    }
    let comma = items[index - 1].comma.unwrap_or(item.start);
    let kept = without_line_start(&text[comma + 1..item.start]);
    Ok(Some(format!("{}{kept}{}", &text[..comma], &text[end..])))
}

/// Returns `text` without the blanks at its end and the newline before them.
fn without_line_start(text: &str) -> &str {
    let text = text.trim_end_matches([' ', '\t']);
    text.strip_suffix("\r\n")
        .or_else(|| text.strip_suffix('\n'))
        .unwrap_or(text)
}

/// Returns the node at `path` below `root`, if there is one.
fn node_at<'n>(root: &'n Node, path: &[&str]) -> Result<Option<&'n Node>, String> {
    let mut node = root;
    for (depth, key) in path.iter().enumerate() {
        let items = items_of(node, &path[..depth])?;
        let Some(index) = node.index_of(key) else {
            return Ok(None);
        };
        node = &items[index].node;
    }
    Ok(Some(node))
}

/// Returns the range of the object or array at `path`, and what is in it.
fn container_at<'n>(root: &'n Node, path: &[&str]) -> Result<(Range<usize>, &'n [Item]), String> {
    let name = path.last().unwrap_or(&"the settings");
    let node = node_at(root, path)?.ok_or_else(|| format!("there is no {name}"))?;
    Ok((node.range.clone(), items_of(node, path)?))
}

/// Returns what is in `node`, which is at `path`.
fn items_of<'n>(node: &'n Node, path: &[&str]) -> Result<&'n [Item], String> {
    let name = path.last().unwrap_or(&"the settings");
    let items = node.items();
    items.ok_or_else(|| format!("{name} is there, and is neither object nor array"))
}

/// Returns by what `text` is indented: the blanks before its first indented line.
fn unit(text: &str) -> &str {
    let mut lines = text.lines().skip(1).map(|line| {
        let blanks = line.len() - line.trim_start_matches([' ', '\t']).len();
        (&line[..blanks], !line.trim().is_empty())
    });
    let found = lines.find(|(blanks, has_text)| *has_text && !blanks.is_empty());
    found.map_or("  ", |(blanks, _)| blanks)
}

fn parse(text: &str, dialect: Dialect) -> Result<Node, String> {
    let mut parser = Parser {
        text,
        at: 0,
        dialect,
    };
    if text.starts_with('\u{feff}') {
        if !dialect.byte_order_mark {
            return Err("it begins with a byte order mark".to_owned());
        }
        parser.at = '\u{feff}'.len_utf8();
    }
    let node = parser.skip().and_then(|()| parser.node(0));
    let node = node.and_then(|node| parser.skip().map(|()| node));
    let node = node.and_then(|node| match parser.peek() {
        None => Ok(node),
        Some(_) => Err("something behind its end".to_owned()),
    });
    let at = parser.at.min(text.len());
    let read = text.as_bytes().iter().take(at);
    let line = read.filter(|&&byte| byte == b'\n').count() + 1;
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let quoted = text[start..].lines().next().unwrap_or_default().trim();
    let quoted = match quoted {
        "" => String::new(),
        quoted => format!(": {}", beginning(quoted)),
    };
    node.map_err(|what| format!("it is not JSON: {what} in line {line}{quoted}"))
}

/// Returns the beginning of `text`, as it can be shown.
pub fn beginning(text: &str) -> String {
    let is_shown = |c: &char| !c.is_control();
    let beginning: String = text.chars().filter(is_shown).take(MAX_QUOTED).collect();
    match text.chars().nth(MAX_QUOTED) {
        None => beginning,
        Some(_) => beginning + "\u{2026}",
    }
}

/// Reads a text from its start. Its errors name what is wrong at the place that was reached.
struct Parser<'t> {
    text: &'t str,
    at: usize,
    dialect: Dialect,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Goes behind `byte`, if that comes next.
    fn eat(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    /// Goes behind white space and comments.
    fn skip(&mut self) -> Result<(), String> {
        loop {
            let rest = &self.text[self.at..];
            let inner = rest.trim_start_matches([' ', '\t', '\n', '\r']);
            self.at = self.text.len() - inner.len();
            if !(inner.starts_with("//") || inner.starts_with("/*")) {
                return Ok(());
            }
            if !self.dialect.comments {
                return Err("a comment".to_owned());
            }
            self.at += if inner.starts_with("//") {
                inner.find(['\n', '\r']).unwrap_or(inner.len())
            } else {
                let end = inner[2..].find("*/");
                end.ok_or("a comment without an end")? + 4
            };
        }
    }

    fn node(&mut self, depth: usize) -> Result<Node, String> {
        if depth > MAX_DEPTH {
            return Err("too many brackets".to_owned());
        }
        let start = self.at;
        let kind = match self.peek() {
            None => return Err("its end is missing".to_owned()),
            Some(b'{') => Kind::Object(self.items(b'}', depth)?),
            Some(b'[') => Kind::Array(self.items(b']', depth)?),
            Some(b'"') => Kind::Scalar(self.string()?.into()),
            Some(_) => Kind::Scalar(self.word()?),
        };
        Ok(Node {
            range: start..self.at,
            kind,
        })
    }

    /// Reads an object or array up to `close`.
    fn items(&mut self, close: u8, depth: usize) -> Result<Vec<Item>, String> {
        let mut items: Vec<Item> = Vec::new();
        self.at += 1;
        loop {
            self.skip()?;
            if self.peek() == Some(close) {
                if !(items.is_empty() || self.dialect.trailing_commas) {
                    return Err("a comma behind the last item".to_owned());
                }
                self.at += 1;
                return Ok(items);
            }
            let start = self.at;
            let mut key = None;
            if close == b'}' {
                key = Some(self.string()?);
                self.skip()?;
                if !self.eat(b':') {
                    return Err("a key without its value".to_owned());
                }
                self.skip()?;
            }
            let node = self.node(depth + 1)?;
            self.skip()?;
            let comma = (self.peek() == Some(b',')).then_some(self.at);
            items.push(Item {
                key,
                start,
                node,
                comma,
            });
            if !self.eat(b',') {
                if self.eat(close) {
                    return Ok(items);
                }
                return Err(match self.peek() {
                    None => "its end is missing".to_owned(),
                    Some(_) => "a comma is missing".to_owned(),
                });
            }
        }
    }

    fn string(&mut self) -> Result<String, String> {
        let start = self.at;
        if !self.eat(b'"') {
            return Err(match self.peek() {
                None => "its end is missing".to_owned(),
                Some(_) => "a key without quotes".to_owned(),
            });
        }
        loop {
            match self.peek().ok_or("a string without an end")? {
                b'"' => break,
                b'\\' => self.at += 2,
                0..0x20 => return Err("a control character in a string".to_owned()),
                _ => self.at += 1,
            }
        }
        self.at += 1;
        let text = &self.text[start..self.at];
        // Agents in JavaScript read half of a surrogate pair, too.
        let whole = without_halves(text);
        let value = serde_json::from_str(whole.as_deref().unwrap_or(text));
        value.map_err(|_| "a wrong escape in a string".to_owned())
    }

    /// Reads a number, or a word that is a value.
    fn word(&mut self) -> Result<Value, String> {
        let rest = &self.text[self.at..];
        let is_part = |c: char| c.is_alphanumeric() || "+-._$".contains(c);
        let word = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
        if serde_json::from_str::<IgnoredAny>(word).is_err() {
            return Err(match word {
                "" => "an unexpected character".to_owned(),
                _ => format!("the unknown word \"{}\"", beginning(word)),
            });
        }
        self.at += word.len();
        // A number that is too large is none that settings need.
        Ok(serde_json::from_str(word).unwrap_or(Value::Null))
    }
}
