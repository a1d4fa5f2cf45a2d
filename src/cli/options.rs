//! The commands of the program, and their options.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{ArgGroup, Args, Parser, Subcommand};

use crate::agents::other::{ANY, WITHOUT_HOOKS};
use crate::agents::{ALL, Agent, Scope};

const FIRST_STEPS: &str = "\
To decide the edits of Claude Code: run `agent-q-diff setup claude`, call
M-x agent-q-diff-serve in Emacs, and start Claude Code anew. If an edit is not
shown to you, `agent-q-diff check claude` says why.";

const ABOUT_MCP: &str = "\
An MCP server: what an agent wants to change in a file is reviewed in Emacs,
hunk by hunk. Call M-x agent-q-diff-serve there first.";

const ABOUT_HOOK: &str = "\
A hook for coding agents: what their own tools are about to change in a file
is decided in Emacs, hunk by hunk. The agent runs it before and after each
edit, with the event on standard input; its settings name it. Whatever goes
wrong, the edit is refused. If the environment variable AGENT_Q_DIFF is
\"off\" where the agent was started, every edit passes.";

const ABOUT_REVIEW: &str = "\
Have what was written into a project of git reviewed in Emacs, whoever wrote it:
what is kept is not shown again, and what is rejected is taken out of its file.
Without other options, the review is opened, and that is all.

Exit status with --wait: 0 if all was kept, 1 if something was taken out, 2 if
something is undecided. It is 3 if there was an error, or no Emacs.

With --turn-begins, --turn-ends and --mark-reviewed nothing is shown, and no
Emacs is needed.";

const ABOUT_SETUP: &str = "\
Put the hook into an agent's settings, and check that it will be run. The change
is shown first. All else in the settings stays as it is.";

const ABOUT_CHECK: &str = "\
Say why nothing happens: what keeps Emacs from being asked, or an agent's hook
from being run, as far as that can be seen without a model. Exits with 1 if
anything is missing. In Emacs, M-x agent-q-diff-doctor says the same.";

/// What coding agents want to change in files is decided in Emacs, hunk by hunk.
/// Call M-x agent-q-diff-serve there first.
#[derive(Debug, Parser)]
#[command(name = "agent-q-diff", version, verbatim_doc_comment, after_help = FIRST_STEPS)]
#[command(
    arg_required_else_help = true,
    disable_help_subcommand = true,
    propagate_version = true
)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

// What is said of options here is what `--help` prints. One that is given twice counts as it was given
// last.

/// The command that is given.
#[derive(Debug, PartialEq, Eq, Subcommand)]
pub enum Command {
    Mcp(Mcp),
    Hook(HookArguments),
    Review(Review),
    Setup(Setup),
    Check(Check),
}

/// How long to wait at most; none to wait without end.
type Timeout = Option<Duration>;

/// The options of the MCP server.
#[derive(Debug, PartialEq, Eq, Args)]
#[command(about = "Be an MCP server")]
#[command(long_about = ABOUT_MCP, args_override_self = true)]
pub struct Mcp {
    // Many clients give up on a call after 60 seconds.
    /// Answer a call "pending" after this time, before the
    /// client gives up; the agent then asks again with
    /// review_result. 0 waits for the user
    /// without limit
    #[arg(long, value_name = "SECONDS", value_parser = timeout, default_value = "50")]
    #[arg(verbatim_doc_comment, allow_negative_numbers = true)]
    pub timeout: Timeout,
    /// Emacs's socket, if `agent-q-diff-server-socket' is
    /// set there
    #[arg(long, value_name = "FILE", verbatim_doc_comment)]
    pub socket: Option<PathBuf>,
}

