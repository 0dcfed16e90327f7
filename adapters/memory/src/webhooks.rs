//! The table of webhooks: one record for each account.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;
use parking_lot::RwLock;
use petstore_domain::{AccountId, AccountWebhooks, WebhookId};
use petstore_ports::WebhookChanges;

/// The webhooks of all accounts, found by account and by id, and sorted by the revision of their last change.
///
/// An account that had webhooks keeps an empty record, so that a reader of changes learns of their deletion.
#[derive(Default)]
pub(crate) struct WebhookTable(RwLock<Records>);

#[derive(Default)]
struct Records {
    by_account: HashMap<AccountId, (u64, AccountWebhooks), RandomState>,
    owners: HashMap<WebhookId, AccountId, RandomState>,
    by_revision: BTreeMap<u64, AccountId>,
    /// The number of changes.
    revision: u64,
}

impl WebhookTable {
    /// The webhooks of an account; none if it has no webhook.
    pub(crate) fn get(&self, account: AccountId) -> Option<AccountWebhooks> {
        let records = self.0.read();
        let (_, record) = records.by_account.get(&account)?;
        (!record.webhooks.is_empty()).then(|| record.clone())
    }

    /// The account of a webhook.
    pub(crate) fn owner(&self, webhook: WebhookId) -> Option<AccountId> {
        self.0.read().owners.get(&webhook).copied()
    }

    /// All records with a webhook, by account.
    pub(crate) fn all(&self) -> Vec<AccountWebhooks> {
        let records = self.0.read();
        let found = records.by_account.values().map(|(_, record)| record);
        let mut found: Vec<_> = found.filter(|record| !record.webhooks.is_empty()).cloned().collect();
        found.sort_unstable_by_key(|record| record.account);
        found
    }

    /// The records that have changed since a revision.
    pub(crate) fn changes(&self, since: u64) -> WebhookChanges {
        let records = self.0.read();
        // A revision of another opening of the store may be higher than that of this one.
        let since = if since > records.revision { 0 } else { since };
        let changed = records.by_revision.range(since + 1..).map(|(_, account)| account);
        let accounts = changed.filter_map(|account| records.by_account.get(account));
        let accounts = accounts.map(|(_, record)| record.clone()).collect();
        WebhookChanges { revision: records.revision, accounts, is_complete: since == 0 }
    }

    /// Writes a record. Returns the webhooks that it deletes.
    pub(crate) fn put(&self, record: AccountWebhooks) -> Vec<WebhookId> {
        let mut records = self.0.write();
        let account = record.account;
        for webhook in &record.webhooks {
            records.owners.insert(webhook.id, account);
        }
        records.revision += 1;
        let revision = records.revision;
        records.by_revision.insert(revision, account);
        let Some((old, before)) = records.by_account.insert(account, (revision, record)) else {
            return Vec::new();
        };
        records.by_revision.remove(&old);
        let kept = &records.by_account[&account].1;
        let deleted = before.webhooks.iter().map(|webhook| webhook.id).filter(|id| kept.get(*id).is_none());
        let deleted: Vec<WebhookId> = deleted.collect();
        for id in &deleted {
            records.owners.remove(id);
        }
        deleted
    }

    /// Removes all webhooks. The caller excludes writes.
    pub(crate) fn clear(&self) {
        for record in self.all() {
            self.put(AccountWebhooks::none(record.account));
        }
    }
}
