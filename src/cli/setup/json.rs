//! Changes in a text in JSON, perhaps with comments, that leave all else in it as it is.

use std::ops::Range;

use jsonc_parser::ast::{self, Value as Node};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast, parse_to_serde_value};
use serde_json::Value;

/// Returns the value of `text`.
///
/// # Errors
///
/// A sentence, without its full stop, if it is not in JSON.
pub fn value(text: &str) -> Result<Value, String> {
    let value = parse_to_serde_value(text, &ParseOptions::default());
    value.map_err(|error| error.to_string())
}

/// Returns whether there is anything at `path`, the keys and indices from the outermost object.
///
/// # Errors
///
/// As for [`value`], and if something on the way is no object and no array.
pub fn is_at(text: &str, path: &[&str]) -> Result<bool, String> {
    within(text, path, |container, _| Ok(container.is_some()))
}

/// Returns whether there is an empty object or array at `path`.
///
/// # Errors
///
/// As for [`is_at`].
pub fn is_empty_at(text: &str, path: &[&str]) -> Result<bool, String> {
    within(text, path, |node, _| {
        Ok(node.is_some_and(|node| items(node).is_some_and(|items| items.is_empty())))
    })
}

/// Returns `text` with `item` at the end of the object or array at `path`. `item` is a value in an
/// array, or a key with its value in an object, indented by two blanks.
///
/// # Errors
///
/// As for [`is_at`].
pub fn appended(text: &str, path: &[&str], item: &str) -> Result<String, String> {
    within(text, path, |container, _| {
        let (range, items) = container_at(container, path)?;
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let unit = unit(text);
        let outer = unit.repeat(path.len());
        let indent = format!("{newline}{outer}{unit}");
        let item = item.lines().map(|line| {
            let line_start = line.trim_start();
            format!(
                "{}{line_start}",
                unit.repeat((line.len() - line_start.len()) / 2)
            )
        });
        let item = item.collect::<Vec<_>>().join(&indent);
        let close = range.end - 1;
        let Some(last) = items.last() else {
            let inner = &text[range.start + 1..close];
            let end = if inner.trim().is_empty() {
                close
            } else {
                range.start + 1 + inner.trim_end().len()
            };
            let start = if inner.trim().is_empty() {
                range.start + 1
            } else {
                end
            };
            return Ok(format!(
                "{}{indent}{item}{newline}{outer}{}",
                &text[..start],
                &text[close..]
            ));
        };
        let rest = &text[last.end..close];
        let is_on_one_line = !text[range.start..items[0].start].contains('\n');
        let end = if is_on_one_line {
            format!("{newline}{outer}")
        } else {
            String::new()
        };
        if rest.trim().trim_start_matches(',').is_empty() {
            return Ok(format!(
                "{},{indent}{item}{end}{}",
                &text[..last.end],
                &text[last.end..]
            ));
        }
        // What is said in a comment is said of the item before it.
        let comma = if rest.trim_start().starts_with(',') {
            ""
        } else {
            ","
        };
        let after = last.end + rest.trim_end().len();
        Ok(format!(
            "{}{comma}{}{indent}{item}{end}{}",
            &text[..last.end],
            &text[last.end..after],
            &text[after..]
        ))
    })
}

