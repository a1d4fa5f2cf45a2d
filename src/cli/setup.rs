//! Puts the hook into an agent's settings, takes it out again, and checks that it is run.
//!
//! - [`json`]: settings in JSON as strict as they are read, and changes that leave all else as it is
//! - [`settings`]: the settings' text with and without the hook; all else in it stays as it is
//! - [`check`]: what keeps the hook from being run, as far as that can be seen from here

pub mod check;
mod json;
pub mod settings;

use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, IsTerminal, Write};
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::Path;
use std::process::ExitCode;

use agent_q_diff_engine::diff::{self, edits, group};
use agent_q_diff_engine::patch::hunk::print;
use agent_q_diff_engine::text::Text;
use agent_q_diff_reviewed::file::{self, Links};

use crate::options::{Check, Setup};

/// Puts the hook into the settings of an agent, or takes it out.
pub async fn run(options: Setup) -> ExitCode {
    let path = (options.agent.setup().file)(options.scope());
    if options.is_naming {
        println!("{}", path.display());
        return ExitCode::SUCCESS;
    }
    let command = options.agent.command(options.socket.as_deref());
    match command.and_then(|command| set_up(&options, &path, &command)) {
        Ok(Done::Shown) => ExitCode::SUCCESS,
        Ok(Done::Refused) => {
            eprintln!("Nothing was changed.");
            ExitCode::FAILURE
        }
        Ok(Done::Written) if options.is_removing => {
            println!("The hook is no longer in {}.", path.display());
            ExitCode::SUCCESS
        }
        Ok(Done::Written) => {
            println!("The hook is in {}.\n", path.display());
            check::run(Check {
                agent: options.agent,
                socket: options.socket,
            })
            .await
        }
        Err(message) => {
            eprintln!("agent-q-diff setup: {message}");
            ExitCode::FAILURE
        }
    }
}

/// What became of the settings.
enum Done {
    /// Their new text was printed, and nothing was written.
    Shown,
    /// The user does not want them changed.
    Refused,
    /// They are as they should be.
    Written,
}

/// Changes the settings `path` as `options` say, so that they run `command`, or no longer do.
fn set_up(options: &Setup, path: &Path, command: &[String]) -> Result<Done, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let before = read(path).map_err(|error| failed(&error))?;
    let text = before.as_deref().map(settings::decoded).transpose();
    let text = text.map_err(|error| failed(&error))?;
    let after = match (&text, options.is_removing) {
        (None, true) => Ok(None),
        (Some(text), true) => settings::without_hook(text, options.agent),
        (_, false) => settings::with_hook(text.as_deref(), options.agent, command).map(Some),
    };
    let after = after.map_err(|error| failed(&error))?;
    let after = after.map(|text| settings::encoded(&text));
    if options.is_showing {
        let shown = io::stdout().write_all(&after.unwrap_or_default());
        shown.map_err(|error| failed(&error))?;
        return Ok(Done::Shown);
    }
    if after == before {
        return Ok(Done::Written);
    }
    if fs::metadata(path).is_ok_and(|metadata| metadata.nlink() > 1) {
        return Err(failed(
            &"it has another name, a hard link, and would be parted from it; make the change that \
              --show prints yourself, or call M-x agent-q-diff-setup-agent in Emacs",
        ));
    }
    let texts = [&before, &after].map(|bytes| bytes.as_deref().unwrap_or_default());
    print!("{}", difference(path, texts));
    if !(options.is_yes || is_agreed(path)?) {
        return Ok(Done::Refused);
    }
    // Agents write their settings themselves.
    if read(path) != Ok(before) {
        return Err(failed(&"it was changed meanwhile; call setup again"));
    }
    let written = match after {
        None if path.is_symlink() => write(path, b"{}\n"),
        None => fs::remove_file(path),
        Some(after) => write(path, &after),
    };
    written.map_err(|error| failed(&error))?;
    Ok(Done::Written)
}

/// Returns what is in the file `path`, or `None` if there is none.
///
/// # Errors
///
/// A sentence, without its period, if it is no file that can be read.
fn read(path: &Path) -> Result<Option<Vec<u8>>, String> {
    match file::read(path, Links::Followed, file::MAX_BYTES) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => match fs::read_link(path) {
            Ok(target) => Err(format!(
                "it is a link to {}, which is not there",
                target.display()
            )),
            Err(_) => Ok(None),
        },
        Err(error) => Err(error.to_string()),
    }
}

/// Returns what changes in the file `path` from the first of `texts` to the second, as a unified diff.
fn difference(path: &Path, texts: [&[u8]; 2]) -> String {
    let (before, after) = texts.map(|text| Text::new(text.into())).into();
    let edits = edits(&before, &after);
    let groups = group(&edits, before.len(), 3);
    let hunks: Vec<_> = groups
        .iter()
        .map(|group| diff::hunk(group, &edits, &before, &after, b""))
        .collect();
    let printed = print(path.as_os_str().as_encoded_bytes(), &hunks);
    String::from_utf8_lossy(&printed.bytes).into_owned()
}

