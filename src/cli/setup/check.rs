//! Checks that an agent will run the hook, as far as that can be seen without a model.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::hook::last_run;
use crate::options::{Check, Client, Scope};
use crate::socket::{Call, Request, Texts, current_directory, sockets};

use super::ask::{self, Said};
use super::settings::{self, Form, Handler};
use super::{plugin, records};

/// An edit without the hook comes at least this long after the last one with it. An agent notes an
/// edit a moment after it has run the hook.
const MARGIN: Duration = Duration::from_secs(10);

/// How long Emacs may take to say that it is there.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Says what is as it should be, and what is not.
pub async fn run(options: Check) -> ExitCode {
    let client = options.client;
    let files = settings_files(client);
    let (layers, mut findings) = read_all(client, &files);
    match settings::form(client) {
        Some(form) => {
            let events = form.events().into_iter();
            findings.extend(events.map(|event| of_event(client, &form, event, &layers)));
            findings.extend(of_switches(client, &layers));
            findings.extend(of_other_hooks(client, &form, &layers));
        }
        None => findings.push(of_plugin(client, &files)),
    }
    findings.extend(of_environment(client));
    let agent = of_agent(client);
    if agent.is_good() {
        findings.extend(ask::said(client).into_iter().map(Finding::from));
    }
    findings.push(of_runs(client, &files));
    findings.push(agent);
    findings.push(of_emacs(&options).await);
    for finding in &findings {
        let (word, text) = match finding {
            Finding::Good(text) => ("ok     ", text),
            Finding::Missing(text) => ("MISSING", text),
            Finding::Note(text) => ("note   ", text),
        };
        println!("{word}  {text}");
    }
    println!("\n{}", advice(client));
    let is_missing = |finding: &Finding| matches!(finding, Finding::Missing(_));
    ExitCode::from(u8::from(findings.iter().any(is_missing)))
}

/// What has been found.
enum Finding {
    /// This is as it should be.
    Good(String),
    /// This is not, and how to mend it.
    Missing(String),
    /// This keeps no hook from being run, and the user should know it.
    Note(String),
}

impl Finding {
    fn is_good(&self) -> bool {
        matches!(self, Self::Good(_))
    }
}

impl From<Result<String, String>> for Finding {
    fn from(result: Result<String, String>) -> Self {
        match result {
            Ok(text) => Self::Good(text),
            Err(text) => Self::Missing(text),
        }
    }
}

impl From<Said> for Finding {
    fn from(said: Said) -> Self {
        match said {
            Said::Good(text) => Self::Good(text),
            Said::Fault(text) => Self::Missing(text),
            Said::Note(text) => Self::Note(text),
        }
    }
}

/// Returns the files from which `client`, if it is started here, may read its settings. What is in
/// the first ones overrides the others.
fn settings_files(client: Client) -> Vec<PathBuf> {
    let user = settings::file(client, Scope::User);
    let project = settings::file(client, Scope::Project);
    let mut files = match client {
        Client::Claude => {
            let mut files = managed_by_claude();
            files.extend([project.with_file_name("settings.local.json"), project, user]);
            files
        }
        Client::Codex => vec![project, user],
        Client::Gemini => {
            let named = |name| std::env::var_os(name).filter(|value| !value.is_empty());
            let place = if cfg!(target_os = "macos") {
                "/Library/Application Support/GeminiCli/settings.json"
            } else {
                "/etc/gemini-cli/settings.json"
            };
            let system = named("GEMINI_CLI_SYSTEM_SETTINGS_PATH")
                .map_or_else(|| PathBuf::from(place), PathBuf::from);
            let defaults = named("GEMINI_CLI_SYSTEM_DEFAULTS_PATH").map_or_else(
                || system.with_file_name("system-defaults.json"),
                PathBuf::from,
            );
            vec![system, project, user, defaults]
        }
        Client::Opencode => plugin::files(),
    };
    // In the home directory, the project's file is the user's.
    let mut seen = HashSet::new();
    files.retain(|file| seen.insert(file.clone()));
    files
}

/// Returns the settings files of whoever administers this machine for Claude Code.
fn managed_by_claude() -> Vec<PathBuf> {
    let directory = managed_directory();
    let parts = fs::read_dir(directory.join("managed-settings.d"));
    let parts = parts.into_iter().flatten().flatten().map(|it| it.path());
    let mut files: Vec<_> = parts
        .filter(|file| file.extension().is_some_and(|name| name == "json"))
        .collect();
    files.sort();
    files.reverse();
    files.push(directory.join("managed-settings.json"));
    files
}

fn managed_directory() -> &'static Path {
    Path::new(if cfg!(target_os = "macos") {
        "/Library/Application Support/ClaudeCode"
    } else {
        "/etc/claude-code"
    })
}

