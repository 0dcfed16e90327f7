//! Accounts and keys, for an operator.

use std::time::Duration;

use async_trait::async_trait;
use petstore_domain::{
    Account, AccountId, AccountName, ApiKey, CopiedKey, CopyKey, CopyKeyRejection, CreateKey,
    CreateKeyRejection, CreatedKey, KeyHolder, KeyId, KeyLabel, KeyPatch, KeyRecord, LiftBan, Limits, Plan,
    RevokeKey, RotateKey, RotateKeyRejection, Scopes, UnknownKey, UpdateAccount, UpdateAccountRejection,
    UpdateKey, Usage,
};
use petstore_ports::StoreError;
use petstore_ports::api::{Administration, Failure, InitialKey, KeyListing, NewKey, RevealedKey};

use crate::digest;
use crate::service::Service;

/// The name of the account that is created at the first start on an empty store.
const INITIAL_ACCOUNT: &str = "default";

impl Service {
    async fn create_key_with(
        &self,
        secret: ApiKey,
        new: NewKey,
    ) -> Result<RevealedKey<CreatedKey>, Failure<CreateKeyRejection>> {
        let operation = CreateKey {
            holder: new.holder,
            digest: digest::of_key(&secret),
            prefix: secret.display_prefix(),
            label: new.label,
            scopes: new.scopes,
            expires_at: new.expires_at,
            now: self.clock.now(),
        };
        let made = self.submit(operation).await?;
        Ok(RevealedKey { secret, made })
    }

    fn new_secret(&self) -> Result<ApiKey, StoreError> {
        self.entropy.bits().map(ApiKey::from_entropy)
    }

    async fn account(&self, id: AccountId) -> Result<Account, StoreError> {
        let before = AccountId::new(id.get() - 1).ok();
        let found = self.deadlines.read(self.directory.accounts(before, 1)).await?;
        found.into_iter().find(|account| account.id == id).ok_or_else(|| {
            StoreError::corrupt(format!("a key belongs to account {id}, which does not exist"))
        })
    }
}

#[async_trait]
impl Administration for Service {
    async fn create_key(&self, new: NewKey) -> Result<RevealedKey<CreatedKey>, Failure<CreateKeyRejection>> {
        let secret = self.new_secret()?;
        self.create_key_with(secret, new).await
    }

    async fn ensure_initial_key(
        &self,
        secret: Option<ApiKey>,
    ) -> Result<InitialKey, Failure<CreateKeyRejection>> {
        if !self.deadlines.read(self.directory.accounts(None, 1)).await?.is_empty() {
            let is_known = match secret {
                Some(secret) => self.gatekeeper.knows(&secret).await?,
                None => false,
            };
            return Ok(InitialKey::NotNeeded { is_known });
        }
        let secret = match secret {
            Some(secret) => secret,
            None => self.new_secret()?,
        };
        let name = AccountName::parse(INITIAL_ACCOUNT).expect("short and printable");
        let new = NewKey {
            holder: KeyHolder::Named { name, plan: Some(Plan::Business) },
            label: KeyLabel::parse("initial").expect("short and printable"),
            scopes: Scopes::ALL,
            expires_at: None,
        };
        self.create_key_with(secret, new).await.map(|revealed| InitialKey::Made(revealed.secret))
    }

    async fn copy_key(&self, copy: CopyKey) -> Result<CopiedKey, Failure<CopyKeyRejection>> {
        self.submit(copy).await
    }

    async fn keys(&self, after: Option<KeyId>, limit: usize) -> Result<Vec<KeyListing>, StoreError> {
        let mut listings = Vec::new();
        for mut key in self.deadlines.read(self.directory.keys(after, limit)).await? {
            self.gatekeeper.bans.show_in(&mut key);
            let account = self.account(key.account).await?;
            listings.push(KeyListing { key, account });
        }
        Ok(listings)
    }

    async fn update_key(&self, id: KeyId, patch: KeyPatch) -> Result<KeyRecord, Failure<UnknownKey>> {
        self.submit(UpdateKey { id, patch }).await
    }

    async fn rotate_key(
        &self,
        id: KeyId,
        overlap: Duration,
    ) -> Result<RevealedKey<KeyRecord>, Failure<RotateKeyRejection>> {
        // A ban that waits to be recorded is recorded first, because the new key inherits the ban in the old key's
        // record.
        self.gatekeeper.bans.record_one(self.ban_store(), id).await?;
        let secret = self.new_secret()?;
        let operation = RotateKey {
            id,
            overlap,
            digest: digest::of_key(&secret),
            prefix: secret.display_prefix(),
            now: self.clock.now(),
        };
        let made = self.submit(operation).await?;
        Ok(RevealedKey { secret, made })
    }

    async fn revoke_key(&self, id: KeyId) -> Result<KeyRecord, Failure<UnknownKey>> {
        let now = self.clock.now();
        self.submit_at(RevokeKey { id, now }, now).await
    }

    async fn lift_ban(&self, id: KeyId) -> Result<KeyRecord, Failure<UnknownKey>> {
        // A ban that waits to be recorded is recorded first, because the length of the key's next ban depends on the
        // recorded one.
        self.gatekeeper.bans.record_one(self.ban_store(), id).await?;
        let now = self.clock.now();
        self.submit_at(LiftBan { id, now }, now).await
    }

    async fn accounts(&self, after: Option<AccountId>, limit: usize) -> Result<Vec<Account>, StoreError> {
        self.deadlines.read(self.directory.accounts(after, limit)).await
    }

    async fn account_named(&self, name: &AccountName) -> Result<Option<Account>, StoreError> {
        self.deadlines.read(self.directory.account_named(&name.folded())).await
    }

    async fn usage(&self, account: &Account) -> Result<Usage, StoreError> {
        self.gatekeeper.usage(account, self.clock.now()).await
    }

    fn limits(&self, plan: &Plan) -> Limits {
        self.gatekeeper.limits(plan)
    }

    async fn update_account(
        &self,
        id: AccountId,
        name: Option<AccountName>,
        plan: Option<Plan>,
    ) -> Result<Account, Failure<UpdateAccountRejection>> {
        self.submit(UpdateAccount { id, name, plan }).await
    }
}
