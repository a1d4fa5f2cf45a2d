//! What an agent itself says of its settings. It is not asked of a model, and runs no hook then.
//!
//! Measured with Claude Code 2.1.330, Codex 0.169.0 and opencode 1.18.33. Gemini CLI has no such
//! command; versions that do not know theirs say nothing.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::check::other_hook;
use super::{plugin, settings};
use crate::options::Client;
use crate::socket::current_directory;

/// How long an agent may take to answer.
const TIMEOUT: Duration = Duration::from_secs(30);

/// What an agent has said.
#[derive(Debug, PartialEq, Eq)]
pub enum Said {
    /// The hook is run.
    Good(String),
    /// Why the hook is not run.
    Fault(String),
    /// What the user should know.
    Note(String),
}

/// Returns what `client` says of its settings.
pub fn said(client: Client) -> Vec<Said> {
    match client {
        Client::Claude => {
            let mut command = Command::new("claude");
            command.arg("doctor").envs([
                ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
                ("DISABLE_AUTOUPDATER", "1"),
            ]);
            said_by_claude(&lines_of(command, "", |_| false).0)
        }
        Client::Codex => {
            let mut command = Command::new("codex");
            command.arg("app-server");
            let requests = [
                json!({ "id": 0, "method": "initialize", "params": {
                    "clientInfo": { "name": "agent-q-diff", "version": env!("CARGO_PKG_VERSION") } } }),
                json!({ "method": "initialized" }),
                json!({ "id": 1, "method": "hooks/list",
                        "params": { "cwds": [current_directory()] } }),
            ];
            let requests = requests.map(|request| request.to_string()).join("\n");
            let is_answer =
                |line: &str| serde_json::from_str(line).is_ok_and(|line: Value| line["id"] == 1);
            let (lines, _) = lines_of(command, &format!("{requests}\n"), is_answer);
            let answer = lines
                .last()
                .and_then(|line| serde_json::from_str(line).ok());
            said_by_codex(&answer.unwrap_or_default())
        }
        Client::Opencode => {
            let mut command = Command::new("opencode");
            command.args(["debug", "config"]);
            let (out, errors) = lines_of(command, "", |_| false);
            match serde_json::from_str(&out.join("\n")) {
                Ok(config) => said_by_opencode(&config),
                Err(_) => errors
                    .iter()
                    .filter(|line| line.contains("onfig"))
                    .map(|line| Said::Fault(format!("opencode says: {}", plain(line))))
                    .take(1)
                    .collect(),
            }
        }
        Client::Gemini => Vec::new(),
    }
}

/// Returns `line` without the sequences that color it.
fn plain(line: &str) -> String {
    let mut parts = line.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| part.split_once('m').map_or(part, |(_, rest)| rest));
    rest.fold(first, |line, part| line + part)
}

/// Returns the settings that Claude Code calls invalid, in `lines`, which its doctor prints.
fn said_by_claude(lines: &[String]) -> Vec<Said> {
    let lines = lines.iter().skip_while(|line| *line != "Invalid settings");
    let lines = lines.skip(1).map_while(|line| line.strip_prefix("- "));
    lines
        .map(|line| {
            let said = format!("Claude Code says: {line}");
            // An entry alone is left out then, else the whole file.
            if line.contains("ignored") {
                Said::Note(said)
            } else {
                Said::Fault(format!("{said}; it ignores the whole file"))
            }
        })
        .collect()
}

