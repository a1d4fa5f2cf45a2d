//! The coding agents whose edits are decided, one file and one row of [`ALL`] for each.
//!
//! An [`Agent`] is a value with everything particular to one of them: its events, its tools and
//! their arguments, how it is answered, its settings and its records. Nothing outside this module
//! asks which agent it is. The rules by which its tools edit a file are in the engine's `inputs`.
//!
//! - [`fields`]: the arguments of their tools, under whatever names
//! - [`patch`]: patches in Codex's format
//! - [`notebook`]: what an edit of a notebook means for its text
//! - [`records`]: what an agent has noted of its edits, what it says when it is asked, and when it last
//!   ran its hook
//! - [`claude`], [`codex`], [`gemini`], [`opencode`]: agents that `setup` knows
//! - [`other`]: agents that run hooks much as Claude Code does, and are set up by hand

pub mod claude;
pub mod codex;
pub mod fields;
pub mod gemini;
mod notebook;
pub mod opencode;
pub mod other;
pub mod patch;
pub mod records;

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use agent_q_diff_engine::inputs::FileText;
use rmcp::model::JsonObject;
use serde_json::{Value, json};

use fields::Field;
use records::{Edit, Said};

/// All agents. An agent without [`Setup`] is a format.
pub static ALL: [&Agent; 8] = [
    &claude::AGENT,
    &codex::AGENT,
    &gemini::AGENT,
    &opencode::AGENT,
    &other::ANY,
    &other::COPILOT,
    &other::KIMI,
    &other::QWEN,
];

/// A coding agent.
#[derive(Debug)]
pub struct Agent {
    /// Its name on the command line. If it has [`Setup`], that is also the name of its own program.
    pub name: &'static str,
    /// What it is called.
    pub title: &'static str,
    /// How long an edit may be undecided. That is less than the agent waits.
    pub timeout: Duration,
    /// The names of its events.
    pub events: Events,
    /// The names of its tools' arguments.
    pub arguments: &'static [(Field, &'static str)],
    /// Returns its tool with this name, called with this input, or `None` if that edits no file.
    pub tool: fn(&str, &JsonObject) -> Option<&'static Tool>,
    /// The environment variable with the root of the project in which it works, unless it says in
    /// each event where it is.
    pub project: Option<&'static str>,
    /// Returns the answer to an event before an edit whose tool was called with this input. The
    /// error is the reason of a denial, if the agent reads it best on standard error.
    pub before: fn(Verdict, &JsonObject) -> Result<Value, String>,
    /// Returns the answer to an event after an edit, with what the model is told.
    pub after: fn(&str) -> Value,
    /// Returns the answer to an event at a prompt, with what the model reads beside the prompt, if it can
    /// read any such thing.
    pub beside_prompt: Option<fn(&str) -> Value>,
    /// Returns the answer to an event at the end of a turn that has the agent go on, with what its model
    /// reads, if it can be kept from ending.
    pub going_on: Option<fn(&str) -> Value>,
    /// Returns the answer that refuses an edit, with the reason, if the agent reads one on standard
    /// output rather than on standard error.
    pub refusal: Option<fn(&str) -> Value>,
    /// Whether its user can say something to it while it works, with an event as at any prompt.
    pub hears_while_at_work: bool,
    /// How it is set up, or `None` if the user puts the hook into its settings.
    pub setup: Option<Setup>,
}

/// The names of an agent's events.
#[derive(Debug, Clone, Copy)]
pub struct Events {
    /// Before a tool runs.
    pub before: &'static [&'static str],
    /// After it has run.
    pub after: &'static [&'static str],
    /// When the user has given it a prompt.
    pub begins: &'static [&'static str],
    /// When it has gone on after some tools.
    pub goes_on: &'static [&'static str],
    /// When its turn has ended.
    pub ends: &'static [&'static str],
    /// When its turn was interrupted, or has failed: it reads nothing then.
    pub breaks: &'static [&'static str],
    /// When it waits for its user's next prompt, however its turn has ended, or for an answer.
    pub waits: &'static [&'static str],
    /// When its session has ended.
    pub closes: &'static [&'static str],
}

