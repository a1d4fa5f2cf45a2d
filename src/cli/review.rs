//! What was written already: its review in Emacs, and the turns in which it is written.
//!
//! `agent-q-diff review` opens the review and, if asked, waits and says what was decided. With other
//! options, it records that an agent's turn begins or ends, or that all was reviewed; for that no Emacs
//! is needed.

use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agent_q_diff_reviewed::authors::Author;
use agent_q_diff_reviewed::{Pending, Project, ProjectError};
use serde_json::{Map, Value, json};

use crate::options::Review;
use crate::socket::{Answer, Call, Request, sockets};

/// Exit status if something was taken out, and nothing is undecided.
const TAKEN_OUT: u8 = 1;

/// Exit status if something is undecided.
const UNDECIDED: u8 = 2;

/// Exit status if there is no answer.
pub const FAILED: u8 = 3;

/// Does what `options` say. Returns the exit status.
pub async fn run(options: Review) -> ExitCode {
    let done = if options.turn_begins {
        with_project(&options, |project| {
            let title = options.title.as_deref().unwrap_or_default();
            project.begin_turn(options.agent(), &options.session, title, None)?;
            Ok(String::new())
        })
    } else if options.turn_ends {
        with_project(&options, |project| {
            let is_one = !options.session.is_empty() || options.agent.is_some();
            let only = is_one.then_some((options.agent(), &options.session[..]));
            Ok(match project.end_turns_of_scripts(only)? {
                (_, 0) => String::new(),
                _ => "An agent whose hook says when its turn is over is at work; \
                      M-x agent-q-diff-end-turns in Emacs ends that, too\n"
                    .to_owned(),
            })
        })
    } else if options.mark_reviewed {
        with_project(&options, |project| {
            mark_reviewed(project, Some(&*options.path).filter(|path| path.is_file()))
        })
    } else {
        open(&options).await
    };
    match done {
        Ok((text, status)) => match write!(std::io::stdout(), "{text}") {
            Ok(()) => ExitCode::from(status),
            // Nobody reads it.
            Err(_) => ExitCode::from(FAILED),
        },
        Err(why) => {
            eprintln!("agent-q-diff review: {why}");
            ExitCode::from(FAILED)
        }
    }
}

/// Calls `body` with the project that is meant, and returns what it says.
fn with_project(
    options: &Review,
    body: impl FnOnce(&mut Project) -> Result<String, ProjectError>,
) -> Result<(String, u8), String> {
    let said = Project::open(&options.folder()).and_then(|mut project| body(&mut project));
    said.map(|said| (said, 0))
        .map_err(|error| error.to_string())
}

/// Records that what is pending in `project`, or only in the file `only`, was reviewed as it is, unless an
/// agent may have written it: anybody can run this program. That file may be one that was left out.
fn mark_reviewed(project: &mut Project, only: Option<&Path>) -> Result<String, ProjectError> {
    let is_any_agents = project.has_left_processes();
    let look = project.look_unasked()?;
    let is_agents = |pending: &&Pending| {
        let mut authors = pending.written.authors.iter();
        is_any_agents
            || authors.any(|author| matches!(author, Author::Turn(_) | Author::Background(_)))
    };
    let (agents, others): (Vec<&Pending>, Vec<&Pending>) = look.pending.iter().partition(is_agents);
    let mut agents: Vec<_> = agents
        .into_iter()
        .map(|pending| pending.path.clone())
        .collect();
    let mut paths: Vec<_> = others
        .into_iter()
        .map(|pending| pending.path.clone())
        .collect();
    if let Some(only) = only {
        let only = only.canonicalize().unwrap_or_else(|_| only.to_owned());
        let root = project.root();
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let only = only
            .strip_prefix(root)
            .map(|path| path.as_os_str().as_bytes().to_vec());
        for paths in [&mut paths, &mut agents] {
            paths.retain(|path| only.as_ref().is_ok_and(|only| path == only));
        }
        if paths.is_empty() && agents.is_empty() {
            let is_only = |path: &Vec<u8>| only.as_ref().is_ok_and(|only| path == only);
            let left_out = look.left_out.into_iter();
            let left_out = left_out.filter(|(path, why)| why.is_of_file() && is_only(path));
            paths.extend(left_out.map(|(path, _)| path));
        }
    }
    project.mark_reviewed(&paths)?;
    let mut said = match paths.len() {
        0 if agents.is_empty() => "Nothing was pending\n".to_owned(),
        0 => String::new(),
        1 => "1 file is reviewed as it is\n".to_owned(),
        n => format!("{n} files are reviewed as they are\n"),
    };
    match agents.len() {
        0 => {}
        1 => said += "1 file that an agent may have written stays pending",
        n => said += &format!("{n} files that an agent may have written stay pending"),
    }
    if !agents.is_empty() {
        said += "; M-x agent-q-diff-mark-reviewed in Emacs reviews them, too\n";
    }
    Ok(said)
}

