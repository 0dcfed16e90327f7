//! The requests of the admin socket, as calls of the service.

use std::sync::Arc;
use std::time::Duration;

use petstore_domain::{
    Account, AccountId, KeyHolder, KeyId, KeyPatch, KeyPrefix, KeyRecord, Patch, Scopes, Timestamp,
};
use petstore_ports::api::{Administration, Failure, KeyListing, NewKey};
use petstore_ports::{Clock, StoreError, StoreErrorKind};
use petstore_service::WebhookService;

use super::transfers::BulkTransfers;
use super::{
    AccountView, AdminAnswer, AdminRequest, KeyRef, KeyView, PAGE, Replaced, account_name, key_label,
};
use crate::own_files::{self, NamedFile};
use crate::reload::Reloader;

/// Executes the requests of the admin socket.
pub(crate) struct AdminHandler {
    pub(crate) administration: Arc<dyn Administration>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) webhooks: Arc<WebhookService>,
    pub(crate) bulk: Arc<BulkTransfers>,
    /// The default overlap of a rotation.
    pub(crate) overlap: Duration,
    /// The files that the server uses.
    pub(crate) own_files: Vec<NamedFile>,
    /// None for a command that runs without a server.
    pub(crate) reloader: Option<Arc<Reloader>>,
}

impl AdminHandler {
    /// Executes a request, or answers why it is refused.
    pub(crate) async fn answer(&self, request: AdminRequest) -> AdminAnswer {
        self.answer_or_refuse(request).await.unwrap_or_else(|why| AdminAnswer::Refused { why })
    }