/// The arguments of a hook.
#[derive(Debug, PartialEq, Eq, Args)]
#[command(about = "Have an edit decided that an agent's own tool is about to make")]
#[command(long_about = ABOUT_HOOK, args_override_self = true)]
pub struct HookArguments {
    /// The agent that runs the hook
    #[arg(value_parser = named(true), required_unless_present = "format")]
    agent: Option<&'static Agent>,
    /// For another agent, which runs hooks much as Claude Code
    /// does: its own tool writes if all is accepted, Emacs if
    /// a part is. "claude" is for one that is not in this list,
    /// and not tested with any
    #[arg(long, value_parser = named(false), conflicts_with = "agent", verbatim_doc_comment)]
    format: Option<&'static Agent>,
    /// What that other agent is called
    #[arg(long, conflicts_with = "agent")]
    name: Option<String>,
    /// Refuse the edit if it is not decided after this time,
    /// before the agent gives up waiting and makes it. 0
    /// waits without limit. The default is 86390; 590 for
    /// Copilot CLI and Kimi, 50 for all other formats
    #[arg(long, value_name = "SECONDS", value_parser = timeout)]
    #[arg(verbatim_doc_comment, allow_negative_numbers = true)]
    timeout: Option<Timeout>,
    /// Emacs's socket, if `agent-q-diff-server-socket' is
    /// set there
    #[arg(long, value_name = "FILE", verbatim_doc_comment)]
    socket: Option<PathBuf>,
    // It says only what `setup` has put beside the hook.
    #[arg(long = "edit-tools", hide = true)]
    is_steered: bool,
}

/// What a hook does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// The agent that runs it.
    pub agent: &'static Agent,
    /// What it is called.
    pub name: String,
    /// The socket on which Emacs listens, or none to try the usual places.
    pub socket: Option<PathBuf>,
    /// Time after which the edit is refused.
    pub timeout: Timeout,
}

impl From<HookArguments> for Hook {
    fn from(arguments: HookArguments) -> Self {
        let name = arguments.name;
        let format = arguments
            .format
            .map(|format| format_of(format, name.as_deref()));
        let agent = format.or(arguments.agent).expect("clap requires one");
        Self {
            agent,
            name: name.unwrap_or_else(|| agent.title.to_owned()),
            socket: arguments.socket,
            timeout: arguments.timeout.unwrap_or(Some(agent.timeout)),
        }
    }
}

/// The options of a review of what was written.
#[derive(Debug, PartialEq, Eq, Args)]
#[command(about = "Have what was written already reviewed")]
#[command(long_about = ABOUT_REVIEW, args_override_self = true)]
#[command(group(ArgGroup::new("action").args(ACTIONS)))]
pub struct Review {
    /// A folder in the project; the current one by default
    #[arg(default_value = ".", hide_default_value = true)]
    pub path: PathBuf,
    /// Wait for the end of the review, and print what was decided
    #[arg(long = "wait")]
    pub is_waiting: bool,
    /// Print that as JSON
    #[arg(long = "json", requires = "is_waiting")]
    pub is_json: bool,
    /// Record that an agent begins: what is written now is its own
    #[arg(long)]
    pub turn_begins: bool,
    /// Record that it has ended; without --agent, all have
    #[arg(long)]
    pub turn_ends: bool,
    /// Record that all was reviewed as it is, but what an agent may have written; with PATH a file, only that
    #[arg(long)]
    pub mark_reviewed: bool,
    /// What the agent is called
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Its session, if several run at once
    #[arg(long, value_name = "ID", default_value = "", hide_default_value = true)]
    pub session: String,
    /// What it is to do
    #[arg(long, value_name = "TEXT", requires = "turn_begins")]
    pub title: Option<String>,
    /// Emacs's socket, if `agent-q-diff-server-socket' is
    /// set there
    #[arg(long, value_name = "FILE", verbatim_doc_comment)]
    pub socket: Option<PathBuf>,
}

const ACTIONS: [&str; 4] = ["is_waiting", "turn_begins", "turn_ends", "mark_reviewed"];

