//! The edit that an agent's tool would make, and the input that makes it write what was decided.

use std::borrow::Cow;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use agent_q_diff_engine::inputs::codex::{FileEdit, patch_of};
use agent_q_diff_engine::inputs::{Encoding, FileText};
use agent_q_diff_engine::patch::codex::{Action, FilePatch, parse, updated, with_paths};
use rmcp::model::JsonObject;
use serde_json::{Value, json};

use super::event::Event;
use super::file;
use crate::agents::fields::Field;
use crate::agents::{Kind, Tool, Verdict, patch};

/// An edit that a tool is about to make.
#[derive(Debug)]
pub struct Edit {
    /// The absolute name of the file, or of the first one of a patch.
    pub path: PathBuf,
    tool: &'static Tool,
    input: JsonObject,
    /// The patch, with absolute names, if it is of several files or of more than text. Otherwise
    /// the text of one file is decided.
    patch: Option<String>,
    /// The files, or `None` if the tool may leave something else: then Emacs has to apply the
    /// patch.
    files: Option<Vec<FileChange>>,
}

/// A file that a tool would change.
#[derive(Debug)]
struct FileChange {
    /// Its name in a patch.
    name: String,
    path: PathBuf,
    /// Its new name in a patch, and as an absolute one.
    moved: Option<(String, PathBuf)>,
    before: Option<FileText>,
    after: Option<FileText>,
}

impl Edit {
    /// Returns the edit that `tool` is about to make, by `event`, or `None` if it names no file
    /// that it changes.
    ///
    /// # Errors
    ///
    /// A sentence, without its period, about why it cannot be known.
    pub fn of(tool: &'static Tool, event: &Event) -> Result<Option<Self>, String> {
        let text = tool.patch(&event.input)?;
        if text.is_none() && tool.kind == Kind::Shell {
            return Ok(None);
        }
        let patches = text.map(parse).transpose();
        let patches = patches.map_err(|error| error.to_string())?;
        let several = patches.filter(|it| tool.is_run_by_emacs || patch::only_text(it).is_none());
        let (path, patch, files) = match (text, several) {
            (Some(text), Some(patches)) => {
                // In Emacs, names can be relative to another directory.
                let text = with_paths(text, |path| event.absolute(path).display().to_string());
                let files = files_of(tool, event, &patches).ok();
                (event.absolute(patches[0].path), Some(text), files)
            }
            _ => {
                let file = FileChange::of_text(tool, event)?;
                (file.path.clone(), None, Some(vec![file]))
            }
        };
        Ok(Some(Self {
            path,
            tool,
            input: event.input.clone(),
            patch,
            files,
        }))
    }

    /// Returns what Emacs is asked to have decided: the name of the call, and its arguments.
    pub fn question(&self) -> (&'static str, Value) {
        let files = self.files.iter().flatten();
        let Some(patch) = &self.patch else {
            let mut arguments = files.map(FileChange::described).next().unwrap_or_default();
            arguments["rewritable"] = self.tool.is_rewritable.into();
            if let Ok(Some((_, description))) = Field::Description.find(&self.input) {
                arguments["description"] = description.clone();
            }
            return ("decide_edit", arguments);
        };
        let mut arguments = json!({
            "diff": patch,
            // The model chooses in which directory it runs, so that does not tell what the project is.
            "shell": self.tool.kind == Kind::Shell,
        });
        if self.files.is_some() {
            arguments["files"] = files.map(FileChange::described_in_patch).collect();
        }
        ("decide_patch", arguments)
    }

    /// Returns the absolute names of all files that the tool would write, and what they would hold; `None`
    /// for one that is to be gone. The outer `None` is an edit of which that is not known, or one in a shell
    /// command, which may do more.
    pub fn files_after(&self) -> Option<Vec<(PathBuf, Option<Vec<u8>>)>> {
        let files = self.files.as_ref()?;
        let is_known = self.tool.kind != Kind::Shell && !self.tool.is_run_by_emacs;
        is_known.then(|| {
            let both = files.iter().flat_map(|file| {
                let text = file.after.as_ref().map(FileText::bytes);
                match &file.moved {
                    Some((_, moved)) => vec![(file.path.clone(), None), (moved.clone(), text)],
                    None => vec![(file.path.clone(), text)],
                }
            });
            both.collect()
        })
    }