    async fn answer_or_refuse(&self, request: AdminRequest) -> Result<AdminAnswer, String> {
        let now = self.clock.now();
        match request {
            AdminRequest::CreateKey { account, plan, label, scopes, expires } => {
                let plan = plan.map(super::PlanChoice::plan).transpose()?;
                let holder = match account {
                    Some(name) => KeyHolder::Named { name: account_name(&name)?, plan },
                    None => KeyHolder::New { plan: plan.unwrap_or(KeyHolder::DEFAULT_PLAN) },
                };
                let new = NewKey {
                    holder,
                    label: key_label(&label)?,
                    scopes: key_scopes(&scopes)?,
                    expires_at: expires.map(|time| expiry(&time, now)).transpose()?,
                };
                let created = self.administration.create_key(new).await.map_err(why)?;
                let key = KeyView::new(&created.made.key, &created.made.account, now);
                let secret = created.secret.reveal().to_owned();
                Ok(AdminAnswer::Created { secret, key, replaced: None })
            }
            AdminRequest::ListKeys { after } => {
                let after = after.map(KeyId::new).transpose().map_err(|error| error.to_string())?;
                let listings =
                    self.administration.keys(after, PAGE).await.map_err(|error| store_fault(&error))?;
                let more = listings.len() == PAGE;
                Ok(AdminAnswer::Keys {
                    keys: listings.iter().map(|one| KeyView::of(one, now)).collect(),
                    more,
                })
            }
            AdminRequest::ShowKey { key } => {
                Ok(AdminAnswer::Key { key: KeyView::of(&self.find(&key).await?, now) })
            }
            AdminRequest::UpdateKey { key, label, scopes, expires } => {
                let patch = KeyPatch {
                    label: label.map(|label| key_label(&label)).transpose()?,
                    scopes: scopes.map(|scopes| key_scopes(&scopes)).transpose()?,
                    expires_at: match expires.as_deref() {
                        None => Patch::Keep,
                        Some("never") => Patch::Clear,
                        Some(time) => Patch::Set(expiry(time, now)?),
                    },
                };
                let found = self.find(&key).await?;
                let updated = self.administration.update_key(found.key.id, patch).await;
                Ok(self.key(found, updated.map_err(why)?))
            }
            AdminRequest::RotateKey { key, overlap_millis } => self.rotate(&key, overlap_millis, now).await,
            AdminRequest::RevokeKey { key } => {
                let found = self.find(&key).await?;
                let revoked = self.administration.revoke_key(found.key.id).await;
                Ok(self.key(found, revoked.map_err(why)?))
            }
            AdminRequest::LiftBan { key } => {
                let found = self.find(&key).await?;
                let lifted = self.administration.lift_ban(found.key.id).await;
                Ok(self.key(found, lifted.map_err(why)?))
            }
            AdminRequest::Webhooks { request } => self.answer_about_webhooks(request).await,
            AdminRequest::Reload => {
                let reloader = self.reloader.as_ref().ok_or("there is no running server to reload")?;
                let done = reloader.reload().map_err(|why| format!("nothing was reloaded: {why}"))?;
                let warning = done.warning.iter().map(|warning| format!("warning: {warning}"));
                Ok(AdminAnswer::Reloaded { lines: done.lines().into_iter().chain(warning).collect() })
            }
            AdminRequest::CheckFile => {
                let bulk = Arc::clone(&self.bulk);
                // The check reads the file system, which blocks.
                let checked = tokio::task::spawn_blocking(move || bulk.check_file());
                checked.await.map_err(|error| error.to_string())?.map(|()| AdminAnswer::FileIsWell)
            }
            AdminRequest::OwnFiles => Ok(AdminAnswer::OwnFiles { files: own_files::now(&self.own_files) }),
            // Lines or bytes follow these requests, so a running server handles them in `converse`. Such a request
            // arrives here only from a command that runs without a server.
            AdminRequest::Import { .. } | AdminRequest::Export | AdminRequest::Backup => {
                Err("imports, exports and backups need a running server".to_owned())
            }
            AdminRequest::ListAccounts { after } => {
                let after = after.map(AccountId::new).transpose().map_err(|error| error.to_string())?;
                let accounts =
                    self.administration.accounts(after, PAGE).await.map_err(|error| store_fault(&error))?;
                let more = accounts.len() == PAGE;
                Ok(AdminAnswer::Accounts {
                    accounts: accounts.iter().map(|one| self.view(one)).collect(),
                    more,
                })
            }
            AdminRequest::ShowAccount { account } => {
                let found = self.account(&account).await?;
                Ok(AdminAnswer::Account { account: self.view(&found) })
            }
            AdminRequest::UpdateAccount { account, name, plan } => {
                let found = self.account(&account).await?;
                let name = name.map(|name| account_name(&name)).transpose()?;
                let plan = plan.map(super::PlanChoice::plan).transpose()?;
                let updated = self.administration.update_account(found.id, name, plan).await.map_err(why)?;
                Ok(AdminAnswer::Account { account: self.view(&updated) })
            }
        }
    }

    async fn rotate(
        &self,
        key: &KeyRef,
        overlap_millis: Option<u64>,
        now: Timestamp,
    ) -> Result<AdminAnswer, String> {
        let found = self.find(key).await?;
        let overlap = overlap_millis.map_or(self.overlap, Duration::from_millis);
        let rotated = self.administration.rotate_key(found.key.id, overlap).await.map_err(why)?;
        let key = KeyView::new(&rotated.made, &found.account, now);
        // The new secret must be shown even if this look-up fails.
        let old = self.key_of(found.key.id).await.ok().flatten();
        let replaced = old.and_then(|old| old.key.valid_until()).map(|expiry| Replaced {
            id: found.key.id.get(),
            expires_at: expiry.to_string(),
            is_cut_short: found.key.valid_until() == Some(expiry),
        });
        let secret = rotated.secret.reveal().to_owned();
        Ok(AdminAnswer::Created { secret, key, replaced })
    }

    /// An account with the limits of its plan.
    fn view(&self, account: &Account) -> AccountView {
        AccountView::new(account, self.administration.limits(&account.plan))
    }

