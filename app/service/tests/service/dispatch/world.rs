//! The fixtures of the tests of deliveries: a memory store in simulated time, and receivers that answer, fail, hang or
//! are gone.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use petstore_domain::*;
use petstore_memory::MemoryStore;
use petstore_ports::api::*;
use petstore_ports::*;
use petstore_service::{DispatchStats, Dispatcher, DispatcherPorts, Policy, Ports, Service, WebhookService};
use tokio::sync::oneshot;
use tokio::time::Instant;

pub(super) const ACCOUNT: AccountId = AccountId::FIRST;

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

/// A signer with readable secrets, whose signature is the list of the secrets.
pub(super) struct PlainSigner;

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

/// The accounts that have no key with the scope `webhooks`. All others have one.
#[derive(Default)]
pub(super) struct Withheld(Mutex<BTreeSet<AccountId>>);

impl Withheld {
    pub(super) fn set(&self, accounts: impl IntoIterator<Item = AccountId>) {
        *self.0.lock().unwrap() = accounts.into_iter().collect();
    }
}

impl ScopeReader for Withheld {
    fn accounts_with(
        &self,
        scope: Scope,
        mut accounts: Vec<AccountId>,
        _: Timestamp,
    ) -> Reply<Result<Vec<AccountId>, StoreError>> {
        assert_eq!(scope, Scope::Webhooks);
        let withheld = self.0.lock().unwrap();
        accounts.retain(|account| !withheld.contains(account));
        Reply::now(Ok(accounts))
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
pub(super) struct Got {
    pub(super) url: String,
    pub(super) event: EventId,
    pub(super) attempt: u32,
    pub(super) at: Duration,
    pub(super) signature: String,
}

/// Answers by the address: `ok` accepts, `fail` answers 500, `gone` 410, `hang` never, and `flaky` fails once an event.
pub(super) struct Receivers {
    pub(super) start: Instant,
    got: Mutex<Vec<Got>>,
    pub(super) most: Mutex<BTreeMap<String, (usize, usize)>>,
}

impl Receivers {
    pub(super) fn got(&self, url: &str) -> Vec<Got> {
        self.got.lock().unwrap().iter().filter(|got| got.url.contains(url)).cloned().collect()
    }

    /// The number of attempts in flight at an address.
    pub(super) fn in_flight(&self, url: &str) -> usize {
        self.most.lock().unwrap().get(url).map_or(0, |(now, _)| *now)
    }

    /// The positions of the events that an address got, in their order.
    pub(super) fn positions(&self, url: &str) -> Vec<u64> {
        self.got(url).iter().map(|got| got.event.position.get()).collect()
    }
}

/// A log with events that cannot be read.
pub(super) struct DamagedLog {
    store: Arc<MemoryStore>,
    damaged: Mutex<RangeInclusive<u64>>,
    dropped: Mutex<u64>,
}

impl DamagedLog {
    pub(super) fn new(store: &Arc<MemoryStore>, damaged: RangeInclusive<u64>) -> Arc<Self> {
        Arc::new(Self { store: Arc::clone(store), damaged: Mutex::new(damaged), dropped: Mutex::default() })
    }

    pub(super) fn damage(&self, damaged: RangeInclusive<u64>) {
        *self.damaged.lock().unwrap() = damaged;
    }

    /// Drops the events up to a position.
    pub(super) fn drop_up_to(&self, position: u64) {
        *self.dropped.lock().unwrap() = position;
    }
}

impl EventReader for DamagedLog {
    fn bounds(&self) -> Reply<Result<EventBounds, StoreError>> {
        self.store.bounds()
    }

    /// Fails if any event of the page is damaged.
    fn read(&self, query: EventQuery) -> Reply<Result<EventRead, StoreError>> {
        let damaged = self.damaged.lock().unwrap().clone();
        let next = query.after.map_or(1, |after| after.get() + 1);
        let dropped = *self.dropped.lock().unwrap();
        if next <= dropped {
            let LogEnd { epoch, last } = self.store.end();
            let pruned = Position::new(dropped).unwrap();
            return Reply::now(Ok(EventRead::Expired(EventBounds { epoch, pruned, last, oldest_at: None })));
        }
        let last = self.store.end().last.get().min(next + query.positions_max - 1);
        if (next..=last).any(|position| damaged.contains(&position)) {
            return Reply::now(Err(StoreError::corrupt("events")));
        }
        self.store.read(query)
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
            let _counted = Counting::begin(&receivers, &url);
            // The deadline of a real courier.
            let pause = if url.contains("hang") { 15_000 } else { 10 };
            tokio::time::sleep(Duration::from_millis(pause)).await;
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

/// An attempt in flight, which may be cancelled.
struct Counting(Arc<Receivers>, String);

impl Counting {
    fn begin(receivers: &Arc<Receivers>, url: &str) -> Self {
        count(receivers, url, 1);
        Self(Arc::clone(receivers), url.to_owned())
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        count(&self.0, &self.1, -1);
    }
}

fn count(receivers: &Receivers, url: &str, change: isize) {
    let mut most = receivers.most.lock().unwrap();
    let (now, peak) = most.entry(url.to_owned()).or_default();
    *now = now.saturating_add_signed(change);
    *peak = (*peak).max(*now);
}

pub(super) struct World {
    pub(super) store: Arc<MemoryStore>,
    pub(super) service: Arc<Service>,
    pub(super) webhooks: WebhookService,
    pub(super) ports: DispatcherPorts,
    pub(super) receivers: Arc<Receivers>,
    pub(super) withheld: Arc<Withheld>,
    stop: Option<oneshot::Sender<()>>,
    running: Option<tokio::task::JoinHandle<()>>,
    pub(super) stats: Arc<DispatchStats>,
}

impl World {
    pub(super) fn new() -> Self {
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
        let withheld = Arc::new(Withheld::default());
        let ports = DispatcherPorts {
            webhooks: Arc::clone(&store) as _,
            deliveries: Arc::clone(&store) as _,
            scopes: Arc::clone(&withheld) as _,
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
        let (stop, running, stats) = (None, None, Arc::default());
        Self { store, service, webhooks, ports, receivers, withheld, stop, running, stats }
    }

    /// Starts a dispatcher.
    pub(super) fn start(&mut self) {
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
    pub(super) async fn stop(&mut self) {
        drop(self.stop.take());
        self.running.take().unwrap().await.unwrap();
    }

    /// Creates a webhook of an account.
    pub(super) async fn webhook_of(&self, account: AccountId, url: &str, from: LogPlace) -> WebhookId {
        self.create(account, url, DeliveryOrder::Relaxed, from).await
    }

    pub(super) async fn webhook(&self, url: &str, ordering: DeliveryOrder) -> WebhookId {
        self.create(ACCOUNT, url, ordering, LogPlace::Now).await
    }

    async fn create(
        &self,
        account: AccountId,
        url: &str,
        ordering: DeliveryOrder,
        from: LogPlace,
    ) -> WebhookId {
        let new = NewWebhook {
            url: WebhookUrl::parse(url).unwrap(),
            types: EventPatterns::parse(["category.*"]).unwrap(),
            description: None,
            ordering,
            is_enabled: true,
        };
        let made = self.webhooks.create_webhook(account, new, from, None).await.unwrap();
        made.result.unwrap().listing.webhook.id
    }

    /// Causes an event.
    pub(super) async fn event(&self, number: u64) {
        let name = CategoryName::parse(&format!("Category {number}")).unwrap();
        let made = self.service.create_category(NewCategory::new(name), None).await;
        made.unwrap().result.unwrap();
    }

    pub(super) async fn listing(&self, id: WebhookId) -> WebhookListing {
        self.webhooks.webhook(ACCOUNT, id).await.unwrap().unwrap()
    }
}

pub(super) async fn pass(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}
