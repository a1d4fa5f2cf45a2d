//! The text that an agent's tool would leave, and the input that leaves another.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use agent_q_diff_engine::inputs::{Encoding, FileText};
use agent_q_diff_engine::patch::codex::{Action, parse};
use rmcp::model::JsonObject;

use super::event::Event;
use super::file;
use super::several::PatchEdit;
use crate::agents::fields::Field;
use crate::agents::{Kind, Tool, Verdict, patch};

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
pub fn plan(tool: &'static Tool, event: &Event) -> Result<Plan, String> {
    if let Some(text) = tool.patch(&event.input)? {
        let files = parse(text).map_err(|error| error.to_string())?;
        if tool.is_run_by_emacs || patch::only_text(&files).is_none() {
            return Ok(Plan::Patch(Box::new(PatchEdit::of(
                tool, event, text, &files,
            ))));
        }
    } else if tool.kind == Kind::Shell {
        return Ok(Plan::Nothing);
    }
    Edit::of(tool, event).map(|edit| Plan::Edit(Box::new(edit)))
}

/// What a tool is about to make of a file.
#[derive(Debug)]
pub struct Edit {
    /// The file's absolute name.
    pub path: PathBuf,
    tool: &'static Tool,
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
    pub fn of(tool: &'static Tool, event: &Event) -> Result<Self, String> {
        let input = &event.input;
        let path = path_of(tool, event)?;
        check_name(tool, event, &path)?;
        let before = file::read(&path)?;
        let is_utf_16 = matches!(&before, Some(file) if file.encoding == Encoding::Utf16Le);
        if is_utf_16 && !tool.keeps_utf_16 {
            return Err("the file is UTF-16, and the tool would write it as UTF-8".to_owned());
        }
        let after = (tool.made)(before.as_ref(), input)?;
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
        if (self.tool.is_misread)(&self.input) {
            return self.input_for(&self.shown().1).map(Verdict::Change);
        }
        match (self.path.to_str(), Field::Path.text(&self.input)) {
            (Some(whole), Ok(path)) if whole != path && self.tool.takes_input => {
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
        self.tool.is_rewritable
    }

    /// Returns the input that makes the tool leave `decided`, a text like those of [`Self::shown`],
    /// or `None` if there is none.
    pub fn input_for(&self, decided: &str) -> Option<JsonObject> {
        let base = self.before.as_ref();
        let decided = file::with_line_ends(base, &self.after, decided);
        let is_patch = self.tool.kind == Kind::Patch;
        let mut input = self.input.clone();
        if !is_patch && Field::Path.is_text_in(&input) {
            Field::Path.put(&mut input, self.path.to_str()?.into(), "file_path");
        }
        let wanted = self.after.with_text(decided);
        if is_patch && !(self.tool.can_patch)(base, Some(&wanted)) {
            return None;
        }
        (self.tool.rewrite)(&mut input, base, &wanted)?;
        // The mark at the beginning counts, too.
        ((self.tool.made)(base, &input).ok()? == wanted).then_some(input)
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
pub fn path_of(tool: &Tool, event: &Event) -> Result<PathBuf, String> {
    let path = Field::Path.text(&event.input);
    let path = path.or_else(|error| {
        let patch = tool.patch(&event.input).ok().flatten();
        patch.and_then(patch::first_path).ok_or(error)
    })?;
    Ok(event.absolute(path))
}

/// Returns the absolute names of the files that `tool` is about to change, by `event`. There are none
/// if it is not known which.
pub fn files(tool: &Tool, event: &Event) -> Vec<PathBuf> {
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

/// Checks that `tool` and Emacs mean the same file by the name that `event` gives it.
fn check_name(tool: &Tool, event: &Event, path: &Path) -> Result<(), String> {
    let given = Field::Path.text(&event.input);
    if given.is_ok_and(|name| name.starts_with('~') || name.starts_with(tool.prefixes)) {
        return Err("give the file's absolute name".to_owned());
    }
    file::check_spelling(path)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::{Value, json};

    use super::*;
    use crate::agents::{claude, codex, gemini, opencode, other};

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

    fn edit(tool: &'static Tool, path: &Path, input: Value) -> Result<Edit, String> {
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
        assert_eq!(files(&codex::PATCH, json!({ "command": patch })), names);
        let command = format!("apply_patch <<'EOT'\n{patch}\nEOT\n");
        assert_eq!(files(&codex::SHELL, json!({ "command": command })), names);
        let edit = json!({ "filePath": "f", "oldString": "a", "newString": "b" });
        assert_eq!(files(&opencode::EDIT, edit), ["/d/f"].map(PathBuf::from));
        for (tool, input) in [
            (&codex::SHELL, json!({ "command": "ls" })),
            (&codex::PATCH, json!({ "command": "no patch" })),
            (&opencode::EDIT, json!({ "oldString": "a" })),
        ] {
            assert_eq!(files(tool, input), [] as [PathBuf; 0]);
        }
    }

    #[test]
    fn an_edit_is_shown_and_rewritten() {
        let file = File::new("edit", b"a\nb\nc\nd\n");
        let input = json!({ "old_string": "a\nb\nc\nd\n", "new_string": "A\nb\nC\nd\n" });
        let edit = edit(&claude::EDIT, &file.0, input).unwrap();
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
        let claude = edit(&claude::EDIT, &file.0, input.clone()).unwrap();
        assert_eq!(claude.shown(), (Some("a\nb\n".into()), "a\nB\nC\n".into()));
        let only_c = claude.input_for("a\nb\nC\n").unwrap();
        assert_eq!(only_c["old_string"], "b\n");
        assert_eq!(only_c["new_string"], "b\nC\n");
        assert_eq!(only_c["replace_all"], false);
        // A tool that writes the whole file gets the line ends.
        let write = json!({ "content": "a\r\nB\r\nC\r\n" });
        let write = edit(&claude::WRITE, &file.0, write).unwrap();
        assert_eq!(write.input_for("a\nB\n").unwrap()["content"], "a\r\nB\r\n");
        // If they change, they are part of what is decided.
        let write = edit(&claude::WRITE, &file.0, json!({ "content": "a\nb\n" })).unwrap();
        assert_eq!(write.shown(), (Some("a\r\nb\r\n".into()), "a\nb\n".into()));
    }

    #[test]
    fn several_edits_become_one() {
        let file = File::new("multi", b"a\nb\n");
        let edits = json!({ "edits": [
            { "old_string": "a", "new_string": "A" },
            { "old_string": "b", "new_string": "B", "replace_all": true },
        ]});
        let edit = edit(&claude::MULTI_EDIT, &file.0, edits).unwrap();
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
        let written = |tool: &Tool, response| (tool.written)(&after("", response).response);
        assert_eq!(written(&claude::EDIT, edit).as_deref(), Some("b\nb\n"));
        let new = json!({ "oldString": "", "newString": "b\n", "originalFile": null });
        assert_eq!(written(&claude::EDIT, new).as_deref(), Some("b\n"));
        let write = json!({ "content": "c\n" });
        assert_eq!(written(&claude::WRITE, write).as_deref(), Some("c\n"));
        let gemini = json!({ "returnDisplay": { "newContent": "d\n" } });
        assert_eq!(written(&gemini::REPLACE, gemini).as_deref(), Some("d\n"));
        for (tool, response) in [
            (&claude::EDIT, json!({ "oldString": "a", "newString": "b" })),
            (&claude::EDIT, Value::Null),
            (&gemini::WRITE, json!({ "returnDisplay": "text" })),
            (
                &codex::PATCH,
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
        let edit = edit(&claude::EDIT, &file.0, input).unwrap();
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
        let replace = edit(&gemini::REPLACE, &file.0, input).unwrap();
        assert_eq!(replace.shown().1, "c\nb\nc\n");
        let first = replace.input_for("c\nb\na\n").unwrap();
        assert_eq!(first["old_string"], "a\nb\n");
        assert_eq!(first["allow_multiple"], false);
        let write = edit(&gemini::WRITE, &file.0, json!({ "content": "x\n" })).unwrap();
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
            let error = call(&gemini::WRITE, path).unwrap_err();
            assert!(error.contains("absolute name"), "{path}: {error}");
        }
        // A relative name becomes whole, also if all was accepted.
        let edit = call(&gemini::WRITE, "d/f").unwrap();
        let Some(Verdict::Change(input)) = edit.input_as_called() else {
            panic!("its name is not made whole");
        };
        assert_eq!(input["file_path"], "/nowhere/d/f");
        let edit = call(&claude::WRITE, "/nowhere/f").unwrap();
        assert!(matches!(edit.input_as_called(), Some(Verdict::Allow)));
    }

    #[test]
    fn a_file_that_has_changed_is_noticed() {
        let file = File::new("current", b"a\n");
        let edit = edit(&claude::WRITE, &file.0, json!({ "content": "b\n" })).unwrap();
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
        let Ok(Plan::Edit(edit)) = plan(&codex::PATCH, &call) else {
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
            let Ok(Plan::Edit(edit)) = plan(&opencode::PATCH, &call) else {
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
        let edit = Edit::of(&codex::PATCH, &call).unwrap();
        assert_eq!(edit.encoding_after(), "utf-8");
        let input = edit.input_for("A\nb\n").unwrap();
        let made = (codex::PATCH.made)(edit.before.as_ref(), &input).unwrap();
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
        let edit = Edit::of(&opencode::EDIT, &call).unwrap();
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
        assert!(is_patch(&codex::PATCH, patch));
        assert!(is_patch(
            &codex::SHELL,
            &format!("apply_patch <<'E'\n{patch}\nE\n")
        ));
        assert!(matches!(
            plan(&codex::SHELL, &call("ls")),
            Ok(Plan::Nothing)
        ));
        for command in [
            "",
            "*** Begin Patch\n*** End Patch",
            "*** Begin Patch\nx\n*** End Patch",
        ] {
            assert!(plan(&codex::PATCH, &call(command)).is_err(), "{command}");
        }
        assert!(plan(&codex::SHELL, &call(&format!("{patch} && ls"))).is_err());
    }

    #[test]
    fn unknown_inputs_and_files_are_refused() {
        let file = File::new("refused", b"a\n");
        let folder = std::env::temp_dir();
        let cases: &[(&'static Tool, &Path, Value, &str)] = &[
            (&claude::EDIT, &file.0, json!({}), "no string old_string"),
            (
                &claude::EDIT,
                &file.0,
                json!({ "old_string": 1 }),
                "no string old_string",
            ),
            (&claude::WRITE, &file.0, json!({}), "no string content"),
            (
                &claude::MULTI_EDIT,
                &file.0,
                json!({ "edits": "" }),
                "no array edits",
            ),
            (
                &claude::MULTI_EDIT,
                &file.0,
                json!({ "edits": [1] }),
                "one of its edits is no object",
            ),
            (
                &claude::EDIT,
                &file.0,
                json!({ "old_string": "a", "new_string": "b", "replace_all": "yes" }),
                "replace_all in its input is neither",
            ),
            (
                &claude::EDIT,
                &file.0,
                json!({ "old_string": "z", "new_string": "b" }),
                "does not have the old string",
            ),
            (
                &claude::WRITE,
                &folder,
                json!({ "content": "" }),
                "not a regular file",
            ),
        ];
        for (tool, path, input, reason) in cases {
            let error = edit(tool, path, input.clone()).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
        let no_path = json!({ "hook_event_name": "PreToolUse", "tool_name": "Edit",
                              "tool_input": {} });
        let no_path = Event::parse(no_path.to_string().as_bytes()).unwrap();
        assert!(Edit::of(&claude::EDIT, &no_path).is_err());
    }

    #[test]
    fn a_tool_that_is_not_known_gets_no_other_input() {
        let file = File::new("other", b"a\nb\na\n");
        let call = json!({ "edits": [
            { "old": "b\n", "new": "B\n" },
            { "old": "a", "new": "A", "replace_all": true },
        ]});
        let other = edit(&other::EDIT, &file.0, call).unwrap();
        assert_eq!(other.shown().1, "A\nB\nA\n");
        assert!(other.is_rewritable() && other.input_for("a\nB\na\n").is_none());
        assert!(matches!(other.input_as_called(), Some(Verdict::Allow)));
        let append = json!({ "content": "c\n", "mode": "append" });
        let append = edit(&other::WRITE, &file.0, append).unwrap();
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
            let error = edit(&other::EDIT, &file.0, input).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
        let mode = json!({ "content": "", "mode": "backwards" });
        assert!(edit(&other::WRITE, &file.0, mode).is_err());
        assert!(edit(&other::UNKNOWN, &file.0, json!({})).is_err());
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
        let edit = Edit::of(&opencode::EDIT, &call("edit", input)).unwrap();
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
        let write = Edit::of(&opencode::WRITE, &write).unwrap();
        assert!(matches!(write.input_as_called(), Some(Verdict::Allow)));
        assert_eq!(write.input_for("y\n").unwrap()["content"], "y\n");
        let patch = "*** Begin Patch\n*** Delete File: f\n*** End Patch";
        let patch = call("apply_patch", json!({ "patchText": patch }));
        assert!(matches!(plan(&opencode::PATCH, &patch), Ok(Plan::Patch(_))));
    }
}