    fn key(&self, found: KeyListing, key: KeyRecord) -> AdminAnswer {
        let listing = KeyListing { key, account: found.account };
        AdminAnswer::Key { key: KeyView::of(&listing, self.clock.now()) }
    }

    async fn account(&self, name: &str) -> Result<Account, String> {
        let found = self.administration.account_named(&account_name(name)?).await;
        found.map_err(|error| store_fault(&error))?.ok_or_else(|| format!("account {name} does not exist"))
    }

    async fn key_of(&self, id: KeyId) -> Result<Option<KeyListing>, String> {
        let before = KeyId::new(id.get() - 1).ok();
        let found = self.administration.keys(before, 1).await.map_err(|error| store_fault(&error))?;
        Ok(found.into_iter().find(|listing| listing.key.id == id))
    }

    /// Finds a key by its id or its first characters. A prefix that two keys share is refused.
    async fn find(&self, key: &KeyRef) -> Result<KeyListing, String> {
        let unknown = || format!("key {} does not exist", shown(&key.0));
        if let Ok(id) = KeyId::parse(&key.0) {
            return self.key_of(id).await?.ok_or_else(unknown);
        }
        // An operator may paste the whole secret, so only the first characters are used.
        let prefix = key.0.get(..KeyPrefix::LEN).and_then(|text| KeyPrefix::parse(text).ok());
        let prefix = prefix.ok_or_else(unknown)?;
        let (mut after, mut found) = (None, None);
        loop {
            let page = self.administration.keys(after, PAGE).await.map_err(|error| store_fault(&error))?;
            after = page.last().map(|listing| listing.key.id);
            for listing in page {
                if listing.key.prefix == prefix && found.replace(listing).is_some() {
                    return Err(format!("more than one key begins with {prefix}: use the id"));
                }
            }
            if after.is_none() {
                return found.ok_or_else(unknown);
            }
        }
    }
}

/// The part of an unknown key that may be shown: all of a number. Of another text the rest is left out, because it may be a secret.
fn shown(key: &str) -> String {
    let is_number = key.bytes().all(|byte| byte.is_ascii_digit());
    let length = if is_number { key.len() } else { KeyPrefix::LEN };
    key.chars().take(length).collect()
}

fn key_scopes(text: &str) -> Result<Scopes, String> {
    Scopes::parse(text).ok_or_else(|| {
        "expected a list of the scopes read, write and webhooks, such as read,write".to_owned()
    })
}

/// Parses a point in time, or a duration from now.
fn expiry(text: &str, now: Timestamp) -> Result<Timestamp, String> {
    if let Ok(duration) = crate::settings::expected::duration(text) {
        return Ok(now.plus(duration));
    }
    let time = Timestamp::parse(text)
        .map_err(|_| "expected a time such as 30d, or a date such as 2030-12-05T00:00:00Z".to_owned())?;
    if time <= now {
        Err(format!("{text} is in the past: an expiry must be in the future"))
    } else {
        Ok(time)
    }
}

pub(super) fn why<R: std::fmt::Display>(failure: Failure<R>) -> String {
    match failure {
        Failure::Store(error) => store_fault(&error),
        failure => failure.report(),
    }
}

pub(super) fn store_fault(error: &StoreError) -> String {
    match error.kind() {
        // The change may have been made, so the message must not begin with "nothing was changed".
        StoreErrorKind::Indeterminate => error.report(),
        StoreErrorKind::Busy | StoreErrorKind::Unavailable | StoreErrorKind::Corrupt => {
            format!("nothing was changed: {}", error.report())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expiry_must_be_in_the_future() {
        let at = |millis: i64| Timestamp::from_millis(1_900_000_000_000 + millis).unwrap();
        let given = |millis| expiry(&at(millis).to_string(), at(0));
        for past in [-1, 0] {
            let why = format!("{} is in the past: an expiry must be in the future", at(past));
            assert_eq!(given(past), Err(why));
        }
        assert_eq!(given(1), Ok(at(1)));
    }
}
