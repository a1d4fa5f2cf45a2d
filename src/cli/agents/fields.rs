//! The arguments of agents' tools, whatever they are called.
//!
//! Agents name the same thing differently. Each argument is looked for under all of its names, so a
//! tool is understood by what it gets, whatever agent it belongs to.

use agent_q_diff_engine::inputs::{Encoding, FileText, Replacement};
use rmcp::model::JsonObject;
use serde_json::Value;

use super::ALL;

/// An argument of a tool that edits files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// The name of the file.
    Path,
    /// The string to be replaced.
    Old,
    /// What replaces it.
    New,
    /// Whether it is replaced wherever it occurs.
    All,
    /// The whole text of the file.
    Content,
    /// A patch in Codex's format, or a shell command.
    Patch,
    /// Several replacements, or one in an object of its own.
    Edits,
    /// What the model says about the edit.
    Description,
}

impl Field {
    /// Returns all names that agents give to it, in the order of [`ALL`].
    fn names(self) -> Vec<&'static str> {
        let mut names = Vec::new();
        for (field, name) in ALL.iter().flat_map(|agent| agent.arguments) {
            if *field == self && !names.contains(name) {
                names.push(*name);
            }
        }
        names
    }

    /// Returns the value of this argument in `input`, and its name there, or `None` if it is
    /// missing or null.
    ///
    /// # Errors
    ///
    /// A sentence, without its period, if it is there under several names.
    pub fn find(self, input: &JsonObject) -> Result<Option<(&'static str, &Value)>, String> {
        let mut found = self
            .names()
            .into_iter()
            .filter_map(|name| Some((name, input.get(name)?)))
            .filter(|(_, value)| !value.is_null());
        match (found.next(), found.next()) {
            (Some((one, _)), Some((other, _))) => {
                Err(format!("its input has both {one} and {other}"))
            }
            (found, _) => Ok(found),
        }
    }

    /// Returns the value of this argument in `input`, a string.
    ///
    /// # Errors
    ///
    /// A sentence, without its period, if there is no such string.
    pub fn text(self, input: &JsonObject) -> Result<&str, String> {
        let text = self.find(input)?.and_then(|(_, value)| value.as_str());
        text.ok_or_else(|| format!("its input has no string {}", self.names()[0]))
    }

    /// Returns whether `input` has this argument as a string.
    pub fn is_text_in(self, input: &JsonObject) -> bool {
        self.text(input).is_ok()
    }

    /// Puts `value` into `input`, under the name that this argument has there, or else under
    /// `name`.
    pub fn put(self, input: &mut JsonObject, value: Value, name: &str) {
        let mut names = self.names().into_iter();
        let name = names.find(|name| input.contains_key(*name)).unwrap_or(name);
        input.insert(name.to_owned(), value);
    }
}

/// Returns the replacement that `input` asks for.
pub fn replacement(input: &JsonObject) -> Result<Replacement, String> {
    Ok(Replacement {
        old: Field::Old.text(input)?.to_owned(),
        new: Field::New.text(input)?.to_owned(),
        is_all: match Field::All.find(input)? {
            None => false,
            Some((_, Value::Bool(is_all))) => *is_all,
            Some((name, _)) => {
                return Err(format!("{name} in its input is neither true nor false"));
            }
        },
    })
}

/// Returns the replacements that `input` asks for, one or several.
pub fn replacements(input: &JsonObject) -> Result<Vec<Replacement>, String> {
    let edits = match Field::Edits.find(input)? {
        None => return Ok(vec![replacement(input)?]),
        Some((_, Value::Array(edits))) => edits.as_slice(),
        Some((_, edit @ Value::Object(_))) => std::slice::from_ref(edit),
        Some((name, _)) => return Err(format!("its input has no array {name}")),
    };
    let edits = edits.iter().map(|edit| {
        let edit = edit.as_object().ok_or("one of its edits is no object")?;
        // An edit of another file would pass unseen.
        match Field::Path.find(edit)? {
            None => replacement(edit),
            Some(_) => Err("its edits are of several files".to_owned()),
        }
    });
    edits.collect()
}

/// Puts `edit` into `input`; `all_key` is the name of [`Field::All`].
pub fn put_replacement(input: &mut JsonObject, edit: &Replacement, all_key: &str) {
    Field::Old.put(input, edit.old.clone().into(), "old_string");
    Field::New.put(input, edit.new.clone().into(), "new_string");
    Field::All.put(input, edit.is_all.into(), all_key);
}

/// Puts the content of a file that is to be `wanted` into `input`, for a tool that keeps a byte
/// order mark of the file before, `base`.
pub fn put_content(input: &mut JsonObject, base: Option<&FileText>, wanted: &FileText) {
    let had_mark = base.is_some_and(|base| base.encoding == Encoding::Utf8WithBom);
    let has_mark = wanted.encoding == Encoding::Utf8WithBom;
    let mark = if has_mark && !had_mark {
        "\u{feff}"
    } else {
        ""
    };
    let content = format!("{mark}{}", wanted.text);
    Field::Content.put(input, content.into(), "content");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn input(value: Value) -> JsonObject {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn an_argument_is_found_under_any_of_its_names() {
        for name in Field::Path.names() {
            let input = input(json!({ name: "f", "other": 1 }));
            assert_eq!(Field::Path.text(&input), Ok("f"));
        }
        let both = input(json!({ "path": "f", "filePath": "g" }));
        let error = Field::Path.text(&both).unwrap_err();
        assert_eq!(error, "its input has both filePath and path");
        let null = input(json!({ "path": "f", "filePath": null }));
        assert_eq!(Field::Path.text(&null), Ok("f"));
        let error = Field::Old.text(&null).unwrap_err();
        assert_eq!(error, "its input has no string old_string");
    }

    #[test]
    fn an_argument_keeps_its_name() {
        let mut input = input(json!({ "oldString": "a" }));
        Field::Old.put(&mut input, "b".into(), "old_string");
        Field::All.put(&mut input, false.into(), "replaceAll");
        assert_eq!(
            Value::Object(input),
            json!({ "oldString": "b", "replaceAll": false })
        );
    }
}
