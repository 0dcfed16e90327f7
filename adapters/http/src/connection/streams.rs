//! Streaming answers over both protocols, in simulated time: deadlines, the server's stop, and bounds.

use std::cell::RefCell;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;

use crate::response::body::{Body, Source, StreamBody, StreamPlaces};

/// A source that sends what the test hands it, and whatever it is told to when the server stops.
#[derive(Clone, Default)]
pub(super) struct Script(Rc<RefCell<State>>);

#[derive(Default)]
struct State {
    chunks: Vec<Bytes>,
    is_over: bool,
    ends_at_stop: bool,
    task: Option<Waker>,
}

impl Script {
    /// A stream that ends with `bye` when the server stops.
    pub(super) fn polite() -> Self {
        let script = Self::default();
        script.0.borrow_mut().ends_at_stop = true;
        script
    }

    pub(super) fn send(&self, chunk: impl Into<Bytes>) {
        let mut state = self.0.borrow_mut();
        state.chunks.push(chunk.into());
        state.task.take().into_iter().for_each(Waker::wake);
    }

    pub(super) fn end(&self) {
        let mut state = self.0.borrow_mut();
        state.is_over = true;
        state.task.take().into_iter().for_each(Waker::wake);
    }

    pub(super) fn body(&self) -> Body {
        let place = StreamPlaces::default().take(1).unwrap();
        Body::Stream(Box::new(StreamBody { source: Box::new(self.clone()), place }))
    }
}

impl Source for Script {
    fn poll_chunk(&mut self, context: &mut Context<'_>, is_stopping: bool) -> Poll<Option<Bytes>> {
        let mut state = self.0.borrow_mut();
        if !state.chunks.is_empty() {
            return Poll::Ready(Some(state.chunks.remove(0)));
        }
        if state.is_over {
            return Poll::Ready(None);
        }
        if is_stopping && state.ends_at_stop {
            state.is_over = true;
            return Poll::Ready(Some(Bytes::from_static(b"bye")));
        }
        state.task = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Script {
    /// Chunks that were not asked for yet.
    pub(super) fn left(&self) -> usize {
        self.0.borrow().chunks.len()
    }
}
