//! The webhooks of all accounts, for an operator.

use std::collections::BTreeSet;

use petstore_domain::{
    AccountId, DisabledReason, MasterKeyId, Precondition, RekeyWebhook, Scope, UnknownWebhook,
    UpdateWebhookRejection, Webhook, WebhookId, WebhookPatch,
};
use petstore_ports::StoreError;
use petstore_ports::api::{Failure, WebhookListing, WebhookStatus};

use super::WebhookService;

impl WebhookService {
    /// A page of the webhooks of all accounts, by id.
    pub async fn all(
        &self,
        after: Option<WebhookId>,
        limit: usize,
    ) -> Result<Vec<(AccountId, WebhookListing)>, StoreError> {
        let mut all = self.of_all_accounts().await?;
        all.retain(|(_, webhook)| after.is_none_or(|after| webhook.id > after));
        all.sort_unstable_by_key(|(_, webhook)| webhook.id);
        self.listed_all(all.into_iter().take(limit)).await
    }

    /// A webhook of any account.
    pub async fn of_any_account(
        &self,
        id: WebhookId,
    ) -> Result<Option<(AccountId, WebhookListing)>, StoreError> {
        let found = self.of_all_accounts().await?.into_iter().find(|(_, webhook)| webhook.id == id);
        Ok(self.listed_all(found.into_iter()).await?.pop())
    }

    /// Disables or enables a webhook.
    pub async fn set_enabled(
        &self,
        account: AccountId,
        id: WebhookId,
        is_enabled: bool,
    ) -> Result<WebhookListing, Failure<UpdateWebhookRejection>> {
        let patch = WebhookPatch { is_enabled: Some(is_enabled), ..WebhookPatch::default() };
        let reason = DisabledReason::Operator;
        let listing = self.update(account, id, patch, None, Precondition::None, reason).await?;
        self.one_for_operator(account, listing).await.map_err(Failure::Store)
    }

    /// Gives a webhook a secret from the current master key, unless it has one. The owner sees the new secret at the next
    /// rotation.
    pub async fn rekey(
        &self,
        account: AccountId,
        id: WebhookId,
    ) -> Result<WebhookListing, Failure<UnknownWebhook>> {
        let master = self.prepare()?;
        let webhook = self.service.submit(RekeyWebhook { account, id, master }).await?;
        let listing = self.listed(webhook).await?;
        self.one_for_operator(account, listing).await.map_err(Failure::Store)
    }

    /// Gives webhooks with another master key a secret from the current one, at most `limit` of them. Makes the current
    /// master key if there is none.
    pub async fn rekey_others(&self, limit: usize) -> Result<Vec<(AccountId, WebhookListing)>, StoreError> {
        let master = self.prepare()?;
        let mut rekeyed = Vec::new();
        for (account, id) in self.with_other_key(master).await?.into_iter().take(limit) {
            match self.rekey(account, id).await {
                Ok(listing) => rekeyed.push((account, listing)),
                Err(Failure::Store(error)) => return Err(error),
                // It was deleted meanwhile.
                Err(_) => {}
            }
        }
        Ok(rekeyed)
    }

    async fn with_other_key(&self, master: MasterKeyId) -> Result<Vec<(AccountId, WebhookId)>, StoreError> {
        let all = self.of_all_accounts().await?.into_iter();
        let others = all.filter(|(_, webhook)| webhook.secret.master != master);
        Ok(others.map(|(account, webhook)| (account, webhook.id)).collect())
    }

    pub(super) async fn of_all_accounts(&self) -> Result<Vec<(AccountId, Webhook)>, StoreError> {
        let changes = self.service.deadlines.reply(self.ports.webhooks.changed_webhooks(0)).await?;
        let of_account = |record: petstore_domain::AccountWebhooks| {
            record.webhooks.into_iter().map(move |webhook| (record.account, webhook))
        };
        Ok(changes.accounts.into_iter().flat_map(of_account).collect())
    }

    async fn listed_all(
        &self,
        webhooks: impl Iterator<Item = (AccountId, Webhook)>,
    ) -> Result<Vec<(AccountId, WebhookListing)>, StoreError> {
        let mut listings = Vec::new();
        for (account, webhook) in webhooks {
            listings.push((account, self.listed(webhook).await?));
        }
        self.note_withheld(&mut listings).await?;
        Ok(listings)
    }

    async fn one_for_operator(
        &self,
        account: AccountId,
        listing: WebhookListing,
    ) -> Result<WebhookListing, StoreError> {
        let mut listings = [(account, listing)];
        self.note_withheld(&mut listings).await?;
        let [(_, listing)] = listings;
        Ok(listing)
    }

    /// Notes which webhooks get no events, because no valid key of their account has the scope.
    async fn note_withheld(&self, listings: &mut [(AccountId, WebhookListing)]) -> Result<(), StoreError> {
        let accounts: BTreeSet<AccountId> = listings.iter().map(|(account, _)| *account).collect();
        let (asked, now) = (accounts.into_iter().collect(), self.service.clock.now());
        let reply = self.ports.scopes.accounts_with(Scope::Webhooks, asked, now);
        let permitted: BTreeSet<AccountId> = self.service.deadlines.reply(reply).await?.into_iter().collect();
        for (account, listing) in listings {
            let is_enabled = !matches!(listing.status, WebhookStatus::Disabled(_));
            listing.is_withheld = is_enabled && !permitted.contains(account);
        }
        Ok(())
    }
}
