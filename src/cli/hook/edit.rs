//! The text that an agent's tool would leave, and the input that leaves another.

use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use agent_q_diff_engine::inputs::file_text::{Encoding, FileText};
use agent_q_diff_engine::inputs::strings::Replacement;
use agent_q_diff_engine::inputs::{claude, codex, gemini};
use agent_q_diff_engine::patch::codex::{Action, parse, updated};
use rmcp::model::JsonObject;
use serde_json::{Value, json};

use super::event::Event;
use super::reply::Verdict;
use super::{notebook, patch};
use crate::options::Client;

/// A tool with which an agent edits a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// Claude Code's `Edit`: replaces a string.
    ClaudeEdit,
    /// `MultiEdit` of earlier versions of Claude Code: replaces several strings.
    ClaudeMultiEdit,
    /// Claude Code's `Write`: writes a whole file.
    ClaudeWrite,
    /// Claude Code's `NotebookEdit`: changes a cell of a notebook.
    ClaudeNotebookEdit,
    /// Codex's `apply_patch`: applies a patch.
    CodexPatch,
    /// Codex's shell, whose command may apply a patch.
    CodexShell,
    /// Gemini CLI's `replace`: replaces a string.
    GeminiReplace,
    /// Gemini CLI's `write_file`: writes a whole file.
    GeminiWrite,
}

/// Returns the tool called `name` of `client`, or `None` if it edits no file.
pub fn tool_of(client: Client, name: &str) -> Option<Tool> {
    match (client, name) {
        (Client::Claude, "Edit") => Some(Tool::ClaudeEdit),
        (Client::Claude, "MultiEdit") => Some(Tool::ClaudeMultiEdit),
        (Client::Claude, "NotebookEdit") => Some(Tool::ClaudeNotebookEdit),
        (Client::Claude, "Write") => Some(Tool::ClaudeWrite),
        (Client::Codex, "apply_patch") => Some(Tool::CodexPatch),
        (Client::Codex, "Bash" | "shell") => Some(Tool::CodexShell),
        (Client::Gemini, "replace") => Some(Tool::GeminiReplace),
        (Client::Gemini, "write_file") => Some(Tool::GeminiWrite),
        _ => None,
    }
}

/// What a tool is about to do.
#[derive(Debug)]
pub enum Plan {
    /// It changes no file that it names.
    Nothing,
    /// It changes the text of a file.
    Edit(Box<Edit>),
    /// It applies a patch in Codex's format, of several files or of more than text.
    Patch(String),
}

