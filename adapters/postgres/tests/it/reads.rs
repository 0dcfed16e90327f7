//! Reads by id that are sent together.

use petstore_domain::PetId;
use petstore_ports::{PetReader, StoreErrorKind};

use crate::common::{Shop, runtime};

fn id(number: u64) -> PetId {
    PetId::new(number).expect("an id")
}

#[test]
fn each_of_many_concurrent_reads_gets_its_own_record() {
    let Some(shop) = Shop::shared() else { return };
    let store = shop.open();
    shop.add_pets(400);
    runtime().block_on(async {
        // More ids than one statement holds. They are in no order, some occur twice, and some do not exist.
        let ids: Vec<u64> = (0..1_000).map(|number| number * 7_919 % 500 + 1).collect();
        let reads: Vec<_> = ids.iter().map(|number| store.pet(id(*number))).collect();
        for (number, read) in ids.into_iter().zip(reads) {
            let found = read.await.expect("the server runs").map(|record| record.pet.id);
            assert_eq!(found, (number <= 400).then(|| id(number)));
        }
    });
}

#[test]
fn the_number_of_waiting_reads_is_bounded() {
    let Some(shop) = Shop::shared() else { return };
    let store = shop.open();
    runtime().block_on(async {
        // No read is sent before the test waits, so all of them wait at once.
        let reads: Vec<_> = (1..=20_000).map(|number| store.pet(id(number))).collect();
        let mut refused = 0;
        for read in reads {
            match read.await {
                Ok(found) => assert_eq!(found, None),
                Err(error) => {
                    assert_eq!(error.kind(), StoreErrorKind::Busy);
                    refused += 1;
                }
            }
        }
        assert_eq!(refused, 20_000 - 16_384);
        assert_eq!(store.pet(id(1)).await, Ok(None), "later reads are accepted");
    });
}

#[test]
fn a_damaged_row_fails_the_reads_of_that_row_alone() {
    let Some(shop) = Shop::shared() else { return };
    let store = shop.open();
    shop.add_pets(3);
    shop.sql("alter table pets drop constraint pets_name_check; update pets set name = '' where id = 2");
    runtime().block_on(async {
        let (one, damaged, three) = (store.pet(id(1)), store.pet(id(2)), store.pet(id(3)));
        assert!(one.await.expect("its row is sound").is_some());
        let error = damaged.await.expect_err("an empty name");
        assert_eq!(error.kind(), StoreErrorKind::Corrupt);
        assert!(error.report().contains("pets: the column name"), "{}", error.report());
        assert!(three.await.expect("its row is sound").is_some());
    });
}

#[test]
fn threads_without_a_runtime_and_ended_runtimes_can_read() {
    let Some(shop) = Shop::shared() else { return };
    let store = shop.open();
    shop.add_pets(1);
    // The read is sent, and its runtime ends before the answer.
    let mut abandoned = None;
    runtime().block_on(async {
        abandoned = Some(store.pet(id(1)));
        tokio::task::yield_now().await;
    });
    let found = runtime().block_on(async {
        let error = abandoned.expect("a read").await.expect_err("nothing drives the connection");
        assert_eq!(error.kind(), StoreErrorKind::Unavailable);
        store.pet(id(1)).await
    });
    assert!(found.expect("the server runs").is_some());
    let outside = store.pet(id(1));
    assert!(runtime().block_on(outside).expect("the server runs").is_some());
}
