//! Standard input, of which one learns when it ends.
//!
//! A client that has closed it has gone. The MCP library then still gives calls five seconds to
//! be answered; but what the user would decide meanwhile would reach nobody, so the reviews must
//! end at once.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::watch;

/// A reader that tells when there is nothing more to read.
pub struct Input<R> {
    inner: R,
    is_over: watch::Sender<bool>,
}

impl<R> Input<R> {
    /// Returns a reader of what `inner` reads, and a value that becomes true at its end.
    pub fn new(inner: R) -> (Self, watch::Receiver<bool>) {
        let (is_over, receiver) = watch::channel(false);
        (Self { inner, is_over }, receiver)
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Input<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let n_before = buffer.filled().len();
        let result = Pin::new(&mut self.inner).poll_read(context, buffer);
        if let Poll::Ready(read) = &result
            && (read.is_err() || buffer.filled().len() == n_before)
        {
            self.is_over.send_replace(true);
        }
        result
    }
}
