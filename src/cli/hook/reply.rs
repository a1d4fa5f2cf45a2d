//! What an agent is answered.

use std::path::Path;

use rmcp::model::JsonObject;
use serde_json::{Value, json};

use crate::options::{Client, Hook};

/// What was decided about an edit.
pub enum Verdict {
    /// The tool runs as the model called it.
    Allow,
    /// The tool runs with this input.
    Change(JsonObject),
    /// The tool does not run; the model reads why.
    Deny(String),
}

/// Returns a sentence that says what the user can do if no edit of `agent` can be decided.
pub fn how_to_go_on(agent: &str) -> String {
    format!(
        "Do not edit by other means; tell the user. Only the user can turn this review off, by \
         starting {agent} with AGENT_Q_DIFF=off in its environment."
    )
}

/// Returns `text` with a full stop, unless it ends a sentence already.
pub fn sentence(text: &str) -> String {
    let is_ended = text.ends_with(['.', '!', '?']);
    format!("{text}{}", if is_ended { "" } else { "." })
}

/// Returns the message that an edit of `path`, if that is known, cannot be shown; `reason` may name
/// the file already. If the edit `has_waited` for others, these may be why. It has no full stop, since
/// Codex appends one.
pub fn no_edit(path: Option<&Path>, reason: &str, has_waited: bool) -> String {
    let path = path.map(|path| path.display().to_string());
    let name = path.filter(|path| !reason.contains(path.as_str()));
    let name = name.map_or_else(String::new, |path| format!("{path}: "));
    let advice = if has_waited {
        ". An earlier edit was decided first: read the file, and make your edit anew"
    } else {
        ""
    };
    format!(
        "agent-q-diff cannot show this edit to the user, so it was not made: {name}{reason}{advice}"
    )
}

/// Returns the answer to an event before an edit whose tool was called with `input`.
///
/// # Errors
///
/// The reason of a denial, if the agent reads it best on standard error.
pub fn before(options: &Hook, verdict: Verdict, input: &JsonObject) -> Result<Value, String> {
    let Some(client) = options.client else {
        return match verdict {
            Verdict::Deny(reason) if options.reads_output => Ok(denied(&reason)),
            // All agents with Claude Code's events understand a refusal by the exit status.
            Verdict::Deny(reason) => Err(reason),
            Verdict::Allow | Verdict::Change(_) => {
                Ok(decision(options, json!({ "permissionDecision": "allow" })))
            }
        };
    };
    Ok(match client {
        // Its plugin reads this.
        Client::Opencode => match verdict {
            Verdict::Allow => json!({ "decision": "allow" }),
            Verdict::Change(input) => json!({ "decision": "allow", "input": input }),
            Verdict::Deny(reason) => json!({ "decision": "deny", "reason": reason }),
        },
        Client::Claude | Client::Codex => {
            let decision = match verdict {
                // Codex takes no consent without an input.
                Verdict::Allow if client == Client::Codex => {
                    json!({ "permissionDecision": "allow", "updatedInput": input })
                }
                Verdict::Allow => json!({ "permissionDecision": "allow" }),
                Verdict::Change(input) => {
                    json!({ "permissionDecision": "allow", "updatedInput": input })
                }
                Verdict::Deny(reason) => {
                    json!({ "permissionDecision": "deny", "permissionDecisionReason": reason })
                }
            };
            hook_output("PreToolUse", decision)
        }
        Client::Gemini => match verdict {
            Verdict::Allow => json!({ "decision": "allow" }),
            Verdict::Change(input) => {
                let mut reply = hook_output("BeforeTool", json!({ "tool_input": input }));
                reply["decision"] = "allow".into();
                reply
            }
            Verdict::Deny(reason) => json!({ "decision": "deny", "reason": reason }),
        },
    })
}

/// Returns a refusal, with its `reason`, for an agent that reads it on standard output.
pub fn denied(reason: &str) -> Value {
    let denial = json!({
        "permissionDecision": "deny",
        "permissionDecisionReason": reason,
    });
    with_output(denial.clone(), hook_output("PreToolUse", denial))
}

/// Returns `decision` about an edit of another agent than those that we know.
fn decision(options: &Hook, decision: Value) -> Value {
    let output = hook_output("PreToolUse", decision.clone());
    if options.reads_output {
        with_output(decision, output)
    } else {
        output
    }
}

/// Returns the object `plain`, as Copilot CLI reads it, with that of Claude Code, `output`, in it.
fn with_output(mut plain: Value, output: Value) -> Value {
    plain["hookSpecificOutput"] = output["hookSpecificOutput"].clone();
    plain
}

/// Returns the answer to an event after an edit, with what the model is `told`.
pub fn after(options: &Hook, told: &str) -> Value {
    if options.reads_output {
        let told = json!({ "additionalContext": told });
        return with_output(told.clone(), hook_output("PostToolUse", told));
    }
    let name = match options.client {
        // A decision "block" would take the place of the tool's result, but in a script that the
        // model has written, it is an exception: the rest of the script does not run.
        Some(Client::Claude | Client::Codex) | None => "PostToolUse",
        Some(Client::Opencode) => return json!({ "output": told }),
        Some(Client::Gemini) => "AfterTool",
    };
    hook_output(name, json!({ "additionalContext": told }))
}

/// Returns an answer with `output`, a JSON object, for the event `name`.
fn hook_output(name: &str, mut output: Value) -> Value {
    output["hookEventName"] = name.into();
    json!({ "hookSpecificOutput": output })
}
