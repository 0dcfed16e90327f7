//! Overload: how long requests wait for their turn on this thread, and how many are refused when that is too long.
//!
//! A request waits in its socket until its connection's turn comes. That time cannot be read off the socket, but a task
//! of this thread that has nothing to do waits in the same line, for as long as a request does. When the line has been too
//! long for a while, some requests are refused, before anything else is done for them. A refusal has its price too: for
//! a cheap request, nearly what an answer costs. So the share of the refused is raised only as long as what is served
//! does not fall much below what the thread can do; what is then neither served nor refused in time waits in its socket,
//! one request for each connection.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use crate::io::activity::Activity;

mod controller;
mod fair_share;

use controller::{CONCURRENCY_MIN, Controller, Sample};
use fair_share::FairShares;

/// How often the line is measured, while there are requests.
const TICK: Duration = Duration::from_millis(20);

/// How many requests are judged by at least, unless they take so long that it must be by fewer.
const SAMPLE_REQUESTS_MIN: u32 = 50;
const SAMPLE_TIME_MAX: Duration = Duration::from_millis(100);

/// What one thread knows of its load.
pub(crate) struct LoadShedder {
    /// Requests since the last tick, and those of them that were refused.
    asked: Cell<u32>,
    refused: Cell<u32>,
    /// Turns of connections: several requests that come at once on one of them are one.
    turns: Cell<u32>,
    latest: Cell<*const Activity>,
    /// HTTP/1.1 connections and HTTP/2 streams that are open.
    open: Rc<Cell<u32>>,
    /// Whether a request is to be looked at: some are refused, or the measuring sleeps.
    inspects: Cell<bool>,
    probe: QueueProbe,
    asleep: Cell<bool>,
    awake: Notify,
    controller: RefCell<Controller>,
    fair_shares: RefCell<FairShares>,
}

/// The time in which a connection or a stream is open.
#[derive(Debug)]
pub(crate) struct OpenGuard(Rc<Cell<u32>>);

impl Drop for OpenGuard {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// What stands in the line.
#[derive(Default)]
struct QueueProbe {
    /// Calls it into the line.
    start: Notify,
    /// Since when it stands there, and how many had had their turn by then.
    since: Cell<Option<(Instant, u32)>>,
    /// How long it stood there last, and how many were before it.
    last: Cell<(Duration, u32)>,
}

impl LoadShedder {
    /// Requests are refused when they have waited for longer than this for a while.
    pub(crate) fn new(wait_max: Duration) -> Self {
        Self {
            asked: Cell::new(0),
            turns: Cell::new(0),
            latest: Cell::new(std::ptr::null()),
            open: Rc::default(),
            refused: Cell::new(0),
            inspects: Cell::new(false),
            probe: QueueProbe::default(),
            asleep: Cell::new(false),
            awake: Notify::new(),
            controller: RefCell::new(Controller::new(wait_max)),
            fair_shares: RefCell::default(),
        }
    }

    /// Counts an HTTP/1.1 connection, or an HTTP/2 stream, until what is returned is dropped.
    pub(crate) fn opened(&self) -> OpenGuard {
        self.open.set(self.open.get() + 1);
        OpenGuard(Rc::clone(&self.open))
    }

    /// Whether a request is served. Who asks is a number that is mostly another one for another account, and that nobody
    /// can choose anew for each request.
    pub(crate) fn admits(&self, connection: &Activity, caller: impl FnOnce() -> u64) -> bool {
        if !std::ptr::eq(self.latest.replace(connection), connection) {
            self.turns.set(self.turns.get().wrapping_add(1));
        }
        self.asked.set(self.asked.get().wrapping_add(1));
        !self.inspects.get() || self.judge(caller())
    }

    #[cold]
    fn judge(&self, caller: u64) -> bool {
        if self.asleep.replace(false) {
            self.inspects.set(false);
            self.awake.notify_one();
            return true;
        }
        // Also between two ticks: connections may have been closed since the last one.
        if self.open.get() <= CONCURRENCY_MIN {
            return true;
        }
        let is_served = self.fair_shares.borrow_mut().admit(caller);
        self.refused.set(self.refused.get() + u32::from(!is_served));
        is_served
    }

    /// Stands in the line of this thread's connections, for ever: to be spawned once, as one task among theirs.
    pub(crate) async fn run_probe(&self) {
        loop {
            self.probe.start.notified().await;
            if let Some((since, turns)) = self.probe.since.take() {
                self.probe.last.set((since.elapsed(), self.turns.get().wrapping_sub(turns)));
            }
        }
    }

    /// Measures, for ever. Not in the line itself, but where it has its turn however long that is.
    pub(crate) async fn run_controller(&self) -> Infallible {
        let mut begun = Instant::now();
        loop {
            sleep(TICK).await;
            let now = Instant::now();
            // Who still stands there has waited for so long already.
            let stands = |(since, turns)| (now - since, self.turns.get().wrapping_sub(turns));
            let (waited, queued) = self.probe.since.get().map_or(self.probe.last.get(), stands);
            if self.probe.since.get().is_none() {
                self.probe.since.set(Some((now, self.turns.get())));
                self.probe.start.notify_one();
            }
            let elapsed = now - begun;
            if self.asked.get() < SAMPLE_REQUESTS_MIN && elapsed < SAMPLE_TIME_MAX {
                continue;
            }
            begun = now;
            let sample = Sample {
                waited,
                queued,
                open: self.open.get(),
                asked: self.asked.replace(0),
                refused: self.refused.replace(0),
                elapsed,
            };
            let part = self.controller.borrow_mut().judge(&sample);
            if part.is_none() && self.inspects.get() {
                // An overload has ended: the next one begins with nobody's share of this one.
                self.fair_shares.take();
            }
            self.inspects.set(part.is_some());
            match part {
                Some(part) => self.fair_shares.borrow_mut().divide(part),
                // Nobody asks: whoever comes first wakes this.
                None if sample.asked == 0 => {
                    self.asleep.set(true);
                    self.inspects.set(true);
                    self.awake.notified().await;
                    begun = Instant::now();
                }
                None => {}
            }
        }
    }
}
