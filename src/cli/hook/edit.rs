//! The text that an agent's tool would leave, and the input that leaves another.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use agent_q_diff_engine::inputs::{
    Encoding, FileText, InputError, Replacement, claude, codex, gemini, opencode,
};
use agent_q_diff_engine::patch::codex::{Action, parse, updated};
use rmcp::model::JsonObject;
use serde_json::{Value, json};

use super::event::Event;
use super::several::PatchEdit;
use super::tool::Tool;
use super::{file, notebook, patch};
use crate::agents::Verdict;
use crate::agents::fields::Field;

/// What a tool is about to do.
#[derive(Debug)]
pub enum Plan {
    /// It changes no file that it names.
    Nothing,
    /// It changes the text of a file.
    Edit(Box<Edit>),
    /// It applies a patch in Codex's format, of several files or of more than text.
    Patch(Box<PatchEdit>),
}

/// Returns what `tool` is about to do, by `event`.
///
/// # Errors
///
/// A sentence, without its full stop, about why it cannot be known.
pub fn plan(tool: Tool, event: &Event) -> Result<Plan, String> {
    if let Some(text) = tool.patch(&event.input)? {
        let files = parse(text).map_err(|error| error.to_string())?;
        if tool.is_run_by_emacs() || patch::only_text(&files).is_none() {
            return Ok(Plan::Patch(Box::new(PatchEdit::of(
                tool, event, text, &files,
            ))));
        }
    } else if tool == Tool::CodexShell {
        return Ok(Plan::Nothing);
    }
    Edit::of(tool, event).map(|edit| Plan::Edit(Box::new(edit)))
}

/// What a tool is about to make of a file.
#[derive(Debug)]
pub struct Edit {
    /// The file's absolute name.
    pub path: PathBuf,
    tool: Tool,
    input: JsonObject,
    before: Option<FileText>,
    after: FileText,
}

impl Edit {
    /// Returns what `tool` is about to do, by `event`.
    ///
    /// # Errors
    ///
    /// A sentence, without its full stop, about why it cannot be known.
    pub fn of(tool: Tool, event: &Event) -> Result<Self, String> {
        let input = &event.input;
        let path = path_of(tool, event)?;
        check_name(tool, event, &path)?;
        let before = file::read(&path)?;
        let is_utf_16 = matches!(&before, Some(file) if file.encoding == Encoding::Utf16Le);
        if is_utf_16 && !tool.keeps_utf_16() {
            return Err("the file is UTF-16, and the tool would write it as UTF-8".to_owned());
        }
        let after = made(tool, before.as_ref(), input)?;
        Ok(Self {
            after,
            path,
            tool,
            input: input.clone(),
            before,
        })
    }

    /// Returns the texts that the user compares: before, if there is a file, and after.
    pub fn shown(&self) -> (Option<Cow<'_, str>>, Cow<'_, str>) {
        file::shown(self.before.as_ref(), &self.after)
    }

