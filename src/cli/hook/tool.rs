//! The tools with which agents edit files.

use agent_q_diff_engine::inputs::{Encoding, FileText};
use rmcp::model::JsonObject;

use super::event::Event;
use super::fields::Field;
use super::patch;
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
    /// opencode's `edit`: replaces a string.
    OpencodeEdit,
    /// opencode's `write`: writes a whole file.
    OpencodeWrite,
    /// opencode's `apply_patch`: applies a patch.
    OpencodePatch,
    /// Another agent's tool that replaces strings, by rules that are not known.
    OtherEdit,
    /// Another agent's tool that writes a whole file.
    OtherWrite,
    /// Another agent's tool that applies a patch.
    OtherPatch,
    /// Another agent's tool that seems to change a file, nobody knows how.
    OtherUnknown,
}

/// Returns the tool that `event` is about, or `None` if it edits no file. `client` is the agent, or
/// `None` if it is not known.
pub fn tool_of(client: Option<Client>, event: &Event) -> Option<Tool> {
    let Some(client) = client else {
        return other_tool(&event.tool, &event.input);
    };
    match (client, event.tool.as_str()) {
        (Client::Claude, "Edit") => Some(Tool::ClaudeEdit),
        (Client::Claude, "MultiEdit") => Some(Tool::ClaudeMultiEdit),
        (Client::Claude, "NotebookEdit") => Some(Tool::ClaudeNotebookEdit),
        (Client::Claude, "Write") => Some(Tool::ClaudeWrite),
        (Client::Codex, "apply_patch") => Some(Tool::CodexPatch),
        (Client::Codex, "Bash" | "shell") => Some(Tool::CodexShell),
        (Client::Gemini, "replace") => Some(Tool::GeminiReplace),
        (Client::Gemini, "write_file") => Some(Tool::GeminiWrite),
        (Client::Opencode, "edit") => Some(Tool::OpencodeEdit),
        (Client::Opencode, "write") => Some(Tool::OpencodeWrite),
        (Client::Opencode, "apply_patch") => Some(Tool::OpencodePatch),
        _ => None,
    }
}

/// Words in names of tools that change files.
const CHANGING: [&str; 8] = [
    "edit", "write", "replace", "patch", "create", "insert", "delete", "notebook",
];

/// Returns what the tool called `name` of an agent that is not known does, by its `input`, or `None`
/// if it edits no file.
fn other_tool(name: &str, input: &JsonObject) -> Option<Tool> {
    let has_path = Field::Path.is_text_in(input);
    let is_edit = |input: &JsonObject| Field::Old.is_text_in(input) && Field::New.is_text_in(input);
    let name = name.to_lowercase();
    if has_path && (is_edit(input) || matches!(Field::Edits.find(input), Ok(Some(_)))) {
        Some(Tool::OtherEdit)
    } else if has_path && Field::Content.is_text_in(input) {
        Some(Tool::OtherWrite)
    } else if patch::text_in(input).is_ok_and(|text| text.trim_start().starts_with(patch::BEGIN)) {
        Some(Tool::OtherPatch)
    } else if CHANGING.iter().any(|word| name.contains(word)) && !name.contains("todo") {
        Some(Tool::OtherUnknown)
    } else {
        None
    }
}

impl Tool {
    /// Returns whether it is known to run with an input that comes from a hook.
    pub fn takes_input(self) -> bool {
        !matches!(
            self,
            Self::OtherEdit | Self::OtherWrite | Self::OtherPatch | Self::OtherUnknown
        )
    }

    /// Returns whether Emacs applies its patch, so that it is never run itself. Codex applies a
    /// patch in a shell command by itself, and then runs no hook in which its model could be told
    /// what was decided (measured with 0.169).
    pub fn is_run_by_emacs(self) -> bool {
        matches!(self, Self::CodexShell | Self::OtherPatch)
    }

    /// Returns the patch in `input`, or `None` if it has none.
    ///
    /// # Errors
    ///
    /// A sentence, without its full stop, if it may do more than apply a patch.
    pub fn patch(self, input: &JsonObject) -> Result<Option<&str>, String> {
        match self {
            Self::CodexPatch | Self::OpencodePatch | Self::OtherPatch => {
                patch::text_in(input).map(Some)
            }
            Self::CodexShell => patch::patch_in_shell(patch::text_in(input)?),
            _ => Ok(None),
        }
    }

