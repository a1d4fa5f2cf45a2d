//! The text of an agent's settings, with and without the hook.
//!
//! Only what belongs to the hook changes; comments, order and white space stay.

use serde_json::{Value, json};

use super::json;
use crate::agents::{
    Agent, Dialect, Form, GUARD, Handler, PASSING, Plugin, STEERED, Settings, Steer,
};

/// Returns `words` as a command of a shell.
fn in_shell(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| shell_quoted(word)).collect();
    words.join(" ")
}

/// Returns what the settings run at `event`: `command`, which around a tool ends with success or with
/// exit status 2, and elsewhere with success.
fn wanted(settings: &Settings, event: &str, command: &[String]) -> Handler {
    let command = in_shell(command);
    if let Some(wait) = settings.wait_at(event) {
        return Handler {
            matcher: None,
            command: format!("{PASSING}{command}"),
            timeout: Some(wait),
        };
    }
    Handler {
        matcher: Some(settings.matcher_at(event).to_owned()),
        command: format!("{GUARD}{command}"),
        timeout: (event == settings.before()).then_some(settings.day()),
    }
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

/// Private characters, each for a byte that is not UTF-8.
const BYTES: u32 = 0x10_FF00;

/// Returns `bytes` as text. [`encoded`] returns the same bytes of it, also of what is not UTF-8.
///
/// # Errors
///
/// A sentence, without its period, if they are no text.
pub fn decoded(bytes: &[u8]) -> Result<String, String> {
    if bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]) {
        return Err("it is UTF-16, and agents read UTF-8".to_owned());
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        if chunk.valid().contains(is_byte) {
            return Err("it has characters that nobody can have in settings".to_owned());
        }
        text.push_str(chunk.valid());
        let bytes = chunk.invalid().iter();
        text.extend(bytes.filter_map(|byte| char::from_u32(BYTES + u32::from(*byte))));
    }
    Ok(text)
}

/// Returns the bytes that [`decoded`] made `text` of.
pub fn encoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    for character in text.chars() {
        if is_byte(character) {
            bytes.extend(u8::try_from(u32::from(character) - BYTES));
        } else {
            bytes.extend(character.encode_utf8(&mut [0; 4]).bytes());
        }
    }
    bytes
}

fn is_byte(character: char) -> bool {
    (BYTES..BYTES + 0x100).contains(&u32::from(character))
}

/// Returns `text`, settings of `agent`, as it reads them.
///
/// # Errors
///
/// A sentence, without its period, on why it does not read them.
pub fn read(text: &str, agent: &Agent, settings: &Settings) -> Result<Value, String> {
    if settings.dialect.empty_file && text.trim().is_empty() {
        return Ok(json!({}));
    }
    let value = json::value(text, settings.dialect).and_then(|value| {
        let fault = match fault_of_text(text, settings.dialect)? {
            None => fault_of(&value, settings),
            fault => fault,
        };
        match fault {
            Some(fault) => Err(fault),
            None => Ok(value),
        }
    });
    value.map_err(|error| format!("{error}, and {} {}", agent.title, settings.on_fault))
}

/// Returns what is wrong with `text`, apart from its value, for an agent that reads `dialect`.
fn fault_of_text(text: &str, dialect: Dialect) -> Result<Option<String>, String> {
    if !dialect.other_bytes && text.contains(is_byte) {
        return Ok(Some("it is not UTF-8".to_owned()));
    }
    if dialect.repeated_keys {
        return Ok(None);
    }
    repeated(text, dialect, &["hooks"])
}

/// Returns what is wrong with the hooks in `value`, so that an agent with such `settings` does not
/// read them.
fn fault_of(value: &Value, settings: &Settings) -> Option<String> {
    let dialect = settings.dialect;
    let Some(entries) = value.as_object() else {
        return Some("it is no object".to_owned());
    };
    let is_known = |key: &&String| dialect.keys.is_empty() || dialect.keys.contains(&key.as_str());
    if let Some(key) = entries.keys().find(|key| !is_known(key)) {
        return Some(format!("it has the key \"{}\"", json::beginning(key)));
    }
    let is_none = |value: &Value| dialect.null && value.is_null();
    let hooks = entries.get("hooks").filter(|hooks| !is_none(hooks))?;
    let Some(hooks) = hooks.as_object() else {
        return Some("\"hooks\" is no object".to_owned());
    };
    let events = settings.events();
    let events = events.filter_map(|event| Some((event, hooks.get(event)?)));
    let mut events = events.filter(|(_, groups)| !is_none(groups));
    events.find_map(|(event, groups)| match groups.as_array() {
        None => Some(format!("\"{event}\" in its hooks is no array")),
        Some(groups) if (settings.knows)(groups) => None,
        Some(_) => Some(format!(
            "\"{event}\" in its hooks has an entry that it does not know"
        )),
    })
}

