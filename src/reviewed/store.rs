//! Where reviewed texts and the ledger lie: a folder beside the repository's own data.
//!
//! `texts/` has the bytes of versions by their digest. `ledger` is a log of records, one a line, which
//! only grows until it is written anew; what does not end with a newline was not written to its end
//! and does not count. Whoever writes holds the lock `lock`; reading needs none.
//!
//! Others than this program can write there. So what is no regular file is not opened, a ledger that was
//! cut off is kept aside before it is written again, and a record with a path that no file of a project
//! can have stays in the ledger, and does not count.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::authors::{Written, authors_word, parse_authors};
use crate::file::{self, Links};
use crate::words::{escaped, text_of, text_word, unescaped, version_of, version_word};
use crate::{Digest, HunkNote, Ledger, Record, Seen, Staged, Turn, Version, rounds, tree};

/// The first line of the log, which says what it is.
const HEADER: &str = "agent-q-diff ledger 1\n";

/// Most bytes that a log can have.
const MAX_LOG: u64 = 256 << 20;

/// Number of records in the log, beyond those that it needs, from which on it is written anew.
const MAX_OLD: usize = 1000;

/// For how many seconds it is known what was taken out of files: 30 days.
const KEPT_SECONDS: u64 = 30 * 24 * 60 * 60;

/// How long a text is held that the ledger does not name.
const HELD: Duration = Duration::from_secs(24 * 60 * 60);

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
    #[error("{} is damaged: it does not have the bytes that were stored", .0.display())]
    Damaged(PathBuf),
}

