//! Retries under an idempotency key: one effect, one answer.

use petstore_domain::{
    AccountId, AdjustStockRejection, Answered, CreateCategory, CreateCategoryRejection, CreatePetRejection,
    Description, Fingerprint, IdempotencyId, IdempotencyKey, IdempotencyRejection, Idempotent, NewCategory,
    NewOrder, PetStatus, PlaceOrder, PlaceOrderRejection, Plan, Repeatable, Timestamp,
};

use crate::Subject;
use crate::listing::all;
use crate::make::{
    adjust_stock, at, cancel_order, category_name, create_category, create_pet, delete_category, delete_pet,
    idempotency_key, place_order, set_status, set_stock,
};
use crate::together::together;

/// The time at which the records of these cases expire, in seconds as `at` takes them.
pub(crate) const EXPIRES_SECS: u64 = 86_400;

/// Returns the operation under an idempotency key, as requested at this time.
pub(crate) fn under_key<O: Repeatable>(
    operation: O,
    account: AccountId,
    key: &str,
    now: Timestamp,
) -> Idempotent<O> {
    Idempotent {
        id: IdempotencyId { account, scope: operation.idempotency_scope(), key: idempotency_key(key) },
        operation,
        fingerprint: Fingerprint([1; 32]),
        now,
        expires_at: now.plus(std::time::Duration::from_secs(EXPIRES_SECS)),
        records: 0,
        records_max: 100_000,
    }
}

/// For each kind of request, a retry gets the complete first answer, marked as replayed, and has no effect.
pub async fn a_retry_gets_the_first_answer_and_has_no_effect(subject: &Subject) {
    let account = subject.add_account(Plan::Free).await.account.id;
    let category = subject.add_category("Dogs").await;
    let pet = subject.add_pet(category, 1_000_000).await;

    for (key, name, status) in [("k", "Rex", None), ("l", "🦤 E\u{301}", Some(PetStatus::Sold))] {
        twice(subject, under_key(create_pet(name, category, status), account, key, at(0))).await;
    }
    let descriptions = ["", " \n🦤 E\u{301}\n "].map(|text| Description::parse(text).expect("a description"));
    for (key, description) in
        ["k", "l", "m"].into_iter().zip([None].into_iter().chain(descriptions.map(Some)))
    {
        let new = NewCategory { description, ..NewCategory::new(category_name(&format!("ÑANDÚ {key}"))) };
        twice(subject, under_key(CreateCategory { new }, account, key, at(0))).await;
    }
    let ship_dates = [None, Some(Timestamp::MIN), Timestamp::from_millis(-1).ok(), Some(Timestamp::MAX)];
    for (key, ship_date) in ["k", "l", "m", "n"].into_iter().zip(ship_dates) {
        let new = NewOrder { ship_date, ..place_order(pet, 10_000).new };
        twice(subject, under_key(PlaceOrder { new }, account, key, at(0))).await;
    }
    twice(subject, under_key(adjust_stock(pet, -3), account, "k", at(0))).await;
    let left = subject.pet(pet).await.map(|record| (record.stock, record.open_orders));
    assert_eq!(left, Some((959_997, 4)), "each request has one effect");
}

async fn twice<O>(subject: &Subject, request: Idempotent<O>)
where
    O: Repeatable<Output: PartialEq + std::fmt::Debug, Rejection: PartialEq + std::fmt::Debug> + Clone,
{
    let first = subject.run(request.clone()).await.expect("the request is accepted");
    assert!(!first.replayed, "the first answer is no replay");
    let after = subject.snapshot().await;
    let later = Idempotent { now: at(100), ..request };
    let second = subject.run(later).await.expect("a retry is answered");
    assert!(second.replayed, "the second answer is a replay");
    assert_eq!(second.result, first.result, "a retry gets the first answer");
    assert_eq!(subject.snapshot().await, after, "a retry has no effect");
}

