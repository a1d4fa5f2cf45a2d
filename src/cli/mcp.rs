//! The MCP server: the user reviews what an MCP client's agent proposes, in a running Emacs.
//!
//! A client starts this program and talks to it on standard input and output. Each tool call is
//! passed on to Emacs over a connection of its own, so calls are answered in the order in which the
//! user decides, and cancelling a call closes its connection. The server decides nothing, and does
//! not touch the files under review.

mod input;
mod roots;
mod server;
mod tools;

pub use input::without_halves;

use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::Arc;

use rmcp::ServiceExt;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::io::stdio_pipes;

use crate::options::Mcp;

/// The greatest number of bytes in a message of the client, as on the Lisp side in
/// `agent-q-diff-server--limit`. The MCP library drops a longer message without an answer. Its own
/// limit of 16 MiB would be too small: two texts of 20 MB can take 80 MB as JSON.
const MAX_MESSAGE_LEN: usize = 256 * 1024 * 1024;

/// Serves the client on standard input and output until it closes them. Fails if the client does
/// not speak MCP.
pub async fn serve(options: Mcp) -> ExitCode {
    if std::io::stdin().is_terminal() {
        eprintln!("agent-q-diff mcp: an MCP client starts this program; try --help");
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
            eprintln!("agent-q-diff mcp: {error}");
            ExitCode::FAILURE
        }
    }
}
