//! The connection between the task that writes a stream and the body that hyper polls.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;

use crate::response::body::{CHUNK_MAX, Source};

/// The writer's end of a stream. It holds one chunk at a time. It accepts the next chunk when the connection has room
/// for it.
pub(crate) struct Outlet(Rc<Slot>);

#[derive(Default)]
struct Slot {
    chunk: RefCell<Option<Bytes>>,
    is_stopping: Cell<bool>,
}

impl Outlet {
    /// Passes a chunk to the body, and returns once the connection accepts another one.
    pub(crate) async fn send(&self, chunk: Bytes) {
        *self.0.chunk.borrow_mut() = Some(chunk);
        // This future is polled again only by the body, and the body takes the chunk before it polls again.
        poll_fn(|_| if self.0.chunk.borrow().is_none() { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    /// Passes bytes of any length to the body, in chunks.
    pub(crate) async fn send_all(&self, mut bytes: Bytes) {
        while !bytes.is_empty() {
            self.send(bytes.split_to(bytes.len().min(CHUNK_MAX))).await;
        }
    }

    /// Returns `true` if the server is stopping.
    pub(crate) fn is_stopping(&self) -> bool {
        self.0.is_stopping.get()
    }

    /// Waits until the server is stopping.
    pub(crate) async fn stop(&self) {
        // No waker is needed, because the body, which polls this future, is polled when the server begins to stop.
        poll_fn(|_| if self.is_stopping() { Poll::Ready(()) } else { Poll::Pending }).await;
    }
}

/// The reader's end of a stream: a source whose chunks are written by a future.
pub(crate) struct WrittenSource {
    slot: Rc<Slot>,
    /// The writer; `None` once it has ended.
    writer: Option<Pin<Box<dyn Future<Output = ()>>>>,
}

impl WrittenSource {
    /// Creates a source from the future that writes to its outlet.
    pub(crate) fn new<F: Future<Output = ()> + 'static>(write: impl FnOnce(Outlet) -> F) -> Self {
        let slot = Rc::<Slot>::default();
        let writer = write(Outlet(Rc::clone(&slot)));
        Self { slot, writer: Some(Box::pin(writer)) }
    }
}

impl Source for WrittenSource {
    fn poll_chunk(&mut self, context: &mut Context<'_>, is_stopping: bool) -> Poll<Option<Bytes>> {
        self.slot.is_stopping.set(is_stopping);
        if let Some(writer) = &mut self.writer
            && writer.as_mut().poll(context).is_ready()
        {
            self.writer = None;
        }
        match self.slot.chunk.borrow_mut().take() {
            Some(chunk) => Poll::Ready(Some(chunk)),
            None if self.writer.is_none() => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    #[test]
    fn a_chunk_is_written_only_when_the_one_before_it_has_been_taken() {
        let written = Rc::new(Cell::new(0));
        let count = Rc::clone(&written);
        let mut source = WrittenSource::new(async move |outlet: Outlet| {
            for number in 1..=2 {
                count.set(number);
                outlet.send(Bytes::from(number.to_string())).await;
            }
            outlet.stop().await;
            outlet.send(Bytes::from_static(b"bye")).await;
        });
        let mut context = Context::from_waker(Waker::noop());
        let mut next = |is_stopping| source.poll_chunk(&mut context, is_stopping);
        assert_eq!(next(false), Poll::Ready(Some(Bytes::from_static(b"1"))));
        assert_eq!(written.get(), 1);
        assert_eq!(next(false), Poll::Ready(Some(Bytes::from_static(b"2"))));
        assert_eq!(next(false), Poll::Pending);
        assert_eq!(next(true), Poll::Ready(Some(Bytes::from_static(b"bye"))));
        assert_eq!(next(true), Poll::Ready(None));
        assert_eq!(next(true), Poll::Ready(None));
    }

    #[test]
    fn bytes_of_any_length_are_written_in_chunks() {
        let mut source = WrittenSource::new(async move |outlet: Outlet| {
            outlet.send_all(Bytes::from(vec![b'1'; CHUNK_MAX + 5])).await;
        });
        let mut context = Context::from_waker(Waker::noop());
        let mut next = || source.poll_chunk(&mut context, false);
        assert_eq!(next(), Poll::Ready(Some(Bytes::from(vec![b'1'; CHUNK_MAX]))));
        assert_eq!(next(), Poll::Ready(Some(Bytes::from_static(b"11111"))));
        assert_eq!(next(), Poll::Ready(None));
    }
}
