//! One attempt: the event is read, signed and sent.

use std::sync::Arc;

use futures_util::future;
use petstore_domain::{
    AccountId, Attempt, AttemptTrigger, Event, EventFilter, EventId, EventKind, Position, SecretSource,
    Timestamp, Webhook, WebhookId,
};
use petstore_ports::{
    Clock, Courier, DeliveryLease, DeliveryLog, EventFeed, EventQuery, EventRead, EventReader, EventText,
    ScopeReader, Signer, SortDirection, StoreErrorKind, Timer, Transactor, WebhookReader, WebhookRequest,
    WebhookSecret,
};

use crate::call_deadlines::CallDeadlines;

/// The driven ports of a dispatcher.
#[derive(Clone)]
pub struct DispatcherPorts {
    /// Reads the settings of webhooks.
    pub webhooks: Arc<dyn WebhookReader>,
    /// Keeps progress and deliveries.
    pub deliveries: Arc<dyn DeliveryLog>,
    /// Finds the accounts that may have webhooks.
    pub scopes: Arc<dyn ScopeReader>,
    /// Reads the event log.
    pub events: Arc<dyn EventReader>,
    /// Waits for new events.
    pub feed: Arc<dyn EventFeed>,
    /// Disables webhooks.
    pub transactor: Arc<dyn Transactor>,
    /// Sends requests to receivers.
    pub courier: Arc<dyn Courier>,
    /// Signs requests.
    pub signer: Arc<dyn Signer>,
    /// Writes events as JSON.
    pub text: Arc<dyn EventText>,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Measures pauses and deadlines.
    pub timer: Arc<dyn Timer>,
}

impl DispatcherPorts {
    /// The ports of one store, which implements every port that belongs to a store.
    pub fn of_one_store<S>(
        store: &Arc<S>,
        courier: Arc<dyn Courier>,
        signer: Arc<dyn Signer>,
        text: Arc<dyn EventText>,
        clock: Arc<dyn Clock>,
        timer: Arc<dyn Timer>,
    ) -> Self
    where
        S: WebhookReader + DeliveryLog + ScopeReader + EventReader + EventFeed + Transactor + 'static,
    {
        Self {
            webhooks: Arc::clone(store) as _,
            deliveries: Arc::clone(store) as _,
            scopes: Arc::clone(store) as _,
            events: Arc::clone(store) as _,
            feed: Arc::clone(store) as _,
            transactor: Arc::clone(store) as _,
            courier,
            signer,
            text,
            clock,
            timer,
        }
    }
}

/// An attempt that has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AttemptId {
    pub(super) lease: DeliveryLease,
    pub(super) position: Position,
    pub(super) trigger: AttemptTrigger,
    /// The number of the start of deliveries to which it belongs.
    pub(super) run: u32,
    pub(super) number: u64,
}

/// The end of an attempt.
pub(super) enum AttemptEnd {
    /// The request was sent.
    Attempted(EventKind, Attempt),
    /// The event is no longer in the log, or it is of a type that the webhook does not get any more.
    Missing,
    /// The event or the webhook could not be read.
    Dropped,
    /// The request was not sent, because the webhook gets no events any more, or its deliveries were started again.
    Outdated,
    /// The event cannot be read, because the event log is damaged there.
    Unreadable,
    /// The attempt was cancelled.
    Cancelled,
}

/// The values of one attempt.
pub(super) struct Sent {
    pub(super) account: AccountId,
    pub(super) webhook: WebhookId,
    /// The number of the start of deliveries to which the attempt belongs.
    pub(super) run: u32,
    pub(super) event: EventId,
    pub(super) attempt: u32,
    pub(super) trigger: AttemptTrigger,
}

