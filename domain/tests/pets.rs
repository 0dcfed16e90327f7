//! Creating, changing and deleting pets. The tests of the status table are in `status_table.rs`.

mod common;

use petstore_domain::PetStatus::{Available, Pending, Sold};
use petstore_domain::*;

use common::{
    CATEGORY_VERSION, DOGS, ITEM_VERSION, PET_VERSION, REX, Shop, category_id, cats, new_pet, only, order,
    order_id, pet_id, pet_name, shop, version,
};

fn update(patch: PetPatch) -> UpdatePet {
    UpdatePet { id: REX, patch, precondition: Precondition::None }
}

fn to_category(id: CategoryId) -> PetPatch {
    PetPatch { category_id: Some(id), ..PetPatch::default() }
}

fn delete(precondition: Precondition) -> DeletePet {
    DeletePet { id: REX, precondition }
}

/// The numbers of pets in Dogs and in Cats.
fn counts(shop: &Shop) -> (u64, u64) {
    (shop.categories[&DOGS].pets, shop.categories[&cats()].pets)
}

#[test]
fn a_new_pet_has_one_unit_unless_it_is_sold() {
    for (asked, status, stock) in [
        (None, Available, 1),
        (Some(Available), Available, 1),
        (Some(Pending), Pending, 1),
        (Some(Sold), Sold, 0),
    ] {
        let mut shop = shop(Available, 3, 0);
        let created = shop.run(&CreatePet { new: new_pet("Bella", cats(), asked) }).unwrap();
        let pet = Pet::new(pet_id(2), pet_name("Bella"), cats(), status);
        assert_eq!(created, Versioned { value: pet.clone(), version: Version::FIRST }, "{asked:?}");
        let record =
            PetRecord { pet, version: Version::FIRST, stock, item_version: Version::FIRST, open_orders: 0 };
        assert_eq!(shop.pets[&pet_id(2)], record, "{asked:?}");
    }
}

#[test]
fn a_new_pet_counts_in_its_category_and_leaves_the_version_of_that_alone() {
    let mut shop = shop(Available, 3, 0);
    shop.run(&CreatePet { new: new_pet("Bella", cats(), None) }).unwrap();
    shop.run(&CreatePet { new: new_pet("Bella", cats(), None) }).unwrap();
    assert_eq!(counts(&shop), (1, 2));
    assert_eq!(shop.categories[&cats()].version, version(CATEGORY_VERSION));
}

#[test]
fn rejects_a_new_pet_of_a_category_that_is_not_there() {
    let create = CreatePet { new: new_pet("Bella", category_id(9), None) };
    let rejected = Err(CreatePetRejection::UnknownCategory(category_id(9)));
    assert_eq!(shop(Available, 3, 0).decide(&create), rejected);
}

#[test]
fn an_id_is_not_given_again_after_its_pet_is_gone() {
    let mut shop = shop(Available, 3, 0);
    shop.run(&delete(Precondition::None)).unwrap();
    let created = shop.run(&CreatePet { new: new_pet("Bella", DOGS, None) }).unwrap();
    assert_eq!(created.value.id, pet_id(2));
}

#[test]
fn a_new_name_or_category_is_a_new_version_of_the_pet_and_not_of_its_item() {
    let renamed = PetPatch { name: Some(pet_name("Bella")), ..PetPatch::default() };
    let replaced = PetPatch::from(new_pet("Bella", cats(), None));
    for (patch, name, category_id) in
        [(renamed, "Bella", DOGS), (to_category(cats()), "Rex", cats()), (replaced, "Bella", cats())]
    {
        let mut shop = shop(Pending, 3, 2);
        let mut after = shop.rex().clone();
        after.pet.name = pet_name(name);
        after.pet.category_id = category_id;
        after.version = version(PET_VERSION + 1);
        assert_eq!(shop.run(&update(patch.clone())), Ok(after.versioned_pet()), "{patch:?}");
        assert_eq!(*shop.rex(), after, "{patch:?}");
        assert_eq!(shop.rex().item_version, version(ITEM_VERSION), "{patch:?}");
    }
}

#[test]
fn a_patch_that_changes_nothing_writes_nothing() {
    let same = PetPatch::from(new_pet("Rex", DOGS, Some(Available)));
    for patch in [PetPatch::default(), same, to_category(DOGS), PetPatch::from(new_pet(" Rex ", DOGS, None))]
    {
        let shop = shop(Available, 3, 2);
        let unchanged = (Changes::none(), shop.rex().versioned_pet());
        assert_eq!(shop.decide(&update(patch.clone())), Ok(unchanged), "{patch:?}");
    }
}

