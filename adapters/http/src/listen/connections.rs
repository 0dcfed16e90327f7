//! The connections of one thread: a bounded number, of which those that ask nothing make way when there are more.
//!
//! Without this whoever opens connections and is silent keeps everybody else out for as long as the deadline of idle
//! connections is. The hot path writes nothing down for it: a hand goes round, as in the clock algorithm of paging, and
//! a connection on which nothing has happened since it was last looked at has been idle for that long.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::counts::counters::ThreadCounters;
use crate::io::activity::{Activity, Phase};

/// Connections that are looked at in one go: what others wait for meanwhile is some microseconds.
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

/// A connection as it was when it was last looked at.
struct OpenConnection {
    activity: Rc<Activity>,
    task: AbortHandle,
    seen: Option<(ActivityMark, Instant)>,
}

/// What changes whenever anything is asked on a connection. What is written says nothing: whoever pings over HTTP/2 is
/// answered each time.
type ActivityMark = (Phase, u64);

/// One connection's place among those that may be open.
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

    /// How many are open.
    pub(crate) fn open(&self) -> usize {
        self.slots.borrow().len() - self.free.borrow().len()
    }

    /// How many are owed an answer, or some of one. Not so one that has sent half a head, or nothing.
    pub(crate) fn unanswered(&self) -> usize {
        let is_owed = |connection: &&OpenConnection| {
            connection.activity.phase().0.is_owed() || connection.activity.stall().0
        };
        self.slots.borrow().iter().flatten().filter(is_owed).count()
    }

    pub(crate) fn are_full(&self) -> bool {
        self.open() >= self.max
    }

    /// Waits until one is closed.
    pub(crate) async fn closed(&self) {
        self.closed.notified().await;
    }

    /// Takes a place, which is given back when it is dropped.
    pub(crate) fn reserve(self: &Rc<Self>) -> ConnectionSlot {
        let number = self.free.borrow_mut().pop().unwrap_or_else(|| {
            let mut slots = self.slots.borrow_mut();
            slots.push(None);
            slots.len() - 1
        });
        self.counters.connected();
        ConnectionSlot { connections: Rc::clone(self), number }
    }

    /// The connection at a place is served by this task.
    pub(crate) fn register(&self, number: usize, activity: Rc<Activity>, task: AbortHandle) {
        self.slots.borrow_mut()[number] = Some(OpenConnection { activity, task, seen: None });
    }

    /// Ends a connection on which nothing has happened for this long, if the hand comes upon one.
    pub(crate) fn evict_idle(&self, idle: Duration) {
        let now = Instant::now();
        let mut slots = self.slots.borrow_mut();
        for _ in 0..slots.len().min(SCAN_MAX) {
            let hand = self.hand.get() % slots.len();
            self.hand.set(hand + 1);
            let Some(connection) = &mut slots[hand] else { continue };
            let mark = connection.activity.phase();
            // Neither whoever waits for an answer nor whoever is still taking one: that has a deadline of its own.
            if mark.0.is_owed() || connection.activity.stall().0 {
                connection.seen = None;
                continue;
            }
            match connection.seen {
                Some((seen, since)) if seen == mark => {
                    if now.duration_since(since) >= idle {
                        connection.task.abort();
                        // Its place is free when the task is gone.
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
    async fn whoever_only_pings_makes_way_and_whoever_asks_does_not() {
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
                // Once they are looked at for the first time, and twice again: one makes way at each look.
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
