//! One call's connection to Emacs.
//!
//! Its protocol is described in lisp/agent-q-diff-protocol.el. A connection lives as long as
//! its [`Call`]: dropping that closes it, and Emacs cancels the review.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use thiserror::Error;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::OwnedWriteHalf;
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::texts::{TextFile, Texts};

/// Version of what is said over the socket.
const VERSION: u32 = 1;

/// Version of what is said if texts follow the line.
const VERSION_WITH_TEXTS: u32 = 2;

/// Version of what is said if a file has the texts.
const VERSION_WITH_FILE: u32 = 3;

/// Time after which Emacs, while it has too many calls to accept, is tried again.
const BUSY_PAUSE: Duration = Duration::from_millis(100);

/// Where a review stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Number of hunks that are decided.
    pub decided: u64,
    /// Number of all hunks.
    pub total: u64,
}

/// What a call came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What the agent is to read.
    pub text: String,
    /// Whether the call failed. A refusal by the user is no failure.
    pub is_error: bool,
}

/// What is known of a call.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// Where the review stands, once Emacs has begun it.
    pub progress: Option<Progress>,
    /// The answer, once there is one.
    pub answer: Option<Answer>,
}

/// Why Emacs gave no answer. Each says what to do, as the agent reads it.
#[derive(Debug, Error)]
pub enum CallError {
    /// No Emacs listens at any of the places.
    #[error(
        "no Emacs is serving: the user has to start Emacs, if it is not running, and call M-x \
         agent-q-diff-serve in it. Nothing was changed. Looked for the socket at {}",
        list(.places)
    )]
    NoEmacs {
        /// The sockets that were tried.
        places: Vec<PathBuf>,
    },
    /// The socket belongs to somebody else's process.
    #[error("{} is not served by this user, so nothing was sent there", .place.display())]
    Foreign {
        /// The socket.
        place: PathBuf,
    },
    /// The system does not allow to connect.
    #[error("{} cannot be reached: {source}. Nothing was changed", .place.display())]
    Unreachable {
        /// The socket.
        place: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Emacs has gone.
    #[error(
        "Emacs ended, or closed the connection, before there was a decision. What the user had \
         accepted until then is in the file: read it before you propose anything else"
    )]
    Closed,
    /// Emacs said what this program does not understand.
    #[error(
        "Emacs said something that agent-q-diff-mcp does not understand; build it anew, of the \
         same version as agent-q-diff in Emacs"
    )]
    Garbled,
}

fn list(places: &[PathBuf]) -> String {
    let names: Vec<_> = places
        .iter()
        .map(|place| place.display().to_string())
        .collect();
    names.join(", ")
}

/// A tool call that Emacs is asked to answer.
pub struct Request {
    /// Name of the tool.
    pub tool: String,
    /// Its arguments, an object, without large texts.
    pub arguments: Value,
    /// Its large texts.
    pub texts: Texts,
    /// Who calls.
    pub agent: Option<String>,
}

impl Request {
    /// Returns the line that asks for this, if `file` has the texts, or else they follow the line.
    fn line(&self, file: Option<&str>) -> Vec<u8> {
        let directory = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        let mut request = json!({
            "version": VERSION,
            "tool": self.tool,
            "directory": directory.to_string_lossy(),
            "agent": self.agent,
            "arguments": self.arguments,
        });
        if !self.texts.is_empty() {
            request["version"] = VERSION_WITH_TEXTS.into();
            request["texts"] = self.texts.lens();
        }
        if let Some(file) = file {
            request["version"] = VERSION_WITH_FILE.into();
            request["file"] = file.into();
        }
        let mut line = request.to_string().into_bytes();
        line.push(b'\n');
        line
    }
}

/// A call that is being answered. Dropping it closes its connection.
pub struct Call {
    states: watch::Receiver<State>,
    task: AbortHandle,
}

impl Call {
    /// Sends `request` to the first Emacs that listens at one of `places`.
    pub fn begin(places: Vec<PathBuf>, request: Request) -> Self {
        let (sender, states) = watch::channel(State::default());
        let task = tokio::spawn(async move {
            let answer = talk(&places, request, &sender)
                .await
                .unwrap_or_else(|error| Answer {
                    text: format!("Error: {error}."),
                    is_error: true,
                });
            sender.send_modify(|state| state.answer = Some(answer));
        });
        Self {
            states,
            task: task.abort_handle(),
        }
    }