impl DispatcherPorts {
    /// Makes an attempt, unless the webhook was deleted, disabled or changed meanwhile.
    pub(super) async fn attempt(&self, deadlines: &CallDeadlines, sent: Sent) -> AttemptEnd {
        let event = self.event(deadlines, sent.event);
        let (event, webhook) = future::join(event, self.current(deadlines, &sent)).await;
        let event = match event {
            Ok(event) => event,
            Err(end) => return end,
        };
        let webhook = match webhook {
            Ok(webhook) => webhook,
            Err(end) => return end,
        };
        let kind = event.happening.kind();
        let is_first = sent.attempt == 1 && sent.trigger == AttemptTrigger::Schedule;
        if is_first && webhook.has_left_out(event.id, kind) {
            return AttemptEnd::Missing;
        }
        match self.post(sent.account, &webhook, &event, sent.attempt, sent.trigger, false).await {
            Some(attempt) => AttemptEnd::Attempted(kind, attempt),
            None => AttemptEnd::Dropped,
        }
    }

    /// Returns the webhook as it is now, unless it gets no events any more, or its deliveries were started again.
    ///
    /// The dispatcher learns of changed settings some time after their request was answered. The settings that are read here
    /// were valid after the event had happened, so that no event is sent that happened after such an answer.
    async fn current(&self, deadlines: &CallDeadlines, sent: &Sent) -> Result<Webhook, AttemptEnd> {
        let record = deadlines.reply(self.webhooks.webhooks_of(sent.account)).await;
        let mut webhooks = record.map_err(|_| AttemptEnd::Dropped)?.webhooks.into_iter();
        let webhook = webhooks.find(|webhook| webhook.id == sent.webhook);
        let current = webhook.filter(|webhook| webhook.is_enabled() && webhook.run.number == sent.run);
        current.ok_or(AttemptEnd::Outdated)
    }

    /// Reads an event of the log.
    async fn event(&self, deadlines: &CallDeadlines, id: EventId) -> Result<Event, AttemptEnd> {
        let query = EventQuery {
            epoch: Some(id.epoch),
            order: SortDirection::Ascending,
            after: Some(id.position.before()),
            filter: EventFilter::ALL,
            events_max: 1,
            positions_max: 1,
        };
        match deadlines.reply(self.events.read(query)).await {
            Err(error) if error.kind() == StoreErrorKind::Corrupt => Err(AttemptEnd::Unreadable),
            Err(_) => Err(AttemptEnd::Dropped),
            // A store of several nodes may not show the newest events of other nodes yet.
            Ok(EventRead::Expired(bounds)) if bounds.epoch == id.epoch && bounds.last < id.position => {
                Err(AttemptEnd::Dropped)
            }
            Ok(EventRead::Expired(_)) => Err(AttemptEnd::Missing),
            Ok(EventRead::Page(page)) => {
                page.events.into_iter().find(|event| event.id == id).ok_or(AttemptEnd::Missing)
            }
        }
    }

    /// Signs and sends an event; none if there is no master key.
    pub(crate) async fn post(
        &self,
        account: AccountId,
        webhook: &Webhook,
        event: &Event,
        number: u32,
        trigger: AttemptTrigger,
        is_test: bool,
    ) -> Option<Attempt> {
        let at = self.clock.now();
        let secrets = valid_secrets(&*self.signer, &webhook.secret, at)?;
        let body = self.text.json(event, is_test);
        let event_id = event.id.to_string();
        let signature = self.signer.sign_request(&secrets, &event_id, at, &body);
        let request = WebhookRequest {
            url: webhook.url.clone(),
            webhook: Some(webhook.id),
            account: Some(account),
            event_id,
            event_type: event.happening.kind().as_str().to_owned(),
            attempt: number,
            sent_at: at,
            signature,
            body,
        };
        let outcome = self.courier.post(request).await;
        Some(Attempt { at, number, trigger, outcome })
    }
}

/// The secrets with which a request is signed now: the current one, and the one before it while they overlap. None without
/// the master key from which they are derived.
pub(super) fn valid_secrets(
    signer: &dyn Signer,
    source: &SecretSource,
    now: Timestamp,
) -> Option<Vec<WebhookSecret>> {
    if signer.master() != Some(source.master) {
        return None;
    }
    let mut secrets = vec![signer.secret(&source.nonce, source.generation)?];
    if source.previous_until.is_some_and(|until| until > now) {
        secrets.extend(signer.secret(&source.nonce, source.generation.saturating_sub(1)));
    }
    Some(secrets)
}