    /// Returns whether it is known that its patches can make `after` of a file that is `before`; `None`
    /// is no file.
    pub fn can_patch(self, before: Option<&FileText>, after: Option<&FileText>) -> bool {
        let is_known = |file: &FileText| match self {
            Self::CodexPatch => file.encoding != Encoding::Utf16Le,
            // It adds lines without CR, and a byte order mark is no part of a line.
            Self::OpencodePatch => file.encoding == Encoding::Utf8 && !file.text.contains('\r'),
            _ => false,
        };
        // Some versions of opencode take an empty line at the end for the newline.
        let ends_well = |file: &FileText| {
            self != Self::OpencodePatch || !(file.text == "\n" || file.text.ends_with("\n\n"))
        };
        before.into_iter().chain(after).all(is_known) && after.is_none_or(ends_well)
    }

    /// Returns whether it writes a file that is UTF-16 as UTF-16.
    pub fn keeps_utf_16(self) -> bool {
        matches!(
            self,
            Self::ClaudeEdit | Self::ClaudeMultiEdit | Self::ClaudeWrite | Self::ClaudeNotebookEdit
        )
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn only_tools_that_edit_files_are_known() {
        let tool = |client, name: &str| {
            let event = json!({ "hook_event_name": "PreToolUse", "tool_name": name,
                                "tool_input": {} });
            tool_of(
                Some(client),
                &Event::parse(event.to_string().as_bytes()).unwrap(),
            )
        };
        assert_eq!(tool(Client::Claude, "Edit"), Some(Tool::ClaudeEdit));
        assert_eq!(tool(Client::Claude, "Read"), None);
        assert_eq!(tool(Client::Gemini, "Edit"), None);
        assert_eq!(tool(Client::Opencode, "edit"), Some(Tool::OpencodeEdit));
        assert_eq!(tool(Client::Opencode, "read"), None);
    }

    #[test]
    fn tools_of_other_agents_are_known_by_their_inputs() {
        let tool = |name: &str, input: Value| {
            let event = json!({ "hook_event_name": "PreToolUse", "tool_name": name,
                                "tool_input": input });
            tool_of(None, &Event::parse(event.to_string().as_bytes()).unwrap())
        };
        let patch = "*** Begin Patch\n*** Delete File: f\n*** End Patch";
        for (name, input, wanted) in [
            // VS Code, Copilot CLI, Cursor and Kimi, by their documentation.
            (
                "replace_string_in_file",
                json!({ "filePath": "f", "oldString": "a", "newString": "b" }),
                Some(Tool::OtherEdit),
            ),
            (
                "edit",
                json!({ "path": "f", "old_str": "a", "new_str": "b" }),
                Some(Tool::OtherEdit),
            ),
            (
                "StrReplaceFile",
                json!({ "path": "f", "edit": { "old": "a", "new": "b" } }),
                Some(Tool::OtherEdit),
            ),
            (
                "create_file",
                json!({ "filePath": "f", "content": "" }),
                Some(Tool::OtherWrite),
            ),
            (
                "create",
                json!({ "path": "f", "file_text": "" }),
                Some(Tool::OtherWrite),
            ),
            (
                "Write",
                json!({ "file_path": "f", "contents": "" }),
                Some(Tool::OtherWrite),
            ),
            (
                "apply_patch",
                json!({ "input": patch }),
                Some(Tool::OtherPatch),
            ),
            // What may change a file, nobody knows how, is refused; all else passes.
            (
                "insert_edit_into_file",
                json!({ "filePath": "f" }),
                Some(Tool::OtherUnknown),
            ),
            ("Delete", json!({ "path": "f" }), Some(Tool::OtherUnknown)),
            ("Read", json!({ "file_path": "f" }), None),
            ("Shell", json!({ "command": "ls" }), None),
            ("TodoWrite", json!({ "todos": [] }), None),
        ] {
            assert_eq!(tool(name, input), wanted, "{name}");
        }
    }
}
