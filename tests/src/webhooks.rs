//! Webhooks: their settings, their leases, their progress and their deliveries.

use std::sync::Arc;
use std::time::Duration;

use petstore_domain::{
    AccountId, AccountWebhooks, AnswerCut, Attempt, AttemptError, AttemptOutcome, AttemptTrigger,
    CreateWebhook, CreateWebhookRejection, DeleteWebhook, Delivery, DeliveryOrder, DeliveryPause,
    DeliveryStatus, DeliveryStatusSet, DeliveryUpdate, DisableWebhook, DisabledReason, EventId, EventKind,
    EventKinds, EventPatterns, MasterKeyId, NewWebhook, PendingDelivery, Plan, Position, Precondition,
    Progress, ReceiverAnswer, SeenTypes, Timestamp, Webhook, WebhookId, WebhookUrl,
};
use petstore_ports::{
    ClaimedWebhook, DELIVERY_LEASE, DeliveryLease, DeliveryLog, DeliveryQuery, LeaseState, SETTLED_KEPT,
    ScopeReader, SortDirection, WebhookReader,
};

use crate::make::at;
use crate::subject::{PortsOf, SubjectWith};
use crate::together::together;

/// A store that keeps webhooks and their deliveries, and its other ports.
pub type WebhookSubject = SubjectWith<WebhookPorts>;

/// The ports of webhooks.
#[derive(Clone)]
pub struct WebhookPorts {
    /// Reads the settings of webhooks.
    pub webhooks: Arc<dyn WebhookReader>,
    /// Keeps their progress and their deliveries.
    pub deliveries: Arc<dyn DeliveryLog>,
    /// Finds the accounts that may have webhooks.
    pub scopes: Arc<dyn ScopeReader>,
}

impl<S: WebhookReader + DeliveryLog + ScopeReader + 'static> PortsOf<S> for WebhookPorts {
    fn of(store: &Arc<S>) -> Self {
        let (webhooks, deliveries) = (Arc::clone(store) as _, Arc::clone(store) as _);
        Self { webhooks, deliveries, scopes: Arc::clone(store) as _ }
    }
}

/// The number of webhooks that an account may have in these cases.
const WEBHOOKS_MAX: usize = 3;

const ANSWERS: &str = "the store answers";

impl WebhookSubject {
    async fn account(&self) -> AccountId {
        self.subject.add_account(Plan::Free).await.account.id
    }

    async fn create(&self, account: AccountId, id: WebhookId) -> Result<Webhook, CreateWebhookRejection> {
        self.subject.run(creation(account, id)).await
    }

    /// A new webhook of a new account.
    async fn one(&self, bits: u128) -> (AccountId, WebhookId) {
        let (account, id) = (self.account().await, WebhookId::from_bits(bits));
        self.create(account, id).await.expect("the first webhook of an account");
        (account, id)
    }

    async fn webhooks_of(&self, account: AccountId) -> AccountWebhooks {
        self.ports.webhooks.webhooks_of(account).await.expect(ANSWERS)
    }

    async fn claim(&self, id: WebhookId, now: Timestamp) -> Option<ClaimedWebhook> {
        self.ports.deliveries.claim(vec![id], now).await.expect(ANSWERS).pop()
    }

    async fn save(
        &self,
        lease: DeliveryLease,
        progress: &Progress,
        updates: Vec<DeliveryUpdate>,
    ) -> LeaseState {
        self.ports.deliveries.save(lease, progress.clone(), updates).await.expect(ANSWERS)
    }

    async fn page(&self, query: DeliveryQuery) -> Vec<u64> {
        let found = self.ports.deliveries.deliveries(query).await.expect(ANSWERS);
        found.iter().map(|delivery| delivery.event.position.get()).collect()
    }
}

fn creation(account: AccountId, id: WebhookId) -> CreateWebhook {
    let new = NewWebhook {
        url: WebhookUrl::parse("https://example.com/hook?\"'\\").expect("visible"),
        types: EventPatterns::parse(["order.*", "pet.created"]).expect("known types"),
        description: None,
        ordering: DeliveryOrder::Strict,
        is_enabled: true,
    };
    CreateWebhook {
        account,
        id,
        new,
        nonce: [0xE7; 32],
        master: MasterKeyId([0x81; 8]),
        after: event(5),
        webhooks_max: WEBHOOKS_MAX,
        now: at(1),
    }
}

fn event(position: u64) -> EventId {
    EventId { epoch: u64::MAX - 1, position: Position::new(position).expect("in range") }
}