/// Returns what `tool` is about to do, by `event`.
///
/// # Errors
///
/// A sentence, without its full stop, about why it cannot be known.
pub fn plan(tool: Tool, event: &Event) -> Result<Plan, String> {
    let text = match tool {
        Tool::CodexPatch => Some(patch::command_in(&event.input)?),
        Tool::CodexShell => match patch::patch_in_shell(patch::command_in(&event.input)?)? {
            None => return Ok(Plan::Nothing),
            some => some,
        },
        _ => None,
    };
    if let Some(text) = text {
        let files = parse(text).map_err(|error| error.to_string())?;
        if tool == Tool::CodexShell || patch::only_text(&files).is_none() {
            return Ok(Plan::Patch(text.to_owned()));
        }
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
        let path = path_of(event).ok_or("its input has no file_path")?;
        check_name(tool, event, &path)?;
        let before = read(&path)?;
        let is_utf_16 = matches!(&before, Some(file) if file.encoding == Encoding::Utf16Le);
        if is_utf_16 && matches!(tool, Tool::GeminiReplace | Tool::GeminiWrite) {
            return Err("the file is UTF-16, and the tool would write it as UTF-8".to_owned());
        }
        let base = before.as_ref();
        let after = match tool {
            Tool::ClaudeEdit => claude::edited(base, &[replacement(input, "replace_all")?]),
            Tool::ClaudeMultiEdit => claude::edited(base, &replacements(input)?),
            Tool::ClaudeWrite => Ok(claude::written(base, text(input, "content")?)),
            Tool::ClaudeNotebookEdit => {
                let base = base.ok_or("there is no such notebook")?;
                Ok(base.with_text(notebook::edited(&base.text, input)?))
            }
            Tool::CodexPatch | Tool::CodexShell => Ok(patched(base, input)?),
            Tool::GeminiReplace => gemini::replaced(base, &replacement(input, "allow_multiple")?),
            Tool::GeminiWrite => Ok(gemini::written(base, text(input, "content")?)),
        };
        Ok(Self {
            after: after.map_err(|error| error.to_string())?,
            path,
            tool,
            input: input.clone(),
            before,
        })
    }

    /// Returns the texts that the user compares: before, if there is a file, and after. If all lines
    /// of both end with CRLF, they are shown without CR.
    pub fn shown(&self) -> (Option<Cow<'_, str>>, Cow<'_, str>) {
        match &self.before {
            Some(before) if self.is_all_crlf() => {
                (Some(with_lf(&before.text)), with_lf(&self.after.text))
            }
            before => {
                let before = before.as_ref().map(|before| before.text.as_str().into());
                (before, self.after.text.as_str().into())
            }
        }
    }

    /// Returns how the file will be encoded.
    pub fn encoding_after(&self) -> &'static str {
        encoding_name(&self.after)
    }

    /// Returns the verdict that lets the tool leave what it was called for, with `input`. A name that
    /// the tool would look for is made whole.
    pub fn input_as_called(&self, input: &JsonObject) -> Verdict {
        let path = input.get("file_path").and_then(Value::as_str);
        match (self.path.to_str(), path) {
            (Some(whole), Some(path)) if whole != path => {
                let mut input = input.clone();
                input.insert("file_path".to_owned(), whole.into());
                Verdict::Change(input)
            }
            _ => Verdict::Allow,
        }
    }

    /// Returns whether the file is still as it was.
    pub fn is_current(&self) -> bool {
        read(&self.path).is_ok_and(|now| now == self.before)
    }

    /// Returns whether the tool can be made to leave another text.
    pub fn is_rewritable(&self) -> bool {
        self.tool != Tool::ClaudeNotebookEdit
    }

    /// Returns the input that makes the tool leave `decided`, a text like those of [`Self::shown`],
    /// or `None` if there is none.
    pub fn input_for(&self, decided: &str) -> Option<JsonObject> {
        let decided = match self.is_all_crlf() {
            true => decided.replace('\n', "\r\n"),
            false => decided.to_owned(),
        };
        let base = self.before.as_ref();
        let mut input = self.input.clone();
        if input.contains_key("file_path") {
            input.insert("file_path".to_owned(), self.path.to_str()?.into());
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
                input.insert("edits".to_owned(), json!([only]));
            }
            Tool::ClaudeWrite => {
                let had_mark = base.is_some_and(|base| base.encoding == Encoding::Utf8WithBom);
                let has_mark = self.after.encoding == Encoding::Utf8WithBom;
                let mark = if has_mark && !had_mark {
                    "\u{feff}"
                } else {
                    ""
                };
                input.insert("content".to_owned(), format!("{mark}{decided}").into());
            }
            // See the module `notebook`. A shell command is never run.
            Tool::ClaudeNotebookEdit | Tool::CodexShell => return None,
            Tool::CodexPatch => {
                let path = patch::first_path(patch::command_in(&self.input).ok()?)?;
                let patch = codex::patch_to(path, base, &decided)?;
                input.insert("command".to_owned(), patch.into());
            }
            Tool::GeminiReplace => {
                let edit = gemini::replace_to(base, &decided)?;
                put(&mut input, &edit, "allow_multiple");
            }
            Tool::GeminiWrite => {
                let made = gemini::written(base, &decided);
                (made.text == decided)
                    .then(|| input.insert("content".to_owned(), decided.into()))?;
            }
        }
        Some(input)
    }

    /// Returns whether all lines, before and after, end with CRLF.
    pub fn is_all_crlf(&self) -> bool {
        let is_crlf = |text: &str| {
            text.contains('\n')
                && text
                    .split_inclusive('\n')
                    .all(|line| line.ends_with("\r\n") || !line.ends_with('\n'))
        };
        let before = self.before.as_ref();
        before.is_some_and(|before| is_crlf(&before.text)) && is_crlf(&self.after.text)
    }
}

/// Returns `text` without CR before LF.
fn with_lf(text: &str) -> Cow<'_, str> {
    text.replace("\r\n", "\n").into()
}

/// Returns what `file`'s encoding is called.
pub fn encoding_name(file: &FileText) -> &'static str {
    match file.encoding {
        Encoding::Utf8 => "utf-8",
        Encoding::Utf8WithBom => "utf-8 with BOM",
        Encoding::Utf16Le => "utf-16le",
    }
}

/// Returns the absolute name of the file that `event` is about.
pub fn path_of(event: &Event) -> Option<PathBuf> {
    let keys = ["file_path", "notebook_path"];
    let path = keys.iter().find_map(|key| event.input.get(*key)?.as_str());
    let path = path.or_else(|| patch::first_path(patch::command_in(&event.input).ok()?))?;
    Some(event.absolute(path))
}

/// Checks that `tool` and Emacs mean the same file by the name that `event` gives it.
fn check_name(tool: Tool, event: &Event, path: &Path) -> Result<(), String> {
    let is_gemini = matches!(tool, Tool::GeminiReplace | Tool::GeminiWrite);
    let given = ["file_path", "notebook_path"];
    let given = given.iter().find_map(|key| event.input.get(*key)?.as_str());
    // Gemini CLI takes an @ off the beginning.
    if given.is_some_and(|name| name.starts_with('~') || is_gemini && name.starts_with('@')) {
        return Err("give the file's absolute name".to_owned());
    }
    let is_plain = |part: Component<'_>| !matches!(part, Component::ParentDir | Component::CurDir);
    if !path.components().all(is_plain)
        || path
            .as_os_str()
            .as_encoded_bytes()
            .windows(3)
            .any(|part| part == b"/./")
    {
        return Err("give the file's absolute name, without . or .. in it".to_owned());
    }
    Ok(())
}