impl Events {
    /// No events.
    const NONE: Self = Self {
        before: &[],
        after: &[],
        begins: &[],
        goes_on: &[],
        ends: &[],
        breaks: &[],
        waits: &[],
        closes: &[],
    };
}

/// A tool with which an agent edits files.
#[derive(Debug)]
pub struct Tool {
    /// The kind of its input.
    pub kind: Kind,
    /// Returns the file after it has run with this input; `None` is a file that did not exist. The
    /// error is a sentence, without its period, about why that cannot be known.
    pub made: fn(Option<&FileText>, &JsonObject) -> Result<FileText, String>,
    /// Changes this input, if it is [`Kind::Text`], so that the tool turns the first file into the
    /// second, if it can.
    pub rewrite: fn(&mut JsonObject, Option<&FileText>, &FileText) -> Option<()>,
    /// Returns whether its patches can certainly turn the first file into the second. `None` is no
    /// file.
    pub can_patch: fn(Option<&FileText>, Option<&FileText>) -> bool,
    /// Returns whether its result for this input differs from [`Self::made`].
    pub is_misread: fn(&JsonObject) -> bool,
    /// Returns the text that it has written, if its response says so. The file may be another by
    /// now: agents run other hooks beside this one.
    pub written: fn(&Value) -> Option<String>,
    /// Characters that it strips from the beginning of a file's name.
    pub prefixes: &'static [char],
    /// Whether it writes a file that is UTF-16 as UTF-16.
    pub keeps_utf_16: bool,
    /// Whether it is known to run with an input that comes from a hook.
    pub takes_input: bool,
    /// Whether another input can make it leave another text.
    pub is_rewritable: bool,
    /// Whether Emacs applies its patch, so that it is never run itself.
    pub is_run_by_emacs: bool,
}

/// A kind of input of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The name of a file, and the change to its text.
    Text,
    /// A patch in Codex's format.
    Patch,
    /// A shell command, which may apply such a patch.
    Shell,
}

impl Tool {
    /// The properties of most tools; the effect of this one is not known.
    const PLAIN: Self = Self {
        kind: Kind::Text,
        made: |_, _| Err("it does not know what this tool does with its input".to_owned()),
        rewrite: |_, _, _| None,
        can_patch: |_, _| false,
        is_misread: |_| false,
        written: |_| None,
        prefixes: &[],
        keeps_utf_16: false,
        takes_input: true,
        is_rewritable: true,
        is_run_by_emacs: false,
    };

    /// Returns the patch in `input`, or `None` if it has none.
    ///
    /// # Errors
    ///
    /// A sentence, without its period, if it may do more than apply a patch.
    pub fn patch<'i>(&self, input: &'i JsonObject) -> Result<Option<&'i str>, String> {
        match self.kind {
            Kind::Text => Ok(None),
            Kind::Patch => patch::text_in(input).map(Some),
            Kind::Shell => patch::patch_in_shell(patch::text_in(input)?),
        }
    }
}

