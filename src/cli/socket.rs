//! One call's connection to Emacs.
//!
//! The protocol is described in lisp/agent-q-diff-server.el. A connection lives as long as its
//! [`Call`]: dropping that closes it, and Emacs cancels the review.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::{JsonObject, RequestId};
use rustix::process::geteuid;
use serde_json::{Value, json};
use thiserror::Error;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::watch;
use tokio::task::AbortHandle;

/// Version of the protocol for a request without large texts.
const VERSION: u32 = 1;

/// Version of the protocol for a request whose large texts follow its line.
const VERSION_WITH_TEXTS: u32 = 2;

/// Version of the protocol for a request whose large texts are in a file.
const VERSION_WITH_FILE: u32 = 3;

/// Number of bytes that are acknowledged by sending one byte, so that Emacs sends more.
const ACKNOWLEDGED_LEN: usize = 1024;

/// Time between attempts to connect while Emacs has more calls than it can accept.
const BUSY_PAUSE: Duration = Duration::from_millis(100);

/// How much of a review is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Number of decided hunks.
    pub decided: u64,
    /// Number of all hunks. It is 0 if the user has to answer a question, not decide hunks.
    pub total: u64,
}

/// Who gave an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// This program.
    #[default]
    Program,
    /// Emacs.
    Emacs,
    /// This program, since no Emacs listens.
    NoEmacs,
    /// This program, since the connection was closed before there was an answer.
    CutOff,
}

/// The answer to a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// What the agent reads.
    pub text: String,
    /// Whether the call failed. A rejection by the user is not a failure.
    pub is_error: bool,
    /// Who gave it; if that is not Emacs, a failure says why Emacs did not answer.
    pub source: Source,
    /// The result of a review for programs, if one ended: a JSON object.
    pub result: Option<JsonObject>,
}

impl Answer {
    /// Returns the answer of `source` that the call failed, as `text` says.
    pub fn failure(text: String, source: Source) -> Self {
        Self {
            text,
            is_error: true,
            source,
            result: None,
        }
    }
}

/// The state of a call.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// How much is decided, once Emacs has begun the review.
    pub progress: Option<Progress>,
    /// Its turn to change files, once it has that: whether it has waited for it.
    pub turn: Option<bool>,
    /// The answer, once there is one.
    pub answer: Option<Answer>,
}

/// Why Emacs gave no answer. The agent reads these messages.
#[derive(Debug, Error)]
enum CallError {
    /// No Emacs listens on any of the sockets.
    #[error(
        "no Emacs is serving: the user has to start Emacs, if it is not running, and call M-x \
         agent-q-diff-serve in it. Nothing was changed. Looked for the socket at {}",
        list(.sockets)
    )]
    NoEmacs {
        /// The sockets that were tried.
        sockets: Vec<PathBuf>,
    },
    /// The process that listens on the socket is not this user's.
    #[error("{} is not served by a process of this user, so nothing was sent there", .socket.display())]
    ForeignSocket {
        /// The socket.
        socket: PathBuf,
    },
    /// The system refuses to connect to the socket.
    #[error("cannot connect to {}: {source}. Nothing was changed", .socket.display())]
    CannotConnect {
        /// The socket.
        socket: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The connection was closed before there was an answer.
    #[error(
        "Emacs ended, or closed the connection, before there was a decision. What the user had \
         accepted until then is in the file: read it before you propose anything else"
    )]
    ConnectionClosed,
    /// The connection was closed in the middle of the answer.
    #[error(
        "Emacs ended, or closed the connection, before agent-q-diff had read all of its answer, so \
         what the user decided is not known. What the user accepted is in the file: read it before \
         you propose anything else"
    )]
    AnswerCutOff,
    /// A reply of Emacs is not part of the protocol.
    #[error(
        "agent-q-diff does not understand Emacs's reply; rebuild it from the same version as \
         agent-q-diff in Emacs"
    )]
    UnknownReply,
}