#[test]
fn a_pet_that_changes_category_is_counted_in_the_new_one_only() {
    let mut shop = shop(Available, 3, 0);
    assert_eq!(counts(&shop), (1, 0));
    shop.run(&update(to_category(cats()))).unwrap();
    assert_eq!(counts(&shop), (0, 1));
    shop.run(&update(to_category(DOGS))).unwrap();
    assert_eq!(counts(&shop), (1, 0));
    // The pets of a category are not part of its representation.
    for record in shop.categories.values() {
        assert_eq!(record.version, version(CATEGORY_VERSION));
    }
}

#[test]
fn rejects_a_move_to_a_category_that_is_not_there() {
    let rejected = Err(UpdatePetRejection::UnknownCategory(category_id(9)));
    assert_eq!(shop(Available, 3, 0).decide(&update(to_category(category_id(9)))), rejected);
}

#[test]
fn existence_comes_before_the_precondition_before_references_before_the_state() {
    let status = Some(Sold);
    let faulty = PetPatch { status, ..to_category(category_id(9)) };
    let current = version(PET_VERSION);
    let transition = InvalidTransition { from: Available, to: Sold, open_orders: 2, stock: 3 };
    let cases = [
        (pet_id(8), faulty.clone(), only(1), UpdatePetRejection::NotFound),
        (REX, faulty.clone(), only(1), PreconditionError::Failed { current }.into()),
        (REX, faulty.clone(), Precondition::Required, PreconditionError::Required { current }.into()),
        (REX, faulty, only(PET_VERSION), UpdatePetRejection::UnknownCategory(category_id(9))),
        (REX, PetPatch { status, ..to_category(cats()) }, Precondition::Exists, transition.into()),
    ];
    for (id, patch, precondition, rejection) in cases {
        let update = UpdatePet { id, patch, precondition };
        assert_eq!(shop(Available, 3, 2).decide(&update), Err(rejection), "{update:?}");
    }
}

#[test]
fn the_precondition_of_a_pet_is_checked_against_the_pet_and_not_its_item() {
    let patch = PetPatch { name: Some(pet_name("Bella")), ..PetPatch::default() };
    let with = |number| UpdatePet { id: REX, patch: patch.clone(), precondition: only(number) };
    let current = version(PET_VERSION);
    let failed = UpdatePetRejection::Precondition(PreconditionError::Failed { current });
    assert_eq!(shop(Available, 3, 0).decide(&with(ITEM_VERSION)), Err(failed));
    assert!(shop(Available, 3, 0).decide(&with(PET_VERSION)).is_ok());
}

#[test]
fn a_precondition_fails_even_where_the_patch_would_change_nothing() {
    let current = version(PET_VERSION);
    let update = UpdatePet { id: REX, patch: PetPatch::default(), precondition: only(1) };
    let failed = UpdatePetRejection::Precondition(PreconditionError::Failed { current });
    assert_eq!(shop(Available, 3, 0).decide(&update), Err(failed));
}

#[test]
fn a_deleted_pet_is_gone_with_its_units_and_not_counted_any_more() {
    for (status, stock) in [(Available, 3), (Pending, 3), (Sold, 0)] {
        let mut shop = shop(status, stock, 0);
        assert_eq!(shop.run(&delete(only(PET_VERSION))), Ok(()), "{status}");
        assert!(shop.pets.is_empty(), "{status}");
        assert_eq!(counts(&shop), (0, 0), "{status}");
        assert_eq!(shop.run(&delete(Precondition::None)), Err(DeletePetRejection::NotFound), "{status}");
    }
}

#[test]
fn rejects_deleting_a_pet_with_open_orders() {
    for (status, stock, open_orders) in
        [(Available, 3, 1), (Available, 3, 2), (Pending, 3, 1), (Pending, 0, 1), (Pending, 0, 2)]
    {
        let rejected = Err(DeletePetRejection::HasOpenOrders { open_orders });
        let shop = shop(status, stock, open_orders);
        assert_eq!(shop.decide(&delete(Precondition::None)), rejected, "{status} {stock} {open_orders}");
    }
}

#[test]
fn a_stale_precondition_comes_before_the_open_orders() {
    let current = version(PET_VERSION);
    let cases = [
        (only(PET_VERSION - 1), PreconditionError::Failed { current }),
        (Precondition::AnyOf(Vec::new()), PreconditionError::Failed { current }),
        (Precondition::Required, PreconditionError::Required { current }),
    ];
    for (precondition, error) in cases {
        let rejected = Err(DeletePetRejection::Precondition(error));
        assert_eq!(shop(Available, 3, 2).decide(&delete(precondition)), rejected);
    }
}

#[test]
fn complete_orders_outlive_their_pet_and_keep_its_id() {
    let mut complete = order(order_id(1), 2);
    complete.order.complete = true;
    let mut shop = shop(Sold, 0, 0).with_order(complete.clone());
    shop.run(&delete(Precondition::None)).unwrap();
    assert_eq!(shop.orders[&order_id(1)], complete);
    assert_eq!(shop.orders[&order_id(1)].order.pet_id, REX);
}