impl PartialEq for Tool {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

/// What was decided about an edit.
pub enum Verdict {
    /// The tool runs as the model called it.
    Allow,
    /// The tool runs with this input.
    Change(JsonObject),
    /// The tool does not run; the model reads why.
    Deny(String),
}

/// Where an agent's hook is, and what keeps it from being run.
#[derive(Debug)]
pub struct Setup {
    /// Returns the file in which the hook is.
    pub file: fn(Scope) -> PathBuf,
    /// Returns the files from which the agent, if it is started here, may read the hook. What is in
    /// the first ones overrides the others.
    pub files: fn() -> Vec<PathBuf>,
    /// What is in them.
    pub form: Form,
    /// Returns what in the settings, [`Layer::turns_off`], turns the hook off.
    pub switches: fn(&[Layer<'_>]) -> Vec<String>,
    /// A program that brings an agent of its own, with the same settings.
    pub adapter: Option<&'static str>,
    /// Environment variables that keep the hook from being run.
    pub variables: &'static [&'static str],
    /// What the agent does if one of them is set.
    pub without_hooks: &'static str,
    /// What has its models edit with its tools, which a hook can decide, rather than by its shell.
    pub steer: Option<Steer>,
    /// Returns what the agent itself says of its settings. No model is asked, and no hook is run.
    pub said: fn() -> Vec<Said>,
    /// Returns the edits that the agent has noted, at least those after this time.
    pub edits_after: fn(SystemTime) -> Vec<Edit>,
    /// Returns how many edits its last session made by its tools, and how many by commands of its shell
    /// that plainly write a file, if it has noted any session.
    pub last_edits: fn() -> Option<(usize, usize)>,
    /// The options without which it must be started so that it runs hooks.
    pub without: &'static str,
    /// What the user must check, since it cannot be seen from here.
    pub advice: &'static str,
}

/// A variable of the environment, which an agent also reads in the object "env" of its settings.
#[derive(Debug)]
pub struct Steer {
    /// Its name.
    pub name: &'static str,
    /// The value that is put into the settings.
    pub value: &'static str,
    /// What the agent may do without it.
    pub without: &'static str,
}

impl Steer {
    /// Returns whether `value` has the agent edit with its tools.
    pub fn is_on(&self, value: &str) -> bool {
        ["0", "false", "no", "off"].contains(&value.trim().to_lowercase().as_str())
    }
}

/// The option of the hook that says that `setup` has put [`Steer`] into the settings beside it.
pub const STEERED: &str = "--edit-tools";

/// Whose settings are changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The user's, for all projects.
    User,
    /// Those of the project in the current directory.
    Project,
}

/// The form in which a file makes an agent run the hook.
#[derive(Debug)]
pub enum Form {
    /// Settings that name commands for events.
    Settings(Settings),
    /// A plugin, which is the whole file.
    Plugin(Plugin),
}

/// Settings in JSON: an object `hooks`, in it an array for each event, in that objects with a
/// matcher for tools and an array of commands.
#[derive(Debug)]
pub struct Settings {
    /// The agent's events.
    pub events: Events,
    /// A second, in the unit in which the agent is told how long to wait.
    pub second: u64,
    /// The names of the tools that edit files, as a matcher.
    pub matcher: &'static str,
    /// The same with the tools that run shell commands, which may write files.
    pub matcher_before: &'static str,
    /// The dialect of JSON that the agent reads.
    pub dialect: Dialect,
    /// Returns whether the agent knows all that is at an event, well enough to read the file.
    pub knows: fn(&[Value]) -> bool,
    /// What it does with a file that it does not read.
    pub on_fault: &'static str,
    /// Whether it says itself, in [`Setup::said`], what else it runs after an edit.
    pub says_others: bool,
}

/// What of JSON an agent reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    /// Whether there may be a byte order mark at the start.
    pub byte_order_mark: bool,
    /// Whether there may be comments.
    pub comments: bool,
    /// Whether there may be a comma behind the last item.
    pub trailing_commas: bool,
    /// Whether an empty file is read, as one without settings.
    pub empty_file: bool,
    /// Whether `null` is read as no hooks.
    pub null: bool,
    /// Whether bytes may be no UTF-8.
    pub other_bytes: bool,
    /// Whether an object may have a key twice.
    pub repeated_keys: bool,
    /// The keys that the outermost object may have, or none if these may be any.
    pub keys: &'static [&'static str],
}

impl Dialect {
    /// JSON alone, as most programs read it.
    pub const STRICT: Self = Self {
        byte_order_mark: false,
        comments: false,
        trailing_commas: false,
        empty_file: false,
        null: false,
        other_bytes: true,
        repeated_keys: true,
        keys: &[],
    };
    /// With all that some agent may have read.
    pub const LAX: Self = Self {
        byte_order_mark: true,
        comments: true,
        trailing_commas: true,
        ..Self::STRICT
    };
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

impl Settings {
    /// Returns the event before a tool runs.
    pub fn before(&self) -> &'static str {
        self.events.before[0]
    }

