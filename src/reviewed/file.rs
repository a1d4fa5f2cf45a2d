//! Reads files that may be something else: a FIFO, a socket or a device is never waited for, nor read.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

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

/// Writes a file so that it is there as a whole or as it was before.
///
/// # Errors
///
/// If it cannot be written.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let draft = path.with_extension(format!("{}.new", std::process::id()));
    let written = replace(&draft)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}

/// Returns whether `name` is that of a draft by [`write_whole`] of a file whose name, up to the first dot,
/// `is_ours` knows.
pub fn is_draft(name: &str, is_ours: impl Fn(&str) -> bool) -> bool {
    let parts = name.split_once('.');
    parts.is_some_and(|(stem, rest)| {
        let pid = rest.strip_suffix(".new");
        is_ours(stem) && pid.is_some_and(|pid| pid.parse::<u32>().is_ok())
    })
}

/// Returns whether `found` was last changed more than an hour ago, so that nobody is still busy with it.
pub fn is_old(found: &fs::Metadata) -> bool {
    let age = found.modified().map(|changed| changed.elapsed());
    age.is_ok_and(|age| age.is_ok_and(|age| age > Duration::from_secs(3600)))
}

/// Makes the folder `path` and those above it, for the user alone.
///
/// # Errors
///
/// If it cannot be made.
pub fn make_private(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Returns whether `folder`, one for data of a project, has a record of what was reviewed.
pub fn has_record(folder: &Path) -> bool {
    let names = ["record", "ledger"];
    names.iter().any(|name| folder.join(name).exists())
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
