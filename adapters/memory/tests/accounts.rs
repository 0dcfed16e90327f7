//! Accounts and keys: looked up for each request, listed for operators.

mod common;

use common::*;
use petstore_domain::*;
use petstore_memory::MemoryStore;
use petstore_ports::*;

fn credential(store: &MemoryStore, name: KeyLookup) -> Option<Credential> {
    ready(store.credential(name)).unwrap()
}

#[test]
fn a_key_is_found_by_its_digest_and_by_its_id_in_its_current_state() {
    let store = MemoryStore::new();
    let made = create_key(&store, 1, Plan::Free);
    let (id, account) = (made.key.id, made.account.id);
    let by_digest = KeyLookup::Digest(KeyDigest([1; 32]));
    assert_eq!(credential(&store, by_digest), Some(Credential::new(&made.key, &made.account)));
    assert_eq!(credential(&store, KeyLookup::Id(id)), credential(&store, by_digest));
    done(&store, UpdateAccount { id: account, name: None, plan: Some(Plan::Pro) });
    done(&store, RevokeKey { id, now: at(5) });
    for name in [by_digest, KeyLookup::Id(id)] {
        let credential = credential(&store, name).unwrap();
        assert_eq!((credential.plan, credential.check(at(6))), (Plan::Pro, Err(KeyFault::Revoked)));
    }
}

#[test]
fn an_unknown_key_is_none_and_a_key_without_its_account_is_damage() {
    let store = MemoryStore::new();
    assert_eq!(credential(&store, KeyLookup::Digest(KeyDigest([1; 32]))), None);
    for id in [1, ID_MAX] {
        assert_eq!(credential(&store, KeyLookup::Id(KeyId::new(id).unwrap())), None);
    }
    let other = create_key(&MemoryStore::new(), 1, Plan::Free).key;
    write(&store, [Change::Key(Box::new(other.clone()))]);
    assert!(
        matches!(ready(store.credential(KeyLookup::Id(other.id))), Err(error) if error.kind() == StoreErrorKind::Corrupt)
    );
}

#[test]
fn accounts_and_keys_are_listed_by_id_after_any_id_and_up_to_a_limit() {
    let store = MemoryStore::new();
    for digest in 1..=40 {
        create_key(&store, digest, Plan::Free);
    }
    let accounts = |after: Option<u64>, limit| -> Vec<u64> {
        let accounts = ready(store.accounts(after.map(account_id), limit)).unwrap();
        accounts.iter().map(|account| account.id.get()).collect()
    };
    assert_eq!(accounts(None, 3), [1, 2, 3]);
    assert_eq!(accounts(Some(38), 30), [39, 40]);
    assert_eq!(accounts(Some(ID_MAX), 30), [0; 0]);
    let keys = ready(store.keys(Some(KeyId::new(15).unwrap()), 2)).unwrap();
    assert_eq!(keys.iter().map(|key| key.id.get()).collect::<Vec<_>>(), [16, 17]);
}

#[test]
fn a_renamed_account_has_its_new_name_only() {
    let store = MemoryStore::new();
    let made = create_key(&store, 1, Plan::Free).account;
    let rename = |name: &str| {
        let name = Some(account_name(name));
        ready(run(&store, UpdateAccount { id: made.id, name, plan: None }, Timestamp::EPOCH)).unwrap()
    };
    rename("Ada").unwrap();
    let named = |name: &str| {
        ready(store.account_named(&account_name(name).folded())).unwrap().map(|account| account.id)
    };
    assert_eq!(named("Ada"), Some(made.id));
    assert_eq!((named("ADA"), named(made.name.as_str())), (Some(made.id), None));
    rename("ADA").unwrap();
    assert_eq!(named("Ada"), Some(made.id), "it may change the case of its own name");
    // The account's old name is free for another account.
    let other = create_key(&store, 2, Plan::Free).account;
    done(&store, UpdateAccount { id: other.id, name: Some(made.name.clone()), plan: None });
    assert_eq!(rename(made.name.as_str()), Err(UpdateAccountRejection::NameTaken));
}
