//! A quota store that is down: the circuit breaker, and requests that end before the store has judged them.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use petstore_domain::*;
use petstore_memory::MemoryStore;
use petstore_ports::api::*;
use petstore_ports::*;
use petstore_service::{OnQuotaOutage, Policy, Ports, QuotaShares, Service};
use tokio::time::advance;

use crate::support::{call, new_key, ports, service};

#[derive(Debug, Clone)]
enum Mode {
    Works,
    Fails(StoreError),
    Hangs,
}

/// Quotas that fail on demand, and count their calls.
struct Scripted {
    store: MemoryStore,
    mode: Mutex<Mode>,
    calls: AtomicU32,
}

impl Scripted {
    fn new(mode: Mode) -> Arc<Self> {
        Arc::new(Self { store: MemoryStore::new(), mode: Mutex::new(mode), calls: AtomicU32::new(0) })
    }

    fn set(&self, mode: Mode) {
        *self.mode.lock().unwrap() = mode;
    }

    /// The number of calls of the quotas since the last call of this function.
    fn calls(&self) -> u32 {
        self.calls.swap(0, Ordering::SeqCst)
    }

    fn reply<T: Send + 'static>(
        &self,
        works: impl FnOnce(&MemoryStore) -> Reply<Result<T, StoreError>>,
    ) -> Reply<Result<T, StoreError>> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        match &*self.mode.lock().unwrap() {
            Mode::Works => works(&self.store),
            Mode::Fails(error) => Reply::now(Err(error.clone())),
            Mode::Hangs => Reply::later(std::future::pending()),
        }
    }
}

impl Quotas for Scripted {
    fn take(&self, ask: &Ask) -> Reply<Result<Verdict, StoreError>> {
        self.reply(|store| store.take(ask))
    }

    fn usage(&self, account: AccountId, limits: Limits, now: Timestamp) -> Reply<Result<Usage, StoreError>> {
        self.reply(|store| Quotas::usage(store, account, limits, now))
    }
}

fn down() -> Mode {
    Mode::Fails(StoreError::unavailable("connection refused"))
}

fn over(quotas: &Arc<Scripted>) -> Service {
    service(Ports { quotas: Arc::clone(quotas) as _, ..ports() })
}

async fn secret(service: &Service) -> ApiKey {
    service.create_key(new_key()).await.unwrap().secret
}

/// Sends one request, and ends it if it was admitted.
async fn ask(service: &Service, secret: &ApiKey) -> Result<(), StoreError> {
    match service.admit(call(secret)).await {
        Ok(_admission) => Ok(()),
        Err(Refusal::Store(error)) => Err(error),
        Err(other) => panic!("neither admitted nor an outage: {other:?}"),
    }
}

/// Sends three requests, each at a time at which its failure is counted. Returns their results.
async fn ask_three_times(service: &Service, secret: &ApiKey) -> [Result<(), StoreError>; 3] {
    let mut results = [Ok(()), Ok(()), Ok(())];
    for result in &mut results {
        advance(Duration::from_millis(50)).await;
        *result = ask(service, secret).await;
    }
    results
}

#[tokio::test(start_paused = true)]
async fn a_quota_store_that_fails_three_times_is_left_alone_for_a_while_and_then_probed() {
    let quotas = Scripted::new(down());
    let service = over(&quotas);
    let secret = secret(&service).await;
    assert_eq!(service.quota_fault(), None);
    assert!(ask_three_times(&service, &secret).await.iter().all(Result::is_err));
    assert_eq!(quotas.calls(), 3);
    assert_eq!(service.quota_fault(), Some(StoreError::unavailable("connection refused")));
    for _ in 0..10 {
        let error = ask(&service, &secret).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Unavailable);
        assert!(error.report().contains("connection refused"), "{}", error.report());
    }
    assert_eq!(quotas.calls(), 0);

    // A probe that fails keeps the circuit open for another quarter of a second.
    advance(Duration::from_millis(250)).await;
    assert!(ask(&service, &secret).await.is_err() && ask(&service, &secret).await.is_err());
    assert_eq!(quotas.calls(), 1);
    quotas.set(Mode::Works);
    advance(Duration::from_millis(249)).await;
    assert!(ask(&service, &secret).await.is_err());
    advance(Duration::from_millis(1)).await;
    for _ in 0..5 {
        assert_eq!(ask(&service, &secret).await, Ok(()));
    }
    assert_eq!((quotas.calls(), service.quota_fault()), (5, None));
    let counts = service.figures();
    assert_eq!((counts.quota_failures, counts.quota_unasked), (4, 12));
}

