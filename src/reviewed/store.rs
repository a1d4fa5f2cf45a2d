//! Where reviewed texts and the ledger lie: a folder beside the repository's own data.
//!
//! `texts/` has the bytes of versions by their digest. `record` is a log: a header, then records, one a line
//! of JSON. It only grows until it is written anew; what does not end with a newline was not written to its
//! end and does not count. Whoever writes holds the lock `lock`; reading needs none. `ledger` is the log of
//! version 0.1, or, once that was taken over, a line that makes that version refuse.
//!
//! Others than this program can write there. So what is no regular file is not opened, a log that was cut
//! off is kept aside before it is written again, and a record with a path that no file of a project can
//! have stays in the log, and does not count.

use std::fs::{self, File, OpenOptions, Permissions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::file::{self, Links};
use crate::ledger::Ledger;
use crate::path::{self, escaped};
use crate::record::Record;
use crate::version::Digest;

mod old;
mod texts;

pub use texts::read_text;

/// The version of the form of the log. Version 1 were lines of words, see [`old`].
const FORM: u32 = 2;

/// Most bytes that a log can have.
const MAX_LOG: u64 = 256 << 20;

/// Number of records in the log, beyond those that it needs, from which on it is written anew.
const MAX_OLD: usize = 1000;

/// For how many seconds it is known what was taken out of files: 30 days.
const KEPT_SECONDS: u64 = 30 * 24 * 60 * 60;

/// How long the lock is waited for: others hold it for some milliseconds.
const LOCK_TIME: Duration = Duration::from_secs(2);

/// Time between attempts to take the lock.
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// Why a store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file of it cannot be read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        error: io::Error,
    },
    /// A folder of it is none: a link, for example, through which files of others would be changed.
    #[error("{} is not a folder; move it away, then look again", .0.display())]
    NoFolder(PathBuf),
    /// Another program has the lock.
    #[error("another program is using {}; try again when it has ended", .0.display())]
    Locked(PathBuf),
    /// Its log is not one that this version wrote.
    #[error(
        "line {line} of {} is not understood: it was damaged, or written by another version of \
         agent-q-diff. Use the latest version, or give the file another name; then what was reviewed \
         until now is asked again",
        path.display()
    )]
    Unknown {
        /// The log.
        path: PathBuf,
        /// Which of its lines, from 1.
        line: usize,
    },
    /// A newer version has written its log.
    #[error(
        "{} was written by a newer version of agent-q-diff; install that version here, too",
        .0.display()
    )]
    Newer(PathBuf),
    /// What is to be read or recorded has a path that no file of a project can have.
    #[error("\"{path}\" is no path of a file of a project: it {why}")]
    BadPath {
        /// The path, with `%XX` for what is not printable ASCII.
        path: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A text that the ledger names is not there.
    #[error("the text {0} is missing in the store")]
    Missing(Digest),
    /// A text that the ledger names has other bytes than were stored.
    #[error("{} is damaged: it does not have the bytes that were stored", path.display())]
    Damaged {
        /// Its file.
        path: PathBuf,
        /// The digest of the bytes that were stored.
        digest: Digest,
    },
}

impl StoreError {
    /// Returns the text that is lost, if that is what is wrong.
    pub fn lost(&self) -> Option<Digest> {
        match self {
            StoreError::Missing(digest) | StoreError::Damaged { digest, .. } => Some(*digest),
            _ => None,
        }
    }
}

/// A folder with a ledger and the texts that it names.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    ledger: Ledger,
    /// Which log was read, and how far; `None` if there is none.
    log: Option<Log>,
    n_records: usize,
    /// How many of them were needed when the log was written as a whole.
    n_needed: usize,
    /// The records that do not count, since their paths are none of files of a project, each with the number
    /// of its line, from 1.
    ignored: Vec<(usize, Record)>,
    /// Whether the log was cut off: it is empty, or its last line has no end.
    is_cut: bool,
}

/// A log that was read.
#[derive(Debug, Default)]
struct Log {
    /// As [`Header::name`]: the number of its inode may be given to the next one.
    name: String,
    /// The number of bytes that were read.
    done: u64,
}

