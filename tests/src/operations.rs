//! Every operation of the shop once, with its effect as the readers show it.

use petstore_domain::{
    Category, CategoryPatch, CategoryRecord, CreatePetRejection, DeleteCategoryRejection, DeletePetRejection,
    Description, NewCategory, OrderPatch, OrderRecord, Patch, PetPatch, PetRecord, PetStatus,
    PlaceOrderRejection, Precondition, PreconditionError, SetStock, SetStockRejection, StockLevel,
    UpdateCategory, UpdateOrder, UpdateOrderRejection, UpdatePet, UpdatePetRejection, Version,
};

use petstore_ports::{OrderFilter, SortDirection};

use crate::Subject;
use crate::listing::{all, walk};
use crate::make::{
    adjust_stock, at, cancel_order, category_name, complete_order, create_pet, delete_category, delete_pet,
    pet_name, place_order, set_status, set_stock, update_pet,
};

/// Each step of creating, replacing and deleting a pet is visible in the pet, its item, its category's count and the
/// listing.
pub async fn pets_are_created_changed_and_deleted(subject: &Subject) {
    let (dogs, cats) = (subject.add_category("Dogs").await, subject.add_category("Cats").await);
    let created = subject.run(create_pet("Rex", dogs, Some(PetStatus::Pending))).await.expect("a category");
    let id = created.value.id;
    let record = subject.pet(id).await.expect("a pet that was created is there");
    assert_eq!(record.versioned_pet(), created, "a pet is read as it was created");
    assert_eq!((record.stock, record.open_orders), (1, 0), "a new pet has one unit");
    assert_eq!(subject.category(dogs).await.map(|one| one.pets), Some(1), "its category counts it");

    let patch = PetPatch::new(Some(pet_name("Tom")), Some(cats), Some(PetStatus::Available));
    let updated = subject.run(update_pet(id, patch)).await.expect("a transition that the table allows");
    let record = subject.pet(id).await.expect("a pet that was changed is there");
    assert_eq!(record.versioned_pet(), updated, "a pet is read as it was changed");
    assert_eq!(updated.version, Version::FIRST.next(), "a change is a new version");
    assert_eq!(subject.category(dogs).await.map(|one| one.pets), Some(0), "it has left its category");
    assert_eq!(subject.category(cats).await.map(|one| one.pets), Some(1), "and joined the other");
    assert_eq!(all::<PetRecord>(subject).await, [record], "the listing shows it as it is");

    subject.run(delete_pet(id)).await.expect("no order is open");
    assert_eq!(subject.pet(id).await, None, "a pet that was deleted is gone");
    assert!(all::<PetRecord>(subject).await.is_empty(), "from the listing too");
    assert_eq!(subject.category(cats).await.map(|one| one.pets), Some(0), "its category counts it no more");
    assert_eq!(subject.run(delete_pet(id)).await, Err(DeletePetRejection::NotFound), "and it stays gone");
    subject.run(delete_category(cats)).await.expect("no pet is in it");
    let unknown = subject.run(create_pet("Rex", cats, None)).await;
    assert_eq!(unknown, Err(CreatePetRejection::UnknownCategory(cats)), "a category that is gone is unknown");
}

/// Each step of creating, replacing and deleting a category is visible.
pub async fn categories_are_created_changed_and_deleted(subject: &Subject) {
    let description = Some(Description::parse("They bark.\nA lot.").expect("a description"));
    let new = NewCategory { description: description.clone(), ..NewCategory::new(category_name("Dogs")) };
    let created = subject.run(petstore_domain::CreateCategory { new }).await.expect("a fresh name");
    let id = created.value.id;
    let expected = Category { description, ..Category::new(id, category_name("Dogs")) };
    assert_eq!(created.value, expected);
    let record = CategoryRecord { category: expected.clone(), version: Version::FIRST, pets: 0 };
    assert_eq!(subject.category(id).await, Some(record.clone()), "a category is read as it was created");

    let patch =
        CategoryPatch { description: Patch::Clear, ..CategoryPatch::new(Some(category_name("DOGS"))) };
    let update = UpdateCategory { id, patch, precondition: Precondition::None };
    let updated = subject.run(update).await.expect("its own name in another case is no conflict");
    assert_eq!((updated.value.name.as_str(), &updated.value.description), ("DOGS", &None));
    let expected = CategoryRecord { category: updated.value, version: updated.version, pets: 0 };
    assert_eq!(all::<CategoryRecord>(subject).await, [expected], "the listing shows it as it is");

    let pet = subject.add_pet(id, 1).await;
    let in_use = subject.run(delete_category(id)).await;
    assert_eq!(in_use, Err(DeleteCategoryRejection::InUse { pets: 1 }), "a category in use stays");
    subject.run(delete_pet(pet)).await.expect("no order is open");
    subject.run(delete_category(id)).await.expect("no pet is in it");
    assert_eq!(subject.category(id).await, None, "a category that was deleted is gone");
    let again = subject.add_category("dogs").await;
    assert_ne!(again, id, "its name is free, its id is not");
}