    /// Returns whether all files are still as they were.
    pub fn is_current(&self) -> bool {
        self.files.iter().flatten().all(FileChange::is_current)
    }

    /// Returns what the agent reads if they are not.
    pub fn not_current(&self) -> String {
        match self.patch {
            None => format!(
                "Error: {} was changed while the user decided, so your tool was not run. Read the \
                 file, and make your edit anew.",
                self.path.display()
            ),
            Some(_) => "Error: a file of the patch was changed while the user decided, so your \
                        tool was not run, and no file was changed by it. Read the files, and make \
                        your edit anew."
                .to_owned(),
        }
    }

    /// Returns the verdict that lets the tool leave what it was called for, or `None` if there is
    /// none. A name that the tool would look for is made whole.
    pub fn input_as_called(&self) -> Option<Verdict> {
        let files = self.files.as_ref()?;
        if (self.tool.is_misread)(&self.input) {
            let wanted = files.iter().map(|file| (file.after.clone(), true));
            return self
                .input_of(&wanted.collect::<Vec<_>>())
                .map(Verdict::Change);
        }
        match (self.path.to_str(), Field::Path.text(&self.input)) {
            (Some(whole), Ok(path))
                if self.patch.is_none() && whole != path && self.tool.takes_input =>
            {
                let mut input = self.input.clone();
                Field::Path.put(&mut input, whole.into(), "file_path");
                Some(Verdict::Change(input))
            }
            _ => Some(Verdict::Allow),
        }
    }

    /// Returns the input that makes the tool leave what was `decided`, or `None` if there is none.
    /// That is the text, like the one that was shown, or for a patch an object for each file, with
    /// "there", whether there is to be such a file, "renamed", whether it gets its new name, and
    /// "text", if it is to be another than before.
    pub fn input_for(&self, decided: &Value) -> Option<JsonObject> {
        let files = self.files.as_ref()?;
        let only = [json!({ "there": true, "text": decided })];
        let decided = match decided {
            Value::String(_) => &only[..],
            decided => decided.as_array()?,
        };
        let wanted = files.iter().zip(decided).map(|(file, decided)| {
            let is_renamed = decided["renamed"] == true;
            Some((file.decided(decided)?, is_renamed))
        });
        let wanted: Vec<_> = wanted.collect::<Option<_>>()?;
        (wanted.len() == files.len()).then(|| self.input_of(&wanted))?
    }

    /// Returns the input that makes the tool leave what is `wanted` of each file, and whether that
    /// gets its new name, or `None` if there is none.
    fn input_of(&self, wanted: &[(Option<FileText>, bool)]) -> Option<JsonObject> {
        let files = self.files.as_ref()?;
        let mut input = self.input.clone();
        if let (Kind::Text, [file], [(Some(wanted), _)]) = (self.tool.kind, &files[..], wanted) {
            if Field::Path.is_text_in(&input) {
                Field::Path.put(&mut input, self.path.to_str()?.into(), "file_path");
            }
            (self.tool.rewrite)(&mut input, file.before.as_ref(), wanted)?;
        } else {
            let both = || files.iter().zip(wanted);
            let mut changes = both().map(|(file, (text, _))| (file.before.as_ref(), text.as_ref()));
            if !changes.all(|(before, after)| (self.tool.can_patch)(before, after)) {
                return None;
            }
            let edits = both().map(|(file, (text, is_renamed))| FileEdit {
                path: &file.name,
                new_path: file
                    .moved
                    .as_ref()
                    .map(|(name, _)| &**name)
                    .filter(|_| *is_renamed),
                before: file.before.as_ref(),
                after: text.as_ref(),
            });
            input = patch::put(&input, patch_of(&edits.collect::<Vec<_>>())?);
        }
        if let (None, [file], [(wanted, _)]) = (&self.patch, &files[..], wanted) {
            // The mark at the beginning counts, too.
            let made = (self.tool.made)(file.before.as_ref(), &input).ok();
            return (made == *wanted).then_some(input);
        }
        Some(input)
    }
}

