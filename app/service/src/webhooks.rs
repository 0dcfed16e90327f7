//! The webhooks of accounts.

mod listing;
mod operator;
mod samples;
mod starting;
mod starts;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use petstore_domain::{
    AccountId, Attempt, AttemptTrigger, CreateWebhook, CreateWebhookRejection, DeleteWebhook,
    DeleteWebhookRejection, Delivery, DeliveryStatus, DeliveryUpdate, DisabledReason, EventId, EventKind,
    MasterKeyId, NewWebhook, Position, Precondition, Redeliver, ReplayWebhook, Resume, RotateWebhookSecret,
    RotateWebhookSecretRejection, StartDeliveriesRejection, Target, TargetPolicy, TargetRefusal,
    UpdateWebhook, UpdateWebhookRejection, Webhook, WebhookId, WebhookPatch,
};
use petstore_ports::api::{
    DeliveryDetail, EventLookup, Events, Failure, IdempotentRequest, LogPlace, Repeated, RevealedWebhook,
    TestWebhookRejection, WebhookListing, Webhooks,
};
use petstore_ports::{DeliveryQuery, EventBounds, StoreError};

use self::starts::StartLimit;
use crate::dispatch::DispatcherPorts;
use crate::in_flight::InFlightTable;
use crate::service::Service;

/// The webhooks of a service. It shares the ports of the dispatcher that delivers their events.
pub struct WebhookService {
    service: Arc<Service>,
    ports: DispatcherPorts,
    targets: TargetPolicy,
    /// The sample events that are being sent.
    tests: InFlightTable,
    webhooks_max: usize,
    /// The bound on starts of deliveries; none if there is no bound.
    starts: Option<StartLimit>,
    /// `true` if the master key of this service is the one that the dispatcher uses.
    knows_key: bool,
}

/// The number of sample events of an account that may be sent at a time. A receiver may hold each for the whole time of an
/// attempt, and sample events do not count among the attempts of the dispatcher.
const TESTS_MAX: u32 = 4;

impl WebhookService {
    /// The webhooks of a service, for receivers that `targets` permits: the policy of the courier. An account may have `webhooks_max` of them, at most
    /// [`AccountWebhooks::MAX`](petstore_domain::AccountWebhooks::MAX).
    pub fn new(
        service: Arc<Service>,
        ports: DispatcherPorts,
        targets: TargetPolicy,
        webhooks_max: usize,
    ) -> Self {
        let webhooks_max = webhooks_max.min(petstore_domain::AccountWebhooks::MAX);
        let tests = InFlightTable::new();
        Self { service, ports, targets, tests, webhooks_max, starts: None, knows_key: true }
    }

    /// The same webhooks, of which an account may create, replay or enable this number in a minute, counted in this process.
    #[must_use]
    pub fn with_starts_max(self, max: u32) -> Self {
        Self { starts: Some(StartLimit::new(max)), ..self }
    }

    /// The same webhooks for a program that does not have the master key, because the servers of the shop have it. It cannot
    /// tell that a webhook waits for the key, so it shows such a webhook as active.
    #[must_use]
    pub fn without_master_key(self) -> Self {
        Self { knows_key: false, ..self }
    }

    /// Makes the master key with the first webhook. A second key is not made while webhooks wait for the first one,
    /// because its file would prevent an operator from restoring the file of the first one.
    async fn prepare_first(&self) -> Result<MasterKeyId, StoreError> {
        if self.ports.signer.master().is_none()
            && self.of_all_accounts().await?.iter().any(|(_, webhook)| webhook.is_enabled())
        {
            return Err(StoreError::unavailable("the master key of the webhooks is missing"));
        }
        self.prepare()
    }

    /// Makes the master key if there is none yet.
    fn prepare(&self) -> Result<MasterKeyId, StoreError> {
        self.ports.signer.prepare()
    }

    async fn bounds(&self) -> Result<EventBounds, StoreError> {
        self.service.event_bounds().await
    }

    /// The position of a place in the log; none if events after it have been dropped.
    async fn locate(&self, place: LogPlace) -> Result<Option<EventId>, StoreError> {
        let bounds = self.bounds().await?;
        let id = match place {
            LogPlace::Now => bounds.id(bounds.last),
            LogPlace::Oldest => bounds.id(bounds.pruned),
            LogPlace::After(id) => id,
        };
        Ok(bounds.can_follow(id).then_some(id))
    }

    async fn find(&self, account: AccountId, id: WebhookId) -> Result<Option<Webhook>, StoreError> {
        let record = self.service.deadlines.reply(self.ports.webhooks.webhooks_of(account)).await?;
        Ok(record.get(id).cloned())
    }

