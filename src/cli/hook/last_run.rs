//! When an agent last ran its hook. `agent-q-diff check` compares that with the agent's edits.

use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use crate::options::Client;
use crate::places::directory_of;

/// Returns the file that is written whenever `client` runs its hook.
fn file(client: Client) -> PathBuf {
    directory_of("XDG_STATE_HOME", ".local/state")
        .join("agent-q-diff")
        .join(format!("last-run-{}", client.name()))
}

/// Notes that `client` has run its hook now. If that cannot be noted, the edit is decided all the
/// same.
pub fn note(client: Client) {
    let file = file(client);
    if fs::write(&file, "").is_err()
        && let Some(directory) = file.parent()
    {
        let _ = fs::create_dir_all(directory).and_then(|()| fs::write(&file, ""));
    }
}

/// Returns when `client` last ran its hook, or `None` if that was never noted.
pub fn get(client: Client) -> Option<SystemTime> {
    fs::metadata(file(client)).ok()?.modified().ok()
}