/// Returns the text of the file `path`, or `None` if there is no such file.
///
/// # Errors
///
/// A sentence, without its full stop, about why it cannot be read.
pub fn read(path: &Path) -> Result<Option<FileText>, String> {
    let unreadable = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(&error)),
        // To open a FIFO would wait for its writer.
        Ok(metadata) if !metadata.is_file() => Err(unreadable(&"it is not a regular file")),
        Ok(_) => {
            let bytes = fs::read(path).map_err(|error| unreadable(&error))?;
            FileText::read(&bytes)
                .map(Some)
                .map_err(|error| error.to_string())
        }
    }
}

/// Returns what the patch in `input`, which changes the text of one file, makes of `base`.
fn patched(base: Option<&FileText>, input: &JsonObject) -> Result<FileText, String> {
    let files = parse(patch::command_in(input)?).map_err(|error| error.to_string())?;
    let bytes = match (patch::only_text(&files).map(|file| &file.action), base) {
        (Some(Action::Add { text }), _) => text.clone().into_bytes(),
        (Some(Action::Update { chunks, .. }), Some(base)) => {
            updated(&base.bytes(), chunks).map_err(|error| error.to_string())?
        }
        _ => return Err("there is no such file".to_owned()),
    };
    FileText::read(&bytes).map_err(|error| error.to_string())
}

/// Returns the argument `key` of `input`, a string.
fn text<'a>(input: &'a JsonObject, key: &str) -> Result<&'a str, String> {
    let value = input.get(key).and_then(Value::as_str);
    value.ok_or_else(|| format!("its input has no string {key}"))
}

/// Returns the replacement that `input` asks for; `all_key` is what says that it is everywhere.
fn replacement(input: &JsonObject, all_key: &str) -> Result<Replacement, String> {
    Ok(Replacement {
        old: text(input, "old_string")?.to_owned(),
        new: text(input, "new_string")?.to_owned(),
        is_all: match input.get(all_key) {
            None | Some(Value::Null) => false,
            Some(Value::Bool(is_all)) => *is_all,
            Some(_) => return Err(format!("{all_key} in its input is neither true nor false")),
        },
    })
}

/// Returns the replacements that `input`, of `MultiEdit`, asks for.
fn replacements(input: &JsonObject) -> Result<Vec<Replacement>, String> {
    let edits = input.get("edits").and_then(Value::as_array);
    let edits = edits.ok_or("its input has no array edits")?;
    let edits = edits.iter().map(|edit| {
        let edit = edit.as_object().ok_or("an element of edits is no object")?;
        replacement(edit, "replace_all")
    });
    edits.collect()
}

/// Puts `edit` into `input`.
fn put(input: &mut JsonObject, edit: &Replacement, all_key: &str) {
    input.insert("old_string".to_owned(), edit.old.clone().into());
    input.insert("new_string".to_owned(), edit.new.clone().into());
    input.insert(all_key.to_owned(), edit.is_all.into());
}

#[cfg(test)]
mod tests {
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
        let Verdict::Change(input) = edit.input_as_called(&edit.input) else {
            panic!("its name is not made whole");
        };
        assert_eq!(input["file_path"], "/nowhere/d/f");
        let edit = call(Tool::ClaudeWrite, "/nowhere/f").unwrap();
        assert!(matches!(edit.input_as_called(&edit.input), Verdict::Allow));
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
    fn codex_patches_of_more_are_left_to_emacs() {
        let patch = "*** Begin Patch\n*** Delete File: f\n*** End Patch";
        let call = |command: &str| {
            let event = json!({ "hook_event_name": "PreToolUse", "tool_name": "",
                                "tool_input": { "command": command } });
            Event::parse(event.to_string().as_bytes()).unwrap()
        };
        let is_patch = |tool, command: &str| matches!(plan(tool, &call(command)), Ok(Plan::Patch(text)) if text == patch);
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
                json!({ "edits": {} }),
                "no array edits",
            ),
            (
                Tool::ClaudeMultiEdit,
                &file.0,
                json!({ "edits": [1] }),
                "is no object",
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
    fn only_tools_that_edit_files_are_known() {
        assert_eq!(tool_of(Client::Claude, "Edit"), Some(Tool::ClaudeEdit));
        assert_eq!(tool_of(Client::Claude, "Read"), None);
        assert_eq!(tool_of(Client::Gemini, "Edit"), None);
    }
}
