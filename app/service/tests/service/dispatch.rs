//! Deliveries over the memory store, in simulated time: receivers that answer, fail, hang and are gone.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use petstore_domain::*;
use petstore_memory::MemoryStore;
use petstore_ports::api::*;
use petstore_ports::*;
use petstore_service::{
    DispatchNotice, DispatchStats, Dispatcher, DispatcherPorts, Policy, Ports, Service, WebhookCounts,
    WebhookService,
};
use tokio::sync::oneshot;
use tokio::time::Instant;

const ACCOUNT: AccountId = AccountId::FIRST;

/// The time of day follows tokio's time, which is simulated.
struct Time(Instant);

impl Clock for Time {
    fn now(&self) -> Timestamp {
        Timestamp::parse("2030-01-01T12:00:00Z").unwrap().plus(self.0.elapsed())
    }
}

impl Timer for Time {
    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    fn sleep(&self, duration: Duration) -> Reply<()> {
        Reply::later(async move { tokio::time::sleep(duration).await })
    }
}

struct Counted(Mutex<u8>);

impl Entropy for Counted {
    fn bits(&self) -> Result<[u8; 32], StoreError> {
        let mut last = self.0.lock().unwrap();
        *last += 1;
        Ok([*last; 32])
    }
}

/// Secrets are written out, and a signature is the list of secrets.
struct PlainSigner;

const MASTER: MasterKeyId = MasterKeyId([1; 8]);

impl Signer for PlainSigner {
    fn master(&self) -> Option<MasterKeyId> {
        Some(MASTER)
    }

    fn prepare(&self) -> Result<MasterKeyId, StoreError> {
        Ok(MASTER)
    }

    fn secret(&self, nonce: &[u8; 32], generation: u32) -> Option<WebhookSecret> {
        Some(WebhookSecret::from_text(format!("{}-{generation}", nonce[0])))
    }

    fn read_secret(&self, text: &str) -> Option<WebhookSecret> {
        Some(WebhookSecret::from_text(text))
    }

    fn sign_request(&self, secrets: &[WebhookSecret], _: &str, _: Timestamp, _: &[u8]) -> String {
        secrets.iter().map(WebhookSecret::reveal).collect::<Vec<_>>().join(" ")
    }

    fn verify(&self, _: &[WebhookSecret], _: SignedRequest<'_>, _: Timestamp) -> SignatureVerdict {
        SignatureVerdict::OtherSecret
    }
}

struct Ids;

impl EventText for Ids {
    fn json(&self, event: &Event, _is_test: bool) -> Vec<u8> {
        event.id.to_string().into_bytes()
    }
}

/// A request that was sent, with the time since the start.
#[derive(Debug, Clone)]
struct Got {
    url: String,
    event: EventId,
    attempt: u32,
    at: Duration,
    signature: String,
}

/// Answers by the address: `ok` accepts, `fail` answers 500, `gone` 410, `hang` never, and `flaky` fails once an event.
struct Receivers {
    start: Instant,
    got: Mutex<Vec<Got>>,
    most: Mutex<BTreeMap<String, (usize, usize)>>,
}

impl Receivers {
    fn got(&self, url: &str) -> Vec<Got> {
        self.got.lock().unwrap().iter().filter(|got| got.url.contains(url)).cloned().collect()
    }

    /// The positions of the events that an address got, in their order.
    fn positions(&self, url: &str) -> Vec<u64> {
        self.got(url).iter().map(|got| got.event.position.get()).collect()
    }
}

struct Post(Arc<Receivers>);

impl Courier for Post {
    fn post(&self, request: WebhookRequest) -> Reply<AttemptOutcome> {
        let receivers = Arc::clone(&self.0);
        Reply::later(async move {
            let url = request.url.as_str().to_owned();
            let event = EventId::parse(&request.event_id).unwrap();
            let at = receivers.start.elapsed();
            receivers.got.lock().unwrap().push(Got {
                url: url.clone(),
                event,
                attempt: request.attempt,
                at,
                signature: request.signature,
            });
            count(&receivers, &url, 1);
            // The deadline of a real courier.
            let pause = if url.contains("hang") { 15_000 } else { 10 };
            tokio::time::sleep(Duration::from_millis(pause)).await;
            count(&receivers, &url, -1);
            let status = |status| {
                let answer = Box::new(ReceiverAnswer { status, ..ReceiverAnswer::default() });
                (Some(AttemptError::Status), Some(answer))
            };
            let (error, answer) = match () {
                () if url.contains("hang") => (Some(AttemptError::Timeout), None),
                () if url.contains("gone") => status(410),
                () if url.contains("fail") => status(500),
                () if url.contains("flaky") && request.attempt == 1 => status(500),
                () => (None, None),
            };
            AttemptOutcome { duration: Duration::from_millis(pause), error, answer }
        })
    }
}