/// Returns what `answer`, Codex's list of its hooks, says about ours.
fn said_by_codex(answer: &Value) -> Vec<Said> {
    let Some(data) = answer["result"]["data"].as_array() else {
        return Vec::new();
    };
    let lists = |name: &str| {
        let lists: Vec<_> = data.iter().filter_map(|it| it[name].as_array()).collect();
        lists.into_iter().flatten()
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let faults = lists("warnings")
        .map(text)
        .chain(lists("errors").map(|error| text(&error["message"])));
    let mut said: Vec<_> = faults
        .map(|fault| Said::Fault(format!("Codex says: {}", fault.replace('\n', " "))))
        .collect();
    for (name, event) in [
        ("preToolUse", "PreToolUse"),
        ("postToolUse", "PostToolUse"),
        ("stop", "Stop"),
    ] {
        let at_event = |hook: &&Value| hook["eventName"] == name;
        let is_ours = |hook: &&Value| settings::is_ours(&text(&hook["command"]), Client::Codex);
        let ours: Vec<_> = lists("hooks").filter(at_event).filter(is_ours).collect();
        let runs = |hook: &&&Value| {
            let trust = hook["trustStatus"].as_str();
            hook["enabled"] != false && matches!(trust, None | Some("trusted" | "managed"))
        };
        said.push(match (ours.first(), ours.iter().find(runs)) {
            // Setup by an earlier version has none there, and every edit is decided all the same.
            (None, _) if name == "stop" => continue,
            (None, _) => Said::Fault(format!(
                "{event}: Codex does not run the hook here; look whether its config.toml has \
                 hooks = false in [features], and whether it trusts this folder"
            )),
            (Some(hook), None) if hook["enabled"] == false => Said::Fault(format!(
                "{event}: the hook is turned off in Codex; turn it on in its /hooks"
            )),
            (Some(_), None) => Said::Fault(format!(
                "{event}: Codex skips the hook, which you have not trusted; trust it in its /hooks"
            )),
            (_, Some(_)) => Said::Good(format!("{event}: Codex runs the hook")),
        });
    }
    let form = settings::form(Client::Codex);
    let others = lists("hooks").filter(|hook| {
        let handler = settings::Handler {
            matcher: hook["matcher"].as_str().map(str::to_owned),
            command: text(&hook["command"]),
            timeout: None,
        };
        hook["eventName"] == "postToolUse"
            && hook["enabled"] != false
            && !settings::is_ours(&handler.command, Client::Codex)
            && form
                .as_ref()
                .is_some_and(|form| form.is_for_edits(&handler))
    });
    let others = others.map(|hook| {
        let (file, command) = (text(&hook["sourcePath"]), text(&hook["command"]));
        Said::Note(other_hook(&file, "PostToolUse", &command))
    });
    said.extend(others.collect::<Vec<_>>());
    said
}

/// Returns what `config`, opencode's settings as it puts them together, says about our plugin.
fn said_by_opencode(config: &Value) -> Vec<Said> {
    let plugins = config["plugin"].as_array().into_iter().flatten();
    let names = plugins.filter_map(|name| name.as_str()?.strip_prefix("file://"));
    let ours: Vec<_> = names
        .filter(|name| name.ends_with(plugin::NAME) && Path::new(name).is_file())
        .collect();
    let mut said = vec![match ours[..] {
        [] => Said::Fault("opencode does not read the plugin here".to_owned()),
        [file] => Said::Good(format!("opencode reads {file}")),
        _ => Said::Fault(format!(
            "opencode reads the plugin more than once, and each edit would be decided as often; \
             leave one of {}",
            ours.join(", ")
        )),
    }];
    let is_on = match &config["formatter"] {
        Value::Object(formatters) => formatters.values().any(|it| it["disabled"] != true),
        other => *other == true,
    };
    if is_on {
        said.push(Said::Note(other_hook(
            "opencode's formatter setting",
            "after an edit",
            "a formatter",
        )));
    }
    said
}

/// Runs `command` with `input`, and returns the lines of its output and of its errors, up to a line
/// that `is_last`. If it takes too long, there are none.
pub fn lines_of(
    mut command: Command,
    input: &str,
    is_last: impl Fn(&str) -> bool,
) -> (Vec<String>, Vec<String>) {
    let (mut out, mut errors) = (Vec::new(), Vec::new());
    let pipes = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let Ok(mut child) = pipes.spawn() else {
        return (out, errors);
    };
    let mut stdin = child.stdin.take();
    if input.is_empty() {
        stdin = None;
    }
    let (sender, lines) = channel();
    send_lines(child.stdout.take(), sender.clone(), true);
    send_lines(child.stderr.take(), sender, false);
    if let Some(stdin) = &mut stdin {
        let _ = stdin.write_all(input.as_bytes());
    }
    let end = Instant::now() + TIMEOUT;
    let is_answered = loop {
        match lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok((line, true)) => {
                let is_end = is_last(&line);
                out.push(line);
                if is_end {
                    break true;
                }
            }
            Ok((line, false)) => errors.push(line),
            Err(error) => break error == std::sync::mpsc::RecvTimeoutError::Disconnected,
        }
    };
    drop(stdin);
    let _ = child.kill();
    let _ = child.wait();
    if is_answered {
        (out, errors)
    } else {
        (Vec::new(), Vec::new())
    }
}

