//! A reset of a store with a journal: all of it or nothing, on disk as in memory.

use std::sync::Arc;

use petstore_domain::{CategoryId, CategoryRecord, Version};
use petstore_memory::Step;
use petstore_ports::{Journal, Resettable, Row, StoreErrorKind, StoreHealth};
use petstore_tests::{Disk, Fault};

use crate::shop::*;
use crate::stepped_store::SteppedStore;

const EPOCH: u64 = 0xBE61;

fn shop() -> Arc<[Row]> {
    let category = petstore_domain::Category::new(CategoryId::FIRST, category_name("Rabbits"));
    Arc::new([Row::Category(CategoryRecord { category, version: Version::FIRST, pets: 0 })])
}

fn epoch(disk: &Disk) -> u64 {
    let mut journal: Box<dyn Journal> = disk.after_power_cut().journal();
    journal.load(&mut |_| Ok(())).unwrap().epoch
}

#[test]
fn a_reset_that_fails_at_any_call_of_the_journal_is_whole_or_absent() {
    for fault in [Fault::Before, Fault::After, Fault::Lasting] {
        for ordinal in 1.. {
            let stepped = SteppedStore::on(&Disk::new());
            stepped.done(create_category("Dogs"));
            stepped.done(create_pet(1));
            stepped.done(place_order(1, 1));
            let before = stepped.snapshot();
            let number = stepped.disk.calls() + ordinal;
            stepped.disk.fail_call(number, fault);
            let outcome = stepped.store.reset(shop(), EPOCH);
            if matches!(&outcome, Err(error) if error.kind() == StoreErrorKind::Indeterminate) {
                assert_eq!(fault, Fault::Lasting);
                assert!(stepped.finish(Box::pin(stepped.store.check(at(0)))).is_err());
                stepped.heal();
            }
            let shown = stepped.snapshot();
            if outcome.is_ok() {
                assert_eq!((shown.categories.len(), shown.pets.len(), shown.orders.len()), (1, 0, 0));
            } else {
                assert_eq!(shown, before, "{fault:?} at call {ordinal}: {outcome:?}");
            }
            assert_eq!(stepped.after_power_cut(), shown, "{fault:?} at call {ordinal}");
            assert_eq!(epoch(&stepped.disk) == EPOCH, outcome.is_ok(), "{fault:?} at call {ordinal}");
            if stepped.disk.calls() < number {
                break;
            }
        }
    }
}

#[test]
fn a_reset_whose_journal_panics_ends_the_store_and_is_never_visible() {
    for ordinal in 1.. {
        let stepped = SteppedStore::on(&Disk::new());
        stepped.done(create_category("Dogs"));
        let before = stepped.snapshot();
        let number = stepped.disk.calls() + ordinal;
        stepped.disk.fail_call(number, Fault::Panic);
        let outcome = stepped.store.reset(shop(), EPOCH);
        if stepped.disk.calls() < number {
            outcome.unwrap();
            break;
        }
        assert!(
            matches!(&outcome, Err(error) if error.kind() == StoreErrorKind::Indeterminate),
            "call {ordinal}: {outcome:?}"
        );
        assert_eq!(stepped.writer.step(), Step::Failing, "call {ordinal}");
        assert!(
            matches!(stepped.store.reset(shop(), EPOCH), Err(error) if error.kind() == StoreErrorKind::Unavailable),
            "call {ordinal}"
        );
        assert_eq!(stepped.snapshot(), before, "call {ordinal}");
        assert_eq!(stepped.after_power_cut(), before, "call {ordinal}");
    }
}

#[test]
fn a_reset_survives_a_power_cut_and_ids_continue_from_it() {
    let stepped = SteppedStore::on(&Disk::new());
    stepped.done(create_category("Dogs"));
    stepped.done(create_pet(1));
    stepped.store.reset(shop(), EPOCH).unwrap();
    let again = SteppedStore::on(&stepped.disk.after_power_cut());
    assert_eq!(again.snapshot(), stepped.snapshot());
    assert_eq!(again.done(create_category("Cats")).value.id, category_id(2));
    assert_eq!(again.done(create_pet(2)).value.id, pet_id(1));
}
