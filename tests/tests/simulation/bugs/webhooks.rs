//! Faulty settings of webhooks.

use std::sync::Arc;

use petstore_domain::{AccountId, AccountWebhooks, Scope, Timestamp};
use petstore_ports::{Reply, ScopeReader, StoreError, WebhookChanges, WebhookReader};

use super::Bug;

/// A reader that shows the dispatcher every webhook as enabled, or with its first secret.
pub(crate) struct FaultyReader {
    pub(crate) bug: Bug,
    pub(crate) inner: Arc<dyn WebhookReader>,
}

impl WebhookReader for FaultyReader {
    fn webhooks_of(&self, account: AccountId) -> Reply<Result<AccountWebhooks, StoreError>> {
        let bug = self.bug;
        self.inner.webhooks_of(account).map(move |record| record.map(|record| wrong(bug, record)))
    }

    fn changed_webhooks(&self, since: u64) -> Reply<Result<WebhookChanges, StoreError>> {
        let bug = self.bug;
        self.inner.changed_webhooks(since).map(move |changes| {
            let mut changes = changes?;
            changes.accounts = changes.accounts.into_iter().map(|record| wrong(bug, record)).collect();
            Ok(changes)
        })
    }
}

/// The webhooks of an account as the faulty dispatcher sees them.
fn wrong(bug: Bug, mut record: AccountWebhooks) -> AccountWebhooks {
    for webhook in &mut record.webhooks {
        match bug {
            Bug::DeliversToDisabled => webhook.disabled = None,
            _ => webhook.secret.generation = 1,
        }
    }
    record
}

/// A reader for which every account has every scope.
pub(crate) struct EveryAccount;

impl ScopeReader for EveryAccount {
    fn accounts_with(
        &self,
        _: Scope,
        accounts: Vec<AccountId>,
        _: Timestamp,
    ) -> Reply<Result<Vec<AccountId>, StoreError>> {
        Reply::now(Ok(accounts))
    }
}
