//! Claims of webhooks that fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use petstore_domain::*;
use petstore_memory::MemoryStore;
use petstore_ports::*;

use super::world::{World, pass};

/// A store whose next claims fail, as many as this.
struct FailingClaims {
    store: Arc<MemoryStore>,
    failures: AtomicUsize,
}

impl DeliveryLog for FailingClaims {
    fn claim(
        &self,
        webhooks: Vec<WebhookId>,
        now: Timestamp,
    ) -> Reply<Result<Vec<ClaimedWebhook>, StoreError>> {
        let failing =
            self.failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        if failing.is_ok() {
            return Reply::now(Err(StoreError::unavailable("a claim")));
        }
        self.store.claim(webhooks, now)
    }

    fn renew(
        &self,
        leases: Vec<DeliveryLease>,
        now: Timestamp,
    ) -> Reply<Result<Vec<DeliveryLease>, StoreError>> {
        self.store.renew(leases, now)
    }

    fn release(&self, leases: Vec<DeliveryLease>) -> Reply<Result<(), StoreError>> {
        self.store.release(leases)
    }

    fn save(
        &self,
        lease: DeliveryLease,
        progress: Progress,
        updates: Vec<DeliveryUpdate>,
    ) -> Reply<Result<LeaseState, StoreError>> {
        self.store.save(lease, progress, updates)
    }

    fn flush(&self) -> Reply<Result<(), StoreError>> {
        self.store.flush()
    }

    fn progress(&self, webhook: WebhookId) -> Reply<Result<Option<Progress>, StoreError>> {
        self.store.progress(webhook)
    }

    fn deliveries(&self, query: DeliveryQuery) -> Reply<Result<Vec<Delivery>, StoreError>> {
        self.store.deliveries(query)
    }

    fn delivery(&self, webhook: WebhookId, event: EventId) -> Reply<Result<Option<Delivery>, StoreError>> {
        self.store.delivery(webhook, event)
    }
}

#[tokio::test(start_paused = true)]
async fn deliveries_are_settled_only_when_a_webhook_whose_claim_failed_has_its_events() {
    let mut world = World::new();
    let claims = Arc::new(FailingClaims { store: Arc::clone(&world.store), failures: AtomicUsize::new(0) });
    world.ports.deliveries = Arc::clone(&claims) as _;
    world.start();
    pass(2).await;
    claims.failures.store(1, Ordering::SeqCst);
    world.webhook("https://ok", DeliveryOrder::Relaxed).await;
    world.event(1).await;
    let round = world.stats.round();
    for _ in 0..1_000 {
        tokio::time::sleep(Duration::from_millis(5)).await;
        if world.stats.was_settled_after(round, world.store.end()) {
            break;
        }
    }
    assert!(world.stats.was_settled_after(round, world.store.end()), "not settled in 5 s");
    assert_eq!(claims.failures.load(Ordering::SeqCst), 0);
    assert_eq!(world.receivers.positions("ok"), [1], "settled without the event");
    world.stop().await;
}