/// Returns what is wrong if an object on the way to `path` in `text` has a key twice.
fn repeated(text: &str, dialect: Dialect, path: &[&str]) -> Result<Option<String>, String> {
    let key = json::repeated_key(text, dialect, path)?;
    let fault = |key: String| {
        let key = json::beginning(&key);
        format!("it has the key \"{key}\" twice in one object")
    };
    Ok(key.map(fault))
}

/// Checks that it is certain which hooks in `text` count.
fn check_keys(text: &str, settings: &Settings) -> Result<(), String> {
    for event in settings.events() {
        if let Some(fault) = repeated(text, Dialect::LAX, &["hooks", event])? {
            return Err(format!("{fault}; leave the one that you need"));
        }
    }
    Ok(())
}

/// Returns the commands of the user's in `text`, settings of `agent`, that run the hook beside something else,
/// each with its event.
pub fn compounds(text: &str, agent: &Agent) -> Vec<(&'static str, String)> {
    let (Form::Settings(settings), Ok(value)) =
        (&agent.setup().form, json::value(text, Dialect::LAX))
    else {
        return Vec::new();
    };
    let events = settings.events();
    let all = events.flat_map(|event| {
        handlers(&value, event)
            .into_iter()
            .map(move |it| (event, it))
    });
    let is_compound = |command: &str| agent.runs_ours(command) && !agent.is_ours(command);
    all.filter(|(_, handler)| is_compound(&handler.command))
        .map(|(event, handler)| (event, handler.command))
        .collect()
}

/// Returns whether `text`, settings of `agent`, say themselves whether it edits with its tools.
pub fn has_steer(text: &str, steer: &Steer) -> bool {
    let value = json::value(text, Dialect::LAX);
    value.is_ok_and(|value| value["env"].get(steer.name).is_some())
}

/// Returns whether `setup` has put `steer` into `text`, settings of `agent`, and it is there as it was.
pub fn is_steered(text: &str, agent: &Agent, steer: &Steer) -> bool {
    let (Form::Settings(settings), Ok(value)) =
        (&agent.setup().form, json::value(text, Dialect::LAX))
    else {
        return false;
    };
    let is_ours = |it: &Handler| {
        let mut words = it.command.split(' ');
        agent.is_ours(&it.command) && words.any(|word| word == STEERED)
    };
    value["env"][steer.name] == steer.value
        && handlers(&value, settings.before()).iter().any(is_ours)
}

/// Returns `text`, settings of an agent that reads `dialect`, with `steer`.
///
/// # Errors
///
/// A sentence, without its period, if it cannot be put there.
fn with_steer(text: &str, dialect: Dialect, steer: &Steer) -> Result<String, String> {
    let entry = format!("\"{}\": \"{}\"", steer.name, steer.value);
    if json::is_at(text, dialect, &["env"])? {
        json::appended(text, dialect, &["env"], &entry)
    } else {
        json::appended(
            text,
            dialect,
            &[],
            &json::entry_around("env", ["{", "}"], &entry),
        )
    }
}

