//! Large texts of a call, and the file in which Emacs reads them.
//!
//! The MCP library parses a message several times and copies its strings each time. So large texts
//! are taken out of a call before the library sees it, and wait here until it passes the call on.
//!
//! JSON takes Emacs longer to read than all that it does with a large text, so these follow the
//! request as they are. From a socket each piece of them comes as a string of its own, which is
//! garbage a moment later, and Emacs collects several times before it has them all. A file it reads
//! at once. The file is beside the socket, in a folder that only the user can reach, and has a
//! name of its own that no other program uses.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use rmcp::model::RequestId;
use serde_json::{Value, json};

/// Number of bytes from which on a text is large.
pub const LARGE: usize = 1 << 16;

/// Large texts, in the order in which Emacs gets them.
#[derive(Default)]
pub struct Texts(Vec<(String, String)>);

impl Texts {
    /// Takes the large texts out of `arguments`.
    fn take(arguments: &mut Value) -> Self {
        let Some(arguments) = arguments.as_object_mut() else {
            return Self::default();
        };
        let mut texts = Vec::new();
        for (key, value) in arguments.iter_mut() {
            if let Value::String(text) = value
                && text.len() >= LARGE
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

    /// Returns the keys and lengths, as the request names them.
    pub fn lens(&self) -> Value {
        let lens = self.0.iter().map(|(key, text)| json!([key, text.len()]));
        Value::Array(lens.collect())
    }

    /// Returns the texts.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(_, text)| text.as_str())
    }
}

/// Texts of calls that the library has not passed on yet, by the ids of the calls. Those of a call
/// that it refuses stay until another has its id.
#[derive(Default)]
pub struct Waiting(Mutex<Vec<(RequestId, Texts)>>);

/// Number of calls whose texts are kept. The library passes a call on before it reads many more.
const MAX_WAITING: usize = 16;

impl Waiting {
    /// Forgets texts of an earlier call, which the library has refused, if the message `line` has
    /// its id.
    pub fn forget_earlier(&self, line: &[u8]) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.is_empty() {
            return;
        }
        let message: Option<Value> = serde_json::from_slice(line).ok();
        let id = message.and_then(|mut message| message.get_mut("id").map(Value::take));
        if let Some(id) = id.and_then(|id| serde_json::from_value::<RequestId>(id).ok()) {
            waiting.retain(|(other, _)| *other != id);
        }
    }

    /// Keeps the large texts of the message `line`, and returns it without them. Returns none if
    /// it is no call of a tool with large texts.
    pub fn shorten(&self, line: &[u8]) -> Option<Vec<u8>> {
        let mut message: Value = serde_json::from_slice(line).ok()?;
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
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|(other, _)| *other != id);
        if waiting.len() == MAX_WAITING {
            waiting.remove(0);
        }
        waiting.push((id, texts));
        Some(short)
    }

    /// Returns the texts of the call `id`, and keeps them no longer.
    pub fn take(&self, id: &RequestId) -> Texts {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match waiting.iter().position(|(other, _)| other == id) {
            Some(index) => waiting.remove(index).1,
            None => Texts::default(),
        }
    }
}

/// A file with texts. It is removed with this value, if Emacs has not done that yet.
pub struct TextFile {
    path: PathBuf,
}

impl TextFile {
    /// Writes `texts` to a new file beside `socket`.
    pub fn write(socket: &Path, texts: &Texts) -> io::Result<Self> {
        static N_WRITTEN: AtomicU64 = AtomicU64::new(0);
        let number = N_WRITTEN.fetch_add(1, Ordering::Relaxed);
        let mut name = socket.file_name().unwrap_or_default().to_owned();
        // Emacs reads no file of another name.
        name.push(format!("-texts-{}-{number}", std::process::id()));
        let (file, mut out) = Self::create(socket.with_file_name(name))?;
        for text in texts.iter() {
            out.write_all(text.as_bytes())?;
        }
        Ok(file)
    }

    fn create(path: PathBuf) -> io::Result<(Self, File)> {
        let out = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        Ok((Self { path }, out))
    }

    /// Returns the name of the file in its folder, none if that is no text.
    pub fn name(&self) -> Option<&str> {
        self.path.file_name()?.to_str()
    }
}

impl Drop for TextFile {
    fn drop(&mut self) {
        // It is gone if Emacs has read it.
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_a_refused_call_does_not_join_a_later_one_with_its_id() {
        let call = |text: &str| {
            let arguments = json!({ "modified": text });
            let params = json!({ "arguments": arguments });
            let message = json!({ "id": 9, "method": "tools/call", "params": params });
            message.to_string().into_bytes()
        };
        let id = RequestId::Number(9);
        let waiting = Waiting::default();
        assert!(waiting.shorten(&call(&"x".repeat(LARGE))).is_some());
        waiting.forget_earlier(&call("small"));
        assert!(waiting.take(&id).is_empty());
        waiting.shorten(&call(&"x".repeat(LARGE)));
        waiting.shorten(&call(&"y".repeat(LARGE)));
        assert!(waiting.take(&id).iter().eq(["y".repeat(LARGE)]));
        assert!(waiting.take(&id).is_empty());
    }
}