/// Each step of placing, changing, completing and cancelling orders is visible in the order, its pet's stock and the
/// listing.
pub async fn orders_are_placed_changed_and_cancelled(subject: &Subject) {
    let pet = subject.add_only_pet(5).await;
    let placed = subject.run(place_order(pet, 3)).await.expect("three of five units");
    let order = placed.value.id;
    let read = subject.order(order).await.map(|record| record.versioned());
    assert_eq!(read, Some(placed), "an order is read as it was placed");
    let record = subject.pet(pet).await.expect("the pet is there");
    assert_eq!((record.stock, record.open_orders), (2, 1), "an order takes its units at once");
    let short = subject.run(place_order(pet, 3)).await;
    assert_eq!(short, Err(PlaceOrderRejection::InsufficientStock { left: 2 }), "sold units are not free");

    let patch = OrderPatch { ship_date: Patch::Set(at(60)), ..OrderPatch::default() };
    let update = UpdateOrder { id: order, patch, precondition: Precondition::None, now: at(1) };
    let updated = subject.run(update).await.expect("an open order may change");
    assert_eq!(updated.value.ship_date, Some(at(60)));
    let read = subject.order(order).await.map(|record| record.versioned());
    assert_eq!(read, Some(updated), "an order is read as it was changed");

    let second = subject.add_order(pet, 2).await;
    let record = subject.pet(pet).await.expect("the pet is there");
    assert_eq!((record.pet.status, record.stock), (PetStatus::Pending, 0), "the last unit puts it on hold");
    subject.run(cancel_order(second)).await.expect("the order is open");
    assert_eq!(subject.order(second).await, None, "an order that was cancelled is gone");
    let record = subject.pet(pet).await.expect("the pet is there");
    assert_eq!((record.pet.status, record.stock), (PetStatus::Available, 2), "its units are back");
    let left: Vec<OrderRecord> = all(subject).await;
    assert_eq!(left.iter().map(|one| one.order.id).collect::<Vec<_>>(), [order]);
}

/// A complete order cannot change, and outlives its pet.
pub async fn a_complete_order_outlives_its_pet(subject: &Subject) {
    let pet = subject.add_only_pet(1).await;
    let order = subject.add_order(pet, 1).await;
    let open = subject.run(delete_pet(pet)).await;
    assert_eq!(
        open,
        Err(DeletePetRejection::HasOpenOrders { open_orders: 1 }),
        "an open order holds its pet"
    );
    let done = subject.run(complete_order(order)).await.expect("the order is open");
    assert_eq!((done.value.complete, done.value.ship_date), (true, Some(at(0))));
    let sold = subject.pet(pet).await.map(|record| (record.pet.status, record.open_orders));
    assert_eq!(sold, Some((PetStatus::Sold, 0)), "the last unit is sold");

    subject.run(delete_pet(pet)).await.expect("no order is open");
    let read = subject.order(order).await.map(|record| record.versioned());
    assert_eq!(read, Some(done), "a complete order outlives its pet");
    for complete in [None, Some(true)] {
        let filter = OrderFilter { pet_id: Some(pet), complete };
        let listed: Vec<OrderRecord> = walk(subject, &filter, SortDirection::Ascending, 5).await;
        let ids: Vec<_> = listed.iter().map(|record| record.order.id).collect();
        assert_eq!(ids, [order], "a list of the pet's orders has it too: {filter:?}");
    }
    let patch = OrderPatch { ship_date: Patch::Clear, ..OrderPatch::default() };
    let update = UpdateOrder { id: order, patch, precondition: Precondition::None, now: at(1) };
    assert_eq!(subject.run(update).await, Err(UpdateOrderRejection::AlreadyComplete));
}

/// Setting and adjusting the stock. The version of the pet changes only with the status; the version of the item
/// changes with the status and with the units.
pub async fn stock_is_set_and_adjusted(subject: &Subject) {
    let pet = subject.add_only_pet(1).await;
    let set = subject.run(set_stock(pet, 7)).await.expect("the pet is there");
    let adjusted = subject.run(adjust_stock(pet, -4)).await.expect("seven units less four");
    assert_eq!((set.value.quantity, adjusted.value.quantity), (7, 3));
    let record = subject.pet(pet).await.expect("the pet is there");
    assert_eq!(record.versioned_item(), adjusted, "an item is read as it was adjusted");
    assert_eq!(record.version, Version::FIRST, "the pet itself has not changed");
    subject.run(adjust_stock(pet, -4)).await.expect_err("three units are left");
    subject.run(set_status(pet, PetStatus::Sold)).await.expect("no order is open");
    let record = subject.pet(pet).await.expect("the pet is there");
    assert_eq!((record.stock, record.version), (0, Version::FIRST.next()), "sold means: no unit is left");
}

/// A precondition is checked against the current record.
pub async fn a_stale_version_changes_nothing(subject: &Subject) {
    let pet = subject.add_only_pet(1).await;
    let level = StockLevel::new(9).expect("a level");
    let with = |version| SetStock { id: pet, level, precondition: Precondition::AnyOf(vec![version]) };
    let first = subject.run(with(Version::FIRST)).await.expect("the version is current");
    let second = subject.run(with(Version::FIRST)).await;
    let failed = SetStockRejection::Precondition(PreconditionError::Failed { current: first.version });
    assert_eq!(second, Err(failed), "a precondition is held against the item as it is");

    let precondition = Precondition::AnyOf(vec![Version::FIRST]);
    let patch = PetPatch { name: Some(pet_name("Tom")), ..PetPatch::default() };
    subject.run(UpdatePet { id: pet, patch: patch.clone(), precondition }).await.expect("current");
    let precondition = Precondition::AnyOf(vec![Version::FIRST]);
    let stale = subject.run(UpdatePet { id: pet, patch, precondition }).await;
    let failed = PreconditionError::Failed { current: Version::FIRST.next() };
    assert_eq!(
        stale,
        Err(UpdatePetRejection::Precondition(failed)),
        "a precondition is held against the pet as it is"
    );
}
