//! Requests of the admin socket about webhooks.

use std::collections::HashMap;

use petstore_domain::{AccountId, WebhookId};
use petstore_ports::api::{WebhookListing, WebhookStatus};
use serde::{Deserialize, Serialize};

use super::handler::{AdminHandler, store_fault, why};
use super::{AdminAnswer, PAGE};

/// The number of webhooks that get a new secret in one answer.
const REKEYED_MAX: usize = 100;

/// A request about webhooks.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum WebhooksRequest {
    List {
        after: Option<String>,
    },
    Show {
        webhook: String,
    },
    SetEnabled {
        webhook: String,
        is_enabled: bool,
    },
    /// Asks for new secrets of webhooks whose master key is not the current one, for some of them at a time.
    Rekey,
}

/// A webhook as the commands show it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WebhookView {
    pub(crate) id: String,
    pub(crate) account: String,
    pub(crate) url: String,
    pub(crate) types: Vec<String>,
    pub(crate) ordering: String,
    /// `active`, `failing`, `disabled`, or `withheld` if no valid key of the account has the scope `webhooks`.
    pub(crate) status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) disabled_reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) failing_reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) failing_since: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_success_at: Option<String>,
    /// The event up to which all events are settled.
    pub(crate) cursor: String,
    /// The number of events after that.
    pub(crate) lag: u64,
    pub(crate) created_at: String,
}

impl WebhookView {
    fn new(account: String, listing: &WebhookListing) -> Self {
        let webhook = &listing.webhook;
        let (status, disabled_reason, failing_reason) = match listing.status {
            _ if listing.is_withheld => ("withheld", None, None),
            WebhookStatus::Active => ("active", None, None),
            WebhookStatus::Failing => ("failing", None, Some(listing.failing_reason().as_str())),
            WebhookStatus::Disabled(reason) => ("disabled", Some(reason.as_str()), None),
        };
        Self {
            id: webhook.id.to_string(),
            account,
            url: webhook.url.as_str().to_owned(),
            types: webhook.types.iter().map(str::to_owned).collect(),
            ordering: webhook.ordering.as_str().to_owned(),
            status: status.to_owned(),
            disabled_reason: disabled_reason.map(str::to_owned),
            failing_reason: failing_reason.map(str::to_owned),
            failing_since: listing.failing_since.map(|time| time.to_string()),
            last_success_at: listing.last_success_at.map(|time| time.to_string()),
            cursor: listing.cursor.to_string(),
            lag: listing.lag,
            created_at: webhook.created_at.to_string(),
        }
    }
}

impl AdminHandler {
    pub(super) async fn answer_about_webhooks(
        &self,
        request: WebhooksRequest,
    ) -> Result<AdminAnswer, String> {
        match request {
            WebhooksRequest::List { after } => {
                let after = after.as_deref().map(webhook_id).transpose()?;
                let page = self.webhooks.all(after, PAGE).await.map_err(|error| store_fault(&error))?;
                self.page(page, PAGE).await
            }
            WebhooksRequest::Show { webhook } => {
                let (account, found) = self.find_webhook(&webhook).await?;
                self.webhook(account, found).await
            }
            WebhooksRequest::SetEnabled { webhook, is_enabled } => {
                let (account, found) = self.find_webhook(&webhook).await?;
                let changed = self.webhooks.set_enabled(account, found.webhook.id, is_enabled).await;
                self.webhook(account, changed.map_err(why)?).await
            }
            WebhooksRequest::Rekey => {
                let rekeyed = self.webhooks.rekey_others(REKEYED_MAX).await;
                self.page(rekeyed.map_err(|error| store_fault(&error))?, REKEYED_MAX).await
            }
        }
    }

    async fn find_webhook(&self, text: &str) -> Result<(AccountId, WebhookListing), String> {
        let found = self.webhooks.of_any_account(webhook_id(text)?).await;
        found.map_err(|error| store_fault(&error))?.ok_or_else(|| format!("webhook {text} does not exist"))
    }

    async fn webhook(&self, account: AccountId, listing: WebhookListing) -> Result<AdminAnswer, String> {
        let webhook = WebhookView::new(self.account_name_of(account).await?, &listing);
        Ok(AdminAnswer::Webhook { webhook })
    }

    /// A page of webhooks with the names of their accounts.
    async fn page(
        &self,
        listings: Vec<(AccountId, WebhookListing)>,
        page: usize,
    ) -> Result<AdminAnswer, String> {
        let more = listings.len() == page;
        let mut names: HashMap<AccountId, String> = HashMap::new();
        let mut webhooks = Vec::with_capacity(listings.len());
        for (account, listing) in listings {
            let name = match names.get(&account) {
                Some(name) => name.clone(),
                None => self.account_name_of(account).await?,
            };
            webhooks.push(WebhookView::new(name.clone(), &listing));
            names.insert(account, name);
        }
        Ok(AdminAnswer::Webhooks { webhooks, more })
    }

    async fn account_name_of(&self, id: AccountId) -> Result<String, String> {
        let before = AccountId::new(id.get() - 1).ok();
        let found = self.administration.accounts(before, 1).await.map_err(|error| store_fault(&error))?;
        let name = found.into_iter().find(|account| account.id == id).map(|account| account.name.to_string());
        Ok(name.unwrap_or_else(|| id.get().to_string()))
    }
}

fn webhook_id(text: &str) -> Result<WebhookId, String> {
    WebhookId::parse_clamped(text)
        .map_err(|_| format!("{text} is no id of a webhook: expected whk_ and 22 letters or digits"))
}
