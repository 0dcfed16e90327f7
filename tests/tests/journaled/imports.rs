//! A bulk load into a store with a journal: all of it or nothing, on disk as in memory.

use petstore_domain::*;
use petstore_memory::{Import, Step};
use petstore_ports::{ImportError, Row, StoreErrorKind, StoreHealth, run};
use petstore_tests::{Disk, Fault};

use crate::shop::*;
use crate::stepped_store::{Snapshot, SteppedStore};

/// A shop of two categories, three pets and two orders, with gaps between the ids.
fn fill(import: &mut Import<'_>) -> Result<(), ImportError> {
    let version = Version::FIRST.next();
    for (id, name) in [(3, "Dogs"), (5, "Cats")] {
        let category = Category::new(category_id(id), category_name(name));
        import.category(category, version)?;
    }
    for (id, category, status) in
        [(10, 3, PetStatus::Available), (11, 3, PetStatus::Sold), (20, 5, PetStatus::Pending)]
    {
        let name = PetName::parse("Rex").unwrap();
        import.pet(Pet::new(pet_id(id), name, category_id(category), status), version)?;
    }
    for (id, quantity, status) in
        [(20, 0, PetStatus::Pending), (10, 7, PetStatus::Available), (11, 0, PetStatus::Sold)]
    {
        import.item(InventoryItem { pet_id: pet_id(id), quantity, status }, version)?;
    }
    for (id, pet, complete) in [(100, 20, false), (101, 99, true)] {
        let quantity = OrderQuantity::ONE;
        import.order(Order { complete, ..Order::new(order_id(id), pet_id(pet), quantity) }, version)?;
    }
    Ok(())
}

fn import(stepped: &SteppedStore) -> Result<(), ImportError> {
    let mut import = stepped.store.import()?;
    fill(&mut import)?;
    assert_eq!(stepped.snapshot().pets, [], "nothing is seen before the end");
    import.finish().map(drop)
}

#[test]
fn an_import_is_durable_and_exported_unchanged() {
    let stepped = SteppedStore::on(&Disk::new());
    import(&stepped).unwrap();
    let shown = stepped.snapshot();
    let counts = (shown.categories[0].pets, shown.categories[1].pets, shown.pets[2].open_orders);
    assert_eq!(counts, (2, 1, 1), "the derived counts are correct");
    assert_eq!(stepped.after_power_cut(), shown);

    let again = SteppedStore::on(&stepped.disk.after_power_cut());
    assert_eq!(again.done(create_category("Birds")).value.id, category_id(6), "ids go on after the import's");
    assert_eq!(again.done(create_pet(5)).value.id, pet_id(100), "pet 99 has an order, and was");
    assert_eq!(again.done(place_order(10, 1)).value.id, order_id(102));

    let mut rows = Vec::new();
    let walked: Result<(), ()> = stepped.store.export(|row| {
        rows.push(row);
        Ok(())
    });
    let expected = shown.categories.into_iter().map(Row::Category);
    let expected = expected.chain(shown.pets.into_iter().map(Row::Pet));
    let expected: Vec<Row> = expected.chain(shown.orders.into_iter().map(Row::Order)).collect();
    assert_eq!((walked, rows), (Ok(()), expected));
}

#[test]
fn an_import_that_fails_at_any_call_of_the_journal_is_whole_or_absent() {
    let whole = {
        let stepped = SteppedStore::on(&Disk::new());
        import(&stepped).unwrap();
        stepped.snapshot()
    };
    for fault in [Fault::Before, Fault::After, Fault::Lasting] {
        for number in 1.. {
            let stepped = SteppedStore::on(&Disk::new());
            stepped.disk.fail_call(number, fault);
            let outcome = import(&stepped);
            let expected = match &outcome {
                Ok(()) => whole.clone(),
                Err(_) => Snapshot::default(),
            };
            assert_eq!(stepped.snapshot(), expected, "{fault:?} at call {number}: {outcome:?}");
            if matches!(&outcome, Err(ImportError::Store(error)) if error.kind() == StoreErrorKind::Indeterminate)
            {
                assert_eq!(fault, Fault::Lasting);
                assert!(stepped.finish(Box::pin(stepped.store.check(at(0)))).is_err());
                stepped.heal();
            }
            assert_eq!(stepped.after_power_cut(), stepped.snapshot(), "{fault:?} at call {number}");
            if outcome.is_err() {
                // A failed import uses up no ids.
                assert_eq!(stepped.done(create_category("Dogs")).value.id, CategoryId::FIRST);
            }
            if stepped.disk.calls() < number {
                break;
            }
        }
    }
}

#[test]
fn an_import_whose_journal_panics_ends_the_store_and_is_never_visible() {
    for number in 1.. {
        let stepped = SteppedStore::on(&Disk::new());
        stepped.disk.fail_call(number, Fault::Panic);
        let outcome = import(&stepped);
        if stepped.disk.calls() < number {
            outcome.unwrap();
            break;
        }
        let in_doubt = matches!(&outcome, Err(ImportError::Store(error)) if error.kind() == StoreErrorKind::Indeterminate);
        assert!(in_doubt, "call {number}: {outcome:?}");
        is_over(&stepped);
    }
}

#[test]
fn a_write_whose_journal_panics_when_an_import_begins_is_the_end_of_the_store() {
    let stepped = SteppedStore::on(&Disk::new());
    stepped.disk.fail_call(1, Fault::Panic);
    let waiting = stepped.call(create_category("Dogs"));
    assert!(
        matches!(stepped.store.import(), Err(ImportError::Store(error)) if error.kind() == StoreErrorKind::Unavailable)
    );
    let told = stepped.finish(waiting);
    assert!(matches!(&told, Err(error) if error.kind() == StoreErrorKind::Indeterminate), "{told:?}");
    is_over(&stepped);
}

/// Checks that the store refuses every further write, and that readers do not see the records in doubt.
fn is_over(stepped: &SteppedStore) {
    assert_eq!(stepped.writer.step(), Step::Failing);
    let refused = stepped.finish(Box::pin(run(&stepped.store, create_category("Birds"), Timestamp::EPOCH)));
    assert!(matches!(&refused, Err(error) if error.kind() == StoreErrorKind::Unavailable), "{refused:?}");
    assert!(
        matches!(stepped.store.import(), Err(ImportError::Store(error)) if error.kind() == StoreErrorKind::Unavailable)
    );
    assert_eq!(stepped.snapshot(), Snapshot::default());
    assert_eq!(stepped.after_power_cut(), Snapshot::default());
}

#[test]
fn writes_are_refused_while_an_import_goes_on() {
    let stepped = SteppedStore::on(&Disk::new());
    let import = stepped.store.import().unwrap();
    let refused = stepped.finish(Box::pin(run(&stepped.store, create_category("Dogs"), Timestamp::EPOCH)));
    assert!(matches!(&refused, Err(error) if error.kind() == StoreErrorKind::Busy), "{refused:?}");
    drop(import);
    stepped.done(create_category("Dogs"));
    assert!(matches!(stepped.store.import(), Err(ImportError::NotEmpty)));
}
