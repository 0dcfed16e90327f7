//! Ports that never answer: every caller gets an error in time, in simulated time.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use petstore_domain::*;
use petstore_memory::MemoryStore;
use petstore_ports::api::*;
use petstore_ports::*;
use petstore_service::{OnQuotaOutage, Policy, Ports, Service};
use tokio::time::{Instant, timeout};

use crate::support::{HERE, call, category, new_key, now, ports, service};

/// A store whose calls never complete.
struct HungStore;

fn never<T: Send + 'static>() -> Reply<T> {
    Reply::later(std::future::pending())
}

#[async_trait]
impl Transactor for HungStore {
    async fn transact(&self, _transition: Arc<dyn Transition>) -> Result<(), StoreError> {
        std::future::pending().await
    }
}

#[async_trait]
impl PetReader for HungStore {
    fn pet(&self, _id: PetId) -> Reply<Result<Option<PetRecord>, StoreError>> {
        never()
    }

    async fn pets<'a>(
        &self,
        _filter: &PetFilter,
        _page: &PageRequest,
        _sink: PetSink<'a>,
    ) -> Result<PageEnd, StoreError> {
        std::future::pending().await
    }
}

#[async_trait]
impl CategoryReader for HungStore {
    fn category(&self, _id: CategoryId) -> Reply<Result<Option<CategoryRecord>, StoreError>> {
        never()
    }

    async fn categories<'a>(
        &self,
        _filter: &CategoryFilter,
        _page: &PageRequest,
        _sink: CategorySink<'a>,
    ) -> Result<PageEnd, StoreError> {
        std::future::pending().await
    }
}

#[async_trait]
impl OrderReader for HungStore {
    fn order(&self, _id: OrderId) -> Reply<Result<Option<OrderRecord>, StoreError>> {
        never()
    }

    async fn orders<'a>(
        &self,
        _filter: &OrderFilter,
        _page: &PageRequest,
        _sink: OrderSink<'a>,
    ) -> Result<PageEnd, StoreError> {
        std::future::pending().await
    }
}

impl EventReader for HungStore {
    fn bounds(&self) -> Reply<Result<EventBounds, StoreError>> {
        never()
    }

    fn read(&self, _query: EventQuery) -> Reply<Result<EventRead, StoreError>> {
        never()
    }
}

impl EventFeed for HungStore {
    fn end(&self) -> LogEnd {
        LogEnd { epoch: 0, last: Position::START }
    }

    fn changed(&self, _known: LogEnd, _filter: EventFilter) -> Reply<LogEnd> {
        Reply::later(std::future::pending())
    }
}

impl KeyReader for HungStore {
    fn credential(&self, _name: KeyLookup) -> Reply<Result<Option<Credential>, StoreError>> {
        never()
    }
}

#[async_trait]
impl AccountDirectory for HungStore {
    async fn accounts(&self, _after: Option<AccountId>, _limit: usize) -> Result<Vec<Account>, StoreError> {
        std::future::pending().await
    }

    async fn account_named(&self, _name: &FoldedName) -> Result<Option<Account>, StoreError> {
        std::future::pending().await
    }

    async fn keys(&self, _after: Option<KeyId>, _limit: usize) -> Result<Vec<KeyRecord>, StoreError> {
        std::future::pending().await
    }
}

impl IdempotencyRecords for HungStore {
    fn records_of(&self, _account: AccountId) -> Reply<Result<u32, StoreError>> {
        never()
    }
}

impl Quotas for HungStore {
    fn take(&self, _ask: &Ask) -> Reply<Result<Verdict, StoreError>> {
        never()
    }

    fn usage(
        &self,
        _account: AccountId,
        _limits: Limits,
        _now: Timestamp,
    ) -> Reply<Result<Usage, StoreError>> {
        never()
    }
}

impl AddressLimits for HungStore {
    fn take_address(
        &self,
        _address: IpAddr,
        _limit: Limit,
        _cost: Cost,
        _now: Timestamp,
    ) -> Reply<Result<AddressVerdict, StoreError>> {
        never()
    }
}

#[async_trait]
impl StoreHealth for HungStore {
    async fn check(&self, _now: Timestamp) -> Result<(), StoreError> {
        std::future::pending().await
    }
}

