//! The text of an agent's settings, with and without the hook.
//!
//! All agents but opencode, which has a plugin, have the same form: an object `hooks`, in it an array
//! for each event, in that objects with a matcher for tools and an array of commands. Only what
//! belongs to the hook changes; comments, order and white space stay.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{json, plugin};
use crate::options::{Client, Scope};
use crate::places::directory_of;

/// How the settings of an agent name what the hook needs.
pub struct Form {
    /// The event before a tool runs, and the one after.
    pub events: [&'static str; 2],
    /// The names of the tools that edit files, as a matcher.
    pub matcher: &'static str,
    /// A day, in the agent's unit.
    pub day: u64,
}

/// Returns the form of the settings of `client`, or `None` if it has a plugin instead.
pub fn form(client: Client) -> Option<Form> {
    Some(match client {
        Client::Opencode => return None,
        Client::Claude => Form {
            events: ["PreToolUse", "PostToolUse"],
            matcher: "Edit|Write|MultiEdit|NotebookEdit",
            day: 86_400,
        },
        Client::Codex => Form {
            events: ["PreToolUse", "PostToolUse"],
            // A shell command can have a patch in a here-document.
            matcher: "apply_patch|Bash",
            day: 86_400,
        },
        Client::Gemini => Form {
            events: ["BeforeTool", "AfterTool"],
            matcher: "replace|write_file",
            day: 86_400_000,
        },
    })
}

/// Returns the settings file of `client`: the user's, or the one of the project in the current
/// directory.
pub fn file(client: Client, scope: Scope) -> PathBuf {
    let (variable, directory, name) = match client {
        Client::Claude => ("CLAUDE_CONFIG_DIR", ".claude", "settings.json"),
        Client::Codex => ("CODEX_HOME", ".codex", "hooks.json"),
        // It has no such variable.
        Client::Gemini => ("", ".gemini", "settings.json"),
        Client::Opencode => return plugin::file(scope),
    };
    match scope {
        Scope::User => directory_of(variable, directory),
        Scope::Project => crate::socket::current_directory().join(directory),
    }
    .join(name)
}

/// Returns the command that runs this program as a hook of `client`, word by word. It reaches Emacs
/// over `socket` if that is not in a usual place.
///
/// # Errors
///
/// A sentence if the program's own name is not known.
pub fn command(client: Client, socket: Option<&Path>) -> Result<Vec<String>, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let program = program.to_str().ok_or("the program's name is not UTF-8")?;
    let mut words = vec![
        program.to_owned(),
        "hook".to_owned(),
        client.name().to_owned(),
    ];
    if let Some(socket) = socket {
        let socket = socket.to_str().ok_or("the socket's name is not UTF-8")?;
        words.extend(["--socket".to_owned(), socket.to_owned()]);
    }
    Ok(words)
}

/// What runs the program that follows it. Agents take any failure but exit status 2 for consent, and
/// Codex even that one if nothing says why. So this is how it ends if the program is killed, aborts
/// or is not there. It is the same in every shell that a user may have.
const GUARD: &str = r#"/bin/sh -c '"$0" "$@" || { [ $? = 2 ] || echo "agent-q-diff failed: an edit before it is made is refused; one that was made was not checked. Tell the user." >&2; exit 2; }' "#;

/// Returns `words` as a command of a shell, which ends with success or with exit status 2.
fn in_shell(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| shell_quoted(word)).collect();
    format!("{GUARD}{}", words.join(" "))
}

/// Returns whether `command` ends with exit status 2 whatever happens to its program. That of an
/// earlier version does not.
pub fn is_guarded(command: &str) -> bool {
    command.starts_with(GUARD)
}

/// Returns `word` as one word of a shell.
fn shell_quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,@%".contains(c);
    if word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Returns whether `command` runs a hook of ours for `client`, by whatever path.
pub fn is_ours(command: &str, client: Client) -> bool {
    program_of(command, client).is_some_and(|program| {
        let program = program.trim_end_matches('\'');
        program.rsplit('/').next() == Some("agent-q-diff")
    })
}

/// Returns the program, as the shell reads it, that `command` runs as a hook of `client`, whatever
/// its options.
pub fn program_of(command: &str, client: Client) -> Option<&str> {
    let words = format!(" hook {}", client.name());
    let command = command.strip_prefix(GUARD).unwrap_or(command);
    let (program, options) = command.split_once(&words)?;
    (options.is_empty() || options.starts_with(' ')).then_some(program)
}

