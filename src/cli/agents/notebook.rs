//! Claude Code's tool `NotebookEdit`: its effect on the text of a Jupyter notebook.
//!
//! The tool would write the whole notebook anew, in a form of its own, and gives an inserted cell
//! an id that nobody can foresee. So its edit is made here, in the form that the file has, and
//! Emacs writes what is decided.

use rmcp::model::JsonObject;
use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};
use serde_json::{Serializer, Value, json};

/// Returns `text`, of a notebook, after the edit in `input`.
///
/// # Errors
///
/// A sentence, without its period, about why that cannot be known.
pub fn edited(text: &str, input: &JsonObject) -> Result<String, String> {
    let mut notebook: Value =
        serde_json::from_str(text).map_err(|error| format!("it is no notebook: {error}"))?;
    let argument = |key: &str| input.get(key).and_then(Value::as_str);
    let source = || argument("new_source").ok_or("its input has no string new_source");
    let is_with_ids = notebook["nbformat_minor"].as_u64() >= Some(5);
    let cells = notebook.get_mut("cells").and_then(Value::as_array_mut);
    let cells = cells
        .filter(|cells| cells.iter().all(Value::is_object))
        .ok_or("it is no notebook: it has no array cells of objects")?;
    let at = argument("cell_id")
        .map(|id| place_of(cells, id))
        .transpose()?;
    match (argument("edit_mode").unwrap_or("replace"), at) {
        ("replace", Some(at)) => replace(&mut cells[at], source()?, argument("cell_type")),
        ("delete", Some(at)) => drop(cells.remove(at)),
        ("insert", at) => {
            let kind = argument("cell_type").ok_or("its input has no string cell_type")?;
            let id = is_with_ids.then(|| unused_id(cells));
            cells.insert(at.map_or(0, |at| at + 1), new_cell(kind, source()?, id));
        }
        ("replace" | "delete", None) => return Err("its input has no string cell_id".to_owned()),
        (mode, _) => return Err(format!("its edit_mode {mode:?} is unknown")),
    }
    Ok(printed(&notebook, text))
}

/// Returns the place of the cell called `id`, which may be a number as in `cell-3`.
fn place_of(cells: &[Value], id: &str) -> Result<usize, String> {
    let named = cells.iter().position(|cell| cell["id"] == id);
    let numbered = || id.strip_prefix("cell-").unwrap_or(id).parse().ok();
    let place = named.or_else(|| numbered().filter(|&at: &usize| at < cells.len()));
    place.ok_or_else(|| format!("the notebook has no cell {id}"))
}

/// Gives `cell` a `source`, and perhaps another `kind`. Its old output is removed.
fn replace(cell: &mut Value, source: &str, kind: Option<&str>) {
    let is_lines = cell["source"].is_array();
    cell["source"] = source_of(source, is_lines);
    if let Some(kind) = kind {
        cell["cell_type"] = kind.into();
    }
    if cell["cell_type"] == "code" {
        cell["execution_count"] = Value::Null;
        cell["outputs"] = json!([]);
    }
}

/// Returns `source` as a notebook has it: a string, or an array of lines.
fn source_of(source: &str, is_lines: bool) -> Value {
    if is_lines {
        source.split_inclusive('\n').collect()
    } else {
        source.into()
    }
}

fn new_cell(kind: &str, source: &str, id: Option<String>) -> Value {
    let mut cell = json!({ "cell_type": kind });
    if kind == "code" {
        cell["execution_count"] = Value::Null;
    }
    if let Some(id) = id {
        cell["id"] = id.into();
    }
    cell["metadata"] = json!({});
    if kind == "code" {
        cell["outputs"] = json!([]);
    }
    cell["source"] = source_of(source, true);
    cell
}

/// Returns an id that none of `cells` has.
fn unused_id(cells: &[Value]) -> String {
    let ids = (cells.len()..).map(|number| format!("cell-{number:08}"));
    let mut unused = ids.filter(|id| cells.iter().all(|cell| cell["id"] != **id));
    unused.next().expect("there are more numbers than cells")
}