    /// Returns what is known of the call, and will be.
    pub fn states(&self) -> watch::Receiver<State> {
        self.states.clone()
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Sends `request`, passes on what Emacs says of progress, and returns its answer.
async fn talk(
    places: &[PathBuf],
    request: Request,
    states: &watch::Sender<State>,
) -> Result<Answer, CallError> {
    let (place, stream) = connect(places).await?;
    let (input, mut output) = stream.into_split();
    let (request, file) = with_file(place, request).await;
    let line = request.line(file.as_ref().and_then(TextFile::name));
    // Emacs may refuse in the middle of a request; then its answer says why.
    let _ = output.write_all(&line).await;
    if file.is_none() {
        send(&mut output, &request.texts).await;
    }
    let mut unsent = (request.texts, file);
    let mut lines = BufReader::new(input).lines();
    while let Some(line) = lines.next_line().await.map_err(|_| CallError::Closed)? {
        let word: Value = serde_json::from_str(&line).map_err(|_| CallError::Garbled)?;
        // Whatever Emacs says, it needs the file no more, and the texts now or never.
        let (texts, _) = std::mem::take(&mut unsent);
        if word.get("send").is_some() {
            send(&mut output, &texts).await;
        } else if let Some(progress) = word.get("progress") {
            let progress = progress_of(progress).ok_or(CallError::Garbled)?;
            states.send_modify(|state| state.progress = Some(progress));
        } else {
            return answer_of(&word).ok_or(CallError::Garbled);
        }
    }
    Err(CallError::Closed)
}

/// Returns `request`, and a file beside the socket `place` that has its texts, if there are any and
/// it can be written.
async fn with_file(place: &Path, request: Request) -> (Request, Option<TextFile>) {
    if request.texts.is_empty() {
        return (request, None);
    }
    let place = place.to_owned();
    let written = tokio::task::spawn_blocking(move || {
        let file = TextFile::write(&place, &request.texts).ok();
        (request, file)
    });
    written.await.expect("writing does not panic")
}

/// Sends `texts` over the socket. Emacs may refuse them in the middle, as it may the request.
async fn send(output: &mut OwnedWriteHalf, texts: &Texts) {
    for text in texts.iter() {
        if output.write_all(text.as_bytes()).await.is_err() {
            return;
        }
    }
}

fn progress_of(word: &Value) -> Option<Progress> {
    Some(Progress {
        decided: word.get("decided")?.as_u64()?,
        total: word.get("total")?.as_u64()?,
    })
}

fn answer_of(word: &Value) -> Option<Answer> {
    Some(Answer {
        text: word.get("answer")?.as_str()?.to_owned(),
        is_error: word.get("error")?.as_bool()?,
    })
}

/// Connects to the first of `places` at which an Emacs of this user listens, and returns that too.
async fn connect(places: &[PathBuf]) -> Result<(&Path, UnixStream), CallError> {
    for place in places {
        match connect_to(place).await {
            Ok(stream) if is_ours(&stream) => return Ok((place, stream)),
            Ok(_) => {
                return Err(CallError::Foreign {
                    place: place.clone(),
                });
            }
            Err(error) if is_absence(&error) => {}
            Err(source) => {
                return Err(CallError::Unreachable {
                    place: place.clone(),
                    source,
                });
            }
        }
    }
    Err(CallError::NoEmacs {
        places: places.to_vec(),
    })
}

/// Connects to `place`, and waits while Emacs has more calls than it can accept.
async fn connect_to(place: &PathBuf) -> io::Result<UnixStream> {
    loop {
        match UnixStream::connect(place).await {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                tokio::time::sleep(BUSY_PAUSE).await;
            }
            result => return result,
        }
    }
}

/// Whether `error` says that nobody listens there, or that there is no such place.
fn is_absence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused | io::ErrorKind::NotADirectory
    )
}

/// Whether the process at the other end of `stream` is this user's.
fn is_ours(stream: &UnixStream) -> bool {
    matches!((stream.peer_cred(), user_id()), (Ok(peer), Some(id)) if peer.uid() == id)
}

/// Returns this user's id, which the standard library cannot tell: that of the other end of a
/// connection with oneself.
fn user_id() -> Option<u32> {
    let (one, _other) = UnixStream::pair().ok()?;
    Some(one.peer_cred().ok()?.uid())
}

/// Returns the places where Emacs opens its socket, in the order in which to look.
///
/// Emacs takes `XDG_RUNTIME_DIR` if it has that, else `~/.cache`. A client may start this program
/// with next to no environment; then `XDG_RUNTIME_DIR` is taken to have its usual value.
pub fn usual_places() -> Vec<PathBuf> {
    let runtime = match std::env::var_os("XDG_RUNTIME_DIR") {
        Some(folder) => Some(PathBuf::from(folder)),
        None => user_id().map(|id| PathBuf::from(format!("/run/user/{id}"))),
    };
    let cache = std::env::home_dir().map(|home| home.join(".cache"));
    let folders = [runtime, cache].into_iter().flatten();
    folders
        .map(|folder| folder.join("agent-q-diff/socket"))
        .collect()
}