fn count(receivers: &Receivers, url: &str, change: isize) {
    let mut most = receivers.most.lock().unwrap();
    let (now, peak) = most.entry(url.to_owned()).or_default();
    *now = now.saturating_add_signed(change);
    *peak = (*peak).max(*now);
}

struct World {
    store: Arc<MemoryStore>,
    service: Arc<Service>,
    webhooks: WebhookService,
    ports: DispatcherPorts,
    receivers: Arc<Receivers>,
    stop: Option<oneshot::Sender<()>>,
    running: Option<tokio::task::JoinHandle<()>>,
    stats: Arc<DispatchStats>,
}

impl World {
    fn new() -> Self {
        let start = Instant::now();
        let (store, time) = (Arc::new(MemoryStore::with_epoch(7)), Arc::new(Time(start)));
        let ports = Ports::of_one_store(
            Arc::clone(&store),
            Arc::clone(&time) as _,
            Arc::new(Counted(Mutex::new(0))),
            Arc::clone(&time) as _,
        );
        let service = Arc::new(Service::new(ports, Policy::DEFAULT));
        let receivers = Arc::new(Receivers { start, got: Mutex::default(), most: Mutex::default() });
        let ports = DispatcherPorts {
            webhooks: Arc::clone(&store) as _,
            deliveries: Arc::clone(&store) as _,
            events: Arc::clone(&store) as _,
            feed: Arc::clone(&store) as _,
            transactor: Arc::clone(&store) as _,
            courier: Arc::new(Post(Arc::clone(&receivers))),
            signer: Arc::new(PlainSigner),
            text: Arc::new(Ids),
            clock: Arc::clone(&time) as _,
            timer: time,
        };
        let webhooks = WebhookService::new(Arc::clone(&service), ports.clone(), TargetPolicy::default(), 100);
        Self { store, service, webhooks, ports, receivers, stop: None, running: None, stats: Arc::default() }
    }

    /// Starts a dispatcher.
    fn start(&mut self) {
        let (stop, stopped) = oneshot::channel();
        self.stats = Arc::default();
        let dispatcher =
            Dispatcher::new(self.ports.clone(), &Policy::DEFAULT, false, Arc::clone(&self.stats));
        self.running = Some(tokio::spawn(async move {
            dispatcher.run(async { drop(stopped.await) }).await;
        }));
        self.stop = Some(stop);
    }

    /// Stops the dispatcher, as the end of a server does.
    async fn stop(&mut self) {
        drop(self.stop.take());
        self.running.take().unwrap().await.unwrap();
    }

    async fn webhook(&self, url: &str, ordering: DeliveryOrder) -> WebhookId {
        let new = NewWebhook {
            url: WebhookUrl::parse(url).unwrap(),
            types: EventPatterns::parse(["category.*"]).unwrap(),
            description: None,
            ordering,
            is_enabled: true,
        };
        let made = self.webhooks.create_webhook(ACCOUNT, new, LogPlace::Now, None).await.unwrap();
        made.result.unwrap().listing.webhook.id
    }

    /// Causes an event.
    async fn event(&self, number: u64) {
        let name = CategoryName::parse(&format!("Category {number}")).unwrap();
        let made = self.service.create_category(NewCategory { name, description: None }, None).await;
        made.unwrap().result.unwrap();
    }

    async fn listing(&self, id: WebhookId) -> WebhookListing {
        self.webhooks.webhook(ACCOUNT, id).await.unwrap().unwrap()
    }
}

