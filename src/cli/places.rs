//! Directories of the user.

use std::path::PathBuf;

/// Returns the user's home directory.
pub fn home() -> PathBuf {
    std::env::home_dir().unwrap_or_else(|| PathBuf::from("/"))
}

/// Returns the directory that the variable `name` of the environment names, or else `directory` in
/// the user's home directory.
pub fn directory_of(name: &str, directory: &str) -> PathBuf {
    std::env::var_os(name).map_or_else(|| home().join(directory), PathBuf::from)
}
