//! Standard input: reports when it ends, repairs messages, and takes large texts out of them.
//!
//! A client that has closed it is gone. The MCP library then still waits five seconds for calls to
//! be answered, but a decision made meanwhile would reach nobody. So the reviews must end at once.

use std::io;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::watch;

use super::{MAX_MESSAGE_LEN, repair};
use crate::texts::{MIN_LARGE_LEN, TextStore};

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
        if let Some((repaired, flaw)) = repair::repaired(&message) {
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
