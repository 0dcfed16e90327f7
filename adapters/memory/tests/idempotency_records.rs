//! Idempotency records. They are counted exactly, and dropped once they have expired.

mod common;

use std::sync::Barrier;

use common::*;
use petstore_domain::*;
use petstore_memory::MemoryStore;
use petstore_ports::*;

const HOUR: i64 = 3_600;

/// Creates a pet under an idempotency key of account 1. The idempotency record expires after an hour.
fn create_once(key: &str, records_max: u32, now: i64) -> Idempotent<CreatePet> {
    let new = NewPet::new(pet_name("Rex"), category_id(1));
    Idempotent {
        operation: CreatePet { new },
        id: IdempotencyId {
            account: account_id(1),
            scope: IdempotencyScope::CreatePet,
            key: IdempotencyKey::parse(key.as_bytes()).unwrap(),
        },
        fingerprint: Fingerprint([0; 32]),
        now: at(now),
        expires_at: at(now + HOUR),
        records: 0,
        records_max,
    }
}

fn shop() -> MemoryStore {
    let store = MemoryStore::new();
    write(&store, [Change::Category(category(1, "Dogs"))]);
    store
}

fn pets(store: &MemoryStore) -> u64 {
    ready(store.category(category_id(1))).unwrap().unwrap().pets
}

/// The number of records of account 1.
fn records(store: &MemoryStore) -> u32 {
    ready(store.records_of(account_id(1))).unwrap()
}

fn prune(store: &MemoryStore, now: i64) -> usize {
    ready(store.drop_expired(at(now))).unwrap()
}

#[test]
fn a_key_that_many_threads_send_has_one_effect() {
    let store = shop();
    let replayed: u32 = std::thread::scope(|scope| {
        let send = || u32::from(done(&store, create_once("a", 100, 0)).replayed);
        let threads: Vec<_> = (0..16).map(|_| scope.spawn(send)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!((replayed, pets(&store), records(&store)), (15, 1, 1));
}

#[test]
fn threads_exceed_the_limit_of_their_account_by_their_number_at_most() {
    const THREADS: u32 = 4;
    const MAX: u32 = 25;
    for _ in 0..100 {
        let store = MemoryStore::new();
        let start = Barrier::new(4);
        let kept: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (1..=u64::from(THREADS))
                .map(|thread| {
                    // Each thread has its own category, so that the threads share only the count of the account's
                    // records.
                    write(&store, [Change::Category(category(thread, &format!("Kind {thread}")))]);
                    let (store, start) = (&store, &start);
                    scope.spawn(move || {
                        start.wait();
                        let tries = (0..10).filter(|n| {
                            let mut create = create_once(&format!("{thread}-{n}"), MAX, 0);
                            create.records = records(store);
                            create.operation.new.category_id = category_id(thread);
                            match ready(run(store, create, Timestamp::EPOCH)).unwrap() {
                                Ok(answered) => answered.result.is_ok(),
                                Err(rejection) => {
                                    assert_eq!(rejection, IdempotencyRejection::TooManyRecords);
                                    false
                                }
                            }
                        });
                        tries.count()
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(kept, records(&store) as usize);
        assert!((MAX..=MAX + THREADS).contains(&records(&store)), "{kept}");
    }
}

#[test]
fn a_record_is_dropped_once_it_has_expired_and_not_before() {
    let store = shop();
    done(&store, create_once("a", 100, 0));
    done(&store, create_once("b", 100, 10));
    assert_eq!((prune(&store, HOUR - 1), records(&store)), (0, 2));
    assert_eq!((prune(&store, HOUR), records(&store)), (1, 1));
    assert!(done(&store, create_once("b", 100, HOUR)).replayed);
    assert_eq!((prune(&store, 2 * HOUR), records(&store)), (1, 0));
    assert_eq!(prune(&store, 2 * HOUR), 0);
}

#[test]
fn a_record_that_replaces_an_expired_one_is_counted_once_and_has_its_own_expiry() {
    let store = shop();
    done(&store, create_once("a", 100, 0));
    assert!(!done(&store, create_once("a", 100, HOUR)).replayed);
    assert_eq!((records(&store), pets(&store)), (1, 2));
    assert_eq!((prune(&store, HOUR + 1), records(&store)), (0, 1));
    assert!(done(&store, create_once("a", 100, HOUR + 1)).replayed);
    assert_eq!((prune(&store, 2 * HOUR), records(&store)), (1, 0));
}

#[test]
fn housekeeping_drops_a_bounded_number_per_call_the_oldest_first() {
    let store = MemoryStore::new();
    let record = |n: u32| IdempotencyRecord {
        id: create_once(&format!("{n}"), 100, 0).id,
        fingerprint: Fingerprint([0; 32]),
        outcome: Outcome::InsufficientStock(0),
        expires_at: at(i64::from(n)),
    };
    for n in (0..12_000).rev() {
        write(&store, [Change::Idempotency(Box::new(record(n)))]);
    }
    assert_eq!((prune(&store, HOUR * 24), records(&store)), (10_000, 2_000));
    assert_eq!((prune(&store, 10_499), records(&store)), (500, 1_500));
    assert_eq!((prune(&store, HOUR * 24), records(&store)), (1_500, 0));
}

#[test]
fn concurrent_housekeeping_loses_no_record_and_no_count() {
    let store = shop();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let store = &store;
            scope.spawn(move || {
                // A few keys are used repeatedly, each time after the previous record has expired.
                for round in 0..200 {
                    done(store, create_once(&format!("{}", (thread + round) % 3), 100, round * HOUR));
                }
            });
        }
        scope.spawn(|| {
            for round in 0..200 {
                prune(&store, round * HOUR);
            }
        });
    });
    let left = records(&store);
    assert!(left <= 3);
    assert_eq!(prune(&store, HOUR * 300), left as usize);
    assert_eq!(records(&store), 0);
}
