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
mod tests;
