//! What agents read: the tools' descriptions, and the messages that do not come from Emacs.

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use crate::socket::Progress;

/// The tool that returns the result of a review that was answered "pending".
pub const REVIEW_RESULT: &str = "review_result";

/// The tools that Emacs answers.
pub const TOOLS_OF_EMACS: [&str; 4] = [
    "propose_file_edit",
    "edit_file",
    "propose_patch",
    "propose_changes",
];

/// What the agent is told about this server.
pub const INSTRUCTIONS: &str = "\
The user reviews edits of files in Emacs, hunk by hunk, before they are in the file. Wait for the \
decision. If an answer is pending, call review_result. If the user rejects an edit, stop: do not \
propose it again and do not make it by other means.";

/// Returns all tools of this server.
pub fn all() -> Vec<Tool> {
    vec![
        propose_file_edit(),
        edit_file(),
        propose_patch(),
        propose_changes(),
        review_result(),
    ]
}

fn propose_file_edit() -> Tool {
    Tool::new(
        TOOLS_OF_EMACS[0],
        "Propose changes to a file as a diff for user review. The user decides about each hunk in \
         Emacs, and the answer says what is in the file. If the changes are rejected, do not \
         propose them again; do as the answer says.",
        schema(
            json!({
                "path": string("File path to edit, absolute or relative to the working directory"),
                "original": string("The whole content of the file as it is now; empty for a new file"),
                "modified": string("The whole content of the file as it should be"),
                "description": string("What changed and why"),
            }),
            &["path", "original", "modified", "description"],
        ),
    )
    .with_title("Propose a new text of a file")
    .with_annotations(changing())
}

fn edit_file() -> Tool {
    Tool::new(
        TOOLS_OF_EMACS[1],
        "Make a targeted edit to a file by exact string replacement. The old_str must match \
         exactly once in the file. For several changes, call several times. The user may review \
         the edit in Emacs; if it is rejected, do as the answer says.",
        schema(
            json!({
                "path": string("File path, absolute or relative to the working directory"),
                "old_str": string("Exact string to find (must be unique)"),
                "new_str": string("Replacement string"),
                "description": string("What this change does"),
                "shouldReplaceAll":
                    boolean("Replace every match instead of exactly one (default false)"),
            }),
            &["path", "old_str", "new_str"],
        ),
    )
    .with_title("Replace a string in a file")
    .with_annotations(changing())
}

fn propose_patch() -> Tool {
    Tool::new(
        TOOLS_OF_EMACS[2],
        "Propose changes to a file as a unified diff for user review, without sending the whole \
         file. The user decides about each hunk in Emacs, and the answer says what is in the file. \
         Each hunk is placed by its context and removed lines, which must be exact, not by its line \
         number; give three lines of context, more where the file repeats itself, and keep the \
         \"index\" line that git diff writes. If the changes are rejected, do not propose them \
         again; do as the answer says.",
        schema(
            json!({
                "path": string(
                    "File path to edit, absolute or relative to the working directory; leave it \
                     out if the diff names its files, as git diff does",
                ),
                "diff": string(
                    "Unified diff with @@ headers, of this file or, as git diff writes it, of \
                     several files, also new, deleted and renamed ones",
                ),
                "description": string("What changed and why"),
            }),
            &["diff", "description"],
        ),
    )
    .with_title("Propose a patch")
    .with_annotations(changing())
}

fn propose_changes() -> Tool {
    let path = "File path, absolute or relative to the working directory";
    let file = json!({
        "type": "object",
        "properties": {
            "path": string(path),
            "original": string("The whole content as it is now, together with modified"),
            "modified": string("The whole content as it should be, of a file that exists"),
            "content": string("The whole content of a new file, or of one to be overwritten"),
            "delete": boolean("True if the file is to be deleted"),
            "rename_to": string("The new path, if the file is to be renamed or moved"),
            "executable": boolean("Whether the file is to be executable"),
        },
        "required": ["path"],
    });
    Tool::new(
        TOOLS_OF_EMACS[3],
        "Propose changes to several files at once for user review: edits, new, deleted and renamed \
         files that belong together. The user decides about each hunk of each file in Emacs, and \
         the answer says what became of each file. If the changes are rejected, do not propose \
         them again; do as the answer says.",
        schema(
            json!({
                "changes": {
                    "type": "array",
                    "items": file,
                    "description": "The files, each once",
                },
                "description": string("What changed and why"),
            }),
            &["changes", "description"],
        ),
    )
    .with_title("Propose changes of several files")
    .with_annotations(changing())
}

fn review_result() -> Tool {
    Tool::new(
        REVIEW_RESULT,
        "Wait for the result of a review that was answered as pending. May be called again while \
         it is pending. Cancelling this call does not cancel the review.",
        schema(
            json!({ "id": string("The review's id, as the pending answer named it") }),
            &["id"],
        ),
    )
    .with_title("Wait for a review")
    .with_annotations(waiting())
}

/// Returns what a client may know about a tool that changes files, if the user lets it.
fn changing() -> ToolAnnotations {
    ToolAnnotations::new()
        .read_only(false)
        .destructive(true)
        .idempotent(false)
        .open_world(false)
}

/// Returns what a client may know about a tool that only waits.
fn waiting() -> ToolAnnotations {
    ToolAnnotations::new()
        .read_only(true)
        .idempotent(true)
        .open_world(false)
}

/// Returns the schema of an argument that is a string.
fn string(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

/// Returns the schema of an argument that is true or false.
fn boolean(description: &str) -> Value {
    json!({ "type": "boolean", "description": description })
}

/// Returns the schema of a tool's arguments, `properties`, a JSON object of schemas by name.
fn schema(properties: Value, required: &[&str]) -> JsonObject {
    JsonObject::from_iter([
        ("type".to_owned(), json!("object")),
        ("properties".to_owned(), properties),
        ("required".to_owned(), json!(required)),
    ])
}

/// Returns a sentence, without its full stop, that says how much of a review is decided. `progress`
/// is none if Emacs has not begun the review.
pub fn progress(progress: Option<Progress>) -> String {
    match progress {
        None => "Emacs has not taken the call yet; it may be busy".to_owned(),
        Some(Progress { decided, total }) => {
            format!("The user is reviewing in Emacs: {decided} of {total} hunks decided")
        }
    }
}

/// Returns the answer that the review `id` is not decided yet. `state` is as for [`progress`].
pub fn pending(id: &str, state: Option<Progress>) -> String {
    format!(
        "PENDING: there is no decision yet. {}.\n\nDo not propose this again, and do not change \
         the file by other means. Call {REVIEW_RESULT} with id \"{id}\" to wait for the decision.",
        progress(state)
    )
}

/// Returns the answer that there is no review `id`.
pub fn unknown_review(id: &str) -> String {
    format!(
        "Error: there is no review with id \"{id}\". The valid ids are those in pending answers \
         since this MCP server was started."
    )
}
