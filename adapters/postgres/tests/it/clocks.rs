//! Nodes whose clocks differ from that of the database.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use petstore_domain::{Timestamp, WebhookId};
use petstore_ports::{Clock, DeliveryLease, DeliveryLog, Housekeeping, StoreHealth};
use petstore_postgres::{ClockFaultKind, NewNode, PostgresStore};
use tokio::time::Instant;

use crate::common::{Shop, runtime};

/// The clock of a machine. It began with the time of the database.
struct Machine {
    began: Instant,
    shown: i64,
    /// The milliseconds by which it is ahead.
    ahead: AtomicI64,
}

impl Machine {
    fn set_ahead(&self, seconds: i64) {
        self.ahead.store(seconds * 1_000, Ordering::Relaxed);
    }
}

impl Clock for Machine {
    fn now(&self) -> Timestamp {
        let millis = self.shown + i64::try_from(self.began.elapsed().as_millis()).unwrap();
        Timestamp::from_millis(millis + self.ahead.load(Ordering::Relaxed)).unwrap()
    }
}

/// The renewals of a node's row within which it must have taken note of a clock.
const RENEWALS_MAX: u32 = 10;

/// A node on a machine.
struct Node {
    store: PostgresStore,
    machine: Arc<Machine>,
    clock: Arc<dyn Clock>,
}

impl Node {
    /// Starts a node whose clock is ahead by this many seconds.
    fn start(shop: &Shop<'_>, name: &str, ahead: i64) -> Self {
        let store = shop.open();
        let shown = shop.sql("select (extract(epoch from clock_timestamp()) * 1000)::bigint");
        let machine = Machine {
            began: Instant::now(),
            shown: shown.parse().unwrap(),
            ahead: AtomicI64::new(ahead * 1_000),
        };
        let machine = Arc::new(machine);
        let clock = store.clock(Arc::clone(&machine) as _);
        let node = Self { store, machine, clock };
        node.join(name);
        node
    }

    fn join(&self, name: &str) {
        let node = NewNode {
            version: "1.2.3".to_owned(),
            host: name.to_owned(),
            address: String::new(),
            settings: vec![],
        };
        self.store.join(node).expect("it is registered");
    }

    fn fault(&self) -> Option<ClockFaultKind> {
        self.store.clock_fault().map(|fault| fault.kind)
    }

    /// Waits until the node has renewed its row once more, and with it has compared its clock.
    fn await_renewal(&self, shop: &Shop<'_>) {
        let seen = format!("(select seen_at from nodes where id = '{}')", self.store.node_id());
        let before = shop.sql(&format!("select {seen}"));
        shop.wait_for(&format!("{seen} > '{before}'"));
    }

    /// Waits until the node has compared its clock with this result.
    fn await_fault(&self, shop: &Shop<'_>, fault: Option<ClockFaultKind>) {
        (0..RENEWALS_MAX).take_while(|_| self.fault() != fault).for_each(|_| self.await_renewal(shop));
        assert_eq!(self.fault(), fault, "after {RENEWALS_MAX} renewals");
    }

    /// Waits until the clock that decides what expires differs from the database's by these seconds.
    fn await_difference(&self, shop: &Shop<'_>, seconds: i64) {
        let differs = |_: &u32| self.difference(shop) != seconds;
        (0..RENEWALS_MAX).take_while(differs).for_each(|_| self.await_renewal(shop));
        assert_eq!(self.difference(shop), seconds, "after {RENEWALS_MAX} renewals");
    }

    fn is_ready(&self) -> bool {
        runtime().block_on(self.store.check(self.clock.now())).is_ok()
    }

    /// Runs housekeeping. Returns the number of dropped answers.
    fn drop_expired(&self) -> usize {
        runtime().block_on(self.store.drop_expired(self.clock.now())).expect("the server runs")
    }

    fn claim(&self, webhook: WebhookId) -> Option<DeliveryLease> {
        let claimed = runtime().block_on(async { self.store.claim(vec![webhook], self.clock.now()).await });
        claimed.expect("the server runs").first().map(|claimed| claimed.lease)
    }

    fn renew(&self, lease: DeliveryLease) -> bool {
        let renewed = runtime().block_on(async { self.store.renew(vec![lease], self.clock.now()).await });
        !renewed.expect("the server runs").is_empty()
    }