impl CallError {
    fn source(&self) -> Source {
        match self {
            CallError::NoEmacs { .. } => Source::NoEmacs,
            CallError::ConnectionClosed | CallError::AnswerCutOff => Source::CutOff,
            _ => Source::Program,
        }
    }
}

/// Returns the names of `files`, with commas between them.
fn list(files: &[PathBuf]) -> String {
    let names: Vec<_> = files
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    names.join(", ")
}

/// A tool call for Emacs to answer.
#[derive(Default)]
pub struct Request {
    /// The tool's name.
    pub tool: String,
    /// Its arguments, a JSON object without the large texts.
    pub arguments: Value,
    /// Those arguments that are large texts.
    pub texts: Texts,
    /// The name of the calling client, if known.
    pub agent: Option<String>,
    /// The directory to which its file names are relative.
    pub directory: PathBuf,
    /// The root of its project, or none if that is the directory.
    pub root: Option<PathBuf>,
    /// How long the caller waits for a decision, or none if it waits forever or does not know.
    pub timeout: Option<Duration>,
}

impl Request {
    /// Returns the request's line of JSON. If there are large texts, they are in the file named
    /// `file` next to the socket, or if that is `None`, they follow the line.
    fn line(&self, file: Option<&str>) -> Vec<u8> {
        let mut request = json!({
            "version": VERSION,
            "tool": self.tool,
            "directory": self.directory.to_string_lossy(),
            "agent": self.agent,
            "arguments": self.arguments,
        });
        if let Some(root) = &self.root {
            request["root"] = root.to_string_lossy().into();
        }
        if let Some(timeout) = self.timeout {
            request["timeout"] = timeout.as_secs_f64().into();
        }
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

/// A call whose answer is awaited. Dropping it closes its connection.
pub struct Call {
    states: watch::Receiver<State>,
    task: AbortHandle,
}

impl Call {
    /// Sends `request` over the first of `sockets` on which Emacs listens. If none can be reached,
    /// the answer says so.
    pub fn begin(sockets: Vec<PathBuf>, request: Request) -> Self {
        let (sender, states) = watch::channel(State::default());
        let task = tokio::spawn(async move {
            let answer = request_answer(&sockets, request, &sender)
                .await
                .unwrap_or_else(|error| {
                    Answer::failure(format!("Error: {error}."), error.source())
                });
            sender.send_modify(|state| state.answer = Some(answer));
        });
        Self {
            states,
            task: task.abort_handle(),
        }
    }

    /// Returns a receiver of the call's present and later states.
    pub fn states(&self) -> watch::Receiver<State> {
        self.states.clone()
    }

    /// Waits for the answer. There is none if the task that would give it has failed.
    pub async fn answer(&self) -> Option<Answer> {
        let mut states = self.states();
        let state = states.wait_for(|state| state.answer.is_some()).await;
        state.ok()?.answer.clone()
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Sends `request`, reports Emacs's progress to `states`, and returns its answer.
async fn request_answer(
    sockets: &[PathBuf],
    request: Request,
    states: &watch::Sender<State>,
) -> Result<Answer, CallError> {
    let (socket, stream) = connect(sockets).await?;
    let (input, mut output) = stream.into_split();
    let (request, file) = with_file(socket, request).await;
    let line = request.line(file.as_ref().and_then(TextFile::name));
    // Emacs may refuse a request before it has read all of it; then its answer says why.
    let _ = output.write_all(&line).await;
    if file.is_none() {
        send(&mut output, &request.texts).await;
    }
    let mut unsent = (request.texts, file);
    let mut replies = Replies::new(input);
    loop {
        let line = replies.next_line(&mut output).await?;
        let reply: Value = serde_json::from_slice(&line).map_err(|_| CallError::UnknownReply)?;
        // After its first reply, Emacs no longer needs the file, and needs the texts only if it
        // asks for them.
        let (texts, _) = std::mem::take(&mut unsent);
        if reply.get("send").is_some() {
            send(&mut output, &texts).await;
        } else if let Some(turn) = reply.get("turn") {
            let has_waited = turn == "waited";
            states.send_modify(|state| state.turn = Some(has_waited));
        } else if let Some(progress) = reply.get("progress") {
            let progress = progress_of(progress).ok_or(CallError::UnknownReply)?;
            states.send_modify(|state| state.progress = Some(progress));
        } else {
            return answer_of(&reply).ok_or(CallError::UnknownReply);
        }
    }
}

/// What Emacs sends. Everything that is read is acknowledged, since Emacs sends only what certainly
/// fits into the socket's buffer.
struct Replies {
    input: BufReader<OwnedReadHalf>,
    /// Number of bytes that are read and not acknowledged.
    n_read: usize,
}

impl Replies {
    fn new(input: OwnedReadHalf) -> Self {
        Self {
            input: BufReader::new(input),
            n_read: 0,
        }
    }

    /// Reads a line, and acknowledges over `output`.
    async fn next_line(&mut self, output: &mut OwnedWriteHalf) -> Result<Vec<u8>, CallError> {
        let mut line = Vec::new();
        while line.last() != Some(&b'\n') {
            let bytes = self.input.fill_buf().await.unwrap_or_default();
            if bytes.is_empty() {
                return Err(if line.is_empty() {
                    CallError::ConnectionClosed
                } else {
                    CallError::AnswerCutOff
                });
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let n_bytes = end.map_or(bytes.len(), |end| end + 1);
            line.extend_from_slice(&bytes[..n_bytes]);
            self.input.consume(n_bytes);
            self.n_read += n_bytes;
            let acknowledgments = vec![b'\n'; self.n_read / ACKNOWLEDGED_LEN];
            self.n_read %= ACKNOWLEDGED_LEN;
            // After its last bytes, Emacs has closed the connection.
            let _ = output.write_all(&acknowledgments).await;
        }
        Ok(line)
    }
}

/// Returns `request`, and a file beside `socket` with its large texts. There is no file if there
/// are no such texts or it cannot be written.
async fn with_file(socket: &Path, request: Request) -> (Request, Option<TextFile>) {
    if request.texts.is_empty() {
        return (request, None);
    }
    let socket = socket.to_owned();
    let written = tokio::task::spawn_blocking(move || {
        let file = TextFile::write(&socket, &request.texts).ok();
        (request, file)
    });
    written.await.expect("writing does not panic")
}

/// Sends `texts` over the socket. If Emacs stops reading, its answer says why.
async fn send(output: &mut OwnedWriteHalf, texts: &Texts) {
    for text in texts.iter() {
        if output.write_all(text.as_bytes()).await.is_err() {
            return;
        }
    }
}

fn progress_of(reply: &Value) -> Option<Progress> {
    Some(Progress {
        decided: reply.get("decided")?.as_u64()?,
        total: reply.get("total")?.as_u64()?,
    })
}

fn answer_of(reply: &Value) -> Option<Answer> {
    Some(Answer {
        text: reply.get("answer")?.as_str()?.to_owned(),
        is_error: reply.get("error")?.as_bool()?,
        source: Source::Emacs,
        result: reply.get("result").and_then(Value::as_object).cloned(),
    })
}

/// Connects to the first of `sockets` on which a process listens, which must be this user's.
/// Returns that socket and the connection.
async fn connect(sockets: &[PathBuf]) -> Result<(&Path, UnixStream), CallError> {
    for path in sockets {
        let socket = path.clone();
        match connect_to(path).await {
            Ok(stream) if is_own(&stream) => return Ok((path, stream)),
            Ok(_) => return Err(CallError::ForeignSocket { socket }),
            Err(error) if is_absence(&error) => {}
            Err(source) => return Err(CallError::CannotConnect { socket, source }),
        }
    }
    let sockets = sockets.to_vec();
    Err(CallError::NoEmacs { sockets })
}

/// Connects to `socket`, and waits while Emacs has more calls than it can accept.
async fn connect_to(socket: &Path) -> io::Result<UnixStream> {
    loop {
        match UnixStream::connect(socket).await {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                tokio::time::sleep(BUSY_PAUSE).await;
            }
            result => return result,
        }
    }
}

/// Whether `error`, from connecting to a socket, means that there is no socket or that no process
/// listens on it.
fn is_absence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused | io::ErrorKind::NotADirectory
    )
}

/// Whether the process at the other end of `stream` is this user's.
fn is_own(stream: &UnixStream) -> bool {
    stream
        .peer_cred()
        .is_ok_and(|peer| peer.uid() == geteuid().as_raw())
}

/// Returns this program's working directory.
pub fn current_directory() -> PathBuf {
    std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"))
}

/// Returns the sockets to try: the one that is `given`, or those that Emacs may have opened.
pub fn sockets(given: Option<PathBuf>) -> Vec<PathBuf> {
    given.map_or_else(default_sockets, |socket| vec![socket])
}

/// Returns the sockets that Emacs may have opened, in the order in which to try them.
///
/// Emacs opens one in `XDG_RUNTIME_DIR`, or if that is not set, in `~/.cache`. A client may start
/// this program with almost no environment; then `XDG_RUNTIME_DIR` is assumed to have its usual
/// value.
fn default_sockets() -> Vec<PathBuf> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map_or_else(
        || PathBuf::from(format!("/run/user/{}", geteuid().as_raw())),
        PathBuf::from,
    );
    let cache = std::env::home_dir().map(|home| home.join(".cache"));
    let folders = [Some(runtime), cache].into_iter().flatten();
    folders
        .map(|folder| folder.join("agent-q-diff/socket"))
        .collect()
}

// Large texts of a call, and the file in which they are handed to Emacs.
//
// The MCP library parses a message several times and copies its strings each time. So large texts
// are taken out of a call before the library sees it, and are kept here until it passes the call
// on.
//
// Emacs takes longer to parse a large text as JSON than for everything else it does with it, so
// large texts follow the request as plain UTF-8. Over a socket, each piece of them arrives as a
// separate string that soon becomes garbage, so that Emacs collects garbage several times before
// it has received everything. A file is read at once. It is next to the socket, in a folder that
// only the user can access, and has a name that no other program uses.

/// Number of bytes from which on a text is large.
pub const MIN_LARGE_LEN: usize = 1 << 16;

/// The large texts of a call with the names of their arguments, in the order in which Emacs gets
/// them.
#[derive(Default)]
pub struct Texts(Vec<(String, String)>);

impl Texts {
    /// Removes the large texts from `arguments`, a JSON object, and returns them.
    pub fn take(arguments: &mut Value) -> Self {
        let Some(arguments) = arguments.as_object_mut() else {
            return Self::default();
        };
        let mut texts = Vec::new();
        for (key, value) in arguments.iter_mut() {
            if let Value::String(text) = value
                && text.len() >= MIN_LARGE_LEN
            {
                texts.push((key.clone(), std::mem::take(text)));
            }
        }
        for (key, _) in &texts {
            arguments.remove(key);
        }
        Self(texts)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the arguments' names and lengths in bytes, as JSON for the request.
    pub fn lens(&self) -> Value {
        let lens = self.0.iter().map(|(key, text)| json!([key, text.len()]));
        Value::Array(lens.collect())
    }

    /// Returns the texts alone.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(_, text)| text.as_str())
    }
}

/// Large texts of calls that the library has not passed on yet, by the ids of the calls, or why a
/// call cannot be carried out. If the library refuses a call, this stays until another call has its
/// id, or until there are too many.
#[derive(Default)]
pub struct TextStore(Mutex<Vec<(RequestId, Kept)>>);

/// The large texts of a call, or what is wrong with its texts.
type Kept = Result<Texts, &'static str>;

/// Number of calls whose texts are kept at most. The library passes a call on before it reads many
/// more.
const MAX_CALLS: usize = 16;

impl TextStore {
    /// Forgets the texts of an earlier call that the library has refused, if `message` has the id
    /// of that call.
    pub fn forget_earlier(&self, message: &[u8]) {
        let mut calls = self.calls();
        if calls.is_empty() {
            return;
        }
        if let Some(id) = id_of(message) {
            calls.retain(|(other, _)| *other != id);
        }
    }

