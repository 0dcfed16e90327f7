//! Accounts and keys in the directory for operators.

use std::time::Duration;

use petstore_domain::{
    Account, AccountId, AccountName, Ban, CopiedKey, CopyKey, CreateKey, CreateKeyRejection, KeyHolder,
    KeyId, KeyLabel, KeyPatch, KeyRecord, Patch, Plan, RevokeKey, RotateKey, Scopes, UnknownKey,
    UpdateAccount, UpdateAccountRejection, UpdateKey,
};
use petstore_ports::{Credential, KeyLookup};

use crate::Subject;
use crate::make::{account_name, at, create_key, fresh_secret, limits};
use crate::together::together;

impl Subject {
    /// Every account.
    pub(crate) async fn all_accounts(&self) -> Vec<Account> {
        self.accounts.accounts(None, 10_000).await.expect("accounts are listed")
    }

    /// Every key.
    pub(crate) async fn all_keys(&self) -> Vec<KeyRecord> {
        self.accounts.keys(None, 10_000).await.expect("keys are listed")
    }

    /// A key as the directory shows it.
    pub(crate) async fn key(&self, id: KeyId) -> Option<KeyRecord> {
        self.all_keys().await.into_iter().find(|key| key.id == id)
    }
}

/// Each step of creating, changing and revoking a key is visible in the directory.
pub async fn keys_are_created_changed_and_revoked(subject: &Subject) {
    let plan = Plan::Enterprise(limits(7, 700));
    let create = create_key(KeyHolder::Named { name: account_name("Zoo"), plan: Some(plan) });
    let created = subject.run(create.clone()).await.expect("a fresh name");
    let expected = Account { id: created.account.id, name: account_name("Zoo"), plan, created_at: at(0) };
    assert_eq!(created.account, expected);
    assert_eq!(subject.all_accounts().await, [expected], "an account is listed as it was made");
    assert_eq!(
        subject.all_keys().await,
        std::slice::from_ref(&created.key),
        "a key is listed as it was made"
    );
    let CreateKey { digest, prefix, .. } = create;
    assert_eq!((created.key.digest, created.key.prefix), (digest, prefix));

    let patch = KeyPatch {
        label: Some(KeyLabel::parse("the till").expect("a label")),
        scopes: Scopes::parse("read"),
        expires_at: Patch::Set(at(9)),
    };
    let updated = subject.run(UpdateKey { id: created.key.id, patch }).await.expect("the key is there");
    assert_eq!((updated.label.as_str(), updated.expires_at), ("the till", Some(at(9))));
    assert_eq!(subject.all_keys().await, [updated], "a key is listed as it was changed");

    let revoked = subject.run(RevokeKey { id: created.key.id, now: at(5) }).await.expect("the key is there");
    assert_eq!(revoked.revoked_at, Some(at(5)));
    let again = subject.run(RevokeKey { id: created.key.id, now: at(6) }).await;
    assert_eq!(again, Ok(revoked.clone()), "a key is revoked once");
    assert_eq!(subject.all_keys().await, [revoked], "a revoked key is listed");
    let unknown = KeyId::new(1_000_000).expect("an id");
    assert_eq!(subject.run(RevokeKey { id: unknown, now: at(5) }).await, Err(UnknownKey));
}

/// Rotation creates a second key, and the first one ends after the overlap.
pub async fn a_rotated_key_stays_valid_beside_the_new_one(subject: &Subject) {
    let old = subject.add_account(Plan::Free).await.key;
    let (digest, prefix) = fresh_secret();
    let rotate = RotateKey { id: old.id, overlap: Duration::from_mins(1), digest, prefix, now: at(10) };
    let fresh = subject.run(rotate).await.expect("the key is there");
    assert_eq!((fresh.account, fresh.digest, fresh.expires_at), (old.account, digest, None));
    let ending = KeyRecord { replaced_until: Some(at(70)), ..old };
    assert_eq!(subject.all_keys().await, [ending, fresh], "both keys are listed");
}