/// Returns `notebook` in the form of `text`: its indentation, and its end.
fn printed(notebook: &Value, text: &str) -> String {
    let second = text.lines().nth(1).unwrap_or_default();
    let indent = &second[..second.len() - second.trim_start().len()];
    let printed = if indent.is_empty() && !text.trim_end().contains('\n') {
        with_formatter(notebook, CompactFormatter)
    } else {
        with_formatter(notebook, PrettyFormatter::with_indent(indent.as_bytes()))
    };
    printed + &text[text.trim_end().len()..]
}

fn with_formatter(notebook: &Value, formatter: impl Formatter) -> String {
    let mut bytes = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut bytes, formatter);
    notebook
        .serialize(&mut serializer)
        .expect("a vector takes all bytes");
    String::from_utf8(bytes).expect("JSON is UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTEBOOK: &str = r##"{
 "cells": [
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "one",
   "metadata": {},
   "outputs": [
    "5"
   ],
   "source": [
    "x = 1\n",
    "x"
   ]
  },
  {
   "cell_type": "markdown",
   "id": "two",
   "metadata": {},
   "source": "# é"
  }
 ],
 "metadata": {},
 "nbformat": 4,
 "nbformat_minor": 5
}
"##;

    fn edit(input: Value) -> Result<String, String> {
        edited(NOTEBOOK, input.as_object().unwrap())
    }

    #[test]
    fn only_the_cell_changes() {
        let code = edit(json!({ "cell_id": "one", "new_source": "x = 2\nx" })).unwrap();
        let wanted = NOTEBOOK
            .replace("x = 1", "x = 2")
            .replace("\"execution_count\": 3", "\"execution_count\": null")
            .replace("[\n    \"5\"\n   ]", "[]");
        assert_eq!(code, wanted);
        let text =
            edit(json!({ "cell_id": "cell-1", "new_source": "# z", "edit_mode": "replace" }));
        assert_eq!(text.unwrap(), NOTEBOOK.replace("# é", "# z"));
    }

    #[test]
    fn cells_come_and_go() {
        let gone = edit(json!({ "cell_id": "one", "edit_mode": "delete" })).unwrap();
        assert!(!gone.contains("x = 1") && gone.contains("# é"), "{gone}");
        let input = json!({ "cell_id": "one", "edit_mode": "insert", "cell_type": "code",
                            "new_source": "y\nz" });
        let more: Value = serde_json::from_str(&edit(input).unwrap()).unwrap();
        assert_eq!(more["cells"].as_array().unwrap().len(), 3);
        assert_eq!(more["cells"][1]["source"], json!(["y\n", "z"]));
        assert_eq!(more["cells"][1]["id"], "cell-00000002");
        let input = json!({ "edit_mode": "insert", "cell_type": "markdown", "new_source": "top" });
        let more: Value = serde_json::from_str(&edit(input).unwrap()).unwrap();
        assert_eq!(more["cells"][0]["source"], json!(["top"]));
        assert_eq!(more["cells"][0].get("outputs"), None);
    }

    #[test]
    fn what_cannot_be_known_is_refused() {
        let cases = [
            json!({}),
            json!({ "cell_id": "three", "new_source": "" }),
            json!({ "cell_id": "cell-2", "new_source": "" }),
            json!({ "cell_id": "one" }),
            json!({ "cell_id": "one", "edit_mode": "other", "new_source": "" }),
            json!({ "edit_mode": "insert", "new_source": "" }),
        ];
        for input in cases {
            assert!(edit(input.clone()).is_err(), "{input}");
        }
        assert!(edited("x", &JsonObject::new()).is_err());
        for no_notebook in ["{}", "[]", "1", r#"{"cells": [1]}"#] {
            assert!(
                edited(no_notebook, &JsonObject::new()).is_err(),
                "{no_notebook}"
            );
        }
    }

    #[test]
    fn the_form_of_the_file_stays() {
        let input = json!({ "cell_id": "two", "new_source": "# z" });
        for text in [
            NOTEBOOK.replace("\n ", "\n    "),
            NOTEBOOK.trim_end().to_owned(),
        ] {
            let value: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(
                printed(&value, &printed(&value, &text)),
                printed(&value, &text)
            );
        }
        let value: Value = serde_json::from_str(NOTEBOOK).unwrap();
        let compact = value.to_string();
        let wanted = compact.replace("# é", "# z");
        assert_eq!(
            edited(&compact, input.as_object().unwrap()).unwrap(),
            wanted
        );
    }
}
