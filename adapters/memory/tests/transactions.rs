//! Writes: the guarantees for a transition.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use common::*;
use petstore_domain::*;
use petstore_memory::MemoryStore;
use petstore_ports::*;

fn shop(stock: u64) -> MemoryStore {
    let store = MemoryStore::new();
    let mut rex = pet(1, "Rex", 1, PetStatus::Available);
    rex.stock = stock;
    write(&store, [Change::Category(category(1, "Dogs")), Change::Pet(rex)]);
    store
}

#[test]
fn a_panic_fails_only_its_transition_and_leaves_no_trace() {
    let store = shop(5);
    let names = |_: &View| Footprint::from([RecordRef::Pet(pet_id(1)), RecordRef::NextOrder]);
    let failed = transact(&store, names, |_| panic!("the rule is broken"));
    assert_eq!(failed, Err(StoreError::corrupt("an operation panicked: the rule is broken")));
    let failed = transact(&store, |_| panic!("pet {}", 1), |_| None);
    assert_eq!(failed, Err(StoreError::corrupt("an operation panicked: pet 1")));
    assert_eq!(get_pet(&store, 1).unwrap().stock, 5);
    // The id is used up, the stripes are unlocked, and the store goes on.
    assert_eq!(done(&store, place(1)).value.id.get(), 2);
    assert_eq!(get_order(&store, 1), None);
}

#[test]
fn a_rejected_operation_uses_no_id() {
    let store = shop(5);
    let new_pet = |category| NewPet::new(pet_name("Fay"), category_id(category));
    let new_category = |name| NewCategory::new(CategoryName::parse(name).unwrap());
    for id in 1..=3 {
        ready(run(&store, place(77), Timestamp::EPOCH)).unwrap().unwrap_err();
        ready(run(&store, CreatePet { new: new_pet(77) }, Timestamp::EPOCH)).unwrap().unwrap_err();
        ready(run(&store, CreateCategory { new: new_category("DOGS") }, Timestamp::EPOCH))
            .unwrap()
            .unwrap_err();
        assert_eq!(done(&store, place(1)).value.id.get(), id);
    }
    assert_eq!(done(&store, CreatePet { new: new_pet(1) }).value.id.get(), 2);
    assert_eq!(done(&store, CreateCategory { new: new_category("Cats") }).value.id.get(), 2);
}

#[test]
fn reading_a_next_id_outside_the_footprint_is_such_a_panic() {
    let failed = transact(
        &shop(1),
        |_| Footprint::default(),
        |view| {
            view.next_order();
            None
        },
    );
    assert!(matches!(&failed, Err(error) if error.kind() == StoreErrorKind::Corrupt));
}

#[test]
fn nothing_is_written_if_the_decision_is_none_or_has_no_changes() {
    let store = shop(5);
    let before = get_pet(&store, 1);
    let names = |_: &View| Footprint::from([RecordRef::Pet(pet_id(1))]);
    assert_eq!(transact(&store, names, |_| None), Ok(()));
    assert_eq!(transact(&store, names, |_| Some(Changes::none())), Ok(()));
    assert_eq!(get_pet(&store, 1), before);
}

#[test]
fn a_read_outside_the_footprint_finds_nothing() {
    let store = shop(5);
    let decide = |view: &View| {
        assert_eq!((view.pet(pet_id(1)), view.holds(&RecordRef::Pet(pet_id(1)))), (None, false));
        assert!(view.category(category_id(1)).is_some());
        None
    };
    assert_eq!(transact(&store, |_| Footprint::from([RecordRef::Category(category_id(1))]), decide), Ok(()));
}

#[test]
fn ids_ascend_are_issued_once_and_stay_the_same_while_the_footprint_grows() {
    let store = shop(100);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..20 {
                    done(&store, place(1));
                }
            });
        }
    });
    assert!((1..=80).all(|id| get_order(&store, id).is_some()));
    // The account is named after its id, so the footprint depends on the id.
    let first = create_key(&store, 1, Plan::Free);
    let second = create_key(&store, 2, Plan::Free);
    assert_eq!((first.account.name.as_str(), second.account.name.as_str()), ("account-1", "account-2"));
}

#[test]
fn an_id_that_was_written_is_not_issued_again() {
    let store = shop(5);
    write(&store, [Change::Order(order(40, 1, false))]);
    assert_eq!(done(&store, place(1)).value.id.get(), 41);
}

#[test]
fn a_full_table_refuses_writes_as_busy_and_writes_nothing() {
    let store = shop(5);
    let last = u64::from(u32::MAX);
    write(&store, [Change::Order(order(last, 1, false))]);
    assert!(
        matches!(ready(run(&store, place(1), Timestamp::EPOCH)), Err(error) if error.kind() == StoreErrorKind::Busy)
    );
    let changes = Changes::from([
        Change::Pet(pet(2, "Tom", 1, PetStatus::Available)),
        Change::Pet(pet(last + 1, "Tom", 1, PetStatus::Available)),
    ]);
    let written = transact(&store, |_| Footprint::default(), move |_| Some(changes.clone()));
    assert!(matches!(&written, Err(error) if error.kind() == StoreErrorKind::Busy));
    assert_eq!((get_pet(&store, 2), get_pet(&store, last + 1)), (None, None));
    assert!(get_order(&store, last).is_some());
}