/// A key that is copied from another store is found by its secret, with all fields, and a second copy takes over what has
/// changed.
pub async fn a_copied_key_is_like_the_other_one(subject: &Subject) {
    let first = subject.add_account(Plan::Free).await;
    let (digest, prefix) = fresh_secret();
    let account = Account {
        id: AccountId::new(40).expect("an id"),
        name: account_name("Elsewhere"),
        plan: Plan::Enterprise(limits(7, 700)),
        created_at: at(1),
    };
    let key = KeyRecord {
        id: KeyId::new(70).expect("an id"),
        account: account.id,
        digest,
        prefix,
        label: KeyLabel::parse("the till").expect("a label"),
        scopes: Scopes::parse("read").expect("scopes"),
        created_at: at(2),
        expires_at: Some(at(900)),
        replaced_until: Some(at(800)),
        revoked_at: None,
        ban: Some(Ban { since: at(3), until: at(63), length: Duration::from_mins(1) }),
        ban_lifted_at: Some(at(2)),
    };
    let copy = CopyKey { account: account.clone(), key: key.clone(), existing: None };
    let copied = subject.run(copy.clone()).await.expect("a new key");
    let owner = Account { id: copied.key.account, ..account };
    assert_eq!(copied.key, KeyRecord { id: copied.key.id, account: owner.id, ..key });
    assert_eq!(subject.all_keys().await, [first.key.clone(), copied.key.clone()], "a copy is listed");
    assert_eq!(subject.all_accounts().await, [first.account, owner], "with its account");
    subject
        .shows(
            [KeyLookup::Digest(digest), KeyLookup::Id(copied.key.id)],
            Credential::new(&copied.key, subject.all_accounts().await.last().expect("an account")),
        )
        .await;

    let mut again = CopyKey { existing: Some(copied.key.id), ..copy };
    let unchanged = CopiedKey { is_changed: false, ..copied.clone() };
    assert_eq!(subject.run(again.clone()).await, Ok(unchanged), "a second copy changes nothing");
    again.key.revoked_at = Some(at(10));
    let revoked = KeyRecord { revoked_at: Some(at(10)), ..copied.key };
    let changed = CopiedKey { key: revoked.clone(), is_changed: true };
    assert_eq!(subject.run(again).await, Ok(changed), "a second copy takes over a revocation");
    assert_eq!(subject.all_keys().await, [first.key, revoked]);
}

/// Accounts are found by their name after folding, and a released name can be used again.
pub async fn accounts_are_renamed_and_found_by_name(subject: &Subject) {
    let zoo = KeyHolder::Named { name: account_name("Zoo"), plan: Some(Plan::Pro) };
    let first = subject.run(create_key(zoo.clone())).await.expect("a fresh name").account;
    let second = subject.run(create_key(zoo)).await.expect("the same plan").account;
    assert_eq!(first, second, "an account that is there is not made again");
    let other = KeyHolder::Named { name: account_name("Zoo"), plan: Some(Plan::Free) };
    assert_eq!(subject.run(create_key(other)).await, Err(CreateKeyRejection::OtherPlan("pro")));
    let park = subject
        .run(create_key(KeyHolder::Named { name: account_name("Park"), plan: None }))
        .await
        .expect("another name")
        .account;

    let named = |name| {
        let name = account_name(name).folded();
        async move { subject.accounts.account_named(&name).await.expect("accounts are found") }
    };
    assert_eq!(named("Zoo").await.as_ref(), Some(&first), "an account is found by its name");
    assert_eq!(named("ZOO").await.as_ref(), Some(&first), "in any case");
    assert_eq!(named("Zo").await, None, "and by no other");

    let taken = UpdateAccount { id: park.id, name: Some(account_name("ZOO")), plan: None };
    assert_eq!(subject.run(taken.clone()).await, Err(UpdateAccountRejection::NameTaken));
    let rename = UpdateAccount { id: first.id, name: Some(account_name("Farm")), plan: Some(Plan::Business) };
    let renamed = subject.run(rename).await.expect("a fresh name");
    assert_eq!(named("Zoo").await, None, "a released name finds no account");
    assert_eq!(named("Farm").await.as_ref(), Some(&renamed), "and the new name finds the account");
    let moved = subject.run(taken).await.expect("a released name is free");
    assert_eq!(subject.all_accounts().await, [renamed, moved], "accounts are listed as they are");
}

/// Account names are compared after NFC normalisation and full case folding, and stored as they were given. A key that
/// is created for an equal name belongs to the existing account.
pub async fn account_names_are_compared_after_normalisation_and_case_folding(subject: &Subject) {
    let groups = [
        ["Café", "Cafe\u{301}", "CAFÉ"],
        ["Straße", "STRASSE", "strasse"],
        ["ΟΔΟΣ", "οδος", "οδοσ"],
        // No name of these groups equals a name of another group: an accent counts, and a capital İ is not a plain i.
        ["Cafe", "cafe", "CAFE"],
        ["İ", "i\u{307}", "I\u{307}"],
        ["i", "I", "i"],
    ];
    let create = |name: &str| create_key(KeyHolder::Named { name: account_name(name), plan: None });
    for (number, [kept, equal, other]) in groups.into_iter().enumerate() {
        let first = subject.run(create(kept)).await.expect("a fresh name").account;
        assert_eq!(first.name, account_name(kept), "a name is kept as it was given");
        for name in [equal, other] {
            let found = subject.accounts.account_named(&account_name(name).folded()).await;
            assert_eq!(found, Ok(Some(first.clone())), "{kept} is found as {name}");
            let again = subject.run(create(name)).await.expect("no plan is named").account;
            assert_eq!(again, first, "{name} is the account {kept}");
        }
        assert_eq!(subject.all_accounts().await.len(), number + 1, "{kept} is one account");
    }
    let (cafe, street) = (subject.all_accounts().await[0].clone(), subject.all_accounts().await[1].clone());
    let rename = |id, name: &str| UpdateAccount { id, name: Some(account_name(name)), plan: None };
    let taken = subject.run(rename(street.id, "CAFE\u{301}")).await;
    assert_eq!(taken, Err(UpdateAccountRejection::NameTaken), "no account takes an equal name");
    let renamed = subject.run(rename(cafe.id, "CAFÉ")).await.expect("it is the account's own name");
    assert_eq!(renamed.name, account_name("CAFÉ"), "an account may change the case of its name");
}

