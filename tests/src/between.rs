//! Interleavings of two operations that exclude each other: one of them runs while the other decides.

use petstore_domain::{
    AccountId, CategoryId, CategoryRecord, Fingerprint, IdempotencyRejection, Idempotent, KeyHolder,
    Operation, PetId, PlaceOrder, Plan, Precondition, UpdateAccount, UpdateCategory,
};

use crate::Subject;
use crate::listing::all;
use crate::make::{
    account_name, at, category_name, create_category, create_key, place_order, rename_category,
};
use crate::retries::{EXPIRES_SECS, under_key};

/// Runs `second` while `first` decides. Returns whether each of them succeeded.
async fn both<A, B>(subject: &Subject, first: A, second: B) -> [bool; 2]
where
    A: Operation + Clone,
    B: Operation + Clone,
{
    let rival = subject.clone();
    let second = async move { rival.run(second).await.is_ok() };
    let (first, second) = subject.run_meanwhile(first, second).await;
    [first.is_ok(), second]
}

/// A category cannot be created with a name, or renamed to that name, if another category gets the name concurrently.
pub async fn a_concurrently_given_category_name_is_taken(subject: &Subject) {
    let rename = |id: CategoryId, name: &str| UpdateCategory {
        id,
        patch: rename_category(name),
        precondition: Precondition::None,
    };
    let (dogs, cats) = (subject.add_category("Dogs").await, subject.add_category("Cats").await);
    let done = [
        ("éclair", both(subject, create_category("Éclair"), create_category("ÉCLAIR")).await),
        ("crêpe", both(subject, rename(dogs, "Crêpe"), rename(cats, "CRÊPE")).await),
        ("pâté", both(subject, rename(dogs, "Pâté"), create_category("PÂTÉ")).await),
        ("purée", both(subject, create_category("Purée"), rename(cats, "PURÉE")).await),
    ];
    let categories: Vec<CategoryRecord> = all(subject).await;
    for (name, [first, second]) in done {
        assert!(first != second, "of two one is given the name {name}: {first}, {second}");
        let folded = category_name(name).folded();
        // If a later case has renamed the category that got the name, no category has the name now.
        let have = categories.iter().filter(|record| folded.matches(record.category.name.as_str())).count();
        assert!(have <= 1, "a name that a category is given meanwhile is taken: {have} have {name}");
    }
}

/// A name that another account gets concurrently is refused. A key for an account that is created concurrently belongs
/// to that account.
pub async fn a_concurrently_given_account_name_is_taken(subject: &Subject) {
    let create = |name: &str| create_key(KeyHolder::Named { name: account_name(name), plan: None });
    let rename = |id: AccountId, name: &str| UpdateAccount { id, name: Some(account_name(name)), plan: None };
    let (one, two) = (subject.add_account(Plan::Free).await, subject.add_account(Plan::Free).await);
    let (one, two) = (one.account.id, two.account.id);
    let have = async |name: &str| {
        let accounts = subject.all_accounts().await;
        accounts.into_iter().filter(|account| account.name.folded() == account_name(name).folded()).count()
    };

    let done = both(subject, create("Zoo"), create("ZOO")).await;
    assert_eq!((done, have("Zoo").await), ([true; 2], 1), "two keys are of one account");
    let [first, second] = both(subject, rename(one, "Farm"), rename(two, "FARM")).await;
    assert!(first != second, "of two one is given the name: {first}, {second}");
    assert_eq!(have("Farm").await, 1, "a name that an account is given meanwhile is taken");
    both(subject, create("Park"), rename(one, "PARK")).await;
    assert_eq!(have("Park").await, 1, "by an account that is made, too");
    both(subject, rename(two, "Ark"), create("ARK")).await;
    assert_eq!(have("Ark").await, 1, "and for one that is made");
}

/// Two requests under one idempotency key run concurrently, after the key's record has expired and one of the requests
/// has pruned the record. Exactly one request has an effect; the other sees the new record.
pub async fn a_concurrently_recreated_record_is_seen(subject: &Subject) {
    let account = subject.add_account(Plan::Free).await.account.id;
    let category = subject.add_category("Dogs").await;
    let pets = [subject.add_pet(category, 9).await, subject.add_pet(category, 9).await];
    let request = |pet: PetId, body: u8, secs: u64| -> Idempotent<PlaceOrder> {
        let request = under_key(place_order(pet, 1), account, "k", at(secs));
        Idempotent { fingerprint: Fingerprint([body; 32]), ..request }
    };
    let old = subject.run(request(pets[0], 0, 0)).await.expect("the request is accepted");
    old.result.expect("a unit is left");
    let (rival, second) = (subject.clone(), request(pets[1], 2, EXPIRES_SECS));
    let second = async move {
        while rival.drop_expired(at(EXPIRES_SECS)).await > 0 {}
        rival.run(second).await
    };
    let (first, second) = subject.run_meanwhile(request(pets[0], 1, EXPIRES_SECS), second).await;
    let (done, refused) = if first.is_ok() { (first, second) } else { (second, first) };
    let done = done.expect("an expired answer is replaced");
    done.result.expect("a unit is left");
    assert_eq!(
        refused,
        Err(IdempotencyRejection::KeyReused),
        "a record that is created again concurrently is seen"
    );
    assert_eq!(all::<petstore_domain::OrderRecord>(subject).await.len(), 2, "each answer has one effect");
}
