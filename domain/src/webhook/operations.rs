//! Creating, changing and deleting webhooks.

use std::time::Duration;

use super::{
    AccountWebhooks, DeliveryOrder, DeliveryRun, DisabledReason, EventPatterns, MasterKeyId, SecretSource,
    Webhook, WebhookId, WebhookUrl,
};
use crate::record::{Change, RecordRef, View};
use crate::state::{Changes, Footprint};
use crate::{
    AccountId, Description, EventId, Operation, Patch, Precondition, PreconditionError, Timestamp, Version,
};

/// The webhook that a client asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewWebhook {
    /// The address of the receiver.
    pub url: WebhookUrl,
    /// The types of events.
    pub types: EventPatterns,
    /// A description.
    pub description: Option<Description>,
    /// The order in which it gets events.
    pub ordering: DeliveryOrder,
    /// `false` if it gets no events at first.
    pub is_enabled: bool,
}

/// Creates a webhook, within the limit of its account.
#[derive(Debug, Clone)]
pub struct CreateWebhook {
    /// The account of the client.
    pub account: AccountId,
    /// The id, of random bits.
    pub id: WebhookId,
    /// The webhook to create.
    pub new: NewWebhook,
    /// The random bits of its secrets.
    pub nonce: [u8; 32],
    /// The master key of its secrets.
    pub master: MasterKeyId,
    /// The place in the event log after which its deliveries begin.
    pub after: EventId,
    /// The number of webhooks that an account may have.
    pub webhooks_max: usize,
    /// The time of the request.
    pub now: Timestamp,
}

/// The reason why a webhook was not created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CreateWebhookRejection {
    /// The account has as many webhooks as it may have.
    #[error("the account has {max} webhooks, and may have no more")]
    TooMany {
        /// The number that it may have.
        max: usize,
    },
    /// Events after the place at which the deliveries were to begin have been dropped.
    #[error("the events after that place are no longer kept")]
    Expired,
    /// The account has started deliveries too often.
    #[error(transparent)]
    TooOften(#[from] StartsUsedUp),
}

/// The reason why deliveries are not started now: the account has started them as often as it may in a minute, by creating,
/// replaying or enabling webhooks. No operation has this reason: a service gives it before it runs one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the account has created, replayed or enabled webhooks {max} times within a minute")]
pub struct StartsUsedUp {
    /// The number of times that an account may in a minute.
    pub max: u32,
    /// The time until it may again.
    pub wait: Duration,
}

/// Changes the settings of a webhook.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WebhookPatch {
    /// The URL to which later events go.
    pub url: Option<WebhookUrl>,
    /// The new types of events.
    pub types: Option<EventPatterns>,
    /// The change of the description.
    pub description: Patch<Description>,
    /// The new order of its deliveries.
    pub ordering: Option<DeliveryOrder>,
    /// `true` enables it, `false` disables it.
    pub is_enabled: Option<bool>,
}

/// The place at which deliveries go on when a webhook is enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resume {
    /// After the last settled event.
    Continue,
    /// After this place in the event log.
    After(EventId),
    /// Nowhere: events after the last settled one have been dropped.
    Expired,
}

/// Changes a webhook.
#[derive(Debug, Clone)]
pub struct UpdateWebhook {
    /// The account of the client.
    pub account: AccountId,
    /// The webhook to change.
    pub id: WebhookId,
    /// The members that change.
    pub patch: WebhookPatch,
    /// The caller's condition on its version.
    pub precondition: Precondition,
    /// The end of the event log at the request, if the types change.
    pub end: Option<EventId>,
    /// The place at which deliveries go on, if the webhook was disabled and is enabled.
    pub resume: Resume,
    /// The reason that is recorded if the webhook is disabled: its account or an operator.
    pub reason: DisabledReason,
}