/// Has Emacs open the review. Returns what to print, and the exit status.
async fn open(options: &Review) -> Result<(String, u8), String> {
    let folder = options.folder();
    let folder = folder
        .canonicalize()
        .map_err(|error| format!("{}: {error}", folder.display()))?;
    let call = Call::begin(
        sockets(options.socket.clone()),
        Request {
            tool: "review_changes".to_owned(),
            arguments: json!({ "wait": options.is_waiting }),
            agent: options.agent.clone(),
            directory: folder,
            ..Request::default()
        },
    );
    let answer = call.answer().await.ok_or("there was no answer")?;
    if answer.is_error {
        return Err(answer.text.trim_start_matches("Error: ").to_owned());
    }
    Ok(shown(&answer, options.is_waiting, options.is_json))
}

/// Returns what to print of `answer`, and the exit status.
fn shown(answer: &Answer, is_waiting: bool, is_json: bool) -> (String, u8) {
    let result = answer.result.clone().unwrap_or_default();
    let decided = decided(&result);
    let count = |key: &str| decided[key].as_u64().unwrap_or_default();
    let status = match (count("undecided"), count("taken_out")) {
        _ if !is_waiting => 0,
        (0, 0) => 0,
        (0, _) => TAKEN_OUT,
        _ => UNDECIDED,
    };
    let text = if is_json {
        format!("{decided:#}\n")
    } else if is_waiting
        && decided["files"]
            .as_array()
            .is_some_and(|files| !files.is_empty())
    {
        in_words(&decided)
    } else {
        format!("{}\n", answer.text)
    };
    (text, status)
}

/// The words for what was decided about a hunk, by those of a review before the write.
const DECISIONS: [(&str, &str); 3] = [
    ("accepted", "kept"),
    ("rejected", "taken_out"),
    ("none", "undecided"),
];

/// Returns `result`, that of Emacs's review, in the words of a review after the write.
fn decided(result: &Map<String, Value>) -> Value {
    let counts = |of: &Map<String, Value>| {
        let count = |key: &str| of.get(key).and_then(Value::as_u64).unwrap_or_default();
        let [total, taken_out, undecided] = ["total", "rejected", "pending"].map(count);
        (
            total.saturating_sub(taken_out + undecided),
            taken_out,
            undecided,
        )
    };
    let objects = |of: &Value| -> Vec<Map<String, Value>> {
        let all = of.as_array().into_iter().flatten();
        all.filter_map(Value::as_object).cloned().collect()
    };
    let files = objects(result.get("files").unwrap_or(&Value::Null));
    let files = files.iter().map(|file| {
        let (kept, taken_out, undecided) = counts(file);
        let mut one = json!({
            "path": file.get("path"),
            "kept": kept,
            "taken_out": taken_out,
            "undecided": undecided,
        });
        if let Some(hunks) = file.get("hunks").filter(|hunks| hunks.is_array()) {
            one["hunks"] = objects(hunks).iter().map(decided_hunk).collect();
        }
        one
    });
    let files: Vec<Value> = files.collect();
    let (kept, taken_out, undecided) = counts(result);
    let mut all = json!({
        "kept": kept,
        "taken_out": taken_out,
        "undecided": undecided,
        "files": files,
    });
    if let Some(comment) = result.get("comment") {
        all["comment"] = comment.clone();
    }
    all
}

fn decided_hunk(hunk: &Map<String, Value>) -> Value {
    let mut one = Map::new();
    for key in ["hunk", "operation", "decision", "comment"] {
        one.extend(hunk.get(key).map(|value| (key.to_owned(), value.clone())));
    }
    let decision = hunk.get("decision").and_then(Value::as_str);
    let decision = decision.unwrap_or("none");
    let word = DECISIONS.iter().find(|(before, _)| *before == decision);
    let word = word.map_or(decision, |(_, after)| after);
    one.insert("decision".to_owned(), word.into());
    Value::Object(one)
}

/// Returns `decided` as lines for a person: one for each file, and one for each comment.
fn in_words(decided: &Value) -> String {
    let mut text = String::new();
    let none = Vec::new();
    for file in decided["files"].as_array().unwrap_or(&none) {
        let counts = ["kept", "taken_out", "undecided"].map(|key| {
            let n = file[key].as_u64().unwrap_or_default();
            (n > 0).then(|| format!("{n} {}", key.replace('_', " ")))
        });
        let counts: Vec<String> = counts.into_iter().flatten().collect();
        let path = file["path"].as_str().unwrap_or_default();
        text += &format!("{path}: {}\n", counts.join(", "));
        for hunk in file["hunks"].as_array().unwrap_or(&none) {
            let Some(comment) = hunk["comment"].as_str() else {
                continue;
            };
            let name = match &hunk["hunk"] {
                Value::Number(n) => format!("hunk {n}"),
                _ => hunk["operation"].as_str().unwrap_or("hunk").to_owned(),
            };
            let word = hunk["decision"]
                .as_str()
                .unwrap_or_default()
                .replace('_', " ");
            text += &format!("  {name}, {word}: {comment}\n");
        }
    }
    if let Some(comment) = decided["comment"].as_str() {
        text += &format!("{comment}\n");
    }
    text
}

