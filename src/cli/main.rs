//! The MCP server of agent-q-diff: what an MCP client's agent proposes is reviewed in the user's
//! running Emacs.
//!
//! A client starts this program and talks to it on standard input and output. Each tool call goes
//! on to Emacs over a Unix socket, which `M-x agent-q-diff-serve` opens, as one connection of its
//! own; so calls are answered in the order in which the user decides, and a call that is cancelled
//! closes its connection. Nothing is decided here, and no file is touched.
//!
//! The modules, each of which uses only those above it:
//!
//! - [`options`]: the command line
//! - [`texts`]: large texts of a call, and the file in which Emacs reads them
//! - [`input`]: standard input, of which one learns when it ends
//! - [`socket`]: one call's connection to Emacs
//! - [`tools`]: what agents read: tools, and messages that do not come from Emacs
//! - [`server`]: calls, what they wait for, and what becomes of those that wait too long

#[cfg(not(unix))]
compile_error!("agent-q-diff-mcp reaches Emacs through a Unix socket, so it is for Unix only");

mod input;
mod options;
mod server;
mod socket;
mod texts;
mod tools;

use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::Arc;

use rmcp::ServiceExt;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::io::stdio_pipes;

/// The number of bytes that a message of the client may have. The library's own limit of 16 MiB
/// drops a longer one without an answer; two texts of 20 MB have up to 80 MB as JSON. It is that
/// of the Lisp side, `agent-q-diff-server--limit`.
const MAX_MESSAGE_LEN: usize = 256 * 1024 * 1024;

// One thread: there is nothing to compute, and calls wait for a human.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match options::parse(std::env::args_os()) {
        Ok(options) => serve(options).await,
        Err(message) => {
            // There is nobody to tell if it cannot be printed.
            let _ = message.print();
            ExitCode::from(u8::from(message.use_stderr()))
        }
    }
}

/// Serves the client on standard input and output until it closes them.
async fn serve(options: options::Options) -> ExitCode {
    if std::io::stdin().is_terminal() {
        eprintln!("agent-q-diff-mcp: an MCP client starts this program; try --help");
    }
    let (input, output) = stdio_pipes();
    let waiting = Arc::default();
    let (input, client_gone) = input::Input::new(input, Arc::clone(&waiting));
    let transport = AsyncRwTransport::new(input, output).with_max_line_length(MAX_MESSAGE_LEN);
    let result = match server::Server::new(options, waiting, client_gone)
        .serve(transport)
        .await
    {
        Ok(running) => running.waiting().await.map(drop).map_err(|e| e.to_string()),
        Err(error) => Err(error.to_string()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("agent-q-diff-mcp: {error}");
            ExitCode::FAILURE
        }
    }
}
