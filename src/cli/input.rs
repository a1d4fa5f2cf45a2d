//! Standard input, of which one learns when it ends, and which keeps large texts back.
//!
//! A client that has closed it has gone. The MCP library then still gives calls five seconds to
//! be answered; but what the user would decide meanwhile would reach nobody, so the reviews must
//! end at once.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::watch;

use crate::MAX_MESSAGE_LEN;
use crate::texts::{LARGE, Waiting};

/// Number of bytes that are read at once: as many as a pipe usually holds.
const CHUNK_LEN: usize = 1 << 16;

/// A reader of messages without their large texts that tells when there is nothing more to read.
pub struct Input<R> {
    inner: R,
    is_over: watch::Sender<bool>,
    /// Where large texts are kept.
    waiting: Arc<Waiting>,
    /// What was read of a message that is not whole yet.
    message: Vec<u8>,
    /// What the library has yet to read, from `n_taken` on.
    ready: Vec<u8>,
    n_taken: usize,
}

impl<R> Input<R> {
    /// Returns a reader of what `inner` reads, and a value that becomes true at its end. Large
    /// texts are put among `waiting`.
    pub fn new(inner: R, waiting: Arc<Waiting>) -> (Self, watch::Receiver<bool>) {
        let (is_over, receiver) = watch::channel(false);
        let input = Self {
            inner,
            is_over,
            waiting,
            message: Vec::new(),
            ready: Vec::new(),
            n_taken: 0,
        };
        (input, receiver)
    }

    /// Makes ready what is whole when `bytes` were read.
    fn add(&mut self, bytes: &[u8]) {
        self.ready.clear();
        self.n_taken = 0;
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.message.extend_from_slice(part);
            // The library drops a message that is too long, and need not have it whole.
            if part.ends_with(b"\n") || self.message.len() > MAX_MESSAGE_LEN {
                let message = std::mem::take(&mut self.message);
                let short = match message.len() >= LARGE {
                    true => self.waiting.shorten(&message),
                    false => {
                        self.waiting.forget_earlier(&message);
                        None
                    }
                };
                self.ready.extend(short.unwrap_or(message));
            }
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Input<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        while this.n_taken == this.ready.len() {
            let mut room = [0; CHUNK_LEN];
            let mut chunk = ReadBuf::new(&mut room);
            let read = ready!(Pin::new(&mut this.inner).poll_read(context, &mut chunk));
            if read.is_err() || chunk.filled().is_empty() {
                this.is_over.send_replace(true);
                return Poll::Ready(read);
            }
            this.add(chunk.filled());
        }
        let n = buffer.remaining().min(this.ready.len() - this.n_taken);
        buffer.put_slice(&this.ready[this.n_taken..this.n_taken + n]);
        this.n_taken += n;
        Poll::Ready(Ok(()))
    }
}
