//! The plugin of opencode, a file of its own.

use std::path::PathBuf;

use crate::options::Scope;
use crate::places::directory_of;

/// The plugin, but for the command that it runs.
const PLUGIN: &str = include_str!("opencode.js");

/// The line of the plugin that names the command.
const COMMAND: &str = "const COMMAND = [];";

/// Returns the file of the plugin: the user's, or the one of the project in the current directory.
pub fn file(scope: Scope) -> PathBuf {
    match scope {
        Scope::User => match std::env::var_os("OPENCODE_CONFIG_DIR") {
            Some(directory) => PathBuf::from(directory),
            None => directory_of("XDG_CONFIG_HOME", ".config").join("opencode"),
        },
        Scope::Project => crate::socket::current_directory().join(".opencode"),
    }
    .join("plugins/agent-q-diff.js")
}

/// Returns the plugin that runs `command`, given word by word.
pub fn text(command: &[String]) -> String {
    let command = serde_json::to_string(command).expect("it has only strings");
    PLUGIN.replace(COMMAND, &format!("const COMMAND = {command}"))
}

/// Returns whether `text` is the plugin, by its first line.
pub fn is_ours(text: &str) -> bool {
    text.lines().next() == PLUGIN.lines().next()
}

/// Returns the command that `text`, a plugin of ours, runs, word by word.
pub fn command_of(text: &str) -> Option<Vec<String>> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("const COMMAND = "))?;
    serde_json::from_str(line).ok()
}
