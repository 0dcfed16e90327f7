//! Load shedding: measures the queueing delay of a thread, and refuses a share of its requests when the delay is too
//! long.
//!
//! A request waits in its socket until the runtime polls its connection. That time cannot be read from the socket. So a
//! probe task waits in the same run queue, for as long as a request waits there. When the delay has been too long for a
//! while, some requests are refused before any other work is done for them. A refusal has a cost, too. For a cheap
//! request, the refusal costs nearly as much as the answer. So the refused share grows only while the goodput, the rate
//! of served requests, stays near the capacity of the thread. Requests that are neither served nor refused in time wait
//! in their sockets, one for each connection.

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

/// Interval between two measurements of the queueing delay, while there are requests.
const TICK: Duration = Duration::from_millis(20);

/// A sample is taken after this many requests, or after this time.
const SAMPLE_REQUESTS_MIN: u32 = 50;
const SAMPLE_TIME_MAX: Duration = Duration::from_millis(100);

/// The load shedder of one thread.
pub(crate) struct LoadShedder {
    /// The number of requests since the last sample, and the number of refused requests among them.
    requests: Cell<u32>,
    refused: Cell<u32>,
    /// The number of polls of connections with requests. Pipelined requests on one connection count as one poll.
    polls: Cell<u32>,
    latest: Cell<*const Activity>,
    /// Open HTTP/1.1 connections and HTTP/2 streams.
    open: Rc<Cell<u32>>,
    /// `true` while requests are inspected: some are refused, or the controller sleeps and must be woken.
    inspects: Cell<bool>,
    probe: QueueProbe,
    asleep: Cell<bool>,
    awake: Notify,
    controller: RefCell<Controller>,
    fair_shares: RefCell<FairShares>,
}

/// While this guard exists, a connection or a stream counts as open.
#[derive(Debug)]
pub(crate) struct OpenGuard(Rc<Cell<u32>>);

impl Drop for OpenGuard {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// The probe, which measures the delay of the run queue by waiting in it.
#[derive(Default)]
struct QueueProbe {
    /// Notified to put the probe into the queue.
    start: Notify,
    /// The instant at which the probe began to wait, and the number of polls at that instant; `None` while it does not
    /// wait.
    since: Cell<Option<(Instant, u32)>>,
    /// The last delay, and the number of polls during this delay.
    last: Cell<(Duration, u32)>,
}

impl LoadShedder {
    /// Creates a load shedder. It begins to refuse requests when their waiting time has been above `wait_max` for a
    /// while.
    pub(crate) fn new(wait_max: Duration) -> Self {
        Self {
            requests: Cell::new(0),
            polls: Cell::new(0),
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

    /// Counts an HTTP/1.1 connection or an HTTP/2 stream as open until the guard is dropped.
    pub(crate) fn opened(&self) -> OpenGuard {
        self.open.set(self.open.get() + 1);
        OpenGuard(Rc::clone(&self.open))
    }

    /// Decides whether a request is served. `caller` returns a number that identifies the caller. Two accounts rarely
    /// have the same number. A client cannot get another number by changing its requests.
    pub(crate) fn admits(&self, connection: &Activity, caller: impl FnOnce() -> u64) -> bool {
        if !std::ptr::eq(self.latest.replace(connection), connection) {
            self.polls.set(self.polls.get().wrapping_add(1));
        }
        self.requests.set(self.requests.get().wrapping_add(1));
        !self.inspects.get() || self.judge(caller())
    }

    #[cold]
    fn judge(&self, caller: u64) -> bool {
        if self.asleep.replace(false) {
            self.inspects.set(false);
            self.awake.notify_one();
            return true;
        }
        // Checked for each request, since connections may have closed since the last sample.
        if self.open.get() <= CONCURRENCY_MIN {
            return true;
        }
        let is_served = self.fair_shares.borrow_mut().admit(caller);
        self.refused.set(self.refused.get() + u32::from(!is_served));
        is_served
    }

    /// Runs the probe, forever. Spawn it once, as a task in the same run queue as the connections.
    pub(crate) async fn run_probe(&self) {
        loop {
            self.probe.start.notified().await;
            if let Some((since, polls)) = self.probe.since.take() {
                self.probe.last.set((since.elapsed(), self.polls.get().wrapping_sub(polls)));
            }
        }
    }

    /// Takes samples and adjusts the share of requests that is served, forever. It must run in the root task, which is
    /// polled regularly however long the run queue is.
    pub(crate) async fn run_controller(&self) -> Infallible {
        let mut begun = Instant::now();
        loop {
            sleep(TICK).await;
            let now = Instant::now();
            // If the probe still waits, the sample counts the time that it has waited so far.
            let so_far = |(since, polls)| (now - since, self.polls.get().wrapping_sub(polls));
            let (waited, queued) = self.probe.since.get().map_or(self.probe.last.get(), so_far);
            if self.probe.since.get().is_none() {
                self.probe.since.set(Some((now, self.polls.get())));
                self.probe.start.notify_one();
            }
            let elapsed = now - begun;
            if self.requests.get() < SAMPLE_REQUESTS_MIN && elapsed < SAMPLE_TIME_MAX {
                continue;
            }
            begun = now;
            let sample = Sample {
                waited,
                queued,
                open: self.open.get(),
                requests: self.requests.replace(0),
                refused: self.refused.replace(0),
                elapsed,
            };
            let part = self.controller.borrow_mut().judge(&sample);
            if part.is_none() && self.inspects.get() {
                // The overload has ended. The shares are reset, because they do not apply to the next overload.
                self.fair_shares.take();
            }
            self.inspects.set(part.is_some());
            match part {
                Some(part) => self.fair_shares.borrow_mut().divide(part),
                // No requests arrive. The next request wakes this task.
                None if sample.requests == 0 => {
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
