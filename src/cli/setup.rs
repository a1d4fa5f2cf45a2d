//! Puts the hook into an agent's settings, takes it out again, and checks that it is run.
//!
//! - [`json`]: settings in JSON as strict as they are read, and changes that leave all else as it is
//! - [`plugin`]: the plugin of opencode, which is its hook
//! - [`settings`]: the settings' text with and without the hook; all else in it stays as it is
//! - [`records`]: what the agent itself has noted of its edits
//! - [`ask`]: what the agent itself says of its settings
//! - [`check`]: what keeps the hook from being run, as far as that can be seen from here

mod ask;
pub mod check;
mod json;
mod plugin;
mod records;
pub mod settings;

use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, IsTerminal, Write};
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::Path;
use std::process::ExitCode;

use agent_q_diff_engine::diff::{self, edits, group};
use agent_q_diff_engine::patch::print::print;
use agent_q_diff_engine::text::Text;

use crate::options::{Check, Setup};

/// Puts the hook into the settings of an agent, or takes it out.
pub async fn run(options: Setup) -> ExitCode {
    let path = settings::file(options.client, options.scope);
    if options.is_naming {
        println!("{}", path.display());
        return ExitCode::SUCCESS;
    }
    match set_up(&options, &path) {
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
                client: options.client,
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

fn set_up(options: &Setup, path: &Path) -> Result<Done, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let before = read(path).map_err(|error| failed(&error))?;
    let text = before.as_deref().map(settings::decoded).transpose();
    let text = text.map_err(|error| failed(&error))?;
    let after = match (&text, options.is_removing) {
        (None, true) => Ok(None),
        (Some(text), true) => settings::without_hook(text, options.client),
        (_, false) => {
            let command = settings::command(options.client, options.socket.as_deref())?;
            settings::with_hook(text.as_deref(), options.client, &command).map(Some)
        }
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
    check_replaceable(path).map_err(|error| failed(&error))?;
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
/// A sentence, without its full stop, if it is no file that can be read.
fn read(path: &Path) -> Result<Option<Vec<u8>>, String> {
    match fs::metadata(path) {
        // What is no file may never end.
        Ok(metadata) if !metadata.is_file() => Err("it is not a regular file".to_owned()),
        Ok(_) => fs::read(path).map(Some).map_err(|error| error.to_string()),
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

/// Checks that the file `path`, if it is there, can be replaced by another one.
fn check_replaceable(path: &Path) -> Result<(), String> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.nlink() > 1 => Err(
            "it has another name, a hard link, and would be parted from it; make the change that \
             --show prints yourself, or call M-x agent-q-diff-setup-agent in Emacs"
                .to_owned(),
        ),
        _ => Ok(()),
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
