//! The MCP server of agent-q-diff: the user reviews what an MCP client's agent proposes, in a
//! running Emacs.
//!
//! A client starts this program and talks to it on standard input and output. Each tool call is
//! passed on to Emacs over a connection of its own to a Unix socket, which `M-x agent-q-diff-serve`
//! opens; so calls are answered in the order in which the user decides, and cancelling a call closes
//! its connection. This program decides nothing, and does not touch the files under review.
//!
//! The modules, each of which uses only those above it:
//!
//! - [`options`]: the program's options
//! - [`texts`]: large texts of a call, and the file in which they are handed to Emacs
//! - [`input`]: standard input, without large texts
//! - [`socket`]: one call's connection to Emacs
//! - [`tools`]: the tools' descriptions, and the messages that do not come from Emacs
//! - [`server`]: passes calls on to Emacs, and answers "pending" those that take too long

#[cfg(not(unix))]
compile_error!("agent-q-diff-mcp runs only on Unix, since it reaches Emacs over a Unix socket");

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

/// The greatest number of bytes in a message of the client, as on the Lisp side in
/// `agent-q-diff-server--limit`. The MCP library drops a longer message without an answer. Its own
/// limit of 16 MiB would be too small: two texts of 20 MB can take 80 MB as JSON.
const MAX_MESSAGE_LEN: usize = 256 * 1024 * 1024;

// One thread is enough: there is little to compute, and calls wait for a human.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match options::parse(std::env::args_os()) {
        Ok(options) => serve(options).await,
        Err(message) => {
            // If it cannot be printed, the error cannot be either.
            let _ = message.print();
            ExitCode::from(u8::from(message.use_stderr()))
        }
    }
}

/// Serves the client on standard input and output until it closes them. Fails if the client does
/// not speak MCP.
async fn serve(options: options::Options) -> ExitCode {
    if std::io::stdin().is_terminal() {
        eprintln!("agent-q-diff-mcp: an MCP client starts this program; try --help");
    }
    let (input, output) = stdio_pipes();
    let texts = Arc::default();
    let (input, client_gone) = input::Input::new(input, Arc::clone(&texts));
    let transport = AsyncRwTransport::new(input, output).with_max_line_length(MAX_MESSAGE_LEN);
    let result = match server::Server::new(options, texts, client_gone)
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
