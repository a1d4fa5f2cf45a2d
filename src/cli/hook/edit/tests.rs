//! Edits of each tool, as agents send them, and what they are answered.

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
        other.question().1["rewritable"] == true && other.input_for(&json!("a\nB\na\n")).is_none()
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
