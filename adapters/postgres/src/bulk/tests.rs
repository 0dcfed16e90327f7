//! Imports, exports and resets on a server.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use petstore_domain::{
    Category, CategoryId, CategoryName, CreateCategory, InventoryItem, NewCategory, Order, OrderId,
    OrderQuantity, Pet, PetId, PetName, PetStatus, Timestamp, Version,
};
use petstore_ports::{
    Bulk, ImportError, LastIds, Resettable, Row, StoreErrorKind, WorkPhase, WorkProgress, WorkUnit, run,
};
use petstore_test_servers::{FaultProxy, Mode, Postgres};

use crate::connection::{Connector, Role};
use crate::{Options, PostgresStore, Target};

/// A store in a new schema, and the schema. None after the test was reported as skipped.
#[track_caller]
fn open() -> Option<(PostgresStore, Target, String)> {
    let server = Postgres::shared()?;
    let target: Target = server.url().parse::<tokio_postgres::Config>().expect("a URL").into();
    let schema = server.new_schema();
    let store = another(&target, &schema);
    Some((store, target, schema))
}

fn another(target: &Target, schema: &str) -> PostgresStore {
    PostgresStore::open(target.clone(), Options { schema: schema.to_owned(), seed: 3 })
        .expect("the server runs")
}

fn category(id: u64, name: &str) -> Category {
    let name = CategoryName::parse(name).expect("a name");
    Category::new(CategoryId::new(id).expect("an id"), name)
}

fn pet(id: u64, category: u64, status: PetStatus) -> Pet {
    let category_id = CategoryId::new(category).expect("an id");
    Pet::new(PetId::new(id).expect("an id"), PetName::parse("Rex").expect("a name"), category_id, status)
}

fn order(id: u64, pet: u64, complete: bool) -> Order {
    let (id, pet_id) = (OrderId::new(id).expect("an id"), PetId::new(pet).expect("an id"));
    Order { ship_date: Some(Timestamp::MAX), complete, ..Order::new(id, pet_id, OrderQuantity::ONE) }
}

fn rows(store: &PostgresStore) -> Vec<Row> {
    let mut rows = Vec::new();
    let exported = store.export(&mut |row| {
        rows.push(row);
        ControlFlow::Continue(())
    });
    exported.expect("it is exported");
    rows
}

/// Imports a shop with many orders.
fn fill(store: &PostgresStore) -> Result<(), ImportError> {
    let mut import = store.import()?;
    assert_eq!(import.last_ids(), LastIds::default());
    import.category_or_renamed(category(4, "Dogs"), Version::FIRST.next())?;
    import.category_or_renamed(category(5, "DOGS"), Version::FIRST)?;
    for id in 1..=6_000 {
        import.pet(pet(id, 4 + id % 2, PetStatus::Available), Version::FIRST)?;
        let pet_id = PetId::new(id).expect("an id");
        import.item(InventoryItem { pet_id, quantity: id, status: PetStatus::Available }, Version::FIRST)?;
    }
    for id in 1..=12_000 {
        // Some pets are gone.
        import.order(order(id, 1 + id % 6_000 + 6_000 * (id % 2), id % 2 == 1), Version::FIRST)?;
    }
    let renamed = import.finish()?;
    assert_eq!(renamed.len(), 1);
    Ok(())
}