/// Returns `text` with the hook of `agent`, which runs `command`, given word by word, and with [`Steer`] if
/// that has the option [`STEERED`]. Settings that are not there have no text.
///
/// # Errors
///
/// A sentence, without its period, if `text` is no such settings.
pub fn with_hook(text: Option<&str>, agent: &Agent, command: &[String]) -> Result<String, String> {
    let settings = match &agent.setup().form {
        Form::Settings(settings) => settings,
        Form::Plugin(plugin) => {
            check_plugin(text.unwrap_or_default(), plugin)?;
            return Ok(plugin.text(command));
        }
    };
    let steer = agent.setup().steer.as_ref();
    let steer = steer.filter(|_| command.iter().any(|word| word == STEERED));
    if let Some((event, theirs)) = text.and_then(|text| compounds(text, agent).into_iter().next()) {
        return Err(format!(
            "at {event} it has a command of yours that runs the hook and more, so each edit would be \
             decided twice; take the hook out of it first: {theirs}"
        ));
    }
    if let Some(text) = text.filter(|text| !text.trim().is_empty()) {
        let value = read(text, agent, settings)?;
        check_keys(text, settings)?;
        let is_there = settings.events().all(|event| {
            let handlers = handlers(&value, event);
            let ours: Vec<_> = handlers
                .iter()
                .filter(|it| agent.is_ours(&it.command))
                .collect();
            matches!(&ours[..], [only] if **only == wanted(settings, event, command))
        });
        if is_there && steer.is_none_or(|steer| is_steered(text, agent, steer)) {
            return Ok(text.to_owned());
        }
    }
    let mut text = match text {
        Some(text) => without_hook(text, agent)?,
        None => None,
    };
    for event in settings.events() {
        let entry = entry(&wanted(settings, event, command));
        text = Some(with_entry(
            text.as_deref(),
            settings.dialect,
            event,
            &entry,
        )?);
    }
    let text = text.unwrap_or_default();
    match steer {
        Some(steer) if !has_steer(&text, steer) => with_steer(&text, settings.dialect, steer),
        _ => Ok(text),
    }
}

/// Returns `text` with `entry` at `event`, and with what that needs around it.
fn with_entry(
    text: Option<&str>,
    dialect: Dialect,
    event: &str,
    entry: &str,
) -> Result<String, String> {
    let around_event = || json::entry_around(event, ["[", "]"], entry);
    let around_hooks = || json::entry_around("hooks", ["{", "}"], &around_event());
    let made = || format!("{{\n  {}\n}}", around_hooks().replace('\n', "\n  "));
    match text {
        None => Ok(made() + "\n"),
        // Without a newline, it is known that the file was there.
        Some(text) if text.trim().is_empty() => Ok(text.to_owned() + &made()),
        Some(text) if json::is_at(text, dialect, &["hooks", event])? => {
            json::appended(text, dialect, &["hooks", event], entry)
        }
        Some(text) if json::is_at(text, dialect, &["hooks"])? => {
            json::appended(text, dialect, &["hooks"], &around_event())
        }
        Some(text) => json::appended(text, dialect, &[], &around_hooks()),
    }
}

/// Returns the entry of an event that runs `handler`.
fn entry(handler: &Handler) -> String {
    let mut command = json!({ "type": "command", "command": handler.command });
    if let Some(timeout) = handler.timeout {
        command["timeout"] = timeout.into();
    }
    let mut entry = json!({});
    if let Some(matcher) = &handler.matcher {
        entry["matcher"] = json!(matcher);
    }
    entry["hooks"] = json!([command]);
    serde_json::to_string_pretty(&entry).expect("it has only strings as keys")
}

/// Returns `text` without the hook of `agent`, and without what was made around it; `None` if it was
/// made as a whole.
///
/// # Errors
///
/// A sentence, without its period, if `text` is no such settings.
pub fn without_hook(text: &str, agent: &Agent) -> Result<Option<String>, String> {
    let settings = match &agent.setup().form {
        Form::Settings(settings) => settings,
        Form::Plugin(plugin) => {
            check_plugin(text, plugin)?;
            return Ok(None);
        }
    };
    if !text.contains("agent-q-diff") {
        return Ok(Some(text.to_owned()));
    }
    check_keys(text, settings)?;
    let mut text = text.to_owned();
    if let Some(steer) = &agent.setup().steer
        && is_steered(&text, agent, steer)
        && let Some(rest) = json::removed(&text, Dialect::LAX, &["env", steer.name])?
    {
        text = rest;
    }
    for event in settings.events() {
        // Each removal moves what is behind it.
        while let Some((group, handler, is_only)) = place_of(&text, event, agent)? {
            let group = group.to_string();
            let handler = handler.to_string();
            let path = ["hooks", event, &group, "hooks", &handler];
            let path = if is_only { &path[..3] } else { &path };
            match json::removed(&text, Dialect::LAX, path)? {
                Some(rest) if !rest.trim().is_empty() => text = rest,
                rest => return Ok(rest),
            }
        }
    }
    Ok(Some(text))
}

/// Checks that `text` is that of `plugin`, or none.
fn check_plugin(text: &str, plugin: &Plugin) -> Result<(), String> {
    if text.trim().is_empty() || plugin.is_ours(text) {
        Ok(())
    } else {
        Err("this file is not the plugin agent-q-diff; give it another name".to_owned())
    }
}