#[tokio::test(start_paused = true)]
async fn requests_that_fail_together_are_no_reason_to_leave_the_quota_store_alone() {
    let quotas = Scripted::new(Mode::Fails(StoreError::indeterminate("the connection was lost")));
    let service = over(&quotas);
    let secret = secret(&service).await;
    // All of them were sent over one connection, which is lost. The next ones are sent over another connection.
    for _ in 0..20 {
        assert!(ask(&service, &secret).await.is_err());
    }
    quotas.set(Mode::Works);
    for _ in 0..5 {
        assert_eq!(ask(&service, &secret).await, Ok(()));
    }
    assert_eq!((quotas.calls(), service.quota_fault()), (25, None));
    assert_eq!((service.figures().quota_failures, service.figures().quota_unasked), (20, 0));
}

#[tokio::test(start_paused = true)]
async fn one_caller_probes_and_one_that_goes_away_leaves_the_probe_to_the_next() {
    let quotas = Scripted::new(down());
    let service = over(&quotas);
    let secret = secret(&service).await;
    assert!(ask_three_times(&service, &secret).await.iter().all(Result::is_err));
    quotas.set(Mode::Hangs);
    advance(Duration::from_millis(250)).await;
    assert_eq!(quotas.calls(), 3);
    {
        let mut probe = std::pin::pin!(service.admit(call(&secret)));
        let polled = std::future::poll_fn(|context| Poll::Ready(probe.as_mut().poll(context))).await;
        assert!(polled.is_pending());
        assert!(ask(&service, &secret).await.is_err(), "others do not wait for the probe");
        assert_eq!(quotas.calls(), 1);
    }
    quotas.set(Mode::Works);
    assert_eq!(ask(&service, &secret).await, Ok(()));
    assert_eq!((quotas.calls(), service.quota_fault()), (1, None));
}

#[tokio::test(start_paused = true)]
async fn a_quota_store_that_hangs_is_left_alone_too() {
    let quotas = Scripted::new(Mode::Hangs);
    let service = over(&quotas);
    let secret = secret(&service).await;
    let begun = tokio::time::Instant::now();
    for _ in 0..100 {
        assert!(ask(&service, &secret).await.is_err());
    }
    let waited = begun.elapsed();
    assert!(waited < 4 * Policy::DEFAULT.quota_timeout, "three requests waited, not a hundred: {waited:?}");
}

#[tokio::test(start_paused = true)]
async fn a_request_whose_count_is_unknown_was_not_executed() {
    let quotas = Scripted::new(Mode::Fails(StoreError::indeterminate("the reply was lost")));
    let service = over(&quotas);
    let secret = secret(&service).await;
    let error = ask(&service, &secret).await.unwrap_err();
    assert_eq!(error, StoreError::unavailable("the reply was lost"));
}

#[tokio::test(start_paused = true)]
async fn errors_of_single_requests_do_not_open_the_circuit() {
    for error in [StoreError::busy("the queue is full"), StoreError::corrupt("no such account")] {
        let quotas = Scripted::new(Mode::Fails(error));
        let service = over(&quotas);
        let secret = secret(&service).await;
        for _ in 0..10 {
            assert!(ask(&service, &secret).await.is_err());
        }
        assert_eq!((quotas.calls(), service.quota_fault()), (10, None));
    }
}

#[tokio::test(start_paused = true)]
async fn quotas_that_stand_in_count_while_the_circuit_is_open() {
    let (quotas, local) = (Scripted::new(down()), Scripted::new(Mode::Works));
    let on_quota_outage = OnQuotaOutage::CountWith(Arc::clone(&local) as _);
    let service = service(Ports { quotas: Arc::clone(&quotas) as _, on_quota_outage, ..ports() });
    let secret = secret(&service).await;
    // Each of the first three fails at a time at which its failure is counted.
    for left in (0..60).rev() {
        assert_eq!(service.admit(call(&secret)).await.unwrap().usage.minute.remaining, left);
        if left >= 57 {
            advance(Duration::from_millis(50)).await;
        }
    }
    assert!(matches!(service.admit(call(&secret)).await, Err(Refusal::Exceeded { .. })));
    assert_eq!((quotas.calls(), local.calls()), (3, 61));
    assert_eq!(service.figures().quota_stand_ins, 61);
}