/// Asks whether `path` is to be written so.
///
/// # Errors
///
/// A sentence if there is nobody to ask.
fn is_agreed(path: &Path) -> Result<bool, String> {
    if !io::stdin().is_terminal() {
        return Err("nobody can be asked here; --yes writes without asking".to_owned());
    }
    print!("Change {} so? [y/N] ", path.display());
    let mut answer = String::new();
    let asked = io::stdout()
        .flush()
        .and_then(|()| io::stdin().lock().read_line(&mut answer));
    asked.map_err(|error| error.to_string())?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Replaces the file `path`, or what it is a link to, by `text`, as a whole or not at all. Missing
/// directories are made.
fn write(path: &Path, text: &[u8]) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".agent-q-diff-{}", std::process::id()));
    let new = path.with_file_name(name);
    let written = write_new(&new, text, &path).and_then(|()| fs::rename(&new, &path));
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written
}

/// Writes `text` to `new`, a file that is not there, with the owner and the permissions of `path` if
/// that is.
fn write_new(new: &Path, text: &[u8], path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(new)?;
    file.write_all(text)?;
    if let Ok(old) = fs::metadata(path) {
        let made = file.metadata()?;
        if (made.uid(), made.gid()) != (old.uid(), old.gid()) {
            fchown(&file, Some(old.uid()), Some(old.gid()))?;
        }
        file.set_permissions(old.permissions())?;
    }
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::process::Command;

    use super::*;
    use crate::agents::claude;

    /// Calls `function` with a directory of its own.
    fn in_directory(name: &str, function: impl FnOnce(&Path)) {
        let name = format!("agent-q-diff-setup-{name}-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        fs::create_dir(&directory).unwrap();
        function(&directory);
        fs::remove_dir_all(&directory).unwrap();
    }

    /// Sets up Claude Code, or undoes that, in the settings `path`.
    fn set_up_in(path: &Path, is_removing: bool) -> Result<Done, String> {
        let options = Setup {
            agent: &claude::AGENT,
            is_for_project: false,
            is_removing,
            is_showing: false,
            is_naming: false,
            is_yes: true,
            socket: None,
        };
        let command = ["/opt/agent-q-diff", "hook", "claude"].map(str::to_owned);
        set_up(&options, path, &command)
    }

    #[test]
    fn what_cannot_be_changed_safely_is_refused_with_the_reason() {
        in_directory("refused", |directory| {
            let fifo = directory.join("fifo");
            assert!(
                Command::new("mkfifo")
                    .arg(&fifo)
                    .status()
                    .unwrap()
                    .success()
            );
            symlink("/dev/zero", directory.join("device")).unwrap();
            symlink(&fifo, directory.join("link-to-fifo")).unwrap();
            symlink(directory.join("none"), directory.join("dangling")).unwrap();
            symlink("loop", directory.join("loop")).unwrap();
            fs::create_dir(directory.join("directory")).unwrap();
            fs::write(directory.join("one"), "{}").unwrap();
            fs::hard_link(directory.join("one"), directory.join("two")).unwrap();
            symlink("one", directory.join("link-to-one")).unwrap();
            for (name, reason) in [
                ("fifo", "not a regular file"),
                ("device", "not a regular file"),
                ("link-to-fifo", "not a regular file"),
                ("directory", "not a regular file"),
                ("dangling", "which is not there"),
                ("loop", ""),
                ("one", "a hard link"),
                ("link-to-one", "a hard link"),
            ] {
                let Err(error) = set_up_in(&directory.join(name), false) else {
                    panic!("{name} is changed");
                };
                assert!(error.contains(reason), "{name}: {error}");
            }
            assert_eq!(fs::read(directory.join("two")).unwrap(), b"{}");
            assert!(directory.join("dangling").is_symlink());
        });
    }

    #[test]
    fn a_file_is_as_it_was_when_the_hook_is_taken_out() {
        in_directory("removed", |directory| {
            let (file, link) = (directory.join("a/settings.json"), directory.join("link"));
            for text in [
                None,
                Some(&b""[..]),
                Some(b"\xef\xbb\xbf{\"a\": \"\xe9\"}\r\n"),
            ] {
                if let Some(text) = text {
                    fs::write(&file, text).unwrap();
                    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
                }
                assert!(set_up_in(&file, false).is_ok());
                assert_ne!(fs::read(&file).ok().as_deref(), text);
                assert!(set_up_in(&file, true).is_ok());
                assert_eq!(fs::read(&file).ok().as_deref(), text);
            }
            let mode = fs::metadata(&file).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o640);
            symlink(&file, &link).unwrap();
            assert!(set_up_in(&link, false).is_ok() && link.is_symlink());
            assert!(
                fs::read_to_string(&file).is_err(),
                "it has a byte that is not UTF-8"
            );
            assert!(set_up_in(&link, true).is_ok() && link.is_symlink());
            assert_eq!(
                fs::read(&file).unwrap(),
                b"\xef\xbb\xbf{\"a\": \"\xe9\"}\r\n"
            );
        });
    }
}
