//! What agents read: the tools' descriptions, and the messages that do not come from Emacs.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use crate::socket::{Answer, Progress};

/// The tool that returns the result of a review that was answered "pending".
pub const REVIEW_RESULT: &str = "review_result";

/// The tools that Emacs answers.
pub const TOOLS_OF_EMACS: [&str; 6] = [
    "propose_file_edit",
    "edit_file",
    "propose_patch",
    "propose_changes",
    "review_comments",
    "resolve_comment",
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
        review_comments(),
        resolve_comment(),
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
                "notes": notes(),
            }),
            &["path", "original", "modified", "description"],
        ),
    )
    .with_title("Propose a new text of a file")
    .with_raw_output_schema(Arc::new(result_schema()))
    .with_annotations(proposing())
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
    .with_raw_output_schema(Arc::new(result_schema()))
    .with_annotations(proposing())
}

fn propose_changes() -> Tool {
    let path = "File path, absolute or relative to the working directory";
    let file = schema(
        json!({
            "path": string(path),
            "original": string("The whole content as it is now, together with modified"),
            "modified": string("The whole content as it should be, of a file that exists"),
            "content": string("The whole content of a new file, or of one to be overwritten"),
            "delete": boolean("True if the file is to be deleted"),
            "rename_to": string("The new path, if the file is to be renamed or moved"),
            "executable": boolean("Whether the file is to be executable"),
            "notes": notes(),
        }),
        &["path"],
    );
    Tool::new(
        TOOLS_OF_EMACS[3],
        "Propose changes to several files at once for user review: edits, new, deleted and renamed \
         files that belong together. The user decides about each hunk of each file in Emacs, and \
         the answer says what became of each file. If the changes are rejected, do not propose \
         them again; do as the answer says.",
        schema(
            json!({
                "changes": array("The files, each once", &file),
                "description": string("What changed and why"),
            }),
            &["changes", "description"],
        ),
    )
    .with_title("Propose changes of several files")
    .with_raw_output_schema(Arc::new(result_schema()))
    .with_annotations(proposing())
}

fn review_comments() -> Tool {
    Tool::new(
        TOOLS_OF_EMACS[4],
        "Return what the user, who reviews your changes in Emacs, has said and what is not handled \
         yet: what was taken out again and why, comments and questions on lines, each with its id. \
         Call it before you go on with a task, if you were not told already.",
        schema(
            json!({
                "path": string("File path; then all that the user has said about this file, also \
                                what you were told before"),
                "from": integer("With path: only from this line on, as a message says"),
            }),
            &[],
        ),
    )
    .with_title("Read what the user says about changes")
    .with_annotations(waiting())
}

fn resolve_comment() -> Tool {
    Tool::new(
        TOOLS_OF_EMACS[5],
        "Answer a comment or question of the user's, after you have done what it says. Your answer \
         is shown below its lines.",
        schema(
            json!({
                "id": string("The comment's id, such as 3"),
                "answer": string(
                    "What you did, or the answer to the question, in a sentence or two",
                ),
            }),
            &["id", "answer"],
        ),
    )
    .with_title("Answer a comment of the user's")
    .with_annotations(proposing())
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
    .with_raw_output_schema(Arc::new(result_schema()))
    .with_annotations(waiting())
}

/// Returns the annotations of a tool that changes only what the user accepts, or no file. Codex refuses a
/// destructive tool if it may not ask the user itself.
fn proposing() -> ToolAnnotations {
    changing().destructive(false)
}

/// Returns the annotations of a tool that changes files, if the user lets it.
fn changing() -> ToolAnnotations {
    ToolAnnotations::new()
        .read_only(false)
        .destructive(true)
        .idempotent(false)
        .open_world(false)
}

/// Returns the annotations of a tool that only waits.
fn waiting() -> ToolAnnotations {
    ToolAnnotations::new()
        .read_only(true)
        .idempotent(true)
        .open_world(false)
}

/// Returns the schema of an argument with notes on lines.
fn notes() -> Value {
    let note = schema(
        json!({
            "line": integer(
                "The line of the content as it should be, from 1; leave it out, or give 0, for the \
                 whole file",
            ),
            "text": string("What to say about it"),
        }),
        &["text"],
    );
    array(
        "Notes for the user on lines of the content as it should be, shown below these in the \
         diff, and never written to the file",
        &note,
    )
}