    /// Returns how the file will be encoded.
    pub fn encoding_after(&self) -> &'static str {
        file::encoding_name(&self.after)
    }

    /// Returns the verdict that lets the tool leave what it was called for, or `None` if there is
    /// none. A name that the tool would look for is made whole.
    pub fn input_as_called(&self) -> Option<Verdict> {
        let is_misread = match self.tool {
            Tool::OpencodeEdit => is_pattern(&self.input),
            // It skips lines that Codex reads.
            Tool::OpencodePatch => true,
            _ => false,
        };
        if is_misread {
            return self.input_for(&self.shown().1).map(Verdict::Change);
        }
        match (self.path.to_str(), Field::Path.text(&self.input)) {
            (Some(whole), Ok(path)) if whole != path && self.tool.takes_input() => {
                let mut input = self.input.clone();
                Field::Path.put(&mut input, whole.into(), "file_path");
                Some(Verdict::Change(input))
            }
            _ => Some(Verdict::Allow),
        }
    }

    /// Returns whether the file is still as it was.
    pub fn is_current(&self) -> bool {
        file::read(&self.path).is_ok_and(|now| now == self.before)
    }

    /// Returns whether the tool can be made to leave another text.
    pub fn is_rewritable(&self) -> bool {
        self.tool != Tool::ClaudeNotebookEdit
    }

    /// Returns the input that makes the tool leave `decided`, a text like those of [`Self::shown`],
    /// or `None` if there is none.
    pub fn input_for(&self, decided: &str) -> Option<JsonObject> {
        let base = self.before.as_ref();
        let decided = file::with_line_ends(base, &self.after, decided);
        let mut input = self.input.clone();
        if Field::Path.is_text_in(&input) {
            Field::Path.put(&mut input, self.path.to_str()?.into(), "file_path");
        }
        match self.tool {
            Tool::ClaudeEdit => {
                let edit = claude::edit_to(base, &decided)?;
                put(&mut input, &edit, "replace_all");
            }
            Tool::ClaudeMultiEdit => {
                let edit = claude::edit_to(base, &decided)?;
                let mut only = JsonObject::new();
                put(&mut only, &edit, "replace_all");
                Field::Edits.put(&mut input, json!([only]), "edits");
            }
            Tool::ClaudeWrite | Tool::OpencodeWrite => {
                let had_mark = base.is_some_and(|base| base.encoding == Encoding::Utf8WithBom);
                let has_mark = self.after.encoding == Encoding::Utf8WithBom;
                let mark = if has_mark && !had_mark {
                    "\u{feff}"
                } else {
                    ""
                };
                let content = format!("{mark}{decided}");
                Field::Content.put(&mut input, content.into(), "content");
            }
            // See the module `notebook`. Whether another agent takes another input is not known.
            Tool::ClaudeNotebookEdit
            | Tool::CodexShell
            | Tool::OtherEdit
            | Tool::OtherWrite
            | Tool::OtherPatch
            | Tool::OtherUnknown => return None,
            Tool::CodexPatch | Tool::OpencodePatch => {
                let wanted = self.after.with_text(decided.clone());
                if !self.tool.can_patch(base, Some(&wanted)) {
                    return None;
                }
                let path = patch::first_path(patch::text_in(&self.input).ok()?)?;
                input = patch::put(&input, codex::patch_to(path, base, &wanted)?);
            }
            Tool::OpencodeEdit => {
                let edit = opencode::edit_to(base, &decided)?;
                put(&mut input, &edit, "replaceAll");
            }
            Tool::GeminiReplace => {
                let edit = gemini::replace_to(base, &decided)?;
                put(&mut input, &edit, "allow_multiple");
            }
            Tool::GeminiWrite => Field::Content.put(&mut input, decided.clone().into(), "content"),
        }
        // The mark at the beginning counts, too.
        let wanted = self.after.with_text(decided);
        (made(self.tool, base, &input).ok()? == wanted).then_some(input)
    }

    /// Returns whether all lines, before and after, end with CRLF.
    pub fn is_all_crlf(&self) -> bool {
        file::is_all_crlf(self.before.as_ref(), &self.after)
    }
}

/// Returns the absolute name of the file that `event`, about `tool`, is about, or of the first of
/// several.
///
/// # Errors
///
/// A sentence, without its full stop, if its input names none.
pub fn path_of(tool: Tool, event: &Event) -> Result<PathBuf, String> {
    let path = Field::Path.text(&event.input);
    let path = path.or_else(|error| {
        let patch = tool.patch(&event.input).ok().flatten();
        patch.and_then(patch::first_path).ok_or(error)
    })?;
    Ok(event.absolute(path))
}

/// Returns the absolute names of the files that `tool` is about to change, by `event`. There are none
/// if it is not known which.
pub fn files(tool: Tool, event: &Event) -> Vec<PathBuf> {
    let Ok(patch) = tool.patch(&event.input) else {
        return Vec::new();
    };
    let Some(patch) = patch else {
        return path_of(tool, event).into_iter().collect();
    };
    let files = parse(patch).unwrap_or_default();
    let names = files.iter().flat_map(|file| match file.action {
        Action::Update { new_path, .. } => [Some(file.path), new_path],
        Action::Add { .. } | Action::Delete => [Some(file.path), None],
    });
    names.flatten().map(|name| event.absolute(name)).collect()
}

