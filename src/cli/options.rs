//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

const HELP: &str = "\
usage: agent-q-diff-mcp [--timeout SECONDS] [--socket FILE]

An MCP server: what agents propose is reviewed in the Emacs in which the user
has called M-x agent-q-diff-serve.

--timeout SECONDS  answer \"pending\" after that time, 50 by default, before the
                   client gives up; the agent then asks with review_result.
                   0 waits for the user without end.
--socket FILE      the socket, if `agent-q-diff-server-socket' is set in Emacs";

/// Time after which a call is answered "pending". Many clients give up after 60 seconds.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(50);

/// What the user wants otherwise than usual.
pub struct Options {
    /// The socket, or none for the usual places.
    pub socket: Option<PathBuf>,
    /// Time after which a call is answered "pending", or none to wait without end.
    pub timeout: Option<Duration>,
}

/// What the program is to do.
pub enum Command {
    /// Serve a client.
    Serve(Options),
    /// Print a text.
    Say(String),
}

/// Why the command line could not be understood.
#[derive(Debug, Error)]
pub enum OptionsError {
    /// There is no such option.
    #[error("unknown argument {0:?}; try --help")]
    Unknown(OsString),
    /// The option needs a value.
    #[error("{0} needs a value; try --help")]
    NoValue(&'static str),
    /// The value is not a number of seconds.
    #[error("--timeout needs a number of seconds, not {0:?}")]
    NoSeconds(OsString),
}

/// Returns what `arguments`, without the program's name, ask for.
pub fn parse(mut arguments: impl Iterator<Item = OsString>) -> Result<Command, OptionsError> {
    let mut options = Options {
        socket: None,
        timeout: Some(DEFAULT_TIMEOUT),
    };
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("--help" | "-h") => return Ok(Command::Say(HELP.to_owned())),
            Some("--version") => {
                return Ok(Command::Say(
                    concat!("agent-q-diff-mcp ", env!("CARGO_PKG_VERSION")).to_owned(),
                ));
            }
            Some("--socket") => {
                let file = arguments.next().ok_or(OptionsError::NoValue("--socket"))?;
                options.socket = Some(file.into());
            }
            Some("--timeout") => {
                let value = arguments.next().ok_or(OptionsError::NoValue("--timeout"))?;
                options.timeout = seconds(&value).ok_or(OptionsError::NoSeconds(value))?;
            }
            _ => return Err(OptionsError::Unknown(argument)),
        }
    }
    Ok(Command::Serve(options))
}

/// Returns the time that `value` names, which is none if it is 0.
fn seconds(value: &OsString) -> Option<Option<Duration>> {
    let number = value.to_str()?.parse().ok()?;
    let time = Duration::try_from_secs_f64(number).ok()?;
    Some((!time.is_zero()).then_some(time))
}