/// A service whose ports all hang.
fn hung() -> Service {
    let ports = ports();
    service(Ports::of_one_store(Arc::new(HungStore), ports.clock, ports.entropy, ports.timer))
}

/// The time of a key look-up, and of a request's other calls of the store.
const KEY: Duration = Duration::from_millis(500);
const STORE: Duration = Duration::from_millis(1500);
const QUOTA: Duration = Policy::DEFAULT.quota_timeout;

/// The output of a call, which must come exactly when the time is up.
#[track_caller]
fn ends_after<F: Future>(limit: Duration, call: F) -> impl Future<Output = F::Output> {
    let caller = std::panic::Location::caller();
    async move {
        let begun = Instant::now();
        let output = timeout(Duration::from_hours(1), call).await;
        let output = output.unwrap_or_else(|_| panic!("the call at {caller} never ends"));
        let late = begun.elapsed().saturating_sub(limit);
        assert!(begun.elapsed() >= limit && late <= Duration::from_millis(2), "{caller}: {late:?} late");
        output
    }
}

fn kind<T>(result: Result<T, StoreError>) -> StoreErrorKind {
    result.err().expect("the store does not answer").kind()
}

fn failure<T, R>(result: Result<T, Failure<R>>) -> StoreErrorKind {
    match result {
        Err(Failure::Store(error)) => error.kind(),
        _ => panic!("the store does not answer"),
    }
}

const FIRST_PAGE: PageRequest = PageRequest { order: SortDirection::Ascending, after: None, limit: 10 };

#[tokio::test(start_paused = true)]
async fn every_read_of_a_store_that_hangs_is_unavailable_in_time() {
    let hung = hung();
    let unavailable = StoreErrorKind::Unavailable;
    assert_eq!(kind(ends_after(STORE, hung.pet(PetId::FIRST)).await), unavailable);
    assert_eq!(kind(ends_after(STORE, hung.category(CategoryId::FIRST)).await), unavailable);
    assert_eq!(kind(ends_after(STORE, hung.order(OrderId::FIRST)).await), unavailable);
    assert_eq!(kind(ends_after(STORE, hung.item(PetId::FIRST)).await), unavailable);
    assert_eq!(kind(ends_after(STORE, hung.event_bounds()).await), unavailable);
    let id = EventId { epoch: 0, position: Position::START };
    assert_eq!(kind(ends_after(STORE, hung.event(AccountId::FIRST, id)).await), unavailable);
    let pets = PetFilter::default();
    assert_eq!(kind(ends_after(STORE, hung.list_pets(&pets, &FIRST_PAGE, &mut |_| {})).await), unavailable);
    assert_eq!(kind(ends_after(STORE, hung.list_items(&pets, &FIRST_PAGE, &mut |_| {})).await), unavailable);
    let (categories, mut sink) = (CategoryFilter::default(), |_: &CategoryRecord| {});
    let listed = hung.list_categories(&categories, &FIRST_PAGE, &mut sink);
    assert_eq!(kind(ends_after(STORE, listed).await), unavailable);
    let orders = OrderFilter::default();
    assert_eq!(
        kind(ends_after(STORE, hung.list_orders(&orders, &FIRST_PAGE, &mut |_| {})).await),
        unavailable
    );
}

#[tokio::test(start_paused = true)]
async fn a_write_that_hangs_is_indeterminate_in_time_and_one_that_did_not_begin_unavailable() {
    let hung = hung();
    let created = ends_after(STORE, hung.create_category(category("Dogs"), None)).await;
    assert_eq!(failure(created), StoreErrorKind::Indeterminate);
    let removed = ends_after(STORE, hung.delete_pet(PetId::FIRST, Precondition::None)).await;
    assert_eq!(failure(removed), StoreErrorKind::Indeterminate);
    // A request under an idempotency key first counts the stored answers. This call hangs, so nothing was written, and
    // the error is `Unavailable` rather than `Indeterminate`.
    let key = IdempotencyKey::parse(b"k").unwrap();
    let request = IdempotentRequest { account: AccountId::FIRST, key: &key, body: b"{}" };
    for _ in 0..2 {
        let created = ends_after(STORE, hung.create_category(category("Dogs"), Some(request))).await;
        assert_eq!(failure(created), StoreErrorKind::Unavailable);
    }
    let counts = hung.figures();
    assert_eq!((counts.done, counts.rejected, counts.failed), (0, 0, 4));
}