    /// Returns the event after a tool has run.
    pub fn after(&self) -> &'static str {
        self.events.after[0]
    }

    /// Returns the matcher at `event`, around a tool.
    pub fn matcher_at(&self, event: &str) -> &'static str {
        if event == self.before() {
            self.matcher_before
        } else {
            self.matcher
        }
    }

    /// Returns a day, in the agent's unit.
    pub fn day(&self) -> u64 {
        86_400 * self.second
    }

    /// Returns the events that say how far a turn is, each with how long the agent waits there, in its
    /// unit. Codex waits for 3 seconds at most where a session ends.
    pub fn turns(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let Events {
            begins,
            goes_on,
            ends,
            breaks,
            closes,
            ..
        } = self.events;
        let (some, few) = (10 * self.second, 3 * self.second);
        let waits = [
            (begins, some),
            (goes_on, some),
            (ends, self.day()),
            (breaks, some),
            (closes, few),
        ];
        let turns = waits.into_iter();
        turns.flat_map(|(events, wait)| events.iter().map(move |event| (*event, wait)))
    }

    /// Returns all events at which the hook is run.
    pub fn events(&self) -> impl Iterator<Item = &'static str> {
        let turns = self.turns().map(|(event, _)| event);
        [self.before(), self.after()].into_iter().chain(turns)
    }

    /// Returns how long the agent waits for the hook at `event`, in its unit, if that is one of the events
    /// that say how far a turn is.
    pub fn wait_at(&self, event: &str) -> Option<u64> {
        self.turns()
            .find_map(|(turn, wait)| (turn == event).then_some(wait))
    }

    /// Returns whether `handler` is run for one of the tools that edit files, as far as its matcher
    /// tells.
    pub fn is_for_edits(&self, handler: &Handler) -> bool {
        let matcher = handler.matcher.as_deref().unwrap_or_default();
        let is_name = |c: char| c.is_ascii_alphanumeric() || "_-, |".contains(c);
        let mut names = matcher.split(['|', ',']).map(str::trim);
        // Any other one is a regular expression, or means all.
        matcher.is_empty()
            || !matcher.chars().all(is_name)
            || names.any(|name| self.matcher.split('|').any(|tool| tool == name))
    }
}

/// A plugin of ours. A line of it, [`COMMAND`], names the command that it runs.
#[derive(Debug)]
pub struct Plugin {
    /// Its text, without the command.
    pub text: &'static str,
    /// Returns the files in which the agent's settings may be.
    pub settings_files: fn() -> Vec<PathBuf>,
}

/// The line of a plugin that names the command.
const COMMAND: &str = "const COMMAND = [];";

impl Plugin {
    /// Returns the plugin that runs `command`, given word by word.
    pub fn text(&self, command: &[String]) -> String {
        let command = serde_json::to_string(command).expect("it has only strings");
        self.text
            .replace(COMMAND, &format!("const COMMAND = {command}"))
    }

    /// Returns whether `text` is the plugin, by its first line.
    pub fn is_ours(&self, text: &str) -> bool {
        text.lines().next() == self.text.lines().next()
    }

    /// Returns the command that `text`, a plugin of ours, runs, word by word.
    pub fn command_of(&self, text: &str) -> Option<Vec<String>> {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("const COMMAND = "))?;
        serde_json::from_str(line).ok()
    }
}

/// Settings that an agent reads.
pub struct Layer<'f> {
    /// Their file.
    pub file: &'f Path,
    /// What is in it.
    pub settings: Value,
}

impl Layer<'_> {
    /// Returns the sentence that `what` in these settings turns the hook off.
    pub fn turns_off(&self, what: &str) -> String {
        format!("{} turns the hook off: {what}", self.file.display())
    }
}

/// Returns the value at `path`, a JSON pointer, in the first of `layers` that has one, and that
/// layer.
pub fn first<'l, 'f>(layers: &'l [Layer<'f>], path: &str) -> Option<(&'l Layer<'f>, &'l Value)> {
    let mut found = layers
        .iter()
        .filter_map(|layer| Some((layer, layer.settings.pointer(path)?)));
    found.next()
}

/// Returns whether `value` of `variable` in the environment keeps a hook from being run.
pub fn is_switch(variable: &str, value: &str) -> bool {
    let value = value.to_lowercase();
    match variable {
        "AGENT_Q_DIFF" => value == "off",
        _ => matches!(value.as_str(), "1" | "true" | "yes" | "on"),
    }
}