    /// The secret of a webhook that has just got it.
    fn reveal(&self, webhook: &Webhook) -> Result<String, StoreError> {
        let source = &webhook.secret;
        let secret = (self.ports.signer.master() == Some(source.master))
            .then(|| self.ports.signer.secret(&source.nonce, source.generation))
            .flatten();
        let secret = secret.ok_or_else(|| {
            StoreError::unavailable("the master key of the secrets is missing or is another one")
        })?;
        Ok(secret.reveal().to_owned())
    }

    async fn revealed<R>(&self, made: Repeated<Webhook, R>) -> Repeated<RevealedWebhook, R> {
        let made = made?;
        let result = match made.result {
            Ok(webhook) => {
                let secret = self.reveal(&webhook)?;
                Ok(RevealedWebhook { listing: self.listed(webhook).await?, secret })
            }
            Err(rejection) => Err(rejection),
        };
        Ok(petstore_domain::Answered { result, replayed: made.replayed })
    }

    async fn update(
        &self,
        account: AccountId,
        id: WebhookId,
        patch: WebhookPatch,
        from: Option<LogPlace>,
        precondition: Precondition,
        reason: DisabledReason,
    ) -> Result<WebhookListing, Failure<UpdateWebhookRejection>> {
        let resume = match (patch.is_enabled, from) {
            (Some(true), Some(place)) => self.locate(place).await?.map_or(Resume::Expired, Resume::After),
            (Some(true), None) => self.resume(account, id).await?,
            (Some(false) | None, _) => Resume::Continue,
        };
        let end = if patch.types.is_some() {
            let bounds = self.bounds().await?;
            Some(bounds.id(bounds.last))
        } else {
            None
        };
        let operation = UpdateWebhook { account, id, patch, precondition, end, resume, reason };
        let webhook = self.service.submit(operation).await?;
        self.listed(webhook).await.map_err(Failure::Store)
    }

    /// The place at which the deliveries of a disabled webhook go on.
    async fn resume(&self, account: AccountId, id: WebhookId) -> Result<Resume, StoreError> {
        let Some(webhook) = self.find(account, id).await? else { return Ok(Resume::Continue) };
        let cursor = self.cursor(&webhook).await?.0;
        let can_follow = self.bounds().await?.can_follow(cursor);
        Ok(if can_follow { Resume::Continue } else { Resume::Expired })
    }
}

#[async_trait]
impl Webhooks for WebhookService {
    fn judge_target(&self, target: &Target) -> Result<(), TargetRefusal> {
        self.targets.judge_url(target)
    }

    async fn list_webhooks(&self, account: AccountId) -> Result<Vec<WebhookListing>, StoreError> {
        let record = self.service.deadlines.reply(self.ports.webhooks.webhooks_of(account)).await?;
        let mut listings = Vec::with_capacity(record.webhooks.len());
        for webhook in record.webhooks {
            listings.push(self.listed(webhook).await?);
        }
        Ok(listings)
    }

    async fn webhook(&self, account: AccountId, id: WebhookId) -> Result<Option<WebhookListing>, StoreError> {
        match self.find(account, id).await? {
            Some(webhook) => self.listed(webhook).await.map(Some),
            None => Ok(None),
        }
    }

    async fn create_webhook(
        &self,
        account: AccountId,
        new: NewWebhook,
        from: LogPlace,
        retry: Option<IdempotentRequest<'_>>,
    ) -> Repeated<RevealedWebhook, CreateWebhookRejection> {
        let master = self.prepare_first().await?;
        let place = self.locate(from).await?;
        let after = place.unwrap_or(EventId { epoch: 0, position: Position::START });
        let (nonce, bits) = (self.service.entropy.bits()?, self.service.entropy.bits()?);
        let mut id = [0; 16];
        id.copy_from_slice(&bits[..16]);
        let operation = CreateWebhook {
            account,
            id: WebhookId::from_bits(u128::from_be_bytes(id)),
            new,
            nonce,
            master,
            after,
            webhooks_max: self.webhooks_max,
            now: self.service.clock.now(),
        };
        let made = match place {
            Some(_) => self.start_once(account, operation, retry).await,
            None => self.refuse(operation, CreateWebhookRejection::Expired, retry).await,
        };
        self.revealed(made).await
    }

    async fn update_webhook(
        &self,
        account: AccountId,
        id: WebhookId,
        patch: WebhookPatch,
        from: Option<LogPlace>,
        precondition: Precondition,
    ) -> Result<WebhookListing, Failure<UpdateWebhookRejection>> {
        let may_start = self.starts.is_some() && patch.is_enabled == Some(true);
        let starts = may_start && self.find(account, id).await?.is_some_and(|webhook| !webhook.is_enabled());
        if starts {
            self.count_start(account).map_err(|why| Failure::Rejected(why.into()))?;
        }
        let made = self.update(account, id, patch, from, precondition, DisabledReason::User).await;
        if let (true, Err(Failure::Rejected(_)), Some(limit)) = (starts, &made, &self.starts) {
            limit.give_back(account);
        }
        made
    }