/// How the settings of an agent are to be changed.
#[derive(Debug, PartialEq, Eq, Args)]
#[command(about = "Put the hook into an agent's settings")]
#[command(long_about = ABOUT_SETUP, args_override_self = true)]
pub struct Setup {
    /// The agent that runs the hook
    #[arg(value_parser = named(true))]
    pub agent: &'static Agent,
    /// Change the settings of the project here, not the user's
    #[arg(long = "project")]
    pub is_for_project: bool,
    /// Take the hook out again
    #[arg(long = "remove")]
    pub is_removing: bool,
    /// Only print the settings as they would be
    #[arg(long = "show")]
    pub is_showing: bool,
    /// Only print the name of the settings file
    #[arg(long = "where")]
    pub is_naming: bool,
    /// Do not ask
    #[arg(long = "yes")]
    pub is_yes: bool,
    /// Also have the agent edit with its tools, which you
    /// decide, rather than by its shell (Claude Code). Without
    /// --yes and --show, you are offered that
    #[arg(long = "edit-tools", verbatim_doc_comment)]
    pub is_steering: bool,
    /// Emacs's socket, if `agent-q-diff-server-socket' is
    /// set there
    #[arg(long, value_name = "FILE", verbatim_doc_comment)]
    pub socket: Option<PathBuf>,
}

impl Setup {
    /// Returns whose settings are to be changed.
    pub fn scope(&self) -> Scope {
        match self.is_for_project {
            true => Scope::Project,
            false => Scope::User,
        }
    }
}

/// The options of a check.
#[derive(Debug, PartialEq, Eq, Args)]
#[command(about = "Say what keeps an agent's edits from being decided")]
#[command(long_about = ABOUT_CHECK, args_override_self = true)]
pub struct Check {
    /// The agents that run the hook; by default all that are
    /// installed here or set up
    #[arg(value_name = "AGENT", value_parser = named(true), verbatim_doc_comment)]
    pub agents: Vec<&'static Agent>,
    /// Emacs's socket, if `agent-q-diff-server-socket' is
    /// set there
    #[arg(long, value_name = "FILE", verbatim_doc_comment)]
    pub socket: Option<PathBuf>,
    // Emacs, which calls it so, says the rest itself.
    #[arg(long = "no-emacs", hide = true)]
    pub is_without_emacs: bool,
}

/// Returns the agents that can be set up, or else those that are formats.
fn agents(are_set_up: bool) -> impl Iterator<Item = &'static Agent> {
    let agents = ALL.iter().copied();
    agents.filter(move |agent| agent.setup.is_some() == are_set_up)
}

/// Returns the format of an agent called `agent`, for which `format` was named. An agent with a format of its own
/// has that, since earlier versions had one for all.
fn format_of(format: &'static Agent, agent: Option<&str>) -> &'static Agent {
    let agent = agent.unwrap_or_default().to_lowercase();
    let is_own = |it: &&Agent| *it != &ANY && format == &ANY && agent.contains(it.name);
    agents(false).find(is_own).unwrap_or(format)
}

/// Returns why the settings of the agent called `name` cannot be changed, or `None` if they can, or
/// if there is no such agent.
fn why_not_set_up(name: &str) -> Option<String> {
    if let Some((_, why)) = WITHOUT_HOOKS.iter().find(|(it, _)| *it == name) {
        return Some((*why).to_owned());
    }
    let format = agents(false).find(|format| *format != &ANY && format.name == name)?;
    Some(format!(
        "The settings of {} are not changed by this program. The manual has the lines that you \
         put there yourself; see \"Their own tools\".",
        format.title
    ))
}

/// Returns what `arguments` ask for; the first is the program's name. The program called
/// `agent-q-diff-mcp` is an MCP server, as it was before it had other commands.
///
/// # Errors
///
/// What to print instead: what is wrong with the arguments, or, if that is what they ask for, the
/// help or the version.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, clap::Error> {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    let name = arguments.first().map(Path::new).and_then(Path::file_name);
    if name == Some(OsStr::new("agent-q-diff-mcp")) {
        arguments.insert(1, "mcp".into());
    }
    if let [_, command, names @ ..] = &arguments[..]
        && (command == "setup" || command == "check")
        && let Some(why) = names.iter().find_map(|name| why_not_set_up(name.to_str()?))
    {
        return Err(clap::Error::raw(ErrorKind::InvalidValue, why + "\n"));
    }
    Ok(Program::try_parse_from(arguments)?.command)
}

