//! Which files git ignores, and by which line of which file.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::{Git, GitError, path_of};
use crate::file::{self, Links};
use crate::path::Path;

/// Most bytes of a file with patterns that are read.
const MAX_PATTERNS: u64 = 1 << 20;

/// What `.git/info/exclude` is called, wherever the repository's folder is.
const EXCLUDE: &[u8] = b".git/info/exclude";

impl Git {
    /// Returns the patterns that hide files and are no part of the project, by the file that has them:
    /// [`EXCLUDE`], and what the repository's own configuration names.
    pub fn excludes(&self) -> BTreeMap<Path, Vec<Vec<u8>>> {
        let places = self.exclude_files().into_iter();
        let read = |file: PathBuf| file::read(&file, Links::Followed, MAX_PATTERNS);
        let found = places.filter_map(|(place, file)| Some((place, patterns(&read(file).ok()?))));
        found.collect()
    }

    /// Returns these files, with what each is called.
    fn exclude_files(&self) -> Vec<(Path, PathBuf)> {
        let mut files = vec![(EXCLUDE.to_vec(), self.common.join("info/exclude"))];
        if let Some(name) = &self.own_excludes {
            let home = std::env::var_os("HOME").map(PathBuf::from);
            let file = match (name.strip_prefix(b"~/"), home) {
                (Some(rest), Some(home)) => home.join(path_of(rest)),
                _ => self.root.join(path_of(name)),
            };
            files.push((name.clone(), file));
        }
        files
    }

    /// Returns whether git ignores the file `path`, an absolute name.
    pub fn ignores(&self, path: &std::path::Path) -> bool {
        let input = [path.as_os_str().as_bytes(), b"\0"].concat();
        // It fails if it ignores none.
        self.run(&["check-ignore", "-z", "--stdin"], &input).is_ok()
    }

    /// Returns what git ignores, a folder of which it ignores all as one, with a slash at its end; each with the
    /// file that has the pattern, as [`Git::excludes`] calls it or by its path, and the pattern's line.
    ///
    /// # Errors
    ///
    /// [`GitError`].
    pub fn ignored(&self) -> Result<Vec<(Path, Path, Vec<u8>)>, GitError> {
        let list = [
            "ls-files",
            "-z",
            "--others",
            "--ignored",
            "--exclude-standard",
        ];
        let paths = self.run(&[&list[..], &["--directory"]].concat(), b"")?;
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let answer = self.run(&["check-ignore", "-v", "-z", "--stdin"], &paths)?;
        let words: Vec<&[u8]> = answer.split(|&byte| byte == 0).collect();
        let real = |file: &PathBuf| fs::canonicalize(file).ok();
        let known = self.exclude_files().into_iter();
        let known: Vec<_> = known.map(|(place, file)| (real(&file), place)).collect();
        let mut lines: HashMap<&[u8], (Path, Vec<Vec<u8>>)> = HashMap::new();
        let mut found = Vec::new();
        for one in words.chunks_exact(4) {
            let (place, lines) = lines.entry(one[0]).or_insert_with(|| {
                let file = self.root.join(OsStr::from_bytes(one[0]));
                let there = real(&file);
                let place = known.iter().find(|(known, _)| *known == there);
                let place = place.map_or_else(|| one[0].to_vec(), |(_, place)| place.clone());
                let text = file::read(&file, Links::Followed, MAX_PATTERNS).unwrap_or_default();
                let lines = text.split(|&byte| byte == b'\n');
                (place, lines.map(<[u8]>::to_vec).collect())
            });
            let number = String::from_utf8_lossy(one[1]).parse::<usize>().ok();
            let line = number.and_then(|number| lines.get(number.checked_sub(1)?));
            if let Some(line) = line {
                found.push((one[3].to_vec(), place.clone(), line.clone()));
            }
        }
        Ok(found)
    }
}

/// Returns the lines of `text` that are patterns.
pub fn patterns(text: &[u8]) -> Vec<Vec<u8>> {
    let lines = text.split(|&byte| byte == b'\n');
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#"));
    lines.map(<[u8]>::to_vec).collect()
}
