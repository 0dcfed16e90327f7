//! Receivers of webhooks, and the signer and the delivery log of a simulated dispatcher.

use std::sync::Arc;
use std::time::Duration;

use petstore_domain::{
    AttemptError, AttemptOutcome, Delivery, DeliveryUpdate, EventId, MasterKeyId, Progress, ReceiverAnswer,
    Timestamp, WebhookId,
};
use petstore_ports::{
    ClaimedWebhook, Courier, DeliveryLease, DeliveryLog, DeliveryQuery, LeaseState, Reply, SignatureVerdict,
    SignedRequest, Signer, StoreError, WebhookRequest, WebhookSecret,
};
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::model::deliveries::Post;
use crate::model::webhooks::Receiver;
use crate::recorder::{Recorder, submit};

/// A courier whose receivers report each request to the oracle.
pub(crate) struct SimCourier(pub(crate) Recorder);

impl Courier for SimCourier {
    fn post(&self, request: WebhookRequest) -> Reply<AttemptOutcome> {
        let Recorder { oracle, process } = self.0.clone();
        Reply::later(async move {
            let webhook = request.webhook.expect("a dispatcher sends for a webhook");
            let position = EventId::parse(&request.event_id).expect("an event's id").position.get();
            let attempt = request.attempt;
            let body = serde_json::from_slice(&request.body).expect("an event is JSON");
            let signature = request.signature;
            oracle.posted(process, &Post { webhook, position, attempt, signature, body });
            // Different receivers and events take different times, so that attempts overlap.
            let duration = Duration::from_millis(20 + position * 37 % 200);
            sleep(duration).await;
            let status = Receiver::at(request.url.as_str()).status(position, attempt);
            if status == 204 {
                oracle.accepted(process, webhook, position);
            }
            let answer = Some(Box::new(ReceiverAnswer { status, ..ReceiverAnswer::default() }));
            AttemptOutcome { duration, error: (status != 204).then_some(AttemptError::Status), answer }
        })
    }
}

/// A signer whose secrets are the numbers of generations, and whose signature is the list of the secrets.
pub(crate) struct PlainSigner;

const MASTER: MasterKeyId = MasterKeyId([1; 8]);

impl Signer for PlainSigner {
    fn master(&self) -> Option<MasterKeyId> {
        Some(MASTER)
    }

    fn prepare(&self) -> Result<MasterKeyId, StoreError> {
        Ok(MASTER)
    }

    fn secret(&self, _: &[u8; 32], generation: u32) -> Option<WebhookSecret> {
        Some(WebhookSecret::from_text(generation.to_string()))
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

/// A delivery log that notifies the writer of each flush.
pub(crate) struct WatchedDeliveries {
    pub(crate) inner: Arc<dyn DeliveryLog>,
    pub(crate) work: Arc<Notify>,
}

impl DeliveryLog for WatchedDeliveries {
    fn claim(
        &self,
        webhooks: Vec<WebhookId>,
        now: Timestamp,
    ) -> Reply<Result<Vec<ClaimedWebhook>, StoreError>> {
        self.inner.claim(webhooks, now)
    }

    fn renew(
        &self,
        leases: Vec<DeliveryLease>,
        now: Timestamp,
    ) -> Reply<Result<Vec<DeliveryLease>, StoreError>> {
        self.inner.renew(leases, now)
    }

    fn release(&self, leases: Vec<DeliveryLease>) -> Reply<Result<(), StoreError>> {
        self.inner.release(leases)
    }

    fn save(
        &self,
        lease: DeliveryLease,
        progress: Progress,
        updates: Vec<DeliveryUpdate>,
    ) -> Reply<Result<LeaseState, StoreError>> {
        self.inner.save(lease, progress, updates)
    }

    fn flush(&self) -> Reply<Result<(), StoreError>> {
        let (flushed, work) = (self.inner.flush(), Arc::clone(&self.work));
        Reply::later(async move { submit(flushed, &work).await })
    }

    fn progress(&self, webhook: WebhookId) -> Reply<Result<Option<Progress>, StoreError>> {
        self.inner.progress(webhook)
    }

    fn deliveries(&self, query: DeliveryQuery) -> Reply<Result<Vec<Delivery>, StoreError>> {
        self.inner.deliveries(query)
    }

    fn delivery(&self, webhook: WebhookId, event: EventId) -> Reply<Result<Option<Delivery>, StoreError>> {
        self.inner.delivery(webhook, event)
    }
}