/// Of 32 equal concurrent requests one has an effect, and all get the answer of that request.
pub async fn concurrent_retries_have_one_effect(subject: &Subject) {
    let account = subject.add_account(Plan::Free).await.account.id;
    let pet = subject.add_only_pet(100).await;
    for round in 1..=10 {
        let answers = together(32, |_| {
            let subject = subject.clone();
            let request =
                under_key(place_order(pet, 1), account, &format!("round {round}").replace(' ', "-"), at(0));
            async move { subject.run(request).await.expect("a retry is answered") }
        })
        .await;
        let fresh = answers.iter().filter(|answer| !answer.replayed).count();
        assert_eq!(fresh, 1, "equal requests at once have one effect");
        let same = answers.iter().all(|answer| answer.result == answers[0].result);
        assert!(same, "equal requests at once get one answer: {answers:?}");
        let record = subject.pet(pet).await.expect("the pet is there");
        assert_eq!((record.stock, record.open_orders), (100 - round, u32::try_from(round).expect("small")));
    }
    assert_eq!(all::<petstore_domain::OrderRecord>(subject).await.len(), 10, "one order a key");
}

/// The same key with another body is refused, and the first record stays.
pub async fn another_body_is_refused(subject: &Subject) {
    let account = subject.add_account(Plan::Free).await.account.id;
    let pet = subject.add_only_pet(10).await;
    let first = under_key(place_order(pet, 1), account, "k", at(0));
    let answer = subject.run(first.clone()).await.expect("the request is accepted");
    let other =
        Idempotent { fingerprint: Fingerprint([2; 32]), operation: place_order(pet, 2), ..first.clone() };
    assert_eq!(subject.run(other).await, Err(IdempotencyRejection::KeyReused), "another body is refused");
    let again = subject.run(first).await.expect("the record stays");
    assert_eq!((again.result, again.replayed), (answer.result, true), "the first record stays");
    assert_eq!(subject.pet(pet).await.map(|record| record.stock), Some(9), "and only it had an effect");
}

/// Records are distinct by account, kind of request and key. Keys are compared exactly: by case, length and each
/// character.
pub async fn names_differ_by_account_scope_and_key(subject: &Subject) {
    let one = subject.add_account(Plan::Free).await.account.id;
    let two = subject.add_account(Plan::Free).await.account.id;
    let category = subject.add_category("Dogs").await;
    let (pet, other) = (subject.add_pet(category, 9_000).await, subject.add_pet(category, 9).await);
    let long = ["k".repeat(IdempotencyKey::MAX), format!("{}K", "k".repeat(IdempotencyKey::MAX - 1))];
    let short =
        [(one, "k"), (two, "k"), (one, "K"), (one, "kk")].map(|(account, key)| (account, key.to_owned()));
    let mut names: Vec<_> = short.into_iter().chain(long.map(|key| (one, key))).collect();
    names.extend(names_of_the_same_characters(subject).await);
    let expected = 9_000 - names.len() as u64 - 1;
    for (account, key) in names {
        let answer = subject.run(under_key(adjust_stock(pet, -1), account, &key, at(0))).await;
        assert!(answer.is_ok_and(|answer| !answer.replayed), "another name is another request: {key}");
    }
    let answer = subject.run(under_key(adjust_stock(other, -1), one, "k", at(0))).await;
    assert!(answer.is_ok_and(|answer| !answer.replayed), "another pet is another request");
    let answer = subject.run(under_key(place_order(pet, 1), one, "k", at(0))).await;
    assert!(answer.is_ok_and(|answer| !answer.replayed), "another kind is another request");
    assert_eq!(subject.pet(pet).await.map(|record| record.stock), Some(expected), "each had its effect");
}

/// Returns two record names for which the concatenation of account and key is the same, such as account 1 with the key
/// `0/k` and account 10 with the key `/k`. Returns none if the ids of a dozen accounts contain no such pair.
async fn names_of_the_same_characters(subject: &Subject) -> Vec<(AccountId, String)> {
    for _ in 0..12 {
        subject.add_account(Plan::Free).await;
    }
    let ids: Vec<AccountId> = subject.snapshot().await.accounts.iter().map(|account| account.id).collect();
    for (short, long) in ids.iter().flat_map(|short| ids.iter().map(move |long| (*short, *long))) {
        let (prefix, digits) = (short.to_string(), long.to_string());
        if let Some(rest) = digits.strip_prefix(&prefix).filter(|rest| !rest.is_empty()) {
            return vec![(short, format!("{rest}/k")), (long, "/k".to_owned())];
        }
    }
    Vec::new()
}