impl Review {
    /// Returns what the agent is called.
    fn agent(&self) -> &str {
        self.agent.as_deref().unwrap_or("an agent")
    }

    /// Returns the folder whose project is meant.
    fn folder(&self) -> PathBuf {
        let parent = self.path.parent().filter(|_| self.path.is_file());
        match parent {
            Some(parent) if parent.as_os_str().is_empty() => PathBuf::from("."),
            Some(parent) => parent.to_owned(),
            None => self.path.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::socket::Source;

    fn answer(pending: u64) -> Answer {
        let result = json!({
            "status": "partial", "total": 3, "in_file": 2, "rejected": 1, "pending": pending,
            "files": [
                { "path": "/p/a", "total": 2, "in_file": 1, "rejected": 1, "pending": 0, "hunks": [
                    { "hunk": 1, "decision": "accepted", "in_file": true },
                    { "hunk": 2, "decision": "rejected", "in_file": false, "comment": "no" },
                ] },
                { "path": "/p/b", "total": 1, "in_file": 1, "rejected": 0, "pending": pending,
                  "hunks": [{ "operation": "delete", "decision": "none", "in_file": true }] },
            ],
        });
        Answer {
            text: "2 files, 3 hunks are open for review".to_owned(),
            is_error: false,
            source: Source::Emacs,
            result: result.as_object().cloned(),
        }
    }

    #[test]
    fn what_was_decided_is_said_in_words_and_by_the_status() {
        let text = "/p/a: 1 kept, 1 taken out\n  hunk 2, taken out: no\n/p/b: 1 undecided\n";
        assert_eq!(shown(&answer(1), true, false), (text.to_owned(), UNDECIDED));
        assert_eq!(shown(&answer(0), true, false).1, TAKEN_OUT);
        let opened = "2 files, 3 hunks are open for review\n".to_owned();
        assert_eq!(shown(&answer(1), false, false), (opened, 0));
    }

    #[test]
    fn what_was_decided_is_json_for_programs() {
        let (text, _) = shown(&answer(1), true, true);
        let all: Value = serde_json::from_str(&text).expect("JSON");
        let expected = json!({
            "kept": 1, "taken_out": 1, "undecided": 1,
            "files": [
                { "path": "/p/a", "kept": 1, "taken_out": 1, "undecided": 0, "hunks": [
                    { "hunk": 1, "decision": "kept" },
                    { "hunk": 2, "decision": "taken_out", "comment": "no" },
                ] },
                { "path": "/p/b", "kept": 0, "taken_out": 0, "undecided": 1,
                  "hunks": [{ "operation": "delete", "decision": "undecided" }] },
            ],
        });
        assert_eq!(all, expected);
    }

    #[test]
    fn what_an_agent_may_have_written_stays_pending() {
        let folder = std::env::temp_dir().join(format!("agent-q-diff-mark-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let made = std::process::Command::new("git")
            .args(["init", "-q"])
            .arg(&folder)
            .status();
        assert!(made.unwrap().success());
        let write = |name: &str| std::fs::write(folder.join(name), "x\n").unwrap();
        let mut project = Project::open(&folder).unwrap();
        project.look_unasked().unwrap();
        write("mine");
        project.begin_turn("Codex", "s", "", None).unwrap();
        write("its");
        // Both in its turn and after that.
        let its = "1 file that an agent may have written stays pending; \
                   M-x agent-q-diff-mark-reviewed in Emacs reviews them, too\n";
        let both = format!("1 file is reviewed as it is\n{its}");
        assert_eq!(mark_reviewed(&mut project, None).unwrap(), both);
        project.end_turns(None).unwrap();
        assert_eq!(mark_reviewed(&mut project, None).unwrap(), its);
        let only = Some(&*folder.join("its"));
        assert_eq!(mark_reviewed(&mut project, only).unwrap(), its);
        assert_eq!(project.look_unasked().unwrap().pending.len(), 1);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn where_nothing_is_pending_all_is_kept() {
        let answer = Answer {
            text: "Nothing is pending in ~/p/".to_owned(),
            result: None,
            ..answer(0)
        };
        assert_eq!(
            shown(&answer, true, false),
            ("Nothing is pending in ~/p/\n".to_owned(), 0)
        );
    }
}
