//! A streaming response that its connection may send without hyper.

use std::cell::RefCell;
use std::fmt;
use std::io;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll};

use bytes::Bytes;

/// The chunks of a streaming response.
pub(crate) trait ChunkStream {
    /// Returns the next chunk; `None` at the end. After an error the connection is closed without the end of the response.
    fn poll_next_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>>;
}

/// A response in HTTP/1.1's chunked coding. hyper has written its head.
pub(crate) struct OfferedStream {
    /// The chunks. The reference is weak, because hyper owns the body of the response until the connection takes over
    /// the stream.
    pub(crate) chunks: Weak<RefCell<dyn ChunkStream>>,
    /// `true` if the connection ends with the response.
    pub(crate) closes: bool,
}

/// A streaming response that the connection has taken over.
pub(crate) struct TakenStream {
    pub(crate) chunks: Rc<RefCell<dyn ChunkStream>>,
    pub(crate) closes: bool,
}

impl OfferedStream {
    /// Takes over the response; `None` if hyper has dropped its body.
    pub(crate) fn take(self) -> Option<TakenStream> {
        self.chunks.upgrade().map(|chunks| TakenStream { chunks, closes: self.closes })
    }
}

impl fmt::Debug for OfferedStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OfferedStream").field("closes", &self.closes).finish_non_exhaustive()
    }
}