/// Returns the user's home directory.
fn home() -> PathBuf {
    std::env::home_dir().unwrap_or_else(|| PathBuf::from("/"))
}

/// Returns the directory that the variable `name` of the environment names, or, if it is not set or
/// is empty, `directory` in the user's home directory.
fn directory_of(name: &str, directory: &str) -> PathBuf {
    match std::env::var_os(name) {
        Some(named) if !named.is_empty() => PathBuf::from(named),
        _ => home().join(directory),
    }
}

/// What runs the program that follows it. Agents take any failure but exit status 2 for consent,
/// and Codex even that one if nothing says why. So this is how it ends if the program is killed,
/// aborts or is not there. It is the same in every shell that a user may have.
pub const GUARD: &str = r#"/bin/sh -c '"$0" "$@" || { [ $? = 2 ] || echo "agent-q-diff failed: an edit before it is made is refused; one that was made was not checked. Tell the user." >&2; exit 2; }' "#;

/// What runs the program that follows it where a failure must change nothing: at a prompt, agents take
/// exit status 2 for a refusal of the prompt, and Gemini CLI also that of a missing program; at the end of
/// a turn, it would have them go on.
pub const PASSING: &str = r#"/bin/sh -c '"$0" "$@" || :' "#;

/// Some seconds less than a day, for which the settings let the agent wait.
const LESS_THAN_A_DAY: Duration = Duration::from_secs(86_390);

impl PartialEq for Agent {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Agent {}

impl Agent {
    /// Returns how it is set up; only an agent that can be is named to `setup` and `check`.
    pub fn setup(&self) -> &Setup {
        self.setup
            .as_ref()
            .expect("the command line takes no other")
    }

    /// Returns the command that runs this program as its hook, word by word. It reaches Emacs over
    /// `socket` if that is not in a usual place.
    ///
    /// # Errors
    ///
    /// A sentence if the program's own name is not known.
    pub fn command(&self, socket: Option<&Path>) -> Result<Vec<String>, String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let program = program.to_str().ok_or("the program's name is not UTF-8")?;
        let mut words = vec![program.to_owned(), "hook".to_owned(), self.name.to_owned()];
        if let Some(socket) = socket {
            let socket = socket.to_str().ok_or("the socket's name is not UTF-8")?;
            words.extend(["--socket".to_owned(), socket.to_owned()]);
        }
        Ok(words)
    }

    /// Returns whether `command` runs its hook, by whatever path, and nothing else.
    pub fn is_ours(&self, command: &str) -> bool {
        self.runs_ours(command) && is_simple(without_guard(command))
    }

    /// Returns whether `command` runs its hook, by whatever path, and perhaps more.
    pub fn runs_ours(&self, command: &str) -> bool {
        self.program_of(command).is_some_and(|program| {
            let program = program.trim_end_matches('\'');
            program.rsplit(['/', ' ']).next() == Some("agent-q-diff")
        })
    }

    /// Returns the program, as the shell reads it, that `command` runs as its hook, whatever the
    /// options.
    pub fn program_of<'c>(&self, command: &'c str) -> Option<&'c str> {
        let words = format!(" hook {}", self.name);
        let (program, options) = without_guard(command).split_once(&words)?;
        (options.is_empty() || options.starts_with(' ')).then_some(program)
    }
}

/// Returns `told` for an agent that shows its model "&lt;" for "<", with characters that it leaves as they
/// are, and which the model is told about.
fn without_brackets(told: &str) -> String {
    if !told.contains(['<', '>']) {
        return told.to_owned();
    }
    let told = told.replace('<', "\u{2039}").replace('>', "\u{203a}");
    format!("(Here \u{2039} and \u{203a} stand for the signs less-than and greater-than.)\n{told}")
}

/// Returns the command that the tool called `name` runs in a shell, by its `input`, or `None` if it is no
/// shell.
pub fn shell_command<'i>(name: &str, input: &'i JsonObject) -> Option<&'i str> {
    let is_shell = ["bash", "shell", "run_shell_command"].contains(&name.to_lowercase().as_str());
    input.get("command").filter(|_| is_shell)?.as_str()
}