/// Returns the text that `tool` says in `event`, after it has run, to have written, or `None` if it
/// does not say so. The file may be another by now: agents run other hooks beside this one.
pub fn written(tool: Tool, event: &Event) -> Option<String> {
    let response = &event.response;
    let text = |pointer: &str| response.pointer(pointer).and_then(Value::as_str);
    match tool {
        Tool::ClaudeEdit => {
            let edit = Replacement {
                old: text("/oldString")?.to_owned(),
                new: text("/newString")?.to_owned(),
                is_all: response["replaceAll"] == true,
            };
            let base = match response.get("originalFile")? {
                Value::Null => None,
                original => Some(FileText::new(original.as_str()?.to_owned())),
            };
            let made = claude::edited(base.as_ref(), &[edit]).ok()?;
            Some(made.text)
        }
        Tool::ClaudeWrite => text("/content").map(str::to_owned),
        Tool::GeminiReplace | Tool::GeminiWrite => {
            text("/returnDisplay/newContent").map(str::to_owned)
        }
        _ => None,
    }
}

/// Checks that `tool` and Emacs mean the same file by the name that `event` gives it.
fn check_name(tool: Tool, event: &Event, path: &Path) -> Result<(), String> {
    let is_gemini = matches!(tool, Tool::GeminiReplace | Tool::GeminiWrite);
    let given = Field::Path.text(&event.input);
    // Gemini CLI takes an @ off the beginning.
    if given.is_ok_and(|name| name.starts_with('~') || is_gemini && name.starts_with('@')) {
        return Err("give the file's absolute name".to_owned());
    }
    file::check_spelling(path)
}

/// Returns what `tool` makes of a file with `input`; `base` is the file before, or `None` if
/// there is none.
///
/// # Errors
///
/// A sentence, without its full stop, about why it cannot be known.
fn made(tool: Tool, base: Option<&FileText>, input: &JsonObject) -> Result<FileText, String> {
    let made = match tool {
        Tool::ClaudeEdit => claude::edited(base, &[replacement(input)?]),
        Tool::ClaudeMultiEdit => claude::edited(base, &replacements(input)?),
        Tool::ClaudeWrite => Ok(claude::written(base, Field::Content.text(input)?)),
        Tool::ClaudeNotebookEdit => {
            let base = base.ok_or("there is no such notebook")?;
            Ok(base.with_text(notebook::edited(&base.text, input)?))
        }
        Tool::CodexPatch | Tool::OpencodePatch => Ok(patched(base, patch::text_in(input)?)?),
        Tool::GeminiReplace => gemini::replaced(base, &replacement(input)?),
        Tool::GeminiWrite => Ok(gemini::written(base, Field::Content.text(input)?)),
        Tool::OpencodeEdit => opencode::edited(base, &replacement(input)?),
        Tool::OpencodeWrite => Ok(opencode::written(base, Field::Content.text(input)?)),
        Tool::OtherEdit => edited_exactly(base, &replacements(input)?),
        Tool::OtherWrite => Ok(written_exactly(base, input)?),
        // Emacs applies the patches of these.
        Tool::CodexShell | Tool::OtherPatch | Tool::OtherUnknown => {
            return Err("it does not know what this tool does with its input".to_owned());
        }
    };
    made.map_err(|error| error.to_string())
}

/// Returns what `patch`, which changes the text of one file, makes of `base`.
fn patched(base: Option<&FileText>, patch: &str) -> Result<FileText, String> {
    let files = parse(patch).map_err(|error| error.to_string())?;
    let bytes = match (patch::only_text(&files).map(|file| &file.action), base) {
        (Some(Action::Add { text }), _) => text.clone().into_bytes(),
        (Some(Action::Update { chunks, .. }), Some(base)) => {
            updated(&base.bytes(), chunks).map_err(|error| error.to_string())?
        }
        _ => return Err("there is no such file".to_owned()),
    };
    FileText::read(&bytes).map_err(|error| error.to_string())
}

/// Returns what `edits` make of a file, one after the other, each of a string as it is; `base` is the
/// file before, or `None` if there is none.
fn edited_exactly(base: Option<&FileText>, edits: &[Replacement]) -> Result<FileText, InputError> {
    let mut file = match base {
        Some(base) => base.clone(),
        None => FileText::new(String::new()),
    };
    for edit in edits {
        let is_new = base.is_none() && file.text.is_empty();
        let n = file.text.matches(&edit.old).count();
        file.text = match (edit.old.is_empty(), n) {
            (true, _) if is_new => edit.new.clone(),
            (true, _) => return Err(InputError::Exists),
            (false, _) if is_new => return Err(InputError::Missing),
            (false, 0) => return Err(InputError::NotFound),
            (false, n) if n > 1 && !edit.is_all => return Err(InputError::Several { n }),
            _ => file.text.replace(&edit.old, &edit.new),
        };
    }
    Ok(file)
}