/// A folder with a ledger and the texts that it names.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    ledger: Ledger,
    /// Which log was read, and how far: it is another one after it was written anew.
    log: Option<(u64, u64)>,
    n_records: usize,
    /// The lines of the log that do not count, since their paths are none of files of a project, each with
    /// its number, from 1.
    ignored: Vec<(usize, Vec<u8>)>,
    /// Whether the log was cut off: it is empty, or its last line has no end.
    is_cut: bool,
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
        self.refresh()?;
        if self.is_cut {
            self.mend()?;
        }
        Ok(Lock { _file: file })
    }

    /// Makes the folder and that of the texts, where they are not there.
    fn make_folders(&self) -> Result<(), StoreError> {
        self.check_folders()?;
        fs::create_dir_all(self.texts()).map_err(at(&self.folder))?;
        self.check_folders()
    }

    /// Checks that the folder and that of the texts are folders, as far as they are there.
    fn check_folders(&self) -> Result<(), StoreError> {
        for folder in [self.folder.clone(), self.texts()] {
            match fs::symlink_metadata(&folder) {
                Ok(there) if there.is_dir() => {}
                Ok(_) => return Err(StoreError::NoFolder(folder)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(at(&folder)(error)),
            }
        }
        Ok(())
    }

    /// Keeps the log aside, which was cut off, and writes what can be read of it anew.
    fn mend(&mut self) -> Result<(), StoreError> {
        let path = self.folder.join("ledger");
        let aside = format!("ledger.cut-off-{}", now());
        let names = (0..).map(|n| match n {
            0 => self.folder.join(&aside),
            n => self.folder.join(format!("{aside}-{n}")),
        });
        let mut free = names.filter(|name| fs::symlink_metadata(name).is_err());
        let aside = free.next().expect("there is no last name");
        fs::hard_link(&path, &aside)
            .or_else(|_| file::copy(&path, &aside))
            .map_err(at(&aside))?;
        let rest = match self.log {
            Some((_, done)) if done > 0 => "What could be read of it counts",
            _ => "Nothing could be read of it, so what was reviewed is asked again",
        };
        self.ledger.say(&format!(
            "{} was cut off, perhaps by a full disk or a crash. {rest}; it is kept as {}",
            path.display(),
            aside.display()
        ));
        self.ledger.take_records();
        self.write_anew()
    }

    /// Reads what others have written since.
    ///
    /// # Errors
    ///
    /// [`StoreError`].
    pub fn refresh(&mut self) -> Result<(), StoreError> {
        self.check_folders()?;
        let path = self.folder.join("ledger");
        let opened = file::open(&path, Links::Refused, OpenOptions::new().read(true));
        let mut file = match opened {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.begin_anew();
                return Ok(());
            }
            Err(error) => return Err(at(&path)(error)),
        };
        let metadata = file.metadata().map_err(at(&path))?;
        let known = self.log;
        let is_known = |(node, done)| node == metadata.ino() && done <= metadata.len();
        if !known.is_some_and(is_known) {
            self.begin_anew();
        }
        let mut read = self.read_on(&mut file, &path);
        if matches!(read, Err(StoreError::Unknown { .. })) && self.log.is_some() {
            // Somebody may have written it anew where it was.
            self.begin_anew();
            read = self.read_on(&mut file, &path);
        }
        if read.is_err() {
            self.begin_anew();
            return read;
        }
        let (_, done) = self.log.unwrap_or_default();
        self.log = Some((metadata.ino(), done));
        self.ledger
            .forget_taken_out(now().saturating_sub(KEPT_SECONDS));
        Ok(())
    }

    /// Reads on in `file`, the log at `path`, where it was read until then.
    fn read_on(&mut self, file: &mut File, path: &Path) -> Result<(), StoreError> {
        let (node, done) = self.log.unwrap_or_default();
        file.seek(SeekFrom::Start(done)).map_err(at(path))?;
        let text = file::read_rest(file, MAX_LOG).map_err(at(path))?;
        let unknown = |line| StoreError::Unknown {
            path: path.to_owned(),
            line,
        };
        let n_whole = memchr::memrchr(b'\n', &text).map_or(0, |end| end + 1);
        let mut lines = text[..n_whole].split_inclusive(|&byte| byte == b'\n');
        if done == 0 {
            let header = lines.next().unwrap_or(&text);
            let is_cut = n_whole == 0 && HEADER.as_bytes().starts_with(header);
            if header != HEADER.as_bytes() && !is_cut {
                return Err(unknown(1));
            }
        }
        for line in lines {
            // After the header.
            let n = self.n_records + 2;
            let text = &line[..line.len() - 1];
            let record = parse(text).ok_or_else(|| unknown(n))?;
            if flaw(&record).is_some() {
                self.ignored.push((n, text.to_vec()));
            } else {
                self.ledger.replay(record);
            }
            self.n_records += 1;
        }
        self.is_cut = n_whole < text.len() || done + n_whole as u64 == 0;
        self.log = Some((node, done + n_whole as u64));
        Ok(())
    }

    /// Returns what the user should know of the log, sentences without their last period.
    pub fn notes(&self) -> Vec<String> {
        let ignored = self.ignored.iter().filter_map(|(line, text)| {
            let (path, why) = flaw(&parse(text)?)?;
            let ledger = self.folder.join("ledger");
            Some(format!(
                "Line {line} of {} does not count, since the path in it, \"{path}\", {why}",
                ledger.display()
            ))
        });
        self.ledger.said().iter().cloned().chain(ignored).collect()
    }

    fn begin_anew(&mut self) {
        self.ledger = Ledger::default();
        self.log = None;
        self.n_records = 0;
        self.ignored = Vec::new();
        self.is_cut = false;
    }

    /// Writes what changed in the ledger.
    fn write(&mut self) -> Result<(), StoreError> {
        let records = self.ledger.take_records();
        if records.is_empty() {
            return Ok(());
        }
        for path in records.iter().flat_map(Record::paths) {
            StoreError::check_path(path)?;
        }
        let path = self.folder.join("ledger");
        self.n_records += records.len();
        let most = self.ledger.n_records() + self.ignored.len() + MAX_OLD;
        let Some((_, done)) = self.log.filter(|_| self.n_records <= most) else {
            return self.write_anew();
        };
        let text: String = records.iter().map(line).collect();
        let mut file =
            file::open(&path, Links::Refused, OpenOptions::new().write(true)).map_err(at(&path))?;
        let written = file
            .seek(SeekFrom::Start(done))
            .and_then(|_| file.write_all(text.as_bytes()));
        if let Err(error) = written {
            let _ = file.set_len(done);
            return Err(at(&path)(error));
        }
        self.log = self.log.map(|(node, _)| (node, done + text.len() as u64));
        Ok(())
    }

    /// Writes the log as a whole: what the ledger needs, and the lines that do not count.
    fn write_anew(&mut self) -> Result<(), StoreError> {
        let path = self.folder.join("ledger");
        let all = self.ledger.all_records();
        let mut text = HEADER.as_bytes().to_vec();
        for (at, (number, ignored)) in self.ignored.iter_mut().enumerate() {
            *number = at + 2;
            text.extend_from_slice(ignored);
            text.push(b'\n');
        }
        text.extend(all.iter().map(line).collect::<String>().bytes());
        write_whole(&path, &text)?;
        self.is_cut = false;
        self.adopt(&path, self.ignored.len() + all.len())
    }

    /// Goes on with the log that was written as a whole.
    fn adopt(&mut self, path: &Path, n_records: usize) -> Result<(), StoreError> {
        let metadata = fs::metadata(path).map_err(at(path))?;
        self.log = Some((metadata.ino(), metadata.len()));
        self.n_records = n_records;
        Ok(())
    }

    /// Returns the bytes with this digest.
    ///
    /// # Errors
    ///
    /// [`StoreError`], also if the text has other bytes.
    pub fn bytes(&self, digest: Digest) -> Result<Vec<u8>, StoreError> {
        let path = self.text(digest);
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
            Err(StoreError::Damaged(path))
        }
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
            write_whole(&path, bytes)?;
        }
        Ok(digest)
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

    /// Deletes the texts that the ledger does not name, and drafts of texts, except those of the last hour,
    /// which somebody may be about to name. What has another name is somebody else's.
    ///
    /// # Errors
    ///
    /// [`StoreError`].
    pub fn prune(&mut self) -> Result<(), StoreError> {
        let _lock = self.lock()?;
        let named = self.ledger.digests();
        let folder = self.texts();
        for entry in fs::read_dir(&folder).map_err(at(&folder))? {
            let entry = entry.map_err(at(&folder))?;
            let name = entry.file_name();
            let name = name.to_str().unwrap_or_default();
            let (stem, rest) = name.split_once('.').unwrap_or((name, ""));
            let Some(digest) = Digest::parse(stem) else {
                continue;
            };
            let is_unnamed = if rest.is_empty() {
                name == stem && !named.contains(&digest)
            } else {
                rest.ends_with("new")
            };
            let is_old = entry.metadata().is_ok_and(|there| {
                let age = there.modified().map(|changed| changed.elapsed());
                let is_old = |age: Duration| age > Duration::from_secs(3600);
                there.is_file() && age.is_ok_and(|age| age.is_ok_and(is_old))
            });
            if is_old && is_unnamed {
                fs::remove_file(entry.path()).map_err(at(&entry.path()))?;
            }
        }
        Ok(())
    }
}