/// Returns what reads the name of an agent that can be set up, or else that of a format.
fn named(are_set_up: bool) -> impl TypedValueParser<Value = &'static Agent> {
    let values = agents(are_set_up).map(move |agent| {
        let value = PossibleValue::new(agent.name);
        if are_set_up {
            value.help(agent.title)
        } else {
            value
        }
    });
    PossibleValuesParser::new(values).try_map(move |name| {
        let named = agents(are_set_up).find(|agent| agent.name == name);
        named.ok_or("there is no such agent")
    })
}

/// Parses a number of seconds; 0 means that there is no timeout.
fn timeout(seconds: &str) -> Result<Timeout, &'static str> {
    let number = seconds.parse().ok();
    let time = number.and_then(|number| Duration::try_from_secs_f64(number).ok());
    let time = time.ok_or("a number of seconds is needed, such as 50 or 0.5")?;
    Ok((!time.is_zero()).then_some(time))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::agents::{claude, gemini};

    fn parsed(arguments: &[&str]) -> Result<Command, clap::Error> {
        let program = ["agent-q-diff"].iter();
        parse(program.chain(arguments).map(OsString::from))
    }

    fn seconds(number: f64) -> Option<Duration> {
        Some(Duration::from_secs_f64(number))
    }

    #[test]
    fn clap_finds_no_mistake_in_the_definitions() {
        Program::command().debug_assert();
    }

    #[test]
    fn options_of_the_server_set_socket_and_timeout() {
        let cases: &[(&[&str], Option<&str>, Option<Duration>)] = &[
            (&["mcp"], None, seconds(50.0)),
            (&["mcp", "--timeout", "0.5"], None, seconds(0.5)),
            (
                &["mcp", "--timeout=7", "--socket", "s"],
                Some("s"),
                seconds(7.0),
            ),
            (&["mcp", "--timeout", "0"], None, None),
            (
                &["mcp", "--timeout", "1", "--timeout", "2"],
                None,
                seconds(2.0),
            ),
        ];
        for (arguments, socket, timeout) in cases {
            let wanted = Mcp {
                socket: socket.map(PathBuf::from),
                timeout: *timeout,
            };
            assert_eq!(
                parsed(arguments).unwrap(),
                Command::Mcp(wanted),
                "{arguments:?}"
            );
        }
    }

    #[test]
    fn options_of_a_hook_set_client_socket_and_timeout() {
        let hook = |arguments: &[&str]| match parsed(arguments).unwrap() {
            Command::Hook(arguments) => Hook::from(arguments),
            other => panic!("{other:?}"),
        };
        let wanted = |agent, name: &str, socket: Option<&str>, timeout| Hook {
            agent,
            name: name.to_owned(),
            socket: socket.map(PathBuf::from),
            timeout,
        };
        assert_eq!(
            hook(&["hook", "claude"]),
            wanted(&claude::AGENT, "Claude Code", None, seconds(86_390.0))
        );
        assert_eq!(
            hook(&["hook", "--timeout", "0", "--socket=s", "gemini"]),
            wanted(&gemini::AGENT, "Gemini CLI", Some("s"), None)
        );
        assert_eq!(
            hook(&["hook", "--format", "claude", "--name", "Cursor"]),
            wanted(&ANY, "Cursor", None, seconds(50.0))
        );
    }

    #[test]
    fn each_format_refuses_before_its_agent_edits_and_as_that_reads_it() {
        let of = |arguments: &[&str]| match parsed(&[&["hook"], arguments].concat()).unwrap() {
            Command::Hook(arguments) => {
                let hook = Hook::from(arguments);
                (hook.name, hook.timeout, hook.agent.refusal.is_some())
            }
            other => panic!("{other:?}"),
        };
        let wanted =
            |agent: &str, time, reads_output| (agent.to_owned(), seconds(time), reads_output);
        assert_eq!(of(&["--format", "claude"]), wanted("An agent", 50.0, false));
        assert_eq!(of(&["--format", "kimi"]), wanted("Kimi", 590.0, true));
        assert_eq!(of(&["--format", "qwen"]), wanted("Qwen Code", 50.0, true));
        assert_eq!(
            of(&["--format", "copilot"]),
            wanted("Copilot CLI", 590.0, true)
        );
        // As an earlier version of the manual has it.
        for (name, time) in [
            ("Kimi", 590.0),
            ("Qwen Code", 50.0),
            ("GitHub Copilot", 590.0),
        ] {
            let arguments = ["--format", "claude", "--name", name];
            assert_eq!(of(&arguments), wanted(name, time, true));
        }
        let arguments = ["--format", "kimi", "--name", "K", "--timeout", "7"];
        assert_eq!(of(&arguments), wanted("K", 7.0, true));
    }

    #[test]
    fn an_agent_that_cannot_be_set_up_is_refused_with_the_reason() {
        for (name, part) in [
            ("cline", "Cline takes every failure of a hook for consent"),
            (
                "kimi",
                "The manual has the lines that you put there yourself",
            ),
            ("qwen", "Qwen Code"),
            ("copilot", "Copilot CLI"),
        ] {
            for command in ["setup", "check"] {
                let error = parsed(&[command, name]).unwrap_err();
                assert!(
                    error.use_stderr() && error.to_string().contains(part),
                    "{error}"
                );
            }
        }
    }

    #[test]
    fn the_name_of_before_is_that_of_the_server() {
        let arguments = ["/usr/bin/agent-q-diff-mcp", "--timeout", "3"].map(OsString::from);
        let wanted = Mcp {
            socket: None,
            timeout: seconds(3.0),
        };
        assert_eq!(parse(arguments).unwrap(), Command::Mcp(wanted));
    }

    #[test]
    fn wrong_arguments_are_errors() {
        let cases: &[(&[&str], ErrorKind)] = &[
            (&["--bogus"], ErrorKind::UnknownArgument),
            (&["bogus"], ErrorKind::InvalidSubcommand),
            (&["mcp", "bogus"], ErrorKind::UnknownArgument),
            (&["mcp", "--socket"], ErrorKind::InvalidValue),
            (&["mcp", "--timeout"], ErrorKind::InvalidValue),
            (&["mcp", "--timeout", "soon"], ErrorKind::ValueValidation),
            (&["mcp", "--timeout", "-1"], ErrorKind::ValueValidation),
            (&["mcp", "--timeout", "nan"], ErrorKind::ValueValidation),
            (
                &["hook", "claude", "--timeout", "1e30"],
                ErrorKind::ValueValidation,
            ),
            (&["hook"], ErrorKind::MissingRequiredArgument),
            (&["hook", "aider"], ErrorKind::InvalidValue),
            (&["hook", "--format", "aider"], ErrorKind::InvalidValue),
            (
                &["hook", "claude", "--format", "claude"],
                ErrorKind::ArgumentConflict,
            ),
            (
                &["hook", "claude", "--name", "Kimi"],
                ErrorKind::ArgumentConflict,
            ),
        ];
        for (arguments, kind) in cases {
            let error = parsed(arguments).unwrap_err();
            assert_eq!(error.kind(), *kind, "{arguments:?}");
            assert!(error.use_stderr(), "{arguments:?}");
        }
    }

    #[test]
    fn help_and_version_are_no_errors() {
        let version = concat!("agent-q-diff ", env!("CARGO_PKG_VERSION"), "\n");
        for (argument, part) in [("--help", "Usage: "), ("--version", version)] {
            let message = parsed(&[argument]).unwrap_err();
            assert!(!message.use_stderr(), "{argument}");
            assert!(message.to_string().contains(part), "{message}");
        }
    }

    #[test]
    fn the_help_fits_a_terminal_of_80_columns() {
        for arguments in [
            &["--help"][..],
            &["mcp", "--help"],
            &["hook", "--help"],
            &["setup", "--help"],
            &["check", "--help"],
        ] {
            let help = parsed(arguments).unwrap_err().to_string();
            assert!(help.lines().all(|line| line.len() <= 80), "{help}");
        }
    }
}