/// The first line of a log.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    /// The version of its form.
    #[serde(rename = "agent-q-diff record")]
    form: u32,
    /// A random name, another one each time that it is written as a whole.
    #[serde(default)]
    name: String,
    /// The number of records that it had then.
    #[serde(default, rename = "records")]
    n_records: usize,
}

impl Header {
    /// What it begins with.
    const START: &[u8] = b"{\"agent-q-diff record\":";

    /// Most bytes that it can have.
    const MAX_LEN: usize = 256;

    /// Reads it from the first line of `text`; `None` if that is no such header.
    fn read(text: &[u8]) -> Option<Header> {
        serde_json::from_slice(text.split(|&byte| byte == b'\n').next()?).ok()
    }
}

/// The lock of a store, until it is dropped.
#[derive(Debug)]
struct Lock {
    _file: File,
}

impl Store {
    /// Opens the store in `folder`, which is made when something is first written.
    ///
    /// # Errors
    ///
    /// [`StoreError`].
    pub fn open(folder: PathBuf) -> Result<Store, StoreError> {
        let mut store = Store {
            folder,
            ledger: Ledger::default(),
            log: None,
            n_records: 0,
            n_needed: 0,
            ignored: Vec::new(),
            is_cut: false,
        };
        store.refresh()?;
        Ok(store)
    }

    /// The ledger, as of the last [`Store::refresh`].
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Returns the folder in which all of it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the folder of the texts.
    pub fn texts(&self) -> PathBuf {
        self.folder.join("texts")
    }

    /// Calls `body` with the ledger, as others have left it, and writes what it changes there. If either
    /// fails, the ledger is as it was written last. Others wait meanwhile.
    ///
    /// # Errors
    ///
    /// Those of `body`, and [`StoreError`]; then nothing was written.
    pub fn change<T, E: From<StoreError>>(
        &mut self,
        body: impl FnOnce(&mut Ledger, &Store) -> Result<T, E>,
    ) -> Result<T, E> {
        let _lock = self.lock()?;
        let mut ledger = std::mem::take(&mut self.ledger);
        let result = body(&mut ledger, self);
        self.ledger = ledger;
        let result = result.and_then(|value| {
            self.write()?;
            Ok(value)
        });
        if result.is_err() {
            self.begin_anew();
            self.refresh()?;
        }
        result
    }

