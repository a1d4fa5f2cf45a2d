//! Large texts of a call, and the file in which they are handed to Emacs.
//!
//! The MCP library parses a message several times and copies its strings each time. So large texts
//! are taken out of a call before the library sees it, and are kept here until it passes the call
//! on.
//!
//! Emacs takes longer to parse a large text as JSON than for everything else it does with it, so
//! large texts follow the request as plain UTF-8. Over a socket, each piece of them arrives as a
//! separate string that soon becomes garbage, so that Emacs collects garbage several times before
//! it has received everything. A file is read at once. It is next to the socket, in a folder that
//! only the user can access, and has a name that no other program uses.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rmcp::model::RequestId;
use serde_json::{Value, json};

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