    /// Keeps the large texts of `message`, and returns it without them, as a line. Returns none if
    /// it is not a tool call with large texts.
    pub fn shorten(&self, message: &[u8]) -> Option<Vec<u8>> {
        let mut message: Value = serde_json::from_slice(message).ok()?;
        if message.get("method")? != "tools/call" {
            return None;
        }
        let id = serde_json::from_value(message.get("id")?.clone()).ok()?;
        let texts = Texts::take(message.pointer_mut("/params/arguments")?);
        if texts.is_empty() {
            return None;
        }
        let mut short = serde_json::to_vec(&message).ok()?;
        short.push(b'\n');
        self.put(id, Ok(texts));
        Some(short)
    }

    /// Keeps `flaw`, which is wrong with the texts of `message`, a line that the library can read.
    pub fn put_flaw(&self, message: &[u8], flaw: &'static str) {
        if let Some(id) = id_of(message) {
            self.put(id, Err(flaw));
        }
    }

    /// Keeps `kept` for the call `id`.
    fn put(&self, id: RequestId, kept: Kept) {
        let mut calls = self.calls();
        calls.retain(|(other, _)| *other != id);
        if calls.len() == MAX_CALLS {
            drop(calls.remove(0));
        }
        calls.push((id, kept));
    }

    /// Removes and returns the texts of the call `id`, which may have none.
    ///
    /// # Errors
    ///
    /// What is wrong with them, in words for the agent.
    pub fn take(&self, id: &RequestId) -> Kept {
        let mut calls = self.calls();
        match calls.iter().position(|(other, _)| other == id) {
            Some(index) => calls.remove(index).1,
            None => Ok(Texts::default()),
        }
    }

