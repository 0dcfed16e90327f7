//! The queue of the writer. It is bounded, and its requests are committed before the store closes.

use std::task::Poll;

use petstore_domain::CreateCategory;
use petstore_domain::Timestamp;
use petstore_memory::MemoryStore;
use petstore_ports::{StoreErrorKind, run};
use petstore_tests::Disk;

use crate::shop::create_category;
use crate::stepped_store::{Answer, Call, SteppedStore, poll};

/// The length of the queue, as the store's documentation states it.
const QUEUE: usize = 4_096;

#[test]
fn a_full_queue_refuses_at_once_and_takes_again_after_a_step() {
    let stepped = SteppedStore::on(&Disk::new());
    let waiting: Vec<_> =
        (0..QUEUE).map(|number| stepped.call(create_category(&format!("{number}")))).collect();
    let late = stepped.finish(Box::pin(run(&stepped.store, create_category("late"), Timestamp::EPOCH)));
    assert!(matches!(&late, Err(error) if error.kind() == StoreErrorKind::Busy), "{late:?}");
    stepped.writer.step();
    stepped.done(create_category("late"));
    for call in waiting {
        stepped.finish(call).unwrap().unwrap();
    }
}

#[test]
fn queued_writes_are_committed_when_the_store_closes() {
    let disk = Disk::new();
    for inline in [true, false] {
        let store = if inline {
            SteppedStore::on(&disk).store
        } else {
            MemoryStore::open(disk.journal()).unwrap().store
        };
        let mut calls: Vec<Call<'_, Answer<CreateCategory>>> = Vec::new();
        for number in 0..1_000 {
            let mut call: Call<'_, _> =
                Box::pin(run(&store, create_category(&format!("{inline} {number}")), Timestamp::EPOCH));
            let _ = poll(&mut call);
            calls.push(call);
        }
        store.close();
        drop(calls);
        let mut refused: Call<'_, _> = Box::pin(run(&store, create_category("too late"), Timestamp::EPOCH));
        let refused = poll(&mut refused);
        assert!(matches!(&refused, Poll::Ready(Err(error)) if error.kind() == StoreErrorKind::Unavailable));
    }
    assert_eq!(SteppedStore::on(&disk.after_power_cut()).snapshot().categories.len(), 2_000);
}
