//! Patches in Codex's format: those of tools called `apply_patch`, and those in Codex's shell
//! commands.

use agent_q_diff_engine::inputs::FileText;
use agent_q_diff_engine::patch::codex::{Action, FilePatch, parse, updated};
use rmcp::model::JsonObject;

use super::fields::Field;

/// How a patch begins.
pub const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";

/// Returns the patch, or the shell command, in `input`.
///
/// # Errors
///
/// A sentence, without its period, if there is none.
pub fn text_in(input: &JsonObject) -> Result<&str, String> {
    Field::Patch.text(input)
}

/// Returns the patch that `command`, of a shell, applies by a here-document, or `None` if it
/// applies none.
///
/// # Errors
///
/// A sentence, without its period, if it may do more than that.
pub fn patch_in_shell(command: &str) -> Result<Option<&str>, String> {
    let Some(start) = command.find(BEGIN) else {
        return Ok(None);
    };
    let more = || "a shell command that applies a patch must do nothing else; call apply_patch";
    let end = command.rfind(END).ok_or_else(more)? + END.len();
    let opening: Vec<&str> = command[..start].split_whitespace().collect();
    let word = match &opening[..] {
        ["apply_patch" | "applypatch", word] => word.strip_prefix("<<"),
        ["apply_patch" | "applypatch", "<<", word] => Some(*word),
        _ => None,
    };
    let word = word.ok_or_else(more)?;
    let end_word = word.trim_matches(['\'', '"']);
    let patch = &command[start..end];
    let is_plain = !end_word.is_empty()
        && end_word
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_');
    // Without quotes, the shell would change such text.
    let is_literal = word != end_word || !patch.contains(['$', '`', '\\']);
    let is_whole =
        command[end..].trim() == end_word && patch.lines().all(|line| line.trim() != end_word);
    if is_plain && is_literal && is_whole {
        Ok(Some(patch))
    } else {
        Err(more().to_owned())
    }
}

/// Returns `input` with `patch` in place of its own.
pub fn put(input: &JsonObject, patch: String) -> JsonObject {
    let mut input = input.clone();
    Field::Patch.put(&mut input, patch.into(), "command");
    input
}

/// Returns the only file that `files` change, if only its text would change.
pub fn only_text<'p, 'a>(files: &'p [FilePatch<'a>]) -> Option<&'p FilePatch<'a>> {
    match files {
        [file] => match file.action {
            Action::Add { .. } | Action::Update { new_path: None, .. } => Some(file),
            Action::Delete | Action::Update { .. } => None,
        },
        _ => None,
    }
}

/// Returns the name of the first file that `command`, a patch, changes.
pub fn first_path(command: &str) -> Option<&str> {
    Some(parse(command).ok()?.first()?.path)
}

/// Returns `base` after the patch in `input`, which changes the text of one file.
///
/// # Errors
///
/// A sentence, without its period, about why it cannot be applied.
pub fn patched(base: Option<&FileText>, input: &JsonObject) -> Result<FileText, String> {
    let files = parse(text_in(input)?).map_err(|error| error.to_string())?;
    let bytes = match (only_text(&files).map(|file| &file.action), base) {
        (Some(Action::Add { text }), _) => text.clone().into_bytes(),
        (Some(Action::Update { chunks, .. }), Some(base)) => {
            updated(&base.bytes(), chunks).map_err(|error| error.to_string())?
        }
        _ => return Err("there is no such file".to_owned()),
    };
    FileText::read(&bytes).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "*** Begin Patch\n*** Delete File: f\n*** End Patch";

    #[test]
    fn a_patch_in_a_here_document_is_found() {
        for (before, after) in [
            ("apply_patch <<'EOT'\n", "\nEOT\n"),
            ("apply_patch << EOF\n", "\nEOF"),
            ("applypatch <<\"E_1\"\n", "\nE_1\n"),
        ] {
            let command = format!("{before}{PATCH}{after}");
            assert_eq!(patch_in_shell(&command), Ok(Some(PATCH)), "{command}");
        }
        assert_eq!(patch_in_shell("ls -l"), Ok(None));
    }

    #[test]
    fn a_command_that_does_more_is_refused() {
        for (before, after) in [
            ("cd d && apply_patch <<'EOT'\n", "\nEOT\n"),
            ("apply_patch <<'EOT'\n", "\nEOT\nrm f"),
            ("apply_patch <<'EOT' && rm f\n", "\nEOT\n"),
            ("apply_patch <<'$(rm f)'\n", "\n$(rm f)\n"),
            ("echo '", "'"),
            ("", ""),
        ] {
            let command = format!("{before}{PATCH}{after}");
            assert!(patch_in_shell(&command).is_err(), "{command}");
        }
        assert!(patch_in_shell("apply_patch <<E\n*** Begin Patch\nE\n").is_err());
        let expanded =
            "apply_patch <<E\n*** Begin Patch\n*** Add File: f\n+$HOME\n*** End Patch\nE\n";
        assert!(patch_in_shell(expanded).is_err());
        assert!(patch_in_shell(&expanded.replace("<<E", "<<'E'")).is_ok());
        let early = format!("apply_patch <<E\n*** Begin Patch\nE\nrm f\n{PATCH}\nE\n");
        assert!(patch_in_shell(&early).is_err());
    }

    #[test]
    fn only_the_text_of_one_file_can_be_rewritten() {
        let is_only_text = |files: &str| {
            let patch = format!("*** Begin Patch\n{files}*** End Patch\n");
            only_text(&parse(&patch).unwrap()).is_some()
        };
        assert!(is_only_text("*** Update File: f\n@@\n-a\n+b\n"));
        assert!(is_only_text("*** Add File: f\n+b\n"));
        assert!(!is_only_text("*** Delete File: f\n"));
        assert!(!is_only_text(
            "*** Update File: f\n*** Move to: g\n@@\n-a\n+b\n"
        ));
        assert!(!is_only_text("*** Add File: f\n+b\n*** Add File: g\n+b\n"));
        assert_eq!(
            first_path("*** Begin Patch\n*** Add File: d/f\n+b\n*** End Patch\n"),
            Some("d/f")
        );
        assert_eq!(first_path("ls"), None);
    }
}
