//! Retries under an idempotency key, for each of the four operations that may be repeated.

mod common;

use std::fmt::Debug;

use petstore_domain::PetStatus::{Available, Pending, Sold};
use petstore_domain::*;

use common::{
    DOGS, REX, Shop, account_id, adjust, category_id, cats, hours, idempotent, new_category, new_pet, now,
    pet_id, place, shop,
};

/// An operation whose answers can be compared.
trait Comparable: Repeatable<Output: PartialEq + Debug, Rejection: PartialEq + Debug> + Clone {}

impl<O> Comparable for O where O: Repeatable<Output: PartialEq + Debug, Rejection: PartialEq + Debug> + Clone {}

fn create_pet() -> CreatePet {
    CreatePet { new: new_pet("Bella", DOGS, None) }
}

fn create_category() -> CreateCategory {
    CreateCategory { new: new_category("Fish") }
}

/// Rex, available, with three units.
fn rex() -> Shop {
    shop(Available, 3, 0)
}

/// Runs the operation with and without a key: both give the same answer and effect, and the key adds a record.
/// A second run with the key gives the same answer and writes nothing.
fn check_kept<O: Comparable>(shop: &Shop, operation: &O, outcome: Outcome) {
    let (mut with, mut without) = (shop.clone(), shop.clone());
    let request = idempotent(operation.clone(), 1);
    let first = with.run(&request).unwrap();
    assert_eq!(first.result, without.run(operation));
    assert!(!first.replayed);

    let record = IdempotencyRecord {
        id: request.id.clone(),
        fingerprint: request.fingerprint,
        outcome,
        expires_at: request.expires_at,
    };
    assert_eq!(with.retries.remove(&request.id), Some(record.clone()));
    assert_eq!(with, without, "but for the record, the key makes no difference");

    with.retries.insert(record.id.clone(), record);
    let again = Answered { replayed: true, ..first };
    assert_eq!(with.decide(&request), Ok((Changes::none(), again)));
}

/// Runs the operation under a key: it is rejected, and no record is written, so that a retry is decided again.
fn check_not_kept<O: Comparable>(shop: &Shop, operation: &O, rejection: O::Rejection) {
    let mut after = shop.clone();
    assert_eq!(after.run(&idempotent(operation.clone(), 1)), Err(IdempotencyRejection::Rejected(rejection)));
    assert_eq!(after, *shop);
}

#[test]
fn a_success_is_recorded_with_its_effect_and_replayed() {
    let mut shop = rex();
    let pet = shop.clone().run(&create_pet()).unwrap();
    check_kept(&shop, &create_pet(), Outcome::Pet(pet));
    let category = shop.clone().run(&create_category()).unwrap();
    check_kept(&shop, &create_category(), Outcome::Category(category));
    let order = shop.clone().run(&place(3)).unwrap();
    check_kept(&shop, &place(3), Outcome::Order(order));
    let item = shop.run(&adjust(-3)).unwrap();
    check_kept(&rex(), &adjust(-3), Outcome::Item(item));
}

#[test]
fn a_refusal_by_the_state_of_the_shop_is_recorded_and_replayed() {
    let taken = CreateCategory { new: new_category("cats") };
    check_kept(&rex(), &taken, Outcome::CategoryNameTaken(cats()));
    check_kept(&rex(), &place(4), Outcome::InsufficientStock(3));
    check_kept(&shop(Pending, 3, 0), &place(1), Outcome::PetNotAvailable(Pending));
    check_kept(&shop(Sold, 0, 0), &place(1), Outcome::PetNotAvailable(Sold));
    check_kept(&rex(), &adjust(-4), Outcome::InsufficientStock(3));
}

