//! Checks that an agent will run the hook, as far as that can be seen without a model.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::agents::records::{self, Said, other_hook};
use crate::agents::{
    ALL, Agent, Dialect, Form, GUARD, Handler, Layer, PASSING, Plugin, Settings, Setup, Steer,
    first, is_switch, without_guard,
};
use crate::options::Check;
use crate::socket::{Call, Request, current_directory, sockets};

use super::{json, settings};

/// An edit without the hook comes at least this long after the last one with it. An agent notes an
/// edit a moment after it has run the hook.
const MARGIN: Duration = Duration::from_secs(10);

/// How long Emacs may take to say that it is there.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Says what is as it should be, and what is not: in Emacs, and for each agent. Agents that are neither
/// installed nor set up are only named, unless they were asked for.
pub async fn run(options: Check) -> ExitCode {
    let (mut sections, mut others) = (Vec::new(), Vec::new());
    if !options.is_without_emacs {
        sections.push(("Emacs", of_emacs(options.socket).await, ""));
    }
    for (agent, setup) in ALL.iter().filter_map(|it| Some((*it, it.setup.as_ref()?))) {
        let is_asked = options.agents.contains(&agent);
        if !(is_asked || options.agents.is_empty()) {
            continue;
        }
        if is_asked || is_set_up(agent, setup) {
            sections.push((agent.title, of_hook(agent, setup), setup.advice));
        } else if is_installed(agent) {
            let findings = vec![of_agent(agent), without_hook(agent)];
            sections.push((agent.title, findings, ""));
        } else {
            others.push(agent.title);
        }
    }
    let paragraphs = sections.iter().map(|(title, findings, advice)| {
        let lines = findings.iter().map(Said::line);
        let advice = Some(format!("\n{advice}")).filter(|_| !advice.is_empty());
        let lines = [(*title).to_owned()].into_iter().chain(lines).chain(advice);
        lines.collect::<Vec<_>>().join("\n")
    });
    let rest = format!("Neither installed here nor set up: {}", others.join(", "));
    let rest = Some(rest).filter(|_| !others.is_empty());
    let paragraphs: Vec<_> = paragraphs.chain(rest).collect();
    println!("{}", paragraphs.join("\n\n"));
    let mut findings = sections.iter().flat_map(|(_, findings, _)| findings);
    let is_missing = findings.any(|finding| matches!(finding, Said::Fault(_)));
    ExitCode::from(u8::from(is_missing))
}

/// Says that `agent`, which is installed, has no hook.
fn without_hook(agent: &Agent) -> Said {
    Said::Note(format!(
        "its settings have no hook, so its edits are not decided before they are made: M-x \
         agent-q-diff-setup, or agent-q-diff setup {}",
        agent.name
    ))
}

/// Checks all that concerns the hook of `agent`, which is set up by `setup`.
fn of_hook(agent: &Agent, setup: &Setup) -> Vec<Said> {
    let mut files = (setup.files)();
    // In the home directory, the project's file is the user's.
    let mut seen = HashSet::new();
    files.retain(|file| seen.insert(file.clone()));
    let mut findings = match &setup.form {
        Form::Settings(settings) => of_settings(agent, settings, &files),
        Form::Plugin(plugin) => {
            let mut findings = vec![of_plugin(agent, plugin, &files)];
            findings.extend(of_formatters(agent, &(plugin.settings_files)()));
            findings
        }
    };
    findings.extend(of_environment(setup));
    let program = of_agent(agent);
    if matches!(program, Said::Good(_)) {
        let mut said = (setup.said)();
        said.retain(|it| !is_said(it, &findings, &files));
        findings.extend(said);
    }
    findings.extend(of_last_edits(agent));
    findings.push(of_runs(agent, &files));
    findings.push(program);
    let events: Vec<_> = match &setup.form {
        Form::Settings(settings) => settings.events().collect(),
        Form::Plugin(_) => Vec::new(),
    };
    once(&findings, &events)
}

/// Returns whether `findings`, from `files`, have the fault that an agent has `said`: of the same event, the
/// same file, or the plugin.
fn is_said(said: &Said, findings: &[Said], files: &[PathBuf]) -> bool {
    let Said::Fault(said) = said else {
        return false;
    };
    let is_same = |found: &Said| {
        let Said::Fault(found) = found else {
            return false;
        };
        let about = found.split(": ").next().unwrap_or_default();
        let is_file = files.iter().any(|file| file.display().to_string() == about);
        match is_file {
            true => said.contains(about),
            false => said.starts_with(&format!("{about}: ")) || !found.contains(": "),
        }
    };
    findings.iter().any(is_same)
}

