//! Look-up of the presented key, and the delay until an operator's change is in force.

use std::time::Duration;

use petstore_domain::{
    KeyFault, KeyPatch, Patch, Plan, RevokeKey, RotateKey, Scopes, UpdateAccount, UpdateKey,
};
use petstore_ports::{Credential, KeyLookup};

use crate::Subject;
use crate::make::{at, fresh_secret, limits};

impl Subject {
    async fn credential(&self, name: KeyLookup) -> Option<Credential> {
        self.keys.credential(name).await.expect("a healthy store finds keys")
    }

    /// Panics unless looking up the key by its digest and by its id returns the expected credential within a second.
    pub(crate) async fn shows(&self, names: [KeyLookup; 2], expected: Credential) {
        let shown = async {
            for name in names {
                while self.credential(name).await != Some(expected) {
                    tokio::task::yield_now().await;
                }
            }
        };
        let in_time = tokio::time::timeout(Duration::from_secs(1), shown).await;
        assert!(in_time.is_ok(), "a change shows within one second: {expected:?}");
    }
}

/// Every key is found by its digest and by its id, with the fields of its account; unknown keys are not found.
pub async fn a_key_is_found_by_digest_and_by_id(subject: &Subject) {
    let mut made = Vec::new();
    for plan in [Plan::Free, Plan::Pro, Plan::Business, Plan::Enterprise(limits(3, 30))] {
        made.push(subject.add_account(plan).await);
    }
    for one in &made {
        let names = [KeyLookup::Digest(one.key.digest), KeyLookup::Id(one.key.id)];
        subject.shows(names, Credential::new(&one.key, &one.account)).await;
    }
    let (digest, _) = fresh_secret();
    assert_eq!(subject.credential(KeyLookup::Digest(digest)).await, None, "another secret matches no key");
}

/// New scopes, a new expiry, rotation and revocation are visible within a second, whether the key is looked up by
/// digest or by id.
pub async fn a_change_of_a_key_shows_within_a_second(subject: &Subject) {
    let made = subject.add_account(Plan::Free).await;
    let names = [KeyLookup::Digest(made.key.digest), KeyLookup::Id(made.key.id)];
    let first = Credential::new(&made.key, &made.account);
    subject.shows(names, first).await;

    let scopes = Scopes::parse("read").expect("a scope");
    let patch = KeyPatch { scopes: Some(scopes), expires_at: Patch::Set(at(100)), label: None };
    subject.run(UpdateKey { id: made.key.id, patch }).await.expect("the key is there");
    let changed = Credential { scopes, expires_at: Some(at(100)), ..first };
    subject.shows(names, changed).await;
    assert_eq!(changed.check(at(100)), Err(KeyFault::Expired));

    let (digest, prefix) = fresh_secret();
    let rotate = RotateKey { id: made.key.id, overlap: Duration::from_secs(10), digest, prefix, now: at(20) };
    let fresh = subject.run(rotate).await.expect("the key is there");
    subject.shows(names, Credential { expires_at: Some(at(30)), ..changed }).await;
    let fresh_names = [KeyLookup::Digest(digest), KeyLookup::Id(fresh.id)];
    let successor = Credential { key: fresh.id, expires_at: fresh.expires_at, ..changed };
    subject.shows(fresh_names, successor).await;

    subject.run(RevokeKey { id: made.key.id, now: at(21) }).await.expect("the key is there");
    subject.shows(names, Credential { revoked: true, expires_at: Some(at(30)), ..changed }).await;
    let successor = Credential { key: fresh.id, expires_at: fresh.expires_at, ..changed };
    subject.shows(fresh_names, successor).await;
}

/// A new plan is visible within a second in every key of the account, and in no other.
pub async fn a_change_of_plan_shows_within_a_second(subject: &Subject) {
    let (made, other) = (subject.add_account(Plan::Free).await, subject.add_account(Plan::Free).await);
    let second = subject.add_key(&made.account).await;
    let names = [KeyLookup::Digest(made.key.digest), KeyLookup::Id(made.key.id)];
    let before = Credential::new(&made.key, &made.account);
    let unchanged = Credential::new(&other.key, &other.account);
    subject.shows([KeyLookup::Id(other.key.id); 2], unchanged).await;
    let plan = Plan::Enterprise(limits(5, 50));
    // The key is looked up before and after the change, so that a cached first answer must be invalidated.
    for first in [before, Credential { plan, ..before }] {
        let update = UpdateAccount { id: made.account.id, name: None, plan: Some(first.plan) };
        subject.run(update).await.expect("the account is there");
        subject.shows(names, first).await;
        subject.shows([KeyLookup::Id(second); 2], Credential { key: second, ..first }).await;
    }
    let shown = subject.credential(KeyLookup::Id(other.key.id)).await;
    assert_eq!(shown, Some(unchanged), "no other plan changes");
}
