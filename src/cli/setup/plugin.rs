//! The plugin of opencode, a file of its own.

use std::path::PathBuf;

use crate::options::{Client, Scope};
use crate::places::{directory_of_client, home};
use crate::socket::current_directory;

/// The plugin, but for the command that it runs.
const PLUGIN: &str = include_str!("opencode.js");

/// The name of its file.
pub const NAME: &str = "agent-q-diff.js";

/// The line of the plugin that names the command.
const COMMAND: &str = "const COMMAND = [];";

/// Returns the file of the plugin: the user's, or the one of the project in the current directory.
pub fn file(scope: Scope) -> PathBuf {
    match scope {
        // opencode reads the user's usual directory, too.
        Scope::User => match std::env::var_os("OPENCODE_CONFIG_DIR") {
            Some(directory) if !directory.is_empty() => current_directory().join(directory),
            _ => directory_of_client(Client::Opencode),
        },
        Scope::Project => current_directory().join(".opencode"),
    }
    .join("plugins")
    .join(NAME)
}

/// Returns all files in which opencode, started here, finds the plugin.
pub fn files() -> Vec<PathBuf> {
    let usual = directory_of_client(Client::Opencode)
        .join("plugins")
        .join(NAME);
    let mut files = vec![
        file(Scope::User),
        usual,
        home().join(".opencode").join("plugins").join(NAME),
    ];
    // It also looks in the directories above, up to the top of the repository.
    let here = current_directory();
    for directory in here.ancestors() {
        files.push(directory.join(".opencode").join("plugins").join(NAME));
        if directory.join(".git").exists() {
            break;
        }
    }
    let mut seen = std::collections::HashSet::new();
    files.retain(|file| seen.insert(file.clone()));
    files
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
