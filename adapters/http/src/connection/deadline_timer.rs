//! The two events that wake a connection besides its socket: a deadline, and the server's stop.
//!
//! Neither event is polled on the hot path. A connection always runs in the same task, so a registered waker stays
//! valid. Each event is polled once to register the waker, and again only after the event has occurred.

use std::pin::Pin;
use std::sync::Arc;
use std::task::Context;

use tokio::time::{Instant, Sleep, sleep_until};

use crate::base::drain::Drain;

/// A timer that is often reset and seldom fires.
pub(crate) struct DeadlineTimer {
    sleep: Pin<Box<Sleep>>,
    is_armed: bool,
}

impl DeadlineTimer {
    pub(crate) fn at(deadline: Instant) -> Self {
        Self { sleep: Box::pin(sleep_until(deadline)), is_armed: false }
    }

    pub(crate) fn deadline(&self) -> Instant {
        self.sleep.deadline()
    }

    pub(crate) fn set(&mut self, deadline: Instant) {
        self.sleep.as_mut().reset(deadline);
        self.is_armed = false;
    }

    /// Returns `true` if the waker is registered and the timer has not fired yet.
    pub(crate) fn is_armed(&self) -> bool {
        self.is_armed && !self.sleep.is_elapsed()
    }

    /// Returns `true` if the deadline has passed. Otherwise the task is woken when the deadline passes.
    pub(crate) fn has_fired(&mut self, context: &mut Context<'_>) -> bool {
        if self.is_armed() {
            return false;
        }
        self.is_armed = self.sleep.as_mut().poll(context).is_pending();
        !self.is_armed
    }
}

/// The stop of the server, as an event that one connection waits for.
pub(crate) struct StopSignal {
    drain: Arc<Drain>,
    begun: Pin<Box<dyn Future<Output = ()>>>,
    is_armed: bool,
}

impl StopSignal {
    pub(crate) fn new(drain: &Arc<Drain>) -> Self {
        let waiting = Arc::clone(drain);
        let begun = async move { waiting.begun().await };
        Self { drain: Arc::clone(drain), begun: Box::pin(begun), is_armed: false }
    }

    /// Returns `true` if the server is stopping. Otherwise the task is woken when the server begins to stop.
    pub(crate) fn is_stopping(&mut self, context: &mut Context<'_>) -> bool {
        if self.is_armed && !self.drain.has_begun() {
            return false;
        }
        self.is_armed = self.begun.as_mut().poll(context).is_pending();
        !self.is_armed
    }

    /// The instant at which the server began to stop.
    pub(crate) fn since(&self) -> Option<Instant> {
        self.drain.since()
    }
}