/// Returns where the hook of `agent` is in `text`, the settings: the indices of its entry at
/// `event` and of its command in that, and whether this is the only one.
fn place_of(
    text: &str,
    event: &str,
    agent: &Agent,
) -> Result<Option<(usize, usize, bool)>, String> {
    let settings = json::value(text, Dialect::LAX)?;
    let groups = settings["hooks"][event].as_array().into_iter().flatten();
    let place = groups.enumerate().find_map(|(group, entry)| {
        let handlers = entry["hooks"].as_array()?;
        let is_ours = |handler: &Value| {
            handler["command"]
                .as_str()
                .is_some_and(|command| agent.is_ours(command))
        };
        let handler = handlers.iter().position(is_ours)?;
        Some((group, handler, handlers.len() == 1))
    });
    Ok(place)
}

/// Returns what `settings`, those of an agent, run at `event`.
pub fn handlers(settings: &Value, event: &str) -> Vec<Handler> {
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
    handlers.collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::agents::{claude, codex, gemini, opencode};

    const COMMAND: &str = "/opt/agent-q-diff hook claude";

    fn words(command: &str) -> Vec<String> {
        command.split(' ').map(str::to_owned).collect()
    }

    fn with(text: &str) -> String {
        with_hook(Some(text), &claude::AGENT, &words(COMMAND)).unwrap()
    }

    fn new(agent: &Agent, command: &str) -> String {
        with_hook(None, agent, &words(command)).unwrap()
    }

    fn settings(agent: &Agent) -> &Settings {
        match &agent.setup().form {
            Form::Settings(settings) => settings,
            Form::Plugin(_) => panic!("{} has a plugin", agent.title),
        }
    }

    fn read(text: &str, agent: &Agent) -> Result<Value, String> {
        super::read(text, agent, settings(agent))
    }

    fn handlers_in(text: &str, agent: &Agent, event: &str) -> Vec<Handler> {
        handlers(&read(text, agent).unwrap(), event)
    }

    /// Returns [`COMMAND`] behind `prefix` as the settings have it.
    fn in_json(prefix: &str) -> String {
        serde_json::to_string(&format!("{prefix}{COMMAND}")).unwrap()
    }

    #[test]
    fn new_settings_have_the_hook_before_and_after() {
        let wanted = r#"{
  "hooks": {
    "PreToolUse": [
      {
        "matcher": "Edit|Write|MultiEdit|NotebookEdit|Bash",
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
    ],
    "UserPromptSubmit": [
      {
        "hooks": [
          {
            "type": "command",
            "command": PASSING,
            "timeout": 10
          }
        ]
      }
    ],
    "PostToolBatch": [
      {
        "hooks": [
          {
            "type": "command",
            "command": PASSING,
            "timeout": 10
          }
        ]
      }
    ],
    "Stop": [
      {
        "hooks": [
          {
            "type": "command",
            "command": PASSING,
            "timeout": 86400
          }
        ]
      }
    ],
    "StopFailure": [
      {
        "hooks": [
          {
            "type": "command",
            "command": PASSING,
            "timeout": 10
          }
        ]
      }
    ],
    "SessionEnd": [
      {
        "hooks": [
          {
            "type": "command",
            "command": PASSING,
            "timeout": 3
          }
        ]
      }
    ]
  }
}
"#
        .replace("COMMAND", &in_json(GUARD))
        .replace("PASSING", &in_json(PASSING));
        assert_eq!(new(&claude::AGENT, COMMAND), wanted);
        let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!(value(&with("{}\n")), value(&wanted));
        assert_eq!(value(&with("")), value(&wanted));
    }

    /// What is in settings beside hooks, and what is in hooks beside ours.
    const PARTS: [&str; 6] = [
        "",
        " ",
        "\n",
        "\n\t\"model\": \"opus\",\n\t\"env\": {\"A\": \"caf\u{e9} \\ud800\"}\n",
        "\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"a\"}]}]",
        "\r\n    \"Stop\": [ ] , \"x\": [1,2 , 3e400]\r\n  ",
    ];

    /// Returns settings of many shapes, as `agent` reads them.
    fn shapes(agent: &Agent) -> Vec<String> {
        let mut hooks: Vec<String> = PARTS.map(str::to_owned).to_vec();
        for event in settings(agent).events() {
            for groups in [
                "",
                " ",
                "\n    ",
                "\n  {\"matcher\": \"Bash\", \"hooks\": [ { \"type\": \"command\", \"command\": \"b\" } ]}\n  ",
                "{\"hooks\": [{\"type\": \"command\", \"command\": \"b\"}]}",
            ] {
                hooks.push(format!("\n    \"{event}\": [{groups}]\n  "));
                hooks.push(format!("\"{event}\": [{groups}], \"Notification\": []"));
            }
        }
        let mut settings: Vec<String> = PARTS.map(str::to_owned).to_vec();
        for inner in hooks {
            let entry = format!("\"hooks\": {{{inner}}}");
            settings.push(entry.clone());
            settings.push(format!("\n  {entry},\n  \"description\": \"\"\n"));
            settings.push(format!("\"description\":1, {entry} "));
        }
        let mut shapes: Vec<String> = settings
            .iter()
            .flat_map(|inner| [format!("{{{inner}}}"), format!("\n {{{inner}}}\r\n\n")])
            .collect();
        if agent == &claude::AGENT {
            shapes.extend(["", "\n", " \r\n"].map(str::to_owned));
            let marked: Vec<_> = shapes[..20]
                .iter()
                .map(|text| format!("\u{feff}{text}"))
                .collect();
            shapes.extend(marked);
        }
        if agent == &gemini::AGENT {
            shapes.push("// mine\n{ // b\n  \"a\": 1 // c\n /* d */ }\n// e\n".to_owned());
            shapes.push("{ // b\n}".to_owned());
            shapes.push("{\"hooks\": { /* none */ }}".to_owned());
            shapes.push("{\"hooks\": {\"AfterTool\": [ // f\n ] // g\n } // h\n}".to_owned());
        }
        shapes.retain(|text| read(text, agent).is_ok());
        shapes
    }

    /// Returns whether all characters of `text` are in `other`, in their order.
    fn is_within(text: &str, other: &str) -> bool {
        let mut rest = other.chars();
        text.chars()
            .all(|wanted| rest.any(|character| character == wanted))
    }

    #[test]
    fn taking_the_hook_out_leaves_every_byte_as_it_was() {
        for agent in [&claude::AGENT, &codex::AGENT, &gemini::AGENT] {
            let command = words(&format!("/opt/agent-q-diff hook {}", agent.name));
            let mut number = 0;
            for text in shapes(agent) {
                number += 1;
                let set_up = with_hook(Some(&text), agent, &command).unwrap();
                assert!(is_within(&text, &set_up), "{text:?} {set_up}");
                for event in settings(agent).events() {
                    let mut after = handlers_in(&set_up, agent, event);
                    let ours = after.pop().unwrap();
                    assert!(agent.is_ours(&ours.command), "{set_up}");
                    assert_eq!(after, handlers_in(&text, agent, event), "{set_up}");
                }
                let again = with_hook(Some(&set_up), agent, &command);
                assert_eq!(again.as_ref(), Ok(&set_up), "{text:?}");
                let removed = without_hook(&set_up, agent).unwrap();
                assert_eq!(removed.as_ref(), Some(&text), "{set_up}");
                assert_eq!(without_hook(&text, agent), Ok(Some(text)));
            }
            assert!(number > 50, "{number}");
            // A file that was not there is gone again.
            let made = with_hook(None, agent, &command).unwrap();
            assert_eq!(without_hook(&made, agent), Ok(None));
        }
    }

    #[test]
    fn bytes_that_are_not_utf_8_stay() {
        for bytes in [&b"{\"a\": \"caf\xe9\"}"[..], b"{\"a\": \"\xff\x80\xc3\"}\n"] {
            let text = decoded(bytes).unwrap();
            assert_eq!(encoded(&text), bytes);
            let removed = without_hook(&with(&text), &claude::AGENT).unwrap();
            assert_eq!(encoded(&removed.unwrap()), bytes);
            assert!(read(&text, &codex::AGENT).is_err());
        }
        assert!(decoded(b"\xff\xfe{\0}\0").is_err());
    }

    /// Measured with Claude Code 2.1.330, Codex 0.169.0 and Gemini CLI 0.61.0.
    #[test]
    fn settings_that_the_agent_does_not_read_are_refused_with_the_reason() {
        let (claude, codex, gemini) = (&claude::AGENT, &codex::AGENT, &gemini::AGENT);
        for (text, reason, agents) in [
            (
                "{\n  // why\n}",
                "a comment in line 2",
                &[claude, codex][..],
            ),
            ("{/* why */}", "a comment in line 1", &[claude, codex]),
            (
                "{\"a\": 1,}",
                "a comma behind the last item",
                &[claude, gemini],
            ),
            ("{\"hooks\": {},}", "a comma behind the last item", &[codex]),
            (
                "{\"hooks\": {\"Stop\": [1,]}}",
                "a comma behind",
                &[claude, codex, gemini],
            ),
            ("\u{feff}{}", "a byte order mark", &[codex, gemini]),
            ("{\u{a0}}", "a key without quotes", &[claude, codex, gemini]),
            (
                "{\"a\": \"x\ty\"}",
                "a control character",
                &[claude, codex, gemini],
            ),
            ("{a: 1}", "a key without quotes", &[claude, codex, gemini]),
            ("{'a': 1}", "a key without quotes", &[claude, codex, gemini]),
            ("{\"a\": 01}", "01", &[claude, codex, gemini]),
            ("{\"a\": NaN}", "NaN", &[claude, codex, gemini]),
            ("{\"a\": 0x1}", "0x1", &[claude, codex, gemini]),
            (
                "{\"a\" 1}",
                "a key without its value",
                &[claude, codex, gemini],
            ),
            (
                "{\"a\": 1 \"b\": 2}",
                "a comma is missing",
                &[claude, codex, gemini],
            ),
            ("{} x", "something behind its end", &[claude, codex, gemini]),
            ("{}\0", "something behind its end", &[claude, codex, gemini]),
            ("{", "its end is missing", &[claude, codex, gemini]),
            ("", "its end is missing", &[codex, gemini]),
            ("[]", "it is no object", &[claude, codex, gemini]),
            ("{\"hooks\": 1}", "is no object", &[claude, codex, gemini]),
            ("{\"hooks\": null}", "is no object", &[codex, gemini]),
            (
                "{\"hooks\": {\"PreToolUse\": {}}}",
                "is no array",
                &[claude, codex],
            ),
            (
                "{\"hooks\": {\"AfterTool\": \"x\"}}",
                "is no array",
                &[gemini],
            ),
            (
                "{\"hooks\": {\"PreToolUse\": [{\"matcher\": 1}]}}",
                "does not know",
                &[claude],
            ),
            ("{\"model\": 1}", "it has the key \"model\"", &[codex]),
            (
                "{\"hooks\": {}, \"hooks\": {}}",
                "\"hooks\" twice",
                &[codex],
            ),
        ] {
            for agent in agents {
                let error = read(text, agent).unwrap_err();
                assert!(error.contains(reason), "{text:?} {agent:?} {error}");
                assert!(error.contains(agent.title), "{error}");
                let set_up = with_hook(Some(text), agent, &words(COMMAND));
                assert!(set_up.is_err() || text.is_empty(), "{text:?} {agent:?}");
            }
        }
        assert!(read("{// c\n}", gemini).is_ok());
        assert!(read("\u{feff}{}", claude).is_ok());
    }

    #[test]
    fn of_a_garbage_line_a_part_is_quoted() {
        let garbage = "x".repeat(5000);
        for text in [
            format!("{{\n{garbage}\n}}"),
            format!("{{\"a\": {garbage}}}"),
        ] {
            let error = read(&text, &claude::AGENT).unwrap_err();
            assert!(
                error.contains("xxx") && error.contains('\u{2026}'),
                "{error}"
            );
            assert!(error.len() < 200, "{error}");
        }
    }

    #[test]
    fn keys_that_are_there_twice_are_refused() {
        let ours = new(&claude::AGENT, COMMAND);
        let ours = ours.trim_end().trim_matches(['{', '}']);
        for text in [
            "{\"hooks\": {}, \"hooks\": {}}".to_owned(),
            "{\"hooks\": {}, \"hook\\u0073\": {}}".to_owned(),
            "{\"hooks\": {\"PreToolUse\": [], \"PreToolUse\": []}}".to_owned(),
            format!("{{{ours}, \"hooks\": {{}}}}"),
        ] {
            let error = with_hook(Some(&text), &claude::AGENT, &words(COMMAND)).unwrap_err();
            assert!(error.contains("twice"), "{error}");
            let removed = without_hook(&text, &claude::AGENT);
            assert_eq!(removed.is_err(), text.contains("agent-q-diff"), "{text}");
            // The last one counts, as for the agent.
            assert_eq!(handlers_in(&text, &claude::AGENT, "PreToolUse"), []);
        }
    }

    #[test]
    fn the_hook_can_be_taken_out_of_a_file_that_is_not_read() {
        for agent in [&claude::AGENT, &codex::AGENT] {
            let command = words(&format!("/opt/agent-q-diff hook {}", agent.name));
            let text = with_hook(Some("{\n  \"description\": \"\"\n}\n"), agent, &command).unwrap();
            let text = text.replace("{\n  \"description\"", "{ // mine\n  \"description\"");
            let removed = without_hook(&text, agent).unwrap();
            let wanted = "{ // mine\n  \"description\": \"\"\n}\n";
            assert_eq!(removed.as_deref(), Some(wanted), "{}", agent.title);
        }
    }

    #[test]
    fn a_command_of_the_user_s_that_runs_the_hook_and_more_stays() {
        let mine = "/opt/agent-q-diff hook claude && notify";
        let ours = new(&claude::AGENT, COMMAND);
        let text = ours.replacen(&in_json(GUARD), &format!("{mine:?}"), 1);
        let left = without_hook(&text, &claude::AGENT).unwrap().unwrap();
        let named = compounds(&left, &claude::AGENT);
        assert_eq!(named, [("PreToolUse", mine.to_owned())]);
        assert_eq!(handlers_in(&left, &claude::AGENT, "Stop"), []);
        let error = with_hook(Some(&left), &claude::AGENT, &words(COMMAND)).unwrap_err();
        assert!(error.contains("twice") && error.ends_with(mine), "{error}");
    }

    #[test]
    fn the_hook_is_taken_out_with_its_options() {
        let command = "/a/agent-q-diff hook claude --socket /s";
        let text = with_hook(Some("{}\n"), &claude::AGENT, &words(command)).unwrap();
        let removed = without_hook(&text, &claude::AGENT).unwrap();
        assert_eq!(removed.as_deref(), Some("{}\n"));
    }

    #[test]
    fn blanks_in_the_command_stay() {
        let command = "'/a  b/agent-q-diff' hook claude";
        let words = ["/a  b/agent-q-diff", "hook", "claude"].map(str::to_owned);
        let text = with_hook(Some("{\n\t\"a\": 1\n}"), &claude::AGENT, &words).unwrap();
        let handlers = handlers_in(&text, &claude::AGENT, "PreToolUse");
        assert_eq!(handlers[0].command, format!("{GUARD}{command}"));
        assert!(text.contains("\n\t\t\"PreToolUse\""), "{text}");
    }

    #[test]
    fn another_program_or_time_is_replaced() {
        let wanted = new(&claude::AGENT, COMMAND);
        let other = new(&claude::AGENT, "/old/agent-q-diff hook claude");
        assert_eq!(with(&other), wanted);
        assert_eq!(with(&wanted.replace("86400", "60")), wanted);
    }

    #[test]
    fn the_hooks_of_others_in_the_same_entry_stay() {
        let text = new(&claude::AGENT, COMMAND).replacen(
            "\"hooks\": [\n          {",
            "\"hooks\": [\n          {\"type\": \"command\", \"command\": \"mine\"},\n          {",
            1,
        );
        let removed = without_hook(&text, &claude::AGENT).unwrap().unwrap();
        assert!(
            removed.contains("\"mine\"") && !removed.contains("agent-q-diff"),
            "{removed}"
        );
        let [handler] = &handlers_in(&removed, &claude::AGENT, "PreToolUse")[..] else {
            panic!("{removed}");
        };
        assert_eq!(handler.command, "mine");
        assert_eq!(handlers_in(&removed, &claude::AGENT, "PostToolUse"), []);
    }

    #[test]
    fn the_command_of_an_earlier_version_is_replaced() {
        let guarded = format!("{GUARD}{COMMAND}");
        assert!(claude::AGENT.is_ours(&guarded) && guarded.starts_with(GUARD));
        assert!(claude::AGENT.is_ours(COMMAND) && !COMMAND.starts_with(GUARD));
        let wanted = new(&claude::AGENT, COMMAND);
        let earlier = wanted
            .replace(&in_json(GUARD), &format!("{COMMAND:?}"))
            .replace(&in_json(PASSING), &format!("{COMMAND:?}"));
        assert!(
            earlier.contains(COMMAND) && !earlier.contains("/bin/sh"),
            "{earlier}"
        );
        assert_eq!(with(&earlier), wanted);
        assert_eq!(without_hook(&earlier, &claude::AGENT), Ok(None));
    }

    #[test]
    fn settings_of_an_earlier_version_get_the_events_that_they_lack() {
        for agent in [&claude::AGENT, &codex::AGENT, &gemini::AGENT] {
            let command = COMMAND.replace("claude", agent.name);
            let wanted = new(agent, &command);
            let mut earlier: Value = serde_json::from_str(&wanted).unwrap();
            let hooks = earlier["hooks"].as_object_mut().unwrap();
            let end = agent.events.ends[0];
            let known = [settings(agent).before(), settings(agent).after(), end];
            hooks.retain(|event, _| known.contains(&event.as_str()));
            hooks[end][0]["hooks"][0] = json!({ "type": "command", "command": command });
            let updated = with_hook(Some(&earlier.to_string()), agent, &words(&command)).unwrap();
            let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
            assert_eq!(value(&updated), value(&wanted), "{}", agent.title);
        }
    }

    /// Runs the command of the hook at `event` in `shell`, with `program` as the program; returns its
    /// exit status, and what it prints on standard error.
    fn run_in(shell: &str, event: &str, program: &Path) -> (Option<i32>, String) {
        let words = [program.to_str().unwrap(), "hook", "codex"].map(str::to_owned);
        let settings = settings(&codex::AGENT);
        let output = std::process::Command::new(shell)
            .args(["-c", &wanted(settings, event, &words).command])
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), error)
    }

    #[test]
    fn whatever_happens_to_the_program_an_edit_is_refused_and_a_prompt_is_not() {
        let turns: Vec<_> = settings(&codex::AGENT).turns().collect();
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
                for (event, _) in &turns {
                    assert_eq!(run_in(shell, event, &program).0, Some(0), "{event}: {text}");
                }
                let (status, error) = run_in(shell, "PreToolUse", &program);
                let wanted = if text == "exit 0" { 0 } else { 2 };
                assert_eq!(status, Some(wanted), "{shell}: {text}");
                assert_eq!(error.contains("agent-q-diff failed"), is_said, "{error}");
                assert_eq!(error.is_empty(), text == "exit 0", "{text}: {error}");
            }
            // It is not there, is no program, or may not be run.
            let other = directory.join("text");
            std::fs::write(&other, "").unwrap();
            for program in [directory.join("none"), directory.clone(), other] {
                for (event, _) in &turns {
                    assert_eq!(run_in(shell, event, &program).0, Some(0), "{program:?}");
                }
                let (status, error) = run_in(shell, "PreToolUse", &program);
                assert_eq!(status, Some(2), "{program:?}");
                assert!(error.contains("agent-q-diff failed"), "{error}");
            }
        }
        std::fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn words_are_quoted_where_a_shell_needs_it() {
        assert_eq!(shell_quoted("/a/b"), "/a/b");
        assert_eq!(shell_quoted("/a b/it's"), r"'/a b/it'\''s'");
    }

    #[test]
    fn the_plugin_of_opencode_is_a_file_of_its_own() {
        let command = words("/opt/agent-q-diff hook opencode");
        let text = with_hook(None, &opencode::AGENT, &command).unwrap();
        assert!(text.contains(r#"const COMMAND = ["/opt/agent-q-diff","hook","opencode"]"#));
        let Form::Plugin(plugin) = &opencode::AGENT.setup().form else {
            panic!("it has settings");
        };
        assert_eq!(plugin.command_of(&text), Some(command.clone()));
        // An earlier one is replaced, another's file is not.
        let other = words("/old/agent-q-diff hook opencode");
        let older = with_hook(None, &opencode::AGENT, &other).unwrap();
        assert_eq!(
            with_hook(Some(&older), &opencode::AGENT, &command),
            Ok(text.clone())
        );
        assert_eq!(without_hook(&text, &opencode::AGENT), Ok(None));
        for text in ["export const Mine = 1\n", "// Mine\n"] {
            assert!(with_hook(Some(text), &opencode::AGENT, &command).is_err());
            assert!(without_hook(text, &opencode::AGENT).is_err());
        }
    }

    #[test]
    fn gemini_counts_milliseconds() {
        let text = new(&gemini::AGENT, "agent-q-diff hook gemini");
        let [handler] = &handlers_in(&text, &gemini::AGENT, "BeforeTool")[..] else {
            panic!("{text}");
        };
        assert_eq!(handler.timeout, Some(86_400_000));
        assert_eq!(
            handler.matcher.as_deref(),
            Some("replace|write_file|run_shell_command")
        );
    }
}
