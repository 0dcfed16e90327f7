//! The webhooks that the document's examples assume: one that is failing, with two deliveries, and one that is disabled.

use std::sync::Arc;
use std::time::Duration;

use petstore_domain::{
    AccountId, Attempt, AttemptError, AttemptOutcome, AttemptTrigger, CreateWebhook, DeliveryOrder,
    DeliveryStatus, DeliveryUpdate, Description, DisabledReason, EventId, EventKind, EventPatterns,
    NewWebhook, Patch, PendingDelivery, Precondition, Progress, ReceiverAnswer, Resume, Timestamp,
    UpdateWebhook, WebhookId, WebhookPatch, WebhookUrl,
};
use petstore_ports::{LeaseState, run};

use super::stock::NOW;
use crate::harness::Shop;

/// The webhook with deliveries, and the one that is disabled.
pub(super) const WEBHOOK: &str = "whk_3mKqX7aBcDeFgHiJkLmNoP";
pub(super) const PAUSED_WEBHOOK: &str = "whk_4nLrY8bCdEfGhIjKlMnOpQ";

/// A well-formed id that no webhook has.
pub(super) const UNKNOWN_WEBHOOK: &str = "whk_0000000000000000000001";

/// A text in the form of an id of a webhook that no webhook can have, because it stands for more than 128 bits.
pub(super) const NO_WEBHOOK: &str = "whk_zzzzzzzzzzzzzzzzzzzzzz";

/// The event that was delivered, and the event whose delivery is to be tried again.
pub(super) const DELIVERED: &str = "evt_4GzozDqipuZAzAldp7sbGU";
pub(super) const PENDING: &str = "evt_4GzozDqipuZAzAldp7sbGX";

/// The last event before those.
const BEFORE: &str = "evt_4GzozDqipuZAzAldp7sbGT";

/// Creates the webhooks of an account.
pub(super) fn fill(shop: &Shop, account: AccountId) {
    shop.block_on(async {
        let types = EventPatterns::parse(["order.*", "pet.status_changed"]).unwrap();
        let url = "https://hooks.example/petstore";
        create(shop, account, WEBHOOK, (url, types, DeliveryOrder::Relaxed)).await;
        let url = "https://backup.example/hooks";
        create(shop, account, PAUSED_WEBHOOK, (url, EventPatterns::any(), DeliveryOrder::Strict)).await;
        deliver(shop).await;
    });
}

/// Creates a webhook and changes it once, so that it is in its second version. The disabled one is disabled by that.
async fn create(
    shop: &Shop,
    account: AccountId,
    id: &str,
    (url, types, ordering): (&str, EventPatterns, DeliveryOrder),
) {
    let (ports, now) = (shop.webhook_ports(), Timestamp::parse(NOW).unwrap());
    let id = WebhookId::parse(id).unwrap();
    let url = WebhookUrl::parse(url).unwrap();
    let operation = CreateWebhook {
        account,
        id,
        new: NewWebhook { url, types, description: None, ordering, is_enabled: true },
        nonce: [7; 32],
        master: ports.signer.prepare().unwrap(),
        after: EventId::parse(BEFORE).unwrap(),
        webhooks_max: 2,
        now,
    };
    run(&*ports.transactor, operation, now).await.unwrap().unwrap();
    let patch = if ordering == DeliveryOrder::Strict {
        WebhookPatch { is_enabled: Some(false), ..WebhookPatch::default() }
    } else {
        let description = Description::parse("The shop in the old town").unwrap();
        WebhookPatch { description: Patch::Set(description), ..WebhookPatch::default() }
    };
    let (resume, reason) = (Resume::Continue, DisabledReason::User);
    let operation =
        UpdateWebhook { account, id, patch, precondition: Precondition::None, end: None, resume, reason };
    run(&*ports.transactor, operation, now).await.unwrap().unwrap();
}

/// Saves two deliveries, as the dispatcher does: one was accepted, and one is to be tried again.
async fn deliver(shop: &Shop) {
    let (ports, at) = (shop.webhook_ports(), Timestamp::parse(NOW).unwrap());
    let [delivered, pending] = [DELIVERED, PENDING].map(|id| EventId::parse(id).unwrap());
    let retry_at = at.plus(Duration::from_secs(5));
    let attempt = |outcome| Attempt { at, number: 1, trigger: AttemptTrigger::Schedule, outcome };
    let text = |status, body: &str| {
        let (body, content_type) = (Some(body.into()), Some("text/plain".into()));
        Box::new(ReceiverAnswer { status, body, content_type, ..ReceiverAnswer::default() })
    };
    let accepted =
        AttemptOutcome { duration: Duration::from_millis(41), error: None, answer: Some(text(200, "OK")) };
    let mut busy = text(503, "later");
    busy.retry_after = Some("1".into());
    let refused = AttemptOutcome {
        duration: Duration::from_millis(120),
        error: Some(AttemptError::Status),
        answer: Some(busy),
    };
    let updates = vec![
        DeliveryUpdate {
            event: delivered,
            kind: EventKind::OrderPlaced,
            attempt: Some(attempt(accepted)),
            status: DeliveryStatus::Delivered,
            next_attempt_at: None,
            at,
        },
        DeliveryUpdate {
            event: pending,
            kind: EventKind::PetStatusChanged,
            attempt: Some(attempt(refused)),
            status: DeliveryStatus::Pending,
            next_attempt_at: Some(retry_at),
            at,
        },
    ];
    let waiting = PendingDelivery {
        position: pending.position,
        attempts: 1,
        due: retry_at,
        wait: retry_at.since(at),
        is_in_flight: false,
        is_manual: false,
    };
    let progress = Progress {
        pending: vec![waiting],
        failing_since: Some(at),
        failures: 1,
        last_success_at: Some(at),
        ..Progress::new(1, pending.epoch, pending.position)
    };
    let webhook = WebhookId::parse(WEBHOOK).unwrap();
    let log = Arc::clone(&ports.deliveries);
    let claimed = log.claim(vec![webhook], at).await.unwrap();
    assert_eq!(log.save(claimed[0].lease, progress, updates).await, Ok(LeaseState::Held));
    log.flush().await.unwrap();
    log.release(vec![claimed[0].lease]).await.unwrap();
}