#[test]
fn an_import_is_read_back_by_an_export() {
    let Some((store, target, schema)) = open() else { return };
    fill(&store).expect("it is imported");
    let all = rows(&store);
    let count = |kind: fn(&Row) -> bool| all.iter().filter(|row| kind(row)).count();
    assert_eq!(count(|row| matches!(row, Row::Category(record) if record.pets == 3_000)), 2);
    assert_eq!(count(|row| matches!(row, Row::Pet(record) if record.stock == record.pet.id.get())), 6_000);
    assert_eq!(count(|row| matches!(row, Row::Pet(record) if record.open_orders == 2)), 3_000);
    assert_eq!(count(|row| matches!(row, Row::Order(_))), 12_000);
    let other = another(&target, &schema);
    assert_eq!(rows(&other), all, "on each handle");
    assert_eq!(other.import().err(), Some(ImportError::NotEmpty));
    let mut few = 0;
    let stopped = store.export(&mut |_| {
        few += 1;
        if few == 5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!((stopped, few), (Ok(()), 5), "a sink can break off");
}

#[test]
fn an_import_that_is_refused_or_dropped_leaves_nothing() {
    let Some((store, target, schema)) = open() else { return };
    let other = another(&target, &schema);
    let mut import = store.import().expect("the store is empty");
    import.category(category(4, "Dogs"), Version::FIRST).expect("it is new");
    for id in 1..=6_000 {
        import.order(order(id, 1, true), Version::FIRST).expect("it is new");
    }
    assert!(
        matches!(other.import(), Err(ImportError::Store(error)) if error.kind() == StoreErrorKind::Busy),
        "one import at a time"
    );
    assert!(matches!(other.reset([].into(), 9), Err(error) if error.kind() == StoreErrorKind::Busy));
    assert_eq!(rows(&other), [], "no row is visible before the end");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let new = NewCategory::new(CategoryName::parse("Cats").expect("a name"));
    let create = CreateCategory { new };
    let write = || runtime.block_on(run(&other, create.clone(), Timestamp::EPOCH));
    assert!(matches!(write(), Err(error) if error.kind() == StoreErrorKind::Busy), "writers are kept out");
    drop(import);
    assert_eq!(rows(&store), []);
    assert!(matches!(write(), Ok(Ok(_))), "until the import has ended");
    other.reset([].into(), 9).expect("no import runs");
    let mut import = other.import().expect("the store is empty, and no import runs");
    import.category(category(4, "Dogs"), Version::FIRST).expect("it is new");
    import.pet(pet(1, 4, PetStatus::Sold), Version::FIRST).expect("it is new");
    let refused = import.finish();
    let why = "pet 1 has no inventory item".to_owned();
    assert_eq!(refused, Err(ImportError::Contradiction { row: 2, why }));
    fill(&store).expect("the store is empty");
}

#[test]
fn a_reset_replaces_what_was_imported() {
    let Some((store, target, schema)) = open() else { return };
    let other = another(&target, &schema);
    fill(&store).expect("it is imported");
    let all = rows(&store);
    other.reset([].into(), 9).expect("it is reset");
    assert_eq!(rows(&store), []);
    assert_eq!(another(&target, &schema).epoch(), 9);
    let unsound: Vec<Row> = all.iter().skip(1).cloned().collect();
    assert!(
        matches!(store.reset(unsound.into(), 10), Err(error) if error.kind() == StoreErrorKind::Corrupt),
        "rows that contradict each other are refused"
    );
    store.reset(all.clone().into(), 11).expect("it is reset");
    assert_eq!(rows(&other), all);
}

#[test]
fn a_sandbox_is_not_reset_once_another_server_has_removed_its_mark() {
    let Some(server) = Postgres::shared() else { return };
    let target: Target = server.url().parse::<tokio_postgres::Config>().expect("a URL").into();
    let options = Options { schema: server.new_schema(), seed: 3 };
    let sandbox = PostgresStore::open_sandbox(target.clone(), options.clone()).expect("the server runs");
    sandbox.reset(Vec::new().into(), 7).expect("it is a sandbox");
    let other = PostgresStore::open(target, options).expect("the server runs");
    other.disclaim_sandbox().expect("the server runs");
    fill(&other).expect("it is empty");
    let before = rows(&other);
    let error = sandbox.reset(Vec::new().into(), 8).expect_err("the shop may have data");
    assert_eq!(error.kind(), StoreErrorKind::Unavailable, "{}", error.report());
    assert_eq!(rows(&other), before);
}

#[test]
fn an_import_into_a_shop_in_use_is_refused_without_waiting_for_its_writers() {
    let Some((store, target, schema)) = open() else { return };
    fill(&store).expect("it is imported");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let connector = Connector::new(target.with_schema(&schema), 5);
    let writer = runtime.block_on(connector.connect(Role::Writer)).expect("the server runs");
    let begin = format!("{}; lock table shop_lock in row share mode", writer.begin());
    runtime.block_on(writer.batch(&begin)).expect("a change has begun");
    assert_eq!(store.import().err(), Some(ImportError::NotEmpty));
}

#[test]
fn exports_and_resets_try_again_while_the_database_is_too_busy_to_accept_a_connection() {
    let Some(server) = Postgres::shared() else { return };
    let proxy = FaultProxy::before(server.port());
    let url = format!("postgres://petstore@127.0.0.1:{}/petstore", proxy.port());
    let store = another(&Target::parse(&url).expect("a URL"), &server.new_schema());
    fill(&store).expect("it is empty");
    let before = rows(&store);
    let calls: [&(dyn Fn() + Sync); 2] =
        [&|| assert_eq!(rows(&store), before), &|| store.reset(Vec::new().into(), 7).expect("it is reset")];
    for call in calls {
        let failures = store.database_stats().connect_failures;
        proxy.set_mode(Mode::Blackhole);
        std::thread::scope(|scope| {
            let called = scope.spawn(call);
            while store.database_stats().connect_failures == failures && !called.is_finished() {
                std::thread::yield_now();
            }
            proxy.set_mode(Mode::Pass);
        });
    }
    assert_eq!(rows(&store), []);
}

/// Each phase with its last count.
#[derive(Default)]
struct Phases(Mutex<Vec<(WorkPhase, u64)>>);

impl WorkProgress for Phases {
    fn begin(&self, phase: WorkPhase) {
        self.0.lock().unwrap().push((phase, 0));
    }

    fn reached(&self, done: u64) {
        self.0.lock().unwrap().last_mut().unwrap().1 = done;
    }

    fn end(&self) {}
}

#[test]
fn the_migration_of_a_schema_and_the_end_of_an_import_are_watched() {
    let Some(server) = Postgres::shared() else { return };
    let target: Target = server.url().parse::<tokio_postgres::Config>().expect("a URL").into();
    let phases = Arc::new(Phases::default());
    let options = Options { schema: server.new_schema(), seed: 3 };
    let store = PostgresStore::open_watched(target, options, false, &*phases).expect("the server runs");
    let migrated = std::mem::take(&mut *phases.0.lock().unwrap());
    let [(phase, done)] = migrated[..] else { panic!("{migrated:?}") };
    assert_eq!((phase.name, phase.unit), ("migrating the tables", WorkUnit::Steps));
    assert_eq!(phase.total, Some(done), "every step is done");
    assert!(done > 1, "{done}");

    let mut import = store.import().expect("it is empty");
    import.watch(Arc::clone(&phases) as _);
    import.category(category(1, "Dogs"), Version::FIRST).unwrap();
    for id in 1..=3 {
        import.pet(pet(id, 1, PetStatus::Available), Version::FIRST).unwrap();
        let item =
            InventoryItem { pet_id: PetId::new(id).unwrap(), quantity: 1, status: PetStatus::Available };
        import.item(item, Version::FIRST).unwrap();
    }
    import.finish().unwrap();
    let imported: Vec<_> =
        phases.0.lock().unwrap().iter().map(|(phase, done)| (phase.name, phase.total, *done)).collect();
    let expected = [("writing to the database", Some(4), 4), ("committing to the database", None, 0)];
    assert_eq!(imported, expected);
}
