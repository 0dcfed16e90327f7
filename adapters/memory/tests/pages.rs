//! Listings: compared with a naive model, and during concurrent writes.

mod common;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use common::*;
use petstore_domain::*;
use petstore_memory::MemoryStore;
use petstore_ports::*;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

/// Names that collide in several ways: by case, by a letter that folds to two, as a prefix.
const NAMES: [&str; 5] = ["Rex", "REX", "İda", "Bello", "Bell"];

/// Ids in one block, in the next block and in another chunk; then an id after a gap, and the highest id.
const IDS: [u64; 14] =
    [1, 2, 3, 15, 16, 17, 31, 1_023, 1_024, 65_535, 65_536, 70_000, 5_000_000, u32::MAX as u64];

fn statuses() -> impl Strategy<Value = PetStatus> {
    select(PetStatus::ALL.as_slice())
}

fn orders_of_pages() -> impl Strategy<Value = SortDirection> {
    select(vec![SortDirection::Ascending, SortDirection::Descending])
}

/// A pet to write, or to remove if it has no status.
type PetStep = (u64, &'static str, u64, Option<PetStatus>);

fn pet_steps() -> impl Strategy<Value = Vec<PetStep>> {
    vec(
        (select(IDS.as_slice()), select(NAMES.as_slice()), 1_u64..4, option::weighted(0.8, statuses())),
        0..60,
    )
}

fn pet_filters() -> impl Strategy<Value = PetFilter> {
    let ids = subsequence(IDS.map(pet_id).to_vec(), 0..IDS.len());
    (
        vec(statuses(), 0..3),
        option::of(1_u64..5),
        option::of(select(NAMES.as_slice())),
        option::weighted(0.3, ids),
    )
        .prop_map(|(statuses, category, name, ids)| PetFilter {
            statuses: statuses.into_iter().collect(),
            category_id: category.map(category_id),
            name: name.map(|name| pet_name(name).folded()),
            ids,
        })
}

fn store_of_pets(steps: &[PetStep]) -> (MemoryStore, BTreeMap<u64, PetRecord>) {
    let (store, mut model) = (MemoryStore::new(), BTreeMap::new());
    for (id, name, category, status) in steps {
        if let Some(status) = status {
            let record = pet(*id, name, *category, *status);
            write(&store, [Change::Pet(record.clone())]);
            model.insert(*id, record);
        } else {
            write(&store, [Change::PetDeleted(pet_id(*id))]);
            model.remove(id);
        }
    }
    (store, model)
}

fn in_order(mut ids: Vec<u64>, order: SortDirection) -> Vec<u64> {
    if order == SortDirection::Descending {
        ids.reverse();
    }
    ids
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn paging_through_pets_returns_what_a_scan_would(
        steps in pet_steps(), filters in vec(pet_filters(), 8), order in orders_of_pages(), limit in 1_usize..5,
    ) {
        let (store, model) = store_of_pets(&steps);
        for filter in filters.iter().chain([&PetFilter::default()]) {
            let expected = model.iter().filter(|(_, record)| filter.admits(record)).map(|(id, _)| *id).collect();
            let walked = walk(order, limit, |page| page_of_pets(&store, filter, page));
            prop_assert_eq!(walked, in_order(expected, order), "{:?}", filter);
        }
    }

    #[test]
    fn a_page_may_start_after_any_number(
        steps in pet_steps(), filter in pet_filters(), order in orders_of_pages(),
        after in prop_oneof![select(IDS.as_slice()), any::<u64>(), Just(0), Just(u64::from(u32::MAX) + 1)],
    ) {
        let (store, model) = store_of_pets(&steps);
        let expected = model.iter().filter(|(id, record)| filter.admits(record) && match order {
            SortDirection::Ascending => **id > after,
            SortDirection::Descending => **id < after,
        });
        let expected = in_order(expected.map(|(id, _)| *id).collect(), order);
        let page = PageRequest { order, after: Some(after), limit: usize::MAX };
        prop_assert_eq!(page_of_pets(&store, &filter, &page), (expected, PageEnd::Last));
    }

    #[test]
    fn paging_through_orders_returns_what_a_scan_would(
        steps in vec((select(IDS.as_slice()), 1_u64..4, option::weighted(0.8, any::<bool>())), 0..60),
        order in orders_of_pages(), limit in 1_usize..5,
    ) {
        let (store, mut model) = (MemoryStore::new(), BTreeMap::new());
        for (id, pet, complete) in steps {
            if let Some(complete) = complete {
                write(&store, [Change::Order(common::order(id, pet, complete))]);
                model.insert(id, common::order(id, pet, complete));
            } else {
                write(&store, [Change::OrderDeleted(order_id(id))]);
                model.remove(&id);
            }
        }
        for pet in [None, Some(1), Some(3), Some(4), Some(ID_MAX)] {
            for complete in [None, Some(false), Some(true)] {
                let filter = OrderFilter { pet_id: pet.map(pet_id), complete };
                let expected = model.iter().filter(|(_, record)| filter.admits(record)).map(|(id, _)| *id);
                let walked = walk(order, limit, |page| {
                    let mut ids = Vec::new();
                    let mut sink = |record: &OrderRecord| ids.push(record.order.id.get());
                    let end = ready(store.orders(&filter, page, &mut sink)).unwrap();
                    (ids, end)
                });
                prop_assert_eq!(walked, in_order(expected.collect(), order), "{:?}", filter);
            }
        }
    }

    #[test]
    fn paging_through_categories_returns_what_a_scan_would(
        renamed in vec((1_u64..20, option::weighted(0.7, 0..40_u32)), 0..60), order in orders_of_pages(), limit in 1_usize..5,
    ) {
        let (store, mut model) = (MemoryStore::new(), BTreeMap::<u64, CategoryRecord>::new());
        for (id, name) in renamed {
            if let Some(name) = name {
                let record = category(id, &format!("Kind {name}"));
                let taken = |other: &CategoryRecord| other.category.name == record.category.name;
                if !model.values().any(taken) {
                    write(&store, [Change::Category(record.clone())]);
                    model.insert(id, record);
                }
            } else {
                write(&store, [Change::CategoryDeleted(category_id(id))]);
                model.remove(&id);
            }
        }
        for name in (0..40).map(|name| Some(format!("kIND {name}"))).chain([None]) {
            let name = name.map(|name| CategoryName::parse(&name).unwrap().folded());
            let filter = CategoryFilter { name };
            let has_name = |record: &CategoryRecord| {
                filter.name.as_ref().is_none_or(|name| record.category.name.folded() == *name)
            };
            let expected = model.iter().filter(|(_, record)| has_name(record)).map(|(id, _)| *id).collect();
            let walked = walk(order, limit, |page| {
                let mut ids = Vec::new();
                let mut sink = |record: &CategoryRecord| ids.push(record.category.id.get());
                let end = ready(store.categories(&filter, page, &mut sink)).unwrap();
                (ids, end)
            });
            prop_assert_eq!(walked, in_order(expected, order), "{:?}", filter);
        }
    }
}

#[test]
fn filters_with_a_small_intersection_do_not_read_the_whole_table() {
    // Every second pet is sold, and the others are dogs. Each filter alone admits half of the table, and both admit one
    // pet.
    let store = MemoryStore::new();
    for id in (1..20_000).step_by(2) {
        write(&store, [Change::Pet(pet(id, "Rex", 1, PetStatus::Available))]);
        write(&store, [Change::Pet(pet(id + 1, "Rex", 2, PetStatus::Sold))]);
    }
    write(&store, [Change::Pet(pet(20_001, "Rex", 1, PetStatus::Sold))]);
    let sold = [PetStatus::Sold].into_iter().collect();
    for name in [None, Some(pet_name("rex").folded())] {
        let filter = PetFilter { statuses: sold, category_id: Some(category_id(1)), name, ids: None };
        for order in [SortDirection::Ascending, SortDirection::Descending] {
            assert_eq!(walk(order, 10, |page| page_of_pets(&store, &filter, page)), [20_001]);
        }
    }
}

#[test]
fn an_empty_page_tells_whether_records_follow() {
    let store = MemoryStore::new();
    let page = PageRequest { order: SortDirection::Ascending, after: None, limit: 0 };
    assert_eq!(page_of_pets(&store, &PetFilter::default(), &page), (vec![], PageEnd::Last));
    write(&store, [Change::Pet(pet(7, "Rex", 1, PetStatus::Sold))]);
    assert_eq!(page_of_pets(&store, &PetFilter::default(), &page), (vec![], PageEnd::More));
}

#[test]
fn the_sink_may_read_and_change_the_store() {
    let store = MemoryStore::new();
    for id in 1..=40 {
        write(&store, [Change::Pet(pet(id, "Rex", 1, PetStatus::Available))]);
    }
    let page = PageRequest { order: SortDirection::Ascending, after: None, limit: 100 };
    let mut seen = 0;
    let mut sink = |record: &PetRecord| {
        assert_eq!(get_pet(&store, record.pet.id.get()).as_ref(), Some(record));
        write(&store, [Change::PetDeleted(record.pet.id)]);
        seen += 1;
    };
    assert_eq!(ready(store.pets(&PetFilter::default(), &page, &mut sink)), Ok(PageEnd::Last));
    assert_eq!(seen, 40);
}

/// Pets with odd ids stay, and always match the filters while other fields change. Those with even ids are created and
/// deleted.
#[test]
fn a_record_that_exists_throughout_is_listed_exactly_once_despite_concurrent_writes() {
    const PETS: u64 = 300;
    let store = MemoryStore::new();
    let version = |id: u64, round: usize| {
        let status = [PetStatus::Available, PetStatus::Pending][round % 2];
        let name = ["Rex", "rEX"][round / 2 % 2];
        Change::Pet(pet(id, name, 1, status))
    };
    for id in 1..=PETS {
        write(&store, [version(id, 0)]);
    }
    let filters = [
        PetFilter::default(),
        PetFilter {
            statuses: [PetStatus::Available, PetStatus::Pending].into_iter().collect(),
            ..Default::default()
        },
        PetFilter { category_id: Some(category_id(1)), ..Default::default() },
        PetFilter { name: Some(pet_name("REX").folded()), ..Default::default() },
        PetFilter {
            statuses: [PetStatus::Available, PetStatus::Pending].into_iter().collect(),
            category_id: Some(category_id(1)),
            name: Some(pet_name("REX").folded()),
            ids: None,
        },
    ];
    let over = AtomicBool::new(false);
    let (store, over) = (&store, &over);
    std::thread::scope(|scope| {
        for half in 0..2 {
            scope.spawn(move || {
                for round in 1.. {
                    for id in (1..=PETS).filter(|id| id / 2 % 2 == half) {
                        match (id % 2, round % 3) {
                            (1, _) => write(store, [version(id, round)]),
                            (_, 0) => write(store, [Change::PetDeleted(pet_id(id))]),
                            (_, 1) => write(store, [Change::Pet(pet(id, "Tom", 2, PetStatus::Sold))]),
                            _ => write(store, [version(id, round)]),
                        }
                    }
                    if over.load(Ordering::Relaxed) {
                        return;
                    }
                }
            });
        }
        for round in 0..150 {
            for filter in &filters {
                let order = [SortDirection::Ascending, SortDirection::Descending][round % 2];
                let mut walked = walk(order, 7, |page| page_of_pets(store, filter, page));
                walked.retain(|id| id % 2 == 1);
                let expected = in_order((1..=PETS).step_by(2).collect(), order);
                if walked != expected {
                    over.store(true, Ordering::Relaxed);
                    assert_eq!(walked, expected, "{filter:?}");
                }
            }
        }
        over.store(true, Ordering::Relaxed);
    });
}
