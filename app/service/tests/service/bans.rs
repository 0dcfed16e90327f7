//! Bans on their way from the gate to the keys' records: in force at once and recorded later, however the store
//! behaves.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use petstore_domain::*;
use petstore_memory::MemoryStore;
use petstore_ports::api::*;
use petstore_ports::*;
use petstore_service::{BanWrites, Policy, Ports, Service};

/// The length of the first ban by the default policy.
const LENGTH: Duration = BanPolicy::DEFAULT.length;

struct TestClock(AtomicU64);

impl TestClock {
    fn turn(&self, secs: u64) {
        self.0.store(secs, Ordering::Relaxed);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::EPOCH.plus(Duration::from_secs(self.0.load(Ordering::Relaxed)))
    }
}

/// A timer that the test controls.
#[derive(Default)]
struct TestTimer {
    elapsed_secs: AtomicU64,
    /// If true, every deadline passes at once. If false, none passes.
    are_deadlines_over: AtomicBool,
}

impl Timer for TestTimer {
    fn elapsed(&self) -> Duration {
        secs(self.elapsed_secs.load(Ordering::Relaxed))
    }

    fn sleep(&self, _duration: Duration) -> Reply<()> {
        if self.are_deadlines_over.load(Ordering::Relaxed) {
            return Reply::now(());
        }
        Reply::later(std::future::pending())
    }
}

/// Returns different bits at each call.
#[derive(Default)]
struct Counter(AtomicU32);

impl Entropy for Counter {
    fn bits(&self) -> Result<[u8; 32], StoreError> {
        let mut bits = [0; 32];
        bits[..4].copy_from_slice(&self.0.fetch_add(1, Ordering::Relaxed).to_be_bytes());
        Ok(bits)
    }
}

/// The outcome of a write.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Health {
    Well,
    Down,
    Hung,
}

/// Writes to a store that can fail, and counts the attempts.
struct Writes {
    store: Arc<MemoryStore>,
    health: Mutex<Health>,
    attempts: AtomicU32,
}

impl Writes {
    fn set(&self, health: Health) {
        *self.health.lock().unwrap() = health;
    }

    /// The number of attempts since the last call of this function.
    fn attempts(&self) -> u32 {
        self.attempts.swap(0, Ordering::Relaxed)
    }
}

#[async_trait::async_trait]
impl Transactor for Writes {
    async fn transact(&self, transition: Arc<dyn Transition>) -> Result<(), StoreError> {
        self.attempts.fetch_add(1, Ordering::Relaxed);
        let health = *self.health.lock().unwrap();
        match health {
            Health::Well => self.store.transact(transition).await,
            Health::Down => Err(StoreError::unavailable("the disk fails")),
            Health::Hung => std::future::pending().await,
        }
    }
}

/// A service that bans a key at the second request of a minute.
struct Shop {
    service: Service,
    store: Arc<MemoryStore>,
    writes: Arc<Writes>,
    clock: Arc<TestClock>,
    timer: Arc<TestTimer>,
}

impl Shop {
    fn new() -> Self {
        let (store, clock) = (Arc::new(MemoryStore::new()), Arc::new(TestClock(AtomicU64::new(0))));
        let timer = Arc::<TestTimer>::default();
        let writes = Arc::new(Writes {
            store: Arc::clone(&store),
            health: Mutex::new(Health::Well),
            attempts: AtomicU32::new(0),
        });
        let ports = Ports::of_one_store(
            Arc::clone(&store),
            Arc::clone(&clock) as _,
            Arc::new(Counter::default()),
            Arc::clone(&timer) as _,
        );
        let bans = BanPolicy { strikes: Some(0), ..BanPolicy::DEFAULT };
        let policy = Policy { bans, ..Policy::DEFAULT };
        let service = Service::new(Ports { transactor: Arc::clone(&writes) as _, ..ports }, policy);
        Self { service, store, writes, clock, timer }
    }

