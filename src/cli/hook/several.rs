//! A patch of several files, or of more than text: what it would leave, and the patch that leaves
//! what was decided.

use std::collections::HashSet;
use std::path::PathBuf;

use agent_q_diff_engine::inputs::FileText;
use agent_q_diff_engine::inputs::codex::{FileEdit, patch_of};
use agent_q_diff_engine::patch::codex::{Action, FilePatch, updated, with_paths};
use rmcp::model::JsonObject;
use serde_json::{Value, json};

use super::event::Event;
use super::file;
use crate::agents::{Kind, Tool, Verdict, patch};

/// What a tool is about to make of several files by a patch.
#[derive(Debug)]
pub struct PatchEdit {
    /// The patch, with absolute names.
    pub text: String,
    /// The first file that it names.
    pub path: PathBuf,
    tool: &'static Tool,
    input: JsonObject,
    /// The files, or `None` if the tool may leave something else: then Emacs has to apply the patch.
    files: Option<Vec<PatchedFile>>,
}

/// A file that a patch changes.
#[derive(Debug)]
struct PatchedFile {
    /// Its name in a patch.
    name: String,
    path: PathBuf,
    /// Its new name in a patch, and as an absolute one.
    moved: Option<(String, PathBuf)>,
    before: Option<FileText>,
    after: Option<FileText>,
}

impl PatchEdit {
    /// Returns what `tool` is about to do by `text`, the patch in the input that `event` has, which is
    /// of `files`, at least one.
    pub fn of(tool: &'static Tool, event: &Event, text: &str, files: &[FilePatch<'_>]) -> Self {
        Self {
            // In Emacs, names can be relative to another directory.
            text: with_paths(text, |path| event.absolute(path).display().to_string()),
            path: event.absolute(files[0].path),
            tool,
            input: event.input.clone(),
            files: files_of(tool, event, files).ok(),
        }
    }

    /// Whether a shell command applies the patch. The model chooses in which directory that runs, so
    /// it does not tell what the project is.
    pub fn is_in_shell(&self) -> bool {
        self.tool.kind == Kind::Shell
    }

    /// Returns what Emacs is told of each file, or `None` if Emacs has to apply the patch.
    pub fn files(&self) -> Option<Vec<Value>> {
        let files = self.files.as_ref()?.iter();
        Some(files.map(PatchedFile::described).collect())
    }

    /// Returns whether all files are still as they were.
    pub fn is_current(&self) -> bool {
        self.files.iter().flatten().all(PatchedFile::is_current)
    }

    /// Returns the verdict that lets the tool leave what it was called for, or `None` if there is
    /// none.
    pub fn input_as_called(&self) -> Option<Verdict> {
        let files = self.files.as_ref()?;
        if !(self.tool.is_misread)(&self.input) {
            return Some(Verdict::Allow);
        }
        let edits: Vec<FileEdit> = files.iter().map(PatchedFile::edit).collect();
        let input = patch::put(&self.input, patch_of(&edits)?);
        Some(Verdict::Change(input))
    }

    /// Returns the input that makes the tool leave what was `decided`, or `None` if there is none.
    /// That is an object for each file, with "there", whether there is to be such a file, "renamed",
    /// whether it gets its new name, and "text", if it is to be another than before.
    pub fn input_for(&self, decided: &[Value]) -> Option<JsonObject> {
        let files = self.files.as_ref()?;
        let texts: Option<Vec<Option<FileText>>> = files
            .iter()
            .zip(decided)
            .map(|(file, decided)| file.decided(decided))
            .collect();
        let texts = texts.filter(|texts| texts.len() == files.len())?;
        let can_patch = |(file, text): (&PatchedFile, &Option<FileText>)| {
            (self.tool.can_patch)(file.before.as_ref(), text.as_ref())
        };
        if !files.iter().zip(&texts).all(can_patch) {
            return None;
        }
        let edits: Vec<FileEdit> = files
            .iter()
            .zip(decided)
            .zip(&texts)
            .map(|((file, decided), text)| FileEdit {
                new_path: file.edit().new_path.filter(|_| decided["renamed"] == true),
                after: text.as_ref(),
                ..file.edit()
            })
            .collect();
        Some(patch::put(&self.input, patch_of(&edits)?))
    }
}

impl PatchedFile {
    /// Returns what Emacs is told of the file.
    fn described(&self) -> Value {
        let mut described = json!({ "path": self.path });
        if let Some((_, path)) = &self.moved {
            described["to"] = json!(path);
        }
        if let Some(before) = &self.before {
            described["encoding_before"] = file::encoding_name(before).into();
            described["original"] = before.text.clone().into();
        }
        if let Some(after) = &self.after {
            let before = self.before.as_ref();
            let (original, modified) = file::shown(before, after);
            if let Some(original) = original {
                described["original"] = original.into();
            }
            described["modified"] = modified.into();
            described["encoding"] = file::encoding_name(after).into();
            described["crlf"] = file::is_all_crlf(before, after).into();
        }
        described
    }

