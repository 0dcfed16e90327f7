//! The open connections of one thread. Their number is bounded, and idle ones are evicted when the bound is reached.
//!
//! Without eviction, a client that opens connections and stays silent would lock out all others until the idle
//! deadline. Eviction uses the clock algorithm of page replacement, for which the hot path records nothing. A hand, an
//! index into the connections, moves from one connection to the next. If the activity of a connection has not changed
//! since the hand last passed the connection, it has been idle for at least that time.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::counts::counters::ThreadCounters;
use crate::io::activity::{Activity, Phase};

/// Maximum number of connections that one eviction inspects. It bounds the time for which an eviction blocks the
/// thread.
const SCAN_MAX: usize = 256;

/// The connections of one thread.
pub(crate) struct Connections {
    max: usize,
    slots: RefCell<Vec<Option<OpenConnection>>>,
    free: RefCell<Vec<usize>>,
    hand: Cell<usize>,
    closed: Notify,
    counters: Arc<ThreadCounters>,
}

/// An open connection, and its activity when the hand last passed it.
struct OpenConnection {
    activity: Rc<Activity>,
    task: AbortHandle,
    seen: Option<(ActivityMark, Instant)>,
}

/// A value that changes with every request on a connection. It does not change with written bytes, because an idle
/// HTTP/2 connection also writes answers to pings.
type ActivityMark = (Phase, u64);

/// The slot of one connection. Dropping this value releases the slot.
pub(crate) struct ConnectionSlot {
    connections: Rc<Connections>,
    number: usize,
}

impl Connections {
    pub(crate) fn new(max: usize, counters: Arc<ThreadCounters>) -> Rc<Self> {
        Rc::new(Self {
            max,
            slots: RefCell::default(),
            free: RefCell::default(),
            hand: Cell::new(0),
            closed: Notify::new(),
            counters,
        })
    }

    /// The number of open connections.
    pub(crate) fn open(&self) -> usize {
        self.slots.borrow().len() - self.free.borrow().len()
    }

    /// The number of connections whose client waits for an answer or for the rest of an answer. Connections on which
    /// nothing, or only a part of a head, has arrived are not counted.
    pub(crate) fn unanswered(&self) -> usize {
        let is_owed = |connection: &&OpenConnection| {
            connection.activity.phase().0.is_owed() || connection.activity.stall().0
        };
        self.slots.borrow().iter().flatten().filter(is_owed).count()
    }

    pub(crate) fn are_full(&self) -> bool {
        self.open() >= self.max
    }

    /// Waits until a connection is closed.
    pub(crate) async fn closed(&self) {
        self.closed.notified().await;
    }

    /// Reserves a slot.
    pub(crate) fn reserve(self: &Rc<Self>) -> ConnectionSlot {
        let number = self.free.borrow_mut().pop().unwrap_or_else(|| {
            let mut slots = self.slots.borrow_mut();
            slots.push(None);
            slots.len() - 1
        });
        self.counters.connected();
        ConnectionSlot { connections: Rc::clone(self), number }
    }

    /// Records the task that serves the connection of a slot.
    pub(crate) fn register(&self, number: usize, activity: Rc<Activity>, task: AbortHandle) {
        self.slots.borrow_mut()[number] = Some(OpenConnection { activity, task, seen: None });
    }

    /// Moves the hand until it finds a connection that has been idle for this long, and closes this connection. The
    /// hand passes at most [`SCAN_MAX`] connections. If none of them has been idle for so long, none is closed.
    pub(crate) fn evict_idle(&self, idle: Duration) {
        let now = Instant::now();
        let mut slots = self.slots.borrow_mut();
        for _ in 0..slots.len().min(SCAN_MAX) {
            let hand = self.hand.get() % slots.len();
            self.hand.set(hand + 1);
            let Some(connection) = &mut slots[hand] else { continue };
            let mark = connection.activity.phase();
            // A client that waits for an answer, or is still reading one, is not idle: other deadlines apply to it.
            if mark.0.is_owed() || connection.activity.stall().0 {
                connection.seen = None;
                continue;
            }
            match connection.seen {
                Some((seen, since)) if seen == mark => {
                    if now.duration_since(since) >= idle {
                        connection.task.abort();
                        // The slot itself is released when the task ends.
                        slots[hand] = None;
                        return;
                    }
                }
                _ => connection.seen = Some((mark, now)),
            }
        }
    }
}

impl ConnectionSlot {
    pub(crate) fn number(&self) -> usize {
        self.number
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.connections.counters.disconnected();
        self.connections.slots.borrow_mut()[self.number] = None;
        self.connections.free.borrow_mut().push(self.number);
        self.connections.closed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use tokio::task::{LocalSet, spawn_local};

    use super::*;

    #[tokio::test]
    async fn a_connection_with_pings_alone_is_evicted_and_one_with_requests_is_not() {
        LocalSet::new()
            .run_until(async {
                let connections = Connections::new(2, Arc::default());
                let slots = [(); 2].map(|()| connections.reserve());
                let [pings, asks] = slots.each_ref().map(|slot| {
                    let activity = Rc::new(Activity::new());
                    let task = spawn_local(std::future::pending::<()>()).abort_handle();
                    connections.register(slot.number(), Rc::clone(&activity), task);
                    activity
                });
                // The first call records the activity. Each of the next two calls could evict a connection.
                for _ in 0..3 {
                    pings.wrote(&Poll::Ready(Ok(())));
                    drop(asks.answering());
                    asks.wrote(&Poll::Ready(Ok(())));
                    connections.evict_idle(Duration::ZERO);
                }
                let stay = slots.each_ref().map(|slot| connections.slots.borrow()[slot.number()].is_some());
                assert_eq!(stay, [false, true]);
            })
            .await;
    }
}