    async fn create_key(&self) -> (ApiKey, KeyId) {
        let limit = Limit::new(1).unwrap();
        let day = Limit::new(Limit::MAX).unwrap();
        let made = self
            .service
            .create_key(NewKey {
                holder: KeyHolder::New { plan: Plan::Enterprise(Limits { minute: limit, day }) },
                label: KeyLabel::parse("").unwrap(),
                scopes: Scopes::DEFAULT,
                expires_at: None,
            })
            .await
            .unwrap();
        (made.secret, made.made.key.id)
    }

    async fn call(&self, key: &ApiKey) -> Result<(), Refusal> {
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let call = Call { key: key.as_bytes(), address, cost: Cost::One, now: self.clock.now() };
        self.service.admit(call).await.map(drop)
    }

    /// Records the bans that wait, this many seconds after the start.
    async fn record_bans(&self, elapsed_secs: u64) -> BanWrites {
        self.timer.elapsed_secs.store(elapsed_secs, Ordering::Relaxed);
        self.service.record_bans().await
    }

    /// Creates a key and sends requests until the key is banned.
    async fn banned_key(&self) -> (ApiKey, KeyId) {
        let (secret, id) = self.create_key().await;
        self.call(&secret).await.unwrap();
        self.check_banned(&secret).await;
        (secret, id)
    }

    async fn check_banned(&self, key: &ApiKey) {
        let answer = self.call(key).await;
        assert!(matches!(answer, Err(Refusal::Banned { .. })), "{answer:?}");
    }

    /// The ban in the key's record.
    async fn recorded(&self, id: KeyId) -> Option<Ban> {
        let keys = self.store.keys(None, usize::MAX).await.unwrap();
        keys.into_iter().find(|key| key.id == id).unwrap().ban
    }

    /// The ban that an operator is shown.
    async fn listed(&self, id: KeyId) -> Option<Ban> {
        let keys = self.service.keys(None, usize::MAX).await.unwrap();
        keys.into_iter().find(|listing| listing.key.id == id).unwrap().key.ban
    }
}

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

#[tokio::test]
async fn a_ban_is_in_force_and_shown_at_once_and_recorded_behind() {
    let shop = Shop::new();
    let (secret, id) = shop.banned_key().await;
    let ban = Ban { since: shop.clock.now(), until: shop.clock.now().plus(LENGTH), length: LENGTH };
    assert_eq!((shop.recorded(id).await, shop.listed(id).await), (None, Some(ban)));
    assert_eq!(shop.service.figures().bans_waiting, 1);
    shop.check_banned(&secret).await;
    let writes = shop.record_bans(0).await;
    assert_eq!((writes.recorded, writes.failed, writes.dropped), (1, None, 0));
    assert_eq!((shop.recorded(id).await, shop.listed(id).await), (Some(ban), Some(ban)));
    assert_eq!(shop.service.figures().bans_waiting, 0);
    shop.check_banned(&secret).await;
    assert_eq!(shop.record_bans(1).await.recorded, 0, "nothing waits");
}

#[tokio::test]
async fn a_key_that_is_lifted_between_decision_and_record_stays_lifted() {
    let shop = Shop::new();
    let (secret, id) = shop.banned_key().await;
    shop.clock.turn(1);
    // Another node lifts the key's ban. That node does not know of the ban that waits in this node's queue.
    run(&*shop.store, LiftBan { id, now: shop.clock.now() }, shop.clock.now()).await.unwrap().unwrap();
    shop.clock.turn(60);
    shop.call(&secret).await.unwrap();
    assert_eq!(shop.record_bans(0).await.recorded, 1);
    assert_eq!((shop.recorded(id).await, shop.listed(id).await), (None, None));
    shop.clock.turn(119);
    let answer = shop.call(&secret).await;
    assert!(
        matches!(answer, Err(Refusal::Banned { .. })),
        "the key's second request of this minute: {answer:?}"
    );
    shop.clock.turn(119 + 2 * 120);
    shop.call(&secret).await.unwrap();
}

