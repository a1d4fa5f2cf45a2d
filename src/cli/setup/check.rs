//! Checks that an agent will run the hook, as far as that can be seen without a model.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, SystemTime};

use serde_json::json;

use super::settings::{self, Form, Handler};
use super::{plugin, records};
use crate::hook::last_run;
use crate::options::{Check, Client, Scope};
use crate::socket::{Call, Request, current_directory, sockets};
use crate::texts::Texts;

/// An edit without the hook comes at least this long after the last one with it. An agent notes an
/// edit a moment after it has run the hook.
const MARGIN: Duration = Duration::from_secs(10);

/// How long Emacs may take to say that it is there.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Says what is as it should be, and what is not.
pub async fn run(options: Check) -> ExitCode {
    let files = settings_files(options.client);
    let mut findings = of_settings(options.client, &files);
    if findings.iter().all(Result::is_ok) {
        findings.push(of_runs(options.client, &files));
    }
    findings.push(of_environment());
    findings.push(of_agent(options.client));
    findings.push(of_emacs(&options).await);
    for finding in &findings {
        match finding {
            Ok(text) => println!("ok       {text}"),
            Err(text) => println!("MISSING  {text}"),
        }
    }
    println!("\n{}", advice(options.client));
    ExitCode::from(u8::from(findings.iter().any(Result::is_err)))
}

/// What is as it should be, or what is not and how to mend it.
type Finding = Result<String, String>;

/// Returns the files from which `client`, if it is started here, may read its settings.
fn settings_files(client: Client) -> Vec<PathBuf> {
    let mut files = [Scope::User, Scope::Project]
        .map(|scope| settings::file(client, scope))
        .to_vec();
    if client == Client::Claude {
        files.push(files[1].with_file_name("settings.local.json"));
    }
    files
}

/// Looks whether the settings of `client`, `files`, have the hook.
fn of_settings(client: Client, files: &[PathBuf]) -> Vec<Finding> {
    let texts: Vec<_> = files
        .iter()
        .filter_map(|file| Some((file, fs::read_to_string(file).ok()?)))
        .collect();
    let Some(form) = settings::form(client) else {
        return vec![of_plugin(client, &texts)];
    };
    let mut findings: Vec<Finding> = form
        .events
        .iter()
        .map(|event| of_event(client, &form, event, &texts))
        .collect();
    for (file, text) in &texts {
        if settings::is_off(text, client) {
            findings.push(Err(format!("{} turns the hook off", file.display())));
        }
    }
    findings
}

