//! What wakes a connection besides its socket, at no cost while it does not.
//!
//! Polling a timer or a channel costs some 80 instructions each. A connection always runs in one task, so a waker that
//! was left once stays good: these two are polled when they are set, and then only when they have something to say.

use std::pin::Pin;
use std::task::Context;

use tokio::sync::watch;
use tokio::time::{Instant, Sleep, sleep_until};

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

/// The server's wish to stop.
pub(crate) struct StopWish {
    receiver: watch::Receiver<bool>,
    wish: Pin<Box<dyn Future<Output = ()>>>,
    waits: bool,
}

impl StopWish {
    pub(crate) fn new(receiver: watch::Receiver<bool>) -> Self {
        let mut waiting = receiver.clone();
        let wish = async move {
            // An error means that the server is gone, which is a wish to stop too.
            let _ = waiting.wait_for(|stop| *stop).await;
        };
        Self { receiver, wish: Box::pin(wish), waits: false }
    }

    /// Whether the server wishes to stop. If not, the task is woken when it does.
    pub(crate) fn is_there(&mut self, context: &mut Context<'_>) -> bool {
        if self.waits && !self.receiver.has_changed().unwrap_or(true) {
            return false;
        }
        self.waits = self.wish.as_mut().poll(context).is_pending();
        !self.waits
    }
}
