//! A one-shot channel for the result of a request. It works on any executor: the store's writer sends, the caller
//! awaits.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;
use petstore_ports::StoreError;

/// Creates a channel. If the receiver was dropped, a result is discarded. If the sender is dropped without sending, the
/// receiver gets the error that the outcome is unknown.
pub(crate) fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let state = Arc::new(Mutex::new(Handover::Waiting(None)));
    (Sender(Arc::clone(&state)), Receiver(state))
}

enum Handover<T> {
    Waiting(Option<Waker>),
    Sent(Result<T, StoreError>),
    Taken,
}

/// The sending end.
pub(crate) struct Sender<T>(Arc<Mutex<Handover<T>>>);

impl<T> Sender<T> {
    /// Sends the result and wakes the receiver.
    pub(crate) fn send(self, result: Result<T, StoreError>) {
        self.store(result);
    }

    fn store(&self, result: Result<T, StoreError>) {
        let before = std::mem::replace(&mut *self.0.lock(), Handover::Sent(result));
        // The waker is foreign code, so it runs after the lock was released.
        if let Handover::Waiting(Some(waker)) = before {
            waker.wake();
        }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let is_unsent = matches!(*self.0.lock(), Handover::Waiting(_));
        if is_unsent {
            self.store(Err(StoreError::indeterminate("the writer went away")));
        }
    }
}

/// The receiving end: a future of the result.
pub(crate) struct Receiver<T>(Arc<Mutex<Handover<T>>>);

impl<T> Future for Receiver<T> {
    type Output = Result<T, StoreError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.0.lock();
        match std::mem::replace(&mut *state, Handover::Taken) {
            Handover::Sent(result) => Poll::Ready(result),
            Handover::Waiting(_) => {
                *state = Handover::Waiting(Some(context.waker().clone()));
                Poll::Pending
            }
            Handover::Taken => panic!("a receiver is not polled after it returned its result"),
        }
    }
}

#[cfg(test)]
mod tests {
    use petstore_ports::StoreErrorKind;

    use super::*;

    fn poll<T>(receiver: &mut Receiver<T>) -> Poll<Result<T, StoreError>> {
        Pin::new(receiver).poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn a_result_that_was_sent_is_received() {
        let (sender, mut receiver) = channel();
        assert_eq!(poll(&mut receiver), Poll::Pending);
        assert_eq!(poll(&mut receiver), Poll::Pending);
        sender.send(Ok(7));
        assert_eq!(poll(&mut receiver), Poll::Ready(Ok(7)));
    }

    #[test]
    fn a_sender_that_is_dropped_unsent_leaves_the_outcome_unknown() {
        let (sender, mut receiver) = channel::<()>();
        drop(sender);
        assert!(
            matches!(poll(&mut receiver), Poll::Ready(Err(error)) if error.kind() == StoreErrorKind::Indeterminate)
        );
    }

    #[test]
    fn a_result_without_a_receiver_is_discarded() {
        let (sender, receiver) = channel();
        drop(receiver);
        sender.send(Ok(()));
    }
}