impl FileChange {
    /// Returns the change by `tool` to the text of a file, by `event`.
    fn of_text(tool: &Tool, event: &Event) -> Result<Self, String> {
        let path = path_of(tool, event)?;
        check_name(tool, event, &path)?;
        let before = file::read(&path)?;
        let is_utf_16 = matches!(&before, Some(file) if file.encoding == Encoding::Utf16Le);
        if is_utf_16 && !tool.keeps_utf_16 {
            return Err("the file is UTF-16, and the tool would write it as UTF-8".to_owned());
        }
        let after = (tool.made)(before.as_ref(), &event.input)?;
        let patch = tool.patch(&event.input)?;
        let name = patch.and_then(patch::first_path).unwrap_or_default();
        Ok(Self {
            name: name.to_owned(),
            path,
            moved: None,
            before,
            after: Some(after),
        })
    }

    /// Returns the texts that the user compares: before, if there is a file, and after, if there
    /// will be one. If all lines of both end with CRLF, they are shown without CR.
    fn shown(&self) -> [Option<Cow<'_, str>>; 2] {
        let texts = [&self.before, &self.after];
        let is_all_crlf = self.is_all_crlf();
        texts.map(|file| {
            let text = file.as_ref()?.text.as_str();
            Some(if is_all_crlf {
                text.replace("\r\n", "\n").into()
            } else {
                text.into()
            })
        })
    }

    /// Returns whether all lines, before and after, end with CRLF.
    fn is_all_crlf(&self) -> bool {
        let is_crlf = |file: &Option<FileText>| {
            file.as_ref().is_some_and(|file| {
                let mut lines = file.text.split_inclusive('\n');
                file.text.contains('\n')
                    && lines.all(|line| line.ends_with("\r\n") || !line.ends_with('\n'))
            })
        };
        is_crlf(&self.before) && is_crlf(&self.after)
    }

    /// Returns what Emacs is told of the file.
    fn described(&self) -> Value {
        let mut described = json!({ "path": self.path });
        let [original, modified] = self.shown();
        if let Some(original) = original {
            described["original"] = original.into();
        }
        if let (Some(after), Some(modified)) = (&self.after, modified) {
            described["modified"] = modified.into();
            described["encoding"] = file::encoding_name(after).into();
            described["crlf"] = self.is_all_crlf().into();
        }
        described
    }

    /// Returns what Emacs is told of the file if it is one of a patch.
    fn described_in_patch(&self) -> Value {
        let mut described = self.described();
        if let Some((_, path)) = &self.moved {
            described["to"] = json!(path);
        }
        if let Some(before) = &self.before {
            described["encoding_before"] = file::encoding_name(before).into();
        }
        described
    }

    /// Returns the file that is to be there after the user has `decided`, see [`Edit::input_for`];
    /// the inner `None` is no file. The outer one is what makes no sense.
    fn decided(&self, decided: &Value) -> Option<Option<FileText>> {
        if decided["there"] != true {
            return Some(None);
        }
        match (decided["text"].as_str(), &self.after) {
            (Some(text), Some(after)) if self.is_all_crlf() => {
                Some(Some(after.with_text(text.replace('\n', "\r\n"))))
            }
            (Some(text), Some(after)) => Some(Some(after.with_text(text.to_owned()))),
            (Some(_), None) => None,
            // A new file without text has none to be decided.
            (None, after) => self.before.as_ref().or(after.as_ref()).cloned().map(Some),
        }
    }

    /// Returns whether the file is still as it was, and its new name not in use.
    fn is_current(&self) -> bool {
        let is_free = |(_, path): &(String, PathBuf)| path.symlink_metadata().is_err();
        file::read(&self.path).is_ok_and(|now| now == self.before)
            && self.moved.as_ref().is_none_or(is_free)
    }
}

/// Returns the absolute name of the file that `event`, about `tool`, is about, or of the first of
/// several.
///
/// # Errors
///
/// A sentence, without its period, if its input names none.
pub fn path_of(tool: &Tool, event: &Event) -> Result<PathBuf, String> {
    let path = Field::Path.text(&event.input);
    let path = path.or_else(|error| {
        let patch = tool.patch(&event.input).ok().flatten();
        patch.and_then(patch::first_path).ok_or(error)
    })?;
    Ok(event.absolute(path))
}

/// Returns the absolute names of the files that `tool` is about to change, by `event`. There are
/// none if it is not known which.
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