/// Returns `command` without what runs our program, if it begins with that.
pub fn without_guard(command: &str) -> &str {
    let mut prefixes = [GUARD, PASSING].into_iter();
    let found = prefixes.find_map(|prefix| command.strip_prefix(prefix));
    found.unwrap_or(command)
}

/// Returns whether `command`, of a shell, is a single one.
fn is_simple(command: &str) -> bool {
    let (mut is_quoted, mut is_escaped) = (false, false);
    !command.chars().any(|character| {
        let was_escaped = std::mem::replace(&mut is_escaped, false);
        match character {
            _ if was_escaped => false,
            '\\' if !is_quoted => {
                is_escaped = true;
                false
            }
            '\'' => {
                is_quoted = !is_quoted;
                false
            }
            other => !is_quoted && ";&|<>`\n".contains(other),
        }
    })
}

/// Returns an answer with `output`, a JSON object, for the event `name`, as Claude Code reads it.
fn hook_output(name: &str, mut output: Value) -> Value {
    output["hookEventName"] = name.into();
    json!({ "hookSpecificOutput": output })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tools_that_edit_files_are_known() {
        let tool = |agent: &Agent, name: &str| (agent.tool)(name, &JsonObject::new());
        assert_eq!(tool(&claude::AGENT, "Edit"), Some(&claude::EDIT));
        assert_eq!(tool(&claude::AGENT, "Read"), None);
        assert_eq!(tool(&gemini::AGENT, "Edit"), None);
        assert_eq!(tool(&opencode::AGENT, "edit"), Some(&opencode::EDIT));
        assert_eq!(tool(&opencode::AGENT, "read"), None);
    }

    #[test]
    fn what_an_agent_would_escape_is_replaced_and_that_is_said() {
        assert_eq!(without_brackets("a & b"), "a & b");
        let told = without_brackets("<a>");
        assert!(told.starts_with("(Here \u{2039} and") && told.ends_with("\n\u{2039}a\u{203a}"));
        let answer = (gemini::AGENT.after)("a < b").to_string();
        assert!(answer.contains("a \u{2039} b") && !answer.contains('<'));
    }

    #[test]
    fn what_else_runs_after_edits_is_told_by_its_matcher() {
        let Form::Settings(settings) = &claude::AGENT.setup().form else {
            panic!("it has a plugin");
        };
        for (matcher, wanted) in [
            (None, true),
            (Some(""), true),
            (Some("*"), true),
            (Some("Edit|Write"), true),
            (Some("Write, Bash"), true),
            (Some("mcp__.*|Ed.*"), true),
            (Some("Bash"), false),
            (Some("Bash|Read"), false),
        ] {
            let handler = Handler {
                matcher: matcher.map(str::to_owned),
                command: "prettier".to_owned(),
                timeout: None,
            };
            assert_eq!(settings.is_for_edits(&handler), wanted, "{matcher:?}");
        }
    }

    #[test]
    fn the_hook_is_known_by_whatever_path() {
        let ours = [
            "/a/agent-q-diff hook claude",
            "'/a b/agent-q-diff' hook claude",
            "agent-q-diff hook claude",
            "/a/agent-q-diff hook claude --socket /s",
        ];
        assert!(ours.iter().all(|command| claude::AGENT.is_ours(command)));
        let others = [
            "/a/agent-q-diff hook gemini",
            "/a/other hook claude",
            "my-agent-q-diff hook claude",
            "/a/agent-q-diff hook claudette",
        ];
        assert!(!others.iter().any(|command| claude::AGENT.is_ours(command)));
        // What does more is the user's.
        for command in [
            "/a/agent-q-diff hook claude && notify",
            "cd /x; /a/agent-q-diff hook claude",
            "/a/agent-q-diff hook claude --socket /s | tee log",
        ] {
            assert!(claude::AGENT.runs_ours(command) && !claude::AGENT.is_ours(command));
        }
        assert!(claude::AGENT.is_ours("'/a;b/agent-q-diff' hook claude"));
    }
}