/// An account without a name is named after its id, with a suffix if an operator has taken that name.
pub async fn an_account_without_a_name_gets_a_free_one(subject: &Subject) {
    // Ids may have gaps, so the next id is guessed from the distance between the last two.
    const GUESSES: usize = 5;
    let (mut last, mut step) = (subject.add_account(Plan::Free).await.account.id.get(), 2);
    let mut taken = Vec::new();
    for _ in 0..GUESSES {
        let next = AccountId::new(last + step).expect("an id");
        let name = AccountName::made_for(next).next().expect("the best name");
        taken.push(name.clone());
        subject.run(create_key(KeyHolder::Named { name, plan: None })).await.expect("no plan is named");
        let made = subject.add_account(Plan::Free).await.account;
        let best = AccountName::made_for(made.id).find(|name| !taken.contains(name));
        assert_eq!(Some(made.name), best, "account {} has the best name that is free", made.id);
        (last, step) = (made.id.get(), made.id.get() - last);
    }
}

/// Accounts and keys are listed by numeric id, after any id and up to the limit. Their names descend here, so that an
/// order by name or by the text of an id fails the case.
pub async fn accounts_and_keys_are_listed_by_id(subject: &Subject) {
    // Ids of one digit and of two.
    const COUNT: usize = 12;
    let mut keys = Vec::new();
    let mut accounts = Vec::new();
    for number in 0..COUNT {
        let holder = KeyHolder::Named { name: account_name(&format!("Zoo {}", COUNT - number)), plan: None };
        let made = subject.run(create_key(holder)).await.expect("a fresh name");
        keys.push(made.key);
        accounts.push(made.account);
    }
    for skipped in 0..=COUNT {
        for limit in [1, 5, COUNT, usize::MAX] {
            let end = limit.saturating_add(skipped).min(COUNT);
            let after: Option<AccountId> = accounts[..skipped].last().map(|one| one.id);
            let page = subject.accounts.accounts(after, limit).await.expect("accounts are listed");
            assert_eq!(page, accounts[skipped..end], "accounts after {after:?}, at most {limit}");
            let after: Option<KeyId> = keys[..skipped].last().map(|one| one.id);
            let page = subject.accounts.keys(after, limit).await.expect("keys are listed");
            assert_eq!(page, keys[skipped..end], "keys after {after:?}, at most {limit}");
        }
    }
}

/// If many keys are created concurrently for one account name that no account has yet, one account is created and all
/// keys belong to it.
pub async fn an_account_name_is_given_once(subject: &Subject) {
    for round in 0..20 {
        let name = account_name(&format!("Zoo {round}"));
        let made = together(16, |_| {
            let (subject, name) = (subject.clone(), name.clone());
            async move {
                let holder = KeyHolder::Named { name, plan: None };
                subject.run(create_key(holder)).await.expect("no plan is named")
            }
        })
        .await;
        let accounts = subject.all_accounts().await;
        assert_eq!(accounts.len(), round + 1, "of many concurrent claims of a name one succeeds");
        assert!(made.iter().all(|one| one.account == accounts[round]), "all keys are of one account");
        assert_eq!(subject.all_keys().await.len(), 16 * (round + 1), "each has a key");
    }
}

/// Of many accounts that are renamed concurrently to one name, exactly one gets the name.
pub async fn an_account_name_is_taken_once(subject: &Subject) {
    let mut ids = Vec::new();
    for _ in 0..8 {
        ids.push(subject.add_account(Plan::Free).await.account.id);
    }
    for round in 0..20 {
        let name = account_name(&format!("Zoo {round}"));
        let renamed = together(ids.len(), |number| {
            let (subject, id, name) = (subject.clone(), ids[number], Some(name.clone()));
            async move { subject.run(UpdateAccount { id, name, plan: None }).await }
        })
        .await;
        let (given, others): (Vec<_>, Vec<_>) = renamed.into_iter().partition(Result::is_ok);
        assert_eq!(given.len(), 1, "of many accounts one is renamed to a name: round {round}: {given:?}");
        let refused = others.iter().all(|one| *one == Err(UpdateAccountRejection::NameTaken));
        assert!(refused, "the others are rejected: {others:?}");
        let accounts = subject.all_accounts().await;
        let have = accounts.iter().filter(|account| account.name == name).count();
        assert_eq!(have, 1, "a name is one account's: round {round}");
    }
}