/// Sends each line of `pipe`, with `mark`, to `sender`.
fn send_lines(
    pipe: Option<impl Read + Send + 'static>,
    sender: Sender<(String, bool)>,
    mark: bool,
) {
    let Some(pipe) = pipe else { return };
    thread::spawn(move || {
        for line in BufReader::new(pipe).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).into_owned();
            if sender.send((line, mark)).is_err() {
                return;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_claude_code_calls_invalid_is_said() {
        let lines = [
            "Claude Code doctor",
            "",
            "Invalid settings",
            "- /h/settings.json › cleanupPeriodDays: Expected number, but received string",
            "- /h/settings.json › hooks.Foo: Unknown hook event \"Foo\" was ignored.",
            "",
            "- Not signed in",
        ];
        let said = said_by_claude(&lines.map(str::to_owned));
        assert!(
            matches!(&said[..], [Said::Fault(_), Said::Note(_)]),
            "{said:?}"
        );
        assert_eq!(said_by_claude(&["No problem".to_owned()]), []);
    }

    #[test]
    fn what_codex_runs_and_skips_is_said() {
        let hook = |event: &str, command: &str, trust: &str| {
            json!({ "eventName": event, "command": command, "enabled": true, "matcher": "*",
                    "sourcePath": "/h/config.toml", "trustStatus": trust })
        };
        let (before, after) = ("preToolUse", "postToolUse");
        let said = |hooks: &[Value], warnings: &[&str]| {
            said_by_codex(&json!({ "result": { "data": [
                { "hooks": hooks, "warnings": warnings, "errors": [] }] } }))
        };
        let ours = "/x/agent-q-diff hook codex";
        let all = said(
            &[hook(before, ours, "trusted"), hook(after, ours, "trusted")],
            &[],
        );
        assert!(all.iter().all(|it| matches!(it, Said::Good(_))), "{all:?}");
        let none = said(&[], &["failed to parse hooks config"]);
        assert!(
            none.iter().all(|it| matches!(it, Said::Fault(_))) && none.len() == 3,
            "{none:?}"
        );
        let [Said::Fault(skipped), ..] = &said(&[hook(before, ours, "untrusted")], &[])[..] else {
            panic!("it is not said");
        };
        assert!(skipped.contains("not trusted"), "{skipped}");
        let other = said(&[hook(after, "prettier", "trusted")], &[]);
        assert!(matches!(other.last(), Some(Said::Note(_))), "{other:?}");
        // An older version does not know the question.
        assert_eq!(said_by_codex(&json!({ "error": {} })), []);
    }

    #[test]
    fn opencode_s_formatter_and_a_missing_plugin_are_said() {
        let said = said_by_opencode(&json!({ "plugin": [], "formatter": true }));
        assert!(
            matches!(&said[..], [Said::Fault(_), Said::Note(_)]),
            "{said:?}"
        );
        for formatter in [
            json!(false),
            Value::Null,
            json!({ "a": { "disabled": true } }),
        ] {
            let said = said_by_opencode(&json!({ "formatter": formatter }));
            assert_eq!(said.len(), 1, "{said:?}");
        }
    }

    #[test]
    fn a_program_that_does_not_end_is_read_up_to_its_answer() {
        let mut command = Command::new("sh");
        command.args(["-c", "read line; echo a; echo \"$line\"; exec sleep 600"]);
        let (out, _) = lines_of(command, "question\n", |line| line == "question");
        assert_eq!(out, ["a", "question"]);
    }
}
