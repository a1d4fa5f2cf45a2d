//! The program's options.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Arg, Command, value_parser};

const ABOUT: &str = "\
An MCP server: what an agent wants to change in a file is reviewed in Emacs,
hunk by hunk. Call M-x agent-q-diff-serve there first.";

/// Many clients give up on a call after 60 seconds.
const DEFAULT_TIMEOUT: &str = "50";

const TIMEOUT_HELP: &str = "\
Answer a call \"pending\" after this time, before the
client gives up; the agent then asks again with
review_result. 0 waits for the user
without limit";

const SOCKET_HELP: &str = "\
Emacs's socket, if `agent-q-diff-server-socket' is
set there";

/// What the command line sets.
#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    /// The socket on which Emacs listens, or none to try the usual places.
    pub socket: Option<PathBuf>,
    /// Time after which a call is answered "pending", or none to wait without end.
    pub timeout: Option<Duration>,
}

/// Returns the options in `arguments`, of which the first is the program's name.
///
/// # Errors
///
/// What to print instead of serving a client: what is wrong with the arguments, or, if that is what
/// they ask for, the help or the version.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Options, clap::Error> {
    let mut matches = command().try_get_matches_from(arguments)?;
    Ok(Options {
        socket: matches.remove_one("socket"),
        timeout: matches.remove_one("timeout").flatten(),
    })
}

fn command() -> Command {
    let timeout = Arg::new("timeout")
        .long("timeout")
        .value_name("SECONDS")
        .value_parser(timeout)
        .allow_negative_numbers(true)
        .default_value(DEFAULT_TIMEOUT)
        .help(TIMEOUT_HELP);
    let socket = Arg::new("socket")
        .long("socket")
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .help(SOCKET_HELP);
    Command::new(env!("CARGO_BIN_NAME"))
        .version(env!("CARGO_PKG_VERSION"))
        .about(ABOUT)
        // An option that is given twice counts as it was given last.
        .args_override_self(true)
        .args([timeout, socket])
}

/// Parses a number of seconds; 0 means that there is no timeout.
fn timeout(seconds: &str) -> Result<Option<Duration>, &'static str> {
    let number = seconds.parse().ok();
    let time = number.and_then(|number| Duration::try_from_secs_f64(number).ok());
    let time = time.ok_or("a number of seconds is needed, such as 50 or 0.5")?;
    Ok((!time.is_zero()).then_some(time))
}

#[cfg(test)]
mod tests {
    use clap::error::ErrorKind;

    use super::*;

    fn parsed(arguments: &[&str]) -> Result<Options, clap::Error> {
        let program = ["agent-q-diff-mcp"].iter();
        parse(program.chain(arguments).map(OsString::from))
    }

    #[test]
    fn clap_finds_no_mistake_in_the_definitions() {
        command().debug_assert();
    }

    #[test]
    fn options_set_socket_and_timeout() {
        let seconds = |number| Some(Duration::from_secs_f64(number));
        let cases: &[(&[&str], Option<&str>, Option<Duration>)] = &[
            (&[], None, seconds(50.0)),
            (&["--timeout", "0.5"], None, seconds(0.5)),
            (&["--timeout=7", "--socket", "s"], Some("s"), seconds(7.0)),
            (&["--timeout", "0"], None, None),
            (&["--timeout", "1", "--timeout", "2"], None, seconds(2.0)),
        ];
        for (arguments, socket, timeout) in cases {
            let options = parsed(arguments).unwrap();
            assert_eq!(options.socket, socket.map(PathBuf::from), "{arguments:?}");
            assert_eq!(options.timeout, *timeout, "{arguments:?}");
        }
    }

    #[test]
    fn wrong_arguments_are_errors() {
        let cases: &[(&[&str], ErrorKind)] = &[
            (&["--bogus"], ErrorKind::UnknownArgument),
            (&["bogus"], ErrorKind::UnknownArgument),
            (&["--socket"], ErrorKind::InvalidValue),
            (&["--timeout"], ErrorKind::InvalidValue),
            (&["--timeout", "soon"], ErrorKind::ValueValidation),
            (&["--timeout", "-1"], ErrorKind::ValueValidation),
            (&["--timeout", "nan"], ErrorKind::ValueValidation),
            (&["--timeout", "1e30"], ErrorKind::ValueValidation),
        ];
        for (arguments, kind) in cases {
            let error = parsed(arguments).unwrap_err();
            assert_eq!(error.kind(), *kind, "{arguments:?}");
            assert!(error.use_stderr(), "{arguments:?}");
        }
    }

    #[test]
    fn help_and_version_are_no_errors() {
        let version = concat!("agent-q-diff-mcp ", env!("CARGO_PKG_VERSION"), "\n");
        for (argument, part) in [("--help", "Usage: "), ("--version", version)] {
            let message = parsed(&[argument]).unwrap_err();
            assert!(!message.use_stderr(), "{argument}");
            assert!(message.to_string().contains(part), "{message}");
        }
    }

    #[test]
    fn the_help_fits_a_terminal_of_80_columns() {
        let help = parsed(&["--help"]).unwrap_err().to_string();
        assert!(help.lines().all(|line| line.len() <= 80), "{help}");
    }
}