/// Returns `text` with the hook of `client`, which runs `command`, given word by word.
///
/// # Errors
///
/// A sentence, without its full stop, if `text` is no such settings.
pub fn with_hook(text: &str, client: Client, command: &[String]) -> Result<String, String> {
    let Some(form) = form(client) else {
        check_plugin(text)?;
        return Ok(plugin::text(command));
    };
    let command = in_shell(command);
    let wanted = |is_before: bool| Handler {
        matcher: Some(form.matcher.to_owned()),
        command: command.clone(),
        timeout: is_before.then_some(form.day),
    };
    let events = || form.events.into_iter().zip([true, false]);
    if !text.trim().is_empty() {
        let mut is_there = true;
        for (event, is_before) in events() {
            let handlers = handlers(text, event)?;
            let ours: Vec<_> = handlers
                .iter()
                .filter(|it| is_ours(&it.command, client))
                .collect();
            is_there &= matches!(&ours[..], [only] if **only == wanted(is_before));
        }
        if is_there {
            return Ok(text.to_owned());
        }
    }
    let mut text = without_hook(text, client)?;
    if text.trim().is_empty() {
        text = "{}\n".to_owned();
    }
    for (event, is_before) in events() {
        text = with_entry(&text, &["hooks"], "{}")?;
        text = with_entry(&text, &["hooks", event], "[]")?;
        let entry = entry(&wanted(is_before));
        text = json::appended(&text, &["hooks", event], &entry)?;
    }
    Ok(text)
}

/// Returns `text` with `value` at `path`, unless something is there.
fn with_entry(text: &str, path: &[&str], value: &str) -> Result<String, String> {
    let (key, outer) = path.split_last().expect("it is not empty");
    if json::is_at(text, path)? {
        return Ok(text.to_owned());
    }
    json::appended(text, outer, &format!("\"{key}\": {value}"))
}

/// Returns the entry of an event that runs `handler`.
fn entry(handler: &Handler) -> String {
    let mut command = json!({ "type": "command", "command": handler.command });
    if let Some(timeout) = handler.timeout {
        command["timeout"] = timeout.into();
    }
    let entry = json!({ "matcher": handler.matcher, "hooks": [command] });
    serde_json::to_string_pretty(&entry).expect("it has only strings as keys")
}

/// Returns `text` without the hook of `client`, and without what is empty then.
///
/// # Errors
///
/// A sentence, without its full stop, if `text` is no such settings.
pub fn without_hook(text: &str, client: Client) -> Result<String, String> {
    let mut text = text.to_owned();
    if text.trim().is_empty() {
        return Ok(text);
    }
    let Some(form) = form(client) else {
        check_plugin(&text)?;
        return Ok(String::new());
    };
    for event in form.events {
        // Each removal moves what is behind it.
        while let Some((group, handler, is_only)) = place_of(&text, event, client)? {
            let group = group.to_string();
            let handler = handler.to_string();
            let path = ["hooks", event, &group, "hooks", &handler];
            text = json::removed(&text, if is_only { &path[..3] } else { &path })?;
            for path in [&path[..2], &path[..1]] {
                if json::is_empty_at(&text, path)? {
                    text = json::removed(&text, path)?;
                }
            }
        }
    }
    Ok(text)
}

/// Checks that `text` is that of our plugin, or none.
fn check_plugin(text: &str) -> Result<(), String> {
    if text.trim().is_empty() || plugin::is_ours(text) {
        Ok(())
    } else {
        Err("this file is not the plugin agent-q-diff; give it another name".to_owned())
    }
}

/// Returns where the hook of `client` is in `text`, the settings: the indices of its entry at
/// `event` and of its command in that, and whether this is the only one.
fn place_of(
    text: &str,
    event: &str,
    client: Client,
) -> Result<Option<(usize, usize, bool)>, String> {
    let settings = json::value(text)?;
    let groups = settings["hooks"][event].as_array().into_iter().flatten();
    let place = groups.enumerate().find_map(|(group, entry)| {
        let handlers = entry["hooks"].as_array()?;
        let is_ours = |handler: &Value| {
            handler["command"]
                .as_str()
                .is_some_and(|command| is_ours(command, client))
        };
        let handler = handlers.iter().position(is_ours)?;
        Some((group, handler, handlers.len() == 1))
    });
    Ok(place)
}

/// A command that the settings run at an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handler {
    /// The tools for which it is run, or none for all.
    pub matcher: Option<String>,
    /// The command.
    pub command: String,
    /// How long the agent waits, in its unit.
    pub timeout: Option<u64>,
}