    fn calls(&self) -> MutexGuard<'_, Vec<(RequestId, Kept)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the id of `message`, or none if it has none or is not JSON.
fn id_of(message: &[u8]) -> Option<RequestId> {
    let mut message: Value = serde_json::from_slice(message).ok()?;
    serde_json::from_value(message.get_mut("id")?.take()).ok()
}

/// A file with large texts. Dropping this removes the file, if Emacs has not done so already.
pub struct TextFile {
    path: PathBuf,
}

impl TextFile {
    /// Writes `texts`, one after the other, to a new file of mode 0600 beside `socket`.
    ///
    /// # Errors
    ///
    /// If the file cannot be created or written. Then there is none.
    pub fn write(socket: &Path, texts: &Texts) -> io::Result<Self> {
        static N_WRITTEN: AtomicU64 = AtomicU64::new(0);
        let number = N_WRITTEN.fetch_add(1, Ordering::Relaxed);
        let mut name = socket.file_name().unwrap_or_default().to_owned();
        // Emacs reads only files with such a name.
        name.push(format!("-texts-{}-{number}", std::process::id()));
        let path = socket.with_file_name(name);
        let mut options = OpenOptions::new();
        let mut out = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        let file = Self { path };
        for text in texts.iter() {
            out.write_all(text.as_bytes())?;
        }
        Ok(file)
    }

