//! What the paths of a project hold on disk.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::Access;

use crate::file::{self, Links};
use crate::version::{Digest, Version};

/// Largest size of a file that is looked at, in bytes.
pub const MAX_SIZE: u64 = 8 << 20;

/// A path that differs from HEAD, and what it is there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Committed {
    /// The mode as git writes it; 0 if it is not there.
    pub mode: u32,
    /// The bytes as a checkout would write them.
    pub bytes: Vec<u8>,
}

impl Committed {
    /// Returns which version it is.
    pub fn version(&self) -> Version {
        let digest = Digest::of(&self.bytes);
        Version::with_mode(self.mode, digest).unwrap_or(Version::Absent)
    }
}

/// Returns the size in bytes of the file `path` below `root`; 0 if there is none.
pub fn size(root: &Path, path: &[u8]) -> u64 {
    let name = root.join(OsStr::from_bytes(path));
    fs::symlink_metadata(name).map_or(0, |metadata| metadata.len())
}

/// Returns whether `path` is below `root`, and neither a file nor a link nor a folder: a FIFO, for example.
pub fn is_special(root: &Path, path: &[u8]) -> bool {
    let found = fs::symlink_metadata(root.join(OsStr::from_bytes(path)));
    found.is_ok_and(|found| !found.is_file() && !found.is_symlink() && !found.is_dir())
}

/// Returns why the file `path` below `root` cannot be read, a few words, as far as its permissions say.
pub fn unreadable(root: &Path, path: &[u8]) -> Option<String> {
    let name = root.join(OsStr::from_bytes(path));
    let error = match fs::symlink_metadata(&name) {
        Ok(found) if found.is_file() => rustix::fs::access(&name, Access::READ_OK).err()?.into(),
        Err(error) => error,
        Ok(_) => return None,
    };
    let is_gone = matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    );
    (!is_gone).then(|| error.kind().to_string())
}

/// Returns whether `path` is a file or a link below `root`.
pub fn is_there(root: &Path, path: &[u8]) -> bool {
    let found = fs::symlink_metadata(root.join(OsStr::from_bytes(path)));
    found.is_ok_and(|found| !found.is_dir())
}

/// Returns what `path` is below `root`.
///
/// # Errors
///
/// If it is there and cannot be read.
pub fn working(root: &Path, path: &[u8]) -> Result<Committed, io::Error> {
    let name = root.join(OsStr::from_bytes(path));
    let nothing = Committed {
        mode: 0,
        bytes: Vec::new(),
    };
    // What is behind a link that stands where a folder was is no file of the project.
    let mut folders = Path::new(OsStr::from_bytes(path)).ancestors().skip(1);
    if folders.any(|folder| root.join(folder).is_symlink() && folder != Path::new("")) {
        return Ok(nothing);
    }
    let metadata = match fs::symlink_metadata(&name) {
        Ok(metadata) => metadata,
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(nothing);
        }
        Err(error) => return Err(error),
    };
    let (mode, bytes) = if metadata.is_symlink() {
        (0o120_000, fs::read_link(&name)?.into_os_string().into_vec())
    } else if metadata.is_file() {
        let is_executable = metadata.permissions().mode() & 0o100 != 0;
        let mode = if is_executable { 0o100_755 } else { 0o100_644 };
        (mode, file::read(&name, Links::Refused, file::MAX_BYTES)?)
    } else {
        (0, Vec::new())
    };
    Ok(Committed { mode, bytes })
}
