//! Standard input: reports when it ends, repairs messages, and takes large texts out of them.
//!
//! A client that has closed it is gone. The MCP library then still waits five seconds for calls to
//! be answered, but a decision made meanwhile would reach nobody. So the reviews must end at once.

use std::borrow::Cow;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::{io, mem};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::watch;

use crate::socket::{MIN_LARGE_LEN, TextStore};

use super::MAX_MESSAGE_LEN;

/// Number of bytes that are read at once: as many as a pipe usually holds.
const CHUNK_LEN: usize = 1 << 16;

/// A reader of messages, without their large texts, that reports when there is nothing more to
/// read.
pub struct Input<R> {
    inner: R,
    is_at_end: watch::Sender<bool>,
    /// Where large texts are kept.
    store: Arc<TextStore>,
    /// The beginning of a message that has not been read to its end.
    message: Vec<u8>,
    /// Bytes for the library, which has read the first `n_read` of them.
    ready: Vec<u8>,
    n_read: usize,
}

impl<R> Input<R> {
    /// Returns a reader that wraps `inner`, and a value that becomes true when `inner` ends or
    /// fails. Large texts go into `store`.
    pub fn new(inner: R, store: Arc<TextStore>) -> (Self, watch::Receiver<bool>) {
        let (is_at_end, receiver) = watch::channel(false);
        let input = Self {
            inner,
            is_at_end,
            store,
            message: Vec::new(),
            ready: Vec::new(),
            n_read: 0,
        };
        (input, receiver)
    }

    /// Appends `bytes` to the message being read, and makes those messages ready for the library
    /// that are now complete.
    fn push(&mut self, bytes: &[u8]) {
        self.ready.clear();
        self.n_read = 0;
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.message.extend_from_slice(part);
            // The library drops a message that is too long, so it need not get all of it.
            if part.ends_with(b"\n") || self.message.len() > MAX_MESSAGE_LEN {
                let message = mem::take(&mut self.message);
                self.ready.extend(self.legible(message));
            }
        }
    }

    /// Returns `message` as the library is to read it, having put its large texts into the store, or
    /// what is wrong with them. The library would never answer a message that is not JSON, and the
    /// client would wait for ever.
    fn legible(&self, message: Vec<u8>) -> Vec<u8> {
        if let Some((repaired, flaw)) = repaired(&message) {
            self.store.put_flaw(&repaired, flaw);
            return repaired;
        }
        if message.len() < MIN_LARGE_LEN {
            self.store.forget_earlier(&message);
            return message;
        }
        self.store.shorten(&message).unwrap_or(message)
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Input<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        while this.n_read == this.ready.len() {
            let mut bytes = [0; CHUNK_LEN];
            let mut chunk = ReadBuf::new(&mut bytes);
            let result = ready!(Pin::new(&mut this.inner).poll_read(context, &mut chunk));
            if result.is_err() || chunk.filled().is_empty() {
                this.is_at_end.send_replace(true);
                return Poll::Ready(result);
            }
            this.push(chunk.filled());
        }
        let n = buffer.remaining().min(this.ready.len() - this.n_read);
        buffer.put_slice(&this.ready[this.n_read..this.n_read + n]);
        this.n_read += n;
        Poll::Ready(Ok(()))
    }
}

// Messages that are not JSON because of their texts, though everything else can be read.
//
// JavaScript writes half of a surrogate pair, which an agent's text may end with, as an escape like
// `\\ud83d`. That is no character, so there is no such text in Rust. RFC 8259, section 8.2, leaves
// open what a reader makes of it.

/// What is wrong with a call that is not UTF-8.
const NOT_UTF_8: &str = "Error: the call is not UTF-8, so nothing was changed. Send it in UTF-8.";

/// What is wrong with a call that has half of a surrogate pair.
const HALF_A_PAIR: &str = "Error: the call has half of a surrogate pair, such as \\ud83d without \
    the other half, so nothing was changed. Send the whole character.";

/// The escape of U+FFFD, which has the length of the escapes that it replaces.
const REPLACEMENT: &str = "\\ufffd";