/// Returns `findings` with what is said of several of `events` said once.
fn once(findings: &[Said], events: &[&str]) -> Vec<Said> {
    let parts = |said: &Said| {
        let (Said::Good(text) | Said::Fault(text) | Said::Note(text)) = said;
        let (event, rest) = text.split_once(": ").unwrap_or_default();
        match events.contains(&event) {
            true => (event.to_owned(), rest.to_owned()),
            false => (String::new(), text.clone()),
        }
    };
    let mut all: Vec<(&Said, Vec<String>, String)> = Vec::new();
    for said in findings {
        let (event, rest) = parts(said);
        let is_same = |it: &&mut (&Said, Vec<String>, String)| {
            std::mem::discriminant(it.0) == std::mem::discriminant(said) && it.2 == rest
        };
        match all.iter_mut().find(is_same) {
            Some((_, events, _)) if !event.is_empty() => events.push(event),
            Some(_) => {}
            None if event.is_empty() => all.push((said, Vec::new(), rest)),
            None => all.push((said, vec![event], rest)),
        }
    }
    let joined = all.into_iter().map(|(said, events, rest)| {
        let text = match events.is_empty() {
            true => rest,
            false => format!("{}: {rest}", events.join(", ")),
        };
        match said {
            Said::Good(_) => Said::Good(text),
            Said::Fault(_) => Said::Fault(text),
            Said::Note(_) => Said::Note(text),
        }
    });
    joined.collect()
}

impl Said {
    /// Returns a line that says it.
    fn line(&self) -> String {
        let (word, text) = match self {
            Self::Good(text) => ("ok", text),
            Self::Fault(text) => ("MISSING", text),
            Self::Note(text) => ("note", text),
        };
        format!("{word:7}  {text}")
    }

    /// Returns what `line` says, which is like those of [`Said::line`].
    fn of_line(line: &str) -> Self {
        let (word, text) = line.split_once(' ').unwrap_or_default();
        let text = text.trim_start().to_owned();
        match word {
            "ok" => Self::Good(text),
            "MISSING" => Self::Fault(text),
            "note" => Self::Note(text),
            _ => Self::Note(line.to_owned()),
        }
    }
}

impl From<Result<String, String>> for Said {
    fn from(result: Result<String, String>) -> Self {
        match result {
            Ok(text) => Self::Good(text),
            Err(text) => Self::Fault(text),
        }
    }
}

/// Checks what `files`, in which `agent` has its settings, say about the hook.
fn of_settings(agent: &Agent, form: &Settings, files: &[PathBuf]) -> Vec<Said> {
    let (layers, mut findings) = read_all(agent, form, files);
    findings.extend(
        form.events()
            .map(|event| of_event(agent, form, event, &layers)),
    );
    let switches = (agent.setup().switches)(&layers);
    findings.extend(switches.into_iter().map(Said::Fault));
    findings.extend(of_other_hooks(agent, form, &layers));
    findings.extend(
        agent
            .setup()
            .steer
            .iter()
            .map(|steer| of_steer(agent, steer, &layers)),
    );
    findings
}

/// Says whether `agent` edits with its tools, by `steer` in `layers`, its settings, or here.
fn of_steer(agent: &Agent, steer: &Steer, layers: &[Layer<'_>]) -> Said {
    let name = steer.name;
    let set = match first(layers, &format!("/env/{name}")) {
        Some((layer, value)) => {
            let value = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            Some((value, format!("in {}", layer.file.display())))
        }
        None => std::env::var(name)
            .ok()
            .map(|value| (value, "here".to_owned())),
    };
    match set {
        Some((value, place)) if steer.is_on(&value) => Said::Good(format!(
            "{name} is {value} {place}: {} edits with its tools",
            agent.title
        )),
        Some((value, place)) => Said::Note(format!("{name} is {value} {place}: {}", steer.without)),
        None => Said::Note(format!(
            "{name} is not set, so {}; agent-q-diff setup {} --edit-tools sets it",
            steer.without, agent.name
        )),
    }
}

/// Says how `agent` has edited in its last session.
fn of_last_edits(agent: &Agent) -> Option<Said> {
    let (by_tools, by_shell) = (agent.setup().last_edits)()?;
    let edits = |n: usize| format!("{n} edit{}", if n == 1 { "" } else { "s" });
    let said = format!(
        "in its last session, {} made {} by its tools, and {by_shell} by commands that plainly write \
         a file",
        agent.title,
        edits(by_tools)
    );
    Some(if by_shell == 0 {
        Said::Good(said)
    } else {
        Said::Note(said)
    })
}

/// Reads `files` as `agent` does, and says which of them it does not read.
fn read_all<'f>(
    agent: &Agent,
    form: &Settings,
    files: &'f [PathBuf],
) -> (Vec<Layer<'f>>, Vec<Said>) {
    let (mut layers, mut findings) = (Vec::new(), Vec::new());
    for file in files {
        let read = super::read(file).and_then(|bytes| match bytes {
            Some(bytes) => settings::read(&settings::decoded(&bytes)?, agent, form).map(Some),
            None => Ok(None),
        });
        match read {
            Ok(Some(settings)) => layers.push(Layer { file, settings }),
            Ok(None) => {}
            Err(error) => findings.push(Said::Fault(format!("{}: {error}", file.display()))),
        }
    }
    (layers, findings)
}