    /// Takes the lock, waiting until others have released it, but not for long, and reads what they have
    /// written.
    fn lock(&mut self) -> Result<Lock, StoreError> {
        self.make_folders()?;
        let path = self.folder.join("lock");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        let file = file::open(&path, Links::Refused, &mut options).map_err(at(&path))?;
        let begun = Instant::now();
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => break,
                Err(Errno::WOULDBLOCK | Errno::INTR) if begun.elapsed() < LOCK_TIME => {
                    std::thread::sleep(LOCK_PAUSE);
                }
                Err(Errno::WOULDBLOCK | Errno::INTR) => return Err(StoreError::Locked(path)),
                Err(error) => return Err(at(&path)(error.into())),
            }
        }
        if self.log.is_none() {
            self.migrate()?;
        }
        self.read()?;
        if self.is_cut {
            let (path, is_read) = (
                self.record(),
                self.log.as_ref().is_some_and(|log| log.done > 0),
            );
            self.keep_cut_off(&path, is_read)?;
            self.write_anew()?;
        }
        Ok(Lock { _file: file })
    }

    /// Makes the folder and that of the texts for the user alone, where they are not there.
    fn make_folders(&self) -> Result<(), StoreError> {
        self.check_folders()?;
        file::make_private(&self.texts()).map_err(at(&self.folder))?;
        self.check_folders()
    }

    /// Checks that the folder and that of the texts are folders, as far as they are there, and closes them
    /// to others.
    fn check_folders(&self) -> Result<(), StoreError> {
        for folder in [self.folder.clone(), self.texts()] {
            match fs::symlink_metadata(&folder) {
                Ok(there) if there.is_dir() => {
                    if there.mode() & 0o077 != 0 {
                        // Without the right to do that, the folder is somebody else's.
                        let _ = fs::set_permissions(&folder, Permissions::from_mode(0o700));
                    }
                }
                Ok(_) => return Err(StoreError::NoFolder(folder)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(at(&folder)(error)),
            }
        }
        Ok(())
    }

    /// Returns the name of the file with the records.
    pub fn record(&self) -> PathBuf {
        self.folder.join("record")
    }

    /// Returns when the file `path` of the store is on the disk.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`].
    pub fn sync(&self, path: &Path) -> Result<(), StoreError> {
        let synced = File::open(path).and_then(|file| file.sync_all());
        synced.map_err(at(path))
    }

    /// Gives the file at `path` another name as well, which says `why` and when, and returns it.
    fn keep_aside(&self, path: &Path, why: &str) -> Result<PathBuf, StoreError> {
        let when = format!("{why}-{}", now());
        let mut names = (0..).map(|n| match n {
            0 => path.with_extension(&when),
            n => path.with_extension(format!("{when}-{n}")),
        });
        let aside = names
            .find(|name| fs::symlink_metadata(name).is_err())
            .expect("there is no last name");
        fs::hard_link(path, &aside)
            .or_else(|_| file::copy(path, &aside))
            .map_err(at(&aside))?;
        Ok(aside)
    }

    /// Keeps the file at `path` aside, which was cut off, and says so to the user.
    fn keep_cut_off(&mut self, path: &Path, is_read: bool) -> Result<(), StoreError> {
        let aside = self.keep_aside(path, "cut-off")?;
        let rest = match is_read {
            true => "What could be read of it counts",
            false => "Nothing could be read of it, so what was reviewed is asked again",
        };
        self.ledger.say(&format!(
            "{} was cut off, perhaps by a full disk or a crash. {rest}; it is kept as {}",
            path.display(),
            aside.display()
        ));
        self.ledger.take_records();
        Ok(())
    }

    /// Carries out `record`, which is in line `n`, unless its path is none of a file of a project; `None` if
    /// it must not be used at all.
    fn take_in(&mut self, record: Record, n: usize) -> Option<()> {
        if !record.is_safe() {
            return None;
        }
        if record.flaw().is_some() {
            self.ignored.push((n, record));
        } else {
            self.ledger.replay(record);
        }
        self.n_records += 1;
        Some(())
    }

    /// Reads what others have written since.
    ///
    /// # Errors
    ///
    /// [`StoreError`].
    pub fn refresh(&mut self) -> Result<(), StoreError> {
        if self.log.is_none() && old::is_there(&self.folder.join("ledger")) {
            return self.lock().map(drop);
        }
        self.read()
    }

    fn read(&mut self) -> Result<(), StoreError> {
        self.check_folders()?;
        let path = self.record();
        let opened = file::open(&path, Links::Refused, OpenOptions::new().read(true));
        let mut file = match opened {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.begin_anew();
                return Ok(());
            }
            Err(error) => return Err(at(&path)(error)),
        };
        if !self.is_known(&file).map_err(at(&path))? {
            self.begin_anew();
        }
        let mut read = self.read_on(&mut file, &path);
        if matches!(read, Err(StoreError::Unknown { .. })) && self.log.is_some() {
            // Somebody may have put an earlier one back where it was.
            self.begin_anew();
            read = self.read_on(&mut file, &path);
        }
        if read.is_err() {
            self.begin_anew();
            return read;
        }
        self.ledger
            .forget_taken_out(now().saturating_sub(KEPT_SECONDS));
        Ok(())
    }

    /// Returns whether `file` is the log that was read, with a line that ends where that was read to.
    fn is_known(&self, file: &File) -> io::Result<bool> {
        let Some(log) = self.log.as_ref().filter(|log| log.done > 0) else {
            return Ok(false);
        };
        let mut start = [0; Header::MAX_LEN];
        let n = file.read_at(&mut start, 0)?;
        let is_same = Header::read(&start[..n]).is_some_and(|header| header.name == log.name);
        let mut last = [0; 1];
        Ok(is_same && file.read_at(&mut last, log.done - 1)? == 1 && last == *b"\n")
    }

    /// Reads on in `file`, the log at `path`, where it was read until then.
    fn read_on(&mut self, file: &mut File, path: &Path) -> Result<(), StoreError> {
        let mut log = self.log.take().unwrap_or_default();
        file.seek(SeekFrom::Start(log.done)).map_err(at(path))?;
        let text = file::read_rest(file, MAX_LOG).map_err(at(path))?;
        let unknown = |line| StoreError::Unknown {
            path: path.to_owned(),
            line,
        };
        let (whole, rest) = whole_lines(&text);
        let mut all = lines(whole);
        if log.done == 0 {
            if let Some(line) = all.next() {
                let header = Header::read(line).ok_or_else(|| unknown(1))?;
                if header.form > FORM {
                    return Err(StoreError::Newer(path.to_owned()));
                }
                log.name = header.name;
                self.n_needed = header.n_records;
            } else if !Header::START.starts_with(rest) && !rest.starts_with(Header::START) {
                return Err(unknown(1));
            }
        }
        for line in all {
            // After the header.
            let n = self.n_records + 2;
            let record = serde_json::from_slice(line).ok();
            let taken = record.and_then(|record| self.take_in(record, n));
            taken.ok_or_else(|| unknown(n))?;
        }
        log.done += whole.len() as u64;
        self.is_cut = !rest.is_empty() || log.done == 0;
        self.log = Some(log);
        Ok(())
    }

    /// Returns what the user should know of the log, and what others have written that git runs by itself:
    /// sentences without their last period.
    pub fn notes(&self) -> Vec<String> {
        let ignored = self.ignored.iter().filter_map(|(line, record)| {
            let (path, why) = record.flaw()?;
            Some(format!(
                "Line {line} of {} does not count, since the path in it, \"{path}\", {why}",
                self.record().display()
            ))
        });
        let programs = self.ledger.unknown_programs().into_iter();
        let said = self.ledger.said().iter().cloned();
        programs.chain(said).chain(ignored).collect()
    }

    fn begin_anew(&mut self) {
        self.ledger = Ledger::default();
        self.log = None;
        self.n_records = 0;
        self.n_needed = 0;
        self.ignored = Vec::new();
        self.is_cut = false;
    }

    /// Writes what changed in the ledger.
    fn write(&mut self) -> Result<(), StoreError> {
        let records = self.ledger.take_records();
        if records.is_empty() {
            return Ok(());
        }
        if let Some((path, why)) = records.iter().find_map(Record::flaw) {
            return Err(StoreError::BadPath { path, why });
        }
        self.n_records += records.len();
        let most = self.n_needed + MAX_OLD;
        let log = self.log.as_mut().filter(|_| self.n_records <= most);
        let Some(log) = log else {
            return self.write_anew();
        };
        let mut text = Vec::new();
        records
            .iter()
            .for_each(|record| add_line(&mut text, record));
        let path = self.folder.join("record");
        let mut file =
            file::open(&path, Links::Refused, OpenOptions::new().write(true)).map_err(at(&path))?;
        let written = file
            .seek(SeekFrom::Start(log.done))
            .and_then(|_| file.write_all(&text));
        if let Err(error) = written {
            let _ = file.set_len(log.done);
            return Err(at(&path)(error));
        }
        log.done += text.len() as u64;
        Ok(())
    }

    /// Writes the log as a whole: what the ledger needs, and the lines that do not count.
    fn write_anew(&mut self) -> Result<(), StoreError> {
        let old = self.folder.join("ledger");
        if fs::symlink_metadata(&old).is_err() {
            file::write_whole(&old, old::MOVED.as_bytes()).map_err(at(&old))?;
        }
        let all = self.ledger.all_records();
        let n_records = self.ignored.len() + all.len();
        let header = Header {
            form: FORM,
            name: new_name(),
            n_records,
        };
        let mut text = Vec::new();
        add_line(&mut text, &header);
        for (at, (number, record)) in self.ignored.iter_mut().enumerate() {
            *number = at + 2;
            add_line(&mut text, record);
        }
        all.iter().for_each(|record| add_line(&mut text, record));
        let path = self.record();
        file::write_whole(&path, &text).map_err(at(&path))?;
        self.is_cut = false;
        self.log = Some(Log {
            name: header.name,
            done: text.len() as u64,
        });
        self.n_records = n_records;
        self.n_needed = n_records;
        Ok(())
    }
}

