//! When an agent last ran its hook. `agent-q-diff check` compares that with the agent's edits.

use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use crate::agents::{Agent, directory_of};

/// Returns the file that is written whenever `agent` runs its hook.
fn file(agent: &Agent) -> PathBuf {
    directory_of("XDG_STATE_HOME", ".local/state")
        .join("agent-q-diff")
        .join(format!("last-run-{}", agent.name))
}

/// Notes that `agent` has run its hook now. If that cannot be noted, the edit is decided all the
/// same.
pub fn note(agent: &Agent) {
    let file = file(agent);
    if fs::write(&file, "").is_err()
        && let Some(directory) = file.parent()
    {
        let _ = fs::create_dir_all(directory).and_then(|()| fs::write(&file, ""));
    }
}

/// Returns when `agent` last ran its hook, or `None` if that was never noted.
pub fn get(agent: &Agent) -> Option<SystemTime> {
    fs::metadata(file(agent)).ok()?.modified().ok()
}