#[tokio::test(start_paused = true)]
async fn an_operator_is_told_in_time_that_the_store_hangs() {
    let hung = hung();
    let unavailable = StoreErrorKind::Unavailable;
    assert_eq!(kind(ends_after(STORE, hung.keys(None, 1)).await), unavailable);
    assert_eq!(kind(ends_after(STORE, hung.accounts(None, 1)).await), unavailable);
    let name = AccountName::parse("default").unwrap();
    assert_eq!(kind(ends_after(STORE, hung.account_named(&name)).await), unavailable);
    assert_eq!(failure(ends_after(STORE, hung.ensure_initial_key(None)).await), unavailable);
    assert_eq!(failure(ends_after(STORE, hung.create_key(new_key())).await), StoreErrorKind::Indeterminate);
    let failing = ends_after(STORE, hung.failing_checks()).await;
    assert!(failing[0].reason.contains("the store did not answer in time"), "{failing:?}");
}

fn refused(result: Result<Admission<'_>, Refusal>) -> StoreErrorKind {
    match result {
        Err(Refusal::Store(error)) => error.kind(),
        other => panic!("the gate cannot judge: {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn the_gate_refuses_in_time_whichever_of_its_ports_hangs() {
    let unavailable = StoreErrorKind::Unavailable;
    let secret = ApiKey::from_entropy([7; 32]);
    let no_keys = service(Ports { keys: Arc::new(HungStore), ..ports() });
    assert_eq!(refused(ends_after(KEY, no_keys.admit(call(&secret))).await), unavailable);

    let no_quotas = service(Ports { quotas: Arc::new(HungStore), ..ports() });
    let secret = no_quotas.create_key(new_key()).await.unwrap().secret;
    assert_eq!(refused(ends_after(QUOTA, no_quotas.admit(call(&secret))).await), unavailable);

    let no_addresses = service(Ports { addresses: Arc::new(HungStore), ..ports() });
    let judged = ends_after(QUOTA, no_addresses.admit_address(HERE, Cost::One, now())).await;
    assert_eq!(kind(judged), unavailable);
}

#[test]
fn the_look_up_of_a_key_and_the_operation_share_the_time_of_a_request() {
    assert_eq!(KEY + STORE, Policy::DEFAULT.store_timeout);
}

#[tokio::test(start_paused = true)]
async fn substitute_quotas_count_once_the_quota_store_has_not_answered_in_time() {
    let on_quota_outage = OnQuotaOutage::CountWith(Arc::new(MemoryStore::new()));
    let counting = service(Ports { quotas: Arc::new(HungStore), on_quota_outage, ..ports() });
    let secret = counting.create_key(new_key()).await.unwrap().secret;
    let admitted = ends_after(QUOTA, counting.admit(call(&secret))).await;
    assert_eq!(admitted.unwrap().usage.minute.remaining, 59);
}

/// Counts the timers that are made.
struct CountedTimer(AtomicU32);

impl Timer for CountedTimer {
    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    fn sleep(&self, _duration: Duration) -> Reply<()> {
        self.0.fetch_add(1, Ordering::Relaxed);
        never()
    }
}

#[tokio::test]
async fn a_store_that_answers_at_once_costs_no_timer() {
    let timer = Arc::new(CountedTimer(AtomicU32::new(0)));
    let service = service(Ports { timer: Arc::clone(&timer) as _, ..ports() });
    let secret = service.create_key(new_key()).await.unwrap().secret;
    assert!(service.admit(call(&secret)).await.is_ok());
    assert!(service.create_category(category("Dogs"), None).await.is_ok());
    assert_eq!(service.pet(PetId::FIRST).await, Ok(None));
    assert!(service.list_pets(&PetFilter::default(), &FIRST_PAGE, &mut |_| {}).await.is_ok());
    assert!(service.failing_checks().await.is_empty());
    assert_eq!(timer.0.load(Ordering::Relaxed), 0);
}
