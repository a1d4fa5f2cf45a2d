//! Directories of the user.

use std::path::PathBuf;

use crate::options::Client;
use crate::socket::current_directory;

/// Returns the user's home directory.
pub fn home() -> PathBuf {
    std::env::home_dir().unwrap_or_else(|| PathBuf::from("/"))
}

/// Returns the directory that the variable `name` of the environment names, or, if it is not set or
/// is empty, `directory` in the user's home directory.
pub fn directory_of(name: &str, directory: &str) -> PathBuf {
    match std::env::var_os(name) {
        Some(named) if !named.is_empty() => PathBuf::from(named),
        _ => home().join(directory),
    }
}

/// Returns the directory in which `client` has what the user sets, and, unless it is opencode, what it
/// records.
pub fn directory_of_client(client: Client) -> PathBuf {
    match client {
        // It takes an empty name for the current directory.
        Client::Claude => std::env::var_os("CLAUDE_CONFIG_DIR").map_or_else(
            || home().join(".claude"),
            |named| current_directory().join(named),
        ),
        Client::Codex => directory_of("CODEX_HOME", ".codex"),
        Client::Gemini => directory_of("GEMINI_CLI_HOME", "").join(".gemini"),
        Client::Opencode => directory_of("XDG_CONFIG_HOME", ".config").join("opencode"),
    }
}
