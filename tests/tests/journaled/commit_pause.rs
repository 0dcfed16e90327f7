//! A pause between two commits.

use petstore_memory::Step;
use petstore_ports::{Header, Quotas, Row, StoreErrorKind};
use petstore_tests::Disk;

use crate::shop::*;
use crate::stepped_store::{SteppedStore, ready};

/// Returns the content of the disk.
fn kept(disk: &Disk) -> (Header, Vec<Row>) {
    let mut rows = vec![];
    let header = disk.after_power_cut().journal().load(&mut |row| {
        rows.push(row);
        Ok(())
    });
    (header.unwrap(), rows)
}

#[test]
fn the_rows_during_a_pause_are_those_of_the_journal() {
    let stepped = SteppedStore::on(&Disk::new());
    stepped.done(create_category("Dogs"));
    stepped.done(create_pet(1));
    stepped.done(set_stock(1, 5));
    stepped.done(place_order(1, 2));
    let made = stepped.done(create_key(1, new_account()));
    stepped.done(under_key(place_order(1, 1), made.account.id, "k"));
    ready(async { stepped.store.take(&one_a_day(&made.key)).await });
    stepped.finish(Box::pin(petstore_ports::Housekeeping::note_usage(&stepped.store))).unwrap();

    let (header, rows) = kept(&stepped.disk);
    let pause = stepped.store.pause_commits().unwrap();
    let without_epoch = Header { epoch: 0, events: petstore_ports::EventBounds::new(0), ..header };
    assert_eq!(pause.header(), without_epoch);
    assert_eq!((pause.rows().collect::<Vec<_>>(), pause.shop_len()), (rows, 4));
}

#[test]
fn a_write_waits_during_a_pause_and_does_not_fail() {
    let stepped = SteppedStore::on(&Disk::new());
    let pause = stepped.store.pause_commits().unwrap();
    let call = stepped.call(create_category("Dogs"));
    assert_eq!((pause.rows().count(), pause.shop_len()), (0, 0));
    drop(pause);
    assert_eq!(stepped.writer.step(), Step::Worked);
    stepped.finish(call).unwrap().unwrap();
}

#[test]
fn a_pause_is_refused_during_an_import_and_without_a_journal() {
    let stepped = SteppedStore::on(&Disk::new());
    let import = stepped.store.import().unwrap();
    assert!(matches!(stepped.store.pause_commits(), Err(error) if error.kind() == StoreErrorKind::Busy));
    drop(import);
    assert!(stepped.store.pause_commits().is_ok());
    assert!(
        matches!(petstore_memory::MemoryStore::new().pause_commits(), Err(error) if error.kind() == StoreErrorKind::Busy)
    );
}
