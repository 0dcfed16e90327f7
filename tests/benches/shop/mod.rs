//! The shop that benchmarks ask.

use std::sync::Arc;

use petstore_domain::{
    CategoryId, CategoryName, CreateCategory, CreatePet, NewCategory, NewPet, PetId, PetName, Precondition,
    SetStock, StockLevel,
};
use petstore_memory::MemoryStore;
use petstore_ports::run;

/// One pet in so many is in the rare category.
pub(crate) const RARE: u32 = 1_000;

pub(crate) const RARE_CATEGORY: u64 = 11;

/// A store with this many pets, all available, in ten categories and a rare one.
pub(crate) fn shop(pets: u32) -> Arc<MemoryStore> {
    let store = Arc::new(MemoryStore::new());
    fill(&store, pets);
    store
}

/// Puts them into an empty store.
pub(crate) fn fill(store: &MemoryStore, pets: u32) {
    const NAMES: [&str; 4] = ["Bella", "Rocky", "Coco", "Milo"];
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        for n in 0..RARE_CATEGORY {
            let name = CategoryName::parse(&format!("Category {n}")).expect("a name");
            let new = NewCategory { name, description: None };
            run(store, CreateCategory { new }).await.expect("the store answers").expect("a new name");
        }
        for n in 1..=pets {
            let name = PetName::parse(&format!("{} {n}", NAMES[n as usize % NAMES.len()])).expect("a name");
            let category = if n % RARE == 0 { RARE_CATEGORY } else { u64::from(n) % (RARE_CATEGORY - 1) + 1 };
            let category_id = CategoryId::new(category).expect("an id");
            let new = NewPet { name, category_id, status: None };
            run(store, CreatePet { new }).await.expect("the store answers").expect("the category exists");
        }
    });
}

/// Gives this many pets as much stock as there may be.
pub(crate) fn stock_up(store: &MemoryStore, pets: u32) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let level = StockLevel::new(i64::from(StockLevel::MAX)).expect("the maximum");
    runtime.block_on(async {
        for n in 1..=pets {
            let id = PetId::new(u64::from(n)).expect("an id");
            let set = SetStock { id, level, precondition: Precondition::None };
            run(store, set).await.expect("the store answers").expect("the pet exists");
        }
    });
}