#[test]
fn a_footprint_may_grow_and_its_records_are_of_one_moment() {
    // Each pet's stock is the id of the next pet. A concurrent writer cuts and restores the chain while it is followed.
    let store = MemoryStore::new();
    let link = |id: u64, next: u64| {
        let mut record = pet(id, "Link", 1, PetStatus::Available);
        record.stock = next;
        Change::Pet(record)
    };
    write(&store, [link(1, 2), link(2, 3), link(3, 0), link(4, 0)]);
    let over = AtomicBool::new(false);
    let chain = |view: &View| {
        let (mut footprint, mut next) = (Footprint::default(), Some(1));
        while let Some(id) = next.and_then(|id| PetId::new(id).ok()) {
            footprint.add(RecordRef::Pet(id));
            next = view.pet(id).map(|record| record.stock);
        }
        footprint
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                write(&store, [link(1, 2), link(2, 3)]);
                write(&store, [link(1, 4), link(2, 0)]);
            }
        });
        for _ in 0..2_000 {
            let decide = move |view: &View| {
                let stock = |id| view.pet(pet_id(id)).map(|record| record.stock);
                assert!(
                    matches!((stock(1), stock(2), stock(4)), (Some(2), Some(3), _) | (Some(4), _, Some(0))),
                    "{view:?}"
                );
                None
            };
            match transact(&store, chain, decide) {
                Ok(()) => {}
                Err(failed) => {
                    over.store(true, Ordering::Relaxed);
                    panic!("{failed}");
                }
            }
        }
        over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_footprint_that_keeps_growing_is_refused_as_busy() {
    let store = shop(5);
    let asked = Arc::new(AtomicU64::new(0));
    let footprint = move |_: &View| {
        let asked = asked.fetch_add(1, Ordering::Relaxed) + 1;
        let mut footprint = Footprint::default();
        (1..=asked).for_each(|id| footprint.add(RecordRef::Pet(pet_id(id))));
        footprint
    };
    assert!(
        matches!(transact(&store, footprint, |_| None), Err(error) if error.kind() == StoreErrorKind::Busy)
    );
}

#[test]
fn a_hundred_threads_on_one_pet_keep_the_number_of_units() {
    const UNITS: u64 = 250;
    let store = shop(UNITS);
    let (placed, refused, cancelled) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for thread in 0..100 {
            let (store, placed, refused, cancelled) = (&store, &placed, &refused, &cancelled);
            scope.spawn(move || {
                for round in 0..5 {
                    let Ok(order) = ready(run(store, place(1), Timestamp::EPOCH)).unwrap() else {
                        refused.fetch_add(1, Ordering::Relaxed);
                        continue;
                    };
                    placed.fetch_add(1, Ordering::Relaxed);
                    if (thread + round) % 5 == 0 {
                        let id = order.value.id;
                        done(store, CancelOrder { id, precondition: Precondition::None });
                        cancelled.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let [placed, refused, cancelled] = [placed, refused, cancelled].map(AtomicU64::into_inner);
    let rex = get_pet(&store, 1).unwrap();
    assert_eq!(placed + refused, 500);
    assert_eq!(rex.stock + placed - cancelled, UNITS);
    assert_eq!(u64::from(rex.open_orders), placed - cancelled);
    let filter = OrderFilter { pet_id: Some(pet_id(1)), complete: Some(false) };
    let page = PageRequest { order: SortDirection::Ascending, after: None, limit: usize::MAX };
    let mut open = 0;
    ready(store.orders(&filter, &page, &mut |_| open += 1)).unwrap();
    assert_eq!(open, placed - cancelled);
}

#[test]
fn one_of_many_concurrent_creates_gets_a_category_name() {
    let store = MemoryStore::new();
    let made = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for name in ["Dogs", "dogs", "DOGS", "dOGS"].iter().cycle().take(16) {
            scope.spawn(|| {
                let new = NewCategory::new(CategoryName::parse(name).unwrap());
                made.fetch_add(
                    u64::from(ready(run(&store, CreateCategory { new }, Timestamp::EPOCH)).unwrap().is_ok()),
                    Ordering::Relaxed,
                );
            });
        }
    });
    assert_eq!(made.into_inner(), 1);
}

#[test]
fn a_released_name_is_free_and_a_swap_keeps_both_names() {
    let store = MemoryStore::new();
    write(&store, [Change::Category(category(1, "Dogs")), Change::Category(category(2, "Cats"))]);
    write(&store, [Change::Category(category(1, "Cats")), Change::Category(category(2, "Dogs"))]);
    let create = |name: &str| {
        let new = NewCategory::new(CategoryName::parse(name).unwrap());
        ready(run(&store, CreateCategory { new }, Timestamp::EPOCH)).unwrap().map(|made| made.value.id.get())
    };
    assert_eq!(create("CATS"), Err(CreateCategoryRejection::NameTaken(category_id(1))));
    assert_eq!(create("dogs"), Err(CreateCategoryRejection::NameTaken(category_id(2))));
    write(&store, [Change::CategoryDeleted(category_id(2))]);
    assert!(create("dogs").is_ok());
}

#[test]
fn a_store_without_a_journal_is_always_healthy() {
    assert_eq!(ready(MemoryStore::default().check(at(0))), Ok(()));
}
