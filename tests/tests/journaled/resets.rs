//! A store with a journal that begins anew: all of it or nothing, on disk as in memory.

use std::sync::Arc;

use petstore_domain::{CategoryId, CategoryRecord, Version};
use petstore_memory::Step;
use petstore_ports::{Journal, Resettable, Row, StoreErrorKind, StoreHealth};
use petstore_tests::{Disk, Fault};

use crate::driven::Driven;
use crate::shop::*;

const EPOCH: u64 = 0xBE61;

fn shop() -> Arc<[Row]> {
    let category = petstore_domain::Category {
        id: CategoryId::FIRST,
        name: category_name("Rabbits"),
        description: None,
    };
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
            let driven = Driven::on(&Disk::new());
            driven.done(create_category("Dogs"));
            driven.done(create_pet(1));
            driven.done(place_order(1, 1));
            let before = driven.snapshot();
            let number = driven.disk.calls() + ordinal;
            driven.disk.fail_call(number, fault);
            let outcome = driven.store.reset(shop(), EPOCH);
            if matches!(&outcome, Err(error) if error.kind() == StoreErrorKind::Indeterminate) {
                assert_eq!(fault, Fault::Lasting);
                assert!(driven.finish(Box::pin(driven.store.check(at(0)))).is_err());
                driven.heal();
            }
            let shown = driven.snapshot();
            if outcome.is_ok() {
                assert_eq!((shown.categories.len(), shown.pets.len(), shown.orders.len()), (1, 0, 0));
            } else {
                assert_eq!(shown, before, "{fault:?} at call {ordinal}: {outcome:?}");
            }
            assert_eq!(driven.after_power_cut(), shown, "{fault:?} at call {ordinal}");
            assert_eq!(epoch(&driven.disk) == EPOCH, outcome.is_ok(), "{fault:?} at call {ordinal}");
            if driven.disk.calls() < number {
                break;
            }
        }
    }
}

#[test]
fn a_reset_whose_journal_panics_is_the_end_of_the_store_and_is_never_seen() {
    for ordinal in 1.. {
        let driven = Driven::on(&Disk::new());
        driven.done(create_category("Dogs"));
        let before = driven.snapshot();
        let number = driven.disk.calls() + ordinal;
        driven.disk.fail_call(number, Fault::Panic);
        let outcome = driven.store.reset(shop(), EPOCH);
        if driven.disk.calls() < number {
            outcome.unwrap();
            break;
        }
        assert!(
            matches!(&outcome, Err(error) if error.kind() == StoreErrorKind::Indeterminate),
            "call {ordinal}: {outcome:?}"
        );
        assert_eq!(driven.writer.step(), Step::Failing, "call {ordinal}");
        assert!(
            matches!(driven.store.reset(shop(), EPOCH), Err(error) if error.kind() == StoreErrorKind::Corrupt),
            "call {ordinal}"
        );
        assert_eq!(driven.snapshot(), before, "call {ordinal}");
        assert_eq!(driven.after_power_cut(), before, "call {ordinal}");
    }
}

#[test]
fn a_reset_survives_the_power_and_ids_go_on_from_it() {
    let driven = Driven::on(&Disk::new());
    driven.done(create_category("Dogs"));
    driven.done(create_pet(1));
    driven.store.reset(shop(), EPOCH).unwrap();
    let again = Driven::on(&driven.disk.after_power_cut());
    assert_eq!(again.snapshot(), driven.snapshot());
    assert_eq!(again.done(create_category("Cats")).value.id, category_id(2));
    assert_eq!(again.done(create_pet(2)).value.id, pet_id(1));
}