/// The result of an attempt at an event.
fn update(position: u64, status: DeliveryStatus, now: Timestamp) -> DeliveryUpdate {
    let cut = Some(AnswerCut::TooLong);
    let answer =
        ReceiverAnswer { status: 503, body: Some("b\u{e9}".into()), cut, ..ReceiverAnswer::default() };
    let outcome = AttemptOutcome {
        duration: Duration::from_millis(7),
        error: (status != DeliveryStatus::Delivered).then_some(AttemptError::Status),
        answer: Some(Box::new(answer)),
    };
    DeliveryUpdate {
        event: event(position),
        kind: EventKind::OrderPlaced,
        attempt: Some(Attempt { at: now, number: 1, trigger: AttemptTrigger::Schedule, outcome }),
        status,
        next_attempt_at: (status == DeliveryStatus::Pending).then_some(now.plus(Duration::from_secs(5))),
        at: now,
    }
}

fn progress() -> Progress {
    let pending = PendingDelivery {
        position: event(6).position,
        attempts: 2,
        due: at(70),
        wait: Duration::from_mins(5),
        is_in_flight: false,
        is_manual: true,
    };
    let mut seen = EventKinds::default();
    seen.add(EventKind::PetCreated);
    seen.add(EventKind::OrderPlaced);
    Progress {
        run: 1,
        epoch: event(5).epoch,
        scanned: event(9).position,
        pending: vec![pending],
        failing_since: Some(at(3)),
        failures: 2,
        last_success_at: Some(at(2)),
        redelivered: 4,
        is_stopped: false,
        asked: Some(DeliveryPause { until: at(80), length: Duration::from_mins(1) }),
        rest: Some(DeliveryPause { until: at(76), length: Duration::from_secs(16) }),
        is_unreadable: true,
        receiver: Some(u64::MAX - 2),
        seen: Some(SeenTypes { kinds: seen, certain_to: event(8).position }),
    }
}

fn all(webhook: WebhookId) -> DeliveryQuery {
    let (statuses, kinds, order) = (DeliveryStatusSet::ANY, EventKinds::ANY, SortDirection::Ascending);
    DeliveryQuery { webhook, statuses, kinds, order, after: None, limit: 100_000 }
}

/// An account never has more webhooks than it may have, however many are created at once.
pub async fn concurrent_creations_keep_the_limit(subject: &WebhookSubject) {
    let account = subject.account().await;
    let create = |number: usize| {
        let subject = subject.clone();
        async move { subject.create(account, WebhookId::from_bits(number as u128)).await.is_ok() }
    };
    let made = together(12, create).await.into_iter().filter(|is_made| *is_made).count();
    assert_eq!(made, WEBHOOKS_MAX, "as many as the account may have are created");
    assert_eq!(subject.webhooks_of(account).await.webhooks.len(), WEBHOOKS_MAX, "and are kept");
    assert!(subject.webhooks_of(subject.account().await).await.webhooks.is_empty(), "others have none");
}

/// Every value of a webhook is read as it was written.
pub async fn a_webhook_is_read_as_it_was_written(subject: &WebhookSubject) {
    let account = subject.account().await;
    let made = subject.create(account, WebhookId::from_bits(u128::MAX)).await.expect("it is created");
    assert_eq!(subject.webhooks_of(account).await.webhooks, std::slice::from_ref(&made));
    let disable =
        DisableWebhook { account, id: made.id, reason: DisabledReason::Failing, run: made.run.number };
    assert_eq!(subject.subject.run(disable).await, Ok(true));
    let after = subject.webhooks_of(account).await.webhooks;
    assert_eq!(after[0].disabled, Some(DisabledReason::Failing));
    assert_eq!(after[0].secret, made.secret);
    assert_eq!(after[0].version, made.version.next());
}