    /// Returns the file's name without its folder, or none if that is not UTF-8.
    pub fn name(&self) -> Option<&str> {
        self.path.file_name()?.to_str()
    }
}

impl Drop for TextFile {
    fn drop(&mut self) {
        // Emacs removes it after reading it, so there may be none.
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, Read, Write};
    use std::os::unix::net::{UnixListener, UnixStream as Peer};

    /// Returns what a call says if Emacs carries out `reply` once it has read the request.
    async fn answer(reply: impl FnOnce(Peer) + Send + 'static) -> Answer {
        let folder = std::env::temp_dir().join(format!(
            "agent-q-diff-socket-{}-{:?}",
            std::process::id(),
            std::thread::current().id()
        ));
        std::fs::create_dir(&folder).unwrap();
        let socket = folder.join("socket");
        let listener = UnixListener::bind(&socket).unwrap();
        let emacs = std::thread::spawn(move || {
            let (peer, _) = listener.accept().unwrap();
            let mut request = String::new();
            std::io::BufReader::new(&peer)
                .read_line(&mut request)
                .unwrap();
            reply(peer);
        });
        let request = Request {
            tool: "ping".to_owned(),
            arguments: json!({}),
            texts: Texts::default(),
            agent: None,
            directory: folder.clone(),
            root: None,
            timeout: None,
        };
        let call = Call::begin(vec![socket], request);
        let mut states = call.states();
        let state = states.wait_for(|state| state.answer.is_some()).await;
        let answer = state.unwrap().answer.clone().unwrap();
        emacs.join().unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        answer
    }