/// Returns what `text`, the settings of an agent, runs at `event`.
///
/// # Errors
///
/// A sentence, without its full stop, if `text` is no such settings.
pub fn handlers(text: &str, event: &str) -> Result<Vec<Handler>, String> {
    let settings = json::value(text)?;
    let groups = settings["hooks"][event].as_array().into_iter().flatten();
    let handlers = groups.flat_map(|group| {
        let matcher = group["matcher"].as_str();
        let handlers = group["hooks"].as_array().into_iter().flatten();
        handlers.filter_map(move |handler| {
            Some(Handler {
                matcher: matcher.map(str::to_owned),
                command: handler["command"].as_str()?.to_owned(),
                timeout: handler["timeout"].as_u64(),
            })
        })
    });
    Ok(handlers.collect())
}

/// Returns whether `text`, the settings of `client`, turns its hook off.
pub fn is_off(text: &str, client: Client) -> bool {
    let Ok(settings) = json::value(text) else {
        return false;
    };
    let config = &settings["hooksConfig"];
    let disabled = config["disabled"].as_array().into_iter().flatten();
    let is_disabled = |name: &Value| name.as_str().is_some_and(|name| is_ours(name, client));
    settings["disableAllHooks"] == true
        || config["enabled"] == false
        || disabled.into_iter().any(is_disabled)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMAND: &str = "/opt/agent-q-diff hook claude";

    fn words(command: &str) -> Vec<String> {
        command.split(' ').map(str::to_owned).collect()
    }

    fn with(text: &str) -> String {
        with_hook(text, Client::Claude, &words(COMMAND)).unwrap()
    }

    /// Returns [`COMMAND`] as the settings have it.
    fn guarded_in_json() -> String {
        serde_json::to_string(&in_shell(&words(COMMAND))).unwrap()
    }

    #[test]
    fn new_settings_have_the_hook_before_and_after() {
        let wanted = r#"{
  "hooks": {
    "PreToolUse": [
      {
        "matcher": "Edit|Write|MultiEdit|NotebookEdit",
        "hooks": [
          {
            "type": "command",
            "command": COMMAND,
            "timeout": 86400
          }
        ]
      }
    ],
    "PostToolUse": [
      {
        "matcher": "Edit|Write|MultiEdit|NotebookEdit",
        "hooks": [
          {
            "type": "command",
            "command": COMMAND
          }
        ]
      }
    ]
  }
}
"#
        .replace("COMMAND", &guarded_in_json());
        assert_eq!(with(""), wanted);
        assert_eq!(with("{}\n"), wanted);
        assert!(serde_json::from_str::<serde_json::Value>(&with("")).is_ok());
    }

    /// Settings as users have them.
    const SETTINGS: [&str; 10] = [
        "{}\n",
        "{\n  \"model\": \"opus\"\n}\n",
        "{\n\t\"model\": \"opus\",\n\t\"env\": {\"A\": \"1\"}\n}",
        "{\"model\": \"opus\"}",
        "{ // mine\n  \"model\": \"opus\", // the best\n  /* b */ \"x\": [1,2 , 3]\n}\n",
        "{\r\n    \"model\": \"opus\"\r\n}\r\n",
        "{\n  \"hooks\": {\n    \"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"a\"}]}]\n  },\n  \"z\": 1\n}\n",
        "{\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\n        \"matcher\": \"Bash\",\n        \"hooks\": [ { \"type\": \"command\", \"command\": \"b\" } ]\n      }\n    ]\n  }\n}\n",
        "{\n  \"hooks\": {},\n  \"x\": \"caf\u{e9}\"\n}\n",
        "{\n  \"a\": 1,\n}\n",
    ];

    /// Returns whether all characters of `text` are in `other`, in their order.
    fn is_within(text: &str, other: &str) -> bool {
        let mut rest = other.chars();
        text.chars()
            .all(|wanted| rest.any(|character| character == wanted))
    }

    #[test]
    fn everything_else_stays_byte_for_byte() {
        for text in SETTINGS {
            let set_up = with(text);
            assert!(is_within(text, &set_up), "{text:?} {set_up}");
            let plain = |text: &str| {
                let mut value = json::value(text).unwrap();
                let hooks = value["hooks"].take();
                value.as_object_mut().unwrap().remove("hooks");
                (value, hooks["Stop"].clone())
            };
            assert_eq!(plain(text), plain(&set_up), "{set_up}");
            let before = handlers(text, "PreToolUse").unwrap();
            let after = handlers(&set_up, "PreToolUse").unwrap();
            assert_eq!(after[..after.len() - 1], before, "{set_up}");
            assert!(is_ours(&after[after.len() - 1].command, Client::Claude));
        }
    }

    #[test]
    fn removing_undoes_it_and_doing_it_twice_does_it_once() {
        for text in SETTINGS {
            let set_up = with(text);
            assert_eq!(with(&set_up), set_up, "{text}");
            let removed = without_hook(&set_up, Client::Claude).unwrap();
            // An empty object would be removed with what was put into it.
            let wanted = text.replace("  \"hooks\": {},\n", "");
            assert_eq!(removed, wanted, "{set_up}");
            assert_eq!(without_hook(text, Client::Claude).unwrap(), text);
        }
    }

    #[test]
    fn a_comment_on_the_next_entry_stays() {
        let ours = with("{\n  \"hooks\": {\n    \"PreToolUse\": [\n    ]\n  }\n}\n");
        let mine = "      // mine: lint\n      { \"hooks\": [] }\n    ]";
        let both = ours.replacen("\n    ]", &format!(",\n{mine}"), 1);
        let removed = without_hook(&both, Client::Claude).unwrap();
        assert!(
            removed.contains("// mine: lint\n      { \"hooks\": [] }"),
            "{removed}"
        );
        assert!(!removed.contains("agent-q-diff"), "{removed}");
    }

    #[test]
    fn the_hook_is_known_with_options() {
        assert!(is_ours(
            "/a/agent-q-diff hook claude --socket /s",
            Client::Claude
        ));
        assert!(!is_ours("/a/agent-q-diff hook claudette", Client::Claude));
        let command = "/a/agent-q-diff hook claude --socket /s";
        let text = with_hook("", Client::Claude, &words(command)).unwrap();
        assert_eq!(without_hook(&text, Client::Claude).unwrap(), "{}\n");
    }

    #[test]
    fn blanks_in_the_command_stay() {
        let command = "'/a  b/agent-q-diff' hook claude";
        let words = ["/a  b/agent-q-diff", "hook", "claude"].map(str::to_owned);
        let text = with_hook("{\n\t\"a\": 1\n}", Client::Claude, &words).unwrap();
        assert_eq!(
            handlers(&text, "PreToolUse").unwrap()[0].command,
            format!("{GUARD}{command}")
        );
        assert!(text.contains("\n\t\t\"PreToolUse\""), "{text}");
    }

    #[test]
    fn another_program_or_time_is_replaced() {
        let other = with_hook("", Client::Claude, &words("/old/agent-q-diff hook claude")).unwrap();
        assert_eq!(with(&other), with(""));
        assert_eq!(with(&with("").replace("86400", "60")), with(""));
    }

    #[test]
    fn the_hooks_of_others_in_the_same_entry_stay() {
        let text = with("").replacen(
            "\"hooks\": [\n          {",
            "\"hooks\": [\n          {\"type\": \"command\", \"command\": \"mine\"},\n          {",
            1,
        );
        let removed = without_hook(&text, Client::Claude).unwrap();
        assert!(
            removed.contains("\"mine\"") && !removed.contains("agent-q-diff"),
            "{removed}"
        );
        let [handler] = &handlers(&removed, "PreToolUse").unwrap()[..] else {
            panic!("{removed}");
        };
        assert_eq!(handler.command, "mine");
        assert_eq!(handlers(&removed, "PostToolUse").unwrap(), []);
    }

    #[test]
    fn what_is_no_settings_is_refused() {
        for text in [
            "[]",
            "{",
            "{\"hooks\": 1}",
            "{\"hooks\": {\"PreToolUse\": {}}}",
        ] {
            assert!(
                with_hook(text, Client::Claude, &words(COMMAND)).is_err(),
                "{text}"
            );
        }
    }

    #[test]
    fn the_command_of_an_earlier_version_is_replaced() {
        let guarded = in_shell(&words(COMMAND));
        assert!(is_ours(&guarded, Client::Claude) && is_guarded(&guarded));
        assert!(is_ours(COMMAND, Client::Claude) && !is_guarded(COMMAND));
        let earlier = with("").replace(&guarded_in_json(), &format!("{COMMAND:?}"));
        assert!(earlier.contains(COMMAND) && !earlier.contains("/bin/sh"), "{earlier}");
        assert_eq!(with(&earlier), with(""));
        assert_eq!(without_hook(&earlier, Client::Claude).unwrap(), "{}\n");
    }

    /// Runs the command of the hook in `shell`, with `program` as the program; returns its exit
    /// status, and what it prints on standard error.
    fn run_in(shell: &str, program: &Path) -> (Option<i32>, String) {
        let words = [program.to_str().unwrap(), "hook", "codex"].map(str::to_owned);
        let output = std::process::Command::new(shell)
            .args(["-c", &in_shell(&words)])
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), error)
    }

    #[test]
    fn whatever_happens_to_the_program_the_edit_is_refused() {
        let name = format!("agent-q-diff-{} it's a test", std::process::id());
        let directory = std::env::temp_dir().join(name);
        std::fs::create_dir(&directory).unwrap();
        let program = directory.join("agent-q-diff");
        for shell in ["sh", "bash"] {
            for (text, is_said) in [
                ("exit 0", false),
                ("echo no >&2; exit 2", false),
                ("exit 1", true),
                ("kill -KILL $$", true),
                ("kill -ABRT $$", true),
                ("exit 134", true),
            ] {
                std::fs::write(&program, format!("#!/bin/sh\n{text}\n")).unwrap();
                let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
                std::fs::set_permissions(&program, mode).unwrap();
                let (status, error) = run_in(shell, &program);
                let wanted = if text == "exit 0" { 0 } else { 2 };
                assert_eq!(status, Some(wanted), "{shell}: {text}");
                assert_eq!(error.contains("agent-q-diff failed"), is_said, "{error}");
                assert_eq!(error.is_empty(), text == "exit 0", "{text}: {error}");
            }
            // It is not there, is no program, or may not be run.
            let other = directory.join("text");
            std::fs::write(&other, "").unwrap();
            for program in [directory.join("none"), directory.clone(), other] {
                let (status, error) = run_in(shell, &program);
                assert_eq!(status, Some(2), "{program:?}");
                assert!(error.contains("agent-q-diff failed"), "{error}");
            }
        }
        std::fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn commands_are_known_by_whatever_path() {
        let ours = [
            "/a/agent-q-diff hook claude",
            "'/a b/agent-q-diff' hook claude",
            "agent-q-diff hook claude",
        ];
        assert!(ours.iter().all(|command| is_ours(command, Client::Claude)));
        let others = [
            "/a/agent-q-diff hook gemini",
            "/a/other hook claude",
            "my-agent-q-diff hook claude",
        ];
        assert!(
            !others
                .iter()
                .any(|command| is_ours(command, Client::Claude))
        );
        assert_eq!(shell_quoted("/a/b"), "/a/b");
        assert_eq!(shell_quoted("/a b/it's"), r"'/a b/it'\''s'");
    }

    #[test]
    fn the_plugin_of_opencode_is_a_file_of_its_own() {
        let command = words("/opt/agent-q-diff hook opencode");
        let text = with_hook("", Client::Opencode, &command).unwrap();
        assert!(text.contains(r#"const COMMAND = ["/opt/agent-q-diff","hook","opencode"]"#));
        assert_eq!(plugin::command_of(&text), Some(command.clone()));
        // An earlier one is replaced, another's file is not.
        let other = words("/old/agent-q-diff hook opencode");
        let older = with_hook("", Client::Opencode, &other).unwrap();
        assert_eq!(
            with_hook(&older, Client::Opencode, &command),
            Ok(text.clone())
        );
        assert_eq!(without_hook(&text, Client::Opencode), Ok(String::new()));
        for text in ["export const Mine = 1\n", "// Mine\n"] {
            assert!(with_hook(text, Client::Opencode, &command).is_err());
            assert!(without_hook(text, Client::Opencode).is_err());
        }
    }

    #[test]
    fn gemini_counts_milliseconds() {
        let text = with_hook("", Client::Gemini, &words("agent-q-diff hook gemini")).unwrap();
        let [handler] = &handlers(&text, "BeforeTool").unwrap()[..] else {
            panic!("{text}");
        };
        assert_eq!(handler.timeout, Some(86_400_000));
        assert_eq!(handler.matcher.as_deref(), Some("replace|write_file"));
        assert!(!is_off(&text, Client::Gemini));
        for off in [
            "{\"disableAllHooks\": true}",
            "{\"hooksConfig\": {\"enabled\": false}}",
            "{\"hooksConfig\": {\"disabled\": [\"/x/agent-q-diff hook gemini\"]}}",
        ] {
            assert!(is_off(off, Client::Gemini), "{off}");
        }
    }
}