    /// The seconds by which the clock that decides what expires differs from the database's, to ten seconds.
    fn difference(&self, shop: &Shop<'_>) -> i64 {
        let now = shop.sql("select (extract(epoch from clock_timestamp()) * 1000)::bigint");
        (self.clock.now().as_millis() - now.parse::<i64>().unwrap() + 5_000).div_euclid(10_000) * 10
    }
}

fn webhook(digit: char) -> WebhookId {
    WebhookId::parse(&format!("whk_{}", digit.to_string().repeat(22))).expect("an id")
}

/// Answers that expired a minute ago, and in an hour.
fn keep_answers(shop: &Shop<'_>) {
    shop.sql(
        "insert into idempotency_records
         select 1, 'place_order', 'key-' || n, decode(repeat('00', 32), 'hex'), '{}',
             clock_timestamp() + case when n = 1 then interval '-1 minute' else interval '1 hour' end
         from generate_series(1, 2) as n",
    );
}

const DAY: i64 = 25 * 3_600;

#[test]
fn a_node_whose_clock_is_wrong_drops_nothing_holds_no_webhook_and_is_not_ready() {
    let Some(shop) = Shop::shared() else { return };
    let right = Node::start(&shop, "right", 0);
    keep_answers(&shop);
    let [held, free] = ['0', '1'].map(webhook);
    for ahead in [DAY, -DAY, 310] {
        let wrong = Node::start(&shop, "wrong", 0);
        wrong.await_fault(&shop, None);
        let lease = wrong.claim(held).expect("nobody holds it");
        // The clock steps while the node runs.
        wrong.machine.set_ahead(ahead);
        assert_eq!(wrong.drop_expired().max(1), 1, "{ahead}: before it was noticed");
        wrong.await_fault(&shop, Some(ClockFaultKind::Wrong));
        assert_eq!(wrong.difference(&shop), 0, "{ahead}");
        assert_eq!((wrong.drop_expired(), wrong.is_ready(), right.is_ready()), (0, false, true), "{ahead}");
        assert!(!wrong.renew(lease) && wrong.claim(free).is_none(), "{ahead}");
        let taken = right.claim(held).expect("it was released");
        assert!(right.renew(taken));
        // The other node leaves, and no clock is left that agrees with the database.
        right.store.leave();
        (0..2).for_each(|_| wrong.await_renewal(&shop));
        assert_eq!(wrong.fault(), Some(ClockFaultKind::Wrong), "{ahead}");
        right.join("right");
        wrong.machine.set_ahead(0);
        wrong.await_fault(&shop, None);
        assert!(wrong.is_ready(), "{ahead}");
        wrong.store.leave();
        runtime().block_on(async { right.store.release(vec![taken]).await }).expect("the server runs");
    }
    right.drop_expired();
    assert_eq!(shop.sql("select idempotency_key from idempotency_records"), "key-2");
}

#[test]
fn nodes_that_agree_against_the_database_stay_ready_and_drop_nothing() {
    let Some(shop) = Shop::shared() else { return };
    drop(shop.open());
    keep_answers(&shop);
    for (ahead, digit) in [(-660, '2'), (660, '3'), (-DAY, '4')] {
        let nodes = [Node::start(&shop, "one", ahead), Node::start(&shop, "other", ahead)];
        for node in &nodes {
            node.await_fault(&shop, Some(ClockFaultKind::Disputed));
            assert!(node.is_ready() && node.drop_expired() == 0, "{ahead}");
        }
        // A node that starts cannot know which clock has stepped, and uses the one that the others have.
        for node in &nodes {
            node.await_difference(&shop, ahead);
        }
        assert!(nodes[0].claim(webhook(digit)).is_some());
        for node in &nodes {
            node.machine.set_ahead(0);
            node.await_fault(&shop, None);
            node.store.leave();
        }
    }
    assert_eq!(shop.sql("select count(*) from idempotency_records"), "2");
    let node = Node::start(&shop, "one", 3);
    node.await_fault(&shop, Some(ClockFaultKind::Slight));
    assert_eq!((node.is_ready(), node.drop_expired(), node.difference(&shop)), (true, 1, 0));
}