    /// Returns the file that is to be there after the user has `decided`, see
    /// [`PatchEdit::input_for`]; the inner `None` is no file. The outer one is what makes no sense.
    fn decided(&self, decided: &Value) -> Option<Option<FileText>> {
        if decided["there"] != true {
            return Some(None);
        }
        let before = self.before.as_ref();
        match (decided["text"].as_str(), &self.after) {
            (Some(text), Some(after)) => {
                let text = file::with_line_ends(before, after, text);
                Some(Some(after.with_text(text)))
            }
            (Some(_), None) => None,
            // A new file without text has none to be decided.
            (None, after) => before.or(after.as_ref()).cloned().map(Some),
        }
    }

    /// Returns whether the file is still as it was, and its new name not in use.
    fn is_current(&self) -> bool {
        let is_free = |(_, path): &(String, PathBuf)| path.symlink_metadata().is_err();
        file::read(&self.path).is_ok_and(|now| now == self.before)
            && self.moved.as_ref().is_none_or(is_free)
    }

    /// Returns what becomes of the file if all is accepted.
    fn edit(&self) -> FileEdit<'_> {
        FileEdit {
            path: &self.name,
            new_path: self.moved.as_ref().map(|(name, _)| name.as_str()),
            before: self.before.as_ref(),
            after: self.after.as_ref(),
        }
    }
}

/// Returns what becomes of `files` of a patch, in the input that `event` has, by `tool`.
///
/// # Errors
///
/// A sentence, without its full stop, about why it is not known what the tool would leave.
fn files_of(
    tool: &Tool,
    event: &Event,
    files: &[FilePatch<'_>],
) -> Result<Vec<PatchedFile>, String> {
    let files: Result<Vec<PatchedFile>, String> = files
        .iter()
        .map(|file| file_of(tool, event, file))
        .collect();
    let files = files?;
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

/// Returns what `patch` makes of its file; see [`files_of`].
fn file_of(tool: &Tool, event: &Event, patch: &FilePatch<'_>) -> Result<PatchedFile, String> {
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
    Ok(PatchedFile {
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
    use std::path::Path;

    use agent_q_diff_engine::patch::codex::parse;

    use super::*;
    use crate::agents::{codex, opencode, other};

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

    fn patch_edit(tool: &'static Tool, directory: &Path, text: &str) -> PatchEdit {
        let input = json!({ "command": text });
        let event = json!({ "hook_event_name": "PreToolUse", "tool_name": "", "cwd": directory,
                            "tool_input": input });
        let event = Event::parse(event.to_string().as_bytes()).unwrap();
        let patch = tool.patch(&event.input).unwrap().unwrap();
        PatchEdit::of(tool, &event, patch, &parse(patch).unwrap())
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
        let shown = patch_edit(&codex::PATCH, &directory.0, PATCH).files();
        let wanted = json!([
            { "path": at("a"), "original": FILES[0].1, "encoding_before": "utf-8",
              "modified": "ONE\n2\n3\n4\n5\n6\n7\n8\nNINE\n", "encoding": "utf-8", "crlf": false },
            { "path": at("gone"), "original": "gone\n", "encoding_before": "utf-8" },
            { "path": at("old"), "to": at("sub/new"), "original": "one\ntwo\n",
              "encoding_before": "utf-8", "modified": "one\nTWO\n", "encoding": "utf-8",
              "crlf": true },
            { "path": at("made"), "modified": "made\n", "encoding": "utf-8", "crlf": false },
        ]);
        assert_eq!(shown.map(Value::Array), Some(wanted));
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
            let Some(input) = edit.input_for(decided.as_array().unwrap()) else {
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
        assert!(shell.files().is_none() && shell.input_as_called().is_none());
    }

    #[test]
    fn what_is_not_known_is_left_to_emacs() {
        let directory = Directory::new("unknown", &[("a", "a\n"), ("b", "b\r\n"), ("c", "c\n\n")]);
        fs::write(directory.0.join("bytes"), b"\xff\n").unwrap();
        std::os::unix::fs::symlink("a", directory.0.join("link")).unwrap();
        let is_known = |tool, files: &str| {
            let text = format!("*** Begin Patch\n{files}*** End Patch\n");
            patch_edit(tool, &directory.0, &text).files().is_some()
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