/// Returns `message` with U+FFFD in place of what is no character, and what was wrong, in words for
/// the agent; or none if nothing is.
pub fn repaired(message: &[u8]) -> Option<(Vec<u8>, &'static str)> {
    match String::from_utf8_lossy(message) {
        Cow::Borrowed(text) => Some((without_halves(text)?.into_bytes(), HALF_A_PAIR)),
        Cow::Owned(text) => {
            let text = without_halves(&text).unwrap_or(text);
            Some((text.into_bytes(), NOT_UTF_8))
        }
    }
}

/// Returns `json` with U+FFFD in place of each half of a surrogate pair, or none if it has none.
pub fn without_halves(json: &str) -> Option<String> {
    if !json.contains("\\ud") && !json.contains("\\uD") {
        return None;
    }
    let mut repaired = String::new();
    let (mut done, mut at) = (0, 0);
    while let Some(n) = json[at..].find('\\') {
        at += n;
        let half = unit(json, at);
        if half.is_some_and(is_first) && unit(json, at + REPLACEMENT.len()).is_some_and(is_second) {
            at += 2 * REPLACEMENT.len();
        } else if half.is_some_and(|unit| is_first(unit) || is_second(unit)) {
            repaired.push_str(&json[done..at]);
            repaired.push_str(REPLACEMENT);
            at += REPLACEMENT.len();
            done = at;
        } else {
            // A backslash and what it escapes, of which no more than one byte is skipped.
            at += 1 + usize::from(json.as_bytes().get(at + 1).is_some_and(u8::is_ascii));
        }
    }
    if done == 0 {
        return None;
    }
    repaired.push_str(&json[done..]);
    Some(repaired)
}

/// Returns the UTF-16 code unit whose escape, like `\\u00e9`, is at `at` in `json`, if there is one.
fn unit(json: &str, at: usize) -> Option<u16> {
    let escape = json.get(at..at + REPLACEMENT.len())?;
    u16::from_str_radix(escape.strip_prefix("\\u")?, 16).ok()
}

/// Whether `unit` is the first half of a surrogate pair.
fn is_first(unit: u16) -> bool {
    (0xd800..0xdc00).contains(&unit)
}

/// Whether `unit` is the second half of a surrogate pair.
fn is_second(unit: u16) -> bool {
    (0xdc00..0xe000).contains(&unit)
}

#[cfg(test)]
mod repair_tests {
    use super::*;

    #[test]
    fn only_halves_of_pairs_are_replaced() {
        for (json, expected) in [
            (r#""a""#, None),
            (r#""\\ud83d""#, None),
            (r#""\ud83d\ude00""#, None),
            (r#""\uD83D\uDE00 \u00e9 \n""#, None),
            (r#""\ud83d""#, Some(r#""\ufffd""#)),
            (r#""\\\ud83d""#, Some(r#""\\\ufffd""#)),
            (r#""\ude00 é""#, Some(r#""\ufffd é""#)),
            (r#""\ud83d\ud83d\ude00""#, Some(r#""\ufffd\ud83d\ude00""#)),
            (r#""\ude00\ud83d""#, Some(r#""\ufffd\ufffd""#)),
            (r#""\ud83d\n\ude00""#, Some(r#""\ufffd\n\ufffd""#)),
            // Neither is JSON, but neither may do harm.
            (r#""\ud83"#, None),
            (r#""\ud83d\é\"#, Some(r#""\ufffd\é\"#)),
        ] {
            let found = repaired(json.as_bytes());
            let expected = expected.map(|json: &str| (json.as_bytes().to_vec(), HALF_A_PAIR));
            assert_eq!(found, expected, "{json}");
        }
    }

    #[test]
    fn bytes_that_are_not_utf_8_are_replaced_as_well() {
        let found = repaired(b"\"\xff \\ud83d\"");
        let expected = "\"\u{fffd} \\ufffd\"".as_bytes().to_vec();
        assert_eq!(found, Some((expected, NOT_UTF_8)));
    }
}