/// A record is replayed until its expiry even if its resource has been deleted. So a retried adjustment is neither
/// repeated nor refused.
pub async fn an_idempotency_record_outlives_its_resource(subject: &Subject) {
    let account = subject.add_account(Plan::Free).await.account.id;
    let pet = subject.add_only_pet(10).await;
    let category = subject.pet(pet).await.expect("the pet is there").pet.category_id;
    let adjust = under_key(adjust_stock(pet, -3), account, "k", at(0));
    let create = under_key(create_pet("Tom", category, None), account, "k", at(0));
    let order = under_key(place_order(pet, 1), account, "k", at(0));
    let adjusted = subject.run(adjust.clone()).await.expect("the request is accepted");
    let created = subject.run(create.clone()).await.expect("the request is accepted");
    let ordered = subject.run(order.clone()).await.expect("the request is accepted");
    let placed = ordered.result.as_ref().expect("there are units").value.id;
    subject.run(cancel_order(placed)).await.expect("the order is open");
    let second = created.result.as_ref().expect("its category is there").value.id;
    for pet in [pet, second] {
        subject.run(delete_pet(pet)).await.expect("no order is open");
    }
    subject.run(delete_category(category)).await.expect("no pet is in it");
    let again = subject.run(adjust).await.expect("a retry is answered");
    assert_eq!(again, Answered { replayed: true, ..adjusted }, "a record outlives the pet");
    let again = subject.run(create).await.expect("a retry is answered");
    assert_eq!(again, Answered { replayed: true, ..created }, "and its category");
    let again = subject.run(order).await.expect("a retry is answered");
    assert_eq!(again, Answered { replayed: true, ..ordered }, "and the order");
}

/// A refusal because of the shop's state is an answer. It is recorded, and replayed even after the state has changed.
pub async fn a_refusal_by_the_state_is_recorded(subject: &Subject) {
    let account = subject.add_account(Plan::Free).await.account.id;
    let category = subject.add_category("Dogs").await;
    let pet = subject.add_pet(category, 1_000).await;

    let order = under_key(place_order(pet, 1_001), account, "k", at(0));
    let adjust = under_key(adjust_stock(pet, -1_001), account, "k", at(0));
    let create = under_key(create_category("dogs"), account, "k", at(0));
    let too_few = PlaceOrderRejection::InsufficientStock { left: 1_000 };
    let too_little = AdjustStockRejection::InsufficientStock { left: 1_000 };
    let taken = CreateCategoryRejection::NameTaken(category);
    for replayed in [false, true] {
        let answer = subject.run(order.clone()).await.expect("a refusal by the state is recorded");
        assert_eq!(
            (answer.result, answer.replayed),
            (Err(too_few), replayed),
            "an order's refusal is replayed"
        );
        let answer = subject.run(adjust.clone()).await.expect("a refusal by the state is recorded");
        assert_eq!((answer.result, answer.replayed), (Err(too_little), replayed), "so is an adjustment's");
        let answer = subject.run(create.clone()).await.expect("a refusal by the state is recorded");
        assert_eq!((answer.result, answer.replayed), (Err(taken), replayed), "so is a category's");
        // From here on the requests would succeed, so a refusal in the second round is a replay.
        subject.run(set_stock(pet, 2_000)).await.expect("the pet is there");
    }
    for status in [PetStatus::Pending, PetStatus::Sold] {
        subject.run(set_status(pet, status)).await.expect("no order is open");
        let late = under_key(place_order(pet, 1), account, status.as_str(), at(0));
        for replayed in [false, true] {
            let answer = subject.run(late.clone()).await.expect("a refusal by the state is recorded");
            let refused = Answered { result: Err(PlaceOrderRejection::PetNotAvailable { status }), replayed };
            assert_eq!(answer, refused, "the refusal for a pet that is {status} is replayed");
        }
    }
}

/// A refusal because of the request itself is not recorded, so a retry may succeed.
pub async fn a_refusal_of_the_request_is_not_recorded(subject: &Subject) {
    let account = subject.add_account(Plan::Free).await.account.id;
    let gone = subject.add_category("Dogs").await;
    subject.run(delete_category(gone)).await.expect("no pet is in it");
    let create = under_key(create_pet("Rex", gone, None), account, "k", at(0));
    for _ in 0..2 {
        let unknown = IdempotencyRejection::Rejected(CreatePetRejection::UnknownCategory(gone));
        assert_eq!(subject.run(create.clone()).await, Err(unknown), "an unknown category is not recorded");
    }
    let category = subject.add_category("Dogs").await;
    let again = under_key(create_pet("Rex", category, None), account, "k", at(0));
    let answer = subject.run(again).await.expect("the key is free");
    assert!(!answer.replayed, "the next try may succeed");
}