/// Returns `text` without what is at `path`, and without the comma that this needs.
///
/// # Errors
///
/// As for [`is_at`].
pub fn removed(text: &str, path: &[&str]) -> Result<String, String> {
    let (key, outer) = path
        .split_last()
        .ok_or("the settings are not removed as a whole")?;
    within(text, outer, |container, _| {
        let (range, items) = container_at(container, outer)?;
        let index = container.and_then(|node| index_of(node, key));
        let index = index.ok_or_else(|| format!("there is no {key}"))?;
        let item = &items[index];
        let close = range.end - 1;
        if index + 1 < items.len() {
            let rest = text[item.end..].trim_start();
            let rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
            return Ok(format!("{}{rest}", &text[..item.start]));
        }
        let after = &text[item.end..close];
        let Some(before) = index.checked_sub(1).map(|before| &items[before]) else {
            let above = text[range.start + 1..item.start].trim_end();
            let below = after.trim_start().trim_start_matches(',').trim_end();
            return Ok(format!(
                "{}{above}{below}{}",
                &text[..=range.start],
                &text[close..]
            ));
        };
        let between = &text[before.end..item.start];
        let is_on_one_line = !text[range.start..items[0].start].contains('\n');
        let after = if is_on_one_line {
            after.trim_start()
        } else {
            after
        };
        let kept = if between.trim() == "," {
            ""
        } else if after.trim_start().starts_with(',') {
            between.trim_end()
        } else {
            between
                .trim_end()
                .strip_prefix(',')
                .unwrap_or(between.trim_end())
        };
        let after = if kept.is_empty() {
            after
        } else {
            after.strip_prefix(',').unwrap_or(after)
        };
        Ok(format!(
            "{}{kept}{after}{}",
            &text[..before.end],
            &text[close..]
        ))
    })
}

/// Calls `function` with the node at `path` of `text`, if there is one, and `text`.
fn within<T>(
    text: &str,
    path: &[&str],
    function: impl FnOnce(Option<&Node<'_>>, &str) -> Result<T, String>,
) -> Result<T, String> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default());
    let parsed = parsed.map_err(|error| error.to_string())?;
    let mut node = parsed.value.as_ref();
    for (depth, key) in path.iter().enumerate() {
        if let Some(outer) = node {
            let name = depth
                .checked_sub(1)
                .map_or("the settings", |depth| path[depth]);
            items(outer)
                .ok_or_else(|| format!("{name} is there, and is neither object nor array"))?;
        }
        node = node.and_then(|outer| child(outer, key));
    }
    function(node, text)
}

/// Returns the range of `container`, which is at `path`, and those of what is in it.
fn container_at(
    container: Option<&Node<'_>>,
    path: &[&str],
) -> Result<(Range<usize>, Vec<Range<usize>>), String> {
    let name = path.last().unwrap_or(&"the settings");
    let container = container.ok_or_else(|| format!("there is no {name}"))?;
    let items = items(container);
    let items = items.ok_or_else(|| format!("{name} is there, and is neither object nor array"))?;
    Ok((range(container), items))
}

fn range(node: &impl Ranged) -> Range<usize> {
    node.start()..node.end()
}

/// Returns the ranges of what is in `node`; `None` if it is neither object nor array.
fn items(node: &Node<'_>) -> Option<Vec<Range<usize>>> {
    match node {
        Node::Object(object) => Some(object.properties.iter().map(range).collect()),
        Node::Array(array) => Some(array.elements.iter().map(range).collect()),
        _ => None,
    }
}

/// Returns the place of `key`, which may be an index, in `node`.
fn index_of(node: &Node<'_>, key: &str) -> Option<usize> {
    match node {
        Node::Object(object) => {
            let is_it = |property: &ast::ObjectProp<'_>| property.name.as_str() == key;
            object.properties.iter().position(is_it)
        }
        _ => key.parse().ok(),
    }
}

fn child<'n, 'a>(node: &'n Node<'a>, key: &str) -> Option<&'n Node<'a>> {
    let index = index_of(node, key)?;
    match node {
        Node::Object(object) => object.properties.get(index).map(|property| &property.value),
        Node::Array(array) => array.elements.get(index),
        _ => None,
    }
}

/// Returns by what `text` is indented: the blanks before its first indented line.
fn unit(text: &str) -> &str {
    let mut lines = text.lines().skip(1).map(|line| {
        let blanks = line.len() - line.trim_start().len();
        (&line[..blanks], !line.trim().is_empty())
    });
    let found = lines.find(|(blanks, has_text)| *has_text && !blanks.is_empty());
    found.map_or("  ", |(blanks, _)| blanks)
}