#[test]
fn a_mistake_of_the_request_is_not_recorded() {
    let unknown = CreatePet { new: new_pet("Bella", category_id(9), None) };
    check_not_kept(&rex(), &unknown, CreatePetRejection::UnknownCategory(category_id(9)));
    let no_pet = PlaceOrder { new: NewOrder { pet_id: pet_id(8), ..place(1).new } };
    check_not_kept(&rex(), &no_pet, PlaceOrderRejection::UnknownPet(pet_id(8)));
    check_not_kept(&rex(), &adjust(999_998), AdjustStockRejection::AboveMaximum { stock: 3 });
    let no_item = AdjustStock { id: pet_id(8), ..adjust(1) };
    check_not_kept(&rex(), &no_item, AdjustStockRejection::NotFound);
}

#[test]
fn a_recorded_answer_is_replayed_whatever_has_changed_since() {
    let mut shop = rex();
    let sold_out = idempotent(place(4), 1);
    let mut adjusted = idempotent(adjust(-2), 2);
    adjusted.id.key = IdempotencyKey::parse(b"another").unwrap();
    let refused = shop.run(&sold_out).unwrap();
    let item = shop.run(&adjusted).unwrap();
    shop.run(&adjust(100)).unwrap();
    assert_eq!(shop.run(&sold_out), Ok(Answered { replayed: true, ..refused.clone() }));
    shop.run(&DeletePet { id: REX, precondition: Precondition::None }).unwrap();
    let after = shop.clone();
    assert_eq!(shop.run(&sold_out), Ok(Answered { replayed: true, ..refused }));
    assert_eq!(shop.run(&adjusted), Ok(Answered { replayed: true, ..item }));
    assert_eq!(shop, after);
}

#[test]
fn a_request_that_was_not_recorded_may_succeed_at_the_next_try() {
    let mut shop = rex();
    let create = idempotent(CreatePet { new: new_pet("Bella", category_id(3), None) }, 1);
    assert!(shop.run(&create).is_err());
    shop.run(&create_category()).unwrap();
    assert!(!shop.run(&create).unwrap().replayed);
}

fn check_key_reused<O: Comparable>(operation: &O) {
    let mut shop = rex();
    shop.run(&idempotent(operation.clone(), 1)).unwrap();
    assert_eq!(shop.decide(&idempotent(operation.clone(), 2)), Err(IdempotencyRejection::KeyReused));
}

#[test]
fn rejects_another_body_under_the_same_key() {
    check_key_reused(&create_pet());
    check_key_reused(&create_category());
    check_key_reused(&place(1));
    check_key_reused(&adjust(1));
    // A key with a recorded refusal cannot be used with another body either.
    check_key_reused(&place(4));
}

#[test]
fn a_key_is_unique_within_an_account_and_a_path() {
    let other_pet = AdjustStock { id: pet_id(2), ..adjust(1) };
    let mut shop = rex();
    shop.run(&create_pet()).unwrap();
    let mut other_account = idempotent(adjust(1), 2);
    other_account.id.account = account_id(2);
    shop.run(&idempotent(adjust(1), 1)).unwrap();
    assert!(!shop.run(&idempotent(other_pet, 2)).unwrap().replayed);
    assert!(!shop.run(&idempotent(place(1), 2)).unwrap().replayed);
    assert!(!shop.run(&idempotent(create_pet(), 2)).unwrap().replayed);
    assert!(!shop.run(&idempotent(create_category(), 2)).unwrap().replayed);
    assert!(!shop.run(&other_account).unwrap().replayed);
    assert_eq!(shop.retries.len(), 6);
}

/// Sends a second request under the key of the first one, with another body. `at` is at least a day after the first
/// request.
fn check_expired<O: Comparable>(first: O, second: O, at: Timestamp) {
    let mut shop = rex();
    let request = idempotent(first, 1);
    shop.run(&request).unwrap();
    let later = Idempotent { now: at, expires_at: hours(99), ..idempotent(second, 2) };
    shop.now = at;
    assert!(!shop.run(&later).unwrap().replayed);
    assert_eq!(shop.retries.len(), 1, "the new record is in the place of the old one");
    let record = &shop.retries[&request.id];
    assert_eq!((record.fingerprint, record.expires_at), (Fingerprint([2; 32]), hours(99)));
    assert!(shop.run(&later).unwrap().replayed);
}