/// A reader of changes learns of each new, changed and deleted webhook.
pub async fn changes_are_told(subject: &WebhookSubject) {
    let start = subject.ports.webhooks.changed_webhooks(0).await.expect(ANSWERS);
    assert!(start.accounts.is_empty(), "an empty store has no webhooks");
    let (account, id) = subject.one(1).await;
    let (other, _) = subject.one(2).await;
    let made = subject.ports.webhooks.changed_webhooks(start.revision).await.expect(ANSWERS);
    let mut accounts: Vec<_> = made.accounts.iter().map(|record| record.account).collect();
    accounts.sort_unstable();
    assert_eq!(accounts, [account, other], "both accounts are told");
    let none = subject.ports.webhooks.changed_webhooks(made.revision).await.expect(ANSWERS);
    assert!(none.accounts.is_empty() && !none.is_complete, "nothing has changed since");
    assert_eq!(none.revision, made.revision);
    let delete = DeleteWebhook { account, id, precondition: Precondition::None };
    subject.subject.run(delete).await.expect("it is there");
    let deleted = subject.ports.webhooks.changed_webhooks(made.revision).await.expect(ANSWERS);
    let of_account = deleted.accounts.iter().find(|record| record.account == account);
    let is_told = of_account.map_or(deleted.is_complete, |record| record.webhooks.is_empty());
    assert!(is_told, "the deletion is reported: {deleted:?}");
    assert!(subject.webhooks_of(account).await.webhooks.is_empty());
    let again = subject.ports.webhooks.changed_webhooks(0).await.expect(ANSWERS);
    let accounts = again.accounts.iter().filter(|record| !record.webhooks.is_empty());
    assert_eq!(accounts.map(|record| record.account).collect::<Vec<_>>(), [other], "from the beginning");
}

/// Progress and deliveries are read as they were saved, and the next holder of the lease continues with them.
pub async fn progress_is_handed_to_the_next_holder(subject: &WebhookSubject) {
    let (_, id) = subject.one(3).await;
    let first = subject.claim(id, at(0)).await.expect("it is free");
    assert_eq!(first.progress, None, "nothing was saved");
    let updates =
        vec![update(6, DeliveryStatus::Pending, at(1)), update(7, DeliveryStatus::Delivered, at(1))];
    assert_eq!(subject.save(first.lease, &progress(), updates).await, LeaseState::Held);
    assert_eq!(subject.ports.deliveries.progress(id).await.expect(ANSWERS), Some(progress()));
    let expected = Delivery::begin(id, update(6, DeliveryStatus::Pending, at(1)));
    assert_eq!(subject.ports.deliveries.delivery(id, event(6)).await.expect(ANSWERS), Some(expected.clone()));
    assert_eq!(subject.ports.deliveries.delivery(id, event(8)).await.expect(ANSWERS), None);
    subject.ports.deliveries.flush().await.expect(ANSWERS);
    subject.ports.deliveries.release(vec![first.lease]).await.expect(ANSWERS);
    let second = subject.claim(id, at(2)).await.expect("it was released");
    assert_eq!(second.progress, Some(progress()));
    assert!(second.lease.number > first.lease.number, "the number rises");
    // A second attempt is added to the first one.
    let again = update(6, DeliveryStatus::Delivered, at(3));
    assert_eq!(subject.save(second.lease, &progress(), vec![again.clone()]).await, LeaseState::Held);
    let mut delivery = expected;
    delivery.apply(again);
    assert_eq!(subject.ports.deliveries.delivery(id, event(6)).await.expect(ANSWERS), Some(delivery));
}

/// A lease that another one has followed saves nothing.
pub async fn a_lease_that_was_lost_saves_nothing(subject: &WebhookSubject) {
    let (_, id) = subject.one(4).await;
    let first = subject.claim(id, at(0)).await.expect("it is free").lease;
    assert_eq!(subject.save(first, &progress(), Vec::new()).await, LeaseState::Held);
    subject.ports.deliveries.release(vec![first]).await.expect(ANSWERS);
    let second = subject.claim(id, at(1)).await.expect("it was released").lease;
    let stale = Progress { failures: 99, ..progress() };
    let updates = vec![update(6, DeliveryStatus::Failed, at(1))];
    assert_eq!(subject.save(first, &stale, updates).await, LeaseState::Lost, "the old lease is refused");
    assert_eq!(
        subject.ports.deliveries.progress(id).await.expect(ANSWERS),
        Some(progress()),
        "nothing is saved"
    );
    assert_eq!(subject.page(all(id)).await, [], "no delivery is saved either");
    let kept = subject.ports.deliveries.renew(vec![first, second], at(2)).await.expect(ANSWERS);
    assert_eq!(kept, [second], "only the lease that is held is renewed");
    let other = WebhookId::from_bits(77);
    let unknown = DeliveryLease { webhook: other, number: 1 };
    assert_eq!(subject.save(unknown, &stale, Vec::new()).await, LeaseState::Lost, "no such lease");
}

