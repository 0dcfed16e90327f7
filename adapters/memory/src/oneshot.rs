//! The answer to a caller that waits, on whatever executor it runs: made once, by the store's writer.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;
use petstore_ports::StoreError;

/// A promise of an answer, and the answer to wait for. Either may be dropped: an answer that nobody waits for is let
/// go, and a promise that is broken is answered as unknown.
pub(crate) fn promise<T>() -> (Sender<T>, Receiver<T>) {
    let state = Arc::new(Mutex::new(State::Waiting(None)));
    (Sender(Arc::clone(&state)), Receiver(state))
}

enum State<T> {
    Waiting(Option<Waker>),
    Answered(Result<T, StoreError>),
    Taken,
}

/// Whoever holds this owes an answer.
pub(crate) struct Sender<T>(Arc<Mutex<State<T>>>);

impl<T> Sender<T> {
    /// Answers, and wakes who waits.
    pub(crate) fn keep(self, answer: Result<T, StoreError>) {
        self.settle(answer);
    }

    fn settle(&self, answer: Result<T, StoreError>) {
        let before = std::mem::replace(&mut *self.0.lock(), State::Answered(answer));
        // The lock is free again: a waker is foreign code.
        if let State::Waiting(Some(waker)) = before {
            waker.wake();
        }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let is_broken = matches!(*self.0.lock(), State::Waiting(_));
        if is_broken {
            self.settle(Err(StoreError::indeterminate("the writer went away")));
        }
    }
}

/// The answer, once it is there.
pub(crate) struct Receiver<T>(Arc<Mutex<State<T>>>);

impl<T> Future for Receiver<T> {
    type Output = Result<T, StoreError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.0.lock();
        match std::mem::replace(&mut *state, State::Taken) {
            State::Answered(answer) => Poll::Ready(answer),
            State::Waiting(_) => {
                *state = State::Waiting(Some(context.waker().clone()));
                Poll::Pending
            }
            State::Taken => panic!("an answer is polled until it is there"),
        }
    }
}

#[cfg(test)]
mod tests {
    use petstore_ports::StoreErrorKind;

    use super::*;

    fn poll<T>(answer: &mut Receiver<T>) -> Poll<Result<T, StoreError>> {
        Pin::new(answer).poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn an_answer_is_there_once_the_promise_is_kept() {
        let (promise, mut answer) = promise();
        assert_eq!(poll(&mut answer), Poll::Pending);
        assert_eq!(poll(&mut answer), Poll::Pending);
        promise.keep(Ok(7));
        assert_eq!(poll(&mut answer), Poll::Ready(Ok(7)));
    }

    #[test]
    fn a_promise_that_is_dropped_leaves_the_outcome_unknown() {
        let (promise, mut answer) = promise::<()>();
        drop(promise);
        assert!(
            matches!(poll(&mut answer), Poll::Ready(Err(error)) if error.kind() == StoreErrorKind::Indeterminate)
        );
    }

    #[test]
    fn an_answer_that_nobody_waits_for_is_let_go() {
        let (promise, answer) = promise();
        drop(answer);
        promise.keep(Ok(()));
    }
}