async fn pass(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn each_event_is_delivered_once_and_the_cursor_follows() {
    let mut world = World::new();
    let id = world.webhook("https://ok", DeliveryOrder::Relaxed).await;
    world.start();
    for number in 1..=300 {
        world.event(number).await;
    }
    pass(5).await;
    let mut positions = world.receivers.positions("ok");
    positions.sort_unstable();
    assert_eq!(positions, (1..=300).collect::<Vec<_>>());
    let listing = world.listing(id).await;
    assert_eq!((listing.status, listing.lag, listing.cursor.position.get()), (WebhookStatus::Active, 0, 300));
    let page = DeliveryQuery {
        webhook: id,
        statuses: DeliveryStatusSet::ANY,
        kinds: EventKinds::ANY,
        order: PageOrder::Descending,
        after: None,
        limit: 2,
    };
    let deliveries = world.webhooks.list_deliveries(ACCOUNT, page).await.unwrap().unwrap();
    let found: Vec<_> =
        deliveries.iter().map(|one| (one.event.position.get(), one.status, one.attempts)).collect();
    assert_eq!(found, [(300, DeliveryStatus::Delivered, 1), (299, DeliveryStatus::Delivered, 1)]);
    let (now, peak) = world.receivers.most.lock().unwrap()["https://ok"];
    assert_eq!((now, peak), (0, IN_FLIGHT_MAX));
}

#[tokio::test(start_paused = true)]
async fn a_stop_saves_what_was_delivered_and_a_start_repeats_nothing() {
    let mut world = World::new();
    world.webhook("https://ok", DeliveryOrder::Relaxed).await;
    world.start();
    for number in 1..=50 {
        world.event(number).await;
    }
    pass(0).await;
    tokio::time::sleep(Duration::from_millis(35)).await;
    world.stop().await;
    let before = world.receivers.positions("ok").len();
    assert!((1..50).contains(&before), "{before}");
    world.start();
    pass(5).await;
    let mut positions = world.receivers.positions("ok");
    positions.sort_unstable();
    assert_eq!(positions, (1..=50).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_receiver_that_hangs_delays_no_other_one() {
    let mut world = World::new();
    world.webhook("https://hang", DeliveryOrder::Relaxed).await;
    for number in 0..50 {
        world.webhook(&format!("https://ok/{number}/"), DeliveryOrder::Relaxed).await;
    }
    world.start();
    pass(1).await;
    let began = world.receivers.start.elapsed();
    for number in 1..=20 {
        world.event(number).await;
    }
    pass(3).await;
    let got = world.receivers.got("ok");
    assert_eq!(got.len(), 50 * 20);
    let latest = got.iter().map(|got| got.at.saturating_sub(began)).max().unwrap();
    assert!(latest < Duration::from_secs(1), "{latest:?}");
    assert_eq!(world.receivers.got("hang").len(), IN_FLIGHT_MAX);
}

#[tokio::test(start_paused = true)]
async fn retries_come_by_the_schedule_and_a_success_ends_them() {
    let mut world = World::new();
    let flaky = world.webhook("https://flaky", DeliveryOrder::Relaxed).await;
    let failing = world.webhook("https://fail", DeliveryOrder::Relaxed).await;
    world.start();
    world.event(1).await;
    pass(30 * 3_600).await;
    let attempts: Vec<u32> = world.receivers.got("flaky").iter().map(|got| got.attempt).collect();
    assert_eq!(attempts, [1, 2]);
    assert_eq!(world.listing(flaky).await.status, WebhookStatus::Active);
    let times: Vec<u64> = world.receivers.got("fail").iter().map(|got| got.at.as_secs()).collect();
    let expected = [0, 5, 305, 2_105, 9_305, 27_305, 63_305, 99_305];
    for (time, expected) in times.iter().zip(expected) {
        assert!(time.abs_diff(expected) <= 1, "{times:?}");
    }
    assert_eq!(times.len(), expected.len());
    let listing = world.listing(failing).await;
    assert_eq!((listing.status, listing.lag), (WebhookStatus::Failing, 0));
    let event = EventId { epoch: 7, position: Position::START.next() };
    let detail = world.webhooks.delivery(ACCOUNT, failing, event).await.unwrap().unwrap();
    assert_eq!((detail.delivery.status, detail.delivery.attempts), (DeliveryStatus::Failed, 8));
    assert_eq!(detail.event.unwrap().id, event);
}

#[tokio::test(start_paused = true)]
async fn a_receiver_that_is_gone_is_disabled_and_goes_on_where_it_stopped() {
    let mut world = World::new();
    let id = world.webhook("https://gone", DeliveryOrder::Strict).await;
    world.start();
    for number in 1..=3 {
        world.event(number).await;
    }
    pass(2).await;
    assert_eq!(world.receivers.positions("gone"), [1]);
    assert_eq!(world.listing(id).await.status, WebhookStatus::Disabled(DisabledReason::Gone));
    let query = EventListing {
        account: Some(ACCOUNT),
        kinds: {
            let mut kinds = EventKinds::default();
            kinds.add(EventKind::WebhookDisabled);
            kinds
        },
        epoch: None,
        order: PageOrder::Ascending,
        after: None,
        limit: 9,
    };
    let EventRead::Page(page) = world.service.list_events(query).await.unwrap() else { panic!() };
    assert_eq!(page.events.len(), 1, "its account is told");
    let patch = WebhookPatch {
        is_enabled: Some(true),
        url: Some(WebhookUrl::parse("https://ok").unwrap()),
        ..WebhookPatch::default()
    };
    world.webhooks.update_webhook(ACCOUNT, id, patch, None, Precondition::None).await.unwrap();
    pass(2).await;
    assert_eq!(world.receivers.positions("ok"), [1, 2, 3]);
}

#[tokio::test(start_paused = true)]
async fn the_statistics_tell_states_and_the_age_of_the_oldest_event() {
    let mut world = World::new();
    let now = |world: &World| world.ports.clock.now();
    let gone = world.webhook("https://gone", DeliveryOrder::Relaxed).await;
    world.webhook("https://ok", DeliveryOrder::Relaxed).await;
    world.webhook("https://fail", DeliveryOrder::Relaxed).await;
    world.start();
    world.event(1).await;
    pass(100).await;
    let counts = WebhookCounts { active: 1, failing: 1, disabled: 1, without_key: 0 };
    assert_eq!(world.stats.webhooks(), counts);
    assert_eq!(world.stats.active_lag(now(&world)), Duration::ZERO);
    assert_eq!(world.stats.failing_lag(now(&world)).as_secs(), 100, "the event waits for its third attempt");
    let disabled = DispatchNotice::Disabled { account: ACCOUNT, webhook: gone, reason: DisabledReason::Gone };
    assert_eq!(world.stats.take_notices(), [disabled]);
    world.event(2).await;
    pass(28 * 3_600).await;
    assert_eq!(world.stats.failing_lag(now(&world)), Duration::ZERO, "all attempts have failed");
    assert_eq!(world.stats.take_notices(), []);
}

#[tokio::test(start_paused = true)]
async fn a_replay_and_a_redelivery_send_events_again_and_both_secrets_sign_in_a_rotation() {
    let mut world = World::new();
    let id = world.webhook("https://ok", DeliveryOrder::Strict).await;
    world.start();
    for number in 1..=3 {
        world.event(number).await;
    }
    pass(2).await;
    let event = EventId { epoch: 7, position: Position::new(2).unwrap() };
    world.webhooks.redeliver(ACCOUNT, id, event).await.unwrap();
    pass(2).await;
    assert_eq!(world.receivers.positions("ok"), [1, 2, 3, 2]);
    let overlap = Duration::from_mins(1);
    world.webhooks.rotate_webhook_secret(ACCOUNT, id, overlap, None).await.unwrap().result.unwrap();
    let after = LogPlace::After(event);
    world.webhooks.replay_webhook(ACCOUNT, id, after, None).await.unwrap().result.unwrap();
    pass(2).await;
    assert_eq!(world.receivers.positions("ok"), [1, 2, 3, 2, 3]);
    pass(60).await;
    world.event(4).await;
    pass(2).await;
    let signatures: Vec<String> = world.receivers.got("ok").into_iter().map(|got| got.signature).collect();
    assert_eq!(signatures, ["1-1", "1-1", "1-1", "1-1", "1-2 1-1", "1-2"]);
}

#[tokio::test(start_paused = true)]
async fn a_disabled_or_deleted_webhook_gets_nothing_and_a_test_reaches_it_anyway() {
    let mut world = World::new();
    let id = world.webhook("https://ok", DeliveryOrder::Relaxed).await;
    world.start();
    world.webhooks.set_enabled(ACCOUNT, id, false).await.unwrap();
    pass(1).await;
    world.event(1).await;
    pass(2).await;
    assert!(world.receivers.got("ok").is_empty());
    assert_eq!(world.listing(id).await.status, WebhookStatus::Disabled(DisabledReason::Operator));
    let attempt = world.webhooks.test_webhook(ACCOUNT, id, EventKind::OrderPlaced).await.unwrap();
    assert_eq!((attempt.trigger, attempt.outcome.is_success()), (AttemptTrigger::Test, true));
    assert_eq!(world.receivers.got("ok").len(), 1);
    world.webhooks.set_enabled(ACCOUNT, id, true).await.unwrap();
    pass(2).await;
    assert_eq!(world.receivers.got("ok").len(), 2, "it goes on where it stopped");
    world.webhooks.delete_webhook(ACCOUNT, id, Precondition::None).await.unwrap();
    pass(1).await;
    world.event(2).await;
    pass(2).await;
    assert_eq!(world.receivers.got("ok").len(), 2);
    assert!(world.store.progress(id).await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_webhook_of_another_master_key_is_shown_as_such_and_gets_nothing() {
    let mut world = World::new();
    let id = world.webhook("https://ok", DeliveryOrder::Relaxed).await;
    let rekey = RekeyWebhook { account: ACCOUNT, id, master: MasterKeyId([9; 8]) };
    run(&*world.store, rekey, Timestamp::EPOCH).await.unwrap().unwrap();
    world.start();
    world.event(1).await;
    pass(2).await;
    assert!(world.receivers.got("ok").is_empty());
    assert_eq!(world.listing(id).await.status, WebhookStatus::Disabled(DisabledReason::Key));
    world.webhooks.rekey(ACCOUNT, id).await.unwrap();
    pass(2).await;
    assert_eq!(world.receivers.positions("ok"), [1]);
}