#[tokio::test]
async fn an_operator_lifts_and_rotates_with_the_ban_that_waits() {
    let shop = Shop::new();
    let (_, id) = shop.banned_key().await;
    let lifted = shop.service.lift_ban(id).await.unwrap();
    assert_eq!(lifted.ban.map(|ban| ban.until), Some(shop.clock.now()), "the next ban is longer");
    let (_, id) = shop.banned_key().await;
    let rotated = shop.service.rotate_key(id, secs(1)).await.unwrap();
    shop.check_banned(&rotated.secret).await;
}

#[tokio::test]
async fn a_store_that_is_down_is_tried_again_after_pauses_that_double() {
    let shop = Shop::new();
    let (secret, id) = shop.banned_key().await;
    shop.writes.set(Health::Down);
    shop.writes.attempts();
    let mut tried_at = Vec::new();
    for elapsed in 0..40 {
        let writes = shop.record_bans(elapsed).await;
        if shop.writes.attempts() > 0 {
            assert_eq!(writes.failed.map(|error| error.kind()), Some(StoreErrorKind::Unavailable));
            tried_at.push(elapsed);
        }
    }
    assert_eq!(tried_at, [0, 1, 3, 7, 15, 23, 31, 39]);
    shop.check_banned(&secret).await;
    assert_eq!((shop.recorded(id).await.is_some(), shop.listed(id).await.is_some()), (false, true));
    shop.writes.set(Health::Well);
    assert_eq!(shop.record_bans(46).await.recorded, 0, "it is not time yet");
    assert_eq!(shop.record_bans(47).await.recorded, 1);
    assert!(shop.recorded(id).await.is_some());
    // After a success, the first failure is followed by the shortest pause again.
    shop.banned_key().await;
    shop.writes.set(Health::Down);
    assert!(shop.record_bans(48).await.failed.is_some());
    shop.writes.set(Health::Well);
    assert_eq!(shop.record_bans(49).await.recorded, 1);
}

#[tokio::test]
async fn the_last_bans_are_recorded_even_if_the_store_has_just_failed() {
    let shop = Shop::new();
    let (_, id) = shop.banned_key().await;
    shop.writes.set(Health::Down);
    assert!(shop.record_bans(0).await.failed.is_some());
    shop.writes.set(Health::Well);
    assert_eq!(shop.service.record_all_bans().await.recorded, 1);
    assert!(shop.recorded(id).await.is_some());
}

#[tokio::test]
async fn a_ban_is_in_force_while_the_store_hangs() {
    let shop = Shop::new();
    let (first, id) = shop.banned_key().await;
    let (second, other) = shop.create_key().await;
    shop.writes.set(Health::Hung);
    let mut recording = Box::pin(shop.record_bans(0));
    let poll = recording.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(poll, Poll::Pending));
    shop.check_banned(&first).await;
    shop.call(&second).await.unwrap();
    shop.check_banned(&second).await;
    drop(recording);
    shop.timer.are_deadlines_over.store(true, Ordering::Relaxed);
    let failed = shop.record_bans(0).await.failed;
    assert_eq!(failed.map(|error| error.kind()), Some(StoreErrorKind::Indeterminate), "the deadline ends it");
    shop.timer.are_deadlines_over.store(false, Ordering::Relaxed);
    shop.writes.set(Health::Well);
    assert_eq!(shop.record_bans(1).await.recorded, 2);
    assert!(shop.recorded(id).await.is_some() && shop.recorded(other).await.is_some());
}

#[tokio::test]
async fn many_bans_are_recorded_together() {
    let shop = Shop::new();
    let mut ids = Vec::new();
    for _ in 0..150 {
        ids.push(shop.banned_key().await.1);
    }
    assert_eq!(shop.record_bans(0).await.recorded, 150);
    for id in ids {
        assert!(shop.recorded(id).await.is_some());
    }
}
