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
pub(crate) struct Alarm {
    sleep: Pin<Box<Sleep>>,
    waits: bool,
}

impl Alarm {
    pub(crate) fn at(deadline: Instant) -> Self {
        Self { sleep: Box::pin(sleep_until(deadline)), waits: false }
    }

    pub(crate) fn deadline(&self) -> Instant {
        self.sleep.deadline()
    }

    pub(crate) fn set(&mut self, deadline: Instant) {
        self.sleep.as_mut().reset(deadline);
        self.waits = false;
    }

    /// Whether it has been set and has not rung yet.
    pub(crate) fn waits(&self) -> bool {
        self.waits && !self.sleep.is_elapsed()
    }

    /// Whether its time has come. If not, the task is woken when it has.
    pub(crate) fn rings(&mut self, context: &mut Context<'_>) -> bool {
        if self.waits() {
            return false;
        }
        self.waits = self.sleep.as_mut().poll(context).is_pending();
        !self.waits
    }
}

/// The server's wish to stop, as one connection waits for it.
pub(crate) struct StopWish {
    drain: Arc<Drain>,
    wish: Pin<Box<dyn Future<Output = ()>>>,
    waits: bool,
}

impl StopWish {
    pub(crate) fn new(drain: &Arc<Drain>) -> Self {
        let waiting = Arc::clone(drain);
        let wish = async move { waiting.wished().await };
        Self { drain: Arc::clone(drain), wish: Box::pin(wish), waits: false }
    }

    /// Whether the server wishes to stop. If not, the task is woken when it does.
    pub(crate) fn is_there(&mut self, context: &mut Context<'_>) -> bool {
        if self.waits && !self.drain.is_wished() {
            return false;
        }
        self.waits = self.wish.as_mut().poll(context).is_pending();
        !self.waits
    }

    /// Since when the time of the end runs, if it does.
    pub(crate) fn since(&self) -> Option<Instant> {
        self.drain.since()
    }
}
