//! Footprints. A store locks exactly the records in a footprint, so the footprint must contain every record that the
//! operation needs and no other.
//!
//! Every test checks that footprints are sufficient, because the shop of the tests hides all other records and refuses
//! changes to them.

mod common;

use petstore_domain::*;

use common::{
    DOGS, REX, Shop, account_name, adjust, cats, idempotent, level, new_category, new_pet, now, order,
    order_id, place, shop,
};

/// The shop of these tests: Rex with the open order 1 and the complete order 2.
fn rex() -> Shop {
    let mut complete = order(order_id(2), 1);
    complete.order.complete = true;
    shop(PetStatus::Available, 3, 1).with_order(complete)
}

fn check(operation: &impl Operation, expected: &[RecordRef]) {
    assert_eq!(rex().footprint(operation).records(), expected);
}

fn dogs() -> RecordRef {
    RecordRef::CategoryName(common::category_name("Dogs").folded())
}

#[test]
fn an_order_names_its_pet_once_it_is_known() {
    let cancel = CancelOrder { id: order_id(1), precondition: Precondition::None };
    assert_eq!(cancel.footprint(&View::default()).records(), [RecordRef::Order(order_id(1))]);
    check(&cancel, &[RecordRef::Pet(REX), RecordRef::Order(order_id(1))]);
    let patch = OrderPatch { complete: Some(true), ..OrderPatch::default() };
    let complete = UpdateOrder { id: order_id(1), patch, precondition: Precondition::None, now: now() };
    assert_eq!(complete.footprint(&View::default()).records(), [RecordRef::Order(order_id(1))]);
    check(&complete, &[RecordRef::Pet(REX), RecordRef::Order(order_id(1))]);
}

#[test]
fn a_replayed_request_names_only_its_idempotency_records() {
    let mut shop = rex();
    let request = idempotent(place(1), 1);
    let kept = [RecordRef::Idempotency(request.id.clone())];
    assert_eq!(request.footprint(&View::default()).records(), kept);
    let all = [&[RecordRef::Pet(REX)][..], &kept, &[RecordRef::NextOrder]].concat();
    assert_eq!(shop.footprint(&request).records(), all);
    shop.run(&request).unwrap();
    assert_eq!(shop.footprint(&request).records(), kept, "in particular no id");
    let later = Idempotent { now: request.expires_at, ..request };
    assert_eq!(shop.footprint(&later).records(), all);
}

#[test]
fn a_complete_order_and_one_that_is_not_there_name_no_pet() {
    for id in [order_id(2), order_id(8)] {
        check(&CancelOrder { id, precondition: Precondition::None }, &[RecordRef::Order(id)]);
        let patch = OrderPatch::default();
        check(
            &UpdateOrder { id, patch, precondition: Precondition::None, now: now() },
            &[RecordRef::Order(id)],
        );
    }
}

#[test]
fn a_pet_names_categories_only_when_it_leaves_one() {
    let with = |category_id| {
        let patch = PetPatch { category_id, ..PetPatch::default() };
        UpdatePet { id: REX, patch, precondition: Precondition::None }
    };
    check(&with(None), &[RecordRef::Pet(REX)]);
    check(&with(Some(DOGS)), &[RecordRef::Pet(REX)]);
    check(
        &with(Some(cats())),
        &[RecordRef::Pet(REX), RecordRef::Category(DOGS), RecordRef::Category(cats())],
    );
    check(&CreatePet { new: new_pet("Bella", DOGS, None) }, &[RecordRef::Category(DOGS), RecordRef::NextPet]);
    check(
        &DeletePet { id: REX, precondition: Precondition::None },
        &[RecordRef::Pet(REX), RecordRef::Category(DOGS)],
    );
}

#[test]
fn a_category_names_the_name_it_gets_and_the_one_it_leaves() {
    let hounds = RecordRef::CategoryName(common::category_name("Hounds").folded());
    let with = |name: Option<&str>| {
        let patch = CategoryPatch {
            description: Patch::Clear,
            ..CategoryPatch::new(name.map(common::category_name))
        };
        UpdateCategory { id: DOGS, patch, precondition: Precondition::None }
    };
    check(&with(None), &[RecordRef::Category(DOGS)]);
    check(&with(Some("DOGS")), &[RecordRef::Category(DOGS), dogs()]);
    check(&with(Some("Hounds")), &[RecordRef::Category(DOGS), dogs(), hounds.clone()]);
    check(&CreateCategory { new: new_category("HOUNDS") }, &[hounds, RecordRef::NextCategory]);
    check(
        &DeleteCategory { id: DOGS, precondition: Precondition::None },
        &[RecordRef::Category(DOGS), dogs()],
    );
}

#[test]
fn stock_and_new_orders_name_one_pet() {
    check(&SetStock { id: REX, level: level(1), precondition: Precondition::None }, &[RecordRef::Pet(REX)]);
    check(&adjust(1), &[RecordRef::Pet(REX)]);
    check(&place(1), &[RecordRef::Pet(REX), RecordRef::NextOrder]);
}

#[test]
fn an_idempotency_key_adds_its_record_and_nothing_shared_with_other_keys() {
    let operation = idempotent(place(1), 1);
    let record = RecordRef::Idempotency(operation.id.clone());
    let expected = [RecordRef::Pet(REX), record, RecordRef::NextOrder];
    check(&operation, &expected);
}

#[test]
fn a_new_account_names_the_candidates_for_its_name() {
    let operation = common::create_key(KeyHolder::New { plan: Plan::Free });
    let mut records = vec![RecordRef::AccountName(account_name("account-1").folded())];
    records.extend(
        (2..=8).map(|number| RecordRef::AccountName(account_name(&format!("account-1-{number}")).folded())),
    );
    records.extend([RecordRef::NextAccount, RecordRef::NextKey]);
    check(&operation, &records);
}

#[test]
fn a_footprint_is_sorted_and_without_duplicates() {
    let mut footprint = Footprint::from([RecordRef::NextPet, RecordRef::Pet(REX), RecordRef::NextPet]);
    footprint.add(RecordRef::Category(DOGS));
    footprint.add(RecordRef::Pet(REX));
    assert_eq!(footprint.records(), [RecordRef::Pet(REX), RecordRef::Category(DOGS), RecordRef::NextPet]);
}