/// Settings that an agent reads.
struct Layer<'f> {
    file: &'f Path,
    settings: Value,
}

impl Layer<'_> {
    /// Returns whether the user cannot change them.
    fn is_managed(&self) -> bool {
        self.file.starts_with(managed_directory())
    }
}

/// Reads `files` as `client` does, and says which of them it does not read.
fn read_all(client: Client, files: &[PathBuf]) -> (Vec<Layer<'_>>, Vec<Finding>) {
    let (mut layers, mut findings) = (Vec::new(), Vec::new());
    if settings::form(client).is_none() {
        return (layers, findings);
    }
    for file in files {
        let read = super::read(file).and_then(|bytes| match bytes {
            Some(bytes) => settings::read(&settings::decoded(&bytes)?, client).map(Some),
            None => Ok(None),
        });
        match read {
            Ok(Some(settings)) => layers.push(Layer { file, settings }),
            Ok(None) => {}
            Err(error) => findings.push(Finding::Missing(format!("{}: {error}", file.display()))),
        }
    }
    (layers, findings)
}

/// Looks whether `layers`, settings of `client`, switch its hook off.
fn of_switches(client: Client, layers: &[Layer<'_>]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut off = |layer: &Layer<'_>, what: &str| {
        let file = layer.file.display();
        findings.push(Finding::Missing(format!(
            "{file} turns the hook off: {what}"
        )));
    };
    // The first that says anything counts.
    let first = |path: &str| {
        let mut found = layers
            .iter()
            .filter_map(|layer| Some((layer, layer.settings.pointer(path)?)));
        found.next()
    };
    match client {
        Client::Claude => {
            if let Some((layer, value)) = first("/disableAllHooks")
                && *value == true
            {
                off(layer, "disableAllHooks");
            }
            for variable in CLAUDE_SWITCHES.iter().chain(&["AGENT_Q_DIFF"]) {
                if let Some((layer, value)) = first(&format!("/env/{variable}"))
                    && value
                        .as_str()
                        .is_some_and(|value| is_switch(variable, value))
                {
                    off(layer, &format!("it sets {variable} in \"env\""));
                }
            }
            let managed = || layers.iter().filter(|layer| layer.is_managed());
            let has_hook = |layer: &Layer<'_>| layer.settings.to_string().contains("agent-q-diff");
            if managed().any(has_hook) {
                return findings;
            }
            for layer in managed() {
                let only_plugins = &layer.settings["strictPluginOnlyCustomization"];
                let has_hooks = |list: &Vec<Value>| list.iter().any(|it| it == "hooks");
                if layer.settings["allowManagedHooksOnly"] == true {
                    off(layer, "allowManagedHooksOnly");
                } else if *only_plugins == true || only_plugins.as_array().is_some_and(has_hooks) {
                    off(layer, "strictPluginOnlyCustomization");
                }
            }
        }
        Client::Gemini => {
            if let Some((layer, value)) = first("/hooksConfig/enabled")
                && *value == false
            {
                off(layer, "\"enabled\" in hooksConfig");
            }
            let is_ours = |name: &Value| {
                name.as_str()
                    .is_some_and(|name| settings::is_ours(name, client))
            };
            for layer in layers {
                let disabled = layer.settings["hooksConfig"]["disabled"].as_array();
                if disabled.is_some_and(|names| names.iter().any(is_ours)) {
                    off(layer, "\"disabled\" in hooksConfig");
                }
            }
        }
        // Codex is asked.
        Client::Codex | Client::Opencode => {}
    }
    findings
}

/// Variables by which Claude Code is told to run no hook; some of its options set them.
const CLAUDE_SWITCHES: [&str; 3] = [
    "CLAUDE_CODE_SIMPLE",
    "CLAUDE_CODE_SAFE_MODE",
    "CLAUDE_CODE_RESTRICTED",
];

/// Returns whether `value` of `variable` in the environment keeps a hook from being run.
fn is_switch(variable: &str, value: &str) -> bool {
    let value = value.to_lowercase();
    match variable {
        "AGENT_Q_DIFF" => value == "off",
        _ => matches!(value.as_str(), "1" | "true" | "yes" | "on"),
    }
}

/// Names what else `layers`, settings of `client`, run after an edit.
fn of_other_hooks(client: Client, form: &Form, layers: &[Layer<'_>]) -> Vec<Finding> {
    // Codex has further places, and is asked.
    if client == Client::Codex {
        return Vec::new();
    }
    let event = form.after;
    let others = layers.iter().flat_map(|layer| {
        let handlers = settings::handlers(&layer.settings, event).into_iter();
        handlers
            .filter(|it| !settings::is_ours(&it.command, client) && form.is_for_edits(it))
            .map(|it| other_hook(&layer.file.display().to_string(), event, &it.command))
    });
    others.map(Finding::Note).collect()
}

/// Returns what it means that `file` also runs `command` at `event`, after an edit.
pub fn other_hook(file: &str, event: &str, command: &str) -> String {
    format!(
        "{event}: {file} also runs {command}; what that changes in a file after an edit is told to \
         you and the agent, and is no part of what you decided"
    )
}

/// Looks whether `client` has edited files without running its hook. What it did before its settings,
/// `files`, were written does not count.
fn of_runs(client: Client, files: &[PathBuf]) -> Finding {
    let last_run = last_run::get(client);
    let written = files
        .iter()
        .filter_map(|file| fs::metadata(file).ok()?.modified().ok());
    let Some(since) = written.chain(last_run).max() else {
        return Finding::Good("no edit was to be decided yet".to_owned());
    };
    let edits = records::edits_after(client, since + MARGIN);
    if let Some(edit) = edits.iter().max_by_key(|edit| edit.at) {
        let title = client.title();
        let (path, ago) = (&edit.path, ago(edit.at));
        let count = match edits.len() {
            1 => String::new(),
            n => format!(" (the last of {n} such edits)"),
        };
        return Finding::Missing(format!(
            "{title} edited {path} {ago}, and did not run the hook{count}; mend what is MISSING \
             above, if anything is, and start it anew{}",
            without(client)
        ));
    }
    Finding::Good(match last_run {
        Some(time) => format!("the hook was last run {}", ago(time)),
        None => "the hook has not been run yet".to_owned(),
    })
}

/// Returns without what `client` has to be started so that it runs hooks.
fn without(client: Client) -> &'static str {
    match client {
        Client::Claude => ", without --bare, --safe-mode and --setting-sources",
        Client::Codex => ", without -c features.hooks=false; trust the hook in its /hooks",
        Client::Gemini => ", without --acp",
        Client::Opencode => ", without --pure",
    }
}

/// Returns how long ago `time` was, in words.
fn ago(time: SystemTime) -> String {
    let seconds = time.elapsed().unwrap_or_default().as_secs();
    let (n, unit) = match seconds {
        0..60 => (seconds, "second"),
        60..3600 => (seconds / 60, "minute"),
        3600..86_400 => (seconds / 3600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{n} {unit}{} ago", if n == 1 { "" } else { "s" })
}

/// Looks whether one of `files` is the plugin of `client`.
fn of_plugin(client: Client, files: &[PathBuf]) -> Finding {
    let set_up = format!("agent-q-diff setup {}", client.name());
    let texts = files.iter().filter_map(|file| {
        let text = String::from_utf8(super::read(file).ok()??).ok()?;
        plugin::is_ours(&text).then_some((file, text))
    });
    let Some((file, text)) = texts.into_iter().next() else {
        return Finding::Missing(format!("there is no plugin; {set_up} puts it there"));
    };
    let file = file.display();
    let command = plugin::command_of(&text).filter(|command| plugin::text(command) == text);
    let Some(command) = command else {
        return Finding::Missing(format!(
            "{file} is not the plugin of this version; {set_up} mends it"
        ));
    };
    Finding::from(
        of_program(&command[0])
            .map(|()| format!("{file} runs {}", command.join(" ")))
            .map_err(|error| format!("in {file}, {error}; {set_up} mends it")),
    )
}

/// Looks whether one of `layers` runs the hook of `client` at `event`.
fn of_event(client: Client, form: &Form, event: &str, layers: &[Layer<'_>]) -> Finding {
    let set_up = format!("agent-q-diff setup {}", client.name());
    let ours = layers.iter().find_map(|layer| {
        let handlers = settings::handlers(&layer.settings, event).into_iter();
        let ours = handlers.filter(|it| settings::is_ours(&it.command, client));
        Some((layer.file.display(), ours.into_iter().next()?))
    });
    let Some((file, handler)) = ours else {
        if event == form.over {
            let title = client.title();
            return Finding::Note(format!(
                "{event}: no settings that {title} reads run the hook, so an edit that you accepted \
                 and {title} does not make is known a minute later, or when it goes on; {set_up} \
                 puts it there"
            ));
        }
        return Finding::Missing(format!(
            "{event}: no settings that {} reads run the hook; {set_up} puts it there",
            client.title()
        ));
    };
    Finding::from(
        of_handler(client, form, event, &handler)
            .map(|()| format!("{event}: {file} runs {}", handler.command))
            .map_err(|error| format!("{event}: in {file}, {error}; {set_up} mends it")),
    )
}

/// Looks whether `handler`, the hook of `client` at `event`, is one that holds.
fn of_handler(client: Client, form: &Form, event: &str, handler: &Handler) -> Result<(), String> {
    if event == form.over {
        return if settings::is_guarded(&handler.command) {
            Err("a failure would have the agent go on".to_owned())
        } else {
            of_program_in(client, &handler.command)
        };
    }
    if handler.matcher.as_deref() != Some(form.matcher) {
        return Err("it is not run for all tools that edit files".to_owned());
    }
    if event == form.before && handler.timeout.is_none_or(|timeout| timeout < form.day) {
        return Err(
            "the agent waits for less than a day, and then edits without a decision".to_owned(),
        );
    }
    if !settings::is_guarded(&handler.command) {
        return Err(
            "the agent edits without a decision if the program is killed or gone".to_owned(),
        );
    }
    of_program_in(client, &handler.command)
}

/// Looks whether there is the program that `command`, the hook of `client`, runs.
fn of_program_in(client: Client, command: &str) -> Result<(), String> {
    let program = settings::program_of(command, client).unwrap_or_default();
    of_program(&program.trim_matches('\'').replace(r"'\''", "'"))
}

/// Looks whether there is `program`, if it is given with its directory.
fn of_program(program: &str) -> Result<(), String> {
    if program.contains('/') && !Path::new(program).is_file() {
        return Err(format!("there is no program {program}"));
    }
    Ok(())
}

/// Looks whether the environment here keeps `client` from running its hook.
fn of_environment(client: Client) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut is_set = |variable: &str, what: &str| {
        let value = std::env::var(variable).unwrap_or_default();
        let is_off = is_switch(variable, &value);
        if is_off {
            findings.push(Finding::Missing(format!(
                "{variable} is \"{value}\" here, so {what}; unset it"
            )));
        }
        is_off
    };
    if !is_set("AGENT_Q_DIFF", "every edit passes without a decision") {
        let is_any = match client {
            Client::Claude => CLAUDE_SWITCHES
                .iter()
                .any(|variable| is_set(variable, "Claude Code runs no hook")),
            Client::Opencode => is_set("OPENCODE_PURE", "opencode reads no plugin"),
            Client::Codex | Client::Gemini => false,
        };
        if !is_any {
            findings.push(Finding::Good(
                "the environment here does not turn the hook off".to_owned(),
            ));
        }
    }
    findings
}

/// Looks whether `client` is installed.
fn of_agent(client: Client) -> Finding {
    let name = client.name();
    let output = Command::new(name).arg("--version").output();
    Finding::from(
        output
            .map(|output| {
                let version = String::from_utf8_lossy(&output.stdout);
                format!("{name} is installed: {}", version.trim())
            })
            .map_err(|_| format!("there is no program {name} here")),
    )
}

/// Looks whether Emacs answers.
async fn of_emacs(options: &Check) -> Finding {
    let request = Request {
        tool: "ping".to_owned(),
        arguments: json!({}),
        texts: Texts::default(),
        agent: Some(options.client.title().to_owned()),
        directory: current_directory(),
        root: None,
        timeout: None,
    };
    let call = Call::begin(sockets(options.socket.clone()), request);
    let mut states = call.states();
    let answered = tokio::time::timeout(TIMEOUT, states.wait_for(|state| state.answer.is_some()));
    let answer = match answered.await {
        Ok(Ok(state)) => state.answer.clone(),
        _ => None,
    };
    Finding::from(match answer {
        Some(answer) if !answer.is_error => Ok(answer.text),
        // It is said as agents read it.
        Some(answer) => Err(answer.text.trim_start_matches("Error: ").to_owned()),
        None => Err("Emacs does not answer; it may be busy".to_owned()),
    })
}

/// Returns what the user has to look at, since it cannot be seen from here.
fn advice(client: Client) -> &'static str {
    match client {
        Client::Claude => {
            "Claude Code reads its settings when it starts: restart it, and look whether /hooks \
             lists the hook. Started with --bare or --safe-mode, with --setting-sources that leave \
             out the hook's file, or with --settings that have disableAllHooks, it runs none, and \
             edits without a decision. What its shell changes is never decided."
        }
        Client::Codex => {
            "Codex skips a hook that you have not trusted, and says nothing: start it, call /hooks, \
             and trust the hook. After each change of it you have to do so again. Started with \
             -c features.hooks=false or --disable hooks, it runs none, and edits without a \
             decision. What its shell changes is decided only if that is by apply_patch."
        }
        Client::Gemini => {
            "Gemini CLI reads its settings when it starts: restart it. A project's own settings \
             count only in a folder that you trust. Started with --acp, it runs no hook, and edits \
             without a decision. What its shell changes is never decided."
        }
        Client::Opencode => {
            "opencode reads its plugins when it starts: restart it. Started with --pure, it reads \
             none, and edits without a decision. What its shell changes is never decided."
        }
    }
}
