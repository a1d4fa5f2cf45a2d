//! The program of agent-q-diff for agents: the user decides in a running Emacs what they change.
//!
//! `agent-q-diff mcp` is an MCP server, whose tools propose changes. `agent-q-diff hook` is what a
//! coding agent runs before and after its own tools edit a file; `agent-q-diff setup` tells the agent
//! to do so. `agent-q-diff review` has what was written already reviewed. They ask Emacs over a Unix socket, which `M-x agent-q-diff-serve` opens, and decide
//! nothing themselves.
//!
//! The modules, each of which uses only those above it:
//!
//! - [`socket`]: one call's connection to Emacs
//! - [`shell`]: the files that a shell command plainly writes
//! - [`agents`]: the coding agents whose edits are decided
//! - [`options`]: the commands of the program, and their options
//! - [`mcp`]: the MCP server
//! - [`hook`]: the edits that agents make with their own tools
//! - [`review`]: the review of what was written already
//! - [`setup`]: the hook in an agent's settings

#[cfg(not(unix))]
compile_error!("agent-q-diff runs only on Unix, since it reaches Emacs over a Unix socket");

mod agents;
mod hook;
mod mcp;
mod options;
mod review;
mod setup;
mod shell;
mod socket;

use std::process::ExitCode;

use options::Command;

// One thread is enough: there is little to compute, and calls wait for a human.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match options::parse(std::env::args_os()) {
        Ok(Command::Mcp(options)) => mcp::serve(options).await,
        Ok(Command::Hook(options)) => hook::run(options.into()).await,
        Ok(Command::Review(options)) => review::run(options).await,
        Ok(Command::Setup(options)) => setup::run(options).await,
        Ok(Command::Check(options)) => setup::check::run(options).await,
        Err(message) => {
            // If it cannot be printed, the error cannot be either.
            let _ = message.print();
            let is_review = std::env::args_os()
                .nth(1)
                .is_some_and(|word| word == "review");
            ExitCode::from(match message.use_stderr() {
                false => 0,
                true if is_review => review::FAILED,
                // An agent takes 2 for a refusal, and any other error for consent.
                true => 2,
            })
        }
    }
}