#[tokio::test(start_paused = true)]
async fn of_several_nodes_that_count_for_themselves_each_admits_its_share() {
    let nodes = Arc::new(AtomicU32::new(3));
    let live = Arc::clone(&nodes);
    let shares =
        QuotaShares::new(Arc::new(MemoryStore::new()), Box::new(move || live.load(Ordering::SeqCst)));
    let on_quota_outage = OnQuotaOutage::CountWith(Arc::new(shares));
    let service = service(Ports { quotas: Scripted::new(down()), on_quota_outage, ..ports() });
    let secret = secret(&service).await;
    for left in (0..20).rev() {
        let usage = service.admit(call(&secret)).await.unwrap().usage;
        assert_eq!((usage.minute.limit, usage.minute.remaining, usage.day.limit), (20, left, 333));
    }
    assert!(matches!(service.admit(call(&secret)).await, Err(Refusal::Exceeded { .. })));
    // A node that is alone has the whole quota.
    nodes.store(1, Ordering::SeqCst);
    assert_eq!(service.admit(call(&secret)).await.unwrap().usage.minute.remaining, 39);
}

/// The health of a quota store.
struct Unhealthy(&'static str);

#[async_trait::async_trait]
impl StoreHealth for Unhealthy {
    async fn check(&self, _now: Timestamp) -> Result<(), StoreError> {
        Err(StoreError::unavailable(self.0))
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_is_not_ready_while_its_quota_store_refuses_all_requests() {
    let quotas = Scripted::new(down());
    let refusing = over(&quotas);
    let failing =
        FailingCheck { name: "quotas", reason: "the store is unavailable: connection refused".to_owned() };
    assert_eq!(refusing.failing_checks().await, []);
    let secret = secret(&refusing).await;
    assert!(ask_three_times(&refusing, &secret).await.iter().all(Result::is_err));
    assert_eq!(refusing.failing_checks().await, [failing]);
    // Without requests nothing probes the quota store. So the service must become ready again to get requests.
    advance(Duration::from_secs(1)).await;
    assert_eq!((refusing.failing_checks().await, refusing.quota_fault()), (vec![], None));
    assert!(ask(&refusing, &secret).await.is_err());
    assert_eq!(refusing.failing_checks().await.len(), 1);
    // A service whose requests are counted by others is ready.
    let on_quota_outage = OnQuotaOutage::CountWith(Scripted::new(Mode::Works) as _);
    let counting = service(Ports { quotas: Scripted::new(down()), on_quota_outage, ..ports() });
    let secret = self::secret(&counting).await;
    assert!(ask_three_times(&counting, &secret).await.iter().all(Result::is_ok));
    assert!(counting.quota_fault().is_some());
    assert_eq!(counting.failing_checks().await, []);
    // The quota store itself may know a reason.
    let quota_health: Option<Arc<dyn StoreHealth>> = Some(Arc::new(Unhealthy("wrong clock")));
    let told = service(Ports { quota_health, ..ports() }).failing_checks().await;
    assert_eq!(
        told,
        [FailingCheck { name: "quotas", reason: "the store is unavailable: wrong clock".to_owned() }]
    );
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_goes_away_before_its_verdict_leaves_no_place_taken() {
    let quotas = Scripted::new(Mode::Hangs);
    let policy = Policy { in_flight_max: 1, ..Policy::DEFAULT };
    let service = Service::new(Ports { quotas: Arc::clone(&quotas) as _, ..ports() }, policy);
    let secret = secret(&service).await;
    {
        let mut waiting = std::pin::pin!(service.admit(call(&secret)));
        let polled = std::future::poll_fn(|context| Poll::Ready(waiting.as_mut().poll(context))).await;
        assert!(polled.is_pending());
        quotas.set(Mode::Works);
        let second = service.admit(call(&secret)).await;
        assert!(matches!(second, Err(Refusal::TooManyInFlight { .. })), "{second:?}");
    }
    let admitted = service.admit(call(&secret)).await.unwrap();
    assert_eq!(admitted.usage.minute.remaining, 59, "neither the one nor the other was counted");
}