/// Looks whether `client` has edited files without running its hook. What it did before its settings,
/// `files`, were written does not count.
fn of_runs(client: Client, files: &[PathBuf]) -> Finding {
    let last_run = last_run::get(client);
    let written = files
        .iter()
        .filter_map(|file| fs::metadata(file).ok()?.modified().ok());
    let Some(since) = written.chain(last_run).max() else {
        return Ok("no edit was to be decided yet".to_owned());
    };
    if let Some(edit) = records::last_edit_after(client, since + MARGIN) {
        return Err(format!(
            "{} edited {} {}, and did not run the hook; start it anew",
            client.title(),
            edit.path,
            ago(edit.at)
        ));
    }
    Ok(match last_run {
        Some(time) => format!("the hook was last run {}", ago(time)),
        None => "the hook has not been run yet".to_owned(),
    })
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

/// Looks whether one of `texts`, plugins by their files, is that of `client`.
fn of_plugin(client: Client, texts: &[(&PathBuf, String)]) -> Finding {
    let set_up = format!("agent-q-diff setup {}", client.name());
    let ours = texts.iter().find(|(_, text)| plugin::is_ours(text));
    let (file, text) = ours.ok_or(format!("there is no plugin; {set_up} puts it there"))?;
    let file = file.display();
    let command = plugin::command_of(text).filter(|command| plugin::text(command) == *text);
    let command = command.ok_or(format!(
        "{file} is not the plugin of this version; {set_up} mends it"
    ))?;
    of_program(&command[0]).map_err(|error| format!("in {file}, {error}; {set_up} mends it"))?;
    Ok(format!("{file} runs {}", command.join(" ")))
}

/// Looks whether one of `texts`, settings by their files, runs the hook of `client` at `event`.
fn of_event(client: Client, form: &Form, event: &str, texts: &[(&PathBuf, String)]) -> Finding {
    let set_up = format!("agent-q-diff setup {}", client.name());
    for (file, text) in texts {
        let handlers = settings::handlers(text, event)
            .map_err(|error| format!("{}: {error}", file.display()))?;
        let ours = handlers
            .iter()
            .find(|it| settings::is_ours(&it.command, client));
        if let Some(handler) = ours {
            return of_handler(client, form, event, handler)
                .map(|()| format!("{event}: {} runs {}", file.display(), handler.command))
                .map_err(|error| {
                    format!("{event}: in {}, {error}; {set_up} mends it", file.display())
                });
        }
    }
    Err(format!(
        "{event}: no settings run the hook; {set_up} puts it there"
    ))
}

/// Looks whether `handler`, the hook of `client` at `event`, is one that holds.
fn of_handler(client: Client, form: &Form, event: &str, handler: &Handler) -> Result<(), String> {
    if handler.matcher.as_deref() != Some(form.matcher) {
        return Err("it is not run for all tools that edit files".to_owned());
    }
    let is_before = event == form.events[0];
    if is_before && handler.timeout.is_none_or(|timeout| timeout < form.day) {
        return Err(
            "the agent waits for less than a day, and then edits without a decision".to_owned(),
        );
    }
    if !settings::is_guarded(&handler.command) {
        return Err("the agent edits without a decision if the program is killed or gone".to_owned());
    }
    let program = settings::program_of(&handler.command, client).unwrap_or_default();
    of_program(&program.trim_matches('\'').replace(r"'\''", "'"))
}

/// Looks whether there is `program`, if it is given with its directory.
fn of_program(program: &str) -> Result<(), String> {
    if program.contains('/') && !Path::new(program).is_file() {
        return Err(format!("there is no program {program}"));
    }
    Ok(())
}

fn of_environment() -> Finding {
    match std::env::var_os("AGENT_Q_DIFF") {
        Some(value) if value == "off" => {
            Err("AGENT_Q_DIFF is \"off\" here, so every edit passes without a decision".to_owned())
        }
        _ => Ok("AGENT_Q_DIFF does not turn the hook off here".to_owned()),
    }
}

/// Looks whether `client` is installed.
fn of_agent(client: Client) -> Finding {
    let name = client.name();
    let output = Command::new(name).arg("--version").output();
    let output = output.map_err(|_| format!("there is no program {name} here"))?;
    let version = String::from_utf8_lossy(&output.stdout);
    Ok(format!("{name} is installed: {}", version.trim()))
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
    match answer {
        Some(answer) if !answer.is_error => Ok(answer.text),
        // It is said as agents read it.
        Some(answer) => Err(answer.text.trim_start_matches("Error: ").to_owned()),
        None => Err("Emacs does not answer; it may be busy".to_owned()),
    }
}

/// Returns what the user has to look at, since it cannot be seen from here.
fn advice(client: Client) -> &'static str {
    match client {
        Client::Claude => {
            "Claude Code reads its settings when it starts: restart it, and look whether /hooks \
             lists the hook."
        }
        Client::Codex => {
            "Codex skips a hook that you have not trusted, and says nothing: start it, call /hooks, \
             and trust the hook. After each change of it you have to do so again."
        }
        Client::Gemini => {
            "Gemini CLI reads its settings when it starts: restart it. A project's own settings \
             count only in a folder that you trust."
        }
        Client::Opencode => {
            "opencode reads its plugins when it starts: restart it. Started with --pure, it reads \
             none, and edits without a decision."
        }
    }
}