/// Returns the present time in seconds since 1970.
pub fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_secs())
}

/// Returns what makes a [`StoreError`] about `path` of an error.
fn at(path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    |error| StoreError::File { path, error }
}

/// Writes a file so that it is there as a whole or as it was before.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let draft = path.with_extension(format!("{}.new", std::process::id()));
    let written = file::replace(&draft)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written.map_err(at(path))
}

impl StoreError {
    /// Checks that `path` can be that of a file of a project.
    ///
    /// # Errors
    ///
    /// [`StoreError::BadPath`].
    pub fn check_path(path: &[u8]) -> Result<(), StoreError> {
        match tree::flaw(path) {
            None => Ok(()),
            Some(why) => Err(StoreError::BadPath {
                path: escaped(path),
                why,
            }),
        }
    }
}

/// Returns the first path in `record` that no file of a project can have, as a word, and what is wrong with
/// it; `None` if there is none.
fn flaw(record: &Record) -> Option<(String, &'static str)> {
    let mut paths = record.paths().into_iter();
    paths.find_map(|path| Some((escaped(path), tree::flaw(path)?)))
}

// The records, as lines.

/// Returns `record` as a line with its newline.
fn line(record: &Record) -> String {
    match record {
        Record::Base(commit) => format!("base {}\n", commit.as_deref().unwrap_or("-")),
        Record::Reviewed(path, version) => {
            format!("reviewed {} {}\n", version_word(*version), escaped(path))
        }
        Record::AsBase(path) => format!("as-base {}\n", escaped(path)),
        Record::Seen(path, seen) => {
            let name = if seen.is_back { "back" } else { "seen" };
            let lines = seen.written.lines;
            format!(
                "{name} {} {} {} {} {}\n",
                version_word(seen.working),
                version_word(seen.reviewed),
                authors_word(&seen.written.authors),
                lines.map_or_else(|| "-".to_owned(), |lines| lines.to_string()),
                escaped(path)
            )
        }
        Record::Turn(turn) => format!(
            "turn {} {} {} {} {} {} {}\n",
            turn.id,
            turn.time,
            turn.head.as_deref().unwrap_or("-"),
            turn.pid
                .map_or_else(|| "-".to_owned(), |pid| pid.to_string()),
            text_word(&turn.agent),
            text_word(&turn.session),
            text_word(&turn.title)
        ),
        Record::TurnOver(id) => format!("turn-over {id}\n"),
        Record::TakenOut { path, time, had } => {
            format!(
                "taken-out {time} {} {}\n",
                version_word(*had),
                escaped(path)
            )
        }
        Record::Left(path, version) => {
            format!("left {} {}\n", version_word(*version), escaped(path))
        }
        Record::Noted(path, notes) => {
            let notes = notes.iter().map(|note| {
                let waits = if note.is_waiting { "waits" } else { "-" };
                let [hunk, comment] = [&note.hunk, &note.comment].map(|text| text_word(text));
                format!(" {hunk} {waits} {comment}")
            });
            format!("noted {}{}\n", escaped(path), notes.collect::<String>())
        }
        Record::Staged(path, None) => format!("unstaged {}\n", escaped(path)),
        Record::Staged(path, Some(staged)) => format!(
            "staged {} {} {}\n",
            staged.object,
            version_word(staged.version),
            escaped(path)
        ),
        Record::KeepsStaged(true) => "keeps-staged yes\n".to_owned(),
        Record::KeepsStaged(false) => "keeps-staged no\n".to_owned(),
        Record::LeftOut(path, true) => format!("left-out {}\n", escaped(path)),
        Record::LeftOut(path, false) => format!("not-left-out {}\n", escaped(path)),
        Record::InHead(path, true) => format!("in-head {}\n", escaped(path)),
        Record::InHead(path, false) => format!("not-in-head {}\n", escaped(path)),
        Record::Tip(commit) => format!("tip {commit}\n"),
        Record::OthersCommit(commit) => format!("others {commit}\n"),
        Record::Round(record) => rounds::line(record) + "\n",
        Record::Said(note) => format!("said {}\n", text_word(note)),
        Record::Heard => "heard\n".to_owned(),
        Record::Passes(agent, None) => format!("not-passing {}\n", text_word(agent)),
        Record::Passes(agent, Some(protected)) => {
            let protected = protected.iter().map(|pattern| text_word(pattern));
            let words: Vec<String> = protected.collect();
            let words = [&[text_word(agent)], &words[..]].concat();
            format!("passes {}\n", words.join(" "))
        }
    }
}

