//! What waits for the writer: bounded, and done before the end.

use std::task::Poll;

use petstore_domain::CreateCategory;
use petstore_memory::MemoryStore;
use petstore_ports::{StoreErrorKind, run};
use petstore_tests::Disk;

use crate::driven::{Answer, Call, Driven, poll};
use crate::shop::create_category;

/// The length of the queue, as the store's documentation names it.
const QUEUE: usize = 4_096;

#[test]
fn a_full_queue_refuses_at_once_and_takes_again_after_a_step() {
    let driven = Driven::on(&Disk::new());
    let waiting: Vec<_> =
        (0..QUEUE).map(|number| driven.call(create_category(&format!("{number}")))).collect();
    let late = driven.finish(Box::pin(run(&driven.store, create_category("late"))));
    assert!(matches!(&late, Err(error) if error.kind() == StoreErrorKind::Busy), "{late:?}");
    driven.writer.step();
    driven.done(create_category("late"));
    for call in waiting {
        driven.finish(call).unwrap().unwrap();
    }
}

#[test]
fn what_waits_at_the_end_is_committed() {
    let disk = Disk::new();
    for inline in [true, false] {
        let store =
            if inline { Driven::on(&disk).store } else { MemoryStore::open(disk.journal()).unwrap().store };
        let mut calls: Vec<Call<'_, Answer<CreateCategory>>> = Vec::new();
        for number in 0..1_000 {
            let mut call: Call<'_, _> = Box::pin(run(&store, create_category(&format!("{inline} {number}"))));
            let _ = poll(&mut call);
            calls.push(call);
        }
        store.close();
        drop(calls);
        let mut refused: Call<'_, _> = Box::pin(run(&store, create_category("too late")));
        let refused = poll(&mut refused);
        assert!(matches!(&refused, Poll::Ready(Err(error)) if error.kind() == StoreErrorKind::Unavailable));
    }
    assert_eq!(Driven::on(&disk.after_power_cut()).snapshot().categories.len(), 2_000);
}
