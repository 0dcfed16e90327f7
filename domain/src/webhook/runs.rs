//! Starting and ending the deliveries of a webhook.

use std::time::Duration;

use super::operations::{changed, find, footprint};
use super::{AccountWebhooks, DisabledReason, Redelivery, StartsUsedUp, Webhook, WebhookId};
use crate::record::{Change, View};
use crate::state::{Changes, Footprint};
use crate::{AccountId, EventId, Operation, Timestamp};

/// Begins the deliveries of a webhook at another place of the event log.
#[derive(Debug, Clone)]
pub struct ReplayWebhook {
    /// The account of the client.
    pub account: AccountId,
    /// The webhook whose deliveries begin again.
    pub id: WebhookId,
    /// The place after which the deliveries begin; none if events after it have been dropped.
    pub after: Option<EventId>,
}

/// Delivers one event to a webhook once more.
#[derive(Debug, Clone)]
pub struct Redeliver {
    /// The account of the client.
    pub account: AccountId,
    /// The webhook that gets the event.
    pub id: WebhookId,
    /// The event; none if it has been dropped.
    pub event: Option<EventId>,
    /// The time of the request.
    pub now: Timestamp,
}

/// The number of requests for single events that a webhook keeps.
pub const REDELIVERIES_MAX: usize = 100;

/// The time within which a webhook takes at most [`REDELIVERIES_MAX`] requests for single events. It is much longer than
/// the time in which the dispatcher sees a request.
const REDELIVERIES_WITHIN: Duration = Duration::from_mins(1);

/// The reason why deliveries were not started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StartDeliveriesRejection {
    /// The account has no such webhook.
    #[error("there is no such webhook")]
    NotFound,
    /// The webhook is disabled.
    #[error("the webhook is disabled: {0}")]
    Disabled(DisabledReason),
    /// The event, or events after the place at which the deliveries were to begin, have been dropped.
    #[error("the events after that place are no longer kept")]
    Expired,
    /// Too many single events were asked for within a minute.
    #[error("the webhook takes {REDELIVERIES_MAX} requests for single events a minute")]
    TooMany,
    /// The account has started deliveries too often.
    #[error(transparent)]
    TooOften(#[from] StartsUsedUp),
}

/// Disables a webhook because of its deliveries.
#[derive(Debug, Clone)]
pub struct DisableWebhook {
    /// The account of the webhook.
    pub account: AccountId,
    /// The webhook to disable.
    pub id: WebhookId,
    /// The reason, which its account sees.
    pub reason: DisabledReason,
    /// The number of the run whose deliveries led to it. A later run is not stopped by it.
    pub run: u32,
}

/// The webhooks of an account, and the place among them of one whose deliveries may be started.
fn startable(
    view: &View,
    account: AccountId,
    id: WebhookId,
) -> Result<(AccountWebhooks, usize), StartDeliveriesRejection> {
    let (record, index) = find(view, account, id).ok_or(StartDeliveriesRejection::NotFound)?;
    match record.webhooks[index].disabled {
        Some(reason) => Err(StartDeliveriesRejection::Disabled(reason)),
        None => Ok((record, index)),
    }
}

impl Operation for ReplayWebhook {
    type Output = Webhook;
    type Rejection = StartDeliveriesRejection;

    fn footprint(&self, _seen: &View) -> Footprint {
        footprint(self.account)
    }

    fn decide(&self, view: &View) -> Result<(Changes, Self::Output), Self::Rejection> {
        let (mut record, index) = startable(view, self.account, self.id)?;
        let webhook = &mut record.webhooks[index];
        webhook.start(Some(self.after.ok_or(StartDeliveriesRejection::Expired)?));
        Ok(changed(record, index))
    }
}

impl Operation for Redeliver {
    type Output = Webhook;
    type Rejection = StartDeliveriesRejection;

    fn footprint(&self, _seen: &View) -> Footprint {
        footprint(self.account)
    }

    fn decide(&self, view: &View) -> Result<(Changes, Self::Output), Self::Rejection> {
        let (mut record, index) = startable(view, self.account, self.id)?;
        let webhook = &mut record.webhooks[index];
        let event = self.event.ok_or(StartDeliveriesRejection::Expired)?;
        let requests = &mut webhook.redeliveries;
        if requests.len() >= REDELIVERIES_MAX {
            // A request of a later time was made before the clock was set back. It does not count.
            let is_recent = |oldest: &Redelivery| {
                oldest.at <= self.now && self.now.since(oldest.at) < REDELIVERIES_WITHIN
            };
            if requests.first().is_some_and(is_recent) {
                return Err(StartDeliveriesRejection::TooMany);
            }
            requests.remove(0);
        }
        let number = requests.last().map_or(1, |last| last.number.saturating_add(1));
        requests.push(Redelivery { number, event, at: self.now });
        // The version stays: clients do not see these requests in the webhook.
        let output = webhook.clone();
        Ok((Changes::from([Change::Webhooks(Box::new(record))]), output))
    }
}

impl Operation for DisableWebhook {
    type Output = bool;
    type Rejection = std::convert::Infallible;

    fn footprint(&self, _seen: &View) -> Footprint {
        footprint(self.account)
    }

    /// Returns `false` without a change if the webhook is gone, disabled already, or in another run.
    fn decide(&self, view: &View) -> Result<(Changes, Self::Output), Self::Rejection> {
        let Some((mut record, index)) = find(view, self.account, self.id) else {
            return Ok((Changes::none(), false));
        };
        let webhook = &mut record.webhooks[index];
        if !webhook.is_enabled() || webhook.run.number != self.run {
            return Ok((Changes::none(), false));
        }
        webhook.disabled = Some(self.reason);
        Ok((changed(record, index).0, true))
    }
}