    async fn delete_webhook(
        &self,
        account: AccountId,
        id: WebhookId,
        precondition: Precondition,
    ) -> Result<(), Failure<DeleteWebhookRejection>> {
        self.service.submit(DeleteWebhook { account, id, precondition }).await
    }

    async fn rotate_webhook_secret(
        &self,
        account: AccountId,
        id: WebhookId,
        overlap: Duration,
        retry: Option<IdempotentRequest<'_>>,
    ) -> Repeated<RevealedWebhook, RotateWebhookSecretRejection> {
        let (master, now) = (self.prepare_first().await?, self.service.clock.now());
        let operation = RotateWebhookSecret { account, id, overlap, master, now };
        let made = self.service.submit_once(operation, retry).await;
        self.revealed(made).await
    }

    async fn test_webhook(
        &self,
        account: AccountId,
        id: WebhookId,
        kind: EventKind,
    ) -> Result<Attempt, Failure<TestWebhookRejection>> {
        let place = self.tests.enter(account, TESTS_MAX);
        let _place = place.ok_or(Failure::Rejected(TestWebhookRejection::TooMany))?;
        let found = self.find(account, id).await?;
        let webhook = found.ok_or(Failure::Rejected(TestWebhookRejection::NotFound))?;
        let bits = self.service.entropy.bits()?;
        let event = samples::event(kind, account, id, bits, self.service.clock.now());
        let attempt = self.ports.post(account, &webhook, &event, 1, AttemptTrigger::Test, true).await;
        attempt.ok_or_else(|| {
            let missing = "the master key of the secrets is missing or is another one";
            Failure::Store(StoreError::unavailable(missing))
        })
    }

    async fn replay_webhook(
        &self,
        account: AccountId,
        id: WebhookId,
        from: LogPlace,
        retry: Option<IdempotentRequest<'_>>,
    ) -> Repeated<WebhookListing, StartDeliveriesRejection> {
        let after = self.locate(from).await?;
        let made = self.start_once(account, ReplayWebhook { account, id, after }, retry).await?;
        let result = match made.result {
            Ok(webhook) => Ok(self.listed(webhook).await?),
            Err(rejection) => Err(rejection),
        };
        Ok(petstore_domain::Answered { result, replayed: made.replayed })
    }

    async fn list_deliveries(
        &self,
        account: AccountId,
        query: DeliveryQuery,
    ) -> Result<Option<Vec<Delivery>>, StoreError> {
        if self.find(account, query.webhook).await?.is_none() {
            return Ok(None);
        }
        self.service.deadlines.reply(self.ports.deliveries.deliveries(query)).await.map(Some)
    }

    async fn delivery(
        &self,
        account: AccountId,
        id: WebhookId,
        event: EventId,
    ) -> Result<Option<DeliveryDetail>, StoreError> {
        if self.find(account, id).await?.is_none() {
            return Ok(None);
        }
        let found = self.service.deadlines.reply(self.ports.deliveries.delivery(id, event)).await?;
        let Some(delivery) = found else { return Ok(None) };
        let event = match self.service.event(account, event).await? {
            EventLookup::Found(event) => Some(event),
            EventLookup::Expired(_) | EventLookup::Unknown => None,
        };
        Ok(Some(DeliveryDetail { delivery, event }))
    }

    async fn redeliver(
        &self,
        account: AccountId,
        id: WebhookId,
        event: EventId,
    ) -> Result<Delivery, Failure<StartDeliveriesRejection>> {
        let now = self.service.clock.now();
        let found = match self.service.event(account, event).await? {
            EventLookup::Found(found) => Some(found),
            EventLookup::Expired(_) => None,
            EventLookup::Unknown => return Err(Failure::Rejected(StartDeliveriesRejection::NotFound)),
        };
        let kept = found.as_ref().map(|_| event);
        let webhook = self.service.submit_at(Redeliver { account, id, event: kept, now }, now).await?;
        let known = self.service.deadlines.reply(self.ports.deliveries.delivery(id, event)).await?;
        let kind = found.map_or(EventKind::OrderPlaced, |event| event.happening.kind());
        let requested = DeliveryUpdate {
            event,
            kind,
            attempt: None,
            status: DeliveryStatus::Pending,
            next_attempt_at: Some(now),
            at: now,
        };
        Ok(match known {
            Some(mut delivery) => {
                delivery.apply(requested);
                delivery
            }
            None => Delivery::begin(webhook.id, requested),
        })
    }
}

impl std::fmt::Debug for WebhookService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebhookService").field("webhooks_max", &self.webhooks_max).finish_non_exhaustive()
    }
}
