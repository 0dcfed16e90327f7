//! Changing the secret of a webhook.

use std::time::Duration;

use super::operations::{changed, find, footprint};
use super::{MasterKeyId, Webhook, WebhookId};
use crate::record::View;
use crate::state::{Changes, Footprint};
use crate::{AccountId, Operation, Timestamp};

/// Gives a webhook another secret.
#[derive(Debug, Clone)]
pub struct RotateWebhookSecret {
    /// The account of the client.
    pub account: AccountId,
    /// The webhook whose secret is replaced.
    pub id: WebhookId,
    /// The time for which requests are signed with the old secret, too. Zero ends all old secrets at once.
    pub overlap: Duration,
    /// The master key with which the new secret is derived.
    pub master: MasterKeyId,
    /// The time of the request.
    pub now: Timestamp,
}

/// The longest overlap of two secrets.
pub const OVERLAP_MAX: Duration = Duration::from_hours(7 * 24);

/// The reason why a secret was not rotated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RotateWebhookSecretRejection {
    /// The account has no such webhook.
    #[error("there is no such webhook")]
    NotFound,
    /// The secret before the current one is still valid. A webhook has two secrets at most.
    #[error("the previous secret is valid until {until}")]
    InProgress {
        /// The end of the previous secret.
        until: Timestamp,
    },
}

/// Gives a webhook a secret from another master key. All of its old secrets end.
#[derive(Debug, Clone)]
pub struct RekeyWebhook {
    /// The account of the webhook.
    pub account: AccountId,
    /// The webhook whose secret is replaced.
    pub id: WebhookId,
    /// The new master key.
    pub master: MasterKeyId,
}

/// The reason why an operator's or the dispatcher's change of a webhook was not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("there is no such webhook")]
pub struct UnknownWebhook;

impl Operation for RotateWebhookSecret {
    type Output = Webhook;
    type Rejection = RotateWebhookSecretRejection;

    fn footprint(&self, _seen: &View) -> Footprint {
        footprint(self.account)
    }

    fn decide(&self, view: &View) -> Result<(Changes, Self::Output), Self::Rejection> {
        let (mut record, index) =
            find(view, self.account, self.id).ok_or(RotateWebhookSecretRejection::NotFound)?;
        let secret = &mut record.webhooks[index].secret;
        let overlap = self.overlap.min(OVERLAP_MAX);
        if let Some(until) = secret.previous_until.filter(|until| *until > self.now && !overlap.is_zero()) {
            return Err(RotateWebhookSecretRejection::InProgress { until });
        }
        // A secret of another master key cannot be derived any more.
        let overlaps = !overlap.is_zero() && secret.master == self.master;
        secret.previous_until = overlaps.then(|| self.now.plus(overlap));
        secret.generation = secret.generation.saturating_add(1);
        secret.master = self.master;
        Ok(changed(record, index))
    }
}

impl Operation for RekeyWebhook {
    type Output = Webhook;
    type Rejection = UnknownWebhook;

    fn footprint(&self, _seen: &View) -> Footprint {
        footprint(self.account)
    }

    fn decide(&self, view: &View) -> Result<(Changes, Self::Output), Self::Rejection> {
        let (mut record, index) = find(view, self.account, self.id).ok_or(UnknownWebhook)?;
        let secret = &mut record.webhooks[index].secret;
        if secret.master == self.master {
            return Ok((Changes::none(), record.webhooks[index].clone()));
        }
        secret.generation = secret.generation.saturating_add(1);
        (secret.master, secret.previous_until) = (self.master, None);
        Ok(changed(record, index))
    }
}