/// Returns the present time in seconds since 1970.
pub fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_secs())
}

/// Returns a name that no other log has.
fn new_name() -> String {
    let time = SystemTime::now().duration_since(UNIX_EPOCH);
    let nanos = time.map_or(0, |time| time.as_nanos());
    format!(
        "{:016x}{nanos:x}",
        RandomState::new().hash_one(std::process::id())
    )
}

/// Adds `value` to `text` as a line.
fn add_line(text: &mut Vec<u8>, value: &impl Serialize) {
    serde_json::to_writer(&mut *text, value).expect("it has no keys that are not strings");
    text.push(b'\n');
}

/// Returns `text` up to its last newline, and the rest.
fn whole_lines(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(memchr::memrchr(b'\n', text).map_or(0, |end| end + 1))
}

/// Returns the lines of `whole`, which each end with a newline, without that.
fn lines(whole: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = whole.split_inclusive(|&byte| byte == b'\n');
    lines.map(|line| &line[..line.len() - 1])
}

/// Returns what makes a [`StoreError`] about `path` of an error.
fn at(path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    |error| StoreError::File { path, error }
}

impl StoreError {
    /// Checks that `path` can be that of a file of a project.
    ///
    /// # Errors
    ///
    /// [`StoreError::BadPath`].
    pub fn check_path(path: &[u8]) -> Result<(), StoreError> {
        match path::flaw(path) {
            None => Ok(()),
            Some(why) => Err(StoreError::BadPath {
                path: escaped(path),
                why,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{HunkNote, TakenOut};

    /// Writes a record that says `n`.
    pub(in crate::store) fn write(store: &mut Store, n: usize) {
        let written = store.change(|ledger, _| {
            ledger.lose_base(Some(&n.to_string()));
            Ok::<(), StoreError>(())
        });
        written.unwrap();
    }

    #[test]
    fn two_that_use_a_store_see_what_the_other_wrote() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Store::open(folder.path().join("store")).unwrap();
        let (mut one, mut other) = (open(), open());
        for n in 0..1000 {
            write(&mut one, 2 * n);
            write(&mut other, 2 * n + 1);
        }
        one.refresh().unwrap();
        assert_eq!(one.ledger(), other.ledger());
        assert_eq!(open().ledger(), other.ledger());
        // It was written anew, and so is shorter than all that was written.
        let log = fs::read_to_string(folder.path().join("store/record")).unwrap();
        assert!(log.lines().count() < 1_800);
    }

    #[test]
    fn who_holds_the_lock_for_long_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(folder.path().to_owned()).unwrap();
        write(&mut store, 1);
        let other = File::open(folder.path().join("lock")).unwrap();
        flock(&other, FlockOperation::LockExclusive).unwrap();
        let error = store.prune().unwrap_err();
        assert!(matches!(error, StoreError::Locked(_)), "{error}");
        store.refresh().unwrap();
        drop(other);
        write(&mut store, 2);
    }

    #[test]
    fn a_change_that_fails_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(folder.path().to_owned()).unwrap();
        write(&mut store, 1);
        let before = store.ledger().clone();
        let failed: Result<(), StoreError> = store.change(|ledger, _| {
            ledger.lose_base(None);
            Err(StoreError::Missing(Digest::of(b"")))
        });
        assert!(failed.is_err());
        assert_eq!(*store.ledger(), before);
        assert_eq!(
            *Store::open(folder.path().to_owned()).unwrap().ledger(),
            before
        );
    }

    #[test]
    fn what_was_not_written_to_its_end_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(folder.path().to_owned()).unwrap();
        write(&mut store, 1);
        let before = store.ledger().clone();
        let log = folder.path().join("record");
        let whole = fs::read(&log).unwrap();
        let torn = [&whole[..], b"{\"base\":"].concat();
        fs::write(&log, torn).unwrap();
        let mut again = Store::open(folder.path().to_owned()).unwrap();
        assert_eq!(*again.ledger(), before);
        write(&mut again, 2);
        store.refresh().unwrap();
        assert_eq!(store.ledger(), again.ledger());
    }

