//! Faulty settings of webhooks.

use std::sync::Arc;

use petstore_domain::{AccountId, AccountWebhooks};
use petstore_ports::{Reply, StoreError, WebhookChanges, WebhookReader};

use super::Bug;

/// A reader that shows the dispatcher every webhook as enabled, or with its first secret.
pub(crate) struct FaultyReader {
    pub(crate) bug: Bug,
    pub(crate) inner: Arc<dyn WebhookReader>,
}

impl WebhookReader for FaultyReader {
    fn webhooks_of(&self, account: AccountId) -> Reply<Result<AccountWebhooks, StoreError>> {
        self.inner.webhooks_of(account)
    }

    fn changed_webhooks(&self, since: u64) -> Reply<Result<WebhookChanges, StoreError>> {
        let bug = self.bug;
        self.inner.changed_webhooks(since).map(move |changes| {
            let mut changes = changes?;
            for webhook in changes.accounts.iter_mut().flat_map(|record| &mut record.webhooks) {
                match bug {
                    Bug::DeliversToDisabled => webhook.disabled = None,
                    _ => webhook.secret.generation = 1,
                }
            }
            Ok(changes)
        })
    }
}
