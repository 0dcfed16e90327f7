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

use crate::counts::counters::Tally;
use crate::io::activity::{Activity, Phase};

/// Connections that are looked at in one go: what others wait for meanwhile is some microseconds.
const LOOKS: usize = 256;

/// The connections of one thread.
pub(crate) struct Connections {
    max: usize,
    places: RefCell<Vec<Option<Guest>>>,
    free: RefCell<Vec<usize>>,
    hand: Cell<usize>,
    closed: Notify,
    tally: Arc<Tally>,
}

/// A connection as it was when it was last looked at.
struct Guest {
    activity: Rc<Activity>,
    task: AbortHandle,
    seen: Option<(Sign, Instant)>,
}

/// What changes whenever anything is asked on a connection. What is written says nothing: whoever pings over HTTP/2 is
/// answered each time.
type Sign = (Phase, u64);

/// One connection's place among those that may be open.
pub(crate) struct Place {
    connections: Rc<Connections>,
    number: usize,
}

impl Connections {
    pub(crate) fn new(max: usize, tally: Arc<Tally>) -> Rc<Self> {
        Rc::new(Self {
            max,
            places: RefCell::default(),
            free: RefCell::default(),
            hand: Cell::new(0),
            closed: Notify::new(),
            tally,
        })
    }

    /// How many are open.
    pub(crate) fn open(&self) -> usize {
        self.places.borrow().len() - self.free.borrow().len()
    }

    /// How many are owed an answer, or some of one. Not so one that has sent half a head, or nothing.
    pub(crate) fn owed(&self) -> usize {
        let is_owed = |guest: &&Guest| guest.activity.phase().0.is_owed() || guest.activity.stall().0;
        self.places.borrow().iter().flatten().filter(is_owed).count()
    }

    pub(crate) fn are_full(&self) -> bool {
        self.open() >= self.max
    }

    /// Waits until one is closed.
    pub(crate) async fn closed(&self) {
        self.closed.notified().await;
    }

    /// Takes a place, which is given back when it is dropped.
    pub(crate) fn take(self: &Rc<Self>) -> Place {
        let number = self.free.borrow_mut().pop().unwrap_or_else(|| {
            let mut places = self.places.borrow_mut();
            places.push(None);
            places.len() - 1
        });
        self.tally.connected();
        Place { connections: Rc::clone(self), number }
    }

    /// The connection at a place is served by this task.
    pub(crate) fn seat(&self, number: usize, activity: Rc<Activity>, task: AbortHandle) {
        self.places.borrow_mut()[number] = Some(Guest { activity, task, seen: None });
    }

    /// Ends a connection on which nothing has happened for this long, if the hand comes upon one.
    pub(crate) fn make_way(&self, idle: Duration) {
        let now = Instant::now();
        let mut places = self.places.borrow_mut();
        for _ in 0..places.len().min(LOOKS) {
            let hand = self.hand.get() % places.len();
            self.hand.set(hand + 1);
            let Some(guest) = &mut places[hand] else { continue };
            let sign = guest.activity.phase();
            // Neither whoever waits for an answer nor whoever is still taking one: that has a deadline of its own.
            if sign.0.is_owed() || guest.activity.stall().0 {
                guest.seen = None;
                continue;
            }
            match guest.seen {
                Some((seen, since)) if seen == sign => {
                    if now.duration_since(since) >= idle {
                        guest.task.abort();
                        // Its place is free when the task is gone.
                        places[hand] = None;
                        return;
                    }
                }
                _ => guest.seen = Some((sign, now)),
            }
        }
    }
}

impl Place {
    pub(crate) fn number(&self) -> usize {
        self.number
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connections.tally.disconnected();
        self.connections.places.borrow_mut()[self.number] = None;
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
                let places = [(); 2].map(|()| connections.take());
                let [pings, asks] = places.each_ref().map(|place| {
                    let activity = Rc::new(Activity::new());
                    let task = spawn_local(std::future::pending::<()>()).abort_handle();
                    connections.seat(place.number(), Rc::clone(&activity), task);
                    activity
                });
                // Once they are looked at for the first time, and twice again: one makes way at each look.
                for _ in 0..3 {
                    pings.wrote(&Poll::Ready(Ok(())));
                    drop(asks.answering());
                    asks.wrote(&Poll::Ready(Ok(())));
                    connections.make_way(Duration::ZERO);
                }
                let stay =
                    places.each_ref().map(|place| connections.places.borrow()[place.number()].is_some());
                assert_eq!(stay, [false, true]);
            })
            .await;
    }
}
