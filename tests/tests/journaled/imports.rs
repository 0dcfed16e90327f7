//! A bulk load into a store with a journal: all of it or nothing, on disk as in memory.

use petstore_domain::*;
use petstore_memory::{Import, Step};
use petstore_ports::{ImportError, Row, StoreErrorKind, StoreHealth, run};
use petstore_tests::{Disk, Fault};

use crate::driven::{Driven, Snapshot};
use crate::shop::*;

/// A shop of two categories, three pets and two orders, with gaps between the ids.
fn fill(import: &mut Import<'_>) -> Result<(), ImportError> {
    let version = Version::FIRST.next();
    for (id, name) in [(3, "Dogs"), (5, "Cats")] {
        let category = Category { id: category_id(id), name: category_name(name), description: None };
        import.category(category, version)?;
    }
    for (id, category, status) in
        [(10, 3, PetStatus::Available), (11, 3, PetStatus::Sold), (20, 5, PetStatus::Pending)]
    {
        let name = PetName::parse("Rex").unwrap();
        import.pet(Pet { id: pet_id(id), name, category_id: category_id(category), status }, version)?;
    }
    for (id, quantity, status) in
        [(20, 0, PetStatus::Pending), (10, 7, PetStatus::Available), (11, 0, PetStatus::Sold)]
    {
        import.item(InventoryItem { pet_id: pet_id(id), quantity, status }, version)?;
    }
    for (id, pet, complete) in [(100, 20, false), (101, 99, true)] {
        let quantity = OrderQuantity::ONE;
        import.order(
            Order { id: order_id(id), pet_id: pet_id(pet), quantity, ship_date: None, complete },
            version,
        )?;
    }
    Ok(())
}

fn import(driven: &Driven) -> Result<(), ImportError> {
    let mut import = driven.store.import()?;
    fill(&mut import)?;
    assert_eq!(driven.snapshot().pets, [], "nothing is seen before the end");
    import.finish()
}

#[test]
fn an_import_is_kept_and_exported_as_it_came() {
    let driven = Driven::on(&Disk::new());
    import(&driven).unwrap();
    let shown = driven.snapshot();
    let counts = (shown.categories[0].pets, shown.categories[1].pets, shown.pets[2].open_orders);
    assert_eq!(counts, (2, 1, 1), "what rows add up to is counted");
    assert_eq!(driven.after_power_cut(), shown);

    let again = Driven::on(&driven.disk.after_power_cut());
    assert_eq!(again.done(create_category("Birds")).value.id, category_id(6), "ids go on after the import's");
    assert_eq!(again.done(create_pet(5)).value.id, pet_id(100), "pet 99 has an order, and was");
    assert_eq!(again.done(place_order(10, 1)).value.id, order_id(102));

    let mut rows = Vec::new();
    let walked: Result<(), ()> = driven.store.export(|row| {
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
        let driven = Driven::on(&Disk::new());
        import(&driven).unwrap();
        driven.snapshot()
    };
    for fault in [Fault::Before, Fault::After, Fault::Lasting] {
        for number in 1.. {
            let driven = Driven::on(&Disk::new());
            driven.disk.fail_call(number, fault);
            let outcome = import(&driven);
            let expected = match &outcome {
                Ok(()) => whole.clone(),
                Err(_) => Snapshot::default(),
            };
            assert_eq!(driven.snapshot(), expected, "{fault:?} at call {number}: {outcome:?}");
            if matches!(&outcome, Err(ImportError::Store(error)) if error.kind() == StoreErrorKind::Indeterminate)
            {
                assert_eq!(fault, Fault::Lasting);
                assert!(driven.finish(Box::pin(driven.store.check(at(0)))).is_err());
                driven.heal();
            }
            assert_eq!(driven.after_power_cut(), driven.snapshot(), "{fault:?} at call {number}");
            if outcome.is_err() {
                // As if it had never been tried.
                assert_eq!(driven.done(create_category("Dogs")).value.id, CategoryId::FIRST);
            }
            if driven.disk.calls() < number {
                break;
            }
        }
    }
}

#[test]
fn an_import_whose_journal_panics_is_the_end_of_the_store_and_is_never_seen() {
    for number in 1.. {
        let driven = Driven::on(&Disk::new());
        driven.disk.fail_call(number, Fault::Panic);
        let outcome = import(&driven);
        if driven.disk.calls() < number {
            outcome.unwrap();
            break;
        }
        let in_doubt = matches!(&outcome, Err(ImportError::Store(error)) if error.kind() == StoreErrorKind::Indeterminate);
        assert!(in_doubt, "call {number}: {outcome:?}");
        is_over(&driven);
    }
}

#[test]
fn a_write_whose_journal_panics_when_an_import_begins_is_the_end_of_the_store() {
    let driven = Driven::on(&Disk::new());
    driven.disk.fail_call(1, Fault::Panic);
    let waiting = driven.call(create_category("Dogs"));
    assert!(
        matches!(driven.store.import(), Err(ImportError::Store(error)) if error.kind() == StoreErrorKind::Corrupt)
    );
    let told = driven.finish(waiting);
    assert!(matches!(&told, Err(error) if error.kind() == StoreErrorKind::Indeterminate), "{told:?}");
    is_over(&driven);
}

/// Nothing is written any more, and nobody is shown anything of what was in doubt.
fn is_over(driven: &Driven) {
    assert_eq!(driven.writer.step(), Step::Failing);
    let refused = driven.finish(Box::pin(run(&driven.store, create_category("Birds"))));
    assert!(matches!(&refused, Err(error) if error.kind() == StoreErrorKind::Corrupt), "{refused:?}");
    assert!(
        matches!(driven.store.import(), Err(ImportError::Store(error)) if error.kind() == StoreErrorKind::Corrupt)
    );
    assert_eq!(driven.snapshot(), Snapshot::default());
    assert_eq!(driven.after_power_cut(), Snapshot::default());
}

#[test]
fn writes_are_refused_while_an_import_goes_on() {
    let driven = Driven::on(&Disk::new());
    let import = driven.store.import().unwrap();
    let refused = driven.finish(Box::pin(run(&driven.store, create_category("Dogs"))));
    assert!(matches!(&refused, Err(error) if error.kind() == StoreErrorKind::Busy), "{refused:?}");
    drop(import);
    driven.done(create_category("Dogs"));
    assert!(matches!(driven.store.import(), Err(ImportError::NotEmpty)));
}