    #[test]
    fn another_log_in_the_same_place_on_disk_is_another_log() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Store::open(folder.path().to_owned()).unwrap();
        let log = folder.path().join("record");
        let mut store = open();
        write(&mut store, 1);
        // A file system gives the number of a file that is gone to the next one; to write it in place has
        // the same effect. Its lines end where those of the old one did.
        let name = |text: &str| Header::read(text.as_bytes()).unwrap().name;
        let old = fs::read_to_string(&log).unwrap();
        let new = old
            .replace(&name(&old), &new_name())
            .replace("\"1\"", "\"2\"");
        assert_eq!(new.len(), old.len());
        fs::write(&log, new + "{\"tip\":\"3\"}\n").unwrap();
        store.refresh().unwrap();
        assert_eq!(store.ledger(), open().ledger());
        assert_eq!(store.ledger().base(), Some("2"));
        // Nor is a shorter one written beyond its end.
        let shorter = old.replace(&name(&old), &new_name());
        fs::write(&log, &shorter).unwrap();
        write(&mut store, 4);
        let written = fs::read(&log).unwrap();
        assert!(written.starts_with(shorter.as_bytes()) && !written.contains(&0));
    }

    #[test]
    fn what_a_newer_version_has_written_is_refused_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("record");
        let text = "{\"agent-q-diff record\":3,\"more\":[]}\n[\"new\"]\n";
        fs::write(&log, text).unwrap();
        let error = Store::open(folder.path().to_owned()).unwrap_err();
        assert!(matches!(error, StoreError::Newer(_)), "{error}");
        assert_eq!(fs::read_to_string(&log).unwrap(), text);
    }

    #[test]
    fn the_folders_are_for_the_user_alone() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("store");
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        let mut store = Store::open(folder.clone()).unwrap();
        write(&mut store, 1);
        assert_eq!([mode(&folder), mode(&store.texts())], [0o700; 2]);
        // Those of earlier versions are closed.
        fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
        store.refresh().unwrap();
        assert_eq!(mode(&folder), 0o700);
    }

    #[test]
    fn drafts_that_were_left_behind_are_deleted_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("store");
        let mut store = Store::open(folder.clone()).unwrap();
        write(&mut store, 1);
        let text = format!("texts/{}", Digest::of(b"x"));
        let ours = ["record.7.new", "ledger.7.new", &format!("{text}.7.new")];
        let others = ["record.new", "x.7.new", "record.7.new.bak", "texts/x.7.new"];
        let time = UNIX_EPOCH;
        for name in [&ours[..], &others[..]].concat() {
            let file = File::create(folder.join(name)).unwrap();
            file.set_modified(time).unwrap();
        }
        // Somebody may be writing that one.
        fs::write(folder.join("record.8.new"), "").unwrap();
        store.prune().unwrap();
        let is_there = |name: &&str| folder.join(name).exists();
        assert!(!ours.iter().any(is_there));
        assert!(others.iter().all(is_there) && is_there(&"record.8.new"));
    }

    /// Records that something is taken out of a file with these bytes.
    fn take_out(store: &mut Store, time: u64, bytes: &str) {
        let had = store.version(0o100_644, bytes.as_bytes()).unwrap();
        let recorded = store.change(|ledger, _| {
            ledger.take_out(b"f", time, had);
            Ok::<(), StoreError>(())
        });
        recorded.unwrap();
    }

    /// Records what is left of it.
    fn leave(store: &mut Store, bytes: &str) {
        let left = store.version(0o100_644, bytes.as_bytes()).unwrap();
        let recorded = store.change(|ledger, _| {
            ledger.leave(b"f", left);
            Ok::<(), StoreError>(())
        });
        recorded.unwrap();
    }

    /// Makes the texts of `store` so old that those without a name are deleted, and prunes it.
    fn prune_all(store: &mut Store) {
        for entry in fs::read_dir(store.texts()).unwrap() {
            let text = File::options().write(true).open(entry.unwrap().path());
            text.unwrap().set_modified(UNIX_EPOCH).unwrap();
        }
        store.prune().unwrap();
    }

    #[test]
    fn what_was_taken_out_is_known_after_a_restart_and_its_text_stays() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Store::open(folder.path().to_owned()).unwrap();
        let mut store = open();
        let time = now() - 29 * 24 * 60 * 60;
        take_out(&mut store, time, "a\nb\n");
        leave(&mut store, "a\n");
        let unnamed = store.put(b"named by nobody").unwrap();
        prune_all(&mut store);
        let mut again = open();
        let known = again.ledger().taken_out().to_vec();
        let expected = TakenOut {
            path: b"f".to_vec(),
            time,
            had: store.version(0o100_644, b"a\nb\n").unwrap(),
            left: Some(store.version(0o100_644, b"a\n").unwrap()),
        };
        assert_eq!(known, [expected]);
        let had = known[0].had.digest().unwrap();
        assert_eq!(again.bytes(had).unwrap(), b"a\nb\n");
        assert!(again.bytes(unnamed).is_err());
        // Also when the log is written anew.
        for n in 0..1200 {
            write(&mut again, n % 3);
        }
        let log = fs::read_to_string(folder.path().join("record")).unwrap();
        assert!(log.lines().count() < MAX_OLD, "it was not written anew");
        assert_eq!(open().ledger().taken_out(), known);
    }

    #[test]
    fn what_was_taken_out_30_days_ago_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(folder.path().to_owned()).unwrap();
        let time = now() - KEPT_SECONDS - 60;
        take_out(&mut store, time, "old");
        let old = Digest::of(b"old");
        assert!(store.bytes(old).is_ok());
        prune_all(&mut store);
        assert!(store.ledger().taken_out().is_empty());
        assert!(store.bytes(old).is_err());
        for n in 0..1200 {
            write(&mut store, n % 3);
        }
        let log = fs::read_to_string(folder.path().join("ledger")).unwrap();
        assert!(!log.contains("taken-out"), "{log}");
    }

    #[test]
    fn what_was_interrupted_or_took_out_nothing_is_no_second_record() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(folder.path().to_owned()).unwrap();
        for _ in 0..2 {
            take_out(&mut store, now(), "x");
        }
        let left: Vec<_> = store
            .ledger()
            .taken_out()
            .iter()
            .map(|one| one.left)
            .collect();
        assert_eq!(left, [None]);
        leave(&mut store, "x");
        assert!(store.ledger().taken_out().is_empty());
    }

    #[test]
    fn what_was_noted_of_hunks_is_known_until_it_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Store::open(folder.path().to_owned()).unwrap();
        let note = |n_notes: usize| {
            let written = open().change(|ledger, _| {
                let one = HunkNote {
                    hunk: "a".to_owned(),
                    comment: Some("why?".to_owned()),
                    is_waiting: true,
                };
                ledger.note_hunks(b"f", vec![one; n_notes]);
                Ok::<(), StoreError>(())
            });
            written.unwrap();
        };
        note(2);
        assert_eq!(open().ledger().noted()[&b"f"[..]].len(), 2);
        // Also when the log is written anew.
        let mut store = open();
        for n in 0..1200 {
            write(&mut store, n % 3);
        }
        let size = || fs::metadata(folder.path().join("record")).unwrap().len();
        assert!(size() < 30_000, "it was not written anew");
        assert_eq!(open().ledger().noted()[&b"f"[..]].len(), 2);
        let before = size();
        note(2);
        assert_eq!(size(), before, "what is known was written again");
        note(0);
        assert!(open().ledger().noted().is_empty());
    }

    #[test]
    fn what_was_left_out_is_known_when_the_log_is_written_anew() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Store::open(folder.path().to_owned()).unwrap();
        let mut store = open();
        let written = store.change(|ledger, _| {
            for path in [&b"f"[..], b"g"] {
                ledger.replay(Record::LeftOut(path.to_vec(), true));
            }
            ledger.forget_known(|path| path == b"f", |_| false);
            Ok::<(), StoreError>(())
        });
        written.unwrap();
        for n in 0..1200 {
            write(&mut store, n % 3);
        }
        let left_out = open().ledger().left_out().clone();
        assert_eq!(Vec::from_iter(left_out), [b"f"]);
    }

    #[test]
    fn another_file_is_no_ledger_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["ledger", "record"] {
            let folder = folder.path().join(name);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join(name), "something else\n").unwrap();
            let error = Store::open(folder).unwrap_err();
            assert!(
                matches!(error, StoreError::Unknown { line: 1, .. }),
                "{error}"
            );
        }
    }
}