/// Reads a record from `line`, which has no newline.
fn parse(line: &[u8]) -> Option<Record> {
    let line = std::str::from_utf8(line).ok()?;
    let words: Vec<&str> = line.split(' ').collect();
    Some(match words[..] {
        ["base", "-"] => Record::Base(None),
        ["base", commit] => Record::Base(Some(commit_of(commit)?)),
        ["reviewed", version, path] => Record::Reviewed(unescaped(path)?, version_of(version)?),
        ["as-base", path] => Record::AsBase(unescaped(path)?),
        [
            name @ ("seen" | "back"),
            working,
            reviewed,
            authors,
            lines,
            path,
        ] => {
            let written = Written {
                authors: parse_authors(authors)?,
                lines: match lines {
                    "-" => None,
                    _ => Some(Digest::parse(lines)?),
                },
            };
            let seen = Seen {
                working: version_of(working)?,
                reviewed: version_of(reviewed)?,
                is_back: name == "back",
                written,
            };
            Record::Seen(unescaped(path)?, seen)
        }
        ["turn", id, time, head, pid, agent, session, title] => Record::Turn(Turn {
            id: id.parse().ok()?,
            time: time.parse().ok()?,
            head: match head {
                "-" => None,
                _ => Some(commit_of(head)?),
            },
            pid: match pid {
                "-" => None,
                _ => Some(pid.parse().ok()?),
            },
            agent: text_of(agent)?,
            session: text_of(session)?,
            title: text_of(title)?,
            is_over: false,
        }),
        ["turn-over", id] => Record::TurnOver(id.parse().ok()?),
        ["taken-out", time, had, path] => Record::TakenOut {
            path: unescaped(path)?,
            time: time.parse().ok()?,
            had: version_of(had)?,
        },
        ["left", version, path] => Record::Left(unescaped(path)?, version_of(version)?),
        ["unstaged", path] => Record::Staged(unescaped(path)?, None),
        ["staged", object, version, path] => {
            let staged = Staged {
                object: object.to_owned(),
                version: version_of(version)?,
            };
            Record::Staged(unescaped(path)?, Some(staged))
        }
        ["keeps-staged", "yes"] => Record::KeepsStaged(true),
        ["keeps-staged", "no"] => Record::KeepsStaged(false),
        ["not-passing", agent] => Record::Passes(text_of(agent)?, None),
        ["passes", agent, ref protected @ ..] => {
            let protected = protected.iter().map(|pattern| text_of(pattern));
            Record::Passes(text_of(agent)?, Some(protected.collect::<Option<_>>()?))
        }
        ["left-out", path] => Record::LeftOut(unescaped(path)?, true),
        ["not-left-out", path] => Record::LeftOut(unescaped(path)?, false),
        ["in-head", path] => Record::InHead(unescaped(path)?, true),
        ["not-in-head", path] => Record::InHead(unescaped(path)?, false),
        ["tip", commit] => Record::Tip(commit_of(commit)?),
        ["others", commit] => Record::OthersCommit(commit_of(commit)?),
        ["noted", path, ref notes @ ..] if notes.len() % 3 == 0 => {
            let notes = notes.chunks(3).map(|words| {
                Some(HunkNote {
                    hunk: text_of(words[0])?,
                    comment: text_of(words[2])?,
                    is_waiting: match words[1] {
                        "waits" => true,
                        "-" => false,
                        _ => return None,
                    },
                })
            });
            Record::Noted(unescaped(path)?, notes.collect::<Option<_>>()?)
        }
        ["said", note] => Record::Said(text_of(note)?),
        ["heard"] => Record::Heard,
        _ => Record::Round(rounds::parse(&words)?),
    })
}