/// The reason why a webhook was not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UpdateWebhookRejection {
    /// The account has no such webhook.
    #[error("there is no such webhook")]
    NotFound,
    /// The precondition does not hold.
    #[error(transparent)]
    Precondition(#[from] PreconditionError),
    /// Events after the place at which the deliveries were to go on have been dropped.
    #[error("the events that it has not received are no longer kept")]
    Expired,
    /// The account has started deliveries too often.
    #[error(transparent)]
    TooOften(#[from] StartsUsedUp),
}

/// Deletes a webhook.
#[derive(Debug, Clone)]
pub struct DeleteWebhook {
    /// The account of the client.
    pub account: AccountId,
    /// The webhook to delete.
    pub id: WebhookId,
    /// The caller's condition on its version.
    pub precondition: Precondition,
}

/// The reason why a webhook was not deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DeleteWebhookRejection {
    /// The account has no such webhook.
    #[error("there is no such webhook")]
    NotFound,
    /// The precondition does not hold.
    #[error(transparent)]
    Precondition(#[from] PreconditionError),
}

/// The footprint of each operation on webhooks.
pub(super) fn footprint(account: AccountId) -> Footprint {
    Footprint::from([RecordRef::Webhooks(account)])
}

/// Returns a copy of the record of an account and the index of a webhook in it.
pub(super) fn find(view: &View, account: AccountId, id: WebhookId) -> Option<(AccountWebhooks, usize)> {
    let record = view.webhooks(account)?;
    let index = record.webhooks.iter().position(|webhook| webhook.id == id)?;
    Some((record.clone(), index))
}

/// Returns the change that writes a record in which one webhook differs from the version before it, and that webhook.
pub(super) fn changed(mut record: AccountWebhooks, index: usize) -> (Changes, Webhook) {
    let webhook = &mut record.webhooks[index];
    webhook.version = webhook.version.next();
    let output = webhook.clone();
    (Changes::from([Change::Webhooks(Box::new(record))]), output)
}

impl Webhook {
    /// Begins another run of deliveries.
    pub(super) const fn start(&mut self, after: Option<EventId>) {
        self.disabled = None;
        self.run = DeliveryRun { number: self.run.number.saturating_add(1), after };
    }
}

impl Operation for CreateWebhook {
    type Output = Webhook;
    type Rejection = CreateWebhookRejection;

    fn footprint(&self, _seen: &View) -> Footprint {
        footprint(self.account)
    }

    fn decide(&self, view: &View) -> Result<(Changes, Self::Output), Self::Rejection> {
        let mut record =
            view.webhooks(self.account).cloned().unwrap_or_else(|| AccountWebhooks::none(self.account));
        if record.webhooks.len() >= self.webhooks_max {
            return Err(CreateWebhookRejection::TooMany { max: self.webhooks_max });
        }
        let NewWebhook { url, types, description, ordering, is_enabled } = self.new.clone();
        let webhook = Webhook {
            id: self.id,
            version: Version::FIRST,
            url,
            types,
            narrowed_at: None,
            description,
            ordering,
            disabled: (!is_enabled).then_some(DisabledReason::User),
            secret: SecretSource {
                nonce: self.nonce,
                generation: 1,
                master: self.master,
                previous_until: None,
            },
            run: DeliveryRun { number: 1, after: Some(self.after) },
            redeliveries: Vec::new(),
            created_at: self.now,
        };
        record.webhooks.push(webhook.clone());
        Ok((Changes::from([Change::Webhooks(Box::new(record))]), webhook))
    }
}

impl Operation for UpdateWebhook {
    type Output = Webhook;
    type Rejection = UpdateWebhookRejection;

    fn footprint(&self, _seen: &View) -> Footprint {
        footprint(self.account)
    }

    fn decide(&self, view: &View) -> Result<(Changes, Self::Output), Self::Rejection> {
        let (mut record, index) =
            find(view, self.account, self.id).ok_or(UpdateWebhookRejection::NotFound)?;
        let before = record.webhooks[index].clone();
        self.precondition.check(before.version)?;
        let after = &mut record.webhooks[index];
        if let Some(url) = &self.patch.url {
            after.url = url.clone();
        }
        if let Some(types) = &self.patch.types {
            after.types = types.clone();
            let kept = types.kinds();
            if kept.or(before.types.kinds()) != kept {
                after.narrowed_at = self.end;
            }
        }
        self.patch.description.apply(&mut after.description);
        after.ordering = self.patch.ordering.unwrap_or(after.ordering);
        match (self.patch.is_enabled, before.disabled) {
            (Some(true), Some(_)) => match self.resume {
                Resume::Continue => after.start(None),
                Resume::After(place) => after.start(Some(place)),
                Resume::Expired => return Err(UpdateWebhookRejection::Expired),
            },
            (Some(false), None) => after.disabled = Some(self.reason),
            (Some(true), None) | (Some(false), Some(_)) | (None, _) => {}
        }
        if *after == before {
            return Ok((Changes::none(), before));
        }
        Ok(changed(record, index))
    }
}

impl Operation for DeleteWebhook {
    type Output = ();
    type Rejection = DeleteWebhookRejection;

    fn footprint(&self, _seen: &View) -> Footprint {
        footprint(self.account)
    }

    fn decide(&self, view: &View) -> Result<(Changes, Self::Output), Self::Rejection> {
        let (mut record, index) =
            find(view, self.account, self.id).ok_or(DeleteWebhookRejection::NotFound)?;
        self.precondition.check(record.webhooks[index].version)?;
        record.webhooks.remove(index);
        let change = if record.webhooks.is_empty() {
            Change::WebhooksDeleted(self.account)
        } else {
            Change::Webhooks(Box::new(record))
        };
        Ok((Changes::from([change]), ()))
    }
}