/// Names what else `layers`, settings of `agent`, run after an edit.
fn of_other_hooks(agent: &Agent, form: &Settings, layers: &[Layer<'_>]) -> Vec<Said> {
    if form.says_others {
        return Vec::new();
    }
    let event = form.after();
    let others = layers.iter().flat_map(|layer| {
        let handlers = settings::handlers(&layer.settings, event).into_iter();
        handlers
            .filter(|it| !agent.runs_ours(&it.command) && form.is_for_edits(it))
            .map(|it| other_hook(&layer.file.display().to_string(), event, &it.command))
    });
    others.map(Said::Note).collect()
}

/// Checks whether `agent` has edited files without running its hook. What it did before its
/// settings, `files`, were written does not count.
fn of_runs(agent: &Agent, files: &[PathBuf]) -> Said {
    let last_run = records::last_run(agent);
    let written = files
        .iter()
        .filter_map(|file| fs::metadata(file).ok()?.modified().ok());
    let Some(since) = written.chain(last_run).max() else {
        return Said::Good("no edit was to be decided yet".to_owned());
    };
    let since = since + MARGIN;
    let mut edits = (agent.setup().edits_after)(since);
    edits.retain(|edit| edit.at > since);
    if let Some(edit) = edits.iter().max_by_key(|edit| edit.at) {
        let title = agent.title;
        let (path, ago) = (&edit.path, ago(edit.at));
        let count = match edits.len() {
            1 => String::new(),
            n => format!(" (the last of {n} such edits)"),
        };
        return Said::Fault(format!(
            "{title} edited {path} {ago}, and did not run the hook{count}; mend what is MISSING \
             above, if anything is, and start it anew{}",
            agent.setup().without
        ));
    }
    Said::Good(match last_run {
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

/// Checks whether one of `files` is the plugin of `agent`.
fn of_plugin(agent: &Agent, plugin: &Plugin, files: &[PathBuf]) -> Said {
    let set_up = format!("agent-q-diff setup {}", agent.name);
    let texts = files.iter().filter_map(|file| {
        let text = String::from_utf8(super::read(file).ok()??).ok()?;
        plugin.is_ours(&text).then_some((file, text))
    });
    // A directory may have several names.
    let mut texts: Vec<_> = texts.collect();
    let mut seen = HashSet::new();
    texts.retain(|(file, _)| seen.insert(fs::canonicalize(file).ok()));
    let Some((file, text)) = texts.first() else {
        return Said::Fault(format!("there is no plugin; {set_up} puts it there"));
    };
    if texts.len() > 1 {
        let names = texts.iter().map(|(file, _)| file.display().to_string());
        return Said::Fault(format!(
            "{} reads the plugin more than once, and each edit would be decided as often; leave one of \
             {}",
            agent.title,
            names.collect::<Vec<_>>().join(", ")
        ));
    }
    let file = file.display();
    let command = plugin
        .command_of(text)
        .filter(|command| plugin.text(command) == *text);
    let Some(command) = command else {
        return Said::Fault(format!(
            "{file} is not the plugin of this version; {set_up} mends it"
        ));
    };
    Said::from(
        of_program(&command[0])
            .map(|()| format!("{file} runs {}", command.join(" ")))
            .map_err(|error| format!("in {file}, {error}; {set_up} mends it")),
    )
}

/// Says what `files`, in which `agent` may have its settings, have it run after an edit, and which it cannot
/// read.
fn of_formatters(agent: &Agent, files: &[PathBuf]) -> Vec<Said> {
    let mut seen = HashSet::new();
    let files = files.iter().filter(|file| seen.insert(*file));
    let found = files.filter_map(|file| {
        let bytes = super::read(file).ok()??;
        let name = file.display().to_string();
        let settings = settings::decoded(&bytes).and_then(|text| json::value(&text, Dialect::LAX));
        match settings {
            Err(error) => Some(Said::Fault(format!(
                "{name}: {error}, and {} does not start with such a file",
                agent.title
            ))),
            Ok(settings) => has_formatter(&settings)
                .then(|| Said::Note(other_hook(&name, "after an edit", "a formatter"))),
        }
    });
    found.collect()
}

/// Returns whether `settings`, those of opencode, have it run a formatter.
fn has_formatter(settings: &Value) -> bool {
    match &settings["formatter"] {
        Value::Object(formatters) => formatters.values().any(|it| it["disabled"] != true),
        other => *other == true,
    }
}

/// Checks whether one of `layers` runs the hook of `agent` at `event`.
fn of_event(agent: &Agent, form: &Settings, event: &str, layers: &[Layer<'_>]) -> Said {
    let set_up = format!("agent-q-diff setup {}", agent.name);
    let Some((file, handler)) = handler_of_ours(agent, event, layers) else {
        if form.wait_at(event).is_some() {
            return Said::Fault(format!(
                "{event}: the hook is not run there, so it is not known who wrote what, or the \
                 agent does not read what you say in reviews of that: call {set_up}"
            ));
        }
        return Said::Fault(format!(
            "{event}: no settings that {} reads run the hook; {set_up} puts it there",
            agent.title
        ));
    };
    Said::from(
        of_handler(agent, form, event, &handler)
            .map(|()| format!("{event}: {file} runs {}", without_guard(&handler.command)))
            .map_err(|error| format!("{event}: in {file}, {error}; {set_up} mends it")),
    )
}

/// Returns the first of `layers` in which `agent` runs our hook at `event`, its name, and the handler.
fn handler_of_ours<'l>(
    agent: &Agent,
    event: &str,
    layers: &'l [Layer<'_>],
) -> Option<(std::path::Display<'l>, Handler)> {
    layers.iter().find_map(|layer| {
        let handlers = settings::handlers(&layer.settings, event).into_iter();
        let mut ours = handlers.filter(|it| agent.runs_ours(&it.command));
        Some((layer.file.display(), ours.next()?))
    })
}

/// Checks that `handler`, the hook of `agent` at `event`, cannot be bypassed.
fn of_handler(
    agent: &Agent,
    form: &Settings,
    event: &str,
    handler: &Handler,
) -> Result<(), String> {
    if form.wait_at(event).is_some() {
        return if handler.command.starts_with(PASSING) {
            of_program_in(agent, &handler.command)
        } else {
            Err("a failure could keep your prompt from the agent, or have it go on".to_owned())
        };
    }
    if handler.matcher.as_deref() != Some(form.matcher_at(event)) {
        return Err("it is not run for all tools that write files".to_owned());
    }
    if event == form.before() && handler.timeout.is_none_or(|timeout| timeout < form.day()) {
        return Err(
            "the agent waits for less than a day, and then edits without a decision".to_owned(),
        );
    }
    if !handler.command.starts_with(GUARD) {
        return Err(
            "the agent edits without a decision if the program is killed or gone".to_owned(),
        );
    }
    of_program_in(agent, &handler.command)
}

/// Checks whether there is the program that `command`, the hook of `agent`, runs.
fn of_program_in(agent: &Agent, command: &str) -> Result<(), String> {
    let program = agent.program_of(command).unwrap_or_default();
    of_program(&program.trim_matches('\'').replace(r"'\''", "'"))
}

/// Checks whether there is `program`, if it is given with its directory.
fn of_program(program: &str) -> Result<(), String> {
    if program.contains('/') && !Path::new(program).is_file() {
        return Err(format!("there is no program {program}"));
    }
    Ok(())
}

/// Checks whether the environment here keeps an agent that is set up by `setup` from running its
/// hook.
fn of_environment(setup: &Setup) -> Vec<Said> {
    let mut findings = Vec::new();
    let mut is_set = |variable: &str, what: &str| {
        let value = std::env::var(variable).unwrap_or_default();
        let is_off = is_switch(variable, &value);
        if is_off {
            findings.push(Said::Fault(format!(
                "{variable} is \"{value}\" here, so {what}; unset it"
            )));
        }
        is_off
    };
    if !is_set("AGENT_Q_DIFF", "every edit passes without a decision") {
        let mut variables = setup.variables.iter();
        if !variables.any(|variable| is_set(variable, setup.without_hooks)) {
            findings.push(Said::Good(
                "the environment here does not turn the hook off".to_owned(),
            ));
        }
    }
    findings
}

/// Returns whether `agent` is installed here, if only with what brings its own.
fn is_installed(agent: &Agent) -> bool {
    let adapter = agent.setup.as_ref().and_then(|setup| setup.adapter);
    [Some(agent.name), adapter]
        .into_iter()
        .flatten()
        .any(is_in_path)
}

/// Returns whether any settings that `agent` reads run the hook, or would if they could be read.
fn is_set_up(agent: &Agent, setup: &Setup) -> bool {
    let files = (setup.files)();
    match &setup.form {
        Form::Plugin(plugin) => !matches!(of_plugin(agent, plugin, &files), Said::Fault(_)),
        Form::Settings(form) => {
            let (layers, _) = read_all(agent, form, &files);
            form.events()
                .any(|event| handler_of_ours(agent, event, &layers).is_some())
        }
    }
}

/// Checks whether `agent` is installed.
fn of_agent(agent: &Agent) -> Said {
    let name = agent.name;
    if let Ok(output) = Command::new(name).arg("--version").output() {
        let version = String::from_utf8_lossy(&output.stdout);
        return Said::Good(format!("{name} is installed: {}", version.trim()));
    }
    match agent.setup().adapter.filter(|adapter| is_in_path(adapter)) {
        Some(adapter) => Said::Good(format!(
            "{adapter} is installed, which brings its own {}",
            agent.title
        )),
        None => Said::Fault(format!("there is no program {name} here")),
    }
}

/// Returns whether there is a program called `name` that can be started by that.
fn is_in_path(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(name).is_file())
}

/// Returns what Emacs, at `socket` or the usual places, finds about itself, or why it does not answer.
async fn of_emacs(socket: Option<PathBuf>) -> Vec<Said> {
    let request = Request {
        tool: "ping".to_owned(),
        arguments: json!({ "version": env!("CARGO_PKG_VERSION") }),
        directory: current_directory(),
        ..Request::default()
    };
    let call = Call::begin(sockets(socket), request);
    let answered = tokio::time::timeout(TIMEOUT, call.answer()).await;
    match answered.ok().flatten() {
        Some(answer) if !answer.is_error => answer.text.lines().map(Said::of_line).collect(),
        // It is said as agents read it.
        Some(answer) => vec![Said::Fault(
            answer.text.trim_start_matches("Error: ").to_owned(),
        )],
        None => vec![Said::Fault(
            "Emacs does not answer; it may be busy".to_owned(),
        )],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_formatter_of_opencode_is_known() {
        for (settings, wanted) in [
            (json!({ "formatter": true }), true),
            (json!({ "formatter": { "a": {} } }), true),
            (json!({ "formatter": { "a": { "disabled": true } } }), false),
            (json!({ "formatter": false }), false),
            (json!({}), false),
        ] {
            assert_eq!(has_formatter(&settings), wanted, "{settings}");
        }
    }

    #[test]
    fn what_emacs_finds_is_said_as_it_says_it() {
        for line in ["ok       a", "MISSING  b: c", "note     d  e"] {
            assert_eq!(Said::of_line(line).line(), line);
        }
        assert_eq!(Said::of_line("Emacs 28.2").line(), "note     Emacs 28.2");
    }

    #[test]
    fn what_holds_for_several_events_is_said_once() {
        let good = |text: &str| Said::Good(text.to_owned());
        let fault = |text: &str| Said::Fault(text.to_owned());
        let findings = [
            good("Before: f runs x"),
            good("After: f runs x"),
            fault("End: f runs x"),
            good("f: it is there"),
            good("f: it is there"),
        ];
        let wanted = [
            good("Before, After: f runs x"),
            fault("End: f runs x"),
            good("f: it is there"),
        ];
        assert_eq!(once(&findings, &["Before", "After", "End"]), wanted);
    }

    #[test]
    fn what_an_agent_says_of_a_fault_that_was_found_is_not_said_again() {
        let fault = |text: &str| Said::Fault(text.to_owned());
        let files = [PathBuf::from("/h/settings.json")];
        let is_said = |said: &str, found: &str| is_said(&fault(said), &[fault(found)], &files);
        assert!(is_said("Stop: it is skipped", "Stop: no settings run it"));
        assert!(!is_said("Stop: it is skipped", "After: no settings run it"));
        assert!(is_said(
            "It says: /h/settings.json is bad",
            "/h/settings.json: not JSON"
        ));
        assert!(!is_said(
            "It says: /p/settings.json is bad",
            "/h/settings.json: not JSON"
        ));
        assert!(is_said(
            "it does not read the plugin",
            "there is no plugin; setup puts it there"
        ));
    }
}
