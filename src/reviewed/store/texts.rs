//! The texts of a store, each in a file that is named by the digest of its bytes.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::{Store, StoreError, at};
use crate::file::{self, Links};
use crate::version::{Digest, Version};

/// How long a text is held that the ledger does not name.
const HELD: Duration = Duration::from_secs(24 * 60 * 60);

/// Returns the bytes with this digest in `folder`, that of the texts of a store.
///
/// # Errors
///
/// [`StoreError`], also if the text has other bytes.
pub fn read_text(folder: &Path, digest: Digest) -> Result<Vec<u8>, StoreError> {
    let path = folder.join(digest.to_string());
    let bytes = match file::read(&path, Links::Refused, file::MAX_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(StoreError::Missing(digest));
        }
        Err(error) => return Err(at(&path)(error)),
    };
    if Digest::of(&bytes) == digest {
        Ok(bytes)
    } else {
        Err(StoreError::Damaged { path, digest })
    }
}

impl Store {
    /// Returns the bytes with this digest.
    ///
    /// # Errors
    ///
    /// [`StoreError`], also if the text has other bytes.
    pub fn bytes(&self, digest: Digest) -> Result<Vec<u8>, StoreError> {
        read_text(&self.texts(), digest)
    }

    /// Stores `bytes`, and returns their digest.
    ///
    /// # Errors
    ///
    /// [`StoreError`].
    pub fn put(&self, bytes: &[u8]) -> Result<Digest, StoreError> {
        let digest = Digest::of(bytes);
        let path = self.text(digest);
        let there = fs::symlink_metadata(&path);
        let is_there =
            there.is_ok_and(|there| there.is_file() && there.len() == bytes.len() as u64);
        if !is_there {
            self.make_folders()?;
            file::write_whole(&path, bytes).map_err(at(&path))?;
        }
        Ok(digest)
    }

    /// Goes on without the text `digest`, which is missing or damaged: what was reviewed as it is asked again,
    /// and the user is told so. Returns whether anything has changed by that.
    ///
    /// # Errors
    ///
    /// [`StoreError`].
    pub fn lose(&mut self, digest: Digest) -> Result<bool, StoreError> {
        self.change(|ledger, store| {
            let is_damaged = matches!(store.bytes(digest), Err(StoreError::Damaged { .. }));
            if is_damaged {
                let path = store.text(digest);
                fs::remove_file(&path).map_err(at(&path))?;
            }
            Ok(ledger.lose(digest) || is_damaged)
        })
    }

    /// Stores what has the mode `mode`, as git writes it, and `bytes`; 0 is nothing.
    ///
    /// # Errors
    ///
    /// [`StoreError`].
    pub fn version(&self, mode: u32, bytes: &[u8]) -> Result<Version, StoreError> {
        if mode == 0 {
            return Ok(Version::Absent);
        }
        let digest = self.put(bytes)?;
        Ok(Version::with_mode(mode, digest).unwrap_or(Version::Absent))
    }

    /// Sees to it that the text of `version` is there for a day, although the ledger may not name it.
    ///
    /// # Errors
    ///
    /// [`StoreError`].
    pub fn hold(&self, version: Version) -> Result<(), StoreError> {
        let Some(digest) = version.digest() else {
            return Ok(());
        };
        let path = self.text(digest);
        let text = file::open(&path, Links::Refused, OpenOptions::new().write(true));
        let held = text.and_then(|text| text.set_modified(SystemTime::now() + HELD));
        held.map_err(at(&path))
    }

    fn text(&self, digest: Digest) -> PathBuf {
        self.texts().join(digest.to_string())
    }

    /// Deletes the texts that the ledger does not name, and drafts, except those of the last hour,
    /// which somebody may be about to name. What has another name is somebody else's.
    ///
    /// # Errors
    ///
    /// [`StoreError`].
    pub fn prune(&mut self) -> Result<(), StoreError> {
        let _lock = self.lock()?;
        let named = self.ledger.digests();
        let is_log = |stem: &str| matches!(stem, "record" | "ledger");
        delete_old(&self.folder, |name| file::is_draft(name, is_log))?;
        delete_old(&self.texts(), |name| {
            let is_unnamed = |digest| !named.contains(&digest);
            Digest::parse(name).is_some_and(is_unnamed)
                || file::is_draft(name, |stem| Digest::parse(stem).is_some())
        })
    }
}

/// Deletes the files in `folder` that are more than an hour old and whose names `is_meant` knows.
fn delete_old(folder: &Path, is_meant: impl Fn(&str) -> bool) -> Result<(), StoreError> {
    for entry in fs::read_dir(folder).map_err(at(folder))? {
        let entry = entry.map_err(at(folder))?;
        let is_meant = entry.file_name().to_str().is_some_and(&is_meant);
        let is_old = |there: fs::Metadata| there.is_file() && file::is_old(&there);
        if is_meant && entry.metadata().is_ok_and(is_old) {
            fs::remove_file(entry.path()).map_err(at(&entry.path()))?;
        }
    }
    Ok(())
}
