//! The body of a response: whole, or a stream that is produced while it is sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;

/// The maximum bytes of a chunk of a streaming body. A connection buffers at most one chunk besides hyper's buffer.
pub(crate) const CHUNK_MAX: usize = 16 * 1024;

/// The body of a response.
pub(crate) enum Body {
    /// All bytes are available.
    Whole(Bytes),
    /// The bytes are produced while the client reads them.
    #[cfg_attr(not(test), expect(dead_code, reason = "nothing streams yet: the event stream will"))]
    Stream(Box<StreamBody>),
}

/// The producer of a streaming body. It is polled only while the connection accepts bytes, so that no data queues up
/// for a client that does not read.
pub(crate) trait Source: 'static {
    /// Returns the next chunk of at most [`CHUNK_MAX`] bytes; `None` at the end. If `is_stopping` is set, the server
    /// stops: the source sends its last chunk and ends, or the stream is cut.
    fn poll_chunk(&mut self, context: &mut Context<'_>, is_stopping: bool) -> Poll<Option<Bytes>>;
}

/// A streaming body with its permit.
pub(crate) struct StreamBody {
    pub(crate) source: Box<dyn Source>,
    /// Held until the stream ends.
    #[expect(dead_code, reason = "held until it is dropped")]
    pub(crate) place: StreamPlace,
}

/// Counter of open streams, shared by the threads of a server.
#[derive(Clone, Default)]
pub(crate) struct StreamPlaces(Arc<AtomicUsize>);

/// The permit of one stream, released on drop.
pub(crate) struct StreamPlace(Arc<AtomicUsize>);

impl StreamPlaces {
    /// Returns a permit for one more stream; `None` while `max` are open.
    #[cfg_attr(not(test), expect(dead_code, reason = "nothing streams yet: the event stream will"))]
    pub(crate) fn take(&self, max: usize) -> Option<StreamPlace> {
        let taken =
            self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, |open| (open < max).then(|| open + 1));
        taken.is_ok().then(|| StreamPlace(Arc::clone(&self.0)))
    }

    /// The number of open streams.
    pub(crate) fn open(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for StreamPlace {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Body {
    /// An empty body.
    pub(crate) const EMPTY: Self = Self::Whole(Bytes::new());

    /// Returns the bytes of a whole body; `None` for a stream.
    pub(crate) const fn whole(&self) -> Option<&Bytes> {
        match self {
            Self::Whole(bytes) => Some(bytes),
            Self::Stream(_) => None,
        }
    }

    /// Returns the number of bytes of a whole body; 0 for a stream, whose length is unknown.
    pub(crate) fn len(&self) -> usize {
        self.whole().map_or(0, Bytes::len)
    }
}

impl<B: Into<Bytes>> From<B> for Body {
    fn from(bytes: B) -> Self {
        Self::Whole(bytes.into())
    }
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Whole(bytes) => write!(f, "Whole({} bytes)", bytes.len()),
            Self::Stream(_) => f.write_str("Stream"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_most_the_permitted_streams_are_open_at_a_time() {
        let places = StreamPlaces::default();
        let (one, two) = (places.take(2), places.take(2));
        assert!(one.is_some() && two.is_some() && places.take(2).is_none());
        drop(one);
        assert!(places.take(2).is_some());
    }
}