/// Returns the name of a commit, which is an argument for git.
fn commit_of(word: &str) -> Option<String> {
    let is_name = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_name.then(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TakenOut;
    use crate::authors::Author;
    use crate::rounds::RoundRecord;

    fn records() -> Vec<Record> {
        let file = Version::File {
            digest: Digest::of(b"text"),
            is_executable: true,
        };
        let link = Version::Link {
            digest: Digest::of(b"there"),
        };
        let path = b"a folder/\xff%\n".to_vec();
        vec![
            Record::Base(Some("0123abc".to_owned())),
            Record::Reviewed(path.clone(), file),
            Record::Reviewed(b"gone".to_vec(), Version::Absent),
            Record::AsBase(b"gone".to_vec()),
            Record::Seen(
                path.clone(),
                Seen {
                    working: link,
                    reviewed: file,
                    is_back: true,
                    written: Written {
                        authors: vec![Author::Turn(3), Author::User],
                        lines: Some(Digest::of(b"lines")),
                    },
                },
            ),
            Record::Turn(Turn {
                id: 3,
                time: 1_800_000_000,
                head: None,
                agent: "Claude Code".to_owned(),
                session: String::new(),
                title: ".\u{e9} %".to_owned(),
                pid: Some(7),
                is_over: false,
            }),
            Record::TurnOver(3),
            Record::TakenOut {
                path: path.clone(),
                time: 1_800_000_000,
                had: file,
            },
            Record::Left(path.clone(), Version::Absent),
            Record::Noted(
                path,
                vec![
                    HunkNote {
                        hunk: "a1".to_owned(),
                        comment: "why\n not \u{e9}?".to_owned(),
                        is_waiting: false,
                    },
                    HunkNote {
                        hunk: "b2".to_owned(),
                        comment: String::new(),
                        is_waiting: true,
                    },
                ],
            ),
            Record::Noted(b"gone".to_vec(), Vec::new()),
            Record::Staged(
                b"a%b".to_vec(),
                Some(Staged {
                    object: "0123abc".to_owned(),
                    version: file,
                }),
            ),
            Record::Staged(b"gone".to_vec(), None),
            Record::KeepsStaged(true),
            Record::KeepsStaged(false),
            Record::LeftOut(b"a%b".to_vec(), true),
            Record::LeftOut(b"gone".to_vec(), false),
            Record::InHead(b"a%b".to_vec(), true),
            Record::InHead(b"gone".to_vec(), false),
            Record::Tip("0123abc".to_owned()),
            Record::OthersCommit("0123abc".to_owned()),
            Record::Round(RoundRecord::Told(7, None)),
            Record::Passes("Claude Code".to_owned(), Some(Vec::new())),
            Record::Passes(
                "Codex".to_owned(),
                Some(vec![".git/".to_owned(), "a b*".to_owned()]),
            ),
            Record::Passes("Codex".to_owned(), None),
            Record::Said("a ledger\n".to_owned()),
            Record::Heard,
            Record::Base(None),
        ]
    }

    #[test]
    fn records_are_read_as_they_were_written() {
        for record in records() {
            let line = line(&record);
            let (text, newline) = line.as_bytes().split_at(line.len() - 1);
            assert_eq!((parse(text), newline), (Some(record), &b"\n"[..]));
        }
    }

    /// Writes a record that says `n`.
    fn write(store: &mut Store, n: usize) {
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
        let log = fs::read_to_string(folder.path().join("store/ledger")).unwrap();
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
        let log = folder.path().join("ledger");
        let whole = fs::read(&log).unwrap();
        let torn = [&whole[..], b"reviewed 100644:12"].concat();
        fs::write(&log, torn).unwrap();
        let mut again = Store::open(folder.path().to_owned()).unwrap();
        assert_eq!(*again.ledger(), before);
        write(&mut again, 2);
        store.refresh().unwrap();
        assert_eq!(store.ledger(), again.ledger());
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
        let log = fs::read_to_string(folder.path().join("ledger")).unwrap();
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
                    comment: "why?".to_owned(),
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
        let size = || fs::metadata(folder.path().join("ledger")).unwrap().len();
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
        assert_eq!(
            store.ledger().all_records().len(),
            store.ledger().n_records()
        );
        let left_out = open().ledger().left_out().clone();
        assert_eq!(Vec::from_iter(left_out), [b"f"]);
    }

    #[test]
    fn another_file_is_no_ledger_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("ledger"), "something else\n").unwrap();
        let error = Store::open(folder.path().to_owned()).unwrap_err();
        assert!(
            matches!(error, StoreError::Unknown { line: 1, .. }),
            "{error}"
        );
    }
}
