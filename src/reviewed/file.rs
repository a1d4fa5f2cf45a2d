//! Reads files that may be something else: a FIFO, a socket or a device is never waited for, nor read.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Most bytes of a file that are read into memory, unless a caller wants less.
pub const MAX_BYTES: u64 = 1 << 30;

/// What a symbolic link counts as, where a file is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// As the file that it leads to.
    Followed,
    /// As no file.
    Refused,
}

/// Opens the regular file `path`, which `options` may create.
///
/// # Errors
///
/// If it cannot be opened, or is no regular file.
pub fn open(path: &Path, links: Links, options: &mut OpenOptions) -> io::Result<File> {
    // To open a device, or a FIFO for whose reader somebody waits, can have effects.
    let there = match links {
        Links::Followed => fs::metadata(path),
        Links::Refused => fs::symlink_metadata(path),
    };
    match there {
        Ok(there) => check(&there)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    // Something else may be there by now.
    let mut flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    if links == Links::Refused {
        flags |= OFlags::NOFOLLOW;
    }
    let flags = i32::try_from(flags.bits()).expect("flags are small");
    let file = options.custom_flags(flags).open(path)?;
    check(&file.metadata()?)?;
    Ok(file)
}

/// Opens a new file `path` in place of what is there, such as what an interrupted writer left.
///
/// # Errors
///
/// If it cannot be made.
pub fn replace(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// Returns the bytes of the regular file `path`, at most `max` of them.
///
/// # Errors
///
/// If it cannot be read, is no regular file, or has more bytes.
pub fn read(path: &Path, links: Links, max: u64) -> io::Result<Vec<u8>> {
    let mut file = open(path, links, OpenOptions::new().read(true))?;
    read_rest(&mut file, max)
}

/// Returns the bytes of `file` from where it stands, at most `max` of them.
///
/// # Errors
///
/// If it cannot be read, or has more bytes.
pub fn read_rest(file: &mut File, max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // One that grows meanwhile has an end, too.
    file.take(max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        let size = format!("it is larger than {} MiB", max >> 20);
        return Err(io::Error::other(size));
    }
    Ok(bytes)
}

/// Copies the regular file `from` to a new file `to`, in place of what is there.
///
/// # Errors
///
/// If either cannot be opened, read or written.
pub fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut from = open(from, Links::Refused, OpenOptions::new().read(true))?;
    io::copy(&mut from, &mut replace(to)?)?;
    Ok(())
}

fn check(metadata: &fs::Metadata) -> io::Result<()> {
    if metadata.is_file() {
        Ok(())
    } else {
        Err(io::Error::other("it is not a regular file"))
    }
}