/// Of several claims at once one is granted.
pub async fn one_of_several_claims_is_granted(subject: &WebhookSubject) {
    let (_, id) = subject.one(5).await;
    let held = subject.claim(id, at(0)).await.expect("it is free").lease;
    subject.ports.deliveries.release(vec![held]).await.expect(ANSWERS);
    let claim = |_| {
        let subject = subject.clone();
        async move { subject.claim(id, at(1)).await.map(|claimed| claimed.lease.number) }
    };
    let mut granted: Vec<u64> = together(8, claim).await.into_iter().flatten().collect();
    granted.dedup();
    assert_eq!(granted.len(), 1, "one lease is granted: {granted:?}");
}

/// Pages of deliveries match their filter, in both directions, and walk over all of them.
pub async fn pages_of_deliveries_match_the_filter(subject: &WebhookSubject) {
    let (_, id) = subject.one(6).await;
    let lease = subject.claim(id, at(0)).await.expect("it is free").lease;
    let status = |number: u64| DeliveryStatus::ALL[usize::try_from(number % 3).unwrap_or_default()];
    let updates = (1..=9).map(|number| update(number, status(number), at(1))).collect();
    assert_eq!(subject.save(lease, &progress(), updates).await, LeaseState::Held);
    assert_eq!(subject.page(all(id)).await, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    let mut failed = DeliveryStatusSet::default();
    failed.add(DeliveryStatus::Failed);
    let query = DeliveryQuery { statuses: failed, ..all(id) };
    assert_eq!(subject.page(query).await, [2, 5, 8]);
    let down = DeliveryQuery { order: SortDirection::Descending, limit: 2, ..query };
    assert_eq!(subject.page(down).await, [8, 5]);
    assert_eq!(subject.page(DeliveryQuery { after: Some(event(5)), ..down }).await, [2]);
    assert_eq!(subject.page(DeliveryQuery { after: Some(event(5)), ..all(id) }).await, [6, 7, 8, 9]);
    let mut kinds = EventKinds::default();
    kinds.add(EventKind::PetCreated);
    assert_eq!(subject.page(DeliveryQuery { kinds, ..all(id) }).await, []);
    assert_eq!(subject.page(all(WebhookId::from_bits(77))).await, [], "those of another webhook");
}

/// Pending deliveries stay, and of the settled ones the latest.
pub async fn settled_deliveries_are_bounded_and_pending_ones_stay(subject: &WebhookSubject) {
    const SAVED: usize = 200;
    let (_, id) = subject.one(7).await;
    let lease = subject.claim(id, at(0)).await.expect("it is free").lease;
    let pending = update(1, DeliveryStatus::Pending, at(1));
    assert_eq!(subject.save(lease, &progress(), vec![pending]).await, LeaseState::Held);
    let kept = SETTLED_KEPT as u64;
    let saved = SAVED as u64;
    let last = kept + 2 * saved + 1;
    for first in (2..=last).step_by(SAVED) {
        let updates = (first..first + saved).map(|number| update(number, DeliveryStatus::Delivered, at(1)));
        assert_eq!(subject.save(lease, &progress(), updates.collect()).await, LeaseState::Held);
    }
    let found = subject.page(all(id)).await;
    assert_eq!(found.first(), Some(&1), "the pending one stays");
    let settled = found.len() as u64 - 1;
    // A store may drop deliveries at the next save only.
    assert!((kept..=kept + saved).contains(&settled), "so many are kept: {settled}");
    assert!(found[1..].iter().copied().eq(last + 1 - settled..=last), "the latest ones are kept: {found:?}");
    let late = at(30 * 24 * 3_600);
    let lease = subject.claim(id, late).await.map_or(lease, |claimed| claimed.lease);
    let updates = vec![update(last + 1, DeliveryStatus::Delivered, late)];
    assert_eq!(subject.save(lease, &progress(), updates).await, LeaseState::Held);
    assert_eq!(subject.page(all(id)).await, [1, last + 1], "those of long ago are dropped");
}

/// The lease of a handle that is gone ends by itself.
pub async fn a_lease_ends_if_it_is_not_renewed(subject: &WebhookSubject) {
    let (_, id) = subject.one(8).await;
    let first = subject.claim(id, at(0)).await.expect("it is free").lease;
    let renewed = subject.ports.deliveries.renew(vec![first], at(1)).await.expect(ANSWERS);
    assert_eq!(renewed, [first]);
    subject.ports.deliveries.release(vec![first]).await.expect(ANSWERS);
    assert!(subject.claim(id, at(1).plus(DELIVERY_LEASE)).await.is_some());
}
