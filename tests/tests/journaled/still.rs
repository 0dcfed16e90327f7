//! A store that is held between two batches.

use petstore_memory::Step;
use petstore_ports::{Header, Quotas, Row, StoreError};
use petstore_tests::Disk;

use crate::driven::{Driven, ready};
use crate::shop::*;

/// What is on the disk.
fn kept(disk: &Disk) -> (Header, Vec<Row>) {
    let mut rows = vec![];
    let header = disk.after_power_cut().journal().load(&mut |row| {
        rows.push(row);
        Ok(())
    });
    (header.unwrap(), rows)
}

#[test]
fn what_it_hands_over_is_what_the_journal_has() {
    let driven = Driven::on(&Disk::new());
    driven.done(create_category("Dogs"));
    driven.done(create_pet(1));
    driven.done(set_stock(1, 5));
    driven.done(place_order(1, 2));
    let made = driven.done(create_key(1, new_account()));
    driven.done(under_key(place_order(1, 1), made.account.id, "k"));
    ready(async { driven.store.take(&one_a_day(&made.key)).await });
    driven.finish(Box::pin(petstore_ports::Housekeeping::prune(&driven.store, at(0)))).unwrap();

    let (header, rows) = kept(&driven.disk);
    let still = driven.store.hold_still().unwrap();
    assert_eq!(still.header(), Header { epoch: 0, ..header });
    assert_eq!((still.rows().collect::<Vec<_>>(), still.shop_len()), (rows, 4));
}

#[test]
fn a_write_waits_meanwhile_and_does_not_fail() {
    let driven = Driven::on(&Disk::new());
    let still = driven.store.hold_still().unwrap();
    let call = driven.call(create_category("Dogs"));
    assert_eq!((still.rows().count(), still.shop_len()), (0, 0));
    drop(still);
    assert_eq!(driven.writer.step(), Step::Worked);
    driven.finish(call).unwrap().unwrap();
}

#[test]
fn a_store_that_is_being_filled_is_not_held() {
    let driven = Driven::on(&Disk::new());
    let import = driven.store.import().unwrap();
    assert!(matches!(driven.store.hold_still(), Err(StoreError::Busy(_))));
    drop(import);
    assert!(driven.store.hold_still().is_ok());
    assert!(matches!(petstore_memory::MemoryStore::new().hold_still(), Err(StoreError::Busy(_))));
}
