//! A bulk load into a store without a journal: each row is checked, and all rows are kept or none.

mod common;

use common::*;
use petstore_domain::*;
use petstore_memory::{Contradiction, Import, MemoryStore};
use petstore_ports::*;

fn add_category(import: &mut Import<'_>, id: u64, name: &str) -> Result<(), ImportError> {
    import.category(category(id, name).category, Version::FIRST)
}

fn add_pet(import: &mut Import<'_>, id: u64, category: u64, status: PetStatus) -> Result<(), ImportError> {
    import.pet(pet(id, "Rex", category, status).pet, Version::FIRST)
}

fn add_item(import: &mut Import<'_>, pet: u64, quantity: u64, status: PetStatus) -> Result<(), ImportError> {
    import.item(InventoryItem { pet_id: pet_id(pet), quantity, status }, Version::FIRST)
}

fn add_order(import: &mut Import<'_>, id: u64, pet: u64, complete: bool) -> Result<(), ImportError> {
    import.order(order(id, pet, complete).order, Version::FIRST)
}

/// Adds one category, and one pet with three units.
fn begin(import: &mut Import<'_>) -> Result<(), ImportError> {
    add_category(import, 4, "Dogs")?;
    add_pet(import, 7, 4, PetStatus::Available)?;
    add_item(import, 7, 3, PetStatus::Available)
}

#[test]
fn an_import_keeps_ids_and_versions() {
    let store = MemoryStore::new();
    let made = create_key(&store, 1, Plan::Free);
    let mut import = store.import().unwrap();
    begin(&mut import).unwrap();
    import.order(order(9, 7, false).order, Version::FIRST.next()).unwrap();
    assert_eq!(get_pet(&store, 7), None, "no row is visible before the end");
    let counted =
        |store: &MemoryStore| (store.counts().categories, store.counts().pets, store.counts().orders);
    assert_eq!(counted(&store), (0, 0, 0), "no row is counted before the end");
    import.finish().unwrap();
    assert_eq!(counted(&store), (1, 1, 1));
    let record = get_pet(&store, 7).unwrap();
    assert_eq!((record.stock, record.open_orders), (3, 1));
    let filter = PetFilter { name: Some(pet_name("rex").folded()), ..PetFilter::default() };
    let page = PageRequest { order: SortDirection::Ascending, after: None, limit: 10 };
    assert_eq!(page_of_pets(&store, &filter, &page), (vec![7], PageEnd::Last));
    assert_eq!(get_order(&store, 9).map(|record| record.version), Some(Version::FIRST.next()));
    assert_eq!(ready(store.category(category_id(4))).unwrap().map(|record| record.pets), Some(1));
    assert_eq!(done(&store, place(7)).value.id, order_id(10));
    assert_eq!(get_key(&store, made.key.id), made.key, "accounts and keys stay as they are");
}