/// Returns the schema of an argument that is a string.
fn string(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

/// Returns the schema of an argument that is an integer.
fn integer(description: &str) -> Value {
    json!({ "type": "integer", "description": description })
}

/// Returns the schema of an argument that is true or false.
fn boolean(description: &str) -> Value {
    json!({ "type": "boolean", "description": description })
}

/// Returns the schema of an object with `properties`, a JSON object of schemas by name.
fn schema(properties: Value, required: &[&str]) -> JsonObject {
    JsonObject::from_iter([
        ("type".to_owned(), json!("object")),
        ("properties".to_owned(), properties),
        ("required".to_owned(), json!(required)),
    ])
}

/// Returns the schema of the structured results: what is in the message, for programs. Some
/// clients show their model only this, so it has the message, too.
fn result_schema() -> JsonObject {
    let counts = json!({
        "total": integer("Number of hunks"),
        "in_file": integer("Number of hunks that are in the file"),
        "rejected": integer("Number of hunks that the user rejected"),
        "pending": integer("Number of hunks that the user left undecided"),
    });
    let hunk = schema(
        json!({
            "hunk": integer("The hunk's number in its file, from 1; missing for an operation"),
            "operation": choice(
                "What it does to the file other than to its lines",
                &["create", "delete", "rename", "mode", "link"],
            ),
            "decision": choice("What the user decided", &["accepted", "rejected", "none"]),
            "in_file": boolean("Whether it is in the file now; an operation, whether it is done"),
            "was_in_file": boolean("True if it was in the file before the review"),
            "by_rule": boolean("True if a rule of the user's decided it, without a look at it"),
            "comment": string("What the user says about it"),
            "reason": string("Why it could not be applied"),
            "edited": string("The hunk as the user has edited it"),
        }),
        &["decision", "in_file"],
    );
    let file = with_counts(
        &counts,
        json!({
            "path": string("The file's absolute name now"),
            "old_path": string("Its name before, if it was renamed"),
            "kind": string(
                "What was proposed: modified, new file, deleted, renamed, mode, link, new link, \
                 replaced; missing if only lines of one file",
            ),
            "saved": boolean("Whether what is in the file is saved on disk"),
            "hunks": array("The hunks; missing if the review has more than 200", &hunk),
        }),
        &["path"],
    );
    with_counts(
        &counts,
        json!({
            "message": string("What became of the call, and what to do now"),
            "status": choice(
                "accepted: all is in the files; partial: some; rejected: the user declined; \
                 cancelled: not decided; stale: it could not be applied; pending: call \
                 review_result; error: the call failed; done: the call had no review",
                &[
                    "accepted", "partial", "rejected", "cancelled", "stale", "pending", "error",
                    "done",
                ],
            ),
            "id": string("The id for review_result, if it is pending"),
            "comment": string("What the user says about the whole proposal"),
            "reason": string("Why there is no decision"),
            "files": array("What became of each file", &file),
        }),
        &["message", "status"],
    )
}

/// Returns the schema of an object with `counts` and `properties`.
fn with_counts(counts: &Value, mut properties: Value, required: &[&str]) -> JsonObject {
    if let (Some(all), Some(counts)) = (properties.as_object_mut(), counts.as_object()) {
        all.extend(counts.clone());
    }
    schema(properties, required)
}

/// Returns the schema of a string that is one of `values`.
fn choice(description: &str, values: &[&str]) -> Value {
    json!({ "type": "string", "enum": values, "description": description })
}

/// Returns the schema of an array of `items`.
fn array(description: &str, items: &JsonObject) -> Value {
    json!({ "type": "array", "items": items, "description": description })
}

/// Returns `answer` to a call of `tool` in the form of the tool's output schema, if it has one.
pub fn structured(tool: &str, answer: &Answer) -> Option<Value> {
    if !all()
        .iter()
        .any(|it| it.name == tool && it.output_schema.is_some())
    {
        return None;
    }
    let status = if answer.is_error { "error" } else { "done" };
    let mut result = JsonObject::from_iter([
        ("message".to_owned(), json!(answer.text)),
        ("status".to_owned(), json!(status)),
    ]);
    result.extend(answer.result.clone().unwrap_or_default());
    Some(Value::Object(result))
}

/// Returns the structured answer that the review `id` is not decided yet.
pub fn pending_result(id: &str) -> JsonObject {
    JsonObject::from_iter([
        ("status".to_owned(), json!("pending")),
        ("id".to_owned(), json!(id)),
    ])
}

/// Returns a sentence, without its period, that says how much of a review is decided. `progress`
/// is none if Emacs has not begun the review.
pub fn progress(progress: Option<Progress>) -> String {
    match progress {
        None => "Emacs has not taken the call yet; it may be busy".to_owned(),
        Some(Progress { total: 0, .. }) => {
            "Emacs has the call, and the user has not answered yet".to_owned()
        }
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
