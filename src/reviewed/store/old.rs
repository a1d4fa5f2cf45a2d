//! Takes over the ledger of version 0.1 of this package: lines of words, divided by spaces.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::{Header, MAX_LOG, Store, StoreError, at, lines, whole_lines};
use crate::authors::parse_authors;
use crate::file::{self, Links};
use crate::path::unescaped;
use crate::record::Record;

/// The first line of such a ledger.
pub const HEADER: &str = "agent-q-diff ledger 1\n";

/// The first line of what has taken its place, which that version refuses to read and to write.
pub const MOVED: &str = "agent-q-diff ledger 2: a newer version has it in the file \"record\"\n";

/// What the lines are as [`Record`]s in JSON: the first word of each, how many others it has, and what more
/// of them stand for, so many at a time.
///
/// `%` and a letter is a word, by its number from 0: a string `s`, a text `t`, a number `n`, an optional word
/// `c`, number `m` or text `o`, authors `a`, or a flag `f`. `%*` is what stands for more words, and `%+` are those after
/// the addresses of a message.
#[rustfmt::skip]
const LINES: [(&str, usize, &str, usize, &str); 37] = [
    ("base", 1, r#"{"base":%c0}"#, 0, ""),
    ("reviewed", 2, r#"{"reviewed":[%s1,%s0]}"#, 0, ""),
    ("as-base", 1, r#"{"as-base":%s0}"#, 0, ""),
    ("seen", 5, r#"{"seen":[%s4,{"working":%s0,"reviewed":%s1,"written":{"authors":%a2,"lines":%c3}}]}"#, 0, ""),
    ("back", 5, r#"{"seen":[%s4,{"working":%s0,"reviewed":%s1,"is-back":true,"written":{"authors":%a2,"lines":%c3}}]}"#, 0, ""),
    ("turn", 7, r#"{"turn":{"id":%n0,"time":%n1,"head":%c2,"pid":%m3,"agent":%t4,"session":%t5,"title":%t6}}"#, 0, ""),
    ("turn-over", 1, r#"{"turn-over":%n0}"#, 0, ""),
    ("taken-out", 3, r#"{"taken-out":{"time":%n0,"had":%s1,"path":%s2,"left":null}}"#, 0, ""),
    ("left", 2, r#"{"left":[%s1,%s0]}"#, 0, ""),
    ("noted", 1, r#"{"noted":[%s0,[%*]]}"#, 3, r#"{"hunk":%t0,"is-waiting":%f1,"comment":%o2}"#),
    ("unstaged", 1, r#"{"staged":[%s0,null]}"#, 0, ""),
    ("staged", 3, r#"{"staged":[%s2,{"object":%s0,"version":%s1}]}"#, 0, ""),
    ("keeps-staged", 1, r#"{"keeps-staged":%f0}"#, 0, ""),
    ("not-passing", 1, r#"{"passes":[%t0,null]}"#, 0, ""),
    ("passes", 1, r#"{"passes":[%t0,[%*]]}"#, 1, "%t0"),
    ("left-out", 1, r#"{"left-out":[%s0,true]}"#, 0, ""),
    ("not-left-out", 1, r#"{"left-out":[%s0,false]}"#, 0, ""),
    ("in-head", 1, r#"{"in-head":[%s0,true]}"#, 0, ""),
    ("not-in-head", 1, r#"{"in-head":[%s0,false]}"#, 0, ""),
    ("tip", 1, r#"{"tip":%s0}"#, 0, ""),
    ("others", 1, r#"{"others-commit":%s0}"#, 0, ""),
    ("said", 1, r#"{"said":%t0}"#, 0, ""),
    ("heard", 0, r#""heard""#, 0, ""),
    ("comment", 10, r#"{"round":{"comment":{"id":%n0,"time":%n1,"kind":%s2,"state":%s3,"place":{"side":%s4,"lines":{"start":%n5,"end":%n6},"text":%s7},"path":%s8,"text":%t9,"to":[%*]}}}"#, 1, "%t0"),
    ("comment-on-file", 10, r#"{"round":{"comment":{"id":%n0,"time":%n1,"kind":%s2,"state":%s3,"place":null,"path":%s8,"text":%t9,"to":[%*]}}}"#, 1, "%t0"),
    ("comment-is", 2, r#"{"round":{"state":[%n0,%s1]}}"#, 0, ""),
    ("reply", 4, r#"{"round":{"reply":[%n0,{"time":%n1,"who":%t2,"text":%t3}]}}"#, 0, ""),
    ("rejected", 8, r#"{"round":{"rejected":{"time":%n0,"hunk":%t1,"path":%s3,"reason":%t4,"line":%n5,"lines":%t6,"is-told":%f7,"to":[%*]}}}"#, 1, "%t0"),
    // It did not know what was shown. There is no message 0.
    ("finished", 1, r#"{"round":{"told":[0,null]}}"#, 0, ""),
    ("unrejected", 4, r#"{"round":{"unrejected":[%s2,%t0]}}"#, 0, ""),
    ("message", 5, r#"{"round":{"message":{"id":%n0,"time":%n1,"is-told":%f2,"text":%t3,"to":[%*],"comments":[%+]}}}"#, 1, "%t0"),
    ("told", 1, r#"{"round":{"told":[%n0,null]}}"#, 0, ""),
    ("told", 2, r#"{"round":{"told":[%n0,%t1]}}"#, 0, ""),
    ("closed", 1, r#"{"round":{"closed":%t0}}"#, 0, ""),
    ("decided", 3, r#"{"round":{"decided":[%n0,%n1,%n2]}}"#, 0, ""),
    ("begun", 1, r#"{"round":{"begun":[%n0,[%*]]}}"#, 2, "[%s0,%s1]"),
    ("wrote", 1, r#"{"round":{"wrote":[%n0,[%*]]}}"#, 3, "[%s0,%s1,%s2]"),
];

/// Returns whether the file at `path` is such a ledger, or was cut off so early that nobody can say.
pub fn is_there(path: &Path) -> bool {
    let mut start = [0; HEADER.len()];
    let opened = file::open(path, Links::Refused, OpenOptions::new().read(true));
    let read = opened.and_then(|file| file.read_at(&mut start, 0));
    // What cannot be read is said when it is to be migrated.
    match read {
        Ok(n) => start[..n] != MOVED.as_bytes()[..n] || n < start.len(),
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

/// Reads a record from `line`, which has no newline.
fn parse(line: &[u8]) -> Option<Record> {
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    let kind = words.next()?;
    let words: Vec<&str> = words.collect();
    let kind = match kind {
        "comment" if words.get(4) == Some(&"-") => "comment-on-file",
        _ => kind,
    };
    let is_meant = |(name, n, _, n_more, _): &&(&str, usize, &str, usize, &str)| {
        *name == kind && (words.len() == *n || words.len() > *n && *n_more > 0)
    };
    let (_, n, form, n_more, more_form) = LINES.iter().find(is_meant)?;
    let (words, mut more) = words.split_at(*n);
    let mut after: &[&str] = &[];
    if kind == "message" {
        (more, after) = more.split_at_checked(words[4].parse().ok()?)?;
    }
    let more = more.chunks(*n_more.max(&1));
    let more: Option<Vec<String>> = more
        .map(|words| filled(more_form, words, ["", ""]))
        .collect();
    let after: Option<Vec<String>> = after.iter().map(|word| value("n", word)).collect();
    let json = filled(form, words, [&more?.join(","), &after?.join(",")])?;
    serde_json::from_str(&json).ok()
}

/// Returns `form` with `words` in it, and `more` where `%*` and `%+` are; see [`LINES`].
fn filled(form: &str, words: &[&str], more: [&str; 2]) -> Option<String> {
    let mut parts = form.split('%');
    let mut json = parts.next()?.to_owned();
    for part in parts {
        let (letter, mut rest) = part.split_at(1);
        match letter {
            "*" => json += more[0],
            "+" => json += more[1],
            _ => {
                let (number, after) = rest.split_at(1);
                json += &value(letter, words.get(number.parse::<usize>().ok()?)?)?;
                rest = after;
            }
        }
        json += rest;
    }
    Some(json)
}

/// Returns the value of `word` in JSON, which is of the kind that `letter` stands for.
fn value(letter: &str, word: &str) -> Option<String> {
    let quoted = |text: &str| serde_json::to_string(text).ok();
    match (letter, word) {
        ("c" | "m", "-") | ("o", ".") => Some("null".to_owned()),
        ("s" | "c", _) => quoted(word),
        ("n" | "m", _) => Some(word.parse::<u64>().ok()?.to_string()),
        ("a", _) => serde_json::to_string(&parse_authors(word)?).ok(),
        ("f", "yes" | "told" | "waits") => Some("true".to_owned()),
        ("f", "no" | "-") => Some("false".to_owned()),
        ("t", ".") => quoted(""),
        ("t" | "o", _) => quoted(&String::from_utf8(unescaped(word)?).ok()?),
        _ => None,
    }
}

impl Store {
    /// Returns whether there is a record that begins as one does.
    fn has_record(&self) -> bool {
        let mut start = [0; Header::MAX_LEN];
        let record = file::open(
            &self.record(),
            Links::Refused,
            OpenOptions::new().read(true),
        );
        let n = record.and_then(|file| file.read_at(&mut start, 0));
        n.is_ok_and(|n| Header::read(&start[..n]).is_some())
    }

    /// Takes over what version 0.1 has recorded, and puts in its place what that version refuses to read.
    pub(super) fn migrate(&mut self) -> Result<(), StoreError> {
        let path = self.folder.join("ledger");
        let text = match file::read(&path, Links::Refused, MAX_LOG) {
            Ok(text) if text == MOVED.as_bytes() => return Ok(()),
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(at(&path)(error)),
        };
        let is_start = |of: &str| text.len() < of.len() && of.as_bytes().starts_with(&text);
        if (is_start(MOVED) || is_start(HEADER)) && self.has_record() {
            // It was taken over, and only this line was cut off since.
            return file::write_whole(&path, MOVED.as_bytes()).map_err(at(&path));
        }
        self.begin_anew();
        let unknown = |line| StoreError::Unknown {
            path: path.clone(),
            line,
        };
        let (whole, rest) = whole_lines(&text);
        let is_empty = whole.is_empty() && HEADER.as_bytes().starts_with(rest);
        if !is_empty && !whole.starts_with(HEADER.as_bytes()) {
            return Err(unknown(1));
        }
        for (at, line) in lines(whole).enumerate().skip(1) {
            let record = parse(line).ok_or_else(|| unknown(at + 1))?;
            self.take_in(record, at + 1)
                .ok_or_else(|| unknown(at + 1))?;
        }
        if is_empty || !rest.is_empty() {
            self.keep_cut_off(&path, !is_empty)?;
        }
        if fs::symlink_metadata(self.record()).is_ok() {
            // It is of an earlier attempt that was interrupted, or the user went back to that version.
            self.keep_aside(&self.record(), "replaced")?;
        }
        self.write_anew()?;
        self.sync(&self.record())?;
        file::write_whole(&path, MOVED.as_bytes()).map_err(at(&path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Ledger;
    use crate::record::tests::records;
    use crate::rounds::RoundRecord;
    use crate::store::tests::write;
    use crate::store::{KEPT_SECONDS, now};

    /// What the sample has; it does not know what was shown, other names of files, what was brought back or
    /// typed, nor who was told.
    fn records_of_old() -> Vec<Record> {
        let records = records().into_iter();
        let is_new = |record: &Record| {
            matches!(
                record,
                Record::Lost(_) | Record::Processes(_) | Record::Programs(_) | Record::Excludes(_)
            )
        };
        let records = records.filter(|record| !is_new(record));
        let old = records.map(|record| match record {
            Record::Round(RoundRecord::Shown(_)) => Record::Round(RoundRecord::Told(0, None, None)),
            Record::Round(RoundRecord::Comment(mut comment)) => {
                comment.names.clear();
                comment.told.clear();
                Record::Round(RoundRecord::Comment(comment))
            }
            Record::Seen(path, mut seen) => {
                seen.is_typed = false;
                Record::Seen(path, seen)
            }
            Record::Round(RoundRecord::Told(id, to, _)) => {
                Record::Round(RoundRecord::Told(id, to, None))
            }
            Record::Round(RoundRecord::Rejected(mut rejected)) => {
                rejected.is_back = false;
                Record::Round(RoundRecord::Rejected(rejected))
            }
            record => record,
        });
        old.collect()
    }

    #[test]
    fn each_kind_of_line_is_read() {
        let sample = include_str!("../../../test/reviewed/ledger-1");
        let lines = sample.strip_prefix(HEADER).unwrap().lines();
        let read: Option<Vec<Record>> = lines.map(|line| parse(line.as_bytes())).collect();
        assert_eq!(read.unwrap(), records_of_old());
    }

    #[test]
    fn a_text_may_have_what_stands_for_words() {
        let read = parse(b"message 1 2 - 5%25%2A,%25n0%22 1 a 3");
        let Some(Record::Round(RoundRecord::Message(message))) = read else {
            panic!("{read:?}");
        };
        assert_eq!(message.text, "5%*,%n0\"");
        assert_eq!(
            (message.to, message.comments),
            (vec!["a".to_owned()], vec![3])
        );
    }

    #[test]
    fn what_is_no_such_line_is_not_read() {
        for line in [
            "reviewed 0",
            "comment 1",
            "message 1 2 - . 3 a",
            "wrote 1 a 0",
            "comment-is 1 new",
            "base a b",
            "told 1,2",
        ] {
            assert_eq!(parse(line.as_bytes()), None, "{line}");
        }
    }

    /// Returns a folder with a ledger of version 0.1 that has `text`.
    fn old_ledger(text: &[u8]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("ledger"), text).unwrap();
        folder
    }

    #[test]
    fn what_version_0_1_has_recorded_is_taken_over() {
        let sample = include_str!("../../../test/reviewed/ledger-1");
        let folder = old_ledger(sample.as_bytes());
        let open = || Store::open(folder.path().to_owned()).unwrap();
        let mut expected = Ledger::default();
        records_of_old()
            .into_iter()
            .for_each(|one| expected.replay(one));
        expected.forget_taken_out(now() - KEPT_SECONDS);
        assert_eq!(*open().ledger(), expected);
        // It is there as well when it is only read, and that version refuses to read it.
        assert_eq!(*open().ledger(), expected);
        let left = fs::read_to_string(folder.path().join("ledger")).unwrap();
        assert!(!left.starts_with(HEADER) && left.ends_with('\n'), "{left}");
        // So it does where there was none.
        let folder = tempfile::tempdir().unwrap();
        write(&mut Store::open(folder.path().to_owned()).unwrap(), 1);
        assert_eq!(
            fs::read_to_string(folder.path().join("ledger")).unwrap(),
            left
        );
    }

    #[test]
    fn an_old_ledger_that_is_cut_off_or_has_bad_paths_loses_nothing() {
        let text = [HEADER, "base 0123\nas-base ../x\ntip 45"].concat();
        let folder = old_ledger(text.as_bytes());
        let store = Store::open(folder.path().to_owned()).unwrap();
        assert_eq!(store.ledger().base(), Some("0123"));
        let [cut, path] = &store.notes()[..] else {
            panic!("{:?}", store.notes());
        };
        assert!(cut.contains("was cut off"), "{cut}");
        assert!(path.contains("\"../x\""), "{path}");
        let aside = cut.split("kept as ").nth(1).unwrap();
        assert_eq!(fs::read_to_string(aside).unwrap(), text);
        // One that is not understood stays as it is.
        for wrong in ["something newer", "base --upload-pack=x", "tip"] {
            let text = [HEADER, "base 0123\n", wrong, "\n"].concat();
            let folder = old_ledger(text.as_bytes());
            let error = Store::open(folder.path().to_owned()).unwrap_err();
            assert!(
                matches!(error, StoreError::Unknown { line: 3, .. }),
                "{error}"
            );
            let path = folder.path().join("ledger");
            assert_eq!(fs::read_to_string(path).unwrap(), text);
        }
    }

    #[test]
    fn what_is_taken_over_again_is_kept_aside() {
        let folder = old_ledger([HEADER, "base 1\n"].concat().as_bytes());
        let path = folder.path().join("ledger");
        let mut store = Store::open(folder.path().to_owned()).unwrap();
        write(&mut store, 2);
        let log = fs::read(folder.path().join("record")).unwrap();
        fs::write(&path, [HEADER, "base 3\n"].concat()).unwrap();
        let store = Store::open(folder.path().to_owned()).unwrap();
        assert_eq!(store.ledger().base(), Some("3"));
        let all = fs::read_dir(folder.path()).unwrap();
        let mut all = all.map(|entry| entry.unwrap().path());
        let aside = all.find(|path| path.to_string_lossy().contains("replaced"));
        assert_eq!(fs::read(aside.unwrap()).unwrap(), log);
    }
}