    fn line(text: &str) -> Vec<u8> {
        let mut line = json!({ "answer": text, "error": false })
            .to_string()
            .into_bytes();
        line.push(b'\n');
        line
    }

    #[tokio::test]
    async fn a_long_answer_comes_piece_by_piece_as_it_is_acknowledged() {
        let text = "ß\n".repeat(1_000_000);
        let sent = text.clone();
        let answer = answer(move |mut peer| {
            peer.write_all(b"{\"progress\": {\"decided\": 0, \"total\": 1}}\n")
                .unwrap();
            let line = line(&sent);
            let mut pieces = line.chunks(2 * ACKNOWLEDGED_LEN).peekable();
            while let Some(piece) = pieces.next() {
                peer.write_all(piece).unwrap();
                if pieces.peek().is_some() {
                    peer.read_exact(&mut [0; 2]).unwrap();
                }
            }
        })
        .await;
        assert!(!answer.is_error);
        assert!(answer.text == text);
    }

    #[tokio::test]
    async fn an_answer_that_is_cut_off_is_none() {
        for n_missing in [1, 5] {
            let answer = answer(move |mut peer| {
                let line = line("Accepted");
                peer.write_all(&line[..line.len() - n_missing]).unwrap();
            })
            .await;
            assert!(answer.is_error && answer.source == Source::CutOff);
            assert!(
                answer
                    .text
                    .contains("before agent-q-diff had read all of its answer")
            );
        }
    }

    #[tokio::test]
    async fn a_connection_closed_before_the_answer_is_no_cut_answer() {
        let answer = answer(|mut peer| {
            peer.write_all(b"{\"progress\": {\"decided\": 0, \"total\": 1}}\n")
                .unwrap();
        })
        .await;
        assert!(answer.is_error && answer.source == Source::CutOff);
        assert!(answer.text.contains("before there was a decision"));
    }
}

#[cfg(test)]
mod texts_tests {
    use super::*;

    #[test]
    fn a_later_call_with_the_id_of_a_refused_one_does_not_get_its_texts() {
        let call = |text: &str| {
            let arguments = json!({ "modified": text });
            let params = json!({ "arguments": arguments });
            let message = json!({ "id": 9, "method": "tools/call", "params": params });
            message.to_string().into_bytes()
        };
        let id = RequestId::Number(9);
        let store = TextStore::default();
        assert!(store.shorten(&call(&"x".repeat(MIN_LARGE_LEN))).is_some());
        store.forget_earlier(&call("small"));
        assert!(store.take(&id).unwrap().is_empty());
        store.shorten(&call(&"x".repeat(MIN_LARGE_LEN)));
        store.shorten(&call(&"y".repeat(MIN_LARGE_LEN)));
        let texts = store.take(&id).unwrap();
        assert!(texts.iter().eq(["y".repeat(MIN_LARGE_LEN)]));
        assert!(store.take(&id).unwrap().is_empty());
    }
}
