//! Resets, as seen by concurrent readers and later writers.

mod common;

use std::sync::Arc;

use common::*;
use petstore_domain::*;
use petstore_memory::MemoryStore;
use petstore_ports::*;

#[test]
fn the_id_of_a_deleted_pet_with_an_order_is_not_reissued() {
    let store = MemoryStore::new();
    let shop = [Row::Category(category(1, "Dogs")), Row::Order(order(1, 9, true))];
    store.reset(Arc::new(shop), 5).unwrap();
    let new = NewPet::new(pet_name("Rex"), category_id(1));
    assert_eq!(done(&store, CreatePet { new }).value.id, pet_id(10));
}

#[test]
fn a_page_ends_at_a_reset_and_has_no_record_of_the_new_shop() {
    let store = MemoryStore::new();
    let shop = |name: &str, pets: std::ops::RangeInclusive<u64>| -> Arc<[Row]> {
        let count = pets.clone().count() as u64;
        let category = CategoryRecord { pets: count, ..category(1, "Dogs") };
        let pets = pets.map(|id| Row::Pet(pet(id, name, 1, PetStatus::Available)));
        std::iter::once(Row::Category(category)).chain(pets).collect()
    };
    store.reset(shop("Old", 1..=500), 5).unwrap();
    let (mut seen, mut is_reset) = (Vec::new(), false);
    let page = PageRequest { order: SortDirection::Ascending, after: None, limit: 500 };
    let end = ready(store.pets(&PetFilter::default(), &page, &mut |record| {
        seen.push(record.pet.name.as_str().to_owned());
        if !std::mem::replace(&mut is_reset, true) {
            // No lock is held while the sink runs.
            store.reset(shop("New", 1..=500), 6).unwrap();
        }
    }));
    assert_eq!(end, Ok(PageEnd::Last));
    assert!(seen.len() < 500 && seen.iter().all(|name| name == "Old"), "{seen:?}");
    assert_eq!(get_pet(&store, 1).unwrap().pet.name.as_str(), "New");
}