/// Returns the refusal of these rows, either by the call that adds a row or by the call at the end.
fn refusal(
    store: &MemoryStore,
    rows: impl FnOnce(&mut Import<'_>) -> Result<(), ImportError>,
) -> (u64, String) {
    let mut import = store.import().unwrap();
    begin(&mut import).unwrap();
    let refused = match rows(&mut import) {
        Ok(()) => import.finish().map(drop),
        refused => refused,
    };
    match refused {
        Err(ImportError::Contradiction { row, why } | ImportError::Namesake { row, why }) => (row, why),
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_row_is_checked_and_a_refused_import_leaves_nothing() {
    type Rows = fn(&mut Import<'_>) -> Result<(), ImportError>;
    use PetStatus::{Available, Pending, Sold};
    // `begin` adds three rows before these.
    let cases: [(Rows, u64, &str); 17] = [
        (|it| add_category(it, 4, "Cats"), 4, "category 4 occurs twice"),
        (
            |it| add_category(it, 5, "DOGS"),
            4,
            "category 5 has a name that is equivalent to that of category 4",
        ),
        (|it| add_pet(it, 7, 4, Sold), 4, "pet 7 occurs twice"),
        (|it| add_pet(it, 8, 5, Sold), 4, "pet 8 belongs to category 5, which does not exist"),
        (|it| add_item(it, 7, 3, Available), 4, "inventory item 7 occurs twice"),
        (|it| add_item(it, 8, 3, Available), 4, "inventory item 8 belongs to pet 8, which does not exist"),
        (|it| add_order(it, 1, 8, false), 4, "order 1 belongs to pet 8, which does not exist"),
        (|it| add_order(it, 1, 7, true).and_then(|()| add_order(it, 1, 7, true)), 5, "order 1 occurs twice"),
        (
            |it| add_pet(it, 8, 4, Pending).and_then(|()| add_item(it, 8, 3, Available)),
            5,
            "inventory item 8 is available, but its pet is pending",
        ),
        // A fault that is found at the end is reported for the row that lacks a later row.
        (|it| add_pet(it, 8, 4, Available), 4, "pet 8 has no inventory item"),
        (
            |it| add_pet(it, 8, 4, Available).and_then(|()| add_category(it, 5, "Cats")),
            4,
            "pet 8 has no inventory item",
        ),
        (
            |it| add_pet(it, 8, 4, Available).and_then(|()| add_order(it, 1, 8, false)),
            4,
            "pet 8 has no inventory item",
        ),
        (
            |it| add_pet(it, 8, 4, Available).and_then(|()| add_item(it, 8, 0, Available)),
            5,
            "pet 8 is available (free units: 0, open orders: 0)",
        ),
        (
            |it| add_pet(it, 8, 4, Pending).and_then(|()| add_item(it, 8, 0, Pending)),
            5,
            "pet 8 is pending (free units: 0, open orders: 0)",
        ),
        (
            |it| add_pet(it, 8, 4, Sold).and_then(|()| add_item(it, 8, 1, Sold)),
            5,
            "pet 8 is sold (free units: 1, open orders: 0)",
        ),
        (
            |it| {
                add_pet(it, 8, 4, Sold)?;
                add_item(it, 8, 0, Sold)?;
                add_order(it, 1, 7, false)?;
                add_order(it, 2, 8, false)
            },
            7,
            "pet 8 is sold (free units: 0, open orders: 1)",
        ),
        // If several faults are found at the end, the first one is reported.
        (
            |it| {
                add_pet(it, 9, 4, Sold)?;
                add_pet(it, 8, 4, Sold)
            },
            4,
            "pet 9 has no inventory item",
        ),
    ];
    let store = MemoryStore::new();
    for (rows, row, why) in cases {
        assert_eq!(refusal(&store, rows), (row, why.to_owned()));
        let everything = PageRequest { order: SortDirection::Ascending, after: None, limit: 10 };
        assert_eq!(page_of_pets(&store, &PetFilter::default(), &everything), (vec![], PageEnd::Last));
    }
    // All ids and names are free again.
    let new = NewCategory::new(CategoryName::parse("Dogs").unwrap());
    assert_eq!(done(&store, CreateCategory { new }).value.id, CategoryId::FIRST);
}

#[test]
fn a_pet_may_be_held_by_an_order_that_comes_before_its_item_or_after() {
    for order_first in [true, false] {
        let store = MemoryStore::new();
        let mut import = store.import().unwrap();
        begin(&mut import).unwrap();
        add_pet(&mut import, 8, 4, PetStatus::Pending).unwrap();
        if order_first {
            add_order(&mut import, 1, 8, false).unwrap();
        }
        add_item(&mut import, 8, 0, PetStatus::Pending).unwrap();
        if !order_first {
            add_order(&mut import, 1, 8, false).unwrap();
        }
        import.finish().unwrap();
        assert_eq!(get_pet(&store, 8).unwrap().open_orders, 1);
    }
}

fn create_rex(category: u64) -> CreatePet {
    let new = NewPet::new(pet_name("Rex"), category_id(category));
    CreatePet { new }
}

#[test]
fn the_id_of_a_deleted_pet_with_an_order_is_not_reissued() {
    let store = MemoryStore::new();
    let mut import = store.import().unwrap();
    begin(&mut import).unwrap();
    add_order(&mut import, 1, 12, true).unwrap();
    import.finish().unwrap();
    assert_eq!(done(&store, create_rex(4)).value.id, pet_id(13));

    let refused = MemoryStore::new();
    let mut import = refused.import().unwrap();
    begin(&mut import).unwrap();
    add_order(&mut import, 1, 12, true).unwrap();
    drop(import);
    let dogs = NewCategory::new(CategoryName::parse("Dogs").unwrap());
    done(&refused, CreateCategory { new: dogs });
    assert_eq!(done(&refused, create_rex(1)).value.id, PetId::FIRST, "a dropped import leaves nothing");
}

#[test]
fn an_id_above_the_bound_is_refused() {
    let store = MemoryStore::new();
    let mut import = store.import().unwrap();
    let refused = add_category(&mut import, 1 << 32, "Dogs");
    let why = Contradiction::NoRoom { kind: "category", id: 1 << 32, max: u32::MAX.into() }.to_string();
    assert_eq!(refused, Err(ImportError::Contradiction { row: 1, why }));
}

#[test]
fn an_import_excludes_writes() {
    let store = MemoryStore::new();
    let mut import = store.import().unwrap();
    begin(&mut import).unwrap();
    let write = transact(&store, |_| Footprint::default(), |_| None);
    assert!(matches!(&write, Err(error) if error.kind() == StoreErrorKind::Busy), "{write:?}");
    assert!(matches!(ready(store.check(at(0))), Err(error) if error.kind() == StoreErrorKind::Busy));
    import.finish().unwrap();
    assert_eq!(ready(store.check(at(0))), Ok(()));
    assert!(matches!(store.import(), Err(ImportError::NotEmpty)));
}

#[test]
fn an_export_can_be_imported() {
    let store = MemoryStore::new();
    let mut import = store.import().unwrap();
    begin(&mut import).unwrap();
    add_order(&mut import, 9, 7, false).unwrap();
    import.finish().unwrap();
    done(&store, place(7));
    let rows = exported(&store);

    let again = MemoryStore::new();
    let mut import = again.import().unwrap();
    for row in &rows {
        match row {
            Row::Category(record) => import.category(record.category.clone(), record.version).unwrap(),
            Row::Pet(record) => {
                import.pet(record.pet.clone(), record.version).unwrap();
                import.item(record.item(), record.item_version).unwrap();
            }
            Row::Order(record) => import.order(record.order.clone(), record.version).unwrap(),
            Row::Account(_)
            | Row::Key(_)
            | Row::Idempotency(_)
            | Row::Usage(_)
            | Row::Webhooks(_)
            | Row::Progress(..)
            | Row::Delivery(_) => {
                panic!("not of the shop: {row:?}")
            }
        }
    }
    import.finish().unwrap();
    assert_eq!(exported(&again), rows);
}

fn exported(store: &MemoryStore) -> Vec<Row> {
    let mut rows = Vec::new();
    let ended: Result<(), ()> = store.export(|row| {
        rows.push(row);
        Ok(())
    });
    assert_eq!(ended, Ok(()));
    assert_eq!(store.export(|_| Err("full")), Err("full"), "a sink may stop the export");
    rows
}

#[test]
fn a_later_category_with_an_equivalent_name_is_renamed_on_request() {
    let names = [(1, "Café"), (2, "CAFE\u{301}"), (3, "category 2"), (9, "Dogs")];
    for order in [[0, 1, 2, 3], [3, 2, 1, 0], [1, 2, 0, 3]] {
        let store = MemoryStore::new();
        let mut import = store.import().unwrap();
        for (id, name) in order.map(|at: usize| names[at]) {
            import.category_or_renamed(category(id, name).category, Version::FIRST).unwrap();
        }
        let renamed = import.finish().unwrap();
        let renamed: Vec<_> =
            renamed.iter().map(|one| (one.id.get(), one.of.get(), one.to.as_str())).collect();
        assert_eq!(renamed, [(2, 1, "CAFE\u{301} (2)")], "{order:?}");
        let name = |id| ready(store.category(category_id(id))).unwrap().unwrap().category.name.to_string();
        assert_eq!([1, 2, 3].map(name), ["Café", "CAFE\u{301} (2)", "category 2"], "{order:?}");
    }
}
