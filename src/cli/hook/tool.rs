//! The tools with which agents edit files.

use agent_q_diff_engine::inputs::{Encoding, FileText};
use rmcp::model::JsonObject;

use super::patch;

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