/// Returns the changes to `files` of a patch, in the input of `event`, by `tool`.
///
/// # Errors
///
/// A sentence, without its period, about why it is not known what the tool would leave.
fn files_of(
    tool: &Tool,
    event: &Event,
    files: &[FilePatch<'_>],
) -> Result<Vec<FileChange>, String> {
    let files = files.iter().map(|file| file_of(tool, event, file));
    let files = files.collect::<Result<Vec<FileChange>, String>>()?;
    let mut paths = HashSet::new();
    let is_once = files.iter().all(|file| {
        // Through a link, a file can have two names.
        let path = file.path.canonicalize();
        let moved = file.moved.as_ref().map(|(_, path)| path.clone());
        paths.insert(path.unwrap_or_else(|_| file.path.clone()))
            && moved.is_none_or(|path| paths.insert(path))
    });
    if is_once {
        Ok(files)
    } else {
        Err("a file is in the patch twice".to_owned())
    }
}

/// Returns the change by `patch` to its file; see [`files_of`].
fn file_of(tool: &Tool, event: &Event, patch: &FilePatch<'_>) -> Result<FileChange, String> {
    let path = event.absolute(patch.path);
    file::check_spelling(&path)?;
    let before = file::read(&path)?;
    let mut moved = None;
    let after = match (&patch.action, &before) {
        (Action::Add { text }, _) => Some(text.clone().into_bytes()),
        (Action::Delete, Some(_)) => None,
        (Action::Update { new_path, chunks }, Some(before)) => {
            if let Some(name) = *new_path {
                let new_path = event.absolute(name);
                file::check_spelling(&new_path)?;
                // Its own name is in use as well: a tool may delete that after writing it.
                if new_path.symlink_metadata().is_ok() {
                    return Err(format!("{} exists already", new_path.display()));
                }
                moved = Some((name.to_owned(), new_path));
            }
            let made = updated(&before.bytes(), chunks);
            Some(made.map_err(|error| error.to_string())?)
        }
        (_, None) => return Err(format!("{} does not exist", path.display())),
    };
    let after = after.map(|bytes| FileText::read(&bytes)).transpose();
    let after = after.map_err(|error| error.to_string())?;
    if !(tool.can_patch)(before.as_ref(), after.as_ref()) {
        return Err("the tool may leave another text".to_owned());
    }
    Ok(FileChange {
        name: patch.path.to_owned(),
        path,
        moved,
        before,
        after,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

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
        edit_of(tool, &event("", path, input))
    }

    fn edit_of(tool: &'static Tool, event: &Event) -> Result<Edit, String> {
        Edit::of(tool, event).map(|edit| edit.expect("it changes a file"))
    }

    /// Returns the texts of the first file, before and after, as they are shown.
    fn shown(edit: &Edit) -> (Option<Cow<'_, str>>, Cow<'_, str>) {
        let [before, after] = edit.files.as_ref().unwrap()[0].shown();
        (before, after.unwrap())
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
            shown(&edit),
            (Some("a\nb\nc\nd\n".into()), "A\nb\nC\nd\n".into())
        );
        let wanted = json!({
            "file_path": file.0, "old_string": "c\n", "new_string": "C\n", "replace_all": false,
        });
        assert_eq!(
            edit.input_for(&json!("a\nb\nC\nd\n")).map(Value::Object),
            Some(wanted)
        );
    }

    #[test]
    fn crlf_is_not_shown_but_kept() {
        let file = File::new("crlf", b"a\r\nb\r\n");
        let input = json!({ "old_string": "b", "new_string": "B\nC", "replace_all": true });
        let claude = edit(&claude::EDIT, &file.0, input.clone()).unwrap();
        assert_eq!(shown(&claude), (Some("a\nb\n".into()), "a\nB\nC\n".into()));
        let only_c = claude.input_for(&json!("a\nb\nC\n")).unwrap();
        assert_eq!(only_c["old_string"], "b\n");
        assert_eq!(only_c["new_string"], "b\nC\n");
        assert_eq!(only_c["replace_all"], false);
        // A tool that writes the whole file gets the line ends.
        let write = json!({ "content": "a\r\nB\r\nC\r\n" });
        let write = edit(&claude::WRITE, &file.0, write).unwrap();
        assert_eq!(
            write.input_for(&json!("a\nB\n")).unwrap()["content"],
            "a\r\nB\r\n"
        );
        // If they change, they are part of what is decided.
        let write = edit(&claude::WRITE, &file.0, json!({ "content": "a\nb\n" })).unwrap();
        assert_eq!(shown(&write), (Some("a\r\nb\r\n".into()), "a\nb\n".into()));
    }

    #[test]
    fn several_edits_become_one() {
        let file = File::new("multi", b"a\nb\n");
        let edits = json!({ "edits": [
            { "old_string": "a", "new_string": "A" },
            { "old_string": "b", "new_string": "B", "replace_all": true },
        ]});
        let edit = edit(&claude::MULTI_EDIT, &file.0, edits).unwrap();
        assert_eq!(shown(&edit).1, "A\nB\n");
        let wanted = json!([{ "old_string": "b\n", "new_string": "B\n", "replace_all": false }]);
        assert_eq!(edit.input_for(&json!("a\nB\n")).unwrap()["edits"], wanted);
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
            shown(&edit),
            (Some("a\r\nb\nc\n".into()), "a\nb\nC\n".into())
        );
        assert!(edit.input_for(&json!("a\r\nb\nC\n")).is_none());
        assert!(edit.input_for(&json!("a\nb\nc\n")).is_some());
    }

    #[test]
    fn gemini_gets_inputs_of_its_own() {
        let file = File::new("gemini", b"a\nb\na\n");
        let input = json!({ "old_string": "a", "new_string": "c", "allow_multiple": true });
        let replace = edit(&gemini::REPLACE, &file.0, input).unwrap();
        assert_eq!(shown(&replace).1, "c\nb\nc\n");
        let first = replace.input_for(&json!("c\nb\na\n")).unwrap();
        assert_eq!(first["old_string"], "a\nb\n");
        assert_eq!(first["allow_multiple"], false);
        let write = edit(&gemini::WRITE, &file.0, json!({ "content": "x\n" })).unwrap();
        assert_eq!(write.input_for(&json!("y\n")).unwrap()["content"], "y\n");
    }

    #[test]
    fn a_name_that_may_mean_another_file_is_refused() {
        let call = |tool, path: &str| {
            let event = json!({ "hook_event_name": "PreToolUse", "tool_name": "", "cwd": "/nowhere",
                                "tool_input": { "file_path": path, "content": "x" } });
            edit_of(tool, &Event::parse(event.to_string().as_bytes()).unwrap())
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
    fn a_name_in_a_patch_is_what_the_file_is_called() {
        for name in ["~/f", "~root/f", "$HOME/f", "ssh:host:/f", ":/f"] {
            let patch = format!("*** Begin Patch\n*** Add File: {name}\n+x\n*** End Patch\n");
            let event = json!({ "hook_event_name": "PreToolUse", "tool_name": "", "cwd": "/nowhere",
                                "tool_input": { "command": patch } });
            let event = Event::parse(event.to_string().as_bytes()).unwrap();
            let path = Path::new("/nowhere").join(name);
            assert_eq!(files(&codex::PATCH, &event), std::slice::from_ref(&path));
            assert_eq!(edit_of(&codex::PATCH, &event).unwrap().path, path);
        }
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
        let edit = edit_of(&codex::PATCH, &call).unwrap();
        assert!(edit.patch.is_none(), "it is no edit");
        assert_eq!(edit.path, file.0);
        assert_eq!(shown(&edit).1, "a\nB\nc\nd\ne\nf\ng\nh\nI\nj\n");
        let input = edit
            .input_for(&json!("a\nb\nc\nd\ne\nf\ng\nh\nI\nj\n"))
            .unwrap();
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
            let edit = edit_of(&opencode::PATCH, &call).unwrap();
            assert!(edit.patch.is_none(), "it is no edit");
            edit
        };
        let file = File::new("opencode-patch", b"a\nb\nc\n");
        // opencode does not read the lines before the first "@@".
        let edit = call(&file, "-a\n+A\n@@\n-c\n+C\n");
        assert_eq!(shown(&edit).1, "A\nb\nC\n");
        let Some(Verdict::Change(input)) = edit.input_as_called() else {
            panic!("opencode would leave something else");
        };
        let wanted = "@@\n-a\n+A\n b\n-c\n+C\n";
        assert!(
            input["patchText"].as_str().unwrap().contains(wanted),
            "{input:?}"
        );
        assert!(edit.input_for(&json!("a\nb\nC\n")).is_some());
        assert!(edit.input_for(&json!("a\nb\n\n")).is_none());
        let file = File::new("opencode-crlf", b"a\r\nb\r\n");
        let edit = call(&file, "@@\n-a\n+A\n");
        assert!(edit.input_as_called().is_none() && edit.input_for(&json!("A\nb\n")).is_none());
    }

    #[test]
    fn a_part_of_what_codex_writes_has_no_byte_order_mark_either() {
        let file = File::new("codex-mark", b"\xef\xbb\xbfa\nb\n");
        let patch = format!(
            "*** Begin Patch\n*** Add File: {}\n+A\n+B\n*** End Patch\n",
            file.0.display()
        );
        let call = event("apply_patch", &file.0, json!({ "command": patch }));
        let edit = edit_of(&codex::PATCH, &call).unwrap();
        assert_eq!(edit.question().1["encoding"], "utf-8");
        let input = edit.input_for(&json!("A\nb\n")).unwrap();
        let made =
            (codex::PATCH.made)(edit.files.as_ref().unwrap()[0].before.as_ref(), &input).unwrap();
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
        let edit = edit_of(&opencode::EDIT, &call).unwrap();
        assert_eq!(edit.question().1["encoding"], "utf-8 with BOM");
        assert!(edit.input_for(&json!("A\nb\n")).is_none());
    }

    #[test]
    fn codex_patches_of_more_than_text_are_no_edits() {
        let patch = "*** Begin Patch\n*** Delete File: f\n*** End Patch";
        let call = |command: &str| {
            let event = json!({ "hook_event_name": "PreToolUse", "tool_name": "", "cwd": "/d",
                                "tool_input": { "command": command } });
            Event::parse(event.to_string().as_bytes()).unwrap()
        };
        let is_patch = |tool, command: &str| {
            let edit = edit_of(tool, &call(command)).unwrap();
            edit.patch == Some(patch.replace(": f", ": /d/f"))
        };
        assert!(is_patch(&codex::PATCH, patch));
        assert!(is_patch(
            &codex::SHELL,
            &format!("apply_patch <<'E'\n{patch}\nE\n")
        ));
        assert!(matches!(Edit::of(&codex::SHELL, &call("ls")), Ok(None)));
        for command in [
            "",
            "*** Begin Patch\n*** End Patch",
            "*** Begin Patch\nx\n*** End Patch",
        ] {
            assert!(
                Edit::of(&codex::PATCH, &call(command)).is_err(),
                "{command}"
            );
        }
        assert!(Edit::of(&codex::SHELL, &call(&format!("{patch} && ls"))).is_err());
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
        assert_eq!(shown(&other).1, "A\nB\nA\n");
        assert!(
            other.question().1["rewritable"] == true
                && other.input_for(&json!("a\nB\na\n")).is_none()
        );
        assert!(matches!(other.input_as_called(), Some(Verdict::Allow)));
        let append = json!({ "content": "c\n", "mode": "append" });
        let append = edit(&other::WRITE, &file.0, append).unwrap();
        assert_eq!(shown(&append).1, "a\nb\na\nc\n");
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
        let edit = edit_of(&opencode::EDIT, &call("edit", input)).unwrap();
        assert_eq!(shown(&edit).1, "$&\nb\n$&\n");
        let wanted = json!({ "filePath": path, "oldString": "a\nb\n", "newString": "$&\nb\n",
                             "replaceAll": false });
        let first = edit.input_for(&json!("$&\nb\na\n")).map(Value::Object);
        assert_eq!(first, Some(wanted));
        // What is accepted must not be taken for a pattern.
        let Some(Verdict::Change(input)) = edit.input_as_called() else {
            panic!("opencode would put in what was there");
        };
        assert_eq!(input["replaceAll"], false);
        let write = call("write", json!({ "filePath": path, "content": "x\n" }));
        let write = edit_of(&opencode::WRITE, &write).unwrap();
        assert!(matches!(write.input_as_called(), Some(Verdict::Allow)));
        assert_eq!(write.input_for(&json!("y\n")).unwrap()["content"], "y\n");
        let patch = "*** Begin Patch\n*** Delete File: f\n*** End Patch";
        let patch = call("apply_patch", json!({ "patchText": patch }));
        assert!(edit_of(&opencode::PATCH, &patch).unwrap().patch.is_some());
    }

    /// A directory with files, removed at the end.
    struct Directory(PathBuf);

    impl Directory {
        fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let name = format!("agent-q-diff-{}-{name}", std::process::id());
            let path = std::env::temp_dir().join(name);
            fs::create_dir(&path).unwrap();
            for (name, text) in files {
                fs::write(path.join(name), text).unwrap();
            }
            Self(path)
        }
    }

    impl Drop for Directory {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const FILES: [(&str, &str); 3] = [
        ("a", "1\n2\n3\n4\n5\n6\n7\n8\n9\n"),
        ("gone", "gone\n"),
        ("old", "one\r\ntwo\r\n"),
    ];
    const PATCH: &str = "*** Begin Patch\n*** Update File: a\n@@\n-1\n+ONE\n@@\n-9\n+NINE\n\
        *** Delete File: gone\n*** Update File: old\n*** Move to: sub/new\n@@\n-two\n+TWO\n\
        *** Add File: made\n+made\n*** End Patch\n";

    fn patch_edit(tool: &'static Tool, directory: &Path, text: &str) -> Edit {
        let input = json!({ "command": text });
        let event = json!({ "hook_event_name": "PreToolUse", "tool_name": "", "cwd": directory,
                            "tool_input": input });
        edit_of(tool, &Event::parse(event.to_string().as_bytes()).unwrap()).unwrap()
    }

    /// Returns what Emacs is told of the files of `edit`.
    fn files_in(edit: &Edit) -> Option<Value> {
        edit.question().1.get("files").cloned()
    }

    /// Returns [`FILES`] by their names, after Codex's tool has run with `input`.
    fn made(input: &JsonObject) -> BTreeMap<String, String> {
        let mut files: BTreeMap<String, String> = FILES
            .iter()
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
            .collect();
        for file in parse(patch::text_in(input).unwrap()).unwrap() {
            let before = files.remove(file.path);
            match file.action {
                Action::Add { text } => {
                    files.insert(file.path.to_owned(), text);
                }
                Action::Delete => assert!(before.is_some()),
                Action::Update { new_path, chunks } => {
                    let after = updated(before.unwrap().as_bytes(), &chunks).unwrap();
                    let path = new_path.unwrap_or(file.path);
                    files.insert(path.to_owned(), String::from_utf8(after).unwrap());
                }
            }
        }
        files
    }

    #[test]
    fn what_is_shown_is_what_the_patch_would_leave() {
        let directory = Directory::new("shown", &FILES);
        let at = |name: &str| directory.0.join(name);
        let shown = files_in(&patch_edit(&codex::PATCH, &directory.0, PATCH));
        let wanted = json!([
            { "path": at("a"), "original": FILES[0].1, "encoding_before": "utf-8",
              "modified": "ONE\n2\n3\n4\n5\n6\n7\n8\nNINE\n", "encoding": "utf-8", "crlf": false },
            { "path": at("gone"), "original": "gone\n", "encoding_before": "utf-8" },
            { "path": at("old"), "to": at("sub/new"), "original": "one\ntwo\n",
              "encoding_before": "utf-8", "modified": "one\nTWO\n", "encoding": "utf-8",
              "crlf": true },
            { "path": at("made"), "modified": "made\n", "encoding": "utf-8", "crlf": false },
        ]);
        assert_eq!(shown, Some(wanted));
    }

    #[test]
    fn the_tool_leaves_what_was_decided() {
        let directory = Directory::new("decided", &FILES);
        let edit = patch_edit(&codex::PATCH, &directory.0, PATCH);
        let mut n_rewritten = 0;
        for choice in 0..3 * 2 * 2 * 2 * 2 {
            let a = [None, Some("ONE\n2\n3\n4\n5\n6\n7\n8\n9\n"), Some("none\n")][choice % 3];
            let bit = |at: usize| (choice / 3) >> at & 1 == 1;
            let mut decided = json!([
                { "there": true },
                { "there": bit(0) },
                { "there": true, "renamed": bit(1) },
                { "there": bit(3) },
            ]);
            let mut wanted = BTreeMap::from([("a", a.unwrap_or(FILES[0].1))]);
            if let Some(a) = a {
                decided[0]["text"] = a.into();
            }
            if bit(0) {
                wanted.insert("gone", FILES[1].1);
            }
            if bit(2) {
                decided[2]["text"] = "one\nTWO\n".into();
            }
            let old = if bit(2) { "one\r\nTWO\r\n" } else { FILES[2].1 };
            wanted.insert(if bit(1) { "sub/new" } else { "old" }, old);
            if bit(3) {
                decided[3]["text"] = "some\n".into();
                wanted.insert("made", "some\n");
            }
            let Some(input) = edit.input_for(&decided) else {
                let is_nothing = a.is_none() && bit(0) && !(bit(1) || bit(2) || bit(3));
                assert!(is_nothing, "{decided}");
                continue;
            };
            let made = made(&input);
            let made: BTreeMap<&str, &str> =
                made.iter().map(|(name, text)| (&**name, &**text)).collect();
            assert_eq!(made, wanted, "{decided}");
            n_rewritten += 1;
        }
        assert_eq!(n_rewritten, 47);
    }

    #[test]
    fn a_patch_runs_as_it_was_called_if_the_tool_reads_it_so() {
        let directory = Directory::new("called", &FILES[..2]);
        let patch = "*** Begin Patch\n*** Update File: a\n-1\n+ONE\n*** Delete File: gone\n\
                     *** End Patch";
        let codex = patch_edit(&codex::PATCH, &directory.0, patch);
        assert!(matches!(codex.input_as_called(), Some(Verdict::Allow)));
        // opencode does not read chunks without "@@".
        let opencode = patch_edit(&opencode::PATCH, &directory.0, patch);
        let Some(Verdict::Change(input)) = opencode.input_as_called() else {
            panic!("opencode would leave something else");
        };
        let text = input["command"].as_str().unwrap();
        assert!(text.contains("@@\n-1\n+ONE\n 2\n"), "{text}");
        let shell = format!("apply_patch <<'E'\n{patch}\nE\n");
        let shell = patch_edit(&codex::SHELL, &directory.0, &shell);
        assert!(files_in(&shell).is_none() && shell.input_as_called().is_none());
    }

    #[test]
    fn what_is_not_known_is_left_to_emacs() {
        let directory = Directory::new("unknown", &[("a", "a\n"), ("b", "b\r\n"), ("c", "c\n\n")]);
        fs::write(directory.0.join("bytes"), b"\xff\n").unwrap();
        std::os::unix::fs::symlink("a", directory.0.join("link")).unwrap();
        let is_known = |tool, files: &str| {
            let text = format!("*** Begin Patch\n{files}*** End Patch\n");
            files_in(&patch_edit(tool, &directory.0, &text)).is_some()
        };
        let moved = "*** Update File: a\n*** Move to: d\n@@\n-a\n+A\n";
        assert!(is_known(&codex::PATCH, moved));
        for files in [
            "*** Update File: a\n*** Move to: b\n@@\n-a\n+A\n",
            "*** Delete File: bytes\n",
            "*** Delete File: missing\n",
            "*** Update File: missing\n*** Move to: d\n@@\n-a\n+A\n",
            "*** Delete File: ../a\n",
            "*** Delete File: a\n*** Delete File: a\n",
            "*** Delete File: a\n*** Delete File: link\n",
            "*** Update File: a\n*** Move to: a\n@@\n-a\n+A\n*** Delete File: c\n",
            "*** Delete File: a\n*** Update File: c\n*** Move to: a\n@@\n-c\n+C\n",
        ] {
            assert!(!is_known(&codex::PATCH, files), "{files}");
        }
        assert!(!is_known(&other::PATCH, moved));
        // opencode adds lines without CR, and some versions lose an empty line at the end.
        assert!(is_known(&opencode::PATCH, moved));
        for files in [
            "*** Delete File: b\n",
            "*** Update File: c\n*** Move to: d\n@@\n-c\n+C\n",
            "*** Delete File: a\n*** Add File: d\n+d\n+\n",
        ] {
            assert!(!is_known(&opencode::PATCH, files), "{files}");
        }
    }

    #[test]
    fn files_that_change_meanwhile_are_noticed() {
        let directory = Directory::new("meanwhile", &FILES);
        let edit = patch_edit(&codex::PATCH, &directory.0, PATCH);
        assert!(edit.is_current());
        fs::create_dir(directory.0.join("sub")).unwrap();
        fs::write(directory.0.join("sub/new"), "").unwrap();
        assert!(!edit.is_current());
        fs::remove_file(directory.0.join("sub/new")).unwrap();
        fs::write(directory.0.join("made"), "").unwrap();
        assert!(!edit.is_current());
    }
}
