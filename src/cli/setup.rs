//! Puts the hook into an agent's settings, takes it out again, and checks that it is run.
//!
//! - [`json`]: settings in JSON as strict as they are read, and changes that leave all else as it is
//! - [`settings`]: the settings' text with and without the hook; all else in it stays as it is
//! - [`check`]: what keeps the hook from being run, as far as that can be seen from here

pub mod check;
mod json;
pub mod settings;

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, IsTerminal, Write};
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::Path;
use std::process::ExitCode;

use agent_q_diff_engine::diff::{self, edits, group};
use agent_q_diff_engine::patch::hunk::print;
use agent_q_diff_engine::text::Text;
use agent_q_diff_reviewed::file::{self, Links};

use crate::agents::{Agent, STEERED};
use crate::options::{Check, Setup};

/// Puts the hook into the settings of an agent, or takes it out.
pub async fn run(options: Setup) -> ExitCode {
    let path = (options.agent.setup().file)(options.scope());
    if options.is_naming {
        println!("{}", path.display());
        return ExitCode::SUCCESS;
    }
    let command = options.agent.command(options.socket.as_deref());
    if options.is_steering && options.agent.setup().steer.is_none() {
        eprintln!(
            "agent-q-diff setup: {} has no setting for --edit-tools",
            options.agent.title
        );
        return ExitCode::FAILURE;
    }
    match command.and_then(|command| set_up(&options, &path, &command)) {
        Ok(Done::Shown) => ExitCode::SUCCESS,
        Ok(Done::Refused) => {
            eprintln!("Nothing was changed.");
            ExitCode::FAILURE
        }
        Ok(Done::Written) if options.is_removing => {
            let left = left_in(&path, options.agent);
            if left.is_empty() {
                println!("The hook is no longer in {}.", path.display());
            }
            for (event, command) in left {
                println!(
                    "{} has at {event} still a command of yours that runs the hook: {command}",
                    path.display()
                );
            }
            ExitCode::SUCCESS
        }
        Ok(Done::Written) => {
            println!("The hook is in {}.\n", path.display());
            check::run(Check {
                agents: vec![options.agent],
                socket: options.socket,
                is_without_emacs: false,
            })
            .await
        }
        Err(message) => {
            eprintln!("agent-q-diff setup: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the commands of the user's in the settings `path` of `agent` that run the hook beside something
/// else, with their events.
fn left_in(path: &Path, agent: &Agent) -> Vec<(&'static str, String)> {
    let text = read(path).ok().flatten();
    let text = text.and_then(|bytes| settings::decoded(&bytes).ok());
    text.map(|text| settings::compounds(&text, agent))
        .unwrap_or_default()
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
    let change = |is_steered: bool| {
        let after = changed(options, text.as_deref(), command, is_steered);
        after.map_err(|error| failed(&error))
    };
    let steering = Steering::of(options, text.as_deref().unwrap_or_default());
    let mut after = change(steering == Steering::On || steering == Steering::Offered)?;
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
    if let (Steering::Offered, Some(steer)) = (steering, &options.agent.setup().steer) {
        println!(
            "{} is put into \"env\" since without it, {}.",
            steer.name, steer.without
        );
    }
    let answer = match options.is_yes {
        true => Answer::Yes,
        false => asked(path, steering)?,
    };
    match answer {
        Answer::Yes => {}
        Answer::OnlyHook => after = change(false)?,
        Answer::No => return Ok(Done::Refused),
    }
    if after == before {
        return Ok(Done::Written);
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

/// Returns what settings with `text` are to be, as `options` say, so that they run `command`, and if
/// `is_steered` have the agent edit with its tools; `None` if they are to be gone.
fn changed(
    options: &Setup,
    text: Option<&str>,
    command: &[String],
    is_steered: bool,
) -> Result<Option<Vec<u8>>, String> {
    let after = match (text, options.is_removing) {
        (None, true) => None,
        (Some(text), true) => settings::without_hook(text, options.agent)?,
        (text, false) => {
            let mut command = command.to_vec();
            command.extend(is_steered.then(|| STEERED.to_owned()));
            Some(settings::with_hook(text, options.agent, &command)?)
        }
    };
    Ok(after.map(|text| settings::encoded(&text)))
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

/// Whether the agent is to edit with its tools rather than by its shell.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Steering {
    /// Its settings are not to say so, or it has none for that, or they say something themselves.
    Off,
    /// The user is asked.
    Offered,
    /// They are to say so.
    On,
}

impl Steering {
    /// Returns what `options` say for the settings `text`.
    fn of(options: &Setup, text: &str) -> Self {
        let Some(steer) = options
            .agent
            .setup()
            .steer
            .as_ref()
            .filter(|_| !options.is_removing)
        else {
            return Self::Off;
        };
        let is_asked = !(options.is_yes || options.is_showing);
        match settings::has_steer(text, steer) {
            true if settings::is_steered(text, options.agent, steer) => Self::On,
            false if options.is_steering => Self::On,
            false if is_asked => Self::Offered,
            _ => Self::Off,
        }
    }
}

/// What the user says to a change of settings.
enum Answer {
    Yes,
    OnlyHook,
    No,
}

/// Asks whether `path` is to be written so, or if `steering` is offered, only with the hook.
///
/// # Errors
///
/// A sentence if there is nobody to ask.
fn asked(path: &Path, steering: Steering) -> Result<Answer, String> {
    if !io::stdin().is_terminal() {
        return Err("nobody can be asked here; --yes writes without asking".to_owned());
    }
    let keys = match steering {
        Steering::Offered => "[y/N, or h: only the hook]",
        _ => "[y/N]",
    };
    print!("Change {} so? {keys} ", path.display());
    let mut answer = String::new();
    let asked = io::stdout()
        .flush()
        .and_then(|()| io::stdin().lock().read_line(&mut answer));
    asked.map_err(|error| error.to_string())?;
    Ok(match answer.trim() {
        "y" | "Y" | "yes" => Answer::Yes,
        "h" | "H" if steering == Steering::Offered => Answer::OnlyHook,
        _ => Answer::No,
    })
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
    let written = draft(&new)
        .and_then(|(file, is_named)| {
            fill(&file, text, &path)?;
            if is_named {
                Ok(())
            } else {
                give_name(&file, &new)
            }
        })
        .and_then(|()| fs::rename(&new, &path));
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written
}

/// Returns a new file that is to be called `new`, and whether it has that name. Where that is possible it has
/// none before [`give_name`] gives it one, so that nothing of it is left if the program is killed.
fn draft(new: &Path) -> io::Result<(File, bool)> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, Mode, OFlags, openat};
        let directory = new.parent().unwrap_or(Path::new("."));
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        if let Ok(file) = openat(CWD, directory, flags, Mode::from_raw_mode(0o666)) {
            return Ok((file.into(), false));
        }
    }
    let file = OpenOptions::new().write(true).create_new(true).open(new)?;
    Ok((file, true))
}

/// Gives `file`, a [`draft`], the name `new`.
fn give_name(file: &File, new: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    use std::os::fd::AsRawFd;
    let unnamed = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(linkat(CWD, unnamed, CWD, new, AtFlags::SYMLINK_FOLLOW)?)
}

/// Writes `text` to `file`, with the owner and the permissions of `path` if that is there.
fn fill(mut file: &File, text: &[u8], path: &Path) -> io::Result<()> {
    file.write_all(text)?;
    if let Ok(old) = fs::metadata(path) {
        let made = file.metadata()?;
        if (made.uid(), made.gid()) != (old.uid(), old.gid()) {
            fchown(file, Some(old.uid()), Some(old.gid()))?;
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

    /// Returns the options that set up Claude Code, or undo that.
    fn setup_of(is_removing: bool) -> Setup {
        Setup {
            agent: &claude::AGENT,
            is_for_project: false,
            is_removing,
            is_showing: false,
            is_naming: false,
            is_yes: true,
            is_steering: false,
            socket: None,
        }
    }

    /// Sets up Claude Code, or undoes that, in the settings `path`.
    fn set_up_in(path: &Path, is_removing: bool) -> Result<Done, String> {
        let options = setup_of(is_removing);
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
    #[cfg(target_os = "linux")]
    fn a_setup_that_is_killed_leaves_no_draft() {
        in_directory("draft", |directory| {
            let path = directory.join("settings.json");
            let (file, is_named) = draft(&path).unwrap();
            fill(&file, b"{}", &path).unwrap();
            assert!(!is_named && fs::read_dir(directory).unwrap().next().is_none());
            give_name(&file, &path).unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"{}");
        });
    }

    #[test]
    fn what_the_agent_edits_with_is_taken_out_if_setup_has_put_it_there() {
        in_directory("steered", |directory| {
            let path = directory.join("settings.json");
            let command = ["/opt/agent-q-diff", "hook", "claude"].map(str::to_owned);
            let steer = claude::AGENT.setup().steer.as_ref().unwrap();
            let theirs = format!("{{\"env\": {{\"{}\": \"0\"}}}}\n", steer.name);
            for text in [
                None,
                Some("{}"),
                Some("{\n  \"env\": {\"A\": \"1\"}\n}\n"),
                Some(&theirs),
            ] {
                if let Some(text) = text {
                    fs::write(&path, text).unwrap();
                }
                let set_up = |is_removing, is_steering| {
                    let options = Setup {
                        is_steering,
                        ..setup_of(is_removing)
                    };
                    assert!(set_up(&options, &path, &command).is_ok());
                    fs::read_to_string(&path).ok()
                };
                // Without the option, and if it must not ask, only the hook is put there.
                let has = |text: &Option<String>| text.as_ref().unwrap().contains(steer.name);
                assert_eq!(has(&set_up(false, false)), text == Some(&theirs));
                let with = set_up(false, true);
                assert!(has(&with));
                assert_eq!(
                    set_up(false, false),
                    with,
                    "it stays if setup is called again"
                );
                assert_eq!(set_up(true, false).as_deref(), text);
                let _ = fs::remove_file(&path);
            }
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
