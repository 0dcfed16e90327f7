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

use controller::{Gauge, LINE_MIN, Tick};
use fair_share::Shares;

/// How often the line is measured, while there are requests.
const TICK: Duration = Duration::from_millis(20);

/// How many requests are judged by at least, unless they take so long that it must be by fewer.
const JUDGED_MIN: u32 = 50;
const JUDGED_TIME: Duration = Duration::from_millis(100);

/// What one thread knows of its load.
pub(crate) struct Load {
    /// Requests since the last tick, and those of them that were refused.
    asked: Cell<u32>,
    refused: Cell<u32>,
    /// Turns of connections: several requests that come at once on one of them are one.
    turns: Cell<u32>,
    latest: Cell<*const Activity>,
    /// HTTP/1.1 connections and HTTP/2 streams that are open.
    open: Rc<Cell<u32>>,
    /// Whether a request is to be looked at: some are refused, or the measuring sleeps.
    looks: Cell<bool>,
    line: Line,
    asleep: Cell<bool>,
    awake: Notify,
    gauge: RefCell<Gauge>,
    shares: RefCell<Shares>,
}

/// The time in which a connection or a stream is open.
#[derive(Debug)]
pub(crate) struct Open(Rc<Cell<u32>>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// What stands in the line.
#[derive(Default)]
struct Line {
    /// Calls it into the line.
    called: Notify,
    /// Since when it stands there, and how many had had their turn by then.
    since: Cell<Option<(Instant, u32)>>,
    /// How long it stood there last, and how many were before it.
    stood: Cell<(Duration, u32)>,
}

impl Load {
    /// Requests are refused when they have waited for longer than this for a while.
    pub(crate) fn new(wait_max: Duration) -> Self {
        Self {
            asked: Cell::new(0),
            turns: Cell::new(0),
            latest: Cell::new(std::ptr::null()),
            open: Rc::default(),
            refused: Cell::new(0),
            looks: Cell::new(false),
            line: Line::default(),
            asleep: Cell::new(false),
            awake: Notify::new(),
            gauge: RefCell::new(Gauge::new(wait_max)),
            shares: RefCell::default(),
        }
    }

    /// Counts an HTTP/1.1 connection, or an HTTP/2 stream, until what is returned is dropped.
    pub(crate) fn opened(&self) -> Open {
        self.open.set(self.open.get() + 1);
        Open(Rc::clone(&self.open))
    }

    /// Whether a request is served. Who asks is a number that is mostly another one for another account, and that nobody
    /// can choose anew for each request.
    pub(crate) fn admits(&self, connection: &Activity, who: impl FnOnce() -> u64) -> bool {
        if !std::ptr::eq(self.latest.replace(connection), connection) {
            self.turns.set(self.turns.get().wrapping_add(1));
        }
        self.asked.set(self.asked.get().wrapping_add(1));
        !self.looks.get() || self.judges(who())
    }

    #[cold]
    fn judges(&self, who: u64) -> bool {
        if self.asleep.replace(false) {
            self.looks.set(false);
            self.awake.notify_one();
            return true;
        }
        // Also between two ticks: connections may have been closed since the last one.
        if self.open.get() <= LINE_MIN {
            return true;
        }
        let is_served = self.shares.borrow_mut().admit(who);
        self.refused.set(self.refused.get() + u32::from(!is_served));
        is_served
    }

    /// Stands in the line of this thread's connections, for ever: to be spawned once, as one task among theirs.
    pub(crate) async fn stand_in_line(&self) {
        loop {
            self.line.called.notified().await;
            if let Some((since, turns)) = self.line.since.take() {
                self.line.stood.set((since.elapsed(), self.turns.get().wrapping_sub(turns)));
            }
        }
    }

    /// Measures, for ever. Not in the line itself, but where it has its turn however long that is.
    pub(crate) async fn watch(&self) -> Infallible {
        let mut begun = Instant::now();
        loop {
            sleep(TICK).await;
            let now = Instant::now();
            // Who still stands there has waited for so long already.
            let stands = |(since, turns)| (now - since, self.turns.get().wrapping_sub(turns));
            let (waited, line) = self.line.since.get().map_or(self.line.stood.get(), stands);
            if self.line.since.get().is_none() {
                self.line.since.set(Some((now, self.turns.get())));
                self.line.called.notify_one();
            }
            let elapsed = now - begun;
            if self.asked.get() < JUDGED_MIN && elapsed < JUDGED_TIME {
                continue;
            }
            begun = now;
            let tick = Tick {
                waited,
                line,
                open: self.open.get(),
                asked: self.asked.replace(0),
                refused: self.refused.replace(0),
                elapsed,
            };
            let part = self.gauge.borrow_mut().judge(&tick);
            if part.is_none() && self.looks.get() {
                // An overload has ended: the next one begins with nobody's share of this one.
                self.shares.take();
            }
            self.looks.set(part.is_some());
            match part {
                Some(part) => self.shares.borrow_mut().divide(part),
                // Nobody asks: whoever comes first wakes this.
                None if tick.asked == 0 => {
                    self.asleep.set(true);
                    self.looks.set(true);
                    self.awake.notified().await;
                    begun = Instant::now();
                }
                None => {}
            }
        }
    }
}