/// Returns the file with the content in `input`, or with that at its end if `input` says so; `base`
/// is the file before, or `None` if there is none.
fn written_exactly(base: Option<&FileText>, input: &JsonObject) -> Result<FileText, String> {
    let content = Field::Content.text(input)?;
    let before = base.map_or("", |base| &base.text);
    let text = match input.get("mode").and_then(Value::as_str) {
        None | Some("overwrite") => content.to_owned(),
        Some("append") => format!("{before}{content}"),
        Some(mode) => return Err(format!("its mode {mode} is not known")),
    };
    Ok(base.map_or_else(
        || FileText::new(text.clone()),
        |base| base.with_text(text.clone()),
    ))
}

/// Returns the replacement that `input` asks for.
fn replacement(input: &JsonObject) -> Result<Replacement, String> {
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
fn replacements(input: &JsonObject) -> Result<Vec<Replacement>, String> {
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

/// Returns whether `input` is one in which opencode gives `$` a meaning, as JavaScript's `replaceAll`.
fn is_pattern(input: &JsonObject) -> bool {
    replacement(input).is_ok_and(|edit| edit.is_all && edit.new.contains('$'))
}

/// Puts `edit` into `input`.
fn put(input: &mut JsonObject, edit: &Replacement, all_key: &str) {
    Field::Old.put(input, edit.old.clone().into(), "old_string");
    Field::New.put(input, edit.new.clone().into(), "new_string");
    Field::All.put(input, edit.is_all.into(), all_key);
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A file that is removed at the end.
    struct File(PathBuf);

    impl File {
        fn new(name: &str, bytes: &[u8]) -> Self {
            let name = format!("agent-q-diff-{}-{name}", std::process::id());
            let path = std::env::temp_dir().join(name);
            fs::write(&path, bytes).unwrap();
            Self(path)
        }
    }

    impl Drop for File {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.0);
        }
    }

    /// Returns the event with `input` for `tool`, and for the file `path`.
    fn event(tool: &str, path: &Path, mut input: Value) -> Event {
        input["file_path"] = json!(path);
        let event = json!({
            "hook_event_name": "PreToolUse",
            "tool_name": tool,
            "tool_input": input,
            "cwd": "/",
        });
        Event::parse(event.to_string().as_bytes()).unwrap()
    }

    fn edit(tool: Tool, path: &Path, input: Value) -> Result<Edit, String> {
        Edit::of(tool, &event("", path, input))
    }

    #[test]
    fn all_files_that_a_tool_would_change_are_named() {
        let files = |tool, input: Value| {
            let event = json!({ "hook_event_name": "PreToolUse", "tool_name": "", "cwd": "/d",
                                "tool_input": input });
            files(tool, &Event::parse(event.to_string().as_bytes()).unwrap())
        };
        let patch = "*** Begin Patch\n*** Update File: a\n*** Move to: /b\n@@\n-a\n+A\n\
                     *** Add File: c\n+c\n*** Delete File: d/e\n*** End Patch";
        let names = ["/d/a", "/b", "/d/c", "/d/d/e"].map(PathBuf::from);
        assert_eq!(files(Tool::CodexPatch, json!({ "command": patch })), names);
        let command = format!("apply_patch <<'EOT'\n{patch}\nEOT\n");
        assert_eq!(
            files(Tool::CodexShell, json!({ "command": command })),
            names
        );
        let edit = json!({ "filePath": "f", "oldString": "a", "newString": "b" });
        assert_eq!(files(Tool::OpencodeEdit, edit), ["/d/f"].map(PathBuf::from));
        for (tool, input) in [
            (Tool::CodexShell, json!({ "command": "ls" })),
            (Tool::CodexPatch, json!({ "command": "no patch" })),
            (Tool::OpencodeEdit, json!({ "oldString": "a" })),
        ] {
            assert_eq!(files(tool, input), [] as [PathBuf; 0]);
        }
    }

    #[test]
    fn an_edit_is_shown_and_rewritten() {
        let file = File::new("edit", b"a\nb\nc\nd\n");
        let input = json!({ "old_string": "a\nb\nc\nd\n", "new_string": "A\nb\nC\nd\n" });
        let edit = edit(Tool::ClaudeEdit, &file.0, input).unwrap();
        assert_eq!(
            edit.shown(),
            (Some("a\nb\nc\nd\n".into()), "A\nb\nC\nd\n".into())
        );
        let wanted = json!({
            "file_path": file.0, "old_string": "c\n", "new_string": "C\n", "replace_all": false,
        });
        assert_eq!(
            edit.input_for("a\nb\nC\nd\n").map(Value::Object),
            Some(wanted)
        );
    }

    #[test]
    fn crlf_is_not_shown_but_kept() {
        let file = File::new("crlf", b"a\r\nb\r\n");
        let input = json!({ "old_string": "b", "new_string": "B\nC", "replace_all": true });
        let claude = edit(Tool::ClaudeEdit, &file.0, input.clone()).unwrap();
        assert_eq!(claude.shown(), (Some("a\nb\n".into()), "a\nB\nC\n".into()));
        let only_c = claude.input_for("a\nb\nC\n").unwrap();
        assert_eq!(only_c["old_string"], "b\n");
        assert_eq!(only_c["new_string"], "b\nC\n");
        assert_eq!(only_c["replace_all"], false);
        // A tool that writes the whole file gets the line ends.
        let write = json!({ "content": "a\r\nB\r\nC\r\n" });
        let write = edit(Tool::ClaudeWrite, &file.0, write).unwrap();
        assert_eq!(write.input_for("a\nB\n").unwrap()["content"], "a\r\nB\r\n");
        // If they change, they are part of what is decided.
        let write = edit(Tool::ClaudeWrite, &file.0, json!({ "content": "a\nb\n" })).unwrap();
        assert_eq!(write.shown(), (Some("a\r\nb\r\n".into()), "a\nb\n".into()));
    }

    #[test]
    fn several_edits_become_one() {
        let file = File::new("multi", b"a\nb\n");
        let edits = json!({ "edits": [
            { "old_string": "a", "new_string": "A" },
            { "old_string": "b", "new_string": "B", "replace_all": true },
        ]});
        let edit = edit(Tool::ClaudeMultiEdit, &file.0, edits).unwrap();
        assert_eq!(edit.shown().1, "A\nB\n");
        let wanted = json!([{ "old_string": "b\n", "new_string": "B\n", "replace_all": false }]);
        assert_eq!(edit.input_for("a\nB\n").unwrap()["edits"], wanted);
    }

    #[test]
    fn what_a_tool_says_to_have_written_is_known() {
        let after = |name: &str, response: Value| {
            let event = json!({ "hook_event_name": "PostToolUse", "tool_name": name,
                                "tool_input": {}, "tool_response": response });
            Event::parse(event.to_string().as_bytes()).unwrap()
        };
        let edit = json!({ "oldString": "a", "newString": "b", "originalFile": "a\na\n",
                           "replaceAll": true });
        let written = |tool, response| written(tool, &after("", response));
        assert_eq!(written(Tool::ClaudeEdit, edit).as_deref(), Some("b\nb\n"));
        let new = json!({ "oldString": "", "newString": "b\n", "originalFile": null });
        assert_eq!(written(Tool::ClaudeEdit, new).as_deref(), Some("b\n"));
        let write = json!({ "content": "c\n" });
        assert_eq!(written(Tool::ClaudeWrite, write).as_deref(), Some("c\n"));
        let gemini = json!({ "returnDisplay": { "newContent": "d\n" } });
        assert_eq!(written(Tool::GeminiReplace, gemini).as_deref(), Some("d\n"));
        for (tool, response) in [
            (
                Tool::ClaudeEdit,
                json!({ "oldString": "a", "newString": "b" }),
            ),
            (Tool::ClaudeEdit, Value::Null),
            (Tool::GeminiWrite, json!({ "returnDisplay": "text" })),
            (
                Tool::CodexPatch,
                json!("Success. Updated the following files:\nM a\n"),
            ),
        ] {
            assert_eq!(written(tool, response), None);
        }
    }

    #[test]
    fn what_a_tool_cannot_write_has_no_input() {
        let file = File::new("mixed", b"a\r\nb\nc\n");
        // Claude Code would write LF everywhere; without that, it cannot.
        let input = json!({ "old_string": "c", "new_string": "C" });
        let edit = edit(Tool::ClaudeEdit, &file.0, input).unwrap();
        assert_eq!(
            edit.shown(),
            (Some("a\r\nb\nc\n".into()), "a\nb\nC\n".into())
        );
        assert!(edit.input_for("a\r\nb\nC\n").is_none());
        assert!(edit.input_for("a\nb\nc\n").is_some());
    }

    #[test]
    fn gemini_gets_inputs_of_its_own() {
        let file = File::new("gemini", b"a\nb\na\n");
        let input = json!({ "old_string": "a", "new_string": "c", "allow_multiple": true });
        let replace = edit(Tool::GeminiReplace, &file.0, input).unwrap();
        assert_eq!(replace.shown().1, "c\nb\nc\n");
        let first = replace.input_for("c\nb\na\n").unwrap();
        assert_eq!(first["old_string"], "a\nb\n");
        assert_eq!(first["allow_multiple"], false);
        let write = edit(Tool::GeminiWrite, &file.0, json!({ "content": "x\n" })).unwrap();
        assert_eq!(write.input_for("y\n").unwrap()["content"], "y\n");
    }

    #[test]
    fn a_name_that_may_mean_another_file_is_refused() {
        let call = |tool, path: &str| {
            let event = json!({ "hook_event_name": "PreToolUse", "tool_name": "", "cwd": "/nowhere",
                                "tool_input": { "file_path": path, "content": "x" } });
            Edit::of(tool, &Event::parse(event.to_string().as_bytes()).unwrap())
        };
        for path in [
            "link/../f",
            "/nowhere/../f",
            "./f",
            "/nowhere/./f",
            "~/f",
            "@f",
        ] {
            let error = call(Tool::GeminiWrite, path).unwrap_err();
            assert!(error.contains("absolute name"), "{path}: {error}");
        }
        // A relative name becomes whole, also if all was accepted.
        let edit = call(Tool::GeminiWrite, "d/f").unwrap();
        let Some(Verdict::Change(input)) = edit.input_as_called() else {
            panic!("its name is not made whole");
        };
        assert_eq!(input["file_path"], "/nowhere/d/f");
        let edit = call(Tool::ClaudeWrite, "/nowhere/f").unwrap();
        assert!(matches!(edit.input_as_called(), Some(Verdict::Allow)));
    }

    #[test]
    fn a_file_that_has_changed_is_noticed() {
        let file = File::new("current", b"a\n");
        let edit = edit(Tool::ClaudeWrite, &file.0, json!({ "content": "b\n" })).unwrap();
        assert!(edit.is_current());
        fs::write(&file.0, "c\n").unwrap();
        assert!(!edit.is_current());
        fs::remove_file(&file.0).unwrap();
        assert!(!edit.is_current());
    }

    #[test]
    fn codex_gets_another_patch() {
        let file = File::new("codex", b"a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n");
        let patch = format!(
            "*** Begin Patch\n*** Update File: {}\n@@\n-b\n+B\n@@\n-i\n+I\n*** End Patch\n",
            file.0.display()
        );
        let call = event("apply_patch", &file.0, json!({ "command": patch }));
        let Ok(Plan::Edit(edit)) = plan(Tool::CodexPatch, &call) else {
            panic!("it is no edit");
        };
        assert_eq!(edit.path, file.0);
        assert_eq!(edit.shown().1, "a\nB\nc\nd\ne\nf\ng\nh\nI\nj\n");
        let input = edit.input_for("a\nb\nc\nd\ne\nf\ng\nh\nI\nj\n").unwrap();
        let command = input["command"].as_str().unwrap();
        assert!(
            command.contains("-i\n+I\n") && !command.contains("+B"),
            "{command}"
        );
    }

    #[test]
    fn opencode_gets_patches_that_it_is_known_to_apply() {
        let call = |file: &File, patch: &str| {
            let name = file.0.display();
            let patch = format!("*** Begin Patch\n*** Update File: {name}\n{patch}*** End Patch");
            let mut call = event("apply_patch", &file.0, json!({}));
            call.input = json!({ "patchText": patch }).as_object().unwrap().clone();
            let Ok(Plan::Edit(edit)) = plan(Tool::OpencodePatch, &call) else {
                panic!("it is no edit");
            };
            edit
        };
        let file = File::new("opencode-patch", b"a\nb\nc\n");
        // opencode does not read the lines before the first "@@".
        let edit = call(&file, "-a\n+A\n@@\n-c\n+C\n");
        assert_eq!(edit.shown().1, "A\nb\nC\n");
        let Some(Verdict::Change(input)) = edit.input_as_called() else {
            panic!("opencode would leave something else");
        };
        let wanted = "@@\n-a\n+A\n b\n-c\n+C\n";
        assert!(
            input["patchText"].as_str().unwrap().contains(wanted),
            "{input:?}"
        );
        assert!(edit.input_for("a\nb\nC\n").is_some());
        assert!(edit.input_for("a\nb\n\n").is_none());
        let file = File::new("opencode-crlf", b"a\r\nb\r\n");
        let edit = call(&file, "@@\n-a\n+A\n");
        assert!(edit.input_as_called().is_none() && edit.input_for("A\nb\n").is_none());
    }

    #[test]
    fn a_part_of_what_codex_writes_has_no_byte_order_mark_either() {
        let file = File::new("codex-mark", b"\xef\xbb\xbfa\nb\n");
        let patch = format!(
            "*** Begin Patch\n*** Add File: {}\n+A\n+B\n*** End Patch\n",
            file.0.display()
        );
        let call = event("apply_patch", &file.0, json!({ "command": patch }));
        let edit = Edit::of(Tool::CodexPatch, &call).unwrap();
        assert_eq!(edit.encoding_after(), "utf-8");
        let input = edit.input_for("A\nb\n").unwrap();
        let made = made(Tool::CodexPatch, edit.before.as_ref(), &input).unwrap();
        assert_eq!(made.bytes(), b"A\nb\n");
    }

    #[test]
    fn an_edit_that_cannot_add_the_byte_order_mark_is_left_to_emacs() {
        let file = File::new("mark", b"a\nb\n");
        let call = event(
            "edit",
            &file.0,
            json!({ "oldString": "a\nb", "newString": "\u{feff}A\nB" }),
        );
        let edit = Edit::of(Tool::OpencodeEdit, &call).unwrap();
        assert_eq!(edit.encoding_after(), "utf-8 with BOM");
        assert!(edit.input_for("A\nb\n").is_none());
    }

    #[test]
    fn codex_patches_of_more_than_text_are_no_edits() {
        let patch = "*** Begin Patch\n*** Delete File: f\n*** End Patch";
        let call = |command: &str| {
            let event = json!({ "hook_event_name": "PreToolUse", "tool_name": "", "cwd": "/d",
                                "tool_input": { "command": command } });
            Event::parse(event.to_string().as_bytes()).unwrap()
        };
        let is_patch = |tool, command: &str| matches!(plan(tool, &call(command)), Ok(Plan::Patch(edit)) if edit.text == patch.replace(": f", ": /d/f"));
        assert!(is_patch(Tool::CodexPatch, patch));
        assert!(is_patch(
            Tool::CodexShell,
            &format!("apply_patch <<'E'\n{patch}\nE\n")
        ));
        assert!(matches!(
            plan(Tool::CodexShell, &call("ls")),
            Ok(Plan::Nothing)
        ));
        for command in [
            "",
            "*** Begin Patch\n*** End Patch",
            "*** Begin Patch\nx\n*** End Patch",
        ] {
            assert!(plan(Tool::CodexPatch, &call(command)).is_err(), "{command}");
        }
        assert!(plan(Tool::CodexShell, &call(&format!("{patch} && ls"))).is_err());
    }

    #[test]
    fn unknown_inputs_and_files_are_refused() {
        let file = File::new("refused", b"a\n");
        let folder = std::env::temp_dir();
        let cases: &[(Tool, &Path, Value, &str)] = &[
            (Tool::ClaudeEdit, &file.0, json!({}), "no string old_string"),
            (
                Tool::ClaudeEdit,
                &file.0,
                json!({ "old_string": 1 }),
                "no string old_string",
            ),
            (Tool::ClaudeWrite, &file.0, json!({}), "no string content"),
            (
                Tool::ClaudeMultiEdit,
                &file.0,
                json!({ "edits": "" }),
                "no array edits",
            ),
            (
                Tool::ClaudeMultiEdit,
                &file.0,
                json!({ "edits": [1] }),
                "one of its edits is no object",
            ),
            (
                Tool::ClaudeEdit,
                &file.0,
                json!({ "old_string": "a", "new_string": "b", "replace_all": "yes" }),
                "replace_all in its input is neither",
            ),
            (
                Tool::ClaudeEdit,
                &file.0,
                json!({ "old_string": "z", "new_string": "b" }),
                "does not have the old string",
            ),
            (
                Tool::ClaudeWrite,
                &folder,
                json!({ "content": "" }),
                "not a regular file",
            ),
        ];
        for (tool, path, input, reason) in cases {
            let error = edit(*tool, path, input.clone()).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
        let no_path = json!({ "hook_event_name": "PreToolUse", "tool_name": "Edit",
                              "tool_input": {} });
        let no_path = Event::parse(no_path.to_string().as_bytes()).unwrap();
        assert!(Edit::of(Tool::ClaudeEdit, &no_path).is_err());
    }

    #[test]
    fn a_tool_that_is_not_known_gets_no_other_input() {
        let file = File::new("other", b"a\nb\na\n");
        let call = json!({ "edits": [
            { "old": "b\n", "new": "B\n" },
            { "old": "a", "new": "A", "replace_all": true },
        ]});
        let other = edit(Tool::OtherEdit, &file.0, call).unwrap();
        assert_eq!(other.shown().1, "A\nB\nA\n");
        assert!(other.is_rewritable() && other.input_for("a\nB\na\n").is_none());
        assert!(matches!(other.input_as_called(), Some(Verdict::Allow)));
        let append = json!({ "content": "c\n", "mode": "append" });
        let append = edit(Tool::OtherWrite, &file.0, append).unwrap();
        assert_eq!(append.shown().1, "a\nb\na\nc\n");
        for (input, reason) in [
            (
                json!({ "old": "a", "new": "A" }),
                "has the old string 2 times",
            ),
            (
                json!({ "old": "x", "new": "A" }),
                "does not have the old string",
            ),
            (
                json!({ "edits": [{ "path": "/g", "old": "a", "new": "A" }] }),
                "several files",
            ),
        ] {
            let error = edit(Tool::OtherEdit, &file.0, input).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
        let mode = json!({ "content": "", "mode": "backwards" });
        assert!(edit(Tool::OtherWrite, &file.0, mode).is_err());
        assert!(edit(Tool::OtherUnknown, &file.0, json!({})).is_err());
    }

    #[test]
    fn opencode_gets_inputs_of_its_own() {
        let file = File::new("opencode", b"a\nb\na\n");
        let path = file.0.to_str().unwrap();
        let call = |tool: &str, input: Value| {
            let event = json!({ "hook_event_name": "tool.execute.before", "tool_name": tool,
                                "tool_input": input, "cwd": "/" });
            Event::parse(event.to_string().as_bytes()).unwrap()
        };
        let input = json!({ "filePath": path, "oldString": "a", "newString": "$&",
                            "replaceAll": true });
        let edit = Edit::of(Tool::OpencodeEdit, &call("edit", input)).unwrap();
        assert_eq!(edit.shown().1, "$&\nb\n$&\n");
        let wanted = json!({ "filePath": path, "oldString": "a\nb\n", "newString": "$&\nb\n",
                             "replaceAll": false });
        let first = edit.input_for("$&\nb\na\n").map(Value::Object);
        assert_eq!(first, Some(wanted));
        // What is accepted must not be taken for a pattern.
        let Some(Verdict::Change(input)) = edit.input_as_called() else {
            panic!("opencode would put in what was there");
        };
        assert_eq!(input["replaceAll"], false);
        let write = call("write", json!({ "filePath": path, "content": "x\n" }));
        let write = Edit::of(Tool::OpencodeWrite, &write).unwrap();
        assert!(matches!(write.input_as_called(), Some(Verdict::Allow)));
        assert_eq!(write.input_for("y\n").unwrap()["content"], "y\n");
        let patch = "*** Begin Patch\n*** Delete File: f\n*** End Patch";
        let patch = call("apply_patch", json!({ "patchText": patch }));
        assert!(matches!(
            plan(Tool::OpencodePatch, &patch),
            Ok(Plan::Patch(_))
        ));
    }
}
