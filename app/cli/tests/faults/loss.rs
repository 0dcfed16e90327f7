//! A failover that loses acknowledged changes, and what the clients still know after it.

use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::{Duration, Instant};

use petstore_test_servers::Postgres;

use crate::load::{Known, Order, Records, Run};
use crate::now;
use crate::outage::wait_for_writes;
use crate::requests::{Connections, cancel, complete, place};
use crate::scene::Scene;

/// The name of the standby, which no commit waits for.
const STANDBY: &str = "late";

/// The time for which changes are acknowledged that the standby does not get.
const LOST: Duration = Duration::from_secs(2);

/// The time before the end of the primary in which clients name no order any more. It is longer than an answer takes while
/// nothing fails.
const CAREFUL: Duration = Duration::from_millis(700);

/// The time within which every node uses the new epoch after it has written.
const EPOCH_MAX: Duration = Duration::from_secs(1);

/// The time limit for the standby to receive what the primary has written.
const CATCH_UP_MAX: Duration = Duration::from_mins(2);

/// The times of a failover that has lost changes.
#[derive(Debug)]
pub(crate) struct Loss {
    /// The time before which all acknowledged changes reached the standby.
    from: Instant,
    /// The time after which only the new primary acknowledged changes that were sent.
    killed: Instant,
    /// The time at which all nodes used the new epoch.
    until: Instant,
    /// The time from the promotion until every node had written.
    pub(crate) recovered: Duration,
}

/// Kills the primary after some changes that its standby does not get, and promotes the standby. Returns false if PostgreSQL's
/// program for a standby is missing.
pub(crate) fn fail_over(scene: &mut Scene, run: &Run) -> bool {
    let Some(standby) = scene.server.standby(STANDBY) else { return false };
    let from = now();
    let written = scene.server.sql("select pg_current_wal_lsn()");
    wait_for_standby(&standby, &written);
    standby.stop(petstore_test_servers::Stop::Fast);
    sleep(LOST);
    run.is_failing_over.store(true, Ordering::SeqCst);
    sleep(CAREFUL);
    scene.proxy.set_server(standby.port());
    scene.server.kill();
    scene.proxy.cut_all();
    let killed = now();
    standby.start_again();
    standby.promote();
    let promoted = now();
    scene.url = standby.url();
    scene.server = standby;
    let recovered = wait_for_writes(run, promoted);
    sleep(EPOCH_MAX);
    run.loss
        .set(Loss { from, killed, until: now(), recovered })
        .expect("one failover of a run loses changes");
    run.is_failing_over.store(false, Ordering::SeqCst);
    true
}

/// Waits until the standby has received the log of the primary up to this place.
fn wait_for_standby(standby: &Postgres, place: &str) {
    let began = now();
    let query = format!("select coalesce(pg_last_wal_receive_lsn() >= '{place}', false)");
    while standby.sql(&query) != "t" {
        assert!(began.elapsed() < CATCH_UP_MAX, "the standby does not receive the changes");
        sleep(Duration::from_millis(20));
    }
}

impl Loss {
    /// Returns whether an acknowledged change may be gone.
    fn may_lack(&self, known: Known) -> bool {
        matches!(known, Known::Made(sent, answered) if answered >= self.from && sent <= self.killed)
    }

    /// Requests each change again that may be gone, as a client does after a loss. A change that was kept is not made twice;
    /// one that is gone is made now.
    pub(crate) fn repeat_changes(
        &self,
        connections: &mut Connections<'_>,
        node: usize,
        records: &mut Records,
    ) {
        records.stock_reads.retain(|read| read.answered < self.from || read.sent > self.until);
        for order in &mut records.orders {
            let before = (order.id, order.body);
            if !self.doubt(order) {
                continue;
            }
            let was_known = before.0.is_some() && order.id.is_none();
            if order.id.is_none() && !place(connections, node, order) {
                continue;
            }
            if was_known && (order.id, order.body) != before {
                connections.run.orders_lost.fetch_add(1, Ordering::Relaxed);
            }
            if matches!(order.completed, Known::Sent(_)) && !complete(connections, node, order) {
                continue;
            }
            if matches!(order.cancelled, Known::Sent(_)) {
                cancel(connections, node, order);
            }
        }
    }

    /// Turns the changes of an order that may be gone into ones whose outcome is unknown. Returns false if there is none.
    fn doubt(&self, order: &mut Order) -> bool {
        let mut any = false;
        if self.may_lack(order.placed) {
            (order.id, order.body) = (None, None);
        }
        for known in [&mut order.placed, &mut order.completed, &mut order.cancelled] {
            if let Known::Made(sent, _) = *known
                && self.may_lack(*known)
            {
                *known = Known::Sent(sent);
                any = true;
            }
        }
        any
    }
}
