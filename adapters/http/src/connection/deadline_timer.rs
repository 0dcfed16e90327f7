//! What wakes a connection besides its socket, at no cost while it does not.
//!
//! Polling a timer or a channel costs some 80 instructions each. A connection always runs in one task, so a waker that
//! was left once stays good: these two are polled when they are set, and then only when they have something to say.

use std::pin::Pin;
use std::sync::Arc;
use std::task::Context;

use tokio::time::{Instant, Sleep, sleep_until};

use crate::base::drain::Drain;

/// A timer that is set anew often and rings seldom.
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

    /// Whether it has been set and has not rung yet.
    pub(crate) fn is_armed(&self) -> bool {
        self.is_armed && !self.sleep.is_elapsed()
    }

    /// Whether its time has come. If not, the task is woken when it has.
    pub(crate) fn has_fired(&mut self, context: &mut Context<'_>) -> bool {
        if self.is_armed() {
            return false;
        }
        self.is_armed = self.sleep.as_mut().poll(context).is_pending();
        !self.is_armed
    }
}

/// The server's wish to stop, as one connection waits for it.
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

    /// Whether the server wishes to stop. If not, the task is woken when it does.
    pub(crate) fn is_stopping(&mut self, context: &mut Context<'_>) -> bool {
        if self.is_armed && !self.drain.has_begun() {
            return false;
        }
        self.is_armed = self.begun.as_mut().poll(context).is_pending();
        !self.is_armed
    }

    /// Since when the time of the end runs, if it does.
    pub(crate) fn since(&self) -> Option<Instant> {
        self.drain.since()
    }
}
