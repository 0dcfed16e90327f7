//! A service over the memory store, with a clock that always shows the same time and tokio's timer.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use petstore_domain::*;
use petstore_memory::MemoryStore;
use petstore_ports::api::*;
use petstore_ports::*;
use petstore_service::{Policy, Ports, Service};
use tokio::time::Instant;

pub(crate) const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

pub(crate) fn now() -> Timestamp {
    Timestamp::parse("2030-01-01T12:00:00Z").unwrap()
}

pub(crate) fn clock() -> Arc<dyn Clock> {
    let mut clock = MockClock::new();
    clock.expect_now().returning(now);
    Arc::new(clock)
}

pub(crate) fn entropy() -> Arc<dyn Entropy> {
    let mut entropy = MockEntropy::new();
    entropy.expect_bits().returning(|| Ok([7; 32]));
    Arc::new(entropy)
}

/// The ports of a memory store. A test replaces some of them by mocks.
pub(crate) fn ports() -> Ports {
    Ports::of_one_store(
        Arc::new(MemoryStore::new()),
        clock(),
        entropy(),
        Arc::new(TokioTimer(Instant::now())),
    )
}

pub(crate) fn service(ports: Ports) -> Service {
    Service::new(ports, Policy::DEFAULT)
}

pub(crate) fn category(name: &str) -> NewCategory {
    NewCategory::new(CategoryName::parse(name).unwrap())
}

pub(crate) fn new_key() -> NewKey {
    NewKey {
        holder: KeyHolder::New { plan: Plan::Free },
        label: KeyLabel::parse("").unwrap(),
        scopes: Scopes::DEFAULT,
        expires_at: None,
    }
}

pub(crate) fn call(key: &ApiKey) -> Call<'_> {
    Call { key: key.as_bytes(), address: HERE, cost: Cost::One, now: now() }
}

/// A timer that measures tokio's time, which a test can pause.
struct TokioTimer(Instant);

impl Timer for TokioTimer {
    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    fn sleep(&self, duration: Duration) -> Reply<()> {
        Reply::later(async move { tokio::time::sleep(duration).await })
    }
}
