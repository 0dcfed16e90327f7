//! The scopes of accounts, which are those of their valid keys.

use std::time::Duration;

use petstore_domain::{
    AccountId, Ban, BanKey, CreateKey, CreatedKey, KeyHolder, KeyId, KeyPatch, LiftBan, Patch, Plan,
    RevokeKey, RotateKey, Scope, Scopes, Timestamp, UpdateKey,
};

use crate::WebhookSubject;
use crate::make::{at, create_key, fresh_secret};

impl WebhookSubject {
    /// A new account, whose key has these scopes.
    async fn account_with(&self, scopes: &str) -> CreatedKey {
        self.key_of(KeyHolder::New { plan: Plan::Free }, scopes).await
    }

    async fn key_of(&self, holder: KeyHolder, scopes: &str) -> CreatedKey {
        let scopes = Scopes::parse(scopes).expect("scopes");
        self.subject.run(CreateKey { scopes, ..create_key(holder) }).await.expect("a new key")
    }

    async fn patch(&self, id: KeyId, patch: KeyPatch) {
        self.subject.run(UpdateKey { id, patch }).await.expect("the key is there");
    }

    async fn rescope(&self, id: KeyId, scopes: &str) {
        let scopes = Some(Scopes::parse(scopes).expect("scopes"));
        self.patch(id, KeyPatch { scopes, ..KeyPatch::default() }).await;
    }

    async fn revoke(&self, id: KeyId) {
        self.subject.run(RevokeKey { id, now: at(21) }).await.expect("the key is there");
    }

    async fn with(&self, scope: Scope, accounts: &[AccountId], now: Timestamp) -> Vec<AccountId> {
        let found = self.ports.scopes.accounts_with(scope, accounts.to_vec(), now).await;
        let mut found = found.expect("the store answers");
        found.sort_unstable();
        found
    }

    /// Panics unless exactly these of the accounts have the scope `webhooks` within a second.
    async fn shows_with(&self, accounts: &[AccountId], expected: &[AccountId], now: Timestamp) {
        let shown = async {
            while self.with(Scope::Webhooks, accounts, now).await != expected {
                tokio::task::yield_now().await;
            }
        };
        let in_time = tokio::time::timeout(Duration::from_secs(1), shown).await;
        assert!(in_time.is_ok(), "within one second {expected:?} of {accounts:?} have the scope at {now}");
    }
}

/// An account has a scope while one of its keys has it, is neither revoked nor expired, and is not banned.
pub async fn an_account_has_the_scopes_of_its_valid_keys(subject: &WebhookSubject) {
    let [first, second, third] = [
        subject.account_with("read,write,webhooks").await,
        subject.account_with("read,write").await,
        subject.account_with("webhooks").await,
    ];
    let [one, none, other] = [&first, &second, &third].map(|made| made.account.id);
    let missing = AccountId::new(other.get() + 1_000).expect("an id");
    let all = [one, none, other, missing];
    subject.shows_with(&all, &[one, other], at(0)).await;
    assert_eq!(subject.with(Scope::Write, &all, at(0)).await, [one, none], "each scope has its accounts");
    assert_eq!(subject.with(Scope::Webhooks, &[none, missing], at(0)).await, [], "only those asked for");
    assert_eq!(subject.with(Scope::Webhooks, &[], at(0)).await, []);

    // Another key of the account is enough, whichever of them is the older one.
    let holder = KeyHolder::Named { name: second.account.name.clone(), plan: None };
    let further = subject.key_of(holder, "webhooks").await.key.id;
    subject.shows_with(&all, &[one, none, other], at(0)).await;
    subject.rescope(further, "read").await;
    subject.shows_with(&all, &[one, other], at(0)).await;
    subject.rescope(further, "read,webhooks").await;
    subject.shows_with(&all, &[one, none, other], at(0)).await;
    subject.revoke(further).await;
    subject.shows_with(&all, &[one, other], at(0)).await;

    // A key is valid before its expiry, and a rotated one to the end of the overlap.
    subject.patch(third.key.id, KeyPatch { expires_at: Patch::Set(at(100)), ..KeyPatch::default() }).await;
    subject.shows_with(&all, &[one], at(100)).await;
    subject.shows_with(&all, &[one, other], at(99)).await;
    let (digest, prefix) = fresh_secret();
    let rotate =
        RotateKey { id: first.key.id, overlap: Duration::from_secs(10), digest, prefix, now: at(20) };
    let successor = subject.subject.run(rotate).await.expect("the key is there").id;
    subject.revoke(successor).await;
    subject.shows_with(&all, &[other], at(30)).await;
    subject.shows_with(&all, &[one, other], at(29)).await;

    // A recorded ban counts until its end, or until it is lifted.
    let length = Duration::from_secs(5);
    let ban = Ban { since: at(21), until: at(26), length };
    subject.subject.run(BanKey { id: first.key.id, ban }).await.expect("the key is there");
    subject.shows_with(&all, &[other], at(25)).await;
    subject.shows_with(&all, &[one, other], at(26)).await;
    subject.subject.run(LiftBan { id: first.key.id, now: at(23) }).await.expect("the key is there");
    subject.shows_with(&all, &[one, other], at(25)).await;
}