#[test]
fn a_record_that_has_expired_is_overwritten_whatever_its_body_was() {
    // A record is expired at the very time of its expiry.
    for at in [hours(24), hours(25)] {
        check_expired(create_pet(), create_pet(), at);
        check_expired(create_category(), CreateCategory { new: new_category("Birds") }, at);
        check_expired(place(1), place(2), at);
        check_expired(adjust(1), adjust(2), at);
    }
}

#[test]
fn a_record_is_live_until_it_expires() {
    let mut shop = rex();
    shop.run(&idempotent(place(1), 1)).unwrap();
    let now = Timestamp::from_millis(hours(24).as_millis() - 1).unwrap();
    let just_before = Idempotent { now, expires_at: hours(48), ..idempotent(place(1), 1) };
    assert!(shop.run(&just_before).unwrap().replayed);
    let expires_at = shop.retries[&just_before.id].expires_at;
    assert_eq!(expires_at, hours(24), "a replay does not prolong it");
}

fn check_bound<O: Comparable>(operation: &O) {
    let request = |key: &[u8], body| {
        let mut request = Idempotent { records_max: 2, ..idempotent(operation.clone(), body) };
        request.id.key = IdempotencyKey::parse(key).unwrap();
        request
    };
    // One record of this account and one of another: there is room for one more.
    let mut shop = rex();
    shop.run(&idempotent(adjust(50), 1)).unwrap();
    let mut others = idempotent(adjust(50), 1);
    others.id.account = account_id(2);
    shop.run(&others).unwrap();

    let counted = |shop: &Shop, request: Idempotent<O>| Idempotent {
        records: shop.live_idempotency_records(request.id.account),
        ..request
    };
    let second = counted(&shop, request(b"second", 1));
    assert!(shop.run(&second).is_ok());
    let full = shop.clone();
    let third = counted(&shop, request(b"third", 1));
    assert_eq!(shop.run(&third), Err(IdempotencyRejection::TooManyRecords));
    assert_eq!(shop, full);
    // Existing records are still replayed, and another body is still refused.
    let again = counted(&shop, request(b"second", 1));
    assert!(shop.run(&again).unwrap().replayed);
    let other_body = counted(&shop, request(b"second", 2));
    assert_eq!(shop.run(&other_body), Err(IdempotencyRejection::KeyReused));
}

#[test]
fn an_account_has_no_more_records_than_it_may() {
    check_bound(&create_pet());
    check_bound(&create_category());
    check_bound(&place(1));
    check_bound(&adjust(1));
}

#[test]
fn a_record_that_has_expired_makes_room() {
    let mut shop = rex();
    shop.run(&idempotent(place(1), 1)).unwrap();
    let mut request = Idempotent { records: 1, records_max: 1, now: hours(24), ..idempotent(place(1), 1) };
    request.id.key = IdempotencyKey::parse(b"second").unwrap();
    shop.now = now();
    assert_eq!(shop.run(&request), Err(IdempotencyRejection::TooManyRecords));
    // Overwriting an expired record does not raise the number, even if the store has not dropped the record yet.
    let same = Idempotent { records: 1, records_max: 1, now: hours(24), ..idempotent(place(1), 1) };
    assert!(!shop.clone().run(&same).unwrap().replayed);
    request.records = 0;
    assert!(shop.run(&request).is_ok());
}

#[test]
fn a_record_of_another_kind_of_operation_is_not_replayed() {
    // The scope is part of a record's id, so only a store that has mixed up its records returns this one.
    let mut shop = rex();
    let request = idempotent(place(1), 1);
    shop.run(&idempotent(adjust(1), 1)).unwrap();
    let (_, mut foreign) = shop.retries.pop_first().unwrap();
    foreign.id = request.id.clone();
    shop.retries.insert(foreign.id.clone(), foreign);
    assert_eq!(shop.decide(&request), Err(IdempotencyRejection::KeyReused));
}
